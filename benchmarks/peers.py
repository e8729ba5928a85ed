"""Other tools on the same files: who finds the copies of a recording, who joins strangers, at what cost.

Stretches of 60 to 90 s of 100 test recordings (seeded), and of each stretch nine copies: MP3 128k, Opus 48k, an MP3
that begins later, echo, one channel; excerpts of 30 s, of 10 s and of 30 s with +8 dB of bass; and 20 s inside another
recording that is no task by itself.  That is 1,000 files.  To be found are the copies of every original; a wrong pair
is one of files that hold no recording in common.  Tools that index references get the originals as such, and all other
files as queries.

Peers are run as they come, with their own defaults: audups and audfprint2 (PyPI), audiomatch (PyPI; needs Python 3.8),
fpcalc with pyacoustid's compare_fingerprints.  That takes a tenth of a second for a pair: it is asked 2,000 of them
(all that are to be found, and others at random), and the cost is scaled.  audiomatch takes 7 ms for a pair: it is given
5 and 15 of the recordings with their copies, and what a file and what a pair takes there is scaled to all.  `--install`
makes the environments of all in FOLDER/peers.
ffmpeg and fpcalc must be on the PATH, and libchromaprint where the loader finds it.

Writes results/peers.csv and peers.md.

Usage: python benchmarks/peers.py [--install] [FOLDER] [TOOL ...]      default: bench-data, as benchmarks/corpus.py
made it, and all tools; with TOOLs only theirs, and the lines of the others stay
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import corpus
import harness
import numpy as np
import tables

from leakscan import hearing, matching, media, repeats
from leakscan.model import Entry, Fingerprint, Match, Reference

_TRACKS = 100
_LENGTHS = (60.0, 90.0)
_SPARE_S = 2.0  # what the length of a file as its head says may be wrong by
_SAMPLED = 2000  # pairs
_SAMPLES = (5, 15)  # recordings
_FPCALC_SCORE = 0.3  # where compare_fingerprints separates best on other files
_VORBIS, _MP3, _OPUS = (corpus.CODECS[name][1:] for name in ("vorbis-q3", "mp3-128", "opus-48"))
_PIECE_S, _HOST_S = 20.0, 40.0
_WHOLE = {  # suffix, encoder, filter of the copies in full length
    "mp3": ("mp3", _MP3, "anull"),
    "opus": ("opus", _OPUS, "anull"),
    "echo": ("mp3", _MP3, "aecho=0.8:0.7:60|110:0.5|0.3"),
    "one-channel": ("mp3", _MP3, "pan=mono|c0=c0"),
}
_CUTS = {"clip": (30.0, "anull"), "bass": (30.0, "bass=g=8"), "short": (10.0, "anull")}  # seconds, filter
_KINDS = (*_WHOLE, "later", *_CUTS, "embedded")

_ABSENT = """
Of each kind there are 100 copies.  Not run: audio-duplicates (npm has no such package now), dejavu (its PyPI release is
Python 2), soundalike, czkawka, Olaf, Panako and SoundFingerprinting (not in the lists of PyPI, Debian and npm; the PyPI
czkawka compares images), audiolocate (one clip and one recording a call, 36 s for 144 of them elsewhere).
"""

Pairs = set[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Task:
    """The files, by name; which recordings each holds; which of them are the originals; their copies by kind."""

    files: dict[str, Path]
    holds: dict[str, frozenset[str]]
    originals: tuple[str, ...]
    copies: dict[str, Pairs]

    def goal(self) -> Pairs:
        """What is to be found."""
        return set().union(*self.copies.values())

    def is_wrong(self, pair: frozenset[str]) -> bool:
        """Whether two files hold nothing in common."""
        a, b = pair
        return not self.holds[a] & self.holds[b]


@dataclass(frozen=True, slots=True)
class Found:
    """The pairs that a tool reports, and those that are to be found of what it was given; what all would have cost, as
    a multiple of what was spent, and what that was told from."""

    pairs: Pairs
    goal: Pairs
    scale: float = 1.0
    note: str = ""


class Absent(Exception):
    """A peer that could not be run, and why."""


def main(arguments: Sequence[str]) -> int:
    named = [one for one in arguments if not one.startswith("-")]
    folder = Path(named[0] if named else corpus.FOLDER)
    if "--install" in arguments:
        _install(folder / "peers")
    task = _task(folder)
    print(f"{len(task.files)} files, {len(task.goal())} pairs to be found", flush=True)
    known = {line["tool"]: line for line in tables.read_csv("peers")}
    lines: list[tables.Row] = []
    for name, run in (
        ("leakscan duplicates", _duplicates),
        ("audiomatch", _audiomatch),
        ("audups", _audups),
        ("leakscan match", _match),
        ("audfprint2", _audfprint),
        ("fpcalc + pyacoustid compare_fingerprints", _pyacoustid),
    ):
        chosen = not named[1:] or name in named[1:]
        line = _line(name, task, lambda run=run: run(task, folder)) if chosen else known.get(name)
        print(line, flush=True)
        lines += [line] if line is not None else []
    tables.write_csv("peers", lines)
    text = f"# Peers on the same {len(task.files)} files\n\n{tables.markdown(lines)}{_ABSENT}"
    (tables.RESULTS / "peers.md").write_text(text, "utf-8")
    print(text)
    return 0


def _line(name: str, task: Task, run: Callable[[], Found]) -> dict[str, object]:
    done: list[Found] = []
    try:
        spent = harness.cost(lambda: done.append(run()))
    except Absent as error:
        return {"tool": name, **dict.fromkeys(("found", *task.copies, "wrong", "CPU s"), ""), "note": str(error)}
    (found,) = done

    def hits(pairs: Pairs) -> str:
        return f"{len(found.pairs & found.goal & pairs)} of {len(found.goal & pairs)}"

    return {
        "tool": name,
        "found": hits(found.goal),
        **{kind: hits(pairs) for kind, pairs in task.copies.items()},
        "wrong": sum(map(task.is_wrong, found.pairs)),
        "CPU s": round(spent.cpu * found.scale, 1),
        "note": found.note,
    }


# --- the files -------------------------------------------------------------------------------------------------------


def _task(folder: Path) -> Task:
    """Make the files, as far as they are not there."""
    work = folder / "peers" / "files"
    work.mkdir(parents=True, exist_ok=True)
    related = {row[side] for row in tables.read_csv("relatives") for side in ("a", "b")}
    sources = {
        name: path
        for package in corpus.TEST
        for name, path in corpus.files(folder, package).items()
        if name not in related and corpus.length_of(path) >= _LENGTHS[0] + _SPARE_S
    }
    rng = np.random.default_rng(corpus.SEED)
    names = sorted(sources)
    order = [names[number] for number in rng.permutation(len(names)).tolist()]
    chosen, hosts = sorted(order[:_TRACKS]), order[_TRACKS:]
    files: dict[str, Path] = {}
    holds: dict[str, frozenset[str]] = {}
    copies: dict[str, Pairs] = {kind: set() for kind in _KINDS}
    originals = []
    for number, name in enumerate(chosen):
        host = hosts[number % len(hosts)]
        stem = work / f"{number:03}-{Path(name).stem}"
        for kind, file, command in _commands(stem, sources[name], sources[host], rng):
            if not file.exists():
                _encode(command, file)
            files[file.name] = file
            holds[file.name] = frozenset((name, host) if kind == "embedded" else (name,))
            if kind == "original":
                originals.append(file.name)
            else:
                copies[kind].add(frozenset((originals[-1], file.name)))
    return Task(files, holds, tuple(originals), copies)


def _commands(stem: Path, source: Path, host: Path, rng: np.random.Generator) -> Iterator[tuple[str, Path, list[str]]]:
    """Kind, file and ffmpeg's options of a stretch of a recording, then of its copies."""
    length = min(float(rng.uniform(*_LENGTHS)), corpus.length_of(source) - _SPARE_S)
    start = float(rng.uniform(0, corpus.length_of(source) - _SPARE_S - length))

    def cut(begin: float, seconds: float, path: Path = source) -> list[str]:
        return ["-ss", f"{begin:.5f}", "-t", f"{seconds:.5f}", "-i", str(path)]

    def within(seconds: float) -> float:
        return start + float(rng.uniform(0, length - seconds))

    yield "original", Path(f"{stem}.original.ogg"), [*cut(start, length), *_VORBIS]
    for kind, (suffix, how, changed) in _WHOLE.items():
        yield kind, Path(f"{stem}.{kind}.{suffix}"), [*cut(start, length), "-af", changed, *how]
    lead = float(rng.uniform(1, 8))
    yield "later", Path(f"{stem}.later.mp3"), [*cut(start + lead, length - lead), *_MP3]
    for kind, (seconds, changed) in _CUTS.items():
        yield kind, Path(f"{stem}.{kind}.mp3"), [*cut(within(seconds), seconds), "-af", changed, *_MP3]
    around = float(rng.uniform(0, corpus.length_of(host) - _SPARE_S - _HOST_S))
    before = float(rng.uniform(1, _HOST_S - 1))
    parts = [
        *cut(around, before, host), *cut(within(_PIECE_S), _PIECE_S), *cut(around + before, _HOST_S - before, host)
    ]  # fmt: skip
    alike = ";".join(f"[{at}:a:0]aformat=sample_rates=44100:channel_layouts=stereo[p{at}]" for at in range(3))
    joined = f"{alike};[p0][p1][p2]concat=n=3:v=0:a=1"
    yield "embedded", Path(f"{stem}.embedded.mp3"), [*parts, "-filter_complex", joined, *_MP3]


def _encode(command: Sequence[str], file: Path) -> None:
    part = file.with_name(f"part-{file.name}")
    ffmpeg = [media.find_ffmpeg().path, "-nostdin", "-v", "fatal", "-y"]
    subprocess.run([*ffmpeg, *command, "-vn", "-threads", "1", "-map_metadata", "-1", str(part)], check=True)
    part.replace(file)


def _entries(task: Task, names: Iterable[str]) -> list[Entry]:
    return [Entry(name, task.files[name], task.files[name].stat().st_size) for name in names]


# --- the tools -------------------------------------------------------------------------------------------------------


def _duplicates(task: Task, folder: Path) -> Found:
    rows = repeats.duplicates(_entries(task, task.files)).rows
    return Found({frozenset((row.a, row.b)) for row in rows if row.relation != "related"}, task.goal())


def _match(task: Task, folder: Path) -> Found:
    heard = hearing.fingerprint_files(_entries(task, task.originals))
    references = [Reference(entry.path, fp) for entry, fp in heard if isinstance(fp, Fingerprint)]
    queries = _entries(task, (name for name in task.files if name not in task.originals))
    rows = [row for row in matching.match(queries, references).rows if isinstance(row, Match)]
    # two files on one reference contradict each other, which is not what is asked here
    return Found({frozenset((row.file, row.id)) for row in rows if row.state in ("matched", "conflict")}, task.goal())


def _audiomatch(task: Task, folder: Path) -> Found:
    """A run over n files takes n times what a file takes, and n (n - 1) / 2 times what a pair takes."""
    grouped: list[Pairs] = []
    samples = [{name for name in task.files if int(name[:3]) < count} for count in _SAMPLES]
    spent = [harness.cost(lambda some=some: grouped.append(_grouped(task, folder, some))).cpu for some in samples]
    sizes = np.array([(len(some), math.comb(len(some), 2)) for some in samples])
    each, pair = np.linalg.solve(sizes, spent).tolist()
    everything = each * len(task.files) + pair * math.comb(len(task.files), 2)
    goal = {pair for pair in task.goal() if pair <= samples[-1]}
    note = f"scaled from runs over {len(samples[0])} and {len(samples[1])} files"
    return Found(grouped[-1], goal, everything / sum(spent), note)


def _grouped(task: Task, folder: Path, names: set[str]) -> Pairs:
    suffixes = [option for suffix in (".ogg", ".mp3", ".opus") for option in ("-e", suffix)]
    said = _run(folder, "python3.8", "audiomatch", [*(str(task.files[name]) for name in sorted(names)), *suffixes])
    groups = [{Path(line.strip()).name for line in part.splitlines()} & names for part in said.split("\n\n")]
    return {frozenset(two) for group in groups for two in itertools.combinations(sorted(group), 2)}


def _audups(task: Task, folder: Path) -> Found:
    # it asks the terminal behind stderr for its width
    tool = _tool(folder, "python", "audups")
    command = " ".join([str(tool), str(folder / "peers" / "files"), ">", str(folder / "peers" / "said")])
    with tempfile.TemporaryDirectory() as home:  # it keeps a cache
        alone = {**os.environ, "HOME": home}
        subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, check=True, env=alone)
    lines = (folder / "peers" / "said").read_text().splitlines()
    told = [json.loads(line) for line in lines if line.startswith("{")]
    return Found({frozenset(Path(one[side]).name for side in ("a", "b")) for one in told}, task.goal())


def _pyacoustid(task: Task, folder: Path) -> Found:
    import acoustid

    if shutil.which("fpcalc") is None:
        raise Absent("fpcalc is not on the PATH")
    printed = {}

    def listen() -> None:
        for name, path in task.files.items():
            said = subprocess.run(["fpcalc", "-json", str(path)], capture_output=True, text=True).stdout
            one = json.loads(said)  # its status is 3 on files that it reads to the end (Debian 12)
            printed[name] = one["duration"], one["fingerprint"].encode()

    listening = harness.cost(listen).cpu
    everything = [frozenset(two) for two in itertools.combinations(task.files, 2)]
    goal = task.goal()
    others = [pair for pair in everything if pair not in goal]
    rng = np.random.default_rng(corpus.SEED)
    chosen = [others[number] for number in rng.permutation(len(others))[: max(0, _SAMPLED - len(goal))]]
    found: Pairs = set()

    def compare() -> None:
        for pair in [*goal, *chosen]:
            a, b = pair
            if acoustid.compare_fingerprints(printed[a], printed[b]) >= _FPCALC_SCORE:
                found.add(pair)

    comparing = harness.cost(compare).cpu
    all_pairs = comparing * len(everything) / (len(goal) + len(chosen))
    note = f"comparing is scaled from {len(goal) + len(chosen)} pairs"
    return Found(found, goal, (listening + all_pairs) / (listening + comparing), note)


def _audfprint(task: Task, folder: Path) -> Found:
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
    return Found(found, task.goal())


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
