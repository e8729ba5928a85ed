"""Files to references and files to one another, from audio to rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tunes

from leakscan import alignment, fingerprints, hearing, index, matching, media
from leakscan.fingerprints import fingerprint
from leakscan.linking import Orders
from leakscan.model import (
    Alignment,
    Entry,
    Fingerprint,
    Match,
    Reference,
    Report,
    Unexamined,
    Unreadable,
    UsageError,
)  # fmt: skip

SECONDS = 40


@pytest.fixture(scope="module")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tunes.songs(tmp_path_factory.mktemp("matching") / "songs", SECONDS)


@pytest.fixture(scope="module")
def references(songs: Path) -> list[Reference]:
    return [Reference(f"REF-{number}", fingerprint(songs / f"song{number}.flac")) for number in range(4)]


def entry(path: Path) -> Entry:
    return Entry(path.name, path, path.stat().st_size)


def silence(path: Path, seconds: float = 20) -> Path:
    return tunes.write(path, np.zeros(int(seconds * tunes.RATE)))


def rows_of(report: Report) -> list[tuple[str, str, str]]:
    return [(row.file, row.id, row.state) for row in report.rows if isinstance(row, Match)]


def cut(source: Path, target: Path, start: float, seconds: float, *options: str) -> Path:
    return tunes.encode(source, target, "-ss", str(start), "-t", str(seconds), *options)


def test_every_file_and_every_reference_has_a_row(tmp_path: Path, songs: Path, references: list[Reference]) -> None:
    tunes.encode(songs / "song0.flac", tmp_path / "copy.mp3", "-b:a", "64k")
    cut(songs / "song1.flac", tmp_path / "crop.opus", 12.345, 20, "-b:a", "48k")
    tunes.write(tmp_path / "other.wav", tunes.music(99, 30))
    silence(tmp_path / "silence.wav")
    cut(songs / "song2.flac", tmp_path / "tiny.wav", 5, 4)
    (tmp_path / "broken.mp3").write_bytes(b"no audio at all")
    report = matching.match([entry(path) for path in sorted(tmp_path.iterdir(), reverse=True)], references)
    assert report.row is Match
    assert rows_of(report) == [
        ("broken.mp3", "", "unreadable"),
        ("copy.mp3", "REF-0", "matched"),
        ("crop.opus", "REF-1", "matched"),
        ("other.wav", "", "absent"),
        ("silence.wav", "", "absent"),
        ("tiny.wav", "", "too-short"),
        ("", "REF-2", "not-found"),
        ("", "REF-3", "not-found"),
    ]
    assert report.summary == {
        "in_short": "2 of 4 found; 2 absent",
        "references": 4, "found": 2, "conflict": 0, "ambiguous": 0, "not_found": 2,
        "files": 6, "files_absent": 2, "files_too_short": 1, "files_unreadable": 1, "expected_false": 0.0,
    }  # fmt: skip
    assert [(finding.rule, finding.level, finding.place.path, finding.place.id) for finding in report.findings] == [
        ("matched-recording", "note", "copy.mp3", "REF-0"), ("matched-recording", "note", "crop.opus", "REF-1"),
    ]  # fmt: skip
    assert [one.path for one in report.unexamined] == ["broken.mp3"]
    assert not report.unexamined[0].reason.startswith("broken.mp3")
    assert (report.examined.files, report.examined.audio) == (6, 5)
    assert report.status == 3
    copy, crop = report.rows[1], report.rows[2]
    assert isinstance(copy, Match)
    assert isinstance(crop, Match)
    assert copy.same_timeline is True
    assert copy.offset_s == pytest.approx(0, abs=0.03)
    assert (copy.coverage_file, copy.coverage_reference, copy.speed) == (pytest.approx(1, abs=0.01), 1, 1)
    assert crop.same_timeline is False
    assert crop.offset_s == pytest.approx(-12.345, abs=0.06)
    assert crop.overlap_s == pytest.approx(20, abs=0.3)
    assert crop.coverage_reference == pytest.approx(0.5, abs=0.03)


def test_two_files_on_one_reference_are_a_conflict(tmp_path: Path, songs: Path, references: list[Reference]) -> None:
    files = [entry(tunes.encode(songs / "song0.flac", tmp_path / name)) for name in ("a.mp3", "b.ogg")]
    report = matching.match(files, references[:1])
    assert rows_of(report) == [("a.mp3", "REF-0", "conflict"), ("b.ogg", "REF-0", "conflict")]
    assert (report.summary["found"], report.summary["conflict"], report.findings) == (0, 1, ())


def test_two_references_for_one_stretch_are_ambiguous(tmp_path: Path, songs: Path, references: list[Reference]) -> None:
    twin = Reference("TWIN", references[0].fingerprint)
    report = matching.match([entry(songs / "song0.flac")], [*references, twin])
    assert rows_of(report)[:2] == [("song0.flac", "REF-0", "ambiguous"), ("song0.flac", "TWIN", "ambiguous")]
    assert report.summary["ambiguous"] == 2
    assert report.findings == ()


def test_a_medley_matches_what_it_is_made_of(tmp_path: Path, songs: Path, references: list[Reference]) -> None:
    audio = np.concatenate((tunes.music(10, SECONDS)[: 20 * tunes.RATE], tunes.music(12, SECONDS)[: 20 * tunes.RATE]))
    report = matching.match([entry(tunes.write(tmp_path / "medley.wav", audio))], references)
    assert rows_of(report)[:2] == [("medley.wav", "REF-0", "matched"), ("medley.wav", "REF-2", "matched")]
    second = report.rows[1]
    assert isinstance(second, Match)
    assert second.offset_s == pytest.approx(20, abs=0.06)
    assert second.same_timeline is False


def test_only_related_audio_is_ambiguous(
    monkeypatch: pytest.MonkeyPatch, songs: Path, references: list[Reference]
) -> None:
    search = alignment.search
    monkeypatch.setattr(
        alignment, "search", lambda a, pool: [(number, replace(one, grade="C")) for number, one in search(a, pool)]
    )
    report = matching.match([entry(songs / "song0.flac")], references)
    assert rows_of(report)[0] == ("song0.flac", "REF-0", "ambiguous")


@pytest.mark.parametrize(
    ("phases", "grade", "offset", "length", "covered", "speed", "expected"),
    [
        (1, "A", 0.0, 100.0, 100.0, 1.0, True),
        (1, "A", 0.03, 99.98, 100.0, 1.0, None),  # by the error of the offset perhaps 0.1 s too short at the end
        (1, "A", 0.03, 101.0, 100.0, 1.0, True),
        (1, "A", -0.03, 101.0, 100.0, 1.0, True),
        (1, "A", 0.05, 101.0, 100.0, 1.0, None),
        (4, "A", 0.05, 101.0, 100.0, 1.0, True),
        (4, "B", 0.05, 101.0, 100.0, 1.0, None),
        (4, "A", 0.03, 99.98, 100.0, 1.0, True),
        (1, "A", 0.15, 101.0, 100.0, 1.0, None),
        (4, "A", 0.15, 101.0, 100.0, 1.0, False),
        (4, "A", 0.12, 101.0, 100.0, 1.0, None),
        (1, "A", 0.17, 101.0, 100.0, 1.0, False),
        (1, "A", -0.17, 101.0, 100.0, 1.0, False),
        (1, "A", 0.0, 99.0, 99.0, 1.0, False),
        (1, "A", 0.0, 150.0, 100.0, 1.0, True),
        (4, "A", 0.0, 100.0, 60.0, 1.0, None),  # something in between may be another
        (1, "A", 0.0, 100.0, 100.0, 1.01, False),
    ],
)
def test_the_same_timeline_is_claimed_only_when_certain(
    phases: int, grade: str, offset: float, length: float, covered: float, speed: float, expected: bool | None
) -> None:
    found = Alignment(offset, (0, covered), (0, covered), 0.03, 0.1, 500, grade, 0.99, speed)  # type: ignore[arg-type]
    file = Fingerprint(b"", length, phases=(b"",) * (phases - 1))
    assert matching._same_timeline(found, file, Fingerprint(b"", 100.0)) is expected


def test_notes_on_the_index(songs: Path) -> None:
    report = matching.match([], [Reference("x", Fingerprint(b"", 2.0))])
    assert rows_of(report) == [("", "x", "not-found")]
    assert [note.split(";")[0] for note in report.notes] == [
        "the index does not say what computed it", "reference x is too short to be recognised (2.0 s)",
    ]  # fmt: skip
    assert report.status == 3  # nothing was examined


def test_a_fingerprint_that_does_not_cover_its_recording_is_told(references: list[Reference]) -> None:
    whole = references[0].fingerprint
    part = replace(whole, words=whole.words[: len(whole.words) // 2])
    report = matching.match([], [Reference("whole", whole), Reference("part", part)])
    (note,) = (note for note in report.notes if "covers" in note)
    length = fingerprints.heard_seconds(part)
    assert note.startswith(f"reference part is {whole.duration:.1f} s long, but its fingerprint covers {length:.1f} s;")


def test_why_a_long_file_matches_nothing_is_told(tmp_path: Path, references: list[Reference]) -> None:
    bar = tunes.music(42, 8, media.RATE)[: 32 * 1365]  # a whole number of words, so that they recur
    loop = tunes.write(tmp_path / "loop.wav", np.tile(bar, 40), media.RATE)
    silent = silence(tmp_path / "silence.wav")
    itself = Reference("LOOP", fingerprint(loop))
    report = matching.match([entry(loop), entry(silent)], [*references, itself])
    assert [row for row in rows_of(report) if row[0]] == [("loop.wav", "", "absent"), ("silence.wav", "", "absent")]
    repeats = "a loop of few seconds; what repeats so often cannot be recognised, not even by itself"
    assert [note for note in report.notes if "loop" in note or "silent" in note] == [
        f"reference LOOP is {repeats}",
        f"loop.wav is {repeats}",
        "silence.wav is silent or constant; its sound tells nothing",
    ]


# --- by paths -----------------------------------------------------------------------------------------------------


def test_from_paths_to_an_index_and_back(tmp_path: Path, songs: Path) -> None:
    out = tmp_path / "index.jsonl"
    assert matching.write_index([songs], out) == (4, ())
    assert [reference.id for reference in index.read(out)] == ["song0", "song1", "song2", "song3"]
    mine = tmp_path / "mine"
    mine.mkdir()
    tunes.encode(songs / "song2.flac", mine / "unknown.mp3")
    (mine / "notes.txt").write_text("not audio")
    report = matching.match_paths([mine], out)
    assert rows_of(report)[0] == (f"{mine.as_posix()}/unknown.mp3", "song2", "matched")
    assert report.noted == (f"{mine.as_posix()}/notes.txt",)
    assert report.summary["found"] == 1


def test_two_files_with_one_id(tmp_path: Path, songs: Path) -> None:
    tunes.encode(songs / "song0.flac", tmp_path / "song0.mp3")
    with pytest.raises(UsageError, match="song0"):
        matching.write_index([songs, tmp_path], tmp_path / "index.jsonl")


def test_what_could_not_be_read_is_told_and_not_written(tmp_path: Path, songs: Path) -> None:
    (tmp_path / "bad.flac").write_bytes((songs / "song0.flac").read_bytes()[:-9000])
    written, unexamined = matching.write_index([songs / "song1.flac", tmp_path / "bad.flac"], tmp_path / "index.jsonl")
    assert written == 1
    assert [Path(one.path).name for one in unexamined] == ["bad.flac"]


# --- excerpts, speeds, what is written ------------------------------------------------------------------------------


def test_a_short_excerpt_is_matched(tmp_path: Path, songs: Path, references: list[Reference]) -> None:
    cut(songs / "song1.flac", tmp_path / "five.mp3", 17.2, 5, "-b:a", "64k")
    (row,) = [row for row in matching.match([entry(tmp_path / "five.mp3")], references).rows if row.file]
    assert isinstance(row, Match)
    assert (row.id, row.state, row.same_timeline) == ("REF-1", "matched", False)
    assert row.offset_s == pytest.approx(-17.2, abs=0.06)
    assert row.coverage_file == pytest.approx(1, abs=0.05)


def test_another_speed_is_looked_for_when_asked(tmp_path: Path, songs: Path, references: list[Reference]) -> None:
    audio = tunes.music(12, SECONDS)
    files = [
        entry(tunes.write(tmp_path / "fast.wav", audio, round(tunes.RATE * 1.04))),
        entry(
            tunes.write(tmp_path / "slow.wav", tunes.music(11, SECONDS)[8 * tunes.RATE :], round(tunes.RATE * 0.945))
        ),
        entry(tunes.write(tmp_path / "other.wav", tunes.music(99, SECONDS))),
        entry(tunes.encode(songs / "song0.flac", tmp_path / "same.ogg")),
    ]
    assert {row[2] for row in rows_of(matching.match(files[:3], references)) if row[0]} == {"absent"}
    report = matching.match(files, references, effort=matching.Effort(speed=True))
    assert rows_of(report) == [
        ("fast.wav", "REF-2", "matched"), ("other.wav", "", "absent"), ("same.ogg", "REF-0", "matched"),
        ("slow.wav", "REF-1", "matched"), ("", "REF-3", "not-found"),
    ]  # fmt: skip
    fast, _, same, slow = (row for row in report.rows[:4] if isinstance(row, Match))
    assert (fast.speed, slow.speed) == (pytest.approx(1.04, abs=0.002), pytest.approx(0.945, abs=0.002))
    assert (fast.same_timeline, slow.same_timeline, same.same_timeline, same.speed) == (False, False, True, 1)
    assert fast.offset_s == pytest.approx(0, abs=0.06)
    assert slow.offset_s == pytest.approx(-8 / 0.945, abs=0.1)


def test_what_cannot_be_played_at_other_speeds_is_told(
    tmp_path: Path, references: list[Reference], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "at_speeds", lambda files, *_: [(one, Unexamined(one.path, "gone")) for one in files])
    report = matching.match(
        [entry(tunes.write(tmp_path / "other.wav", tunes.music(99, 20)))],
        references,
        effort=matching.Effort(speed=True),
    )
    assert rows_of(report)[0] == ("other.wav", "", "unreadable")
    assert report.unexamined == (Unexamined("other.wav", "gone"),)


def test_what_was_altered_much_is_found_when_asked(tmp_path: Path, songs: Path, references: list[Reference]) -> None:
    altered = "bass=g=12:f=150,treble=g=8,aecho=0.8:0.8:60|110:0.6|0.4"
    cut(songs / "song1.flac", tmp_path / "altered.wav", 8.1, 20, "-af", altered)
    files = [entry(tmp_path / "altered.wav"), entry(tunes.write(tmp_path / "other.wav", tunes.music(99, 20)))]
    assert {row[2] for row in rows_of(matching.match(files, references)) if row[0]} == {"absent"}
    report = matching.match(files, references, effort=matching.Effort(sensitive=True))
    assert rows_of(report)[:2] == [("altered.wav", "REF-1", "matched"), ("other.wav", "", "absent")]
    (row, *_) = report.rows
    assert isinstance(row, Match)
    assert row.offset_s == pytest.approx(-8.1, abs=0.1)


@pytest.mark.parametrize(("semitones", "said"), [(2, "2 semitones higher"), (-3, "3 semitones lower")])
def test_another_pitch_is_for_review(
    semitones: int, said: str, tmp_path: Path, songs: Path, references: list[Reference]
) -> None:
    factor = 2 ** (semitones / 12)
    transposed = f"asetrate={tunes.RATE * factor},aresample={tunes.RATE},atempo={1 / factor}"
    tunes.encode(songs / "song1.flac", tmp_path / "transposed.wav", "-af", transposed)
    files = [entry(tmp_path / "transposed.wav")]
    assert rows_of(matching.match(files, references, effort=matching.Effort(sensitive=True)))[0][2] == "absent"
    report = matching.match(files, references, effort=matching.Effort(pitch=True))
    assert rows_of(report)[0] == ("transposed.wav", "REF-1", "ambiguous")
    assert f"transposed.wav sounds about {said} than REF-1" in report.notes


def test_what_cannot_be_heard_again_is_told(
    tmp_path: Path, references: list[Reference], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(path: Path, name: str = "") -> Iterator[bytes]:
        raise Unreadable(f"{name}: gone")
        yield b""

    monkeypatch.setattr(media, "samples", gone)
    files = [entry(tunes.write(tmp_path / "other.wav", tunes.music(99, 20)))]
    report = matching.match(files, references, effort=matching.Effort(sensitive=True))
    assert rows_of(report)[0] == ("other.wav", "", "unreadable")
    assert report.unexamined == (Unexamined("other.wav", "gone"),)


def test_how_a_file_was_heard_is_told(tmp_path: Path, references: list[Reference]) -> None:
    mono = tunes.write(tmp_path / "mono.wav", tunes.music(99, 20))
    tunes.encode(mono, tmp_path / "against.wav", "-af", "pan=stereo|c0=c0|c1=-1*c0")
    report = matching.match([entry(tmp_path / "against.wav")], references)
    assert any(note.startswith("against.wav: ") for note in report.notes), report.notes


@pytest.mark.parametrize("muted", [False, True])
def test_what_was_put_in_place_of_a_part_is_no_part_of_the_match(
    muted: bool, tmp_path: Path, songs: Path, references: list[Reference]
) -> None:
    whole = tunes.music(11, SECONDS)
    other = np.zeros(12 * tunes.RATE) if muted else tunes.music(99, 12)
    holed = np.concatenate((whole[: 14 * tunes.RATE], other, whole[26 * tunes.RATE :]))
    files = [entry(tunes.write(tmp_path / "holed.wav", holed)), entry(tunes.write(tmp_path / "whole.wav", whole))]
    for file, timeline, covered in ((files[0], None, 0.7), (files[1], True, 1.0)):
        (row,) = [row for row in matching.match([file], references).rows if row.file]
        assert isinstance(row, Match)
        assert (row.id, row.state, row.same_timeline) == ("REF-1", "matched", timeline)
        assert row.coverage_reference == pytest.approx(covered, abs=0.07)


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        ({"found": 487, "not_found": 9, "ambiguous": 4}, "487 of 500 found; 9 absent; 4 ambiguous"),
        ({"found": 500}, "500 of 500 found"),
        ({"found": 498, "conflict": 2}, "498 of 500 found; 2 claimed by several files"),
    ],
)
def test_the_outcome_in_short(states: dict[str, int], sentence: str) -> None:
    counts = {"references": 500, "found": 0, "conflict": 0, "ambiguous": 0, "not_found": 0} | states
    assert matching._sentence(counts) == sentence


def test_what_was_ordered_is_written(tmp_path: Path, songs: Path) -> None:
    out = tmp_path / "index.jsonl"
    matching.write_index([songs], out)
    mine = tmp_path / "mine"
    mine.mkdir()
    tunes.encode(songs / "song2.flac", mine / "unknown.mp3")
    cut(songs / "song1.flac", mine / "part.ogg", 3, 20)
    orders = Orders(tmp_path / "mapping.csv", tmp_path / "audio")
    report = matching.match_paths([mine], out, orders=orders)
    assert [path.name for path in (tmp_path / "audio").iterdir()] == ["song2.mp3"]
    assert (tmp_path / "mapping.csv").read_text().splitlines() == [
        "file,id", f"{mine.as_posix()}/part.ogg,song1", f"{mine.as_posix()}/unknown.mp3,song2",
    ]  # fmt: skip
    assert len([note for note in report.notes if "part.ogg is not in the folder" in note]) == 1
    with pytest.raises(UsageError, match="exists"):  # before anything is heard
        matching.match_paths([tmp_path / "nowhere"], tmp_path / "no index", orders=orders)
