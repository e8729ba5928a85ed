"""Text in AAC fill elements: it goes, and nothing else changes."""

from __future__ import annotations

import pytest

from leakscan.fills import blanked

FILL, DATA, PAIR = "110", "100", "001"
SOUND = PAIR + "0000" + "1011011101111" * 9


def bits(text: bytes) -> str:
    return "".join(f"{byte:08b}" for byte in text)


def frame(*elements: str) -> bytes:
    joined = "".join(elements)
    joined += "0" * (-len(joined) % 8)
    return int(joined, 2).to_bytes(len(joined) // 8, "big")


def fill(text: bytes, kind: str = "0000", nibble: str = "0000") -> str:
    count = len(text) + 1
    size = f"{count:04b}" if count < 15 else f"1111{count - 14:08b}"
    return FILL + size + kind + nibble + bits(text)


def data(text: bytes, aligned: bool = False, before: int = 0) -> str:
    size = f"{len(text):08b}" if len(text) < 255 else f"11111111{len(text) - 255:08b}"
    head = f"{DATA}0000{int(aligned)}{size}"
    return head + ("0" * (-(before + len(head)) % 8) if aligned else "") + bits(text)


@pytest.mark.parametrize("length", [1, 13, 14, 15, 24, 200, 254, 255, 256, 268])
@pytest.mark.parametrize("kind", ["0000", "0001", "0010"])
def test_text_goes_and_the_sound_stays(length: int, kind: str) -> None:
    text = b"stowaway" * 40
    said = frame(fill(text[:length], kind), SOUND)
    assert blanked(said) == frame(fill(bytes(length)), SOUND)
    assert blanked(blanked(said)) == blanked(said)


@pytest.mark.parametrize("length", [1, 24, 254, 255, 300])
def test_data_streams_go(length: int) -> None:
    text = b"stowaway" * 40
    assert blanked(frame(data(text[:length]), SOUND)) == frame(data(bytes(length)), SOUND)
    assert blanked(frame(data(text[:length], aligned=True), SOUND)) == frame(data(bytes(length), aligned=True), SOUND)


def test_several_elements_before_the_sound_go() -> None:
    said = frame(fill(b"stow"), data(b"away"), fill(b"aboard"), SOUND)
    assert blanked(said) == frame(fill(bytes(4)), data(bytes(4)), fill(bytes(6)), SOUND)


@pytest.mark.parametrize(
    "untouched",
    [
        frame(SOUND),
        frame(SOUND, fill(b"stowaway")),  # where it begins is known after decoding only
        frame(fill(bytes(20)), SOUND),
        frame(fill(b"\xa5" * 20, "0001"), SOUND),  # as the standard wants it filled
        frame(fill(b"libfaac 1.28"), SOUND),  # tells decoders how much to skip
        frame(fill(b"\1\2\3", "1101"), SOUND),  # SBR
        frame(fill(b"\1\2\3", "1011"), SOUND),  # dynamic range
        frame(FILL + "0000", SOUND),
        frame(fill(b"stowaway"))[:-2],  # does not end within the frame
        b"",
        b"\xc0",
        b"\xde\xff",
    ],
)
def test_what_decoders_need_is_untouched(untouched: bytes) -> None:
    assert blanked(untouched) is untouched
