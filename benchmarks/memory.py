"""What one large file takes: the gate over an array of 100 MB all in one line, clean and with a leak in every row.

Usage: python benchmarks/memory.py [MEGABYTES]
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

_LIMIT = 400  # MB
_SCAN = """
import resource, sys, time
import leakscan

report = leakscan.scan([sys.argv[1]])
used = resource.getrusage(resource.RUSAGE_SELF)
findings = ", ".join(f"{one.rule} {one.count:,}" for one in report.findings) or "none"
print(used.ru_maxrss // 1024, f"{report.examined.records:,} records, {used.ru_utime:.0f} s, findings: {findings}")
"""


def main(megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for what in ("clean", "leaky"):
            file = Path(folder, f"{what}.json")
            _write(file, megabytes, what == "leaky")
            done = subprocess.run([sys.executable, "-c", _SCAN, str(file)], capture_output=True, text=True, check=True)
            peak, _, rest = done.stdout.strip().partition(" ")
            print(f"{what}: peak {peak} MB of {_LIMIT} MB; {rest}")
            assert int(peak) < _LIMIT
            file.unlink()


def _write(file: Path, megabytes: int, leaky: bool) -> None:
    rng = random.Random(2026)
    size = number = 0
    with file.open("w", encoding="utf-8") as out:
        while size < megabytes * 1_000_000:
            number += 1
            record = {
                "id": f"MUB-{number:06}",
                "audio": f"audio/MUB-{number:06}.mp3",
                "prompt": f"Give the tempo of take {number} in beats per minute. Answer with a number only. " * 3,
                "choices": rng.sample(["C major", "F# minor", "Bb major", "D minor"], 3),
                "level": rng.random(),
            }
            if leaky:
                record |= {"answer": rng.choice(["3/4", "4/4"]), "audio_hash": f"{rng.getrandbits(64):016x}"}
            size += out.write(("[" if number == 1 else ", ") + json.dumps(record))
        out.write("]")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
