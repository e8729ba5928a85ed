"""The profiles on releases like those that they are made for: all that is planted is found, and nothing else is."""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leakscan import config, scanning
from leakscan.model import Report

FIXTURES = Path(__file__).parents[1] / "fixtures"
RELEASES = FIXTURES / "releases"
PROFILES = ("mub", "bass", "mustbench", "openmic-qa")
LEAKY = PROFILES[1:]  # of MUB's leaks test_cli.py knows
CASES = [(name, evaluator) for name in PROFILES for evaluator in (False, True)]


@pytest.fixture(scope="module", autouse=True)
def _made() -> None:
    subprocess.run([sys.executable, str(FIXTURES / "make.py")], check=True, capture_output=True)


def test_every_profile_is_tested() -> None:
    assert {file.stem for file in (FIXTURES.parent / "rules/profiles").glob("*.toml")} == set(PROFILES)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_a_configuration_with_closed_records(name: str) -> None:
    loaded = config.parse({"profile": name}, Path("leakscan.toml"))
    assert [(records.closed, bool(records.id), bool(records.recording)) for records in loaded.records] == [(True,) * 3]


@pytest.mark.parametrize(("name", "with_evaluator"), CASES)
def test_a_clean_release_is_silent(name: str, with_evaluator: bool) -> None:
    report = _scan(f"{name}-clean", with_evaluator)
    assert [(finding.rule, finding.place.path, finding.place.name) for finding in report.findings] == []
    assert (report.status, report.unexamined, report.noted) == (0, (), ())
    assert report.suppressed == (5 if name == "bass" and with_evaluator else 0)  # the artists of the collaborations


@pytest.mark.parametrize("name", LEAKY)
def test_every_planted_leak_is_found(name: str) -> None:
    found = _found(f"{name}-leaky")
    missed: dict[str, list[str]] = {}
    for row in _rows((RELEASES / f"{name}-leaky.planted.csv").read_text(encoding="utf-8")):
        if (row["id"], row["leak"]) not in found:
            folder = "".join(row["id"].rpartition("/")[:2])
            leak = f"{folder} file" if row["leak"] == "file" else row["leak"]
            missed.setdefault(leak, []).append(row["id"])
    assert missed == {}


def _scan(name: str, with_evaluator: bool) -> Report:
    private = FIXTURES / "evaluator" / name.rpartition("-")[0] / "evaluator.toml" if with_evaluator else None
    options = scanning.Options(max_places=10_000, reveal=True)
    return scanning.scan([RELEASES / name], private=private, options=options)


@functools.cache
def _found(name: str) -> dict[tuple[str, str], set[str]]:
    """The rules that fired, by the ID (or file) and the name that the table of planted leaks uses."""
    ids = {(path, number): str(record.get("id") or record["qa_id"]) for path, number, record in _records(name)}
    found: dict[tuple[str, str], set[str]] = {}
    for finding in _scan(name, with_evaluator=True).findings:
        for place in finding.places or (finding.place,):
            if finding.rule == "gold-order":
                key = (place.path, "row order")
            elif finding.rule == "cross-item-answer":  # about two items, not about a field
                key = (ids[place.path, place.record], "$.options[]")
            elif place.record is None:
                key = (_unmasked(RELEASES / name, place.path), "file")
            else:
                prefix = f"{place.path} " if place.path.startswith("outputs/") else ""
                key = (ids[place.path, place.record], f"{prefix}{finding.place.name}")
            found.setdefault(key, set()).add(finding.rule)
            if finding.rule == "marked-option":  # about all the options, whichever of them is marked
                for letter in "ABCD":
                    found.setdefault((key[0], f"{key[1]}.{letter}"), set()).add(finding.rule)
    return found


def _unmasked(release: Path, path: str) -> str:
    """The path of a file that the report calls by its place in its sorted folder."""
    folder, _, shown = path.rpartition("/")
    place = re.match(r"<name (\d+), ", shown)
    return f"{folder}/{sorted(os.listdir(release / folder))[int(place[1]) - 1]}" if place else path


def _records(name: str) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """The records of a release with their files and numbers, read without leakscan."""
    for file in sorted((RELEASES / name).rglob("*")):
        records: list[dict[str, Any]] = []
        if file.suffix == ".json":
            document = json.loads(file.read_bytes())
            records = document["items"] if isinstance(document, dict) else document
        elif file.suffix == ".csv":
            records = [dict(row) for row in _rows(file.read_bytes().decode())]
        for number, record in enumerate(records, 1):
            yield file.relative_to(RELEASES / name).as_posix(), number, record


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))
