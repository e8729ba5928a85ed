"""A waiver covers what it names until it expires; a baseline covers what was there, and shows nothing of it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leakscan.baseline import Baseline, Naming, Outcome, settle, waive
from leakscan.config import Waiver
from leakscan.model import Fact, Finding, Item, LeakscanError, Place, Tags, UsageError
from leakscan.redaction import Redactor

TODAY = datetime.date(2026, 6, 30)
RECORDS = Finding(
    "hash", "error", "strong", "m", Place("a/p.jsonl", 2, "B", "$.choices[].x"), 500, (Place("a/p.jsonl", 2, "B"),)
)
AUDIO = Finding(
    "tag", "error", "strong", "m", Place("audio/1.mp3", name="id3.TIT2"), 3,
    (Place("audio/1.mp3"), Place("audio/2.mp3"), Place("audio/3.mp3")),
)  # fmt: skip
SECRET = bytes(range(32))


def waiver(where: str, rule: str = "hash", expires: datetime.date | None = None) -> Waiver:
    return Waiver(rule, where, "a reason", expires)


# --- waivers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where", ["a/p.jsonl:$.choices[].x", "a/*.jsonl:$.choices[].x", "**/p.jsonl:$.*", "a/p.jsonl:*", "**"]
)
def test_waiver_covers_all_records_of_a_finding(where: str) -> None:
    assert waive([RECORDS], [waiver(where)], TODAY) == Outcome((), (RECORDS,))


OTHERS = """a/p.jsonl p.jsonl:$.choices[].x *.jsonl:$.choices[].x a/p.jsonl:$.choices[] a/p.jsonl:$.choice?.x"""
UNUSED = (Fact("block", "unused-waiver", "waiver 1, of hash"),)


@pytest.mark.parametrize("where", ["", *OTHERS.split()])
def test_waiver_covers_nothing_else(where: str) -> None:
    assert waive([RECORDS], [waiver(where)], TODAY) == Outcome((RECORDS,), (), UNUSED)


def test_waiver_is_of_one_rule() -> None:
    stale = (Fact("block", "unused-waiver", "waiver 1, of other"),)
    assert waive([RECORDS], [waiver("**", "other")], TODAY) == Outcome((RECORDS,), (), stale)


def test_waiver_is_not_called_unused_when_only_a_part_was_judged() -> None:
    assert waive([RECORDS], [waiver("b.jsonl:$.x")], TODAY, whole=False) == Outcome((RECORDS,))


def test_waiver_of_one_file_does_not_cover_the_others() -> None:
    outcome = waive([AUDIO], [waiver("audio/1.mp3:id3.TIT2", "tag")], TODAY)
    (left,) = outcome.kept

    assert (outcome.accepted, outcome.stale) == ((), ())
    assert left.count == 2
    assert left.place == Place("audio/2.mp3", name="id3.TIT2")
    assert left.places == (Place("audio/2.mp3"), Place("audio/3.mp3"))


def test_waivers_of_all_files_cover_the_finding() -> None:
    waivers = [waiver(f"audio/{number}.mp3:id3.TIT2", "tag") for number in (1, 2, 3)]
    assert waive([AUDIO], waivers, TODAY) == Outcome((), (AUDIO,))
    assert waive([AUDIO], [waiver("audio/*:id3.TIT2", "tag")], TODAY) == Outcome((), (AUDIO,))


def test_files_that_are_not_listed_are_not_covered() -> None:
    more = replace(AUDIO, count=9)
    assert waive([more], [waiver("audio/?.mp3:id3.TIT2", "tag")], TODAY) == Outcome((more,))


def test_finding_without_a_name() -> None:
    finding = Finding("malformed-record", "error", "strong", "m", Place("p.jsonl", 1))
    assert waive([finding], [waiver("p.jsonl", "malformed-record")], TODAY) == Outcome((), (finding,))


@pytest.mark.parametrize(("days", "kept"), [(-1, 1), (0, 0), (1, 0)])
def test_expiry_is_the_last_day(days: int, kept: int) -> None:
    expires = TODAY + datetime.timedelta(days)
    outcome = waive([RECORDS], [waiver("**", expires=expires)], TODAY, whole=False)
    assert (len(outcome.kept), len(outcome.accepted)) == (kept, 1 - kept)
    assert outcome.stale == ((Fact("block", "expired-waiver", "waiver 1, of hash"),) if kept else ())


def test_every_waiver_that_covers_is_used() -> None:
    assert waive([RECORDS], [waiver("**"), waiver("a/**")], TODAY) == Outcome((), (RECORDS,))


# --- baseline --------------------------------------------------------------------------------------------------------


def found(*ids: str | None, rule: str = "hash", name: str = "$.h", count: int = 0) -> Finding:
    """A finding at records of these IDs."""
    places = tuple(Place("p.jsonl", number, own) for number, own in enumerate(ids, 1))
    return Finding(rule, "error", "strong", "m", places[0]._replace(name=name), count or len(ids), places)


def records(*values: Any) -> list[Item]:
    return [Item(Place("p.jsonl", number), "record", {"h": value}) for number, value in enumerate(values, 1)]


class Scan:
    """Findings held against one baseline file, again and again."""

    def __init__(self, file: Path, secret: bytes | None, redactor: Redactor) -> None:
        self.file, self.secret, self.redactor = file, secret, redactor

    def __call__(self, *findings: Finding, values: Mapping[int, Any] | None = None, anew: bool = False) -> Outcome:
        items = [Item(Place("p.jsonl", number), "record", {"h": value}) for number, value in (values or {}).items()]
        known = None if anew else Baseline.read(self.file, self.secret)
        return settle(self.file, self.secret, lambda: items, findings, self.redactor, known=known)


@pytest.fixture
def scan(tmp_path: Path) -> Scan:
    return Scan(tmp_path / "baseline.jsonl", None, Redactor((), (), (), ()))


@pytest.fixture
def keyed(scan: Scan) -> Scan:
    scan.secret = SECRET
    return scan


def test_what_was_written_is_accepted_and_no_more(scan: Scan) -> None:
    assert scan(found("A", "B"), AUDIO, anew=True) == Outcome((), (found("A", "B"), AUDIO))
    assert scan(found("A", "B"), AUDIO) == Outcome((), (found("A", "B"), AUDIO))
    (new,) = scan(found("A", "B", rule="other"), AUDIO, found("A", "B")).kept
    assert new.rule == "other"


def test_finding_with_new_places_stays_with_those(scan: Scan) -> None:
    scan(found("A", "B"), anew=True)
    outcome = scan(found("X", "A", "Y", "B"))
    (left,) = outcome.kept
    assert (left.count, left.places) == (2, (Place("p.jsonl", 1, "X"), Place("p.jsonl", 3, "Y")))
    assert left.place == Place("p.jsonl", 1, "X", "$.h")
    assert (outcome.accepted, outcome.notes) == ((), ())


def test_order_and_record_numbers_play_no_part(scan: Scan) -> None:
    scan(found("A", "B", "C"), anew=True)
    first = scan.file.read_bytes()
    assert scan(found("C", "A", "B")).kept == ()
    scan(found("C", "A", "B"), anew=True)
    assert scan.file.read_bytes() == first


def test_entries_are_sorted_and_one_a_line(scan: Scan) -> None:
    scan(found("B", "A", "A"), AUDIO, anew=True)
    assert scan.file.read_text().splitlines() == [
        '{"leakscan_baseline": 1, "key": null}',
        '{"rule": "hash", "path": "p.jsonl", "name": "$.h", "id": "A", "count": 2}',
        '{"rule": "hash", "path": "p.jsonl", "name": "$.h", "id": "B"}',
        '{"rule": "tag", "path": "audio/1.mp3", "name": "id3.TIT2"}',
        '{"rule": "tag", "path": "audio/2.mp3", "name": "id3.TIT2"}',
        '{"rule": "tag", "path": "audio/3.mp3", "name": "id3.TIT2"}',
    ]


def test_records_without_an_id_are_counted(scan: Scan) -> None:
    scan(found(None, None), anew=True)
    assert scan(found(None, None)).kept == ()
    (left,) = scan(found(None, None, None)).kept
    assert left.count == 1


@pytest.mark.parametrize(("now", "left"), [(500, 0), (480, 0), (503, 3)])
def test_places_that_are_not_listed_are_counted(scan: Scan, now: int, left: int) -> None:
    scan(found("A", "B", count=500), anew=True)
    outcome = scan(found("A", "B", count=now))
    assert [one.count for one in outcome.kept] == ([now] if left else [])


def test_entries_that_are_no_longer_found_are_reported(scan: Scan) -> None:
    scan(found("A", "B", "C"), anew=True)
    note = "the baseline has 2 entries that are no longer found; renew it with --write-baseline"
    assert scan(found("B")) == Outcome((), (found("B"),), (), (note,))


def test_changed_value_is_a_new_finding(keyed: Scan) -> None:
    keyed(found("A", "B"), values={1: "x", 2: "y"}, anew=True)
    assert keyed(found("A", "B"), values={1: "x", 2: "y"}).kept == ()
    (left,) = keyed(found("A", "B"), values={1: "x", 2: "z"}).kept
    assert left.places == (Place("p.jsonl", 2, "B"),)


def test_equal_values_read_different_and_no_value_or_plain_digest_is_kept(keyed: Scan) -> None:
    keyed(found("A", "B"), values={1: "Crooked Teaspoons", 2: "Crooked Teaspoons"}, anew=True)
    header, *entries = (json.loads(line) for line in keyed.file.read_text().splitlines())
    values = [entry["value"] for entry in entries]
    assert len({*values, header["key"]}) == 3
    assert all(value.startswith("hmac:") and len(value) == 37 for value in values)
    assert "Teaspoons" not in keyed.file.read_text()


def test_without_a_secret_no_value_is_kept(scan: Scan) -> None:
    scan(found("A"), values={1: "x"}, anew=True)
    assert "value" not in scan.file.read_text()
    assert scan(found("A"), values={1: "y"}).kept == ()


def test_value_of_a_list_or_object_is_all_that_it_holds(keyed: Scan) -> None:
    keyed(found("A"), values={1: {"a": [1, 2]}}, anew=True)
    assert keyed(found("A"), values={1: {"a": [1, 2]}}).kept == ()
    assert len(keyed(found("A"), values={1: {"a": [2, 1]}}).kept) == 1


def test_tags_have_values_too(tmp_path: Path) -> None:
    def held(title: str, anew: bool = False) -> Outcome:
        item = Item(Place("audio/1.mp3"), "audio", Tags("mp3", (("id3.TIT2", title),)))
        one = replace(AUDIO, count=1, places=())
        known = None if anew else Baseline.read(tmp_path / "b", SECRET)
        return settle(tmp_path / "b", SECRET, lambda: [item], [one], Redactor((), (), (), ()), known=known)

    assert held("x", anew=True).kept == ()
    assert held("x").kept == ()
    assert len(held("y").kept) == 1


def test_telling_names_stand_as_hmacs_which_do_not_change_with_their_neighbours(tmp_path: Path) -> None:
    path = "audio/Crooked Teaspoons.mp3"
    one = Finding("telling-name", "error", "strong", "m", Place(path, name="file"))
    id_one = found("Crooked Teaspoons", name="$.id")
    ids = {("p.jsonl", "Crooked Teaspoons")}

    def naming(secret: bytes | None, *others: str) -> Naming:
        return Naming(Redactor((path, *others), (path,), ids, ()), secret, {})

    before, after = (naming(SECRET, *others).key(one, one.place) for others in ((), ("audio/a.mp3",)))
    assert before == after
    assert before.path.startswith("hmac:")
    assert naming(SECRET).key(id_one, id_one.place).id.startswith("hmac:")
    assert naming(None).key(one, one.place).path == "audio/<name 1, 17 characters>.mp3"
    assert naming(None).key(id_one, id_one.place).id == "<id, 17 characters>"


def test_wrong_secret_is_called_so(keyed: Scan) -> None:
    keyed(found("A"), anew=True)
    for secret, said in ((None, "a secret"), (bytes(32), "another secret")):
        keyed.secret = secret
        with pytest.raises(UsageError, match=rf"baseline\.jsonl: was written with {said}; give the same --evaluator"):
            keyed(found("A"))
    keyed(found("A"), anew=True)
    keyed.secret, other = None, keyed
    other(found("A"), anew=True)
    other.secret = SECRET
    with pytest.raises(UsageError, match="was written with no secret"):
        other(found("A"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no baseline that this version reads"),
        ("[]\n", "is no baseline that this version reads"),
        ('{"leakscan_baseline": 2, "key": null}\n', "is no baseline that this version reads"),
        ("{\n", "is no baseline, or was damaged"),
        ("ä\n", "is no baseline, or was damaged"),
        ('{"leakscan_baseline": 1, "key": null}\n[]\n', "holds an entry that is none"),
        ('{"leakscan_baseline": 1, "key": null}\n{"rule": 1}\n', "holds an entry that is none"),
        ('{"leakscan_baseline": 1, "key": null}\n{"sha256": "00"}\n', "holds an entry that is none"),
        ('{"leakscan_baseline": 1, "key": null}\n{"rule": "r", "count": "x"}\n', "holds an entry that is none"),
    ],
)
def test_what_is_no_baseline_is_refused(scan: Scan, text: str, said: str) -> None:
    scan.file.write_text(text)
    with pytest.raises(UsageError, match=rf"baseline\.jsonl: {said}"):
        scan(found("A"))


def test_missing_baseline_tells_how_to_make_one(scan: Scan) -> None:
    with pytest.raises(UsageError, match=r"cannot be read \(No such file or directory\); --write-baseline makes it$"):
        scan(found("A"))


def test_baseline_that_cannot_be_written(scan: Scan) -> None:
    scan.file = scan.file.parent / "missing" / "b"
    with pytest.raises(LeakscanError, match=r"b: cannot be written \(No such file or directory\)$"):
        scan(found("A"), anew=True)


def test_empty_baseline() -> None:
    assert Baseline({}).accept([RECORDS], Naming(Redactor((), (), (), ()), None, {})) == Outcome((RECORDS,))
