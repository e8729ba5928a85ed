"""The samples of an MP4 file: where they lie, and which bytes of them the clean file has.

Sources: ISO/IEC 14496-12 sections 8.7.3 to 8.7.5 (sizes, chunks and offsets of samples).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from leakscan.blocks import at, damaged
from leakscan.boxes import Movie, Track
from leakscan.boxwalk import Box, Walk
from leakscan.frames import Frames, Sized
from leakscan.model import Part

if TYPE_CHECKING:
    from leakscan.rows import Whole

_CHUNKS = 2_000_000  # of samples; ten hours with one for each frame
_TOGETHER = 1 << 18  # bytes of samples that are looked into together
_PIECES = 400_000  # of sound between bytes of something else; three hours of film have as many frames


class Payload(NamedTuple):
    """The samples of the clean file: their tracks, how many bytes they are, for each track where its chunks lie among
    them, and what was cleared in them."""

    movie: Movie
    size: int
    offsets: list[array[int]]
    bits: tuple[str, ...]


class _Change(NamedTuple):
    """A sample from `start` to `end` of the file that is not the same in the clean one: number `sample` of its track,
    in chunk `chunk` of it; or several, one after the other, that are as long as they were."""

    start: int
    end: int
    clean: bytes
    name: str
    chunk: int
    sample: int


def payload(walk: Walk, movie: Movie, mdats: Sequence[Box]) -> Payload:
    """Note the samples.

    Raises Unreadable where they do not lie in one of `mdats`: then they are no samples.
    """
    lengths = [_chunk_sizes(track) for track in movie.tracks]
    spans = _spans(movie, lengths, mdats)
    bits: set[str] = set()
    changes = [_changes(walk, track, sizes, bits) for track, sizes in zip(movie.tracks, lengths, strict=True)]
    walk.parts.extend(_cut_out(spans, sorted(change for some in changes for change in some)))
    tracks = []
    for track, sizes, some in zip(movie.tracks, lengths, changes, strict=True):
        tracks.append(_shortened(track, sizes, some))
    size, offsets = _moved(movie, lengths)
    return Payload(replace(movie, tracks=tuple(tracks)), size, offsets, tuple(sorted(bits)))


def _spans(movie: Movie, lengths: Sequence[array[int]], mdats: Sequence[Box]) -> list[list[int]]:
    """Where samples lie, from first to last."""
    offsets, sizes = array("Q"), array("Q")
    for track, lengths_of in zip(movie.tracks, lengths, strict=True):
        offsets.extend(track.samples.offsets)
        sizes.extend(lengths_of)
    if len(offsets) > _CHUNKS:
        raise damaged(f"more than {_CHUNKS:,} chunks in it")
    starts = [mdat.body for mdat in mdats]
    spans: list[list[int]] = []
    for index in sorted(range(len(offsets)), key=offsets.__getitem__):
        start, end = offsets[index], offsets[index] + sizes[index]
        if start == end:
            continue
        holder = bisect_right(starts, start) - 1
        if holder < 0 or end > mdats[holder].end:
            raise damaged(f"its sample table reaches to bytes {start:,} to {end:,}, where no samples are")
        if spans and start < spans[-1][1]:
            raise damaged(f"bytes {start:,} to {min(end, spans[-1][1]):,} of it serve two purposes")
        if spans and spans[-1][1] == start:
            spans[-1][1] = end
        else:
            spans.append([start, end])
    if len(spans) > _PIECES:
        raise damaged(f"more than {_PIECES:,} pieces of sound in it")
    return spans


def _moved(movie: Movie, lengths: Sequence[array[int]]) -> tuple[int, list[array[int]]]:
    """How many bytes the chunks are, and for each track where its chunks lie when they follow each other."""
    offsets, sizes, bounds = array("Q"), array("Q"), [0]
    for track, lengths_of in zip(movie.tracks, lengths, strict=True):
        offsets.extend(track.samples.offsets)
        sizes.extend(lengths_of)
        bounds.append(len(offsets))
    moved = array("Q", bytes(8 * len(offsets)))
    total = 0
    for index in sorted(range(len(offsets)), key=offsets.__getitem__):
        moved[index] = total
        total += sizes[index]
    return total, [moved[start:end] for start, end in pairwise(bounds)]


def _chunk_sizes(track: Track) -> array[int]:
    """The size of every chunk in bytes."""
    import numpy as np

    held = track.samples
    if not held.size:
        return array("Q", np.diff(_edges(held.sizes)[_edges(held.counts)]).tobytes())
    fixed = set(held.durations[1::2]) <= {1}  # then a sample is one value of each channel, whatever its size says
    per_entry = [(coding.size, coding.frames) if fixed and coding.size else (held.size, 1) for coding in track.codings]
    return array(
        "Q",
        (
            count * per_entry[entry - 1][0] // per_entry[entry - 1][1]
            for count, entry in zip(held.counts, held.entries, strict=True)
        ),
    )


def _changes(walk: Walk, track: Track, lengths: array[int], bits: set[str]) -> list[_Change]:
    """The samples in which something stands that no decoder reads; names of what is cleared are added to `bits`."""
    lookers = {coding.looker for coding in track.codings if coding.looker}
    if not lookers:
        return []
    changes = list(_odd(walk, track, lengths))
    bits.update(change.name for change in changes if len(change.clean) == change.end - change.start)
    for looker in lookers:
        if isinstance(looker, Sized):
            changes = list(_inner(walk, track, lengths, looker, changes, bits))
    return changes


def _odd(walk: Walk, track: Track, lengths: array[int]) -> Iterator[_Change]:
    """The samples that change, each for itself."""
    import numpy as np

    ends = [*accumulate(track.samples.counts)]  # of the chunks, in samples
    for looker, runs in _together(walk, track, lengths):
        data = b"".join([at(walk.stream, run.places[0], run.places[-1] - run.places[0]) for run in runs])
        edges = _edges(np.concatenate([np.diff(run.places) for run in runs]))
        firsts = _edges([len(run.places) - 1 for run in runs])
        for index in looker.odd(data, edges[:-1], edges[1:]):
            frame = data[edges[index] : edges[index + 1]]
            if (clean := looker.cleaned(frame)) is not frame:
                of = bisect_right(firsts, index) - 1
                start = int(runs[of].places[index - firsts[of]])
                sample = int(runs[of].sample + index - firsts[of])
                yield _Change(start, start + len(frame), clean, looker.name, bisect_right(ends, sample), sample)


class _Run(NamedTuple):
    """Samples one after the other, from number `sample` of their track on: `places` are where each begins in the file,
    and where the last one ends."""

    sample: int
    places: Whole


def _together(walk: Walk, track: Track, lengths: array[int]) -> Iterator[tuple[Frames, list[_Run]]]:
    """Samples to be looked into, of one coding: at least _TOGETHER bytes, as one chunk may be of a few only."""
    held: list[_Run] = []
    size, last = 0, None
    for looker, run in _runs(walk, track, lengths):
        if last is not None and (looker is not last or size >= _TOGETHER):
            yield last, held
            held, size = [], 0
        held.append(run)
        size += run.places[-1] - run.places[0]
        last = looker
    if last is not None:
        yield last, held


def _runs(walk: Walk, track: Track, lengths: array[int]) -> Iterator[tuple[Frames, _Run]]:
    """The samples that were not seen, those of one chunk that follow each other together."""
    held = track.samples
    index = 0
    for offset, length, count, entry in zip(held.offsets, lengths, held.counts, held.entries, strict=True):
        looker = track.codings[entry - 1].looker
        if looker is not None and walk.seen.others((offset, offset + length)):
            places = _edges(held.sizes[index : index + count] or array("I", (held.size,)) * count) + offset
            for some in walk.seen.runs(places):
                yield looker, _Run(index + some.start, places[some.start : some.stop + 1])
        index += count


def _edges(sizes: Sequence[int] | Whole) -> Whole:
    """Where what has these sizes begins and ends when it is laid end to end."""
    import numpy as np

    edges = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=edges[1:])
    return edges


def _inner(
    walk: Walk, track: Track, lengths: array[int], looker: Sized, changes: Iterable[_Change], bits: set[str]
) -> Iterator[_Change]:
    """The `changes`, and those within the frames of one coding, which are looked at together."""
    import numpy as np

    held = track.samples
    blocks: list[bytes] = []
    edges = [0]  # of the samples, laid end to end
    places: list[int] = []  # where each of them begins in the file
    numbers: list[tuple[int, int]] = []  # its chunk, and its own
    index = 0
    for chunk, (offset, length, count, entry) in enumerate(
        zip(held.offsets, lengths, held.counts, held.entries, strict=True)
    ):
        if track.codings[entry - 1].looker is looker:
            blocks.append(at(walk.stream, offset, length))
            sizes = held.sizes[index : index + count] or array("I", (held.size,)) * count
            first, some = edges[-1], [*accumulate(sizes, initial=edges[-1])]
            edges += some[1:]
            places += [edge - first + offset for edge in some[:-1]]
            numbers += [(chunk, number) for number in range(index, index + count)]
        index += count
    data = b"".join(blocks)
    clean, names = looker.inner(data, *_frames(data, edges, looker))
    bits.update("{0}.{2}".format(*name.split(".")) for name in names)
    if clean is None:
        yield from changes
        return
    unlike = np.flatnonzero(np.frombuffer(clean, np.uint8) != np.frombuffer(data, np.uint8))
    changed = np.unique(np.searchsorted(edges, unlike, "right") - 1).tolist()
    shorter = {(change.chunk, change.sample): change for change in changes}
    odd = {index for index, number in enumerate(numbers) if number in shorter} if shorter else set()
    run: list[int] = []  # samples one after the other, which are as long as they were
    for index in (*sorted(odd.union(changed)), -1):
        if run and (
            index in odd or index != run[-1] + 1 or places[index] - places[run[0]] != edges[index] - edges[run[0]]
        ):
            start, piece = places[run[0]], bytes(clean[edges[run[0]] : edges[run[-1] + 1]])
            yield _Change(start, start + len(piece), piece, looker.name, *numbers[run[0]])
            run.clear()
        if index in odd:
            change = shorter.pop(numbers[index])
            yield change._replace(clean=bytes(clean[edges[index] : edges[index] + len(change.clean)]))
        elif index >= 0:
            run.append(index)
    yield from shorter.values()  # of other codings


def _frames(data: bytes, edges: Sequence[int], looker: Sized) -> tuple[array[int], array[int]]:
    """Where the frames begin and end in samples that lie from each of `edges` to the next: most are one."""
    starts, ends = array("q"), array("q")
    done = 0
    for index in (*looker.odd(data, edges[:-1], edges[1:]), len(edges) - 1):
        starts.extend(edges[done:index])
        ends.extend(edges[done + 1 : index + 1])
        if (done := index + 1) < len(edges):
            some = [edges[index] + end for end in looker.ends(data[edges[index] : edges[done]])]
            starts.extend([edges[index], *some][: len(some)])
            ends.extend(some)
    return starts, ends


def _shortened(track: Track, lengths: array[int], changes: Iterable[_Change]) -> Track:
    """The track with samples that are shorter in the clean file; `lengths` of its chunks become so, too."""
    held = track.samples
    for change in changes:
        surplus = change.end - change.start - len(change.clean)
        if surplus and held.size:
            held = held._replace(size=0, sizes=array("I", (held.size,)) * held.total)
        if surplus:
            held.sizes[change.sample] -= surplus
            lengths[change.chunk] -= surplus
    return replace(track, samples=held)


def _cut_out(spans: Iterable[list[int]], changes: Iterable[_Change]) -> Iterator[Part]:
    """Payload: the spans as they are, but for the samples in them that change."""
    waiting = iter(changes)
    change = next(waiting, None)
    for start, end in spans:
        while change is not None and change.start < end:
            yield Part("payload", "mp4.samples", start, change.start)
            start = stop = change.start
            clean, name, surplus = [], change.name, 0
            while change is not None and change.start == stop and not surplus:  # one after the other
                clean.append(change.clean)
                stop, name, surplus = change.end, change.name, change.end - change.start - len(change.clean)
                change = next(waiting, None)
            yield Part("payload", "mp4.samples", start, stop - surplus, b"".join(clean))
            if surplus:
                kind, _, what = name.partition(".")
                yield Part(kind, f"mp4.{what}", stop - surplus, stop, b"")
            start = stop
        yield Part("payload", "mp4.samples", start, end)
