"""ADTS: frame headers and the last frame."""

from __future__ import annotations

import pytest
from audio_samples import entry

from leakscan.formats import adts
from leakscan.model import Tags, Unreadable


def frame(length: int, second: int = 0x50) -> bytes:
    head = bytes([0xFF, 0xF1, second, 0x40 | length >> 11, length >> 3 & 0xFF, (length & 7) << 5 | 0x1F, 0xFC])
    return head + bytes(length - 7)


def read(data: bytes) -> Tags:
    return next(iter(adts.read(entry(data)))).body


def test_whole_files() -> None:
    assert read(frame(200) * 3) == Tags("aac")
    assert read(frame(200) + frame(8) + frame(4000, 0x52)) == Tags("aac")  # the private bit may change


def test_cut_files() -> None:
    with pytest.raises(Unreadable, match="cut: 150 of the 200 bytes of its last frame are there"):
        read((frame(200) * 3)[:-50])


def test_text_between_frames_is_found() -> None:
    assert read(frame(90) * 2 + b"\1stowaway\1" + frame(90) * 2).tags == (("file.other", "<binary> stowaway"),)


@pytest.mark.parametrize(
    "head",
    [
        frame(200) * 2,
        frame(200),
        frame(200) + b"TAG",
        (frame(5000) * 2)[:4096],  # the second header is out of sight
    ],
)
def test_claimed(head: bytes) -> None:
    assert adts.sniff(head)


@pytest.mark.parametrize(
    "head",
    [
        frame(200) + bytes(300),
        frame(200)[:150],
        frame(200) + frame(200, 0x4C),  # another rate
        b"\xff\xfb\x90\x64" + bytes(413) + b"\xff\xfb\x90\x64",  # MPEG layer III
        b"\xff\xf1\x74" + frame(200)[3:] + frame(200),  # rate index 13
    ],
)
def test_not_claimed(head: bytes) -> None:
    assert not adts.sniff(head)
