"""AAC in ADTS frames: `.aac`.  Source: ISO/IEC 14496-3 section 1.A.2.2 (adts_fixed_header, adts_variable_header)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from leakscan.blocks import Frame, after_id3, audio_item, cut, damaged, peel, walk_frames
from leakscan.model import Entry, Item, Tags
from leakscan.tags import read_tags

AUDIO = True
NAMES = (".aac", ".adts")

_SYNC = re.compile(rb"\xff[\xf0\xf1\xf8\xf9]|ID3|APETAGEX")
_HEADER = 7


def sniff(head: bytes) -> bool:
    """Two valid frame headers, the second where the first says (a frame has at most 8,191 bytes)."""
    body = head[after_id3(head) :]
    frame = _parse(body[:_HEADER])
    if frame is None:
        return False
    rest = body[frame.length :]
    following = _parse(rest[:_HEADER])
    if following is not None:
        return following.fixed == frame.fixed
    hidden = frame.length > len(body) - _HEADER and len(head) >= 4096
    return hidden or len(body) == frame.length or rest[:3] in (b"TAG", b"ID3") or rest[:8] == b"APETAGEX"


def read(entry: Entry) -> Iterator[Item]:
    """The tags of an ADTS file.  Raises Unreadable where its last frame is not there in full or it is no ADTS."""
    return audio_item(entry, _read)


def _read(stream: BinaryIO) -> Tags:
    peeled = peel(stream)
    walk = walk_frames(stream, peeled.start, peeled.end, _HEADER, _SYNC, _parse)
    if walk.first is None:
        raise damaged("no ADTS frame in it")
    if walk.partial:
        there, length = peeled.end - walk.partial.start, walk.partial.end - walk.partial.start
        raise cut(f"{there:,} of the {length:,} bytes of its last frame are there")
    spans = (*peeled.tags, *walk.tags, *walk.junk)
    return Tags("aac", tuple(dict.fromkeys(pair for span in spans for pair in read_tags(stream, *span))))


def _parse(head: bytes) -> Frame | None:
    if len(head) < _HEADER or head[0] != 0xFF or head[1] & 0xF6 != 0xF0:  # 12 bits of sync, layer 0
        return None
    rate = head[2] >> 2 & 15
    length = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5
    if rate > 12 or length <= (_HEADER if head[1] & 1 else _HEADER + 2):
        return None
    return Frame(length, (head[1] & 0xF8) << 16 | (head[2] & 0xFD) << 8 | head[3] & 0xC0)  # the private bit may vary
