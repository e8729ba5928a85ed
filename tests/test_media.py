"""ffmpeg is found by probing, ends in time, and what it makes of samples and packets is what is in the file."""

from __future__ import annotations

import hashlib
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tunes

from leakscan import libchromaprint, media
from leakscan.model import LeakscanError, Unreadable
from leakscan.transcripts import Transcript

SECONDS = 10


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return tunes.encodings(tmp_path_factory.mktemp("media"), SECONDS)


@pytest.fixture
def fresh() -> Iterator[Callable[[], None]]:
    """Forget which ffmpeg was found, before when told and after in any case."""
    yield media.find_ffmpeg.cache_clear
    media.find_ffmpeg.cache_clear()


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


# --- finding ----------------------------------------------------------------------------------------------------------


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
    monkeypatch.setattr(libchromaprint, "load", lambda: None)
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
    monkeypatch.setattr(libchromaprint, "load", lambda: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    fresh()
    with pytest.raises(LeakscanError, match="pip install") as caught:
        media.find_ffmpeg()
    assert "\n" not in str(caught.value)
    assert [(source, path is None) for source, path, _ in media.candidates()] == [
        ("LEAKSCAN_FFMPEG", True), ("system", False), ("imageio-ffmpeg", True),
    ]  # fmt: skip


def test_an_ffmpeg_without_the_muxer_serves_where_the_library_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]
) -> None:
    plain = script(tmp_path / "ffmpeg", "import sys; print('ffmpeg version 7.1', file=sys.stderr)")
    monkeypatch.setattr(libchromaprint, "load", object)
    monkeypatch.setattr(libchromaprint, "version", lambda: "1.5.1")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LEAKSCAN_FFMPEG", raising=False)
    fresh()
    assert (media.find_ffmpeg().source, media.find_ffmpeg().muxer) == ("imageio-ffmpeg", True)  # though it comes last
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    fresh()
    assert media.find_ffmpeg() == media.Ffmpeg(str(plain), "7.1", "system", muxer=False)
    assert media.find_ffmpeg().library == "libchromaprint 1.5.1, ffmpeg 7.1"
    monkeypatch.setenv("LEAKSCAN_FFMPEG", str(plain))
    fresh()
    assert media.find_ffmpeg().source == "LEAKSCAN_FFMPEG"


# --- limits -----------------------------------------------------------------------------------------------------------


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
        media.pcm_digest(files["wav"])
    assert time.monotonic() - start < 50


def test_a_flood_of_messages_or_output_does_not_fill_the_memory(
    tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import os\nfor n in range(200): os.write(2, b'[error] \\x1b[31mbad\\n' * 1000)"
    flood = script(tmp_path / "flood", text)
    said = Transcript()
    assert list(media.stream([str(flood)], said, tmp_path)) == []
    assert len(said.errors) == 8
    assert said.errors[0] == "[31mbad"  # no control character of the data is printed
    pours = str(script(tmp_path / "pours", "import os\nwhile True: os.write(1, b'x' * 5000)"))
    said = Transcript()
    assert sum(map(len, media.stream([pours], said, tmp_path, 6000))) == 6000
    assert "more output" in said.errors[0]


# --- samples, packets, codecs -----------------------------------------------------------------------------------------


def test_the_digest_is_of_the_samples(files: dict[str, Path]) -> None:
    assert media.pcm_digest(files["wav"]) == media.pcm_digest(files["flac"]) == media.pcm_digest(files["aiff"])
    assert len({media.pcm_digest(files[suffix]) for suffix in ("wav", "mp3", "ogg")}) == 3


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
