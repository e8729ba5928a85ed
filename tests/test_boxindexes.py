"""Indexes of fragments: structure where they say what is so, extras else."""

from __future__ import annotations

import io

import places
import pytest
from places import mp4 as hiding

from leakscan.formats import mp4


def extras(data: bytes) -> set[str]:
    return {f"{part.kind}.{part.name}" for part in mp4.account(io.BytesIO(data)).extras}


@pytest.mark.parametrize("name", ["pieces.mp4", "old-pieces.mp4", "dash.mp4", "indexed.mp4", "hybrid.mp4"])
def test_what_a_muxer_writes_is_right(name: str) -> None:
    data = places.base(name, hiding.BASES[name])
    assert {name.partition(".")[0] for name in extras(data)} <= {"encoder", "tag"}


@pytest.mark.parametrize(("kind", "at"), [("sidx", 4), ("sidx", 8), ("sidx", 20), ("sidx", 32)])
def test_a_number_that_is_not_so_is_an_extra(kind: str, at: int) -> None:
    file = hiding._File(places.base("indexed.mp4", hiding.BASES["indexed.mp4"]))
    file[kind].put(at, b"text")
    assert "unknown.mp4.sidx" in extras(bytes(file))


@pytest.mark.parametrize(
    "body", [b"", b"stowaway", b"\0\0\0\x0ctfra\1\0\0\0", b"\0\0\0\x0cmfro\0\0\0\0", b"\0\0\0\x08abcd"]
)
def test_what_is_no_index_is_an_extra(body: bytes) -> None:
    file = hiding._File(places.base("pieces.mp4", hiding.BASES["pieces.mp4"]))
    file["mfra"].body = body
    assert "unknown.mp4.box" in extras(bytes(file))


@pytest.mark.parametrize(("more", "row", "told"), [(0, 1, False), (3000, 1, False), (-3000, 1, True), (0, 2, True)])
def test_the_entry_with_which_gstreamer_ends(more: int, row: int, told: bool) -> None:
    """It gives the time of the last sample, and no place; none before it does."""
    file = hiding._File(places.base("pieces.mp4", hiding.BASES["pieces.mp4"]))
    tfra = file["mfra"].body[8 : int.from_bytes(file["mfra"].body[:4], "big")]
    count = int.from_bytes(tfra[12:16], "big")
    size = (len(tfra) - 16) // count
    last = tfra[-size:]
    end = (int.from_bytes(last[:8], "big") + more).to_bytes(8, "big") + bytes(8) + last[16:]
    body = tfra[:12] + (count + 1).to_bytes(4, "big") + tfra[16:]
    body = body + end if row == 1 else body[:-size] + end + last
    file["mfra"].body = (8 + len(body)).to_bytes(4, "big") + b"tfra" + body
    assert ("unknown.mp4.box" in extras(bytes(file))) is told


def test_a_place_where_no_fragment_is() -> None:
    file = hiding._File(places.base("pieces.mp4", hiding.BASES["pieces.mp4"]))
    body = bytearray(file["mfra"].body)
    body[39] ^= 8  # of the first entry
    file["mfra"].body = bytes(body)
    assert "unknown.mp4.box" in extras(bytes(file))
