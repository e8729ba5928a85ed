"""Paths -> entries -> items: a worklist that links and `../` never lead out of the release root."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, ModuleType

from leakscan.model import Entry, Item, Place, Unexamined, Unreadable, UsageError

HEAD_BYTES = 4096
MAX_DEPTH = 4  # containers in containers: deeper than any release, shallower than any bomb
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
NOT_FETCHED = "a Git LFS pointer, not the data; fetch it with `git lfs pull`"

# What cannot be read yet must not pass for a stray file: by usual extension and by magic.
_OTHER_AUDIO_NAMES = frozenset(
    ".ape .tak .ofr .ofs .shn .aa .aax .dff .amr .ra .rm .dts .mlp .thd .la .mod .xm .it .s3m".split()
)
_UNSUPPORTED_NAMES = _OTHER_AUDIO_NAMES | frozenset(
    ".mid .midi .zip .tar .bz2 .xz .zst .7z .rar .npz .npy .pkl .pt .safetensors .msgpack .avro .orc .h5 .hdf5"
    " .tfrecord .xls .xlsx .ods .sqlite .db".split()
)
_UNSUPPORTED_MAGIC = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "bzip2 data",
    b"\xfd7zXZ\x00": "xz data",
    b"\x28\xb5\x2f\xfd": "zstd data",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a rar archive",
    b"FEA1": "Feather version 1",
    b"SQLite format 3": "SQLite",
    b"MAC ": "Monkey's Audio",
    b"tBaK": "TAK",
    b"OFR ": "OptimFROG",
    b"ajkg": "Shorten",
    b"FRM8": "DSDIFF",
    b"MP+": "Musepack before SV8",
    b"MThd": "MIDI",
    b"#!AMR": "AMR",
}


@dataclass(frozen=True, slots=True)
class Noted:
    """A file that no format claims and no name makes suspicious; reports list it."""

    path: str


def entries(root: Path, paths: Sequence[Path], *, outside: bool = False) -> Iterator[Entry | Unexamined]:
    """Every regular file at or below `paths`, once, sorted; `.git` folders are left out.

    A link to a file inside `root` is judged like a copy of it, since that is what its reader gets; with `outside`, to a
    file anywhere.  A link to a folder or out of `root`, a dangling link, a special file or a folder that cannot be
    listed is `Unexamined`.  A link that is itself one of `paths` is followed.

    Raises `UsageError` when a path does not exist or lies outside `root`.
    """
    seen: set[str] = set()
    for path in paths:
        absolute = Path(os.path.abspath(path))
        if not os.path.lexists(absolute):
            raise UsageError(f"{path}: no such file or folder; check the path")
        start = Path(os.path.realpath(absolute))
        if not (os.path.lexists(start) and start.is_relative_to(root)):
            start = Path(os.path.realpath(absolute.parent)) / absolute.name
        if not start.is_relative_to(root):
            raise UsageError(f"{path}: lies outside the release root {root}; scan one release at a time")
        for found in _below(root, start, outside):
            if found.path not in seen:
                seen.add(found.path)
                yield found


def listing(paths: Sequence[Path]) -> Iterator[Entry | Unexamined]:
    """Like `entries` for paths that need not share a root: every path is its own, and shown as it was given.

    These are somebody's own files, not a release: links to files are followed wherever they lead, and a file that is
    there itself is called by its own name.
    """
    seen: dict[Path, Entry | Unexamined] = {}
    linked: set[Path] = set()
    for path in paths:
        root = path if path.is_dir() else path.parent
        real = Path(os.path.realpath(root))
        for found in entries(real, [path], outside=True):
            place = real / found.path
            key = found.file if isinstance(found, Entry) else place
            if key not in seen or (key in linked and key == place):
                seen[key] = replace(found, path=(root / found.path).as_posix())
                linked.discard(key)
                linked.update({key} - {place})
    yield from seen.values()


def is_audio(entry: Entry, readers: Mapping[str, ModuleType]) -> bool:
    """Whether a file is audio by its content, or meant to be by its name.  Raises `Unreadable`."""
    audio = [reader for reader in readers.values() if getattr(reader, "AUDIO", False)]
    suffix = _suffix(entry.path)
    if suffix in _OTHER_AUDIO_NAMES or any(suffix in reader.NAMES for reader in audio):
        return True
    with entry.open() as stream:
        head = stream.read(HEAD_BYTES)
    return any(reader.sniff(head) for reader in audio)


def _below(root: Path, start: Path, outside: bool) -> Iterator[Entry | Unexamined]:
    waiting = [start]  # a stack: folders nested deep enough to exhaust Python's own must not end the scan
    while waiting:
        path = waiting.pop()
        name = path.relative_to(root).as_posix()
        try:
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                children = sorted((child for child in os.listdir(path) if child != ".git"), reverse=True)
                waiting.extend(path / child for child in children)
            elif stat.S_ISLNK(mode):
                yield _link(None if outside else root, path, name)
            elif stat.S_ISREG(mode):
                yield Entry(name, path, path.stat().st_size)
            else:
                yield Unexamined(name, "not a regular file (a FIFO, socket or device); remove it")
        except OSError as error:
            yield Unexamined(name, f"cannot be examined ({error.strerror})")


def _link(root: Path | None, path: Path, name: str) -> Entry | Unexamined:
    target = Path(os.path.realpath(path))
    if not os.path.exists(target):
        return Unexamined(name, "a link to nothing")
    if root is not None and not target.is_relative_to(root):
        return Unexamined(name, "a link that leads out of the release root; replace it by a copy")
    if not target.is_file():
        return Unexamined(name, "a link to a folder; replace it by a copy")
    return Entry(name, target, target.stat().st_size)


def items(
    entries: Iterable[Entry | Unexamined],
    readers: Mapping[str, ModuleType],
    declared: Callable[[str], bool],
    read: Mapping[str, Item] = MappingProxyType({}),
) -> Iterator[Item | Unexamined | Noted]:
    """Judge every entry by its name (a `file` item) and by its content (the items of the reader that claims it).

    `declared` tells the files that the configuration names: they need no reader.  Every entry that is not read in full
    yields an `Unexamined` or a `Noted`.  `read` is what was found before in some files, by their paths.
    """
    known: set[str] = set()
    for entry in entries:
        yield from folders(entry.path, known)
        if isinstance(entry, Unexamined):  # its name is shown, hence judged
            yield Item(Place(entry.path), "file")
            yield entry
            continue
        yield Item(Place(entry.path), "file", entry)
        open_files = [iter([read[entry.path]]) if entry.path in read else _read(entry, readers, declared)]
        while open_files:  # a member is judged before the next one of its container is read: only one is held
            found = next(open_files[-1], None)
            if found is None:
                open_files.pop()
            elif isinstance(found, Entry):
                yield Item(Place(found.path), "file", found)
                if found.depth > MAX_DEPTH:
                    yield Unexamined(found.path, f"nested more than {MAX_DEPTH} containers deep")
                else:
                    open_files.append(_read(found, readers, declared))
            else:
                yield found


def folders(path: str, known: set[str]) -> Iterator[Item]:
    """The folders above `path` that are not `known` yet, as items to be judged by their names."""
    parts = path.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        folder = "/".join(parts[:depth]) + "/"
        if folder not in known:
            known.add(folder)
            yield Item(Place(folder), "file")


def _read(
    entry: Entry, readers: Mapping[str, ModuleType], declared: Callable[[str], bool]
) -> Iterator[Item | Entry | Unexamined | Noted]:
    try:
        with entry.open() as stream:
            head = stream.read(HEAD_BYTES)
        reader = choose(entry, head, readers, declared(entry.path))
        if reader is not None:
            yield from reader.read(entry)
            return
        reason = _unread(entry, head, readers)
    except Unreadable as error:
        reason = str(error).removeprefix(f"{entry.path}: ")
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
    except Exception as error:  # one hostile file must not keep the others from being judged
        reason = f"cannot be read (internal error: {type(error).__name__}); please report it"
    if reason is not None:
        yield Unexamined(entry.path, reason)
    elif not declared(entry.path):
        yield Noted(entry.path)


def choose(entry: Entry, head: bytes, readers: Mapping[str, ModuleType], declared: bool = False) -> ModuleType | None:
    """The reader that claims the content.

    Prose looks like CSV: a reader with `BY_NAME` needs the usual extension too.  Of a declared file, code or README,
    only what its name says or what is audio is read, and no `PROSE`.
    """
    suffix = _suffix(entry.path)
    claims = [reader for reader in readers.values() if reader.sniff(head) and not head.startswith(LFS_POINTER)]
    named = [reader for reader in claims if suffix in reader.NAMES and not (declared and _is_prose(reader))]
    others = [
        reader
        for reader in claims
        if not getattr(reader, "BY_NAME", False) and (getattr(reader, "AUDIO", False) or not declared)
    ]
    return next(iter(named + others), None)


def _is_prose(reader: ModuleType) -> bool:
    """Whether a reader is about text for people: nothing is missed where there is none."""
    return getattr(reader, "PROSE", False)


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2].rpartition("!")[2]
    return f".{name.rpartition('.')[2].lower()}" if "." in name else ""


def _unread(entry: Entry, head: bytes, readers: Mapping[str, ModuleType]) -> str | None:
    """Why a file that no reader claims is more than a stray one, or None."""
    suffix = _suffix(entry.path)
    expected = any(suffix in reader.NAMES for reader in readers.values() if not _is_prose(reader))
    if head.startswith(LFS_POINTER):
        return NOT_FETCHED
    if not head:
        return "empty" if expected or suffix in _UNSUPPORTED_NAMES else None
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return "UTF-16 or UTF-32 text; convert it to UTF-8"
    for magic, what in _UNSUPPORTED_MAGIC.items():
        if head.startswith(magic):
            return f"{what} is not supported yet"
    playlist = head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"#EXTM3U", b"ffconcat", b"[playlist]", b"<"))
    if expected and playlist:
        return f"not what its name says: a playlist or XML, no {suffix} content"
    if expected:
        return f"not what its name says: no {suffix} content found"
    return "container not supported" if suffix in _UNSUPPORTED_NAMES else None
