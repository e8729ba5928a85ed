"""Which files are audio, and what is heard of them."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tunes
from encoder import encoder

from leakscan import crew, extraction, fingerprints, hearing, media, store
from leakscan.fingerprints import fingerprint
from leakscan.model import Entry, Fingerprint, Interrupted, LeakscanError, Unexamined


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
    assert told[-1] == (2, 2)


def test_files_are_spread_over_the_cores_and_the_longest_are_heard_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "cores", lambda: 2)
    short, song = hearing._TOGETHER
    sizes = [10, song + 1, 10, 10, short, 10, song, short + 1, song + 1]
    files = [Entry(str(number), Path("x"), size) for number, size in enumerate(sizes)]
    assert hearing._batches(files) == [[1], [8], [6], [7], [0, 2, 3], [4, 5]]
    assert hearing._batches([]) == []
    for kind, most in hearing._TOGETHER.items():
        many = [replace(files[0], size=kind)]
        assert max(map(len, hearing._batches(many * 1000))) == most
        few = hearing._batches(many * (2 * most + 2))  # one more for each than a process takes
        assert max(map(len, few)) - min(map(len, few)) <= 2
        assert [*itertools.chain.from_iterable(few)] == [*range(2 * most + 2)]


def test_members_and_links_are_heard_among_others(tmp_path: Path, songs: Path) -> None:
    raw = (songs / "song1.flac").read_bytes()
    (tmp_path / "link.flac").symlink_to(songs / "song0.flac")
    files = [
        entry(songs / "song0.flac"),
        Entry("a.tar!x", tmp_path / "a.tar", len(raw), raw),
        Entry("link.flac", tmp_path / "link.flac", 1),
    ]
    (_, first), (_, member), (_, link) = hearing.fingerprint_files(files)
    assert (first, member) == (fingerprint(songs / "song0.flac"), fingerprint(songs / "song1.flac"))
    assert link == Unexamined("link.flac", "a link, not followed; name the file that it leads to")


def test_all_that_is_heard_is_kept(tmp_path: Path, songs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [entry(path) for path in sorted(songs.iterdir())]
    speeds = (0.97, 1.0, 1.03)
    with store.opened(str(tmp_path / "cache")) as memory:
        four = hearing.fingerprint_files(files, memory, phases=4)
        changed = hearing.at_speeds(files, speeds, memory)
    assert four == [(one, fingerprint(one.file, phases=4)) for one in files]
    for (_, fp), (_, fast) in zip(four, changed, strict=True):
        assert isinstance(fp, Fingerprint)
        assert isinstance(fast, tuple)
        assert [round(one.duration * speed, 3) for one, speed in zip(fast, speeds, strict=True)] == [10.0] * 3
        assert fast[1] == replace(fp, phases=())
    monkeypatch.setattr(extraction, "extract", None)  # nothing is heard again
    with store.opened(str(tmp_path / "cache")) as memory:
        assert hearing.fingerprint_files(files, memory, phases=4) == four
        assert hearing.at_speeds(files, speeds, memory) == changed
        one = hearing.fingerprint_files(files, memory)
    assert one == [(file, replace(fp, phases=())) for file, fp in four if isinstance(fp, Fingerprint)]


def test_what_cannot_be_heard_at_one_speed_cannot_be_at_any(tmp_path: Path) -> None:
    (tmp_path / "bad.mp3").write_bytes(b"")
    ((_, found),) = hearing.at_speeds([entry(tmp_path / "bad.mp3")], (1.0, 1.01))
    assert isinstance(found, Unexamined)


def test_a_second_run_opens_no_audio(tmp_path: Path, songs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_SETTLED_NS", 0)
    opened: set[str] = set()
    listening = [False]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if listening[0] and event in ("open", "subprocess.Popen"):
            opened.add(str(arguments[0]))

    sys.addaudithook(hook)  # for the rest of the process
    runs = []
    for _ in range(2):
        opened.clear()
        listening[0] = True
        with store.opened(str(tmp_path / "cache")) as memory:
            runs.append(hearing.fingerprint_files(hearing.select([songs]).audio, memory))
        listening[0] = False
    assert runs[0] == runs[1]
    assert [name for name in opened if "song" in name or "ffmpeg" in name] == []


def test_links_are_the_file_that_they_lead_to(tmp_path: Path, songs: Path) -> None:
    (tmp_path / "b.flac").write_bytes((songs / "song0.flac").read_bytes())
    (tmp_path / "a.flac").symlink_to("b.flac")
    (tmp_path / "c.flac").hardlink_to(tmp_path / "b.flac")
    files, notes = hearing.without_links([entry(path) for path in sorted(tmp_path.iterdir())])
    assert [file.path for file in files] == ["b.flac"]
    assert notes == [f"{name}.flac is a link to the same file as b.flac" for name in "ca"]


def test_what_was_interrupted_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tunes.write(tmp_path / "song.wav", tunes.music(1, 10))
    os.utime(tmp_path / "song.wav", (1, 1))
    file = [Entry("song.wav", tmp_path / "song.wav", (tmp_path / "song.wav").stat().st_size)]
    real = fingerprints.fingerprint_each
    killed = Interrupted("song.wav: ffmpeg was stopped by signal 9 before its end; try again")
    with store.opened(str(tmp_path / "cache")) as memory:
        monkeypatch.setattr(fingerprints, "fingerprint_each", lambda paths, phases: [killed])
        assert isinstance(hearing.fingerprint_files(file, memory)[0][1], Unexamined)
        monkeypatch.setattr(fingerprints, "fingerprint_each", real)
        assert isinstance(hearing.fingerprint_files(file, memory)[0][1], Fingerprint)


def test_a_sample_that_is_infinite_does_not_end_the_run(tmp_path: Path) -> None:
    samples = np.asarray(tunes.music(1, 10), "<f4")
    samples[1000] = np.inf
    (tmp_path / "raw.f32").write_bytes(samples.tobytes())
    command = ["-y", "-f", "f32le", "-ar", str(tunes.RATE), "-ac", "1", "-i", str(tmp_path / "raw.f32")]
    command += ["-c:a", "pcm_f32le", str(tmp_path / "song.wav")]
    subprocess.run([encoder(), *command], check=True, capture_output=True)
    (found,) = fingerprints.fingerprint_each([(tmp_path / "song.wav", "song.wav")], 1)
    assert isinstance(found, Fingerprint)
    assert len(found) == len(fingerprint(tunes.write(tmp_path / "sound.wav", tunes.music(1, 10))))
