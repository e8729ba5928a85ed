"""DSF: the tag that the header points to, and blocks that are filled up."""

from __future__ import annotations

import io
import struct

import pytest
from audio_samples import entry

from leakscan import ledgers
from leakscan.formats import dsf
from leakscan.model import Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(dsf.read(entry(data)))).body


def cleaned(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), dsf.account(io.BytesIO(data)), out)
    return out.getvalue()


ID3 = b"ID3\x04\0\0\0\0\0\x0fTIT2\0\0\0\5\0\0\3Song"
SOUND = (b"\x69" * 100).ljust(4096, b"\0") * 2


def file(more: bytes = b"", pointer: int = 0, samples: int = 800, sound: bytes = SOUND, version: int = 1) -> bytes:
    fmt = struct.pack("<Q6IQII", 52, version, 0, 2, 2, 2822400, 1, samples, 4096, 0)
    data = b"data" + struct.pack("<Q", 12 + len(sound)) + sound
    return b"DSD " + struct.pack("<QQQ", 28, 92 + len(sound) + len(more), pointer) + b"fmt " + fmt + data + more


END = len(file())


def test_the_tag_by_its_pointer() -> None:
    for data in (file(ID3, END), file(ID3), file(ID3 + b"junk", END)):
        assert read(data).tags == (("id3.TIT2", "Song"),)
        assert cleaned(data) == file()
    assert read(file()).container == "dsf"


@pytest.mark.parametrize("data", [file(), file(samples=4096 * 8), file(samples=0, sound=b"")])
def test_whole_files_stay_as_they_are(data: bytes) -> None:
    assert cleaned(data) == data
    assert read(data).blocks == ()


def test_what_fills_the_last_blocks_up_is_told() -> None:
    data = file(sound=SOUND[:-8] + b"stowaway")
    assert read(data).blocks == (("stale.dsf.block", "<binary> stowaway"),)
    assert cleaned(data) == file()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (file()[:-1], "cut: its header says 8,284 bytes, 8,283 are there"),
        (file(samples=4096 * 8 + 1), "32,769 samples of each channel, its data chunk 8,192 bytes"),
        (file(samples=0), "0 samples of each channel, its data chunk 8,192 bytes"),
        (file(version=2), "fmt chunk is none of DSD"),
        (file().replace(struct.pack("<I", 2822400), b"quil"), "such as DSD has not"),
        (file().replace(struct.pack("<II", 2, 2), b"quil\2\0\0\0"), "such as DSD has not"),
        (file().replace(b"data", b"atad"), "no DSF header"),
        (file()[:60], "no DSF header"),
    ],
)
def test_what_is_cut_or_unknown_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=rf"^audio/x\.bin: .*{why}"):
        read(data)
