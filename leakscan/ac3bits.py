"""What stands in frames of AC-3 and E-AC-3 that no decoder reads.

Copyright bit, production information, time codes, language, data about mixing, additional bit stream information and
auxiliary data are zeroed in the clean file, the original bit is set, and the checks are made again.
What fills a frame behind its sound where it declares no auxiliary data would take decoding the sound to find; text
there, and long text anywhere, is refused.
Sources: ATSC A/52:2018 sections 5.3 and 5.4 (syncinfo, bsi, auxdata, errorcheck), 7.10 (CRC), annex D (alternate bit
stream syntax), annex E sections E.2.2 and E.2.3 (E-AC-3).
"""

from __future__ import annotations

import functools
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from leakscan.blocks import Bits
from leakscan.legible import refuse_tails
from leakscan.rows import Copy, crc16_words, gathered

if TYPE_CHECKING:
    from leakscan.rows import Bytes, Whole

_FRONT = 160  # bytes that hold any bit stream information: up to 66 of it are additional, 35 mixing data


def cleaned(data: bytes, starts: array[int], ends: array[int]) -> tuple[bytearray | None, set[str]]:
    """The data with the frames as the clean file has them, None where they are so, and what is cleared in them.

    Raises Unreadable where one of them ends in text, but for its check.
    """
    import numpy as np

    if not starts:
        return None, set()
    first, last = np.array(starts), np.array(ends)
    bits: set[str] = set()
    copy = Copy(data)
    changed = _blank(copy, first, last, bits)
    wrong = _wrong(data, first, last)
    if wrong.any():
        bits.add("unknown.ac3.crc")
    again = np.flatnonzero(wrong | changed).tolist()
    if again:
        clean = copy.writable()
        frames = [bytes(clean[starts[index] : ends[index]]) for index in again]
        for index, frame in zip(again, _checked(frames), strict=True):
            clean[starts[index] : ends[index]] = frame
    refuse_tails(copy.made or data, starts, [end - 2 for end in ends])
    return copy.made, bits


# --- bit stream information ------------------------------------------------------------------------------------------


class _Trait(NamedTuple):
    """A number in a frame that decoders do not need, and at which bit it is."""

    name: str
    position: int
    value: int


class _Cleaner:
    """Passes over the bit stream information of a frame, and clears what no decoder needs."""

    def __init__(self, block: bytes) -> None:
        self.source = Bits(block)
        self.bits: set[str] = set()
        self.traits: set[_Trait] = set()
        self.take = self.source.take

    def clear(self, count: int, name: str) -> None:
        if self.source.peek(count):
            self.bits.add(f"unknown.ac3.{name}")
        self.source.put(0, count)

    def optional(self, *counts: int) -> None:
        """A flag and, where it is set, that many bits."""
        if self.take(1):
            self.take(sum(counts))

    def production(self, *counts: int) -> None:
        """A flag and, where it is set, mixing level, room type and the like."""
        if self.take(1):
            self.trait(sum(counts), "production", 0)

    def original(self) -> None:
        """Copyright and original bit."""
        self.clear(1, "copyright-bit")
        self.trait(1, "original-bit", 1)

    def trait(self, count: int, name: str, clean: int) -> None:
        """What an encoder says of all frames alike, or else hides something."""
        self.traits.add(_Trait(name, self.source.position, self.source.peek(count)))
        self.source.put(clean, count)

    def additional(self) -> None:
        if self.take(1):
            for _ in range(self.take(6) + 1):
                self.clear(8, "addbsi")


class _Front(NamedTuple):
    """The bit stream information of a frame: how many bits, their clean form, what that tells, and its traits."""

    size: int
    clean: bytes
    names: set[str]
    traits: set[_Trait]


def _front(block: bytes) -> _Front | None:
    """What the first bytes of a frame hold; None where the information reaches beyond them."""
    cleaner = _Cleaner(block)
    (_extended if block[5] >> 3 > 10 else _plain)(cleaner)
    source = cleaner.source
    if source.position > source.count - 8:
        return None
    return _Front(source.position, source.number.to_bytes(len(block), "big"), cleaner.bits, cleaner.traits)


_TRIES = 32  # information that differs from frame to frame is not looked for in others


def _fronts(rows: Bytes, sizes: Whole) -> Iterator[tuple[_Front, Whole]]:
    """The information of frames of which the first bytes are given, with the indexes of those that have it.

    Most frames have the same: it is read once for all of them.
    """
    import numpy as np

    left = np.arange(len(rows))
    for _ in range(_TRIES):
        if not len(left):
            return
        one = left[0]
        same = left == one
        if front := _front(rows[one, : sizes[one]].tobytes()):
            width = front.size + 7 >> 3
            unlike = (rows[left, :width] ^ rows[one, :width]) & _heeded(front.size, rows[one])
            same = ~unlike.any(axis=1) & (front.size <= 8 * sizes[left] - 8)
            yield front, left[same]
        left = left[~same]
    for index, one in enumerate(left):
        if front := _front(rows[one, : sizes[one]].tobytes()):
            yield front, left[index : index + 1]


def _blank(copy: Copy, first: Whole, last: Whole, bits: set[str]) -> Whole:
    """Clear what no decoder needs in the frames between `first` and `last`, but leave their checks; which are
    changed."""
    import numpy as np

    rows = gathered(copy.data, first, _FRONT)
    ends = np.zeros(len(first), np.int64)  # of the information, in bits; zero where it is broken
    changed = np.zeros(len(first), bool)
    traits: defaultdict[tuple[str, int], set[int]] = defaultdict(set)  # values by name and place
    for front, some in _fronts(rows, np.minimum(last - first, _FRONT)):
        ends[some] = front.size
        bits |= front.names
        for trait in front.traits:
            traits[trait.name, trait.position].add(trait.value)
        width = front.size + 7 >> 3
        difference = rows[some[0], :width] ^ np.frombuffer(front.clean, np.uint8)[:width]
        if not difference.any():
            continue
        changed[some] = True
        if len(some) == 1:
            start = int(first[some[0]])
            copy.writable()[start : start + width] = front.clean[:width]
        else:
            copy.put(first[some], rows[some, :width], rows[some, :width] ^ difference)
    for (name, _), values in traits.items():
        if len(values) > 1:
            bits.add(f"unknown.ac3.{name}")
        elif name == "production" and values != {0}:
            bits.add("encoder.ac3.production")
    declared = np.frombuffer(copy.data, np.uint8)[last - 3] & 2 > 0
    for index in np.flatnonzero(declared & (ends > 0)).tolist():
        start, end = int(first[index]), int(last[index])
        frame = bytes((copy.made or copy.data)[start:end])
        if (blank := _without_auxiliary(frame, int(ends[index]), bits)) != frame:
            copy.writable()[start:end] = blank
            changed[index] = True
    return changed


def _heeded(count: int, front: Bytes) -> Bytes:
    """Which of the first `count` bits are information: not the check, nor the length of a frame of E-AC-3."""
    import numpy as np

    mask = np.full(count + 7 >> 3, 0xFF, np.uint8)
    mask[-1] = 0xFF << -count % 8 & 0xFF
    mask[2:4] = 0xC0 if front[5] >> 3 > 10 else 0, 0
    return mask


def _plain(cleaner: _Cleaner) -> None:
    """syncinfo and bsi (5.3.1 and 5.3.2), and annex D where the version is 6."""
    take = cleaner.take
    take(40)  # sync word, check, rates
    version = take(5)
    take(3)  # bsmod
    mode = take(3)
    take(2 * (mode & 1 and mode != 1) + 2 * (mode >> 2) + 2 * (mode == 2) + 1)  # mixing levels, surround, effects
    for _ in range(1 + (mode == 0)):
        take(5)  # dialogue level
        cleaner.optional(8)  # compression
        if take(1):
            cleaner.clear(8, "language")
        cleaner.production(5, 2)
    cleaner.original()
    if version == 6:
        cleaner.optional(2, 3, 3, 3, 3)  # downmix
        if take(1):
            take(2 + 2)  # surround and headphones
            cleaner.trait(1, "production", 0)
            cleaner.clear(8 + 1, "production")
    else:
        for _ in range(2):
            if take(1):
                cleaner.clear(14, "time-code")
    cleaner.additional()


def _extended(cleaner: _Cleaner) -> None:
    """syncinfo and bsi of E-AC-3 (annex E, E.2.2.1 and E.2.2.2)."""
    take = cleaner.take
    take(16)
    kind = take(2)  # 0 independent, 1 dependent, 2 converted from AC-3
    take(3 + 11)
    rate = take(2)
    blocks = take(2)
    if rate == 3:
        blocks = 3  # the two bits are those of half the rate
    mode, effects = take(3), take(1)
    take(5)
    for _ in range(1 + (mode == 0)):
        take(5)
        cleaner.optional(8)
    if kind == 1:
        cleaner.optional(16)  # channel map
    if take(1):
        _pass_mixing(cleaner, kind, blocks, mode, effects)
    if take(1):
        take(3)  # bsmod
        cleaner.original()
        take(4 * (mode == 2) + 2 * (mode >= 6))
        for _ in range(1 + (mode == 0)):
            cleaner.production(5, 2, 1)
        take(rate < 3)
    if kind == 0 and blocks != 3:
        take(1)
    if kind == 2 and (blocks == 3 or take(1)):
        take(6)
    cleaner.additional()


def _pass_mixing(cleaner: _Cleaner, kind: int, blocks: int, mode: int, effects: int) -> None:
    take, optional = cleaner.take, cleaner.optional
    take(2 * (mode > 2) + 6 * (mode & 1 and mode > 2) + 6 * (mode >> 2))
    if effects:
        optional(5)
    if kind:
        return
    for _ in range(1 + (mode == 0) + 1):
        optional(6)  # scales of the programme and of an external one
    mixing = take(2)
    if mixing == 3:
        for _ in range(take(5) + 2):
            cleaner.clear(8, "mixing")
    else:
        take((0, 5, 12)[mixing])
    if mode < 2:
        for _ in range(1 + (mode == 0)):
            optional(8, 6)  # panning
    if take(1):
        if blocks == 0:
            take(5)
        else:
            for _ in range((1, 2, 3, 6)[blocks]):
                optional(5)


def _without_auxiliary(frame: bytes, least: int, bits: set[str]) -> bytes:
    """Zero the auxiliary data that the end of a frame declares: its length, a flag, a reserved bit and a check (5.4.4).

    `least` is the bit before which they cannot begin.
    """
    end = 8 * len(frame) - 18
    number = int.from_bytes(frame[-5:], "big")
    if not number >> 17 & 1:
        return frame
    length = number >> 18 & 0x3FFF
    begin = end - 14 - length
    if begin < least or not length:
        return frame
    source = Bits(frame)
    source.position = begin
    if source.peek(length):
        bits.add("unknown.ac3.auxiliary")
    source.put(0, length)
    return source.number.to_bytes(len(frame), "big")


# --- checks ----------------------------------------------------------------------------------------------------------

_POLYNOMIAL = 0x8005
_AT_ONCE = 1 << 18  # bytes of frames whose checks are looked at: as many as caches hold


class _Residue(NamedTuple):
    """What is left of the CRC of the first five eighths of a frame (0 for E-AC-3) and of the whole: 0 where right."""

    first: int
    whole: int


def _first(frame: bytes) -> int:
    """Where the first five eighths end that the first check is of; 2 where there is none."""
    if frame[5] >> 3 > 10:
        return 2
    words = len(frame) // 2
    return 2 * ((words >> 1) + (words >> 3))


def _wrong(data: bytes, starts: Whole, ends: Whole) -> Whole:
    """Whether a check of each frame is wrong."""
    import numpy as np

    found = np.zeros(len(starts), bool)
    lengths = ends - starts
    extended = np.frombuffer(data, np.uint8)[starts + 5] >> 3 > 10
    kinds, which = np.unique(lengths << 1 | extended, return_inverse=True)
    for kind, length in enumerate((kinds >> 1).tolist()):
        members = np.flatnonzero(which == kind)
        for some in np.split(members, range(step := max(1, _AT_ONCE // length), len(members), step)):
            rows = gathered(data, starts[some], length)
            found[some] = np.any(_residue(rows, _first(rows[0].tobytes())), axis=0)
    return found


def _residue(rows: Bytes, first: int) -> tuple[Whole, Whole]:
    """The residues of frames that are as long, the first checks of which end at `first`."""
    words = rows.view(">u2").astype("uint16")
    one = crc16_words(words[:, 1 : first // 2])
    words[:, first // 2] ^= one
    return one, crc16_words(words[:, first // 2 :])


def _residues(frames: Sequence[bytes]) -> list[_Residue]:
    """The residues of frames."""
    import numpy as np

    alike: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for index, frame in enumerate(frames):
        alike[len(frame), _first(frame)].append(index)
    found: list[_Residue] = [_Residue(0, 0)] * len(frames)
    for (length, first), indexes in alike.items():
        rows = np.frombuffer(b"".join([frames[index] for index in indexes]), np.uint8).reshape(-1, length)
        for index, one, whole in zip(indexes, *(column.tolist() for column in _residue(rows, first)), strict=True):
            found[index] = _Residue(one, whole)
    return found


def _checked(frames: Sequence[bytes]) -> list[bytes]:
    """The frames with right checks."""
    blank = [frame[:2] + bytes(2) + frame[4:] if _first(frame) > 2 else frame for frame in frames]
    blank = [frame[:-2] + bytes(2) for frame in blank]
    made = []
    for frame, residue in zip(blank, _residues(blank), strict=True):
        if _first(frame) > 2:
            check = 0
            for bit, value in enumerate(_undone(_first(frame) - 2)):
                check ^= value if residue.first >> bit & 1 else 0
            frame = frame[:2] + check.to_bytes(2, "big") + frame[4:]
        made.append(frame)
    for index, residue in enumerate(_residues([frame[:-2] for frame in made])):
        frame, check = made[index], residue.whole
        if check == 0x0B77:  # the sync word: the reserved bit in front of the check is there to avoid it
            frame = frame[:-3] + bytes((frame[-3] ^ 1,)) + frame[-2:]
            check = _residues([frame[:-2]])[0].whole
        made[index] = frame[:-2] + check.to_bytes(2, "big")
    return made


@functools.lru_cache(maxsize=128)
def _undone(count: int) -> tuple[int, ...]:
    """For every bit of a residue, the two bytes that `count` bytes before the end of what is checked give it."""
    value = 1
    for _ in range(8 * count):  # a step of the shift register, backwards
        value = (value ^ _POLYNOMIAL) >> 1 | 0x8000 if value & 1 else value >> 1
    values = [value]
    for _ in range(15):
        value = values[-1] << 1
        values.append((value ^ _POLYNOMIAL) & 0xFFFF if value >> 16 else value)
    return tuple(values)
