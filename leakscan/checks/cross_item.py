"""Find answers that another item of the same recording gives: a description asked for here is an option there.

Benchmarks with several tasks for each recording write the tasks from one set of annotations, so that the text that one
item asks for stands in the options of the next.  It needs the evaluator's gold.  What counts is how often items name
the answers of others of their recording, against how often items of *other* recordings do: answers that all items
name, such as the instruments of a list of options, give nothing.

Fewer than `FEWEST` pairs cannot tell by their rate; a long answer (`LONG` words) found in an item of its recording and
in none of the others tells alone.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leakscan import chance
from leakscan.config import Config
from leakscan.model import Finding, Item, Malformed, Observation, Place, Private, Release, facts
from leakscan.owners import key_of, recording_of
from leakscan.text import fold

FEWEST = 10
LONG = 5
LEVEL = 1e-4
OTHERS = 20
"""How many items of other recordings each answer is looked for in."""
PAIRS = 20_000
PLACES = 100


@dataclass(frozen=True, slots=True)
class _Seen:
    """An item: its key (its place, if it has no gold), its recording and its folded text, between spaces so that words
    are found whole."""

    key: str
    recording: str
    text: str


def check(config: Config, private: Private) -> _CrossItem | None:
    """The check, if there is gold."""
    return _CrossItem(config, private) if private.gold else None


class _CrossItem:
    def __init__(self, config: Config, private: Private) -> None:
        self._config = config
        self._gold = private.gold

    def see(self, item: Item) -> Iterator[Observation]:
        """What every item says, also those without gold: they may give the answers of others."""
        if item.kind != "record" or isinstance(item.body, Malformed):
            return
        key = key_of(item, self._gold)
        recording = recording_of(item, self._config, key)
        said = [value for kind, _, value in facts(item) if kind == "field" and type(value) in (str, int, float)]
        text = " | ".join(" ".join(fold(str(value))) for value in said)
        yield Observation(item.place, _Seen(key or f"{item.place.path}:{item.place.record}", recording, f" {text} "))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per field of the gold: the items that give another's answer away."""
        items = {one.value.key: one for one in observations}
        recordings: dict[str, list[Observation]] = defaultdict(list)
        for one in items.values():
            recordings[one.value.recording].append(one)
        if len(recordings) < 2 or len(recordings) == len(items):
            return
        ordered = list(itertools.chain(*recordings.values()))
        position = {one.value.key: number for number, one in enumerate(ordered)}
        for field in sorted({field for key in items for field in self._gold.get(key, ())}):
            yield from self._judge(field, recordings, ordered, position)

    def _answer(self, seen: Observation, field: str) -> str:
        return self._gold.get(seen.value.key, {}).get(field, "")

    def _judge(
        self,
        field: str,
        recordings: dict[str, list[Observation]],
        ordered: Sequence[Observation],
        position: dict[str, int],
    ) -> Iterator[Finding]:
        telling: dict[Place, Place] = {}
        alone: dict[Place, Place] = {}
        pairs, hits, rates = 0, 0, list[float]()
        for seen in recordings.values():
            for one in seen if len(seen) > 1 else ():
                gold = self._answer(one, field)
                answer = fold(gold)
                if sum(map(len, answer)) < 2 or pairs > PAIRS:
                    continue
                needle = f" {' '.join(answer)} "
                others = _others(ordered, position[one.value.key], one.value.recording)
                rate = sum(needle in other.value.text for other in others) / len(others)
                for other in seen:
                    if other is one or self._answer(other, field) == gold:
                        continue  # an item may name its own answer: that is another rule's business
                    pairs += 1
                    rates.append(rate)
                    if needle in other.value.text:
                        hits += 1
                        telling[other.place] = one.place
                        if rate == 0 and len(answer) >= LONG:
                            alone[other.place] = one.place
        p = _at_least(rates, hits)
        beyond_chance = pairs >= FEWEST and p < LEVEL
        found = telling if beyond_chance else alone
        if found:
            how = f"{hits} of {pairs} pairs of items do, expected {sum(rates):.1f} from items of other recordings"
            if not beyond_chance:
                how = "it is a long one, and no item of another recording that was looked at says it"
            places = sorted(found, key=lambda place: (place.path, place.record or 0))
            yield Finding(
                rule="",
                level="error",
                confidence="strong",
                message=f"gives the answer of another item of its recording: {how}",
                place=places[0],
                count=len(places),
                places=tuple(places[:PLACES]),
                related=tuple(dict.fromkeys(found[place] for place in places[:PLACES])),
            )


def _others(ordered: Sequence[Observation], start: int, recording: str) -> list[Observation]:
    """Items of other recordings, spread over all of them in a fixed way."""
    step = max(1, len(ordered) // OTHERS)
    spread = (ordered[(start + number * step + 1) % len(ordered)] for number in range(OTHERS))
    found = [one for one in spread if one.value.recording != recording]
    return found or [one for one in ordered if one.value.recording != recording]


def _at_least(rates: Sequence[float], hits: int) -> float:
    """The probability of so many hits when items name the answers of their own recording as often as of any other.

    A rate of zero in the few that were looked at is not zero: it counts as half a hit among them.
    """
    rates = [max(rate, 0.5 / OTHERS) for rate in rates]
    if len(rates) <= 300:
        return chance.tail(chance.independent(rates), hits)
    mean, variance = sum(rates), sum(rate * (1 - rate) for rate in rates)
    return 0.5 * math.erfc((hits - 0.5 - mean) / math.sqrt(2 * variance)) if variance else 1.0
