"""AIFF: chunks with text, and sizes of all kinds."""

from __future__ import annotations

import struct

import pytest
from audio_samples import entry

from leakscan.formats import aiff
from leakscan.model import Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(aiff.read(entry(data)))).body


def chunk(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">I", len(body)) + body + bytes(len(body) % 2)


COMM = chunk(b"COMM", bytes(18))
SSND = chunk(b"SSND", bytes(108))


def form(*chunks: bytes, kind: bytes = b"AIFF", change: int = 0) -> bytes:
    body = kind + b"".join(chunks)
    return b"FORM" + struct.pack(">I", len(body) + change) + body


def test_texts() -> None:
    comments = struct.pack(">HIHH", 2, 0, 0, 3) + b"one\0" + struct.pack(">IHH", 0, 0, 3) + b"two\0"
    id3 = b"ID3\x04\0\0\0\0\0\x0fTIT2\0\0\0\5\0\0\3Song"
    data = form(
        COMM, chunk(b"NAME", b"Song"), chunk(b"AUTH", b"Jane"), chunk(b"(c) ", b"me"), chunk(b"ANNO", b"a"),
        chunk(b"ANNO", b"b"), chunk(b"COMT", comments), chunk(b"APPL", b"stowaway"), SSND, chunk(b"ID3 ", id3),
    )  # fmt: skip
    assert read(data).tags == (
        ("aiff.NAME", "Song"), ("aiff.AUTH", "Jane"), ("aiff.(c)", "me"), ("aiff.ANNO", "a"), ("aiff.ANNO", "b"),
        ("aiff.COMT", "one"), ("aiff.COMT", "two"), ("aiff.other", "<binary> stowaway"), ("id3.TIT2", "Song"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        form(COMM, SSND),
        form(SSND, COMM, kind=b"AIFC"),
        form(COMM, chunk(b"SSND", bytes(9)))[:-1],  # the last pad byte left out, and counted
        b"FORM\0\0\0\0AIFF" + COMM + b"SSND\0\0\0\0" + bytes(90),  # ffmpeg to a pipe
    ],
)
def test_whole_files(data: bytes) -> None:
    assert read(data) == Tags("aiff")


@pytest.mark.parametrize(
    "data", [form(COMM, SSND)[:-2], form(COMM, SSND, change=2), form(COMM), form(SSND), form(COMM, SSND)[:40]]
)
def test_cut_files(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^audio/x\.bin: cut: "):
        read(data)


def test_hostile_comments_end() -> None:
    data = form(COMM, chunk(b"COMT", b"\xff\xff" + bytes(3) + b"\xff" * 50), SSND)
    assert read(data).container == "aiff"
