"""What other programs still see in files that were stripped: exiftool, mediainfo and ffprobe over every hiding place.

Each variant of fixtures/places/ and its clean copy is shown to every program; what hides must be in nothing they print
about the copy.  The table says in how many variants a program saw it before.

Usage: python benchmarks/strip_readers.py [--install] [--bases N]
With --install, missing programs come from apt-get; of every container the first N bases are taken (default 1).
Exits with 1 when anything is left, 2 when a program is missing.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("", "fixtures")]

import places  # noqa: E402

from leakscan import ledgers  # noqa: E402
from leakscan.discover import members  # noqa: E402

PACKAGES = {"exiftool": "libimage-exiftool-perl", "mediainfo": "mediainfo", "ffprobe": "ffmpeg"}
_BATCH = 50  # files a call: what one of them prints is then told apart by running it alone


def main(install: bool, bases: int) -> int:
    missing = [name for name in PACKAGES if shutil.which(name) is None]
    if missing and install:
        subprocess.run(["apt-get", "install", "-y", "-q", *(PACKAGES[name] for name in missing)], check=True)
    elif missing:
        print(f"not installed: {', '.join(missing)}; install {', '.join(PACKAGES[name] for name in missing)}")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        files = list(_write(Path(folder), bases))
        left = 0
        seen: dict[str, Counter[str]] = {}
        for reader, tells in READERS.items():
            before = tells([dirty for _, dirty, _ in files])
            after = tells([clean for _, _, clean in files])
            seen[reader] = Counter(container for container, dirty, _ in files if dirty in before)
            for container, dirty, clean in files:
                if clean in after:
                    left += 1
                    print(f"LEFT: {reader} shows it in the clean copy of {container}: {dirty.name}")
    total = Counter(container for container, _, _ in files)
    print(f"{'container':12}{'places':>8}" + "".join(f"{reader:>12}" for reader in READERS) + f"{'left':>8}")
    for container, count in total.items():
        print(f"{container:12}{count:8}" + "".join(f"{seen[reader][container]:12}" for reader in READERS))
    print(f"{'all':12}{total.total():8}" + "".join(f"{seen[reader].total():12}" for reader in READERS) + f"{left:8}")
    return 1 if left else 0


def _write(folder: Path, bases: int) -> Iterator[tuple[str, Path, Path]]:
    """Every variant that hides a text, as (container, file, clean copy)."""
    formats = members("formats")
    for container, module in places.containers().items():
        for name, options in islice(module.BASES.items(), bases):
            base = places.base(name, options)
            for number, place in enumerate(module.places(name, base)):
                if place.canary is None:
                    continue
                dirty, clean = (folder / f"{kind}-{container}-{number}-{name}" for kind in ("dirty", "clean"))
                dirty.write_bytes(place.data)
                stream = io.BytesIO(place.data)
                with clean.open("wb") as out:
                    ledgers.write(stream, formats[container].account(stream), out)
                yield container, dirty, clean


def _batches(files: Sequence[Path]) -> Iterator[Sequence[Path]]:
    for start in range(0, len(files), _BATCH):
        yield files[start : start + _BATCH]


def _telling(command: Sequence[str]) -> Callable[[Sequence[Path]], set[Path]]:
    """Which of some files a program shows the canary of; it takes many files at once."""

    def tells(files: Sequence[Path]) -> set[Path]:
        found: set[Path] = set()
        for batch in _batches(files):
            if _shows(command, batch):
                found.update(file for file in batch if _shows(command, [file]))
        return found

    return tells


def _each(command: Sequence[str]) -> Callable[[Sequence[Path]], set[Path]]:
    """The same for a program that takes one file at a time."""
    return lambda files: {file for file in files if _shows(command, [file])}


def _shows(command: Sequence[str], files: Sequence[Path]) -> bool:
    done = subprocess.run([*command, *map(str, files)], capture_output=True)
    return bool(places.found(places.CANARY.encode(), done.stdout + done.stderr))


READERS: dict[str, Callable[[Sequence[Path]], set[Path]]] = {
    "exiftool": _telling(["exiftool", "-a", "-u", "-U", "-ee3", "-G1"]),
    "mediainfo": _telling(["mediainfo", "--Full"]),
    "ffprobe": _each(["ffprobe", "-v", "verbose", "-show_format", "-show_streams", "-show_chapters", "-show_programs"]),
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Show stripped files to other programs.")
    parser.add_argument("--install", action="store_true", help="install missing programs with apt-get")
    parser.add_argument("--bases", type=int, default=1, help="how many bases of every container (default: 1)")
    arguments = parser.parse_args()
    sys.exit(main(arguments.install, arguments.bases))
