"""What Matroska says of codings: canonical bytes, the parts that are not in them, how long frames sound."""

from __future__ import annotations

import functools

import places
import pytest
from places import matroska

from leakscan.codecprivate import Coding, coding
from leakscan.model import Unreadable

OPUS = b"OpusHead\1\2\x38\1\x80\xbb\0\0\0\0\0"


@functools.cache
def private(name: str) -> bytes:
    """What ffmpeg writes."""
    file = matroska._File(places.base(name, matroska.BASES[name]))
    body: bytes = file.entry.find(0x63A2).body
    return body


def odd(found: Coding) -> list[tuple[str, int, int]]:
    return [(f"{part.kind}.{part.name}", part.start, part.end) for part in found.odd]


def test_vorbis_without_comment_and_what_follows() -> None:
    data = private("vorbis.mka")
    found = coding(b"A_VORBIS", data)
    head, setup = data.index(b"\1vorbis"), data.index(b"\5vorbis")
    assert found.config == b"\2\x1e\x10" + data[head : head + 30] + b"\3vorbis" + bytes(8) + b"\1" + data[setup:]
    assert [name for name, _, _ in odd(found)] == ["tag.comment"]
    assert found.samples == (512,) * 256  # at 22,050 Hz
    assert coding(b"A_VORBIS", found.config)[:2] == (found.config, [])
    more = coding(b"A_VORBIS", data + b"stowaway")
    assert more.config == found.config
    assert odd(more)[-1] == ("unknown.config", len(data), len(data) + 8)
    rates = coding(b"A_VORBIS", data.replace(data[head + 16 : head + 28], b"stowed aways"))
    assert len(rates.odd) == 4
    assert rates.config == found.config.replace(data[head + 16 : head + 28], bytes(12))


@pytest.mark.parametrize(("rate", "count"), [(-1, 0), (-2, 0), (-3, 1), (1 << 26, 0), ((1 << 26) + 1, 1)])
def test_the_bit_rate_of_vorbis_is_open_by_channel(rate: int, count: int) -> None:
    data = bytearray(private("vorbis.mka"))
    head = data.index(b"\1vorbis")
    data[head + 20 : head + 24] = rate.to_bytes(4, "little", signed=True)
    assert data[head + 11] == 2
    assert [name for name, _, _ in odd(coding(b"A_VORBIS", bytes(data)))].count("unknown.bitrate") == count


def test_text_in_a_description_of_vorbis_is_refused() -> None:
    data = private("vorbis.mka")
    told = set()
    for place in range(data.index(b"\5vorbis") + 30, len(data) - 24, 37):  # not everywhere can it still be followed
        with pytest.raises(ValueError, match="vorbis setup header") as error:
            coding(b"A_VORBIS", data[:place] + b"quillfeather-marrow-4711" + data[place + 24 :])
        told.add(str(error.value))
    assert "text in its vorbis setup header" in told
    head = data.index(b"\1vorbis")
    with pytest.raises(ValueError, match="a rate that cannot be"):
        coding(b"A_VORBIS", data[: head + 12] + b"quil" + data[head + 16 :])


def test_opus_says_how_long_each_packet_is() -> None:
    found = coding(b"A_OPUS", OPUS)
    assert (found.config, found.odd, found.rate) == (OPUS, [], 48000)
    assert [found.samples[first] for first in (0xF8, 0xF9, 0xE0, 0xFB)] == [960, 1920, 120, 5760]


@pytest.mark.parametrize(
    ("codec", "samples", "lead"),
    [(b"A_MPEG/L3", 1152, 4), (b"A_EAC3", 1536, 2), (b"A_DTS", 0, 4), (b"A_PCM/INT/LIT", 0, 0)],
)
def test_codings_that_need_no_description(codec: bytes, samples: int, lead: int) -> None:
    found = coding(codec, b"stowaway")
    assert (found.config, odd(found)) == (b"", [("unknown.config", 0, 8)])
    assert (set(found.samples), found.lead) == ({samples}, lead)


def test_lossless_codings() -> None:
    flac, alac = coding(b"A_FLAC", private("flac.mka")), coding(b"A_ALAC", private("alac.mka"))
    assert (flac.samples[0], alac.samples[0]) == (2048, 4096)
    assert coding(b"A_FLAC", flac.config) == flac._replace(odd=[])
    assert coding(b"A_ALAC", alac.config)[:2] == (alac.config, [])
    assert coding(b"A_WAVPACK4", b"\x10\4").config == b"\x10\4"


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (b"A_VORBIS", b"stowaway"),
        (b"A_VORBIS", b"\2\x1e\0" + b"\1vorbis" + bytes(22) + b"\1"),
        (b"A_OPUS", b"stowaway"),
        (b"A_OPUS", OPUS[:12] + b"stow" + OPUS[16:]),
        (b"A_FLAC", b"stowaway"),
        (b"A_ALAC", b"stowaway"),
        (b"A_AAC", b""),
        (b"A_WAVPACK4", b"st"),
    ],
)
def test_what_cannot_be_a_description_is_an_error(codec: bytes, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"its|the description"):
        coding(codec, data)


def test_other_codings_are_refused() -> None:
    with pytest.raises(Unreadable, match="not supported"):
        coding(b"A_STOWAWAY", b"")
