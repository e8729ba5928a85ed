"""The reference index: JSON Lines of ordinary fingerprints, sealed unless it is for its owner alone.

Public look-up services can name the recordings from the plain form: three words of a fingerprint are enough.  So it is
sealed for those who may match against it (see `sealing`), or written with mode 0600 and never into a repository.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from leakscan import fingerprints, outputs, sealing
from leakscan.model import Fingerprint, LeakscanError, Reference
from leakscan.sealing import Key, Lock

KIND = "leakscan_index"

_ALGORITHM = "TEST2"
_PARAMETERS = {"rate": 11025, "channels": 1, "step_s": round(fingerprints.STEP_S, 6), "phases": 1}
_MAX_S = 1e9
_MAX_LINE = 16 << 20  # bytes; the fingerprint of four hours takes 0.6 MB


def check_place(path: Path) -> None:
    """Raise `UsageError` where a file is that is no index."""
    outputs.check(path, "reference index", sealing.like(KIND))


def write_plain(references: Sequence[Reference], path: Path) -> None:
    """Write the index, sorted by ID, whole or not at all.

    Raises `UsageError` for a path inside a git repository and `LeakscanError` for references that share an ID, were
    computed by another algorithm, or cannot be written.
    """
    sealing.outside_repository(path, "a plain index")
    check_place(path)
    sealing.save(path, dump(references, path))


def write_sealed(references: Sequence[Reference], path: Path, lock: Lock) -> None:
    """Write an index that only `lock` opens.  Raises as `write_plain` and `sealing.seal`."""
    check_place(path)
    sealing.save(path, sealing.seal(dump(references, path), lock))


def write_each(references: Sequence[Reference], folder: Path, recipients: Sequence[str]) -> tuple[Path, ...]:
    """Write a copy for each recipient, named after it: none then shows how many others there are.

    Returns the files, in the order of `recipients`.  Raises as `write_sealed`.
    """
    sealing.check(Lock(tuple(recipients)))
    content = dump(references, folder)
    files = {recipient: folder / f"{recipient}.age" for recipient in recipients}
    for path in files.values():
        check_place(path)
    for recipient, path in files.items():
        sealing.save(path, sealing.seal(content, Lock((recipient,))))
    return tuple(files.values())


def read(path: Path, key: Key = Key()) -> tuple[Reference, ...]:  # noqa: B008 - frozen
    """The references of an index, plain or sealed, in the file's order.

    A file without the first line is read as TEST2; its fingerprints then have no `library`.  Raises `LeakscanError`:
    with the number of the line, or for a wrong key.
    """
    try:
        with path.open("rb") as stream:
            if sealing.is_sealed(stream.peek(sealing.HEAD_BYTES)):
                return load(io.BytesIO(sealing.unseal(stream.read(), key, str(path))), path)[1]
            return load(stream, path)[1]
    except OSError as error:
        raise LeakscanError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def dump(references: Iterable[Reference], name: object, header: dict[str, Any] | None = None) -> bytes:
    """References as JSON Lines, sorted by ID, below a first line of parameters.

    `header` is added to that line, which then is not that of an index; `name` is what messages call it.  Raises
    `LeakscanError`.
    """
    ordered = sorted(references, key=lambda reference: reference.id)
    for one, other in itertools.pairwise(ordered):
        if one.id == other.id:
            raise LeakscanError(f"{name}: two recordings have the ID {one.id}; IDs must be unique")
    for reference in ordered:
        if reference.fingerprint.algorithm != _ALGORITHM:
            raise LeakscanError(f"{name}: {reference.id} is not a {_ALGORITHM} fingerprint; compute it again")
    first = {
        **(header or {KIND: 1}),
        "algorithm": _ALGORITHM,
        "library": "; ".join(sorted({reference.fingerprint.library for reference in ordered} - {""})),
        "parameters": _PARAMETERS,
    }
    records = [
        {
            "id": reference.id,
            "duration": round(reference.fingerprint.duration, 3),
            "fingerprint": fingerprints.encode(reference.fingerprint),
        }
        for reference in ordered
    ]
    return "".join(json.dumps(record) + "\n" for record in [first, *records]).encode("ascii")


def load(stream: BinaryIO, name: object, kind: str = KIND) -> tuple[dict[str, Any], tuple[Reference, ...]]:
    """(first line, references) of JSON Lines as `dump` writes them; the first line is empty where it is missing.

    `kind` is the key of the first line that says what this is.  Raises `LeakscanError`.
    """
    header: dict[str, Any] = {}
    references: dict[str, Reference] = {}
    for number, line in enumerate(iter(lambda: stream.readline(_MAX_LINE + 1), b""), 1):
        if len(line) > _MAX_LINE:
            raise LeakscanError(f"{name}:{number}: a line of more than {_MAX_LINE >> 20} MiB; this is no index")
        if not line.strip():
            continue
        try:
            record = _record(line)
            if number == 1 and kind in record:
                _check_header(record, kind)
                header = record
                continue
            if not header and not record.keys() & {"fingerprint", "duration"}:
                raise LeakscanError("no index of fingerprints; name the file that `leakscan fingerprint` wrote")
            reference = _reference(record, str(header.get("library", "")))
        except LeakscanError as error:
            raise LeakscanError(f"{name}:{number}: {error}") from error
        if reference.id in references:
            raise LeakscanError(f"{name}:{number}: the ID {reference.id} was there before; IDs must be unique")
        references[reference.id] = reference
    return header, tuple(references.values())


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise LeakscanError("not JSON; name a file that `leakscan fingerprint` wrote") from error
    if not isinstance(record, dict):
        raise LeakscanError("not a JSON object; write the index again")
    return record


def _check_header(record: dict[str, Any], kind: str) -> None:
    if record[kind] != 1:
        raise LeakscanError(f"{kind.partition('_')[2]} format {record[kind]!r} is unknown; update leakscan")
    if record.get("algorithm") != _ALGORITHM:
        raise LeakscanError(f"algorithm {record.get('algorithm')!r}; only {_ALGORITHM} can be matched")
    parameters = record.get("parameters", {})
    if not isinstance(parameters, dict):
        raise LeakscanError('"parameters" must be an object')
    for key, value in _PARAMETERS.items():
        if parameters.get(key, value) != value:
            raise LeakscanError(f"{key} {parameters[key]!r}; only fingerprints of {key} {value} can be matched")
    if not isinstance(record.get("library", ""), str):
        raise LeakscanError('"library" must be a text')


def _reference(record: dict[str, Any], library: str) -> Reference:
    name, duration, text = (record.get(key) for key in ("id", "duration", "fingerprint"))
    if not isinstance(name, str) or not name:
        raise LeakscanError('"id" must be a text that is not empty')
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not 0 <= duration < _MAX_S:
        raise LeakscanError('"duration" must be a number of seconds')
    if not isinstance(text, str):
        raise LeakscanError('"fingerprint" must be a text, as fpcalc prints it')
    algorithm, words = fingerprints.decode(text)
    if algorithm != _ALGORITHM:
        raise LeakscanError(f"algorithm {algorithm!r}; only {_ALGORITHM} can be matched")
    return Reference(name, Fingerprint(words, float(duration), algorithm, library))


# --- what an index gives away ----------------------------------------------------------------------------------------

_TELLING = 3  # words: with 1e8 recordings in a catalogue one word leaves about 4,000 of them, two 0.2
_COMPARED = np.uint32(4)  # look-up services compare the 28 highest bits of a word


@dataclass(frozen=True, slots=True)
class Exposure:
    """What an index tells whoever can read it; counts of references.

    `named` have at least three words that no other reference has, so a look-up service names them; `timed` have a
    duration that no other has, to 0.1 s; `found` are those that a given catalogue names, None without one.
    """

    size: int
    sealed: bool
    references: int
    named: int
    timed: int
    is_sorted: bool
    found: int | None = None

    def lines(self) -> list[str]:
        """As text for people."""
        who = "whoever opens this index" if self.sealed else "everybody who gets this file"
        share = f"{self.named} of {self.references}"
        return [
            f"to everybody it shows its size, {self.size} bytes" + ("; padded" if self.sealed else ""),
            f"{who} learns that there are {self.references} references, and their IDs",
            f"{share} have at least {_TELLING} words of their own: a public look-up service can name each",
            f"{self.timed} of {self.references} have a duration of their own (to 0.1 s), which alone finds candidates",
            "their order is that of the IDs: it tells nothing more" if self.is_sorted else
            "they are not sorted by ID: their order may be that of a source",
            *([] if self.found is None else [f"{self.found} of {self.references} are named by the catalogue given"]),
        ]  # fmt: skip


def audit(path: Path, key: Key = Key(), catalogue: Sequence[Reference] | None = None) -> Exposure:  # noqa: B008
    """What the index at `path` gives away; `catalogue` stands for a look-up service.  Raises as `read`."""
    references = read(path, key)
    try:
        with path.open("rb") as stream:
            sealed, size = sealing.is_sealed(stream.peek(sealing.HEAD_BYTES)), path.stat().st_size
    except OSError as error:
        raise LeakscanError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    words = [_compared(reference) for reference in references]
    durations = np.array([round(reference.fingerprint.duration, 1) for reference in references])
    ids = [reference.id for reference in references]
    return Exposure(
        size=size,
        sealed=sealed,
        references=len(references),
        named=sum(count >= _TELLING for count in _own(words)),
        timed=int((np.unique(durations, return_counts=True)[1] == 1).sum()),
        is_sorted=ids == sorted(ids),
        found=None if catalogue is None else _found(words, [_compared(reference) for reference in catalogue]),
    )


def _compared(reference: Reference) -> fingerprints.Words:
    """The different words of a reference that a look-up service compares."""
    array = fingerprints.words(reference.fingerprint)
    return np.unique(array[fingerprints.telling(array)] >> _COMPARED)


def _own(words: Sequence[fingerprints.Words]) -> list[int]:
    """How many of its words each has alone."""
    owners = np.repeat(np.arange(len(words)), [len(array) for array in words])
    _, first, counts = np.unique(
        np.concatenate([np.zeros(0, np.uint32), *words]), return_index=True, return_counts=True
    )
    return [int(count) for count in np.bincount(owners[first[counts == 1]], minlength=len(words))]


def _found(words: Sequence[fingerprints.Words], catalogue: Sequence[fingerprints.Words]) -> int:
    """How many share at least three words with one recording of the catalogue, and fewer with any other."""
    keys = np.concatenate([np.zeros(0, np.uint32), *catalogue])
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], np.repeat(np.arange(len(catalogue)), [len(array) for array in catalogue])[order]
    found = 0
    for array in words:
        low, high = np.searchsorted(keys, array, "left"), np.searchsorted(keys, array, "right")
        hits = [owners[first:end] for first, end in zip(low.tolist(), high.tolist(), strict=True) if first < end]
        shared = np.bincount(np.concatenate(hits)) if hits else np.zeros(1, np.int64)
        best = int(shared.max())
        found += best >= _TELLING and int((shared == best).sum()) == 1
    return found
