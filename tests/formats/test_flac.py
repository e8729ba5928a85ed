"""FLAC: metadata blocks and the last frame."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from audio_samples import TITLE, entry

from leakscan.formats import flac
from leakscan.model import Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(flac.read(entry(data)))).body


@pytest.fixture
def plain(audio: Mapping[str, Path]) -> bytes:
    return audio["plain.flac"].read_bytes()


def with_block(data: bytes, kind: int, body: bytes) -> bytes:
    """The same stream with one more metadata block after STREAMINFO."""
    return data[:42] + bytes([kind]) + len(body).to_bytes(3, "big") + body + data[42:]


def with_total(data: bytes, change: int) -> bytes:
    bits = int.from_bytes(data[18:26], "big")
    return data[:18] + (bits + change).to_bytes(8, "big") + data[26:]


def total(data: bytes) -> int:
    return int.from_bytes(data[18:26], "big") & (1 << 36) - 1


def test_the_vendor_has_its_own_name(plain: bytes) -> None:
    names = dict(read(plain).tags)
    assert names["flac.vendor"].startswith("Lavf")
    assert names["vorbis.title"] == TITLE


@pytest.mark.parametrize(("kind", "name"), [(1, "flac.padding"), (2, "flac.application"), (9, "flac.other")])
def test_text_in_other_blocks_is_found(plain: bytes, kind: int, name: str) -> None:
    assert (name, "<binary> stowaway") in read(with_block(plain, kind, b"\0stowaway\0")).tags
    assert read(with_block(plain, kind, bytes(100))) == read(plain)


def test_several_comment_blocks_are_read(plain: bytes) -> None:
    comment = b"\1\0\0\0v" + b"\1\0\0\0" + b"\x0a\0\0\0title=Song"
    assert ("vorbis.title", "Song") in read(with_block(plain, 4, comment)).tags


@pytest.mark.parametrize("change", [1, -1, 4096])
def test_the_last_sample_must_be_the_one_counted(plain: bytes, change: int) -> None:
    with pytest.raises(Unreadable, match=r"its header counts [0-9,]+ samples, [0-9,]+ are there"):
        read(with_total(plain, change))


def test_a_stream_without_a_count_is_judged_by_its_last_frame(plain: bytes) -> None:
    streamed = with_total(plain, -total(plain))
    assert read(streamed) == read(plain)
    with pytest.raises(Unreadable, match="no whole frame at its end"):
        read(streamed[:-1])


def test_one_wrong_bit_in_the_last_frame_shows(plain: bytes) -> None:
    with pytest.raises(Unreadable, match="no whole frame at its end"):
        read(plain[:-9] + bytes([plain[-9] ^ 1]) + plain[-8:])


def test_a_stream_without_audio(plain: bytes) -> None:
    bare = with_total(plain[:42], -total(plain))
    bare = bare[:4] + b"\x80" + bare[5:]
    assert read(bare) == Tags("flac")
    with pytest.raises(Unreadable, match="none is there"):
        read(with_total(bare, 1))


@pytest.mark.parametrize("kind", [0, 127])
def test_invalid_blocks_are_damage(plain: bytes, kind: int) -> None:
    with pytest.raises(Unreadable, match="no valid metadata block at byte 42"):
        read(with_block(plain, kind, bytes(34)))


def test_a_file_of_empty_blocks_is_refused(plain: bytes) -> None:
    with pytest.raises(Unreadable, match="no valid metadata block"):
        read(plain[:42] + b"\1\0\0\0" * 20_000 + plain[42:])


def test_checksums() -> None:
    """The check values of CRC-8/SMBUS and CRC-16/UMTS."""
    assert flac._crc8(b"123456789") == 0xF4
    assert flac._crc16(b"123456789") == 0xFEE8
