"""Where text stands among bytes that ought to be sound.

Coded sound is as good as random, in which text of this length turns up once in ten million bytes.  What is found is
looked at closely by decoding; that would take too long for all of the sound.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

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


TAIL = 20
"""Bytes at the end of a frame that `refuse_tails` looks at."""

_WORDS = rb"[A-Za-z0-9 _.,:;'/()-]"
_ENDS = re.compile(rb"%b{20}\Z|(?:%b\x00){10}\Z|(?:\x00%b){10}\Z" % (3 * (_WORDS,)))
_WORDY = bytes(byte == 0 or re.match(_WORDS, bytes([byte])) is not None for byte in range(256))


def refuse_tails(block: bytes | bytearray, ends: Iterable[int], offset: int = 0) -> None:
    """Raise Unreadable where one of the frames that end at `ends` of a block, which lies at `offset`, ends in text.

    That is no sound, of which it would happen once in a hundred thousand million frames; but where the sound in front
    of it ends takes decoding it to find.
    """
    for end in ends:
        if end >= TAIL and _WORDY[block[end - 1]] and _WORDY[block[end - 12]] and _WORDY[block[end - 19]]:
            piece = block[end - TAIL : end]
            if _ENDS.match(piece) and len(set(piece)) > _FEW:
                raise Unreadable(
                    f"text behind the sound of a frame, before byte {offset + end:,}, where only decoding could take it"
                    " out; encode it again"
                )
