"""Packets of sound in Ogg: what no decoder reads in them, and how long they sound.

Sources: RFC 7845 section 4 (granule positions of Opus), the Vorbis I specification sections 4.3.1 (packet type, mode)
and A.2, the Speex manual section 7.3, RFC 9639 section 10.1 (FLAC).

What stands behind the sound of a packet takes decoding it to find; text there is refused (Unreadable).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from leakscan import flacframes, opus, vorbis
from leakscan.blocks import damaged
from leakscan.legible import refuse_tails, refuse_tails_between, telling, texts
from leakscan.rows import crc16

if TYPE_CHECKING:
    from leakscan.rows import Whole

    Places = Sequence[int] | Whole


_MOST = 1 << 32  # samples in a packet; more is no number that anybody counts


class Change(NamedTuple):
    """Bytes `start` to `end` of a block, and what they are in the clean file."""

    start: int
    end: int
    clean: bytes


class Sound(Protocol):
    """The packets of one stream."""

    idle: str
    """What that is which no decoder reads."""

    def take(self, block: bytes, edges: Places, seen: bool = False) -> tuple[list[Change], Whole]:
        """Of the next packets (one at least), which lie in a block from each of `edges` to the next: those in which
        something is that no decoder reads, with zeros in its place, and how many samples each of them adds to the
        granule position.  What was `seen` before is not searched for text again."""
        ...


def _firsts(block: bytes, edges: Whole) -> Whole:
    """The first byte of each packet; of one without bytes, any."""
    import numpy as np

    return np.frombuffer(block or b"\0", np.uint8).take(edges[:-1], mode="clip")


class Vorbis:
    """Packets of Vorbis; one that says it is no sound is passed over by decoders.

    It stays, as one of no kind that there is: FFmpeg gives up at headers there.
    """

    idle = "packet"

    def __init__(self, head: bytes, setup: vorbis.Setup) -> None:
        import numpy as np

        sizes = np.array((1 << (head[28] & 15), 1 << (head[28] >> 4)))
        modes = 1 << (len(setup.long) - 1).bit_length()  # those that the bits for them can tell
        long = np.array(setup.long + (False,) * (modes - len(setup.long)), np.intp)
        self._sizes = sizes[long[np.arange(256) >> 1 & modes - 1]]  # by the first byte
        self._before = 0  # size of the block before; nothing is heard of the first one alone

    def take(self, block: bytes, edges: Places, seen: bool = False) -> tuple[list[Change], Whole]:
        import numpy as np

        edges = np.asarray(edges)
        firsts, starts, ends = _firsts(block, edges), edges[:-1], edges[1:]
        sounding = (starts < ends) & (firsts & 1 == 0)
        changes = []
        for start, end in zip(starts[~sounding].tolist(), ends[~sounding].tolist(), strict=True):
            clean = b"\7".ljust(end - start, b"\0")
            if start < end and not block.startswith(clean, start):
                changes.append(Change(start, end, clean))
        sound = sounding.nonzero()[0]
        if not seen:
            refuse_tails(block, starts[sound], ends[sound])
        lengths = np.zeros(len(firsts), np.int64)
        lengths[sound] = self._lengths(firsts[sound])
        return changes, lengths

    def _lengths(self, firsts: Whole) -> Whole:
        """How many samples packets of sound add, by their first bytes."""
        import numpy as np

        sizes: Whole = self._sizes[firsts]
        if len(sizes):
            before = np.append(self._before or -sizes[0], sizes)
            self._before = int(before[-1])
            sizes = before[:-1] + sizes >> 2
        return sizes


class Opus:
    """Packets of Opus, of one or several streams."""

    idle = "padding"

    def __init__(self, head: bytes) -> None:
        import numpy as np

        self._streams = head[19] if head[18] else 1
        self._samples = np.array(opus.LENGTHS)

    def take(self, block: bytes, edges: Places, seen: bool = False) -> tuple[list[Change], Whole]:
        import numpy as np

        edges = np.asarray(edges)
        changes, samples = [], self._samples[_firsts(block, edges)]
        some = range(len(samples)) if self._streams > 1 else opus.odd(block, edges[:-1], edges[1:])
        if not seen:
            refuse_tails_between(block, edges, some)
        for index in some:
            start, end = edges[index : index + 2].tolist()
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

    def take(self, block: bytes, edges: Places, seen: bool = False) -> tuple[list[Change], Whole]:
        import numpy as np

        edges = [*map(int, edges)]
        heads = (block[start : start + flacframes.HEADER] for start in edges[:-1])
        lengths = np.array([*map(flacframes.block_of, heads)], np.int64)
        return [] if seen else list(self._changes(block, edges)), lengths

    def _changes(self, block: bytes, edges: Sequence[int]) -> Iterator[Change]:
        some = {bisect_right(edges, place) - 1 for place in texts(block)} - {-1, len(edges) - 1}
        some.update(telling(block, edges[:-1], edges[1:]))
        for index, (start, end) in enumerate(pairwise(edges)):
            packet = block[start:end]
            if index not in some and not crc16(packet):
                continue
            length = flacframes.frame_length(packet, self._info) or len(packet)
            if crc16(packet[:length]):
                raise damaged("a FLAC frame in it has a wrong checksum")
            if packet[length:].strip(b"\0"):
                yield Change(start, end, packet[:length].ljust(len(packet), b"\0"))


class Speex:
    """Packets of Speex, all as long."""

    idle = "packet"

    def __init__(self, head: bytes) -> None:
        mode, frame, frames = (int.from_bytes(head[start : start + 4], "little") for start in (40, 56, 64))
        self._samples = min((frame or 160 << (mode & 3)) * (frames or 1), _MOST)

    def take(self, block: bytes, edges: Places, seen: bool = False) -> tuple[list[Change], Whole]:
        import numpy as np

        if not seen:
            refuse_tails_between(block, edges)
        return [], np.full(len(edges) - 1, self._samples)
