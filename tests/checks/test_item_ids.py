"""IDs that are missing or repeat, and items that repeat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakscan import config as configuration
from leakscan.checks import item_ids
from leakscan.config import Config
from leakscan.model import Columns, Finding, Item, Place, Private, Release

DECLARED = configuration.parse(
    {"records": {"p": {"files": ["*.jsonl"], "id": "id", "fields": {"id": {"role": "routing"}}}}}, Path("leakscan.toml")
)


PLAIN = Config()


def judge(*records: Any, config: Config = PLAIN) -> list[Finding]:
    check = item_ids.check(config, Private())
    items = [Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1)]
    return list(
        check.finish(Release(Path("/nonexistent")), [*check.look(items, Columns([item.body for item in items]))])
    )


def found(*records: Any) -> list[tuple[str, int | None, str | None]]:
    return [(one.rule, one.place.record, one.place.name) for one in judge(*records)]


@pytest.mark.parametrize("key", ["id", "ID", "uuid", "qa_id", "question_id", "index"])
def test_missing_and_repeated(key: str) -> None:
    assert found({key: 1, "x": 1}, {key: "", "x": 2}, {key: None, "x": 3}) == [("missing-id", 2, f"$.{key}")]
    assert found({key: 1, "x": 1}, {key: 2, "x": 2}, {key: 1, "x": 3}) == [("duplicate-id", 3, f"$.{key}")]


@pytest.mark.parametrize("key", ["track_id", "audio_id", "recording", "video_id"])
def test_ids_of_recordings_may_repeat(key: str) -> None:
    assert found({key: 1, "x": 1}, {key: 1, "x": 2}, {key: "", "x": 3}) == []


def test_items_repeat() -> None:
    assert found({"id": 1, "prompt": "a", "m": [1]}, {"id": 2, "prompt": "a", "m": [1]}) == [
        ("duplicate-item", 2, None)
    ]
    assert found({"id": 1, "prompt": "a", "m": [1]}, {"id": 2, "prompt": "a", "m": [2]}) == []
    assert found({"id": 1, "bpm": 96}, {"id": 2, "bpm": 96}) == []  # it asks nothing


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"m": ["a", "b"]}, {"m": ["a", "b"]}, True),
        ({"m": ["a", "b"]}, {"m": ["b", "a"]}, False),
        ({"m": ["a", "b"]}, {"m": ["ab"]}, False),
        ({"m": [1, 2, 3]}, {"m": [1, 2, 3]}, True),
        ({"m": [{"k": "a"}, {"k": "b"}]}, {"m": [{"k": "a"}, {"k": "b"}]}, True),
        ({"m": -1}, {"m": -2}, False),
        ({"m": 1}, {"m": "1"}, False),
        ({"m": "a", "n": "b"}, {"n": "b", "m": "a"}, True),
        ({"m": "a", "n": "b"}, {"m": "b", "n": "a"}, False),
    ],
)
def test_what_makes_items_the_same_whatever_stands_between_them(one: Any, other: Any, same: bool) -> None:
    """Neither whether they are looked at together nor what the other records hold makes a difference."""
    first, last = {"id": 1, "prompt": "a", **one}, {"id": 2, "prompt": "a", **other}
    between = [
        [],
        [{"id": 5, "prompt": "b", "m": ["x"]}, {"id": 6, "prompt": "b"}],
        [{"id": 5, "prompt": "b", "m": [1, "x", {"k": None}], "n": 3}],
    ]
    for rest in between:
        expected = [("duplicate-item", 2 + len(rest), None)] if same else []
        assert found(first, *rest, last) == expected
        check = item_ids.check(PLAIN, Private())
        seen = []
        for number, records in enumerate(([first, *rest], [last, *({**one, "id": 9, "n": "y"} for one in rest[:1])])):
            items = [Item(Place("p.jsonl", 1 + 10 * number), "record", record) for record in records]
            seen += [one.value for one in check.look(items, Columns(records))]
        assert seen == (["duplicate-item"] if same else [])


def test_an_id_repeats_in_the_order_of_the_records() -> None:
    """Not in that of their kinds: the later one is the one that repeats."""
    assert found({"id": 1, "x": 1}, {"x": 1, "id": 7}, {"id": 7, "x": 1}) == [("duplicate-id", 3, "$.id")]


def test_where_the_schema_declares_the_id_it_is_left_to_it() -> None:
    assert judge({"id": 1, "x": 1}, {"id": 1, "x": 2}, {"id": "", "x": 3}, config=DECLARED) == []
    (finding,) = judge({"id": 1, "prompt": "a"}, {"id": 2, "prompt": "a"}, config=DECLARED)
    assert finding.rule == "duplicate-item"


def test_counts_are_exact() -> None:
    (finding,) = judge(*[{"id": 7, "x": n} for n in range(301)])
    assert (finding.count, len(finding.places)) == (300, item_ids.PLACES)


def test_an_id_within_a_text_is_no_id_of_the_record() -> None:
    """A card may show a record as an example."""
    assert found("# Card", '{"id": "A-1", "key": "A minor"}', '{"id": "A-1", "key": "B minor"}') == []
