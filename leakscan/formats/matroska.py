"""Matroska and WebM audio: `.mka`, `.webm`, `.mkv`.

The clean file has one form: a header made anew from what a decoder needs, the clusters with the blocks of the sound
tracks in their order, and an index where there was one.  Frames are whole there, also where bytes that all begin with
were left out.
Sources: RFC 9559 (Matroska) sections 5 (elements), 10 (blocks), RFC 8794 (EBML).
Not looked into, but for text: frames of DTS and of other AAC than the plain one.  The times of blocks are
kept as they stand where they do not go back, and so are durations that a frame of the coding can have.
"""

from __future__ import annotations

import hashlib
import math
import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from leakscan import flacframes, ledgers
from leakscan.blocks import cut, damaged, glued, peel, size_of
from leakscan.clusters import (
    BLOCK,
    CLUSTER,
    DURATION,
    GROUP,
    LACED,
    LEAST,
    SIMPLE_BLOCK,
    Blocks,
    Usual,
    blocks,
    lace,
    laced,
)
from leakscan.codecprivate import Coding, coding
from leakscan.ebml import make, opening, size, unsigned
from leakscan.elementindexes import CUES, SEEK_HEAD, Indexes, indexed
from leakscan.elements import (
    ATTACHMENTS,
    CHAPTERS,
    CRC,
    MUXER,
    SEGMENT,
    TAGS,
    UID,
    VOID,
    WINDOW,
    WRITER,
    Element,
    Walk,
    too_short,
)
from leakscan.frames import Flac, Sized
from leakscan.ledgers import Seen
from leakscan.legible import refuse_tails
from leakscan.model import Entry, Item, Ledger, Part, Unreadable
from leakscan.wavpackframes import WavPack

AUDIO = True
NAMES = (".mka", ".webm", ".mkv", ".weba")
LOADS = ("fastcrc", "numpy")

_MAGIC = b"\x1a\x45\xdf\xa3"
_EBML = 0x1A45DFA3
_INFO, _TRACKS = 0x1549A966, 0x1654AE6B
_TOP = (SEEK_HEAD, _INFO, _TRACKS, CLUSTER, CUES, CHAPTERS, TAGS, ATTACHMENTS)
_AUDIO_TRACK = 2


def sniff(head: bytes) -> bool:
    """The four bytes of an EBML header."""
    return head.startswith(_MAGIC)


def read(entry: Entry) -> Iterator[Item]:
    """What a Matroska file says beside its sound.  Raises Unreadable where it is cut, none, or not supported."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Account for every byte.  Raises Unreadable, without a path, where it is cut, no Matroska, or not supported."""
    return _account(stream, ledgers.NOTHING)


def read_back(stream: BinaryIO, seen: Seen) -> Ledger:
    """The same of a clean copy; frames that were `seen` in its source are not looked into again, each for itself."""
    return _account(stream, seen)


def _account(stream: BinaryIO, seen: Seen) -> Ledger:
    try:
        file = _File(stream, seen)
        found = file.ledger()
        if changes := file.changes():
            found = _File(stream, seen, changes).ledger()
        return replace(found, bits=tuple(sorted({*found.bits, *file.bits})))
    except (ValueError, OverflowError) as error:  # from what takes descriptions of decoders apart
        raise damaged(str(error)) from error


# --- tracks ----------------------------------------------------------------------------------------------------------


class _Track(NamedTuple):
    """A sound track: its number in the clean file, its canonical entry without number, the coding, its rate in Hz, and
    what was left out of the beginning of its frames."""

    number: int
    entry: bytes
    coding: Coding
    rate: int
    lead: bytes

    def longest(self, first: int) -> int:
        """How long a frame of this first byte can be, in ns."""
        return self._lasting(self.coding.samples[first])

    def _lasting(self, samples: int) -> int:
        return samples * _SECOND // self.rate if samples else _SECOND

    def lengths(self) -> list[int]:
        """The same of each first byte."""
        known = {samples: self._lasting(samples) for samples in set(self.coding.samples)}
        return [known[samples] for samples in self.coding.samples]


class _Kept(NamedTuple):
    """What of a block is in the clean file: the number of its track there, how many bytes it has, how long its frames
    can be at most, in ns, and how long after the block before it is played, in ticks; no track and no bytes of one that
    is not there."""

    track: int = 0
    length: int = 0
    longest: int = 0
    after: int = 0


_SECOND = 1_000_000_000  # ns

_KIND = 0x4282
_LIMITS = {0x4286: 255, 0x42F7: 1, 0x42F2: 4, 0x42F3: 8, 0x4287: 255, 0x4285: 4}
"""Numbers in the EBML header, and up to what they are supported; of versions, what may once be."""

_NUMBER, _TYPE, _CODEC, _PRIVATE, _LANGUAGE = 0xD7, 0x83, 0x86, 0x63A2, 0x22B59C
_LANGUAGE_BCP, _SOUND, _ENCODINGS = 0x22B59D, 0xE1, 0x6D80
_FLAGS = (0x88, 0xB9, 0x9C)  # default, enabled, laced; set when left out
_TIMES = (0x23E383, 0x56AA, 0x56BB)  # duration of a frame, delay, preroll; none when left out
_UNUSED = (0x55EE, 0x6DE7, 0x6DF8, 0xAA, 0x55AA)  # largest addition, caches, decode all, forced
_OF_TRACK = (*_FLAGS, *_TIMES, *_UNUSED, _NUMBER, _TYPE, _CODEC, _PRIVATE, _SOUND, _ENCODINGS)  # what it has once
_MOST_UNUSED = 9  # that is usual in those
_RATE = 0xB5
_SOUND_NUMBERS, _SOUND_RATES = {0x9F: 255, 0x6264: 64}, (_RATE, 0x78B5)  # channels and bits, their limits; rates
_FASTEST = 1 << 22  # Hz
_PACKINGS, _PACKING, _ENCRYPTION = 0x6240, 0x5034, 0x5035
_PACKING_NUMBERS = {0x5031: 0, 0x5032: 1, 0x5033: 0}  # its order, what it is about (frames), its kind (compression)
_METHOD, _LEFT_OUT, _BY_LEAVING_OUT = 0x4254, 0x4255, 3
_DISCARD = 0x75A2
_DAY = 86_400 * _SECOND
_LONGEST = 10 * _DAY  # that a file is
_LATEST = 10 * _SECOND  # of times that are short: a delay, the duration of a frame
_REFERENCE, _PRIORITY = 0xFB, 0xFA
_KEY = 0x80  # flag of a block that needs no other, as all of sound
_TIME, _POSITION, _SIZE_BEFORE = 0xE7, 0xA7, 0xAB  # of a cluster
_SCALE, _LENGTH = 0x2AD7B1, 0x4489
_USUAL_RATE = 8000  # Hz, where none is said
_LACES = 8  # frames in a block, at most, as writers lace them
_TRACK_LIMIT = 126  # as many numbers have one byte


class _File(Walk):
    """Takes a file apart element by element and notes what its bytes are."""

    def __init__(self, stream: BinaryIO, seen: Seen, changed: Mapping[int, bytes] = MappingProxyType({})) -> None:
        super().__init__(stream)
        self.seen = seen
        self.changed = changed  # frames as the clean file has them, by where they begin
        self.changing = sorted(changed)
        self.heard: dict[int, list[tuple[int, bytes]]] = {}  # the same of tracks whose frames are looked at together
        self.kind = b""
        self.scale = 1_000_000
        self.length: Element | None = None  # what says how long all of it is
        self.indexes = Indexes()
        self.cluster_size = 0  # of the last one
        self.since = 0  # the time from which those of clusters are counted
        self.tracks: dict[int, _Track] = {}
        self.bits: set[str] = set()
        self.flags: set[tuple[int, int]] = set()  # of blocks: those that are usual, and those that are there
        self.clusters: list[tuple[int, int, int]] = []  # time, track of the first block, length in the clean file
        self.timing = hashlib.sha256()
        self.indexed = False
        self.usual: dict[int, Usual] = {}  # the tracks whose number stays
        self.latest: dict[int, int] = {}  # of each track, the time of the last block
        self.found: Blocks | None = None  # the usual blocks in the window

    def ledger(self) -> Ledger:
        """The account of the whole file."""
        peeled = peel(self.stream)
        end = size_of(self.stream)
        segment = None
        reached = peeled.start
        for element in self.elements(peeled.start, end, peeled.end):
            if element.id == _EBML and not self.kind:
                self._declaration(element)
            elif element.id == SEGMENT and segment is None and self.kind:
                if element.end > peeled.end and element.end != end:
                    raise too_short(element.end, peeled.end)
                segment = element
                self._segment(element)
            elif element.end > peeled.end or (element.id not in (VOID, CRC) and segment is None):
                break  # no element, but other bytes
            else:
                self.extra(element)
            reached = element.end
        if segment is None:
            raise cut("no segment in it")
        self._count()
        tags = tuple(tag for tag in peeled.tags if tag.end <= peeled.start or tag.start >= reached)
        self.parts.extend(glued("matroska", peeled._replace(tags=tags)))  # others end the segment only by chance
        if any(usual != there for usual, there in self.flags):  # GStreamer never sets the one that is usual
            self.bits.add(f"{'encoder' if self.flags == {(_KEY, 0)} else 'unknown'}.matroska.flags")
        opened, index = self._made()
        self.parts.append(Part("structure", "matroska.header", 0, 0, opened))
        self.parts.append(Part("structure", "matroska.index", segment.end, segment.end, index))
        return ledgers.ledger(self.stream, "matroska", self.parts, self._parameters(), sorted(self.bits))

    def _count(self) -> None:
        """Leave out how many samples FLAC tracks are said to have where it is not so, as of what they are a part of."""
        for own, track in self.tracks.items():
            looker = track.coding.frames
            if not isinstance(looker, Flac) or not looker.info.total:
                continue
            tick = self.scale * looker.info.rate / _SECOND
            last = self.latest.get(own, 0) * tick
            if not last - tick - 1 <= looker.info.total <= last + looker.info.block + tick + 1:
                self.bits.add("unknown.matroska.samples")
                config = track.coding.config
                self.tracks[own] = track._replace(entry=track.entry.replace(config, flacframes.uncounted(config), 1))

    def changes(self) -> dict[int, bytes]:
        """Frames of MPEG audio and AC-3 that are not the same in the clean file, by where they begin: what decoders do
        not read within one is told by all of a track."""
        found = {}
        for number, heard in self.heard.items():
            looker = self.tracks[number].coding.frames
            assert isinstance(looker, Sized)
            data = b"".join(frame for _, frame in heard)
            edges = [*accumulate((len(frame) for _, frame in heard), initial=0)]
            starts, ends = array("q"), array("q")
            for start, (_, frame) in zip(edges, heard, strict=False):
                inner = [start + end for end in looker.ends(frame)]
                starts.extend([start, *inner][: len(inner)])
                ends.extend(inner)
            clean, names = looker.inner(data, starts, ends) if starts else (None, ())
            self.bits.update("{0}.matroska.{2}".format(*name.split(".")) for name in names)
            if clean is not None:
                for (place, frame), (start, end) in zip(heard, pairwise(edges), strict=True):
                    if clean[start:end] != frame:
                        found[place] = bytes(clean[start:end])
        return found

    def _parameters(self) -> Iterator[tuple[str, str]]:
        yield "scale", str(self.scale)
        for track in self.tracks.values():
            yield "decoder", hashlib.sha256(track.entry).hexdigest()
        yield "times", self.timing.hexdigest()

    def look(self, start: int, count: int) -> None:
        super().look(start, count)
        self.found = None

    # --- the header ---

    def _declaration(self, element: Element) -> None:
        self.drop(element.start, element.body)
        for child in self.fields(element, (_KIND, *_LIMITS)):
            if child.id == _KIND:
                self.kind = self.text(child)
            elif child.id in _LIMITS:
                if self.number(child, _LIMITS[child.id]) is None:
                    raise damaged("it needs a newer reader")
            else:
                self.extra(child)
        if self.kind not in (b"matroska", b"webm"):
            raise Unreadable("is of another kind than Matroska and WebM; convert it to one that is supported")

    def _segment(self, segment: Element) -> None:
        informed = False
        self.drop(segment.start, segment.body)
        offset = segment.body
        while (element := self.element(offset, segment.end)) is not None:
            if element.end > segment.end:
                if not segment.sized and element.id not in _TOP:
                    break  # other bytes behind a file that was streamed
                raise too_short(element.end, segment.end)
            offset = element.end
            self.indexes.places[element.start - segment.body] = element
            if element.id == CLUSTER:
                offset = self._cluster(element, segment)
            elif element.id == _INFO and not informed:
                informed = True
                self._info(element)
            elif element.id == _TRACKS and not self.tracks:
                self._tracks(element)
            elif element.id in (SEEK_HEAD, CUES):
                self.indexed |= element.id == CUES
                self.indexes.note(self, element)
            else:
                self.extra(element)
        if not self.tracks:
            raise cut("no track in it")
        self.indexes.verify(self)

    def _info(self, element: Element) -> None:
        self.drop(element.start, element.body)
        for child in self.fields(element, (_SCALE, _LENGTH)):
            if child.id == _SCALE:
                self.scale = self.number(child) or 0
                if not 0 < self.scale <= _SECOND:
                    raise damaged("its times are counted in units that cannot be")
            elif child.id == _LENGTH and child.end - child.body in (4, 8):
                self.length = child
            else:
                self.extra(child)

    def _duration(self) -> bytes:
        """Note how long the file says that it is; how the clean one says it, if it is near where the last block begins.

        As precise as a tick, since only players show it; times of blocks may be rounded up.
        """
        if self.length is None:
            return b""
        data = self.body(self.length)
        ticks = _float(data)
        latest = max(self.latest.values(), default=0)
        wide = max(max(track.lengths()) for track in self.tracks.values())
        near = math.isfinite(ticks) and latest - 1 < ticks <= latest + 1 + _LACES * wide // self.scale
        exact = ticks * self.scale if near else 0.0
        if near and (len(data) == 4 or abs(exact - round(exact)) <= max(0.01, 2 * math.ulp(exact))):
            self.drop(self.length.start, self.length.end)
        else:
            self.note("unknown", "duration", self.length)
        return make(_LENGTH, struct.pack(">d", max(latest, round(ticks)) if near else latest))

    def _tracks(self, element: Element) -> None:
        self.drop(element.start, element.body)
        others = False
        for child in self.children(element):
            if child.id != 0xAE:
                self.extra(child)
            elif self._type(child) == _AUDIO_TRACK:
                self._track(child)
            else:
                others = True
                self.parts.append(Part("unknown", "matroska.track", child.start, child.end, b""))
        if not self.tracks and others:
            raise Unreadable("holds no sound track; remove it from the release, or check by hand what it shows")
        if len(self.tracks) > _TRACK_LIMIT:
            raise damaged(f"more than {_TRACK_LIMIT} sound tracks in it")

    def _type(self, entry: Element) -> int:
        for child in self.elements(entry.body, entry.end):
            if child.id == _TYPE:
                return int.from_bytes(self.body(child, 8), "big")
        return 0

    def _track(self, entry: Element) -> None:
        number = len(self.tracks) + 1
        self.drop(entry.start, entry.body)
        own, codec, private, lead = 0, b"", None, b""
        rate = _USUAL_RATE
        sound = b""
        kept: dict[int, bytes] = {}
        times: list[Element] = []
        for child in self.fields(entry, _OF_TRACK):
            if child.id == _NUMBER:
                own = int.from_bytes(self.body(child, 8), "big")
                self.number(child, _TRACK_LIMIT, "track-number")
            elif child.id in _FLAGS:
                kept[child.id] = unsigned(child.id, 0) if self.number(child, 1, "flag") == 0 else b""
            elif child.id in _TIMES:
                times.append(child)
            elif child.id == _TYPE:
                self.number(child)
            elif child.id in _UNUSED:
                self.number(child, _MOST_UNUSED, "unused")
            elif child.id == UID and int.from_bytes(self.body(child, 8), "big") == number:
                self.drop(child.start, child.end)
            elif child.id == _CODEC:
                codec = self.text(child)
            elif child.id == _PRIVATE:
                private = child
            elif child.id == _LANGUAGE and self.body(child, 64).rstrip(b"\x00") == b"und":
                self.drop(child.start, child.end)
            elif child.id in (_LANGUAGE, _LANGUAGE_BCP):
                self.note("tag", "language", child)
            elif child.id == _SOUND:
                sound, rate = self._sound(child)
            elif child.id == _ENCODINGS:
                lead = self._encodings(child)
            else:
                self.extra(child)
        known = coding(codec, b"" if private is None else self.body(private))
        if private is not None:
            self._known(private, known.odd)
        if len(lead) > known.lead:
            raise damaged("more is left out of its frames than all of them can have")
        rate = known.rate or rate
        for child in times:
            kept[child.id] = self._time(child, rate)
        made = (
            make(_TYPE, bytes([_AUDIO_TRACK])),
            make(_CODEC, codec),
            make(_PRIVATE, known.config) if known.config else b"",
            make(_LANGUAGE, b"und"),
            *(kept[key] for key in sorted(kept)),
            sound,
        )
        if own in self.tracks or not own:
            raise damaged("two tracks in it have one number, or one has none")
        self.tracks[own] = _Track(number, b"".join(made), known, rate, lead)

    def _time(self, element: Element, rate: int) -> bytes:
        """A time in ns that is short, as the clean file has it: that of a sample, which is what decoders make of it."""
        value = int.from_bytes(self.body(element, 8), "big")
        exact = _of_a_sample(value, rate) if value <= _LATEST else 0
        if abs(value - exact) <= 1:
            self.drop(element.start, element.end)
        else:
            self.note("unknown", "time", element)
        return unsigned(element.id, exact) if exact else b""

    def _known(self, element: Element, odd: list[Part]) -> None:
        """Note an element that is understood but for some parts of its body."""
        offset = element.start
        for part in sorted(odd, key=lambda part: part.start):
            start = element.body + part.start
            self.drop(offset, start)
            offset = element.body + part.end
            self.parts.append(part._replace(name=f"matroska.{part.name}", start=start, end=offset))
        self.drop(offset, element.end)

    def _sound(self, element: Element) -> tuple[bytes, int]:
        """What is said of the sound, as the clean file has it; and its rate in Hz."""
        self.drop(element.start, element.body)
        kept = {}
        rates = {}
        for child in self.fields(element, (*_SOUND_NUMBERS, *_SOUND_RATES)):
            if child.id in _SOUND_NUMBERS:
                value = int.from_bytes(self.body(child, 8), "big")
                if not 0 < value <= _SOUND_NUMBERS[child.id]:
                    raise damaged("its sound has no channels or bits, or too many")
                kept[child.id] = unsigned(child.id, value)
                self.drop(child.start, child.end)
            elif child.id in _SOUND_RATES and child.end - child.body in (4, 8):
                stated = _float(self.body(child))
                if not 1 <= stated <= _FASTEST:
                    raise damaged("its sound has a rate that cannot be")
                rates[child.id] = int(stated)  # as decoders take it
                kept[child.id] = make(child.id, struct.pack(">d", rates[child.id]))
                if stated == rates[child.id]:
                    self.drop(child.start, child.end)
                else:
                    self.note("unknown", "rate", child)
            else:
                self.extra(child)
        return make(element.id, *(kept[key] for key in sorted(kept))), rates.get(_RATE, _USUAL_RATE)

    def _encodings(self, element: Element) -> bytes:
        """How frames are packed: the bytes that were left out, which all begin with.

        Raises Unreadable where they are packed in another way.
        """
        lead = b""
        self.drop(element.start, element.body)
        for child in self.fields(element, (_PACKINGS,)):
            if child.id != _PACKINGS:
                self.extra(child)
                continue
            method = 0
            self.drop(child.start, child.body)
            for said in self.fields(child, (*_PACKING_NUMBERS, _PACKING)):
                if said.id == _ENCRYPTION:
                    raise Unreadable("its sound is encrypted; put a copy without protection in its place")
                if said.id in _PACKING_NUMBERS:
                    if self.number(said) != _PACKING_NUMBERS[said.id]:
                        raise _packed()
                elif said.id == _PACKING:
                    self.drop(said.start, said.body)
                    for below in self.fields(said, (_METHOD, _LEFT_OUT)):
                        if below.id == _METHOD:
                            method = self.number(below) or 0
                        elif below.id == _LEFT_OUT:
                            lead = self.body(below, 64)
                            self.drop(below.start, below.end)
                        else:
                            self.extra(below)
                else:
                    self.extra(said)
            if method != _BY_LEAVING_OUT:
                raise _packed()
        return lead

    # --- clusters ---

    def _cluster(self, cluster: Element, segment: Element) -> int:
        """Note a cluster with its blocks; where it ends."""
        if not self.tracks:
            raise damaged("sound in it comes before what describes it")
        if not self.usual:
            self.heard = {own: [] for own, track in self.tracks.items() if isinstance(track.coding.frames, Sized)}
            self.usual = {0x80 | own: self._usual(track) for own, track in self.tracks.items() if own == track.number}
        place = len(self.parts)
        self.drop(cluster.start, cluster.body)
        time: int | None = None
        length = first = 0
        offset = cluster.body
        while offset < cluster.end:
            if time is not None:
                end, track = self._blocks(offset, cluster.end, time)
                first, length, offset = first or track, length + end - offset, end
            child = self.element(offset, cluster.end)
            if child is None:
                break
            if not cluster.sized and child.id in _TOP:
                break
            if child.end > cluster.end:
                raise too_short(child.end, cluster.end)
            offset = child.end
            if child.id == _TIME and time is None:
                time = self._started(child, cluster)
            elif child.id in (SIMPLE_BLOCK, GROUP):
                if time is None:
                    raise damaged("sound in it has no time")
                kept = (self._block if child.id == SIMPLE_BLOCK else self._group)(child, time)
                first, length = first or kept.track, length + kept.length
            elif child.id in (_POSITION, _SIZE_BEFORE):
                value = int.from_bytes(self.body(child, 8), "big")
                if value in (0, cluster.start - segment.body if child.id == _POSITION else self.cluster_size):
                    self.drop(child.start, child.end)
                else:
                    self.note("stale", "position", child)
            elif not self.checked(child, cluster):
                self.extra(child)
        if length and time is not None:
            stamp = unsigned(_TIME, time)
            self.timing.update(stamp)
            opened = opening(CLUSTER, len(stamp) + length) + stamp
            self.parts[place] = Part("structure", "matroska.cluster", cluster.start, cluster.body, opened)
            self.clusters.append((time, first, len(opened) + length))
        end = offset if not cluster.sized else cluster.end
        self.cluster_size = end - cluster.start
        return end

    def _started(self, element: Element, cluster: Element) -> int:
        """The time of a cluster, in ticks since the sound began where that is counted from a date, as in broadcasts."""
        stated = self.indexes.times[cluster.start] = int.from_bytes(self.body(element, 8), "big")
        if len(self.indexes.times) == 1 and stated * self.scale > _DAY:
            self.since = stated
            self.note("date", "start", element)
        else:
            self.drop(element.start, element.end)
        if not 0 <= (stated - self.since) * self.scale <= _LONGEST:
            raise damaged(f"sound at byte {cluster.start:,} is played earlier or later than it can")
        return stated - self.since

    def _usual(self, track: _Track) -> Usual:
        """What the usual blocks of a track are; none are where their frames lack bytes."""
        longest = [-1 if track.lead else self._ticks(length) for length in track.lengths()]
        return Usual(track.coding.frames, longest)

    def _ticks(self, longest: int) -> int:
        """The highest number of ticks that so many ns may be stated as."""
        return longest // self.scale + 1

    def _played(self, number: int, first: int, last: int, start: int) -> int:
        """Heed that blocks of a track are played from one time to another; how long after the one before.

        Raises Unreadable where that goes back: no sound does, and times that jump could spell anything.
        """
        before = self.latest.get(number, first)
        if first < before or last < first:
            raise damaged(f"a block at byte {start:,} or after it is played before the one in front of it")
        self.latest[number] = last
        return first - before

    def _blocks(self, start: int, end: int, time: int) -> tuple[int, int]:
        """Note the blocks from `start` on that are already as the clean file has them; where they end, and the track
        of the first, 0 where there are none.
        """
        first = 0
        while start < end:
            if self.found is None:
                self.look(start, WINDOW)
                edges = (bisect_left(self.changing, place) for place in (start, self.base + len(self.data)))
                changed = self.changing[slice(*edges)]
                where = start - self.base, end - self.base
                self.found = blocks(self.data, self.usual, self.base, changed, self.seen, *where)
                if self.found is None:
                    self.whole = False  # it has too many small blocks, or what looks like them
                    continue
            offset = start - self.base
            run = self.found.run(start, end)
            if run.start < run.stop:
                for number, earliest, latest, forward in self.found.spans(run):
                    self._played(number, time + earliest, time + latest if forward else -1, start)
                    if number in self.heard:
                        self.heard[number] += self.found.sound(run, number, self.base, self.data)
                self.timing.update(self.found.times(run))
                self.flags.add((_KEY, _KEY))
                self.parts.append(ledgers.woven("matroska.frames", self.found.bounds(run)))
                self.left -= run.stop - run.start
                start = self.parts[-1].end
                first = first or self.found.track(run)
            elif not self.whole and offset and (offset > len(self.data) - LEAST or start in self.found.cut):
                self.found = None
            else:
                break
        return start, first

    def _group(self, group: Element, time: int) -> _Kept:
        """Note a block with what is said of it."""
        place = len(self.parts)
        self.drop(group.start, group.body)
        children = list(self.fields(group, (BLOCK, DURATION, _DISCARD)))
        block = next((child for child in children if child.id == BLOCK), None)
        if block is None:
            raise damaged("a group of blocks without one")
        kept = self._block(block, time)
        if not kept.track:
            self.parts[place:] = [self.parts[-1]._replace(start=group.start, end=group.end)]
            return kept
        rate = next(track.rate for track in self.tracks.values() if track.number == kept.track)
        length = kept.length
        for child in children:
            if child.id in (DURATION, _DISCARD):
                longest = kept.longest
                made = self._lasting(child, longest) if child.id == DURATION else self._discarded(child, longest, rate)
                self.timing.update(made)
                length += len(made)
            elif child.id in (_REFERENCE, _PRIORITY):  # sound has none but those to the block before
                value = int.from_bytes(self.body(child, 8), "big", signed=True)
                if value in (0, -kept.after):
                    self.drop(child.start, child.end)
                else:
                    self.note("unknown", "reference", child)
            elif child.id != BLOCK:
                self.extra(child)
        opened = opening(GROUP, length)
        self.parts[place] = self.parts[place]._replace(name="matroska.block", clean=opened)
        return kept._replace(length=len(opened) + length)

    def _lasting(self, element: Element, longest: int) -> bytes:
        """Note a duration, and how the clean file has it: not where no frame can have it."""
        value = int.from_bytes(self.body(element, 8), "big")
        if value > self._ticks(longest):
            self.note("unknown", "duration", element)
            return b""
        made = unsigned(DURATION, value)
        self.parts.append(Part("structure", "matroska.block", element.start, element.end, made))
        return made

    def _discarded(self, element: Element, longest: int, rate: int) -> bytes:
        """Note how long, in ns, what decoders leave out of a block is; how the clean file has it: in whole samples."""
        value = int.from_bytes(self.body(element, 8), "big", signed=True)
        exact = _of_a_sample(value, rate) if abs(value) <= longest + 1 else 0
        made = b""
        if exact:
            width = max(1, ((exact if exact >= 0 else ~exact).bit_length() + 8) // 8)
            made = make(_DISCARD, exact.to_bytes(width, "big", signed=True))
        kind = "structure" if abs(value - exact) <= 1 else "unknown"
        self.parts.append(Part(kind, "matroska.discarded", element.start, element.end, made))
        return made

    def _block(self, block: Element, time: int) -> _Kept:
        """Note a block; nothing of it is kept where its track is none of sound, or decoders read nothing of it."""
        data = self.at(block.body, min(12, block.end - block.body))
        found = size(data)
        if found is None or len(data) < found[1] + 3:
            raise damaged(f"a block at byte {block.start:,} is shorter than it has to be")
        track = self.tracks.get(found[0])
        if track is None:
            self.parts.append(Part("unknown", "matroska.track", block.start, block.end, b""))
            return _Kept()
        start = block.body + found[1] + 3
        relative, flags = data[found[1] : found[1] + 2], data[found[1] + 2]
        edges = [start, block.end]
        if flags & LACED:
            edges = [start + edge for edge in laced(self.body(block)[found[1] + 3 :], flags & LACED)]
        place = len(self.parts)
        lengths = [self._frame(found[0], *edge) for edge in pairwise(edges)]
        sizes = [length for length, _ in lengths if length]
        if not sizes:
            self.parts[place:] = [Part("unknown", "matroska.packet", block.start, block.end, b"")]
            return _Kept()
        lacing, laces = lace(sizes)
        simple = _KEY if block.id == SIMPLE_BLOCK else 0
        if simple or flags & ~LACED:
            self.flags.add((simple, flags & ~LACED))
        told = bytes([0x80 | track.number]) + relative
        opened = opening(block.id, 4 + len(laces) + sum(sizes)) + told + bytes([simple | lacing]) + laces
        same = self.at(block.start, edges[0] - block.start) == opened
        head = Part("structure", "matroska.block", block.start, edges[0], None if same else opened)
        self.parts.insert(place, head)
        self.timing.update(told)
        played = time + int.from_bytes(relative, "big", signed=True)
        after = self._played(found[0], played, played, block.start)
        return _Kept(track.number, len(opened) + sum(sizes), sum(longest for _, longest in lengths), after)

    def _frame(self, number: int, start: int, end: int) -> tuple[int, int]:
        """Note a frame of a track; how many bytes of it are in the clean file, and how long it can be, in ns."""
        track = self.tracks[number]
        looker, lead = track.coding.frames, track.lead
        first = (lead or self.at(start, min(1, end - start)))[:1]
        longest = track.longest(first[0] if first else 0)
        if start == end or (looker is None and not lead):
            self.parts.append(Part("payload", "matroska.frames", start, end))
            return end - start, longest
        frame = clean = lead + self.body(Element(0, start, start, end))
        if isinstance(looker, WavPack):
            parts = looker.parts(frame, start)
            self.parts += parts
            self.bits.update(["unknown.matroska.flag"] * looker.flagged)
            kept = (part for part in parts if part.kind == "payload")
            return sum(part.end - part.start if part.clean is None else len(part.clean) for part in kept), longest
        if looker is not None and any(True for _ in looker.odd(frame, (0,), (len(frame),))):
            clean = looker.cleaned(frame)
            if clean is frame:  # it may be no frame at all
                refuse_tails(frame, (0,), (len(frame),))
        if number in self.heard:
            self.heard[number].append((start, clean))
        clean = self.changed.get(start, clean)
        stop = min(start + max(0, len(clean) - len(lead)), end)
        whole = frame.startswith(clean)
        self.parts.append(Part("payload", "matroska.frames", start, stop, None if whole and not lead else clean))
        if looker is not None and stop < end:
            kind, _, what = looker.name.partition(".")
            self.parts.append(Part(kind, f"matroska.{what}", stop, end, b""))
        elif looker is not None and not whole and start not in self.changed:
            kind, _, what = looker.name.partition(".")
            self.bits.add(f"{kind}.matroska.{what}")
        return len(clean), longest

    # --- the clean file ---

    def _made(self) -> tuple[bytes, bytes]:
        """All that comes before the clusters in the clean file, and the index behind them."""
        versions = ((0x4286, 1), (0x42F7, 1), (0x42F2, 4), (0x42F3, 8), (0x4287, 4), (0x4285, 2))
        before = [unsigned(*pair) for pair in versions]
        declaration = make(_EBML, *before[:4], make(_KIND, self.kind), *before[4:])
        info = make(_INFO, unsigned(_SCALE, self.scale), self._duration(), make(MUXER), make(WRITER))
        tracks = make(
            _TRACKS,
            *(
                make(0xAE, unsigned(_NUMBER, track.number), unsigned(UID, track.number), track.entry)
                for track in self.tracks.values()
            ),
        )
        base = len(info) + len(tracks)
        sound = sum(length for _, _, length in self.clusters)
        seek = index = b""
        if self.indexed and self.clusters:
            seek, index = indexed(self.clusters, base)
        return declaration + opening(SEGMENT, len(seek) + base + sound + len(index)) + seek + info + tracks, index


def _float(data: bytes) -> float:
    found: float = struct.unpack(">f" if len(data) == 4 else ">d", data)[0]
    return found


def _of_a_sample(time: int, rate: int) -> int:
    """The time in ns that the sample nearest to `time` has."""
    samples = (2 * time * rate + _SECOND) // (2 * _SECOND)
    return (2 * samples * _SECOND + rate) // (2 * rate)


def _packed() -> Unreadable:
    return Unreadable(
        "its frames are packed in a way that is not supported; write it anew without, by `ffmpeg -c copy` or by "
        "`mkvmerge --compression -1:none`"
    )
