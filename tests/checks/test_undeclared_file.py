"""Which record files count as undeclared."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakscan import config
from leakscan.checks import undeclared_file
from leakscan.model import Item, Observation, Place, Private, Release

SETTINGS = config.parse(
    {"records": {"prompts": {"files": ["prompts/*.jsonl"]}}, "files": {"allow": ["allowed.csv"]}}, Path("leakscan.toml")
)


def seen(path: str, record: int, settings: config.Config = SETTINGS) -> list[Observation]:
    item = Item(Place(path, record), "record", {"x": 1})
    check = undeclared_file.check(settings, Private())
    return [] if check is None else list(check.see(item))


@pytest.mark.parametrize("path", ["other/a.jsonl", "a.csv", "a.jsonl", "part.parquet"])
def test_undeclared(path: str) -> None:
    assert seen(path, 1) == [Observation(Place(path), None)]
    assert seen(path, 2) == []


@pytest.mark.parametrize("path", ["prompts/a.jsonl", "allowed.csv", "README.md", "notes.txt"])
def test_declared_or_prose(path: str) -> None:
    assert seen(path, 1) == []


def test_silent_without_declared_records() -> None:
    assert seen("a.csv", 1, config.Config()) == []


def test_all_files_are_one_finding() -> None:
    check = undeclared_file.check(SETTINGS, Private())

    found = list(
        check.finish(Release(Path("/")), [Observation(Place("a.csv"), None), Observation(Place("b.csv"), None)])
    )

    assert [(finding.count, finding.place, finding.places) for finding in found] == [
        (2, Place("a.csv", name="file"), (Place("a.csv"), Place("b.csv")))
    ]
