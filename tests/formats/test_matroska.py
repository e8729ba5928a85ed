"""Matroska: elements, blocks, tags and what decoders need."""

from __future__ import annotations

import io

import pytest
from audio_samples import entry

from leakscan import ledgers
from leakscan.clusters import blocks
from leakscan.ebml import head, make, unsigned
from leakscan.formats import matroska
from leakscan.model import Ledger, Tags, Unreadable

EBML, SEGMENT, INFO, TRACKS, CLUSTER, CUES = 0x1A45DFA3, 0x18538067, 0x1549A966, 0x1654AE6B, 0x1F43B675, 0x1C53BB6B
NO_SIZE = b"\x01" + b"\xff" * 7
HEAD = make(EBML, make(0x4282, b"matroska"))
FRAME = b"\x77sound"


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


def test_groups_keep_what_players_need() -> None:
    inside = block(element=0xA1, flags=0), make(0x9B, b"\0\7"), make(0x75A2, b"\xff\xfe")
    additions = make(0x75A1, make(0xA6, make(0xA5, b"stowaway")))
    clean = strip(file(sound=cluster(make(0xA0, *inside, make(0xFB, b"\1")))))
    assert strip(file(sound=cluster(make(0xA0, *inside, additions)))) == clean
    assert clean.endswith(make(0xA0, block(element=0xA1, flags=0), make(0x9B, b"\7"), make(0x75A2, b"\xfe")))
    assert account(file(sound=cluster(make(0xA0, *inside)))).parameters == account(clean).parameters
    without = file(sound=cluster(make(0xA0, *inside[:2])))
    assert account(without).parameters != account(clean).parameters


def group(*more: bytes, flags: int = 0, data: bytes = FRAME, number: int = 1) -> bytes:
    return make(0xA0, block(data, number, flags, 0xA1), *more)


SHAPES = [
    block(),
    block(bytes(200)),
    block(bytes(20_000)),
    block(b""),
    block(track=2),
    block(flags=0),
    block(flags=0x86),
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
    group(unsigned(0x9B, 1), unsigned(0x9B, 2)),
    group(make(0x75A2, b"\0")),
    group(unsigned(0xFB, 1)),
    make(0xA0, unsigned(0x9B, 1), block(element=0xA1)),
    b"\xa0\x40" + bytes([len(group()) - 2]) + group()[2:],
    make(0xEC, bytes(5)),
    make(0xBF, bytes(4)),
]


@pytest.mark.parametrize("window", [30, 100, matroska._WINDOW])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_quick_way_through_blocks_is_the_long_one(
    monkeypatch: pytest.MonkeyPatch, shape: bytes, window: int
) -> None:
    monkeypatch.setattr(matroska, "_WINDOW", window)
    for codec in (b"A_PCM/INT/LIT", b"A_AAC"):
        private = make(0x63A2, b"\x11\x90") if codec == b"A_AAC" else b""
        data = file(
            entries=track(1, 2, codec, private),
            sound=cluster(block(), group(unsigned(0x9B, 7)), shape, group(), block(b"\xc0sound"), shape)
            + cluster(shape),
        )
        quick = account(data), strip(data)
        with monkeypatch.context() as patch:
            patch.setattr(matroska, "blocks", lambda data, tracks: blocks(data, {}))
            long = account(data), strip(data)
        assert quick[1] == long[1]
        assert (quick[0].parameters, quick[0].bits) == (long[0].parameters, long[0].bits)
        assert quick[0].extras == long[0].extras
        assert [quick[0].total(kind) for kind in ("payload", "structure")] == [
            long[0].total(kind) for kind in ("payload", "structure")
        ]


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


def test_the_index_names_a_track_of_sound_where_a_picture_comes_first() -> None:
    index = make(CUES, make(0xBB, unsigned(0xB3, 0), make(0xB7, unsigned(0xF7, 1), unsigned(0xF1, 0))))
    sound = cluster(block(track=2), block(), block())
    clean = strip(file(index, entries=track() + track(2, 1), sound=sound))
    assert clean == strip(file(index, sound=cluster(block(), block()))) == strip(clean)


def test_laced_blocks_stay() -> None:
    laced = cluster(block(b"\1" + FRAME * 2, flags=0x84))
    assert payload(strip(file(sound=laced))) == b"\1" + FRAME * 2


def test_packed_frames_stay_packed() -> None:
    packing = make(0x5034, make(0x4254, b"\3"), make(0x4255, b"\xff\xfb"))
    entries = track(1, 2, b"A_MPEG/L3", make(0x6D80, make(0x6240, make(0x5031, b"\0"), packing)))
    clean = strip(file(entries=entries))
    assert packing in clean
    assert strip(file(entries=entries.replace(b"\x6d\x80", b"\x6d\x80"))) == clean


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
        (file(sound=cluster(make(0xA0, block(element=0xA1), block(element=0xA1)))), "two blocks"),
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
