"""Copies lie where they were cut, whatever their frame phase; what tells nothing is aligned with nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tunes

from leakscan import alignment, chroma, media
from leakscan.fingerprints import STEP_S, at_speeds, fingerprint
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
        track = alignment.hearings(fp)
        each = [(number, alignment.align_tracks(track, other, len(tracks))) for number, other in enumerate(tracks)]
        assert alignment.search(track, pool) == [(number, found) for number, found in each if found]
    assert [number for number, _ in alignment.search(alignment.hearings(medley), pool)] == [1, 3]
    assert alignment.search(alignment.hearings(medley), alignment.gather([])) == []


def test_scores_fall_with_what_is_altered_and_with_the_number_tried(
    folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint]
) -> None:
    copy, mixed = (
        heard(folder, "copy", pieces[0], "-b:a", "64k"),
        pieces[0][1000:] + 0.55 * pieces[4][: len(pieces[0]) - 1000],
    )
    whole = alignment.align(copy, originals[0])
    part = alignment.align(heard(folder, "mixed", mixed / 2), originals[0])
    assert whole is not None
    assert part is not None
    assert 0.5 < part.score < whole.score < 1
    among = alignment.align_tracks(
        alignment.hearings(heard(folder, "mixed", mixed / 2)), alignment.prepare(originals[0]), 20_000
    )
    assert among is not None
    assert among.score < part.score


def test_a_score_that_is_counted_follows_the_rule_of_succession() -> None:
    for kind in (*alignment._BY_CERTAINTY, *alignment._TRANSPOSED):
        assert kind.counted is not None
        right, accepted = kind.counted
        assert kind.score(99, 99.0, 0.1, 1) == (right + 1) / (accepted + 2)


# --- phases, excerpts, speeds ----------------------------------------------------------------------------------------


def in_phases(folder: Path, name: str, audio: tunes.Audio, *codec: str) -> Fingerprint:
    path = tunes.write(folder / f"{name}.wav", audio)
    return fingerprint(tunes.encode(path, folder / f"{name}.mp3", *codec) if codec else path, phases=4)


def test_phases_tell_the_offset_more_closely(
    folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint]
) -> None:
    rng = np.random.default_rng(7)
    errors: dict[int, list[float]] = {1: [], 4: []}
    for number, audio in enumerate(pieces * 4):
        start = int(rng.integers(len(audio) - 20 * tunes.RATE))
        crop = in_phases(folder, "crop", audio[start : start + 20 * tunes.RATE], "-b:a", "48k")
        for phases, fp in ((4, crop), (1, replace(crop, phases=()))):
            found = alignment.align(fp, originals[number % PIECES])
            assert found is not None
            errors[phases].append(abs(found.offset_s + start / tunes.RATE))
            assert errors[phases][-1] <= alignment.offset_error(fp, found)
    assert max(errors[4]) < 0.02
    assert np.mean(errors[4]) < np.mean(errors[1])


def test_what_one_phase_misses_another_finds(
    folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint]
) -> None:
    """A crop whose own words were all damaged is found by those that begin later, and its offset is right."""
    start = 10 * tunes.RATE + 77
    crop = in_phases(folder, "crop", pieces[0][start : start + 20 * tunes.RATE])
    deaf = replace(crop, words=np.random.default_rng(0).bytes(len(crop.words)))
    assert alignment.align(replace(deaf, phases=()), originals[0]) is None
    found = alignment.align(deaf, originals[0])
    assert found is not None
    assert found.offset_s == pytest.approx(-start / tunes.RATE, abs=0.06)


@pytest.mark.parametrize("codec", [(), ("-b:a", "64k")])
def test_an_excerpt_of_five_seconds_is_found_by_four_phases(
    folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint], codec: tuple[str, ...]
) -> None:
    rng = np.random.default_rng(5)
    for number, audio in enumerate(pieces):
        start = int(rng.integers(len(audio) - 5 * tunes.RATE))
        crop = in_phases(folder, "short", audio[start : start + 5 * tunes.RATE], *codec)
        assert not alignment.is_too_short(crop)
        assert alignment.is_too_short(replace(crop, phases=()))
        assert alignment.align(replace(crop, phases=()), originals[number]) is None
        found = [alignment.align(crop, original) for original in originals]
        assert [other for other, one in enumerate(found) if one is not None] == [number]
        own = found[number]
        assert own is not None
        assert (own.grade, own.speed) == ("B", 1.0)
        assert own.offset_s == pytest.approx(-start / tunes.RATE, abs=0.06)
        assert own.overlap_s == pytest.approx(5, abs=0.2)
        assert own.distinct >= 5


def test_an_excerpt_that_tells_nothing_is_too_short(folder: Path, originals: list[Fingerprint]) -> None:
    time = np.arange(5 * tunes.RATE) / tunes.RATE
    rng = np.random.default_rng(0)
    sounds = [
        0 * time,
        0.5 * np.sin(2 * np.pi * 440 * time),
        0.2 * sum(np.sin(2 * np.pi * pitch * time) for pitch in (220, 277.2, 329.6)),
        (time % 0.5 < 0.01) * 0.5 * np.sin(2 * np.pi * 1000 * time),
        rng.normal(0, 0.1, len(time)),
        rng.normal(0, 0.1, len(time)),
    ]
    made = [in_phases(folder, f"nothing{number}", sound) for number, sound in enumerate(sounds)]
    assert [alignment.is_too_short(fp) for fp in made[:4]] == [True] * 4
    assert [(a, b) for a in made for b in [*made, *originals] if a is not b and alignment.align(a, b)] == []


@pytest.mark.parametrize("faster", [0.95, 1.03])
def test_a_recording_played_as_fast_as_its_copy_is_found(
    folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint], faster: float
) -> None:
    """With pitch and all, as from a turntable; the offset is on the copy's own time line."""
    start = 5 * tunes.RATE
    path = tunes.write(folder / "slow.wav", pieces[1][start:], round(tunes.RATE * faster))
    own = fingerprint(path)
    assert alignment.align(own, originals[1]) is None
    (played,) = at_speeds(path, [1 / faster])
    found = alignment.align_tracks(
        alignment.hearings(replace(played, duration=own.duration), 1 / faster), alignment.prepare(originals[1])
    )
    assert found is not None
    assert found.speed == pytest.approx(faster, abs=0.002)
    assert found.offset_s == pytest.approx(-5 / faster, abs=0.06)
    assert found.span_a == (0.0, own.duration)
    assert found.span_b == pytest.approx((5, SECONDS), abs=0.2)


def test_of_two_places_the_longer_likeness_counts(originals: list[Fingerprint]) -> None:
    """Not the shorter one of a better grade."""
    rng = np.random.default_rng(1)
    whole = np.frombuffer(originals[0].words, "<u4")
    damaged = whole ^ np.packbits(rng.random((len(whole), 32)) < 0.14, axis=1).view("<u4").ravel()
    stranger = rng.integers(2**32, size=200, dtype=np.uint32)
    twice = np.concatenate((whole, stranger, damaged[100:160], stranger))
    copy = Fingerprint(damaged.astype("<u4").tobytes(), SECONDS)
    found = alignment.align(copy, Fingerprint(twice.astype("<u4").tobytes(), 3.0 * SECONDS))
    assert found is not None
    assert (found.grade, found.offset_s) == ("B", pytest.approx(0, abs=0.06))
    assert found.overlap_s == pytest.approx(SECONDS, abs=1)


def test_further_words_can_vote(originals: list[Fingerprint]) -> None:
    """What uncertain words may have been finds what they themselves do not."""
    whole = np.frombuffer(originals[0].words, "<u4")
    unsure = whole.copy()
    for shift in (9, 17, 25):  # three bits of every word are wrong
        unsure ^= np.uint32(1) << np.random.default_rng(shift).integers(shift, shift + 7, len(whole)).astype(np.uint32)
    fp = Fingerprint(unsure.astype("<u4").tobytes(), SECONDS)
    pool = alignment.gather([alignment.prepare(one) for one in originals])
    assert alignment.search([alignment.track(fp, unsure)], pool) == []
    helped = alignment.track(fp, unsure, also=(whole[::7].copy(), np.arange(0, len(whole), 7)))
    assert [number for number, _ in alignment.search([helped], pool)] == [0]


def test_words_touch_where_a_stretch_is_alike(originals: list[Fingerprint]) -> None:
    a, b = (np.frombuffer(one.words, "<u4").astype(np.uint32) for one in originals[:2])
    assert [offset for offset in range(0, 60, 5) if alignment.touch(a, a[25:], offset)] == [25]
    assert not alignment.touch(a, b, 0)


def test_an_alignment_can_be_turned(folder: Path, pieces: list[tunes.Audio], originals: list[Fingerprint]) -> None:
    crop = heard(folder, "tempo", pieces[2][9 * tunes.RATE :], "-af", "atempo=1.03")
    found, back = alignment.align(crop, originals[2]), alignment.align(originals[2], crop)
    assert found is not None
    assert back is not None
    turned = found.turned()
    assert turned.offset_s == pytest.approx(back.offset_s, abs=0.1)
    assert turned.speed == pytest.approx(back.speed, abs=0.003)
    assert (turned.span_a, turned.span_b) == (found.span_b, found.span_a)
    assert turned.turned().offset_s == pytest.approx(found.offset_s, abs=0.02)


def test_a_word_that_is_everywhere_does_not_vote(originals: list[Fingerprint], monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere = np.frombuffer(originals[0].words, "<u4")[50:51]
    tracks = [alignment.prepare(one) for one in originals]
    tracks += [alignment.track(Fingerprint(b"", 0.0), np.tile([everywhere[0], 1], 20).astype(np.uint32))] * 3
    keys = alignment.gather(tracks).keys
    assert len(alignment._hits(everywhere, keys, np.uint32(8))[0]) > 50
    monkeypatch.setattr(alignment, "_HOT", 50)
    assert len(alignment._hits(everywhere, keys, np.uint32(8))[0]) == 0
    found = alignment.search(alignment.hearings(originals[0]), alignment.gather(tracks))
    assert [number for number, _ in found] == [0]  # by the others


# --- certainty of bits -----------------------------------------------------------------------------------------------

READ_S = 20


def pcm(audio: tunes.Audio) -> bytes:
    return (np.clip(audio, -1, 1) * 32767).astype("<i2").tobytes()


def read_closely(audio: tunes.Audio) -> tuple[Fingerprint, tuple[chroma.Chroma, ...]]:
    phases = chroma.hear([pcm(audio)], media.PHASES)
    first, *later = (chroma.read(phase).words.astype("<u4").tobytes() for phase in phases)
    return Fingerprint(first, len(audio) / media.RATE, phases=tuple(later)), phases


def with_echo_and_bass(audio: tunes.Audio) -> tunes.Audio:
    frequency = np.arange(len(audio) // 2 + 1) * media.RATE / len(audio)
    loud = np.fft.rfft(audio) * (1 + 4 * np.exp(-frequency / 150) + frequency / 1500)
    dry = np.fft.irfft(loud, len(audio))
    out = dry.copy()
    for delay, gain in ((661, 0.5), (1213, 0.3)):
        out[delay:] += gain * dry[:-delay]
    return 0.7 * out / np.abs(out).max()


def test_readings_find_what_words_do_not() -> None:
    pieces = [tunes.music(seed, 60, media.RATE) for seed in range(30, 36)]
    pool = alignment.gather([alignment.prepare(read_closely(piece)[0]) for piece in pieces])
    start = 200_003  # samples
    by_words = 0
    for number, piece in enumerate(pieces):
        fp, phases = read_closely(with_echo_and_bass(piece)[start : start + READ_S * media.RATE])
        by_words += any(found.grade != "C" for _, found in alignment.search(alignment.hearings(fp), pool))
        ((found_at, found),) = alignment.search(alignment.readings(fp, phases), pool)
        assert (found_at, found.grade) == (number, "B")
        assert abs(found.offset_s + start / media.RATE) < 0.06
    assert by_words <= 2


def test_readings_of_noise_and_silence_find_nothing() -> None:
    rng = np.random.default_rng(12)
    sounds = [rng.normal(0, level, READ_S * media.RATE) for level in (0.1, 0.1, 0.001)]
    sounds += [
        np.zeros(READ_S * media.RATE),
        0.3 * np.sin(2 * np.pi * 440 * np.arange(READ_S * media.RATE) / media.RATE),
    ]
    pairs = [read_closely(sound) for sound in sounds]
    for number, (fp, phases) in enumerate(pairs):
        others = [alignment.prepare(other) for at, (other, _) in enumerate(pairs) if at != number]
        assert not alignment.search(alignment.readings(fp, phases), alignment.gather(others))


def test_a_short_loop_repeats_itself_and_finds_nothing() -> None:
    words = np.random.default_rng(8).integers(0, 1 << 32, 320, np.uint32)
    loops = {
        count: Fingerprint(np.tile(words[: 320 // count], count).astype("<u4").tobytes(), 40.0) for count in (32, 40)
    }
    assert not alignment.repeats_itself(alignment.prepare(loops[32]))  # as often as a word may recur
    assert alignment.repeats_itself(alignment.prepare(loops[40]))
    assert alignment.align(loops[40], loops[40]) is None
    assert not alignment.repeats_itself(alignment.prepare(Fingerprint(b"", 0.0)))
