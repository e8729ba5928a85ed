"""What tags claim, and what a key of title and artist makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import tunes

from leakscan import store, walk
from leakscan.claims import Claims, Verdict, agree, judge, read
from leakscan.model import Entry

TAGS = ("-metadata", "title=A  Söng!", "-metadata", "artist=The Band", "-metadata", "copyright=(c) 2009 X")


@pytest.fixture(scope="module")
def song(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tunes.write(tmp_path_factory.mktemp("claims") / "song.wav", tunes.music(1, 1))


@pytest.mark.parametrize("name", ["a.mp3", "a.flac", "a.ogg", "a.m4a", "a.opus"])
def test_tags_of_all_systems_are_read_alike(tmp_path: Path, song: Path, name: str) -> None:
    path = tunes.encode(song, tmp_path / name, *TAGS)
    found = read(Entry(name, path, path.stat().st_size))
    assert (found.title, found.artist, found.copyright) == (("a", "song"), ("the", "band"), ("c", "2009", "x"))


def test_a_riff_list(tmp_path: Path, song: Path) -> None:
    path = tunes.encode(song, tmp_path / "a.wav", *TAGS)
    assert read(Entry("a.wav", path, path.stat().st_size)).key == (("a", "song"), ("the", "band"))


def test_what_cannot_be_read_claims_nothing(tmp_path: Path, song: Path) -> None:
    for name, content in (("a.mp3", b""), ("b.txt", b"title"), ("c.wav", song.read_bytes()[:100])):
        (tmp_path / name).write_bytes(content)
        assert read(Entry(name, tmp_path / name, len(content))) == Claims()
    assert read(Entry("gone", tmp_path / "gone", 0)) == Claims()


def one(title: str, artist: str = "x") -> Claims:
    return Claims(tuple(title.split()), (artist,))


def test_whether_two_agree_is_not_always_known() -> None:
    assert agree(one("a"), one("a")) is True
    assert agree(one("a"), one("a", "y")) is False
    assert agree(one("a"), Claims(title=("a",))) is None
    assert agree(None, one("a")) is None


def test_a_key_finds_misses_and_joins_wrongly() -> None:
    stated = {
        "a": one("t"), "b": one("t"), "c": one("u"), "d": Claims(),  # one recording
        "e": one("t"), "f": one("v"), "g": one("v"),  # three others
    }  # fmt: skip
    assert judge(stated, [["a", "b", "c", "d"]]) == Verdict(finds=1, misses=2, untagged=3, wrongly_joins=3)
    assert judge(stated, []) == Verdict(0, 0, 0, 4)
    assert judge({}, [["x", "y"]]) == Verdict(0, 0, 1, 0)


def test_tags_are_read_once(tmp_path: Path, song: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tunes.encode(song, tmp_path / "a.mp3", *TAGS)
    entry = Entry("a.mp3", path, path.stat().st_size)
    with store.opened(str(tmp_path / "cache")) as memory:
        found = read(entry, memory)
    assert found == read(entry)
    assert found.title
    monkeypatch.setattr(walk, "choose", None)  # nothing is looked at again
    with store.opened(str(tmp_path / "cache")) as memory:
        assert read(entry, memory) == found
