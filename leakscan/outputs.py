"""What may be written over: a file of the kind that is written, and none that is read for it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from leakscan.model import LeakscanError, UsageError

SAMPLE = 4096
"""Bytes at the start and as many at the end by which the kind of a file is told."""

_STREAMS = ("/dev/", "/proc/")


def check(path: Path, kind: str, pattern: re.Pattern[bytes] | None, read: Iterable[Path] = ()) -> None:
    """Raise `UsageError` where `path` is one of the files `read`, or where a file is that is not of its kind.

    In its first and last bytes, taken together, a file of that kind matches the pattern somewhere; without one, none
    does.  An empty file may be written over, and so may what is no regular file or opened already, such as a terminal.
    """
    if not path.is_file() or path.as_posix().startswith(_STREAMS):
        return
    try:
        if any(one.exists() and one.samefile(path) for one in read):
            raise UsageError(f"{path}: is read here, and would be lost; name another file")
        with path.open("rb") as stream:
            sample = stream.read(SAMPLE)
            stream.seek(max(SAMPLE, os.fstat(stream.fileno()).st_size - SAMPLE))
            sample += stream.read(SAMPLE)
    except OSError as error:
        raise LeakscanError(f"{path}: cannot be written over ({error.strerror}); name another file") from error
    if sample and (pattern is None or pattern.search(sample) is None):
        raise UsageError(f"{path}: exists already and is no {kind}; name another file, or remove it first")
