"""For people at a terminal: findings first, then the table, then what was and was not looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TextIO

from leakscan.model import Finding, Report
from leakscan.model import columns as columns_of
from leakscan.text import counted, printable

SUFFIX = ".txt"
OWN = re.compile(rb"(?m)^examined \d[^\n]*\n(?:accepted by [^\n]*\n)?[^\n]+\n\Z")
_MAX_LISTED = 20


def render(report: Report, out: TextIO) -> None:
    """Write `report` to `out`."""
    if report.row is None:
        _findings(report, out)
    else:
        _table(report, out)
        _findings(replace(report, findings=tuple(one for one in report.findings if one.level != "note")), out)
    _listed("not read", [f"{entry.path}: {entry.reason}" for entry in report.unexamined], out)
    _listed("neither judged nor declared", list(report.noted), out)
    _listed("notes", list(report.notes), out)
    for key, value in report.summary.items():
        _summed(str(key), value, out)
    out.write(f"examined {_examined(report)}\n")
    if report.suppressed:
        out.write(f"accepted by waivers or the baseline: {report.suppressed}\n")
    out.write(f"{report.verdict}\n")


def _findings(report: Report, out: TextIO) -> None:
    """One paragraph a place of a record file; audio and names, where a rule tends to fire on many, one a rule."""
    paragraphs: dict[tuple[str, ...], list[Finding]] = {}
    for finding in report.findings:
        place = finding.place
        by_place = place.record is not None
        key = (place.path, place.name or "") if by_place else ("", finding.rule, finding.level, finding.message)
        paragraphs.setdefault(key, []).append(finding)
    for findings in paragraphs.values():
        if findings[0].place.record is not None:
            _about_place(findings, out)
        else:
            _about_rule(findings, out)
        out.write("\n")


def _about_place(findings: list[Finding], out: TextIO) -> None:
    place = findings[0].place
    heading = f"{place.path} {place.name}" if place.name is not None else place.path
    first = f"record {place.record}" + (f" ({place.id})" if place.id is not None else "")
    count = max(finding.count for finding in findings)
    where = first if count == 1 else f"{count:,} records, first {first}"
    evidence = next((finding.evidence for finding in findings if finding.evidence is not None), None)
    out.write(printable(f"{heading} ({where}{f'; {evidence}' if evidence is not None else ''})") + "\n")
    for finding in findings:
        _line(finding, out)


def _about_rule(findings: list[Finding], out: TextIO) -> None:
    _line(findings[0], out, indent="")
    for finding in findings:
        place = finding.place
        what = "" if place.name in (None, "file", "folder") else f"{place.name} in "
        where = f"{what}{place.path}" if finding.count == 1 else f"{what}{finding.count:,} places, first {place.path}"
        out.write(f"    {printable(where)}\n")


def _line(finding: Finding, out: TextIO, indent: str = "    ") -> None:
    text = f"{finding.level} [{finding.rule}] {finding.confidence}: {finding.message}"
    out.write(f"{indent}{printable(text)}\n")


def _table(report: Report, out: TextIO) -> None:
    assert report.row is not None
    columns = columns_of(report.row)
    rows = [[_cell(getattr(row, column)) for column in columns] for row in report.rows]
    used = [index for index, column in enumerate(columns) if any(row[index] for row in rows)]
    widths = {index: max(len(columns[index]), *(len(row[index]) for row in rows)) for index in used}
    for line in [columns, *rows] if rows else []:
        out.write("  ".join(line[index].ljust(widths[index]) for index in used).rstrip() + "\n")
    if rows:
        out.write("\n")


def _summed(key: str, value: object, out: TextIO) -> None:
    """A line of the summary; what counts pairs of names is a table."""
    if isinstance(value, Mapping) and all(isinstance(row, Mapping) for row in value.values()) and value:
        out.write(f"{printable(key)}:\n")
        columns = [*dict.fromkeys(column for row in value.values() for column in row)]
        rows = [[str(name), *(str(row.get(column, "")) for column in columns)] for name, row in value.items()]
        shown = [[printable(cell) for cell in row] for row in [["", *map(str, columns)], *rows]]
        widths = [max(map(len, cells)) for cells in zip(*shown, strict=True)]
        for row in shown:
            cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
            out.write("    " + "  ".join((row[0].ljust(widths[0]), *cells)).rstrip() + "\n")
    elif isinstance(value, Mapping):
        counts = ", ".join(f"{name} {count}" for name, count in value.items())
        out.write(f"{printable(key)}: {printable(counts)}\n")
    else:
        out.write(f"{printable(key)}: {printable(str(value))}\n")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:z.2f}" if isinstance(value, float) else printable(str(value))


def _listed(title: str, lines: list[str], out: TextIO) -> None:
    if not lines:
        return
    out.write(f"{title}:\n")
    for line in lines[:_MAX_LISTED]:
        out.write(f"    {printable(line)}\n")
    if len(lines) > _MAX_LISTED:
        out.write(f"    and {len(lines) - _MAX_LISTED} more; --format json lists all\n")
    out.write("\n")


def _examined(report: Report) -> str:
    seen = report.examined
    counts = [counted(seen.files, "file"), counted(seen.bytes, "byte")]
    counts += [f"{counted(seen.records, 'record')} with {counted(seen.fields, 'field')}"] if seen.records else []
    counts += [counted(seen.audio, "audio file")] if seen.audio else []
    return ", ".join(counts)
