"""What every report format owes, whoever adds it: it renders anything and shows no raw text from outside.

The formats are discovered; nothing is to be added here for a new one.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
import urllib.parse
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from leakscan import outputs
from leakscan.discover import members
from leakscan.model import Edge, Examined, Finding, Match, Place, Report, Secret, Unexamined, UsageError

REPORTS = members("reports")
every_format = pytest.mark.parametrize("name", REPORTS)

FULL = Report(
    findings=(
        Finding(
            "stray-hash", "error", "proven", "SHA-256 of the whole file", Place("p.jsonl", 1, "MUB-1", "$.hash"), 500,
            (Place("p.jsonl", 1, "MUB-1"), Place("p.jsonl", 2, None)), (Place("audio/MUB-1.mp3"),),
            Secret("hex", 16, "digits", "sha256/whole/hex[:16]"),
        ),
        Finding("identifying-tag", "warning", "strong", "a tag", Place("audio/1.mp3", name="id3.TIT2"), 2),
        Finding("malformed-record", "note", "weak", "a record", Place("q.jsonl", 3)),
    ),
    examined=Examined(files=3, records=500, audio=2, fields=1000, bytes=123456789),
    unexamined=(Unexamined("audio/x.tak", "container not supported"),),
    noted=("notes.txt",),
    notes=("a note",),
    accepted=(
        Finding("local-path", "warning", "strong", "a path", Place("p.jsonl", 7, "MUB-7", "$.origin")),
        Finding("video-id", "error", "strong", "an ID", Place("p.jsonl", 8, "MUB-8", "$.clip")),
    ),
    summary={"files copied": 7},
    root="release",
    config="release/leakscan.toml",
)  # fmt: skip

MATCHES = Report(
    row=Match,
    rows=(
        Match("a.mp3", "MUB-1", "matched", True, 0.98765, -0.1, 30.0, 1.0, 1.0, 0.5),
        Match("", "MUB-2", "not-found"),
    ),
    examined=Examined(files=1, audio=1),
)
EDGES = Report(
    row=Edge,
    rows=(Edge(1, "a", "a/1.mp3", "b", "b/2.mp3", "same-recording", 0.9, 1.5, 20.0, 1.0, 1.0, 0.25, False, "a/1.mp3"),),
    examined=Examined(files=2, audio=2),
)

HOSTILE = [
    "::error file=x::planted",
    "  ::stop-commands::token",
    "##[error]planted",
    "##vso[task.setvariable]x",
    "##teamcity[buildStop]",
    "line\n::error::planted",
    "line\r\n##[error]planted",
    "\x1b[31mred\x1b[0m\x9b0m\x07",
    "\x1b]8;;http://localhost\x1b\\link",
    "a\u202egpj.3pm\u2066\u200b",
    "\u2028::error::x\u2029",
    "\udcff\ud800",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "]]><!ENTITY x SYSTEM 'file:///etc/passwd'>",
    "| a | b |\n|---|---|",
    "[link](javascript:alert(1))",
    "`code` **bold** @someone #1",
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1+1",
    "\uff1d1+1",
    'a,"b",c',
    "{{ 7*7 }}",
    "%s{0}${x}",
    "nul\0",
    "",
    " ",
    "x" * 3000,
]
STEERING = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def hostile(text: str) -> Report:
    """A report with this text wherever text from outside, or from a foreign rule pack, can stand."""
    place = Place(text, 1, text, f"$.{text}")
    return Report(
        findings=(
            Finding(
                "r", "error", "proven", text, place, 2, (place, place), (place,), Secret("hex", 16, "digits", text)
            ),
            Finding("r", "warning", "weak", text, Place(text, name=text)),
            Finding("r", "note", "weak", text, Place(text)),
        ),
        accepted=(Finding("s", "error", "weak", text, place),),
        examined=Examined(files=1, records=1),
        unexamined=(Unexamined(text, text),),
        noted=(text,),
        notes=(text,),
        summary={text: text},
        root=text,
        config=text,
    )


def rendered(name: str, report: Report) -> str:
    out = io.StringIO()
    REPORTS[name].render(report, out)
    return out.getvalue()


def rows(text: str) -> Report:
    match = Match(text, text, "matched", True, 0.5, 0.0, 1.0, 1.0, 1.0, 1.0)
    return replace(MATCHES, rows=(match,), summary={text: text}, unexamined=(Unexamined(text, text),))


def edges(text: str) -> Report:
    edge = Edge(1, text, text, text, text, "partial", 0.5, 0.0, 1.0, 1.0, 1.0, 1.0, None, text)
    return replace(EDGES, rows=(edge,))


# --- all formats -----------------------------------------------------------------------------------------------------


def test_formats_are_found_and_told_apart_by_suffix() -> None:
    assert {"text", "json", "csv", "sarif", "junit", "github", "gitlab", "markdown"} <= REPORTS.keys()
    suffixes = [module.SUFFIX for module in REPORTS.values()]
    assert all(suffix.startswith(".") for suffix in suffixes)
    assert len(set(suffixes)) == len(suffixes)


@every_format
@pytest.mark.parametrize("report", [Report(), FULL, MATCHES, EDGES, replace(MATCHES, rows=())])
def test_a_report_is_known_as_one_of_its_format(tmp_path: Path, name: str, report: Report) -> None:
    file = tmp_path / "report"
    file.write_text(rendered(name, report), newline="")
    outputs.check(file, name, REPORTS[name].OWN)
    for other in REPORTS.keys() - {name}:
        with pytest.raises(UsageError, match="exists already"):
            outputs.check(file, other, REPORTS[other].OWN)


@every_format
@pytest.mark.parametrize(
    "report", [Report(), FULL, MATCHES, EDGES, replace(MATCHES, rows=()), replace(FULL, fail_on="never")]
)
def test_every_report_renders_the_same_each_time_and_ends_a_line(name: str, report: Report) -> None:
    text = rendered(name, report)
    assert text.endswith("\n")
    assert text == rendered(name, report)
    text.encode("utf-8")


@every_format
@pytest.mark.parametrize("make", [hostile, rows, edges])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_text_from_outside_cannot_steer_or_command(name: str, make: Any, text: str) -> None:
    shown = rendered(name, make(text))

    assert {unicodedata.category(character) for character in shown.replace("\n", "")} & STEERING == set()
    shown.encode("utf-8")
    # github's own format is made of commands, with the text inside them
    starts = ("::error file=x::", "::stop-commands", "::error::planted", "::error::x")
    assert [line for line in shown.splitlines() if line.lstrip().startswith(starts)] == []
    assert "##[" not in shown
    assert "##vso" not in shown
    assert "##teamcity" not in shown


@every_format
@pytest.mark.parametrize("text", [text for text in HOSTILE if "\n" in text or "\r" in text])
def test_text_from_outside_adds_no_line(name: str, text: str) -> None:
    harmless = "".join("x" if unicodedata.category(character) in STEERING else character for character in text)
    if name == "text":  # messages are wrapped there
        text, harmless = text[:12], harmless[:12]
    assert rendered(name, hostile(text)).count("\n") == rendered(name, hostile(harmless)).count("\n")


@every_format
def test_evidence_shows_a_value_only_where_scanning_revealed_it(name: str) -> None:
    revealed = replace(FULL.findings[0], evidence=Secret("title", 12, revealed="Paper Herons"))
    shown = rendered(name, replace(FULL, findings=(revealed,)))
    hidden = rendered(name, replace(FULL, findings=(replace(revealed, evidence=Secret("title", 12)),)))
    assert "Paper Herons" not in hidden
    if name in ("text", "json"):
        assert "Paper Herons" in shown


@every_format
def test_every_rule_that_fired_and_every_file_not_read_is_named(name: str) -> None:
    shown = rendered(name, FULL)
    for finding in FULL.findings:
        assert finding.rule in shown
        assert finding.place.path in shown
        assert finding.place.name is None or finding.place.name in shown
    if name != "csv":  # a table of findings
        assert "audio/x.tak" in shown


def test_one_thing_is_no_plural() -> None:
    seen = Examined(files=1, records=1, audio=1, fields=1, bytes=1)
    assert "examined 1 file, 1 byte, 1 record with 1 field, 1 audio file\n" in rendered("text", Report(examined=seen))


# --- JSON ------------------------------------------------------------------------------------------------------------

_TEXT, _COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
_NULLABLE = {"type": ["string", "null"]}
_SPOT = {"path": _TEXT, "record": {"type": ["integer", "null"], "minimum": 1}, "id": _NULLABLE}


def closed(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def many(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


CONTRACT = closed(
    {
        "leakscan": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "schema": {"const": 1},
        "status": {"enum": [0, 1, 3]},
        "root": _TEXT,
        "config": _NULLABLE,
        "examined": closed({"files": _COUNT, "records": _COUNT, "audio": _COUNT, "bytes": _COUNT, "fields": _COUNT}),
        "unexamined": many(closed({"path": _TEXT, "reason": _TEXT})),
        "noted": many(_TEXT),
        "notes": many(_TEXT),
        "suppressed": _COUNT,
        "summary": {"type": "object"},
        "rows": many({"type": "object"}),
        "findings": many(
            closed(
                {
                    "rule": _TEXT,
                    "level": {"enum": ["error", "warning", "note"]},
                    "confidence": {"enum": ["proven", "strong", "weak"]},
                    "count": {"type": "integer", "minimum": 1},
                    "message": _TEXT,
                    "place": closed({**_SPOT, "name": _NULLABLE}),
                    "places": many(closed(_SPOT)),
                    "related": many(closed({"path": _TEXT})),
                    "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
                },
                evidence=closed({"class": _TEXT, "length": _COUNT}, recipe=_TEXT, revealed=_TEXT),
            )
        ),
    }
)


@pytest.mark.parametrize("report", [Report(), FULL, MATCHES, EDGES, *map(hostile, HOSTILE)])
def test_json_has_the_shape_that_is_promised(report: Report) -> None:
    text = rendered("json", report)
    assert text.isascii()
    document = json.loads(text)
    jsonschema.validate(document, CONTRACT)
    assert document["status"] == report.status


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_json_says_exactly_what_the_report_says(text: str) -> None:
    document = json.loads(rendered("json", hostile(text)))
    assert document["findings"][0]["place"] == {"path": text, "record": 1, "id": text, "name": f"$.{text}"}
    assert (document["noted"], document["summary"]) == ([text], {text: text})


def test_json_in_full() -> None:
    document = json.loads(rendered("json", FULL))
    assert document["findings"][0] == {
        "rule": "stray-hash", "level": "error", "confidence": "proven", "count": 500,
        "message": "SHA-256 of the whole file",
        "place": {"path": "p.jsonl", "record": 1, "id": "MUB-1", "name": "$.hash"},
        "places": [{"path": "p.jsonl", "record": 1, "id": "MUB-1"}, {"path": "p.jsonl", "record": 2, "id": None}],
        "related": [{"path": "audio/MUB-1.mp3"}],
        "evidence": {"class": "hex", "length": 16, "recipe": "sha256/whole/hex[:16]"},
        "fingerprint": FULL.findings[0].fingerprint,
    }  # fmt: skip
    assert "evidence" not in document["findings"][1]
    assert json.loads(rendered("json", MATCHES))["rows"][1] == {
        "file": "", "id": "MUB-2", "state": "not-found", "same_timeline": None, "score": None, "offset_s": None,
        "overlap_s": None, "speed": None, "coverage_file": None, "coverage_reference": None,
    }  # fmt: skip


# --- CSV -------------------------------------------------------------------------------------------------------------


def cells(report: Report) -> list[list[str]]:
    return list(csv.reader(io.StringIO(rendered("csv", report)), strict=True))


def test_csv_of_findings() -> None:
    header, first, *_ = cells(FULL)
    assert header == ["rule", "level", "confidence", "count", "path", "record", "id", "name", "message", "fingerprint"]
    assert first == [
        "stray-hash", "error", "proven", "500", "p.jsonl", "1", "MUB-1", "$.hash", "SHA-256 of the whole file",
        FULL.findings[0].fingerprint,
    ]  # fmt: skip


def test_csv_of_rows_has_the_columns_that_are_promised() -> None:
    header, first, second = cells(MATCHES)
    promised = "file,id,state,same_timeline,score,offset_s,overlap_s,speed,coverage_file,coverage_reference"
    assert ",".join(header) == promised
    assert ",".join(first) == "a.mp3,MUB-1,matched,true,0.988,-0.100,30.000,1.000,1.000,0.500"
    assert second == ["", "MUB-2", "not-found", *[""] * 7]
    header, first = cells(EDGES)
    promised = (
        "group,set_a,a,set_b,b,relation,score,offset_s,overlap_s,speed,coverage_a,coverage_b,title_artist_agree,keep"
    )
    assert ",".join(header) == promised
    assert ",".join(first) == "1,a,a/1.mp3,b,b/2.mp3,same-recording,0.900,1.500,20.000,1.000,1.000,0.250,false,a/1.mp3"


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_csv_holds_no_formula_and_keeps_its_columns(text: str) -> None:
    for report in (hostile(text), rows(text), edges(text)):
        header, *lines = cells(report)
        assert {len(line) for line in lines} == {len(header)}
        for cell in (cell for line in lines for cell in line):
            start = unicodedata.normalize("NFKC", cell[:1])
            assert start not in ("=", "+", "-", "@", "\t", "\r") or cell == f"{float(cell):.3f}"


# --- text ------------------------------------------------------------------------------------------------------------


def test_text_in_full() -> None:
    assert (
        rendered("text", FULL)
        == """p.jsonl $.hash (500 records, first record 1 (MUB-1); hex, 16 digits)
    error [stray-hash] proven: SHA-256 of the whole file

warning [identifying-tag] strong: a tag
    id3.TIT2 in 2 places, first audio/1.mp3

q.jsonl (record 3)
    note [malformed-record] weak: a record

not read:
    audio/x.tak: container not supported

neither judged nor declared:
    notes.txt

notes:
    a note

files copied: 7
examined 3 files, 123,456,789 bytes, 500 records with 1,000 fields, 2 audio files
accepted by waivers or the baseline: 2
1 error, 1 warning, 1 note, 1 not read: findings at or above 'error' (exit status 1)
"""
    )


@pytest.mark.parametrize(
    ("report", "verdict"),
    [
        (Report(), "0 errors, 0 warnings, 0 notes: no verdict, since nothing was examined (exit status 3)"),
        (Report(examined=Examined(files=1)), "0 errors, 0 warnings, 0 notes: clean"),
        (
            replace(FULL, unexamined=(), fail_on="never"),
            "1 error, 1 warning, 1 note: nothing at or above 'never'",
        ),
        (
            replace(FULL, findings=FULL.findings[1:], unexamined=()),
            "0 errors, 1 warning, 1 note: nothing at or above 'error'",
        ),
        (
            replace(FULL, findings=FULL.findings[1:], fail_on="warning"),
            "0 errors, 1 warning, 1 note, 1 not read: findings at or above 'warning' (exit status 1)",
        ),
    ],
)
def test_text_ends_in_the_verdict(report: Report, verdict: str) -> None:
    assert rendered("text", report).splitlines()[-1] == verdict


def test_text_of_rows_is_a_table_without_empty_columns() -> None:
    lines = rendered("text", replace(MATCHES, rows=(Match("a.mp3", "MUB-1", "matched", score=0.5), MATCHES.rows[1])))
    assert lines.splitlines()[:3] == [
        "file   id     state      score",
        "a.mp3  MUB-1  matched    0.50",
        "       MUB-2  not-found",
    ]


def test_long_lists_are_cut_in_text_and_whole_in_json() -> None:
    report = replace(FULL, noted=tuple(f"n{number:02}" for number in range(25)))
    shown = rendered("text", report)
    assert "    n19\n    and 5 more; --format json lists all\n" in shown
    assert json.loads(rendered("json", report))["noted"] == list(report.noted)


# --- SARIF -----------------------------------------------------------------------------------------------------------


def sarif(report: Report) -> dict[str, Any]:
    (run,) = json.loads(rendered("sarif", report))["runs"]
    return run


_PHYSICAL = closed(
    {
        "artifactLocation": closed({"uri": {"type": "string", "format": "uri-reference"}, "uriBaseId": _TEXT}),
        "region": closed({"startLine": {"type": "integer", "minimum": 1}}),
    }
)
_LOCATION = closed(
    {"physicalLocation": _PHYSICAL},
    logicalLocations=many(closed({"fullyQualifiedName": _TEXT, "kind": {"const": "member"}})),
)
_MESSAGE = closed({"text": _TEXT})
_RULE = closed({"id": _TEXT, "help": _MESSAGE})
# what SARIF 2.1.0 asks for and allows, of the parts in use
SARIF = closed(
    {
        "$schema": _TEXT,
        "version": {"const": "2.1.0"},
        "runs": many(
            closed(
                {
                    "tool": closed(
                        {
                            "driver": closed(
                                {
                                    "name": _TEXT,
                                    "version": _TEXT,
                                    "rules": many(closed({"id": _TEXT, "help": _MESSAGE})),
                                }
                            )
                        }
                    ),
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "originalUriBaseIds": closed({"SRCROOT": closed({"description": _MESSAGE})}),
                    "invocations": many(
                        closed(
                            {
                                "executionSuccessful": {"type": "boolean"},
                                "exitCode": {"type": "integer"},
                                "toolExecutionNotifications": many(
                                    closed({"level": _TEXT, "message": _MESSAGE, "locations": many(_LOCATION)})
                                ),
                            }
                        )
                    ),
                    "results": many(
                        closed(
                            {
                                "ruleId": _TEXT,
                                "ruleIndex": _COUNT,
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": _MESSAGE,
                                "locations": many(_LOCATION),
                                "partialFingerprints": {"type": "object", "additionalProperties": _TEXT},
                                "properties": {"type": "object"},
                            },
                            relatedLocations=many(_LOCATION),
                            suppressions=many(
                                closed({"kind": {"enum": ["inSource", "external"]}, "status": {"const": "accepted"}})
                            ),
                        )
                    ),
                }
            )
        ),
    }
)


@pytest.mark.parametrize("report", [Report(), FULL, MATCHES, EDGES, *map(hostile, HOSTILE)])
def test_sarif_has_its_shape(report: Report) -> None:
    text = rendered("sarif", report)
    assert text.isascii()
    document = json.loads(text)
    jsonschema.validate(document, SARIF)
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert len(set(rules)) == len(rules)


def test_sarif_in_full() -> None:
    run = sarif(FULL)
    first, second, _, *accepted = run["results"]
    (location,) = first["locations"]
    assert location == {
        "physicalLocation": {
            "artifactLocation": {"uri": "release/p.jsonl", "uriBaseId": "SRCROOT"}, "region": {"startLine": 1},
        },
        "logicalLocations": [{"fullyQualifiedName": "$.hash", "kind": "member"}],
    }  # fmt: skip
    assert first["partialFingerprints"] == {"leakscan/v1": FULL.findings[0].fingerprint}
    assert first["message"] == {"text": "SHA-256 of the whole file (500 in all)"}
    (related,) = first["relatedLocations"]
    assert related["physicalLocation"]["artifactLocation"]["uri"] == "release/audio/MUB-1.mp3"
    assert second["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
    assert [result["ruleId"] for result in accepted] == ["local-path", "video-id"]
    assert all(result["suppressions"] == [{"kind": "external", "status": "accepted"}] for result in accepted)
    assert "suppressions" not in first
    (invocation,) = run["invocations"]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (1, True)


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_sarif_addresses_are_relative_and_quoted(text: str) -> None:
    (result, *_) = sarif(replace(hostile(text), root="."))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"[\w./~%-]*", uri, re.ASCII)
    assert urllib.parse.unquote(uri) == text.encode("utf-8", "replace").decode()


def test_no_address_names_a_place_on_this_machine() -> None:
    (result, *_) = sarif(replace(FULL, root="/somewhere/else"))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "p.jsonl"


# --- JUnit -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("report", [Report(), FULL, MATCHES, EDGES, *map(hostile, HOSTILE)])
def test_junit_is_xml_whose_counts_are_right(report: Report) -> None:
    suite = ElementTree.fromstring(rendered("junit", report))
    assert suite.tag == "testsuite"
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.attrib[name]) == len(suite.findall(f"testcase/{kind}"))
    bad = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    assert bool(bad) == (report.status != 0)


def test_junit_in_full() -> None:
    suite = ElementTree.fromstring(rendered("junit", FULL))
    found = [(case.attrib["classname"], case.attrib["name"], case[0].tag) for case in suite]
    assert found == [
        ("release/p.jsonl", "stray-hash $.hash", "failure"),
        ("release/audio/1.mp3", "identifying-tag id3.TIT2", "system-out"),
        ("release/q.jsonl", "malformed-record", "system-out"),
        ("release/p.jsonl", "local-path $.origin", "skipped"),
        ("release/p.jsonl", "video-id $.clip", "skipped"),
        ("release/audio/x.tak", "is read in full", "error"),
        ("leakscan", "verdict", "system-out"),
    ]
    assert ElementTree.fromstring(rendered("junit", replace(FULL, fail_on="note"))).attrib["failures"] == "3"
    assert ElementTree.fromstring(rendered("junit", replace(FULL, fail_on="never"))).attrib["failures"] == "0"


# --- GitHub and GitLab -----------------------------------------------------------------------------------------------


def test_github_in_full() -> None:
    assert (
        rendered("github", FULL)
        == """\
::error file=release/p.jsonl,line=1,title=stray-hash::p.jsonl $.hash: SHA-256 of the whole file (proven, 500 in all)
::warning file=release/audio/1.mp3,title=identifying-tag::audio/1.mp3 id3.TIT2: a tag (strong, 2 in all)
::notice file=release/q.jsonl,line=3,title=malformed-record::q.jsonl: a record (weak, 1 in all)
::error file=release/audio/x.tak,title=not read::audio/x.tak: container not supported
::notice title=leakscan::1 error, 1 warning, 1 note, 1 not read: findings at or above 'error' (exit status 1)
"""
    )


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_github_properties_end_where_they_should(text: str) -> None:
    for line in rendered("github", hostile(text)).splitlines():
        command = re.fullmatch(r"::(error|warning|notice) ((?:\w+=[^:,]*,?)+)::[^\r\n]*", line)
        assert command is not None
        assert {part.partition("=")[0] for part in command[2].split(",")} <= {"file", "line", "title"}


def test_gitlab_in_full() -> None:
    issues = json.loads(rendered("gitlab", FULL))
    assert issues[0] == {
        "description": "$.hash: SHA-256 of the whole file (proven, 500 in all)", "check_name": "stray-hash",
        "fingerprint": FULL.findings[0].fingerprint, "severity": "major",
        "location": {"path": "release/p.jsonl", "lines": {"begin": 1}},
    }  # fmt: skip
    assert [(issue["check_name"], issue["severity"], issue["location"]["lines"]["begin"]) for issue in issues[1:]] == [
        ("identifying-tag", "minor", 1), ("malformed-record", "info", 3), ("not-read", "blocker", 1),
    ]  # fmt: skip
    assert len({issue["fingerprint"] for issue in issues}) == 4


# --- Markdown --------------------------------------------------------------------------------------------------------


def test_markdown_in_full() -> None:
    assert (
        rendered("markdown", FULL)
        == """### leakscan

1 error, 1 warning, 1 note, 1 not read: findings at or above 'error' (exit status 1)

| level | rule | file | name | count | what |
| --- | --- | --- | --- | --- | --- |
| error | stray-hash | p.jsonl | $.hash | 500 | SHA-256 of the whole file (proven) |
| warning | identifying-tag | audio/1.mp3 | id3.TIT2 | 2 | a tag (strong) |
| note | malformed-record | q.jsonl |  | 1 | a record (weak) |

Not read:

- audio/x.tak: container not supported

Neither judged nor declared:

- notes.txt

Notes:

- a note

Accepted by waivers or the baseline: 2
"""
    )


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_markdown_holds_no_markup_from_outside(text: str) -> None:
    for report in (hostile(text), rows(text), edges(text)):
        lines = rendered("markdown", report).splitlines()
        table = [line for line in lines if line.startswith("|")]
        assert len({line.count("|") for line in table}) == 1
        kept = [re.sub(r"(?<=[^\W_])_(?=[^\W_])", "", line) for line in lines[3:]]  # within a word it marks nothing
        assert not any(set("`*_[]<>~@\\") & set(line) for line in kept)


def test_markdown_reads_well() -> None:
    shown = rendered("markdown", replace(FULL, row=Match, summary={"in_short": "all found", "_x_": "a_", "y": "_b"}))
    assert "- in_short: all found\n- &#95;x&#95;: a&#95;\n- y: &#95;b\n" in shown


def test_markdown_is_cut_when_it_grows_long() -> None:
    shown = rendered("markdown", replace(FULL, findings=FULL.findings[:1] * 250))
    assert shown.count("stray-hash") == 200
    assert "and 50 more; --format json lists all\n" in shown
