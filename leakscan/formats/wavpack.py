"""WavPack: `.wv`.  Source: "WavPack 4 & 5 Binary File / Block Format" (wavpack.com/WavPack5FileFormat.pdf).

The clean file has the blocks with samples and in them the sub-blocks that a decoder needs (`leakscan.wavpackblocks`);
blocks lose their checksum, which a flag says they have.  Kept: the CRC of the samples of every block, which decoders
verify.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from leakscan import wavpackblocks
from leakscan.blocks import GLUED_LIMIT, JUNK_LIMIT, after_id3, at, cut, damaged, glued, peel, tag_at
from leakscan.ledgers import audio_item, ledger
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.wavpackblocks import CHECKED, FINAL, INITIAL, UNUSED, Sub, sub_blocks

AUDIO = True
NAMES = (".wv",)
LOADS = ("numpy",)

_MAGIC = b"wvpk"
_HEADER = 32
_LARGEST = 1 << 20  # bytes of a block, by the specification
_CLEARED = UNUSED | CHECKED
_OLDEST = 0x402  # version
_UNKNOWN = 0xFFFFFFFF  # the count of samples where the encoder could not come back to fill it in


class _Block(NamedTuple):
    """A block header."""

    end: int
    version: int
    total: int
    first: int
    samples: int
    flags: int
    counted: bytes  # the total, as it stands there


def sniff(head: bytes) -> bool:
    """`wvpk` and a plausible version at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 4] == _MAGIC and head[start + 9 : start + 10] == b"\x04"


def read(entry: Entry) -> Iterator[Item]:
    """The one item of a WavPack file.  Raises Unreadable where it is cut or no WavPack."""
    return audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a WavPack file.  Raises Unreadable where it is cut or no WavPack."""
    peeled = peel(stream)
    parts = list(glued("wavpack", peeled))
    first: _Block | None = None
    samples = gaps = passed = 0
    ended = True  # the block before was the last one of its samples
    together = alike = 0  # blocks with the same samples so far, and for all samples
    channels = 0  # of the blocks so far up to the first that is the last of its samples
    said: set[tuple[int, bytes]] = set()  # about channels and the sample rate
    offset = peeled.start
    while offset < peeled.end:
        head = at(stream, offset, min(_HEADER, peeled.end - offset))
        block = _block(head, offset)
        if block is None:
            if len(head) < _HEADER and _MAGIC.startswith(head[:4]):
                raise cut("its last block is not there in full")
            if head[:8] == b"APETAGEX" and tag_at(stream, offset, peeled.end) is None:
                raise cut("its APE tag is not there in full")
            found = _next_block(stream, offset + 1, min(peeled.end, offset + JUNK_LIMIT + 1))
            gaps, passed, offset = gaps + 1, passed + found - offset, found
            if gaps > GLUED_LIMIT or passed > JUNK_LIMIT:
                raise damaged(f"more than {GLUED_LIMIT:,} gaps, or {JUNK_LIMIT:,} bytes, between its blocks")
            continue
        if block.end > peeled.end:
            raise cut(f"its block at byte {offset:,} needs {block.end:,} bytes, {peeled.end:,} are there")
        data = at(stream, offset, block.end - offset)
        if not block.samples:
            parts += _extras(block, first or block, samples, data, offset)
        else:
            first = first or block
            begins, whole = bool(block.flags & INITIAL), bool(block.flags & FINAL)
            together = 1 if begins else together + 1
            channels += 0 if alike else wavpackblocks.channels(block.flags)
            if whole and not alike:
                alike = together
            if begins != ended or block.first != samples or (whole and together != alike):
                raise damaged(f"the block at byte {offset:,} does not follow the one before")
            ended = whole
            samples += block.samples if whole else 0
            subs = list(sub_blocks(data, _HEADER, offset))
            said |= wavpackblocks.said(data, subs)
            parts += _block_parts(block, first, subs, data, offset)
        offset = block.end
    if first is None:
        raise damaged("no WavPack block with samples in it")
    if not ended or first.total not in (samples, _UNKNOWN):
        raise cut(f"its header counts {first.total:,} samples, {samples:,} are there")
    wavpackblocks.check_said(said, channels)
    told = {"samples": str(samples), "version": f"{first.version:#x}", "flags": f"{first.flags & ~_CLEARED:#x}"}
    return ledger(stream, "wavpack", parts, told.items())


def _block(head: bytes, start: int) -> _Block | None:
    """The block header that `head` is; None if it is none."""
    if len(head) < _HEADER or head[:4] != _MAGIC:
        return None
    size, version, high_first, high_total, total, first, samples, flags = struct.unpack_from("<IHBBIIII", head, 4)
    if not _OLDEST <= version <= 0x410 or not _HEADER - 8 <= size <= _LARGEST or size % 2:
        return None
    if total != _UNKNOWN:
        total += (high_total << 32) - high_total  # so that no count looks like an unknown one
    return _Block(start + 8 + size, version, total, first + (high_first << 32), samples, flags, head[11:16])


def _next_block(stream: BinaryIO, start: int, stop: int) -> int:
    data = at(stream, start, stop - start)
    found = data.find(_MAGIC)
    while found >= 0 and _block(data[found : found + _HEADER], 0) is None and len(data) - found >= _HEADER:
        found = data.find(_MAGIC, found + 1)
    return start + found if found >= 0 else stop


def _extras(block: _Block, like: _Block, samples: int, data: bytes, start: int) -> Iterator[Part]:
    """The parts of a block without samples, all of it dropped; its header should say nothing that others do not."""
    flags = block.flags & ~CHECKED
    hollow = (
        block.total in (like.total, _UNKNOWN) and block.first in (0, samples) and flags in (0, like.flags & ~CHECKED)
    )
    hollow = hollow and block.version == like.version and data[28:_HEADER] in (bytes(4), b"\xff" * 4)  # of no samples
    yield Part("structure" if hollow else "unknown", "wavpack.block", start, start + _HEADER, b"")
    for sub in sub_blocks(data, _HEADER, start):
        yield from wavpackblocks.extra(sub, data, start)


def _block_parts(block: _Block, like: _Block, subs: Sequence[Sub], data: bytes, start: int) -> Iterator[Part]:
    """The parts of a block with samples; what a decoder needs is kept with its own header.

    How many samples there are in all only the first block tells decoders: the others are made `like` it.
    """
    found, size = wavpackblocks.parts(data, subs, block.flags, block.version == _OLDEST, start)
    flags = block.flags & ~_CLEARED
    size += _HEADER - 8
    clean = data[:4] + struct.pack("<I", size) + data[8:11] + like.counted + data[16:24]
    clean += struct.pack("<I", flags) + data[28:_HEADER]
    kind = "structure" if block.total in (like.total, _UNKNOWN, 0) and not block.flags & UNUSED else "unknown"
    yield Part(kind, "wavpack.block", start, start + _HEADER, None if clean == data[:_HEADER] else clean)
    yield from found
