"""Files to references and files to one another, from audio to rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tunes

from leakscan import alignment, index, matching
from leakscan.fingerprints import fingerprint
from leakscan.model import (
    Alignment,
    Entry,
    Fingerprint,
    Match,
    Reference,
    Report,
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
        "references": 4, "found": 2, "conflict": 0, "ambiguous": 0, "not_found": 2,
        "files": 6, "absent": 2, "too_short": 1, "unreadable": 1,
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
    ("offset", "length", "covered", "speed", "expected"),
    [
        (0.0, 100.0, 100.0, 1.0, True),
        (0.03, 99.98, 100.0, 1.0, None),  # by the error of the offset perhaps 0.1 s too short at the end
        (0.03, 101.0, 100.0, 1.0, True),
        (-0.03, 101.0, 100.0, 1.0, True),
        (0.05, 101.0, 100.0, 1.0, None),
        (0.15, 101.0, 100.0, 1.0, None),
        (0.17, 101.0, 100.0, 1.0, False),
        (-0.17, 101.0, 100.0, 1.0, False),
        (0.0, 99.0, 99.0, 1.0, False),
        (0.0, 150.0, 100.0, 1.0, True),
        (0.0, 100.0, 60.0, 1.0, None),  # something in between may be another
        (0.0, 100.0, 100.0, 1.01, False),
    ],
)
def test_the_same_timeline_is_claimed_only_when_certain(
    offset: float, length: float, covered: float, speed: float, expected: bool | None
) -> None:
    found = Alignment(offset, (0, covered), (0, covered), 0.03, 0.1, 500, "A", 0.99, speed)
    assert matching._same_timeline(found, Fingerprint(b"", length), Fingerprint(b"", 100.0)) is expected


def test_notes_on_the_index(songs: Path) -> None:
    report = matching.match([], [Reference("x", Fingerprint(b"", 2.0))])
    assert rows_of(report) == [("", "x", "not-found")]
    assert [note.split(";")[0] for note in report.notes] == [
        "the index does not say what computed it", "reference x is too short to be recognised (2.0 s)",
    ]  # fmt: skip
    assert report.status == 3  # nothing was examined


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
