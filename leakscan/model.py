"""The nouns: plain frozen data that every part hands to the next, and the errors.

Everything a release says about a recording is a `Fact(kind, name, value)`: a JSON field, a CSV cell, a tag, a file
name.  Formats turn bytes into items and `facts` turns items into facts; rules and checks turn facts into findings;
reports print them.

Errors::

    LeakscanError            a message for the user: one line, path first, what is wrong and what to do
      UsageError             a wrong call or configuration (exit status 2)
      Unreadable             bytes that could not be read in full (exit status 3)
"""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import operator
import os
import re
import stat
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, NamedTuple

from leakscan.literals import OPENERS, opened
from leakscan.text import as_text

VERSION = "0.1.0"

Level = Literal["error", "warning", "note"]
Confidence = Literal["proven", "strong", "weak"]
FailOn = Literal["error", "warning", "note", "never"]
Kind = Literal["record", "audio", "file", "reference", "request", "template"]
FactKind = Literal["field", "tag", "block", "name"]

LEVELS: tuple[Level, ...] = ("error", "warning", "note")  # gravest first
CONFIDENCES: tuple[Confidence, ...] = ("proven", "strong", "weak")  # strongest first


class LeakscanError(Exception):
    """A message for the user: one line, path first, what is wrong and what to do."""


class UsageError(LeakscanError):
    """The call or a configuration file is wrong; the exit status is 2."""


class Unreadable(LeakscanError):
    """Bytes that could not be read in full; the file ends up under `unexamined`, never as clean."""


class Interrupted(Unreadable):
    """Reading was ended from outside, by a signal or for its time; another try may succeed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Bytes to judge: a file, or a member of a container whose bytes are held in `data`.  Picklable.

    `path` is what reports show: relative to the release root, with `/`, members after `!`.
    `file` is where the bytes (or the container that holds them) lie on disk.
    """

    path: str
    file: Path
    size: int
    data: bytes | None = None
    depth: int = 0

    def open(self) -> BinaryIO:
        """A binary stream over the bytes.

        Only regular files are opened and links are not followed, so that a FIFO, a device or a link that was put in
        place after the folder was listed cannot hang the scan or lead it out of the release.

        Raises `Unreadable`.
        """
        if self.data is not None:
            return io.BytesIO(self.data)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            handle = os.open(self.file, flags)
        except OSError as error:
            raise Unreadable(f"{self.path}: cannot be opened ({error.strerror}); check its permissions") from error
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise Unreadable(f"{self.path}: not a regular file; remove it from the release")
        return os.fdopen(handle, "rb")


class Place(NamedTuple):
    """Where something stands: `prompts.jsonl:12 (MUB-00012) $.meta.audio_hash`.  `record` counts from 1."""

    path: str
    record: int | None = None
    id: str | None = None
    name: str | None = None


def distinct(places: Iterable[Place]) -> tuple[Place, ...]:
    """The first place in each record or file: findings count these, whatever one holds several times."""
    found: dict[tuple[str, int | None], Place] = {}
    for place in places:
        found.setdefault((place.path, place.record), place)
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Malformed:
    """The body of a record that could not be parsed: why, and at which byte of its file it starts if that is known."""

    reason: str
    offset: int | None = None


class Beside(dict[str, Any]):
    """The body of a record that is what stands in a document beside its lists of records."""


@dataclass(frozen=True, slots=True)
class Tags:
    """The body of an audio item: its container and the tags its reader names, as (name, value)."""

    container: str
    tags: tuple[tuple[str, str], ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()
    """Bytes that no decoder needs: `kind.name` of their part of the ledger, and the text in them."""
    ledger: Ledger | None = None


class Part(NamedTuple):
    """Bytes `start` to `end` (not included) of an audio file, and what they are.

    `kind` is `payload` (coded sound), `structure` (what a decoder needs), `padding` (zeros), or else one of EXTRAS,
    which a clean file does not have.  `name` is one of a closed list of its format (`riff.LIST`, `flac.md5`), never
    text of the file.  `clean` is what the clean file has in their place: the same bytes where it is None.
    `reader` is how values are read out of them: a reader of `tags.read_tags`, or "" for the text in them.
    `inlaid` is where structure lies in a payload of many pieces: where stretches of it start and end, in turn, as
    native 64-bit integers; the clean file has both as they are, or in place of the structure, end to end, `clean`,
    which is as long.
    """

    kind: str
    name: str
    start: int
    end: int
    clean: bytes | None = None
    reader: str = ""
    inlaid: bytes = b""

    def counts(self) -> tuple[tuple[str, int], ...]:
        """The kinds of its bytes, and how many are of each."""
        if not self.inlaid:
            return ((self.kind, self.end - self.start),)
        import numpy as np

        starts, ends = np.frombuffer(self.inlaid, np.int64).reshape(-1, 2).T
        inlaid = int((ends - starts).sum())
        return (self.kind, self.end - self.start - inlaid), ("structure", inlaid)


EXTRAS = ("tag", "date", "digest", "encoder", "serial", "stale", "unknown")
"""Kinds of parts that a clean file does not have: a tag that readers know, a date, a digest of the sound, traces of the
encoder, a number that tells streams apart, padding that is not zero, and everything else."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every byte of an audio file accounted for: `parts` lie end to end from 0 to its size.

    `parameters` is what a decoder needs beside the payload (`delay`, `padding`, `pre-skip`, `gain`, `edit`, ...): equal
    before and after cleaning.  `bits` are bits inside the payload that no decoder needs and that differ within the
    file, or are unusual: `kind.name`, with a kind of EXTRAS; the clean payload has them cleared.
    """

    container: str
    parts: tuple[Part, ...]
    parameters: tuple[tuple[str, str], ...] = ()
    bits: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self.parts[-1].end if self.parts else 0

    @property
    def extras(self) -> tuple[Part, ...]:
        """The parts that a clean file does not have."""
        return tuple(part for part in self.parts if part.kind in EXTRAS)

    def total(self, *kinds: str) -> int:
        """How many bytes are of these kinds."""
        return sum(count for part in self.parts for kind, count in part.counts() if kind in kinds)


@dataclass(frozen=True, init=False)
class Item:
    """One thing to judge.

    The body of a `record` is its parsed value (or `Malformed`), that of an `audio` item its `Tags`; a `file` item
    stands for a file or folder as such, judged by its name, and holds the `Entry` of a file, None for a folder.
    A `request` is what was sent to a model, a `template` what requests are made from, a `reference` a record that
    others are held against: they have no facts, so only the checks that know them judge them.
    """

    place: Place
    kind: Kind
    body: Any = None

    def __init__(self, place: Place, kind: Kind, body: Any = None) -> None:
        vars(self).update(place=place, kind=kind, body=body)  # half of the time that the usual one of frozen ones takes

    @functools.cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What the item says, worked out once for all checks."""
        return tuple(_facts(self))

    def narrowed(self, facts: Iterable[Fact]) -> Item:
        """The same item, of which a reader of `facts` sees these only."""
        item = object.__new__(Item)
        vars(item).update(vars(self), facts=tuple(facts))  # where a cached property keeps its value
        return item


class Fact(NamedTuple):
    """One thing an item says.

    `name` is a JSON path with `[]` for every index (and `{}` where a text spells out what follows), the name of a tag,
    `kind.name` of a part of an audio file's ledger, `file` or `folder`.
    """

    kind: FactKind
    name: str
    value: Any


_PLAIN_KEY = re.compile(r"[^\W\d][\w-]*\Z")
_STEP = re.compile(r"\.([^.\[{]+)|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)


def child_name(parent: str, key: str) -> str:
    """The JSON path of member `key` below `parent`."""
    if _PLAIN_KEY.match(key):
        return f"{parent}.{key}"
    quoted = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"{parent}['{quoted}']"


@functools.lru_cache(maxsize=1 << 10)
def path_keys(name: str) -> tuple[str, ...]:
    """The keys of a JSON path, outermost first, as `child_name` joined them; indexes are left out."""
    return tuple(plain or re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) for plain, quoted in _STEP.findall(name))


def value_at(body: Any, name: str) -> Any:
    """The leaf at a JSON path without indexes, such as `$.meta.id`; None where there is none."""
    for key in path_keys(name):
        if not isinstance(body, Mapping) or key not in body:
            return None
        body = body[key]
    return None if isinstance(body, Mapping | list) else body


def facts(item: Item) -> tuple[Fact, ...]:
    """Flatten an item into facts.

    A record yields a `name` fact for every key and then a `field` fact for every leaf; a list or an object that a text
    spells out (JSON, or what Python prints) is opened, below the text's own path and `{}`.  An audio file yields a
    `tag` fact for every tag and a `block` fact for other bytes that no decoder needs, a file or folder one `name` fact.
    """
    return item.facts


def _facts(item: Item) -> Iterable[Fact]:
    if item.kind == "record":
        malformed = isinstance(item.body, Malformed)
        return [Fact("block", "malformed", item.body.reason)] if malformed else _record_facts(item.body)
    if item.kind == "audio":
        tags = [Fact("tag", name, value) for name, value in item.body.tags]
        return tags + [Fact("block", name, value) for name, value in item.body.blocks]
    if item.kind != "file":
        return ()
    path = item.place.path
    own = path.rstrip("/").rpartition("/")[2]
    if isinstance(item.body, Entry) and item.body.data is not None:
        own = own.rpartition("!")[2]  # of a member; elsewhere `!` is a character like any other
    return [Fact("name", "folder" if path.endswith("/") else "file", own)]


def _record_facts(body: Any) -> list[Fact]:
    names: list[Fact] = []
    fields: list[Fact] = []
    level: list[Iterable[tuple[str, Any]]] = [[("$", body)]]
    while level:  # level by level: nesting deep enough to exhaust Python's stack must not end the scan
        deeper: list[Iterable[tuple[str, Any]]] = []
        for children in level:
            for name, value in children:
                if type(value) is str:
                    fields.append(Fact("field", name, value))
                    if value[:1] in OPENERS and (inside := opened(value)) is not None:
                        deeper.append([(f"{name}{{}}", inside)])
                elif isinstance(value, dict):
                    members = _members(name, tuple(value))
                    names += members.facts
                    deeper.append(zip(members.names, value.values(), strict=True))
                elif isinstance(value, (list, tuple)):
                    deeper.append(zip(itertools.repeat(f"{name}[]"), value))
                else:
                    fields.append(Fact("field", name, value))
        level = deeper
    return names + fields


class Members(NamedTuple):
    """The keys of an object as facts, and the JSON paths below them."""

    facts: tuple[Fact, ...]
    names: tuple[str, ...]


@functools.lru_cache(maxsize=1 << 12)  # records repeat their keys; a tree full of others must not fill the memory
def _members(parent: str, keys: tuple[str, ...]) -> Members:
    names = tuple(child_name(parent, key) for key in keys)
    return Members(tuple(Fact("name", name, key) for name, key in zip(names, keys, strict=True)), names)


class Column(NamedTuple):
    """The values under one JSON path, each with the position of its record."""

    owners: Sequence[int]
    values: Sequence[Any]

    def chosen(self, indexes: Sequence[int]) -> Column:
        """The column of some of the values only."""
        return Column([self.owners[index] for index in indexes], [self.values[index] for index in indexes])


def _joined(columns: Sequence[Column]) -> Column:
    """The columns of one name as one: objects with other keys come apart."""
    if len(columns) == 1:
        return columns[0]
    owners = itertools.chain.from_iterable(column.owners for column in columns)
    return Column([*owners], [*itertools.chain.from_iterable(column.values for column in columns)])


_first = operator.itemgetter(slice(1))


def _spelt_out(name: str, column: Column) -> Iterator[tuple[str, Column]]:
    """The lists and objects that texts of a column spell out."""
    if OPENERS.isdisjoint(map(_first, column.values)):
        return
    indexes = [index for index, text in enumerate(column.values) if text[:1] in OPENERS]
    inside = [(column.owners[index], opened(column.values[index])) for index in indexes]
    found = [(owner, body) for owner, body in inside if body is not None]
    if found:
        owners, bodies = zip(*found, strict=True)
        yield f"{name}{{}}", Column(owners, bodies)


def _alike(column: Column) -> Iterator[tuple[tuple[str, ...], Column]]:
    """Objects by their keys, in the order of these."""
    keys = [*map(tuple, column.values)]
    if keys.count(keys[0]) == len(keys):
        yield keys[0], column
        return
    alike: dict[tuple[str, ...], list[int]] = {}
    for index, own in enumerate(keys):
        alike.setdefault(own, []).append(index)
    for own, indexes in alike.items():
        yield own, column.chosen(indexes)


_SORTS = (str, dict, list, object)


def _sort(kind: type) -> type:
    """What values of a type are to a record: text, an object, a list or any other leaf."""
    if kind is str:
        return str
    return dict if issubclass(kind, dict) else list if issubclass(kind, (list, tuple)) else object


class Columns:
    """Many records at once, their leaves by JSON path: records are alike, so this takes a fraction of their facts.

    `keys` are the facts about the keys of objects, with the records that have them; `texts` and `others` (numbers,
    booleans, null) the leaves.
    """

    def __init__(self, bodies: Sequence[Any]) -> None:
        self.keys: list[tuple[tuple[Fact, ...], Sequence[int]]] = []
        texts: defaultdict[str, list[Column]] = defaultdict(list)
        others: defaultdict[str, list[Column]] = defaultdict(list)
        waiting = deque([("$", Column(range(len(bodies)), bodies))])
        while waiting:  # a queue: nesting deep enough to exhaust Python's stack must not end the scan
            name, column = waiting.popleft()
            sorts = {kind: _sort(kind) for kind in set(map(type, column.values))}
            found = set(sorts.values())
            if len(found) > 1:
                for sort in filter(found.__contains__, _SORTS):
                    indexes = [index for index, value in enumerate(column.values) if sorts[type(value)] is sort]
                    waiting.append((name, column.chosen(indexes)))
            elif dict in found:
                waiting.extend(self._members(name, column))
            elif list in found:
                owners = [owner for owner, value in zip(*column, strict=True) for _ in value]
                waiting.append((f"{name}[]", Column(owners, [*itertools.chain.from_iterable(column.values)])))
            elif str in found:
                texts[name].append(column)
                waiting.extend(_spelt_out(name, column))
            elif found:
                others[name].append(column)
        self.texts = {name: _joined(columns) for name, columns in texts.items()}
        self.others = {name: _joined(columns) for name, columns in others.items()}
        self._lines: dict[str, str] = {}
        self._spelt: dict[str, list[str]] = {}

    def lines(self, name: str) -> str:
        """The texts under a JSON path as the lines of one: what none of them holds is seen at once."""
        if name not in self._lines:
            self._lines[name] = "\n".join(self.texts[name].values)
        return self._lines[name]

    def spelt(self, name: str) -> list[str]:
        """The numbers, booleans and nulls under a JSON path as texts."""
        if name not in self._spelt:
            values = self.others[name].values
            self._spelt[name] = [*map(as_text if set(map(type, values)) - {int, float} else str, values)]
        return self._spelt[name]

    def spelt_lines(self, name: str) -> str:
        """These as the lines of one text."""
        return "\n".join(self.spelt(name))

    @property
    def characters(self) -> int:
        """How much text there is."""
        return sum(sum(map(len, column.values)) for column in self.texts.values())

    def _members(self, name: str, column: Column) -> Iterator[tuple[str, Column]]:
        """The members of objects, those with the same keys together."""
        for keys, objects in _alike(column):
            members = _members(name, keys)
            self.keys.append((members.facts, objects.owners))
            rows = [value.values() for value in objects.values]
            for child, values in zip(members.names, zip(*rows, strict=True), strict=True):
                yield child, Column(objects.owners, values)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a check keeps of an item until the whole release has been seen; `value` is the check's own, picklable."""

    place: Place
    value: Any


@dataclass(frozen=True)
class Release:
    """What checks may ask at the end.  `members` holds entries that are not files of their own below `root`."""

    root: Path
    members: Mapping[str, Entry] = field(default_factory=dict)

    def find(self, base: str, reference: str) -> Entry | None:
        """The file that a record in file `base` means by `reference`: looked up from the root, then beside the record,
        then from every other folder, as those who publish bare names expect their code to add the folder.

        None when there is no such regular file below the root, or several where only other folders have it; links and
        `../` never lead out of it.  The path of the file found is the one asked for, without `.` and `..`.
        """
        for folder in dict.fromkeys(("", base.rpartition("/")[0])):
            parts: list[str] = []
            for part in f"{folder}/{reference}".split("/"):
                if part == "..":
                    if not parts:
                        break
                    parts.pop()
                elif part not in ("", "."):
                    parts.append(part)
            else:
                path = "/".join(parts)
                if path in self.members:
                    return self.members[path]
                entry = self._on_disk(path)
                if entry is not None:
                    return entry
        elsewhere = self._by_end.get(os.path.normpath(reference).replace(os.sep, "/"))
        return self._on_disk(elsewhere) if elsewhere is not None else None

    @functools.cached_property
    def _by_end(self) -> Mapping[str, str | None]:
        """The paths of all files in folders below the root, by how they end: None where several do so.

        Hidden folders are none of them.
        """
        found: dict[str, str | None] = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            parts = [part for part in os.path.relpath(folder, self.root).split(os.sep) if part != "."]
            for name in names:
                for first in range(1, len(parts) + 1):
                    end = "/".join((*parts[first:], name))
                    found[end] = None if end in found else "/".join((*parts, name))
        return found

    def _on_disk(self, path: str) -> Entry | None:
        try:
            file = Path(os.path.realpath(self.root / path))
            if os.path.isfile(file) and file.is_relative_to(os.path.realpath(self.root)):
                return Entry(path, file, file.stat().st_size)
        except (OSError, ValueError):  # ValueError: a NUL byte or a lone surrogate in the name
            pass
        return None


@dataclass(frozen=True, slots=True)
class Secret:
    """What evidence may hold of a value: its class and length (and, when proven, the recipe), never its characters.

    `revealed` is filled by scanning only when the user asked for it with `--reveal`.
    """

    kind: str
    length: int
    unit: str = "characters"
    recipe: str | None = None
    revealed: str | None = None

    def __str__(self) -> str:
        text = f"{self.kind}, {self.length} {self.unit}"
        return f"{text}: {self.revealed}" if self.revealed is not None else text


@dataclass(frozen=True, slots=True)
class Example:
    """A little release that a rule must fire on (`bad`) or stay silent about (`good`).

    `fields` is one record, `tags` one audio file, `name` one file name (a folder's ends in `/`); `records` are the
    lines of `prompts.jsonl`; `files` maps paths to contents; `config` is the text of a leakscan.toml.
    """

    records: tuple[Mapping[str, Any], ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    gold: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    catalogue: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    config: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One TOML file under rules/: when `match` holds for a fact, or a check of `checks` says so, there is a finding.

    `about` says what leaks: identity, gold, digest or hygiene.  Where an identity or gold rule fires on a path
    segment, an ID or a key, that text is replaced in every report.
    """

    id: str
    title: str
    why: str
    fix: str
    level: Level
    about: Literal["identity", "gold", "digest", "hygiene"]
    match: Mapping[str, str]
    checks: tuple[str, ...]
    bad: tuple[Example, ...]
    good: tuple[Example, ...]


@dataclass(frozen=True)
class Private:
    """The evaluator's side, handed to checks and printed nowhere.

    `gold` and `catalogue` map a key to that item's fields; `audio` is the folder of the originals; `secret` is the
    key of the HMACs; `files` are the files that all this was read from.
    """

    gold: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    catalogue: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    audio: Path | None = None
    secret: bytes | None = None
    files: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return f"Private({len(self.gold)} gold, {len(self.catalogue)} catalogue)"


@dataclass(frozen=True, slots=True)
class Finding:
    """One leak: for records per rule, level, file and JSON path; for audio and files per rule, level and name.

    `count` is exact; `places` holds the first few, each with its path; a check may leave `rule` empty, scanning then
    fills in the rule that names the check.
    """

    rule: str
    level: Level
    confidence: Confidence
    message: str
    place: Place
    count: int = 1
    places: tuple[Place, ...] = ()
    related: tuple[Place, ...] = ()
    evidence: Secret | None = None

    @property
    def fingerprint(self) -> str:
        """A stable ID of rule and location, independent of record numbers and values (16 hex digits)."""
        text = "\0".join((self.rule, self.place.path, self.place.name or ""))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Unexamined:
    """Something that could not be read in full, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unfinished(Unexamined):
    """Something whose reading was interrupted."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What was read: a report about nothing is not a pass."""

    files: int = 0
    records: int = 0
    audio: int = 0
    fields: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Match:
    """A row of `match`: one user file against one reference.  Times in seconds."""

    file: str
    id: str
    state: Literal["matched", "ambiguous", "conflict", "absent", "too-short", "unreadable", "not-found"]
    same_timeline: bool | None = None
    score: float | None = None
    offset_s: float | None = None
    overlap_s: float | None = None
    speed: float | None = None
    coverage_file: float | None = None
    coverage_reference: float | None = None


Relation = Literal[
    "identical-bytes", "identical-audio", "same-recording", "excerpt", "partial", "speed-changed", "related"
]


_BESIDE_THE_TABLE = {"column": False}


@dataclass(frozen=True, slots=True)
class Edge:
    """A row of `duplicates` and `overlap`: two files that share audio.  `group` counts from 1.

    The last three are for JSON and pages, not for tables: what reviewed pairs know the two by, and why `keep` is best.
    """

    group: int
    set_a: str
    a: str
    set_b: str
    b: str
    relation: Relation
    score: float
    offset_s: float
    overlap_s: float
    speed: float
    coverage_a: float
    coverage_b: float
    title_artist_agree: bool | None = None
    keep: str = ""
    key_a: str = field(default="", metadata=_BESIDE_THE_TABLE)
    key_b: str = field(default="", metadata=_BESIDE_THE_TABLE)
    reason: str = field(default="", metadata=_BESIDE_THE_TABLE)


def columns(row: type[Match] | type[Edge]) -> tuple[str, ...]:
    """The columns of a table of rows."""
    return tuple(one.name for one in fields(row) if one.metadata.get("column", True))


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two recordings of an exhibit.  Times are seconds on its own time line; `duration` 0: not known.

    `link` is a relative URL of its audio, `clip` an MP3 of it that begins at `clip_start`; both may be empty.
    `outline` is its loudness from start to end, `wave` that over the exhibit's window, a byte a column; `spectrum`
    holds the levels of that window, 0 to 15, column by column, low frequencies first.  Empty: not asked for, or no
    audio at hand.
    """

    duration: float = 0.0
    span: tuple[float, float] = (0.0, 0.0)
    link: str = ""
    outline: bytes = b""
    wave: bytes = b""
    spectrum: bytes = b""
    clip: bytes = b""
    clip_start: float = 0.0


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What can be shown of a row besides its figures: `a` (of a match: the file) and `b` (the reference) side by side.

    A moment `t` of a is `pivot - offset_s + (t - pivot) * speed` of b.  `window` is the stretch of a's time line that
    waves and spectra of both sides show; `errors` are the shares of differing bits along it, 0 to 200 for 0 to 100 %
    (unrelated sound: 50 %), 255 where there is nothing to compare.
    """

    row: Match | Edge
    a: Side
    b: Side
    pivot: float = 0.0
    window: tuple[float, float] = (0.0, 0.0)
    errors: bytes = b""


@dataclass(frozen=True)
class Report:
    """What a command found and what it looked at.  Renderers print it and open no file.

    `noted` names the files that were neither judged nor declared; `notes` are remarks on coverage.  `row` is the type
    of `rows`, None when the command has no table.  `accepted` are findings that waivers or a baseline cover in whole.
    `exhibits` belong to rows; only the reports that show them ask for them.
    """

    findings: tuple[Finding, ...] = ()
    row: type[Match] | type[Edge] | None = None
    rows: tuple[Match, ...] | tuple[Edge, ...] = ()
    summary: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    examined: Examined = Examined()
    unexamined: tuple[Unexamined, ...] = ()
    noted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    accepted: tuple[Finding, ...] = ()
    root: str = "."
    config: str | None = None
    fail_on: FailOn = "error"
    exhibits: tuple[Exhibit, ...] = ()

    @property
    def suppressed(self) -> int:
        """How many findings are accepted and hence not among `findings`."""
        return len(self.accepted)

    @property
    def status(self) -> int:
        """The exit status: 1 findings at or above `fail_on`, else 3 if anything was not read, else 0."""
        if self.fail_on != "never":
            grave = LEVELS[: LEVELS.index(self.fail_on) + 1]
            if any(finding.level in grave for finding in self.findings):
                return 1
        if self.unexamined or not self.examined.files:
            return 3
        return 0

    @property
    def verdict(self) -> str:
        """The last line of every report for people."""
        counts = {level: sum(finding.level == level for finding in self.findings) for level in LEVELS}
        found = ", ".join(f"{count} {level}{'s' * (count != 1)}" for level, count in counts.items())
        if self.unexamined:
            found += f", {len(self.unexamined)} not read"
        if self.status == 1:
            return f"{found}: findings at or above '{self.fail_on}' (exit status 1)"
        if self.status == 3:
            why = "not everything could be read" if self.unexamined else "nothing was examined"
            return f"{found}: no verdict, since {why} (exit status 3)"
        return f"{found}: clean" if not self.findings else f"{found}: nothing at or above '{self.fail_on}'"

    def from_here(self, path: str) -> str:
        """A path of the release as seen from where the command ran, which CI services take for the repository's top."""
        return path if self.root in ("", ".") or self.root.startswith("/") else f"{self.root}/{path}"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A Chromaprint fingerprint.

    `words` is little-endian uint32, one word every 1365/11025 s (0.1238 s), each looking at about 2.7 s of audio.
    `duration` is the decoded length in seconds; `library` names what computed it.  `phases` are the words of the same
    sound begun 341, 682 and 1024 samples (quarters of a step) later; empty where they were not asked for.  `notes` say
    what a reader should know of how it was heard.
    """

    words: bytes
    duration: float
    algorithm: str = "TEST2"
    library: str = ""
    phases: tuple[bytes, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.words) // 4


@dataclass(frozen=True, slots=True)
class Reference:
    """A recording of a reference index."""

    id: str
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Alignment:
    """How two fingerprints lie on each other.

    `offset_s` is where b's start lies on a's time line; `span_a` and `span_b` are the shared stretch in audio seconds;
    `bit_error` is the share of differing bits, `ratio` that share against the same stretch at wrong offsets.
    `grade` is A (same recording), B (same recording, altered or partial) or C (related, for review).  a runs `speed`
    times as fast as b, and sounds `pitch` semitones higher at its speed.  `alike` is the share of the stretch in which
    the two do sound alike, and `gap_s` the longest time in it in which they do not: something was put in place of it.
    """

    offset_s: float
    span_a: tuple[float, float]
    span_b: tuple[float, float]
    bit_error: float
    ratio: float
    distinct: int
    grade: Literal["A", "B", "C"]
    score: float
    speed: float = 1.0
    pitch: float = 0.0
    alike: float = 1.0
    gap_s: float = 0.0

    @property
    def overlap_s(self) -> float:
        """The length of the shared stretch in seconds."""
        return self.span_a[1] - self.span_a[0]

    def turned(self) -> Alignment:
        """How a lies on b, given how b lies on a."""
        return replace(
            self,
            offset_s=round(-self.offset_s * self.speed, 3) + 0.0,  # no -0.0
            span_a=self.span_b,
            span_b=self.span_a,
            speed=round(1 / self.speed, 4),
            pitch=-self.pitch + 0.0,
        )


@dataclass(frozen=True, slots=True)
class Group:
    """Spans of files that hold the same audio: (file, start, end) in seconds."""

    members: tuple[tuple[str, float, float], ...]
    edges: tuple[tuple[str, str], ...] = ()


__all__ = [
    "CONFIDENCES", "EXTRAS", "LEVELS", "Alignment", "Column", "Columns", "Confidence", "Edge", "Entry", "Examined",
    "Example", "Exhibit", "Fact", "FactKind", "FailOn", "Finding", "Fingerprint", "Group", "Item", "Kind",
    "LeakscanError", "Ledger", "Level", "Malformed", "Match", "Observation", "Part", "Place", "Private", "Reference",
    "Relation", "Release", "Report", "Rule", "Secret", "Side", "Tags", "Unexamined", "Unreadable", "UsageError",
    "VERSION", "child_name", "columns", "distinct", "facts", "path_keys", "value_at",
]  # fmt: skip
