"""Alignments -> groups that do not chain.

The nodes are stretches of files, not files: a medley takes part in a group with each of its parts and joins none of
them.  Alignments, best first, join stretches in a union-find that carries offsets, so that a circle whose offsets do
not add up (music that repeats inside) is refused.  Every member of a group is linked to the group's centre itself:
likeness to a likeness is not enough.  Related audio (grade C) joins nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from leakscan.model import Alignment, Group

_SHARED_S = 8.0  # two stretches of a file are one when they share this much ...
_SHARED = 0.5  # ... and this share of what either covers;
_SAME = 0.9  # shorter ones only when they are nearly equal
_CIRCLE_S = 0.25
_SLACK_S = 0.5

Link = tuple[str, str, Alignment]
_Span = tuple[float, float]


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


def group(links: Iterable[Link]) -> tuple[Group, ...]:
    """Groups of stretches that hold the same audio, the widest first; independent of the order of `links`.

    A link is (file a, file b, their alignment), one for a pair of files.  Every link of grade A or B ends up in
    exactly one group, as (a, b) in `Group.edges`.
    """
    left = sorted((link for link in links if link[2].grade != "C"), key=_best_first)
    stars: list[tuple[Group, list[Link]]] = []
    while left:
        found = _stars(left)
        stars.extend(found)
        used = {id(link) for _, own in found for link in own}
        left = [link for link in left if id(link) not in used]
    return _nested([star for star, _ in stars])


def _best_first(link: Link) -> tuple[object, ...]:
    a, b, alignment = link
    return (alignment.grade, -round(alignment.overlap_s, 3), alignment.bit_error, a, b)


def _stars(links: list[Link]) -> list[tuple[Group, list[Link]]]:
    """One pass: join what fits together, then keep of every component its centre and what is linked to that."""
    atoms, offsets = _Atoms(), _Offsets()
    kept: list[tuple[_Node, _Node, Link]] = []
    for link in links:
        a, b, alignment = link
        node_a, node_b = atoms.at(a, alignment.span_a), atoms.at(b, alignment.span_b)
        if offsets.join(node_a, node_b, alignment.offset_s):
            kept.append((node_a, node_b, link))
    components: dict[_Node, list[tuple[_Node, _Node, Link]]] = defaultdict(list)
    for joined in kept:
        components[offsets.root(joined[0])[0]].append(joined)
    stars = []
    for component in components.values():
        degree = Counter(node for a, b, _ in component for node in (a, b))
        centre = min(degree, key=lambda node: (-degree[node], node.file, node.number))
        members = {centre} | {b if a == centre else a for a, b, _ in component if centre in (a, b)}
        own = [(a, b, link) for a, b, link in component if a in members and b in members]
        stars.append(
            (
                Group(
                    tuple(sorted((node.file, *atoms.span(node)) for node in members)),
                    tuple(sorted((a.file, b.file) for a, b, _ in own)),
                ),
                [link for *_, link in own],
            )
        )
    return stars


def _nested(groups: list[Group]) -> tuple[Group, ...]:
    """Put a group into the wider one that all its stretches lie in, apart from those of files that are in no other.

    So an excerpt is listed with the recording it is cut from and that recording's copies.  A jingle that several
    recordings share lies in several wider groups and stays a group of its own.
    """
    order = sorted(groups, key=lambda one: (-max(end - start for _, start, end in one.members), one.members, one.edges))
    merged: list[list[Group]] = []
    holding: dict[str, list[tuple[int, _Span]]] = defaultdict(list)  # file -> number of a group, its stretch there
    for one in order:
        homes: set[int] = set()
        for file, start, end in one.members:
            homes.update(number for number, wide in holding[file] if _inside((start, end), wide))
        if len(homes) == 1:
            merged[homes.pop()].append(one)
            continue
        for file, start, end in one.members:
            holding[file].append((len(merged), (start, end)))
        merged.append([one])
    return tuple(sorted((_union(parts) for parts in merged), key=lambda one: one.members))


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
