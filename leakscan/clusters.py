"""The blocks of Matroska clusters that are already as the clean file has them, many at once.

Such a block is in its shortest form, alone or in a group with no more than its duration.  These are nearly all, and a
file has one for every few milliseconds.
Source: RFC 9559 (Matroska) section 10 (blocks), RFC 8794 (EBML) sections 4 and 6 (sizes).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leakscan.ebml import HEAD, head
from leakscan.fills import STARTS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from leakscan.rows import Bytes, Whole

    Flags = npt.NDArray[np.bool_]

LEAST = 24
"""How many bytes there have to be where a block is found: more than a group and a block in it up to the sound."""

CLUSTER, SIMPLE_BLOCK, GROUP, BLOCK, DURATION = 0x1F43B675, 0xA3, 0xA0, 0xA1, 0x9B
LACED = 6
"""The bits of the flags of a block that a decoder needs."""

_SIMPLE = 0x80  # the flag that each simple block of sound has
_HEAD = 4  # bytes: the number of the track, the time, the flags
_DURATION_SIZE = 10  # bytes, at most
_NAME = CLUSTER.to_bytes(4, "big")
_FILLS = bytes(first >> 5 in STARTS for first in range(256))  # of the first byte of sound, whether it may hold a text
_SHORTEST = 7  # bytes of a block with sound


@dataclass(frozen=True, slots=True)
class Blocks:
    """The usual blocks in some bytes, by where they start, also such as only look like one inside of another.

    `sounds` is where the sound of each begins and ends, `ends` where they or their group do, which may be behind the
    bytes.  `told` is what tells when they are played: of each the number of its track, its time, and what says its
    duration; `telling` is where that begins, and at last where all ends.  `breaks` are those behind which not the next
    one begins, `cut` the starts of groups that are not there to their end.
    """

    data: bytes
    starts: Whole
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
        return int(self.data[self.sounds[run.start, 0] - _HEAD]) & 0x7F

    def bounds(self, run: slice) -> Whole:
        """Where the head of each begins and its sound does, in turn; at last, where the run ends."""
        import numpy as np

        first, last = self.starts[run.start], self.ends[run.stop - 1]
        return np.concatenate(([first], self.sounds[run].ravel(), [last]))

    def times(self, run: slice) -> bytes:
        """What tells when they are played."""
        return self.told[self.telling[run.start] : self.telling[run.stop]]


def blocks(data: bytes, tracks: Mapping[int, bool]) -> Blocks:
    """The usual blocks of `tracks`: of each the byte that its number is, and is it plain AAC?

    AAC that begins with a fill or data element is left out: it may have to be blanked.
    """
    import numpy as np

    held = np.frombuffer(data, np.uint8)
    known, plain = np.zeros((2, 256), bool)
    known[list(tracks)] = True
    plain[[number for number, aac in tracks.items() if aac]] = True
    starts = np.array(_starts(data), np.int64)
    heads, ends, usual = _sized(held, starts + 1)
    stops, cut = ends.copy(), np.zeros(len(starts), bool)
    if len(groups := np.flatnonzero(held[starts] == GROUP)):
        inner = heads[groups]
        heads[groups], stops[groups], fine = _sized(held, inner + 1)
        usual[groups] &= fine & (held[inner] == BLOCK)
        cut[groups] = ends[groups] > len(held)
        usual[groups] &= cut[groups] | _is_duration(held, stops[groups], ends[groups])
    numbers = held[heads]
    flags = (held[heads + 3] | LACED) ^ np.where(held[starts] == GROUP, _SIMPLE, 0)
    usual &= known[numbers] & (flags == _SIMPLE | LACED) & (stops - heads > _HEAD)
    usual &= ~(plain[numbers] & np.frombuffer(_FILLS, bool)[held[heads + _HEAD]])
    cut &= usual
    usual &= ~cut
    begins = heads[usual] + _HEAD
    told, telling = _told(held, begins, stops[usual], ends[usual])
    cuts, starts, ends = frozenset(starts[cut].tolist()), starts[usual], ends[usual]
    breaks = np.flatnonzero(np.append(starts[1:], -1) != ends)
    return Blocks(data, starts, np.column_stack((begins, stops[usual])), ends, told, telling, breaks, cuts)


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


def _is_duration(held: Bytes, stops: Whole, ends: Whole) -> Flags:
    """Whether between blocks and the ends of their groups there is nothing, or a duration in its shortest form."""
    import numpy as np

    size = ends - stops
    element, width, first = held[np.minimum(stops + np.arange(3)[:, None], len(held) - 1)]
    duration = (element == DURATION) & (width == (0x80 | size - 2 & 0x7F)) & ((first > 0) | (size == 3))
    told: Flags = (size == 0) | ((size >= 3) & (size <= _DURATION_SIZE) & duration)
    return told


def _told(held: Bytes, begins: Whole, stops: Whole, ends: Whole) -> tuple[bytes, Whole]:
    """What tells when blocks are played, and where in that each one's begins, and all ends."""
    import numpy as np

    lengths = np.column_stack((np.full(len(begins), _HEAD - 1), ends - stops))
    places = np.append(0, np.cumsum(lengths))
    moved = np.column_stack((begins - _HEAD, stops)).ravel() - places[:-1]
    rows = np.arange(places[-1]) + np.repeat(moved, lengths.ravel())
    return held[rows].tobytes(), places[::2]
