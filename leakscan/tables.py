"""Arrow tables -> records, files in their cells, and what their metadata says of columns.  Needs pyarrow (`parquet`).

What bytes in a cell are: text where they are text, a digest or key in hex digits where they are few, else a file of
their own.  The Hugging Face convention for audio is such a cell within a struct<bytes, path>.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from leakscan.embedded import files_in
from leakscan.literals import opened
from leakscan.model import Entry, Item, Place, Unreadable, child_name

DROPPED = "dropped columns"
"""What the metadata's record calls columns that the metadata lists and the table does not have."""

FEW = 64
"""Bytes that are shown as hex digits; more are a file."""

ROWS = 1024
BATCH = 16 << 20
"""How many rows, and about how many bytes of them, are turned into records at a time."""


@contextlib.contextmanager
def reading(entry: Entry, what: str) -> Iterator[None]:
    """Raise `Unreadable` for whatever pyarrow raises, and where it is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        raise Unreadable(f"{entry.path}: {what} needs pyarrow; pip install 'leakscan-audio[parquet]'")
    import pyarrow

    try:
        yield
    except Unreadable:
        raise
    except (pyarrow.ArrowException, ArithmeticError, LookupError, MemoryError, OSError, TypeError, ValueError) as error:
        raise Unreadable(f"{entry.path}: damaged or unusual {what} ({type(error).__name__}); write it again") from error


def rows_at_a_time(size: int, rows: int) -> int:
    """How many rows of a table of `size` bytes are held at a time."""
    return max(1, min(ROWS, BATCH * rows // max(size, 1)))


def records(entry: Entry, batches: Iterable[Any]) -> Iterator[Item | Entry]:
    """The rows of record batches, and the files in their cells.  Raises what pyarrow raises, and `Unreadable`."""
    number = 0
    for whole in batches:
        whole.validate(full=True)  # offsets that lead elsewhere would otherwise be followed
        names = _distinct(whole.schema.names)
        size = rows_at_a_time(whole.nbytes, whole.num_rows)
        for start in range(0, whole.num_rows, size):
            columns = [_values(column) for column in whole.slice(start, size).columns]
            for row in zip(*columns, strict=True):
                number += 1
                files: list[Entry] = []
                body = {
                    name: _plain(value, entry, f"{child_name('$', name)[1:].removeprefix('.')}[{number}]", files)
                    for name, value in zip(names, row, strict=True)
                }
                yield Item(Place(entry.path, record=number), "record", body)
                yield from files
                yield from files_in(entry, number, body)
    if not number:
        raise Unreadable(f"{entry.path}: holds no records")


def metadata(entry: Entry, schema: Any, more: Mapping[bytes, bytes] | None = None) -> Iterator[Item]:
    """What the metadata says, as the record of a member: `part.parquet!metadata`.

    The fingerprint that Hugging Face's `datasets` puts there is of its own cache, and left out.
    """
    body: dict[str, Any] = {}
    listed: dict[str, None] = {}
    for key, value in {**(schema.metadata or {}), **(more or {})}.items():
        name, text = _text(key), _text(value)
        found = opened(text)
        if name == "ARROW:schema":
            found = _arrow_schema(value)
            listed |= dict.fromkeys(found)
        elif name == "huggingface" and isinstance(found, dict):
            found.pop("fingerprint", None)
            listed |= dict.fromkeys(_features(found))
        elif name == "pandas" and isinstance(found, dict):
            listed |= dict.fromkeys(_pandas_columns(found))
        body[name] = text if found is None else found
    fields = {
        field.name: {_text(key): _text(value) for key, value in field.metadata.items() if key != b"PARQUET:field_id"}
        for field in schema
        if field.metadata
    }
    body |= {"fields": kept} if (kept := {name: about for name, about in fields.items() if about}) else {}
    body |= {DROPPED: gone} if (gone := [name for name in listed if name not in schema.names]) else {}
    if body:
        yield Item(Place(f"{entry.path}!metadata", record=1), "record", body)


def _features(document: dict[str, Any]) -> list[str]:
    """The columns of a Hugging Face dataset; in the document they become a list, as a column's name is not a value's.

    Source: `datasets`, ArrowWriter: {"info": {"features": {"audio": {"_type": "Audio"}, ...}}, "fingerprint": ...}.
    """
    info = document.get("info")
    features = info.get("features") if isinstance(info, dict) else None
    if not isinstance(info, dict) or not isinstance(features, dict):
        return []
    info["features"] = [{"column": name, "feature": feature} for name, feature in features.items()]
    return list(features)


def _pandas_columns(document: dict[str, Any]) -> list[str]:
    """The columns of a data frame.  Source: pandas, "Developer: storing pandas DataFrame objects"."""
    columns = document.get("columns")
    found = [column for column in columns if isinstance(column, dict)] if isinstance(columns, list) else []
    names = [column.get("field_name") or column.get("name") for column in found]
    return [name for name in names if isinstance(name, str)]


def _arrow_schema(value: bytes) -> list[str]:
    """The columns of the Arrow schema that Parquet files carry; it is checked against the file's own."""
    import pyarrow

    try:
        names: list[str] = pyarrow.ipc.read_schema(pyarrow.py_buffer(base64.b64decode(value))).names
    except (ValueError, OSError, pyarrow.ArrowException):
        return []
    return names


def _distinct(names: list[str]) -> list[str]:
    """Column names made distinct, so that no cell hides another."""
    found: dict[str, None] = {}
    for number, name in enumerate(names, 1):
        while name in found:
            name = f"{name} (column {number})"
        found[name] = None
    return list(found)


def _values(column: Any) -> list[Any]:
    """The values of a column; times as text, for Python's own are coarser than nanoseconds."""
    import pyarrow

    if pyarrow.types.is_temporal(column.type):
        try:
            column = column.cast(pyarrow.string())
        except pyarrow.ArrowException:  # a duration, or a zone that is not known here
            column = column.cast(pyarrow.int64())
    values: list[Any] = column.to_pylist()
    return values


def _plain(value: Any, entry: Entry, name: str, files: list[Entry]) -> Any:
    """A cell as JSON could have it; bytes that are a file are added to `files` and leave null."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {key: _plain(child, entry, name + child_name("$", key)[1:], files) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(child, entry, f"{name}[{index}]", files) for index, child in enumerate(value)]
    if not isinstance(value, bytes):
        return str(value)
    if b"\0" not in value:
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode("utf-8")
    if len(value) <= FEW:
        return value.hex()
    files.append(Entry(f"{entry.path}!{name}", entry.file, len(value), value, entry.depth + 1))
    return None


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
