"""Golden reports: what users see of a known release, read as a diff.  Renew with `make golden`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from leakscan.cli import cli

ROOT = Path(__file__).parent.parent
RELEASES = ROOT / "fixtures" / "releases"
EVALUATOR = ROOT / "fixtures" / "evaluator" / "mub" / "evaluator.toml"


def masked(text: str) -> str:
    """Byte counts depend on the encoder's version."""
    return re.sub(r'(^examined .*?files, |"bytes": )[\d,]*\d', r"\1N", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["mub-leaky", "mub-clean"])
@pytest.mark.parametrize("format_name", ["text", "json"])
def test_report(name: str, format_name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    arguments = ["scan", f"fixtures/releases/{name}", "--evaluator", str(EVALUATOR), "--format", format_name]

    result = CliRunner().invoke(cli, arguments)

    golden = RELEASES / f"{name}.golden.{format_name}"
    if request.config.getoption("golden"):
        golden.write_text(masked(result.stdout))
    assert masked(result.stdout) == golden.read_text()
    assert result.exit_code == (1 if name == "mub-leaky" else 0)
