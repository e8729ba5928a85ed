"""Exact measures are found where they tell recordings apart; rounded ones and other numbers are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import near_unique
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release


def judge(name: str, values: list[Any], per_recording: int = 1) -> list[Finding]:
    check = near_unique.check(Config(), Private())
    records = [{"audio": f"{number // per_recording}.mp3", "m": {name: value}} for number, value in enumerate(values)]
    items = [Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1)]
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


EXACT = [30 + n * 0.137 for n in range(40)]


@pytest.mark.parametrize(
    "name", ["duration", "durationMs", "length_seconds", "file-size", "size_bytes", "num_samples", "n_frames", "bytes"]
)
def test_exact(name: str) -> None:
    (finding,) = judge(name, EXACT)
    assert (finding.count, finding.level, finding.place.name) == (40, "warning", f"$.m.{name}")
    assert finding.message == "40 different values for 40 recordings: as good as a key"
    assert len(judge(name, [str(value) for value in EXACT])) == 1
    assert len(judge(name, [f"0:{int(value // 60):02}:{value % 60:06.3f}" for value in EXACT])) == 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("duration", [30 + n % 20 for n in range(40)]),
        ("duration", EXACT[:19]),
        ("duration", [True] * 40),
        ("duration", ["long"] * 40),
        ("duration", [f"{n}:x" for n in range(40)]),
        ("duration", [f"0:{n % 20}" for n in range(40)]),
        ("choices_length_note", EXACT),
        ("level", EXACT),
        ("wavelength", EXACT),
    ],
)
def test_rounded_and_others(name: str, values: list[Any]) -> None:
    assert judge(name, values) == []


def test_questions_about_one_recording_share_its_measure() -> None:
    (finding,) = judge("duration", [EXACT[n // 2] for n in range(80)], per_recording=2)
    assert finding.message == "40 different values for 40 recordings: as good as a key"
    assert finding.count == 80
