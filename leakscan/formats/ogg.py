"""Ogg with Vorbis, Opus, Speex or FLAC: `.ogg`, `.oga`, `.opus`, `.spx`.

Sources: RFC 3533 (pages), RFC 7845 (Opus), the Vorbis I specification section 5 and A.1, the Speex manual section 7.3,
RFC 9639 section 10.1 (FLAC).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from leakscan.blocks import JUNK_LIMIT, Span, after_id3, at, audio_item, cut, damaged, peel
from leakscan.model import Entry, Item, Tags
from leakscan.tags import TAG_LIMIT, read_tags

AUDIO = True
NAMES = (".ogg", ".oga", ".opus", ".spx")

_MAGIC = b"OggS"
_HEADER = 27
_FIRST, _LAST = 2, 4  # header_type flags: begin and end of a logical stream; 1: goes on with a packet
_CODECS = {b"\x01vorbis": "vorbis", b"OpusHead": "opus", b"Speex   ": "speex", b"\x7fFLAC": "flac"}
_COMMENTS = {"vorbis": b"\x03vorbis", "opus": b"OpusTags", "speex": b""}  # what comes before the comment block
_STREAMS = 10_000  # logical streams in one file
_PACKETS = 64  # header packets that are looked at in FLAC


def sniff(head: bytes) -> bool:
    """`OggS` and version 0 at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 5] == _MAGIC + b"\x00"


def read(entry: Entry) -> Iterator[Item]:
    """The tags of every logical stream of an Ogg file.  Raises Unreadable where it is cut or holds no known codec."""
    return audio_item(entry, _read)


@dataclass(slots=True)
class _Logical:
    """A logical stream: its header packets as far as they are known, and whether its last page came."""

    packets: list[bytes] = field(default_factory=list)
    partial: bytearray = field(default_factory=bytearray)
    wanted: int = 1
    codec: str = ""
    ended: bool = False

    def take(self, segments: bytes, body: bytes) -> int:
        """Collect packets from a page as long as any is wanted; returns the number of bytes kept."""
        offset = 0
        for segment in segments:
            self.partial += body[offset : offset + segment]
            offset += segment
            if segment < 255:
                self._add(bytes(self.partial))
                self.partial.clear()
                if len(self.packets) >= self.wanted:
                    break
        return offset

    def _add(self, packet: bytes) -> None:
        self.packets.append(packet)
        if len(self.packets) == 1:
            self.codec = next((codec for magic, codec in _CODECS.items() if packet.startswith(magic)), "")
            if self.codec == "flac":
                self.wanted = 1 + min(int.from_bytes(packet[7:9], "big") or 1, _PACKETS)
            elif self.codec:
                self.wanted = 2


def _read(stream: BinaryIO) -> Tags:
    peeled = peel(stream)
    links, junk = _walk(stream, peeled.start, peeled.end)
    known = [logical for logical in links if logical.codec]
    if not known:
        raise damaged("no Vorbis, Opus, Speex or FLAC stream in it")
    tags = [pair for span in (*peeled.tags, *junk) for pair in read_tags(stream, *span)]
    for logical in known:
        tags.extend(_tags(logical))
    return Tags(f"ogg-{known[0].codec}", tuple(dict.fromkeys(tags)))


def _walk(stream: BinaryIO, start: int, end: int) -> tuple[list[_Logical], list[Span]]:
    """All logical streams, chained and multiplexed ones, and the bytes that belong to no page."""
    links: list[_Logical] = []
    open_streams: dict[bytes, _Logical] = {}  # of the current link of the chain
    begun = True  # only first pages so far in this link
    junk: list[Span] = []
    passed = kept = 0
    offset = start
    while offset < end:
        head = at(stream, offset, min(_HEADER + 255, end - offset))
        if head[:5] != _MAGIC + b"\x00":
            if (_MAGIC + b"\x00").startswith(head):
                raise cut("its last page is not there in full")
            found = _next_page(stream, offset + 1, min(end, offset + JUNK_LIMIT + 1))
            if found - offset >= 6:  # shorter ones hold no text worth reporting
                junk.append(Span("junk", offset, found))
            passed += found - offset
            if passed > JUNK_LIMIT:
                raise damaged(f"more than {JUNK_LIMIT:,} bytes before byte {found:,} belong to no page")
            offset = found
            continue
        segments = head[_HEADER : _HEADER + head[26]] if len(head) >= _HEADER else b""
        body = offset + _HEADER + len(segments)
        if len(head) < _HEADER or len(segments) < head[26] or body + sum(segments) > end:
            raise cut("its last page is not there in full")
        flags, serial = head[5], head[14:18]
        if flags & _FIRST:
            if not begun:
                open_streams.clear()
            logical = open_streams[serial] = _Logical()
            links.append(logical)
            if len(links) > _STREAMS:
                raise damaged(f"more than {_STREAMS:,} logical streams in it")
        begun = bool(flags & _FIRST)
        if (known := open_streams.get(serial)) is not None:
            if len(known.packets) < known.wanted:
                kept += known.take(segments, at(stream, body, sum(segments)))
                if kept > TAG_LIMIT:
                    raise damaged(f"its header packets are larger than {TAG_LIMIT:,} bytes")
            known.ended = known.ended or bool(flags & _LAST)
        offset = body + sum(segments)
    if any(logical.codec and not logical.ended for logical in open_streams.values()):
        raise cut("its last page does not say that the stream ends")
    return links, junk


def _next_page(stream: BinaryIO, start: int, stop: int) -> int:
    block = 1 << 12
    while start < stop:
        found = at(stream, start, min(block + 3, stop - start)).find(_MAGIC)
        if found >= 0:
            return start + found
        start += block
        block = min(4 * block, 1 << 16)
    return stop


def _tags(logical: _Logical) -> Iterator[tuple[str, str]]:
    if len(logical.packets) < 2:
        raise cut(f"its {logical.codec} stream has no comment packet")
    if logical.codec == "flac":
        kinds = {4: "vorbis", 6: "flac-picture", 5: "flac-cuesheet"}
        for packet in logical.packets[1:]:
            if packet and packet[0] & 0x7F in kinds:
                yield from read_tags(io.BytesIO(packet), kinds[packet[0] & 0x7F], 4)
        return
    magic = _COMMENTS[logical.codec]
    if not logical.packets[1].startswith(magic):
        raise damaged(f"its {logical.codec} stream has no comment packet")
    yield from read_tags(io.BytesIO(logical.packets[1]), "vorbis", len(magic))
