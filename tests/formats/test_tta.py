"""True Audio: checksums and sizes."""

from __future__ import annotations

import io
import struct
import zlib

import places
import pytest
from places import tta as hiding

from leakscan import ledgers
from leakscan.formats import tta
from leakscan.model import Ledger, Part, Unreadable


def account(data: bytes) -> Ledger:
    return tta.account(io.BytesIO(data))


def stripped(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


@pytest.fixture(scope="module")
def plain() -> bytes:
    """A file without the tag that ffmpeg writes behind it."""
    name = "mono.tta"
    data = places.base(name, hiding.BASES[name])
    return data[: next(part.end for part in account(data).parts if part.kind == "payload")]


def flipped(data: bytes, offset: int) -> bytes:
    return data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :]


def with_header(data: bytes, offset: int, form: str, value: int) -> bytes:
    head = bytearray(data[:18])
    struct.pack_into(form, head, offset, value)
    return bytes(head) + struct.pack("<I", zlib.crc32(head)) + data[22:]


def test_all_of_a_plain_file_is_needed(plain: bytes) -> None:
    found = account(plain)
    assert [(part.kind, part.name) for part in found.parts] == [
        ("structure", "tta.header"),
        ("structure", "tta.seek-table"),
        ("payload", "tta.frames"),
    ]
    assert dict(found.parameters)["rate"] == "22050"


@pytest.mark.parametrize(
    ("offset", "why"),
    [
        (10, "its header has a wrong checksum"),
        (24, "its seek table has a wrong"),
        (-9, "its frame at byte [0-9,]+ has"),
    ],
)
def test_one_wrong_bit_shows(plain: bytes, offset: int, why: str) -> None:
    with pytest.raises(Unreadable, match=f"damaged: {why}"):
        account(flipped(plain, offset % len(plain)))


@pytest.mark.parametrize(
    ("size", "why"), [(20, "its header is not there"), (25, "its seek table needs"), (-1, "its frame")]
)
def test_a_cut_shows_anywhere(plain: bytes, size: int, why: str) -> None:
    with pytest.raises(Unreadable, match=f"cut: {why}"):
        account(plain[:size])


def test_more_samples_than_frames_is_no_table(plain: bytes) -> None:
    with pytest.raises(Unreadable, match="its seek table needs"):
        account(with_header(plain, 14, "<I", 0xFFFFFFFF))
    with pytest.raises(Unreadable, match="states no sample rate"):
        account(with_header(plain, 10, "<I", 0))


@pytest.mark.parametrize(
    ("offset", "value", "why"), [(4, 2, "encrypted"), (4, 0x7571, "as none can be"), (6, 0x7571, "as none can be"),
                                 (6, 0, "as none can be"), (8, 0x7571, "as none can be")],
)  # fmt: skip
def test_sound_is_described_as_it_can_be(plain: bytes, offset: int, value: int, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        account(with_header(plain, offset, "<H", value))


def test_a_frame_is_at_least_its_checksum(plain: bytes) -> None:
    sizes = struct.pack("<II", 0, 5)
    data = with_header(plain, 14, "<I", 30_000)[:22] + sizes + struct.pack("<I", zlib.crc32(sizes)) + plain[34:]
    with pytest.raises(Unreadable, match="has a wrong checksum"):
        account(data)


def test_text_in_more_frames_than_can_be_decoded_is_refused(plain: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = hiding._longer(plain, 0, b"quillfeather-marrow-4711")
    assert stripped(hidden) == stripped(plain)
    monkeypatch.setattr(tta, "_VALUES", 1000)
    with pytest.raises(Unreadable, match="longer than any, or one of too many"):
        stripped(hidden)


@pytest.mark.parametrize("frame", [bytes(1000), b"\xff" * 1000, b"\xff" * 100 + bytes(900), b""])
def test_frames_without_an_end(frame: bytes) -> None:
    assert tta._used(frame, 2, 1 << 30) == len(frame)


def test_text_is_found_wherever_frames_are_read_apart(plain: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = [hiding._longer(plain, number, b"quillfeather-marrow-4711") for number in range(2)]
    for size in (1, 20_000, 1 << 20):
        monkeypatch.setattr(tta, "_READ", size)
        assert account(plain).extras == ()
        for data in hidden:
            assert [part.name for part in account(data).extras] == ["tta.surplus"]
            assert stripped(data) == stripped(plain)


def test_text_that_was_seen_is_not_searched_for_again(plain: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = hiding._longer(plain, 1, b"quillfeather-marrow-4711")
    sound = hidden.index(b"quillfeather")
    for size in (1, 1 << 20):
        monkeypatch.setattr(tta, "_READ", size)
        known = ledgers.Seen(Ledger("tta", (Part("payload", "tta.frames", 0, len(hidden)),)))
        assert tta.read_back(io.BytesIO(hidden), known).extras == ()
        unknown = ledgers.Seen(Ledger("tta", (Part("payload", "tta.frames", 0, sound),)))
        assert tta.read_back(io.BytesIO(hidden), unknown) == account(hidden)
    with pytest.raises(Unreadable, match="has a wrong checksum"):
        tta.read_back(io.BytesIO(flipped(plain, len(plain) - 9)), ledgers.Seen(account(plain)))
