"""Ogg with Vorbis, Opus, Speex or FLAC: `.ogg`, `.oga`, `.opus`, `.spx`.

Sources: RFC 3533 (pages), RFC 7845 (Opus), the Vorbis I specification section 4.2, 5 and A.1, the Speex manual section
7.3, RFC 9639 section 10.1 (FLAC).

The clean file has the pages of known codecs and no others: headers paged anew with an empty comment, streams and pages
counted from 0, and the bodies of the pages with sound as they are.  A page is one whose checksum is right.
Not looked at: bytes after the end of a Vorbis setup header, padding inside Opus packets, and whether granule positions
agree with the lengths of packets.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, NamedTuple

from leakscan.blocks import JUNK_LIMIT, after_id3, at, cut, damaged, glued, peel
from leakscan.ledgers import audio_item, gap, ledger
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.tags import TAG_LIMIT, Pair, read_tags

AUDIO = True
NAMES = (".ogg", ".oga", ".opus", ".spx")

_MAGIC = b"OggS\x00"
_HEADER = 27
_CONTINUED, _FIRST, _LAST = 1, 2, 4  # header_type flags
_NO_GRANULE = b"\xff" * 8
_CODECS = {b"\x01vorbis": "vorbis", b"OpusHead": "opus", b"Speex   ": "speex", b"\x7fFLAC": "flac"}
_COMMENTS = {"vorbis": b"\x03vorbis", "opus": b"OpusTags", "speex": b"", "flac": b""}  # before the comment block
_EMPTY = bytes(8)  # a comment block: no vendor, no field
_PADDING, _COMMENT = 1, 4  # FLAC metadata blocks
_READERS = {4: "vorbis", 5: "flac-cuesheet", 6: "flac-picture"}
_BLOCKS = {1: "padding", 2: "application", 3: "seektable", 4: "comment", 5: "cuesheet", 6: "picture"}
_STREAMS = 10_000  # logical streams in one file
_BROKEN = 1_000  # places that look like a page and have a wrong checksum
_PACKETS = 10_000  # header packets of a stream
_READ = 1 << 18  # fits the cache of the processor
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def sniff(head: bytes) -> bool:
    """`OggS` and version 0 at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 5] == _MAGIC


def read(entry: Entry) -> Iterator[Item]:
    """The one item of an Ogg file.  Raises Unreadable where it is cut or holds no known codec."""
    spread: list[Pair] = []

    def accounted(stream: BinaryIO) -> Ledger:
        found = _Walk(stream)
        spread.extend(pair for reader, packet in found.spread for pair in read_tags(io.BytesIO(packet), reader))
        return found.ledger()

    for item in audio_item(entry, accounted):
        yield replace(item, body=replace(item.body, tags=tuple(dict.fromkeys((*item.body.tags, *spread)))))


def account(stream: BinaryIO) -> Ledger:
    """Every byte of an Ogg file.  Raises Unreadable where it is cut or holds no known codec."""
    return _Walk(stream).ledger()


# --- pages -----------------------------------------------------------------------------------------------------------


class _Page(NamedTuple):
    """A page whose checksum is right: where it and its body lie, and what its header says."""

    start: int
    body: int
    end: int
    flags: int
    granule: bytes
    serial: bytes
    number: int
    lacing: bytes
    backwards: memoryview  # the body, the bits of every byte reversed

    @property
    def content(self) -> bytes:
        """The body."""
        return bytes(self.backwards).translate(_REVERSED)


def _crc(head: bytes, backwards: bytes | memoryview) -> bytes:
    """The checksum of a page.  Its bits run the other way than those of zlib, which is a hundred times as fast."""
    crc = zlib.crc32(backwards, zlib.crc32(head.translate(_REVERSED), 0xFFFFFFFF)) ^ 0xFFFFFFFF
    return crc.to_bytes(4, "big").translate(_REVERSED)


def _head(flags: int, granule: bytes, serial: int, number: int, lacing: bytes, backwards: bytes | memoryview) -> bytes:
    """The header of a page."""
    start = b"%b%c%b%b%b" % (_MAGIC, flags, granule, serial.to_bytes(4, "little"), number.to_bytes(4, "little"))
    end = b"%c%b" % (len(lacing), lacing)
    return start + _crc(start + bytes(4) + end, backwards) + end


def _paged(packets: list[bytes], serial: int, number: int, flags: int = 0) -> Iterator[bytes]:
    """Header packets on as few pages as they need; their granule position is 0."""
    lacing = b"".join(b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255]) for packet in packets)
    data = b"".join(packets)
    for first in range(0, len(lacing), 255):
        some = lacing[first : first + 255]
        body, data = data[: sum(some)], data[sum(some) :]
        more = _CONTINUED if first and lacing[first - 1] == 255 else 0
        granule = bytes(8) if some.strip(b"\xff") else _NO_GRANULE
        yield _head(flags | more, granule, serial, number, some, body.translate(_REVERSED)) + body
        number += 1


class _Window:
    """A stream read in large blocks: most pages are small."""

    def __init__(self, stream: BinaryIO, end: int) -> None:
        self._stream, self._end = stream, end
        self._start, self._data = 0, b""
        self._reversed = memoryview(b"")

    def _hold(self, offset: int, count: int) -> int:
        """Have up to `count` bytes from `offset` in the block; where they begin in it."""
        if not self._start <= offset <= offset + count <= self._start + len(self._data):
            self._start, self._data = offset, at(self._stream, offset, min(max(count, _READ), self._end - offset))
            self._reversed = memoryview(self._data.translate(_REVERSED))
        return offset - self._start

    def at(self, offset: int, count: int) -> bytes:
        """Up to `count` bytes from `offset`; fewer where the stream ends."""
        count = max(min(count, self._end - offset), 0)
        start = self._hold(offset, count)
        return self._data[start : start + count]

    def backwards(self, start: int, end: int) -> memoryview:
        """The bytes from `start` to `end`, the bits of each reversed; the block is reversed at once."""
        first = self._hold(start, end - start)
        return self._reversed[first : first + end - start]


# --- header packets --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Packet:
    """A header packet and where it lies in the file: in several pieces where it goes over pages."""

    data: bytearray = field(default_factory=bytearray)
    pieces: list[tuple[int, int]] = field(default_factory=list)

    def add(self, data: bytes, start: int) -> None:
        """The next bytes of the packet, which lie at `start`."""
        self.data += data
        if self.pieces and self.pieces[-1][1] == start:
            self.pieces[-1] = (self.pieces[-1][0], start + len(data))
        else:
            self.pieces.append((start, start + len(data)))


class _Field(NamedTuple):
    """Bytes of a header that are zero in the clean file (but for a framing bit), and what they are otherwise."""

    kind: str
    name: str
    start: int
    end: int


class _Head(NamedTuple):
    """The first packet of a stream as the clean file has it, what is not in it then, and what decoders need of it."""

    clean: bytes
    extras: tuple[_Field, ...]
    parameters: tuple[tuple[str, str], ...]


_FIELDS = {
    "vorbis": (_Field("unknown", "ogg.reserved", 29, 30),),
    "opus": (),
    "speex": (_Field("encoder", "ogg.speex-version", 8, 28), _Field("unknown", "ogg.reserved", 68, 80)),
    "flac": (_Field("encoder", "ogg.flac-frame-sizes", 21, 27), _Field("digest", "ogg.flac-md5", 35, 51)),
}
_OPUS = {"pre-skip": 10, "gain": 16}  # words of its header (RFC 7845 section 5.1)


def _head_packet(codec: str, packet: bytes) -> _Head:
    """Raises Unreadable where the packet is no header of this codec."""
    size = {"vorbis": 30, "opus": _opus_size(packet), "speex": 80, "flac": 51}[codec]
    if len(packet) < size or not _VALID[codec](packet):
        raise damaged(f"its {codec} stream begins with no valid header")
    clean = bytearray(packet[:size])
    for _, _, start, end in _FIELDS[codec]:
        clean[start:end] = bytes(end - start)
    if codec == "vorbis":
        clean[29] = 1  # the framing bit
    elif codec == "flac":
        clean[5:9], clean[13] = b"\x01\x00\x00\x01", 0  # version 1.0, and one more header packet: the comment
    extras = [one for one in _FIELDS[codec] if packet[one.start : one.end] != clean[one.start : one.end]]
    if len(packet) > size:
        extras.append(_Field("unknown", "ogg.slack", size, len(packet)))
    words = {name: packet[start : start + 2] for name, start in _OPUS.items()} if codec == "opus" else {}
    told = [(name, str(int.from_bytes(word, "little", signed=name == "gain"))) for name, word in words.items()]
    return _Head(bytes(clean), tuple(extras), (*told, ("head", clean.hex())))


_VALID: dict[str, Callable[[bytes], bool]] = {
    "vorbis": lambda packet: packet[7:11] == bytes(4) and packet[29] & 1 == 1,
    "opus": lambda packet: packet[8] < 0x10,
    "speex": lambda packet: packet[32:36] == b"\x50\x00\x00\x00",
    "flac": lambda packet: packet[5] == 1 and packet[9:13] == b"fLaC" and packet[13] & 0x7F == 0,
}


def _opus_size(packet: bytes) -> int:
    """The size of an Opus header by its mapping family (RFC 7845 section 5.1.1, RFC 8486 section 3.2)."""
    if packet[18:19] in (b"", b"\x00"):
        return 19
    return 21 + packet[9] * (2 * sum(packet[19:21]) if packet[18] == 3 else 1)


def _comment_kind(block: bytes, end: bytes) -> str:
    """What a comment block is that in a clean file is empty but for its `end`."""
    if block == _EMPTY + end:
        return "structure"
    size = int.from_bytes(block[:4], "little")
    return "encoder" if block[4 + size :] == bytes(4) + end else "tag"  # a vendor and no field


# --- logical streams -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Stream:
    """A logical stream: its number in the clean file, its header packets, and how far it has been followed."""

    codec: str
    index: int
    packets: list[_Packet] = field(default_factory=list)
    pages: int = 0
    written: int = 0  # pages of the clean file
    sound: bool = False  # all headers are there
    open: bool = False  # the last packet goes on
    ended: bool = False
    granule: int = 0
    parameters: list[tuple[str, str]] = field(default_factory=list)

    def follows(self, page: _Page) -> bool:
        """Is `page` the next one?"""
        place = page.number, bool(page.flags & _CONTINUED), bool(page.flags & _FIRST)
        return not self.ended and place == (self.pages, self.open, not self.pages)

    def collect(self, page: _Page, body: bytes) -> None:
        """Take header packets from a page."""
        offset = 0
        for size in page.lacing:
            if not self.open:
                self.packets.append(_Packet())
            self.packets[-1].add(body[offset : offset + size], page.body + offset)
            self.open = size == 255
            offset += size
        if len(self.packets) > _PACKETS:
            raise damaged(f"more than {_PACKETS:,} header packets in its {self.codec} stream")

    def begins_sound(self, body: bytes) -> bool:
        """Are all header packets there, so that the next page, with this body, has sound on it?

        Raises Unreadable where sound has begun on a page of headers.
        """
        if self.codec == "flac":  # frames, and no metadata blocks, begin with this byte
            begun, complete = any(packet.data[:1] == b"\xff" for packet in self.packets), body[:1] == b"\xff"
        else:
            wanted = 3 if self.codec == "vorbis" else 2
            if self.codec == "speex":
                wanted += min(int.from_bytes(self.packets[0].data[68:72], "little"), _PACKETS)
            begun, complete = len(self.packets) > wanted, len(self.packets) == wanted
        if begun:
            raise damaged(f"its {self.codec} stream has sound on a page of headers")
        return complete and not self.open


class _Walk:
    """All pages of a file, once; `spread` are header packets with tags that go over several pages, with readers."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._peeled = peel(stream)
        self._window = _Window(stream, self._peeled.end)
        self._parts: list[Part] = list(glued("ogg", self._peeled))
        self._streams: list[_Stream] = []
        self.spread: list[tuple[str, bytes]] = []
        self._walk()

    def ledger(self) -> Ledger:
        """The account of the file."""
        if not self._streams:
            raise damaged("no Vorbis, Opus, Speex or FLAC stream in it")
        parameters = []
        for stream in self._streams:
            if not stream.sound:
                raise cut(f"its {stream.codec} stream has no sound in it")
            if not stream.ended:
                raise cut("its last page does not say that the stream ends")
            link = f"{stream.index}." if stream.index else ""
            told = [*stream.parameters, ("granule", str(stream.granule))]
            parameters += [(link + name, value) for name, value in told]
        return ledger(self._stream, f"ogg-{self._streams[0].codec}", self._parts, parameters)

    def _pages(self) -> Iterator[_Page]:
        """The pages whose checksum is right."""
        offset, end = self._peeled.start, self._peeled.end
        passed = broken = 0
        while offset < end:
            head = self._window.at(offset, _HEADER + 255)
            if head[:5] == _MAGIC:
                lacing = head[_HEADER : _HEADER + head[26]] if len(head) >= _HEADER else b""
                body = offset + _HEADER + len(lacing)
                after = body + sum(lacing)
                if len(head) < _HEADER or len(lacing) < head[26] or after > end:
                    raise cut("its last page is not there in full")
                backwards = self._window.backwards(body, after)
                if _crc(head[:22] + bytes(4) + head[26 : _HEADER + len(lacing)], backwards) == head[22:26]:
                    number = int.from_bytes(head[18:22], "little")
                    yield _Page(offset, body, after, head[5], head[6:14], head[14:18], number, lacing, backwards)
                    offset = after
                    continue
                broken += 1
                if broken > _BROKEN:
                    raise damaged(f"more than {_BROKEN:,} of its pages have a wrong checksum")
            elif _MAGIC.startswith(head):
                raise cut("its last page is not there in full")
            found = self._next_page(offset + 1, min(end, offset + JUNK_LIMIT + 1))
            passed += found - offset
            if passed > JUNK_LIMIT:
                raise damaged(f"more than {JUNK_LIMIT:,} bytes before byte {found:,} belong to no page")
            offset = found

    def _next_page(self, start: int, stop: int) -> int:
        block = 1 << 10  # grows, so that many small gaps cost little and a large one is passed quickly
        while start < stop:
            found = self._window.at(start, min(block + 3, stop - start)).find(_MAGIC[:4])
            if found >= 0:
                return start + found
            start += block
            block = min(4 * block, 1 << 16)
        return stop

    def _walk(self) -> None:
        link: dict[bytes, _Stream | str] = {}  # the streams of the current link of the chain; unknown ones by name
        begun = True  # only first pages so far in it
        count = kept = 0
        for page in self._pages():
            if page.flags & _FIRST:
                if not begun:
                    link.clear()
                count += 1
                if count > _STREAMS or page.serial in link:
                    raise damaged(f"too many streams in it, or two of one number, at byte {page.start:,}")
                link[page.serial] = self._begin(page)
            begun = bool(page.flags & _FIRST)
            stream = link.get(page.serial, "page")
            if isinstance(stream, str):
                self._parts.append(Part("unknown", f"ogg.{stream}", page.start, page.end, b""))
                continue
            if not stream.follows(page):
                raise damaged(f"the page at byte {page.start:,} does not follow the one before of its stream")
            prefix = b""
            if not stream.sound:
                body = page.content
                if not stream.pages or not stream.begins_sound(body):
                    kept += len(body)
                    if kept > TAG_LIMIT:
                        raise damaged(f"its header packets are larger than {TAG_LIMIT:,} bytes")
                    stream.collect(page, body)
                    self._header_page(stream, page, body)
                else:
                    stream.sound = True
                    prefix = self._headers(stream)
            if stream.sound:
                self._sound_page(stream, page, prefix)
            stream.pages += 1
            stream.ended = bool(page.flags & _LAST)

    def _begin(self, page: _Page) -> _Stream | str:
        """The logical stream that a first page begins, or a name for what is none of the codecs."""
        packet = page.content
        codec = next((codec for magic, codec in _CODECS.items() if packet.startswith(magic)), "")
        if not codec:
            return "skeleton" if packet.startswith(b"fishead\0") else "stream"
        if page.lacing.lstrip(b"\xff")[1:] or page.lacing[-1:] == b"\xff":  # more than a packet, or less
            raise damaged(f"its {codec} stream does not begin with one header")
        self._streams.append(_Stream(codec, len(self._streams)))
        return self._streams[-1]

    def _header_page(self, stream: _Stream, page: _Page, body: bytes) -> None:
        """State the parts of a page of headers, of the first one with what is on it; the others are paged anew."""
        plain = page.flags <= 7 and page.granule in (bytes(8), _NO_GRANULE)
        kind = "structure" if plain else "unknown"
        if stream.pages:
            self._parts.append(Part(kind, "ogg.page", page.start, page.body, b""))
            return
        head = _head_packet(stream.codec, body)
        stream.parameters += head.parameters
        (clean,) = _paged([head.clean], stream.index, 0, _FIRST)
        serial = "structure" if page.serial == clean[14:18] else "serial"
        self._parts.append(Part(kind, "ogg.page", page.start, page.start + 14, clean))
        self._parts.append(Part(serial, "ogg.serial", page.start + 14, page.start + 18, b""))
        self._parts.append(Part(kind, "ogg.page", page.start + 18, page.body, b""))
        offset = page.body
        for extra in head.extras:
            start, end = page.body + extra.start, page.body + extra.end
            self._parts.append(Part("structure", "ogg.header", offset, start, b""))
            self._parts.append(Part(extra.kind, extra.name, start, end, b""))
            offset = end
        self._parts.append(Part("structure", "ogg.header", offset, page.end, b""))

    def _headers(self, stream: _Stream) -> bytes:
        """State the parts that the header packets after the first are; the pages they are on in the clean file."""
        magic = _COMMENTS[stream.codec]
        end = b"\x01" if stream.codec == "vorbis" else b""  # the framing bit
        packets = [magic + _EMPTY + end]
        if stream.codec == "flac":
            packets = [b"\x84" + len(_EMPTY).to_bytes(3, "big") + _EMPTY]  # the last block, a comment
            for packet in stream.packets[1:]:
                self._block(packet)
        else:
            comment, *more = stream.packets[1:]
            if not comment.data.startswith(magic):
                raise damaged(f"its {stream.codec} stream has no comment packet")
            kind = _comment_kind(bytes(comment.data[len(magic) :]), end)
            self._tag(kind, "ogg.comment", comment, len(magic), "vorbis")
            for packet in more:
                self._pieces("structure" if stream.codec == "vorbis" else "unknown", "ogg.setup", packet)
        if stream.codec == "vorbis":
            setup = bytes(stream.packets[2].data)
            if not setup.startswith(b"\x05vorbis"):
                raise damaged("its vorbis stream has no setup header")
            packets.append(setup)
            stream.parameters.append(("setup", hashlib.sha256(setup).hexdigest()))
        pages = list(_paged(packets, stream.index, 1))
        stream.written = 1 + len(pages)
        stream.packets.clear()
        return b"".join(pages)

    def _block(self, packet: _Packet) -> None:
        """State what a FLAC metadata block is."""
        kind = packet.data[0] & 0x7F if packet.data else 0
        name = f"ogg.flac-{_BLOCKS.get(kind, 'reserved')}"
        if kind == _PADDING:
            first, _ = packet.pieces[0]
            self._parts.append(Part("structure", "ogg.header", first, first + min(4, len(packet.data)), b""))
            for start, end in packet.pieces:
                self._parts.append(
                    gap(self._stream, "ogg", min(start + 4, end) if start == first else start, end, name)
                )
        elif kind in _READERS:
            what = _comment_kind(bytes(packet.data[4:]), b"") if kind == _COMMENT else "tag"
            self._tag(what, name, packet, 4, _READERS[kind])
        else:
            self._pieces("unknown", name, packet)

    def _tag(self, kind: str, name: str, packet: _Packet, skipped: int, reader: str) -> None:
        """State a tag after `skipped` bytes of a packet; where it goes over pages, it is read apart."""
        if kind == "structure" or len(packet.pieces) > 1:
            self._pieces(kind, name, packet)
            if kind != "structure":
                self.spread.append((reader, bytes(packet.data[skipped:])))
            return
        ((start, end),) = packet.pieces
        begin = min(start + skipped, end)
        self._parts.append(Part("structure", "ogg.header", start, begin, b""))
        self._parts.append(Part(kind, name, begin, end, b"", reader))

    def _pieces(self, kind: str, name: str, packet: _Packet) -> None:
        self._parts += [Part(kind, name, start, end, b"") for start, end in packet.pieces]

    def _sound_page(self, stream: _Stream, page: _Page, prefix: bytes) -> None:
        """State the parts of a page with sound; `prefix` is what comes before it in the clean file."""
        ends = not page.lacing or page.lacing.strip(b"\xff") != b""  # else its granule position says nothing
        granule = page.granule if ends else _NO_GRANULE
        plain = page.flags <= 7 and granule == page.granule
        head = None
        if not plain or prefix or (page.serial, page.number) != (stream.index.to_bytes(4, "little"), stream.written):
            head = _head(page.flags & 7, granule, stream.index, stream.written, page.lacing, page.backwards)
        self._parts.append(
            Part("structure" if plain else "unknown", "ogg.page", page.start, page.body, head and prefix + head)
        )
        if page.body < page.end:
            self._parts.append(Part("payload", "ogg.packets", page.body, page.end))
        if granule != _NO_GRANULE:
            stream.granule = int.from_bytes(granule, "little", signed=True)
        stream.open = page.lacing[-1:] == b"\xff" if page.lacing else stream.open
        stream.written += 1
