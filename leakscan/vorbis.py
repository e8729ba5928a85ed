"""The setup header of Vorbis: where it ends, and which of its modes have long blocks.

Source: the Vorbis I specification, sections 4.2.4 (setup header), 3.2.1 (codebooks), 6.2.1 and 7.2.2 (floors), 8.6.1
(residues).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

_MAGIC = b"\x05vorbis"


class Setup(NamedTuple):
    """A setup header: its bytes as they have to be, without any that follow, and of each mode, are its blocks long?"""

    clean: bytes
    long: tuple[bool, ...]


class _Bits:
    """Reads bits, the least significant of a byte first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, count: int) -> int:
        start, self.at = self.at, self.at + count
        if self.at > 8 * len(self._data):
            raise ValueError("its vorbis setup header is incomplete")
        return int.from_bytes(self._data[start >> 3 : self.at + 7 >> 3], "little") >> (start & 7) & (1 << count) - 1

    def skip(self, count: int) -> None:
        self.at += count


MOST_RATE = 1 << 22
"""Hz; text in the place of a sample rate is more."""


@functools.lru_cache(maxsize=64)  # an encoder has few, one for each quality
def setup(packet: bytes, channels: int) -> Setup:
    """Raises ValueError, with a text that goes on from "damaged: ", where it is no setup header of so many channels."""
    if not packet.startswith(_MAGIC):
        raise ValueError("its vorbis stream has no setup header")
    bits = _Bits(packet)
    bits.skip(8 * len(_MAGIC))
    for _ in range(bits.take(8) + 1):
        _codebook(bits)
    for _ in range(bits.take(6) + 1):  # transforms of time, of which there are none
        bits.take(16)
    for part in (_floor, _residue):
        for _ in range(bits.take(6) + 1):
            part(bits)
    for _ in range(bits.take(6) + 1):
        _mapping(bits, channels)
    modes = []
    for _ in range(bits.take(6) + 1):
        modes.append(bool(bits.take(1)))
        bits.take(40)  # window, transform, mapping
    if not bits.take(1):
        raise ValueError("its vorbis setup header does not end as it has to")
    end = bits.at + 7 >> 3
    last = packet[end - 1] & 0xFF >> -bits.at % 8
    return Setup(packet[: end - 1] + bytes([last]), tuple(modes))


def _codebook(bits: _Bits) -> None:
    if bits.take(24) != 0x564342:
        raise ValueError("its vorbis setup header has a codebook that is none")
    dimensions, entries = bits.take(16), bits.take(24)
    if bits.take(1):  # ordered
        bits.take(5)
        left = entries
        while left > 0:
            left -= bits.take(left.bit_length())
        if left < 0:
            raise ValueError("its vorbis setup header has a codebook that is none")
    elif bits.take(1):  # sparse
        for _ in range(entries):
            if bits.take(1):
                bits.skip(5)
    else:
        bits.skip(5 * entries)
    lookup = bits.take(4)
    if lookup > 2:
        raise ValueError("its vorbis setup header has a codebook that is none")
    if lookup:
        bits.take(64)
        width = bits.take(4) + 1
        bits.take(1)
        bits.skip(width * (entries * dimensions if lookup == 2 else _root(entries, dimensions)))


def _root(number: int, power: int) -> int:
    """The largest number whose power is not above `number` (section 9.2.3)."""
    if not power:
        raise ValueError("its vorbis setup header has a codebook that is none")
    root: int = round(number ** (1 / power))
    while root**power > number:
        root -= 1
    while (root + 1) ** power <= number:
        root += 1
    return root


def _floor(bits: _Bits) -> None:
    kind = bits.take(16)
    if kind == 0:
        bits.take(8 + 16 + 16 + 6 + 8)
        bits.skip(8 * (bits.take(4) + 1))
        return
    if kind > 1:
        raise ValueError("its vorbis setup header has a floor of no known type")
    classes = [bits.take(4) for _ in range(bits.take(5))]
    sizes = []
    for _ in range(max(classes, default=-1) + 1):
        sizes.append(bits.take(3) + 1)
        subclasses = bits.take(2)
        bits.skip((8 if subclasses else 0) + (8 << subclasses))
    bits.take(2)
    width = bits.take(4)
    bits.skip(width * sum(sizes[one] for one in classes))


def _residue(bits: _Bits) -> None:
    if bits.take(16) > 2:
        raise ValueError("its vorbis setup header has a residue of no known type")
    bits.take(24 + 24 + 24)
    count = bits.take(6) + 1
    bits.take(8)
    books = 0
    for _ in range(count):
        books += bits.take(3).bit_count()
        books += bits.take(5).bit_count() if bits.take(1) else 0
    bits.skip(8 * books)


def _mapping(bits: _Bits, channels: int) -> None:
    if bits.take(16):
        raise ValueError("its vorbis setup header has a mapping of no known type")
    submaps = bits.take(4) + 1 if bits.take(1) else 1
    if bits.take(1):
        bits.skip((bits.take(8) + 1) * 2 * (channels - 1).bit_length())
    bits.take(2)
    bits.skip((4 * channels if submaps > 1 else 0) + 24 * submaps)
