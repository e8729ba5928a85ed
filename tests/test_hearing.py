"""Which files are audio, and what is heard of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import tunes

from leakscan import hearing, media
from leakscan.fingerprints import fingerprint
from leakscan.model import Entry, LeakscanError, Unexamined


@pytest.fixture(scope="module")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pieces in a folder `songs`."""
    folder = tmp_path_factory.mktemp("hearing") / "songs"
    folder.mkdir()
    for number in range(2):
        wav = tunes.write(folder / "x.wav", tunes.music(10 + number, 10))
        tunes.encode(wav, folder / f"song{number}.flac")
        wav.unlink()
    return folder


def entry(path: Path) -> Entry:
    return Entry(path.name, path, path.stat().st_size)


def test_fingerprints_keep_the_order_and_name_what_fails(tmp_path: Path, songs: Path) -> None:
    (tmp_path / "bad.mp3").write_bytes(b"")
    files = [entry(songs / "song1.flac"), entry(tmp_path / "bad.mp3"), entry(songs / "song0.flac")]
    results = hearing.fingerprint_files(files)
    assert [one for one, _ in results] == files
    assert isinstance(results[1][1], Unexamined)
    assert results[2][1] == fingerprint(songs / "song0.flac")


def test_no_ffmpeg_is_an_error_not_an_unreadable_file(songs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> media.Ffmpeg:
        raise LeakscanError("no ffmpeg")

    monkeypatch.setattr(media, "find_ffmpeg", none)
    with pytest.raises(LeakscanError, match="no ffmpeg"):
        hearing.fingerprint_files([entry(songs / "song0.flac")])


def test_who_waits_is_told(songs: Path) -> None:
    told: list[tuple[int, int]] = []
    hearing.fingerprint_files([entry(path) for path in sorted(songs.iterdir())], tell=lambda *done: told.append(done))
    assert told == [(1, 2), (2, 2)]


def test_links_are_the_file_that_they_lead_to(tmp_path: Path, songs: Path) -> None:
    (tmp_path / "b.flac").write_bytes((songs / "song0.flac").read_bytes())
    (tmp_path / "a.flac").symlink_to("b.flac")
    (tmp_path / "c.flac").hardlink_to(tmp_path / "b.flac")
    files, notes = hearing.without_links([entry(path) for path in sorted(tmp_path.iterdir())])
    assert [file.path for file in files] == ["b.flac"]
    assert notes == [f"{name}.flac is a link to the same file as b.flac" for name in "ca"]
