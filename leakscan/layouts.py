"""Where the records of a document are: in its list, under its keys, in lists that stand beside something else.

Benchmarks wrap their records in many ways: `[...]`, `{"data": [...]}`, `{"info": {...}, "QA": [...]}`, an object of
records by ID or by path.  Nothing is lost on the way: every key and every value of a document is in one of its records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from leakscan.model import Beside, Malformed

KEY = "(key)"
"""What the key of a record, or of its list, is called in the record."""

MANY = 10
"""Objects that make a list one of records also when plain values stand beside it; a record's own lists are shorter."""

_WORD = re.compile(r"[A-Za-z_]{1,16}")  # a key that is longer, or no word, may itself say something
_OWN_LISTS = frozenset("messages conversation conversations contents turns choices options tools".split())


@dataclass(frozen=True, slots=True)
class Layout:
    """How an object holds records: under every key, or as the elements of `lists`, what else it holds as one more.

    `keyed` says that the records of lists tell the key of theirs.
    """

    lists: frozenset[str] = frozenset()
    keyed: bool = False

    @property
    def by_key(self) -> bool:
        """Whether every member of the object is a record."""
        return not self.lists


def layout(objects: int, lists: Mapping[str, int], others: int) -> Layout | None:
    """The layout of an object with so many members that are objects, with `lists` of so many objects each, with other
    members; None where the object is one record."""
    if len(lists) == 1 and not objects and not others:
        found = frozenset(lists) - _OWN_LISTS
    else:
        found = frozenset(key for key, n in lists.items() if key not in _OWN_LISTS and n >= (MANY if others else 1))
    if found:
        return Layout(found, keyed=len(found) > 1 or not all(map(_WORD.fullmatch, found)))
    return Layout() if objects > 1 and not lists and not others else None


def stands_alone(key: str, count: int, beside: Mapping[str, Any]) -> bool:
    """Whether a list of so many records, under a key of an object that also holds what is `beside`, is its only one."""
    if not count:
        return True
    objects, lists, others = _members(beside)
    found = layout(objects, {key: count, **lists}, others)
    return found is not None and found.lists == {key} and not found.keyed


def is_list_of_objects(value: Any) -> bool:
    """Whether a value is a list that holds nothing but objects."""
    return isinstance(value, list) and all(isinstance(element, dict) for element in value)


def with_key(key: str, body: Any) -> Any:
    """A record that tells its key."""
    if isinstance(body, Malformed):
        return body
    return {KEY: key, **body} if isinstance(body, dict) and KEY not in body else [key, body]


def records(document: Any) -> Iterator[Any]:
    """The records of a document that has been parsed."""
    if isinstance(document, list):
        yield from document
        return
    found = _layout_of(document) if isinstance(document, dict) else None
    if found is None:
        yield document
    elif found.by_key:
        yield from (with_key(key, body) for key, body in document.items())
    else:
        for key in (key for key in document if key in found.lists):
            elements: Iterable[Any] = document[key]
            yield from (with_key(key, element) for element in elements) if found.keyed else elements
        rest = {key: value for key, value in document.items() if key not in found.lists}
        if rest:
            yield Beside(rest)


def _layout_of(document: Mapping[str, Any]) -> Layout | None:
    return layout(*_members(document))


def _members(document: Mapping[str, Any]) -> tuple[int, dict[str, int], int]:
    """How many objects, lists of objects of which length, and other values an object holds."""
    objects = sum(isinstance(value, dict) for value in document.values())
    lists = {key: len(value) for key, value in document.items() if is_list_of_objects(value)}
    return objects, lists, len(document) - objects - len(lists)
