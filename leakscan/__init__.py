"""leakscan: contamination and leakage forensics for music-understanding benchmarks of audio language models.

The functions here are the public API.  What is heavy loads when a function is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leakscan.model import VERSION as __version__
from leakscan.model import LeakscanError, Report, Unreadable, UsageError

if TYPE_CHECKING:
    from leakscan.model import Fingerprint

__all__ = [
    "LeakscanError", "Report", "Unreadable", "UsageError", "__version__", "clean", "duplicates", "fingerprint", "match",
    "scan",
]  # fmt: skip

_Paths = str | Path | Sequence[str | Path]


def _paths(paths: _Paths) -> list[Path]:
    return [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]


def scan(paths: _Paths, config: str | Path | None = None, *, evaluator: str | Path | None = None) -> Report:
    """Judge the files and folders of one release.

    `config` is a leakscan.toml (default: the release root's own), `evaluator` the file that names the private side.
    Raises `UsageError`; what could not be read is in `Report.unexamined`.
    """
    from leakscan import scanning

    return scanning.scan(_paths(paths), config, private=evaluator)


def clean(
    source: str | Path,
    out: str | Path,
    config: str | Path | None = None,
    *,
    evaluator: str | Path | None = None,
    mapping: str | Path | None = None,
) -> Report:
    """Write a releasable copy of `source` to the new folder `out`.

    `mapping` is the private file that tells old from new names.  Raises `UsageError` and `Unreadable`; `source` is
    never changed.
    """
    from leakscan import cleaning

    return cleaning.clean(Path(source), Path(out), config, private=evaluator, mapping=mapping)


def fingerprint(path: str | Path) -> Fingerprint:
    """The acoustic fingerprint of one audio file, over its full length.  Raises `Unreadable`."""
    from leakscan import fingerprints

    return fingerprints.fingerprint(Path(path))


def match(files: _Paths, index: str | Path) -> Report:
    """Match audio files and folders against a reference index; the rows are of type `Match`.  Raises `UsageError`."""
    from leakscan import matching

    return matching.match_paths(_paths(files), Path(index))


def duplicates(files: _Paths) -> Report:
    """Find repeated audio among files and folders; the rows are of type `Edge`.  Raises `UsageError`."""
    from leakscan import matching

    return matching.duplicate_paths(_paths(files))
