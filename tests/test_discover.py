"""A plug-in is found by looking into its folder: no list to edit, nothing imported that was not asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import leakscan
from leakscan import discover


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of plug-ins of leakscan, `leakscan.plugins`, that lives as long as the test."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.setattr(leakscan, "__path__", [*leakscan.__path__, str(tmp_path)])
    yield folder
    for name in [name for name in sys.modules if name.startswith("leakscan.plugins")]:
        del sys.modules[name]
    if hasattr(leakscan, "plugins"):
        del leakscan.plugins


def test_every_module_in_the_folder_is_a_plugin(plugins: Path) -> None:
    (plugins / "wav.py").write_text("NAME = 'wav'")
    (plugins / "csv.py").write_text("NAME = 'csv'")
    (plugins / "notes.txt").write_text("no module")
    found = discover.members("plugins")
    assert [(name, module.NAME) for name, module in found.items()] == [("csv", "csv"), ("wav", "wav")]
    assert found["csv"] is sys.modules["leakscan.plugins.csv"]


def test_a_leading_underscore_marks_shared_code(plugins: Path) -> None:
    (plugins / "_shared.py").write_text("")
    (plugins / "mp3.py").write_text("")
    assert discover.names("plugins") == ["mp3"]


def test_names_imports_no_plugin(plugins: Path) -> None:
    (plugins / "broken.py").write_text("raise RuntimeError('imported')")
    assert discover.names("plugins") == ["broken"]
    with pytest.raises(RuntimeError, match="imported"):
        discover.members("plugins")


def test_an_empty_folder_has_no_plugins(plugins: Path) -> None:
    assert plugins.is_dir()
    assert discover.members("plugins") == {}


def test_a_folder_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"leakscan\.nowhere"):
        discover.names("nowhere")
