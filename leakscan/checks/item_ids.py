"""Find items without an ID, with the ID of another, and items that ask the same thing twice.

It serves three rules.  The ID is the field that the configuration names, else a top-level one that is called like an
ID of items (an ID of recordings may well repeat).  Where the schema declares the ID, it says all this more strictly,
and this check leaves it alone.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Columns, Fact, Finding, Item, Observation, Place, Private, Release, path_keys

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
        path = items[0].place.path
        if items[0].kind != "record" or not any(isinstance(item.body, dict) for item in items):
            return
        ids, known = self._known.setdefault(path, (set(), set()))
        declared = self._declared(path)
        asking = any(name in ASKING for facts, _ in columns.keys for name in map(_top_key, facts))
        sums = _sums(columns, len(items)) if asking else [0] * len(items)
        before: tuple[str, ...] = ()
        own, asks = None, False
        for item, rest in zip(items, sums, strict=True):
            body = item.body
            if not isinstance(body, dict) or not body:
                continue
            if (keys := tuple(body)) != before:
                before = keys
                own, asks = None if declared else _id_key(keys), _asks(keys)
            broken = []
            if own is not None:
                identity = str(body[own]).strip() if body[own] is not None else ""
                if not identity or identity in ids:
                    broken.append(REPEATED if identity else MISSING)
                ids.add(identity)
            if asks:
                if rest in known:
                    broken.append(AGAIN)
                known.add(rest)
            for rule in broken:
                name = f"$.{own}" if own is not None and rule != AGAIN else None
                yield Observation(Place(path, item.place.record, item.place.id, name), rule)

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

    The sum over its leaves of hashes of 64 bits: among a million records, two that differ have the same number with a
    chance of 3e-8 (birthday bound).  Numbers are hashed as text, since Python gives -1 and -2 one hash.
    """
    sums = [0] * count
    for name, (owners, values) in (*columns.texts.items(), *columns.others.items()):
        if path_keys(name)[:1] and path_keys(name)[0].lower() in NAMES:
            continue
        if name in columns.others:
            values = [*map(repr, values)]
        if type(owners) is range and len(owners) == count:  # every record has it, as is usual
            sums = [*map(operator.add, sums, map(hash, zip(itertools.repeat(name), values, strict=False)))]
            continue
        last, place = -1, 0
        for owner, value in zip(owners, values, strict=True):
            place = place + 1 if owner == last else 0
            last = owner
            sums[owner] += hash((name, value, place) if place else (name, value))
    return sums


def _top_key(fact: Fact) -> str:
    """The key of a fact about a member of the record itself, in lower case."""
    keys = path_keys(fact.name)
    return keys[0].lower() if len(keys) == 1 else ""


@functools.lru_cache(maxsize=1 << 10)
def _id_key(keys: tuple[str, ...]) -> str | None:
    """Which key of a record holds its ID."""
    return next((key for name in NAMES for key in keys if key.lower() == name), None)


@functools.lru_cache(maxsize=1 << 10)
def _asks(keys: tuple[str, ...]) -> bool:
    """Whether a record asks something; rows of annotations may well repeat."""
    return any(key.lower() in ASKING for key in keys)
