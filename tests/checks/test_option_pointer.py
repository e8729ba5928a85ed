"""What points at the right option is found under any name and in any way; what only looks like it is not."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import option_pointer
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release

OPTIONS = ("harp", "oboe", "lute", "C#", "C")
Row = Callable[[int, int, list[str]], dict[str, Any]]


def judge(
    row: Row, number: int = 24, seed: int = 1, letters: bool = False, options: Sequence[str] = OPTIONS
) -> list[Finding]:
    """The findings about records with three of the options each; `row` gets a record's number, gold place and list."""
    rng = random.Random(seed)
    answers, items = {}, []
    for n in range(number):
        choices = rng.sample(options, 3)
        place = rng.randrange(3)
        answers[f"MUB-{n:05}"] = {"answer": "ABC"[place] if letters else choices[place]}
        body = {"id": f"MUB-{n:05}", "choices": choices, **row(n, place, choices)}
        items.append(Item(Place("p.jsonl", n + 1, f"MUB-{n:05}"), "record", body))
    check = option_pointer.check(Config(), Private(gold=answers))
    assert check is not None
    seen = [one for item in items for one in check.see(item)]
    return list(check.finish(Release(Path("/nonexistent")), seen))


def names(found: list[Finding]) -> list[tuple[str | None, int]]:
    return [(one.place.name, one.count) for one in found]


POINTERS: dict[str, tuple[Row, str]] = {
    "from 0": (lambda n, k, c: {"x": k}, "$.x"),
    "from 1": (lambda n, k, c: {"x": k + 1}, "$.x"),
    "from the end": (lambda n, k, c: {"x": k - 3}, "$.x"),
    "a float": (lambda n, k, c: {"x": float(k)}, "$.x"),
    "a number as text": (lambda n, k, c: {"x": f"0{k}"}, "$.x"),
    "a letter": (lambda n, k, c: {"x": "ABC"[k]}, "$.x"),
    "a small letter in brackets": (lambda n, k, c: {"x": f"({'abc'[k]})"}, "$.x"),
    "the name of a column": (lambda n, k, c: {"x": f"option_{'abc'[k]}"}, "$.x"),
    "nested": (lambda n, k, c: {"m": {"n": [{"x": k}]}}, "$.m.n[].x"),
    "a map": (lambda n, k, c: {"m": {o: int(i == k) for i, o in enumerate(c)}}, "$.m"),
    "a map in another order": (lambda n, k, c: {"m": {o: o == c[k] for o in sorted(c)}}, "$.m"),
    "a map of letters": (lambda n, k, c: {"m": {o: i == k for i, o in enumerate("abc")}}, "$.m"),
    "a list of flags": (lambda n, k, c: {"m": [i == k for i in range(3)]}, "$.m[]"),
    "one cold": (lambda n, k, c: {"m": [int(i != k) for i in range(3)]}, "$.m[]"),
    "scores": (lambda n, k, c: {"m": [0.9 if i == k else i / 7 for i in range(3)]}, "$.m[]"),
    "a text of flags": (lambda n, k, c: {"m": "".join(str(int(i == k)) for i in range(3))}, "$.m"),
    "members of options": (
        lambda n, k, c: {"choices": [{"text": o, "w": 3 - abs(i - k)} for i, o in enumerate(c)]}, "$.choices[].w"),
}  # fmt: skip


@pytest.mark.parametrize("way", POINTERS)
def test_pointers(way: str) -> None:
    row, name = POINTERS[way]
    if "map" in way:  # C and C# are one word, so a map of both is not read
        (found,) = judge(
            lambda n, k, c: row(n, k, c) if way == "a map of letters" or len({*c} & {"C", "C#"}) < 2 else {}
        )
        assert (found.place.name, found.count > 12) == (name, True)
    else:
        assert names(judge(row)) == [(name, 24)]


def test_message_and_level() -> None:
    (finding,) = judge(lambda n, k, c: {"x": k})
    assert finding.level == "error"
    assert finding.message.startswith("points at the right option (answer) of 24 of 24 records, 100.0%; with shuffled")
    assert "(p = " in finding.message


def test_gold_may_be_a_letter() -> None:
    found = judge(lambda n, k, c: {"x": k}, letters=True, options=OPTIONS[:3])
    assert names(found) == [("$.x", 24)]


def test_some_wrong_pointers_do_not_hide_it() -> None:
    assert names(judge(lambda n, k, c: {"x": k if n % 4 else (k + 1) % 3}, number=40)) == [("$.x", 30)]


HARMLESS: dict[str, Row] = {
    "a constant": lambda n, k, c: {"x": 1},
    "a counter": lambda n, k, c: {"x": n},
    "a cycle": lambda n, k, c: {"x": n % 3},
    "a random number": lambda n, k, c: {"x": random.Random(n).randrange(3)},
    "random flags": lambda n, k, c: {"m": {o: random.Random(f"{n}{o}").randrange(2) for o in c}},
    "other numbers": lambda n, k, c: {"x": 100 + k / 7, "y": True, "z": None},
    "a word": lambda n, k, c: {"x": "abacus"},
}  # fmt: skip


@pytest.mark.parametrize("what", HARMLESS)
def test_harmless(what: str) -> None:
    assert [found for seed in range(5) for found in judge(HARMLESS[what], seed=seed)] == []


def test_favourite_place_of_the_gold_makes_no_pointer_of_a_constant() -> None:
    options = ["harp", "oboe", "lute"]
    check = option_pointer.check(Config(), Private(gold={f"q{n:04}": {"a": "harp"} for n in range(30)}))
    assert check is not None
    items = [
        Item(Place("p.jsonl", n + 1, f"q{n:04}"), "record", {"choices": options, "x": 0, "y": "A"}) for n in range(30)
    ]
    seen = [one for item in items for one in check.see(item)]
    assert len(seen) == 30
    assert list(check.finish(Release(Path("/nonexistent")), seen)) == []


def test_few_recordings_cannot_tell() -> None:
    assert judge(lambda n, k, c: {"x": k}, number=4) == []
    assert judge(lambda n, k, c: {"x": k, "audio": f"audio/{n % 4}.mp3"}) == []
    assert names(judge(lambda n, k, c: {"x": k, "audio": f"audio/{n % 5}.mp3"})) == [("$.x", 24)]


def test_pointers_at_the_options_of_a_prompt() -> None:
    def row(n: int, k: int, c: list[str]) -> dict[str, Any]:
        return {"choices": None, "x": k, "prompt": "\n".join(["Which?", *map("{}. {}".format, "ABC", c)])}

    assert names(judge(row)) == [("$.x", 24)]


def of_recordings(
    pointer: Callable[[int, int, int], tuple[int, int]], recordings: int
) -> tuple[list[Finding], list[str]]:
    """Findings and remarks about 84 records with four options; of a record's turn, its recording and a random number
    `pointer` makes what the record says and where its gold is."""
    options = ["harp", "oboe", "lute", "lyre"]
    rng = random.Random(1)
    answers, items = {}, []
    for n in range(84):
        said, place = pointer(n // recordings, n % recordings, rng.randrange(4))
        answers[f"q{n:04}"] = {"a": options[place]}
        body = {"choices": options, "x": said, "audio": f"{n % recordings}.mp3"}
        items.append(Item(Place("p.jsonl", n + 1, f"q{n:04}"), "record", body))
    check = option_pointer.check(Config(), Private(gold=answers))
    assert check is not None
    seen = [one for item in items for one in check.see(item)]
    return list(check.finish(Release(Path("/nonexistent")), seen)), list(check.remarks(seen))


def test_four_recordings_are_enough_where_all_of_them_agree() -> None:
    found, remarks = of_recordings(lambda turn, recording, k: (k, k), recordings=4)
    assert (names(found), remarks) == ([("$.x", 84)], [])
    turned = of_recordings(lambda turn, recording, k: (turn % 4, (turn + recording // 3) % 4), recordings=4)
    assert turned == ([], [])  # where options are turned by one, three recordings agree by accident


def test_a_file_of_too_few_recordings_gets_a_remark() -> None:
    remark = "gold-pointer: files of too few records or recordings to tell what points at the gold: 1"
    assert of_recordings(lambda turn, recording, k: (k, k), recordings=3) == ([], [remark])


def test_without_gold_there_is_nothing_to_look_for() -> None:
    assert option_pointer.check(Config(), Private()) is None
