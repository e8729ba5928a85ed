"""Byte helpers shared by the audio formats: reading at an offset, tags glued to either end, frame walks.

Sources of the facts: ID3v2.3/2.4 (id3.org), APEv2 (wiki.hydrogenaud.io, "APEv2 specification"), Lyrics3 v1 and v2
(id3.org/Lyrics3), the ID3v1 extensions TAG+ and EXT (en.wikipedia.org/wiki/ID3), the MusicMatch tag (id3lib,
"MusicMatch Tag Format").
"""

from __future__ import annotations

import contextlib
import io
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Literal, NamedTuple

from leakscan.model import Part, Unreadable

JUNK_LIMIT = 1 << 20
"""How many bytes between frames or pages are passed over before a file counts as something else."""

CHUNK_LIMIT = 100_000
"""How many chunks a file may have."""

_JUNK_BEFORE = 1024  # bytes in front of the first frame among which a chain of frames is looked for

GLUED_LIMIT = 10_000
"""How many tags, and how many gaps, a file may have; some streams repeat a tag every few seconds."""

_BLOCK = 1 << 12
_REACH = 1 << 16  # bytes in which the start of a tag is sought that its end does not tell
_TRIES = 16  # how many places in them are looked at
_ENDS = (
    (b"APETAGEX", 32),
    (b"LYRICS200", 9),
    (b"LYRICSEND", 9),
    (b"3DI", 10),
    (b"Brava Software Inc.", 48),
    (b"TAG+", 227),
    (b"TAG", 128),
)
"""What the last part of a tag begins with, and the length of that part."""
_APE_ITEM = re.compile(rb"[\x00-\xff]{8}[\x20-\x7e]{2,255}\x00")


class Span(NamedTuple):
    """Bytes `start` to `end` (not included) and their reader: id3, id3v1, ape, lyrics3, tag+ or junk (text in them)."""

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
    """Where the ID3v2 and APE tags at the start of `head` end; may lie beyond its end."""
    offset = 0
    while size := id3_size(head[offset : offset + 10]) or _ape_size(head[offset : offset + 32]):
        offset += size
    return offset


def _ape_size(head: bytes) -> int:
    """The whole length of the APE tag whose header `head` is, 0 if it is none."""
    if len(head) < 32 or head[:8] != b"APETAGEX" or not head[23] & 0x20:  # bit 29: this is the header
        return 0
    return 32 + int.from_bytes(head[12:16], "little")


def tag_at(stream: BinaryIO, start: int, end: int) -> Span | None:
    """The tag that begins at `start` and ends by `end`: ID3v2, an APE tag with a header, or ID3v1."""
    head = at(stream, start, min(32, end - start))
    span = None
    if size := id3_size(head):
        span = Span("id3" if 2 <= head[3] <= 4 else "junk", start, start + size)  # readers know 2.2 to 2.4
    elif size := _ape_size(head):
        span = Span("ape", start, start + size)
    elif head[:3] == b"TAG":
        span = Span("id3v1", start, start + 128)
    return span if span and span.end <= end else None


def peel(stream: BinaryIO) -> Peeled:
    """Find the tags glued to both ends of a file, in any order and number, zeros between those at the end.

    What only looks like a tag, such as one whose size cannot be right, stays in the body.
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
    while (
        span := _tag_before(stream, start, end, trailing) or _tag_before_zeros(stream, start, end, trailing)
    ) is not None:
        trailing.append(span)
        end = span.start
        _limit(trailing)
    return Peeled(start, end, (*tags, *reversed(trailing)))


_GLUED = {
    "id3": "file.id3",
    "id3v1": "file.id3v1",
    "ape": "file.ape",
    "lyrics3": "file.lyrics3",
    "tag+": "file.id3v1-extension",
    "junk": "file.other",
}


def glued(container: str, peeled: Peeled) -> Iterator[Part]:
    """The parts of a ledger that the tags glued to a file are, named alike in all containers."""
    return (Part("tag", _GLUED[span.kind], span.start, span.end, reader=span.kind) for span in peeled.tags)


def _limit(tags: list[Span]) -> None:
    if len(tags) > GLUED_LIMIT:
        raise damaged(f"more than {GLUED_LIMIT:,} tags in it")


def _tag_before(stream: BinaryIO, start: int, end: int, after: list[Span]) -> Span | None:
    """The tag that ends at `end`; `after` are the tags behind it, the nearest one last."""
    tail = at(stream, max(start, end - 128), min(128, end - start))
    begin = -1
    kind = ""
    if tail[-32:-24] == b"APETAGEX" and not tail[-9] & 0x20:  # bit 29: this is no header
        kind, begin = "ape", _ape_start(stream, start, end, tail)
    elif tail[-10:-7] == b"3DI" and max(tail[-4:]) <= 0x7F:
        kind, begin = "id3", end - 20 - _syncsafe(tail[-4:])
        if begin < start or id3_size(at(stream, begin, 10)) != end - begin:
            begin = -1
    elif tail[-9:] in (b"LYRICS200", b"LYRICSEND"):
        kind, begin = "lyrics3", _lyrics_start(stream, start, end, tail)
    elif tail[-48:-29] == b"Brava Software Inc.":  # MusicMatch; its first section begins with this number
        kind, begin = "junk", _found(stream, max(start, end - JUNK_LIMIT), end, b"18273645")
    if begin < 0 and len(tail) == 128:
        if tail[:3] == b"TAG":
            kind, begin = "id3v1", end - 128
        elif tail[:3] == b"EXT" and after and after[-1][:2] == ("id3v1", end):  # ID3v1.2
            kind, begin = "tag+", end - 128
        elif end - start >= 227 and at(stream, end - 227, 4) == b"TAG+":
            kind, begin = "tag+", end - 227
    if begin < 0:
        return _id3_before(stream, start, end, end)
    return Span(kind, begin, end)


def _found(stream: BinaryIO, start: int, end: int, magic: bytes, last: bool = False) -> int:
    """Where the first or `last` occurrence of `magic` between `start` and `end` begins; -1 if it does not occur."""
    data = at(stream, start, end - start)
    offset = data.rfind(magic) if last else data.find(magic)
    return start + offset if offset >= 0 else -1


def _ape_start(stream: BinaryIO, start: int, end: int, tail: bytes) -> int:
    """Where the APE tag whose footer ends `tail` begins, -1 where its size cannot be right."""
    begin = end - int.from_bytes(tail[-20:-16], "little")  # the size leaves a header out
    for header in (begin - 32, begin):  # some writers count it
        if start <= header < end - 32 and _ape_size(at(stream, header, 32)):
            return header
    if tail[-9] & 0x80:  # bit 31: there is a header
        return _found(stream, max(start, end - _REACH), end - 32, b"APETAGEX", last=True)
    plausible = begin == end - 32 or _APE_ITEM.match(at(stream, begin, 264) if begin >= start else b"")
    return begin if plausible and start <= begin <= end - 32 else -1


def _lyrics_start(stream: BinaryIO, start: int, end: int, tail: bytes) -> int:
    """Where the Lyrics3 tag that ends `tail` begins: version 2 states its size, version 1 has up to 5,100 bytes."""
    reach = 5120
    if tail[-9:] == b"LYRICS200":
        reach = _REACH
        begin = end - 15 - int(tail[-15:-9]) if re.fullmatch(rb"[0-9]{6}", tail[-15:-9]) else -1
        if begin >= start and at(stream, begin, 11) == b"LYRICSBEGIN":
            return begin
    return _found(stream, max(start, end - reach), end, b"LYRICSBEGIN", last=True)


def _id3_before(stream: BinaryIO, start: int, zeros: int, end: int) -> Span | None:
    """The ID3v2 tag that by its own size ends between `zeros` and `end`: appended without a footer to find it by."""
    first = max(start, zeros - _REACH)
    data = at(stream, first, zeros - first)
    offset = len(data)
    for _ in range(_TRIES):
        offset = data.rfind(b"ID3", 0, offset)
        if offset < 0:
            break
        size = id3_size(at(stream, first + offset, 10))
        if size and zeros <= first + offset + size <= end:
            return tag_at(stream, first + offset, end)
    return None


def _tag_before_zeros(stream: BinaryIO, start: int, end: int, after: list[Span]) -> Span | None:
    """The tag that only zeros part from `end`; it may end in zeros itself."""
    first = end  # of the zeros
    while first > start and end - first < JUNK_LIMIT:
        block = at(stream, max(start, first - _BLOCK), min(_BLOCK, first - start)).rstrip(b"\x00")
        first = max(start, first - _BLOCK) + len(block)
        if block:
            break
    window = max(start, first - max(length for _, length in _ENDS))
    data = at(stream, window, first - window)
    for magic, length in _ENDS:
        begin = data.rfind(magic)
        stop = window + begin + length
        if begin >= 0 and first <= stop < end and (span := _tag_before(stream, start, stop, after)):
            return span
    return _id3_before(stream, start, first, end) if first < end else None


def _syncsafe(four: bytes) -> int:
    return four[0] << 21 | four[1] << 14 | four[2] << 7 | four[3]


# --- chunks (RIFF, AIFF, CAF, W64) -----------------------------------------------------------------------------------


class Chunk(NamedTuple):
    """A chunk: its ID and where its body lies."""

    id: bytes
    start: int
    end: int


class Layout(NamedTuple):
    """How chunks lie in a file: the bytes of an ID and of a size, what lengths are rounded up to, and whether the size
    counts the header, too."""

    id: int = 4
    size: int = 4
    align: int = 2
    whole: bool = False


IFF = Layout()
"""The layout of RIFF and AIFF."""


def chunks(
    stream: BinaryIO,
    start: int,
    end: int,
    order: Literal["big", "little"],
    open_sizes: tuple[int, ...] = (),
    long_size: int | None = None,
    *,
    layout: Layout = IFF,
    known: frozenset[bytes] | None = None,
) -> Iterator[Chunk]:
    """The chunks between `start` and `end`; bytes after the last one that begin no chunk come as a chunk without ID.

    A sample chunk (`data`, `SSND`) of a size in `open_sizes` goes on to `end`, as when its writer could not come back
    to fill in the size; `long_size` is the size of a `data` chunk that says 0xFFFFFFFF.
    Raises Unreadable where a chunk does not end by `end` (with `known`: one of these IDs; others begin no chunk then),
    or there are more than CHUNK_LIMIT.
    """
    width = layout.id + layout.size
    for _ in range(CHUNK_LIMIT):
        head = at(stream, start, min(width, end - start))
        if not head:
            return
        kind = head[: layout.id]
        size = int.from_bytes(head[layout.id :], order) - (width if layout.whole else 0)
        if len(head) < width or size < 0 or (layout.id == 4 and not _printable(kind)):
            yield Chunk(b"", start, end)
            return
        body = start + width
        if kind[:4] in (b"data", b"SSND"):
            if long_size is not None and size == 0xFFFFFFFF:
                size = long_size
            elif size in open_sizes and body + size != end:
                size = end - body
        if body + size > end:
            if known is not None and kind not in known:
                yield Chunk(b"", start, end)
                return
            name = kind[:4].decode("ascii", "replace").strip()
            raise cut(f"its chunk {name} at byte {start:,} needs {body + size:,} bytes, {end:,} are there")
        yield Chunk(kind, body, body + size)
        start = body + size + -size % layout.align  # pad bytes follow
    raise damaged(f"more than {CHUNK_LIMIT:,} chunks in it")


def _printable(kind: bytes) -> bool:
    return kind.isascii() and kind.decode("ascii").isprintable()


# --- frames one after the other (MPEG audio, ADTS, AC-3) -------------------------------------------------------------


class Frame(NamedTuple):
    """A frame header: the length of its frame in bytes and what does not change within a stream."""

    length: int
    fixed: int


Parse = Callable[[bytes], Frame | None]
"""Reads a frame header."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What a frame walk saw: where the whole frames start and end, and the tags in between.

    `partial` is the last frame where it does not end within the body.
    """

    starts: array[int]
    ends: array[int]
    tags: tuple[Span, ...]
    partial: Span | None

    @property
    def frames(self) -> list[tuple[int, int]]:
        """Where each frame starts and ends."""
        return list(zip(self.starts, self.ends, strict=True))


def walk_frames(
    data: bytes,
    start: int,
    header: int,
    sync: re.Pattern[bytes],
    parse: Parse,
    key: Callable[[bytes, int], Hashable] | None = None,
) -> Walk:
    """Walk over frames that each say how long they are, from `start` to the end of `data`; find them again after tags
    and other bytes in between.

    `header` is the number of bytes `parse` needs, `sync` finds where a frame or a tag may begin.  `key` is what `parse`
    heeds of a header at a place: by default all of it.
    Raises Unreadable when more than JUNK_LIMIT bytes belong to no frame, or in more than GLUED_LIMIT places.
    """
    end, fixed = len(data), -1
    key = key or (lambda data, offset: data[offset : offset + header])
    starts, ends = array("q"), array("q")
    runs: list[tuple[int, int]] = []  # frames that are alike: what is fixed in them, and which is the first of them
    lengths: dict[Hashable, int] = {}  # of frames like those of the last run
    tags: list[Span] = []
    gaps = passed = 0
    offset = start
    while offset < end:
        alike: list[int] = []
        with contextlib.suppress(KeyError):
            while True:  # so with nearly all frames
                length = lengths[key(data, offset)]
                alike.append(offset)
                offset += length
        if alike:
            starts.fromlist(alike)
            ends.fromlist(alike[1:])
            ends.append(offset)
        if offset >= end:
            break
        frame = parse(data[offset : offset + header])
        if frame is not None and (frame.fixed == fixed or _follows(data, offset + frame.length, header, parse, frame)):
            if frame.fixed != fixed:
                if runs and len(starts) == runs[-1][1] + 1:  # one alone that was taken for what came behind it
                    runs.pop()
                    starts.pop()
                    ends.pop()
                if not runs or runs[-1][0] != frame.fixed:
                    runs.append((frame.fixed, len(starts)))
                fixed = frame.fixed
                lengths.clear()
            lengths[key(data, offset)] = frame.length
        elif (span := _tag_between(data, offset, header, parse)) is not None:
            tags.append(span)
            offset = span.end
            _limit(tags)
        else:
            found = _resync(data, offset + 1, min(end, offset + JUNK_LIMIT + 1), header, sync, parse)
            passed += found - offset
            gaps += 1
            if passed > JUNK_LIMIT:
                raise damaged(f"more than {JUNK_LIMIT:,} bytes before byte {found:,} belong to no frame")
            if gaps > GLUED_LIMIT:
                raise damaged(f"more than {GLUED_LIMIT:,} gaps between its frames")
            offset = found
    partial = Span("frame", starts.pop(), ends.pop()) if offset > end else None
    return Walk(starts, ends, tuple(tags), partial)


def _tag_between(data: bytes, offset: int, header: int, parse: Parse) -> Span | None:
    """The tag at `offset`, if a frame, a tag or the end follows it: its size may be wrong."""
    stream = io.BytesIO(data)  # shares the bytes
    span = tag_at(stream, offset, len(data))
    if span is None or span.end == len(data) or parse(data[span.end : span.end + header]):
        return span
    return span if tag_at(stream, span.end, len(data)) else None


def _follows(data: bytes, offset: int, header: int, parse: Parse, before: Frame) -> bool:
    """Does what stands at `offset` confirm that the frame before it is one?"""
    if offset >= len(data):
        return offset == len(data)
    frame = parse(data[offset : offset + header])
    return (frame is not None and frame.fixed == before.fixed) or tag_at(
        io.BytesIO(data), offset, len(data)
    ) is not None


def _resync(data: bytes, start: int, stop: int, header: int, sync: re.Pattern[bytes], parse: Parse) -> int:
    """Where from `start` on a frame or a tag begins, `stop` if none does before."""
    for match in sync.finditer(data, start):
        offset = match.start()
        if offset >= stop:
            break
        frame = parse(data[offset : offset + header])
        if frame and offset + frame.length <= len(data):
            if _follows(data, offset + frame.length, header, parse, frame):
                return offset
        elif not frame and _tag_between(data, offset, header, parse):
            return offset
    return stop


def begins_with_frames(
    head: bytes,
    header: int,
    sync: re.Pattern[bytes],
    parse: Callable[[bytes], Frame | None],
    chain: int,
    others: re.Pattern[bytes],
) -> bool:
    """Whether a file begins, after tags, with two frames that fit together; or, unless it begins as one of `others`,
    with `chain` of them after a few other bytes.

    `header`, `sync` and `parse` are those of `walk_frames`; of a second frame beyond `head` the first one is believed.
    """
    body = head[after_id3(head) :]
    frame = parse(body[:header])
    if frame is None:
        return others.match(head) is None and _has_chain(body, header, sync, parse, chain)
    rest = body[frame.length :]
    following = parse(rest[:header])
    if following is not None:
        return following.fixed == frame.fixed
    hidden = frame.length > len(body) - header and len(head) >= 4096
    return hidden or len(body) == frame.length or rest[:3] in (b"TAG", b"ID3") or rest[:8] == b"APETAGEX"


def _has_chain(
    body: bytes, header: int, sync: re.Pattern[bytes], parse: Callable[[bytes], Frame | None], chain: int
) -> bool:
    for match in sync.finditer(body, 0, _JUNK_BEFORE):
        offset, fixed, count = match.start(), -1, 0
        while (frame := parse(body[offset : offset + header])) and fixed in (-1, frame.fixed):
            offset, fixed, count = offset + frame.length, frame.fixed, count + 1
        if count >= chain:
            return True
    return False


def runs(starts: Sequence[int], ends: Sequence[int]) -> tuple[list[int], list[int]]:
    """Where frames begin that follow each other without a gap, and where these runs end; of one frame at least."""
    import numpy as np

    first, last = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    apart = np.flatnonzero(first[1:] != last[:-1])
    return first[np.append(0, apart + 1)].tolist(), last[np.append(apart, -1)].tolist()


def frame_parts(
    name: str,
    data: bytes,
    starts: Sequence[int],
    ends: Sequence[int],
    clean: bytearray | None,
    dropped: Sequence[tuple[int, int]] = (),
) -> Iterator[Part]:
    """Frames as parts: those that follow each other as one.

    `clean` is the data with the frames as the clean file has them, None where they are so already; it has not what is
    `dropped`, which ascends.
    """
    for start, end in zip(*runs(starts, ends), strict=True):
        if clean is None:
            yield Part("payload", name, start, end)
            continue
        edges = [start]
        for span in dropped[bisect_left(dropped, (start,)) : bisect_left(dropped, (end,))]:
            edges += span
        edges.append(end)
        pieces = zip(edges[::2], edges[1::2], strict=True)
        made = b"".join([memoryview(clean)[begin:stop] for begin, stop in pieces])
        same = len(edges) == 2 and data.startswith(made, start)
        yield Part("payload", name, start, end, None if same else made)


class Bits:
    """The bits of a block, read one after the other; they can be replaced behind where it stands."""

    def __init__(self, block: bytes) -> None:
        self.count = 8 * len(block)
        self.number = int.from_bytes(block, "big")
        self.position = 0

    def take(self, count: int) -> int:
        """The next `count` bits; what lies beyond the end reads as zeros."""
        value = self.peek(count)
        self.position += count
        return value

    def peek(self, count: int) -> int:
        """The next `count` bits, without passing over them."""
        left = self.count - self.position - count
        return (self.number >> left if left >= 0 else self.number << -left) & (1 << count) - 1

    def put(self, value: int, count: int) -> None:
        """Replace the next `count` bits, if they are there, and pass over them."""
        left = self.count - self.position - count
        if left >= 0:
            self.number ^= (self.peek(count) ^ value) << left
        self.position += count

    def align(self) -> None:
        """Pass over what is left of a byte."""
        self.position += -self.position % 8
