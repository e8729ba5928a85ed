"""True Audio: `.tta`.  Source: the TTA1 format description (tausoft.org, "True Audio Codec Format").

There is nothing in it but a header, a table of frame sizes and the frames, each with a CRC-32: the clean file is that.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from leakscan.blocks import after_id3, at, cut, damaged, glued, peel, tag_at
from leakscan.ledgers import audio_item, ledger
from leakscan.model import Entry, Item, Ledger, Part

AUDIO = True
NAMES = (".tta",)

_MAGIC = b"TTA1"
_HEADER = 22


def sniff(head: bytes) -> bool:
    """`TTA1` at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 4] == _MAGIC


def read(entry: Entry) -> Iterator[Item]:
    """The one item of a TTA file.  Raises Unreadable where it is cut or no TTA."""
    return audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Every byte of a TTA file.  Raises Unreadable where it is cut or no TTA."""
    peeled = peel(stream)
    head = at(stream, peeled.start, _HEADER)
    if head[:4] != _MAGIC:
        raise damaged("no TTA stream in it")
    if len(head) < _HEADER:
        raise cut("its header is not there in full")
    form, channels, width, rate, samples = struct.unpack_from("<HHHII", head, 4)
    if _wrong(head) or not rate:
        raise damaged("its header has a wrong checksum, or states no sample rate")
    table = peeled.start + _HEADER
    frames = -(-samples // (256 * rate // 245 or 1))  # 1.045 s each
    start = table + 4 * frames + 4
    if start > peeled.end:
        raise cut(f"its seek table needs {start:,} bytes, {peeled.end:,} are there")
    sizes = at(stream, table, start - table)
    if _wrong(sizes):
        raise damaged("its seek table has a wrong checksum")
    end = start
    for (size,) in struct.iter_unpack("<I", sizes[:-4]):
        if end + size > peeled.end:
            raise cut(f"its frame at byte {end:,} needs {end + size:,} bytes, {peeled.end:,} are there")
        if size < 4 or _wrong(at(stream, end, size)):
            raise damaged(f"its frame at byte {end:,} has a wrong checksum")
        end += size
    if at(stream, end, min(8, peeled.end - end)) == b"APETAGEX" and tag_at(stream, end, peeled.end) is None:
        raise cut("its APE tag is not there in full")
    parts = [
        *glued("tta", peeled),
        Part("structure", "tta.header", peeled.start, table),
        Part("structure", "tta.seek-table", table, start),
        Part("payload", "tta.frames", start, end),
    ]
    told = {"format": form, "channels": channels, "bits": width, "rate": rate, "samples": samples}
    return ledger(stream, "tta", parts, ((name, str(value)) for name, value in told.items()))


def _wrong(data: bytes) -> bool:
    """Is the CRC-32 at the end of `data` wrong?"""
    return zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little")
