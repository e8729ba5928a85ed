"""For code scanning: SARIF 2.1.0, with fingerprints that outlive a reordering, and URIs relative to the repository."""

from __future__ import annotations

import json
import re
import urllib.parse
from typing import Any, TextIO

from leakscan.model import VERSION, Finding, Place, Report

SUFFIX = ".sarif"
OWN = re.compile(rb'\A\{\s*"\$schema":\s*"[^"]*sarif[\s\S]*?"name":\s*"leakscan"')
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BY_LINES = (".jsonl", ".ndjson")


def render(report: Report, out: TextIO) -> None:
    """Write `report` to `out`."""
    found = [*((finding, False) for finding in report.findings), *((finding, True) for finding in report.accepted)]
    rules = sorted({finding.rule for finding, _ in found})
    run = {
        "tool": {"driver": {"name": "leakscan", "version": VERSION, "rules": [_rule(name) for name in rules]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "where leakscan ran"}}},
        "invocations": [
            {
                "executionSuccessful": report.status != 3,
                "exitCode": report.status,
                "toolExecutionNotifications": [
                    {
                        "level": "error",
                        "message": {"text": f"not read: {entry.path}: {entry.reason}"},
                        "locations": [{"physicalLocation": _physical(report, Place(entry.path))}],
                    }
                    for entry in report.unexamined
                ],
            }
        ],
        "results": [_result(report, finding, rules.index(finding.rule), accepted) for finding, accepted in found],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    out.write(json.dumps(document, indent=1).replace("##", "#\\u0023") + "\n")  # `##[` is a command to CI services


def _rule(name: str) -> dict[str, Any]:
    return {"id": name, "help": {"text": f"leakscan explain {name}"}}


def _result(report: Report, finding: Finding, rule: int, accepted: bool) -> dict[str, Any]:
    others = [place for place in (*finding.places, *finding.related) if place.path != finding.place.path]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": f"{finding.message} ({finding.count} in all)" if finding.count > 1 else finding.message},
        "locations": [_location(report, finding.place)],
        "partialFingerprints": {"leakscan/v1": finding.fingerprint},
        "properties": {"confidence": finding.confidence, "count": finding.count},
    }
    if others:
        result["relatedLocations"] = [_location(report, place) for place in others]
    if accepted:
        result["suppressions"] = [{"kind": "external", "status": "accepted"}]
    return result


def _location(report: Report, place: Place) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": _physical(report, place)}
    if place.name is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": place.name, "kind": "member"}]
    return location


def _physical(report: Report, place: Place) -> dict[str, Any]:
    uri = urllib.parse.quote(report.from_here(place.path).encode("utf-8", "replace"))
    line = place.record if place.record is not None and place.path.lower().endswith(_BY_LINES) else 1
    return {"artifactLocation": {"uri": uri, "uriBaseId": "SRCROOT"}, "region": {"startLine": line}}
