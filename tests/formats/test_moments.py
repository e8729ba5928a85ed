"""Moments that a container marks are told with the tags: cue points, loops, chapters."""

from __future__ import annotations

import base64
import struct

import places
import pytest
from audio_samples import entry
from places import flac as flac_places
from places import mp4 as mp4_places
from places._glued import comment

from leakscan.discover import members

FORMATS = members("formats")


def base(container: str, name: str) -> bytes:
    return places.base(name, places.containers()[container].BASES[name])


def told(container: str, data: bytes) -> set[tuple[str, str]]:
    return set(next(iter(FORMATS[container].read(entry(data)))).body.tags)


def frame(name: str, data: bytes, children: int = 0) -> bytes:
    return name[::-1].encode() + struct.pack("<II", len(data), children) + data


TREE = frame("TRMD", frame("DATA", frame("BPMT", struct.pack("<f", 96.5)), 1), 1)


def riff() -> bytes:
    data = base("riff", "mono.wav")
    loop = struct.pack("<9I", 0, 0, 0, 60, 0, 0, 0, 1, 0) + struct.pack("<6I", 0, 0, 4410, 8820, 0, 0)
    data += b"smpl" + struct.pack("<I", len(loop)) + loop
    return data[:4] + struct.pack("<I", len(data) - 8) + data[8:]


def aiff() -> bytes:
    data = base("aiff", "mono.aiff")
    marks = b"\0\1\0\1" + struct.pack(">I", 4410) + b"\7Refrain"
    data += b"MARK" + struct.pack(">I", len(marks)) + marks
    return data[:4] + struct.pack(">I", len(data) - 8) + data[8:]


def caf() -> bytes:
    marks = struct.pack(">II", 0, 1) + struct.pack(">Id16x", 0, 4410)
    return base("caf", "mono.caf") + b"mark" + struct.pack(">Q", len(marks)) + marks


def flac(kind: int, body: bytes) -> bytes:
    data = base("flac", "mono.flac")
    return flac_places._joined([(0, data[8:42]), (kind, body)], flac_places._frames(data))


def chapters() -> bytes:
    file = mp4_places._File(base("mp4", "aac.m4a"))
    body = b"\1" + bytes(7) + b"\1" + struct.pack(">Q", 125_000_000) + b"\7Refrain"
    file["moov"].add(mp4_places._Box(b"udta", b"", [mp4_places._Box(b"chpl", body)]))
    return bytes(file)


@pytest.mark.parametrize(
    ("container", "data", "pairs"),
    [
        ("riff", riff(), {("riff.cue_time", "4410 samples"), ("riff.cue_time", "8820 samples")}),
        ("aiff", aiff(), {("aiff.cue_time", "4410 samples"), ("file.other", "<binary> Refrain")}),
        ("caf", caf(), {("caf.cue_time", "4410 samples")}),
        ("flac", flac(2, b"NI  " + TREE), {("flac.bpm", "96.50")}),
        ("flac", flac(4, comment("TRAKTOR4=" + base64.b64encode(TREE).decode())), {("vorbis.bpm", "96.50")}),
        ("mp4", chapters(), {("mp4.chapter_time", "12.500 s"), ("file.other", "<binary> Refrain")}),
    ],
)
def test_moments_are_told(container: str, data: bytes, pairs: set[tuple[str, str]]) -> None:
    assert pairs <= told(container, data)
