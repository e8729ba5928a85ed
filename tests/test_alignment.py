"""Copies lie where they were cut, whatever their frame phase; what tells nothing is aligned with nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tunes

from leakscan import alignment
from leakscan.fingerprints import STEP_S, fingerprint
from leakscan.model import Fingerprint

SECONDS = 40
PIECES = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("alignment")


@pytest.fixture(scope="module")
def pieces(folder: Path) -> list[tunes.Audio]:
    return [tunes.music(seed, SECONDS) for seed in range(PIECES)]


@pytest.fixture(scope="module")
def originals(folder: Path, pieces: list[tunes.Audio]) -> list[Fingerprint]:
    return [heard(folder, f"{number}", audio) for number, audio in enumerate(pieces)]


def heard(folder: Path, name: str, audio: tunes.Audio, *codec: str) -> Fingerprint:
    path = tunes.write(folder / f"{name}.wav", audio)
    return fingerprint(tunes.encode(path, folder / f"{name}.mp3", *codec) if codec else path)


@pytest.mark.parametrize("tempo", [0.98, 1.0, 1.03])
def test_the_speed_of_a_copy_is_told(
    folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint], tempo: float
) -> None:
    for audio, original in zip(pieces, originals, strict=True):
        found = alignment.align(heard(folder, "tempo", audio, "-af", f"atempo={tempo}"), original)

        assert found is not None
        assert found.speed == pytest.approx(tempo, abs=0.008)
        assert (found.speed == 1.0) == (tempo == 1.0)


@pytest.mark.parametrize("seconds", [8, 10, 20])
def test_a_crop_lies_where_it_was_cut(
    folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint], seconds: int
) -> None:
    rng = np.random.default_rng(seconds)
    for number, audio in enumerate(pieces):
        start = int(rng.integers(len(audio) - seconds * tunes.RATE))
        crop = heard(folder, "crop", audio[start : start + seconds * tunes.RATE], "-b:a", "64k")
        for other, original in enumerate(originals):
            found = alignment.align(crop, original)
            back = alignment.align(original, crop)
            if other != number:
                assert (found, back) == (None, None)
                continue
            assert found is not None
            assert back is not None
            assert found.grade == "A"
            assert found.offset_s == pytest.approx(-start / tunes.RATE, abs=0.06)
            assert back.offset_s == pytest.approx(-found.offset_s, abs=0.01)
            assert found.span_a == pytest.approx(back.span_b)
            assert found.overlap_s == pytest.approx(seconds, abs=0.5)
            # the spans say the same as the offset: both are whole steps of 0.124 s
            assert found.span_b[0] - found.span_a[0] == pytest.approx(-found.offset_s, abs=STEP_S)


def test_a_whole_copy_covers_everything(folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint]) -> None:
    found = alignment.align(heard(folder, "copy", pieces[0], "-b:a", "64k"), originals[0])
    assert found is not None
    assert found.offset_s == pytest.approx(0, abs=0.02)
    assert found.span_a == (0, pytest.approx(SECONDS, abs=0.05))
    assert found.span_b == (0, SECONDS)
    assert found.bit_error < 0.02
    assert found.ratio < 0.1


def test_a_stretch_inside_something_else(folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint]) -> None:
    second = tunes.RATE
    medley = np.concatenate((pieces[1][: 15 * second], pieces[2][7 * second : 27 * second], pieces[3][: 15 * second]))
    found = alignment.align(heard(folder, "medley", medley), originals[2])
    assert found is not None
    assert found.offset_s == pytest.approx(15 - 7, abs=0.06)
    # a word looks at 2.7 s: those over a seam still agree when most of it is shared
    assert found.span_a == pytest.approx((15, 35), abs=2.1)
    assert found.span_b == pytest.approx((7, 27), abs=2.1)


def test_an_altered_copy_is_of_a_lower_grade(
    folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint]
) -> None:
    mixed = pieces[0][1000:] + 0.55 * pieces[4][: len(pieces[0]) - 1000]
    found = alignment.align(heard(folder, "mixed", mixed / 2), originals[0])
    assert found is not None
    assert found.grade in "BC"
    assert found.score < 0.99


def test_too_short_is_none(folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint]) -> None:
    for seconds in (1, 5, 6.5):
        crop = heard(folder, "short", pieces[0][: int(seconds * tunes.RATE)])
        assert len(crop) < alignment.MIN_WORDS
        assert alignment.align(crop, crop) is None
        assert alignment.align(crop, originals[0]) is None


def test_what_tells_nothing_is_aligned_with_nothing(folder: Path, originals: list[Fingerprint]) -> None:
    time = np.arange(30 * tunes.RATE) / tunes.RATE
    rng = np.random.default_rng(0)
    sounds = [
        0 * time,
        0 * time[: 20 * tunes.RATE],
        rng.uniform(-2, 2, len(time)) / 32768,
        rng.normal(0, 0.1, len(time)),
        rng.normal(0, 0.1, len(time)),
        0.5 * np.sin(2 * np.pi * 440 * time),
        0.5 * np.sin(2 * np.pi * 880 * time),
        0.2 * sum(np.sin(2 * np.pi * pitch * time) for pitch in (220, 277.2, 329.6)),
        (time % 0.5 < 0.01) * 0.5 * np.sin(2 * np.pi * 1000 * time),
    ]
    made = [heard(folder, f"nothing{number}", sound) for number, sound in enumerate(sounds)]
    silent = [0, 1, 2, 5, 6, 7]
    pairs = [(a, b) for a in made for b in [*made, *originals] if a is not b]
    assert [(a, b) for a, b in pairs if alignment.align(a, b)] == []
    assert [number for number in silent if alignment.align(made[number], made[number])] == []


def test_two_pieces_after_the_same_silence(folder: Path, pieces: list[tunes.Audio]) -> None:
    silence = np.zeros(20 * tunes.RATE)
    a, b = (heard(folder, f"lead{number}", np.concatenate((silence, pieces[number]))) for number in (0, 1))
    assert alignment.align(a, b) is None


def test_searching_a_pool_is_aligning_with_each(
    folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint]
) -> None:
    tracks = [alignment.prepare(fp) for fp in [*originals, Fingerprint(b"", 0.0)]]
    pool = alignment.gather(tracks)
    medley = heard(folder, "two", np.concatenate((pieces[1][:441_000], pieces[3][:441_000])))
    for fp in [*originals, medley, Fingerprint(b"", 0.0)]:
        track = alignment.prepare(fp)
        each = [(number, alignment.align_tracks(track, other)) for number, other in enumerate(tracks)]
        assert alignment.search(track, pool) == [(number, found) for number, found in each if found]
    assert [number for number, _ in alignment.search(alignment.prepare(medley), pool)] == [1, 3]
    assert alignment.search(alignment.prepare(medley), alignment.gather([])) == []


def test_scores_follow_the_grades() -> None:
    scores = [kind.score for kind in alignment._CLASSES]
    assert scores == sorted(scores, reverse=True)
    assert all(0.5 < score < 1 for score in scores)
