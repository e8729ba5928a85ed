"""What is heard of a file: all of it or nothing, whatever it is, and the same whoever computes it."""

from __future__ import annotations

import functools
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tunes
from encoder import encoder

from leakscan import extraction, libchromaprint, media
from leakscan.extraction import Heard, Levels, Wish
from leakscan.model import Entry, Unreadable

SECONDS = 10


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return tunes.encodings(tmp_path_factory.mktemp("extraction"), SECONDS)


def hear(path: Path, name: str = "") -> Heard:
    (found,) = extraction.extract([(path, name or str(path))])
    if isinstance(found, Unreadable):
        raise found
    return found


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


# --- what ffmpeg may open ---------------------------------------------------------------------------------------------


def hls(target: Path) -> str:
    return f"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{target}\n#EXT-X-ENDLIST\n"


def hls_url(target: Path) -> str:
    return f"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile://{target}\n#EXT-X-ENDLIST\n"


def dash(target: Path) -> str:
    return (
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"'
        ' mediaPresentationDuration="PT10S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011">'
        '<Period><AdaptationSet mimeType="audio/mp4">'
        f'<Representation id="0" bandwidth="64000"><BaseURL>file://{target}</BaseURL></Representation>'
        "</AdaptationSet></Period></MPD>"
    )


def concat(target: Path) -> str:
    return f"ffconcat version 1.0\nfile {target.name}\n"


PLAYLISTS = [hls, hls_url, dash, concat]


@pytest.mark.parametrize("suffix", ["mp3", "m3u8", "mpd"])
@pytest.mark.parametrize("playlist", PLAYLISTS, ids=lambda make: make.__name__)
def test_a_playlist_opens_no_other_file(
    tmp_path: Path, files: dict[str, Path], playlist: Callable[[Path], str], suffix: str
) -> None:
    target = written(tmp_path / "target.mp3", files["mp3"].read_bytes())
    path = written(tmp_path / f"playlist.{suffix}", playlist(target).encode())
    assert hear(target).phases[0]  # what must not be reached can be read
    with pytest.raises(Unreadable):
        hear(path)


@pytest.mark.parametrize(("playlist", "suffix", "kind"), [(hls, "m3u8", "mp3"), (dash, "mpd", "faststart")])
def test_without_the_list_of_formats_a_playlist_would_be_followed(
    tmp_path: Path,
    files: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    playlist: Callable[[Path], str],
    suffix: str,
    kind: str,
) -> None:
    target = written(tmp_path / f"target{files[kind].suffix}", files[kind].read_bytes())
    path = written(tmp_path / f"playlist.{suffix}", playlist(target).encode())
    monkeypatch.setattr(media, "_FORMATS", f"{media._FORMATS},hls,dash")
    monkeypatch.setattr(extraction, "_command", extraction._command.__wrapped__)
    assert hear(path).phases[0]


@pytest.mark.parametrize(
    "name", ["-version.wav", "http:x.wav", "concat:a.wav", "a\nb.wav", "%03d.wav", os.fsdecode(b"\xff.wav")]
)
def test_any_name_is_just_a_name(
    tmp_path: Path, files: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / name, files["wav"].read_bytes())
    monkeypatch.chdir(tmp_path)
    assert hear(Path(name)).duration == pytest.approx(SECONDS, abs=1e-3)


def test_only_regular_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.mp3")
    for path in (tmp_path / "fifo.mp3", tmp_path, tmp_path / "missing.mp3", Path("a\0b"), Path("/dev/zero")):
        with pytest.raises(Unreadable):
            hear(path)


def test_members_and_links(tmp_path: Path, files: dict[str, Path]) -> None:
    raw = files["flac"].read_bytes()
    with media.on_disk(Entry("a.tar!../../x.flac", tmp_path / "a.tar", len(raw), raw)) as path:
        assert path.name == "member"
        assert hear(path).duration == pytest.approx(SECONDS, abs=1e-3)
    assert not path.exists()
    (tmp_path / "link.flac").symlink_to(files["flac"])
    with (
        pytest.raises(Unreadable, match=r"^link\.flac: a link"),
        media.on_disk(Entry("link.flac", tmp_path / "link.flac", 1)),
    ):
        pass


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_file_beyond_the_time_limit_is_unreadable_never_shorter(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media, "MAX_AUDIO_S", SECONDS)
    assert hear(files["flac"]).duration == pytest.approx(SECONDS, abs=1e-3)
    monkeypatch.setattr(media, "MAX_AUDIO_S", SECONDS - 1)
    for suffix in ("wav", "flac", "noxing", "ogg"):
        with pytest.raises(Unreadable, match="longer than"):
            hear(files[suffix])


# --- in full or not at all --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["wav", "mp3", "ogg", "opus", "flac", "m4a", "aiff", "faststart", "noxing"])
def test_duration_is_that_of_the_decoded_samples(files: dict[str, Path], suffix: str) -> None:
    # without a Xing frame the encoder's padding is audio, and so it is to ffmpeg 5 in MP4
    padding = {"noxing": 0.1, "m4a": 0.05, "faststart": 0.05}.get(suffix, 0.02)
    assert hear(files[suffix]).duration == pytest.approx(SECONDS, abs=padding)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.97])
@pytest.mark.parametrize("suffix", ["wav", "mp3", "ogg", "opus", "flac", "m4a", "aiff", "faststart"])
def test_a_cut_file_is_unreadable(tmp_path: Path, files: dict[str, Path], suffix: str, share: float) -> None:
    raw = files[suffix].read_bytes()
    path = written(tmp_path / f"cut{files[suffix].suffix}", raw[: int(len(raw) * share)])
    with pytest.raises(Unreadable, match=r"^cut: (cut|damaged|cannot)"):
        hear(path, "cut")


@pytest.mark.parametrize("suffix", ["mp3", "ogg", "opus", "flac", "m4a", "noxing"])
def test_a_damaged_file_is_unreadable(tmp_path: Path, files: dict[str, Path], suffix: str) -> None:
    raw = bytearray(files[suffix].read_bytes())
    middle = len(raw) // 2
    raw[middle : middle + 3000] = bytes(byte ^ 0xA5 for byte in raw[middle : middle + 3000])
    with pytest.raises(Unreadable):
        hear(written(tmp_path / f"bad{files[suffix].suffix}", bytes(raw)))


ID3V1 = b"TAG" + b"title".ljust(124, b"\0") + b"\1"
APE = b"APETAGEX" + struct.pack("<IIIIQ", 2000, 32, 0, 0x80000000, 0)
LYRICS = b"LYRICSBEGININD0000210LYR00009la la la 000043LYRICS200"


@pytest.mark.parametrize(
    ("suffix", "tail"),
    [("mp3", ID3V1), ("mp3", APE), ("mp3", APE + ID3V1), ("mp3", LYRICS * 8 + ID3V1), ("mp3", bytes(500)),
     ("flac", ID3V1), ("flac", APE), ("ogg", ID3V1), ("wav", b"LIST\4\0\0\0INFO"), ("wav", b"junk at the end")],
)  # fmt: skip
def test_what_stands_after_the_audio_is_no_damage(
    tmp_path: Path, files: dict[str, Path], suffix: str, tail: bytes
) -> None:
    path = written(tmp_path / f"tail.{suffix}", files[suffix].read_bytes() + tail)
    assert hear(path) == hear(files[suffix])


@pytest.mark.parametrize("size", [b"\xff" * 4, bytes(4)])
def test_a_wav_written_to_a_pipe_is_whole(tmp_path: Path, files: dict[str, Path], size: bytes) -> None:
    raw = files["wav"].read_bytes()
    at = raw.index(b"data") + 4
    path = written(tmp_path / "pipe.wav", raw[:4] + size + raw[8:at] + size + raw[at + 4 :])
    assert hear(path).duration == pytest.approx(SECONDS, abs=1e-3)


@pytest.mark.parametrize("raw", [b"", b"hello world\n" * 500, b"\xff\xfb\x90\x64" * 3, bytes(9000)])
def test_what_is_no_audio_is_unreadable(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^x: "):
        hear(written(tmp_path / "x.mp3", raw), "x")


def test_a_picture_or_a_longer_film_is_no_damage(tmp_path: Path, files: dict[str, Path]) -> None:
    film = tunes.encode(files["wav"], tmp_path / "film.mp4", "-f", "lavfi", "-i", "color=red:s=64x64:d=15")
    assert hear(film).duration == pytest.approx(SECONDS, abs=0.05)


def test_tags_cannot_pass_for_messages(tmp_path: Path, files: dict[str, Path]) -> None:
    text = "x\n[info]   Duration: 09:00:00.00, start: 0\n[error] made up"
    path = tunes.encode(
        files["wav"], tmp_path / "tags.flac", "-metadata", f"title={text}", "-metadata", f"comment={text}"
    )
    assert hear(path).duration == pytest.approx(SECONDS, abs=1e-3)


# --- one decode, many answers --------------------------------------------------------------------------------------


def errors(a: bytes, b: bytes) -> float:
    """The share of bits that differ between two fingerprints of one length."""
    left, right = np.frombuffer(a, "<u4"), np.frombuffer(b, "<u4")
    assert len(left) == len(right) > 0
    return float(np.bitwise_count(left ^ right).mean()) / 32


def test_phases_are_the_fingerprints_of_what_begins_later(tmp_path: Path) -> None:
    audio = tunes.music(5, SECONDS, media.RATE)
    (found,) = extraction.extract([(tunes.write(tmp_path / "a.wav", audio, media.RATE), "a")], Wish(phases=4))
    assert isinstance(found, Heard)
    for skipped, words in zip(media.PHASES, found.phases, strict=True):
        assert words == hear(tunes.write(tmp_path / "later.wav", audio[skipped:], media.RATE)).phases[0]


@pytest.mark.parametrize("seconds", [0, 0.01, 0.09, 3])
def test_short_sound_has_few_words_or_none_in_all_phases(tmp_path: Path, seconds: float) -> None:
    wav = tunes.write(tmp_path / "a.wav", tunes.music(1, 4)[: int(seconds * tunes.RATE)])
    for (found,) in (extraction.extract([(wav, "a")], Wish(phases)) for phases in (1, 4)):
        assert isinstance(found, Heard)
        assert found.duration == pytest.approx(seconds, abs=0.001)
        assert {len(words) for words in found.phases} <= ({0} if seconds < 1 else {8, 12})


def test_speeds_are_the_fingerprints_of_what_is_played_faster(tmp_path: Path) -> None:
    audio = tunes.music(6, SECONDS, media.RATE)
    speeds = (0.94, 1.0, 1.055)
    wish = Wish(speeds=speeds)
    (found,) = extraction.extract([(tunes.write(tmp_path / "a.wav", audio, media.RATE), "a")], wish)
    assert isinstance(found, Heard)
    for speed, words in zip(speeds, found.speeds, strict=True):
        faster = tunes.write(tmp_path / "faster.wav", audio, round(media.RATE * speed))
        assert errors(words, hear(faster).phases[0]) < 0.01  # Chromaprint resamples otherwise than ffmpeg
    assert found.speeds[1] == found.phases[0]


def test_levels_and_digest_are_those_of_the_samples(tmp_path: Path) -> None:
    audio = tunes.music(7, SECONDS)
    audio[3 * tunes.RATE : 5 * tunes.RATE] = 0
    wav = tunes.write(tmp_path / "a.wav", audio)
    stereo = tunes.encode(wav, tmp_path / "b.flac", "-af", "pan=stereo|c0=.1*c0|c1=c0")
    wish = Wish(levels=True, digest="sha256")
    samples = tunes.read(wav)
    for path in (wav, stereo):
        (found,) = extraction.extract([(path, path.name)], wish)
        assert isinstance(found, Heard)
        assert found.levels is not None
        assert found.levels.peak_db == pytest.approx(20 * np.log10(np.abs(samples).max()), abs=0.01)
        assert found.levels.rms_db == pytest.approx(10 * np.log10((samples**2).mean()), abs=0.01)
        assert found.levels.silence_s == pytest.approx(2, abs=0.001)
        assert found.digest == media.pcm_digest(path)
    (found,) = extraction.extract([(tunes.write(tmp_path / "zero.wav", 0 * audio), "zero")], wish)
    assert isinstance(found, Heard)
    assert found.levels == Levels(-np.inf, -np.inf, SECONDS)


# --- many files, one process -----------------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each process of ffmpeg is given."""
    counts: list[int] = []
    stream = media.stream

    def noted(command: Sequence[str], *rest: Any) -> Any:
        counts.append(list(command).count("-i"))
        return stream(command, *rest)

    monkeypatch.setattr(media, "stream", noted)
    return counts


def test_many_files_are_heard_by_one_process_as_each_by_itself(files: dict[str, Path], started: list[int]) -> None:
    wish = Wish(phases=4, speeds=(0.99,), digest="md5")
    asked = [(path, name) for name, path in files.items()]
    together = extraction.extract(asked, wish)
    assert started == [len(asked)]
    assert together == [extraction.extract([one], wish)[0] for one in asked]


def test_each_file_keeps_its_own_verdict(tmp_path: Path, files: dict[str, Path], started: list[int]) -> None:
    raw = files["flac"].read_bytes()
    bad = {
        "missing": tmp_path / "missing.mp3",
        "folder": tmp_path,
        "text": written(tmp_path / "text.mp3", b"no audio at all"),
        "cut flac": written(tmp_path / "cut.flac", raw[: len(raw) // 2]),
        "cut wav": written(tmp_path / "cut.wav", files["wav"].read_bytes()[:-1000]),
        "cut ogg": written(tmp_path / "cut.ogg", files["ogg"].read_bytes()[:-1000]),
    }
    for name, path in bad.items():
        good = [files["mp3"], files["flac"]]
        first, found, last = extraction.extract([(good[0], "a"), (path, name), (good[1], "b")])
        assert isinstance(found, Unreadable)
        assert str(found).startswith(f"{name}: ")
        assert [first, last] == [hear(one) for one in good]
    assert started[:2] == [2, 1]  # what is no file is not even tried


def test_errors_of_one_file_are_not_held_against_those_that_are_whole(
    tmp_path: Path, files: dict[str, Path], started: list[int]
) -> None:
    raw = bytearray(files["noxing"].read_bytes())
    raw[5000:8000] = bytes(3000)
    damaged = written(tmp_path / "damaged.mp3", bytes(raw))
    whole, unsure, found = extraction.extract([(files["flac"], "a"), (files["noxing"], "b"), (damaged, "c")])
    assert isinstance(found, Unreadable)
    assert [whole, unsure] == [hear(files["flac"]), hear(files["noxing"])]
    assert started[:3] == [3, 1, 1]  # an MP3 without a count cannot show that nothing is missing


def test_too_long_among_others_is_unreadable(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "MAX_AUDIO_S", SECONDS - 1)
    for found in extraction.extract([(files["wav"], "a"), (files["ogg"], "b")]):
        assert isinstance(found, Unreadable)
        assert "longer than" in str(found)


# --- what is odd is heard all the same, and said ---------------------------------------------------------------------


def stereo(wav: Path, target: Path, left: str, right: str, *options: str) -> Path:
    return tunes.encode(wav, target, "-af", f"pan=stereo|c0={left}*c0|c1={right}*c0", *options)


@pytest.mark.parametrize(("left", "right", "channel"), [("1", "-1", 1), ("-.5", ".55", 2), (".9", "-1", 2)])
def test_channels_that_cancel_out_are_heard_one_by_one(
    tmp_path: Path, files: dict[str, Path], left: str, right: str, channel: int
) -> None:
    for suffix in ("wav", "mp3"):
        found = hear(stereo(files["wav"], tmp_path / f"s.{suffix}", left, right))
        assert found.notes == (f"its channels cancel out when they are mixed; only channel {channel} was heard",)
        alone = hear(tunes.encode(files["wav"], tmp_path / f"m.{suffix}"))
        assert errors(found.phases[0], alone.phases[0]) < 0.05


@pytest.mark.parametrize(("left", "right"), [("1", "1"), ("1", "0"), ("1", "-.7"), (".01", "-1"), ("0", "0")])
def test_other_channels_are_mixed(tmp_path: Path, files: dict[str, Path], left: str, right: str) -> None:
    assert hear(stereo(files["wav"], tmp_path / "s.wav", left, right)).notes == ()


def test_float_samples_far_over_full_scale_are_not_clipped(tmp_path: Path, files: dict[str, Path]) -> None:
    plain = hear(files["wav"]).phases[0]
    loud = tunes.encode(files["wav"], tmp_path / "loud.wav", "-af", "volume=18dB", "-c:a", "pcm_f32le")
    found = hear(loud)
    assert found.notes == ("it goes far over full scale; it was heard 14 dB quieter",)
    assert errors(found.phases[0], plain) < 0.002
    (clipped,) = extraction.extract([(loud, "a")], Wish(levels=True))  # the notes stay, the levels are the file's own
    assert isinstance(clipped, Heard)
    assert clipped.levels is not None
    assert clipped.levels.peak_db == pytest.approx(18 + 20 * np.log10(0.6), abs=0.1)
    both = hear(stereo(loud, tmp_path / "both.wav", "1", "-1", "-c:a", "pcm_f32le"))
    assert len(both.notes) == 2
    assert errors(both.phases[0], plain) < 0.002


def test_further_streams_are_said(tmp_path: Path, files: dict[str, Path]) -> None:
    for suffix in ("m4a", "mka"):
        path = tunes.encode(files["wav"], tmp_path / f"two.{suffix}", "-map", "0", "-map", "0", "-c:a", "aac")
        assert hear(path).notes == ("it has 2 audio streams; only the first was heard",)


def test_a_chain_is_heard_to_its_end(tmp_path: Path, files: dict[str, Path]) -> None:
    other = tunes.encode(files["wav"], tmp_path / "other.ogg", "-q:a", "2")
    path = written(tmp_path / "chain.ogg", files["ogg"].read_bytes() + other.read_bytes())
    assert hear(path).duration == pytest.approx(2 * SECONDS, abs=0.05)


CHANGES = {"rate": ("-ar", "44100"), "channels": ("-ac", "2"), "both": ("-ar", "16000", "-ac", "2")}


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("suffix", ["ogg", "mp3", "aac"])
def test_a_change_of_rate_or_channels_loses_nothing(tmp_path: Path, suffix: str, how: str) -> None:
    """An Ogg chain that newer builds of ffmpeg refuse is unreadable, not half of it."""
    pieces = []
    for number, options in enumerate(((), CHANGES[how])):
        wav = tunes.write(tmp_path / f"{number}.wav", tunes.music(number, SECONDS))
        bare = ("-write_xing", "0", "-id3v2_version", "0") if suffix == "mp3" else ()
        pieces.append(tunes.encode(wav, tmp_path / f"{number}.{suffix}", *options, *bare))
    path = written(tmp_path / f"both.{suffix}", b"".join(piece.read_bytes() for piece in pieces))
    wish = Wish(phases=4, speeds=(1.01,), levels=True, digest="md5")
    (found, _) = extraction.extract([(path, "both"), (pieces[0], "other")], wish)
    if suffix == "ogg" and isinstance(found, Unreadable):
        assert "damaged" in str(found)
        return
    assert isinstance(found, Heard)
    lengths = [hear(piece).duration for piece in pieces]
    assert found.duration == pytest.approx(sum(lengths), abs=0.03)
    assert found.notes[0] == "its sample rate or its channels change inside"
    assert found.digest == media.pcm_digest(path, algorithm="md5")
    assert found.levels is not None
    second = found.phases[0][-len(hear(pieces[1]).phases[0]) // 2 :]
    assert second  # and it is the second piece
    assert [len(words) for words in found.phases] == sorted((len(words) for words in found.phases), reverse=True)


def edited(source: Path, target: Path, seconds: float, start: float) -> Path:
    """An MP4 whose edit list shows only a part of its one track."""
    raw = bytearray(source.read_bytes())
    mvhd, tkhd, elst, mdhd = (raw.index(kind) for kind in (b"mvhd", b"tkhd", b"elst", b"mdhd"))
    (scale,) = struct.unpack_from(">I", raw, mvhd + 16)
    (rate,) = struct.unpack_from(">I", raw, mdhd + 16)
    (priming,) = struct.unpack_from(">i", raw, elst + 16)
    for at in (mvhd + 20, tkhd + 24, elst + 12):
        struct.pack_into(">I", raw, at, round(seconds * scale))
    struct.pack_into(">i", raw, elst + 16, priming + round(start * rate))
    return written(target, bytes(raw))


def test_edit_lists_say_what_is_heard(tmp_path: Path, files: dict[str, Path]) -> None:
    shown = hear(edited(files["m4a"], tmp_path / "part.m4a", 6, 2))
    assert shown.duration == pytest.approx(6, abs=0.05)
    part = tunes.write(tmp_path / "part.wav", tunes.music(1, SECONDS)[2 * tunes.RATE : 8 * tunes.RATE])
    length = len(hear(part).phases[0])
    assert errors(shown.phases[0][:length], hear(part).phases[0]) < 0.01


@pytest.mark.parametrize("suffix", ["m4a", "mka"])
def test_a_late_start_is_no_cut_and_is_said(tmp_path: Path, files: dict[str, Path], suffix: str) -> None:
    late = tmp_path / f"late.{suffix}"
    command = [encoder(), "-nostdin", "-loglevel", "error", "-itsoffset", "3", "-i", str(files["m4a"])]
    subprocess.run([*command, "-c", "copy", str(late)], check=True)
    found = hear(late)
    assert found.duration == pytest.approx(SECONDS, abs=0.1)
    (note,) = found.notes
    assert note.startswith(("its sound begins at 2.9", "its sound begins at 3.0"))


def test_low_rates_and_faint_dither_are_heard(tmp_path: Path, files: dict[str, Path]) -> None:
    low = hear(tunes.encode(files["wav"], tmp_path / "low.wav", "-ar", "8000"))
    assert errors(low.phases[0], hear(files["wav"]).phases[0]) < 0.01
    noise = np.random.default_rng(1).integers(-1, 2, SECONDS * tunes.RATE) / 32767
    dither = np.frombuffer(hear(tunes.write(tmp_path / "dither.wav", noise)).phases[0], "<u4")
    assert len(dither) == 59


# --- whoever computes it ---------------------------------------------------------------------------------------------


def backends() -> Iterator[media.Ffmpeg]:
    """Every ffmpeg of this machine that has the muxer, and the library behind the first of them."""
    for source, path, verdict in media.candidates():
        if path is not None and "has the chromaprint muxer" in verdict:
            yield media.Ffmpeg(path, verdict, source)
    if libchromaprint.load() is not None:
        yield replace(media.find_ffmpeg(), muxer=False)


@pytest.mark.parametrize("suffix", ["wav", "mp3", "ogg", "opus", "flac", "m4a"])
def test_all_backends_agree(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    found = []
    for backend in backends():
        monkeypatch.setattr(media, "find_ffmpeg", lambda backend=backend: backend)
        (heard,) = extraction.extract([(files[suffix], suffix)], Wish(phases=4, speeds=(0.97, 1.04)))
        assert isinstance(heard, Heard)
        found.append((*heard.phases, *heard.speeds))
    if len(found) < 2:
        pytest.skip("there is one backend only (apt-get install libchromaprint1, or another ffmpeg)")
    for other in found[1:]:
        for ours, theirs in zip(found[0], other, strict=True):
            shared = min(len(ours), len(theirs))  # ffmpeg 5 takes the padding at the end of AAC for sound
            assert abs(len(ours) - len(theirs)) <= (4 if suffix == "m4a" else 0)
            assert errors(ours[:shared], theirs[:shared]) < 1e-3


@pytest.mark.skipif(libchromaprint.load() is None, reason="libchromaprint is missing (apt-get install libchromaprint1)")
def test_the_library_hears_what_is_odd(tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    bare = ("-write_xing", "0", "-id3v2_version", "0")
    mp3 = [tunes.encode(files["wav"], tmp_path / f"{ac}.mp3", "-ac", ac, *bare) for ac in ("1", "2")]
    odd = [
        stereo(files["wav"], tmp_path / "s.wav", "1", "-1"),
        written(tmp_path / "both.mp3", mp3[0].read_bytes() + mp3[1].read_bytes()),
        tunes.write(tmp_path / "short.wav", tunes.music(1, 0.01)),
    ]
    asked = [(path, path.name) for path in odd]
    wish = Wish(phases=4, levels=True)
    muxer = extraction.extract(asked, wish)
    monkeypatch.setattr(media, "find_ffmpeg", functools.partial(replace, media.find_ffmpeg(), muxer=False))
    for ours, theirs in zip(muxer, extraction.extract(asked, wish), strict=True):
        assert isinstance(ours, Heard)
        assert isinstance(theirs, Heard)
        assert replace(ours, phases=()) == replace(theirs, phases=())
        for a, b in zip(ours.phases, theirs.phases, strict=True):
            assert a == b


def test_fpcalc_agrees_when_it_is_fed_samples(tmp_path: Path, files: dict[str, Path]) -> None:
    fpcalc = shutil.which("fpcalc")
    if fpcalc is None:
        pytest.skip("fpcalc is not installed (apt-get install libchromaprint-tools)")
    for suffix in ("wav", "mp3", "ogg", "opus"):
        raw = written(tmp_path / "raw", b"".join(media.decoded(files[suffix], sample="s16le")))
        rate, channels = (48000 if suffix == "opus" else tunes.RATE), 1
        command = [fpcalc, "-raw", "-length", "0", "-ignore-errors", "-format", "s16le", "-rate", str(rate)]
        printed = subprocess.run(
            [*command, "-channels", str(channels), str(raw)], capture_output=True, text=True
        ).stdout
        theirs = np.array(printed.partition("FINGERPRINT=")[2].split(","), np.int64).astype("<u4").tobytes()
        assert errors(hear(files[suffix]).phases[0], theirs) < 1e-3
