"""Bytes of audio files that no decoder needs, by what they are: the extras of the byte ledgers.

What a reader of tags makes of them is judged by the rules about tags; here counts that they are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from leakscan.config import Config
from leakscan.model import EXTRAS, Finding, Item, Level, Observation, Place, Private, Release, Secret, facts


class _Kind(NamedTuple):
    """What extras of one kind are reported as."""

    rule: str
    level: Level
    message: str


_KINDS = {
    "unknown": _Kind("hidden-bytes", "error", "data that no decoder needs and no reader of tags shows"),
    "stale": _Kind("stale-padding", "error", "padding that is not empty"),
    "digest": _Kind("embedded-digest", "warning", "a digest or an envelope of the sound"),
    "date": _Kind("embedded-date", "warning", "a date or time"),
    "serial": _Kind("stream-id", "warning", "a number or text that tells this stream from others"),
    "encoder": _Kind("encoder-trace", "note", "a trace of the encoder"),
    "tag": _Kind("tag-block", "note", "a block of tags"),
}
assert set(_KINDS) == set(EXTRAS)


def check(config: Config, private: Private) -> _ExtraBytes:
    """The check; it needs nothing of the evaluator's side."""
    return _ExtraBytes()


class _ExtraBytes:
    def wants(self, kind: str, name: str) -> str | None:
        """The extras of audio files."""
        return "" if kind == "block" and name.partition(".")[0] in _KINDS else None

    def see(self, item: Item) -> Iterator[Observation]:
        """How many bytes each extra of an audio file has; a bit has none."""
        if item.kind == "audio":
            names = {name: 0 for kind, name, _ in facts(item) if kind == "block"}
            sizes = Counter[str](names)
            for part in item.body.ledger.extras if item.body.ledger is not None else ():
                sizes[f"{part.kind}.{part.name}"] += part.end - part.start
            yield from (Observation(Place(item.place.path, name=name), sizes[name]) for name in names)

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding for all files with an extra of that name."""
        found: dict[str, list[Observation]] = {}
        for observation in observations:
            found.setdefault(observation.place.name or "", []).append(observation)
        for name, seen in found.items():
            kind = _KINDS[name.partition(".")[0]]
            places = tuple(one.place for one in seen)
            evidence = Secret("data", seen[0].value, "bytes") if seen[0].value else None
            yield Finding(
                kind.rule, kind.level, "proven", kind.message, places[0], len(places), places, evidence=evidence
            )
