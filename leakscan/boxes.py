"""Boxes of the ISO base media file format as bytes: sample tables read and written, and a file's header made anew.

Sources: ISO/IEC 14496-12 sections 4.2 (boxes), 8.2 to 8.4 and 8.6.6 (moov), 8.6.1 (stts, ctts), 8.7.3 to 8.7.5 (stsz,
stz2, stsc, stco, co64), 12.2 (sound).
Tables are held in arrays, as they may have a row for every few milliseconds of sound.
All raise ValueError, with a text that goes on from "damaged: ", where a table is shorter than it says or its rows
cannot be.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from leakscan.frames import Frames

Words = Sequence[int]


def make(kind: bytes, *parts: bytes) -> bytes:
    """A box with a size of 32 bits."""
    body = b"".join(parts)
    return (len(body) + 8).to_bytes(4, "big") + kind + body


def full(kind: bytes, *parts: bytes, version: int = 0, flags: int = 0) -> bytes:
    """A box with a version and flags."""
    return make(kind, bytes([version]), flags.to_bytes(3, "big"), *parts)


def number(data: bytes, offset: int, count: int = 4) -> int:
    """The unsigned number in `count` bytes at `offset`."""
    if offset + count > len(data):
        raise ValueError("a box in its header is shorter than it has to be")
    return int.from_bytes(data[offset : offset + count], "big")


def signed(value: int, bits: int = 32) -> int:
    """An unsigned number read as two's complement."""
    return value - (1 << bits) if value >> (bits - 1) else value


def words(data: bytes, offset: int, count: int, code: str = "I") -> array[int]:
    """`count` numbers of 16 (`H`), 32 (`I`) or 64 (`Q`) bits at `offset`."""
    found = array(code)
    if offset + count * found.itemsize > len(data):
        raise ValueError("a table in its header is shorter than it says")
    found.frombytes(data[offset : offset + count * found.itemsize])
    if sys.byteorder == "little":
        found.byteswap()
    return found


def packed(numbers: Words, code: str = "I") -> bytes:
    """Numbers as `words` reads them."""
    found = array(code, numbers)
    if sys.byteorder == "little":
        found.byteswap()
    return found.tobytes()


def rows(body: bytes, width: int, code: str = "I") -> tuple[array[int], int]:
    """The numbers of a table (version and flags, a count, rows of `width` numbers), and how long it is in bytes."""
    found = words(body, 8, number(body, 4) * width, code)
    return found, 8 + len(found) * found.itemsize


# --- sample tables ---------------------------------------------------------------------------------------------------


class Samples(NamedTuple):
    """The samples of a track: what the tables say, in arrays that fragments append to.

    `durations` and `shifts` (composition offsets) are rows of a count and a value; `size` is that of every sample,
    or 0 where `sizes` has one for each.  A chunk has an offset in the file, a count of samples and the number of its
    sample entry.
    """

    durations: array[int]
    shifts: array[int]
    size: int
    sizes: array[int]
    offsets: array[int]
    counts: array[int]
    entries: array[int]

    @property
    def total(self) -> int:
        """How many samples there are."""
        return sum(self.counts)


def sizes(body: bytes) -> tuple[int, array[int], int, int]:
    """What `stsz` says: the size of all samples or 0, their sizes one by one, their count, and its length in bytes."""
    size, count = number(body, 4), number(body, 8)
    found = array("I") if size else words(body, 12, count)
    return size, found, count, 12 + 4 * len(found)


def compact_sizes(body: bytes) -> tuple[int, array[int], int, int]:
    """What `stz2` says, in the same form."""
    width, count = number(body, 7, 1), number(body, 8)
    if width == 16:
        found: Words = words(body, 12, count, "H")
    elif width in (4, 8):
        packs = body[12 : 12 + (count * width + 7) // 8]
        found = packs if width == 8 else [half for both in packs for half in (both >> 4, both & 15)][:count]
    else:
        raise ValueError("the sizes of its samples are of no known width")
    if len(found) < count:
        raise ValueError("a table in its header is shorter than it says")
    return 0, array("I", list(found)), count, 12 + (count * width + 7) // 8


def samples(
    durations: Words, shifts: Words, sized: tuple[int, array[int], int, int], alike: Words, offsets: Words
) -> Samples:
    """The samples from the rows of `stts`, `ctts`, `stsz` or `stz2`, `stsc`, and `stco` or `co64`.

    The last chunk may promise more samples than there are; other disagreement is an error.
    """
    size, each, count, _ = sized
    counts, entries = array("I"), array("I")
    for index in range(0, len(alike), 3):
        first, per_chunk, entry = alike[index : index + 3]
        end = alike[index + 3] - 1 if index + 3 < len(alike) else len(offsets)
        if first != len(counts) + 1 or not first <= end <= len(offsets) or not per_chunk:
            raise ValueError("its chunks and samples do not fit each other")
        counts.extend(array("I", (per_chunk,)) * (end + 1 - first))
        entries.extend(array("I", (entry,)) * (end + 1 - first))
    surplus = sum(counts) - count
    if len(counts) < len(offsets) or surplus < 0 or (surplus and surplus >= counts[-1]):
        raise ValueError("its chunks and samples do not fit each other")
    if surplus:
        counts[-1] -= surplus
    shifts = _fitted(shifts, count) if any(shifts[1::2]) else ()
    return Samples(
        array("I", _fitted(durations, count)),
        array("I", shifts),
        size if count else 0,
        each,
        array("Q", offsets),
        counts,
        entries,
    )


def _fitted(durations: Words, count: int) -> Words:
    """Rows of a count and a value for exactly `count` samples."""
    total = sum(durations[::2])
    if total < count:
        raise ValueError("some of its samples have no time")
    fitted = array("I", durations)
    while total > count:
        spare = min(fitted[-2], total - count)
        fitted[-2] -= spare
        total -= spare
        if not fitted[-2]:
            del fitted[-2:]
    return fitted


def spread(found: Samples, offsets: Words) -> bytes:
    """The sample tables as a track has them, its chunks moved to `offsets`; the shortest form of each."""
    wide = bool(offsets) and max(offsets) >= 1 << 32
    tables = [_table(b"stts", 2, runs(found.durations))]
    if any(found.shifts[1::2]):
        negative = max(found.shifts[1::2]) >> 31
        tables.append(_table(b"ctts", 2, runs(found.shifts), version=negative))
    alike = array("I")
    for index, pair in enumerate(zip(found.counts, found.entries, strict=True), 1):
        if not alike or pair != (alike[-2], alike[-1]):
            alike.extend((index, *pair))
    tables.append(_table(b"stsc", 3, alike))
    size, each = found.size, found.sizes
    if not size and each and each[-1] == each[0] == each[len(each) // 2] and each.count(each[0]) == len(each):
        size, each = each[0], array("I")
    if not size:
        tables.append(full(b"stsz", bytes(4), len(each).to_bytes(4, "big"), packed(each)))
    else:
        tables.append(full(b"stsz", size.to_bytes(4, "big"), found.total.to_bytes(4, "big")))
    tables.append(_table(b"co64" if wide else b"stco", 1, offsets, "Q" if wide else "I"))
    return b"".join(tables)


def _table(kind: bytes, width: int, numbers: Words, code: str = "I", version: int = 0) -> bytes:
    return full(kind, (len(numbers) // width).to_bytes(4, "big"), packed(numbers, code), version=version)


def runs(pairs: Words) -> array[int]:
    """Rows of a count and a value, with neighbours of one value joined."""
    joined = array("I")
    for count, value in zip(pairs[::2], pairs[1::2], strict=True):
        if count and joined and joined[-1] == value:
            joined[-2] += count
        elif count:
            joined.extend((count, value))
    return joined


# --- the header of a file --------------------------------------------------------------------------------------------

MATRIX = b"".join(value.to_bytes(4, "big") for value in (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30))
"""The matrix that moves nothing: of pictures, but each track has one."""


class Edit(NamedTuple):
    """An entry of an edit list: how long it lasts (movie time), where it begins (media time; -1: nowhere), its rate."""

    duration: int
    time: int
    rate: int = 1 << 16


class Coding(NamedTuple):
    """A sample entry: its canonical bytes, how many bytes so many frames of constant size have, and what looks into
    frames of it."""

    box: bytes
    size: int = 0
    frames: int = 1
    looker: Frames | None = None


@dataclass(frozen=True, slots=True)
class Track:
    """A sound track: what a decoder needs of it."""

    id: int
    enabled: bool
    group: int
    """Tracks of one group are alternatives to each other; 0 is none."""
    timescale: int
    quicktime: bool
    """Is its handler of the form that QuickTime wants?"""
    version: int
    """Of the table of codings: it tells QuickTime's forms of a sample entry from the standard's."""
    codings: tuple[Coding, ...]
    samples: Samples
    edits: tuple[Edit, ...]
    tables: bytes
    """Boxes that say where decoding may begin: sync samples, how far before a point to start."""

    @property
    def duration(self) -> int:
        """In its timescale."""
        rows = self.samples.durations
        return sum(count * each for count, each in zip(rows[::2], rows[1::2], strict=True))


@dataclass(frozen=True, slots=True)
class Movie:
    """The header: its timescale, the sound tracks, and by track what fragments leave out (entry, duration, size)."""

    timescale: int
    tracks: tuple[Track, ...]
    defaults: dict[int, tuple[int, int, int]]


def header(movie: Movie, offsets: Sequence[array[int]], size: int, quicktime: bool) -> bytes:
    """All of the clean file that comes before its samples, of which there are `size` bytes; `offsets` of the chunks."""
    brand = b"qt  " if quicktime else b"M4A "
    ftyp = make(b"ftyp", brand, bytes(4), brand if quicktime else b"M4A isommp42")
    mdat = make(b"mdat") if size + 8 < 1 << 32 else b"\0\0\0\1mdat" + (size + 16).to_bytes(8, "big")
    if len(mdat) == 8:
        mdat = (size + 8).to_bytes(4, "big") + mdat[4:]
    base, moov = -1, b""
    while base != len(ftyp) + len(moov) + len(mdat):  # offsets take more bytes where they are large
        base = len(ftyp) + len(moov) + len(mdat)
        moov = _moov(movie, [array("Q", (base + offset for offset in track)) for track in offsets])
    return ftyp + moov + mdat


def _moov(movie: Movie, offsets: Sequence[array[int]]) -> bytes:
    edited = any(track.edits for track in movie.tracks)
    timescale = movie.timescale if edited else movie.tracks[0].timescale
    groups = sorted({track.group for track in movie.tracks} - {0})
    traks = []
    longest = 0
    for index, (track, moved) in enumerate(zip(movie.tracks, offsets, strict=True), 1):
        duration = sum(edit.duration for edit in track.edits) or -(-track.duration * timescale // track.timescale)
        longest = max(longest, duration)
        group = groups.index(track.group) + 1 if track.group else 0
        traks.append(_trak(track, moved, index, duration, group))
    tail = b"\0\1\0\0\1\0" + bytes(10) + MATRIX + bytes(24) + (len(traks) + 1).to_bytes(4, "big")
    return make(b"moov", _timed(b"mvhd", timescale.to_bytes(4, "big"), longest, tail), *traks)


def _timed(kind: bytes, before: bytes, duration: int, after: bytes, flags: int = 0) -> bytes:
    """A box that holds two times and a duration, of 64 bits if need be; the times are 0."""
    wide = duration >= 1 << 32
    width = 8 if wide else 4
    return full(kind, bytes(2 * width), before, duration.to_bytes(width, "big"), after, version=int(wide), flags=flags)


def _trak(track: Track, offsets: array[int], index: int, duration: int, group: int) -> bytes:
    rest = bytes(10) + group.to_bytes(2, "big") + b"\1\0\0\0" + MATRIX + bytes(8)
    tkhd = _timed(b"tkhd", index.to_bytes(4, "big") + bytes(4), duration, rest, flags=6 | track.enabled)
    edts = b""
    if track.edits:
        wide = any(edit.duration >= 1 << 32 or edit.time >= 1 << 31 for edit in track.edits)
        width = 8 if wide else 4
        table = b"".join(
            edit.duration.to_bytes(width, "big")
            + edit.time.to_bytes(width, "big", signed=True)
            + edit.rate.to_bytes(4, "big")
            for edit in track.edits
        )
        edts = make(b"edts", full(b"elst", len(track.edits).to_bytes(4, "big"), table, version=int(wide)))
    mdhd = _timed(b"mdhd", track.timescale.to_bytes(4, "big"), track.duration, b"\x55\xc4\0\0")
    hdlr = full(b"hdlr", b"mhlr" if track.quicktime else bytes(4), b"soun", bytes(13))
    dinf = make(b"dinf", full(b"dref", b"\0\0\0\1", full(b"url ", flags=1)))
    boxes = [coding.box for coding in track.codings]
    stsd = full(b"stsd", len(boxes).to_bytes(4, "big"), *boxes, version=track.version)
    stbl = make(b"stbl", stsd, spread(track.samples, offsets), track.tables)
    return make(b"trak", tkhd, edts, make(b"mdia", mdhd, hdlr, make(b"minf", full(b"smhd", bytes(4)), dinf, stbl)))
