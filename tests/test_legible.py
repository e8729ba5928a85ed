"""Text among bytes that ought to be sound."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from leakscan import legible
from leakscan.model import Unreadable

TEXT = "quillfeather-marrow-4711"


@pytest.mark.parametrize("code", ["ascii", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("before", range(20))
def test_text_is_found_wherever_it_begins(code: str, before: int) -> None:
    text = TEXT.encode(code)
    assert legible.texts(b"\x80" * before + text + b"\x80" * 30)[:1] == [before]
    assert legible.texts(b"\x80" * before + text)[:1] == [before]


@pytest.mark.parametrize("count", range(40))
def test_text_is_found_in_front_of_bytes_that_fill_up(count: int) -> None:
    for before in range(8):
        data = b"\x80" * before + TEXT.encode() + b"N" * count + b"\x80" * 30
        assert legible.texts(data)[:1] == [before]
    assert legible.texts(b"\x80" * 9 + b"N" * count + b"\x80" * 30) == []


@pytest.mark.parametrize("code", ["ascii", "utf-16-le"])
@pytest.mark.parametrize("count", range(0, 70, 3))
def test_text_is_found_behind_bytes_that_fill_up(count: int, code: str) -> None:
    for before in range(8):
        assert legible.texts(b"\x80" * (32 + before) + ("N" * count + TEXT).encode(code) + b"\x80" * 30)


@pytest.mark.parametrize("code", ["ascii", "utf-16-le", "utf-16-be"])
def test_what_is_shorter_is_none(code: str) -> None:
    text = TEXT[: 19 if code == "ascii" else 15].encode(code)
    assert legible.texts(b"\x80" * 9 + text + b"\x80" * 9) == []


def test_random_bytes_hold_none() -> None:
    luck = random.Random(4711)
    assert legible.texts(luck.randbytes(1 << 20)) == []
    assert legible.texts(b"") == []
    assert legible.texts(bytes(1 << 16)) == []


def refused(*frames: bytes) -> list[int]:
    """As few frames, and as many that are looked at together."""
    ends = list(itertools.accumulate(map(len, frames)))
    found = legible.telling(b"".join(frames), [0, *ends[:-1]], ends)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(legible, "_MANY", 0)
        assert legible.telling(b"".join(frames), [0, *ends[:-1]], ends) == found
    return found


@pytest.mark.parametrize("code", ["ascii", "utf-16-le", "utf-16-be"])
def test_text_with_which_a_frame_ends_is_refused(code: str) -> None:
    frames = [bytes(range(140, 220)), b"\x80\x81" + TEXT.encode(code), bytes(range(130, 230))]
    ends = list(itertools.accumulate(map(len, frames)))
    with pytest.raises(Unreadable, match=f"before byte {1000 + ends[1]:,}, .*; encode it again"):
        legible.refuse_tails(b"".join(frames), [0, *ends[:-1]], ends, 1000)
    legible.refuse_tails(b"".join(frames), [0, ends[1]], [ends[0], ends[2]])  # text of the frame in between


NOISE = random.Random(4711).randbytes(300)


@pytest.mark.parametrize("behind", [b"", b"S!", b"\0", b"\xff", "\xc4".encode(), bytes(12), NOISE[:15]])
@pytest.mark.parametrize(
    "text",
    [
        *(TEXT.encode(code) for code in ("ascii", "utf-16-le", "utf-16-be")),
        b"Miles Ahead of Us",
        b"two grey herons",
        b"GBAYE0601498/GBAYE0601499",
        b"9f86d081884c7d65",
        "два журавля".encode(),
        "二羽の鷺が飛ぶ".encode(),
    ],
)
def test_short_text_is_found_near_the_end_of_a_frame(text: bytes, behind: bytes) -> None:
    assert refused(NOISE, NOISE + text + behind, NOISE) == [1]
    assert refused(text + behind, NOISE) == [0]
    assert refused(NOISE + text + NOISE[:64]) == []  # further away


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TEXT.encode(), True),
        (b"The Hobnail Quartet - Crooked Teaspoons", True),
        (b"1b4e28ba-2fa1-4d2e-883f-b9a761bde3fb", True),
        (b"two grey herons", False),  # too short to be told from noise wherever it stands
        (b"UUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUU", False),
        (b"abcdefababcdefababcdefababcdefab", False),
        (TEXT.encode("utf-16-le"), False),  # quiet samples look like it
    ],
)
@pytest.mark.parametrize("noise", [NOISE, random.Random(4712).randbytes(1 << 14)], ids=["short", "long"])
def test_long_text_is_found_anywhere_in_a_frame(text: bytes, found: bool, noise: bytes) -> None:
    frames = [noise, noise + text + noise, noise]
    ends = list(itertools.accumulate(map(len, frames)))
    starts = [0, *ends[:-1]]
    assert set(legible.buried(b"".join(frames), starts, ends)) == ({1} if found else set())
    if found:
        with pytest.raises(Unreadable, match=f"text in the sound of a frame, before byte {ends[1]:,}, "):
            legible.refuse_tails(b"".join(frames), starts, ends, 0)
        with pytest.raises(Unreadable, match="text in the sound of a frame, where"):
            legible.refuse_tails_between(b"".join(frames), [*starts, ends[-1]])
        legible.refuse_tails_between(b"".join(frames), [*starts, ends[-1]], [1])
        legible.refuse_tails(b"".join(frames), [0, ends[1]], [ends[0], ends[2]])  # between the two


def test_long_text_over_two_frames_is_of_neither() -> None:
    middle, data = len(NOISE) + 12, NOISE + TEXT.encode() + NOISE
    assert legible.buried(data, [0, middle], [middle, len(data)]) == []


@pytest.mark.parametrize("before", [b"", b"x", b"xyz seven"])
def test_long_text_at_the_start_of_a_frame_whatever_the_one_before_ends_with(before: bytes) -> None:
    ahead = NOISE + before
    data = ahead + TEXT.encode() + NOISE
    assert set(legible.buried(data, [0, len(ahead)], [len(ahead), len(data)])) == {1}
    assert set(legible.buried(data, [len(ahead)], [len(data)])) == {0}


def test_text_goes_on_behind_a_frame_that_is_left_out() -> None:
    data, start = NOISE + TEXT.encode() + NOISE, len(NOISE) + 1
    edges = [0, start, start, len(data)]
    with pytest.raises(Unreadable, match="in the sound of a frame"):
        legible.refuse_tails_between(data, edges, [1])
    legible.refuse_tails_between(data, edges, [1, 2])


def test_what_is_shorter_could_be_sound() -> None:
    for text in (b"two grey", b"GBAYE0601498", "журавля".encode(), "鷺が飛ぶ".encode(), "seven c".encode("utf-16-le")):
        assert refused(NOISE + text) == []


def test_text_over_two_frames_is_of_neither() -> None:
    assert refused(NOISE + TEXT[:8].encode(), TEXT[8:16].encode() + NOISE[:70]) == []


def test_frames_that_are_looked_at_together_are_none_or_short() -> None:
    assert refused(b"") == refused(b"", b"x") == []
    assert refused(*[NOISE[:20]] * 100, TEXT.encode(), b"", *[NOISE[:70]] * 100) == [100]


def test_the_last_bytes_of_each_frame() -> None:
    for data in (bytes(range(100)), bytes(range(20))):
        ends = np.array([0, 7, 7, len(data) - 1, len(data)])
        assert [row.tobytes() for row in legible.last_bytes(data, ends)] == [
            data[:end][-legible.TAIL :].rjust(legible.TAIL, b"\xff") for end in ends
        ]


def test_odds_of_noise_are_one_at_most() -> None:
    """What the rate of false alarms rests on: the odds of a character of noise, on average."""
    single = set(legible._PLAIN)
    double, triple = (
        len(some) * 64**more / 256 ** (more + 1) for more, some in ((1, legible._TWO), (2, legible._THREE))
    )
    assert len(single) == len(legible._PLAIN)
    for table in legible._ODDS:
        odds = sum(2 ** (table[byte] / 10) for byte in single) / 256
        odds += double * 2 ** (table[legible._TWO[0]] / 10) + triple * 2 ** (table[legible._THREE[0]] / 10)
        assert 0.9 < odds < 1


def test_filler_is_no_text() -> None:
    """Silence, and a code again and again, as an encoder of AAC wrote it, are coded so."""
    codes = bytes.fromhex("06352c382a190c2c2c2c0f15c021616161616161616161616161766cd9b366cd9b0ac0")
    for filler in (
        b"U" * 90,
        b"LA" * 50,
        bytes(90),
        b"\x80" * 90,
        b"aaaaaaaaaaeeeeeeeeeeenn" * 3,
        b"vl\xd9\xb3f\xcd\x9b" * 9,
    ):
        assert refused(filler, filler[:50]) == []
    assert refused(codes) == []
