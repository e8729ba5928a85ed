"""What decoders need to know before the first frame, without anything else: AAC, ALAC, FLAC, Opus, Vorbis.

MP4 and Matroska hold these in boxes and elements of their own.  Each function gives the canonical bytes and the parts
of the given ones that are not in them, with offsets from their start and names without the container.
Sources: ISO/IEC 14496-3 section 1.6.2 (AudioSpecificConfig) and 4.4.1 (program_config_element), the ALAC magic cookie
description, RFC 9639 section 8 (FLAC), the Opus in ISOBMFF encapsulation section 4.3.2, the Vorbis I specification
sections 4.2 and 5, ISO/IEC 14496-1 section 7.2.6 (descriptors), CoreAudioBaseTypes.h (AudioChannelLayout).
All raise ValueError, with a text that goes on from "damaged: ", where the bytes cannot be what they should.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from leakscan.model import Part, Unreadable

Config = tuple[bytes, list[Part]]


def field(kind: str, what: str, data: bytes, start: int, end: int, usual: bytes = b"") -> list[Part]:
    """The part that says something in bytes `start` to `end`; none where these are `usual` or zeros."""
    held = data[start:end]
    return [Part(kind, what, start, end, b"")] if held.strip(b"\x00") and held != usual else []


def _needs(data: bytes, length: int) -> None:
    if len(data) < length:
        raise ValueError("what its decoder has to know is incomplete")


# --- AAC -------------------------------------------------------------------------------------------------------------

_PLAIN_AAC = (1, 2, 3, 4)  # Main, LC, SSR, LTP; others are kept as they are
_OTHER_AAC = {17: 8, 19: 8, 20: 8, 23: 8, 39: 16, 42: 20}
"""Other kinds, such as low delay and unified speech and audio coding, and how many bytes describe them at most."""

_SYNC, _PARAMETRIC = 0x2B7, 0x548  # what announces SBR and parametric stereo to decoders that know them


class _Bits:
    """Reads bits, most significant first; as text, since what is read here has a few bytes."""

    def __init__(self, data: bytes) -> None:
        self.text = "".join(f"{byte:08b}" for byte in data)
        self.at = 0

    def take(self, count: int) -> int:
        if self.at + count > len(self.text):
            raise ValueError("what its decoder has to know is incomplete")
        self.at += count
        return int(self.text[self.at - count : self.at] or "0", 2)

    @property
    def left(self) -> int:
        return len(self.text) - self.at


def _rate(bits: _Bits) -> None:
    if bits.take(4) == 15:
        bits.take(24)


def _object_type(bits: _Bits) -> int:
    kind = bits.take(5)
    return 32 + bits.take(6) if kind == 31 else kind


def is_plain_aac(data: bytes) -> bool:
    """Are frames after this AudioSpecificConfig of the form in which encoders leave text that can be found?"""
    bits = _Bits(data[:16])
    kind = _object_type(bits)
    if kind in (5, 29):  # SBR, parametric stereo: the type of what lies beneath follows
        _rate(bits)
        bits.take(4)
        _rate(bits)
        kind = _object_type(bits)
    return kind in _PLAIN_AAC


def aac(data: bytes) -> Config:
    """An AudioSpecificConfig without the comment of its channel map and without what follows it.

    Raises Unreadable where it is of a kind that is not supported.
    """
    bits = _Bits(data)
    kind = _object_type(bits)
    _rate(bits)
    channels = bits.take(4)
    if explicit := kind in (5, 29):
        _rate(bits)
        kind = _object_type(bits)
    if kind not in _PLAIN_AAC:
        if len(data) > _OTHER_AAC.get(kind, 0):
            raise Unreadable("its sound is in a kind of AAC that is not supported; convert it to one that is")
        return data, []
    bits.take(1)
    if bits.take(1):
        bits.take(14)
    bits.take(1)
    kept, odd = "", []
    if not channels:
        _channel_map(bits)
        comment = bits.take(8)
        start = bits.at // 8
        kept = bits.text[: bits.at - 8] + 8 * "0"
        bits.take(8 * comment)
        odd += field("encoder", "comment", data, start - 1, start + comment)
    begin = bits.at if kept else 0
    if not explicit and bits.left >= 16 and bits.text.startswith(f"{_SYNC:011b}", bits.at):
        bits.take(11)
        if _object_type(bits) == 5 and bits.take(1):
            _rate(bits)
            if bits.left >= 12 and bits.text.startswith(f"{_PARAMETRIC:011b}", bits.at):
                bits.take(12)
    kept += bits.text[begin : bits.at]
    kept += "0" * (-len(kept) % 8)
    end = (bits.at + 7) // 8
    return int(kept, 2).to_bytes(len(kept) // 8, "big"), odd + field("unknown", "config", data, end, len(data))


def _channel_map(bits: _Bits) -> None:
    """Read a program_config_element up to the length of its comment."""
    bits.take(10)
    front, side, back = (bits.take(4) for _ in range(3))
    low, data, coupled = bits.take(2), bits.take(3), bits.take(4)
    for mixdown in (4, 4, 3):
        if bits.take(1):
            bits.take(mixdown)
    bits.take(5 * (front + side + back + coupled) + 4 * (low + data))
    bits.take(-bits.at % 8)


# --- the others ------------------------------------------------------------------------------------------------------


_LONGEST, _FASTEST, _WIDTHS = 1 << 16, 1 << 20, (16, 20, 24, 32)  # samples in a frame, Hz, bits


def alac(data: bytes) -> Config:
    """An ALAC magic cookie; the largest frame and the mean bit rate tell encoders apart and may be 0 (unknown)."""
    _needs(data, 24)
    frame, version, width, channels, rate = struct.unpack_from(">IBB3xB10xI", data)
    if not 0 < frame <= _LONGEST or version or width not in _WIDTHS or not 0 < channels <= 8 or rate > _FASTEST:
        raise ValueError("its sound is described as no Apple Lossless can be")
    layout = data[24:48]
    keep = layout[:12] == b"\0\0\0\x18chan\0\0\0\0" and len(layout) == 24 and not layout[16:].strip(b"\x00")
    keep = keep and is_layout(int.from_bytes(layout[12:16], "big"))
    end = 48 if keep else 24
    odd = field("unknown", "config", data, 10, 12, b"\0\xff") + field("encoder", "bitrate", data, 12, 20)
    clean = data[:10] + b"\0\xff" + bytes(8) + data[20:end]
    return clean, odd + field("unknown", "config", data, end, len(data))


_BY_DESCRIPTION, _BY_BITMAP = 0, 0x10000  # channel layout tags; all others name a layout
_BITS = 27  # of a bitmap that stand for a speaker
_NO_LABEL, _BY_PLACE = 0xFFFFFFFF, 100  # labels of a channel: not known, and a place in coordinates


def is_layout(tag: int) -> bool:
    """Is this the tag of a channel layout: a number, or none, and a number of channels?"""
    return (tag >> 16 < 0x100 or tag >> 16 == 0xFFFF) and tag & 0xFFFF < 0x100


def _is_label(label: int) -> bool:
    """Does this name a channel: by its place, as one in a row, or of a sound field?"""
    return label == _NO_LABEL or label < 512 or (label >> 16 in (1, 2) and label & 0xFFFF < 0x100)


def channel_layout(data: bytes) -> Config:
    """An AudioChannelLayout: a known layout, or a bitmap, or a description of every channel; no more than applies.

    Coordinates go, since no label but one needs them, which is not supported (Unreadable).
    """
    if len(data) < 12:
        raise ValueError("its channel layout is too short")
    tag, bitmap, count = struct.unpack_from(">III", data)
    end = 12 + 20 * count
    if end > len(data):
        raise ValueError(f"its channel layout describes {count:,} channels in {len(data):,} bytes")
    if not is_layout(tag) or (tag == _BY_BITMAP and bitmap >> _BITS):
        raise ValueError("its channel layout is none that there is")
    clean = struct.pack(">III", tag, bitmap if tag == _BY_BITMAP else 0, count if tag == _BY_DESCRIPTION else 0)
    odd = [] if tag == _BY_BITMAP else field("unknown", "chan", data, 4, 8)
    for start in range(12, end, 20) if tag == _BY_DESCRIPTION else ():
        label = int.from_bytes(data[start : start + 4], "big")
        if not _is_label(label):
            raise ValueError("its channel layout is none that there is")
        if label == _BY_PLACE:
            raise Unreadable("its channels have places in coordinates, which is not supported; convert it")
        clean += data[start : start + 4] + bytes(16)
        odd += field("unknown", "chan", data, start + 4, start + 20)
    if tag != _BY_DESCRIPTION:
        odd += field("unknown", "chan", data, 8, end)
    return clean, odd + field("unknown", "chan", data, end, len(data))


NO_COMMENT = bytes(8)
"""The body of a comment block that says nothing: no vendor, no field."""

_MASK = re.compile(rb"(?i)WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x([\da-f]{1,8})")
_SPEAKERS = 18  # bits of a mask that stand for one
_USUAL_MASKS = (0, 0x4, 0x3, 0x7, 0x33, 0x37, 0x3F, 0x70F, 0x63F)  # by the number of channels


def flac_comment(blocks: Iterable[bytes], channels: int) -> bytes:
    """The body of the comment block that the clean file has for the bodies of those of a FLAC stream: the field that
    tells decoders which speakers its channels are for, where that is not as usual.

    One that names more or fewer speakers than there are channels is none, and so are two.
    """
    masks = [int(found[1], 16) for block in blocks for field in _fields(block) if (found := _MASK.fullmatch(field))]
    if len(masks) != 1 or masks[0].bit_count() != channels or masks[0] >> _SPEAKERS or masks[0] in _USUAL_MASKS:
        return NO_COMMENT
    said = b"WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x%04X" % masks[0]
    return struct.pack("<III", 0, 1, len(said)) + said


def last_comment(body: bytes) -> bytes:
    """The comment block of this body as the last one of a FLAC stream."""
    return b"\x84" + len(body).to_bytes(3, "big") + body


def _fields(block: bytes) -> Iterator[bytes]:
    """The fields of a comment block as far as it can be followed."""
    offset = 4 + int.from_bytes(block[:4], "little")
    count = int.from_bytes(block[offset : offset + 4], "little")
    offset += 4
    for _ in range(count):
        start, offset = offset + 4, offset + 4 + int.from_bytes(block[offset : offset + 4], "little")
        if offset > len(block) or start > len(block):
            return
        yield block[start:offset]


_READERS = {4: ("tag", "flac"), 5: ("tag", "flac-cuesheet"), 6: ("tag", "flac-picture")}
_SEEKTABLE = 3
_POINT = struct.Struct(">QQH")  # of a seek table: the first sample of a frame, where it is, how many it has
_MOST_SAMPLES = 1 << 36


def flac(data: bytes) -> Config:
    """FLAC metadata blocks: STREAMINFO, without the digest of the sound and the sizes of frames, and a comment block
    where that tells of unusual speakers."""
    _needs(data, 38)
    if data[0] & 0x7F or data[1:4] != b"\0\0\x22":
        raise ValueError("its FLAC stream does not begin with STREAMINFO")
    odd = field("encoder", "flac-frame-sizes", data, 8, 14) + field("digest", "flac-md5", data, 22, 38)
    offset, last = 38, data[0] >> 7
    comments: list[bytes] = []
    while offset < len(data) and not last:
        _needs(data, offset + 4)
        end = offset + 4 + int.from_bytes(data[offset + 1 : offset + 4], "big")
        _needs(data, end)
        kind, reader = _READERS.get(data[offset] & 0x7F, ("unknown", ""))
        comments += [data[offset + 4 : end]] if reader == "flac" else []
        if data[offset] & 0x7F == _SEEKTABLE and seekable(data[offset + 4 : end], *_bounds(data)):
            kind = "encoder"  # as muxers keep it of the source; it tells nothing of where frames are here
        if not reader and not data[offset + 4 : end].strip(b"\x00"):
            odd.append(Part("padding", "flac-block", offset, end, b""))
        elif not reader:
            odd.append(Part(kind, "flac-block", offset, end, b""))
        else:
            odd.append(Part("structure", "flac-block", offset, offset + 4, b""))
            odd.append(Part(kind, "flac-block", offset + 4, end, b"", reader))
        last = data[offset] >> 7
        offset = end
    odd += field("unknown", "config", data, offset, len(data))
    info = b"\0\0\x22" + data[4:8] + bytes(6) + data[14:22] + bytes(16)
    comment = flac_comment(comments, (data[16] >> 1 & 7) + 1)
    if comment == NO_COMMENT:
        return b"\x80" + info, odd
    odd = [part for part in odd if part.reader != "flac" or data[part.start : part.end] != comment]
    return b"\0" + info + last_comment(comment), odd


def seekable(table: bytes | bytearray, size: int, samples: int = _MOST_SAMPLES) -> bool:
    """Does the seek table of a FLAC file of `size` bytes and so many `samples`, at most, read like one: points in
    order, frames alike, placeholders last?"""
    if not table or len(table) % _POINT.size:
        return False
    points = list(_POINT.iter_unpack(table))
    while points and points[-1] == (0xFFFFFFFFFFFFFFFF, 0, 0):
        points.pop()
    firsts, offsets, blocks = zip(*points, strict=True) if points else ((), (), ())
    in_order = all(map(int.__lt__, firsts, firsts[1:])) and all(map(int.__le__, offsets, offsets[1:]))
    within = all(first < samples for first in firsts) and all(offset < size for offset in offsets)
    return in_order and within and len(set(blocks[:-1])) < 2


def _bounds(data: bytes) -> tuple[int, int]:
    """How many bytes and samples a FLAC stream has at most, by the STREAMINFO block that it begins with."""
    said = int.from_bytes(data[14:22], "big")
    samples = said % _MOST_SAMPLES or _MOST_SAMPLES
    return 8 * ((said >> 41 & 7) + 1) * samples, samples  # a sample of a channel takes less than that, also in frames


_VERSIONS = 15  # of the Opus header that can be read


def opus(data: bytes, mapping: int) -> Config:
    """What follows the name in an Opus header, whose mapping family is at `mapping`; nothing of it is superfluous."""
    _needs(data, mapping + 1)
    channels, family = data[1], data[mapping]
    if (family > 2 and family != 255) or not 0 < channels <= (255 if family else 2):
        raise ValueError("its Opus channels are mapped in a way that is not supported")
    end = mapping + 1 + (2 + channels if family else 0)
    _needs(data, end)
    if data[0] > _VERSIONS or (data[4] and data[7]):  # the rate, in either order of bytes
        raise ValueError("its Opus header tells of a version or a sample rate that cannot be")
    return data[:end], field("unknown", "config", data, end, len(data))


# --- descriptors of MP4 ----------------------------------------------------------------------------------------------

_AAC = (0x40, 0x66, 0x67, 0x68)  # types of coding: MPEG-4, MPEG-2 Main, LC and SSR
MPEG, AC3 = (0x69, 0x6B), (0xA5, 0xA6)
"""Types of coding: MPEG-2 and MPEG-1 audio; AC-3 and E-AC-3."""

_OTHERS = (*MPEG, *AC3)


class Description(NamedTuple):
    """What is in an MP4 box `esds`: the type of coding, what the decoder has to know, its canonical form without
    version and flags, the parts that are not in that, and where it ends."""

    type: int
    special: bytes
    made: bytes
    odd: list[Part]
    end: int

    @property
    def plain_aac(self) -> bool:
        """Are its frames of the form in which encoders leave text that can be found without decoding?"""
        return self.type in _AAC and bool(self.special) and is_plain_aac(self.special)


def description(body: bytes) -> Description:
    """Take the body of `esds` apart; its bit rates tell encoders apart and decoders do not need them."""
    tag, start, end = _descriptor(body, 4, len(body))
    if tag != 3:
        raise ValueError("the description of its decoder cannot be followed")
    flags = _byte(body, start + 2)
    odd = field("unknown", "esds", body, start, start + 2) if body[start : start + 2] > b"\0\3" else []
    offset = start + 3
    for flag, length in ((0x80, 2), (0x40, 1 + _byte(body, start + 3)), (0x20, 2)):
        if flags & flag:
            odd.append(Part("unknown", "esds", offset, offset + length, b""))
            offset += length
    kind, special = 0, b""
    while offset < end:
        tag, start, after = _descriptor(body, offset, end)
        if tag == 4 and not kind:
            kind = _byte(body, start)
            odd += field("encoder", "bitrate", body, start + 2, start + 13)
            inner = start + 13
            while inner < after:
                below, begin, stop = _descriptor(body, inner, after)
                if below == 5 and not special:
                    special = body[begin:stop]
                    if kind in _AAC:
                        special, more = aac(special)
                        odd += [part._replace(start=begin + part.start, end=begin + part.end) for part in more]
                else:
                    odd.append(Part("unknown", "esds", inner, stop, b""))
                inner = stop
        elif tag != 6 or body[start:after] != b"\2":
            odd.append(Part("unknown", "esds", offset, after, b""))
        offset = after
    if kind not in (*_AAC, *_OTHERS):
        raise Unreadable("its sound is in a coding that is not supported; convert it to one that is")
    config = _tagged(4, bytes([kind, 0x15]) + bytes(11) + (_tagged(5, special) if special else b""))
    return Description(kind, special, _tagged(3, b"\0\0\0" + config + _tagged(6, b"\2")), odd, end)


def _descriptor(data: bytes, start: int, end: int) -> tuple[int, int, int]:
    """The tag of a descriptor, where its body starts and where it ends."""
    tag, size = _byte(data, start), 0
    for offset in range(start + 1, start + 5):
        byte = _byte(data, offset)
        size = size << 7 | byte & 0x7F
        if byte < 0x80:
            break
    body = offset + 1
    if body + size > end:
        raise ValueError("the description of its decoder is shorter than it says")
    return tag, body, body + size


def _tagged(tag: int, body: bytes) -> bytes:
    size = len(body)
    return bytes([tag, *(0x80 | size >> shift & 0x7F for shift in (21, 14, 7) if size >> shift), size & 0x7F]) + body


def _byte(data: bytes, at: int) -> int:
    _needs(data, at + 1)
    return data[at]
