"""MP4, M4A, ALAC and QuickTime audio: `.m4a`, `.mp4`.

Sources: ISO/IEC 14496-12 section 4.2 (boxes), 8.2 and 8.10 (moov, udta), the QuickTime File Format (user data).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from leakscan.blocks import at, audio_item, cut, damaged, peel
from leakscan.model import Entry, Item, Tags
from leakscan.tags import binary_text, read_tags, text_runs

AUDIO = True
NAMES = (".m4a", ".mp4", ".m4b", ".m4r", ".alac", ".mov", ".3gp")

_IMAGES = (b"avif", b"avis", b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"crx ")  # brands of still pictures
_OPENING = (b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")  # what QuickTime files without ftyp begin with
_BOXES = 200_000  # in one box or at the top; an hour in fragments of one second has 7,200
_DEPTH = 3  # moov/trak/udta
_HOLDERS = (b"moov", b"trak", b"udta")
_FREE = {b"free", b"skip", b"wide", b"uuid", b"meta"}  # may stand anywhere and hold anything


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
    """The tags of an MP4 file.  Raises Unreadable where it is cut or no MP4."""
    return audio_item(entry, _read)


def _read(stream: BinaryIO) -> Tags:
    peeled = peel(stream)
    tags = [pair for span in peeled.tags for pair in read_tags(stream, *span)]
    kinds = set()
    for box in _boxes(stream, peeled.start, peeled.end):
        kinds.add(box.kind)
        if box.kind in _HOLDERS:
            tags.extend(_below(stream, box, 1))
        elif box.kind in _FREE:
            tags.extend(_text(stream, box))
    if b"moov" not in kinds:
        raise cut("no moov box in it")
    return Tags("mp4", tuple(dict.fromkeys(tags)))


def _boxes(stream: BinaryIO, start: int, end: int) -> Iterator[_Box]:
    """The boxes between `start` and `end`, one after the other.  Raises Unreadable where one does not end within."""
    count = 0
    while end - start >= 8:
        count += 1
        if count > _BOXES:
            raise damaged(f"more than {_BOXES:,} boxes in one")
        head = at(stream, start, min(16, end - start))
        size, kind, body = int.from_bytes(head[:4], "big"), head[4:8], start + 8
        if size == 1:
            size, body = int.from_bytes(head[8:16], "big"), start + 16
        elif size == 0:
            size = end - start
        if not head.strip(b"\x00"):
            return  # zeros to fill up, as the end of a user data list has
        if size < body - start or start + size > end:
            name = kind.decode("ascii") if kind.isalnum() else "of no known type"
            raise cut(f"its box {name} at byte {start:,} needs {start + size:,} bytes, {end:,} are there")
        yield _Box(kind, start, body, start + size)
        start += size


def _below(stream: BinaryIO, parent: _Box, depth: int) -> Iterator[tuple[str, str]]:
    """The tags below `moov`, down to the user data of tracks."""
    for box in _boxes(stream, parent.body, parent.end):
        if box.kind in _HOLDERS and depth < _DEPTH:
            yield from _below(stream, box, depth + 1)
        elif box.kind == b"meta" and (items := _item_list(stream, box)) is not None:
            yield from read_tags(stream, "ilst", items.body, items.end)
        elif parent.kind == b"udta" or box.kind in _FREE:
            yield from _text(stream, box)


def _item_list(stream: BinaryIO, meta: _Box) -> _Box | None:
    """The list of iTunes tags in a `meta` box; that of QuickTime has numbers for keys and is searched for text."""
    head = at(stream, meta.body, 64)
    if b"mdir" not in head:
        return None
    start = meta.body if head[4:8] == b"hdlr" else meta.body + 4  # QuickTime's `meta` has no version and flags
    return next((box for box in _boxes(stream, start, meta.end) if box.kind == b"ilst"), None)


def _text(stream: BinaryIO, box: _Box) -> Iterator[tuple[str, str]]:
    data = at(stream, box.body, min(box.end - box.body, 1 << 16))
    if text_runs(data):
        yield f"mp4.{box.kind.decode('ascii') if box.kind in _FREE else 'udta'}", binary_text(data)
