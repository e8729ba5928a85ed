"""For CI services that show tests: JUnit XML, one test case a finding; what was not read is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from leakscan.model import LEVELS, Finding, Report
from leakscan.text import printable

SUFFIX = ".xml"
OWN = re.compile(rb'\A<\?xml[^>]*>\s*<testsuite name="leakscan"')


def render(report: Report, out: TextIO) -> None:
    """Write `report` to `out`."""
    from xml.sax.saxutils import escape  # which loads all that opens URLs

    cases = list(_cases(report))
    counts = {kind: sum(outcome == kind for _, _, outcome, _ in cases) for kind in ("failure", "error", "skipped")}
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(
        f'<testsuite name="leakscan" tests="{len(cases)}" failures="{counts["failure"]}" errors="{counts["error"]}"'
        f' skipped="{counts["skipped"]}">\n'
    )
    for where, name, outcome, text in cases:
        out.write(f"  <testcase classname={_attribute(where)} name={_attribute(name)}>\n")
        if outcome:
            out.write(f"    <{outcome} message={_attribute(text)}/>\n")
        else:
            out.write(f"    <system-out>{escape(printable(text))}</system-out>\n")
        out.write("  </testcase>\n")
    out.write("</testsuite>\n")


def _cases(report: Report) -> Iterator[tuple[str, str, str, str]]:
    """Where, what, how it ended, and why."""
    failing = () if report.fail_on == "never" else LEVELS[: LEVELS.index(report.fail_on) + 1]
    for finding in report.findings:
        yield _case(report, finding, "failure" if finding.level in failing else "")
    for finding in report.accepted:
        yield _case(report, finding, "skipped")
    for entry in report.unexamined:
        yield report.from_here(entry.path), "is read in full", "error", entry.reason
    yield "leakscan", "verdict", "error" if report.status == 3 and not report.unexamined else "", report.verdict


def _case(report: Report, finding: Finding, outcome: str) -> tuple[str, str, str, str]:
    place = finding.place
    name = f"{finding.rule} {place.name}" if place.name else finding.rule
    text = f"{finding.level}, {finding.confidence}: {finding.message} ({finding.count} in all)"
    return report.from_here(place.path), name, outcome, text


def _attribute(text: str) -> str:
    from xml.sax.saxutils import quoteattr

    return quoteattr(printable(text))
