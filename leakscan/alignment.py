"""Two fingerprints -> how they lie on each other, or None.

Equal words (their top 24 bits) vote for offsets; at each of the best offsets the words are XORed, and the stretch with
the fewest differing bits is found (Kadane on .30 minus the bit error).  The bit error alone is not safe: drones, held
chords and fade-outs agree with themselves everywhere.  What is safe is the ratio of the bit error to that of the same
stretch at wrong offsets nearby, so silence and constant audio, which fit everywhere, give None.

Thresholds: measured on 733 recordings of game music; all 268,278 pairs of them gave 30 alignments, none found to be
false.  Speech over music, high-pass filters, pitch shifts and covers are not recognised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscan.fingerprints import STEP_S, WINDOW_S, Words, telling, words
from leakscan.model import Alignment, Fingerprint

MIN_WORDS = 33  # 6.7 s of audio; less is too short to tell recordings apart
OFFSET_ERROR_S = STEP_S / 2  # 0.062 s: two fingerprints of one recording start at any phase of a step

_KEY_SHIFT = 8  # the top 24 bits vote
_MAX_REPEATS = 32  # a word that recurs more often than this in a recording does not vote
_OFFSETS = 6
_TOLERATED = 0.30  # bit error at which a stretch neither gains nor loses
_WRONG_OFFSETS = tuple(sign * step for step in range(8, 41, 4) for sign in (-1, 1))
_MIN_BASELINE = 16  # words
_MAX_SPEED = 0.08
_MAX_DRIFT = 12  # words: music that repeats must not be taken for drift
_MIN_DRIFT = 0.5  # words
_CLEARLY_BETTER = 0.01  # bit error

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Class:
    grade: Literal["A", "B", "C"]
    seconds: float
    bit_error: float
    ratio: float
    distinct: int
    right: int
    accepted: int

    @property
    def score(self) -> float:
        """The probability that an alignment of this grade is the same recording, by Laplace's rule of succession."""
        return (self.right + 1) / (self.accepted + 2)


# A: the same recording; B: the same, altered or partial; C: related (a remaster, another speed, a shared loop), for
# review.  Seconds are of audio: a stretch of n words is (n - 1) * 0.124 + 2.72 s long.
# Counted: what benchmarks/real_music.py accepts (146, 134 and 32 altered copies of 30 tracks, none wrong, against
# 10,440 wrong pairs) and what was accepted among the 733 recordings (15, 11 and 4 pairs; four of B and all of C are the
# same music in another recording).  The scores know nothing of how many references there are.
_CLASSES = (
    _Class("A", 6.6, 0.12, 0.35, 16, right=161, accepted=161),
    _Class("B", 10.6, 0.20, 0.50, 16, right=141, accepted=145),
    _Class("C", 14.6, 0.27, 0.65, 40, right=32, accepted=36),
)


@dataclass(frozen=True)
class Track:
    """A fingerprint made ready for many alignments: its words, and the words that vote, sorted, with positions."""

    fingerprint: Fingerprint
    words: Words = field(repr=False)
    keys: Words = field(repr=False)
    positions: Ints = field(repr=False)


@dataclass(frozen=True)
class Pool:
    """Tracks to search in: the voting words of all of them, sorted, with position and number of the track."""

    tracks: tuple[Track, ...]
    keys: Words = field(repr=False)
    positions: Ints = field(repr=False)
    owners: Ints = field(repr=False)


def prepare(fp: Fingerprint) -> Track:
    """What `align_tracks` needs of a fingerprint; do it once for one that is aligned with many."""
    array = words(fp)
    at = np.flatnonzero(telling(array)) if len(array) >= MIN_WORDS else np.zeros(0, np.int64)
    _, position, repeats = np.unique(array[at] >> np.uint32(_KEY_SHIFT), return_inverse=True, return_counts=True)
    at = at[repeats[position] <= _MAX_REPEATS]
    voting = array[at] >> np.uint32(_KEY_SHIFT)
    order = np.argsort(voting, kind="stable")
    return Track(fp, array, voting[order], at[order])


def gather(tracks: Sequence[Track]) -> Pool:
    """A pool of tracks, for `search`."""
    empty = np.zeros(0, np.int64)
    keys = np.concatenate([empty.astype(np.uint32), *(track.keys for track in tracks)])
    positions = np.concatenate([empty, *(track.positions for track in tracks)])
    owners = np.repeat(np.arange(len(tracks)), [len(track.keys) for track in tracks])
    order = np.argsort(keys, kind="stable")
    return Pool(tuple(tracks), keys[order], positions[order], owners[order])


def align(a: Fingerprint, b: Fingerprint) -> Alignment | None:
    """How b lies on a, or None when they share no recognisable stretch (or are silent, constant or too short)."""
    return align_tracks(prepare(a), prepare(b))


def align_tracks(a: Track, b: Track) -> Alignment | None:
    """`align` for fingerprints that were prepared."""
    own, other = _hits(a.keys, b.keys)
    return _best(a, b, a.positions[own] - b.positions[other])


def identity(fp: Fingerprint) -> Alignment:
    """The alignment of two recordings that are known to be equal, whatever their length and sound."""
    whole = (0.0, fp.duration)
    return Alignment(0.0, whole, whole, 0.0, 0.0, len(np.unique(words(fp))), "A", 1.0)


def search(a: Track, pool: Pool) -> list[tuple[int, Alignment]]:
    """Every track of the pool that shares a stretch with a, as (number, how it lies on a).

    The answer is that of `align_tracks` for each; tracks without a voting word in common cost nothing.
    """
    own, other = _hits(a.keys, pool.keys)
    offsets, owners = a.positions[own] - pool.positions[other], pool.owners[other]
    order = np.argsort(owners, kind="stable")
    offsets, owners = offsets[order], owners[order]
    runs = (part.tolist() for part in np.unique(owners, return_index=True, return_counts=True))
    found = []
    for number, start, count in zip(*runs, strict=True):
        alignment = _best(a, pool.tracks[number], offsets[start : start + count])
        if alignment is not None:
            found.append((number, alignment))
    return found


def _hits(a: Words, b: Words) -> tuple[Ints, Ints]:
    """All pairs of equal keys of two sorted arrays, as positions in each."""
    low = np.searchsorted(b, a, "left")
    count = np.searchsorted(b, a, "right") - low
    in_run = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(np.arange(len(a)), count), np.repeat(low, count) + in_run


def _best(a: Track, b: Track, votes: Ints) -> Alignment | None:
    """The best alignment at the offsets (position in a minus position in b) with most votes, and their neighbours.

    The best is that of the best grade, then that which gains most.  The stretch of every offset is judged: taking only
    the offset with most votes lets a static tail hide a match.
    """
    values, counts = np.unique(votes, return_counts=True)
    top = values[np.lexsort((values, -counts))[:_OFFSETS]].tolist()
    offsets = sorted({value + near for value in top for near in (-1, 0, 1)})
    stretches = [stretch for offset in offsets if (stretch := _stretch(a.words, b.words, offset)) is not None]
    best = None
    for stretch in sorted(stretches, key=lambda one: -one.gain):
        found = _judge(a, b, stretch)
        if found is not None and (best is None or found.grade < best.grade):
            best = found
        if best is not None and best.grade == "A":  # no other can be better
            break
    return best


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Words `first` to `end` of a, as they lie on b's at an offset."""

    offset: int
    first: int
    end: int
    bit_error: float
    gain: float


def _stretch(a: Words, b: Words, offset: int) -> _Stretch | None:
    """The stretch at an offset that gains most; None when it is too short or differs too much for any grade."""
    start = max(0, offset)
    stop = min(len(a), len(b) + offset)
    if stop - start < MIN_WORDS:
        return None
    errors = np.bitwise_count(a[start:stop] ^ b[start - offset : stop - offset])
    gain = np.zeros(len(errors) + 1)
    np.cumsum(_TOLERATED * 32 - errors, out=gain[1:])
    rise = gain - np.minimum.accumulate(gain)
    end = int(np.argmax(rise))
    first = int(np.argmin(gain[: end + 1]))
    if end - first < MIN_WORDS:
        return None
    bit_error = int(errors[first:end].sum()) / (32 * (end - first))
    if bit_error > _CLASSES[-1].bit_error:
        return None
    return _Stretch(offset, start + first, start + end, bit_error, float(rise[end]))


def _judge(a: Track, b: Track, stretch: _Stretch) -> Alignment | None:
    """The alignment that a stretch amounts to, of the best grade whose conditions it meets."""
    first, end, offset = stretch.first, stretch.end, stretch.offset
    seconds = (end - first - 1) * STEP_S + WINDOW_S
    distinct = len(np.unique(a.words[first:end]))
    ratio = _ratio(a.words, b.words, stretch)
    for kind in _CLASSES:
        if (
            seconds >= kind.seconds
            and stretch.bit_error <= kind.bit_error
            and ratio <= kind.ratio
            and distinct >= kind.distinct
        ):
            exact = offset + _fraction(a.words, b.words, stretch)
            return Alignment(
                offset_s=round(exact * STEP_S, 3) + 0.0,  # no -0.0
                span_a=_span(first, end, a.fingerprint),
                span_b=_span(first - offset, end - offset, b.fingerprint),
                bit_error=stretch.bit_error,
                ratio=ratio,
                distinct=distinct,
                grade=kind.grade,
                score=kind.score,
                speed=_speed(a.words, b.words, stretch),
            )
    return None


def _ratio(a: Words, b: Words, stretch: _Stretch) -> float:
    """The bit error against that of the same stretch at wrong offsets nearby (median); 1 when none can be tried."""
    errors = (_error_at(a, b, stretch, stretch.offset + shift) for shift in _WRONG_OFFSETS)
    wrong = [error for error in errors if error is not None]
    baseline = float(np.median(wrong)) if wrong else 0.0
    return stretch.bit_error / baseline if baseline else 1.0


def _fraction(a: Words, b: Words, stretch: _Stretch) -> float:
    """How far, in words (-.5 to .5), the true offset lies from the best whole one.

    The bit error grows about evenly with the distance from the true offset, so its values one word to either side tell
    where between them the minimum lies.
    """
    before = _error_at(a, b, stretch, stretch.offset - 1)
    after = _error_at(a, b, stretch, stretch.offset + 1)
    if before is None or after is None or before + after == 0:
        return 0.0
    return min(0.5, max(-0.5, (before - after) / (before + after)))


def _speed(a: Words, b: Words, stretch: _Stretch) -> float:
    """How much faster a runs than b, from the drift of the offset between the halves of a stretch.

    1.0 unless the halves disagree by half a word or more: over a stretch of 10 s that is 1.5 %, over 60 s 0.2 %.
    Right to about 0.5 %.
    """
    half = (stretch.end - stretch.first) // 2
    if half < _MIN_BASELINE:
        return 1.0
    reach = min(_MAX_DRIFT, math.ceil(_MAX_SPEED * half))
    early = replace(stretch, end=stretch.first + half)
    late = replace(stretch, first=stretch.end - half)
    drift = _local_offset(a, b, late, reach) - _local_offset(a, b, early, reach)
    distance = late.first - early.first - drift  # on b's time line
    return 1.0 if abs(drift) < _MIN_DRIFT else round(distance / (distance + drift), 3)


def _local_offset(a: Words, b: Words, part: _Stretch, reach: int) -> float:
    """The offset at which a part of a stretch fits best, near that of the whole, interpolated."""
    errors = {shift: _error_at(a, b, part, part.offset + shift) for shift in range(-reach, reach + 1)}
    known = {shift: error for shift, error in errors.items() if error is not None}
    at_whole = errors[0]
    best = min(known, key=lambda shift: (known[shift], abs(shift)))
    if at_whole is None or at_whole <= known[best] + _CLEARLY_BETTER:  # held chords fit everywhere
        best = 0
    near = replace(part, offset=part.offset + best)
    return near.offset + _fraction(a, b, near)


def _error_at(a: Words, b: Words, stretch: _Stretch, offset: int) -> float | None:
    """The bit error of a stretch of a at another offset, as far as b reaches; None when that leaves too little."""
    first = max(stretch.first, offset)
    end = min(stretch.end, len(b) + offset)
    if end - first < _MIN_BASELINE:
        return None
    errors = np.bitwise_count(a[first:end] ^ b[first - offset : end - offset])
    return int(errors.sum()) / (32 * (end - first))


def _span(first: int, end: int, fp: Fingerprint) -> tuple[float, float]:
    """The audio that words look at, in seconds.  Where the likeness ends inside both recordings this is up to 2 s too
    far, since words over the seam still agree when most of what they look at is shared."""
    stop = (end - 1) * STEP_S + WINDOW_S
    # the last word may end up to one step before the audio does: a stretch to the last word reaches the end
    return first * STEP_S, fp.duration if end == len(fp) else min(stop, fp.duration)
