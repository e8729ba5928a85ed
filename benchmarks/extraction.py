"""What a fingerprint costs, against ffmpeg that only decodes (the floor) and against fpcalc where it is installed.

Usage: python benchmarks/extraction.py [AUDIO...]     without files: four minutes of synthetic music in five encodings
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import alternate, ratios

from leakscan import media

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
import tunes

_SECONDS = 240
_CODECS = {"wav": (), "flac": (), "ogg": ("-c:a", "libvorbis"), "opus": ("-b:a", "96k"), "mp3": ("-b:a", "128k")}


def main(files: list[Path]) -> None:
    print(f"ffmpeg {media.find_ffmpeg().version} ({media.find_ffmpeg().source})")
    with tempfile.TemporaryDirectory() as folder:
        for path in files or list(_synthetic(Path(folder))):
            _compare(path)


def _synthetic(folder: Path) -> list[Path]:
    source = tunes.write(folder / "source.wav", tunes.music(1, _SECONDS, 44100), 44100)
    stereo = [
        tunes.encode(source, folder / f"{_SECONDS}s.{suffix}", "-ac", "2", *how) for suffix, how in _CODECS.items()
    ]
    source.unlink()
    return stereo


def _compare(path: Path) -> None:
    ffmpeg = media.find_ffmpeg().path
    floor = [ffmpeg, "-nostdin", "-loglevel", "error", "-threads", "1", "-i", str(path), "-f", "null", "-"]
    runs = {"ours": lambda: media.chromaprint(path), "floor: ffmpeg decodes": lambda: _run(floor)}
    if fpcalc := shutil.which("fpcalc"):
        runs["fpcalc"] = lambda: _run([fpcalc, "-raw", "-length", "0", "-ignore-errors", str(path)])
    costs = alternate(runs)
    duration = media.chromaprint(path).duration
    print(f"{path.name}: {duration:.0f} s, ours {duration / costs['ours'].cpu:,.0f} x real time per core")
    print(ratios(costs, "ours"), flush=True)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
