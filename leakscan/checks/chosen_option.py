"""Find the option that a record has chosen: said once more in another field, or flagged beside the others.

It needs no gold and serves two rules.  A field that equals exactly one of the record's options, in nearly all records,
now this one and now that, is the answer.  So is the one that a list of all the others lacks, and the one flag that
differs from all others among as many values as there are options: in a list or a map of its own, or as a member of the
options (a marked option).

What is constant is a template: the same value, or always the same place.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from leakscan.config import Config
from leakscan.model import Column, Columns, Finding, Item, Observation, Place, Private, Release, child_name
from leakscan.questions import Offer, odd_one, offer_of
from leakscan.text import plain

CHOSEN, MARKED = "chosen-option", "marked-option"
FEWEST, SHARE = 8, 0.9
"""How many records with options and the field there must be, and the share of them that it chooses an option of."""
ENOUGH, HOPELESS = 64, 0.5
"""After so many records of a file with options, a column that chose in a smaller share of them is looked at no more:
what chooses in nearly all records does so among the first."""
USUAL = 0.9
"""The share up to which the places chosen may be the same."""
PLACES = 100

_MISSING = object()  # stands for a member that one option has and another has not


def check(config: Config, private: Private) -> _ChosenOption:
    """The check; it needs nothing of the evaluator's side."""
    return _ChosenOption()


class _ChosenOption:
    def __init__(self) -> None:
        self._able: Counter[tuple[str, str, str]] = Counter()
        self._chose: Counter[tuple[str, str, str]] = Counter()
        self._offered: Counter[str] = Counter()  # records with options, by file
        self._given_up: set[tuple[str, str]] = set()  # columns, by file

    def look(self, items: Sequence[Item], columns: Columns) -> Iterator[Observation]:
        """Which option each field of a record chooses, where it chooses one."""
        path = items[0].place.path
        leaves = (*columns.texts.items(), *columns.others.items())
        open_columns = [(name, column) for name, column in leaves if (path, name) not in self._given_up]
        if not open_columns and (path, "") in self._given_up:
            return
        for one in self._looked(items, open_columns):
            rule, _, _ = one.value
            self._chose[rule, path, one.place.name or ""] += 1
            yield one
        if self._offered[path] >= ENOUGH:
            for name, _ in open_columns:
                able = self._able[CHOSEN, path, name]
                if self._chose[CHOSEN, path, name] < max(1, HOPELESS * able):
                    self._given_up.add((path, name))
            if not any(file == path for _, file, _ in self._chose):
                self._given_up.add((path, ""))  # nor are there flags

    def _looked(self, items: Sequence[Item], columns: Sequence[tuple[str, Column]]) -> Iterator[Observation]:
        found = [(number, offer_of(item.body)) for number, item in enumerate(items) if item.kind == "record"]
        offered = {number: offer for number, offer in found if offer is not None}
        if not offered:
            return
        self._offered[items[0].place.path] += len(offered)
        for number, offer in offered.items():
            place = items[number].place
            for rule, name, values in _flags(items[number].body, offer):
                self._able[rule, place.path, name] += 1
                yield from _chosen(place, rule, name, odd_one(values), "")
        yield from self._look_at_columns(items, offered, columns)

    def _look_at_columns(
        self, items: Sequence[Item], offered: Mapping[int, Offer], columns: Sequence[tuple[str, Column]]
    ) -> Iterator[Observation]:
        texts = {number: [_letters(option) for option in offer.options] for number, offer in offered.items()}
        known = {option for options in texts.values() for option in options}
        longest = 2 * max(map(len, known)) + 8
        own = {offer.own: offer for offer in offered.values()}
        for name, column in columns:
            apart = [owns for owns, offer in own.items() if not offer.holds(name)]
            if not apart:
                continue
            short = [text for text in set(map(str, column.values)) if len(text) <= longest]
            said = {text: letters for text in short if (letters := _letters(text)) in known}
            able = {number for number, offer in offered.items() if offer.own in apart}
            total, found = self._in_column(column, texts, able, said)
            if total:
                self._able[CHOSEN, items[0].place.path, name] += total
            for owner, chosen, text in found:
                yield from _chosen(items[owner].place, CHOSEN, name, chosen, text)

    @staticmethod
    def _in_column(
        column: Column, texts: Mapping[int, Sequence[str]], able: AbstractSet[int], said: Mapping[str, str]
    ) -> tuple[int, list[tuple[int, int | None, str]]]:
        """How many records a column could choose an option of, and those where it does: which, and in what words."""
        single, several, lacking = able & set(column.owners), set[int](), set[int]()
        if len(column.owners) > len(set(column.owners)):
            counts = Counter(column.owners)
            several = {owner for owner in single if counts[owner] == len(texts[owner])}
            lacking = {owner for owner in single if 1 < counts[owner] == len(texts[owner]) - 1}
            single = {owner for owner in single if counts[owner] == 1}
        number, found = len(single | several | lacking), list[tuple[int, int | None, str]]()
        if None in column.values:
            number -= sum(value is None and owner in single for owner, value in zip(*column, strict=True))
        if said and single:
            for owner, value in zip(*column, strict=True):
                if owner in single and value is not None and (text := said.get(str(value))) is not None:
                    chosen = texts[owner].index(text) if texts[owner].count(text) == 1 else None
                    found.append((owner, chosen, text))
        if several or (lacking and said):
            flags: dict[int, list[Any]] = defaultdict(list)
            for owner, value in zip(*column, strict=True):
                flags[owner].append(value)
            found += [(owner, odd_one(flags[owner]), "") for owner in sorted(several)]
            for owner in sorted(lacking):
                rest = set(texts[owner]) - {said.get(str(value)) for value in flags[owner]}
                if len(set(texts[owner])) == len(texts[owner]) and len(rest) == 1:
                    (text,) = rest
                    found.append((owner, texts[owner].index(text), text))
        return number, found

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per rule, file and JSON path."""
        groups: dict[tuple[str, str, str], list[Observation]] = defaultdict(list)
        for one in observations:
            groups[one.value[0], one.place.path, one.place.name or ""].append(one)
        telling = {column: seen for column, seen in groups.items() if _tells(seen, self._able[column])}
        further = _offerings(telling)
        for (rule, path, name), seen in telling.items():
            if (path, name[:-1]) in further:
                continue
            number = self._able[rule, path, name]
            what = "chooses one of the options" if rule == CHOSEN else "one of the options has a value of its own"
            yield Finding(
                rule=rule,
                level="error",
                confidence="strong",
                message=f"{what}, now this and now that, in {len(seen)} of {number} records: the answer, most likely",
                place=seen[0].place,
                count=len(seen),
                places=tuple(one.place for one in seen[:PLACES]),
            )


def _tells(seen: Sequence[Observation], able: int) -> bool:
    """Whether nearly all records choose, and neither always the same place nor always the same text."""
    places = Counter(one.value[1] for one in seen)
    texts = {one.value[2] for one in seen}
    varied = max(places.values()) <= USUAL * len(seen) and (len(texts) > 1 or texts == {""})
    return varied and able >= FEWEST and len(seen) >= SHARE * able


def _offerings(telling: Mapping[tuple[str, str, str], Sequence[Observation]]) -> set[tuple[str, str]]:
    """Columns by file and name but for the last letter that are options once more: opt1, opt2, ... never agree."""
    chosen: dict[tuple[str, str], dict[int | None, list[int]]] = defaultdict(lambda: defaultdict(list))
    for (_, path, name), seen in telling.items():
        for one in seen:
            chosen[path, name[:-1]][one.place.record].append(one.value[1])
    return {
        column
        for column, records in chosen.items()
        if max(map(len, records.values())) > 1 and all(len(set(places)) == len(places) for places in records.values())
    }


def _chosen(place: Place, rule: str, name: str, chosen: int | None, text: str) -> Iterator[Observation]:
    if chosen is not None:
        yield Observation(Place(place.path, place.record, place.id, name), (rule, chosen, text))


def _letters(text: str) -> str:
    return plain(text).strip(" .\t\r\n").casefold()


def _flags(body: Mapping[str, Any], offer: Offer) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """Members of the options, where these are objects, and objects that map the options to something."""
    number = len(offer.options)
    for key, value in body.items():
        if type(value) not in (list, dict) or len(value) != number:
            continue
        name = child_name("$", key)
        if type(value) is list and offer.holds(name) and set(map(type, value)) == {dict}:
            for member in dict.fromkeys(member for option in value for member in option):
                yield MARKED, child_name(f"{name}[]", member), [option.get(member, _MISSING) for option in value]
        elif type(value) is dict and not offer.holds(name):
            called = {_letters(member): flag for member, flag in value.items()}
            values = [called.get(_letters(option), _MISSING) for option in offer.options]
            if not any(flag is _MISSING for flag in values):
                yield CHOSEN, name, values
