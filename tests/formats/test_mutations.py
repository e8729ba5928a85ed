"""Damage of every kind to the files of every container: refused in one line, or accounted for and cleaned for good.

40 damaged files of each base, and at least 2,000 of each container with `--hypothesis-profile=long` (or `--mutations
N`).  Number `n` of a base is always the same file: `mutated(container, name, n)` makes it again.
"""

from __future__ import annotations

import functools
import io
import random
import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import places
import pytest
from audio_samples import entry

from leakscan import ledgers
from leakscan.discover import members
from leakscan.model import Ledger, Tags, Unreadable

FORMATS = members("formats")
CONTAINERS = places.containers()
BASES = [(container, name) for container, module in CONTAINERS.items() for name in module.BASES]

EACH, LONG = 40, 2_000
TRACED = 8  # the memory of one in so many is measured: that takes several times as long
SECONDS = 60  # for one file; all take far below one
MEMORY = 10, 32 << 20  # times the size of the file, and bytes beside it: libraries, tables, a block of the file

EXTREMES = (
    0,
    1,
    7,
    8,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    (1 << 63) - 1,
    (1 << 64) - 1,
)


class Hang(BaseException):
    """Not an Exception: nothing under test may swallow it."""


@contextmanager
def limited(data: bytes, traced: bool) -> Iterator[None]:
    """A bound on the time that the block takes, and where it is `traced` on the memory that it takes for `data`."""

    def stop(*_: Any) -> None:
        raise Hang(f"no end after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    if traced:
        tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1] if traced else 0
    finally:
        tracemalloc.stop()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert peak <= MEMORY[0] * len(data) + MEMORY[1], f"{peak:,} bytes of memory for {len(data):,}"


# --- damage ----------------------------------------------------------------------------------------------------------


@functools.cache
def sources(container: str, name: str) -> tuple[bytes, ...]:
    """The base, and it with something hidden in each place."""
    module = CONTAINERS[container]
    base = places.base(name, module.BASES[name])
    return (base, *(place.data for place in module.places(name, base)))


@functools.cache
def spots(container: str, name: str, source: int) -> tuple[tuple[int, int], ...]:
    """Where headers and extras lie in a source: damage to sound is damage to sound.

    Of the heads of blocks among sound, of which there may be thousands, there are as many as of the rest, from all over
    the file.
    """
    try:
        found: Ledger = FORMATS[container].account(io.BytesIO(sources(container, name)[source]))
    except Unreadable:  # which another test does not allow
        return ()
    rest = [(part.start, part.end) for part in found.parts if part.kind != "payload" and part.start < part.end]
    edges = [edge for part in found.parts for edge in memoryview(part.inlaid).cast("q")]
    heads = list(zip(edges[::2], edges[1::2], strict=True))
    return (*rest, *heads[:: max(1, -(-len(heads) // max(1, len(rest))))])


def mutated(container: str, name: str, number: int) -> bytes:
    """Damaged file `number` of a base."""
    luck = random.Random(f"{container}/{name}/{number}")
    source = luck.choice((0, luck.randrange(len(sources(container, name)))))
    data = bytearray(sources(container, name)[source])
    for _ in range(luck.choice((1, 1, 1, 2, 5))):
        change = luck.choice((_cut, _flip, _flip, _number, _number, _number, _insert, _remove, _splice))
        change(data, luck, _spot(data, luck, spots(container, name, source)), sources(container, name))
    return bytes(data)


def _spot(data: bytearray, luck: random.Random, known: tuple[tuple[int, int], ...]) -> int:
    """A byte of the file: mostly of a header, else of the beginning, of the end, or any."""
    size = max(1, len(data))
    start, end = luck.choice(known) if known else (0, size)
    anywhere = luck.randrange(size)
    places = (luck.randrange(start, end), min(start, end - 1), anywhere % 256, size - 1 - anywhere % 256, anywhere)
    return min(max(0, luck.choices(places, (4, 2, 2, 1, 1))[0]), size - 1)


def _cut(data: bytearray, luck: random.Random, spot: int, others: tuple[bytes, ...]) -> None:
    del data[luck.choice((spot, luck.randrange(len(data) + 1), max(0, len(data) - luck.randrange(20)))) :]


def _flip(data: bytearray, luck: random.Random, spot: int, others: tuple[bytes, ...]) -> None:
    if data:
        data[spot] ^= 1 << luck.randrange(8)


def _number(data: bytearray, luck: random.Random, spot: int, others: tuple[bytes, ...]) -> None:
    """Another number where one may stand: an extreme, one near the old, the length of something, or any."""
    width, order = luck.choice((1, 2, 3, 4, 4, 8)), luck.choice(("little", "big"))
    old = int.from_bytes(data[spot : spot + width], order)
    near = old + luck.choice((-8, -2, -1, 1, 2, 8, len(data), -len(data)))
    new = luck.choice((luck.choice(EXTREMES), near, len(data) - spot, spot, luck.getrandbits(8 * width)))
    data[spot : spot + width] = (new % (1 << 8 * width)).to_bytes(width, order)


def _insert(data: bytearray, luck: random.Random, spot: int, others: tuple[bytes, ...]) -> None:
    data[spot:spot] = luck.choice((luck.randbytes(luck.randrange(40)), bytes(luck.randrange(300)), b"TAG" + bytes(125)))


def _remove(data: bytearray, luck: random.Random, spot: int, others: tuple[bytes, ...]) -> None:
    del data[spot : spot + luck.choice((1, 2, 4, 8, luck.randrange(2000)))]


def _splice(data: bytearray, luck: random.Random, spot: int, others: tuple[bytes, ...]) -> None:
    """A piece of this or another file of the same base in, or over what is there."""
    other = luck.choice((bytes(data), luck.choice(others)))
    start = luck.randrange(len(other) + 1)
    piece = other[start : start + luck.choice((8, 100, 5000, len(other)))]
    data[spot : spot + luck.choice((0, len(piece)))] = piece


# --- what has to hold ------------------------------------------------------------------------------------------------


def violations(module: ModuleType, data: bytes) -> Iterator[str]:
    try:
        found = _account(module, data)
    except Unreadable as error:
        if "\n" in str(error) or "; " not in str(error):
            yield f"not one line with what to do: {error}"
        return
    edges = [0, *(part.end for part in found.parts)]
    if [part.start for part in found.parts] != edges[:-1] or edges[-1] != len(data):
        yield "the ledger has gaps"
    clean = _clean(data, found)
    try:
        after: Ledger = module.account(io.BytesIO(clean))
    except Unreadable as error:
        yield f"the clean copy is refused: {error}"
        return
    if left := [part.name for part in after.extras] + list(after.bits):
        yield f"left in the clean copy: {left}"
    if _clean(clean, after) != clean:
        yield "cleaning twice differs from cleaning once"
    if found.parameters != after.parameters:
        yield f"decoder parameters change: {found.parameters} -> {after.parameters}"
    if hasattr(module, "read_back") and module.read_back(io.BytesIO(clean), ledgers.Seen(found)) != after:
        yield "what was seen in the source makes a difference to what is found in the copy"
    if _digest(data, found) != _digest(clean, after):
        yield "the payload changes"


def _account(module: ModuleType, data: bytes) -> Ledger:
    """The ledger, also where a tag that is in the file cannot be read."""
    try:
        body = next(iter(module.read(entry(data)))).body
    except Unreadable:
        found: Ledger = module.account(io.BytesIO(data))
        return found
    assert isinstance(body, Tags)
    assert body.ledger is not None
    return body.ledger


def _clean(data: bytes, found: Ledger) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), found, out)
    return out.getvalue()


def _digest(data: bytes, found: Ledger) -> str:
    return ledgers.payload_digest(io.BytesIO(data), found)


@pytest.mark.parametrize(("container", "name"), BASES, ids=lambda value: value)
def test_damage_is_refused_or_cleaned(container: str, name: str, pytestconfig: pytest.Config) -> None:
    wanted = pytestconfig.getoption("--mutations")
    if wanted is None and pytestconfig.getoption("--hypothesis-profile") == "long":
        wanted = LONG
    wrong = []
    for number in range(max(EACH, -(-(wanted or 0) // len(CONTAINERS[container].BASES)))):
        data = mutated(container, name, number)
        try:
            with limited(data, traced=number % TRACED == 0):
                wrong += [f"{number}: {what}" for what in violations(FORMATS[container], data)]
        except (Exception, Hang) as error:
            wrong.append(f"{number}: {type(error).__name__}: {error}")
    assert wrong == []


def test_heads_among_sound_are_damaged_too() -> None:
    name = next(iter(CONTAINERS["matroska"].BASES))
    found = FORMATS["matroska"].account(io.BytesIO(sources("matroska", name)[0]))
    inlaid = [part for part in found.parts if part.inlaid]
    known = spots("matroska", name, 0)
    heads = [spot for spot in known for part in inlaid if part.start <= spot[0] < spot[1] <= part.end]
    assert 1 < len(heads) <= len(known) // 2 + 1


def test_damage_is_the_same_each_time_and_mostly_damage() -> None:
    container, name = BASES[0]
    files = [mutated(container, name, number) for number in range(EACH)]
    assert files == [mutated(container, name, number) for number in range(EACH)]
    assert sum(data in sources(container, name) for data in files) < EACH // 4
