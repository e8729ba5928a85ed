"""ADTS: frame headers and the last frame."""

from __future__ import annotations

import io

import pytest
from audio_samples import entry

from leakscan import blocks, ledgers
from leakscan.formats import adts
from leakscan.model import Part, Tags, Unreadable


def frame(length: int, second: int = 0x50) -> bytes:
    head = bytes([0xFF, 0xF1, second, 0x40 | length >> 11, length >> 3 & 0xFF, (length & 7) << 5 | 0x1F, 0xFC])
    return head + bytes(length - 7)


def read(data: bytes) -> Tags:
    body = next(iter(adts.read(entry(data)))).body
    assert isinstance(body, Tags)
    return body


def strip(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), adts.account(io.BytesIO(data)), out)
    return out.getvalue()


def test_whole_files() -> None:
    assert read(frame(200) * 3).container == "aac"
    found = read(frame(200) + frame(8) + frame(4000, 0x52))  # the private bit may change
    assert (found.tags, found.blocks) == ((), (("unknown.aac.private-bit", ""),))


def test_bits_that_all_frames_have_tell_of_the_encoder() -> None:
    assert dict(read(frame(200, 0x52) * 3).blocks) == {"encoder.aac.private-bit": ""}
    assert strip(frame(200, 0x52) * 3) == frame(200) * 3


def test_cut_files() -> None:
    with pytest.raises(Unreadable, match="cut: 150 of the 200 bytes of its last frame are there"):
        read((frame(200) * 3)[:-50])


@pytest.mark.parametrize(
    ("data", "alike"),
    [
        (frame(200) + frame(8) + frame(4000, 0x52) + frame(90), True),
        (frame(200), True),
        (b"\xff\xf0" + frame(10)[2:] + frame(90), True),
        (b"\xff\xf0" + frame(9)[2:] + frame(90), False),  # no room for its check
        (frame(200) * 3 + frame(200)[:99], False),
        (frame(200) * 3 + frame(200)[:5], False),
        (frame(200) * 2 + b"\1" + frame(200) * 2, False),
        (frame(200) * 2 + frame(200, 0x4C) * 2, False),  # another rate
        (frame(200) * 2 + b"\xff\xf9" + frame(200)[2:], False),
        (frame(200) * 2 + frame(200)[:3] + bytes(197), False),
        (b"\xff\xf1\x74" + frame(200)[3:], False),
    ],
)
def test_frames_that_are_alike_are_walked_over_quickly(data: bytes, alike: bool) -> None:
    for before in (b"", b"ID3"):
        walk = adts._plain(before + data, len(before))
        assert (walk is not None) == alike
        if alike:
            walked = blocks.walk_frames(before + data, len(before), 7, adts._SYNC, adts._parse, adts._key)
            assert walk == walked


def test_frames_that_stay_as_they_are_are_told_apart() -> None:
    data = frame(90) * 2 + frame(80, 0x52) * 2 + frame(70)
    assert adts.account(io.BytesIO(data)).parts == (
        Part("payload", "aac.frames", 0, 180),
        Part("payload", "aac.frames", 180, 340, frame(80) * 2),
        Part("payload", "aac.frames", 340, 410),
    )
    some = frame(80, 0x52) + frame(90) * 20
    parts = adts.account(io.BytesIO((some * 3 + frame(90) * 80) * 60)).parts
    assert len(parts) == 2 * 60
    assert parts[-2].clean == frame(80) + (frame(90) * 20 + frame(80)) * 2


def test_text_that_was_seen_is_not_searched_for_again() -> None:
    clean = frame(90) * 20
    put = clean[:-30] + b"a stowaway's words, and others" + frame(80)
    with pytest.raises(Unreadable, match="text behind the sound of a frame, before byte 1,800"):
        adts.account(io.BytesIO(put))
    source = frame(90) * 20 + frame(80, 0x52)  # its last frame is made clean
    seen = ledgers.Seen(adts.account(io.BytesIO(source)))
    assert adts.read_back(io.BytesIO(put), seen).parts == (Part("payload", "aac.frames", 0, 1880),)
    put = clean + frame(80)[:-30] + put[1770:1800]
    with pytest.raises(Unreadable, match="text behind the sound of a frame, before byte 1,880"):
        adts.read_back(io.BytesIO(put), seen)
    source = (frame(90) * 80 + frame(80, 0x52)) * 60
    clean = strip(source)
    seen = ledgers.Seen(adts.account(io.BytesIO(source)))
    assert adts.read_back(io.BytesIO(clean), seen) == adts.account(io.BytesIO(clean))
    with pytest.raises(Unreadable, match="text behind the sound of a frame, before byte 7,280"):
        adts.read_back(io.BytesIO(clean[:7250] + put[-30:] + clean[7280:]), seen)


def test_text_between_frames_is_found() -> None:
    blocks = read(frame(90) * 2 + b"\1stowaway\1" + frame(90) * 2).blocks
    assert blocks == (("unknown.aac.unknown", "<binary> stowaway"),)


@pytest.mark.parametrize("head", [b"ADIF" + bytes(40), b"\x56\xe0\x90" + bytes(40)])
def test_other_framings_are_refused_by_their_magic(head: bytes) -> None:
    data = head + frame(200) * 9
    assert not adts.sniff(data)
    with pytest.raises(Unreadable, match="ADIF or LOAS, which is not supported"):
        read(data)


def test_frames_without_a_check_are_as_long_as_they_say() -> None:
    checked = [b"\xff\xf0" + part[2:7] + b"\x12\x34" + part[9:] for part in [frame(200), frame(90)]]
    clean = strip(b"".join(checked * 3))
    assert clean == b"".join([frame(198), frame(88)] * 3)
    assert strip(clean) == clean


def test_checked_frames_of_several_blocks_are_refused() -> None:
    part = frame(200)
    with pytest.raises(Unreadable, match="frames of several blocks with an error check"):
        read((b"\xff\xf0" + part[2:6] + b"\xfd" + part[7:]) * 3)


def bits(*fields: tuple[int, int]) -> bytes:
    """Numbers, each with its count of bits, and zeros up to the next byte."""
    text = "".join(f"{value:0{count}b}" for value, count in fields)
    return int(text.ljust(len(text) + -len(text) % 8, "0"), 2).to_bytes((len(text) + 7) // 8, "big")


def framed(block: bytes) -> bytes:
    """Three frames, the second with this block."""
    return frame(99) + frame(7 + len(block))[:7] + block + frame(99)


def test_the_comment_of_a_channel_configuration_is_blanked() -> None:
    counts = ((1, 4), (0, 4), (0, 4), (1, 2), (1, 3), (0, 4))  # front, side, back, low, data, coupled
    config = ((5, 3), (0, 4), (1, 2), (4, 4), *counts, (1, 1), (7, 4), (0, 1), (1, 1), (5, 3), (9, 5), (3, 4), (4, 4))
    head = bits(*config)
    channels = b"\x01\x23\x45"
    blank = framed(head + b"\x08" + bytes(8) + channels)
    assert strip(framed(head + b"\x08a secret" + channels)) == blank
    assert read(framed(head + b"\x08a secret" + channels)).blocks == (("unknown.aac.fill", ""),)


@pytest.mark.parametrize(
    "block",
    [
        bits((6, 3), (3, 4), (13, 4), (0x12345, 20)),  # spectral band replication
        bits((4, 3), (0, 4), (0, 1), (200, 8), (0x12345, 20)),  # beyond the end
        bits((6, 3), (15, 4), (255, 8), (0x12345, 20)),
        bits((0, 3), (0x12345, 20)),  # channels
        bits((7, 3), (0x1F, 5)),
    ],
)
def test_what_is_sound_or_broken_stays(block: bytes) -> None:
    data = framed(block)
    assert strip(data) == data
    assert read(data).blocks == ()


def test_prescribed_filler_is_not_told() -> None:
    block = bits((6, 3), (3, 4), (1, 4), (0, 4), (0xA5A5, 16), (0, 3), (0x12345, 20))
    assert strip(framed(block)) == framed(block)
    assert read(framed(block)).blocks == ()


@pytest.mark.parametrize(
    "head",
    [
        frame(200) * 2,
        frame(200),
        frame(200) + b"TAG",
        (frame(5000) * 2)[:4096],  # the second header is out of sight
        b"rest of a frame" + frame(200) * 3,
    ],
)
def test_claimed(head: bytes) -> None:
    assert adts.sniff(head)


@pytest.mark.parametrize(
    "head",
    [
        frame(200) + bytes(300),
        b"rest of a frame" + frame(200) * 2 + bytes(7),
        b"RIFF" + frame(200) * 3,
        frame(200)[:150],
        frame(200) + frame(200, 0x4C),  # another rate
        b"\xff\xfb\x90\x64" + bytes(413) + b"\xff\xfb\x90\x64",  # MPEG layer III
        b"\xff\xf1\x74" + frame(200)[3:] + frame(200),  # rate index 13
    ],
)
def test_not_claimed(head: bytes) -> None:
    assert not adts.sniff(head)
