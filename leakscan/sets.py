"""NAME=PATH -> the recordings of a set: audio, records and the audio that they refer to, an index, a list of IDs.

What a recording is known by beside its sound (IDs of registries, digests) and what its records say of it (artist,
work, label) comes along.  Records that share their audio are one recording with several items.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import ModuleType

from leakscan import config as configuration
from leakscan import hearing, identities, index, sealing, walk
from leakscan.config import Config, field_path, fill
from leakscan.discover import members
from leakscan.model import (
    Entry,
    Fact,
    Fingerprint,
    Item,
    LeakscanError,
    Malformed,
    Release,
    Unexamined,
    Unreadable,
    UsageError,
    path_keys,
    value_at,
)
from leakscan.sealing import Key
from leakscan.text import fold, is_audio_name

_HEAD = 1 << 16  # bytes of a first line that tell an index
_DIGEST_WORDS = frozenset("md5 sha1 sha256 sha384 sha512 sha hash checksum digest".split())
_LINE_LIMIT = 1 << 12  # characters of a line that may be an ID or a digest
_ID_KEYS = ("id", "item_id", "question_id", "track_id", "recording_id", "uid", "index")


@dataclass(frozen=True, slots=True)
class Unit:
    """One item of a set, a record or a file: its ID, and what its record says in the fields asked for, as (JSON path,
    text)."""

    id: str
    fields: tuple[tuple[str, str], ...] = ()

    def values(self, name: str) -> tuple[str, ...]:
        """The texts in a field, also if it is a list."""
        return tuple(value for key, value in self.fields if key.removesuffix("[]") == column_of(name))


@dataclass(frozen=True, slots=True)
class Member:
    """One recording of a set.  `name` is the path of its file, its ID in an index, or its place in a list.

    `identities` are `registry:ID`, `digests` are `algorithm:hex` that the set states of the recording's file.
    """

    name: str
    units: tuple[Unit, ...]
    entry: Entry | None = None
    fingerprint: Fingerprint | None = None
    identities: frozenset[str] = frozenset()
    digests: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Set:
    """A named set; `fixed` says that it is an index or a list, whose recordings cannot be moved.

    `columns` are the JSON paths of all fields of its records, without `[]` at the end; `fields` counts their values.
    """

    name: str
    members: tuple[Member, ...]
    records: int = 0
    fields: int = 0
    columns: frozenset[str] = frozenset()
    fixed: bool = False
    unexamined: tuple[Unexamined, ...] = ()
    noted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Draft:
    """A recording while its set is read."""

    name: str
    entry: Entry | None = None
    fingerprint: Fingerprint | None = None
    units: list[Unit] = field(default_factory=list)
    identities: set[str] = field(default_factory=set)
    digests: set[str] = field(default_factory=set)

    def done(self) -> Member:
        units = self.units or [Unit(self.name)]
        return Member(
            self.name, tuple(units), self.entry, self.fingerprint, frozenset(self.identities), frozenset(self.digests)
        )


def column_of(name: str) -> str:
    """The JSON path of a field as people name it; a list is one with its elements."""
    return field_path(name).removesuffix("[]")


def parse(arguments: Sequence[str]) -> dict[str, list[Path]]:
    """NAME=PATH arguments by name, in their order; paths of one name are one set.  Raises `UsageError`."""
    sets: dict[str, list[Path]] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not (equals and name.strip() and path):
            raise UsageError(f"{argument}: write NAME=PATH, for example train=data/train.jsonl")
        sets.setdefault(name.strip(), []).append(Path(path))
    return sets


def read(
    name: str,
    paths: Sequence[Path],
    key: Key = Key(),  # noqa: B008 - frozen
    columns: Iterable[str] = (),
) -> Set:
    """The recordings of a set; `key` opens an index that is sealed, `columns` are the fields of records to keep.

    Raises `UsageError`, `LeakscanError`.
    """
    reader = _Reader(name, key, frozenset(column_of(one) for one in columns))
    for path in paths:
        reader.add(path)
    return reader.done()


class _Reader:
    """Gathers the recordings of one set."""

    def __init__(self, name: str, key: Key, columns: frozenset[str]) -> None:
        self._name = name
        self._key = key
        self._wanted = columns
        self._columns: set[str] = set()
        self._fields = 0
        self._hint = identities.registry(name)
        self._formats: Mapping[str, ModuleType] = members("formats")
        self._files: dict[object, _Draft] = {}
        self._others: list[_Draft] = []
        self._records = 0
        self._fixed = True
        self._unexamined: dict[str, Unexamined] = {}
        self._noted: list[str] = []
        self._counts: Counter[str] = Counter()

    def add(self, path: Path) -> None:
        if not os.path.lexists(path):
            raise UsageError(f"{path}: no such file or folder; check the path")
        if path.is_file() and _is_index(path):
            for reference in index.read(path, self._key):
                self._others.append(_Draft(reference.id, fingerprint=reference.fingerprint, units=[Unit(reference.id)]))
                self._claim(self._others[-1], reference.id, self._hint)
            return
        root, file = configuration.find(path)
        settings = configuration.load(file) if file is not None else Config()
        releases = tuple(map(Release, (root, *_folders_above(root))))
        place = _Place(path, releases, settings, file, identities.registry(path.name) or self._hint)
        for entry in walk.listing([path]):
            if isinstance(entry, Unexamined):
                self._unexamined[entry.path] = entry
                continue
            try:
                self._file(entry, place)
            except Unreadable as error:
                self._unexamined[entry.path] = hearing.unexamined_entry(entry, error)

    def done(self) -> Set:
        drafts = [*self._files.values(), *self._others]
        stems = Counter(PurePosixPath(draft.name).stem for draft in self._files.values())
        for draft in self._files.values():
            stem = PurePosixPath(draft.name).stem
            draft.units = draft.units or [Unit(stem if stems[stem] == 1 else draft.name)]
            self._claim(draft, stem, self._hint)
        notes = [f"{self._name}: {what}: {count}" for what, count in sorted(self._counts.items())]
        if not drafts:  # silence about a set is not a pass
            self._unexamined[self._name] = Unexamined(
                self._name, "a set without recordings, IDs or digests; check its path"
            )
        return Set(
            self._name,
            tuple(draft.done() for draft in sorted(drafts, key=lambda draft: draft.name)),
            self._records,
            self._fields,
            frozenset(self._columns),
            self._fixed,
            tuple(one for _, one in sorted(self._unexamined.items())),
            tuple(sorted(self._noted)),
            tuple(notes),
        )

    def _file(self, entry: Entry, place: _Place) -> None:
        with entry.open() as stream:
            head = stream.read(walk.HEAD_BYTES)
        reader = walk.choose(entry, head, self._formats)
        if reader is not None and not getattr(reader, "AUDIO", False):
            if getattr(reader, "PROSE", False) and not place.is_named(entry):
                self._noted.append(entry.path)  # a README, a transcript; a list of IDs is named itself
                return
            for item, files in self._items(entry, reader):
                self._item(item, files, place)
        elif place.is_named(entry) or walk.is_audio(entry, self._formats):
            self._audio(entry)
        else:
            self._noted.append(entry.path)

    def _items(self, entry: Entry, reader: ModuleType) -> Iterator[tuple[Item, list[Entry]]]:
        """The records of a file, each with the audio within its values, which follows it."""
        held: tuple[Item, list[Entry]] | None = None
        for found in reader.read(entry):
            if isinstance(found, Item) and isinstance(found.body, Malformed):
                reason = f"record {found.place.record} cannot be read: {found.body.reason}"
                self._unexamined.setdefault(entry.path, Unexamined(entry.path, reason))
            elif isinstance(found, Item):
                if held is not None:
                    yield held
                held = found, []
            elif isinstance(found, Entry) and held is not None and walk.is_audio(found, self._formats):
                held[1].append(found)
        if held is not None:
            yield held

    def _item(self, item: Item, files: list[Entry], place: _Place) -> None:
        if isinstance(item.body, str):
            self._line(item, item.body, place)
            return
        leaves = _leaves(item)
        one = leaves[0].value if len(leaves) == 1 and not files else None
        if isinstance(one, str) and not is_audio_name(one):
            self._line(item, one, place, leaves[0].name)  # a table of one column
            return
        self._records += 1
        self._fields += len(leaves)
        named = [(fact.name.removesuffix("[]"), fact) for fact in leaves]
        self._columns.update(name for name, _ in named)
        kept = tuple((fact.name, str(fact.value)) for name, fact in named if name in self._wanted)
        unit = Unit(place.id_of(item), kept)
        drafts = [self._audio(entry) for entry in (*self._referred(item, place), *files)]
        drafts = drafts or [_Draft(f"{item.place.path}:{item.place.record}")]
        for draft in drafts:
            draft.units.append(unit)
            for fact in leaves:
                self._state(draft, fact, place)
        draft = drafts[0]
        if draft.entry is None:
            comparable = bool(draft.identities or draft.digests)
            if comparable or kept:
                self._others.append(draft)
            if not comparable:
                self._counts["records without audio, ID or digest that could be compared"] += 1
                self._fixed = self._fixed and not kept  # an item of a split, which can be moved

    def _line(self, item: Item, text: str, place: _Place, column: str = "") -> None:
        """A line of a list: a digest or an ID."""
        text = text.strip()
        if not text or text.startswith("#") or len(text) > _LINE_LIMIT:
            return
        draft = _Draft(f"{item.place.path}:{item.place.record}")
        digest, identity = identities.digest(text), identities.identify(text, identities.registry(column) or place.hint)
        if digest is None and identity is None:
            self._counts["lines that are neither an ID nor a digest (write numbers as fma:123, or call the set, or "
                         "the file, after the registry)"] += 1  # fmt: skip
            return
        draft.identities.update(() if identity is None or digest is not None else (identity,))
        draft.digests.update(() if digest is None else (digest,))
        draft.units.append(Unit(digest or identity or text))
        self._others.append(draft)

    def _audio(self, entry: Entry) -> _Draft:
        self._fixed = False
        return self._files.setdefault(hearing.identity(entry), _Draft(entry.path, entry))

    def _referred(self, item: Item, place: _Place) -> Iterator[Entry]:
        """The audio files that a record refers to."""
        for reference in dict.fromkeys(place.references(item)):
            folder, found = place.find(item, reference)
            if found is None:
                shown = f"{item.place.path}:{item.place.record}"
                self._unexamined.setdefault(shown, Unexamined(shown, place.missing))
                continue
            if folder != place.root:
                what = f"paths of audio that start at {_shown(folder)}, above the records (no leakscan.toml says where)"
                self._counts[what] += 1
            yield found

    def _state(self, draft: _Draft, fact: Fact, place: _Place) -> None:
        """Take up what a leaf of a record says of the recording's ID or digest."""
        if not isinstance(fact.value, str | int) or isinstance(fact.value, bool):
            return
        words = fold(" ".join(path_keys(fact.name)[-1:]))
        text = str(fact.value)
        if len(text) > _LINE_LIMIT:
            return
        hint = identities.registry(fact.name)
        if hint or "id" in words or text.startswith(("http://", "https://")):
            self._claim(draft, text, hint or (place.hint if "id" in words else ""), named=bool(hint))
        if _DIGEST_WORDS.intersection(words) and (digest := identities.digest(text)) is not None:
            draft.digests.add(digest)

    def _claim(self, draft: _Draft, text: str, hint: str, named: bool = True) -> None:
        known = identities.identify(text, hint)
        # a UUID in a field `id` is anybody's; only a field, file or set that names MusicBrainz makes it a recording's
        if known is not None and (named or not known.startswith("mbid:") or hint == "mbid" or "/" in text):
            draft.identities.add(known)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a path of a set leads: its release, and what that says of its records.

    Paths of audio start at the root of the first of `releases`, or at that of one of the others, which nothing declares
    to be one.  `file` is the leakscan.toml.
    """

    path: Path
    releases: tuple[Release, ...]
    config: Config
    file: Path | None
    hint: str

    @property
    def root(self) -> Path:
        """The root of the release."""
        return self.releases[0].root

    @property
    def missing(self) -> str:
        """What is said of a record whose audio is not found: where it was looked for, and what to do."""
        what = "refers to an audio file that is not there"
        if self.file is not None or _is_repository(self.root):
            where = f"holds {self.file.name}" if self.file is not None else "is the top of a repository"
            return f"{what}, or lies outside of {_shown(self.root)}, which {where}; fetch it, or mend its path"
        up = f" and the folders above it, up to {_shown(self.releases[-1].root)}" if len(self.releases) > 1 else ""
        return (
            f"{what}: looked for in {_shown(self.root)}{up}; fetch it, or put a {configuration.FILE_NAME}, which may "
            "be empty, into the folder where its path starts"
        )

    def is_named(self, entry: Entry) -> bool:
        """Whether the path is the entry itself."""
        return Path(os.path.realpath(self.path)) == Path(os.path.realpath(entry.file))

    def base(self, item: Item, folder: Path | None = None) -> str:
        """A record's file as seen from a folder, without one from the root of the release."""
        own = item.place.path.partition("!")[0]
        return os.path.relpath(os.path.realpath(own), folder or self.root).replace(os.sep, "/")

    def id_of(self, item: Item) -> str:
        """What the configuration calls the ID of a record, else the first field that is called so, else its place."""
        records = self.config.record_set(self.base(item))
        names = [records.id_path] if records is not None and records.id_path else [f"$.{key}" for key in _ID_KEYS]
        found = (value_at(item.body, name) for name in names)
        own = next((value for value in found if isinstance(value, str | int) and str(value)), None)
        return str(own) if own is not None else f"{item.place.path}:{item.place.record}"

    def references(self, item: Item) -> Iterator[str]:
        """The values of a record that are paths of audio."""
        records = self.config.record_set(self.base(item))
        declared = {name: spec for name, spec in records.fields.items() if spec.type == "path"} if records else {}
        for spec in declared.values():
            if spec.template and (path := fill(spec.template, item.body)) is not None and is_audio_name(path):
                yield path
        for fact in _leaves(item):
            is_path = isinstance(fact.value, str) and "://" not in fact.value
            if is_path and (fact.name in declared or is_audio_name(fact.value)):
                yield fact.value

    def find(self, item: Item, reference: str) -> tuple[Path, Entry | None]:
        """The file that a record refers to, below one of the folders, which comes first, or beside the record."""
        for release in self.releases:
            found = release.find(self.base(item, release.root), reference)
            if found is not None:
                relative = os.path.relpath(found.file).replace(os.sep, "/")
                shown = found.file.as_posix() if self.path.is_absolute() else relative
                return release.root, Entry(shown, found.file, found.size)  # shown as seen from here
        return self.root, None


def _folders_above(root: Path) -> list[Path]:
    """The folders above a root that nothing declares, up to the current one, the nearest first.

    Whoever keeps `data/train.jsonl` beside `audio/` writes paths as seen from the folder that holds both, and works
    there.  Further up nothing is opened; the top of the file system is nobody's place of work, and no limit.
    """
    here = Path(os.path.realpath(os.curdir))
    if os.path.lexists(root / configuration.FILE_NAME) or _is_repository(root) or here.parent == here:
        return []
    return [folder for folder in root.parents if folder.is_relative_to(here)]


def _is_repository(folder: Path) -> bool:
    return os.path.lexists(folder / ".git")


def _shown(folder: Path) -> str:
    """A folder as seen from here, if it lies below; its whole path, if not."""
    here = Path(os.path.realpath(os.curdir))
    if folder == here:
        return "the current folder"
    return (folder.relative_to(here) if folder.is_relative_to(here) else folder).as_posix()


def _leaves(item: Item) -> list[Fact]:
    return [fact for fact in item.facts if fact.kind == "field"]


def _is_index(path: Path) -> bool:
    """Whether a file is a reference index, sealed or not."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise LeakscanError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    if sealing.is_sealed(head):
        return True
    first, end, _ = head.partition(b"\n")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return not end and first.startswith(b'{"id"') and b'"fingerprint"' in first  # a long first line of an old one
    return isinstance(record, dict) and (index.KIND in record or {"id", "duration", "fingerprint"} <= record.keys())


def shared_values(sets: Iterable[Set], name: str) -> dict[str, dict[str, list[Member]]]:
    """The folded texts of a field with the recordings that have them, by set."""
    found: dict[str, dict[str, list[Member]]] = defaultdict(lambda: defaultdict(list))
    for one in sets:
        for member in one.members:
            for value in {" ".join(fold(text)) for unit in member.units for text in unit.values(name)} - {""}:
                found[value][one.name].append(member)
    return found
