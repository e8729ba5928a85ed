"""MPEG audio, layers I to III: `.mp3`.

Sources: ISO/IEC 11172-3 section 2.4 and 13818-3 section 2.4 (frame header).

The clean file has the frames only, one after the other, without what no decoder reads in them (`mpegbits`,
`mpeginfo`).
"""

from __future__ import annotations

import functools
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from leakscan import ledgers, mpegbits, mpeginfo
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
    runs,
    size_of,
    walk_frames,
)
from leakscan.ledgers import NOTHING, Seen
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.mpegframes import header_of
from leakscan.rows import gathered

AUDIO = True
NAMES = (".mp3", ".mp2", ".mp1", ".mpga")
LOADS = ("fastcrc", "numpy")
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
    return _account(stream, NOTHING)


def read_back(stream: BinaryIO, seen: Seen) -> Ledger:
    """The same of a clean copy; no text is looked for again where all sound is that was `seen` in its source."""
    return _account(stream, seen)


def _account(stream: BinaryIO, seen: Seen) -> Ledger:
    import numpy as np

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
    walk = _plain(data, start, parse) or walk_frames(data, start, 4, _SYNC, parse)
    starts, ends = walk.starts, walk.ends
    if not starts:
        raise damaged("no MPEG audio frame in it")
    parts += (Part("tag", f"mp3.{span.kind}", span.start, span.end, reader=span.kind) for span in walk.tags)
    first, last = starts[0], ends[0]
    info = mpeginfo.info_in(data[first:last])
    _check(data, walk, info)
    if info:
        del starts[0], ends[0]
    if walk.partial and (tail := data[walk.partial.start :]) and len(tail) >= _least(tail):
        starts.append(walk.partial.start)
        ends.append(len(data))
    if not starts:
        raise damaged("a header in front, but no sound behind it")
    edges = array("q", (edge for run in zip(*runs(starts, ends), strict=True) for edge in run))
    clean, bits = mpegbits.cleaned(data, starts, ends, texts=edges != seen.sounds)
    parts += frame_parts("mp3.frames", data, starts, ends, clean)
    parameters: tuple[tuple[str, str], ...] = ()
    if info:
        fields, parameters = info.rewritten(data[first:last], np.array(ends) - np.array(starts))
        parts += _parts(data[first:last], first, fields)
    return ledgers.ledger(stream, "mp3", parts, parameters, sorted(bits))


def _plain(data: bytes, start: int, parse: Callable[[bytes], Frame | None]) -> Walk | None:
    """The walk over frames up to the end that are alike, with nothing else in between; None where it is not so.

    With most files it is so: then one byte of each header tells how long its frame is, and all headers are looked at
    together.
    """
    import numpy as np

    head = data[start : start + 4]
    like = parse(head)
    if like is None:
        return None
    lengths = [0] * 256  # by that byte
    found = []
    offset, last = start, len(data) - 4
    while offset <= last:
        found.append(offset)
        length = lengths[kind := data[offset + 2]]
        if not length:
            frame = parse(bytes((head[0], head[1], kind, head[3])))
            if frame is None:
                return None
            length = lengths[kind] = frame.length
        offset += length
    if offset != len(data):
        return None
    starts = array("q", found)
    heads = np.unique(gathered(data, np.array(starts), 4).view(">u4")).tolist()
    if any(parse(four.to_bytes(4, "big")) != (lengths[four >> 8 & 0xFF], like.fixed) for four in heads):
        return None
    return Walk(starts, starts[1:] + array("q", (offset,)), (), None)


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


def _check(data: bytes, walk: Walk, info: mpeginfo.Info | None) -> None:
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
    back, needed = mpegbits.main_data(header, np.frombuffer(side, np.uint8)[None])
    audio = max(0, (int(needed[0]) + 7) // 8 - int(back[0]))
    return -3 <= len(frame) - (header.body + audio) <= 3


def _least(frame: bytes) -> int:
    """How many bytes of a frame a decoder needs to play any of it."""
    header = header_of(frame[:4])
    return header.body if header else 4


def _parts(frame: bytes, start: int, fields: Iterable[mpeginfo.Field]) -> Iterator[Part]:
    """The fields of a frame at `start` as parts."""
    for begin, end, kind, name, clean, reader in fields:
        if frame[begin:end] == clean:
            yield Part("structure", "mp3.info", start + begin, start + end)
        elif kind == "structure":
            yield Part(kind, "mp3.info", start + begin, start + end, clean)
        else:
            yield Part(kind, name, start + begin, start + end, clean, reader)
