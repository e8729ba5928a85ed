"""Find columns that look like digests without any audio to prove it: unique, of one length, uniformly random.

A single hex word is weak evidence; a column of them is strong.  Digests in base64, base32, decimal or in the dress of a
UUID count by the hex digits that they stand for.  Values of one column count apart by their length,
since lists of keys and values put different things under one JSON path.  The statistics look at the first `SAMPLE`
distinct values; the count is exact.

Eight digits under the name of a colour are left alone, and 40 under that of a commit are a warning: both are as random
as digests, and what is a digest all the same can still be proven.
"""

from __future__ import annotations

import base64
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from leakscan.config import Config
from leakscan.dresses import CLOSING, OPENING, undressed
from leakscan.model import (
    Confidence,
    Finding,
    Item,
    Level,
    Malformed,
    Observation,
    Place,
    Private,
    Release,
    Secret,
    facts,
)
from leakscan.owners import stem
from leakscan.text import is_audio_name, plain

SAMPLE = 1000
FEWEST_VALUES = 4
FEWEST_DIGITS = 64  # with less the tests below could not tell random digits from others
SIGMAS = 5.0
PLACES = 100

# hex digits with a letter; UUIDs that are not random; base64 and base32 of the usual lengths; decimals
_AUDIO = r"(?:^|/)[0-9]*[A-Fa-f][0-9A-Fa-f]*\.[A-Za-z]\w{1,4}$"  # a file that is called like a digest
_TEXT = (
    rf"{_AUDIO}|^{OPENING}(?:(?:[A-Za-z]\w{{0,11}}-)?[0-9]*[A-Fa-f][0-9A-Fa-f]*|[0-9A-Fa-f]{{2}}(?::[0-9A-Fa-f]{{2}}){{7,63}}"
    r"|[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-35-9A-Fa-f][0-9A-Fa-f]{3}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
    r"|(?:(?:sha|md|blake)\d\w{0,8}-)?"
    r"(?:[A-Za-z0-9+/_-]{22}(?:==)?|[A-Za-z0-9+/_-]{27}=?|[A-Za-z0-9+/_-]{43}=?|[A-Za-z0-9+/_-]{64}"
    r"|[A-Za-z0-9+/_-]{86}(?:==)?)|[A-Za-z2-7]{26}(?:={6})?|[A-Za-z2-7]{32}|[A-Za-z2-7]{52}(?:={4})?"
    rf"|[2-9][0-9]{{8,9}}|[0-9]{{17,39}}){CLOSING}$"
)
_NUMBER = "^(?:[2-9][0-9]{8,9}|[0-9]{17,39})$"  # of 4 bytes, but no time of this century; of 8 or 16
_COLOUR = re.compile(r"(?i)(?:colou?rs?|background|foreground|(?<![a-z])(?:bg|fg|a?rgba?))(?:_?hex)?(?:'\])?(?:\[\])*$")
_COMMIT = re.compile(
    r"(?i)(?:commit|revision|(?<![a-z])rev|git|hexsha|(?<![a-z_])sha)(?:_?(?:id|hash|sha1?|rev))?(?:'\])?$"
)
_SEED = re.compile(r"(?i)seed|random|nonce|salt")
CRC = "decimal", 8
"""The form of a CRC-32 as a number: weak, since others draw numbers of 32 bits as well."""
FEWEST_NUMBERS = 16
LARGER = "decimal", 14
"""The form of a number that is no digest, and tells that its column has no CRC-32s."""

_DIGITS = re.compile(r"[0-9A-Fa-f]{8,128}")
_HEX = frozenset("0123456789abcdef")
_SIXTY_FOUR = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_THIRTY_TWO = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_BARE = frozenset((22, 27, 43, 64, 86))  # of 128, 160, 256, 384 and 512 bits
_BASE64 = frozenset((22, 24, 27, 28, 43, 44, 64, 86, 88))
_BASE32 = frozenset((26, 32, 52, 56))


def check(config: Config, private: Private) -> _DigestColumn:
    """The check; it needs nothing of the evaluator's side."""
    return _DigestColumn()


_Form = tuple[str, int]
"""How a digest is written, and the number of its hex digits."""


@dataclass(slots=True)
class _Records:
    """The records that show certain forms in a column."""

    count: int = 0
    places: list[Place] = field(default_factory=list)

    def add(self, place: Place) -> None:
        self.count += 1
        if len(self.places) < PLACES:
            self.places.append(place)


@dataclass(slots=True)
class _Column:
    """What a column has shown so far: as much as the statistics need, however long it is."""

    values: Counter[_Form] = field(default_factory=Counter)
    samples: defaultdict[_Form, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    records: defaultdict[frozenset[_Form], _Records] = field(default_factory=lambda: defaultdict(_Records))
    is_hex: bool = False  # decimals are hex digits only beside others

    def add(self, form: _Form, digits: str) -> None:
        self.values[form] += 1
        if len(self.samples[form]) < SAMPLE:
            self.samples[form][digits] = None
        self.is_hex |= form[0] == "hex" and not digits.isdecimal()

    def digests(self) -> frozenset[_Form]:
        """The forms whose values look like digests."""
        forms = (form for form in self.values if self.is_hex or form[0] != "hex")
        found = (form for form in forms if _are_digests(list(self.samples[form]), self.values[form]))
        return frozenset(form for form in found if form != LARGER and (form != CRC or self._are_crcs()))

    def _are_crcs(self) -> bool:
        """Whether numbers use all of 32 bits, and no more."""
        sample = self.samples[CRC]
        return LARGER not in self.values and len(sample) >= FEWEST_NUMBERS and max(sample) >= "c"


class _DigestColumn:
    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], _Column] = {}

    def wants(self, kind: str, name: str) -> str | None:
        """What may be a digest; of a column that holds one such value, all values arrive."""
        return {"text": _TEXT, "number": _NUMBER}.get(kind)

    def see(self, item: Item) -> Iterator[Observation]:
        """Every column with such values, once; what its other records show is added to it."""
        if item.kind != "record" or isinstance(item.body, Malformed):
            return
        path, record, own = item.place.path, item.place.record, item.place.id
        shown: dict[str, set[_Form]] = {}
        for kind, name, value in facts(item):
            for form, digits in _written(value) if kind == "field" else ():
                if _is_usual(form, name):
                    continue
                column = self._columns.get((path, name))
                if column is None:
                    column = self._columns[path, name] = _Column()
                    yield Observation(Place(path, record, own, name), column)
                shown.setdefault(name, set()).add(form)
                column.add(form, digits)
        for name, forms in shown.items():
            self._columns[path, name].records[frozenset(forms)].add(Place(path, record, own, name))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """A strong finding for every column with values of a length that look like digests."""
        for observation in observations:
            column = observation.value
            if digests := column.digests():
                yield _finding(column, digests)


def _written(value: object) -> Iterator[tuple[_Form, str]]:
    """How a value may write a digest, and the hex digits of that."""
    if isinstance(value, str):
        value = stem(value) if is_audio_name(value) else value
        value = undressed(plain(value)) if len(value) > 7 else ""
        if _DIGITS.fullmatch(value):
            yield ("hex", len(value)), value.lower()
            if not value.isdecimal():
                return
    if isinstance(value, str | int) and (dressed := _undressed(value)) is not None:
        dress, digits = dressed
        yield (dress, len(digits)), digits


def _is_usual(form: _Form, name: str) -> bool:
    """Whether a name says that values are what is as random as digests: colours with their opacity, seeds."""
    return (form == ("hex", 8) and bool(_COLOUR.search(name))) or (form == CRC and bool(_SEED.search(name)))


def _undressed(value: str | int) -> tuple[str, str] | None:
    """How a value that is not hex may write a digest, and the hex digits of that; None where it cannot be one."""
    if isinstance(value, int):
        return _decimal(value)
    length = len(value)
    if length == 36 and value[8] == value[13] == value[18] == value[23] == "-":
        digits = value.replace("-", "").lower()
        return ("UUID", digits) if len(digits) == 32 and not set(digits) - _HEX else None
    if length in _BASE64 and not set(bare := value.rstrip("=")) - _SIXTY_FOUR and len(bare) in _BARE:
        return "base64", base64.urlsafe_b64decode(
            bare.replace("+", "-").replace("/", "_") + "=" * (-len(bare) % 4)
        ).hex()
    if length in _BASE32 and not set(bare := value.rstrip("=").upper()) - _THIRTY_TWO and len(bare) in (26, 32, 52):
        return "base32", base64.b32decode(bare + "=" * (-len(bare) % 8)).hex()
    return _decimal(int(value)) if length <= 39 and value.isascii() and value.isdecimal() else None


def _decimal(number: int) -> tuple[str, str] | None:
    """A number of 32, 64 or 128 bits; those between are times, counters and numbers of accounts."""
    if 10**8 <= number < 1 << 32:
        return "decimal", f"{number:08x}"
    if 1 << 32 <= number < 1 << 56:
        return "decimal", f"{number:014x}"
    if not 1 << 56 <= number < 1 << 128:
        return None
    return "decimal", f"{number:0{16 if number < 1 << 64 else 32}x}"


def _finding(column: _Column, digests: frozenset[_Form]) -> Finding:
    records = [seen for forms, seen in column.records.items() if forms & digests]
    places = sorted((place for seen in records for place in seen.places), key=lambda place: place.record or 0)
    dress, commonest = max(sorted(digests), key=column.values.__getitem__)
    written = "" if dress == "hex" else f" in {dress}" if dress != "UUID" else " in the form of UUIDs"
    level: Level = "error"
    confidence: Confidence = "strong"
    what = "digests, most likely"
    if digests == {CRC}:
        level, confidence, what = "warning", "weak", "CRC-32s, or numbers drawn at random"
    elif digests == {("hex", 40)} and _COMMIT.search(places[0].name or ""):
        level, what = "warning", "commits, as the name says, or digests"
    return Finding(
        rule="",
        level=level,
        confidence=confidence,
        message=f"a column of unique, uniformly random values of {commonest} hex digits{written}: {what}",
        place=places[0],
        count=sum(seen.count for seen in records),
        places=tuple(places[:PLACES]),
        evidence=Secret(dress, commonest, "hex digits" if dress != "hex" else "digits"),
    )


def _are_digests(sample: Sequence[str], number: int) -> bool:
    """Whether `number` values of one form, of which a sample is given, are random and distinct.

    Some repeat: a recording can have several questions.
    """
    length = len(sample[0])
    if len(sample) < max(FEWEST_VALUES, min(number, SAMPLE) / 8) or len(sample) * length < FEWEST_DIGITS:
        return False
    return not _are_uuids(sample) and _are_uniform(sample)


def _are_uuids(sample: Sequence[str]) -> bool:
    """Whether the values are random UUIDs (version 4) without dashes."""
    return len(sample[0]) == 32 and all(value[12] == "4" and value[16] in "89ab" for value in sample)


def _are_uniform(sample: Sequence[str]) -> bool:
    """Whether the sixteen digits are about equally frequent overall and at each position, and letters among digits.

    Counters, zero-padded numbers, time-based IDs and words all fail one of the three.
    """
    number, length = len(sample), len(sample[0])
    total = number * length
    letters = sum(digit > "9" for value in sample for digit in value)
    if abs(letters - total * 6 / 16) > SIGMAS * math.sqrt(total * 6 / 16 * 10 / 16):
        return False
    if _surprise(Counter(itertools.chain(*sample)), total) > _limit(15):
        return False
    by_position = sum(_surprise(Counter(column), number) for column in zip(*sample, strict=True))
    return by_position <= _limit(15 * length)


def _surprise(counts: Counter[str], total: int) -> float:
    """Chi-square of counts of hex digits against equal frequencies; its mean is 15."""
    expected = total / 16
    return sum((counts[digit] - expected) ** 2 for digit in "0123456789abcdef") / expected


def _limit(degrees: int) -> float:
    """What chi-square of so many degrees of freedom hardly ever exceeds."""
    return degrees + SIGMAS * math.sqrt(2 * degrees)
