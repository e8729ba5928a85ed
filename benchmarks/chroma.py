"""Certain and uncertain bits: what matching gains when a copy's samples are at hand, and not its words alone.

On recordings that are decoded to 11,025 Hz: words and cost of leakscan/chroma.py against ffmpeg's muxer, fed the same
samples; then crops with another tone colour, one channel or echo, from a random sample, looked for among all
recordings by words alone, at one phase and at four, and by words whose bits count by their certainty; then crops
played higher or lower, which are turned back by rotation.  What is found on another recording is listed: tell
relatives, some of which are known (results/relatives.csv), from strangers.

Usage: python benchmarks/chroma.py [FOLDER [PACKAGE ...]]
       default: bench-data, as benchmarks/corpus.py made it, and the two packages that the rule was tuned on
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import corpus
import harness
import numpy as np
import tables
from scipy.io import wavfile

from leakscan import alignment, chroma, fingerprints, media
from leakscan.chroma import RATE
from leakscan.fingerprints import Words
from leakscan.media import PHASES
from leakscan.model import Alignment, Fingerprint

_TUNED_ON = ("wesnoth-1.16-music", "supertuxkart-data")
_SECONDS = (30, 20, 10)
_LEAST_S = 45.0
_PITCH_S = 45
_SEMITONES = (0.5, 1, 2, -3)
_EVERY_FOR_PITCH = 3
_ROTATIONS = range(-6 * chroma.FINE, 6 * chroma.FINE + 1)


@dataclass(frozen=True)
class Recording:
    """A reference: as far as words are concerned, nothing else is known of it."""

    name: str
    path: Path
    heard: Fingerprint


@dataclass
class Tally:
    """What each way of looking found: copies and hits by kind and way, CPU by way, and hits on other recordings."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    others: list[str] = field(default_factory=list)


def main(folder: Path, packages: Sequence[str]) -> None:
    recordings = list(_recordings(folder, packages))
    print(f"{len(recordings)} recordings of {', '.join(packages)}")
    pool = alignment.gather([alignment.prepare(one.heard) for one in recordings])
    names = [one.name for one in recordings]
    rng = np.random.default_rng(corpus.SEED)
    tally = Tally()
    for one in recordings:
        both = corpus.decode(one.path)
        for kind, sound in (("crop only", both.mean(1)), *corpus._altered(both, both.mean(1), rng)):
            start = int(rng.integers(len(sound) - max(_SECONDS) * RATE))
            for seconds in _SECONDS:
                pcm = corpus.to_samples(sound[start : start + seconds * RATE]).tobytes()
                _look(f"{kind}, {seconds} s", one.name, pcm, pool, names, tally)
    kinds = sorted(kind for kind, way in tally.counts if not way)
    print(tables.markdown([_row(kind, tally) for kind in kinds]))
    print("found on another recording:", *sorted(tally.others), sep="\n  ")
    copies = sum(tally.counts[kind, ""] for kind in kinds)
    print(
        "CPU for a copy, with certainty from its samples on: "
        + ", ".join(f"{way} {1000 * cpu / copies:.1f} ms" for way, cpu in tally.spent.items())
    )
    _pitch(recordings, pool, rng)


def _recordings(folder: Path, packages: Sequence[str]) -> Iterator[Recording]:
    """All recordings that are long enough, once; and how their words and cost compare with ffmpeg's."""
    seen, equal, total, ours, theirs, seconds = set(), 0, 0, 0.0, 0.0, 0.0
    with tempfile.TemporaryDirectory() as work:
        for package in packages:
            for name, path in corpus.recordings(folder, package).items():
                samples = corpus.to_samples(corpus.decode(path).mean(1))
                if len(samples) < _LEAST_S * RATE or (key := samples[::1000].tobytes()) in seen:
                    continue
                seen.add(key)
                wavfile.write(Path(work) / "x.wav", RATE, samples)
                read: list[Words] = []
                ours += harness.cost(lambda pcm=samples, read=read: read.append(_words(pcm.tobytes()))).cpu
                done: list[Fingerprint] = []
                theirs += harness.cost(
                    lambda done=done: done.append(fingerprints.fingerprint(Path(work) / "x.wav"))
                ).cpu
                words = fingerprints.words(done[0])
                equal += int((read[0] == words).sum())
                total += len(words)
                seconds += len(samples) / RATE
                yield Recording(name, path, done[0])
    print(
        f"words equal to ffmpeg's: {equal} of {total} ({100 * equal / total:.4f} %); "
        f"{seconds / ours:,.0f} x real time, {ours / theirs:.2f} x the CPU of ffmpeg's muxer fed the same samples"
    )


def _words(pcm: bytes) -> Words:
    return chroma.read(chroma.hear([pcm])[0]).words


def _look(kind: str, name: str, pcm: bytes, pool: alignment.Pool, names: Sequence[str], tally: Tally) -> None:
    """Look for a copy in every way."""
    heard = chroma.hear([pcm], PHASES)
    first, *phases = (chroma.read(phase).words.astype("<u4").tobytes() for phase in heard)
    fp = Fingerprint(first, len(pcm) / 2 / RATE, phases=tuple(phases))
    ways: dict[str, Callable[[], Sequence[alignment.Track]]] = {
        "words, 1 phase": lambda: alignment.hearings(fp)[:1],
        "words, 4 phases": lambda: alignment.hearings(fp),
        "certainty, 4 phases": lambda: alignment.readings(fp, chroma.hear([pcm], PHASES)),
    }
    tally.counts[kind, ""] += 1
    for way, tracks in ways.items():
        found: list[tuple[int, Alignment]] = []
        tally.spent[way] += harness.cost(
            lambda tracks=tracks, found=found: found.extend(alignment.search(tracks(), pool))
        ).cpu
        hits = {names[number] for number, one in found if one.grade != "C"}
        tally.counts[kind, way] += name in hits
        tally.others += [f"{way}: {kind} of {name} on {hit}" for hit in hits - {name}]


def _row(kind: str, tally: Tally) -> dict[str, object]:
    copies = tally.counts[kind, ""]
    return {"copy": kind, "n": copies, **{way: _share(tally.counts[kind, way], copies) for way in tally.spent}}


def _share(hits: int, n: int) -> str:
    low, high = tables.wilson(hits, n)
    return f"{hits / n:.3f} ({low:.2f}-{high:.2f})"


def _pitch(recordings: Sequence[Recording], pool: alignment.Pool, rng: np.random.Generator) -> None:
    """Crops that ffmpeg's rubberband filter plays higher or lower, at the same speed."""
    filters = subprocess.run([media.find_ffmpeg().path, "-filters"], capture_output=True, text=True, check=True).stdout
    if " rubberband " not in filters:
        print("another pitch: not measured, this ffmpeg has no rubberband filter")
        return
    long = [one for one in recordings[::_EVERY_FOR_PITCH] if one.heard.duration > _PITCH_S + 1]
    played = Fingerprint(b"", _PITCH_S)
    rows = []
    for semitones in _SEMITONES:
        counts: Counter[str] = Counter()
        others = set()
        for one in long:
            heard = chroma.hear([_played(one, semitones, rng)])
            hits = {
                (rotation, recordings[number].name)
                for rotation in _ROTATIONS
                for number, _ in alignment.search(alignment.readings(played, heard, rotation), pool)
            }
            counts["as it is"] += (0, one.name) in hits
            counts["rotated"] += any(name == one.name for rotation, name in hits if rotation)
            others |= {f"{one.name} on {name}" for _, name in hits if name != one.name}
        shares = {way: _share(counts[way], len(long)) for way in ("as it is", "rotated")}
        rows.append({"semitones": semitones, "n": len(long), **shares, "others": "; ".join(sorted(others))})
    print(tables.markdown(rows))


def _played(one: Recording, semitones: float, rng: np.random.Generator) -> bytes:
    start = rng.uniform(0, one.heard.duration - _PITCH_S - 1)
    command = [
        media.find_ffmpeg().path, "-nostdin", "-v", "error", "-ss", f"{start:.6f}", "-t", str(_PITCH_S), "-i",
        str(one.path), "-af", f"rubberband=pitch={2 ** (semitones / 12)}", "-ac", "1", "-ar", str(RATE),
        "-f", "s16le", "-",
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, check=True).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else corpus.FOLDER), sys.argv[2:] or _TUNED_ON)
