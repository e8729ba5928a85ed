"""What the tags of audio files say about title, artist and licence: claims, to be held against the sound."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations

from leakscan import walk
from leakscan.discover import members
from leakscan.model import VERSION, Entry, Item, Tags, Unreadable
from leakscan.store import Store
from leakscan.text import fold

# The last part of a tag's name, whatever system it is of: ID3, Vorbis comments and APE, MP4, RIFF, AIFF.
_TITLE = ("TIT2", "title", "©nam", "INAM", "NAME")
_ARTIST = ("TPE1", "artist", "artists", "©ART", "IART", "AUTH")
_LICENCE = ("WCOP", "license")
_COPYRIGHT = ("TCOP", "copyright", "cprt", "©cpy", "ICOP", "(c)")

_RECIPE = f"claims of leakscan {VERSION}"  # another version may read what this one cannot

Folded = tuple[str, ...]
"""The words of a text, folded; () where there is none."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What one file's tags say, folded: spelling, case and accents do not matter."""

    title: Folded = ()
    artist: Folded = ()
    licence: Folded = ()
    copyright: Folded = ()

    @property
    def key(self) -> tuple[Folded, Folded] | None:
        """What title-and-artist deduplication compares; None unless both are there."""
        return (self.title, self.artist) if self.title and self.artist else None


def read(entry: Entry, memory: Store | None = None) -> Claims:
    """The claims of an audio file; none where its tags cannot be read: the sound decides whether the file is.

    What `memory` knows of its bytes is not read again.
    """
    if memory is None:
        return _read(entry)
    stored = memory.fact(entry, _RECIPE, lambda entry: json.dumps(astuple(_read(entry))))
    return Claims(*(tuple(words) for words in json.loads(stored)))


def _read(entry: Entry) -> Claims:
    try:
        with entry.open() as stream:
            head = stream.read(walk.HEAD_BYTES)
        reader = walk.choose(entry, head, members("formats"))
        if reader is None or not getattr(reader, "AUDIO", False):
            return Claims()
        tags = [tag for item in reader.read(entry) if isinstance(item, Item) and isinstance(item.body, Tags)
                for tag in item.body.tags]  # fmt: skip
    except (Unreadable, OSError):
        return Claims()
    first: dict[str, str] = {}
    for name, value in tags:
        first.setdefault(name.partition(".")[2], value)
    return Claims(*(_folded(first, names) for names in (_TITLE, _ARTIST, _LICENCE, _COPYRIGHT)))


def _folded(tags: Mapping[str, str], names: Sequence[str]) -> Folded:
    return next((words for name in names if (words := fold(tags.get(name, "")))), ())


def agree(a: Claims | None, b: Claims | None) -> bool | None:
    """Whether two files are the same by title and artist; None when that cannot be said."""
    if a is None or b is None or a.key is None or b.key is None:
        return None
    return a.key == b.key


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a title/artist key makes of the pairs of files that share a recording by sound.

    It `finds` pairs with equal keys, `misses` those with different ones, and knows nothing of those `untagged`;
    `wrongly_joins` counts pairs with equal keys that share no sound.
    """

    finds: int
    misses: int
    untagged: int
    wrongly_joins: int


def judge(claims: Mapping[str, Claims], groups: Iterable[Iterable[str]]) -> Verdict:
    """Hold the title/artist key against groups by sound; `claims` are of all files that could be compared."""
    finds = misses = untagged = 0
    numbers: dict[str, set[int]] = defaultdict(set)
    for number, group in enumerate(groups):
        names = set(group)
        for name in names:
            numbers[name].add(number)
        keys = Counter(claims[name].key for name in names if name in claims)
        tagged = sum(count for key, count in keys.items() if key is not None)
        same = sum(_pairs(count) for key, count in keys.items() if key is not None)
        finds += same
        misses += _pairs(tagged) - same
        untagged += _pairs(len(names)) - _pairs(tagged)
    alike: dict[tuple[Folded, Folded], list[str]] = defaultdict(list)
    for name, one in claims.items():
        if one.key is not None:
            alike[one.key].append(name)
    wrong = sum(
        not numbers[a] & numbers[b] for names in alike.values() for a, b in combinations(names, 2)
    )  # fmt: skip
    return Verdict(finds, misses, untagged, wrong)


def _pairs(count: int) -> int:
    return count * (count - 1) // 2
