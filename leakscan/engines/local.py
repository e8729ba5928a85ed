"""Which recordings share sound: a join of sketches by sorting, one band after the other, in this process.

Two windows are a pair when they share a minimum, that is a word.  The words around it must agree too before the pair is
worth an alignment: that drops most strangers, which share a word by chance, and keeps nearly all copies.  Nothing is
kept from band to band, so memory is that of the words and of one band's pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from leakscan import alignment, sketches
from leakscan.fingerprints import Words
from leakscan.sketches import Packed

_CROWD = 64  # a minimum in more windows than this
_CENTRES = 8  # ... links each to so many of them only

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Hits:
    """Where recordings are alike: `left` < `right`, and the position in left minus that in right; sorted, distinct.

    Positions are whole words of the rows that were packed: phases of a recording begin up to a word later than it.
    """

    left: Ints = field(repr=False)
    right: Ints = field(repr=False)
    offsets: Ints = field(repr=False)


def join(packed: Packed) -> Iterator[Hits]:
    """What is alike, band by band; the same hits again in many bands."""
    for band in range(sketches.PERMUTATIONS):
        minima = packed.minima(band)
        one, other = pairs(packed, minima)
        windows, places = np.unique(np.concatenate((one, other)), return_inverse=True)
        positions = packed.positions(band, windows, minima[windows])
        # the same words are in two windows each
        meeting = np.unique(positions[places[: len(one)]] * len(packed.words) + positions[places[len(one) :]])
        yield _alike(packed, *np.divmod(meeting, len(packed.words)))


def _alike(packed: Packed, one: Ints, other: Ints) -> Hits:
    """The hits among pairs of places in the packed words, the left recording first."""
    row_one, row_other = (np.searchsorted(packed.starts, at, "right") - 1 for at in (one, other))
    start, end = packed.starts, packed.starts + packed.lengths
    kept = alignment.are_alike(
        packed.words, one, start[row_one], end[row_one], packed.words, other, start[row_other], end[row_other]
    )
    row_one, row_other = row_one[kept], row_other[kept]
    offsets = one[kept] - start[row_one] - other[kept] + start[row_other]
    left, right = packed.recordings[row_one], packed.recordings[row_other]
    order = np.lexsort((offsets, right, left))
    left, right, offsets = left[order], right[order], offsets[order]
    fresh = np.append(True, (np.diff(left) != 0) | (np.diff(right) != 0) | (np.diff(offsets) != 0))[: len(left)]
    return Hits(left[fresh], right[fresh], offsets[fresh])


def pairs(packed: Packed, minima: Words) -> tuple[Ints, Ints]:
    """The pairs of windows of different recordings that share a minimum, the lower number first.

    Of a crowd of windows with one minimum (copies of one jingle, say) each is paired with eight that tell most.
    """
    recordings = packed.recordings[packed.rows]
    told = np.flatnonzero(minima != sketches.EMPTY)
    order = told[np.argsort(minima[told])]  # those with one minimum in any order
    values = minima[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    size = np.diff(np.append(first, len(values)))
    small = np.flatnonzero((size > 1) & (size <= _CROWD))
    rank = np.arange(int(size[small].sum())) - np.repeat(np.cumsum(size[small]) - size[small], size[small])
    start = np.repeat(first[small], size[small])
    # every window with all before it in its run
    later = np.repeat(start + rank, rank)
    earlier = np.repeat(start, rank) + np.arange(len(later)) - np.repeat(np.cumsum(rank) - rank, rank)
    ones, others = [order[earlier]], [order[later]]
    for number in np.flatnonzero(size > _CROWD).tolist():
        crowd = np.sort(order[first[number] : first[number] + size[number]])
        best_first = crowd[np.argsort(-packed.telling_words(crowd), kind="stable")]
        _, own = np.unique(recordings[best_first], return_index=True)
        centres = best_first[np.sort(own)[:_CENTRES]]  # of different recordings
        left, right = (side.ravel() for side in np.meshgrid(centres, crowd))
        ones.append(left)
        others.append(right)
    left, right = np.concatenate(ones), np.concatenate(others)
    one, other = np.minimum(left, right), np.maximum(left, right)
    apart = recordings[one] != recordings[other]
    return one[apart], other[apart]
