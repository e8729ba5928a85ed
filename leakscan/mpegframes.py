"""Headers of MPEG audio frames, layers I to III.  Source: ISO/IEC 11172-3 section 2.4 and 13818-3 section 2.4."""

from __future__ import annotations

import functools
from typing import NamedTuple

_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}  # by version bits; Hz
_BITRATES = {  # kbit/s, by MPEG-1 and layer
    (True, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}


class Header(NamedTuple):
    """A frame header."""

    mpeg1: bool
    layer: int
    bitrate: int  # kbit/s; 0: free format
    rate: int  # Hz
    padding: int  # bytes
    mode: int  # 0 stereo, 1 joint, 2 dual, 3 mono
    extension: int
    crc: bool
    fixed: int  # what does not change within a stream

    @property
    def length(self) -> int:
        """The bytes of the frame; 0 of one of free format, which does not say."""
        if not self.bitrate:
            return 0
        if self.layer == 1:
            return 12000 * self.bitrate // self.rate * 4 + self.padding
        return (144000 if self.mpeg1 or self.layer == 2 else 72000) * self.bitrate // self.rate + self.padding

    @property
    def channels(self) -> int:
        return 1 if self.mode == 3 else 2

    @property
    def begin(self) -> int:
        """Where in the frame the side information begins, or the bit allocation."""
        return 6 if self.crc else 4

    @property
    def side(self) -> int:
        """The bytes of the side information, which layer III alone has."""
        if self.layer != 3:
            return 0
        return (17, 32)[self.channels - 1] if self.mpeg1 else (9, 17)[self.channels - 1]

    @property
    def body(self) -> int:
        """Where in the frame the main data begin, or the bit allocation."""
        return self.begin + self.side


@functools.lru_cache(maxsize=1 << 10)
def header_of(four: bytes) -> Header | None:
    """The frame header in four bytes, None if it is not a valid one (11172-3, 2.4.2.3)."""
    if len(four) < 4 or four[0] != 0xFF or four[1] & 0xE0 != 0xE0:
        return None
    version, layer = four[1] >> 3 & 3, 4 - (four[1] >> 1 & 3)
    bitrate, rate = four[2] >> 4, four[2] >> 2 & 3
    if version == 1 or layer == 4 or bitrate == 15 or rate == 3 or four[3] & 3 == 2:
        return None
    return Header(
        mpeg1=version == 3,
        layer=layer,
        bitrate=_BITRATES[version == 3, layer][bitrate - 1] if bitrate else 0,
        rate=_RATES[version][rate],
        padding=(four[2] >> 1 & 1) * (4 if layer == 1 else 1),
        mode=four[3] >> 6,
        extension=four[3] >> 4 & 3,
        crc=not four[1] & 1,
        fixed=(four[1] & 0xFE) << 8 | (four[2] & 0x0C) | (bitrate == 0),
    )
