"""Musepack, stream version 8: `.mpc`.  Source: "SV8 specification" (trac.musepack.net).

The clean file has the packets stream header, gain, sound and end; decoders do without the seek table, which says
where packets are that have moved.  Version 7, bits without any frame to hold on to, is refused, and so is text behind
the sound of a packet, or long text in it.  Not looked at: other bytes there.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import BinaryIO, NamedTuple

from leakscan.blocks import CHUNK_LIMIT, after_id3, at, cut, damaged, glued, peel, tag_at
from leakscan.ledgers import audio_item, is_zero, ledger
from leakscan.legible import refuse_tails
from leakscan.model import Entry, Item, Ledger, Part, Unreadable

AUDIO = True
NAMES = (".mpc", ".mpp")
LOADS = ("numpy",)

_MAGIC = b"MPCK"
_OLD = b"MP+"
_GAIN = 9  # bytes: a version, gain and peak of title and album
_LOUDEST = 0x6100  # 1/256 dB; twice the largest sample has 96.3 dB
_SIZE = 9  # the most bytes of a size
_LOOKED_AT = 1 << 16  # bytes of a packet other than sound
_FRAME = 1152  # samples


class _Packet(NamedTuple):
    """A packet: its key, and where it, its body and the next packet begin."""

    key: bytes
    start: int
    body: int
    end: int


class _Form(NamedTuple):
    """A stream header: its body as the clean file has it, how much of the body there is, and what it says."""

    clean: bytes
    used: int
    samples: int
    silence: int
    frames: int  # in a packet


def sniff(head: bytes) -> bool:
    """`MPCK`, or what version 7 begins with, at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 4] == _MAGIC or (head[start : start + 3] == _OLD and head[start + 3 : start + 4] < b" ")


def read(entry: Entry) -> Iterator[Item]:
    """The one item of a Musepack file.  Raises Unreadable where it is cut, or no Musepack of version 8."""
    return audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a Musepack file.  Raises Unreadable where it is cut, or no Musepack of version 8."""
    peeled = peel(stream)
    magic = at(stream, peeled.start, 4)
    if magic[:3] == _OLD:
        raise Unreadable("Musepack before version 8 is not supported; convert it to version 8, or encode it as FLAC")
    if magic != _MAGIC:
        raise damaged("no Musepack stream in it")
    packets = list(_packets(stream, peeled.start + 4, peeled.end))
    form = _form(_body(stream, packets[0]))
    sounds = [packet.start - peeled.start for packet in packets if packet.key == b"AP"]
    if len(sounds) * form.frames * _FRAME < form.samples:
        raise cut(f"its header counts {form.samples:,} samples, {len(sounds) * form.frames * _FRAME:,} are there")
    end = packets[-1].end
    if at(stream, end, min(8, peeled.end - end)) == b"APETAGEX" and tag_at(stream, end, peeled.end) is None:
        raise cut("its APE tag is not there in full")
    parts = [*glued("musepack", peeled), Part("structure", "musepack.head", peeled.start, peeled.start + 4)]
    found = {packet.start: _body(stream, packet) for packet in packets if packet.key == b"ST"}
    right = set(_tables(sounds)) if found else set()
    tables = {start: body in right for start, body in found.items()}
    gain = b""
    for packet in packets:
        if packet.key == b"AP":
            parts.append(_head(stream, packet, packet.end - packet.body))
            frames = at(stream, packet.body, packet.end - packet.body)
            refuse_tails(frames, (0,), (len(frames),), packet.body)
            parts.append(Part("payload", "musepack.sound", packet.body, packet.end))
        elif packet is packets[0]:
            parts += _rewritten(stream, packet, form.used, form.clean)
        elif packet.key == b"RG" and not gain:
            gain = _body(stream, packet)[:_GAIN]
            if any(number > _LOUDEST for (number,) in struct.iter_unpack(">H", gain[1:].ljust(_GAIN - 1, b"\0"))):
                raise damaged("its gain is more than sound can have")
            parts += _rewritten(stream, packet, len(gain), gain)
        elif packet.key == b"SE":
            parts += _rewritten(stream, packet, 0, b"")
        else:
            parts.append(Part("structure", "musepack.packet", packet.start, packet.body, b""))
            parts.append(_dropped(packet, _body(stream, packet), tables))
    told = {"header": form.clean.hex(), "samples": str(form.samples), "silence": str(form.silence), "gain": gain.hex()}
    return ledger(stream, "musepack", parts, told.items())


# --- packets ---------------------------------------------------------------------------------------------------------


def _packets(stream: BinaryIO, start: int, end: int) -> Iterator[_Packet]:
    """The packets up to the one that ends the stream; the first is a stream header."""
    for count in range(CHUNK_LIMIT):
        head = at(stream, start, min(2 + _SIZE, end - start))
        size, width = _number(head[2:])
        key = head[:2]
        if not width and len(head) < 2 + _SIZE:
            raise cut("the packet that ends it is missing")
        if not (key.isalpha() and key.isupper()) or size < 2 + width or (key == b"SH") != (count == 0):
            raise damaged(f"no valid packet at byte {start:,}")
        if start + size > end:
            raise cut(f"its packet at byte {start:,} needs {start + size:,} bytes, {end:,} are there")
        yield _Packet(key, start, start + 2 + width, start + size)
        if key == b"SE":
            return
        start += size
    raise damaged(f"more than {CHUNK_LIMIT:,} packets in it")


def _body(stream: BinaryIO, packet: _Packet) -> bytes:
    return at(stream, packet.body, min(packet.end - packet.body, _LOOKED_AT))


def _head(stream: BinaryIO, packet: _Packet, size: int) -> Part:
    """The key and the size of a packet that has `size` bytes in the clean file."""
    own = at(stream, packet.start, packet.body - packet.start)
    kind = "structure" if own == packet.key + _sized(packet.end - packet.body) else "unknown"  # written at length
    clean = packet.key + _sized(size)
    return Part(kind, "musepack.packet", packet.start, packet.body, None if clean == own else clean)


def _rewritten(stream: BinaryIO, packet: _Packet, used: int, clean: bytes) -> Iterator[Part]:
    """The parts of a packet of whose body the first `used` bytes are needed."""
    yield _head(stream, packet, len(clean))
    middle = packet.body + used
    own = at(stream, packet.body, used)
    kind = "structure" if own == clean or middle < packet.end else "unknown"
    yield Part(kind, "musepack.header", packet.body, middle, clean)
    if middle < packet.end:
        kind = "padding" if is_zero(stream, middle, packet.end) else "unknown"
        yield Part(kind, "musepack.slack", middle, packet.end, b"")


def _dropped(packet: _Packet, body: bytes, tables: Mapping[int, bool]) -> Part:
    """What the body of a packet is which the clean file does not have; `tables` are where seek tables are, if right."""
    kind, name = {b"EI": ("encoder", "encoder"), b"CT": ("tag", "chapter")}.get(packet.key, ("unknown", "unknown"))
    if packet.key == b"ST":
        kind, name = "structure" if tables[packet.start] else "unknown", "seek-table"
    elif packet.key == b"SO":
        offset, _ = _number(body)
        right = packet.start + offset in tables and body == _coded(offset).ljust(len(body), b"\0")
        kind, name = "structure" if right else "unknown", "seek-offset"
    return Part(kind, f"musepack.{name}", packet.body, packet.end, b"")


def _tables(sounds: list[int]) -> Iterator[bytes]:
    """The seek tables that say nothing but where packets are, every one, every second, every fourth ...

    Two places, then for each the difference to where it was expected, in Golomb code.
    """
    for power in range(16):
        places = sounds[:: 1 << power]
        bits = "".join(f"{byte:08b}" for byte in _coded(len(places))) + f"{power:04b}"
        bits += "".join(f"{byte:08b}" for place in places[:2] for byte in _coded(place))
        for before, last, place in zip(places, places[1:], places[2:], strict=False):
            error = place - 2 * last + before
            code = 2 * abs(error) | (error < 0)
            bits += "0" * (code >> 12) + f"1{code & 0xFFF:012b}"
        bits += "0" * (-len(bits) % 8)
        yield int(bits, 2).to_bytes(len(bits) // 8, "big")


# --- numbers ---------------------------------------------------------------------------------------------------------


def _number(data: bytes) -> tuple[int, int]:
    """The number that `data` begins with, seven bits a byte, and how many bytes it has: 0 where it does not end."""
    number = 0
    for width, byte in enumerate(data[:_SIZE], 1):
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, width
    return 0, 0


def _coded(number: int) -> bytes:
    """A number as `_number` reads it, in as few bytes as it needs."""
    code = [number & 0x7F]
    while number := number >> 7:
        code.append(0x80 | number & 0x7F)
    return bytes(reversed(code))


def _sized(body: int) -> bytes:
    """The size of a packet with so many bytes in its body: it counts the key and itself."""
    width = 1
    while len(_coded(2 + width + body)) > width:
        width += 1
    return _coded(2 + width + body)


def _form(body: bytes) -> _Form:
    """Raises Unreadable where this is no valid stream header of version 8."""
    samples, first = _number(body[5:])
    silence, second = _number(body[5 + first :])
    used = 5 + first + second + 2
    if (
        not first
        or not second
        or len(body) < used
        or body[4] != 8
        or zlib.crc32(body[4:]) != int.from_bytes(body[:4], "big")
    ):
        raise damaged("its stream header is not valid")
    clean = body[4:5] + _coded(samples) + _coded(silence) + body[used - 2 : used]
    clean = zlib.crc32(clean).to_bytes(4, "big") + clean
    return _Form(clean, used, samples, silence, 4 ** (body[used - 1] & 7))
