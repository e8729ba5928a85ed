"""Repaired splits: no block spans two sets, sizes and labels stay, and the same comes out every time."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from leakscan.splits import TOLERANCE, Repair, Unit, repair

SETS = ("train", "test")


def single(set_: str, count: int, label: str = "", first: int = 0) -> list[list[Unit]]:
    return [[Unit(f"{set_}-{label}-{number}", set_, label)] for number in range(first, first + count)]


def after(blocks: list[list[Unit]], done: Repair) -> list[list[str]]:
    """The sets of every block's items once the repair is made."""
    goes = {(move.id, move.source): move.target for move in done.moves}
    return [[goes.get((unit.id, unit.set), unit.set) for unit in block] for block in blocks]


def test_nothing_spans_nothing_moves() -> None:
    done = repair(single("train", 10) + single("test", 5), SETS)
    assert (done.moves, done.obstacle, done.before, done.after) == ((), "", {"train": 10, "test": 5}, done.before)


def test_blocks_move_whole_and_sizes_are_kept() -> None:
    shared = [[Unit(f"a{number}", "train"), Unit(f"b{number}", "test")] for number in range(20)]
    blocks = single("train", 180) + single("test", 80) + shared
    done = repair(blocks, SETS)
    assert done.obstacle == ""
    homes = after(blocks, done)
    assert all(len(set(where)) == 1 for where in homes)
    sizes = Counter(where for block in homes for where in block)
    assert sizes == done.after
    assert all(abs(sizes[one] - done.before[one]) <= TOLERANCE * done.before[one] for one in SETS)
    assert len(done.moves) <= 24  # one of each pair, and a few for balance


def test_labels_stay_where_they_are() -> None:
    """Placed by size alone, the pairs would take label x out of the test set."""
    shared = [[Unit(f"a{number}", "train", "x"), Unit(f"b{number}", "test", "y")] for number in range(20)]
    blocks = single("train", 100, "x") + single("train", 100, "y") + single("test", 40, "x") + single("test", 40, "y")
    done = repair(blocks + shared, SETS)
    assert done.obstacle == ""
    assert done.drift <= 4
    labels = {unit.id: unit.label for block in blocks + shared for unit in block}
    shift: Counter[tuple[str, str]] = Counter()
    for move in done.moves:
        shift[move.target, labels[move.id]] += 1
        shift[move.source, labels[move.id]] -= 1
    assert max(map(abs, shift.values())) == done.drift


def test_what_cannot_be_done_is_said() -> None:
    huge = [[Unit(f"a{number}", SETS[number % 2]) for number in range(60)]]
    done = repair(huge + single("train", 5) + single("test", 5), SETS)
    assert done.moves == ()
    assert "the largest block that spans sets holds 60 items" in done.obstacle


def test_blocks_change_places_where_moving_one_does_not_help() -> None:
    """Blocks of three and of two: only together do they make good for one item."""
    spans = [Unit("s1", "train"), Unit("s2", "test")]
    threes = [[Unit(f"t{number}{one}", "train") for one in "abc"] for number in range(5)]
    twos = [[Unit(f"u{number}{one}", "test") for one in "ab"] for number in range(5)]
    done = repair([spans, *threes, *twos], SETS)
    assert done.obstacle == ""
    assert done.after == done.before == {"train": 16, "test": 11}


UNITS = st.lists(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "x", "y"])), min_size=1, max_size=4), max_size=25
)


@given(UNITS, st.randoms(use_true_random=False))
def test_whatever_the_order_the_result_is_the_same_and_keeps_what_it_promises(
    drawn: list[list[tuple[str, str]]], chance: random.Random
) -> None:
    numbers = iter(range(1000))
    blocks = [[Unit(f"i{next(numbers)}", where, label) for where, label in block] for block in drawn]
    done = repair(blocks, "abc")
    shuffled = [chance.sample(block, len(block)) for block in chance.sample(blocks, len(blocks))]
    assert repair(shuffled, "abc") == done
    if not done.obstacle:
        homes = after(blocks, done)
        assert all(len(set(where)) == 1 for where in homes)
        sizes = Counter(where for block in homes for where in block)
        assert all(abs(sizes[one] - done.before[one]) <= TOLERANCE * done.before[one] for one in "abc")
    else:
        assert done.moves == ()


def test_many_items_are_quickly_repaired() -> None:
    shared = [[Unit(f"a{number}", "train", f"l{number % 10}"), Unit(f"b{number}", "test", f"l{number % 10}")]
              for number in range(300)]  # fmt: skip
    blocks = [
        block for label in range(10) for block in single("train", 800, f"l{label}") + single("test", 100, f"l{label}")
    ]
    done = repair(blocks + shared, SETS)
    assert done.obstacle == ""
    assert all(len(set(where)) == 1 for where in after(blocks + shared, done))
