"""MPEG audio, layers I to III: `.mp3`.

Sources: ISO/IEC 11172-3 section 2.4 and 13818-3 section 2.4 (frame header, side information, bit allocation, error
check, ancillary data), the Xing and LAME header (gabriel.mp3-tech.org/mp3infotag.html), VBRI (codeproject.com, "MPEG
Audio Frame Header").

The clean file has the frames only, one after the other.  In them private, copyright and original bits, the unused bits
of the mode extension and of the side information, and bits that belong to no frame's main data have one value.
Not looked at: bits of main data behind the last number coded in them, which would take decoding them to find.
"""

from __future__ import annotations

import functools
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from operator import sub
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from leakscan import ledgers
from leakscan.blocks import (
    Frame,
    Walk,
    after_id3,
    at,
    chunks,
    cut,
    damaged,
    frame_parts,
    glued,
    peel,
    size_of,
    walk_frames,
)
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.mpegframes import Header, header_of
from leakscan.rows import Copy, crc16, crc16_bits, gathered, numbers

if TYPE_CHECKING:
    from leakscan.rows import Bytes, Whole

AUDIO = True
NAMES = (".mp3", ".mp2", ".mp1", ".mpga")
RECOUNTED = ("stale.mp3.frames",)
"""Extras that tell that a player which trusts the header of the source cuts its end elsewhere than that of the copy."""

_SYNC = re.compile(rb"\xff[\xe2-\xff][\x00-\xef]|ID3|APETAGEX")
_FREE_MOST = 4 << 10  # the longest frame of free format is below 3 kB (640 kbit/s at 32 kHz)

_CHAIN = 3  # frames in a row that tell MPEG audio behind other bytes
_JUNK_BEFORE = 1536  # bytes before them: no more than are left of a frame (1,441) where a stream was tuned in
_OTHERS = re.compile(  # containers in whose first bytes MPEG audio may lie as it is
    rb"PK\x03\x04|\x1aE\xdf\xa3|OggS|fLaC|FORM|RIFF|RF64|caff|\x30\x26\xb2\x75|FLV|PAR1|ARROW1|\x0b\x77|\.snd"
    rb"|\x00\x00\x01[\xb0-\xef]|.{4}(?:ftyp|moov|mdat)|.{257}ustar|G.{187}G",
    re.DOTALL,
)
_WRAPPED = re.compile(rb"RIFF.{4}WAVE(?:(?!data).)*?fmt .{4}[\x50\x55]\x00", re.DOTALL)  # by its registered numbers


def sniff(head: bytes) -> bool:
    """Two valid frame headers, the second where the first says, after tags and zeros; or an ID3v2 tag that ends beyond
    `head`; or a RIFF form that says it holds MPEG audio; or three frames in a row after a few other bytes."""
    start = 0
    while (after := start + after_id3(head[start:])) > start or head[after : after + 1] == b"\x00":
        if after >= len(head):
            return after > start
        start = len(head) - len(head[after:].lstrip(b"\x00"))
    body = head[start:]
    return _starts(body) or _WRAPPED.match(body) is not None or (not _OTHERS.match(head) and _hidden(body))


def _starts(body: bytes) -> bool:
    frame = _parser(_free_length(body))(body[:4])
    if frame is None:
        return False
    rest = body[frame.length :]
    following = _parser(frame.length)(rest[:4]) if len(body) >= frame.length else None
    ends = len(body) == frame.length or rest[:3] in (b"TAG", b"ID3") or rest[:8] == b"APETAGEX"
    return ends or (following is not None and following.fixed == frame.fixed)


def _hidden(body: bytes) -> bool:
    parse = _parser(0)
    for match in _SYNC.finditer(body, 0, _JUNK_BEFORE):
        offset, fixed, count = match.start(), -1, 0
        while (frame := parse(body[offset : offset + 4])) and fixed in (-1, frame.fixed):
            offset, fixed, count = offset + frame.length, frame.fixed, count + 1
        if count >= _CHAIN and not _OTHERS.match(body):
            return True
    return False


def read(entry: Entry) -> Iterator[Item]:
    """What an MPEG audio file holds beside its sound.  Raises Unreadable where it is cut or no MPEG audio."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Account for every byte of an MPEG audio file.  Raises Unreadable where it is cut or no MPEG audio."""
    peeled = peel(stream)
    data = at(stream, 0, peeled.end)
    start = _after_zeros(data, peeled.start)
    if start >= len(data):  # of a file of any format that holds no sound
        raise damaged("nothing in it but tags")
    parts = list(glued("mp3", peeled))
    if data[start : start + 4] == b"RIFF":
        wrapper, start, end = _unwrapped(stream, start, len(data))
        parts += wrapper
        data = data[:end]
    _refuse_others(data[start : start + 4])
    parse = _parser(_free_length(data[start : start + 3 * _FREE_MOST]))
    walk = walk_frames(data, start, 4, _SYNC, parse)
    starts, ends = walk.starts, walk.ends
    if not starts:
        raise damaged("no MPEG audio frame in it")
    parts += (Part("tag", f"mp3.{span.kind}", span.start, span.end, reader=span.kind) for span in walk.tags)
    first, last = starts[0], ends[0]
    info = _info(data, first, last)
    _check(data, walk, info)
    if info:
        del starts[0], ends[0]
    if walk.partial and (tail := data[walk.partial.start :]) and len(tail) >= _least(tail):
        starts.append(walk.partial.start)
        ends.append(len(data))
    if not starts:
        raise damaged("a header in front, but no sound behind it")
    clean, bits = _cleaned(data, starts, ends)
    parts += frame_parts("mp3.frames", data, starts, ends, clean)
    parameters: tuple[tuple[str, str], ...] = ()
    if info:
        fields, parameters = info.rewritten(data[first:last], list(map(sub, ends, starts)))
        parts += _parts(data[first:last], first, fields)
    return ledgers.ledger(stream, "mp3", parts, parameters, sorted(bits))


def _after_zeros(data: bytes, start: int) -> int:
    while block := data[start : start + (1 << 16)]:
        if left := block.lstrip(b"\x00"):
            return start + len(block) - len(left)
        start += len(block)
    return start


def _unwrapped(stream: BinaryIO, start: int, end: int) -> tuple[list[Part], int, int]:
    """What a RIFF form around MPEG audio consists of, and where the audio begins and ends."""
    if not _WRAPPED.match(at(stream, start, 1 << 16)):
        raise damaged("a RIFF stream that holds no MPEG audio")
    for chunk in chunks(stream, start + 12, size_of(stream), "little", (0, 0xFFFFFFFF)):
        if chunk.id == b"data":
            last = min(chunk.end, end)  # tags at the end may lie in the chunk
            wrapper = [Part("tag", "mp3.riff", start, chunk.start, reader="junk")]
            if last < end:
                wrapper.append(Part("tag", "mp3.riff", last, end, reader="junk"))
            return wrapper, chunk.start, last
    raise cut("no data chunk in it")


def _refuse_others(magic: bytes) -> None:
    for other, name in ((b"fLaC", "FLAC"), (b"OggS", "Ogg")):
        if magic == other:
            raise damaged(f"a {name} stream behind an ID3v2 tag, which that format does not have")


# --- frame headers ---------------------------------------------------------------------------------------------------


def _parser(free: int) -> Callable[[bytes], Frame | None]:
    """A parser of headers; `free` is the length without padding of frames of free format, 0 if there are none."""

    @functools.lru_cache(maxsize=1 << 10)  # a stream has few headers, each of them thousands of times
    def parse(four: bytes) -> Frame | None:
        header = header_of(four)
        if header is None:
            return None
        if not header.bitrate:
            length = free + header.padding
            return Frame(length, header.fixed) if free and length >= header.body else None
        return Frame(header.length, header.fixed)

    return parse


def _free_length(data: bytes) -> int:
    """The length without padding of the frames of free format that `data` begins with, 0 if they are not.

    The header does not say it: it is the distance to the next header.
    """
    first = header_of(data[:4])
    if first is None or first.bitrate:
        return 0
    for match in _SYNC.finditer(data, 24, 24 + _FREE_MOST):
        distance = match.start()
        second = header_of(data[distance : distance + 4])
        if second is None or second.fixed != first.fixed:
            continue
        length = distance - first.padding
        third = distance + length + second.padding
        if third + 4 > len(data) or ((header := header_of(data[third : third + 4])) and header.fixed == first.fixed):
            return length
    return 0


# --- is it whole? ----------------------------------------------------------------------------------------------------


def _check(data: bytes, walk: Walk, info: _Info | None) -> None:
    """Raise Unreadable where the frames do not reach what the Xing, Info or VBRI header counts.

    Some writers count the header's own frame, too (mp3splt issue 338); then the number of bytes tells.  Without a
    count, the last frame tells.
    """
    if info and (info.frames or info.size):
        frames, size = len(walk.starts) - 1, len(data) - walk.starts[0]
        if not (0 < info.frames <= frames or 0 < info.size <= size):
            raise cut(
                f"its header counts {info.frames:,} frames and {info.size:,} bytes, {frames:,} and {size:,} are there"
            )
    elif walk.partial:
        tail = data[walk.partial.start :]
        if not _all_needed(tail):
            length = walk.partial.end - walk.partial.start
            raise cut(f"{len(tail):,} of the {length:,} bytes of its last frame are there")


def _all_needed(frame: bytes) -> bool:
    """Does a frame that is too short end where its audio ends?

    Old encoders write the last frame without the stuffing after it, and shine may leave up to three bytes unwritten
    (toots/shine issue 37).
    """
    import numpy as np

    header = header_of(frame[:4])
    if header is None or header.layer != 3 or len(frame) < _least(frame):
        return False
    side = frame[header.begin : header.body]
    back, needed = _main_data(header, np.frombuffer(side, np.uint8)[None])
    audio = max(0, (int(needed[0]) + 7) // 8 - int(back[0]))
    return -3 <= len(frame) - (header.body + audio) <= 3


def _least(frame: bytes) -> int:
    """How many bytes of a frame a decoder needs to play any of it."""
    header = header_of(frame[:4])
    return header.body if header else 4


# --- frames as the clean file has them -------------------------------------------------------------------------------


def _main_data(header: Header, rows: Bytes) -> tuple[Whole, Whole]:
    """Of side information of layer III: how many bytes before the body of a frame its main data begin, and how many
    bits they have (11172-3, 2.4.1.7; 13818-3, 2.4.1.7)."""
    back = 9 if header.mpeg1 else 8
    selection = 4 * header.channels if header.mpeg1 else 0  # scfsi
    count, width = (2 * header.channels, 59) if header.mpeg1 else (header.channels, 63)  # granules and channels
    first = back + _private(header) + selection
    needed = numbers(rows, first, 12)
    for index in range(1, count):
        needed += numbers(rows, first + width * index, 12)
    return numbers(rows, 0, back), needed


def _private(header: Header) -> int:
    """How many private bits there are behind main_data_begin."""
    return ((5, 3) if header.mpeg1 else (1, 2))[header.channels - 1]


def _heads(found: Counter[bytes]) -> tuple[dict[bytes, bytes], set[str]]:
    """Every header of the frames with its clean form, and what bits in them say.

    The original bit is set, as most encoders do; the emphasis is that of most frames.
    """
    emphasis: Counter[int] = Counter()
    for four, count in found.items():
        emphasis[four[3] & 3] += count
    usual = max(emphasis, key=lambda value: (emphasis[value], -value), default=0)
    bits = set()
    for four in found:
        if four[2] & 1:
            bits.add("unknown.mp3.private-bit")
        if four[3] & 8:
            bits.add("unknown.mp3.copyright-bit")
        if four[3] & 0x30 and four[3] >> 6 != 1:
            bits.add("unknown.mp3.mode-extension")
    if len({four[3] & 4 for four in found}) > 1:
        bits.add("unknown.mp3.original-bit")
    if len(emphasis) > 1:
        bits.add("unknown.mp3.emphasis")
    return {four: _clean_head(four, usual) for four in found}, bits


def _clean_head(four: bytes, emphasis: int) -> bytes:
    joint = four[3] >> 6 == 1
    return bytes((four[0], four[1], four[2] & 0xFE, four[3] & (0xF0 if joint else 0xC0) | 4 | emphasis))


def _cleaned(data: bytes, starts: array[int], ends: array[int]) -> tuple[bytearray | None, set[str]]:
    """The data with the frames as the clean file has them, None where they are so, and what is cleared in them."""
    import numpy as np

    if not starts:
        return None, set()
    first, last = np.array(starts), np.array(ends)
    old = gathered(data, first, 4)
    found, which, counts = np.unique(old.view(">u4")[:, 0], return_inverse=True, return_counts=True)
    fours = [four.to_bytes(4, "big") for four in found.tolist()]
    heads, bits = _heads(Counter(dict(zip(fours, counts.tolist(), strict=True))))
    new = np.array([list(heads[four]) for four in fours], np.uint8)[which]
    copy = Copy(data)
    copy.put(first, old, new)
    headers = [_alike(header) for four in fours if (header := header_of(four))]
    bodies = first + np.array([header.body for header in headers])[which]
    places = np.concatenate(([0], 8 * np.cumsum(last - bodies)))  # of the bodies when they are laid end to end; bits
    main = places[:-1].copy(), places[1:].copy()  # where the main data of each frame begin and end
    three = np.array([header.layer == 3 for header in headers])[which]
    kinds = {header: kind for kind, header in enumerate(dict.fromkeys(headers))}
    kind_of = np.array([kinds[header] for header in headers])[which]
    for header, kind in kinds.items():
        members = np.flatnonzero(kind_of == kind)
        for some in np.split(members, range(_AT_ONCE, len(members), _AT_ONCE)):
            rows = _Rows(header, first[some], old[some], new[some])
            if header.layer == 3:
                back, needed = _with_reservoir(copy, rows, bits)
                main[0][some] -= 8 * back
                main[1][some] = main[0][some] + needed
            else:
                needed = _on_their_own(copy, rows, 8 * (last - bodies)[some], bits)
                main[1][some] = main[0][some] + needed
    bits |= _clear(copy, bodies, places >> 3, *_unused(three, *main, places))
    return copy.made, bits


_AT_ONCE = 1 << 12  # frames: what is worked out for each takes up to a kilobyte
_STEP = 1 << 17  # bytes


class _Rows(NamedTuple):
    """Frames that are laid out alike: what their headers say, where they start, and the headers now and then."""

    header: Header
    starts: Whole
    old: Bytes
    new: Bytes


def _alike(header: Header) -> Header:
    """A header that stands for all whose frames are laid out alike."""
    plain = header._replace(padding=0, fixed=0, extension=header.extension if header.mode == 1 else 0)
    return plain if header.layer != 3 else plain._replace(bitrate=0, rate=0, mode=header.mode // 3 * 3, extension=0)


def _with_reservoir(copy: Copy, rows: _Rows, bits: set[str]) -> tuple[Whole, Whole]:
    """What `_main_data` says of frames of layer III, after their side information and error check are cleaned."""
    header, starts = rows.header, rows.starts
    side = gathered(copy.data, starts + header.begin, header.side)
    back = 9 if header.mpeg1 else 8
    private = 0xFF >> back - 8 ^ 0xFF >> back - 8 + _private(header)  # in the second byte
    clean = side
    if (side[:, 1] & private).any():
        bits.add("unknown.mp3.side-info")
        clean = side.copy()
        clean[:, 1] &= 0xFF ^ private
        copy.put(starts + header.begin, side, clean)
    if header.crc:
        _check_again(copy, rows, side, clean, 8 * header.side, bits)
    return _main_data(header, side)


def _on_their_own(copy: Copy, rows: _Rows, room: Whole, bits: set[str]) -> Whole:
    """How many bits frames of layer I or II need, after their error check is cleaned: all of `room` where they would
    need more."""
    import numpy as np

    header, starts = rows.header, rows.starts
    front = gathered(copy.data, starts + header.begin, _FRONT)
    checked, needed = _used(header, front)
    fits = needed <= room
    if header.crc:
        some = _Rows(header, starts[fits], rows.old[fits], rows.new[fits])
        _check_again(copy, some, front[fits], front[fits], checked[fits], bits)
    return np.where(fits, needed, room)


def _check_again(copy: Copy, rows: _Rows, front: Bytes, clean: Bytes, count: Whole | int, bits: set[str]) -> None:
    """Make the error check again: of headers from byte 2 on, and of `count` bits of what follows the check."""
    import numpy as np

    counts = np.full(len(front), 16, np.int64) + count
    old, new = (
        crc16_bits(np.hstack((head[:, 2:], rest)), counts, 0xFFFF).astype(">u2")[:, None].view(np.uint8)
        for head, rest in ((rows.old, front), (rows.new, clean))
    )
    there = gathered(copy.data, rows.starts + 4, 2)
    if (there != old).any():
        bits.add("unknown.mp3.crc")
    copy.put(rows.starts + 4, there, new)


def _unused(three: Whole, begin: Whole, end: Whole, places: Whole) -> tuple[Whole, Whole]:
    """Where bits begin and end that belong to the main data of no frame, when bodies are laid end to end.

    Bodies lie at `places`, main data from `begin` to `end`: those of layer III (where `three` is) may begin in bodies
    before their own and end in bodies behind it, so that any number of frames tells what is covered.
    """
    import numpy as np

    covered = np.where(three, end, places[1:])
    apart = np.cumsum(~three) * (places[-1] + _LONGEST)  # what came before a frame of another layer is over
    covered = np.maximum(np.maximum.accumulate(covered + apart) - apart, 0)
    first = np.append(np.where(three, np.append(0, covered[:-1]), end), covered[-1])
    last = np.append(np.where(three, begin, places[1:]), places[-1])
    some = first < last
    return first[some], last[some]


_LONGEST = 1 << 16  # bits: more than main data have, and than they begin before their frame


def _clear(copy: Copy, bodies: Whole, positions: Whole, begin: Whole, end: Whole) -> set[str]:
    """Zero the bits from `begin` to `end` (of a byte) of the bodies, which lie at `positions` when laid end to end, and
    at `bodies` in the file; what these bits are."""
    import numpy as np

    starts, ends, numbers = _spans(bodies, positions, begin >> 3, end >> 3)
    edges = np.append(0, np.cumsum((end >> 3) - (begin >> 3)))  # of what belongs together in
    data = np.frombuffer(copy.data, np.uint8)
    block = np.concatenate([data[some] for some in _indexes(starts, ends)])
    block[edges[:-1]] &= (0xFF >> (begin & 7)).astype(np.uint8)
    if not block.any():
        return set()
    dirty = np.bitwise_or.reduceat(block, edges[:-1]) > 0
    clean = np.frombuffer(copy.writable(), np.uint8)
    borders = starts[np.searchsorted(numbers, np.flatnonzero(dirty))]  # bytes that begin with other bits
    kept = clean[borders] ^ block[edges[:-1][dirty]]
    for some in _indexes(starts[dirty[numbers]], ends[dirty[numbers]]):
        clean[some] = 0
    clean[borders] = kept
    return {_ancillary(value, count) for value, count in _different(block, edges, dirty, end - begin)}


def _indexes(starts: Whole, ends: Whole) -> Iterator[Whole]:
    """The indexes from each of `starts` to the end of it, a few at a time."""
    import numpy as np

    sizes = ends - starts
    before = np.cumsum(sizes) - sizes
    for some in np.split(np.arange(len(sizes)), np.searchsorted(before, range(_STEP, sizes.sum(), _STEP))):
        first = before[some[:1]]
        yield np.repeat(starts[some] - before[some] + first, sizes[some]) + np.arange(sizes[some].sum())


def _different(block: Bytes, edges: Whole, some: Whole, counts: Whole) -> Iterator[tuple[int, int]]:
    """What differs of those parts of a block between `edges` that are `some`, as numbers of so many bits."""
    import numpy as np

    first, last, counts = edges[:-1][some], edges[1:][some], counts[some]
    one = last == first + 1  # so with most
    for pair in np.unique(block[first[one]].astype(np.int64) << 8 | counts[one]).tolist():
        yield divmod(pair, 256)
    held = block.tobytes()
    columns = (column[~one].tolist() for column in (first, last, counts))
    found = {(held[start:stop], count) for start, stop, count in zip(*columns, strict=True)}
    for piece, count in {_shortened(*each) for each in found}:
        yield int.from_bytes(piece, "big"), count


def _shortened(piece: bytes, count: int) -> tuple[bytes, int]:
    """A piece of that many bits without most of the filler at its end, which says no more than a little of it."""
    end = piece[-1:]
    surplus = len(piece) - len(piece.rstrip(end)) - 8 if end in _FILLERS else 0
    return (piece[:-surplus], count - 8 * surplus) if surplus > 0 else (piece, count)


def _spans(bodies: Whole, positions: Whole, first: Whole, last: Whole) -> tuple[Whole, Whole, Whole]:
    """Where in the file the bytes `first` to `last` of the bodies begin and end, body by body, and by which of these
    pairs each of them is asked for."""
    import numpy as np

    body = np.searchsorted(positions, first, "right") - 1
    counts = np.searchsorted(positions, last - 1, "right") - body
    numbers = np.repeat(np.arange(len(first)), counts)
    body = np.arange(len(numbers)) + (body - np.cumsum(counts) + counts)[numbers]
    moved = bodies[body] - positions[body]
    starts = np.maximum(first[numbers], positions[body]) + moved
    return starts, np.minimum(last[numbers], positions[body + 1]) + moved, numbers


_LAME = int.from_bytes(b"LAME", "big")
_FILLERS = (b"\x00", b"\x55", b"\xaa", b"\xff")
_VERSION = re.compile(rb"[0-9.]{0,6}(?: \(?[abehlpt]{0,5} ?[0-9]{0,2}\)?)?")


def _ancillary(value: int, count: int) -> str:
    """What `count` bits of ancillary data are: LAME fills them with its name, as far as it fits, and alternating bits
    or zeros."""
    unlike = _unlike(value, count)
    border = count - unlike.bit_length()  # where the filler in front of the name ends: at or in the first letter
    for letters in (4, 3, 2, 1) if unlike else ():
        for start in range(max(0, border - 3), border + 1):
            left = count - start - 8 * letters
            if left < 0 or value >> left & (1 << 8 * letters) - 1 != _LAME >> 32 - 8 * letters:
                continue
            if letters == 4:
                version = ((value & (1 << left) - 1) >> left % 8).to_bytes(left // 8, "big")[:20]
                match = _VERSION.match(version)
                left -= 8 * match.end() if match else 0
            # It may do so twice in one gap, the first time in part.
            if _ancillary(value & (1 << left) - 1, left) == "encoder.mp3.ancillary":
                return "encoder.mp3.ancillary"
            break
    return "unknown.mp3.ancillary" if unlike else "encoder.mp3.ancillary"


def _unlike(value: int, count: int) -> int:
    """Which of the last `count` bits are unlike the next but one in front of them: none in filler."""
    return (value ^ value >> 2) & (1 << max(0, count - 2)) - 1


# --- layers I and II -------------------------------------------------------------------------------------------------


_FRONT = 64  # bytes: allocation and selection of scale factors take up to 39
_FORBIDDEN = 1 << 16  # more than a frame holds


class _Allocation(NamedTuple):
    """Where the numbers of a bit allocation lie, and what they mean."""

    bits: int  # altogether
    words: Whole  # at which byte each begins,
    shifts: Whole  # how far it lies from the end of the 16 bits from there on
    masks: Whole  # and how large it can be
    samples: Whole  # bits of samples by its value, 16 values each
    bands: Whole  # in the same way, sets of scale factors


@functools.lru_cache(maxsize=32)
def _allocation(header: Header) -> _Allocation:
    """The allocation of frames of layer I or II (11172-3, 2.4.1.5 and 2.4.1.6)."""
    import numpy as np

    bound = 4 * header.extension + 4 if header.mode == 1 else 32
    threes = 4 if header.layer == 1 else 12  # groups of three samples in a band
    columns = []
    position = 0
    for band, choices in enumerate(_bands(header)):
        shared = band >= bound
        width = (len(choices) - 1).bit_length()
        samples = [threes * bits for bits in (*choices, *[0] * (16 - len(choices)))]
        bands = [(header.channels if shared else 1) * (bits > 0) for bits in samples]
        for _ in range(1 if shared else header.channels):
            columns.append((position >> 3, 16 - (position & 7) - width, (1 << width) - 1, samples, bands))
            position += width
    words, shifts, masks, all_samples, all_bands = zip(*columns, strict=True)
    return _Allocation(
        position,
        np.array(words),
        np.array(shifts, np.uint16)[:, None],
        np.array(masks, np.uint16)[:, None],
        np.array(all_samples, np.int32).ravel(),
        np.array(all_bands, np.uint8).ravel(),
    )


def _used(header: Header, front: Bytes) -> tuple[Whole, Whole]:
    """Of frames of layer I or II, by what follows header and check: how many bits of it are checked, and how many bits
    are in use; more than a frame holds where the allocation is a forbidden one."""
    import numpy as np

    allocation = _allocation(header)
    columns = front.T.astype(np.uint16, order="C")
    words = columns[:-1] << 8 | columns[1:]
    chosen = words[allocation.words] >> allocation.shifts & allocation.masks
    entries = chosen + 16 * np.arange(len(chosen))[:, None]
    samples = allocation.samples[entries].sum(axis=0, dtype=np.int64)
    bands = allocation.bands[entries].sum(axis=0, dtype=np.int64)  # that have scale factors, in each channel
    if header.layer == 1:
        checked, factors = np.full(len(front), allocation.bits), bands
    else:
        checked = allocation.bits + 2 * bands
        selection = allocation.bits + 2 * np.arange(bands.max(initial=0))
        chosen = words[selection >> 3] >> (14 - (selection & 7)).astype(np.uint16)[:, None] & 3
        there = np.arange(len(selection))[:, None] < bands
        factors = np.array((3, 2, 1, 2), np.uint8)[chosen]
        factors = (factors * there).sum(axis=0, dtype=np.int64)
    return checked, checked + 6 * factors + samples


def _threes(levels: Iterable[int]) -> tuple[int, ...]:
    """The bits that three samples take, by allocation: those of few levels share a code (11172-3, table B.4)."""
    return tuple({3: 5, 5: 7, 9: 10}.get(level, 3 * level.bit_length()) for level in levels)


_POWERS = tuple((1 << bits) - 1 for bits in range(17))
_HIGH = (  # 11172-3, tables B.2a and B.2b
    *[_threes((0, 3, *_POWERS[3:]))] * 3,
    *[_threes((0, 3, 5, 7, 9, *_POWERS[4:14], 65535))] * 8,
    *[_threes((0, 3, 5, 7, 9, 15, 31, 65535))] * 12,
    *[_threes((0, 3, 5, 65535))] * 7,
)
_FEW = _threes((0, 3, 5, 9, *_POWERS[4:16]))
_LOW = (*[_FEW] * 2, *[_FEW[:8]] * 10)  # tables B.2c and B.2d
_HALF = (*[_threes((0, 3, 5, 7, 9, *_POWERS[4:15]))] * 4, *[_FEW[:8]] * 7, *[_FEW[:4]] * 19)  # 13818-3, table B.1
_ONE = ((0, *range(6, 46, 3), _FORBIDDEN),) * 32  # layer I: a bit more than the allocation says; 15 is forbidden


@functools.lru_cache
def _bands(header: Header) -> tuple[tuple[int, ...], ...]:
    """For each band, the bits of three samples by allocation."""
    if header.layer == 1:
        return _ONE
    if not header.mpeg1:
        return _HALF
    bitrate = (header.bitrate or 384) // header.channels
    if bitrate < 56:
        return _LOW[: 12 if header.rate == 32000 else 8]
    return _HIGH[: 30 if bitrate >= 96 and header.rate != 48000 else 27]


# --- the frame in front that counts the others -----------------------------------------------------------------------

_WRITERS = {b"LAME": b"LAME", b"Lavf": b"LAME", b"Lavc": b"LAME", b"L3.9": b"L3.9"}
"""What the names of writers begin with whose delay and padding decoders heed, and what keeps them doing so."""


class _Field(NamedTuple):
    """Bytes `begin` to `end` of a frame, what they are where they are not `clean`, and the reader of a text."""

    begin: int
    end: int
    kind: str
    name: str
    clean: bytes
    reader: str = ""


class _Info(NamedTuple):
    """A Xing, Info or VBRI header: where it begins in its frame, and what it counts; zero where it does not say."""

    magic: bytes
    begin: int
    frames: int
    size: int

    def front(self, four: bytes) -> bytes:
        """What lies between frame header and magic: an error check, where there is one, and zeros."""
        header = header_of(four)
        assert header is not None
        if not header.crc:
            return bytes(self.begin - 4)
        checked = _clean_head(four, 0)[2:] + (bytes(self.begin - 6) + self.magic)[: header.side]
        return crc16(checked, 0xFFFF).to_bytes(2, "big") + bytes(self.begin - 6)

    def rewritten(self, frame: bytes, lengths: Sequence[int]) -> tuple[list[_Field], tuple[tuple[str, str], ...]]:
        """Its frame as the clean file has it, before frames of these `lengths`, and what decoders need of it."""
        fields = [
            _Field(0, 4, "unknown", "mp3.header", _clean_head(frame[:4], 0)),
            _Field(4, self.begin, "unknown", "mp3.side-info", self.front(frame[:4])),
        ]
        if frame[3] & 8 == frame[2] & 1 == 0:
            fields[0] = fields[0]._replace(kind="structure")
        ends = list(accumulate(lengths, initial=len(frame)))  # where each frame ends, from the start of this one
        more, parameters = (_vbri if self.magic == b"VBRI" else _xing)(self, frame, ends)
        fields += more
        last = fields[-1].end
        fields.append(_Field(last, len(frame), "stale", "mp3.tail", bytes(len(frame) - last)))
        return fields, (("header", self.magic.decode("ascii")), *parameters)


def _info(data: bytes, start: int, end: int) -> _Info | None:
    """The Xing, Info or VBRI header in the frame from `start` to `end`."""
    frame = data[start:end]
    header = header_of(frame[:4])
    if header is None or header.layer != 3:
        return None
    if frame[36:40] == b"VBRI" and len(frame) >= 62:
        return _Info(b"VBRI", 36, int.from_bytes(frame[50:54], "big"), int.from_bytes(frame[46:50], "big"))
    for begin in (4 + header.side, header.body):  # most writers let it overlap the CRC, some do not
        if frame[begin : begin + 4] in (b"Xing", b"Info"):
            counts = _counts(frame, begin)
            return _Info(frame[begin : begin + 4], begin, counts.get(1, 0), counts.get(2, 0))
    return None


def _counts(frame: bytes, begin: int) -> dict[int, int]:
    """What a Xing header counts, by flag: 1 frames, 2 bytes."""
    flags, offset = int.from_bytes(frame[begin + 4 : begin + 8], "big"), begin + 8
    counts = {}
    for flag in (1, 2):
        if flags & flag:
            counts[flag] = int.from_bytes(frame[offset : offset + 4], "big")
            offset += 4
    return counts


def _xing(info: _Info, frame: bytes, ends: Sequence[int]) -> tuple[list[_Field], tuple[tuple[str, str], ...]]:
    """The fields of a Xing or Info header from its magic on, and its parameters."""
    flags = frame[info.begin + 7] & 15
    fields = [_Field(info.begin, info.begin + 8, "unknown", "mp3.flags", info.magic + bytes((0, 0, 0, flags)))]
    counts = _counts(frame, info.begin)
    offset = info.begin + 8
    for flag, true, name in ((1, len(ends) - 1, "mp3.frames"), (2, ends[-1], "mp3.count")):
        if flags & flag:
            value = true if counts[flag] else 0
            fields.append(_Field(offset, offset + 4, "stale", name, value.to_bytes(4, "big")))
            offset += 4
    for flag, field in ((4, _toc), (8, _quality)):
        if flags & flag:
            fields.append(field(frame, offset, ends))
            offset = fields[-1].end
    writer = _WRITERS.get(frame[offset : offset + 4])
    if writer is None or offset + 36 > len(frame):
        return fields, ()
    gapless = frame[offset + 21 : offset + 24]
    fields += [
        _Field(offset, offset + 9, "encoder", "mp3.encoder", writer + bytes(5), ledgers.STRING),
        _Field(offset + 9, offset + 11, "encoder", "mp3.method", bytes(2)),  # of variable bit rate, and the low pass
        _Field(offset + 11, offset + 19, "digest", "mp3.replay-gain", bytes(8)),
        _Field(offset + 19, offset + 21, "encoder", "mp3.bitrate", bytes(2)),
        _Field(offset + 21, offset + 24, "structure", "", gapless),
        _Field(offset + 24, offset + 28, "encoder", "mp3.preset", bytes(4)),
        _Field(offset + 28, offset + 32, "encoder", "mp3.length", bytes(4)),
        _Field(offset + 32, offset + 34, "digest", "mp3.music-crc", bytes(2)),
    ]
    front = _clean_head(frame[:4], 0) + info.front(frame[:4]) + b"".join(field.clean for field in fields)
    old = frame[offset + 34 : offset + 36]
    known = old in (_tag_crc(frame[: offset + 34]), _tag_crc((frame[: offset + 34] + bytes(190))[:190]))
    kind = "structure" if known else "unknown"  # FFmpeg takes the 190 bytes that it is of in stereo files
    fields.append(_Field(offset + 34, offset + 36, kind, "mp3.tag-crc", _tag_crc(front)))
    delay, padding = gapless[0] << 4 | gapless[1] >> 4, (gapless[1] & 15) << 8 | gapless[2]
    return fields, (("delay", str(delay)), ("padding", str(padding)))


def _toc(frame: bytes, offset: int, ends: Sequence[int]) -> _Field:
    """For each hundredth of the duration, in which 256th of the bytes it begins."""
    count = len(ends) - 1
    toc = bytes(min(255, 256 * ends[index * count // 100] // ends[-1]) for index in range(100))
    old = frame[offset : offset + 100]
    kind = "structure" if list(old) == sorted(old) else "unknown"
    return _Field(offset, offset + 100, kind, "mp3.toc", toc)


def _quality(_frame: bytes, offset: int, _ends: Sequence[int]) -> _Field:
    return _Field(offset, offset + 4, "encoder", "mp3.quality", bytes(4))


def _tag_crc(front: bytes) -> bytes:
    """The CRC-16 of what precedes it in the frame: 0x8005 like that of frames, but with all bits in reverse order."""
    value = crc16(front.translate(_REVERSED))
    return bytes((_REVERSED[value & 0xFF], _REVERSED[value >> 8]))


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _vbri(info: _Info, frame: bytes, ends: Sequence[int]) -> tuple[list[_Field], tuple[tuple[str, str], ...]]:
    """The fields of a VBRI header from its magic on, and its parameters; its table gives the bytes of every few frames.

    A table that does not fit frame and file is left out.
    """
    entries, scale, size, each = (int.from_bytes(frame[offset : offset + 2], "big") for offset in (54, 56, 58, 60))
    count = len(ends) - 1
    if 62 + entries * size > len(frame) or not (scale and 1 <= size <= 4 and each and (entries - 1) * each <= count):
        entries, scale, size, each = 0, 1, 2, 1
    table = [
        (ends[min(index + each, count)] - ends[min(index, count)]) // scale for index in range(0, entries * each, each)
    ]
    most = (1 << 8 * size) - 1
    fields = [
        _Field(36, 42, "unknown", "mp3.version", b"VBRI\x00\x01"),
        _Field(42, 44, "structure", "", frame[42:44]),
        _Field(44, 46, "encoder", "mp3.quality", bytes(2)),
        _Field(46, 50, "stale", "mp3.count", (ends[-1] if info.size else 0).to_bytes(4, "big")),
        _Field(50, 54, "stale", "mp3.frames", (count if info.frames else 0).to_bytes(4, "big")),
        _Field(
            54, 62, "unknown", "mp3.toc", b"".join(value.to_bytes(2, "big") for value in (entries, scale, size, each))
        ),
        _Field(
            62,
            62 + entries * size,
            "structure",
            "",
            b"".join(min(value, most).to_bytes(size, "big") for value in table),
        ),
    ]
    return fields, (("delay", str(int.from_bytes(frame[42:44], "big"))),)


def _parts(frame: bytes, start: int, fields: Iterable[_Field]) -> Iterator[Part]:
    """The fields of a frame at `start` as parts."""
    for begin, end, kind, name, clean, reader in fields:
        if frame[begin:end] == clean:
            yield Part("structure", "mp3.info", start + begin, start + end)
        elif kind == "structure":
            yield Part(kind, "mp3.info", start + begin, start + end, clean)
        else:
            yield Part(kind, name, start + begin, start + end, clean, reader)
