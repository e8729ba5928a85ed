"""WavPack: `.wv`.  Source: "WavPack 4 & 5 Binary File / Block Format" (wavpack.com/WavPack5FileFormat.pdf).

The clean file has the blocks with samples and in them the sub-blocks that a decoder needs; blocks lose their checksum,
which a flag says they have.  Of a sub-block that is there twice decoders take the last one, and of one that is longer
than it has to be they take the front.  Kept: the CRC of the samples of every block, which decoders verify.
Not looked at: bytes behind the last sample in a sub-block of samples, which would take decoding them to find; text
there is refused.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import BinaryIO, NamedTuple

from leakscan.blocks import GLUED_LIMIT, JUNK_LIMIT, after_id3, at, cut, damaged, glued, peel, tag_at
from leakscan.ledgers import audio_item, ledger
from leakscan.legible import refuse_tails
from leakscan.model import Entry, Item, Ledger, Part

AUDIO = True
NAMES = (".wv",)

_MAGIC = b"wvpk"
_HEADER = 32
_LARGEST = 1 << 20  # bytes of a block, by the specification
_INITIAL, _FINAL = 1 << 11, 1 << 12  # flags: first and last block of the channels of the same samples
_UNUSED = 1 << 27
_CHECKED = 1 << 28  # the last sub-block is a checksum
_CLEARED = _UNUSED | _CHECKED
_UNKNOWN = 0xFFFFFFFF  # the count of samples where the encoder could not come back to fill it in
_SUB_BLOCKS = 64  # in a block; there are fewer kinds
_LONG, _ODD = 0x80, 0x40  # flags in the ID of a sub-block: three bytes of size, and one byte less than it says

_TERMS, _WEIGHTS, _HISTORY, _ENTROPY, _PROFILE, _SHAPING, _FLOAT, _INTEGER = range(2, 10)  # sub-blocks: the coding,
_SAMPLES, _CORRECTION, _REST, _DSD = 10, 11, 12, 14  # and the samples
_CHANNELS, _RATE = 0x0D, 0x27
_NEEDED = {_CHANNELS: "channels", _RATE: "sample-rate"}
_SPEAKERS = 18  # bits of a channel mask that stand for one
_TO_THE_END = (_SAMPLES, _CORRECTION, _REST, _DSD)  # those that decoders read as far as there are samples
_MOST_TERMS = 16
_ONE_CHANNEL = 0x4  # flag; of two that are alike, the sound of one is coded
_MONO, _HYBRID, _IS_FLOAT, _IS_INTEGER, _IS_DSD = 0x40000004, 0x8, 0x80, 0x100, 0x80000000  # flags; two for mono
_CHECKSUM = 0x2F
_DROPPED = {0x00: "dummy", _CHECKSUM: "checksum"}  # the first holds nothing or zeros
_EXTRAS = {
    0x01: ("encoder", "encoder"),
    0x21: ("unknown", "riff-header"),
    0x22: ("unknown", "riff-trailer"),
    0x23: ("unknown", "header"),
    0x24: ("unknown", "trailer"),
    0x25: ("encoder", "config"),
    0x26: ("digest", "md5"),
    0x28: ("unknown", "extension"),
    0x29: ("digest", "md5"),
    0x2A: ("encoder", "config"),
    0x2B: ("unknown", "channel-identities"),
}


_USUAL = {
    0x21: re.compile(
        rb"(?s)RIFF.{4}WAVE(?:junk\x1c\0{31})?fmt (?:\x10\0{3}.{16}|\x12\0{3}.{16}\0\0"
        rb"|\x28\0{3}.{16}\x16\0.{8}\0{4}\x10\0\x80\0{2}\xaa\0\x38\x9b\x71)(?:fact\x04\0{3}.{4})?data.{4}"
    ),
    0x28: re.compile(rb"(?i)wav|w64|rf64|caf|aiff?|aifc|dsf|dff"),
}
"""What the `wavpack` command writes into every file of the one that it was made from: that is a trace of it."""


class _Block(NamedTuple):
    """A block header."""

    end: int
    version: int
    total: int
    first: int
    samples: int
    flags: int


class _Sub(NamedTuple):
    """A sub-block: its ID without flags, where its body lies, and where the next one begins."""

    id: int
    start: int
    body: int
    end: int
    after: int


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
            begins, whole = bool(block.flags & _INITIAL), bool(block.flags & _FINAL)
            together = 1 if begins else together + 1
            channels += 0 if alike else 1 if block.flags & _ONE_CHANNEL else 2
            if whole and not alike:
                alike = together
            if begins != ended or block.first != samples or (whole and together != alike):
                raise damaged(f"the block at byte {offset:,} does not follow the one before")
            ended = whole
            samples += block.samples if whole else 0
            subs = list(_sub_blocks(data, offset))
            said.update([(sub.id, data[sub.body : sub.end]) for sub in subs if sub.id in _NEEDED])
            parts += _block_parts(block, subs, data, offset)
        offset = block.end
    if first is None:
        raise damaged("no WavPack block with samples in it")
    if not ended or first.total not in (samples, _UNKNOWN):
        raise cut(f"its header counts {first.total:,} samples, {samples:,} are there")
    _check_said(said, channels)
    told = {"samples": str(samples), "version": f"{first.version:#x}", "flags": f"{first.flags & ~_CLEARED:#x}"}
    return ledger(stream, "wavpack", parts, told.items())


def _check_said(said: Collection[tuple[int, bytes]], channels: int) -> None:
    """Raise Unreadable where what blocks say of the channels, or of the sample rate, is not the same in all of them, or
    cannot be.

    In front of the speakers is the number of channels or, in six or seven bytes, that and the number of streams.
    """
    if len(said) > len({kind for kind, _ in said}):
        raise damaged("its blocks say different things of its channels, or of its sample rate")
    for body in (body for kind, body in said if kind == _CHANNELS):
        long = len(body) > 5
        count = (body[0] | (body[2] & 15) << 8) + 1 if long else int.from_bytes(body[:1], "little")
        mask = int.from_bytes(body[3 if long else 1 :], "little")
        if count != channels or mask >> _SPEAKERS or mask.bit_count() > channels:
            raise damaged(f"it tells of {count:,} channels for {mask.bit_count()} speakers, and has {channels:,}")


def _block(head: bytes, start: int) -> _Block | None:
    """The block header that `head` is; None if it is none."""
    if len(head) < _HEADER or head[:4] != _MAGIC:
        return None
    size, version, high_first, high_total, total, first, samples, flags = struct.unpack_from("<IHBBIIII", head, 4)
    if not 0x402 <= version <= 0x410 or not _HEADER - 8 <= size <= _LARGEST or size % 2:
        return None
    if total != _UNKNOWN:
        total += (high_total << 32) - high_total  # so that no count looks like an unknown one
    return _Block(start + 8 + size, version, total, first + (high_first << 32), samples, flags)


def _next_block(stream: BinaryIO, start: int, stop: int) -> int:
    data = at(stream, start, stop - start)
    found = data.find(_MAGIC)
    while found >= 0 and _block(data[found : found + _HEADER], 0) is None and len(data) - found >= _HEADER:
        found = data.find(_MAGIC, found + 1)
    return start + found if found >= 0 else stop


def _sub_blocks(data: bytes, start: int) -> Iterator[_Sub]:
    """The sub-blocks of the block `data`, which lies at `start`.  Raises Unreadable where they do not fill it."""
    offset = _HEADER
    for _ in range(_SUB_BLOCKS):
        if offset == len(data):
            return
        width = 3 if data[offset] & _LONG else 1
        body = offset + 1 + width
        size = 2 * int.from_bytes(data[offset + 1 : body], "little")
        odd = bool(data[offset] & _ODD)
        if body + size > len(data) or (odd and not size):
            raise damaged(f"the block at byte {start:,} is not filled by what it is made of")
        yield _Sub(data[offset] & 0x3F, offset, body, body + size - odd, body + size)
        offset = body + size
    raise damaged(f"the block at byte {start:,} is made of more than {_SUB_BLOCKS} pieces")


def _extra(sub: _Sub, data: bytes, start: int) -> Part:
    """The part that a sub-block is which the clean file does not have."""
    kind, name = _EXTRAS.get(sub.id, ("unknown", "unknown"))
    if sub.id in _USUAL and sub.after - sub.end == data.count(0, sub.end, sub.after):
        kind = "encoder" if _USUAL[sub.id].fullmatch(data, sub.body, sub.end) else kind
    if sub.id in _DROPPED:
        short = sub.after - sub.body <= 4
        hollow = short if sub.id == _CHECKSUM else not data[sub.body : sub.after].strip(b"\x00")
        kind, name = "structure" if hollow else "unknown", _DROPPED[sub.id]
    return Part(kind, f"wavpack.{name}", start + sub.body, start + sub.after, b"")


def _extras(block: _Block, like: _Block, samples: int, data: bytes, start: int) -> Iterator[Part]:
    """The parts of a block without samples, all of it dropped; its header should say nothing that others do not."""
    flags = block.flags & ~_CHECKED
    hollow = block.total == like.total and block.first in (0, samples) and flags in (0, like.flags & ~_CHECKED)
    hollow = hollow and block.version == like.version and data[28:_HEADER] in (bytes(4), b"\xff" * 4)  # of no samples
    yield Part("structure" if hollow else "unknown", "wavpack.block", start, start + _HEADER, b"")
    for sub in _sub_blocks(data, start):
        yield Part("structure", "wavpack.sub-block", start + sub.start, start + sub.body, b"")
        yield _extra(sub, data, start)


@functools.lru_cache(maxsize=64)
def _read(flags: int) -> frozenset[int]:
    """The sub-blocks that decoders read in a block with these flags."""
    needed = {_CHANNELS, _RATE} if flags >> 23 & 15 == 15 else {_CHANNELS}  # the flags tell other rates
    if flags & _IS_DSD:
        return frozenset((_DSD, *needed))
    coding = {_TERMS, _WEIGHTS, _HISTORY, _ENTROPY, _SAMPLES, *needed}
    for flag, more in (
        (_HYBRID, (_PROFILE, _SHAPING, _CORRECTION)),
        (_IS_FLOAT, (_FLOAT, _REST)),
        (_IS_INTEGER, (_INTEGER, _REST)),
    ):
        coding.update(more if flags & flag else ())
    return frozenset(coding)


@functools.lru_cache(maxsize=1 << 10)
def _most(flags: int, oldest: bool, terms: bytes) -> Mapping[int, int]:
    """How many bytes of sub-blocks decoders read where the block has these flags and terms of prediction."""
    channels = 1 if flags & _MONO else 2
    passes = [(byte & 31) - 5 for byte in terms]
    return {
        _TERMS: _MOST_TERMS,
        _WEIGHTS: channels * len(passes),
        # of as many samples as the term says that it looks back, two for those above 8, and in the oldest one more
        _HISTORY: 2 * channels * (sum(2 if term > 8 else max(term, 1) for term in passes) + oldest),
        _ENTROPY: 6 * channels,
        _PROFILE: 6 * channels,
        _SHAPING: 12,
        _FLOAT: 4,
        _INTEGER: 4,
        **dict(zip(_NEEDED, (7, 4), strict=True)),
    }


def _useful(block: _Block, data: bytes, subs: Sequence[_Sub]) -> Mapping[int, int]:
    """Where each sub-block begins that decoders read, and how many bytes of its body are of use to them."""
    read = _read(block.flags)
    if block.flags & _HYBRID and all(sub.id != _CORRECTION for sub in subs):
        read -= {_SHAPING}  # which is of use for the correction alone
    last = {sub.id: sub for sub in subs if sub.id in read}
    terms = last.get(_TERMS)
    known = data[terms.body : terms.end][:_MOST_TERMS] if terms else b""
    most = _most(block.flags & _MONO, block.version == 0x402, known)
    return {sub.start: min(sub.end - sub.body, most.get(sub.id, _LARGEST)) for sub in last.values()}


def _block_parts(block: _Block, subs: Sequence[_Sub], data: bytes, start: int) -> Iterator[Part]:
    """The parts of a block with samples; what a decoder needs is kept with its own header."""
    size = _HEADER - 8
    sound = offset = start + _HEADER  # the sub-blocks with sound between the two are one part
    useful = _useful(block, data, subs)
    open_ended = [sub for sub in subs if sub.id in _TO_THE_END and sub.start in useful]
    refuse_tails(data, [sub.body for sub in open_ended], [sub.end for sub in open_ended], start)
    for sub in subs:
        used = useful.get(sub.start, -1)
        whole = used == sub.end - sub.body and (sub.end == sub.after or not data[sub.end])
        size += sub.body - sub.start + used + used % 2 if used >= 0 else 0
        if whole and sub.id not in _NEEDED:
            offset = start + sub.after
            continue
        if sound < offset:
            yield Part("payload", "wavpack.sound", sound, offset)
        sound = offset = start + sub.after
        if used >= 0:
            yield from _sub_parts(sub, data, start, used)
        else:
            yield Part("structure", "wavpack.sub-block", start + sub.start, start + sub.body, b"")
            yield _extra(sub, data, start)
    if sound < offset:
        yield Part("payload", "wavpack.sound", sound, offset)
    flags = block.flags & ~_CLEARED
    clean = data[:4] + struct.pack("<I", size) + data[8:24] + struct.pack("<I", flags) + data[28:_HEADER]
    kind = "unknown" if block.flags & _UNUSED else "structure"
    yield Part(kind, "wavpack.block", start, start + _HEADER, None if clean == data[:_HEADER] else clean)


def _sub_parts(sub: _Sub, data: bytes, start: int, used: int) -> Iterator[Part]:
    """The parts of a sub-block, `used` bytes of the body of which are kept."""
    kind, name = ("structure", f"wavpack.{_NEEDED[sub.id]}") if sub.id in _NEEDED else ("payload", "wavpack.sound")
    width = sub.body - sub.start - 1
    head = bytes([data[sub.start] & ~_ODD | _ODD * (used % 2)]) + (used + 1 >> 1).to_bytes(width, "little")
    same = data.startswith(head, sub.start)
    end = start + sub.body + used
    yield Part(kind, name, start + sub.start, start + sub.body, None if same else head)
    yield Part(kind, name, start + sub.body, end)
    if end == start + sub.end and (sub.end == sub.after or not data[sub.end]):
        yield Part(kind, name, end, start + sub.after)
        return
    yield Part("unknown", "wavpack.pad" if end == start + sub.end else "wavpack.surplus", end, start + sub.after, b"")
    if used % 2:
        yield Part(kind, name, start + sub.after, start + sub.after, b"\0")
