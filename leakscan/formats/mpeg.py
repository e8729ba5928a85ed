"""MPEG audio, layers I to III: `.mp3`.

Sources: ISO/IEC 11172-3 section 2.4 and 13818-3 (frame header, side information), the Xing and LAME header
(gabriel.mp3-tech.org/mp3infotag.html), VBRI (codeproject.com, "MPEG Audio Frame Header").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from leakscan.blocks import Frame, Walk, after_id3, at, audio_item, cut, damaged, peel, walk_frames
from leakscan.model import Entry, Item, Tags
from leakscan.tags import read_tags

AUDIO = True
NAMES = (".mp3", ".mp2", ".mp1", ".mpga")

_SYNC = re.compile(rb"\xff[\xe2-\xff][\x00-\xef]|ID3|APETAGEX")
_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}  # by version bits; Hz
_BITRATES = {  # kbit/s, by MPEG-1 and layer
    (True, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_FREE_MOST = 4 << 10  # the longest frame of free format is below 3 kB (640 kbit/s at 32 kHz)


class _Header(NamedTuple):
    mpeg1: bool
    layer: int
    bitrate: int  # kbit/s; 0: free format
    rate: int  # Hz
    padding: int  # bytes
    mono: bool
    crc: bool
    fixed: int  # what does not change within a stream


class _Count(NamedTuple):
    frames: int
    size: int
    encoder: str


def sniff(head: bytes) -> bool:
    """Two valid frame headers, the second where the first says, after ID3v2 tags and zeros; or an ID3v2 tag that ends
    beyond `head`."""
    start = after_id3(head)
    if start and start >= len(head):
        return True
    body = head[start:].lstrip(b"\x00")
    frame = _parser(_free_length(body))(body[:4])
    if frame is None:
        return False
    rest = body[frame.length :]
    following = _parser(frame.length)(rest[:4]) if len(body) >= frame.length else None
    ends = len(body) == frame.length or rest[:3] in (b"TAG", b"ID3") or rest[:8] == b"APETAGEX"
    return ends or (following is not None and following.fixed == frame.fixed)


def read(entry: Entry) -> Iterator[Item]:
    """The tags of an MPEG audio file.  Raises Unreadable where it is cut or no MPEG audio."""
    return audio_item(entry, _read)


def _read(stream: BinaryIO) -> Tags:
    peeled = peel(stream)
    start = peeled.start
    while not (block := at(stream, start, min(1 << 16, peeled.end - start))).strip(b"\x00") and block:
        start += len(block)
    start += len(block) - len(block.lstrip(b"\x00"))
    _refuse_others(at(stream, start, 4))
    parse = _parser(_free_length(at(stream, start, 3 * _FREE_MOST)))
    walk = walk_frames(stream, start, peeled.end, 4, _SYNC, parse)
    if walk.first is None:
        raise damaged("no MPEG audio frame in it")
    header = _header(at(stream, walk.first, 4))
    assert header is not None
    count = _count(at(stream, walk.first, 256), header)
    _check(stream, walk, peeled.end, count)
    spans = (*peeled.tags, *walk.tags, *walk.junk)
    tags = [pair for span in spans for pair in read_tags(stream, *span)]
    if count.encoder:
        tags.append(("mp3.encoder", count.encoder))
    return Tags("mp3", tuple(dict.fromkeys(tags)))


def _refuse_others(magic: bytes) -> None:
    for other, name in ((b"fLaC", "FLAC"), (b"OggS", "Ogg"), (b"RIFF", "RIFF")):
        if magic == other:
            raise damaged(f"a {name} stream behind an ID3v2 tag, which that format does not have")


def _check(stream: BinaryIO, walk: Walk, end: int, count: _Count) -> None:
    """Raise Unreadable where the frames do not reach what the Xing, Info or VBRI header counts.

    Some writers count the header's own frame, too (mp3splt issue 338); then the number of bytes tells.  Without a
    count, the last frame tells.
    """
    assert walk.first is not None
    if count.frames or count.size:
        frames, size = walk.count - 1, end - walk.first
        if not (0 < count.frames <= frames or 0 < count.size <= size):
            raise cut(
                f"its header counts {count.frames:,} frames and {count.size:,} bytes, {frames:,} and {size:,} are there"
            )
    elif walk.partial:
        length = walk.partial.end - walk.partial.start
        there = end - walk.partial.start
        if not _all_needed(at(stream, walk.partial.start, min(64, there)), there):
            raise cut(f"{there:,} of the {length:,} bytes of its last frame are there")


def _all_needed(frame: bytes, there: int) -> bool:
    """Do the first `there` bytes of a frame end where its audio ends?

    Old encoders write the last frame without the stuffing after it, and shine may leave up to three bytes unwritten
    (toots/shine issue 37).  The audio of a layer III frame begins `main_data_begin` bytes before the end of its side
    information and has the sum of all `part2_3_length` bits (11172-3, 2.4.1.7).
    """
    header = _header(frame[:4])
    if header is None or header.layer != 3:
        return False
    side = _side_size(header)
    start = 4 + (2 if header.crc else 0)
    if len(frame) < start + side:
        return False
    bits = int.from_bytes(frame[start : start + side], "big")
    left = side * 8

    def take(count: int) -> int:
        nonlocal left
        left -= count
        return bits >> left & (1 << count) - 1

    begin = take(9 if header.mpeg1 else 8)
    channels = 1 if header.mono else 2
    granules = 2 if header.mpeg1 else 1
    take({(True, 1): 5, (True, 2): 3, (False, 1): 1, (False, 2): 2}[header.mpeg1, channels])
    if header.mpeg1:
        take(4 * channels)  # scfsi
    needed = 0
    for _ in range(granules * channels):
        needed += take(12)  # part2_3_length
        take(47 if header.mpeg1 else 51)
    audio = max(0, (needed + 7) // 8 - begin)
    return -3 <= there - (start + side + audio) <= 3


def _side_size(header: _Header) -> int:
    if header.mpeg1:
        return 17 if header.mono else 32
    return 9 if header.mono else 17


def _header(four: bytes) -> _Header | None:
    """The frame header in four bytes, None if it is not a valid one (11172-3, 2.4.2.3)."""
    if len(four) < 4 or four[0] != 0xFF or four[1] & 0xE0 != 0xE0:
        return None
    version, layer = four[1] >> 3 & 3, 4 - (four[1] >> 1 & 3)
    bitrate, rate = four[2] >> 4, four[2] >> 2 & 3
    if version == 1 or layer == 4 or bitrate == 15 or rate == 3 or four[3] & 3 == 2:
        return None
    return _Header(
        mpeg1=version == 3,
        layer=layer,
        bitrate=_BITRATES[version == 3, layer][bitrate - 1] if bitrate else 0,
        rate=_RATES[version][rate],
        padding=(four[2] >> 1 & 1) * (4 if layer == 1 else 1),
        mono=four[3] >> 6 == 3,
        crc=not four[1] & 1,
        fixed=(four[1] & 0xFE) << 8 | (four[2] & 0x0C) | (bitrate == 0),
    )


def _parser(free: int) -> Callable[[bytes], Frame | None]:
    """A parser of headers; `free` is the length without padding of frames of free format, 0 if there are none."""

    def parse(four: bytes) -> Frame | None:
        header = _header(four)
        if header is None:
            return None
        if not header.bitrate:
            return Frame(free + header.padding, header.fixed) if free else None
        if header.layer == 1:
            length = 12000 * header.bitrate // header.rate * 4
        else:
            length = (144000 if header.mpeg1 or header.layer == 2 else 72000) * header.bitrate // header.rate
        return Frame(length + header.padding, header.fixed)

    return parse


def _free_length(data: bytes) -> int:
    """The length without padding of the frames of free format that `data` begins with, 0 if they are not.

    The header does not say it: it is the distance to the next header.
    """
    first = _header(data[:4])
    if first is None or first.bitrate:
        return 0
    for match in _SYNC.finditer(data, 24, 24 + _FREE_MOST):
        distance = match.start()
        second = _header(data[distance : distance + 4])
        if second is None or second.fixed != first.fixed:
            continue
        length = distance - first.padding
        third = distance + length + second.padding
        if third + 4 > len(data) or ((header := _header(data[third : third + 4])) and header.fixed == first.fixed):
            return length
    return 0


def _count(frame: bytes, header: _Header) -> _Count:
    """What the Xing, Info or VBRI header in the first frame counts; zeros where there is none."""
    if frame[36:40] == b"VBRI":
        return _Count(int.from_bytes(frame[50:54], "big"), int.from_bytes(frame[46:50], "big"), "")
    start = 4 + _side_size(header)
    if header.crc and frame[start + 2 : start + 6] in (b"Xing", b"Info"):
        start += 2  # most writers let the header overlap the CRC, some do not
    if frame[start : start + 4] not in (b"Xing", b"Info"):
        return _Count(0, 0, "")
    flags = int.from_bytes(frame[start + 4 : start + 8], "big")
    offset = start + 8
    values = []
    for bit, size in ((1, 4), (2, 4), (4, 100), (8, 4)):
        values.append(int.from_bytes(frame[offset : offset + 4], "big") if flags & bit else 0)
        offset += size if flags & bit else 0
    encoder = re.match(rb"[\x20-\x7e]{4,9}", frame[offset : offset + 9])
    return _Count(values[0], values[1], encoder[0].decode("ascii").strip() if encoder else "")
