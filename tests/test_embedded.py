"""Files within values are found by what they are, whatever the field is called, and come out as they went in."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import places
import pytest

from leakscan import walk
from leakscan.discover import members
from leakscan.embedded import files_in
from leakscan.model import Entry, Item

HOLDER = Entry("a/p.jsonl", Path("a/p.jsonl"), 3, depth=1)
READERS = members("formats")


def found(body: Any) -> list[tuple[str, bytes | None]]:
    return [(entry.path, entry.data) for entry in files_in(HOLDER, 12, body)]


@pytest.mark.parametrize(
    ("uri", "data"),
    [
        ("data:audio/wav;base64,UklGRg==", b"RIFF"),
        ("data:audio/wav;base64,UklGRg", b"RIFF"),
        (" DATA:audio/mpeg;codecs=mp3;Base64,SUQz\n", b"ID3"),
        ("data:;base64,_-_-", b"\xff\xef\xfe"),
        ("data:audio/wav;base64,UklG%52g%3D%3D", b"RIFF"),
        ("data:audio/wav;base64,Ukl\nGR g==!", b"RIFF"),
        ("data:audio/wav;base64,UklGR", b"RIF"),
        ("data:text/plain,a%20b", b"a b"),
    ],
)
def test_data_uri(uri: str, data: bytes) -> None:
    assert found({"audio": uri}) == [("a/p.jsonl!12.audio", data)]


@pytest.mark.parametrize(
    "text", ["data", "data: a thing", "my data:audio/wav;base64,UklGRg==", "data:,", "", None, 3, "SUQz"]
)
def test_other_values(text: Any) -> None:
    assert found({"audio": text}) == []


@pytest.mark.parametrize(
    "magic",
    [
        b"RIFF",
        b"ID3\4",
        b"OggS",
        b"fLaC",
        b"FORM",
        b"\xff\xfb\x90",
        b"\xff\xf3\x40",
        b"\xff\xf1\x50",
        b"\0\0\0\x20ftypM4A ",
    ],
)
def test_audio_in_bare_base64(magic: bytes) -> None:
    data = magic + bytes(range(256)) * 3
    for encode in (base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes):
        assert found({"audio": encode(data).decode()}) == [("a/p.jsonl!12.audio", data)]


def test_places_and_depth() -> None:
    uri = "data:,x"
    body = {"a": [{"b c": uri}, uri], "d": {"e": uri}}
    assert [path for path, _ in found(body)] == [
        "a/p.jsonl!12.a[0]['b c']", "a/p.jsonl!12.a[1]", "a/p.jsonl!12.d.e"
    ]  # fmt: skip
    assert [path for path, _ in found(uri)] == ["a/p.jsonl!12"]
    assert {entry.depth for entry in files_in(HOLDER, 12, body)} == {2}


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("p.jsonl", '{"audio": "data:audio/wav;base64,UklGRg=="}\n'),
        ("p.json", '[{"audio": "data:audio/wav;base64,UklGRg=="}]'),
        ("p.json", '{"data": [{"audio": "data:audio/wav;base64,UklGRg=="}]}'),
        ("p.csv", 'audio,id\n"data:audio/wav;base64,UklGRg==",1\n'),
        ("p.yaml", "audio: data:audio/wav;base64,UklGRg==\n"),
    ],
)
def test_formats_hand_them_to_the_walk(path: str, data: str) -> None:
    given = Entry(path, Path(path), len(data), data.encode())
    names = [one.place.path for one in walk.items([given], READERS, lambda path: False) if isinstance(one, Item)]
    assert names == [path, path, f"{path}!1.audio"]


@pytest.mark.parametrize("container", sorted(places.containers()))
def test_audio_of_every_container_is_known_in_bare_base64(container: str) -> None:
    name, options = next(iter(places.containers()[container].BASES.items()))
    data = places.base(name, options)
    assert found({"x": base64.b64encode(data).decode()}) == [("a/p.jsonl!12.x", data)]
