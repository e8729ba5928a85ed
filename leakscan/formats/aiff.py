"""AIFF and AIFC: `.aiff`, `.aif`.  Sources: Audio Interchange File Format 1.3 (1989) and AIFF-C (1991), Apple."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from leakscan.blocks import Chunk, at, audio_item, chunks, cut, damaged, peel
from leakscan.model import Entry, Item, Tags
from leakscan.tags import binary_text, read_tags, text_runs

AUDIO = True
NAMES = (".aiff", ".aif", ".aifc")

_TEXTS = {b"NAME": "NAME", b"AUTH": "AUTH", b"(c) ": "(c)", b"ANNO": "ANNO"}
_STRUCTURE = (b"COMM", b"SSND", b"FVER", b"INST", b"MIDI")
_UNKNOWN = (0, 0x7F000000, 0x7F000008, 0xFFFFFFFF)  # sizes that programs write which could not come back


def sniff(head: bytes) -> bool:
    """`FORM` with form `AIFF` or `AIFC`."""
    return head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC")


def read(entry: Entry) -> Iterator[Item]:
    """The tags of an AIFF file, from its ID3 chunk and its text chunks.  Raises Unreadable where it is cut or none."""
    return audio_item(entry, _read)


def _read(stream: BinaryIO) -> Tags:
    peeled = peel(stream)
    head = at(stream, peeled.start, 12)
    if not sniff(head):
        raise damaged("no AIFF form in it")
    tags = [pair for span in peeled.tags for pair in read_tags(stream, *span)]
    seen = set()
    size = int.from_bytes(head[4:8], "big")
    for chunk in chunks(stream, peeled.start + 12, peeled.end, "big", _UNKNOWN if size in _UNKNOWN else ()):
        seen.add(chunk.id)
        tags.extend(_tags(stream, chunk))
    if not seen.issuperset((b"COMM", b"SSND")):
        raise cut("no COMM and SSND chunk in it")
    if size not in _UNKNOWN and peeled.start + 8 + size > peeled.end + 1:  # the last pad byte may be missing
        raise cut(f"its header says {peeled.start + 8 + size:,} bytes, {peeled.end:,} are there")
    return Tags("aiff", tuple(dict.fromkeys(tags)))


def _tags(stream: BinaryIO, chunk: Chunk) -> Iterator[tuple[str, str]]:
    if chunk.id in _STRUCTURE:
        return
    if chunk.id == b"ID3 ":
        yield from read_tags(stream, "id3", chunk.start, chunk.end)
        return
    data = at(stream, chunk.start, min(chunk.end - chunk.start, 1 << 16))
    if chunk.id in _TEXTS:
        yield f"aiff.{_TEXTS[chunk.id]}", data.rstrip(b"\x00").decode("latin-1")
    elif chunk.id == b"COMT":
        yield from (("aiff.COMT", text) for text in _comments(data))
    elif text_runs(data):
        yield "aiff.other", binary_text(data)


def _comments(data: bytes) -> Iterator[str]:
    """The texts of a COMT chunk: a count, then time stamp (4 bytes), marker (2), length (2), text, pad."""
    offset = 2
    for _ in range(int.from_bytes(data[:2], "big")):
        size = int.from_bytes(data[offset + 6 : offset + 8], "big")
        yield data[offset + 8 : offset + 8 + size].decode("latin-1")
        offset += 8 + size + size % 2
        if offset >= len(data):
            return
