"""Answers in other items of the same recording are found; those that all items name are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from leakscan.checks import cross_item
from leakscan.config import Config
from leakscan.model import Finding, Item, Malformed, Place, Private, Release

INSTRUMENTS = ("harp", "viola", "oboe", "lute", "horn", "drum", "flute", "organ", "bell", "choir", "tuba", "fife")
LONG = tuple(f"a {one} enters over a slow drone" for one in INSTRUMENTS)


def judge(answers: Sequence[str], options: Sequence[Sequence[str]]) -> list[Finding]:
    """Two items a recording: one asks for its answer, the other offers options."""
    gold = {f"ask{n:03}": {"a": answer} for n, answer in enumerate(answers)}
    gold |= {f"offer{n:03}": {"a": f"at {n} seconds"} for n in range(len(answers))}
    check = cross_item.check(Config(), Private(gold=gold))
    seen = []
    for n, offered in enumerate(options):
        bodies = [
            {"id": f"ask{n:03}", "audio": f"{n}.mp3"},
            {"id": f"offer{n:03}", "audio": f"{n}.mp3", "choices": [*offered]},
        ]
        for half, body in enumerate(bodies):
            seen += check.see(Item(Place("p.jsonl", 2 * n + half + 1), "record", body))
    return list(check.finish(Release(Path("/nonexistent")), seen))


def test_long_answers_tell_alone() -> None:
    (finding,) = judge(LONG, [[LONG[0], "nothing"], *[["nothing", "all"]] * 11])
    assert (finding.place.record, finding.count, finding.related) == (2, 1, (Place("p.jsonl", 1),))
    assert finding.message == (
        "gives the answer of another item of its recording: it is a long one, and no item of another recording that was"
        " looked at says it"
    )
    assert "drone" not in repr(finding)


@pytest.mark.parametrize("number", [float, str])
def test_items_without_gold_tell_the_answers_of_others(number: type) -> None:
    """As where one task asks when something starts, and the next what is heard between two times."""
    check = cross_item.check(Config(), Private(gold={f"ask{n:03}": {"a": f"{7 * n + 0.25}"} for n in range(12)}))
    items = [
        Item(Place(f"{half}.jsonl", n + 1), "record", body)
        for n in range(12)
        for half, body in (
            ("asks", {"id": f"ask{n:03}", "audio": f"{n}.mp3"}),
            ("says", {"audio": f"{n}.mp3", "start": number(7 * n + 0.25), "end": number(99)}),
        )
    ]
    seen = [one for item in items for one in check.see(item)]
    (finding,) = check.finish(Release(Path("/nonexistent")), seen)
    assert (finding.place.path, finding.count) == ("says.jsonl", 12)
    assert list(check.see(Item(Place("p.jsonl", 1), "record", Malformed("not JSON")))) == []


def test_short_answers_tell_by_their_rate() -> None:
    (finding,) = judge(INSTRUMENTS, [[one, "nothing"] for one in INSTRUMENTS])
    assert (finding.count, len(finding.related)) == (12, 12)
    assert ": 12 of 24 pairs of items do, expected " in finding.message
    assert judge(INSTRUMENTS, [["harp", "nothing"], *[["nothing", "all"]] * 11]) == []


def test_lists_that_all_items_offer_tell_nothing() -> None:
    assert judge(INSTRUMENTS, [INSTRUMENTS] * 12) == []
    assert judge(LONG, [LONG] * 12) == []


def test_answers_of_other_recordings_tell_nothing() -> None:
    assert judge(INSTRUMENTS, [[INSTRUMENTS[(n + 1) % 12], "nothing"] for n in range(12)]) == []


def test_one_item_a_recording_and_no_gold() -> None:
    check = cross_item.check(Config(), Private(gold={"a1b2": {"a": LONG[0]}, "c3d4": {"a": LONG[1]}}))
    items = [
        Item(Place("p.jsonl", 1), "record", {"id": "a1b2", "audio": "1.mp3", "x": LONG[1]}),
        Item(Place("p.jsonl", 2), "record", {"id": "c3d4", "audio": "2.mp3", "x": LONG[0]}),
    ]
    assert list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)])) == []
    assert cross_item.check(Config(), Private()) is None
