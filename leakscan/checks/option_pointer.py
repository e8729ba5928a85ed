"""Find what points at the right option: its number or letter, a flag beside it, under any name.

Per file and JSON path, each way of pointing by itself: a number that counts from 0, from 1 or from the end; a letter;
among as many values as there are options (a list, a map of the options, a member of each option) the one that differs
from all others, the largest and the smallest.

How often a column points at the gold is held against chance twice, and both must exclude it: against gold whose places
are shuffled over the records with as many options, so that a constant or a favourite place of the gold says nothing;
and against one place in as many as there are options, so that columns that go with the kind of question do not either.
Records of one recording may go together: where their options are turned on by one from record to record, the number of
the turn agrees with all of the gold or with none.  So there must be `FEWEST` recordings, or the fewer that agree, each
as a whole, must be no accident either.  A file that is too small for that gets a remark.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakscan import chance
from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release, facts
from leakscan.owners import key_of, parent_of, recording_of
from leakscan.questions import Offer, odd_one, offer_of, place_of, prompt_offer
from leakscan.text import fold

NEEDS_EVALUATOR = True
FEWEST = 5
"""Recordings that are enough with two options, too."""
SAMPLE = 2000
LEVEL = 0.01
"""What the smallest p of a release may be by accident, all looks together."""
EFFECT = 0.15
"""By how much the own rate has to exceed the expected one."""
PLACES = 100

_POINTER = re.compile(r"\W*(?:(?:option|choice|answer|opt|ans)[\W_]*)?([a-j]|\d{1,2})\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Whose record it is, the place of the option that is each field of its gold, and what points where, and how."""

    key: str
    recording: str
    gold: Mapping[str, int]
    options: int
    pointing: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """How often a column points at the gold, and how often by accident."""

    field: str
    number: int
    hits: int
    expected: float
    p: float
    places: Sequence[Place]


def check(config: Config, private: Private) -> _OptionPointer | None:
    """The check, if there is gold."""
    return _OptionPointer(config, private) if private.gold else None


class _OptionPointer:
    def __init__(self, config: Config, private: Private) -> None:
        self._config = config
        self._gold = private.gold

    def see(self, item: Item) -> Iterator[Observation]:
        """What each leaf of a record with options points at."""
        offer = offer_of(item.body) or prompt_offer(item) if item.kind == "record" else None
        key = key_of(item, self._gold) if offer is not None else None
        if offer is None or key is None:
            return
        places = ((field, place_of(value.strip(), offer.options, fold)) for field, value in self._gold[key].items())
        gold = {field: place for field, place in places if place is not None}
        if gold:
            pointing = tuple(dict.fromkeys(_pointing(item, offer)))
            recording = recording_of(item, self._config, key)
            yield Observation(item.place, _Seen(key, recording, gold, len(offer.options), pointing))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """A finding for every column that points at its records' own gold beyond chance."""
        weighed: dict[tuple[str, str], list[_Column]] = defaultdict(list)
        for (path, name, _, field), seen in _columns(observations).items():
            column = _weighed(field, seen)
            if column is not None:
                weighed[path, name].append(column)
        looks = sum(map(len, weighed.values()))
        for (path, name), found in weighed.items():
            best = min(found, key=lambda column: column.p)
            if best.p * looks <= LEVEL and best.hits >= best.expected + EFFECT * best.number:
                yield _finding(path, name, best)

    def remarks(self, observations: Sequence[Observation]) -> Iterator[str]:
        """In how many files something points, and not even all records could tell."""
        pointing = {one.place.path for one in observations if one.value.pointing}
        files: dict[str, list[tuple[Observation, int]]] = defaultdict(list)
        for one in observations:
            files[one.place.path].append((one, 0))
        few = sum(not _can_tell(_units(files[path])) for path in pointing)
        if few:
            yield f"gold-pointer: files of too few records or recordings to tell what points at the gold: {few}"


def _columns(
    observations: Sequence[Observation],
) -> Mapping[tuple[str, str, str, str], Sequence[tuple[Observation, int]]]:
    """What points, by file, JSON path, way of pointing and field of the gold, with the place that it points at."""
    columns: dict[tuple[str, str, str, str], list[tuple[Observation, int]]] = defaultdict(list)
    for one in observations:
        for name, way, place in one.value.pointing:
            for field in one.value.gold:
                columns[one.place.path, name, way, field].append((one, place))
    return columns


def _units(seen: Sequence[tuple[Observation, int]]) -> Sequence[tuple[_Seen, int]]:
    """The first record of every item, up to so many."""
    first: dict[str, tuple[_Seen, int]] = {}
    for one, place in seen:
        first.setdefault(one.value.key, (one.value, place))
    return list(first.values())[:SAMPLE]


def _can_tell(units: Sequence[tuple[_Seen, int]]) -> bool:
    """Whether it would be no accident if all records agreed."""
    recordings = {unit.recording: unit.options for unit, _ in units}
    return _together(recordings, len(recordings)) <= LEVEL and math.prod(1 / unit.options for unit, _ in units) <= LEVEL


def _together(recordings: Mapping[str, int], agreeing: int) -> float:
    """How likely so many recordings, of so many options each, agree by accident, each as a whole; 0 for many."""
    if len(recordings) >= FEWEST:
        return 0.0
    return chance.tail(chance.independent(1 / options for options in recordings.values()), agreeing)


def _pointing(item: Item, offer: Offer) -> Iterator[tuple[str, str, int]]:
    """The JSON paths of a record's pointers, how each points, and at which place; not the options by themselves."""
    leaves: dict[str, list[Any]] = defaultdict(list)
    members: dict[str, dict[str, str]] = defaultdict(dict)
    for kind, name, value in facts(item):
        if kind == "name":
            members[parent_of(name, value)][value] = name
        elif value is not None:
            leaves[name].append(value)
    number = len(offer.options)
    maps = {parent: _of_options(names, offer) for parent, names in members.items() if not offer.holds(parent)}
    parts = {name for path in maps.values() for name in path}
    for name, values in leaves.items():
        if len(values) == 1 and name not in parts and not offer.holds(name):
            yield from ((name, way, place) for way, place in _read(values[0], number) if 0 <= place < number)
        elif len(values) == number and "[]" in name and [*map(str, values)] != [*offer.options]:
            yield from ((name, way, place) for way, place in _outstanding(values))
    for parent, path in maps.items():
        values = [leaves[name][0] for name in path if len(leaves.get(name, ())) == 1]
        if len(values) == number:
            yield from ((parent, way, place) for way, place in _outstanding(values))


def _of_options(names: Mapping[str, str], offer: Offer) -> Sequence[str]:
    """The JSON paths of an object's members that are called like the options, or numbered like them, in their order."""
    called = {fold(key): name for key, name in names.items()}
    options = [*map(fold, offer.options)]
    if len(set(options)) == len(options) and all(option in called for option in options):
        return [called[option] for option in options]
    keys = sorted(names)
    letters = [key.lower() for key in keys]
    number = len(options)
    if letters in ([*"abcdefghij"[:number]], [*"0123456789"[:number]], [*"123456789"[:number]]):
        return [names[key] for key in keys]
    return ()


def _read(value: Any, number: int) -> Iterator[tuple[str, int]]:
    """The places that a single value can mean, with the way to read it."""
    if isinstance(value, str):
        if len(value) == number > 2 and len(set(value)) == 2 and (odd := odd_one(value)) is not None:
            yield "odd", odd
        match = _POINTER.fullmatch(value)
        if match is None:
            return
        if match[1].isalpha():
            yield "letter", ord(match[1].lower()) - ord("a")
            return
        value = int(match[1])
    if isinstance(value, int | float) and -number <= value <= number and value == int(value):
        count = int(value)
        yield "from 0", count
        yield "from 1", count - 1
        yield "from the end", number - 1 - count if count >= 0 else number + count


def _outstanding(values: Sequence[Any]) -> Iterator[tuple[str, int]]:
    """The places of what stands out among values, one for each option."""
    odd = odd_one(values)
    if odd is not None:
        yield "odd", odd
    if all(isinstance(value, int | float) for value in values):
        for way, extreme in (("most", max(values)), ("least", min(values))):
            if values.count(extreme) == 1:
                yield way, values.index(extreme)


def _equal(pairs: Sequence[tuple[int, int]]) -> int:
    """How many of all places are equal to how many of all gold."""
    places, gold = (Counter(some) for some in zip(*pairs, strict=True))
    return sum(count * gold[place] for place, count in places.items())


def _weighed(field: str, seen: Sequence[tuple[Observation, int]]) -> _Column | None:
    """The statistics of a column; None when it cannot tell."""
    units = _units(seen)
    if not _can_tell(units):
        return None
    alike: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for unit, place in units:
        alike[unit.options].append((place, unit.gold[field]))
    hits = sum(place == unit.gold[field] for unit, place in units)
    expected = sum(_equal(pairs) / len(pairs) for pairs in alike.values())
    recordings = {unit.recording: unit.options for unit, _ in units}
    balance = Counter[str]()  # of right and wrong, by recording
    for unit, place in units:
        balance[unit.recording] += 1 if place == unit.gold[field] else -1
    together = _together(recordings, sum(surplus > 0 for surplus in balance.values()))
    p = 1.0
    if hits >= expected + EFFECT * len(units) and together <= LEVEL:
        shuffled = [1.0]
        for pairs in alike.values():
            dealt = chance.shuffled([{place} for place, _ in pairs], [gold for _, gold in pairs])
            shuffled = chance.convolved(shuffled, dealt)
        guessed = chance.independent(1 / unit.options for unit, _ in units)
        p = max(chance.tail(shuffled, hits), chance.tail(guessed, hits))
    places = [one.place for one, place in seen if place == one.value.gold[field]]
    return _Column(field, len(units), hits, expected, p, places)


def _finding(path: str, name: str, column: _Column) -> Finding:
    places = tuple(Place(path, place.record, place.id, name) for place in column.places)
    return Finding(
        rule="",
        level="error",
        confidence="strong",
        message=f"points at the right option ({column.field}) of {column.hits} of {column.number} records,"
        f" {column.hits / column.number:.1%}; with shuffled gold {column.expected / column.number:.1%}"
        f" ({chance.shown(column.p)})",
        place=places[0],
        count=len(places),
        places=places[:PLACES],
    )
