"""For tables: the rows of match and duplicates, or the findings of a scan; UTF-8, `.` decimals, one header line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from leakscan.model import Edge, Match, Report
from leakscan.model import columns as columns_of
from leakscan.text import printable

SUFFIX = ".csv"
_FINDING_COLUMNS = ("rule", "level", "confidence", "count", "path", "record", "id", "name", "message", "fingerprint")
_TABLES = (_FINDING_COLUMNS, columns_of(Match), columns_of(Edge))
OWN = re.compile(rb"\A(?:%b)\n" % b"|".join(",".join(columns).encode() for columns in _TABLES))
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the latter are full-width


def render(report: Report, out: TextIO) -> None:
    """Write `report` to `out`."""
    writer = csv.writer(out, lineterminator="\n")
    if report.row is not None:
        columns: Iterable[str] = columns_of(report.row)
        rows: Iterable[Iterable[Any]] = ([getattr(row, column) for column in columns] for row in report.rows)
    else:
        columns, rows = _FINDING_COLUMNS, _findings(report)
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)


def _findings(report: Report) -> Iterator[tuple[Any, ...]]:
    for finding in report.findings:
        place = finding.place
        yield (
            finding.rule, finding.level, finding.confidence, finding.count, place.path, place.record, place.id,
            place.name, finding.message, finding.fingerprint,
        )  # fmt: skip


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:z.3f}"
    text = printable(str(value))
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text  # never a formula
