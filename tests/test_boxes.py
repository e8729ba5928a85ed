"""Sample tables: what is read is written in its shortest form, and what cannot be is an error."""

from __future__ import annotations

import struct
from array import array

import pytest

from leakscan import boxes


def numbers(*values: int) -> bytes:
    return struct.pack(f">{len(values)}I", *values)


def of(*, count: int = 4, durations: tuple[int, ...] = (4, 10), alike: tuple[int, ...] = (1, 2, 1)) -> boxes.Samples:
    sized = (0, array("I", range(1, count + 1)), count, 0)
    return boxes.samples(array("I", durations), array("I"), sized, array("I", alike), array("Q", (100, 200)))


@pytest.mark.parametrize("width", [4, 8, 16])
def test_compact_sizes(width: int) -> None:
    packed = {4: b"\x12\x30", 8: b"\1\2\3", 16: b"\0\1\0\2\0\3"}[width]
    _, each, count, used = boxes.compact_sizes(bytes(4) + numbers(width, 3) + packed + b"more")
    assert each.tolist() == [1, 2, 3]
    assert (count, used) == (3, 12 + len(packed))


def test_sizes_of_any_other_width_are_an_error() -> None:
    with pytest.raises(ValueError, match="no known width"):
        boxes.compact_sizes(bytes(4) + numbers(5, 3) + bytes(9))


def test_chunks_are_counted_out() -> None:
    found = of(alike=(1, 3, 1, 2, 1, 1))
    assert found.counts.tolist() == [3, 1]
    assert found.total == 4
    written = boxes.spread(found, array("Q", (7, 8)))
    assert boxes.full(b"stsc", numbers(2, 1, 3, 1, 2, 1, 1)) in written
    assert boxes.full(b"stco", numbers(2, 7, 8)) in written
    assert boxes.full(b"stsz", numbers(0, 4, 1, 2, 3, 4)) in written


def test_the_shortest_tables_are_written() -> None:
    found = of(durations=(1, 10, 0, 99, 2, 10, 3, 10), alike=(1, 2, 1, 2, 2, 1))
    written = boxes.spread(found, array("Q", (7, 8)))
    assert boxes.full(b"stts", numbers(1, 4, 10)) in written
    assert boxes.full(b"stsc", numbers(1, 1, 2, 1)) in written
    same = found._replace(sizes=array("I", (5, 5, 5, 5)))
    assert boxes.full(b"stsz", numbers(5, 4)) in boxes.spread(same, array("Q", (7, 8)))


def test_offsets_of_64_bits_are_written_where_need_be() -> None:
    written = boxes.spread(of(), array("Q", (7, 1 << 32)))
    assert boxes.full(b"co64", numbers(2), struct.pack(">QQ", 7, 1 << 32)) in written


def test_large_files_have_large_numbers() -> None:
    track = boxes.Track(1, True, 0, 8000, False, 0, (boxes.Coding(boxes.make(b"sowt")),), of(), (), b"")
    movie = boxes.Movie(8000, (track,), {})
    small = boxes.header(movie, [array("Q", (0, 3))], 10, False)
    large = boxes.header(movie, [array("Q", (0, 1 << 32))], 1 << 33, False)
    assert b"stco" in small
    assert small[-8:] == numbers(18) + b"mdat"
    assert b"co64" in large
    assert large[-16:] == b"\0\0\0\1mdat" + struct.pack(">Q", (1 << 33) + 16)
    assert struct.pack(">QQ", len(large), len(large) + (1 << 32)) in large


def test_long_tracks_have_long_durations() -> None:
    edit = boxes.Edit(1 << 33, 1 << 32)
    track = boxes.Track(1, True, 3, 8000, True, 0, (), of(durations=(4, (1 << 32) - 1)), (edit,), b"")
    written = boxes.header(boxes.Movie(600, (track,), {}), [array("Q", (0, 3))], 10, True)
    assert boxes.full(b"elst", numbers(1), struct.pack(">QqI", *edit), version=1) in written
    assert written.count(struct.pack(">Q", 1 << 33)) == 3  # mvhd, tkhd, elst
    assert struct.pack(">Q", 4 * ((1 << 32) - 1)) in written
    assert written[8:12] == b"qt  "


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ({"durations": (3, 10)}, "no time"),
        ({"alike": (1, 1, 1)}, "do not fit"),
        ({"alike": (1, 9, 1)}, "do not fit"),
        ({"alike": (1, 0, 1, 2, 4, 1)}, "do not fit"),
        ({"alike": (1, 2, 1, 1, 2, 1)}, "do not fit"),
        ({"alike": (1, 2, 1, 9, 2, 1)}, "do not fit"),
        ({"alike": ()}, "do not fit"),
    ],
)
def test_tables_that_disagree_are_an_error(tables: dict[str, tuple[int, ...]], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        of(**tables)  # type: ignore[arg-type]


def test_numbers() -> None:
    assert boxes.signed(0xFFFFFFFF) == -1
    assert boxes.signed(0x7FFFFFFF) == 0x7FFFFFFF
    assert boxes.words(boxes.packed((1, 2)), 0, 2).tolist() == [1, 2]
    with pytest.raises(ValueError, match="shorter"):
        boxes.number(b"abc", 0)
    with pytest.raises(ValueError, match="shorter"):
        boxes.rows(bytes(4) + numbers(1 << 31), 2)
