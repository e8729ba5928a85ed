"""Pages of Ogg."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest

from leakscan import oggpages
from leakscan.model import Unreadable
from leakscan.oggpages import CONTINUED, FIRST, LAST, Page, head_of, runs


def crc(data: bytes) -> bytes:
    """The checksum of a page by the letter of RFC 3533: a generator of 0x04C11DB7, no reflection, start and end 0."""
    value = 0
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value & 0x80000000 else value << 1) & 0xFFFFFFFF
    return value.to_bytes(4, "little")


@pytest.mark.parametrize("size", [0, 1, 254])
def test_the_checksum_is_that_of_the_specification(size: int) -> None:
    body = bytes(range(size))
    head = head_of(5, -1 << 40, 1 << 31, 4711, bytes([size]), body)
    assert head[22:26] == crc(head[:22] + bytes(4) + head[26:] + body)


def made(number: int, *packets: bytes, flags: int = 0, serial: int = 7) -> bytes:
    """A page with these packets, none of them longer than 255 bytes; a last one of 255 goes on."""
    lacing, body = bytes(map(len, packets)), b"".join(packets)
    return head_of(flags, 0, serial, number, lacing, body) + body


def read(*pages: bytes) -> Sequence[Sequence[Page]]:
    data = b"".join(pages)
    return list(runs(io.BytesIO(data), 0, len(data)))


def test_a_page_says_what_is_in_its_header() -> None:
    head = head_of(4, -7, 9, 1, b"\2\3", b"abcde")
    ((page,),) = read(head, b"abcde")
    assert (page.flags, page.granule, page.serial, page.number) == (4, -7, 9, 1)
    assert (page.lacing, bytes(page.content), page.body, page.end) == (b"\2\3", b"abcde", len(head), len(head) + 5)
    rest = page.after(1)
    assert (rest.start, rest.body, rest.end, rest.lacing, bytes(rest.content)) == (31, 31, page.end, b"\3", b"cde")


def test_pages_that_follow_each_other_come_together() -> None:
    long = bytes(255)
    pages = [made(0, b"a", flags=FIRST), made(1, long), made(2, b"c", flags=CONTINUED), made(3, b"d")]
    assert [len(run) for run in read(*pages, made(4, b"e", flags=LAST), made(5, b"f"))] == [4, 1, 1]


@pytest.mark.parametrize(
    "other",
    [
        made(2, b"c"),  # the first packet does not go on
        made(3, b"c", flags=CONTINUED),
        made(1, b"c", flags=CONTINUED),
        made(2, b"c", flags=CONTINUED, serial=8),
        made(2, b"c", flags=CONTINUED | FIRST),
        made(2, b"c", flags=CONTINUED | LAST),
        made(2, b"c", flags=CONTINUED | 8),
        made(2, flags=CONTINUED),  # empty
    ],
)
def test_a_page_that_is_not_the_next_comes_apart(other: bytes) -> None:
    before, after = [made(0, b"a"), made(1, bytes(255))], made(3, b"d")
    assert len(read(*before, other, after)[0]) == 2
    assert [len(run) for run in read(*before, b"junk", made(2, b"c", flags=CONTINUED), after)] == [2, 2]


def test_pages_that_are_read_apart_come_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [made(number, bytes(200)) for number in range(1_000)]
    whole = read(*pages)
    assert [len(run) for run in whole] == [*15 * [64], 40]
    monkeypatch.setattr(oggpages, "_WHOLE", 70_000)
    parted = read(*pages)
    assert len(parted) > len(whole) + 3
    assert [*chain(*parted)] == [*chain(*whole)]


def test_pages_of_a_file_are_those_of_a_stream_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oggpages, "_READ", 70_000)
    pages = [made(number, bytes(200)) for number in range(1_000)]
    file = tmp_path / "some.ogg"
    file.write_bytes(b"".join(pages))
    with file.open("rb") as stream:
        parted = list(runs(stream, 0, file.stat().st_size))
    assert len(parted) > len(read(*pages)) + 3
    assert [*chain(*parted)] == [*chain(*read(*pages))]


def test_what_comes_before_damage_is_told_first() -> None:
    data = made(0, b"a") + made(1, b"b") + made(2, b"c")[:-1]
    found = runs(io.BytesIO(data), 0, len(data))
    assert len(next(found)) == 2
    with pytest.raises(Unreadable, match="its last page is not there in full"):
        next(found)
