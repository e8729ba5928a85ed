"""FLAC: `.flac`.  Source: RFC 9639 (8: metadata blocks, 9.1: frame header, 9.3: frame footer)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from leakscan.blocks import Peeled, after_id3, at, audio_item, cut, damaged, peel
from leakscan.model import Entry, Item, Tags
from leakscan.tags import binary_text, read_tags, text_runs

AUDIO = True
NAMES = (".flac", ".fla")

_MAGIC = b"fLaC"
_STREAMINFO, _PADDING, _APPLICATION, _SEEKTABLE, _COMMENT, _CUESHEET, _PICTURE = range(7)
_PARSED = {_COMMENT: "flac", _CUESHEET: "flac-cuesheet", _PICTURE: "flac-picture"}
_SEARCHED = {_PADDING: "flac.padding", _APPLICATION: "flac.application"}
_BLOCKS = 10_000  # more than any writer makes; keeps a file of empty blocks from taking minutes
_TRIES = 8  # how many places that look like the last frame are put to the test


class _Info(NamedTuple):
    block: int  # the most samples in a block; all but the last have as many where the block size is fixed
    most_frame: int  # bytes that a frame can have at most
    total: int  # samples; 0: unknown


def sniff(head: bytes) -> bool:
    """`fLaC` at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 4] == _MAGIC


def read(entry: Entry) -> Iterator[Item]:
    """The tags of a FLAC file.  Raises Unreadable where it is cut or no FLAC."""
    return audio_item(entry, _read)


def _read(stream: BinaryIO) -> Tags:
    peeled = peel(stream)
    if at(stream, peeled.start, 4) != _MAGIC:
        raise damaged("no FLAC stream in it")
    tags = [pair for span in peeled.tags for pair in read_tags(stream, *span)]
    info = None
    start, last, count = peeled.start + 4, False, 0
    while not last:
        head = at(stream, start, 4)
        end = start + 4 + int.from_bytes(head[1:4], "big")
        count += 1
        if len(head) < 4 or end > peeled.end:
            raise cut(f"its metadata needs {end:,} bytes, {peeled.end:,} are there")
        last, kind = head[0] > 0x7F, head[0] & 0x7F
        if kind == 127 or count > _BLOCKS or (kind == _STREAMINFO) != (count == 1):
            raise damaged(f"no valid metadata block at byte {start:,}")
        if kind == _STREAMINFO:
            info = _info(at(stream, start + 4, end - start - 4))
        elif kind in _PARSED:
            tags.extend(read_tags(stream, _PARSED[kind], start + 4, end))
        elif kind != _SEEKTABLE:
            data = at(stream, start + 4, min(end - start - 4, 1 << 16))
            if text_runs(data):
                tags.append((_SEARCHED.get(kind, "flac.other"), binary_text(data)))
        start = end
    assert info is not None
    _check_end(stream, Peeled(start, peeled.end, ()), info)
    return Tags("flac", tuple(dict.fromkeys(tags)))


def _info(block: bytes) -> _Info:
    if len(block) != 34:
        raise damaged("its STREAMINFO block has not 34 bytes")
    most = int.from_bytes(block[2:4], "big")
    bits = int.from_bytes(block[10:18], "big")
    channels, width, total = (bits >> 41 & 7) + 1, (bits >> 36 & 31) + 1, bits & (1 << 36) - 1
    if most < 16:
        raise damaged("its STREAMINFO block states no block size")
    # a verbatim frame: one bit more a sample for the side channel, subframe headers, frame header and footer
    return _Info(most, most * channels * (width + 1) // 8 + 8 * channels + 32, total)


def _check_end(stream: BinaryIO, audio: Peeled, info: _Info) -> None:
    """Find the last frame from the tail: its CRC-16 must be right and its last sample be the last one counted."""
    if audio.start == audio.end:
        if info.total:
            raise cut(f"its header counts {info.total:,} samples, none is there")
        return
    data = at(stream, max(audio.start, audio.end - info.most_frame), min(info.most_frame, audio.end - audio.start))
    tries = 0
    for match in reversed(list(re.finditer(rb"\xff[\xf8\xf9]", data))):
        span = _frame_samples(data[match.start() : match.start() + 16], info)
        if span is None:
            continue
        if _crc16(data[match.start() :]) == 0:
            if info.total and span[1] != info.total:
                raise cut(f"its header counts {info.total:,} samples, {span[1]:,} are there")
            return
        tries += 1
        if tries == _TRIES:
            break
    raise cut("no whole frame at its end (or something is glued to it)")


def _frame_samples(head: bytes, info: _Info) -> tuple[int, int] | None:
    """The first sample of the frame with this header and the one after its last; None if it is no valid header."""
    if len(head) < 6 or head[3] & 1:
        return None
    size_code, rate_code = head[2] >> 4, head[2] & 15
    if size_code == 0 or rate_code == 15 or head[3] >> 4 > 10 or head[3] >> 1 & 7 == 3:
        return None
    extra = max(0, 7 - (head[4] ^ 0xFF).bit_length())  # the leading ones count the bytes of the number
    if head[4] < 0x80:
        number = head[4]
    elif head[4] < 0xC0 or head[4] == 0xFF:
        return None
    else:
        number = head[4] & (0x3F >> extra)
        for byte in head[5 : 5 + extra]:
            number = number << 6 | byte & 0x3F
    offset = 5 + extra
    if size_code in (6, 7):
        width = size_code - 5
        block = int.from_bytes(head[offset : offset + width], "big") + 1
        offset += width
    elif size_code == 1:
        block = 192
    else:
        block = 576 << size_code - 2 if size_code < 6 else 256 << size_code - 8
    offset += {12: 1, 13: 2, 14: 2}.get(rate_code, 0)
    if offset >= len(head) or _crc8(head[:offset]) != head[offset]:
        return None
    first = number if head[1] & 1 else number * info.block
    return first, first + block


def _crc8(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 0x07 if crc & 0x80 else crc << 1) & 0xFF
    return crc


def _crc16_step(value: int) -> int:
    for _ in range(8):
        value = (value << 1 ^ 0x8005 if value & 0x8000 else value << 1) & 0xFFFF
    return value


_CRC16 = tuple(_crc16_step(value << 8) for value in range(256))


def _crc16(data: bytes) -> int:
    """The CRC-16 of FLAC; 0 over a whole frame with its footer."""
    crc = 0
    for byte in data:
        crc = (crc << 8 & 0xFF00) ^ _CRC16[crc >> 8 ^ byte]
    return crc
