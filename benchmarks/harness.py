"""Ours and a peer or a floor on the same input, in turn, so that a busy machine slows down both alike."""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one run: of the processors (this process and its children) and of the clock."""

    cpu: float
    wall: float


def cost(run: Callable[[], object]) -> Cost:
    """What one call takes."""
    cpu, wall = _cpu(), time.perf_counter()
    run()
    return Cost(_cpu() - cpu, time.perf_counter() - wall)


def alternate(
    runs: Mapping[str, Callable[[], object]], rounds: int = 5, after: Callable[[], object] = lambda: None
) -> dict[str, Cost]:
    """The medians of each run over `rounds`, after one round that only warms the caches.

    Every other round goes backwards: what a run leaves behind, such as pages that the system has to clear, is paid for
    by the next one.

    `after` clears away what a run has left; it is not measured.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in list(runs.items())[:: -1 if number % 2 else 1]:
            spent = cost(run)
            after()
            if number:
                costs[name].append(spent)
    return {
        name: Cost(statistics.median(one.cpu for one in spent), statistics.median(one.wall for one in spent))
        for name, spent in costs.items()
    }


def ratios(costs: Mapping[str, Cost], ours: str) -> str:
    """A line for each: its cost, and ours as a multiple of it (below 1: ours is cheaper)."""
    own = costs[ours]
    return "\n".join(
        f"  {name:<24} {one.cpu:8.3f} s CPU {one.wall:8.3f} s"
        + ("" if name == ours else f"   ours: {own.cpu / one.cpu:5.2f} x CPU {own.wall / one.wall:5.2f} x time")
        for name, one in costs.items()
    )


def peak_memory() -> int:
    """The most bytes that this process has held so far; it never shrinks."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _cpu() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
