"""What a multiple-choice record offers: its options, wherever benchmarks keep them.

A list under `choices`, `options` and the like, of texts or of objects that hold one; such a list spelt out in a text;
an object that maps letters to texts; or one column for each letter.  Only at the top: a `choices` inside a rubric is
something else.  Where there is none of these, the lines of a prompt may offer them; whether such lines are options or
any other list only the gold can tell.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from leakscan.literals import opened
from leakscan.model import Columns, Item, child_name, path_keys

LISTS = ("choices", "options", "answer_choices", "answer_options", "answers", "candidates")
TEXTS = ("text", "value", "content", "option", "choice", "label")

_LINE = re.compile(r"^[ \t>*-]*\(?([A-Ja-j]|\d{1,2})[.):]\**[ \t]+(\S.*)", re.MULTILINE)
_SECOND = re.compile(r"\n[ \t>*-]*\(?0?[Bb2][.):]")  # no list is without, and it is found much sooner
_COLUMN = re.compile(r"(?:(?:choice|option|answer)[_ ]?)?([a-j]|\d)", re.IGNORECASE)


def options_of(body: Any) -> tuple[str, Sequence[str]] | None:
    """The JSON path of a record's options and their texts; None when it offers fewer than two."""
    if not isinstance(body, dict):
        return None
    keys = _option_keys(tuple(body))
    if not keys:
        return None
    if len(keys) > 1:
        texts = [body[key] for key in keys]
        return (child_name("$", keys[0]), texts) if all(isinstance(text, str) and text for text in texts) else None
    value, name = body[keys[0]], f"$.{keys[0]}"
    if type(value) is list and set(map(type, value)) == {str}:  # as nearly always
        return (f"{name}[]", value) if len(value) > 1 else None
    if isinstance(value, str):
        value = opened(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list):
        return None
    found = [text for option in value if (text := _text(option)) is not None]
    return (f"{name}[]", found) if len(found) == len(value) > 1 else None


class Offer(NamedTuple):
    """The options of a record: their JSON path, their texts, and the paths of all fields that hold them."""

    name: str
    options: Sequence[str]
    own: tuple[str, ...]

    def holds(self, name: str) -> bool:
        """Whether a leaf is part of the options themselves."""
        return _holds(self.own, name)


@functools.lru_cache(maxsize=1 << 12)
def _holds(own: tuple[str, ...], name: str) -> bool:
    return any(name == path or name.startswith((f"{path}.", f"{path}[", f"{path}{{")) for path in own)


def offer_of(body: Any) -> Offer | None:
    """The first of what a record offers; None when that is nothing."""
    if (first := options_of(body)) is not None:
        return Offer(*first, tuple(child_name("$", key) for key in _option_keys(tuple(body))))
    return next((Offer(name, options, (name,)) for name, options in _lettered(body)), None)


def prompt_offer(item: Item) -> Offer | None:
    """What the last text of a record that lists anything offers: `A. harp`, `B) oboe`, `(C) lute` or `4. lyre`, each on
    a line of its own.

    Examples and rules of the game come first as a rule, and letters are options rather than numbers.
    """
    for kind, name, value in reversed(item.facts):
        if kind == "field" and isinstance(value, str) and _SECOND.search(value) and (lists := _listed(value)):
            return Offer(name, max(reversed(lists), key=lambda one: one.lettered).texts, (name,))
    return None


class _List(NamedTuple):
    """Lines that are lettered from A on, or numbered from 1 on."""

    lettered: bool
    texts: list[str]


def _listed(text: str) -> list[_List]:
    """The lists of two lines and more in a text, in their order."""
    lists: list[_List] = []
    for label, rest in _LINE.findall(text):
        lettered, place = (True, ord(label.lower()) - ord("a")) if label.isalpha() else (False, int(label) - 1)
        if place == 0:
            lists.append(_List(lettered, []))
        if lists and lists[-1].lettered == lettered and len(lists[-1].texts) == place:
            lists[-1].texts.append(rest.strip())
    return [one for one in lists if len(one.texts) > 1]


def place_of(answer: str, options: Sequence[str], fold: Callable[[str], Sequence[str]]) -> int | None:
    """Which option an answer is: the one with its words, as `fold` has them, else the one that its letter counts to."""
    if options.count(answer) == 1:  # C is not C#, though both have the same words
        return options.index(answer)
    words, offered = fold(answer), [fold(option) for option in options]
    if words in offered:
        return offered.index(words) if offered.count(words) == 1 else None
    if len(words) == 1 and len(words[0]) == 1 and words[0].isascii() and words[0].isalpha():
        number = ord(words[0]) - ord("a")
        return number if number < len(options) else None
    return None


def odd_one(values: Sequence[Any]) -> int | None:
    """The place of the one value that all others differ from, these being equal; of two, only 1 beside 0 is odd."""
    if len(values) == 2:
        return next((place for place in (0, 1) if values[place] == 1 and values[1 - place] == 0), None)
    for usual in values[:2]:
        if values.count(usual) == len(values) - 1:
            return next(place for place, value in enumerate(values) if value != usual)
    return None


class Offered(NamedTuple):
    """What many records offer under one JSON path: the positions of those that do, and the options of each."""

    owners: list[int]
    lists: list[Sequence[str]]

    def add(self, owner: int, options: Sequence[str]) -> None:
        """Take in what one record offers."""
        self.owners.append(owner)
        self.lists.append(options)


def offers(bodies: Sequence[Any], columns: Columns) -> dict[str, Offered]:
    """All that records offer: their options and, besides, objects of any name that map the first letters to texts.

    By JSON path; the options proper come first.  `columns` are those of the bodies.
    """
    found: defaultdict[str, Offered] = defaultdict(lambda: Offered([], []))
    lettered: set[int] = set()  # a record may hold several such objects
    for facts, owners in columns.keys:
        keys = tuple(fact.value for fact in facts)
        depth = len(path_keys(facts[0].name)) if facts else 0
        if depth == 2 and _are_letters(keys):
            lettered.update(owners)
        if depth != 1 or not (own := _option_keys(keys)) or not isinstance(bodies[owners[0]], dict):
            continue
        lists = [bodies[owner][own[0]] for owner in owners]
        if len(own) == 1 and _are_plain(lists):  # as nearly always
            found[f"$.{own[0]}[]"].owners.extend(owners)
            found[f"$.{own[0]}[]"].lists.extend(lists)
            continue
        for owner in owners:
            if (first := options_of(bodies[owner])) is not None:
                found[first[0]].add(owner, first[1])
    for owner in sorted(lettered):
        first = options_of(bodies[owner])
        for name, options in _lettered(bodies[owner]):
            if first is None or first[0].removesuffix("[]") != name:
                found[name].add(owner, options)
    return found


def _are_plain(lists: Sequence[Any]) -> bool:
    """Whether these are lists of texts, two or more in each."""
    return (
        set(map(type, lists)) == {list}
        and set(map(type, itertools.chain.from_iterable(lists))) == {str}
        and min(map(len, lists)) > 1
    )


def _lettered(body: Any) -> Iterator[tuple[str, Sequence[str]]]:
    """The objects of a record that map the first letters to texts: their JSON paths and those texts."""
    for key, value in body.items() if isinstance(body, dict) else ():
        if isinstance(value, dict) and _are_letters(tuple(value)) and set(map(type, value.values())) == {str}:
            yield child_name("$", key), [*value.values()]


@functools.lru_cache(maxsize=1 << 10)
def _are_letters(keys: tuple[str, ...]) -> bool:
    """Whether keys are the letters from A on."""
    return 1 < len(keys) <= 10 and "".join(keys).lower() == "abcdefghij"[: len(keys)]


@functools.lru_cache(maxsize=1 << 10)
def _option_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Which keys of a record hold its options: one list, or a column for each option from the first letter on."""
    for name in LISTS:
        for key in keys:
            if key.lower() == name:
                return (key,)
    columns: dict[str, dict[str, str]] = {}
    for key in keys:
        if match := _COLUMN.fullmatch(key):
            columns.setdefault(key[: match.start(1)].lower(), {})[match[1].lower()] = key
    for found in columns.values():
        for letters in ("abcdefghij", "0123456789", "123456789"):
            run = [found[letter] for letter in letters if letter in found]
            if len(run) > 1 and len(run) == len(found) and letters[: len(run)] == "".join(found):
                return tuple(run)
    return ()


def _text(option: Any) -> str | None:
    if isinstance(option, str):
        return option
    if isinstance(option, int | float) and not isinstance(option, bool):
        return str(option)
    if isinstance(option, Mapping):
        return next((option[key] for key in TEXTS if isinstance(option.get(key), str)), None)
    return None
