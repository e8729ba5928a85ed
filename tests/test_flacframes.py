"""Frames of FLAC: headers, lengths, checksums."""

from __future__ import annotations

import itertools
import random

import places
import pytest
from places import flac as hiding

from leakscan import flacframes
from leakscan.model import Unreadable

STREAMINFO = bytes.fromhex("1000 1000 000000 000000 0ac442f0 00000000") + bytes(16)
INFO = flacframes.read_info(STREAMINFO)


@pytest.mark.parametrize("blocks", [b"\x10\0\0\x0f", b"quil"])
def test_blocks_have_a_size(blocks: bytes) -> None:
    with pytest.raises(Unreadable, match="no block size, or a least one above the largest"):
        flacframes.read_info(blocks + STREAMINFO[4:])


@pytest.mark.parametrize("name", hiding.BASES)
def test_frames_end_where_their_subframes_do(name: str) -> None:
    """Whatever follows; the end worked out is right for every frame, which the next one's start confirms."""
    plain = places.base(name, hiding.BASES[name])
    info = flacframes.read_info(plain[8:42])
    frames = hiding._frames(plain)
    starts = hiding._starts(frames)
    assert len(starts) > 3
    for start, end in itertools.pairwise(starts):
        assert flacframes.frame_length(frames[start:end] + b"\0\0junk", info) == end - start
        assert flacframes.frame_length(frames[start : end - 1], info) is None


@pytest.mark.parametrize(
    "number", [0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x1FFFFF, 0x3FFFFFF, 0x7FFFFFFF, (1 << 36) - 1]
)
def test_numbers_in_headers(number: int) -> None:
    coded = _coded(number)
    if number < 0x110000 and not 0xD800 <= number < 0xE000:
        assert coded == chr(number).encode()
    head = b"\xff\xf9\x10\x08" + coded
    head += bytes([flacframes._crc8(head)])
    parsed = flacframes.header_of(head, INFO)
    assert parsed is not None
    assert (parsed.first, parsed.block, parsed.after) == (number, 192, number + 192)
    assert found(head) == [(0, number, number + 192, number + 192)]
    head = b"\xff\xf8" + head[2:-1]
    assert found(head + bytes([flacframes._crc8(head)])) == [(0, number, number * INFO.block + 192, number + 1)]


def _coded(number: int) -> bytes:
    """As RFC 9639 section 9.1.5 has it."""
    more = next(more for more in range(7) if number < (1 << 7 if not more else 1 << 6 + 5 * more))
    rest = [0x80 | number >> 6 * place & 0x3F for place in reversed(range(more))]
    return bytes([(0xFF << 7 - more & 0xFF if more else 0) | number >> 6 * more, *rest])


def found(data: bytes) -> list[tuple[int, int, int, int]]:
    return list(flacframes.headers_in(data, 0, len(data), INFO))


def test_a_number_too_large_begins_no_header() -> None:
    assert flacframes.header_of(b"\xff\xf9\x10\x08\xff" + bytes(11), INFO) is None
    assert found(b"\xff\xf9\x10\x08\xff" + bytes(11)) == []


@pytest.mark.parametrize("number", [0, 0x7F, 0x80, 0x800, 0x10000])
def test_a_number_in_more_bytes_than_it_takes_is_of_no_frame_that_is_looked_for(number: int) -> None:
    more = len(_coded(number))
    head = b"\xff\xf9\x10\x08" + bytes([0xFF << 7 - more & 0xFF])
    head += bytes(0x80 | number >> 6 * place & 0x3F for place in reversed(range(more)))
    assert found(head + bytes([flacframes._crc8(head)])) == []


SIZES = {0x10: 192, 0x20: 576, 0x60: 256, 0x70: 4096, 0xC0: 4096}  # by code; those of 6 and 7 stand in the header


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rate", [0x9, 0xC, 0xD, 0xE])
def test_headers_are_found_wherever_they_begin(size: int, rate: int) -> None:
    """Near each other and far apart, at the edge of what is looked at together, at the end; cut ones are none."""
    luck = random.Random(size + rate)
    data, wanted = b"", []
    for number, before in enumerate((99, 0, 1, flacframes._WINDOW - 150, 2 * flacframes._WINDOW), 60_000):
        head = bytes([0xFF, 0xF8, size | rate, 0x18]) + _coded(number)
        head += {0x60: b"\xff", 0x70: b"\x0f\xff"}.get(size, b"") + bytes({0xC: 1, 0xD: 2, 0xE: 2}.get(rate, 0))
        head += bytes([flacframes._crc8(head)])
        data += luck.randbytes(before).replace(b"\xff", b"\0")
        wanted.append((len(data), number, number * INFO.block + SIZES[size], number + 1))
        data += head
        parsed = flacframes.header_of(head, INFO)
        assert parsed is not None
        assert (parsed.length, parsed.first + parsed.block, parsed.after) == (len(head), *wanted[-1][2:])
    assert found(data) == found(data + bytes(16)) == wanted
    assert found(data[:-1]) == found(data[:-1] + b"\1") == wanted[:-1]
    start = wanted[1][0]
    assert list(flacframes.headers_in(data, start, start + 1, INFO)) == wanted[1:2]
    assert list(flacframes.headers_in(data, 0, start, INFO)) == wanted[:1]


def test_checksums() -> None:
    """The check value of CRC-8/SMBUS."""
    assert flacframes._crc8(b"123456789") == 0xF4
