"""EBML heads, read and made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan.ebml import head, make, opening, size, unsigned


@given(st.sampled_from([0xA3, 0x4282, 0x2AD7B1, 0x1A45DFA3]), st.integers(0, (1 << 56) - 2))
def test_what_is_made_is_read(element: int, length: int) -> None:
    made = opening(element, length)
    assert head(made + b"x") == (element, length, len(made))


@pytest.mark.parametrize(
    ("length", "coded"),
    [
        (0, "80"),
        (126, "fe"),
        (127, "407f"),
        (128, "4080"),
        (16382, "7ffe"),
        (16383, "203fff"),
        (1 << 49, "0102000000000000"),
    ],
)
def test_sizes_are_short_and_none_reads_as_unknown(length: int, coded: str) -> None:
    assert opening(0xEC, length) == b"\xec" + bytes.fromhex(coded)


@pytest.mark.parametrize("coded", ["ff", "7fff", "1fffffff", "01ffffffffffffff"])
def test_a_size_of_ones_is_unknown(coded: str) -> None:
    found = head(b"\xec" + bytes.fromhex(coded))
    assert found is not None
    assert found[1] is None


@pytest.mark.parametrize("data", [b"", b"\x00\x81", b"\x08\x81", b"\xec", b"\xec\x00", b"\x1a\x45", b"\xec\x40"])
def test_no_head(data: bytes) -> None:
    assert head(data) is None


def test_values() -> None:
    assert unsigned(0xD7, 0) == b"\xd7\x81\x00"
    assert unsigned(0xD7, 256) == b"\xd7\x82\x01\x00"
    assert make(0xEC, b"a", b"b") == b"\xec\x82ab"
    assert size(b"\x40\x02rest") == (2, 2)
