"""Find columns of web addresses that differ from record to record: the pages the recordings came from.

One address in all records is that of a licence, a data set or a commit, and leads to no recording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release, Secret, distinct, facts
from leakscan.text import is_audio_name, plain

FEWEST, SHARE = 3, 0.5
"""How many addresses a column must hold, and which share of its values must be one of its own."""
PLACES = 100

_ADDRESS = r"(?i)^\s*https?://[^/\s]+/\S+\s*$"
_MATCH = re.compile(_ADDRESS)
_ELSEWHERE = re.compile(r"//(?:www\.)?(?:creativecommons|opensource|gnu|spdx)\.org/", re.IGNORECASE)
"""Licences: their addresses differ, too."""
_REFERENCE = re.compile(r"audio|clip|file|path|download", re.IGNORECASE)
"""Names of columns that say where to fetch the audio of the benchmark itself: its names are another rule's business."""


def check(config: Config, private: Private) -> _RecordingUrl:
    """The check; it needs nothing of the evaluator's side."""
    return _RecordingUrl()


class _RecordingUrl:
    def wants(self, kind: str, name: str) -> str | None:
        """Texts that are a web address."""
        return _ADDRESS if kind == "text" and not _REFERENCE.search(name) else None

    def see(self, item: Item) -> Iterator[Observation]:
        """Every address of a record; what it is asked for is no more than whether it differs."""
        if item.kind != "record":
            return
        for kind, name, value in facts(item):
            if kind != "field" or not isinstance(value, str) or _REFERENCE.search(name):
                continue
            text = plain(value)
            if _MATCH.match(text) and not (_ELSEWHERE.search(text) or is_audio_name(text)):
                yield Observation(Place(item.place.path, item.place.record, item.place.id, name), value.strip())

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per file and JSON path."""
        columns: dict[tuple[str, str | None], list[Observation]] = {}
        for observation in observations:
            columns.setdefault((observation.place.path, observation.place.name), []).append(observation)
        for seen in columns.values():
            addresses = {one.value for one in seen}
            if len(addresses) >= max(FEWEST, SHARE * len(seen)):
                places = distinct(one.place for one in seen)
                yield Finding(
                    rule="",
                    level="error",
                    confidence="strong",
                    message=f"web addresses, {len(addresses)} different ones: they lead to the recordings",
                    place=places[0],
                    count=len(places),
                    places=places[:PLACES],
                    evidence=Secret("web address", len(seen[0].value)),
                )
