"""leakscan: contamination and leakage forensics for music-understanding benchmarks of audio language models.

The functions here are the public API.  What is heavy loads when a function is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leakscan.model import VERSION as __version__
from leakscan.model import LeakscanError, Report, Unreadable, UsageError

if TYPE_CHECKING:
    from leakscan.certificates import Certificate
    from leakscan.model import Fingerprint

__all__ = [
    "LeakscanError", "Report", "Unreadable", "UsageError", "__version__", "certify", "clean", "duplicates",
    "fingerprint", "match", "overlap", "scan", "verify",
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
    check_pcm: bool = False,
    transcode: bool = False,
) -> Report:
    """Write a releasable copy of `source` to the new folder `out`.

    `mapping` is the private file that tells old from new names.  `check_pcm` has ffmpeg compare the samples, too,
    `transcode` makes FLAC of lossless files that cannot be cleaned as they are.  Raises `UsageError`, `Unreadable` and
    `LeakscanError`; `source` is never changed.
    """
    from leakscan import cleaning

    return cleaning.clean(
        Path(source), Path(out), config, private=evaluator, mapping_file=Path(mapping) if mapping is not None else None,
        options=cleaning.Options(check_pcm, transcode),
    )  # fmt: skip


def certify(
    release: str | Path,
    config: str | Path | None = None,
    *,
    evaluator: str | Path | None = None,
    mapping: str | Path | None = None,
    sign: str | Path | None = None,
) -> Certificate:
    """State what was found in a clean release; `Certificate.content` is what to keep, outside of the release.

    `sign` is a file with an Ed25519 private key, `mapping` what `clean` wrote about this release.  Raises
    `certificates.NotCertified`, a `LeakscanError` with the report of what is wrong, and `UsageError`.
    """
    from leakscan import certificates

    return certificates.certify(
        Path(release), config, private=evaluator, mapping_file=Path(mapping) if mapping is not None else None,
        key=Path(sign) if sign is not None else None,
    )  # fmt: skip


def verify(
    certificate: str | Path,
    release: str | Path,
    *,
    trust: str | Path | None = None,
    config: str | Path | None = None,
    evaluator: str | Path | None = None,
) -> Report:
    """Check that a release is the one that a certificate is about, and still clean.

    `trust` is a file with the issuer's public key.  Raises `UsageError`, and `Unreadable` for what is no certificate.
    """
    from leakscan import verification

    return verification.verify(
        Path(certificate), Path(release), trust=[Path(trust)] if trust is not None else [],
        config=config, private=evaluator,
    )  # fmt: skip


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
    from leakscan import repeats

    return repeats.duplicate_paths(_paths(files))


def overlap(sets: Mapping[str, _Paths]) -> Report:
    """Find the recordings that named sets share; a set is audio, records, an index or a list of digests or IDs.

    The rows are of type `Edge`; every recording in several sets is a finding of level error.  Raises `UsageError`.
    """
    from leakscan import overlapping

    return overlapping.overlap_paths({name: _paths(paths) for name, paths in sets.items()})
