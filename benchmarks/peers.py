"""Other tools on the same files: who finds the copies of a recording, who joins strangers, at what cost.

20 test recordings of 60 to 180 s (seeded), each as it is, as MP3 128k, as Opus 48k, as a 30 s MP3 from a random sample,
and as 30 s with +8 dB of bass that begin 5 s after those: 100 files.  Every two files of one recording are to be found,
no two others.  Tools that index references get the originals as such, and all other files as queries.

Peers are run as they come, with their own defaults: audups and audfprint2 (PyPI), audiomatch (PyPI; needs Python 3.8),
fpcalc with pyacoustid's compare_fingerprints.  What compares all pairs in Python is asked 2,000 of them (all that are
to be found, and others at random), and its cost is scaled.  `--install` makes their environments in FOLDER/peers.
ffmpeg and fpcalc must be on the PATH, and libchromaprint where the loader finds it.

Writes results/peers.csv and peers.md.

Usage: python benchmarks/peers.py [--install] [FOLDER]        default: bench-data, as benchmarks/corpus.py made it
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import corpus
import harness
import numpy as np
import tables

from leakscan import hearing, matching, media, repeats
from leakscan.model import Entry, Fingerprint, Match, Reference

_TRACKS = 20
_SAMPLED = 2000
_FPCALC_SCORE = 0.3  # where compare_fingerprints separates best on other files
_CODECS = {"mp3": ("-b:a", "128k"), "opus": ("-b:a", "48k")}
_BASS = "bass=g=8"

_ABSENT = """
Not run: audio-duplicates (npm has no such package now), dejavu (its PyPI release is Python 2), soundalike, czkawka,
Olaf, Panako and SoundFingerprinting (not in the lists of PyPI, Debian and npm; the PyPI czkawka compares images),
audiolocate (one clip and one recording a call, 36 s for 144 of them elsewhere).
"""

Pairs = set[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Task:
    """The files, by name; which recording each is of; which of them are the originals."""

    files: dict[str, Path]
    recording: dict[str, str]
    originals: tuple[str, ...]

    def pairs(self) -> Pairs:
        """What is to be found among all files."""
        return {frozenset(two) for two in itertools.combinations(self.files, 2) if self._same(*two)}

    def matches(self) -> Pairs:
        """What is to be found of queries among originals."""
        return {pair for pair in self.pairs() if any(name in self.originals for name in pair)}

    def _same(self, a: str, b: str) -> bool:
        return self.recording[a] == self.recording[b]


class Absent(Exception):
    """A peer that could not be run, and why."""


def main(arguments: Sequence[str]) -> int:
    folder = Path(next((one for one in arguments if not one.startswith("-")), corpus.FOLDER))
    if "--install" in arguments:
        _install(folder / "peers")
    task = _task(folder)
    print(f"{len(task.files)} files, {len(task.pairs())} pairs to be found", flush=True)
    lines = []
    for name, goal, run in (
        ("leakscan duplicates", task.pairs(), _duplicates),
        ("audiomatch", task.pairs(), _audiomatch),
        ("audups", task.pairs(), _audups),
        ("leakscan match", task.matches(), _match),
        ("audfprint2", task.matches(), _audfprint),
        ("fpcalc + pyacoustid compare_fingerprints", task.pairs(), _pyacoustid),
    ):
        line = _line(name, goal, task, lambda run=run: run(task, folder))
        print(line, flush=True)
        lines.append(line)
    tables.write_csv("peers", lines)
    text = f"# Peers on the same {len(task.files)} files\n\n{tables.markdown(lines)}{_ABSENT}"
    (tables.RESULTS / "peers.md").write_text(text, "utf-8")
    print(text)
    return 0


def _line(name: str, goal: Pairs, task: Task, run: Callable[[], tuple[Pairs, float]]) -> dict[str, object]:
    found: Pairs = set()
    scale, note = 1.0, ""

    def keep() -> None:
        nonlocal found, scale
        found, scale = run()

    try:
        spent = harness.cost(keep)
    except Absent as error:
        spent, note = harness.Cost(0.0, 0.0), str(error)
    by_kind = {
        kind: (sum(pair in found for pair in some), len(some))
        for kind, some in (
            ("re-encodings", _of(goal, ())),
            ("excerpts", _of(goal, (".clip",))),
            ("with bass", _of(goal, (".bass",))),
        )
    }
    return {
        "tool": name,
        "pairs": len(goal),
        "found": "" if note else len(found & goal),
        **{kind: "" if note else f"{hits} of {count}" for kind, (hits, count) in by_kind.items()},
        "wrong": "" if note else sum(len({task.recording[name] for name in pair}) > 1 for pair in found),
        "CPU s": "" if note else round(spent.cpu * scale, 1),
        "note": note or ("scaled from a sample of pairs" if scale != 1 else ""),
    }


def _of(pairs: Pairs, marks: tuple[str, ...]) -> Pairs:
    """The pairs with a file of a kind; with none of the cut ones, when there are no marks."""
    if marks:
        return {pair for pair in pairs if any(mark in name for name in pair for mark in marks)}
    return {pair for pair in pairs if not any(mark in name for name in pair for mark in (".clip", ".bass"))}


def _task(folder: Path) -> Task:
    """Make the files, as far as they are not there."""
    work = folder / "peers" / "files"
    work.mkdir(parents=True, exist_ok=True)
    paths = {name: path for package in corpus.TEST for name, path in corpus.recordings(folder, package).items()}
    related = {row[side] for row in tables.read_csv("relatives") for side in ("a", "b")}
    fitting = [track for track in corpus.tracks(folder, corpus.TEST) if 60 <= track.heard.duration <= 180]
    alone = [track for track in fitting if track.name not in related and paths[track.name].suffix == ".ogg"]
    rng = np.random.default_rng(corpus.SEED)
    files, recording = {}, {}
    originals = []
    for number in sorted(rng.permutation(len(alone))[:_TRACKS].tolist()):
        track, start = alone[number], float(rng.uniform(0, alone[number].heard.duration - 36))
        stem, source = f"{number:03}-{Path(track.name).stem}", paths[track.name]
        cuts = {f"{stem}.clip.mp3": (start, "anull"), f"{stem}.bass.mp3": (start + 5, _BASS)}
        made = {f"{stem}.ogg": [], **{f"{stem}.{suffix}": ["-i", str(source), *how] for suffix, how in _CODECS.items()}}
        for name, (begin, how) in cuts.items():
            made[name] = ["-ss", f"{begin:.5f}", "-t", "30", "-i", str(source), "-af", how, "-b:a", "192k"]
        for name, command in made.items():
            files[name], recording[name] = work / name, track.name
            if not command and not files[name].exists():
                shutil.copyfile(source, files[name])
            elif not files[name].exists():
                ffmpeg = [media.find_ffmpeg().path, "-nostdin", "-v", "fatal", "-y"]
                subprocess.run([*ffmpeg, *command, "-vn", "-map_metadata", "-1", str(files[name])], check=True)
        originals.append(f"{stem}.ogg")
    return Task(files, recording, tuple(originals))


def _entries(task: Task, names: Iterable[str]) -> list[Entry]:
    return [Entry(name, task.files[name], task.files[name].stat().st_size) for name in names]


def _duplicates(task: Task, folder: Path) -> tuple[Pairs, float]:
    rows = repeats.duplicates(_entries(task, task.files)).rows
    return {frozenset((row.a, row.b)) for row in rows if row.relation != "related"}, 1.0


def _match(task: Task, folder: Path) -> tuple[Pairs, float]:
    heard = hearing.fingerprint_files(_entries(task, task.originals))
    references = [Reference(entry.path, fp) for entry, fp in heard if isinstance(fp, Fingerprint)]
    queries = _entries(task, (name for name in task.files if name not in task.originals))
    rows = [row for row in matching.match(queries, references).rows if isinstance(row, Match)]
    # two files on one reference contradict each other, which is not what is asked here
    return {frozenset((row.file, row.id)) for row in rows if row.state in ("matched", "conflict")}, 1.0


def _audiomatch(task: Task, folder: Path) -> tuple[Pairs, float]:
    suffixes = [option for suffix in (".ogg", ".mp3", ".opus") for option in ("-e", suffix)]
    said = _run(folder, "python3.8", "audiomatch", [*map(str, task.files.values()), *suffixes])
    groups = [{Path(line.strip()).name for line in part.splitlines()} & set(task.files) for part in said.split("\n\n")]
    return {frozenset(two) for group in groups for two in itertools.combinations(sorted(group), 2)}, 1.0


def _audups(task: Task, folder: Path) -> tuple[Pairs, float]:
    # it asks the terminal behind stderr for its width
    tool = _tool(folder, "python", "audups")
    command = " ".join([str(tool), str(folder / "peers" / "files"), ">", str(folder / "peers" / "said")])
    with tempfile.TemporaryDirectory() as home:  # it keeps a cache
        alone = {**os.environ, "HOME": home}
        subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, check=True, env=alone)
    lines = (folder / "peers" / "said").read_text().splitlines()
    told = [json.loads(line) for line in lines if line.startswith("{")]
    return {frozenset(Path(one[side]).name for side in ("a", "b")) for one in told}, 1.0


def _pyacoustid(task: Task, folder: Path) -> tuple[Pairs, float]:
    import acoustid

    if shutil.which("fpcalc") is None:
        raise Absent("fpcalc is not on the PATH")
    printed = {}
    for name, path in task.files.items():
        said = subprocess.run(["fpcalc", "-json", str(path)], capture_output=True, text=True).stdout
        one = json.loads(said)  # its status is 3 on files that it reads to the end (Debian 12)
        printed[name] = one["duration"], one["fingerprint"].encode()
    everything = [frozenset(two) for two in itertools.combinations(task.files, 2)]
    goal = task.pairs()
    others = [pair for pair in everything if pair not in goal]
    rng = np.random.default_rng(corpus.SEED)
    chosen = [others[number] for number in rng.permutation(len(others))[: max(0, _SAMPLED - len(goal))]]
    found = set()
    for pair in [*goal, *chosen]:
        a, b = pair
        if acoustid.compare_fingerprints(printed[a], printed[b]) >= _FPCALC_SCORE:
            found.add(pair)
    return found, len(everything) / (len(goal) + len(chosen))


def _audfprint(task: Task, folder: Path) -> tuple[Pairs, float]:
    base = folder / "peers" / "audfprint.pklz"
    base.unlink(missing_ok=True)
    _run(folder, "python", "audfprint", ["-d", str(base), "new", *(str(task.files[name]) for name in task.originals)])
    queries = [str(path) for name, path in task.files.items() if name not in task.originals]
    said = _run(folder, "python", "audfprint", ["-v", "-d", str(base), "match", *queries])
    found = set()
    for line in said.splitlines():
        names = [Path(word).name for word in line.split() if Path(word).name in task.files]
        if ":Matched" in line and len(names) == 2:
            found.add(frozenset(names))
    return found, 1.0


def _install(folder: Path) -> None:
    for python, packages in (("python3", ("audups", "audfprint2")), ("python3.8", ("audiomatch",))):
        where = folder / ("python" if python == "python3" else python)
        if shutil.which(python) is not None and not where.is_dir():
            subprocess.run([python, "-m", "venv", str(where)], check=True)
            subprocess.run([str(where / "bin" / "pip"), "install", "--quiet", *packages], check=True)


def _tool(folder: Path, python: str, tool: str) -> Path:
    path = folder / "peers" / python / "bin" / tool
    if not path.is_file():
        raise Absent(f"not installed; --install needs {python} on the PATH")
    return path.absolute()


def _run(folder: Path, python: str, tool: str, options: Sequence[str]) -> str:
    done = subprocess.run([str(_tool(folder, python, tool)), *options], capture_output=True, text=True)
    if done.returncode:
        raise Absent(f"ends with status {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout + done.stderr  # audfprint2 says what it found in its log


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
