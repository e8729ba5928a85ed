"""ASF: objects, packets and tags."""

from __future__ import annotations

import io
import struct
import uuid
from dataclasses import replace

import numpy as np
import pytest
from audio_samples import entry

from leakscan import ledgers
from leakscan.formats import asf
from leakscan.model import Ledger, Tags, Unreadable
from leakscan.packets import Packets, packets

SOUND = bytes(range(160, 220))
LENGTH = 100  # bytes of a packet


def guid(text: str) -> bytes:
    return uuid.UUID(text).bytes_le


HEADER, DATA = guid("75b22630-668e-11cf-a6d9-00aa0062ce6c"), guid("75b22636-668e-11cf-a6d9-00aa0062ce6c")
FILE, STREAM = guid("8cabdca1-a947-11cf-8ee4-00c00c205365"), guid("b7dc0791-a9b7-11cf-8ee6-00c00c205365")
AUDIO, VIDEO = guid("f8699e40-5b4d-11cf-a8fd-00805f5c442b"), guid("bc19efc0-5b4d-11cf-a8fd-00805f5c442b")
CONTENT, MORE = guid("75b22633-668e-11cf-a6d9-00aa0062ce6c"), guid("d2d0a440-e307-11d2-97f0-00a0c95ea850")


def made(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return kind + (24 + len(body)).to_bytes(8, "little") + body


def packet(
    *, flags: int = 0x08, before: bytes = b"", sound: bytes = SOUND, stream: int = 1, copied: bytes = bytes(8)
) -> bytes:
    """A packet with one payload: `before` are the length and the sequence that `flags` announce."""
    payload = bytes([0x80 | stream, 1]) + bytes(4) + bytes([len(copied)]) + copied + sound
    head = b"\x82\0\0" + bytes([flags, 0x5D]) + before
    return (head + bytes([LENGTH - len(head) - 7 - len(payload)]) + bytes(6) + payload).ljust(LENGTH, b"\0")


def several(*sounds: bytes, stream: int = 1) -> bytes:
    head = b"\x82\0\0\x09\x5d"
    each = [
        bytes([0x80 | stream, 1]) + bytes(4) + b"\x08" + bytes(8) + bytes([len(sound), 0]) + sound for sound in sounds
    ]
    body = bytes([0x80 | len(sounds)]) + b"".join(each)
    return (head + bytes([LENGTH - len(head) - 7 - len(body)]) + bytes(6) + body).ljust(LENGTH, b"\0")


def properties(count: int = 1, flags: int = 2, lengths: tuple[int, int] = (LENGTH, LENGTH)) -> bytes:
    return made(
        FILE, bytes(32), struct.pack("<QQQQ", count, 10**7, 10**7, 3000), struct.pack("<IIII", flags, *lengths, 64000)
    )


def described(kind: bytes = AUDIO, coding: int = 0x161, flags: int = 1, extra: bytes = bytes(10)) -> bytes:
    wave = struct.pack("<HHIIHHH", coding, 2, 44100, 8000, 60, 16, len(extra)) + extra
    return made(STREAM, kind, bytes(16), bytes(8), struct.pack("<IIH", len(wave), 0, flags), bytes(4), wave)


def file(*packets: bytes, objects: tuple[bytes, ...] = (), count: int | None = None, after: bytes = b"") -> bytes:
    packets = packets or (packet(),)
    told = len(packets) if count is None else count
    return with_header((properties(told), described(), *objects), *packets, told=told) + after


def with_header(objects: tuple[bytes, ...], *packets: bytes, told: int = 1) -> bytes:
    body = b"".join(objects)
    head = HEADER + (30 + len(body)).to_bytes(8, "little") + len(objects).to_bytes(4, "little") + b"\1\2"
    return head + body + made(DATA, bytes(16), told.to_bytes(8, "little"), b"\1\1", *packets)


def read(data: bytes) -> Tags:
    body = next(iter(asf.read(entry(data)))).body
    assert isinstance(body, Tags)
    return body


def account(data: bytes) -> Ledger:
    return asf.account(io.BytesIO(data))


def strip(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


def payload(data: bytes) -> bytes:
    return b"".join(ledgers.payload_bytes(io.BytesIO(data), account(data)))


CLEAN = strip(file())


def wide(text: str) -> bytes:
    return text.encode("utf-16-le") + b"\0\0"


def test_tags_are_read_by_name() -> None:
    content = made(CONTENT, struct.pack("<5H", *(len(wide(text)) for text in "abcde")), *map(wide, "abcde"))
    listed = [("WM/AlbumTitle", 0, wide("Album")), ("WM/Year", 0, wide("1999")), ("stowaway", 3, b"\7\0\0\0")]
    entries = [
        struct.pack("<H", len(wide(name))) + wide(name) + struct.pack("<HH", kind, len(value)) + value
        for name, kind, value in listed
    ]
    more = made(MORE, struct.pack("<H", len(entries)), *entries)
    assert read(file(objects=(content, more))).tags == (
        ("asf.title", "a"),
        ("asf.artist", "b"),
        ("asf.copyright", "c"),
        ("asf.description", "d"),
        ("asf.rating", "e"),
        ("asf.album", "Album"),
        ("asf.year", "1999"),
        ("asf.other", "stowaway"),
        ("asf.other", "7"),
    )
    assert strip(file(objects=(content, more))) == CLEAN


@pytest.mark.parametrize("end", [26, 30, 40, 60])
def test_tags_that_are_cut_short_are_read_so_far(end: int) -> None:
    name = wide("WM/AlbumTitle")
    body = struct.pack("<HH", 2, len(name)) + name + struct.pack("<HH", 0, 600) + wide("Album")
    assert strip(file(objects=(made(MORE, body[:end]),))) == CLEAN


@pytest.mark.parametrize(
    ("coding", "said", "clean"),
    [
        (0x160, b"stow", b"\0\0\x6f\0"),
        (0x160, b"\0\x08\x0f\0", b"\0\x08\x0f\0"),
        (0x161, b"stowaway!!", b"\0\0\0\0\x61\0\0\0\0\0"),
        (0x162, b"stowaways, the two", bytes(14) + b" t" + bytes(2)),
        (0x162, b"\x10\0\3\0\0\0" + bytes(8) + b"\xe0\0\0\0", b"\x10\0\3\0\0\0" + bytes(8) + b"\xe0\0\0\0"),
    ],
)
def test_what_a_decoder_has_to_know_is_no_text(coding: int, said: bytes, clean: bytes) -> None:
    def whole(extra: bytes) -> bytes:
        return with_header((described(coding=coding, extra=extra), properties()), packet())

    assert strip(whole(said)) == strip(whole(clean))
    assert clean in strip(whole(said))
    assert bool(account(whole(said)).extras) == (said != clean)


@pytest.mark.parametrize(
    "changed",
    [
        file(packet()[:-5] + b"stows"),
        file(b"\x82\1\2" + packet()[3:]),
        file(after=made(guid("33000890-e5b1-11cf-89f4-00a0c90349cb"), bytes(32))),
        file(after=b"stowaway"),
        with_header((described(extra=bytes(10) + b"stowaway"), properties()), packet()),
        with_header((described().replace(bytes(4) + b"\x61\1", b"stow\x61\1"), properties()), packet()),
    ],
)
def test_what_is_beside_the_sound_goes(changed: bytes) -> None:
    assert strip(changed) == CLEAN
    assert read(changed).blocks


def test_packets_keep_their_form() -> None:
    for data in (
        packet(flags=0x28, before=bytes([LENGTH])),
        packet(flags=0x0A, before=b"\0"),
        several(SOUND[:20], SOUND[20:50]),
    ):
        assert strip(file(data)).endswith(data)
    assert payload(file(several(SOUND[:20], SOUND[20:50]))) == SOUND[:50]


def test_fields_of_packets_that_nobody_reads_become_zeros() -> None:
    said = packet(flags=0x0A, before=b"s")
    assert strip(file(said)).endswith(packet(flags=0x0A, before=b"\0"))
    more = packet(copied=bytes(8) + b"stowed", sound=SOUND[:40])
    assert strip(file(more)).endswith(packet(copied=bytes(14), sound=SOUND[:40]))
    assert {name for name, _ in read(file(said)).blocks} == {"stale.asf.sequence"}
    assert {name for name, _ in read(file(more)).blocks} == {"stale.asf.replicated"}


SHAPES = [
    packet(),
    packet(sound=b""),
    packet(flags=0x28, before=bytes([LENGTH])),
    packet(flags=0x28, before=bytes([LENGTH - 1])),
    packet(flags=0x28, before=b"\xff"),
    packet(flags=0x0A, before=b"\0"),
    packet(flags=0x0A, before=b"s"),
    packet(stream=2),
    packet(copied=b""),
    packet(copied=bytes(8) + b"stowed", sound=SOUND[:40]),
    packet(copied=bytes(14), sound=SOUND[:40]),
    packet(copied=b"\x3c\0\0\0\1\0\0\0"),
    packet(copied=b"\x3b\0\0\0\1\0\0\0"),
    packet(copied=b"stow\1\0\0\0"),
    packet(copied=b"\x3c\0\0\0away"),
    packet()[:-5] + b"stows",
    b"\x82\1\2" + packet()[3:],
    b"\xf2" + packet()[1:],
    packet()[3:] + bytes(3),
    packet()[:5] + b"\xff" + packet()[6:],
    several(),
    several(SOUND[:20]),
    several(SOUND[:20], SOUND[20:50]),
    several(SOUND[:20], b"", SOUND[20:22]),
    several(SOUND[:9], stream=2),
    several(SOUND[:20]).replace(b"\x14\0", b"\xff\0", 1),
    several(SOUND[:20])[:-2] + b"st",
    bytes(LENGTH),
    b"\xff" * LENGTH,
]


@pytest.mark.parametrize("read_at_once", [LENGTH, 3 * LENGTH, asf._READ])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_quick_way_through_packets_is_the_long_one(
    monkeypatch: pytest.MonkeyPatch, shape: bytes, read_at_once: int
) -> None:
    monkeypatch.setattr(asf, "_READ", read_at_once)

    def one_by_one(data: bytes, length: int, number: int, latest: int) -> Packets:
        found = packets(data, length, number, latest)
        return replace(found, usual=found.usual & False)

    def told(data: bytes) -> object:
        try:
            found = account(data)
        except Unreadable as error:
            return str(error)
        counted = [found.total(kind) for kind in ("payload", "structure")]
        return found.parameters, found.extras, counted, payload(data), strip(data)

    for usual in (packet(), several(SOUND[:20], SOUND[20:50]), several(b"", SOUND[:40])):
        for order in ((usual, usual, shape, usual, usual), (shape, usual, usual, shape), (shape, shape, usual, shape)):
            quick = told(file(*order))
            with monkeypatch.context() as patch:
                patch.setattr(asf, "packets", one_by_one)
                assert told(file(*order)) == quick


@pytest.mark.parametrize("size", [0, 1, 30, 63, 64, 65, 90, 200])
@pytest.mark.parametrize("filler", [0, 1, 20, 63, 64, 65, 90, 200])
def test_what_fills_frames_up_is_no_text(size: int, filler: int) -> None:
    pieces = [bytes(range(200))[:size] + b"N" * filler, b"sound", b"N" * 3, b"Nowhere" + bytes(70), b"NN"]
    edges = np.cumsum([0, *map(len, pieces)])
    ends = [start + len(piece.rstrip(b"N")) for start, piece in zip(edges.tolist(), pieces, strict=False)]
    assert asf._filled(b"".join(pieces), edges[:-1], edges[1:]).tolist() == ends


def test_text_that_was_seen_is_not_searched_for_again() -> None:
    clean = strip(file(packet(), several(SOUND[:27])))
    seen = ledgers.Seen(account(clean))
    place = clean.index(SOUND[9:27], clean.index(SOUND) + len(SOUND))
    put = clean[:place] + b"a stowaway's words" + clean[place + 18 :]
    assert asf.read_back(io.BytesIO(put), seen).parts == account(clean).parts
    with pytest.raises(Unreadable, match="text behind the sound"):
        asf.read_back(io.BytesIO(put), ledgers.NOTHING)


def test_a_broadcast_does_not_count_its_packets() -> None:
    data = with_header((properties(0, flags=3), described()), packet(), packet(), told=0)
    assert payload(data) == SOUND * 2
    assert strip(strip(data)) == strip(data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (file()[:-1], "cut: its data needs"),
        (file(count=2), "cut: its data has room for 1 packets"),
        (file()[:200], "cut: its header needs"),
        (file()[: len(file()) - LENGTH - 50], "cut: no data object"),
        (with_header((described(),), packet()), "describes no sound"),
        (with_header((properties(), properties(), described()), packet()), "twice"),
        (with_header((properties(), described(VIDEO)), packet()), "another stream beside"),
        (with_header((properties(), described(), described()), packet()), "another stream beside"),
        (with_header((properties(), described(coding=0x7777)), packet()), "in a coding that is not supported"),
        (with_header((properties(), described(flags=0x8001)), packet()), "encrypted"),
        (file(objects=(made(guid("298ae614-2622-4c17-b935-dae07ee9289c")),)), "encrypted"),
        (with_header((properties(lengths=(LENGTH, 200)), described()), packet()), "several lengths"),
        (file(packet(stream=2)), "another stream"),
        (file(several(SOUND[:9], stream=2)), "another stream"),
        (file(b"\xf2" + packet()[1:]), "cannot be followed"),
        (file(packet(copied=b"\x3b\0\0\0\1\0\0\0")), "not as long as it says"),
        (file(packet(copied=b"stow\1\0\0\0")), "not as long as it says"),
        (file(packet(copied=b"\x3c\0\0\0away")), "later than it can"),
        (file(packet().replace(bytes(6) + b"\x81", b"away\0\0\x81", 1)), "later than it can"),
        (file(packet(sound=SOUND[:30] + b"a stowaway's text, at last")), "text behind the sound"),
        (file(packet(), several(SOUND[:10] + b"a stowaway's text, at last")), "text behind the sound"),
        (with_header((properties(), described(coding=0x55)), packet()), "no frame"),
        (file(packet()[:5] + b"\xff" + packet()[6:]), "does not fit"),
        (file(several(SOUND[:20]).replace(b"\x14\0", b"\xff\0", 1)), "does not fit"),
        (file(objects=(made(FILE[:15] + b"\0") * 10_001,)), "more than 10,000 objects"),
    ],
)
def test_what_is_not_so_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read(data)
