"""Extended attributes of files: where a browser had them from, what a file manager remembers of them.

Copying, archiving with tar and moving keep them; git and zip do not, so they are notes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Entry, Finding, Item, Observation, Place, Private, Release

_KNOWN = frozenset(
    "user.xdg.origin.url user.xdg.referrer.url user.xdg.tags user.xdg.comment user.xdg.creator user.mime_type"
    " user.baloo.rating user.dublincore.title user.dublincore.creator user.dublincore.source".split()
)
"""What may be printed; other attributes are called what somebody chose."""


def check(config: Config, private: Private) -> _FileAttributes:
    """The check; it needs nothing of the evaluator's side."""
    return _FileAttributes()


class _FileAttributes:
    def wants(self, kind: str, name: str) -> str | None:
        """Files, by their names."""
        return "" if kind == "name" and name == "file" else None

    def see(self, item: Item) -> Iterator[Observation]:
        """The attributes that users and their programs set; those of the system say nothing about a recording."""
        if item.kind == "file" and isinstance(item.body, Entry) and item.body.data is None and hasattr(os, "listxattr"):
            try:
                found = os.listxattr(item.body.file)
            except OSError:  # the file system has none
                return
            names = {name if name in _KNOWN else "user.other" for name in found if name.startswith("user.")}
            yield from (Observation(Place(item.place.path, name=f"attribute {name}"), None) for name in sorted(names))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding for all files with an attribute of that name."""
        found: dict[str | None, list[Place]] = {}
        for observation in observations:
            found.setdefault(observation.place.name, []).append(observation.place)
        for places in found.values():
            message = "an extended attribute, which copies and archives keep"
            yield Finding("", "note", "proven", message, places[0], len(places), tuple(places))
