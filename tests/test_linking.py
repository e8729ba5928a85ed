"""Mappings are private, folders of links hold what answers are about; nothing is overwritten, or left out silently."""

from __future__ import annotations

import csv
import json
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from leakscan import linking
from leakscan.linking import Orders
from leakscan.model import Entry, LeakscanError, Match, UsageError


def row(file: str, name: str, state: str = "matched", same_timeline: bool | None = True) -> Match:
    return Match(file, name, state, same_timeline)  # type: ignore[arg-type]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Entry]:
    mine = tmp_path / "mine"
    mine.mkdir()
    made = {}
    for name in ("a song.MP3", "b.flac", "c.ogg"):
        (mine / name).write_bytes(name.encode())
        made[f"mine/{name}"] = Entry(f"mine/{name}", mine / name, len(name))
    return made


ROWS = [
    row("mine/a song.MP3", "MUB-00001"),
    row("mine/b.flac", "MUB-00002", same_timeline=False),
    row("mine/c.ogg", "MUB-00003", same_timeline=None),
]


def inside(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def test_links_lead_to_the_files(tmp_path: Path, files: dict[str, Entry]) -> None:
    done = linking.link(ROWS, files, tmp_path / "out" / "audio")
    assert done.made == ("MUB-00001.mp3",)
    assert inside(tmp_path / "out" / "audio") == {"MUB-00001.mp3": "a song.MP3"}
    assert (tmp_path / "out" / "audio" / "MUB-00001.mp3").readlink() == files["mine/a song.MP3"].file.resolve()


def test_what_runs_on_another_time_line_is_left_out_unless_allowed(tmp_path: Path, files: dict[str, Entry]) -> None:
    done = linking.link(ROWS, files, tmp_path / "audio")
    assert [(file, name, why.split(";")[0]) for file, name, why in done.left] == [
        ("mine/b.flac", "MUB-00002", "it runs on another time line"),
        ("mine/c.ogg", "MUB-00003", "its time line is not certain"),
    ]
    allowed = linking.link(ROWS, files, tmp_path / "all", other_timeline=True)
    assert (allowed.made, allowed.left) == (("MUB-00001.mp3", "MUB-00002.flac", "MUB-00003.ogg"), ())


def test_copies_are_files(tmp_path: Path, files: dict[str, Entry]) -> None:
    linking.link(ROWS, files, tmp_path / "audio", copies=True)
    made = tmp_path / "audio" / "MUB-00001.mp3"
    assert not made.is_symlink()
    assert made.read_text() == "a song.MP3"
    assert made.stat().st_ino != files["mine/a song.MP3"].file.stat().st_ino


@pytest.mark.parametrize("copies", [False, True])
def test_nothing_is_overwritten(tmp_path: Path, files: dict[str, Entry], copies: bool) -> None:
    folder = tmp_path / "audio"
    folder.mkdir()
    (folder / "MUB-00001.mp3").symlink_to(tmp_path / "nowhere")
    done = linking.link(ROWS[:1], files, folder, copies=copies)
    assert (done.made, done.left) == ((), (("mine/a song.MP3", "MUB-00001", "MUB-00001.mp3 is there already"),))
    assert (folder / "MUB-00001.mp3").readlink() == tmp_path / "nowhere"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([row("mine/b.flac", "X", "conflict", None)], "several files match this ID"),
        ([row("mine/b.flac", "X", "ambiguous", None)], "it is not sure which it is"),
        ([row("mine/b.flac", "../X")], "the ID cannot be the name of a file"),
        ([row("mine/b.flac", ".hidden")], "the ID cannot be the name of a file"),
        ([row("mine/b.flac", "a\nb")], "the ID cannot be the name of a file"),
        ([row("mine/b.flac", "X" * 300)], "the ID cannot be the name of a file"),
        ([row("mine/b.flac", "abc"), row("mine/c.ogg", "ABC")], "another ID differs only in the case of letters"),
    ],
)
def test_what_cannot_be_linked_is_told(tmp_path: Path, files: dict[str, Entry], rows: list[Match], why: str) -> None:
    done = linking.link(rows, files, tmp_path / "audio")
    assert (done.made, [reason for *_, reason in done.left]) == ((), [why] * len(rows))
    assert inside(tmp_path / "audio") == {}


def test_rows_without_a_match_are_no_failures(tmp_path: Path, files: dict[str, Entry]) -> None:
    rows = [row("mine/b.flac", "", "absent", None), row("", "MUB-00009", "not-found", None)]
    assert linking.link(rows, files, tmp_path / "audio") == linking.Linked((), ())


def test_a_member_of_a_container_is_copied_but_not_linked(tmp_path: Path) -> None:
    files = {"x.tar!a.mp3": Entry("x.tar!a.mp3", tmp_path / "x.tar", 3, b"abc")}
    rows = [row("x.tar!a.mp3", "X")]
    assert linking.link(rows, files, tmp_path / "links").left == (
        ("x.tar!a.mp3", "X", "it lies inside another file; copy it instead"),
    )
    assert linking.link(rows, files, tmp_path / "copies", copies=True).made == ("X.mp3",)
    assert inside(tmp_path / "copies") == {"X.mp3": "abc"}


def test_a_file_that_is_gone_is_told_and_leaves_no_half_copy(tmp_path: Path, files: dict[str, Entry]) -> None:
    files["mine/a song.MP3"].file.unlink()
    done = linking.link(ROWS[:1], files, tmp_path / "audio", copies=True)
    (why,) = (reason for *_, reason in done.left)
    assert why.startswith("mine/a song.MP3: cannot be opened (No such file or directory)")
    assert inside(tmp_path / "audio") == {}


def test_a_folder_that_cannot_be_made(tmp_path: Path, files: dict[str, Entry]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LeakscanError, match="cannot be made"):
        linking.link(ROWS, files, tmp_path / "file" / "audio")
    with pytest.raises(UsageError, match="not a folder"):
        linking.check(Orders(folder=tmp_path / "file"))


# --- mappings --------------------------------------------------------------------------------------------------------


def read_csv(path: Path) -> dict[str, str]:
    with path.open(newline="", encoding="utf-8") as stream:
        return {line["file"]: line["id"] for line in csv.DictReader(stream)}


def read_json(path: Path) -> dict[str, str]:
    return {line["file"]: line["id"] for line in json.loads(path.read_text())}


@pytest.mark.parametrize(("suffix", "read"), [(".csv", read_csv), (".json", read_json)])
def test_a_mapping_holds_what_is_matched(tmp_path: Path, suffix: str, read: object) -> None:
    rows = [*ROWS, row('mine/odd,"name"é.mp3', "X"), row("mine/d", "Y", "ambiguous"), row("", "Z", "not-found")]
    out = tmp_path / f"mapping{suffix}"
    assert linking.write_mapping(rows, out) == 4
    found: Mapping[str, str] = read(out)  # type: ignore[operator]
    assert found == {
        "mine/a song.MP3": "MUB-00001", "mine/b.flac": "MUB-00002", "mine/c.ogg": "MUB-00003",
        'mine/odd,"name"é.mp3': "X",
    }  # fmt: skip
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_a_mapping_is_refused_where_it_would_be_published_or_lost(tmp_path: Path) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "release" / "deep").mkdir(parents=True)
    (tmp_path / "release" / "leakscan.toml").write_text("")
    (tmp_path / "there.csv").write_text("mine")
    for path, why in [
        ("repository/mapping.csv", "repository"),
        ("release/deep/mapping.json", "release"),
        ("there.csv", "exists"),
        ("absent/mapping.csv", "its folder does not exist; make it first"),
        ("mapping.txt", r"\.csv or a \.json"),
    ]:
        with pytest.raises(UsageError, match=why):
            linking.check(Orders(mapping=tmp_path / path))
        with pytest.raises(UsageError, match=why):
            linking.write_mapping(ROWS, tmp_path / path)
    assert (tmp_path / "there.csv").read_text() == "mine"


ENDS = (
    "their names end as your files' do (.mp3 1): where prompts name other suffixes, have audio looked up by its name "
    "without suffix"
)


def test_notes_say_what_was_made_and_what_it_gives_away(tmp_path: Path, files: dict[str, Entry]) -> None:
    orders = Orders(tmp_path / "mapping.csv", tmp_path / "audio")
    assert list(linking.carry_out(orders, ROWS, files.values())) == [
        f"{tmp_path / 'mapping.csv'} names the recordings of 3 IDs, to everybody who reads it: keep it private",
        f"{tmp_path / 'audio'}: 1 link made; 2 files left out",
        ENDS,
        "links tell the names of the files that they lead to: do not publish the folder",
        "mine/b.flac is not in the folder as MUB-00002: it runs on another time line; --allow-other-timeline takes it",
        "mine/c.ogg is not in the folder as MUB-00003: its time line is not certain; --allow-other-timeline takes it",
    ]
    assert linking.carry_out(Orders(), ROWS, files.values()) == ()


def test_an_id_is_measured_in_bytes_and_a_copy_is_whole(tmp_path: Path) -> None:
    source = tmp_path / "mine.wav"
    source.write_bytes(b"sound")
    files = {"mine.wav": Entry("mine.wav", source, 5)}
    row = Match("mine.wav", "\u6f22" * 190, "matched", same_timeline=True, coverage_file=1.0)
    done = linking.link([row], files, tmp_path / "out", copies=True)
    assert not done.made
    assert done.left[0][2] == "the ID cannot be the name of a file"
    linking.link([replace(row, id="one")], files, tmp_path / "out", copies=True)
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "out").iterdir()] == [("one.wav", b"sound")]


def test_what_holds_other_sound_besides_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "mine.wav").write_bytes(b"sound")
    files = {"mine.wav": Entry("mine.wav", tmp_path / "mine.wav", 5)}
    row = Match("mine.wav", "one", "matched", same_timeline=True, coverage_file=0.5)
    assert "other sound" in linking.link([row], files, tmp_path / "out").left[0][2]
    assert linking.link([row], files, tmp_path / "out", other_timeline=True).made == ("one.wav",)
    assert linking.link([row], files, tmp_path / "out", other_timeline=True).made == ("one.wav",)  # it is the same link


def test_an_id_with_half_a_character_can_be_written(tmp_path: Path) -> None:
    assert linking.write_mapping([Match("mine.wav", "\ud800x", "matched")], tmp_path / "map.csv") == 1
    assert b"\\ud800x" in (tmp_path / "map.csv").read_bytes()
