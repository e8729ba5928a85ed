"""What `leakscan clean` costs as its user runs it: a release of many files of one container, on all cores.

MP3 is held against `ffmpeg -c copy` and mat2, each run once a file; other containers against three times `cp`, run once
a file or once for all, and one read.  With `--check-pcm`, what that adds is held against decoding source and copy once
each with ffmpeg.  All of the command is counted: start, plan, copy, proof, mapping, scan of the copy.  It works on all
cores, while the others run one after the other.  mat2 is run where it is on the PATH.

Usage: python benchmarks/strip.py [--check-pcm] [FILES [CONTAINER ...]], such as 500 flac vorbis
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness import Cost, alternate, ratios

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "fixtures")]

import places  # noqa: E402 - fixtures/ lies beside the packages
import synth  # noqa: E402

from leakscan.crew import cores  # noqa: E402
from leakscan.media import find_ffmpeg  # noqa: E402

NOISE = ("-af", "pan=stereo|c0=c0|c1=c0,aeval=val(0)+0.2*random(0)|val(1)+0.2*random(1):c=same", "-ar")
"""Music of two channels with as much noise as a recording has, so that FLAC files are of a usual size."""

MADE: dict[str, tuple[str, float, tuple[str, ...]]] = {
    "mp3": ("mp3", 260, ("-b:a", "128k")),
    "vbr": ("mp3", 130, ("-q:a", "0")),
    "flac": ("flac", 75, ("-sample_fmt", "s16")),
    "vorbis": ("ogg", 245, ("-c:a", "libvorbis", "-q:a", "8")),
    "opus": ("opus", 255, ("-c:a", "libopus", "-b:a", "160k")),
    "m4a": ("m4a", 180, ("-c:a", "aac", "-b:a", "176k")),
    "wav": ("wav", 23, ()),
    "mka": ("mka", 245, ("-c:a", "libvorbis", "-q:a", "8")),
    "webm": ("webm", 255, ("-c:a", "libopus", "-b:a", "160k")),
    "wma": ("wma", 245, ("-c:a", "wmav2", "-b:a", "128k")),
    "aiff": ("aiff", 23, ()),
    "caf": ("caf", 23, ()),
    "adts": ("aac", 180, ("-c:a", "aac", "-b:a", "176k")),
    "wavpack": ("wv", 75, ("-sample_fmt", "s16p")),
    "tta": ("tta", 75, ("-sample_fmt", "s16")),
}
"""Of each file, of about 4 MB: its suffix, its length in seconds, how it is coded."""


def main(arguments: list[str]) -> None:
    check_pcm = "--check-pcm" in arguments
    arguments = [argument for argument in arguments if argument != "--check-pcm"]
    count = int(arguments[0]) if arguments else 50
    for name in arguments[1:] or MADE:
        with tempfile.TemporaryDirectory() as folder:
            _compare(Path(folder), name, count, check_pcm)


def _compare(folder: Path, name: str, count: int, check_pcm: bool) -> None:
    files = _release(folder / "release", name, count)
    print(f"{name}: {count} x {files[0].stat().st_size / 1e6:.1f} MB, {cores()} cores")
    tidy = functools.partial(_tidy, folder)
    tidy()
    runs: dict[str, Callable[[], object]] = {"clean": functools.partial(_clean, folder)}
    if check_pcm:
        runs |= {"checked": functools.partial(_clean, folder, "--check-pcm"), "decode": _each(files, _decode)}
        costs = alternate(runs, 1, tidy)
        ours = _sum((1, costs["checked"]), (-1, costs["clean"]))
        peers = {"decoding twice": _sum((2, costs["decode"]))}
    elif MADE[name][0] == "mp3":
        runs["ffmpeg -c copy"] = _each(files, _ffmpeg)
        if shutil.which("mat2"):
            runs["mat2"] = _each(files, _mat2)
        peers = alternate(runs, 1, tidy)
        ours = peers.pop("clean")
    else:
        runs |= {"each": _each(files, _copy), "all": functools.partial(_copy_all, folder), "read": _reading(files)}
        costs = alternate(runs, 4, tidy)
        ours = costs["clean"]
        peers = {
            "3 x cp of each, one read": _sum((3, costs["each"]), (1, costs["read"])),
            "3 x cp of all, one read": _sum((3, costs["all"]), (1, costs["read"])),
        }
    print(ratios({"leakscan": ours, **peers}, "leakscan"), flush=True)


def _sum(*costs: tuple[int, Cost]) -> Cost:
    return Cost(sum(times * one.cpu for times, one in costs), sum(times * one.wall for times, one in costs))


def _release(folder: Path, name: str, count: int) -> list[Path]:
    """A folder of files that differ in nothing but their names."""
    suffix, seconds, options = MADE[name]
    samples = synth.render(synth.compose(places.SEED, seconds)).tobytes()
    folder.mkdir()
    files = [folder / f"{number:04}.{suffix}" for number in range(count)]
    raw = ["-f", "f32le", "-ar", str(synth.RATE), "-ac", "1", "-i", "pipe:0"]
    tags = ["-metadata", "title=Two Herons", "-metadata", "artist=Nobody"]
    rate = "48000" if "libopus" in options else "44100"
    argv = [find_ffmpeg().path, "-v", "error", "-y", *raw, *NOISE, rate, *tags, *options, f"file:{files[0]}"]
    subprocess.run(argv, input=samples, check=True)
    for file in files[1:]:
        shutil.copyfile(files[0], file)
    subprocess.run(["sync"], check=True)  # or what is measured first pays for writing them
    return files


def _clean(folder: Path, *options: str) -> None:
    # an installed package is compiled already; the run that is not counted does it here
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    command = (sys.executable, "-m", "leakscan", "clean", str(folder / "release"), str(folder / "out"))
    _run(*command, "--mapping", str(folder / "out.json"), *options, env=env)


def _tidy(folder: Path) -> None:
    """Between two runs: nothing of the last one is there, on the disk or still to be written to it."""
    for path in (folder / "out", folder / "peer"):
        shutil.rmtree(path, ignore_errors=True)
    (folder / "out.json").unlink(missing_ok=True)
    (folder / "peer").mkdir()
    subprocess.run(["sync"], check=True)


def _each(files: Sequence[Path], one: Callable[[Path], object]) -> Callable[[], object]:
    return lambda: [one(file) for file in files]


def _decode(file: Path) -> None:
    _run(find_ffmpeg().path, "-nostdin", "-v", "error", "-threads", "1", "-i", f"file:{file}", "-f", "null", "-")


def _ffmpeg(file: Path) -> None:
    options = ("-map", "0:a:0", "-map_metadata", "-1", "-c", "copy", f"file:{_out(file)}")
    _run(find_ffmpeg().path, "-nostdin", "-v", "error", "-y", "-i", f"file:{file}", *options)


def _mat2(file: Path) -> None:
    _run("mat2", str(file))
    file.with_suffix(f".cleaned{file.suffix}").rename(_out(file))


def _copy(file: Path) -> None:
    _run("cp", str(file), str(_out(file)))


def _copy_all(folder: Path) -> None:
    _run("cp", "-r", str(folder / "release"), str(folder / "peer"))


def _reading(files: Sequence[Path]) -> Callable[[], object]:
    return lambda: _run("cat", *map(str, files))


def _out(file: Path) -> Path:
    return file.parent.with_name("peer") / file.name


def _run(*command: str, env: Mapping[str, str] | None = None) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)


if __name__ == "__main__":
    main(sys.argv[1:])
