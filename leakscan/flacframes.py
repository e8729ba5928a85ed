"""Frames of FLAC, one by one: their headers, how long they are, their checksums.

Frames do not say how long they are: that takes passing over all of their samples, which is far slower than finding the
next header.  Source: RFC 9639 (8.2: STREAMINFO, 9.1: frame header, 9.2: subframes, 9.3: frame footer).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from leakscan.blocks import damaged
from leakscan.rows import gathered

INFO = 34
"""Bytes of a STREAMINFO block."""

HEADER = 16
"""Bytes that hold any frame header."""

_WINDOW = 1 << 17  # bytes; they fit the cache of the processor
_MANY = 1 << 10  # headers that are looked at together


class Info(NamedTuple):
    """What STREAMINFO says: samples in a block, the bytes a frame can have, the format, all samples (0: unknown)."""

    block: int
    most_frame: int
    rate: int
    channels: int
    width: int
    total: int


def uncounted(stream: bytes) -> bytes:
    """Bytes with STREAMINFO, the head of which is told by its length, without the number of all samples."""
    start = stream.index(b"\0\0\x22") + 3
    return stream[: start + 13] + bytes([stream[start + 13] & 0xF0]) + bytes(4) + stream[start + 18 :]


class Header(NamedTuple):
    """A frame header: its length in bytes, its first sample and how many there are, and the bits of a sample."""

    length: int
    first: int
    block: int
    assignment: int
    width: int
    after: int  # the number that the next frame has


def read_info(block: bytes) -> Info:
    """What the body of a STREAMINFO block says.  Raises Unreadable where it is none."""
    if len(block) != INFO:
        raise damaged("its STREAMINFO block has not 34 bytes")
    most = int.from_bytes(block[2:4], "big")
    bits = int.from_bytes(block[10:18], "big")
    rate, channels, width, total = bits >> 44, (bits >> 41 & 7) + 1, (bits >> 36 & 31) + 1, bits & (1 << 36) - 1
    if most < 16 or int.from_bytes(block[:2], "big") > most:
        raise damaged("its STREAMINFO block states no block size, or a least one above the largest")
    # a verbatim frame: one bit more a sample for the side channel, subframe headers, frame header and footer; and the
    # same again, since nothing keeps a bad encoder from writing more than that
    return Info(most, 2 * (most * channels * (width + 1) // 8 + 8 * channels + 32), rate, channels, width, total)


class _Form(NamedTuple):
    """What the third and fourth byte of a frame header say: samples, bits each (0: as STREAMINFO says), and layout."""

    block: int
    width: int
    assignment: int
    block_bytes: int  # after the number: the samples less one
    rate_bytes: int


_NO_FORM = _Form(0, 0, 0, 0, 0)
_MORE = [0] * 0x80 + [7] * 0x40 + [1] * 0x20 + [2] * 0x10 + [3] * 8 + [4] * 4 + [5, 5, 6, 7]
"""How many bytes of a number follow, by its first byte; 7 where it begins none."""
_LEAST = (0, 0x80, 0x800, 0x10000, 0x200000, 0x4000000, 0x80000000, 0)
"""The least number that takes so many."""


@functools.lru_cache(maxsize=1 << 10)  # all frames of a file but the last have the same
def _form(two: bytes) -> _Form | None:
    size_code, rate_code, assignment, width_code = two[0] >> 4, two[0] & 15, two[1] >> 4, two[1] >> 1 & 7
    if size_code == 0 or rate_code == 15 or assignment > 10 or width_code == 3 or two[1] & 1:
        return None
    block = 192 if size_code == 1 else 576 << size_code - 2 if size_code < 6 else 256 << max(size_code - 8, 0)
    block_bytes = size_code - 5 if size_code in (6, 7) else 0
    return _Form(block, _WIDTHS[width_code], assignment, block_bytes, {12: 1, 13: 2, 14: 2}.get(rate_code, 0))


def header_of(head: bytes, info: Info) -> Header | None:
    """The frame header that `head` begins with; None if it is no valid one."""
    form = _form(head[2:4]) if len(head) > 5 else None
    if form is None:
        return None
    number = head[4]
    offset = 5
    if number > 0x7F:
        more = 7 - (number ^ 0xFF).bit_length()  # the leading ones count the bytes of the number
        if not 0 < more < 7:
            return None
        offset += more
        number &= 0x3F >> more
        for byte in head[5:offset]:
            number = number << 6 | byte & 0x3F
    length = offset + form.block_bytes + form.rate_bytes + 1
    if length > len(head) or _crc8(head[:length]):
        return None
    block = int.from_bytes(head[offset : offset + form.block_bytes], "big") + 1 if form.block_bytes else form.block
    first, after = (number, number + block) if head[1] & 1 else (number * info.block, number + 1)
    return Header(length, first, block, form.assignment, form.width or info.width, after)


def block_of(head: bytes) -> int:
    """How many samples the frame has that `head` begins, whose check is not looked at; 0 if it cannot be one."""
    form = _form(head[2:4]) if len(head) > 5 else None
    if form is None or not form.block_bytes:
        return form.block if form else 0
    offset = 5 + (7 - (head[4] ^ 0xFF).bit_length()) * (head[4] > 0x7F)
    return int.from_bytes(head[offset : offset + form.block_bytes], "big") + 1


def headers_in(data: bytes, start: int, end: int, info: Info) -> Iterator[tuple[int, int, int, int]]:
    """The valid frame headers that begin between `start` and `end`: where each does, its number, the first sample
    behind the frame, and the number of the next one.

    A number in more bytes than it takes is none (RFC 9639 section 9.1.5: as UTF-8, and more of the kind).
    """
    places: list[int] = []
    for begin in range(start, end, _WINDOW):
        places += _syncs(data, begin, min(begin + _WINDOW, end))
        if len(places) > _MANY or begin + _WINDOW >= end:
            yield from _valid(data, places, info)
            places.clear()


def _valid(data: bytes, places: list[int], info: Info) -> Iterator[tuple[int, int, int, int]]:
    """Those that begin at some of these places."""
    import numpy as np

    starts = np.array(places, np.int64)
    heads = np.ascontiguousarray(gathered(data, starts, HEADER).T, np.int64)  # a row for each of their bytes
    twos, kinds = np.unique(heads[2] << 8 | heads[3], return_inverse=True)
    forms = np.array([_form(two.to_bytes(2, "big")) or _NO_FORM for two in twos.tolist()], np.int64).reshape(-1, 5)
    block, _, _, width, rate = forms[kinds].T
    more = np.array(_MORE)[heads[4]]
    length = 6 + more + width + rate
    some = (block > 0) & (more < 7) & (starts + length <= len(data))
    starts, block, width, more, length = (field[some] for field in (starts, block, width, more, length))
    heads = heads[:, some]
    number = heads[4] & np.where(more, 0x3F >> more, 0x7F)
    right = number >= 0
    table, crc = np.frombuffer(_CRC8, np.uint8), np.zeros(len(starts), np.int64)
    for column, byte in enumerate(heads, 1):
        crc = table[crc ^ byte]
        right &= (crc == 0) | (length != column)
    for column, byte in enumerate(heads[5:11], 1):
        inside = more >= column
        number = np.where(inside, number << 6 | byte & 0x3F, number)
        right &= ~inside | (byte >> 6 == 2)
    right &= number >= np.array(_LEAST)[more]
    index = np.arange(len(starts))
    there = heads[5 + more, index]
    block = np.where(width == 0, block, np.where(width == 1, there, there << 8 | heads[6 + more, index]) + 1)
    variable = heads[1] & 1 > 0
    behind = np.where(variable, number, number * info.block) + block
    after = number + np.where(variable, block, 1)
    return zip(*(field[right].tolist() for field in (starts, number, behind, after)), strict=True)


def _syncs(data: bytes, start: int, end: int) -> list[int]:
    """Where between `start` and `end` two bytes begin that a frame may begin with."""
    import numpy as np

    held = np.frombuffer(data, np.uint8, min(end + 1, len(data)) - start, start)
    marks = ((held[:-1] == 0xFF) & (held[1:] & 0xFE == 0xF8)).tobytes()
    found = []
    place = marks.find(1)  # quicker than numpy where so few are set
    while place >= 0:
        found.append(start + place)
        place = marks.find(1, place + 1)
    return found


def frame_length(data: bytes, info: Info) -> int | None:
    """How long the frame is that `data` begins with, by its subframes; None where it does not end, or is invalid."""
    header = header_of(data[:HEADER], info)
    if header is None:
        return None
    bits = _bits(data)
    channels = header.assignment + 1 if header.assignment < 8 else 2
    side = {8: 1, 9: 0, 10: 1}.get(header.assignment)
    position = 8 * header.length
    try:
        for channel in range(channels):
            position = _subframe_end(bits, position, header.block, header.width + (channel == side))
    except ValueError:  # there is no such number in no bits at all, no such text in what is left
        return None
    length = -(-position // 8) + 2
    return length if length <= len(data) else None


def _bits(data: bytes) -> str:
    """Bits as text, since no way to read them is quicker than a pattern on it."""
    import numpy as np

    return (np.unpackbits(np.frombuffer(data, np.uint8)) | ord("0")).tobytes().decode("ascii")


def _subframe_end(bits: str, position: int, block: int, width: int) -> int:
    """Raises ValueError where the subframe does not end in `bits`, or is of a reserved type."""
    kind, wasted = int(bits[position + 1 : position + 7], 2), bits[position + 7 : position + 8]
    position += 8
    if wasted == "1":
        end = bits.index("1", position) + 1
        width -= end - position
        position = end
    if kind == 0:
        return position + width
    if kind == 1:
        return position + width * block
    if 8 <= kind <= 12:
        order = kind & 7
        position += order * width
    elif kind >= 32:
        order = (kind & 31) + 1
        position += order * width
        position += 9 + order * (int(bits[position : position + 4], 2) + 1)
    else:
        raise ValueError("reserved")
    return _residual_end(bits, position, block, order)


def _residual_end(bits: str, position: int, block: int, order: int) -> int:
    size = 4 + int(bits[position : position + 2], 2)  # of a Rice parameter
    partitions = 1 << int(bits[position + 2 : position + 6], 2)
    position += 6
    if size > 5 or block % partitions or block // partitions < order:
        raise ValueError("reserved")
    for partition in range(partitions):
        count = block // partitions - (0 if partition else order)
        parameter = int(bits[position : position + size], 2)
        position += size
        if parameter == (1 << size) - 1:  # not coded: as many bits each
            position += 5 + count * int(bits[position : position + 5], 2)
        elif (found := _coded_samples(parameter, count).match(bits, position)) is not None:
            position = found.end()
        else:
            raise ValueError("incomplete")
    return position


@functools.lru_cache(maxsize=1 << 9)  # a file has a few dozens of these
def _coded_samples(parameter: int, count: int) -> re.Pattern[str]:
    """So many samples in Rice code: a number in unary and a number of so many bits."""
    return re.compile(f"(?:0*+1.{{{parameter}}}){{{count}}}", re.DOTALL)


# --- the checksum of headers ------------------------------------------------------------------------------------------


def _crc8(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc = _CRC8[crc ^ byte]
    return crc


def _after_byte(value: int) -> int:
    """The CRC-8 of one byte."""
    for _ in range(8):
        value = (value << 1 ^ 0x07 if value & 0x80 else value << 1) & 0xFF
    return value


_CRC8 = bytes(map(_after_byte, range(256)))
_WIDTHS = (0, 8, 12, 0, 16, 20, 24, 32)  # bits a sample by code; 0: as STREAMINFO says, and a reserved one
