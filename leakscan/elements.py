"""Elements of a Matroska or WebM file, walked: what they are is noted as parts of its ledger.

Sources: RFC 8794 (EBML), RFC 9559 (Matroska) section 5.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import BinaryIO, NamedTuple

from leakscan import ledgers
from leakscan.blocks import at, cut, damaged, size_of
from leakscan.clusters import CLUSTER
from leakscan.ebml import HEAD, head
from leakscan.model import Part, Unreadable

SEGMENT, VOID, CRC = 0x18538067, 0xEC, 0xBF
CHAPTERS, TAGS, ATTACHMENTS = 0x1043A770, 0x1254C367, 0x1941A469
NAME, CODEC_NAME, UID = 0x536E, 0x258688, 0x73C5  # of a track
WINDOW = 1 << 20
"""Bytes that are read at once, of blocks and of what a checksum is about, where the file is not held whole."""

_ELEMENTS = 100_000  # and one for every 16 bytes of the file
_SMALL = 1 << 24  # bytes; what describes a decoder is smaller, and so are frames
_AHEAD = 1 << 14  # bytes of elements read at once
_WHOLE = 1 << 25  # bytes of a file that is held whole, as most are; of a stream in memory that is no copy

_TITLE, MUXER, WRITER = 0x7BA9, 0x4D80, 0x5741
_TEXTS = {
    _TITLE: ("tag", "title"),
    MUXER: ("encoder", "encoder"),
    WRITER: ("encoder", "encoder"),
    NAME: ("tag", "name"),
    CODEC_NAME: ("tag", "codec"),
    0x7384: ("tag", "filename"),
    0x3C83AB: ("tag", "filename"),
    0x3E83BB: ("tag", "filename"),
    0x466E: ("tag", "filename"),  # of an attachment
    0x467E: ("tag", "description"),
    0x85: ("tag", "chapter"),
}
"""Elements that hold a text that someone reads."""

_UNUSED_ENTRY = re.compile(
    rb"\x01\0{6}\x12\x53\xab\x84(?:%b)\x53\xac\x88\xff{8}"
    % b"|".join(re.escape(kind.to_bytes(4, "big")) for kind in (CHAPTERS, TAGS))
)
"""What is left of an entry of an index, to nowhere, that GStreamer turned into a void."""

_USUAL_NAMES = (b"Audio", b"Audio\0")  # of a track, by GStreamer

_SERIALS = (0x73A4, 0x3CB923, 0x3EB923, 0x4444, UID, 0x63C5, 0x63C4, 0x63C9, 0x63C6, 0x46AE, 0x45BC, 0x45BD, 0x73C4)
_DATE = 0x4461
_HOLDERS = (TAGS, 0x7373, 0x63C0, 0x67C8, ATTACHMENTS, 0x61A7, CHAPTERS, 0x45B9, 0xB6, 0x80)
_SIMPLE_TAG, _TAG_NAME, _TAG_TEXT = 0x67C8, 0x45A3, 0x4487
_KNOWN_TAGS = {
    name.upper().encode(): name
    for name in (
        "title artist album date comment genre composer performer lyrics bpm isrc copyright encoder publisher label "
        "barcode url description language mood duration track part_number date_released date_recorded date_tagged "
        "lyricist conductor arranger producer remixed_by encoded_by encoder_settings catalog_number initial_key "
        "original_media_type sound_engineer keywords summary synopsis rating license purchased encoder_options"
    ).split()
}
_NUMBER = re.compile(rb"\d{1,15}\0*")
_STATISTICS: dict[bytes, tuple[str, str, re.Pattern[bytes]]] = {
    **dict.fromkeys((b"BPS", b"BITSPS", b"NUMBER_OF_FRAMES", b"NUMBER_OF_BYTES"), ("encoder", "statistics", _NUMBER)),
    b"DURATION": ("encoder", "statistics", re.compile(rb"\d\d:\d\d:\d\d\.\d{9}\0*")),
    b"_STATISTICS_TAGS": ("encoder", "statistics", re.compile(rb"(?:BPS|DURATION|NUMBER_OF_(?:FRAMES|BYTES)|[ \0])*")),
    b"_STATISTICS_WRITING_DATE_UTC": ("date", "date", re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\0*")),
}
"""What mkvmerge, ffmpeg and GStreamer count of every track, and how it reads: none of it is about the recording."""

_NONE = ("tag", "other", re.compile(rb"(?!)"))
_STATISTICIAN = b"_STATISTICS_WRITING_APP"


class Element(NamedTuple):
    id: int
    start: int
    body: int
    end: int
    sized: bool = True


class Walk:
    """Takes a file apart element by element and notes what its bytes are in `parts`."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.parts: list[Part] = []
        self.size = size_of(stream)
        self.left = _ELEMENTS + self.size // 16
        self.whole = self.size <= _WHOLE  # is it held whole?
        self.base, self.data = 0, b""  # a window of the file

    def at(self, start: int, count: int) -> bytes:
        """Up to `count` bytes from `start`."""
        if not self.base <= start <= self.base + len(self.data) - min(count, self.size - start):
            if count > _AHEAD and not self.whole:
                return at(self.stream, start, count)
            self.look(start, _AHEAD)
        offset = start - self.base
        return self.data[offset : offset + count]

    def look(self, start: int, count: int) -> None:
        """Move the window; one in which the whole file is stays."""
        if not self.whole:
            self.base, self.data = start, at(self.stream, start, count)
        elif not self.data:
            self.data = at(self.stream, 0, self.size)

    def element(self, start: int, end: int, open_end: int | None = None) -> Element | None:
        """The element at `start`, None where there are no bytes up to `end` or others; one of no known size is to
        `open_end`."""
        if start >= end:
            return None
        self.left -= 1
        if self.left < 0:
            raise damaged("more elements in it than sound needs")
        found = head(self.at(start, min(HEAD, end - start)))
        if found is None:
            return None
        kind, length, width = found
        body = start + width
        if length is not None:
            return Element(kind, start, body, body + length)
        if kind not in (SEGMENT, CLUSTER):
            raise damaged(f"an element at byte {start:,} does not say how long it is")
        return Element(kind, start, body, end if open_end is None else open_end, False)

    def elements(self, start: int, end: int, open_end: int | None = None) -> Iterator[Element]:
        """The elements between `start` and `end`, up to bytes that are none."""
        while (element := self.element(start, end, open_end)) is not None:
            yield element
            start = element.end

    def children(self, parent: Element) -> Iterator[Element]:
        """The elements in another one but for a checksum.  Raises Unreadable where one does not end within."""
        for element in self.elements(parent.body, parent.end):
            if element.end > parent.end:
                raise too_short(element.end, parent.end)
            if not self.checked(element, parent):
                yield element

    def fields(self, parent: Element, once: Collection[int]) -> Iterator[Element]:
        """The same; raises Unreadable, too, where one of those is there again: readers may take either."""
        seen = set()
        for element in self.children(parent):
            if element.id in seen:
                raise damaged(f"an element at byte {element.start:,} is there twice")
            if element.id in once:
                seen.add(element.id)
            yield element

    def body(self, element: Element, limit: int = _SMALL) -> bytes:
        if element.end - element.body > limit:
            raise damaged(f"an element at byte {element.start:,} is larger than it can be")
        return self.at(element.body, element.end - element.body)

    def number(self, element: Element, most: int | None = None, name: str = "number") -> int | None:
        """The number that an element is; None, and an extra, where it is above `most`."""
        value = int.from_bytes(self.body(element, 8), "big")
        if most is None or value <= most:
            self.drop(element.start, element.end)
            return value
        self.note("unknown", name, element)
        return None

    def text(self, element: Element) -> bytes:
        """A text up to its NUL, if it has one; zeros may follow."""
        text, _, rest = self.body(element).partition(b"\x00")
        end = element.end - len(rest)
        self.drop(element.start, end)
        if rest:
            self.parts.append(ledgers.gap(self.stream, "matroska", end, element.end))
        return text

    def checked(self, element: Element, parent: Element) -> bool:
        """Note a checksum, which says nothing where it is right; whether the element is one."""
        if element.id != CRC or element.end - element.body != 4:
            return False
        from fastcrc.crc32 import iso_hdlc

        crc = 0
        for start, end in ((parent.body, element.start), (element.end, parent.end)):
            for offset in range(start, end, WINDOW):
                crc = iso_hdlc(self.at(offset, min(WINDOW, end - offset)), crc)
        if int.from_bytes(self.body(element), "little") == crc:
            self.drop(element.start, element.end)
        else:
            self.note("stale", "checksum", element)
        return True

    def drop(self, start: int, end: int) -> None:
        """Note bytes that a decoder needs and finds in what is made anew."""
        self.parts.append(Part("structure", "matroska.header", start, end, b""))

    def note(self, kind: str, name: str, element: Element, reader: str = "") -> None:
        """Note the body of an element as an extra; nothing where it is empty."""
        self.drop(element.start, element.body)
        if element.end > element.body:
            self.parts.append(Part(kind, f"matroska.{name}", element.body, element.end, b"", reader))

    def extra(self, element: Element, depth: int = 0) -> None:
        """Note an element that no decoder needs; those that hold others are opened."""
        if element.id == VOID and _UNUSED_ENTRY.fullmatch(self.at(element.body, min(element.end - element.body, 32))):
            self.note("encoder", "void", element)
        elif element.id == VOID:
            self.drop(element.start, element.body)
            self.parts.append(ledgers.gap(self.stream, "matroska", element.body, element.end, "matroska.void"))
        elif element.id == NAME and self.at(element.body, min(element.end - element.body, 7)) in _USUAL_NAMES:
            self.note("encoder", "name", element)
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

    def _tag(self, element: Element, depth: int) -> None:
        """A name and a text, and tags below it."""
        self.drop(element.start, element.body)
        key = b""
        for child in self.children(element):
            if child.id == _TAG_NAME:
                key = self.at(child.body, min(child.end - child.body, 64)).strip(b"\x00").upper()
                if key in _KNOWN_TAGS or key in _STATISTICS or key == _STATISTICIAN:
                    self.drop(child.start, child.end)
                else:
                    self.note("tag", "other", child, ledgers.STRING)
            elif child.id == _TAG_TEXT:
                kind, name, usual = _STATISTICS.get(key, _NONE)
                if usual.fullmatch(self.at(child.body, min(child.end - child.body, 256))):
                    self.note(kind, name, child)
                elif key == _STATISTICIAN:
                    self.note("encoder", "encoder", child, ledgers.STRING)
                else:
                    self.note("tag", _KNOWN_TAGS.get(key, "other"), child, ledgers.STRING)
            else:
                self.extra(child, depth + 1)


def too_short(needed: int, end: int) -> Unreadable:
    return cut(f"an element in it needs {needed:,} bytes, {end:,} are there")
