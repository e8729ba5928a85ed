"""Text in the elements of an AAC frame that decoders pass over: fill elements and data stream elements.

Encoders put their name there, in the first frame.  Only the elements a frame begins with are looked at: where those
behind the sound begin is known only after decoding it.
Source: ISO/IEC 14496-3 section 4.4.2 (raw_data_block, data_stream_element, fill_element, extension_payload).
"""

from __future__ import annotations

import re

_DATA, _FILL = 4, 6  # element identifiers
_EMPTY_TYPES = (0, 1, 2)  # of fill elements: nothing, nothing, data; others (SBR, dynamic range) are for decoders
_DELAY = re.compile(rb"libfaac \d+\.\d+")  # decoders derive from this one how much to skip

STARTS = (_DATA, _FILL)
"""What the first three bits of a frame are where it begins with such an element."""


def blanked(frame: bytes) -> bytes:
    """The frame with zeros in the elements it begins with; the same object where they say nothing."""
    changed: int | None = None
    width = 8 * len(frame)
    at = 0
    while at + 7 <= width and (element := _bits(frame, at, 3)) in STARTS:
        start, end, free = (_data if element == _DATA else _fill)(frame, at)
        if end > width:
            break
        at = end
        if free and start < end and _says_something(frame, start, end, element == _FILL):
            changed = int.from_bytes(frame, "big") if changed is None else changed
            changed &= ~(((1 << (end - start)) - 1) << (width - end))
    return frame if changed is None else changed.to_bytes(len(frame), "big")


def _bits(data: bytes, start: int, count: int) -> int:
    end = start + count
    covering = int.from_bytes(data[start // 8 : (end + 7) // 8], "big")
    return covering >> (-end % 8) & ((1 << count) - 1)


def _data(frame: bytes, at: int) -> tuple[int, int, bool]:
    """Where the bytes of the data stream element at bit `at` begin and end, and that they are free to hold anything."""
    aligned, count = _bits(frame, at + 7, 1), _bits(frame, at + 8, 8)
    start = at + 16
    if count == 255:
        count += _bits(frame, start, 8)
        start += 8
    if aligned:
        start += -start % 8
    return start, start + 8 * count, True


def _fill(frame: bytes, at: int) -> tuple[int, int, bool]:
    """The same of a fill element, with its type; some types are no mere fill."""
    count, start = _bits(frame, at + 3, 4), at + 7
    if count == 15:
        count += _bits(frame, start, 8) - 1
        start += 8
    return start, start + 8 * count, _bits(frame, start, 4) in _EMPTY_TYPES


def _says_something(frame: bytes, start: int, end: int, fill: bool) -> bool:
    held, count = _bits(frame, start, end - start), (end - start) // 8
    if fill and held == int.from_bytes(b"\x10" + b"\xa5" * (count - 1), "big"):
        return False  # as the standard wants it filled
    shifted = ((held << shift).to_bytes(count + 1, "big").strip(b"\x00") for shift in range(8))
    return bool(held) and not any(map(_DELAY.fullmatch, shifted))
