"""What proving digests costs: CPU against reading the same files with one SHA-256, and decoding against ffmpeg's own.

Three columns over the same files: one that a likely recipe explains, one that only an unlikely one does, one of random
digits that makes every recipe about bytes be tried on the sample.  Then all recipes about bytes over some files, and
a digest of decoded samples against decoding alone.

Usage: python benchmarks/digest_proof.py [FILES [MEGABYTES]]
"""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile
import wave
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness import alternate, ratios

from leakscan import media
from leakscan.checks import digest_proof
from leakscan.config import Config
from leakscan.model import Finding, Item, LeakscanError, Place, Private, Release
from leakscan.recipes import BYTES, digests_of_file

DECODED = 4  # files of a minute each


def main(count: int, megabytes: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files = [root / f"{number:03}.mp3" for number in range(count)]
        for number, file in enumerate(files):
            file.write_bytes(random.Random(number).randbytes(int(megabytes * 1e6)))
        print(f"{count} files of {megabytes} MB")
        rng = random.Random(0)
        columns: dict[str, tuple[Callable[[Path], str], str | None]] = {
            "SHA-256 of the whole": (lambda file: _digest(file, "sha256"), "sha256/whole/hex"),
            "MD5 of the whole": (lambda file: _digest(file, "md5"), "md5/whole/hex"),
            "SHA-256 of the first MiB": (lambda file: _digest(file, "sha256", 1 << 20), "sha256/head:1048576/hex"),
            "SHA3-256 of the whole": (lambda file: _digest(file, "sha3_256"), "sha3-256/whole/hex"),
            "random digits": (lambda file: f"{rng.getrandbits(128):032x}", None),
        }
        for name, (make, recipe) in columns.items():
            records = [{"audio": file.name, "x": make(file)} for file in files]
            found = [finding.evidence.recipe for finding in _prove(records, root) if finding.evidence is not None]
            assert found == ([recipe] if recipe else []), (name, found)
            runs: dict[str, Callable[[], object]] = {
                "ours": lambda records=records: _prove(records, root),
                "floor: read and SHA-256": lambda: [_digest(file, "sha256") for file in files],
            }
            print(f"{name}:\n{ratios(alternate(runs, rounds=3), 'ours')}")
        few = files[:8]
        every = {
            "ours": lambda: [_all_bytes(file) for file in few],
            "floor: read and SHA-256": lambda: [_digest(file, "sha256") for file in few],
        }
        print(f"all {len(BYTES)} recipes about bytes, {len(few)} files:\n{ratios(alternate(every, rounds=3), 'ours')}")
    with tempfile.TemporaryDirectory() as folder:
        _decoding(Path(folder))


def _decoding(root: Path) -> None:
    try:
        media.find_ffmpeg()
    except LeakscanError as error:
        print(f"decoded samples: not measured, {error}")
        return
    files = [root / f"{number}.wav" for number in range(DECODED)]
    records = []
    for number, file in enumerate(files):
        samples = random.Random(number).randbytes(44_100 * 2 * 2 * 60)
        with wave.open(str(file), "wb") as out:
            out.setnchannels(2)
            out.setsampwidth(2)
            out.setframerate(44_100)
            out.writeframes(samples)
        records.append({"audio": file.name, "x": hashlib.sha1(samples).hexdigest()})
    (finding,) = _prove(records, root)
    assert finding.evidence is not None
    assert finding.evidence.recipe == "sha1/pcm:s16le/hex"
    runs = {
        "ours": lambda: _prove(records, root),
        "floor: decode and SHA-256": lambda: [media.pcm_digest(file) for file in files],
    }
    print(f"decoded samples, {DECODED} files of a minute:\n{ratios(alternate(runs, rounds=3), 'ours')}")


def _prove(records: Sequence[dict[str, Any]], root: Path) -> list[Finding]:
    check = digest_proof.check(Config(), Private())
    items = (Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1))
    return list(check.finish(Release(root), [seen for item in items for seen in check.see(item)]))


def _digest(file: Path, algorithm: str, head: int | None = None) -> str:
    state = hashlib.new(algorithm)
    with file.open("rb") as stream:
        if head is not None:
            state.update(stream.read(head))
        else:
            while block := stream.read(1 << 20):
                state.update(block)
    return state.hexdigest()


def _all_bytes(file: Path) -> None:
    with file.open("rb") as stream:
        digests_of_file(stream, BYTES)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500, float(sys.argv[2]) if len(sys.argv) > 2 else 5)
