"""MPEG audio: what makes a file whole, and headers of all kinds."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import places
import pytest
from audio_samples import entry
from places.mpeg import BASES
from places.mpeg import frames as split

from leakscan import ledgers, mpegbits, mpegframes
from leakscan.blocks import after_id3, walk_frames
from leakscan.formats import mpeg
from leakscan.media import find_ffmpeg
from leakscan.model import Ledger, Tags, Unreadable
from leakscan.rows import gathered

HEADER = b"\xff\xfb\x90\xc0"  # MPEG-1 layer III, 128 kbit/s, 44.1 kHz, mono: 417 bytes
SIZE = 417


def read(data: bytes) -> Tags:
    body = next(iter(mpeg.read(entry(data)))).body
    assert isinstance(body, Tags)
    return body


def account(data: bytes) -> Ledger:
    return mpeg.account(io.BytesIO(data))


def strip(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


def base(name: str) -> bytes:
    """The frames of a base of the hiding places."""
    data = places.base(name, BASES[name])
    return data[after_id3(data) :]


def frames(count: int) -> bytes:
    return (HEADER + bytes(SIZE - 4)) * count


def info(frame_count: int, size: int, magic: bytes = b"Info", encoder: bytes = b"LAME3.100") -> bytes:
    head = HEADER + bytes(17) + magic + (3).to_bytes(4, "big")
    return (head + frame_count.to_bytes(4, "big") + size.to_bytes(4, "big") + encoder).ljust(SIZE, b"\0")


def vbri(frame_count: int, size: int) -> bytes:
    head = HEADER + bytes(32) + b"VBRI" + bytes(6)
    return (head + size.to_bytes(4, "big") + frame_count.to_bytes(4, "big")).ljust(SIZE, b"\0")


def last(needed: int, begin: int = 0) -> bytes:
    """The head of a frame whose audio takes `needed` bytes, `begin` of them in the frame before."""
    bits = begin << 127 | needed * 8 << 106  # main_data_begin; part2_3_length of the first granule
    return HEADER + bits.to_bytes(17, "big")


@pytest.mark.parametrize(
    "data",
    [
        info(9, 10 * SIZE) + frames(9),
        info(10, 10 * SIZE) + frames(9),  # counts itself: the bytes tell
        info(9, 10 * SIZE + 128) + frames(9),  # bytes with an ID3v1 tag: the frames tell
        info(9, 10 * SIZE - 50) + frames(9)[:-50],  # the encoder left the stuffing of the last frame out
        info(0, 0) + frames(9),
        info(9, 0, b"Xing") + frames(9),
        vbri(9, 10 * SIZE) + frames(9),
        frames(9),
        bytes(417) + frames(9),
    ],
)
def test_whole_files(data: bytes) -> None:
    assert read(data).container == "mp3"


@pytest.mark.parametrize(
    "data",
    [
        info(9, 10 * SIZE) + frames(8),
        info(9, 10 * SIZE) + frames(9)[:-1],
        info(9, 0) + frames(8),
        info(0, 10 * SIZE) + frames(8),
        vbri(9, 10 * SIZE) + frames(8),
        frames(9)[:-50],
    ],
)
def test_cut_files(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^audio/x\.bin: cut: "):
        read(data)


@pytest.mark.parametrize(("needed", "begin"), [(100, 0), (100, 60), (30, 200)])
def test_a_last_frame_without_its_stuffing_is_whole(needed: int, begin: int) -> None:
    head = last(needed, begin)
    data = frames(9) + head + bytes(max(0, needed - begin))
    assert read(data).container == "mp3"
    with pytest.raises(Unreadable, match="bytes of its last frame are there"):
        read(data + bytes(20))
    if needed > begin:
        with pytest.raises(Unreadable, match="bytes of its last frame are there"):
            read(data[:-20])


def test_the_encoder_is_named() -> None:
    assert read(info(9, 10 * SIZE) + frames(9)).tags == (("mp3.encoder", "LAME3.100"),)


def test_free_format() -> None:
    """Bitrate index 0: the header does not say how long a frame is."""
    free = b"\xff\xfb\x00\xc0" + bytes(996)
    assert mpeg.sniff(free * 9)
    assert read(free * 9).container == "mp3"
    with pytest.raises(Unreadable, match="cut"):
        read(free * 9 + free[:500])


FREE = b"\xff\xfb\x00\xc0" + bytes(996)
CHECKED = b"\xff\xfa" + HEADER[2:] + bytes(SIZE - 4)
PADDED = HEADER[:2] + b"\x92\xd0" + bytes(SIZE - 3)
SHORTER = HEADER[:2] + b"\x50" + HEADER[3:] + bytes(204)


@pytest.mark.parametrize(
    ("data", "alike"),
    [
        (frames(3) + PADDED + SHORTER + CHECKED + frames(1), True),
        (frames(1), True),
        (FREE * 3, True),
        (FREE * 3 + frames(1), False),
        (frames(3)[:-1], False),
        (frames(3) + HEADER[:3], False),
        (frames(2) + b"\1" + frames(2), False),
        (frames(2) + HEADER[:2] + b"\x94" + HEADER[3:] + bytes(380), False),  # another rate
        (frames(2) + HEADER[:1] + b"\xfd" + frames(1)[2:], False),  # another layer
        (frames(2) + HEADER[:3] + b"\xc2" + frames(1)[4:], False),  # an emphasis that is none
        (frames(2) + HEADER[:2] + b"\xf0" + frames(1)[3:], False),
        (b"\0" + frames(2), False),
    ],
)
def test_frames_that_are_alike_are_walked_over_quickly(data: bytes, alike: bool) -> None:
    parse = mpeg._parser(mpeg._free_length(data))
    for before in (b"", b"ID3"):
        walk = mpeg._plain(before + data, len(before), parse)
        assert (walk is not None) == alike
        if alike:
            assert walk == walk_frames(before + data, len(before), 4, mpeg._SYNC, parse)


def test_bytes_between_frames_are_searched_for_text() -> None:
    data = frames(4) + b"\1\2 a stowaway \1" + frames(4)
    assert read(data).blocks == (("unknown.mp3.unknown", "<binary>  a stowaway "),)


def test_zeros_may_come_first(audio: Mapping[str, Path]) -> None:
    data = audio["vbr.mp3"].read_bytes()
    bare = data[after_id3(data) :]
    assert mpeg.sniff(bytes(417) + bare)
    assert read(bytes(417) + bare).blocks == read(bytes(100_000) + bare).blocks == read(bare).blocks
    assert strip(bytes(417) + bare) == strip(bytes(100_000) + bare) == strip(bare)
    with pytest.raises(Unreadable, match="cut"):
        read(bytes(417) + bare[:-100])


@pytest.mark.parametrize(
    "four",
    [
        b"\xff\xe2\x90\xc0",  # MPEG-2.5 layer III
        b"\xff\xfb\x90\xc0",
        b"\xff\xfd\x90\xc0",
        b"\xff\xff\x90\xc0",
        b"\xff\xf3\x90\xc0",
    ],
)
def test_valid_headers(four: bytes) -> None:
    frame = mpeg._parser(0)(four)
    assert frame is not None
    assert mpeg.sniff((four + bytes(frame.length - 4)) * 2)


@pytest.mark.parametrize(
    "four",
    [
        b"\xff\xf1\x90\xc0",  # layer 0: ADTS
        b"\xff\xeb\x90\xc0",  # reserved version
        b"\xff\xfb\xf0\xc0",  # bitrate index 15
        b"\xff\xfb\x9c\xc0",  # rate index 3
        b"\xff\xfb\x90\xc2",  # reserved emphasis
        b"\xfe\xfb\x90\xc0",
        b"\xff\xfb\x90",
    ],
)
def test_invalid_headers(four: bytes) -> None:
    assert mpeg._parser(500)(four) is None


@pytest.mark.parametrize(
    ("four", "length"),
    [
        (b"\xff\xfb\x90\x00", 417),
        (b"\xff\xfb\x92\x00", 418),
        (b"\xff\xfb\xe0\x00", 1044),
        (b"\xff\xfd\xa0\x00", 626),  # layer II, 192 kbit/s
        (b"\xff\xff\x40\x00", 136),  # layer I, 128 kbit/s
        (b"\xff\xf3\x80\x00", 208),  # MPEG-2, 64 kbit/s, 22.05 kHz
        (b"\xff\xe3\x38\x00", 216),  # MPEG-2.5, 24 kbit/s, 8 kHz
    ],
)
def test_frame_lengths(four: bytes, length: int) -> None:
    frame = mpeg._parser(0)(four)
    assert frame is not None
    assert frame.length == length


# --- the clean file --------------------------------------------------------------------------------------------------

LAYER_THREE = [name for name in BASES if name.endswith(".mp3")]


class Granules:
    """The side information of layer III, read field by field."""

    def __init__(self, frame: bytes) -> None:
        self.mpeg1, channels = frame[1] >> 3 & 3 == 3, 1 if frame[3] >> 6 == 3 else 2
        size = {(True, 1): 17, (True, 2): 32, (False, 1): 9, (False, 2): 17}[self.mpeg1, channels]
        start = 4 if frame[1] & 1 else 6
        self.text = f"{int.from_bytes(frame[start : start + size], 'big'):0{8 * size}b}"
        self.main = frame[start + size :]
        self.begin = self._take(9 if self.mpeg1 else 8)
        self._take({(True, 1): 5, (True, 2): 3, (False, 1): 1, (False, 2): 2}[self.mpeg1, channels])
        if self.mpeg1:
            self._take(4 * channels)
        self.needed = 0
        for _ in range(channels * (2 if self.mpeg1 else 1)):
            self.needed += self._take(12)
            self._take(47 if self.mpeg1 else 51)
        assert self.text == ""

    def _take(self, count: int) -> int:
        value, self.text = int(self.text[:count], 2), self.text[count:]
        return value


def main_data(parts: list[bytes]) -> list[str]:
    """The bits of each frame's own main data, followed through the reservoir."""
    found = []
    reservoir = b""
    for part in parts:
        granules = Granules(part)
        start = len(reservoir) - granules.begin
        assert start >= 0
        reservoir += granules.main
        bits = "".join(f"{byte:08b}" for byte in reservoir[start:])
        found.append(bits[: granules.needed])
    return found


@pytest.mark.parametrize("name", LAYER_THREE)
def test_no_bit_of_main_data_changes(name: str) -> None:
    assert main_data(split(strip(base(name)))) == main_data(split(base(name)))


@pytest.mark.parametrize("name", LAYER_THREE)
def test_all_other_bits_of_the_bodies_are_zero(name: str) -> None:
    """Main data and what lies between them, laid end to end: in between there are zeros only."""
    parts = split(strip(base(name)))
    main, covered = "", 0
    for part in parts:
        granules = Granules(part)
        start = len(main) - 8 * granules.begin
        main += "".join(f"{byte:08b}" for byte in granules.main)
        if b"Info" in part[:40] or b"Xing" in part[:40]:
            covered = len(main)
            continue
        assert set(main[covered:start]) <= {"0"}
        covered = start + granules.needed
    assert set(main[covered:]) <= {"0"}


def test_long_text_in_main_data_is_refused() -> None:
    """It may be behind the last number that is coded there."""
    parts = split(base("no-reservoir.mp3"))
    index = max(range(len(parts)), key=lambda index: Granules(parts[index]).needed)
    part = parts[index]
    start = len(part) - len(Granules(part).main) + 30
    assert Granules(part).needed > 8 * 80
    place = len(b"".join(parts[:index])) + start
    clean = strip(b"".join(parts))
    put = clean[:place] + b"quillfeather-marrow-4711" + clean[place + 24 :]
    with pytest.raises(Unreadable, match="text in the sound of a frame"):
        account(put)
    seen = ledgers.Seen(account(clean))
    assert mpeg.read_back(io.BytesIO(put), seen) == account(clean)  # in which it was looked for
    with pytest.raises(Unreadable, match="text in the sound of a frame"):
        mpeg.read_back(io.BytesIO(put + parts[-1]), seen)


def needed(frame: bytes) -> tuple[int, int]:
    """Of a frame of layer I or II without error check, how many bits would be checked and how many are in use."""
    header = mpegframes.header_of(frame[:4])
    assert header is not None
    checked, used = mpegbits._used(header, gathered(frame, np.array([4]), mpegbits._FRONT))
    return int(checked[0]), int(used[0])


def protected(parts: list[bytes]) -> bytes:
    """The frames with an error check each, made bit by bit, where the encoder left two bytes at their end for it."""
    made = []
    for part in parts:
        clean = strip(part * 2)[: len(part)]
        if part[1] >> 1 & 3 == 1:
            granules = Granules(part)
            count = 8 * (len(part) - 4 - len(granules.main))
            used = count + granules.needed + (granules.begin and 8 * len(part))
        else:
            count, used = needed(clean)
        if used + 16 > 8 * len(part) - 32:
            made.append(part)
            continue
        frame = clean[:1] + bytes((clean[1] & 0xFE,)) + clean[2:4] + bytes(2) + clean[4:-2]
        register = 0xFFFF
        for bit in "".join(f"{byte:08b}" for byte in frame[2:4] + frame[6:])[: 16 + count]:
            register = register << 1 ^ (0x8005 if register >> 15 ^ int(bit) else 0)
            register &= 0xFFFF
        made.append(frame[:4] + register.to_bytes(2, "big") + frame[6:])
    return b"".join(made)


def decode(data: bytes, *options: str) -> bytes:
    argv = [
        find_ffmpeg().path,
        "-nostdin",
        "-v",
        "error",
        *options,
        "-f",
        "mp3",
        "-i",
        "pipe:0",
        "-f",
        "s16le",
        "pipe:1",
    ]
    done = subprocess.run(argv, input=data, capture_output=True, check=False)
    return done.stdout + done.stderr


CHECKED = ["no-reservoir.mp3", "layer-two-low.mp2"]


@pytest.mark.parametrize("name", CHECKED)
def test_error_checks_are_made_again_where_bits_are_cleared(name: str) -> None:
    data = protected(split(base(name))[1:])
    crcs = [part[1] & 1 for part in split(data)]
    assert crcs.count(0) > 9
    assert [bit for bit in account(data).bits if "crc" in bit] == []
    dirty = b"".join(part[:2] + bytes((part[2] | 1, part[3] | 8)) + part[4:] for part in split(data))
    assert "unknown.mp3.crc" in account(dirty).bits  # not made again
    assert strip(dirty) == strip(data)
    strict = ("-err_detect", "crccheck+explode")
    assert decode(strip(dirty), *strict) == decode(data, *strict) == decode(data)
    assert decode(dirty, *strict) != decode(data)  # FFmpeg does check


@pytest.mark.parametrize("name", CHECKED)
def test_an_error_check_can_hide_nothing(name: str) -> None:
    data = protected(split(base(name))[1:])
    dirty = b"".join(part if part[1] & 1 else part[:4] + b"\x12\x34" + part[6:] for part in split(data))
    assert "unknown.mp3.crc" in account(dirty).bits
    assert strip(dirty) == strip(data)


def test_layer_one() -> None:
    """Four bands of one sample bit more than their allocation of 1 to 4, for one channel."""
    allocation = int("1234".ljust(32, "0"), 16)
    bits = f"{allocation:0128b}" + "1" * (4 * 6 + 12 * (2 + 3 + 4 + 5))
    body = int(bits.ljust(8 * 412, "0"), 2).to_bytes(412, "big")
    head = b"\xff\xff\xd0\xc4"  # 416 kbit/s, 44.1 kHz
    clean = (head + body).ljust(452, b"\0")
    assert strip(clean * 4) == clean * 4
    dirty = clean[:-9] + b"stowaway!"
    assert strip(dirty * 4) == clean * 4
    assert account(dirty * 4).bits == ("unknown.mp3.ancillary",)
    assert needed(clean) == (128, len(bits))
    broken = head + b"\xff" * 448  # allocation 15 is forbidden
    assert strip(broken * 4) == broken * 4


def test_a_frame_count_is_corrected_and_the_table_made_again() -> None:
    parts = split(base("vbr.mp3"))
    at = max(parts[0].find(b"Xing"), parts[0].find(b"Info"))
    head = strip(b"".join((parts[0][: at + 8] + (1).to_bytes(4, "big") + parts[0][at + 12 :], *parts[1:])))
    assert head[at + 8 : at + 16] == (len(parts) - 1).to_bytes(4, "big") + sum(map(len, parts)).to_bytes(4, "big")
    table = head[at + 16 : at + 116]
    assert list(table) == sorted(table)
    assert all(abs(place - 2.56 * index) < 40 for index, place in enumerate(table))
    assert head[at + 120 : at + 129] == b"LAME\0\0\0\0\0"


@pytest.mark.parametrize(("writer", "kept"), [(b"L3.99r1\0\0", b"L3.9"), (b"GOGO3.13 ", b"\0\0\0\0")])
def test_only_writers_that_decoders_know_keep_delay_and_padding(writer: bytes, kept: bytes) -> None:
    data = base("stereo.mp3")
    at = data.find(b"Lavc")
    clean = strip(data[:at] + writer + data[at + 9 :])
    assert clean[at : at + 9] == kept + bytes(5)
    assert clean[at + 21 : at + 24] == (data[at + 21 : at + 24] if kept[0] else bytes(3))


def test_a_truncated_last_frame_stays_where_the_count_is_reached() -> None:
    data = info(9, 10 * SIZE - 50) + frames(9)[:-50]
    assert len(strip(data)) == len(data)
    short = info(8, 0) + frames(8) + HEADER + b"\1\2\3"  # no decoder plays any of this one
    assert len(strip(short)) == 9 * SIZE
    assert account(short).extras[-1].kind == "unknown"


def test_a_vbri_table_is_made_again() -> None:
    head = vbri(9, 10 * SIZE)
    table = b"\0\x05\0\1\0\2\0\2" + b"secretword"
    data = head[:54] + table + b"tail".ljust(SIZE - 54 - len(table), b"\0") + frames(9)
    clean = strip(data)
    assert clean[54:72] == table[:8] + b"".join((min(2, left) * SIZE).to_bytes(2, "big") for left in (9, 7, 5, 3, 1))
    assert clean[72:SIZE] == bytes(SIZE - 72)
    assert account(data).parameters == (("header", "VBRI"), ("delay", "0"))
    wrong = data[:60] + b"\0\0" + data[62:]  # no frames an entry
    assert strip(wrong)[54:SIZE] == b"\0\0\0\1\0\2\0\1" + bytes(SIZE - 62)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", "encoder"),
        ("0101010", "encoder"),
        ("0110", "unknown"),
        ("01" * 9 + f"{int.from_bytes(b'LAME3.100', 'big'):072b}" + "0101", "encoder"),
        (f"{int.from_bytes(b'LAME3.98.4 (alpha 0)', 'big'):0160b}", "encoder"),
        (f"{int.from_bytes(b'LAMEsecret', 'big'):080b}", "unknown"),
        (f"{int.from_bytes(b'LA', 'big'):016b}0000", "encoder"),
        (f"{int.from_bytes(b'LOVE', 'big'):032b}", "unknown"),
        (f"{int.from_bytes(b'LAM', 'big'):024b}0101010{int.from_bytes(b'LAME4.1 (alpha 0)', 'big'):0136b}", "encoder"),
        (f"{int.from_bytes(b'LAM', 'big'):024b}0101010{int.from_bytes(b'LAMEsecret', 'big'):080b}", "unknown"),
    ],
)
def test_what_lame_writes_as_ancillary_data_is_known(text: str, kind: str) -> None:
    assert mpegbits._ancillary(int(text, 2), len(text)) == f"{kind}.mp3.ancillary"


def wrapped(form: bytes, kind: int, body: bytes) -> bytes:
    fmt = b"fmt \x10\0\0\0" + kind.to_bytes(2, "little") + bytes(14)
    return form + bytes(4) + b"WAVE" + fmt + b"data" + len(body).to_bytes(4, "little") + body


def test_riff_is_claimed_where_it_says_that_it_holds_mpeg_audio() -> None:
    assert mpeg.sniff(wrapped(b"RIFF", 0x55, frames(5)))
    assert mpeg.sniff(wrapped(b"RIFF", 0x50, frames(5)))
    assert not mpeg.sniff(wrapped(b"RIFF", 1, frames(5)))
    assert strip(wrapped(b"RIFF", 0x55, frames(5))) == strip(frames(5))
    with pytest.raises(Unreadable, match="cut: its chunk data"):
        read(wrapped(b"RIFF", 0x55, frames(5))[:-1])
    with pytest.raises(Unreadable, match="a RIFF stream that holds no MPEG audio"):
        read(wrapped(b"RIFF", 1, frames(5)))


@pytest.mark.parametrize(
    "before",
    [
        b"PK\x03\x04",
        b"PAR1",
        b"\x1aE\xdf\xa3",
        b"name".ljust(257, b"\0") + b"ustar",
        b"\0\0\1\xba",
        b"\0\0\0\x18ftypmp42",
    ],
)
def test_containers_that_hold_mpeg_audio_as_it_is_are_not_claimed(before: bytes) -> None:
    assert not mpeg.sniff(before + frames(5))
    assert mpeg.sniff(b"x" * len(before) + frames(5))


def test_a_copyright_bit_of_all_frames_is_an_option_of_the_encoder() -> None:
    some, all_of_them = HEADER, HEADER[:3] + bytes((HEADER[3] | 8,))
    frames = [head + bytes(SIZE - 4) for head in (some, all_of_them)]
    found = mpeg.account(io.BytesIO(4 * frames[1]))
    assert "encoder.mp3.copyright-bit" in found.bits
    assert "unknown.mp3.copyright-bit" in mpeg.account(io.BytesIO(2 * frames[0] + 2 * frames[1])).bits
