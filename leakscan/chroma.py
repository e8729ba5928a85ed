"""Samples -> Chromaprint's words, how certain each of their bits is, and how they would read at another pitch.

ffmpeg and libchromaprint give words only.  Here the algorithm TEST2 is computed from the samples, so that one may also
ask which decisions were close: a copy that was equalised, mixed down or echoed differs from its original where they
were.  The steps: power spectra of frames of 4096 samples; their energy by pitch class, from 28 to 3520 Hz; smoothed
over five frames and scaled to length 1; then sixteen filters, each the difference of the logarithms of two areas of
that picture, at most 16 frames wide; each value is quantised by three thresholds to two bits in Gray code, so that one
bit alone changes where a value crosses a threshold.

Constants and steps are those of Chromaprint (https://github.com/acoustid/chromaprint, MIT License, by Lukas Lalinsky):
fingerprinter_configuration.cpp, chroma.cpp, filter_utils.h.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from leakscan.fingerprints import Words
from leakscan.media import RATE

FRAME = 4096  # samples
STEP = 1365  # samples from frame to frame, and so from word to word
FINE = 4  # bands a semitone: a sound is transposed by quarters of one

_SEMITONES = 12
_BANDS = _SEMITONES * FINE
_LOWEST_HZ, _HIGHEST_HZ = 28, 3520
_A0_HZ = 27.5  # where pitch classes begin to count
_BINS = np.arange(round(FRAME * _LOWEST_HZ / RATE), round(FRAME * _HIGHEST_HZ / RATE))
_SMOOTHING = (0.25, 0.75, 1.0, 0.75, 0.25)
_QUIET = 0.01  # a frame of less energy is silent
_FRAMES = 256  # at once: 4 MB of spectra
_WIDEST = 16  # frames

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]  # FFTs that are as exact as Chromaprint's
Samples = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class _Filter:
    """A rectangle of the picture, how it is divided into two areas, and the thresholds of their difference."""

    kind: int
    band: int
    height: int  # bands
    width: int  # frames
    thresholds: tuple[float, float, float]


# highest bits first
_FILTERS = (
    _Filter(0, 4, 3, 15, (1.98215, 2.35817, 2.63523)),
    _Filter(4, 4, 6, 15, (-1.03809, -0.651211, -0.282167)),
    _Filter(1, 0, 4, 16, (-0.298702, 0.119262, 0.558497)),
    _Filter(3, 8, 2, 12, (-0.105439, 0.0153946, 0.135898)),
    _Filter(3, 4, 4, 8, (-0.142891, 0.0258736, 0.200632)),
    _Filter(4, 0, 3, 5, (-0.826319, -0.590612, -0.368214)),
    _Filter(1, 2, 2, 9, (-0.557409, -0.233035, 0.0534525)),
    _Filter(2, 7, 3, 4, (-0.0646826, 0.00620476, 0.0784847)),
    _Filter(2, 6, 2, 16, (-0.192387, -0.029699, 0.215855)),
    _Filter(2, 1, 3, 2, (-0.0397818, -0.00568076, 0.0292026)),
    _Filter(5, 10, 1, 15, (-0.53823, -0.369934, -0.190235)),
    _Filter(3, 6, 2, 10, (-0.124877, 0.0296483, 0.139239)),
    _Filter(2, 1, 1, 14, (-0.101475, 0.0225617, 0.231971)),
    _Filter(3, 5, 6, 4, (-0.0799915, -0.00729616, 0.063262)),
    _Filter(1, 9, 2, 12, (-0.272556, 0.019424, 0.302559)),
    _Filter(3, 4, 2, 14, (-0.164292, -0.0321188, 0.0846339)),
)


@dataclass(frozen=True)
class Chroma:
    """The energy of each frame by pitch class, in quarters of a semitone from A upwards: shape (frames, 48)."""

    energy: Singles = field(repr=False)


@dataclass(frozen=True)
class Reading:
    """Words, shape (n,), and the certainty of each of their bits, shape (n, 32), lowest bit first.

    Certainty is how far a filter's value lies from the nearest threshold at which the bit would change, from 0 to 1; 1
    is the distance between the outer thresholds, between which half of all values lie, or more.
    """

    words: Words = field(repr=False)
    certainty: Singles = field(repr=False)


def hear(pcm: Iterable[bytes], starts: Sequence[int] = (0,)) -> tuple[Chroma, ...]:
    """The chroma of a sound, begun at each of the samples `starts`: at parts of a step they give the words in between.

    `pcm` is mono 16-bit little-endian samples at 11,025 Hz, in pieces cut anywhere.  Memory is that of the answer,
    1.6 kB a second and start, and of one piece.
    """
    heard: tuple[list[Singles], ...] = tuple([] for _ in starts)
    for samples in _windows(pcm, max(starts)):
        for start, parts in zip(starts, heard, strict=True):
            parts.append(_energy(samples[start:]))
    return tuple(Chroma(np.concatenate(parts)) for parts in heard)


def read(chroma: Chroma, rotation: int = 0) -> Reading:
    """The words of a sound as they would be had it been played `rotation` quarters of a semitone higher.

    There is a word for every 20 frames in a row: fewer give none.
    """
    picture = _picture(chroma, rotation)
    count = max(0, len(picture) - _WIDEST + 1)
    sums = np.zeros((len(picture) + 1, _SEMITONES + 1))
    sums[1:, 1:] = picture.cumsum(0).cumsum(1)
    words = np.zeros(count, np.uint32)
    certainty = np.zeros((count, 2 * len(_FILTERS)), np.float32)
    for place, one in enumerate(reversed(_FILTERS)):
        value = _value(one, sums, count)
        low, middle, high = one.thresholds
        inner = (value >= low) & (value < high)
        words |= (inner + np.uint32(2) * (value >= middle)) << np.uint32(2 * place)  # 0, 1, 3, 2
        certainty[:, 2 * place] = np.minimum(abs(value - low), abs(value - high)) / (high - low)
        certainty[:, 2 * place + 1] = abs(value - middle) / (high - low)
    return Reading(words, np.minimum(certainty, 1, out=certainty))


def variants(reading: Reading, count: int, lowest: int = 0) -> Words:
    """Each word, and what it would be had one of its `count` least certain bits been decided the other way.

    Shape (n, 1 + count), the word itself first.  Bits below `lowest` are left as they are.
    """
    least = np.argpartition(reading.certainty[:, lowest:], count - 1, axis=1)[:, :count]
    changed = np.uint32(1) << (least + lowest).astype(np.uint32)
    return reading.words[:, None] ^ np.concatenate((np.zeros((len(changed), 1), np.uint32), changed), axis=1)


def weigh(bits: Words, certainty: Singles) -> Singles:
    """The sum of the certainty of the bits that are set in each word, shape (n,).

    Of two words XORed this is how much they differ, where `weigh` of all bits is how much they could.
    """
    is_set = np.unpackbits(bits.astype("<u4").view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    total: Singles = np.einsum("ij,ij->i", is_set, certainty)
    return total


def _windows(pcm: Iterable[bytes], reach: int) -> Iterator[Samples]:
    """The samples in stretches of 256 steps, overlapping so that frames begun up to `reach` later lie in them whole."""
    size = 2 * ((_FRAMES - 1) * STEP + FRAME + reach)
    held = bytearray()
    for piece in pcm:
        held += piece
        while len(held) >= size:
            yield np.frombuffer(bytes(held[:size]), "<i2")
            del held[: 2 * _FRAMES * STEP]
    yield np.frombuffer(bytes(held[: len(held) // 2 * 2]), "<i2")


def _energy(samples: Samples) -> Singles:
    """The energy by band of the first 256 frames, or of as many as there are."""
    if len(samples) < FRAME:
        return np.zeros((0, _BANDS), np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(samples, FRAME)[: _FRAMES * STEP : STEP]
    spectra = np.fft.rfft(frames * _HAMMING)[:, _BINS]
    # not a product of matrices: that would call other threads for so little that waiting for them takes longer
    return np.add.reduceat((spectra.real**2 + spectra.imag**2)[:, _BY_BAND], _FIRST_OF_BAND, axis=1)


_HAMMING = (np.hamming(FRAME) / 32767).astype(np.float32)
_BAND_OF_BIN = np.floor(_BANDS * (np.log2(_BINS * RATE / FRAME / _A0_HZ) % 1))
_BY_BAND = np.argsort(_BAND_OF_BIN, kind="stable")
_FIRST_OF_BAND = np.searchsorted(_BAND_OF_BIN[_BY_BAND], np.arange(_BANDS))


def _picture(chroma: Chroma, rotation: int) -> Floats:
    """The smoothed energy of the twelve semitones, each row of length 1, or 0 where it is silent."""
    transposed = np.roll(chroma.energy.astype(np.float64), rotation, axis=1)
    semitones = transposed.reshape(-1, _SEMITONES, FINE).sum(axis=2)
    count = max(0, len(semitones) - len(_SMOOTHING) + 1)
    smooth = np.zeros((count, _SEMITONES))
    for shift, weight in enumerate(_SMOOTHING):
        smooth += weight * semitones[shift : shift + count]
    length = np.sqrt((smooth**2).sum(axis=1, keepdims=True))
    return np.where(length < _QUIET, 0.0, smooth / np.maximum(length, _QUIET))


def _value(one: _Filter, sums: Floats, count: int) -> Floats:
    """A filter's value at each of `count` words, from the picture's running sums over frames and bands."""

    def area(frame: int, band: int, end_frame: int, end_band: int) -> Floats:
        first, end = sums[frame : frame + count], sums[end_frame : end_frame + count]
        total: Floats = end[:, end_band] - end[:, band] - first[:, end_band] + first[:, band]
        return total

    width, low, high = one.width, one.band, one.band + one.height
    whole = area(0, low, width, high)
    if one.kind == 0:
        return np.log1p(whole)
    middle, half = low + one.height // 2, width // 2
    bands, frames = one.height // 3, width // 3
    if one.kind == 1:  # the higher half of the bands
        part = area(0, middle, width, high)
    elif one.kind == 2:  # the later half of the frames
        part = area(half, low, width, high)
    elif one.kind == 3:  # two quarters, crosswise
        part = area(0, middle, half, high) + area(half, low, width, middle)
    elif one.kind == 4:  # the middle third of the bands
        part = area(0, low + bands, width, low + 2 * bands)
    else:  # the middle third of the frames
        part = area(frames, low, 2 * frames, high)
    return np.log1p(part) - np.log1p(whole - part)
