"""Ogg: pages, chained and multiplexed streams."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from audio_samples import TITLE, entry

from leakscan.formats import ogg
from leakscan.model import Tags, Unreadable


def read(data: bytes) -> Tags:
    return next(iter(ogg.read(entry(data)))).body


def page(flags: int, serial: int, *packets: bytes, open_end: bool = False) -> bytes:
    lacing = b""
    for packet in packets:
        lacing += b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255])
    if open_end:
        lacing = lacing[:-1]
    head = b"OggS\0" + bytes([flags]) + bytes(8) + serial.to_bytes(4, "little") + bytes(8)
    return head + bytes([len(lacing)]) + lacing + b"".join(packets)


def comment(*fields: str) -> bytes:
    parts = [b"maker", *(field.encode() for field in fields)]
    sized = [len(part).to_bytes(4, "little") + part for part in parts]
    return sized[0] + (len(fields)).to_bytes(4, "little") + b"".join(sized[1:])


def speex(serial: int, title: str) -> bytes:
    pages = page(2, serial, b"Speex   1.2" + bytes(69)), page(0, serial, comment(f"title={title}"))
    return b"".join(pages) + page(4, serial, b"audio")


@pytest.mark.parametrize(
    ("name", "container"),
    [("vorbis.ogg", "ogg-vorbis"), ("opus.opus", "ogg-opus"), ("flac.oga", "ogg-flac")],
)
def test_codecs(audio: Mapping[str, Path], name: str, container: str) -> None:
    body = read(audio[name].read_bytes())
    assert body.container == container
    assert ("vorbis.title", TITLE) in body.tags


def test_speex() -> None:
    assert read(speex(1, "Song")) == Tags("ogg-speex", (("vorbis.vendor", "maker"), ("vorbis.title", "Song")))


def test_every_link_of_a_chain_is_read() -> None:
    tags = read(speex(1, "One") + speex(2, "Two") + speex(1, "Three")).tags
    assert [value for name, value in tags if name == "vorbis.title"] == ["One", "Two", "Three"]
    with pytest.raises(Unreadable, match="cut"):
        read(speex(1, "One") + speex(2, "Two")[:-33])


def test_multiplexed_streams_of_other_codecs_are_passed_over() -> None:
    data = speex(1, "Song")
    first = data.index(b"OggS", 4)
    data = data[:first] + page(2, 9, b"fishead\0") + data[first:]
    assert read(data).container == "ogg-speex"


def test_a_comment_may_go_over_many_pages() -> None:
    packet = comment("title=" + "la " * 500)
    cut_at = 255 * 3
    data = page(2, 1, b"Speex   ") + page(0, 1, packet[:cut_at], open_end=True)
    data += page(1, 1, packet[cut_at:]) + page(4, 1, b"audio")
    assert ("vorbis.title", "la " * 500) in read(data).tags


def test_the_last_page_must_end_the_stream() -> None:
    whole = speex(1, "Song")
    last = whole.rindex(b"OggS")
    with pytest.raises(Unreadable, match="its last page does not say that the stream ends"):
        read(whole[:last])
    for end in (last + 2, last + 10, last + 27, len(whole) - 1):
        with pytest.raises(Unreadable, match="its last page is not there in full"):
            read(whole[:end])


def test_bytes_between_pages_are_searched_for_text() -> None:
    whole = speex(1, "Song")
    last = whole.rindex(b"OggS")
    assert read(whole[:last] + b"\0stowaway\0" + whole[last:] + b"\1\2\3\4 glued on").tags[:2] == (
        ("file.other", "<binary> stowaway"),
        ("file.other", "<binary>  glued on"),
    )


def test_a_stream_of_no_known_codec_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="no Vorbis, Opus, Speex or FLAC stream"):
        read(page(2, 1, b"\x80theora") + page(4, 1, b"video"))


def test_a_wrong_second_packet_is_damage() -> None:
    with pytest.raises(Unreadable, match="no comment packet"):
        read(page(2, 1, b"OpusHead") + page(4, 1, b"something"))
