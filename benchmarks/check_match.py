"""A few minutes of matching on real music, for CI: copies of 30 recordings of one Debian package must all be matched,
and its other recordings to nothing.

The package is fetched (apt-get download, 160 MB); any ffmpeg that leakscan finds will do.  Where the package cannot be
fetched, that is said and nothing is checked.  Usage: python benchmarks/check_match.py [FOLDER]     default: bench-data
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import corpus
import match
import numpy as np
import tables
from corpus import Copy
from scipy.io import wavfile

from leakscan import hearing, matching, media
from leakscan.model import Entry, Fingerprint, Match, Reference

_PACKAGE = "supertux-data"
_RECORDINGS = 30
_ENCODED = ("mp3-64", "opus-48")
_ENCODED_S = 60.0
_CROP_S = 20.0
_NOISE_DB = 20
_UNHEARD = Fingerprint(b"", 0.0)


def main(folder: Path) -> int:
    try:
        about = corpus.fetch(folder, _PACKAGE)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: {_PACKAGE} cannot be fetched by apt-get download ({error}); nothing was checked")
        return 0
    print(f"{_PACKAGE} {about['version']}; {media.find_ffmpeg().library}", flush=True)
    relatives = {frozenset((row["a"], row["b"])) for row in tables.read_csv("relatives")}
    sources = {name: path for name, path in corpus.recordings(folder, _PACKAGE).items() if corpus.is_music(name)}
    long = [name for name, path in sources.items() if corpus.length_of(path) > _ENCODED_S]
    chosen = {name: sources[name] for name in long[:_RECORDINGS]}
    others = {name: path for name, path in sources.items() if name not in chosen and not _related(name, relatives)}
    references = [Reference(name, fp) for name, fp in _heard(chosen, 1)]
    strangers = [(Entry(name, Path(name), 0), fp) for name, fp in _heard(others, 4)]
    claims = [row for row in matching.match_heard(strangers, references).rows if _claims(row)]
    with tempfile.TemporaryDirectory() as work:
        copies = list(_copies(chosen, Path(work)))
    ended = {
        kind: list(match.matched([copy for copy in copies if copy.kind == kind], references, relatives))
        for kind in dict.fromkeys(copy.kind for copy in copies)
    }
    print(tables.markdown([match.line(kind, outcomes) for kind, outcomes in ended.items()]))
    wrong = [
        f"{one.copy.kind} of {one.copy.track}"
        for outcomes in ended.values()
        for one in outcomes
        if not one.own or one.strangers
    ]
    wrong += [f"{row.file} is said to be {row.id}" for row in claims]
    if len(references) < _RECORDINGS or len(copies) < 4 * _RECORDINGS or len(strangers) < len(others):
        wrong.append("fewer recordings, copies or strangers were heard than there are")
    print(f"{len(strangers)} strangers, {len(claims)} matched to anything")
    print("\n".join(wrong) or "all copies were matched, and no stranger")
    return int(bool(wrong))


def _related(name: str, relatives: set[match.Pair]) -> bool:
    return any(name in pair for pair in relatives)


def _claims(row: object) -> bool:
    return isinstance(row, Match) and bool(row.file and row.id)


def _heard(files: dict[str, Path], phases: int) -> list[tuple[str, Fingerprint]]:
    """The fingerprints of files by name; all can be read."""
    entries = [Entry(name, path, path.stat().st_size) for name, path in files.items()]
    heard = hearing.fingerprint_files(entries, phases=phases)
    return [(entry.path, fp) for entry, fp in heard if isinstance(fp, Fingerprint)]


def _copies(sources: dict[str, Path], work: Path) -> Iterator[Copy]:
    """A copy of every kind of each recording, as it is heard."""
    rng = np.random.default_rng(corpus.SEED)
    made: dict[str, Copy] = {}
    for number, (name, path) in enumerate(sources.items()):
        mono = corpus.decode(path).mean(1)
        duration = len(mono) / corpus.RATE
        crop, noise = (int(rng.integers(int((duration - _CROP_S) * corpus.RATE))) for _ in range(2))
        size = int(_CROP_S * corpus.RATE)
        noisy = corpus.noisy(mono[noise : noise + size], corpus.level_of(mono), _NOISE_DB, rng)
        sounds: Sequence[tuple[str, int, corpus.Samples]] = (
            ("crop-20", crop, corpus.to_samples(mono[crop : crop + size])),
            ("noise-20", noise, noisy),
        )
        for kind, start, samples in sounds:
            wav = work / f"{number}-{kind}.wav"
            wavfile.write(wav, corpus.RATE, samples)
            made[str(wav)] = Copy(kind, name, -start / corpus.RATE, _CROP_S, _UNHEARD)
        for kind in _ENCODED:
            suffix, *how = corpus.CODECS[kind]
            begin = round(float(rng.uniform(0, duration - _ENCODED_S)), 4)
            out = work / f"{number}-{kind}{suffix}"
            cut = ["-ss", str(begin), "-t", str(_ENCODED_S), "-i", str(path), "-map", "0:a:0"]
            command = [media.find_ffmpeg().path, "-nostdin", "-v", "fatal", *cut, *how, "-threads", "1", str(out)]
            subprocess.run(command, check=True)
            made[str(out)] = Copy(kind, name, -begin, _ENCODED_S, _UNHEARD)
    for file, fp in _heard({file: Path(file) for file in made}, 4):
        yield replace(made[file], fingerprint=fp)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else corpus.FOLDER))
