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
    coded = flacframes.coded(number)
    if number < 0x110000 and not 0xD800 <= number < 0xE000:
        assert coded == chr(number).encode()
    head = b"\xff\xf9\x10\x08" + coded
    parsed = flacframes.header_of(head + bytes([flacframes._crc8(head)]), flacframes.read_info(STREAMINFO))
    assert parsed is not None
    assert (parsed.first, parsed.block, parsed.after) == (number, 192, number + 192)


def test_a_number_too_large_begins_no_header() -> None:
    assert flacframes.coded(1 << 36) == flacframes.coded(1 << 42) == b"\xff"
    assert flacframes.header_of(b"\xff\xf9\x10\x08\xff" + bytes(11), flacframes.read_info(STREAMINFO)) is None


def test_checksums() -> None:
    """The check values of CRC-8/SMBUS and CRC-16/UMTS."""
    assert flacframes._crc8(b"123456789") == 0xF4
    assert flacframes.crc16(b"123456789") == 0xFEE8


@pytest.mark.parametrize("count", [0, 1, 4095, 4096, flacframes.PERIOD, 3 * flacframes.PERIOD + 1])
def test_the_checksum_of_any_length_is_that_of_its_definition(count: int) -> None:
    data = random.Random(4711).randbytes(count)
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = crc << 1 ^ (0x18005 if crc & 0x8000 else 0)
    assert flacframes.crc16(data) == crc
    assert flacframes.crc16(data + crc.to_bytes(2, "big")) == 0
