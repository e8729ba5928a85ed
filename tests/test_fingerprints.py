"""Chromaprint's words and its compressed form, against ffmpeg, fpcalc and libchromaprint."""

from __future__ import annotations

import base64
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import tunes
from hypothesis import given
from hypothesis import strategies as st

from leakscan import fingerprints, media
from leakscan.model import Fingerprint, LeakscanError, Unreadable


@pytest.fixture(scope="module")
def wav(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tunes.write(tmp_path_factory.mktemp("fingerprints") / "t.wav", tunes.music(2, 30))


def test_encode_prints_what_ffmpeg_prints(wav: Path) -> None:
    command = [media.find_ffmpeg().path, "-nostdin", "-loglevel", "error", "-i", str(wav), "-ac", "1", "-ar", "11025"]
    printed = subprocess.run([*command, "-f", "chromaprint", "-"], check=True, capture_output=True, text=True).stdout
    _, words = fingerprints.decode(printed.strip())
    assert fingerprints.encode(Fingerprint(words, 0.0)) == printed.strip()
    fp = fingerprints.fingerprint(wav)
    theirs = np.frombuffer(words, "<u4")
    assert len(fp) == len(theirs)
    assert np.bitwise_count(fingerprints.words(fp) ^ theirs).mean() / 32 < 1e-3  # ours resamples with fewer taps
    assert fp.library == f"ffmpeg {media.find_ffmpeg().version}"


def test_fpcalc_agrees(wav: Path) -> None:
    fpcalc = shutil.which("fpcalc")
    if fpcalc is None:
        pytest.skip("fpcalc is not installed (apt-get install libchromaprint-tools)")
    command = [fpcalc, "-plain", "-length", "0", "-ignore-errors", str(wav)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    algorithm, words = fingerprints.decode(printed)
    ours = fingerprints.words(fingerprints.fingerprint(wav))
    theirs = np.frombuffer(words, "<u4")
    assert algorithm == "TEST2"  # which fpcalc calls 2 and the library 1
    assert fingerprints.encode(Fingerprint(words, 0.0)) == printed
    assert len(ours) == len(theirs)
    assert np.bitwise_count(ours ^ theirs).mean() / 32 < 1e-3  # another resampler rounds otherwise


def random_words(seed: int, count: int, bits: int) -> bytes:
    """Words whose neighbours differ in about `bits` bits: short and long distances between set bits."""
    rng = np.random.default_rng(seed)
    changed = (rng.random((count, 32)) < bits / 32) @ (1 << np.arange(32, dtype=np.uint64))
    return np.bitwise_xor.accumulate(changed.astype(np.uint32)).astype("<u4").tobytes()


@pytest.mark.parametrize("bits", [0, 1, 4, 16, 32])
def test_libchromaprint_agrees(bits: int) -> None:
    try:
        import chromaprint
    except ImportError:
        pytest.skip("libchromaprint is not installed (apt-get install libchromaprint1)")
    for count in (1, 2, 3, 7, 8, 9, 100):
        words = random_words(count, count, bits)
        text = fingerprints.encode(Fingerprint(words, 0.0))
        decoded, algorithm = chromaprint.decode_fingerprint(text.encode())
        assert (np.array(decoded, np.uint32).astype("<u4").tobytes(), algorithm) == (words, 1)
        assert chromaprint.encode_fingerprint(decoded, 1).decode() == text


@given(st.lists(st.integers(0, 2**32 - 1), max_size=60), st.sampled_from(["TEST1", "TEST2", "TEST5"]))
def test_decode_undoes_encode(values: list[int], algorithm: str) -> None:
    words = np.array(values, np.uint32).astype("<u4").tobytes()
    assert fingerprints.decode(fingerprints.encode(Fingerprint(words, 0.0, algorithm))) == (algorithm, words)


def test_known_text() -> None:
    # one word, its lowest bit: distance 1, end; no audio at all: nothing but the head
    assert fingerprints.encode(Fingerprint(b"\1\0\0\0", 0.0)) == "AQAAAQE"
    assert fingerprints.encode(Fingerprint(b"", 0.0)) == "AQAAAA"
    assert fingerprints.decode("AQAAAA") == ("TEST2", b"")


@given(
    st.text(max_size=40) | st.binary(max_size=60).map(lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="))
)
def test_hostile_text_is_refused_or_decoded(text: str) -> None:
    try:
        algorithm, words = fingerprints.decode(text)
    except LeakscanError:
        return  # nothing else may be raised
    again = fingerprints.decode(fingerprints.encode(Fingerprint(words, 0.0, algorithm)))
    assert again == (algorithm, words)


def text_of(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no known algorithm"),
        ("AQAA", "no known algorithm"),
        ("!!!!", "base64"),
        ("AQAAAQ==x", "base64"),
        ("fingerprint\u00e9", "base64"),
        (text_of(b"\x09\0\0\0"), "no known algorithm"),
        (text_of(b"\1\xff\xff\xff" + bytes(100)), "cut short"),
        (text_of(b"\1\0\0\1\xff\xff\x01\xff\xff"), "wrong length"),
        (text_of(b"\1\0\0\1" + b"\x07" + b"\x1f"), "more than 32 bits"),
        (text_of(b"\1\0\0\1\x01") + "AAAA", "wrong length"),
    ],
)
def test_what_is_wrong_is_said(text: str, fault: str) -> None:
    with pytest.raises(LeakscanError, match=fault):
        fingerprints.decode(text)


@pytest.mark.parametrize("keep", [5, 50, 200])
def test_a_cut_text_is_refused(wav: Path, keep: int) -> None:
    with pytest.raises(LeakscanError):
        fingerprints.decode(fingerprints.encode(fingerprints.fingerprint(wav))[:keep])


def test_a_huge_claimed_count_takes_no_memory() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(LeakscanError):
            fingerprints.decode(text_of(b"\1\xff\xff\xff" + bytes(3000)))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_an_unknown_algorithm_has_no_text() -> None:
    with pytest.raises(LeakscanError, match="TEST9"):
        fingerprints.encode(Fingerprint(b"", 0.0, "TEST9"))


def test_phases_and_speeds_come_with_their_lengths(wav: Path) -> None:
    fp = fingerprints.fingerprint(wav, phases=4)
    assert [len(phase) // 4 for phase in (fp.words, *fp.phases)] == [221, 221, 220, 220]
    slow, same, fast = fingerprints.at_speeds(wav, (0.95, 1.0, 1.05))
    assert same == fingerprints.fingerprint(wav)
    assert slow.duration == pytest.approx(30 / 0.95)
    assert fast.duration == pytest.approx(30 / 1.05)
    assert len(slow) > len(same) > len(fast)


def test_several_files_are_fingerprinted_together(tmp_path: Path, wav: Path) -> None:
    found, missing = fingerprints.fingerprint_each([(wav, "a"), (tmp_path / "none.mp3", "b")], phases=4)
    assert found == fingerprints.fingerprint(wav, phases=4)
    assert isinstance(missing, Unreadable)
    with pytest.raises(Unreadable, match=r"^b: "):
        fingerprints.at_speeds(tmp_path / "none.mp3", (1.0,), "b")


@pytest.mark.parametrize(("seconds", "count"), [(1, 0), (2.7, 0), (3, 3), (5, 19), (10, 59), (20, 140)])
def test_short_audio_has_few_words(tmp_path: Path, seconds: float, count: int) -> None:
    fp = fingerprints.fingerprint(tunes.write(tmp_path / "t.wav", tunes.music(3, seconds)))
    assert len(fp) == count
    assert fp.duration == pytest.approx(seconds, abs=1e-3)


def test_silence_is_known(tmp_path: Path) -> None:
    fp = fingerprints.fingerprint(tunes.write(tmp_path / "t.wav", np.zeros(10 * tunes.RATE)))
    assert set(fingerprints.words(fp)) == {fingerprints.SILENCE}
    assert not fingerprints.telling(fingerprints.words(fp)).any()
    assert fingerprints.is_constant(fp)
    assert not fingerprints.is_constant(fingerprints.fingerprint(tunes.write(tmp_path / "m.wav", tunes.music(4, 10))))


def test_what_tells() -> None:
    near = int(fingerprints.SILENCE)
    array = np.array([near, near ^ 0b111111, near ^ 0b1111111, near ^ 0b1111111, 7, 7, 9, 7], np.uint32)
    assert fingerprints.telling(array).tolist() == [False, False, True, False, True, False, True, True]


def test_messages_use_the_given_name(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"^songs/1\.mp3: "):
        fingerprints.fingerprint(tmp_path / "x", "songs/1.mp3")


@pytest.mark.parametrize("seconds", [0, 2, 3, 10, 12.3])
def test_words_tell_the_length_to_a_step(tmp_path: Path, seconds: float) -> None:
    fp = fingerprints.fingerprint(tunes.write(tmp_path / "a.wav", tunes.music(1, 13)[: int(seconds * tunes.RATE)]))
    heard = fingerprints.heard_seconds(fp)
    assert heard <= fp.duration + 1e-6
    assert fp.duration - heard < fingerprints.STEP_S or not len(fp)
