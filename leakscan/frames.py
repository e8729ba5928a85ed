"""Frames of sound whose place and size a container tells: what stands in them that no decoder reads.

Text behind the sound of a frame of AAC or Apple Lossless is refused (Unreadable), since only decoding could take it
out; other bytes there, and what stands inside a frame of MPEG audio or AC-3, are not looked for here.
Sources: as in the modules of the codings.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, Protocol

from leakscan import ac3frames, fills, flacframes, mpegframes, opus
from leakscan.legible import refuse_tails, texts


class Frames(Protocol):
    """The frames of a track."""

    @property
    def name(self) -> str:
        """What that is which no decoder reads, with its kind."""
        ...

    def odd(self, block: bytes, edges: Sequence[int]) -> Iterable[int]:
        """Of frames that lie in a block from each of `edges` to the next: the indexes of those to be looked at.

        Raises Unreadable where there is something that only decoding could take out.
        """
        ...

    def cleaned(self, frame: bytes) -> bytes:
        """The frame without what no decoder reads: the same object where there is nothing of the kind; shorter where
        that is behind its end, else with zeros in the place.

        Raises Unreadable as `odd` does.
        """
        ...


class Aac:
    """Plain AAC; text of the encoder stands in elements that a frame begins with."""

    name = "encoder.fill"

    def odd(self, block: bytes, edges: Sequence[int]) -> Iterable[int]:
        begins = bytes(map((block + b"\0").__getitem__, edges[:-1]))
        early = {found.start() for found in _EARLY.finditer(begins)}
        ends = edges[1:]
        refuse_tails(block, ends if not early else (end for index, end in enumerate(ends) if index not in early))
        return early

    def cleaned(self, frame: bytes) -> bytes:
        clean = fills.blanked(frame)
        refuse_tails(clean, (len(clean),))
        return clean


_EARLY = re.compile(b"[%b]" % b"".join(b"\\x%02x" % byte for byte in range(256) if byte >> 5 in fills.STARTS))


class Alac:
    """Apple Lossless, of whose frames decoders alone know where they end."""

    name = "unknown.surplus"

    def odd(self, block: bytes, edges: Sequence[int]) -> Iterable[int]:
        refuse_tails(block, edges[1:])
        return ()

    def cleaned(self, frame: bytes) -> bytes:
        return frame


class Opus(NamedTuple):
    """Opus, of one or several streams; padding stays, as zeros."""

    streams: int
    name: str = "unknown.padding"

    def odd(self, block: bytes, edges: Sequence[int]) -> Iterable[int]:
        if self.streams > 1:
            return range(len(edges) - 1)
        return [
            index
            for index, (start, end) in enumerate(zip(edges, edges[1:]))  # noqa: B905, RUF007
            if start < end and (block[start] & 3 or end - start == 2 or end - start > opus.LONGEST)
        ]

    def cleaned(self, frame: bytes) -> bytes:
        return opus.blanked(frame, self.streams)


class Flac(NamedTuple):
    """FLAC, a frame each; where it ends is looked for where there is text in it."""

    info: flacframes.Info
    name: str = "unknown.surplus"

    def odd(self, block: bytes, edges: Sequence[int]) -> Iterable[int]:
        return sorted({bisect_right(edges, place) - 1 for place in texts(block)} - {-1, len(edges) - 1})

    def cleaned(self, frame: bytes) -> bytes:
        length = flacframes.frame_length(frame, self.info)
        return frame if length in (None, len(frame)) else frame[:length]


class Sized(NamedTuple):
    """A coding whose frames say how long they are, one or several together; `header` bytes tell the length of one, 0
    where they are no header."""

    length: Callable[[bytes], int]
    header: int
    key: Callable[[bytes], Hashable] = bytes
    name: str = "unknown.surplus"

    def odd(self, block: bytes, edges: Sequence[int]) -> Iterable[int]:
        lengths: dict[Hashable, int] = {}
        found = []
        for index, (start, end) in enumerate(zip(edges, edges[1:])):  # noqa: B905, RUF007
            head = block[start : start + self.header]
            length = lengths.get(key := self.key(head))
            if length is None:
                length = lengths[key] = self.length(head)
            if length != end - start:
                found.append(index)
        return found

    def cleaned(self, frame: bytes) -> bytes:
        end = 0
        while (length := self.length(frame[end : end + self.header])) and end + length <= len(frame):
            end += length
        return frame[:end] if 0 < end < len(frame) else frame


def _mpeg_length(head: bytes) -> int:
    header = mpegframes.header_of(head)
    return header.length if header else 0


def _ac3_length(head: bytes) -> int:
    frame = ac3frames.header_of(head)
    return frame.length if frame else 0


MPEG = Sized(_mpeg_length, 4)
AC3 = Sized(
    _ac3_length, ac3frames.HEADER, lambda head: head if head[5:] >= b"\x58" else head[:2] + head[4:]
)  # without its check
