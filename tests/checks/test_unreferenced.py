"""Audio that no record refers to is found; where records refer to none, nothing can be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import unreferenced
from leakscan.config import Config
from leakscan.model import Columns, Entry, Finding, Item, Place, Private, Release


def judge(files: list[str], records: list[Any], data: bytes | None = None) -> list[Finding]:
    check = unreferenced.check(Config(), Private())
    items = [Item(Place(path), "file", Entry(path, Path(path), 9, data)) for path in files]
    items += [Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1)]
    seen = list(check.look(items, Columns(records)))
    return list(check.finish(Release(Path("/nonexistent")), seen))


def test_left_over() -> None:
    files = ["audio/a.mp3", "audio/b.mp3", "audio/c.flac", "README.md", "p.jsonl"]
    (finding,) = judge(files, [{"x": [{"y": "audio/b.mp3"}]}])
    assert [place.path for place in finding.places] == ["audio/a.mp3", "audio/c.flac"]
    assert (finding.level, finding.count, finding.place.name) == ("warning", 2, "file")


@pytest.mark.parametrize("reference", ["a.mp3", "audio/a.mp3", "../release/audio/a.mp3", "audio\\a.mp3", "./a.mp3"])
def test_referred_to_from_wherever(reference: str) -> None:
    assert judge(["audio/a.mp3"], [{"audio": reference}]) == []


@pytest.mark.parametrize("records", [[], [{"id": "a"}], [{"see": "notes.txt"}]])
def test_silent_where_records_refer_to_no_audio(records: list[Any]) -> None:
    assert judge(["audio/a.mp3"], records) == []


def test_members_of_containers_are_their_own_business() -> None:
    assert judge(["p.parquet!b.mp3"], [{"audio": "a.mp3"}], b"sound") == []
    assert judge(["why!/b.mp3"], [{"audio": "a.mp3"}]) != []


def test_folders_and_files_that_cannot_be_read_are_passed_over() -> None:
    check = unreferenced.check(Config(), Private())
    assert list(check.look([Item(Place("a.mp3/"), "file")], Columns([]))) == []
