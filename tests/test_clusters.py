"""Blocks of Matroska found many at once: the same as one after the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan.clusters import CLUSTER, LEAST, blocks
from leakscan.ebml import make, opening, unsigned

TRACKS = {0x81: False, 0x82: True}
TIME = b"\x01\x02"


def block(sound: bytes, number: int = 1, flags: int = 0x80, element: int = 0xA3) -> bytes:
    return make(element, bytes([0x80 | number]), TIME, bytes([flags]), sound)


def group(sound: bytes, *more: bytes, number: int = 1) -> bytes:
    return make(0xA0, block(sound, number, 0, 0xA1), *more)


SOUNDS = st.sampled_from([b"s", b"sound", b"s" * 122, b"s" * 123, b"s" * 500, b"\xa3\x89\x81\0\0\x80" * 30])
USUAL = st.one_of(
    st.builds(block, SOUNDS),
    st.builds(group, SOUNDS),
    st.builds(lambda sound, duration: group(sound, unsigned(0x9B, duration)), SOUNDS, st.sampled_from([0, 9, 300])),
)
OTHER = st.sampled_from(
    [
        make(0xEC, bytes(3)),
        opening(CLUSTER, 900) + unsigned(0xE7, 4),
        block(b"sound", flags=0),
        block(b"sound", number=3),
        block(b"\xc0sound", number=2),
        block(b""),
        group(b"sound", make(0x9B, b"\0\7")),
        b"\xa3\x40\x0a" + block(b"sounds")[2:],
    ]
)


@given(st.lists(st.one_of(USUAL.map(lambda data: (data, True)), OTHER.map(lambda data: (data, False))), max_size=12))
def test_runs_are_the_usual_blocks_one_after_the_other(elements: list[tuple[bytes, bool]]) -> None:
    data = b"".join(element for element, _ in elements) + bytes(LEAST)
    found = blocks(data, TRACKS)
    offset = 0
    for index, (element, usual) in enumerate(elements):
        run = found.run(offset, len(data))
        following = next(
            (after for after, (_, still) in enumerate(elements[index:]) if not still), len(elements) - index
        )
        assert run.stop - run.start == (following if usual else 0)
        if usual:
            assert found.track(run) == 1
            bounds = found.bounds(run).tolist()
            assert bounds == sorted(bounds)
            assert bounds[0] == offset
            assert bounds[-1] == offset + sum(len(one) for one, _ in elements[index : index + following])
            told = found.times(slice(run.start, run.start + 1))
            assert told == b"\x81" + TIME + data[bounds[2] : offset + len(element)]
            assert found.run(offset, offset + len(element) - 1) == slice(run.start, run.start)
        offset += len(element)


def test_a_block_may_end_behind_the_bytes_and_a_group_may_not() -> None:
    long = block(bytes(300)), group(bytes(300))
    for data, ends in ((long[0][:200], 1), (long[1][:200], 0)):
        found = blocks(data, TRACKS)
        run = found.run(0, 1000)
        assert (run.stop - run.start, 0 in found.cut) == (ends, not ends)


@pytest.mark.parametrize("data", [b"", bytes(100), b"\xa3" * 100, b"\xff" * 100, b"\xa3\x80" * 50])
def test_other_bytes_hold_none(data: bytes) -> None:
    assert blocks(data, TRACKS).run(0, len(data)) == slice(0, 0)
