"""MPEG audio: what makes a file whole, and headers of all kinds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from audio_samples import entry

from leakscan.blocks import after_id3
from leakscan.formats import mpeg
from leakscan.model import Tags, Unreadable

HEADER = b"\xff\xfb\x90\xc0"  # MPEG-1 layer III, 128 kbit/s, 44.1 kHz, mono: 417 bytes
SIZE = 417


def read(data: bytes) -> Tags:
    return next(iter(mpeg.read(entry(data)))).body


def frames(count: int) -> bytes:
    return (HEADER + bytes(SIZE - 4)) * count


def info(frame_count: int, size: int, magic: bytes = b"Info", encoder: bytes = b"LAME3.100") -> bytes:
    head = HEADER + bytes(17) + magic + (3).to_bytes(4, "big")
    return (head + frame_count.to_bytes(4, "big") + size.to_bytes(4, "big") + encoder).ljust(SIZE, b"\0")


def vbri(frame_count: int, size: int) -> bytes:
    head = HEADER + bytes(32) + b"VBRI" + bytes(6)
    return (head + size.to_bytes(4, "big") + frame_count.to_bytes(4, "big")).ljust(SIZE, b"\0")


def last(needed: int, begin: int = 0) -> bytes:
    """The head of a frame whose audio takes `needed` bytes, `begin` of them in the frame before."""
    bits = begin << 127 | needed * 8 << 106  # main_data_begin; part2_3_length of the first granule
    return HEADER + bits.to_bytes(17, "big")


@pytest.mark.parametrize(
    "data",
    [
        info(9, 10 * SIZE) + frames(9),
        info(10, 10 * SIZE) + frames(9),  # counts itself: the bytes tell
        info(9, 10 * SIZE + 128) + frames(9),  # bytes with an ID3v1 tag: the frames tell
        info(9, 10 * SIZE - 50) + frames(9)[:-50],  # the encoder left the stuffing of the last frame out
        info(0, 0) + frames(9),
        info(9, 0, b"Xing") + frames(9),
        vbri(9, 10 * SIZE) + frames(9),
        frames(9),
        bytes(417) + frames(9),
    ],
)
def test_whole_files(data: bytes) -> None:
    assert read(data).container == "mp3"


@pytest.mark.parametrize(
    "data",
    [
        info(9, 10 * SIZE) + frames(8),
        info(9, 10 * SIZE) + frames(9)[:-1],
        info(9, 0) + frames(8),
        info(0, 10 * SIZE) + frames(8),
        vbri(9, 10 * SIZE) + frames(8),
        frames(9)[:-50],
    ],
)
def test_cut_files(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^audio/x\.bin: cut: "):
        read(data)


@pytest.mark.parametrize(("needed", "begin"), [(100, 0), (100, 60), (30, 200)])
def test_a_last_frame_without_its_stuffing_is_whole(needed: int, begin: int) -> None:
    head = last(needed, begin)
    data = frames(9) + head + bytes(max(0, needed - begin))
    assert read(data).container == "mp3"
    with pytest.raises(Unreadable, match="bytes of its last frame are there"):
        read(data + bytes(20))
    if needed > begin:
        with pytest.raises(Unreadable, match="bytes of its last frame are there"):
            read(data[:-20])


def test_the_encoder_is_named() -> None:
    assert read(info(9, 10 * SIZE) + frames(9)).tags == (("mp3.encoder", "LAME3.100"),)


def test_free_format() -> None:
    """Bitrate index 0: the header does not say how long a frame is."""
    free = b"\xff\xfb\x00\xc0" + bytes(996)
    assert mpeg.sniff(free * 9)
    assert read(free * 9).container == "mp3"
    with pytest.raises(Unreadable, match="cut"):
        read(free * 9 + free[:500])


def test_bytes_between_frames_are_searched_for_text() -> None:
    data = frames(4) + b"\1\2 a stowaway \1" + frames(4)
    assert read(data).tags == (("file.other", "<binary>  a stowaway "),)


def test_zeros_may_come_first(audio: Mapping[str, Path]) -> None:
    data = audio["vbr.mp3"].read_bytes()
    bare = data[after_id3(data) :]
    assert mpeg.sniff(bytes(417) + bare)
    assert read(bytes(417) + bare) == read(bytes(100_000) + bare) == read(bare)
    with pytest.raises(Unreadable, match="cut"):
        read(bytes(417) + bare[:-100])


@pytest.mark.parametrize(
    "four",
    [
        b"\xff\xe2\x90\xc0",  # MPEG-2.5 layer III
        b"\xff\xfb\x90\xc0",
        b"\xff\xfd\x90\xc0",
        b"\xff\xff\x90\xc0",
        b"\xff\xf3\x90\xc0",
    ],
)
def test_valid_headers(four: bytes) -> None:
    frame = mpeg._parser(0)(four)
    assert frame is not None
    assert mpeg.sniff((four + bytes(frame.length - 4)) * 2)


@pytest.mark.parametrize(
    "four",
    [
        b"\xff\xf1\x90\xc0",  # layer 0: ADTS
        b"\xff\xeb\x90\xc0",  # reserved version
        b"\xff\xfb\xf0\xc0",  # bitrate index 15
        b"\xff\xfb\x9c\xc0",  # rate index 3
        b"\xff\xfb\x90\xc2",  # reserved emphasis
        b"\xfe\xfb\x90\xc0",
        b"\xff\xfb\x90",
    ],
)
def test_invalid_headers(four: bytes) -> None:
    assert mpeg._parser(500)(four) is None


@pytest.mark.parametrize(
    ("four", "length"),
    [
        (b"\xff\xfb\x90\x00", 417),
        (b"\xff\xfb\x92\x00", 418),
        (b"\xff\xfb\xe0\x00", 1044),
        (b"\xff\xfd\xa0\x00", 626),  # layer II, 192 kbit/s
        (b"\xff\xff\x40\x00", 136),  # layer I, 128 kbit/s
        (b"\xff\xf3\x80\x00", 208),  # MPEG-2, 64 kbit/s, 22.05 kHz
        (b"\xff\xe3\x38\x00", 216),  # MPEG-2.5, 24 kbit/s, 8 kHz
    ],
)
def test_frame_lengths(four: bytes, length: int) -> None:
    frame = mpeg._parser(0)(four)
    assert frame is not None
    assert frame.length == length
