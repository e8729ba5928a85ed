"""MP4, M4A, ALAC and QuickTime audio, in one piece or in fragments: `.m4a`, `.mp4`, `.mov`.

The clean file has one form: `ftyp`, a `moov` made anew from what a decoder needs, and one `mdat` with the samples of
the sound tracks in their order.  Fragments become sample tables, and the gapless numbers that iTunes writes into a tag
an edit list.  Not looked at: text inside the frames of other codings than AAC, and behind the sound of AAC frames.
Sources: ISO/IEC 14496-12 sections 4.2 (boxes), 8.2 to 8.10 (moov and what is in it), 8.8 (fragments), 12.2 (sound),
the QuickTime File Format (user data, sound sample descriptions), ISO/IEC 14496-14 section 3.1.2 (esds), 3GPP TS 26.244
section 8 (texts in user data).
"""

from __future__ import annotations

import hashlib
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import BinaryIO, NamedTuple

from leakscan import decoders, ledgers
from leakscan.blocks import at, cut, damaged, glued, id3_size, peel, size_of
from leakscan.boxes import (
    MATRIX,
    Coding,
    Edit,
    Movie,
    Samples,
    Track,
    compact_sizes,
    full,
    header,
    make,
    number,
    packed,
    rows,
    runs,
    samples,
    signed,
    sizes,
    words,
)
from leakscan.decoders import field
from leakscan.fills import STARTS, blanked
from leakscan.model import Entry, Item, Ledger, Part, Unreadable
from leakscan.tags import read_tags

AUDIO = True
NAMES = (".m4a", ".mp4", ".m4b", ".m4r", ".alac", ".mov", ".3gp")

_IMAGES = (b"avif", b"avis", b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"crx ")  # brands of still pictures
_OPENING = (b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")  # what QuickTime files without ftyp begin with
_FREE = (b"free", b"skip", b"wide")
_TOP = (b"ftyp", b"moov", b"mdat", b"moof", b"mfra", b"sidx", b"ssix", b"styp", b"emsg", b"prft", b"meta", b"uuid")
_KNOWN = (*_TOP, *_FREE, b"udta", b"pdin", b"pnot", b"PICT", b"bloc")  # a box of another kind that is cut is no box
_BOXES = 200_000  # in one box or at the top; an hour in fragments of one second has 7,200
_CHUNKS = 2_000_000  # of samples; ten hours with one for each frame
_EDITS = 1_000  # of one track
_PIECES = 400_000  # of sound between bytes of something else; three hours of film have as many frames


_EARLY = re.compile(b"[%b]" % b"".join(b"\\x%02x" % byte for byte in range(256) if byte >> 5 in STARTS))
"""The first byte of an AAC frame that begins with an element in which an encoder may have written something."""


class _Box(NamedTuple):
    kind: bytes
    start: int
    body: int
    end: int


def sniff(head: bytes) -> bool:
    """A first box `ftyp` that names no still picture, or one that QuickTime files without `ftyp` begin with."""
    kind = head[4:8]
    if kind == b"ftyp":
        return head[8:12] not in _IMAGES
    return kind in _OPENING and (head[0] < 0x20 and int.from_bytes(head[:4], "big") not in range(2, 8))


def read(entry: Entry) -> Iterator[Item]:
    """What an MP4 file says beside its sound.  Raises Unreadable where it is cut, no MP4, or not supported."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Account for every byte.  Raises Unreadable, without a path, where it is cut, no MP4, or not supported."""
    try:
        return _account(_Walk(stream))
    except OverflowError as error:  # from arrays and bytes that are made of numbers in the file
        raise damaged("a number in its header is too large") from error
    except ValueError as error:  # from what takes boxes apart as bytes
        raise damaged(str(error)) from error


def _cut(box: _Box, end: int) -> Unreadable:
    name = box.kind.decode("ascii") if box.kind.isalnum() else "of no known type"
    return cut(f"its box {name} at byte {box.start:,} needs {box.end:,} bytes, {end:,} are there")


# --- walking over boxes ----------------------------------------------------------------------------------------------


_TEXTS = {
    **dict.fromkeys((b"titl", b"auth", b"perf", b"gnre", b"dscp", b"cprt", b"albm"), 6),
    **{
        b"\xa9" + kind: 4 for kind in b"nam ART alb day cmt gen wrt cpy too swr enc xyz inf key lyr req fmt mak".split()
    },
    b"name": 0,
}
"""Boxes in user data that hold one text, and how many bytes stand before it."""

_ORDER_MARKS = (b"\xfe\xff", b"\xff\xfe")  # of UTF-16


class _Walk:
    """Takes a file apart box by box and notes what its bytes are."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.parts: list[Part] = []

    def boxes(self, start: int, end: int) -> Iterator[_Box]:
        """The boxes between `start` and `end`.  Raises Unreadable where one does not end within."""
        for box in self._boxes(start, end, end):
            if box.end > end:
                raise _cut(box, end)
            yield box

    def _boxes(self, start: int, end: int, open_end: int) -> Iterator[_Box]:
        """The boxes from `start` on, the last of which may reach beyond `end`; one without a size is to `open_end`."""
        count = 0
        while end - start >= 8:
            count += 1
            if count > _BOXES:
                raise damaged(f"more than {_BOXES:,} boxes in one")
            head = at(self.stream, start, min(16, end - start))
            size, kind, body = int.from_bytes(head[:4], "big"), head[4:8], start + 8
            if size == 1:
                size, body = int.from_bytes(head[8:16], "big"), start + 16
            elif size == 0:
                size = open_end - start
            if not head[:8].strip(b"\x00"):
                return  # zeros to fill up, as the end of a user data list has
            yield _Box(kind, start, body, start + size if size >= body - start else end + 1)
            start += size

    def top(self) -> Iterator[_Box]:
        """The boxes of the file, up to bytes that are none; notes tags glued to it.

        Raises Unreadable where a box does not end within the file, or within a tag.
        """
        peeled = peel(self.stream)
        end, reached = size_of(self.stream), 0
        for box in self._boxes(peeled.start, end, peeled.end):
            if box.end > end and box.kind not in _KNOWN:
                break
            if box.end > peeled.end and (box.end != end or box.kind == b"mdat"):
                raise _cut(box, peeled.end)
            reached = box.end
            yield box
        tags = tuple(tag for tag in peeled.tags if tag.end <= peeled.start or tag.start >= reached)
        self.parts.extend(glued("mp4", peeled._replace(tags=tags)))  # others end the last box only by chance

    def body(self, box: _Box) -> bytes:
        return at(self.stream, box.body, box.end - box.body)

    def header(self, start: int, end: int) -> None:
        """Note bytes that a decoder needs and finds in the header of the clean file."""
        self.parts.append(Part("structure", "mp4.header", start, end, b""))

    def known(self, box: _Box, length: int, odd: Iterable[Part] = ()) -> None:
        """Note a box of which `length` bytes of the body are understood; `odd` in it count from there."""
        offset, end = box.start, min(box.body + length, box.end)
        for part in sorted(odd, key=lambda part: part.start):
            start = box.body + part.start
            self.header(offset, start)
            offset = box.body + part.end
            self.parts.append(part._replace(name=f"mp4.{part.name}", start=start, end=offset))
        self.header(offset, max(offset, end))

    def children(self, parent: _Box, *allowed: bytes, start: int = 0) -> dict[bytes, list[_Box]]:
        """The boxes in another one, from `start` of its body on; those not `allowed` are noted as extras."""
        self.header(parent.start, parent.body + start)
        found: dict[bytes, list[_Box]] = {}
        for box in self.boxes(parent.body + start, parent.end):
            if box.kind in allowed:
                found.setdefault(box.kind, []).append(box)
            else:
                self.extra(box)
        return found

    def extra(self, box: _Box, parent: bytes = b"") -> None:
        """Note a box that no decoder needs; lists of tags are opened, as deep as writers nest them."""
        head = at(self.stream, box.body, 64)
        if box.kind in _FREE:
            self.header(box.start, box.body)
            self.parts.append(ledgers.gap(self.stream, "mp4", box.body, box.end, "mp4.free"))
        elif (box.kind == b"udta" and not parent) or (box.kind == b"meta" and parent != b"meta" and b"mdir" in head):
            # QuickTime's `meta` has no version and flags
            start = box.body if box.kind == b"udta" or head[4:8] == b"hdlr" else box.body + 4
            self.header(box.start, start)
            for child in self.boxes(start, box.end):
                self.extra(child, box.kind)
        elif parent == b"meta" and box.kind == b"hdlr":
            self.known(box, box.end - box.body, _writer(self.body(box)))
        elif parent == b"meta" and box.kind == b"ilst":
            self.header(box.start, box.body)
            self.parts.append(Part("tag", "mp4.ilst", box.body, box.end, b"", "ilst"))
        elif parent == b"udta" and box.kind in _TEXTS and head[_TEXTS[box.kind] :][:2] not in _ORDER_MARKS:
            start = min(box.body + _TEXTS[box.kind], box.end)
            self.header(box.start, start)
            kind, name = ("encoder", "tool") if box.kind == b"\xa9swr" else ("tag", box.kind.decode("latin-1"))
            self.parts.append(Part(kind, f"mp4.{name}", start, box.end, b"", ledgers.STRING))
        elif box.kind == b"ID32" and id3_size(head[6:16]) == box.end - box.body - 6:
            self.header(box.start, box.body + 6)
            self.parts.append(Part("tag", "mp4.ID32", box.body + 6, box.end, b"", "id3"))
        elif parent == b"udta":
            self.parts.append(Part("tag", "mp4.udta", box.start, box.end, b""))
        elif box.kind == b"prft":
            self.parts.append(Part("date", "mp4.prft", box.start, box.end, b""))
        else:
            name = box.kind.decode("ascii") if box.kind in (b"uuid", b"meta", b"ID32", b"emsg", b"sidx") else "box"
            self.parts.append(Part("unknown", f"mp4.{name}", box.start, box.end, b""))


def _writer(body: bytes) -> list[Part]:
    """The parts of `hdlr` that say who wrote it: anything but the type of the handler."""
    odd = [] if body[4:8] in (b"mhlr", b"dhlr") else field("encoder", "handler", body, 4, 8)
    writer = body[12:].strip(b"\x00")
    return odd if writer in (b"", b"appl") else [*odd, Part("encoder", "handler", 12, len(body), b"")]


def _only(found: dict[bytes, list[_Box]], *kinds: bytes) -> list[_Box]:
    """One box of each kind.  Raises Unreadable where there are more or none."""
    for kind in kinds:
        if len(found.get(kind, ())) != 1:
            raise damaged(f"{len(found.get(kind, ()))} boxes {kind.decode('ascii').strip()} where one has to be")
    return [found[kind][0] for kind in kinds]


# --- the whole file --------------------------------------------------------------------------------------------------


_BRANDS = re.compile(
    rb"isom|iso[2-9a-c]|mp4[12v]|M4[ABPV] |qt  |3g[2egprs][4-9a-c]|dash|dsms|cmf[cs2]|avc1|f4[av] |F4[AV] |msdh|msix"
    rb"|lmsg|hlsf|MSNV|NDSC|mmp4|caac|caaa|Opus|dby1|\0\0\0\0"
)
_MINOR = (0, 1, 0x200, 0x20040600, 0x20050300)  # versions that writers put there unasked


def _account(walk: _Walk) -> Ledger:
    found: dict[bytes, list[_Box]] = {b"moov": [], b"moof": [], b"mdat": []}
    quicktime = True
    for box in walk.top():
        if box.kind == b"ftyp":
            body = walk.body(box)
            quicktime = body[:4] == b"qt  "
            walk.known(box, len(body), _brands(body))
        elif box.kind in found:
            found[box.kind].append(box)
        else:
            walk.extra(box)
    if not found[b"moov"]:
        raise cut("no moov box in it")
    movie = _movie(walk, *_only(found, b"moov"))
    if found[b"moof"]:
        fragments = _Fragments(walk, movie)
        for moof in found[b"moof"]:
            fragments.add(moof)
        movie = replace(movie, tracks=tuple(_in_one_piece(track, movie.timescale) for track in movie.tracks))
    movie = _gapless(walk, movie)
    for mdat in found[b"mdat"]:
        walk.header(mdat.start, mdat.body)
    masked = len(walk.parts)
    size, offsets = _payload(walk, movie, found[b"mdat"])
    bits = ("encoder.mp4.fill",) if any(part.clean is not None for part in walk.parts[masked:]) else ()
    start = header(movie, offsets, size, quicktime)
    walk.parts.append(Part("structure", "mp4.header", 0, 0, start))
    return ledgers.ledger(walk.stream, "mp4", walk.parts, _parameters(movie), bits)


def _brands(body: bytes) -> list[Part]:
    odd = [] if number(body, 4) in _MINOR else [Part("unknown", "minor-version", 4, 8, b"")]
    starts = (start for start in (0, *range(8, len(body), 4)) if not _BRANDS.fullmatch(body[start : start + 4]))
    return odd + [Part("unknown", "brand", start, min(start + 4, len(body)), b"") for start in starts]


def _parameters(movie: Movie) -> Iterator[tuple[str, str]]:
    for track in movie.tracks:
        yield "enabled", "yes" if track.enabled else "no"
        yield "timescale", str(track.timescale)
        yield "samples", str(track.samples.total)
        yield "length", str(track.duration)
        for edit in track.edits:
            yield "edit", f"{edit.duration}/{movie.timescale} from {edit.time} at {edit.rate / 65536:g}"
        for coding in track.codings:
            yield "decoder", hashlib.sha256(coding.box).hexdigest()


def _payload(walk: _Walk, movie: Movie, mdats: Sequence[_Box]) -> tuple[int, list[array[int]]]:
    """Note the samples; how many bytes they are, and for each track where its chunks lie among them.

    Raises Unreadable where they do not lie in one of `mdats`: then they are no samples.
    """
    each = [(track, _chunk_sizes(track)) for track in movie.tracks]
    offsets = array("Q")
    lengths = array("Q")
    for track, lengths_of in each:
        offsets.extend(track.samples.offsets)
        lengths.extend(lengths_of)
    if len(offsets) > _CHUNKS:
        raise damaged(f"more than {_CHUNKS:,} chunks in it")
    starts = [mdat.body for mdat in mdats]
    moved = array("Q", bytes(8 * len(offsets)))
    spans: list[list[int]] = []
    total = 0
    for index in sorted(range(len(offsets)), key=offsets.__getitem__):
        start, end = offsets[index], offsets[index] + lengths[index]
        moved[index] = total
        if start == end:
            continue
        holder = bisect_right(starts, start) - 1
        if holder < 0 or end > mdats[holder].end:
            raise damaged(f"its sample table reaches to bytes {start:,} to {end:,}, where no samples are")
        if spans and start < spans[-1][1]:
            raise damaged(f"bytes {start:,} to {min(end, spans[-1][1]):,} of it serve two purposes")
        total += end - start
        if spans and spans[-1][1] == start:
            spans[-1][1] = end
        else:
            spans.append([start, end])
    if len(spans) > _PIECES:
        raise damaged(f"more than {_PIECES:,} pieces of sound in it")
    masked = [span for track, lengths_of in each for span in _masked(walk, track, lengths_of)]
    walk.parts.extend(_cut_out(spans, sorted(masked)))
    bounds = [0]
    for track in movie.tracks:
        bounds.append(bounds[-1] + len(track.samples.offsets))
    return total, [moved[start:end] for start, end in pairwise(bounds)]


def _chunk_sizes(track: Track) -> array[int]:
    """The size of every chunk in bytes."""
    held = track.samples
    if not held.size:
        found = array("Q")
        index = 0
        for count in held.counts:
            found.append(sum(held.sizes[index : index + count]))
            index += count
        return found
    fixed = set(held.durations[1::2]) <= {1}  # then a sample is one value of each channel, whatever its size says
    per_entry = [(coding.size, coding.frames) if fixed and coding.size else (held.size, 1) for coding in track.codings]
    return array(
        "Q",
        (
            count * per_entry[entry - 1][0] // per_entry[entry - 1][1]
            for count, entry in zip(held.counts, held.entries, strict=True)
        ),
    )


def _masked(walk: _Walk, track: Track, lengths: array[int]) -> Iterator[tuple[int, int, bytes]]:
    """The AAC frames that begin with text of the encoder: where they lie, and their bytes without it."""
    held = track.samples
    if held.size or not any(coding.aac for coding in track.codings):
        return
    index = 0
    for offset, length, count, entry in zip(held.offsets, lengths, held.counts, held.entries, strict=True):
        if track.codings[entry - 1].aac:
            data = at(walk.stream, offset, length)
            starts = [*accumulate(held.sizes[index : index + count], initial=0)]
            begins = bytes(map((data + b"\0").__getitem__, starts))  # the first byte of each frame
            for found in _EARLY.finditer(begins, 0, count):
                start, end = starts[found.start() : found.start() + 2]
                frame = data[start:end]
                if (clean := blanked(frame)) is not frame:
                    yield offset + start, offset + end, clean
        index += count


def _cut_out(spans: Iterable[list[int]], masked: Iterable[tuple[int, int, bytes]]) -> Iterator[Part]:
    """Payload: the spans as they are, but for the `masked` frames in them."""
    waiting = iter(masked)
    frame = next(waiting, None)
    for start, end in spans:
        while frame is not None and frame[0] < end:
            yield Part("payload", "mp4.samples", start, frame[0])
            yield Part("payload", "mp4.samples", *frame)
            start = frame[1]
            frame = next(waiting, None)
        yield Part("payload", "mp4.samples", start, end)


# --- reading the header ----------------------------------------------------------------------------------------------

_LANGUAGES = (b"\x55\xc4", b"\x7f\xff")  # undetermined, unspecified; English in QuickTime's count is 0


def _movie(walk: _Walk, moov: _Box) -> Movie:
    found = walk.children(moov, b"mvhd", b"trak", b"mvex")
    (mvhd,) = _only(found, b"mvhd")
    body = walk.body(mvhd)
    timescale, end, odd = _times(body)
    odd += field("unknown", "mvhd", body, end, end + 76, b"\0\1\0\0\1\0" + bytes(10) + MATRIX + bytes(24))
    walk.known(mvhd, end + 80, odd)
    defaults = {}
    for mvex in found.get(b"mvex", ()):
        below = walk.children(mvex, b"trex", b"mehd")
        for box in below.get(b"mehd", ()):
            walk.known(box, 12)
        for box in below.get(b"trex", ()):
            body = walk.body(box)
            defaults[number(body, 4)] = (number(body, 8), number(body, 12), number(body, 16))
            walk.known(box, 24)
    tracks = []
    for trak in found.get(b"trak", ()):
        if _handler(walk, trak) == b"soun":
            tracks.append(_track(walk, trak))
        else:
            walk.parts.append(Part("unknown", "mp4.track", trak.start, trak.end, b""))
    if not tracks:
        raise Unreadable("holds no sound track; remove it from the release, or check by hand what it shows")
    return Movie(timescale, tuple(tracks), defaults)


def _times(body: bytes) -> tuple[int, int, list[Part]]:
    """Of `mvhd` or `mdhd`: the timescale, how far times and duration reach, and the dates in it."""
    width = 8 if number(body, 0, 1) == 1 else 4
    timescale = number(body, 4 + 2 * width)
    if not timescale:
        raise ValueError("its header has a timescale of 0")
    return timescale, 8 + 3 * width, field("date", "time", body, 4, 4 + 2 * width)


def _handler(walk: _Walk, trak: _Box) -> bytes:
    """The type of a track."""
    for mdia in walk.boxes(trak.body, trak.end):
        if mdia.kind == b"mdia":
            for box in walk.boxes(mdia.body, mdia.end):
                if box.kind == b"hdlr":
                    return at(walk.stream, box.body + 8, 4)
    return b""


def _track(walk: _Walk, trak: _Box) -> Track:
    found = walk.children(trak, b"tkhd", b"mdia", b"edts")
    tkhd, mdia = _only(found, b"tkhd", b"mdia")
    media = walk.children(mdia, b"mdhd", b"hdlr", b"minf")
    mdhd, hdlr, minf = _only(media, b"mdhd", b"hdlr", b"minf")
    inner = walk.children(minf, b"smhd", b"hdlr", b"dinf", b"stbl")
    dinf, stbl = _only(inner, b"dinf", b"stbl")

    body = walk.body(tkhd)
    width = 8 if number(body, 0, 1) == 1 else 4
    rest = 12 + 3 * width  # times, number, reserved, duration
    enabled, number_of, group = number(body, 3, 1) & 1, number(body, 4 + 2 * width), number(body, rest + 10, 2)
    odd = field("date", "time", body, 4, 4 + 2 * width)
    odd += field("unknown", "tkhd", body, 8 + 2 * width, 12 + 2 * width)
    odd += field("unknown", "tkhd", body, rest, rest + 10)
    odd += field("unknown", "tkhd", body, rest + 12, rest + 60, b"\1\0\0\0" + MATRIX + bytes(8))
    walk.known(tkhd, rest + 60, odd)

    body = walk.body(mdhd)
    timescale, end, odd = _times(body)
    if body[end : end + 2] not in _LANGUAGES:
        odd += field("tag", "language", body, end, end + 2)
    walk.known(mdhd, end + 4, odd + field("unknown", "mdhd", body, end + 2, end + 4))

    for box in (hdlr, *inner.get(b"hdlr", ())):
        body = walk.body(box)
        walk.known(box, len(body), _writer(body))
    for box in inner.get(b"smhd", ()):
        walk.known(box, 8, field("unknown", "smhd", walk.body(box), 4, 8))
    _references(walk, dinf)
    version, codings, held, tables = _tables(walk, stbl)
    edits = tuple(_edits(walk, *_only(found, b"edts"))) if b"edts" in found else ()
    quicktime = at(walk.stream, hdlr.body + 4, 4) == b"mhlr"
    return Track(number_of, bool(enabled), group, timescale, quicktime, version, codings, held, edits, tables)


def _references(walk: _Walk, dinf: _Box) -> None:
    """Raises Unreadable where the samples are in another file."""
    for dref in walk.children(dinf, b"dref").get(b"dref", ()):
        for box in (box for boxes in walk.children(dref, b"url ", b"alis", start=8).values() for box in boxes):
            body = walk.body(box)
            if not number(body, 3, 1) & 1:
                raise Unreadable("its sound is in another file; put both into one file, or remove it from the release")
            walk.known(box, 4, [Part("unknown", "dref", 4, len(body), b"")] if body[4:].strip(b"\x00") else [])


def _edits(walk: _Walk, edts: _Box) -> Iterator[Edit]:
    for elst in walk.children(edts, b"elst").get(b"elst", ()):
        body = walk.body(elst)
        wide = number(body, 0, 1) == 1
        width = 8 if wide else 4
        count = number(body, 4)
        end = 8 + count * (2 * width + 4)
        if end > len(body):
            raise ValueError("a table in its header is shorter than it says")
        if count > _EDITS:
            raise damaged(f"more than {_EDITS:,} edits in it")
        for start in range(8, end, 2 * width + 4):
            time = signed(number(body, start + width, width), 8 * width)
            yield Edit(number(body, start, width), time, number(body, start + 2 * width))
        walk.known(elst, end)


def _tables(walk: _Walk, stbl: _Box) -> tuple[int, tuple[Coding, ...], Samples, bytes]:
    """The codings with the version of their table, the samples, and the boxes that say where decoding may begin."""
    single = (b"stsd", b"stts", b"ctts", b"stsc", b"stsz", b"stz2", b"stco", b"co64", b"stss")
    found = walk.children(stbl, *single, b"sgpd", b"sbgp")
    for kinds in ((b"stsz", b"stz2"), (b"stco", b"co64")):
        if sum(len(found.get(kind, ())) for kind in kinds) != 1:
            raise damaged(f"not one box {kinds[0].decode()} or {kinds[1].decode()} where one has to be")
    stsd, stts, stsc = _only(found, b"stsd", b"stts", b"stsc")
    version = min(number(walk.body(stsd), 0, 1), 1)
    codings = tuple(_coding(walk, box, version) for box in _sample_entries(walk, stsd))

    def table(box: _Box, width: int, code: str = "I") -> array[int]:
        numbers, length = rows(walk.body(box), width, code)
        walk.known(box, length)
        return numbers

    for kind in (b"ctts", b"stss"):
        if kind in found:
            _only(found, kind)
    shifts = table(found[b"ctts"][0], 2) if b"ctts" in found else array("I")
    box, read_sizes = (found[b"stsz"][0], sizes) if b"stsz" in found else (found[b"stz2"][0], compact_sizes)
    sized = read_sizes(walk.body(box))
    walk.known(box, sized[-1])
    wide = b"co64" in found
    offsets = table(found[b"co64" if wide else b"stco"][0], 1, "Q" if wide else "I")
    held = samples(table(stts, 2), shifts, sized, table(stsc, 3), offsets)
    if any(not 1 <= entry <= len(codings) for entry in set(held.entries)):
        raise damaged("some of its samples are in a coding that its header does not describe")
    sync = table(found[b"stss"][0], 1) if b"stss" in found else array("I")
    beginnings = b""
    if sync and len(sync) < held.total and list(sync) == sorted(set(sync)) and 1 <= sync[0] <= sync[-1] <= held.total:
        beginnings = full(b"stss", len(sync).to_bytes(4, "big"), packed(sync))
    return version, codings, held, beginnings + _roll(walk, found, held.total)


def _roll(walk: _Walk, found: dict[bytes, list[_Box]], total: int) -> bytes:
    """The one sample group that is of use for sound: how many samples before a point decoding has to begin."""
    groups = found.get(b"sgpd", []), found.get(b"sbgp", [])
    if [len(boxes) for boxes in groups] == [1, 1]:
        group, members = (walk.body(boxes[0]) for boxes in groups)
        kind = group[4:8]
        usual = kind in (b"roll", b"prol") and group[:4] == b"\1\0\0\0" and group[8:16] == b"\0\0\0\2\0\0\0\1"
        if usual and len(group) == 18 and members[:8] == bytes(4) + kind:
            numbers, length = rows(members[4:], 2)
            table = runs(numbers)
            if table[1::2].tolist() in ([1], [0, 1]) and sum(table[::2]) == total:  # the first have none before them
                walk.known(groups[0][0], 18)
                walk.known(groups[1][0], 4 + length)
                sbgp = full(b"sbgp", kind, (len(table) // 2).to_bytes(4, "big"), packed(table))
                return full(b"sgpd", kind, group[8:], version=1) + sbgp
    for box in (*groups[0], *groups[1]):
        walk.extra(box)
    return b""


# --- sample entries --------------------------------------------------------------------------------------------------

_BITS = {b"in24": 24, b"in32": 32, b"fl32": 32, b"fl64": 64, b"ulaw": 8, b"alaw": 8}
_BITS_IN_ENTRY = (b"sowt", b"twos", b"raw ", b"lpcm", b"NONE", b"ipcm", b"fpcm")
_CODED = (b"mp4a", b"alac", b"fLaC", b"Opus", b".mp3", b"ac-3", b"ec-3", b"samr", b"sawb", b"ima4")
_CODINGS = (*_BITS, *_BITS_IN_ENTRY, *_CODED)
_ENCRYPTED = (b"drms", b"enca", b"drmi", b"aavd")
_VERBATIM = {b"dac3": 3, b"dec3": 7, b"enda": 2, b"pcmC": 6, b"srat": 8, b"frma": 4, b"chnl": 14, bytes(4): 0}
"""Boxes in sample entries that decoders need as they are, and how many bytes they may have."""


def _sample_entries(walk: _Walk, stsd: _Box) -> Iterator[_Box]:
    walk.header(stsd.start, stsd.body + 8)
    for box in walk.boxes(stsd.body + 8, stsd.end):
        if box.kind in _ENCRYPTED:
            raise Unreadable("its sound is encrypted; put a copy without protection in its place")
        if box.kind not in _CODINGS:
            raise Unreadable("its sound is in a coding that is not supported; convert it to one that is")
        yield box


def _coding(walk: _Walk, box: _Box, version_of_table: int) -> Coding:
    """A sample entry, of any version of QuickTime's or of the standard's."""
    body = walk.body(box)
    version, channels, bits = number(body, 8, 2), number(body, 16, 2), number(body, 18, 2)
    number(body, 24)
    if version > 2:
        raise ValueError("its sound is described in a form that is not known")
    long = {0: 28, 1: 44, 2: 64}[version] if not version_of_table else 28
    if len(body) < long:
        raise ValueError("a box in its header is shorter than it has to be")
    odd = field("unknown", "stsd", body, 0, 6) + field("encoder", "vendor", body, 10, 16)
    compressed = body[20:22] if body[20:22] in (b"\xff\xff", b"\xff\xfe") else bytes(2)
    odd += field("unknown", "stsd", body, 20, 22, compressed) + field("unknown", "stsd", body, 22, 24)
    fixed = bytes(6) + b"\0\1" + body[8:10] + bytes(6) + body[16:20] + compressed + bytes(2) + body[24:long]
    walk.known(box._replace(end=box.body + long), long, odd)
    start = box.body + long
    inner = b"".join(_inner(walk, child, box.kind) for child in walk.boxes(start, box.end))
    size, frames = 0, 1
    if box.kind in _BITS or box.kind in _BITS_IN_ENTRY:
        size = channels * _BITS.get(box.kind, bits) // 8
    elif box.kind == b"ima4":
        size, frames = 34 * channels, 64
    if long == 64:
        size = number(body, 56) if box.kind == b"lpcm" else 0
    elif long == 44 and box.kind not in _BITS and number(body, 36) and number(body, 28):
        size, frames = number(body, 36), number(body, 28)
    plain = b"esds" in inner and decoders.description(inner[inner.index(b"esds") + 4 :]).plain_aac
    return Coding(make(box.kind, fixed, inner), size, frames, plain)


def _inner(walk: _Walk, box: _Box, coding: bytes, inside: bool = False) -> bytes:
    """A box in a sample entry in its canonical form; nothing of one that decoders do not need.

    `inside` the box `wave`, in which QuickTime wraps them, `coding` stands once more.
    """
    body = walk.body(box)
    if box.kind == b"wave" and not inside:
        walk.header(box.start, box.body)
        return make(b"wave", *(_inner(walk, child, coding, True) for child in walk.boxes(box.body, box.end)))
    if box.kind == b"esds":
        found = decoders.description(body)
        walk.known(box, found.end, found.odd)
        return full(b"esds", found.made)
    if box.kind in (b"alac", b"dfLa"):
        clean, odd = (decoders.alac if box.kind == b"alac" else decoders.flac)(body[4:])
        walk.known(box, len(body), (part._replace(start=part.start + 4, end=part.end + 4) for part in odd))
        return full(box.kind, clean)
    if box.kind == b"dOps":
        clean, odd = decoders.opus(body, 10)
        walk.known(box, len(body), odd)
        return make(box.kind, clean)
    if box.kind == b"damr":
        walk.known(box, 9, field("encoder", "vendor", body, 0, 4))
        return make(box.kind, bytes(4), body[4:9])
    if box.kind == b"chan":
        end = 16 + 20 * number(body, 12)
        number(body, end, 0)
        walk.known(box, end)
        return make(box.kind, body[:end])
    if box.kind in _VERBATIM or (inside and box.kind == coding):
        end = _VERBATIM.get(box.kind, 0)
        walk.known(box, max(end, 4 if inside and box.kind == coding and not body[:4].strip(b"\x00") else 0))
        return make(box.kind, body[:end] if box.kind in _VERBATIM else bytes(4))
    if box.kind == b"btrt":
        walk.known(box, 12, field("encoder", "bitrate", body, 0, 12))
    elif box.kind == b"sinf":
        walk.parts.append(Part("tag", "mp4.sinf", box.start, box.end, b""))
    else:
        walk.extra(box)
    return b""


# --- fragments -------------------------------------------------------------------------------------------------------


class _Fragments:
    """Adds the samples of fragments to those of the tracks."""

    def __init__(self, walk: _Walk, movie: Movie) -> None:
        self.walk = walk
        self.tracks = {track.id: track for track in movie.tracks}
        self.defaults = movie.defaults
        self.left = size_of(walk.stream)  # no byte is in two samples; bounds what a small fragment may promise
        self.times = {track.id: track.duration for track in movie.tracks}
        self.begun: dict[int, int] = {}

    def add(self, moof: _Box) -> None:
        found = self.walk.children(moof, b"mfhd", b"traf")
        for box in found.get(b"mfhd", ()):
            self.walk.known(box, 8)
        end = moof.start
        for traf in found.get(b"traf", ()):
            end = self._track(traf, moof.start, end)

    def _track(self, traf: _Box, moof: int, end: int) -> int:
        """Add what a fragment has of one track; where its samples end."""
        found = self.walk.children(traf, b"tfhd", b"tfdt", b"trun")
        (tfhd,) = _only(found, b"tfhd")
        body = self.walk.body(tfhd)
        flags, track_id, offset = number(body, 1, 3), number(body, 4), 8
        base = moof if flags & 0x20000 else end
        if flags & 1:
            base, offset = number(body, offset, 8), offset + 8
        values = [*self.defaults.get(track_id, (1, 0, 0))]  # sample entry, duration, size
        for index, flag in enumerate((2, 8, 0x10)):
            if flags & flag:
                values[index], offset = number(body, offset), offset + 4
        self.walk.known(tfhd, offset + 4 if flags & 0x20 else offset)
        track = self.tracks.get(track_id)
        for box in found.get(b"tfdt", ())[:1]:
            self._time(box, track)
        end = base
        for box in found.get(b"trun", ()):
            end = self._run(box, track, values, base, end)
        return end

    def _time(self, tfdt: _Box, track: Track | None) -> None:
        """Make up for a gap before the fragment by a longer sample; when the first one begins says nothing."""
        body = self.walk.body(tfdt)
        width = 8 if number(body, 0, 1) == 1 else 4
        self.walk.known(tfdt, 4 + width)
        if track is None:
            return
        start = number(body, 4, width)
        gap = start - self.times[track.id] - self.begun.setdefault(track.id, start - self.times[track.id])
        durations = track.samples.durations
        if gap < 0 or (gap and not durations):
            raise damaged("its fragments overlap in time")
        if gap:
            durations[-2] -= 1
            durations.extend((1, durations[-1] + gap))
            self.times[track.id] += gap

    def _run(self, trun: _Box, track: Track | None, values: Sequence[int], base: int, end: int) -> int:
        """Add a run of samples; where it ends."""
        body = self.walk.body(trun)
        flags, count, offset = number(body, 1, 3), number(body, 4), 8
        if flags & 1:
            end, offset = base + signed(number(body, offset)), offset + 4
        offset += 4 if flags & 4 else 0
        columns = [flag for flag in (0x100, 0x200, 0x400, 0x800) if flags & flag]
        table = words(body, offset, count * len(columns))
        self.walk.known(trun, offset + 4 * len(table))
        entry, duration, size = values
        lengths: Sequence[int] = ()
        if 0x200 in columns:
            lengths = table[columns.index(0x200) :: len(columns)]
        total = sum(lengths) if lengths else count * size
        self.left -= max(total, count)
        if self.left < 0 or end < 0 or (0x200 not in columns and not size and count):
            raise damaged("a fragment in it promises more samples than there are")
        if track is None or not count:
            return end + total
        held = track.samples
        if held.size or not 1 <= entry <= len(track.codings):
            raise damaged("its fragments do not fit its header")
        if 0x800 in columns and any(table[columns.index(0x800) :: len(columns)]):
            raise Unreadable("its fragments shift samples in time, which is not supported; remux it without fragments")
        held.sizes.extend(lengths or array("I", (size,)) * count)
        if 0x100 in columns:
            each = table[columns.index(0x100) :: len(columns)]
            self.times[track.id] += sum(each)
            for one in each:
                held.durations.extend((1, one))
        else:
            self.times[track.id] += count * duration
            held.durations.extend((count, duration))
        held.offsets.append(end)
        held.counts.append(count)
        held.entries.append(entry)
        return end + total


def _in_one_piece(track: Track, timescale: int) -> Track:
    """A track with the samples of fragments as decoders play it there.

    An edit of no duration goes on to the end, and a last sample that is shorter than the others is played in full.
    """
    durations = track.samples.durations
    if len(durations) > 2 and durations[-2] == 1 and durations[-1] < durations[-3]:
        durations[-1] = durations[-3]
    if len(track.edits) != 1 or track.edits[0].duration:
        return track
    (edit,) = track.edits
    left = max(track.duration - max(edit.time, 0), 0)
    return replace(track, edits=(edit._replace(duration=-(-left * timescale // track.timescale)),))


# --- the new header --------------------------------------------------------------------------------------------------

_GAPLESS = re.compile(r" ?[0-9A-F]{8} ([0-9A-F]{8}) ([0-9A-F]{8}) ([0-9A-F]{16})\b", re.ASCII | re.IGNORECASE)


def _gapless(walk: _Walk, movie: Movie) -> Movie:
    """The movie with an edit list instead of the tag in which iTunes says what is sound and what the encoder added."""
    if len(movie.tracks) != 1:
        return movie
    (track,) = movie.tracks
    if track.edits and (len(track.edits) > 1 or track.edits[0].time):
        return movie
    for part in walk.parts:
        if part.reader != "ilst" or b"iTunSMPB" not in at(walk.stream, part.start, part.end - part.start):
            continue
        for name, value in read_tags(walk.stream, "ilst", part.start, part.end):
            if name == "mp4.itunsmpb" and (said := _GAPLESS.match(value)):
                delay, _, length = (int(text, 16) for text in said.groups())
                if 0 < length <= track.duration - delay:
                    track = replace(track, edits=(Edit(length, delay),))
                    return replace(movie, timescale=track.timescale, tracks=(track,))
    return movie
