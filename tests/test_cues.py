"""What samplers and DJ programs keep about tempo, key and moments; the bytes are made as their documents say."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan import cues

GRID = b"\1\0" + struct.pack(">IfI fI ff", 3, 0.046, 64, 22.11, 20, 33.14, 174.026) + b"\0"
MARKER = b"CUE\0" + struct.pack(">I", 13) + b"\0\1" + struct.pack(">I", 12345) + bytes(7)
MARKERS = b"\1\1" + base64.b64encode(b"\1\1COLOR\0\0\0\0\4\0\xff\xff\xff" + MARKER + b"\0").rstrip(b"=") + bytes(9)


def frame(name: str, data: bytes, children: int = 0) -> bytes:
    return name[::-1].encode() + struct.pack("<II", len(data), children) + data


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode("utf-16-le")


def point(name: str, start: float) -> bytes:
    return struct.pack("<I", 1) + text(name) + struct.pack("<IIddiI", 0, 0, start, 0.0, -1, 0)


TREE = frame(
    "TRMD",
    frame("DATA", frame("BPMT", struct.pack("<f", 96.5)) + frame("TKEY", text("F#m"))
    + frame("CUEP", struct.pack("<I", 2) + point("intro", 500.0) + point("", 61000.5)), 3),
    1,
)  # fmt: skip


def test_serato() -> None:
    assert [*cues.serato("Serato Autotags", b"\1\x01115.00\0-3.257\0000.000\0")] == [("bpm", "115.00")]
    assert [*cues.serato("Serato BeatGrid", GRID)] == [("bpm", "174.03")]
    assert [*cues.serato("Serato Markers2", MARKERS)] == [("cue_time", "12.345 s")]
    assert [*cues.serato("Serato Overview", GRID)] == []


def test_serato_in_base64() -> None:
    packed = base64.b64encode(b"application/octet-stream\0\0Serato BeatGrid\0" + GRID).decode().rstrip("=")
    lines = "\n".join(packed[place : place + 72] for place in range(0, len(packed), 72))
    assert [*cues.serato_field(lines)] == [("bpm", "174.03")]
    assert [*cues.serato_field("no base64 \u00e4")] == []


def test_traktor() -> None:
    told = [("bpm", "96.50"), ("key", "F#m"), ("cue_time", "0.500 s"), ("cue_time", "61.001 s")]
    assert [*cues.traktor(TREE)] == told


def test_loops_of_samplers() -> None:
    head = struct.pack("<9I", 0, 0, 0, 60, 0, 0, 0, 2, 0)
    loops = struct.pack("<6I", 0, 0, 4410, 8820, 0, 0) + struct.pack("<6I", 1, 0, 9000, 9999, 0, 0)
    told = [("cue_time", f"{place} samples") for place in (4410, 8820, 9000, 9999)]
    assert [*cues.smpl(head + loops)] == told
    assert [*cues.smpl(head + loops[:40])] == told[:2]


def test_markers_of_aiff() -> None:
    marks = b"\0\1" + struct.pack(">I", 4410) + b"\3one" + b"\0\2" + struct.pack(">I", 8820) + b"\4four\0"
    assert [*cues.aiff_markers(b"\0\2" + marks)] == [("cue_time", "4410 samples"), ("cue_time", "8820 samples")]
    assert [*cues.aiff_markers(b"\0\2" + marks[:12])] == [("cue_time", "4410 samples")]


def test_markers_of_caf() -> None:
    marks = b"".join(struct.pack(">Id4x8x4x", 0, place) for place in (4410, 8820.4))
    told = [("cue_time", "4410 samples"), ("cue_time", "8820 samples")]
    assert [*cues.caf_markers(struct.pack(">II", 0, 2) + marks)] == told
    region = struct.pack(">III", 1, 0, 1)
    regions = struct.pack(">II", 0, 2) + region + marks[:28] + region + marks[28:]
    assert [*cues.caf_regions(regions)] == told
    assert [*cues.caf_markers(struct.pack(">II", 0, 2) + struct.pack(">Id16x", 0, float("nan")))] == []


def test_chapters_of_mp4() -> None:
    names = [struct.pack(">Q", time) + bytes([len(name)]) + name for time, name in ((0, b"a"), (125_000_000, b"b"))]
    told = [("chapter_time", "0.000 s"), ("chapter_time", "12.500 s")]
    assert [*cues.nero_chapters(b"\1" + bytes(7) + b"\2" + b"".join(names))] == told
    assert [*cues.nero_chapters(bytes(4) + b"\2" + b"".join(names))] == told
    track = (
        b"mdhd"
        + struct.pack(">5I", 0, 0, 0, 1000, 0)
        + b"stsd....text"
        + b"stts"
        + struct.pack(">6I", 0, 2, 1, 12500, 1, 9)
    )
    assert [*cues.chapter_track(track)] == told
    assert [*cues.chapter_track(track.replace(b"text", b"vide"))] == []


def test_acid() -> None:
    body = struct.pack("<IHHfIHHf", 2, 61, 0x8000, 0, 8, 4, 3, 120.5)
    assert [*cues.acid(body)] == [("bpm", "120.50"), ("key", "C#"), ("time_signature", "3/4")]
    assert [*cues.acid(struct.pack("<IHHfIHHf", 1, 60, 0, 0, 0, 0, 0, 0))] == []  # one shot, no root
    assert [*cues.acid(body[:-1])] == []


def test_cue_points() -> None:
    points = b"".join(struct.pack("<II4sIII", n, 0, b"data", 0, 0, 1000 * n) for n in range(3))
    told = [("cue_time", f"{1000 * n} samples") for n in range(3)]
    assert [*cues.cue(struct.pack("<I", 3) + points)] == told
    assert [*cues.cue(struct.pack("<I", 3) + points[:-1])] == told[:-1]
    assert len([*cues.cue(bytes(24 * 5000))]) == cues.CUES


READERS: list[Callable[[bytes], Iterator[cues.Pair]]] = [
    cues.acid,
    cues.cue,
    cues.traktor,
    cues.smpl,
    cues.aiff_markers,
    cues.caf_markers,
    cues.caf_regions,
    cues.nero_chapters,
    cues.chapter_track,
    lambda data: cues.serato("Serato Autotags", data),
    lambda data: cues.serato("Serato BeatGrid", data),
    lambda data: cues.serato("Serato Markers2", data),
    lambda data: cues.serato_field(data.decode("latin-1")),
]


@pytest.mark.parametrize("reader", range(len(READERS)))
@given(st.sampled_from([GRID, MARKERS, TREE]), st.integers(0, 120), st.binary(max_size=20), st.integers(0, 200))
def test_hostile_data_says_little(reader: int, whole: bytes, place: int, change: bytes, cut: int) -> None:
    data = (whole[:place] + change + whole[place + len(change) :])[: len(whole) - cut]
    for what, value in READERS[reader](data):
        assert what in ("bpm", "key", "time_signature", "cue_time", "chapter_time")
        assert 0 < len(value) < 30
