"""Arrow and Feather: the IPC file format (Feather version 2) and the stream format, which `datasets` calls .arrow too.

Source: https://arrow.apache.org/docs/format/Columnar.html, "Serialization and Interprocess Communication".
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any, BinaryIO

from leakscan import tables
from leakscan.model import Entry, Item, Unreadable

NAMES = (".arrow", ".feather")
_FILE = b"ARROW1"
_NEXT = b"\xff\xff\xff\xff"  # a message follows, of the size that follows; of size 0 at the end
_END = _NEXT + b"\0\0\0\0"


def sniff(head: bytes) -> bool:
    """The magic of a file, or a first message whose size and table lie near."""
    size, table = (int.from_bytes(head[start : start + 4], "little") for start in (4, 8))
    return head.startswith(_FILE) or (head.startswith(_NEXT) and 16 <= size < 1 << 26 and 4 <= table <= 64)


def read(entry: Entry) -> Iterator[Item | Entry]:
    """The metadata, then the records and the files in their cells.

    Raises `Unreadable`, also where pyarrow is not installed.  A stream without its end mark counts as cut.
    """
    with tables.reading(entry, "Arrow"), entry.open() as stream:
        import pyarrow

        buffer = pyarrow.py_buffer(_bytes(entry, stream))
        if buffer[: len(_FILE)].to_pybytes() == _FILE:
            file = pyarrow.ipc.open_file(buffer)
            schema, batches = file.schema, (file.get_batch(index) for index in range(file.num_record_batches))
        else:
            if buffer[-len(_END) :].to_pybytes() != _END:
                raise Unreadable(f"{entry.path}: cut: no end mark; replace it by a complete copy")
            batches = pyarrow.ipc.open_stream(buffer)
            schema = batches.schema
        yield from tables.metadata(entry, schema)
        yield from tables.records(entry, batches)


def _bytes(entry: Entry, stream: BinaryIO) -> Any:
    """The bytes, in memory only where they are looked at."""
    return entry.data if entry.data is not None else mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
