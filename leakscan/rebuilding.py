"""What the ledgers of the chunk formats have in common: fields written anew, chunks left out, tags around a form."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator
from typing import BinaryIO, cast

from leakscan import decoders
from leakscan.blocks import CHUNK_LIMIT, Peeled, at, damaged, peel
from leakscan.ledgers import gap, is_zero
from leakscan.model import EXTRAS, Part, Unreadable

_READ = 1 << 18  # bytes of samples at once
_LAYOUT = 1 << 16  # bytes of a channel layout that are looked at


def rewritten(
    stream: BinaryIO,
    name: str,
    start: int,
    end: int,
    clean: bytes,
    accepted: Collection[bytes] = (),
    kind: str = "unknown",
) -> Part:
    """A field as the clean file has it: structure where the file says the same or what is `accepted`, else `kind`."""
    stated = at(stream, start, end - start)
    return Part("structure" if stated == clean or stated in accepted else kind, name, start, end, clean)


def dropped(stream: BinaryIO, kind: str, name: str, start: int, end: int, inner: Iterable[Part] = ()) -> Iterator[Part]:
    """Bytes `start` to `end`, which the clean file does not have: `inner` in order, and around it parts of `kind`."""
    for part in (*inner, None):
        stop = part.start if part else end
        if start < stop:
            padding = is_zero(stream, start, stop)
            yield Part("padding" if padding else kind, name, start, stop, b"" if padding else None)
        if part:
            yield part
            start = part.end


def text_chunk(
    stream: BinaryIO, kind: str, name: str, head: int, start: int, end: int, after: int, reader: str
) -> Iterator[Part]:
    """A chunk from `head` to `after`, not in the clean file, whose body, `start` to `end`, a reader of tags reads."""
    yield Part("structure", name, head, start, b"")
    body = [Part(kind, name, start, end, reader=reader)] if start < end else []
    yield from dropped(stream, kind, name, start, after, body)


def spare(stream: BinaryIO, container: str, name: str, head: int, body: int, end: int) -> Iterator[Part]:
    """A chunk that is there to fill space: nothing where it holds zeros, else `stale`."""
    yield Part("structure", name, head, body, b"")
    if body < end:
        yield gap(stream, container, body, end, name)


def pad(stream: BinaryIO, name: str, start: int, end: int, count: int) -> Part:
    """The bytes `start` to `end` that round a chunk up, `count` zeros in the clean file; one byte says nothing."""
    stale = end - start > 1 and not is_zero(stream, start, end)
    return Part("stale" if stale else "structure", name, start, end, bytes(count))


def written(parts: Iterable[Part]) -> int:
    """How many bytes of the clean file come from these parts."""
    return sum(
        len(part.clean) if part.clean is not None else part.end - part.start
        for part in parts
        if part.clean is not None or part.kind not in (*EXTRAS, "padding")
    )


def listed(parts: Iterable[Part]) -> list[Part]:
    """All of them; raises Unreadable where there are far more than a file of sound has."""
    found = []
    for part in parts:
        found.append(part)
        if len(found) > CHUNK_LIMIT:
            raise damaged(f"more than {CHUNK_LIMIT:,} pieces of metadata in it")
    return found


def around(peeled: Peeled, form_end: int, end: int) -> Peeled:
    """`peeled` for a form that states where it ends: what looks like a tag within the form is none.

    `end` is the end of the file.
    """
    tags = tuple(span for span in peeled.tags if span.end <= peeled.start or span.start >= form_end)
    return Peeled(peeled.start, min((span.start for span in tags if span.start >= form_end), default=end), tags)


class _Front:
    """A stream as if it ended at `end`."""

    def __init__(self, stream: BinaryIO, end: int) -> None:
        self._stream, self._end, self._at = stream, end, 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = self._stream.seek(offset + (self._end if whence == io.SEEK_END else 0))
        return self._at

    def read(self, count: int) -> bytes:
        data = self._stream.read(min(count, max(0, self._end - self._at)))
        self._at += len(data)
        return data


def refuse_tags_among_samples(stream: BinaryIO, start: int, end: int) -> None:
    """Raise Unreadable where the last of the samples, bytes `start` to `end`, are a tag to readers of a clean file."""
    if any(span.end > start for span in peel(cast(BinaryIO, _Front(stream, end))).tags):
        raise damaged("its last samples are a tag to other readers")


def refuse_beside(stream: BinaryIO, start: int, end: int, width: int, used: int, *, big: bool = False) -> None:
    """Raise Unreadable where samples, in bytes `start` to `end`, have `width` bytes each and need only `used` of them,
    and the others are neither zeros nor the sign above; `big` is whether the first byte is the highest."""
    if used >= width:
        return
    import numpy as np

    step = width * (_READ // width)
    for place in range(start, end, step):
        rows = np.frombuffer(at(stream, place, min(step, end - place)), np.uint8).reshape(-1, width)
        rows = rows[:, ::-1] if big else rows
        below, above = rows[:, : width - used], rows[:, used:]
        sign = np.where(rows[:, used - 1 : used] > 0x7F, 0xFF, 0)
        if below.any() and above.any() and (above != sign).any():
            raise Unreadable(
                f"bytes beside its samples, which have {width} each and need {used}, that no decoder has to read; write"
                " it anew with as many as they need"
            )


def channel_layout(stream: BinaryIO, name: str, start: int, end: int) -> tuple[list[Part], str]:
    """The parts of an AudioChannelLayout and what it says, in hexadecimal."""
    data = at(stream, start, min(end - start, _LAYOUT))
    try:
        clean, _ = decoders.channel_layout(data)
    except ValueError as error:
        raise damaged(str(error)) from error
    stop = start + 12 + 20 * int.from_bytes(data[8:12], "big")
    return [rewritten(stream, name, start, stop, clean), *dropped(stream, "unknown", name, stop, end)], clean.hex()


def unsupported(coding: str) -> Unreadable:
    """The error for sound that is coded in a way whose bytes no ledger accounts for."""
    return Unreadable(f"its sound is coded as {coding}, which is not supported in this container; decode it first")
