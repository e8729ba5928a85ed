"""Two fingerprints -> how they lie on each other, or None.

Equal words (their top 24 bits) vote for offsets, where those around them are alike too; at each of the best offsets the
words are XORed, and the stretch with the fewest differing bits is found (Kadane on .30 minus the bit error).  Of one
side all ways of hearing it can be given: its phases, which begin parts of a step later, so that one of them begins
nearly when the other side's words do; their votes are taken together.  The bit error alone is not safe: drones, held
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

from leakscan import chroma, scores
from leakscan.chroma import Chroma, Singles
from leakscan.fingerprints import STEP_S, WINDOW_S, Words, later_words, telling, words
from leakscan.model import Alignment, Fingerprint

GAP_S = 3.0
"""From that on a gap in a stretch is no chance: in these seconds something else sounds."""

MIN_WORDS = 33  # 6.7 s of audio; less is too short to tell recordings apart

_UNHEARD = np.uint32(8)  # the lowest bits of a word, which do not vote
_UNHEARD_IN_EXCERPTS = np.uint32(4)
_QUARTERS = 4  # of a step: what phases are late by
_AROUND = 32  # words
_ALIKE = 0.25  # bit error of these
_CHUNK = 1 << 16
# Where a stretch ends inside both recordings, words over the seam agree while most of what they look at is shared.
# Measured: 170 pieces of 20 s inside other recordings are told 2.26 s too long (90 % of them 1.5 to 3.1 s).
_SEAM_S = 1.13
_MAX_REPEATS = 32  # a word that recurs more often than this in a recording does not vote
_HOT = 1 << 14  # a word that is in a pool more often than this does not vote: memory stays bounded
_OFFSETS = 6
_TOLERATED = 0.30  # bit error at which a stretch neither gains nor loses
_WRONG_OFFSETS = tuple(sign * step for step in range(8, 41, 4) for sign in (-1, 1))
_MIN_BASELINE = 16  # words
_MAX_SPEED = 0.08
_MAX_DRIFT = 12  # words: music that repeats must not be taken for drift
_MIN_DRIFT = 0.5  # words
_CLEARLY_BETTER = 0.01  # bit error
_MOMENT = 24  # words, 3 s
_UNLIKE = 0.35  # bit error of a moment; those of strangers are nearly all higher

Ints = npt.NDArray[np.int64]
Grade = Literal["A", "B", "C"]


@dataclass(frozen=True, slots=True)
class _Class:
    grade: Grade
    seconds: float
    bit_error: float
    ratio: float
    distinct: int
    counted: tuple[int, int] | None = None  # of those accepted, how many were right; where no score is fitted

    def score(self, distinct: int, seconds: float, ratio: float, among: int) -> float:
        """The probability that an alignment is the same recording: fitted, else by Laplace's rule of succession."""
        if self.counted is None:
            return scores.score(distinct, seconds, ratio, among)
        right, accepted = self.counted
        return (right + 1) / (accepted + 2)


# A: the same recording; B: the same, altered or partial; C: related (a remaster, another speed, a shared loop), for
# review.  Seconds are of audio: a stretch of n words is (n - 1) * 0.124 + 2.72 s long.
_CLASSES = (
    _Class("A", 6.6, 0.12, 0.35, 16),
    _Class("B", 10.6, 0.20, 0.50, 16),
    _Class("C", 14.6, 0.27, 0.65, 40),
)
# what is shorter; distinct words are those that are shared
_EXCERPT = _Class("B", 0.0, 0.20, 0.50, 5)
# Where the certainty of bits is known, bit errors are shares of it; what is transposed is for review.  Counted: 30 s
# crops with another tone colour, one channel or echo of 102 recordings, and 45 s of 9 of them at four other pitches, as
# benchmarks/chroma.py accepts them; relatives are left out.
_BY_CERTAINTY = (_Class("B", 9.5, 0.18, 0.50, 16, (402, 402)),)
_TRANSPOSED = (_Class("C", 14.6, 0.18, 0.50, 40, (36, 36)),)
_TOLERATED_CERTAINTY = 0.25
_LEAST_CERTAIN = 8  # bits of a word, that may have been otherwise
_EXCERPT_WORDS = 32  # different ones over the phases, without which an excerpt tells too little


@dataclass(frozen=True)
class Track:
    """A fingerprint made ready for many alignments: its words, and those that vote, sorted, with their positions.

    `late` is how many quarters of a step after the recording the words begin, and `speed` how fast it was played.
    `certainty` is that of each bit of the words (chroma.Reading), where it is known, and `rotation` by how many
    quarters of a semitone they were transposed.
    """

    fingerprint: Fingerprint
    words: Words = field(repr=False)
    keys: Words = field(repr=False)
    positions: Ints = field(repr=False)
    late: int = 0
    speed: float = 1.0
    certainty: Singles | None = field(default=None, repr=False)
    rotation: int = 0


@dataclass(frozen=True)
class Pool:
    """Tracks to search in: the voting words of all of them, sorted, with position and number of the track.

    `words` are those of all tracks end to end; those of a track begin at `starts`.
    """

    tracks: tuple[Track, ...]
    keys: Words = field(repr=False)
    positions: Ints = field(repr=False)
    owners: Ints = field(repr=False)
    words: Words = field(repr=False)
    starts: Ints = field(repr=False)
    lengths: Ints = field(repr=False)


def prepare(fp: Fingerprint) -> Track:
    """A fingerprint from its very start on, to be searched in, or for; do it once for one that is aligned with many."""
    return track(fp, words(fp))


def hearings(fp: Fingerprint, speed: float = 1.0) -> tuple[Track, ...]:
    """All ways in which a fingerprint hears its recording, played at a speed: from its start on, and by its phases."""
    return tuple(track(fp, array, late, speed) for late, array in enumerate((words(fp), *later_words(fp))))


def readings(fp: Fingerprint, phases: Sequence[Chroma], rotation: int = 0) -> tuple[Track, ...]:
    """The ways in which a recording is heard whose samples are at hand, from its start on and by its phases.

    They vote for what their least certain bits may have been, too, and every bit counts by its certainty.
    """
    return tuple(_reading(fp, late, phase, rotation) for late, phase in enumerate(phases))


def _reading(fp: Fingerprint, late: int, phase: Chroma, rotation: int) -> Track:
    reading = chroma.read(phase, rotation)
    at = np.flatnonzero(telling(reading.words))
    keys = chroma.variants(reading, _LEAST_CERTAIN, int(_UNHEARD))[at, 1:]
    heard = track(fp, reading.words, late, 1.0, (keys.ravel(), np.repeat(at, _LEAST_CERTAIN)))
    return replace(heard, certainty=reading.certainty, rotation=rotation)


def track(
    fp: Fingerprint, array: Words, late: int = 0, speed: float = 1.0, also: tuple[Words, Ints] | None = None
) -> Track:
    """One way of hearing a recording: words that begin `late` quarters of a step after it.

    `also` are further words that vote, with the positions that they vote for: what uncertain words may have been.
    """
    at = np.flatnonzero(telling(array))
    _, position, repeats = np.unique(array[at] >> _UNHEARD, return_inverse=True, return_counts=True)
    at = at[repeats[position] <= _MAX_REPEATS]
    keys = array[at]
    if also is not None:
        keys, at = np.concatenate((keys, also[0])), np.concatenate((at, also[1]))
    order = np.argsort(keys, kind="stable")
    return Track(fp, array, keys[order], at[order], late, speed)


def gather(tracks: Sequence[Track]) -> Pool:
    """A pool of tracks, for `search`."""
    lengths = np.array([len(track.words) for track in tracks], np.int64)
    keys = np.concatenate([np.zeros(0, np.uint32), *(track.keys for track in tracks)])
    positions = np.concatenate([np.zeros(0, np.int64), *(track.positions for track in tracks)])
    owners = np.repeat(np.arange(len(tracks)), [len(track.keys) for track in tracks])
    order = np.argsort(keys, kind="stable")
    whole = np.concatenate([np.zeros(0, np.uint32), *(track.words for track in tracks)])
    starts = np.cumsum(lengths) - lengths
    return Pool(tuple(tracks), keys[order], positions[order], owners[order], whole, starts, lengths)


def align(a: Fingerprint, b: Fingerprint) -> Alignment | None:
    """How b lies on a, or None when they share no recognisable stretch (or are silent, constant or too short)."""
    return align_tracks(hearings(a), prepare(b))


def touch(a: Words, b: Words, offset: int) -> bool:
    """Whether words that lie on each other at an offset share a stretch that may make an alignment."""
    return _stretch(a, b, offset) is not None


def align_tracks(a: Sequence[Track], b: Track, among: int = 1) -> Alignment | None:
    """`align` for fingerprints that were prepared; b is one `among` so many, all of which are tried."""
    pool = Pool(
        (b,), b.keys, b.positions, np.zeros(len(b.keys), np.int64), b.words,
        np.zeros(1, np.int64), np.array([len(b.words)]),
    )  # fmt: skip
    return next((found for _, found in search(a, pool, among)), None)


def offset_error(fp: Fingerprint, found: Alignment) -> float:
    """By how many seconds the offset of an alignment of a fingerprint may be wrong: half a step, 0.062 s.

    With phases and of grade A a quarter, 0.031 s.  Measured on full and 30 s copies of 192 recordings at random phase:
    of 3,352 that were re-encoded, or have noise added, all are within, and 99.7 % of 341 with another tone colour or
    one channel; of 209 altered ones of grade B 99 % are within half a step.  Where a recording repeats itself, the
    offset may be that of another of its repeats.
    """
    return STEP_S / (4 if fp.phases and found.grade == "A" else 2)


def identity(fp: Fingerprint) -> Alignment:
    """The alignment of two recordings that are known to be equal, whatever their length and sound."""
    whole = (0.0, fp.duration)
    return Alignment(0.0, whole, whole, 0.0, 0.0, len(np.unique(words(fp))), "A", 1.0)


def search(a: Sequence[Track], pool: Pool, among: int | None = None) -> list[tuple[int, Alignment]]:
    """Every track of the pool that shares a stretch with a recording, as (number, how it lies on that).

    `a` are ways of hearing one recording: what each finds is taken together.  A word in common counts where those
    around it are alike, too; tracks without such words cost nothing, and the others what `align_tracks` costs.
    `among` is how many recordings are tried in all, by default those of the pool: with more of them chance scores more.
    """
    among = len(pool.tracks) if among is None else among
    if all(len(track.words) < MIN_WORDS for track in a):
        return _search_excerpt(a, pool, among) if all(track.certainty is None for track in a) else []
    owners, votes = _votes(a, pool)
    runs = (part.tolist() for part in np.unique(owners, return_index=True, return_counts=True))
    found = []
    for number, start, count in zip(*runs, strict=True):
        alignment = _best(a, pool.tracks[number], votes[start : start + count], among)
        if alignment is not None:
            found.append((number, alignment))
    return found


def alike(a: Sequence[Track], pool: Pool) -> list[int]:
    """The numbers of the tracks of a pool that may share a stretch with a recording: what `search` aligns."""
    numbers: list[int] = np.unique(_votes(a, pool)[0]).tolist()
    return numbers


def _votes(a: Sequence[Track], pool: Pool) -> tuple[Ints, Ints]:
    """The words that ways of hearing a recording share with a pool, where those around are alike: whose, sorted, and at
    which offset, in quarters of a step."""
    numbers, offsets = [], []
    for one in a:
        own, other = _hits(one.keys, pool.keys, _UNHEARD)
        at, position, owner = one.positions[own], pool.positions[other], pool.owners[other]
        kept = are_alike(
            one.words, at, np.zeros(len(at), np.int64), np.full(len(at), len(one.words)),
            pool.words, pool.starts[owner] + position, pool.starts[owner], pool.starts[owner] + pool.lengths[owner],
        )  # fmt: skip
        numbers.append(owner[kept])
        offsets.append(_QUARTERS * (at[kept] - position[kept]) + one.late)
    owners, votes = np.concatenate(numbers), np.concatenate(offsets)
    order = np.argsort(owners, kind="stable")
    return owners[order], votes[order]


def are_alike(
    a: Words, at_a: Ints, first_a: Ints, end_a: Ints, b: Words, at_b: Ints, first_b: Ints, end_b: Ints
) -> npt.NDArray[np.bool_]:
    """Whether the words around a shared one are alike: at most a quarter of the bits of 32 words differ.

    Word `at_a` of a is that at `at_b` of b, for each of many; the recordings that hold them reach from `first` to
    `end`.  False where the recordings, laid on each other there, have fewer than 32 words in common.  Measured on the
    words that 119 recordings share with copies of them: this keeps 99.9 % with echo, nearly all others, and drops
    97.7 % of what strangers share.
    """
    low = np.maximum(first_a - at_a, first_b - at_b)
    high = np.minimum(end_a - at_a, end_b - at_b) - _AROUND
    start = np.clip(-_AROUND // 2, low, high)
    alike: npt.NDArray[np.bool_] = low <= high
    room = np.flatnonzero(alike)
    for begin in range(0, len(room), _CHUNK):
        part = room[begin : begin + _CHUNK]
        own = a[(at_a[part] + start[part])[:, None] + np.arange(_AROUND)]
        other = b[(at_b[part] + start[part])[:, None] + np.arange(_AROUND)]
        alike[part] = np.bitwise_count(own ^ other).sum(axis=1, dtype=np.int64) <= _ALIKE * 32 * _AROUND
    return alike


def _hits(a: Words, b: Words, unheard: np.uint32) -> tuple[Ints, Ints]:
    """The pairs of keys that are equal but for the lowest bits, of two sorted arrays, as positions in each; without
    those that are in b too often to tell anything."""
    low = np.searchsorted(b, (a >> unheard) << unheard, "left")
    count = np.searchsorted(b, a | np.uint32((1 << int(unheard)) - 1), "right") - low
    count[count > _HOT] = 0
    in_run = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(np.arange(len(a)), count), np.repeat(low, count) + in_run


def _best(a: Sequence[Track], b: Track, votes: Ints, among: int) -> Alignment | None:
    """The best alignment at or near the offsets (position in a minus that in b, in quarters) with most votes.

    The best is that which gains most; what is only related comes last.  The stretch of every offset is judged: taking
    only the offset with most votes lets a static tail hide a match.
    """
    by_phase = {track.late: track for track in reversed(a)}
    reach = _QUARTERS if len(by_phase) == 1 else _QUARTERS // 2
    stretches = []
    for value in sorted({top + step for top in _peaks(votes) for step in range(-reach, reach + 1)}):
        offset, late = divmod(value, _QUARTERS)
        if (
            late in by_phase
            and (found := _stretch(by_phase[late].words, b.words, offset, by_phase[late].certainty)) is not None
        ):
            stretches.append((found, by_phase[late]))
    best = None
    for stretch, track in sorted(stretches, key=lambda one: -one[0].gain):
        judged = _judge(a, track, b, stretch, among)
        if judged is not None and judged.grade != "C":
            return judged
        best = best or judged
    return best


def _peaks(votes: Ints) -> list[int]:
    """The offsets with most votes within half a step, apart from each other by more than that; best first."""
    half = _QUARTERS // 2
    values, counts = np.unique(votes, return_counts=True)
    total = np.append(0, np.cumsum(counts))
    near = total[np.searchsorted(values, values + half, "right")] - total[np.searchsorted(values, values - half)]
    peaks: list[int] = []
    for value in values[np.lexsort((values, -counts, -near))].tolist():
        if len(peaks) < _OFFSETS and all(abs(value - peak) > half for peak in peaks):
            peaks.append(value)
    return peaks


def is_too_short(fp: Fingerprint) -> bool:
    """Whether a fingerprint tells too little: under 4.6 s, or under 6.7 s and not 32 different words in its phases."""
    return len(fp) < MIN_WORDS and not _is_excerpt(hearings(fp))


def repeats_itself(track: Track) -> bool:
    """Whether no word of a recording votes, because all recur too often: that of a loop of few seconds, again and
    again.  It matches nothing, not even itself."""
    return len(track.words) >= MIN_WORDS and not len(track.keys)


def _is_excerpt(a: Sequence[Track]) -> bool:
    """Whether less than 33 words are enough to search for."""
    different = np.unique(np.concatenate([one.keys for one in a]))
    return len(a[0].words) >= _MIN_BASELINE and len(different) >= _EXCERPT_WORDS


def _search_excerpt(a: Sequence[Track], pool: Pool, among: int) -> list[tuple[int, Alignment]]:
    """`search` for a recording of less than 33 words: by the different words that all its phases share at one offset.

    Measured on 5 s crops of 192 recordings: 185 have 32 different words over four phases, and all of these are found.
    """
    if not _is_excerpt(a):
        return []
    numbers, offsets, shared = [], [], []
    for track in a:
        own, other = _hits(track.keys, pool.keys, _UNHEARD_IN_EXCERPTS)
        numbers.append(pool.owners[other])
        offsets.append(_QUARTERS * (track.positions[own] - pool.positions[other]) + track.late)
        shared.append(track.keys[own])
    owners, votes, keys = (np.concatenate(parts) for parts in (numbers, offsets, shared))
    found = []
    for number in np.flatnonzero(np.bincount(owners) >= _EXCERPT.distinct).tolist():
        its = owners == number
        alignment = _best_excerpt(a, pool.tracks[number], votes[its], keys[its], among)
        if alignment is not None:
            found.append((number, alignment))
    return found


def _best_excerpt(a: Sequence[Track], b: Track, votes: Ints, keys: Words, among: int) -> Alignment | None:
    """The alignment with the least bit error at an offset that enough different words vote for."""
    stretches = []
    for peak in _peaks(votes):
        distinct = len(np.unique(keys[abs(votes - peak) <= _QUARTERS // 2]))
        for track in a if distinct >= _EXCERPT.distinct else ():
            offset = round((peak - track.late) / _QUARTERS)
            whole = _Stretch(offset, max(0, offset), min(len(track.words), len(b.words) + offset), 1.0, 0.0)
            bit_error = _error_at(track.words, b.words, whole, offset)
            if bit_error is not None:
                stretches.append((bit_error, offset, track.late, replace(whole, bit_error=bit_error), track, distinct))
    for *_, stretch, track, distinct in sorted(stretches, key=lambda one: one[:3]):
        ratio = _ratio(track.words, b.words, stretch)
        if stretch.bit_error <= _EXCERPT.bit_error and ratio <= _EXCERPT.ratio:
            score = _EXCERPT.score(distinct, _seconds(stretch), ratio, among)
            return _alignment(a, track, b, stretch, ratio, distinct, _EXCERPT.grade, score)
    return None


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Words `first` to `end` of a, as they lie on b's at an offset."""

    offset: int
    first: int
    end: int
    bit_error: float
    gain: float


def _stretch(a: Words, b: Words, offset: int, certainty: Singles | None = None) -> _Stretch | None:
    """The stretch at an offset that gains most; None when it is too short or differs too much for any grade."""
    start = max(0, offset)
    stop = min(len(a), len(b) + offset)
    if stop - start < MIN_WORDS:
        return None
    differing = a[start:stop] ^ b[start - offset : stop - offset]
    if certainty is None:
        errors, most, tolerated = np.bitwise_count(differing), np.full(len(differing), 32), _TOLERATED
    else:
        sure = certainty[start:stop]
        errors, most, tolerated = chroma.weigh(differing, sure), sure.sum(1), _TOLERATED_CERTAINTY
    gain = np.zeros(len(errors) + 1)
    np.cumsum(tolerated * most - errors, out=gain[1:])
    rise = gain - np.minimum.accumulate(gain)
    end = int(np.argmax(rise))
    first = int(np.argmin(gain[: end + 1]))
    if end - first < MIN_WORDS:
        return None
    bit_error = float(errors[first:end].sum() / most[first:end].sum())
    if bit_error > _CLASSES[-1].bit_error:
        return None
    return _Stretch(offset, start + first, start + end, bit_error, float(rise[end]))


def _seconds(stretch: _Stretch) -> float:
    """Of audio, that the words of a stretch look at."""
    return (stretch.end - stretch.first - 1) * STEP_S + WINDOW_S


def _judge(phases: Sequence[Track], a: Track, b: Track, stretch: _Stretch, among: int) -> Alignment | None:
    """The alignment that a stretch of a, one of the phases, amounts to, of the best grade whose conditions it meets."""
    seconds = _seconds(stretch)
    distinct = len(np.unique(a.words[stretch.first : stretch.end]))
    ratio = _ratio(a.words, b.words, stretch, a.certainty)
    for kind in _classes(a):
        if (
            seconds >= kind.seconds
            and stretch.bit_error <= kind.bit_error
            and ratio <= kind.ratio
            and distinct >= kind.distinct
        ):
            score = kind.score(distinct, seconds, ratio, among)
            return _alignment(phases, a, b, stretch, ratio, distinct, kind.grade, score)
    return None


def _classes(a: Track) -> tuple[_Class, ...]:
    if a.certainty is None:
        return _CLASSES
    return _TRANSPOSED if a.rotation else _BY_CERTAINTY


def _alignment(
    phases: Sequence[Track],
    a: Track,
    b: Track,
    stretch: _Stretch,
    ratio: float,
    distinct: int,
    grade: Grade,
    score: float,
) -> Alignment:
    speed = round(_speed(a, b, stretch) / a.speed, 4)
    middle = (stretch.first + stretch.end) / 2 + a.late / _QUARTERS  # there the offset is right whatever the speed
    start = middle - (middle - _offset(phases, a, b, stretch)) / (speed * a.speed)
    alike, gap = _held(a.words, b.words, stretch)
    seams = stretch.first > max(0, stretch.offset), stretch.end < min(len(a.words), len(b.words) + stretch.offset)
    return Alignment(
        offset_s=round(start * STEP_S * a.speed, 3) + 0.0,  # no -0.0
        span_a=_span(stretch, 0, a, seams),
        span_b=_span(stretch, stretch.offset, b, seams),
        bit_error=stretch.bit_error,
        ratio=ratio,
        distinct=distinct,
        grade=grade,
        score=score,
        speed=speed,
        pitch=-a.rotation / chroma.FINE + 0.0,  # no -0.0
        alike=alike,
        gap_s=round(gap * STEP_S * a.speed, 3),
    )


def _held(a: Words, b: Words, stretch: _Stretch) -> tuple[float, int]:
    """The share of a stretch whose moments are alike, and the most words in a row whose are not: a stretch goes over
    what was replaced or muted in the midst of it."""
    first, end, offset = stretch.first, stretch.end, stretch.offset
    errors = np.bitwise_count(a[first:end] ^ b[first - offset : end - offset]).astype(np.float64)
    total = np.append(0.0, np.cumsum(errors))
    centre = np.arange(len(errors))
    low, high = np.maximum(centre - _MOMENT // 2, 0), np.minimum(centre + _MOMENT // 2, len(errors))
    unlike = total[high] - total[low] > _UNLIKE * 32 * (high - low)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], unlike, [False])).astype(np.int8)))
    return float(1 - unlike.mean()), int((edges[1::2] - edges[::2]).max(initial=0))


def _offset(phases: Sequence[Track], a: Track, b: Track, stretch: _Stretch) -> float:
    """Where the start of b lies on the recording, in steps: the mean of what all phases say of a stretch of one."""
    said = {}
    for phase in phases:
        later = round(stretch.offset + (a.late - phase.late) / _QUARTERS)
        whole = replace(stretch, offset=later)
        if _error_at(phase.words, b.words, whole, later) is not None:
            said[phase.late] = later + phase.late / _QUARTERS + _fraction(phase.words, b.words, whole)
    return sum(said.values()) / len(said)


def _ratio(a: Words, b: Words, stretch: _Stretch, certainty: Singles | None = None) -> float:
    """The bit error against that of the same stretch at wrong offsets nearby (median); 1 when none can be tried."""
    errors = (_error_at(a, b, stretch, stretch.offset + shift, certainty) for shift in _WRONG_OFFSETS)
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


def _speed(a: Track, b: Track, stretch: _Stretch) -> float:
    """How much faster a runs than b, from the drift of the offset between the halves of a stretch.

    1.0 unless the halves disagree by half a word or more: over a stretch of 10 s that is 1.5 %, over 60 s 0.2 %.
    Right to about 0.5 %.  Where a was played at another speed to find it, any drift is taken for what that left over.
    """
    half = (stretch.end - stretch.first) // 2
    if half < _MIN_BASELINE:
        return 1.0
    reach = min(_MAX_DRIFT, math.ceil(_MAX_SPEED * half))
    early = replace(stretch, end=stretch.first + half)
    late = replace(stretch, first=stretch.end - half)
    drift = _local_offset(a.words, b.words, late, reach) - _local_offset(a.words, b.words, early, reach)
    distance = late.first - early.first - drift  # on b's time line
    return 1.0 if a.speed == 1.0 and abs(drift) < _MIN_DRIFT else distance / (distance + drift)


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


def _error_at(a: Words, b: Words, stretch: _Stretch, offset: int, certainty: Singles | None = None) -> float | None:
    """The bit error of a stretch of a at another offset, as far as b reaches; None when that leaves too little."""
    first = max(stretch.first, offset)
    end = min(stretch.end, len(a), len(b) + offset)
    if end - first < _MIN_BASELINE:
        return None
    differing = a[first:end] ^ b[first - offset : end - offset]
    if certainty is None:
        return int(np.bitwise_count(differing).sum()) / (32 * (end - first))
    sure = certainty[first:end]
    return float(chroma.weigh(differing, sure).sum() / sure.sum())


def _span(stretch: _Stretch, offset: int, track: Track, seams: tuple[bool, bool]) -> tuple[float, float]:
    """The audio that the words of a stretch look at, in seconds; `seams` says whether either end of it is a seam."""
    first, end, duration = stretch.first - offset, stretch.end - offset, track.fingerprint.duration
    start = (first + track.late / _QUARTERS) * STEP_S * track.speed
    stop = start + ((end - first - 1) * STEP_S + WINDOW_S) * track.speed
    early, late = (_SEAM_S * track.speed * seam for seam in seams)
    # the last word may end up to one step before the audio does: a stretch to the last word reaches the end
    return (0.0 if first == 0 else start + early), duration if end == len(track.words) else min(stop - late, duration)
