"""What matching costs beside extraction: 5,000 files against 500 references, on real music.

References are stretches of 60 s of the test recordings; files are crops of 10 to 30 s of the same recordings, as Opus
or MP3.  The files are heard at four phases with an empty cache, as `leakscan match` hears them, then matched; both are
counted in seconds of the processors, in the same run.  Which crops, which codec and which stretches is seeded.

Writes results/load.csv.  Usage: python benchmarks/load.py [--files N] [--references N] [FOLDER]
Folder: bench-data by default, as benchmarks/corpus.py made it (its stage "signals" is enough).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import corpus
import numpy as np
import tables
from corpus import Track
from harness import cost

from leakscan import fingerprints, hearing, matching, media, store
from leakscan.model import Entry, Fingerprint, Match, Reference

_MOST = 0.2  # of what extraction costs
_STRETCH_S = 60.0
_HOP_S = 40.0  # from stretch to stretch: they overlap, else there are too few
_CROPS_S = (10.0, 30.0)
_KINDS = ("opus-48", "mp3-64")


def main(folder: Path, files: int, references: int) -> int:
    tracks = [track for track in corpus.tracks(folder, corpus.TEST) if track.heard.duration >= _STRETCH_S]
    rng = np.random.default_rng(corpus.SEED)
    stretches = [stretch for track in tracks for stretch in _stretches(track)]
    chosen = sorted(rng.choice(len(stretches), min(references, len(stretches)), replace=False).tolist())
    index = [stretches[number] for number in chosen]
    with tempfile.TemporaryDirectory() as work:
        entries = _crops(folder, tracks, files, Path(work), rng)
        print(f"{len(entries):,} files, {len(index):,} references; {media.find_ffmpeg().library}", flush=True)
        heard = []
        rows: Sequence[object] = ()

        def extract() -> None:
            with store.opened(str(Path(work) / "store")) as memory:
                heard.extend(hearing.fingerprint_files(entries, memory, phases=4))

        def match() -> None:
            nonlocal rows
            rows = matching.match_heard(heard, index).rows

        extraction, compared = cost(extract).cpu, cost(match).cpu
    claims = [row for row in rows if isinstance(row, Match) and row.file and row.id]
    known = {frozenset((corpus.flat(row["a"]), corpus.flat(row["b"]))) for row in tables.read_csv("relatives")}
    known |= {frozenset((corpus.flat(track.name),)) for track in tracks}
    line = {
        "files": len(entries),
        "references": len(index),
        "audio h": round(sum(fp.duration for _, fp in heard if isinstance(fp, Fingerprint)) / 3600, 2),
        "extraction CPU s": round(extraction, 2),
        "matching CPU s": round(compared, 2),
        "matching / extraction": round(compared / extraction, 4),
        "files with a row": len({row.file for row in claims}),
        "unreadable": sum(not isinstance(fp, Fingerprint) for _, fp in heard),
        "rows of a stranger": sum(_recordings(row) not in known for row in claims),
    }
    tables.write_csv("load", [line])
    print("\n".join(f"{name}: {value}" for name, value in line.items()))
    return int(compared > _MOST * extraction)


def _stretches(track: Track) -> list[Reference]:
    """The stretches of a recording, as they are heard from a whole word on."""
    size = round((_STRETCH_S - fingerprints.WINDOW_S) / fingerprints.STEP_S) + 1
    starts = range(0, len(track.heard) - size + 1, round(_HOP_S / fingerprints.STEP_S))
    array = fingerprints.words(track.heard)
    return [
        Reference(
            f"{corpus.flat(track.name)}@{start}",
            replace(track.heard, words=array[start : start + size].tobytes(), duration=_STRETCH_S, phases=()),
        )
        for start in starts
    ]


def _crops(folder: Path, tracks: Sequence[Track], count: int, work: Path, rng: np.random.Generator) -> list[Entry]:
    """So many crops, about as many of each recording, all of one recording by one ffmpeg."""
    paths = {name: path for package in corpus.TEST for name, path in corpus.files(folder, package).items()}
    made: list[Path] = []
    for number, track in enumerate(tracks):
        sources, sinks = [media.find_ffmpeg().path, "-nostdin", "-v", "fatal"], []
        first, due = len(made), count * (number + 1) // len(tracks)
        for at in range(due - first):
            seconds = float(rng.uniform(*_CROPS_S))
            start = float(rng.uniform(0, track.heard.duration - seconds))
            suffix, *how = corpus.CODECS[_KINDS[len(made) % len(_KINDS)]]
            made.append(work / f"{corpus.flat(track.name)}@{len(made)}{suffix}")
            sources += ["-ss", f"{start:.4f}", "-t", f"{seconds:.4f}", "-i", str(paths[track.name])]
            sinks += ["-map", f"{at}:a:0", *how, "-threads", "1", str(made[-1])]
        if sinks:
            subprocess.run([*sources, *sinks], check=True)
    return [Entry(path.name, path, path.stat().st_size) for path in made]


def _recordings(row: Match) -> frozenset[str]:
    """Those that a file and a reference are of."""
    return frozenset(name.rpartition("@")[0] for name in (row.file, row.id))


if __name__ == "__main__":
    asked = argparse.ArgumentParser()
    asked.add_argument("folder", nargs="?", type=Path, default=corpus.FOLDER)
    asked.add_argument("--files", type=int, default=5000)
    asked.add_argument("--references", type=int, default=500)
    given = asked.parse_args()
    sys.exit(main(given.folder, given.files, given.references))
