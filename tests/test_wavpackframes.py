"""Frames of WavPack: sub-blocks that decoders do not read go, the others stay as they are."""

from __future__ import annotations

import struct

import pytest

from leakscan.model import Unreadable
from leakscan.wavpackframes import WavPack

SOUND = b"\x0a\x0a" + bytes(place * place * 7 % 251 for place in range(20))
TERMS = b"\x42\x01\x12\0"  # of one byte
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


@pytest.mark.parametrize("frame", [alone(TERMS, SOUND), several((TERMS, SOUND), (SOUND,)), SAMPLES])
def test_what_decoders_read_stays(frame: bytes) -> None:
    assert WavPack().cleaned(frame) is frame
    assert list(WavPack().odd(b"x" + frame + frame, [1, 1 + len(frame), 1 + 2 * len(frame)])) == []


@pytest.mark.parametrize(
    ("frame", "clean"),
    [
        (alone(TERMS, SOUND, STOWED), alone(TERMS, SOUND)),
        (alone(STOWED, TERMS, SOUND), alone(TERMS, SOUND)),
        (alone(TERMS, SOUND, b"\x2f\x01st", flags=0x10001800), alone(TERMS, SOUND)),
        (alone(TERMS, b"\xa1\x04\0\0stowaway", SOUND), alone(TERMS, SOUND)),
        (alone(TERMS, b"\x0d\x04stowaway", SOUND), alone(TERMS, SOUND)),
        (several((TERMS, SOUND), (STOWED, SOUND)), several((TERMS, SOUND), (SOUND,))),
    ],
)
def test_other_sub_blocks_go(frame: bytes, clean: bytes) -> None:
    assert WavPack().cleaned(frame) == clean
    assert list(WavPack().odd(clean + frame, [0, len(clean), len(clean) + len(frame)])) == [1]


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (alone(SOUND)[:-1], "no WavPack"),
        (several((SOUND,), (SOUND,))[:-1], "no WavPack"),
        (SAMPLES + b"\0", "no WavPack"),
        (alone(b"\x0a\x11a stowaway's words, all of them..."), "text behind the sound"),
    ],
)
def test_what_is_none_or_tells_something_is_refused(frame: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        WavPack().cleaned(frame)
