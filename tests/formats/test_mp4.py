"""MP4: boxes and the places where tags lie."""

from __future__ import annotations

import struct

import pytest
from audio_samples import entry

from leakscan.formats import mp4
from leakscan.model import Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(mp4.read(entry(data)))).body


def box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I", len(body) + 8) + kind + body


FTYP = box(b"ftyp", b"M4A \0\0\0\0")
MDAT = box(b"mdat", bytes(99))
NAME = box(b"\xa9nam", box(b"data", struct.pack(">II", 1, 0) + b"Song"))
HANDLER = box(b"hdlr", bytes(8) + b"mdirappl" + bytes(9))
META = box(b"meta", bytes(4), HANDLER, box(b"ilst", NAME))


@pytest.mark.parametrize(
    "moov",
    [
        box(b"moov", box(b"udta", META)),
        box(b"moov", META),
        box(b"moov", box(b"trak", box(b"udta", META))),
        box(b"moov", box(b"udta", box(b"meta", HANDLER, box(b"ilst", NAME)))),  # as QuickTime writes it
        box(b"moov", box(b"udta", META, bytes(4))),  # a user data list may end in zeros
    ],
)
def test_an_item_list_is_read_wherever_it_lies(moov: bytes) -> None:
    assert read(FTYP + moov + MDAT) == Tags("mp4", (("mp4.©nam", "Song"),))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (FTYP + box(b"moov", box(b"udta", box(b"titl", b"\0stowaway"))) + MDAT, "mp4.udta"),
        (FTYP + box(b"moov", box(b"meta", bytes(4), b"stowaway")) + MDAT, "mp4.meta"),
        (FTYP + box(b"moov") + box(b"free", b"stowaway") + MDAT, "mp4.free"),
        (FTYP + box(b"moov") + MDAT + box(b"uuid", b"\1stowaway\1"), "mp4.uuid"),
        (FTYP + box(b"moov", box(b"trak", box(b"udta", box(b"name", b"stowaway")))) + MDAT, "mp4.udta"),
    ],
)
def test_text_in_other_boxes_is_found(data: bytes, name: str) -> None:
    assert read(data).tags == ((name, "<binary> stowaway"),)


@pytest.mark.parametrize(
    "data",
    [
        FTYP + MDAT,
        FTYP + box(b"moov") + MDAT[:-1],
        FTYP + box(b"moov") + struct.pack(">I4sQ", 1, b"mdat", 1 << 40) + bytes(50),
        FTYP + box(b"moov") + struct.pack(">I4s", 4, b"free"),
        FTYP + box(b"moov") + struct.pack(">I4sQ", 1, b"free", 8),
        FTYP + box(b"moov", struct.pack(">I4s", 999, b"udta")) + MDAT,
    ],
)
def test_cut_files(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^audio/x\.bin: cut: "):
        read(data)


def test_sizes_of_64_bits_and_up_to_the_end() -> None:
    wide = struct.pack(">I4sQ", 1, b"mdat", 16 + 50) + bytes(50)
    assert read(FTYP + wide + box(b"moov")) == Tags("mp4")
    assert read(FTYP + box(b"moov") + struct.pack(">I4s", 0, b"mdat") + bytes(50)) == Tags("mp4")


def test_boxes_without_end_are_refused() -> None:
    with pytest.raises(Unreadable, match="more than 200,000 boxes"):
        read(FTYP + box(b"moov") + box(b"free") * 200_001)


@pytest.mark.parametrize("head", [box(b"mdat", bytes(9)), box(b"wide"), box(b"moov"), struct.pack(">I4s", 1, b"mdat")])
def test_quicktime_without_ftyp_is_claimed(head: bytes) -> None:
    assert mp4.sniff(head)


@pytest.mark.parametrize("head", [b"the moov was full", b"\0\0\0\4moov", box(b"ftyp", b"heic"), box(b"abcd")])
def test_other_first_boxes_are_not(head: bytes) -> None:
    assert not mp4.sniff(head)
