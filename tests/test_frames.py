"""Frames in a container: what stands behind their end, or in them where no decoder reads."""

from __future__ import annotations

import io
import random
from array import array
from itertools import accumulate

import places
import pytest
from places import ac3 as ac3_places
from places import flac as flac_places
from places import mpeg as mpeg_places

from leakscan import flacframes, frames, ledgers
from leakscan.ac3frames import HEADER
from leakscan.ac3frames import header_of as ac3_header
from leakscan.formats import mpeg
from leakscan.model import Unreadable
from leakscan.mpegframes import header_of as mpeg_header
from leakscan.rows import crc16

TEXT = b"quillfeather-marrow-4711"
MP3 = bytes.fromhex("fffb9064") + bytes(413)  # 128 kbit/s, 44.1 kHz
AC3 = bytes.fromhex("0b77") + b"QR" + b"\0\x40" + bytes(122)  # 32 kbit/s, 48 kHz


def odd(looker: frames.Frames, *samples: bytes) -> list[int]:
    edges = [*accumulate(map(len, samples), initial=0)]
    return list(looker.odd(b"".join(samples), edges[:-1], edges[1:]))


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
    for more in (TEXT, b"\1", bytes(range(128, 160)), b"\xc3\0" * 40):
        assert odd(looker, frame, frame + more, frame) == [1]
        assert looker.cleaned(frame + more) == frame
    assert odd(looker, *([frame] * 40)) == []
    assert looker.cleaned(frame) is frame
    for other in (TEXT, frame[:-1], frame[:-1] + bytes([frame[-1] ^ 1])):
        assert odd(looker, frame, other) == [1]
        with pytest.raises(Unreadable, match="not whole, or has a wrong checksum"):
            looker.cleaned(other)


def test_opus_packets_keep_their_length() -> None:
    plain, padded = b"\xf8abcd", b"\xfb\x41\3abcdQRS"
    assert odd(frames.Opus(1), plain, padded, b"\xf8Q", b"\xf8\xff\xfeQRS", plain) == [1, 2, 3]
    assert odd(frames.Opus(2), plain, plain) == [0, 1]
    assert frames.Opus(1).cleaned(padded) == b"\xfb\x41\3abcd\0\0\0"


def test_vorbis_packets_that_are_no_sound_go() -> None:
    sound, comment = b"\xb4\xe1\xf5\x90", b"\x03vorbis" + TEXT
    assert odd(frames.Vorbis(), sound, comment, b"\1", sound) == [1, 2]
    assert frames.Vorbis().cleaned(comment) == b""
    assert frames.Vorbis().cleaned(sound) is sound
    with pytest.raises(Unreadable, match="text behind the sound"):
        odd(frames.Vorbis(), sound, sound * 9 + TEXT)


@pytest.mark.parametrize("looker", [frames.Aac(), frames.Alac(), frames.Vorbis(), frames.Opus(1)])
def test_long_text_within_a_frame_is_refused(looker: frames.Frames) -> None:
    noise = random.Random(4711).randbytes(200)
    assert odd(looker, b"\x20" + noise, b"\x20" + noise) == []
    with pytest.raises(Unreadable, match="text in the sound of a frame"):
        odd(looker, b"\x20" + noise, b"\x20" + noise + TEXT + noise)


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


def counted(behind: int, text: bytes = b"") -> bytes:
    """A frame that counts the ones behind it, of the length of `MP3`, as LAME writes it, with a text at its end."""
    said = behind.to_bytes(4, "big") + ((behind + 1) * len(MP3)).to_bytes(4, "big")
    lame = b"LAME3.100" + bytes(2) + b"\x3f\0\0\0" + bytes(6) + b"\x24\0\0"
    return (MP3[:36] + b"Info\0\0\0\3" + said + lame).ljust(len(MP3) - len(text), b"\0") + text


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (counted(2), {"encoder.mp3.encoder", "digest.mp3.replay-gain", "unknown.mp3.tag-crc"}),
        (counted(3), {"encoder.mp3.encoder", "digest.mp3.replay-gain", "unknown.mp3.tag-crc", "stale.mp3.frames",
                      "stale.mp3.count"}),
        (counted(2, TEXT), {"encoder.mp3.encoder", "digest.mp3.replay-gain", "unknown.mp3.tag-crc", "stale.mp3.tail"}),
        (MP3[:-24] + TEXT, {"unknown.mp3.ancillary"}),
    ],
)  # fmt: skip
def test_a_header_that_counts_frames_is_told_by_field(first: bytes, told: set[str]) -> None:
    data = first + MP3 + MP3
    starts = array("q", range(0, len(data), len(MP3)))
    clean, names = frames.MPEG.inner(data, starts, array("q", [*starts[1:], len(data)]))
    assert clean == MP3 * 3
    assert names == told


def test_the_header_of_frames_with_checks_and_a_copyright_bit_is_clean_at_once() -> None:
    """LAME writes both for `-p -c`: each of its checks is about the bit."""
    silent = bytes.fromhex("fffa906c") + crc16(bytes.fromhex("906c") + bytes(32), 0xFFFF).to_bytes(2, "big")
    silent = silent.ljust(len(MP3), b"\0")
    first = silent[:6].ljust(36, b"\0") + counted(2)[36:]
    data = first + silent + silent
    account = mpeg.account(io.BytesIO(data))
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account, out)
    assert out.getvalue()[3] == 0x64
    again = mpeg.account(io.BytesIO(out.getvalue()))
    assert (again.extras, again.bits) == ((), ())


def test_a_header_that_counts_frames_is_left_where_sound_reads_it() -> None:
    room = len(MP3) - 36  # bytes, behind the side information
    side = (room << 23 | 0xFFF).to_bytes(4, "big")  # main data that begin where those of the first frame would
    data = counted(1) + MP3[:4] + side + MP3[8:]
    ends = array("q", [len(MP3), len(data)])
    assert frames.MPEG.inner(data, array("q", [0, len(MP3)]), ends) == (None, set())


@pytest.mark.parametrize("looker", [frames.MPEG, frames.AC3])
def test_what_is_no_frame_has_nothing_inside(looker: frames.Sized) -> None:
    assert list(looker.ends(TEXT)) == []
    for data in (TEXT, b""):
        assert looker.inner(data, array("q"), array("q")) == (None, set())
