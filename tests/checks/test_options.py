"""Marks that set one option apart, options that repeat, and permutations under any name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import options
from leakscan.config import Config
from leakscan.model import Columns, Finding, Item, Place, Private, Release


def judge(records: Sequence[Any]) -> list[Finding]:
    check = options.check(Config(), Private())
    items = [Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1)]
    return list(
        check.finish(Release(Path("/nonexistent")), [*check.look(items, Columns([item.body for item in items]))])
    )


def found(records: Sequence[Any]) -> list[tuple[str, str | None, int]]:
    return [(finding.rule, finding.place.name, finding.count) for finding in judge(records)]


@pytest.mark.parametrize(
    "odd", ["Viola", "vio\u200bla", "viola\ufeff", "vio\u00adla", "solo\u00a0viola", "solo\u2009viola"]
)
def test_what_only_a_close_look_shows_marks_too(odd: str) -> None:
    others = ["solo harp" if odd.startswith("solo") else "harp", "lute"]
    assert found([{"choices": [*others, odd]}] * 5) == [("marked-option", "$.choices[]", 5)]
    assert found([{"choices": [odd, odd + odd, odd * 3]}] * 5) == []


@pytest.mark.parametrize("mark", ["viola (correct)", "[RIGHT] viola", "viola <answer>", "\u2713 viola", "viola \u2705"])
def test_a_word_marks_in_a_single_record(mark: str) -> None:
    assert found([{"choices": ["harp", mark]}]) == [("marked-option", "$.choices[]", 1)]


@pytest.mark.parametrize(
    "odd", ["**viola**", "viola*", "<b>viola</b>", " viola", "viola\t", "viola.", "Viola", "VIOLA"]
)
def test_signs_mark_in_many_records(odd: str) -> None:
    plain = {"choices": ["oboe", "harp", "lute"]}
    marked = {"choices": ["oboe", "harp", odd]}
    if odd == "Viola":  # the others are the odd ones then
        plain, marked = {"choices": ["Oboe", "Harp", "Lute"]}, {"choices": ["Oboe", "Harp", "lute"]}
    assert found([plain] * 10 + [marked] * 4) == []
    assert found([plain] * 30 + [marked] * 5) == []
    assert found([plain] * 10 + [marked] * 5) == [("marked-option", "$.choices[]", 5)]


def test_one_of_two_is_never_the_odd_one() -> None:
    assert found([{"choices": ["harp", " viola."]}] * 20) == []


@pytest.mark.parametrize(
    "record",
    [
        {"choices": ["harp", "viola", "harp"]},
        {"options": [{"label": "A", "text": "harp"}, {"label": "B", "text": "harp "}]},
        {"answer_choices": {"A": "harp", "B": "harp"}},
        {"choices": '["harp", "harp"]'},
        {"A": "harp", "B": "viola", "C": "harp"},
        {"choice_a": "harp", "choice_b": "harp"},
        {"option1": "harp", "option2": "harp"},
    ],
)
def test_duplicates_in_every_form_of_options(record: Any) -> None:
    ((rule, _, count),) = found([record])
    assert (rule, count) == ("duplicate-option", 1)


@pytest.mark.parametrize(
    "record",
    [
        {"choices": ["harp", "viola"]},
        {"rubric": {"choices": ["harp", "harp"]}},
        {"choices": "harp, harp"},
        {"choices": "[harp"},
        {"A": "harp", "C": "harp"},
        {"A": "harp", "B": 3},
        {"choices": []},
        ["harp", "harp"],
    ],
)
def test_no_duplicates(record: Any) -> None:
    assert found([record]) == []


CHOICES = ["harp", "viola", "oboe"]


@pytest.mark.parametrize(
    ("one", "other", "tells"),
    [
        ([2, 0, 1], [0, 2, 1], True),
        ([3, 1, 2], [1, 2, 3], True),
        (["C", "A", "B"], ["A", "B", "C"], True),
        (["c", "a", "b"], ["a", "b", "c"], True),
        ([2, 0, 1], [2, 0, 1], False),  # a template
        ([0.0, 1.0, 2.0], [1.0, 0.0, 2.0], False),
        ([True, False, 2], [False, True, 2], False),
        ([4, 5, 6], [6, 5, 4], False),
        ([0, 1, 2], [1, 2, 3], False),  # bars, say
        ([1, 1, 2], [2, 1, 1], False),
        ([2, 0, 1, 3], [0, 2, 1, 3], False),  # not as many as options
        (["AB", "C", "D"], ["C", "AB", "D"], False),
    ],
)
def test_permutations_under_any_name(one: Any, other: Any, tells: bool) -> None:
    records = [{"choices": CHOICES, "meta": {"x": one}}, {"choices": CHOICES, "meta": {"x": other}}]
    assert found(records) == ([("answer-order", "$.meta.x[]", 2)] if tells else [])


@pytest.mark.parametrize(
    ("one", "other", "tells"),
    [
        ("CAB", "ABC", True),
        ("2,0,1", "0, 2, 1", True),
        ("[c > a > b]", "[a > b > c]", True),
        ("2\n0\n1", "0\n2\n1", True),
        ("c\u00a0a\u2003b", "a\u0085c\x1cb", True),
        ("\u0662 \u0660 \u0661", "\u0660 \u0662 \u0661", True),
        ("c, a, b", "\ud800", False),
        ({"0": 2, "1": 0, "2": 1}, {"0": 0, "1": 2, "2": 1}, True),
        ({"A": "C", "B": "A", "C": "B"}, {"A": "A", "B": "C", "C": "B"}, True),
        ('{"0": 2, "1": 0, "2": 1}', '{"0": 0, "1": 2, "2": 1}', True),
        ("CAB", "CAB", False),  # a template
        ("120", "210", False),  # beats a minute, for one
        ("3/4", "4/4", False),
        ("ABBA", "BAAB", False),
        ({"a": 2, "c": 0, "d": 1}, {"a": 0, "c": 2, "d": 1}, False),
    ],
)
def test_permutations_that_are_spelt_or_mapped(one: Any, other: Any, tells: bool) -> None:
    records = [{"choices": CHOICES, "meta": {"x": one}}, {"choices": CHOICES, "meta": {"x": other}}]
    names = {name.replace("{}", "") for rule, name, _ in found(records) if name is not None and rule == "answer-order"}
    assert names == ({"$.meta.x"} if tells else set())


def test_orders_that_texts_spell_are_found_wherever_they_begin() -> None:
    records = [{"choices": CHOICES, "x": text} for text in ("none", '["C", "A", "B"]', "BAC", '["A", "C", "B"]', "CBA")]
    assert sorted(map(str, found(records))) == sorted(
        map(str, [("answer-order", "$.x", 2), ("answer-order", "$.x{}[]", 2)])
    )


def test_each_of_several_objects_of_options_counts_once() -> None:
    record = {"x": {"A": "harp", "B": "lute", "C": "viola."}, "y": {"A": "a reed", "B": "a string", "C": "A bell"}}
    check = options.check(Config(), Private())
    seen = [*check.look([Item(Place("p.jsonl", 1), "record", record)], Columns([record]))]
    assert sorted((one.place.name, one.value[1]) for one in seen) == [
        ("$.x", "with a full stop"),
        ("$.y", "with a capital at its start"),
    ]


def test_lists_of_numbers_beside_lists_of_texts() -> None:
    records: list[Any] = [{"choices": CHOICES, "x": x} for x in ([2, 0, 1], ["C", "A", "B"], [0, 2, 1, "A"], [0, 2, 1])]
    assert found(records) == [("answer-order", "$.x[]", 3)]


def test_permutations_by_name_need_no_options() -> None:
    assert found([{"shuffle_idx": [1, 0]}]) == [("answer-order", "$.shuffle_idx[]", 1)]
    assert found([{"order": [0, 1, 2]}]) == []


def test_a_pair_of_two_options_is_too_little() -> None:
    assert found([{"choices": ["yes", "no"], "x": [0, 1]}, {"choices": ["yes", "no"], "x": [1, 0]}]) == []


def test_places_are_listed_up_to_a_limit_and_counted_exactly() -> None:
    (finding,) = judge([{"choices": ["harp", "harp"]}] * 300)
    assert (finding.count, len(finding.places)) == (300, options.PLACES)
