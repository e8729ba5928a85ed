"""Opus packets: how long they sound, and the bytes in them that no decoder looks at.

Sources: RFC 6716 sections 3.1 (table of contents), 3.2 (frames in a packet, padding), 3.4 (what makes a packet
invalid) and appendix B (packets that say their own length), RFC 7845 section 5.1.1 (several streams in a packet);
libopus for frames of one byte, which it takes for lost ones, and section 4.3 for silent ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leakscan.rows import Whole

LONGEST = 1276
"""Bytes of the longest packet with one frame."""

_MOST_SAMPLES = 5760  # samples in a packet: 120 ms
_PADDED, _VARIABLE, _COUNT = 0x40, 0x80, 0x3F  # in the second byte of a packet of any number of frames
_CELT = 0x80  # in the first byte of a packet: its frames are of CELT alone
_SILENT = (b"\xff\xfe", b"\xff\xff")  # begins such a frame of silence, whatever follows: 15 bits are set
_INVALID = b"\3\0"  # any number of frames, which is none


def _frame_length(config: int) -> int:
    if config < 12:  # SILK: 10, 20, 40, 60 ms
        return (480, 960, 1920, 2880)[config & 3]
    if config < 16:  # both: 10, 20 ms
        return (480, 960)[config & 1]
    return 120 << (config & 3)  # CELT: 2.5, 5, 10, 20 ms


LENGTHS = tuple(_frame_length(first >> 3) * (1, 2, 2, 0)[first & 3] for first in range(256))
"""How many samples at 48 kHz a packet has, by its first byte; 0 where the second byte tells."""

_FRAMES = tuple(_frame_length(first >> 3) for first in range(256))


def length(packet: bytes) -> int:
    """How many samples at 48 kHz a packet has; 0 of one that is too short to say so."""
    if not packet:
        return 0
    if packet[0] & 3 < 3:
        return LENGTHS[packet[0]]
    return _FRAMES[packet[0]] * (packet[1] & _COUNT) if len(packet) > 1 else 0


def odd(block: bytes, starts: Sequence[int] | Whole, ends: Sequence[int] | Whole) -> list[int]:
    """Of packets of one stream that lie in a block from each start to its end: the indexes of those in which `blanked`
    may have something to clear."""
    import numpy as np

    starts, sizes = np.asarray(starts), np.subtract(ends, starts)
    held = np.frombuffer(block or b"\0", np.uint8)
    several, silent = held.take(starts, mode="clip") & 3 != 0, held.take(starts + 1, mode="clip") == 0xFF
    return np.flatnonzero(several | silent | (sizes < 3) | (sizes > LONGEST)).tolist()


def blanked(packet: bytes, streams: int = 1) -> bytes:
    """The packet, of so many streams, with zeros for what decoders do not read; the same object where these are there.

    That is padding, frames of one byte, what follows the word for silence, and all of a packet that is invalid.
    """
    idle: list[tuple[int, int]] = []
    offset = 0
    try:
        for left in reversed(range(streams)):
            offset = _passed(packet, offset, left > 0, idle)
    except (ValueError, IndexError):
        idle = []
        made = _INVALID[: len(packet)].ljust(len(packet), b"\0")
    else:
        blank = bytearray(packet)
        for start, end in idle:
            blank[start:end] = bytes(end - start)
        made = bytes(blank)
    return packet if made == packet else made


def _passed(packet: bytes, offset: int, delimited: bool, idle: list[tuple[int, int]]) -> int:
    """Where the packet of one stream that begins at `offset` ends; notes the bytes in it that no decoder reads.

    `delimited` it says its length itself, else it goes on to the end.
    Raises ValueError or IndexError where it is invalid.
    """
    first = packet[offset]
    offset += 1
    code = first & 3
    count, padding, variable = (1, 2, 2, 0)[code], 0, code == 2
    if code == 3:
        second = packet[offset]
        offset += 1
        count, variable = second & _COUNT, bool(second & _VARIABLE)
        if second & _PADDED:
            while packet[offset] == 255:
                padding += 254
                offset += 1
            padding += packet[offset]
            offset += 1
    if not count or count * _FRAMES[first] > _MOST_SAMPLES:
        raise ValueError
    sizes: list[int] = []
    for _ in range((count - 1 if variable else 0) + delimited):
        size, offset = _size(packet, offset)
        sizes.append(size)
    left = len(packet) - offset - padding
    if not variable:
        size, rest = (sizes[0], 0) if delimited else divmod(left, count)
        if rest:
            raise ValueError
        sizes = [size] * count
    elif not delimited:
        sizes.append(left - sum(sizes))
    if min(sizes) < 0 or max(sizes) >= LONGEST or sum(sizes) > left:
        raise ValueError
    for size in sizes:
        if size == 1:
            idle.append((offset, offset + 1))
        elif first & _CELT and packet[offset : offset + 2] in _SILENT:
            idle.append((offset + 2, offset + size))
        offset += size
    idle.append((offset, offset + padding))
    return offset + padding


def _size(packet: bytes, offset: int) -> tuple[int, int]:
    """The size of a frame, in one byte or two, and where it ends."""
    first = packet[offset]
    return (first, offset + 1) if first < 252 else (first + 4 * packet[offset + 1], offset + 2)
