"""AIFF and AIFC: `.aiff`, `.aif`.

Sources: Audio Interchange File Format 1.3 (1989) and AIFF-C (1991), Apple; the CHAN chunk and more compression types
from Core Audio (AudioFile.h, CoreAudioBaseTypes.h).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from leakscan import ledgers
from leakscan.blocks import Chunk, after_id3, at, chunks, cut, damaged, glued, peel, size_of
from leakscan.ledgers import STRING, is_zero
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.rebuilding import (
    around,
    channel_layout,
    dropped,
    listed,
    pad,
    refuse_tags_among_samples,
    rewritten,
    spare,
    text_chunk,
    unsupported,
    written,
)

AUDIO = True
NAMES = (".aiff", ".aif", ".aifc")

_UNKNOWN = (0, 0x7F000000, 0x7F000008, 0xFFFFFFFF)  # sizes that programs write which could not come back
_MOST_CHANNELS, _WIDEST = 255, 8  # bytes of a sample
_VERSION = bytes.fromhex("a2805140")  # of AIFF-C, its only one: a time stamp

# Compression types: bytes of a sample of one channel, 0: as many as its bits need.
_PLAIN = {
    b"NONE": 0, b"twos": 0, b"sowt": 0, b"raw ": 1, b"in24": 3, b"42ni": 3, b"in32": 4, b"23ni": 4, b"fl32": 4,
    b"FL32": 4, b"fl64": 8, b"FL64": 8, b"alaw": 1, b"ALAW": 1, b"ulaw": 1, b"ULAW": 1,
}  # fmt: skip
_CODED = {b"ima4": (34, 64), b"MAC3": (2, 6), b"MAC6": (1, 6), b"GSM ": (33, 160)}
"""Bytes and samples of a packet of one channel.  Writers count packets or samples."""
_NAMES = (  # of compression types, as Apple's documents and common writers have them
    b"", b"not compressed", b"ACE 2-to-1", b"ACE 8-to-3", b"MACE 3-to-1", b"MACE 6-to-1", b"IMA 4:1", b"ALaw 2:1",
    b"\xb5Law 2:1", b"uLaw 2:1", b"mu-law 2:1", b"32-bit Floating Point", b"Float 32", b"Signed integer (24-bit)",
)  # fmt: skip

_TEXTS = {b"NAME": "NAME", b"AUTH": "AUTH", b"(c) ": "(c)", b"ANNO": "ANNO"}
_EXTRAS = {
    b"APPL": ("tag", "APPL"), b"INST": ("tag", "INST"), b"MIDI": ("tag", "MIDI"),
    b"SAXL": ("tag", "SAXL"), b"AESD": ("unknown", "AESD"), b"basc": ("tag", "loop"), b"cate": ("tag", "loop"),
    b"trns": ("tag", "loop"), b"PEAK": ("digest", "PEAK"),
}  # fmt: skip
_SPARE = (b"FLLR", b"JUNK", b"PAD ")
_KNOWN = frozenset((b"COMM", b"SSND", b"FVER", b"CHAN", b"COMT", b"MARK", b"ID3 ", *_TEXTS, *_EXTRAS, *_SPARE))


class _Common(NamedTuple):
    """The COMM chunk; last the bytes of a frame of all channels or of a packet, and how many samples it has."""

    compressed: bool
    channels: int
    frames: int
    bits: int
    rate: bytes  # Hz, an extended float of 10 bytes
    kind: bytes
    unit: int
    samples: int


def sniff(head: bytes) -> bool:
    """`FORM` with form `AIFF` or `AIFC`, after ID3v2 tags."""
    head = head[after_id3(head) :]
    return head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC")


def read(entry: Entry) -> Iterator[Item]:
    """Yield what an AIFF file holds.  Raises Unreadable where it is cut, damaged, or coded in a way not supported."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of an AIFF file.  Raises Unreadable as `read` does, without a path."""
    peeled = peel(stream)
    start, end = peeled.start, size_of(stream)
    head = at(stream, start, 12)
    if not sniff(head):
        raise damaged("no AIFF form in it")
    size = int.from_bytes(head[4:8], "big")
    form_end = start + 8 + size
    tags = peeled if size in _UNKNOWN else around(peeled, form_end, end)
    found = list(chunks(stream, start + 12, tags.end, "big", _UNKNOWN if size in _UNKNOWN else (), known=_KNOWN))
    comm, ssnd = _only(found, b"COMM"), _only(found, b"SSND")
    if size not in _UNKNOWN and form_end > tags.end + 1:  # the last pad byte may be missing
        raise cut(f"its header says {form_end:,} bytes, {tags.end:,} are there")
    common = _common(at(stream, comm.start, min(24, comm.end - comm.start)), head[8:12] == b"AIFC")
    sound = _Sound(stream, ssnd, common)
    refuse_tags_among_samples(stream, sound.start, sound.end)
    kept = {comm: _common_parts(stream, comm, common, sound), ssnd: _sound_parts(stream, ssnd, sound)}
    layout = []
    if chan := next((chunk for chunk in found if chunk.id == b"CHAN"), None):
        body, stated = channel_layout(stream, "aiff.CHAN", chan.start, chan.end)
        header = _header(b"CHAN", len(stated) // 2)
        kept[chan] = [Part("structure", "aiff.CHAN", chan.start - 8, chan.start, header), *body]
        layout.append(("channel layout", stated))
    if common.compressed and (version := next((chunk for chunk in found if chunk.id == b"FVER"), None)):
        kept[version] = _version_parts(stream, version)
    parts = listed(part for chunk in found for part in _parts(stream, chunk, tags.end, kept))
    edges = {edge for chunk in found for edge in (chunk.start - 8, chunk.end, chunk.end + 1)}
    accepted = (head[4:8],) if size in _UNKNOWN or form_end in edges or form_end - tags.end in (0, 1) else ()
    whole = struct.pack(">I", min(4 + written(parts), 0xFFFFFFFF))
    parts += (
        Part("structure", "aiff.form", start, start + 4),
        rewritten(stream, "aiff.form", start + 4, start + 8, whole, accepted),
        Part("structure", "aiff.form", start + 8, start + 12),
    )
    parameters = (
        ("format", common.kind.decode("ascii").strip()), ("channels", f"{common.channels}"),
        ("bits", f"{common.bits}"), ("rate", _mantissa(common.rate).hex()), ("frames", f"{sound.frames}"),
        ("bytes", f"{sound.end - sound.start}"), *layout,
    )  # fmt: skip
    return ledgers.ledger(stream, "aiff", [*parts, *glued("aiff", tags)], parameters)


def _only(found: list[Chunk], kind: bytes) -> Chunk:
    several = [chunk for chunk in found if chunk.id == kind]
    if not several:
        raise cut("no COMM and SSND chunk in it")
    if len(several) > 1:
        raise damaged(f"{len(several)} {kind.decode('ascii')} chunks in it")
    return several[0]


# --- what a decoder needs --------------------------------------------------------------------------------------------


def _common(data: bytes, compressed: bool) -> _Common:
    if len(data) < (22 if compressed else 18):
        raise damaged("its COMM chunk is too short")
    channels, frames, bits = struct.unpack_from(">HIH", data)
    kind = data[18:22] if compressed else b"NONE"
    if kind not in _PLAIN and kind not in _CODED:
        raise unsupported("a compression type that is not known")
    size, samples = _CODED.get(kind) or (_PLAIN[kind] or -(-bits // 8), 1)
    if not 0 < channels * size <= _MOST_CHANNELS * _WIDEST or bits > 8 * _WIDEST or not 0 <= _octave(data[8:18]) < 26:
        raise damaged("its COMM chunk states no channels, bits or sample rate, or too many")
    return _Common(compressed, channels, frames, bits, data[8:18], kind, channels * size, samples)


def _octave(rate: bytes) -> int:
    """The power of two that a sample rate is above; -1 where it is no rate."""
    return int.from_bytes(rate[:2], "big") - 0x3FFF if rate[2:3] >= b"\x80" else -1


def _mantissa(rate: bytes) -> bytes:
    """A sample rate as precise as any is: to a 16th of 1 Hz."""
    zeros = 63 - 4 - _octave(rate)
    return rate[:2] + (int.from_bytes(rate[2:], "big") >> zeros << zeros).to_bytes(8, "big")


class _Sound:
    """Where the samples lie within the SSND chunk: after an offset, up to the last whole frame."""

    def __init__(self, stream: BinaryIO, chunk: Chunk, common: _Common) -> None:
        if chunk.end - chunk.start < 8:
            raise damaged("its SSND chunk is too short")
        self.start = chunk.start + 8 + int.from_bytes(at(stream, chunk.start, 4), "big")
        if self.start > chunk.end:
            raise damaged("its samples begin after their end")
        self.end = chunk.end - (chunk.end - self.start) % common.unit
        self.frames = (self.end - self.start) // common.unit
        if self.frames < common.frames <= self.frames * common.samples:
            self.frames = common.frames


def _parts(stream: BinaryIO, chunk: Chunk, end: int, kept: dict[Chunk, list[Part]]) -> Iterator[Part]:
    after = min(end, chunk.end + (chunk.end - chunk.start) % 2)
    if chunk not in kept:
        yield from _extras(stream, chunk, chunk.start - 8 if chunk.id else chunk.start, after)
        return
    yield from kept[chunk]
    yield pad(stream, "aiff.pad", chunk.end, after, written(kept[chunk]) % 2)


def _header(kind: bytes, size: int) -> bytes:
    return kind + struct.pack(">I", min(size, 0xFFFFFFFF))


def _common_parts(stream: BinaryIO, chunk: Chunk, common: _Common, sound: _Sound) -> list[Part]:
    """The fields; the compression type goes without the name that may follow it."""
    name, start = "aiff.COMM", chunk.start
    frames = struct.pack(">I", sound.frames)
    parts = [
        Part("structure", name, start - 8, start, _header(b"COMM", 24 if common.compressed else 18)),
        Part("structure", name, start, start + 2),
        rewritten(stream, name, start + 2, start + 6, frames, (bytes(4), b"\xff" * 4)),
        Part("structure", name, start + 6, start + 8),
        rewritten(stream, name, start + 8, start + 18, _mantissa(common.rate)),
    ]
    end = start + 18
    if common.compressed:
        nameless = at(stream, end + 4, min(2, chunk.end - end - 4)) == bytes(2)  # an empty name and its pad byte
        parts.append(Part("structure", name, end, end + (6 if nameless else 4), common.kind + bytes(2)))
        end += 6 if nameless else 4
        size = 0 if nameless else min(int.from_bytes(at(stream, end, 1)), chunk.end - end - 1)
        if text := at(stream, end + 1, size):
            parts.append(Part("structure", name, end, end + 1, b""))
            end += 1 + len(text)
            if text in _NAMES:
                parts.append(Part("structure", "aiff.compression", end - len(text), end, b""))
            else:
                parts.append(Part("tag", "aiff.compression", end - len(text), end, reader=STRING))
    return [*parts, *dropped(stream, "unknown", name, end, chunk.end)]


def _version_parts(stream: BinaryIO, chunk: Chunk) -> list[Part]:
    end = min(chunk.start + 4, chunk.end)
    return [
        Part("structure", "aiff.FVER", chunk.start - 8, chunk.start, _header(b"FVER", 4)),
        rewritten(stream, "aiff.FVER", chunk.start, end, _VERSION, kind="date"),
        *dropped(stream, "unknown", "aiff.FVER", end, chunk.end),
    ]


def _sound_parts(stream: BinaryIO, chunk: Chunk, sound: _Sound) -> list[Part]:
    """The samples without an offset before them; nothing reads the size of blocks, which is for that alone."""
    header = _header(b"SSND", 8 + sound.end - sound.start)
    return [
        Part("structure", "aiff.SSND", chunk.start - 8, chunk.start + 4, header + bytes(4)),
        rewritten(stream, "aiff.SSND", chunk.start + 4, chunk.start + 8, bytes(4)),
        *dropped(stream, "stale", "aiff.offset", chunk.start + 8, sound.start),
        Part("payload", "aiff.SSND", sound.start, sound.end),
        *dropped(stream, "stale", "aiff.remainder", sound.end, chunk.end),
    ]


# --- everything else -------------------------------------------------------------------------------------------------


def _extras(stream: BinaryIO, chunk: Chunk, head: int, after: int) -> Iterator[Part]:
    if not chunk.id:
        yield ledgers.gap(stream, "aiff", head, after)
    elif chunk.id in _SPARE:
        yield from spare(stream, "aiff", "aiff.JUNK", head, chunk.start, after)
    elif chunk.id == b"COMT":
        yield from dropped(stream, "tag", "aiff.comments", head, after, _comments(stream, chunk))
    elif chunk.id == b"FVER" and at(stream, chunk.start, after - chunk.start) == _VERSION:
        yield Part("structure", "aiff.FVER", head, after, b"")
    elif chunk.id in _TEXTS:
        kind, name = "tag", f"aiff.{_TEXTS[chunk.id]}"
        yield from text_chunk(stream, kind, name, head, chunk.start, chunk.end, after, STRING)
    elif chunk.id == b"MARK":
        yield from text_chunk(stream, "tag", "aiff.MARK", head, chunk.start, chunk.end, after, "aiff-mark")
    elif chunk.id == b"ID3 ":
        yield from text_chunk(stream, "tag", "aiff.id3", head, chunk.start, chunk.end, after, "id3")
    else:
        kind, name = _EXTRAS.get(chunk.id, ("unknown", "other"))
        yield from dropped(stream, kind, f"aiff.{name}", head, after)


def _comments(stream: BinaryIO, chunk: Chunk) -> Iterator[Part]:
    """The comments of a COMT chunk: a count, then time stamp (4 bytes), marker (2), length (2), text, pad."""
    offset = chunk.start + 2
    for _ in range(int.from_bytes(at(stream, chunk.start, 2), "big")):
        size = int.from_bytes(at(stream, offset + 6, 2), "big")
        end = offset + 8 + size
        if end > chunk.end:
            return
        if not is_zero(stream, offset, offset + 4):
            yield Part("date", "aiff.COMT", offset, offset + 4)
        if size:
            yield Part("tag", "aiff.COMT", offset + 8, end, reader=STRING)
        offset = end + size % 2
