"""AAC in ADTS frames: `.aac`.

Sources: ISO/IEC 14496-3 section 1.A.2.2 (adts_fixed_header, adts_variable_header), sections 4.4.2.1 and 4.4.2.7
(raw_data_block, fill and data stream elements, program_config_element).

The clean file has the frames only, without error checks, which cover header bits that are cleared.  Data in front of a
block's channels are zeroed; what lies behind them would take decoding the channels to find; text there, and long text
anywhere, is refused.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from leakscan import ledgers
from leakscan.blocks import (
    Bits,
    Frame,
    Walk,
    at,
    begins_with_frames,
    cut,
    damaged,
    frame_parts,
    glued,
    peel,
    walk_frames,
)
from leakscan.ledgers import Seen
from leakscan.legible import refuse_tails
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.rows import Copy, gathered

if TYPE_CHECKING:
    from leakscan.rows import Bytes, Whole

AUDIO = True
NAMES = (".aac", ".adts")
LOADS = ("numpy",)

_SYNC = re.compile(rb"\xff[\xf0\xf1\xf8\xf9]|ID3|APETAGEX")
_HEADER = 7

_MANY = 64  # frames that stay as they are between others: more of them make a part of their own
_FEW = 50  # runs of frames: more of them take less time together, with what lies in between
_CHAIN = 3  # frames in a row that tell ADTS behind other bytes
_OTHERS = re.compile(
    rb"ADIF|\x56[\xe0-\xff]|RIFF|fLaC|OggS|FORM|PK|.{4}ftyp|\x1aE\xdf\xa3|\x00\x00\x01|G.{187}G", re.DOTALL
)

# Of the 56 bits of a header.
_PRIVATE, _ORIGINAL, _HOME, _COPYRIGHT = 1 << 33, 1 << 29, 1 << 28, 3 << 26
_FULLNESS = 0x7FF << 2
_CHECKED = 1 << 40  # protection_absent: there is no check where it is set
_FIXED = 0xFFFEFDC0000000  # what is the same in all frames of a stream
_LENGTH = struct.Struct(">3xI").unpack_from  # what the length lies in
_BITS = (
    (_PRIVATE, "private-bit"),
    (_ORIGINAL, "original-bit"),
    (_HOME, "home-bit"),
    (_COPYRIGHT, "copyright-bits"),
)
"""What no decoder needs; it tells of an encoder where it is the same in all frames."""
_CLEARED = _PRIVATE | _ORIGINAL | _HOME | _COPYRIGHT


def sniff(head: bytes) -> bool:
    """Two valid frame headers, the second where the first says (a frame has at most 8,191 bytes), after tags; or three
    frames in a row after a few other bytes."""
    return begins_with_frames(head, _HEADER, _SYNC, _parse, _CHAIN, _OTHERS)


def read(entry: Entry) -> Iterator[Item]:
    """What an ADTS file holds beside its sound.  Raises Unreadable where it is cut or no ADTS."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Account for every byte of an ADTS file.  Raises Unreadable where its last frame is not there in full, or where it
    is no ADTS."""
    return _account(stream, ledgers.NOTHING)


def read_back(stream: BinaryIO, seen: Seen) -> Ledger:
    """The same of a clean copy; no text is looked for again in frames that were `seen` in its source."""
    return _account(stream, seen)


def _account(stream: BinaryIO, seen: Seen) -> Ledger:
    peeled = peel(stream)
    data = at(stream, 0, peeled.end)
    start = peeled.start
    if data[start : start + 4] == b"ADIF" or re.match(rb"\x56[\xe0-\xff]", data[start : start + 2]):
        raise damaged("AAC in ADIF or LOAS, which is not supported, and no ADTS")
    walk = _plain(data, start) or walk_frames(data, start, _HEADER, _SYNC, _parse, _key)
    if not walk.starts:
        raise damaged("no ADTS frame in it")
    if walk.partial:
        there, length = peeled.end - walk.partial.start, walk.partial.end - walk.partial.start
        raise cut(f"{there:,} of the {length:,} bytes of its last frame are there")
    parts = list(glued("aac", peeled))
    parts += (Part("tag", f"aac.{span.kind}", span.start, span.end, reader=span.kind) for span in walk.tags)
    clean = _cleaned(data, walk.starts, walk.ends)
    _refuse_texts(clean.data or data, walk.starts, walk.ends, seen)
    parts += _parts(data, walk.starts, walk.ends, clean)
    return ledgers.ledger(stream, "aac", parts, (), sorted(clean.bits))


def _parse(head: bytes) -> Frame | None:
    if len(head) < _HEADER or head[0] != 0xFF or head[1] & 0xF6 != 0xF0:  # 12 bits of sync, layer 0
        return None
    rate = head[2] >> 2 & 15
    length = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5
    if rate > 12 or length <= (_HEADER if head[1] & 1 else _HEADER + 2):
        return None
    return Frame(length, (head[1] & 0xF8) << 16 | (head[2] & 0xFD) << 8 | head[3] & 0xC0)  # the private bit may vary


def _key(data: bytes, offset: int) -> int:
    """What `_parse` heeds of a header."""
    return int.from_bytes(data[offset : offset + _HEADER], "big") & 0xFFFFFDC3FFE000


def _plain(data: bytes, start: int) -> Walk | None:
    """The walk over frames up to the end that are alike, with nothing else in between; None where it is not so.

    With most files it is so: then lengths alone lead from frame to frame, and all headers are looked at together.
    """
    found = []
    offset, last = start, len(data) - _HEADER
    while offset <= last:
        found.append(offset)
        length = _LENGTH(data, offset)[0] >> 13 & 0x1FFF
        if length <= _HEADER:
            return None
        offset += length
    if offset != len(data) or _parse(data[start : start + _HEADER]) is None:
        return None
    starts = array("q", found)
    heads = _heads(data, starts)
    checked = heads & _CHECKED == 0
    lengths = heads >> 13 & 0x1FFF
    if ((heads ^ heads[0]) & _FIXED).any() or (lengths[checked] <= _HEADER + 2).any():
        return None
    return Walk(starts, starts[1:] + array("q", (offset,)), (), None)


def _heads(data: bytes, starts: array[int]) -> Whole:
    """The headers as numbers."""
    import numpy as np

    heads: Whole = gathered(data, np.array(starts), 8).view(">u8")[:, 0].astype(np.int64)
    return heads >> 8 & (1 << 8 * _HEADER) - 1


class _Clean(NamedTuple):
    """Frames as the clean file has them: the data with them, None where all are so; which of them are not (`odd`); the
    checks that it does not have; and what is cleared."""

    data: bytearray | None
    odd: Whole
    checks: list[tuple[int, int]]
    bits: set[str]


def _cleaned(data: bytes, starts: array[int], ends: array[int]) -> _Clean:
    """What the clean file has of the frames."""
    import numpy as np

    first, heads, bits = np.array(starts), _heads(data, starts), set[str]()
    cleared = heads & ~_CLEARED | _FULLNESS
    checked = heads & _CHECKED == 0
    if checked.any():
        if (heads[checked] & 3).any():
            raise damaged("frames of several blocks with an error check each, which are not supported")
        bits.add("digest.aac.crc")
        cleared[checked] += _CHECKED - (2 << 13)  # shorter by the check
    copy = Copy(data)
    odd = heads != cleared
    copy.put(first[odd], *(_bytes(some[odd]) for some in (heads, cleared)))
    bodies = first + _HEADER + 2 * checked
    kinds = np.frombuffer(data, np.uint8)[bodies] >> 5
    for index in np.flatnonzero((kinds >= _DATA) & (kinds <= _FILL)).tolist():
        body, end = int(bodies[index]), ends[index]
        block = data[body:end]
        if (blank := _blanked(block, bits)) != block:
            copy.writable()[body:end] = blank
            odd[index] = True
    seen, common = int(np.bitwise_or.reduce(heads)), int(np.bitwise_and.reduce(heads))  # set in a header, in all
    bits.update(
        f"{'encoder' if common & mask == seen & mask else 'unknown'}.aac.{name}" for mask, name in _BITS if seen & mask
    )
    if ((heads ^ heads[0]) & _FULLNESS).any():
        bits.add("encoder.aac.fullness")
    return _Clean(copy.made, odd, [(start - 2, start) for start in bodies[checked].tolist()], bits)


def _bytes(heads: Whole) -> Bytes:
    """Headers as rows of bytes."""
    import numpy as np

    return (heads << 8).astype(">u8").view(np.uint8).reshape(-1, 8)[:, :_HEADER]


def _refuse_texts(data: bytes | bytearray, starts: array[int], ends: array[int], seen: Seen) -> None:
    """Raise Unreadable where frames have text that was not `seen`, which only decoding could take out."""
    import numpy as np

    runs = [*seen.runs(starts + ends[-1:])]
    if len(runs) > _FEW:
        runs = [range(runs[0].start, runs[-1].stop)]
    for run in runs:
        base, end = starts[run.start], ends[run.stop - 1]
        block = data if end - base == len(data) else data[base:end]
        first, last = (np.array(edges[run.start : run.stop]) - base for edges in (starts, ends))
        refuse_tails(block, first, last, base)


def _parts(data: bytes, starts: array[int], ends: array[int], clean: _Clean) -> Iterator[Part]:
    """Frames as parts: those that follow each other as one, but apart from those that are not as in the clean file."""
    import numpy as np

    first, last, odd = np.array(starts), np.array(ends), clean.odd.copy()
    found = np.flatnonzero(odd)
    for some in np.split(found, np.flatnonzero(np.diff(found) > _MANY) + 1) if len(found) else ():
        odd[some[0] : some[-1]] = True
    unlike = (first[1:] != last[:-1]) | (odd[1:] != odd[:-1])
    for begin, stop in pairwise((0, *(np.flatnonzero(unlike) + 1).tolist(), len(starts))):
        new = clean.data if odd[begin] else None
        yield from frame_parts("aac.frames", data, (starts[begin],), (ends[stop - 1],), new, clean.checks)


# --- elements in front of the channels -------------------------------------------------------------------------------

_DATA, _CONFIG, _FILL = 4, 5, 6  # id_syn_ele
_ENCODERS = re.compile(rb"(?:Lavc|libfaac|FAAC)[\x20-\x7e]*\Z")


def _blanked(block: bytes, bits: set[str]) -> bytes:
    """A block without the data in front of its channels; names of what was there are added to `bits`."""
    source = Bits(block)
    while True:
        kind = source.take(3)
        if kind == _DATA:
            source.take(4)
            aligned = source.take(1)
            count = source.take(8)
            count += source.take(8) if count == 255 else 0
            if aligned:
                source.align()
            wanted = 0
        elif kind == _FILL:
            count = source.take(4)
            count += source.take(8) - 1 if count == 15 else 0
            if source.peek(4) not in (0, 1):  # more than filler: spectral band replication, dynamic range, ...
                break
            # Of type 1 the bytes are prescribed, of type 0 free.
            wanted = 0x10 << 8 * (count - 1) | int("a5" * (count - 1) or "0", 16) if count and source.peek(4) else 0
        elif kind == _CONFIG:
            _pass_config(source)
            count = source.take(8)
            wanted = 0
        else:
            break
        if source.position + 8 * count > source.count:
            break  # broken
        there = source.peek(8 * count)
        if there != wanted:
            bits.add(_named(there, count))
        source.put(wanted, 8 * count)
    return source.number.to_bytes(len(block), "big")


def _named(number: int, count: int) -> str:
    """What `count` bytes are, which need not begin at a byte of the file."""
    for shift in range(8):
        text = (number >> shift & (1 << 8 * count) - 1).to_bytes(count, "big").strip(b"\x00")
        if _ENCODERS.match(text):
            return "encoder.aac.fill"
    return "unknown.aac.fill"


def _pass_config(source: Bits) -> None:
    """Pass over a program_config_element up to its comment."""
    source.take(4 + 2 + 4)
    front, side, back, low, data, coupled = (source.take(count) for count in (4, 4, 4, 2, 3, 4))
    for count in (4, 4, 3):  # mixdown elements
        if source.take(1):
            source.take(count)
    source.take(5 * (front + side + back) + 4 * low + 4 * data + 5 * coupled)
    source.align()
