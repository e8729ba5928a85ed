"""True Audio: `.tta`.  Source: the TTA1 format description (tausoft.org, "True Audio Codec Format").

There is nothing in it but a header, a table of frame sizes and the frames, each with a CRC-32: the clean file is that.
Where text stands in a frame, its samples are decoded as far as it takes to see where they end.
Not looked at: other bytes behind the samples of a frame.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import BinaryIO, NamedTuple

from leakscan.blocks import after_id3, at, cut, damaged, glued, peel, tag_at
from leakscan.ledgers import NOTHING, Seen, audio_item, ledger
from leakscan.legible import TAIL, reads, texts
from leakscan.model import Entry, Item, Ledger, Part, Unreadable

AUDIO = True
NAMES = (".tta",)
LOADS = ("numpy",)

_MAGIC = b"TTA1"
_HEADER = 22
_PLAIN, _ENCRYPTED = 1, 2  # forms of its sound
_MOST_CHANNELS, _MOST_BITS, _MOST_RATE = 255, 32, 1 << 22  # Hz
_DECODED = 32  # frames that are decoded, and one in as many of them: noise looks like text in one of thousands
_READ, _MARGIN = 1 << 20, 1 << 6  # bytes of frames that are read together, and more of them in which text goes on
_VALUES = 1 << 21  # in a frame; eight channels at 192 kHz have fewer


def sniff(head: bytes) -> bool:
    """`TTA1` at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 4] == _MAGIC


def read(entry: Entry) -> Iterator[Item]:
    """The one item of a TTA file.  Raises Unreadable where it is cut or no TTA."""
    return audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a TTA file.  Raises Unreadable where it is cut or no TTA."""
    return _account(stream, NOTHING)


def read_back(stream: BinaryIO, seen: Seen) -> Ledger:
    """The same of a clean copy; no text is looked for again in frames that were `seen` in its source."""
    return _account(stream, seen)


def _account(stream: BinaryIO, seen: Seen) -> Ledger:
    peeled = peel(stream)
    head = at(stream, peeled.start, _HEADER)
    if head[:4] != _MAGIC:
        raise damaged("no TTA stream in it")
    if len(head) < _HEADER:
        raise cut("its header is not there in full")
    form, channels, width, rate, samples = struct.unpack_from("<HHHII", head, 4)
    if _wrong(head) or not rate:
        raise damaged("its header has a wrong checksum, or states no sample rate")
    if form == _ENCRYPTED:
        raise Unreadable("its sound is encrypted; put a copy without protection in its place")
    if form != _PLAIN or not 0 < channels <= _MOST_CHANNELS or width > _MOST_BITS or rate > _MOST_RATE:
        raise damaged("its header describes sound as none can be")
    table = peeled.start + _HEADER
    block = 256 * rate // 245 or 1  # 1.045 s
    frames = -(-samples // block)
    start = table + 4 * frames + 4
    if start > peeled.end:
        raise cut(f"its seek table needs {start:,} bytes, {peeled.end:,} are there")
    seek = at(stream, table, start - table)
    if _wrong(seek):
        raise damaged("its seek table has a wrong checksum")
    sizes: list[int] = []
    pieces: list[Part] = []
    decoded = 0
    end = start
    for frame in _frames(stream, start, seek[:-4], peeled.end, seen):
        size = len(frame.data)
        used = size - 4
        if frame.tells:
            count = min(block, samples - block * len(sizes))
            decoded += 1
            if decoded > _DECODED + len(sizes) // _DECODED or count * channels > _VALUES:
                raise damaged(f"text in the frame at byte {end:,}, which is longer than any, or one of too many")
            used = _used(bytes(frame.data[:-4]), channels, count)
        if used < size - 4:
            check = zlib.crc32(frame.data[:used]).to_bytes(4, "little")
            pieces += [
                Part("payload", "tta.frames", end, end + used),
                Part("unknown", "tta.surplus", end + used, end + size - 4, b""),
                Part("payload", "tta.frames", end + size - 4, end + size, check),
            ]
        else:
            pieces.append(Part("payload", "tta.frames", end, end + size))
        sizes.append(used + 4)
        end += size
    if at(stream, end, min(8, peeled.end - end)) == b"APETAGEX" and tag_at(stream, end, peeled.end) is None:
        raise cut("its APE tag is not there in full")
    parts = [
        *glued("tta", peeled),
        Part("structure", "tta.header", peeled.start, table),
        Part(
            "structure", "tta.seek-table", table, start, _sealed(b"".join(size.to_bytes(4, "little") for size in sizes))
        ),
        *pieces,
    ]
    told = {"format": form, "channels": channels, "bits": width, "rate": rate, "samples": samples}
    return ledger(stream, "tta", parts, ((name, str(value)) for name, value in told.items()))


class _Frame(NamedTuple):
    """A frame, and whether text stands in it that was not seen."""

    data: memoryview
    tells: bool


def _frames(stream: BinaryIO, start: int, table: bytes, stop: int, seen: Seen) -> Iterator[_Frame]:
    """The frames from `start` to `stop`, by the table of their sizes.

    Raises Unreadable where one is not there in full, or has a wrong checksum.
    """
    edges = [*accumulate((size for (size,) in struct.iter_unpack("<I", table)), initial=start)]
    last = 0  # of the frames that were read together
    for index, (begin, end) in enumerate(pairwise(edges)):
        if end > stop:
            raise cut(f"its frame at byte {begin:,} needs {end:,} bytes, {stop:,} are there")
        if index >= last:
            last = max(bisect_right(edges, begin + _READ) - 1, index + 1)
            base, data = begin, at(stream, begin, min(edges[last] + _MARGIN, stop) - begin)
            new = not seen.covers((begin, edges[last]))
            telling = {bisect_right(edges, begin + place) - 1 for place in texts(data)} if new else set[int]()
        frame = memoryview(data)[begin - base : end - base]
        if len(frame) < 4 or _wrong(frame):
            raise damaged(f"its frame at byte {begin:,} has a wrong checksum")
        yield _Frame(frame, index in telling or (new and reads(bytes(frame[:-4][-TAIL:]))))


def _wrong(data: bytes | memoryview) -> bool:
    """Is the CRC-32 at the end of `data` wrong?"""
    return zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little")


def _sealed(data: bytes) -> bytes:
    """The data with their CRC-32."""
    return data + zlib.crc32(data).to_bytes(4, "little")


def _used(frame: bytes, channels: int, samples: int) -> int:
    """How many bytes of a frame its samples take; all where they do not end within.

    A value is ones up to a zero, and as many bits as a parameter says.  Each channel has two parameters: one follows
    the mean of all its values, the other that of those that do not begin with a zero.
    """
    states = [([10, 10], [1 << 14, 1 << 14]) for _ in range(channels)]
    window = held = place = 0  # bits not yet used, how many, and where more are
    for parameters, means in (state for _ in range(samples) for state in states):
        while held < _ENOUGH or window == (1 << held) - 1:  # ones only, so that more of them may follow
            more = frame[place : place + max(_REFILL, held >> 3)]
            if not more:
                break
            window |= int.from_bytes(more, "little") << held
            held += 8 * len(more)
            place += len(more)
        ones = (~window & window + 1).bit_length() - 1
        long = ones > 0
        width = parameters[long]
        taken = ones + 1 + width
        if taken > held:
            return len(frame)
        value = (ones - long << width) + (window >> ones + 1 & (1 << width) - 1)
        window >>= taken
        held -= taken
        if long:
            means[1] += value - (means[1] >> 4)
            if width and means[1] < 1 << width + 4:
                parameters[1] -= 1
            elif means[1] > 1 << width + 5:
                parameters[1] += 1
            value += 1 << parameters[0]
        width = parameters[0]
        means[0] += value - (means[0] >> 4)
        if width and means[0] < 1 << width + 4:
            parameters[0] -= 1
        elif means[0] > 1 << width + 5:
            parameters[0] += 1
    return place - held // 8


_ENOUGH, _REFILL = 64, 64  # bits that a value seldom exceeds, and bytes taken at once
