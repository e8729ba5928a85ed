"""AU: sizes and annotations."""

from __future__ import annotations

import io
import struct

import pytest
from audio_samples import entry

from leakscan import ledgers
from leakscan.formats import au
from leakscan.model import Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(au.read(entry(data)))).body


def cleaned(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), au.account(io.BytesIO(data)), out)
    return out.getvalue()


SOUND = b"\1\2" * 50


def sound(
    annotation: bytes = b"", size: int = 100, encoding: int = 3, offset: int | None = None, rate: int = 8000
) -> bytes:
    offset = 24 + len(annotation) if offset is None else offset
    return b".snd" + struct.pack(">5I", offset, size, encoding, rate, 1) + annotation + SOUND


def test_the_annotation_is_a_tag() -> None:
    body = read(sound(b"Song by Jane\0\0\0\0"))
    assert body.container == "au"
    assert body.tags == (("au.annotation", "Song by Jane"),)
    assert cleaned(sound(b"Song by Jane\0\0\0\0")) == sound()


@pytest.mark.parametrize("data", [sound(), sound(bytes(8)), sound(size=0xFFFFFFFF), sound(encoding=23)])
def test_whole_files(data: bytes) -> None:
    body = read(data)
    assert (body.tags, body.blocks) == ((), ())
    assert cleaned(data)[24:] == SOUND
    assert cleaned(data)[4:12] == struct.pack(">II", 24, 100)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (sound()[:-1], "cut: its header says 124 bytes, 123 are there"),
        (sound(offset=1000), "cut: "),
        (sound(offset=1000, size=0xFFFFFFFF), "cut: its header says 1,000 bytes, 124 are there"),
        (sound(offset=23), "damaged: its AU header states no sample rate or channels, too many, or too early a start"),
        (sound(rate=0), "damaged: "),
        (sound(rate=0x7175696C), "damaged: "),
        (sound().replace(struct.pack(">II", 8000, 1), struct.pack(">II", 8000, 0x7175696C)), "damaged: "),
        (sound(encoding=8), "encoding 8, which is not supported"),
        (b".snd" + bytes(10), "damaged: no AU header"),
    ],
)
def test_what_is_cut_or_unknown_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=rf"^audio/x\.bin: .*{why}"):
        read(data)


def test_prose_that_begins_with_the_magic_is_not_claimed() -> None:
    assert au.sniff(sound())
    assert not au.sniff(b".snd is the suffix of a kind of audio file on old machines")
    assert not au.sniff(b".snd\0")
