"""Gold in one place, in blocks, in a file's name or in no option is found; shuffled gold hardly ever is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import gold_position
from leakscan.checks.gold_position import _repeated, _repeats
from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release

OPTIONS = ("harp", "viola", "oboe", "lute")


def judge(answers: Sequence[str], files: Sequence[str] = (), options: Sequence[str] = OPTIONS) -> list[Finding]:
    check, seen = observed(answers, files, options)
    return list(check.finish(Release(Path("/nonexistent")), seen))


def observed(answers: Sequence[str], files: Sequence[str], options: Sequence[str]) -> tuple[Any, list[Observation]]:
    check = gold_position.check(Config(), Private(gold={f"q{n:04}": {"a": one} for n, one in enumerate(answers)}))
    assert check is not None
    seen: list[Observation] = []
    for number in range(len(answers)):
        path = files[number] if files else "p.jsonl"
        body = {"id": f"q{number:04}", **({"choices": list(options)} if options else {})}
        seen += check.see(Item(Place(path, number + 1), "record", body))
    return check, seen


def rules(answers: Sequence[str], files: Sequence[str] = (), options: Sequence[str] = OPTIONS) -> list[tuple[str, str]]:
    return [(finding.rule, finding.level) for finding in judge(answers, files, options)]


def test_constant_and_biased_positions() -> None:
    assert rules(["viola"] * 20) == [("gold-position", "error")]
    assert rules(["viola"] * 9) == [("gold-position", "error")]
    assert rules(["viola"] * 8) == []  # too few to tell: by accident in one of 8,192 releases
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


@pytest.mark.parametrize("form", ["{}. {}", "{}) {}", " ({}) {}", "{}: {}", "**{}.** {}", "- {}. {}"])
@pytest.mark.parametrize("gold", ["viola", "B"])
def test_options_in_the_prompt_count_as_options(form: str, gold: str) -> None:
    prompt = "\n".join(["Which instrument is heard?", *map(form.format, "ABCD", OPTIONS), "Answer with its letter."])
    (finding,) = in_prompts(prompt, [gold] * 20)
    assert (finding.rule, finding.level, finding.place.name) == ("gold-position", "error", "$.messages[].content")
    assert finding.message.startswith("option 2 is right in 20 of 20 records, expected 5 (p = ")
    assert in_prompts(prompt, random.Random(1).choices(OPTIONS, k=40)) == []
    assert in_prompts(prompt, ["lyre"] * 20) == []  # a list of something else
    rarer = random.Random(1).choices(("viola", "harp"), (7, 1), k=40)
    assert in_prompts(prompt, rarer) == []  # the same list in every prompt: nobody placed them


def in_prompts(prompt: str, answers: Sequence[str]) -> list[Finding]:
    check = gold_position.check(Config(), Private(gold={f"q{n:04}": {"a": one} for n, one in enumerate(answers)}))
    assert check is not None
    seen: list[Observation] = []
    for number in range(len(answers)):
        turns = [{"role": "system", "content": "1. Listen.\n2. Answer."}, {"role": "user", "content": prompt}]
        body = {"id": f"q{number:04}", "messages": turns}
        seen += check.see(Item(Place("p.jsonl", number + 1), "record", body))
    return list(check.finish(Release(Path("/nonexistent")), seen))


def test_a_file_of_too_few_records_gets_a_remark() -> None:
    def remarks(answers: Sequence[str], files: Sequence[str] = (), options: Sequence[str] = OPTIONS) -> list[str]:
        check, seen = observed(answers, files, options)
        return list(check.remarks(seen))

    remark = "gold-position: files of too few records to tell whether one place is right too often: {}"
    assert remarks(["viola"] * 8) == [remark.format(1)]
    assert remarks(["viola"] * 9) == []
    assert remarks(["viola"] * 12, options=OPTIONS[:2]) == [remark.format(1)]
    assert remarks(["viola"] * 20, ["a.jsonl", "b.jsonl"] * 10) == []
    assert remarks(["viola"] * 10, ["a.jsonl", "b.jsonl"] * 5) == [remark.format(2)]
    assert remarks(["96"] * 3) == remarks(["viola"] * 3, options=()) == []  # nothing to tell


def test_blocks_and_avoidance() -> None:
    blocks = [option for option in OPTIONS for _ in range(10)]
    assert rules(blocks) == [("gold-order", "warning")] * 2  # of the numbers, and of the answers
    assert rules(blocks, options=()) == [("gold-order", "warning")]
    assert rules([option for option in OPTIONS for _ in range(4)]) == [("gold-order", "warning")] * 2
    assert {rule for rule, _ in rules([*OPTIONS] * 15)} == {"gold-order"}


@pytest.mark.parametrize("number", [24, 60, 400])
def test_numbers_in_order(number: int) -> None:
    """Sorted either way, in blocks, or with several records of one recording; not where they are shuffled."""
    rng = random.Random(number)
    tempos = sorted(rng.uniform(60, 180) for _ in range(number))
    told = [("gold-order", "warning")]

    def found(order: Sequence[float]) -> list[tuple[str, str]]:
        return rules([f"{tempo:.1f}" for tempo in order], options=())

    assert found(tempos) == found(tempos[::-1]) == told
    assert found(tempos[number // 2 :] + tempos[: number // 2]) == told
    assert found([tempo for tempo in tempos for _ in range(3)]) == told
    rng.shuffle(tempos)
    assert found(tempos) == found([tempo for tempo in tempos for _ in range(3)]) == []
    assert found([*tempos[1:], tempos[0]]) == []


def test_shuffled_numbers_hardly_ever_correlate() -> None:
    rng = random.Random(7)
    orders = [[str(rng.randrange(60, 180)) for _ in range(rng.randrange(2, 60))] for _ in range(400)]
    assert [order for order in orders if rules(order, options=())] == []


@pytest.mark.parametrize("counts", [(3, 3), (2, 2, 2), (4, 1, 1), (5, 2)])
def test_repeats_are_those_of_all_permutations(counts: tuple[int, ...]) -> None:
    import itertools

    labels = [label for label, count in enumerate(counts) for _ in range(count)]
    same = [sum(a == b for a, b in itertools.pairwise(order)) for order in itertools.permutations(labels)]
    mean = sum(same) / len(same)
    deviation = (sum((one - mean) ** 2 for one in same) / len(same)) ** 0.5
    assert _repeats(counts) == pytest.approx((mean, deviation))
    assert _repeated(counts) == pytest.approx([same.count(number) / len(same) for number in range(len(labels))])


def test_shuffled_gold_is_silent() -> None:
    for seed in range(100):
        answers = [OPTIONS[number % 4] for number in range(200)]
        random.Random(seed).shuffle(answers)
        files = [f"{('harp', 'oboe')[number % 2]}.jsonl" for number in range(200)]
        assert judge(answers, files) == []


@pytest.mark.parametrize("number", [9, 12, 16, 40])
def test_few_random_answers_are_silent(number: int) -> None:
    for seed in range(50):
        rng = random.Random(seed)
        assert judge([rng.choice(OPTIONS) for _ in range(number)]) == []
        assert judge([rng.choice(("yes", "no")) for _ in range(number)], options=("yes", "no")) == []


def test_split_names() -> None:
    answers = ["harp"] * 12 + ["oboe"] * 12
    files = ["test_harp.jsonl"] * 12 + ["test_oboe.jsonl"] * 12
    found = [one for one in judge(answers, files) if one.rule != "gold-position"]
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
