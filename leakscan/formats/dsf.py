"""DSD stream files: `.dsf`.  Source: Sony, "DSF File Format Specification", version 1.01.

Three chunks of fixed order (DSD, fmt, data), then an ID3v2 tag that the first of them points to.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from leakscan import ledgers
from leakscan.blocks import Peeled, after_id3, at, cut, damaged, glued, id3_size, peel, size_of
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.rebuilding import around, dropped, refuse_tags_among_samples, rewritten

AUDIO = True
NAMES = (".dsf",)

_HEAD, _FORMAT, _DATA = 28, 52, 12  # bytes of the DSD chunk, of the fmt chunk, of the header of the data chunk
_SAMPLES = _HEAD + _FORMAT + _DATA
_LAYOUTS, _MOST_CHANNELS, _MOST_RATE = 7, 8, 1 << 26  # the last one in Hz
_BLOCK = 4096  # bytes of each channel in turn


def sniff(head: bytes) -> bool:
    """`DSD ` with a chunk of 28 bytes, then `fmt `."""
    head = head[after_id3(head) :]
    return head[:12] == b"DSD " + struct.pack("<Q", _HEAD) and head[_HEAD : _HEAD + 4] == b"fmt "


def read(entry: Entry) -> Iterator[Item]:
    """Yield what a DSF file holds.  Raises Unreadable where it is cut or damaged."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a DSF file.  Raises Unreadable as `read` does, without a path."""
    peeled = peel(stream)
    start, end = peeled.start, size_of(stream)
    head = at(stream, start, _SAMPLES)
    if not sniff(head) or len(head) < _SAMPLES or head[_HEAD + _FORMAT :][:4] != b"data":
        raise damaged("no DSF header in it")
    total, pointer = struct.unpack_from("<QQ", head, 12)
    fmt_size, version, coding, layout, channels, rate, bits, samples, block = struct.unpack_from(
        "<Q6IQI", head, _HEAD + 4
    )
    size = int.from_bytes(head[-8:], "little") - _DATA
    if (fmt_size, version, coding, block) != (_FORMAT, 1, 0, _BLOCK) or bits not in (1, 8):
        raise damaged("its fmt chunk is none of DSD")
    if layout > _LAYOUTS or not 0 < channels <= _MOST_CHANNELS or not 0 < rate <= _MOST_RATE:
        raise damaged("its fmt chunk states no channels or sample rate, or such as DSD has not")
    first = start + _SAMPLES
    needed = -(-samples // (8 * _BLOCK)) * channels * _BLOCK
    if not needed <= size < needed + channels * _BLOCK:
        raise damaged(f"its fmt chunk states {samples:,} samples of each channel, its data chunk {size:,} bytes")
    if first + size > end or start + total > end:
        raise cut(f"its header says {max(first + size, start + total):,} bytes, {end:,} are there")
    tags = around(peeled, first + size, end)
    refuse_tags_among_samples(stream, first, first + needed)
    parts = [
        Part("structure", "dsf.header", start, start + 12),
        _number(stream, start + 12, _SAMPLES + needed, (_SAMPLES + size, end)),
        _number(stream, start + 20, 0, (_SAMPLES + size, end)),
        Part("structure", "dsf.header", start + 28, start + 76),
        rewritten(stream, "dsf.header", start + 76, start + 80, bytes(4)),
        Part("structure", "dsf.header", start + 80, first - 8),
        Part("structure", "dsf.header", first - 8, first, struct.pack("<Q", _DATA + needed)),
        *_samples(stream, first, needed, channels, samples),
        *dropped(stream, "stale", "dsf.remainder", first + needed, first + size),
    ]
    if pointer:
        parts += _pointed(stream, start + pointer, first + size, tags)
    parameters = {
        "channel type": layout, "channels": channels, "rate": rate, "bits": bits, "samples": samples, "bytes": needed,
    }  # fmt: skip
    return ledgers.ledger(
        stream, "dsf", [*parts, *glued("dsf", tags)], ((name, f"{value}") for name, value in parameters.items())
    )


def _number(stream: BinaryIO, start: int, clean: int, reach: tuple[int, int]) -> Part:
    """A place in the file, after the samples and not beyond its end; any other number tells something."""
    stated = at(stream, start, 8)
    accepted = (stated,) if reach[0] <= int.from_bytes(stated, "little") <= reach[1] else ()
    return rewritten(stream, "dsf.header", start, start + 8, struct.pack("<Q", clean), accepted)


def _samples(stream: BinaryIO, first: int, size: int, channels: int, samples: int) -> Iterator[Part]:
    """The blocks of all channels in turn; the last of each channel is filled up with zeros.  A byte is 8 samples."""
    used = -(-samples // 8) % _BLOCK or _BLOCK
    last = max(first, first + size - channels * _BLOCK)
    yield Part("payload", "dsf.samples", first, last)
    for offset in range(last, first + size, _BLOCK):
        yield Part("payload", "dsf.samples", offset, offset + used)
        yield rewritten(stream, "dsf.block", offset + used, offset + _BLOCK, bytes(_BLOCK - used), kind="stale")


def _pointed(stream: BinaryIO, pointed: int, first: int, tags: Peeled) -> Iterator[Part]:
    """The tag at the byte that the header points to, where it is none of those at the end of the file."""
    if first <= pointed < tags.end and (length := id3_size(at(stream, pointed, 10))):
        yield Part("tag", "dsf.id3", pointed, min(tags.end, pointed + length), reader="id3")
