"""gzip: what is inside is judged as a file of its own, `x.jsonl.gz!x.jsonl`.

The name that the file carries may tell what the file's own name hides, so that it is judged too; a comment is a record.
Source: RFC 1952.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from leakscan.model import Entry, Item, Place, Unreadable

NAMES = (".gz", ".tgz")
LIMIT = 256 << 20
"""Bytes that may come out of one file; they are held in memory."""

_EXTRA, _NAME, _COMMENT = 4, 8, 16  # bits of the flags
_TEXT_LIMIT = 1 << 16


def sniff(head: bytes) -> bool:
    """The magic and the only method there is, deflate."""
    return head.startswith(b"\x1f\x8b\x08")


def read(entry: Entry) -> Iterator[Item | Entry]:
    """The content as a further entry.  Raises `Unreadable` where it is cut, damaged or too large."""
    try:
        with entry.open() as stream:
            name, comment = _header(stream)
            stream.seek(0)
            data = gzip.GzipFile(fileobj=stream, mode="rb").read(LIMIT + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Unreadable(f"{entry.path}: damaged or cut gzip data; replace it by a complete copy") from error
    if len(data) > LIMIT:
        raise Unreadable(f"{entry.path}: expands to more than {LIMIT:,} bytes; unpack it")
    inner = _inner_name(entry.path)
    content = Entry(f"{entry.path}!{inner}", entry.file, len(data), data, entry.depth + 1)
    if name and name != inner:
        yield Item(Place(f"{entry.path}!{name}"), "file", Entry(f"{entry.path}!{name}", entry.file, 0, b""))
    if comment:
        yield Item(Place(f"{entry.path}!comment", 1), "record", {"comment": comment})
    yield content


def _inner_name(path: str) -> str:
    """What `gunzip` would call the content."""
    own = path.rpartition("/")[2].rpartition("!")[2]
    stem, _, suffix = own.rpartition(".")
    return {"gz": stem, "tgz": f"{stem}.tar"}.get(suffix.lower(), "content") if stem else "content"


def _header(stream: BinaryIO) -> tuple[str, str]:
    """The name, without folders, and the comment that the first member carries."""
    flags = stream.read(10)[3:4]
    bits = flags[0] if flags else 0
    if bits & _EXTRA:
        stream.read(int.from_bytes(stream.read(2), "little"))
    name = _text(stream) if bits & _NAME else ""
    comment = _text(stream) if bits & _COMMENT else ""
    return name.replace("\\", "/").rpartition("/")[2], comment


def _text(stream: BinaryIO) -> str:
    """Latin-1 up to a zero byte."""
    text = bytearray()
    while (byte := stream.read(1)) not in (b"", b"\0"):
        text += byte
        if len(text) > _TEXT_LIMIT:
            raise EOFError
    return text.decode("latin-1")
