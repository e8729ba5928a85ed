"""Byte helpers: tags glued to the ends, chunks, frame walks."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan.blocks import (
    CHUNK_LIMIT,
    JUNK_LIMIT,
    Bits,
    Chunk,
    Frame,
    Peeled,
    Span,
    after_id3,
    at,
    chunks,
    frame_parts,
    glued,
    id3_size,
    peel,
    size_of,
    walk_frames,
)
from leakscan.model import Part, Unreadable

ID3 = b"ID3\x03\0\0\0\0\0\x05hello"
FOOTED = b"ID3\x04\0\x10\0\0\0\x05hello3DI\x04\0\x10\0\0\0\x05"
V1 = b"TAG" + bytes(125)
LYRICS1 = b"LYRICSBEGINla la laLYRICSEND"
LYRICS2 = b"LYRICSBEGININD0000210" + b"000021LYRICS200"


def ape_block(flags: int, size: int = 5) -> bytes:
    """A header or footer of an APEv2 tag with `size` bytes of items."""
    return b"APETAGEX" + b"".join(number.to_bytes(4, "little") for number in (2000, 32 + size, 0, flags)) + bytes(8)


APE = ape_block(0xA0000000) + b"items" + ape_block(0x80000000)
ITEM = b"\4\0\0\0\0\0\0\0Title\0four"
APE_BARE = ITEM + ape_block(0, len(ITEM))
MUSICMATCH = b"18273645  " + bytes(300) + b"Brava Software Inc.".ljust(32) + b"3.00".ljust(16)
PLAIN = b"ID3\x03\0\0\0\0\0\x05" + b"plain"


def test_the_size_of_an_id3v2_tag_counts_header_and_footer() -> None:
    assert id3_size(ID3) == len(ID3)
    assert id3_size(FOOTED) == len(FOOTED)
    assert id3_size(b"ID3\x03\0\0\0\0\x01\0") == 138
    for none in (b"", b"ID3", b"ID3\xff\0\0\0\0\0\x05", b"ID3\x03\0\0\x80\0\0\x05", b"TAG" + bytes(20)):
        assert id3_size(none) == 0
    assert after_id3(ID3 + FOOTED + b"fLaC") == len(ID3 + FOOTED)


@pytest.mark.parametrize(
    ("tag", "kind"),
    [
        (V1, "id3v1"),
        (APE, "ape"),
        (APE_BARE, "ape"),
        (LYRICS1, "lyrics3"),
        (LYRICS2, "lyrics3"),
        (FOOTED, "id3"),
        (b"TAG+" + bytes(223), "tag+"),
        (MUSICMATCH, "junk"),
        (PLAIN, "id3"),
        (PLAIN.replace(b"ID3\3", b"ID3\5"), "junk"),  # no reader knows version 2.5
        (b"LYRICSBEGIN" + b"la" * 9 + b"999999LYRICS200", "lyrics3"),  # a wrong size
        (ape_block(0xA0000000) + b"items" + ape_block(0x80000000, 4), "ape"),
        (ape_block(0xA0000000) + b"items" + ape_block(0x80000000, 37), "ape"),  # the header counted
    ],
)
def test_tags_are_peeled_off_the_end(tag: bytes, kind: str) -> None:
    data = b"body of the file" + tag
    assert peel(io.BytesIO(data)) == Peeled(0, 16, (Span(kind, 16, len(data)),))


BACK = [V1, APE, APE_BARE, LYRICS2, FOOTED, LYRICS1, MUSICMATCH, PLAIN, b"TAG+" + bytes(223), V1]


@pytest.mark.parametrize("zeros", [0, 1, 200])
@pytest.mark.parametrize("turn", range(len(BACK)))
def test_tags_are_peeled_in_any_order_and_number(turn: int, zeros: int) -> None:
    front, body, back = [ID3, APE, FOOTED], b"body" * 99, BACK[turn:] + BACK[:turn]
    data = b"".join([*front, body, *(tag + bytes(zeros) for tag in back)])
    peeled = peel(io.BytesIO(data))
    assert data[peeled.start : peeled.end] == body
    assert [data[span.start : span.end] for span in peeled.tags] == [*front, *back]


def test_zeros_without_a_tag_before_them_stay() -> None:
    data = b"body" * 99 + bytes(300)
    assert peel(io.BytesIO(data)) == Peeled(0, len(data), ())


def test_the_extension_of_id3v1_is_peeled_before_it_only() -> None:
    extension = b"EXT" + bytes(125)
    assert peel(io.BytesIO(b"body" + extension + V1)).end == 4
    assert peel(io.BytesIO(b"body" + extension + APE)).end == 132


def test_a_short_ape_tag_is_not_taken_for_id3v1() -> None:
    items = b"\x33\0\0\0\0\0\0\0Title\0" + b"x" * 53
    tag = ape_block(0xA0000000, len(items)) + items + ape_block(0x80000000, len(items))
    assert len(tag) == 131  # so that the TAG of its header lies where an ID3v1 tag would begin
    assert peel(io.BytesIO(b"body" + tag)).tags == (Span("ape", 4, 135),)


def test_glued_tags_become_parts() -> None:
    data = ID3 + b"body" + V1
    assert list(glued("x", peel(io.BytesIO(data)))) == [
        Part("tag", "file.id3", 0, 15, reader="id3"),
        Part("tag", "file.id3v1", 19, 147, reader="id3v1"),
    ]


@pytest.mark.parametrize(
    "tail",
    [
        b"APETAGEX\xd0\x07\0\0\xff\xff\xff\x7f" + bytes(16),  # larger than the file
        b"APETAGEX\xd0\x07\0\0\x03\0\0\0" + bytes(16),  # smaller than its own footer
        b"999999LYRICS200",
        b"LYRICSEND",
        b"3DI\x04\0\0\0\0\0\x05",
        b"TAG" + bytes(124),
        b"no item" + ape_block(0, 7),
        b"18273645" + b"Brava Software",
    ],
)
def test_what_only_ends_like_a_tag_stays(tail: bytes) -> None:
    data = b"body" * 9 + tail
    assert peel(io.BytesIO(data)) == Peeled(0, len(data), ())


def test_an_id3v2_tag_beyond_the_end_is_a_cut() -> None:
    with pytest.raises(Unreadable, match=r"^cut: its ID3v2 tag needs 15 bytes, the file has 14; "):
        peel(io.BytesIO(ID3[:-1]))


def test_too_many_tags_are_refused() -> None:
    with pytest.raises(Unreadable, match="more than 10,000 tags"):
        peel(io.BytesIO(b"ID3\x03\0\0\0\0\0\0" * 10_002))


@given(st.binary(max_size=300), st.lists(st.sampled_from([ID3, V1, APE, FOOTED, LYRICS1, LYRICS2]), max_size=4))
def test_peeling_never_leaves_the_file(data: bytes, tags: list[bytes]) -> None:
    data += b"".join(tags)
    peeled = peel(io.BytesIO(b"x" + data))
    assert 0 <= peeled.start <= peeled.end <= len(data) + 1
    assert all(0 <= span.start < span.end <= len(data) + 1 for span in peeled.tags)


def test_reading_stops_at_the_end() -> None:
    stream = io.BytesIO(b"0123456789")
    assert size_of(stream) == 10
    assert at(stream, 8, 5) == b"89"
    assert at(stream, 20, 5) == at(stream, 2, -1) == b""


def test_chunks_are_padded_to_even_and_the_last_pad_may_be_missing() -> None:
    data = b"aaaa\3\0\0\0xyz\0bbbb\1\0\0\0x"
    found = list(chunks(io.BytesIO(data), 0, len(data), "little"))
    assert found == [Chunk(b"aaaa", 8, 11), Chunk(b"bbbb", 20, 21)]


def test_a_chunk_beyond_the_end_is_a_cut() -> None:
    with pytest.raises(Unreadable, match=r"^cut: its chunk aaaa at byte 0 needs 11 bytes, 10 are there; "):
        list(chunks(io.BytesIO(b"aaaa\0\0\0\3xy"), 0, 10, "big"))


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
def test_samples_of_open_size_go_on_to_the_end(size: int) -> None:
    data = b"data" + size.to_bytes(4, "little") + b"samples"
    assert list(chunks(io.BytesIO(data), 0, 15, "little", (0, 0xFFFFFFFF))) == [Chunk(b"data", 8, 15)]


def test_what_begins_no_chunk_comes_without_an_id() -> None:
    data = b"aaaa\0\0\0\0\xff\xfejunk and more"
    assert list(chunks(io.BytesIO(data), 0, len(data), "big"))[-1] == Chunk(b"", 8, len(data))


def test_too_many_chunks_are_refused() -> None:
    data = b"aaaa\0\0\0\0" * (CHUNK_LIMIT + 1)
    with pytest.raises(Unreadable, match="more than 100,000 chunks"):
        list(chunks(io.BytesIO(data), 0, len(data), "big"))


SYNC = re.compile(rb"F|ID3")


def parse(head: bytes) -> Frame | None:
    """A toy frame: `F`, a length, a kind."""
    return Frame(head[1], head[2]) if len(head) == 3 and head[0] == 0x46 and head[1] >= 3 else None


def frame(length: int, kind: int = 1) -> bytes:
    return bytes([0x46, length, kind]) + bytes(length - 3)


def test_frames_are_found_again_after_tags_and_junk() -> None:
    parts = [b"some junk", frame(5), frame(9), ID3, frame(7), b"more Fjunk", frame(8), frame(6), V1, frame(6)]
    data = b"".join(parts)
    walk = walk_frames(data, 0, 3, SYNC, parse)
    assert [data[start:end] for start, end in walk.frames] == [part for part in parts if part[0] == 0x46]
    assert [data[span.start : span.end] for span in walk.tags] == [ID3, V1]
    assert walk.partial is None


def test_a_tag_whose_size_reaches_into_a_frame_hides_no_frame() -> None:
    data = frame(5) * 2 + b"ID3\x03\0\0\0\0\0\x07" + frame(9) * 3
    walk = walk_frames(data, 0, 3, SYNC, parse)
    assert walk.frames == [(0, 5), (5, 10), (20, 29), (29, 38), (38, 47)]
    assert walk.tags == ()


def test_a_frame_unlike_its_neighbours_is_none() -> None:
    """A tag may confirm it where it stands; once that is gone, the walk would not take it again."""
    data = frame(5) * 2 + frame(7, 2) + ID3 + frame(6) * 2
    walk = walk_frames(data, 0, 3, SYNC, parse)
    assert walk.frames == [(0, 5), (5, 10), (32, 38), (38, 44)]
    clean = b"".join(data[start:end] for start, end in walk.frames)
    assert len(walk_frames(clean, 0, 3, SYNC, parse).frames) == 4


def test_bits_are_read_and_replaced() -> None:
    source = Bits(b"\xa5\x0f\xff")
    assert (source.take(3), source.peek(6), source.take(6)) == (5, 10, 10)
    source.put(0, 4)
    source.align()
    assert (source.position, source.number) == (16, 0xA507FF)
    source.put(0, 9)  # not there
    assert (source.position, source.number, source.take(5)) == (25, 0xA507FF, 0)


def test_frames_that_follow_each_other_are_one_part() -> None:
    data, starts, ends = b"aabb-ccdd", (0, 2, 5, 7), (2, 4, 7, 9)
    first, second = Part("payload", "x.frames", 0, 4), Part("payload", "x.frames", 5, 9)
    assert list(frame_parts("x.frames", data, starts, ends, None)) == [first, second]
    clean = bytearray(b"aabb-ccDD")
    assert list(frame_parts("x.frames", data, starts, ends, clean)) == [first, second._replace(clean=b"ccDD")]
    dropped = [(0, 1), (6, 7), (7, 8)]
    made = [first._replace(clean=b"abb"), second._replace(clean=b"cD")]
    assert list(frame_parts("x.frames", data, starts, ends, clean, dropped)) == made


def test_the_last_frame_may_be_partial() -> None:
    walk = walk_frames(frame(5) * 3 + frame(9)[:6], 0, 3, SYNC, parse)
    assert (len(walk.frames), walk.partial) == (3, Span("frame", 15, 24))


def test_too_much_between_frames_is_refused() -> None:
    def walk(junk: int) -> int:
        return len(walk_frames(frame(5) * 2 + b"x" * junk + frame(5) * 2, 0, 3, SYNC, parse).frames)

    assert walk(JUNK_LIMIT) == 4
    with pytest.raises(Unreadable, match=r"more than 1,048,576 bytes before byte [0-9,]+ belong to no frame"):
        walk(JUNK_LIMIT + 1)


def test_too_many_gaps_are_refused() -> None:
    with pytest.raises(Unreadable, match="more than 10,000 gaps"):
        walk_frames((frame(5) * 2 + b"x") * 10_002, 0, 3, SYNC, parse)
