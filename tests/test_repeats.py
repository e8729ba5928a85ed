"""Files to one another: what is repeated, which copy to keep, and what people decided."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tunes

from leakscan import hearing, repeats
from leakscan.model import Edge, Entry, Fingerprint, Private, Report, UsageError
from leakscan.reviewing import Reviews

SECONDS = 40


@pytest.fixture(scope="module")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tunes.songs(tmp_path_factory.mktemp("repeats") / "songs", SECONDS)


def entry(path: Path) -> Entry:
    return Entry(path.name, path, path.stat().st_size)


def silence(path: Path, seconds: float = 20) -> Path:
    return tunes.write(path, np.zeros(int(seconds * tunes.RATE)))


def cut(source: Path, target: Path, start: float, seconds: float, *options: str) -> Path:
    return tunes.encode(source, target, "-ss", str(start), "-t", str(seconds), *options)


def relations(report: Report) -> list[tuple[int, str, str, str]]:
    return [(row.group, row.a, row.b, row.relation) for row in report.rows if isinstance(row, Edge)]


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory, songs: Path) -> tuple[Path, Report]:
    """A folder in which much is repeated, and the report on it."""
    folder = tmp_path_factory.mktemp("repeated")
    song = songs / "song0.flac"
    (folder / "a.flac").write_bytes(song.read_bytes())
    (folder / "a-again.flac").write_bytes(song.read_bytes())
    tunes.encode(song, folder / "b.wav")
    tunes.encode(song, folder / "c.mp3", "-b:a", "64k")
    cut(song, folder / "d-crop.ogg", 10.01, 20)
    (folder / "e.flac").write_bytes((songs / "song1.flac").read_bytes())
    silence(folder / "f-silence.wav")
    silence(folder / "g-silence.wav", 25)
    tunes.encode(folder / "f-silence.wav", folder / "h-silence.flac")
    cut(song, folder / "i-short.wav", 3, 4)
    (folder / "j-short.wav").write_bytes((folder / "i-short.wav").read_bytes())
    (folder / "k.mp3").write_bytes(b"broken")
    (folder / "l.mp3").write_bytes(b"broken")
    os.link(folder / "e.flac", folder / "m-hard.flac")
    (folder / "n-soft.flac").symlink_to("e.flac")
    return folder, repeats.duplicates([entry(path) for path in sorted(folder.iterdir())])


def test_what_is_repeated_is_found_with_its_relation(repeated: tuple[Path, Report]) -> None:
    _, report = repeated
    assert report.row is Edge
    assert relations(report) == [
        (1, "a-again.flac", "a.flac", "identical-bytes"),
        (1, "a-again.flac", "b.wav", "identical-audio"),
        (1, "a-again.flac", "c.mp3", "same-recording"),
        (1, "a-again.flac", "d-crop.ogg", "excerpt"),
        (1, "c.mp3", "d-crop.ogg", "excerpt"),
        (2, "i-short.wav", "j-short.wav", "identical-bytes"),
        (3, "k.mp3", "l.mp3", "identical-bytes"),
    ]
    crop = report.rows[3]
    assert isinstance(crop, Edge)
    assert crop.offset_s == pytest.approx(10.01, abs=0.06)
    assert crop.coverage_a == pytest.approx(0.5, abs=0.03)
    assert crop.coverage_b == pytest.approx(1, abs=0.03)
    assert report.rows[0] == replace(crop, b="a.flac", relation="identical-bytes", score=1.0, offset_s=0.0,
                                     overlap_s=40.0, coverage_a=1.0, coverage_b=1.0, key_b=crop.key_a)  # fmt: skip


def test_each_group_is_a_warning_and_names_the_copy_to_keep(repeated: tuple[Path, Report]) -> None:
    _, report = repeated
    assert {row.keep for row in report.rows if isinstance(row, Edge) and row.group == 1} == {
        "a-again.flac"
    }  # b.wav holds no more
    assert [
        (finding.rule, finding.level, finding.confidence, finding.count, finding.place.path)
        for finding in report.findings
    ] == [
        ("duplicate-recording", "warning", "strong", 5, "a-again.flac"),
        ("duplicate-recording", "warning", "proven", 2, "i-short.wav"),
        ("duplicate-recording", "warning", "proven", 2, "k.mp3"),
    ]
    assert [place.path for place in report.findings[0].places] == [
        "a-again.flac", "a.flac", "b.wav", "c.mp3", "d-crop.ogg",
    ]  # fmt: skip
    assert report.summary == {
        "files": 13, "groups": 3, "files_in_groups": 9, "related_pairs": 0, "can_be_dropped": 6,
        "by_title_and_artist": {"finds": 0, "misses": 0, "untagged": 12, "wrongly_joins": 0},
    }  # fmt: skip


def test_nothing_is_left_out_in_silence(repeated: tuple[Path, Report]) -> None:
    _, report = repeated
    assert [one.path for one in report.unexamined] == ["k.mp3", "l.mp3"]
    assert {note.partition(" is ")[::2] for note in report.notes} == {
        ("m-hard.flac", "a link to the same file as e.flac"),
        ("n-soft.flac", "a link to the same file as e.flac"),
        ("f-silence.wav", "silent or constant; its sound tells nothing"),
        ("g-silence.wav", "silent or constant; its sound tells nothing"),
        ("h-silence.flac", "silent or constant; its sound tells nothing"),
        ("i-short.wav", "too short to be recognised by sound (4.0 s)"),
        ("j-short.wav", "too short to be recognised by sound (4.0 s)"),
    }
    assert (report.examined.files, report.examined.audio, report.status) == (13, 11, 3)


def test_the_report_does_not_depend_on_the_order_of_the_files(repeated: tuple[Path, Report]) -> None:
    folder, report = repeated
    assert repeats.duplicates([entry(path) for path in sorted(folder.iterdir(), reverse=True)]) == report


def test_nothing_repeated_is_clean(songs: Path) -> None:
    report = repeats.duplicates([entry(path) for path in songs.iterdir()])
    assert (report.rows, report.findings, report.unexamined, report.notes, report.status) == ((), (), (), (), 0)


def test_a_named_file_is_audio_whatever_it_looks_like(tmp_path: Path, songs: Path) -> None:
    path = tmp_path / "song.txt"
    path.write_text("words")
    report = repeats.duplicate_paths([path])
    assert [one.path for one in report.unexamined] == [path.as_posix()]


# --- claims, decisions, what can go -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def claimed(tmp_path_factory: pytest.TempPathFactory, songs: Path) -> list[Entry]:
    """Two recordings twice each, under tags that agree and disagree, and a third with the tags of the first."""
    folder = tmp_path_factory.mktemp("claimed")

    def made(number: int, name: str, title: str, *more: str) -> None:
        metadata = [f"title={title}", "artist=Somebody", *more]
        options = [part for text in metadata for part in ("-metadata", text)]
        tunes.encode(songs / f"song{number}.flac", folder / name, "-t", "15", *options)

    made(0, "a1.flac", "One", "copyright=CC BY")
    made(0, "a2.mp3", "one!", "copyright=CC BY-NC")
    made(1, "b1.flac", "Two")
    made(1, "b2.mp3", "Deux", "copyright=CC BY")
    made(2, "c.flac", "One")
    return [entry(path) for path in sorted(folder.iterdir())]


def test_titles_are_held_against_the_sound(claimed: list[Entry]) -> None:
    report = repeats.duplicates(claimed)
    assert [(row.a, row.b, row.title_artist_agree) for row in report.rows if isinstance(row, Edge)] == [
        ("a1.flac", "a2.mp3", True), ("b1.flac", "b2.mp3", False),
    ]  # fmt: skip
    assert report.summary["by_title_and_artist"] == {"finds": 1, "misses": 1, "untagged": 0, "wrongly_joins": 2}
    (conflict,) = [finding for finding in report.findings if finding.rule == "licence-conflict"]
    assert (conflict.level, [place.path for place in conflict.places]) == ("warning", ["a1.flac", "a2.mp3"])
    assert "BY" not in conflict.message


def test_labels_of_copies_are_held_against_each_other(claimed: list[Entry]) -> None:
    gold = {
        "a1": {"tempo": "120", "key": "C major"}, "a2": {"tempo": "60", "key": " c  MAJOR"},
        "b1": {"tempo": "90", "key": ""}, "b2": {"tempo": "90", "key": "d"}, "c": {"tempo": "1", "key": "x"},
    }  # fmt: skip
    report = repeats.duplicates(claimed, private=Private(gold=gold))
    (conflict,) = [finding for finding in report.findings if finding.rule == "label-conflict"]
    assert (conflict.level, conflict.confidence, conflict.count) == ("warning", "strong", 2)
    assert conflict.message == "copies of one recording have 2 different values of 'tempo' in the gold"


def test_what_people_judged_outlives_new_names(tmp_path: Path, claimed: list[Entry]) -> None:
    (row, _) = repeats.duplicates(claimed).rows
    assert isinstance(row, Edge)
    assert row.key_a.startswith("sha256:")
    for number, one in enumerate(claimed):
        (tmp_path / f"{9 - number}{one.file.suffix}").write_bytes(one.file.read_bytes())
    renamed = [entry(path) for path in sorted(tmp_path.iterdir())]
    report = repeats.duplicates(renamed, reviews=Reviews({frozenset((row.key_a, row.key_b)): False}))
    assert relations(report) == [(1, "6.mp3", "7.flac", "same-recording")]
    assert (report.summary["reviewed_different"], report.summary["reviewed_same"]) == (1, 0)


def test_people_may_join_what_sound_does_not(claimed: list[Entry]) -> None:
    one, _, other, _, third = claimed
    keys = [
        repeats.content_key(fp, None)
        for _, fp in hearing.fingerprint_files([one, third])
        if isinstance(fp, Fingerprint)
    ]
    report = repeats.duplicates([one, other, third], reviews=Reviews({frozenset(keys): True, frozenset("xy"): True}))
    assert relations(report) == [(1, "a1.flac", "c.flac", "same-recording")]
    assert report.notes == (
        "1 pairs are joined by their reviewers alone: offset and overlap of these were not measured",
        (
            "1 of the reviewed pairs name a recording that is not among these; judge a pair again if its files are "
            "here: other versions of ffmpeg may give other keys"
        ),
    )
    assert report.summary["reviewed_elsewhere"] == 1


def test_only_what_the_kept_copy_holds_can_go(tmp_path: Path, songs: Path, repeated: tuple[Path, Report]) -> None:
    """Copies and excerpts, no parts, no medleys, and nothing is overwritten."""
    for number in range(2):
        cut(songs / f"song{number}.flac", tmp_path / f"{number}.wav", 0, 20)
        cut(songs / f"song{number}.flac", tmp_path / f"later{number}.wav", 8, 20)
    parts = [tunes.read(tmp_path / name) for name in ("0.wav", "1.wav")]
    tunes.write(tmp_path / "medley.wav", np.concatenate(parts))
    cut(songs / "song0.flac", tmp_path / "0-excerpt.wav", 3, 12)
    drop = tmp_path / "drop.txt"
    report = repeats.duplicates([entry(path) for path in sorted(tmp_path.glob("*.wav"))], drop=drop)
    assert drop.read_text() == "0-excerpt.wav\n"
    assert report.summary["can_be_dropped"] == 1
    (note,) = [note for note in report.notes if "medley" in note]
    assert note.startswith("medley.wav takes part in several groups")
    with pytest.raises(UsageError, match="exists already"):
        repeats.duplicate_paths([songs], drop=drop)
    assert {row.reason for row in repeated[1].rows if isinstance(row, Edge) and row.group == 2} == {
        "of 2 as long and as large the first by name"
    }


def test_the_copy_to_keep_holds_most_of_the_recording(tmp_path: Path) -> None:
    song = tunes.music(11, 30)
    whole = tunes.write(tmp_path / "whole.wav", song)
    silence = np.zeros(12 * tunes.RATE)
    padded = tunes.encode(
        tunes.write(tmp_path / "padded.wav", np.concatenate((silence, song, silence))), tmp_path / "padded.ogg"
    )
    tunes.encode(whole, tmp_path / "coded.mp3", "-b:a", "64k")
    smaller = tunes.encode(whole, tmp_path / "whole.flac")

    def reasons(*names: str) -> set[tuple[str, str]]:
        report = repeats.duplicates([entry(tmp_path / name) for name in names])
        return {(row.keep, row.reason) for row in report.rows if isinstance(row, Edge)}

    assert reasons("whole.wav", padded.name) == {
        ("whole.wav", f"of 2 as long (30.0 s) the largest file, {whole.stat().st_size:,} bytes")
    }
    reason = f"of 3 as long (30.0 s) the largest file, {smaller.stat().st_size:,} bytes"
    aside = "(what is larger holds the samples of a smaller one)"
    assert reasons("whole.wav", "coded.mp3", "whole.flac") == {("whole.flac", f"{reason} {aside}")}
    drop = tmp_path / "drop.txt"
    repeats.duplicate_paths([whole, padded], drop=drop)
    assert drop.read_text().splitlines() == [str(padded)]  # nothing but silence is lost


def test_copies_of_a_copy_are_in_its_group(tmp_path: Path, songs: Path) -> None:
    tunes.encode(songs / "song0.flac", tmp_path / "a.wav")
    for name in ("b.flac", "c.flac"):
        (tmp_path / name).write_bytes((songs / "song0.flac").read_bytes())
    report = repeats.duplicates([entry(path) for path in sorted(tmp_path.iterdir())])
    assert relations(report) == [(1, "a.wav", "b.flac", "identical-audio"), (1, "b.flac", "c.flac", "identical-bytes")]
    assert (report.notes, report.summary["can_be_dropped"]) == ((), 2)


def test_a_copy_with_a_gap_makes_nothing_droppable(tmp_path: Path) -> None:
    whole = tunes.music(11, 60)
    tunes.write(tmp_path / "whole.wav", whole)
    holed = np.concatenate(
        (whole[: 20 * tunes.RATE], tunes.music(99, 8), whole[28 * tunes.RATE :], whole[: tunes.RATE])
    )
    tunes.write(tmp_path / "holed.wav", holed)  # the longer one, which is kept
    tunes.write(tmp_path / "copy.wav", whole[: 59 * tunes.RATE])
    drop = tmp_path / "drop.txt"
    report = repeats.duplicate_paths([tmp_path / name for name in ("whole.wav", "holed.wav")], drop=drop)
    assert report.summary["groups"] == 1
    assert drop.read_text() == ""
    repeats.duplicate_paths([tmp_path / name for name in ("whole.wav", "copy.wav")], drop=tmp_path / "other.txt")
    assert (tmp_path / "other.txt").read_text().splitlines() == [str(tmp_path / "copy.wav")]


def test_a_path_with_a_line_break_is_in_no_list_of_paths(tmp_path: Path) -> None:
    song = tunes.write(tmp_path / "a.wav", tunes.music(12, 30))
    for name in ("plain.wav", "line\nbreak.wav"):
        (tmp_path / name).write_bytes(song.read_bytes())
    drop = tmp_path / "drop.txt"
    report = repeats.duplicate_paths([tmp_path], drop=drop)
    assert report.summary["can_be_dropped"] == 2
    assert drop.read_text().splitlines() == [str(tmp_path / "plain.wav")]
    assert f"{drop} leaves out 1 paths that hold a line break" in report.notes


def test_it_is_said_why_a_longer_medley_is_not_kept(tmp_path: Path) -> None:
    one, two = (tunes.music(seed, 40) for seed in (13, 14))
    for name, samples in (
        ("a.wav", one),
        ("a2.wav", one[: 39 * tunes.RATE]),
        ("b.wav", two),
        ("b2.wav", two[: -tunes.RATE]),
    ):
        tunes.write(tmp_path / name, samples)
    tunes.write(tmp_path / "medley.wav", np.concatenate((one, two)))
    report = repeats.duplicate_paths([tmp_path])
    told = [finding.message for finding in report.findings]
    assert any("the longest, 40.0 s; what is longer is a medley, or was not heard as it is" in text for text in told)


def test_what_was_not_heard_in_full_is_not_droppable(tmp_path: Path) -> None:
    one, two = (tunes.write(tmp_path / f"{seed}.wav", tunes.music(seed, 30)) for seed in (1, 2))
    both = ("-i", str(two), "-map", "0:a", "-map", "1:a", "-c:a", "flac")
    tunes.encode(one, tmp_path / "both.mka", *both)
    drop = tmp_path / "drop.txt"
    report = repeats.duplicate_paths([one, tmp_path / "both.mka"], drop=drop)
    assert report.summary["groups"] == 1
    assert drop.read_text() == ""


def test_copies_at_another_speed_are_found_when_asked_for(tmp_path: Path, songs: Path) -> None:
    for number, speed in ((0, 1.02), (1, 0.96)):
        played = ("-af", f"asetrate={round(tunes.RATE * speed)},aresample={tunes.RATE}")
        tunes.encode(songs / f"song{number}.flac", tmp_path / f"played{number}.mp3", *played)
    files = [entry(songs / f"song{number}.flac") for number in (0, 1, 2)]
    files += [entry(path) for path in sorted(tmp_path.iterdir())]
    assert not {row[3] for row in relations(repeats.duplicates(files))} - {"partial", "related"}
    report = repeats.duplicates(files, speed=True)
    assert relations(report) == [
        (1, "played0.mp3", "song0.flac", "speed-changed"),
        (2, "played1.mp3", "song1.flac", "speed-changed"),
    ]
    assert report.summary["can_be_dropped"] == 0  # it is another sound
    faster, slower = report.rows
    assert isinstance(faster, Edge)
    assert isinstance(slower, Edge)
    assert (faster.speed, slower.speed) == (pytest.approx(1.02, abs=0.003), pytest.approx(0.96, abs=0.003))
    for row in (faster, slower):
        assert row.offset_s == pytest.approx(0, abs=0.15)
        assert min(row.coverage_a or 0, row.coverage_b or 0) > 0.9
