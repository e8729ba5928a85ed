"""Looking for repeats among 1,000 to 100,000 recordings: the cost from fingerprints to groups, and what it finds.

The recordings are synthetic, since so many cannot be had: segments of real fingerprints (benchmarks/corpus.py), each
under a mask of its own, so that it is like no other.  Strangers look alike by words that many recordings hold ("hot"
ones, that several packages share): some segments keep one, with what stands around, but at another place, and others
get any of them in such places, as often as it takes for strangers to meet as they do in reality; both rates are
printed.  (A hot word that stays where it was joins strangers which hold one segment under masks that differ in 4 to 8
bits: 1 pair in 15 million, 343 groups too many at 100,000 recordings.)  One recording in a hundred is a copy of
another, by a third whole, an excerpt of 30 s, and 20 s inside another recording, with the bit errors of real copies at
random phase.

Printed: CPU seconds and memory of `leakscan.repeats.find` (no audio is read), as multiples of one numpy sort of all
words, and the recall of the planted copies.  Table and plot go to benchmarks/results/scale.csv and scale.svg.  The exit
status is 1 when strangers do not meet as in reality (to 1.5 times), 10,000 recordings take more than 60 sorts, or
100,000 more than 10 minutes or 4 GiB.

Usage: python benchmarks/scale.py [COUNT ...]        default: 1000 3000 10000 30000 100000
"""

from __future__ import annotations

import itertools
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import corpus
import harness
import numpy as np
import numpy.typing as npt
import tables

from leakscan import repeats, sketches
from leakscan.engines import local
from leakscan.fingerprints import SILENCE, STEP_S, WINDOW_S, Words, telling
from leakscan.model import Fingerprint
from leakscan.repeats import Recording

_COUNTS = (1000, 3000, 10_000, 30_000, 100_000)
_SEED = 20261130
_SEGMENT = 128  # words
_PLANTED = 0.01
_KEPT = 0.12  # of the segments keep a hot word and those around it
_AROUND = 8  # words to either side: too few to be a repeat by themselves
_STRAY = 0.20  # of the other hot words become any hot word
_SAMPLE = 2000  # synthetic recordings whose pairs are counted
_EXCERPT, _EMBEDDED = 221, 140  # words: 30 s, 20 s
_WHOLE, _PART = "-whole", "mp3-64-30"  # kinds of real copies


@dataclass(frozen=True)
class Real:
    """Fingerprints of real music, end to end, and the bit errors of real copies."""

    words: Words
    hot: npt.NDArray[np.bool_]
    lengths: npt.NDArray[np.int64]
    whole: list[Words]
    excerpts: list[Words]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one number of recordings took."""

    count: int
    words: int
    sort_s: float
    cpu_s: float
    bytes: int
    groups: int
    recall: dict[str, float]


def main(counts: Sequence[int]) -> int:
    tracks = corpus.tracks(corpus.FOLDER, (*corpus.CALIBRATION, *corpus.TEST))
    if not tracks:
        print(f"{corpus.FOLDER}: no fingerprints of real music; python benchmarks/corpus.py makes them")
        return 1
    real = learn(tracks)
    arrays = [np.frombuffer(track.heard.words, "<u4") for track in tracks]
    sample, _ = synthesize(real, _SAMPLE, planted=0.0)
    met = {
        f"{len(tracks)} real recordings, across packages": meeting(arrays, [track.package for track in tracks]),
        f"{_SAMPLE} synthetic recordings": meeting(sample, range(_SAMPLE)),
    }
    for name, (one, two) in met.items():
        print(f"{name}: of all pairs {one:.1e} share a minimum, {two:.1e} two words at one offset", flush=True)
    done: list[Cost] = []
    for count in counts:
        with multiprocessing.get_context("fork").Pool(1) as pool:  # memory is told for each by itself
            done.append(pool.apply(measure, (real, count)))
        print(row(done[-1]), flush=True)
    tables.write_csv("scale", [row(one) for one in done])
    (tables.RESULTS / "scale.svg").write_text(plot(done), encoding="utf-8")
    faults = [*_unlike(*met.values()), *_costly(done)]
    print("".join(f"FAULT {fault}\n" for fault in faults) or "holds")
    return 1 if faults else 0


def _unlike(real: tuple[float, float], synthetic: tuple[float, float]) -> Iterator[str]:
    if not real[0] / 1.5 <= synthetic[0] <= real[0] * 1.5:
        yield f"strangers meet {synthetic[0] / real[0]:.1f} times as often as in reality"


def _costly(done: Sequence[Cost]) -> Iterator[str]:
    for one in done:
        if one.count == 10_000 and one.cpu_s > 60 * one.sort_s:
            yield f"{one.count} recordings take {one.cpu_s / one.sort_s:.0f} times the sort of their words"
        if one.count == 100_000 and (one.cpu_s > 600 or one.bytes > 4 << 30):
            yield f"{one.count} recordings take {one.cpu_s:.0f} s and {one.bytes / 2**30:.1f} GiB"


def row(one: Cost) -> dict[str, object]:
    """What is told of one number of recordings."""
    return {
        "recordings": one.count,
        "million_words": round(one.words / 1e6, 1),
        "sort_s": round(one.sort_s, 3),
        "cpu_s": round(one.cpu_s, 1),
        "times_the_sort": round(one.cpu_s / one.sort_s, 1),
        "cpu_ms_each": round(1000 * one.cpu_s / one.count, 2),
        "gibibytes": round(one.bytes / 2**30, 2),
        "groups": one.groups,
        **{f"recall_{kind}": round(share, 3) for kind, share in sorted(one.recall.items())},
    }


def plot(done: Sequence[Cost]) -> str:
    """CPU seconds over recordings, both on logarithmic scales, beside what the first number would take if each of the
    others cost as much; as SVG."""

    def at(count: float, seconds: float) -> tuple[float, float]:
        return 60 + 100 * (np.log10(count) - 3), 280 - 60 * (np.log10(seconds) + 1)

    def line(points: list[tuple[float, float]], style: str) -> str:
        return f'<polyline fill="none" {style} points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'

    ticks = [
        f'<text x="{at(10**power, 0.1)[0]:.0f}" y="298" text-anchor="middle">{10**power:,}</text>'
        for power in range(3, 6)
    ] + [
        f'<text x="52" y="{at(1000, 10.0**power)[1] + 4:.0f}" text-anchor="end">{10.0**power:g} s</text>'
        for power in range(-1, 4)
    ]
    return "\n".join((
        '<svg xmlns="http://www.w3.org/2000/svg" width="340" height="330" font-family="sans-serif" font-size="11">',
        '<rect width="340" height="330" fill="white"/>',
        '<path d="M60 40V280H300" fill="none" stroke="#888"/>',
        *ticks,
        line([at(one.count, done[0].cpu_s / done[0].count * one.count) for one in done], 'stroke="#aaa"'),
        line([at(one.count, one.cpu_s) for one in done], 'stroke="#06c" stroke-width="2"'),
        '<text x="60" y="24">CPU seconds from fingerprints to groups</text>',
        '<text x="180" y="318" text-anchor="middle">recordings; grey: proportional</text>',
        "</svg>\n",
    ))  # fmt: skip


def learn(tracks: Sequence[corpus.Track]) -> Real:
    """What synthetic recordings are made of."""
    arrays = [np.frombuffer(track.heard.words, "<u4") for track in tracks]
    words = np.concatenate(arrays)
    package = np.repeat(
        np.unique([track.package for track in tracks], return_inverse=True)[1], [len(one) for one in arrays]
    )
    told, number = np.unique(words, return_inverse=True)
    seen = np.zeros((len(told), package.max() + 1), np.bool_)
    seen[number, package] = True
    quiet = ~telling(np.column_stack((np.full(len(words), SILENCE), words)).ravel())[1::2]
    errors: dict[str, list[Words]] = {_WHOLE: [], _PART: []}
    for track in tracks:
        for copy in track.copies:
            if copy.kind.endswith((_WHOLE, _PART)) and len(error := _error(track, copy)) >= _EXCERPT - 2:
                errors[_PART if copy.kind == _PART else _WHOLE].append(error)
    lengths = np.array([len(one) for one in arrays if len(one) >= 2 * _EXCERPT])
    return Real(words, (seen.sum(axis=1) > 1)[number] & ~quiet, lengths, errors[_WHOLE], errors[_PART])


def _error(track: corpus.Track, copy: corpus.Copy) -> Words:
    """The bits of a copy that differ from its recording's, word by word."""
    own, other = np.frombuffer(track.heard.words, "<u4"), np.frombuffer(copy.fingerprint.words, "<u4")
    at = round(-copy.offset_s / STEP_S)
    tried = []
    for start in (at - 1, at, at + 1):
        piece = own[max(0, start) : max(0, start) + len(other)]
        tried.append(piece ^ other[: len(piece)])
    return min(tried, key=lambda error: int(np.bitwise_count(error).sum()))


def synthesize(real: Real, count: int, planted: float = _PLANTED) -> tuple[list[Words], dict[int, tuple[str, int]]]:
    """So many recordings, and what was planted: (kind, original) by the number of the copy."""
    rng = np.random.default_rng(_SEED)
    strays, around = real.words[real.hot], np.arange(-_AROUND, _AROUND + 1)
    made: list[Words] = []
    for length in rng.choice(real.lengths, count).tolist():
        starts = rng.integers(len(real.words) - _SEGMENT, size=-(-length // _SEGMENT))
        at = starts[:, None] + np.arange(_SEGMENT)
        masks = rng.integers(1 << 32, size=(len(starts), 1), dtype=np.uint32)
        words = real.words[at]
        hot, chance = real.hot[at], rng.random(at.shape)
        stray = hot & (chance < _STRAY)
        new = words ^ masks
        new[stray] = rng.choice(strays, int(stray.sum()))
        kept = np.flatnonzero(hot.any(axis=1) & (rng.random(len(starts)) < _KEPT))
        one = at[kept, (hot * chance)[kept].argmax(axis=1)].clip(_AROUND, len(real.words) - _AROUND - 1)
        place = rng.integers(_AROUND, _SEGMENT - _AROUND, size=len(kept))
        new[kept[:, None], place[:, None] + around] = real.words[one[:, None] + around]
        made.append(new.ravel()[:length])
    copies = {}
    chosen = rng.permutation(count)[: 2 * int(count * planted)].reshape(-1, 2).tolist()
    for (original, copy), kind in zip(chosen, itertools.cycle(("whole", "excerpt", "embedded")), strict=False):
        made[copy] = _copy(made[original], made[copy], kind, real, rng)
        copies[copy] = kind, original
    return made, copies


def _copy(original: Words, other: Words, kind: str, real: Real, rng: np.random.Generator) -> Words:
    length = {"whole": len(original), "excerpt": _EXCERPT - 2, "embedded": _EMBEDDED}[kind]
    errors = real.whole if kind == "whole" else real.excerpts
    error = np.resize(errors[int(rng.integers(len(errors)))], length)  # repeated if it is shorter
    start = int(rng.integers(len(original) - length + 1))
    copy = original[start : start + length] ^ error
    if kind == "embedded":
        at = int(rng.integers(len(other) + 1))
        copy = np.concatenate((other[:at], copy, other[at:]))
    return copy


def meeting(arrays: Sequence[Words], sets: Sequence[object]) -> tuple[float, float]:
    """The share of the pairs of recordings of different sets that share a minimum, and two words at one offset."""
    packed = sketches.pack(arrays)
    one: set[tuple[int, int]] = set()
    for band in range(sketches.PERMUTATIONS):
        windows = local.pairs(packed, packed.minima(band))
        one.update(zip(*(packed.rows[side].tolist() for side in windows), strict=True))
    pairs = sum(1 for a, b in itertools.combinations(sets, 2) if a != b)
    across = {pair for pair in one if sets[pair[0]] != sets[pair[1]]}
    twice = sum(_meet_twice(arrays[a], arrays[b]) for a, b in across)
    return len(across) / pairs, twice / pairs


def _meet_twice(a: Words, b: Words) -> bool:
    """Whether two recordings share two different telling words at one offset."""
    at, other = np.flatnonzero(telling(a)), np.flatnonzero(telling(b))
    order = other[np.argsort(b[other], kind="stable")]
    low = np.searchsorted(b[order], a[at], "left")
    count = np.searchsorted(b[order], a[at], "right") - low
    own = np.repeat(at, count)
    its = order[np.repeat(low, count) + np.arange(len(own)) - np.repeat(np.cumsum(count) - count, count)]
    met = np.unique(np.column_stack((own - its, a[own])), axis=0)
    return bool(len(met)) and int(np.unique(met[:, 0], return_counts=True)[1].max()) > 1


def measure(real: Real, count: int) -> Cost:
    """Make recordings, and look for repeats among them."""
    arrays, copies = synthesize(real, count)
    words = np.concatenate(arrays)
    sort = min(harness.cost(lambda: np.sort(words)).cpu for _ in range(3))
    recordings = [
        Recording(name, name, fingerprint=Fingerprint(one.astype("<u4").tobytes(), (len(one) - 1) * STEP_S + WINDOW_S))
        for number, one in enumerate(arrays)
        for name in [f"{number:06}"]
    ]
    size = len(words)
    arrays.clear()
    words = np.zeros(0, np.uint32)
    found: list[repeats.Repeats] = []
    cpu = harness.cost(lambda: found.append(repeats.find(recordings))).cpu
    linked = {frozenset(pair) for pair, one in found[0].links.items() if one.grade != "C"}
    hits: dict[str, list[bool]] = {}
    for copy, (kind, original) in copies.items():
        hits.setdefault(kind, []).append(frozenset((f"{copy:06}", f"{original:06}")) in linked)
    recall = {kind: sum(one) / len(one) for kind, one in hits.items()}
    return Cost(count, size, sort, cpu, harness.peak_memory(), len(found[0].groups), recall)


if __name__ == "__main__":
    sys.exit(main([int(text) for text in sys.argv[1:]] or _COUNTS))
