"""Repair of splits: whole blocks of items that share recordings move between sets, so that none spans two.

Sizes stay within 2 % of what they were, and so does, as far as there are labels, how many items of each label a set
has.  Blocks that span sets are placed first, the largest first, each where it costs least; then blocks move, or change
places with others, as long as that brings the sets nearer to what they were.  Blocks that are alike count as one, so
the search depends on how many sorts there are, not on how many items.  Nothing is drawn by lot.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

TOLERANCE = 0.02
"""By which share of its size a set may grow or shrink."""

_SORTS = 400
"""How many sorts of blocks are tried in pairs; with more, only the most numerous."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One item of a set: its ID, and its label if it has one."""

    id: str
    set: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """An item that changes its set."""

    id: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Repair:
    """What to move; `obstacle` says why there is no repair that keeps the sets as they are, and then `moves` is empty.

    `before` and `after` are sizes by set, `drift` the largest change of any label's count in a set, in items.
    """

    moves: tuple[Move, ...]
    before: Mapping[str, int]
    after: Mapping[str, int]
    drift: int = 0
    obstacle: str = ""


_Counts = tuple[tuple[str, int], ...]


@dataclass(slots=True)
class _Block:
    """Items that must be in one set, those that share recordings: how many, and how many of each label."""

    units: list[Unit]
    size: int
    labels: _Counts
    home: str = ""
    sets: frozenset[str] = field(default_factory=frozenset)


class _Sets:
    """The sets as they are at the moment, and how far that is from what they were."""

    def __init__(self, before: Mapping[str, int], labels: Mapping[tuple[str, str], int]) -> None:
        self.before = before
        self.wanted_labels = labels
        self.size = dict.fromkeys(before, 0)
        self.labels: Counter[tuple[str, str]] = Counter()

    def put(self, block: _Block, where: str, times: int = 1) -> None:
        self.size[where] += times * block.size
        for label, count in block.labels:
            self.labels[where, label] += times * count

    def allowed(self, where: str) -> float:
        return TOLERANCE * self.before[where]

    def cost(self, where: Iterable[str], labels: Iterable[str]) -> float:
        """Squares of what is too much or too little, in units of what is allowed; sizes weigh more than labels."""
        total = 0.0
        labels = tuple(labels)
        for one in where:
            unit = max(1.0, self.allowed(one))
            total += 4 * ((self.size[one] - self.before[one]) / unit) ** 2
            for label in labels:
                total += ((self.labels[one, label] - self.wanted_labels[one, label]) / unit) ** 2
        return total

    def faults(self) -> Iterator[str]:
        """What is outside of the tolerance."""
        for one, size in self.before.items():
            if abs(self.size[one] - size) > self.allowed(one):
                yield f"'{one}' would have {self.size[one]} items in place of {size}"
        for (one, label), wanted in sorted(self.wanted_labels.items()):
            if abs(self.labels[one, label] - wanted) > max(1.0, self.allowed(one)):
                yield f"'{one}' would have {self.labels[one, label]} items of one label in place of {wanted}"

    def drift(self) -> int:
        return max((abs(self.labels[key] - wanted) for key, wanted in self.wanted_labels.items()), default=0)


def repair(blocks: Iterable[Sequence[Unit]], sets: Sequence[str]) -> Repair:
    """Which items of `sets` to move so that every block lies in one of them.

    A block holds the items that share recordings, by whatever way, perhaps one item alone; items with the ID and the
    set of another count, too.  The result depends on nothing but what the blocks hold.
    """
    made = sorted(
        (_block(units) for units in blocks if units), key=lambda one: (-one.size, one.units[0].id, one.units[0].set)
    )
    before = dict.fromkeys(sets, 0)
    labels: Counter[tuple[str, str]] = Counter()
    for block in made:
        for unit in block.units:
            before[unit.set] += 1
            if unit.label:
                labels[unit.set, unit.label] += 1
    everyone = tuple(sorted({label for _, label in labels}))
    state = _Sets(before, {(one, label): labels[one, label] for one in before for label in everyone})
    spanning = [block for block in made if len(block.sets) > 1]
    for block in made:
        if len(block.sets) == 1:
            (block.home,) = block.sets
            state.put(block, block.home)
    if not spanning:
        return Repair((), before, before)
    for block in spanning:
        block.home = _cheapest(block, sets, state, everyone)
        state.put(block, block.home)
    _settle(made, sets, state)
    faults = list(state.faults())
    if faults:
        largest = spanning[0]
        text = f"{faults[0]}; the largest block that spans sets holds {largest.size} items"
        return Repair((), before, dict(state.size), state.drift(), text)
    moves = {Move(unit.id, unit.set, block.home) for block in made for unit in block.units if unit.set != block.home}
    return Repair(
        tuple(sorted(moves, key=lambda one: (one.source, one.target, one.id))), before, dict(state.size), state.drift()
    )


def _block(units: Sequence[Unit]) -> _Block:
    ordered = sorted(units, key=lambda unit: (unit.id, unit.set, unit.label))
    labels = Counter(unit.label for unit in ordered if unit.label)
    return _Block(ordered, len(ordered), tuple(sorted(labels.items())), sets=frozenset(unit.set for unit in ordered))


def _cheapest(block: _Block, sets: Sequence[str], state: _Sets, labels: Sequence[str]) -> str:
    """Where a block costs least; of several sets that which holds most of it, then the first."""
    own = Counter(unit.set for unit in block.units)

    def cost(where: str) -> tuple[float, int, int]:
        state.put(block, where)
        result = state.cost(sets, labels)
        state.put(block, where, -1)
        return result, -own[where], sets.index(where)

    return min(sets, key=cost)


_Sort = tuple[str, int, _Counts]
"""Where blocks are, how many items they have, of which labels: blocks of one sort are interchangeable."""


def _settle(blocks: Sequence[_Block], sets: Sequence[str], state: _Sets) -> None:
    """Move blocks, or let two change places, as long as that brings the sets nearer to what they were."""
    sorts: defaultdict[_Sort, list[_Block]] = defaultdict(list)
    for block in reversed(blocks):  # the last of a list is taken first
        sorts[block.home, block.size, block.labels].append(block)

    def carry(sort: _Sort, where: str) -> None:
        block = sorts[sort].pop()
        state.put(block, block.home, -1)
        block.home = where
        state.put(block, where)
        sorts[where, sort[1], sort[2]].append(block)

    while any(state.faults()):
        best = min(_steps(sorts, sets, state), default=None)
        if best is None or best[0] > -1e-9:
            return
        _, one, where, other = best
        carry(one, where)
        if other is not None:
            carry(other, one[0])


_Step = tuple[float, _Sort, str, _Sort | None]


def _steps(sorts: Mapping[_Sort, list[_Block]], sets: Sequence[str], state: _Sets) -> Iterator[_Step]:
    """(what it costs, a sort of block, where one of it goes, the sort of block that comes back or None)."""
    present = sorted(
        (sort for sort, blocks in sorts.items() if blocks), key=lambda sort: (-len(sorts[sort]), sort)
    )[:_SORTS]  # fmt: skip
    singles: list[_Step] = [
        (_change(state, one, where, None), one, where, None) for one in present for where in sets if where != one[0]
    ]
    yield from singles
    if not any(cost < -1e-9 for cost, *_ in singles):
        for one, other in itertools.combinations(present, 2):
            if one[0] != other[0] and one[1:] != other[1:]:
                yield _change(state, one, other[0], other), one, other[0], other


def _change(state: _Sets, one: _Sort, where: str, other: _Sort | None) -> float:
    """What a step adds to the cost."""
    home, size, own = one
    labels = {label for label, _ in own} | {label for label, _ in (other[2] if other is not None else ())}
    blocks = [(_Block([], size, own), home, where)]
    if other is not None:
        blocks.append((_Block([], other[1], other[2]), where, home))
    before = state.cost((home, where), labels)
    for block, source, target in blocks:
        state.put(block, source, -1)
        state.put(block, target)
    after = state.cost((home, where), labels)
    for block, source, target in blocks:
        state.put(block, target, -1)
        state.put(block, source)
    return after - before
