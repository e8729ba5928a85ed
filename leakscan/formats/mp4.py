"""MP4, M4A, ALAC and QuickTime audio, in one piece or in fragments: `.m4a`, `.mp4`, `.mov`.

The clean file has one form: `ftyp`, a `moov` made anew from what a decoder needs, and one `mdat` with the samples of
the sound tracks in their order.  Fragments become sample tables, and the gapless numbers that iTunes writes into a tag
an edit list.  What decoders pass over in and behind the samples of some codings is taken out, see `leakscan.frames`.
Not looked at: bytes that are no long text inside frames of MPEG audio and AC-3, and no text behind the sound in those
of AAC and Apple Lossless.
Sources: ISO/IEC 14496-12 sections 4.2 (boxes), 8.2 to 8.10 (moov and what is in it), 8.8 (fragments), 12.2 (sound),
the QuickTime File Format (user data, sound sample descriptions), ISO/IEC 14496-14 section 3.1.2 (esds), 3GPP TS 26.244
section 8 (texts in user data).
"""

from __future__ import annotations

import hashlib
import re
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO

from leakscan import decoders, flacframes, frames, ledgers
from leakscan.blocks import at, cut, damaged, size_of
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
)
from leakscan.boxfragments import MOST, Fragments, in_one_piece, usual_defaults
from leakscan.boxindexes import Indexes
from leakscan.boxpayload import Payload, payload
from leakscan.boxwalk import Box, Walk, only, writer
from leakscan.decoders import field
from leakscan.model import Entry, Item, Ledger, Part, Unreadable
from leakscan.tags import read_tags

AUDIO = True
NAMES = (".m4a", ".mp4", ".m4b", ".m4r", ".alac", ".mov", ".3gp")
LOADS = ("numpy",)

_IMAGES = (b"avif", b"avis", b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"crx ")  # brands of still pictures
_OPENING = (b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")  # what QuickTime files without ftyp begin with
_EDITS = 1_000  # of one track
_SLACK = 10  # seconds
_DURATION = "unknown.duration"


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
    return _account(Walk(stream))


def read_back(stream: BinaryIO, seen: ledgers.Seen) -> Ledger:
    """The same of a clean copy; samples that were `seen` in its source are not looked into again, each for itself."""
    return _account(Walk(stream, seen))


def _account(walk: Walk) -> Ledger:
    try:
        return _whole(walk)
    except OverflowError as error:  # from arrays and bytes that are made of numbers in the file
        raise damaged("a number in its header is too large") from error
    except ValueError as error:  # from what takes boxes apart as bytes
        raise damaged(str(error)) from error


# --- the whole file --------------------------------------------------------------------------------------------------


_BRANDS = re.compile(
    rb"isom|iso[2-9a-c]|mp4[12v]|M4[ABPV] |qt  |3g[2egprs][4-9a-c]|dash|dsms|cmf[cs2]|avc1|f4[av] |F4[AV] |msdh|msix"
    rb"|lmsg|hlsf|MSNV|NDSC|mmp4|caac|caaa|Opus|dby1|\0\0\0\0"
)
_MINOR = (0, 1, 0x200, 0x20040600, 0x20050300)  # versions that writers put there unasked


def _whole(walk: Walk) -> Ledger:
    quicktime, held, mdats = _content(walk, walk.top())
    for mdat in mdats:
        walk.parts.extend(_nested(walk, mdat))
    start = header(held.movie, held.offsets, held.size, quicktime)
    walk.parts.append(Part("structure", "mp4.header", 0, 0, start))
    bits = (bit.replace(".", ".mp4.", 1) for bit in held.bits)
    return ledgers.ledger(walk.stream, "mp4", walk.parts, _parameters(held.movie), bits)


def _content(walk: Walk, boxes: Iterable[Box]) -> tuple[bool, Payload, list[Box]]:
    """Note what boxes hold: is it a file of QuickTime, the samples, and the boxes these are in."""
    found: dict[bytes, list[Box]] = {b"moov": [], b"moof": [], b"mdat": [], b"sidx": [], b"mfra": []}
    quicktime = True
    edges = {size_of(walk.stream)}
    for box in boxes:
        edges.add(box.start)
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
    movie = _movie(walk, *only(found, b"moov"))
    fragments = Fragments(walk, movie)
    for moof in found[b"moof"]:
        fragments.add(moof)
    indexes = Indexes(walk, movie.tracks, fragments.pieces, edges)
    for box in (*found[b"sidx"], *found[b"mfra"]):
        indexes.note(box)
    if found[b"moof"]:
        movie = replace(movie, tracks=tuple(in_one_piece(track, movie.timescale) for track in movie.tracks))
    movie = _gapless(walk, movie)
    for mdat in found[b"mdat"]:
        walk.header(mdat.start, mdat.body)
    held = _counted(payload(walk, movie, found[b"mdat"]))
    longest = max(max(track.duration / track.timescale, _edited(track, movie.timescale)) for track in movie.tracks)
    if any(length > 2 * longest + _SLACK for length in walk.lengths):  # which is rounded, or that of other tracks
        held = held._replace(bits=(*held.bits, _DURATION))
    return quicktime, held, found[b"mdat"]


def _counted(held: Payload) -> Payload:
    """Leave out how many samples FLAC tracks are said to have where it is not so, as of what they are a part of."""
    tracks = list(held.movie.tracks)
    for index, track in enumerate(tracks):
        for looker in {coding.looker for coding in track.codings if isinstance(coding.looker, frames.Flac)}:
            there = track.duration * looker.info.rate // track.timescale
            if looker.info.total and abs(looker.info.total - there) > looker.info.block:
                codings = (coding._replace(box=flacframes.uncounted(coding.box)) for coding in track.codings)
                tracks[index] = replace(track, codings=tuple(codings))
    if tracks == list(held.movie.tracks):
        return held
    return held._replace(movie=replace(held.movie, tracks=tuple(tracks)), bits=(*held.bits, "unknown.samples"))


def _edited(track: Track, timescale: int) -> float:
    """How long a track is by its edit list, in seconds."""
    return sum(edit.duration for edit in track.edits) / timescale


def _nested(walk: Walk, mdat: Box) -> list[Part]:
    """What stands between the samples in an `mdat` that is a file in fragments itself.

    Some programs write one, and in the end a header in front of which it looks like samples with gaps between them.
    None of it where its samples are not the same ones.
    """
    if at(walk.stream, mdat.body + 4, 4) != b"ftyp":
        return []
    inner = Walk(walk.stream)
    try:
        _, held, _ = _content(inner, inner.boxes(mdat.body, mdat.end))
    except (Unreadable, ValueError, OverflowError):
        return []
    if _DURATION in held.bits:
        return []
    parts = [part for part in inner.parts if part.kind != "payload" and part.start < part.end]
    samples = (part for part in walk.parts if part.kind == "payload" and mdat.body <= part.start < part.end)
    edges = [mdat.body]
    for part in sorted((*parts, *samples), key=lambda part: part.start):
        edges += part.start, part.end
    return parts if edges[::2] == [*edges[1::2], mdat.end] else []


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


# --- reading the header ----------------------------------------------------------------------------------------------

_LANGUAGES = (b"\x55\xc4", b"\x7f\xff")  # undetermined, unspecified; English in QuickTime's count is 0


def _movie(walk: Walk, moov: Box) -> Movie:
    found = walk.children(moov, b"mvhd", b"trak", b"mvex")
    (mvhd,) = only(found, b"mvhd")
    body = walk.body(mvhd)
    timescale, end, odd = _times(body)
    odd += field("unknown", "mvhd", body, end, end + 76, b"\0\1\0\0\1\0" + bytes(10) + MATRIX + bytes(24))
    odd += [] if number(body, end + 76) < MOST else [Part("unknown", "mvhd", end + 76, end + 80, b"")]
    walk.known(mvhd, end + 80, odd)
    walk.lasts(body, end, _width(body), timescale)
    defaults = {}
    for mvex in found.get(b"mvex", ()):
        below = walk.children(mvex, b"trex", b"mehd")
        for box in below.get(b"mehd", ()):
            body = walk.body(box)
            walk.known(box, 4 + _width(body))
            walk.lasts(body, 4 + _width(body), _width(body), timescale)
        for box in below.get(b"trex", ()):
            body = walk.body(box)
            values = number(body, 8), number(body, 12), number(body, 16)
            right = number(body, 0) == 0 and usual_defaults((number(body, 4), *values), number(body, 20))
            defaults[number(body, 4)] = values
            walk.known(box, 24, [] if right else [Part("unknown", "defaults", 0, 24, b"")])
    tracks = []
    for trak in found.get(b"trak", ()):
        if _handler(walk, trak) == b"soun":
            tracks.append(_track(walk, trak, timescale))
        else:
            walk.parts.append(Part("unknown", "mp4.track", trak.start, trak.end, b"", "trak"))
    if not tracks:
        raise Unreadable("holds no sound track; remove it from the release, or check by hand what it shows")
    return Movie(timescale, tuple(tracks), defaults)


def _times(body: bytes) -> tuple[int, int, list[Part]]:
    """Of `mvhd` or `mdhd`: the timescale, how far times and duration reach, and the dates in it."""
    width = _width(body)
    timescale = number(body, 4 + 2 * width)
    if not 0 < timescale <= _MOST_TICKS:
        raise ValueError(f"its header has a timescale of {timescale:,}")
    return timescale, 8 + 3 * width, field("date", "time", body, 4, 4 + 2 * width)


_MOST_TICKS = 1_000_000_000  # a second
_LONGEST = 3_600  # s, of a sample


def _width(body: bytes) -> int:
    """The bytes of a time, by the version of the box that holds it."""
    return 8 if number(body, 0, 1) == 1 else 4


def _handler(walk: Walk, trak: Box) -> bytes:
    """The type of a track."""
    for mdia in walk.boxes(trak.body, trak.end):
        if mdia.kind == b"mdia":
            for box in walk.boxes(mdia.body, mdia.end):
                if box.kind == b"hdlr":
                    return at(walk.stream, box.body + 8, 4)
    return b""


def _track(walk: Walk, trak: Box, timescale_of_movie: int) -> Track:
    found = walk.children(trak, b"tkhd", b"mdia", b"edts")
    tkhd, mdia = only(found, b"tkhd", b"mdia")
    media = walk.children(mdia, b"mdhd", b"hdlr", b"minf")
    mdhd, hdlr, minf = only(media, b"mdhd", b"hdlr", b"minf")
    inner = walk.children(minf, b"smhd", b"hdlr", b"dinf", b"stbl")
    dinf, stbl = only(inner, b"dinf", b"stbl")

    body = walk.body(tkhd)
    width = _width(body)
    rest = 12 + 3 * width  # times, number, reserved, duration
    enabled, number_of, group = number(body, 3, 1) & 1, number(body, 4 + 2 * width), number(body, rest + 10, 2)
    odd = field("date", "time", body, 4, 4 + 2 * width)
    odd += [] if number_of < MOST else [Part("unknown", "tkhd", 4 + 2 * width, 8 + 2 * width, b"")]
    odd += field("unknown", "tkhd", body, 8 + 2 * width, 12 + 2 * width)
    odd += field("unknown", "tkhd", body, rest, rest + 10)
    odd += field("unknown", "tkhd", body, rest + 12, rest + 60, b"\1\0\0\0" + MATRIX + bytes(8))
    walk.known(tkhd, rest + 60, odd)
    walk.lasts(body, rest, width, timescale_of_movie)

    body = walk.body(mdhd)
    timescale, end, odd = _times(body)
    if body[end : end + 2] not in _LANGUAGES:
        odd += field("tag", "language", body, end, end + 2)
    walk.known(mdhd, end + 4, odd + field("unknown", "mdhd", body, end + 2, end + 4))
    walk.lasts(body, end, _width(body), timescale)

    for box in (hdlr, *inner.get(b"hdlr", ())):
        body = walk.body(box)
        walk.known(box, len(body), writer(body))
    for box in inner.get(b"smhd", ()):
        walk.known(box, 8, field("unknown", "smhd", walk.body(box), 4, 8))
    _references(walk, dinf)
    version, codings, held, tables = _tables(walk, stbl)
    if max(held.durations[1::2], default=0) > _LONGEST * timescale:
        raise damaged("one of its samples is played for longer than it can be")
    quicktime = at(walk.stream, hdlr.body + 4, 4) == b"mhlr"
    track = Track(number_of, bool(enabled), group, timescale, quicktime, version, codings, held, (), tables)
    if b"edts" not in found:
        return track
    (edts,) = only(found, b"edts")
    return replace(track, edits=tuple(_edits(walk, edts, track.duration, timescale, timescale_of_movie)))


def _references(walk: Walk, dinf: Box) -> None:
    """Raises Unreadable where the samples are in another file."""
    for dref in walk.children(dinf, b"dref").get(b"dref", ()):
        boxes = list(walk.boxes(dref.body + 8, dref.end))
        walk.counted(dref, len(boxes))
        for box in boxes:
            body = walk.body(box)
            if box.kind not in (b"url ", b"alis"):
                walk.extra(box)
                continue
            if not number(body, 3, 1) & 1:
                raise Unreadable("its sound is in another file; put both into one file, or remove it from the release")
            walk.known(box, 4, [Part("unknown", "dref", 4, len(body), b"")] if body[4:].strip(b"\x00") else [])


def _edits(walk: Walk, edts: Box, length: int, timescale: int, timescale_of_movie: int) -> Iterator[Edit]:
    """The edits in which something of a track of this length, 0 if it is not known, is played, and what comes before.

    One that is longer than all that there is becomes as long.  Where fragments follow, so that the length is not known,
    an edit of no duration goes on to the end.
    """
    elst, *others = walk.children(edts, b"elst").get(b"elst", ()) or (None,)
    for box in others:
        walk.extra(box)
    if elst is None:
        return
    body = walk.body(elst)
    width = _width(body)
    count = number(body, 4)
    end = 8 + count * (2 * width + 4)
    if end > len(body):
        raise ValueError("a table in its header is shorter than it says")
    if count > _EDITS:
        raise damaged(f"more than {_EDITS:,} edits in it")
    most = -(-length * timescale_of_movie // timescale)
    odd: list[Part] = []
    waiting: list[tuple[int, Edit]] = []  # of nothing, up to one of something
    over = False
    for start in range(8, end, 2 * width + 4):
        after = start + 2 * width + 4
        time = signed(number(body, start + width, width), 8 * width)
        edit = Edit(number(body, start, width), time, number(body, start + 2 * width))
        if over or (length and ((not edit.duration and count > 1) or time >= length)):
            odd.append(Part("unknown", "elst", start, after, b""))
        elif time < 0:
            waiting.append((start, edit))
        else:
            if length and edit.duration > most + timescale_of_movie:
                odd.append(Part("unknown", "elst", start, start + width, b""))
                edit = edit._replace(duration=most)
            if edit.rate not in (0, 1 << 16):
                odd.append(Part("unknown", "elst", after - 4, after, b""))
                edit = edit._replace(rate=1 << 16)
            if sum(empty.duration for _, empty in waiting) > 24 * _LONGEST * timescale_of_movie:
                raise damaged("its sound begins later than it can")
            yield from (empty for _, empty in waiting)
            waiting.clear()
            over = not edit.duration and not length
            yield edit
    odd += (Part("unknown", "elst", start, start + 2 * width + 4, b"") for start, _ in waiting)
    walk.known(elst, end, odd)


def _tables(walk: Walk, stbl: Box) -> tuple[int, tuple[Coding, ...], Samples, bytes]:
    """The codings with the version of their table, the samples, and the boxes that say where decoding may begin."""
    single = (b"stsd", b"stts", b"ctts", b"stsc", b"stsz", b"stz2", b"stco", b"co64", b"stss")
    found = walk.children(stbl, *single, b"sgpd", b"sbgp")
    for kinds in ((b"stsz", b"stz2"), (b"stco", b"co64")):
        if sum(len(found.get(kind, ())) for kind in kinds) != 1:
            raise damaged(f"not one box {kinds[0].decode()} or {kinds[1].decode()} where one has to be")
    stsd, stts, stsc = only(found, b"stsd", b"stts", b"stsc")
    version = min(number(walk.body(stsd), 0, 1), 1)
    codings = tuple(_coding(walk, box, version) for box in _sample_entries(walk, stsd))

    def table(box: Box, width: int, code: str = "I") -> array[int]:
        numbers, length = rows(walk.body(box), width, code)
        walk.known(box, length)
        return numbers

    for kind in (b"ctts", b"stss"):
        if kind in found:
            only(found, kind)
    shifts = table(found[b"ctts"][0], 2) if b"ctts" in found else array("I")
    box, read_sizes = (found[b"stsz"][0], sizes) if b"stsz" in found else (found[b"stz2"][0], compact_sizes)
    sized = read_sizes(walk.body(box))
    walk.known(box, sized[-1])
    wide = b"co64" in found
    offsets = table(found[b"co64" if wide else b"stco"][0], 1, "Q" if wide else "I")
    durations, length = rows(walk.body(stts), 2)
    held = samples(durations, shifts, sized, table(stsc, 3), offsets)
    right = sum(durations[::2]) == held.total
    walk.known(stts, length, [] if right else [Part("unknown", "stts", 8, length, b"")])
    if any(not 1 <= entry <= len(codings) for entry in set(held.entries)):
        raise damaged("some of its samples are in a coding that its header does not describe")
    sync = table(found[b"stss"][0], 1) if b"stss" in found else array("I")
    beginnings = b""
    if sync and len(sync) < held.total and list(sync) == sorted(set(sync)) and 1 <= sync[0] <= sync[-1] <= held.total:
        beginnings = full(b"stss", len(sync).to_bytes(4, "big"), packed(sync))
    return version, codings, held, beginnings + _roll(walk, found, held.total)


def _roll(walk: Walk, found: dict[bytes, list[Box]], total: int) -> bytes:
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
_CAN_BE: dict[bytes, Callable[[bytes, bytes], bool]] = {
    b"dac3": lambda body, coding: coding == b"ac-3" and len(body) == 3 and not body[2] & 31 and body[0] >> 1 & 31 < 11,
    b"dec3": lambda body, coding: (
        coding == b"ec-3" and len(body) > 4 and body[2] >> 1 & 31 == 16 and not body[4] & 0xE0
    ),
    b"enda": lambda body, coding: body in (b"\0\0", b"\0\1"),
    b"pcmC": lambda body, coding: body[:4] == bytes(4) and body[4] < 2 and body[5] in (8, 16, 24, 32, 64),
    b"srat": lambda body, coding: body[:4] == bytes(4) and int.from_bytes(body[4:], "big") <= _MOST_RATE,
    b"frma": lambda body, coding: body == coding,
    b"chnl": lambda body, coding: body[:5] == bytes(4) + b"\1" and body[6:11] == bytes(5),
}
"""Whether such a box can be one of sound in this coding."""
_MOST_RATE = 6_000_000  # samples a second; that of DSD is the highest


def _sample_entries(walk: Walk, stsd: Box) -> Iterator[Box]:
    """Raises Unreadable where one is encrypted or not supported."""
    entries = list(walk.boxes(stsd.body + 8, stsd.end))
    walk.counted(stsd, len(entries))
    for box in entries:
        if box.kind in _ENCRYPTED:
            raise Unreadable("its sound is encrypted; put a copy without protection in its place")
        if box.kind not in _CODINGS:
            raise Unreadable("its sound is in a coding that is not supported; convert it to one that is")
        yield box


def _coding(walk: Walk, box: Box, version_of_table: int) -> Coding:
    """A sample entry, of any version of QuickTime's or of the standard's."""
    body = walk.body(box)
    version, channels, bits = number(body, 8, 2), number(body, 16, 2), number(body, 18, 2)
    number(body, 24)
    if version > 2:
        raise ValueError("its sound is described in a form that is not known")
    long = {0: 28, 1: 44, 2: 64}[version] if not version_of_table else 28
    if len(body) < long:
        raise ValueError("a box in its header is shorter than it has to be")
    if not _plausible(body, long):
        raise ValueError("its sound is described in a way that cannot be")
    odd = field("unknown", "stsd", body, 0, 6) + field("encoder", "vendor", body, 10, 16)
    compressed = body[20:22] if body[20:22] in (b"\xff\xff", b"\xff\xfe") else bytes(2)
    odd += field("unknown", "stsd", body, 20, 22, compressed) + field("unknown", "stsd", body, 22, 24)
    fixed = bytes(6) + b"\0\1" + body[8:10] + bytes(6) + body[16:20] + compressed + bytes(2) + body[24:long]
    walk.known(box._replace(end=box.body + long), long, odd)
    start = box.body + long
    inner = b"".join(_inner(walk, child, box.kind) for child in walk.boxes(start, box.end))
    size, count = 0, 1
    if box.kind in _BITS or box.kind in _BITS_IN_ENTRY:
        size = channels * _BITS.get(box.kind, bits) // 8
    elif box.kind == b"ima4":
        size, count = 34 * channels, 64
    if long == 64:
        size = number(body, 56) if box.kind == b"lpcm" else 0
    elif long == 44 and box.kind not in _BITS and number(body, 36) and number(body, 28):
        size, count = number(body, 36), number(body, 28)
    return Coding(make(box.kind, fixed, inner), size, count, _looker(box.kind, inner))


def _plausible(body: bytes, long: int) -> bool:
    """Can a sample entry be one of sound?  What decoders know from elsewhere would else hold any text: channels, bits,
    the sample rate, and in the longer forms of QuickTime the sizes of packets or a description of PCM."""
    channels, bits, rate = number(body, 16, 2), number(body, 18, 2), number(body, 24)
    if channels > 255 or bits > 64 or (rate & 0xFFFF and rate not in _OLD_RATES and rate != 1):
        return False
    if long == 44:
        return max(number(body, start) for start in (28, 32, 36, 40)) < 1 << 16
    if long == 64:
        (exact,) = struct.unpack_from(">d", body, 32)
        size, channels, fixed, bits = (number(body, start) for start in (28, 40, 44, 48))
        flags, unit, frames_of = (number(body, start) for start in (52, 56, 60))
        whole = 0 < exact <= _MOST_RATE and exact == int(exact)
        whole = whole and size == 72 and channels <= 255 and fixed == 0x7F000000 and bits <= 64
        return whole and max(flags & 0x7FFFFFFF, unit, frames_of) < 1 << 16
    return True


_OLD_RATES = (0x56EE8BA3, 0x2B7745D1)  # of the first Macintosh: 22,254.5 Hz and half of it


def _looker(kind: bytes, inner: bytes) -> frames.Frames | None:
    """What looks into the frames of a coding, by the boxes in its sample entry."""
    description = None
    if b"esds" in inner:
        description = decoders.description(inner[inner.index(b"esds") + 4 :])
        if description.plain_aac:
            return frames.Aac()
    if kind == b"alac":
        return frames.Alac()
    if kind == b"Opus" and b"dOps" in inner:
        head = inner[inner.index(b"dOps") + 4 :]
        return frames.Opus(head[11] if head[10] else 1)
    if kind == b"fLaC" and b"dfLa" in inner:
        return frames.Flac(flacframes.read_info(inner[inner.index(b"dfLa") + 12 :][: flacframes.INFO]))
    if kind == b".mp3" or (description and description.type in decoders.MPEG):
        return frames.MPEG
    if kind in (b"ac-3", b"ec-3") or (description and description.type in decoders.AC3):
        return frames.AC3
    return None


def _inner(walk: Walk, box: Box, coding: bytes, inside: bool = False) -> bytes:
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
        right = len(body) >= 9 and not body[5] & 0x7E and body[7] < 9 and body[8] < 16
        odd = field("encoder", "vendor", body, 0, 5) + ([] if right else [Part("unknown", "damr", 5, 9, b"")])
        walk.known(box, 9, odd)
        return make(box.kind, bytes(5), body[5:9] if right else b"\x81\xff\0\1")
    if box.kind == b"chan":
        clean, odd = decoders.channel_layout(body[4:])
        odd = [part._replace(start=part.start + 4, end=part.end + 4) for part in odd]
        walk.known(box, len(body), field("unknown", "chan", body, 0, 4) + odd)
        return full(box.kind, clean)
    if box.kind in _VERBATIM or (inside and box.kind == coding):
        end = _VERBATIM.get(box.kind, 0)
        if box.kind in _CAN_BE and not _CAN_BE[box.kind](body[:end], coding):
            raise ValueError(f"its box {box.kind.decode()} is none of sound in this coding")
        walk.known(box, max(end, 4 if inside and box.kind == coding and not body[:4].strip(b"\x00") else 0))
        return make(box.kind, body[:end] if box.kind in _VERBATIM else bytes(4))
    if box.kind == b"btrt":
        walk.known(box, 12, field("encoder", "bitrate", body, 0, 12))
    elif box.kind == b"sinf":
        walk.parts.append(Part("tag", "mp4.sinf", box.start, box.end, b""))
    else:
        walk.extra(box)
    return b""


# --- the new header --------------------------------------------------------------------------------------------------

_GAPLESS = re.compile(r" ?[0-9A-F]{8} ([0-9A-F]{8}) ([0-9A-F]{8}) ([0-9A-F]{16})\b", re.ASCII | re.IGNORECASE)


def _gapless(walk: Walk, movie: Movie) -> Movie:
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
