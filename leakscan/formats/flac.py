"""FLAC: `.flac`.  Source: RFC 9639 section 8 (metadata blocks); frames one by one are in `leakscan.flacframes`.

The clean file is `fLaC`, STREAMINFO without digest and frame sizes, a comment block that is empty but for unusual
speakers, and the frames.

Frames do not say how long they are.  They are found by their headers, which count frames or samples without a gap;
that nothing stands between them shows in a checksum over all of them, and the end of a frame is worked out from its
subframes only where that sum is wrong, behind a zero byte, which no sum notices, where text stands in the frame, and
for the last frame.
Not looked at: the bits that fill up the last byte of a frame, and bytes between frames that are no text and made so
that the sum holds.
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import BinaryIO

from leakscan.blocks import GLUED_LIMIT, JUNK_LIMIT, after_id3, at, cut, damaged, glued, peel
from leakscan.decoders import NO_COMMENT, flac_comment, last_comment
from leakscan.flacframes import (
    HEADER,
    INFO,
    Info,
    frame_length,
    header_of,
    headers_in,
    read_info,
)
from leakscan.ledgers import NOTHING, Seen, audio_item, gap, is_zero, ledger
from leakscan.legible import TAIL, telling, texts
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.rows import crc16

AUDIO = True
NAMES = (".flac", ".fla")
LOADS = ("fastcrc", "numpy")

_MAGIC = b"fLaC"
_STREAMINFO, _PADDING, _APPLICATION, _SEEKTABLE, _COMMENT, _CUESHEET, _PICTURE = range(7)
_TAGS = {_COMMENT: "comment", _CUESHEET: "cuesheet", _PICTURE: "picture"}
_READERS = {_COMMENT: "flac", _CUESHEET: "flac-cuesheet", _PICTURE: "flac-picture"}
_HEAD = bytes([_STREAMINFO]) + INFO.to_bytes(3, "big")
_BLOCKS = 10_000  # more than any writer makes; keeps a file of empty blocks from taking minutes
_POINT = 18  # bytes of a seek point
_PLACEHOLDER = b"\xff" * 8 + bytes(10)
_READ = 1 << 22  # bytes, so that many headers are looked at together
_PIECE = 1 << 20  # of what is read, in which text is looked for at once: all of it may be text
_SYNC = re.compile(rb"\xff[\xf8\xf9]")


def sniff(head: bytes) -> bool:
    """`fLaC` at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 4] == _MAGIC


def read(entry: Entry) -> Iterator[Item]:
    """The one item of a FLAC file.  Raises Unreadable where it is cut or no FLAC."""
    return audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a FLAC file.  Raises Unreadable where it is cut or no FLAC."""
    return _account(stream, NOTHING)


def read_back(stream: BinaryIO, seen: Seen) -> Ledger:
    """The same of a clean copy; frames that were `seen` in its source are not looked for again."""
    return _account(stream, seen)


def _account(stream: BinaryIO, seen: Seen) -> Ledger:
    peeled = peel(stream)
    if at(stream, peeled.start, 4) != _MAGIC:
        raise damaged("no FLAC stream in it")
    parts = [*glued("flac", peeled), Part("structure", "flac.head", peeled.start, peeled.start + 4)]
    info = None
    tables, blocks = [], []
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
            info = read_info(at(stream, body, end - body))
        elif kind == _SEEKTABLE:
            tables.append((body, end))
        else:
            blocks.append((kind, body, end))
        if kind != _STREAMINFO:
            parts.append(Part("structure", "flac.block", start, body, b""))
        start = end
    assert info is not None
    comments = (at(stream, body, end - body) for kind, body, end in blocks if kind == _COMMENT)
    comment = flac_comment(comments, info.channels)
    parts += _info_parts(stream, peeled.start + 4, comment)
    parts += (_block(stream, kind, body, end, comment) for kind, body, end in blocks)
    if start < peeled.end and not tables and not seen.others((start, peeled.end)):
        parts.append(Part("payload", "flac.frames", start, peeled.end))
    else:
        frames = _Frames(stream, start, peeled.end, info)
        parts += frames.parts()
        for body, end in tables:
            right = frames.seekable(at(stream, body, end - body))
            parts.append(Part("structure" if right else "unknown", "flac.seektable", body, end, b""))
    form = {"rate": info.rate, "channels": info.channels, "bits": info.width, "samples": info.total}
    told = [(name, str(value)) for name, value in form.items()]
    told += [("speakers", comment.hex())] if comment != NO_COMMENT else []
    return ledger(stream, "flac", parts, told)


# --- metadata --------------------------------------------------------------------------------------------------------


def _info_parts(stream: BinaryIO, start: int, comment: bytes) -> Iterator[Part]:
    """The parts of the STREAMINFO block at `start`; the comment block of the clean file comes at its end."""
    body = start + 4
    yield Part("structure", "flac.block", start, body, _HEAD)
    yield Part("structure", "flac.streaminfo", body, body + 4)
    known = "structure" if is_zero(stream, body + 4, body + 10) else "encoder"
    yield Part(known, "flac.frame-sizes", body + 4, body + 10, bytes(6))
    yield Part("structure", "flac.streaminfo", body + 10, body + 18)
    known = "structure" if is_zero(stream, body + 18, body + INFO) else "digest"
    yield Part(known, "flac.md5", body + 18, body + INFO, bytes(16) + last_comment(comment))


def _block(stream: BinaryIO, kind: int, start: int, end: int, comment: bytes) -> Part:
    """The part that the body of a block is which the clean file does not have, but for what is in `comment`."""
    if kind == _PADDING:
        return gap(stream, "flac", start, end, "flac.padding")
    if kind not in _TAGS:
        reader = "traktor" if kind == _APPLICATION and b"DMRT" in at(stream, start, min(64, end - start)) else ""
        return Part("unknown", "flac.application" if kind == _APPLICATION else "flac.reserved", start, end, b"", reader)
    what = "tag"
    if kind == _COMMENT:
        size = int.from_bytes(at(stream, start, 4), "little")
        if end - start == size + len(comment) and at(stream, start + 4 + size, len(comment) - 4) == comment[4:]:
            what = "encoder" if size else "structure"  # no other field
    return Part(what, f"flac.{_TAGS[kind]}", start, end, b"", _READERS[kind] if what != "structure" else "")


# --- frames ----------------------------------------------------------------------------------------------------------


class _Frames:
    """The frames between `start` and `end`."""

    def __init__(self, stream: BinaryIO, start: int, end: int, info: Info) -> None:
        self._stream, self._end, self._info = stream, end, info
        self._starts = array("Q")
        self._doubtful: set[int] = set()  # frames after which a zero byte, or in which text stands, by number
        self._whole = self._find(start) and self._starts[:1] == array("Q", [start])

    def _find(self, start: int) -> bool:
        """Find the header of every frame; is the checksum over all bytes from `start` on right?"""
        number = samples = crc = 0  # of the next frame, and of those before it
        starts = self._starts
        for begin in range(start, self._end, _READ):
            base, stop = max(begin - TAIL, 0), min(begin + _READ, self._end)
            data = at(self._stream, base, min(stop + HEADER, self._end) - base)
            if base + len(data) < stop:
                raise cut("it ended while it was read")
            crc = crc16(memoryview(data)[begin - base : stop - base], crc)
            first = max(len(starts) - 1, 0)  # the frame of which the end is looked for
            for found, given, behind, after in headers_in(data, begin - base, stop - base, self._info):
                if given == number:
                    if starts and not data[found - 1]:
                        self._doubtful.add(len(starts) - 1)
                    starts.append(base + found)
                    number, samples = after, behind
            edges = [max(0, start - base) for start in starts[first:]]
            self._doubtful.update(first + index for index in telling(data, edges[:-1], edges[1:]))
            for piece in range(0, len(data) if starts else 0, _PIECE):
                places = texts(data[piece : piece + _PIECE + TAIL])
                self._doubtful.update(bisect_right(starts, base + piece + place) - 1 for place in places)
        if self._info.total and self._info.total != samples:
            there = f"{samples:,} are" if samples else "none is"
            raise cut(f"its header counts {self._info.total:,} samples, {there} there")
        if not self._starts and self._end > start:
            raise cut("no first frame in it")
        return not crc

    def parts(self) -> Iterator[Part]:
        """The frames, in one part if nothing stands between them.

        Raises Unreadable where one is not whole, or where as much else is there as frames never have around them.
        """
        if not self._starts:
            return
        gaps = passed = 0
        begin, last = self._starts[0], len(self._starts) - 1
        for index in sorted({*self._doubtful, last} - {-1}) if self._whole else range(last + 1):
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
        if index not in self._doubtful and not last and start + len(data) == after and not crc16(data):
            return after
        length = frame_length(data, self._info)
        proved = self._whole and start + (length or 0) == after  # the sum over all frames is right
        if length is None or (not proved and crc16(data[:length])):
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
            head = data[match.start() : match.start() + HEADER]
            if head[2:4] == form and header_of(head, self._info):
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
            header = header_of(at(self._stream, self._starts[index], HEADER), self._info)
            if header is None or (header.first, header.block) != (first, block):
                return False
        return True
