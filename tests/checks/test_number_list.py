"""Raw fingerprints and embeddings are found; beats, envelopes, curves and short lists are not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from leakscan.checks import number_list
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release

RNG = random.Random(5)
WORDS = [RNG.getrandbits(32) for _ in range(100)]
SIGNED = [word - (1 << 32 if word >> 31 else 0) for word in WORDS]
VECTOR = [RNG.gauss(0, 1) for _ in range(64)]


def judge(*lists: Sequence[float]) -> list[Finding]:
    check = number_list.check(Config(), Private())
    items = [Item(Place("p.jsonl", number), "record", {"x": list(one)}) for number, one in enumerate(lists, 1)]
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


@pytest.mark.parametrize("words", [WORDS, SIGNED, WORDS[:32]])
def test_fingerprints(words: list[int]) -> None:
    (finding,) = judge(words)
    assert (finding.rule, finding.level, str(finding.evidence)) == (
        "acoustic-fingerprint", "error", f"numbers, {len(words)} elements",
    )  # fmt: skip


def test_embeddings_have_one_length() -> None:
    assert [(one.rule, one.count) for one in judge(VECTOR, VECTOR[::-1])] == [("embedding", 2)]
    assert judge(VECTOR, VECTOR[1:]) == []


@pytest.mark.parametrize(
    "numbers",
    [
        [0.5 * n for n in range(100)],
        [abs(one) for one in VECTOR],
        sorted(VECTOR),
        VECTOR[:31],
        WORDS[:31],
        [*range(100)],
        [1 << 30] * 100,
        [1 << 40] * 50 + [1 << 41] * 50,
        [True] * 64,
    ],
)
def test_other_lists(numbers: list[float]) -> None:
    assert judge(numbers, numbers) == []
