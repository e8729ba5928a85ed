"""Frames in a container: what stands behind their end, or in them where no decoder reads."""

from __future__ import annotations

from itertools import accumulate

import places
import pytest
from places import ac3 as ac3_places
from places import flac as flac_places
from places import mpeg as mpeg_places

from leakscan import flacframes, frames
from leakscan.ac3frames import HEADER
from leakscan.ac3frames import header_of as ac3_header
from leakscan.mpegframes import header_of as mpeg_header

TEXT = b"quillfeather-marrow-4711"
MP3 = bytes.fromhex("fffb9064") + bytes(413)  # 128 kbit/s, 44.1 kHz
AC3 = bytes.fromhex("0b77") + b"QR" + b"\0\x40" + bytes(122)  # 32 kbit/s, 48 kHz


def odd(looker: frames.Frames, *samples: bytes) -> list[int]:
    return list(looker.odd(b"".join(samples), [*accumulate(map(len, samples), initial=0)]))


@pytest.mark.parametrize(("looker", "frame"), [(frames.MPEG, MP3), (frames.AC3, AC3)])
def test_frames_that_say_how_long_they_are(looker: frames.Frames, frame: bytes) -> None:
    assert odd(looker, frame, frame) == []
    assert odd(looker, frame, frame + TEXT, frame) == [1]
    assert looker.cleaned(frame + TEXT) == frame
    assert looker.cleaned(frame + frame + TEXT) == frame + frame
    for whole in (frame, frame + frame, frame[:-1], TEXT, b""):
        assert looker.cleaned(whole) is whole


def test_the_check_in_a_header_of_ac3_is_no_length() -> None:
    assert odd(frames.AC3, AC3, AC3[:2] + b"ST" + AC3[4:]) == []


def test_flac_frames_end_where_they_do() -> None:
    data = places.base("mono.flac", flac_places.BASES["mono.flac"])
    every = flac_places._frames(data)
    frame = every[: flac_places._starts(every)[1]]
    looker = frames.Flac(flacframes.read_info(data[8:42]))
    assert odd(looker, frame, frame + TEXT, frame) == [1]
    assert looker.cleaned(frame + TEXT) == frame
    for whole in (frame, TEXT):
        assert looker.cleaned(whole) is whole


def test_opus_packets_keep_their_length() -> None:
    plain, padded = b"\xf8abcd", b"\xfb\x41\3abcdQRS"
    assert odd(frames.Opus(1), plain, padded, b"\xf8Q", b"", plain) == [1, 2]
    assert odd(frames.Opus(2), plain, plain) == [0, 1]
    assert frames.Opus(1).cleaned(padded) == b"\xfb\x41\3abcd\0\0\0"


def test_aac_frames_that_begin_with_data() -> None:
    text = b"\x80\x18" + TEXT  # a data stream element of 24 bytes
    assert odd(frames.Aac(), b"\x21\0", text, b"\x21\0") == [1]
    assert frames.Aac().cleaned(text) == b"\x80\x18" + bytes(24)


@pytest.mark.parametrize("name", ["layer-two.mp2", "mono.ac3"])
def test_headers_tell_the_length(name: str) -> None:
    module = mpeg_places if name.endswith("mp2") else ac3_places
    data = places.base(name, module.BASES[name])
    start = data.index(b"\xff\xfd" if name.endswith("mp2") else b"\x0b\x77")
    count = 0
    while start < len(data):
        head = (
            mpeg_header(data[start : start + 4]) if name.endswith("mp2") else ac3_header(data[start : start + HEADER])
        )
        if head is None:
            break
        start, count = start + head.length, count + 1
    assert count > 30
    assert start == len(data)
