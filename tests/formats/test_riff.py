"""WAV: chunks with text, sizes of all kinds, codings that are left alone."""

from __future__ import annotations

import io
import struct

import places
import pytest
from audio_samples import entry
from places.riff import BASES

from leakscan import ledgers
from leakscan.formats import riff
from leakscan.model import Ledger, Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(riff.read(entry(data)))).body


def account(data: bytes) -> Ledger:
    return riff.account(io.BytesIO(data))


def cleaned(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)


FMT = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16))
DATA = chunk(b"data", bytes(100))


def wav(*chunks: bytes, change: int = 0, tail: bytes = b"") -> bytes:
    body = b"WAVE" + FMT + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body) + change) + body + tail


@pytest.mark.parametrize(
    ("sound", "refused"),
    [
        (struct.pack("<3i", 1 << 22, -5, 70000), False),  # the sign above them
        (struct.pack("<3i", 1 << 30, -5 << 8, 70000 << 8), False),  # zeros below
        (struct.pack("<3i", 1 << 22, 0xFFFFFB, 70000), False),  # zeros above
        (b"quillfeather", True),
        (struct.pack("<3i", 1 << 22, -5, 70000 | 0x71 << 24), True),
    ],
)
def test_samples_that_are_wider_than_they_need(sound: bytes, refused: bool) -> None:
    data = wav(chunk(b"data", sound)).replace(FMT, chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 32000, 4, 24)))
    if refused:
        with pytest.raises(Unreadable, match="bytes beside its samples, which have 4 each and need 3"):
            account(data)
    else:
        assert account(data).extras == ()


@pytest.mark.parametrize(("count", "sound", "told"), [(1, 0, False), (2, 0, True), (1, 100, True)])
def test_a_count_of_no_samples(count: int, sound: int, told: bool) -> None:
    """FFmpeg states one sample where there is none."""
    fmt = chunk(b"fmt ", struct.pack("<HHIIHHH", 3, 1, 8000, 32000, 4, 32, 0))
    body = b"WAVE" + fmt + chunk(b"fact", struct.pack("<I", count)) + chunk(b"data", bytes(sound))
    assert bool(account(b"RIFF" + struct.pack("<I", len(body)) + body).extras) is told
    sizes = struct.pack("<QQQI", 8 + 28 + 4 + len(FMT) + 8 + sound, sound, count | 1 << 63, 0)
    body = b"WAVE" + chunk(b"ds64", sizes) + FMT + b"data" + struct.pack("<I", 0xFFFFFFFF) + bytes(sound)
    assert bool(account(b"RF64\xff\xff\xff\xff" + body).extras) is told


def test_list_info() -> None:
    info = chunk(b"LIST", b"INFO" + chunk(b"INAM", b"Song\0") + chunk(b"JANE", b"Doe\0") + chunk(b"ISFT", "É".encode()))
    assert read(wav(info, DATA)).tags == (
        ("riff.INAM", "Song"), ("riff.other", "JANE"), ("riff.other", "Doe"), ("riff.ISFT", "É"),
    )  # fmt: skip


def test_broadcast_wave() -> None:
    bext = b"what it is".ljust(256, b"\0") + b"who".ljust(32, b"\0") + b"ref".ljust(32, b"\0") + b"2001-02-0304:05:06"
    bext += bytes(8) + b"\1\0" + b"\xab" * 64 + bytes(190) + b"A=PCM\r\n"
    assert read(wav(chunk(b"bext", bext), DATA)).tags == (
        ("riff.bext.description", "what it is"),
        ("riff.bext.originator", "who"),
        ("riff.bext.originator_reference", "ref"),
        ("riff.bext.date", "2001-02-0304:05:06"),
        ("riff.bext.coding_history", "A=PCM"),
    )
    blocks = {name for name, _ in read(wav(chunk(b"bext", bext), DATA)).blocks}
    assert {"tag.riff.bext.description", "date.riff.bext.date", "serial.riff.bext.umid"} <= blocks
    assert not any("reserved" in name or "loudness" in name for name in blocks)


def test_a_cart_chunk() -> None:
    cart = b"0101" + b"Song".ljust(64, b"\0") + b"Jane".ljust(64, b"\0") + bytes(1916) + b"tag text"
    assert read(wav(DATA, chunk(b"cart", cart))).tags == (
        ("riff.cart.title", "Song"), ("riff.cart.artist", "Jane"), ("riff.cart.text", "tag text"),
    )  # fmt: skip


def test_labels_of_cue_points() -> None:
    label = chunk(b"labl", b"\1\0\0\0chorus\0") + chunk(b"note", b"\1\0\0\0") + chunk(b"ltxt", bytes(20))
    assert read(wav(DATA, chunk(b"LIST", b"adtl" + label))).tags == (("riff.adtl", "chorus"),)


def test_other_chunks_with_text() -> None:
    id3 = b"ID3\x04\0\0\0\0\0\x0fTIT2\0\0\0\5\0\0\3Song"
    data = wav(
        chunk(b"iXML", b"<x/>"), chunk(b"id3 ", id3), DATA, chunk(b"JUNK", b"stowaway"), chunk(b"what", b"is this")
    )
    assert read(data).tags == (("riff.iXML", "<x/>"), ("id3.TIT2", "Song"))
    assert read(data).blocks == (
        ("tag.riff.iXML", ""),
        ("tag.riff.id3", ""),
        ("stale.riff.JUNK", "<binary> stowaway"),
        ("unknown.riff.other", "<binary> is this"),
    )


def test_what_follows_the_last_chunk_is_found() -> None:
    assert read(wav(DATA, tail=b"\xff\xfe glued on")).blocks == (("unknown.riff.unknown", "<binary>  glued on"),)
    assert read(wav(DATA, tail=chunk(b"JUNK", b"stowaway"))).blocks == (("stale.riff.JUNK", "<binary> stowaway"),)
    assert read(wav(DATA, tail=b"zzzz\xff\xff\0\0stowaway")).blocks == (("unknown.riff.unknown", "<binary> stowaway"),)


@pytest.mark.parametrize(
    "data",
    [
        wav(DATA),
        wav(chunk(b"data", b"")),
        wav(chunk(b"data", bytes(99)))[:-1],  # the last pad byte left out, and counted
        b"RIFF\xff\xff\xff\xffWAVE" + FMT + b"data\xff\xff\xff\xff" + bytes(99),  # ffmpeg to a pipe
        wav(b"data\xff\xff\xff\xff" + bytes(99)),
        b"RIFF\0\0\0\0WAVE" + FMT + b"data\0\0\0\0" + bytes(99),
        b"RIFF\x24\0\0\0WAVE" + FMT + b"data\0\0\0\0" + bytes(99),  # never finished
        b"RIFF\x24\xf0\xff\x7fWAVE" + FMT + b"data\x00\xf0\xff\x7f" + bytes(99),  # sox to a pipe
    ],
)
def test_whole_files(data: bytes) -> None:
    body = read(data)
    assert (body.container, body.tags) == ("wav", ())
    assert cleaned(cleaned(data)) == cleaned(data)


@pytest.mark.parametrize("samples", [0, 1, 50])
@pytest.mark.parametrize("open_size", [0, 0xFFFFFFFF, 0x7FFFF000])
def test_a_clean_file_has_the_right_sizes(samples: int, open_size: int) -> None:
    form = {0: 36, 0xFFFFFFFF: 0xFFFFFFFF, 0x7FFFF000: 0x7FFFF024}[open_size]
    sound = b"\1\2" * samples
    data = b"RIFF" + struct.pack("<I", form) + b"WAVE" + FMT + b"data" + struct.pack("<I", open_size) + sound
    assert cleaned(data) == wav(chunk(b"data", sound))
    assert account(data).extras == ()


def test_zeros_in_spare_chunks_go_without_a_word() -> None:
    data = wav(chunk(b"JUNK", bytes(50)), DATA, chunk(b"PAD ", b""), tail=bytes(20))
    assert read(data).blocks == ()
    assert cleaned(data) == wav(DATA)


def test_bytes_after_the_last_whole_sample_are_told() -> None:
    assert read(wav(chunk(b"data", bytes(4) + b"!"))).blocks == (("stale.riff.remainder", "<binary>"),)
    assert read(wav(chunk(b"data", bytes(5)))).blocks == ()


@pytest.mark.parametrize("name", ["ms-adpcm.wav", "ima-adpcm.wav"])
@pytest.mark.parametrize(("speed", "told"), [(16_000, False), (16_001, True), (1_953_460_340, True)])
def test_the_speed_of_coded_sound_may_be_what_ffmpeg_states_unasked(name: str, speed: int, told: bool) -> None:
    data = places.base(name, BASES[name])
    field = data.index(b"fmt ") + 16
    blocks = read(data[:field] + struct.pack("<I", speed) + data[field + 4 :]).blocks
    assert ("unknown.riff.fmt" in dict(blocks)) is told


@pytest.mark.parametrize("code", [0x50, 0x55])
def test_mpeg_audio_is_left_to_its_own_reader(code: int) -> None:
    data = wav(DATA).replace(FMT, chunk(b"fmt ", struct.pack("<HHIIHH", code, 1, 8000, 16000, 1, 0)))
    assert not riff.sniff(data)
    assert riff.sniff(wav(DATA))
    assert riff.sniff(data[:12] + chunk(b"JUNK", bytes(5000))[:400])  # not within the head
    with pytest.raises(Unreadable, match=f"coded as format 0x00{code:02X}, which is not supported"):
        read(data)


@pytest.mark.parametrize(
    "fmt",
    [
        struct.pack("<HHIIHH", 0x1600, 1, 8000, 16000, 1, 0),  # ADTS
        struct.pack("<HHIIHHHHI", 0xFFFE, 1, 8000, 16000, 2, 16, 22, 16, 4) + bytes.fromhex("0100") + bytes(14),
        struct.pack("<HHIIHHHHI", 0xFFFE, 1, 8000, 16000, 2, 16, 22, 16, 4) + bytes.fromhex(
            "55000000000010008000 00aa00389b71"
        ),
    ],
)  # fmt: skip
def test_other_codings_are_not_supported(fmt: bytes) -> None:
    with pytest.raises(Unreadable, match="not supported in this container; decode it first"):
        read(wav(DATA).replace(FMT, chunk(b"fmt ", fmt)))


def extensible(valid: int, speakers: bytes) -> bytes:
    """A format of one channel and 16 bits in the extended form."""
    form = struct.pack("<HHIIHHHH", 0xFFFE, 1, 8000, 16000, 2, 16, 22, valid) + speakers
    return chunk(b"fmt ", form + bytes.fromhex("0100 000000001000800000aa00389b71"))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (wav(DATA, DATA), "2 data chunks"),
        (wav(FMT, DATA), "2 fmt chunks"),
        (wav(DATA).replace(FMT, b"") + FMT, "does not come before its samples"),
        (wav(DATA).replace(FMT, chunk(b"fmt ", bytes(16))), "not supported|states no channels"),
        (wav(DATA).replace(FMT, chunk(b"fmt ", FMT[8:16]) + chunk(b"zzzz", b"")), "too short"),
        (wav(DATA).replace(FMT, chunk(b"fmt ", struct.pack("<HHIIHH", 1, 2, 8000, 1, 2, 16))), "do not fit into 2"),
        (wav(DATA).replace(FMT, chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 1, 26, 16))), "do not fit into 26"),
        (wav(DATA).replace(FMT, chunk(b"fmt ", FMT[8:12] + b"stow" + FMT[16:])), "or too many"),
        (wav(DATA).replace(FMT, extensible(16, b"stow")), "speakers that there are not"),
        (wav(DATA).replace(FMT, extensible(24, bytes(4))), "24 bits of 16"),
        (wav(DATA).replace(FMT, chunk(b"fmt ", struct.pack("<HHIIHH", 0x11, 1, 8000, 1, 3, 4))), "shorter than"),
        (wav(chunk(b"data", bytes(50) + b"TAG" + bytes(125))), "a tag to other readers"),
        (wav(chunk(b"LIST", b"INFO" + chunk(b"INAM", b"") * 60_000), chunk(b"LIST", b"INFO" + chunk(b"INAM", b"x") *
         100_000), DATA), "more than 100,000"),
    ],
)  # fmt: skip
def test_files_that_readers_disagree_about_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read(data)


def test_a_tag_at_the_end_of_a_chunk_is_not_glued_to_the_file() -> None:
    id3 = b"ID3\x04\0\0\0\0\0\x0fTIT2\0\0\0\5\0\0\3Song"
    assert [part.name for part in account(wav(DATA, chunk(b"id3 ", id3))).extras] == ["riff.id3"]
    assert [part.name for part in account(wav(DATA) + id3).extras] == ["file.id3"]


@pytest.mark.parametrize(
    "data",
    [
        wav(DATA)[:-2],
        wav(DATA, change=2),
        wav(),
        wav(chunk(b"LIST", b"INFO" + b"INAM\xff\0\0\0"), DATA),
        wav(DATA, chunk(b"LIST", bytes(50)))[:-20],
    ],
)
def test_cut_files(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^audio/x\.bin: cut: "):
        read(data)


def rf64(size: int, data_size: int) -> bytes:
    ds64 = chunk(b"ds64", struct.pack("<QQQI", size, data_size, 50, 0))
    return b"RF64\xff\xff\xff\xffWAVE" + ds64 + FMT + b"data\xff\xff\xff\xff" + bytes(100)


def test_rf64() -> None:
    whole = len(rf64(0, 100)) - 8
    assert read(rf64(whole, 100)).tags == ()
    assert cleaned(rf64(whole, 100)) == rf64(whole, 100)
    for size, data_size in ((whole + 9, 100), (whole, 101), (whole, 1 << 40)):
        with pytest.raises(Unreadable, match="cut"):
            read(rf64(size, data_size))
    with pytest.raises(Unreadable, match="no ds64 chunk at its start"):
        read(b"RF64" + wav(DATA)[4:])
