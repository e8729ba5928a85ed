"""FLAC: metadata blocks and the last frame."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest
from audio_samples import TITLE, entry

from leakscan import ledgers
from leakscan.formats import flac
from leakscan.model import Ledger, Tags, Unreadable

INFO = bytes.fromhex("1000 1000 000000 000000 0ac442f0 00000000") + bytes(16)


def read(data: bytes) -> Tags:
    return next(iter(flac.read(entry(data)))).body


@pytest.fixture
def plain(audio: Mapping[str, Path]) -> bytes:
    return audio["plain.flac"].read_bytes()


def with_block(data: bytes, kind: int, body: bytes) -> bytes:
    """The same stream with one more metadata block after STREAMINFO."""
    return data[:42] + bytes([kind]) + len(body).to_bytes(3, "big") + body + data[42:]


def account(data: bytes) -> Ledger:
    return flac.account(io.BytesIO(data))


def stripped(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


def kinds(data: bytes, name: str) -> set[str]:
    return {part.kind for part in account(data).parts if part.name == name}


def flipped(data: bytes, offset: int) -> bytes:
    return data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :]


def frame_starts(data: bytes) -> list[int]:
    """Where frames begin: their headers are alike but for the number, a byte in short files, and the last block."""
    (first,) = [part.start for part in account(data).parts if part.kind == "payload"]
    starts = [first]
    while (found := data.find(data[first : first + 2], starts[-1] + 6)) >= 0:
        while found >= 0 and data[found + 4] != len(starts):
            found = data.find(data[first : first + 2], found + 1)
        if found < 0:
            break
        starts.append(found)
    return starts


def with_total(data: bytes, change: int) -> bytes:
    bits = int.from_bytes(data[18:26], "big")
    return data[:18] + (bits + change).to_bytes(8, "big") + data[26:]


def total(data: bytes) -> int:
    return int.from_bytes(data[18:26], "big") & (1 << 36) - 1


def test_the_vendor_has_its_own_name(plain: bytes) -> None:
    names = dict(read(plain).tags)
    assert names["flac.vendor"].startswith("Lavf")
    assert names["vorbis.title"] == TITLE


@pytest.mark.parametrize(
    ("kind", "name"), [(1, "stale.flac.padding"), (2, "unknown.flac.application"), (9, "unknown.flac.reserved")]
)
def test_text_in_other_blocks_is_found(plain: bytes, kind: int, name: str) -> None:
    assert (name, "<binary> stowaway") in read(with_block(plain, kind, b"\0stowaway\0")).blocks


def test_speakers_that_are_not_usual_stay(plain: bytes) -> None:
    mask = next(mask for mask in (0x4, 0x30) if mask.bit_count() == (plain[20] >> 1 & 7) + 1) << 1
    said = b"WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x%04X" % mask
    field = len(said).to_bytes(4, "little") + said
    clean = stripped(with_block(plain, 4, b"\1\0\0\0v" + b"\2\0\0\0" + b"\x0a\0\0\0title=Song" + field))
    block = b"\x84" + (12 + len(said)).to_bytes(3, "big") + bytes(4) + b"\1\0\0\0" + field
    assert clean[42:] == block + stripped(plain)[54:]
    assert account(clean).extras == ()
    assert stripped(clean) == clean
    assert ("speakers", clean[46 : 58 + len(said)].hex()) in account(clean).parameters
    vendor = plain[:42] + b"\x84" + (13 + len(said)).to_bytes(3, "big") + b"\1\0\0\0v\1\0\0\0" + field
    assert {part.kind for part in account(vendor + stripped(plain)[54:]).parts if part.name == "flac.comment"} == {
        "encoder"
    }


def test_zero_padding_says_nothing(plain: bytes) -> None:
    padded = read(with_block(plain, 1, bytes(100)))
    assert (padded.tags, padded.blocks) == (read(plain).tags, read(plain).blocks)


def test_several_comment_blocks_are_read(plain: bytes) -> None:
    comment = b"\1\0\0\0v" + b"\1\0\0\0" + b"\x0a\0\0\0title=Song"
    assert ("vorbis.title", "Song") in read(with_block(plain, 4, comment)).tags


@pytest.mark.parametrize("change", [1, -1, 4096])
def test_the_last_sample_must_be_the_one_counted(plain: bytes, change: int) -> None:
    with pytest.raises(Unreadable, match=r"its header counts [0-9,]+ samples, [0-9,]+ are there"):
        read(with_total(plain, change))


def test_a_stream_without_a_count_is_judged_by_its_last_frame(plain: bytes) -> None:
    streamed = with_total(plain, -total(plain))
    assert read(streamed).tags == read(plain).tags
    with pytest.raises(Unreadable, match="no whole frame at its end"):
        read(streamed[:-1])


def test_one_wrong_bit_in_a_frame_shows(plain: bytes) -> None:
    with pytest.raises(Unreadable, match="no whole frame at its end"):
        read(flipped(plain, len(plain) - 9))
    start, *_ = frame_starts(plain)
    with pytest.raises(Unreadable, match=f"the frame at byte {start:,} has a wrong checksum"):
        read(flipped(plain, start + 200))


def test_a_missing_frame_is_a_cut(plain: bytes) -> None:
    first, second, third, *_ = frame_starts(plain)
    missing = plain[:second] + plain[third:]
    with pytest.raises(Unreadable, match=r"its header counts [0-9,]+ samples, [0-9,]+ are there"):
        read(missing)
    with pytest.raises(Unreadable, match=f"the frame at byte {second:,} does not follow the one before"):
        read(with_total(missing, -total(plain)))
    with pytest.raises(Unreadable, match="no first frame in it"):
        read(with_total(plain[:first] + plain[second:], -total(plain)))


def test_zeros_after_a_frame_are_no_part_of_it(plain: bytes) -> None:
    """No checksum notices them."""
    start = frame_starts(plain)[2]
    padded = plain[:start] + bytes(3) + plain[start:] + bytes(5)
    assert stripped(padded) == stripped(plain)
    assert [part.end - part.start for part in account(padded).parts if part.kind == "padding"][-2:] == [3, 5]


def test_too_much_that_is_no_frame_is_damage(plain: bytes) -> None:
    with pytest.raises(Unreadable, match=r"more than [0-9,]+ gaps, or [0-9,]+ bytes, between its frames"):
        read(plain + b"\1" * (2 << 20))
    assert stripped(plain + bytes(2 << 20)) == stripped(plain)


def test_a_block_of_frames_read_at_once_may_end_anywhere(plain: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = account(plain)
    first, *_, last = frame_starts(plain)
    for size in (64, 1009, 4096, *range(last - first, last - first + 6)):
        monkeypatch.setattr(flac, "_READ", size)
        assert account(plain) == whole


def test_a_seek_table_that_says_where_frames_are_is_structure(plain: bytes) -> None:
    starts = frame_starts(plain)
    block = int.from_bytes(plain[10:12], "big")
    points = [struct.pack(">QQH", n * block, starts[n] - starts[0], block) for n in (0, 2)]
    right = with_block(plain, 3, b"".join(points) + b"\xff" * 8 + bytes(10))
    assert kinds(right, "flac.seektable") == {"structure"}
    wrong = with_block(plain, 3, points[0] + struct.pack(">QQH", block, starts[2] - starts[0], block))
    assert kinds(wrong, "flac.seektable") == {"unknown"}
    assert stripped(right) == stripped(wrong) == stripped(plain)


def test_the_clean_file(plain: bytes) -> None:
    clean = stripped(plain)
    assert clean[:8] == b"fLaC\0\0\0\x22"
    assert clean[12:18] == bytes(6)
    assert clean[26:42] == bytes(16)
    assert clean[42:54] == b"\x84\0\0\x08" + bytes(8)
    assert clean[54:] == plain[frame_starts(plain)[0] :]


def test_a_stream_without_audio(plain: bytes) -> None:
    bare = with_total(plain[:42], -total(plain))
    bare = bare[:4] + b"\x80" + bare[5:]
    assert read(bare).tags == ()
    with pytest.raises(Unreadable, match="none is there"):
        read(with_total(bare, 1))


@pytest.mark.parametrize("kind", [0, 127])
def test_invalid_blocks_are_damage(plain: bytes, kind: int) -> None:
    with pytest.raises(Unreadable, match="no valid metadata block at byte 42"):
        read(with_block(plain, kind, bytes(34)))


def test_a_file_of_empty_blocks_is_refused(plain: bytes) -> None:
    with pytest.raises(Unreadable, match="no valid metadata block"):
        read(plain[:42] + b"\1\0\0\0" * 20_000 + plain[42:])
