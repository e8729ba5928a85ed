"""Pages of Ogg: read, checked and written.  Source: RFC 3533 section 6."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from leakscan.blocks import JUNK_LIMIT, at, cut, damaged

MAGIC = b"OggS\x00"
HEADER = 27
"""Bytes of a page before its table of segments."""

CONTINUED, FIRST, LAST = 1, 2, 4
"""Flags of a page: its first packet goes on from the one before; it begins or ends a stream."""

NO_GRANULE = b"\xff" * 8
"""The granule position of a page on which no packet ends."""

REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Bytes with their bits the other way round."""

_BROKEN = 1_000  # places that look like a page and have a wrong checksum
_READ = 1 << 18  # bytes that fit the cache of the processor


class Page(NamedTuple):
    """A page whose checksum is right: where it and its body lie, and what its header says."""

    start: int
    body: int
    end: int
    flags: int
    granule: bytes
    serial: bytes
    number: int
    lacing: bytes
    backwards: memoryview  # the body, the bits of every byte reversed

    def after(self, count: int) -> Page:
        """What is on it after so many segments, as a page without a header."""
        size = sum(self.lacing[:count])
        start = self.body + size
        return self._replace(start=start, body=start, lacing=self.lacing[count:], backwards=self.backwards[size:])

    @property
    def content(self) -> bytes:
        """The body."""
        return bytes(self.backwards).translate(REVERSED)


def crc_of(head: bytes, backwards: bytes | memoryview) -> bytes:
    """The checksum of a page.  Its bits run the other way than those of zlib, which is a hundred times as fast."""
    crc = zlib.crc32(backwards, zlib.crc32(head.translate(REVERSED), 0xFFFFFFFF)) ^ 0xFFFFFFFF
    return crc.to_bytes(4, "big").translate(REVERSED)


def head_of(
    flags: int, granule: bytes, serial: int, number: int, lacing: bytes, backwards: bytes | memoryview
) -> bytes:
    """The header of a page."""
    start = b"%b%c%b%b%b" % (MAGIC, flags, granule, serial.to_bytes(4, "little"), number.to_bytes(4, "little"))
    end = b"%c%b" % (len(lacing), lacing)
    return start + crc_of(start + bytes(4) + end, backwards) + end


def paged(packets: list[bytes], serial: int, number: int, flags: int = 0) -> Iterator[bytes]:
    """Header packets on as few pages as they need; their granule position is 0."""
    lacing = b"".join(b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255]) for packet in packets)
    data = b"".join(packets)
    for first in range(0, len(lacing), 255):
        some = lacing[first : first + 255]
        body, data = data[: sum(some)], data[sum(some) :]
        more = CONTINUED if first and lacing[first - 1] == 255 else 0
        granule = bytes(8) if some.strip(b"\xff") else NO_GRANULE
        yield head_of(flags | more, granule, serial, number, some, body.translate(REVERSED)) + body
        number += 1


class Window:
    """A stream read in large blocks: most pages are small."""

    def __init__(self, stream: BinaryIO, end: int) -> None:
        self._stream, self._end = stream, end
        self._start, self._data = 0, b""
        self._reversed = memoryview(b"")

    def _hold(self, offset: int, count: int) -> int:
        """Have up to `count` bytes from `offset` in the block; where they begin in it."""
        if not self._start <= offset <= offset + count <= self._start + len(self._data):
            self._start, self._data = offset, at(self._stream, offset, min(max(count, _READ), self._end - offset))
            self._reversed = memoryview(self._data.translate(REVERSED))
        return offset - self._start

    def at(self, offset: int, count: int) -> bytes:
        """Up to `count` bytes from `offset`; fewer where the stream ends."""
        count = max(min(count, self._end - offset), 0)
        start = self._hold(offset, count)
        return self._data[start : start + count]

    def backwards(self, start: int, end: int) -> memoryview:
        """The bytes from `start` to `end`, the bits of each reversed; the block is reversed at once."""
        first = self._hold(start, end - start)
        return self._reversed[first : first + end - start]


def pages(window: Window, start: int, end: int) -> Iterator[Page]:
    """The pages between `start` and `end` whose checksum is right.

    Raises Unreadable where the last one is not there in full, or too much that is no page.
    """
    offset = start
    passed = broken = 0
    while offset < end:
        head = window.at(offset, HEADER + 255)
        if head[:5] == MAGIC:
            lacing = head[HEADER : HEADER + head[26]] if len(head) >= HEADER else b""
            body = offset + HEADER + len(lacing)
            after = body + sum(lacing)
            if len(head) < HEADER or len(lacing) < head[26] or after > end:
                raise cut("its last page is not there in full")
            backwards = window.backwards(body, after)
            if crc_of(head[:22] + bytes(4) + head[26 : HEADER + len(lacing)], backwards) == head[22:26]:
                number = int.from_bytes(head[18:22], "little")
                yield Page(offset, body, after, head[5], head[6:14], head[14:18], number, lacing, backwards)
                offset = after
                continue
            broken += 1
            if broken > _BROKEN:
                raise damaged(f"more than {_BROKEN:,} of its pages have a wrong checksum")
        elif MAGIC.startswith(head):
            raise cut("its last page is not there in full")
        found = _next_page(window, offset + 1, min(end, offset + JUNK_LIMIT + 1))
        passed += found - offset
        if passed > JUNK_LIMIT:
            raise damaged(f"more than {JUNK_LIMIT:,} bytes before byte {found:,} belong to no page")
        offset = found


def _next_page(window: Window, start: int, stop: int) -> int:
    block = 1 << 10  # grows, so that many small gaps cost little and a large one is passed quickly
    while start < stop:
        found = window.at(start, min(block + 3, stop - start)).find(MAGIC[:4])
        if found >= 0:
            return start + found
        start += block
        block = min(4 * block, 1 << 16)
    return stop
