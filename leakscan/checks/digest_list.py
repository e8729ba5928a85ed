"""Find published lists of digests of single recordings, where the audio is private.

Check sums are good practice for what is published, and a catalogue of fingerprints for what is not.  Known forms:
files of check sums by name (SHA256SUMS, `*.md5`, `*.ffp`, `*.dvc`, BagIt's `manifest-sha256.txt`: RFC 8493, section
2.1.3), lines of other texts that name an audio file beside its digest (a loader's registry, a table in Markdown),
pointers of a large-file store in place of audio, indexes of data-set loaders (`tracks.<id>.audio = [path, md5]`) and
Croissant `FileObject`s with a `sha256` or `md5`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from leakscan.config import Config
from leakscan.model import Entry, Finding, Item, Observation, Place, Private, Release, Secret, Unreadable
from leakscan.text import is_audio_name

HEAD = 1 << 16
PLACES = 100

_LIST_NAME = re.compile(
    r"(?i)(?:(?:md5|sha\d*|b2|check)-?sums?(?:\.txt)?|(?:tag)?manifest-[a-z]+\d+\.txt|.+\.(?:md5|sha1|sha224|sha256|sha512|sfv|ffp|dvc))"
)
_TEXT_NAME = re.compile(r"(?i)(?:[^.]+|.+\.(?:txt|md|markdown|rst|registry|lst))")
_LONG_DIGEST = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}|[0-9a-fA-F]{128})\b")
_DIGEST = re.compile(r"\b(?:[0-9a-fA-F]{8}|[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}|[0-9a-fA-F]{128})\b")
_WORD = re.compile(r"[^\s|:=,;`'\"*()\[\]]+")
_POINTER = b"version https://git-lfs"
_KEYS = ("sha256", "md5", "sha1", "sha512")


def check(config: Config, private: Private) -> _DigestList:
    """The check; it is silent where audio is published."""
    return _DigestList(config.audio == "private")


class _DigestList:
    def __init__(self, active: bool) -> None:
        self._active = active

    def wants(self, kind: str, name: str) -> str | None:
        """Files, and the keys that such lists stand under."""
        listing = kind == "name" and name in ("file", "$.tracks", "$.distribution")
        return "" if listing and self._active else None

    def see(self, item: Item) -> Iterator[Observation]:
        """Lists of digests, and how many there are in each."""
        if not self._active:
            return
        if item.kind == "record":
            for name, count, length in _in_record(item.body):
                yield Observation(Place(item.place.path, item.place.record, item.place.id, name), (count, length))
        elif item.kind == "file" and isinstance(item.body, Entry):
            digests = _in_file(item.body)
            if digests:
                yield Observation(Place(item.place.path, name="file"), (len(digests), len(digests[0])))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per list."""
        groups: dict[tuple[str, str | None], list[Observation]] = {}
        for observation in observations:
            groups.setdefault((observation.place.path, observation.place.name), []).append(observation)
        for seen in groups.values():
            number = sum(count for count, _ in (one.value for one in seen))
            yield Finding(
                rule="",
                level="error",
                confidence="strong",
                message=f"a list of {number} digests of files, though the audio is private",
                place=seen[0].place,
                count=len(seen),
                places=tuple(one.place for one in seen[:PLACES]),
                evidence=Secret("hex", seen[0].value[1], "digits"),
            )


def _in_file(entry: Entry) -> list[str]:
    """The digests that a file lists, if it is one of the files that do."""
    name = entry.path.rpartition("/")[2].rpartition("!")[2]
    listed = _LIST_NAME.fullmatch(name) is not None
    written = not listed and _TEXT_NAME.fullmatch(name) is not None
    if not (listed or written) and not (is_audio_name(name) and entry.size < 1024):
        return []
    try:
        with entry.open() as stream:
            head = stream.read(HEAD)
    except (Unreadable, OSError):  # the walk reports it
        return []
    text = head.decode("utf-8", "replace")
    if written:
        return [digest for line in text.splitlines() for digest in _beside_audio(line)]
    return _DIGEST.findall(text) if listed or head.startswith(_POINTER) else []


def _beside_audio(line: str) -> Iterator[str]:
    """The first digest of a line that names an audio file."""
    digest = _LONG_DIGEST.search(line)
    if digest is not None and any(is_audio_name(word) for word in _WORD.findall(line)):
        yield digest[0]


def _in_record(body: Any) -> Iterator[tuple[str, int, int]]:
    """Lists of digests in a loader's index or in a description of the data set."""
    if not isinstance(body, dict):
        return
    tracks = body.get("tracks")
    if isinstance(tracks, dict):
        found = [
            pair[1]
            for track in tracks.values()
            if isinstance(track, dict)
            for pair in track.values()
            if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str) and _DIGEST.fullmatch(pair[1])
        ]
        if found:
            yield "$.tracks", len(found), len(found[0])
    distribution = body.get("distribution")
    if isinstance(distribution, list):
        found = [
            str(file[key])
            for file in distribution
            if isinstance(file, dict) and str(file.get("@type", "")).endswith("FileObject")
            for key in _KEYS
            if key in file
        ]
        if found:
            yield "$.distribution[]", len(found), len(found[0])
