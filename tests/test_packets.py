"""Packets of ASF taken apart many at once."""

from __future__ import annotations

import pytest

from leakscan.packets import packets

LENGTH = 90
LATEST = 1 << 32


def packet(*sounds: bytes, stream: int = 1, stale: bytes = b"", sequence: bytes = b"") -> bytes:
    """A packet with several payloads, 8 bytes said of each; `sequence` is a number that nobody reads."""
    each = [
        bytes([0x80 | stream, 1]) + bytes(4) + b"\x08" + b"\x09\0\0\0efgh" + bytes([len(one), 0]) + one
        for one in sounds
    ]
    head = b"\x82\0\0" + bytes([0x09 | 2 * len(sequence), 0x5D]) + sequence
    body = bytes([0x80 | len(sounds)]) + b"".join(each) + stale
    padding = LENGTH - len(head) - 7 - len(body) + len(stale)
    return (head + bytes([padding]) + b"123456" + body).ljust(LENGTH, b"\0")


def test_sound_and_times_of_a_packet() -> None:
    data = packet(b"one", b"three") + packet(b"four")
    found = packets(data, LENGTH, 1, LATEST)
    assert found.usual.tolist() == [True, True]
    bounds = found.bounds(0, 2).tolist()
    pieces = [data[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
    assert pieces == [b"one", b"three", b"four"]
    assert found.bounds(1, 2).tolist() == bounds[4:]
    first, second = data.index(b"one"), data.index(b"three")
    since = data.index(b"123456") - 1
    assert found.times(0, 1) == b"123456" + data[since:first] + data[first + 3 : second]
    assert found.times(0, 2) == found.times(0, 1) + found.times(1, 2)


@pytest.mark.parametrize(
    "odd",
    [
        packet(b"one", stream=2),
        packet(b"one", stale=b"left"),
        packet(b"one", sequence=b"7"),
        packet(b"one").replace(b"\x03\0one", b"\xff\0one"),
        packet(b"one").replace(b"\x08\x09\0\0\0efgh", b"\x0b\x09\0\0\0efghxyz")[:LENGTH],
        packet(b"one").replace(b"\x09\0\0\0", b"\x02\0\0\0"),
        packet(b"one").replace(b"\x09\0\0\0", b"\x09\0\2\0"),
        b"\x82\1\2" + packet(b"one")[3:],
        b"\xf2" + packet(b"one")[1:],
        bytes(LENGTH),
        b"\xff" * LENGTH,
    ],
)
def test_what_is_not_so_is_left_to_be_looked_at_one_by_one(odd: bytes) -> None:
    usual = packet(b"one", b"two")
    assert packets(usual + odd + usual + usual, LENGTH, 1, LATEST).usual.tolist() == [True, False, True, True]
    assert not packets(odd, LENGTH, 1, LATEST).usual.any()


@pytest.mark.parametrize("stale", [b"", b"left", b"\0\0\0\0left"])
@pytest.mark.parametrize("sound", [b"", b"on", b"one", b"three"])
def test_packets_may_be_filled_more_or_less_than_the_others(sound: bytes, stale: bytes) -> None:
    usual = packet(b"one")
    found = packets(usual * 2 + packet(sound, stale=stale) + usual * 2, LENGTH, 1, LATEST)
    assert found.usual.tolist() == [True, True, not stale, True, True]


def test_a_number_that_is_zero_says_nothing() -> None:
    assert packets(packet(b"one", sequence=b"\0") * 3, LENGTH, 1, LATEST).usual.all()
    assert packets(packet() * 3, LENGTH, 1, LATEST).bounds(0, 3).tolist() == []
    assert packets(packet() * 3, LENGTH, 1, LATEST).times(0, 1) == b"123456"


def test_what_is_played_later_than_it_can_is_left_to_be_looked_at() -> None:
    data = packet(b"one") + packet(b"two")
    assert packets(data, LENGTH, 1, int.from_bytes(b"efgh", "little")).usual.all()
    assert not packets(data, LENGTH, 1, int.from_bytes(b"efgh", "little") - 1).usual.any()
