"""Where text stands among bytes that ought to be sound.

Coded sound is as good as random, in which text of this length turns up once in ten million bytes.  What is found is
looked at closely by decoding; that would take too long for all of the sound.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from leakscan.model import Unreadable

if TYPE_CHECKING:
    from leakscan.rows import Bytes, Whole

LEAST = 20
"""Characters of ASCII in a row; of UTF-16, as there are more bytes to one, 16: a predictor of sound begins with up to
twelve numbers of two bytes, which may look like it."""

_WORD = 8
_WINDOW = 1 << 15  # words; what is worked out of so many fits the cache of the processor
_KINDS = bytes(1 if 0x20 <= byte < 0x7F else 2 if not byte else 0 for byte in range(256))
_TEXTS = (b"\1" * LEAST, b"\1\2" * 16, b"\2\1" * 16)  # of such bytes
_NARROW, _WIDE, _WIDE_TOO = (int.from_bytes(kinds[:_WORD], sys.byteorder) for kinds in _TEXTS)
_FEW = 5  # different bytes: silence is coded as the same bytes again and again
_AROUND = 31  # bytes around a word in which the rest of a text is
_NEAR = _AROUND // _WORD  # words
_PIECE = _AROUND + _WORD + _AROUND + 1  # with a byte between it and the next one


def texts(data: bytes | bytearray) -> list[int]:
    """Where in `data` text begins, at least LEAST bytes of it; of longer text, also other places in it."""
    starts = _word_starts(data)
    begins = [max(0, start - _AROUND) for start in starts]
    pieces = [data[begin : start + _WORD + _AROUND] for begin, start in zip(begins, starts, strict=True)]
    kinds = b"".join([piece.ljust(_PIECE, b"\xff") for piece in pieces]).translate(_KINDS)
    found = set()
    for text in _TEXTS:
        for place in _places(kinds, text, _PIECE):
            index, first = divmod(place, _PIECE)
            last = kinds.rfind(text, place, (index + 1) * _PIECE) % _PIECE  # text may stand behind what fills up
            for own in (first, last):
                if len(set(pieces[index][own : own + len(text)])) > _FEW:
                    found.add(begins[index] + own)
                    break
    return sorted(found)


def _word_starts(data: bytes | bytearray) -> list[int]:
    """Where words begin that could be text or are beside it; all words of text are among them, but for filler."""
    import numpy as np

    words = np.frombuffer(data, np.uint64, len(data) // _WORD)
    plain = np.concatenate([  # bytes of seven bits, one word in 256
        first + np.flatnonzero(words[first : first + _WINDOW] & 0x8080808080808080 == 0)
        for first in range(0, len(words) or 1, _WINDOW)
    ])  # fmt: skip
    plain = plain[words[plain] & 0x6060606060606060 != 0]  # silence is often coded as zeros
    kinds = np.frombuffer(words[plain].tobytes().translate(_KINDS), np.uint64)
    some = (kinds == _NARROW) | (kinds == _WIDE) | (kinds == _WIDE_TOO)
    plain, kinds = plain[some], kinds[some]
    halves = np.frombuffer(data, np.uint32, len(data) // 4)
    beside = halves.take(2 * plain[:, np.newaxis] + (-2, -1, 2, 3), mode="wrap").tobytes().translate(_KINDS)
    alike = (np.frombuffer(beside, np.uint32).reshape(-1, 4) == kinds[:, np.newaxis] & 0xFFFFFFFF).view(np.uint32)[:, 0]
    whole = plain[alike & alike >> 8 != 0]  # in LEAST bytes there is a word with two such halves, one after the other
    if not len(whole):
        return []
    word = words[plain]
    same = (np.diff(plain) == 1) & (word[1:] == word[:-1])
    filler = np.append(same, False) | np.append(False, same)  # 16 times the same byte; text has other words, too
    filler &= word == (word & 0xFF) * 0x0101010101010101
    plain = plain[~filler]
    near = np.searchsorted(whole, plain - _NEAR) < np.searchsorted(whole, plain + _NEAR, "right")
    starts: list[int] = (_WORD * plain[near]).tolist()
    return starts


_MANY = 16  # frames: from so many on it takes less time to look at them together than one by one

TAIL = 64
"""Bytes at the end of a frame in which text is looked for that is shorter."""

_CERTAIN = 400
"""Tenths of a bit: text makes what stands there as many times likelier than noise does.

By Ville's inequality noise comes to that from any byte on once in 2^40 at most, as long as its bytes have odds of one
on average; with four tables and 64 bytes to begin at that is less than one frame in four thousand million, which are
28,000 hours of AAC.  Prose and hexadecimal digits come to it with about twelve characters, capitals and digits with
sixteen, Cyrillic with ten, Chinese with seven.
"""


_BURIED = 500
"""The same of text anywhere in a frame: by the same reckoning, noise comes to that once in 280 terabytes."""

_SHORT = 1 << 14  # bytes


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
_SIGNS = (b"\3" * 10, b"\3\1" * 7, b"\2" * 12)
"""Of text in ASCII, in UTF-16 and in UTF-8."""
_LEAST_ALIKE = min(map(len, _SIGNS))


def refuse_tails(
    block: bytes | bytearray,
    starts: Sequence[int] | Whole,
    ends: Sequence[int] | Whole,
    offset: int | None = None,
    but: Iterable[int] = (),
) -> None:
    """Raise Unreadable where one of the frames in a block, which lies at `offset` of the file, has text in its last
    bytes, or long text anywhere; in those that `but` has by index, it may be.

    That is no sound; but where the sound in front of it ends takes decoding it to find.
    """
    if left_out := [*but]:
        import numpy as np

        starts, ends = np.delete(starts, left_out), np.delete(ends, left_out)
    _refuse(ends, telling(block, starts, ends), offset)
    refuse_buried(block, starts, ends, offset)


def refuse_tails_between(block: bytes, edges: Sequence[int] | Whole, but: Iterable[int] = ()) -> None:
    """The same of frames that lie from each of `edges` to the next."""
    refuse_tails(block, edges[:-1], edges[1:], but=but)


def refuse_buried(
    block: bytes | bytearray, starts: Sequence[int] | Whole, ends: Sequence[int] | Whole, offset: int | None = None
) -> None:
    """Raise Unreadable where one of the frames has long text anywhere."""
    _refuse(ends, buried(block, starts, ends), offset, "in")


def _refuse(ends: Sequence[int] | Whole, some: Sequence[int], offset: int | None, where: str = "behind") -> None:
    if some:
        place = "" if offset is None else f", before byte {offset + ends[min(some)]:,}"
        raise Unreadable(
            f"text {where} the sound of a frame{place}, where only decoding could take it out; encode it again"
        )


def telling(block: bytes | bytearray, starts: Sequence[int] | Whole, ends: Sequence[int] | Whole) -> list[int]:
    """The indexes of the frames in a block, which ascend, that have text in their last bytes."""
    if len(ends) < _MANY:
        return [
            index
            for index, (start, end) in enumerate(zip(starts, ends, strict=True))
            if reads(block[max(start, end - TAIL) : end])
        ]
    import numpy as np

    tails = last_bytes(block, np.asarray(ends, np.int64))
    some = np.flatnonzero(_alike(tails))
    sorts = tails[some].tobytes().translate(_SORTS)
    some = some[sorted({place // TAIL for sign in _SIGNS for place in _places(sorts, sign, TAIL)})].tolist()
    return [index for index in some if reads(block[max(starts[index], ends[index] - TAIL) : ends[index]])]


def last_bytes(block: bytes | bytearray, ends: Whole) -> Bytes:
    """The last TAIL bytes of each frame, and of those before it where it is shorter; bytes of all ones where there are
    none."""
    import numpy as np

    if len(block) < TAIL:
        block, ends = block.rjust(TAIL, b"\xff"), ends + TAIL - len(block)
    rows = np.ndarray((len(block) - TAIL + 1,), f"V{TAIL}", block, 0, (1,))  # the bytes from each place on
    found = rows[np.maximum(ends - TAIL, 0)]
    few = int(np.searchsorted(ends, TAIL))  # before which not so many bytes are there
    found[:few] = np.frombuffer(b"".join([block[:end].rjust(TAIL, b"\xff") for end in ends[:few]]), found.dtype)
    as_bytes: Bytes = found.view(np.uint8).reshape(-1, TAIL)
    return as_bytes


def buried(block: bytes | bytearray, starts: Sequence[int] | Whole, ends: Sequence[int] | Whole) -> list[int]:
    """The indexes of the frames in a block, which ascend, that have text of LEAST characters of ASCII anywhere."""
    if len(block) < _SHORT and b"\1" * LEAST not in block.translate(_KINDS):  # quicker than to look for places
        return []
    found = []
    for place in texts(block):
        index = bisect_right(starts, place) - 1
        for own in range(max(0, index), min(index + 2, len(ends))):  # its first bytes may be the last of another frame
            runs = _RUN.finditer(block, max(place, int(starts[own])), min(place + TAIL, int(ends[own])))
            if any(_odds(run[0]) >= _BURIED for run in runs):
                found.append(own)
    return found


def _alike(tails: Whole) -> Whole:
    """In which rows of TAIL bytes _LEAST_ALIKE in a row are of seven bits, or all of eight, as in every sign; of two
    neighbours one at most is no character."""
    import numpy as np

    high, shown = (np.packbits(some, bitorder="little").view("<u8") for some in (tails > 0x7F, tails > 0x1F))
    flags: Whole = ~(high ^ high >> 1) & (shown | shown >> 1)  # a byte and the next one
    known = 1
    while known < _LEAST_ALIKE - 1:
        step = min(known, _LEAST_ALIKE - 1 - known)
        flags &= flags >> step
        known += step
    return flags


def _places(sorts: bytes, sign: bytes, width: int) -> Iterator[int]:
    """Where a sign is, in no row of `width` bytes more than once."""
    place = sorts.find(sign)
    while place >= 0:
        yield place
        place = sorts.find(sign, (place // width + 1) * width)


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
    counts = Counter(_CHARACTER.findall(run)).items()
    firsts = b"".join([character[:1] * min(count, 2) for character, count in counts])
    return max(sum(firsts.translate(odds)) for odds in _ODDS)
