"""Headers of AC-3 and E-AC-3 frames.  Source: ATSC A/52:2018 sections 5.3.1 and 5.4.1, annex E section E.2.2.1."""

from __future__ import annotations

from leakscan.blocks import Frame

HEADER = 6
"""Bytes that `header_of` needs."""

_SHORTEST = 64  # bytes, of a frame of E-AC-3; no encoder makes such
_RATES = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640)  # kbit/s
_SAMPLES = (48000, 44100, 32000)  # Hz, by fscod


def header_of(head: bytes) -> Frame | None:
    """The frame that `head` begins; None if it is no valid one."""
    if len(head) < HEADER or head[:2] != b"\x0b\x77":
        return None
    version, rate = head[5] >> 3, head[4] >> 6  # bsid and fscod lie at one place in both
    if version > 16:
        return None
    if version > 10:
        length = 2 * ((head[2] & 7) << 8 | head[3]) + 2
        return Frame(length, rate) if head[2] >> 6 < 3 and length >= _SHORTEST else None
    code = head[4] & 63
    if rate == 3 or code >= 2 * len(_RATES):
        return None
    words = _RATES[code >> 1] * 96000 // _SAMPLES[rate]  # 1,536 samples, 16 bits
    return Frame(2 * (words + (code & 1 if rate == 1 else 0)), rate)
