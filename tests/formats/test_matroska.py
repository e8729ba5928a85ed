"""Matroska: elements, blocks, tags and what decoders need."""

from __future__ import annotations

import gc
import io
import struct
import weakref
import zlib

import pytest
from audio_samples import entry

from leakscan import clusters, elements, ledgers
from leakscan.clusters import blocks
from leakscan.ebml import head, make, unsigned
from leakscan.formats import matroska
from leakscan.model import Ledger, Tags, Unreadable

EBML, SEGMENT, INFO, TRACKS, CLUSTER, CUES = 0x1A45DFA3, 0x18538067, 0x1549A966, 0x1654AE6B, 0x1F43B675, 0x1C53BB6B
NO_SIZE = b"\x01" + b"\xff" * 7
HEAD = make(EBML, make(0x4282, b"matroska"))
ALAC = bytes.fromhex("00001000 0010280a0e01 0000") + bytes(12)
FRAME = b"\x77\x91\xf5\xe2\x80\xd3"


def block(data: bytes = FRAME, track: int = 1, flags: int = 0x80, element: int = 0xA3) -> bytes:
    return make(element, bytes([0x80 | track, 0, 0, flags]), data)


def track(number: int = 1, kind: int = 2, codec: bytes = b"A_PCM/INT/LIT", *more: bytes) -> bytes:
    return make(0xAE, unsigned(0xD7, number), unsigned(0x83, kind), make(0x86, codec), *more)


def cluster(*blocks: bytes, time: int = 0) -> bytes:
    return make(CLUSTER, unsigned(0xE7, time), *blocks)


def file(*more: bytes, entries: bytes = track(), sound: bytes = cluster(block(), block())) -> bytes:
    return HEAD + make(SEGMENT, make(INFO), make(TRACKS, entries), sound, *more)


def read(data: bytes) -> Tags:
    body = next(iter(matroska.read(entry(data)))).body
    assert isinstance(body, Tags)
    return body


def account(data: bytes) -> Ledger:
    return matroska.account(io.BytesIO(data))


def strip(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


CLEAN = strip(file())


def payload(data: bytes) -> bytes:
    return b"".join(ledgers.payload_bytes(io.BytesIO(data), account(data)))


def simple_tag(name: bytes, value: bytes) -> bytes:
    return make(0x67C8, make(0x45A3, name), make(0x4487, value))


def test_tags_are_read_by_name() -> None:
    tags = make(0x1254C367, make(0x7373, make(0x63C0), simple_tag(b"ARTIST", b"Who"), simple_tag(b"Stowaway", b"What")))
    data = HEAD + make(
        SEGMENT,
        make(INFO, make(0x7BA9, b"Song"), make(0x5741, b"x 1.0")),
        make(TRACKS, track()),
        cluster(block()),
        tags,
    )
    assert read(data).tags == (
        ("matroska.title", "Song"),
        ("matroska.encoder", "x 1.0"),
        ("matroska.artist", "Who"),
        ("matroska.other", "Stowaway"),
        ("matroska.other", "What"),
    )


def tagged(*tags: tuple[bytes, bytes]) -> Tags:
    return read(file(make(0x1254C367, make(0x7373, *(simple_tag(*tag) for tag in tags)))))


@pytest.mark.parametrize(
    ("name", "value", "block"),
    [
        (b"BPS", b"32487", "encoder.matroska.statistics"),
        (b"BITSPS", b"64000\0", "encoder.matroska.statistics"),
        (b"DURATION", b"00:00:27.006502572\0\0", "encoder.matroska.statistics"),
        (b"_STATISTICS_TAGS", b"BPS DURATION NUMBER_OF_FRAMES NUMBER_OF_BYTES", "encoder.matroska.statistics"),
        (b"_STATISTICS_WRITING_DATE_UTC", b"2026-11-30 19:21:48", "date.matroska.date"),
    ],
)
def test_what_muxers_count_is_no_tag(name: bytes, value: bytes, block: str) -> None:
    assert tagged((name, value)).tags == ()
    assert [one for one, _ in tagged((name, value)).blocks] == [block]
    other = "duration" if name == b"DURATION" else "other"
    assert tagged((name, b"stowaway" + value)).tags == ((f"matroska.{other}", "stowaway" + value.decode().strip("\0")),)


def test_who_counted_is_told_like_an_encoder() -> None:
    assert tagged((b"_STATISTICS_WRITING_APP", b"mkvmerge v74")).tags == (("matroska.encoder", "mkvmerge v74"),)


def test_what_gstreamer_leaves_is_a_trace_of_it() -> None:
    entry = b"\1" + bytes(6) + b"\x12\x53\xab\x84\x12\x54\xc3\x67\x53\xac\x88" + b"\xff" * 8
    for made in (file(make(0xEC, entry)), file(entries=track(1, 2, b"A_PCM/INT/LIT", make(0x536E, b"Audio\0")))):
        assert [name.partition(".")[0] for name, _ in read(made).blocks] == ["encoder"]
        assert read(made).tags == ()
    for body in (entry[:-1] + b"q", entry + b"q", entry[1:]):
        assert [name for name, _ in read(file(make(0xEC, body))).blocks] == ["stale.matroska.void"]
    named = file(entries=track(1, 2, b"A_PCM/INT/LIT", make(0x536E, b"Audio 2")))
    assert read(named).tags == (("matroska.name", "Audio 2"),)


@pytest.mark.parametrize(
    ("duration", "told"), [(0.02, False), (299.4, False), (299.98, False), (300.0, False), (298.99, True)]
)
def test_the_time_of_the_last_block_may_be_rounded_up(duration: float, told: bool) -> None:
    sound = cluster(block()) + cluster(block(), time=300 if duration > 1 else 0)
    info = make(INFO, make(0x4489, struct.pack(">d", duration)))
    data = HEAD + make(SEGMENT, info, make(TRACKS, track()), sound)
    assert [name for name, _ in read(data).blocks] == ["unknown.matroska.duration"] * told
    assert account(strip(data)).extras == ()


def test_streamed_files_become_whole_ones() -> None:
    """Neither the segment nor its clusters say how long they are."""
    open_cluster = CLUSTER.to_bytes(4, "big") + NO_SIZE + unsigned(0xE7, 0)
    sound = open_cluster + block() + open_cluster.replace(b"\xe7\x81\0", b"\xe7\x81\7") + block()
    streamed = HEAD + SEGMENT.to_bytes(4, "big") + NO_SIZE + make(INFO) + make(TRACKS, track()) + sound
    whole = file(sound=cluster(block()) + cluster(block(), time=7))
    assert strip(streamed) == strip(whole)
    assert strip(streamed + b"\1\2stowaway") == strip(whole)
    with pytest.raises(Unreadable, match="cut: an element"):
        read(streamed[:-1])


@pytest.mark.parametrize(
    ("sound", "bits"),
    [
        (cluster(block(), make(0xEC, bytes(9)), block()), ()),
        (cluster(block(flags=0x80 | 0x70), block()), ("unknown.matroska.flags",)),
        (cluster(block(flags=0), block(flags=0x81)), ("unknown.matroska.flags",)),
        (cluster(block(flags=0), block(flags=0)), ("encoder.matroska.flags",)),
        (cluster(block(flags=0), block()), ("unknown.matroska.flags",)),
        (
            CLUSTER.to_bytes(4, "big")
            + b"\x08\0\0\0\x1b"
            + unsigned(0xE7, 0)
            + b"\xa3\x40\x0a"
            + block()[2:]
            + block(),
            (),
        ),
        (make(CLUSTER, b"\xe7\x84\0\0\0\0", make(0xA7, b"\7"), make(0xAB, b"\7"), block(), block()), ()),
        (cluster(block(), block()) + cluster(), ()),
    ],
)
def test_clusters_and_blocks_have_one_form(sound: bytes, bits: tuple[str, ...]) -> None:
    if sound[4:5] == b"\x08":
        sound = sound.replace(b"\x08\0\0\0\x1b", b"\x08\0\0\0" + bytes([len(sound) - 9]))
    assert strip(file(sound=sound)) == CLEAN
    assert account(file(sound=sound)).bits == bits


@pytest.mark.parametrize(("flags", "bits"), [(0, ("encoder.matroska.flags",)), (0x80, ("unknown.matroska.flags",))])
def test_flags_of_blocks_in_groups_are_none(flags: int, bits: tuple[str, ...]) -> None:
    group = make(0xA0, block(flags=flags, element=0xA1))
    assert account(file(sound=cluster(block(flags=0), group))).bits == bits


def test_groups_keep_what_players_need() -> None:
    inside = block(element=0xA1, flags=0), make(0x9B, b"\0\7"), make(0x75A2, b"\xff\xfe\x17\xb8")  # 125 us at 8 kHz
    additions = make(0x75A1, make(0xA6, make(0xA5, b"stowaway")))
    clean = strip(file(sound=cluster(make(0xA0, *inside, make(0xFB, b"\0")))))
    assert strip(file(sound=cluster(make(0xA0, *inside, additions)))) == clean
    assert clean.endswith(make(0xA0, block(element=0xA1, flags=0), make(0x9B, b"\7"), make(0x75A2, b"\xfe\x17\xb8")))
    assert account(file(sound=cluster(make(0xA0, *inside)))).parameters == account(clean).parameters
    without = file(sound=cluster(make(0xA0, *inside[:2])))
    assert account(without).parameters != account(clean).parameters


def group(*more: bytes, flags: int = 0, data: bytes = FRAME, number: int = 1) -> bytes:
    return make(0xA0, block(data, number, flags, 0xA1), *more)


OPUS = b"OpusHead\1\1\0\0\x80\xbb\0\0\0\0\0"
MP3 = b"\xff\xfb\x10\xc4" + bytes(100)  # of 32 kbit/s at 44,100 Hz

SHAPES = [
    block(MP3),
    group(data=MP3 + b"stowaway"),
    block(),
    block(bytes(200)),
    block(bytes(20_000)),
    block(b""),
    block(track=2),
    block(flags=0),
    block(b"\1\x82" + FRAME, flags=0x86),
    b"\xa3\x40\x0a" + block()[2:],  # a size that could be shorter
    group(),
    group(data=bytes(20_000)),
    group(data=b""),
    group(flags=0x80),
    group(number=2),
    group(unsigned(0x9B, 0)),
    group(unsigned(0x9B, 300)),
    group(unsigned(0x9B, (1 << 64) - 1)),
    group(make(0x9B, b"\0\1")),
    group(make(0x9B, b"")),
    group(make(0x75A2, b"\0")),
    group(unsigned(0xFB, 1)),
    make(0xA0, unsigned(0x9B, 1), block(element=0xA1)),
    b"\xa0\x40" + bytes([len(group()) - 2]) + group()[2:],
    make(0xEC, bytes(5)),
    make(0xBF, bytes(4)),
]


@pytest.mark.parametrize("window", [30, 100, matroska.WINDOW, None])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_quick_way_through_blocks_is_the_long_one(
    monkeypatch: pytest.MonkeyPatch, shape: bytes, window: int | None
) -> None:
    """In windows, as files are read that are large or have too many blocks, and in files held whole."""
    if window:
        monkeypatch.setattr(elements, "_WHOLE", 0 if window > 30 else 1 << 25)
        monkeypatch.setattr(clusters, "_SMALL", window)
        monkeypatch.setattr(matroska, "WINDOW", window)
    codecs = {b"A_PCM/INT/LIT": b"", b"A_AAC": b"\x11\x90", b"A_OPUS": OPUS, b"A_MPEG/L3": b""}
    for codec, private in codecs.items():
        frames = FRAME, MP3, b"\xc0sound", b"\x0b\x41\2sound\0\0", b"\xff\xfb\x11\xc4" + MP3[4:] + b"stowaway"
        sound = [*map(block, frames), group(unsigned(0x9B, 7), data=MP3), shape, group(), shape]
        data = file(
            entries=track(1, 2, codec, make(0x63A2, private) if private else b""),
            sound=cluster(*sound) + cluster(shape),
        )
        quick = account(data), strip(data)
        with monkeypatch.context() as patch:
            patch.setattr(matroska, "blocks", lambda data, tracks, *_: blocks(data, {}))
            long = account(data), strip(data)
        assert quick[1] == long[1]
        assert (quick[0].parameters, quick[0].bits) == (long[0].parameters, long[0].bits)
        assert quick[0].extras == long[0].extras
        assert [quick[0].total(kind) for kind in ("payload", "structure")] == [
            long[0].total(kind) for kind in ("payload", "structure")
        ]


def test_a_file_that_was_held_whole_is_let_go_of_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    held = []

    def look(walk: elements.Walk, start: int, count: int) -> None:
        held.append(weakref.ref(walk))
        original(walk, start, count)

    original = elements.Walk.look
    monkeypatch.setattr(elements.Walk, "look", look)
    gc.disable()
    try:
        account(file())
    finally:
        gc.enable()
    assert [walk() for walk in held] == [None] * len(held) != []


WORDS = b"a stowaway's words, all of them"
NOISE = bytes(place * place * 7 % 251 for place in range(100))


@pytest.mark.parametrize("lead", [b"", b"\xed\x0f"])
@pytest.mark.parametrize(("codec", "private"), [(b"A_AAC", b"\x11\x90"), (b"A_ALAC", ALAC), (b"A_MPEG/L3", b"")])
def test_text_that_only_decoding_could_take_out_is_refused(codec: bytes, private: bytes, lead: bytes) -> None:
    entries = track(1, 2, codec, make(0x63A2, private) if private else b"")
    fine = file(entries=entries, sound=cluster(block(b"\x20" + NOISE), group(data=b"\x20" + NOISE)))
    assert payload(fine) == (b"\x20" + NOISE) * 2
    told = b"\x20" + NOISE + WORDS + lead
    for sound in (block(told), group(data=told), block(b"\1\x04\x20abc" + told, flags=0x82)):
        with pytest.raises(Unreadable, match="text behind the sound"):
            read(file(entries=entries, sound=cluster(sound)))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (make(0x9F, b"qu"), "no channels or bits"),
        (make(0x6264, b"quil"), "no channels or bits"),
        (make(0xB5, b"quil"), "a rate that cannot be"),
        (make(0xB5, b"\xff\xf8\0\0\0\0\0\0"), "a rate that cannot be"),
    ],
)
def test_what_no_sound_is_like_is_refused(values: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read(file(entries=track(1, 2, b"A_PCM/INT/LIT", make(0xE1, values))))


def test_an_index_says_nothing_if_it_is_right() -> None:
    sound = cluster(block()) + cluster(block(), time=300)
    body = make(INFO) + make(TRACKS, track())
    second = len(body) + len(cluster(block()))

    def entry_of(time: int, place: int, *more: bytes) -> bytes:
        return make(CUES, make(0xBB, unsigned(0xB3, time), make(0xB7, unsigned(0xF7, 1), unsigned(0xF1, place), *more)))

    relative = len(unsigned(0xE7, 300))
    right = [entry_of(0, len(body)), entry_of(300, second), entry_of(300, second, unsigned(0xF0, relative))]
    wrong = [
        entry_of(0, second),
        entry_of(300, second + 1),
        entry_of(301, second, unsigned(0xF0, relative)),
        entry_of(300, second, unsigned(0xF0, relative + 1)),
        entry_of(300, second, unsigned(0x5378, 256)),
        entry_of(300, second, unsigned(0xB2, 1)),
    ]
    for index in right + wrong:
        data = HEAD + make(SEGMENT, body, sound, index)
        assert bool(read(data).blocks) == (index in wrong)
        assert strip(data) == strip(HEAD + make(SEGMENT, body, sound, right[0]))


def test_times_do_not_tell_the_date() -> None:
    """Broadcasts count from a date."""
    now = 1_790_000_000_000
    data = file(sound=cluster(block(), time=now) + cluster(block(), time=now + 300))
    assert strip(data) == strip(file(sound=cluster(block()) + cluster(block(), time=300)))
    assert set(dict(read(data).blocks)) == {"date.matroska.start"}
    for times in ((0, now), (now, 0), (now, int.from_bytes(b"stowaway", "big"))):
        with pytest.raises(Unreadable, match="earlier or later than it can"):
            read(file(sound=b"".join(cluster(block(), time=time) for time in times)))


def test_a_checksum_says_nothing_if_it_is_right() -> None:
    info = make(0x2AD7B1, b"\x0f\x42\x40")
    for crc, names in ((zlib.crc32(info), set()), (zlib.crc32(info) + 1, {"stale.matroska.checksum"})):
        data = HEAD + make(
            SEGMENT, make(INFO, make(0xBF, crc.to_bytes(4, "little")), info), make(TRACKS, track()), cluster(block())
        )
        assert {name for name, _ in read(data).blocks} == names


def test_other_tracks_go() -> None:
    subtitles = track(2, 0x11, b"S_TEXT/UTF8")
    said = block(b"stowaway", track=2), make(0xA0, block(b"stowaway", 2, 0, 0xA1), make(0x9B, b"\7"))
    data = file(entries=subtitles + track(), sound=cluster(said[0], block(), said[1], block()))
    assert strip(data) == CLEAN
    assert {name for name, _ in read(data).blocks} == {"unknown.matroska.track"}


def test_sound_tracks_are_numbered_anew() -> None:
    entries = track(9) + track(100, 2, b"A_MPEG/L3")
    clean = strip(file(entries=entries, sound=cluster(block(track=100), block(track=9))))
    assert strip(file(entries=track(1) + track(2, 2, b"A_MPEG/L3"), sound=cluster(block(track=2), block()))) == clean
    assert payload(clean) == FRAME + FRAME


def test_an_index_is_made_where_there_was_one() -> None:
    sound = cluster(block()) + cluster(block(), time=300)
    clean = strip(file(make(CUES, make(0xBB, make(0xB3, b"\0"))), sound=sound))
    opened = head(clean[clean.index(SEGMENT.to_bytes(4, "big")) :])
    assert opened is not None
    segment = clean.index(SEGMENT.to_bytes(4, "big")) + opened[2]
    index = clean.rindex(CUES.to_bytes(4, "big"))
    seek = clean.index(b"\x53\xac\x88") + 3
    assert int.from_bytes(clean[seek : seek + 8], "big") == index - segment
    points = [at for at in range(index, len(clean)) if clean[at] == 0xF1 and clean[at + 1] in (0x81, 0x82)]
    places = [int.from_bytes(clean[at + 2 : at + 2 + (clean[at + 1] & 15)], "big") for at in points]
    assert [clean[segment + place :][:4] for place in places] == [CLUSTER.to_bytes(4, "big")] * 2
    assert CUES.to_bytes(4, "big") not in strip(file(sound=sound))


def test_the_index_names_the_track_where_frames_change() -> None:
    index = make(CUES, make(0xBB, unsigned(0xB3, 0), make(0xB7, unsigned(0xF7, 1), unsigned(0xF1, 0))))
    private = MP3[:2] + bytes([MP3[2] | 1]) + MP3[3:]
    sound = cluster(block(MP3), block(private), block(private)) + cluster(block(MP3), block(private), time=9)
    data = file(index, entries=track(1, 2, b"A_MPEG/L3"), sound=sound)
    assert strip(data) == strip(data.replace(private, MP3))
    clean = strip(data)
    assert clean[clean.rindex(CUES.to_bytes(4, "big")) :].count(unsigned(0xF7, 1)) == 2
    assert account(data).bits == ("unknown.matroska.private-bit",)


def test_the_index_names_a_track_of_sound_where_a_picture_comes_first() -> None:
    index = make(CUES, make(0xBB, unsigned(0xB3, 0), make(0xB7, unsigned(0xF7, 1), unsigned(0xF1, 0))))
    sound = cluster(block(track=2), block(), block())
    clean = strip(file(index, entries=track() + track(2, 1), sound=sound))
    assert clean == strip(file(index, sound=cluster(block(), block()))) == strip(clean)


def test_laced_frames_are_laced_in_one_form() -> None:
    sound = b"\x09abc" + FRAME
    forms = [
        block(b"\1\x04" + sound, flags=0x82),
        block(b"\1\x84" + sound, flags=0x86),
        block(b"\1\x40\x04" + sound, flags=0x86),
    ]
    for one in forms:
        clean = strip(file(sound=cluster(one)))
        assert forms[0] in clean
        assert payload(file(sound=cluster(one))) == payload(clean) == sound
    alike = block(b"\1\x06" + FRAME * 2, flags=0x82), block(b"\1" + FRAME * 2, flags=0x84)
    assert strip(file(sound=cluster(alike[0]))) == strip(file(sound=cluster(alike[1])))
    assert alike[1] in strip(file(sound=cluster(alike[0])))
    assert block(FRAME) in strip(file(sound=cluster(block(b"\0" + FRAME, flags=0x82))))


def packed(*said: bytes, codec: bytes = b"A_MPEG/L3") -> bytes:
    return track(1, 2, codec, make(0x6D80, make(0x6240, *said)))


def test_frames_become_whole() -> None:
    """What they all begin with may be left out of them."""
    whole = file(entries=track(1, 2, b"A_MPEG/L3"), sound=cluster(block(MP3), block(MP3)))
    for lead in (b"\xff", b"\xff\xfb", b"\xff\xfb\x10\xc4"):
        packing = make(0x5034, make(0x4254, b"\3"), make(0x4255, lead))
        rest = MP3.removeprefix(lead)
        data = file(entries=packed(make(0x5031, b"\0"), packing), sound=cluster(block(rest), block(rest)))
        assert strip(data) == strip(whole)
        assert payload(data) == payload(whole) == MP3 + MP3
        assert account(data).extras == ()
        surplus = cluster(block(rest + b"stowaway"), block(rest))
        data = file(entries=packed(packing), sound=surplus)
        assert strip(data) == strip(whole)
        assert [part.name for part in account(data).extras] == ["matroska.surplus"]
        laced = cluster(block(b"\1" + bytes([len(rest) + 8]) + rest + b"stowaway" + rest, flags=0x82))
        assert payload(file(entries=packed(packing), sound=laced)) == MP3 + MP3


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        (packed(), "packed in a way"),
        (packed(make(0x5034, make(0x4254, b"\0"))), "packed in a way"),
        (packed(make(0x5032, b"\3"), make(0x5034, make(0x4254, b"\3"))), "packed in a way"),
        (packed(make(0x5034, make(0x4254, b"\3"), make(0x4255, b"stowaway"))), "more is left out"),
        (packed(make(0x5034, make(0x4254, b"\3"), make(0x4255, b"\x0b")), codec=b"A_PCM/INT/LIT"), "more is left out"),
        (packed(make(0x5034, make(0x4254, b"\3"), make(0x4255, b"a"), make(0x4255, b"b"))), "twice"),
    ],
)
def test_frames_that_are_packed_in_another_way_are_refused(entries: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read(file(entries=entries))


def test_the_refusal_of_compressed_frames_says_what_to_do() -> None:
    with pytest.raises(Unreadable, match=r"`ffmpeg -c copy` or by `mkvmerge --compression -1:none`$"):
        read(file(entries=packed(make(0x5034, make(0x4254, b"\0")))))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (HEAD, "cut: no segment"),
        (HEAD + make(SEGMENT, make(INFO)), "cut: no track"),
        (file()[:-1], "cut: an element in it needs"),
        (file()[: len(HEAD) + 30], "cut: an element in it needs"),
        (make(EBML, make(0x4282, b"stowaway")) + make(SEGMENT), "another kind"),
        (make(EBML, make(0x42F2, b"\5"), make(0x4282, b"webm")) + make(SEGMENT), "newer reader"),
        (file(entries=track(1, 1)), "no sound track"),
        (file(entries=track(1, 2, b"A_STOWAWAY")), "not supported"),
        (file(entries=track() + track()), "one number"),
        (file(entries=track(0)), "one number"),
        (file(entries=b"".join(map(track, range(1, 128)))), "more than 126"),
        (file(entries=track(1, 2, b"A_MPEG/L3", make(0x6D80, make(0x6240, make(0x5035))))), "encrypted"),
        (file(entries=track(1, 2, b"A_VORBIS", make(0x63A2, b"stowaway"))), "Vorbis decoder"),
        (file(entries=track(1, 2, b"A_OPUS", make(0x63A2, b"stowaway"))), "Opus decoder"),
        (file(entries=track(1, 2, b"A_FLAC", make(0x63A2, b"stowaway"))), "STREAMINFO"),
        (file(entries=track(1, 2, b"A_AAC")), "incomplete"),
        (file(sound=make(CLUSTER, block())), "no time"),
        (file(sound=cluster(make(0xA3, b"\x81\0"))), "shorter than it has to be"),
        (file(sound=cluster(make(0xA0))), "without one"),
        (file(sound=cluster(make(0xA0, block(element=0xA1), block(element=0xA1)))), "twice"),
        (file(sound=cluster(group(unsigned(0x9B, 1), unsigned(0x9B, 1)))), "twice"),
        (file(entries=track(1, 2, b"A_PCM/INT/LIT", make(0x86, b"stowaway"))), "twice"),
        (file(sound=cluster(block(), time=9) + cluster(block(), time=8)), "played before"),
        (file(sound=cluster(block(b"\5\1", flags=0x82))), "do not fit"),
        (HEAD + make(SEGMENT, cluster(block()), make(TRACKS, track())), "before what describes it"),
        (HEAD + make(SEGMENT, make(TRACKS, track()), b"\x12\x54\xc3\x67" + NO_SIZE), "how long it is"),
        (file(make(0xEC) * 300_000), "more elements"),
        (file(sound=cluster(block(), b"\xa3\xff\x81\0\0\x80" + bytes(123))), "how long it is"),
    ],
)
def test_what_is_not_so_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why) as caught:
        read(data)
    assert "stowaway" not in str(caught.value).lower()


def test_a_tag_inside_the_segment_is_no_tag_behind_it() -> None:
    """What looks like a tag at the end of the file is part of the last element, which ends there."""
    looks = b"TAG" + bytes(125)
    data = file(sound=cluster(block(), block(looks)))
    assert payload(data) == FRAME + looks
    assert payload(strip(data)) == FRAME + looks
