"""Core Audio Format: `.caf`.  Source: Apple Core Audio Format Specification 1.0.

The codings whose bytes are all accounted for: linear PCM, mu-law, A-law, IMA 4:1 and Apple Lossless.  Text behind the
sound of a packet of Apple Lossless, and long text in it, is refused, since only decoding could take it out.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from leakscan import decoders, ledgers
from leakscan.blocks import Chunk, Layout, after_id3, at, chunks, cut, damaged, glued, peel
from leakscan.frames import Alac
from leakscan.ledgers import STRING, gap
from leakscan.legible import texts
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.rebuilding import (
    channel_layout,
    dropped,
    listed,
    refuse_beside,
    refuse_tags_among_samples,
    rewritten,
    spare,
    text_chunk,
    unsupported,
)

AUDIO = True
NAMES = (".caf",)
LOADS = ("numpy",)

_LAYOUT = Layout(id=4, size=8, align=1)
_OPEN = (1 << 64) - 1  # the size of a data chunk that goes on to the end
_LITTLE = 2  # flag of linear PCM: the first byte is the lowest
_HEAD, _DESCRIPTION, _PACKETS, _LOSSLESS = 8, 32, 24, 24  # bytes
_FILE = b"caff\x00\x01\x00\x00"  # version 1, no flags
_CODINGS = {b"lpcm": (3, 1), b"ulaw": (0, 1), b"alaw": (0, 1), b"ima4": (0, 64), b"alac": (7, 0)}
"""Which flags a coding has, and the frames of its packets, 0: the file says."""
_MOST_PACKETS = 1 << 22  # at the usual 4,096 frames a packet over 100 hours
_STEPS = 1 << 4  # of a sample rate, in 1 Hz
_MOST_RATE, _MOST_CHANNELS, _MOST_FRAMES = 1 << 26, 255, 1 << 16  # Hz; frames of a packet
_MOST_PRIMING = 1 << 13  # frames
_WIDEST = 8  # bytes of a sample
_READ = 1 << 20  # bytes of packets
_NUMBER = re.compile(rb"[\x80-\xff]{0,9}[\x00-\x7f]")

_INFO = frozenset((
    "album", "approximate duration in seconds", "artist", "channel configuration", "channel layout", "comments",
    "composer", "copyright", "encoder", "encoding application", "genre", "key signature", "lyricist",
    "nominal bit rate", "recorded date", "source bit depth", "source encoder", "tempo", "time signature", "title",
    "track number", "year",
))  # fmt: skip
_INFO_KINDS = {
    "encoder": "encoder", "encoding application": "encoder", "source encoder": "encoder", "recorded date": "date",
    "year": "date",
}  # fmt: skip
_EXTRAS = {
    b"strg": ("tag", "strg"), b"inst": ("tag", "inst"),
    b"midi": ("tag", "midi"), b"ovvw": ("digest", "ovvw"), b"peak": ("digest", "peak"), b"umid": ("serial", "umid"),
    b"edct": ("tag", "edct"), b"uuid": ("unknown", "uuid"),
}  # fmt: skip
_KNOWN = frozenset((b"desc", b"data", b"pakt", b"chan", b"kuki", b"info", b"free", b"mark", b"regn", *_EXTRAS))


class _Description(NamedTuple):
    rate: float  # Hz
    coding: bytes
    flags: int
    packet_bytes: int
    packet_frames: int
    channels: int
    bits: int


def sniff(head: bytes) -> bool:
    """`caff`, version 1, and a `desc` chunk."""
    head = head[after_id3(head) :]
    return head[:6] == _FILE[:6] and head[8:12] == b"desc"


def read(entry: Entry) -> Iterator[Item]:
    """Yield what a CAF file holds.  Raises Unreadable where it is cut, damaged, or coded in a way not supported."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a CAF file.  Raises Unreadable as `read` does, without a path."""
    peeled = peel(stream)
    start, end = peeled.start, peeled.end
    if not sniff(at(stream, start, 12)):
        raise damaged("no CAF header in it")
    found = list(chunks(stream, start + _HEAD, end, "big", (_OPEN,), layout=_LAYOUT, known=_KNOWN))
    desc, data, pakt, kuki, chan = (_only(found, kind) for kind in (b"desc", b"data", b"pakt", b"kuki", b"chan"))
    if desc is None or data is None:
        raise cut("no desc and data chunk in it")
    form = _description(at(stream, desc.start, min(_DESCRIPTION, desc.end - desc.start)))
    if data.end - data.start < 4:
        raise cut("its data chunk is too short")
    size = data.end - data.start - 4
    parameters = [
        ("rate", f"{form.rate}"), ("coding", form.coding.decode("ascii")), ("flags", f"{form.flags}"),
        ("packet bytes", f"{form.packet_bytes}"), ("packet frames", f"{form.packet_frames}"),
        ("channels", f"{form.channels}"), ("bits", f"{form.bits}"),
    ]  # fmt: skip
    kept = {desc: _description_parts(stream, desc, form)}
    if form.coding == b"alac":
        if pakt is None or kuki is None:
            raise cut("no pakt and kuki chunk in it, which Apple Lossless needs")
        lengths, kept[pakt], told = _packet_table(stream, pakt, form, size)
        used = sum(lengths)
        _refuse_text(stream, data.start + 4, lengths)
        kept[kuki], cookie = _cookie(stream, kuki)
        parameters.append(("cookie", cookie))
    else:
        used = size - size % form.packet_bytes
        width, needed = form.packet_bytes // form.channels, max(1, -(-form.bits // 8))
        if form.coding == b"lpcm":
            refuse_beside(stream, data.start + 4, data.start + 4 + used, width, needed, big=not form.flags & _LITTLE)
        if pakt is not None:
            kept[pakt], told = _packet_count(stream, pakt, form, used // form.packet_bytes)
            kept[pakt] += dropped(stream, "unknown", "caf.pakt", pakt.start + _PACKETS, pakt.end)
    if pakt is not None:
        parameters.append(("valid, priming and remainder frames", told.hex()))
    if chan is not None:
        parts, layout = channel_layout(stream, "caf.chan", chan.start, chan.end)
        kept[chan] = [Part("structure", "caf.chan", chan.start - 12, chan.start, _header(b"chan", len(layout) // 2))]
        kept[chan] += parts
        parameters.append(("channel layout", layout))
    refuse_tags_among_samples(stream, data.start + 4, data.start + 4 + used)
    kept[data] = _data_parts(stream, data, used)
    parameters.append(("bytes", f"{used}"))
    everything = listed(part for chunk in found for part in kept.get(chunk) or _extras(stream, chunk))
    everything.append(Part("structure", "caf.header", start, start + 6))
    everything.append(rewritten(stream, "caf.header", start + 6, start + _HEAD, bytes(2)))
    return ledgers.ledger(stream, "caf", [*everything, *glued("caf", peeled)], parameters)


def _only(found: list[Chunk], kind: bytes) -> Chunk | None:
    several = [chunk for chunk in found if chunk.id == kind]
    if len(several) > 1:
        raise damaged(f"{len(several)} {kind.decode('ascii')} chunks in it")
    return several[0] if several else None


def _header(kind: bytes, size: int) -> bytes:
    return kind + struct.pack(">Q", size)


# --- what a decoder needs --------------------------------------------------------------------------------------------


def _description(data: bytes) -> _Description:
    if len(data) < _DESCRIPTION:
        raise damaged("its desc chunk is too short")
    form = _Description(*struct.unpack(">d4s5I", data))
    if form.coding not in _CODINGS:
        raise unsupported("a coding that is not known")
    flags, frames = _CODINGS[form.coding]
    if not 1 / _STEPS <= form.rate <= _MOST_RATE or not 0 < form.channels <= _MOST_CHANNELS or form.bits > 64:
        raise damaged("its desc chunk states no sample rate or channels, or too many of them or of bits")
    widths = {
        b"lpcm": range(max(1, -(-form.bits // 8)), _WIDEST + 1),
        b"ima4": (34,),
        b"alac": (0,),
    }.get(form.coding, (1,))
    if form.packet_bytes not in [form.channels * width for width in widths] or form.packet_frames > _MOST_FRAMES:
        raise damaged("its desc chunk states packets of a size that its coding does not have")
    if (frames or form.packet_frames) != form.packet_frames:
        raise damaged("its desc chunk states packets of a size that its coding does not have")
    return form._replace(rate=round(form.rate * _STEPS) / _STEPS, flags=form.flags & flags)


def _description_parts(stream: BinaryIO, chunk: Chunk, form: _Description) -> list[Part]:
    end = chunk.start + _DESCRIPTION
    return [
        Part("structure", "caf.desc", chunk.start - 12, chunk.start, _header(b"desc", _DESCRIPTION)),
        rewritten(stream, "caf.desc", chunk.start, end, struct.pack(">d4s5I", *form)),
        *dropped(stream, "unknown", "caf.desc", end, chunk.end),
    ]


def _data_parts(stream: BinaryIO, chunk: Chunk, used: int) -> list[Part]:
    """The samples, after a count of edits that says which other chunks are up to date."""
    first = chunk.start + 4
    return [
        Part("structure", "caf.data", chunk.start - 12, chunk.start, _header(b"data", 4 + used)),
        rewritten(stream, "caf.edits", chunk.start, first, bytes(4)),
        Part("payload", "caf.data", first, first + used),
        *dropped(stream, "stale", "caf.remainder", first + used, chunk.end),
    ]


def _packet_count(
    stream: BinaryIO, chunk: Chunk, form: _Description, count: int, table: bytes = b""
) -> tuple[list[Part], bytes]:
    """The numbers of packets and of frames, for a chunk that goes on with `table` in the clean file; and what the clean
    file says of frames: how many are valid, come before these and remain."""
    if chunk.end - chunk.start < _PACKETS:
        raise damaged("its pakt chunk is too short")
    start = chunk.start
    total = count * (form.packet_frames or _MOST_FRAMES)
    valid, priming, remainder = struct.unpack(">QII", at(stream, start + 8, 16))
    can_be = valid <= total and priming <= _MOST_PRIMING and remainder <= max(form.packet_frames, _MOST_PRIMING)
    told = struct.pack(">QII", valid, priming, remainder) if can_be else struct.pack(">QII", total, 0, 0)
    return [
        Part("structure", "caf.pakt", start - 12, start, _header(b"pakt", _PACKETS + len(table))),
        rewritten(stream, "caf.pakt", start, start + 8, struct.pack(">Q", count), (bytes(8),)),
        rewritten(stream, "caf.pakt", start + 8, start + _PACKETS, told),
    ], told


def _packet_table(stream: BinaryIO, chunk: Chunk, form: _Description, size: int) -> tuple[list[int], list[Part], bytes]:
    """The sizes of the packets, the parts of the chunk, and what the clean file says of frames.

    A number has 7 bits in each byte; leading ones that say nothing are left out of the clean file.  Where packets
    differ in length, too, that follows the size of each.  Raises Unreadable where they are larger than `size`.
    """
    count = int.from_bytes(at(stream, chunk.start, 8), "big")
    table = at(stream, chunk.start + _PACKETS, chunk.end - chunk.start - _PACKETS)
    if count > _MOST_PACKETS:
        raise damaged(f"more than {_MOST_PACKETS:,} packets in it")
    numbers = count * (1 if form.packet_frames else 2)
    if numbers > len(table):
        raise cut(f"its pakt chunk has {len(table):,} bytes for {count:,} packets")
    lengths: list[int] = []
    end = 0
    shortest = bytearray()
    for index in range(numbers):
        match = _NUMBER.match(table, end)
        if match is None or len(number := match[0].lstrip(b"\x80")) > 5:
            raise damaged("a number in its pakt chunk is longer than any packet")
        shortest += number
        end = match.end()
        if form.packet_frames or not index % 2:
            value = 0
            for byte in number:
                value = value << 7 | byte & 0x7F
            lengths.append(value)
    if texts(table[:end]):
        raise damaged("text among the sizes of its packets")
    if sum(lengths) > size:
        raise cut(f"its packets need {sum(lengths):,} bytes, {size:,} are there")
    start = chunk.start + _PACKETS
    numbering = rewritten(stream, "caf.pakt", start, start + end, bytes(shortest))
    parts, told = _packet_count(stream, chunk, form, count, bytes(shortest))
    return lengths, [*parts, numbering, *dropped(stream, "unknown", "caf.pakt", start + end, chunk.end)], told


def _refuse_text(stream: BinaryIO, start: int, lengths: list[int]) -> None:
    """Raise Unreadable where there is text behind the sound of a packet; they begin at `start`."""
    edges = [0]
    for index, length in enumerate(lengths):
        edges.append(edges[-1] + length)
        if edges[-1] >= _READ or index == len(lengths) - 1:
            Alac().odd(at(stream, start, edges[-1]), edges[:-1], edges[1:])
            start += edges[-1]
            edges = [0]


def _cookie(stream: BinaryIO, chunk: Chunk) -> tuple[list[Part], str]:
    """The parts of the cookie of Apple Lossless and its configuration, in hexadecimal.

    That stands alone or in an atom `alac` after one `frma`; the layout of more than two channels may follow.
    """
    data = at(stream, chunk.start, min(chunk.end - chunk.start, 1 << 10))
    kept: list[bytes] = []
    offset = 0
    config = b""
    if data[4:8] != b"frma":
        config = data[:_LOSSLESS]
        if len(config) < _LOSSLESS:
            raise damaged("no configuration of Apple Lossless in its kuki chunk")
        kept.append(_config(config))
        offset = _LOSSLESS
    while atom := data[offset : offset + int.from_bytes(data[offset : offset + 4], "big")]:
        if int.from_bytes(atom[:4], "big") != len(atom):
            break
        if atom[4:8] == b"frma" and len(atom) == 12:
            kept.append(atom[:8] + b"alac")
        elif atom[4:8] == b"alac" and len(atom) == 12 + _LOSSLESS and not config:
            config = atom[12:]
            kept.append(atom[:8] + bytes(4) + _config(config))
        elif atom[4:8] == b"chan" and len(atom) == 24 and decoders.is_layout(int.from_bytes(atom[12:16], "big")):
            kept.append(atom[:8] + bytes(4) + atom[12:16] + bytes(8))
        else:
            break
        offset += len(atom)
    if len(config) < _LOSSLESS:
        raise damaged("no configuration of Apple Lossless in its kuki chunk")
    clean = b"".join(kept)
    end = chunk.start + len(clean)
    begin = clean.index(_config(config))
    rates = begin + 12, begin + 20  # which tell encoders apart
    middle = chunk.start + rates[0], chunk.start + rates[1]
    runs = clean[: begin + 10] + bytes(2)  # a limit that decoders do not read, not stated
    parts = [
        Part("structure", "caf.kuki", chunk.start - 12, chunk.start, _header(b"kuki", len(clean))),
        rewritten(stream, "caf.kuki", chunk.start, middle[0], clean[: rates[0]], (runs,)),
        rewritten(stream, "caf.bitrate", *middle, clean[slice(*rates)], kind="encoder"),
        rewritten(stream, "caf.kuki", middle[1], end, clean[rates[1] :]),
        *dropped(stream, "unknown", "caf.kuki", end, chunk.end),
    ]
    return parts, clean.hex()


def _config(config: bytes) -> bytes:
    """A configuration of Apple Lossless as the clean file has it."""
    try:
        return decoders.alac(config)[0]
    except ValueError as error:
        raise damaged(str(error)) from error


# --- everything else -------------------------------------------------------------------------------------------------


def _extras(stream: BinaryIO, chunk: Chunk) -> Iterator[Part]:
    head = chunk.start - 12 if chunk.id else chunk.start
    if not chunk.id:
        yield gap(stream, "caf", head, chunk.end)
    elif chunk.id == b"free":
        yield from spare(stream, "caf", "caf.free", head, chunk.start, chunk.end)
    elif chunk.id == b"info":
        yield from dropped(stream, "tag", "caf.info", head, chunk.end, _info(stream, chunk))
    elif chunk.id in (b"mark", b"regn"):
        name = chunk.id.decode("ascii")
        yield from text_chunk(stream, "tag", f"caf.{name}", head, chunk.start, chunk.end, chunk.end, f"caf-{name}")
    else:
        kind, name = _EXTRAS.get(chunk.id, ("unknown", "other"))
        yield from dropped(stream, kind, f"caf.{name}", head, chunk.end)


def _info(stream: BinaryIO, chunk: Chunk) -> Iterator[Part]:
    """The texts of an info chunk: a count (4 bytes), then a key and a value by turns, each with a NUL at its end."""
    data = at(stream, chunk.start, min(chunk.end - chunk.start, ledgers.TEXT_LIMIT))
    offset = 4
    while 0 < (middle := data.find(b"\x00", offset)) < len(data):
        end = data.find(b"\x00", middle + 1)
        end = len(data) if end < 0 else end
        key = data[offset:middle].decode("latin-1").lower()
        name = key if key in _INFO else "other"
        if name == "other" and key:
            yield Part("tag", "caf.other", chunk.start + offset, chunk.start + middle, reader=STRING)
        if middle + 1 < end:
            text = chunk.start + middle + 1
            yield Part(
                _INFO_KINDS.get(name, "tag"), f"caf.{name.replace(' ', '_')}", text, chunk.start + end, reader=STRING
            )
        offset = end + 1
