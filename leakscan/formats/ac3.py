"""AC-3 and E-AC-3: `.ac3`, `.eac3`.

Source: ATSC A/52:2018 section 5.3.

The clean file has the sync frames only, without what no decoder reads in them (`ac3bits`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from leakscan import ac3bits, ledgers
from leakscan.ac3frames import HEADER, header_of
from leakscan.blocks import at, begins_with_frames, cut, damaged, frame_parts, glued, peel, walk_frames
from leakscan.model import Entry, Item, Ledger, Part

AUDIO = True
NAMES = (".ac3", ".eac3", ".ec3")
LOADS = ("fastcrc", "numpy")

_SYNC = re.compile(rb"\x0b\x77|ID3|APETAGEX")

_CHAIN = 2  # frames in a row that tell AC-3 behind other bytes; the sync word has 16 bits
_OTHERS = re.compile(rb"RIFF|RF64|fLaC|OggS|FORM|PK|.{4}ftyp|\x1aE\xdf\xa3|\x00\x00\x01|G.{187}G", re.DOTALL)


def sniff(head: bytes) -> bool:
    """Two valid frame headers, the second where the first says (a frame has at most 4,096 bytes), after tags; or two
    frames in a row after a few other bytes."""
    return begins_with_frames(head, HEADER, _SYNC, header_of, _CHAIN, _OTHERS)


def read(entry: Entry) -> Iterator[Item]:
    """What an AC-3 file holds beside its sound.  Raises Unreadable where it is cut or no AC-3."""
    return ledgers.audio_item(entry, account)


def account(stream: BinaryIO) -> Ledger:
    """Account for every byte of an AC-3 or E-AC-3 file.  Raises Unreadable where its last frame is not there in full,
    or where it is no AC-3."""
    peeled = peel(stream)
    data = at(stream, 0, peeled.end)
    walk = walk_frames(data, peeled.start, HEADER, _SYNC, header_of, _key)
    if not walk.starts:
        raise damaged("no AC-3 frame in it")
    if walk.partial:
        there, length = peeled.end - walk.partial.start, walk.partial.end - walk.partial.start
        raise cut(f"{there:,} of the {length:,} bytes of its last frame are there")
    parts = list(glued("ac3", peeled))
    parts += (Part("tag", f"ac3.{span.kind}", span.start, span.end, reader=span.kind) for span in walk.tags)
    clean, bits = ac3bits.cleaned(data, walk.starts, walk.ends)
    parts += frame_parts("ac3.frames", data, walk.starts, walk.ends, clean)
    return ledgers.ledger(stream, "ac3", parts, (), sorted(bits))


def _key(data: bytes, offset: int) -> bytes:
    """What `header_of` heeds of a header: in AC-3, not the check in its middle."""
    head = data[offset : offset + HEADER]
    return head if head[5:] >= b"\x58" else head[:2] + head[4:]
