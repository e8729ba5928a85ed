"""What every audio format has to hold, a new one included."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import mutagen.apev2
import mutagen.id3
import pytest
from audio_samples import ARTIST, SAMPLES, TITLE, entry
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscan.discover import members
from leakscan.model import Entry, Item, Place, Tags, Unreadable
from leakscan.text import is_audio_name

FORMATS = {name: module for name, module in members("formats").items() if getattr(module, "AUDIO", False)}
NAMES = [(kind, name) for kind, samples in SAMPLES.items() for name in samples]
KIND = {name: kind for kind, name in NAMES}
SAFE = re.compile(r"[a-z0-9]+\.[\w©().]+")


def claims(data: bytes) -> list[str]:
    return [name for name, module in FORMATS.items() if module.sniff(data[:4096])]


def read(module: ModuleType, data: bytes) -> Tags:
    items = list(module.read(entry(data)))
    assert items == [Item(Place("audio/x.bin"), "audio", items[0].body)]
    assert isinstance(items[0].body, Tags)
    return items[0].body


def outcome(module: ModuleType, data: bytes) -> bool:
    """Is the file read, or refused in one line with the path first?  Any other error comes through."""
    try:
        return bool(read(module, data).container)
    except Unreadable as error:
        return re.fullmatch(r"audio/x\.bin: [^\n]+; [^\n]+", str(error)) is not None


def test_every_audio_format_has_samples() -> None:
    assert set(SAMPLES) == set(FORMATS)


LOADING = """
import os, sys
from leakscan.discover import members
formats = members("formats")
for argument in sys.argv[1:]:
    name, _, path = argument.partition(":")
    if not os.fork():
        with open(path, "rb") as stream:
            formats[name].account(stream)
        print(name * ("numpy" in sys.modules), flush=True)
        os._exit(0)
    os.wait()
"""


def test_what_accounting_loads_is_known_before(audio: Mapping[str, Path]) -> None:
    """So that it is loaded once, and no worker loads it anew; some formats need it for longer files only."""
    samples = [f"{kind}:{audio[name]}" for kind, name in NAMES]
    done = subprocess.run([sys.executable, "-c", LOADING, *samples], capture_output=True, text=True, check=True)
    loading = {name for name, module in FORMATS.items() if getattr(module, "LOADS", ())}
    assert {"flac", "ogg"} < set(done.stdout.split()) <= loading < set(FORMATS)
    assert {one for name in loading for one in FORMATS[name].LOADS} == {"fastcrc", "numpy"}


def test_extensions_are_suffixes_of_one_format_only() -> None:
    suffixes = [suffix for module in FORMATS.values() for suffix in module.NAMES]
    assert sorted(suffixes) == sorted(set(suffixes))
    assert all(re.fullmatch(r"\.[a-z0-9]+", suffix) for suffix in suffixes)


def test_what_is_called_like_audio_is_audio_to_records_too() -> None:
    suffixes = [suffix for module in FORMATS.values() for suffix in module.NAMES]
    assert [suffix for suffix in suffixes if not is_audio_name(f"a{suffix}")] == []


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_a_whole_file_is_claimed_by_its_format_alone_and_gives_its_tags(
    audio: Mapping[str, Path], kind: str, name: str
) -> None:
    data = audio[name].read_bytes()
    assert claims(data) == [kind]
    tags = read(FORMATS[kind], data).tags
    text = " ".join(value for _, value in tags)
    assert TITLE in text
    assert ARTIST in text
    assert all(SAFE.fullmatch(tag) and "anary" not in tag for tag, _ in tags)
    assert len(tags) == len(set(tags))
    assert tags == read(FORMATS[kind], data).tags


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_a_file_on_disk_reads_like_a_member(audio: Mapping[str, Path], kind: str, name: str) -> None:
    path = audio[name]
    (item,) = FORMATS[kind].read(Entry("a/b.c", path, path.stat().st_size))
    assert item == Item(Place("a/b.c"), "audio", read(FORMATS[kind], path.read_bytes()))


@pytest.mark.parametrize(("kind", "name"), NAMES)
@pytest.mark.parametrize("left", [0.5, 0.9, -8, -130])
def test_a_cut_file_is_unreadable(audio: Mapping[str, Path], kind: str, name: str, left: float) -> None:
    data = audio[name].read_bytes()
    part = data[: int(len(data) * left) if left > 0 else int(left)]
    assert claims(part) == [kind]
    with pytest.raises(Unreadable, match=r"^audio/x\.bin: cut: [^\n]+; [^\n]+$") as caught:
        read(FORMATS[kind], part)
    assert "anary" not in str(caught.value)


def id3v1() -> bytes:
    return b"TAG" + b"Glued Title".ljust(30, b"\0") + b"\0" * 94 + b"\x0c"


def ape() -> bytes:
    stream = io.BytesIO()
    tag = mutagen.apev2.APEv2()
    tag["Title"] = "Glued Title"
    tag.save(stream)
    return stream.getvalue()


def lyrics3() -> bytes:
    body = b"LYRICSBEGININD00002" + b"10" + b"ETT00011Glued Title"
    return body + b"%06dLYRICS200" % len(body)


def appended_id3() -> bytes:
    frame = mutagen.id3.TIT2(encoding=3, text="Glued Title")
    body = b"TIT2" + b"\0\0\0" + bytes([len(frame.text[0]) + 1]) + b"\0\0\x03Glued Title"
    size = bytes([0, 0, 0, len(body)])
    return b"ID3\x04\0\x10" + size + body + b"3DI\x04\0\x10" + size


GLUED = {"id3v1": id3v1, "ape": ape, "lyrics3": lyrics3, "id3 with footer": appended_id3}


@pytest.mark.parametrize(("kind", "name"), NAMES)
@pytest.mark.parametrize("first", GLUED)
@pytest.mark.parametrize("second", [None, "id3v1", "ape"])
def test_tags_glued_to_the_end_are_read_and_cut_nothing(
    audio: Mapping[str, Path], kind: str, name: str, first: str, second: str | None
) -> None:
    data = audio[name].read_bytes() + GLUED[first]()
    if second:
        data += GLUED[second]().replace(b"Glued", b"Outer")
    text = " ".join(value for _, value in read(FORMATS[kind], data).tags)
    assert "Glued Title" in text
    assert ("Outer Title" in text) == bool(second)
    assert TITLE in text


@pytest.mark.parametrize("glued", GLUED)
def test_a_glued_tag_hides_no_cut(audio: Mapping[str, Path], glued: str) -> None:
    for kind, name in NAMES:
        with pytest.raises(Unreadable):
            read(FORMATS[kind], audio[name].read_bytes()[:-140] + GLUED[glued]())


@pytest.mark.parametrize("name", ["plain.flac", "vorbis.ogg", "id3.aac", "cbr.mp3"])
def test_id3v2_at_the_start_does_not_hide_the_format(audio: Mapping[str, Path], name: str) -> None:
    kind = KIND[name]
    data = appended_id3()[:-10].replace(b"ID3\x04\0\x10", b"ID3\x04\0\0") * 2 + audio[name].read_bytes()
    assert claims(data) == [kind]
    assert "Glued Title" in [value for _, value in read(FORMATS[kind], data).tags]


def test_an_id3v2_tag_longer_than_the_head_is_taken_for_mp3(audio: Mapping[str, Path]) -> None:
    tag = b"ID3\x04\0\0\0\0\x40\0" + bytes(0x2000)
    data = tag + audio["cbr.mp3"].read_bytes()
    assert claims(data) == ["mpeg"]
    assert read(FORMATS["mpeg"], data).container == "mp3"
    with pytest.raises(Unreadable, match="a FLAC stream behind an ID3v2 tag"):
        read(FORMATS["mpeg"], tag + audio["plain.flac"].read_bytes())


TEXTS = [
    "",
    "hello, this is text\n" * 50,
    '{"id": 1, "audio": "x.mp3"}\n',
    "id,audio\n1,x.mp3\n",
    "#EXTM3U\nhttp://x/y\n",
]
OTHERS = [
    *(text.encode(code) for text in TEXTS for code in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")),
    b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n",
    b"\x89PNG\r\n\x1a\n" + bytes(100),
    b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(5000),
    b"\xff\xd8\xff\xe1\0\x10Exif\0\0",
    b"PK\x03\x04" + bytes(200),
    b"PAR1" + bytes(200),
    b"\0\0\0\x20ftypavif\0\0\0\0avifmif1",
    b"RIFF\x24\0\0\0WEBPVP8 ",
    b"RIFF\x24\0\0\0AVI LIST",
    b"FORM\0\0\0\x10ILBM",
    bytes(5000),
    b"\xff" * 5000,
    b"\xff\xfb\x90\x64" + bytes(5000),  # one MPEG header alone
    b"\xff\xf1\x50\x40\x20\xff\xfc" + bytes(5000),  # one ADTS header alone
    b"ID3",
    b"TAG" + bytes(125),
]


@pytest.mark.parametrize("data", OTHERS, ids=range(len(OTHERS)))
def test_what_is_no_audio_is_not_claimed(data: bytes) -> None:
    assert claims(data) == []


@given(st.binary(max_size=64), st.sampled_from(["utf-16", "utf-16-le", "utf-16-be", "utf-8", "latin-1"]), st.text())
def test_no_text_is_claimed(prefix: bytes, code: str, text: str) -> None:
    assert claims(text.encode(code, "replace")) == []


@pytest.mark.parametrize("data", [*OTHERS, b"ID3\x04\0\0\0\0\0\0" * 20_000, b"TAG" * 200_000, b"OggS\0" * 100_000])
@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_no_audio_is_unreadable(kind: str, data: bytes) -> None:
    with pytest.raises(Unreadable):
        read(FORMATS[kind], data)


@pytest.mark.parametrize(
    ("name", "fill"),
    [
        ("cbr.mp3", b"ID3"),
        ("cbr.mp3", b"\0"),
        ("id3.aac", b"\xff\xf1\x50\x40\x01\x1f"),
        ("vorbis.ogg", b"OggS"),
    ],
)
def test_a_megabyte_of_rubbish_ends_soon(audio: Mapping[str, Path], name: str, fill: bytes) -> None:
    """The limit on bytes outside frames holds: without it a large file of these would take minutes."""
    data = audio[name].read_bytes() + fill * ((2 << 20) // len(fill)) + b"end"
    with pytest.raises(Unreadable, match="belong to no"):
        read(FORMATS[KIND[name]], data)


mutations = st.lists(
    st.one_of(
        st.tuples(st.just("cut"), st.floats(0, 1), st.just(b"")),
        st.tuples(st.just("flip"), st.floats(0, 1), st.binary(min_size=1, max_size=1)),
        st.tuples(st.just("head"), st.floats(0, 0.02), st.binary(min_size=1, max_size=4)),
        st.tuples(st.just("tail"), st.just(1.0), st.binary(max_size=200)),
        st.tuples(st.just("into"), st.floats(0, 1), st.binary(max_size=40)),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize(("kind", "name"), NAMES)
@settings(max_examples=40)
@given(changes=mutations)
def test_damage_is_unreadable_or_harmless(
    audio: Mapping[str, Path], kind: str, name: str, changes: list[tuple[str, float, bytes]]
) -> None:
    data = bytearray(audio[name].read_bytes())
    for change, share, value in changes:
        offset = int(share * max(0, len(data) - 1))
        if change == "cut":
            del data[offset:]
        elif change == "tail":
            data += value
        elif change == "into":
            data[offset:offset] = value
        else:
            data[offset : offset + len(value)] = value
    claims(bytes(data))
    assert outcome(FORMATS[kind], bytes(data))
