"""Rules are data: what is missing or misspelt in one is an error, and matching takes linear time whatever they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan import rulebook
from leakscan.model import Columns, Example, Fact, FactKind, Item, Place, Rule, UsageError, facts
from leakscan.rulebook import Matcher, Wish

GOOD = {
    "id": '"x"', "title": '"a title"', "why": "'''\nBecause.\n'''", "fix": '"Mend it."', "level": '"error"',
    "about": '"hygiene"', "match": "{name = 'a'}", "checks": '["schema"]', "bad": "[{field.a = 1}]",
    "good": "[{field.b = 1}]",
}  # fmt: skip


def write(folder: Path, name: str = "x", **changes: str | None) -> Path:
    file = folder / f"{name}.toml"
    lines = [f"{key} = {value}" for key, value in {**GOOD, **changes}.items() if value is not None]
    file.write_text("\n".join(lines))
    return file


def rule(name: str = "r", /, **match: str) -> Rule:
    return Rule(name, "t", "w", "f", "error", "hygiene", match, (), (), ())


# --- reading ---------------------------------------------------------------------------------------------------------


def test_without_examples_a_rule_is_otherwise_the_same() -> None:
    whole, lean = rulebook.load(), rulebook.load(examples=False)
    assert lean == tuple(replace(rule, bad=(), good=()) for rule in whole)


def test_every_key_arrives(tmp_path: Path) -> None:
    examples = "[{field = {a = 1}, tag = {b = 'x'}, name = 'n', records = [{c = 2}], files = {p = 'x'}, config = 'y'}]"
    file = write(tmp_path, bad=examples)
    assert rulebook.read_rule(file) == Rule(
        "x", "a title", "Because.", "Mend it.", "error", "hygiene", {"name": "a"}, ("schema",),
        (Example(fields={"a": 1}, tags={"b": "x"}, name="n", records=({"c": 2},), files={"p": "x"}, config="y"),),
        (Example(fields={"b": 1}),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *[({key: None}, f"a rule needs '{key}'") for key in GOOD if key not in ("match", "checks")],
        ({"fix": '""'}, "a rule needs 'fix'"),
        ({"bad": "[]"}, "a rule needs 'bad'"),
        ({"match": None, "checks": None}, "a rule needs [match], checks or both"),
        ({"match": "{}", "checks": "[]"}, "a rule needs [match], checks or both"),
        ({"id": '"y"'}, "the id is 'y', so the file must be called y.toml"),
        ({"level": '"eror"'}, "level 'eror'; did you mean 'error'?"),
        ({"about": '"gould"'}, "about 'gould'; did you mean 'gold'?"),
        ({"titel": '"x"'}, "unknown key 'titel' in the rule; did you mean 'title'?"),
        ({"match": "{nam = 'a'}"}, "unknown key 'nam' in [match]; did you mean 'name'?"),
        ({"match": "{name = '('}"}, "name is not a regular expression that RE2 accepts: missing ): ("),
        ({"match": "{name = 5}"}, "name is not a regular expression that RE2 accepts: not a string"),
        ({"match": r"{name = '\pL{1000}\pL{1000}'}"}, "name is not a regular expression that RE2 accepts: pattern too"),
        ({"bad": "[{feld = 1}]"}, "unknown key 'feld' in an example; did you mean 'field'?"),
        ({"bad": "[1]"}, "an example must be a table"),
        ({"bad": "{field.a = 1}"}, "'bad' must be a list"),
        ({"match": "'a'"}, "'match' must be a table"),
        ({"why": "5"}, "'why' must be text"),
        ({"title": "['x']"}, "'title' must be text"),
        ({"checks": "'schema'"}, "'checks' must be a list"),
        ({"checks": "[1]"}, "'checks' must hold names of checks"),
        ({"level": "[]", "id": "5"}, "a rule needs 'level'"),
        ({"level": "['error']"}, "'level' must be text"),
    ],
)
def test_errors_name_the_file_and_what_is_wrong(tmp_path: Path, changes: dict[str, str | None], message: str) -> None:
    file = write(tmp_path, **changes)
    with pytest.raises(UsageError) as error:
        rulebook.read_rule(file)
    assert str(error.value).startswith(f"{file}: {message}")


def test_more_rules_are_added_by_id(tmp_path: Path) -> None:
    write(tmp_path, "zzz", id='"zzz"')
    shipped, more = rulebook.load(), rulebook.load([tmp_path])
    ids = [known.id for known in more]
    assert ids == sorted(ids)
    assert set(ids) - {known.id for known in shipped} == {"zzz"}


def test_folder_without_rules_is_an_error(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "gone"):
        with pytest.raises(UsageError) as error:
            rulebook.load([folder])
        assert str(error.value) == f"{folder}: holds no rules (*.toml)"


def test_rule_cannot_be_replaced(tmp_path: Path) -> None:
    file = write(tmp_path, "malformed-record", id='"malformed-record"')
    with pytest.raises(UsageError) as error:
        rulebook.load([tmp_path])
    assert str(error.value) == f"{file}: there is already a rule 'malformed-record'; choose another id"


# --- matching --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("match", "fact", "hit"),
    [
        ({"kind": "^field$"}, ("field", "$.a", 1), True),
        ({"kind": "^field$"}, ("name", "$.a", "a"), False),
        ({"name": "a$"}, ("tag", "id3.a", ""), True),
        ({"name": "a$"}, ("tag", "id3.b", "a"), False),
        ({"value": "^x"}, ("field", "$.a", "xy"), True),
        ({"value": "^x"}, ("field", "$.x", "yx"), False),
        ({"name": "a", "value": "x"}, ("field", "$.a", "y"), False),
        ({"name": "a", "value": "x"}, ("field", "$.b", "x"), False),
        ({"name": "a", "unless_name": "^\\$\\.a$"}, ("field", "$.a", "x"), False),
        ({"name": "a", "unless_name": "^\\$\\.a$"}, ("field", "$.ab", "x"), True),
        ({"name": "a", "unless_value": "^x$"}, ("field", "$.a", "x"), False),
        ({"name": "a", "unless_value": "^x$"}, ("field", "$.a", "xx"), True),
        ({"value": "x", "unless_value": "y"}, ("field", "$.a", "xy"), False),
        ({"value": "^$"}, ("field", "$.a", None), True),
        ({"value": "^true$"}, ("field", "$.a", True), True),
        ({"value": "^120$"}, ("field", "$.a", 120), True),
        ({"value": "^0.5$"}, ("field", "$.a", 0.5), True),
        ({"value": "^a.b$"}, ("field", "$.a", "a\ud800b"), True),  # a lone surrogate is one character
        ({"name": "a.b$"}, ("field", "$['a\ud800b", ""), True),
    ],
)
def test_all_given_keys_must_hold(match: dict[str, str], fact: tuple[FactKind, str, Any], hit: bool) -> None:
    one = rule(**match)
    assert Matcher([one]).hits(Fact(*fact)) == ((one,) if hit else ())


def test_many_rules_are_held_against_one_value() -> None:
    rules = [rule("a", value="x"), rule("b", name="a"), rule("c", value="y"), rule("d", value="x", unless_value="z")]
    matcher = Matcher([*rules, Rule("e", "", "", "", "error", "hygiene", {}, ("schema",), (), ())])
    found = {value: {hit.id for hit in matcher.hits(Fact("field", "$.a", value))} for value in ("x", "xyz", "", "z")}
    assert found == {"x": {"a", "b", "d"}, "xyz": {"a", "b", "c"}, "": {"b"}, "z": {"b"}}


@pytest.mark.parametrize(
    "value", ["^secret$", "(?i)^SECRET$", r"\Asecret\z", "(?-m)^secret$", "(?-m:^secret$)", "(?i-m)^SECRET", "cre"]
)
def test_values_of_many_records_at_once_match_as_they_do_one_by_one(value: str) -> None:
    bodies = [{"a": text} for text in ("a", "secret", None, "not secrets", "not\nsecret", "%73ecret")]
    matcher = Matcher([rule("r", kind="field", value=value)])
    assert sifted(matcher, bodies) == one_by_one(matcher, bodies)
    assert {"secret", "%73ecret"} <= {fact.value for _, fact, _ in sifted(matcher, bodies)}


VALUES = st.one_of(st.none(), st.integers(0, 2), st.text("ab\n%\ud800\u0430", max_size=4))
RECORDS = st.lists(st.dictionaries(st.sampled_from("abc"), VALUES | st.lists(VALUES, max_size=3)), max_size=5)
PATTERNS = st.sampled_from(["a", "^a", "b$", "^$", "a\\s", "^.$", "\\Aa", "(?-m)b$", "0|1", "(?i)^A"])
KINDS = st.sampled_from(["field", "name", "field|name", ""])


@given(RECORDS, st.lists(st.tuples(KINDS, PATTERNS, st.sampled_from(["", "a", "c$"]), st.booleans()), max_size=4))
def test_any_values_at_once_match_as_they_do_one_by_one(
    bodies: list[Any], parts: list[tuple[str, str, str, bool]]
) -> None:
    rules = [
        rule(str(n), kind=kind, value=value, name=name, **({"unless_value": "ab"} if unless else {}))
        for n, (kind, value, name, unless) in enumerate(parts)
    ]
    matcher = Matcher(rules)
    assert sifted(matcher, bodies) == one_by_one(matcher, bodies)


def sifted(matcher: Matcher, bodies: list[Any]) -> list[tuple[int, Fact, Rule]]:
    return sorted(matcher.sift((), Columns(bodies)).hits, key=repr)


def one_by_one(matcher: Matcher, bodies: list[Any]) -> list[tuple[int, Fact, Rule]]:
    records = [Item(Place("p.jsonl", number), "record", body) for number, body in enumerate(bodies)]
    every = ((number, fact) for number, item in enumerate(records) for fact in facts(item))
    return sorted(((number, fact, hit) for number, fact in every for hit in matcher.hits(fact)), key=repr)


# --- what checks wish to see -----------------------------------------------------------------------------------------


def wanted(wish: Wish, bodies: list[Any]) -> dict[int, list[str]]:
    """The names that a check gets to see, by record."""
    chosen = Matcher([rule(value="x")], {"c": wish}).sift((), Columns(bodies)).wanted
    assert set(chosen) <= {"c"}
    found: dict[int, list[str]] = {}
    for number, fact in chosen.get("c", ()):
        found.setdefault(number, []).append(f"{fact.kind} {fact.name}")
    return found


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ({}, {}),
        ({("text", "$.a"): ""}, {0: ["field $.a"], 2: ["field $.a"]}),
        ({("number", "$.a"): ""}, {1: ["field $.a"]}),
        ({("name", "$.a"): ""}, {0: ["name $.a"], 1: ["name $.a"], 2: ["name $.a"]}),
        ({("name", "$.a"): "^a$", ("text", "$.b"): "^no$"}, {0: ["name $.a"], 1: ["name $.a"], 2: ["name $.a"]}),
        ({("text", "$.b"): "^yes$", ("number", "$.a"): "5"}, {1: ["field $.b", "field $.a"]}),
        ({("number", "$.a"): "^6$"}, {}),
    ],
)
def test_a_check_gets_the_columns_that_it_wants(
    answers: dict[tuple[str, str], str], found: dict[int, list[str]]
) -> None:
    bodies = [{"a": "x"}, {"a": 5, "b": "yes"}, {"a": "y"}]
    assert wanted(lambda kind, name: answers.get((kind, name)), bodies) == found


def test_a_check_gets_all_values_beside_and_after_one_that_it_wants() -> None:
    matcher = Matcher([], {"c": lambda kind, name: "^x$" if kind == "text" else None})
    batches = [[{"a": "y"}], [{"a": "y"}, {"a": "x"}, {"b": "y"}], [{"a": "y"}], [{"b": "y"}]]
    wanted = [matcher.sift((), Columns(bodies)).wanted for bodies in batches]
    y, x = Fact("field", "$.a", "y"), Fact("field", "$.a", "x")
    assert wanted == [{}, {"c": [(0, y), (1, x)]}, {"c": [(0, y)]}, {}]


def test_a_check_is_asked_once_for_each_name() -> None:
    asked: list[tuple[str, str]] = []
    matcher = Matcher([], {"c": lambda kind, name: asked.append((kind, name))})
    for _ in range(2):
        matcher.sift((Fact("tag", "id3.TIT2", "x"),), Columns([{"a": "x"}, {"a": 1}]))
    assert asked == [("tag", "id3.TIT2"), ("name", "$.a"), ("text", "$.a"), ("number", "$.a")]


def test_facts_of_one_item_are_sifted_one_by_one() -> None:
    fact, other = Fact("tag", "id3.TIT2", "x"), Fact("tag", "id3.TALB", "y")
    one = rule(kind="tag", value="x")
    matcher = Matcher([one], {"c": lambda kind, name: "y" if kind == "tag" else None})
    assert matcher.sift((fact, other), Columns([])) == ([(0, fact, one)], {"c": [(0, other)]})


# --- limits ----------------------------------------------------------------------------------------------------------


def test_rules_too_large_together_are_an_error_and_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [rule(str(number), value=rf"\pL{{3}}{number}") for number in range(3)]
    assert Matcher(rules).hits(Fact("field", "$", "ééé1")) == (rules[1],)
    monkeypatch.setattr(rulebook, "SET_MEMORY", 1 << 14)
    with pytest.raises(UsageError) as error:
        Matcher(rules).hits(Fact("field", "$", "ééé1"))
    assert str(error.value) == "the rules: their value patterns are too large together; use fewer extra rules"
