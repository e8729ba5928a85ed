"""What is heard of files: which of the given paths are audio, and the fingerprint of each."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leakscan import alignment, crew, fingerprints, media, walk
from leakscan.discover import members
from leakscan.model import Entry, Examined, Fingerprint, Interrupted, Report, Unexamined, Unfinished, Unreadable
from leakscan.store import Compute, Result, Store

# What a fingerprint depends on besides the bytes and ffmpeg; how many phases it has, the store looks at itself.  Raise
# the number when `extraction` computes other words or lengths, or accepts other files.
_RECIPE = "2: TEST2, 11025 Hz, mono"

_TOGETHER = {2 << 20: 16, 32 << 20: 3}
"""How many files of up to so many bytes are heard in one process, which costs more to start than to decode a clip, and
a fifth of a song; 32 clips or 6 songs do not make it cheaper.  What is longer is heard alone."""

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
    files: Sequence[Entry], memory: Store | None = None, tell: Tell | None = None, *, phases: int = 1
) -> list[tuple[Entry, Fingerprint | Unexamined]]:
    """The fingerprint of every file, in 1 or 4 phases, or why there is none; in the order of `files`.

    All cores are busy with ffmpeg; short files share a process.  What `memory` knows is not computed again, and what is
    computed is kept there at once.  Raises `LeakscanError` when no ffmpeg can be used.
    """
    ask = _Ask((_recipe(),), functools.partial(_fingerprint, phases=phases), phases)
    heard = _hear(files, _batches(files), ask, memory, tell)
    return [(entry, one if isinstance(one, Unexamined) else one[0]) for entry, one in heard]


def at_speeds(
    files: Sequence[Entry], speeds: Sequence[float], memory: Store | None = None, tell: Tell | None = None
) -> list[tuple[Entry, tuple[Fingerprint, ...] | Unexamined]]:
    """The fingerprints that every file would have if it were played at these speeds (1.03: 3 % faster).

    Else as `fingerprint_files`; one decode a file.
    """
    recipe = _recipe()
    recipes = tuple(f"{recipe}; {speed:.6f} times as fast" for speed in speeds)
    ask = _Ask(recipes, functools.partial(_at_speeds, speeds=speeds))
    return _hear(files, [[number] for number in range(len(files))], ask, memory, tell)


@dataclass(frozen=True, slots=True)
class _Ask:
    """What is wanted of every file, and how it is computed; see `Store.recall`."""

    recipes: tuple[str, ...]
    compute: Compute
    phases: int = 1


def _hear(
    files: Sequence[Entry], batches: Sequence[Sequence[int]], ask: _Ask, memory: Store | None, tell: Tell | None
) -> list[tuple[Entry, Result]]:
    def hear(batch: Sequence[int]) -> list[Result]:
        entries = [files[number] for number in batch]
        return ask.compute(entries) if memory is None else memory.recall(entries, ask.recipes, ask.compute, ask.phases)

    def tell_files(done: int, _: int) -> None:
        if tell is not None:
            tell(sum(map(len, batches[:done])), len(files))

    found: dict[int, Result] = {}
    for batch, results in zip(batches, crew.in_threads(hear, batches, tell_files), strict=True):
        found |= zip(batch, results, strict=True)
    return [(entry, found[number]) for number, entry in enumerate(files)]


def _batches(files: Sequence[Entry]) -> list[list[int]]:
    """Which files are heard together, by number, the long ones first; those of a kind are spread over all cores."""
    kinds: dict[int, list[int]] = {}
    for number, entry in enumerate(files):
        together = next((many for most, many in _TOGETHER.items() if entry.size <= most), 1)
        kinds.setdefault(together, []).append(number)
    batches: list[list[int]] = []
    for together, some in sorted(kinds.items()):
        rounds = math.ceil(len(some) / (together * crew.cores()))
        size = math.ceil(len(some) / (rounds * crew.cores()))  # all cores have as much to do
        batches += [some[at : at + size] for at in range(0, len(some), size)]
    return batches


def _recipe() -> str:
    return f"{_RECIPE}; {media.find_ffmpeg().library}"


def _fingerprint(entries: Sequence[Entry], phases: int) -> list[Result]:
    found: dict[int, Result] = {}
    with contextlib.ExitStack() as stack:
        paths = {}
        for number, entry in enumerate(entries):
            try:
                paths[number] = stack.enter_context(media.on_disk(entry)), entry.path
            except Unreadable as error:
                found[number] = unexamined_entry(entry, error)
        heard = fingerprints.fingerprint_each(list(paths.values()), phases)
        for number, one in zip(paths, heard, strict=True):
            found[number] = unexamined_entry(entries[number], one) if isinstance(one, Unreadable) else (one,)
    return [found[number] for number in range(len(entries))]


def _at_speeds(entries: Sequence[Entry], speeds: Sequence[float]) -> list[Result]:
    found: list[Result] = []
    for entry in entries:
        try:
            with media.on_disk(entry) as path:
                found.append(fingerprints.at_speeds(path, speeds, entry.path))
        except Unreadable as error:
            found.append(unexamined_entry(entry, error))
    return found


def unexamined_entry(entry: Entry, error: Unreadable) -> Unexamined:
    """What a report says about an entry that raised `error`."""
    kind = Unfinished if isinstance(error, Interrupted) else Unexamined
    return kind(entry.path, str(error).removeprefix(f"{entry.path}: "))


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


def how_heard(name: str, fp: Fingerprint) -> Iterator[str]:
    """What a reader should know of how a recording was heard."""
    yield from (f"{name}: {note}" for note in fp.notes)


def untold(name: str, fp: Fingerprint) -> Iterator[str]:
    """Why a recording cannot be recognised by its sound, if so."""
    if len(fp) < alignment.MIN_WORDS:
        yield f"{name} is too short to be recognised by sound ({fp.duration:.1f} s)"
    elif fingerprints.is_constant(fp):
        yield f"{name} is silent or constant; its sound tells nothing"


def examined(files: Sequence[Entry], unread: int) -> Examined:
    """What was read of files, of which so many could not be."""
    return Examined(len(files), audio=len(files) - unread, bytes=sum(entry.size for entry in files))
