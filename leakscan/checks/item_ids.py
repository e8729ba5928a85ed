"""Find items without an ID, with the ID of another, and items that ask the same thing twice.

It serves three rules.  The ID is the field that the configuration names, else a top-level one that is called like an
ID of items (an ID of recordings may well repeat).  Where the schema declares the ID, it says all this more strictly,
and this check leaves it alone.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leakscan.config import Config
from leakscan.model import Column, Columns, Fact, Finding, Item, Observation, Place, Private, Release, path_keys

MISSING, REPEATED, AGAIN = "missing-id", "duplicate-id", "duplicate-item"
NAMES = ("id", "uuid", "uniq_id", "qa_id", "question_id", "item_id", "sample_id", "example_id", "index")
ASKING = ("question", "prompt", "instruction", "query", "text", "input", "question_content", "messages", "conversation")
PLACES = 100

_MESSAGES = {
    MISSING: "no ID, or an empty one, where other records have one",
    REPEATED: "the ID of another record",
    AGAIN: "all fields but the ID are those of another record",
}


def check(config: Config, private: Private) -> _ItemIds:
    """The check; it needs nothing of the evaluator's side."""
    return _ItemIds(config)


class _ItemIds:
    def __init__(self, config: Config) -> None:
        self._declared = functools.lru_cache(maxsize=1 << 10)(lambda path: config.record_set(path) is not None)
        self._known: dict[str, tuple[set[str], set[int]]] = {}  # the IDs of a file and sums of all the rest

    def look(self, items: Sequence[Item], columns: Columns) -> Iterator[Observation]:
        """Records without an ID, with one that was there before, or with nothing new but the ID."""
        if items[0].kind != "record":
            return
        path = items[0].place.path
        ids, known = self._known.setdefault(path, ({""}, set()))
        objects = [(keys, owners) for facts, owners in columns.keys if (keys := _top_keys(facts))]
        named: list[tuple[int, str, str]] = []  # the position of a record, the key of its ID, and the ID
        asking: list[int] = []
        for keys, owners in objects:
            if not self._declared(path) and (own := _id_key(keys)) is not None:
                bodies = ((owner, items[owner].body) for owner in owners)  # of a text, keys are those it spells out
                named += [(owner, own, _text(body[own])) for owner, body in bodies if isinstance(body, Mapping)]
            if _asks(keys):
                asking += owners
        named.sort()
        for index in _again(ids, [identity for _, _, identity in named]):
            owner, own, identity = named[index]
            yield _found(items[owner].place, f"$.{own}", REPEATED if identity else MISSING)
        asking.sort()
        sums = _sums(columns, len(items)) if asking else []
        for index in _again(known, [sums[owner] for owner in asking]):
            yield _found(items[asking[index]].place, None, AGAIN)

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per rule and file; items are compared within a file only."""
        groups: dict[tuple[str, str], list[Place]] = {}
        for observation in observations:
            groups.setdefault((observation.place.path, observation.value), []).append(observation.place)
        for (_, rule), places in groups.items():
            found = tuple(places[:PLACES])
            yield Finding(rule, "warning", "strong", _MESSAGES[rule], found[0], len(places), found)


def _sums(columns: Columns, count: int) -> list[int]:
    """A number for each record that is the same for records which are equal but for their IDs.

    The hash, of 64 bits, of a text that names and spells its leaves in one order: among a million records, two that
    differ have the same number with a chance of 3e-8 (birthday bound).
    """
    texts = ((f"text {name}", name, column) for name, column in columns.texts.items())
    others = (  # 1 is not "1"
        (f"other {name}", name, Column(owners, columns.spelt(name))) for name, (owners, _) in columns.others.items()
    )
    leaves: list[tuple[str, Sequence[int], Sequence[str]]] = []
    for key, name, (owners, values) in sorted(itertools.chain(texts, others)):
        if not (path_keys(name)[:1] and path_keys(name)[0].lower() in NAMES):
            leaves.append((key, *(_together(owners, values, count) if "[]" in name else (owners, values))))
    if leaves and all(type(owners) is range and len(owners) == count for _, owners, _ in leaves):  # as is usual
        said = ((itertools.repeat(key, count), values) for key, _, values in leaves)
        return [*map(hash, map("\0".join, zip(*itertools.chain.from_iterable(said), strict=True)))]
    rows: list[list[str]] = [[] for _ in range(count)]
    for key, owners, values in leaves:
        for owner, value in zip(owners, values, strict=True):
            rows[owner] += key, value
    return [*map(hash, map("\0".join, rows))]


def _together(owners: Sequence[int], values: Sequence[str], count: int) -> tuple[Sequence[int], Sequence[str]]:
    """Each record with its texts, which lie one after the other, as one."""
    number = len(values) // count
    if owners == _each(count, number):  # every record has as many
        return range(count), [*map("\0".join, zip(*[iter(values)] * number, strict=True))]
    sizes = [(owner, len([*run])) for owner, run in itertools.groupby(owners)]
    rest = iter(values)
    return [owner for owner, _ in sizes], ["\0".join(itertools.islice(rest, size)) for _, size in sizes]


@functools.lru_cache(maxsize=1 << 6)
def _each(count: int, number: int) -> list[int]:
    """Positions from 0 on, each so many times."""
    return [position for position in range(count) for _ in range(number)]


def _found(place: Place, name: str | None, rule: str) -> Observation:
    return Observation(Place(place.path, place.record, place.id, name), rule)


def _text(identity: Any) -> str:
    return "" if identity is None else str(identity).strip()


def _again(known: set[Any], values: Sequence[Any]) -> Iterator[int]:
    """Where values stand that are known, or stood there before; all of them are known then."""
    new = set(values)
    if len(new) == len(values) and known.isdisjoint(new):  # as nearly always
        known |= new
        return
    for index, value in enumerate(values):
        if value in known:
            yield index
        known.add(value)


@functools.lru_cache(maxsize=1 << 10)
def _top_keys(facts: tuple[Fact, ...]) -> tuple[str, ...]:
    """The keys of a record, given as the facts about them; nothing for those of what is in it."""
    return tuple(fact.value for fact in facts) if facts and len(path_keys(facts[0].name)) == 1 else ()


@functools.lru_cache(maxsize=1 << 10)
def _id_key(keys: tuple[str, ...]) -> str | None:
    """Which key of a record holds its ID."""
    return next((key for name in NAMES for key in keys if key.lower() == name), None)


@functools.lru_cache(maxsize=1 << 10)
def _asks(keys: tuple[str, ...]) -> bool:
    """Whether a record asks something; rows of annotations may well repeat."""
    return any(key.lower() in ASKING for key in keys)
