"""For GitLab: a Code Quality report, which merge requests show."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, TextIO

from leakscan.model import Finding, Report

SUFFIX = ".codequality.json"
OWN = re.compile(rb'\A\[\s*(?:\]\s*\Z|\{\s*"description": "[\s\S]*?"check_name": ")')
_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}
_BY_LINES = (".jsonl", ".ndjson")


def render(report: Report, out: TextIO) -> None:
    """Write `report` to `out`."""
    issues = [_issue(report, finding) for finding in report.findings]
    for entry in report.unexamined:
        known = hashlib.sha256(f"{entry.path}\0{entry.reason}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        text = f"not read: {entry.path}: {entry.reason}"
        issues.append(_entry(text, "not-read", known, "blocker", report.from_here(entry.path), 1))
    out.write(json.dumps(issues, indent=1).replace("##", "#\\u0023") + "\n")  # `##[` is a command to CI services


def _issue(report: Report, finding: Finding) -> dict[str, Any]:
    place = finding.place
    where = f"{place.name}: " if place.name else ""
    text = f"{where}{finding.message} ({finding.confidence}, {finding.count} in all)"
    line = place.record if place.record is not None and place.path.lower().endswith(_BY_LINES) else 1
    path = report.from_here(place.path)
    return _entry(text, finding.rule, finding.fingerprint, _SEVERITIES[finding.level], path, line)


def _entry(text: str, rule: str, fingerprint: str, severity: str, path: str, line: int) -> dict[str, Any]:
    return {
        "description": text,
        "check_name": rule,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": path, "lines": {"begin": line}},
    }
