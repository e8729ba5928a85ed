"""Many places of a file at once: bytes from each as the rows of an array, fields of bits in them, and their CRC-16.

numpy takes as long to load as a long file to read, so it is loaded only when something is computed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]
    Whole = npt.NDArray[Any]
    """Whole numbers of any size."""
    Places = Sequence[int] | Whole

_POLYNOMIAL = 0x8005  # x^16 + x^15 + x^2 + 1


def gathered(data: bytes | bytearray, starts: Whole, width: int) -> Bytes:
    """The `width` bytes from each of `starts` on, which ascend; what lies beyond the end reads as zeros."""
    import numpy as np

    held = np.frombuffer(data, np.uint8)
    rows = np.zeros((len(starts), width), np.uint8)
    whole = int(np.searchsorted(starts, len(held) - width, "right"))
    if whole:
        rows[:whole] = np.lib.stride_tricks.sliding_window_view(held, width)[starts[:whole]]
    for index in range(whole, len(starts)):
        rest = held[starts[index] : starts[index] + width]
        rows[index, : len(rest)] = rest
    return rows


def numbers(rows: Bytes, bit: int, count: int) -> Whole:
    """The number in `count` bits (up to 17) from `bit` on, of each row."""
    import numpy as np

    first, last = bit >> 3, bit + count + 7 >> 3
    value: Whole = rows[:, first].astype(np.uint32)
    for column in range(first + 1, last):
        value = value << 8 | rows[:, column]
    return value >> (8 * last - bit - count) & ((1 << count) - 1)


class Copy:
    """The data, copied when they are changed for the first time."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.made: bytearray | None = None

    def writable(self) -> bytearray:
        """The copy."""
        if self.made is None:
            self.made = bytearray(self.data)
        return self.made

    def put(self, starts: Whole, old: Bytes, new: Bytes) -> None:
        """Replace rows of bytes that start there where they differ."""
        import numpy as np

        changed = np.flatnonzero((old != new).any(axis=1))
        if len(changed):
            view = np.frombuffer(self.writable(), np.uint8)
            view[starts[changed, None] + np.arange(old.shape[1])] = new[changed]


# --- CRC-16 (FLAC, MPEG audio, AC-3) ---------------------------------------------------------------------------------


def _table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        value <<= 8
        for _ in range(8):
            value = value << 1 ^ (_POLYNOMIAL if value & 0x8000 else 0)
        table.append(value & 0xFFFF)
    return tuple(table)


_CRC = _table()


def crc16(data: bytes | bytearray | memoryview, value: int = 0) -> int:
    """The CRC-16 of polynomial 0x8005, highest bit first, of `data` when the register holds `value` before."""
    from fastcrc.crc16 import umts

    return umts(data, value)


def crc16_bits(rows: Bytes, counts: Whole, value: int) -> Whole:
    """The same of the first bits of each row: of as many as `counts` says."""
    import numpy as np

    table = np.array(_CRC, np.uint16)
    register = np.full(len(rows), value, np.uint16)
    for column in range(int(counts.max(initial=0) >> 3)):
        byte = register >> 8 ^ rows[:, column]
        register = np.where(counts >= 8 * column + 8, register << 8 ^ table[byte], register)
    if np.any(counts & 7):
        last = rows[np.arange(len(rows)), np.minimum(counts >> 3, rows.shape[1] - 1)].astype(np.uint16)
        for bit in range(7):
            feedback = (register >> 15 ^ last >> (7 - bit)) & 1
            register = np.where(counts & 7 > bit, register << 1 ^ feedback * np.uint16(_POLYNOMIAL), register)
    return register


def crc16_words(words: Whole) -> Whole:
    """The same of each row of 16-bit numbers, when the register holds zero before.

    A row is a polynomial, and its CRC what is left of it modulo another.  The front of the row is taken modulo that
    one, moved by a power of two words, and added to what follows, so that less and less is left.
    """
    while (width := words.shape[1]) > 1:
        step = 1 << (width - 1).bit_length() - 1
        front = width - step
        folded = words[:, front:].copy()
        folded[:, step - front :] ^= _moved(step)[words[:, :front]]
        words = folded
    return _moved(1)[words[:, 0]] if width else words.sum(axis=1, dtype="uint16")


@functools.lru_cache(maxsize=16)
def _moved(words: int) -> Whole:
    """What each 16-bit number is modulo the polynomial, when it is moved up by so many words."""
    import numpy as np

    value = 1
    for _ in range(words):
        value = crc16(value.to_bytes(2, "big"))
    table = np.zeros(1 << 16, np.uint16)
    for bit in range(16):
        table[1 << bit : 2 << bit] = table[: 1 << bit] ^ np.uint16(value)
        value = value << 1 ^ (_POLYNOMIAL if value & 0x8000 else 0)
        value &= 0xFFFF
    return table
