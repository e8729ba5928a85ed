"""What people decided about pairs of recordings: a file that outlives new names, since it knows them by their sound.

    {"leakscan_reviewed": 1, "pairs": [{"a": key, "b": key, "verdict": "same" or "different", "reason": text}]}

A key is `sha256:` and the digest of a recording's fingerprint (its words, little-endian), so that tags and names do
not matter; where sound tells nothing, too short or silent, it is the digest of the file's bytes.  Neither can be looked
up.  Another version of ffmpeg may decode a few samples differently and give another key: such a pair is to be judged
again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leakscan.model import Fingerprint, UsageError

KIND = "leakscan_reviewed"
LIMIT = 64 << 20
"""The largest file that is read, in bytes."""

_VERDICTS = ("same", "different")


@dataclass(frozen=True, slots=True)
class Reviews:
    """Verdicts by pair of keys: True for the same recording."""

    same: Mapping[frozenset[str], bool] = field(default_factory=dict)


def key_of(fp: Fingerprint) -> str:
    """The key of a recording whose sound tells it apart."""
    return f"sha256:{hashlib.sha256(fp.words).hexdigest()}"


def read(path: Path) -> Reviews:
    """The verdicts of a file.  Raises `UsageError`, also for two verdicts on one pair, and for a recording that is said
    to be different from itself."""
    try:
        with path.open("rb") as stream:
            content = stream.read(LIMIT + 1)
        document = json.loads(content.decode("utf-8-sig")) if len(content) <= LIMIT else None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON; name a file of reviewed pairs") from error
    if not isinstance(document, dict) or document.get(KIND) != 1 or not isinstance(document.get("pairs"), list):
        raise UsageError(f'{path}: no reviewed pairs; they start with {{"{KIND}": 1, "pairs": [...')
    verdicts: dict[frozenset[str], bool] = {}
    for number, pair in enumerate(document["pairs"], 1):
        if not _is_pair(pair):
            raise UsageError(f'{path}: pair {number}: needs the texts "a", "b", "verdict" ("same" or "different"), and '
                             '"reason"')  # fmt: skip
        keys, same = frozenset((pair["a"], pair["b"])), pair["verdict"] == "same"
        if verdicts.setdefault(keys, same) != same:
            raise UsageError(f"{path}: pair {number}: was judged otherwise before; keep one of the verdicts")
        if len(keys) == 1 and not same:
            raise UsageError(f"{path}: pair {number}: both sides have one key: they hold the same; remove the pair")
    return Reviews(verdicts)


def _is_pair(pair: Any) -> bool:
    return (
        isinstance(pair, dict)
        and all(isinstance(pair.get(name), str) and pair[name] for name in ("a", "b"))
        and pair.get("verdict") in _VERDICTS
        and isinstance(pair.get("reason", ""), str)
    )
