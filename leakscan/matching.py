"""Files to references: who has which recording of a benchmark, and from where on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakscan import alignment, exhibits, hearing, index, sealing
from leakscan.exhibits import Wanted
from leakscan.hearing import Tell
from leakscan.model import (
    Alignment,
    Entry,
    Finding,
    Fingerprint,
    Match,
    Place,
    Reference,
    Report,
    Unexamined,
    UsageError,
)
from leakscan.sealing import Key, Lock
from leakscan.store import Store

_SAME_START_S = 0.1  # interval answers are judged in tenths of a second
_COVERED = 0.9
_SAME_STRETCH = 0.5  # of the union: two references that claim it contradict each other


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
    selection = hearing.select(paths)
    if not selection.audio and not selection.unexamined:
        raise UsageError(f"{paths[0]}: holds no audio files; nothing was written")
    files: dict[str, Entry] = {}
    for entry in selection.audio:
        name = Path(entry.path).stem
        if name in files:
            raise UsageError(f"{entry.path}: its ID {name} is that of {files[name].path}, too; rename one of them")
        files[name] = entry
    references, unexamined = [], list(selection.unexamined)
    for entry, result in hearing.fingerprint_files(selection.audio, memory):
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


def match_paths(
    paths: Sequence[Path],
    against: Path,
    key: Key = Key(),  # noqa: B008 - frozen
    memory: Store | None = None,
    wanted: Wanted | None = None,
    tell: Tell | None = None,
) -> Report:
    """`match` for paths and an index, which `key` opens if it is sealed.  Raises `UsageError`, `LeakscanError`."""
    references = index.read(against, key)
    selection = hearing.select(paths)
    return hearing.with_selection(match(selection.audio, references, memory, wanted, tell), selection)


def match(
    files: Sequence[Entry],
    references: Sequence[Reference],
    memory: Store | None = None,
    wanted: Wanted | None = None,
    tell: Tell | None = None,
) -> Report:
    """`match_heard` for files; what `memory` knows of them is not computed again."""
    return match_heard(hearing.fingerprint_files(files, memory, tell), references, wanted)


def match_heard(
    heard: Sequence[tuple[Entry, Fingerprint | Unexamined]],
    references: Sequence[Reference],
    wanted: Wanted | None = None,
) -> Report:
    """Match files to references by sound; every file is aligned with every reference.

    Rows are of type `Match`: one for every file and reference that share a stretch, one for every file without any,
    one for every reference that nobody matched.  A reference is `found` when exactly one file matches it and claims
    that stretch for no other reference.  Raises `LeakscanError` when no ffmpeg can be used.
    """
    pool = alignment.gather([alignment.prepare(reference.fingerprint) for reference in references])
    rows: list[Match] = []
    unexamined: list[Unexamined] = []
    aligned: dict[tuple[str, str], Alignment] = {}
    for entry, fp in heard:
        if isinstance(fp, Unexamined):
            unexamined.append(fp)
            rows.append(Match(entry.path, "", "unreadable"))
            continue
        found = [(references[number], one) for number, one in alignment.search(alignment.prepare(fp), pool)]
        aligned |= {(entry.path, reference.id): one for reference, one in found}
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
    report = Report(
        row=Match,
        rows=tuple(rows),
        findings=tuple(matched_recording(row) for row in rows if row.state == "matched"),
        summary=_summary(files, references, rows),
        examined=hearing.examined(files, len(unexamined)),
        unexamined=tuple(sorted(unexamined, key=lambda one: one.path)),
        notes=tuple(_index_notes(references)),
    )
    known = {entry.path: fp for entry, fp in heard if isinstance(fp, Fingerprint)}
    sought = {reference.id: reference.fingerprint for reference in references}
    return exhibits.attach(report, aligned, known, sought, {entry.path: entry for entry in files}, wanted)


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
