"""The private side (gold, catalogue, originals, secret) -> Private.  Never part of a release."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakscan.config import nearest, read_toml
from leakscan.model import Private, UsageError

_KEYS = ("gold", "catalogue", "audio", "secret")
SECRET_BYTES = 32


def load(path: Path) -> Private:
    """Read an evaluator file and the tables it names; paths in it are relative to it.  Raises `UsageError`."""
    document = read_toml(path)
    for key in document:
        if key not in _KEYS:
            raise UsageError(f"{path}: unknown key '{key}'; {nearest(key, _KEYS)}")
    folder = path.parent
    audio, secret = document.get("audio"), document.get("secret")
    if audio is not None and not (isinstance(audio, str) and (folder / audio).is_dir()):
        raise UsageError(f"{path}: audio must name a folder beside this file")
    tables = {name: document[name] for name in ("gold", "catalogue") if name in document}
    rows = {name: _table(path, name, spec) for name, spec in tables.items()}
    names = [spec["file"] for spec in tables.values()] + [secret] * (secret is not None)
    return Private(
        gold=rows.get("gold", {}),
        catalogue=rows.get("catalogue", {}),
        audio=folder / audio if audio else None,
        secret=_secret(path, secret),
        files=(path, *(folder / name for name in names)),
    )


def _table(path: Path, name: str, spec: Any) -> Mapping[str, Mapping[str, str]]:
    """The rows of a CSV table by key, with the named fields only.

    A row that is lost or shifted would hide a leak, so the table must be whole.  Errors quote nothing of it, not even
    its header line, which may be its first row.
    """
    if not isinstance(spec, dict) or set(spec) != {"file", "key", "fields"} or not _are_texts(spec):
        raise UsageError(f'{path}: write {name} = {{file = "...", key = "...", fields = ["...", ...]}}')
    file = path.parent / spec["file"]
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            columns = reader.fieldnames or ()
            for column in (spec["key"], *spec["fields"]):
                if columns.count(column) != 1:
                    found = "several columns" if column in columns else "no column"
                    raise UsageError(f"{file}: its header line has {found} '{column}'; name each column once")
            table: dict[str, Mapping[str, str]] = {}
            for row in reader:
                if None in row or None in row.values():
                    raise UsageError(f"{file}: line {reader.line_num} has not as many cells as the header line")
                if not row[spec["key"]] or row[spec["key"]] in table:
                    raise UsageError(f"{file}: line {reader.line_num} has no '{spec['key']}' of its own; mend the key")
                table[row[spec["key"]]] = {column: row[column] for column in spec["fields"]}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or error
        raise UsageError(f"{file}: cannot be read as CSV: {reason}") from error
    return table


def _are_texts(spec: Mapping[str, Any]) -> bool:
    texts = spec["fields"] if isinstance(spec["fields"], list) else [None]
    return all(isinstance(text, str) for text in (spec["file"], spec["key"], *texts))


def _secret(path: Path, name: Any) -> bytes | None:
    if name is None:
        return None
    if not isinstance(name, str):
        raise UsageError(f"{path}: secret must name a file")
    file = path.parent / name
    try:
        secret = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from error
    if len(secret) != SECRET_BYTES:
        raise UsageError(f"{file}: holds {len(secret)} bytes; a secret is {SECRET_BYTES} raw bytes")
    return secret
