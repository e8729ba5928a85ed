"""Frames of FLAC, one by one: their headers, how long they are, their checksums.

Frames do not say how long they are: that takes passing over all of their samples, which is far slower than finding the
next header.  Source: RFC 9639 (8.2: STREAMINFO, 9.1: frame header, 9.2: subframes, 9.3: frame footer).
"""

from __future__ import annotations

import functools
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from leakscan.blocks import damaged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INFO = 34
"""Bytes of a STREAMINFO block."""

HEADER = 16
"""Bytes that hold any frame header."""

PERIOD = 0x7FFF
"""Bits (and so bytes) that far apart add the same to a CRC-16: x^15 + x + 1 has this order."""


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
    block = samples_in(head, offset)
    if not block:
        return None
    first, after = (number, number + block) if head[1] & 1 else (number * info.block, number + 1)
    length = offset + form.block_bytes + form.rate_bytes + 1
    return Header(length, first, block, form.assignment, form.width or info.width, after)


def block_of(head: bytes) -> int:
    """How many samples the frame has that `head` begins, whose check is not looked at; 0 if it cannot be one."""
    form = _form(head[2:4]) if len(head) > 5 else None
    if form is None or not form.block_bytes:
        return form.block if form else 0
    offset = 5 + (7 - (head[4] ^ 0xFF).bit_length()) * (head[4] > 0x7F)
    return int.from_bytes(head[offset : offset + form.block_bytes], "big") + 1


def samples_in(head: bytes, offset: int) -> int:
    """How many samples a frame has, by its header, in which the number ends at `offset`; 0 if it is no valid one."""
    form = _form(head[2:4]) if len(head) > 5 else None
    if form is None:
        return 0
    block, _, _, block_bytes, rate_bytes = form
    if block_bytes:
        block = int.from_bytes(head[offset : offset + block_bytes], "big") + 1
    offset += block_bytes + rate_bytes
    return 0 if offset >= len(head) or _crc8(head[: offset + 1]) else block


def coded(number: int) -> bytes:
    """A frame or sample number as it stands in a header (RFC 9639 section 9.1.5): as UTF-8, and more of the kind."""
    if number <= sys.maxunicode:
        return chr(number).encode("utf-8", "surrogatepass")
    if number >> 36:
        return b"\xff"  # stands in no header
    more = next((count for count in range(3, 6) if number < 1 << 6 + 5 * count), 6)
    rest = (0x80 | number >> 6 * place & 0x3F for place in reversed(range(more)))
    return bytes([0xFF << 7 - more & 0xFF | number >> 6 * more, *rest])


def frame_length(data: bytes, info: Info) -> int | None:
    """How long the frame is that `data` begins with, by its subframes; None where it does not end, or is invalid."""
    header = header_of(data[:HEADER], info)
    if header is None:
        return None
    bits = f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}"  # text, since no way is quicker than a pattern on it
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
    return re.compile(f"(?:0*+1.{{{parameter}}}){{{count}}}")


# --- checksums -------------------------------------------------------------------------------------------------------


def _crc8(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc = _CRC8[crc ^ byte]
    return crc


def crc16(data: bytes) -> int:
    """The CRC-16 of FLAC; 0 over a whole frame with its footer.

    It is the sum of what each bit adds that is set, and bits `PERIOD` apart add the same.
    """
    import numpy as np

    if len(data) > PERIOD:  # by bytes first, which are fewer
        rows = np.frombuffer(data.rjust(-(-len(data) // PERIOD) * PERIOD, b"\0"), np.uint8)
        data = np.bitwise_xor.reduce(rows.reshape(-1, PERIOD), axis=0).tobytes()
    bits = np.zeros(-(-8 * len(data) // PERIOD) * PERIOD, np.uint8)
    bits[len(bits) - 8 * len(data) :] = np.unpackbits(np.frombuffer(data, np.uint8))
    folded = np.bitwise_xor.reduce(bits.reshape(-1, PERIOD), axis=0)
    return int(np.bitwise_xor.reduce(_added()[folded.view(bool)]))


@functools.cache
def _added() -> NDArray[np.uint16]:
    """What bits add to the CRC-16, of the last `PERIOD` ones."""
    import numpy as np

    found, crc = [], 0x8005  # x^16, by which a CRC multiplies
    for _ in range(PERIOD):
        found.append(crc)
        crc = crc << 1 ^ (0x18005 if crc & 0x8000 else 0)
    return np.array(found[::-1], np.uint16)


def _after_byte(value: int) -> int:
    """The CRC-8 of one byte."""
    for _ in range(8):
        value = (value << 1 ^ 0x07 if value & 0x80 else value << 1) & 0xFF
    return value


_CRC8 = bytes(map(_after_byte, range(256)))
_WIDTHS = (0, 8, 12, 0, 16, 20, 24, 32)  # bits a sample by code; 0: as STREAMINFO says, and a reserved one
