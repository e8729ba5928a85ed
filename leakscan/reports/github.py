"""For GitHub Actions: workflow commands, which become annotations of files."""

from __future__ import annotations

import re
from typing import TextIO

from leakscan.model import Finding, Report
from leakscan.text import printable

SUFFIX = ".annotations"
OWN = re.compile(rb"(?m)^::notice title=leakscan::[^\n]*\n\Z")
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_BY_LINES = (".jsonl", ".ndjson")


def render(report: Report, out: TextIO) -> None:
    """Write `report` to `out`."""
    for finding in report.findings:
        out.write(_annotation(report, finding))
    for entry in report.unexamined:
        place = _property(report.from_here(entry.path))
        out.write(f"::error file={place},title=not read::{_text(f'{entry.path}: {entry.reason}')}\n")
    out.write(f"::notice title=leakscan::{_text(report.verdict)}\n")


def _annotation(report: Report, finding: Finding) -> str:
    place = finding.place
    properties = [f"file={_property(report.from_here(place.path))}"]
    if place.record is not None and place.path.lower().endswith(_BY_LINES):
        properties.append(f"line={place.record}")
    properties.append(f"title={_property(finding.rule)}")
    where = f"{place.path} {place.name}" if place.name else place.path
    text = f"{where}: {finding.message} ({finding.confidence}, {finding.count} in all)"
    return f"::{_COMMANDS[finding.level]} {','.join(properties)}::{_text(text)}\n"


def _text(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
