"""Find options that give the answer away by themselves, and the order they were shuffled into.

It serves three rules.  An option can be marked: by a word or a sign, by bold letters, by a space or a full stop that
the others do not have.  Two options can be the same.  And a list that is a permutation of the options' numbers, under
any name, says where the right one went: most programs shuffle with it first.

A word such as `(correct)` is enough by itself; what else sets one option apart happens by accident, and counts only
where it does in many records.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from leakscan.config import Config, compile_pattern
from leakscan.literals import opened
from leakscan.model import Columns, Finding, Item, Observation, Private, Release, Secret, path_keys
from leakscan.owners import parent_of
from leakscan.questions import offers
from leakscan.text import as_text

MARKED, DUPLICATE, ORDER = "marked-option", "duplicate-option", "answer-order"
FEWEST, SHARE = 5, 0.2
"""How many records, and which share of those with options, a sign of accident must set an option apart in."""
PLACES = 100

_LEVELS = {MARKED: "error", DUPLICATE: "warning", ORDER: "error"}
_WORD = re.compile(r"[(\[<]\s*(?:correct|right|true|answer|gold|gt)\s*[)\]>]|[\u2713\u2714\u2705]", re.IGNORECASE)
_STARRED = re.compile(r"\s*(?:\*.*|.*\*|<(?:b|strong|em|u)>.*|__.*__)\s*", re.DOTALL)
# spaces of other widths; joiners, soft hyphens and others that take no room
_UNSEEN = re.compile("[^\\S \t\n\r]|[\u00ad\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]")
_SIGNS: Mapping[str, Callable[[str], bool]] = {
    "bold or starred": lambda option: _STARRED.fullmatch(option) is not None,
    "with a space at its end": lambda option: option != option.strip(),
    "with a full stop": lambda option: option.rstrip().endswith("."),
    "in lower case": str.islower,
    "in upper case": lambda option: len(option) > 1 and option.isupper(),
    "with a capital at its start": lambda option: option[:1].isupper() and not option.isupper(),
    "with a character that nobody tells from a plain one": lambda option: _UNSEEN.search(option) is not None,
}
_UNIT = re.compile(r"[A-Za-z]|\d{1,2}")
_SPELT = re.compile(r"[A-Z]{2,26}|[\[(]?(?:[A-Za-z]|\d{1,2})(?:[\s,;|>-]+(?:[A-Za-z]|\d{1,2}))+[\])]?")
# The same among many lines, in one pass: RE2's classes know ASCII only, and its `\s` may go on in the next line.
_SPELT_SOMEWHERE = compile_pattern(
    rf"(?m)^(?:{_SPELT.pattern})$".replace(r"\s", r"\s\pZ\x1c-\x1f\x{85}").replace(r"\d", r"\p{Nd}"), "a spelt list"
)
_ORDER = re.compile(r"order|perm|shuf", re.IGNORECASE)


def check(config: Config, private: Private) -> _Options:
    """The check; it needs nothing of the evaluator's side."""
    return _Options()


class _Options:
    def __init__(self) -> None:
        self._offering: Counter[tuple[str, str]] = Counter()

    def look(self, items: Sequence[Item], columns: Columns) -> Iterator[Observation]:
        """What is odd about the options of records, and every list that is a permutation."""
        if items[0].kind != "record":
            return
        numbers = [0] * len(items)
        for name, (owners, lists) in offers([item.body for item in items], columns).items():
            self._offering[items[0].place.path, name] += len(owners)
            for owner, options in zip(owners, lists, strict=True):
                numbers[owner] = numbers[owner] or len(options)
            for index, rule, sign in _oddities(lists):
                here = items[owners[index]].place._replace(name=name)
                yield Observation(here, (rule, sign, len(lists[index])))
        for owner, name, order in _orders(columns, numbers):
            yield Observation(items[owner].place._replace(name=name), (ORDER, order, len(order)))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per rule, sign, file and JSON path."""
        groups: dict[tuple[str, str, str | None, str], list[Observation]] = {}
        for observation in observations:
            rule, what, _ = observation.value
            sign = what if rule == MARKED else ""
            groups.setdefault((rule, observation.place.path, observation.place.name, sign), []).append(observation)
        for (rule, path, name, sign), seen in groups.items():
            if sign in _SIGNS and len(seen) < max(FEWEST, SHARE * self._offering[path, name or ""]):
                continue
            if rule == ORDER and not _tells(name or "", [one.value[1] for one in seen]):
                continue
            yield Finding(
                rule=rule,
                level=_LEVELS[rule],  # type: ignore[arg-type]
                confidence="weak" if sign in _SIGNS else "strong",
                message=_message(rule, sign),
                place=seen[0].place,
                count=len(seen),
                places=tuple(one.place for one in seen[:PLACES]),
                evidence=Secret("list", seen[0].value[2], "elements"),
            )


def _message(rule: str, sign: str) -> str:
    if rule == DUPLICATE:
        return "the same option twice: one of them can only be right or wrong by position"
    if rule == ORDER:
        return "a permutation of the options: where it puts the first one is the answer, most likely"
    return f"one option is {sign}, the others are not" if sign in _SIGNS else "an option says that it is the right one"


def _oddities(lists: Sequence[Sequence[str]]) -> Iterator[tuple[int, str, str]]:
    """The rules that lists of options break, and how, each with the position of its list.

    Many lists have few texts among them, and most signs all of them show or none: then none is the odd one.
    """
    texts = {*itertools.chain.from_iterable(lists)}
    bare = {text: text.strip() for text in texts}
    worded = {*filter(_WORD.search, texts)}
    showing = [(sign, {*filter(shows, texts)}) for sign, shows in _SIGNS.items()]
    signs = [(sign, those) for sign, those in showing if 0 < len(those) < len(texts)]
    for index, options in enumerate(lists):
        if len({*map(bare.__getitem__, options)}) < len(options):
            yield index, DUPLICATE, "an option twice"
        if worded and not worded.isdisjoint(options) and not worded.issuperset(options):
            yield index, MARKED, "marked"
        if signs and len(options) > 2:  # of two, either is the odd one
            for sign, those in signs:
                if sum(map(those.__contains__, options)) == 1:
                    yield index, MARKED, sign


def _orders(columns: Columns, numbers: Sequence[int]) -> Iterator[tuple[int, str, Sequence[Any]]]:
    """Lists that order the options of a record, or are called as if they did: its position, the JSON path, the list.

    Such a list may be spelt in a text (`CADB`, `2,0,3,1`) or be the values of a map from the options' numbers.  Only
    objects are entered, not lists.  `numbers` are how many options each record has.
    """
    for name, owner, order in (*_listed(columns), *_spelt(columns), *_mapped(columns)):
        telling = _ORDER.search(path_keys(name)[-1]) is not None
        if 2 <= len(order) <= 26 and (telling or len(order) == numbers[owner]) and _is_permutation(order):
            yield owner, name, tuple(order)


def _listed(columns: Columns) -> Iterator[tuple[str, int, Sequence[Any]]]:
    """The lists that may hold whole numbers or letters."""
    texts = ((name, column) for name, column in columns.texts.items() if min(map(len, column.values)) == 1)
    others = ((name, column) for name, column in columns.others.items() if int in set(map(type, column.values)))
    for name, (owners, values) in itertools.chain(texts, others):
        if not name.endswith("[]") or "[]" in name[:-2] or not path_keys(name):
            continue
        of_texts, of_others = (kind[name].owners if name in kind else () for kind in (columns.texts, columns.others))
        mixed = {*of_texts}.intersection(of_others)
        start = 0
        for owner, count in Counter(owners).items():  # the elements of a list lie one after the other
            if owner not in mixed:  # else these are not all of its elements
                yield name, owner, values[start : start + count]
            start += count


def _spelt(columns: Columns) -> Iterator[tuple[str, int, Sequence[Any]]]:
    """The lists that texts spell, but for those that are opened as JSON."""
    for name, (owners, values) in columns.texts.items():
        if "[]" in name or not path_keys(name) or not _SPELT_SOMEWHERE.search(as_text(columns.lines(name))):
            continue
        for owner, text in zip(owners, values, strict=True):
            if len(text) < 80 and _SPELT.fullmatch(text) and opened(text) is None:
                yield name, owner, text if text.isalnum() else [*map(_number, _UNIT.findall(text))]


def _mapped(columns: Columns) -> Iterator[tuple[str, int, Sequence[Any]]]:
    """The values of maps whose keys are themselves the numbers or letters, in any order."""
    for facts, owners in columns.keys:
        names, keys = [fact.name for fact in facts], [fact.value for fact in facts]
        if not keys or "[]" in names[0] or len(path_keys(names[0])) < 2 or not _is_permutation([*map(_number, keys)]):
            continue
        found = [_by_owner(columns, name) for name in names]
        for owner in owners:
            if all(owner in values for values in found):
                yield parent_of(names[0], keys[0]), owner, [values[owner] for values in found]


def _by_owner(columns: Columns, name: str) -> dict[int, Any]:
    """The leaf of each record under a JSON path without indexes."""
    leaves = (kind[name] for kind in (columns.texts, columns.others) if name in kind)
    return {owner: value for column in leaves for owner, value in zip(*column, strict=True)}


def _number(unit: str) -> Any:
    """A unit of a list that is spelt out, or a key of a map, as the number that it is, if it is one."""
    return int(unit) if unit.isdecimal() and len(unit) < 3 else unit


def _is_permutation(values: Sequence[Any]) -> bool:
    """Whether the values are the numbers from 0 or 1 on, or the letters from A on, in some order."""
    if isinstance(values[0], bool) or len({type(value) for value in values}) > 1:
        return False
    if isinstance(values[0], str):
        letters = "".join(values).upper()
        if len(letters) != len(values):
            return False
        values = [int(letter) if letter.isdecimal() else ord(letter) - 65 for letter in letters]
    elif not isinstance(values[0], int):
        return False
    return sorted(values) in (list(range(len(values))), list(range(1, len(values) + 1)))


def _tells(name: str, lists: Sequence[tuple[Any, ...]]) -> bool:
    """Whether a column of permutations can say something: the same in all records is a template.

    Without a telling name two of two options are too little, and so is a single list.
    """
    if _ORDER.search(name):
        return len(set(lists)) > 1 or (len(lists) == 1 and list(lists[0]) != sorted(lists[0]))
    ascending = all(list(numbers) == sorted(numbers) for numbers in lists)  # bars 0 to 2, then bars 1 to 3
    return len(set(lists)) > 1 and not ascending and any(len(numbers) > 2 for numbers in lists)
