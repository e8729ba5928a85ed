"""What decoders need to know, without what they do not."""

from __future__ import annotations

import struct

import pytest

from leakscan import decoders
from leakscan.model import Unreadable

LC = bytes.fromhex("1210")  # AAC LC, 44.1 kHz, stereo
SBR = bytes.fromhex("139056e5a0")  # with SBR announced behind it


def map_of_channels(comment: bytes) -> bytes:
    """AAC LC, 44.1 kHz, with a channel map: one pair in front."""
    bits = "0001001000000000"  # type, rate, channels by map, flags
    bits += "000001010000010000000000000000000010000"
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big") + bytes([len(comment)]) + comment


@pytest.mark.parametrize("data", [LC, SBR, bytes.fromhex("2b8a0800"), map_of_channels(b""), bytes.fromhex("f8e85000")])
def test_aac_stays(data: bytes) -> None:
    assert decoders.aac(data) == (data, [])


@pytest.mark.parametrize("data", [LC, SBR])
def test_what_follows_the_configuration_of_aac_goes(data: bytes) -> None:
    clean, odd = decoders.aac(data + b"stowaway")
    assert clean == data
    assert [(part.kind, part.start, part.end) for part in odd] == [("unknown", len(data), len(data) + 8)]
    assert decoders.aac(data + bytes(3)) == (data, [])


def test_the_comment_of_a_channel_map_goes() -> None:
    said = map_of_channels(b"stowaway")
    clean, odd = decoders.aac(said + bytes.fromhex("56e500"))
    assert clean == map_of_channels(b"") + bytes.fromhex("56e500")
    assert [(part.kind, said[part.start : part.end]) for part in odd] == [("encoder", b"\x08stowaway")]


@pytest.mark.parametrize("data", [b"quillfeather", bytes.fromhex("f8e85000") + bytes(20)])
def test_other_aac_is_of_a_known_kind(data: bytes) -> None:
    with pytest.raises(Unreadable, match="a kind of AAC that is not supported"):
        decoders.aac(data)


@pytest.mark.parametrize(
    ("data", "plain"), [(LC, True), (bytes.fromhex("2b8a0800"), True), (bytes.fromhex("f8e85000"), False)]
)
def test_which_aac_is_plain(data: bytes, plain: bool) -> None:
    assert decoders.is_plain_aac(data) is plain


def test_alac_without_bit_rates() -> None:
    cookie = (
        (4096).to_bytes(4, "big") + b"\0\x10\x28\x0a\x0e\2\0\xff" + b"\0\0\x10\0\0\1\0\0" + (44100).to_bytes(4, "big")
    )
    layout = b"\0\0\0\x18chan" + bytes(4) + b"\0\x65\0\2" + bytes(8)
    clean, odd = decoders.alac(cookie + layout)
    assert clean == cookie[:12] + bytes(8) + cookie[20:] + layout
    assert [(part.kind, part.start, part.end) for part in odd] == [("encoder", 12, 20)]
    clean, odd = decoders.alac(cookie + b"stowaway")
    assert clean == cookie[:12] + bytes(8) + cookie[20:]
    assert [part.kind for part in odd] == ["encoder", "unknown"]


def test_flac_keeps_the_number_of_samples() -> None:
    info = b"\x10\0\x10\0" + b"\0\0\7\0\0\x09" + b"\x0a\xc4\x42\xf0\0\1\2\3" + bytes(range(16))
    clean, odd = decoders.flac(b"\0\0\0\x22" + info + b"\x04\0\0\x08" + bytes(8) + b"\x81\0\0\2\0\0")
    assert clean == b"\x80\0\0\x22" + info[:4] + bytes(6) + info[10:18] + bytes(16)
    assert [part.kind for part in odd] == ["encoder", "digest", "structure", "tag", "padding"]


def fields(*fields: bytes, vendor: bytes = b"") -> bytes:
    """The body of a comment block."""
    said = b"".join(len(field).to_bytes(4, "little") + field for field in fields)
    return len(vendor).to_bytes(4, "little") + vendor + len(fields).to_bytes(4, "little") + said


SPEAKERS = b"WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x%04X"


@pytest.mark.parametrize(
    ("block", "channels", "clean"),
    [
        (fields(SPEAKERS % 0x30), 2, fields(SPEAKERS % 0x30)),
        (fields(b"title=x", b"waveformatextensible_channel_mask=0x60f", vendor=b"v"), 6, fields(SPEAKERS % 0x60F)),
        (fields(SPEAKERS % 0x3), 2, fields()),  # as usual
        (fields(SPEAKERS % 0x7), 2, fields()),
        (fields(SPEAKERS % 0x60000000), 2, fields()),
        (fields(SPEAKERS % 0x30, SPEAKERS % 0x30), 2, fields()),
        (fields(b"WAVEFORMATEXTENSIBLE_CHANNEL_MASK=48"), 2, fields()),
        (fields(b"WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x000000030"), 2, fields()),
        (fields(SPEAKERS % 0x30 + b" by me"), 2, fields()),
        (fields(SPEAKERS % 0x30)[:-1], 2, fields()),
        (b"", 2, fields()),
        (b"\xff" * 12, 2, fields()),
    ],
)
def test_flac_keeps_what_it_says_of_unusual_speakers(block: bytes, channels: int, clean: bytes) -> None:
    assert decoders.flac_comment([block], channels) == clean


def test_flac_elsewhere_keeps_them_too() -> None:
    info = b"\x10\0\x10\0" + bytes(6) + b"\x0a\xc4\x42\xf0\0\1\2\3" + bytes(16)  # two channels
    said, more = fields(SPEAKERS % 0x30), fields(b"title=x", SPEAKERS % 0x30)
    made = b"\0\0\0\x22" + info + decoders.last_comment(said)
    clean, odd = decoders.flac(made)
    assert (clean, {part.kind for part in odd}) == (made, {"structure"})
    clean, odd = decoders.flac(b"\0\0\0\x22" + info + decoders.last_comment(more))
    assert clean == made
    assert [(part.kind, part.reader) for part in odd] == [("structure", ""), ("tag", "flac")]


@pytest.mark.parametrize(
    ("points", "right"),
    [
        ([(0, 0, 4096), (8192, 0, 4096), (16384, 900, 512)], True),
        ([(0, 0, 4096), (0xFFFFFFFFFFFFFFFF, 0, 0)], True),
        ([(8192, 0, 4096), (0, 0, 4096)], False),
        ([(0, 0, 4096), (8192, 1000, 4096)], False),
        ([(0, 0, 4096), (20000, 900, 4096)], False),
        ([(0, 0, 4096), (8192, 9, 77), (16384, 9, 4096)], False),
    ],
)
def test_a_seek_table_of_flac_reads_like_one(points: list[tuple[int, int, int]], right: bool) -> None:
    table = b"".join(decoders._POINT.pack(*point) for point in points)
    assert decoders.seekable(table, 1000, 20000) is right
    assert not decoders.seekable(table + b"text", 1000, 20000)


@pytest.mark.parametrize(
    ("kind", "table", "told"),
    [
        (3, decoders._POINT.pack(0, 0, 4096) + decoders._POINT.pack(8192, 30000, 4096), "encoder"),
        (3, decoders._POINT.pack(0, 0, 4096) + decoders._POINT.pack(8192, 80000, 4096), "unknown"),  # too far
        (3, decoders._POINT.pack(10000, 0, 4096), "unknown"),  # behind the last sample
        (3, b"stowaway quill fea", "unknown"),
        (3, bytes(18), "padding"),
        (2, decoders._POINT.pack(0, 1, 4096), "unknown"),  # an application
        (1, b"stowaway", "unknown"),
    ],
)
def test_a_seek_table_of_flac_in_another_container_is_a_trace_of_the_encoder(
    kind: int, table: bytes, told: str
) -> None:
    samples = (44100 << 44 | 15 << 36 | 10000).to_bytes(8, "big")  # one channel, 16 bits
    info = b"\x10\0\x10\0" + bytes(6) + samples + bytes(16)
    block = bytes([0x80 | kind]) + len(table).to_bytes(3, "big") + table
    clean, odd = decoders.flac(b"\0\0\0\x22" + info + block)
    assert clean == b"\x80\0\0\x22" + info
    assert [(part.kind, part.name, part.start, part.end) for part in odd] == [(told, "flac-block", 38, 42 + len(table))]


@pytest.mark.parametrize(
    ("function", "data"),
    [
        (decoders.aac, b"\x12"),
        (decoders.aac, map_of_channels(b"stowaway")[:-1]),
        (decoders.alac, bytes(23)),
        (decoders.flac, bytes(37)),
        (decoders.flac, b"\4\0\0\x22" + bytes(34)),
        (decoders.flac, b"\0\0\0\x22" + bytes(34) + b"\x84\0\0\x09" + bytes(8)),
        (decoders.description, bytes(9)),
        (decoders.description, bytes(4) + b"\3\x19" + bytes(9)),
    ],
)
def test_what_cannot_be_is_an_error(function: object, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"decoder|STREAMINFO"):
        function(data)  # type: ignore[operator]


def test_opus_keeps_its_map() -> None:
    plain, mapped = b"\0\2" + bytes(8) + b"\0", b"\0\3" + bytes(8) + b"\1\2\1\0\1\2"
    assert decoders.opus(plain, 10) == (plain, [])
    assert decoders.opus(mapped, 10) == (mapped, [])
    clean, odd = decoders.opus(plain + b"stowaway", 10)
    assert clean == plain
    assert [part.kind for part in odd] == ["unknown"]
    for data in (b"\0\2" + bytes(8) + b"\3", b"\0q" + bytes(8) + b"\0", bytes(11)):
        with pytest.raises(ValueError, match="mapped"):
            decoders.opus(data + bytes(20), 10)


def test_opus_tells_of_a_sample_rate_in_either_order_of_bytes() -> None:
    for rate in (bytes(4), (192_000).to_bytes(4, "big"), (192_000).to_bytes(4, "little")):
        assert decoders.opus(b"\0\1\0\0" + rate + bytes(3), 10)[1] == []
    for data in (b"\0\1\0\0stow" + bytes(3), b"\x10\1" + bytes(9)):
        with pytest.raises(ValueError, match="a version or a sample rate that cannot be"):
            decoders.opus(data, 10)


@pytest.mark.parametrize(
    ("offset", "data"), [(0, b"text"), (4, b"\1"), (5, b"\x11"), (9, b"\x09"), (9, b"\0"), (20, b"text")]
)
def test_what_cannot_be_apple_lossless_is_none(offset: int, data: bytes) -> None:
    cookie = bytes.fromhex("00001000 0010280a0e01 00ff") + bytes(8) + (44100).to_bytes(4, "big")
    assert decoders.alac(cookie) == (cookie, [])
    with pytest.raises(ValueError, match="no Apple Lossless"):
        decoders.alac(cookie[:offset] + data + cookie[offset + len(data) :])


def test_a_layout_of_apple_lossless_is_one_that_there_is() -> None:
    cookie = bytes.fromhex("00001000 0010280a0e01 00ff") + bytes(8) + (44100).to_bytes(4, "big")
    chan = b"\0\0\0\x18chan" + bytes(4) + b"text" + bytes(8)
    assert decoders.alac(cookie + chan)[0] == cookie


@pytest.mark.parametrize(
    "data",
    [b"text" + bytes(8), b"\0\1\0\0text" + bytes(4), bytes(11) + b"\1text" + bytes(16)],
    ids=["tag", "bits", "label"],
)
def test_layouts_that_there_are_not(data: bytes) -> None:
    with pytest.raises(ValueError, match="none that there is"):
        decoders.channel_layout(data)


def test_channels_with_places_are_refused() -> None:
    with pytest.raises(Unreadable, match="places in coordinates"):
        decoders.channel_layout(bytes(11) + b"\1" + struct.pack(">IIfff", 100, 1, 0.5, 0, 1))


def layout(tag: int, bitmap: int, *channels: bytes) -> bytes:
    return struct.pack(">III", tag, bitmap, len(channels)) + b"".join(channels)


FRONT, PLACED = struct.pack(">IIfff", 1, 0, 0, 0, 0), struct.pack(">IIfff", 1, 1, 0.5, 0, 1)


@pytest.mark.parametrize(
    ("data", "clean", "odd"),
    [
        (layout(0x650002, 0), None, []),
        (layout(0x10000, 3), None, []),
        (layout(0, 0, FRONT, FRONT), None, []),
        (layout(0, 0, FRONT, PLACED), layout(0, 0, FRONT, FRONT), [(36, 52)]),
        (layout(0xFFFF0002, 0), None, []),
        (layout(0x650002, 7), layout(0x650002, 0), [(4, 8)]),
        (layout(0x650002, 0, FRONT), layout(0x650002, 0), [(8, 32)]),
        (layout(0x10000, 3, PLACED), layout(0x10000, 3), [(8, 32)]),
        (layout(0, 9, FRONT), layout(0, 0, FRONT), [(4, 8)]),
        (layout(0, 0, FRONT[:8] + PLACED[8:]), layout(0, 0, FRONT), [(16, 32)]),
        (layout(0x650002, 0) + b"text", layout(0x650002, 0), [(12, 16)]),
    ],
)
def test_channel_layouts_say_no_more_than_applies(data: bytes, clean: bytes | None, odd: list[tuple[int, int]]) -> None:
    made, parts = decoders.channel_layout(data)
    assert made == (clean or data)
    assert [(part.start, part.end) for part in parts] == odd
    assert decoders.channel_layout(made) == (made, [])


@pytest.mark.parametrize("data", [b"", layout(0, 0, FRONT)[:-1], layout(0, 0)[:11]])
def test_a_channel_layout_that_is_cut(data: bytes) -> None:
    with pytest.raises(ValueError, match="channel layout"):
        decoders.channel_layout(data)
