"""False alarms: at most one in 1,000 records, on long clean releases of the four profiles, without their audio."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import leakscan

MAKE = Path(__file__).parents[1] / "fixtures" / "make.py"
NAMES = ("mub", "bass", "mustbench", "openmic-qa")
CASES = [(name, evaluator) for name in NAMES for evaluator in (False, True)]


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The long clean releases with the evaluator's side of each."""
    folder = tmp_path_factory.mktemp("twins")
    subprocess.run([sys.executable, str(MAKE), "--twins", str(folder)], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(("name", "with_evaluator"), CASES)
def test_clean_twin(twins: Path, name: str, with_evaluator: bool) -> None:
    private = twins / name / "evaluator/evaluator.toml" if with_evaluator else None

    report = leakscan.scan(twins / name / "release", evaluator=private)

    alarms = [(finding.rule, finding.place.path, finding.place.name, finding.count) for finding in report.findings]
    assert report.unexamined == ()
    assert report.examined.records >= 1000
    assert sum(count for *_, count in alarms) <= report.examined.records / 1000, alarms
