"""Pages of Ogg: read, checked and written.  Source: RFC 3533 section 6."""

from __future__ import annotations

import functools
import io
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from leakscan.blocks import JUNK_LIMIT, at, cut, damaged

MAGIC = b"OggS\x00"
HEADER = 27
"""Bytes of a page before its table of segments."""

CONTINUED, FIRST, LAST = 1, 2, 4
"""Flags of a page: its first packet goes on from the one before; it begins or ends a stream."""

NO_GRANULE = -1
"""The granule position of a page on which no packet ends."""

_START = struct.Struct("<5sBqII")  # of a header, up to its checksum: magic, flags, granule position, serial, number
_HEADER = struct.Struct(_START.format + "IB")  # and its checksum, and how many segments there are
_NO_CRC = bytes(4)  # in its place
_LARGEST = HEADER + 255 + 255 * 255  # bytes of a page
_BROKEN = 1_000  # places that look like a page and have a wrong checksum
_TOGETHER = 64  # pages; there may be many that are small
_WHOLE = 1 << 24  # bytes read together from memory: most files, which it hands out as they are
_READ = 1 << 20  # from elsewhere; memory for more is had from the system anew, which takes longer


class Page(NamedTuple):
    """A page: where it and its body lie, what its header says, its table of segments and its body."""

    start: int
    body: int
    end: int
    flags: int
    granule: int
    serial: int
    number: int
    lacing: bytes
    content: memoryview

    def after(self, count: int) -> Page:
        """What is on it after so many segments, as a page without a header in the file."""
        size = sum(self.lacing[:count])
        start = self.body + size
        return self._replace(start=start, body=start, lacing=self.lacing[count:], content=self.content[size:])


def head_of(flags: int, granule: int, serial: int, number: int, lacing: bytes, content: bytes | memoryview) -> bytes:
    """The header of a page."""
    start, end = _START.pack(MAGIC, flags, granule, serial, number), b"%c%b" % (len(lacing), lacing)
    update = _crc()
    return start + update(content, update(start + _NO_CRC + end, 0)).to_bytes(4, "little") + end


@functools.cache
def _crc() -> Callable[[bytes | memoryview, int], int]:
    """A CRC of the polynomial of Ogg, that goes on from another; its library loads when the first page is met."""
    from fastcrc.crc32 import mpeg_2

    return mpeg_2


def paged(packets: list[bytes], serial: int, number: int, flags: int = 0) -> Iterator[bytes]:
    """Header packets on as few pages as they need; their granule position is 0."""
    lacing = b"".join(b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255]) for packet in packets)
    data = b"".join(packets)
    for first in range(0, len(lacing), 255):
        some = lacing[first : first + 255]
        body, data = data[: sum(some)], data[sum(some) :]
        more = CONTINUED if first and lacing[first - 1] == 255 else 0
        granule = 0 if some.strip(b"\xff") else NO_GRANULE
        yield head_of(flags | more, granule, serial, number, some, body) + body
        number += 1


def runs(stream: BinaryIO, start: int, end: int) -> Iterator[list[Page]]:
    """The pages between `start` and `end` whose checksum is right: one, or some of which each is the next one of its
    stream, neither its first nor its last, and not empty.

    Raises Unreadable where the last one is not there in full, or too much that is no page.
    """
    update = _crc()
    most = _WHOLE if isinstance(stream, io.BytesIO) else _READ
    offset = begin = start
    data = b""
    passed = broken = 0
    run: list[Page] = []
    following = None  # what the next page says
    while offset < end:
        if offset + _LARGEST > begin + len(data) < end:
            if run:
                yield run
            run, following = [], None
            begin, data = offset, at(stream, offset, min(most, end - offset))
            view = memoryview(data)
        first = offset - begin
        segments = first + HEADER
        if data.startswith(MAGIC, first) and segments <= len(data):
            _, flags, granule, serial, number, crc, count = _HEADER.unpack_from(data, first)
            body = segments + count
            lacing = data[segments:body]
            after = body + sum(lacing)
            begun = update(data[first : segments - 5] + _NO_CRC, 0)
            if after <= len(data) and update(view[segments - 1 : after], begun) == crc:
                places = offset, begin + body, begin + after
                page = Page._make((*places, flags, granule, serial, number, lacing, view[body:after]))
                if (serial, number, flags) != following or not lacing or len(run) == _TOGETHER:
                    if run:
                        yield run
                    run = []
                run.append(page)
                ends = flags & LAST or not lacing
                following = None if ends else (serial, number + 1, lacing[-1] == 255)
                offset = page.end
                continue
        if run:
            yield run  # what is wrong with it comes first
        run, following = [], None
        head = data[first : first + _LARGEST]
        if len(head) < _size(head):
            raise cut("its last page is not there in full")
        broken += head.startswith(MAGIC)
        if broken > _BROKEN:
            raise damaged(f"more than {_BROKEN:,} of its pages have a wrong checksum")
        found = _next_page(stream, offset + 1, min(end, offset + JUNK_LIMIT + 1))
        passed += found - offset
        if passed > JUNK_LIMIT:
            raise damaged(f"more than {JUNK_LIMIT:,} bytes before byte {found:,} belong to no page")
        offset = found
    if run:
        yield run


def _size(head: bytes) -> int:
    """How many bytes the page has that begins so, as far as that tells; 0 of what is no page."""
    if not MAGIC.startswith(head[: len(MAGIC)]):
        return 0
    if len(head) < HEADER:
        return HEADER
    count = head[HEADER - 1]
    return HEADER + count + sum(head[HEADER : HEADER + count])


def _next_page(stream: BinaryIO, start: int, stop: int) -> int:
    block = 1 << 10  # grows, so that many small gaps cost little and a large one is passed quickly
    while start < stop:
        found = at(stream, start, min(block + 3, stop - start)).find(MAGIC[:4])
        if found >= 0:
            return start + found
        start += block
        block = min(4 * block, 1 << 16)
    return stop
