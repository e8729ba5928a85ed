"""What is heard of files: which of the given paths are audio, and the fingerprint of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leakscan import alignment, crew, fingerprints, media, walk
from leakscan.discover import members
from leakscan.model import Entry, Examined, Fingerprint, Report, Unexamined, Unreadable
from leakscan.store import Store

# What a fingerprint depends on besides the bytes and ffmpeg.  Raise the number when `media` or `fingerprints` compute
# other words or lengths, or accept other files.
_RECIPE = "1: TEST2, 11025 Hz, mono, 1 phase"

Tell = Callable[[int, int], None]
"""Is told how many files of how many are done."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list of paths stands for: the audio, what could not be read, and the files that are not audio."""

    audio: tuple[Entry, ...]
    unexamined: tuple[Unexamined, ...]
    noted: tuple[str, ...]


def select(paths: Sequence[Path]) -> Selection:
    """The audio files at or below `paths`; a file that is named itself counts as audio whatever it looks like.

    Raises `UsageError`.
    """
    readers = members("formats")
    named = {os.path.abspath(path) for path in paths}
    audio, unexamined, noted = [], [], []
    for entry in walk.listing(paths):
        if isinstance(entry, Unexamined):
            unexamined.append(entry)
            continue
        try:
            if os.path.abspath(entry.file) in named or walk.is_audio(entry, readers):
                audio.append(entry)
            else:
                noted.append(entry.path)
        except Unreadable as error:
            unexamined.append(unexamined_entry(entry, error))
    return Selection(tuple(audio), tuple(unexamined), tuple(noted))


def with_selection(report: Report, selection: Selection) -> Report:
    """The report with what the selection left out."""
    unexamined = tuple(sorted((*report.unexamined, *selection.unexamined), key=lambda one: one.path))
    notes = report.notes if selection.audio else (*report.notes, "no audio files were found")
    return replace(report, unexamined=unexamined, noted=tuple(sorted(selection.noted)), notes=notes)


def fingerprint_files(
    files: Sequence[Entry], memory: Store | None = None, tell: Tell | None = None
) -> list[tuple[Entry, Fingerprint | Unexamined]]:
    """The fingerprint of every file, or why there is none; in the order of `files`, all cores busy with ffmpeg.

    What `memory` knows is not computed again, and what is computed is kept there at once.  Raises `LeakscanError` when
    no ffmpeg can be used.
    """
    if memory is None:
        return list(zip(files, crew.in_threads(_fingerprint, files, tell), strict=True))
    recipe = f"{_RECIPE}; ffmpeg {media.find_ffmpeg().version}"
    recall = crew.in_threads(lambda entry: memory.recall(entry, recipe, _fingerprint), files, tell)
    return list(zip(files, recall, strict=True))


def _fingerprint(entry: Entry) -> Fingerprint | Unexamined:
    try:
        with media.on_disk(entry) as path:
            return fingerprints.fingerprint(path, entry.path)
    except Unreadable as error:
        return unexamined_entry(entry, error)


def unexamined_entry(entry: Entry, error: Unreadable) -> Unexamined:
    """What a report says about an entry that raised `error`."""
    return Unexamined(entry.path, str(error).removeprefix(f"{entry.path}: "))


def without_links(files: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """One entry for every file on the disk, and notes on the others: a hard or symbolic link is what it leads to."""
    first: dict[Any, Entry] = {}
    notes = []
    # a file before the symbolic links to it
    for entry in sorted(files, key=lambda entry: (entry.data is None and entry.file.is_symlink(), entry.path)):
        kept = first.setdefault(identity(entry), entry)
        if kept is not entry:
            notes.append(f"{entry.path} is a link to the same file as {kept.path}")
    return sorted(first.values(), key=lambda entry: entry.path), notes


def identity(entry: Entry) -> Any:
    """What tells files on the disk apart, whatever leads to them."""
    try:
        status = entry.file.stat()
    except OSError:
        return entry.path  # it will turn out to be unreadable
    return entry.path if entry.data is not None else (status.st_dev, status.st_ino)


def untold(name: str, fp: Fingerprint) -> Iterator[str]:
    """Why a recording cannot be recognised by its sound, if so."""
    if len(fp) < alignment.MIN_WORDS:
        yield f"{name} is too short to be recognised by sound ({fp.duration:.1f} s)"
    elif fingerprints.is_constant(fp):
        yield f"{name} is silent or constant; its sound tells nothing"


def examined(files: Sequence[Entry], unread: int) -> Examined:
    """What was read of files, of which so many could not be."""
    return Examined(len(files), audio=len(files) - unread, bytes=sum(entry.size for entry in files))
