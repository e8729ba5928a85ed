"""What a record may hold a digest of: its audio files and texts about them, each with its digests."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from leakscan import media
from leakscan.dresses import Cut, Dressed, Form
from leakscan.model import Entry, LeakscanError, Place, Private, Release
from leakscan.recipes import TEXTS, Kind, digests_of, digests_of_file, digests_of_text
from leakscan.text import is_audio_name

_BETWEEN = (" - ", "", " ", "_", "-", ":", "|", "/", "+", ",")
"""What scripts put between two texts that are hashed together."""


class Subject(NamedTuple):
    """A value of a record, and the audio files that the record may refer to.

    `keys` are what it may be called in the evaluator's tables; `where` is what the value stands in: nothing else, a
    longer `text`, a `key` or the name of a `file`.
    """

    text: str
    place: Place
    references: tuple[str, ...]
    keys: tuple[str, ...] = ()
    where: str = ""


class Digests:
    """What is known of one file or text, to be searched at once: nearly always, nothing is found."""

    def __init__(self) -> None:
        self._known: dict[Kind, Dressed | None] = {}
        self._joined: dict[str, str] = {}

    def missing(self, kinds: Iterable[Kind]) -> Sequence[Kind]:
        """Those that were not tried yet."""
        return [kind for kind in kinds if kind not in self._known]

    def add(self, kinds: Iterable[Kind], digests: Mapping[Kind, bytes]) -> None:
        """Take in what was tried, and what of it there is."""
        self._known.update((kind, Dressed(digests[kind]) if kind in digests else None) for kind in kinds)
        self._joined.clear()

    def cut(self, kind: Kind, form: Form) -> Cut | None:
        """Which part of one digest a value is, if any."""
        dressed = self._known.get(kind)
        return dressed.cut(form) if dressed is not None else None

    def cuts(self, form: Form) -> Iterator[tuple[Kind, Cut]]:
        """All digests that a value is a part of."""
        if form.dress != "decimal":
            if form.dress not in self._joined:
                self._joined[form.dress] = " ".join(one.text(form.dress) for one in self._known.values() if one)
            if form.text not in self._joined[form.dress]:
                return
        for kind in self._known:
            if (found := self.cut(kind, form)) is not None:
                yield kind, found


class Sources:
    """The audio files of a release, the originals and the catalogue of its evaluator."""

    def __init__(self, release: Release, private: Private) -> None:
        self._release = release
        self._catalogue = private.catalogue
        self._gold = private.gold
        self._of_file: dict[Path | str, Digests] = {}
        self._of_text = functools.lru_cache(maxsize=1 << 10)(_digests_of_text)
        self._originals: dict[str, Entry] = {}
        for file in sorted(private.audio.rglob("*")) if private.audio is not None else ():
            if file.is_file() and is_audio_name(file.name):
                self._originals.setdefault(file.stem, Entry(file.name, file, file.stat().st_size))

    def digests(self, one: Subject, kinds: Sequence[Kind]) -> Iterator[tuple[Place | None, Digests]]:
        """The digests of each file or text, at least of `kinds`; the place is None for what is no file of the release.

        `kinds` are all of them about texts, or none.
        """
        if not kinds:
            return
        scopes = {kind.scope for kind in kinds}
        if not scopes.isdisjoint(TEXTS):
            for scope, text in self._texts(one):
                if scope in scopes:
                    yield None, self._of_text(scope, text)
            return
        for place, entry in self._files(one):
            digests = self._of_file.setdefault(entry.path if place else entry.file, Digests())
            if missing := digests.missing(kinds):
                digests.add(missing, _digests(entry, missing))
            yield place, digests

    def _texts(self, one: Subject) -> Iterator[tuple[str, str]]:
        names = [PurePosixPath(reference) for reference in one.references]
        for reference, path in zip(one.references, names, strict=True):
            yield from (("name", path.name), ("stem", path.stem), ("path", reference))
        ids = [one.place.id] if one.place.id is not None else []
        yield from (("id", own) for own in ids)
        keys = dict.fromkeys((*ids, *one.keys, *(path.stem for path in names)))
        for key in keys:
            gold = [value for value in self._gold.get(key, {}).values() if value]
            yield from _spelt("gold", gold)
            yield from _spelt("id+gold", (text for value in gold for text in _together(key, value)))
            row = {name.lower(): value for name, value in self._catalogue.get(key, {}).items() if value}
            for name, value in row.items():
                yield from _spelt(name if name in ("title", "artist", "isrc") else "catalogue", [value])
            if title := row.get("title"):
                yield from _spelt("id+title", _together(key, title))
                yield from _spelt("artist-title", _together(row["artist"], title) if row.get("artist") else ())

    def _files(self, one: Subject) -> Iterator[tuple[Place | None, Entry]]:
        """The audio files that a record is about, in the release and among the originals."""
        for reference in one.references:
            entry = self._release.find(one.place.path, reference)
            if entry is not None:
                yield Place(entry.path), entry
        for stem in dict.fromkeys((one.place.id, *(PurePosixPath(reference).stem for reference in one.references))):
            if stem in self._originals:
                yield None, self._originals[stem]


def _spelt(scope: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Texts of a scope, also in lower case."""
    return ((scope, spelling) for text in texts for spelling in dict.fromkeys((text, text.lower())))


def _together(first: str, second: str) -> Iterator[str]:
    """Two texts as one, in both orders."""
    for one, other in ((first, second), (second, first)):
        yield from (f"{one}{between}{other}" for between in _BETWEEN)


def _digests_of_text(scope: str, text: str) -> Digests:
    digests = Digests()
    found = {Kind(algorithm, scope): digest for algorithm, digest in digests_of_text(text).items()}
    digests.add(found, found)
    return digests


def _digests(entry: Entry, kinds: Sequence[Kind]) -> dict[Kind, bytes]:
    """The digests of a file, without those that cannot be had: the walk reports what is unreadable."""
    decoded: dict[str, list[str]] = {}
    for algorithm, scope in kinds:
        if scope.startswith("pcm:"):
            decoded.setdefault(scope, []).append(algorithm)
    found: dict[Kind, bytes] = {}
    try:
        if not all(kind.scope in decoded for kind in kinds):
            with entry.open() as stream:
                found = digests_of_file(stream, kinds)
        for scope, algorithms in decoded.items():
            with media.on_disk(entry) as path:
                samples = media.decoded(path, entry.path, scope.partition(":")[2])
                found |= {Kind(name, scope): digest for name, digest in digests_of(samples, algorithms).items()}
    except (LeakscanError, OSError):
        pass
    return found
