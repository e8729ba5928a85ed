"""The blocks of Matroska clusters that are already as the clean file has them, many at once; and frames laced in one.

Such a block is in its shortest form, alone or in a group with no more than its duration, and has one frame, in which
nothing is that no decoder reads.  These are nearly all, and a file has one for every few milliseconds.
Source: RFC 9559 (Matroska) section 10 (blocks, lacing), RFC 8794 (EBML) sections 4 and 6 (sizes).
"""

from __future__ import annotations

import contextlib
import functools
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from leakscan.ebml import HEAD, head, size
from leakscan.frames import Frames
from leakscan.ledgers import NOTHING, Seen
from leakscan.legible import LEAST as LEAST_TEXT
from leakscan.legible import refuse_tails, texts
from leakscan.model import Unreadable
from leakscan.wavpackframes import WavPack

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from leakscan.rows import Bytes, Whole

    Flags = npt.NDArray[np.bool_]

LEAST = 24
"""How many bytes there have to be where a block is found: more than a group and a block in it up to the sound."""

CLUSTER, SIMPLE_BLOCK, GROUP, BLOCK, DURATION = 0x1F43B675, 0xA3, 0xA0, 0xA1, 0x9B
LACED = 6
"""The bits of the flags of a block that a decoder needs: how its frames are laced."""

_XIPH, _FIXED, _EBML = 2, 4, 6

_SIMPLE = 0x80  # the flag that each simple block of sound has
_OTHER_FLAGS = 0xFF ^ _SIMPLE
_HEAD = 4  # bytes: the number of the track, the time, the flags
_DURATION_SIZE = 5  # bytes, at most
_CACHED = 1 << 17  # bytes that are searched at once
_SMALL = 1 << 20  # bytes of which any number of blocks is held
_APART = 64  # bytes of more data that there have to be for each block, or they would take many times the memory


class Usual(NamedTuple):
    """What the usual blocks of a track are: what looks into their frames, and how long these can be by their first
    byte, in ticks of the file."""

    frames: Frames | None
    longest: Sequence[int]


@dataclass(frozen=True, slots=True)
class Blocks:
    """The usual blocks in some bytes, by where in the file they start, also such as only look like one inside of
    another.

    `numbers` are those of their tracks, as they are coded, `relative` are their times in the cluster; `alone` is
    whether there is but one track, and `back` which of its blocks are played before the one in front of them.  `sounds`
    is, after a zero, where the sound of each begins and ends in turn, and a zero again; `ends` is where they or their
    group end.  `told` is what tells when they are played: of each the number of its track, its time, and what says its
    duration; `telling` is where that begins, and at last where all ends.  `breaks` are those behind which not the next
    one begins, `cut` the starts of such as are not there to their end.
    """

    starts: Whole
    numbers: Bytes
    relative: Whole
    alone: bool
    back: Sequence[int]
    sounds: Whole
    ends: Whole
    told: bytes
    telling: Whole
    breaks: Whole
    cut: frozenset[int]

    def run(self, start: int, limit: int) -> slice:
        """Those that lie end to end from `start` on and end by `limit`."""
        first = int(self.starts.searchsorted(start))
        if first == len(self.starts) or self.starts[first] != start:
            return slice(0, 0)
        stop = int(self.breaks[self.breaks.searchsorted(first)]) + 1
        if self.ends[stop - 1] > limit:
            stop = int(self.ends[:stop].searchsorted(limit, "right"))
        return slice(first, stop)

    def track(self, run: slice) -> int:
        """The number of the track of the first."""
        return int(self.numbers[run.start]) & 0x7F

    def spans(self, run: slice) -> Iterator[tuple[int, int, int, bool]]:
        """Of each track in it: its number, the time of its first and of its last block, and does it not go back?"""
        if self.alone:
            first, last = int(self.relative[run.start]), int(self.relative[run.stop - 1])
            forward = bisect_right(self.back, run.start) == bisect_left(self.back, run.stop)
            yield self.track(run), first, last, forward
            return
        numbers, relative = self.numbers[run], self.relative[run]
        for number in set(numbers.tobytes()):
            own = relative[numbers == number]
            yield number & 0x7F, int(own[0]), int(own[-1]), bool((own[1:] >= own[:-1]).all())

    def sound(self, run: slice, number: int, base: int, data: bytes) -> list[tuple[int, bytes]]:
        """The frames of a track in it, by where they begin in the file, of which `data` is what begins at `base`."""
        sounds = self.sounds[1:-1].reshape(-1, 2)[run]
        if not self.alone:
            sounds = sounds[self.numbers[run] & 0x7F == number]
        return [(begin, data[begin - base : end - base]) for begin, end in sounds.tolist()]

    def bounds(self, run: slice) -> Whole:
        """Where the head of each begins and its sound does, in turn; at last, where the run ends."""
        bounds = self.sounds[2 * run.start : 2 * run.stop + 2].copy()
        bounds[0], bounds[-1] = self.starts[run.start], self.ends[run.stop - 1]
        return bounds

    def times(self, run: slice) -> bytes:
        """What tells when they are played."""
        return self.told[self.telling[run.start] : self.telling[run.stop]]


def blocks(
    data: bytes,
    tracks: Mapping[int, Usual],
    base: int = 0,
    changed: Collection[int] = (),
    seen: Seen = NOTHING,
    first: int = 0,
    last: int = 0,
) -> Blocks | None:
    """The usual blocks in data that lie at `base`, from the element at offset `first` on, which is in a cluster up to
    offset `last`; of `tracks`, which go by the byte that the number of each is; but for those `changed`, which go by
    where in the file their sound begins.

    Frames that were `seen` together with the head of their block are not looked into: that is so with usual ones alone.
    None where there may be so many in many bytes that they have to be looked at bit by bit.
    Raises Unreadable as `Frames.odd` does.
    """
    import numpy as np

    held = np.frombuffer(data, np.uint8)
    found = _heads(held, list(tracks), np.asarray(seen.sounds)[::2], base)
    if found is None:
        return None
    starts = _starts(held, found)
    heads, ends, usual = _sized(held, starts + 1)
    stops, durations = ends.copy(), np.zeros(len(starts), np.int64)
    cut = ends > len(held)
    if len(groups := np.flatnonzero(held[starts] == GROUP)):
        heads[groups], stops[groups], fine = _sized(held, heads[groups] + 1)
        durations[groups], lasting = _durations(held, stops[groups], ends[groups])
        usual[groups] &= fine & (cut[groups] | lasting)
    begins = heads + _HEAD
    usual &= stops > begins
    cuts = frozenset((base + starts[usual & cut]).tolist())
    usual &= ~cut
    if changed:
        usual &= ~np.isin(begins, np.array(list(changed), np.int64) - base)
    numbers = held[heads]
    longest = np.full((256, 256), -1)  # by the number of the track and the first byte of the frame
    for number, track in tracks.items():
        longest[number] = track.longest
    usual &= durations <= longest[numbers, held[begins]]
    if not _seen(base + starts[usual], base + ends[usual], seen):
        usual &= _met(data, starts, ends, first, last)
        for number, track in tracks.items():
            if track.frames is not None:
                own = np.flatnonzero(usual & (numbers == number))
                own = _others(own, base + starts[own], base + stops[own], seen)
                own = own[_odd(data, begins[own], stops[own], track.frames)]
                usual[own] = _whole(data, begins[own], stops[own], track.frames)
    if not usual.all():
        starts, numbers, begins, stops, ends = (some[usual] for some in (starts, numbers, begins, stops, ends))
    relative = held[begins - 3].astype(np.int8).astype(np.int64) << 8 | held[begins - 2]
    told, telling = _told(held, begins, stops, ends)
    breaks = _breaks(starts, ends)
    back = (np.flatnonzero(relative[1:] < relative[:-1]) + 1).tolist()
    starts, ends, sounds = base + starts, base + ends, np.zeros(2 * len(starts) + 2, np.int64)
    sounds[1:-1:2], sounds[2:-1:2] = base + begins, base + stops
    return Blocks(starts, numbers, relative, len(tracks) == 1, back, sounds, ends, told, telling, breaks, cuts)


def _breaks(starts: Whole, ends: Whole) -> Whole:
    """The indexes of those behind which not the next one begins."""
    import numpy as np

    return np.flatnonzero(np.append(starts[1:], -1) != ends)


def _seen(starts: Whole, ends: Whole, seen: Seen) -> bool:
    """Whether all of these, which lie in the clean file from each start to its end, were `seen`."""
    import numpy as np

    last = _breaks(starts, ends)
    first = np.append(0, last[:-1] + 1)
    return not len(last) or seen.covers(np.column_stack((starts[first], ends[last])).ravel().tolist())


def _others(blocks: Whole, starts: Whole, ends: Whole, seen: Seen) -> Whole:
    """Those of some blocks, which lie in the clean file from each start to its end, that were not `seen`."""
    import numpy as np

    edges = np.column_stack((starts, ends)).ravel()
    runs = seen.runs(edges) if len(edges) else ()
    return np.concatenate([blocks[:0], *(blocks[run.start + 1 >> 1 : run.stop + 1 >> 1] for run in runs)])


def _odd(data: bytes, begins: Whole, stops: Whole, frames: Frames) -> list[int]:
    """Which of the frames that lie in these places have to be looked at: as if they lay end to end."""
    import numpy as np

    if not len(begins):
        return []
    if not _across(data, begins, stops):
        with contextlib.suppress(Unreadable):  # which counts bytes of sound alone
            return list(frames.odd(data, begins, stops))
    sounds = b"".join(map(data.__getitem__, map(slice, begins.tolist(), stops.tolist())))
    edges = np.append(0, np.cumsum(stops - begins))
    return list(frames.odd(sounds, edges[:-1], edges[1:]))


def _whole(data: bytes, begins: Whole, stops: Whole, frames: Frames) -> list[bool]:
    """Which of the frames in these places, that have to be looked at, stay as they are."""
    is_whole = functools.lru_cache(maxsize=16)(functools.partial(_is_whole, frames))  # silence repeats few frames
    return [is_whole(data[begin:stop]) for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True)]


def _is_whole(frames: Frames, frame: bytes) -> bool:
    """Whether a frame stays as it is.  Raises Unreadable where there is text in it."""
    if isinstance(frames, WavPack) or frames.cleaned(frame) is not frame:  # of WavPack no others have to be looked at
        return False
    refuse_tails(frame, (0,), (len(frame),))
    return True


def _across(data: bytes, begins: Whole, stops: Whole) -> bool:
    """Whether there may be text that begins in one of the frames and goes on in the next, or beyond that."""
    import numpy as np

    held = np.frombuffer(data, np.uint8)
    last = np.flatnonzero((held[stops[:-1] - 1] | held[begins[1:]]) < 0x80)  # text has bytes of seven bits
    short = stops - begins < LEAST_TEXT
    if short[last].any() or short[last + 1].any():
        return True
    pieces = np.ndarray((len(data) - LEAST_TEXT + 1,), f"V{LEAST_TEXT}", data, 0, (1,))  # from each place on
    around = pieces[np.column_stack((stops[last] - LEAST_TEXT, begins[last + 1]))]
    return bool(texts(around.tobytes()))


def _heads(held: Bytes, numbers: Sequence[int], sounds: Whole, base: int) -> Whole | None:
    """Where one of these numbers of a track is with usual flags behind it: in front of the sounds, if it is known where
    in the file they begin, else anywhere.  None where there are too many."""
    import numpy as np

    most = len(held) if len(held) <= _SMALL else len(held) // _APART
    if len(sounds):
        some = slice(*sounds.searchsorted((base + _HEAD, base + len(held))))
        if some.stop - some.start > most:
            return None
        heads = sounds[some] - base - _HEAD
        known = np.zeros(256, bool)
        known[numbers] = True
        usual: Whole = heads[known[held[heads]] & (held[heads + 3] & _OTHER_FLAGS == 0)]
        return usual
    found = [np.zeros(0, np.int64)]
    count = 0
    for offset in range(0, len(held) if numbers else 0, _CACHED):
        piece = held[offset : offset + _CACHED + 3]
        alike = piece[:-3] == numbers[0]
        for number in numbers[1:]:
            alike |= piece[:-3] == number
        alike &= piece[3:] & _OTHER_FLAGS == 0
        found.append(np.flatnonzero(alike) + offset)
        count += len(found[-1])
        if count > most:
            return None
    return np.concatenate(found)


def _starts(held: Bytes, heads: Whole) -> Whole:
    """Where something starts, in ascending order, that looks like a block of which one of these is the head behind its
    size, or a group that begins with one."""
    import numpy as np

    simple = held[heads + 3] == _SIMPLE
    starts = _before(held, heads[simple], SIMPLE_BLOCK)
    if len(others := heads[~simple]):
        starts = np.concatenate((starts, _before(held, _before(held, others, BLOCK), GROUP)))
    starts = starts[starts <= len(held) - LEAST]
    starts.sort(kind="stable")  # which takes least time where much is in order
    return starts


def _before(held: Bytes, bodies: Whole, kind: int) -> Whole:
    """Where the elements of this kind start that have one of these bodies, and a size of up to 3 bytes."""
    import numpy as np

    found = []
    for width in (2, 3, 1):  # nearly all have one of 2; what fits 3 may look as if it fits 1
        places = bodies - (width + 1)
        fits = (held[places] == kind) & (held[places + 1] >> 8 - width == 1) & (places >= 0)
        found.append(places[fits])
        bodies = bodies[~fits]
    return np.concatenate(found)


def _met(data: bytes, starts: Whole, ends: Whole, offset: int, limit: int) -> Flags:
    """Which of them are met on the way from this offset on, in a cluster up to the limit, and in the clusters that
    follow, from element to element."""
    import numpy as np

    found = np.zeros(len(starts), bool)
    breaks = _breaks(starts, ends)
    last = len(data) - LEAST
    while offset <= last:
        first = int(starts.searchsorted(offset)) if data[offset] in (SIMPLE_BLOCK, GROUP) else len(starts)
        if first < len(starts) and starts[first] == offset:
            end = int(breaks[breaks.searchsorted(first)]) + 1
            found[first:end] = True
            offset = int(ends[end - 1])
            continue
        element = head(data[offset : offset + HEAD])
        if element is None:  # other bytes
            if offset >= limit:
                break
            offset = limit
        elif element[0] == CLUSTER:
            offset += element[2]
            limit = offset + (element[1] or 0)
        else:
            offset += element[2] + (element[1] or 0)
    return found


def _sized(held: Bytes, at: Whole) -> tuple[Whole, Whole, Flags]:
    """Where what the size at each place is about begins and ends, and whether it is the shortest, of up to 3 bytes."""
    import numpy as np

    first = held[at].astype(np.int64)
    width = 1 + (first < 0x80) + (first < 0x40)
    most = (1 << 7 * width) - 1
    length = (first << 16 | held[at + 1].astype(np.int64) << 8 | held[at + 2]) >> 24 - 8 * width & most
    return at + width, at + width + length, (first >= 0x20) & (length >= most >> 7) & (length < most)


def _durations(held: Bytes, stops: Whole, ends: Whole) -> tuple[Whole, Flags]:
    """The durations between blocks and the ends of their groups, 0 where there is nothing; and whether there is no more
    than that, in its shortest form."""
    import numpy as np

    counts = ends - stops
    durations, fine = np.zeros(len(counts), np.int64), counts == 0
    for width in range(1, _DURATION_SIZE - 1):
        some = np.flatnonzero(counts == width + 2)
        if len(some):
            places = np.minimum(stops[some] + np.arange(width + 2)[:, None], len(held) - 1)
            element, coded, *value = held[places].astype(np.int64)
            number = functools.reduce(lambda high, low: high << 8 | low, value)
            fine[some] = (
                (element == DURATION) & (coded == 0x80 | width) & ((width == 1) | (number >> 8 * (width - 1) > 0))
            )
            durations[some] = number
    return durations, fine


def _told(held: Bytes, begins: Whole, stops: Whole, ends: Whole) -> tuple[bytes, Whole]:
    """What tells when blocks are played, and where in that each one's begins, and all ends."""
    import numpy as np

    counts = ends - stops
    rows = np.empty((len(counts), _HEAD - 1 + counts.max(initial=0)), np.uint8)
    for column in range(_HEAD - 1):
        rows[:, column] = held[begins + (column - _HEAD)]
    for column in range(_HEAD - 1, rows.shape[1]):
        rows[:, column] = held.take(stops + (column - _HEAD + 1), mode="clip")
    counts += _HEAD - 1
    if counts.min(initial=rows.shape[1]) < rows.shape[1]:
        rows = rows[np.arange(rows.shape[1]) < counts[:, None]]
    return rows.tobytes(), np.append(0, np.cumsum(counts))


# --- lacing ----------------------------------------------------------------------------------------------------------


def laced(body: bytes, kind: int) -> list[int]:
    """Where in what follows the head of a block its frames begin, and at last where they end, by the bits of `kind`.

    Raises ValueError, with a text that goes on from "damaged: ", where they cannot lie there.
    """
    if not kind:
        return [0, len(body)]
    if not body:
        raise ValueError("a block in it has no frames")
    left, offset = body[0], 1
    sizes: list[int] = []
    if kind == _FIXED:
        length, rest = divmod(len(body) - 1, left + 1)
        if rest:
            raise ValueError("the frames in a block of it are not alike")
        sizes = [length] * left
    for _ in range(left if kind != _FIXED else 0):
        if kind == _XIPH:
            length = 0
            while body[offset : offset + 1] == b"\xff":
                length, offset = length + 255, offset + 1
            length, offset = length + int.from_bytes(body[offset : offset + 1], "big"), offset + 1
        else:
            found = size(body[offset : offset + 8])
            if found is None:
                raise ValueError("the frames in a block of it do not fit")
            length, offset = found[0], offset + found[1]
            if sizes:  # the difference to the one before, as a number with a sign
                length += sizes[-1] - (1 << 7 * found[1] - 1) + 1
        sizes.append(length)
    edges = [*accumulate(sizes, initial=offset), len(body)]
    if min(sizes, default=0) < 0 or edges[-2] > len(body):
        raise ValueError("the frames in a block of it do not fit")
    return edges


def lace(sizes: Sequence[int]) -> tuple[int, bytes]:
    """The bits of the flags of a block with frames of these sizes, and what comes before them: the shorter of the two
    forms that all readers know."""
    if len(sizes) == 1:
        return 0, b""
    count = bytes([len(sizes) - 1])
    if len(set(sizes)) == 1:
        return _FIXED, count
    return _XIPH, count + b"".join(b"\xff" * (length // 255) + bytes([length % 255]) for length in sizes[:-1])
