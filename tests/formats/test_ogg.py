"""Ogg: pages, chained and multiplexed streams."""

from __future__ import annotations

import hashlib
import io
import re
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import places
import pytest
from audio_samples import TITLE, entry
from places import SECONDS
from places import ogg as hiding
from synth import RATE

from leakscan import ledgers, oggpages
from leakscan.formats import ogg
from leakscan.model import Ledger, Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(ogg.read(entry(data)))).body


def account(data: bytes) -> Ledger:
    return ogg.account(io.BytesIO(data))


def stripped(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


def crc(data: bytes) -> bytes:
    """The checksum of a page by the letter of RFC 3533: a generator of 0x04C11DB7, no reflection, start and end 0."""
    value = 0
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value & 0x80000000 else value << 1) & 0xFFFFFFFF
    return value.to_bytes(4, "little")


def page(flags: int, serial: int, number: int, *packets: bytes, open_end: bool = False, granule: int = 0) -> bytes:
    lacing = b""
    for packet in packets:
        lacing += b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255])
    if open_end:
        lacing = lacing[:-1]
    head = b"OggS\0" + bytes([flags]) + granule.to_bytes(8, "little", signed=True)
    head += serial.to_bytes(4, "little") + number.to_bytes(4, "little")
    rest = bytes([len(lacing)]) + lacing + b"".join(packets)
    return head + crc(head + bytes(4) + rest) + rest


SPEEX = b"Speex   1.2" + bytes(21) + b"\x50" + bytes(47)
OPUS = b"OpusHead\x01\x01" + (312).to_bytes(2, "little") + bytes(4) + b"\xff\xff\0"


def comment(*fields: str) -> bytes:
    parts = [b"maker", *(field.encode() for field in fields)]
    sized = [len(part).to_bytes(4, "little") + part for part in parts]
    return sized[0] + (len(fields)).to_bytes(4, "little") + b"".join(sized[1:])


def setup(entries: int) -> bytes:
    """A setup header of Vorbis, with one of everything and so many entries in its codebook."""
    written = [(0, 8), (0x564342, 24), (1, 16), (entries, 24), (0, 2), (0, 5 * entries), (0, 4)]
    written += [(0, 6), (0, 16), (0, 6), (0, 16), (0, 54), (0, 4), (0, 8)]  # no transform, a floor of type 0
    written += [(0, 6), (0, 16), (0, 72), (0, 6), (0, 8), (0, 4), (0, 6), (0, 16), (0, 4), (0, 24)]
    written += [(0, 6), (0, 41), (1, 1)]
    value = size = 0
    for number, count in written:
        value |= number << size
        size += count
    return b"\x05vorbis" + value.to_bytes(-(-size // 8), "little")


def speex(serial: int, title: str) -> bytes:
    pages = page(2, serial, 0, SPEEX), page(0, serial, 1, comment(f"title={title}"))
    return b"".join(pages) + page(4, serial, 2, b"audio", granule=160)


@pytest.mark.parametrize(
    ("name", "container"),
    [("vorbis.ogg", "ogg-vorbis"), ("opus.opus", "ogg-opus"), ("flac.oga", "ogg-flac")],
)
def test_codecs(audio: Mapping[str, Path], name: str, container: str) -> None:
    body = read(audio[name].read_bytes())
    assert body.container == container
    assert ("vorbis.title", TITLE) in body.tags


def test_speex() -> None:
    body = read(speex(1, "Song"))
    assert (body.container, body.tags) == ("ogg-speex", (("vorbis.vendor", "maker"), ("vorbis.title", "Song")))
    assert ("encoder.ogg.speex-version", "<binary>") in body.blocks


def test_what_decoders_need_is_told() -> None:
    tags = b"OpusTags" + comment()
    data = page(2, 5, 0, OPUS) + page(0, 5, 1, tags) + page(4, 5, 2, b"audio", granule=960)
    assert dict(account(data).parameters) == {
        "pre-skip": "312",
        "gain": "-1",
        "head": OPUS.hex(),
        "granule": "960",
    }


def test_flac_keeps_what_it_says_of_unusual_speakers() -> None:
    stream = hiding._Stream("flac.oga", places.base("flac.oga", hiding.BASES["flac.oga"]))
    said = "WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x0001"  # of one channel, on the left
    made = stream.commented(comment("title=Song", said))
    clean = stripped(made)
    assert said.encode() in clean
    assert b"Song" not in clean
    assert account(clean).extras == ()
    assert stripped(clean) == clean
    assert account(clean).parameters == account(made).parameters != account(stripped(stream.commented(b""))).parameters
    assert said.encode() not in stripped(stream.commented(comment(said.replace("1", "4"))))  # as usual


def test_flac_has_as_many_samples_as_it_says() -> None:
    stream = hiding._Stream("flac.oga", places.base("flac.oga", hiding.BASES["flac.oga"]))
    count = int(SECONDS * RATE)
    for told in (0, count):
        data = stream.first(31, told.to_bytes(4, "big"))
        assert stripped(data) == stripped(stripped(data))
    for told in (count - 1, count + 1, int.from_bytes(b"text", "big")):
        with pytest.raises(Unreadable, match=f"cut: its header counts {told:,} samples, {count:,} are there"):
            account(stream.first(31, told.to_bytes(4, "big")))


def test_opus_of_one_stream_has_one_channel_or_two() -> None:
    stream = hiding._Stream("opus.opus", places.base("opus.opus", hiding.BASES["opus.opus"]))
    for channels in (b"q", b"\0"):
        with pytest.raises(Unreadable, match="no valid header"):
            account(stream.first(9, channels))


def test_every_link_of_a_chain_is_read() -> None:
    chain = speex(1, "One") + speex(2, "Two") + speex(1, "Three")
    assert [value for name, value in read(chain).tags if name == "vorbis.title"] == ["One", "Two", "Three"]
    with pytest.raises(Unreadable, match="cut"):
        read(speex(1, "One") + speex(2, "Two")[:-33])
    clean = stripped(chain)
    assert [clean[at.start() + 14] for at in re.finditer(b"OggS", clean)] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [name for name, _ in account(clean).parameters] == [
        *("head", "granule", "1.head", "1.granule", "2.head", "2.granule")
    ]


def test_a_file_has_so_many_streams_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ogg, "_STREAMS", 2)
    assert len(account(speex(1, "One") + speex(2, "Two")).parameters) == 4
    with pytest.raises(Unreadable, match="too many streams"):
        account(speex(1, "One") + speex(2, "Two") + speex(3, "Three"))


def test_a_link_that_does_not_end_is_a_cut() -> None:
    with pytest.raises(Unreadable, match="cut: its last page does not say that the stream ends"):
        read(speex(1, "One").replace(page(4, 1, 2, b"audio", granule=160), page(0, 1, 2, b"audio")) + speex(2, "Two"))


def test_multiplexed_streams_of_other_codecs_are_dropped() -> None:
    data = speex(1, "Song")
    first = data.index(b"OggS", 4)
    mixed = data[:first] + page(2, 9, 0, b"fishead\0") + page(2, 8, 0, b"\x80theora") + data[first:]
    body = read(mixed)
    assert body.container == "ogg-speex"
    assert {name for name, _ in body.blocks} >= {"unknown.ogg.skeleton", "unknown.ogg.stream"}
    assert stripped(mixed) == stripped(data)


def test_two_streams_of_known_codecs_side_by_side_are_kept() -> None:
    one, other = (re.split(b"(?=OggS)", speex(serial, "Song"))[1:] for serial in (7, 8))
    clean = stripped(b"".join(piece for pair in zip(one, other, strict=True) for piece in pair))
    assert [clean[at.start() + 14] for at in re.finditer(b"OggS", clean)] == [0, 1, 0, 0, 1, 1]


def test_a_comment_may_go_over_many_pages() -> None:
    packet = comment("title=" + "la " * 500)
    cut_at = 255 * 3
    data = page(2, 1, 0, SPEEX) + page(0, 1, 1, packet[:cut_at], open_end=True, granule=-1)
    data += page(1, 1, 2, packet[cut_at:]) + page(4, 1, 3, b"audio", granule=160)
    assert ("vorbis.title", "la " * 500) in read(data).tags
    assert stripped(data) == stripped(speex(1, "Song"))


def test_a_large_setup_header_is_paged_anew() -> None:
    """A page holds up to 255 segments of up to 255 bytes; the granule position where no packet ends is -1."""
    head = b"\x01vorbis" + bytes(22) + b"\x01"
    packets = b"\x03vorbis" + comment() + b"\x01", setup(245_000)
    pages = [page(2, 1, 0, head), page(0, 1, 1, packets[0])]
    for number, start in enumerate(range(0, len(packets[1]), 25_500)):
        piece, last = packets[1][start : start + 25_500], start + 25_500 >= len(packets[1])
        pages.append(page(bool(number), 1, 2 + number, piece, open_end=not last, granule=0 if last else -1))
    data = b"".join(pages) + page(4, 1, 2 + len(pages) - 2, b"\0audio")
    clean = stripped(data)
    starts = [at.start() for at in re.finditer(b"OggS", clean)]
    assert [clean[at + 26] for at in starts[:2]] == [1, 255]
    assert [clean[at + 5] for at in starts] == [2, 0, 1, 1, 4]
    assert [clean[at + 6 : at + 14] == b"\xff" * 8 for at in starts] == [False, False, True, False, False]
    assert stripped(clean) == clean
    assert dict(account(clean).parameters)["setup"] == hashlib.sha256(packets[1]).hexdigest()


def test_sound_on_a_page_of_headers_moves_to_one_of_its_own() -> None:
    """It has to begin on a new page, and some encoders do not heed that."""
    head, tags, rest = page(2, 2, 0, OPUS), b"OpusTags" + comment("title=Song"), page(4, 2, 3, b"audio", granule=1920)
    apart = head + page(0, 2, 1, tags) + page(0, 2, 2, b"audio", granule=960) + rest
    together = head + page(0, 2, 1, tags, b"audio", granule=960) + page(4, 2, 2, b"audio", granule=1920)
    assert stripped(together) == stripped(apart)
    assert ("vorbis.title", "Song") in read(together).tags
    assert account(together).parameters == account(apart).parameters
    odd = head + page(0, 2, 1, tags, b"audio", granule=1 << 40) + page(4, 2, 2, b"audio", granule=(1 << 40) + 960)
    assert stripped(odd) == stripped(apart)
    assert account(odd).bits == ("unknown.ogg.granule",)


def test_the_last_page_must_end_the_stream() -> None:
    whole = speex(1, "Song")
    last = whole.rindex(b"OggS")
    with pytest.raises(Unreadable, match="has no sound in it"):
        read(whole[:last])
    with pytest.raises(Unreadable, match="its last page does not say that the stream ends"):
        read(whole[:last] + page(0, 1, 2, b"audio"))
    for end in (last + 2, last + 10, last + 27, len(whole) - 1):
        with pytest.raises(Unreadable, match="its last page is not there in full"):
            read(whole[:end])


def test_bytes_between_pages_are_searched_for_text() -> None:
    whole = speex(1, "Song")
    last = whole.rindex(b"OggS")
    blocks = read(whole[:last] + b"\0stowaway\0" + whole[last:] + b"\1\2\3\4 glued on").blocks
    assert ("unknown.ogg-speex.unknown", "<binary> stowaway") in blocks
    assert ("unknown.ogg-speex.unknown", "<binary>  glued on") in blocks


WRONG = {
    "a page is missing": (page(4, 1, 3, b"audio"), "does not follow"),
    "a page is there twice": (page(0, 1, 2, b"audio") * 2, "does not follow"),
    "a packet goes on that did not begin": (page(5, 1, 2, b"audio"), "does not follow"),
    "a packet does not go on": (page(0, 1, 2, bytes(255), open_end=True) + page(4, 1, 3, b"audio"), "does not follow"),
    "pages after the last one": (page(4, 1, 2, b"audio") + page(4, 1, 3, b"audio"), "does not follow"),
    "two streams of one number": (page(2, 2, 0, SPEEX) * 2, "two of one number"),
    "a wrong checksum": (page(0, 1, 2, b"audio").replace(b"audio", b"radio") + page(4, 1, 3, b"x"), "does not follow"),
    "more than a header on the first page": (page(2, 2, 0, SPEEX, b"more"), "does not begin with one header"),
    "a short header": (page(2, 2, 0, SPEEX[:79]), "begins with no valid header"),
    "no Opus header": (page(2, 2, 0, b"OpusHead"), "begins with no valid header"),
    "another version of Opus": (page(2, 2, 0, b"OpusHead\x10" + bytes(10)), "begins with no valid header"),
    "no Vorbis header": (page(2, 2, 0, b"\x01vorbis"), "begins with no valid header"),
    "an Opus header of text": (page(2, 2, 0, b"OpusHead\1\1\0\0stow\0\0\0"), "begins with no valid header"),
    "a Vorbis header of text": (
        page(2, 2, 0, b"\x01vorbis" + bytes(4) + b"\1\x40\x1f\0\0" + b"stowawaytext" + b"\xb8\1"),
        "begins with no valid header",
    ),
    "a Speex header of text": (page(2, 2, 0, SPEEX[:52] + b"stow" + SPEEX[56:]), "begins with no valid header"),
    "no FLAC header": (page(2, 2, 0, b"\x7fFLAC" + bytes(46)), "begins with no valid header"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_fit_together_is_damage(what: str) -> None:
    more, why = WRONG[what]
    begun = speex(1, "Song")
    with pytest.raises(Unreadable, match=f"damaged: .*{why}"):
        read(begun[: begun.rindex(b"OggS")] + more)


def test_many_pages_of_wrong_checksum_end_soon() -> None:
    wrong = b"OggS\0" + bytes(21) + b"\xff" + b"\xff" * 255
    with pytest.raises(Unreadable, match="have a wrong checksum"):
        read(speex(1, "Song") + wrong * 3_000 + bytes(70_000))


def test_a_stream_of_no_known_codec_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="no Vorbis, Opus, Speex or FLAC stream"):
        read(page(2, 1, 0, b"\x80theora") + page(4, 1, 1, b"video"))


def test_a_wrong_second_packet_is_damage() -> None:
    with pytest.raises(Unreadable, match="no comment packet"):
        read(page(2, 1, 0, OPUS) + page(0, 1, 1, b"something") + page(4, 1, 2, b"audio"))


@pytest.mark.parametrize(
    ("pages", "positions", "right"),
    [
        ([(960, 960), (1920, 960), (2500, 960)], [960, 1920, 2500], [True] * 3),  # something is left out at the end
        ([(500, 960), (1460, 960), (2420, 960)], [500, 1460, 2420], [True] * 3),  # and at the start
        ([(960, 960), (1500, 960), (2880, 960)], [960, 1500, 2880], [True] * 3),  # an encoder miscounts
        ([(960, 960), (1 << 56, 960), (2880, 960)], [960, 1920, 2880], [True, False, True]),
        ([(1 << 56, 960), ((1 << 56) + 960, 960), ((1 << 56) + 1900, 960)], [960, 1920, 2860], [False, True, True]),
        ([(960, 960), (1920, 960), (1 << 56, 960)], [960, 1920, 2880], [True, True, False]),
        ([(960, 960), (1920, 960), (100, 960)], [960, 1920, 2880], [True, True, False]),
        ([(-1, 960), (959, 960), (1919, 960)], [960, 1920, 2880], [False, True, True]),
        ([(500, 960)], [500], [True]),
    ],
)
def test_granule_positions(pages: list[tuple[int, int]], positions: list[int], right: list[bool]) -> None:
    clock, last = ogg._Clock(), len(pages) - 1
    found = [clock.at(stated, samples, number == last) for number, (stated, samples) in enumerate(pages)]
    assert found == list(zip(positions, right, strict=True))
    assert clock.position == positions[-1]


def single_pages(stream: BinaryIO, start: int, end: int) -> Iterator[list[oggpages.Page]]:
    """The pages of a file, each alone."""
    return ([page] for run in oggpages.runs(stream, start, end) for page in run)


@pytest.mark.parametrize("name", hiding.BASES)
def test_how_much_sound_is_looked_at_together_makes_no_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base = places.base(name, hiding.BASES[name])
    for data in (base, *(place.data for place in hiding.places(name, base))):
        with monkeypatch.context() as patch:
            found = []
            for many in (0, 700, 1 << 18):
                patch.setattr(ogg, "_MANY", many)
                patch.setattr(ogg, "runs", oggpages.runs if many > 1_000 else single_pages)
                try:
                    found.append(account(data))
                except Unreadable as error:
                    found.append(str(error))
        assert found[1:] == found[:-1]


@pytest.mark.parametrize("serial", [0, 7])
def test_many_small_pages_take_little_memory(serial: int) -> None:
    count = 20_000
    pages = [page(2, serial, 0, SPEEX), page(0, serial, 1, comment())]
    for number in range(1, count + 1):
        flags = oggpages.LAST if number == count else 0
        pages.append(oggpages.head_of(flags, 160 * number, serial, 1 + number, b"\1", b"a") + b"a")
    data = b"".join(pages)
    tracemalloc.start()
    try:
        account(data)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(data)
    finally:
        tracemalloc.stop()
