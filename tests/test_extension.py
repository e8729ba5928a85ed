"""A rule, a format of records and a report are one new file each, and no edit: tried on a copy, by the command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

RULE = """
id = "colour-of-the-cover"
title = "a field tells the colour of the cover"
level = "error"
about = "hygiene"
why = "It is an example."
fix = "Remove it."
[match]
kind = "^field$"
name = 'cover_colour$'
[[bad]]
field.cover_colour = "green"
[[good]]
field.colour = "green"
"""

FORMAT = '''
"""Records of one line each: name=value pairs, parted by bars."""

from leakscan.model import Item, Place, Unreadable

NAMES = (".bars",)


def sniff(head):
    return head.startswith(b"BARS\\n")


def read(entry):
    with entry.open() as stream:
        lines = stream.read().decode().splitlines()[1:]
    if not lines:
        raise Unreadable(f"{entry.path}: holds no records")
    for number, line in enumerate(lines, 1):
        yield Item(Place(entry.path, number), "record", dict(pair.split("=") for pair in line.split("|")))
'''

REPORT = '''
"""The number of findings of each rule."""

SUFFIX = ".tally"


def render(report, out):
    for finding in report.findings:
        out.write(f"{finding.rule}={finding.count}\\n")
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of leakscan and its rules."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("leakscan", "rules"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    (folder / "p.jsonl").write_text('{"id": "MUB-00001", "cover_colour": "green"}\n{"id": "MUB-00002"}\n')
    (folder / "q.bars").write_text("BARS\nid=MUB-00003|cover_colour=red\nid=MUB-00004|cover_colour=blue\n")
    return folder


def run(copy: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "leakscan", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=120)


def test_copy_as_it_is_knows_none_of_them(copy: Path, release: Path) -> None:
    done = run(copy, release, "--format", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["findings"], report["noted"]) == (0, [], ["q.bars"])
    assert run(copy, release, "--format", "tally").returncode == 2


def test_three_files_are_three_extensions(copy: Path, release: Path, tmp_path: Path) -> None:
    extended = tmp_path / "extended"
    shutil.copytree(copy, extended)
    (extended / "rules/colour-of-the-cover.toml").write_text(RULE)
    (extended / "leakscan/formats/bars.py").write_text(FORMAT)
    (extended / "leakscan/reports/tally.py").write_text(REPORT)

    done = run(extended, release, "--format", "json")
    report = json.loads(done.stdout)
    places = {
        finding["place"]["path"]: [place["record"] for place in finding["places"]] for finding in report["findings"]
    }
    assert (done.returncode, done.stderr) == (1, "")
    assert {finding["rule"] for finding in report["findings"]} == {"colour-of-the-cover"}
    assert places == {"p.jsonl": [1], "q.bars": [1, 2]}
    assert report["examined"] == {"files": 2, "records": 4, "audio": 0, "fields": 7, "bytes": 131}
    assert report["noted"] == []

    done = run(extended, release, "--format", "tally", "-o", tmp_path / "x.tally")
    assert (done.returncode, done.stdout) == (1, "colour-of-the-cover=1\ncolour-of-the-cover=2\n")
    assert (tmp_path / "x.tally").read_text() == done.stdout
    assert run(extended, "explain", "colour-of-the-cover").stdout.endswith("It is an example.\n\nFix: Remove it.\n")
    (release.parent / "empty.bars").write_text("BARS\n")
    assert run(extended, release.parent / "empty.bars").returncode == 3
