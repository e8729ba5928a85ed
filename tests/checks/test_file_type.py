"""Audio files whose extension belongs to another container."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakscan.checks import file_type
from leakscan.config import Config
from leakscan.discover import members
from leakscan.model import Columns, Finding, Item, Place, Private, Release, Tags


def judge(*files: tuple[str, str]) -> list[Finding]:
    check = file_type.check(Config(), Private())
    items = [Item(Place(path), "audio", Tags(container)) for path, container in files]
    return list(
        check.finish(
            Release(Path("/nonexistent")), [seen for item in items for seen in check.look([item], Columns([]))]
        )
    )


@pytest.mark.parametrize(
    ("path", "container"),
    [("a.wav", "mp3"), ("a.mp3", "wav"), ("a.txt", "flac"), ("mp3", "mp3"), ("a.flac", "ogg-flac"),
     ("t.tar!a.wav", "mp3"), ("b!/a.wav", "mp3")],
)  # fmt: skip
def test_misnamed(path: str, container: str) -> None:
    (finding,) = judge((path, container))
    assert finding.message == f"not what the extension says, but {container}"
    assert finding.place == Place(path, name="file")


@pytest.mark.parametrize(
    ("path", "container"),
    [("a.mp3", "mp3"), ("A.WAV", "wav"), ("a.oga", "ogg-opus"), ("a.m4a", "mp4"), ("a.x", "a container of tomorrow"),
     ("p.parquet!audio[12].bytes", "wav"), ("p.jsonl!$.audio", "mp3")],
)  # fmt: skip
def test_named_as_it_is(path: str, container: str) -> None:
    assert judge((path, container)) == []


def test_all_are_one_finding() -> None:
    (finding,) = judge(("a.wav", "mp3"), ("b.wav", "flac"), ("c.wav", "wav"))
    assert (finding.count, finding.message) == (2, "not what the extension says, but flac, mp3")


def test_what_the_formats_are_called_is_known() -> None:
    known = {f".{name}" for names in file_type.CONTAINERS.values() for name in names.split()}
    assert {
        name for module in members("formats").values() if getattr(module, "AUDIO", False) for name in module.NAMES
    } <= known
