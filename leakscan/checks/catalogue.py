"""Find titles, artists and identifiers of the evaluator's catalogue in any value, key or tag.

Names of files and folders are left to `telling_name`, which knows the catalogue too.

How much a mention says depends on how rare it is.  A phrase has the sum of its words' rarities over the catalogue,
log2(items / items that have the word); short words and short numbers have none.  To point to one item takes
log2(items).  A phrase that has `RARE` times that tells by itself, and in its own record any phrase of two such words,
unless many records have it, as a template does; an identifier always tells.  Words that recur in the catalogue are not
rare, yet a text that has a whole title of two such words, spelt as in the catalogue, has it as a name; so has one in
which a title and its artist stand side by side.  Names tell anywhere.  Any other (`Intro`, `Blue`) counts only where it
is the record's own:

- a column that names its own recordings beyond chance, by the distribution over shuffled keys, is a strong finding;
- a single mention that no record of another recording has is a weak one, a warning.

A rare phrase or name of the record's own is a strong finding, a title or artist of another item a weak one.

Artists, titles, albums and identifiers are judged apart, each under the rule `catalogue-...` of its own, so that a task
that must name one of them can be waived without hiding the others.  A phrase is one of them only, the first of
`CLASSES`: who waives artists does not hear of the albums that are called like them.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from leakscan import chance
from leakscan.config import Config
from leakscan.model import Finding, Item, Malformed, Observation, Place, Private, Release, Secret, facts
from leakscan.owners import key_of, parent_of, recording_of
from leakscan.phrases import Words, finder, folded, is_sign
from leakscan.text import plain

NEEDS_EVALUATOR = True
RARE = 1.5
"""What a phrase must have that tells by itself, as a multiple of log2(items): two words that few items have."""
FEWEST_ITEMS = 16  # a smaller catalogue says nothing about how rare words are
FEW = 0.01  # of a column's records; what more of them (and more than two) mention is a template
LEVEL = 0.01
"""What the smallest p of a release may be by accident, all columns together."""
SAMPLE = 2000  # recordings of a column by which chance is judged
LONG = 2
"""How many words that count a name has that needs no other beside it."""
BETWEEN = 3  # words between a title and its artist: `by`, `performed by the`
SHARED = 1 / 8  # of the items: what is called like more of them (`Various Artists`) points to none
SHORTEST = 4  # letters of a single mention
PLACES = 100

TOGETHER = 1 << 16  # characters of texts that are searched at once
MANY = 1 << 12  # items that wait for that
KNOWN = 1 << 22  # characters of texts whose phrases are remembered: prompts and keys repeat

CLASSES = ("artist", "title", "album", "id", "value")
_COLUMNS = {  # of the catalogue, by their names; others are identifiers if their values are, else values
    "artist": re.compile(r"(?i)artist|perform|band|singer|guest|feat|composer|conductor|author|producer|orchestra"),
    "album": re.compile(r"(?i)album|release"),
    "title": re.compile(r"(?i)title|track|song|piece|work"),
}

_WORD = re.compile(r"[^\W_]+")
_NOTHING: frozenset[Words] = frozenset()


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a phrase stands for: the items that have it, as which fields."""

    items: frozenset[str]
    fields: tuple[str, ...]
    about: str  # one of CLASSES
    tells_own: bool  # by itself, in the item's own record
    tells: bool  # by itself, anywhere
    identifier: bool
    spellings: tuple[str, ...]  # of a title, artist or album, where they look like names
    is_long: bool  # enough to be a name by itself


@dataclass(frozen=True, slots=True)
class _Mention:
    """What a text of a record or audio file mentions."""

    place: Place
    key: str | None
    recording: str
    phrases: frozenset[Words]
    names: frozenset[Words]  # those of the phrases that it has as names


@dataclass(frozen=True, slots=True)
class _Seen:
    """The phrases per name of a record or audio file, and which of them it has as names."""

    key: str | None
    recording: str
    told: tuple[tuple[str, frozenset[Words], frozenset[Words]], ...]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An item with its texts, and the column that each is in, until enough have come to be searched at once."""

    place: Place
    key: str | None
    recording: str
    texts: Sequence[tuple[str, str]]


def check(config: Config, private: Private) -> _Check:
    """The check; without `private.catalogue` it does nothing."""
    return _Check(config, private)


class _Check:
    def __init__(self, config: Config, private: Private) -> None:
        self._config = config
        self._keys = frozenset(private.catalogue)
        self._catalogue = _Catalogue(private.catalogue)
        self._finder = finder(self._catalogue.phrases)
        self._known: dict[str, frozenset[Words]] = {}
        self._names: dict[str, frozenset[Words]] = {}
        self._known_size = 0
        self._new: dict[str, None] = {}
        self._new_size = 0
        self._waiting: list[_Waiting] = []

    def see(self, item: Item) -> Iterable[Observation]:
        """What the texts of records and audio files mention, as soon as enough texts have come."""
        if not self._keys or item.kind == "file" or isinstance(item.body, Malformed):
            return ()
        self._wait(item)
        return self._searched() if self._new_size > TOGETHER or len(self._waiting) > MANY else ()

    def _wait(self, item: Item) -> None:
        known, new = self._known, self._new
        texts: list[tuple[str, str]] = []
        for kind, name, value in facts(item):
            if type(value) is not str:
                if not isinstance(value, str | int) or isinstance(value, bool):
                    continue
                value = str(value)
            if known.get(value, True):
                texts.append((parent_of(name, value) if kind == "name" else name, value))
                if value not in known and value not in new:
                    new[value] = None
                    self._new_size += len(value)
        key = key_of(item, self._keys)
        if texts or key is not None:
            recording = recording_of(item, self._config, key) if item.kind == "record" else key or item.place.path
            self._waiting.append(_Waiting(item.place, key, recording, texts))

    def _searched(self) -> Iterator[Observation]:
        """What the items that wait mention."""
        new = list(self._new)
        known, names = self._known, self._names
        lines = folded(new)
        for text, line, found in zip(new, lines, self._finder.search(lines), strict=True):
            known[text] = found
            if found and (named := self._catalogue.names(text, line, found)):
                names[text] = named
        for item in self._waiting:
            phrases: dict[str, frozenset[Words]] = {}
            told: dict[str, frozenset[Words]] = {}
            for column, text in item.texts:
                if found := known[text]:
                    phrases[column] = phrases.get(column, _NOTHING) | found
                    told[column] = told.get(column, _NOTHING) | names.get(text, _NOTHING)
            if phrases or item.key is not None:
                columns = tuple((column, found, told[column]) for column, found in phrases.items())
                yield Observation(item.place, _Seen(item.key, item.recording, columns))
        self._known_size += self._new_size
        if self._known_size > KNOWN:
            known.clear()
            names.clear()
            self._known_size = 0
        self._new, self._new_size, self._waiting = {}, 0, []

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """A finding for every column and class of what it should not mention."""
        recordings: dict[str, dict[str, str]] = {}  # per file (none for audio): keys and recordings
        columns: dict[tuple[str, str], list[_Mention]] = {}
        for observation in sorted((*observations, *self._searched()), key=_order):
            place, seen = observation.place, observation.value
            path = place.path if place.record is not None else ""
            if seen.key is not None:
                recordings.setdefault(path, {})[seen.key] = seen.recording
            for name, phrases, names in seen.told:
                where = Place(place.path, place.record, place.id, name)
                mention = _Mention(where, seen.key, seen.recording, phrases, names)
                columns.setdefault((path, name), []).append(mention)
        judged = [
            _Column(self._catalogue, path, mentions, recordings.get(path, {}))
            for (path, _), mentions in columns.items()
        ]
        tests = sum(len(column.classes) for column in judged)
        for column in judged:
            for about in column.classes:
                yield from column.judge(about, tests)


def _order(observation: Observation) -> tuple[str, int]:
    return observation.place.path, observation.place.record or 0


class _Column:
    """The mentions of a column of records, or of a tag of audio files."""

    def __init__(
        self, catalogue: _Catalogue, path: str, mentions: Sequence[_Mention], recordings: Mapping[str, str]
    ) -> None:
        self._entry = catalogue.entry
        self._path = path
        self._mentions = mentions
        self._recordings = recordings
        counts = Counter(phrase for one in mentions for phrase in one.phrases)
        entries = {phrase: self._entry(phrase) for phrase in counts}
        few = max(2, FEW * len(recordings))
        self._rare = {phrase for phrase, count in counts.items() if count <= few or entries[phrase].identifier}
        self._by_class = {
            about: frozenset(phrase for phrase, entry in entries.items() if entry.about == about) for about in CLASSES
        }
        self.classes = tuple(about for about, phrases in self._by_class.items() if phrases)

    def judge(self, about: str, tests: int) -> Iterator[Finding]:
        """The finding about one of the classes, if there is one; `tests` is how many are judged in all."""
        mine = self._by_class[about]
        mentions = [(one, phrases) for one in self._mentions if (phrases := one.phrases & mine)]
        own = [self._own(one.key, phrases) for one, phrases in mentions]
        hits, number, expected, p = self._chance(mentions)
        if hits and p * tests <= LEVEL:
            # where a record does not show which item it is, a name of the catalogue is taken for its own
            loose = [one.key is None and bool(phrases & self._rare) for one, phrases in mentions]
            places = [one.place for (one, _), found, free in zip(mentions, own, loose, strict=True) if found or free]
            fields = Counter(field for found in own for phrase in found for field in self._entry(phrase).fields)
            field = min(fields, key=lambda field: (-fields[field], field))
            message = (
                f"names the own {field} of {hits} of {number} recordings;"
                f" with shuffled keys {expected:.2g} ({chance.shown(p)})"
            )
            yield self._finding(about, message, places, next(filter(None, own)))
            return
        judged = list(zip(mentions, own, strict=True))
        strong = [
            (one.place, sure)
            for (one, phrases), mine_own in judged
            if (sure := {phrase for phrase in phrases & self._rare if self._is_sure(phrase, mine_own, one.names)})
        ]
        if strong:
            yield self._finding(about, self._message(strong), [place for place, _ in strong], strong[0][1])
            return
        others = frozenset(chain.from_iterable(phrases - mine_own for (_, phrases), mine_own in judged))
        lonely = {phrase for phrase in chain.from_iterable(own) if len("".join(phrase)) >= SHORTEST} - others
        telling = {phrase for phrase in self._rare if self._entry(phrase).tells} | lonely
        weak = [
            (one.place, told) for one, phrases in mentions if (told := phrases & (telling | (one.names & self._rare)))
        ]
        if weak:
            yield self._finding(about, self._message(weak), [place for place, _ in weak], weak[0][1], "warning")

    def _own(self, key: str | None, phrases: frozenset[Words]) -> frozenset[Words]:
        return frozenset(phrase for phrase in phrases if key in self._entry(phrase).items)

    def _is_sure(self, phrase: Words, own: frozenset[Words], names: frozenset[Words]) -> bool:
        entry = self._entry(phrase)
        return entry.identifier or (phrase in own and (entry.tells_own or phrase in names))

    def _chance(self, mentions: Sequence[tuple[_Mention, frozenset[Words]]]) -> tuple[int, int, float, float]:
        """How many recordings are named by their own records, of how many that are asked, and by accident."""
        recordings = self._recordings
        of: dict[str, set[str]] = {}  # of each recording the first mention speaks
        for one, phrases in mentions:
            if one.key is not None and one.recording not in of and len(of) < SAMPLE:
                items = frozenset[str]().union(*(self._entry(phrase).items for phrase in phrases))
                named = {recordings[key] for key in items & recordings.keys()}
                if named:
                    of[one.recording] = named
        total = len(set(recordings.values()))
        shares = [len(named) / total for named in of.values()]
        hits = sum(recording in named for recording, named in of.items())
        p = _at_least(hits, shares) if hits > sum(shares) else 1.0
        return hits, len(of), sum(shares), p

    def _message(self, told: Sequence[tuple[Place, Iterable[Words]]]) -> str:
        fields = sorted({field for phrase in told[0][1] for field in self._entry(phrase).fields})
        return f"names an item of the evaluator's catalogue ({', '.join(fields)})"

    def _finding(
        self, about: str, message: str, places: Sequence[Place], phrases: Iterable[Words], level: str = "error"
    ) -> Finding:
        longest = max(phrases, key=lambda phrase: (len(" ".join(phrase)), phrase))
        return Finding(
            rule=f"catalogue-{about}",
            level="error" if level == "error" else "warning",
            confidence="strong" if level == "error" else "weak",
            message=message,
            place=places[0],
            count=len(places),
            places=tuple(places[: PLACES if self._path else None]),
            evidence=Secret(self._entry(longest).fields[0], len(" ".join(longest))),
        )


def _at_least(hits: int, probabilities: Sequence[float]) -> float:
    """The chance of so many hits of independent draws, or more: the states beyond that count, or short of it, are one.

    The fewer of the two are worked out, so that a column in which nearly all hit costs no more than one where few do.
    """
    misses = len(probabilities) - hits
    if misses < hits:
        states = [1.0] + [0.0] * misses  # so many misses
        for probability in probabilities:
            shifted = [0.0, *(state * (1 - probability) for state in states)]
            states = [state * probability + miss for state, miss in zip(states, shifted, strict=False)]
        return min(1.0, math.fsum(states))
    states = [1.0] + [0.0] * (hits - 1)  # so many hits
    enough = 0.0
    for probability in probabilities:
        shifted = [0.0, *(state * probability for state in states)]
        enough += shifted[-1]
        states = [state * (1 - probability) + hit for state, hit in zip(states, shifted, strict=False)]
    return min(1.0, enough)


class _Catalogue:
    """The evaluator's catalogue by phrase; what a phrase stands for is worked out when it is first found."""

    def __init__(self, catalogue: Mapping[str, Mapping[str, str]]) -> None:
        self._cells = [(key, field, value) for key, row in catalogue.items() for field, value in row.items() if value]
        lines = folded([value for _, _, value in self._cells])
        self._first: dict[str, int] = {}  # of each phrase, a cell that has it
        self._more: dict[str, list[int]] = {}
        for cell, line in enumerate(lines):
            if len(line) > 2 and len(line.replace(" ", "")) > 2 and self._first.setdefault(line, cell) != cell:
                self._more.setdefault(line, []).append(cell)
        self._frequency = Counter(chain.from_iterable(set(line.split()) for line in lines))
        self._number = max(len(catalogue), FEWEST_ITEMS)
        self._class = _classes(self._cells)
        self.entry: Callable[[Words], _Entry] = functools.cache(self._entry_of)

    @property
    def phrases(self) -> Iterator[Words]:
        """All of them."""
        return (tuple(line.split()) for line in self._first)

    def names(self, text: str, line: str, found: Iterable[Words]) -> frozenset[Words]:
        """The phrases found that a text, given as it is and folded, has as names."""
        written = _written(text)
        spelt = [phrase for phrase in found if any(one in written for one in self.entry(phrase).spellings)]
        long = [phrase for phrase in spelt if self.entry(phrase).is_long]
        short = [phrase for phrase in spelt if not self.entry(phrase).is_long]
        pairs = (pair for pair in _side_by_side(short, line.split()) if self._is_one_item(*pair))
        return frozenset(chain(long, *pairs))

    def _is_one_item(self, one: Words, other: Words) -> bool:
        """Whether two phrases could be title and artist of one item."""
        one_is, other_is = self.entry(one), self.entry(other)
        return one_is.about != other_is.about and not one_is.items.isdisjoint(other_is.items)

    def _entry_of(self, phrase: Words) -> _Entry:
        line = " ".join(phrase)
        first = self._first[line]
        cells = [self._cells[cell] for cell in (first, *self._more.get(line, ()))]
        items = frozenset(key for key, _, _ in cells)
        fields = {field for _, field, _ in cells}
        about = min((self._class[field] for field in fields), key=CLASSES.index)
        identifier = _is_identifier(cells[0][2])
        weights = {word: weight for word in phrase if (weight := _weight(word))}
        long = sum(weights.values()) >= LONG
        bits = math.fsum(
            weight * math.log2(max(1.0, self._number / self._frequency[word])) for word, weight in weights.items()
        )
        tells = identifier or (long and bits >= RARE * math.log2(self._number))
        spellings = {_written(value) for _, _, value in cells} if about in _COLUMNS else set[str]()
        return _Entry(
            items,
            tuple(sorted(fields)),
            about,
            tells or long,
            tells,
            identifier,
            tuple(sorted(spelling for spelling in spellings if not spelling.islower())),
            long and len(items) <= SHARED * self._number,
        )


def _written(text: str) -> str:
    """The words of a text in their own letters, large or small."""
    return " ".join(_WORD.findall(plain(text)))


def _side_by_side(phrases: Sequence[Words], said: Sequence[str]) -> Iterator[tuple[Words, Words]]:
    """Every two phrases of which one follows the other, at most `BETWEEN` words apart."""
    by_first: dict[str, list[Words]] = {}
    for phrase in phrases if len(phrases) > 1 else ():
        by_first.setdefault(phrase[0], []).append(phrase)
    begins: dict[int, list[Words]] = {}
    for start, word in enumerate(said if by_first else ()):
        if word in by_first:
            begins[start] = [phrase for phrase in by_first[word] if tuple(said[start : start + len(phrase)]) == phrase]
    for start, found in begins.items():
        for phrase in found:
            end = start + len(phrase)
            yield from ((phrase, other) for place in range(end, end + BETWEEN + 1) for other in begins.get(place, ()))


def _classes(cells: Iterable[tuple[str, str, str]]) -> Mapping[str, str]:
    """The class of each column of the catalogue."""
    values: dict[str, list[str]] = {}
    for _, field, value in cells:
        values.setdefault(field, []).append(value)
    return {field: _class_of(field, found) for field, found in values.items()}


def _class_of(field: str, values: Sequence[str]) -> str:
    for about, pattern in _COLUMNS.items():
        if pattern.search(field):
            return about
    return "id" if 2 * sum(map(_is_identifier, values)) >= len(values) else "value"


def _weight(word: str) -> float:
    """How much of a word that counts it is: short words and short numbers are none.

    Two signs of a script without spaces are one, or five of the letters that Korean syllables are taken apart into.
    """
    if is_sign(word):
        return 0.2 if word <= "\u11ff" else 0.5
    return float(len(word) > 4 or (len(word) > 3 and not word.isdecimal()))


def _is_identifier(value: str) -> bool:
    """Whether a value is one word of letters and digits, and long: an ISRC, an MBID, the ID of a video."""
    if " " in value.strip() or not any(map(str.isdecimal, value)):
        return False
    return sum(map(str.isalnum, value)) > 7
