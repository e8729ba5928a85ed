"""What ffmpeg said while it worked, and whether that shows a file that was not decoded in full.

ffmpeg exits with 0 on most damaged files, so three things are looked at: its exit status; the length that the container
counts (Xing, STREAMINFO, MP4 tables, AIFF) against the samples that were decoded; and, for the two containers where
ffmpeg hides a cut, RIFF's chunk size and Ogg's last page.  Decoding errors reject a file unless that count shows that
nothing is missing: trailing tags and junk cause them in good files.
"""

from __future__ import annotations

import math
import os
import re
import struct
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO


@dataclass(slots=True)
class Source:
    """What was said of one input, in seconds: `counted` by its container, None where it does not count.

    Its sound begins at `start` of its clock.
    """

    container: str = ""
    counted: float | None = None
    start: float = 0.0
    streams: int = 0
    audio: int = 0
    codec: str = ""


@dataclass(slots=True)
class Sink:
    """What was said of one output."""

    rate: int = 0
    samples: int = 0

    @property
    def duration(self) -> float:
        """How many seconds of audio were encoded."""
        return self.samples / self.rate if self.rate else 0.0


@dataclass(slots=True)
class Levels:
    """What the filter of one name measured, channel by channel, in dB of full scale."""

    peaks: list[float] = field(default_factory=list)
    loudness: list[float] = field(default_factory=list)


class Transcript:
    """What ffmpeg said, read line by line so that a hostile file cannot fill the memory with messages.

    `levels` are by the names of the filters that measured them; `silence` are the seconds that all inputs were silent.
    `changed`: the sample rate or the channels of an input became others on the way.
    """

    # Every line starts with [level], or with [part @ address] [level]; no text of the file (tags) can stand there.
    _LINE = re.compile(rb"(?:\[([^\[\]]*) @ [^\[\]]*\] )*\[(\w+)\] (.*)", re.DOTALL)
    _SOURCE = re.compile(rb"Input #(\d+), ([\w,]+), from ")
    _SINK = re.compile(rb"Output #(\d+)")
    _LENGTH = re.compile(rb"  Duration: (\d+):(\d\d):(\d\d(?:\.\d+)?)(?:, start: (\d+(?:\.\d+)?))?")
    _STREAM = re.compile(rb"  Stream #\d+:\d+.*?: (\w+): (?!.*\(attached pic\))")
    _CODEC = re.compile(rb"  Stream #\d+:\d+.*?: Audio: (\w+)")
    _RATE = re.compile(rb"  Stream #\d+:\d+.*?: Audio: .*?, (\d+) Hz")
    _SAMPLES = re.compile(rb"  Output stream #(\d+):0 \(audio\): \d+ frames encoded \((\d+) samples\)")
    _FED = re.compile(rb"tb:\S+ samplefmt:\S+ samplerate:\d+ ")  # a graph of filters was laid out for such audio
    _PEAK = re.compile(rb"Peak level dB: (\S+)")
    _LOUDNESS = re.compile(rb"RMS level dB: (\S+)")
    _SILENCE = re.compile(rb"silence_end: \S+ \| silence_duration: (\d+(?:\.\d+)?)")

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.sources: defaultdict[int, Source] = defaultdict(Source)
        self.sinks: defaultdict[int, Sink] = defaultdict(Sink)
        self.levels: defaultdict[str, Levels] = defaultdict(Levels)
        self.silence = 0.0
        self.changed = False
        self._fed: set[bytes] = set()
        self._estimated = False
        self._part: Source | Sink | None = None

    def read(self, stream: IO[bytes]) -> None:
        """Read until the end."""
        inside = False
        for raw in iter(lambda: stream.readline(4096), b""):
            line = None if inside else self._LINE.match(raw.rstrip())
            inside = not raw.endswith(b"\n")  # the rest of a long line is the file's own text
            if line is not None:
                part, level, text = line.groups()
                if level in (b"error", b"fatal", b"panic"):
                    self._hear_error(text)
                else:
                    self._hear(part or b"", text)

    def _hear_error(self, text: bytes) -> None:
        if len(self.errors) < 8:
            said = text.decode("utf-8", "replace")[:120]
            self.errors.append("".join(c for c in said if c.isprintable()))

    def _hear(self, part: bytes, text: bytes) -> None:
        if text.startswith(b"Estimating duration from bitrate"):
            self._estimated = True
        elif found := self._SOURCE.match(text):
            self._part = source = self.sources[int(found[1])]
            source.container = found[2].decode("ascii", "replace")
        elif found := self._SINK.match(text):
            self._part = self.sinks[int(found[1])]
        elif found := self._SAMPLES.match(text):
            self.sinks[int(found[1])].samples = int(found[2])
        elif self._FED.match(text):
            self.changed |= part in self._fed
            self._fed.add(part)
        elif found := self._SILENCE.match(text):  # which not all builds say in the filter's name
            self.silence += float(found[1])
        elif b"@" in part:
            self._hear_levels(self.levels[part.decode("ascii", "replace").partition("@")[2]], text)
        elif isinstance(self._part, Source):
            self._hear_source(self._part, text)
        elif isinstance(self._part, Sink) and (found := self._RATE.match(text)):
            self._part.rate = int(found[1])

    def _hear_source(self, source: Source, text: bytes) -> None:
        if found := self._LENGTH.match(text):
            hours, minutes, seconds, source.start = (float(part or 0) for part in found.groups())
            # Most lengths are counted from 0, not from the start.  ffmpeg 5 also calls the encoder's delay in MP3 so.
            length = hours * 3600 + minutes * 60 + seconds - source.start
            source.counted, self._estimated = None if self._estimated else length, False
        elif self._STREAM.match(text):
            source.streams += 1
            if found := self._CODEC.match(text):
                source.audio += 1
                source.codec = source.codec or found[1].decode("ascii")

    def _hear_levels(self, levels: Levels, text: bytes) -> None:
        if found := self._PEAK.match(text):
            levels.peaks.append(_decibels(found[1]))
        elif found := self._LOUDNESS.match(text):
            levels.loudness.append(_decibels(found[1]))


def _decibels(text: bytes) -> float:
    try:
        value = float(text)
    except ValueError:
        return -math.inf
    return -math.inf if math.isnan(value) else value  # nan: there were no samples


def refused(status: int, said: Transcript) -> str:
    """Why ffmpeg gave up, empty when it did not."""
    return f"cannot be decoded{_quoted(said)}" if status != 0 else ""


def fault(status: int, said: Transcript, source: Source, sink: Sink, longest: float) -> str:
    """What shows that ffmpeg did not decode a file in full; empty when nothing does.

    `longest` is how many seconds it was allowed to decode.
    """
    if gave_up := refused(status, said):
        return gave_up
    if not sink.rate:
        return "ffmpeg did not say what it decoded"
    # With several streams (a film) the container's length is the longest one's and says nothing about the audio.
    counted = source.counted if source.streams == 1 else None
    missing = counted - sink.duration if counted is not None else None
    # 0.2 s: ffmpeg 5 counts the padding at the end of MP3, which is cut off when decoding.
    if missing is not None and missing > 0.2 and counted is not None and counted < longest:
        return (
            f"cut or damaged: its container counts {counted:.2f} s, "
            f"{sink.duration:.2f} s could be decoded{_quoted(said)}"
        )
    # 0.06 s: less than a FLAC or MP3 frame with its neighbours.  Ogg counts one link of a chain, errors may hide more.
    is_all = missing is not None and missing <= 0.06 and source.container != "ogg"
    if said.errors and not is_all:
        return f"damaged{_quoted(said)}"
    return ""


def _quoted(said: Transcript) -> str:
    return f" (ffmpeg: {said.errors[0]})" if said.errors else ""


def cut(path: Path) -> str:
    """Whether a RIFF or Ogg file ends too early, empty when not; ffmpeg reads such files without an error."""
    with path.open("rb") as stream:
        head = stream.read(12)
        size = stream.seek(0, os.SEEK_END)
        if head[:4] == b"RIFF" and head[8:] == b"WAVE":
            return _cut_riff(stream, size)
        if head[:4] == b"OggS":
            stream.seek(max(0, size - 2 * 65307))  # 65,307: the largest page
            return _cut_ogg(stream.read())
    return ""


def _cut_riff(stream: IO[bytes], size: int) -> str:
    at = 12
    while at + 8 <= size:
        stream.seek(at)
        kind, length = struct.unpack("<4sI", stream.read(8))
        if kind == b"data":
            streamed = length in (0, 0xFFFFFFFF)  # written to a pipe: the length was not known
            return "" if streamed or at + 8 + length <= size else "cut: its data chunk is longer than the file"
        at += 8 + length + length % 2
    return ""


def _cut_ogg(tail: bytes) -> str:
    at = tail.rfind(b"OggS")
    page = tail[at:]
    if at >= 0 and len(page) >= 27 and page[5] & 4:  # 4: end of stream
        segments = page[27 : 27 + page[26]]
        if len(segments) == page[26] and len(page) >= 27 + page[26] + sum(segments):
            return ""
    return "cut: its last page does not end the stream"
