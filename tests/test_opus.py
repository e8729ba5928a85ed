"""Opus packets."""

from __future__ import annotations

from itertools import accumulate

import pytest

from leakscan import opus

TEXT = b"quillfeather"
CELT = 31 << 3  # 20 ms


@pytest.mark.parametrize(
    ("packet", "blank"),
    [
        (bytes([CELT]), None),
        (bytes([CELT]) + TEXT, None),  # one frame
        (bytes([CELT | 1]) + TEXT, None),  # two frames of six bytes
        (bytes([CELT | 2, 4]) + TEXT, None),
        (bytes([CELT | 3, 3]) + TEXT, None),
        (bytes([CELT | 3, 0x83, 2, 5]) + TEXT, None),
        (bytes([CELT | 3, 0x41, 0]) + TEXT, None),  # padding of no bytes
        (bytes([CELT]) + b"Q", bytes([CELT, 0])),
        (bytes([CELT]) + b"\xff\xfe" + TEXT, bytes([CELT]) + b"\xff\xfe" + bytes(12)),  # silence
        (bytes([CELT | 2, 4]) + b"\xff\xfeab" + TEXT, bytes([CELT | 2, 4]) + b"\xff\xfe\0\0" + TEXT),
        (bytes([CELT]) + b"\xff\xfd" + TEXT, None),
        (bytes([15 << 3]) + b"\xff\xfe" + TEXT, None),  # not of CELT alone
        (bytes([CELT | 1]) + b"QR", bytes([CELT | 1, 0, 0])),
        (bytes([CELT | 2, 1]) + b"Qab", bytes([CELT | 2, 1]) + b"\0ab"),
        (bytes([CELT | 3, 0x41, 8]) + TEXT, bytes([CELT | 3, 0x41, 8]) + b"quil" + bytes(8)),
        (bytes([CELT | 3, 0x41, 255, 1, 7, 7]) + b"Q" * 255, bytes([CELT | 3, 0x41, 255, 1, 7, 7]) + bytes(255)),
        (bytes([CELT | 1]) + TEXT + b"Q", b"\3" + bytes(13)),  # two frames of one size in an odd number of bytes
        (bytes([CELT | 2, 40]) + TEXT, b"\3" + bytes(13)),
        (bytes([CELT | 3, 7]) + TEXT + b"QR", b"\3" + bytes(15)),  # 140 ms
        (bytes([CELT | 3, 0]) + TEXT, b"\3" + bytes(13)),
        (bytes([CELT | 3, 0x41, 30]) + TEXT, b"\3" + bytes(14)),
        (bytes([CELT]) + b"Q" * 1276, b"\3" + bytes(1276)),
        (b"", b""),
    ],
)
def test_what_no_decoder_reads(packet: bytes, blank: bytes | None) -> None:
    made = opus.blanked(packet)
    if blank is None:
        assert made is packet
    else:
        assert made == blank
        assert opus.blanked(made) is made


def test_streams_that_say_their_length() -> None:
    one = bytes([CELT, 4]) + b"abcd"
    padded = bytes([CELT | 3, 0x41, 3, 4]) + b"abcd" + b"QRS"
    last = bytes([CELT | 3, 0x41, 3]) + b"efgh" + b"TUV"
    assert opus.blanked(one + last[:1] + b"efgh", 2) != one  # ends as one frame would
    assert opus.blanked(padded + last, 2) == padded[:-3] + bytes(3) + last[:-3] + bytes(3)
    assert opus.blanked(one + padded + last, 3) == one + padded[:-3] + bytes(3) + last[:-3] + bytes(3)
    assert opus.blanked(one, 3) == b"\3" + bytes(5)  # two streams are missing


@pytest.mark.parametrize(
    ("packet", "samples"),
    [
        (b"", 0),
        (bytes([CELT]), 960),
        (bytes([CELT | 1]), 1920),
        (bytes([16 << 3]), 120),
        (bytes([3 << 3]), 2880),
        (bytes([13 << 3 | 2]), 1920),
        (bytes([CELT | 3, 0x85]), 4800),
        (bytes([CELT | 3]), 0),
    ],
)
def test_lengths(packet: bytes, samples: int) -> None:
    assert opus.length(packet) == samples


def test_packets_to_be_looked_at() -> None:
    plain, silent, several = bytes([CELT]) + TEXT, bytes([CELT]) + b"\xff\xfe" + TEXT, bytes([CELT | 1]) + TEXT
    packets = [plain, silent, plain, several, bytes([CELT]) + b"Q", plain, bytes([CELT]) + b"Q" * 1276]
    edges = [*accumulate(map(len, packets), initial=0)]
    assert opus.odd(b"".join(packets), edges[:-1], edges[1:]) == [1, 3, 4, 6]
    assert opus.odd(plain, [0], [len(plain)]) == []
