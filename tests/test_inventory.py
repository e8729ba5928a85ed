"""The set of files is exact: its digest can be worked out by hand, and sidecars are known by their names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from leakscan import inventory
from leakscan.inventory import is_sidecar, set_root


def test_files_are_listed_by_path_and_the_own_repository_is_not(tmp_path: Path) -> None:
    for name in ("b.txt", "a/x.txt", ".git/HEAD", "a/.hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    found = inventory.take(tmp_path)
    assert list(found.files) == ["a/.hidden", "a/x.txt", "b.txt"]
    assert found.files["a/x.txt"].size == 7
    assert found.faults == ()


def test_nothing_hides_under_the_name_of_a_repository(tmp_path: Path) -> None:
    for folder, make in (
        ("file", lambda path: path.write_text("gitdir: here")),
        ("link", lambda path: path.symlink_to("/etc")),
        ("folder", lambda path: path.mkdir()),
    ):
        (tmp_path / folder).mkdir()
        make(tmp_path / folder / ".git")
        assert [path for path, _ in inventory.take(tmp_path / folder).faults] == [".git"]


def test_the_digest_of_the_set_can_be_worked_out_by_hand(tmp_path: Path) -> None:
    rows = []
    for name, text in (("b.txt", "b"), ("a.txt", "aa")):
        (tmp_path / name).write_text(text)
        digest = subprocess.run(["sha256sum", name], cwd=tmp_path, capture_output=True, text=True).stdout[:64]
        rows.append((name, len(text), digest))
    program = "for f in *; do printf '%s %s %s\\n' $(sha256sum < $f | cut -c1-64) $(wc -c < $f) $f; done | sha256sum"
    done = subprocess.run(["sh", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert set_root(rows) == set_root(rows[::-1]) == done.stdout[:64]


def test_every_part_of_a_row_counts() -> None:
    roots = {
        set_root([("a", 1, "x")]), set_root([("b", 1, "x")]), set_root([("a", 2, "x")]), set_root([("a", 1, "y")]),
        set_root([("a", None, "x")]), set_root([]), set_root([("a", 1, "x"), ("b", 1, "x")]),
    }  # fmt: skip
    assert len(roots) == 7


@pytest.mark.parametrize(
    ("path", "known"),
    [("a/B1.cue", True), ("a/B1.LOG", True), (".DS_Store", True), ("a/._B1.mp3", True), ("x.mp3:Zone.Identifier", True),
     ("a/B1.mp3", False), ("README.md", False), ("cue/B1.mp3", False), ("a/cue", False)],
)  # fmt: skip
def test_sidecars(path: str, known: bool) -> None:
    assert is_sidecar(path) is known
