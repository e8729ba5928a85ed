"""Starting is cheap: what is heavy, or under a licence of its own, loads when it is needed and not before."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

HEAVY = {
    "acoustid", "chromaprint", "datasketch", "ffmpeg", "http.client", "mutagen", "numpy", "re2", "scipy", "sqlite3"
}  # fmt: skip
LOADED = f"import sys; print('loaded:', *sorted(sys.modules.keys() & {HEAVY!r}))"


def loaded(code: str) -> str:
    """Which of the heavy modules a fresh interpreter holds after running `code`."""
    done = subprocess.run([sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_importing_the_package_is_cheap() -> None:
    assert loaded("import leakscan") == "loaded:"


@pytest.mark.parametrize("package", ["formats", "reports"])
def test_what_every_command_looks_through_is_cheap(package: str) -> None:
    assert loaded(f"from leakscan.discover import members\nmembers({package!r})") == "loaded:"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["scan", "--help"]])
def test_asking_for_help_is_cheap(arguments: list[str]) -> None:
    code = (
        f"import contextlib\nfrom leakscan.cli import main\nwith contextlib.suppress(SystemExit): main({arguments!r})"
    )
    assert loaded(code) == "loaded:"


def test_what_is_heavy_would_be_seen() -> None:
    assert loaded("import sqlite3, mutagen") == "loaded: mutagen sqlite3"
    assert [name for name in HEAVY if find_spec(name) is None] == []  # a misspelt name would never be seen
