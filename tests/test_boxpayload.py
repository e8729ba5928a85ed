"""Samples of MP4 that are shorter in the clean file, or have other bytes there."""

from __future__ import annotations

import io
import struct
from itertools import accumulate, pairwise

import places
import pytest
from places import mp4 as hiding

from leakscan import boxpayload, ledgers
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


@pytest.mark.parametrize("together", [1, 2_000, boxpayload._TOGETHER])
def test_samples_in_many_chunks_are_looked_into_as_in_one(monkeypatch: pytest.MonkeyPatch, together: int) -> None:
    """With the name of the encoder in several frames, which is gone from each; in the copy only these are looked at."""
    monkeypatch.setattr(boxpayload, "_TOGETHER", together)
    base = places.base("aac.m4a", hiding.BASES["aac.m4a"])
    file = hiding._File(base)
    table = file["moov/trak/mdia/minf/stbl/stsz"]
    _, count, *sizes = struct.unpack(f">{len(table.body) // 4 - 1}I", table.body[4:])
    edges = [*accumulate(sizes, initial=0)]
    frames = [file.samples.body[start:end] for start, end in pairwise(edges)]
    for index in (7, count - 1):
        frames[index] = frames[0]  # the one that has it
    file.samples.body = b"".join(frames)
    table.body = struct.pack(f">{count + 3}I", 0, 0, count, *map(len, frames))
    whole = bytes(file)
    (offset,) = struct.unpack(">I", file["moov/trak/mdia/minf/stbl/stco"].body[8:])
    offsets = [*accumulate(map(len, frames[:-1]), initial=offset)]
    file["moov/trak/mdia/minf/stbl/stsc"].body = struct.pack(">5I", 0, 1, 1, 1, 1)
    file["moov/trak/mdia/minf/stbl/stco"].body = struct.pack(f">{count + 2}I", 0, count, *offsets)
    several = bytes(file)
    one, many = strip(whole), strip(several)
    samples = hiding._File(many).samples.body
    assert samples == hiding._File(one).samples.body
    assert b"Lavc" in base
    assert b"Lavc" not in samples
    assert samples != file.samples.body
    found = mp4.account(io.BytesIO(several))
    assert mp4.read_back(io.BytesIO(many), ledgers.Seen(found)) == mp4.account(io.BytesIO(many))


@pytest.mark.parametrize("name", ["aac.m4a", "alac.m4a"])
def test_text_that_only_decoding_could_take_out_is_refused(name: str) -> None:
    file = hiding._File(places.base(name, hiding.BASES[name]))
    table = file["moov/trak/mdia/minf/stbl/stsz"]
    file.samples.body += TEXT
    table.body = table.body[:-4] + (int.from_bytes(table.body[-4:], "big") + len(TEXT)).to_bytes(4, "big")
    with pytest.raises(Unreadable, match=r"text behind the sound of a frame, .*; encode it again"):
        mp4.account(io.BytesIO(bytes(file)))
