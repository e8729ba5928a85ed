"""The sketches are datasketch's own, to the bit; every telling word is in a window, and nothing else counts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

from leakscan import sketches
from leakscan.fingerprints import SILENCE, Words, telling

SIZES = [0, 1, 33, 64, 65, 128, 129, 192, 193, 1000]


def like_music(seed: int, count: int) -> Words:
    """Words as music has them: each differs from the one before in few bits, or in none; with silence in between."""
    rng = np.random.default_rng(seed)
    flips = (rng.random((count, 32)) < rng.choice([0, 0.05, 0.15, 0.5], (count, 1))).astype(np.uint8)
    array = np.bitwise_xor.accumulate(np.packbits(flips, axis=1).view("<u4").ravel().astype(np.uint32))
    array[rng.random(count) < 0.1] = SILENCE
    return np.asarray(array, np.uint32)


def of_datasketch(array: Words, bits: int) -> list[Words]:
    """The signatures of the windows that hold a telling word, one word at a time."""
    keep, found = telling(array), []
    for start in range(0, max(1, len(array) - 64), 64):
        window = array[start : start + 128][keep[start : start + 128]]
        if len(window):
            sketch = MinHash(num_perm=32, seed=1, hashfunc=int)
            for word in window:
                sketch.update(int(word) >> (32 - bits))
            found.append(np.asarray(sketch.hashvalues, np.uint32))
    return found


@pytest.mark.parametrize("bits", [sketches.BITS, sketches.SENSITIVE_BITS])
@pytest.mark.parametrize("count", SIZES)
def test_signatures_are_those_of_datasketch(count: int, bits: int) -> None:
    random = np.random.default_rng(count).integers(2**32, size=count, dtype=np.uint32)
    for array in (random, like_music(count, count)):
        expected = of_datasketch(array, bits)
        assert np.array_equal(sketches.signatures(array, bits), np.reshape(expected, (len(expected), 32)))


@given(st.lists(st.integers(0, 300), max_size=8), st.integers(0, 99))
def test_rows_are_sketched_as_if_alone(sizes: list[int], seed: int) -> None:
    """Whatever precedes a row in memory, a repeat of its first word for one, changes nothing."""
    rows = [like_music(seed + number, size) for number, size in enumerate(sizes)]
    for one, other in itertools.pairwise(rows):
        other[:1] = one[-1:] if len(one) else other[:1]
    packed = sketches.pack(rows)
    for band in (0, 31):
        minima = packed.minima(band)
        for number, row in enumerate(rows):
            own = minima[packed.rows == number]
            assert own[own != sketches.EMPTY].tolist() == [one[band] for one in of_datasketch(row, 32)]


def test_a_minimum_is_found_again_where_it_comes_from() -> None:
    rows = [like_music(number, size) for number, size in enumerate((500, 77, 128))]
    for bits in (32, 28):
        packed = sketches.pack(rows, bits=bits)
        for band in range(32):
            minima = packed.minima(band)
            told = np.flatnonzero(minima != sketches.EMPTY)
            positions = packed.positions(band, told, minima[told])
            assert ((positions >= packed.firsts[told] * 64) & (positions < packed.firsts[told] * 64 + 128)).all()
            for position, minimum in zip(positions.tolist(), minima[told].tolist(), strict=True):
                sketch = MinHash(num_perm=32, seed=1, hashfunc=int)
                sketch.update(int(packed.words[position]) >> (32 - bits))
                assert sketch.hashvalues[band] == minimum


def test_telling_words_are_counted_once() -> None:
    row = np.array([7, 7, SILENCE, 9, 7, SILENCE ^ np.uint32(1), 11], np.uint32)
    assert sketches.pack([row]).telling_words(np.array([0])).tolist() == [3]


@pytest.mark.parametrize("count", SIZES)
def test_windows_cover_every_word(count: int) -> None:
    packed = sketches.pack([like_music(count, count)])
    covered = {first * 64 + step for first in packed.firsts.tolist() for step in range(128)}
    assert set(range(count)) <= covered
    assert len(packed.firsts) == max(1, -(-count // 64) - 1)


def test_nothing_gives_nothing() -> None:
    assert len(sketches.pack([]).minima(0)) == 0
    assert sketches.signatures(np.full(500, SILENCE)).shape == (0, 32)
