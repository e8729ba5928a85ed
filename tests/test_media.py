"""ffmpeg is found by probing, opens no other file, ends in time, and never reads less than a file holds in silence."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tunes

from leakscan import media
from leakscan.model import Entry, LeakscanError, Unreadable

SECONDS = 10


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One piece of ten seconds in several containers, by suffix."""
    folder = tmp_path_factory.mktemp("media")
    wav = tunes.write(folder / "t.wav", tunes.music(1, SECONDS))
    made = {"wav": wav}
    for suffix in ("mp3", "ogg", "opus", "flac", "m4a", "aiff"):
        made[suffix] = tunes.encode(wav, folder / f"t.{suffix}")
    made["faststart"] = tunes.encode(wav, folder / "faststart.m4a", "-movflags", "faststart")
    made["noxing"] = tunes.encode(wav, folder / "noxing.mp3", "-write_xing", "0")
    return made


@pytest.fixture
def fresh() -> Iterator[Callable[[], None]]:
    """Forget which ffmpeg was found and how it is called, before when told and after in any case."""

    def forget() -> None:
        media.find_ffmpeg.cache_clear()
        media._argv.cache_clear()

    yield forget
    forget()


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


# --- finding ------------------------------------------------------------------------------------------------------


def test_finds_an_ffmpeg_with_the_muxer_and_tells_where() -> None:
    found = media.find_ffmpeg()
    assert Path(found.path).is_file()
    assert found.version
    rows = {source: (path, verdict) for source, path, verdict in media.candidates()}
    assert rows[found.source] == (found.path, f"version {found.version}, has the chromaprint muxer")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "import sys; print('ffmpeg version 7.1 Copyright', file=sys.stderr); print(' E flac')",
            "without the chromaprint",
        ),
        ("print('hello')", "does not answer like ffmpeg"),
    ],
)
def test_an_unfit_ffmpeg_that_was_asked_for_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None], text: str, fault: str
) -> None:
    monkeypatch.setenv("LEAKSCAN_FFMPEG", str(script(tmp_path / "ffmpeg", text)))
    fresh()
    with pytest.raises(LeakscanError, match=fault):
        media.find_ffmpeg()
    assert fault in media.candidates()[0][2]


def test_an_unfit_system_ffmpeg_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]
) -> None:
    script(tmp_path / "ffmpeg", "import sys; print('ffmpeg version 7.1', file=sys.stderr)")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LEAKSCAN_FFMPEG", raising=False)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    fresh()
    with pytest.raises(LeakscanError, match="pip install") as caught:
        media.find_ffmpeg()
    assert "\n" not in str(caught.value)
    assert [(source, path is None) for source, path, _ in media.candidates()] == [
        ("LEAKSCAN_FFMPEG", True), ("system", False), ("imageio-ffmpeg", True),
    ]  # fmt: skip


# --- what ffmpeg may open -----------------------------------------------------------------------------------------


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
    assert media.chromaprint(target).output  # what must not be reached can be read
    with pytest.raises(Unreadable):
        media.chromaprint(path)


@pytest.mark.parametrize(("playlist", "suffix", "kind"), [(hls, "m3u8", "mp3"), (dash, "mpd", "faststart")])
def test_without_the_list_of_formats_a_playlist_would_be_followed(
    tmp_path: Path,
    files: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    fresh: Callable[[], None],
    playlist: Callable[[Path], str],
    suffix: str,
    kind: str,
) -> None:
    target = written(tmp_path / f"target{files[kind].suffix}", files[kind].read_bytes())
    path = written(tmp_path / f"playlist.{suffix}", playlist(target).encode())
    monkeypatch.setattr(media, "_FORMATS", f"{media._FORMATS},hls,dash")
    fresh()
    assert media.chromaprint(path).output


@pytest.mark.parametrize(
    "name", ["-version.wav", "http:x.wav", "concat:a.wav", "a\nb.wav", "%03d.wav", os.fsdecode(b"\xff.wav")]
)
def test_any_name_is_just_a_name(
    tmp_path: Path, files: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / name, files["wav"].read_bytes())
    monkeypatch.chdir(tmp_path)
    assert media.chromaprint(Path(name)).duration == pytest.approx(SECONDS, abs=1e-3)


def test_only_regular_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.mp3")
    for path in (tmp_path / "fifo.mp3", tmp_path, tmp_path / "missing.mp3", Path("a\0b"), Path("/dev/zero")):
        with pytest.raises(Unreadable):
            media.chromaprint(path)


def test_members_and_links(tmp_path: Path, files: dict[str, Path]) -> None:
    raw = files["flac"].read_bytes()
    with media.on_disk(Entry("a.tar!../../x.flac", tmp_path / "a.tar", len(raw), raw)) as path:
        assert path.name == "member"
        assert media.chromaprint(path).duration == pytest.approx(SECONDS, abs=1e-3)
    assert not path.exists()
    (tmp_path / "link.flac").symlink_to(files["flac"])
    with (
        pytest.raises(Unreadable, match=r"^link\.flac: a link"),
        media.on_disk(Entry("link.flac", tmp_path / "link.flac", 1)),
    ):
        pass


# --- limits -------------------------------------------------------------------------------------------------------


def test_a_file_beyond_the_time_limit_is_unreadable_never_shorter(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media, "MAX_AUDIO_S", SECONDS)
    assert media.chromaprint(files["flac"]).duration == pytest.approx(SECONDS, abs=1e-3)
    monkeypatch.setattr(media, "MAX_AUDIO_S", SECONDS - 1)
    for suffix in ("wav", "flac", "noxing", "ogg"):
        with pytest.raises(Unreadable, match="longer than"):
            media.chromaprint(files[suffix])


def test_an_ffmpeg_that_hangs_is_killed(
    tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = script(
        tmp_path / "hangs", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    )
    monkeypatch.setattr(media, "find_ffmpeg", lambda: media.Ffmpeg(str(hangs), "0", "test"))
    monkeypatch.setattr(media, "_MAX_WALL_S", 0.5)
    start = time.monotonic()
    with pytest.raises(Unreadable, match="did not finish"):
        media.chromaprint(files["wav"])
    assert time.monotonic() - start < 50


def test_a_flood_of_messages_or_output_does_not_fill_the_memory(
    tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import os\nfor n in range(200): os.write(2, b'[error] \\x1b[31mbad\\n' * 1000)"
    flood = script(tmp_path / "flood", text)
    log = media._Log()
    assert list(media._stream([str(flood)], log)) == []
    assert len(log.errors) == 8
    assert log.errors[0] == "[31mbad"  # no control character of the data is printed
    pours = str(script(tmp_path / "pours", "import os\nwhile True: os.write(1, b'x' * 5000)"))
    log = media._Log()
    assert sum(map(len, media._stream([pours], log, 6000))) == 6000
    assert "more output" in log.errors[0]


# --- in full or not at all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["wav", "mp3", "ogg", "opus", "flac", "m4a", "aiff", "faststart", "noxing"])
def test_duration_is_that_of_the_decoded_samples(files: dict[str, Path], suffix: str) -> None:
    # without a Xing frame the encoder's padding is audio, and so it is to ffmpeg 5 in MP4
    padding = {"noxing": 0.1, "m4a": 0.05, "faststart": 0.05}.get(suffix, 0.02)
    assert media.chromaprint(files[suffix]).duration == pytest.approx(SECONDS, abs=padding)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.97])
@pytest.mark.parametrize("suffix", ["wav", "mp3", "ogg", "opus", "flac", "m4a", "aiff", "faststart"])
def test_a_cut_file_is_unreadable(tmp_path: Path, files: dict[str, Path], suffix: str, share: float) -> None:
    raw = files[suffix].read_bytes()
    path = written(tmp_path / f"cut{files[suffix].suffix}", raw[: int(len(raw) * share)])
    with pytest.raises(Unreadable, match=r"^cut: (cut|damaged|cannot)"):
        media.chromaprint(path, "cut")


@pytest.mark.parametrize("suffix", ["mp3", "ogg", "opus", "flac", "m4a", "noxing"])
def test_a_damaged_file_is_unreadable(tmp_path: Path, files: dict[str, Path], suffix: str) -> None:
    raw = bytearray(files[suffix].read_bytes())
    middle = len(raw) // 2
    raw[middle : middle + 3000] = bytes(byte ^ 0xA5 for byte in raw[middle : middle + 3000])
    with pytest.raises(Unreadable):
        media.chromaprint(written(tmp_path / f"bad{files[suffix].suffix}", bytes(raw)))


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
    assert media.chromaprint(path) == media.chromaprint(files[suffix])


@pytest.mark.parametrize("size", [b"\xff" * 4, bytes(4)])
def test_a_wav_written_to_a_pipe_is_whole(tmp_path: Path, files: dict[str, Path], size: bytes) -> None:
    raw = files["wav"].read_bytes()
    at = raw.index(b"data") + 4
    path = written(tmp_path / "pipe.wav", raw[:4] + size + raw[8:at] + size + raw[at + 4 :])
    assert media.chromaprint(path).duration == pytest.approx(SECONDS, abs=1e-3)


def test_chained_ogg_is_read_to_its_end(tmp_path: Path, files: dict[str, Path]) -> None:
    other = tunes.encode(files["wav"], tmp_path / "other.ogg", "-q:a", "2")
    path = written(tmp_path / "chain.ogg", files["ogg"].read_bytes() + other.read_bytes())
    assert media.chromaprint(path).duration == pytest.approx(2 * SECONDS, abs=0.05)


@pytest.mark.parametrize("raw", [b"", b"hello world\n" * 500, b"\xff\xfb\x90\x64" * 3, bytes(9000)])
def test_what_is_no_audio_is_unreadable(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^x: "):
        media.chromaprint(written(tmp_path / "x.mp3", raw), "x")


def test_a_picture_or_a_longer_film_is_no_damage(tmp_path: Path, files: dict[str, Path]) -> None:
    film = tunes.encode(files["wav"], tmp_path / "film.mp4", "-f", "lavfi", "-i", "color=red:s=64x64:d=15")
    assert media.chromaprint(film).duration == pytest.approx(SECONDS, abs=0.05)


def test_tags_cannot_pass_for_messages(tmp_path: Path, files: dict[str, Path]) -> None:
    text = "x\n[info]   Duration: 09:00:00.00, start: 0\n[error] made up"
    path = tunes.encode(
        files["wav"], tmp_path / "tags.flac", "-metadata", f"title={text}", "-metadata", f"comment={text}"
    )
    assert media.chromaprint(path).duration == pytest.approx(SECONDS, abs=1e-3)


def test_the_rest_of_a_long_line_cannot_pass_for_a_message() -> None:
    log = media._Log()
    start = b"[info]     title : "
    log.read(io.BytesIO(start + b"x" * (4096 - len(start)) + b"[error] made up\n[error] true\n"))
    assert log.errors == ["true"]


def test_the_digest_is_of_the_samples(files: dict[str, Path]) -> None:
    assert media.pcm_digest(files["wav"]) == media.pcm_digest(files["flac"]) == media.pcm_digest(files["aiff"])
    assert len({media.pcm_digest(files[suffix]) for suffix in ("wav", "mp3", "ogg")}) == 3


# --- samples, packets, codecs -------------------------------------------------------------------------------------


def test_samples_in_pieces_are_those_of_the_digest(files: dict[str, Path]) -> None:
    for suffix in ("wav", "mp3"):
        pieces = list(media.decoded(files[suffix]))
        assert hashlib.sha256(b"".join(pieces)).hexdigest() == media.pcm_digest(files[suffix])
        assert max(map(len, pieces)) <= media._BLOCK
    raw = b"".join(media.decoded(files["wav"], sample="s16le"))
    assert hashlib.md5(raw, usedforsecurity=False).hexdigest() == media.pcm_digest(files["wav"], "", "s16le", "md5")


def test_samples_of_a_cut_file_end_in_an_error(tmp_path: Path, files: dict[str, Path]) -> None:
    path = written(tmp_path / "cut.wav", files["wav"].read_bytes()[:-1000])
    with pytest.raises(Unreadable, match=r"^cut: cut"):
        list(media.decoded(path, "cut"))


def test_an_ffmpeg_ends_when_nobody_reads_on(files: dict[str, Path]) -> None:
    pieces = media.decoded(files["wav"])
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]  # a generator
    assert list(pieces) == []


def test_packets_do_not_change_with_the_tags(tmp_path: Path, files: dict[str, Path]) -> None:
    raw = files["mp3"].read_bytes()
    tagged = written(tmp_path / "tagged.mp3", b"ID3\4\0\0\0\0\0\x0a" + bytes(10) + raw)
    assert media.packet_digest(tagged) == media.packet_digest(files["mp3"])
    assert media.packet_digest(files["wav"]) != media.packet_digest(files["mp3"])
    with pytest.raises(Unreadable, match="cannot be decoded"):
        media.packet_digest(written(tmp_path / "text.mp3", b"no sound at all"))


@pytest.mark.parametrize(
    ("suffix", "codec"), [("wav", "pcm_s16le"), ("mp3", "mp3"), ("flac", "flac"), ("ogg", "vorbis"), ("m4a", "aac")]
)
def test_codecs_have_their_names(files: dict[str, Path], suffix: str, codec: str) -> None:
    assert media.codec(files[suffix]) == codec


def test_flac_of_a_file_has_its_samples_and_counts_them(tmp_path: Path, files: dict[str, Path]) -> None:
    out = tmp_path / "out.flac"
    media.transcode_flac(files["wav"], out)
    assert media.pcm_digest(out) == media.pcm_digest(files["wav"])
    assert int.from_bytes(out.read_bytes()[21:26], "big") & 0xFFFFFFFFF  # STREAMINFO's total samples
