"""Wave64: chunks with GUIDs and sizes of 8 bytes."""

from __future__ import annotations

import io
import struct

import pytest
from audio_samples import entry

from leakscan import ledgers
from leakscan.formats import w64
from leakscan.model import Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(w64.read(entry(data)))).body


def cleaned(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), w64.account(io.BytesIO(data)), out)
    return out.getvalue()


REST = bytes.fromhex("f3acd3118cd100c04f8edb8a")
RIFF = bytes.fromhex("726966662e91cf11a5d628db04c10000")
LIST = bytes.fromhex("6c6973742f91cf11a5d628db04c10000")


def chunk(kind: bytes, body: bytes) -> bytes:
    guid = kind if len(kind) == 16 else kind + REST
    return guid + struct.pack("<Q", 24 + len(body)) + body + bytes(-len(body) % 8)


FMT = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16))
DATA = chunk(b"data", b"\1\2" * 50)


def file(*chunks: bytes, change: int = 0) -> bytes:
    body = b"wave" + REST + FMT + b"".join(chunks)
    return RIFF + struct.pack("<Q", 24 + len(body) + change) + body


def test_texts() -> None:
    info = b"INFO" + b"INAM\4\0\0\0Song"
    bext = b"what it is".ljust(602, b"\0")
    data = file(chunk(LIST, info), DATA, chunk(b"bext", bext))
    assert read(data).container == "w64"
    assert read(data).tags == (("riff.INAM", "Song"), ("riff.bext.description", "what it is"))
    assert cleaned(data) == file(DATA)


def test_chunks_and_padding_that_nothing_knows_are_told() -> None:
    data = file(DATA[:-4] + b"stow", chunk(bytes(range(16)), b"stowaway"))
    assert [name for name, _ in read(data).blocks] == ["stale.riff.pad", "unknown.riff.other"]
    assert cleaned(data) == file(DATA)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (file(DATA)[:-20], "cut: its "),
        (file(DATA, change=100), "cut: its header says 308 bytes, 208 are there"),
        (file(), "cut: no data chunk"),
        (file(DATA, DATA), "damaged: 2 data chunks"),
        (file(DATA).replace(b"wave", b"WAVE"), "no Wave64 form"),
        (file(b"data" + REST + bytes(8)), "cut: no data chunk"),  # a size shorter than the header
    ],
)
def test_what_is_cut_or_unknown_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=rf"^audio/x\.bin: .*{why}"):
        read(data)
