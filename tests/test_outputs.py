"""What may be written over, and what must not be."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from leakscan import outputs
from leakscan.model import LeakscanError, UsageError

TALLY = re.compile(b"TALLY")


def test_what_is_not_there_empty_or_of_its_kind_may_be_written(tmp_path: Path) -> None:
    file = tmp_path / "out"
    outputs.check(file, "tally", TALLY)
    file.touch()
    outputs.check(file, "tally", TALLY)
    for content in (b"TALLY of 3", bytes(10_000) + b"TALLY", b"2 TALLY" + bytes(10_000)):
        file.write_bytes(content)
        outputs.check(file, "tally", TALLY)


@pytest.mark.parametrize("content", [b"gold\n", bytes(5_000) + b"TALLY" + bytes(5_000)])
def test_another_kind_of_file_is_kept(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "out"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="out: exists already and is no tally; name another file, or remove it first"):
        outputs.check(file, "tally", TALLY)


def test_what_is_read_is_kept_whatever_it_is(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"TALLY")
    (tmp_path / "link").symlink_to("out")
    for name in (file, tmp_path / "link"):
        with pytest.raises(UsageError, match="is read here, and would be lost; name another file"):
            outputs.check(name, "tally", TALLY, (tmp_path / "gone", file))


def test_a_terminal_or_pipe_is_no_file_to_be_lost(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    outputs.check(tmp_path / "pipe", "tally", None)
    outputs.check(Path(os.devnull), "tally", None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_looked_at_is_kept(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"TALLY")
    (tmp_path / "out").chmod(0)
    with pytest.raises(LeakscanError, match="cannot be written over"):
        outputs.check(tmp_path / "out", "tally", TALLY)
