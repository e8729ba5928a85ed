"""Audio files that no record refers to: left over, or forgotten in the records.

It is silent where records refer to no audio at all: then nothing tells which file belongs to which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Columns, Entry, Finding, Item, Observation, Place, Private, Release
from leakscan.text import is_audio_name

_ENDING = re.compile(r"\.\w{2,5}$", re.MULTILINE)  # of some line


def check(config: Config, private: Private) -> _Unreferenced:
    """The check; it needs nothing of the evaluator's side."""
    return _Unreferenced()


class _Unreferenced:
    def __init__(self) -> None:
        self._references: set[str] = set()

    def look(self, items: Sequence[Item], columns: Columns) -> Iterator[Observation]:
        """Every audio file, in case that no record refers to it."""
        for name, column in columns.texts.items():
            if _ENDING.search(columns.lines(name)) is not None:
                self._references.update(filter(is_audio_name, column.values))
        for item in items:
            entry, path = item.body, item.place.path
            is_own = isinstance(entry, Entry) and (entry.data is None or "!" not in path)
            if item.kind == "file" and is_own and is_audio_name(path):
                yield Observation(Place(path, name="file"), None)

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding for all that are not referred to."""
        if self._references and observations:
            names = set(map(_name, self._references))  # without folders: references start from anywhere
            places = tuple(one.place for one in observations if _name(one.place.path) not in names)
            if places:
                message = "none of the records refers to it"
                yield Finding("", "warning", "strong", message, places[0], len(places), places)


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
