"""How likely agreements are by accident: exact, in plain Python.

Agreement is always of one kind here: a text names some values, and one of them is its own record's.  Would it if the
values had been dealt out to the records at random?
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet

STATES = 4096
"""Up to how many states the distribution over all permutations is worked out; beyond, draws count as independent."""


def independent(probabilities: Iterable[float]) -> list[float]:
    """The distribution of the number of hits of independent draws (Poisson-binomial): entry k is P(k hits)."""
    distribution = [1.0]
    for probability in probabilities:
        distribution = convolved(distribution, [1 - probability, probability])
    return distribution


def shuffled(named: Sequence[AbstractSet[Hashable]], values: Sequence[Hashable]) -> list[float]:
    """The distribution of how many texts name their own value when `values` are shuffled over the texts.

    `named` and `values` run in parallel.  Exact over all permutations where that takes no more than `STATES` states;
    else every text draws for itself, which for so many differs little.  The mean is the same: the sum over texts of
    the frequency of the values that each names.
    """
    counts = Counter(values)
    if math.prod(count + 1 for count in counts.values()) > STATES:
        return independent(sum(counts[value] for value in names) / len(values) for names in named)
    kinds = list(counts)
    states: dict[tuple[int, ...], list[float]] = {tuple(counts.values()): [1.0]}
    for dealt, names in enumerate(named):
        after: dict[tuple[int, ...], list[float]] = {}
        for state, distribution in states.items():
            for index, left in enumerate(state):
                if left:
                    share = left / (len(values) - dealt)
                    hit = kinds[index] in names
                    target = after.setdefault((*state[:index], left - 1, *state[index + 1 :]), [0.0] * (dealt + 2))
                    for hits, probability in enumerate(distribution):
                        target[hits + hit] += probability * share
        states = after
    (distribution,) = states.values()
    return distribution


def convolved(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """The distribution of the sum of two independent counts."""
    result = [0.0] * (len(one) + len(other) - 1)
    for shift, weight in enumerate(other):
        for index, probability in enumerate(one):
            result[index + shift] += probability * weight
    return result


def tail(distribution: Sequence[float], hits: int) -> float:
    """The probability of `hits` or more."""
    return min(1.0, math.fsum(distribution[hits:]))


def shown(p: float) -> str:
    """A probability as messages print it."""
    return f"p = {p:.1e}" if p > 1e-300 else "p < 1e-300"
