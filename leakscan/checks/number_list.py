"""Find long lists of numbers that stand for a recording: acoustic fingerprints and embeddings.

It serves two rules.  A raw Chromaprint fingerprint is a list of 32-bit words, a few for every second of sound.  An
embedding is a list of numbers without order whose signs or sizes vary, as long in every record; beat times rise, and
envelopes or loudness curves keep one sign and follow the length of the recording.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release, Secret, facts

FINGERPRINT, EMBEDDING = "acoustic-fingerprint", "embedding"
SHORTEST = 32
PLACES = 100

_WORDS_FROM, _WORDS_TO = 1 << 24, 1 << 32  # 255 of 256 random words lie between, none of them is signed more widely
_MESSAGES = {
    FINGERPRINT: "a list of 32-bit words: a raw acoustic fingerprint, most likely",
    EMBEDDING: "a long list of numbers of either sign, of one length in all records: an embedding, most likely",
}


def check(config: Config, private: Private) -> _NumberList:
    """The check; it needs nothing of the evaluator's side."""
    return _NumberList()


class _NumberList:
    def wants(self, kind: str, name: str) -> str | None:
        """Elements of lists."""
        return "" if kind == "number" and name.endswith("]") else None

    def see(self, item: Item) -> Iterator[Observation]:
        """Every list of numbers that is long enough, with what it looks like."""
        if item.kind != "record" or len(found := facts(item)) < SHORTEST:
            return
        lists: dict[str, list[float]] = defaultdict(list)
        for kind, name, value in found:
            if name[-1:] == "]" and kind == "field" and isinstance(value, int | float) and not isinstance(value, bool):
                lists[name].append(value)
        for name, numbers in lists.items():
            if len(numbers) >= SHORTEST and (rule := _likeness(numbers)) is not None:
                yield Observation(Place(item.place.path, item.place.record, item.place.id, name), (rule, len(numbers)))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per rule, file and JSON path."""
        columns: dict[tuple[str, str, str | None], list[Observation]] = {}
        for observation in observations:
            columns.setdefault((observation.value[0], observation.place.path, observation.place.name), []).append(
                observation
            )
        for (rule, _, _), seen in columns.items():
            lengths = {length for _, length in (one.value for one in seen)}
            if rule == EMBEDDING and len(lengths) > 1:
                continue
            yield Finding(
                rule=rule,
                level="error" if rule == FINGERPRINT else "warning",
                confidence="strong",
                message=_MESSAGES[rule],
                place=seen[0].place,
                count=len(seen),
                places=tuple(one.place for one in seen[:PLACES]),
                evidence=Secret("numbers", min(lengths), "elements"),
            )


def _likeness(numbers: Sequence[float]) -> str | None:
    """The rule that a list of numbers is a case for."""
    if all(isinstance(number, int) for number in numbers):
        wide = sum(_WORDS_FROM <= abs(number) < _WORDS_TO for number in numbers)
        return FINGERPRINT if wide >= 0.9 * len(numbers) and len(set(numbers)) > 1 else None
    rises = sum(a < b for a, b in itertools.pairwise(numbers))
    mixed = min(sum(number < 0 for number in numbers), sum(number > 0 for number in numbers))
    return EMBEDDING if mixed * 8 > len(numbers) and 1 < rises * 8 / len(numbers) < 7 else None
