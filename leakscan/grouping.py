"""Alignments -> groups that do not chain.

The nodes are stretches of files, not files: a medley takes part in a group with each of its parts and joins none of
them.  Alignments, best first, join stretches in a union-find that carries offsets, so that a circle whose offsets do
not add up (music that repeats inside) is refused.  Every member of a group is linked to the group's centre itself:
likeness to a likeness is not enough.  Related audio (grade C) joins nothing, and files that somebody has judged to be
different are never in one group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from leakscan.model import Alignment, Group

_SHARED_S = 8.0  # two stretches of a file are one when they share this much ...
_SHARED = 0.5  # ... and this share of what either covers;
_SAME = 0.9  # shorter ones only when they are nearly equal
_CIRCLE_S = 0.25
_SLACK_S = 0.5

Link = tuple[str, str, Alignment]
Pair = tuple[str, str]
_Span = tuple[float, float]
_Apart = Collection[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups, sorted; `repeating` are the pairs of edges whose offset contradicts others of their group: such music
    repeats inside, and lies on itself in several ways."""

    groups: tuple[Group, ...]
    repeating: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True)
class _Node:
    file: str
    number: int


class _Atoms:
    """The distinct stretches of every file, in the order in which they were met."""

    def __init__(self) -> None:
        self.spans: dict[str, list[_Span]] = defaultdict(list)

    def at(self, file: str, span: _Span) -> _Node:
        for number, known in enumerate(self.spans[file]):
            if _same(known, span):
                return _Node(file, number)
        self.spans[file].append(span)
        return _Node(file, len(self.spans[file]) - 1)

    def span(self, node: _Node) -> _Span:
        return self.spans[node.file][node.number]


class _Offsets:
    """A union-find over nodes; each knows where its file's start lies on the time line of its root's file."""

    def __init__(self) -> None:
        self.parent: dict[_Node, tuple[_Node, float]] = {}

    def root(self, node: _Node) -> tuple[_Node, float]:
        shift = 0.0
        while node in self.parent:
            node, step = self.parent[node]
            shift += step
        return node, shift

    def join(self, a: _Node, b: _Node, offset: float) -> bool:
        """Join b, whose start lies at `offset` on a's time line; False when another path says otherwise."""
        (root_a, shift_a), (root_b, shift_b) = self.root(a), self.root(b)
        if root_a == root_b:
            return abs(shift_a + offset - shift_b) <= _CIRCLE_S
        self.parent[root_b] = (root_a, shift_a + offset - shift_b)
        return True


def group(links: Iterable[Link], apart: _Apart = frozenset()) -> Grouping:
    """Groups of stretches that hold the same audio; independent of the order of `links`, and of either side of one.

    A link is (file a, file b, their alignment), one for a pair of files.  Every link of grade A or B ends up in
    exactly one group, as (a, b) in `Group.edges`, a before b.  The pairs of files in `apart` share no group.
    """
    left = sorted(
        (_forward(link) for link in links if link[2].grade != "C" and frozenset(link[:2]) not in apart), key=_best_first
    )
    stars: list[_Star] = []
    while left:
        found = _stars(left, apart)
        stars.extend(found)
        used = {id(link) for star in found for link in star.links}
        left = [link for link in left if id(link) not in used]
    repeating = sorted(link[:2] for star in stars for link in star.repeating)
    return Grouping(_nested([star.group for star in stars], apart), tuple(repeating))


def in_several(groups: Sequence[Group]) -> dict[str, tuple[int, ...]]:
    """The files that take part in several groups, with the numbers (from 1) of these: medleys, and what is in many.

    They join none of their groups to another.
    """
    found: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(groups, 1):
        for file in dict.fromkeys(file for file, _, _ in one.members):
            found[file].append(number)
    return {file: tuple(numbers) for file, numbers in sorted(found.items()) if len(numbers) > 1}


def _forward(link: Link) -> Link:
    """The link as seen from the first of its files by name."""
    a, b, found = link
    if a <= b:
        return link
    return b, a, found.turned()


def _best_first(link: Link) -> tuple[object, ...]:
    a, b, alignment = link
    return (alignment.speed != 1.0, alignment.grade, -round(alignment.overlap_s, 3), alignment.bit_error, a, b)


@dataclass(frozen=True, slots=True)
class _Star:
    group: Group
    links: list[Link]
    repeating: list[Link]


_Joined = tuple[_Node, _Node, Link]


def _stars(links: list[Link], apart: _Apart) -> list[_Star]:
    """One pass: join what fits together, then keep of every component its centre and what is linked to that."""
    atoms, offsets = _Atoms(), _Offsets()
    kept: list[_Joined] = []
    refused: list[_Joined] = []
    for link in links:
        a, b, alignment = link
        node_a, node_b = atoms.at(a, alignment.span_a), atoms.at(b, alignment.span_b)
        # at another speed an offset holds at one moment only: it contradicts nothing
        fits = offsets.join(node_a, node_b, alignment.offset_s) or alignment.speed != 1.0
        (kept if fits else refused).append((node_a, node_b, link))
    components: dict[_Node, tuple[list[_Joined], list[_Joined]]] = defaultdict(lambda: ([], []))
    for which, all_joined in enumerate((kept, refused)):
        for joined in all_joined:
            components[offsets.root(joined[0])[0]][which].append(joined)
    stars = []
    for component, contradicting in components.values():
        members = _members(component, apart)
        own = [link for a, b, link in component if a in members and b in members]
        repeating = [link for a, b, link in contradicting if a in members and b in members]
        spans = tuple(sorted((node.file, *atoms.span(node)) for node in members))
        edges = tuple(sorted((a, b) for a, b, _ in own + repeating))
        stars.append(_Star(Group(spans, edges), own + repeating, repeating))
    return stars


def _members(component: list[_Joined], apart: _Apart) -> set[_Node]:
    """The centre of a component, which is linked to most and most closely, and what is linked to it, best first."""
    degree: Counter[_Node] = Counter()
    unlike: Counter[_Node] = Counter()
    for a, b, (*_, alignment) in component:
        for node in (a, b):
            degree[node] += 1
            unlike[node] += round(alignment.bit_error * 1e6)
    centre = min(degree, key=lambda node: (-degree[node], unlike[node], node.file, node.number))
    members = {centre}
    for a, b, _ in component:
        if centre in (a, b):
            other = b if a == centre else a
            if not any(frozenset((other.file, member.file)) in apart for member in members):
                members.add(other)
    return members


def _nested(groups: list[Group], apart: _Apart) -> tuple[Group, ...]:
    """Put a group into the wider one that all its stretches lie in, apart from those of files that are in no other.

    So an excerpt is listed with the recording it is cut from and that recording's copies.  A jingle that several
    recordings share lies in several wider groups and stays a group of its own.  What files share that are together
    already, in a wider group, joins nothing more and is listed there: two excerpts that overlap, say.
    """
    order = sorted(groups, key=lambda one: (-max(end - start for _, start, end in one.members), one.members, one.edges))
    merged: list[list[Group]] = []
    holding: dict[str, list[tuple[int, _Span]]] = defaultdict(list)  # file -> number of a group, its stretch there
    within: dict[str, set[int]] = defaultdict(set)  # file -> numbers of the groups it came to be in
    for one in order:
        homes: set[int] = set()
        for file, start, end in one.members:
            homes.update(number for number, wide in holding[file] if _inside((start, end), wide))
        together = set.intersection(*(within[file] for file, _, _ in one.members))
        if len(homes) == 1 and _agree([one, *merged[min(homes)]], apart):
            number = min(homes)
        elif together:
            number = min(together)
        else:
            number = len(merged)
            merged.append([])
            for file, start, end in one.members:
                holding[file].append((number, (start, end)))
        merged[number].append(one)
        for file, _, _ in one.members:
            within[file].add(number)
    return tuple(sorted((_union(parts) for parts in merged), key=lambda one: (one.members, one.edges)))


def _agree(groups: Iterable[Group], apart: _Apart) -> bool:
    """Whether no two files of the groups are to be kept apart."""
    files = {file for one in groups for file, _, _ in one.members}
    return not any(pair <= files for pair in apart)


def _union(parts: list[Group]) -> Group:
    widest: dict[str, tuple[str, float, float]] = {}
    for part in parts:  # the widest first
        for member in part.members:
            widest.setdefault(member[0], member)
    return Group(tuple(sorted(widest.values())), tuple(sorted(edge for part in parts for edge in part.edges)))


def _inside(span: _Span, wide: _Span) -> bool:
    return wide[0] - _SLACK_S <= span[0] and span[1] <= wide[1] + _SLACK_S and not _same(span, wide)


def _same(a: _Span, b: _Span) -> bool:
    shared = min(a[1], b[1]) - max(a[0], b[0])
    if shared <= 0:
        return False
    share = shared / (max(a[1], b[1]) - min(a[0], b[0]))
    return share >= _SAME or (share >= _SHARED and shared >= _SHARED_S)
