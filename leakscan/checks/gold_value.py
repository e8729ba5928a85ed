"""Find gold values beyond chance: in a field, key, tag or name, more often a record's own than shuffled gold gives.

Per file, JSON path and field of the gold.  What counts is how many records name their own value among those that name
any, against what they would if the gold were shuffled: the mean frequency of the values that they name.  So

- a constant template gives nothing: it names the same with any gold;
- where records list their options, gold is shuffled among those, so a list of all of them gives nothing;
- the gold of records that ask the same in the same words is shuffled among those only, so a question that names
  every answer to it gives nothing, whatever other questions there are;
- texts that always name their own value beside others are taken for lists of options: what gives the answer away in
  the midst of other answers, each time, is not found here;
- of a recording one record speaks, for its others say the same again.

A finding needs both an exact p, corrected for the number of columns looked at, and an effect.  Fewer than `FEWEST`
recordings cannot tell and say nothing.  Statistics look at the first `SAMPLE` recordings of a column.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from leakscan import chance
from leakscan.config import Config
from leakscan.model import Finding, Item, Malformed, Observation, Place, Private, Release, Secret, facts
from leakscan.owners import audio_names, key_of, parent_of, recording_of, stem
from leakscan.phrases import Finder, Phrases, Words, finder, musical_words
from leakscan.text import is_audio_name

NEEDS_EVALUATOR = True
FEWEST = 5
"""Recordings: all of fewer can agree by accident."""
SAMPLE = 2000
LEVEL = 0.01
"""What the smallest p of a release may be by accident, all columns together."""
EFFECT = 0.05
"""By how much the own rate has to exceed the expected one."""
SENTENCE = 4  # words; shorter texts that repeat are labels
TEMPLATE = 3  # recordings that share a sentence
ONE_ANSWER = 0.95  # a repeated sentence whose records have one answer, by and large, may itself give it
OPTIONS = 0.95  # lists and texts that hold their own value among others so often are options
PLACES = 100

_SPELLINGS: Mapping[Words, Words] = {("3", "4"): ("triple",), ("triple",): ("3", "4")}
_LABEL = re.compile(r"\s*(?:\(\w\)|\w[.):])\s+")  # of an option: (A), b., 3)

_CODED = re.compile(r"[\w+/-]{4,}={0,2}", re.ASCII)
_HEX = re.compile("(?:[0-9a-fA-F]{2})+")


class _Options(NamedTuple):
    """Texts of a record side by side: what finds them, and how many there are."""

    finder: Finder
    number: int


@dataclass(frozen=True, slots=True)
class _Offer:
    """Texts of a record side by side that may be its options: which of them a text names, and how many there are."""

    group: str
    values: frozenset[Words]
    number: int


@dataclass(frozen=True, slots=True)
class _Named:
    """The values of a field of the gold that a text names; `offers` are the groups that hold the record's own."""

    name: str
    field: str
    values: frozenset[Words]
    offers: tuple[_Offer, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a record, tag or file name says; `groups` are all groups of texts, `holding` those with the own value."""

    key: str | None
    recording: str
    named: tuple[_Named, ...]
    audio: tuple[str, ...] = ()
    sentences: frozenset[bytes] = frozenset()
    groups: frozenset[str] = frozenset()
    holding: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class _Unit:
    """The record that speaks for a recording in a column."""

    place: Place
    own: Words
    values: frozenset[Words]
    options: int
    stratum: frozenset[bytes]

    @property
    def hit(self) -> bool:
        return self.own in self.values


@dataclass(frozen=True, slots=True)
class _Column:
    """How often a column names its records' own values, and how often by accident."""

    field: str
    number: int
    hits: int
    expected: float
    p: float
    places: Sequence[Place]  # of all hits, also of records that did not speak
    length: int

    @property
    def effect(self) -> float:
        return (self.hits - self.expected) / self.number


def check(config: Config, private: Private) -> _GoldValue | None:
    """The check, if there is gold."""
    return _GoldValue(config, private) if private.gold else None


class _GoldValue:
    def __init__(self, config: Config, private: Private) -> None:
        self._config = config
        self._gold: dict[str, dict[str, Words]] = {
            key: {field: found for field, value in fields.items() if (found := musical_words(value))}
            for key, fields in private.gold.items()
        }
        self._meanings: dict[Words, set[tuple[str, Words]]] = {}
        for fields in self._gold.values():
            for field, value in fields.items():
                self._meanings.setdefault(value, set()).add((field, value))
                if value in _SPELLINGS:
                    self._meanings.setdefault(_SPELLINGS[value], set()).add((field, value))
        self._finder: Finder = finder(self._meanings)
        self._words = functools.lru_cache(maxsize=1 << 12)(musical_words)

    def see(self, item: Item) -> Iterable[Observation]:
        """What each text of a record, audio file or name names."""
        if isinstance(item.body, Malformed):
            return ()
        if item.kind == "record":
            return self._see_record(item)
        return self._see_file(item)

    def _see_record(self, item: Item) -> Iterator[Observation]:
        key = key_of(item, self._gold)
        if key is None:
            return
        texts: dict[str, list[str]] = {}
        for kind, name, value in facts(item):
            if kind == "name":
                texts.setdefault(parent_of(name, value), []).append(str(value))
            elif value is not None:
                texts.setdefault(name, []).append(value if isinstance(value, str) else _text(value))
        read = {
            name: [self._words(text) for text in (*found, *filter(None, map(_decoded, found)))]
            for name, found in texts.items()
        }
        groups = self._groups(texts)
        finders = {group: _Options(Phrases(offered), len(offered)) for group, offered in groups.items()}
        holding = {
            field: {group: finders[group] for group, offered in groups.items() if own in offered}
            for field, own in self._gold[key].items()
        }
        yield Observation(
            item.place,
            _Seen(
                key,
                recording_of(item, self._config, key),
                tuple(one for name, found in read.items() for one in self._named(name, found, holding)),
                tuple(audio_names(item)),
                frozenset(_digest(one) for found in read.values() for one in found if len(one) >= SENTENCE),
                frozenset(groups),
                frozenset((field, group) for field, offers in holding.items() for group in offers),
            ),
        )

    def _see_file(self, item: Item) -> Iterator[Observation]:
        path = item.place.path
        if item.kind == "audio":
            texts = [(name, str(value)) for kind, name, value in facts(item) if kind == "tag"]
        elif is_audio_name(path):
            texts = [("file", stem(path)), ("folder", path.rpartition("/")[0])]
        else:
            return
        named = tuple(one for name, text in texts for one in self._named(name, [self._words(text)], {}))
        if named:
            yield Observation(item.place, _Seen(key_of(item, self._gold), path, named))

    def _named(
        self, name: str, texts: Sequence[Words], holding: Mapping[str, Mapping[str, _Options]]
    ) -> Iterator[_Named]:
        found: dict[str, set[Words]] = {}
        for text in texts:
            for phrase in self._finder.find(text):
                for field, value in self._meanings[phrase]:
                    found.setdefault(field, set()).add(value)
        for field in found.keys() | {field for field, groups in holding.items() if groups}:
            offers = tuple(
                _Offer(group, frozenset[Words]().union(*map(options.finder.find, texts)), options.number)
                for group, options in holding.get(field, {}).items()
            )
            if field in found or any(offer.values for offer in offers):
                yield _Named(name, field, frozenset(found.get(field, ())), offers)

    def _groups(self, texts: Mapping[str, Sequence[str]]) -> dict[str, frozenset[Words]]:
        """Texts side by side, at least two: the elements of a list, or of columns such as A and B, choice_1 and _2."""
        groups: dict[str, list[str]] = {}
        for name, found in texts.items():
            if "[]" in name:
                groups.setdefault(name, []).extend(found)
            elif len(found) == 1:
                groups.setdefault(name[:-1], []).extend(found)
        read = {
            name: frozenset(self._words(_LABEL.sub("", text, count=1)) for text in found) - {()}
            for name, found in groups.items()
        }
        return {name: offered for name, offered in read.items() if len(offered) > 1}

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """A finding for every column that names its records' own gold beyond chance."""
        columns: dict[tuple[str, str], list[_Column]] = {}
        for (path, name, field), units in self._columns(observations).items():
            column = _weighed(field, units)
            if column is not None:
                columns.setdefault((path, name), []).append(column)
        tests = sum(map(len, columns.values()))
        for (path, _), weighed in columns.items():
            best = min(weighed, key=lambda column: column.p)
            if best.p * tests <= LEVEL and best.effect >= EFFECT:
                yield _finding(path, best)

    def _columns(self, observations: Sequence[Observation]) -> dict[tuple[str, str, str], list[tuple[str, _Unit]]]:
        """Per file (none for audio and names), path and field every record that names a value, with its recording."""
        keys: dict[str, tuple[str, str]] = {}  # of audio that records refer to
        for observation in observations:
            seen = observation.value
            for reference in seen.audio:
                keys.setdefault(reference.rpartition("/")[2], (seen.key, seen.recording))
        templates, options = self._templates(observations), self._options(observations)
        columns: dict[tuple[str, str, str], list[tuple[str, _Unit]]] = {}
        for observation in observations:
            place, seen = observation.place, observation.value
            path, key, recording = place.path, seen.key, seen.recording
            if place.record is None:
                key, recording = keys.get(path.rpartition("/")[2], (key, recording))
                path = ""
            for named in seen.named if key is not None else ():
                own = self._gold[key].get(named.field)
                if own is not None:
                    stratum = frozenset(seen.sentences & templates.get((path, named.field), frozenset()))
                    where = Place(place.path, place.record, place.id, named.name)
                    offer = next((one for one in named.offers if (path, named.field, one.group) in options), None)
                    values, number = (offer.values, offer.number) if offer else (named.values, 0)
                    unit = _Unit(where, own, values, number, stratum)
                    columns.setdefault((path, named.name, named.field), []).append((recording, unit))
        return columns

    def _options(self, observations: Sequence[Observation]) -> frozenset[tuple[str, str, str]]:
        """Per file and field the groups of texts that are options: they hold their record's own value, and always do.

        To take a group for options wherever it happens to hold the own value would favour agreement.
        """
        groups: Counter[tuple[str, str, str]] = Counter()
        holding: Counter[tuple[str, str, str]] = Counter()
        for observation in observations:
            path, seen = observation.place.path, observation.value
            groups.update((path, field, group) for group in seen.groups for field in self._gold[seen.key])
            holding.update((path, field, group) for field, group in seen.holding)
        return frozenset(column for column, count in holding.items() if count >= OPTIONS * groups[column])

    def _templates(self, observations: Sequence[Observation]) -> dict[tuple[str, str], frozenset[bytes]]:
        """Per file and field the sentences that are templates: they repeat, and their records' answers differ."""
        repeats = Counter(sentence for observation in observations for sentence in observation.value.sentences)
        answers: dict[tuple[str, str], dict[bytes, dict[str, Words]]] = {}
        for observation in observations:
            seen = observation.value
            for sentence in seen.sentences:
                if repeats[sentence] >= TEMPLATE:
                    for field, own in self._gold[seen.key].items():
                        found = answers.setdefault((observation.place.path, field), {}).setdefault(sentence, {})
                        found.setdefault(seen.recording, own)
        return {
            column: frozenset(sentence for sentence, found in sentences.items() if _is_template(found.values()))
            for column, sentences in answers.items()
        }


def _weighed(field: str, seen: Sequence[tuple[str, _Unit]]) -> _Column | None:
    """The statistics of a column; None when it cannot tell."""
    first: dict[str, _Unit] = {}
    for recording, unit in seen:
        first.setdefault(recording, unit)
    units = _speaking(list(itertools.islice(first.values(), SAMPLE)))
    if len(units) < FEWEST:
        return None
    offered = [len(unit.values) / unit.options for unit in units if unit.options]
    strata = list(_strata(units).values())
    expected = sum(offered)
    for stratum in strata:
        gold = Counter(unit.own for unit in stratum)
        expected += sum(gold[value] for unit in stratum for value in unit.values) / len(stratum)
    hits, p = sum(unit.hit for unit in units), 1.0
    if hits >= expected + EFFECT * len(units):
        distribution = chance.independent(offered)
        for stratum in strata:
            dealt = chance.shuffled([unit.values for unit in stratum], [unit.own for unit in stratum])
            distribution = chance.convolved(distribution, dealt)
        p = chance.tail(distribution, hits)
    told = [unit for _, unit in seen if unit.hit]
    length = len(" ".join(told[0].own)) if told else 0
    return _Column(field, len(units), hits, expected, p, [unit.place for unit in told], length)


def _speaking(units: list[_Unit]) -> list[_Unit]:
    """The units that name a possible answer, without those that list the options."""
    gold = {stratum: {unit.own for unit in members} for stratum, members in _strata(units).items()}
    units = [unit if unit.options else replace(unit, values=unit.values & gold[unit.stratum]) for unit in units]
    units = [unit for unit in units if unit.values]
    lists = [unit for unit in units if len(unit.values) > 1 and not unit.options]
    if sum(unit.hit for unit in lists) >= OPTIONS * len(lists):
        units = [unit for unit in units if len(unit.values) == 1 or unit.options]
    return units


def _strata(units: Iterable[_Unit]) -> dict[frozenset[bytes], list[_Unit]]:
    """Among which units gold is shuffled; where options are known, it is among those."""
    strata: dict[frozenset[bytes], list[_Unit]] = {}
    for unit in units:
        if not unit.options:
            strata.setdefault(unit.stratum, []).append(unit)
    return strata


def _finding(path: str, column: _Column) -> Finding:
    return Finding(
        rule="",
        level="error",
        confidence="strong",
        message=f"names the own gold ({column.field}) of {column.hits} of {column.number} recordings,"
        f" {column.hits / column.number:.1%}; with shuffled gold {column.expected / column.number:.1%}"
        f" ({chance.shown(column.p)})",
        place=column.places[0],
        count=len(column.places),
        places=tuple(column.places[: PLACES if path else None]),
        evidence=Secret("gold value", column.length),
    )


def _is_template(answers: Iterable[Words]) -> bool:
    counts = Counter(answers)
    return counts.total() >= TEMPLATE and max(counts.values()) <= ONE_ANSWER * counts.total()


def _decoded(text: str) -> str:
    """What a text without spaces says in hex or base64; nothing where it says nothing to read."""
    if _CODED.fullmatch(text) is None:
        return ""
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = bytes.fromhex(text) if _HEX.fullmatch(text) else base64.b64decode(bare + "=" * (-len(bare) % 4))
        said = data.decode("utf-8")
    except ValueError:
        return ""
    return said if said.isprintable() else ""


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _digest(text: Words) -> bytes:
    return hashlib.blake2b("\0".join(text).encode("utf-8", "surrogatepass"), digest_size=8).digest()
