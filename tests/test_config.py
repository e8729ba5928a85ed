"""leakscan.toml is strict: what is unknown or of the wrong type is an error that names the nearest valid word."""

from __future__ import annotations

import datetime
import os
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan import config
from leakscan.config import Config, FieldSpec, RecordSet, Waiver, field_path, fill, find, glob_match, is_segment
from leakscan.model import UsageError

HERE = Path("leakscan.toml")


FULL = """
[records.prompts]
files = ["prompts/**/*.jsonl"]
id = "id"
recording = "audio"
closed = true
[records.prompts.fields]
id = {role = "routing", pattern = 'MUB-\\d{5}', unique = true}
audio = {role = "input", type = "path", template = "audio/{id}.mp3", exists = true}
level = {role = "routing", type = "number", min = 0, max = 1.5, optional = true}
task = {role = "routing", enum = ["tempo", 3]}
"choices[]" = {role = "input", distinct = true}
"meta.a b" = {role = "input", type = "boolean"}
[records.prompts.beside]
version = {role = "routing", enum = ["1.0"]}
[files]
allow = ["README.md"]
sent = ["requests/*.jsonl"]
[release]
audio = "private"
[rules]
disable = ["local-path"]
paths = ["rules"]
[[waiver]]
rule = "video-id"
where = "p.jsonl:$.x"
reason = "because"
expires = 2027-06-30
"""


def parse(text: str) -> Config:
    return config.parse(tomllib.loads(text), HERE)


def test_empty_file_is_the_default() -> None:
    assert parse("") == Config(path=HERE)


def test_every_key_arrives() -> None:
    assert parse(FULL) == Config(
        path=HERE,
        records=(
            RecordSet(
                "prompts",
                ("prompts/**/*.jsonl",),
                "id",
                "audio",
                True,
                {
                    "$.id": FieldSpec("routing", pattern=r"MUB-\d{5}", unique=True),
                    "$.audio": FieldSpec("input", "path", template="audio/{id}.mp3", exists=True),
                    "$.level": FieldSpec("routing", "number", min=0, max=1.5, optional=True),
                    "$.task": FieldSpec("routing", enum=("tempo", 3)),
                    "$.choices[]": FieldSpec("input", distinct=True),
                    "$.meta['a b']": FieldSpec("input", "boolean"),
                },
                {"$.version": FieldSpec("routing", enum=("1.0",))},
            ),
        ),
        allow=("README.md",),
        sent=("requests/*.jsonl",),
        audio="private",
        disable=("local-path",),
        rule_paths=("rules",),
        waivers=(Waiver("video-id", "p.jsonl:$.x", "because", datetime.date(2027, 6, 30)),),
    )


SET = "[records.p]\nfiles = ['a']\n"
FIELD = SET + "[records.p.fields]\n"
WAIVER = "[[waiver]]\nrule = 'r'\nwhere = 'w'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recods = 1", "unknown key 'recods' in the file; did you mean 'records'?"),
        ("profile = 'mbu'", "unknown profile 'mbu'; did you mean 'mub'?"),
        ("profile = 3", "unknown profile '3'; valid are: "),
        ("profile = {a = 1}", "unknown profile '{'a': 1}'; valid are: "),
        ("records = 1", "'records' in the file has the wrong type"),
        ("records.p = 1", "[records.p] must be a table"),
        ("waiver = {}", "'waiver' in the file has the wrong type"),
        ("waiver = [1]", "[[waiver]] must be a table"),
        ("[records.p]\nid = 'x'", "[records.p] id names the field 'x'; valid are: "),
        ("[records.p]\nclosed = true", "[records.p] lacks files"),
        (SET + "beside = 1", "'beside' in [records.p] has the wrong type; write a table"),
        (SET + "beside.x = {rol = 'input'}", "unknown key 'rol' in [records.p] field 'x'; did you mean 'role'?"),
        (
            SET + "beside.x = {role = 'input', template = '{y}'}",
            "[records.p] template names the field 'y'; valid are: x",
        ),
        ("[records.p]\nfile = ['a']", "unknown key 'file' in [records.p]; did you mean 'files'?"),
        ("[records.p]\nfiles = 'a'", "'files' in [records.p] has the wrong type; write a list in brackets"),
        ("[records.p]\nfiles = [1]", "'files' in [records.p] must hold strings only"),
        (SET + "closed = 1", "'closed' in [records.p] has the wrong type"),
        (FIELD + "x = 1", "[records.p] field 'x' must be a table"),
        (FIELD + "x = {}", "[records.p] field 'x' lacks role"),
        (FIELD + "x = {role = 'inptu'}", "'role' in [records.p] field 'x' is 'inptu'; did you mean 'input'?"),
        (FIELD + "x = {rol = 'input'}", "unknown key 'rol' in [records.p] field 'x'; did you mean 'role'?"),
        (FIELD + "meta.id = {role = 'input'}", "unknown key 'id' in [records.p] field 'meta'; "),
        (
            FIELD + "x = {role = 'input', min = true}",
            "'min' in [records.p] field 'x' has the wrong type; write a num",
        ),
        (FIELD + "x = {role = 'input', pattern = '('}", "pattern of [records.p] field 'x' is not a regular expression"),
        (FIELD + "x = {role = 'input', pattern = '(?=a)'}", "is not a regular expression that RE2 accepts: "),
        (FIELD + "x = {role = 'input', template = 'a/{y}'}", "[records.p] template names the field 'y'; valid are: x"),
        (FIELD + "x = {role = 'input', template = 'a/{x'}", "template 'a/{x': expected '}' before end of string; "),
        (
            FIELD + "x = {role = 'input', template = '{x:>9}'}",
            "template '{x:>9}': write a field as {id}, without : and !",
        ),
        (FIELD + "x = {role = 'input', template = '{}'}", "[records.p] template names the field ''; "),
        ("[release]\naudio = 'secret'", "'audio' in [release] is 'secret'; valid are: private, published"),
        ("[files]\nalow = []", "unknown key 'alow' in [files]; did you mean 'allow'?"),
        ("[rules]\ndisable = [1]", "'disable' in [rules] must hold strings only"),
        (WAIVER, "a [[waiver]] for 'r' has no reason; say why"),
        (WAIVER + "reason = ' '", "a [[waiver]] for 'r' has no reason; say why"),
        ("[[waiver]]\nrule = 'r'\nreason = 'x'", "[[waiver]] lacks where"),
        (
            WAIVER + "reason = 'x'\nexpires = '2027-01-01'",
            "'expires' in [[waiver]] has the wrong type; write a date",
        ),
        (WAIVER + "reason = 'x'\nexpires = 2027-01-01T00:00:00", "'expires' in [[waiver]] has the wrong type"),
    ],
)
def test_errors_say_where_and_what(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text)
    assert str(error.value).startswith("leakscan.toml: ")
    assert message in str(error.value)


# --- profiles --------------------------------------------------------------------------------------------------------


def test_profile_is_the_base_and_the_file_wins_key_by_key() -> None:
    mine = parse("""profile = "mub"
[records.prompts]
files = ["mine.jsonl"]
closed = false
[records.prompts.fields]
prompt = {role = "routing"}
"meta.level" = {role = "routing"}
[records.other]
files = ["o.csv"]
[files]
allow = []
""")
    base = parse('profile = "mub"')
    assert (base.profile, [records.name for records in base.records]) == ("mub", ["prompts"])
    prompts, other = mine.records
    assert prompts.files == ("mine.jsonl",)
    assert prompts.closed is True  # a profile's `closed` is never loosened
    assert prompts.fields["$.prompt"] == FieldSpec("routing", "text")
    assert prompts.fields["$.id"] == base.records[0].fields["$.id"]
    assert prompts.fields.keys() == base.records[0].fields.keys() | {"$.meta.level"}
    assert (other.name, other.closed) == ("other", False)
    assert mine.allow == ()


# --- TOML files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a = ", "not valid TOML: Invalid value (at end of document)"),
        (b"a = 'x'\na = 'secret'", "not valid TOML: Cannot overwrite a value"),
        (b"\xffa = 1", "not UTF-8 at byte 0; convert it to UTF-8"),
        (b"a = " + b"[" * 100_000, "not valid TOML: nested too deeply"),
        (b"a = " + b"9" * 5000, "not valid TOML: Exceeds the limit"),
        (b"#" * (config.TOML_LIMIT + 1), "larger than 1,048,576 bytes; no configuration needs that much"),
    ],
    ids=["cut", "twice", "utf-8", "deep", "number", "large"],
)
def test_toml_that_cannot_be_read(tmp_path: Path, data: bytes, message: str) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(data)
    with pytest.raises(UsageError) as error:
        config.load(file)
    assert str(error.value).startswith(f"{file}: {message}")
    assert "secret" not in str(error.value)


def test_toml_must_be_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name, message in [
        ("fifo", "not a regular file; put a TOML file in its place"),
        (".", "not a regular file; put a TOML file in its place"),
        ("gone", "cannot be read (No such file or directory)"),
    ]:
        with pytest.raises(UsageError) as error:
            config.read_toml(tmp_path / name)
        assert str(error.value) == f"{tmp_path / name}: {message}"


# --- the root --------------------------------------------------------------------------------------------------------


def test_root_is_the_folder_of_leakscan_toml(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "leakscan.toml").touch()
    (tmp_path / "a/b/x.jsonl").touch()
    expected = (tmp_path, tmp_path / "leakscan.toml")
    assert find(tmp_path) == find(tmp_path / "a/b") == find(tmp_path / "a/b/x.jsonl") == expected
    (tmp_path / "a/leakscan.toml").touch()
    assert find(tmp_path / "a/b") == (tmp_path / "a", tmp_path / "a/leakscan.toml")


@pytest.mark.parametrize("git", ["folder", "file"])
def test_search_stops_at_the_top_of_the_repository(tmp_path: Path, git: str) -> None:
    (tmp_path / "leakscan.toml").touch()
    (tmp_path / "a/b").mkdir(parents=True)
    if git == "folder":
        (tmp_path / "a/.git").mkdir()
    else:
        (tmp_path / "a/.git").write_text("gitdir: elsewhere")
    assert find(tmp_path / "a/b") == (tmp_path / "a", None)


def test_root_without_anything_is_the_path_itself(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.jsonl").touch()
    assert find(tmp_path / "a") == find(tmp_path / "a/x.jsonl") == (tmp_path / "a", None)


def test_root_behind_a_link_is_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/leakscan.toml").touch()
    (tmp_path / "link").symlink_to("real")
    assert find(tmp_path / "link") == (tmp_path / "real", tmp_path / "real/leakscan.toml")


def test_configuration_that_is_no_file_is_not_overlooked(tmp_path: Path) -> None:
    (tmp_path / "leakscan.toml").symlink_to("nothing")
    root, file = find(tmp_path)
    assert root == tmp_path
    assert file is not None
    with pytest.raises(UsageError, match="not a regular file"):
        config.load(file)


# --- globs, fields, templates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "a/b.py", False),
        ("**/*.py", "b.py", True),
        ("**/*.py", "a/b/c.py", True),
        ("a/**/b.jsonl", "a/b.jsonl", True),
        ("a/**/b.jsonl", "a/x/y/b.jsonl", True),
        ("a/**/b.jsonl", "a/xb.jsonl", False),
        ("a/**", "a/b/c", True),
        ("a/**", "b/c", False),
        ("?.py", "é.py", True),
        ("?.py", "/.py", False),
        ("a.py", "axpy", False),
        ("[ab].py", "a.py", False),  # brackets are no wild cards: JSON paths hold them
        ("[ab].py", "[ab].py", True),
        ("a+(b)|{c} #&~\\.py", "a+(b)|{c} #&~\\.py", True),
        ("*.py", "a\nb.py", True),
        ("*.py", "a\udcff.py", True),
        ("", "", True),
    ],
)
def test_glob(pattern: str, path: str, matches: bool) -> None:
    assert glob_match(pattern, path) is matches


def test_glob_of_many_stars_is_linear() -> None:
    """With a backtracking matcher this does not end in a lifetime."""
    assert glob_match("**/" * 100 + "x", "a/" * 1000 + "y") is False
    assert glob_match("*a" * 100, "a" * 1000 + "b") is False


def test_glob_that_is_too_large_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"leakscan.*pattern of files|the pattern of files"):
        config.parse({"records": {"p": {"files": ["?" * 500_000]}}}, HERE)


def test_declared_files() -> None:
    settings = Config(allow=("README.md", "docs/*.md", "*.py"))
    declared = ["leakscan.toml", "README.md", "a/README.md", "docs/x.md", "a/b/c.py"]
    others = ["a/leakscan.toml", "README.md.jsonl", "docs/a/x.md", "x.md", "py"]
    assert [path for path in declared + others if settings.declares(path)] == declared


def test_first_record_set_wins() -> None:
    settings = parse("[records.a]\nfiles = ['x/*.jsonl']\n[records.b]\nfiles = ['**/*.jsonl']")
    names = [records and records.name for records in map(settings.record_set, ("x/p.jsonl", "y/p.jsonl", "p.csv"))]
    assert names == ["a", "b", None]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("id", "$.id"),
        ("meta.id", "$.meta.id"),
        ("choices[]", "$.choices[]"),
        ("a[].b[][].c", "$.a[].b[][].c"),
        ("Answer key", "$['Answer key']"),
        ("meta.2nd[].x", "$.meta['2nd'][].x"),
        ("(key)", "$['(key)']"),
        ("$['a.b'].c", "$['a.b'].c"),
    ],
)
def test_field_path(name: str, path: str) -> None:
    assert field_path(name) == path


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("audio/{id}.mp3", "audio/MUB-1.mp3"),
        ("{n}-{id}", "5-MUB-1"),
        ("{meta.x}", "y"),
        ("plain", "plain"),
        ("{{id}}", "{id}"),
        *[(f"audio/{{{name}}}.mp3", None) for name in ("none", "null", "list", "yes", "up", "slash", "nul", "empty")],
    ],
)
def test_fill(template: str, text: str | None) -> None:
    body = {"id": "MUB-1", "n": 5, "meta": {"x": "y"}, "null": None, "list": ["a"], "yes": True, "up": "..",
            "slash": "a/b", "nul": "a\0", "empty": ""}  # fmt: skip
    assert fill(template, body) == text
    assert fill("audio/{id}.mp3", "no object") is None


def test_segments() -> None:
    assert [text for text in ("a", "", ".", "..", "a/b", "a\\b", "a\0", "...", "a b") if is_segment(text)] == [
        "a", "...", "a b",
    ]  # fmt: skip


# --- as TOML again ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [FULL, "", "profile = 'mub'", '[records."a b"]\nfiles = ["*.jsonl"]\nclosed = true'])
def test_dump_reads_as_the_same_configuration(text: str) -> None:
    once = config.parse(tomllib.loads(text), Path("leakscan.toml"))
    again = config.parse(tomllib.loads(config.dump(once)), Path("leakscan.toml"))
    assert again == replace(once, profile=None)


@given(st.recursive(st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_any_value_can_be_written(value: Any) -> None:
    assert tomllib.loads(f"a = {config.toml(value)}") == {"a": value}
