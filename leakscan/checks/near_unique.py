"""Find exact durations, sizes and sample counts that tell the recordings apart as a key would.

Rounded to seconds, a duration fits thousands of recordings; with three decimals, or in samples or bytes, hardly two
share one, and any copy of the recording can be looked up by it.  A column counts if nearly all recordings have a value
of their own: distinct values against the number of recordings that show them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release, Secret, facts, path_keys
from leakscan.owners import recording_of
from leakscan.text import spellings

FEWEST = 20
SHARE = 0.9
PLACES = 100

_NAME = re.compile(
    r"(?:^|_)(?:duration|length|dur|file_?size|size|(?:num_?|n_)(?:samples|frames|bytes)|samples|frames|bytes)"
    r"(?:_(?:s|ms|sec|secs|seconds|bytes|samples|frames))?$"
)


def check(config: Config, private: Private) -> _NearUnique:
    """The check; it needs nothing of the evaluator's side."""
    return _NearUnique(config)


class _NearUnique:
    def __init__(self, config: Config) -> None:
        self._config = config

    def wants(self, kind: str, name: str) -> str | None:
        """Numbers, also as text, that are called like a measure."""
        return r"\d" if kind in ("text", "number") and _measures(name) else None

    def see(self, item: Item) -> Iterator[Observation]:
        """Every number that measures a recording."""
        if item.kind != "record":
            return
        for kind, name, value in facts(item):
            if kind == "field" and _measures(name) and (number := _number(value)) is not None:
                place = Place(item.place.path, item.place.record, item.place.id, name)
                whole = Item(item.place, item.kind, item.body)  # what names the recording is not what this check wants
                yield Observation(place, (number, recording_of(whole, self._config, item.place.id)))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per file and JSON path."""
        columns: dict[tuple[str, str | None], list[Observation]] = {}
        for observation in observations:
            columns.setdefault((observation.place.path, observation.place.name), []).append(observation)
        for seen in columns.values():
            recordings = {recording: number for number, recording in (one.value for one in seen)}
            distinct = len(set(recordings.values()))
            if len(recordings) >= FEWEST and distinct >= SHARE * len(recordings):
                yield Finding(
                    rule="",
                    level="warning",
                    confidence="strong",
                    message=f"{distinct} different values for {len(recordings)} recordings: as good as a key",
                    place=seen[0].place,
                    count=len(seen),
                    places=tuple(one.place for one in seen[:PLACES]),
                    evidence=Secret("number", len(str(seen[0].value[0]))),
                )


@functools.lru_cache(maxsize=1 << 14)
def _measures(name: str) -> bool:
    """Whether a JSON path is called like a measure of the recording."""
    keys = path_keys(name)
    return bool(keys) and not name.endswith("]") and _NAME.search(spellings(keys[-1])[-1]) is not None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        parts = reversed(str(value).split(":"))  # hours, minutes and seconds
        return sum(float(part) * 60.0**place for place, part in enumerate(parts))
    except (ValueError, OverflowError):
        return None
