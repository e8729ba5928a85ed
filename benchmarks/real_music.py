"""Accuracy on real music: one package of game music (GPL-2.0-or-later), fetched from Debian's archive.

30 tracks, each as MP3 64k, as Opus 48k and as a 20 s MP3 crop from a random sample, are matched against an index of
one half of the tracks and then of the other: every copy must be matched to its own track when that is in the index,
with an offset error under 0.15 s, and to nothing when it is not.  Silence, tones and noise must match nothing.  Then
the copies are looked for by `duplicates`.  The exit status is 1 when any of this does not hold.

What is altered (filters, echo, other music on top, another speed) is counted but not asserted; the counts by grade are
where the scores in leakscan/alignment.py come from.

Usage: python benchmarks/real_music.py [FOLDER]        default: bench-data (git ignores it); 150 MB are fetched
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakscan import alignment, hearing, matching, repeats
from leakscan.media import find_ffmpeg
from leakscan.model import Entry, Fingerprint, Reference, Report

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
import tunes

_PACKAGE = "wesnoth-1.16-music"
_TRACKS = 30
_LEAST_S = 45.0
_CROP_S = 20
_SEED = 20270101
_OFFSET_S = 0.15

# ffmpeg filters for 30 s crops from a random sample: what a copy may have gone through
_ALTERED = {
    "crop only": "anull",
    "bass +8 dB": "bass=g=8",
    "smile": "bass=g=6,treble=g=6",
    "echo": "aecho=0.8:0.7:60|110:0.5|0.3",
    "left channel": "pan=mono|c0=c0",
    "clipped": "volume=12dB",
    "low-pass 1.5 kHz": "lowpass=f=1500",
    "speed +0.5 %": "asetrate={rate}*1.005,aresample={rate}",
    "speed +1 %": "asetrate={rate}*1.01,aresample={rate}",
    "speed +2 %": "asetrate={rate}*1.02,aresample={rate}",
    "tempo +4 %": "atempo=1.04",
    "high-pass 300 Hz": "highpass=f=300",
}


@dataclass(frozen=True, slots=True)
class Copy:
    """A file made of a track; the track's start lies at `offset` seconds on its time line."""

    entry: Entry
    track: str
    offset: float


def main(folder: Path) -> int:
    tracks = _tracks(_fetch(folder))
    rng = random.Random(_SEED)
    work = folder / "copies"
    work.mkdir(exist_ok=True)
    print(f"{len(tracks)} tracks, {sum(fp.duration for _, fp in tracks.values()) / 60:.0f} minutes, seed {_SEED}")
    copies = _copies(tracks, work, rng)
    faults = [
        *_matching(tracks, copies),
        *_duplicates(tracks, copies),
        *_nothing(tracks, work),
    ]
    _altered(tracks, work, rng)
    for fault in faults:
        print(f"FAULT {fault}")
    print("holds" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


Tracks = dict[str, tuple[Entry, Fingerprint]]


def _fetch(folder: Path) -> list[Path]:
    """The package's music, unpacked below the folder."""
    music = folder / "music"
    if not music.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        if not list(folder.glob(f"{_PACKAGE}_*.deb")):
            subprocess.run(["apt-get", "download", _PACKAGE], cwd=folder, check=True)
        subprocess.run(["dpkg-deb", "-x", str(next(folder.glob(f"{_PACKAGE}_*.deb"))), str(music)], check=True)
    return sorted(music.rglob("*.ogg"))


def _tracks(files: list[Path]) -> Tracks:
    """The first 30 tracks that are long enough, by name."""
    entries = [_entry(path, path.stem) for path in files]
    start = time.perf_counter()
    heard = hearing.fingerprint_files(entries)
    seconds = sum(fp.duration for _, fp in heard if isinstance(fp, Fingerprint))
    print(f"fingerprints of {len(files)} files: {seconds / (time.perf_counter() - start):,.0f} x real time")
    long = [(entry, fp) for entry, fp in heard if isinstance(fp, Fingerprint) and fp.duration >= _LEAST_S]
    return {entry.path: (entry, fp) for entry, fp in long[:_TRACKS]}


def _entry(path: Path, name: str = "") -> Entry:
    return Entry(name or path.name, path, path.stat().st_size)


def _copies(tracks: Tracks, work: Path, rng: random.Random) -> dict[str, list[Copy]]:
    jobs: dict[str, list[tuple[Path, Path, tuple[str, ...], str, float]]] = {"mp3 64k": [], "opus 48k": [], "crop": []}
    positions = {}
    for name, (entry, fp) in tracks.items():
        positions[name] = start, rate = _position(entry.file, fp, _CROP_S, rng)
        trim = f"atrim=start_sample={start}:end_sample={start + _CROP_S * rate},asetpts=PTS-STARTPTS"
        jobs["mp3 64k"].append((entry.file, work / f"{name}.mp3", ("-b:a", "64k"), name, 0.0))
        jobs["opus 48k"].append((entry.file, work / f"{name}.opus", ("-b:a", "48k"), name, 0.0))
        crop = (entry.file, work / f"{name}.crop.mp3", ("-af", trim, "-b:a", "64k"), name, -start / rate)
        jobs["crop"].append(crop)
    (work / "positions.json").write_text(json.dumps({"seed": _SEED, "start_sample_and_rate": positions}, indent=1))
    with ThreadPoolExecutor() as pool:
        return {
            kind: list(pool.map(lambda job: Copy(_entry(tunes.encode(job[0], job[1], *job[2])), job[3], job[4]), todo))
            for kind, todo in jobs.items()
        }


def _position(path: Path, fp: Fingerprint, seconds: float, rng: random.Random) -> tuple[int, int]:
    """A random sample to start from, and the file's rate."""
    said = subprocess.run([find_ffmpeg().path, "-nostdin", "-i", str(path)], capture_output=True, text=True).stderr
    rate = int(said.split(" Hz")[0].rsplit(" ", 1)[1])
    return rng.randrange(int((fp.duration - seconds - 1) * rate)), rate


def _matching(tracks: Tracks, copies: dict[str, list[Copy]]) -> Iterator[str]:
    halves = [set(list(tracks)[half::2]) for half in (0, 1)]
    for kind, made in copies.items():
        right, strangers, errors = 0, 0, []
        for half in halves:
            references = [Reference(name, tracks[name][1]) for name in half]
            report = matching.match([copy.entry for copy in made], references)
            for copy in made:
                rows = [row for row in report.rows if row.file == copy.entry.path and row.id]
                if copy.track not in half:
                    strangers += len(rows)
                    yield from (f"{copy.entry.path}: {row.state} to the stranger {row.id}" for row in rows)
                elif [(row.id, row.state) for row in rows] != [(copy.track, "matched")]:
                    yield f"{copy.entry.path}: {[(row.id, row.state) for row in rows] or 'nothing'}"
                else:
                    right += 1
                    errors.append(abs(rows[0].offset_s - copy.offset))
                    if errors[-1] >= _OFFSET_S:
                        yield f"{copy.entry.path}: offset wrong by {errors[-1]:.3f} s"
        print(
            f"{kind:<10} {right}/{len(made)} matched to their track, {strangers} to a stranger; "
            f"offset error median {np.median(errors):.3f} s, worst {max(errors):.3f} s",
            flush=True,
        )


def _duplicates(tracks: Tracks, copies: dict[str, list[Copy]]) -> Iterator[str]:
    track_of = {copy.entry.path: copy.track for made in copies.values() for copy in made}
    track_of |= {name: name for name in tracks}
    entries = [entry for entry, _ in tracks.values()] + [copy.entry for made in copies.values() for copy in made]
    report = repeats.duplicates(entries)
    pairs = {(row.a, row.b) for row in report.rows}
    wrong = [pair for pair in pairs if track_of[pair[0]] != track_of[pair[1]]]
    yield from (f"duplicates: {a} and {b}" for a, b in wrong)
    groups: dict[int, set[str]] = {}
    for row in report.rows:
        if row.group:
            groups.setdefault(row.group, set()).update((row.a, row.b))
    whole = [members for members in groups.values() if len(members) == 1 + len(copies)]
    print(
        f"duplicates: {len(pairs)} pairs of {len(tracks) * 6}, {len(wrong)} wrong; {len(groups)} groups, "
        f"{len(whole)} of them a track with all its copies"
    )
    if len(whole) != len(tracks):
        yield f"duplicates: {len(whole)} whole groups for {len(tracks)} tracks"


def _nothing(tracks: Tracks, work: Path) -> Iterator[str]:
    time_s = np.arange(30 * tunes.RATE) / tunes.RATE
    rng = np.random.default_rng(_SEED)
    sounds = {
        "silence": 0 * time_s,
        "dither": rng.uniform(-2, 2, len(time_s)) / 32768,
        "noise": rng.normal(0, 0.1, len(time_s)),
        "tone-440": 0.5 * np.sin(2 * np.pi * 440 * time_s),
        "tone-880": 0.5 * np.sin(2 * np.pi * 880 * time_s),
        "chord": sum(0.2 * np.sin(2 * np.pi * pitch * time_s) for pitch in (220, 277.2, 329.6)),
        "metronome": (time_s % 0.5 < 0.01) * 0.5 * np.sin(2 * np.pi * 1000 * time_s),
    }
    entries = [_entry(tunes.write(work / f"{name}.wav", sound)) for name, sound in sounds.items()]
    references = [Reference(name, fp) for name, (_, fp) in tracks.items()]
    rows = [row for row in matching.match(entries, references).rows if row.file and row.id]
    repeated: Report = repeats.duplicates(entries)
    print(f"silence, tones and noise: {len(rows)} matches, {len(repeated.rows)} duplicates among themselves")
    yield from (f"{row.file}: {row.state} to {row.id}" for row in rows)
    yield from (f"{row.a} and {row.b}: {row.relation}" for row in repeated.rows)


def _altered(tracks: Tracks, work: Path, rng: random.Random) -> None:
    pool = alignment.gather([alignment.prepare(fp) for _, fp in tracks.values()])
    names = list(tracks)
    total: Counter[tuple[str, bool]] = Counter()
    print("altered 30 s crops: accepted by grade, own track / another one")
    for kind, how in _ALTERED.items():
        jobs = [
            (name, tracks[name][0].file, *_position(tracks[name][0].file, tracks[name][1], 30, rng)) for name in names
        ]
        with ThreadPoolExecutor() as threads:
            made = list(threads.map(lambda job, how=how: _alter(work, how, *job), jobs))
        counts: Counter[tuple[str, bool]] = Counter()
        for entry, fp in hearing.fingerprint_files(made):
            assert isinstance(fp, Fingerprint), fp
            for number, found in alignment.search(alignment.prepare(fp), pool):
                counts[found.grade, names[number] == entry.path] += 1
        total += counts
        cells = (f"{grade} {counts[grade, True]:2}/{counts[grade, False]}" for grade in "ABC")
        print(f"  {kind:<18}", "  ".join(cells), flush=True)
    for grade in "ABC":
        print(f"  grade {grade}: {total[grade, True]} of {total[grade, True] + total[grade, False]} right")


def _alter(work: Path, how: str, name: str, file: Path, start: int, rate: int) -> Entry:
    trim = f"atrim=start_sample={start}:end_sample={start + 30 * rate},asetpts=PTS-STARTPTS"
    out = work / f"{name}.altered.wav"
    return _entry(tunes.encode(file, out, "-af", f"{trim},{how.format(rate=rate)}"), name)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "bench-data")))
