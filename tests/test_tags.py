"""Tags as mutagen reads them: their names, their values, and what becomes of hostile ones."""

from __future__ import annotations

import base64
import io
import json
import struct
import zlib
from pathlib import Path

import mutagen.apev2
import mutagen.flac
import mutagen.id3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutagen._vorbis import VComment

from leakscan import rulebook, scanning, tags
from leakscan.config import Config
from leakscan.model import Item, Place, Private, Release, Tags, Unreadable
from leakscan.tagreaders import KEYS, READERS, SWOLLEN, _squashed, parse
from leakscan.tags import FOREIGN, TAG_LIMIT, binary_text, read_tags, text_runs
from leakscan.workers import Died, Fate

KINDS = sorted({*FOREIGN, *tags._PLAIN})


def read(data: bytes, kind: str) -> list[tuple[str, str]]:
    return list(read_tags(io.BytesIO(data), kind))


def id3(*frames: mutagen.id3.Frame, version: int = 4) -> bytes:
    tag = mutagen.id3.ID3()
    for frame in frames:
        tag.add(frame)
    stream = io.BytesIO()
    tag.save(stream, v2_version=version, padding=lambda info: 0)
    return stream.getvalue()


def raw_id3(name: bytes, body: bytes, version: int = 4) -> bytes:
    if version == 2:
        frame = name + len(body).to_bytes(3, "big") + body
    else:
        frame = name + bytes([0, 0, 0, len(body), 0, 0]) + body
    return b"ID3" + bytes([version, 0, 0, 0, 0, 0, len(frame)]) + frame


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (mutagen.id3.TIT2(3, ["One", "Two"]), [("id3.TIT2", "One"), ("id3.TIT2", "Two")]),
        (mutagen.id3.TBPM(3, ["120"]), [("id3.TBPM", "120")]),
        (mutagen.id3.TCON(3, ["Jazz"]), [("id3.TCON", "Jazz")]),
        (mutagen.id3.TDRC(3, ["2001-02"]), [("id3.TDRC", "2001-02")]),
        (mutagen.id3.TXXX(3, "My key", ["v"]), [("id3.TXXX", "My key"), ("id3.TXXX", "v")]),
        (mutagen.id3.TXXX(3, "REPLAYGAIN_TRACK_GAIN", ["-1 dB"]), [("id3.replaygain_track_gain", "-1 dB")]),
        (mutagen.id3.TXXX(3, "MusicBrainz Album Id", ["0-1"]), [("id3.musicbrainz_albumid", "0-1")]),
        (mutagen.id3.TXXX(3, "initialkey", ["4A"]), [("id3.initialkey", "4A")]),
        (mutagen.id3.COMM(3, "eng", "iTunNORM", ["00"]), [("id3.itunnorm", "00")]),
        (mutagen.id3.COMM(3, "eng", "who", ["said"]), [("id3.COMM", "who"), ("id3.COMM", "said")]),
        (mutagen.id3.WXXX(3, "shop", "http://a"), [("id3.WXXX", "shop"), ("id3.WXXX", "http://a")]),
        (mutagen.id3.WOAR("http://b"), [("id3.WOAR", "http://b")]),
        (mutagen.id3.USLT(3, "eng", "", "la la"), [("id3.USLT", "la la")]),
        (mutagen.id3.SYLT(3, "eng", 2, 1, "", [("la", 5)]), [("id3.SYLT", "la")]),
        (mutagen.id3.SYLT(3, "eng", 2, 1, "", [("two", 5), ("lines", 9)]), [("id3.SYLT", "two lines")]),
        (
            mutagen.id3.SYLT(3, "eng", 2, 1, "", [("Tea", 5), ("spoons", 7), (" fly", 9)]),
            [("id3.SYLT", "Teaspoons fly")],
        ),
        (mutagen.id3.TCON(3, ["(17)"]), [("id3.TCON", "(17)"), ("id3.TCON", "Rock")]),
        (mutagen.id3.TIPL(3, [["mix", "Jo"]]), [("id3.TIPL", "mix"), ("id3.TIPL", "Jo")]),
        (mutagen.id3.UFID("http://o", b"0123-45"), [("id3.UFID", "http://o"), ("id3.UFID", "<binary> 0123-45")]),
        (mutagen.id3.PRIV("me@x", b"\1secrets\1"), [("id3.PRIV", "me@x"), ("id3.PRIV", "<binary> secrets")]),
        (
            mutagen.id3.APIC(3, "image/png", 3, "cover of it", b"\x89PNG"),
            [("id3.APIC", "image/png"), ("id3.APIC", "cover of it"), ("id3.APIC", "<binary>")],
        ),
        (
            mutagen.id3.CHAP("c1", 12345, 1, 2, 3, [mutagen.id3.TIT2(3, ["Chapter"])]),
            [("id3.CHAP", "c1"), ("id3.TIT2", "Chapter"), ("id3.chapter_time", "12.345 s")],
        ),
        (mutagen.id3.POPM("a@b.c", 200), [("id3.POPM", "a@b.c")]),
    ],
)
def test_id3_frames(frame: mutagen.id3.Frame, expected: list[tuple[str, str]]) -> None:
    assert read(id3(frame), "id3") == expected


def test_older_id3_frames_have_the_names_of_newer_ones() -> None:
    assert read(raw_id3(b"TT2", b"\0Old", 2), "id3") == [("id3.TIT2", "Old")]
    assert read(raw_id3(b"TYER", b"\x001999", 3), "id3") == [("id3.TYER", "1999")]


def test_an_unknown_frame_is_a_value() -> None:
    assert read(raw_id3(b"XZZZ", b"hidden text"), "id3") == [
        ("id3.other", "XZZZ"),
        ("id3.other", "<binary> hidden text"),
    ]


def test_id3v1() -> None:
    tag = b"TAG" + b"Song".ljust(30) + b"Band".ljust(30) + bytes(30) + b"1999" + b"Hi".ljust(28) + b"\0\5\x11"
    assert {
        ("id3.TIT2", "Song"), ("id3.TPE1", "Band"), ("id3.TDRC", "1999"), ("id3.COMM", "Hi"), ("id3.TRCK", "5"),
    } <= set(read(tag, "id3v1"))  # fmt: skip


def test_ape() -> None:
    tag = mutagen.apev2.APEv2()
    tag["Title"], tag["MP3GAIN_MINMAX"], tag["My Shelf"] = "Song", "1,2", "left"
    tag["Cover Art (Front)"] = mutagen.apev2.APEValue(b"a picture.png\0\x89PNG", mutagen.apev2.BINARY)
    stream = io.BytesIO()
    tag.save(stream)
    assert sorted(read(stream.getvalue(), "ape")) == [
        ("ape.cover_art_(front)", "<binary> a picture.png"),
        ("ape.mp3gain_minmax", "1,2"),
        ("ape.other", "My Shelf"),
        ("ape.other", "left"),
        ("ape.title", "Song"),
    ]


def vorbis(*pairs: tuple[str, str], vendor: str = "maker") -> bytes:
    comment = VComment()
    comment.vendor = vendor
    comment.extend(pairs)
    return comment.write(framing=False)


def test_vorbis() -> None:
    pairs = (("TITLE", "Song"), ("title", "Lied"), ("MUSICBRAINZ_TRACKID", "0-1"), ("shelf", "left"))
    tail = [
        ("vorbis.title", "Song"), ("vorbis.title", "Lied"), ("vorbis.musicbrainz_trackid", "0-1"),
        ("vorbis.other", "shelf"), ("vorbis.other", "left"),
    ]  # fmt: skip
    assert read(vorbis(*pairs), "vorbis") == [("vorbis.vendor", "maker"), *tail]
    assert read(vorbis(*pairs), "flac") == [("flac.vendor", "maker"), *tail]


def test_what_flac_says_of_speakers_is_no_text() -> None:
    mask = "WAVEFORMATEXTENSIBLE_CHANNEL_MASK"
    assert read(vorbis((mask, "0x003F")), "vorbis")[1:] == [("vorbis.channel_layout", "0x003F")]
    assert ("vorbis.other", "0x1 left") in read(vorbis((mask, "0x1 left")), "vorbis")


def test_text_after_the_last_vorbis_field_is_found() -> None:
    assert read(vorbis() + b"\1\0stowaway\0", "vorbis") == [("vorbis.vendor", "maker"), ("vorbis.other", "stowaway")]


def test_pictures_in_vorbis_comments_are_unpacked() -> None:
    picture = mutagen.flac.Picture()
    picture.desc, picture.data = "cover of the album", b"\x89PNG"
    packed = base64.b64encode(picture.write()).decode()
    assert read(vorbis(("metadata_block_picture", packed)), "vorbis")[1:] == [
        ("vorbis.metadata_block_picture", "<binary> cover of the album")
    ]
    assert read(vorbis(("metadata_block_picture", "no base64")), "vorbis")[1][1] == "no base64"


def test_flac_pictures_and_cue_sheets() -> None:
    picture = mutagen.flac.Picture()
    picture.desc, picture.data = "cover", b"\x89PNG\0tEXtAuthor"
    assert read(picture.write(), "flac-picture") == [("flac.picture", "cover"), ("flac.picture", "<binary> tEXtAuthor")]
    sheet = mutagen.flac.CueSheet(None)
    sheet.media_catalog_number = b"1234567890123"
    sheet.tracks.append(mutagen.flac.CueSheetTrack(1, 0, isrc=b"DEABC1234567"))
    assert read(sheet.write(), "flac-cuesheet") == [
        ("flac.cuesheet", "1234567890123"),
        ("flac.cuesheet", "DEABC1234567"),
    ]
    sheet.tracks += [mutagen.flac.CueSheetTrack(2, 44100), mutagen.flac.CueSheetTrack(170, 99999)]
    assert read(sheet.write(), "flac-cuesheet")[2:] == [("flac.cue_time", "44100 samples")]


def test_moments_and_measures_of_dj_programs() -> None:
    grid = b"\1\0" + struct.pack(">Iff", 1, 0.5, 174.03) + b"\0"
    assert ("id3.bpm", "174.03") in read(id3(mutagen.id3.GEOB(0, "a/b", "", "Serato BeatGrid", grid)), "id3")
    tree = b"TMPB" + struct.pack("<IIf", 4, 0, 96.5)
    assert ("id3.bpm", "96.50") in read(id3(mutagen.id3.PRIV("TRAKTOR4", tree)), "id3")
    assert "id3.bpm" not in dict(read(id3(mutagen.id3.PRIV("OTHER", tree)), "id3"))
    field = base64.b64encode(b"application/octet-stream\0\0Serato BeatGrid\0" + grid).decode().rstrip("=")
    assert ("vorbis.bpm", "174.03") in read(vorbis(("SERATO_BEATGRID", field)), "vorbis")
    name = box(b"mean", bytes(4) + b"com.serato.dj") + box(b"name", bytes(4) + b"beatgrid")
    freeform = box(b"----", name + box(b"data", struct.pack(">II", 1, 0) + field.encode()))
    assert ("mp4.bpm", "174.03") in read(freeform, "ilst")


def test_chapters_in_vorbis_comments_have_times() -> None:
    pairs = read(vorbis(("CHAPTER001", "00:01:02.500"), ("CHAPTER001NAME", "Bridge"), ("chapter002", "soon")), "vorbis")
    assert [value for name, value in pairs if name == "vorbis.chapter_time"] == ["62.500 s"]
    assert ("vorbis.other", "Bridge") in pairs


def test_chunks_of_samplers() -> None:
    assert read(struct.pack("<IHHfIHHf", 2, 69, 0, 0, 8, 4, 3, 120.0), "acid") == [
        ("riff.bpm", "120.00"), ("riff.key", "A"), ("riff.time_signature", "3/4"),
    ]  # fmt: skip
    assert read(struct.pack("<I6I", 1, 1, 0, 0, 0, 0, 22050), "cue") == [("riff.cue_time", "22050 samples")]


def box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body) + 8) + kind + body


def item(kind: bytes, type_: int, *values: bytes) -> bytes:
    return box(kind, b"".join(box(b"data", struct.pack(">II", type_, 0) + value) for value in values))


def free(name: bytes, value: bytes, type_: int = 1) -> bytes:
    mean = box(b"mean", bytes(4) + b"com.apple.iTunes")
    data = box(b"data", struct.pack(">II", type_, 0) + value)
    return box(b"----", mean + box(b"name", bytes(4) + name) + data)


def test_ilst() -> None:
    items = [
        item(b"\xa9nam", 1, b"Song", b"Lied"),
        item(b"tmpo", 21, b"\0\x78"),
        item(b"trkn", 0, b"\0\0\0\3\0\x0c\0\0"),
        item(b"covr", 14, b"\x89PNG\0tEXtAuthor"),
        item(b"zzzz", 1, b"strange"),
        free(b"iTunSMPB", b" 00 01"),
        free(b"MusicBrainz Track Id", b"0-1"),
        free(b"shelf", b"left"),
        free(b"blob", b"\xff\xfe\0binary", 0),
    ]
    assert read(b"".join(items), "ilst") == [
        ("mp4.©nam", "Song"), ("mp4.©nam", "Lied"), ("mp4.tmpo", "120"), ("mp4.trkn", "3/12"),
        ("mp4.covr", "<binary> tEXtAuthor"), ("mp4.other", "zzzz"), ("mp4.other", "strange"),
        ("mp4.itunsmpb", " 00 01"), ("mp4.musicbrainz_trackid", "0-1"),
        ("mp4.other", "shelf"), ("mp4.other", "left"), ("mp4.other", "blob"), ("mp4.other", "<binary> binary"),
    ]  # fmt: skip


EXIF = b"\xff\xd8\xff\xe1\0\x40Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x3b\0\x02\0\0\0\x14\0\0\0\x1aThe Hobnail Quartet\0"


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("id3", id3(mutagen.id3.APIC(3, "image/jpeg", 3, "", EXIF))),
        ("ilst", struct.pack(">I4sI4sII", len(EXIF) + 24, b"covr", len(EXIF) + 16, b"data", 13, 0) + EXIF),
    ],
)
def test_what_a_picture_says_of_itself_is_held_against_the_catalogue(kind: str, data: bytes) -> None:
    catalogue = {"R1": {"artist": "The Hobnail Quartet", "title": "Crooked Teaspoons"}}
    item = Item(Place("R1.mp3"), "audio", Tags("mp3", read_tags(io.BytesIO(data), kind)))
    release, private = Release(Path("/nonexistent")), Private(catalogue=catalogue)
    found = scanning.judge([item], release, Config(), private, rulebook.load(), scanning.Options()).findings
    assert any(one.rule.startswith("catalogue") and one.place.name in ("id3.APIC", "mp4.covr") for one in found)


def test_tags_without_a_reader_in_mutagen_are_searched_for_text() -> None:
    for kind, name in (("lyrics3", "lyrics3.text"), ("tag+", "id3.other"), ("junk", "file.other")):
        assert read(b"\0\1first of all\0short\0", kind) == [(name, "<binary> first of all")]
        assert read(bytes(99), kind) == []


def test_text_in_binary_values() -> None:
    wide = "wide text".encode("utf-16-le") + b"\xff" + "big end".encode("utf-16-be")
    assert text_runs(b"\0abcdef\0abcde\0\1" + wide) == ["abcdef", "wide text", "big end"]
    assert binary_text(b"\0" * (64 << 10) + b"too far away") == "<binary>"


def test_only_the_given_bytes_are_read() -> None:
    data = b"before" + vorbis(("title", "Song")) + b"after the end"
    pairs = read_tags(io.BytesIO(data), "vorbis", 6, len(data) - 13)
    assert pairs == (("vorbis.vendor", "maker"), ("vorbis.title", "Song"))


def test_no_pair_comes_twice() -> None:
    assert read(vorbis(("title", "A"), ("title", "A")), "vorbis")[1:] == [("vorbis.title", "A")]


def test_keys_are_distinct_however_they_are_spelled() -> None:
    assert len({_squashed(key) for key in KEYS}) == len(KEYS)
    assert all(key == key.lower() and " " not in key for key in KEYS)


def test_a_key_is_a_name_only_if_it_is_a_standard_one() -> None:
    for pair in read(vorbis(("jane doe", "x")), "vorbis") + read(id3(mutagen.id3.TXXX(3, "jane doe", ["x"])), "id3"):
        assert "jane" not in pair[0]


class Endless(io.RawIOBase):
    """More bytes than any tag may have, without holding them."""

    def seek(self, offset: int, whence: int = 0) -> int:
        return offset

    def read(self, size: int = -1) -> bytes:
        assert size == TAG_LIMIT + 1
        return bytes(size)


def test_a_tag_larger_than_the_limit_is_refused() -> None:
    with pytest.raises(Unreadable, match=r"^its id3 tag is larger than 67,108,864 bytes; remove the tag$"):
        read_tags(Endless(), "id3")  # type: ignore[arg-type]


def packed(text: bytes, length: int) -> bytes:
    """An ID3v2.4 tag with one compressed frame."""
    body = bytes([length >> 21 & 127, length >> 14 & 127, length >> 7 & 127, length & 127]) + zlib.compress(text)
    size = bytes([0, 0, len(body) >> 7, len(body) & 127])
    frame = b"TIT2" + size + b"\0\x09" + body
    return b"ID3\4\0\0" + bytes([0, 0, len(frame) >> 7, len(frame) & 127]) + frame


def test_compressed_frames_are_unpacked_within_bounds() -> None:
    assert read(packed(b"\3Song", 5), "id3") == [("id3.TIT2", "Song")]
    swollen = packed(b"\3" + b"x" * (1 << 20), 1 << 20)
    assert len(swollen) * SWOLLEN < 1 << 20
    with pytest.raises(Unreadable, match=r"^its id3 tag unpacks to far more than it is; remove the tag$"):
        read(swollen, "id3")


def test_compressed_frames_that_fill_the_memory_are_unreadable() -> None:
    packer = zlib.compressobj(9, wbits=-15)
    body = b"\x78\xda" + 1024 * (packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH))
    size = len(body) + 4
    flags = b"\0\x09" + bytes([4, 0, 0, 0])
    frame = b"TIT2" + bytes([size >> 21 & 127, size >> 14 & 127, size >> 7 & 127, size & 127]) + flags + body
    whole = len(frame)
    data = b"ID3\4\0\0" + bytes([whole >> 21 & 127, whole >> 14 & 127, whole >> 7 & 127, whole & 127]) + frame
    with pytest.raises(Unreadable, match=r"^its id3 tag makes its reader run out of memory; remove the tag$"):
        read(data, "id3")
    assert read(packed(b"\3Song", 5), "id3") == [("id3.TIT2", "Song")]


@pytest.mark.parametrize("fate", ["crash", "hang"])
def test_a_tag_that_its_reader_does_not_survive_is_unreadable(monkeypatch: pytest.MonkeyPatch, fate: Fate) -> None:
    class Doomed:
        def call(self, data: bytes) -> bytes:
            raise Died(fate)

    monkeypatch.setattr(tags, "_PARSER", Doomed())
    with pytest.raises(Unreadable, match=rf"^its ape tag makes its reader {fate}; remove the tag$"):
        read(b"", "ape")
    assert read(b"words without end", "junk")  # needs no reader


def test_each_kind_has_one_reader() -> None:
    assert set(READERS) == FOREIGN
    assert not FOREIGN & set(tags._PLAIN)
    with pytest.raises(KeyError):
        read(b"", "no kind")


@pytest.mark.parametrize("error", [RecursionError, ValueError, IndexError, ZeroDivisionError, KeyError])
def test_whatever_mutagen_raises_is_told_without_its_text(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise error("secret text")

    monkeypatch.setattr(mutagen.id3, "ID3", fail)
    assert json.loads(parse(b"id3\0")) == {"error": f"cannot be parsed ({error.__name__})"}


def test_an_unknown_version_of_id3_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="ID3UnsupportedVersionError"):
        read(raw_id3(b"TIT2", b"\3Song", 5), "id3")


WHOLE = {
    "id3": id3(mutagen.id3.TIT2(3, ["Song"]), mutagen.id3.APIC(3, "image/png", 3, "c", b"\x89PNG")),
    "id3v1": b"TAG" + b"Song".ljust(125),
    "vorbis": vorbis(("title", "Song"), ("shelf", "left")),
    "flac-picture": mutagen.flac.Picture().write(),
    "ilst": item(b"\xa9nam", 1, b"Song") + free(b"shelf", b"left"),
}


@given(st.sampled_from(KINDS), st.sampled_from(sorted(WHOLE)), st.integers(0, 400), st.binary(max_size=40))
def test_hostile_tags_are_unreadable_or_strings(kind: str, whole: str, offset: int, change: bytes) -> None:
    data = WHOLE[whole][:offset] + change + WHOLE[whole][offset + len(change) :]
    try:
        pairs = read(data, kind)
    except Unreadable:
        pairs = []
    assert all(isinstance(part, str) and part for pair in pairs for part in pair)
