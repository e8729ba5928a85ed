"""Matroska and WebM audio: `.mka`, `.webm`, `.mkv`.

The clean file has one form: a header made anew from what a decoder needs, the clusters with the blocks of the sound
tracks in their order, and an index where there was one.
Sources: RFC 9559 (Matroska) sections 5 (elements), 10 (blocks), RFC 8794 (EBML), the Matroska codec specifications
(what CodecPrivate holds), the Vorbis I specification section 4.2.
Not looked at: bytes after the end of a Vorbis setup header, text inside the frames of other codecs than AAC.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from leakscan import decoders, ledgers
from leakscan.blocks import at, cut, damaged, glued, peel, size_of
from leakscan.clusters import BLOCK, CLUSTER, DURATION, GROUP, LACED, LEAST, SIMPLE_BLOCK, Blocks, blocks
from leakscan.ebml import HEAD, head, make, opening, size, unsigned
from leakscan.fills import STARTS, blanked
from leakscan.model import Entry, Item, Ledger, Part, Unreadable

AUDIO = True
NAMES = (".mka", ".webm", ".mkv", ".weba")

_MAGIC = b"\x1a\x45\xdf\xa3"
_EBML, _SEGMENT, _VOID, _CRC = 0x1A45DFA3, 0x18538067, 0xEC, 0xBF
_SEEK_HEAD, _INFO, _TRACKS, _CUES = 0x114D9B74, 0x1549A966, 0x1654AE6B, 0x1C53BB6B
_CHAPTERS, _TAGS, _ATTACHMENTS = 0x1043A770, 0x1254C367, 0x1941A469
_TOP = (_SEEK_HEAD, _INFO, _TRACKS, CLUSTER, _CUES, _CHAPTERS, _TAGS, _ATTACHMENTS)
_ELEMENTS = 100_000  # and one for every 16 bytes of the file
_AUDIO_TRACK = 2
_SMALL = 1 << 24  # bytes; what describes a decoder is smaller, and so are frames


class _Element(NamedTuple):
    id: int
    start: int
    body: int
    end: int
    sized: bool = True


def sniff(head: bytes) -> bool:
    """The four bytes of an EBML header."""
    return head.startswith(_MAGIC)


def read(entry: Entry) -> Iterator[Item]:
    """What a Matroska file says beside its sound.  Raises Unreadable where it is cut, none, or not supported."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Account for every byte.  Raises Unreadable, without a path, where it is cut, no Matroska, or not supported."""
    try:
        return _File(stream).ledger()
    except (ValueError, OverflowError) as error:  # from what takes descriptions of decoders apart
        raise damaged(str(error)) from error


# --- tracks ----------------------------------------------------------------------------------------------------------


class _Track(NamedTuple):
    """A sound track: its number in the clean file, its canonical entry without number, is it plain AAC?"""

    number: int
    entry: bytes
    aac: bool


_Config = Callable[[bytes], decoders.Config]


def _vorbis(data: bytes) -> decoders.Config:
    """Three headers: their count less one, the sizes of the first two, and they themselves; the second is a comment."""
    sizes: list[int] = []
    offset = 1
    for _ in range(2):
        length = 0
        while offset < len(data) and data[offset] == 255:
            length, offset = length + 255, offset + 1
        sizes.append(length + (data[offset] if offset < len(data) else 0))
        offset += 1
    start = offset + sizes[0]
    end = start + sizes[1]
    if (
        data[:1] != b"\2"
        or data[offset : offset + 7] != b"\1vorbis"
        or sizes[0] != 30
        or data[end : end + 7] != b"\5vorbis"
    ):
        raise ValueError("the description of its Vorbis decoder cannot be followed")
    empty = b"\3vorbis" + bytes(8) + b"\1"
    odd = [] if data[start:end] == empty else [Part("tag", "comment", start + 7, end, b"", "vorbis")]
    return b"\2\x1e\x10" + data[offset:start] + empty + data[end:], odd


def _moved(offset: int, before: bytes, config: decoders.Config) -> decoders.Config:
    clean, odd = config
    return before + clean, [part._replace(start=part.start + offset, end=part.end + offset) for part in odd]


def _flac(data: bytes) -> decoders.Config:
    if data[:4] != b"fLaC":
        raise ValueError("its FLAC stream does not begin with STREAMINFO")
    return _moved(4, b"fLaC", decoders.flac(data[4:]))


def _opus(data: bytes) -> decoders.Config:
    if data[:8] != b"OpusHead":
        raise ValueError("the description of its Opus decoder cannot be followed")
    return _moved(8, b"OpusHead", decoders.opus(data[8:], 10))


def _nothing(data: bytes) -> decoders.Config:
    return b"", decoders.field("unknown", "config", data, 0, len(data))


def _wavpack(data: bytes) -> decoders.Config:
    return data[:2], decoders.field("unknown", "config", data, 2, len(data))


_CODECS: dict[bytes, _Config] = {
    b"A_VORBIS": _vorbis,
    b"A_OPUS": _opus,
    b"A_FLAC": _flac,
    b"A_ALAC": decoders.alac,
    b"A_AAC": decoders.aac,
    b"A_WAVPACK4": _wavpack,
    **dict.fromkeys((b"A_MPEG/L1", b"A_MPEG/L2", b"A_MPEG/L3", b"A_AC3", b"A_EAC3", b"A_DTS"), _nothing),
    **dict.fromkeys((b"A_PCM/INT/LIT", b"A_PCM/INT/BIG", b"A_PCM/FLOAT/IEEE"), _nothing),
}

_KIND = 0x4282
_LIMITS = {0x4286: 1 << 63, 0x42F7: 1, 0x42F2: 4, 0x42F3: 8, 0x4287: 1 << 63, 0x4285: 4}
"""Numbers in the EBML header, and up to what they are supported."""

_NUMBER, _UID, _TYPE, _CODEC, _PRIVATE, _LANGUAGE = 0xD7, 0x73C5, 0x83, 0x86, 0x63A2, 0x22B59C
_LANGUAGE_BCP, _NAME, _CODEC_NAME, _SOUND, _ENCODINGS = 0x22B59D, 0x536E, 0x258688, 0xE1, 0x6D80
_NUMBERS = {0x88: 1, 0xB9: 1, 0x9C: 1, 0x23E383: 0, 0x56AA: 0, 0x56BB: 0}
"""What a track keeps (default, enabled, laced, duration of a frame, delay, preroll), and what it is when left out."""
_UNUSED = (0x55EE, 0x6DE7, 0x6DF8, 0xAA, 0x55AA)  # largest addition, caches, decode all, forced
_SOUND_NUMBERS, _SOUND_RATES = (0x9F, 0x6264), (0xB5, 0x78B5)  # channels and bits; rates
_PACKING, _PACKING_NUMBERS, _LEFT_OUT, _ENCRYPTION = (0x6240, 0x5034), (0x5031, 0x5032, 0x5033, 0x4254), 0x4255, 0x5035
_DISCARD = 0x75A2
_WINDOW = 1 << 19  # bytes of blocks read at once
_AHEAD = 1 << 14  # and of other elements
_INDEX, _POSITIONS = (0x4DBB, 0xBB, 0xB7), (0x53AB, 0x53AC, 0xB3, 0xF7, 0xF1, 0xF0, 0xB2, 0x5378)
_TRACK_LIMIT = 126  # as many numbers have one byte

_TITLE, _MUXER, _WRITER = 0x7BA9, 0x4D80, 0x5741
_TEXTS = {
    _TITLE: ("tag", "title"),
    _MUXER: ("encoder", "encoder"),
    _WRITER: ("encoder", "encoder"),
    _NAME: ("tag", "name"),
    _CODEC_NAME: ("tag", "codec"),
    0x7384: ("tag", "filename"),
    0x3C83AB: ("tag", "filename"),
    0x3E83BB: ("tag", "filename"),
    0x466E: ("tag", "filename"),  # of an attachment
    0x467E: ("tag", "description"),
    0x85: ("tag", "chapter"),
}
"""Elements that hold a text that someone reads."""

_SERIALS = (0x73A4, 0x3CB923, 0x3EB923, 0x4444, _UID, 0x63C5, 0x63C4, 0x63C9, 0x63C6, 0x46AE, 0x45BC, 0x45BD, 0x73C4)
_DATE = 0x4461
_HOLDERS = (_TAGS, 0x7373, 0x63C0, 0x67C8, _ATTACHMENTS, 0x61A7, _CHAPTERS, 0x45B9, 0xB6, 0x80)
_SIMPLE_TAG, _TAG_NAME, _TAG_TEXT = 0x67C8, 0x45A3, 0x4487
_KNOWN_TAGS = {
    name.upper().encode(): name
    for name in (
        "title artist album date comment genre composer performer lyrics bpm isrc copyright encoder publisher label "
        "barcode url description language mood duration track part_number date_released date_recorded date_tagged "
        "lyricist conductor arranger producer remixed_by encoded_by encoder_settings catalog_number initial_key "
        "original_media_type sound_engineer keywords summary synopsis rating license purchased"
    ).split()
}


class _File:
    """Takes a file apart element by element and notes what its bytes are."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.parts: list[Part] = []
        self.left = _ELEMENTS + size_of(stream) // 16
        self.kind = b""
        self.scale = 1_000_000
        self.duration = b""
        self.tracks: dict[int, _Track] = {}
        self.bits: set[str] = set()
        self.clusters: list[tuple[int, int, int]] = []  # time, track of the first block, length in the clean file
        self.timing = hashlib.sha256()
        self.indexed = False
        self.usual: dict[int, bool] = {}  # the tracks whose number stays
        self.base, self.data = 0, b""  # a window of the file
        self.found: Blocks | None = None  # the usual blocks in it

    def ledger(self) -> Ledger:
        """The account of the whole file."""
        peeled = peel(self.stream)
        end = size_of(self.stream)
        segment = None
        reached = peeled.start
        for element in self.elements(peeled.start, end, peeled.end):
            if element.id == _EBML and not self.kind:
                self._declaration(element)
            elif element.id == _SEGMENT and segment is None and self.kind:
                if element.end > peeled.end and element.end != end:
                    raise _cut(element.end, peeled.end)
                segment = element
                self._segment(element)
            elif element.end > peeled.end or (element.id not in (_VOID, _CRC) and segment is None):
                break  # no element, but other bytes
            else:
                self.extra(element)
            reached = element.end
        if segment is None:
            raise cut("no segment in it")
        tags = tuple(tag for tag in peeled.tags if tag.end <= peeled.start or tag.start >= reached)
        self.parts.extend(glued("matroska", peeled._replace(tags=tags)))  # others end the segment only by chance
        opened, index = self._made()
        self.parts.append(Part("structure", "matroska.header", 0, 0, opened))
        self.parts.append(Part("structure", "matroska.index", segment.end, segment.end, index))
        return ledgers.ledger(self.stream, "matroska", self.parts, self._parameters(), sorted(self.bits))

    def _parameters(self) -> Iterator[tuple[str, str]]:
        yield "scale", str(self.scale)
        for track in self.tracks.values():
            yield "decoder", hashlib.sha256(track.entry).hexdigest()
        yield "times", self.timing.hexdigest()

    # --- walking ---

    def at(self, start: int, count: int) -> bytes:
        """Up to `count` bytes from `start`."""
        offset = start - self.base
        if not 0 <= offset <= len(self.data) - count:
            if count > _AHEAD:
                return at(self.stream, start, count)
            self.look(start, _AHEAD)
            offset = 0
        return self.data[offset : offset + count]

    def look(self, start: int, count: int) -> None:
        """Move the window."""
        self.base, self.data, self.found = start, at(self.stream, start, count), None

    def elements(self, start: int, end: int, open_end: int | None = None) -> Iterator[_Element]:
        """The elements between `start` and `end`, up to bytes that are none; one of no known size is to `open_end`."""
        while start < end:
            self.left -= 1
            if self.left < 0:
                raise damaged("more elements in it than sound needs")
            found = head(self.at(start, min(HEAD, end - start)))
            if found is None:
                return
            kind, length, width = found
            if length is None:
                if kind not in (_SEGMENT, CLUSTER):
                    raise damaged(f"an element at byte {start:,} does not say how long it is")
                length = (end if open_end is None else open_end) - start - width
            yield _Element(kind, start, start + width, start + width + length, found[1] is not None)
            start += width + length

    def children(self, parent: _Element) -> Iterator[_Element]:
        """The elements in another one.  Raises Unreadable where one does not end within."""
        for element in self.elements(parent.body, parent.end):
            if element.end > parent.end:
                raise _cut(element.end, parent.end)
            yield element

    def body(self, element: _Element, limit: int = _SMALL) -> bytes:
        if element.end - element.body > limit:
            raise damaged(f"an element at byte {element.start:,} is larger than it can be")
        return self.at(element.body, element.end - element.body)

    def number(self, element: _Element) -> int:
        self.drop(element.start, element.end)
        return int.from_bytes(self.body(element, 8), "big")

    def text(self, element: _Element) -> bytes:
        """A text up to its NUL, if it has one; zeros may follow."""
        text, _, rest = self.body(element).partition(b"\x00")
        end = element.end - len(rest)
        self.drop(element.start, end)
        if rest:
            self.parts.append(ledgers.gap(self.stream, "matroska", end, element.end))
        return text

    def drop(self, start: int, end: int) -> None:
        """Note bytes that a decoder needs and finds in what is made anew."""
        self.parts.append(Part("structure", "matroska.header", start, end, b""))

    def note(self, kind: str, name: str, element: _Element, reader: str = "") -> None:
        """Note the body of an element as an extra; nothing where it is empty."""
        self.drop(element.start, element.body)
        if element.end > element.body:
            self.parts.append(Part(kind, f"matroska.{name}", element.body, element.end, b"", reader))

    def extra(self, element: _Element, depth: int = 0) -> None:
        """Note an element that no decoder needs; those that hold others are opened."""
        if element.id == _VOID:
            self.drop(element.start, element.body)
            self.parts.append(ledgers.gap(self.stream, "matroska", element.body, element.end, "matroska.void"))
        elif element.id == _CRC and element.end - element.body == 4:
            self.drop(element.start, element.end)
        elif element.id in _TEXTS:
            self.note(*_TEXTS[element.id], element, ledgers.STRING)
        elif element.id in _SERIALS:
            self.note("serial", "uid", element)
        elif element.id == _DATE:
            self.note("date", "date", element)
        elif element.id == _SIMPLE_TAG and depth < 8:
            self._tag(element, depth)
        elif element.id in _HOLDERS and depth < 8:
            self.drop(element.start, element.body)
            for child in self.children(element):
                self.extra(child, depth + 1)
        else:
            self.parts.append(Part("tag" if depth else "unknown", "matroska.element", element.start, element.end, b""))

    def _tag(self, element: _Element, depth: int) -> None:
        """A name and a text, and tags below it."""
        self.drop(element.start, element.body)
        name = "other"
        for child in self.children(element):
            if child.id == _TAG_NAME:
                key = self.at(child.body, min(child.end - child.body, 64))
                name = _KNOWN_TAGS.get(key.strip(b"\x00").upper(), "other")
                if name == "other":
                    self.note("tag", "other", child, ledgers.STRING)
                else:
                    self.drop(child.start, child.end)
            elif child.id == _TAG_TEXT:
                self.note("tag", name, child, ledgers.STRING)
            else:
                self.extra(child, depth + 1)

    # --- the header ---

    def _declaration(self, element: _Element) -> None:
        self.drop(element.start, element.body)
        for child in self.children(element):
            if child.id == _KIND:
                self.kind = self.text(child)
            elif child.id in _LIMITS:
                if self.number(child) > _LIMITS[child.id]:
                    raise damaged("it needs a newer reader")
            else:
                self.extra(child)
        if self.kind not in (b"matroska", b"webm"):
            raise Unreadable("is of another kind than Matroska and WebM; convert it to one that is supported")

    def _segment(self, segment: _Element) -> None:
        informed = False
        self.drop(segment.start, segment.body)
        offset = segment.body
        while (element := next(self.elements(offset, segment.end), None)) is not None:
            if element.end > segment.end:
                if not segment.sized and element.id not in _TOP:
                    break  # other bytes behind a file that was streamed
                raise _cut(element.end, segment.end)
            offset = element.end
            if element.id == CLUSTER:
                offset = self._cluster(element)
            elif element.id == _INFO and not informed:
                informed = True
                self._info(element)
            elif element.id == _TRACKS and not self.tracks:
                self._tracks(element)
            elif element.id in (_SEEK_HEAD, _CUES):
                self.indexed |= element.id == _CUES
                self._index(element)
            else:
                self.extra(element)
        if not self.tracks:
            raise cut("no track in it")

    def _index(self, element: _Element, depth: int = 0) -> None:
        """An index is made anew; what it holds beside positions and times is an extra."""
        self.drop(element.start, element.body)
        for child in self.children(element):
            if child.id in _INDEX and depth < 3:
                self._index(child, depth + 1)
            elif child.id in _POSITIONS and child.end - child.body <= 8:
                self.drop(child.start, child.end)
            else:
                self.extra(child)

    def _info(self, element: _Element) -> None:
        self.drop(element.start, element.body)
        for child in self.children(element):
            if child.id == 0x2AD7B1:
                self.scale = self.number(child)
            elif child.id == 0x4489 and child.end - child.body in (4, 8):
                self.duration = make(child.id, self.body(child))
                self.drop(child.start, child.end)
            else:
                self.extra(child)

    def _tracks(self, element: _Element) -> None:
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
        self.usual = {0x80 | own: track.aac for own, track in self.tracks.items() if own == track.number}

    def _type(self, entry: _Element) -> int:
        for child in self.children(entry):
            if child.id == _TYPE:
                return int.from_bytes(self.body(child, 8), "big")
        return 0

    def _track(self, entry: _Element) -> None:
        number = len(self.tracks) + 1
        self.drop(entry.start, entry.body)
        own, codec, private = 0, b"", None
        kept: dict[int, bytes] = {}
        for child in self.children(entry):
            if child.id == _NUMBER:
                own = self.number(child)
            elif child.id in _NUMBERS:
                value = self.number(child)
                kept[child.id] = b"" if value == _NUMBERS[child.id] else unsigned(child.id, value)
            elif child.id == _TYPE or child.id in _UNUSED:
                self.number(child)
            elif child.id == _UID and int.from_bytes(self.body(child, 8), "big") == number:
                self.drop(child.start, child.end)
            elif child.id == _CODEC:
                codec = self.text(child)
            elif child.id == _PRIVATE and private is None:
                private = child
            elif child.id == _LANGUAGE and self.body(child, 64).rstrip(b"\x00") == b"und":
                self.drop(child.start, child.end)
            elif child.id in (_LANGUAGE, _LANGUAGE_BCP):
                self.note("tag", "language", child)
            elif child.id == _SOUND:
                kept[child.id] = self._sound(child)
            elif child.id == _ENCODINGS:
                kept[child.id] = self._encodings(child)
            else:
                self.extra(child)
        if codec not in _CODECS:
            raise Unreadable("its sound is in a coding that is not supported; convert it to one that is")
        config, odd = _CODECS[codec](b"" if private is None else self.body(private))
        if private is not None:
            self._known(private, odd)
        made = (
            make(_TYPE, bytes([_AUDIO_TRACK])),
            make(_CODEC, codec),
            make(_PRIVATE, config) if config else b"",
            make(_LANGUAGE, b"und"),
            *(kept[key] for key in sorted(kept)),
        )
        plain = codec == b"A_AAC" and decoders.is_plain_aac(config) and not kept.get(_ENCODINGS)
        if own in self.tracks or not own:
            raise damaged("two tracks in it have one number, or one has none")
        self.tracks[own] = _Track(number, b"".join(made), plain)

    def _known(self, element: _Element, odd: list[Part]) -> None:
        """Note an element that is understood but for some parts of its body."""
        offset = element.start
        for part in sorted(odd, key=lambda part: part.start):
            start = element.body + part.start
            self.drop(offset, start)
            offset = element.body + part.end
            self.parts.append(part._replace(name=f"matroska.{part.name}", start=start, end=offset))
        self.drop(offset, element.end)

    def _sound(self, element: _Element) -> bytes:
        self.drop(element.start, element.body)
        kept = {}
        for child in self.children(element):
            if child.id in _SOUND_NUMBERS:
                kept[child.id] = unsigned(child.id, self.number(child))
            elif child.id in _SOUND_RATES and child.end - child.body in (4, 8):
                kept[child.id] = make(child.id, self.body(child))
                self.drop(child.start, child.end)
            else:
                self.extra(child)
        return make(element.id, *(kept[key] for key in sorted(kept)))

    def _encodings(self, element: _Element, depth: int = 0) -> bytes:
        """How frames are packed, such as by leaving out the bytes that all begin with."""
        self.drop(element.start, element.body)
        kept = []
        for child in self.children(element):
            if child.id in _PACKING and depth < 2:
                kept.append(self._encodings(child, depth + 1))
            elif child.id == _ENCRYPTION:
                raise Unreadable("its sound is encrypted; put a copy without protection in its place")
            elif child.id in _PACKING_NUMBERS:
                kept.append(unsigned(child.id, self.number(child)))
            elif child.id == _LEFT_OUT:
                kept.append(make(child.id, self.body(child, 64)))
                self.drop(child.start, child.end)
            else:
                self.extra(child)
        return make(element.id, *kept)

    # --- clusters ---

    def _cluster(self, cluster: _Element) -> int:
        """Note a cluster with its blocks; where it ends."""
        if not self.tracks:
            raise damaged("sound in it comes before what describes it")
        place = len(self.parts)
        self.drop(cluster.start, cluster.body)
        time: int | None = None
        length = first = 0
        offset = cluster.body
        while offset < cluster.end:
            if time is not None:
                end, track = self._blocks(offset, cluster.end)
                first, length, offset = first or track, length + end - offset, end
            child = next(self.elements(offset, cluster.end), None)
            if child is None:
                break
            if not cluster.sized and child.id in _TOP:
                break
            if child.end > cluster.end:
                raise _cut(child.end, cluster.end)
            offset = child.end
            if child.id == 0xE7 and time is None:
                time = self.number(child)
            elif child.id in (SIMPLE_BLOCK, GROUP):
                if time is None:
                    raise damaged("sound in it has no time")
                track, added = (self._block if child.id == SIMPLE_BLOCK else self._group)(child)
                first, length = first or track, length + added
            elif child.id in (0xA7, 0xAB):  # where it is, how long the one before is
                self.number(child)
            else:
                self.extra(child)
        if length and time is not None:
            stamp = unsigned(0xE7, time)
            self.timing.update(stamp)
            opened = opening(CLUSTER, len(stamp) + length) + stamp
            self.parts[place] = self.parts[place]._replace(name="matroska.cluster", clean=opened)
            self.clusters.append((time, first, len(opened) + length))
        return offset if not cluster.sized else cluster.end

    def _blocks(self, start: int, end: int) -> tuple[int, int]:
        """Note the blocks from `start` on that are already as the clean file has them; where they end, and the track
        of the first, 0 where there are none.
        """
        first = 0
        while start < end:
            if self.found is None:
                self.look(start, _WINDOW)
                self.found = blocks(self.data, self.usual)
            offset = start - self.base
            run = self.found.run(offset, end - self.base)
            if run.start < run.stop:
                self.timing.update(self.found.times(run))
                self.parts.append(ledgers.woven("matroska.frames", self.base + self.found.bounds(run)))
                self.left -= run.stop - run.start
                start = self.parts[-1].end
                first = first or self.found.track(run)
            elif offset and (offset > len(self.data) - LEAST or offset in self.found.cut):
                self.found = None
            else:
                break
        return start, first

    def _group(self, group: _Element) -> tuple[int, int]:
        """Note a block with what is said of it; its track and its length in the clean file."""
        place = len(self.parts)
        self.drop(group.start, group.body)
        track = length = 0
        for child in self.children(group):
            if child.id == BLOCK:
                if length:
                    raise damaged("two blocks in one group")
                track, length = self._block(child)
                if not track:
                    self.parts[place:] = [Part("unknown", "matroska.track", group.start, group.end, b"")]
                    return 0, 0
            elif child.id in (DURATION, _DISCARD):
                pass
            elif child.id in (0xFB, 0xFA):  # references to other blocks; sound has none
                self.body(child, 8)
                self.drop(child.start, child.end)
            else:
                self.extra(child)
        if not track:
            raise damaged("a group of blocks without one")
        for child in self.children(group):
            if child.id in (DURATION, _DISCARD):
                value = int.from_bytes(self.body(child, 8), "big", signed=child.id == _DISCARD)
                width = max(1, ((value if value >= 0 else ~value).bit_length() + 8) // 8)
                made = (
                    unsigned(child.id, value)
                    if child.id == DURATION
                    else make(child.id, value.to_bytes(width, "big", signed=True))
                )
                self.timing.update(made)
                self.parts.append(Part("structure", "matroska.block", child.start, child.end, made))
                length += len(made)
        opened = opening(GROUP, length)
        self.parts[place] = self.parts[place]._replace(name="matroska.block", clean=opened)
        return track, len(opened) + length

    def _block(self, block: _Element) -> tuple[int, int]:
        """Note a block; its track, 0 where that is none of sound, and its length in the clean file."""
        data = self.at(block.body, min(12, block.end - block.body))
        found = size(data)
        if found is None or len(data) < found[1] + 3:
            raise damaged(f"a block at byte {block.start:,} is shorter than it has to be")
        track = self.tracks.get(found[0])
        if track is None:
            self.parts.append(Part("unknown", "matroska.track", block.start, block.end, b""))
            return 0, 0
        start = block.body + found[1] + 3
        relative, flags = data[found[1] : found[1] + 2], data[found[1] + 2]
        usual = (0x80 if block.id == SIMPLE_BLOCK else 0) | flags & LACED
        if flags != usual:
            self.bits.add("unknown.matroska.flags")
        opened = opening(block.id, 4 + block.end - start) + bytes([0x80 | track.number]) + relative + bytes([usual])
        same = self.at(block.start, start - block.start) == opened
        self.parts.append(Part("structure", "matroska.block", block.start, start, None if same else opened))
        self.timing.update(bytes([0x80 | track.number]) + relative)
        frame = data[found[1] + 3 :][:1]
        clean = None
        if track.aac and frame and not flags & LACED and frame[0] >> 5 in STARTS:
            frame = self.body(block)[found[1] + 3 :]
            if (masked := blanked(frame)) is not frame:
                clean = masked
                self.bits.add("encoder.matroska.fill")
        self.parts.append(Part("payload", "matroska.frames", start, block.end, clean))
        return track.number, len(opened) + block.end - start

    # --- the clean file ---

    def _made(self) -> tuple[bytes, bytes]:
        """All that comes before the clusters in the clean file, and the index behind them."""
        versions = ((0x4286, 1), (0x42F7, 1), (0x42F2, 4), (0x42F3, 8), (0x4287, 4), (0x4285, 2))
        before = [unsigned(*pair) for pair in versions]
        declaration = make(_EBML, *before[:4], make(_KIND, self.kind), *before[4:])
        info = make(_INFO, unsigned(0x2AD7B1, self.scale), self.duration, make(_MUXER), make(_WRITER))
        tracks = make(
            _TRACKS,
            *(
                make(0xAE, unsigned(_NUMBER, track.number), unsigned(_UID, track.number), track.entry)
                for track in self.tracks.values()
            ),
        )
        base = len(info) + len(tracks)
        sound = sum(length for _, _, length in self.clusters)
        seek = index = b""
        if self.indexed and self.clusters:
            name = make(0x53AB, _CUES.to_bytes(4, "big"))
            base += len(_seek(name, 0))
            seek = _seek(name, base + sound)
            points = []
            position = base
            for time, track, length in self.clusters:
                place = make(0xB7, unsigned(0xF7, track), unsigned(0xF1, position))
                points.append(make(0xBB, unsigned(0xB3, time), place))
                position += length
            index = make(_CUES, *points)
        return declaration + opening(_SEGMENT, base + sound + len(index)) + seek + info + tracks, index


def _seek(name: bytes, position: int) -> bytes:
    return make(_SEEK_HEAD, make(0x4DBB, name, make(0x53AC, position.to_bytes(8, "big"))))


def _cut(needed: int, end: int) -> Unreadable:
    return cut(f"an element in it needs {needed:,} bytes, {end:,} are there")
