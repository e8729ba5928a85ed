"""Fragments of an MP4 file: runs of samples that follow its header, and the indexes of them.

Sources: ISO/IEC 14496-12 sections 8.8 (fragments) and 8.16.3 (sidx).
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import replace

from leakscan.blocks import damaged, size_of
from leakscan.boxes import Movie, Track, number, signed, words
from leakscan.boxindexes import Piece
from leakscan.boxwalk import Box, Walk, only
from leakscan.model import Part, Unreadable


class Fragments:
    """Adds the samples of fragments to those of the tracks."""

    def __init__(self, walk: Walk, movie: Movie) -> None:
        self.walk = walk
        self.tracks = {track.id: track for track in movie.tracks}
        self.defaults = movie.defaults
        self.left = size_of(walk.stream)  # no byte is in two samples; bounds what a small fragment may promise
        self.times = {track.id: track.duration for track in movie.tracks}
        self.begun: dict[int, int] = {}
        self.sequence = 0  # the number of the last fragment
        self.pieces: dict[int, list[Piece]] = {track.id: [] for track in movie.tracks}

    def add(self, moof: Box) -> None:
        found = self.walk.children(moof, b"mfhd", b"traf")
        for box in found.get(b"mfhd", ()):
            body = self.walk.body(box)
            before, self.sequence = self.sequence, number(body, 4)
            follows = self.sequence - before in (0, 1) or (not before and self.sequence < MOST)
            self.walk.known(box, 8, _odd("number", 8, follows and not number(body, 0)))
        end = moof.start
        for traf in found.get(b"traf", ()):
            end = self._track(traf, moof.start, end)

    def _track(self, traf: Box, moof: int, end: int) -> int:
        """Add what a fragment has of one track; where its samples end."""
        found = self.walk.children(traf, b"tfhd", b"tfdt", b"trun")
        (tfhd,) = only(found, b"tfhd")
        body = self.walk.body(tfhd)
        flags, track_id, offset = number(body, 1, 3), number(body, 4), 8
        base = moof if flags & 0x20000 else end
        if flags & 1:
            base, offset = number(body, offset, 8), offset + 8
        values = [*self.defaults.get(track_id, (1, 0, 0))]  # sample entry, duration, size
        for index, flag in enumerate((2, 8, 0x10)):
            if flags & flag:
                values[index], offset = number(body, offset), offset + 4
        told = number(body, offset) if flags & 0x20 else 0
        offset += 4 if flags & 0x20 else 0
        right = not flags & ~_OF_TRACK and not body[0] and track_id < MOST and usual_defaults(values, told)
        self.walk.known(tfhd, offset, _odd("defaults", offset, right))
        track = self.tracks.get(track_id)
        for box in found.get(b"tfdt", ())[:1]:
            self._time(box, track)
        end, before = base, self.times.get(track_id, 0)
        for box in found.get(b"trun", ()):
            end = self._run(box, track, values, base, end)
        if track is not None:
            time = before + self.begun.get(track_id, 0)
            self.pieces[track_id].append(Piece(moof, time, self.times[track_id] - before))
        return end

    def _time(self, tfdt: Box, track: Track | None) -> None:
        """Make up for a gap before the fragment by a longer sample; when the first one begins says nothing."""
        body = self.walk.body(tfdt)
        width = 8 if number(body, 0, 1) == 1 else 4
        start = number(body, 4, width)
        late = start // track.timescale > _DAY if track else start >= MOST  # counted from a date
        kind = "unknown" if number(body, 0) & 0xFEFFFFFF else "date"
        self.walk.known(tfdt, 4 + width, [Part(kind, "time", 0, 4 + width, b"")] if late or kind == "unknown" else [])
        if track is None:
            return
        gap = start - self.times[track.id] - self.begun.setdefault(track.id, start - self.times[track.id])
        durations = track.samples.durations
        if gap < 0 or (gap and not durations):
            raise damaged("its fragments overlap in time")
        if gap:
            durations[-2] -= 1
            durations.extend((1, durations[-1] + gap))
            self.times[track.id] += gap

    def _run(self, trun: Box, track: Track | None, values: Sequence[int], base: int, end: int) -> int:
        """Add a run of samples; where it ends."""
        body = self.walk.body(trun)
        flags, count, offset = number(body, 1, 3), number(body, 4), 8
        if flags & 1:
            end, offset = base + signed(number(body, offset)), offset + 4
        offset += 4 if flags & 4 else 0
        columns = [flag for flag in (0x100, 0x200, 0x400, 0x800) if flags & flag]
        table = words(body, offset, count * len(columns))
        told = {number(body, offset - 4)} if flags & 4 else set()
        if 0x400 in columns:
            told.update(table[columns.index(0x400) :: len(columns)])
        end_of_table = offset + 4 * len(table)
        self.walk.known(trun, end_of_table, _odd("sample-flags", end_of_table, _says_nothing(told), 8))
        entry, duration, size = values
        lengths: Sequence[int] = ()
        if 0x200 in columns:
            lengths = table[columns.index(0x200) :: len(columns)]
        total = sum(lengths) if lengths else count * size
        self.left -= max(total, count)
        if self.left < 0 or end < 0 or (0x200 not in columns and not size and count):
            raise damaged("a fragment in it promises more samples than there are")
        if track is None or not count:
            return end + total
        held = track.samples
        if held.size or not 1 <= entry <= len(track.codings):
            raise damaged("its fragments do not fit its header")
        if 0x800 in columns and any(table[columns.index(0x800) :: len(columns)]):
            raise Unreadable("its fragments shift samples in time, which is not supported; remux it without fragments")
        held.sizes.extend(lengths or array("I", (size,)) * count)
        if 0x100 in columns:
            each = table[columns.index(0x100) :: len(columns)]
            self.times[track.id] += sum(each)
            for one in each:
                held.durations.extend((1, one))
        else:
            self.times[track.id] += count * duration
            held.durations.extend((count, duration))
        held.offsets.append(end)
        held.counts.append(count)
        held.entries.append(entry)
        return end + total


def usual_defaults(values: Collection[int], flags: int) -> bool:
    """Are these such as samples of sound have: entry, duration and size, and flags?"""
    return all(value < MOST for value in values) and _says_nothing((flags,))


def _odd(name: str, end: int, right: bool, start: int = 0) -> list[Part]:
    """The part that bytes of a box are which are not as they should be."""
    return [] if right else [Part("unknown", name, start, end, b"")]


def _says_nothing(flags: Collection[int]) -> bool:
    """Are flags of samples such as sound has, the same for nearly all of them?"""
    return len(flags) <= _FEW and not any(flag & _UNUSED for flag in flags if flag != _BY_GSTREAMER)


MOST = 1 << 24
"""More than numbers of tracks, fragments and the like are; text is more than that."""

_DAY = 86_400  # s
_OF_TRACK = 0x3003B  # flags that say what a fragment tells of a track
_FEW = 3
_UNUSED = 0xF00EFFFF  # reserved bits, of padding, and a priority
_BY_GSTREAMER = 0xC0  # of all samples that need no other; meant to say so, in another place


def in_one_piece(track: Track, timescale: int) -> Track:
    """A track with the samples of fragments as decoders play it there.

    An edit of no duration goes on to the end, and a last sample that is shorter than the others is played in full.
    """
    durations = track.samples.durations
    if len(durations) > 2 and durations[-2] == 1 and durations[-1] < durations[-3]:
        durations[-1] = durations[-3]
    if len(track.edits) != 1 or track.edits[0].duration:
        return track
    (edit,) = track.edits
    left = max(track.duration - max(edit.time, 0), 0)
    return replace(track, edits=(edit._replace(duration=-(-left * timescale // track.timescale)),))
