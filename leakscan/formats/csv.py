"""CSV and TSV records: the first line names the columns, every further row is a record.

Where the first line looks like a row it is one.  A row that cannot be parsed is read on behind its first line.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import BinaryIO

from leakscan.embedded import LONG, files_in
from leakscan.model import Entry, Item, Malformed, Place, Unreadable

NAMES = (".csv", ".tsv")
BY_NAME = True  # prose with commas looks the same
_VALUE = re.compile(
    r"\s*(?:-?\d*[.,:]\d+|\d{3,}|[A-Za-z_-]*\d{5,}|[0-9a-fA-F]{16,}|\S.*\.(?i:mp3|wav|flac|ogg|opus|m4a|aac|aiff?))\s*"
)
_LOOK = 20  # rows that tell whether the first one names the columns
_LIMIT = 64 << 20  # characters of one row
_NO_TEXT = re.compile("[\udc80-\udcff]")

_Rows = list[tuple[list[str] | Malformed, bool]]

csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # the default refuses cells of more than 131,072 characters


def sniff(head: bytes) -> bool:
    """Whether the first line is no binary data; rows that are not UTF-8 are told one by one."""
    return bool(head.strip()) and b"\0" not in head.partition(b"\n")[0]


def read(entry: Entry) -> Iterator[Item | Entry]:
    """The rows of a file as records, and the files within their cells; cells without a name are called `column 7`.

    Raises `Unreadable`.
    """
    number = 0
    with entry.open() as stream:
        lines = _Lines(stream)
        rows = lines.rows(_delimiter(lines.first, entry))
        head = list(islice(rows, _LOOK))
        above, head = _above(head)
        header = _header(head)
        if header:
            head.pop(0)
        names: list[str] = []
        for number, (row, may_hold_files) in enumerate(chain(above, head, rows), 1):
            place = Place(entry.path, record=number)
            if isinstance(row, Malformed):
                yield Item(place, "record", row)
                continue
            if len(names) != len(row) or number == len(above) + 1:
                names = _columns(header if number > len(above) else [], len(row))
            body = dict(zip(names, row, strict=True))
            yield Item(place, "record", body)
            if may_hold_files:
                yield from files_in(entry, number, body)
    if not number:
        raise Unreadable(f"{entry.path}: holds no records")


def write(items: Iterable[Item], out: BinaryIO, like: Entry) -> None:
    """Write records with the delimiter, line ends and header line, if any, of `like`."""
    with like.open() as stream:
        lines = _Lines(stream)
        delimiter = _delimiter(lines.first, like)
        line_end = "\r\n" if lines.first.endswith("\r\n") else "\n"
        named = bool(_header(_above(list(islice(lines.rows(delimiter), _LOOK)))[1]))
    bodies = [item.body for item in items]
    columns = list(dict.fromkeys(column for body in bodies for column in body))
    rows = [[body.get(column) for column in columns] for body in bodies]
    sheet = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    plain, quoted = (
        csv.writer(sheet, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    )
    for row in [columns, *rows] if named else rows:
        while row and row[-1] is None:  # a short row stays short
            row.pop()
        # left alone, the writer leaves a carriage return bare, which ends a row for readers
        (quoted if any("\r" in (cell or "") for cell in row) else plain).writerow(row)
    sheet.detach()


class _Lines:
    """The lines of a text, as `csv.reader` takes them; behind a row that is broken they are taken again."""

    def __init__(self, stream: BinaryIO) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="")
        self._text = text  # which closes its stream when it goes
        self.first = text.readline()
        self._again = deque([self.first.removeprefix("\ufeff")] if self.first else [])
        self._offset = 3 * self.first.startswith("\ufeff")
        self._line = 1
        self._row: list[str] = []
        self._size = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._text)
        self._row.append(line)
        self._size += len(line)
        if self._size > _LIMIT:
            raise csv.Error
        return line

    def rows(self, delimiter: str) -> Iterator[tuple[list[str] | Malformed, bool]]:
        """Every row that is not empty, or what is wrong with it, and whether it could hold files."""
        reader = csv.reader(self, delimiter=delimiter, strict=True)
        while True:
            row: list[str] | Malformed
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error:
                row = Malformed(f"not CSV (line {self._line}: a quote is open or misplaced)", self._offset)
                self._again.extendleft(self._row[:0:-1])
                del self._row[1:]
            text = "".join(self._row)
            if not text.isascii() and isinstance(row, list) and (bad := _NO_TEXT.search(text)):
                row = Malformed("not UTF-8", self._offset + _bytes(text[: bad.start()]))
            self._offset += _bytes(text)
            self._line += len(self._row)
            self._row.clear()
            self._size = 0
            if row:
                yield row, len(text) >= LONG or "data:" in text


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _delimiter(first: str, entry: Entry) -> str:
    """The delimiter: a tab for .tsv, else the commonest of comma, semicolon and tab in the first line."""
    if entry.path.lower().endswith(".tsv"):
        return "\t"
    return max(",;\t", key=first.count)


def _above(rows: _Rows) -> tuple[_Rows, _Rows]:
    """The rows above the table, if any: a comment, a caption or `sep=;`, alone in its row, above rows of several."""
    number = 0
    while number + 1 < len(rows) and _is_above(rows[number][0]):
        number += 1
    below = rows[number][0] if number else None
    if not isinstance(below, list) or len(below) < 2:
        return [], rows
    return rows[:number], rows[number:]


def _is_above(row: list[str] | Malformed) -> bool:
    if isinstance(row, Malformed) or not row or any(row[1:]):
        return False
    return row[0].startswith(("#", "sep=")) or " " in row[0].strip()


def _header(rows: _Rows) -> list[str]:
    """The names of the columns, empty where the first row is data: its cells would pass for names, which reports show.

    No column is called like a number, a digest, an ID or an audio file.  Nor is one called what its values look like,
    `000046_3840` above `000135_483840`, unless columns are just numbered.
    """
    first, *others = [row for row, _ in rows] or [[]]
    if isinstance(first, Malformed) or any(_VALUE.fullmatch(cell) for cell in first):
        return []
    if first in ([str(number) for number in range(start, start + len(first))] for start in (0, 1)):
        return first
    for column, cell in enumerate(first):
        below = {_shape(row[column]) for row in others if isinstance(row, list) and len(row) > column}
        if below == {_shape(cell)} and len(others) > 1 and re.search(r"\d", cell):
            return []
    return first


def _shape(cell: str) -> str:
    return re.sub(r"\d+", "9", cell)


def _columns(header: list[str], width: int) -> list[str]:
    """Column names for `width` cells, made distinct so that none hides another: the second `answer` is `answer 2`."""
    names: dict[str, None] = {}
    used: dict[
        str, int
    ] = {}  # of every name the last number; without it, a header of one name would take quadratic time
    for index in range(width):
        called = header[index] if index < len(header) else ""
        name, number = called or f"column {index + 1}", used.get(called, 1 if called else index + 1)
        while name in names:
            number += 1
            name = f"{called or 'column'} {number}"
        used[called] = number
        names[name] = None
    return list(names)
