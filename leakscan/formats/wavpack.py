"""WavPack: `.wv`.  Source: "WavPack 4 & 5 Binary File / Block Format" (wavpack.com/WavPack5FileFormat.pdf).

The clean file has the blocks with samples and in them the sub-blocks that a decoder needs (`leakscan.wavpackblocks`);
blocks lose their checksum, which a flag says they have.  Kept: the CRC of the samples of every block, which decoders
verify.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import BinaryIO, NamedTuple

from leakscan import wavpackblocks
from leakscan.blocks import GLUED_LIMIT, JUNK_LIMIT, Peeled, after_id3, at, cut, damaged, glued, peel, tag_at
from leakscan.ledgers import NOTHING, Seen, audio_item, ledger
from leakscan.legible import refuse_tails
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.wavpackblocks import CHECKED, FINAL, INITIAL, UNUSED, Sub, sub_blocks

AUDIO = True
NAMES = (".wv",)
LOADS = ("numpy",)

_MAGIC = b"wvpk"
_HEADER = 32
_LARGEST = 1 << 20  # bytes of a block, by the specification
_READ = 1 << 21  # bytes, so that many blocks are looked at together; the largest one fits
_CLEARED = UNUSED | CHECKED
_OLDEST = 0x402  # version
_UNKNOWN = 0xFFFFFFFF  # the count of samples where the encoder could not come back to fill it in


class _Block(NamedTuple):
    """A block header, and where its block begins and ends."""

    start: int
    end: int
    head: bytes
    version: int
    total: int
    first: int
    samples: int
    flags: int


class _Window(NamedTuple):
    """Bytes of a file from `start` on."""

    start: int
    data: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.data)


def sniff(head: bytes) -> bool:
    """`wvpk` and a plausible version at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 4] == _MAGIC and head[start + 9 : start + 10] == b"\x04"


def read(entry: Entry) -> Iterator[Item]:
    """The one item of a WavPack file.  Raises Unreadable where it is cut or no WavPack."""
    return audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a WavPack file.  Raises Unreadable where it is cut or no WavPack."""
    return _account(stream, NOTHING)


def read_back(stream: BinaryIO, seen: Seen) -> Ledger:
    """The same of a clean copy; no text is looked for again in samples that were `seen` in its source."""
    return _account(stream, seen)


def _account(stream: BinaryIO, seen: Seen) -> Ledger:
    peeled = peel(stream)
    parts = list(glued("wavpack", peeled))
    first: _Block | None = None
    samples = 0
    ended = True  # the block before was the last one of its samples
    together = alike = 0  # blocks with the same samples so far, and for all samples
    channels = 0  # of the blocks so far up to the first that is the last of its samples
    said: set[tuple[int, bytes]] = set()  # about channels and the sample rate
    for window, blocks in groupby(_blocks(stream, peeled), itemgetter(0)):
        sounds: list[int] = []  # where samples begin and end in it, in turn
        for _, block in blocks:
            if not block.samples:
                parts += _extras(block, first or block, samples, window)
                continue
            first = first or block
            begins, whole = bool(block.flags & INITIAL), bool(block.flags & FINAL)
            together = 1 if begins else together + 1
            channels += 0 if alike else wavpackblocks.channels(block.flags)
            if whole and not alike:
                alike = together
            if begins != ended or block.first != samples or (whole and together != alike):
                raise damaged(f"the block at byte {block.start:,} does not follow the one before")
            ended = whole
            samples += block.samples if whole else 0
            subs = list(_subs(block, window))
            said |= wavpackblocks.said(window.data, subs)
            kept = wavpackblocks.kept(window.data, subs, block.flags, block.version == _OLDEST, window.start)
            parts.append(_head_part(block, first, kept.size))
            parts += kept.parts
            sounds += kept.sounds
        _refuse_texts(window, sounds, seen)
    if first is None:
        raise damaged("no WavPack block with samples in it")
    if not ended or first.total not in (samples, _UNKNOWN):
        raise cut(f"its header counts {first.total:,} samples, {samples:,} are there")
    wavpackblocks.check_said(said, channels)
    told = {"samples": str(samples), "version": f"{first.version:#x}", "flags": f"{first.flags & ~_CLEARED:#x}"}
    return ledger(stream, "wavpack", parts, told.items())


def _blocks(stream: BinaryIO, peeled: Peeled) -> Iterator[tuple[_Window, _Block]]:
    """The blocks, each with bytes in which all of it lies.

    Raises Unreadable where the last one is cut, or as much else is there as blocks never have around them.
    """
    gaps = passed = 0
    offset = peeled.start
    window = _Window(offset, b"")
    while offset < peeled.end:
        if offset + _HEADER > window.end:
            window = _Window(offset, at(stream, offset, min(_READ, peeled.end - offset)))
        head = window.data[offset - window.start : offset - window.start + _HEADER]
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
        if block.end > window.end:
            window = _Window(offset, at(stream, offset, min(_READ, peeled.end - offset)))
        yield window, block
        offset = block.end


def _block(head: bytes, start: int) -> _Block | None:
    """The block header that `head` is; None if it is none."""
    if len(head) < _HEADER or head[:4] != _MAGIC:
        return None
    size, version, high_first, high_total, total, first, samples, flags = struct.unpack_from("<IHBBIIII", head, 4)
    if not _OLDEST <= version <= 0x410 or not _HEADER - 8 <= size <= _LARGEST or size % 2:
        return None
    if total != _UNKNOWN:
        total += (high_total << 32) - high_total  # so that no count looks like an unknown one
    return _Block(start, start + 8 + size, head, version, total, first + (high_first << 32), samples, flags)


def _next_block(stream: BinaryIO, start: int, stop: int) -> int:
    data = at(stream, start, stop - start)
    found = data.find(_MAGIC)
    while found >= 0 and _block(data[found : found + _HEADER], 0) is None and len(data) - found >= _HEADER:
        found = data.find(_MAGIC, found + 1)
    return start + found if found >= 0 else stop


def _subs(block: _Block, window: _Window) -> Iterator[Sub]:
    """The sub-blocks of a block."""
    return sub_blocks(window.data, block.start - window.start + _HEADER, block.start, block.end - window.start)


def _extras(block: _Block, like: _Block, samples: int, window: _Window) -> Iterator[Part]:
    """The parts of a block without samples, all of it dropped; its header should say nothing that others do not."""
    flags = block.flags & ~CHECKED
    hollow = (
        block.total in (like.total, _UNKNOWN) and block.first in (0, samples) and flags in (0, like.flags & ~CHECKED)
    )
    hollow = hollow and block.version == like.version and block.head[28:] in (bytes(4), b"\xff" * 4)  # of no samples
    yield Part("structure" if hollow else "unknown", "wavpack.block", block.start, block.start + _HEADER, b"")
    for sub in _subs(block, window):
        yield from wavpackblocks.extra(sub, window.data, window.start)


def _head_part(block: _Block, like: _Block, size: int) -> Part:
    """The part that the header of a block with samples is, of which `size` bytes are kept that a decoder needs.

    How many samples there are in all only the first block tells decoders: the others are made `like` it.
    """
    head = block.head
    clean = head[:4] + struct.pack("<I", size + _HEADER - 8) + head[8:11] + like.head[11:16] + head[16:24]
    clean += struct.pack("<I", block.flags & ~_CLEARED) + head[28:]
    kind = "structure" if block.total in (like.total, _UNKNOWN, 0) and not block.flags & UNUSED else "unknown"
    return Part(kind, "wavpack.block", block.start, block.start + _HEADER, None if clean == head else clean)


def _refuse_texts(window: _Window, sounds: Sequence[int], seen: Seen) -> None:
    """Raise Unreadable where text that was not `seen` stands in samples, which begin and end at `sounds` in turn."""
    if sounds and not seen.covers([window.start + edge for edge in sounds]):
        refuse_tails(window.data, sounds[::2], sounds[1::2], window.start)
