"""Record files that no declared record set covers: a closed schema that misses its file closes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release

_PROSE = frozenset((".md", ".markdown", ".txt", ".rst", ""))  # judged by the rules, but nothing a schema describes


def check(config: Config, private: Private) -> _UndeclaredFile | None:
    """The check, if the configuration declares any records."""
    return _UndeclaredFile(config) if config.records else None


class _UndeclaredFile:
    def __init__(self, config: Config) -> None:
        self._config = config

    def see(self, item: Item) -> Iterable[Observation]:
        """The first record of every file that is neither in a record set nor named by `[files] allow`."""
        place = item.place
        if item.kind != "record" or place.record != 1:
            return ()
        if PurePosixPath(place.path.split("!")[0]).suffix.lower() in _PROSE:
            return ()
        if self._config.record_set(place.path) is not None or self._config.declares(place.path):
            return ()
        return (Observation(Place(place.path), None),)

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding for all such files."""
        if observations:
            places = tuple(observation.place for observation in observations)
            message = "records that no [records] set of leakscan.toml declares and [files] allow does not name"
            first = Place(places[0].path, name="file")
            yield Finding("", "error", "proven", message, first, len(places), places)
