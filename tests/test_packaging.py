"""The distribution is whole: sdist -> wheel -> an installation that works far away from the checkout.

One chain proves all three: the wheel is built from the unpacked sdist, as a packager would.
"""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

NOT_SOURCE = (".*", "build", "dist", "*.egg-info", "__pycache__", "bench-data", "fixtures")


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """stdout of a command that must succeed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist, built from a copy of the tree: what earlier builds left behind plays no part."""
    work = tmp_path_factory.mktemp("build")
    shutil.copytree(ROOT, work / "tree", ignore=shutil.ignore_patterns(*NOT_SOURCE), symlinks=True)
    build = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    run(sys.executable, "-c", build, work, cwd=work / "tree")
    (sdist,) = work.glob("leakscan_audio-*.tar.gz")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", work, sdist, cwd=work)
    (built,) = work.glob("leakscan_audio-*.whl")
    return built


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist()}


def test_every_module_is_in_the_wheel(contents: dict[str, str]) -> None:
    """Packages are listed by hand in setup.cfg, so one that was forgotten there shows here."""
    expected = {str(path.relative_to(ROOT)) for path in (ROOT / "leakscan").rglob("*.py")}
    assert expected - contents.keys() == set()


def test_every_rule_and_profile_is_in_the_wheel(contents: dict[str, str]) -> None:
    expected = {f"leakscan/{path.relative_to(ROOT)}" for path in (ROOT / "rules").rglob("*.toml")}
    assert any(name.startswith("leakscan/rules/profiles/") for name in expected)
    assert {name for name in contents if name.endswith(".toml")} == expected


def test_nothing_else_is_in_the_wheel(contents: dict[str, str]) -> None:
    """No tests, fixtures or benchmarks: they would land as top-level packages in everybody's environment."""
    assert {name.partition("/")[0].partition("-")[0] for name in contents} == {"leakscan", "leakscan_audio"}


def test_the_licence_and_the_notice_travel_along(contents: dict[str, str]) -> None:
    (notice,) = [text for name, text in contents.items() if name.endswith("/licenses/NOTICE")]
    assert "GPL-2.0-or-later" in notice
    assert any(name.endswith("/licenses/LICENSE") for name in contents)


def test_both_commands_are_entry_points(contents: dict[str, str]) -> None:
    (text,) = [text for name, text in contents.items() if name.endswith("/entry_points.txt")]
    points = configparser.ConfigParser()
    points.read_string(text)
    assert dict(points["console_scripts"]) == dict.fromkeys(("leakscan", "leakscan-audio"), "leakscan.__main__:main")


def test_the_installed_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, wheel, cwd=elsewhere)

    def leakscan(*arguments: str) -> str:
        return run(sys.executable, "-m", "leakscan", *arguments, cwd=elsewhere, PYTHONPATH=str(site))

    where = run(sys.executable, "-c", "import leakscan; print(leakscan.__file__)", cwd=elsewhere, PYTHONPATH=str(site))
    assert Path(where.strip()).is_relative_to(site)
    assert wheel.name.split("-")[1] in leakscan("--version")
    explained = leakscan("explain")
    rules = sorted(path.stem for path in (ROOT / "rules").glob("*.toml"))
    assert rules
    assert [rule for rule in rules if rule not in explained] == []
