"""MP4: boxes, the places where tags lie, samples that are none, and what decoders need."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence

import pytest
from audio_samples import entry

from leakscan import ledgers
from leakscan.boxes import full, make
from leakscan.formats import mp4
from leakscan.model import Ledger, Tags, Unreadable

FTYP = make(b"ftyp", b"M4A \0\0\0\0")
SOUND = bytes(range(100, 200))
NAME = make(b"\xa9nam", make(b"data", struct.pack(">II", 1, 0) + b"Song"))
HANDLER = make(b"hdlr", bytes(8) + b"mdirappl" + bytes(9))
META = make(b"meta", bytes(4), HANDLER, make(b"ilst", NAME))


def numbers(*values: int) -> bytes:
    return struct.pack(f">{len(values)}I", *values)


def entry_of(kind: bytes = b"sowt", *boxes: bytes, more: bytes = b"") -> bytes:
    return make(kind, bytes(7), b"\1", bytes(8), b"\0\1\0\x10", bytes(4), numbers(8000 << 16), more, *boxes)


def trak(
    offsets: Sequence[int],
    *more: bytes,
    stsz: Sequence[int] = (0, 2, 60, 40),
    stsc: Sequence[int] = (1, 1, 1),
    stts: Sequence[int] = (2, 50),
    coding: bytes = b"",
    dref: bytes = full(b"url ", flags=1),
) -> bytes:
    """A track of 16-bit samples in two samples of 60 and 40 bytes."""
    stbl = make(
        b"stbl",
        full(b"stsd", numbers(1), coding or entry_of()),
        full(b"stts", numbers(len(stts) // 2, *stts)),
        full(b"stsc", numbers(len(stsc) // 3, *stsc)),
        full(b"stsz", numbers(*stsz)),
        full(b"stco", numbers(len(offsets), *offsets)),
    )
    minf = make(b"minf", full(b"smhd", bytes(4)), make(b"dinf", full(b"dref", numbers(1), dref)), stbl)
    mdhd = full(b"mdhd", numbers(0, 0, 8000, 100), b"\x55\xc4\0\0")
    mdia = make(b"mdia", mdhd, full(b"hdlr", bytes(4), b"soun", bytes(13)), minf)
    return make(b"trak", full(b"tkhd", numbers(0, 0, 1, 0, 100), bytes(60), flags=7), mdia, *more)


MVHD = full(b"mvhd", numbers(0, 0, 8000, 100), bytes(80))


def movie(*more: bytes, before: bytes = b"", track: bytes = b"", **tables: Sequence[int] | bytes) -> bytes:
    """A file whose samples lie behind `ftyp` and `before`."""
    start = len(FTYP + before) + 8
    made = track or trak((start, start + 60), **tables)  # type: ignore[arg-type]
    return FTYP + before + make(b"mdat", SOUND) + make(b"moov", MVHD, made, *more)


def read(data: bytes) -> Tags:
    return next(iter(mp4.read(entry(data)))).body


def account(data: bytes) -> Ledger:
    return mp4.account(io.BytesIO(data))


def strip(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


CLEAN = strip(movie())


@pytest.mark.parametrize(
    "more",
    [
        make(b"udta", META),
        META,
        make(b"udta", make(b"meta", HANDLER, make(b"ilst", NAME))),  # as QuickTime writes it
        make(b"udta", META, bytes(4)),  # a user data list may end in zeros
    ],
)
def test_an_item_list_is_read_wherever_it_lies(more: bytes) -> None:
    assert read(movie(more)).tags == (("mp4.©nam", "Song"),)
    assert strip(movie(more)) == CLEAN


def test_an_item_list_of_a_track_is_read() -> None:
    data = movie(track=trak((len(FTYP) + 8, len(FTYP) + 68), make(b"udta", META)))
    assert read(data).tags == (("mp4.©nam", "Song"),)
    assert strip(data) == CLEAN


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (movie(make(b"udta", make(b"zzzz", b"\0stowaway"))), ("tag.mp4.udta", "<binary> stowaway")),
        (movie(make(b"meta", bytes(4), b"stowaway")), ("unknown.mp4.meta", "<binary> stowaway")),
        (movie(before=make(b"free", b"stowaway")), ("stale.mp4.free", "<binary> stowaway")),
        (movie() + make(b"uuid", b"\1stowaway\1"), ("unknown.mp4.uuid", "<binary> stowaway")),
        (movie() + make(b"mdat", b"\1stowaway\1"), ("unknown.mp4.unknown", "<binary> stowaway")),
        (movie() + b"\1stowaway\1", ("unknown.mp4.unknown", "<binary> stowaway")),
    ],
)
def test_text_in_other_boxes_is_found(data: bytes, fact: tuple[str, str]) -> None:
    assert read(data).blocks == (fact,)
    assert strip(data) == CLEAN


@pytest.mark.parametrize(
    ("box", "tag"),
    [
        (make(b"\xa9ART", b"\0\x08\x15\xc7stowaway"), ("mp4.©ART", "stowaway")),
        (make(b"titl", bytes(4), b"\x15\xc7stowaway\0"), ("mp4.titl", "stowaway")),
        (make(b"\xa9swr", b"\0\x08\x15\xc7stowaway"), ("mp4.tool", "stowaway")),
        (make(b"name", b"stowaway"), ("mp4.name", "stowaway")),
    ],
)
def test_texts_in_user_data_are_tags(box: bytes, tag: tuple[str, str]) -> None:
    assert read(movie(make(b"udta", box))).tags == (tag,)


@pytest.mark.parametrize(
    "data",
    [
        FTYP + make(b"mdat", SOUND),
        movie()[:-1],
        movie() + struct.pack(">I4sQ", 1, b"mdat", 1 << 40) + bytes(50),
        movie() + struct.pack(">I4s", 4, b"free"),
        movie() + struct.pack(">I4sQ", 1, b"free", 8),
        movie(struct.pack(">I4s", 999, b"udta")),
    ],
)
def test_cut_files(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^audio/x\.bin: cut: "):
        read(data)


def test_sizes_of_64_bits_and_up_to_the_end() -> None:
    wide = struct.pack(">I4sQ", 1, b"mdat", 16 + len(SOUND)) + SOUND
    track = trak((len(FTYP) + 16, len(FTYP) + 76))
    assert strip(FTYP + wide + make(b"moov", MVHD, track)) == CLEAN
    for open_end in (struct.pack(">I4s", 0, b"mdat"), struct.pack(">I4s", 0, b"mdat") + SOUND):
        start = len(FTYP) + len(make(b"moov", MVHD, track)) + 8
        head = FTYP + make(b"moov", MVHD, trak((start, start + 60)))
        if len(open_end) == 8:
            with pytest.raises(Unreadable, match="where no samples are"):
                read(head + open_end)
        else:
            assert strip(head + open_end) == CLEAN


def test_boxes_without_end_are_refused() -> None:
    with pytest.raises(Unreadable, match="more than 200,000 boxes"):
        read(movie() + make(b"free") * 200_001)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (movie(track=trak((len(FTYP), len(FTYP) + 60))), "where no samples are"),  # in the header of mdat
        (movie(track=trak((len(FTYP) + 8, len(FTYP) + 70))), "where no samples are"),  # reaches into moov
        (movie(track=trak((len(FTYP) + 8, len(FTYP) + 60))), "serve two purposes"),
        (movie(stsz=(0, 3, 60, 20, 20)), "do not fit"),
        (movie(stsc=(1, 2, 1)), "do not fit"),
        (movie(stsc=(2, 1, 1)), "do not fit"),
        (movie(stsc=(1, 1, 2)), "a coding that its header does not describe"),
        (movie(stts=(1, 50)), "have no time"),
        (movie(stts=(1, 50, 1, int.from_bytes(b"text", "big"))), "played for longer than it can be"),
        (movie(stsz=(0, 1 << 31, 60)), "shorter than it says"),
        (movie(stsz=(60, 2)), "where no samples are"),
        (movie(make(b"moov", MVHD)) + make(b"moov", MVHD), "2 boxes moov"),
        (movie(coding=entry_of(b"enca")), "encrypted"),
        (movie(coding=entry_of(b"Zzzz")), "not supported"),
        (movie(coding=make(b"sowt", bytes(9))), "shorter than it has to be"),
        (movie(dref=full(b"url ", b"file:///stowaway\0")), "in another file"),
        (movie(track=make(b"trak", make(b"mdia", full(b"hdlr", bytes(4), b"vide", bytes(13))))), "no sound track"),
        (FTYP + make(b"moov", trak((40,))) + make(b"mdat", SOUND), "0 boxes mvhd"),
    ],
)
def test_what_is_not_so_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why) as caught:
        read(data)
    assert "stowaway" not in str(caught.value)
    assert "Zzzz" not in str(caught.value)


def test_samples_of_another_track_go() -> None:
    """Its bytes lie between those of the sound, and the sound stays in its order."""
    start = len(FTYP) + 8
    mdat = make(b"mdat", SOUND[60:], b"\1stowaway\1", SOUND[:60])
    data = FTYP + mdat + make(b"moov", MVHD, trak((start + 50, start)))
    assert ("unknown.mp4.unknown", "<binary> stowaway") in read(data).blocks
    clean = strip(data)
    assert clean.endswith(SOUND[60:] + SOUND[:60])
    assert clean.index(b"stco") > 0
    assert [text for name, text in account(clean).parameters if name == "samples"] == ["2"]


def test_two_sound_tracks_stay() -> None:
    start = len(FTYP) + 8
    one, other = trak((start, start + 60)), trak((start + 100, start + 160))
    data = (
        FTYP
        + make(b"mdat", SOUND, SOUND)
        + make(b"moov", MVHD, one, other.replace(numbers(0, 0, 1), numbers(0, 0, 7), 1))
    )
    clean = strip(data)
    assert clean.endswith(SOUND + SOUND)
    assert clean.count(b"trak") == 2
    assert [name for name, _ in account(clean).parameters].count("samples") == 2


def test_old_quicktime_samples_of_one_byte_are_frames() -> None:
    """Where all samples last 1 and their size is said to be 1, a sample is one value of each channel."""
    start = len(FTYP) + 8
    track = trak((start,), stsz=(1, 50), stsc=(1, 50, 1), stts=(50, 1))
    clean = strip(movie(track=track))
    assert clean.endswith(SOUND)
    assert strip(movie(make(b"zzzz", b"x"), track=track)) == clean
    with pytest.raises(Unreadable, match="where no samples are"):
        read(movie(track=trak((start,), stsz=(1, 51), stsc=(1, 51, 1), stts=(51, 1))))


def test_the_shortest_tables_are_written() -> None:
    tables = {"stsc": (1, 1, 1, 2, 1, 1), "stts": (1, 50, 1, 50)}
    assert strip(movie(**tables)) == CLEAN


def test_the_last_chunk_may_promise_more() -> None:
    start = len(FTYP) + 8
    data = movie(track=trak((start,), stsc=(1, 3, 1)))
    assert strip(data).endswith(SOUND)
    assert strip(strip(data)) == strip(data)


def test_one_sample_entry_may_be_of_another_form() -> None:
    """Those of QuickTime are longer; in a table of version 1 the standard's are not."""
    long = entry_of(more=numbers(1, 2, 2, 2))
    coding = b"".join((long[:16], b"\0\1", long[18:]))
    clean = strip(movie(coding=coding))
    assert numbers(1, 2, 2, 2) in clean
    assert strip(clean) == clean


@pytest.mark.parametrize(
    "head", [make(b"mdat", bytes(9)), make(b"wide"), make(b"moov"), struct.pack(">I4s", 1, b"mdat")]
)
def test_quicktime_without_ftyp_is_claimed(head: bytes) -> None:
    assert mp4.sniff(head)


def test_quicktime_without_ftyp_gets_one() -> None:
    data = make(b"mdat", SOUND) + make(b"moov", MVHD, trak((8, 68)))
    assert strip(data)[8:12] == b"qt  "
    assert strip(strip(data)) == strip(data)


def described(*fields: bytes, kind: bytes = b"sowt", version: bytes = b"\0\0", boxes: bytes = b"") -> bytes:
    """A file with a sample entry of these fields: channels and bits, sample rate, and more of QuickTime."""
    front = bytes(7) + b"\1" + version + bytes(6)
    sizes, rate, *more = fields
    return movie(coding=make(kind, front, sizes, bytes(4), rate, *more, boxes))


MONO, RATE = b"\0\1\0\x10", numbers(8000 << 16)
LPCM = struct.pack(">IdIIIIII", 72, 8000.0, 1, 0x7F000000, 16, 12, 2, 1)


@pytest.mark.parametrize(
    "data",
    [
        described(b"st\0\x10", RATE),
        described(b"\0\1ow", RATE),
        described(MONO, b"stow"),
        described(MONO, RATE, b"stowawaystowaway", version=b"\0\1"),
        described(MONO, RATE, LPCM[:4] + b"stowaway" + LPCM[12:], kind=b"lpcm", version=b"\0\2"),
        described(MONO, RATE, LPCM[:-8] + b"stowaway", kind=b"lpcm", version=b"\0\2"),
        described(MONO, RATE, boxes=make(b"dac3", b"sto")),
        described(MONO, RATE, boxes=make(b"dac3", b"sto"), kind=b"ac-3"),
        described(MONO, RATE, boxes=make(b"dec3", b"stowawa"), kind=b"ec-3"),
        described(MONO, RATE, boxes=make(b"enda", b"st")),
        described(MONO, RATE, boxes=make(b"pcmC", b"stowaw")),
        described(MONO, RATE, boxes=make(b"srat", b"stowaway")),
        described(MONO, RATE, boxes=make(b"frma", b"stow")),
        described(MONO, RATE, boxes=make(b"chnl", b"stowawaystowaw")),
    ],
)
def test_text_in_place_of_numbers_is_refused(data: bytes) -> None:
    with pytest.raises(
        Unreadable, match=r"its sound is described in a way that cannot be|is none of sound in this coding"
    ):
        account(data)


def test_numbers_that_can_be_are_kept() -> None:
    for data in (
        described(MONO, numbers(0x56EE8BA3)),
        described(MONO, RATE, numbers(1, 2, 2, 2), version=b"\0\1"),
        described(MONO, RATE, LPCM, kind=b"lpcm", version=b"\0\2"),
        described(MONO, RATE, boxes=make(b"enda", b"\0\1") + make(b"frma", b"sowt")),
    ):
        assert account(data).extras == account(movie()).extras


def test_a_clock_that_ticks_too_fast_is_refused() -> None:
    data = movie()
    with pytest.raises(Unreadable, match="its header has a timescale of 1,937,010,551"):
        account(data.replace(MVHD, full(b"mvhd", bytes(8), b"stow", numbers(100), bytes(80))))


@pytest.mark.parametrize("head", [b"the moov was full", b"\0\0\0\4moov", make(b"ftyp", b"heic"), make(b"abcd")])
def test_other_first_boxes_are_not(head: bytes) -> None:
    assert not mp4.sniff(head)


def fragment(
    *, sizes: Sequence[int] = (60, 40), track: int = 1, flags: int = 0x20000, head: bytes = b"", time: int = 0
) -> bytes:
    """A fragment whose samples last 50 each, with its samples."""
    rows = [number for size in sizes for number in (50, size)]

    def made(offset: int) -> bytes:
        run = full(b"trun", numbers(len(sizes), offset, *rows), flags=0x301)
        tfhd = full(b"tfhd", numbers(track), head, flags=flags)
        return make(b"moof", full(b"mfhd", numbers(1)), make(b"traf", tfhd, full(b"tfdt", numbers(time)), run))

    return made(len(made(0)) + 8) + make(b"mdat", SOUND)


def pieces(*fragments: bytes, entry: int = 1) -> bytes:
    empty = trak((), stsz=(0, 0), stsc=(), stts=())
    mvex = make(b"mvex", full(b"trex", numbers(1, entry, 0, 0, 0)))
    return FTYP + make(b"moov", MVHD, empty, mvex) + b"".join(fragments)


def test_fragments_become_one_piece() -> None:
    one = strip(movie(track=trak((len(FTYP) + 8,), stsc=(1, 2, 1))))
    assert strip(pieces(fragment())) == one
    assert strip(pieces(fragment(), make(b"mfra", b"stowaway"))) == one
    both = account(pieces(fragment(), fragment(time=100))).parameters
    assert ("samples", "4") in both
    assert ("length", "200") in both
    assert account(strip(pieces(fragment(), fragment(time=100)))).parameters == both


def told(data: bytes, beside: bytes) -> set[str]:
    """The extras of a file that another one has not."""
    mine, others = ({f"{part.kind}.{part.name}" for part in account(one).extras} for one in (data, beside))
    return mine - others


def edited(*entries: tuple[int, int]) -> bytes:
    """A file with an edit list of these durations and times."""
    rows = [number for duration, time in entries for number in (duration, time & 0xFFFFFFFF, 1 << 16)]
    edts = make(b"edts", full(b"elst", numbers(len(entries), *rows)))
    return movie(track=trak((len(FTYP) + 8, len(FTYP) + 68), edts))


def test_edits_last_as_long_as_there_is_sound() -> None:
    text = int.from_bytes(b"text", "big")
    assert told(edited((text, 0)), movie()) == {"unknown.mp4.elst"}
    assert b"text" not in strip(edited((text, 0)))
    assert strip(edited((text, 0))) == strip(strip(edited((text, 0))))
    assert told(edited((50, 0)), movie()) == set()
    with pytest.raises(Unreadable, match="its sound begins later than it can"):
        account(edited((text, -1), (50, 0)))


def test_numbers_in_the_header_that_are_not_so_are_extras() -> None:
    for data, name in (
        (movie(stts=(9, 50)), "stts"),
        (movie().replace(b"stsd" + bytes(4) + numbers(1), b"stsd" + bytes(4) + b"stow"), "count"),
        (movie().replace(b"stsd" + bytes(4), b"stsd\0sto"), "version"),
        (movie().replace(b"stsc" + bytes(4), b"stscstow"), "version"),
        (movie().replace(b"tkhd\0\0\0\7", b"tkhd\0\0\0\x0f"), ""),
        (movie().replace(b"tkhd\0\0\0\7", b"tkhd\0\0\0\x17"), "version"),
    ):
        assert data != movie()
        assert told(data, movie()) == ({f"unknown.mp4.{name}"} if name else set())
        assert strip(data) == strip(movie())


def test_numbers_of_fragments_that_tell_something_are_extras() -> None:
    assert told(pieces(fragment(time=0xF0000000)), pieces(fragment())) == {"date.mp4.time"}
    assert told(pieces(fragment(flags=0x20020, head=numbers(0x01010000))), pieces(fragment())) == set()
    assert told(pieces(fragment(flags=0x20020, head=numbers(0xC0))), pieces(fragment())) == set()  # by GStreamer
    for head in (b"stow", numbers(0xC1)):
        assert told(pieces(fragment(flags=0x20020, head=head)), pieces(fragment())) == {"unknown.mp4.defaults"}
    assert told(pieces(fragment(flags=0x20008, head=b"stow")), pieces(fragment())) == {"unknown.mp4.defaults"}
    assert told(pieces(fragment(flags=0x420000)), pieces(fragment())) == {"unknown.mp4.defaults"}
    assert told(pieces(fragment(), fragment(time=100)), pieces(fragment())) == set()
    other = fragment(time=100).replace(b"mfhd" + bytes(4) + numbers(1), b"mfhd" + bytes(4) + numbers(7))
    assert told(pieces(fragment(), other), pieces(fragment())) == {"unknown.mp4.number"}


def test_a_gap_between_fragments_makes_a_sample_longer() -> None:
    assert ("length", "230") in account(pieces(fragment(), fragment(time=130))).parameters
    assert ("length", "200") in account(pieces(fragment(time=5000), fragment(time=5100))).parameters


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (pieces(fragment(), fragment(time=99)), "overlap in time"),
        (pieces(fragment(sizes=(60, 41))), "where no samples are"),
        (pieces(fragment(sizes=(1 << 31, 1 << 31))), "more samples than there are"),
        (pieces(fragment(), entry=2), "do not fit its header"),
        (pieces(fragment(flags=0x20002, head=numbers(9))), "do not fit its header"),
        (
            movie(track=trak((len(FTYP) + 8,), stsz=(100, 1), stts=(1, 100))) + fragment(time=100),
            "do not fit its header",
        ),
        (pieces(fragment(flags=1, head=bytes(8))), "where no samples are"),
    ],
)
def test_fragments_that_are_not_so_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read(data)
