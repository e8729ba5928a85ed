"""Tempo, key and moments in the binary data of samplers and DJ programs, as (what, text).

`what` is `bpm`, `key`, `time_signature`, `cue_time` or `chapter_time`; a moment is `12.345 s` or `44100 samples`.  Data
that is cut or of another version says nothing: that it is there at all is told elsewhere.

Sources: `acid` as libsndfile reads it (wav_read_acid_chunk), `cue ` and `smpl` (Multimedia Programming Interface and
Data Specifications 1.0, "Cue-Points Chunk", and the new data types of 1994), `MARK` (AIFF 1.3), `mark` and `regn`
(Apple Core Audio Format), `chpl` as Nero's tools write it, chapter tracks (QuickTime File Format), Serato
(github.com/Holzhaus/serato-tags, docs), Traktor (as read by others: a tree of little-endian frames, each its name
written backwards, its length, the number of its children, its data).
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Iterator

Pair = tuple[str, str]

NOTES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")
CUES = 1000
"""How many moments of one kind are told."""

_HAS_ROOT = 2  # flag of `acid`: the root note is set


def seconds(time: float) -> str:
    """A moment as text."""
    return f"{time:.3f} s"


def samples(offset: int) -> str:
    """A moment as text, where the sampling rate stands elsewhere."""
    return f"{offset} samples"


def acid(data: bytes) -> Iterator[Pair]:
    """The body of a RIFF `acid` chunk."""
    if len(data) >= 24:
        flags, root, _, _, _, unit, beats, tempo = struct.unpack_from("<IHHfIHHf", data)
        yield from _tempo(tempo)
        if flags & _HAS_ROOT:
            yield "key", NOTES[root % 12]
        if unit and beats:
            yield "time_signature", f"{beats}/{unit}"


def cue(data: bytes) -> Iterator[Pair]:
    """The body of a RIFF `cue ` chunk."""
    for place in range(4, min(len(data) - 23, 4 + 24 * CUES), 24):
        yield "cue_time", samples(struct.unpack_from("<I", data, place + 20)[0])


def smpl(data: bytes) -> Iterator[Pair]:
    """The body of a RIFF `smpl` chunk: where loops begin and end."""
    for place in range(36, min(len(data) - 23, 36 + 24 * CUES), 24):
        yield from (("cue_time", samples(offset)) for offset in struct.unpack_from("<II", data, place + 8))


def aiff_markers(data: bytes) -> Iterator[Pair]:
    """The body of an AIFF `MARK` chunk: number, place and name (Pascal) of each."""
    place = 2
    for _ in range(min(int.from_bytes(data[:2], "big"), CUES)):
        if place + 7 > len(data):
            return
        yield "cue_time", samples(int.from_bytes(data[place + 2 : place + 6], "big"))
        place += 7 + (data[place + 6] | 1)  # the length and the name have an even number of bytes


def caf_markers(data: bytes) -> Iterator[Pair]:
    """The body of a CAF `mark` chunk: markers of 28 bytes."""
    yield from _caf_markers(data, 8, int.from_bytes(data[4:8], "big"))


def caf_regions(data: bytes) -> Iterator[Pair]:
    """The body of a CAF `regn` chunk: regions of several markers each."""
    place = 8
    for _ in range(min(int.from_bytes(data[4:8], "big"), CUES)):
        count = int.from_bytes(data[place + 8 : place + 12], "big")
        yield from _caf_markers(data, place + 12, count)
        place += 12 + 28 * count


def _caf_markers(data: bytes, place: int, count: int) -> Iterator[Pair]:
    for _ in range(min(count, CUES, max(0, len(data) - place) // 28)):
        (offset,) = struct.unpack_from(">d", data, place + 4)
        if 0 <= offset < 1e15:
            yield "cue_time", samples(round(offset))
        place += 28


def nero_chapters(data: bytes) -> Iterator[Pair]:
    """The body of an MP4 `chpl` box: times in units of 100 ns, and names."""
    place = 9 if data[:1] == b"\1" else 5
    for _ in range(data[place - 1] if len(data) >= place else 0):
        if place + 9 > len(data):
            return
        yield "chapter_time", seconds(int.from_bytes(data[place : place + 8], "big") / 10_000_000)
        place += 9 + data[place + 8]


def chapter_track(data: bytes) -> Iterator[Pair]:
    """A `trak` box of MP4 that holds chapters: a sample of text for each, which lasts as long as it does."""
    mdhd, stts = data.find(b"mdhd") + 4, data.find(b"stts") + 4
    if b"text" not in data and b"sbtl" not in data and b"tx3g" not in data:
        return
    scale = int.from_bytes(data[mdhd + (20 if data[mdhd : mdhd + 1] == b"\1" else 12) :][:4], "big")
    time = told = 0
    for row in range(min(int.from_bytes(data[stts + 4 : stts + 8], "big"), CUES)):
        count, each = (int.from_bytes(data[stts + 8 + 8 * row + at :][:4], "big") for at in (0, 4))
        for _ in range(min(count, CUES - told)):
            if scale:
                yield "chapter_time", seconds(time / scale)
            time += each
            told += 1


def serato(name: str, data: bytes) -> Iterator[Pair]:
    """The data of a Serato tag called `name`."""
    if name == "Serato Autotags":
        tempo = re.match(rb"..(\d{1,3}\.\d{1,2})\x00", data, re.DOTALL)
        yield from _tempo(float(tempo[1]) if tempo else 0)
    elif name == "Serato BeatGrid" and len(data) >= 14:
        (count,) = struct.unpack_from(">I", data, 2)
        if count > 0 and 6 + 8 * count <= len(data):
            yield from _tempo(struct.unpack_from(">f", data, 2 + 8 * count)[0])
    elif name == "Serato Markers2":
        for cue in re.finditer(rb"CUE\x00.{4}\x00.(.{4})", unpacked(data[2:].partition(b"\x00")[0]), re.DOTALL):
            yield "cue_time", seconds(int.from_bytes(cue[1], "big") / 1000)


def serato_field(text: str) -> Iterator[Pair]:
    """A Serato tag in base64, as Vorbis comments and MP4 hold it: a media type, a name, the data."""
    _, _, rest = unpacked(text.encode("utf-8", "replace")).partition(b"application/octet-stream\x00\x00")
    name, _, data = rest.partition(b"\x00")
    yield from serato(name.decode("latin-1"), data)


def unpacked(code: bytes) -> bytes:
    """Base64 with line breaks and without padding; nothing where it is none."""
    code = b"".join(code.split())
    try:
        return base64.b64decode(code[: len(code) // 4 * 4 + (len(code) % 4 > 1) * (len(code) % 4)] + b"==")
    except (binascii.Error, ValueError):
        return b""


def traktor(data: bytes) -> Iterator[Pair]:
    """The tree of a Traktor tag."""
    for tempo in re.finditer(rb"TMPB\x04\x00{7}(.{4})", data, re.DOTALL):
        yield from _tempo(struct.unpack("<f", tempo[1])[0])
    for key in re.finditer(rb"YEKT.{4}\x00{4}([\x01-\x0f])\x00{3}((?:[\x20-\x7e]\x00){1,15})", data, re.DOTALL):
        yield "key", key[2][: 2 * key[1][0]].decode("utf-16-le")
    for cues in re.finditer(rb"PEUC.{4}\x00{4}(.{4})", data, re.DOTALL):
        yield from _traktor_cues(data, cues.end(), min(int.from_bytes(cues[1], "little"), CUES))


def _traktor_cues(data: bytes, place: int, count: int) -> Iterator[Pair]:
    for _ in range(count):
        if len(data) < place + 8:
            return
        place += 8 + 2 * struct.unpack_from("<I", data, place + 4)[0]  # past the name, UTF-16
        if len(data) < place + 32:
            return
        start = struct.unpack_from("<d", data, place + 8)[0]
        if 0 <= start < 1e9:
            yield "cue_time", seconds(start / 1000)
        place += 32


def _tempo(tempo: float) -> Iterator[Pair]:
    if 10 < tempo < 1000:
        yield "bpm", f"{tempo:.2f}"
