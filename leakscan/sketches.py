"""Fingerprints -> MinHash signatures, in bulk.

datasketch defines them (its scheme affine32, 32 permutations, seed 1, the words themselves as hash values); they are
computed here for all recordings at once, block by block, and are the same to the bit.  A Chromaprint word carries
nearly 32 bits, so whole words and one row a band are selective already: two windows are candidates when one of their
32 minima agrees.  Measured (100 re-encoded, cropped and damaged copies against 410 recordings): re-encodes and crops
of 20 s and more are all found, 10 s crops at .99; shorter words with more rows a band find less.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from datasketch import MinHash

from leakscan.fingerprints import SILENCE, Words, telling

HOP = 64  # words
WINDOW = 2 * HOP  # 15.8 s
PERMUTATIONS = 32
SEED = 1
BITS = 32
SENSITIVE_BITS = 28  # the top bits of a word: finds more of what was altered, and five times as many strangers
EMPTY = np.uint32(0xFFFFFFFF)  # datasketch's minimum over nothing

_CHUNK = 1 << 12  # blocks at a time: 1 MB, which stays in the cache

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Packed:
    """Many rows of words end to end, each in whole blocks of 64 words (two at least), filled up with silence.

    `starts` and `lengths` are those of the rows, in words; `recordings` tells of which recording each row is.  Windows
    are two neighbouring blocks of a row; `rows` and `firsts` (the block that each begins with) tell which, over all
    windows.  What is below the top `bits` of a word plays no part.
    """

    words: Words = field(repr=False)
    starts: Ints = field(repr=False)
    lengths: Ints = field(repr=False)
    recordings: Ints = field(repr=False)
    rows: npt.NDArray[np.int32] = field(repr=False)
    firsts: npt.NDArray[np.int32] = field(repr=False)
    bits: int
    _mixed: Words = field(repr=False)
    _told: npt.NDArray[np.bool_] = field(repr=False)

    def minima(self, band: int) -> Words:
        """One minimum of every window's signature; `EMPTY` for windows without a telling word."""
        factors, terms = _permutations()
        blocks = self._mixed.reshape(-1, HOP)
        lowest = np.empty(len(blocks), np.uint32)
        for start in range(0, len(blocks), _CHUNK):
            part = blocks[start : start + _CHUNK]
            lowest[start : start + _CHUNK] = (part * factors[band] + terms[band]).min(axis=1)
        lowest[~self._told] = EMPTY
        return np.minimum(lowest[self.firsts], lowest[self.firsts + 1])

    def positions(self, band: int, windows: Ints, minima: Words) -> Ints:
        """Where in `words` each of some windows holds (first) the word that its minimum in a band comes from."""
        factors, terms = _permutations()
        found = np.empty(len(windows), np.int64)
        for start in range(0, len(windows), _CHUNK):
            part = slice(start, start + _CHUNK)
            first = self.firsts[windows[part]].astype(np.int64) * HOP
            held = self.words[first[:, None] + np.arange(WINDOW)]
            same = _mix(held >> np.uint32(32 - self.bits)) * factors[band] + terms[band] == minima[part][:, None]
            found[part] = first + same.argmax(axis=1)
        return found

    def telling_words(self, windows: Ints) -> Ints:
        """How many different telling words each of some windows holds."""
        first = self.firsts[windows].astype(np.int64) * HOP
        held = self.words[first[:, None] + np.arange(WINDOW)]
        held = np.sort(np.where(telling(held.ravel()).reshape(held.shape), held, SILENCE), axis=1)
        return np.asarray((held[:, 1:] != held[:, :-1]).sum(axis=1))


def pack(rows: Sequence[Words], recordings: Sequence[int] | None = None, bits: int = BITS) -> Packed:
    """Rows of words made ready for sketching; what is near silence and what repeats the word before is left out.

    `recordings` are the numbers of the recordings that the rows are of, in order; by default each is one of its own.
    """
    lengths = np.array([len(one) for one in rows], np.int64)
    blocks = np.maximum(2, -(-lengths // HOP))
    ends = np.cumsum(blocks)
    starts = (ends - blocks) * HOP
    words = np.full(int(blocks.sum()) * HOP, SILENCE)
    for one, start in zip(rows, starts.tolist(), strict=True):
        words[start : start + len(one)] = one
    is_first = np.ones(int(blocks.sum()), np.bool_)
    is_first[ends - 1] = False  # a window begins with every block but the last
    mixed, told = _prepared(words, starts, bits)
    return Packed(
        words, starts, lengths,
        recordings=np.asarray(range(len(rows)) if recordings is None else recordings, np.int64),
        rows=np.repeat(np.arange(len(rows), dtype=np.int32), blocks - 1),
        firsts=np.flatnonzero(is_first).astype(np.int32),
        bits=bits, _mixed=mixed, _told=told,
    )  # fmt: skip


def signatures(recording: Words, bits: int = BITS) -> Words:
    """The signatures of a recording's windows: shape (windows, 32).  Windows without a telling word have none."""
    packed = pack([recording], bits=bits)
    made = np.stack([packed.minima(band) for band in range(PERMUTATIONS)], axis=1)
    return np.asarray(made[(made != EMPTY).any(axis=1)])


def _prepared(words: Words, starts: Ints, bits: int) -> tuple[Words, npt.NDArray[np.bool_]]:
    """The words mixed, and which blocks hold any telling word.

    Words that are not telling are overwritten by telling ones of their block, so that they change no minimum.
    """
    mixed, told = np.empty_like(words), np.empty(len(words) // HOP, np.bool_)
    for start in range(0, len(told), _CHUNK):
        part = slice(start * HOP, (start + _CHUNK) * HOP)
        before = words[part.start - 1] if start else SILENCE
        keep = telling(np.append(before, words[part]))[1:]
        own = starts[np.searchsorted(starts, part.start) : np.searchsorted(starts, part.stop)]
        alone = np.column_stack((np.full(len(own), SILENCE), words[own]))
        keep[own - part.start] = telling(alone.ravel())[1::2]  # the first of a row repeats nothing
        keep = keep.reshape(-1, HOP)
        # every word from the last telling one up to it, or else from the first in the block
        first = keep.argmax(axis=1).astype(np.uint8)[:, None]
        source = np.maximum.accumulate(np.where(keep, np.arange(HOP, dtype=np.uint8), first), axis=1)
        filled = np.take_along_axis(words[part].reshape(-1, HOP), source.astype(np.intp), axis=1)
        mixed[part] = _mix(filled.ravel() >> np.uint32(32 - bits))
        told[start : start + _CHUNK] = keep.any(axis=1)
    return mixed, told


def _mix(values: Words) -> Words:
    """The finalizer of MurmurHash3 (public domain), which datasketch applies to hash values before it permutes them."""
    values = (values ^ (values >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    values = (values ^ (values >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return np.asarray(values ^ (values >> np.uint32(16)))


@functools.cache
def _permutations() -> tuple[Words, Words]:
    """The factors and terms of datasketch's permutations: a minimum is the least of factor * word + term mod 2^32."""
    factors, terms = MinHash(num_perm=PERMUTATIONS, seed=SEED, hashfunc=int).permutations
    return np.asarray(factors, np.uint32), np.asarray(terms, np.uint32)
