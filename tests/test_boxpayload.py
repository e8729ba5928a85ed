"""Samples of MP4 that are shorter in the clean file, or have other bytes there."""

from __future__ import annotations

import io
import struct

import places
import pytest
from places import mp4 as hiding

from leakscan import ledgers
from leakscan.formats import mp4
from leakscan.model import Unreadable

TEXT = b"quillfeather-marrow-4711"


def strip(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), mp4.account(io.BytesIO(data)), out)
    return out.getvalue()


def test_a_size_that_all_samples_have_is_one_again() -> None:
    """AC-3 of one bit rate has one size for all samples; one of them longer, each has its own."""
    base = places.base("ac3.mp4", hiding.BASES["ac3.mp4"])
    file = hiding._File(base)
    table = file["moov/trak/mdia/minf/stbl/stsz"]
    size, count = struct.unpack_from(">II", table.body, 4)
    assert size
    frame = file.samples.body[:size]
    file.samples.body = b"".join(file.samples.body[at : at + size] + TEXT for at in range(0, count * size, size))
    table.body = struct.pack(">III", 0, size + len(TEXT), count)
    chunks = file["moov/trak/mdia/minf/stbl/stsc"]
    offsets = file["moov/trak/mdia/minf/stbl/stco"]
    chunks.body = struct.pack(">IIIII", 0, 1, 1, count, 1)
    offsets.body = struct.pack(">III", 0, 1, int.from_bytes(offsets.body[8:12], "big"))
    data = bytes(file)
    assert data.count(TEXT) == count
    clean = strip(data)
    assert TEXT not in clean
    assert clean.count(frame[:64]) >= 1
    assert len(clean) < len(data) - count * len(TEXT)
    assert hiding._File(clean)["moov/trak/mdia/minf/stbl/stsz"].body[4:] == struct.pack(">II", size, count)
    assert mp4.account(io.BytesIO(clean)).extras == ()


@pytest.mark.parametrize("name", ["aac.m4a", "alac.m4a"])
def test_text_that_only_decoding_could_take_out_is_refused(name: str) -> None:
    file = hiding._File(places.base(name, hiding.BASES[name]))
    table = file["moov/trak/mdia/minf/stbl/stsz"]
    file.samples.body += TEXT
    table.body = table.body[:-4] + (int.from_bytes(table.body[-4:], "big") + len(TEXT)).to_bytes(4, "big")
    with pytest.raises(Unreadable, match=r"text behind the sound of a frame, before byte .*; encode it again"):
        mp4.account(io.BytesIO(bytes(file)))
