"""Find the own gold of records in comments of markup, which a model reads and nobody sees.

One is enough, since such a comment is no part of any question: what `gold_value` weighs by the column is not asked for.
That there are comments at all a pattern sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leakscan import comments
from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release, Secret, facts
from leakscan.owners import key_of

NEEDS_EVALUATOR = True
GOLD = "gold-value"
PLACES = 100


def check(config: Config, private: Private) -> _HiddenComment | None:
    """The check, if there is gold."""
    return _HiddenComment(private) if private.gold else None


class _HiddenComment:
    def __init__(self, private: Private) -> None:
        self._gold = private.gold

    def wants(self, kind: str, name: str) -> str | None:
        """Texts with a comment."""
        return comments.OPENING if kind == "text" else None

    def see(self, item: Item) -> Iterator[Observation]:
        """Every comment, with the key of its record."""
        if item.kind != "record":
            return
        key = key_of(Item(item.place, item.kind, item.body), self._gold)
        for kind, name, value in facts(item) if key is not None else ():
            if kind == "field" and isinstance(value, str):
                for comment in comments.within(value):
                    yield Observation(Place(item.place.path, item.place.record, item.place.id, name), (comment, key))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per file and JSON path."""
        columns: dict[tuple[str, str | None], list[Observation]] = {}
        for observation in observations:
            columns.setdefault((observation.place.path, observation.place.name), []).append(observation)
        for seen in columns.values():
            telling = comments.telling([one.value for one in seen], self._gold)
            if telling:
                places = tuple(dict.fromkeys(seen[number].place for number in sorted(telling)))
                field = telling[min(telling)]
                yield Finding(
                    rule=GOLD,
                    level="error",
                    confidence="strong",
                    message=f"a comment, which the model reads and nobody sees, holds the record's own gold ({field})",
                    place=places[0],
                    count=len(places),
                    places=places[:PLACES],
                    evidence=Secret("comment", len(seen[min(telling)].value[0])),
                )
