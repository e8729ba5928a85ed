"""Gold in one place, in blocks, in a file's name or in no option is found; shuffled gold hardly ever is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from leakscan.checks import gold_position
from leakscan.checks.gold_position import _repeats
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release

OPTIONS = ("harp", "viola", "oboe", "lute")


def judge(answers: Sequence[str], files: Sequence[str] = (), options: Sequence[str] = OPTIONS) -> list[Finding]:
    check = gold_position.check(Config(), Private(gold={f"q{n:04}": {"a": one} for n, one in enumerate(answers)}))
    seen = []
    for number in range(len(answers)):
        path = files[number] if files else "p.jsonl"
        body = {"id": f"q{number:04}", **({"choices": list(options)} if options else {})}
        seen += check.see(Item(Place(path, number + 1), "record", body))
    return list(check.finish(Release(Path("/nonexistent")), seen))


def rules(answers: Sequence[str], files: Sequence[str] = (), options: Sequence[str] = OPTIONS) -> list[tuple[str, str]]:
    return [(finding.rule, finding.level) for finding in judge(answers, files, options)]


def test_constant_and_biased_positions() -> None:
    assert rules(["viola"] * 20) == [("gold-position", "error")]
    assert rules(["viola"] * 19) == []  # too few to tell
    biased = ["harp"] * 60 + ["viola", "oboe", "lute"] * 13
    random.Random(1).shuffle(biased)
    (finding,) = judge(biased)
    assert (finding.rule, finding.level, finding.count) == ("gold-position", "warning", 99)
    assert finding.message.startswith("option 1 is right in 60 of 99 records, expected 25 (p = ")


def test_a_position_that_is_never_right() -> None:
    never = ["harp", "viola", "oboe"] * 40
    random.Random(1).shuffle(never)
    (finding,) = judge(never)
    assert finding.message.startswith("option 4 is right in 0 of 120 records, expected 30 (p = ")


def test_letters_count_as_options() -> None:
    assert rules(["B"] * 20) == [("gold-position", "error")]


def test_blocks_and_avoidance() -> None:
    blocks = [option for option in OPTIONS for _ in range(10)]
    assert rules(blocks) == [("gold-order", "warning")] * 2  # of the numbers, and of the answers
    assert rules(blocks, options=()) == [("gold-order", "warning")]
    assert {rule for rule, _ in rules([*OPTIONS] * 15)} == {"gold-order"}


@pytest.mark.parametrize("counts", [(3, 3), (2, 2, 2), (4, 1, 1), (5, 2)])
def test_repeats_are_those_of_all_permutations(counts: tuple[int, ...]) -> None:
    import itertools

    labels = [label for label, count in enumerate(counts) for _ in range(count)]
    same = [sum(a == b for a, b in itertools.pairwise(order)) for order in itertools.permutations(labels)]
    mean = sum(same) / len(same)
    deviation = (sum((one - mean) ** 2 for one in same) / len(same)) ** 0.5
    assert _repeats(counts) == pytest.approx((mean, deviation))


def test_shuffled_gold_is_silent() -> None:
    for seed in range(100):
        answers = [OPTIONS[number % 4] for number in range(200)]
        random.Random(seed).shuffle(answers)
        files = [f"{('harp', 'oboe')[number % 2]}.jsonl" for number in range(200)]
        assert judge(answers, files) == []


def test_split_names() -> None:
    answers = ["harp"] * 12 + ["oboe"] * 12
    files = ["test_harp.jsonl"] * 12 + ["test_oboe.jsonl"] * 12
    found = judge(answers, files)
    assert [(one.rule, one.place.path, one.place.name) for one in found] == [
        ("gold-in-split-name", "test_harp.jsonl", "file"),
        ("gold-in-split-name", "test_oboe.jsonl", "file"),
    ]
    assert "harp" not in found[0].message


def test_gold_outside_the_options() -> None:
    (finding,) = judge(["harp", "viola", "oboe", "lute", "harp", "lyre"])
    assert (finding.rule, finding.place.record, finding.count) == ("gold-outside-options", 6, 1)
    assert judge(["96", "120", "60"]) == []  # another question's gold: no option at all


def test_without_gold_there_is_nothing_to_look_for() -> None:
    assert gold_position.check(Config(), Private()) is None
