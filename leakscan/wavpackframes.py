"""Frames of WavPack as Matroska has them: blocks without most of their header, made of sub-blocks.

Sources: the Matroska codec specification of WavPack; "WavPack 4 & 5 Binary File / Block Format" (block header).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from leakscan import wavpackblocks
from leakscan.blocks import damaged
from leakscan.model import Part
from leakscan.wavpackblocks import CHECKED, FINAL, INITIAL, UNUSED, sub_blocks

if TYPE_CHECKING:
    from leakscan.rows import Places

OLDEST, NEWEST = 0x402, 0x410
"""Versions of WavPack that are known."""

_WHOLE = INITIAL | FINAL
_COUNT = 4  # bytes: how many samples a frame has
_MOST_SAMPLES = 131_072  # in a block, by the specification


class WavPack:
    """WavPack of a version, with all blocks of the same samples in one frame.

    All frames of a track have to say the same of its channels and sample rate: one of these is for one track.
    `flagged` is whether a flag that nothing reads is set in one of those so far.
    """

    name = "unknown.sub-block"

    def __init__(self, version: int) -> None:
        self.flagged = False
        self._oldest = version == OLDEST
        self._said: set[tuple[int, bytes]] = set()

    def odd(self, block: bytes, starts: Places, ends: Places) -> Iterable[int]:
        frames = enumerate(zip(starts, ends, strict=True))
        return [index for index, (start, end) in frames if self.cleaned(frame := block[start:end]) is not frame]

    def cleaned(self, frame: bytes) -> bytes:
        kept = [part for part in self.parts(frame, 0) if part.kind == "payload"]
        if all(part.clean is None for part in kept) and sum(part.end - part.start for part in kept) == len(frame):
            return frame
        return b"".join(frame[part.start : part.end] if part.clean is None else part.clean for part in kept)

    def parts(self, frame: bytes, start: int) -> list[Part]:
        """The parts that a frame is which lies at `start`: payload, and sub-blocks that no decoder reads.

        Raises Unreadable where it is no frame, or text stands behind the samples.
        """
        if not 0 < int.from_bytes(frame[:_COUNT], "little") <= _MOST_SAMPLES:
            raise _none(start)
        found = [Part("payload", "matroska.frames", start, start + _COUNT)]
        blocks = list(_blocks(frame, start))
        for block in blocks:
            subs = list(sub_blocks(block.data, block.head, start + block.start))
            self._said |= wavpackblocks.said(block.data, subs)
            inner, size = wavpackblocks.parts(block.data, subs, block.flags, self._oldest, start + block.start)
            self.flagged |= bool(block.flags & UNUSED)
            head = struct.pack("<I", block.flags & ~(CHECKED | UNUSED)) + block.data[4:8]
            head += struct.pack("<I", size) if block.head > len(head) else b""
            same = block.data.startswith(head)
            end = start + block.start + block.head
            found.append(Part("payload", "matroska.frames", end - block.head, end, None if same else head))
            found += map(_of_matroska, inner)
        wavpackblocks.check_said(self._said, sum(wavpackblocks.channels(block.flags) for block in blocks))
        return found


class _Block(NamedTuple):
    """A block: where it lies in its frame, how many bytes its header has, which its data begins with; its flags."""

    start: int
    head: int
    data: bytes
    flags: int


def _blocks(frame: bytes, start: int) -> Iterator[_Block]:
    """The blocks of a frame, which lies at `start`; one alone does not say how long it is."""
    offset, place, head = _COUNT, 0, 8
    while not place & FINAL:
        if offset + head > len(frame):
            raise _none(start)
        (flags,) = struct.unpack_from("<I", frame, offset)
        if bool(flags & INITIAL) != (offset == _COUNT):
            raise _none(start)
        end = len(frame)
        if flags & _WHOLE != _WHOLE:
            head = 12
            end = offset + head + int.from_bytes(frame[offset + 8 : offset + head], "little")
        if end > len(frame):
            raise _none(start)
        yield _Block(offset, head, frame[offset:end], flags)
        offset, place = end, flags
    if offset < len(frame):
        raise _none(start)


def _none(start: int) -> Exception:
    return damaged(f"what is at byte {start:,} of it is no WavPack")


def _of_matroska(part: Part) -> Part:
    """A part of a block as one of a frame, all of which is payload where it is kept."""
    if part.clean == b"":
        return part._replace(name=part.name.replace("wavpack", "matroska", 1))
    return part._replace(kind="payload", name="matroska.frames")
