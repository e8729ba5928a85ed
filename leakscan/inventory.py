"""The exact set of files of a release, and what cannot be part of one."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from leakscan.model import Entry

Fault = Literal[
    "link", "special file", "empty folder", "extended attribute", "file name that is not UTF-8", "repository",
    "unreadable folder",
]  # fmt: skip

SIDECARS = frozenset(".accurip .cue .ffp .inf .log .lrc .m3u .m3u8 .md5 .nfo .pls .sfv .sha256 .st5 .toc .xmp".split())
_DESKTOP = frozenset({".ds_store", "thumbs.db", "desktop.ini", ".directory", "folder.jpg", "albumart.jpg"})


@dataclass(frozen=True, slots=True)
class Inventory:
    """The regular files below a root by path, and what else lies there, by path."""

    files: dict[str, Entry]
    faults: tuple[tuple[str, Fault], ...]


def take(root: Path) -> Inventory:
    """List everything below `root` but its own `.git`."""
    files: dict[str, Entry] = {}
    faults: list[tuple[str, Fault]] = []
    for found in _below(root, root):
        if isinstance(found, Entry):
            files[found.path] = found
        else:
            faults.append(found)
    return Inventory(dict(sorted(files.items())), tuple(sorted(faults)))


def _below(root: Path, start: Path) -> Iterator[Entry | tuple[str, Fault]]:
    if _attributes(os.fspath(start)):
        yield start.relative_to(root).as_posix(), "extended attribute"
    waiting = [start]  # a stack: folders may be nested deeper than Python's own goes
    while waiting:
        folder = waiting.pop()
        name = folder.relative_to(root).as_posix()
        try:
            children = sorted(os.scandir(folder), key=lambda child: child.name)
        except OSError:
            yield name, "unreadable folder"
            continue
        if not children and folder != root:
            yield name, "empty folder"
        for child in children:
            path = child.name if folder == root else f"{name}/{child.name}"
            status = child.stat(follow_symlinks=False)
            if not _is_text(path):
                yield path, "file name that is not UTF-8"
            if _attributes(child.path):
                yield path, "extended attribute"
            if child.name == ".git":
                own = folder == root and stat.S_ISDIR(status.st_mode) and os.path.isfile(f"{child.path}/HEAD")
                if not own:  # anything can hide under that name
                    yield path, "repository"
            elif stat.S_ISDIR(status.st_mode):
                waiting.append(Path(child.path))
            elif stat.S_ISREG(status.st_mode):
                yield Entry(path, Path(child.path), status.st_size)
            else:
                yield path, "link" if stat.S_ISLNK(status.st_mode) else "special file"


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _attributes(path: str) -> bool:
    """Whether programs have attached something of their own, such as the address a file was fetched from."""
    try:
        return any(name.startswith("user.") for name in os.listxattr(path, follow_symlinks=False))
    except (OSError, AttributeError):  # no such thing on this system
        return False


def set_root(files: Iterable[tuple[str, int | None, str]]) -> str:
    """One digest of the whole set: SHA-256 over a line `digest size name` for each file, sorted by name.

    The size of a file whose digest is salted is not told: `-`.
    """
    digest = hashlib.sha256()
    for name, size, value in sorted(files):
        digest.update(f"{value} {'-' if size is None else size} {name}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def is_sidecar(path: str) -> bool:
    """Whether a file is of those that rippers, taggers and desktops leave beside audio."""
    name = path.rpartition("/")[2].lower()
    return name in _DESKTOP or name.startswith("._") or ":" in name or Path(name).suffix in SIDECARS
