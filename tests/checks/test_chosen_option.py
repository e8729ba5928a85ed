"""A field that repeats an option or flags it is found without gold; templates and second lists are not."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import chosen_option
from leakscan.config import Config
from leakscan.model import Columns, Finding, Item, Place, Release
from leakscan.model import Private as Nothing

OPTIONS = ("harp", "oboe", "lute", "gong", "Bb", "C#", "C")
Row = Callable[[int, int, list[str]], dict[str, Any]]


def judge(row: Row, number: int = 20) -> list[Finding]:
    rng = random.Random(1)
    items = []
    for n in range(number):
        choices = rng.sample(OPTIONS, 4)
        body = {"choices": choices, **row(n, rng.randrange(4), choices)}
        items.append(Item(Place("p.jsonl", n + 1), "record", body))
    check = chosen_option.check(Config(), Nothing())
    seen = [one for at in range(0, number, 7) for one in check.look(
        items[at : at + 7], Columns([item.body for item in items[at : at + 7]]))]  # fmt: skip
    return list(check.finish(Release(Path("/nonexistent")), seen))


def found(row: Row, number: int = 20) -> list[tuple[str, str | None, int]]:
    return [(one.rule, one.place.name, one.count) for one in judge(row, number)]


CHOSEN: dict[str, tuple[Row, str, str]] = {
    "a field": (lambda n, k, c: {"x": c[k]}, "chosen-option", "$.x"),
    "in other letters": (lambda n, k, c: {"x": f" {c[k].upper()}."}, "chosen-option", "$.x"),
    "nested": (lambda n, k, c: {"m": [{"x": c[k]}]}, "chosen-option", "$.m[].x"),
    "a number": (lambda n, k, c: {"choices": ["3", "4", "5", "6"], "x": 3 + k}, "chosen-option", "$.x"),
    "beside a wrong one": (lambda n, k, c: {"choices": c, "x": c[k], "q": "?"}, "chosen-option", "$.x"),
    "a list of flags": (lambda n, k, c: {"m": [int(i == k) for i in range(4)]}, "chosen-option", "$.m[]"),
    "all the others": (lambda n, k, c: {"x": [o for o in c[::-1] if o != c[k]]}, "chosen-option", "$.x[]"),
    "all the others as text": (
        lambda n, k, c: {"x": repr([o for o in c if o != c[k]])}, "chosen-option", "$.x{}[]"),
    "a map of flags": (lambda n, k, c: {"m": {o: o == c[k] for o in c}}, "chosen-option", "$.m"),
    "a member": (
        lambda n, k, c: {"choices": [{"text": o, "ok": o == c[k]} for o in c]}, "marked-option", "$.choices[].ok"),
    "a member of one option": (
        lambda n, k, c: {"choices": [{"text": o, **({"w": 1} if o == c[k] else {})} for o in c]},
        "marked-option", "$.choices[].w"),
    "points of two": (
        lambda n, k, c: {"choices": [{"text": o, "w": int(i == k % 2)} for i, o in enumerate(c[:2])]},
        "marked-option", "$.choices[].w"),
}  # fmt: skip


@pytest.mark.parametrize("way", CHOSEN)
def test_chosen(way: str) -> None:
    row, rule, name = CHOSEN[way]
    assert found(row) == [(rule, name, 20)]
    assert found(row, 7) == []  # too few to tell


def test_nine_in_ten_are_enough() -> None:
    assert found(lambda n, k, c: {"x": c[k] if n % 10 else "?"}) == [("chosen-option", "$.x", 18)]
    assert found(lambda n, k, c: {"x": c[k] if n % 5 else "?"}) == []


def test_records_without_the_field_do_not_count() -> None:
    assert found(lambda n, k, c: {"x": c[k]} if n % 2 else {"x": None}) == [("chosen-option", "$.x", 10)]
    assert found(lambda n, k, c: {"x": c[k]} if n % 2 else {}) == [("chosen-option", "$.x", 10)]


def test_two_copies_of_the_answer_are_no_list_of_options() -> None:
    assert found(lambda n, k, c: {"x": c[k], "y": c[k]}) == [
        ("chosen-option", "$.x", 20), ("chosen-option", "$.y", 20),
    ]  # fmt: skip


HARMLESS: dict[str, Row] = {
    "always the first": lambda n, k, c: {"x": c[0], "m": [1, 0, 0, 0]},
    "always the same": lambda n, k, c: {"choices": random.Random(n).sample(["3", "4", "5"], 3), "x": 4},
    "a text that holds one": lambda n, k, c: {"prompt": f"Is it {c[k]}?"},
    "the options in another order": lambda n, k, c: {"more": random.Random(n).sample(c, 4)},
    "in columns too": lambda n, k, c: {f"opt{i}": o for i, o in enumerate(random.Random(n).sample(c, 4))},
    "labels": lambda n, k, c: {"choices": [{"label": "ABCD"[i], "text": o, "n": i // 3} for i, o in enumerate(c)]},
    "no options": lambda n, k, c: {"choices": None, "x": c[k]},
    "a measure of each option": lambda n, k, c: {"m": [random.Random(f"{n}{o}").random() for o in c]},
    "other numbers": lambda n, k, c: {"m": [5, 5, 5], "x": k},
}  # fmt: skip


@pytest.mark.parametrize("what", HARMLESS)
def test_harmless(what: str) -> None:
    assert found(HARMLESS[what]) == []


def test_places_are_listed_up_to_a_limit_and_counted_exactly() -> None:
    (finding,) = judge(lambda n, k, c: {"x": c[k]}, 300)
    assert (finding.count, len(finding.places)) == (300, chosen_option.PLACES)
    assert finding.message.startswith("chooses one of the options, now this and now that, in 300 of 300 records")
