"""Byte ledgers: from what a format knows of a file to an account of every byte, and from that to the clean file.

A format states the parts it knows; what it does not state is padding where it is zero and a finding where it is not.
The clean file is the ledger written out: payload and structure as they are or in their canonical form, nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import cycle, islice, repeat
from operator import itemgetter
from typing import Any, BinaryIO, NamedTuple, cast

from leakscan.blocks import at, cut, damaged, size_of
from leakscan.model import Entry, Item, Ledger, Part, Place, Tags, Unreadable
from leakscan.tags import LOOKED_AT, binary_text, read_tags

STRING = "string"
"""The reader of a part that is one text, named after the part."""

TEXT_LIMIT = 1 << 20
"""How many bytes of such a text are read."""

FACT_LIMIT = 1_000
"""How many extras of a file become facts; some streams repeat one every few seconds."""

_BLOCK = 1 << 18  # bytes read at once; they fit the cache of the processor, in which they may be digested three times
_KEPT = ("payload", "structure")
_PLACE = itemgetter(2, 3)  # start and end of a part


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
        _, _, start, stop, _, _ = part  # names are looked up slowly, and some files have tens of thousands of parts
        if start < offset or stop > end:
            raise damaged(f"bytes {start:,} to {min(offset, stop):,} of it serve two purposes, or lie beyond it")
        if start > offset:
            complete.append(gap(stream, container, offset, start))
        complete.append(part)
        offset = stop
    if offset < end:
        complete.append(gap(stream, container, offset, end))
    return Ledger(container, tuple(_joined(complete)), tuple(parameters), tuple(dict.fromkeys(bits)))


def in_turn(one: tuple[str, str], other: tuple[str, str], bounds: Sequence[int]) -> Iterator[Part]:
    """Parts of the same two kinds and names in turn, from each of `bounds` to the next; the clean file has their bytes.

    For the many blocks of a stream: it takes a fraction of the time of making them one by one.
    """
    kinds, names = zip(one, other, strict=True)
    rows = zip(cycle(kinds), cycle(names), bounds, islice(bounds, 1, None), repeat(None), repeat(""), strict=False)
    return map(cast("Callable[[type[Part], tuple[Any, ...]], Part]", tuple.__new__), repeat(Part), rows)


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
        kind, name, start, end, clean, reader = part
        if start == end and not clean:
            continue
        if held == (kind, name, clean) and not reader:
            joined[-1] = Part(kind, name, joined[-1].start, end, clean)
        else:
            joined.append(part)
            held = () if clean or reader else (kind, name, clean)
    return joined


def clean_bytes(stream: BinaryIO, account: Ledger, *kinds: str) -> Iterator[bytes]:
    """The clean file in pieces; with `kinds`, only what comes from parts of these kinds.

    Some files have tens of thousands of parts: what lies end to end is read at once, and what is small out of a window.
    """
    window, first, last = b"", 0, 0
    for start, end, clean in _runs(account, kinds):
        if clean is not None:
            yield clean
        elif end - start >= _BLOCK:
            yield from _blocks(stream, start, end)
        else:
            if start < first or end > last:
                window = at(stream, start, _BLOCK)
                first, last = start, start + len(window)
            yield window[start - first : end - first]


def _runs(account: Ledger, kinds: Container[str]) -> Iterator[tuple[int, int, bytes | None]]:
    """Where the bytes of the clean file lie, or what they are."""
    start = end = 0  # what is to be copied and was not yet handed on
    for kind, _, first, last, clean, _ in account.parts:
        if kinds and kind not in kinds:
            continue
        if clean is None and kind in _KEPT:
            if first != end:
                if start < end:
                    yield start, end, None
                start = first
            end = last
        elif clean:
            if start < end:
                yield start, end, None
            yield end, end, clean
            start = end
    if start < end:
        yield start, end, None


def write(stream: BinaryIO, account: Ledger, out: BinaryIO) -> None:
    """Write the clean file to `out`."""
    held: list[bytes] = []
    size = 0
    for block in clean_bytes(stream, account):
        held.append(block)
        size += len(block)
        if size >= _BLOCK:
            out.write(b"".join(held))
            held, size = [], 0
    out.write(b"".join(held))


class Digests(NamedTuple):
    """SHA-256, in hexadecimal: of a file, of its clean file, and of the payload as the clean file has it."""

    source: str
    clean: str
    payload: str


def copy(stream: BinaryIO, account: Ledger, out: BinaryIO) -> Digests:
    """Write the clean file to `out` as `write` does, and digest all that passes: the source is read once.

    The bytes come in windows; those of a window that are kept, and those that are payload, are digested together.
    Raises Unreadable where the source cannot be read to its end.
    """
    source, whole, sound = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    kept: list[bytes | memoryview] = []
    payload: list[bytes | memoryview] = []
    window = memoryview(b"")
    first = last = run = 0  # the window, and from where on all up to a part is kept

    def passed() -> None:
        for pieces, digest in ((kept, whole), (payload, sound)):
            block = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            digest.update(block)
            if digest is whole:
                out.write(block)
            pieces.clear()

    stream.seek(0)
    for kind, _, start, end, clean, _ in account.parts:
        copied = clean is None and kind in _KEPT
        if not copied and run < start:
            kept.append(window[run - first : start - first])
        while end > last:
            if copied:
                kept.append(window[run - first :])
                if kind == "payload" and start < last:
                    payload.append(window[start - first :])
                start = last
            passed()
            data = _more(stream)
            source.update(data)
            window = memoryview(data)
            run = first = last
            last += len(data)
        if copied:
            if kind == "payload":
                payload.append(window[start - first : end - first])
            continue
        run = end
        if clean:
            kept.append(clean)
            if kind == "payload":
                payload.append(clean)
    if run < last:
        kept.append(window[run - first :])
    passed()
    return Digests(source.hexdigest(), whole.hexdigest(), sound.hexdigest())


def _more(stream: BinaryIO) -> bytes:
    try:
        data = stream.read(_BLOCK)
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror}); check the disk") from error
    if not data:
        raise cut("it ended while it was read")
    return data


def is_clean(copied: BinaryIO, stream: BinaryIO, account: Ledger) -> bool:
    """Whether the file `copied` holds the clean bytes of `stream`, no more and no fewer."""
    copied.seek(0)
    return all(copied.read(len(block)) == block for block in clean_bytes(stream, account)) and not copied.read(1)


def sounding(account: Ledger) -> list[tuple[int, int]]:
    """Where the payload lies in the clean file."""
    spans: list[tuple[int, int]] = []
    begin = offset = 0
    inside = False  # a stretch of payload
    for kind, _, start, end, clean, _ in account.parts:
        length = len(clean) if clean is not None else end - start if kind in _KEPT else 0
        if length and inside != (kind == "payload"):
            if inside:
                spans.append((begin, offset))
            begin, inside = offset, not inside
        offset += length
    if inside:
        spans.append((begin, offset))
    return spans


def payload_digest(stream: BinaryIO, account: Ledger) -> str:
    """SHA-256 of the payload as the clean file has it, in hexadecimal: equal before and after cleaning."""
    digest = hashlib.sha256()
    for block in clean_bytes(stream, account, "payload"):
        digest.update(block)
    return digest.hexdigest()


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
