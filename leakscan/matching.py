"""Fingerprints, sketches, alignment and grouping composed: match files to references, and files to one another."""

from __future__ import annotations

import itertools
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from leakscan import alignment, fingerprints, grouping, index, media, sealing, sketches, store, walk
from leakscan.discover import members
from leakscan.model import (
    Alignment,
    Edge,
    Entry,
    Examined,
    Finding,
    Fingerprint,
    Group,
    Match,
    Place,
    Reference,
    Relation,
    Report,
    Unexamined,
    Unreadable,
    UsageError,
)
from leakscan.sealing import Key, Lock
from leakscan.store import Store

_SAME_START_S = 0.1  # interval answers are judged in tenths of a second
_COVERED = 0.9
_SAME_STRETCH = 0.5  # of the union: two references that claim it contradict each other
_PLACES = 100
# What a fingerprint depends on besides the bytes and ffmpeg.  Raise the number when `media` or `fingerprints` compute
# other words or lengths, or accept other files.
_RECIPE = "1: TEST2, 11025 Hz, mono, 1 phase"

_NOTHING = Fingerprint(b"", 0.0)  # stands for a file that could not be decoded but is equal to another byte for byte

T = TypeVar("T")
_Pair = tuple[str, str]
_Copies = Mapping[str, tuple[str, Relation]]  # copy -> (original, how that is known)


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
            unexamined.append(_unexamined(entry, error))
    return Selection(tuple(audio), tuple(unexamined), tuple(noted))


def write_index(
    paths: Sequence[Path],
    out: Path,
    lock: Lock | None = None,
    *,
    each: bool = False,
    memory: Store | None = None,
) -> tuple[int, tuple[Unexamined, ...]]:
    """Write an index of the audio at `paths`; a recording's ID is its file's name without suffix.

    Only `lock` opens it; without one it is plain, for its owner alone, and never written into a repository.  With
    `each`, `out` is a folder that gets a copy for each recipient of the lock.  `memory` is the cache to use.

    Returns how many were written and what could not be read.  Raises `UsageError`, `LeakscanError`.
    """
    if lock is None:
        sealing.outside_repository(out, "a plain index")  # before the work, not after it
    else:
        sealing.check(lock)
    selection = select(paths)
    if not selection.audio and not selection.unexamined:
        raise UsageError(f"{paths[0]}: holds no audio files; nothing was written")
    files: dict[str, Entry] = {}
    for entry in selection.audio:
        name = Path(entry.path).stem
        if name in files:
            raise UsageError(f"{entry.path}: its ID {name} is that of {files[name].path}, too; rename one of them")
        files[name] = entry
    references, unexamined = [], list(selection.unexamined)
    for entry, result in fingerprint_files(selection.audio, memory):
        if isinstance(result, Unexamined):
            unexamined.append(result)
        else:
            references.append(Reference(Path(entry.path).stem, result))
    if not references:
        return 0, tuple(unexamined)  # an index that was there stays
    if lock is None:
        index.write_plain(references, out)
    elif each:
        index.write_each(references, out, lock.recipients)
    else:
        index.write_sealed(references, out, lock)
    return len(references), tuple(unexamined)


def match_paths(paths: Sequence[Path], against: Path, key: Key = Key(), memory: Store | None = None) -> Report:  # noqa: B008
    """`match` for paths and an index, which `key` opens if it is sealed.  Raises `UsageError`, `LeakscanError`."""
    references = index.read(against, key)
    selection = select(paths)
    return _with_selection(match(selection.audio, references, memory), selection)


def duplicate_paths(paths: Sequence[Path], memory: Store | None = None) -> Report:
    """`duplicates` for paths.  Raises `UsageError`, `LeakscanError`."""
    selection = select(paths)
    return _with_selection(duplicates(selection.audio, memory), selection)


def _with_selection(report: Report, selection: Selection) -> Report:
    unexamined = tuple(sorted((*report.unexamined, *selection.unexamined), key=lambda one: one.path))
    notes = report.notes if selection.audio else (*report.notes, "no audio files were found")
    return replace(report, unexamined=unexamined, noted=tuple(sorted(selection.noted)), notes=notes)


def fingerprint_files(
    files: Sequence[Entry], memory: Store | None = None
) -> list[tuple[Entry, Fingerprint | Unexamined]]:
    """The fingerprint of every file, or why there is none; in the order of `files`, all cores busy with ffmpeg.

    What `memory` knows is not computed again, and what is computed is kept there at once.  Raises `LeakscanError` when
    no ffmpeg can be used.
    """
    if memory is None:
        return list(zip(files, _everywhere(_fingerprint, files), strict=True))
    recipe = f"{_RECIPE}; ffmpeg {media.find_ffmpeg().version}"
    return list(zip(files, _everywhere(lambda entry: memory.recall(entry, recipe, _fingerprint), files), strict=True))


def _fingerprint(entry: Entry) -> Fingerprint | Unexamined:
    try:
        with media.on_disk(entry) as path:
            return fingerprints.fingerprint(path, entry.path)
    except Unreadable as error:
        return _unexamined(entry, error)


def _everywhere(function: Callable[[Entry], T], files: Sequence[Entry]) -> list[T]:
    """Threads suffice: the work is done by ffmpeg and hashlib, outside of Python's lock."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(function, files))


def _unexamined(entry: Entry, error: Unreadable) -> Unexamined:
    return Unexamined(entry.path, str(error).removeprefix(f"{entry.path}: "))


def match(files: Sequence[Entry], references: Sequence[Reference], memory: Store | None = None) -> Report:
    """`match_heard` for files; what `memory` knows of them is not computed again."""
    return match_heard(fingerprint_files(files, memory), references)


def match_heard(heard: Sequence[tuple[Entry, Fingerprint | Unexamined]], references: Sequence[Reference]) -> Report:
    """Match files to references by sound; every file is aligned with every reference.

    Rows are of type `Match`: one for every file and reference that share a stretch, one for every file without any,
    one for every reference that nobody matched.  A reference is `found` when exactly one file matches it and claims
    that stretch for no other reference.  Raises `LeakscanError` when no ffmpeg can be used.
    """
    pool = alignment.gather([alignment.prepare(reference.fingerprint) for reference in references])
    rows: list[Match] = []
    unexamined: list[Unexamined] = []
    for entry, fp in heard:
        if isinstance(fp, Unexamined):
            unexamined.append(fp)
            rows.append(Match(entry.path, "", "unreadable"))
            continue
        found = [(references[number], one) for number, one in alignment.search(alignment.prepare(fp), pool)]
        rows.extend(
            _match(entry.path, fp, reference, one, _contradicted(one, reference, found)) for reference, one in found
        )
        if not found:
            rows.append(Match(entry.path, "", "too-short" if len(fp) < alignment.MIN_WORDS else "absent"))
    rows = _conflicts(rows)
    seen = {row.id for row in rows}
    rows += [Match("", reference.id, "not-found") for reference in references if reference.id not in seen]
    rows.sort(key=lambda row: (not row.file, row.file, row.id))
    files = [entry for entry, _ in heard]
    return Report(
        row=Match,
        rows=tuple(rows),
        findings=tuple(matched_recording(row) for row in rows if row.state == "matched"),
        summary=_summary(files, references, rows),
        examined=_examined(files, unexamined),
        unexamined=tuple(sorted(unexamined, key=lambda one: one.path)),
        notes=tuple(_index_notes(references)),
    )


def _match(file: str, fp: Fingerprint, reference: Reference, found: Alignment, contradicted: bool) -> Match:
    coverage_reference = _coverage(found.span_b, reference.fingerprint)
    sure = found.grade != "C" and not contradicted
    return Match(
        file,
        reference.id,
        "matched" if sure else "ambiguous",
        same_timeline=_same_timeline(found, fp, reference.fingerprint) if sure else None,
        score=found.score,
        offset_s=found.offset_s,
        overlap_s=found.overlap_s,
        speed=found.speed,
        coverage_file=_coverage(found.span_a, fp),
        coverage_reference=coverage_reference,
    )


def _contradicted(one: Alignment, reference: Reference, found: Sequence[tuple[Reference, Alignment]]) -> bool:
    """Whether another reference claims the same stretch of the file, at least as well graded."""
    return any(
        other is not reference
        and rival.grade != "C"
        and rival.grade <= one.grade
        and _share(one.span_a, rival.span_a) >= _SAME_STRETCH
        for other, rival in found
    )


def _share(a: tuple[float, float], b: tuple[float, float]) -> float:
    shared = min(a[1], b[1]) - max(a[0], b[0])
    return max(0.0, shared) / (max(a[1], b[1]) - min(a[0], b[0]))


def _coverage(span: tuple[float, float], fp: Fingerprint) -> float:
    return min(1.0, (span[1] - span[0]) / fp.duration) if fp.duration else 1.0


def _same_timeline(found: Alignment, fp: Fingerprint, reference: Fingerprint) -> bool | None:
    """Whether interval answers about the reference hold for the file: it starts with it, at its speed, and covers it.

    None while the error of the offset (one phase: half a step) leaves it open, or when the stretch that was recognised
    covers less of the reference than it should: something in between may have been cut out or put in.
    """
    error = alignment.OFFSET_ERROR_S
    late = abs(found.offset_s)
    lacking = found.offset_s + reference.duration - fp.duration
    if late - error > _SAME_START_S or lacking - error > _SAME_START_S or found.speed != 1.0:
        return False
    certain = late + error <= _SAME_START_S and lacking + error <= _SAME_START_S
    return True if certain and _coverage(found.span_b, reference) >= _COVERED else None


def _conflicts(rows: Iterable[Match]) -> list[Match]:
    """Two files that match one reference contradict each other: which of them is the recording is for people to say."""
    rows = list(rows)
    files = Counter(row.id for row in rows if row.state == "matched")
    return [replace(row, state="conflict") if row.state == "matched" and files[row.id] > 1 else row for row in rows]


def matched_recording(row: Match) -> Finding:
    """The note on a row whose state is `matched`."""
    return Finding(
        "matched-recording",
        "note",
        "strong",
        f"holds {row.overlap_s:.1f} s of {row.id}, which starts at {row.offset_s:.2f} s",
        Place(row.file, id=row.id),
        places=(Place(row.file, id=row.id),),
    )


def _summary(files: Sequence[Entry], references: Sequence[Reference], rows: Sequence[Match]) -> dict[str, Any]:
    """Counts of references by the best that any file says about them, then of files."""
    states: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        states[row.id].add(row.state)
    counts = {"references": len(references), "found": 0, "conflict": 0, "ambiguous": 0, "not_found": 0}
    names = (("matched", "found"), ("conflict", "conflict"), ("ambiguous", "ambiguous"), ("not-found", "not_found"))
    for reference in references:
        counts[next(name for state, name in names if state in states[reference.id])] += 1
    absent = Counter(row.state for row in rows if not row.id)
    return {
        **counts,
        "files": len(files),
        "absent": absent["absent"],
        "too_short": absent["too-short"],
        "unreadable": absent["unreadable"],
    }


def _index_notes(references: Sequence[Reference]) -> Iterator[str]:
    if any(not reference.fingerprint.library for reference in references):
        yield "the index does not say what computed it; read as TEST2"
    for reference in references:
        if len(reference.fingerprint) < alignment.MIN_WORDS:
            yield f"reference {reference.id} is too short to be recognised ({reference.fingerprint.duration:.1f} s)"


def _examined(files: Sequence[Entry], unexamined: Sequence[Unexamined]) -> Examined:
    return Examined(len(files), audio=len(files) - len(unexamined), bytes=sum(entry.size for entry in files))


def duplicates(files: Sequence[Entry], memory: Store | None = None) -> Report:
    """Find repeated audio among files.

    Rows are of type `Edge`, one for every two files that share audio, by group; group 0 holds what is only related
    (for review) and belongs to no group.  Links to one file are that file.  Silence and constant audio are duplicates
    of nothing, except byte for byte.  Raises `LeakscanError` when no ffmpeg can be used.
    """
    files, notes = _without_links(files)
    entries = {entry.path: entry for entry in files}
    copies: dict[str, tuple[str, Relation]] = {
        copy: (original, "identical-bytes") for original, copy in _equal_bytes(files, memory)
    }
    heard, unread = _hear([entry for entry in files if entry.path not in copies], memory)
    copies |= {copy: (original, "identical-audio") for original, copy in _equal_audio(entries, heard)}
    links = _links({path: fp for path, fp in heard.items() if path not in copies})
    for copy, (original, _) in copies.items():
        if original in heard:
            heard.setdefault(copy, heard[original])
        else:
            unread[copy] = unread[original]
    groups = _with_copies(grouping.group(links.values()), copies, heard)
    for copy, (original, _) in copies.items():
        links[original, copy] = (original, copy, alignment.identity(heard.get(copy, _NOTHING)))
    rows = _edges(links, groups, copies, entries, heard)
    unexamined = [Unexamined(path, reason) for path, reason in sorted(unread.items())]
    return Report(
        row=Edge,
        rows=tuple(rows),
        findings=tuple(_repeated(number, group, rows) for number, group in enumerate(groups, 1)),
        summary={
            "files": len(files),
            "groups": len(groups),
            "files_in_groups": len({member[0] for group in groups for member in group.members}),
            "related_pairs": sum(row.relation == "related" for row in rows),
        },
        examined=_examined(files, unexamined),
        unexamined=tuple(unexamined),
        notes=(*notes, *_untold(heard), *_alone(files)),
    )


def _without_links(files: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """One entry for every file on the disk: a hard or symbolic link is the file that it leads to."""
    first: dict[Any, Entry] = {}
    notes = []
    # a file before the symbolic links to it
    for entry in sorted(files, key=lambda entry: (entry.data is None and entry.file.is_symlink(), entry.path)):
        try:
            status = entry.file.stat()
            key = entry.path if entry.data is not None else (status.st_dev, status.st_ino)
        except OSError:
            key = entry.path  # it will turn out to be unreadable
        kept = first.setdefault(key, entry)
        if kept is not entry:
            notes.append(f"{entry.path} is a link to the same file as {kept.path}")
    return sorted(first.values(), key=lambda entry: entry.path), notes


def _hear(files: Sequence[Entry], memory: Store | None) -> tuple[dict[str, Fingerprint], dict[str, str]]:
    heard: dict[str, Fingerprint] = {}
    unread: dict[str, str] = {}
    for entry, result in fingerprint_files(files, memory):
        if isinstance(result, Unexamined):
            unread[entry.path] = result.reason
        else:
            heard[entry.path] = result
    return heard, unread


def _untold(heard: Mapping[str, Fingerprint]) -> Iterator[str]:
    for path, fp in sorted(heard.items()):
        if len(fp) < alignment.MIN_WORDS:
            yield f"{path} is too short to be recognised by sound ({fp.duration:.1f} s)"
        elif fingerprints.is_constant(fp):
            yield f"{path} is silent or constant; its sound tells nothing"


def _alone(files: Sequence[Entry]) -> Iterator[str]:
    if len(files) == 1:
        yield "only one audio file: there is nothing to compare"


def _equal_bytes(files: Sequence[Entry], memory: Store | None) -> Iterator[_Pair]:
    """(original, copy) for what is equal byte for byte; of several equal files the first by path is the original."""
    sizes = Counter(entry.size for entry in files)
    digest = store.sha256 if memory is None else memory.sha256
    return _equal([entry for entry in files if sizes[entry.size] > 1], digest)


def _equal_audio(entries: Mapping[str, Entry], heard: Mapping[str, Fingerprint]) -> Iterator[_Pair]:
    """The same for what is equal sample for sample once decoded; equal fingerprints are not yet proof of that."""
    telling = {path: (fp.words, fp.duration) for path, fp in heard.items() if not fingerprints.is_constant(fp)}
    alike = Counter(telling.values())
    return _equal([entries[path] for path, key in sorted(telling.items()) if alike[key] > 1], _pcm_digest)


def _equal(files: Sequence[Entry], digest: Callable[[Entry], str | bytes | None]) -> Iterator[_Pair]:
    first: dict[str | bytes, str] = {}
    for entry, value in zip(files, _everywhere(digest, files), strict=True):
        if value is not None and first.setdefault(value, entry.path) != entry.path:
            yield first[value], entry.path


def _pcm_digest(entry: Entry) -> str | None:
    try:
        with media.on_disk(entry) as path:
            return media.pcm_digest(path, entry.path)
    except Unreadable:
        return None


def _links(heard: Mapping[str, Fingerprint]) -> dict[_Pair, grouping.Link]:
    """What shares audio, by pair of paths: the candidates that could be aligned."""
    paths = sorted(heard)
    tracks = [alignment.prepare(heard[path]) for path in paths]
    aligned: dict[tuple[int, int], Alignment | None] = {}

    def joins(left: int, right: int) -> bool:
        if (left, right) not in aligned:
            aligned[left, right] = alignment.align_tracks(tracks[left], tracks[right])
        found = aligned[left, right]
        return found is not None and found.grade != "C"

    near: dict[int, set[int]] = defaultdict(set)
    for left, right in sketches.candidates([heard[path] for path in paths]):
        if joins(left, right):
            near[left].add(right)
            near[right].add(left)
    # Sketches may miss a pair that has a neighbour in common; a group is judged by all links to its centre.
    for neighbours in near.values():
        for left, right in itertools.combinations(sorted(neighbours), 2):
            joins(left, right)
    return {
        (paths[left], paths[right]): (paths[left], paths[right], found)
        for (left, right), found in aligned.items()
        if found is not None
    }


def _with_copies(groups: Sequence[Group], copies: _Copies, heard: Mapping[str, Fingerprint]) -> list[Group]:
    """Put every copy into the group that holds most of its original, or into a new one; groups sorted."""
    home: dict[str, int] = {}
    result = list(groups)
    for copy, (original, _) in sorted(copies.items()):
        if original not in home:
            holding = [
                (start - end, number)
                for number, one in enumerate(result)
                for path, start, end in one.members
                if path == original
            ]
            if not holding:
                result.append(Group(((original, 0.0, heard.get(original, _NOTHING).duration),)))
                holding = [(0.0, len(result) - 1)]
            home[original] = min(holding)[1]
        one = result[home[original]]
        span = next(member[1:] for member in one.members if member[0] == original)
        result[home[original]] = Group(
            tuple(sorted((*one.members, (copy, *span)))), tuple(sorted((*one.edges, (original, copy))))
        )
    return sorted(result, key=lambda one: one.members)


def _edges(
    links: dict[_Pair, grouping.Link],
    groups: Sequence[Group],
    copies: _Copies,
    entries: Mapping[str, Entry],
    heard: Mapping[str, Fingerprint],
) -> list[Edge]:
    keep = {number: _keep(group, entries, heard) for number, group in enumerate(groups, 1)}
    number_of = {pair: number for number, group in enumerate(groups, 1) for pair in group.edges}
    rows = []
    for pair, (a, b, found) in links.items():
        number = number_of.get(pair, 0)
        original, proof = copies.get(b, ("", "related"))
        coverage_a = _coverage(found.span_a, heard.get(a, _NOTHING))
        coverage_b = _coverage(found.span_b, heard.get(b, _NOTHING))
        rows.append(
            Edge(
                group=number,
                set_a="",
                a=a,
                set_b="",
                b=b,
                relation=proof if original == a else _relation(found, coverage_a, coverage_b),
                score=found.score,
                offset_s=found.offset_s,
                overlap_s=found.overlap_s,
                speed=found.speed,
                coverage_a=coverage_a,
                coverage_b=coverage_b,
                keep=keep.get(number, ""),
            )
        )
    return sorted(rows, key=lambda row: (not row.group, row.group, row.a, row.b))


def _relation(found: Alignment, coverage_a: float, coverage_b: float) -> Relation:
    if found.grade == "C":
        return "related"
    if found.speed != 1.0:
        return "speed-changed"
    covered = (coverage_a >= _COVERED) + (coverage_b >= _COVERED)
    relations: tuple[Relation, ...] = ("partial", "excerpt", "same-recording")
    return relations[covered]


def _keep(group: Group, entries: Mapping[str, Entry], heard: Mapping[str, Fingerprint]) -> str:
    """The copy to keep: the longest recording (to half a second), of those the largest file, then the first by name."""
    longest = max(heard.get(path, _NOTHING).duration for path, _, _ in group.members)

    def rank(path: str) -> tuple[bool, int, str]:
        return (heard.get(path, _NOTHING).duration < longest - 0.5, -entries[path].size, path)

    return min((path for path, _, _ in group.members), key=rank)


def _repeated(number: int, group: Group, rows: Sequence[Edge]) -> Finding:
    own = [row for row in rows if row.group == number]
    proven = all(row.relation.startswith("identical") for row in own)
    keep = own[0].keep
    paths = sorted({path for path, _, _ in group.members})
    relations = ", ".join(sorted({row.relation for row in own}))
    return Finding(
        "duplicate-recording",
        "warning",
        "proven" if proven else "strong",
        f"{len(paths)} files hold the same audio ({relations}); keep one",
        Place(keep),
        count=len(paths),
        places=tuple(Place(path) for path in paths[:_PLACES]),
        related=tuple(Place(path) for path in paths if path != keep)[:_PLACES],
    )
