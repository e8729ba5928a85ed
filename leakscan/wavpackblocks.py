"""What blocks of WavPack are made of: sub-blocks, which decoders read or do not, also without the block's header.

Of a sub-block that is there twice decoders take the last one, and of one that is longer than it has to be they take the
front.  Bytes behind the last sample in a sub-block of samples are not looked at, since finding them would take decoding
it; text there is refused (Unreadable).
Source: "WavPack 4 & 5 Binary File / Block Format" (wavpack.com/WavPack5FileFormat.pdf).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from leakscan.blocks import damaged
from leakscan.legible import refuse_tails
from leakscan.model import Part

INITIAL, FINAL = 1 << 11, 1 << 12
"""Flags: the first and the last block of the channels of the same samples."""

UNUSED = 1 << 27
"""A flag that nothing reads."""

CHECKED = 1 << 28
"""Flag: the last sub-block is a checksum."""

NEEDED = {0x0D: "channels", 0x27: "sample-rate"}
"""Sub-blocks that are no sound but tell of it."""

_LARGEST = 1 << 20  # bytes of a block, by the specification
_SUB_BLOCKS = 64  # in a block; there are fewer kinds
_LONG, _ODD = 0x80, 0x40  # flags in the ID of a sub-block: three bytes of size, and one byte less than it says

_TERMS, _WEIGHTS, _HISTORY, _ENTROPY, _PROFILE, _SHAPING, _FLOAT, _INTEGER = range(2, 10)  # sub-blocks: the coding,
_SAMPLES, _CORRECTION, _REST, _DSD = 10, 11, 12, 14  # and the samples
_CHANNELS, _RATE = NEEDED
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


class Sub(NamedTuple):
    """A sub-block: its ID without flags, where its body lies, and where the next one begins."""

    id: int
    start: int
    body: int
    end: int
    after: int


def sub_blocks(data: bytes, first: int, start: int, end: int | None = None) -> Iterator[Sub]:
    """The sub-blocks of the block at `start`, which lie in `data` from the byte `first` on, up to `end` or all of it.

    Raises Unreadable where they do not fill it.
    """
    offset, end = first, len(data) if end is None else end
    for _ in range(_SUB_BLOCKS):
        if offset == end:
            return
        kind = data[offset]
        body = offset + (4 if kind & _LONG else 2)
        after = body + 2 * int.from_bytes(data[offset + 1 : body], "little")
        odd = kind & _ODD > 0
        if after > end or (odd and after == body):
            raise damaged(f"the block at byte {start:,} is not filled by what it is made of")
        yield Sub(kind & 0x3F, offset, body, after - odd, after)
        offset = after
    raise damaged(f"the block at byte {start:,} is made of more than {_SUB_BLOCKS} pieces")


def channels(flags: int) -> int:
    """How many channels a block with these flags has."""
    return 1 if flags & _ONE_CHANNEL else 2


def said(data: bytes, subs: Sequence[Sub]) -> set[tuple[int, bytes]]:
    """What sub-blocks say of the channels and of the sample rate."""
    return {(sub.id, data[sub.body : sub.end]) for sub in subs if sub.id in NEEDED}


def check_said(said: Collection[tuple[int, bytes]], channels: int) -> None:
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


def extra(sub: Sub, data: bytes, start: int) -> Iterator[Part]:
    """The parts that a sub-block in `data`, which lie at `start`, is where the clean file has it not."""
    kind, name = _EXTRAS.get(sub.id, ("unknown", "unknown"))
    if sub.id in _USUAL and sub.after - sub.end == data.count(0, sub.end, sub.after):
        kind = "encoder" if _USUAL[sub.id].fullmatch(data, sub.body, sub.end) else kind
    if sub.id in _DROPPED:
        short = sub.after - sub.body <= 4
        hollow = short if sub.id == _CHECKSUM else not data[sub.body : sub.after].strip(b"\x00")
        kind, name = "structure" if hollow else "unknown", _DROPPED[sub.id]
    yield Part("structure", "wavpack.sub-block", start + sub.start, start + sub.body, b"")
    yield Part(kind, f"wavpack.{name}", start + sub.body, start + sub.after, b"")


def parts(data: bytes, subs: Sequence[Sub], flags: int, oldest: bool, start: int) -> tuple[list[Part], int]:
    """The parts that the sub-blocks are of the block `data`, which lies at `start`, and how many bytes of them are
    kept; `oldest` is whether it is of the first version.

    Raises Unreadable where text stands behind the samples.
    """
    found = kept(data, subs, flags, oldest, start)
    refuse_tails(data, found.sounds[::2], found.sounds[1::2], start)
    return found.parts, found.size


class Kept(NamedTuple):
    """The parts that the sub-blocks of a block are, how many bytes of them are kept, and where samples begin and end in
    turn: text may stand behind them."""

    parts: list[Part]
    size: int
    sounds: list[int]


def kept(data: bytes, subs: Sequence[Sub], flags: int, oldest: bool, start: int) -> Kept:
    """The same of a block in `data`, which lie at `start`, without looking for text."""
    found: list[Part] = []
    size = 0
    sounds: list[int] = []
    useful = _useful(flags, oldest, data, subs)
    sound = offset = start + (subs[0].start if subs else 0)  # sub-blocks with sound between the two are one part
    for sub in subs:
        used = useful.get(sub.start, -1)
        if used >= 0 and sub.id in _TO_THE_END:
            sounds += sub.body, sub.end
        whole = used == sub.end - sub.body and (sub.end == sub.after or not data[sub.end])
        size += sub.body - sub.start + used + used % 2 if used >= 0 else 0
        if whole and sub.id not in NEEDED:
            offset = start + sub.after
            continue
        if sound < offset:
            found.append(Part("payload", "wavpack.sound", sound, offset))
        sound = offset = start + sub.after
        found += _kept(sub, data, start, used) if used >= 0 else extra(sub, data, start)
    if sound < offset:
        found.append(Part("payload", "wavpack.sound", sound, offset))
    return Kept(found, size, sounds)


@functools.lru_cache(maxsize=64)
def read(flags: int) -> frozenset[int]:
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
        **dict(zip(NEEDED, (7, 4), strict=True)),
    }


def _useful(flags: int, oldest: bool, data: bytes, subs: Sequence[Sub]) -> Mapping[int, int]:
    """Where each sub-block begins that decoders read, and how many bytes of its body are of use to them."""
    wanted = read(flags)
    if flags & _HYBRID and all(sub.id != _CORRECTION for sub in subs):
        wanted -= {_SHAPING}  # which is of use for the correction alone
    last = {sub.id: sub for sub in subs if sub.id in wanted}
    terms = last.get(_TERMS)
    known = data[terms.body : terms.end][:_MOST_TERMS] if terms else b""
    most = _most(flags & _MONO, oldest, known)
    return {sub.start: min(sub.end - sub.body, most.get(sub.id, _LARGEST)) for sub in last.values()}


def _kept(sub: Sub, data: bytes, start: int, used: int) -> Iterator[Part]:
    """The parts of a sub-block, `used` bytes of the body of which are kept."""
    kind, name = ("structure", f"wavpack.{NEEDED[sub.id]}") if sub.id in NEEDED else ("payload", "wavpack.sound")
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
