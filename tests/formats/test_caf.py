"""CAF: texts, packet tables, cookies, sizes."""

from __future__ import annotations

import io
import struct

import pytest
from audio_samples import entry

from leakscan import ledgers
from leakscan.formats import caf
from leakscan.model import Ledger, Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(caf.read(entry(data)))).body


def account(data: bytes) -> Ledger:
    return caf.account(io.BytesIO(data))


def cleaned(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">Q", len(body)) + body


def desc(coding: bytes = b"lpcm", flags: int = 0, size: int = 2, frames: int = 1, rate: float = 8000.0) -> bytes:
    return chunk(b"desc", struct.pack(">d4s5I", rate, coding, flags, size, frames, 1, 16))


SOUND = b"\1\2" * 50
DATA = chunk(b"data", bytes(4) + SOUND)
CONFIG = bytes.fromhex("00001000 0010280a0e01 00ff") + bytes(8) + (44100).to_bytes(4, "big")
ATOMS = b"\0\0\0\x0cfrmaalac\0\0\0\x24alac\0\0\0\0" + CONFIG


def file(*chunks: bytes) -> bytes:
    return b"caff\0\1\0\0" + b"".join(chunks)


def lossless(table: bytes = b"\x32\x32", kuki: bytes = ATOMS, count: int = 2, frames: int = 4096) -> bytes:
    pakt = struct.pack(">QQII", count, 8000, 0, 192) + table
    return file(desc(b"alac", 1, 0, frames), chunk(b"kuki", kuki), DATA, chunk(b"pakt", pakt))


def test_texts() -> None:
    info = b"\0\0\0\3title\0Song\0Artist\0Jane\0mood\0sad\0"
    body = read(file(desc(), chunk(b"info", info), DATA))
    assert body.container == "caf"
    assert body.tags == (("caf.title", "Song"), ("caf.artist", "Jane"), ("caf.other", "mood"), ("caf.other", "sad"))
    assert cleaned(file(desc(), chunk(b"info", info), DATA)) == file(desc(), DATA)


def test_a_data_chunk_of_open_size_ends_with_the_file() -> None:
    assert cleaned(file(desc(), b"data" + b"\xff" * 8 + bytes(4) + SOUND)) == file(desc(), DATA)


@pytest.mark.parametrize("data", [lossless(), lossless(kuki=CONFIG), lossless(b"\x32\x05\x32\x06", frames=0)])
def test_lossless_files_stay_as_they_are(data: bytes) -> None:
    assert cleaned(data) == data
    assert account(data).extras == ()


def test_packets_that_are_shorter_than_their_chunk_leave_something_over() -> None:
    data = lossless(b"\x32\x31")
    assert [part.name for part in account(data).extras] == ["caf.remainder"]
    assert len(cleaned(data)) == len(data) - 1


@pytest.mark.parametrize(
    ("table", "kuki"),
    [
        (b"\x80\x32\x32", ATOMS),
        (b"\x32\x80\x80\x32", ATOMS),
        (b"\x32\x32!", ATOMS),
        (b"\x32\x32", ATOMS + b"\0\0\0\x0c!!!!"),
    ],
)
def test_what_a_table_or_a_cookie_does_not_need_goes(table: bytes, kuki: bytes) -> None:
    assert cleaned(lossless(table, kuki)) == lossless()
    assert len(account(lossless(table, kuki)).extras) == 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (file(desc(), DATA)[:-1], "cut: its chunk data at byte 52 needs"),
        (file(desc()), "cut: no desc and data chunk"),
        (file(desc(), chunk(b"data", b"abc")), "cut: its data chunk is too short"),
        (file(desc(), DATA, DATA), "damaged: 2 data chunks"),
        (file(chunk(b"desc", bytes(31)), DATA), "desc chunk is too short"),
        (file(desc(b"aac "), DATA), "a coding that is not known, which is not supported"),
        (file(desc(rate=float("nan")), DATA), "no sample rate"),
        (file(desc(rate=float("inf")), DATA), "no sample rate"),
        (file(desc(size=0), DATA), "packets of a size that its coding does not have"),
        (file(desc(frames=2), DATA), "packets of a size that its coding does not have"),
        (file(desc(b"alac", 1, 0, 4096), DATA), "cut: no pakt and kuki chunk"),
        (file(desc(rate=1e9), DATA), "no sample rate or channels, or too many"),
        (file(desc(size=60), DATA), "packets of a size that its coding does not have"),
        (lossless(frames=1 << 20), "packets of a size that its coding does not have"),
        (
            lossless().replace(SOUND, SOUND[:20] + b"a stowaway's words, all of it." + SOUND[50:]),
            "text behind the sound",
        ),
        (file(desc(size=4), chunk(b"data", bytes(4) + b"quillfeather")), "bytes beside its samples"),
        (lossless(b"\x32\x33"), "cut: its packets need 101 bytes, 100 are there"),
        (lossless(b"quillfeather-marrow-4711", count=24), "text among the sizes of its packets"),
        (lossless(kuki=ATOMS[:12] + b"quil" + ATOMS[16:]), "no configuration of Apple Lossless"),
        (lossless(count=1 << 62), "more than 4,194,304 packets"),
        (lossless(b"\x32"), "cut: its pakt chunk has 1 bytes for 2 packets"),
        (lossless(b"\x32\xb2"), "a number in its pakt chunk is longer"),
        (lossless(b"\x32" + b"\xff" * 9 + b"\1"), "a number in its pakt chunk is longer"),
        (lossless(kuki=b"\0\0\0\x0cfrmaalac"), "no configuration of Apple Lossless"),
        (lossless(kuki=CONFIG[:20]), "no configuration of Apple Lossless"),
        (file(desc(), chunk(b"pakt", bytes(20)), DATA), "pakt chunk is too short"),
        (b"caff\0\1\0\0" + DATA, "no CAF header"),
    ],
)
def test_what_is_cut_or_unknown_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=rf"^audio/x\.bin: .*{why}"):
        read(data)
