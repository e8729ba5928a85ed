"""Parquet: rows are records, read a row group's pages at a time; audio in cells and the footer's metadata are members.

Source: the Apache Parquet format, https://parquet.apache.org/docs/file-format/.
"""

from __future__ import annotations

from collections.abc import Iterator

from leakscan import tables
from leakscan.model import Entry, Item

NAMES = (".parquet",)


def sniff(head: bytes) -> bool:
    """The magic of a file that is not encrypted."""
    return head.startswith(b"PAR1")


def read(entry: Entry) -> Iterator[Item | Entry]:
    """The metadata, then the records and the files in their cells.

    Raises `Unreadable`, also where pyarrow is not installed.
    """
    with tables.reading(entry, "Parquet"), entry.open() as stream:
        from pyarrow import parquet

        file = parquet.ParquetFile(stream)
        yield from tables.metadata(entry, file.schema_arrow, file.metadata.metadata)
        groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        rows = tables.rows_at_a_time(size, file.metadata.num_rows)
        yield from tables.records(entry, file.iter_batches(batch_size=rows, use_threads=False))
