"""Ogg with Vorbis, Opus, Speex or FLAC: `.ogg`, `.oga`, `.opus`, `.spx`.

Sources: RFC 3533 (pages), RFC 7845 (Opus), the Vorbis I specification section 4.2, 5 and A.1, the Speex manual section
7.3, RFC 9639 section 10.1 (FLAC).

The clean file has the pages of known codecs and no others: headers paged anew with an empty comment, streams and pages
counted from 0, and the bodies of the pages with sound, in which zeros stand for what no decoder reads.  A page is one
whose checksum is right.  Granule positions follow from the lengths of the packets; but for the first, which may say
that something is left out at the start, and the last, which may say so of the end.
"""

from __future__ import annotations

import hashlib
import io
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import BinaryIO, NamedTuple

from leakscan import decoders, flacframes, oggpackets, vorbis
from leakscan.blocks import after_id3, cut, damaged, glued, peel
from leakscan.ledgers import NOTHING, Seen, audio_item, gap, ledger, woven
from leakscan.legible import buried
from leakscan.model import Entry, Item, Ledger, Part
from leakscan.oggpackets import Change, Sound
from leakscan.oggpages import CONTINUED, FIRST, LAST, MAGIC, NO_GRANULE, Page, head_of, paged, runs
from leakscan.tags import TAG_LIMIT, Pair, read_tags

AUDIO = True
NAMES = (".ogg", ".oga", ".opus", ".spx")
LOADS = ("fastcrc", "numpy")

_CODECS = {b"\x01vorbis": "vorbis", b"OpusHead": "opus", b"Speex   ": "speex", b"\x7fFLAC": "flac"}
_COMMENTS = {"vorbis": b"\x03vorbis", "opus": b"OpusTags", "speex": b"", "flac": b""}  # before the comment block
_EMPTY = decoders.NO_COMMENT
_PADDING, _SEEKTABLE, _COMMENT = 1, 3, 4  # FLAC metadata blocks
_READERS = {4: "vorbis", 5: "flac-cuesheet", 6: "flac-picture"}
_BLOCKS = {1: "padding", 2: "application", 3: "seektable", 4: "comment", 5: "cuesheet", 6: "picture"}
_STREAMS = 10_000  # logical streams in one file
_PACKETS = 10_000  # header packets of a stream
_NEAR = 8192  # samples; the longest block of Vorbis
_MANY = 1 << 20  # bytes of pages with sound that are looked at together, at least
_PAGE = 1 << 10  # bytes that a page takes while it waits for that, beside what is on it


def sniff(head: bytes) -> bool:
    """`OggS` and version 0 at the start or after ID3v2 tags."""
    start = after_id3(head)
    return head[start : start + 5] == MAGIC


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


def read_back(stream: BinaryIO, seen: Seen) -> Ledger:
    """The same of a clean copy; packets that were `seen` in its source are not looked into again."""
    return _Walk(stream, seen).ledger()


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
    "vorbis": lambda packet: (
        packet[7:11] == bytes(4)
        and packet[29] & 1 == 1
        and _small(packet[16:28])
        and int.from_bytes(packet[12:16], "little") <= vorbis.MOST_RATE
    ),
    "opus": lambda packet: packet[8] < 0x10 and (packet[18] > 0 or 0 < packet[9] < 3) and _small(packet[12:16]),
    "speex": lambda packet: packet[32:36] == b"\x50\x00\x00\x00" and _small(packet[28:68]),
    "flac": lambda packet: packet[5] == 1 and packet[9:13] == b"fLaC" and packet[13] & 0x7F == 0,
}


def _small(words: bytes) -> bool:
    """Are these words such that no text is in them?  They are bit rates, sample rates and the like, or -1."""
    return set(words[3::4]) <= {0, 0xFF}


def _opus_size(packet: bytes) -> int:
    """The size of an Opus header by its mapping family (RFC 7845 section 5.1.1, RFC 8486 section 3.2)."""
    if packet[18:19] in (b"", b"\x00"):
        return 19
    return 21 + packet[9] * (2 * sum(packet[19:21]) if packet[18] == 3 else 1)


def _comment_kind(block: bytes, end: bytes) -> str:
    """What a comment block is that in a clean file has no vendor and ends with `end`."""
    if block == bytes(4) + end:
        return "structure"
    size = int.from_bytes(block[:4], "little")
    return "encoder" if block[4 + size :] == end else "tag"  # a vendor and no other field


# --- logical streams -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Clock:
    """The granule position, from page to page: of the samples so far, counted from `start`, which is below 0 where some
    are left out; `shift` is how far from there the file counts, as live streams do."""

    samples: int = 0
    start: int | None = None
    shift: int = 0
    position: int = 0

    def at(self, stated: int, samples: int, last: bool) -> tuple[int, bool]:
        """The granule position of a page on which so many samples end, and whether the one `stated` says as much.

        Encoders are off by half a block here and there, which decoders rely on at the end.
        """
        before, shift = self.samples, self.shift
        self.samples += samples
        if self.start is None:
            self.start = 0 if last else stated - self.samples
            if not -self.samples <= self.start <= _NEAR:
                self.start, self.shift = 0, self.start
        least = self.start + (before if last else self.samples - _NEAR)  # on the last page the rest is left out
        self.position = self.start + self.samples
        if least <= stated - self.shift <= self.position + _NEAR:
            self.position = stated - self.shift
        return self.position, self.position == stated - shift


@dataclass(slots=True)
class _Stream:
    """A logical stream: its number in the clean file, its header packets, and how far it has been followed."""

    codec: str
    index: int
    packets: list[_Packet] = field(default_factory=list)
    pages: int = 0
    written: int = 0  # pages of the clean file
    head: bytes = b""  # the first header packet
    sound: Sound | None = None  # what comes after all headers
    prefix: bytes = b""  # pages of the clean file before the first one with sound that is not stated yet
    open: bool = False  # the last packet goes on
    ended: bool = False
    parameters: list[tuple[str, str]] = field(default_factory=list)
    waiting: list[Page] = field(default_factory=list)  # pages with sound that are not stated yet
    granules: list[tuple[int, bool]] = field(default_factory=list)  # of the first of these, on which but for a packet
    # that goes on no sound is new: the position, and whether the file says so
    changes: dict[int, list[Change]] = field(default_factory=dict)  # on these, by where they start
    skipped: int = 0  # segments of the first of these that are not new
    size: int = 0  # bytes of the pages that are new, with what they take
    clock: _Clock = field(default_factory=_Clock)

    def follows(self, page: Page) -> bool:
        """Is `page` the next one?"""
        place = page.number, bool(page.flags & CONTINUED), bool(page.flags & FIRST)
        return not self.ended and place == (self.pages, self.open, not self.pages)

    def collect(self, page: Page, body: bytes) -> int:
        """Take header packets from a page; after how many of its segments sound begins, which is seldom on the same."""
        offset = 0
        for index, size in enumerate(page.lacing):
            if not self.open:
                if self.begins_sound(body[offset:]):
                    return index
                self.packets.append(_Packet())
            self.packets[-1].add(body[offset : offset + size], page.body + offset)
            self.open = size == 255
            offset += size
        if len(self.packets) > _PACKETS:
            raise damaged(f"more than {_PACKETS:,} header packets in its {self.codec} stream")
        return len(page.lacing)

    def begins_sound(self, body: bytes) -> bool:
        """Are all header packets there, so that the next one, with which `body` begins, is sound?"""
        if self.open or not self.packets:
            return False
        if self.codec == "flac":  # frames, and no metadata blocks, begin with this byte
            return body[:1] == b"\xff"
        if self.codec == "vorbis":
            return len(self.packets) > 2 and not (body and body[0] & 1)  # else it is no sound
        extra = int.from_bytes(self.packets[0].data[68:72], "little") if self.codec == "speex" else 0
        return len(self.packets) == 2 + min(extra, _PACKETS)


class _Walk:
    """All pages of a file, once; `spread` are header packets with tags that go over several pages, with readers."""

    def __init__(self, stream: BinaryIO, seen: Seen = NOTHING) -> None:
        self._stream = stream
        self._seen = seen
        self._peeled = peel(stream)
        self._parts: list[Part] = list(glued("ogg", self._peeled))
        self._pages = array("q")  # those with sound of which at most the head changes, as `_woven` takes them
        self._heads = bytearray()  # new ones of these
        self._streams: list[_Stream] = []
        self._bits: set[str] = set()
        self._kept = 0  # bytes of header packets
        self.spread: list[tuple[str, bytes]] = []
        self._walk()

    def ledger(self) -> Ledger:
        """The account of the file."""
        if not self._streams:
            raise damaged("no Vorbis, Opus, Speex or FLAC stream in it")
        parameters = []
        for stream in self._streams:
            if stream.sound is None:
                raise cut(f"its {stream.codec} stream has no sound in it")
            if not stream.ended:
                raise cut("its last page does not say that the stream ends")
            link = f"{stream.index}." if stream.index else ""
            told = [*stream.parameters, ("granule", str(stream.clock.position))]
            parameters += [(link + name, value) for name, value in told]
        parts = [*self._parts, *_woven(self._pages, self._heads)]
        return ledger(self._stream, f"ogg-{self._streams[0].codec}", parts, parameters, sorted(self._bits))

    def _walk(self) -> None:
        link: dict[int, _Stream | str] = {}  # the streams of the current link of the chain; unknown ones by name
        begun = True  # only first pages so far in it
        streams = 0
        for run in runs(self._stream, self._peeled.start, self._peeled.end):
            page = run[0]
            if page.flags & FIRST:
                if not begun:
                    link.clear()
                streams += 1
                if streams > _STREAMS or page.serial in link:
                    raise damaged(f"too many streams in it, or two of one number, at byte {page.start:,}")
                link[page.serial] = self._begin(page)
            begun = bool(run[-1].flags & FIRST)
            stream = link.get(page.serial, "page")
            if isinstance(stream, str):
                self._parts += [Part("unknown", f"ogg.{stream}", page.start, page.end, b"") for page in run]
                continue
            if not stream.follows(page):
                raise damaged(f"the page at byte {page.start:,} does not follow the one before of its stream")
            pages = iter(run)
            for page in pages:
                self._follow(stream, [page, *pages] if stream.sound else [page])

    def _follow(self, stream: _Stream, pages: list[Page]) -> None:
        """Go on with the next page of a stream, or with several behind its headers."""
        last = pages[-1]
        stream.ended = bool(last.flags & LAST)
        sounding = self._take_headers(stream, last) if stream.sound is None else pages
        stream.pages += len(pages)
        if stream.sound is not None:
            stream.waiting += sounding
            stream.open = last.lacing[-1] == 255 if last.lacing else stream.open
            stream.size += last.end - sounding[0].body + _PAGE * len(sounding)
            much = stream.size > _MANY and any(page.lacing.strip(b"\xff") for page in pages)  # and a packet ends
            if stream.ended or much:
                self._take(stream, stream.sound)
        if stream.ended:
            self._write(stream, len(stream.waiting))
            _count(stream)

    def _take_headers(self, stream: _Stream, page: Page) -> list[Page]:
        """Take header packets from a page; the page, or what is left of it, where sound begins."""
        body = bytes(page.content)
        if stream.pages and stream.begins_sound(body):
            count = 0
        else:
            self._kept += len(body)
            if self._kept > TAG_LIMIT:
                raise damaged(f"its header packets are larger than {TAG_LIMIT:,} bytes")
            count = stream.collect(page, body)
            self._header_page(stream, page, body, count)
            if count == len(page.lacing):
                return []
            page = page.after(count)
        self._headers(stream)
        return [page]

    def _begin(self, page: Page) -> _Stream | str:
        """The logical stream that a first page begins, or a name for what is none of the codecs."""
        packet = bytes(page.content)
        codec = next((codec for magic, codec in _CODECS.items() if packet.startswith(magic)), "")
        if not codec:
            return "skeleton" if packet.startswith(b"fishead\0") else "stream"
        if page.lacing.lstrip(b"\xff")[1:] or page.lacing[-1:] == b"\xff":  # more than a packet, or less
            raise damaged(f"its {codec} stream does not begin with one header")
        self._streams.append(_Stream(codec, len(self._streams)))
        return self._streams[-1]

    def _header_page(self, stream: _Stream, page: Page, body: bytes, count: int) -> None:
        """State the parts of a page of headers, of the first one with what is on it; the others are paged anew.

        After `count` segments sound begins, to which the granule position belongs then.
        """
        plain = page.flags <= 7 and (count < len(page.lacing) or page.granule in (0, NO_GRANULE))
        kind = "structure" if plain else "unknown"
        if stream.pages:
            self._parts.append(Part(kind, "ogg.page", page.start, page.body, b""))
            return
        head = _head_packet(stream.codec, body)
        stream.head = head.clean
        stream.parameters += head.parameters
        (clean,) = paged([head.clean], stream.index, 0, FIRST)
        serial = "structure" if page.serial == stream.index else "serial"
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

    def _headers(self, stream: _Stream) -> None:
        """State the parts that the header packets after the first are, and make the pages they are on in the clean
        file."""
        magic = _COMMENTS[stream.codec]
        end = b"\x01" if stream.codec == "vorbis" else b""  # the framing bit
        packets = [magic + _EMPTY + end]
        if stream.codec == "flac":
            blocks = [bytes(packet.data) for packet in stream.packets[1:]]
            bodies = (block[4:] for block in blocks if block and block[0] & 0x7F == _COMMENT)
            said = decoders.flac_comment(bodies, flacframes.read_info(stream.head[17:]).channels)
            stream.parameters += [("speakers", said.hex())] if said != _EMPTY else []
            packets = [decoders.last_comment(said)]
            for packet in stream.packets[1:]:
                self._block(packet, said)
        else:
            comment, *more = stream.packets[1:]
            if not comment.data.startswith(magic):
                raise damaged(f"its {stream.codec} stream has no comment packet")
            kind = _comment_kind(bytes(comment.data[len(magic) :]), bytes(4) + end)
            self._tag(kind, "ogg.comment", comment, len(magic), "vorbis")
            for packet in more:
                if stream.codec != "vorbis":
                    self._pieces("unknown", "ogg.setup", packet)
        if stream.codec == "vorbis":
            setup = self._setup(stream, *stream.packets[2:])
            packets.append(setup.clean)
            stream.parameters.append(("setup", hashlib.sha256(setup.clean).hexdigest()))
            stream.sound = oggpackets.Vorbis(stream.head, setup)
        elif stream.codec == "flac":
            stream.sound = oggpackets.Flac(stream.head[17:])
        else:
            stream.sound = (oggpackets.Opus if stream.codec == "opus" else oggpackets.Speex)(stream.head)
        pages = list(paged(packets, stream.index, 1))
        stream.written = 1 + len(pages)
        stream.packets.clear()
        stream.prefix = b"".join(pages)

    def _setup(self, stream: _Stream, packet: _Packet, *others: _Packet) -> vorbis.Setup:
        """State the parts of the setup header, and of packets behind it that are no sound."""
        try:
            setup = vorbis.setup(bytes(packet.data), stream.head[11])
        except ValueError as error:
            raise damaged(str(error)) from error
        if buried(setup.clean, (0,), (len(setup.clean),)):
            raise damaged("text in its vorbis setup header")
        left = len(setup.clean)
        for start, end in packet.pieces:
            middle = min(start + left, end)
            left -= middle - start
            self._parts.append(Part("structure", "ogg.setup", start, middle, b""))
            self._parts.append(Part("unknown", "ogg.slack", middle, end, b""))
        for other in others:
            self._pieces("unknown", "ogg.packet", other)
        return setup

    def _block(self, packet: _Packet, comment: bytes) -> None:
        """State what a FLAC metadata block is; the body of the last one in the clean file is `comment`."""
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
            what = _comment_kind(bytes(packet.data[4:]), comment[4:]) if kind == _COMMENT else "tag"
            self._tag(what, name, packet, 4, _READERS[kind])
        elif kind == _SEEKTABLE and decoders.seekable(packet.data[4:], self._stream.seek(0, io.SEEK_END)):
            self._pieces("encoder", name, packet)  # as `flac --ogg` writes it; nobody seeks by it
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

    def _take(self, stream: _Stream, sound: Sound) -> None:
        """Look at the packets that end on the pages of a stream that are new, and state the parts of all pages on which
        no packet is that goes on: it may change."""
        import numpy as np

        held = stream.waiting
        lacing = np.frombuffer(b"\0" + b"".join([page.lacing for page in held])[stream.skipped :], np.uint8)
        edges = lacing.astype(np.int64).cumsum().take((lacing < 255).nonzero()[0])  # of packets
        new = held[len(stream.granules) :]
        counts = [len(page.lacing) - page.lacing.count(255) for page in new]
        passed = [0] * len(new)  # samples, at the end of each page
        if len(edges) > 1:
            skipped = sum(held[0].lacing[: stream.skipped])
            contents = [page.content for page in held]
            contents[0] = contents[0][skipped:]
            seen = self._seen.covers([edge for page in held for edge in (page.body, page.end)])
            changes, lengths = sound.take(b"".join(contents), edges, seen)
            passed = np.append(0, lengths.cumsum()).take([*accumulate(counts)]).tolist()
            if changes:
                self._bits.add(f"unknown.ogg.{sound.idle}")
                _spread(changes, held, skipped, stream.changes)
        for page, count, (before, after) in zip(new, counts, pairwise([0, *passed]), strict=True):
            if count or not page.lacing:
                stream.granules.append(stream.clock.at(page.granule, after - before, bool(page.flags & LAST)))
            else:  # it says nothing
                stream.granules.append((NO_GRANULE, page.granule == NO_GRANULE))
        begins = 0  # on which page the packet that goes on does
        if len(edges) > 1:
            begins = len(held)
            if stream.open:
                begins -= next(back for back, count in enumerate(reversed(counts), 1) if count)
            stream.skipped = len(held[begins].lacing.rstrip(b"\xff")) if stream.open else 0
        self._write(stream, begins)
        stream.size = 0

    def _write(self, stream: _Stream, count: int) -> None:
        """State the parts of the first so many pages of those that wait for it."""
        for page, (granule, right) in zip(stream.waiting[:count], stream.granules[:count], strict=True):
            kind = "structure" if page.flags <= 7 else "unknown"
            changes = stream.changes.pop(page.start, ())
            wanted = page.flags & 7, granule, stream.index, stream.written
            stream.written += 1
            if right and page.flags <= 7 and page.start < page.body and not changes and not stream.prefix:
                plain = page[3:7] == wanted
                self._pages.extend((page.start, page.body, page.end, -1 if plain else len(self._heads)))
                if not plain:
                    self._heads += head_of(*wanted, page.lacing, page.content)
                continue
            body = _changed(page.content, changes) if changes else page.content
            head = stream.prefix + head_of(*wanted, page.lacing, body)
            stream.prefix = b""
            if right:
                self._parts.append(Part(kind, "ogg.page", page.start, page.body, head))
            elif page.start == page.body:
                self._bits.add("unknown.ogg.granule")
                self._parts.append(Part(kind, "ogg.page", page.start, page.body, head))
            else:
                self._parts.append(Part(kind, "ogg.page", page.start, page.start + 6, head))
                self._parts.append(Part("unknown", "ogg.granule", page.start + 6, page.start + 14, b""))
                self._parts.append(Part(kind, "ogg.page", page.start + 14, page.body, b""))
            offset = page.body
            for start, end, clean in changes:
                self._parts.append(Part("payload", "ogg.packets", offset, page.body + start))
                offset = page.body + end
                self._parts.append(Part("payload", "ogg.packets", page.body + start, offset, clean))
            self._parts.append(Part("payload", "ogg.packets", offset, page.end))
        del stream.waiting[:count], stream.granules[:count]


def _count(stream: _Stream) -> None:
    """Raise Unreadable where a FLAC stream that has ended has not as many samples as its header says."""
    if stream.codec != "flac" or stream.sound is None:
        return
    stated, there = flacframes.read_info(stream.head[17:]).total, stream.clock.samples
    if stated not in (0, there):
        raise cut(f"its header counts {stated:,} samples, {there:,} are there")


def _woven(pages: array[int], heads: bytearray) -> Iterator[Part]:
    """Parts that are pages, of which each begins where the one before ends, with new heads or as they are.

    `pages` are, for each of them: where it begins, its body does and it ends, and where among `heads` its new one is;
    that is -1 of a page without one.
    """
    import numpy as np

    if not pages:
        return
    table = np.frombuffer(pages, np.int64).reshape(-1, 4)
    table = table[table[:, 0].argsort()]
    starts, bodies, ends, heads_at = table.T
    behind = np.where(heads_at < 0, -1, heads_at + bodies - starts)  # where among the heads the next one has to be
    apart = (starts[1:] != ends[:-1]) | (heads_at[1:] != behind[:-1])
    for run in np.split(table, np.flatnonzero(apart) + 1):
        place, (start, body, end, last) = run[0, 3], run[-1]
        new = None if place < 0 else bytes(heads[place : last + body - start])
        yield woven("ogg.packets", np.append(run[:, :2], (end, end)), new)


def _spread(changes: list[Change], pages: list[Page], skipped: int, found: dict[int, list[Change]]) -> None:
    """Note changes by the page on which they are, of a block that begins so many bytes into the first."""
    offset = -skipped  # of a page, in the block
    following = iter(changes)
    change = next(following, None)
    for page in pages:
        end = offset + len(page.content)
        while change is not None and change.start < end:
            start, stop = max(change.start, offset), min(change.end, end)
            clean = change.clean[start - change.start : stop - change.start]
            found.setdefault(page.start, []).append(Change(start - offset, stop - offset, clean))
            if change.end > end:
                break
            change = next(following, None)
        offset = end


def _changed(body: memoryview, changes: Iterable[Change]) -> bytes:
    """The body of a page with changes."""
    made = bytearray(body)
    for start, end, clean in changes:
        made[start:end] = clean
    return bytes(made)
