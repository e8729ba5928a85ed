"""What fingerprints cost, against ffmpeg that only decodes (the floor) and against fpcalc where it is installed.

Files of some minutes with one phase and with four, alone and as many in a process as commands hear together; clips
likewise; and two cores against one.

Usage: python benchmarks/extraction.py [AUDIO...]     without files: synthetic music in six encodings

The ffmpeg is the one that leakscan uses (set LEAKSCAN_FFMPEG to measure another), fpcalc the one on the PATH.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from harness import Cost, alternate, cost, ratios

from leakscan import extraction, hearing, media
from leakscan.extraction import Wish
from leakscan.model import Entry

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
import tunes

_SECONDS = 240
_CODECS = {
    "wav": (), "flac": (), "ogg": ("-c:a", "libvorbis"), "opus": ("-b:a", "96k"), "mp3": ("-b:a", "128k"),
    "m4a": ("-c:a", "aac", "-b:a", "128k"),
}  # fmt: skip
_CLIPS = 64
_CLIP_SECONDS = 10
_ROUNDS = 8
_SPEEDS = tuple(round(0.94 + 0.005 * step, 3) for step in range(25))

Runs = dict[str, Callable[[], object]]


def main(files: list[Path]) -> None:
    print(f"{media.find_ffmpeg().library} ({media.find_ffmpeg().source}); fpcalc: {shutil.which('fpcalc')}")
    with tempfile.TemporaryDirectory() as folder:
        files = files or _synthetic(Path(folder))
        _compare_files(files)
        _compare_together("all files", files)
        clips = _clips(Path(folder))
        _compare_together(f"{_CLIPS} clips of {_CLIP_SECONDS} s", clips)
        _compare_cores(clips)


def _synthetic(folder: Path) -> list[Path]:
    left, right = (tunes.write(folder / f"{side}.wav", tunes.music(side, _SECONDS, 44100), 44100) for side in range(2))
    mix = ("-i", str(right), "-filter_complex", "[0][1]amerge,pan=stereo|c0=.8*c0+.2*c1|c1=.8*c0-.2*c1")
    return [tunes.encode(left, folder / f"{_SECONDS}s.{suffix}", *mix, *how) for suffix, how in _CODECS.items()]


def _clips(folder: Path) -> list[Path]:
    source = tunes.write(folder / "clips.wav", tunes.music(3, _CLIPS + _CLIP_SECONDS, 44100), 44100)
    cut = ("-t", str(_CLIP_SECONDS), "-ac", "2", "-b:a", "128k")
    return [tunes.encode(source, folder / f"{number}.mp3", "-ss", str(number), *cut) for number in range(_CLIPS)]


def _compare_files(files: list[Path]) -> None:
    total: dict[str, float] = {}
    for path in files:
        costs = alternate(_runs(path))
        _print(f"{path.name}: one phase", costs, "ours", without=("four phases", "25 speeds"))
        _print(f"{path.name}: four phases", costs, "four phases", without=("ours", "25 speeds"))
        for name, spent in costs.items():
            total[name] = total.get(name, 0.0) + spent.cpu
    print("all files, CPU: " + ", ".join(f"{name} {spent:.2f} s" for name, spent in total.items()))
    if "fpcalc" in total:
        shares = {name: total[name] / total["fpcalc"] for name in ("ours", "four phases", "25 speeds")}
        print("  times fpcalc's: " + ", ".join(f"{name} {share:.2f}" for name, share in shares.items()), flush=True)


def _runs(path: Path) -> Runs:
    runs: Runs = {
        "ours": lambda: _extract([path], Wish()),
        "four phases": lambda: _extract([path], Wish(phases=4)),
        "25 speeds": lambda: _extract([path], Wish(speeds=_SPEEDS)),
        "floor: ffmpeg decodes": lambda: _decode(path),
    }
    return runs | ({"fpcalc": lambda: _fpcalc(path)} if shutil.which("fpcalc") else {})


def _compare_together(title: str, files: list[Path]) -> None:
    """As many in a process as commands hear together, against a process each."""
    batches = [
        [files[number] for number in batch]
        for batch in hearing._batches([Entry(file.name, file, file.stat().st_size) for file in files])
    ]
    runs: Runs = {
        "together": lambda: [_extract(batch, Wish()) for batch in batches],
        "together, 4 phases": lambda: [_extract(batch, Wish(phases=4)) for batch in batches],
        "ours, a process each": lambda: [_extract([file], Wish()) for file in files],
    }
    if shutil.which("fpcalc"):
        runs["fpcalc each"] = lambda: [_fpcalc(file) for file in files]
    costs = alternate(runs, rounds=3)
    _print(f"{title}, one phase", costs, "together", without=("together, 4 phases",))
    _print("the same, four phases", costs, "together, 4 phases", without=("together",))


def _compare_cores(clips: list[Path]) -> None:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("one core only: nothing to compare")
        return
    files = [Entry(clip.name, clip, clip.stat().st_size) for clip in clips]
    hearing.fingerprint_files(files)
    gains = []
    for _ in range(_ROUNDS):
        spent = []
        for count in (1, 2):
            os.sched_setaffinity(0, cores[:count])
            spent.append(cost(lambda: hearing.fingerprint_files(files)).wall)
        gains.append(spent[0] / spent[1])
    os.sched_setaffinity(0, cores)
    print(
        f"two cores are {statistics.median(gains):.2f} times as fast as one, from {min(gains):.2f} to {max(gains):.2f}"
        f" in {_ROUNDS} rounds (time of the clock; needs an idle machine)"
    )


def _print(title: str, costs: Mapping[str, Cost], ours: str, without: tuple[str, ...]) -> None:
    print(title)
    print(ratios({name: one for name, one in costs.items() if name not in without}, ours), flush=True)


def _extract(files: list[Path], wish: Wish) -> None:
    for found in extraction.extract([(path, path.name) for path in files], wish):
        if isinstance(found, Exception):
            raise found


def _decode(path: Path) -> None:
    command = [media.find_ffmpeg().path, "-nostdin", "-loglevel", "error", "-threads", "1", "-i", str(path)]
    subprocess.run([*command, "-f", "null", "-"], check=True, stdin=subprocess.DEVNULL, capture_output=True)


def _fpcalc(path: Path) -> None:
    command = ["fpcalc", "-raw", "-length", "0", "-ignore-errors", str(path)]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)  # 1.5.1 exits with 3 at any end


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
