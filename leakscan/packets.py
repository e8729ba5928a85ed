"""The data packets of ASF in which nothing hides, many at once.

Source: the Advanced Systems Format specification, revision 1.20, sections 5.2.1 to 5.2.4 (error correction, payload
parsing information, payloads).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from leakscan.rows import Bytes, Whole

    Flags = npt.NDArray[np.bool_]

WIDTHS = (0, 1, 2, 4)
"""Bytes of a number, as two bits say."""

REPLICATED = 8
"""Bytes of what is said of an object beside where it lies: its size, and when it is played."""


OBJECT = 1 << 17
"""Bytes of the longest object."""


@dataclass(frozen=True, slots=True)
class Packets:
    """Packets of one length, one after the other.

    `usual` tells which of them are like the one in their middle, hold nothing but sound of one stream, and zeros where
    nothing is needed.  In those, a row each, sound lies from `begins` to `ends` where there `is_sound`; what else tells
    when it is played from `since` on, and first of all the 6 bytes at `sent`.
    """

    data: bytes
    length: int
    usual: Flags
    begins: Whole
    ends: Whole
    is_sound: Flags
    sent: int
    since: int

    def bounds(self, first: int, last: int) -> Whole:
        """Where in the data sound begins and ends, in turn, from one packet to another."""
        import numpy as np

        both = np.stack((self.begins[first:last], self.ends[first:last]), axis=2)
        bounds: Whole = both[self.is_sound[first:last]].ravel()
        return bounds

    def times(self, first: int, last: int) -> bytes:
        """What tells when their sound is played."""
        import numpy as np

        packets = self.length * np.arange(first, last)[:, None]
        starts = np.hstack((packets + self.sent, packets + self.since, self.ends[first:last]))[:, :-1]
        stops = np.hstack((packets + self.sent + 6, self.begins[first:last]))
        some = np.hstack((np.ones_like(packets, bool), self.is_sound[first:last]))
        starts, lengths = starts[some], (stops - starts)[some]
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        places += np.arange(len(places))
        told: Bytes = np.frombuffer(self.data, np.uint8)[places]
        return told.tobytes()


def packets(data: bytes, length: int, number: int, latest: int) -> Packets:
    """Packets of `length` bytes, of which the stream `number` is the sound, which is played up to the `latest` ms."""
    import numpy as np

    held = np.frombuffer(data, np.uint8)
    rows = held.reshape(-1, length)
    alike = rows[len(rows) // 2]
    place = 1 + int(alike[0] & 15) if alike[0] & 0x80 else 0
    flags, kinds = int(alike[place]), int(alike[place + 1])
    usual: Flags = (rows[:, : place + 2] == alike[: place + 2]).all(axis=1)
    usual &= not alike[1:place].any() and not (alike[0] & 0x80 and alike[0] & 0x70)

    packet = length * np.arange(len(rows))
    said = place + 2 + WIDTHS[flags >> 5 & 3]
    since = said + WIDTHS[flags >> 1 & 3]
    sent = since + WIDTHS[flags >> 3 & 3]
    usual &= ~rows[:, said:since].any(axis=1)
    end = _numbers(held, packet + place + 2, said - place - 2) if flags & 0x60 else np.full(len(rows), length)
    end -= _numbers(held, packet + since, sent - since)
    usual &= _numbers(held, packet + sent, 4) <= latest
    place = sent + 6 + (flags & 1)
    several = rows[:, place - 1] if flags & 1 else np.ones(len(rows), np.uint8)
    counts, sized = several & 0x3F, WIDTHS[several[len(rows) // 2] >> 6]
    usual &= several >> 6 == several[len(rows) // 2] >> 6
    width = WIDTHS[kinds & 3]
    place_in = WIDTHS[kinds >> 2 & 3]
    before = 1 + WIDTHS[kinds >> 4 & 3] + place_in + width  # the stream, which object, where in it

    at = np.full(len(rows), place)
    begins, ends = [], []
    for index in range(int(counts.max(where=usual, initial=0))):
        here = counts > index
        inside = np.minimum(packet + at, len(held) - 1)
        copied = _numbers(held, inside + before - width, width)
        begin = at + before + copied + (sized if flags & 1 else 0)
        size = _numbers(held, packet + begin - sized, sized) if flags & 1 else end - begin
        fine = (held[inside] & 0x7F == number) & (copied <= REPLICATED) & (begin <= length)
        if (copied >= REPLICATED).any():
            begun = _numbers(held, inside + before - width - place_in, place_in)
            stated, played = (_numbers(held, inside + before + offset, 4) for offset in (0, 4))
            told = ((stated == 0) | (begun + size <= stated)) & (stated <= OBJECT) & (played <= latest)
            fine &= told | (copied < REPLICATED)
        usual &= ~here | fine & (size >= 0) & (begin + size <= np.minimum(end, length))
        at = np.where(here & usual, begin + size, at)
        begins.append(packet + begin)
        ends.append(packet + at)
    shape = (len(rows), len(begins))
    usually = int(at[len(at) // 2])  # most packets of one rate are filled as far
    unsure = usual & (at < length) & ((at < usually) | rows[:, usually:].any(axis=1))
    zeros = bytes(length)
    for row in np.flatnonzero(unsure).tolist():
        usual[row] = zeros.startswith(data[row * length + int(at[row]) : (row + 1) * length])
    is_sound = np.arange(shape[1]) < counts[:, None]
    all_begins, all_ends = (np.reshape(np.array(places, np.int64).T, shape) for places in (begins, ends))
    return Packets(data, length, usual, all_begins, all_ends, is_sound, sent, since)


def _numbers(held: Bytes, places: Whole, width: int) -> Whole:
    """The little-endian numbers of so many bytes at these places; one that reaches beyond the end is any number."""
    import numpy as np

    if not width:
        return np.zeros(len(places), np.int64)
    last = len(held) - width
    everywhere = np.ndarray((last + 1,), f"<u{width}", held, 0, (1,))  # the number at each place
    found: Whole = everywhere[np.minimum(places, last)].astype(np.int64)
    return found
