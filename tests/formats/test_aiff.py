"""AIFF: chunks with text, sizes of all kinds, codings that are left alone."""

from __future__ import annotations

import io
import struct

import pytest
from audio_samples import entry

from leakscan import ledgers
from leakscan.formats import aiff
from leakscan.model import Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(aiff.read(entry(data)))).body


def cleaned(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), aiff.account(io.BytesIO(data)), out)
    return out.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">I", len(body)) + body + bytes(len(body) % 2)


RATE = bytes.fromhex("400bfa00000000000000")  # 8000 Hz


def comm(frames: int, kind: bytes = b"", bits: int = 16) -> bytes:
    return chunk(b"COMM", struct.pack(">HIH", 1, frames, bits) + RATE + kind)


COMM = comm(50)
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
        ("aiff.COMT", "one"), ("aiff.COMT", "two"), ("id3.TIT2", "Song"),
    )  # fmt: skip
    assert ("tag.aiff.APPL", "<binary> stowaway") in [(name, text[:17]) for name, text in read(data).blocks]


@pytest.mark.parametrize(
    "data",
    [
        form(COMM, SSND),
        form(SSND, comm(50, b"NONE\0\0"), kind=b"AIFC"),
        form(comm(1, bits=8), chunk(b"SSND", bytes(9)))[:-1],  # the last pad byte left out, and counted
        b"FORM\0\0\0\0AIFF" + comm(0) + b"SSND\0\0\0\0" + bytes(90),  # ffmpeg to a pipe
    ],
)
def test_whole_files(data: bytes) -> None:
    body = read(data)
    assert (body.container, body.tags, body.blocks) == ("aiff", (), ())
    assert cleaned(cleaned(data)) == cleaned(data)


def test_a_clean_file_has_the_right_sizes() -> None:
    sound = b"\1\2" * 41
    data = b"FORM\0\0\0\0AIFF" + comm(0) + b"SSND\0\0\0\0" + bytes(8) + sound
    assert cleaned(data) == form(comm(41), chunk(b"SSND", bytes(8) + sound))


@pytest.mark.parametrize("name", [b"\x0enot compressed\0", b"\0\0", b""])
def test_names_of_compression_types_that_all_files_have_say_nothing(name: bytes) -> None:
    data = form(comm(50, b"NONE" + name), SSND, kind=b"AIFC")
    assert read(data).blocks == ()
    assert cleaned(data) == form(comm(50, b"NONE\0\0"), SSND, kind=b"AIFC")


def test_a_name_of_a_compression_type_is_a_tag() -> None:
    data = form(comm(50, b"sowt\x0cJane's coder\0"), SSND, kind=b"AIFC")
    assert read(data).tags == (("aiff.compression", "Jane's coder"),)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (form(comm(50, b"QDM2\0\0"), SSND, kind=b"AIFC"), "a compression type that is not known, which is not supp"),
        (form(COMM, COMM, SSND), "2 COMM chunks"),
        (form(COMM, SSND, SSND), "2 SSND chunks"),
        (form(chunk(b"COMM", bytes(17)), SSND), "COMM chunk is too short"),
        (form(comm(50), SSND, kind=b"AIFC"), "COMM chunk is too short"),
        (form(comm(50, bits=0), SSND), "no channels, bits or sample rate"),
        (form(COMM.replace(RATE, b"quillfeath"), SSND), "no channels, bits or sample rate"),
        (form(COMM.replace(b"\0\1\0\0\0\x32", b"qu\0\0\0\x32"), SSND), "no channels, bits or sample rate"),
        (form(COMM, chunk(b"SSND", bytes(7))), "SSND chunk is too short"),
        (form(COMM, chunk(b"SSND", b"\0\0\1\0" + bytes(20))), "begin after their end"),
        (form(COMM, chunk(b"CHAN", bytes(11)), SSND), "channel layout is too short"),
        (form(COMM, chunk(b"CHAN", bytes(8) + b"\0\0\0\2" + bytes(39)), SSND), "describes 2 channels in 51 bytes"),
        (form(COMM, chunk(b"SSND", bytes(50) + b"TAG" + bytes(125))), "a tag to other readers"),
    ],
)
def test_what_cannot_be_accounted_for_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read(data)


def test_a_rate_is_as_precise_as_it_has_to_be() -> None:
    """What is below a 16th of 1 Hz is room for text."""
    data = form(COMM.replace(RATE, RATE[:4] + b"\x80uill\0"), SSND)  # 8000.0625 Hz, and a little more
    assert cleaned(data) == form(COMM.replace(RATE, RATE[:4] + b"\x80" + bytes(5)), SSND)
    assert "unknown.aiff.COMM" in dict(read(data).blocks)


def test_the_layout_of_channels_stays() -> None:
    described = struct.pack(">III", 0, 0, 1) + struct.pack(">IIIII", 3, 0, 7, 7, 7)
    data = form(COMM, chunk(b"CHAN", described), SSND)
    assert cleaned(data) == form(COMM, chunk(b"CHAN", described[:20] + bytes(12)), SSND)
    assert read(data).blocks[0][0] == "unknown.aiff.CHAN"


@pytest.mark.parametrize(
    "data", [form(COMM, SSND)[:-2], form(COMM, SSND, change=2), form(COMM), form(SSND), form(COMM, SSND)[:40]]
)
def test_cut_files(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^audio/x\.bin: cut: "):
        read(data)


def test_hostile_comments_end() -> None:
    data = form(COMM, chunk(b"COMT", b"\xff\xff" + bytes(3) + b"\xff" * 50), SSND)
    assert read(data).container == "aiff"
