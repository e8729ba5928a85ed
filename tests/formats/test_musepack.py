"""Musepack: packets, numbers and the seek table."""

from __future__ import annotations

import io
import random
import zlib

import pytest
from places import musepack as hiding

from leakscan import ledgers
from leakscan.formats import musepack
from leakscan.model import Ledger, Unreadable

WHOLE = hiding.stream()


def account(data: bytes) -> Ledger:
    return musepack.account(io.BytesIO(data))


def stripped(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


def test_the_clean_file() -> None:
    clean = stripped(WHOLE)
    assert (
        clean == b"MPCK" + hiding._header() + hiding._packet(b"RG", hiding._GAIN) + b"".join(hiding._SOUND) + b"SE\x03"
    )
    told = dict(account(WHOLE).parameters)
    assert (told["samples"], told["silence"], told["gain"]) == (str(60 * 1152 - 100), "0", hiding._GAIN.hex())


def test_zeros_behind_the_header_are_padding() -> None:
    """`mpcenc` leaves them where it has counted fewer samples than it might have."""
    for more, kind in ((bytes(4), "padding"), (b"\0\0\0q", "unknown")):
        data = WHOLE.replace(hiding._header(), hiding._header(more))
        assert {part.kind for part in account(data).parts if part.name == "musepack.slack"} == {kind}
        assert stripped(data) == stripped(WHOLE)


def test_a_seek_table_that_says_where_packets_are_is_structure() -> None:
    assert account(WHOLE).extras == ()


def test_a_seek_table_as_the_reference_encoder_writes_it() -> None:
    """In a file of 12 s it had packets at these places and this table, with every second one."""
    places = [45, 26_167, 50_720, 75_174, 99_879, 124_679, 149_179, 173_850]
    assert list(musepack._tables(places))[1] == bytes.fromhex("0412d838c20decc468")


@pytest.mark.parametrize("body", [0, 1, 123, 124, 125, 126, 127, 16_378, 16_379, 16_380, 16_381, 1 << 21, 1 << 30])
def test_sizes_count_themselves(body: int) -> None:
    coded = musepack._sized(body)
    assert musepack._number(coded) == (2 + len(coded) + body, len(coded))


def test_numbers() -> None:
    assert musepack._number(b"\xa0\xa6\x30rest") == (529_200, 3)
    assert musepack._coded(529_200) == b"\xa0\xa6\x30"
    assert musepack._number(b"\x80" * 20) == musepack._number(b"") == (0, 0)


def test_version_seven_is_refused() -> None:
    old = b"MP+\x17" + bytes(100)
    assert musepack.sniff(old)
    assert not musepack.sniff(b"MP+ is what it says")
    with pytest.raises(Unreadable, match="Musepack before version 8 is not supported; "):
        account(old)


def changed(key: bytes, packet: bytes) -> bytes:
    """The stream with another packet in place of the first one of that key."""
    start = WHOLE.index(key)
    size, _ = musepack._number(WHOLE[start + 2 : start + 11])
    return WHOLE[:start] + packet + WHOLE[start + size :]


def header(samples: int, version: int = 8, silence: int = 0) -> bytes:
    body = bytes([version]) + musepack._coded(samples) + musepack._coded(silence) + b"\x1b\x18"
    return hiding._packet(b"SH", zlib.crc32(body).to_bytes(4, "big") + body)


WRONG = {
    "a packet of no key": (changed(b"RG", b"r!\x05abc"), "damaged: no valid packet"),
    "a packet without a size": (changed(b"RG", b"RG\x02"), "damaged: no valid packet"),
    "a size without an end": (changed(b"RG", b"RG" + b"\x80" * 12), "damaged: no valid packet"),
    "two headers": (changed(b"RG", header(1)), "damaged: no valid packet"),
    "no header": (changed(b"SH", b""), "damaged: no valid packet"),
    "another version": (changed(b"SH", header(1, 9)), "damaged: its stream header is not valid"),
    "a header of nothing": (changed(b"SH", b"SH\x03"), "damaged: its stream header is not valid"),
    "a wrong checksum": (changed(b"SH", header(1)[:-1] + b"\x19"), "damaged: its stream header is not valid"),
    "a packet that is too long": (changed(b"SE", b"SE\x09"), "cut: its packet at byte [0-9,]+ needs"),
    "no end": (changed(b"SE", b""), "cut: the packet that ends it is missing"),
    "half an end": (WHOLE[:-2], "cut: the packet that ends it is missing"),
    "too few samples": (
        changed(b"SH", header(60 * 1152 + 1)),
        "cut: its header counts 69,121 samples, 69,120 are there",
    ),
    "a gain of text": (changed(b"RG", hiding._packet(b"RG", b"\1stowaway")), "its gain is more than sound can have"),
    "half a tag": (WHOLE + b"APETAGEX", "cut: its APE tag is not there in full"),
    "something else": (b"MPCX" + WHOLE[4:], "damaged: no Musepack stream in it"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_fit_together_is_refused(what: str) -> None:
    data, why = WRONG[what]
    with pytest.raises(Unreadable, match=why):
        account(data)


def test_text_in_the_sound_is_refused() -> None:
    noise, text = random.Random(4711).randbytes(200), b"quillfeather-marrow-4711"
    for body, where in ((noise + text + noise, "in"), (noise + text, "behind")):
        packet = hiding._packet(b"AP", body)
        start = WHOLE.index(hiding._SOUND[0])
        data = WHOLE[:start] + packet + WHOLE[start + len(hiding._SOUND[0]) :]
        with pytest.raises(Unreadable, match=f"text {where} the sound of a frame, before byte {start + len(packet)}"):
            account(data)


def test_too_many_packets_are_refused() -> None:
    with pytest.raises(Unreadable, match="packets in it"):
        account(WHOLE[:-3] + b"ZZ\x03" * 100_000 + b"SE\x03")
