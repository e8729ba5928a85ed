"""What proving digests costs: CPU against reading the same files with one SHA-256, and decoding against ffmpeg's own.

Columns over the same files: three that a likely recipe explains, at most `LIKELY_LIMIT` times the floor; two that only
an unlikely one does, whose own algorithm may cost more than that by itself; one of random digits that makes every
recipe about bytes be tried on the sample.  No more than a sample is ever held against all recipes, so for the last
three the limit is `EVERY_LIMIT`.  Then all recipes about bytes over some files, which the check never does, also
against the algorithms alone: whatever shares work, each must see the whole file once, and every tail once more.  Last,
a digest of decoded samples against decoding alone.

Usage: python benchmarks/digest_proof.py [FILES [MEGABYTES]]
"""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile
import wave
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import Cost, alternate, ratios

from leakscan import media
from leakscan.checks import digest_proof
from leakscan.config import Config
from leakscan.model import Finding, Item, LeakscanError, Place, Private, Release
from leakscan.recipes import ALGORITHMS, BYTES, digests_of_file

DECODED = 24  # files of a minute each
LIKELY_LIMIT, EVERY_LIMIT = 4, 30
FLOOR = "floor: read and SHA-256"


def main(count: int, megabytes: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files = [root / f"{number:03}.mp3" for number in range(count)]
        for number, file in enumerate(files):
            file.write_bytes(random.Random(number).randbytes(int(megabytes * 1e6)))
        print(f"{count} files of {megabytes} MB")
        rounds = 3 if count < 100 else 1  # many files are a mean by themselves
        rng = random.Random(0)
        columns: dict[str, tuple[Callable[[Path], str], str | None, int]] = {
            "SHA-256 of the whole": (lambda file: _digest(file, "sha256"), "sha256/whole/hex", LIKELY_LIMIT),
            "MD5 of the whole": (lambda file: _digest(file, "md5"), "md5/whole/hex", LIKELY_LIMIT),
            "SHA-256 of the first MiB": (
                lambda file: _digest(file, "sha256", 1 << 20), "sha256/head:1048576/hex", LIKELY_LIMIT,
            ),
            "SHA3-256 of the whole": (lambda file: _digest(file, "sha3_256"), "sha3-256/whole/hex", EVERY_LIMIT),
            "16 digits of a tail": (lambda file: _tail(file, 4096)[:16], "blake2s/tail:4096/hex[:16]", EVERY_LIMIT),
            "16 random digits": (lambda file: f"{rng.getrandbits(64):016x}", None, EVERY_LIMIT),
        }  # fmt: skip
        for name, (make, recipe, limit) in columns.items():
            records = [{"audio": file.name, "x": make(file)} for file in files]
            found = [finding.evidence.recipe for finding in _prove(records, root) if finding.evidence is not None]
            assert found == ([recipe] if recipe else []), (name, found)
            runs: dict[str, Callable[[], object]] = {
                "ours": lambda records=records: _prove(records, root),
                FLOOR: lambda: [_digest(file, "sha256") for file in files],
            }
            if recipe:
                runs["the column by itself"] = lambda make=make: [make(file) for file in files]
            costs = alternate(runs, rounds)
            likely = "a likely recipe" if limit == LIKELY_LIMIT else "all recipes, on a sample"
            print(f"{name} ({likely}): {_held(costs, limit)}\n{ratios(costs, 'ours')}")
        few = files[:8]
        every = {
            "ours": lambda: [_all_bytes(file) for file in few],
            FLOOR: lambda: [_digest(file, "sha256") for file in few],
            "floor: the algorithms": lambda: [_algorithms(file) for file in few],
        }
        costs = alternate(every, rounds=3)
        print(f"all {len(BYTES)} recipes about bytes, {len(few)} files in full: {_held(costs, EVERY_LIMIT)}")
        print(ratios(costs, "ours"))
    with tempfile.TemporaryDirectory() as folder:
        _decoding(Path(folder))


def _held(costs: Mapping[str, Cost], limit: int) -> str:
    """Whether ours stays within so many times the floor."""
    return f"{'within' if costs['ours'].cpu <= limit * costs[FLOOR].cpu else 'BEYOND'} {limit} x the floor"


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
        "floor: decode and SHA-256": lambda: [media.pcm_digest(file) for file in files],  # by ffmpeg itself
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


def _tail(file: Path, length: int) -> str:
    return hashlib.blake2s(file.read_bytes()[-length:]).hexdigest()


def _algorithms(file: Path) -> None:
    """What no way to compute all recipes can do without: every algorithm over the file, and over each of its tails."""
    data = memoryview(file.read_bytes())
    tails = ((name, max(0, len(data) - int(scope[5:]))) for name, scope in BYTES if scope.startswith("tail:"))
    blobs = ((name, -1) for name, scope in BYTES if scope == "blob")  # the whole file, after a header
    for name, start in {*((name, 0) for name in ALGORITHMS), *tails, *blobs}:
        ALGORITHMS[name][1]().update(data[max(0, start) :])


def _all_bytes(file: Path) -> None:
    with file.open("rb") as stream:
        digests_of_file(stream, BYTES)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500, float(sys.argv[2]) if len(sys.argv) > 2 else 5)
