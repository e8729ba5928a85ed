"""Find gold that its place gives away: among the options, in the order of the records, in the name of their file.

It needs the evaluator's gold and serves four rules.  Everything is held against chance, twice: by how likely it is
under a shuffle (`LEVEL`, all looks of a release together) and by how much it is (`EFFECT`).

- position: an option's number is right more often, or less, than the numbers of options let expect;
- order: neighbours in a file have the same answer, or the same number of option, more often or less than when the
  records are shuffled.  Both ways: answers that never repeat are as telling as answers in blocks.  Of numbers that
  seldom repeat, such as tempos, the ranks of neighbours must not correlate;
- name: a record file (a split, a configuration) is called like the answers of its records, and no other file's are so
  often;
- outside: an answer that is none of the options, where that field of the gold is mostly one of them.

A file whose records are so few that not even the same place in all of them could tell gets a remark.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from leakscan import chance
from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release
from leakscan.owners import key_of
from leakscan.questions import options_of, place_of, prompt_offer
from leakscan.text import fold

POSITION, ORDER, NAME, OUTSIDE = "gold-position", "gold-order", "gold-in-split-name", "gold-outside-options"
LEVEL = 1e-4
EFFECT = 0.15
SORTED = 0.5
"""The same for the correlation of numbers with the one before: records in blocks of one artist or style raise it."""
MOSTLY = 0.8
"""From which share on a field of the gold is one that its records offer as options."""
REPEATED = 1 / 4  # of the records: up to how many answers there are whose repeats can be counted
EXACT, EXACT_ORDER = 300, 100
"""Up to how many draws, and how many records in a row, probabilities are exact."""
PLACES = 100

_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?")


@dataclass(frozen=True, slots=True)
class _Answer:
    """The gold of a record: by field its folded words and the number of the option that it is, None for none.

    `listed` are the options where a prompt lists them.
    """

    words: dict[str, tuple[str, ...]]
    amounts: dict[str, float]  # of the fields that are numbers
    numbers: dict[str, int | None]
    options: int
    listed: tuple[str, ...] = ()


def check(config: Config, private: Private) -> _GoldPosition | None:
    """The check, if there is gold."""
    return _GoldPosition(private) if private.gold else None


class _GoldPosition:
    def __init__(self, private: Private) -> None:
        self._gold = private.gold

    def see(self, item: Item) -> Iterator[Observation]:
        """The gold of every record."""
        if item.kind != "record" or not isinstance(item.body, dict):
            return
        key = key_of(item, self._gold)
        if key is None:
            return
        offered = options_of(item.body)
        name, options, *_ = offered or prompt_offer(item) or ("$", ())
        said = {field: value for field, value in self._gold[key].items() if value.strip()}
        words = {field: fold(value) for field, value in said.items()}
        numbers = {field: place_of(value, options, fold) for field, value in said.items()} if options else {}
        yield Observation(
            Place(item.place.path, item.place.record, item.place.id, name),
            _Answer(words, _amounts(said), numbers, len(options), () if offered else tuple(options)),
        )

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """At most one finding per rule, file and field of the gold."""
        files, fields, level = _looks(observations)
        for seen in files.values():
            for field in fields:
                placed, strange = _placed(seen, field)
                if placed:
                    yield from _outside(strange, len(placed))
                    yield from _position(placed, field, level)
                    yield from _order(placed, [one.value.numbers[field] for one in placed], "number", level)
                having = [one for one in seen if field in one.value.words]
                yield from _order(having, [one.value.words[field] for one in having], "answer", level)
                if all(field in one.value.amounts for one in having):
                    yield from _sorted(having, [one.value.amounts[field] for one in having], level)
        if len(files) > 1:
            for field in fields:
                yield from _names(files, field, level)

    def remarks(self, observations: Sequence[Observation]) -> Iterator[str]:
        """In how many files the right options are too few to stand in one place by more than accident."""
        files, fields, level = _looks(observations)
        few = 0
        for seen in files.values():
            least = [_least(placed) for field in fields if (placed := _placed(seen, field)[0])]
            few += min(least, default=0.0) >= level
        if few:
            yield f"gold-position: files of too few records to tell whether one place is right too often: {few}"


def _amounts(said: Mapping[str, str]) -> dict[str, float]:
    return {field: float(value) for field, value in said.items() if _NUMBER.fullmatch(value.strip())}


def _looks(observations: Sequence[Observation]) -> tuple[dict[str, list[Observation]], list[str], float]:
    """The observations by file, the fields of their gold, and how unlikely what one look finds must be."""
    files: dict[str, list[Observation]] = defaultdict(list)
    for observation in observations:
        files[observation.place.path].append(observation)
    fields = sorted({field for observation in observations for field in observation.value.words})
    return files, fields, LEVEL / max(1, len(files) * len(fields))


def _placed(seen: Sequence[Observation], field: str) -> tuple[Sequence[Observation], Sequence[Observation]]:
    """Records with options whose gold is one of these, and those where it is none; nothing where it is not mostly."""
    offering = [one for one in seen if field in one.value.numbers]
    placed = [one for one in offering if one.value.numbers[field] is not None]
    if len(placed) < MOSTLY * len(offering):
        return (), ()
    lists, numbers = ({one.value.listed for one in placed}, {one.value.numbers[field] for one in placed})
    if len(lists) == 1 and () not in lists and len(numbers) > 1:  # a scale in every prompt: its marks are not placed
        return (), ()
    return placed, [one for one in offering if one.value.numbers[field] is None]


def _least(placed: Sequence[Observation]) -> float:
    """The p of what would be the least likely: the same place in all records."""
    options: list[int] = [one.value.options for one in placed]
    return 2 * max(options) * math.prod(1 / number for number in options)


def _finding(rule: str, level: str, message: str, seen: Sequence[Observation]) -> Finding:
    return Finding(
        rule=rule,
        level="error" if level == "error" else "warning",
        confidence="strong",
        message=message,
        place=seen[0].place,
        count=len(seen),
        places=tuple(one.place for one in seen[:PLACES]),
    )


def _outside(strange: Sequence[Observation], others: int) -> Iterator[Finding]:
    if strange:
        message = f"the gold is none of the options, as it is of {others} other records"
        yield _finding(OUTSIDE, "warning", message, strange)


def _position(placed: Sequence[Observation], field: str, level: float) -> Iterator[Finding]:
    """The number of an option that is right most beyond, or below, its chance."""
    counts = Counter(one.value.numbers[field] for one in placed)
    widest = max(one.value.options for one in placed)
    odd: list[tuple[float, str]] = []
    for number in range(widest):
        able = [1 / one.value.options for one in placed if one.value.options > number]
        hits, expected = counts[number], sum(able)
        p = 2 * widest * min(_at_least(able, hits), _at_least([1 - one for one in able], len(able) - hits))
        if p < level and abs(hits - expected) >= EFFECT * len(able):
            message = f"option {number + 1} is right in {hits} of {len(able)} records, expected {expected:.0f}"
            odd.append((p, f"{message} ({chance.shown(p)})"))
    if odd:
        constant = len(counts) == 1
        yield _finding(POSITION, "error" if constant else "warning", min(odd)[1], placed)


def _order(seen: Sequence[Observation], labels: Sequence[Hashable], what: str, level: float) -> Iterator[Finding]:
    """Whether neighbours agree more or less often than shuffled records would."""
    number, counts = len(labels), Counter(labels).values()
    if not 1 < len(counts) <= REPEATED * number:
        return
    same = sum(a == b for a, b in itertools.pairwise(labels))
    expected, deviation = _repeats(counts)
    if deviation == 0 or abs(same - expected) < EFFECT * (number - 1):
        return
    p = math.erfc(abs(same - expected) / deviation / math.sqrt(2))
    if number <= EXACT_ORDER:
        shuffled = _repeated(counts)
        p = 2 * min(math.fsum(shuffled[same:]), math.fsum(shuffled[: same + 1]))
    if p < level:
        message = (
            f"the {what} is that of the record before in {same} of {number - 1} records,"
            f" expected {expected:.0f} ({chance.shown(p)})"
        )
        yield _finding(ORDER, "warning", message, seen)


def _sorted(seen: Sequence[Observation], amounts: Sequence[float], level: float) -> Iterator[Finding]:
    """Whether numbers that seldom repeat are nearer to, or farther from, the one before than in shuffled records.

    Equal neighbours count once: questions about one recording stand together.
    """
    if len(set(amounts)) <= REPEATED * len(amounts):
        return
    ranks = _ranks([amount for amount, _ in itertools.groupby(amounts)])
    number, variation = len(ranks), math.fsum(rank * rank for rank in ranks)
    if not variation:
        return
    alike = math.fsum(one * other for one, other in itertools.pairwise(ranks)) / variation
    p = math.erfc(abs(alike + 1 / number) * math.sqrt(number / 2))  # by accident -1 / number, with variance 1 / number
    if abs(alike) >= SORTED and p < level:
        message = f"the rank of each answer, a number, correlates by {alike:.2f} with that of the one before"
        yield _finding(ORDER, "warning", f"{message} ({chance.shown(p)})", seen)


def _ranks(amounts: Sequence[float]) -> list[float]:
    """The ranks of numbers, the mean of those of equal ones, counted from the middle."""
    places: dict[float, list[int]] = defaultdict(list)
    for place, amount in enumerate(sorted(amounts)):
        places[amount].append(place)
    middle = (len(amounts) - 1) / 2
    return [math.fsum(places[amount]) / len(places[amount]) - middle for amount in amounts]


def _repeats(counts: Iterable[int]) -> tuple[float, float]:
    """Mean and standard deviation of how many neighbours are equal when labels of such counts are shuffled."""
    counts = list(counts)
    n = sum(counts)
    two, three = sum(c * (c - 1) for c in counts), sum(c * (c - 1) * (c - 2) for c in counts)
    four = sum(c * (c - 1) * (c - 2) * (c - 3) for c in counts) + two * two - sum((c * (c - 1)) ** 2 for c in counts)
    pair, touching = two / (n * (n - 1)), three / (n * (n - 1) * (n - 2))
    apart = four / (n * (n - 1) * (n - 2) * (n - 3))
    mean = (n - 1) * pair
    variance = mean + 2 * (n - 2) * touching + (n - 2) * (n - 3) * apart - mean * mean
    return mean, math.sqrt(max(0.0, variance))


def _repeated(counts: Iterable[int]) -> list[float]:
    """The distribution of how many neighbours are equal when labels of such counts are shuffled: entry k is P(k).

    By inclusion and exclusion: all records of a label are cut into blocks and the blocks of all labels shuffled, which
    makes an order of few runs anew for every way to cut its runs.
    """
    counts = list(counts)
    cut = [1]  # by number of blocks
    for count in counts:
        more = [0] * (len(cut) + count)
        for blocks, ways in enumerate(cut):
            for own in range(1, count + 1):
                more[blocks + own] += ways * math.comb(count - 1, own - 1) * math.comb(blocks + own, own)
        cut = more
    n = sum(counts)
    orders = [
        sum((-1) ** (runs - blocks) * math.comb(n - blocks, runs - blocks) * cut[blocks] for blocks in range(runs + 1))
        for runs in range(n, 0, -1)
    ]
    total = sum(orders)
    return [number / total for number in orders]


def _names(files: dict[str, list[Observation]], field: str, level: float) -> Iterator[Finding]:
    """Record files whose names hold the answers of their records more often than those of all records."""
    answers = {
        path: [one.value.words[field] for one in seen if field in one.value.words] for path, seen in files.items()
    }
    everything = Counter(words for found in answers.values() for words in found)
    total = sum(everything.values())
    told: list[tuple[str, int, int, float]] = []
    for path, found in answers.items():
        said = fold(path)
        named = {words for words in everything if _holds(said, words)}
        if named and found:
            share = sum(everything[words] for words in named) / total
            told.append((path, sum(words in named for words in found), len(found), share))
    p = _at_least([share for _, _, number, share in told for _ in range(number)], sum(hits for _, hits, _, _ in told))
    for path, hits, number, share in told:
        if p < level and hits / number >= share + EFFECT:
            message = (
                f"the file is called like the answer of {hits} of its {number} records (all files: {chance.shown(p)})"
            )
            place = Place(path, name="file")
            yield Finding(NAME, "error", "strong", message, place, 1, (place,))


def _at_least(probabilities: Sequence[float], hits: int) -> float:
    """The probability of so many hits or more; of many draws in the normal approximation."""
    if len(probabilities) <= EXACT:
        return chance.tail(chance.independent(probabilities), hits)
    mean, variance = sum(probabilities), sum(one * (1 - one) for one in probabilities)
    return 0.5 * math.erfc((hits - 0.5 - mean) / math.sqrt(2 * variance)) if variance else float(hits <= mean)


def _holds(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    return any(words[start : start + len(phrase)] == phrase for start in range(len(words) - len(phrase) + 1))
