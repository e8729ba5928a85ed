"""Files to references: who has which recording of a benchmark, and from where on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leakscan import (
    alignment,
    chroma,
    crew,
    exhibits,
    fingerprints,
    hearing,
    index,
    linking,
    media,
    scores,
    sealing,
    speeds,
)
from leakscan.alignment import Pool, Track
from leakscan.exhibits import Wanted
from leakscan.hearing import Tell
from leakscan.linking import Orders
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
    Unreadable,
    UsageError,
)
from leakscan.sealing import Key, Lock
from leakscan.store import Store

_SAME_START_S = 0.1  # interval answers are judged in tenths of a second
_COVERED = 0.9
_LIKELY = 0.5
_SAME_STRETCH = 0.5  # of the union: two references that claim it contradict each other

_SAME_LENGTH_S = 2.0  # a fingerprint tells the length to a step, and some programs round it to seconds
_PITCHES = tuple(quarters for quarters in range(-24, 25) if quarters)  # of semitones, half an octave up and down

Found = list[tuple[int, Alignment]]


@dataclass(frozen=True, slots=True)
class Effort:
    """What else to try with files that the usual search leaves without a sure match.

    `speed`: played up to 6 % slower and faster.  `sensitive`: again from the samples, every bit by its certainty; where
    the usual search finds something related, that is always done.  `pitch`: that, and transposed by up to 6 semitones;
    what only this finds is for review.
    """

    speed: bool = False
    sensitive: bool = False
    pitch: bool = False


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
    index.check_place(out)
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
    *,
    effort: Effort = Effort(),
    orders: Orders = Orders(),  # noqa: B008 - frozen
) -> Report:
    """`match` for paths and an index, which `key` opens if it is sealed; then what is ordered of the matches.

    Raises `UsageError`, `LeakscanError`.
    """
    linking.check(orders)  # before the work, not after it
    references = index.read(against, key)
    selection = hearing.select(paths)
    report = match(selection.audio, references, memory, wanted, tell, effort=effort)
    rows = [row for row in report.rows if isinstance(row, Match)]
    done = linking.carry_out(orders, rows, selection.audio)
    return hearing.with_selection(replace(report, notes=(*done, *report.notes)), selection)


def match(
    files: Sequence[Entry],
    references: Sequence[Reference],
    memory: Store | None = None,
    wanted: Wanted | None = None,
    tell: Tell | None = None,
    *,
    effort: Effort = Effort(),
) -> Report:
    """`match_heard` for files; what `memory` knows of them is not computed again, except for `effort`.

    Raises `LeakscanError` when no ffmpeg can be used.
    """
    heard = hearing.fingerprint_files(files, memory, tell, phases=4)
    pool = _pool(references)
    found = _search(heard, pool)
    if effort.speed:
        played = speeds.play([entry for entry, _ in heard if _is_unsure(found.get(entry.path))], memory)
        failed = {entry.path: result for entry, result in played if isinstance(result, Unexamined)}
        heard = [(entry, failed.get(entry.path, fp)) for entry, fp in heard]
        found |= _search_speeds(heard, played, found, pool)
    closely = _search_closely(heard, found, pool, effort)
    heard = [(entry, one if isinstance(one := closely.get(entry.path), Unexamined) else fp) for entry, fp in heard]
    found |= {path: one for path, one in closely.items() if not isinstance(one, Unexamined)}
    return _report(heard, found, references, pool, wanted)


def match_heard(
    heard: Sequence[tuple[Entry, Fingerprint | Unexamined]],
    references: Sequence[Reference],
    wanted: Wanted | None = None,
) -> Report:
    """Match files to references by sound; every file is aligned with every reference.

    Rows are of type `Match`: one for every file and reference that share a stretch, one for every file without any,
    one for every reference that nobody matched.  A reference is `found` when exactly one file matches it and claims
    that stretch for no other reference.
    """
    pool = _pool(references)
    return _report(heard, _search(heard, pool), references, pool, wanted)


def _pool(references: Sequence[Reference]) -> Pool:
    return alignment.gather([alignment.prepare(reference.fingerprint) for reference in references])


def _search(heard: Iterable[tuple[Entry, Fingerprint | Unexamined]], pool: Pool) -> dict[str, Found]:
    """What every file shares with references, by path: their numbers and alignments."""
    return {
        entry.path: alignment.search(alignment.hearings(fp), pool) for entry, fp in heard if isinstance(fp, Fingerprint)
    }


def _search_speeds(
    heard: Iterable[tuple[Entry, Fingerprint | Unexamined]],
    played: Iterable[tuple[Entry, tuple[Fingerprint, ...] | Unexamined]],
    known: Mapping[str, Found],
    pool: Pool,
) -> dict[str, Found]:
    """The same for files that were played at other speeds too: the closest of what is found."""
    durations = {entry.path: fp.duration for entry, fp in heard if isinstance(fp, Fingerprint)}
    found = {}
    for entry, result in played:
        if isinstance(result, Unexamined):
            continue
        best = dict(known[entry.path])
        for number, one in speeds.search(result, durations[entry.path], pool).items():
            best[number] = speeds.surest(best.get(number, one), one)
        found[entry.path] = sorted(best.items())
    return found


def _search_closely(
    heard: Iterable[tuple[Entry, Fingerprint | Unexamined]], known: Mapping[str, Found], pool: Pool, effort: Effort
) -> dict[str, Found | Unexamined]:
    """The same for files without a sure match, from their samples, as far as that finds more."""
    whatever = effort.sensitive or effort.pitch
    left = [
        (entry, fp)
        for entry, fp in heard
        if isinstance(fp, Fingerprint)
        and not any(_is_sure(one) for _, one in known[entry.path])
        and (whatever or known[entry.path])
    ]

    def search(file: tuple[Entry, Fingerprint]) -> Found | Unexamined:
        entry, fp = file
        try:
            with media.on_disk(entry) as path:
                phases = chroma.hear(media.samples(path, entry.path), media.PHASES)
        except Unreadable as error:
            return hearing.unexamined_entry(entry, error)
        best = dict(known[entry.path]) | dict(alignment.search(alignment.readings(fp, phases), pool))
        if effort.pitch and not any(_is_sure(one) for one in best.values()):
            for quarters in _PITCHES:
                for number, one in alignment.search(alignment.readings(fp, phases[:1], quarters), pool):
                    best[number] = speeds.surest(best.get(number, one), one)
        return sorted(best.items())

    return {entry.path: found for (entry, _), found in zip(left, crew.in_threads(search, left), strict=True)}


def _is_sure(one: Alignment) -> bool:
    """Whether an alignment is more likely than not the same recording."""
    return one.grade != "C" and one.score >= _LIKELY


def _is_unsure(found: Found | None) -> bool:
    """Whether a file that was heard has no match of the best grade: a part of what runs at another speed may fit."""
    return found is not None and all(one.grade != "A" for _, one in found)


def _report(
    heard: Sequence[tuple[Entry, Fingerprint | Unexamined]],
    shared: Mapping[str, Found],
    references: Sequence[Reference],
    pool: Pool,
    wanted: Wanted | None,
) -> Report:
    rows: list[Match] = []
    unexamined: list[Unexamined] = []
    aligned: dict[tuple[str, str], Alignment] = {}
    for entry, fp in heard:
        if isinstance(fp, Unexamined):
            unexamined.append(fp)
            rows.append(Match(entry.path, "", "unreadable"))
            continue
        found = [(references[number], one) for number, one in shared[entry.path]]
        aligned |= {(entry.path, reference.id): one for reference, one in found}
        rows.extend(
            _match(entry.path, fp, reference, one, _contradicted(one, reference, found)) for reference, one in found
        )
        if not found:
            rows.append(Match(entry.path, "", "too-short" if alignment.is_too_short(fp) else "absent"))
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
        notes=(*_index_notes(references, pool), *_file_notes(heard, shared), *_pitch_notes(aligned)),
    )
    known = {entry.path: fp for entry, fp in heard if isinstance(fp, Fingerprint)}
    sought = {reference.id: reference.fingerprint for reference in references}
    return exhibits.attach(report, aligned, known, sought, {entry.path: entry for entry in files}, wanted)


def _match(file: str, fp: Fingerprint, reference: Reference, found: Alignment, contradicted: bool) -> Match:
    sure = _is_sure(found) and not contradicted
    return Match(
        file,
        reference.id,
        "matched" if sure else "ambiguous",
        same_timeline=_same_timeline(found, fp, reference.fingerprint) if sure else None,
        score=found.score,
        offset_s=found.offset_s,
        overlap_s=found.overlap_s,
        speed=found.speed,
        coverage_file=found.alike * _coverage(found.span_a, fp),
        coverage_reference=found.alike * _coverage(found.span_b, reference.fingerprint),
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

    None while the error of the offset leaves it open, or when the stretch that was recognised covers less of the
    reference than it should, or goes over a gap: something may have been cut out, put in or put in place of it.
    """
    error = alignment.offset_error(fp, found)
    late = abs(found.offset_s)
    lacking = found.offset_s + reference.duration - fp.duration
    if late - error > _SAME_START_S or lacking - error > _SAME_START_S or found.speed != 1.0:
        return False
    certain = late + error <= _SAME_START_S and lacking + error <= _SAME_START_S
    whole = found.gap_s < alignment.GAP_S and _coverage(found.span_b, reference) >= _COVERED
    return True if certain and whole else None


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
        "in_short": _sentence(counts),
        **counts,
        "files": len(files),
        "files_absent": absent["absent"],
        "files_too_short": absent["too-short"],
        "files_unreadable": absent["unreadable"],
        "expected_false": round(scores.expected_false(row.score or 0.0 for row in rows if row.state == "matched"), 2),
    }


def _sentence(counts: Mapping[str, int]) -> str:
    """The outcome without a title or an ID, to be shared."""
    parts = [f"{counts['found']:,} of {counts['references']:,} found"]
    named = (("not_found", "absent"), ("ambiguous", "ambiguous"), ("conflict", "claimed by several files"))
    return "; ".join(parts + [f"{counts[name]:,} {text}" for name, text in named if counts[name]])


def _file_notes(heard: Iterable[tuple[Entry, Fingerprint | Unexamined]], shared: Mapping[str, Found]) -> Iterator[str]:
    for entry, fp in heard:
        if isinstance(fp, Fingerprint):
            yield from hearing.how_heard(entry.path, fp)
            if not shared[entry.path]:
                yield from _untold(entry.path, alignment.prepare(fp))


def _untold(name: str, track: Track) -> Iterator[str]:
    """Why a recording that is long enough would match nothing, not even itself, if so."""
    fp = track.fingerprint
    if len(fp) >= alignment.MIN_WORDS and fingerprints.is_constant(fp):
        yield f"{name} is silent or constant; its sound tells nothing"
    elif alignment.repeats_itself(track):
        yield f"{name} is a loop of few seconds; what repeats so often cannot be recognised, not even by itself"


def _pitch_notes(aligned: Mapping[tuple[str, str], Alignment]) -> Iterator[str]:
    for (file, name), one in sorted(aligned.items()):
        if one.pitch:
            way = "higher" if one.pitch > 0 else "lower"
            yield f"{file} sounds about {abs(one.pitch):g} semitone{'s' * (abs(one.pitch) != 1)} {way} than {name}"


def _index_notes(references: Sequence[Reference], pool: Pool) -> Iterator[str]:
    if any(not reference.fingerprint.library for reference in references):
        yield "the index does not say what computed it; read as TEST2"
    for reference, track in zip(references, pool.tracks, strict=True):
        fp = reference.fingerprint
        if len(fp) < alignment.MIN_WORDS:
            yield f"reference {reference.id} is too short to be recognised ({fp.duration:.1f} s)"
        else:
            yield from _untold(f"reference {reference.id}", track)
        heard = fingerprints.heard_seconds(fp)
        if abs(fp.duration - heard) > _SAME_LENGTH_S:
            yield (
                f"reference {reference.id} is {fp.duration:.1f} s long, but its fingerprint covers {heard:.1f} s; "
                "write the index again from the whole recording"
            )
