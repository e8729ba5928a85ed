"""A closed schema lets nothing pass that is not declared, and no value that its declaration rules out."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from leakscan import config
from leakscan.checks import schema
from leakscan.model import Beside, Entry, Finding, Item, Place, Private, Release

HEAD = """
[records.prompts]
files = ["*.jsonl"]
id = "id"
closed = true
[records.prompts.fields]
id = {role = "routing"}
"""


def judge(
    fields: str, *records: Any, top: str = "", path: str = "p.jsonl", files: tuple[str, ...] = ()
) -> list[Finding]:
    check = schema.check(config.parse(tomllib.loads(top + HEAD + fields), Path("leakscan.toml")), Private())
    items = [Item(Place(path, number), "record", record) for number, record in enumerate(records, 1)]
    release = Release(Path("/nonexistent"), {file: Entry(file, Path(file), 0, b"") for file in files})
    return list(check.finish(release, [seen for item in items for seen in check.see(item)]))


def told(findings: list[Finding]) -> list[tuple[str, str | None, str]]:
    return [(finding.rule, finding.place.name, finding.message) for finding in findings]


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"id": "1", "x": 1}, "$.x"),
        ({"id": "1", "x": None}, "$.x"),
        ({"id": "1", "x": {}}, "$.x"),
        ({"id": "1", "x": []}, "$.x"),
        ({"id": "1", "a": {"b": "1", "x": [{"y": 1}]}}, "$.a.x[].y"),
        ({"id": "1", "a": "1"}, "$.a"),
        ({"id": "1", "a": {"b": "1", "a b": 2}}, "$.a['a b']"),
        ({"id": "1", "c": ["1", {"x": 2}]}, "$.c[].x"),
        ({"id": "1", "c": ["1", ["x"]]}, "$.c[][]"),
        ({"id": "1", "c": "1"}, "$.c"),
    ],
)
def test_what_is_not_declared_is_found(record: Any, name: str) -> None:
    fields = '"a.b" = {role = "input", optional = true}\n"c[]" = {role = "input", optional = true}'
    assert [(rule, place) for rule, place, _ in told(judge(fields, record))] == [("undeclared-field", name)]


def test_what_stands_beside_the_records_has_fields_of_its_own() -> None:
    beside = '[records.prompts.beside]\nversion = {role = "routing", enum = ["1.0"]}'
    assert judge(beside, {"id": "1"}, Beside(version="1.0")) == []
    assert told(judge(beside, {"id": "1", "version": "1.0"}, Beside(version="2.0", id="2"))) == [
        ("undeclared-field", "$.version", "a field that the schema does not declare"),
        ("schema-violation", "$.version", "not one of the values declared"),
        ("undeclared-field", "$.id", "a field that the schema does not declare"),
    ]
    assert told(judge(beside, {"id": "1"}, Beside())) == [("schema-violation", "$.version", "missing")]


def test_what_stands_beside_the_records_is_one_of_them_where_nothing_else_is_said() -> None:
    assert [place for _, place, _ in told(judge("", {"id": "1"}, Beside(version="1.0")))] == ["$.version", "$.id"]


def test_empty_parents_of_declared_fields_pass() -> None:
    fields = '"a.b" = {role = "input", optional = true}\n"c[]" = {role = "input", optional = true, min = 2}'
    assert judge(fields, {"id": "1", "a": {}, "c": []}) == []


def test_open_sets_and_other_files_are_left_alone() -> None:
    assert judge("", {"id": "1", "x": 1}, path="other/p.jsonl") == []
    open_set = tomllib.loads(HEAD.replace("closed = true", "closed = false"))
    check = schema.check(config.parse(open_set, Path("leakscan.toml")), Private())
    assert list(check.see(Item(Place("p.jsonl", 1), "record", {"id": "1", "x": 1}))) == []


VALUES = [
    ('pattern = "a+"', "aa", "ba", "not what its pattern allows"),
    ('pattern = "a|b"', "b", "bc", "not what its pattern allows"),
    ('enum = ["a", "b"]', "a", "c", "not one of the values declared"),
    ('type = "integer", enum = [1, 2]', "2", 3, "not one of the values declared"),
    ('type = "integer"', 3, 3.5, "not of type integer"),
    ('type = "integer"', "-3", True, "not of type integer"),
    ('type = "number"', 3.5, "loud", "not of type number"),
    ('type = "number"', "3.5", float("nan"), "not of type number"),
    ('type = "boolean"', True, 1, "not of type boolean"),
    ('type = "text"', "a", 1, "not of type text"),
    ('type = "path"', "a/b", {}, "not of type path"),
    ('type = "number", min = 0', 0, -1, "below the minimum of 0"),
    ('type = "number", max = 5', "5", "5.5", "above the maximum of 5"),
    ("min = 2", "aa", "a", "below the minimum of 2 characters"),
    ("max = 2", "aa", "aaa", "above the maximum of 2 characters"),
    ('template = "audio/{id}.mp3"', "audio/7.mp3", "audio/8.mp3", "not what its template gives"),
]


@pytest.mark.parametrize(("spec", "good", "bad", "message"), VALUES)
def test_values(spec: str, good: Any, bad: Any, message: str) -> None:
    fields = f'x = {{role = "input", {spec}}}'
    assert judge(fields, {"id": "7", "x": good}) == []
    assert told(judge(fields, {"id": "7", "x": bad})) == [("schema-violation", "$.x", message)]


@pytest.mark.parametrize(
    ("spec", "good", "bad", "message"),
    [
        ("min = 2", ["a", "b"], ["aaaa"], "below the minimum of 2 elements"),
        ("max = 2", ["aaaa", "b"], ["a", "b", "c"], "above the maximum of 2 elements"),
        ("distinct = true", ["a", "b"], ["a", "a"], "the same element twice"),
        ('enum = ["a", "b"]', ["a", "b"], ["a", "c"], "not one of the values declared"),
    ],
)
def test_lists(spec: str, good: list[str], bad: list[str], message: str) -> None:
    fields = f'"x[]" = {{role = "input", {spec}}}'
    assert judge(fields, {"id": "7", "x": good}) == []
    assert told(judge(fields, {"id": "7", "x": bad})) == [("schema-violation", "$.x[]", message)]


def test_what_is_missing_is_found_unless_optional() -> None:
    assert told(judge('x = {role = "input"}', {"id": "1"})) == [("schema-violation", "$.x", "missing")]
    for record in ({"id": "1"}, {"id": "1", "x": None}, {"id": "1", "x": ""}):
        assert judge('x = {role = "input", optional = true, pattern = "a"}', record) == []
    assert told(judge('x = {role = "input"}', {"id": "1", "x": None})) == [
        ("schema-violation", "$.x", "not of type text")
    ]


def test_unique_values() -> None:
    fields = 'x = {role = "input", unique = true}'
    records = [{"id": "1", "x": value} for value in "abaa"]
    (finding,) = judge(fields, *records)
    assert (finding.rule, finding.count, finding.place.record) == ("schema-violation", 2, 3)


def test_references() -> None:
    fields = 'x = {role = "input", type = "path", exists = true}'
    record = {"id": "1", "x": "audio/1.mp3"}
    assert judge(fields, record, files=("audio/1.mp3",)) == []
    assert [(finding.rule, finding.place.name) for finding in judge(fields, record)] == [("missing-file", "$.x")]
    assert judge(fields, record, top='release = {audio = "private"}\n') == []
    assert judge(fields, {"id": "1", "x": "notes.txt"}, top='release = {audio = "private"}\n') != []


def test_one_finding_per_path_with_all_its_reasons() -> None:
    (finding,) = judge(
        'x = {role = "input", max = 2, pattern = "a+"}', *[{"id": "1", "x": x} for x in ("b", "aaa", "b")]
    )
    assert (finding.message, finding.count) == ("not what its pattern allows; above the maximum of 2 characters", 3)


@pytest.mark.parametrize("text", ['{"answer": "3/4"}', "['waltz', 'in 3']", '[{"a": 1}]'])
def test_structure_within_a_text_does_not_pass(text: str) -> None:
    told_as = ("schema-violation", "$.a", "a list or an object spelt out in a text")
    assert told(judge('a = {role = "input"}', {"id": "1", "a": text})) == [told_as]
    assert judge("a = {role = \"input\", pattern = '[\\[{].*'}", {"id": "1", "a": text}) == []
    assert judge('a = {role = "input"}', {"id": "1", "a": f"Read this: {text}"}) == []
    assert judge('a = {role = "input"}', {"id": "1", "a": "[a pause] Which metre?"}) == []
