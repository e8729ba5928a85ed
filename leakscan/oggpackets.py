"""Packets of sound in Ogg: what no decoder reads in them, and how long they sound.

Sources: RFC 7845 section 4 (granule positions of Opus), the Vorbis I specification sections 4.3.1 (packet type, mode)
and A.2, the Speex manual section 7.3, RFC 9639 section 10.1 (FLAC).

What stands behind the sound of a Vorbis or Speex packet takes decoding it to find; text there is refused (Unreadable).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import compress, pairwise
from operator import sub
from typing import NamedTuple, Protocol

from leakscan import flacframes, opus, vorbis
from leakscan.legible import refuse_tails, texts


class Change(NamedTuple):
    """Bytes `start` to `end` of a block, and what they are in the clean file."""

    start: int
    end: int
    clean: bytes


class Sound(Protocol):
    """The packets of one stream."""

    idle: str
    """What that is which no decoder reads."""

    def take(self, block: bytes, edges: Sequence[int]) -> tuple[list[Change], int]:
        """Of the next packets (one at least), which lie in a block from each of `edges` to the next: those in which
        something is that no decoder reads, with zeros in its place, and how many samples all of them add to the granule
        position."""
        ...


def _firsts(block: bytes, edges: Sequence[int]) -> bytes:
    """The first byte of each packet; of one without bytes, any."""
    return bytes(map((block + b"\0").__getitem__, edges[:-1]))


class Vorbis:
    """Packets of Vorbis; one that says it is no sound is passed over by decoders."""

    idle = "packet"

    def __init__(self, head: bytes, setup: vorbis.Setup) -> None:
        sizes = 1 << (head[28] & 15), 1 << (head[28] >> 4)
        width = (len(setup.long) - 1).bit_length()
        modes = [first >> 1 & (1 << width) - 1 for first in range(256)]
        self._sizes = [sizes[mode < len(setup.long) and setup.long[mode]] for mode in modes]
        self._before = 0  # size of the block before; nothing is heard of the first one alone

    def take(self, block: bytes, edges: Sequence[int]) -> tuple[list[Change], int]:
        firsts, changes = _firsts(block, edges), []
        ends: Sequence[int] = edges[1:]
        if firsts.translate(_NO_SOUND).strip(b"\0") or 0 in map(sub, edges[1:], edges):
            sound = [start < end and not block[start] & 1 for start, end in pairwise(edges)]
            changes = [Change(start, end, b"\1".ljust(end - start, b"\0")) for start, end in pairwise(edges)]
            changes = [one for one, sounds in zip(changes, sound, strict=True) if not sounds and _differs(block, one)]
            firsts = bytes(compress(firsts, sound))
            ends = list(compress(ends, sound))
        refuse_tails(block, ends)
        if not firsts:
            return changes, 0
        sizes = [self._sizes[first] for first in firsts]
        twice = 2 * sum(sizes) - sizes[-1] + (self._before or -sizes[0])
        self._before = sizes[-1]
        return changes, twice >> 2


_NO_SOUND = bytes(first & 1 for first in range(256))


def _differs(block: bytes, change: Change) -> bool:
    return change.start < change.end and not block.startswith(change.clean, change.start)


class Opus:
    """Packets of Opus, of one or several streams."""

    idle = "padding"

    def __init__(self, head: bytes) -> None:
        self._streams = head[19] if head[18] else 1

    def take(self, block: bytes, edges: Sequence[int]) -> tuple[list[Change], int]:
        firsts = _firsts(block, edges)
        sizes = list(map(sub, edges[1:], edges))
        plain = self._streams == 1 and not firsts.translate(opus.CODES).strip(b"\0")
        if plain and min(sizes) > 2 and max(sizes) <= opus.LONGEST:  # so with most
            return [], sum(map(opus.LENGTHS.__getitem__, firsts))
        changes, samples = [], 0
        for start, end in pairwise(edges):
            packet = block[start:end]
            clean = opus.blanked(packet, self._streams)
            samples += opus.length(clean)
            if clean is not packet:
                changes.append(Change(start, end, clean))
        return changes, samples


class Flac:
    """Packets of FLAC, a frame each; what follows a frame in its packet is looked for where there is text in it."""

    idle = "surplus"

    def __init__(self, info: bytes) -> None:
        self._info = flacframes.read_info(info)

    def take(self, block: bytes, edges: Sequence[int]) -> tuple[list[Change], int]:
        heads = (block[start : start + flacframes.HEADER] for start in edges[:-1])
        return list(self._changes(block, edges)), sum(map(flacframes.block_of, heads))

    def _changes(self, block: bytes, edges: Sequence[int]) -> Iterator[Change]:
        for index in sorted({bisect_right(edges, place) for place in texts(block)} - {0, len(edges)}):
            packet = block[edges[index - 1] : edges[index]]
            length = flacframes.frame_length(packet, self._info) or len(packet)
            if packet[length:].strip(b"\0"):
                yield Change(edges[index - 1], edges[index], packet[:length].ljust(len(packet), b"\0"))


class Speex:
    """Packets of Speex, all as long."""

    idle = "packet"

    def __init__(self, head: bytes) -> None:
        mode, frame, frames = (int.from_bytes(head[start : start + 4], "little") for start in (40, 56, 64))
        self._samples = (frame or 160 << (mode & 3)) * (frames or 1)

    def take(self, block: bytes, edges: Sequence[int]) -> tuple[list[Change], int]:
        refuse_tails(block, edges[1:])
        return [], self._samples * (len(edges) - 1)
