"""Find file and folder names, also in records, that tell what a recording is.

Without help: "Artist - Title", keys of public data sets, IDs of videos, tempos and keys of music.  With the evaluator's
catalogue: its titles, artists and identifiers.  With the evaluator's gold: folders that are called like an answer and
hold the items whose answer it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release, Secret, distinct, facts
from leakscan.text import fold, is_audio_name

PLACES = 100

_SHAPE = "a name of the form artist - title"
_DATA_SET = "the key of an item of a public data set"
_VIDEO = "the ID of a video"
_MUSIC = "a name that states a tempo or a key"
_CATALOGUE = "a name of the evaluator's catalogue"
_GOLD = "a folder that is called like the answer of what it holds"

_SEPARATOR = re.compile(r"\s+[-\u2013\u2014]\s+|_-_")
_ID_LIKE = re.compile(r"[A-Z]{2,5}[-_ ]?\d*")
_VIDEO_ID = re.compile(r"(?:^|[\[(])([\w-]{10}[AEIMQUYcgkosw048])(?:$|[\])])")
_TEMPO_OR_KEY = re.compile(
    r"(?<![^\W_])(?:\d{2,3}(?:\.\d+)?[ _-]?(?i:bpm)"
    r"|[A-G](?:[#b]|[ _-]?sharp|[ _-]?flat)?[ _-]?(?i:maj|min)(?i:or)?"
    r"|[a-g](?:[ _-](?:sharp|flat))?[ _-](?:major|minor))(?![^\W_])"
)
_DATA_SET_KEY = re.compile(r"\d{6}_(\d+)")
_ANY_NAME = r"\.\w{2,5}$|^\d{6}_\d"
_TELLING = (
    r"(?:\s[-\x{2013}\x{2014}]\s|_-_).*\.\w{2,5}$|(?:^|/)\d{6}_\d"
    r"|(?:^|[/!\[(])[\w-]{10}[AEIMQUYcgkosw048](?:[\])]|\.\w{2,5}$)|(?i:bpm|maj|min).*\.\w{2,5}$"
)
"""What a text with one of the shapes below contains: most names of files have none."""
_NUMBERED = re.compile(r"[A-Za-z]+[-_:/ ]([1-9]\d{5,})")  # with fewer digits, files that are merely counted match too
_CLIP_STEP = 3840  # that data set's clips start at multiples of it
_PLAIN = frozenset(
    "a audio b bass clip dry drums example excerpt full instrumental item left loop master mix mono part piano prompt"
    " question recording right sample segment session set stem stereo take test track train valid validation version"
    " vocals wet".split()
)


def check(config: Config, private: Private) -> _TellingName:
    """The check; catalogue and gold make it sharper."""
    return _TellingName(private)


class _TellingName:
    def __init__(self, private: Private) -> None:
        self._catalogue = _Catalogue(private.catalogue)
        self._gold = private.gold
        self._answers = {
            words for fields in private.gold.values() for value in fields.values() if _is_word(words := fold(value))
        }

    def wants(self, kind: str, name: str) -> str | None:
        """Names of files and folders, and texts that end like one, if they can tell something."""
        if kind == "name":
            return "" if name in ("file", "folder") else None
        return (_ANY_NAME if self._catalogue else _TELLING) if kind == "text" else None

    def see(self, item: Item) -> Iterator[Observation]:
        """Names that tell, and which items lie in folders that are called like an answer."""
        path = item.place.path
        if item.kind == "record":
            for kind, name, value in facts(item):
                if kind == "field" and isinstance(value, str) and (is_audio_name(value) or value[6:7] == "_"):
                    found = self._judge(_stem(value)) if "." in value else _DATA_SET if _is_key(value) else None
                    if found is not None:
                        place = Place(path, item.place.record, item.place.id, name)
                        yield Observation(place, (found, len(value)))
        elif path.endswith("/"):
            name = _segment(path[:-1])
            if (found := self._judge(name)) is not None:
                yield Observation(Place(path, name="folder"), (found, len(name)))
        elif item.kind == "file":
            name = _segment(path)
            if (found := self._judge(_stem(name), is_audio_name(name))) is not None:
                yield Observation(Place(path, name="file"), (found, len(name)))
            if self._answers:
                yield from self._in_folder(path)

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per file and JSON path for records, one for all files and one for all folders."""
        groups: dict[tuple[str, str | None], list[tuple[Place, str, int]]] = {}
        folders: dict[str, list[str]] = {}
        for observation in observations:
            place, value = observation.place, observation.value
            if isinstance(value, str):
                folders.setdefault(place.path, []).append(value)
            else:
                groups.setdefault((place.path if place.record else "", place.name), []).append((place, *value))
        for folder in sorted(folders):
            if self._tells(folder, folders[folder]):
                name = folder.rstrip("/").rpartition("/")[2]
                groups.setdefault(("", "folder"), []).append((Place(folder, name="folder"), _GOLD, len(name)))
        for seen in groups.values():
            places = distinct(place for place, _, _ in seen)
            commonest = Counter(message for _, message, _ in seen).most_common(1)[0][0]
            yield Finding(
                rule="",
                level="error",
                confidence="strong",
                message=commonest,
                place=places[0],
                count=len(places),
                places=places if places[0].record is None else places[:PLACES],
                evidence=Secret("name", seen[0][2]),
            )

    def _judge(self, name: str, shapes: bool = True) -> str | None:
        """What a name tells; the shapes of identifiers count for `shapes` only."""
        if shapes and _is_artist_and_title(name):
            return _SHAPE
        if shapes and _is_key(name):
            return _DATA_SET
        if shapes and (video := _VIDEO_ID.search(name)) and _is_random(video[1]):
            return _VIDEO
        if shapes and _TEMPO_OR_KEY.search(name):
            return _MUSIC
        return _CATALOGUE if self._catalogue.names(name) else None

    def _in_folder(self, path: str) -> Iterator[Observation]:
        stem = _stem(path)
        parts = path.split("/")[:-1]
        for depth, part in enumerate(parts, 1):
            if fold(part) in self._answers and stem in self._gold:
                yield Observation(Place("/".join(parts[:depth]) + "/"), stem)

    def _tells(self, folder: str, stems: Sequence[str]) -> bool:
        """Whether the answer that a folder is called like is more frequent in it than in all of the gold."""
        words = fold(folder.rstrip("/").rpartition("/")[2])

        def rate(items: Sequence[str]) -> float:
            return sum(any(fold(value) == words for value in self._gold[item].values()) for item in items) / len(items)

        return rate(stems) > rate(list(self._gold))


def _segment(path: str) -> str:
    """The last segment of a path; members of containers come after `!`."""
    return path.rpartition("/")[2].rpartition("!")[2]


def _stem(path: str) -> str:
    name = _segment(path)
    return name.rpartition(".")[0] or name


def _is_key(name: str) -> bool:
    """Whether a name is the key of a clip of a public data set."""
    key = _DATA_SET_KEY.fullmatch(name)
    return key is not None and int(key[1]) > 0 and int(key[1]) % _CLIP_STEP == 0


def _is_word(words: tuple[str, ...]) -> bool:
    return sum(map(len, words)) > 2


def _is_artist_and_title(stem: str) -> bool:
    """Whether at least two parts around a dash are names rather than numbers, IDs or words such as `take`."""
    parts = _SEPARATOR.split(stem)
    return len(parts) > 1 and sum(map(_is_name, parts)) > 1


def _is_name(part: str) -> bool:
    words = [word for word in fold(part) if not word.isdecimal()]
    if set(words) <= _PLAIN or _ID_LIKE.fullmatch(part.strip()):
        return False
    return max(map(len, words)) > 1


def _is_random(video: str) -> bool:
    """Whether eleven characters mix cases as random ones do and words do not."""
    plain = re.fullmatch(r"[A-Z]?[a-z]+(?:[_-]?[A-Z][a-z]+)*[_-]?\d*", video)
    return plain is None and video.lower() != video and video.upper() != video


class _Catalogue:
    """Titles, artists and identifiers, folded, to look names up in; of `track_1234567` also the number alone."""

    def __init__(self, catalogue: Mapping[str, Mapping[str, str]]) -> None:
        values = {value for fields in catalogue.values() for value in fields.values() if value}
        self._names = {words for value in values if _is_word(words := fold(value))}
        self._names |= {(key[1],) for value in values if (key := _NUMBERED.fullmatch(value))}
        self._longest = max(map(len, self._names), default=0)

    def __bool__(self) -> bool:
        return bool(self._names)

    def names(self, name: str) -> bool:
        """Whether the name is, or holds, one of the catalogue; one word alone has to be all of the name, or an ID."""
        if not self._names:
            return False
        words = fold(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))
        return any(
            words[first : first + length] in self._names
            and (length > 1 or length == len(words) or _is_identifier(words[first]))
            for length in range(1, min(self._longest, len(words)) + 1)
            for first in range(len(words) - length + 1)
        ) or (len(fold(name)) == 1 and fold(name) in self._names)


def _is_identifier(word: str) -> bool:
    return len(word) > 7 and any(letter.isdecimal() for letter in word)
