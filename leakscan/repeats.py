"""Repeated audio: what is equal byte for byte, sample for sample, or by sound, in groups that do not chain."""

from __future__ import annotations

import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from leakscan import (
    alignment,
    claims,
    crew,
    exhibits,
    fingerprints,
    grouping,
    hearing,
    likenesses,
    media,
    owners,
    reviewing,
    speeds,
    store,
)
from leakscan.claims import Claims
from leakscan.exhibits import Wanted
from leakscan.hearing import Tell
from leakscan.model import (
    Alignment,
    Edge,
    Entry,
    Finding,
    Fingerprint,
    Group,
    Item,
    LeakscanError,
    Place,
    Private,
    Relation,
    Report,
    Unexamined,
    Unreadable,
    UsageError,
)
from leakscan.reviewing import Reviews
from leakscan.store import Store

PLACES = 100
"""How many places a finding lists."""

_SHORT_S = 60.0  # what is shorter is heard at four phases: by one alone, one in twenty excerpts of 30 s is missed
_SMALL = 1 << 20  # bytes; of what is larger few are short
_PLAYED = 64  # files whose fingerprints at all speeds are kept at a time
_COVERED = 0.9
_AS_LONG_S = 0.5
_COPIES: tuple[Relation, ...] = ("identical-bytes", "identical-audio", "same-recording", "speed-changed")
_NOTHING = Fingerprint(b"", 0.0)  # stands for a file that could not be decoded but is equal to another byte for byte

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Recording:
    """What is compared: `key` tells it apart and sorts it, `set` and `name` are what reports show.

    There is a file, or a fingerprint that was computed elsewhere, or neither: then `Known` says what it equals.
    """

    key: str
    name: str
    set: str = ""
    entry: Entry | None = None
    fingerprint: Fingerprint | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the sound: `copies` are keys of recordings with the original that each equals byte for byte,
    `reviews` what people decided."""

    copies: Mapping[str, str] = field(default_factory=dict)
    reviews: Reviews = field(default_factory=Reviews)


@dataclass(frozen=True)
class Repeats:
    """What is repeated among recordings, all by key.

    `copies` lead to their original, and say how that is known; `links` are alignments by pair, those of copies too;
    `reviewed` counts the pairs that people judged different, those that they joined although their sound could not be
    aligned, and those that are not among these recordings.
    """

    recordings: Mapping[str, Recording]
    heard: Mapping[str, Fingerprint]
    unread: Mapping[str, str]
    copies: Mapping[str, tuple[str, Relation]]
    links: Mapping[Pair, Alignment]
    groups: tuple[Group, ...]
    repeating: tuple[Pair, ...]
    reviewed: Mapping[str, int]

    def members(self, group: Group) -> list[str]:
        """The keys of a group's recordings, sorted."""
        return sorted({key for key, _, _ in group.members})

    @functools.cached_property
    def several(self) -> Mapping[str, tuple[int, ...]]:
        """The recordings that take part in several groups, with the numbers of these."""
        return grouping.in_several(self.groups)

    def original(self, key: str) -> str:
        """The recording that is laid on others in place of its copies."""
        while key in self.copies:
            key = self.copies[key][0]
        return key

    def is_held(self, key: str, by: str) -> bool:
        """Whether nearly all of one recording is in another as it is, as far as they were laid on each other."""
        one, other = self.original(key), self.original(by)
        if one == other and all(self.copies[name][1] == "identical-bytes" for name in {key, by} & self.copies.keys()):
            return True
        if self.heard.get(key, _NOTHING).notes:
            return False  # there may be more in it than was heard
        if one == other:
            return True
        found = self.links.get((min(one, other), max(one, other)))
        if found is None or found.grade == "C" or found.speed != 1.0:
            return False
        (start, end), span = self.sounding(key), found.span_a if one < other else found.span_b
        shared = min(end, span[1]) - max(start, span[0])
        return found.gap_s < alignment.GAP_S and shared >= _COVERED * (end - start)

    def duration(self, key: str) -> float:
        """Seconds; 0 where nothing was heard."""
        return self.heard.get(key, _NOTHING).duration

    def sounding(self, key: str) -> tuple[float, float]:
        """From when to when a recording is not silent, in seconds."""
        return fingerprints.sounding(self.heard.get(key, _NOTHING))

    def coverage(self, key: str, span: tuple[float, float]) -> float:
        """The share of a recording that a stretch is."""
        duration = self.duration(key)
        return min(1.0, (span[1] - span[0]) / duration) if duration else 1.0

    def size(self, key: str) -> int:
        """Bytes; 0 where there is no file."""
        entry = self.recordings[key].entry
        return entry.size if entry is not None else 0


def duplicate_paths(
    paths: Sequence[Path],
    memory: Store | None = None,
    wanted: Wanted | None = None,
    *,
    private: Private = Private(),  # noqa: B008 - frozen
    reviews: Reviews = Reviews(),  # noqa: B008 - frozen
    speed: bool = False,
    drop: Path | None = None,
    tell: Tell | None = None,
) -> Report:
    """`duplicates` for paths.  Raises `UsageError`, `LeakscanError`."""
    if drop is not None:
        absent(drop)  # before the work, not after it
    selection = hearing.select(paths)
    report = duplicates(
        selection.audio, memory, wanted, private=private, reviews=reviews, speed=speed, drop=drop, tell=tell
    )
    return hearing.with_selection(report, selection)


def duplicates(
    files: Sequence[Entry],
    memory: Store | None = None,
    wanted: Wanted | None = None,
    *,
    private: Private = Private(),  # noqa: B008 - frozen
    reviews: Reviews = Reviews(),  # noqa: B008 - frozen
    speed: bool = False,
    drop: Path | None = None,
    tell: Tell | None = None,
) -> Report:
    """Find repeated audio among files; with exhibits for a report when they are `wanted`.

    Rows are of type `Edge`, one for every two files that share audio, by group; group 0 holds what is only related
    (for review) and belongs to no group.  Links to one file are that file.  Silence and constant audio are duplicates
    of nothing, except byte for byte.  Copies that contradict each other in `private` gold, or in what their tags say
    of licences, are findings.  `reviews` are what people decided; with `speed` copies that run up to 6 % slower or
    faster are looked for, too; `drop` is a new file for the paths that can go.

    Raises `LeakscanError` when no ffmpeg can be used, and `UsageError`.
    """
    files, notes = hearing.without_links(files)
    recordings = [Recording(entry.path, entry.path, entry=entry) for entry in files]
    found = find(recordings, memory, Known(reviews=reviews), tell, speed=speed)
    stated = {entry.path: claims.read(entry, memory) for entry in files}
    rows = edges(found, stated, memory)
    can_go = droppable(found)
    if drop is not None:
        listed = [path for path in can_go if not {"\n", "\r"} & set(path)]
        write_new(drop, "".join(f"{path}\n" for path in listed))
        if len(listed) < len(can_go):
            notes.append(f"{drop} leaves out {len(can_go) - len(listed)} paths that hold a line break")
    unexamined = [Unexamined(path, reason) for path, reason in sorted(found.unread.items())]
    told = {key: stated[key] for key, fp in found.heard.items() if not _is_untold(fp)}
    verdict = claims.judge(told, (found.members(group) for group in found.groups))
    own = by_group(rows)
    findings = [_repeated(group, own[number], found) for number, group in enumerate(found.groups, 1)]
    findings += label_conflicts(found, own, private)
    findings += licence_conflicts(found, stated)
    report = Report(
        row=Edge,
        rows=tuple(rows),
        findings=tuple(findings),
        summary={
            "files": len(files),
            "groups": len(found.groups),
            "files_in_groups": len({key for group in found.groups for key in found.members(group)}),
            "related_pairs": sum(row.relation == "related" for row in rows),
            "can_be_dropped": len(can_go),
            "by_title_and_artist": asdict(verdict),
            **found.reviewed,
        },
        examined=hearing.examined(files, len(unexamined)),
        unexamined=tuple(unexamined),
        notes=(*notes, *remarks(found), *_alone(files)),
    )
    return exhibits.attach(
        report, found.links, found.heard, found.heard, {entry.path: entry for entry in files}, wanted
    )


def find(
    recordings: Iterable[Recording],
    memory: Store | None = None,
    known: Known = Known(),
    tell: Tell | None = None,
    *,
    speed: bool = False,
) -> Repeats:
    """What is repeated among recordings, with `speed` also up to 6 % slower or faster.

    That is tried of files only (against all recordings), each with each, however many: it is for hundreds or a few
    thousand.  Raises `LeakscanError` when no ffmpeg can be used.
    """
    by_key = {one.key: one for one in sorted(recordings, key=lambda one: one.key)}
    files = {key: one.entry for key, one in by_key.items() if one.entry is not None}
    copies: dict[str, tuple[str, Relation]] = {
        copy: (original, "identical-bytes") for original, copy in _equal_bytes(files, memory)
    }
    heard, unread = _hear({key: entry for key, entry in files.items() if key not in copies}, memory, tell)
    copies |= {copy: (original, "identical-audio") for original, copy in _equal_audio(files, heard)}
    heard |= {key: one.fingerprint for key, one in by_key.items() if one.fingerprint is not None}
    for copy, original in known.copies.items():
        copies.setdefault(copy, (copies.get(original, (original,))[0], "identical-bytes"))
    alone = {key: fp for key, fp in heard.items() if key not in copies}
    judged, elsewhere = _judged(alone, files, known.reviews, memory)
    links = _links(alone)
    if speed:
        unread |= _link_at_speeds(links, alone, files, memory, tell)
    reviewed = _apply(judged, links, alone) | ({"reviewed_elsewhere": elsewhere} if elsewhere else {})
    apart = {frozenset(pair) for pair, same in judged.items() if not same}
    grouped = grouping.group(((a, b, one) for (a, b), one in links.items()), apart)
    for copy, (original, _) in copies.items():
        if original in heard:
            heard.setdefault(copy, heard[original])
        elif original in unread:
            unread[copy] = unread[original]
    groups = _with_copies(grouped.groups, copies, heard)
    for copy, (original, _) in copies.items():
        links[original, copy] = alignment.identity(heard.get(copy, _NOTHING))
    return Repeats(by_key, heard, unread, copies, links, tuple(groups), grouped.repeating, reviewed)


def _hear(
    files: Mapping[str, Entry], memory: Store | None, tell: Tell | None
) -> tuple[dict[str, Fingerprint], dict[str, str]]:
    """What is heard of files, of short ones at four phases, and why nothing is heard of the others.

    Small files, which are nearly always short, are asked for their phases at once; a large one that turns out to be
    short is decoded twice.
    """
    small = {key: entry for key, entry in files.items() if entry.size <= _SMALL}
    large = {key: entry for key, entry in files.items() if key not in small}

    def hear(some: Mapping[str, Entry], phases: int, tell: Tell | None = None) -> dict[str, Fingerprint | Unexamined]:
        results = hearing.fingerprint_files(list(some.values()), memory, tell, phases=phases)
        return {key: result for key, (_, result) in zip(some, results, strict=True)}

    found = hear(large, 1, _counted(tell, 0, len(files))) | hear(small, 4, _counted(tell, len(large), len(files)))
    found |= hear({key: entry for key, entry in large.items() if _is_short(found[key])}, 4)
    heard = {key: one if _is_short(one) else replace(one, phases=()) for key, one in found.items()
             if isinstance(one, Fingerprint)}  # fmt: skip
    return heard, {key: one.reason for key, one in found.items() if isinstance(one, Unexamined)}


def _counted(tell: Tell | None, before: int, all_: int) -> Tell | None:
    """Tells of some of all files, of which others were done before."""
    return None if tell is None else lambda done, _: tell(before + done, all_)


def _is_short(heard: Fingerprint | Unexamined) -> bool:
    return isinstance(heard, Fingerprint) and heard.duration < _SHORT_S


def _equal_bytes(files: Mapping[str, Entry], memory: Store | None) -> Iterator[Pair]:
    """(original, copy) for what is equal byte for byte; of several equal files the first by key is the original."""
    sizes = Counter(entry.size for entry in files.values())
    digest = store.sha256 if memory is None else memory.sha256
    return _equal({key: entry for key, entry in files.items() if sizes[entry.size] > 1}, digest)


def _equal_audio(files: Mapping[str, Entry], heard: Mapping[str, Fingerprint]) -> Iterator[Pair]:
    """The same for what is equal sample for sample once decoded; equal fingerprints are not yet proof of that."""
    telling = {key: (fp.words, fp.duration) for key, fp in heard.items() if not fingerprints.is_constant(fp)}
    alike = Counter(telling.values())
    return _equal({key: files[key] for key, sound in sorted(telling.items()) if alike[sound] > 1}, _pcm_digest)


def _equal(files: Mapping[str, Entry], digest: Callable[[Entry], str | bytes | None]) -> Iterator[Pair]:
    first: dict[str | bytes, str] = {}
    for key, value in zip(files, crew.in_threads(digest, list(files.values())), strict=True):
        if value is not None and first.setdefault(value, key) != key:
            yield first[value], key


def _pcm_digest(entry: Entry) -> str | None:
    try:
        with media.on_disk(entry) as path:
            return media.pcm_digest(path, entry.path)
    except Unreadable:
        return None


def _links(heard: Mapping[str, Fingerprint]) -> dict[Pair, Alignment]:
    """What shares audio, by pair of keys."""
    keys = sorted(heard)
    found = likenesses.find([heard[key] for key in keys])
    return {(keys[left], keys[right]): one for (left, right), one in found.items()}


def _link_at_speeds(
    links: dict[Pair, Alignment],
    heard: Mapping[str, Fingerprint],
    files: Mapping[str, Entry],
    memory: Store | None,
    tell: Tell | None,
) -> dict[str, str]:
    """Add to `links` what shares audio when it is played at another speed; which files could not be, and why.

    What is linked by the best grade stays as it is.  Of two files the first by key is played.
    """
    keys = sorted(heard)
    pool = alignment.gather([alignment.prepare(heard[key]) for key in keys])
    played = [key for key in keys if key in files]
    unread = {}
    for start in range(0, len(played), _PLAYED):
        some = played[start : start + _PLAYED]
        results = speeds.play([files[key] for key in some], memory, _counted(tell, start, len(played)))
        for key, (_, result) in zip(some, results, strict=True):
            if isinstance(result, Unexamined):
                unread[key] = result.reason
                continue
            for number, one in speeds.search(result, heard[key].duration, pool).items():
                other = keys[number]
                if other > key:
                    _link(links, (key, other), one)
                elif other < key and other not in files:
                    _link(links, (other, key), one.turned())
    return unread


def _link(links: dict[Pair, Alignment], pair: Pair, one: Alignment) -> None:
    known = links.get(pair)
    if known is None or known.grade != "A":
        links[pair] = one if known is None else speeds.surest(known, one)


# --- what people decided ---------------------------------------------------------------------------------------------


def content_key(fp: Fingerprint | None, entry: Entry | None, memory: Store | None = None) -> str:
    """What reviewed pairs know a recording by (see `reviewing`); "" when there is nothing to know it by."""
    if fp is not None and not _is_untold(fp):
        return reviewing.key_of(fp)
    content = None if entry is None else store.sha256(entry) if memory is None else memory.sha256(entry)
    return "" if content is None else f"sha256:{content.hex()}"


def _is_untold(fp: Fingerprint) -> bool:
    return len(fp) < alignment.MIN_WORDS or fingerprints.is_constant(fp)


def _judged(
    heard: Mapping[str, Fingerprint], files: Mapping[str, Entry], reviews: Reviews, memory: Store | None
) -> tuple[dict[Pair, bool], int]:
    """The reviewed pairs among these recordings, True for the same; and how many pairs are not among them."""
    if not reviews.same:
        return {}, 0
    wanted = {key for pair in reviews.same for key in pair}
    known: dict[str, list[str]] = defaultdict(list)
    for key, fp in sorted(heard.items()):
        content = content_key(fp, files.get(key), memory)
        if content in wanted:
            known[content].append(key)
    judged = {}
    for pair, same in reviews.same.items():
        if len(pair) == 2:
            for one, other in itertools.product(*(known[content] for content in sorted(pair))):
                judged[min(one, other), max(one, other)] = same
    return judged, sum(not all(known[content] for content in pair) for pair in reviews.same)


def _apply(
    judged: Mapping[Pair, bool], links: dict[Pair, Alignment], heard: Mapping[str, Fingerprint]
) -> dict[str, int]:
    """Take out the links that people refused, and put in those that they want; counts of both if there are any."""
    refused = wanted = 0
    for pair, same in judged.items():
        found = links.get(pair)
        if not same:
            refused += 1
            links.pop(pair, None)
        elif found is None or found.grade == "C":
            wanted += 1
            links[pair] = _decreed(*(heard[key] for key in pair)) if found is None else replace(found, grade="B")
    return {"reviewed_different": refused, "reviewed_same": wanted} if judged else {}


def _decreed(a: Fingerprint, b: Fingerprint) -> Alignment:
    """An alignment that nobody measured: the recordings from their starts."""
    whole = (0.0, min(a.duration, b.duration))
    return Alignment(0.0, whole, whole, 1.0, 1.0, 0, "B", 1.0)


# --- groups ----------------------------------------------------------------------------------------------------------


def _with_copies(
    groups: Sequence[Group], copies: Mapping[str, tuple[str, Relation]], heard: Mapping[str, Fingerprint]
) -> list[Group]:
    """Put every copy into the group that holds most of its original, or into a new one; groups sorted."""
    members = [list(one.members) for one in groups]
    pairs = [list(one.edges) for one in groups]
    home: dict[str, tuple[float, int, tuple[float, float]]] = {}  # where most of a recording is
    for number, one in enumerate(groups):
        for key, start, end in one.members:
            held = start - end, number, (start, end)
            home[key] = min(home.get(key, held), held)
    # what is equal byte for byte may equal a copy, which then has to have its place
    for copy, (original, _) in sorted(copies.items(), key=lambda one: (one[1][0] in copies, one[0])):
        if original not in home:
            whole = (0.0, heard.get(original, _NOTHING).duration)
            home[original] = (0.0, len(members), whole)
            members.append([(original, *whole)])
            pairs.append([])
        _, number, span = home[original]
        members[number].append((copy, *span))
        pairs[number].append((original, copy))
        home[copy] = home[original]
    made = (Group(tuple(sorted(own)), tuple(sorted(linked))) for own, linked in zip(members, pairs, strict=True))
    return sorted(made, key=lambda one: (one.members, one.edges))


def edges(found: Repeats, stated: Mapping[str, Claims], memory: Store | None = None) -> list[Edge]:
    """The rows of a report, by group; those of group 0, which belong to none, last."""
    keep = {number: kept(group, found) for number, group in enumerate(found.groups, 1)}
    number_of = {pair: number for number, group in enumerate(found.groups, 1) for pair in group.edges}
    contents: dict[str, str] = {}

    def content(key: str) -> str:
        if key not in contents:
            contents[key] = content_key(found.heard.get(key), found.recordings[key].entry, memory)
        return contents[key]

    rows = []
    for (a, b), one in sorted(found.links.items()):
        number = number_of.get((a, b), 0)
        original, proof = found.copies.get(b, ("", "related"))
        coverage_a, coverage_b = (one.alike * found.coverage(*side) for side in ((a, one.span_a), (b, one.span_b)))
        best, reason = keep.get(number, ("", ""))
        rows.append(
            Edge(
                group=number,
                set_a=found.recordings[a].set,
                a=found.recordings[a].name,
                set_b=found.recordings[b].set,
                b=found.recordings[b].name,
                relation=proof if original == a else _relation(one, coverage_a, coverage_b),
                score=one.score,
                offset_s=one.offset_s,
                overlap_s=one.overlap_s,
                speed=one.speed,
                coverage_a=coverage_a,
                coverage_b=coverage_b,
                title_artist_agree=claims.agree(stated.get(a), stated.get(b)),
                keep=found.recordings[best].name if best else "",
                key_a=content(a),
                key_b=content(b),
                reason=reason,
            )
        )
    return sorted(rows, key=lambda row: (not row.group, row.group))


def _relation(found: Alignment, coverage_a: float, coverage_b: float) -> Relation:
    if found.grade == "C":
        return "related"
    if found.speed != 1.0:
        return "speed-changed"
    covered = (coverage_a >= _COVERED) + (coverage_b >= _COVERED)
    relations: tuple[Relation, ...] = ("partial", "excerpt", "same-recording")
    return relations[covered]


def kept(group: Group, found: Repeats) -> tuple[str, str]:
    """The copy to keep, and why: the longest recording (to half a second, without silence at its ends), of those the
    largest file, then the first by name.

    Files that hold the same samples count as large as the smallest of them: a WAV holds no more than its FLAC.  A
    medley is kept for its own sake, not in place of others, and so is what was not heard as it is.
    """
    everyone = found.members(group)
    keys = [key for key in everyone if key not in found.several] or everyone
    keys = [key for key in keys if not found.heard.get(key, _NOTHING).notes] or keys
    length = {key: end - start for key in everyone for start, end in [found.sounding(key)]}
    longest = max(length[key] for key in keys)
    as_long = [key for key in keys if length[key] >= longest - _AS_LONG_S]
    samples = {key: found.original(key) for key in as_long}
    size = {one: min(found.size(key) for key in as_long if samples[key] == one) for one in samples.values()}
    largest = max(size.values())
    as_large = [key for key in as_long if found.size(key) == size[samples[key]] == largest]
    best = as_large[0]
    silence = found.duration(best) - length[best]
    of = f"{longest:.1f} s" + (" without the silence at its ends" if silence > _AS_LONG_S else "")
    if max(length.values()) > longest + _AS_LONG_S:
        of += "; what is longer is a medley, or was not heard as it is"
    if len(as_long) == 1:
        return best, f"the longest, {of}"
    if len(as_large) == 1:
        more = found.size(best) < max(map(found.size, as_long))
        text = f"of {len(as_long)} as long ({of}) the largest file, {largest:,} bytes"
        return best, text + (" (what is larger holds the samples of a smaller one)" if more else "")
    return best, f"of {len(as_large)} as long and as large the first by name"


def droppable(found: Repeats) -> list[str]:
    """The names of the files that can go without a loss, sorted: what the copy that is kept holds nearly all of.

    What shares only a part with it stays, what takes part in several groups, and what was not heard as it is (a film
    of two sounds, say): these are for people to judge.
    """
    return sorted(
        found.recordings[key].name
        for group in found.groups
        for keep in [kept(group, found)[0]]
        for key in found.members(group)
        if key not in found.several and key != keep and found.is_held(key, keep)
    )


# --- findings and notes ----------------------------------------------------------------------------------------------


def by_group(rows: Iterable[Edge]) -> dict[int, list[Edge]]:
    """The rows of every group, by its number."""
    found: dict[int, list[Edge]] = defaultdict(list)
    for row in rows:
        found[row.group].append(row)
    return found


def _repeated(group: Group, own: Sequence[Edge], found: Repeats) -> Finding:
    keep, reason = kept(group, found)
    names = [found.recordings[key].name for key in found.members(group)]
    return Finding(
        "duplicate-recording",
        "warning",
        "proven" if _is_proven(own) else "strong",
        f"{len(names)} files hold the same audio ({relations(own)}); keep one: {reason}",
        Place(found.recordings[keep].name),
        count=len(names),
        places=tuple(map(Place, names[:PLACES])),
        related=tuple(Place(name) for name in names if name != found.recordings[keep].name)[:PLACES],
    )


def _is_proven(rows: Iterable[Edge]) -> bool:
    return all(row.relation.startswith("identical") for row in rows)


def relations(rows: Iterable[Edge]) -> str:
    """The relations of some rows, as a list for people."""
    return ", ".join(sorted({row.relation for row in rows}))


def label_conflicts(found: Repeats, rows: Mapping[int, Sequence[Edge]], private: Private) -> Iterator[Finding]:
    """Copies of one recording whose gold differs: one finding a group and field.  Parts of recordings may differ."""
    for number, group in enumerate(found.groups, 1):
        whole = {row.relation for row in rows[number]} <= set(_COPIES)
        values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for key in found.members(group):
            name = found.recordings[key].name
            owner = owners.key_of(Item(Place(name), "audio"), private.gold)
            for column, value in private.gold[owner].items() if owner is not None else ():
                if value.strip():
                    values[column][" ".join(value.casefold().split())].append(name)
        for column, files in sorted(values.items()):
            if len(files) > 1:
                text = f"copies of one recording have {len(files)} different values of '{column}' in the gold"
                places = [name for names in files.values() for name in names]
                yield _conflict("label-conflict", "strong" if whole else "weak", text, places)


def licence_conflicts(found: Repeats, stated: Mapping[str, Claims]) -> Iterator[Finding]:
    """Copies of one recording whose tags state different licences or copyrights: one finding a group and sort."""
    for group in found.groups:
        for sort in ("licence", "copyright"):
            texts: dict[tuple[str, ...], list[str]] = defaultdict(list)
            for key in found.members(group):
                if words := getattr(stated.get(key, Claims()), sort):
                    texts[words].append(found.recordings[key].name)
            if len(texts) > 1:
                text = f"copies of one recording state {len(texts)} different {sort}s in their tags"
                places = [name for names in texts.values() for name in names]
                yield _conflict("licence-conflict", "strong", text, places)


def _conflict(rule: str, confidence: str, text: str, names: list[str]) -> Finding:
    names = sorted(names)
    return Finding(
        rule, "warning", "strong" if confidence == "strong" else "weak", text, Place(names[0]), count=len(names),
        places=tuple(map(Place, names[:PLACES])),
    )  # fmt: skip


def remarks(found: Repeats) -> Iterator[str]:
    """What a reader of the groups has to know."""
    for key, fp in sorted(found.heard.items()):
        name = found.recordings[key].name
        yield from hearing.how_heard(name, fp)
        yield from hearing.untold(name, fp)
    for key, numbers in found.several.items():
        text = ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")
        yield f"{found.recordings[key].name} takes part in several groups ({text}) and joins none of them: a medley?"
    for a, b in found.repeating:
        names = found.recordings[a].name, found.recordings[b].name
        yield f"{names[0]} and {names[1]} repeat inside: they lie on each other in several ways"
    if decreed := sum(one.bit_error == 1.0 for one in found.links.values()):
        yield f"{decreed} pairs are joined by their reviewers alone: offset and overlap of these were not measured"
    if elsewhere := found.reviewed.get("reviewed_elsewhere"):
        yield (f"{elsewhere} of the reviewed pairs name a recording that is not among these; judge a pair again if "
               "its files are here: other versions of ffmpeg may give other keys")  # fmt: skip


def _alone(files: Sequence[Entry]) -> Iterator[str]:
    if len(files) == 1:
        yield "only one audio file: there is nothing to compare"


# --- files that are written ------------------------------------------------------------------------------------------


def absent(path: Path) -> None:
    """Raise `UsageError` when there is something at `path`: what people wrote or use is never overwritten."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path}: exists already; name a new file, or remove it first")


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet.  Raises `UsageError`, `LeakscanError`."""
    try:
        with path.open("x", encoding="utf-8", errors="surrogateescape", newline="") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise UsageError(f"{path}: exists already; name a new file, or remove it first") from error
    except OSError as error:
        raise LeakscanError(f"{path}: cannot be written ({error.strerror}); check the folder") from error
