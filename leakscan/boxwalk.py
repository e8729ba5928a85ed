"""Walking over the boxes of an MP4 or QuickTime file, and noting what each byte of it is.

Sources: ISO/IEC 14496-12 section 4.2 (boxes), the QuickTime File Format (user data), 3GPP TS 26.244 section 8 (texts
in user data).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from leakscan import ledgers
from leakscan.blocks import at, cut, damaged, glued, id3_size, peel, size_of
from leakscan.boxes import number
from leakscan.decoders import field
from leakscan.model import Part, Unreadable

_FREE = (b"free", b"skip", b"wide")
_TOP = (b"ftyp", b"moov", b"mdat", b"moof", b"mfra", b"sidx", b"ssix", b"styp", b"emsg", b"prft", b"meta", b"uuid")
_KNOWN = (*_TOP, *_FREE, b"udta", b"pdin", b"pnot", b"PICT", b"bloc")  # a box of another kind that is cut is no box
_BOXES = 200_000  # in one box or at the top; an hour in fragments of one second has 7,200


class Box(NamedTuple):
    """A box: its kind, and where it, its body and the next one begin."""

    kind: bytes
    start: int
    body: int
    end: int


def _cut(box: Box, end: int) -> Unreadable:
    name = box.kind.decode("ascii") if box.kind.isalnum() else "of no known type"
    return cut(f"its box {name} at byte {box.start:,} needs {box.end:,} bytes, {end:,} are there")


_TEXTS = {
    **dict.fromkeys((b"titl", b"auth", b"perf", b"gnre", b"dscp", b"cprt", b"albm"), 6),
    **{
        b"\xa9" + kind: 4 for kind in b"nam ART alb day cmt gen wrt cpy too swr enc xyz inf key lyr req fmt mak".split()
    },
    b"name": 0,
}
"""Boxes in user data that hold one text, and how many bytes stand before it."""

_ORDER_MARKS = (b"\xfe\xff", b"\xff\xfe")  # of UTF-16


_VERSIONS: dict[bytes, tuple[int, ...]] = dict.fromkeys(
    b"mvhd mdhd elst hdlr smhd dref stsd stts stss ctts stsc stsz stz2 stco co64 mehd sgpd sbgp".split(), (0, 1 << 24)
)
"""What boxes begin with that have a version and flags that are of no use for sound."""
_VERSIONS[b"tkhd"] = tuple(version | flags for version in (0, 1 << 24) for flags in range(16))


class Walk:
    """Takes a file apart box by box and notes what its bytes are; `seen` are samples that need not be looked into."""

    def __init__(self, stream: BinaryIO, seen: ledgers.Seen = ledgers.NOTHING) -> None:
        self.stream = stream
        self.seen = seen
        self.parts: list[Part] = []
        self.lengths: list[float] = []  # that headers state, in seconds

    def lasts(self, body: bytes, end: int, width: int, timescale: int) -> None:
        """Note the length that a header states in `width` bytes before `end`; all ones do not state one."""
        length = number(body, end - width, width)
        if length + 1 < 1 << 8 * width:
            self.lengths.append(length / timescale)

    def boxes(self, start: int, end: int) -> Iterator[Box]:
        """The boxes between `start` and `end`.  Raises Unreadable where one does not end within."""
        for box in self._boxes(start, end, end):
            if box.end > end:
                raise _cut(box, end)
            yield box

    def _boxes(self, start: int, end: int, open_end: int) -> Iterator[Box]:
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
            yield Box(kind, start, body, start + size if size >= body - start else end + 1)
            start += size

    def top(self) -> Iterator[Box]:
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

    def body(self, box: Box) -> bytes:
        return at(self.stream, box.body, box.end - box.body)

    def header(self, start: int, end: int) -> None:
        """Note bytes that a decoder needs and finds in the header of the clean file."""
        self.parts.append(Part("structure", "mp4.header", start, end, b""))

    def known(self, box: Box, length: int, odd: Iterable[Part] = ()) -> None:
        """Note a box of which `length` bytes of the body are understood; `odd` in it count from there."""
        offset, end = box.start, min(box.body + length, box.end)
        for part in sorted((*self._version(box), *odd), key=lambda part: part.start):
            start = box.body + part.start
            self.header(offset, start)
            offset = box.body + part.end
            self.parts.append(part._replace(name=f"mp4.{part.name}", start=start, end=offset))
        self.header(offset, max(offset, end))

    def counted(self, box: Box, count: int) -> None:
        """Note what a box begins with that holds so many others: its version, flags, and their number."""
        right = int.from_bytes(at(self.stream, box.body + 4, 4), "big") == count
        self.known(box, 8, [] if right else [Part("unknown", "count", 4, 8, b"")])

    def _version(self, box: Box) -> list[Part]:
        """The part that a version, and flags, are which boxes of this kind do not have."""
        usual = _VERSIONS.get(box.kind)
        known = usual is None or int.from_bytes(at(self.stream, box.body, 4), "big") in usual
        return [] if known else [Part("unknown", "version", 0, 4, b"")]

    def children(self, parent: Box, *allowed: bytes, start: int = 0) -> dict[bytes, list[Box]]:
        """The boxes in another one, from `start` of its body on; those not `allowed` are noted as extras."""
        self.known(parent, start)
        found: dict[bytes, list[Box]] = {}
        for box in self.boxes(parent.body + start, parent.end):
            if box.kind in allowed:
                found.setdefault(box.kind, []).append(box)
            else:
                self.extra(box)
        return found

    def extra(self, box: Box, parent: bytes = b"") -> None:
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
            self.known(box, box.end - box.body, writer(self.body(box)))
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
        elif parent == b"udta" and box.kind == b"chpl":
            self.header(box.start, box.body)
            self.parts.append(Part("tag", "mp4.chpl", box.body, box.end, b"", "chpl"))
        elif parent == b"udta":
            self.parts.append(Part("tag", "mp4.udta", box.start, box.end, b""))
        elif box.kind == b"prft":
            self.parts.append(Part("date", "mp4.prft", box.start, box.end, b""))
        else:
            name = box.kind.decode("ascii") if box.kind in (b"uuid", b"meta", b"ID32", b"emsg", b"sidx") else "box"
            self.parts.append(Part("unknown", f"mp4.{name}", box.start, box.end, b""))


def writer(body: bytes) -> list[Part]:
    """The parts of `hdlr` that say who wrote it: anything but the type of the handler."""
    odd = [] if body[4:8] in (b"mhlr", b"dhlr") else field("encoder", "handler", body, 4, 8)
    writer = body[12:].strip(b"\x00")
    return odd if writer in (b"", b"appl") else [*odd, Part("encoder", "handler", 12, len(body), b"")]


def only(found: dict[bytes, list[Box]], *kinds: bytes) -> list[Box]:
    """One box of each kind.  Raises Unreadable where there are more or none."""
    for kind in kinds:
        if len(found.get(kind, ())) != 1:
            raise damaged(f"{len(found.get(kind, ()))} boxes {kind.decode('ascii').strip()} where one has to be")
    return [found[kind][0] for kind in kinds]
