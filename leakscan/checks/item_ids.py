"""Find items without an ID, with the ID of another, and items that ask the same thing twice.

It serves three rules.  The ID is the field that the configuration names, else a top-level one that is called like an
ID of items (an ID of recordings may well repeat).  Where the schema declares the ID, it says all this more strictly,
and this check leaves it alone.
"""

from __future__ import annotations

import functools
import hashlib
import marshal
from collections.abc import Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release

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

    def wants(self, kind: str, name: str) -> str | None:
        """Keys at the top that hold an ID or a question."""
        return "" if kind == "name" and name[:2] == "$." and name[2:].lower() in (*NAMES, *ASKING) else None

    def see(self, item: Item) -> Iterator[Observation]:
        """The ID of every record and a digest of all the rest."""
        body = item.body
        if item.kind != "record" or not isinstance(body, dict) or not body:
            return
        own = None if self._declared(item.place.path) else _id_key(tuple(body))
        identity = None if own is None else str(body[own]).strip() if body[own] is not None else ""
        rest = b""
        if _asks(tuple(body)):
            told = {key: value for key, value in body.items() if key.lower() not in NAMES}
            rest = hashlib.blake2b(marshal.dumps(told, 0), digest_size=16).digest()
        if identity is not None or rest:
            name = f"$.{own}" if own is not None else "$"
            yield Observation(Place(item.place.path, item.place.record, item.place.id, name), (identity, rest))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per rule and file; items are compared across files only by what they ask."""
        files: dict[str, list[Observation]] = {}
        for observation in observations:
            files.setdefault(observation.place.path, []).append(observation)
        for seen in files.values():
            ids = [one for one in seen if one.value[0] is not None]
            yield from _findings(MISSING, [one for one in ids if not one.value[0]])
            yield from _findings(REPEATED, _again((one.value[0], one) for one in ids if one.value[0]))
            yield from _findings(AGAIN, _again((one.value[1], one) for one in seen if one.value[1]))


def _again(keyed: Iterator[tuple[object, Observation]]) -> list[Observation]:
    """The observations whose key came before."""
    known: set[object] = set()
    found = []
    for key, observation in keyed:
        if key in known:
            found.append(observation)
        known.add(key)
    return found


def _findings(rule: str, seen: Sequence[Observation]) -> Iterator[Finding]:
    if seen:
        place = seen[0].place
        if rule == AGAIN:
            place = Place(place.path, place.record, place.id)
        places = tuple(one.place for one in seen[:PLACES])
        yield Finding(rule, "warning", "strong", _MESSAGES[rule], place, len(seen), places)


@functools.lru_cache(maxsize=1 << 10)
def _id_key(keys: tuple[str, ...]) -> str | None:
    """Which key of a record holds its ID."""
    return next((key for name in NAMES for key in keys if key.lower() == name), None)


@functools.lru_cache(maxsize=1 << 10)
def _asks(keys: tuple[str, ...]) -> bool:
    """Whether a record asks something; rows of annotations may well repeat."""
    return any(key.lower() in ASKING for key in keys)
