"""The private record of a copy: old and new names, digests and accounts.  It names what the copy hides."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscan import sealing
from leakscan.model import UsageError

KIND = "leakscan_mapping"
VERSION = 1
LIMIT = 256 << 20
"""The largest mapping that is read, in bytes."""

_TEXTS = ("old", "new", "sha256_old", "sha256_new")


@dataclass(frozen=True, slots=True)
class Copied:
    """One file of the copy; `stripped` says of an audio file what `stripping.Stripped.document` does."""

    old: str
    new: str
    sha256_old: str
    sha256_new: str
    stripped: Mapping[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """The line of this file as JSON has it."""
        names = {name: getattr(self, name) for name in _TEXTS}
        return {**names, **({"audio": self.stripped} if self.stripped is not None else {})}


def load_copied(document: Any) -> Copied:
    """The inverse of `Copied.document`.  Raises `ValueError`."""
    if not isinstance(document, Mapping) or not all(isinstance(document.get(name), str) for name in _TEXTS):
        raise ValueError("not a file of a mapping")
    stripped = document.get("audio")
    if stripped is not None and not (isinstance(stripped, Mapping) and _are_accounts(stripped)):
        raise ValueError("not an audio file of a mapping")
    return Copied(**{name: document[name] for name in _TEXTS}, stripped=stripped)


def _are_accounts(stripped: Mapping[str, Any]) -> bool:
    accounts = (stripped.get("before"), stripped.get("after"))
    return all(isinstance(stripped.get(key), str) for key in ("how", "pcm")) and all(
        isinstance(account, Mapping)
        and all(isinstance(account.get(key), str) for key in ("sha256", "container"))
        and all(isinstance(account.get(key), list) for key in ("parameters", "extras"))
        and isinstance(account.get("bytes"), Mapping)
        for account in accounts
    )


def dump(copied: Iterable[Copied]) -> bytes:
    """The mapping as the bytes of its file: JSON, one line for each file."""
    lines = ",\n".join(json.dumps(file.document()) for file in copied)
    return f'{{"{KIND}": {VERSION}, "files": [\n{lines}\n]}}\n'.encode("ascii")


def read(path: Path) -> tuple[Copied, ...]:
    """The files of a mapping that `clean` wrote.  Raises `UsageError`; messages quote nothing of it."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LIMIT + 1)
        if len(data) > LIMIT:
            raise ValueError("too large")
        document = json.loads(data)
        if not isinstance(document, dict) or document.get(KIND) != VERSION:
            raise ValueError("another kind of file")
        return tuple(load_copied(file) for file in document["files"])
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{path}: not a mapping that `leakscan clean` wrote") from error


def check_place(path: Path, *folders: Path, written: bytes | None = None) -> None:
    """Raise `UsageError` where a mapping at `path` would be published, or something be lost.

    It lies outside of `folders`, and of any repository.  `written` is what an interrupted run may have put there.
    """
    if os.path.lexists(path) and not (written is not None and path.is_file() and path.read_bytes() == written):
        raise UsageError(f"{path}: exists already; name a new file")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: its folder does not exist; make it first")
    place = path.resolve()
    if any(place.is_relative_to(folder) for folder in folders):
        raise UsageError(f"{path}: the mapping names what the copy hides; keep it outside both folders")
    sealing.outside_repository(path, "the mapping")
