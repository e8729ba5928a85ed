"""What a report can show of two recordings that share sound, made while their audio is at hand: renderers open no file.

Every row that was aligned gets an exhibit with time lines; those that leave most to judge get pictures of the sound,
too.  Nothing of a fingerprint but the share of bits that differ goes into an exhibit: a fingerprint names recordings.
"""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leakscan import crew, media
from leakscan.fingerprints import STEP_S, WINDOW_S, words
from leakscan.model import Alignment, Edge, Entry, Exhibit, Fingerprint, Match, Report, Side, Unreadable

COLUMNS = 320
"""How many columns the pictures of a window have."""
OUTLINE = 240
"""How many columns the outline of a whole recording has."""
BANDS = 40
"""How many bands of frequency a spectrum has, spaced evenly by ear from 80 Hz to 5.2 kHz."""
CLIP_S = 12.0
"""How many seconds of sound are embedded at most."""

_HOP = 512  # samples; 0.046 s
_FRAME = 2048  # samples; 5.4 Hz a line
_LEAD = (_FRAME - _HOP) // 2  # samples of a frame before the hop that it stands for
_EDGES = (np.geomspace(80.0, 5200.0, BANDS + 1) * _FRAME / media.RATE).astype(np.int64)
_FLOOR_DB = -120.0
_RANGE_DB = 50.0  # from white to black
_MARGIN = 0.05  # of the shared stretch is shown on either side of it, and at least a second

Floats = npt.NDArray[np.float64]
Heard = Mapping[str, Fingerprint]
Row = Match | Edge


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the report is for: how many rows get pictures, whether clips are embedded, where links start from."""

    count: int = 200
    embed: bool = False
    base: Path = Path()


@dataclass(frozen=True)
class Sound:
    """A recording as it can be drawn: every `_HOP` its power and the level of each band, in dB above `_FLOOR_DB`."""

    power: npt.NDArray[np.float32]
    levels: npt.NDArray[np.uint8]


def attach(
    report: Report,
    aligned: Mapping[tuple[str, str], Alignment],
    heard_a: Heard,
    heard_b: Heard,
    files: Mapping[str, Entry],
    wanted: Wanted | None,
) -> Report:
    """The report with an exhibit for every row whose two sides, as `sides` names them, are in `aligned`.

    `heard_a` and `heard_b` are fingerprints by name, `files` the audio that is at hand.  Pictures, or clips, are for
    the rows that leave most to judge: the lowest scores first, what is proven identical last; a file that cannot be
    read any more has none.  Links are for all, unless clips are embedded: such a report stands alone and says nothing
    of where files lie.  With nothing wanted the report stays as it is.
    """
    if wanted is None:
        return report
    rows = [row for row in report.rows if sides(row) in aligned]
    drawn = set(sorted(rows, key=_to_judge)[: wanted.count])
    names = sorted({name for row in drawn for name in sides(row) if name in files})
    sounds = dict(zip(names, crew.in_threads(lambda name: _listen(files[name]), names), strict=True))

    def exhibit(row: Row) -> Exhibit:
        a, b = sides(row)
        both = heard_a.get(a), heard_b.get(b)
        made = _timelines(row, aligned[a, b], *both)
        if row in drawn:
            made = _drawn(made, sounds.get(a), sounds.get(b), *both)
            if wanted.embed:
                made = _with_clips(made, files.get(a), files.get(b))
        return made if wanted.embed else _with_links(made, files.get(a), files.get(b), wanted.base)

    return replace(report, exhibits=tuple(crew.in_threads(exhibit, rows)))


def sides(row: Row) -> tuple[str, str]:
    """The names of the two recordings of a row."""
    return (row.file, row.id) if isinstance(row, Match) else (row.a, row.b)


def on_b(exhibit: Exhibit, moment: float) -> float:
    """A moment of a's time line on b's."""
    offset, speed = exhibit.row.offset_s or 0.0, exhibit.row.speed or 1.0
    return exhibit.pivot - offset + (moment - exhibit.pivot) * speed


def on_a(exhibit: Exhibit, moment: float) -> float:
    """A moment of b's time line on a's."""
    offset, speed = exhibit.row.offset_s or 0.0, exhibit.row.speed or 1.0
    return exhibit.pivot + (moment - exhibit.pivot + offset) / speed


def _to_judge(row: Row) -> tuple[bool, float]:
    return isinstance(row, Edge) and row.relation.startswith("identical"), row.score or 0.0


# --- time lines ------------------------------------------------------------------------------------------------------


def _timelines(row: Row, found: Alignment, a: Fingerprint | None, b: Fingerprint | None) -> Exhibit:
    start, end = found.span_a
    margin = max(1.0, _MARGIN * (end - start))
    length_a, length_b = (fp.duration if fp is not None else 0.0 for fp in (a, b))
    made = Exhibit(row, Side(length_a, found.span_a), Side(length_b, found.span_b), pivot=found.offset_s)
    first, last = min(0.0, on_a(made, 0.0)), max(length_a, on_a(made, length_b))
    return replace(made, window=(max(first, start - margin), min(last, end + margin)))


# --- pictures --------------------------------------------------------------------------------------------------------


def _listen(entry: Entry) -> Sound | None:
    try:
        with media.on_disk(entry) as path:
            return analyse(media.samples(path, entry.path))
    except Unreadable:
        return None


def analyse(pieces: Iterable[bytes]) -> Sound:
    """What can be drawn of samples at `media.RATE`, 16 bits little-endian; memory stays that of what is drawn."""
    power, levels = [np.zeros(0, np.float32)], [np.zeros((0, BANDS), np.uint8)]
    held = bytes(2 * _LEAD)

    def consume(held: bytes) -> bytes:
        count = max(0, (len(held) // 2 - _FRAME) // _HOP + 1)
        if count:
            samples = np.frombuffer(held[: 2 * ((count - 1) * _HOP + _FRAME)], "<i2") / np.float32(32768)
            frames = np.lib.stride_tricks.sliding_window_view(samples, _FRAME)[::_HOP]
            power.append(np.square(frames[:, _LEAD : _LEAD + _HOP]).mean(axis=1))
            lines = np.square(np.abs(np.fft.rfft(frames * np.hanning(_FRAME).astype(np.float32), axis=1)))
            bands = np.add.reduceat(lines[:, : _EDGES[-1]], _EDGES[:-1], axis=1) / np.diff(_EDGES)
            decibels = 10 * np.log10(bands / _FRAME + 1e-12) - _FLOOR_DB
            levels.append(np.clip(decibels, 0, 255).astype(np.uint8))
        return held[2 * count * _HOP :]

    for piece in pieces:
        held = consume(held + piece)
    consume(held + bytes(2 * (_FRAME - _LEAD - 1)))  # so that the last hop, too, lies in the middle of a frame
    return Sound(np.concatenate(power), np.concatenate(levels))


def _drawn(
    made: Exhibit, sound_a: Sound | None, sound_b: Sound | None, a: Fingerprint | None, b: Fingerprint | None
) -> Exhibit:
    edges = np.linspace(*made.window, COLUMNS + 1)
    edges_b = np.linspace(on_b(made, edges[0]), on_b(made, edges[-1]), COLUMNS + 1)
    errors = _errors(made, a, b, edges) if a is not None and b is not None else b""
    return replace(made, a=_side(made.a, sound_a, edges), b=_side(made.b, sound_b, edges_b), errors=errors)


def _side(side: Side, sound: Sound | None, edges: Floats) -> Side:
    if sound is None or not len(sound.power):
        return side
    outline = np.sqrt(_means(sound.power, np.linspace(0, len(sound.power), OUTLINE + 1)))
    wave = np.sqrt(_means(sound.power, edges * media.RATE / _HOP))
    loudest = max(float(np.nanmax(outline)), 1e-6)
    levels = _means(sound.levels, edges * media.RATE / _HOP)
    top = float(np.nanquantile(levels, 0.995)) if np.isfinite(levels).any() else 0.0
    return replace(
        side,
        outline=_bytes(outline / loudest * 255, 255),
        wave=_bytes(wave / loudest * 255, 255),
        spectrum=_bytes(((levels - top) / _RANGE_DB + 1) * 15, 15),
    )


def _means(values: npt.NDArray[np.generic], edges: Floats) -> Floats:
    """The mean of the values between each two edges (positions, in values); NaN beyond the first and the last value."""
    middle = (edges[:-1] + edges[1:]) / 2
    first = np.clip(np.floor(edges[:-1]).astype(np.int64), 0, len(values) - 1)
    last = np.clip(np.floor(edges[1:]).astype(np.int64), first + 1, len(values))
    sums = np.zeros((len(values) + 1, *values.shape[1:]))
    np.cumsum(values, axis=0, out=sums[1:])
    means = ((sums[last] - sums[first]).T / (last - first)).T
    means[(middle < 0) | (middle >= len(values))] = np.nan
    return np.asarray(means, np.float64)


def _bytes(values: Floats, most: int) -> bytes:
    return np.clip(np.nan_to_num(values), 0, most).round().astype(np.uint8).tobytes()


def _errors(made: Exhibit, a: Fingerprint, b: Fingerprint, edges: Floats) -> bytes:
    """The share of differing bits along the window.  A word stands for the middle of the sound that it looks at."""
    own, other = words(a), words(b)
    if not len(own) or not len(other):
        return b""
    offset, speed = made.row.offset_s or 0.0, made.row.speed or 1.0
    moments = np.arange(len(own)) * STEP_S
    there = np.rint((made.pivot - offset + (moments - made.pivot) * speed) / STEP_S).astype(np.int64)
    known = (there >= 0) & (there < len(other))
    differing = np.where(known, np.bitwise_count(own ^ other[np.clip(there, 0, len(other) - 1)]), 0)
    # before the middle of the first word and after that of the last, those two are what there is
    at = np.clip((edges - WINDOW_S / 2) / STEP_S + 0.5, 0, len(own) - 1e-6)
    shares = _means(differing / 32, at) / np.maximum(_means(known.astype(np.float64), at), 1e-9)
    beyond = (edges[:-1] < 0) | (edges[1:] > a.duration) | (_means(known.astype(np.float64), at) == 0)
    return np.where(beyond, 255, np.clip(shares * 200, 0, 200).round()).astype(np.uint8).tobytes()


# --- sound -----------------------------------------------------------------------------------------------------------


def _with_links(made: Exhibit, a: Entry | None, b: Entry | None, base: Path) -> Exhibit:
    return replace(made, a=replace(made.a, link=link(a, base)), b=replace(made.b, link=link(b, base)))


def link(entry: Entry | None, base: Path) -> str:
    """The URL of a file, relative to the folder of the report; "" for what lies in a container or is not at hand."""
    if entry is None or entry.data is not None:
        return ""
    try:
        path = Path(os.path.relpath(os.path.realpath(entry.file), os.path.realpath(base))).as_posix()
    except ValueError:  # another drive
        return ""
    return urllib.parse.quote(os.fsencode(path), safe="/")  # a colon, too: `a:b.mp3` is no scheme


def _with_clips(made: Exhibit, a: Entry | None, b: Entry | None) -> Exhibit:
    start = max(made.a.span[0], on_a(made, 0.0), 0.0)
    seconds = min(CLIP_S, made.a.span[1] - start)
    speed = made.row.speed or 1.0
    return replace(
        made, a=_with_clip(made.a, a, start, seconds), b=_with_clip(made.b, b, on_b(made, start), seconds * speed)
    )


def _with_clip(side: Side, entry: Entry | None, start: float, seconds: float) -> Side:
    if entry is None or seconds <= 0:
        return side
    start = round(max(0.0, start), 3)
    try:
        with media.on_disk(entry) as path:
            return replace(side, clip=media.clip(path, start, round(seconds, 3), entry.path), clip_start=start)
    except Unreadable:
        return side
