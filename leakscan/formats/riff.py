"""WAV, Broadcast Wave and RF64: `.wav`, `.bwf`.

MPEG audio in a WAV form (format codes 0x50 and 0x55) is left to the reader of MPEG audio.

Sources: Multimedia Programming Interface and Data Specifications 1.0 (RIFF), EBU Tech 3306 and ITU-R BS.2088 (RF64,
BW64, ds64).  What the form holds is described in `leakscan.waves`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from leakscan import ledgers
from leakscan.blocks import Chunk, after_id3, at, chunks, cut, damaged, glued, peel, size_of
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.rebuilding import around, dropped, listed, refuse_tags_among_samples, rewritten, written
from leakscan.waves import COUNTED_NONE, KNOWN, Wave, wave

AUDIO = True
NAMES = (".wav", ".wave", ".bwf", ".rf64")

_LONG = (b"RF64", b"BW64")
_OPEN_FORM = (0, 36, 0xFFFFFFFF, 0x7FFFF024)  # sizes of the form and of its data chunk that programs write which
_OPEN_DATA = (0, 0xFFFFFFFF, 0x7FFFF000)  # could not come back to fill them in: nothing, a bare header, the most
_MOST = 0xFFFFFFFF
_DS64 = 28  # bytes of its body without a table
_MPEG = (0x50, 0x55)


def sniff(head: bytes) -> bool:
    """`RIFF`, `RF64` or `BW64` with form `WAVE`, after ID3v2 tags; unless its fmt chunk says that it is MPEG audio."""
    head = head[after_id3(head) :]
    return _is_wave(head) and _code(head) not in _MPEG


def _is_wave(head: bytes) -> bool:
    return head[:4] in (b"RIFF", *_LONG) and head[8:12] == b"WAVE"


def _code(head: bytes) -> int | None:
    """The format code, where it lies within `head`."""
    offset = 12
    while len(head) >= offset + 10:
        if head[offset : offset + 4] == b"fmt ":
            return int.from_bytes(head[offset + 8 : offset + 10], "little")
        size = int.from_bytes(head[offset + 4 : offset + 8], "little")
        offset += 8 + size + size % 2
    return None


def read(entry: Entry) -> Iterator[Item]:
    """Yield what a WAV file holds.  Raises Unreadable where it is cut, damaged, or coded in a way not supported."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a WAV file.  Raises Unreadable as `read` does, without a path."""
    peeled = peel(stream)
    start, end = peeled.start, size_of(stream)
    head = at(stream, start, 12)
    if not _is_wave(head):
        raise damaged("no WAVE form in it")
    size = int.from_bytes(head[4:8], "little")
    form_end, long_data, stated = start + 8 + size, None, 0
    if head[:4] in _LONG:
        form_size, long_data, stated = _sizes(stream, start)
        form_end = start + 8 + form_size
    is_open = long_data is None and size in _OPEN_FORM
    tags = peeled if is_open else around(peeled, form_end, end)
    if not is_open and form_end > tags.end + 1:  # whether the size counts the last pad byte differs between writers
        raise cut(f"its header says {form_end:,} bytes, {tags.end:,} are there")
    open_sizes = _OPEN_DATA if is_open else (_MOST,)
    found = list(chunks(stream, start + 12, tags.end, "little", open_sizes, long_data, known=KNOWN))
    if long_data is None:
        content = wave(stream, found, tags.end, _header, 2)
    else:
        content = wave(stream, found[1:], tags.end, _long_header, 2, stated)
    refuse_tags_among_samples(stream, content.data.start, content.data.start + content.size)
    edges = {edge for chunk in found for edge in (chunk.start - 8, chunk.end, chunk.end + 1)}
    at_an_edge = is_open or form_end in edges or form_end - tags.end in (0, 1)
    parts = listed(content.parts)
    if long_data is None:
        parts += _head_parts(stream, start, 4 + written(parts), at_an_edge)
    else:
        parts += _long_head_parts(stream, start, found[0], content, 4 + written(parts), at_an_edge)
    return ledgers.ledger(stream, "wav", [*parts, *glued("wav", tags)], content.parameters)


def _header(kind: bytes, size: int) -> bytes:
    return kind + struct.pack("<I", min(size, _MOST))


def _long_header(kind: bytes, size: int) -> bytes:
    return _header(kind, _MOST if kind == b"data" else size)


def _sizes(stream: BinaryIO, start: int) -> tuple[int, int, int]:
    """The size of the form, that of its data chunk and the number of samples, by ds64, which comes first in RF64."""
    head = at(stream, start + 12, 8 + _DS64)
    if head[:4] != b"ds64" or len(head) < 8 + _DS64 or int.from_bytes(head[4:8], "little") < _DS64:
        raise damaged("no ds64 chunk at its start")
    form_size, data_size, samples = struct.unpack_from("<QQQ", head, 8)
    return form_size, data_size, samples


def _head_parts(stream: BinaryIO, start: int, size: int, at_an_edge: bool) -> Iterator[Part]:
    """The header of the form; a size that ends at no chunk is a number of its own."""
    accepted = (at(stream, start + 4, 4),) if at_an_edge else ()
    yield Part("structure", "riff.form", start, start + 4)
    yield rewritten(stream, "riff.form", start + 4, start + 8, struct.pack("<I", min(size, _MOST)), accepted)
    yield Part("structure", "riff.form", start + 8, start + 12)


def _long_head_parts(
    stream: BinaryIO, start: int, ds64: Chunk, content: Wave, size: int, at_an_edge: bool
) -> Iterator[Part]:
    """The header of the form and its ds64 chunk, whose table of other long chunks is left out."""
    long_size = at(stream, ds64.start, 8)
    yield Part("structure", "riff.form", start, start + 4)
    yield rewritten(stream, "riff.form", start + 4, start + 8, b"\xff" * 4, (bytes(4), long_size[:4]))
    yield Part("structure", "riff.form", start + 8, start + 12)
    yield Part("structure", "riff.ds64", start + 12, ds64.start, _header(b"ds64", _DS64))
    data = struct.pack("<Q", content.data.end - content.data.start)
    sizes = (
        (8 + _DS64 + size, (long_size,) if at_an_edge else ()),
        (content.size, (data, bytes(8))),
        (content.samples, (bytes(8), b"\xff" * 8, *(() if content.samples else (COUNTED_NONE,)))),
    )
    offset = ds64.start
    for clean, accepted in sizes:
        yield rewritten(stream, "riff.ds64", offset, offset + 8, struct.pack("<Q", clean), accepted)
        offset += 8
    yield rewritten(stream, "riff.ds64", offset, offset + 4, bytes(4))
    yield from dropped(stream, "unknown", "riff.ds64", offset + 4, ds64.end + ds64.end % 2 - ds64.start % 2)
