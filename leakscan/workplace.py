"""The hidden folder beside a copy in which it grows: whole when it gets its name, taken up again after a kill.

It holds the growing copy, a journal of the files that are finished, and the key of the new names where the evaluator
gave none.  The journal names what the copy hides, so the folder is closed to others and git is told to ignore it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

from leakscan import sealing
from leakscan.mapping import Copied, load_copied
from leakscan.model import Unreadable, UsageError

SEED_BYTES = 32
_SYNCING = 4  # files that are written to the disk at once
_WAIT_S = 10.0  # for the workers of a run that was killed to notice it
_COPY, _JOURNAL, _SEED, _LOCK = "copy", "journal.jsonl", "seed", "lock"
_STAGED, _READY = "mapping.json", "mapping.ready"


def place(out: Path, key: str) -> Path:
    """Where the copy `out` grows; `key` tells runs apart that would make different copies."""
    return out.absolute().parent / f".{out.name}.leakscan-{key}"


def staged(out: Path, key: str) -> bytes | None:
    """The mapping that an interrupted run was about to write, or had written."""
    try:
        return (place(out, key) / _STAGED).read_bytes()
    except OSError:
        return None


def tidy(out: Path, key: str) -> None:
    """Remove what a run left that was killed when its copy already had its name."""
    folder = place(out, key)
    if _is_own(folder) and not (folder / _COPY).exists():
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def opened(out: Path, key: str) -> Iterator[Workplace]:
    """The folder in which `out` grows, locked against other runs.  Raises `UsageError` where one writes or wrote `out`.

    What cannot be read ends in nothing; whatever else ends the run leaves finished files for the next one.
    """
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    folder = place(out, key)
    with _locked(folder, out):
        if os.path.lexists(out):
            shutil.rmtree(folder)
            raise _taken(out)
        work = Workplace(folder)
        try:
            with work.journal():
                yield work
        except BaseException as error:
            if isinstance(error, Unreadable) or not work.finished:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path, out: Path) -> Iterator[None]:
    """Hold the folder's lock, which forked workers hold too: it is free when the last of a killed run has ended."""
    until = time.monotonic() + _WAIT_S
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_own(folder):
            raise UsageError(f"{folder}: is in the way; remove it")
        with open(folder / _LOCK, "ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock.fileno()).st_nlink:  # else the run before has just removed it
                    yield
                    return
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise UsageError(f"{out}: another run is writing it; wait until that one ends") from error
        time.sleep(0.05)


def _taken(out: Path) -> UsageError:
    return UsageError(f"{out}: another run has written it meanwhile; use that copy, or name a new folder")


def _is_own(folder: Path) -> bool:
    """Whether it is a folder (no link) that nobody else made."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


class Workplace:
    """The folder in use; `known` are the files that an earlier run finished, by their new names: verify them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.copy = folder / _COPY
        self.copy.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("*\n", "ascii")
        self.known = dict(_read(folder / _JOURNAL))
        self.finished = bool(self.known)
        self._journal: IO[bytes] | None = None
        self._syncing: list[Future[None]] = []

    @property
    def seed(self) -> bytes:
        """A random key, the same in every run that takes this copy up again."""
        file = self.folder / _SEED
        if not file.exists() or file.stat().st_size != SEED_BYTES:
            sealing.save(file, secrets.token_bytes(SEED_BYTES))
        return file.read_bytes()

    @contextlib.contextmanager
    def journal(self) -> Iterator[None]:
        """Keep the journal open, readable by its owner only."""
        handle = os.open(self.folder / _JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as self._journal, ThreadPoolExecutor(_SYNCING) as self._disk:
            self._journal.write(b"\n")  # a line that was cut by a kill must not spoil the next one
            yield

    def note(self, file: Copied) -> None:
        """Take down that a file is finished, and see to it that it gets to the disk while others are worked on.

        The journal may be there before the file is: who takes the copy up again trusts no line without its digest.
        """
        assert self._journal is not None
        if self.known.get(file.new) != file:
            self._journal.write(json.dumps(file.document()).encode("ascii") + b"\n")
            self._journal.flush()
        self._syncing.append(self._disk.submit(_sync, self.copy / file.new))
        self.finished = True

    def publish(self, out: Path, files: Collection[str], mapping: Path | None, document: bytes) -> None:
        """Write the mapping, then give the copy, of exactly these files, its name; on failure neither is left.

        Raises `UsageError` where another run has taken the name, and `OSError`.
        """
        for syncing in self._syncing:
            syncing.result()
        if os.path.lexists(out):
            shutil.rmtree(self.folder)
            raise _taken(out)
        _sweep(self.copy, {self.copy / file for file in files})
        with contextlib.ExitStack() as undo:
            if mapping is not None:
                sealing.save(self.folder / _STAGED, document)
                self._place(mapping, document)
                undo.callback(mapping.unlink)
            os.rename(self.copy, out)
            undo.pop_all()
        _sync(out.absolute().parent)

    def _place(self, mapping: Path, document: bytes) -> None:
        """Write the mapping where it goes: at once where that can be done, so that a kill leaves no part beside it."""
        ready = self.folder / _READY
        sealing.save(ready, document)
        try:
            os.replace(ready, mapping)
        except OSError:  # on another file system; or it cannot be written, which is told then
            sealing.save(mapping, document)


def _read(journal: Path) -> Iterator[tuple[str, Copied]]:
    try:
        lines = journal.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        with contextlib.suppress(ValueError):  # a line that a kill has cut
            file = load_copied(json.loads(line))
            yield file.new, file


def _sweep(folder: Path, files: Collection[Path]) -> None:
    """Remove all but these files, and the folders that are empty then: what killed runs began."""
    for path, folders, names in os.walk(folder, topdown=False):
        for name in (*names, *(name for name in folders if os.path.islink(os.path.join(path, name)))):
            if Path(path, name) not in files:
                os.unlink(os.path.join(path, name))
        if not os.listdir(path) and Path(path) != folder:
            os.rmdir(path)
        else:
            _sync(Path(path))


def _sync(path: Path) -> None:
    """Have the system write a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
