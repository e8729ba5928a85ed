"""What a report can show: the right stretch of the right file, links that lead there, and no fingerprint."""

from __future__ import annotations

import os
import pickle
import urllib.parse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tunes

from leakscan import exhibits, fingerprints, matching, media, repeats
from leakscan.exhibits import BANDS, COLUMNS, OUTLINE, Wanted
from leakscan.model import Alignment, Edge, Entry, Exhibit, Fingerprint, Match, Reference, Report, Side


def entry(path: Path) -> Entry:
    return Entry(path.name, path, path.stat().st_size)


def pcm(audio: tunes.Audio) -> bytes:
    return (np.clip(audio, -1, 1) * 32767).astype("<i2").tobytes()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A song, a copy of it, and 15 s of it from 12 s on."""
    folder = tmp_path_factory.mktemp("shelf")
    song = tunes.write(folder / "song.wav", tunes.music(1, 40))
    tunes.encode(song, folder / "copy.mp3", "-b:a", "96k")
    tunes.encode(song, folder / "part.ogg", "-ss", "12", "-t", "15", "-c:a", "libvorbis")
    (folder / "twin.wav").write_bytes(song.read_bytes())
    return folder


@pytest.fixture(scope="module")
def shown(shelf: Path) -> dict[tuple[str, str], Exhibit]:
    report = repeats.duplicates([entry(path) for path in shelf.iterdir()], None, Wanted(base=shelf / "reports"))
    assert len(report.exhibits) == len(report.rows) == 4
    return {exhibits.sides(one.row): one for one in report.exhibits}


# --- analysis --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hertz", "band"), [(110, 3), (440, 16), (2000, 30), (5000, 39)])
def test_a_tone_stands_in_its_band(hertz: float, band: int) -> None:
    time = np.arange(5 * media.RATE) / media.RATE
    sound = exhibits.analyse([pcm(0.5 * np.sin(2 * np.pi * hertz * time))])
    assert abs(int(sound.levels[50].argmax()) - band) <= 1
    assert sound.power[50] == pytest.approx(0.125, rel=0.1)


@pytest.mark.parametrize("size", [1, 1001, 1 << 18])
def test_how_samples_come_in_pieces_does_not_matter(size: int) -> None:
    data = pcm(tunes.music(3, 0.6, media.RATE))
    whole = exhibits.analyse([data])
    cut = exhibits.analyse(data[at : at + size] for at in range(0, len(data), size))
    assert len(whole.power) == -(-len(data) // 2 // 512)
    assert np.array_equal(whole.levels, cut.levels)
    assert np.allclose(whole.power, cut.power)


def test_silence_and_nothing_draw_nothing() -> None:
    silent = exhibits.analyse([bytes(40000)])
    assert silent.power.max() == 0
    assert len(exhibits.analyse([]).power) == 0


# --- exhibits --------------------------------------------------------------------------------------------------------


def test_the_pictures_show_the_same_stretch_of_both(shown: dict[tuple[str, str], Exhibit]) -> None:
    made = shown["copy.mp3", "part.ogg"]
    assert made.row.offset_s == pytest.approx(12, abs=0.1)
    assert (made.a.duration, made.b.duration) == (pytest.approx(40, abs=0.1), pytest.approx(15, abs=0.1))
    assert made.window[0] == pytest.approx(11, abs=0.2)
    assert made.window[1] == pytest.approx(28, abs=0.5)
    for side in (made.a, made.b):
        assert (len(side.outline), len(side.wave), len(side.spectrum)) == (OUTLINE, COLUMNS, COLUMNS * BANDS)
        assert max(side.spectrum) == 15
    a, b = (np.frombuffer(side.spectrum, np.uint8).reshape(COLUMNS, BANDS) for side in (made.a, made.b))
    there = slice(COLUMNS // 10, -COLUMNS // 10)
    right = np.corrcoef(a[there].ravel(), b[there].ravel())[0, 1]
    wrong = np.corrcoef(a[there].ravel(), np.roll(b, 12, axis=0)[there].ravel())[0, 1]
    assert right > 0.9 > wrong + 0.1
    assert not any(b[0])  # before the part begins
    assert any(a[0])


def test_bits_differ_outside_the_shared_stretch_only(shelf: Path, tmp_path: Path) -> None:
    """The second half of one song is another's: there the strip rises to what unrelated sound has."""
    mixed = np.concatenate((tunes.music(1, 40)[: 20 * tunes.RATE], tunes.music(7, 20)))
    files = [entry(shelf / "song.wav"), entry(tunes.write(tmp_path / "mixed.wav", mixed))]
    (made,) = repeats.duplicates(files, None, Wanted()).exhibits
    whole = replace(made, window=(0.0, 40.0))
    a, b = (fingerprints.fingerprint(one.file) for one in (files[1], files[0]))
    errors = np.frombuffer(exhibits._errors(whole, a, b, np.linspace(0, 40, COLUMNS + 1)), np.uint8)
    assert errors[: int(17 / 40 * COLUMNS)].max() < 20
    assert errors[int(24 / 40 * COLUMNS) :].mean() > 60


def test_moments_map_to_one_another() -> None:
    made = Exhibit(edge(offset_s=-3.0, speed=1.02), Side(60), Side(60), pivot=20.0)
    assert exhibits.on_b(made, 20.0) == pytest.approx(23)
    assert exhibits.on_b(made, 30.0) == pytest.approx(33.2)
    assert exhibits.on_a(made, exhibits.on_b(made, 7.5)) == pytest.approx(7.5)


def test_the_doubtful_come_first_and_the_identical_last(shelf: Path) -> None:
    files = [entry(path) for path in shelf.iterdir()]
    for count, drawn in (
        (0, set()),
        (3, {("copy.mp3", "part.ogg"), ("copy.mp3", "song.wav"), ("part.ogg", "song.wav")}),
    ):
        made = repeats.duplicates(files, None, Wanted(count, base=shelf)).exhibits
        assert {exhibits.sides(one.row) for one in made if one.a.wave} == drawn
        assert all(one.a.duration and one.a.span[1] and one.a.link for one in made)


def test_nothing_is_made_that_nobody_wants(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhibits, "_listen", None)
    assert repeats.duplicates([entry(path) for path in shelf.iterdir()]).exhibits == ()


def test_a_file_that_is_gone_has_no_pictures(tmp_path: Path) -> None:
    row = edge(relation="same-recording")
    found = Alignment(0.0, (0.0, 9.0), (0.0, 9.0), 0.1, 0.3, 40, "A", 0.9)
    gone = {name: Entry(name, tmp_path / name, 10) for name in ("a", "b")}
    heard = {name: Fingerprint(b"", 9.0) for name in gone}
    for embed in (False, True):
        report = Report(row=Edge, rows=(row,))
        (made,) = exhibits.attach(report, {("a", "b"): found}, heard, heard, gone, Wanted(embed=embed)).exhibits
        assert (made.a.wave, made.b.spectrum, made.errors, made.a.clip) == (b"", b"", b"", b"")
        assert made.a.duration == 9.0


def test_a_match_shows_the_file_and_no_fingerprint(shelf: Path) -> None:
    fp = fingerprints.fingerprint(shelf / "song.wav")
    report = matching.match([entry(shelf / "part.ogg")], [Reference("REF-1", fp)], None, Wanted(base=shelf))
    (made,) = report.exhibits
    assert isinstance(made.row, Match)
    assert exhibits.sides(made.row) == ("part.ogg", "REF-1")
    assert made.a.wave
    assert made.a.link == "part.ogg"
    assert (made.b.wave, made.b.spectrum, made.b.link, made.b.duration) == (b"", b"", "", pytest.approx(40, abs=0.1))
    assert len(made.errors) == COLUMNS
    inside = np.frombuffer(made.errors, np.uint8)
    assert np.median(inside[inside != 255]) < 20
    kept = pickle.dumps(report)
    for at in range(0, len(fp.words) - 8, 4):
        assert fp.words[at : at + 8] not in kept


# --- sound -----------------------------------------------------------------------------------------------------------


def test_clips_start_at_the_same_moment_of_the_music(shelf: Path, tmp_path: Path) -> None:
    files = [entry(shelf / "song.wav"), entry(shelf / "part.ogg")]
    (made,) = repeats.duplicates(files, None, Wanted(embed=True)).exhibits
    assert (made.a.link, made.b.link) == ("", "")  # such a report does not say where files lie
    assert made.a.clip_start - made.b.clip_start == pytest.approx(-12, abs=0.1)  # a is the part
    heard = []
    for name, clip in (("a.mp3", made.a.clip), ("b.mp3", made.b.clip)):
        (tmp_path / name).write_bytes(clip)
        assert len(clip) < 60_000
        heard.append(np.frombuffer(b"".join(media.samples(tmp_path / name)), "<i2").astype(np.float64))
        assert len(heard[-1]) / media.RATE == pytest.approx(exhibits.CLIP_S, abs=0.2)
    a, b = (np.abs(one[: 10 * media.RATE]).reshape(-1, 105).mean(axis=1) for one in heard)  # every 10 ms
    lags = {lag: np.corrcoef(a[50:-50], np.roll(b, lag)[50:-50])[0, 1] for lag in range(-40, 41)}
    assert abs(max(lags, key=lambda lag: lags[lag])) <= 10  # a tenth of a second


def test_the_same_files_make_the_same_exhibits(shelf: Path) -> None:
    files = [entry(path) for path in shelf.iterdir()]
    assert repeats.duplicates(files, None, Wanted(embed=True)) == repeats.duplicates(files, None, Wanted(embed=True))


@pytest.mark.parametrize(
    "name", ["plain.mp3", "a b#c?d%20e&f.mp3", "javascript:alert(1)", "Éldrune.mp3", "\udcff.mp3", "<x>'\".mp3", "..x"]
)
def test_links_lead_to_the_file_from_the_report(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "deep" / "reports"
    folder.mkdir(parents=True)
    made = exhibits.link(Entry(name, tmp_path / "audio" / name, 1), folder)
    assert made.startswith("../../audio/")
    assert made.isascii()
    assert not set(made) & set(" #?<>'\":&")
    assert os.fsencode(os.path.normpath(folder / os.fsdecode(urllib.parse.unquote_to_bytes(made)))) == os.fsencode(
        tmp_path / "audio" / name
    )


def test_what_lies_in_a_container_has_no_link(tmp_path: Path) -> None:
    assert exhibits.link(Entry("x.tar!a.mp3", tmp_path / "x.tar", 1, b"data"), tmp_path) == ""
    assert exhibits.link(None, tmp_path) == ""


def edge(**other: Any) -> Edge:
    return replace(Edge(1, "", "a", "", "b", "partial", 0.9, 0.0, 9.0, 1.0, 1.0, 1.0), **other)
