"""What Matroska says of a coding in CodecPrivate: its canonical form, who looks into the frames, how long these sound.

Sources: the Matroska codec specifications, and those that `leakscan.decoders` and `leakscan.vorbis` name; RFC 7845
section 5.1 (Opus); "WavPack 4 & 5 Binary File / Block Format" (versions).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from leakscan import decoders, flacframes, frames, opus, vorbis
from leakscan.legible import buried
from leakscan.model import Part, Unreadable
from leakscan.wavpackframes import NEWEST, OLDEST, WavPack


class Coding(NamedTuple):
    """A coding: what its decoder has to know, the parts of CodecPrivate that are not in that, with offsets from its
    start, what looks into its frames, and how many samples at most a frame has, by its first byte; 0: not known.

    `rate` is that of these samples in Hz, 0 where the track says it; `lead` how many bytes all frames may begin with.
    """

    config: bytes
    odd: list[Part]
    frames: frames.Frames | None = None
    samples: tuple[int, ...] = (0,) * 256
    rate: int = 0
    lead: int = 0


def coding(codec: bytes, private: bytes) -> Coding:
    """The coding of this name.

    Raises Unreadable where it is not supported, ValueError, with a text that goes on from "damaged: ", where
    CodecPrivate cannot be what it should.
    """
    if codec not in _CODECS:
        raise Unreadable("its sound is in a coding that is not supported; convert it to one that is")
    return _CODECS[codec](private)


_BITRATES, _FASTEST = range(16, 28, 4), 1 << 26  # bits a second


def _vorbis(data: bytes) -> Coding:
    """Three headers: their count less one, the sizes of the first two, and they themselves; the second is a comment."""
    sizes: list[int] = []
    offset = 1
    for _ in range(2):
        length = 0
        while offset < len(data) and data[offset] == 255:
            length, offset = length + 255, offset + 1
        sizes.append(length + (data[offset] if offset < len(data) else 0))
        offset += 1
    start = offset + sizes[0]
    end = start + sizes[1]
    head = data[offset:start]
    rate = int.from_bytes(head[12:16], "little")
    if data[:1] != b"\2" or not head.startswith(b"\1vorbis\0\0\0\0") or len(head) != 30 or not head[29] & 1:
        raise ValueError("the description of its Vorbis decoder cannot be followed")
    if rate > vorbis.MOST_RATE:
        raise ValueError("its Vorbis sound has a rate that cannot be")
    odd = decoders.field("unknown", "config", bytes([head[29] & 0xFE]), 0, 1)
    clean = bytearray(head[:29] + b"\1")
    odd = [part._replace(start=start - 1, end=start) for part in odd]
    for place in _BITRATES:
        stated = int.from_bytes(head[place : place + 4], "little", signed=True)
        if not -head[11] <= stated <= _FASTEST:  # a hint, of which decoders have no need; open is -1 a channel
            clean[place : place + 4] = bytes(4)
            odd.append(Part("unknown", "bitrate", offset + place, offset + place + 4, b""))
    empty = b"\3vorbis" + bytes(8) + b"\1"
    if data[start:end] != empty:
        odd.append(Part("tag", "comment", min(start + 7, end), end, b"", "vorbis"))
    setup = vorbis.setup(data[end:], head[11])
    if buried(setup.clean, (0,), (len(setup.clean),)):
        raise ValueError("text in its vorbis setup header")
    last = end + len(setup.clean)
    if data[last - 1] != setup.clean[-1]:
        odd.append(Part("unknown", "config", last - 1, last, b""))
    odd += decoders.field("unknown", "config", data, last, len(data)) if last < len(data) else []
    longest = (1 << (head[28] >> 4)) // 2
    made = b"\2\x1e\x10" + bytes(clean) + empty + setup.clean
    return Coding(made, odd, frames.Vorbis(), (longest,) * 256)


def _moved(offset: int, odd: list[Part]) -> list[Part]:
    return [part._replace(start=part.start + offset, end=part.end + offset) for part in odd]


def _flac(data: bytes) -> Coding:
    if data[:4] != b"fLaC":
        raise ValueError("its FLAC stream does not begin with STREAMINFO")
    clean, odd = decoders.flac(data[4:])
    info = flacframes.read_info(clean[4 : 4 + flacframes.INFO])
    return Coding(b"fLaC" + clean, _moved(4, odd), frames.Flac(info), (info.block,) * 256)


def _opus(data: bytes) -> Coding:
    if data[:8] != b"OpusHead":
        raise ValueError("the description of its Opus decoder cannot be followed")
    clean, odd = decoders.opus(data[8:], 10)
    made = b"OpusHead" + clean
    samples = tuple(length or 5760 for length in opus.LENGTHS)  # 120 ms, where the second byte tells
    return Coding(made, _moved(8, odd), frames.Opus(made[19] if made[18] else 1), samples, 48000)


def _alac(data: bytes) -> Coding:
    clean, odd = decoders.alac(data)
    return Coding(clean, odd, frames.Alac(), (int.from_bytes(clean[:4], "big"),) * 256)


def _aac(data: bytes) -> Coding:
    clean, odd = decoders.aac(data)
    looker = frames.Aac() if decoders.is_plain_aac(clean) else _ENDS
    return Coding(clean, odd, looker, (2048,) * 256)


def _nothing(looker: frames.Frames | None = None, samples: int = 0, lead: int = 0) -> Callable[[bytes], Coding]:
    def read(data: bytes) -> Coding:
        odd = decoders.field("unknown", "config", data, 0, len(data))
        return Coding(b"", odd, looker, (samples,) * 256, lead=lead)

    return read


def _wavpack(data: bytes) -> Coding:
    version = int.from_bytes(data[:2], "little")
    if not OLDEST <= version <= NEWEST:
        raise ValueError("its WavPack sound is of no known version")
    return Coding(data[:2], decoders.field("unknown", "config", data, 2, len(data)), WavPack(version))


_ENDS = frames.Alac()  # looks at the ends of any frames

_CODECS: dict[bytes, Callable[[bytes], Coding]] = {
    b"A_VORBIS": _vorbis,
    b"A_OPUS": _opus,
    b"A_FLAC": _flac,
    b"A_ALAC": _alac,
    b"A_AAC": _aac,
    b"A_WAVPACK4": _wavpack,
    **dict.fromkeys((b"A_MPEG/L1", b"A_MPEG/L2", b"A_MPEG/L3"), _nothing(frames.MPEG, 1152, 4)),
    **dict.fromkeys((b"A_AC3", b"A_EAC3"), _nothing(frames.AC3, 1536, 2)),
    b"A_DTS": _nothing(_ENDS, lead=4),
    **dict.fromkeys((b"A_PCM/INT/LIT", b"A_PCM/INT/BIG", b"A_PCM/FLOAT/IEEE"), _nothing()),
}
