"""Bytes and bits of many places at once, against one place after the other, bit by bit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from leakscan.rows import Copy, crc16, crc16_bits, crc16_words, gathered, numbers

LUCK = random.Random(4711)


def register(data: bytes, count: int, value: int) -> int:
    """The CRC-16 of the first `count` bits by the shift register that standards draw."""
    for bit in f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}"[:count] if data else "":
        value = (value << 1 ^ (0x8005 if value >> 15 ^ int(bit) else 0)) & 0xFFFF
    return value


def test_what_lies_beyond_the_end_reads_as_zeros() -> None:
    rows = gathered(b"abcdefgh", np.array([0, 3, 6, 7, 8]), 3)
    assert [row.tobytes() for row in rows] == [b"abc", b"def", b"gh\0", b"h\0\0", bytes(3)]
    assert gathered(b"ab", np.array([0]), 4).tobytes() == b"ab\0\0"


@pytest.mark.parametrize(("bit", "count"), [(0, 1), (0, 9), (3, 12), (7, 17), (23, 17), (32, 8)])
def test_numbers_are_read_from_any_bit_on(bit: int, count: int) -> None:
    rows = [LUCK.randbytes(5) for _ in range(4)]
    wanted = [int.from_bytes(row, "big") >> 40 - bit - count & (1 << count) - 1 for row in rows]
    assert numbers(np.frombuffer(b"".join(rows), np.uint8).reshape(4, 5), bit, count).tolist() == wanted


def test_a_copy_is_made_for_a_change_only() -> None:
    copy = Copy(b"abcdef")
    old = gathered(copy.data, np.array([1, 3]), 2)
    copy.put(np.array([1, 3]), old, old)
    assert copy.made is None
    copy.put(np.array([1, 3]), old, np.frombuffer(b"bcXY", np.uint8).reshape(2, 2))
    assert bytes(copy.writable()) == b"abcXYf"
    assert copy.data == b"abcdef"


def test_the_crc_of_bytes() -> None:
    """The check values of CRC-16/UMTS and CRC-16/CMS, which begin with zeros and ones."""
    assert crc16(b"123456789") == 0xFEE8
    assert crc16(b"123456789", 0xFFFF) == 0xAEE7
    assert crc16(b"6789", crc16(b"12345")) == 0xFEE8


@pytest.mark.parametrize("count", [*range(10), 31, 32, 33, 200])
def test_the_crc_of_words(count: int) -> None:
    rows = [LUCK.randbytes(2 * count) for _ in range(3)]
    words = np.frombuffer(b"".join(rows), ">u2").reshape(3, count).astype(np.uint16)
    wanted = [register(row, 16 * count, 0) for row in rows]
    assert crc16_words(words).tolist() == wanted == [crc16(row) for row in rows]


def test_the_crc_of_some_bits() -> None:
    rows, counts = [LUCK.randbytes(9) for _ in range(40)], [LUCK.randrange(73) for _ in range(40)]
    found = crc16_bits(np.frombuffer(b"".join(rows), np.uint8).reshape(40, 9), np.array(counts), 0xFFFF)
    assert found.tolist() == [register(row, count, 0xFFFF) for row, count in zip(rows, counts, strict=True)]
