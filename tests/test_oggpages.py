"""Pages of Ogg."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from leakscan import oggpages
from leakscan.oggpages import Page, Window, head_of, pages


def crc(data: bytes) -> bytes:
    """The checksum of a page by the letter of RFC 3533: a generator of 0x04C11DB7, no reflection, start and end 0."""
    value = 0
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value & 0x80000000 else value << 1) & 0xFFFFFFFF
    return value.to_bytes(4, "little")


def test_the_checksum_is_that_of_the_specification() -> None:
    head, body = bytes(range(40)), bytes(range(255, -1, -1))
    assert oggpages.crc_of(head + body) == crc(head + body)


def made(*bodies: bytes) -> bytes:
    """A stream of pages with these bodies, none of them longer than 254 bytes."""
    return b"".join(
        head_of(0, bytes(8), 7, number, bytes([len(body)]), body) + body for number, body in enumerate(bodies)
    )


def read(data: bytes) -> Sequence[Page]:
    return list(pages(Window(io.BytesIO(data), len(data)), 0, len(data)))


def test_a_page_says_what_is_in_its_header() -> None:
    head = head_of(4, b"granules", 9, 1, b"\2\3", b"abcde")
    (page,) = read(head + b"abcde")
    assert (page.flags, page.granule, page.serial, page.number) == (4, b"granules", b"\x09\0\0\0", 1)
    assert (page.lacing, page.content, page.body, page.end) == (b"\2\3", b"abcde", len(head), len(head) + 5)
    rest = page.after(1)
    assert (rest.start, rest.body, rest.end, rest.lacing, rest.content) == (31, 31, page.end, b"\3", b"cde")


@pytest.mark.parametrize("size", [0, 1, 254])
def test_a_header_with_other_numbers_has_the_checksum_of_its_page(size: int) -> None:
    (page,) = read(made(bytes(range(size))))
    wanted = head_of(5, b"position", 1 << 31, 4711, page.lacing, page.content)
    assert page.renumbered(5, b"position", 1 << 31, 4711) == wanted
