"""Byte helpers shared by the audio formats: reading at an offset, tags glued to either end, frame walks.

Sources of the facts: ID3v2.3/2.4 (id3.org), APEv2 (wiki.hydrogenaud.io, "APEv2 specification"), Lyrics3 v1 and v2
(id3.org/Lyrics3), the ID3v1 extension TAG+ (en.wikipedia.org/wiki/ID3).
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal, NamedTuple

from leakscan.model import Entry, Item, Place, Tags, Unreadable

JUNK_LIMIT = 1 << 20
"""How many bytes between frames or pages are passed over before a file counts as something else."""

CHUNK_LIMIT = 100_000
"""How many chunks a file may have."""

GLUED_LIMIT = 10_000
"""How many tags, and how many gaps, a file may have; some streams repeat a tag every few seconds."""

_SHORTEST_JUNK = 6  # bytes; shorter ones hold no text worth reporting


class Span(NamedTuple):
    """Bytes `start` to `end` (not included) and what they are: id3, id3v1, ape, lyrics3, tag+ or junk."""

    kind: str
    start: int
    end: int


class Peeled(NamedTuple):
    """A file without the tags glued to its ends: the body lies from `start` to `end`."""

    start: int
    end: int
    tags: tuple[Span, ...]


def cut(why: str) -> Unreadable:
    """The error for a file that ends before its own structure does."""
    return Unreadable(f"cut: {why}; replace it by a complete copy")


def damaged(why: str) -> Unreadable:
    """The error for a file that is not what it claims to be."""
    return Unreadable(f"damaged: {why}; replace it by a good copy or encode it again")


def audio_item(entry: Entry, parse: Callable[[BinaryIO], Tags]) -> Iterator[Item]:
    """Yield the one item of an audio file; `parse` raises Unreadable without a path, which is put in front here."""
    with entry.open() as stream:
        try:
            body = parse(stream)
        except Unreadable as error:
            raise Unreadable(f"{entry.path}: {error}") from error
        except OSError as error:
            raise Unreadable(f"{entry.path}: cannot be read ({error.strerror}); check the disk") from error
    yield Item(Place(entry.path), "audio", body)


def size_of(stream: BinaryIO) -> int:
    """The length of the stream in bytes."""
    return stream.seek(0, io.SEEK_END)


def at(stream: BinaryIO, offset: int, count: int) -> bytes:
    """Up to `count` bytes from `offset`; fewer where the stream ends."""
    stream.seek(offset)
    return stream.read(max(count, 0))


# --- tags glued to the ends ------------------------------------------------------------------------------------------


def id3_size(head: bytes) -> int:
    """The whole length of the ID3v2 tag that `head` begins with, 0 if there is none (ID3v2.4 section 3.1)."""
    if len(head) < 10 or head[:3] != b"ID3" or 0xFF in head[3:5] or max(head[6:10]) > 0x7F:
        return 0
    footer = 10 if head[3] >= 4 and head[5] & 0x10 else 0
    return 10 + _syncsafe(head[6:10]) + footer


def after_id3(head: bytes) -> int:
    """Where the ID3v2 tags at the start of `head` end; may lie beyond its end."""
    offset = 0
    while size := id3_size(head[offset : offset + 10]):
        offset += size
    return offset


def tag_at(stream: BinaryIO, start: int, end: int) -> Span | None:
    """The tag that begins at `start` and ends by `end`: ID3v2, an APE tag with a header, or ID3v1."""
    head = at(stream, start, min(32, end - start))
    span = None
    if size := id3_size(head):
        span = Span("id3", start, start + size)
    elif head[:8] == b"APETAGEX" and len(head) == 32 and head[23] & 0x20:  # bit 29: this is the header
        span = Span("ape", start, start + 32 + int.from_bytes(head[12:16], "little"))
    elif head[:3] == b"TAG":
        span = Span("id3v1", start, start + 128)
    return span if span and span.end <= end else None


def peel(stream: BinaryIO) -> Peeled:
    """Find the tags glued to both ends of a file, in any order and number.

    Raises Unreadable when an ID3v2 tag at the start does not end within the file.
    """
    end = size_of(stream)
    start = 0
    tags: list[Span] = []
    while (head := at(stream, start, 10))[:3] == b"ID3" or head[:8] == b"APETAGEX":
        if start + id3_size(head) > end:
            raise cut(f"its ID3v2 tag needs {start + id3_size(head):,} bytes, the file has {end:,}")
        span = tag_at(stream, start, end)
        if span is None:
            break
        tags.append(span)
        start = span.end
        _limit(tags)
    trailing: list[Span] = []
    while (span := _tag_before(stream, start, end)) is not None:
        trailing.append(span)
        end = span.start
        _limit(trailing)
    return Peeled(start, end, (*tags, *reversed(trailing)))


def _limit(tags: list[Span]) -> None:
    if len(tags) > GLUED_LIMIT:
        raise damaged(f"more than {GLUED_LIMIT:,} tags in it")


def _tag_before(stream: BinaryIO, start: int, end: int) -> Span | None:
    tail = at(stream, max(start, end - 128), min(128, end - start))
    span = None
    if len(tail) == 128 and tail[:3] == b"TAG":
        span = Span("id3v1", end - 128, end)
    elif tail[-32:-24] == b"APETAGEX" and not tail[-9] & 0x20:
        header = 32 if tail[-9] & 0x80 else 0  # the size leaves the header out
        span = Span("ape", end - int.from_bytes(tail[-20:-16], "little") - header, end)
        if span.end - span.start < 32:
            return None
    elif tail[-10:-7] == b"3DI" and max(tail[-4:]) <= 0x7F:
        span = Span("id3", end - 20 - _syncsafe(tail[-4:]), end)
        if not id3_size(at(stream, max(span.start, start), 10)):
            return None
    elif tail[-9:] == b"LYRICS200" and tail[-15:-9].isdigit():
        span = Span("lyrics3", end - 15 - int(tail[-15:-9]), end)
    elif tail[-9:] == b"LYRICSEND":
        begin = at(stream, max(start, end - 5120), min(5120, end - start)).rfind(b"LYRICSBEGIN")
        span = Span("lyrics3", max(start, end - 5120) + begin, end) if begin >= 0 else None
    elif end - start >= 227 and at(stream, end - 227, 4) == b"TAG+":
        span = Span("tag+", end - 227, end)
    return span if span and span.start >= start else None


def _syncsafe(four: bytes) -> int:
    return four[0] << 21 | four[1] << 14 | four[2] << 7 | four[3]


# --- chunks (RIFF, AIFF) ---------------------------------------------------------------------------------------------


class Chunk(NamedTuple):
    """A chunk: its ID and where its body lies."""

    id: bytes
    start: int
    end: int


def chunks(
    stream: BinaryIO,
    start: int,
    end: int,
    order: Literal["big", "little"],
    open_sizes: tuple[int, ...] = (),
    long_size: int | None = None,
) -> Iterator[Chunk]:
    """The chunks between `start` and `end`; bytes after the last one that begin no chunk come as a chunk without ID.

    A sample chunk (`data`, `SSND`) of a size in `open_sizes` goes on to `end`, as when its writer could not come back
    to fill in the size; `long_size` is the size of a `data` chunk that says 0xFFFFFFFF.
    Raises Unreadable where a chunk does not end by `end`, or there are more than CHUNK_LIMIT.
    """
    for _ in range(CHUNK_LIMIT):
        head = at(stream, start, min(8, end - start))
        if not head:
            return
        size = int.from_bytes(head[4:], order)
        if len(head) < 8 or not head[:4].isascii() or not head[:4].decode("ascii").isprintable():
            yield Chunk(b"", start, end)
            return
        if head[:4] in (b"data", b"SSND"):
            if long_size is not None and size == 0xFFFFFFFF:
                size = long_size
            elif size in open_sizes and start + 8 + size != end:
                size = end - start - 8
        body = start + 8
        if body + size > end:
            name = head[:4].decode("ascii").strip()
            raise cut(f"its chunk {name} at byte {start:,} needs {body + size:,} bytes, {end:,} are there")
        yield Chunk(head[:4], body, body + size)
        start = body + size + size % 2  # a pad byte follows an odd size
    raise damaged(f"more than {CHUNK_LIMIT:,} chunks in it")


# --- frames one after the other (MPEG audio, ADTS) -------------------------------------------------------------------


class Frame(NamedTuple):
    """A frame header: the length of its frame in bytes and what does not change within a stream."""

    length: int
    fixed: int


@dataclass(frozen=True, slots=True)
class Walk:
    """What a frame walk saw: where the first frame lies, how many are whole, tags and other bytes in between.

    `partial` is the last frame where it does not end within the body.  `junk` leaves gaps of a few bytes out.
    """

    first: int | None
    count: int
    tags: tuple[Span, ...]
    junk: tuple[Span, ...]
    partial: Span | None


def walk_frames(
    stream: BinaryIO, start: int, end: int, header: int, sync: re.Pattern[bytes], parse: Callable[[bytes], Frame | None]
) -> Walk:
    """Walk over frames that each say how long they are; find them again after tags and other bytes in between.

    `header` is the number of bytes `parse` needs, `sync` finds where a frame or a tag may begin.
    Raises Unreadable when more than JUNK_LIMIT bytes belong to no frame, or in more than GLUED_LIMIT places.
    """
    first, count, fixed = None, 0, -1
    tags: list[Span] = []
    junk: list[Span] = []
    gaps = passed = 0
    partial = None
    offset = start
    while offset < end:
        frame = parse(at(stream, offset, min(header, end - offset)))
        if frame and (frame.fixed == fixed or _follows(stream, offset + frame.length, end, header, parse, frame.fixed)):
            if offset + frame.length > end:
                partial = Span("frame", offset, offset + frame.length)
                break
            first = offset if first is None else first
            count += 1
            fixed = frame.fixed
            offset += frame.length
        elif (span := tag_at(stream, offset, end)) is not None:
            tags.append(span)
            offset = span.end
            _limit(tags)
        else:
            found = _resync(stream, offset + 1, min(end, offset + JUNK_LIMIT + 1), end, header, sync, parse)
            if found - offset >= _SHORTEST_JUNK:
                junk.append(Span("junk", offset, found))
            passed += found - offset
            gaps += 1
            if passed > JUNK_LIMIT:
                raise damaged(f"more than {JUNK_LIMIT:,} bytes before byte {found:,} belong to no frame")
            if gaps > GLUED_LIMIT:
                raise damaged(f"more than {GLUED_LIMIT:,} gaps between its frames")
            offset = found
    return Walk(first, count, tuple(tags), tuple(junk), partial)


def _follows(
    stream: BinaryIO, offset: int, end: int, header: int, parse: Callable[[bytes], Frame | None], fixed: int
) -> bool:
    """Does what stands at `offset` confirm that the frame before it is one?"""
    if offset >= end:
        return offset == end
    frame = parse(at(stream, offset, min(header, end - offset)))
    return (frame is not None and frame.fixed == fixed) or tag_at(stream, offset, end) is not None


def _resync(
    stream: BinaryIO,
    start: int,
    stop: int,
    end: int,
    header: int,
    sync: re.Pattern[bytes],
    parse: Callable[[bytes], Frame | None],
) -> int:
    block = 1 << 10  # grows, so that many small gaps cost little and a large one is passed quickly
    while start < stop:
        data = at(stream, start, min(block + header, end - start))
        for match in sync.finditer(data):
            offset = start + match.start()
            if offset >= stop:
                return stop
            frame = parse(data[match.start() : match.start() + header])
            if frame and offset + frame.length <= end:
                if _follows(stream, offset + frame.length, end, header, parse, frame.fixed):
                    return offset
            elif not frame and tag_at(stream, offset, end):
                return offset
        start += block
        block = min(4 * block, 1 << 16)
    return stop
