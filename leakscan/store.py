"""The cache of fingerprints: one SQLite file, keyed by content, safe to kill and to share between processes.

`fingerprint`, `failure` and `fact` hold results by the SHA-256 of a file's bytes and the recipe that made them, so a
renamed, moved or touched file is not decoded again.  `file` holds that SHA-256 by path, size, inode and times, so an
unchanged file is not even read.  The time of the last status change is among them: unlike the time of
modification no program can set it back, so a file that was replaced by another of its size and date is noticed.

Plain fingerprints name recordings: the file has mode 0600 and lies in the user's cache folder, never in a release or
repository unless asked.  A cache that cannot be used costs time, never a run: `Store.notes` says what was wrong.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from leakscan.model import VERSION, Entry, Fingerprint, LeakscanError, Unexamined, Unfinished, Unreadable

NONE = "none"  # in place of a folder: no cache
FILE = "fingerprints.sqlite"

_VERSION = 2
_FACT = """
CREATE TABLE fact (
    id INTEGER PRIMARY KEY, content BLOB NOT NULL, recipe TEXT NOT NULL, value TEXT NOT NULL,
    UNIQUE (content, recipe)
)
"""
_SCHEMA = f"""
CREATE TABLE fingerprint (
    id INTEGER PRIMARY KEY, content BLOB NOT NULL, recipe TEXT NOT NULL,
    words BLOB NOT NULL, duration REAL NOT NULL, algorithm TEXT NOT NULL, library TEXT NOT NULL,
    phases BLOB NOT NULL DEFAULT x'', notes TEXT NOT NULL DEFAULT '[]',
    UNIQUE (content, recipe)
);
CREATE TABLE failure (
    id INTEGER PRIMARY KEY, content BLOB NOT NULL, recipe TEXT NOT NULL, reason TEXT NOT NULL,
    UNIQUE (content, recipe)
);
CREATE TABLE file (
    id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, stamp TEXT NOT NULL, content BLOB NOT NULL
);
{_FACT};
PRAGMA user_version = {_VERSION};
"""
# The fingerprints and failures of version 1 were made by recipes that nobody asks for any more.
_FROM_VERSION_1 = (
    "ALTER TABLE fingerprint ADD COLUMN phases BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE fingerprint ADD COLUMN notes TEXT NOT NULL DEFAULT '[]'",
    "DELETE FROM fingerprint",
    "DELETE FROM failure",
    _FACT,
    f"PRAGMA user_version = {_VERSION}",
)
_TABLES = ("fingerprint", "failure", "fact", "file")
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # ERROR: a table is not as it should
_NAME_ONE = "name a folder with --cache DIR"
_WAIT_S = 60.0  # for another process to finish writing
_SETTLED_NS = 2_000_000_000  # a file may change twice within the grain of its times, 2 s on some file systems
_CHUNK = 1 << 20


_COLUMNS = ("words", "duration", "algorithm", "library", "phases", "notes")

Result = tuple[Fingerprint, ...] | Unexamined
Compute = Callable[[Sequence[Entry]], list[Result]]


class _State(NamedTuple):
    """What tells, without reading it, that a file is still the same."""

    path: bytes
    stamp: str
    changed_ns: int


class _Known(NamedTuple):
    """An entry and what is known of it; `found` is None if it has to be computed."""

    entry: Entry
    state: _State | None
    content: bytes | None
    found: Result | None


class Store:
    """An open cache; its methods may be called from several threads.  See `opened`."""

    def __init__(self, path: Path | None, retry: bool = False) -> None:
        self.notes: list[str] = []
        self._path = path
        self._retry = retry
        self._lock = threading.Lock()
        self._failed: dict[tuple[bytes, str], str] = {}  # in this run
        self._connection: sqlite3.Connection | None = None
        self._connect()

    def recall(
        self, entries: Sequence[Entry], recipes: Sequence[str], compute: Compute, phases: int = 1
    ) -> list[Result]:
        """For every entry what `compute` gave for these bytes before, else what it gives now, which is kept.

        `recipes` names, fingerprint by fingerprint, all that the result depends on besides the bytes: parameters,
        library and its version; each is of at least so many phases, and none more is told.  `compute` is called at
        most once, with the entries of which something is missing.  Fingerprints are on disk when this returns;
        failures are kept by `keep_failures`.
        """
        if self._connection is None:
            return compute(entries)
        known = [self._look_up(entry, recipes, phases) for entry in entries]
        missing = [one.entry for one in known if one.found is None]
        computed = iter(compute(missing) if missing else ())
        return [self._learn(one, recipes, next(computed)) if one.found is None else one.found for one in known]

    def fact(self, entry: Entry, recipe: str, compute: Callable[[Entry], str]) -> str:
        """The text that `compute` gave for these bytes before, else what it gives now, which is kept."""
        if self._connection is None:
            return compute(entry)
        state = _state(entry)
        content = self.sha256(entry)
        rows = self._run("SELECT value FROM fact WHERE content = ? AND recipe = ?", content, recipe) if content else []
        if rows:
            return str(rows[0][0])
        value = compute(entry)
        if content is not None and state == _state(entry):
            self._run("INSERT OR REPLACE INTO fact (content, recipe, value) VALUES (?, ?, ?)", content, recipe, value)
        return value

    def sha256(self, entry: Entry) -> bytes | None:
        """`sha256`, from memory while the file is unchanged."""
        state = _state(entry)
        content = self._content(state) or sha256(entry)
        if content is not None:
            self._remember(state, content)
        return content

    def keep_failures(self) -> None:
        """Keep what could not be read, so that it is not tried again; for runs that came to their end.

        Not before: an interrupt from the keyboard ends ffmpeg, too, and must not mark good files as bad.
        """
        for key, reason in self._failed.items():
            self._run("INSERT OR REPLACE INTO failure (content, recipe, reason) VALUES (?, ?, ?)", *key, reason)
        self._failed.clear()

    def close(self) -> None:
        """Close the file; the store is not usable any more."""
        with self._lock:
            self._disconnect()

    def count(self) -> dict[str, int]:
        """How many fingerprints, failures and files are known, and the seconds of audio."""
        totals = {
            "fingerprints": "SELECT count(*) FROM fingerprint",
            "seconds": "SELECT CAST(coalesce(sum(longest), 0) AS INTEGER) FROM "
            "(SELECT max(duration) AS longest FROM fingerprint GROUP BY content)",
            "failures": "SELECT count(*) FROM failure",
            "files": "SELECT count(*) FROM file",
        }
        return {name: next(iter(self._run(query)), (0,))[0] for name, query in totals.items()}

    def clear(self) -> None:
        """Forget everything.  The file stays: other processes may have it open."""
        for table in _TABLES:
            self._run(f"DELETE FROM {table}")
        self._run("VACUUM")
        self._run("PRAGMA wal_checkpoint(TRUNCATE)")

    def prune(self) -> None:
        """Forget files that are gone or were changed, and the results that no file leads to any more."""
        for path, stamp in self._run("SELECT path, stamp FROM file"):
            state = _state_of(os.fsdecode(path))
            if state is None or state.stamp != stamp:
                self._run("DELETE FROM file WHERE path = ? AND stamp = ?", path, stamp)
        for table in _TABLES[:-1]:
            self._run(f"DELETE FROM {table} WHERE content NOT IN (SELECT content FROM file)")
        self._run("VACUUM")
        self._run("PRAGMA wal_checkpoint(TRUNCATE)")

    def _content(self, state: _State | None) -> bytes | None:
        if state is None:
            return None
        rows = self._run("SELECT content FROM file WHERE path = ? AND stamp = ?", state.path, state.stamp)
        return rows[0][0] if rows else None

    def _remember(self, state: _State | None, content: bytes) -> None:
        if state is None or time.time_ns() - state.changed_ns < _SETTLED_NS or self._content(state) == content:
            return
        values = state.path, state.stamp, content
        self._run("INSERT OR REPLACE INTO file (path, stamp, content) VALUES (?, ?, ?)", *values)

    def _look_up(self, entry: Entry, recipes: Sequence[str], phases: int) -> _Known:
        state = _state(entry)
        content = self._content(state) or sha256(entry)
        if content is None:
            return _Known(entry, state, content, None)  # it cannot be opened: let `compute` say why
        found = self._find(content, recipes, phases)
        if found is not None:
            self._remember(state, content)
        return _Known(
            entry, state, content, replace(found, path=entry.path) if isinstance(found, Unexamined) else found
        )

    def _learn(self, known: _Known, recipes: Sequence[str], found: Result) -> Result:
        content = known.content
        if content is None or known.state != _state(known.entry) or isinstance(found, Unfinished):
            return found  # it changed meanwhile: nobody knows which bytes this is about; or another try may succeed
        if isinstance(found, Unexamined):
            self._failed[content, _of_this_version(recipes[0])] = found.reason
        else:
            for recipe, fp in zip(recipes, found, strict=True):
                self._keep(content, recipe, fp)
        self._remember(known.state, content)
        return found

    def _find(self, content: bytes, recipes: Sequence[str], phases: int) -> Result | None:
        found = [self._fingerprint(content, recipe, phases) for recipe in recipes]
        whole = tuple(fp for fp in found if fp is not None)
        if len(whole) == len(found):
            return whole
        key = content, _of_this_version(recipes[0])
        if key in self._failed:
            return Unexamined("", self._failed[key])
        if self._retry:
            return None
        rows = self._run("SELECT reason FROM failure WHERE content = ? AND recipe = ?", *key)
        return Unexamined("", rows[0][0]) if rows else None

    def _fingerprint(self, content: bytes, recipe: str, phases: int) -> Fingerprint | None:
        columns = ", ".join(_COLUMNS)
        rows = self._run(f"SELECT {columns} FROM fingerprint WHERE content = ? AND recipe = ?", content, recipe)
        if not rows:
            return None
        words, duration, algorithm, library, packed, notes = rows[0]
        try:
            later, said = _unpacked(packed), tuple(json.loads(notes))
            whole = all(len(array) % 4 == 0 for array in (words, *later)) and (duration > 0 or not words)
        except (ValueError, TypeError):
            whole = False
        if not whole or len(later) < phases - 1:
            return None  # computed again
        return Fingerprint(words, duration, algorithm, library, later[: phases - 1], said)

    def _keep(self, content: bytes, recipe: str, fp: Fingerprint) -> None:
        columns = ", ".join(("content", "recipe", *_COLUMNS))
        marks = ", ".join("?" * (2 + len(_COLUMNS)))
        values = fp.words, fp.duration, fp.algorithm, fp.library, _packed(fp.phases), json.dumps(fp.notes)
        self._run(f"INSERT OR REPLACE INTO fingerprint ({columns}) VALUES ({marks})", content, recipe, *values)
        self._run("DELETE FROM failure WHERE content = ? AND recipe = ?", content, _of_this_version(recipe))

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of one statement, committed when this returns; none when the cache cannot be used (any more)."""
        with self._lock:
            if self._connection is None:
                return []
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                self._give_up(error)
                return []

    def _connect(self) -> None:
        if self._path is None:
            return
        try:
            _create(self._path)
            self._connection = sqlite3.connect(
                self._path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA synchronous = NORMAL")  # in WAL mode a kill loses nothing
            version = self._version(self._connection)
            if version == _VERSION:
                self._connection.execute(f"SELECT 1 FROM {', '.join(_TABLES)} LIMIT 1")
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
        else:
            if version != _VERSION:
                self._set_aside("was written by a newer leakscan" if version > _VERSION else "is damaged")

    def _version(self, connection: sqlite3.Connection) -> int:
        """The version of the file, brought up to date where that can be done."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != 1:
            return int(version)
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (count,) = connection.execute("SELECT count(*) FROM fingerprint").fetchone()
        if version == 1:  # no other process was quicker
            for statement in _FROM_VERSION_1:
                connection.execute(statement)
            if count:
                self.notes.append(f"{self._path}: {count} fingerprints of an earlier version are computed again")
        connection.execute("COMMIT")
        return _VERSION

    def _give_up(self, error: sqlite3.Error | OSError) -> None:
        """Go on without the cache, or with a new one if the file is no good."""
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in _DAMAGED:
            self._set_aside("is damaged")
            return
        self._disconnect()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        self.notes.append(f"{self._path}: the cache cannot be used ({reason}); going on without it")

    def _set_aside(self, fault: str) -> None:
        self._disconnect()
        assert self._path is not None
        aside = _aside(self._path)
        if self.notes:  # the new one, too
            self.notes.append(f"{self._path}: the cache {fault} again; going on without it")
            return
        try:
            os.replace(self._path, aside)
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        except OSError as error:
            self._give_up(error)
            return
        self.notes.append(f"{self._path}: the cache {fault}; set aside as {aside.name}, begun anew")
        self._connect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


@contextlib.contextmanager
def opened(cache: str | None = None, *, retry: bool = False) -> Iterator[Store]:
    """The cache in folder `cache`; by default `LEAKSCAN_CACHE`, else leakscan's folder in the user's cache folder.

    `"none"` stands for no cache.  With `retry`, what could not be read before is tried again.  Never raises because
    of the cache: what is wrong with it stands in the store's `notes`.
    """
    path, note = _place(cache)
    store = Store(path, retry)
    store.notes += [note] if note else []
    try:
        yield store
        store.keep_failures()
    finally:
        store.close()


def describe(cache: str | None = None) -> list[str]:
    """Where the cache lies and what it holds, as lines for `leakscan cache`."""
    path, note = _place(cache)
    if path is None or not path.exists():
        return [note or (f"{path}: nothing stored yet" if path else "no cache is used")]
    with contextlib.closing(Store(path)) as store:
        found = store.count()
        return [
            f"{path}: {_size(path) / 1e6:.1f} MB",
            f"{found['fingerprints']} fingerprints of {found['seconds'] / 3600:.1f} hours of audio",
            f"{found['failures']} that could not be read",
            f"{found['files']} files that need not be read again while they are unchanged",
            *store.notes,
        ]


def clear(cache: str | None = None) -> list[str]:
    """Forget all fingerprints, also those set aside; lines that say so.  Raises `LeakscanError`."""
    return _tidy(cache, Store.clear, remove_aside=True)


def prune(cache: str | None = None) -> list[str]:
    """Forget what belongs to no unchanged file any more; lines that say so.  Raises `LeakscanError`."""
    return _tidy(cache, Store.prune)


def _tidy(cache: str | None, tidy: Callable[[Store], None], remove_aside: bool = False) -> list[str]:
    path, _ = _place(cache)
    if path is None or not path.exists():
        return describe(cache)
    with contextlib.closing(Store(path)) as store:
        before = store.count()["fingerprints"]
        tidy(store)
        after = store.count()["fingerprints"]
    if remove_aside:
        try:
            _aside(path).unlink(missing_ok=True)
        except OSError as error:
            raise LeakscanError(f"{_aside(path)}: cannot be removed ({error.strerror})") from error
    return [f"{path}: {before - after} fingerprints forgotten, {after} kept", *store.notes]


def _place(cache: str | None) -> tuple[Path | None, str]:
    """(file of the cache or None, why there is none if that was not asked for)."""
    asked = cache or os.environ.get("LEAKSCAN_CACHE")
    if asked:
        return (None if asked == NONE else Path(asked) / FILE), ""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "leakscan"
    except RuntimeError:
        return None, f"no cache of fingerprints: there is no home folder; {_NAME_ONE}"
    for parent in folder.resolve().parents:
        if any(os.path.lexists(parent / mark) for mark in (".git", "leakscan.toml")):
            return None, f"no cache of fingerprints: {folder} lies in {parent}, to be published with it; {_NAME_ONE}"
    return folder / FILE, ""


def _create(path: Path) -> None:
    """Put an empty cache at `path` unless there is one; of several processes at once one wins, and all may use it."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{FILE}.", dir=path.parent)  # mode 0600
    os.close(handle)
    try:
        with contextlib.closing(sqlite3.connect(name, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.set-aside")


def _size(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _packed(phases: Sequence[bytes]) -> bytes:
    """Each with its length before it."""
    return b"".join(len(one).to_bytes(4, "little") + one for one in phases)


def _unpacked(packed: bytes) -> tuple[bytes, ...]:
    phases = []
    while packed:
        end = 4 + int.from_bytes(packed[:4], "little")
        phases.append(packed[4:end])
        packed = packed[end:]
    return tuple(phases)


def _of_this_version(recipe: str) -> str:
    """Another version may read what this one cannot."""
    return f"{recipe}; leakscan {VERSION}"


def _state(entry: Entry) -> _State | None:
    """The state of an entry's file; None for a container's member and for what cannot be looked at."""
    return _state_of(os.path.abspath(entry.file)) if entry.data is None else None


def _state_of(path: str) -> _State | None:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    stamp = f"{status.st_size} {status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns}"
    return _State(os.fsencode(path), stamp, status.st_ctime_ns)


def sha256(entry: Entry) -> bytes | None:
    """The SHA-256 of an entry's bytes, None when they cannot be read."""
    digest = hashlib.sha256()
    try:
        with entry.open() as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except (Unreadable, OSError):
        return None
    return digest.digest()
