"""Indexes of a Matroska file: whether they say no more than where and when something begins; and one made anew.

Source: RFC 9559 (Matroska) sections 5.1.1 (SeekHead), 5.1.5 (Cues).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from leakscan.clusters import BLOCK, CLUSTER, GROUP, SIMPLE_BLOCK
from leakscan.ebml import make, size, unsigned
from leakscan.elements import Element, Walk

SEEK_HEAD, CUES = 0x114D9B74, 0x1C53BB6B

_KINDS, _PLACE = (0x4DBB, 0xBB), 0xB7  # entries, and what they hold
_SEEK_NAME, _SEEK_PLACE = 0x53AB, 0x53AC
_CUE_TIME, _CUE_TRACK, _CUE_PLACE, _CUE_OFFSET, _CUE_NUMBER = 0xB3, 0xF7, 0xF1, 0xF0, 0x5378
_OF_CUE = {_CUE_TIME, _CUE_TRACK, _CUE_PLACE, _CUE_OFFSET, _CUE_NUMBER}
_POSITIONS = {_SEEK_NAME, _SEEK_PLACE, *_OF_CUE}
_WHOLE = b"(%b)" % b"|".join(rb"[\x%02x][\x00-\xff]{%d}" % (0x80 | count, count) for count in range(1, 9))
_POINT = re.compile(  # as writers make them: a time, and below it a track, where its cluster is, and where in that
    rb"\xbb([\x80-\xfe])\xb3%b\xb7([\x80-\xfe])\xf7%b\xf1%b(?:\xf0%b)?" % (4 * (_WHOLE,))
)
_POINT_SIZE = 64  # bytes, more than the longest has
_MOST_NUMBER = 255  # of a block in its cluster
_MOST_TRACK = 126  # as many numbers have one byte


class Indexes:
    """Looks at the indexes of a segment, which a `walk` goes through.

    It has to be told of `places`, what is in the segment by where it begins in there, and of `times`, those of clusters
    by where these begin.
    """

    def __init__(self) -> None:
        self.places: dict[int, Element] = {}
        self.times: dict[int, int] = {}
        self._points: list[tuple[Element, dict[int, int]]] = []  # usual entries, and what they say
        self._entries: list[list[Element]] = []  # what others say

    def note(self, walk: Walk, element: Element) -> None:
        """An index is made anew; what it holds beside positions and times is an extra."""
        walk.drop(element.start, element.body)
        for child in walk.children(element):
            if child.id not in _KINDS:
                walk.extra(child)
                continue
            says = _usual_point(walk.at(child.start, min(child.end - child.start, _POINT_SIZE)))
            if says is not None:
                walk.left -= len(says)
                self._points.append((child, says))
            else:
                self._entries.append(self._entry(walk, child))

    def _entry(self, walk: Walk, element: Element) -> list[Element]:
        """Note an entry of an index but for what it says, which is returned."""
        walk.drop(element.start, element.body)
        entry: list[Element] = []
        for below in walk.children(element):
            if below.id == _PLACE:
                walk.drop(below.start, below.body)
                entry += walk.children(below)
            else:
                entry.append(below)
        for said in entry:
            if said.id not in _POSITIONS or said.end - said.body > 8:
                walk.extra(said)
        return [said for said in entry if said.id in _POSITIONS and said.end - said.body <= 8]

    def verify(self, walk: Walk) -> None:
        """Note what entries of an index say, which is nothing if it is so."""
        for element, says in self._points:
            if self._is_so(walk, says):
                walk.drop(element.start, element.end)
            else:
                self._entries.append(self._entry(walk, element))
        for entry in self._entries:
            says = {said.id: int.from_bytes(walk.at(said.body, said.end - said.body), "big") for said in entry}
            right = len(says) == len(entry) and self._is_so(walk, says)
            for said in entry:
                if right:
                    walk.drop(said.start, said.end)
                else:
                    walk.note("stale", "index", said)

    def _is_so(self, walk: Walk, says: Mapping[int, int]) -> bool:
        """Whether something begins where an index says, by the IDs of the elements in which it does."""
        place = self.places.get(says.get(_SEEK_PLACE, says.get(_CUE_PLACE, -1)))
        if place is None:
            return False
        if says.keys() <= {_SEEK_NAME, _SEEK_PLACE}:
            return place.id == says.get(_SEEK_NAME)
        return (
            place.id == CLUSTER
            and says.keys() <= _OF_CUE
            and says.get(_CUE_TRACK, 0) <= _MOST_TRACK
            and says.get(_CUE_NUMBER, 0) <= _MOST_NUMBER
            and self._is_played(walk, place, says.get(_CUE_TIME, -1), says.get(_CUE_OFFSET))
        )

    def _is_played(self, walk: Walk, cluster: Element, time: int, offset: int | None) -> bool:
        """Whether at that time a block is played that is in a cluster at this offset, where it is known."""
        relative = time - self.times.get(cluster.start, 0)
        if offset is None:
            return 0 <= relative < 1 << 15
        block = walk.element(cluster.body + offset, cluster.end)
        if block is not None and block.id == GROUP:
            block = next((child for child in walk.elements(block.body, block.end) if child.id == BLOCK), None)
        if block is None or block.id not in (BLOCK, SIMPLE_BLOCK):
            return False
        data = walk.at(block.body, 12)
        number = size(data)
        return number is not None and data[number[1] : number[1] + 2] == (relative & 0xFFFF).to_bytes(2, "big")


def _usual_point(data: bytes) -> dict[int, int] | None:
    """What a usual entry of an index says, by the IDs of the elements in which it does; None of others."""
    found = _POINT.fullmatch(data)
    if found is None or found[1][0] != 0x80 + len(data) - 2 or found[3][0] != 0x80 + len(data) - found.end(3):
        return None
    values = zip((_CUE_TIME, _CUE_TRACK, _CUE_PLACE, _CUE_OFFSET), found.group(2, 4, 5, 6), strict=True)
    return {kind: int.from_bytes(value[1:], "big") for kind, value in values if value}


def indexed(clusters: Sequence[tuple[int, int, int]], base: int) -> tuple[bytes, bytes]:
    """What says where the index of a segment is, and that index; between them are `base` bytes and the `clusters`, of
    which it needs the times, the tracks of their first blocks, and the lengths."""
    name = make(_SEEK_NAME, CUES.to_bytes(4, "big"))
    position = base + len(_seek(name, 0))
    points = []
    for time, track, length in clusters:
        place = make(_PLACE, unsigned(_CUE_TRACK, track), unsigned(_CUE_PLACE, position))
        points.append(make(_KINDS[1], unsigned(_CUE_TIME, time), place))
        position += length
    return _seek(name, position), make(CUES, *points)


def _seek(name: bytes, position: int) -> bytes:
    return make(SEEK_HEAD, make(_KINDS[0], name, make(_SEEK_PLACE, position.to_bytes(8, "big"))))
