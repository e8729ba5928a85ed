"""The text that a PNG carries deflated, where no search for text in its bytes finds it.

Source: Portable Network Graphics, third edition, sections 5.3 (chunks) and 11.3.3 (zTXt, iTXt).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

_MAGIC = b"\x89PNG\r\n\x1a\n"
_CHUNKS = 10_000  # of one picture
_MOST = 64 << 10  # bytes of text of one chunk, and of all chunks of one value


def deflated_texts(data: bytes) -> list[str]:
    """The texts in `zTXt` and `iTXt` chunks of the pictures in `data`; up to 64 KB of each, and of all."""
    found: list[str] = []
    left = _MOST
    start = data.find(_MAGIC)
    while start >= 0 and left > 0:
        for packed in _packed(data, start + len(_MAGIC)):
            try:
                text = zlib.decompressobj().decompress(packed, left)
            except zlib.error:
                continue
            left -= len(text)
            if text:
                found.append(text.decode("utf-8", "replace"))
            if left <= 0:
                break
        start = data.find(_MAGIC, start + 1)
    return found


def _packed(data: bytes, offset: int) -> Iterator[bytes]:
    """The deflated texts of the picture whose chunks begin at `offset`."""
    for _ in range(_CHUNKS):
        size, kind = int.from_bytes(data[offset : offset + 4], "big"), data[offset + 4 : offset + 8]
        body = offset + 8
        if len(kind) < 4 or kind == b"IEND":
            return
        if kind in (b"zTXt", b"iTXt"):
            chunk = data[body : body + size]
            rest = chunk.partition(b"\0")[2]  # after the keyword
            if kind == b"zTXt":
                yield rest[1:]
            elif rest[:1] == b"\1":
                yield rest[2:].partition(b"\0")[2].partition(b"\0")[2]  # after language and translated keyword
        offset = body + size + 4
