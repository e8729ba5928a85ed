"""Hold tags of audio files against the evaluator's gold by what they mean: tempo, key, lyrics, moments.

`gold_value` finds words that are the gold's own.  A tag can also say the same in another way: half or twice the tempo,
the relative key or its number on a DJ's wheel, a line of the lyrics, chapters that begin where the gold's intervals do.

Per tag name and field of the gold, what counts is in how many files they agree, against what they would if the gold
were shuffled over the files.  Tags that are meant for such a value are findings anyway; agreement beyond chance makes
them proven ones.  Any other tag (a comment, a grouping) counts only beyond chance.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from leakscan import chance
from leakscan.config import Config
from leakscan.model import Finding, Item, Malformed, Observation, Place, Private, Release, Secret, facts
from leakscan.owners import audio_names, key_of
from leakscan.phrases import musical_words
from leakscan.text import fold

NEEDS_EVALUATOR = True
FEWEST = 5
"""Files: all of fewer can agree by accident."""
SAMPLE = 500
"""By how many files of a column chance is judged."""
LEVEL = 0.01
"""What the smallest p of a release may be by accident, all columns together."""
EFFECT = 0.05
"""By how much the own rate has to exceed the expected one."""
TOLERANCE = 0.02
"""By how much two tempos may differ, as a share."""
NEAR = 0.25
"""By how many seconds two moments may differ."""
GRAM = 5
"""How many words in a row are a quotation."""

_NUMBER = re.compile(r"\s*(\d{2,3}(?:[.,]\d{1,6})?)\s*(?:bpm)?\s*", re.IGNORECASE)
_WHEEL = re.compile(r"0?(\d{1,2})([ABabdm])")
_CLOCK = re.compile(r"(?:(\d{1,2}):)?(\d{1,2}):(\d\d(?:[.,]\d+)?)")
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
_TIMES_FIELD = re.compile(r"(?i)time|start|begin|end|onset|interval|segment|section|bound|chapter|cue")
_KEY_FIELD = re.compile(r"(?i)key|tonal|tonic")
_MOMENT = re.compile(r"(\d+(?:\.\d+)?) (s|samples)")
_PITCHES = ("c", "cis", "d", "dis", "e", "f", "fis", "g", "gis", "a", "ais", "b")


class _Kind(NamedTuple):
    """A kind of values: how they are read from the gold and from a tag, how two agree, which tags are meant for it."""

    gold: Callable[[str, str], Hashable]  # field, text -> value, None where it is none
    tag: Callable[[str], Hashable]
    agree: Callable[[Any, Any], str]  # a tag's value and the gold's -> how they agree, "" where they do not
    meant: re.Pattern[str]


# --- tempo -----------------------------------------------------------------------------------------------------------


def _tempo(text: str) -> float | None:
    number = _NUMBER.fullmatch(text)
    tempo = float(number[1].replace(",", ".")) if number else 0
    return tempo if 20 <= tempo <= 400 else None


def _tempos_agree(tag: float, gold: float) -> str:
    for factor, relation in ((1, "as it is"), (0.5, "at half"), (2, "at double")):
        if abs(tag - factor * gold) <= TOLERANCE * factor * gold:
            return relation
    return ""


# --- key -------------------------------------------------------------------------------------------------------------

_Key = tuple[int, bool]  # semitones above C, minor


def _gold_key(field: str, text: str) -> _Key | None:
    """A key that says its mode, since `C` can be the letter of an option; or any in a field called key."""
    if _KEY_FIELD.search(field) or len(musical_words(text)) > 1:
        return _spelt_key(text)
    return None


def _key(text: str) -> _Key | None:
    """A key by its name (Gb minor, F#m, fis-moll) or place on a wheel (8A, 1m); a remark may follow after a dash."""
    text = re.split(r"\s+[-/]\s+|/", text.strip(), maxsplit=1)[0]
    wheel = _WHEEL.fullmatch(text)
    if wheel is None:
        return _spelt_key(text)
    number, side = int(wheel[1]), wheel[2].lower()
    if not 1 <= number <= 12:
        return None
    if side in "ab":  # 8A is A minor, 8B C major, and the next number a fifth above
        number -= 8
    else:  # 1m is A minor, 1d C major
        number -= 1
    minor = side in "am"
    return (7 * number + (9 if minor else 0)) % 12, minor


def _spelt_key(text: str) -> _Key | None:
    words = tuple(word for word in musical_words(text) if word not in ("key", "in", "of"))
    if not 1 <= len(words) <= 2 or words[0] not in _PITCHES or words[1:] not in ((), ("major",), ("minor",)):
        return None
    return _PITCHES.index(words[0]), words[1:] == ("minor",)


def _keys_agree(tag: _Key, gold: _Key) -> str:
    if tag == gold:
        return "the same key"
    relative = (tag[0] + (3 if tag[1] else -3)) % 12, not tag[1]
    return "its relative" if relative == gold else ""


# --- lyrics ----------------------------------------------------------------------------------------------------------


def _grams(text: str) -> frozenset[tuple[str, ...]] | None:
    words = fold(text)
    return frozenset(words[place : place + GRAM] for place in range(len(words) - GRAM + 1)) or None


def _lyrics_agree(tag: frozenset[tuple[str, ...]], gold: frozenset[tuple[str, ...]]) -> str:
    return "" if tag.isdisjoint(gold) else "five words in a row"


# --- moments ---------------------------------------------------------------------------------------------------------


def _gold_times(field: str, text: str) -> tuple[float, ...] | None:
    """The moments of an interval or a list of them; 0 is where every recording begins."""
    times = {
        60 * (60 * int(hours or 0) + int(minutes)) + float(seconds.replace(",", "."))
        for hours, minutes, seconds in _CLOCK.findall(text)
    }
    if not times and _TIMES_FIELD.search(field):
        times = {float(number) for number in _DECIMAL.findall(text)}
    return tuple(sorted(times - {0.0})) or None


def _times_agree(tag: frozenset[float], gold: tuple[float, ...]) -> str:
    near = all(any(abs(time - moment) <= NEAR for moment in tag) for time in gold)
    return f"every moment within {NEAR} s" if near else ""


_KINDS: Mapping[str, _Kind] = {
    "tempo": _Kind(
        lambda field, text: _tempo(text), _tempo, _tempos_agree, re.compile(r"(?i)\.(?:tbpm|tmpo|ibpm|bpm|tempo)$")
    ),
    "key": _Kind(_gold_key, _key, _keys_agree, re.compile(r"(?i)\.(?:tkey|©key|ikey|key|initialkey|key_signature)$")),
    "lyrics": _Kind(
        lambda field, text: _grams(text),
        _grams,
        _lyrics_agree,
        re.compile(r"(?i)\.(?:uslt|sylt|©lyr|lyrics|unsyncedlyrics)$|^lyrics3"),
    ),
    "moments": _Kind(_gold_times, lambda text: None, _times_agree, re.compile(r"\.(?:chapter|cue)_time$")),
}


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the tags of an audio file say, as (name, kind, value); or which audio a record refers to."""

    key: str | None
    said: tuple[tuple[str, str, Any], ...] = ()
    audio: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Unit:
    """A file in a column: what its tag says, the gold of its recording, and how they agree, "" where they do not."""

    place: Place
    values: Sequence[Any]
    own: Hashable
    how: str
    length: int


def check(config: Config, private: Private) -> _TagGold:
    """The check; without `private.gold` it does nothing."""
    return _TagGold(private)


class _TagGold:
    def __init__(self, private: Private) -> None:
        self._gold = private.gold
        self._values: dict[str, dict[str, dict[str, Hashable]]] = {}  # by kind, field and key
        for kind, how in _KINDS.items():
            for key, row in private.gold.items():
                for field, text in row.items():
                    if (value := how.gold(field, text)) is not None:
                        self._values.setdefault(kind, {}).setdefault(field, {})[key] = value
        quotable = self._values.get("lyrics", {}).values()
        self._grams = frozenset[Any]().union(*(grams for rows in quotable for grams in rows.values()))  # type: ignore[arg-type]

    def see(self, item: Item) -> Iterable[Observation]:
        """What the tags of an audio file say that the gold could, and which record refers to which audio."""
        if not self._values or item.kind not in ("audio", "record") or isinstance(item.body, Malformed):
            return ()
        if item.kind == "audio":
            said = tuple(self._said(item))
            return (Observation(Place(item.place.path), _Seen(key_of(item, self._gold), said)),) if said else ()
        audio = tuple(name.rpartition("/")[2] for name in audio_names(item))
        key = key_of(item, self._gold) if audio else None
        return (Observation(item.place, _Seen(key, (), audio)),) if key is not None else ()

    def _said(self, item: Item) -> Iterator[tuple[str, str, Any]]:
        moments: dict[str, set[float]] = {}
        for fact_kind, name, text in facts(item):
            if fact_kind != "tag":
                continue
            if moment := _MOMENT.fullmatch(text):
                scale = 1 if moment[2] == "s" else _rate(item)
                if scale:
                    moments.setdefault(name, set()).add(float(moment[1]) / scale)
                continue
            for kind in self._values:
                value: Any = _KINDS[kind].tag(text)
                if kind == "lyrics" and value is not None:
                    value &= self._grams  # no more than what can be compared
                if value:
                    yield name, kind, value
        if "moments" in self._values:
            for name, times in moments.items():
                yield name, "moments", frozenset(times)

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """A finding for every tag name and field of the gold that agree."""
        keys = {name: one.value.key for one in reversed(observations) for name in one.value.audio}
        columns = self._columns(observations, keys)
        for (name, kind, field), units in columns.items():
            hits = [unit for unit in units if unit.how]
            meant = _KINDS[kind].meant.search(name) is not None
            expected, p = _chance(kind, units[:SAMPLE]) if hits else (0.0, 1.0)
            beyond = p * len(columns) <= LEVEL
            if hits and (beyond or meant):
                how = Counter(unit.how for unit in hits)
                told = ", ".join(f"{relation} {count}" for relation, count in sorted(how.items()))
                yield Finding(
                    rule="",
                    level="error",
                    confidence="proven" if beyond and meant else "strong",
                    message=f"agrees with the own gold ({field}) of {len(hits)} of {len(units)} files ({told});"
                    f" with shuffled gold of {expected:.1%}"
                    f" ({chance.shown(p) if beyond else 'which chance can explain'})",
                    place=Place(hits[0].place.path, name=name),
                    count=len(hits),
                    places=tuple(unit.place for unit in hits),
                    evidence=Secret(f"gold {kind}", hits[0].length),
                )

    def _columns(
        self, observations: Iterable[Observation], keys: Mapping[str, str]
    ) -> dict[tuple[str, str, str], list[_Unit]]:
        """Per tag name, kind and field of the gold: the files that have both."""
        columns: dict[tuple[str, str, str], list[_Unit]] = {}
        for observation in observations:
            path, seen = observation.place.path, observation.value
            key = keys.get(path.rpartition("/")[2], seen.key)
            if key is None:
                continue
            said: dict[tuple[str, str], list[Any]] = {}
            for name, kind, value in seen.said:
                said.setdefault((name, kind), []).append(value)
            for (name, kind), values in said.items():
                for field, rows in self._values[kind].items():
                    if key in rows:
                        how = _agree(kind, values, rows[key])
                        unit = _Unit(Place(path), values, rows[key], how, len(self._gold[key][field]))
                        columns.setdefault((name, kind, field), []).append(unit)
        return columns


def _agree(kind: str, values: Iterable[Any], gold: Hashable) -> str:
    """How any of the values of a tag agrees with a gold value."""
    return next(filter(None, (_KINDS[kind].agree(value, gold) for value in values)), "")


def _chance(kind: str, units: Sequence[_Unit]) -> tuple[float, float]:
    """The share of files that would agree with their own gold if it were shuffled, and p; 1 where it cannot tell."""
    gold = Counter(unit.own for unit in units)
    agreeing = [frozenset(value for value in gold if _agree(kind, unit.values, value)) for unit in units]
    expected = math.fsum(gold[value] for values in agreeing for value in values) / len(units) ** 2
    hits = sum(1 for unit in units if unit.how)
    if len(units) < FEWEST or hits / len(units) < expected + EFFECT:
        return expected, 1.0
    return expected, chance.tail(chance.shuffled(agreeing, [unit.own for unit in units]), hits)


def _rate(item: Item) -> float:
    """Samples a second, where the ledger of the file states them; else 0."""
    parameters = dict(item.body.ledger.parameters) if item.body.ledger is not None else {}
    rate = parameters.get("rate", "")
    if re.fullmatch(r"[0-9a-f]{20}", rate):  # as AIFF has it: 16 bits of exponent, 64 of a number
        exponent = (int(rate[:4], 16) & 0x7FFF) - 16383 - 63
        return math.ldexp(int(rate[4:], 16), exponent) if exponent < 0 else 0.0
    return float(rate) if re.fullmatch(r"\d{1,6}(?:\.\d+)?", rate) else 0.0
