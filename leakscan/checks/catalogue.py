"""Find titles, artists and identifiers of the evaluator's catalogue in any value, key or tag.

Names of files and folders are left to `telling_name`, which knows the catalogue too.

How much a mention says depends on how rare it is.  A phrase has the sum of its words' rarities over the catalogue,
log2(items / items that have the word); short words and short numbers have none.  To point to one item takes
log2(items).  A phrase that has `RARE` times that tells by itself, and in its own record any phrase of two such words,
unless many records have it, as a template does; an identifier always tells.  Any other (`Intro`, `Blue`) counts only
where it is the record's own:

- a column that names its own recordings beyond chance, by the distribution over shuffled keys, is a strong finding;
- a single mention that no record of another recording has is a weak one, a warning.

A rare phrase of the record's own is a strong finding, a title or artist of another item a weak one.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from leakscan import chance
from leakscan.config import Config
from leakscan.model import Finding, Item, Malformed, Observation, Place, Private, Release, Secret, facts
from leakscan.owners import key_of, parent_of, recording_of
from leakscan.phrases import Finder, Words, finder, words

NEEDS_EVALUATOR = True
RARE = 1.5
"""What a phrase must have that tells by itself, as a multiple of log2(items): two words that few items have."""
FEWEST_ITEMS = 16  # a smaller catalogue says nothing about how rare words are
FEW = 0.01  # of a column's records; what more of them (and more than two) mention is a template
LEVEL = 0.01
"""What the smallest p of a release may be by accident, all columns together."""
SAMPLE = 2000  # recordings of a column by which chance is judged
SHORTEST = 4  # letters of a single mention
PLACES = 100


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a phrase stands for: the items that have it, as which fields."""

    items: frozenset[str]
    fields: tuple[str, ...]
    tells_own: bool  # by itself, in the item's own record
    tells: bool  # by itself, anywhere
    identifier: bool


@dataclass(frozen=True, slots=True)
class _Mention:
    """What a text of a record or audio file mentions."""

    place: Place
    key: str | None
    recording: str
    phrases: frozenset[Words]


@dataclass(frozen=True, slots=True)
class _Seen:
    """The phrases per name of a record or audio file."""

    key: str | None
    recording: str
    named: tuple[tuple[str, frozenset[Words]], ...]


def check(config: Config, private: Private) -> _Catalogue:
    """The check; without `private.catalogue` it does nothing."""
    return _Catalogue(config, private)


class _Catalogue:
    def __init__(self, config: Config, private: Private) -> None:
        self._config = config
        self._keys = frozenset(private.catalogue)
        self._entries = _entries(private.catalogue)
        self._finder: Finder = finder(self._entries)
        self._found = functools.lru_cache(maxsize=1 << 14)(self._find)  # prompts and keys repeat

    def see(self, item: Item) -> Iterable[Observation]:
        """What each text of a record or audio file mentions."""
        if not self._entries or item.kind == "file" or isinstance(item.body, Malformed):
            return ()
        return self._see(item)

    def _see(self, item: Item) -> Iterator[Observation]:
        named: dict[str, frozenset[Words]] = {}
        for kind, name, value in facts(item):
            if isinstance(value, str | int) and not isinstance(value, bool) and (found := self._found(str(value))):
                column = parent_of(name, str(value)) if kind == "name" else name
                named[column] = named.get(column, frozenset()) | found
        key = key_of(item, self._keys)
        if named or key is not None:
            recording = recording_of(item, self._config, key) if item.kind == "record" else key or item.place.path
            yield Observation(item.place, _Seen(key, recording, tuple(named.items())))

    def _find(self, text: str) -> frozenset[Words]:
        return self._finder.find(words(text))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """A finding for every column that mentions what it should not."""
        recordings: dict[str, dict[str, str]] = {}  # per file (none for audio): keys and recordings
        columns: dict[tuple[str, str], list[_Mention]] = {}
        for observation in observations:
            place, seen = observation.place, observation.value
            path = place.path if place.record is not None else ""
            if seen.key is not None:
                recordings.setdefault(path, {})[seen.key] = seen.recording
            for name, phrases in seen.named:
                where = Place(place.path, place.record, place.id, name)
                columns.setdefault((path, name), []).append(_Mention(where, seen.key, seen.recording, phrases))
        columns = {column: mentions for column, mentions in columns.items() if mentions}
        for (path, _), mentions in columns.items():
            yield from self._judge(path, mentions, recordings.get(path, {}), len(columns))

    def _judge(
        self, path: str, mentions: Sequence[_Mention], recordings: Mapping[str, str], tests: int
    ) -> Iterator[Finding]:
        own = {one.place: self._own(one) for one in mentions}
        hits, number, expected, p = self._chance(mentions, recordings)
        if hits and p * tests <= LEVEL:
            places = [one.place for one in mentions if own[one.place]]
            fields = Counter(field for found in own.values() for phrase in found for field in self._fields(phrase))
            field = min(fields, key=lambda field: (-fields[field], field))
            message = (
                f"names the own {field} of {hits} of {number} recordings;"
                f" with shuffled keys {expected:.2g} ({chance.shown(p)})"
            )
            yield self._finding(path, message, places, own[places[0]])
            return
        counts = Counter(phrase for one in mentions for phrase in one.phrases)
        records = max(2, FEW * len(recordings))
        rare = {phrase for phrase, count in counts.items() if count <= records or self._entries[phrase].identifier}
        strong = [
            (one.place, sure)
            for one in mentions
            if (sure := {phrase for phrase in one.phrases & rare if self._is_sure(phrase, own[one.place])})
        ]
        if strong:
            yield self._finding(path, self._message(strong[0][1]), [place for place, _ in strong], strong[0][1])
            return
        telling = {phrase for phrase in rare if self._entries[phrase].tells} | self._lonely(mentions, own)
        weak = [(one.place, told) for one in mentions if (told := one.phrases & telling)]
        if weak:
            message = self._message(weak[0][1])
            yield self._finding(path, message, [place for place, _ in weak], weak[0][1], "warning")

    def _own(self, mention: _Mention) -> frozenset[Words]:
        return frozenset(phrase for phrase in mention.phrases if mention.key in self._entries[phrase].items)

    def _is_sure(self, phrase: Words, own: frozenset[Words]) -> bool:
        entry = self._entries[phrase]
        return entry.identifier or (phrase in own and entry.tells_own)

    def _lonely(self, mentions: Sequence[_Mention], own: Mapping[Place, frozenset[Words]]) -> set[Words]:
        """Phrases that only records of their own recording mention."""
        others = {phrase for one in mentions for phrase in one.phrases - own[one.place]}
        mine = {phrase for found in own.values() for phrase in found}
        return {phrase for phrase in mine - others if len("".join(phrase)) >= SHORTEST}

    def _chance(self, mentions: Sequence[_Mention], recordings: Mapping[str, str]) -> tuple[int, int, float, float]:
        """How many recordings are named by their own records, of how many that are asked, and by accident."""
        of: dict[str, set[str]] = {}  # of each recording the first mention speaks
        for one in mentions:
            if one.key is not None and one.recording not in of and len(of) < SAMPLE:
                items = frozenset[str]().union(*(self._entries[phrase].items for phrase in one.phrases))
                named = {recordings[key] for key in items if key in recordings}
                if named:
                    of[one.recording] = named
        total = len(set(recordings.values()))
        shares = [len(named) / total for named in of.values()]
        hits = sum(recording in named for recording, named in of.items())
        p = chance.tail(chance.independent(shares), hits) if hits > sum(shares) else 1.0
        return hits, len(of), sum(shares), p

    def _fields(self, phrase: Words) -> tuple[str, ...]:
        return self._entries[phrase].fields

    def _message(self, phrases: Iterable[Words]) -> str:
        fields = sorted({field for phrase in phrases for field in self._fields(phrase)})
        return f"names an item of the evaluator's catalogue ({', '.join(fields)})"

    def _finding(
        self, path: str, message: str, places: Sequence[Place], phrases: Iterable[Words], level: str = "error"
    ) -> Finding:
        longest = max(phrases, key=lambda phrase: (len(" ".join(phrase)), phrase))
        return Finding(
            rule="",
            level="error" if level == "error" else "warning",
            confidence="strong" if level == "error" else "weak",
            message=message,
            place=places[0],
            count=len(places),
            places=tuple(places[: PLACES if path else None]),
            evidence=Secret(self._fields(longest)[0], len(" ".join(longest))),
        )


def _entries(catalogue: Mapping[str, Mapping[str, str]]) -> dict[Words, _Entry]:
    items: dict[Words, set[str]] = {}
    fields: dict[Words, set[str]] = {}
    spelt: dict[Words, str] = {}
    for key, row in catalogue.items():
        for field, value in row.items():
            phrase = words(value)
            if sum(map(len, phrase)) > 2:
                items.setdefault(phrase, set()).add(key)
                fields.setdefault(phrase, set()).add(field)
                spelt.setdefault(phrase, value)
    frequency: Counter[str] = Counter()
    for phrase, keys in items.items():
        for word in set(phrase):
            frequency[word] += len(keys)
    number = max(len(catalogue), FEWEST_ITEMS)
    one = math.log2(number)
    entries: dict[Words, _Entry] = {}
    for phrase, keys in items.items():
        identifier = _is_identifier(spelt[phrase])
        counted = {word for word in phrase if _counts(word)}
        bits = sum(math.log2(max(1.0, number / frequency[word])) for word in sorted(counted))
        tells = identifier or bits >= RARE * one
        entries[phrase] = _Entry(
            frozenset(keys), tuple(sorted(fields[phrase])), tells or len(counted) > 1, tells, identifier
        )
    return entries


def _counts(word: str) -> bool:
    return len(word) > 4 or (len(word) > 3 and not word.isdecimal())


def _is_identifier(value: str) -> bool:
    """Whether a value is one word of letters and digits, and long: an ISRC, an MBID, the ID of a video."""
    signs = [sign for sign in value if sign.isalnum()]
    return len(signs) > 7 and " " not in value.strip() and any(map(str.isdecimal, signs))
