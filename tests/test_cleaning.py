"""The copy holds what is declared and nothing else, the source stays as it is, and nothing is left of a failure."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mutagen.wave
import pytest
from mutagen.id3 import TIT2

from leakscan import cleaning
from leakscan.cleaning import clean, project
from leakscan.model import Examined, LeakscanError, Report, Unreadable, UsageError

CONFIG = """
[records.prompts]
files = ["prompts/*.jsonl"]
id = "id"
closed = true
[records.prompts.fields]
id = {role = "routing"}
audio = {role = "input", type = "path"AUDIO}
"choices[]" = {role = "input", optional = true}
"meta.level" = {role = "routing", type = "integer", optional = true}
[files]
allow = ["README.md"]
"""
TEMPLATE = CONFIG.replace("AUDIO", ', template = "audio/{id}.wav", exists = true')
PLAIN = CONFIG.replace("AUDIO", "")


def sound(path: Path, seed: int = 1, title: str | None = "Crooked Teaspoons") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as stream:
        stream.setnchannels(1)
        stream.setsampwidth(2)
        stream.setframerate(8000)
        stream.writeframes(bytes(range(seed, seed + 100)) * 8)
    if title is not None:
        file = mutagen.wave.WAVE(path)
        file.add_tags()
        file.tags.add(TIT2(encoding=3, text=[title]))
        file.save()


def frames(path: Path) -> bytes:
    with wave.open(str(path), "rb") as stream:
        return stream.readframes(10_000)


def write(root: Path, records: list[Any], config: str = TEMPLATE) -> None:
    (root / "prompts").mkdir(parents=True, exist_ok=True)
    (root / "prompts/p.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (root / "leakscan.toml").write_text(config)


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def files(folder: Path) -> Mapping[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A release with two records, three audio files and what is not declared."""
    root = tmp_path / "release"
    sound(root / "wav/Two Herons.wav", 1)
    sound(root / "wav/Tin Walrus.wav", 2)
    sound(root / "wav/Not Used.wav", 3)
    write(root, [
        {"id": "B1", "audio": "wav/Two Herons.wav", "title": "Two Herons", "choices": ["x", {"y": 1}],
         "meta": {"level": 3, "isrc": "ZZ"}},
        {"id": "B2", "audio": "../wav/Tin Walrus.wav", "answer": "3/4", "meta": "a text"},
    ])  # fmt: skip
    (root / "README.md").write_text("read me")
    (root / "notes.txt").write_text("a note")
    return root


def run(root: Path, **more: Any) -> Report:
    out = more.pop("out", root.parent / "out")
    return clean(root, out, mapping=more.pop("mapping", root.parent / "mapping.json"), **more)


# --- what is copied --------------------------------------------------------------------------------------------------


def test_copy_holds_what_is_declared_and_nothing_else(root: Path, tmp_path: Path) -> None:
    before = files(root)
    report = run(root)

    out = tmp_path / "out"
    assert files(root) == before
    assert list(files(out)) == ["README.md", "audio/B1.wav", "audio/B2.wav", "leakscan.toml", "prompts/p.jsonl"]
    assert read(out / "prompts/p.jsonl") == [
        {"id": "B1", "audio": "audio/B1.wav", "choices": ["x"], "meta": {"level": 3}},
        {"id": "B2", "audio": "audio/B2.wav"},
    ]
    for new, old in (("B1", "Two Herons"), ("B2", "Tin Walrus")):
        assert frames(out / f"audio/{new}.wav") == frames(root / f"wav/{old}.wav")
        assert b"Teaspoons" not in (out / f"audio/{new}.wav").read_bytes()
    assert report.summary == {"files copied": 5, "files renamed": 2, "files left behind": 2}
    assert report.noted == ("notes.txt", "wav/Not Used.wav")
    assert "2 audio files: tags only, not certified" in report.notes
    assert report.examined == Examined(3, 2, 2, 6, sum(file.stat().st_size for file in out.glob("[ap]*/*")))
    assert stat.S_IMODE(out.stat().st_mode) == 0o755
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mapping.json", "out", "release"]


def test_mapping_is_private_and_complete(root: Path, tmp_path: Path) -> None:
    run(root)

    mapping = tmp_path / "mapping.json"
    assert stat.S_IMODE(mapping.stat().st_mode) == 0o600
    document = json.loads(mapping.read_text())
    assert (document["leakscan_mapping"], document["audio"]) == (1, "tags only, not certified")
    assert [(file["old"], file["new"]) for file in document["files"]] == [
        ("README.md", "README.md"), ("leakscan.toml", "leakscan.toml"), ("prompts/p.jsonl", "prompts/p.jsonl"),
        ("wav/Tin Walrus.wav", "audio/B2.wav"), ("wav/Two Herons.wav", "audio/B1.wav"),
    ]  # fmt: skip
    for file in document["files"]:
        assert file["sha256_old"] == hashlib.sha256((root / file["old"]).read_bytes()).hexdigest()
        assert file["sha256_new"] == hashlib.sha256((tmp_path / "out" / file["new"]).read_bytes()).hexdigest()


def test_names_that_are_left_behind_are_redacted_in_folders_too(root: Path) -> None:
    (root / "The Nettle Band - Herons").mkdir()
    (root / "The Nettle Band - Herons/x.txt").touch()
    report = run(root)
    assert "<name 1, 24 characters>/x.txt" in report.noted
    assert "Nettle" not in repr(report)


def test_neutral_names_without_a_template_follow_the_secret(root: Path, tmp_path: Path) -> None:
    write(root, read(root / "prompts/p.jsonl"), PLAIN)
    private = tmp_path / "private"
    private.mkdir()
    (private / "evaluator.toml").write_text('secret = "k"')
    (private / "k").write_bytes(b"k" * 32)
    for out in ("one", "two"):
        run(root, out=tmp_path / out, mapping=tmp_path / f"{out}.json", private=private / "evaluator.toml")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    names = sorted(path.name for path in (tmp_path / "one/audio").iterdir())
    assert all(name in {"00001.wav", "00002.wav", "00003.wav"} for name in names)
    first, second = read(tmp_path / "one/prompts/p.jsonl")
    assert first["audio"].startswith("audio/0000")  # a reference from the root stays one
    assert second["audio"].startswith("../audio/0000")  # one from the record's folder, too


def test_id_makes_the_name_where_the_pattern_allows_it(root: Path, tmp_path: Path) -> None:
    write(root, read(root / "prompts/p.jsonl"), CONFIG.replace("AUDIO", r", pattern = '(?:\.\./)?audio/B\d\.wav'"))
    run(root)
    assert [record["audio"] for record in read(tmp_path / "out/prompts/p.jsonl")] == ["audio/B1.wav", "../audio/B2.wav"]


def test_one_recording_of_several_records_is_copied_once(root: Path, tmp_path: Path) -> None:
    write(root, [{"id": name, "audio": "wav/Two Herons.wav"} for name in ("B1", "B2")], PLAIN)
    report = run(root)
    assert len({record["audio"] for record in read(tmp_path / "out/prompts/p.jsonl")}) == 1
    assert report.summary["files renamed"] == 1


def test_private_audio_is_not_copied(root: Path, tmp_path: Path) -> None:
    write(root, read(root / "prompts/p.jsonl"), PLAIN + '[release]\naudio = "private"\n')
    clean(root, tmp_path / "out")
    assert list(files(tmp_path / "out")) == ["README.md", "leakscan.toml", "prompts/p.jsonl"]


def test_audio_that_is_declared_as_a_file_is_stripped_and_never_copied_twice(root: Path, tmp_path: Path) -> None:
    write(root, read(root / "prompts/p.jsonl"), TEMPLATE.replace('["README.md"]', '["wav/*"]'))
    run(root)
    out = tmp_path / "out"
    assert list(files(out)) == ["audio/B1.wav", "audio/B2.wav", "leakscan.toml", "prompts/p.jsonl", "wav/Not Used.wav"]
    assert b"Teaspoons" not in (out / "wav/Not Used.wav").read_bytes()


def test_only_audio_needs_no_configuration(tmp_path: Path) -> None:
    sound(tmp_path / "takes/a/Two Herons.wav")
    sound(tmp_path / "takes/Tin Walrus.WAV")
    report = clean(tmp_path / "takes", tmp_path / "out", mapping=tmp_path / "m.json")
    assert list(files(tmp_path / "out")) == ["audio/00001.wav", "audio/00002.wav"]
    assert (report.status, report.findings) == (0, ())


def test_configuration_may_lie_elsewhere_and_the_copy_in_a_repository(root: Path, tmp_path: Path) -> None:
    (root / "leakscan.toml").rename(tmp_path / "other.toml")
    (tmp_path / "repository/.git").mkdir(parents=True)
    out = tmp_path / "repository/out"
    report = run(root, config=tmp_path / "other.toml", out=out)
    assert list(files(out)) == ["README.md", "audio/B1.wav", "audio/B2.wav", "prompts/p.jsonl"]
    assert (report.examined.records, report.root) == (2, out.as_posix())
    assert {finding.place.path for finding in report.findings} <= {"prompts/p.jsonl", "audio/B1.wav"}


def test_link_inside_is_copied_as_a_file(root: Path, tmp_path: Path) -> None:
    (root / "README.md").unlink()
    (root / "README.md").symlink_to("notes.txt")
    run(root)
    assert not (tmp_path / "out/README.md").is_symlink()
    assert (tmp_path / "out/README.md").read_text() == "a note"


def test_link_out_and_special_files_stay_behind(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (root / "README.md").unlink()
    (root / "README.md").symlink_to("../secret.md")
    os.mkfifo(root / "fifo")
    report = run(root)
    assert "README.md" not in files(tmp_path / "out")
    assert report.noted == ("README.md", "fifo", "notes.txt", "wav/Not Used.wav")


# --- refusals: nothing is left ---------------------------------------------------------------------------------------


def refuses(root: Path, message: str, kind: type[LeakscanError] = Unreadable, **more: Any) -> None:
    before, around = files(root), sorted(root.parent.rglob("*"))
    with pytest.raises(kind) as error:
        run(root, **more)
    assert message in str(error.value)
    assert "Herons" not in str(error.value)
    assert "Walrus" not in str(error.value)
    assert files(root) == before
    assert sorted(root.parent.rglob("*")) == around


P1 = "prompts/p.jsonl: record 1"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": "B1", "audio": "wav/gone.wav"}, f"{P1} refers to a file that is not there; repair the reference first"),
        ({"id": "B1", "audio": "../../outside.wav"}, f"{P1} refers to a file that is not there"),
        ({"id": "B1", "audio": "/etc/passwd"}, f"{P1} refers to a file that is not there"),
        ({"id": "B1", "audio": "wav/out.wav"}, f"{P1} refers to a file that is not there"),
        ({"id": "B1", "audio": "README.md"}, f"{P1}: the template of its path does not fit its file"),
        ({"id": "B1", "audio": "wav/Herons text.wav"}, f"{P1} refers to a file that is no audio leakscan can read"),
        ({"id": "B1", "audio": "wav/cut Herons.wav"}, f"{P1}: its audio cannot be cleaned (cut: "),
        ({"id": "..", "audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        ({"id": "../../x", "audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        ({"id": "a/b", "audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        ({"id": "a\0", "audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        ({"id": None, "audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        ({"audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        (["Two Herons"], f"{P1} is no object with fields; mend it or leave its file out"),
    ],
)
def test_record_that_cannot_be_cleaned_stops_it_all(root: Path, record: Any, message: str) -> None:
    sound(root.parent / "outside.wav")
    (root / "wav/out.wav").symlink_to("../../outside.wav")
    (root / "wav/Herons text.wav").write_text("no audio")
    (root / "wav/cut Herons.wav").write_bytes((root / "wav/Two Herons.wav").read_bytes()[:500])
    write(root, [record, {"id": "B2", "audio": "wav/Tin Walrus.wav"}])
    refuses(root, message)


def test_record_that_is_a_mere_text_stops_it(root: Path) -> None:
    write(root, [{"id": "B1", "audio": "wav/Two Herons.wav"}, "Two Herons"])
    refuses(root, "prompts/p.jsonl: record 2 is no object with fields; mend it or leave its file out")


def test_two_files_of_one_name_stop_it(root: Path) -> None:
    write(root, [{"id": "B1", "audio": "wav/Two Herons.wav"}, {"id": "B1", "audio": "wav/Tin Walrus.wav"}])
    refuses(root, "record 2: another file is already called like its audio; make the template unique")


@pytest.mark.parametrize("data", ['{"id": "B1"', '{"id": "B1", "id": "B2"}', "\n"])
def test_record_file_that_is_broken_stops_it(root: Path, data: str) -> None:
    with (root / "prompts/p.jsonl").open("a") as stream:
        stream.write(data)
    if data == "\n":
        (root / "prompts/p.jsonl").write_text("")
        refuses(root, "prompts/p.jsonl: is declared as records, but is no record file leakscan can read")
    else:
        refuses(root, "prompts/p.jsonl: record 3 cannot be parsed (")


def test_audio_that_is_declared_as_records_stops_it(root: Path) -> None:
    write(root, read(root / "prompts/p.jsonl"), TEMPLATE.replace("prompts/*.jsonl", "**"))
    refuses(root, "README.md: is declared as records, but is no record file leakscan can read")
    (root / "README.md").unlink()
    (root / "notes.txt").unlink()
    (root / "leakscan.toml").rename(root.parent / "c.toml")
    (root / "wav/Two Herons.wav").rename(root / "a.wav")
    message = "a.wav: is declared as records, but is no record file leakscan can read"
    refuses(root, message, config=root.parent / "c.toml")


@pytest.mark.parametrize(
    ("template", "message"),
    [("../{id}.wav", "leads out of the copy"), ("/tmp/{id}.wav", "leads out of the copy")],
)
def test_template_never_leads_out_of_the_copy(root: Path, template: str, message: str) -> None:
    write(root, read(root / "prompts/p.jsonl"), TEMPLATE.replace("audio/{id}.wav", template))
    refuses(root, message, UsageError)


def test_template_cannot_overwrite_what_is_there(root: Path) -> None:
    """The same file by another spelling."""
    other = """
[records.more]
files = ["*.jsonl"]
[records.more.fields]
id = {role = "routing"}
audio = {role = "input", type = "path", template = "audio/../audio/{id}.wav"}
"""
    write(root, read(root / "prompts/p.jsonl"), TEMPLATE + other)
    (root / "more.jsonl").write_text(json.dumps({"id": "B1", "audio": "wav/Not Used.wav"}))
    refuses(root, "more.jsonl: record 1: another file is already called like its audio; make the template unique")


def test_renaming_needs_a_mapping(root: Path) -> None:
    refuses(root, "2 audio files get new names; keep track of them with --mapping FILE", UsageError, mapping=None)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("release/m.json", "the mapping names what the copy hides; keep it outside both folders"),
        ("out", "the mapping names what the copy hides; keep it outside both folders"),
        ("out/m.json", "exists already, or its folder does not; name a new file"),
        ("out/../out/m.json", "exists already, or its folder does not; name a new file"),
        ("repository/sub/m.json", "lies in a repository, where it would be published; keep it elsewhere"),
        ("there.json", "exists already, or its folder does not; name a new file"),
        ("link.json", "exists already, or its folder does not; name a new file"),
        ("gone/m.json", "exists already, or its folder does not; name a new file"),
    ],
)
def test_mapping_lies_where_nobody_publishes_it(root: Path, tmp_path: Path, mapping: str, message: str) -> None:
    (tmp_path / "repository/.git").mkdir(parents=True)
    (tmp_path / "repository/sub").mkdir()
    (tmp_path / "there.json").touch()
    (tmp_path / "link.json").symlink_to("nowhere")
    refuses(root, message, UsageError, mapping=tmp_path / mapping)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("release/out", "lies inside the release (or holds it); name a folder elsewhere"),
        ("inside/out", "lies inside the release (or holds it); name a folder elsewhere"),
        ("release", "exists already; name a new folder"),
        ("empty", "exists already; name a new folder"),
        ("dangling", "exists already; name a new folder"),
        ("release/../release", "exists already; name a new folder"),
    ],
)
def test_copy_goes_to_a_new_folder_elsewhere(root: Path, tmp_path: Path, out: str, message: str) -> None:
    (tmp_path / "inside").symlink_to("release/wav")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling").symlink_to("nothing")
    refuses(root, message, UsageError, out=tmp_path / out)


def test_failure_at_the_very_end_leaves_neither_copy_nor_mapping(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*paths: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cleaning.os, "rename", fail)
    refuses(root, "cannot be written (No space left on device); nothing is left of the copy", LeakscanError)


def test_interruption_leaves_nothing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cleaning.tags, "delete_tags", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(root)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release"]


def test_source_is_a_whole_release(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder; name the release's folder"):
        clean(root / "README.md", tmp_path / "out")
    with pytest.raises(UsageError, match=r"the release root is .*; clean the whole release"):
        clean(root / "prompts", tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("Two Herons.jsonl", '{"id": 1}\n', "declares no record set; describe its records in leakscan.toml"),
        ("notes.txt", "text", "holds neither declared records nor audio; there is nothing to clean"),
    ],
)
def test_records_need_a_declaration(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / name).write_text(text)
    refuses(tmp_path / "release", message, UsageError)


# --- projection ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "fields", "projected"),
    [
        ({"a": 1, "b": 2}, ["$.a"], {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, ["$.a.b"], {"a": {"b": 1}}),
        ({"a": {"b": 1}}, ["$.a"], {}),  # declared as a leaf
        ({"a": 1}, ["$.a.b"], {}),  # declared as an object
        ({"a": ["x", ["y"], {"z": 1}]}, ["$.a[]"], {"a": ["x"]}),
        ({"a": [{"b": 1, "c": 2}, "x"]}, ["$.a[].b"], {"a": [{"b": 1}]}),
        ({"a": "x"}, ["$.a[]"], {}),
        ({"a b": 1, "a": {"b": 2}}, ["$['a b']"], {"a b": 1}),
        ({"a.b": 1, "a": {"b": 2}}, ["$['a.b']"], {"a.b": 1}),
        ({"a.b": 1, "a": {"b": 2}}, ["$.a.b"], {"a": {"b": 2}}),
        ({"a": None}, ["$.a"], {"a": None}),
        ({"a": 1}, [], {}),
        ({}, ["$.a"], {}),
    ],
)
def test_only_declared_leaves_are_kept(body: Any, fields: list[str], projected: Any) -> None:
    assert project(body, dict.fromkeys(fields)) == projected
