"""For summaries of CI runs and comments: GitHub's Markdown, in which no text from outside becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from leakscan.model import Report
from leakscan.model import columns as columns_of
from leakscan.text import printable

SUFFIX = ".md"
OWN = re.compile(rb"\A### leakscan\n")
# also what becomes a mention or a link; an underscore within a word is itself
_MARKUP = re.compile(r"[\\`*\[\]<>|~&#@]|(?<![^\W_])_|_(?![^\W_])|(?<=\w):(?=//)|(?<=www)\.")
_MAX_ROWS = 200


def render(report: Report, out: TextIO) -> None:
    """Write `report` to `out`."""
    out.write(f"### leakscan\n\n{_cell(report.verdict)}\n")
    if report.row is not None:
        columns = columns_of(report.row)
        _table(columns, ([getattr(row, column) for column in columns] for row in report.rows), out)
        _summary(report.summary, out)
    findings = [one for one in report.findings if report.row is None or one.level != "note"]
    if findings:
        rows = [
            (one.level, one.rule, one.place.path, one.place.name, one.count, f"{one.message} ({one.confidence})")
            for one in findings
        ]
        _table(("level", "rule", "file", "name", "count", "what"), rows, out)
    for title, lines in (
        ("Not read", [f"{entry.path}: {entry.reason}" for entry in report.unexamined]),
        ("Neither judged nor declared", report.noted),
        ("Notes", report.notes),
    ):
        if lines:
            out.write(f"\n{title}:\n\n" + "".join(f"- {_cell(line)}\n" for line in lines[:_MAX_ROWS]))
    if report.suppressed:
        out.write(f"\nAccepted by waivers or the baseline: {report.suppressed}\n")


def _summary(summary: Mapping[str, object], out: TextIO) -> None:
    """A list of figures; what counts pairs of names is a table."""
    tables = {key: value for key, value in summary.items() if isinstance(value, Mapping) and _is_table(value)}
    lines = []
    for key, value in summary.items():
        if key not in tables:
            counts = (
                ", ".join(f"{name} {count}" for name, count in value.items()) if isinstance(value, Mapping) else value
            )
            lines.append(f"- {_cell(f'{key}: {counts}')}\n")
    out.write("\n" + "".join(lines))
    for key, table in tables.items():
        columns = [*dict.fromkeys(column for row in table.values() for column in row)]
        rows = [[name, *(row.get(column, "") for column in columns)] for name, row in table.items()]
        _table([key, *columns], rows, out)


def _is_table(value: Mapping[str, object]) -> bool:
    return bool(value) and all(isinstance(row, Mapping) for row in value.values())


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]], out: TextIO) -> None:
    out.write(f"\n| {' | '.join(map(_cell, columns))} |\n|{' --- |' * len(columns)}\n")
    number = 0
    for number, row in enumerate(rows, 1):
        if number <= _MAX_ROWS:
            out.write(f"| {' | '.join(map(_cell, row))} |\n")
    if number > _MAX_ROWS:
        out.write(f"\nand {number - _MAX_ROWS} more; --format json lists all\n")


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = f"{value:z.3f}" if isinstance(value, float) else printable(str(value))
    return _MARKUP.sub(lambda sign: f"&#{ord(sign[0])};", text)
