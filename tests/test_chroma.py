"""Chromaprint's words from samples: against ffmpeg's, and what is known of them besides."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tunes

from leakscan import chroma, fingerprints
from leakscan.chroma import FINE, FRAME, STEP, hear, read, variants, weigh
from leakscan.media import RATE

SHORTEST = FRAME + 19 * STEP  # samples that give one word
TIME = np.arange(40 * RATE) / RATE
RANDOM = np.random.default_rng(1)

SOUNDS = {
    "music": tunes.music(1, 90, RATE),
    "music, 40 dB softer": tunes.music(2, 30, RATE) / 100,
    "clipped music": 8 * tunes.music(3, 30, RATE),
    "music between silences": np.concatenate((0 * TIME[: 9 * RATE], tunes.music(4, 20, RATE), 0 * TIME[: 9 * RATE])),
    "noise": RANDOM.normal(0, 0.1, len(TIME)),
    "dither": RANDOM.integers(-1, 2, len(TIME)) / 32767,
    "silence": 0 * TIME,
    "a tone": 0.5 * np.sin(2 * np.pi * 440 * TIME),
    "19 frames": tunes.music(5, 10, RATE)[: SHORTEST - 1],
    "20 frames": tunes.music(5, 10, RATE)[:SHORTEST],
    "less than a frame": tunes.music(5, 10, RATE)[: FRAME - 1],
}


def pcm(audio: tunes.Audio) -> bytes:
    return (np.clip(audio, -1, 1) * 32767).astype("<i2").tobytes()


def melody(semitones: float = 0.0) -> bytes:
    """30 s of chords and a melody, transposed."""
    rng = np.random.default_rng(6)
    out = np.zeros(30 * RATE)
    for voice, (low, high, every) in enumerate(((45, 60, 0.75), (60, 72, 0.5), (72, 84, 0.25))):
        length = int(every * RATE)
        time = np.arange(length) / RATE
        for start in range(0, len(out) - length, length):
            pitch = 440 * 2 ** ((rng.integers(low, high) - 69 + semitones) / 12)
            out[start : start + length] += np.exp(-2 * time) * np.sin(2 * np.pi * pitch * time) / (voice + 1)
    return pcm(out / np.abs(out).max())


def bit_error(a: fingerprints.Words, b: fingerprints.Words) -> float:
    return float(np.bitwise_count(a ^ b).mean() / 32)


@pytest.mark.parametrize("name", SOUNDS)
def test_words_are_those_of_ffmpeg(name: str, tmp_path: Path) -> None:
    theirs = fingerprints.words(fingerprints.fingerprint(tunes.write(tmp_path / "x.wav", SOUNDS[name], RATE)))
    (heard,) = hear([pcm(SOUNDS[name])])
    ours = read(heard)
    assert len(ours.words) == len(theirs) == max(0, (len(SOUNDS[name]) - SHORTEST) // STEP + 1)
    # another FFT rounds otherwise: that may decide what lay on a threshold
    differing = ours.words ^ theirs
    assert np.count_nonzero(differing) <= max(1, len(theirs) / 1000)
    assert weigh(differing, ours.certainty).max(initial=0) < 1e-5


def test_silence_is_the_word_of_silence() -> None:
    assert set(read(hear([pcm(SOUNDS["silence"])])[0]).words) == {fingerprints.SILENCE}


def test_no_samples_give_no_words() -> None:
    (heard,) = hear([])
    reading = read(heard)
    assert heard.energy.shape == (0, 12 * FINE)
    assert reading.words.shape == (0,)
    assert reading.certainty.shape == (0, 32)
    assert variants(reading, 8).shape == (0, 9)


@pytest.mark.parametrize("size", [1, 2001, 1 << 18])
def test_pieces_may_be_cut_anywhere(size: int) -> None:
    whole = pcm(tunes.music(7, 34, RATE)) + b"\0"  # half a sample is none
    if size == 1:
        whole = whole[: 2 * SHORTEST + 1]
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    for cut, expected in zip(hear(pieces, (0, 341)), hear([whole], (0, 341)), strict=True):
        assert np.array_equal(cut.energy, expected.energy)


def test_starts_are_where_the_sound_is_cut() -> None:
    whole = pcm(tunes.music(8, 34, RATE))
    starts = (0, 341, 682, 1024)
    for start, heard in zip(starts, hear([whole], starts), strict=True):
        assert np.array_equal(read(heard).words, read(hear([whole[2 * start :]])[0]).words)


def test_memory_is_that_of_the_answer() -> None:
    def pieces() -> Iterator[bytes]:
        rng = np.random.default_rng(9)
        for _ in range(200):  # 10 minutes
            yield rng.integers(-3000, 3000, 3 * RATE).astype("<i2").tobytes()

    tracemalloc.start()
    heard = hear(pieces(), (0, 682))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    answer = sum(one.energy.nbytes for one in heard)
    assert answer < 2 * 1700 * 600
    assert peak < 2 * answer + (30 << 20)


@pytest.mark.parametrize("quarters", [-23, -8, -2, -1, 1, 3, 12, 24])
def test_the_rotation_that_undoes_a_transposition_fits_best(quarters: int) -> None:
    words = read(hear([melody()])[0]).words
    (higher,) = hear([melody(quarters / FINE)])
    errors = {rotation: bit_error(read(higher, rotation).words, words) for rotation in range(-24, 25)}
    assert min(errors, key=lambda rotation: errors[rotation]) == -quarters
    assert errors[-quarters] < 0.2 < errors[0]


def test_an_octave_changes_nothing() -> None:
    (heard,) = hear([melody()])
    assert np.array_equal(read(heard, 12 * FINE).words, read(heard).words)
    assert not np.array_equal(read(heard, 1).words, read(heard).words)


def test_certainty_is_that_of_the_thresholds() -> None:
    """A value that lies on a threshold of its filter leaves open the bit that changes there, and no other."""
    (heard,) = hear([melody()])
    reading = read(heard)
    assert reading.certainty.dtype == np.float32
    assert reading.certainty.min() >= 0
    assert reading.certainty.max() == 1
    # from word to word a bit changes where its value crosses a threshold: it is less certain there than elsewhere
    changed = np.unpackbits((reading.words[1:] ^ reading.words[:-1]).view(np.uint8), bitorder="little") == 1
    certainty = np.minimum(reading.certainty[1:], reading.certainty[:-1]).ravel()
    assert certainty[changed].mean() < certainty[~changed].mean() / 3


def test_what_changes_in_a_copy_was_uncertain() -> None:
    original = tunes.music(10, 40, RATE)
    spectrum = np.fft.rfft(original)
    spectrum *= 1 + np.exp(-np.arange(len(spectrum)) / len(original) * RATE / 150)  # more bass
    copy = np.fft.irfft(spectrum, len(original))
    a, b = read(hear([pcm(original)])[0]), read(hear([pcm(copy / np.abs(copy).max())])[0])
    whole = weigh(np.full(len(a.words), 0xFFFFFFFF, np.uint32), b.certainty)
    plain = bit_error(a.words, b.words)
    assert plain > 0.02
    assert weigh(a.words ^ b.words, b.certainty).sum() / whole.sum() < plain / 2
    # some of its words that changed are met again among the variants of what they became
    met = (variants(b, 8) == a.words[:, None]).any(axis=1)
    assert met.sum() > 1.2 * (a.words == b.words).sum()


@pytest.mark.parametrize(("count", "lowest"), [(0, 0), (1, 0), (8, 0), (8, 4), (12, 8), (32, 0)])
def test_variants_differ_in_the_least_certain_bits(count: int, lowest: int) -> None:
    reading = read(hear([melody()])[0])
    found = variants(reading, count, lowest)
    assert found.shape == (len(reading.words), 1 + count)
    assert np.array_equal(found[:, 0], reading.words)
    for row, word, certainty in zip(found[::20], reading.words[::20], reading.certainty[::20], strict=True):
        flipped = [int(bit).bit_length() - 1 for bit in row[1:] ^ word]
        assert len(set(flipped)) == count
        assert all(bit >= lowest for bit in flipped)
        others = [float(certainty[bit]) for bit in range(lowest, 32) if bit not in flipped]
        assert max((float(certainty[bit]) for bit in flipped), default=0.0) <= min(others, default=1.0)


def test_weigh_adds_up_the_certainty_of_set_bits() -> None:
    rng = np.random.default_rng(11)
    bits = rng.integers(0, 1 << 32, 50, dtype=np.uint32)
    certainty = rng.random((50, 32), dtype=np.float32)
    expected = [
        sum(row[bit] for bit in range(32) if int(word) >> bit & 1) for word, row in zip(bits, certainty, strict=True)
    ]
    assert np.allclose(weigh(bits, certainty), expected)
    assert np.array_equal(weigh(bits, np.ones((50, 32), np.float32)), np.bitwise_count(bits))


def test_filters_look_at_the_twelve_semitones_of_sixteen_frames() -> None:
    assert len(chroma._FILTERS) == 16
    for one in chroma._FILTERS:
        assert 0 <= one.band < one.band + one.height <= 12
        assert 1 <= one.width <= 16
        assert one.thresholds == tuple(sorted(one.thresholds))
