"""The same recording in several sets: splits, tasks, benchmarks, training data.

Three kinds of claims are kept apart.  *By sound* (or by bytes, or by a digest that a set states and that was computed
here again from the other's file) is what rows of type `Edge` and the finding `shared-recording` say.  *By name*, an ID
of one registry in both sets, or a digest that both only state, is the finding `shared-id`: nothing was heard, and no
row says so.  *By group*, a value of a field such as the artist, is the finding `shared-group`.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Generic, TypeVar

from leakscan import claims, crew, exhibits, hearing, repeats, sets, splits
from leakscan.config import nearest
from leakscan.exhibits import Wanted
from leakscan.hearing import Tell
from leakscan.identities import ALGORITHMS
from leakscan.model import Edge, Entry, Examined, Finding, Group, Place, Report, Unexamined, Unreadable, UsageError
from leakscan.repeats import PLACES, Known, Recording, Repeats
from leakscan.reviewing import Reviews
from leakscan.sealing import Key
from leakscan.sets import Member, Set
from leakscan.store import Store
from leakscan.text import counted

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Options:
    """How sets are compared: fields whose values must not be shared (`group_by`), and where a repair goes, which keeps
    the balance of the field `label`."""

    group_by: tuple[str, ...] = ()
    label: str | None = None
    repair: Path | None = None
    reviews: Reviews = field(default_factory=Reviews)


def overlap_paths(
    named: Mapping[str, Sequence[Path]],
    key: Key = Key(),  # noqa: B008 - frozen
    memory: Store | None = None,
    options: Options = Options(),
    wanted: Wanted | None = None,
    tell: Tell | None = None,
) -> Report:
    """`overlap` for paths by name; `key` opens sealed indexes.  Raises `UsageError`, `LeakscanError`."""
    if len(named) < 2:
        raise UsageError("an overlap needs two sets or more: NAME=PATH NAME=PATH")
    if options.label is not None and options.repair is None:
        raise UsageError("--label needs --repair")
    if options.repair is not None:
        repeats.absent(options.repair)  # before the work, not after it
    columns = (*options.group_by, *([options.label] if options.label is not None else []))
    return overlap(
        [sets.read(name, paths, key, columns) for name, paths in named.items()], memory, options, wanted, tell
    )


def overlap(
    given: Sequence[Set],
    memory: Store | None = None,
    options: Options = Options(),
    wanted: Wanted | None = None,
    tell: Tell | None = None,
) -> Report:
    """Find what sets share.

    Rows are the edges of every group that spans sets, and what is only related across them (group 0).  Every recording
    that sets share by sound is a finding of level error, and so is what they share by name, for each two sets.

    Raises `UsageError` for a field that no record has, and for a repair of what cannot be moved; `LeakscanError`.
    """
    _check(given, options)
    nodes = {_key(number, member): (one, member) for number, one in enumerate(given) for member in one.members}
    recordings = [
        Recording(key, member.name, one.name, member.entry, member.fingerprint) for key, (one, member) in nodes.items()
    ]
    stated = _recomputed(nodes, memory)
    found = repeats.find(recordings, memory, Known(stated, options.reviews), tell)
    set_of = {key: one.name for key, (one, _) in nodes.items()}
    spanning = [group for group in found.groups if len({set_of[key] for key in found.members(group)}) > 1]
    rows = _rows(found, spanning, set_of, memory)
    by_name = _by_name(nodes, stated)
    by_field = {name: sets.shared_values(given, name) for name in options.group_by}
    own = repeats.by_group(rows)
    findings = [_shared_recording(found, group, own[number], nodes) for number, group in enumerate(spanning, 1)]
    findings += [*_shared_ids(by_name, nodes), *_shared_groups(by_field)]
    names = [one.name for one in given]
    by_sound = [found.members(group) for group in found.groups]
    summary = _summary(given, nodes, _Sharing(by_sound, found.several, [keys for _, keys in by_name]), by_field)
    notes = [note for one in given for note in one.notes]
    notes += repeats.remarks(found)
    unread = [Unexamined(nodes[key][1].name, reason) for key, reason in found.unread.items()]
    unexamined = {(one.path, one.reason): one for one in (*unread, *(one for each in given for one in each.unexamined))}
    if options.repair is not None and unexamined:  # nobody knows what spans two sets then
        what = counted(len(unexamined), "entry", "entries")
        notes.append(f"no repair was written: not everything was read ({what}); mend that, or take it out of the sets")
    elif options.repair is not None:
        blocks = _blocks(nodes, [*by_sound, *(keys for _, keys in by_name)], by_field, options.label)
        done = splits.repair(blocks, names)
        summary["repair"], note = _write_repair(done, options.repair)
        notes.append(note)
    files = {hearing.identity(member.entry): member.entry for _, member in nodes.values() if member.entry is not None}
    report = Report(
        row=Edge,
        rows=tuple(rows),
        findings=tuple(findings),
        summary={**summary, **found.reviewed},
        examined=_examined(given, files.values(), len({nodes[key][1].name for key in found.unread}), nodes),
        unexamined=tuple(unexamined[key] for key in sorted(unexamined)),
        noted=tuple(sorted({name for one in given for name in one.noted})),
        notes=tuple(notes),
    )
    return _with_exhibits(report, found, wanted)


def _with_exhibits(report: Report, found: Repeats, wanted: Wanted | None) -> Report:
    """Exhibits know recordings by the names that rows show."""
    name_of = {key: one.name for key, one in found.recordings.items()}
    aligned = {(name_of[a], name_of[b]): one for (a, b), one in found.links.items()}
    files = {one.name: one.entry for one in found.recordings.values() if one.entry is not None}
    heard_a, heard_b = (
        {name_of[pair[side]]: found.heard[pair[side]] for pair in found.links if pair[side] in found.heard}
        for side in (0, 1)
    )
    return exhibits.attach(report, aligned, heard_a, heard_b, files, wanted)


def _key(number: int, member: Member) -> str:
    """What tells a recording apart among all sets; sorts as the sets were given, then by name."""
    return f"{number:06}\0{member.name}\0{'' if member.entry is not None else '?'}"


def _check(given: Sequence[Set], options: Options) -> None:
    """Refuse what cannot be done before the work."""
    known = {column for one in given for column in one.columns}
    for name in (*options.group_by, *([options.label] if options.label is not None else [])):
        if sets.column_of(name) not in known:
            hint = nearest(name, [column.removeprefix("$.") for column in sorted(known)])
            raise UsageError(f"no record of any set has a field '{name}'; {hint}")
    for one in given if options.repair is not None else ():
        if one.fixed and one.members:
            raise UsageError(
                f"--repair: '{one.name}' is an index or a list, whose recordings cannot be moved; leave it out"
            )


def _examined(
    given: Sequence[Set], files: Iterable[Entry], unread: int, nodes: Mapping[str, tuple[Set, Member]]
) -> Examined:
    """Without any audio the recordings of lists and indexes are what was examined."""
    seen = hearing.examined(list(files), unread)
    others = sum(member.entry is None for _, member in nodes.values())
    fields = sum(one.fields for one in given)
    return Examined(seen.files + others, sum(one.records for one in given), seen.audio, fields, seen.bytes)


# --- by bytes and by name --------------------------------------------------------------------------------------------


def _recomputed(nodes: Mapping[str, tuple[Set, Member]], memory: Store | None) -> dict[str, str]:
    """Recordings without audio whose stated digest is that of another set's file, as computed here, with that file."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for key, (_, member) in nodes.items():
        if member.entry is None and member.fingerprint is None:
            for digest in member.digests:
                wanted[digest].append(key)
    algorithms = sorted({digest.partition(":")[0] for digest in wanted})
    if not algorithms:
        return {}
    files = {key: member.entry for key, (_, member) in nodes.items() if member.entry is not None}
    found: dict[str, str] = {}
    for key, digests in zip(
        files, crew.in_threads(lambda entry: _digests(entry, algorithms, memory), list(files.values())), strict=True
    ):
        for digest in digests:
            for stated in wanted.get(digest, ()):
                found.setdefault(stated, key)
    return found


def _digests(entry: Entry, algorithms: Sequence[str], memory: Store | None) -> list[str]:
    if algorithms == ["sha256"] and memory is not None:
        known = memory.sha256(entry)
        return [] if known is None else [f"sha256:{known.hex()}"]
    made = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}
    try:
        with entry.open() as stream:
            while chunk := stream.read(_CHUNK):
                for digest in made.values():
                    digest.update(chunk)
    except (Unreadable, OSError):
        return []
    return [f"{name}:{digest.hexdigest()}" for name, digest in made.items()]


def _by_name(nodes: Mapping[str, tuple[Set, Member]], known: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """(ID or digest, keys) of what several recordings, of one set or more, have in common by name only."""
    owners: dict[str, list[str]] = defaultdict(list)
    for key, (_, member) in nodes.items():
        for name in (*member.identities, *(() if key in known else member.digests)):
            owners[name].append(key)
    return [(name, keys) for name, keys in sorted(owners.items()) if len(keys) > 1]


# --- rows and findings -----------------------------------------------------------------------------------------------


def _rows(found: Repeats, spanning: Sequence[Group], set_of: Mapping[str, str], memory: Store | None) -> list[Edge]:
    """The edges of groups that span sets, and those across sets that are only related."""
    shown = {pair for group in spanning for pair in group.edges}
    grouped = {pair for group in found.groups for pair in group.edges}
    links = {
        pair: one for pair, one in found.links.items()
        if pair in shown or (pair not in grouped and set_of[pair[0]] != set_of[pair[1]])
    }  # fmt: skip
    part = replace(found, links=links, groups=tuple(spanning))
    read = {key: claims.read(entry, memory) for key in sorted({key for pair in links for key in pair})
            if (entry := found.recordings[key].entry) is not None}  # fmt: skip
    return repeats.edges(part, read, memory)


def _place(member: Member) -> Place:
    return Place(member.name, id=member.units[0].id)


def _shared_recording(
    found: Repeats, group: Group, own: Sequence[Edge], nodes: Mapping[str, tuple[Set, Member]]
) -> Finding:
    keys = found.members(group)
    counts = Counter(nodes[key][0].name for key in keys)
    where = ", ".join(f"'{name}' ({count})" for name, count in counts.items())
    places = tuple(_place(nodes[key][1]) for key in keys[:PLACES])
    return Finding(
        "shared-recording",
        "error",
        "proven" if all(row.relation.startswith("identical") for row in own) else "strong",
        f"one recording is in {where}: {repeats.relations(own)}",
        places[0],
        count=len(keys),
        places=places,
        related=places[1:],
    )


def _shared_ids(by_name: Sequence[tuple[str, list[str]]], nodes: Mapping[str, tuple[Set, Member]]) -> Iterator[Finding]:
    """One finding for each two sets and registry."""
    shared: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, keys in by_name:
        first: dict[str, str] = {}
        for key in keys:
            first.setdefault(nodes[key][0].name, key)
        for one, other in combinations(first, 2):
            shared[name.partition(":")[0], one, other].append(first[one])
    for (registry, one, other), keys in sorted(shared.items()):
        count = len(keys)
        things = (
            ("digest that both state", "digests that both state")
            if registry in ALGORITHMS
            else ("ID of a recording", "IDs of recordings")
        )
        places = tuple(_place(nodes[key][1]) for key in keys[:PLACES])
        text = f"'{one}' and '{other}' share {counted(count, *things)} ({registry}); nothing was heard of these"
        yield Finding("shared-id", "error", "strong", text, places[0], count=count, places=places)


def _shared_groups(by_field: Mapping[str, Mapping[str, Mapping[str, list[Member]]]]) -> Iterator[Finding]:
    """One finding for each two sets and field."""
    for name, values in by_field.items():
        shared: dict[tuple[str, str], list[Member]] = defaultdict(list)
        for by_set in values.values():
            for one, other in combinations(by_set, 2):
                shared[one, other].append(by_set[one][0])
        for (one, other), found in sorted(shared.items()):
            places = tuple(map(_place, found[:PLACES]))
            text = f"'{one}' and '{other}' share {counted(len(found), 'value')} of '{name}'"
            yield Finding("shared-group", "warning", "strong", text, places[0], count=len(found), places=places)


# --- figures ---------------------------------------------------------------------------------------------------------

_T = TypeVar("_T", bound=Hashable)


class _Union(Generic[_T]):
    """What belongs together, whatever links it."""

    def __init__(self, things: Iterable[_T]) -> None:
        self._parent = {thing: thing for thing in things}

    def root(self, thing: _T) -> _T:
        while self._parent[thing] != thing:
            self._parent[thing] = self._parent[self._parent[thing]]
            thing = self._parent[thing]
        return thing

    def join(self, things: Sequence[_T]) -> None:
        for thing in things[1:]:
            self._parent[self.root(thing)] = self.root(things[0])

    def parts(self) -> list[list[_T]]:
        found: dict[_T, list[_T]] = defaultdict(list)
        for thing in self._parent:
            found[self.root(thing)].append(thing)
        return list(found.values())


_Fields = Mapping[str, Mapping[str, Mapping[str, list[Member]]]]


@dataclass(frozen=True)
class _Sharing:
    """What recordings have in common: groups by sound, those that are in `several` of these, and groups by name."""

    by_sound: Sequence[Sequence[str]]
    several: Container[str]
    by_name: Sequence[Sequence[str]]


class _Clusters:
    """Recordings that are one, by sound or otherwise; a medley is in the clusters of all its parts and merges none.

    Every recording has one `home`; `members` are those of a cluster with the medleys that hold it.
    """

    def __init__(self, nodes: Iterable[str], sharing: _Sharing, further: Iterable[Sequence[str]] = ()) -> None:
        union = _Union(nodes)
        apart = [[key for key in keys if key not in sharing.several] for keys in sharing.by_sound]
        for keys, plain in zip(sharing.by_sound, apart, strict=True):
            union.join(plain or keys)
        for keys in (*sharing.by_name, *further):
            union.join(keys)
        self._several = sharing.several
        self.members = {union.root(part[0]): set(part) for part in union.parts()}
        self.home = {key: home for home, part in self.members.items() for key in part}
        self._homes: dict[str, set[str]] = {key: {home} for key, home in self.home.items()}
        for keys, plain in zip(sharing.by_sound, apart, strict=True):
            for home in {self.home[key] for key in plain}:
                self.members[home].update(keys)
                for key in keys:
                    self._homes[key].add(home)

    def independent(self, keys: Iterable[str]) -> int:
        """The effective number of some recordings: what repeats, in parts or as a whole, counts once."""
        keys = list(keys)
        plain = {self.home[key] for key in keys if key not in self._several}
        medleys = {self.home[key] for key in keys if key in self._several and not self._homes[key] & plain}
        return len(plain | medleys)


def _summary(
    given: Sequence[Set], nodes: Mapping[str, tuple[Set, Member]], sharing: _Sharing, by_field: _Fields
) -> dict[str, Any]:
    """Counts by set and by two sets.

    `shared` counts recordings that two sets share by sound or name (a set with itself: those it has more than once),
    `members` how many of the first's recordings are in the second.  `independent` is the effective number of
    recordings: what repeats counts once, and so, with a field to group by, does what shares a value of it.
    """
    names = [one.name for one in given]
    clusters = _Clusters(nodes, sharing)
    of_set: dict[str, list[str]] = {name: [] for name in names}
    for key, (holder, _) in nodes.items():
        of_set[holder.name].append(key)
    shared = {one: dict.fromkeys(names, 0) for one in names}
    members: dict[str, dict[str, set[str]]] = {one: {other: set() for other in names} for one in names}
    for part in clusters.members.values():
        own: dict[str, set[str]] = defaultdict(set)
        for key in part:
            own[nodes[key][0].name].add(key)
        for one, keys in own.items():
            for other in own:
                if one != other or len(keys) > 1:
                    shared[one][other] += 1
                    members[one][other] |= keys
    summary: dict[str, Any] = {
        "items": {one.name: sum(len(member.units) for member in one.members) for one in given},
        "recordings": {one.name: len(one.members) for one in given} | {"all": len(nodes)},
        "independent": {name: clusters.independent(keys) for name, keys in of_set.items()}
        | {"all": clusters.independent(nodes)},
        "shared": shared,
        "members": {one: {other: len(keys) for other, keys in row.items()} for one, row in members.items()},
        "shared_by_sound": sum(len({nodes[key][0].name for key in keys}) > 1 for keys in sharing.by_sound),
        "shared_by_name": sum(len({nodes[key][0].name for key in keys}) > 1 for keys in sharing.by_name),
    }
    for name, values in by_field.items():
        table = {one: dict.fromkeys(names, 0) for one in names}
        for by_set in values.values():
            for one in by_set:
                for other in by_set:
                    table[one][other] += 1
        summary[f"shared_{name}"] = table
        by_value = _Clusters(nodes, sharing, _by_value(nodes, {name: values}))
        summary[f"independent_{name}"] = by_value.independent(nodes)
    return summary


def _parts(nodes: Iterable[str], groups: Iterable[Sequence[str]]) -> list[list[str]]:
    union = _Union(nodes)
    for keys in groups:
        union.join(keys)
    return union.parts()


def _by_value(nodes: Mapping[str, tuple[Set, Member]], by_field: _Fields) -> Iterator[list[str]]:
    """The recordings that share a value of a field."""
    key_of = {(one.name, id(member)): key for key, (one, member) in nodes.items()}
    for values in by_field.values():
        for by_set in values.values():
            yield [key_of[name, id(member)] for name, found in by_set.items() for member in found]


# --- repair ----------------------------------------------------------------------------------------------------------


def _blocks(
    nodes: Mapping[str, tuple[Set, Member]], groups: Iterable[Sequence[str]], by_field: _Fields, label: str | None
) -> list[list[splits.Unit]]:
    """The items that must be in one set, whatever links them; an item of several recordings links these, too."""
    of_item: dict[tuple[str, str], list[str]] = defaultdict(list)
    labels: dict[tuple[str, str], str] = {}
    for key, (one, member) in nodes.items():
        for unit in member.units:
            of_item[one.name, unit.id].append(key)
            labels[one.name, unit.id] = " ".join(unit.values(label)) if label is not None else ""
    blocks = []
    for part in _parts(nodes, [*groups, *_by_value(nodes, by_field), *of_item.values()]):
        items = dict.fromkeys((nodes[key][0].name, unit.id) for key in part for unit in nodes[key][1].units)
        blocks.append([splits.Unit(id_, name, labels[name, id_]) for name, id_ in items])
    return blocks


def _write_repair(done: splits.Repair, path: Path) -> tuple[dict[str, Any], str]:
    """Write which IDs go where, unless that is impossible; figures for the summary, and a note."""
    figures: dict[str, Any] = {"moved": len(done.moves), "label_drift": done.drift}
    figures |= {f"size_{name}": size for name, size in done.after.items()}
    if done.obstacle:
        return figures, f"no repair was written: it is impossible within {splits.TOLERANCE:.0%}: {done.obstacle}"
    lines = ["id,from,to", *(",".join(map(_cell, (move.id, move.source, move.target))) for move in done.moves)]
    repeats.write_new(path, "".join(f"{line}\n" for line in lines))
    return figures, f"{path}: {counted(len(done.moves), 'item')} to move; then no group spans two sets"


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text
