"""What stripping costs: MP3 against `ffmpeg -c copy` and mat2, every other container against 3 x `cp` and one read.

Ours is the account of every byte, the clean file written out and its account, in this process; the others are commands,
each run once a file.  mat2 is run where it is on the PATH.

Usage: python benchmarks/strip.py [COPIES] [SECONDS OF MUSIC]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from harness import Cost, alternate, ratios

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "fixtures")]

import places  # noqa: E402 - fixtures/ lies beside the packages
import synth  # noqa: E402

from leakscan import ledgers  # noqa: E402
from leakscan.discover import members  # noqa: E402
from leakscan.media import find_ffmpeg  # noqa: E402

MP3 = {
    "constant.mp3": ("-ac", "2", "-ar", "44100", "-b:a", "128k"),
    "variable.mp3": ("-ac", "2", "-ar", "44100", "-q:a", "2"),
}


def main(copies: int, seconds: float) -> None:
    readers = members("formats")
    samples = synth.render(synth.compose(places.SEED, seconds)).tobytes()
    with tempfile.TemporaryDirectory() as folder:
        for name, options in MP3.items():
            files = _files(Path(folder), name, options, samples, copies)
            print(f"{name}: {copies} x {files[0].stat().st_size / 1e6:.1f} MB")
            runs = {"leakscan": _ours(readers["mpeg"], files), "ffmpeg -c copy": _each(files, _ffmpeg)}
            if shutil.which("mat2"):
                runs["mat2"] = _each(files, _mat2)
            print(ratios(alternate(runs, 3), "leakscan"), flush=True)
        for container, module in places.containers().items():
            if container in readers:
                _against_copying(Path(folder), readers[container], module, samples, copies)


def _against_copying(folder: Path, reader: ModuleType, module: ModuleType, samples: bytes, copies: int) -> None:
    name, options = next(iter(module.BASES.items()))
    files = _files(folder, name, options, samples, copies, module)
    runs = {"leakscan": _ours(reader, files), "cp": _each(files, _copy), "read": _each(files, _read)}
    costs = alternate(runs, 3)
    floor = Cost(3 * costs["cp"].cpu + costs["read"].cpu, 3 * costs["cp"].wall + costs["read"].wall)
    print(f"{name}: {copies} x {files[0].stat().st_size / 1e6:.1f} MB")
    print(ratios({"leakscan": costs["leakscan"], "3 x cp and one read": floor}, "leakscan"), flush=True)


def _files(
    folder: Path, name: str, options: Sequence[str], samples: bytes, copies: int, module: ModuleType | None = None
) -> list[Path]:
    """Copies of a file; `module` makes it out of a WAV file where ffmpeg cannot."""
    make = getattr(module, "make", None)
    first = folder / f"0-{name}"
    made = first.with_suffix(".wav") if make else first
    raw = ["-f", "f32le", "-ar", str(synth.RATE), "-ac", "1", "-i", "pipe:0"]
    argv = [find_ffmpeg().path, "-v", "error", "-y", *raw, *options, f"file:{made}"]
    subprocess.run(argv, input=samples, check=True)
    if make:
        first.write_bytes(make(name, made.read_bytes()))
    others = [folder / f"{number}-{name}" for number in range(1, copies)]
    for other in others:
        shutil.copyfile(first, other)
    return [first, *others]


def _ours(reader: ModuleType, files: Sequence[Path]) -> Callable[[], object]:
    def run() -> None:
        for file in files:
            with file.open("rb") as source, _out(file).open("wb") as out:
                ledgers.write(source, reader.account(source), out)
            with _out(file).open("rb") as written:
                reader.account(written)

    return run


def _each(files: Sequence[Path], one: Callable[[Path], object]) -> Callable[[], object]:
    return lambda: [one(file) for file in files]


def _out(file: Path) -> Path:
    return file.with_name(f"out-{file.name}")


def _ffmpeg(file: Path) -> None:
    argv = [find_ffmpeg().path, "-nostdin", "-v", "error", "-y", "-i", f"file:{file}", "-map", "0:a:0"]
    subprocess.run([*argv, "-map_metadata", "-1", "-c", "copy", f"file:{_out(file)}"], check=True)


def _mat2(file: Path) -> None:
    subprocess.run(["mat2", str(file)], check=True, capture_output=True)
    file.with_suffix(f".cleaned{file.suffix}").unlink()


def _copy(file: Path) -> None:
    subprocess.run(["cp", str(file), str(_out(file))], check=True)


def _read(file: Path) -> None:
    subprocess.run(["cat", str(file)], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, float(sys.argv[2]) if len(sys.argv) > 2 else 260)
