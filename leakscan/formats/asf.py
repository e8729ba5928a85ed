"""ASF with sound alone: `.wma`, `.asf`.

The clean file has one form: a header made anew (file and stream properties, an empty extension) and the data packets.
These have a fixed length, so what is in them beside the sound becomes zeros.  A file with a second stream, such as a
video, is refused: its packets hold both.  Text behind the sound of Windows Media Audio, and long text in it, is
refused, since only decoding could take it out, and so are bytes between frames of MP3 and AC-3.
Source: the Advanced Systems Format specification, revision 1.20, sections 2.2 (objects), 3 (header), 5 (data), 10
(GUIDs); the WAVEFORMATEX structure of Windows.
"""

from __future__ import annotations

import hashlib
import struct
import uuid
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from leakscan import frames, ledgers
from leakscan.blocks import at, cut, damaged, glued, peel, size_of
from leakscan.ledgers import Seen
from leakscan.legible import last_bytes, refuse_tails
from leakscan.model import Entry, Item, Ledger, Part, Unreadable
from leakscan.packets import OBJECT, REPLICATED, WIDTHS, packets

if TYPE_CHECKING:
    from leakscan.rows import Whole

AUDIO = True
NAMES = (".wma", ".asf")
LOADS = ("numpy",)

_OBJECTS = 10_000  # in one list
_PACKETS = 4_000_000
_SHORTEST = 64  # bytes of a packet
_READ, _AT_ONCE = 1 << 21, 1 << 14  # bytes read at once, and packets, at most
_HEADER_LIMIT = 64 << 20  # bytes of one object in the header; pictures are the largest


def _guid(text: str) -> bytes:
    return uuid.UUID(text).bytes_le


_HEADER = _guid("75b22630-668e-11cf-a6d9-00aa0062ce6c")
_DATA = _guid("75b22636-668e-11cf-a6d9-00aa0062ce6c")
_FILE = _guid("8cabdca1-a947-11cf-8ee4-00c00c205365")
_STREAM = _guid("b7dc0791-a9b7-11cf-8ee6-00c00c205365")
_EXTENSION = _guid("5fbf03b5-a92e-11cf-8ee3-00c00c205365")
_EXTENSION_KIND = _guid("abd3d211-a9ba-11cf-8ee6-00c00c205365")
_SOUND = _guid("f8699e40-5b4d-11cf-a8fd-00805f5c442b")
_SPREAD = _guid("bfc3cd50-618f-11cf-8bb2-00aa00b4e220")  # how sound is laid out against losses
_PADDING = _guid("1806d474-cadf-4509-a4ba-9aabcb96aae8")
_CONTENT = _guid("75b22633-668e-11cf-a6d9-00aa0062ce6c")
_MORE_CONTENT = _guid("d2d0a440-e307-11d2-97f0-00a0c95ea850")
_METADATA = _guid("c5f8cbea-5baf-4877-8467-aa8c44fa4cca")
_LIBRARY = _guid("44231c94-9498-49d1-a141-1d134e457054")
_OTHERS = {
    _guid("86d15240-311d-11d0-a3a4-00a0c90348f6"): ("encoder", "codecs"),
    _guid("7bf875ce-468d-11d1-8d82-006097c9a2b2"): ("encoder", "bitrates"),
    _guid("14e6a5cb-c672-4332-8399-a96952065b5a"): ("encoder", "stream"),
    _guid("1efb1a30-0b62-11d0-a39b-00a0c90348f6"): ("tag", "script"),
    _guid("f487cd01-a951-11cf-8ee6-00c00c205365"): ("tag", "markers"),
    _guid("2211b3fa-bd23-11d2-b4b7-00a0c955fc6e"): ("tag", "branding"),
    _guid("2211b3fc-bd23-11d2-b4b7-00a0c955fc6e"): ("digest", "signature"),
    _guid("7c4346a9-efe0-4bfc-b229-393ede415c85"): ("tag", "languages"),
}
_ENCRYPTION = (
    _guid("2211b3fb-bd23-11d2-b4b7-00a0c955fc6e"),
    _guid("298ae614-2622-4c17-b935-dae07ee9289c"),
    _guid("43058533-6981-49e6-9b74-ad12cb86d58c"),
)

_CODECS = {0x0A: 46, 0x160: 4, 0x161: 10, 0x162: 18, 0x163: 18, 0x55: 12, 0x01: 0, 0x2000: 0}
"""Windows' numbers of codings, and how many bytes a decoder has to know beyond the general ones."""

_SIZED = {0x55: frames.MPEG, 0x2000: frames.AC3}
_PLAIN = 0x01
_FILLER = b"N"  # with which FFmpeg's encoder fills frames up
_UNCORRECTED = _guid("20fb5700-5b55-11cf-a8fd-00805f5c442b")
_MOST_CHANNELS, _MOST_RATE, _MOST_BITS, _MOST_SPEED = 64, 1 << 20, 64, 1 << 23  # Hz; bits; bytes a second
_MOST_SAMPLES, _MOST_BITRATE, _MOST_PREROLL = 1 << 17, 1 << 22, 20_000  # in a block; bits a second; ms
_MOST_IN_BLOCK, _OPTIONS, _SPEAKERS = 1 << 13, 0xFF, 18  # samples; options that decoders know; bits of a mask
_SPARE_TIME, _UNSTEADY = 10_000, 4  # ms; how many times the mean a rate can be

_CONTENT_NAMES = ("title", "artist", "copyright", "description", "rating")
_KEYS = {
    "wm/" + key: key
    for key in (
        "year genre composer publisher albumartist lyrics isrc mood initialkey conductor producer writer barcode "
        "tracknumber provider text language encodingsettings encodedby encodingtime mediaclassprimaryid toolname "
        "albumtitle beatsperminute contentgroupdescription"
    ).split()
}
_NAMES_OF_KEYS = {
    "albumtitle": "album",
    "beatsperminute": "bpm",
    "encodingsettings": "encodersettings",
    "toolname": "tool",
}


class _Object(NamedTuple):
    guid: bytes
    start: int
    end: int


def sniff(head: bytes) -> bool:
    """The GUID of a header object."""
    return head.startswith(_HEADER)


def read(entry: Entry) -> Iterator[Item]:
    """What an ASF file says beside its sound.  Raises Unreadable where it is cut, none, or not supported."""
    texts: list[tuple[str, str]] = []

    for item in ledgers.audio_item(entry, lambda stream: _account(stream, ledgers.NOTHING, texts)):
        yield replace(item, body=replace(item.body, tags=tuple(dict.fromkeys((*texts, *item.body.tags)))))


def account(stream: BinaryIO) -> Ledger:
    """Account for every byte.  Raises Unreadable, without a path, where it is cut, no ASF, or not supported."""
    return _account(stream, ledgers.NOTHING, [])


def read_back(stream: BinaryIO, seen: Seen) -> Ledger:
    """The same of a clean copy; sound that was `seen` in its source is not searched for text again."""
    return _account(stream, seen, [])


def _account(stream: BinaryIO, seen: Seen, texts: list[tuple[str, str]]) -> Ledger:
    file = _File(stream, seen)
    found = file.ledger()
    texts += file.texts
    changed, bits = file.changes()
    if changed:
        found = _File(stream, seen, changed).ledger()
    return replace(found, bits=tuple(sorted(bits)))


_from = int.from_bytes


def _number(data: bytes, start: int, count: int) -> int:
    if start + count > len(data):
        raise damaged("an object in it is shorter than it has to be")
    return int.from_bytes(data[start : start + count], "little")


def _text(data: bytes) -> str:
    return data.decode("utf-16-le", "replace").partition("\x00")[0].strip()


class _File:
    """Takes a file apart object by object and notes what its bytes are."""

    def __init__(self, stream: BinaryIO, seen: Seen, changed: Mapping[int, bytes] = MappingProxyType({})) -> None:
        self.stream = stream
        self.seen = seen
        self.changed = changed  # pieces of sound as the clean file has them, by where they begin
        self.changing = sorted(changed)
        self.looker: frames.Sized | None = None
        self.pieces: list[tuple[int, bytes]] = []  # of sound, by where they begin, if there is one who looks at them
        self.latest = 0  # ms, up to when sound can be played
        self.described = 0  # where its header begins to describe the file
        self.coding = self.speed = 0  # of the sound; bytes a second
        self.parts: list[Part] = []
        self.texts: list[tuple[str, str]] = []
        self.properties = b""
        self.sound = b""
        self.count = 0
        self.timing = hashlib.sha256()
        self.times = bytearray()  # what packets say of when their sound is played
        self.bounds = array("q")  # where sound begins and ends, in turn, after the start of what is not yet stated

    def ledger(self) -> Ledger:
        """The account of the whole file."""
        peeled = peel(self.stream)
        end = size_of(self.stream)
        reached = peeled.start
        data: _Object | None = None
        for found in self.objects(peeled.start, end):
            if found.start == peeled.start:
                if found.guid != _HEADER:
                    break
                self._header(found)
            elif data is None and found.guid == _DATA:
                data = found
                self._packets(found)
            elif found.end > end:
                break  # no object, but other bytes
            else:
                self.note("unknown", "object", found.start, found.end)
            reached = found.end
        if data is None:
            raise cut("no data object in it")
        self._verify(reached - peeled.start)
        if reached > peeled.end and reached != end:
            raise cut(f"its data needs {reached:,} bytes, {peeled.end:,} are there")
        tags = tuple(tag for tag in peeled.tags if tag.end <= peeled.start or tag.start >= reached)
        self.parts.extend(glued("asf", peeled._replace(tags=tags)))  # others end the last object only by chance
        self.parts.append(Part("structure", "asf.header", peeled.start, peeled.start, self._made()))
        return ledgers.ledger(self.stream, "asf", self.parts, self._parameters())

    def _parameters(self) -> Iterator[tuple[str, str]]:
        yield "length", str(_number(self.properties, 64, 8))
        yield "preroll", str(_number(self.properties, 80, 8))
        yield "packets", str(self.count)
        yield "decoder", hashlib.sha256(self.sound).hexdigest()
        yield "times", self.timing.hexdigest()

    # --- walking ---

    def objects(self, start: int, end: int) -> Iterator[_Object]:
        """The objects from `start` on; the last may reach beyond `end`."""
        for _ in range(_OBJECTS):
            head = at(self.stream, start, min(24, end - start))
            if len(head) < 24:
                return
            size = int.from_bytes(head[16:], "little")
            if size < 24:
                return
            yield _Object(head[:16], start, start + size)
            start += size
            if start > end:
                return
        raise damaged(f"more than {_OBJECTS:,} objects in it")

    def inner(self, start: int, end: int) -> Iterator[_Object]:
        """The objects between `start` and `end`.  Raises Unreadable where one does not end within."""
        for found in self.objects(start, end):
            if found.end > end:
                raise cut(f"an object in its header needs {found.end:,} bytes, {end:,} are there")
            yield found

    def body(self, found: _Object) -> bytes:
        if found.end - found.start > _HEADER_LIMIT:
            raise damaged("an object in its header is larger than it can be")
        return at(self.stream, found.start, found.end - found.start)

    def drop(self, start: int, end: int) -> None:
        """Note bytes that a decoder needs and finds in the header of the clean file."""
        self.parts.append(Part("structure", "asf.header", start, end, b""))

    def note(self, kind: str, name: str, start: int, end: int) -> None:
        self.parts.append(Part(kind, f"asf.{name}", start, end, b""))

    def field(self, kind: str, name: str, start: int, end: int) -> None:
        """Note bytes of the header that say something unless they are zeros."""
        if ledgers.is_zero(self.stream, start, end):
            self.drop(start, end)
        else:
            self.note(kind, name, start, end)

    # --- the header ---

    def _header(self, header: _Object) -> None:
        if header.end > size_of(self.stream):
            raise cut(f"its header needs {header.end:,} bytes")
        self.drop(header.start, header.start + 24)
        count = self._list(header.start + 30, header.end)
        self.expect("header", header.start + 24, header.start + 30, count.to_bytes(4, "little") + b"\1\2")
        if not self.properties or not self.sound:
            raise damaged("its header describes no sound")

    def expect(self, name: str, start: int, end: int, *usual: bytes) -> None:
        """Note bytes of the header that say something unless they are as they should be, or zeros."""
        if at(self.stream, start, end - start) in usual:
            self.drop(start, end)
        else:
            self.field("unknown", name, start, end)

    def _list(self, start: int, end: int, inside: bool = False) -> int:
        """Note the objects of the header, or of its extension; how many there are."""
        count = 0
        for found in self.inner(start, end):
            count += 1
            if found.guid == _FILE and not inside:
                self._file(found)
            elif found.guid == _STREAM and not inside:
                self._stream(found)
            elif found.guid == _EXTENSION and not inside:
                _number(self.body(found), 42, 4)
                self.drop(found.start, found.start + 24)
                length = (found.end - found.start - 46).to_bytes(4, "little")
                self.expect("header", found.start + 24, found.start + 46, _EXTENSION_KIND + b"\6\0" + length)
                self._list(found.start + 46, found.end, inside=True)
            elif found.guid in _ENCRYPTION:
                raise Unreadable("its sound is encrypted; put a copy without protection in its place")
            elif found.guid == _PADDING:
                self.drop(found.start, found.start + 24)
                self.parts.append(ledgers.gap(self.stream, "asf", found.start + 24, found.end, "asf.padding"))
            elif found.guid in (_CONTENT, _MORE_CONTENT, _METADATA, _LIBRARY):
                self.drop(found.start, found.start + 24)
                self.note("tag", "content", found.start + 24, found.end)
                self.texts.extend(_texts(found.guid, self.body(found)))
            else:
                kind, name = _OTHERS.get(found.guid, ("unknown", "object"))
                start = found.start if kind == "unknown" else found.start + 24  # an unknown GUID may say something
                self.drop(found.start, start)
                self.note(kind, name, start, found.end)
        return count

    def _file(self, found: _Object) -> None:
        body = self.body(found)
        _number(body, 100, 4)
        if self.properties:
            raise damaged("its header describes the file twice")
        if body[92:96] != body[96:100]:
            raise Unreadable("its packets are of several lengths, which is not supported; convert it")
        if _number(body, 80, 8) > _MOST_PREROLL:
            raise damaged("its sound begins later than it can")
        self.properties, self.described = body[:104], found.start
        self.drop(found.start, found.start + 24)
        self.field("serial", "file-id", found.start + 24, found.start + 40)
        self.field("date", "created", found.start + 48, found.start + 56)
        self.drop(found.start + 80, found.start + 88)
        self.expect("header", found.start + 88, found.start + 92, *(bytes([flags, 0, 0, 0]) for flags in range(4)))
        self.drop(found.start + 92, found.start + 100)
        unknown = body[100:104] == b"\xff" * 4
        if unknown or _number(body, 100, 4) <= _MOST_BITRATE:
            self.drop(found.start + 100, found.start + 104)
        else:
            self.note("unknown", "header", found.start + 100, found.start + 104)
            self.properties = self.properties[:100] + bytes(4)
        self.field("unknown", "header", found.start + 104, found.end)

    def _verify(self, size: int) -> None:
        """Note what the header says of the file, which has so many bytes: its size, its packets and how long it is."""
        start = self.described
        self.expect("header", start + 40, start + 48, size.to_bytes(8, "little"))
        self.expect("header", start + 56, start + 64, self.count.to_bytes(8, "little"))
        for place in (64, 72):  # in 100 ns; as players show it
            stated = _number(self.properties, place, 8)
            if stated <= 10_000 * self.latest:
                self.drop(start + place, start + place + 8)
            else:
                self.note("unknown", "header", start + place, start + place + 8)
                stated = 0
            made = (stated // 10_000 * 10_000).to_bytes(8, "little")
            self.properties = self.properties[:place] + made + self.properties[place + 8 :]

    def _stream(self, found: _Object) -> None:
        body = self.body(found)
        known, correcting = _number(body, 64, 4), _number(body, 68, 4)
        flags = _number(body, 72, 2)
        if body[24:40] != _SOUND or self.sound:
            raise Unreadable("holds another stream beside the sound, which is not supported; convert it")
        if flags & 0x8000:
            raise Unreadable("its sound is encrypted; put a copy without protection in its place")
        coding, start = _number(body, 78, 2), found.start
        _number(body, 92, 2)
        self.expect("stream", start + 40, start + 56, _SPREAD, _UNCORRECTED)
        self.field("unknown", "stream", start + 56, start + 64)
        self.expect("stream", start + 72, start + 74, (flags & 0x7F).to_bytes(2, "little"))
        extra = _number(body, 94, 2) if known >= 18 else 0
        if coding not in _CODECS or known < 16:
            raise Unreadable("its sound is in a coding that is not supported; convert it to one that is")
        end = 78 + known
        _number(body, end, correcting)
        wanted = min(extra, _CODECS[coding], max(known - 18, 0))
        channels, rate, speed, unit, bits = struct.unpack_from("<HIIHH", body, 80)
        if not 0 < channels <= _MOST_CHANNELS or not 0 < rate <= _MOST_RATE or bits > _MOST_BITS or speed > _MOST_SPEED:
            raise damaged("its sound is described as none can be")
        self.looker, self.coding, self.speed = _SIZED.get(coding), coding, speed
        told = body[96 : 96 + wanted]
        special = _special(coding, told)
        wave = body[78:94] + wanted.to_bytes(2, "little") + special
        spread = b""
        if body[40:56] == _SPREAD and correcting >= 7:
            spread = _spreading(body[end : end + 5], unit) + b"\1\0\0"  # one byte of silence, as encoders write it
        self.drop(start, start + 40)
        self.drop(start + 64, start + 72)
        self.field("unknown", "stream", start + 74, start + 78)
        self.drop(start + 78, start + 96 if known >= 18 else start + end)
        if known >= 18:
            usual = told if coding == 0x55 and _is_mp3(told) else special
            self.expect("stream", start + 96, start + 96 + wanted, usual)
            self.field("unknown", "stream", start + 96 + wanted, start + end)
        kept = end + 7 if spread else end
        if spread:
            told_spread = body[end : end + 5]
            once = told_spread[0] == 1 and told_spread[1:3] == told_spread[3:5]
            self.expect("stream", start + end, start + end + 5, told_spread if once else spread[:5])
            self.drop(start + end + 5, start + kept)
        self.field("unknown", "stream", start + kept, start + end + correcting)
        kind = _SPREAD if spread else _UNCORRECTED
        self.sound = b"".join(
            (
                _SOUND,
                kind,
                bytes(8),
                len(wave).to_bytes(4, "little"),
                len(spread).to_bytes(4, "little"),
                (flags & 0x7F).to_bytes(2, "little"),
                bytes(4),
                wave,
                spread,
            )
        )

    # --- packets ---

    def _packets(self, data: _Object) -> None:
        length = int.from_bytes(self.properties[92:96], "little")
        number = int.from_bytes(self.sound[48:50], "little")
        said = _number(at(self.stream, data.start, 50), 40, 8)
        start = data.start + 50
        self.drop(data.start, data.start + 24)
        self.field("serial", "file-id", data.start + 24, data.start + 40)
        self.drop(data.start + 40, data.start + 48)
        self.expect("header", data.start + 48, start, b"\1\1")
        if data.end > size_of(self.stream):
            raise cut(f"its data needs {data.end:,} bytes, {size_of(self.stream):,} are there")
        room = (data.end - start) // length if length >= _SHORTEST else 0
        streamed = self.properties[88] & 1  # then counts are not known beforehand
        self.count = room if streamed and not said else said
        if not 0 < self.count <= min(room, _PACKETS):
            raise cut(f"its data has room for {room:,} packets, {self.count:,} are said to be there")
        self.bounds.append(start)
        end = start + self.count * length
        lasting = _UNSTEADY * 1000 * (end - start) // self.speed if self.speed else 1 << 26  # ms; of a day at most
        self.latest = _number(self.properties, 80, 8) + _SPARE_TIME + lasting
        several = max(1, min(_READ // length, _AT_ONCE)) * length
        for offset in range(start, end, several):
            self._block(offset, at(self.stream, offset, min(several, end - offset)), length, number)
        self._flush(end)
        self.timing.update(self.times)

    def _block(self, offset: int, data: bytes, length: int, number: int) -> None:
        """Note the sound of packets, and what is unused in them."""
        if len(data) % length:
            raise cut("it ended while it was read")
        found = packets(data, length, number, self.latest)
        usual = [*found.usual.tolist(), False]
        changing = slice(*(bisect_left(self.changing, place) for place in (offset, offset + len(data))))
        for place in self.changing[changing]:
            usual[(place - offset) // length] = False
        first = 0
        while first < len(usual) - 1:
            last = usual.index(False, first)
            bounds = offset + found.bounds(first, last)
            self._look(offset, data, bounds)
            self.bounds.frombytes(bounds.tobytes())
            self.times += found.times(first, last)
            if last < len(usual) - 1:
                start = last * length
                self._packet(offset + start, data[start : start + length], number)
            first = last + 1

    def _packet(self, offset: int, data: bytes, number: int) -> None:
        """Note the sound of one packet, and what is unused in it; the rest is structure."""
        if data[0] & 0x80 and data[0] & 0x70:
            raise damaged(f"a packet at byte {offset:,} cannot be followed")
        place = 1 + (data[0] & 15) if data[0] & 0x80 else 0
        if place > 1:
            self._unused("correction", offset, data, 1, place)
        flags, kinds = data[place], data[place + 1]
        after = place + 2 + WIDTHS[flags >> 5 & 3]
        end = _from(data[place + 2 : after], "little") if flags & 0x60 else len(data)
        start = after + WIDTHS[flags >> 1 & 3]
        self._unused("sequence", offset, data, after, start)
        after = start + WIDTHS[flags >> 3 & 3]
        end -= _from(data[start:after], "little")
        self._time(offset, data[after : after + 4])
        self.times += data[after : after + 6]  # when it is sent, and for how long
        place = after + 6
        several = data[place] if flags & 1 else 1
        place += flags & 1
        width, sized = WIDTHS[kinds & 3], WIDTHS[several >> 6]
        before = 1 + WIDTHS[kinds >> 4 & 3] + WIDTHS[kinds >> 2 & 3] + width  # the stream, which object, where in it
        limit = min(end, len(data))
        for _ in range(several & 0x3F):
            stream = data[place] & 0x7F if place < len(data) else number
            place += before
            copied = _from(data[place - width : place], "little")
            begun = _from(data[place - width - WIDTHS[kinds >> 2 & 3] : place - width], "little")  # of the object
            stated = 0
            place += copied
            if copied >= REPLICATED:
                stated = _from(data[place - copied : place - copied + 4], "little")
                self._time(offset, data[place - copied + 4 : place - copied + 8])
            if copied > REPLICATED:
                self._unused("replicated", offset, data, place - copied + REPLICATED, place)
                start = place
            if flags & 1:
                place += sized
                size = _from(data[place - sized : place], "little")
            else:
                size = end - place
            if place > len(data):
                raise damaged("an object in it is shorter than it has to be")
            if stream != number:
                raise Unreadable("its packets hold another stream beside the sound, which is not supported; convert it")
            if size < 0 or place + size > limit:
                raise damaged(f"a packet at byte {offset:,} does not fit its length")
            self.times += data[start:place]
            start = place + size
            if copied >= REPLICATED and stated and not begun + size <= stated <= OBJECT:
                raise damaged(f"an object in the packet at byte {offset:,} is not as long as it says")
            self._look(offset, data, (offset + place, offset + start))
            if clean := self.changed.get(offset + place):
                self._flush(offset + place)
                self.parts.append(Part("payload", "asf.sound", offset + place, offset + start, clean))
                self.bounds.append(offset + start)
            else:
                self.bounds.extend((offset + place, offset + start))
            place = start
        self._unused("packet-padding", offset, data, place, len(data))

    def _time(self, offset: int, stated: bytes) -> None:
        """Heed when something is sent or played."""
        if _from(stated, "little") > self.latest:
            raise damaged(f"the packet at byte {offset:,} is played later than it can")

    def _look(self, offset: int, data: bytes, bounds: Sequence[int] | Whole) -> None:
        """Look at pieces of sound in data that lies at `offset`, which begin and end at the bounds in turn."""
        import numpy as np

        places = np.asarray(bounds, np.int64) - offset
        starts, ends = places[::2], places[1::2]
        if self.looker is not None:
            pieces = zip(starts.tolist(), ends.tolist(), strict=True)
            self.pieces += [(offset + start, data[start:end]) for start, end in pieces]
        elif self.coding != _PLAIN and len(starts):
            for run in self.seen.runs(bounds):
                some = slice(run.start + 1 >> 1, run.stop + 1 >> 1)
                refuse_tails(data, starts[some], _filled(data, starts[some], ends[some]), offset)

    def changes(self) -> tuple[dict[int, bytes], set[str]]:
        """Pieces of MP3 or AC-3 that are not the same in the clean file, by where they begin, and what is cleared.

        Raises Unreadable where there are other bytes than frames.
        """
        if self.looker is None:
            return {}, set()
        data = b"".join(piece for _, piece in self.pieces)
        edges = [0, *self.looker.ends(data)]
        if len(data) - edges[-1] >= (self.looker.length(data[edges[-1] :][: self.looker.header]) or 1):
            raise Unreadable(
                f"bytes among its sound are no frame, from the one at {edges[-1]:,} of it; encode it again"
            )
        clean, names = self.looker.inner(data, array("q", edges[:-1]), array("q", edges[1:]))
        found = {}
        offset = 0
        for place, piece in self.pieces:
            if clean is None:
                break
            if (made := clean[offset : offset + len(piece)]) != piece:
                found[place] = bytes(made)
            offset += len(piece)
        return found, {"{0}.asf.{2}".format(*name.split(".")) for name in names}

    def _unused(self, name: str, offset: int, data: bytes, start: int, end: int) -> None:
        """Note bytes of a packet that say something unless they are zeros, which stay: packets have a fixed length."""
        if data[start:end].strip(b"\x00"):
            self._flush(offset + start)
            self.parts.append(Part("stale", f"asf.{name}", offset + start, offset + end, bytes(end - start)))
            self.bounds.append(offset + end)

    def _flush(self, end: int) -> None:
        """State structure and sound up to `end`."""
        self.bounds.append(end)
        self.parts.append(ledgers.woven("asf.sound", self.bounds))
        self.bounds = array("q")

    # --- the clean file ---

    def _made(self) -> bytes:
        """All of the clean file that comes before its packets."""
        length = int.from_bytes(self.properties[92:96], "little")
        stream = _object(_STREAM, self.sound)
        extension = _object(_EXTENSION, _EXTENSION_KIND + b"\6\0" + bytes(4))
        size = 30 + 104 + len(extension) + len(stream)
        total = size + 50 + self.count * length
        count = self.count.to_bytes(8, "little")
        flags = (self.properties[88] & 3).to_bytes(4, "little")
        told = bytes(16) + total.to_bytes(8, "little") + bytes(8) + count + self.properties[64:88] + flags
        file = _object(_FILE, told + self.properties[92:104])
        header = _HEADER + size.to_bytes(8, "little") + b"\3\0\0\0\1\2" + file + extension + stream
        return header + _DATA + (50 + self.count * length).to_bytes(8, "little") + bytes(16) + count + b"\1\1"


def _is_mp3(data: bytes) -> bool:
    """Whether the extension for MP3 holds numbers that can be: 1, flags, bytes and frames of a block, a delay."""
    if len(data) != 12:
        return False
    limits = 1, 2, 0xFFF, 7, 0xFFF
    return all(value <= limit for value, limit in zip(struct.unpack("<HIHHH", data), limits, strict=True))


def _special(coding: int, data: bytes) -> bytes:
    """What a decoder has to know beyond the general format, without what it does not read."""
    if coding == 0x160 and len(data) == 4:  # samples in a block, options
        samples, options = struct.unpack("<HH", data)
        return struct.pack("<HH", samples * (samples <= _MOST_IN_BLOCK), options & _OPTIONS)
    if coding == 0x161 and len(data) == 10:  # the same, and a length of blocks
        samples, options, length = struct.unpack("<IHI", data)
        samples, length = samples * (samples <= _MOST_SAMPLES), length * (length <= _MOST_SAMPLES)
        return struct.pack("<IHI", samples, options & _OPTIONS, length)
    if coding in (0x162, 0x163) and len(data) == 18:  # bits, channels, reserved, options, reserved
        bits, speakers = struct.unpack_from("<HI", data)
        bits, speakers = bits * (bits <= _MOST_BITS), speakers * (not speakers >> _SPEAKERS)
        return struct.pack("<HI8xH2x", bits, speakers, int.from_bytes(data[14:16], "little"))
    if coding == 0x55:  # of decoders that are no more
        return bytes([1, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0])[: len(data)]
    return data


def _spreading(data: bytes, unit: int) -> bytes:
    """How sound is spread: so many times a packet in chunks; once where it is not."""
    span, packet, chunk = struct.unpack("<BHH", data)
    if span > 1 and chunk and packet > chunk and not packet % chunk:
        return data
    return struct.pack("<BHH", 1, unit, unit)


def _object(guid: bytes, body: bytes) -> bytes:
    return guid + (24 + len(body)).to_bytes(8, "little") + body


def _filled(data: bytes, starts: Whole, ends: Whole) -> Whole:
    """Where pieces end that lie in data from each start to its end, without what fills them up."""
    import numpy as np

    filling = last_bytes(data, ends)[:, ::-1] == _FILLER[0]
    counts = filling.argmin(axis=1)
    found: Whole = np.maximum(ends - counts, starts)
    for index in np.flatnonzero(filling[:, 0] & (counts == 0)).tolist():  # more than TAIL bytes
        found[index] = starts[index] + len(data[starts[index] : ends[index]].rstrip(_FILLER))
    return found


# --- tags ------------------------------------------------------------------------------------------------------------


def _texts(guid: bytes, body: bytes) -> Iterator[tuple[str, str]]:
    """The names and values in one of the four objects that hold tags; nothing of entries that are cut short."""
    if guid == _CONTENT:
        start = 34
        for index, what in enumerate(_CONTENT_NAMES):
            end = start + int.from_bytes(body[24 + 2 * index : 26 + 2 * index], "little")
            if text := _text(body[start:end]):
                yield f"asf.{what}", text
            start = end
        return
    start = 26
    for _ in range(int.from_bytes(body[24:26], "little")):
        if start + 12 > len(body):
            return
        if guid == _MORE_CONTENT:
            start, name = start + 2, _sized(body, start, start + 2, 2)
            start += len(name)
            kind, value = body[start : start + 2], _sized(body, start + 2, start + 4, 2)
            start += 4 + len(value)
        else:
            name, kind = _sized(body, start + 4, start + 12, 2), body[start + 6 : start + 8]
            value = _sized(body, start + 8, start + 12 + len(name), 4)
            start += 12 + len(name) + len(value)
        yield from _pair(_text(name), int.from_bytes(kind, "little"), value)


def _sized(body: bytes, size: int, start: int, width: int) -> bytes:
    """The bytes at `start`, of which there are as many as the number at `size` says."""
    return body[start : start + int.from_bytes(body[size : size + width], "little")]


def _pair(key: str, kind: int, value: bytes) -> Iterator[tuple[str, str]]:
    known = _KEYS.get(key.lower())
    if known is None and key:
        yield "asf.other", key
    text = _text(value) if kind == 0 else str(int.from_bytes(value, "little")) if kind in (2, 3, 4, 5) else ""
    if text:
        yield f"asf.{_NAMES_OF_KEYS.get(known, known) if known else 'other'}", text
