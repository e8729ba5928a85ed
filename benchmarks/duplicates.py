"""Repeated audio on real music: planted copies of 200 recordings, looked for among all of them at once.

Each recording stands there with a re-encoding in full length, an excerpt of 30 s, a piece of 20 s inside another
recording, and a copy that begins later.  They are looked for by `leakscan.repeats`, which so few recordings propose by
all their words; through MinHash, as when there are more; and by aligning all pairs.  Asked is whether a copy is found
beside its original, and whether what is said of pairs is right: two files are fairly paired when they hold the same
recording, or such as were checked to share music
(results/relatives.csv).

Copies of 60 s that run 1, 3 and 6 % slower and faster are looked for among the originals as `duplicates` does without
and with --speed.  A title-and-artist key on the same files, from their tags, is counted beside it.

Writes results/duplicates.csv and duplicates.md; the exit status is 1 when something promised does not hold.

Usage: python benchmarks/duplicates.py [FOLDER]        default: bench-data, as benchmarks/corpus.py made it
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import tables
from corpus import Copy, Track

from leakscan import alignment, claims, likenesses, repeats
from leakscan.fingerprints import STEP_S
from leakscan.model import Edge, Entry, Fingerprint, Relation
from leakscan.repeats import Recording

_COUNT = 200
_HEARD_AT_FOUR_S = 60.0  # `repeats` hears shorter files at four phases
_COVERED = 0.9

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Planted:
    """A file, which recordings it is known to hold stretches of, and what it is to its original."""

    name: str
    kind: str
    fingerprint: Fingerprint
    holds: frozenset[str]
    relation: Relation = "same-recording"


def main(folder: Path) -> int:
    tracks = corpus.tracks(folder, corpus.TEST)
    rng = np.random.default_rng(corpus.SEED)
    chosen = [tracks[number] for number in sorted(rng.permutation(len(tracks))[:_COUNT].tolist())]
    files = [file for track in chosen for file in _planted(track, rng)]
    print(f"{len(chosen)} recordings, {len(files)} files", flush=True)
    relatives = {frozenset((row["a"], row["b"])) for row in tables.read_csv("relatives")}
    found = repeats.find(Recording(file.name, file.name, fingerprint=file.fingerprint) for file in files)
    rows = {(row.a, row.b): row for row in repeats.edges(found, {})}
    exhaustive = _exhaustive(files)
    lines = list(_lines(files, rows, relatives))
    certain = [pair for pair, grade in exhaustive.items() if grade != "C"]
    names = [file.name for file in files]
    sketched = {
        tuple(sorted((names[a], names[b]))) for a, b in likenesses.find([file.fingerprint for file in files], few=0)
    }
    share, by_sketches = _missed("the MinHash path", certain, sketched)
    _, by_words = _missed("what `duplicates` does with so few", certain, rows)
    at_speeds = list(_at_speeds(folder, chosen, relatives))
    tables.write_csv("duplicates", lines)
    text = (
        f"# Duplicates on real music\n\n{len(chosen)} recordings, {len(files)} files, "
        f"{len(files) * (len(files) - 1) // 2:,} pairs.  Intervals: Wilson, 95 %.\n\n{tables.markdown(lines)}\n"
        f"Of the pairs that the alignment of all pairs accepts: {by_sketches}; {by_words}.\n\n"
        f"Copies of 60 s at another speed, and pairs of strangers that are joined:\n\n{tables.markdown(at_speeds)}\n"
        f"{tables.markdown([_by_key(folder, chosen, relatives)])}"
    )
    (tables.RESULTS / "duplicates.md").write_text(text, "utf-8")
    print(text)
    poor = [line for line in lines if line["recall"] < 0.98 or line["precision"] < 0.99]
    return 1 if poor or share > 0.01 else 0


def _missed(path: str, certain: Sequence[Pair], found: Container[Any]) -> tuple[float, str]:
    """The share of certain pairs that a way of looking does not find, and in words."""
    missed = sum(pair not in found for pair in certain)
    low, high = tables.wilson(missed, len(certain))
    share = missed / len(certain)
    return share, f"{path} misses {missed} of {len(certain)} ({share:.2%}, {low:.2%} to {high:.2%})"


def _planted(track: Track, rng: np.random.Generator) -> Iterator[Planted]:
    """A recording and the copies of it that stand beside it."""
    yield _file(track.name, "original", track.heard, {track.name})
    by_kind: dict[str, Copy] = {"whole" if copy.kind.endswith("-whole") else copy.kind: copy for copy in track.copies}
    for kind, copy in (("re-encoding", "whole"), ("excerpt", "crop-30"), ("embedded", "embed-20")):
        if copy in by_kind:
            made = by_kind[copy]
            yield _file(
                f"{track.name} {kind}", kind, made.fingerprint, {track.name, made.host} - {""}, _relation(track, made)
            )
    yield _file(f"{track.name} later", "later", _later(track.heard, rng), {track.name})


def _relation(track: Track, copy: Copy) -> Relation:
    """What a copy is to its recording: of a recording of 20 s, 20 s inside another one are all that there is."""
    covers = copy.length_s >= _COVERED * copy.fingerprint.duration, copy.length_s >= _COVERED * track.heard.duration
    relations: tuple[Relation, ...] = ("partial", "excerpt", "same-recording")
    return relations[sum(covers)]


def _file(name: str, kind: str, heard: Fingerprint, holds: set[str], relation: Relation = "same-recording") -> Planted:
    """A file as `leakscan duplicates` hears it."""
    phases = heard.phases if heard.duration < _HEARD_AT_FOUR_S else ()
    return Planted(name, kind, replace(heard, phases=phases), frozenset(holds), relation)


def _later(heard: Fingerprint, rng: np.random.Generator) -> Fingerprint:
    """What a copy is heard as that begins 1 to 8 s later, by quarters of a step.

    A word depends on nothing but the samples that it looks at, so that these are words of the original at a phase.
    """
    lead = rng.uniform(1.0, min(8.0, 0.08 * heard.duration))
    steps, phase = divmod(int(lead / STEP_S * 4), 4)
    words = (heard.words, *heard.phases)
    late = (words[at][4 * (steps + (at < phase)) :] for at in (phase, *range(phase + 1, 4), *range(phase)))
    first, *phases = late
    return replace(heard, words=first, phases=tuple(phases), duration=heard.duration - (steps + phase / 4) * STEP_S)


_KINDS = ("re-encoding", "excerpt", "embedded", "later")


def _lines(
    files: Sequence[Planted], rows: Mapping[Pair, Edge], relatives: set[frozenset[str]]
) -> Iterator[dict[str, Any]]:
    """For each kind of copy, whether it is found beside its original; for each relation, whether it is rightly said."""
    by_name = {file.name: file for file in files}
    originals = {name: file for name, file in by_name.items() if file.kind == "original"}
    wrong: dict[str, int] = Counter()
    said: dict[str, int] = Counter()
    for (a, b), row in rows.items():
        said[row.relation] += 1
        wrong[row.relation] += not _is_fair(by_name[a], by_name[b], relatives)
    for kind in _KINDS:
        pairs = {
            (min(file.name, original), max(file.name, original)): file.relation
            for file in files
            if file.kind == kind
            for original in [file.name.removesuffix(f" {kind}")]
            if original in originals
        }
        relation = Counter(pairs.values()).most_common(1)[0][0]
        found = {pair: rows[pair] for pair in pairs if pair in rows and rows[pair].relation != "related"}
        named = sum(row.relation == pairs[pair] for pair, row in found.items())
        low, high = tables.wilson(len(found), len(pairs))
        yield {
            "planted": kind,
            "n": len(pairs),
            "found": len(found),
            "recall": len(found) / len(pairs),
            "low": low,
            "high": high,
            "mostly": relation,
            "rightly called": named,
            "rows so called": said[relation],
            "of these wrong": wrong[relation],
            "precision": 1 - wrong[relation] / max(1, said[relation]),
        }


def _at_speeds(folder: Path, tracks: Sequence[Track], relatives: set[frozenset[str]]) -> Iterator[dict[str, Any]]:
    """For each speed, which copies are found beside their originals without --speed, and with it, and so called."""
    files = {track.name: _file(track.name, "original", track.heard, {track.name}) for track in tracks}
    recordings = [Recording(file.name, file.name, fingerprint=file.fingerprint) for file in files.values()]
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for track in tracks:
        for copy in track.copies:
            if copy.kind.startswith("speed"):
                path = folder / "speeds" / f"{corpus.flat(track.name)}{copy.kind}.wav"
                name = f"{track.name} {copy.kind}"
                files[name] = _file(name, copy.kind, copy.fingerprint, {track.name})
                recordings.append(Recording(name, name, entry=Entry(name, path, path.stat().st_size)))
                pairs[copy.kind].append((track.name, name))
    plain, played = (
        {(row.a, row.b): row for row in repeats.edges(repeats.find(recordings, speed=speed), {})}
        for speed in (False, True)
    )
    for kind, planted in sorted(pairs.items(), key=lambda one: float(one[0].removeprefix("speed"))):
        found = [played[pair] for pair in planted if pair in played and played[pair].relation != "related"]
        low, high = tables.wilson(len(found), len(planted))
        yield {
            "planted": kind,
            "n": len(planted),
            "found without --speed": sum(pair in plain and plain[pair].relation != "related" for pair in planted),
            "found with it": len(found),
            "low": low,
            "high": high,
            "called speed-changed": sum(row.relation == "speed-changed" for row in found),
            "strangers": sum(
                row.relation != "related" and not _is_fair(files[a], files[b], relatives)
                for (a, b), row in played.items()
                if kind in (files[a].kind, files[b].kind)
            ),
        }


def _is_fair(a: Planted, b: Planted, relatives: set[frozenset[str]]) -> bool:
    """Whether two files hold a recording in common, or such as are known to share music."""
    return bool(a.holds & b.holds) or any(frozenset((x, y)) in relatives for x in a.holds for y in b.holds)


def _exhaustive(files: Sequence[Planted]) -> dict[Pair, str]:
    """The grades of all pairs that can be aligned at all, each tried both ways."""
    pool = alignment.gather([alignment.prepare(file.fingerprint) for file in files])
    grades: dict[Pair, str] = {}
    for number, file in enumerate(files):
        for other, found in alignment.search(alignment.hearings(file.fingerprint), pool):
            if other != number:
                a, b = sorted((file.name, files[other].name))
                grades[a, b] = min(found.grade, grades.get((a, b), "C"))
    return grades


def _by_key(folder: Path, tracks: Sequence[Track], relatives: set[frozenset[str]]) -> tables.Row:
    """What a title-and-artist key makes of the originals."""
    paths = {name: path for package in corpus.TEST for name, path in corpus.files(folder, package).items()}
    names = {track.name for track in tracks}
    told = {name: claims.read(Entry(name, paths[name], paths[name].stat().st_size)) for name in names}
    known = [pair for pair in relatives if pair <= names]
    verdict = claims.judge(told, known)
    return {
        "originals": len(told),
        "with title and artist": sum(one.key is not None for one in told.values()),
        "pairs known to share music": len(known),
        "the key finds": verdict.finds,
        "misses": verdict.misses,
        "untagged": verdict.untagged,
        "wrongly joins": verdict.wrongly_joins,
    }


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else corpus.FOLDER))
