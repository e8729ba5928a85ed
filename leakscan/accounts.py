"""What a private mapping and a certificate hold of one file: its digest and the sums of its ledger, never values."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Literal

from leakscan import ledgers, media
from leakscan.model import EXTRAS, Entry, Ledger

ACCOUNTED = ("payload", "structure", "padding")
"""The kinds of parts that a clean file has, and zeros."""

Packets = Literal["equal", "other", "not comparable"]
"""`not comparable`: WavPack in Matroska, where ffmpeg makes up the headers of blocks."""

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Account:
    """One audio file: what it holds by kind, in bytes, and what must stay the same when it is cleaned.

    `payload` is the SHA-256 of the coded sound as the clean file has it, where it was taken; `extras` are the kinds and
    names of parts (and bits) that a clean file does not have.
    """

    size: int
    sha256: str
    container: str
    payload: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    bytes: Mapping[str, int] = field(default_factory=dict)
    extras: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether every byte is payload, structure or a zero."""
        return not self.extras

    def document(self) -> dict[str, Any]:
        """The account as JSON has it."""
        document = {one.name: getattr(self, one.name) for one in fields(self)}  # `asdict` copies all that is in it
        if not self.payload:
            del document["payload"]
        return document


def can_account(reader: ModuleType | None) -> bool:
    """Whether a format accounts for every byte of its files; others are never cleaned or certified."""
    return hasattr(reader, "account")


def load(readers: Iterable[ModuleType]) -> None:
    """Load what these formats need and takes long (`LOADS`): once, not in every worker that is forked."""
    for name in {name for reader in readers for name in getattr(reader, "LOADS", ())}:
        importlib.import_module(name)


def of_file(entry: Entry, reader: ModuleType) -> Account:
    """The account of an audio file, read with the format `reader`.  Raises `Unreadable` without the path in front."""
    with entry.open() as stream:
        return of_stream(stream, reader.account(stream))


def of_stream(stream: BinaryIO, ledger: Ledger) -> Account:
    """The account of the open file that `ledger` is about."""
    return of_ledger(ledger, *ledgers.digest(stream, ledger))


def of_ledger(ledger: Ledger, sha256: str, payload: str = "") -> Account:
    """The account of a file whose digests are known; that of the coded sound may be none."""
    found = dict.fromkeys((*ACCOUNTED, *EXTRAS), 0)
    extras = set(ledger.bits)
    for part in ledger.parts:
        for kind, count in part.counts():
            found[kind] += count
        if part.kind in EXTRAS:
            extras.add(f"{part.kind}.{part.name}")
    return Account(
        size=ledger.size,
        sha256=sha256,
        container=ledger.container,
        payload=payload,
        parameters=ledger.parameters,
        bytes={kind: count for kind, count in found.items() if count or kind in ACCOUNTED},
        extras=tuple(sorted(extras)),
    )


def packets(path: Path, account: Account, name: str = "") -> Packets:
    """What ffmpeg's demuxer, which shares no code with our formats, says about the sound of a clean file.

    Raises `Unreadable` where ffmpeg finds no sound, and `LeakscanError` without an ffmpeg.
    """
    found = media.packet_digest(path, name)
    if found in (account.payload, account.sha256):  # of raw WavPack, packets have the headers of blocks, too
        return "equal"
    rebuilt = account.container == "matroska" and media.codec(path, name) == "wavpack"
    return "not comparable" if rebuilt else "other"


def sha256(path: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return _digest(stream)


def _digest(stream: BinaryIO) -> str:
    digest = hashlib.sha256()
    stream.seek(0)
    for block in iter(lambda: stream.read(_BLOCK), b""):
        digest.update(block)
    return digest.hexdigest()


def difference(before: Account, after: Account) -> str:
    """Why `after` is no clean copy of `before`; empty when it is one.  Coded sound without a digest is the same."""
    if after.extras or after.bytes.get("padding"):
        return f"bytes are left that no decoder needs ({', '.join(after.extras) or 'zeros'})"
    if before.container != after.container:
        return f"a {before.container} file becomes a {after.container} one"
    if before.payload != after.payload:
        return "the coded sound changes"
    if before.parameters != after.parameters:
        names = sorted({name for name, _ in set(before.parameters) ^ set(after.parameters)})
        return f"what a decoder needs changes ({', '.join(names)})"
    return ""
