"""What sets share by sound, by bytes, by name and by group; and splits that are repaired until they share nothing."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tunes

import leakscan
from leakscan import fingerprints, index, overlapping, store
from leakscan.exhibits import Wanted
from leakscan.model import Edge, Reference, Report, UsageError
from leakscan.overlapping import Options


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve recordings, 0.wav to 11.wav, and copies of the first two as other files."""
    folder = tmp_path_factory.mktemp("overlapping")
    (folder / "audio").mkdir()
    for number in range(12):
        tunes.write(folder / "audio" / f"{number}.wav", tunes.music(50 + number, 9, 11025), 11025)
    tunes.encode(folder / "audio" / "0.wav", folder / "audio" / "0-copy.mp3")
    tunes.encode(folder / "audio" / "1.wav", folder / "audio" / "1-copy.flac")
    return folder


def split(folder: Path, name: str, items: Mapping[str, str], **more: Mapping[str, str]) -> Path:
    """Records of items, with the audio of each, and other fields by item."""
    path = folder / f"{name}.jsonl"
    records = [
        {
            "id": item,
            "audio": f"audio/{audio}",
            **{field: values[item] for field, values in more.items() if item in values},
        }
        for item, audio in items.items()
    ]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def overlap(options: Options | None = None, **paths: Path) -> Report:
    return overlapping.overlap_paths({name: [path] for name, path in paths.items()}, options=options or Options())


def rows(report: Report) -> list[tuple[int, str, str, str, str, str]]:
    return [(row.group, row.set_a, Path(row.a).name, row.set_b, Path(row.b).name, row.relation)
            for row in report.rows if isinstance(row, Edge)]  # fmt: skip


def findings(report: Report) -> list[tuple[str, str, str, int]]:
    return [(one.rule, one.level, one.confidence, one.count) for one in report.findings]


def test_splits_that_share_recordings(release: Path) -> None:
    train = split(release, "train", {"t1": "0.wav", "t2": "1.wav", "t3": "2.wav", "t4": "3.wav", "t5": "3.wav"})
    test = split(release, "test", {"e1": "0-copy.mp3", "e2": "1-copy.flac", "e3": "2.wav", "e4": "4.wav"})
    report = overlap(train=train, test=test)
    assert rows(report) == [
        (1, "train", "0.wav", "test", "0-copy.mp3", "same-recording"),
        (2, "train", "1.wav", "test", "1-copy.flac", "identical-audio"),
        (3, "train", "2.wav", "test", "2.wav", "identical-bytes"),
    ]
    assert findings(report) == [
        ("shared-recording", "error", "strong", 2), ("shared-recording", "error", "proven", 2),
        ("shared-recording", "error", "proven", 2),
    ]  # fmt: skip
    assert report.findings[0].message == "one recording is in 'train' (1), 'test' (1): same-recording"
    assert [place.id for place in report.findings[0].places] == ["t1", "e1"]
    assert report.status == 1
    assert report.summary == {
        "items": {"train": 5, "test": 4},
        "recordings": {"train": 4, "test": 4, "all": 8},
        "independent": {"train": 4, "test": 4, "all": 5},
        "shared": {"train": {"train": 0, "test": 3}, "test": {"train": 3, "test": 0}},
        "members": {"train": {"train": 0, "test": 3}, "test": {"train": 3, "test": 0}},
        "shared_by_sound": 3,
        "shared_by_name": 0,
    }
    assert (report.examined.records, report.examined.audio) == (9, 7)


def test_a_medley_makes_its_parts_no_one_recording(release: Path, tmp_path: Path) -> None:
    songs = [tunes.music(70 + number, 20, 11025) for number in range(3)]
    for number, song in enumerate(songs):
        tunes.write(tmp_path / f"{number}.wav", song, 11025)
    tunes.write(tmp_path / "medley.wav", np.concatenate(songs[:2]), 11025)
    mine, others = (tmp_path / name for name in ("mine", "others"))
    for folder, names in ((mine, ("0.wav", "1.wav", "2.wav")), (others, ("medley.wav",))):
        folder.mkdir()
        for name in names:
            (tmp_path / name).rename(folder / name)
    report = overlap(mine=mine, others=others)
    assert [one.count for one in report.findings] == [2, 2]
    assert report.summary["independent"] == {"mine": 3, "others": 1, "all": 3}
    assert report.summary["shared"] == {"mine": {"mine": 0, "others": 2}, "others": {"mine": 2, "others": 0}}
    assert report.summary["members"] == {"mine": {"mine": 0, "others": 2}, "others": {"mine": 1, "others": 0}}
    (mine / "2.wav").rename(others / "2.wav")
    (mine / "1.wav").rename(others / "1.wav")
    report = overlap(mine=mine, others=others)
    assert report.summary["independent"] == {"mine": 1, "others": 2, "all": 3}  # others: the medley repeats a part


def test_sets_that_share_nothing_are_clean(release: Path) -> None:
    one, other = (
        split(release, "one", {"a": "5.wav"}),
        split(release, "other", {"b": "6.wav", "c": "0.wav", "d": "0-copy.mp3"}),
    )
    report = overlap(one=one, other=other)
    assert (report.rows, report.findings, report.status) == ((), (), 0)
    assert report.summary["shared"]["other"]["other"] == 1  # within a set: said, and no overlap
    assert report.summary["independent"] == {"one": 1, "other": 2, "all": 3}


def test_an_index_and_digests_and_ids(release: Path, tmp_path: Path) -> None:
    fp = fingerprints.fingerprint(release / "audio" / "0.wav")
    index.write_plain([Reference("REF", fp)], tmp_path / "index.jsonl")
    sums = [hashlib.new(name, (release / "audio" / "7.wav").read_bytes()).hexdigest() for name in ("md5", "sha256")]
    (tmp_path / "sums.txt").write_text(f"{sums[0]}\n{'0' * 32}\n")
    (tmp_path / "more.txt").write_text(f"{sums[1]}  7.wav\n{'0' * 32}\njamendo:7\n")
    (tmp_path / "ids.txt").write_text("https://www.jamendo.com/track/7\njamendo:8\n")
    bench = split(release, "bench", {"b1": "0-copy.mp3", "b2": "7.wav"})
    report = overlapping.overlap_paths(
        {
            "bench": [bench],
            "index": [tmp_path / "index.jsonl"],
            "sums": [tmp_path / "sums.txt"],
            "more": [tmp_path / "more.txt"],
            "ids": [tmp_path / "ids.txt"],
        }
    )
    assert rows(report) == [
        (1, "bench", "0-copy.mp3", "index", "REF", "same-recording"),
        (2, "bench", "7.wav", "sums", "sums.txt:1", "identical-bytes"),
        (2, "bench", "7.wav", "more", "more.txt:1", "identical-bytes"),
    ]
    assert findings(report) == [
        ("shared-recording", "error", "strong", 2), ("shared-recording", "error", "proven", 3),
        ("shared-id", "error", "strong", 1), ("shared-id", "error", "strong", 1),
    ]  # fmt: skip
    messages = [one.message for one in report.findings[2:]]
    assert messages == [
        "'more' and 'ids' share 1 ID of a recording (jamendo); nothing was heard of these",
        "'sums' and 'more' share 1 digest that both state (md5); nothing was heard of these",
    ]
    assert report.summary["shared"]["more"] == {"bench": 1, "index": 0, "sums": 2, "more": 0, "ids": 1}


def test_an_id_that_a_list_holds_in_several_forms_is_one_recording(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("jamendo:1\ntrack_0000001\nhttps://www.jamendo.com/track/1/song\n")
    two.write_text("jamendo:2\n")
    report = overlap(one=one, two=two)
    assert (report.findings, report.status) == ((), 0)
    assert report.summary["independent"] == {"one": 1, "two": 1, "all": 2}
    assert report.summary["shared"]["one"] == {"one": 1, "two": 0}
    assert report.summary["shared_by_name"] == 0


def test_lists_alone_can_be_compared(tmp_path: Path) -> None:
    for name, text in (("a", "fma:1\nfma:2\n"), ("b", "FMA:000002\n"), ("c", "fma:3\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    report = overlap(a=tmp_path / "a.txt", b=tmp_path / "b.txt")
    assert (findings(report), report.status, report.rows) == ([("shared-id", "error", "strong", 1)], 1, ())
    assert overlap(a=tmp_path / "a.txt", c=tmp_path / "c.txt").status == 0


def test_groups_beyond_sound(release: Path) -> None:
    artists = {"a": "Someone", "b": "Other", "c": "someone", "d": "Third"}
    one = split(release, "one", {"a": "5.wav", "b": "6.wav"}, artist=artists)
    other = split(release, "other", {"c": "7.wav", "d": "8.wav"}, artist=artists)
    report = overlap(Options(group_by=("artist",)), one=one, other=other)
    assert findings(report) == [("shared-group", "warning", "strong", 1)]
    assert "omeone" not in report.findings[0].message
    assert report.summary["shared_artist"] == {"one": {"one": 2, "other": 1}, "other": {"one": 1, "other": 2}}
    assert (report.summary["independent"]["all"], report.summary["independent_artist"]) == (4, 3)
    with pytest.raises(UsageError, match=r"no record of any set has a field 'artis'; .*artist"):
        overlap(Options(group_by=("artis",)), one=one, other=other)


def moved(paths: Mapping[str, Path], repair: Path, folder: Path) -> dict[str, Path]:
    """The splits as a repair says they should be."""
    goes = {(move["id"], move["from"]): move["to"] for move in csv.DictReader(repair.read_text().splitlines())}
    records: dict[str, list[dict[str, Any]]] = {name: [] for name in paths}
    for name, path in paths.items():
        for record in map(json.loads, path.read_text().splitlines()):
            records[goes.get((record["id"], name), name)].append(record)
    after = {name: folder / f"{name}-repaired.jsonl" for name in paths}
    for name, path in after.items():
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records[name]))
    return after


def test_a_repaired_split_shares_nothing(release: Path, tmp_path: Path) -> None:
    train = {f"t{number}": f"{number}.wav" for number in range(8)} | {"t8": "0.wav"}
    test = {"e1": "0-copy.mp3", "e2": "1-copy.flac", "e3": "8.wav", "e4": "9.wav", "e5": "10.wav"}
    labels = {item: "xy"[int(item[1:]) % 2] for item in (*train, *test)}
    artists = {item: "same" if item in ("t7", "e5") else item for item in (*train, *test)}
    paths = {
        "train": split(release, "before-train", train, label=labels, artist=artists),
        "test": split(release, "before-test", test, label=labels, artist=artists),
    }
    repair = tmp_path / "repair.csv"
    with store.opened(str(tmp_path / "cache")) as memory:

        def run(paths: Mapping[str, Path], repair: Path | None) -> Report:
            options = Options(group_by=("artist",), label="label" if repair else None, repair=repair)
            return overlapping.overlap_paths(
                {name: [path] for name, path in paths.items()}, memory=memory, options=options
            )

        report = run(paths, repair)
        assert findings(report) == [
            ("shared-recording", "error", "strong", 2), ("shared-recording", "error", "proven", 2),
            ("shared-group", "warning", "strong", 1),
        ]  # fmt: skip
        again = tmp_path / "again.csv"
        run(paths, again)
        assert again.read_text() == repair.read_text()
        after = moved(paths, repair, release)
        second = run(after, None)
    assert (second.findings, second.status) == ((), 0)
    assert second.summary["items"] == report.summary["items"] == {"train": 9, "test": 5}
    with pytest.raises(UsageError, match="exists already"):
        overlap(Options(repair=repair), **paths)


def test_what_cannot_be_repaired_is_said_and_nothing_written(release: Path, tmp_path: Path) -> None:
    one, other = split(release, "one", {"a": "2.wav"}), split(release, "other", {"b": "2.wav"})
    report = overlap(Options(repair=tmp_path / "repair.csv"), one=one, other=other)
    assert not (tmp_path / "repair.csv").exists()
    assert "no repair was written: it is impossible within 2%" in report.notes[-1]
    (tmp_path / "ids.txt").write_text("fma:1\n")
    with pytest.raises(UsageError, match="'ids' is an index or a list"):
        overlap(Options(repair=tmp_path / "repair.csv"), one=one, ids=tmp_path / "ids.txt")
    with pytest.raises(UsageError, match="--label needs --repair"):
        overlap(Options(label="x"), one=one, other=other)


def test_nothing_is_repaired_while_something_is_not_read(release: Path, tmp_path: Path) -> None:
    artists = {"a": "x", "b": "x", "c": "z"}
    one = split(release, "one", {"a": "gone.wav"}, artist=artists)
    other = split(release, "other", {"b": "gone.wav", "c": "2.wav"}, artist=artists)
    report = overlap(Options(group_by=("artist",), repair=tmp_path / "repair.csv"), one=one, other=other)
    assert not (tmp_path / "repair.csv").exists()
    assert report.status == 3
    assert report.notes[-1] == (
        "no repair was written: not everything was read (2 entries); mend that, or take it out of the sets"
    )
    assert findings(report) == [("shared-group", "warning", "strong", 1)]  # which no audio is needed for
    assert report.summary["items"] == {"one": 1, "other": 2}


def test_records_without_audio_can_be_grouped_and_moved(tmp_path: Path) -> None:
    paths = {}
    for name, artists in (("one", "abcd"), ("other", "aefg")):
        paths[name] = tmp_path / f"{name}.jsonl"
        records = [{"id": f"{name}-{artist}", "text": "x", "artist": artist} for artist in artists]
        paths[name].write_text("".join(f"{json.dumps(record)}\n" for record in records))
    report = overlap(Options(group_by=("artist",), repair=tmp_path / "repair.csv"), **paths)
    assert findings(report) == [("shared-group", "warning", "strong", 1)]
    assert report.findings[0].message == "'one' and 'other' share 1 value of 'artist'"
    assert len((tmp_path / "repair.csv").read_text().splitlines()) == 1 + report.summary["repair"]["moved"] == 3


def test_what_was_not_read_is_no_pass(release: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.wav").write_bytes((release / "audio" / "3.wav").read_bytes()[:5000])
    one = split(release, "one", {"a": "5.wav", "gone": "gone.wav"})
    report = overlap(one=one, other=tmp_path)
    assert [Path(one.path).name for one in report.unexamined] == ["one.jsonl:2", "bad.wav"]
    assert report.status == 3
    with pytest.raises(UsageError, match="two sets"):
        overlap(one=one)


def test_a_page_gets_its_exhibits(release: Path) -> None:
    one, other = split(release, "one", {"a": "0.wav"}), split(release, "other", {"b": "0-copy.mp3"})
    named = {"one": [one], "other": [other]}
    report = overlapping.overlap_paths(named, wanted=Wanted(0))
    assert [exhibit.row for exhibit in report.exhibits] == list(report.rows)
    assert report.exhibits[0].b.duration == pytest.approx(9, abs=0.2)
    assert overlapping.overlap_paths(named).exhibits == ()


def test_the_public_function(release: Path) -> None:
    one, other = split(release, "one", {"a": "2.wav"}), split(release, "other", {"b": "2.wav"})
    assert leakscan.overlap({"one": one, "other": [other]}).summary["shared_by_sound"] == 1
