"""AC-3 and E-AC-3: bit stream information field by field, checks, and the last frame."""

from __future__ import annotations

import io

import places
import pytest
from audio_samples import entry
from places.ac3 import BASES, frames

from leakscan import ac3bits, ledgers
from leakscan.formats import ac3
from leakscan.model import Ledger, Tags, Unreadable

Fields = list[tuple[int, int]]  # numbers, each with its count of bits
SOUND: Fields = [(0x5A3C, 16)] * 4
SECRET: Fields = [(letter, 8) for letter in b"quill"]
NOTHING: Fields = [(0, 8)] * 5


def account(data: bytes) -> Ledger:
    return ac3.account(io.BytesIO(data))


def strip(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


def register(data: bytes) -> int:
    """The CRC of A/52, 7.10, bit by bit."""
    value = 0
    for bit in "".join(f"{byte:08b}" for byte in data):
        value = (value << 1 & 0xFFFF) ^ (0x8005 if value >> 15 ^ int(bit) else 0)
    return value


def joined(*fields: tuple[int, int], size: int) -> bytes:
    text = "".join(f"{value:0{count}b}" for value, count in fields if count)
    return int(text.ljust(8 * size, "0"), 2).to_bytes(size, "big")


def plain(*fields: tuple[int, int], version: int = 8, mode: int = 1) -> bytes:
    """A frame of AC-3, 32 kbit/s at 48 kHz, with these fields from the effects channel's flag on and no checks."""
    head = ((0x0B77, 16), (0, 16), (0, 2), (0, 6), (version, 5), (0, 3), (mode, 3))
    return joined(*head, *fields, size=128)


def extended(*fields: tuple[int, int], kind: int = 0, blocks: int = 3, mode: int = 1, effects: int = 0) -> bytes:
    """A frame of E-AC-3 of 128 bytes at 48 kHz with these fields from the dialogue level on."""
    head = ((0x0B77, 16), (kind, 2), (0, 3), (63, 11), (0, 2), (blocks, 2), (mode, 3), (effects, 1), (16, 5))
    return joined(*head, *fields, size=128)


DIALOGUE: Fields = [(0, 1), (31, 5), (1, 1), (0x44, 8)]  # no effects, a level, compression


def flags(*values: int) -> Fields:
    return [(value, 1) for value in values]


def with_language(value: int) -> bytes:
    return plain(*DIALOGUE, (1, 1), (value, 8), *flags(0, 0, 1, 0, 0, 0), *SOUND)


def with_time(value: int) -> bytes:
    return plain(*DIALOGUE, *flags(0, 0, 0, 1, 1), (value, 14), (1, 1), (value, 14), (0, 1), *SOUND)


def with_more(text: Fields) -> bytes:
    return plain(*DIALOGUE, *flags(0, 0, 0, 1, 0, 0, 1), (4, 6), *text, *SOUND)


def with_two(value: int) -> bytes:
    """Two programmes: everything twice."""
    one = [(31, 5), (1, 1), (0x44, 8), (1, 1), (value, 8), (1, 1), (value & 127, 7)]
    return plain((0, 1), *one, *one, *flags(0, 1, 0, 0, 0), *SOUND, mode=0)


def with_annex(value: int) -> bytes:
    downmix = [(1, 1), (1, 2), (4, 3), (4, 3), (4, 3), (4, 3)]
    return plain(
        *DIALOGUE, *flags(0, 0, 0, 1), *downmix, (1, 1), (1, 2), (2, 2), (value, 10), (0, 1), *SOUND, version=6
    )


def extended_more(text: Fields, mix: int = 0) -> bytes:
    """Mixing data of every sort, in front of the additional information."""
    level = [(31, 5), (1, 1), (0x44, 8)]
    mixing = [(1, 1), (1, 2), (1, 6), (1, 6), (1, 1), (9, 5), *flags(0, 0), (3, 2), (1, 5), (mix, 24), (1, 1)]
    configuration = [(1, 1), (5, 5), (1, 1), (6, 5), (0, 1)]
    return extended(
        *level, *mixing, *configuration, *flags(0, 0, 1), (4, 6), *text, *SOUND, blocks=2, mode=7, effects=1
    )


def dependent(text: Fields) -> bytes:
    information = [(1, 1), (0, 3), *flags(0, 1), (0, 4), (0, 1), (0, 1)]
    more = [(1, 1), (4, 6), *text]
    return extended((31, 5), *flags(0, 1), (0xA000, 16), (0, 1), *information, *more, *SOUND, kind=1, mode=2)


def converted(value: int) -> bytes:
    """Two programmes with production information, as converted from AC-3."""
    level = [(31, 5), (0, 1)]
    information = [(1, 1), (0, 3), *flags(0, 1), (1, 1), (value, 8), (1, 1), (value, 8), (0, 1)]
    rest = [(1, 1), (9, 6), (0, 1)]
    return extended(*level, *level, (0, 1), *information, *rest, *SOUND, kind=2, blocks=1, mode=0)


def test_how_it_was_produced_is_a_trait_of_the_encoder_where_all_frames_say_the_same() -> None:
    assert "encoder.ac3.production" in account(converted(0x99) * 3).bits
    assert "unknown.ac3.production" in account(converted(0x99) * 2 + converted(0x98)).bits
    assert strip(converted(0x99) * 2 + converted(0x98)) == strip(converted(0) * 3)
    assert not any("production" in bit for bit in account(strip(converted(0x99) * 3)).bits)


@pytest.mark.parametrize(
    ("dirty", "clean", "name"),
    [
        (with_language(99), with_language(0), "language"),
        (with_time(0x2345), with_time(0), "time-code"),
        (with_more(SECRET), with_more(NOTHING), "addbsi"),
        (with_two(99), with_two(0), "language"),
        (with_annex(0x155), with_annex(0), "production"),
        (extended_more(SECRET), extended_more(NOTHING), "addbsi"),
        (extended_more(NOTHING, 0xABCDEF), extended_more(NOTHING), "mixing"),
        (dependent(SECRET), dependent(NOTHING), "addbsi"),
    ],
)
def test_what_no_decoder_needs_is_cleared(dirty: bytes, clean: bytes, name: str) -> None:
    result = strip(dirty * 3)
    assert f"unknown.ac3.{name}" in account(dirty * 3).bits
    part = result[:128]
    assert result == part * 3
    assert part[4:-3] == clean[4:-3]
    assert register(part[2:]) == 0
    if part[5] >> 3 < 11:
        assert register(part[2 : 2 * (32 + 8)]) == 0  # five eighths of 64 words
    assert account(result).bits == ()
    assert strip(result) == result


def test_auxiliary_data_are_cleared_where_they_are_declared() -> None:
    def made(text: bytes, flag: int) -> bytes:
        end = text + (8 * len(text) << 18 | flag << 17).to_bytes(4, "big")
        return plain(*DIALOGUE, *flags(0, 0, 0, 1, 0, 0, 0), *SOUND)[: -len(end)] + end

    assert b"secret" not in strip(made(b"secret", 1) * 3)
    assert "unknown.ac3.auxiliary" in account(made(b"secret", 1) * 3).bits
    assert strip(made(b"secret", 1) * 3) == strip(made(bytes(6), 1) * 3)
    assert b"secret" in strip(made(b"secret", 0) * 3)  # it may as well be sound
    long = made(b"secret", 1)[:-4] + (8 * 120 << 18 | 1 << 17).to_bytes(4, "big")  # reaches into the front
    assert b"secret" in strip(long * 3)


@pytest.mark.parametrize("name", BASES)
def test_encoders_make_the_checks_that_are_made_here(name: str) -> None:
    parts = frames(places.base(name, BASES[name]))
    assert set(ac3bits._residues(parts)) == {(0, 0)}
    broken = [
        part[:2] + b"\x12\x34" + part[4:-2] + b"\x56\x78" if part[5] >> 3 < 11 else part[:-2] + b"\x56\x78"
        for part in parts
    ]
    assert ac3bits._checked(broken) == parts
    assert [tuple(one) for one in ac3bits._residues(broken)] == [
        (register(part[2 : ac3bits._first(part)]), register(part[2:])) for part in broken
    ]


def test_a_check_never_looks_like_a_sync_word() -> None:
    part = extended((31, 5), *flags(0, 0, 0, 0), *SOUND)
    wanted = ac3bits._residues([part[:-2]])[0].whole ^ 0x0B77
    value = 0
    for bit, undone in enumerate(ac3bits._undone(128 - 2 - 100)):  # bytes 100 and 101 decide
        value ^= undone if wanted >> bit & 1 else 0
    part = part[:100] + value.to_bytes(2, "big") + part[102:]
    assert register(part[2:-2]) == 0x0B77
    clean = ac3bits._checked([part])[0]
    assert clean[-2:] != b"\x0b\x77"
    assert register(clean[2:]) == 0


def test_what_reaches_beyond_its_frame_stays() -> None:
    part = b"\x0b\x77\x00\x1f" + b"\x0e\x87" + b"\xff" * 58  # of 64 bytes, with 64 bytes of additional information
    assert strip(part * 3)[:61] == part[:61]


def test_the_original_bit_is_told_where_it_differs() -> None:
    one, two = (plain(*DIALOGUE, *flags(0, 0, 0, value, 0, 0, 0), *SOUND) for value in (0, 1))
    assert "unknown.ac3.original-bit" in account(one + two * 2).bits
    assert "unknown.ac3.original-bit" not in account(one * 3).bits
    assert strip(one * 3) == strip(two * 3)


def read(data: bytes) -> Tags:
    body = next(iter(ac3.read(entry(data)))).body
    assert isinstance(body, Tags)
    return body


def test_cut_files() -> None:
    assert read(plain() * 3).container == "ac3"
    with pytest.raises(Unreadable, match="cut: 78 of the 128 bytes of its last frame are there"):
        read((plain() * 3)[:-50])


@pytest.mark.parametrize(
    ("head", "claimed"),
    [
        (plain() * 2, True),
        (plain(), True),
        (extended() * 2, True),
        (plain() + extended(kind=1), True),
        (plain() + b"TAG", True),
        (b"rest of a frame" + plain() * 2, True),
        (plain() + bytes(200), False),
        (b"\x0b\x77" + bytes(300), False),
        (b"\x77\x0b" + bytes(300), False),
        (b"RIFF" + plain() * 3, False),
        (joined((0x0B77, 16), (0, 16), (3, 2), (0, 6), (8, 5), size=128) * 2, False),  # reserved rate
        (joined((0x0B77, 16), (0, 16), (0, 2), (40, 6), (8, 5), size=128) * 2, False),  # reserved size
        (joined((0x0B77, 16), (0, 16), (0, 2), (0, 6), (17, 5), size=128) * 2, False),  # a later version
    ],
)
def test_claims(head: bytes, claimed: bool) -> None:
    assert ac3.sniff(head) == claimed


def test_text_in_front_of_the_check_is_refused() -> None:
    *others, last = frames(places.base("mono.ac3", BASES["mono.ac3"]))
    hidden = last[:-40] + b"quillfeather-marrow-4711" + last[-16:]
    with pytest.raises(Unreadable, match="text behind the sound of a frame"):
        account(b"".join(others) + ac3bits._checked([hidden])[0])
