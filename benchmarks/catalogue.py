"""How fast records are held against a catalogue of 100,000 items, by either index, against only parsing the records.

Usage: python benchmarks/catalogue.py [RECORDS [ITEMS]]
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from harness import alternate, cost, ratios

from leakscan import phrases
from leakscan.checks import catalogue
from leakscan.config import Config
from leakscan.model import Item, Place, Private, Release

_SYLLABLES = "plim wex hob ost quay neb saltz mar vane fen ödeg loom tin ost zeph lark brack ish ruf net".split()


def main(number: int, items: int) -> None:
    rng = random.Random(1)
    names = [_name(rng) for _ in range(items // 4)]
    table = {
        f"MUB-{n:06}": {"title": f"{rng.choice(names)} {rng.choice(names)}", "artist": rng.choice(names),
                        "isrc": f"ZZABC{n:07}"}
        for n in range(items)
    }  # fmt: skip
    lines = [json.dumps(_record(n, rng, names)) for n in range(number)]
    size = sum(map(len, lines)) / 1e6
    engines = {"token index": phrases.Phrases}
    try:
        phrases.Automaton([("a",)])
        engines["ahocorasick-rs"] = phrases.Automaton
    except ImportError:
        print("ahocorasick-rs is not installed; only the token index is measured")
    for name, engine in engines.items():
        with mock.patch.object(catalogue, "finder", engine):
            built = cost(lambda: catalogue.check(Config(), Private(catalogue=table)))
            check = catalogue.check(Config(), Private(catalogue=table))
        runs = {
            "ours": lambda check=check: _scan(lines, check),
            "floor: json.loads": lambda: list(map(json.loads, lines)),
        }
        costs = alternate(runs, rounds=3)
        print(f"{name}: built in {built.cpu:.1f} s; {number:,} records, {size / costs['ours'].cpu:.1f} MB/s,"
              f" {number / costs['ours'].cpu:,.0f} records/s per core")  # fmt: skip
        print(ratios(costs, "ours"))


def _scan(lines: Sequence[str], check: Any) -> None:
    items = (Item(Place("p.jsonl", n), "record", json.loads(line)) for n, line in enumerate(lines, 1))
    list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


def _name(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randrange(2, 5)))


def _record(number: int, rng: random.Random, names: Sequence[str]) -> Mapping[str, Any]:
    words = [
        rng.choice(("the", "a", "plays", "song", "in", "of", "which", _name(rng), rng.choice(names))) for _ in range(25)
    ]
    return {
        "id": f"MUB-{number:06}",
        "audio": f"audio/{number}.mp3",
        "prompt": " ".join(words),
        "choices": [rng.choice(names) for _ in range(4)],
        "meta": {"level": rng.random(), "row": f"{number:08}"},
    }


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
