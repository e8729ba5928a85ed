"""Fingerprint -> MinHash signatures, and the pairs of fingerprints that are worth aligning.

A Chromaprint word carries nearly 32 bits, so whole words and one row a band are selective already: two windows are
candidates when one of their 32 minima agrees.  Measured (100 re-encoded, cropped and damaged copies against 410
recordings): re-encodes and crops of 20 s and more are all found, 10 s crops at .99; shorter words with more rows a band
find less.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from datasketch import MinHash, MinHashLSH

from leakscan.fingerprints import Words, telling, words
from leakscan.model import Fingerprint

WINDOW = 128  # words, 15.8 s
HOP = 64
PERMUTATIONS = 32
SEED = 1
_PARAMS = (PERMUTATIONS, 1)  # bands, rows


def signatures(fp: Fingerprint) -> list[MinHash]:
    """One MinHash for every window of 128 words that holds any telling word; a short file is one window."""
    windows = [part for part in _windows(words(fp)) if len(part)]
    return list(MinHash.bulk(windows, num_perm=PERMUTATIONS, seed=SEED, hashfunc=int)) if windows else []


def candidates(fps: Sequence[Fingerprint]) -> list[tuple[int, int]]:
    """The pairs (i, j), i < j, of fingerprints that share a minimum in any window; sorted."""
    lsh = MinHashLSH(num_perm=PERMUTATIONS, params=_PARAMS)
    pairs: set[tuple[int, int]] = set()
    for right, fp in enumerate(fps):
        own = signatures(fp)
        for signature in own:
            pairs.update((left, right) for left, _ in lsh.query(signature))
        for window, signature in enumerate(own):
            lsh.insert((right, window), signature)
    return sorted(pairs)


def _windows(array: Words) -> list[Words]:
    keep = telling(array)
    starts = range(0, max(1, len(array) - WINDOW + HOP), HOP)
    return [np.unique(array[start : start + WINDOW][keep[start : start + WINDOW]]) for start in starts]
