"""What the gate costs: all rules over records, against the standard library only parsing the same lines (the floor).

Usage: python benchmarks/gate.py [LINES]
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import alternate, peak_memory, ratios

from leakscan import scanning

_TASKS = {
    "tempo": "Give the tempo in beats per minute. Answer with a number only.",
    "key": "Never mind the decade or the facade of the mix: which key is this in? Answer with the option's letter.",
    "metre": "Is the metre 3/4, 4/4, 5/4 or 6/8? Answer with one of these only.",
}
_KEYS = ("C major", "F# minor", "Bb major", "D minor", "Eb major", "G# minor")


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "prompts.jsonl")
        with file.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(record) + "\n" for record in _records(count))
        scanning.scan([_few(file)])  # what the program and the patterns take by themselves
        before = peak_memory()
        report = scanning.scan([file])
        grown = peak_memory() - before
        assert (report.examined.records, report.findings) == (count, ()), "the made-up records must be clean"
        costs = alternate({"ours": lambda: scanning.scan([file]), "floor: json.loads": lambda: _parse(file)}, rounds=3)
        print(f"{count:,} records, {file.stat().st_size / 1e6 / costs['ours'].cpu:.1f} MB/s per core")
        print(ratios(costs, "ours"))
        print(f"  memory that the records take: {grown / 1e6:.0f} MB, {grown / count:.0f} bytes each")
    heavy = sorted({"numpy", "datasketch"} & set(sys.modules))
    print(f"heavy modules that the gate loaded: {', '.join(heavy) or 'none'}")


def _few(file: Path) -> Path:
    """The first lines of a file, in a file of their own."""
    few = file.with_name("few.jsonl")
    with file.open("rb") as stream:
        few.write_bytes(b"".join(itertools.islice(stream, 100)))
    return few


def _parse(file: Path) -> None:
    with file.open("rb") as stream:
        for line in stream:
            json.loads(line)


def _records(count: int) -> Iterator[dict[str, Any]]:
    """Records as MUB has them, full of what looks like a leak and is none."""
    rng = random.Random(2026)
    for number in range(count):
        task = rng.choice(list(_TASKS))
        issued = 1_767_225_600 + rng.randrange(5_000_000)
        yield {
            "id": f"MUB-{number:06}",
            "audio": f"audio/MUB-{number:06}.mp3",
            "task": task,
            "prompt": _TASKS[task],
            "choices": rng.sample(_KEYS, 4),
            "meta": {
                "level": rng.random(),
                "floor": rng.random() * 1e-9,
                "issued": issued,
                "issued_ms": issued * 1000,
                "stamp": f"2026{rng.randrange(10**12):012}",
                "row": f"{number:08}",
                "colour": f"#{rng.randrange(1 << 24):06x}",
                "routing": [
                    {"k": "request", "v": str(uuid.UUID(int=rng.getrandbits(128), version=4))},
                    {"k": "shard", "v": f"{number % 8:08}"},
                ],
            },
        }


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
