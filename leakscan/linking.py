"""What a reproducer does with matches: a private list of files and IDs, and a folder of audio that is named by ID.

Both tell what the recordings of a benchmark are, to whoever knows the files' names: neither belongs in a release.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from leakscan import sealing
from leakscan.model import Entry, LeakscanError, Match, Unreadable, UsageError
from leakscan.text import counted, printable

_SUFFIXES = (".csv", ".json")
_COVERED = 0.9  # of the file by its reference
_NAME_BYTES = 200  # of the 255 that most file systems take, without a suffix
_SPECIAL = frozenset('/\\:*?"<>|')  # in names of files, somewhere


@dataclass(frozen=True, slots=True)
class Orders:
    """What to write of matches: a mapping, and a folder of links, or of `copies`.

    With `other_timeline` the folder takes recordings too that are not known to run as their reference does.
    """

    mapping: Path | None = None
    folder: Path | None = None
    copies: bool = False
    other_timeline: bool = False


@dataclass(frozen=True, slots=True)
class Linked:
    """The names in a folder that were made, sorted, and what was left out, as (file, ID, why)."""

    made: tuple[str, ...]
    left: tuple[tuple[str, str, str], ...]


def check(orders: Orders) -> None:
    """Raise `UsageError` where an order cannot be carried out or would publish or overwrite something; writes nothing.

    A mapping is a new .csv or .json file outside of repositories and releases.
    """
    if orders.mapping is not None:
        _check_mapping(orders.mapping)
    if orders.folder is not None and os.path.lexists(orders.folder) and not orders.folder.is_dir():
        raise UsageError(f"{orders.folder}: not a folder; name a new one, or one to add links to")


def carry_out(orders: Orders, rows: Sequence[Match], files: Iterable[Entry]) -> tuple[str, ...]:
    """Write what was ordered of the rows of a report; returns notes on what was written, left out and given away.

    `files` are those that the rows are about.  Raises `UsageError`, `LeakscanError`.
    """
    check(orders)
    notes: list[str] = []
    if orders.mapping is not None:
        count = write_mapping(rows, orders.mapping)
        ids = counted(count, "ID")
        notes.append(f"{orders.mapping} names the recordings of {ids}, to everybody who reads it: keep it private")
    if orders.folder is not None:
        linked = link(
            rows, {entry.path: entry for entry in files}, orders.folder,
            copies=orders.copies, other_timeline=orders.other_timeline,
        )  # fmt: skip
        notes += _about_folder(linked, orders)
    return tuple(notes)


def _about_folder(linked: Linked, orders: Orders) -> Iterator[str]:
    """What is in the folder, under which names, and what is not."""
    things = ("copy", "copies") if orders.copies else ("link", "links")
    left = f"; {counted(len(linked.left), 'file')} left out" if linked.left else ""
    yield f"{orders.folder}: {counted(len(linked.made), *things)} made{left}"
    if linked.made:
        suffixes = Counter(PurePosixPath(name).suffix or "no suffix" for name in linked.made)
        listed = ", ".join(f"{suffix} {count}" for suffix, count in sorted(suffixes.items()))
        yield (
            f"their names end as your files' do ({listed}): where prompts name other suffixes, have audio looked up by "
            "its name without suffix"
        )
    if linked.made and not orders.copies:
        yield "links tell the names of the files that they lead to: do not publish the folder"
    for file, name, why in linked.left:
        yield f"{file} is not in the folder as {name}: {why}"


def write_mapping(rows: Iterable[Match], out: Path) -> int:
    """Write which file is which ID, for the rows that are matched, as CSV or JSON; returns how many.

    The file is readable by its owner only.  Raises `UsageError` as `check` does, and `LeakscanError`.
    """
    _check_mapping(out)
    pairs = sorted((row.file, row.id) for row in rows if row.state == "matched")
    if out.suffix.lower() == ".json":
        text = json.dumps([{"file": file, "id": name} for file, name in pairs], indent=1) + "\n"
    else:
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([("file", "id"), *pairs])
        text = stream.getvalue()
    sealing.save(out, _encoded(text))
    return len(pairs)


def link(
    rows: Sequence[Match],
    files: Mapping[str, Entry],
    folder: Path,
    *,
    copies: bool = False,
    other_timeline: bool = False,
) -> Linked:
    """Fill a folder with what was matched, each file named by its ID and its own suffix, as a link or a copy.

    A file goes in only when it is known to run on its reference's time line, since answers about moments and spans
    would be wrong else; with `other_timeline` the others go in, too.  Nothing is overwritten.  Conflicts, what is
    ambiguous and whatever else does not go in are told.  `files` are the entries by the paths of the rows.

    Raises `LeakscanError` when the folder cannot be made.
    """
    made, left = [], []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LeakscanError(f"{folder}: cannot be made ({error.strerror}); check the folder") from error
    for row, reason in _judged(rows, files, copies, other_timeline):
        name = f"{row.id}{PurePosixPath(row.file).suffix.lower()}"
        why = reason or _put(files[row.file], folder / name, copies)
        if why:
            left.append((row.file, row.id, why))
        else:
            made.append(name)
    return Linked(tuple(sorted(made)), tuple(left))


def _judged(
    rows: Sequence[Match], files: Mapping[str, Entry], copies: bool, other_timeline: bool
) -> Iterator[tuple[Match, str]]:
    """The rows about a file and a reference, each with why its file does not go into a folder, or ""."""
    names: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.state == "matched":
            names[row.id.casefold()].append(row.id)
    for row in rows:
        if not row.file or not row.id:
            continue
        if row.state != "matched":
            reason = {"conflict": "several files match this ID", "ambiguous": "it is not sure which it is"}[row.state]
        elif len(names[row.id.casefold()]) > 1:
            reason = "another ID differs only in the case of letters"
        elif not _is_name(row.id):
            reason = "the ID cannot be the name of a file"
        elif not other_timeline and row.same_timeline is not True:
            reason = "it runs on another time line" if row.same_timeline is False else "its time line is not certain"
            reason += "; --allow-other-timeline takes it"
        elif not other_timeline and row.coverage_file is not None and row.coverage_file < _COVERED:
            reason = "it holds other sound besides; --allow-other-timeline takes it"
        else:
            is_member = files[row.file].data is not None
            reason = "it lies inside another file; copy it instead" if is_member and not copies else ""
        yield row, reason


def _encoded(text: str) -> bytes:
    """Names of files as they are, also such as are not UTF-8; IDs with halves of characters spelt out."""
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def _is_name(text: str) -> bool:
    """Whether a text can be the name of a file on any system, and leads nowhere else."""
    if printable(text) != text or _SPECIAL & set(text) or text.startswith("."):
        return False
    return 0 < len(os.fsencode(text)) <= _NAME_BYTES


def _put(entry: Entry, target: Path, copies: bool) -> str:
    """Make a link to a file, or a copy of it; why it was not made, or ""."""
    try:
        if not copies:
            if target.is_symlink() and target.resolve() == entry.file.resolve():
                return ""  # of an earlier run
            target.symlink_to(entry.file.resolve())
            return ""
        with entry.open() as source, tempfile.NamedTemporaryFile(prefix=".leakscan-", dir=target.parent) as out:
            shutil.copyfileobj(source, out)
            out.flush()
            os.fchmod(out.fileno(), 0o644)
            os.link(out.name, target)  # whole or not at all, and over nothing
    except FileExistsError:
        return f"{target.name} is there already"
    except Unreadable as error:
        return str(error)
    except OSError as error:
        return f"{target.name} cannot be written ({error.strerror})"
    return ""


def _check_mapping(path: Path) -> None:
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{path}: a mapping is a .csv or a .json file; give it such a name")
    if os.path.lexists(path):
        raise UsageError(f"{path}: exists already; name a new file")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: its folder does not exist; make it first")
    sealing.outside_repository(path, "the mapping")
    release = next((folder for folder in path.resolve().parents if (folder / "leakscan.toml").exists()), None)
    if release is not None:
        raise UsageError(f"{path}: lies in the release {release}; keep the mapping outside of any")
