"""Frames of sound whose place and size a container tells: what stands in them that no decoder reads.

Text behind the sound of a frame of AAC, Apple Lossless or Vorbis, and long text in it, is refused (Unreadable), since
only decoding could take it out; other bytes there are not looked for.  What stands inside the frames of MPEG audio or
AC-3 is told by all of them together (`Sized.inner`).
Sources: as in the modules of the codings.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import sub
from typing import TYPE_CHECKING, NamedTuple, Protocol

from leakscan import ac3bits, ac3frames, fills, flacframes, mpegbits, mpegframes, mpeginfo, opus
from leakscan.blocks import damaged
from leakscan.legible import refuse_tails, telling, texts
from leakscan.rows import crc16

if TYPE_CHECKING:
    from leakscan.rows import Places


class Frames(Protocol):
    """The frames of a track."""

    @property
    def name(self) -> str:
        """What that is which no decoder reads, with its kind."""
        ...

    def odd(self, block: bytes, starts: Places, ends: Places) -> Iterable[int]:
        """Of frames that lie in a block from each start to its end: the indexes of those to be looked at.

        Raises Unreadable where there is something that only decoding could take out.
        """
        ...

    def cleaned(self, frame: bytes) -> bytes:
        """The frame without what no decoder reads: the same object where there is nothing of the kind; shorter where
        that is behind its end, else with zeros in the place.

        Raises Unreadable as `odd` does.
        """
        ...


def _beginning(pattern: re.Pattern[bytes], block: bytes, starts: Places) -> list[int]:
    """Which frames begin with a byte of the pattern, by index."""
    import numpy as np

    firsts = np.frombuffer(block or b"\0", np.uint8).take(starts, mode="clip").tobytes()
    return [found.start() for found in pattern.finditer(firsts)]


class Aac:
    """Plain AAC; text of the encoder stands in elements that a frame begins with."""

    name = "encoder.fill"

    def odd(self, block: bytes, starts: Places, ends: Places) -> Iterable[int]:
        early = _beginning(_EARLY, block, starts)
        refuse_tails(block, starts, ends, but=early)
        return early

    def cleaned(self, frame: bytes) -> bytes:
        clean = fills.blanked(frame)
        refuse_tails(clean, (0,), (len(clean),))
        return clean


_EARLY = re.compile(b"[%b]" % b"".join(b"\\x%02x" % byte for byte in range(256) if byte >> 5 in fills.STARTS))


class Alac:
    """Apple Lossless, of whose frames decoders alone know where they end."""

    name = "unknown.surplus"

    def odd(self, block: bytes, starts: Places, ends: Places) -> Iterable[int]:
        refuse_tails(block, starts, ends)
        return ()

    def cleaned(self, frame: bytes) -> bytes:
        return frame


class Vorbis:
    """Vorbis; a packet that says it is no sound is passed over by decoders, and nothing of it stays."""

    name = "unknown.packet"

    def odd(self, block: bytes, starts: Places, ends: Places) -> Iterable[int]:
        silent = _beginning(_NO_SOUND, block, starts)
        refuse_tails(block, starts, ends, but=silent)
        return silent

    def cleaned(self, frame: bytes) -> bytes:
        return b"" if frame[:1] and frame[0] & 1 else frame


_NO_SOUND = re.compile(b"[%b]" % b"".join(b"\\x%02x" % byte for byte in range(1, 256, 2)))


class Opus(NamedTuple):
    """Opus, of one or several streams; padding stays, as zeros."""

    streams: int
    name: str = "unknown.padding"

    def odd(self, block: bytes, starts: Places, ends: Places) -> Iterable[int]:
        some = range(len(starts)) if self.streams > 1 else opus.odd(block, starts, ends)
        refuse_tails(block, starts, ends, but=some)
        return some

    def cleaned(self, frame: bytes) -> bytes:
        clean = opus.blanked(frame, self.streams)
        refuse_tails(clean, (0,), (len(clean),))
        return clean


class Flac(NamedTuple):
    """FLAC, a frame each; where it ends is looked for where there is text in it, or its checksum is wrong."""

    info: flacframes.Info
    name: str = "unknown.surplus"

    def odd(self, block: bytes, starts: Places, ends: Places) -> Iterable[int]:
        within = {bisect_right(starts, place) - 1 for place in texts(block)} - {-1}
        within.update(telling(block, starts, ends))
        frames = [block[start:end] for start, end in zip(starts, ends, strict=True)]
        if crc16(b"".join(frames)):  # 0 where that of every frame is
            within.update(index for index, frame in enumerate(frames) if crc16(frame))
        return sorted(within)

    def cleaned(self, frame: bytes) -> bytes:
        length = flacframes.frame_length(frame, self.info)
        if length is None or crc16(frame[:length]):
            raise damaged("a FLAC frame in it is not whole, or has a wrong checksum")
        return frame if length == len(frame) else frame[:length]


class Sized(NamedTuple):
    """A coding whose frames say how long they are, one or several together; `header` bytes tell the length of one, 0
    where they are no header.

    `inner` makes clean what stands within the frames of data, from each of their starts to its end: it returns the data
    with the same frames as they are then, None where they are so, and what was cleared in them.
    """

    length: Callable[[bytes], int]
    header: int
    inner: Callable[[bytes, array[int], array[int]], tuple[bytearray | None, set[str]]]
    key: Callable[[bytes], Hashable] = bytes
    name: str = "unknown.surplus"

    def odd(self, block: bytes, starts: Places, ends: Places) -> Iterable[int]:
        lengths: dict[Hashable, int] = {}
        found = []
        for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
            head = block[start : start + self.header]
            length = lengths.get(key := self.key(head))
            if length is None:
                length = lengths[key] = self.length(head)
            if length != end - start:
                found.append(index)
        return found

    def cleaned(self, frame: bytes) -> bytes:
        *_, end = 0, *self.ends(frame)
        return frame[:end] if 0 < end < len(frame) else frame

    def ends(self, block: bytes) -> Iterator[int]:
        """Where each of the whole frames ends that a block begins with."""
        end = 0
        while (length := self.length(block[end : end + self.header])) and end + length <= len(block):
            end += length
            yield end


def _mpeg_length(head: bytes) -> int:
    header = mpegframes.header_of(head)
    return header.length if header else 0


def _mpeg_inner(data: bytes, starts: array[int], ends: array[int]) -> tuple[bytearray | None, set[str]]:
    """As `mpegbits.cleaned`; but if a header that counts frames is in the first one, as muxers keep it, and no sound,
    its fields are named one by one."""
    clean, names = mpegbits.cleaned(data, starts, ends)
    frame = data[starts[0] : ends[0]] if starts else b""
    info = mpeginfo.info_in(frame)
    if clean is None or info is None or any(clean[starts[0] + info.begin : ends[0]]):
        return clean, names
    _, names = mpegbits.cleaned(data, starts[1:], ends[1:])
    fields, _ = info.rewritten(frame, [*map(sub, ends[1:], starts[1:])])
    odd = (field for field in fields if frame[field.begin : field.end] != field.clean and field.kind != "structure")
    return clean, names.union(f"{field.kind}.{field.name}" for field in odd)


def _ac3_length(head: bytes) -> int:
    frame = ac3frames.header_of(head)
    return frame.length if frame else 0


MPEG = Sized(_mpeg_length, 4, _mpeg_inner)
AC3 = Sized(
    _ac3_length,
    ac3frames.HEADER,
    ac3bits.cleaned,
    lambda head: head if head[5:] >= b"\x58" else head[:2] + head[4:],  # without its check
)
