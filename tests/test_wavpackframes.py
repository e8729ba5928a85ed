"""Frames of WavPack: sub-blocks that decoders do not read go, the others stay as they are."""

from __future__ import annotations

import struct

import pytest

from leakscan.model import Unreadable
from leakscan.wavpackframes import WavPack

SOUND = b"\x0a\x0a" + bytes(place * place * 7 % 251 for place in range(20))
TERMS = b"\x42\x01\x12\0"  # of one byte
SPEAKERS = b"\x0d\x01\x02\3"  # two channels, front left and right
STOWED = b"\x21\x04stowaway"
SAMPLES = b"\0\1\0\0"


def alone(*subs: bytes, flags: int = 0x1800) -> bytes:
    return SAMPLES + struct.pack("<I", flags) + b"crcs" + b"".join(subs)


def several(*blocks: tuple[bytes, ...]) -> bytes:
    made = [SAMPLES]
    for index, subs in enumerate(blocks):
        flags = 0x800 * (index == 0) | 0x1000 * (index == len(blocks) - 1)
        data = b"".join(subs)
        made.append(struct.pack("<I", flags) + b"crcs" + struct.pack("<I", len(data)) + data)
    return b"".join(made)


def looker() -> WavPack:
    return WavPack(0x410)


@pytest.mark.parametrize("frame", [alone(TERMS, SOUND), several((TERMS, SOUND), (SOUND,)), alone(SPEAKERS, SOUND)])
def test_what_decoders_read_stays(frame: bytes) -> None:
    assert looker().cleaned(frame) is frame
    assert list(looker().odd(b"x" + frame + frame, [1, 1 + len(frame)], [1 + len(frame), 1 + 2 * len(frame)])) == []


@pytest.mark.parametrize(
    ("frame", "clean"),
    [
        (alone(TERMS, SOUND, STOWED), alone(TERMS, SOUND)),
        (alone(STOWED, TERMS, SOUND), alone(TERMS, SOUND)),
        (alone(TERMS, SOUND, b"\x2f\x01st", flags=0x10001800), alone(TERMS, SOUND)),
        (alone(TERMS, SOUND, flags=0x08001800), alone(TERMS, SOUND)),
        (alone(TERMS, b"\xa1\x04\0\0stowaway", SOUND), alone(TERMS, SOUND)),
        (alone(b"\x02\x04stowaway", TERMS, SOUND), alone(TERMS, SOUND)),
        (alone(TERMS, b"\x27\2stow", SOUND), alone(TERMS, SOUND)),
        (alone(TERMS, b"\x05\4" + bytes(8), SOUND), alone(TERMS, b"\x05\4" + bytes(8), SOUND)),
        (alone(TERMS, b"\x05\7" + bytes(12) + b"st", SOUND), alone(TERMS, b"\x05\6" + bytes(12), SOUND)),
        (alone(b"\x42\1\x12Q", SOUND), alone(TERMS, SOUND)),
        (several((TERMS, SOUND), (STOWED, SOUND)), several((TERMS, SOUND), (SOUND,))),
    ],
)
def test_other_sub_blocks_go(frame: bytes, clean: bytes) -> None:
    assert looker().cleaned(frame) == clean
    odd = [1] if frame != clean else []
    assert list(looker().odd(clean + frame, [0, len(clean)], [len(clean), len(clean) + len(frame)])) == odd


def test_parts_tell_what_goes_and_where() -> None:
    frame = alone(b"\x25\1cf", TERMS, STOWED, SOUND)
    parts = looker().parts(frame, 100)
    assert [(part.start, part.end) for part in parts][:: len(parts) - 1] == [(100, 104), (130, 152)]
    extras = [(f"{part.kind}.{part.name}", frame[part.start - 100 : part.end - 100]) for part in parts]
    assert [one for one in extras if one[0].split(".")[0] not in ("payload", "structure")] == [
        ("encoder.matroska.config", b"cf"),
        ("unknown.matroska.riff-header", b"stowaway"),
    ]


def test_a_flag_that_nothing_reads_is_told() -> None:
    one = looker()
    one.cleaned(alone(TERMS, SOUND))
    assert not one.flagged
    one.cleaned(alone(TERMS, SOUND, flags=0x08001800))
    assert one.flagged


def test_all_frames_say_the_same_of_the_channels() -> None:
    one = looker()
    one.cleaned(alone(SPEAKERS, SOUND))
    one.cleaned(alone(SPEAKERS, SOUND))
    with pytest.raises(Unreadable, match="different things of its channels"):
        one.cleaned(alone(b"\x0d\x01\x02\5", SOUND))


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (alone(SOUND)[:-1], "not filled by what it is made of"),
        (several((SOUND,), (SOUND,))[:-1], "no WavPack"),
        (several((SOUND,), (SOUND,), (SOUND,))[:-40], "no WavPack"),
        (several((SOUND,)) + several((SOUND,))[4:], "not filled by what it is made of"),
        (several((SOUND,), (SOUND,)) + b"stowaway", "no WavPack"),
        (several((SOUND,), (SOUND,)) + several((SOUND,), (SOUND,))[4:], "no WavPack"),
        (SAMPLES, "no WavPack"),
        (SAMPLES + b"\0", "no WavPack"),
        (b"stow" + alone(SOUND)[4:], "no WavPack"),
        (bytes(4) + alone(SOUND)[4:], "no WavPack"),
        (alone(SOUND, flags=0x1000), "no WavPack"),
        (alone(b"\x0d\x04stowaway", SOUND), "it tells of"),
        (alone(b"\x0a\x11a stowaway's words, all of them..."), "text behind the sound"),
    ],
)
def test_what_is_none_or_tells_something_is_refused(frame: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        looker().cleaned(frame)
