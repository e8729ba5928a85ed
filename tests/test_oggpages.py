"""Pages of Ogg."""

from __future__ import annotations

from leakscan import oggpages


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
    assert oggpages.crc_of(head, body.translate(oggpages.REVERSED)) == crc(head + body)
