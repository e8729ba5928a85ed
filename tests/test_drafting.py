"""A draft declares what fits and nothing suspicious: the clean release passes with it, the leaks of the other stay."""

from __future__ import annotations

import csv
import json
import re
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from leakscan import cleaning, config, naming, scanning
from leakscan.drafting import draft
from leakscan.model import Report, UsageError

FIXTURES = Path(__file__).parent.parent / "fixtures"
RELEASES = FIXTURES / "releases"
EVALUATOR = FIXTURES / "evaluator/mub/evaluator.toml"


@pytest.fixture
def copy(tmp_path: Path) -> Any:
    """Makes a copy of a release without its own configuration."""

    def copied(name: str) -> Path:
        shutil.copytree(RELEASES / name, tmp_path / name)
        (tmp_path / name / "leakscan.toml").unlink()
        return tmp_path / name

    return copied


def drafted(root: Path, private: Path | None = EVALUATOR) -> str:
    text = draft(root, private)
    (root / "leakscan.toml").write_text(text, encoding="utf-8")
    return text


def scan(root: Path) -> Report:
    return scanning.scan([root], private=EVALUATOR)


def names(report: Report) -> set[tuple[str, str | None]]:
    return {(one.place.path, one.place.name) for one in report.findings if one.level == "error"}


def test_clean_release_passes_with_its_draft(copy: Any) -> None:
    root = copy("mub-clean")
    settings = config.parse(tomllib.loads(drafted(root)), root / "leakscan.toml")
    report = scan(root)
    assert (report.findings, report.unexamined, report.noted, report.status) == ((), (), (), 0)
    assert {(records.name, records.id, records.recording, records.closed) for records in settings.records} == {
        ("prompts", "id", "audio", True), ("prompts-jsonl", "id", "audio", True),
    }  # fmt: skip
    by_path = {records.files: dict(records.fields) for records in settings.records}
    fields = by_path["prompts/*.jsonl",]
    assert fields["$.id"] == config.FieldSpec("routing", pattern=r"MUB-\d{5}", unique=True)
    assert fields["$.task"] == config.FieldSpec("routing", enum=("chord", "key", "metre", "sections", "tempo"))
    assert fields["$.choices[]"] == config.FieldSpec("input", optional=True, min=4, max=4, distinct=True)
    assert (fields["$.audio"].type, fields["$.audio"].exists) == ("path", True)


def test_draft_of_a_leaky_release_leaves_every_leak_an_error(copy: Any) -> None:
    root = copy("mub-leaky")
    before = names(scan(root))
    text = drafted(root)
    after = scan(root)
    assert len(before) > 10
    assert before - names(after) == set()
    declared = {line.partition(" =")[0] for line in text.splitlines() if re.match(r'["\w]', line)}
    assert declared & {"audio_hash", "answer", "gold_key", '"meta.title"', '"meta.cache_key"', '"meta.origin"'} == set()
    assert re.search(
        r"^audio = .*exists = true\}  # catalogue-artist, .*telling-name: clean renames$", text, re.MULTILINE
    )
    assert '# audio_hash = {role = "routing"}  # stray-hash\n' in text


def test_draft_shows_no_value_of_a_suspicious_field(copy: Any) -> None:
    root = copy("mub-leaky")
    text = drafted(root)
    records = [json.loads(line) for line in (root / "prompts/prompts.jsonl").read_text().splitlines()]
    assert [record["id"] for record in records if record["audio_hash"] in text] == []
    assert not any(record["meta"].get("title", "-") in text for record in records if "title" in record["meta"])


# --- one field at a time ---------------------------------------------------------------------------------------------


def field(tmp_path: Path, values: Sequence[Any], name: str = "x") -> str:
    """What is drafted for a field with these values, one a record."""
    lines = [{"id": f"A-{number:03}", **({name: value} if value is not ... else {})}
             for number, value in enumerate(values)]  # fmt: skip
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, lines)))
    text = drafted(tmp_path, None)
    report = scanning.scan([tmp_path])
    assert [one for one in report.findings if one.rule == "schema-violation"] == []
    (line,) = [line for line in text.splitlines() if re.match(rf"(?:# )?\"?{name}", line)]
    return line


@pytest.mark.parametrize(
    ("values", "declared"),
    [
        ([1, 250, 17], 'type = "integer", min = 1, max = 250'),
        ([0.123456, 2.5], 'type = "number", min = 0.12, max = 2.5'),
        ([-17, 12345], 'type = "integer", min = -17, max = 13000'),
        ([True, False], 'type = "boolean"'),
        (["a", "b"] * 4, 'enum = ["a", "b"]'),
        (["a", ..., "b", ...] * 5, 'enum = ["a", "b"], optional = true'),
        ([None, ""], 'enum = [""], optional = true'),
        (["a", "", "a", "a", "a"], 'enum = ["a"], optional = true'),
        ([f"n{n}" for n in range(20)], r"pattern = 'n\d{1,2}', unique = true"),
        ([f"a.{n:04}/b" for n in range(20)], r"pattern = 'a\.\d{4}/b', unique = true"),
        ([f"it is {n} o'clock now" for n in ("one", "two", "ten")], ""),
        ([f"2 of {n} parts" for n in range(30, 50)], r"pattern = '2 of \d{2} parts', unique = true"),
    ],
)
def test_declaration_is_narrow(tmp_path: Path, values: Sequence[Any], declared: str) -> None:
    line = field(tmp_path, values)
    inside = re.fullmatch(r"x = \{role = \"routing\"(?:, )?(.*)\}", line)
    assert inside is not None, line
    assert sorted(re.split(r", (?=\w+ =)", inside[1])) == sorted(re.split(r", (?=\w+ =)", declared)) or (
        declared == "" and inside[1] == "unique = true"
    )


@pytest.mark.parametrize("values", [["a", 1], [f"x{n * 7919:x}Qz{n * 104729:x}w" for n in range(9, 40)]])
def test_what_cannot_be_described_is_commented_out(tmp_path: Path, values: Sequence[Any]) -> None:
    assert field(tmp_path, values).startswith("# x = ")


def test_paths_follow_from_the_id_where_they_do(tmp_path: Path) -> None:
    (tmp_path / "audio").mkdir()
    for number in range(3):
        (tmp_path / f"audio/A-{number:03}.mp3").write_bytes(b"x")
    line = field(tmp_path, [f"audio/A-{number:03}.mp3" for number in range(3)], "audio")
    assert line == 'audio = {role = "input", type = "path", template = "audio/{id}.mp3", exists = true}'


def test_paths_of_audio_that_is_not_there_need_not_exist(tmp_path: Path) -> None:
    line = field(tmp_path, [f"audio/A-{number:03}.mp3" for number in range(3)], "audio")
    assert line == 'audio = {role = "input", type = "path", template = "audio/{id}.mp3"}'


def test_what_is_missing_of_the_audio_is_told_and_declared(tmp_path: Path) -> None:
    (tmp_path / "audio").mkdir()
    for number in range(2):
        (tmp_path / f"audio/A-{number:03}.mp3").write_bytes(b"x")
    line = field(tmp_path, [f"audio/A-{number:03}.mp3" for number in range(3)], "audio")
    assert line.endswith("exists = true}  # missing-file: not there: 1")
    (tmp_path / "audio/A-000.mp3").unlink()  # now it is most of it: the audio is elsewhere
    line = field(tmp_path, [f"audio/A-{number:03}.mp3" for number in range(3)], "audio")
    assert line == 'audio = {role = "input", type = "path", template = "audio/{id}.mp3"}'


def test_audio_of_many_suffixes_is_declared_where_it_is_there(tmp_path: Path) -> None:
    names = [f"audio/SNG-{number:04}.{suffix}" for number, suffix in enumerate(("mp3", "flac", "ogg", "wav", "m4a"))]
    (tmp_path / "audio").mkdir()
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    assert field(tmp_path, names, "audio") == 'audio = {role = "input", type = "path", exists = true}'


def test_the_names_that_clean_gives_pass_the_pattern_of_a_path(tmp_path: Path) -> None:
    files = [f"clips/SNG-{number:04}.{('mp3', 'flac')[number % 2]}" for number in range(20)]
    (tmp_path / "clips").mkdir()
    for name in files:
        (tmp_path / name).write_bytes(b"x")
    pattern = re.compile(tomllib.loads(field(tmp_path, files, "audio"))["audio"]["pattern"])
    new = [*naming.numbered({name: name[-5:].lstrip("0123456789") for name in files}, b"k").values()]
    assert all(map(pattern.fullmatch, [*files, *new, *(f"../{name}" for name in new)]))
    assert not any(map(pattern.fullmatch, ["clips/Crooked Teaspoons.mp3", "audio/00001.wav", "audio/title.mp3"]))


def test_a_file_inside_a_value_is_never_copied_into_the_draft(tmp_path: Path) -> None:
    values = [f"data:audio/mpeg;base64,{n:04}" + "QUJD" * 200 for n in range(8)]
    assert field(tmp_path, values).startswith('# x = {role = "routing"}')


def test_prose_that_a_rule_fires_on_is_not_allowed_by_itself(copy: Any) -> None:
    root = copy("mub-clean")
    (root / "NOTES.md").write_text("The songs:\n\n- https://www.youtube.com/watch?v=a1b2c3d4e5F\n")
    (root / "CREDITS.md").write_text("Thanks to all who listened.\n")
    text = drafted(root)
    allowed = tomllib.loads(text)["files"]["allow"]
    assert ("CREDITS.md" in allowed, "NOTES.md" in allowed) == (True, False)
    assert '# "NOTES.md"  # external-id' in text
    assert "NOTES.md" in {path for path, _ in names(scan(root))}


def test_audio_under_telling_names_stays_in_the_copy(tmp_path: Path) -> None:
    root = tmp_path / "release"
    (root / "clips").mkdir(parents=True)
    songs = ("Paper Herons - Crooked Teaspoons", "Slow Clocks - Winter Ladder", "Mire - Harbour Light")
    lines = ["id,clip,question"]
    for number, (song, audio) in enumerate(zip(songs, sorted(RELEASES.glob("mub-clean/audio/*.mp3")), strict=False)):
        shutil.copy(audio, root / f"clips/{song}.mp3")
        lines.append(f"Q-{number},clips/{song}.mp3,Which key?")
    (root / "q.csv").write_text("\n".join([*lines, ""]))
    text = drafted(root, None)
    assert '\nclip = {role = "input", type = "path", exists = true}  # telling-name: clean renames\n' in text
    assert ('recording = "clip"' in text, "Herons" in text) == (True, False)
    assert {one.rule for one in scanning.scan([root]).findings if one.place.name == "$.clip"} == {"telling-name"}
    report = cleaning.clean(root, tmp_path / "copy", mapping_file=tmp_path / "private.map")
    assert (report.status, report.findings, report.examined.audio, report.examined.records) == (0, (), 3, 3)


def test_names_of_audio_that_is_not_there_are_commented_out(tmp_path: Path) -> None:
    line = field(tmp_path, [f"clips/Paper Herons - Crooked Teaspoon {n}.mp3" for n in "abc"], "clip")
    assert line == '# clip = {role = "routing"}  # telling-name'


def test_a_wrapper_is_declared_apart_from_its_records(tmp_path: Path) -> None:
    records = [{"id": f"A-{number:03}", "question": f"Part {number}?"} for number in range(20)]
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare/q.json").write_text(json.dumps(records))
    bare = drafted(tmp_path / "bare", None)
    root = tmp_path / "wrapped"
    root.mkdir()
    (root / "q.json").write_text(json.dumps({"version": "1.0", "questions": records, "info": {"year": 2026}}))
    beside = drafted(root, None).removeprefix(bare)
    assert tomllib.loads(beside)["records"]["q"]["beside"] == {
        "version": {"role": "routing", "pattern": r"\d{1}\.\d{1}"},
        "info.year": {"role": "routing", "type": "integer", "min": 2000, "max": 2100},
    }
    assert scanning.scan([root]).findings == ()
    assert cleaning.clean(root, tmp_path / "copy").findings == ()
    copied = json.loads((tmp_path / "copy/q.json").read_text())
    assert copied == {"questions": records, "version": "1.0", "info": {"year": 2026}}
    (root / "q.json").write_text(
        json.dumps({"version": "1.0", "questions": [*records, {"id": "A-020", "version": "1"}]})
    )
    assert [(one.rule, one.place.name) for one in scanning.scan([root]).findings] == [
        ("schema-violation", "$.info.year"), ("schema-violation", "$.question"), ("undeclared-field", "$.version"),
    ]  # fmt: skip


def test_what_is_suspicious_in_a_wrapper_is_commented_out(tmp_path: Path) -> None:
    records = [{"id": f"A-{number:03}", "question": f"Part {number}?"} for number in range(20)]
    (tmp_path / "q.json").write_text(json.dumps({"questions": records, "answer_key": "A", "artist": "Paper Herons"}))
    text = drafted(tmp_path, None)
    assert '# artist = {role = "routing"}  # identity-field' in text
    assert ("$.artist", "identity-field") in {(one.place.name, one.rule) for one in scanning.scan([tmp_path]).findings}


def test_a_recording_is_named_only_where_it_is_declared(tmp_path: Path) -> None:
    lines = [
        {"id": f"A-{number}", "audio": f"{text}.mp3"} for number, text in enumerate(("qT7x", "B0zk", "x9Ve", "Lw3q"))
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, lines)))
    text = draft(tmp_path)
    assert ("\nrecording = " in text) == ("\naudio = " in text)
    (tmp_path / "leakscan.toml").write_text(text)
    scanning.scan([tmp_path])  # a name of no declared field is an error of usage


def test_what_a_text_spells_out_is_never_allowed_by_itself(tmp_path: Path) -> None:
    line = field(tmp_path, [json.dumps({"gold": value}) for value in ("A", "B", "C", "A", "B", "C")])
    assert line.startswith("# x = ")
    assert "evaluator-field" in line


def test_lists_that_a_column_spells_out_are_declared_as_such(tmp_path: Path) -> None:
    rows = [(f"Q{number:03}", "Which is heard?", json.dumps(["oboe", f"harp {number}"])) for number in range(30)]
    with (tmp_path / "q.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("id", "question", "choices"), *rows])
    assert "choices = {role = \"input\", pattern = '\\[[\\s\\S]*\\]'}" in drafted(tmp_path, None)
    assert scanning.scan([tmp_path]).status == 0


def test_keys_that_are_data_are_neither_declared_nor_shown(tmp_path: Path) -> None:
    lines = [{"id": f"A-{number}", "by": {f"Crooked Teaspoons {number}": 1}} for number in range(9)]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, lines)))
    text = draft(tmp_path)
    assert "Teaspoons" not in text
    assert "# 9 keys that look like data are not declared\n" in text


def test_folder_that_tells_something_is_not_named(tmp_path: Path) -> None:
    folder = tmp_path / "Paper Herons - Crooked Teaspoons"
    folder.mkdir()
    (folder / "p.jsonl").write_text('{"id": "A-1"}\n')
    (tmp_path / "leakscan.toml").write_text("")
    text = draft(tmp_path)
    assert 'files = ["*/*.jsonl"]' in text


def test_nothing_to_draft_from(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Hello\n")
    with pytest.raises(UsageError, match="holds no records to draft a configuration from"):
        draft(tmp_path)
