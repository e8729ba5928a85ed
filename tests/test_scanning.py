"""A scan counts exactly, accounts for all it did not read, and shows nothing of what it found."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leakscan import config as configuration
from leakscan import scanning
from leakscan.config import Config
from leakscan.model import (
    Columns,
    Confidence,
    Entry,
    Examined,
    Example,
    Fact,
    Finding,
    Item,
    Level,
    Malformed,
    Observation,
    Place,
    Private,
    Release,
    Report,
    Rule,
    Secret,
    Tags,
    Unexamined,
    UsageError,
    facts,
)
from leakscan.scanning import Options, judge, scan
from leakscan.walk import Noted

NOWHERE = Release(Path("/nonexistent"))
DEFAULTS = Options()
SCHEMA = """
[records.p]
files = ["**/p.jsonl"]
id = "id"
[records.p.fields]
id = {role = "routing"}
audio = {role = "input", type = "path", optional = true}
"""


def rule(
    name: str = "r", /, about: Any = "identity", level: Level = "error", checks: Sequence[str] = (), **match: str
) -> Rule:
    return Rule(name, f"title of {name}", "w", "f", level, about, match, tuple(checks), (), ())


def settings(text: str = "") -> Config:
    return configuration.parse(tomllib.loads(text), Path("leakscan.toml"))


def record(path: str, number: int, body: Any) -> Item:
    return Item(Place(path, number), "record", body)


def named(path: str) -> Item:
    return Item(Place(path), "file")


def tags(path: str, *pairs: tuple[str, str]) -> Item:
    return Item(Place(path), "audio", Tags("mp3", pairs))


def judged(
    stream: Sequence[Any],
    rules: Sequence[Rule],
    config: Config | None = None,
    options: Options = DEFAULTS,
    **more: Any,
) -> Report:
    return judge(
        stream, more.get("release", NOWHERE), config or Config(), more.get("private", Private()), rules, options
    )


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Installs the check `fake`, which sees all and finishes with the findings it is given."""

    def install(*findings: Finding, observe: bool = False) -> list[Observation]:
        seen: list[Observation] = []

        def see(item: Item) -> list[Observation]:
            return [Observation(item.place, item.body)] if observe else []

        def finish(release: Release, observations: Sequence[Observation]) -> Sequence[Finding]:
            seen.extend(observations)
            return findings

        module = SimpleNamespace(check=lambda config, private: SimpleNamespace(see=see, finish=finish))
        monkeypatch.setattr(scanning, "members", lambda package: {"fake": module})
        return seen

    return install


# --- counting --------------------------------------------------------------------------------------------------------


def test_records_one_finding_per_rule_file_and_path() -> None:
    stream = [
        record("p.jsonl", 1, {"title": "aa", "x": ["t", "u"]}),
        record("p.jsonl", 2, {"title": "b"}),
        record("q.jsonl", 1, {"title": "c"}),
    ]
    first, elements, other = judged(stream, [rule(kind="field", name="title|x")]).findings

    assert first == Finding(
        "r", "error", "strong", "title of r", Place("p.jsonl", 1, None, "$.title"), 2,
        (Place("p.jsonl", 1), Place("p.jsonl", 2)), (), Secret("text", 2),
    )  # fmt: skip
    assert (elements.place.name, elements.count) == ("$.x[]", 1)  # records, not elements
    assert elements.places == (Place("p.jsonl", 1),)
    assert (other.place.path, other.count) == ("q.jsonl", 1)


def test_audio_and_files_one_finding_per_rule_and_name() -> None:
    stream = [
        tags("a/1.mp3", ("id3.TIT2", "x")),
        tags("a/2.mp3", ("id3.TIT2", "y")),
        named("b x.mp3"),
        named("c x.mp3"),
    ]
    titles, files = judged(stream, [rule(about="hygiene", value="x|y")]).findings
    assert (files.place, files.count) == (Place("b x.mp3", name="file"), 2)
    assert files.places == (Place("b x.mp3"), Place("c x.mp3"))
    assert (titles.place, titles.count) == (Place("a/1.mp3", name="id3.TIT2"), 2)
    assert titles.places == (Place("a/1.mp3"), Place("a/2.mp3"))


@pytest.mark.parametrize("values", [["x", "x"], ["x", 1], [1, "x", None], [[1], "x"], {"a": ["x"], "b": ["x"]}])
def test_records_are_counted_once_whatever_they_hold_several_times(values: Any) -> None:
    stream = [record("p.jsonl", number, {"t": values, "u": values}) for number in range(1, 200)]
    for found in judged(stream, [rule(kind="field", name=r"\$\.[tu]")]).findings:
        assert found.count == 199
        assert found.places == tuple(Place("p.jsonl", number) for number in range(1, 101))


def test_files_are_counted_once_however_often_they_say_it() -> None:
    (title,) = judged([tags("a.mp3", ("id3.TIT2", "x"), ("id3.TIT2", "y"))], [rule(kind="tag")]).findings
    assert (title.count, title.places, title.evidence) == (1, (Place("a.mp3"),), Secret("text", 1))


def test_records_that_a_check_names_twice_are_counted_once(check: Any) -> None:
    check(finding("proven", 3, Place("p.jsonl", 3), Place("p.jsonl", 3), Place("p.jsonl", 5)))
    (one,) = judged([], [rule(checks=["fake"])]).findings
    assert (one.count, one.places) == (2, (Place("p.jsonl", 3), Place("p.jsonl", 5)))


@pytest.mark.parametrize("text", ["x", "x" * scanning.LONG])
@pytest.mark.parametrize("number", [1, 7, 8, 9, 71, 72, 73, 140])
def test_all_records_are_judged_however_many_are_taken_at_once(number: int, text: str) -> None:
    bodies = [Malformed("not JSON") if n % 90 == 4 else {"u": [n]} if n % 3 else {"t": text} for n in range(number)]
    stream = [record(path, n, body) for path in ("p.jsonl", "q.jsonl") for n, body in enumerate(bodies)]
    stream.insert(number // 2, named("a.mp3"))

    report = judged(stream, [rule(kind="field|block")], options=Options(max_places=number))

    found = {(one.place.path, one.place.name): [place.record for place in one.places] for one in report.findings}
    broken = {4, 94} & set(range(number))
    expected = {
        "$.t": [n for n in range(number) if not n % 3],
        "$.u[]": [n for n in range(number) if n % 3 and n not in broken],
        None: sorted(broken),
    }
    assert found == {
        (path, name): records for path in ("p.jsonl", "q.jsonl") for name, records in expected.items() if records
    }
    assert all(one.count == len(one.places) for one in report.findings)
    assert report.examined.fields == 2 * (number - len(broken))


def test_places_are_listed_up_to_the_limit_and_counted_beyond() -> None:
    stream = [record("p.jsonl", number, {"t": "x"}) for number in range(1, 6)]
    stream += [named(f"x{number}.mp3") for number in range(5)]
    records, files = sorted(
        judged(stream, [rule(about="hygiene", value="x")], options=Options(max_places=2)).findings,
        key=lambda finding: finding.place.record is None,
    )
    assert (records.count, records.places) == (5, (Place("p.jsonl", 1), Place("p.jsonl", 2)))
    assert (files.count, files.places) == (5, (Place("x0.mp3"), Place("x1.mp3")))


def test_gravest_and_surest_first() -> None:
    rules = [rule("n", level="note", value="x"), rule("e", value="x"), rule("w", level="warning", value="x")]
    stream = [record("q.jsonl", 1, {"b": "x", "a": "x"}), record("p.jsonl", 1, {"z": "x"})]
    found = [(one.rule, one.place.path, one.place.name) for one in judged(stream, rules).findings]
    assert found == [
        (rule, path, name)
        for rule in "ewn"
        for path, name in (("p.jsonl", "$.z"), ("q.jsonl", "$.a"), ("q.jsonl", "$.b"))
    ]


def test_what_was_examined_is_counted() -> None:
    entry = Entry("p.jsonl", Path("p"), 40, b"")
    stream = [
        Item(Place("p.jsonl"), "file", entry),
        record("p.jsonl", 1, {"id": 1, "x": [1, 2]}),
        record("p.jsonl", 2, {"id": 1}),
        record("p.jsonl", 3, Malformed("not JSON", 30)),
        Item(Place("a.mp3"), "file", Entry("a.mp3", Path("a"), 2, b"")),
        tags("a.mp3", ("x", "y")),
        Item(Place("noted"), "file", Entry("noted", Path("a"), 500, b"")),
        Noted("noted"),
        named("link"),
        Unexamined("link", "a link to nothing"),
    ]
    report = judged(stream, [])

    assert report.examined == Examined(files=2, records=2, audio=1, fields=4, bytes=42)
    assert report.unexamined == (
        Unexamined("link", "a link to nothing"),
        Unexamined("p.jsonl", "record 3 at byte 30: not JSON"),
    )
    assert report.noted == ("noted",)
    assert (report.findings, report.status) == ((), 3)


def test_broken_records_are_a_finding_and_unexamined() -> None:
    bad = rule("malformed-record", "hygiene", kind="block", name="malformed")
    stream = [record("p.jsonl", number, Malformed("not JSON" if number == 2 else "deep")) for number in (2, 3, 5)]
    report = judged(stream, [bad])

    (finding,) = report.findings
    assert finding == Finding(
        "malformed-record", "error", "strong", "title of malformed-record: not JSON", Place("p.jsonl", 2), 3,
        (Place("p.jsonl", 2), Place("p.jsonl", 3), Place("p.jsonl", 5)),
    )  # fmt: skip
    assert report.unexamined == (Unexamined("p.jsonl", "record 2: not JSON; record 3: deep; record 5: deep"),)
    assert report.status == 1
    many = judged([record("p.jsonl", number, Malformed("deep", 10 * number)) for number in range(1, 8)], [bad])
    told = "; ".join(f"record {number} at byte {10 * number}: deep" for number in range(1, 6))
    assert many.unexamined == (Unexamined("p.jsonl", f"{told}; and 2 more"),)
    silenced = judged(stream, [bad], settings('[rules]\ndisable = ["malformed-record"]'))
    assert (silenced.findings, silenced.status) == ((), 3)
    assert silenced.notes == ("rule malformed-record is disabled by the configuration",)


@pytest.mark.parametrize(
    ("body", "shown"),
    [({"id": "A"}, "A"), ({"id": 7}, "7"), ({"id": 1.5}, "1.5"), ({"id": ""}, ""), ({"id": None}, None),
     ({}, None), ({"id": ["A"]}, None), ({"id": {"a": 1}}, None), ([1], None), ("x", None)],
)  # fmt: skip
def test_id_of_a_record(body: Any, shown: str | None) -> None:
    stream = [record("p.jsonl", 1, body)]
    report = judged(stream, [rule(about="hygiene", kind="field|name")], settings(SCHEMA))
    assert {place.id for finding in report.findings for place in finding.places} <= {shown}
    without = judged([*stream, record("q.jsonl", 1, {"id": "A"})], [rule(about="hygiene", kind=".")])
    assert {place.id for finding in without.findings for place in finding.places} == {None}


# --- checks ----------------------------------------------------------------------------------------------------------

HERE = Place("p.jsonl", 3, None, "$.h")


def finding(confidence: Confidence = "proven", count: int = 1, *places: Place, name: str = "", **more: Any) -> Finding:
    place = more.pop("place", HERE)
    return Finding(name, more.pop("level", "error"), confidence, more.pop("message", "m"), place, count, places, **more)


def test_finding_of_a_check_gets_the_rules_that_name_it(check: Any) -> None:
    check(finding())
    found = judged([], [rule("a", checks=["fake"]), rule("b", checks=["fake"]), rule("c", value="x")]).findings
    assert [one.rule for one in found] == ["a", "b"]
    check(finding(name="b"))
    found = judged([], [rule("a", checks=["fake"]), rule("b", checks=["fake"])]).findings
    assert [one.rule for one in found] == ["b"]


def test_check_that_says_what_it_wants_sees_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Place, Sequence[Fact]]] = []

    def see(item: Item) -> list[Observation]:
        seen.append((item.place, facts(item)))
        return []

    fake = SimpleNamespace(
        see=see,
        finish=lambda release, observations: [],
        wants=lambda kind, name: {"text": "^x$", "tag": ""}.get(kind),
    )
    monkeypatch.setattr(scanning, "members", lambda package: {"fake": SimpleNamespace(check=lambda *_: fake)})
    stream = [
        record("p.jsonl", 1, {"a": "x", "b": "y", "c": {"x": 1}}),
        record("p.jsonl", 2, {"b": "x", "a": "x"}),
        record("q.jsonl", 1, {"c": "y"}),
        record("q.jsonl", 2, Malformed("x")),
        named("x"),
        tags("a.mp3", ("id3.TIT2", "y")),
        Item(Place("t.yaml"), "template", ()),  # has no facts
    ]
    judged(stream, [rule(checks=["fake"])])

    assert seen == [
        (Place("p.jsonl", 1), (Fact("field", "$.a", "x"), Fact("field", "$.b", "y"))),
        (Place("p.jsonl", 2), (Fact("field", "$.a", "x"), Fact("field", "$.b", "x"))),
        (Place("a.mp3"), (Fact("tag", "id3.TIT2", "y"),)),
        (Place("t.yaml"), ()),
    ]


def test_check_that_looks_at_many_records_gets_them_by_file_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[Place], dict[str, list[object]]]] = []

    def look(items: Sequence[Item], columns: Columns) -> list[Observation]:
        texts = {name: list(column.values) for name, column in columns.texts.items()}
        seen.append(([item.place for item in items], texts))
        return []

    fake = SimpleNamespace(look=look, finish=lambda release, observations: [])
    monkeypatch.setattr(scanning, "members", lambda package: {"fake": SimpleNamespace(check=lambda *_: fake)})
    stream = [
        record("p.jsonl", 1, {"a": "x"}),
        record("p.jsonl", 2, {"a": "y"}),
        record("q.jsonl", 1, {"a": "z"}),
        named("x"),
    ]
    judged(stream, [rule(checks=["fake"])])

    assert seen == [
        ([Place("p.jsonl", 1), Place("p.jsonl", 2)], {"$.a": ["x", "y"]}),
        ([Place("q.jsonl", 1)], {"$.a": ["z"]}),
        ([Place("x")], {}),
    ]


def test_check_with_nothing_to_look_for_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "members", lambda package: {"fake": SimpleNamespace(check=lambda *_: None)})
    assert judged([record("p.jsonl", 1, {"a": "x"})], [rule(checks=["fake"])]).findings == ()


def test_finding_for_a_rule_that_is_disabled_is_dropped(check: Any) -> None:
    check(finding(name="b"))
    rules = [rule("a", checks=["fake"]), rule("b", checks=["fake"])]
    assert judged([], rules, settings('[rules]\ndisable = ["b"]')).findings == ()


def test_observations_come_sorted(check: Any) -> None:
    seen = check(observe=True)
    judged([record("q", 2, "a"), record("p", 10, "b"), record("p", 9, "c"), named("o")], [rule(checks=["fake"])])
    assert [observation.value for observation in seen] == [None, "c", "b", "a"]


@pytest.mark.parametrize("confidence", ["proven", "weak"])
def test_pattern_and_check_on_one_name_are_one_finding(check: Any, confidence: Confidence) -> None:
    evidence = Secret("hex", 16, "digits", "sha256/whole/hex")
    check(finding(confidence, 2, Place("p.jsonl", 3), Place("p.jsonl", 5), evidence=evidence, message="proof"))
    stream = [record("p.jsonl", number, {"h": "x"}) for number in (1, 3, 5)]
    (one,) = judged(stream, [rule(kind="field", value="x", checks=["fake"])]).findings

    places = (Place("p.jsonl", 1), Place("p.jsonl", 3), Place("p.jsonl", 5))
    expected: Confidence = "proven" if confidence == "proven" else "strong"
    assert one == Finding("r", "error", expected, "proof", Place("p.jsonl", 1, None, "$.h"), 3, places, (), evidence)


def test_check_that_is_weaker_in_count_still_takes_the_confidence_of_the_pattern(check: Any) -> None:
    check(finding("weak", 1, place=Place("p.jsonl", 1, None, "$.h")))
    (one,) = judged([record("p.jsonl", 1, {"h": "x"})], [rule(kind="field", value="x", checks=["fake"])]).findings
    assert (one.confidence, one.message, one.count) == ("strong", "m", 1)


def test_findings_of_checks_on_one_name_are_joined_and_nothing_is_lost(check: Any) -> None:
    first, second = Place("a.mp3", name="file"), Place("b.mp3", name="file")
    check(finding("weak", place=first, message="weak"), finding("proven", place=second, message="proof", level="note"))
    (one,) = judged([], [rule(about="hygiene", checks=["fake"])]).findings
    assert (one.message, one.level, one.confidence, one.count) == ("proof", "error", "proven", 2)
    assert (one.place, one.places) == (first, (first, second))


def test_count_stays_exact_where_places_are_cut(check: Any) -> None:
    check(finding("proven", 400, *(Place("p.jsonl", number) for number in (101, 102))))
    stream = [record("p.jsonl", number, {"h": "x"}) for number in range(1, 501)]
    rules = [rule(kind="field", value="x", checks=["fake"])]
    (one,) = judged(stream, rules, options=Options(max_places=3)).findings
    assert (one.count, one.places) == (500, tuple(Place("p.jsonl", number) for number in (1, 2, 3)))


def test_columns_of_two_files_are_two_findings_even_without_a_record(check: Any) -> None:
    check(finding(place=Place("p.jsonl", name="$.h")), finding(place=Place("q.jsonl", name="$.h")))
    found = judged([], [rule(checks=["fake"])]).findings
    assert [one.place.path for one in found] == ["p.jsonl", "q.jsonl"]


# --- redaction -------------------------------------------------------------------------------------------------------


def test_telling_file_name_is_replaced_in_every_part_of_a_report() -> None:
    stream = [
        named("Herons/"),
        named("Herons/x.bin"),
        Unexamined("Herons/x.bin", "why"),
        named("Herons/y"),
        Noted("Herons/y"),
        record("Herons/p.jsonl", 1, Malformed("not JSON")),
        tags("Herons/a.mp3", ("t", "secret")),
    ]
    rules = [rule(kind="name", value="Herons"), rule("tag", "hygiene", kind="tag")]
    report = judged(stream, rules)

    assert "Herons" not in repr(report)
    shown = "<name 1, 6 characters>"
    assert [entry.path for entry in report.unexamined] == [f"{shown}/p.jsonl", f"{shown}/x.bin"]
    assert report.noted == (f"{shown}/y",)
    assert {one.place.path for one in report.findings} == {f"{shown}/", f"{shown}/a.mp3"}


def test_rule_of_another_kind_replaces_nothing() -> None:
    (one,) = judged([named("Herons.mp3")], [rule(about="hygiene", value="Herons")]).findings
    assert one.place.path == "Herons.mp3"


def test_telling_ids_are_replaced_beyond_the_places_that_are_listed() -> None:
    stream = [record("p.jsonl", number, {"id": f"Herons {number}", "h": "y"}) for number in range(1, 6)]
    rules = [rule(kind="field", name="id", value="Herons"), rule("other", "hygiene", kind="field", name="h")]
    report = judged(stream, rules, settings(SCHEMA), Options(max_places=1))
    assert "Herons" not in repr(report)
    assert [one.place.id for one in report.findings] == ["<id, 8 characters>"] * 2


def test_telling_ids_of_a_check_are_replaced_even_where_it_lists_only_some(check: Any) -> None:
    check(
        finding("proven", 5, Place("p.jsonl", 1, "Herons 1"), place=Place("p.jsonl", 1, "Herons 1", "$.id"), name="a")
    )
    stream = [record("p.jsonl", number, {"id": f"Herons {number}", "h": "y"}) for number in range(1, 6)]
    rules = [rule("a", checks=["fake"]), rule("other", "hygiene", kind="field", name="h")]
    assert "Herons" not in repr(judged(stream, rules, settings(SCHEMA)))


def test_telling_keys_are_replaced_under_every_rule() -> None:
    stream = [record("p.jsonl", 1, {"answers": {"Herons Two": {"h": "x"}}})]
    rules = [rule(kind="name", value="Herons"), rule("other", "hygiene", kind="field", name="h$")]
    report = judged(stream, rules)
    assert "Herons" not in repr(report)
    names = {one.place.name for one in report.findings}
    assert names == {"$.answers.<key, 10 characters>", "$.answers.<key, 10 characters>.h"}


def test_key_known_by_its_place_alone_is_shown() -> None:
    (one,) = judged([record("p.jsonl", 1, {"title": "x"})], [rule(kind="name", name="title")]).findings
    assert one.place.name == "$.title"


def test_related_places_are_redacted_and_cut(check: Any) -> None:
    related = tuple(Place(f"Herons {number}.mp3") for number in range(5))
    check(finding(related=related, name="a"))
    stream = [named(place.path) for place in related]
    rules = [rule("a", "hygiene", checks=["fake"]), rule(kind="name", value="Herons")]
    report = judged(stream, rules, options=Options(max_places=2))
    (one,) = (one for one in report.findings if one.rule == "a")
    assert one.related == (Place("<name 1, 8 characters>.mp3"), Place("<name 2, 8 characters>.mp3"))
    assert "Herons" not in repr(report)


def test_values_are_shown_only_when_asked_for() -> None:
    stream = [record("p.jsonl", 1, {"t": "a secret"}), record("p.jsonl", 2, {"t": "another"})]
    assert "secret" not in repr(judged(stream, [rule(kind="field")]))
    (one,) = judged(stream, [rule(kind="field")], options=Options(reveal=True)).findings
    assert one.evidence == Secret("text", 8, revealed="a secret")


def test_value_behind_the_evidence_of_a_check_is_shown_when_asked_for(check: Any) -> None:
    check(finding(evidence=Secret("hex", 8, "digits"), place=Place("p.jsonl", 1, None, "$.h")))
    stream = [record("p.jsonl", 1, {"h": "deadbeef"})]
    rules = [rule(kind="field", checks=["fake"])]
    (one,) = judged(stream, rules, options=Options(reveal=True)).findings
    assert one.evidence == Secret("hex", 8, "digits", revealed="deadbeef")
    (one,) = judged(stream, rules).findings
    assert one.evidence == Secret("hex", 8, "digits")


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("deadbeef", Secret("hex", 8, "digits")),
        ("DEADBEEF00", Secret("hex", 10, "digits")),
        ("12345678", Secret("text", 8)),
        ("deadbee", Secret("text", 7)),
        ("ä\ud800", Secret("text", 2)),
        ("", Secret("text", 0)),
        (120, Secret("number", 3)),
        (0.5, Secret("number", 3)),
        (True, Secret("boolean", 4)),
        (None, Secret("null", 0)),
    ],
)
def test_describe_says_class_and_length(value: Any, secret: Secret) -> None:
    assert scanning.describe(value) == secret


# --- configuration ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ['[rules]\ndisable = ["tilte"]', '[[waiver]]\nrule = "tilte"\nwhere = "x"\nreason = "y"']
)
def test_unknown_rule_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match=r"^leakscan\.toml: unknown rule 'tilte'; did you mean 'title'\?$"):
        judged([], [rule("title")], settings(text))


def test_unknown_check_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"^rule r: unknown check 'shema'; did you mean 'schema'\?$"):
        judged([], [rule(checks=["shema"])])


def test_waived_findings_are_counted_and_unused_waivers_reported() -> None:
    text = """[[waiver]]
rule = "r"
where = "p.jsonl:$.t"
reason = "x"
[[waiver]]
rule = "r"
where = "q.jsonl:$.t"
reason = "x"
"""
    rules = [rule(kind="field"), rule("unused-waiver", "hygiene", kind="block", name="unused-waiver")]
    report = judged([record("p.jsonl", 1, {"t": "x"})], rules, settings(text))
    (stale,) = report.findings
    assert (stale.rule, stale.place) == ("unused-waiver", Place("leakscan.toml", name="waiver 2, of r"))
    assert (report.suppressed, [one.rule for one in report.accepted]) == (1, ["r"])


def test_nothing_is_waived_when_all_is_to_be_seen() -> None:
    text = '[[waiver]]\nrule = "r"\nwhere = "**"\nreason = "x"'
    report = judged([record("p.jsonl", 1, {"t": "x"})], [rule(kind="field")], settings(text), Options(suppress=False))
    assert ([one.rule for one in report.findings], report.suppressed) == (["r"], 0)


def test_waiver_of_one_file_leaves_those_beyond_the_limit() -> None:
    text = '[[waiver]]\nrule = "r"\nwhere = "a.mp3:t"\nreason = "x"'
    stream = [tags("a.mp3", ("t", "x")), tags("b.mp3", ("t", "x"))]
    report = judged(stream, [rule(kind="tag")], settings(text), Options(max_places=1))
    (one,) = report.findings
    assert (one.place.path, one.count, report.status) == ("b.mp3", 1, 1)


def test_example_is_judged_like_a_release() -> None:
    known = rule("malformed-record", "hygiene", kind="block")
    example = Example(
        records=({"id": "A"},), fields={"id": "B"}, tags={"t": "x"}, name="f.mp3", files={"q.jsonl": "{"}, config=SCHEMA
    )
    report = scanning.try_example(example, [known, rule(about="hygiene", kind="field|tag|name")])
    names = {(one.place.path, one.place.name, one.count) for one in report.findings}
    assert names == {
        ("prompts.jsonl", "$.id", 2),
        ("audio/1.mp3", "t", 1),
        ("q.jsonl", "file", 2),
        ("q.jsonl", None, 1),
    }
    assert report.examined.records == 2


# --- on disk ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "release"
    (root / "prompts").mkdir(parents=True)
    (root / "audio").mkdir()
    (root / "leakscan.toml").write_text(SCHEMA)
    lines = [json.dumps({"id": f"A{number}", "audio": f"audio/{number}.wav"}) for number in (1, 2, 3)]
    (root / "prompts/p.jsonl").write_text("\n".join(lines))
    for number in (1, 2):
        (root / f"audio/{number}.wav").write_bytes(b"")
    return root


def test_reference_outside_the_selection_is_a_note(root: Path) -> None:
    report = scan([root / "prompts"])
    note = "prompts/p.jsonl: files that its records refer to, but not judged: 2; give the root"
    assert (report.notes, report.status) == ((note,), 0)
    assert report.examined.records == 3
    assert scan([root]).notes == ()
    assert scan([root / "prompts", root / "audio/1.wav"]).notes == (note.replace("2;", "1;"),)


def test_record_set_outside_the_selection_is_a_note(root: Path) -> None:
    report = scan([root / "audio"])
    assert report.notes == ("record set 'p': none of the given files matches **/p.jsonl",)
    assert report.status == 3


def test_root_and_configuration_are_shown_as_typed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root.parent)
    report = scan(["release/prompts"])
    assert (report.root, report.config) == ("release", "release/leakscan.toml")
    monkeypatch.chdir(root)
    report = scan(["prompts/p.jsonl"])
    assert (report.root, report.config) == (".", "leakscan.toml")
    monkeypatch.chdir(root / "audio")
    assert scan([root]).root == root.as_posix()


def test_given_configuration_replaces_the_release_s_own(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("[release]\naudio = 'private'")
    report = scan([root / "prompts"], tmp_path / "other.toml")
    assert (report.config, report.notes) == ((tmp_path / "other.toml").as_posix(), ())


def test_paths_of_two_releases_are_wrong_usage(root: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(UsageError, match=r"the paths belong to different releases \(.*\); scan them one by one"):
        scan([root, tmp_path / "b"])


def test_missing_paths_are_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone: no such file or folder; check the path$"):
        scan([tmp_path / "gone"])
    with pytest.raises(UsageError, match=r"^no path given; name a release's folder or files$"):
        scan([])


def test_release_behind_a_link_is_scanned(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("release")
    direct, linked = scan([root]), scan([tmp_path / "link"])
    assert (linked.findings, linked.examined, linked.unexamined) == (
        direct.findings,
        direct.examined,
        direct.unexamined,
    )
    assert linked.examined.records == 3


@pytest.mark.parametrize("folder", ["../elsewhere", "/", "link", "nul\\u0000/../.."])
def test_rules_of_a_release_come_with_it(root: Path, tmp_path: Path, folder: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / "link").symlink_to("../elsewhere")
    (root / "leakscan.toml").write_text(f'[rules]\npaths = ["{folder}"]')
    with pytest.raises(
        UsageError, match=r"leakscan\.toml: the rules '.*' lie outside the release; name them with --rules"
    ):
        scan([root])


@pytest.mark.parametrize("name", ["settings.toml", "evaluator.toml"])
def test_private_side_inside_the_release_is_found_whatever_it_is_called(root: Path, name: str) -> None:
    (root / name).write_text('gold = {file = "prompts/t.csv", key = "id", fields = ["tempo"]}')
    (root / "prompts/t.csv").write_text("id,tempo\nA1,97\n")
    report = scan([root / "prompts"], private=root / name)
    (one,) = (one for one in report.findings if one.rule == "private-file")
    assert (one.level, one.confidence, one.count) == ("error", "proven", 2)
    assert {place.path for place in one.places} == {name, "prompts/t.csv"}


def test_private_side_elsewhere_is_no_finding(root: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("")
    report = scan([root / "prompts"], private=tmp_path / "settings.toml")
    assert report.findings == ()


def test_link_to_a_record_file_is_judged_too(root: Path) -> None:
    (root / "hidden").write_text("id,title\n1,Crooked Teaspoons\n")
    (root / "data.csv").symlink_to("hidden")
    report = scan([root])
    assert "data.csv" in {one.place.path for one in report.findings if one.rule == "identity-field"}


def test_same_input_same_report(root: Path) -> None:
    assert scan([root]) == scan([root])
    assert scan([root]).status == 3  # the audio is empty
