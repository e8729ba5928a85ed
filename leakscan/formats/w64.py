"""Sony Wave64: `.w64`.  Source: Sony Pictures Digital, "Wave64 file format".

A WAVE form whose chunks have GUIDs for IDs and sizes of 8 bytes, which count their headers, and lie at multiples of 8.
What the form holds is described in `leakscan.waves`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from leakscan import ledgers
from leakscan.blocks import Layout, after_id3, at, chunks, cut, damaged, glued, peel, size_of
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.rebuilding import around, listed, refuse_tags_among_samples, rewritten, written
from leakscan.waves import wave

AUDIO = True
NAMES = (".w64",)

_LAYOUT = Layout(id=16, size=8, align=8, whole=True)
_RIFF = bytes.fromhex("726966662e91cf11a5d628db04c10000")
_LIST = bytes.fromhex("6c6973742f91cf11a5d628db04c10000")
_REST = bytes.fromhex("f3acd3118cd100c04f8edb8a")  # of all other GUIDs that begin with the ID of a RIFF chunk
_WAVE = b"wave" + _REST
_CODES = {code.lower() + _REST: code for code in (b"fmt ", b"fact", b"data", b"bext", b"levl", b"JUNK")} | {
    _LIST: b"LIST"
}
_OTHER = b"    "
_HEAD = 40


def sniff(head: bytes) -> bool:
    """The GUID of a RIFF form, and 24 bytes on that of WAVE."""
    head = head[after_id3(head) :]
    return head[:16] == _RIFF and head[24:40] == _WAVE


def read(entry: Entry) -> Iterator[Item]:
    """Yield what a W64 file holds.  Raises Unreadable where it is cut, damaged, or coded in a way not supported."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a W64 file.  Raises Unreadable as `read` does, without a path."""
    peeled = peel(stream)
    start, end = peeled.start, size_of(stream)
    head = at(stream, start, _HEAD)
    if not sniff(head):
        raise damaged("no Wave64 form in it")
    form_end = start + int.from_bytes(head[16:24], "little")
    tags = around(peeled, form_end, end)
    if form_end > tags.end + 7:  # writers differ in whether the size counts the last pad bytes
        raise cut(f"its header says {form_end:,} bytes, {tags.end:,} are there")
    found = list(chunks(stream, start + _HEAD, tags.end, "little", layout=_LAYOUT, known=frozenset(_CODES)))
    named = [chunk._replace(id=chunk.id and _CODES.get(chunk.id, _OTHER)) for chunk in found]
    content = wave(stream, named, tags.end, _header, _LAYOUT.align)
    refuse_tags_among_samples(stream, content.data.start, content.data.start + content.size)
    parts = listed(content.parts)
    edges = {edge for chunk in found for edge in (chunk.start - 24, chunk.end, chunk.end + -chunk.end % 8)}
    accepted = (head[16:24],) if form_end in edges or form_end >= tags.end else ()
    size = struct.pack("<Q", _HEAD + written(parts))
    parts += (
        Part("structure", "riff.form", start, start + 16),
        rewritten(stream, "riff.form", start + 16, start + 24, size, accepted),
        Part("structure", "riff.form", start + 24, start + _HEAD),
    )
    return ledgers.ledger(stream, "w64", [*parts, *glued("w64", tags)], content.parameters)


def _header(kind: bytes, size: int) -> bytes:
    return kind + _REST + struct.pack("<Q", 24 + size)
