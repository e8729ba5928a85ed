"""Indexes of the fragments of an MP4 file: whether they say no more than where and when these are.

Sources: ISO/IEC 14496-12 sections 8.8.10 (tfra), 8.8.11 (mfro) and 8.16.3 (sidx).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from leakscan.boxes import Track, number
from leakscan.boxwalk import Box, Walk
from leakscan.model import Unreadable

_ACCESS = (0, 0x80000000, 0x90000000)  # nothing, or a point at which decoding may begin, of no or of the first type


class Piece(NamedTuple):
    """What a fragment has of a track: where it begins in the file, when it begins and how long it lasts there."""

    start: int
    time: int
    duration: int


class Indexes:
    """Looks at indexes of `pieces`, by number of their track; `edges` are where boxes begin and the file ends."""

    def __init__(
        self, walk: Walk, tracks: Sequence[Track], pieces: Mapping[int, Sequence[Piece]], edges: Collection[int]
    ) -> None:
        self._walk = walk
        self._tracks = {track.id: track for track in tracks}
        self._pieces = pieces
        self._edges = edges

    def note(self, box: Box) -> None:
        """Note an index (`sidx` or `mfra`), as an extra where it says something else or is broken."""
        try:
            children = list(self._walk.boxes(box.body, box.end)) if box.kind == b"mfra" else []
        except Unreadable:
            self._walk.extra(box)
            return
        if children:
            self._walk.header(box.start, box.body)
        for child in children or (box,):
            try:
                right = self._is_right(child, box)
            except ValueError:  # too short
                right = False
            if right:
                self._walk.header(child.start, child.end)
            else:
                self._walk.extra(child)

    def _is_right(self, box: Box, parent: Box) -> bool:
        if box.kind == b"mfro":
            return self._walk.body(box) == bytes(4) + (parent.end - parent.start).to_bytes(4, "big")
        if box.kind == b"tfra":
            return self._random_access(box)
        return box.kind == b"sidx" and self._segments(box)

    def _lag(self, track: Track) -> int:
        """By how much sound may be played before it is decoded; without an edit list, what encoders need."""
        return max((edit.time for edit in track.edits), default=track.timescale // 10)

    def _random_access(self, tfra: Box) -> bool:
        """Does it give a time and a place of fragments, and the first sample in them?"""
        body = self._walk.body(tfra)
        width = 8 if number(body, 0, 1) == 1 else 4
        track = self._tracks.get(number(body, 4))
        lengths, count = number(body, 8), number(body, 12)
        counts = sum((lengths >> shift & 3) + 1 for shift in (4, 2, 0))
        if track is None or lengths >> 6 or number(body, 0, 4) & 0xFFFFFF:
            return False
        row = 2 * width + counts
        if len(body) != 16 + count * row:
            return False
        firsts = b"".join((1).to_bytes((lengths >> shift & 3) + 1, "big") for shift in (4, 2, 0))
        pieces = self._pieces.get(track.id, ())
        times = {piece.start: piece.time for piece in pieces}
        for offset in range(16, len(body), row):
            time, place = number(body, offset, width), number(body, offset + width, width)
            there = times.get(place, -1)
            if not place and pieces and offset + row == len(body):  # GStreamer ends with its last sample, of nowhere
                there = time if pieces[-1].time <= time <= pieces[-1].time + pieces[-1].duration else -1
            if (
                there < 0
                or not there - self._lag(track) <= time <= there
                or body[offset + 2 * width :][:counts] != firsts
            ):
                return False
        return True

    def _segments(self, sidx: Box) -> bool:
        """Does it give the sizes of fragments that follow it, and how long they last?"""
        body = self._walk.body(sidx)
        width = 8 if number(body, 0, 1) == 1 else 4
        track = self._tracks.get(number(body, 4))
        start = 12 + 2 * width
        count = number(body, start)  # after two reserved bytes
        if track is None or number(body, 8) != track.timescale or len(body) != start + 4 + 12 * count:
            return False
        pieces = self._pieces.get(track.id, ())
        place = sidx.end + number(body, 12 + width, width)
        first = bisect_left(pieces, (place,))
        lag = self._lag(track)
        time = number(body, 12, width)
        if (
            place not in self._edges
            or first == len(pieces)
            or not pieces[first].time - lag <= time <= pieces[first].time
        ):
            return False
        for offset in range(start + 4, len(body), 12):
            size, duration = number(body, offset) & 0x7FFFFFFF, number(body, offset + 4)
            place += size
            last = bisect_left(pieces, (place,))
            true = sum(piece.duration for piece in pieces[first:last])
            if (
                place not in self._edges
                or not true - lag <= duration <= true
                or number(body, offset + 8) not in _ACCESS
            ):
                return False
            first = last
        return True
