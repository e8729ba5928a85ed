"""WAV, Broadcast Wave and RF64: `.wav`, `.bwf`.

Sources: Multimedia Programming Interface and Data Specifications 1.0 (RIFF, LIST INFO), EBU Tech 3285 (bext),
EBU Tech 3306 / ITU-R BS.2088 (RF64, BW64, ds64), the iXML specification.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from leakscan.blocks import Chunk, at, audio_item, chunks, cut, damaged, peel
from leakscan.model import Entry, Item, Tags
from leakscan.tags import binary_text, read_tags, text_runs

AUDIO = True
NAMES = (".wav", ".wave", ".bwf", ".rf64")

_LONG = (b"RF64", b"BW64")
_OPEN_FORM = (0, 36, 0xFFFFFFFF, 0x7FFFF024)  # sizes of the form and of its data chunk that programs write which
_OPEN_DATA = (0, 0xFFFFFFFF, 0x7FFFF000)  # could not come back to fill them in: nothing, a bare header, the most
_INFO = frozenset(
    "IARL IART ICMS ICMT ICOP ICRD ICRP IDIM IDPI IENC IENG IGNR IKEY ILGT ILNG IMED INAM IPLT IPRD IPRT ISBJ ISFT "
    "ISHP ISRC ISRF ITCH ITRK IWEB IBPM IAS1 ICNT IMBI IMBC IURL IPRO IRTD ISTR IWRI IMUS".split()
)
_NAMED = {
    b"iXML": "iXML", b"_PMX": "XMP", b"aXML": "aXML", b"axml": "aXML", b"cart": "cart", b"DISP": "DISP",
    b"C2PA": "C2PA", b"afsp": "afsp", b"JUNK": "JUNK", b"PAD ": "JUNK", b"FLLR": "JUNK",
}  # fmt: skip
_BEXT = (("description", 0, 256), ("originator", 256, 288), ("originator_reference", 288, 320), ("date", 320, 338))
_CODING_HISTORY = 602
_STRUCTURE = (b"fmt ", b"data", b"fact", b"ds64", b"PEAK")


def sniff(head: bytes) -> bool:
    """`RIFF`, `RF64` or `BW64` with form `WAVE`."""
    return head[:4] in (b"RIFF", *_LONG) and head[8:12] == b"WAVE"


def read(entry: Entry) -> Iterator[Item]:
    """The tags of a WAV file, from its id3 chunk and its text chunks.  Raises Unreadable where it is cut or no WAV."""
    return audio_item(entry, _read)


def _read(stream: BinaryIO) -> Tags:
    peeled = peel(stream)
    start, end = peeled.start, peeled.end
    head = at(stream, start, 12)
    if not sniff(head):
        raise damaged("no WAVE form in it")
    size = int.from_bytes(head[4:8], "little")
    long_data = _data_size(stream, start, end) if head[:4] in _LONG else None
    is_open = long_data is None and size in _OPEN_FORM
    tags = [pair for span in peeled.tags for pair in read_tags(stream, *span)]
    kinds = set()
    for chunk in chunks(stream, start + 12, end, "little", _OPEN_DATA if is_open else (0xFFFFFFFF,), long_data):
        kinds.add(chunk.id)
        tags.extend(_tags(stream, chunk))
    if b"data" not in kinds:
        raise cut("no data chunk in it")
    if long_data is None and not is_open:
        _check_size(start + 8 + size, end)
    return Tags("wav", tuple(dict.fromkeys(tags)))


def _check_size(declared: int, end: int) -> None:
    if declared > end + 1:  # whether the size counts the last pad byte differs between writers
        raise cut(f"its header says {declared:,} bytes, {end:,} are there")


def _data_size(stream: BinaryIO, start: int, end: int) -> int:
    """The size of the data chunk by the ds64 chunk, which comes first in RF64."""
    head = at(stream, start + 12, 36)
    if head[:4] != b"ds64" or len(head) < 36:
        raise damaged("no ds64 chunk at its start")
    _check_size(start + 8 + int.from_bytes(head[8:16], "little"), end)
    return int.from_bytes(head[16:24], "little")


def _tags(stream: BinaryIO, chunk: Chunk) -> Iterator[tuple[str, str]]:
    if chunk.id in _STRUCTURE:
        return
    if chunk.id.lower() == b"id3 ":
        yield from read_tags(stream, "id3", chunk.start, chunk.end)
    elif chunk.id == b"LIST" and at(stream, chunk.start, 4) == b"INFO":
        for part in chunks(stream, chunk.start + 4, chunk.end, "little"):
            name = part.id.decode("latin-1")
            known = name in _INFO
            if not known:
                yield "riff.other", name
            yield f"riff.{name if known else 'other'}", _string(at(stream, part.start, part.end - part.start))
    elif chunk.id == b"bext":
        data = at(stream, chunk.start, min(chunk.end - chunk.start, 1 << 16))
        for name, first, last in _BEXT:
            yield f"riff.bext.{name}", _string(data[first:last])
        yield "riff.bext.coding_history", _string(data[_CODING_HISTORY:])
        if any(data[348:412]):  # version (2 bytes) and 64 of UMID follow the time reference (8 bytes)
            yield "riff.bext.umid", data[348:412].hex()
    elif chunk.id == b"iXML":
        yield "riff.iXML", _string(at(stream, chunk.start, min(chunk.end - chunk.start, 1 << 20)))
    else:
        data = at(stream, chunk.start, min(chunk.end - chunk.start, 1 << 16))
        if text_runs(data):
            yield f"riff.{_NAMED.get(chunk.id, 'other')}", binary_text(data)


def _string(data: bytes) -> str:
    """Text up to its NUL, UTF-8 or else Latin-1."""
    data = data.partition(b"\x00")[0].strip()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
