"""The join finds the pairs that datasketch's own index finds, and keeps those that are alike around the shared word."""

from __future__ import annotations

import numpy as np
import pytest
from datasketch import MinHash, MinHashLSH

from leakscan import sketches
from leakscan.engines import local
from leakscan.fingerprints import SILENCE, Words, telling


def track(seed: int, count: int = 600) -> Words:
    return np.random.default_rng(seed).integers(2**32, size=count, dtype=np.uint32)


def damaged(words: Words, share: float, seed: int = 0) -> Words:
    """A copy with a share of its bits flipped, at random."""
    flips = np.random.default_rng(seed).random((len(words), 32)) < share
    return np.asarray(words ^ np.packbits(flips, axis=1).view("<u4").ravel(), np.uint32)


def hits_of(packed: sketches.Packed) -> set[tuple[int, int, int]]:
    return {
        hit
        for hits in local.join(packed)
        for hit in zip(hits.left.tolist(), hits.right.tolist(), hits.offsets.tolist(), strict=True)
    }


def test_pairs_are_those_of_an_index_of_datasketch() -> None:
    """The oracle: MinHashLSH with 32 bands of one row."""
    hot = track(99, 5)
    rows = [track(seed, 100 + 61 * seed) for seed in range(20)]
    for seed, row in enumerate(rows):  # strangers that share words, and silence
        row[np.random.default_rng(seed).integers(len(row), size=9)] = np.append(hot, [SILENCE] * 4)
    rows += [damaged(rows[3], 0.03), rows[4][150:250]]
    lsh = MinHashLSH(num_perm=32, params=(32, 1))
    expected = set()
    for number, row in enumerate(rows):
        signatures = []
        for start in range(0, max(1, len(row) - 64), 64):
            sketch = MinHash(num_perm=32, seed=1, hashfunc=int)
            sketch.update_batch(row[start : start + 128][telling(row)[start : start + 128]])
            signatures.append(sketch)
            expected |= {(other, number) for other, _ in lsh.query(sketch) if other != number}
        for window, sketch in enumerate(signatures):
            lsh.insert((number, window), sketch)
    packed = sketches.pack(rows)
    found = set()
    for band in range(sketches.PERMUTATIONS):
        for one, other in zip(*local.pairs(packed, packed.minima(band)), strict=True):
            found.add((int(packed.rows[one]), int(packed.rows[other])))
    assert found == expected
    assert {(3, 20), (4, 21)} < found


def test_hits_are_where_copies_lie() -> None:
    original = track(1)
    rows = [original, damaged(original[200:400], 0.03), np.concatenate((track(2, 77), original[:150])), track(3)]
    hits = hits_of(sketches.pack(rows))
    assert {(0, 1, 200), (0, 2, -77)} <= hits
    assert {hit[:2] for hit in hits} <= {(0, 1), (0, 2), (1, 2)}


def test_a_word_among_others_is_no_hit() -> None:
    a, b = track(1), track(2)
    b[100:500:3] = a[150:550:3]  # every third word is shared, at one offset; a third of the bits differ
    packed = sketches.pack([a, b])
    assert any(len(local.pairs(packed, packed.minima(band))[0]) for band in range(32))
    assert hits_of(packed) == set()


def test_near_the_ends_fewer_words_are_to_the_one_side() -> None:
    original = track(1, 200)
    assert (0, 1, 160) in hits_of(sketches.pack([original, np.append(original[160:], track(2, 300))]))
    assert hits_of(sketches.pack([original, np.append(original[170:], track(2, 300))])) == set()  # 30 in common


def test_rows_of_one_recording_are_no_pair() -> None:
    row = track(1)
    packed = sketches.pack([row, row, row], [0, 0, 1])
    assert hits_of(packed) == {(0, 1, 0)}


@pytest.mark.parametrize("copies", [300])
def test_of_a_crowd_all_are_linked_to_a_few(copies: int) -> None:
    """So that copies of one jingle are not lost, and no more than eight times as many pairs are made of them."""
    jingle = track(1, 140)
    rows = [np.concatenate((track(100 + seed, 100 + seed), jingle)) for seed in range(copies)]
    packed = sketches.pack(rows)
    linked: dict[int, set[int]] = {number: set() for number in range(copies)}
    for hits in local.join(packed):
        assert len(hits.left) <= 8 * copies * 3  # windows
        for left, right in zip(hits.left.tolist(), hits.right.tolist(), strict=True):
            linked[left].add(right)
            linked[right].add(left)
    assert all(linked.values())


def test_nothing_gives_nothing() -> None:
    assert hits_of(sketches.pack([])) == set()
    assert hits_of(sketches.pack([np.zeros(0, np.uint32)] * 2)) == set()
