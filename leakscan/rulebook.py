"""Rule packs (TOML, one file a rule) -> Rules, and the Matcher that holds facts against them in linear time."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import re2

from leakscan.config import compile_pattern, nearest, read_toml, rules_folder
from leakscan.model import Columns, Example, Fact, FactKind, Level, Rule, UsageError
from leakscan.text import as_text, plain, spellings

SET_MEMORY = 256 << 20
"""What the value patterns of all rules may take together, in bytes."""

_WHOLE_TEXT = re.compile(r"\\[Az]|\(\?\w*-")  # `(?-m)` takes back that lines have a beginning and an end

_RULE_KEYS = ("id", "title", "why", "fix", "level", "about", "match", "checks", "bad", "evasion", "good")
_MATCH_KEYS = ("kind", "name", "value", "unless_name", "unless_value")
_EXAMPLE_KEYS = {"field": "fields", "tag": "tags", "records": "records", "name": "name", "files": "files",
                 "gold": "gold", "catalogue": "catalogue", "config": "config"}  # fmt: skip
_ABOUT = ("identity", "gold", "digest", "hygiene")
_TYPES = {"match": dict, "checks": list, "bad": list, "evasion": list, "good": list}  # the rest is text
_WORDS = {dict: "a table", list: "a list", str: "text"}


def load(extra: Sequence[Path] = (), examples: bool = True) -> tuple[Rule, ...]:
    """The shipped rules and those of the folders `extra`, by ID.  Raises `UsageError`.

    Without `examples` the shipped ones come without: these are most of what there is to parse, and a scan needs none.
    """
    rules: dict[str, Rule] = {}
    for folder in (rules_folder(), *extra):
        files = sorted(folder.glob("*.toml"))
        if not files:
            raise UsageError(f"{folder}: holds no rules (*.toml)")
        for file in files:
            rule = read_rule(file, examples or folder in extra)
            if rule.id in rules:
                raise UsageError(f"{file}: there is already a rule '{rule.id}'; choose another id")
            rules[rule.id] = rule
    return tuple(rules[key] for key in sorted(rules))


def read_rule(file: Path, examples: bool = True) -> Rule:
    """One rule; everything a later owner would expect in it must be there.  Raises `UsageError`.

    Without `examples` the file is read up to the first of them only.
    """
    document = read_toml(file, "" if examples else "[[")
    _known(file, "the rule", document, _RULE_KEYS)
    for key in ("id", "title", "why", "fix", "level", "about", *(("bad", "good") if examples else ())):
        if not document.get(key):
            raise UsageError(f"{file}: a rule needs '{key}'")
    for key, value in document.items():
        expected = _TYPES.get(key, str)
        if not isinstance(value, expected):
            raise UsageError(f"{file}: '{key}' must be {_WORDS[expected]}")
    if document["id"] != file.stem:
        raise UsageError(f"{file}: the id is '{document['id']}', so the file must be called {document['id']}.toml")
    if document["level"] not in get_args(Level):
        raise UsageError(f"{file}: level '{document['level']}'; {nearest(document['level'], get_args(Level))}")
    if document["about"] not in _ABOUT:
        raise UsageError(f"{file}: about '{document['about']}'; {nearest(document['about'], _ABOUT)}")
    match, checks = document.get("match", {}), document.get("checks", [])
    if not match and not checks:
        raise UsageError(f"{file}: a rule needs [match], checks or both")
    if not all(isinstance(check, str) for check in checks):
        raise UsageError(f"{file}: 'checks' must hold names of checks")
    _known(file, "[match]", match, _MATCH_KEYS)
    for key, pattern in match.items():
        compile_pattern(pattern, f"{file}: {key}")
    return Rule(
        **{key: document[key] for key in ("id", "title", "fix", "level", "about")},
        why=document["why"].strip(),
        match=match,
        checks=tuple(checks),
        bad=tuple(_example(file, table) for table in (*document.get("bad", ()), *document.get("evasion", ()))),
        good=tuple(_example(file, table) for table in document.get("good", ())),
    )


def _known(file: Path, where: str, table: Any, valid: Iterable[str]) -> None:
    if not isinstance(table, Mapping):
        raise UsageError(f"{file}: {where} must be a table")
    for key in table:
        if key not in valid:
            raise UsageError(f"{file}: unknown key '{key}' in {where}; {nearest(key, valid)}")


def _example(file: Path, table: Mapping[str, Any]) -> Example:
    _known(file, "an example", table, _EXAMPLE_KEYS)
    values: dict[str, Any] = {
        _EXAMPLE_KEYS[key]: tuple(value) if isinstance(value, list) else value for key, value in table.items()
    }
    return Example(**values)


Wish = Callable[[str, str], str | None]
"""What a check asks of a kind of fact and a name: a pattern, "" for every value, None for nothing under that name."""


@dataclass(frozen=True)
class _Plan:
    """What is left to ask of a value once its name is known."""

    certain: tuple[Rule, ...]
    open: tuple[tuple[Rule, Any], ...]  # a rule and its compiled unless_value
    curious: list[str]  # the checks that wish to see every value, of those in `wishes` from the first one on
    wishes: tuple[tuple[str, str], ...]  # a check and its pattern

    @functools.cached_property
    def values(self) -> Any:
        """The value patterns of the open rules, for one value."""
        return _value_set(tuple(rule.match.get("value", "") for rule, _ in self.open), SET_MEMORY)

    @functools.cached_property
    def sieve(self) -> Any:
        """The patterns of the open rules and then of the checks, for many values at once, one a line.

        None where one of them would mean something else for a line of a text.
        """
        patterns = [rule.match.get("value", "") for rule, _ in self.open] + [pattern for _, pattern in self.wishes]
        if any(_WHOLE_TEXT.search(pattern) for pattern in patterns):
            return None
        return _value_set(tuple(f"(?m){pattern}" for pattern in patterns), SET_MEMORY)


class Sifted(NamedTuple):
    """What matters of some items: each fact with the position of its item."""

    hits: list[tuple[int, Fact, Rule]]  # a rule's `match` holds
    wanted: dict[str, list[tuple[int, Fact]]]  # by the check that may wish to see them

    def add(self, owners: Sequence[int], fact: Fact, rules: Sequence[Rule], checks: Sequence[str]) -> None:
        """Take in a fact that all of the items have."""
        self.hits.extend((owner, fact, rule) for rule in rules for owner in owners)
        for check in checks:
            self.wanted.setdefault(check, []).extend((owner, fact) for owner in owners)


class Matcher:
    """Holds facts against rules, and finds those that checks wish to see.

    A verdict on a name is worked out once per kind and name, of all its spellings; all value patterns that are still
    open then run in one pass over the value, and in a second one over what a reader takes it for if that differs.
    Most values match nothing, so those of many records under one name are first tried at once.
    """

    def __init__(self, rules: Sequence[Rule], wishes: Mapping[str, Wish] = MappingProxyType({})) -> None:
        self._compiled = [
            (rule, {key: compile_pattern(pattern, f"rule {rule.id}: {key}") for key, pattern in rule.match.items()})
            for rule in rules
            if rule.match
        ]
        self._wishes = wishes
        self._plan = functools.lru_cache(maxsize=1 << 16)(self._plan_for)
        self._judge_keys = functools.lru_cache(maxsize=1 << 12)(self._judge_all)

    def sift(self, facts: Iterable[Fact], columns: Columns) -> Sifted:
        """What matters of the facts of one item, or of the columns of many records."""
        sifted = Sifted([], {})
        for fact in facts:
            sifted.add([0], *self._judge(fact))
        for keys, owners in columns.keys:
            for found in self._judge_keys(keys):
                sifted.add(owners, *found)
        for text, leaves in ((True, columns.texts), (False, columns.others)):
            for name, (owners, values) in leaves.items():
                lines = functools.partial(columns.lines if text else columns.spelt_lines, name)
                rules, checks = _askers(self._plan("field", name, text), values, lines)
                for index, rule in rules:
                    sifted.hits.append((owners[index], Fact("field", name, values[index]), rule))
                if checks:
                    chosen = [(owner, Fact("field", name, value)) for owner, value in zip(owners, values, strict=True)]
                    for check in checks:
                        sifted.wanted.setdefault(check, []).extend(chosen)
        return sifted

    def hits(self, fact: Fact) -> tuple[Rule, ...]:
        """The rules whose `match` holds for the fact."""
        plan = self._plan(fact.kind, fact.name, isinstance(fact.value, str))
        return plan.certain + _holding(plan, fact.value)

    def _judge(self, fact: Fact) -> tuple[Fact, Sequence[Rule], Sequence[str]]:
        plan = self._plan(fact.kind, fact.name, isinstance(fact.value, str))
        rules, checks = _askers(plan, [fact.value], functools.partial(as_text, fact.value))
        return fact, [rule for _, rule in rules], checks

    def _judge_all(self, facts: tuple[Fact, ...]) -> Sequence[tuple[Fact, Sequence[Rule], Sequence[str]]]:
        return [found for found in map(self._judge, facts) if found[1] or found[2]]

    def _plan_for(self, kind: FactKind, name: str, text: bool) -> _Plan:
        certain: list[Rule] = []
        pending: list[tuple[Rule, Any]] = []
        names = spellings(as_text(name))
        for rule, patterns in self._compiled:
            if "kind" in patterns and not patterns["kind"].search(kind):
                continue
            if "name" in patterns and not any(map(patterns["name"].search, names)):
                continue
            if "unless_name" in patterns and any(map(patterns["unless_name"].search, names)):
                continue
            if "value" in patterns or "unless_value" in patterns:
                pending.append((rule, patterns.get("unless_value")))
            else:
                certain.append(rule)
        asked = {check: wish(_kind(kind, text), name) for check, wish in self._wishes.items()}
        curious = [check for check, pattern in asked.items() if pattern == ""]
        wishes = tuple((check, pattern) for check, pattern in asked.items() if pattern)
        return _Plan(tuple(certain), tuple(pending), curious, wishes)


def _kind(kind: FactKind, text: bool) -> str:
    """The kind of a fact as checks are asked about it."""
    return kind if kind != "field" else "text" if text else "number"


def _askers(
    plan: _Plan, values: Sequence[Any], lines: Callable[[], str]
) -> tuple[Sequence[tuple[int, Rule]], Sequence[str]]:
    """The rules that hold for values, all of them texts or none, each with a value's position; the checks for all.

    `lines` are the values as the lines of one text.
    """
    hits: Collection[int] = ()
    number = len(plan.open)
    if number or plan.wishes:
        hits = range(number + len(plan.wishes)) if plan.sieve is None else _matches(plan.sieve, lines())
    if not (hits or plan.certain or plan.curious):
        return (), ()
    rules = [(index, rule) for index in range(len(values)) for rule in plan.certain]
    if any(hit < number for hit in hits):
        rules += [(index, rule) for index, value in enumerate(values) for rule in _holding(plan, value)]
    found = (plan.wishes[hit - number][0] for hit in sorted(hits) if hit >= number)
    plan.curious.extend(check for check in found if check not in plan.curious)
    return rules, tuple(plan.curious)


def _holding(plan: _Plan, value: Any) -> tuple[Rule, ...]:
    """The open rules that hold for a value."""
    if not plan.open:
        return ()
    hits: set[int] = set()
    for text in readings(as_text(value)):
        for index in plan.values.Match(text) or ():
            unless = plan.open[index][1]
            if unless is None or not unless.search(text):
                hits.add(index)
    return tuple(plan.open[index][0] for index in sorted(hits))


def _matches(patterns: Any, lines: str) -> set[int]:
    """Which patterns match any of the lines, and perhaps some that match none of them."""
    return {index for text in readings(as_text(lines)) for index in patterns.Match(text) or ()}


@functools.lru_cache(maxsize=1 << 8)  # many names leave the same to ask, and so do many scans
def _value_set(patterns: tuple[str, ...], memory: int) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    values = re2.Set.SearchSet(options)
    try:
        for pattern in patterns:
            values.Add(pattern)
        values.Compile()
    except re2.error as error:
        raise UsageError("the rules: their value patterns are too large together; use fewer extra rules") from error
    return values


def readings(text: str) -> Sequence[str]:
    """A text as it is and, if that differs, as a reader takes it."""
    if text.isascii() and "%" not in text:
        return (text,)
    return tuple(dict.fromkeys((text, plain(text).encode("utf-8", "replace").decode("utf-8"))))
