"""Blocks of Matroska found many at once: the same as one after the other."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan import clusters
from leakscan.clusters import CLUSTER, LEAST, Usual, blocks, lace, laced
from leakscan.ebml import make, opening, unsigned
from leakscan.frames import Aac, Alac, Opus
from leakscan.ledgers import NOTHING, Seen, woven
from leakscan.model import Ledger, Part, Unreadable

LONGEST = [300] * 256
TRACKS = {0x81: Usual(None, LONGEST), 0x82: Usual(Aac(), LONGEST)}
TIME = b"\x01\x02"


def block(sound: bytes, number: int = 1, flags: int = 0x80, element: int = 0xA3) -> bytes:
    return make(element, bytes([0x80 | number]), TIME, bytes([flags]), sound)


def group(sound: bytes, *more: bytes, number: int = 1) -> bytes:
    return make(0xA0, block(sound, number, 0, 0xA1), *more)


SOUNDS = st.sampled_from([b"s", b"sound", b"s" * 122, b"s" * 123, b"s" * 500, b"\xa3\x89\x81\0\0\x80" * 30])
USUAL = st.one_of(
    st.builds(block, SOUNDS),
    st.builds(group, SOUNDS),
    st.builds(lambda sound, duration: group(sound, unsigned(0x9B, duration)), SOUNDS, st.sampled_from([0, 9, 300])),
)
OTHER = st.sampled_from(
    [
        make(0xEC, bytes(3)),
        opening(CLUSTER, 900) + unsigned(0xE7, 4),
        block(b"sound", flags=0),
        block(b"\1sound", flags=0x82),
        block(b"sound", number=3),
        block(b"\x80\x05words", number=2),
        block(b""),
        group(b"sound", make(0x9B, b"\0\7")),
        group(b"sound", make(0x9B, b"\x01\x2d")),
        group(b"sound", unsigned(0x9B, 1 << 24)),
        b"\xa3\x40\x0a" + block(b"sounds")[2:],
    ]
)


@given(st.lists(st.one_of(USUAL.map(lambda data: (data, True)), OTHER.map(lambda data: (data, False))), max_size=12))
def test_runs_are_the_usual_blocks_one_after_the_other(elements: list[tuple[bytes, bool]]) -> None:
    data = b"".join(element for element, _ in elements) + bytes(LEAST)
    found = blocks(data, TRACKS)
    offset = 0
    for index, (element, usual) in enumerate(elements):
        run = found.run(offset, len(data))
        following = next(
            (after for after, (_, still) in enumerate(elements[index:]) if not still), len(elements) - index
        )
        assert run.stop - run.start == (following if usual else 0)
        if usual:
            assert found.track(run) == 1
            bounds = found.bounds(run).tolist()
            assert bounds == sorted(bounds)
            assert bounds[0] == offset
            assert bounds[-1] == offset + sum(len(one) for one, _ in elements[index : index + following])
            told = found.times(slice(run.start, run.start + 1))
            assert told == b"\x81" + TIME + data[bounds[2] : offset + len(element)]
            assert found.run(offset, offset + len(element) - 1) == slice(run.start, run.start)
        offset += len(element)


def test_usual_are_frames_that_have_to_be_looked_at_but_stay_as_they_are() -> None:
    """Silence in Opus is all such frames."""
    tracks = {0x81: Usual(Opus(1), LONGEST), 0x82: Usual(Aac(), LONGEST)}
    fine = block(b"\xf8\xff\xfe"), block(b"\xfb\1" + bytes(9)), block(b"\x80\0sound", number=2)
    data = b"".join((*fine, block(b"\xf8\xff\xfe hid"), *fine)) + bytes(LEAST)
    found = blocks(data, tracks)
    assert found.run(0, len(data)) == slice(0, 3)
    assert found.run(len(b"".join(fine)) + len(block(b"\xf8\xff\xfe hid")), len(data)) == slice(3, 6)
    with pytest.raises(Unreadable, match="text"):
        blocks(block(b"\x80\0" + NOISE + TEXT, number=2), tracks)


@pytest.mark.parametrize("long", [block(bytes(300)), group(bytes(300))])
def test_none_ends_behind_the_bytes(long: bytes) -> None:
    """What looks into its sound has to have all of it."""
    found = blocks(long[:200], TRACKS)
    assert found.run(0, 1000) == slice(0, 0)
    assert 0 in found.cut


def test_when_blocks_of_each_track_are_played() -> None:
    times = (1, 5), (2, 7), (1, 5), (2, 6), (1, -3)
    data = b"".join(
        make(0xA3, bytes([0x80 | number]), time.to_bytes(2, "big", signed=True), b"\x80sound") for number, time in times
    )
    found = blocks(data + bytes(LEAST), TRACKS)
    run = found.run(0, len(data))
    assert list(found.spans(run)) == [(1, 5, -3, False), (2, 7, 6, False)]
    assert list(found.spans(slice(0, 3))) == [(1, 5, 5, True), (2, 7, 7, True)]


def test_blocks_are_found_wherever_the_bytes_are_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join([block(b"s" * 200), group(b"sound", unsigned(0x9B, 9)), block(b"s", 2)] * 3) + bytes(LEAST)
    for cached in range(1, 40):
        monkeypatch.setattr(clusters, "_CACHED", cached)
        run = blocks(data, TRACKS, 1000).run(1000, 1000 + len(data))
        assert run == slice(0, 9)


def test_clusters_follow_other_bytes_within_one_but_none_behind_them() -> None:
    """As elements are walked: no more is looked into than what the walk comes to."""
    first, second = (make(CLUSTER, unsigned(0xE7, 0), block(b"sound"), bytes(count)) for count in (9, 0))
    behind = make(CLUSTER, unsigned(0xE7, 0), block(NOISE + TEXT)) + bytes(LEAST)
    end = len(first + second)
    for where in ((0, 0), (len(first) - 9, len(first))):
        found = blocks(first + second + bytes(9) + behind, {0x81: Usual(Alac(), LONGEST)}, 0, (), NOTHING, *where)
        run = found.run(end - len(block(b"sound")), end)
        assert run.stop - run.start == 1
    with pytest.raises(Unreadable, match="text"):
        blocks(first + second + behind, {0x81: Usual(Alac(), LONGEST)})


NOISE = bytes(0x80 | place * place * 7 % 127 for place in range(100))
TEXT = b"old rain in a sea, one"


def test_text_is_found_as_if_frames_lay_end_to_end() -> None:
    """Also where a frame is shorter than text, or text goes on in the next ones; and it is said where among them."""
    parted = [[NOISE + TEXT[:1], TEXT[1:] + NOISE], [NOISE + TEXT[:4], TEXT[4:] + NOISE]]
    parted.append([NOISE + TEXT[:17], TEXT[17:18], TEXT[18:] + NOISE])
    for before in ([NOISE], [NOISE, b"\x90"], [bytes(3000)]):
        for frames in ([NOISE + TEXT], *parted):
            each = [*before, *frames]
            edges = [*accumulate(map(len, each), initial=0)]
            told = []
            for look in (
                lambda: Alac().odd(b"".join(each), edges[:-1], edges[1:]),  # noqa: B023
                lambda: blocks(b"".join(map(block, each)), {0x81: Usual(Alac(), LONGEST)}),  # noqa: B023
            ):
                with pytest.raises(Unreadable, match="text") as error:
                    look()
                told.append(str(error.value))
            assert told[0] == told[1]


def test_frames_that_were_seen_with_their_heads_are_not_looked_into() -> None:
    each = block(NOISE), block(NOISE + TEXT), block(NOISE)
    data = b"".join(each)
    second, third = len(each[0]), len(each[0] + each[1])
    tracks = {0x81: Usual(Alac(), LONGEST)}
    for base in (0, 40):
        bounds = base + blocks(data, {0x81: Usual(None, LONGEST)}).bounds(slice(0, 3))
        before = Part("structure", "x", 0, base)
        seen = Seen(Ledger("x", (before, woven("x", bounds))))
        assert blocks(data, tracks, base, (), seen).run(base, base + len(data)) == slice(0, 3)
        head = Part("structure", "x", base + second, int(bounds[3]))
        sound = Part("payload", "x", head.end, base + third)
        for some in ((head, sound), (head, sound._replace(clean=NOISE + TEXT))):
            others = woven("x", [*bounds[:2], *bounds[2:3].repeat(2)]), *some, woven("x", bounds[4:])
            with pytest.raises(Unreadable, match="text behind"):
                blocks(data, tracks, base, (), Seen(Ledger("x", (before, *others))))


def vint(value: int, width: int = 1) -> bytes:
    return (value | 1 << 7 * width).to_bytes(width, "big")


@pytest.mark.parametrize(
    ("kind", "head", "sizes"),
    [
        (2, b"\2\xff\x00\3", (255, 3, 9)),
        (2, b"\0", (9,)),
        (4, b"\2", (7, 7, 7)),
        (6, b"\2" + vint(100) + vint(63 + 20), (100, 120, 9)),
        (6, b"\3" + vint(300, 2) + vint(8191 - 299, 2) + vint(62), (300, 1, 0, 40)),
    ],
)
def test_frames_in_a_block_are_told_apart(kind: int, head: bytes, sizes: tuple[int, ...]) -> None:
    edges = laced(head + bytes(sum(sizes)), kind)
    assert [end - start for start, end in pairwise(edges)] == list(sizes)
    assert edges[0] == len(head)
    flags, clean = lace(sizes)
    edges = laced(clean + bytes(sum(sizes)), flags)
    assert [end - start for start, end in pairwise(edges)] == list(sizes)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (2, b""),
        (2, b"\1"),
        (2, b"\1\xff"),
        (2, b"\1\x09" + bytes(5)),
        (4, b"\1" + bytes(5)),
        (6, b"\1\0"),
        (6, b"\2\x81\x80"),
    ],
)
def test_frames_that_do_not_fit_are_damage(kind: int, body: bytes) -> None:
    with pytest.raises(ValueError, match="block"):
        laced(body, kind)


def test_what_holds_too_many_is_not_looked_at_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes a hundred bytes and more of memory; so does what looks like one."""
    monkeypatch.setattr(clusters, "_SMALL", 1000)
    many, few = block(b"s") * 200, (block(b"s") + make(0xEC, bytes(100))) * 200
    assert blocks(many, TRACKS) is None
    assert blocks(block(b"\x81\x81\x81\x80\x80\x80" * 200), TRACKS) is None
    assert blocks(few, TRACKS) is not None
    monkeypatch.setattr(clusters, "_SMALL", 1 << 20)
    assert blocks(many, TRACKS) is not None


@pytest.mark.parametrize("data", [b"", bytes(100), b"\xa3" * 100, b"\xff" * 100, b"\xa3\x80" * 50])
def test_other_bytes_hold_none(data: bytes) -> None:
    assert blocks(data, TRACKS).run(0, len(data)) == slice(0, 0)
