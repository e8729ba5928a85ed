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

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))  # bytes with their bits the other way round
_LARGEST = HEADER + 255 + 255 * 255  # bytes of a page
_ZEROS = memoryview(bytes(_LARGEST))
_BROKEN = 1_000  # places that look like a page and have a wrong checksum
_READ = 1 << 18  # bytes that fit the cache of the processor


class Page(NamedTuple):
    """A page: where it and its body lie, its header and what that says, and its body."""

    start: int
    body: int
    end: int
    flags: int
    granule: bytes
    serial: bytes
    number: int
    lacing: bytes
    head: bytes
    content: bytes

    def after(self, count: int) -> Page:
        """What is on it after so many segments, as a page without a header in the file."""
        size = sum(self.lacing[:count])
        start = self.body + size
        return self._replace(start=start, body=start, lacing=self.lacing[count:], content=self.content[size:])

    def renumbered(self, flags: int, granule: bytes, serial: int, number: int) -> bytes:
        """Its header with other numbers.

        What these change in the checksum follows from how they differ and how many bytes come behind them.
        """
        start, rest = _start(flags, granule, serial, number), self.head[26:]
        changed = crc_of(_differing(start, self.head[:22]), zeros=4 + len(rest) + len(self.content))
        return start + _differing(self.head[22:26], changed) + rest


def _differing(one: bytes, other: bytes) -> bytes:
    """The bits in which bytes differ from as many others."""
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).to_bytes(len(one), "big")


def crc_of(*page: bytes, zeros: int = 0) -> bytes:
    """The checksum of a page in pieces, in which zeros are in its place, and of so many zeros behind them.

    Its bits run the other way than those of zlib, which is a hundred times as fast as a loop.
    """
    crc = 0xFFFFFFFF
    for piece in page:
        crc = zlib.crc32(piece.translate(_REVERSED), crc)
    crc = zlib.crc32(_ZEROS[:zeros], crc) ^ 0xFFFFFFFF
    return crc.to_bytes(4, "big").translate(_REVERSED)


def head_of(flags: int, granule: bytes, serial: int, number: int, lacing: bytes, content: bytes) -> bytes:
    """The header of a page."""
    start = _start(flags, granule, serial, number)
    end = b"%c%b" % (len(lacing), lacing)
    return start + crc_of(start, bytes(4), end, content) + end


def _start(flags: int, granule: bytes, serial: int, number: int) -> bytes:
    """The header of a page up to its checksum."""
    return b"%b%c%b%b%b" % (MAGIC, flags, granule, serial.to_bytes(4, "little"), number.to_bytes(4, "little"))


def paged(packets: list[bytes], serial: int, number: int, flags: int = 0) -> Iterator[bytes]:
    """Header packets on as few pages as they need; their granule position is 0."""
    lacing = b"".join(b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255]) for packet in packets)
    data = b"".join(packets)
    for first in range(0, len(lacing), 255):
        some = lacing[first : first + 255]
        body, data = data[: sum(some)], data[sum(some) :]
        more = CONTINUED if first and lacing[first - 1] == 255 else 0
        granule = bytes(8) if some.strip(b"\xff") else NO_GRANULE
        yield head_of(flags | more, granule, serial, number, some, body) + body
        number += 1


class Window:
    """A stream read in large blocks: most pages are small."""

    def __init__(self, stream: BinaryIO, end: int) -> None:
        self._stream, self._end = stream, end
        self._start, self._data = 0, b""

    def at(self, offset: int, count: int) -> bytes:
        """Up to `count` bytes from `offset`; fewer where the stream ends."""
        count = max(min(count, self._end - offset), 0)
        if not self._start <= offset <= offset + count <= self._start + len(self._data):
            self._start, self._data = offset, at(self._stream, offset, min(max(count, _READ), self._end - offset))
        start = offset - self._start
        return self._data[start : start + count]


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
            content, head = window.at(body, after - body), head[: body - offset]
            if crc_of(head[:22] + bytes(4) + head[26:], content) == head[22:26]:
                number = int.from_bytes(head[18:22], "little")
                yield Page(offset, body, after, head[5], head[6:14], head[14:18], number, lacing, head, content)
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
