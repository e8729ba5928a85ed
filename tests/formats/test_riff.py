"""WAV: chunks with text, and sizes of all kinds."""

from __future__ import annotations

import struct

import pytest
from audio_samples import entry

from leakscan.formats import riff
from leakscan.model import Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(riff.read(entry(data)))).body


def chunk(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)


FMT = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16))
DATA = chunk(b"data", bytes(100))


def wav(*chunks: bytes, change: int = 0, tail: bytes = b"") -> bytes:
    body = b"WAVE" + FMT + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body) + change) + body + tail


def test_list_info() -> None:
    info = chunk(b"LIST", b"INFO" + chunk(b"INAM", b"Song\0") + chunk(b"JANE", b"Doe\0") + chunk(b"ISFT", "É".encode()))
    assert read(wav(info, DATA)).tags == (
        ("riff.INAM", "Song"), ("riff.other", "JANE"), ("riff.other", "Doe"), ("riff.ISFT", "É"),
    )  # fmt: skip


def test_broadcast_wave() -> None:
    bext = b"what it is".ljust(256, b"\0") + b"who".ljust(32, b"\0") + b"ref".ljust(32, b"\0") + b"2001-02-0304:05:06"
    bext += bytes(8) + b"\1\0" + b"\xab" * 64 + bytes(190) + b"A=PCM\r\n"
    assert read(wav(chunk(b"bext", bext), DATA)).tags == (
        ("riff.bext.description", "what it is"),
        ("riff.bext.originator", "who"),
        ("riff.bext.originator_reference", "ref"),
        ("riff.bext.date", "2001-02-0304:05:06"),
        ("riff.bext.coding_history", "A=PCM"),
        ("riff.bext.umid", "ab" * 64),
    )


def test_other_chunks_with_text() -> None:
    id3 = b"ID3\x04\0\0\0\0\0\x0fTIT2\0\0\0\5\0\0\3Song"
    data = wav(
        chunk(b"iXML", b"<x/>"), chunk(b"id3 ", id3), DATA, chunk(b"JUNK", b"stowaway"), chunk(b"what", b"is this")
    )
    assert read(data).tags == (
        ("riff.iXML", "<x/>"),
        ("id3.TIT2", "Song"),
        ("riff.JUNK", "<binary> stowaway"),
        ("riff.other", "<binary> is this"),
    )


def test_what_follows_the_last_chunk_is_found() -> None:
    assert read(wav(DATA, tail=b"\xff\xfe glued on")).tags == (("riff.other", "<binary>  glued on"),)
    assert read(wav(DATA, tail=chunk(b"JUNK", b"stowaway"))).tags == (("riff.JUNK", "<binary> stowaway"),)


@pytest.mark.parametrize(
    "data",
    [
        wav(DATA),
        wav(chunk(b"data", b"")),
        wav(chunk(b"data", bytes(99)))[:-1],  # the last pad byte left out, and counted
        b"RIFF\xff\xff\xff\xffWAVE" + FMT + b"data\xff\xff\xff\xff" + bytes(99),  # ffmpeg to a pipe
        wav(b"data\xff\xff\xff\xff" + bytes(99)),
        b"RIFF\0\0\0\0WAVE" + FMT + b"data\0\0\0\0" + bytes(99),
        b"RIFF\x24\0\0\0WAVE" + FMT + b"data\0\0\0\0" + bytes(99),  # never finished
        b"RIFF\x24\xf0\xff\x7fWAVE" + FMT + b"data\x00\xf0\xff\x7f" + bytes(99),  # sox to a pipe
    ],
)
def test_whole_files(data: bytes) -> None:
    assert read(data) == Tags("wav")


@pytest.mark.parametrize(
    "data",
    [
        wav(DATA)[:-2],
        wav(DATA, change=2),
        wav(),
        wav(chunk(b"LIST", b"INFO" + b"INAM\xff\0\0\0"), DATA),
        wav(DATA, chunk(b"LIST", bytes(50)))[:-20],
    ],
)
def test_cut_files(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^audio/x\.bin: cut: "):
        read(data)


def rf64(size: int, data_size: int) -> bytes:
    ds64 = chunk(b"ds64", struct.pack("<QQQI", size, data_size, 50, 0))
    return b"RF64\xff\xff\xff\xffWAVE" + ds64 + FMT + b"data\xff\xff\xff\xff" + bytes(100)


def test_rf64() -> None:
    whole = len(rf64(0, 100)) - 8
    assert read(rf64(whole, 100)) == Tags("wav")
    for size, data_size in ((whole + 9, 100), (whole, 101), (whole, 1 << 40)):
        with pytest.raises(Unreadable, match="cut"):
            read(rf64(size, data_size))
    with pytest.raises(Unreadable, match="no ds64 chunk at its start"):
        read(b"RF64" + wav(DATA)[4:])
