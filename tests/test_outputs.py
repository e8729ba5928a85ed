"""What may be written over, and what must not be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leakscan import outputs
from leakscan.model import LeakscanError, UsageError


def test_what_is_not_there_empty_or_of_its_kind_may_be_written(tmp_path: Path) -> None:
    file = tmp_path / "out"
    outputs.check(file, "tally", (b"TALLY",))
    file.touch()
    outputs.check(file, "tally", (b"TALLY",))
    for content in (b"TALLY of 3", bytes(10_000) + b"TALLY", b"2 TALLY" + bytes(10_000)):
        file.write_bytes(content)
        outputs.check(file, "tally", (b"SUM", b"TALLY"))


@pytest.mark.parametrize("content", [b"gold\n", bytes(5_000) + b"TALLY" + bytes(5_000)])
def test_another_kind_of_file_is_kept(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "out"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="out: exists already and is no tally; name another file, or remove it first"):
        outputs.check(file, "tally", (b"TALLY",))


def test_what_is_read_is_kept_whatever_it_is(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"TALLY")
    (tmp_path / "link").symlink_to("out")
    for name in (file, tmp_path / "link"):
        with pytest.raises(UsageError, match="is read here, and would be lost; name another file"):
            outputs.check(name, "tally", (b"TALLY",), (tmp_path / "gone", file))


def test_a_terminal_or_pipe_is_no_file_to_be_lost(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    outputs.check(tmp_path / "pipe", "tally", ())
    outputs.check(Path(os.devnull), "tally", ())


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_looked_at_is_kept(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"TALLY")
    (tmp_path / "out").chmod(0)
    with pytest.raises(LeakscanError, match="cannot be written over"):
        outputs.check(tmp_path / "out", "tally", (b"TALLY",))
