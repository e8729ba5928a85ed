"""Packets of sound in Ogg: what no decoder reads in them, and how long they sound.

Sources: RFC 7845 section 4 (granule positions of Opus), the Vorbis I specification sections 4.3.1 (packet type, mode)
and A.2, the Speex manual section 7.3, RFC 9639 section 10.1 (FLAC).

What stands behind the sound of a packet takes decoding it to find; text there is refused (Unreadable).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import compress, pairwise
from operator import sub
from typing import NamedTuple, Protocol

from leakscan import flacframes, opus, vorbis
from leakscan.blocks import damaged
from leakscan.legible import refuse_tails, refuse_tails_between, telling, texts


class Change(NamedTuple):
    """Bytes `start` to `end` of a block, and what they are in the clean file."""

    start: int
    end: int
    clean: bytes


class Sound(Protocol):
    """The packets of one stream."""

    idle: str
    """What that is which no decoder reads."""

    def take(self, block: bytes, edges: Sequence[int]) -> tuple[list[Change], list[int]]:
        """Of the next packets (one at least), which lie in a block from each of `edges` to the next: those in which
        something is that no decoder reads, with zeros in its place, and how many samples each of them adds to the
        granule position."""
        ...


def _firsts(block: bytes, edges: Sequence[int]) -> bytes:
    """The first byte of each packet; of one without bytes, any."""
    return bytes(map((block + b"\0").__getitem__, edges[:-1]))


class Vorbis:
    """Packets of Vorbis; one that says it is no sound is passed over by decoders.

    It stays, as one of no kind that there is: FFmpeg gives up at headers there.
    """

    idle = "packet"

    def __init__(self, head: bytes, setup: vorbis.Setup) -> None:
        sizes = 1 << (head[28] & 15), 1 << (head[28] >> 4)
        width = (len(setup.long) - 1).bit_length()
        modes = [first >> 1 & (1 << width) - 1 for first in range(256)]
        self._sizes = [sizes[mode < len(setup.long) and setup.long[mode]] for mode in modes]
        self._before = 0  # size of the block before; nothing is heard of the first one alone

    def take(self, block: bytes, edges: Sequence[int]) -> tuple[list[Change], list[int]]:
        firsts, changes = _firsts(block, edges), []
        starts, ends = edges[:-1], edges[1:]
        sound: list[bool] = []
        if firsts.translate(_NO_SOUND).strip(b"\0") or 0 in map(sub, edges[1:], edges):
            sound = [start < end and not block[start] & 1 for start, end in pairwise(edges)]
            changes = [Change(start, end, b"\7".ljust(end - start, b"\0")) for start, end in pairwise(edges)]
            changes = [one for one, sounds in zip(changes, sound, strict=True) if not sounds and _differs(block, one)]
            firsts = bytes(compress(firsts, sound))
            starts, ends = list(compress(starts, sound)), list(compress(ends, sound))
        refuse_tails(block, starts, ends)
        lengths = self._lengths(firsts)
        if len(firsts) < len(sound):
            following = iter(lengths)
            lengths = [next(following) if sounds else 0 for sounds in sound]
        return changes, lengths

    def _lengths(self, firsts: bytes) -> list[int]:
        """How many samples packets of sound add, by their first bytes."""
        if not firsts:
            return []
        sizes = [self._sizes[first] for first in firsts]
        before = [self._before or -sizes[0], *sizes]
        self._before = before.pop()
        return [one + other >> 2 for one, other in zip(before, sizes, strict=True)]


_NO_SOUND = bytes(first & 1 for first in range(256))


def _differs(block: bytes, change: Change) -> bool:
    return change.start < change.end and not block.startswith(change.clean, change.start)


class Opus:
    """Packets of Opus, of one or several streams."""

    idle = "padding"

    def __init__(self, head: bytes) -> None:
        self._streams = head[19] if head[18] else 1

    def take(self, block: bytes, edges: Sequence[int]) -> tuple[list[Change], list[int]]:
        firsts = _firsts(block, edges)
        changes, samples = [], list(map(opus.LENGTHS.__getitem__, firsts))
        some = range(len(firsts)) if self._streams > 1 else opus.odd(block, edges)
        refuse_tails_between(block, edges, some)
        for index in some:
            start, end = edges[index : index + 2]
            packet = block[start:end]
            clean = opus.blanked(packet, self._streams)
            refuse_tails(clean, (0,), (len(clean),))
            samples[index] = opus.length(clean)
            if clean is not packet:
                changes.append(Change(start, end, clean))
        return changes, samples


class Flac:
    """Packets of FLAC, a frame each; what follows a frame in its packet is looked for where there is text in it, or the
    checksum at its end is wrong."""

    idle = "surplus"

    def __init__(self, info: bytes) -> None:
        self._info = flacframes.read_info(info)

    def take(self, block: bytes, edges: Sequence[int]) -> tuple[list[Change], list[int]]:
        heads = (block[start : start + flacframes.HEADER] for start in edges[:-1])
        return list(self._changes(block, edges)), list(map(flacframes.block_of, heads))

    def _changes(self, block: bytes, edges: Sequence[int]) -> Iterator[Change]:
        some = {bisect_right(edges, place) - 1 for place in texts(block)} - {-1, len(edges) - 1}
        some.update(telling(block, edges[:-1], edges[1:]))
        for index, (start, end) in enumerate(pairwise(edges)):
            packet = block[start:end]
            if index not in some and not flacframes.crc16(packet):
                continue
            length = flacframes.frame_length(packet, self._info) or len(packet)
            if flacframes.crc16(packet[:length]):
                raise damaged("a FLAC frame in it has a wrong checksum")
            if packet[length:].strip(b"\0"):
                yield Change(start, end, packet[:length].ljust(len(packet), b"\0"))


class Speex:
    """Packets of Speex, all as long."""

    idle = "packet"

    def __init__(self, head: bytes) -> None:
        mode, frame, frames = (int.from_bytes(head[start : start + 4], "little") for start in (40, 56, 64))
        self._samples = (frame or 160 << (mode & 3)) * (frames or 1)

    def take(self, block: bytes, edges: Sequence[int]) -> tuple[list[Change], list[int]]:
        refuse_tails_between(block, edges)
        return [], [self._samples] * (len(edges) - 1)
