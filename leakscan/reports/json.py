"""For scripts: the shape that CONTRACT promises, ASCII only."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any, TextIO

from leakscan.model import VERSION, Finding, Place, Report

SUFFIX = ".json"
OWN = re.compile(rb'\A\{\s*"leakscan":\s*"')
SCHEMA = 1


def render(report: Report, out: TextIO) -> None:
    """Write `report` to `out`."""
    document = {
        "leakscan": VERSION,
        "schema": SCHEMA,
        "status": report.status,
        "root": report.root,
        "config": report.config,
        "examined": asdict(report.examined),
        "unexamined": [asdict(entry) for entry in report.unexamined],
        "noted": list(report.noted),
        "notes": list(report.notes),
        "suppressed": report.suppressed,
        "summary": dict(report.summary),
        "rows": [asdict(row) for row in report.rows],
        "findings": [_finding(finding) for finding in report.findings],
    }
    # `##[` is a command to some CI services wherever it stands in a line; it can only stand inside a string
    out.write(json.dumps(document, indent=1).replace("##", "#\\u0023") + "\n")


def _finding(finding: Finding) -> dict[str, Any]:
    document: dict[str, Any] = {
        "rule": finding.rule,
        "level": finding.level,
        "confidence": finding.confidence,
        "count": finding.count,
        "message": finding.message,
        "place": _place(finding.place),
        "places": [_place(place, named=False) for place in finding.places],
        "related": [{"path": place.path} for place in finding.related],
    }
    if finding.evidence is not None:
        secret = finding.evidence
        document["evidence"] = {"class": secret.kind, "length": secret.length}
        if secret.recipe is not None:
            document["evidence"]["recipe"] = secret.recipe
        if secret.revealed is not None:
            document["evidence"]["revealed"] = secret.revealed
    document["fingerprint"] = finding.fingerprint
    return document


def _place(place: Place, named: bool = True) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": place.path, "record": place.record, "id": place.id}
    if named:
        shown["name"] = place.name
    return shown
