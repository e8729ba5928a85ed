"""FLAC: `.flac`.  Source: RFC 9639 (8: metadata blocks, 9.1: frame header, 9.2: subframes, 9.3: frame footer).

The clean file is `fLaC`, STREAMINFO without digest and frame sizes, an empty comment block, and the frames.

Frames do not say how long they are.  They are found by their headers, which count frames or samples without a gap;
that nothing stands between them shows in a checksum over all of them, and the end of a frame is worked out from its
subframes only where that sum is wrong, behind a zero byte, which no sum notices, and for the last frame.
Not looked at: the bits that fill up the last byte of a frame, and bytes between frames made so that the sum holds.
"""

from __future__ import annotations

import functools
import re
import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from leakscan.blocks import GLUED_LIMIT, JUNK_LIMIT, after_id3, at, cut, damaged, glued, peel
from leakscan.ledgers import audio_item, gap, is_zero, ledger
from leakscan.model import Entry, Item, Ledger, Part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AUDIO = True
NAMES = (".flac", ".fla")

_MAGIC = b"fLaC"
_STREAMINFO, _PADDING, _APPLICATION, _SEEKTABLE, _COMMENT, _CUESHEET, _PICTURE = range(7)
_TAGS = {_COMMENT: "comment", _CUESHEET: "cuesheet", _PICTURE: "picture"}
_READERS = {_COMMENT: "flac", _CUESHEET: "flac-cuesheet", _PICTURE: "flac-picture"}
_INFO = 34  # bytes of a STREAMINFO block
_EMPTY = bytes(8)  # the body of a comment block: no vendor, no field
_HEAD = bytes([_STREAMINFO]) + _INFO.to_bytes(3, "big")
_EMPTY_BLOCK = bytes([0x80 | _COMMENT]) + len(_EMPTY).to_bytes(3, "big") + _EMPTY
_BLOCKS = 10_000  # more than any writer makes; keeps a file of empty blocks from taking minutes
_POINT = 18  # bytes of a seek point
_PLACEHOLDER = b"\xff" * 8 + bytes(10)
_HEADER = 16  # the longest frame header
_PERIOD = 0x7FFF  # bits (and so bytes) that far apart add the same to a CRC-16: x^15 + x + 1 has this order
_READ = 8 * _PERIOD  # fits the cache of the processor
_SYNC = re.compile(rb"\xff[\xf8\xf9]")


class _Info(NamedTuple):
    """What STREAMINFO says: samples in a block, the bytes a frame can have, the format, all samples (0: unknown)."""

    block: int
    most_frame: int
    rate: int
    channels: int
    width: int
    total: int


class _Header(NamedTuple):
    """A frame header: its length in bytes, its first sample and how many there are, and the bits of a sample."""

    length: int
    first: int
    block: int
    assignment: int
    width: int
    after: int  # the number that the next frame has


def sniff(head: bytes) -> bool:
    """`fLaC` at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 4] == _MAGIC


def read(entry: Entry) -> Iterator[Item]:
    """The one item of a FLAC file.  Raises Unreadable where it is cut or no FLAC."""
    return audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a FLAC file.  Raises Unreadable where it is cut or no FLAC."""
    peeled = peel(stream)
    if at(stream, peeled.start, 4) != _MAGIC:
        raise damaged("no FLAC stream in it")
    parts = [*glued("flac", peeled), Part("structure", "flac.head", peeled.start, peeled.start + 4)]
    info, tables = None, []
    start, last, count = peeled.start + 4, False, 0
    while not last:
        head = at(stream, start, 4)
        body, end = start + 4, start + 4 + int.from_bytes(head[1:4], "big")
        count += 1
        if len(head) < 4 or end > peeled.end:
            raise cut(f"its metadata needs {end:,} bytes, {peeled.end:,} are there")
        last, kind = head[0] > 0x7F, head[0] & 0x7F
        if kind == 127 or count > _BLOCKS or (kind == _STREAMINFO) != (count == 1):
            raise damaged(f"no valid metadata block at byte {start:,}")
        if kind == _STREAMINFO:
            info = _info(at(stream, body, end - body))
            parts += _info_parts(stream, start)
        elif kind == _SEEKTABLE:
            tables.append((body, end))
        else:
            parts.append(_block(stream, kind, body, end))
        if kind != _STREAMINFO:
            parts.append(Part("structure", "flac.block", start, body, b""))
        start = end
    assert info is not None
    frames = _Frames(stream, start, peeled.end, info)
    parts += frames.parts()
    for body, end in tables:
        right = frames.seekable(at(stream, body, end - body))
        parts.append(Part("structure" if right else "unknown", "flac.seektable", body, end, b""))
    form = {"rate": info.rate, "channels": info.channels, "bits": info.width, "samples": info.total}
    return ledger(stream, "flac", parts, ((name, str(value)) for name, value in form.items()))


# --- metadata --------------------------------------------------------------------------------------------------------


def _info(block: bytes) -> _Info:
    if len(block) != _INFO:
        raise damaged("its STREAMINFO block has not 34 bytes")
    most = int.from_bytes(block[2:4], "big")
    bits = int.from_bytes(block[10:18], "big")
    rate, channels, width, total = bits >> 44, (bits >> 41 & 7) + 1, (bits >> 36 & 31) + 1, bits & (1 << 36) - 1
    if most < 16:
        raise damaged("its STREAMINFO block states no block size")
    # a verbatim frame: one bit more a sample for the side channel, subframe headers, frame header and footer; and the
    # same again, since nothing keeps a bad encoder from writing more than that
    return _Info(most, 2 * (most * channels * (width + 1) // 8 + 8 * channels + 32), rate, channels, width, total)


def _info_parts(stream: BinaryIO, start: int) -> Iterator[Part]:
    """The parts of the STREAMINFO block at `start`; the empty comment block of the clean file comes at its end."""
    body = start + 4
    yield Part("structure", "flac.block", start, body, _HEAD)
    yield Part("structure", "flac.streaminfo", body, body + 4)
    known = "structure" if is_zero(stream, body + 4, body + 10) else "encoder"
    yield Part(known, "flac.frame-sizes", body + 4, body + 10, bytes(6))
    yield Part("structure", "flac.streaminfo", body + 10, body + 18)
    known = "structure" if is_zero(stream, body + 18, body + _INFO) else "digest"
    yield Part(known, "flac.md5", body + 18, body + _INFO, bytes(16) + _EMPTY_BLOCK)


def _block(stream: BinaryIO, kind: int, start: int, end: int) -> Part:
    """The part that the body of a block is which the clean file does not have."""
    if kind == _PADDING:
        return gap(stream, "flac", start, end, "flac.padding")
    if kind not in _TAGS:
        return Part("unknown", "flac.application" if kind == _APPLICATION else "flac.reserved", start, end, b"")
    what = "tag"
    if kind == _COMMENT:
        size = int.from_bytes(at(stream, start, 4), "little")
        if end - start == size + 8 and is_zero(stream, end - 4, end):
            what = "encoder" if size else "structure"  # no field
    return Part(what, f"flac.{_TAGS[kind]}", start, end, b"", _READERS[kind] if what != "structure" else "")


# --- frames ----------------------------------------------------------------------------------------------------------


class _Frames:
    """The frames between `start` and `end`."""

    def __init__(self, stream: BinaryIO, start: int, end: int, info: _Info) -> None:
        self._stream, self._end, self._info = stream, end, info
        self._starts = array("Q")
        self._doubtful = array("Q")  # frames after which a zero byte stands, by number
        self._whole = self._find(start) and self._starts[:1] == array("Q", [start])

    def _find(self, start: int) -> bool:
        """Find the header of every frame; is the checksum over all bytes from `start` on right?"""
        import numpy as np  # takes as long to load as a long file to read

        folded = np.zeros(_PERIOD, np.uint8)
        number = samples = 0
        expected, place = _coded(0), 5  # the number of the next frame, and where it ends in a header
        offset = start
        held = b"\xff"  # the last bytes read; the first of them has been looked at
        starts = self._starts
        while offset < self._end:
            block = at(self._stream, offset, min(_READ, self._end - offset))
            if not block:
                raise cut("it ended while it was read")
            rows = np.frombuffer(block.ljust(-(-len(block) // _PERIOD) * _PERIOD, b"\0"), np.uint8)
            folded ^= np.bitwise_xor.reduce(rows.reshape(-1, _PERIOD), axis=0)
            data = held + block
            offset += len(block)
            stop = len(data) if offset == self._end else len(data) - _HEADER
            for match in _SYNC.finditer(data, 1, stop):
                found = match.start()
                if not data.startswith(expected, found + 4):
                    continue
                count = _samples(data[found : found + _HEADER], place)
                if not count:
                    continue
                if starts and not data[found - 1]:
                    self._doubtful.append(len(starts) - 1)
                starts.append(offset - len(data) + found)
                variable = data[found + 1] & 1
                samples = count + (number if variable else number * self._info.block)
                number += count if variable else 1
                expected = _coded(number)
                place = 4 + len(expected)
            held = data[stop - 1 :]
        if self._info.total and self._info.total != samples:
            there = f"{samples:,} are" if samples else "none is"
            raise cut(f"its header counts {self._info.total:,} samples, {there} there")
        if not self._starts and offset > start:
            raise cut("no first frame in it")
        return not _crc16(folded.tobytes())

    def parts(self) -> Iterator[Part]:
        """The frames, in one part if nothing stands between them.

        Raises Unreadable where one is not whole, or where as much else is there as frames never have around them.
        """
        if not self._starts:
            return
        gaps = passed = 0
        begin, last = self._starts[0], len(self._starts) - 1
        for index in [*self._doubtful, last] if self._whole else range(last + 1):
            after = self._starts[index + 1] if index < last else self._end
            end = self._end_of(index, after)
            if end < after:
                yield Part("payload", "flac.frames", begin, end)
                begin = after
                gaps += 1
                passed += 0 if is_zero(self._stream, end, after) else after - end
                if gaps > GLUED_LIMIT or passed > JUNK_LIMIT:
                    raise damaged(f"more than {GLUED_LIMIT:,} gaps, or {JUNK_LIMIT:,} bytes, between its frames")
        if begin < self._end:
            yield Part("payload", "flac.frames", begin, self._end)

    def _end_of(self, index: int, after: int) -> int:
        """Where the frame `index` ends; the next one, or the end of the audio, is at `after`."""
        start = self._starts[index]
        data = at(self._stream, start, min(after - start, self._info.most_frame))
        last = index == len(self._starts) - 1
        if not last and data[-1] and start + len(data) == after and not _crc16(data):
            return after
        length = _frame_length(data, self._info)
        proved = self._whole and start + (length or 0) == after  # the sum over all frames is right
        if length is None or (not proved and _crc16(data[:length])):
            if last:
                raise cut("no whole frame at its end")
            raise damaged(f"the frame at byte {start:,} has a wrong checksum")
        if last and (lost := self._frame_after(start + length)):
            raise damaged(f"the frame at byte {lost:,} does not follow the one before")
        return start + length

    def _frame_after(self, start: int) -> int:
        """Where a frame of the same form is from `start` on; 0 if there is none near."""
        form = at(self._stream, self._starts[0] + 2, 2)
        data = at(self._stream, start, min(JUNK_LIMIT, self._end - start))
        for match in _SYNC.finditer(data):
            head = data[match.start() : match.start() + _HEADER]
            if head[2:4] == form and _header(head, self._info):
                return start + match.start()
        return 0

    def seekable(self, table: bytes) -> bool:
        """Does a seek table say nothing but where frames are?"""
        if len(table) % _POINT:
            return False
        for point in range(0, len(table), _POINT):
            if table[point : point + _POINT] == _PLACEHOLDER:
                continue
            first, offset, block = struct.unpack_from(">QQH", table, point)
            index = bisect_left(self._starts, offset + self._starts[0]) if self._starts else 0
            if index == len(self._starts) or self._starts[index] != offset + self._starts[0]:
                return False
            header = _header(at(self._stream, self._starts[index], _HEADER), self._info)
            if header is None or (header.first, header.block) != (first, block):
                return False
        return True


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


def _header(head: bytes, info: _Info) -> _Header | None:
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
    block = _samples(head, offset)
    if not block:
        return None
    first, after = (number, number + block) if head[1] & 1 else (number * info.block, number + 1)
    length = offset + form.block_bytes + form.rate_bytes + 1
    return _Header(length, first, block, form.assignment, form.width or info.width, after)


def _samples(head: bytes, offset: int) -> int:
    """How many samples a frame has, by its header, in which the number ends at `offset`; 0 if it is no valid one."""
    form = _form(head[2:4]) if len(head) > 5 else None
    if form is None:
        return 0
    block, _, _, block_bytes, rate_bytes = form
    if block_bytes:
        block = int.from_bytes(head[offset : offset + block_bytes], "big") + 1
    offset += block_bytes + rate_bytes
    return 0 if offset >= len(head) or _crc8(head[: offset + 1]) else block


def _coded(number: int) -> bytes:
    """A frame or sample number as it stands in a header (RFC 9639 section 9.1.5): as UTF-8, and more of the kind."""
    if number <= sys.maxunicode:
        return chr(number).encode("utf-8", "surrogatepass")
    if number >> 36:
        return b"\xff"  # stands in no header
    more = next((count for count in range(3, 6) if number < 1 << 6 + 5 * count), 6)
    rest = (0x80 | number >> 6 * place & 0x3F for place in reversed(range(more)))
    return bytes([0xFF << 7 - more & 0xFF | number >> 6 * more, *rest])


def _frame_length(data: bytes, info: _Info) -> int | None:
    """How long the frame is that `data` begins with, by its subframes; None where it does not end, or is invalid."""
    header = _header(data[:_HEADER], info)
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


def _crc16(data: bytes) -> int:
    """The CRC-16 of FLAC; 0 over a whole frame with its footer.

    It is the sum of what each bit adds that is set, and bits `_PERIOD` apart add the same.
    """
    import numpy as np

    bits = np.zeros(-(-8 * len(data) // _PERIOD) * _PERIOD, np.uint8)
    bits[len(bits) - 8 * len(data) :] = np.unpackbits(np.frombuffer(data, np.uint8))
    folded = np.bitwise_xor.reduce(bits.reshape(-1, _PERIOD), axis=0)
    return int(np.bitwise_xor.reduce(_added()[folded.view(bool)]))


@functools.cache
def _added() -> NDArray[np.uint16]:
    """What bits add to the CRC-16, of the last `_PERIOD` ones."""
    import numpy as np

    found, crc = [], 0x8005  # x^16, by which a CRC multiplies
    for _ in range(_PERIOD):
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
