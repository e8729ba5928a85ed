"""Byte ledgers: from what a format knows of a file to an account of every byte, and from that to the clean file.

A format states the parts it knows; what it does not state is padding where it is zero and a finding where it is not.
The clean file is the ledger written out: payload and structure as they are or in their canonical form, nothing else.
"""

from __future__ import annotations

import functools
import hashlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from leakscan.blocks import at, cut, damaged, size_of
from leakscan.model import Entry, Item, Ledger, Part, Place, Tags, Unreadable
from leakscan.tags import LOOKED_AT, binary_text, read_tags

if TYPE_CHECKING:
    from leakscan.rows import Whole

STRING = "string"
"""The reader of a part that is one text, named after the part."""

TEXT_LIMIT = 1 << 20
"""How many bytes of such a text are read."""

FACT_LIMIT = 1_000
"""How many extras of a file become facts; some streams repeat one every few seconds."""

_BLOCK = 1 << 18  # bytes looked at together; they fit the cache of the processor
_WINDOW = 1 << 25  # bytes read at once: most files whole, which a stream in memory hands out as they are
_KEPT = ("payload", "structure")
_Piece = bytes | memoryview
_PLACE = attrgetter("start", "end")


def ledger(
    stream: BinaryIO,
    container: str,
    parts: Iterable[Part],
    parameters: Iterable[tuple[str, str]] = (),
    bits: Iterable[str] = (),
) -> Ledger:
    """The account of a whole file: `parts` in any order, gaps filled in, neighbours that are alike joined.

    A gap is `padding` where it holds zeros only, else `unknown`.  Nothing of it is in the clean file.
    Raises Unreadable where parts overlap or reach beyond the end: then two readers of the file disagree about it.
    """
    end = size_of(stream)
    complete: list[Part] = []
    offset = 0
    for part in sorted(parts, key=_PLACE):
        if part.start < offset or part.end > end:
            both = f"bytes {part.start:,} to {min(offset, part.end):,}"
            raise damaged(f"{both} of it serve two purposes, or lie beyond it")
        if part.start > offset:
            complete.append(gap(stream, container, offset, part.start))
        complete.append(part)
        offset = part.end
    if offset < end:
        complete.append(gap(stream, container, offset, end))
    return Ledger(container, tuple(_joined(complete)), tuple(parameters), tuple(dict.fromkeys(bits)))


def woven(name: str, bounds: Whole | Sequence[int], heads: bytes | None = None) -> Part:
    """The sound of many blocks, and their heads, as one part; the clean file has their bytes, or `heads` that are as
    long in place of the heads, end to end.

    `bounds` ascend: where a head begins and its sound does, in turn; the last two are about what follows the sounds.
    """
    import numpy as np

    edges = np.asarray(bounds, np.int64)
    start, end = int(edges[0]), int(edges[-1])
    if edges[-2] == end:  # as with most, nothing follows
        edges = edges[:-2]
    if (edges[1:] == edges[:-1]).any():  # what is empty begins and ends at one place
        edges, counts = np.unique(edges, return_counts=True)
        edges = edges[counts % 2 == 1]
    return Part("payload", name, start, end, heads, inlaid=edges.tobytes())


def gap(stream: BinaryIO, container: str, start: int, end: int, name: str = "") -> Part:
    """Bytes that nothing needs: `padding` where they are zeros, else `unknown`, or `stale` where they have a `name`."""
    if is_zero(stream, start, end):
        return Part("padding", name or f"{container}.padding", start, end, b"")
    return Part("stale" if name else "unknown", name or f"{container}.unknown", start, end, b"")


def is_zero(stream: BinaryIO, start: int, end: int) -> bool:
    """Whether bytes `start` to `end` are all zero."""
    return not any(block.strip(b"\x00") for block in _blocks(stream, start, end))


def _blocks(stream: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        block = at(stream, start, min(_BLOCK, end - start))
        if not block:
            return
        yield block
        start += len(block)


def _joined(parts: Iterable[Part]) -> list[Part]:
    """Parts that follow each other joined where one can stand for both."""
    joined: list[Part] = []
    held: tuple[object, ...] = ()  # what a part has to be to join the last one; none can where that is empty
    for part in parts:
        kind, name, start, end, clean, reader, inlaid = part
        if start == end and not clean:
            continue
        if held == (kind, name, clean) and not reader and not inlaid:
            joined[-1] = Part(kind, name, joined[-1].start, end, clean)
        else:
            joined.append(part)
            held = () if clean or reader or inlaid else (kind, name, clean)
    return joined


def write(stream: BinaryIO, account: Ledger, out: BinaryIO) -> None:
    """Write the clean file to `out`."""
    for block in clean_bytes(stream, account):
        out.write(block)


def clean_bytes(stream: BinaryIO, account: Ledger) -> Iterator[bytes | memoryview]:
    """The clean file in pieces.  Raises Unreadable where the source cannot be read to its end."""
    return (_bytes(window.clean) for window in _windows(stream, account))


def payload_bytes(stream: BinaryIO, account: Ledger) -> Iterator[bytes | memoryview]:
    """The payload as the clean file has it, in pieces.  Raises as `clean_bytes`."""
    return (_bytes(window.payload()) for window in _windows(stream, account))


class Digests(NamedTuple):
    """SHA-256, in hexadecimal: of a file, and of its clean file."""

    source: str
    clean: str


def copy(stream: BinaryIO, account: Ledger, out: BinaryIO) -> Digests:
    """Write the clean file to `out` as `write` does, and digest all that passes: the source is read once.

    Raises as `clean_bytes`.
    """
    source, clean = hashlib.sha256(), None
    for window in _windows(stream, account):
        view, pieces, same = memoryview(window.data), window.clean, 0
        if clean is None and pieces and window.data.startswith(pieces[0]):  # up to there it is digested once
            same, pieces = len(pieces[0]), pieces[1:]
        source.update(view[:same])
        if clean is None and (pieces or same < len(view)):
            clean = source.copy()
        source.update(view[same:])
        if clean is not None:
            for piece in pieces:
                clean.update(piece)
        for piece in window.clean:
            out.write(piece)
    return Digests(source.hexdigest(), (clean or source).hexdigest())


def digest(stream: BinaryIO, account: Ledger) -> tuple[str, str]:
    """SHA-256, in hexadecimal: of the file, and of its payload as the clean file has it, in one reading.

    Raises as `clean_bytes`.
    """
    source, sound = hashlib.sha256(), hashlib.sha256()
    for window in _windows(stream, account):
        source.update(window.data)
        sound.update(_bytes(window.payload()))
    return source.hexdigest(), sound.hexdigest()


def is_clean(copied: BinaryIO, stream: BinaryIO, account: Ledger) -> bool:
    """Whether the file `copied` holds the clean bytes of `stream`, no more and no fewer."""
    copied.seek(0)
    for piece in (piece for window in _windows(stream, account) for piece in _together(window.clean)):
        for start in range(0, len(piece), _BLOCK):
            some = piece[start : start + _BLOCK]
            if not copied.read(len(some)).startswith(some):
                return False
    return not copied.read(1)


def _together(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """The same bytes with small pieces joined."""
    held: list[_Piece] = []
    size = 0
    for piece in pieces:
        if held and size + len(piece) > _BLOCK:
            yield _bytes(held)
            held, size = [], 0
        held.append(piece)
        size += len(piece)
    if held:
        yield _bytes(held)


def payload_digest(stream: BinaryIO, account: Ledger) -> str:
    """SHA-256 of the payload as the clean file has it, in hexadecimal: equal before and after cleaning."""
    sound = hashlib.sha256()
    for block in payload_bytes(stream, account):
        sound.update(block)
    return sound.hexdigest()


class _Window(NamedTuple):
    """Bytes of a file as they were read, and the pieces of the clean file that they give.

    `sounds` are stretches of payload: bytes, or a part and from where to where it lies within the window.
    """

    data: bytes
    first: int
    clean: Sequence[_Piece]
    sounds: Sequence[bytes | tuple[Part, int, int]]

    def payload(self) -> Iterator[_Piece]:
        """The pieces of the payload."""
        for sound in self.sounds:
            if isinstance(sound, bytes):
                yield sound
            elif sound[0].inlaid:
                edges = iter([edge - self.first for edge in _edges(*sound)])
                yield b"".join([self.data[start:end] for start, end in zip(edges, edges, strict=True)])
            else:
                yield memoryview(self.data)[sound[1] - self.first : sound[2] - self.first]


def _windows(stream: BinaryIO, account: Ledger) -> Iterator[_Window]:
    """The file in windows."""
    clean: list[_Piece] = []
    sounds: list[bytes | tuple[Part, int, int]] = []
    data = b""
    view = memoryview(data)
    first = last = run = 0  # the window, and from where on all up to a part is in the clean file
    stream.seek(0)
    for part in account.parts:
        start, end = part.start, part.end
        copied = part.clean is None and part.kind in _KEPT
        kept = copied or part.inlaid != b""
        if not copied and run < start:
            clean.append(view[run - first : start - first])
        while end > last:
            if copied:
                clean.append(view[run - first :] if run > first else data)
            elif kept:
                clean += _renewed(view, first, part, start, last)
            if kept:
                if part.kind == "payload" and start < last:
                    sounds.append((part, start, last))
                start = last
            yield _Window(data, first, clean, sounds)
            data = _more(stream, account.size - last)
            view = memoryview(data)
            clean, sounds = [], []
            run = first = last
            last += len(data)
        if kept and part.kind == "payload" and start < end:
            sounds.append((part, start, end))
        if copied:
            continue
        run = end
        if kept:
            clean += _renewed(view, first, part, start, end)
        elif part.clean:
            clean.append(part.clean)
            if part.kind == "payload":
                sounds.append(part.clean)
    if run < last:
        clean.append(view[run - first :] if run > first else data)
    yield _Window(data, first, clean, sounds)


def _renewed(view: memoryview, first: int, part: Part, start: int, end: int) -> Iterator[_Piece]:
    """What lies between `start` and `end` of a part with new heads, in pieces; `view` begins at `first`."""
    import numpy as np

    assert part.clean is not None
    edges = np.frombuffer(part.inlaid, np.int64).reshape(-1, 2)
    begin, stop = edges[:, 1].searchsorted(start, "right"), edges[:, 0].searchsorted(end)
    offset = int((edges[:begin, 1] - edges[:begin, 0]).sum())  # of the first of these heads among all
    for head, sound in edges[begin:stop].tolist():
        low, high = max(head, start), min(sound, end)
        if start < low:
            yield view[start - first : low - first]
        yield part.clean[offset + low - head : offset + high - head]
        offset += sound - head
        start = high
    if start < end:
        yield view[start - first : end - first]


def _edges(part: Part, start: int, end: int) -> list[int]:
    """Where between `start` and `end` sound of a part begins and ends, in turn."""
    inlaid = memoryview(part.inlaid).cast("q")
    begin, stop = bisect_right(inlaid, start), bisect_left(inlaid, end)
    edges = inlaid[begin:stop].tolist()
    if not begin % 2:  # it begins with sound
        edges.insert(0, start)
    if not stop % 2:
        edges.append(end)
    return edges


def _bytes(pieces: Iterable[_Piece]) -> _Piece:
    held = list(pieces)
    return held[0] if len(held) == 1 else b"".join(held)


def _more(stream: BinaryIO, left: int) -> bytes:
    try:
        data = stream.read(min(left, _WINDOW))
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror}); check the disk") from error
    if not data:
        raise cut("it ended while it was read")
    return data


def sounding(account: Ledger) -> array[int]:
    """Where in the clean file payload begins and ends, in turn."""
    found = array("q")
    for part, offset, length in _sounds(account):
        _add(found, _stretches(part, offset, length))
    return found


def _stretches(part: Part, offset: int, length: int) -> array[int]:
    """The same of one part, which begins at `offset` in the clean file."""
    edges = array("q", (offset, offset + length))
    if part.inlaid:
        import numpy as np

        inlaid = array("q", (np.frombuffer(part.inlaid, np.int64) + (offset - part.start)).tobytes())
        edges[1:1] = inlaid
        edges = edges[2 * (inlaid[0] == offset) : len(edges) - 2 * (inlaid[-1] == offset + length)]
    return edges


class Seen:
    """Where in a clean file sound stands that is the same, byte for byte, in the source that `account` is about.

    A format that has looked into it there need not do so again; where it lies is read from the clean file.
    """

    def __init__(self, account: Ledger | None = None) -> None:
        self._account = account
        self._edges = array("q")
        for part, offset, length in _sounds(account) if account else ():
            if part.clean is None:
                _add(self._edges, array("q", (offset, offset + length)))
            elif part.inlaid:
                _add(self._edges, _stretches(part, offset, length))

    @functools.cached_property
    def sounds(self) -> array[int]:
        """Where payload begins and ends, in turn, by the account."""
        return sounding(self._account) if self._account else array("q")

    def others(self, edges: Sequence[int]) -> list[int]:
        """Of what lies in the clean file from each of `edges`, which ascend, to the next: the indexes of those in which
        something else stands, too."""
        return [index for run in self.runs(edges) for index in run]

    def runs(self, edges: Sequence[int] | Whole) -> Iterator[range]:
        """The same indexes, those that follow each other together."""
        index, start, done = bisect_right(self._edges, edges[0]), edges[0], 0
        for stop in (*self._edges[index : bisect_left(self._edges, edges[-1])], edges[-1]):
            if index % 2 == 0:  # up to there nothing is seen
                first, done = max(bisect_right(edges, start) - 1, done), bisect_left(edges, stop)
                if first < done:
                    yield range(first, done)
            start, index = stop, index + 1

    def covers(self, edges: Sequence[int]) -> bool:
        """Whether nothing else stands in what lies there from every other of `edges`, the first one on, to the next."""
        index = bisect_left(self._edges, edges[0])
        if not index % 2 and self._edges[index : index + len(edges)] == array("q", edges):  # so it is with most
            return True
        return all(index % 2 for index in self.others(edges))


NOTHING = Seen()


def _sounds(account: Ledger) -> Iterator[tuple[Part, int, int]]:
    """The parts that are payload, where each begins in the clean file, and how many bytes it has there."""
    offset = 0
    for part in account.parts:
        if part.inlaid or part.clean is None:
            length = part.end - part.start if part.kind in _KEPT else 0
        else:
            length = len(part.clean)
        if part.kind == "payload" and length:
            yield part, offset, length
        offset += length


def _add(edges: array[int], more: array[int]) -> None:
    """Go on with `edges`, between which something lies in turn; what begins where the last one ends is one with it."""
    if edges[-1:] == more[:1]:
        del edges[-1:], more[:1]
    edges += more


# --- reading ---------------------------------------------------------------------------------------------------------


def audio_item(entry: Entry, account: Callable[[BinaryIO], Ledger]) -> Iterator[Item]:
    """Yield the one item of an audio file: what its `account` says about every byte, and the values in the extras.

    Raises Unreadable with the path in front; `account` and the readers of tags raise it without one.
    """
    with entry.open() as stream:
        try:
            found = account(stream)
            body = Tags(found.container, tuple(dict.fromkeys(_tags(stream, found))), _block_facts(stream, found), found)
        except Unreadable as error:
            raise Unreadable(f"{entry.path}: {error}") from error
        except OSError as error:
            raise Unreadable(f"{entry.path}: cannot be read ({error.strerror}); check the disk") from error
    yield Item(Place(entry.path), "audio", body)


def _tags(stream: BinaryIO, account: Ledger) -> Iterator[tuple[str, str]]:
    """What readers of tags find in the parts that name one, as (name, value)."""
    for part in account.parts:
        if part.reader == STRING:
            if text := string(at(stream, part.start, min(part.end - part.start, TEXT_LIMIT))):
                yield part.name, text
        elif part.reader:
            yield from read_tags(stream, part.reader, part.start, part.end)


def _block_facts(stream: BinaryIO, account: Ledger) -> tuple[tuple[str, str], ...]:
    """A name for every extra and every bit, and the text in those that no reader of tags has read."""
    found: dict[tuple[str, str], None] = {}
    for part in account.extras:
        text = "" if part.reader else binary_text(at(stream, part.start, min(part.end - part.start, LOOKED_AT)))
        if len(found) < FACT_LIMIT:
            found[f"{part.kind}.{part.name}", text] = None
    found.update(dict.fromkeys((name, "") for name in account.bits))
    return tuple(found)


def string(data: bytes) -> str:
    """Text up to its NUL, UTF-8 or else Latin-1."""
    data = data.partition(b"\x00")[0].strip()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
