"""Indexes of Matroska: entries as writers make them, and those of the clean file."""

from __future__ import annotations

import pytest

from leakscan.ebml import head, make, unsigned
from leakscan.elementindexes import _usual_point, indexed

TIME, TRACK, PLACE, OFFSET = 0xB3, 0xF7, 0xF1, 0xF0


def entry(time: int, *more: bytes) -> bytes:
    return make(0xBB, unsigned(TIME, time), make(0xB7, unsigned(TRACK, 1), unsigned(PLACE, 5000), *more))


@pytest.mark.parametrize("time", [0, 255, 256, 1 << 24, (1 << 64) - 1])
@pytest.mark.parametrize("offset", [None, 0, 1 << 20])
def test_what_a_usual_entry_says(time: int, offset: int | None) -> None:
    more = [] if offset is None else [unsigned(OFFSET, offset)]
    wanted = {TIME: time, TRACK: 1, PLACE: 5000} | ({} if offset is None else {OFFSET: offset})
    assert _usual_point(entry(time, *more)) == wanted


@pytest.mark.parametrize(
    "data",
    [
        b"",
        entry(300)[:-1],
        entry(300) + b"\0",
        entry(300, unsigned(0x5378, 1)),
        entry(300, unsigned(OFFSET, 1), unsigned(OFFSET, 1)),
        make(0xBB, unsigned(TIME, 300)),
        make(0xBB, make(0xB7, unsigned(TRACK, 1), unsigned(PLACE, 5000)), unsigned(TIME, 300)),
        make(0xBB, unsigned(TIME, 300), make(0xB7, unsigned(TRACK, 1)), unsigned(PLACE, 5000)),
        make(0xBB, make(TIME, b""), make(0xB7, unsigned(TRACK, 1), unsigned(PLACE, 5000))),
        make(0xBB, make(TIME, bytes(9)), make(0xB7, unsigned(TRACK, 1), unsigned(PLACE, 5000))),
        b"\xbb\x40" + entry(300)[1:],
    ],
)
def test_other_entries_are_not_usual(data: bytes) -> None:
    assert _usual_point(data) is None


def test_an_index_says_where_clusters_are() -> None:
    seek, index = indexed([(0, 1, 50), (300, 2, 70)], 40)
    assert seek.endswith((len(seek) + 40 + 50 + 70).to_bytes(8, "big"))
    found = head(index)
    assert found is not None
    each = [entry for entry in index[found[2] :].split(b"\xbb") if entry]
    assert [_usual_point(b"\xbb" + entry) for entry in each] == [
        {TIME: 0, TRACK: 1, PLACE: len(seek) + 40},
        {TIME: 300, TRACK: 2, PLACE: len(seek) + 90},
    ]
