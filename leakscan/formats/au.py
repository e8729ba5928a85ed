"""Sun and NeXT audio: `.au`, `.snd`.  Source: Sun Microsystems, audio file format (audio_filehdr, "Audio File Format").

The header says where the samples begin; what lies between is an annotation, a text of any kind.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from leakscan import ledgers
from leakscan.blocks import after_id3, at, cut, damaged, glued, peel, size_of
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.rebuilding import around, dropped, refuse_tags_among_samples, unsupported

AUDIO = True
NAMES = (".au", ".snd")

_HEADER = 24
_MOST_RATE, _MOST_CHANNELS = 1 << 26, 255  # Hz
_OPEN = 0xFFFFFFFF
_BYTES = {1: 1, 2: 1, 3: 2, 4: 3, 5: 4, 6: 4, 7: 8, 27: 1}
"""Bytes of a sample by encoding: mu-law, linear of 8 to 32 bits, float, double, A-law."""
_CODED = (23, 25, 26)  # G.726, in whole bytes


def sniff(head: bytes) -> bool:
    """`.snd` and a header that ends within a few megabytes."""
    head = head[after_id3(head) :]
    return head[:4] == b".snd" and len(head) >= _HEADER and head[4] == 0 and int.from_bytes(head[4:8], "big") >= _HEADER


def read(entry: Entry) -> Iterator[Item]:
    """Yield what an AU file holds.  Raises Unreadable where it is cut, damaged, or coded in a way not supported."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of an AU file.  Raises Unreadable as `read` does, without a path."""
    peeled = peel(stream)
    start, end = peeled.start, size_of(stream)
    head = at(stream, start, _HEADER)
    if head[:4] != b".snd" or len(head) < _HEADER:
        raise damaged("no AU header in it")
    offset, size, encoding, rate, channels = struct.unpack(">5I", head[4:])
    if offset < _HEADER or not 0 < rate <= _MOST_RATE or not 0 < channels <= _MOST_CHANNELS:
        raise damaged("its AU header states no sample rate or channels, too many, or too early a start of its samples")
    if encoding not in (*_BYTES, *_CODED):
        raise unsupported(f"encoding {encoding}")
    first = start + offset
    tags = peeled if size == _OPEN else around(peeled, first + size, end)
    if size == _OPEN:
        size = tags.end - first
    if size < 0 or first + size > tags.end:
        raise cut(f"its header says {first + max(size, 0):,} bytes, {tags.end:,} are there")
    whole = size - size % (_BYTES[encoding] * channels if encoding in _BYTES else 1)
    refuse_tags_among_samples(stream, first, first + whole)
    clean = head[:4] + struct.pack(">II", _HEADER, min(whole, _OPEN)) + head[12:]
    parts = [
        Part("structure", "au.header", start, start + _HEADER, clean),
        *dropped(stream, "tag", "au.annotation", start + _HEADER, first, _text(stream, start + _HEADER, first)),
        Part("payload", "au.samples", first, first + whole),
    ]
    if whole < size:
        parts.append(ledgers.gap(stream, "au", first + whole, first + size, "au.remainder"))
    parameters = {"encoding": encoding, "rate": rate, "channels": channels, "bytes": whole}
    return ledgers.ledger(
        stream, "au", [*parts, *glued("au", tags)], ((name, f"{value}") for name, value in parameters.items())
    )


def _text(stream: BinaryIO, start: int, end: int) -> Iterator[Part]:
    """The annotation up to its first NUL; what follows one is no text that readers show."""
    length = len(at(stream, start, min(end - start, ledgers.TEXT_LIMIT)).partition(b"\x00")[0])
    if length:
        yield Part("tag", "au.annotation", start, start + length, reader=ledgers.STRING)
