"""Which of many recordings share sound, and how: words propose, of very many recordings sketches, alignments decide.

A recording is aligned with all that it may be like, until it is known to be like 32 others: of a crowd (a thousand
copies of one jingle, say) not every pair is looked at, but every member is held against a centre of the crowd.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from leakscan import alignment, fingerprints, sketches
from leakscan.alignment import Track
from leakscan.engines import local
from leakscan.model import Alignment, Fingerprint

CROWD = 32
FEW = 2_000
"""Up to so many recordings are proposed by all their words: that costs less than hearing one in ten of them."""

_PREPARED = 1 << 12  # recordings kept ready for alignment, 30 kB each

Pair = tuple[int, int]


def find(fps: Sequence[Fingerprint], bits: int = sketches.SENSITIVE_BITS, few: int = FEW) -> dict[Pair, Alignment]:
    """How fingerprints lie on each other, by pairs of their numbers, the lower one first.

    Up to `few` recordings are proposed by all their words, more by sketches.  Measured on 660 copies of 60 recordings,
    half of them with another tone colour, echo or one channel, of the pairs that aligning each with each finds:
    sketches of the top 28 bits of words miss 1.2 %, of all 32 4.2 %, at 1.1 times the cost, since nearly all strangers
    are dropped before they are aligned.
    """
    found = _Likenesses(fps)
    for left, right in _by_words(fps, found) if len(fps) <= few else _by_sketches(fps, bits, found):
        found.align(left, right)
    found.link_neighbours()
    found.link_crowds()
    return {pair: one for pair, one in sorted(found.aligned.items()) if one is not None}


def _by_words(fps: Sequence[Fingerprint], found: _Likenesses) -> Iterator[Pair]:
    """The pairs worth an alignment: not decided yet, and sharing words where those around are alike."""
    pool = alignment.gather([found.hearings(number)[0] for number in range(len(fps))])
    for number in range(len(fps)):
        if found.is_in_crowd(number):
            continue
        for other in alignment.alike(found.hearings(number), pool):
            pair = min(number, other), max(number, other)
            if number != other and not found.is_settled(*pair):
                yield pair


def _by_sketches(fps: Sequence[Fingerprint], bits: int, found: _Likenesses) -> Iterator[Pair]:
    """The pairs worth an alignment: not decided yet, and alike for long enough at some offset."""
    words = [fingerprints.words(fp) for fp in fps]
    rows = [(number, row) for number, fp in enumerate(fps) for row in (words[number], *fingerprints.later_words(fp))]
    packed = sketches.pack([row for _, row in rows], [number for number, _ in rows], bits)
    for hits in local.join(packed):
        for left, right, offset in zip(*(side.tolist() for side in (hits.left, hits.right, hits.offsets)), strict=True):
            if found.is_settled(left, right):
                continue
            reach = 1 if fps[left].phases or fps[right].phases else 0  # a phase lies up to a word later
            near = (offset, offset - reach, offset + reach)[: 1 + 2 * reach]
            if any(alignment.touch(words[left], words[right], one) for one in near):
                yield left, right


class _Likenesses:
    """The alignments made so far, and what is like what by them; what is only related is no likeness."""

    def __init__(self, fps: Sequence[Fingerprint]) -> None:
        self.fps = fps
        self.aligned: dict[Pair, Alignment | None] = {}
        self.near: dict[int, set[int]] = defaultdict(set)
        self.crowded: set[int] = set()
        self.hearings = functools.lru_cache(_PREPARED)(self._hear)

    def is_settled(self, left: int, right: int) -> bool:
        """Whether there is no need to align a pair: it was, or both are like so many that a centre will do."""
        if (left, right) in self.aligned:
            return True
        crowd = self._is_like_many(left) and self._is_like_many(right)
        if crowd:
            self.crowded.update((left, right))
        return crowd

    def is_in_crowd(self, number: int) -> bool:
        """Whether a recording is like so many that those which are not will have to come to it."""
        crowd = self._is_like_many(number)
        if crowd:
            self.crowded.add(number)
        return crowd

    def align(self, left: int, right: int) -> None:
        """Align a pair, left < right, unless that was done."""
        if (left, right) in self.aligned:
            return
        if self.fps[right].phases and not self.fps[left].phases:
            found = alignment.align_tracks(self.hearings(right), self.hearings(left)[0], len(self.fps))
            found = None if found is None else found.turned()
        else:
            found = alignment.align_tracks(self.hearings(left), self.hearings(right)[0], len(self.fps))
        self.aligned[left, right] = found
        if found is not None and found.grade != "C":
            self.near[left].add(right)
            self.near[right].add(left)

    def link_neighbours(self) -> None:
        """Align what has a neighbour in common: sketches may have missed it, and groups are judged by all links."""
        for neighbours in [sorted(near) for near in self.near.values() if len(near) < CROWD]:
            for left, right in itertools.combinations(neighbours, 2):
                if not self.is_settled(left, right):
                    self.align(left, right)

    def link_crowds(self) -> None:
        """Align all of a crowd with the one that is like most of them, and what is not like that with the next."""
        left = set(self.crowded)
        while left:
            centre = min(left, key=lambda number: (-len(self.near[number]), number))
            for other in _reached(centre, self.near, left):
                self.align(min(centre, other), max(centre, other))
            left -= self.near[centre] | {centre}

    def _is_like_many(self, number: int) -> bool:
        return len(self.near.get(number, ())) >= CROWD

    def _hear(self, number: int) -> Sequence[Track]:
        return alignment.hearings(self.fps[number])


def _reached(start: int, near: Mapping[int, set[int]], among: set[int]) -> list[int]:
    """What one comes to from a recording by likenesses among some, sorted."""
    seen, edge = {start}, {start}
    while edge:
        edge = (set().union(*(near[number] for number in edge)) & among) - seen
        seen |= edge
    return sorted(seen - {start})
