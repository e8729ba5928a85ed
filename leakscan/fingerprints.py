"""Audio -> Fingerprint, and Chromaprint's own compressed text form, coded and decoded here.

The text form, as fpcalc and ffmpeg print it, is URL-safe base64 without padding of: one byte algorithm, three bytes
count of words (big-endian); then, for every word XORed with the one before, the distances between its set bits, lowest
first, ended by 0.  A distance takes 3 bits; 7 stands for "7 or more", and what is above 7 takes 5 bits.  All 3-bit
values come first, then, from the next whole byte on, all 5-bit values; both are packed from the lowest bit up.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leakscan import extraction, media
from leakscan.extraction import Wish
from leakscan.model import Fingerprint, LeakscanError, Unreadable

STEP_S = 1365 / media.RATE  # seconds from word to word
WINDOW_S = (4096 + 19 * 1365) / media.RATE  # seconds of audio that one word looks at: 20 frames of 4096 samples
SILENCE = np.uint32(627964279)  # the word of digital silence
_NEAR_SILENCE = 6  # bits; hot words of unrelated recordings cluster this close to the silence word

ALGORITHM = "TEST2"  # what fpcalc calls 2, the library and ffmpeg 1
_ALGORITHMS = ("TEST1", "TEST2", "TEST3", "TEST4", "TEST5")
_MAX_WORDS = (1 << 24) - 1

Words = npt.NDArray[np.uint32]


def fingerprint(path: Path, name: str = "", phases: int = 1) -> Fingerprint:
    """The fingerprint of a file's first audio stream, in full length; `name` is what messages call the file.

    With 4 `phases` also the words of the same sound begun parts of a step later.  Less than 2.8 s of audio gives no
    word at all; that is not an error.  Raises `Unreadable`, `LeakscanError`.
    """
    (found,) = fingerprint_each([(path, name or str(path))], phases)
    if isinstance(found, Unreadable):
        raise found
    return found


def fingerprint_each(files: Sequence[tuple[Path, str]], phases: int = 1) -> list[Fingerprint | Unreadable]:
    """The fingerprints of several files, (path, name) each, by one process: for short ones.  Raises `LeakscanError`."""
    library = media.find_ffmpeg().library
    return [
        heard
        if isinstance(heard, Unreadable)
        else Fingerprint(heard.phases[0], heard.duration, ALGORITHM, library, heard.phases[1:], heard.notes)
        for heard in extraction.extract(files, Wish(phases))
    ]


def at_speeds(path: Path, speeds: Sequence[float], name: str = "") -> tuple[Fingerprint, ...]:
    """The fingerprints that a file would have if it were played so many times as fast (1.03: 3 % faster).

    One decode gives them all.  A speed is kept to 1 part in 22,000.  Raises `Unreadable`, `LeakscanError`.
    """
    (heard,) = extraction.extract([(path, name or str(path))], Wish(speeds=tuple(speeds)))
    if isinstance(heard, Unreadable):
        raise heard
    library = media.find_ffmpeg().library
    return tuple(
        Fingerprint(words, heard.duration / speed, ALGORITHM, library, (), heard.notes)
        for speed, words in zip(speeds, heard.speeds, strict=True)
    )


def words(fp: Fingerprint) -> Words:
    """The words of a fingerprint as an array of uint32, shape (len(fp),)."""
    return np.frombuffer(fp.words, dtype="<u4").astype(np.uint32, copy=False)


def later_words(fp: Fingerprint) -> tuple[Words, ...]:
    """The words of its phases, each a quarter of a step later than the one before."""
    return tuple(np.frombuffer(phase, dtype="<u4").astype(np.uint32, copy=False) for phase in fp.phases)


def telling(array: Words) -> npt.NDArray[np.bool_]:
    """True where a word tells recordings apart: not within 6 bits of silence, not a repeat of the word before."""
    keep: npt.NDArray[np.bool_] = np.bitwise_count(array ^ SILENCE) > _NEAR_SILENCE
    keep[1:] &= array[1:] != array[:-1]
    return keep


def is_constant(fp: Fingerprint) -> bool:
    """Whether a fingerprint says nothing: it has words, and fewer than 16 different ones besides those of silence."""
    array = words(fp)
    return bool(len(array)) and len(np.unique(array[telling(array)])) < min(16, len(array))


def heard_seconds(fp: Fingerprint) -> float:
    """How long a recording is by its words, to a step; for one without a word, at most its own length or one word's."""
    return (len(fp) - 1) * STEP_S + WINDOW_S if len(fp) else min(fp.duration, WINDOW_S)


def sounding(fp: Fingerprint) -> tuple[float, float]:
    """From when to when a recording is not silent, in seconds; silence of less than 2.8 s at an end is not told."""
    heard = np.flatnonzero(np.bitwise_count(words(fp) ^ SILENCE) > _NEAR_SILENCE)
    if not len(heard):
        return 0.0, fp.duration
    first, last = heard[[0, -1]].tolist()
    start = (first - 1) * STEP_S + WINDOW_S if first else 0.0  # the word before it hears nothing
    end = (last + 1) * STEP_S if last < len(fp) - 1 else fp.duration
    return (start, end) if start < end else (0.0, fp.duration)


def encode(fp: Fingerprint) -> str:
    """Chromaprint's compressed form of a fingerprint.  Raises `LeakscanError` for an algorithm it has no number for."""
    if fp.algorithm not in _ALGORITHMS:
        raise LeakscanError(f"fingerprint algorithm {fp.algorithm!r} is unknown; use one of {', '.join(_ALGORITHMS)}")
    array = words(fp)
    if len(array) > _MAX_WORDS:
        raise LeakscanError(f"a fingerprint of {len(array)} words is too long for the compressed form; split the audio")
    changed = array ^ np.concatenate((np.zeros(1, np.uint32), array[:-1]))[: len(array)]
    bits = np.unpackbits(changed.astype("<u4").view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    row, position = np.nonzero(bits)
    first = np.ones(row.shape, np.bool_)
    first[1:] = row[1:] != row[:-1]
    distance = np.where(first, position + 1, np.diff(position, prepend=0))
    # a 0 after the last distance of each word: distance k of word r stands at k + r
    values = np.zeros(len(distance) + len(array), np.uint8)
    values[np.arange(len(distance)) + row] = np.minimum(distance, 7)
    body = _pack(values, 3) + _pack((distance[distance >= 7] - 7).astype(np.uint8), 5)
    head = bytes((_ALGORITHMS.index(fp.algorithm),)) + len(array).to_bytes(3, "big")
    return base64.urlsafe_b64encode(head + body).rstrip(b"=").decode("ascii")


def decode(text: str) -> tuple[str, bytes]:
    """(algorithm, words as little-endian uint32) of Chromaprint's compressed form.

    Memory stays within a small multiple of the text's length, whatever count its head claims.  Raises `LeakscanError`.
    """
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise LeakscanError("not a compressed fingerprint (no URL-safe base64)") from error
    if len(raw) < 4 or raw[0] >= len(_ALGORITHMS):
        raise LeakscanError("not a compressed fingerprint (no known algorithm in its head)")
    count = int.from_bytes(raw[1:4], "big")
    values = _unpack(raw[4:], 3)
    ends = np.flatnonzero(values == 0)
    if len(ends) < count:
        raise LeakscanError(f"a compressed fingerprint of {count} words is cut short; copy it in full")
    values = values[: ends[count - 1] + 1] if count else values[:0]
    tail = raw[4 + (3 * len(values) + 7) // 8 :]
    large = np.flatnonzero(values == 7)
    if len(tail) != (5 * len(large) + 7) // 8:
        raise LeakscanError(f"a compressed fingerprint of {count} words has the wrong length; copy it in full")
    distance = values.astype(np.int64)
    distance[large] += _unpack(tail, 5)[: len(large)]
    is_end = values == 0
    row = np.cumsum(is_end) - is_end
    run = np.cumsum(distance)
    start = np.concatenate((np.zeros(1, np.int64), run[is_end]))  # the running sum where each word begins
    position = run - start[row]  # counts from 1
    if position.size and int(position.max()) > 32:
        raise LeakscanError("not a compressed fingerprint (a word of more than 32 bits)")
    changed = np.zeros(count, np.uint32)
    set_bit = ~is_end
    np.bitwise_or.at(changed, row[set_bit], np.uint32(1) << (position[set_bit] - 1).astype(np.uint32))
    return _ALGORITHMS[raw[0]], np.bitwise_xor.accumulate(changed).astype("<u4").tobytes()


def _pack(values: npt.NDArray[np.uint8], width: int) -> bytes:
    bits = np.unpackbits(values[:, None], axis=1, bitorder="little")[:, :width]
    return np.packbits(bits.ravel(), bitorder="little").tobytes()


def _unpack(raw: bytes, width: int) -> npt.NDArray[np.uint8]:
    bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")
    rows = bits[: len(bits) // width * width].reshape(-1, width)
    return np.packbits(rows, axis=1, bitorder="little").ravel()
