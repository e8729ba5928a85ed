"""Results of benchmarks: proportions with their intervals, and small tables in CSV and Markdown."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

RESULTS = Path(__file__).parent / "results"

_Z = 1.959964  # 95 %, two-sided

Row = Mapping[str, object]


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion (Wilson 1927); (0, 1) when nothing was tried."""
    if not n:
        return 0.0, 1.0
    share, spread = hits / n, _Z**2 / n
    middle = (share + spread / 2) / (1 + spread)
    reach = _Z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def write_csv(name: str, rows: Sequence[Row]) -> None:
    """Write rows with equal keys to results/NAME.csv."""
    with (RESULTS / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _shown(value) for key, value in row.items()} for row in rows)


def read_csv(name: str) -> list[dict[str, str]]:
    """The rows of results/NAME.csv; none when it is not there."""
    path = RESULTS / f"{name}.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def markdown(rows: Sequence[Row]) -> str:
    """Rows with equal keys as a table."""
    if not rows:
        return "(none)\n"
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([_shown(value) for value in row.values()] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
