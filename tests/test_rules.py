"""What every rule owes: it fires on its bad examples, is silent on its good ones, and no part of it is idle."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan import rulebook, walk
from leakscan.config import rules_folder
from leakscan.discover import members
from leakscan.model import Columns, Entry, Example, Fact, Item, Place, Rule, child_name, facts
from leakscan.redaction import Redactor
from leakscan.rulebook import Matcher
from leakscan.scanning import try_example

RULES = rulebook.load()
SHOWN = Redactor((), (), (), ())  # keys that are not shaped like names never stand in a report
BAD = [pytest.param(rule, example, id=f"{rule.id}-{n}") for rule in RULES for n, example in enumerate(rule.bad, 1)]
GOOD = [pytest.param(rule, example, id=f"{rule.id}-{n}") for rule in RULES for n, example in enumerate(rule.good, 1)]

LOOK_ALIKES = Example(
    records=tuple(
        {
            "id": f"MUB-{n:05}",
            "audio": f"audio/MUB-{n:05}.mp3",
            "prompt": "The decade, the facade. Answer with the option's letter. The correct answer is: ",
            "choices": ["Bbadd9", "Cadd9", "F#m", "D"],
            "options": [{"label": "A", "text": "Badd9"}, {"label": "B", "text": "Fadd9"}],
            "level": 0.9872322690098937 - n / 1000,
            "floor": "1.83989157243e-10",
            "issued": 1700000000 + n,
            "issued_ms": str(1700000000123 + n),
            "stamp": str(2009113012134556 + n),
            "row": f"{n:08}",
            "colour": "#466852",
            "key": f"shard-{n}",
            "text": "Which instrument plays the theme?",
            "request": f"1b4e28ba-2fa1-4d2e-8{n:03x}-b9a761bde3fb",
            "messages": [
                {"role": "system", "content": "You are a careful listener."},
                {"role": "user", "content": "Which chord opens the recording?"},
                {"role": "assistant", "content": "The correct answer is: "},
            ],
        }
        for n in range(1, 40)
    )
)


def test_rules_are_found() -> None:
    assert len(RULES) > 10


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_why_and_fix_are_sentences(rule: Rule) -> None:
    assert rule.why.endswith(".")
    assert rule.fix.endswith(".")
    assert not rule.title.endswith(".")


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.match], ids=lambda rule: rule.id)
def test_every_pattern_has_evasion_examples(rule: Rule) -> None:
    """Case, look-alike letters, wide letters, invisible characters, escapes and nesting get past no pattern."""
    evasions = tomllib.loads((rules_folder() / f"{rule.id}.toml").read_text()).get("evasion", [])
    assert bool(evasions) is (rule.match.get("kind") != "block")  # blocks are leakscan's own words


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_bad_fires(rule: Rule, example: Example) -> None:
    found = {finding.place.name or "" for finding in try_example(example, [rule]).findings if finding.rule == rule.id}
    assert found
    for key in named(example):
        path = SHOWN.place(Place("", name=key)).name or ""
        assert any(name == path or name.startswith((f"{path}.", f"{path}[")) for name in found), path


@pytest.mark.parametrize(("rule", "example"), GOOD)
def test_good_is_silent(rule: Rule, example: Example) -> None:
    assert try_example(example, [rule]).findings == ()


@pytest.mark.parametrize(("rule", "example"), GOOD)
def test_good_is_no_error_of_another_rule(rule: Rule, example: Example) -> None:
    errors = {finding.rule for finding in try_example(example, RULES).findings if finding.level == "error"}
    assert errors <= {ANOTHERS_BUSINESS.get(rule.id)}


ANOTHERS_BUSINESS = {  # what is good for one rule since it is bad for another
    "empty-evaluator-field": "evaluator-field",
    "gold-tag": "identifying-tag",
    "identifying-tag": "gold-tag",
    "musical-key-field": "evaluator-field",
}


def test_look_alikes_are_silent() -> None:
    report = try_example(LOOK_ALIKES, RULES)
    assert report.findings == ()
    assert report.examined.records == len(LOOK_ALIKES.records)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.match], ids=lambda rule: rule.id)
def test_every_part_of_every_pattern_is_needed(rule: Rule) -> None:
    """A pattern without one of its parts must fail an example: a bad one is missed or a good one fires."""
    bad = [fired(rule, example) for example in rule.bad]
    idle = []
    for key, pattern in rule.match.items():
        for what, mutant in mutants(pattern):
            changed = replace(rule, match={**rule.match, key: mutant})
            missed = any(before - fired(changed, example) for before, example in zip(bad, rule.bad, strict=True))
            if not missed and not any(fired(changed, example) for example in rule.good):
                idle.append(f"{key}: {what}")
    assert idle == []


@pytest.mark.parametrize("example", [case.values[1] for case in (*BAD, *GOOD)])
def test_values_tried_together_give_what_each_gives_alone(example: Example) -> None:
    matcher = Matcher(RULES)
    body = {**example.fields, "records": list(example.records)}
    together = {(fact.name, fact.value, rule.id) for _, fact, rule in matcher.sift((), Columns([body]))[0]}
    alone = facts(Item(Place("prompts.jsonl", 1), "record", body))
    assert together == {(fact.name, fact.value, rule.id) for fact in alone for rule in matcher.hits(fact)}


def named(example: Example) -> Iterator[str]:
    """The names that the author of an example wrote down: the fields of its record and its tags."""
    yield from (child_name("$", key) for key in example.fields)
    yield from example.tags


def fired(rule: Rule, example: Example) -> set[str]:
    """Which of the things that an example holds the rule's pattern fires on; leaves count for the field they are in."""
    matcher = Matcher([rule])
    found: set[str] = set()
    for key, value in example.fields.items():
        item = Item(Place("prompts.jsonl", 1), "record", {key: value})
        found.update(key for fact in facts(item) if matcher.hits(fact))
    found.update(name for name, value in example.tags.items() if matcher.hits(Fact("tag", name, value)))
    if example.name is not None:
        found.update("name" for fact in facts(Item(Place(example.name), "file")) if matcher.hits(fact))
    if any(matcher.hits(fact) for fact in _content(example)):
        found.add("content")
    return found


def _content(example: Example) -> Iterator[Fact]:
    entries = [Entry(path, Path(path), len(text), text.encode()) for path, text in example.files.items()]
    read = [item for item in walk.items(entries, members("formats"), lambda path: False) if isinstance(item, Item)]
    records = [Item(Place("prompts.jsonl", n), "record", record) for n, record in enumerate(example.records, 1)]
    for item in (*read, *records):
        yield from facts(item)


_TOKEN = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[a-z]*[:)]|\\.|[\s\S]")
_WIDER = {"\\d", "\\w", "\\s", "\\S", "\\D", "\\W"}
_ANCHORS = {"^", "$", "\\b", "\\A", "\\z"}


def mutants(pattern: str) -> Iterator[tuple[str, str]]:
    """`pattern` without one anchor, flag or alternative, or with `.` for a class, in all ways, with what changed."""
    tokens = _TOKEN.findall(pattern)

    def without(first: int, last: int, instead: str = "") -> tuple[str, str]:
        dropped, before = "".join(tokens[first:last]), "".join(tokens[:first])
        return f"{dropped!r} at {len(before)}", before + instead + "".join(tokens[last:])

    groups: list[list[int]] = [[-1]]  # of each open group: where it and its bars stand
    for place, token in enumerate([*tokens, ")"]):
        if token in _ANCHORS:
            yield without(place, place + 1)
        elif token in _WIDER or (token[0] == "[" and len(token) > 1):
            yield without(place, place + 1, ".")
        elif token.startswith("(?") and token != "(?:":
            yield without(place, place + 1, "(?:" if token[-1] == ":" else "")
        if token[0] == "(" and token[-1] != ")":
            groups.append([place])
        elif token == "|":
            groups[-1].append(place)
        elif token == ")":
            bars = groups.pop()
            if len(bars) > 1:
                yield without(bars[0] + 1, bars[1] + 1)
                for bar, end in itertools.pairwise([*bars[1:], place]):
                    yield without(bar, end)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^a$", ["a$", "^a"]),
        ("(?i)a", ["a"]),
        ("(?i:a)b", ["(?:a)b"]),
        (r"[\]a]\d\.", [r".\d\.", r"[\]a].\."]),
        ("x(?:a|b(?:c|d)|e)", ["x(?:a|b(?:d)|e)", "x(?:a|b(?:c)|e)", "x(?:b(?:c|d)|e)", "x(?:a|e)", "x(?:a|b(?:c|d))"]),
        ("a|b", ["b", "a"]),
        (r"a\|b\(", []),
    ],
)
def test_mutants(pattern: str, expected: list[str]) -> None:
    assert [mutant for _, mutant in mutants(pattern)] == expected


NAMES = st.sampled_from(
    "id prompt choices options answer gold audio order x messages role content title A B a b option_a option_b".split()
)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(("A", "C", "oboe", "2,0,1", '{"A": [1]}'))
    | st.text(max_size=5)
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inside: st.lists(inside, max_size=4) | st.dictionaries(NAMES, inside, max_size=4), max_leaves=12
)


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=6) | VALUES, min_size=2, max_size=6))
def test_no_records_end_the_scan(records: list[Any]) -> None:
    """Texts, numbers and objects may stand under one name; the JSON need not even hold objects."""
    gold = {str(number): {"answer": "oboe", "key": "A minor"} for number in range(3)}
    example = Example(records=tuple(records), gold=gold, catalogue={"0": {"title": "Two Herons"}})
    assert try_example(example, RULES).examined.records == len(records)
