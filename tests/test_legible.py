"""Text among bytes that ought to be sound."""

from __future__ import annotations

import itertools
import random

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


@pytest.mark.parametrize("code", ["ascii", "utf-16-le", "utf-16-be"])
def test_what_is_shorter_is_none(code: str) -> None:
    text = TEXT[: 19 if code == "ascii" else 15].encode(code)
    assert legible.texts(b"\x80" * 9 + text + b"\x80" * 9) == []


def test_random_bytes_hold_none() -> None:
    luck = random.Random(4711)
    assert legible.texts(luck.randbytes(1 << 20)) == []
    assert legible.texts(b"") == []
    assert legible.texts(bytes(1 << 16)) == []


@pytest.mark.parametrize("code", ["ascii", "utf-16-le", "utf-16-be"])
def test_text_with_which_a_frame_ends_is_refused(code: str) -> None:
    frames = [bytes(range(100, 180)), b"\x80\x81" + TEXT.encode(code), bytes(range(90, 190))]
    ends = list(itertools.accumulate(map(len, frames)))
    with pytest.raises(Unreadable, match=f"before byte {1000 + ends[1]:,}, .*; encode it again"):
        legible.refuse_tails(b"".join(frames), ends, 1000)
    legible.refuse_tails(b"".join(frames), [ends[0], ends[1] - 5 + 24, ends[2]])
    legible.refuse_tails(b"\x80" + TEXT.encode()[:19], [20])


def test_filler_is_no_text() -> None:
    for filler in (b"U" * 90, b"LA" * 50, bytes(90), b"\x80" * 90):
        legible.refuse_tails(filler, range(len(filler) + 1))
