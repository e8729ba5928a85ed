"""Matching by post: fingerprints go to the maintainer, IDs and match rows come back, the index stays at home.

A query is an index of the requester's files, numbered in place of named, sealed to the maintainer.  The maintainer
sees its fingerprints, and public look-up services can name recordings from them; the files' names travel along sealed
to the requester, so that only the answer's reader sees them.

A quota in minutes of audio, not in files, bounds what a hostile requester can learn: many recordings can be glued into
one file, but each takes at least 4 s of fingerprint, so a quota of Q minutes asks about at most 15 Q recordings.  It is
kept per requester, who is whom the maintainer says: a new key is made in a second.  Every query counts, also one that
was answered before, as the ledger then notes.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import io
import json
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leakscan import fingerprints, hearing, index, matching, outputs, sealing
from leakscan.model import Entry, Examined, LeakscanError, Match, Reference, Report, Unexamined, UsageError
from leakscan.sealing import Key, Lock
from leakscan.store import Store

_QUERY = "leakscan_query"
_ANSWER = "leakscan_answer"
_MAX_BYTES = 256 << 20  # of a query or answer; 100 hours of audio take 15 MB
_FAR = 1e9  # beyond any number of seconds or minutes; NaN is not below it
_STATES = ("matched", "ambiguous", "conflict", "absent", "too-short")


@dataclass(frozen=True, slots=True)
class Made:
    """A query that was written: the files asked about, in the order of their numbers (from 1), and their minutes."""

    names: tuple[str, ...]
    minutes: float
    unexamined: tuple[Unexamined, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that was written; `used` and `quota` are the requester's, in minutes."""

    files: int
    minutes: float
    used: float
    quota: float
    replay: bool
    sealed: bool


def make(
    paths: Sequence[Path], out: Path, maintainer: str, reply_to: str | None = None, memory: Store | None = None
) -> Made:
    """Write a query about the audio at `paths`, sealed to the maintainer's recipient.

    The answer will be sealed to `reply_to`, the requester's own recipient, and hold the files' names; without it, it
    is plain and holds their numbers.  Raises `UsageError`, `LeakscanError`.
    """
    lock = Lock((maintainer,))
    sealing.check(lock)
    if reply_to is not None:
        sealing.check(Lock((reply_to,)))
    outputs.check(out, "query", sealing.like(_QUERY))
    selection = hearing.select(paths)
    heard, unexamined = [], list(selection.unexamined)
    for entry, result in hearing.fingerprint_files(selection.audio, memory):
        if isinstance(result, Unexamined):
            unexamined.append(result)
        else:
            heard.append((entry.path, result))
    if not heard:
        raise LeakscanError(f"{out}: there is no audio to ask about; check the paths")
    names = [path for path, _ in heard]
    header = {_QUERY: 1, "reply_to": reply_to, "names": None}
    if reply_to is not None:
        header["names"] = base64.b64encode(sealing.seal(json.dumps(names).encode(), Lock((reply_to,)))).decode()
    references = [Reference(str(number), fp) for number, (_, fp) in enumerate(heard, 1)]
    sealing.save(out, sealing.seal(index.dump(references, out, header), lock))
    return Made(tuple(names), sum(map(_minutes, references)), tuple(unexamined))


def answer(
    query: Path,
    against: Path,
    out: Path,
    key: Key,
    *,
    ledger: Path,
    requester: str,
    quota: float,
    plain: bool = False,
) -> Answered:
    """Answer a query from the index `against`: IDs and match rows, nothing of the index's fingerprints.

    `key` opens the query, and the index if that is sealed.  `quota` is in minutes of audio for all queries of
    `requester` that `ledger` (JSON Lines, mode 0600) knows; it is charged before the answer is written.  The answer is
    sealed to the query's `reply_to`, or plain without one or with `plain`.

    Raises `UsageError` (a ledger in a repository) and `LeakscanError` (a query over quota, too).
    """
    sealing.outside_repository(ledger, "the ledger")
    outputs.check(out, "answer", sealing.like(_ANSWER), (query, against, ledger))
    header, asked = _open_query(query, key)
    lock = None
    if header["reply_to"] is not None and not plain:
        lock = Lock((header["reply_to"],))
        try:
            sealing.check(lock)
        except UsageError as error:
            raise LeakscanError(f"{query}: {error}; ask for another query") from error
    references = index.read(against, key)
    minutes = sum(map(_minutes, asked))
    used, replay = _charge(ledger, requester, asked, minutes, quota)
    report = matching.match_heard([(Entry(one.id, Path(one.id), 0), one.fingerprint) for one in asked], references)
    rows = [asdict(row) for row in report.rows if isinstance(row, Match) and row.file]
    first = {_ANSWER: 1, "names": header["names"] if lock else None}
    content = "".join(json.dumps(record) + "\n" for record in (first, *rows)).encode("ascii")
    sealing.save(out, content if lock is None else sealing.seal(content, lock))
    return Answered(len(asked), minutes, used, quota, replay, lock is not None)


def read(path: Path, key: Key = Key()) -> Report:  # noqa: B008 - frozen
    """The report that an answer amounts to; rows are of type `Match`.  Raises `LeakscanError`."""
    content = _content(path, key)
    lines = [line for line in content.split(b"\n") if line.strip()]
    records = [_object(line, f"{path}:{number}") for number, line in enumerate(lines, 1)]
    if not records or records[0].get(_ANSWER) != 1:
        raise LeakscanError(f"{path}: not an answer; `leakscan query answer` writes them")
    names = _names(records[0].get("names"), path, key)
    rows = [_row(record, names, f"{path}:{number}") for number, record in enumerate(records[1:], 2)]
    rows.sort(key=lambda row: (row.file, row.id))
    files = len({row.file for row in rows})
    states: Counter[str] = Counter(row.state for row in rows)
    return Report(
        row=Match,
        rows=tuple(rows),
        findings=tuple(matching.matched_recording(row) for row in rows if row.state == "matched"),
        summary={"files": files, **{state.replace("-", "_"): states[state] for state in _STATES}},
        examined=Examined(files, audio=files),
    )


def _open_query(path: Path, key: Key) -> tuple[dict[str, Any], tuple[Reference, ...]]:
    header, asked = index.load(io.BytesIO(_content(path, key)), path, _QUERY)
    if not header:
        raise LeakscanError(f"{path}: not a query; `leakscan query make` writes them")
    for name in ("reply_to", "names"):
        if not isinstance(header.setdefault(name, None), str | None):
            raise LeakscanError(f'{path}:1: "{name}" must be a text')
    return header, asked


def _content(path: Path, key: Key) -> bytes:
    try:
        with path.open("rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise LeakscanError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    if len(content) > _MAX_BYTES:
        raise LeakscanError(f"{path}: more than {_MAX_BYTES >> 20} MiB; ask for several queries")
    return sealing.unseal(content, key, str(path)) if sealing.is_sealed(content) else content


def _object(line: bytes, name: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LeakscanError(f"{name}: not JSON") from error
    if not isinstance(record, dict):
        raise LeakscanError(f"{name}: not a JSON object")
    return record


def _names(sealed: Any, path: Path, key: Key) -> dict[str, str] | None:
    """The files' names by number."""
    if sealed is None:
        return None
    try:
        content = base64.b64decode(sealed, validate=True)
        names = json.loads(sealing.unseal(content, key, f"{path}:1")) if sealing.is_sealed(content) else None
    except (TypeError, ValueError, RecursionError) as error:
        raise LeakscanError(f'{path}:1: "names" is damaged; ask for the answer again') from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise LeakscanError(f'{path}:1: "names" holds no names; ask for the answer again')
    return {str(number): name for number, name in enumerate(names, 1)}


def _row(record: dict[str, Any], names: dict[str, str] | None, name: str) -> Match:
    """A row that somebody else wrote, its numbers replaced by the files' names."""
    known = {field.name for field in fields(Match)}
    numbers = known - {"file", "id", "state", "same_timeline"}
    if (
        record.keys() != known
        or not isinstance(record["file"], str)
        or not isinstance(record["id"], str)
        or record["state"] not in _STATES
        or not isinstance(record["same_timeline"], bool | None)
        or not all(record[one] is None or _is_number(record[one]) for one in numbers)
        or (record["state"] == "matched" and None in (record["overlap_s"], record["offset_s"]))
    ):
        raise LeakscanError(f"{name}: not a match row; ask for the answer again")
    if names is not None and record["file"] not in names:
        raise LeakscanError(f"{name}: about a file that was not asked about; ask for the answer again")
    return Match(**{**record, "file": names[record["file"]] if names else record["file"]})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _FAR


def _minutes(asked: Reference) -> float:
    """The minutes to charge: by the words, whatever duration is claimed for them."""
    fp = asked.fingerprint
    return max(fp.duration, len(fp) * fingerprints.STEP_S) / 60


def _charge(
    ledger: Path, requester: str, asked: Sequence[Reference], minutes: float, quota: float
) -> tuple[float, bool]:
    """Enter a query in the ledger; (minutes used so far with these, whether it was answered before).

    Raises `LeakscanError` when that is over quota, which is entered, too.
    """
    who = requester.strip().casefold()
    if not who:
        raise UsageError("the requester has no name; say whose query this is (--requester NAME)")
    digest = hashlib.sha256(b"".join(sorted(hashlib.sha256(one.fingerprint.words).digest() for one in asked)))
    try:
        with os.fdopen(os.open(ledger, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+b") as stream:
            os.fchmod(stream.fileno(), 0o600)
            fcntl.flock(stream, fcntl.LOCK_EX)  # two answers at once must not share what is left
            content = stream.read()
            lines = enumerate(content.splitlines(), 1)
            past = [_entry(line, f"{ledger}:{number}") for number, line in lines if line.strip()]
            answered = [entry for entry in past if entry["requester"] == who and entry["answered"]]
            used = math.fsum([minutes, *(entry["minutes"] for entry in answered)])
            replay = any(entry["query"] == digest.hexdigest() for entry in answered)
            entry = {
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "requester": who,
                "query": digest.hexdigest(),
                "files": len(asked),
                "minutes": round(minutes, 3),
                "replay": replay,
                "answered": used <= quota,
            }
            separator = b"" if content.endswith(b"\n") or not content else b"\n"
            stream.write(separator + json.dumps(entry).encode("ascii") + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise LeakscanError(f"{ledger}: cannot be kept ({error.strerror}); check the path") from error
    if not entry["answered"]:
        left = max(0.0, quota - used + minutes)
        raise LeakscanError(
            f"{ledger}: {who} has {left:.1f} of {quota:.1f} minutes left and asks for {minutes:.1f}; "
            "refused, and entered"
        )
    return used, replay


def _entry(line: bytes, name: str) -> dict[str, Any]:
    """A line of the ledger; one that cannot be read must not pass for minutes that were not used."""
    entry = _object(line, name)
    if (
        not isinstance(entry.get("requester"), str)
        or not isinstance(entry.get("query"), str)
        or not isinstance(entry.get("answered"), bool)
        or not _is_number(entry.get("minutes"))
    ):
        raise LeakscanError(f"{name}: not a line of a ledger; mend it")
    return entry
