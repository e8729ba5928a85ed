"""Where text stands among bytes that ought to be sound.

Coded sound is as good as random, in which text of this length turns up once in ten million bytes.  What is found is
looked at closely by decoding; that would take too long for all of the sound.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from leakscan.model import Unreadable

LEAST = 20
"""Characters of ASCII in a row; of UTF-16, as there are more bytes to one, 16: a predictor of sound begins with up to
twelve numbers of two bytes, which may look like it."""

_WORD = 8
_TEXT = re.compile(rb"[\x20-\x7e]{20}|(?:[\x20-\x7e]\x00){16}|(?:\x00[\x20-\x7e]){16}")
_KINDS = bytes(1 if 0x20 <= byte < 0x7F else 2 if not byte else 0 for byte in range(256))
_NARROW, _WIDE, _WIDE_TOO = (int.from_bytes(kinds, sys.byteorder) for kinds in (b"\1" * 8, b"\1\2" * 4, b"\2\1" * 4))
_FEW = 5  # different bytes: silence is coded as the same bytes again and again
_AROUND = 31  # bytes around a word in which the rest of a text is


def texts(data: bytes) -> list[int]:
    """Where in `data` text begins, at least LEAST bytes of it; of longer text, also other places in it."""
    import numpy as np

    words = np.frombuffer(data, np.uint64, len(data) // _WORD)
    plain = np.flatnonzero(words & 0x8080808080808080 == 0)  # bytes of seven bits, one word in 256
    if not len(plain):
        return []
    rows = words[plain].view(np.uint8).reshape(-1, _WORD)
    kinds = np.frombuffer(_KINDS, np.uint8)[rows].view(np.uint64)[:, 0]
    alike = (kinds == _NARROW) | (kinds == _WIDE) | (kinds == _WIDE_TOO)
    starts = (_WORD * plain[alike]).tolist()
    found = (_TEXT.search(data, max(0, start - _AROUND), start + _WORD + _AROUND) for start in starts)
    return sorted({match.start() for match in found if match and len(set(match[0])) > _FEW})


TAIL = 64
"""Bytes at the end of a frame in which text is looked for that is shorter."""

_CERTAIN = 400
"""Tenths of a bit: text makes what stands there as many times likelier than noise does.

By Ville's inequality noise comes to that from any byte on once in 2^40 at most, as long as its bytes have odds of one
on average; with four tables and 64 bytes to begin at that is less than one frame in four thousand million, which are
28,000 hours of AAC.  Prose and hexadecimal digits come to it with about twelve characters, capitals and digits with
sixteen, Cyrillic with ten, Chinese with seven.
"""


def _table(*values: tuple[bytes, int]) -> bytes:
    """What each byte is translated to: 0 where nothing is said of it."""
    table = bytearray(256)
    for some, value in values:
        for byte in some:
            table[byte] = value
    return bytes(table)


_LETTERS = (b"aeinor ", b"dhlstu", b"bcfgkmpvwy")  # by how frequent they are in names and prose
_CAPITALS, _DIGITS, _OTHERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789", b"jqxz-_.,'()/:;&!?"
_PLAIN = b"".join((*_LETTERS, _CAPITALS, _DIGITS, _OTHERS))
_TWO, _THREE = b"\xc3\xce\xcf\xd0\xd1\xd7\xd8\xd9", bytes(range(0xE3, 0xEE))  # begin characters in UTF-8
_ODDS = (  # in tenths of a bit
    _table(*zip(_LETTERS, (40, 30, 20), strict=True)),
    _table((_CAPITALS + _DIGITS, 25)),
    _table((b"0123456789abcdef", 35)),
    _table(*zip(_LETTERS, (30, 20, 10), strict=True), (_TWO, 45), (_THREE, 60)),
)
_RUN = re.compile(rb"(?:[%b]|[%b][\x80-\xbf]|[%b][\x80-\xbf]{2}){7,}" % tuple(map(re.escape, (_PLAIN, _TWO, _THREE))))
_CHARACTER = re.compile(rb"[\x00-\xff][\x80-\xbf]*")
_WIDE_RUN = re.compile(rb"(?:[%b]\x00){8}|(?:\x00[%b]){8}" % (2 * (re.escape(_PLAIN),)))
_SORTS = _table((_PLAIN, 3), (_TWO + _THREE + bytes(range(0x80, 0xC0)), 2), (b"\0", 1))
_SIGNS = (b"\3" * 10, b"\3\1" * 7, b"\2" * 12)  # of text in ASCII, in UTF-16, and in UTF-8


def refuse_tails(block: bytes | bytearray, starts: Sequence[int], ends: Sequence[int], offset: int = 0) -> None:
    """Raise Unreadable where one of the frames in a block, which lies at `offset`, has text in its last bytes.

    That is no sound; but where the sound in front of it ends takes decoding it to find.
    """
    for index in telling(block, starts, ends)[:1]:
        raise Unreadable(
            f"text behind the sound of a frame, before byte {offset + ends[index]:,}, where only decoding could take it"
            " out; encode it again"
        )


def refuse_tails_between(block: bytes, edges: Sequence[int], but: Iterable[int] = ()) -> None:
    """The same of frames that lie from each of `edges` to the next, but for some of them by index."""
    starts, ends = edges[:-1], edges[1:]
    if some := set(but):
        others = [index not in some for index in range(len(ends))]
        starts, ends = list(compress(starts, others)), list(compress(ends, others))
    refuse_tails(block, starts, ends)


def telling(block: bytes | bytearray, starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The indexes of the frames in a block that have text in their last bytes."""
    tails = [block[end - TAIL : end] if end >= TAIL else block[:end].rjust(TAIL, b"\xff") for end in ends]
    sorts = b"".join(tails).translate(_SORTS)
    if not any(map(sorts.__contains__, _SIGNS)):  # so with most
        return []
    some = {place // TAIL for sign in _SIGNS for place in _places(sorts, sign)}
    some |= {index + 1 for index in some}  # as it may begin in the one before
    frames = enumerate(zip(starts, ends, strict=True))
    return [index for index, (start, end) in frames if index in some and reads(block[max(start, end - TAIL) : end])]


def _places(sorts: bytes, sign: bytes) -> Iterator[int]:
    """Where a sign is, in no tail more than once."""
    place = sorts.find(sign)
    while place >= 0:
        yield place
        place = sorts.find(sign, (place // TAIL + 1) * TAIL)


def reads(tail: bytes | bytearray) -> bool:
    """Whether there is text in the last bytes of a frame, TAIL of them or fewer."""
    if not any(map(tail.translate(_SORTS).__contains__, _SIGNS)):  # so with most
        return False
    if any(_odds(match[0]) >= _CERTAIN for match in _RUN.finditer(tail)):
        return True
    wide = _WIDE_RUN.search(tail)
    return wide is not None and len(set(wide[0])) > _FEW


def _odds(run: bytes | bytearray) -> int:
    """How much likelier a run is in text than in noise; each character counts twice at most, as coded sound is not
    quite noise: codes repeat themselves."""
    counts = Counter[bytes](_CHARACTER.findall(run)).items()
    return max(sum(odds[character[0]] * min(count, 2) for character, count in counts) for odds in _ODDS)
