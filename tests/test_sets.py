"""What a set holds, whatever it is given as; no audio is decoded here."""

from __future__ import annotations

import base64
import json
import wave
from pathlib import Path
from typing import Any

import pytest

from leakscan import fingerprints, index, sets
from leakscan.model import Fingerprint, LeakscanError, Reference, UsageError
from leakscan.sets import Set, Unit

DIGEST = "0a" * 32


def sound(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as stream:
        stream.setparams((1, 2, 8000, 0, "NONE", ""))
        stream.writeframes(path.name.encode() * 100)
    return path


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records))
    return path


def read(*paths: Path, name: str = "x") -> Set:
    return sets.read(name, paths, columns=["meta.artist", "tags"])


def units(found: Set) -> dict[str, list[str]]:
    return {Path(member.name).name: [unit.id for unit in member.units] for member in found.members}


def test_a_folder_of_audio(tmp_path: Path) -> None:
    for name in ("b/one.wav", "a/two.wav", "a/one.wav"):
        sound(tmp_path / name)
    (tmp_path / "README.md").write_text("about 000002")
    found = read(tmp_path)
    assert [Path(member.name).relative_to(tmp_path).as_posix() for member in found.members] == [
        "a/one.wav", "a/two.wav", "b/one.wav",
    ]  # fmt: skip
    ids = [unit.id for member in found.members for unit in member.units]
    assert ids == [f"{tmp_path}/a/one.wav", "two", f"{tmp_path}/b/one.wav"]
    assert found.noted == (f"{tmp_path}/README.md",)
    assert not found.fixed


def test_records_lead_to_their_audio_and_say_what_it_is(tmp_path: Path) -> None:
    for name in ("audio/1.wav", "audio/2.wav", "audio/unused.wav"):
        sound(tmp_path / name)
    records = lines(
        tmp_path / "train.jsonl",
        {"id": "q1", "audio": "audio/1.wav", "meta": {"artist": "Någon"}, "tags": ["x", "y"]},
        {"id": "q2", "audio": "audio/1.wav", "meta": {"artist": "Any"}},
        {"id": "q3", "audio": "./audio/2.wav", "isrc": "gb-aye-69-00531", "sha256": DIGEST},
        {"id": "q4", "audio": "audio/gone.wav"},
        {"id": "q5", "audio": "../../etc/passwd.wav"},
        {"id": "q6", "text": "no audio"},
        "broken",
    )
    found = read(records)
    assert units(found) == {"1.wav": ["q1", "q2"], "2.wav": ["q3"]}
    one, two = found.members
    assert [value for unit in one.units for value in unit.values("meta.artist")] == ["Någon", "Any"]
    assert one.units[0].values("tags") == one.units[0].values("tags[]") == ("x", "y")
    assert (set(two.identities), set(two.digests)) == ({"isrc:GBAYE6900531"}, {f"sha256:{DIGEST}"})
    assert [one.path.rpartition(":")[2] for one in found.unexamined if "not there" in one.reason] == ["4", "5"]
    assert any("record 7" in one.reason for one in found.unexamined)
    assert found.notes == ("x: records without audio, ID or digest that could be compared: 3",)
    assert (found.records, found.fields) == (6, 18)
    assert {"$.meta.artist", "$.tags", "$.isrc"} <= found.columns
    assert found.members[1].units[0].fields == ()  # only what was asked for is kept


def placed(folder: Path) -> tuple[Path, Path]:
    """Records in `data`, which refer to the audio beside it."""
    sound(folder / "bench/audio/1.wav")
    (folder / "bench/data").mkdir()
    records = [{"id": f"q{number}", "audio": f"audio/{number}.wav"} for number in (1, 2)]
    return folder / "bench", lines(folder / "bench/data/train.jsonl", *records)


@pytest.mark.parametrize(("here", "shown"), [("bench", "the current folder"), (".", "bench")])
def test_paths_may_start_above_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, shown: str
) -> None:
    bench, records = placed(tmp_path)
    monkeypatch.chdir(tmp_path / here)
    found = read(records)
    assert [(member.name, member.units[0].id) for member in found.members] == [(f"{bench}/audio/1.wav", "q1")]
    assert f"x: paths of audio that start at {shown}, above the records (no leakscan.toml says where): 1" in found.notes
    assert [one.path for one in found.unexamined] == [f"{records}:2"]
    assert "and the folders above it, up to the current folder; fetch it" in found.unexamined[0].reason


@pytest.mark.parametrize("here", ["bench/data", "elsewhere", "/"])
def test_nothing_is_looked_for_above_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str
) -> None:
    bench, records = placed(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / here)
    data = (bench / "data").as_posix()
    where = {"bench/data": "the current folder", "/": data.removeprefix("/")}.get(here, data)
    reason = (
        f"refers to an audio file that is not there: looked for in {where}; fetch it, or put a leakscan.toml, which "
        "may be empty, into the folder where its path starts"
    )
    assert [one.reason for one in read(records).unexamined if one.path != "x"] == [reason, reason]
    (bench / "leakscan.toml").touch()
    assert units(read(records)) == {"1.wav": ["q1"]}


def test_the_nearest_folder_counts_and_links_lead_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, records = placed(tmp_path / "top")
    other = sound(tmp_path / "top/audio/1.wav")
    (tmp_path / "top/audio/2.wav").symlink_to(sound(tmp_path / "outside.wav"))
    monkeypatch.chdir(tmp_path / "top")
    found = read(records)
    assert [member.name for member in found.members] == [f"{bench}/audio/1.wav"]
    assert [one.path for one in found.unexamined] == [f"{records}:2"]
    (bench / "audio/1.wav").unlink()
    assert [member.name for member in read(records).members] == [str(other)]


@pytest.mark.parametrize(
    ("name", "what"), [("leakscan.toml", "holds leakscan.toml"), (".git", "is the top of a repository")]
)
def test_a_root_that_is_declared_is_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, what: str
) -> None:
    bench, records = placed(tmp_path)
    (bench / "data" / name).touch()
    monkeypatch.chdir(bench)
    assert [one.reason for one in read(records).unexamined if "audio file" in one.reason] == [
        f"refers to an audio file that is not there, or lies outside of data, which {what}; fetch it, or mend its path"
    ] * 2  # fmt: skip


def test_a_release_counts_files_that_records_name_once(tmp_path: Path) -> None:
    for name in ("audio/1.wav", "audio/2.wav"):
        sound(tmp_path / name)
    lines(tmp_path / "all.jsonl", {"item": "q1", "audio": "audio/1.wav"}, {"item": "q2", "audio": "audio/1.wav"})
    (tmp_path / "leakscan.toml").write_text(
        '[records.all]\nfiles = ["*.jsonl"]\nid = "item"\n'
        '[records.all.fields]\nitem = {role = "routing"}\naudio = {role = "input", type = "path"}\n'
    )
    assert units(read(tmp_path)) == {"1.wav": ["q1", "q2"], "2.wav": ["2"]}
    assert units(read(tmp_path / "all.jsonl", tmp_path / "audio")) == {"1.wav": ["q1", "q2"], "2.wav": ["2"]}


def test_audio_within_records_belongs_to_them(tmp_path: Path) -> None:
    inside = [base64.b64encode(sound(tmp_path / f"{name}.wav").read_bytes()).decode() for name in "ab"]
    records = [{"id": f"q{number}", "clip": f"data:audio/wav;base64,{text}"} for number, text in enumerate(inside)]
    found = read(lines(tmp_path / "r.jsonl", *records))
    assert units(found) == {"r.jsonl!1.clip": ["q0"], "r.jsonl!2.clip": ["q1"]}
    assert all(member.entry is not None and member.entry.data for member in found.members)
    assert found.notes == ()


def test_an_index(tmp_path: Path) -> None:
    references = [Reference(name, Fingerprint(bytes(400), 15.0)) for name in ("fma:2", "other")]
    index.write_plain(references, tmp_path / "index.jsonl")
    found = read(tmp_path / "index.jsonl")
    assert [(member.name, member.fingerprint is not None, set(member.identities)) for member in found.members] == [
        ("fma:2", True, {"fma:2"}), ("other", True, set()),
    ]  # fmt: skip
    assert found.fixed
    old = {"id": "a", "duration": 15.0, "fingerprint": fingerprints.encode(references[0].fingerprint)}
    assert [member.name for member in read(lines(tmp_path / "old.jsonl", old)).members] == ["a"]
    sealed = tmp_path / "sealed.age"
    sealed.write_bytes(b"age-encryption.org/v1\n" + bytes(100))
    with pytest.raises(LeakscanError):
        read(sealed)


def test_lists_of_ids_and_digests(tmp_path: Path) -> None:
    found = read(lines(tmp_path / "list.txt", "# a comment", "", "000002", "track_0000214", f"{DIGEST}  a file.mp3"))
    assert [(Path(one.name).name, set(one.identities | one.digests)) for one in found.members] == [
        ("list.txt:4", {"jamendo:214"}), ("list.txt:5", {f"sha256:{DIGEST}"}),
    ]  # fmt: skip
    assert "lines that are neither an ID nor a digest" in found.notes[0]
    assert found.notes[0].endswith("after the registry): 1")
    assert found.fixed
    for other in (read(lines(tmp_path / "fma_small.txt", "000002")), read(tmp_path / "list.txt", name="fma")):
        assert other.members[0].identities == {"fma:2"}
    table = lines(tmp_path / "songs.csv", "ytid,start_s", "a_b-c_d-e_f,30", "a_b-c_d-e_g,10")
    assert [set(one.identities) for one in read(table).members] == [
        {"youtube:a_b-c_d-e_f"}, {"youtube:a_b-c_d-e_g"},
    ]  # fmt: skip
    column = lines(tmp_path / "column.csv", "freesound", "1234", "5678")
    assert [set(one.identities) for one in read(column).members] == [{"freesound:1234"}, {"freesound:5678"}]


def test_an_id_of_a_record_is_no_id_of_a_registry_by_chance(tmp_path: Path) -> None:
    uuid = "8f3471b5-7e6a-48da-86a9-c1c07a0f47ae"
    found = read(
        lines(
            tmp_path / "r.jsonl",
            {"id": uuid, "n": 1, "ytid": "a_b-c_d-e_f"},
            {"id": "abcdefghijk", "n": 123456},
            {"recording_mbid": uuid, "n": 1},
        )
    )
    assert [set(one.identities) for one in found.members] == [{"youtube:a_b-c_d-e_f"}, {f"mbid:{uuid}"}]


def test_a_set_without_anything_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    found = read(tmp_path)
    assert found.members == ()
    assert [one.path for one in found.unexamined] == ["x"]
    with pytest.raises(UsageError, match="no such file"):
        read(tmp_path / "gone")


def test_arguments() -> None:
    assert sets.parse(["a=x", "b=y=z", "a=w"]) == {"a": [Path("x"), Path("w")], "b": [Path("y=z")]}
    for wrong in ("x", "=x", "a=", " =x"):
        with pytest.raises(UsageError, match="NAME=PATH"):
            sets.parse([wrong])


def test_values_of_a_field_are_compared_folded() -> None:
    def of(name: str, *values: str) -> Set:
        made = [
            sets.Member(f"{name}{number}", (Unit("i", (("$.artist", value),)),)) for number, value in enumerate(values)
        ]
        return Set(name, tuple(made))

    found = sets.shared_values([of("a", "Björk!", "x", ""), of("b", "bjork")], "artist")
    assert {value: {name: len(one) for name, one in by_set.items()} for value, by_set in found.items()} == {
        "bjork": {"a": 1, "b": 1}, "x": {"a": 1},
    }  # fmt: skip
