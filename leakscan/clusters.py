"""The blocks of Matroska clusters that are already as the clean file has them, many at once; and frames laced in one.

Such a block is in its shortest form, alone or in a group with no more than its duration, and has one frame, in which
nothing is that no decoder reads.  These are nearly all, and a file has one for every few milliseconds.
Source: RFC 9559 (Matroska) section 10 (blocks, lacing), RFC 8794 (EBML) sections 4 and 6 (sizes).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from leakscan.ebml import HEAD, head, size
from leakscan.frames import Frames

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
_HEAD = 4  # bytes: the number of the track, the time, the flags
_DURATION_SIZE = 5  # bytes, at most
_NAME = CLUSTER.to_bytes(4, "big")
_SHORTEST = 7  # bytes of a block with sound


class Usual(NamedTuple):
    """What the usual blocks of a track are: what looks into their frames, and how long these can be by their first
    byte, in ticks of the file."""

    frames: Frames | None
    longest: Sequence[int]


@dataclass(frozen=True, slots=True)
class Blocks:
    """The usual blocks in some bytes, by where they start, also such as only look like one inside of another.

    `numbers` are those of their tracks, as they are coded, `relative` are their times in the cluster; `alone` is
    whether there is but one track.  `sounds` is where the sound of each begins and ends, `ends` where they or their
    group do.  `told` is what tells when they are played: of each the number of its track, its time, and what says its
    duration; `telling` is where that begins, and at last where all ends.  `breaks` are those behind which not the next
    one begins, `cut` the starts of such as are not there to their end.
    """

    starts: Whole
    numbers: Bytes
    relative: Whole
    alone: bool
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
        last = int(self.breaks[self.breaks.searchsorted(first)])
        return slice(first, first + int(self.ends[first : last + 1].searchsorted(limit, "right")))

    def track(self, run: slice) -> int:
        """The number of the track of the first."""
        return int(self.numbers[run.start]) & 0x7F

    def spans(self, run: slice) -> Iterator[tuple[int, int, int, bool]]:
        """Of each track in it: its number, the time of its first and of its last block, and does it not go back?"""
        numbers, relative = self.numbers[run], self.relative[run]
        for number in set(numbers.tobytes()):
            own = relative if self.alone else relative[numbers == number]
            yield number & 0x7F, int(own[0]), int(own[-1]), bool((own[1:] >= own[:-1]).all())

    def sound(self, run: slice, number: int, base: int, data: bytes) -> list[tuple[int, bytes]]:
        """The frames of a track in it, by where they begin in the file, of which `data` is what begins at `base`."""
        sounds = self.sounds[run] if self.alone else self.sounds[run][self.numbers[run] & 0x7F == number]
        return [(base + begin, data[begin:end]) for begin, end in sounds.tolist()]

    def bounds(self, run: slice) -> Whole:
        """Where the head of each begins and its sound does, in turn; at last, where the run ends."""
        import numpy as np

        first, last = self.starts[run.start], self.ends[run.stop - 1]
        return np.concatenate(([first], self.sounds[run].ravel(), [last]))

    def times(self, run: slice) -> bytes:
        """What tells when they are played."""
        return self.told[self.telling[run.start] : self.telling[run.stop]]


def blocks(data: bytes, tracks: Mapping[int, Usual], changed: Collection[int] = ()) -> Blocks:
    """The usual blocks of `tracks`, which go by the byte that the number of each is, but for those `changed`, which go
    by where their sound begins.

    Raises Unreadable as `Frames.odd` does.
    """
    import numpy as np

    held = np.frombuffer(data, np.uint8)
    starts = np.array(_starts(data), np.int64)
    heads, ends, usual = _sized(held, starts + 1)
    stops, durations = ends.copy(), np.zeros(len(starts), np.int64)
    cut = ends > len(held)
    if len(groups := np.flatnonzero(held[starts] == GROUP)):
        inner = heads[groups]
        heads[groups], stops[groups], fine = _sized(held, inner + 1)
        durations[groups], lasting = _durations(held, stops[groups], ends[groups])
        usual[groups] &= fine & (held[inner] == BLOCK) & (cut[groups] | lasting)
    numbers = held[heads]
    flags = held[heads + 3] ^ np.where(held[starts] == GROUP, _SIMPLE, 0)
    usual &= (flags == _SIMPLE) & (stops - heads > _HEAD)
    cut &= usual
    usual &= ~cut
    begins = heads + _HEAD
    known = np.zeros(256, bool)
    known[list(tracks)] = True
    usual &= known[numbers]
    if changed:
        usual &= ~np.isin(begins, np.array(list(changed), np.int64))
    for number, track in tracks.items():
        own = np.flatnonzero(usual & (numbers == number))
        usual[own] = durations[own] <= np.array(track.longest, np.int64)[held[begins[own]]]
        if track.frames is not None:
            own = own[usual[own]]
            usual[own[_odd(data, begins[own], stops[own], track.frames)]] = False
    numbers, begins = numbers[usual], begins[usual]
    relative = held[begins - 3].astype(np.int8).astype(np.int64) << 8 | held[begins - 2]
    told, telling = _told(held, begins, stops[usual], ends[usual])
    cuts, starts, ends = frozenset(starts[cut].tolist()), starts[usual], ends[usual]
    breaks = np.flatnonzero(np.append(starts[1:], -1) != ends)
    sounds = np.column_stack((begins, stops[usual]))
    return Blocks(starts, numbers, relative, len(tracks) == 1, sounds, ends, told, telling, breaks, cuts)


def _odd(data: bytes, begins: Whole, stops: Whole, frames: Frames) -> list[int]:
    """Which of the frames that lie in these places have to be looked at."""
    sounds = [data[begin:stop] for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True)]
    return list(frames.odd(b"".join(sounds), [*accumulate(map(len, sounds), initial=0)])) if sounds else []


def _starts(data: bytes) -> list[int]:
    """Where blocks and groups start from the first byte on, also in the clusters that follow."""
    starts: list[int] = []
    offset, last = 0, len(data) - LEAST
    while 0 <= offset <= last:
        size = data[offset + 1]
        if data[offset] not in (SIMPLE_BLOCK, GROUP) or size < 0x20:
            offset = _after(data, offset)
            continue
        if size >= 0x80:
            end = offset + 2 + (size & 0x7F)
        elif size >= 0x40:
            end = offset + 3 + ((size & 0x3F) << 8 | data[offset + 2])
        else:
            end = offset + 4 + ((size & 0x1F) << 16 | data[offset + 2] << 8 | data[offset + 3])
        if end - offset >= _SHORTEST:
            starts.append(offset)
        offset = end
    return starts


def _after(data: bytes, offset: int) -> int:
    """Where the next element starts: behind this one, in it if it is a cluster, or where the next cluster may."""
    found = head(data[offset : offset + HEAD])
    if found is None or (found[1] is None and found[0] != CLUSTER):
        return data.find(_NAME, offset + 1)
    return offset + found[2] + (found[1] or 0 if found[0] != CLUSTER else 0)


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

    width = ends - stops - 2
    element, coded, *value = held[np.minimum(stops + np.arange(_DURATION_SIZE)[:, None], len(held) - 1)].astype(
        np.int64
    )
    one, two, three = value
    durations = np.select([width == 1, width == 2, width == 3], [one, one << 8 | two, one << 16 | two << 8 | three], 0)
    told = (element == DURATION) & (coded == (0x80 | width)) & (durations >= 1 << 8 * (width - 1).clip(0, 3)) | (
        (width == 1) & (element == DURATION) & (coded == 0x81)
    )
    return durations, (width == -2) | ((width >= 1) & (width <= _DURATION_SIZE - 2) & told)


def _told(held: Bytes, begins: Whole, stops: Whole, ends: Whole) -> tuple[bytes, Whole]:
    """What tells when blocks are played, and where in that each one's begins, and all ends."""
    import numpy as np

    lengths = np.column_stack((np.full(len(begins), _HEAD - 1), ends - stops))
    places = np.append(0, np.cumsum(lengths))
    moved = np.column_stack((begins - _HEAD, stops)).ravel() - places[:-1]
    rows = np.arange(places[-1]) + np.repeat(moved, lengths.ravel())
    return held[rows].tobytes(), places[::2]


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
