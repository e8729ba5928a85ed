"""The frame in front of MPEG audio layer III that counts the others: Xing, Info or VBRI header, and what LAME adds.

Sources: the Xing and LAME header (gabriel.mp3-tech.org/mp3infotag.html), VBRI (codeproject.com, "MPEG Audio Frame
Header").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from leakscan import mpegbits
from leakscan.mpegframes import header_of
from leakscan.rows import crc16

if TYPE_CHECKING:
    from leakscan.rows import Places

_WRITERS = {b"LAME": b"LAME", b"Lavf": b"LAME", b"Lavc": b"LAME", b"L3.9": b"L3.9"}
"""What the names of writers begin with whose delay and padding decoders heed, and what keeps them doing so."""


class Field(NamedTuple):
    """Bytes `begin` to `end` of a frame, what they are where they are not `clean`, and the reader of a text."""

    begin: int
    end: int
    kind: str
    name: str
    clean: bytes
    reader: str = ""


class Info(NamedTuple):
    """A Xing, Info or VBRI header: where it begins in its frame, and what it counts; zero where it does not say."""

    magic: bytes
    begin: int
    frames: int
    size: int

    def front(self, four: bytes) -> bytes:
        """What lies between frame header and magic: an error check, where there is one, and zeros."""
        header = header_of(four)
        assert header is not None
        if not header.crc:
            return bytes(self.begin - 4)
        checked = four[2:] + (bytes(self.begin - 6) + self.magic)[: header.side]
        return crc16(checked, 0xFFFF).to_bytes(2, "big") + bytes(self.begin - 6)

    def rewritten(self, frame: bytes, lengths: Places) -> tuple[list[Field], tuple[tuple[str, str], ...]]:
        """Its frame as the clean file has it, before frames of these `lengths`, and what decoders need of it."""
        import numpy as np

        four = mpegbits.clean_head(frame[:4], 0)
        kind = "encoder" if frame[3] & 8 or frame[2] & 1 else "structure"  # options that it has beside its sound
        own = frame[4 : self.begin] == self.front(frame[:4])
        fields = [
            Field(0, 4, kind, "mp3.header", four),
            Field(4, self.begin, kind if own else "unknown", "mp3.side-info", self.front(four)),
        ]
        ends = np.append(len(frame), lengths).cumsum(dtype=np.int64).tolist()  # of frames, from the start of this one
        more, parameters = (_vbri if self.magic == b"VBRI" else _xing)(self, frame, ends)
        fields += more
        last = fields[-1].end
        fields.append(Field(last, len(frame), "stale", "mp3.tail", bytes(len(frame) - last)))
        return fields, (("header", self.magic.decode("ascii")), *parameters)


def info_in(frame: bytes) -> Info | None:
    """The Xing, Info or VBRI header in a frame."""
    header = header_of(frame[:4])
    if header is None or header.layer != 3:
        return None
    if frame[36:40] == b"VBRI" and len(frame) >= 62:
        return Info(b"VBRI", 36, int.from_bytes(frame[50:54], "big"), int.from_bytes(frame[46:50], "big"))
    for begin in (4 + header.side, header.body):  # most writers let it overlap the CRC, some do not
        if frame[begin : begin + 4] in (b"Xing", b"Info"):
            counts = _counts(frame, begin)
            return Info(frame[begin : begin + 4], begin, counts.get(1, 0), counts.get(2, 0))
    return None


def _counts(frame: bytes, begin: int) -> dict[int, int]:
    """What a Xing header counts, by flag: 1 frames, 2 bytes."""
    flags, offset = int.from_bytes(frame[begin + 4 : begin + 8], "big"), begin + 8
    counts = {}
    for flag in (1, 2):
        if flags & flag:
            counts[flag] = int.from_bytes(frame[offset : offset + 4], "big")
            offset += 4
    return counts


def _xing(info: Info, frame: bytes, ends: Sequence[int]) -> tuple[list[Field], tuple[tuple[str, str], ...]]:
    """The fields of a Xing or Info header from its magic on, and its parameters."""
    flags = frame[info.begin + 7] & 15
    fields = [Field(info.begin, info.begin + 8, "unknown", "mp3.flags", info.magic + bytes((0, 0, 0, flags)))]
    counts = _counts(frame, info.begin)
    offset = info.begin + 8
    for flag, true, name in ((1, len(ends) - 1, "mp3.frames"), (2, ends[-1], "mp3.count")):
        if flags & flag:
            value = true if counts[flag] else 0
            fields.append(Field(offset, offset + 4, "stale", name, value.to_bytes(4, "big")))
            offset += 4
    for flag, field in ((4, _toc), (8, _quality)):
        if flags & flag:
            fields.append(field(frame, offset, ends))
            offset = fields[-1].end
    writer = _WRITERS.get(frame[offset : offset + 4])
    if writer is None or offset + 36 > len(frame):
        return fields, ()
    gapless = frame[offset + 21 : offset + 24]
    fields += [
        Field(offset, offset + 9, "encoder", "mp3.encoder", writer + bytes(5), "string"),
        Field(offset + 9, offset + 11, "encoder", "mp3.method", bytes(2)),  # of variable bit rate, and the low pass
        Field(offset + 11, offset + 19, "digest", "mp3.replay-gain", bytes(8)),
        Field(offset + 19, offset + 21, "encoder", "mp3.bitrate", bytes(2)),
        Field(offset + 21, offset + 24, "structure", "", gapless),
        Field(offset + 24, offset + 28, "encoder", "mp3.preset", bytes(4)),
        Field(offset + 28, offset + 32, "encoder", "mp3.length", bytes(4)),
        Field(offset + 32, offset + 34, "digest", "mp3.music-crc", bytes(2)),
    ]
    four = mpegbits.clean_head(frame[:4], 0)
    front = four + info.front(four) + b"".join(field.clean for field in fields)
    old = frame[offset + 34 : offset + 36]
    known = old in (_tag_crc(frame[: offset + 34]), _tag_crc((frame[: offset + 34] + bytes(190))[:190]))
    kind = "structure" if known else "unknown"  # FFmpeg takes the 190 bytes that it is of in stereo files
    fields.append(Field(offset + 34, offset + 36, kind, "mp3.tag-crc", _tag_crc(front)))
    delay, padding = gapless[0] << 4 | gapless[1] >> 4, (gapless[1] & 15) << 8 | gapless[2]
    return fields, (("delay", str(delay)), ("padding", str(padding)))


def _toc(frame: bytes, offset: int, ends: Sequence[int]) -> Field:
    """For each hundredth of the duration, in which 256th of the bytes it begins."""
    count = len(ends) - 1
    toc = bytes(min(255, 256 * ends[index * count // 100] // ends[-1]) for index in range(100))
    old = frame[offset : offset + 100]
    kind = "structure" if list(old) == sorted(old) else "unknown"
    return Field(offset, offset + 100, kind, "mp3.toc", toc)


def _quality(_frame: bytes, offset: int, _ends: Sequence[int]) -> Field:
    return Field(offset, offset + 4, "encoder", "mp3.quality", bytes(4))


def _tag_crc(front: bytes) -> bytes:
    """The CRC-16 of what precedes it in the frame: 0x8005 like that of frames, but with all bits in reverse order."""
    value = crc16(front.translate(_REVERSED))
    return bytes((_REVERSED[value & 0xFF], _REVERSED[value >> 8]))


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _vbri(info: Info, frame: bytes, ends: Sequence[int]) -> tuple[list[Field], tuple[tuple[str, str], ...]]:
    """The fields of a VBRI header from its magic on, and its parameters; its table gives the bytes of every few frames.

    A table that does not fit frame and file is left out.
    """
    entries, scale, size, each = (int.from_bytes(frame[offset : offset + 2], "big") for offset in (54, 56, 58, 60))
    count = len(ends) - 1
    if 62 + entries * size > len(frame) or not (scale and 1 <= size <= 4 and each and (entries - 1) * each <= count):
        entries, scale, size, each = 0, 1, 2, 1
    table = [
        (ends[min(index + each, count)] - ends[min(index, count)]) // scale for index in range(0, entries * each, each)
    ]
    most = (1 << 8 * size) - 1
    fields = [
        Field(36, 42, "unknown", "mp3.version", b"VBRI\x00\x01"),
        Field(42, 44, "structure", "", frame[42:44]),
        Field(44, 46, "encoder", "mp3.quality", bytes(2)),
        Field(46, 50, "stale", "mp3.count", (ends[-1] if info.size else 0).to_bytes(4, "big")),
        Field(50, 54, "stale", "mp3.frames", (count if info.frames else 0).to_bytes(4, "big")),
        Field(
            54, 62, "unknown", "mp3.toc", b"".join(value.to_bytes(2, "big") for value in (entries, scale, size, each))
        ),
        Field(
            62,
            62 + entries * size,
            "structure",
            "",
            b"".join(min(value, most).to_bytes(size, "big") for value in table),
        ),
    ]
    return fields, (("delay", str(int.from_bytes(frame[42:44], "big"))),)
