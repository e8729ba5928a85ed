"""Frames of WavPack as Matroska has them: blocks without most of their header, made of sub-blocks.

Text behind the sound of a sub-block is refused (Unreadable), since only decoding could take it out.
Sources: the Matroska codec specification of WavPack; "WavPack 4 & 5 Binary File / Block Format" (sub-blocks).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from leakscan.legible import refuse_tails
from leakscan.model import Unreadable

_WHOLE = 0x1800  # flags: the first and the last block of the same samples
_CHECKED = 1 << 28  # the last sub-block is a checksum
_LONG, _ODD = 0x80, 0x40  # flags of a sub-block: three bytes of size, and one byte less than it says
_SOUND = (0x0A, 0x0B, 0x0C, 0x0E)  # sub-blocks of samples
_READ = (*range(2, 15), 0x27)  # those that decoders read, with the description of channels and the sample rate
_ALWAYS = {0x0D: 7, 0x27: 4}  # bytes, at most, of those two


class _Block(NamedTuple):
    """A block: its flags, its CRC, and its sub-blocks."""

    flags: int
    crc: bytes
    data: bytes


class WavPack:
    """WavPack, with all blocks of the same samples in one frame."""

    name = "unknown.sub-block"

    def odd(self, block: bytes, edges: Sequence[int]) -> Iterable[int]:
        frames = enumerate(pairwise(edges))
        return [index for index, (start, end) in frames if self.cleaned(frame := block[start:end]) is not frame]

    def cleaned(self, frame: bytes) -> bytes:
        try:
            blocks = list(_blocks(frame))
            made = [(block, b"".join(_needed(block.data))) for block in blocks]
        except (struct.error, IndexError, ValueError) as error:
            raise Unreadable("damaged: a frame in it is no WavPack; replace it by a good copy") from error
        if all(len(data) == len(block.data) and not block.flags & _CHECKED for block, data in made):
            return frame
        clean = [frame[:4]]
        for block, data in made:
            clean += [struct.pack("<I", block.flags & ~_CHECKED), block.crc]
            clean += [data] if block.flags & _WHOLE == _WHOLE else [struct.pack("<I", len(data)), data]
        return b"".join(clean)


def _blocks(frame: bytes) -> Iterator[_Block]:
    """The blocks of a frame; one alone does not say how long it is."""
    offset = 4  # of how many samples there are
    while offset < len(frame):
        (flags,) = struct.unpack_from("<I", frame, offset)
        crc = frame[offset + 4 : offset + 8]
        if flags & _WHOLE == _WHOLE:
            yield _Block(flags, crc, frame[offset + 8 :])
            return
        (size,) = struct.unpack_from("<I", frame, offset + 8)
        offset += 12 + size
        if offset > len(frame):
            raise ValueError
        yield _Block(flags, crc, frame[offset - size : offset])


def _needed(data: bytes) -> Iterator[bytes]:
    """The sub-blocks that decoders read."""
    offset = 0
    while offset < len(data):
        width = 3 if data[offset] & _LONG else 1
        body = offset + 1 + width
        after = body + 2 * int.from_bytes(data[offset + 1 : body], "little")
        end = after - bool(data[offset] & _ODD)
        if after > len(data) or end < body:
            raise ValueError
        kind = data[offset] & 0x3F
        if kind in _SOUND:
            refuse_tails(data, (body,), (end,))
        if kind in _READ and end - body <= _ALWAYS.get(kind, end - body):
            yield data[offset:after]
        offset = after
