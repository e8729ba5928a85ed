"""What `clean` spends on an audio file that it strips, in one process that lives on: against 3 x `cp` and one read.

All of it is counted: the account of the source, the copy written and proved, three digests.  `cp SRC DST` is the
command, so that the start of a process is part of the bound; the read is one of the whole file in this process.
With `--parts`, a profile of the functions that take longest follows each container.

Usage: python benchmarks/strip_file.py [--parts] [FILES [CONTAINER ...]], such as 500 flac.flac opus.opus
"""

from __future__ import annotations

import cProfile
import functools
import pstats
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from harness import Cost, alternate, ratios

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "fixtures")]

import places  # noqa: E402 - fixtures/ lies beside the packages
import synth  # noqa: E402

from leakscan import stripping  # noqa: E402
from leakscan.discover import members  # noqa: E402
from leakscan.media import find_ffmpeg  # noqa: E402
from leakscan.model import Entry  # noqa: E402

NOISE = ("-af", "pan=stereo|c0=c0|c1=c0,aeval=val(0)+0.2*random(0)|val(1)+0.2*random(1):c=same", "-ar")
"""Music of two channels with as much noise as a recording has, so that FLAC files are of a usual size."""

MADE: dict[str, tuple[str, float, tuple[str, ...]]] = {
    "flac.flac": ("flac", 280, ("-sample_fmt", "s16")),
    "vorbis.ogg": ("ogg", 185, ("-c:a", "libvorbis", "-q:a", "8")),
    "opus.opus": ("ogg", 185, ("-c:a", "libopus", "-b:a", "160k")),
    "aac.m4a": ("mp4", 185, ("-c:a", "aac", "-b:a", "176k")),
    "vorbis.mka": ("matroska", 185, ("-c:a", "libvorbis", "-q:a", "8")),
    "music.wma": ("asf", 185, ("-c:a", "wmav2", "-b:a", "128k")),
    "pcm.wav": ("riff", 85, ()),
    "pcm.aiff": ("aiff", 85, ()),
    "pcm.caf": ("caf", 85, ()),
    "pcm.au": ("au", 85, ()),
}
"""Of each file: the format that strips it, its length in seconds, how it is coded."""


def main(arguments: list[str]) -> None:
    profiled = "--parts" in arguments
    arguments = [argument for argument in arguments if argument != "--parts"]
    count = int(arguments[0]) if arguments else 20
    print("CPU and time of a file:")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments[1:] or MADE:
            _compare(Path(folder), name, count, profiled)


def _compare(folder: Path, name: str, count: int, profiled: bool) -> None:
    container, seconds, options = MADE[name]
    reader = members("formats")[container]
    files = _files(folder, name, seconds, options, count)
    target = folder / f"out-{name}"

    def strip(file: Path) -> None:
        stripping.strip(Entry(file.name, file, file.stat().st_size), target, reader)

    rounds = 3 if count < 100 else 1
    costs = alternate({"leakscan": _each(files, strip), "cp": _each(files, functools.partial(_copy, target)),
                       "read": _each(files, Path.read_bytes)}, rounds)  # fmt: skip
    each = {one: Cost(spent.cpu / count, spent.wall / count) for one, spent in costs.items()}
    floor = Cost(3 * each["cp"].cpu + each["read"].cpu, 3 * each["cp"].wall + each["read"].wall)
    print(f"{name}: {count} x {files[0].stat().st_size / 1e6:.1f} MB")
    shown = ratios({"leakscan": each["leakscan"], "3 x cp and one read": floor}, "leakscan")
    print(shown, flush=True)
    if profiled:
        _profile(functools.partial(strip, files[0]))
    for file in [*files, target]:
        file.unlink()


def _profile(run: Callable[[], object]) -> None:
    profile = cProfile.Profile()
    profile.runcall(run)
    pstats.Stats(profile).sort_stats("tottime").print_stats(12)


def _files(folder: Path, name: str, seconds: float, options: Sequence[str], count: int) -> list[Path]:
    samples = _music(seconds)
    first = folder / f"0-{name}"
    raw = ["-f", "f32le", "-ar", str(synth.RATE), "-ac", "1", "-i", "pipe:0"]
    tags = ["-metadata", "title=Two Herons", "-metadata", "artist=Nobody"]
    rate = "48000" if "libopus" in options else "44100"
    argv = [find_ffmpeg().path, "-v", "error", "-y", *raw, *NOISE, rate, *tags, *options, f"file:{first}"]
    subprocess.run(argv, input=samples, check=True)
    others = [folder / f"{number}-{name}" for number in range(1, count)]
    for other in others:
        shutil.copyfile(first, other)
    return [first, *others]


@functools.cache
def _music(seconds: float) -> bytes:
    return synth.render(synth.compose(places.SEED, seconds)).tobytes()


def _each(files: Sequence[Path], one: Callable[[Path], object]) -> Callable[[], object]:
    return lambda: [one(file) for file in files]


def _copy(target: Path, file: Path) -> None:
    subprocess.run(["cp", str(file), str(target)], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
