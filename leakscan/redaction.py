"""Names that give something away are replaced everywhere: `<name 17, 24 characters>.mp3`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from leakscan.model import Place, child_name, path_keys

# What stands after the last dot is shown only when it is surely a type: `Ferries.blues` says something.
_SUFFIXES = frozenset(
    "aac aif aiff ape bwf csv flac gz jpg json jsonl lab m4a md mid mp3 mp4 npy oga ogg opus parquet pdf png py tar tsv"
    " toml txt wav wave wma wv xml yaml yml zip".split()
)

_QUOTED_KEY = re.compile(r"\['(?:[^'\\]|\\.)*'\]", re.DOTALL)  # how `child_name` writes all others


class Redactor:
    """Replaces telling path segments, IDs and keys in what reports show.

    `paths` are all paths that were seen (a segment is named by its position in its sorted folder); `telling_paths` the
    files and folders, `telling_ids` the (file, ID) pairs and `telling_keys` the JSON paths whose last segment an
    identity or gold rule fired on.  An ID that tells something in one file does so in all of them; an ID of None stands
    for all IDs of its file.  A key that is not shaped like a name, such as `Crooked Teaspoons`, is data that became a
    key and always replaced, whatever fired.
    """

    def __init__(
        self,
        paths: Iterable[str],
        telling_paths: Iterable[str],
        telling_ids: Iterable[tuple[str, str | None]],
        telling_keys: Iterable[str],
    ) -> None:
        self._telling = {path.rstrip("/") for path in telling_paths}
        pairs = set(telling_ids)
        self._ids = {record_id for _, record_id in pairs}
        self._ids |= {_split(path.rpartition("/")[2])[0] for path in self._telling}  # files are often called by ID
        self._files = {path for path, record_id in pairs if record_id is None}
        self._keys = sorted(telling_keys, key=len, reverse=True)  # the deepest first: a parent's text is part of it
        self._positions: dict[str, int] = {}
        if self._telling:
            self._positions = _positions(paths)

    def path(self, path: str) -> str:
        """`path` with its telling segments replaced."""
        if not self._telling:
            return path
        shown: list[str] = []
        parts = path.rstrip("/").split("/")
        for depth, part in enumerate(parts, 1):
            whole = "/".join(parts[:depth])
            shown.append(self._segment(whole, part) if whole in self._telling else part)
        return "/".join(shown) + ("/" if path.endswith("/") else "")

    def place(self, place: Place) -> Place:
        """`place` with its telling path segments, ID and keys replaced."""
        shown_id = place.id
        if shown_id is not None and (shown_id in self._ids or place.path in self._files):
            shown_id = f"<id, {len(shown_id)} characters>"
        return place._replace(path=self.path(place.path), id=shown_id, name=self._name(place.name))

    def _segment(self, whole: str, part: str) -> str:
        stem, suffix = _split(part)
        return f"<name {self._positions.get(whole, 0)}, {len(stem)} characters>{suffix}"

    def _name(self, name: str | None) -> str | None:
        if name is None:
            return None
        for key in self._keys:
            if name.startswith(key) and name[len(key) :][:1] in ("", ".", "["):
                last = path_keys(key)[-1]
                name = f"{key.removesuffix(child_name('', last))}.<key, {len(last)} characters>{name[len(key) :]}"
        return _QUOTED_KEY.sub(lambda key: f".<key, {len(path_keys(key[0])[0])} characters>", name)


def _split(name: str) -> tuple[str, str]:
    """A name and its suffix with the dot, if it has one."""
    stem, _, suffix = name.rpartition(".")
    return (stem, f".{suffix}") if stem and suffix.lower() in _SUFFIXES else (name, "")


def _positions(paths: Iterable[str]) -> dict[str, int]:
    """The 1-based position of every file and folder among its sorted siblings."""
    folders: dict[str, set[str]] = {}
    for path in paths:
        parts = path.rstrip("/").split("/")
        for depth in range(1, len(parts) + 1):
            folders.setdefault("/".join(parts[: depth - 1]), set()).add("/".join(parts[:depth]))
    return {whole: place for children in folders.values() for place, whole in enumerate(sorted(children), 1)}
