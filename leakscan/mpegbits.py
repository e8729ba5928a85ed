"""What stands in frames of MPEG audio, layers I to III, that no decoder reads.

Private, copyright and original bits, the unused bits of the mode extension and of the side information, and bits that
belong to no frame's main data have one value in the clean file.
Not looked at: bits of main data behind the last number coded in them, which would take decoding them to find; long text
there is refused.
Sources: ISO/IEC 11172-3 section 2.4 and 13818-3 section 2.4 (side information, bit allocation, error check, ancillary
data).
"""

from __future__ import annotations

import functools
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from leakscan.legible import refuse_buried
from leakscan.mpegframes import Header, header_of
from leakscan.rows import Copy, crc16_bits, gathered, numbers

if TYPE_CHECKING:
    from leakscan.rows import Bytes, Whole


def main_data(header: Header, rows: Bytes) -> tuple[Whole, Whole]:
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
    for index, mask, name in ((2, 1, "private-bit"), (3, 8, "copyright-bit")):
        values = {four[index] & mask for four in found}
        if len(values) > 1:
            bits.add(f"unknown.mp3.{name}")
        elif any(values):  # an option of the encoder
            bits.add(f"encoder.mp3.{name}")
    for four in found:
        if four[3] & 0x30 and four[3] >> 6 != 1:
            bits.add("unknown.mp3.mode-extension")
    if len({four[3] & 4 for four in found}) > 1:
        bits.add("unknown.mp3.original-bit")
    if len(emphasis) > 1:
        bits.add("unknown.mp3.emphasis")
    return {four: clean_head(four, usual) for four in found}, bits


def clean_head(four: bytes, emphasis: int) -> bytes:
    """A header without what no decoder reads, with this emphasis."""
    joint = four[3] >> 6 == 1
    return bytes((four[0], four[1], four[2] & 0xFE, four[3] & (0xF0 if joint else 0xC0) | 4 | emphasis))


def cleaned(data: bytes, starts: array[int], ends: array[int], texts: bool = True) -> tuple[bytearray | None, set[str]]:
    """The data with the frames as the clean file has them, None where they are so, and what is cleared in them.

    Raises Unreadable where long text stands in what is left of one, where only decoding could take it out; unless
    `texts` are not to be looked for.
    """
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
    if texts:
        refuse_buried(copy.made or data, starts, ends)
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
    """What `main_data` says of frames of layer III, after their side information and error check are cleaned."""
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
    return main_data(header, side)


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
