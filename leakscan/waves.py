"""What a WAVE form holds, in RIFF, RF64 or Wave64: the format, the samples, and everything that may lie beside them.

Sources: Multimedia Programming Interface and Data Specifications 1.0 (WAVE, LIST INFO, LIST adtl), RFC 2361 (format
codes), WAVEFORMATEXTENSIBLE (Microsoft), EBU Tech 3285 (bext), AES46 (cart), the iXML specification, libsndfile (PEAK).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NamedTuple

from leakscan.blocks import Chunk, at, chunks, cut, damaged
from leakscan.ledgers import STRING, gap, is_zero
from leakscan.model import Part
from leakscan.rebuilding import dropped, pad, refuse_beside, rewritten, spare, text_chunk, unsupported

_PCM, _MS_ADPCM, _FLOAT, _ALAW, _MULAW, _IMA, _YAMAHA, _GSM, _G726 = 1, 2, 3, 6, 7, 0x11, 0x20, 0x31, 0x45
_EXTENSIBLE = 0xFFFE
_PLAIN = (_PCM, _FLOAT, _ALAW, _MULAW)
_CODED = (_MS_ADPCM, _IMA, _YAMAHA, _GSM, _G726)
_SUB_FORMATS = (  # what follows the format code in the GUID: Microsoft's, and that of ambisonic B-format
    bytes.fromhex("000000001000800000aa00389b71"),
    bytes.fromhex("00002107d3118644c8c1ca000000"),
)
_MS_COEFFICIENTS = struct.pack("<14h", 256, 0, 512, -256, 0, 0, 192, 64, 240, 0, 460, -208, 392, -232)
_UNASKED = 16_000  # bytes a second: the 128 kbit/s that FFmpeg states of what it codes, whatever they are
_SPEAKERS = 18  # bits of a channel mask that stand for one
_MOST_CHANNELS, _MOST_RATE = 255, 1 << 26  # Hz
_WIDEST = 8  # bytes of a sample; behind it there may be others that no decoder reads
_NOT_FILLED_IN = (bytes(4), b"\xff" * 4)
COUNTED_NONE = b"\1\0\0\0\0\0\0\x80"
"""What FFmpeg counts where there is no sample: the least number it has less the greatest."""

_INFO = frozenset(
    "IARL IART ICMS ICMT ICOP ICRD ICRP IDIM IDPI IENC IENG IGNR IKEY ILGT ILNG IMED INAM IPLT IPRD IPRT ISBJ ISFT "
    "ISHP ISRC ISRF ITCH ITRK IWEB IBPM IAS1 ICNT IMBI IMBC IURL IPRO IRTD ISTR IWRI IMUS IDIT".split()
)
_INFO_KINDS = {"ISFT": "encoder", "ICRD": "date", "IDIT": "date"}

_Fields = tuple[tuple[str, int, int, str, str], ...]  # name, first and last byte (None: to the end), kind, reader
_BEXT: _Fields = (
    ("description", 0, 256, "tag", STRING), ("originator", 256, 288, "tag", STRING),
    ("originator_reference", 288, 320, "serial", STRING), ("date", 320, 338, "date", STRING),
    ("time_reference", 338, 346, "date", ""), ("umid", 348, 412, "serial", ""),
    ("loudness", 412, 422, "digest", ""), ("reserved", 422, 602, "unknown", ""),
    ("coding_history", 602, 1 << 32, "tag", STRING),
)  # fmt: skip
_CART: _Fields = (
    ("title", 4, 68, "tag", STRING), ("artist", 68, 132, "tag", STRING), ("cut_id", 132, 196, "serial", STRING),
    ("client", 196, 260, "tag", STRING), ("category", 260, 324, "tag", STRING), ("class", 324, 388, "tag", STRING),
    ("out_cue", 388, 452, "tag", STRING), ("dates", 452, 488, "date", STRING), ("producer", 488, 616, "encoder", ""),
    ("user", 616, 680, "tag", STRING), ("timers", 684, 748, "tag", ""), ("reserved", 748, 1024, "unknown", ""),
    ("url", 1024, 2048, "tag", STRING), ("text", 2048, 1 << 32, "tag", STRING),
)  # fmt: skip
_PEAK: _Fields = (("time", 4, 8, "date", ""),)
_FIELDS = {b"bext": ("tag", _BEXT), b"cart": ("tag", _CART), b"PEAK": ("digest", _PEAK)}

_EXTRAS = {
    b"iXML": ("tag", "iXML", STRING), b"_PMX": ("tag", "XMP", STRING), b"aXML": ("tag", "aXML", STRING),
    b"axml": ("tag", "aXML", STRING), b"DISP": ("tag", "DISP", ""), b"C2PA": ("tag", "C2PA", ""),
    b"afsp": ("tag", "afsp", ""), b"id3 ": ("tag", "id3", "id3"), b"ID3 ": ("tag", "id3", "id3"),
    b"smpl": ("tag", "smpl", "smpl"), b"inst": ("tag", "inst", ""), b"acid": ("tag", "acid", "acid"),
    b"cue ": ("tag", "cue", "cue"), b"plst": ("tag", "plst", ""), b"strc": ("tag", "strc", ""),
    b"chna": ("tag", "chna", ""), b"umid": ("serial", "umid", ""), b"MD5 ": ("digest", "MD5", ""),
    b"levl": ("digest", "levl", ""), b"minf": ("serial", "minf", ""), b"regn": ("tag", "regn", ""),
    b"tlst": ("tag", "tlst", ""), b"LGWV": ("tag", "LGWV", ""), b"RIFF": ("unknown", "RIFF", ""),
}  # fmt: skip
_SPARE = (b"JUNK", b"junk", b"PAD ", b"FLLR")

KNOWN = frozenset((b"fmt ", b"data", b"fact", b"ds64", b"LIST", *_FIELDS, *_EXTRAS, *_SPARE)) - {b"RIFF"}
"""The IDs of chunks; bytes after the samples that begin with none of these need not be a chunk that is cut."""


class Wave(NamedTuple):
    """The parts of all chunks and the decoder parameters; the chunk of samples, their bytes, and their number."""

    parts: Iterable[Part]
    parameters: tuple[tuple[str, str], ...]
    data: Chunk
    size: int
    samples: int


class _Format(NamedTuple):
    code: int
    rate: int  # Hz
    unit: int  # bytes, of one sample of all channels or of one block
    per_unit: int  # samples of each channel in it; 0: open
    bits: int  # of a sample of all channels, coded
    stated: bytes
    clean: bytes

    def whole(self, size: int) -> int:
        """How many of `size` bytes are whole samples; the last block of a coder may be short."""
        return size - size % self.unit if self.code in _PLAIN else size

    def samples(self, size: int, stated: int) -> int:
        """How many samples of each channel `size` bytes are; a coder's last block may be filled up, which `stated`
        leaves out."""
        if self.code in _PLAIN:
            return size // self.unit
        most = -(-size // self.unit) * self.per_unit if self.per_unit else size * 8 // self.bits
        return stated if 0 < stated < most else most


def wave(
    stream: BinaryIO, found: list[Chunk], end: int, header: Callable[[bytes, int], bytes], align: int, stated: int = 0
) -> Wave:
    """The account of the chunks `found`, the last of which ends by `end`.

    `header` writes the header of a chunk with this ID and size of body, `align` is what lengths are rounded up to,
    and `stated` a number of samples that the file gives elsewhere.
    Raises Unreadable where there is not one format before one run of samples, or the coding is not supported.
    """
    data = _only(found, b"data")
    fmt = _only(found, b"fmt ")
    if fmt.start > data.start:
        raise damaged("its fmt chunk does not come before its samples")
    form = _format(at(stream, fmt.start, min(fmt.end - fmt.start, 64)))
    size = form.whole(data.end - data.start)
    fact = next((chunk for chunk in found if chunk.id == b"fact" and chunk.end - chunk.start >= 4), None)
    if fact is not None and (field := at(stream, fact.start, 4)) not in _NOT_FILLED_IN:
        stated = int.from_bytes(field, "little")
    samples = form.samples(size, stated)
    if form.code in _PLAIN:
        channels = int.from_bytes(form.stated[2:4], "little")
        used = max(1, -(-form.bits // channels // 8))
        refuse_beside(stream, data.start, data.start + size, form.unit // channels, used)
    width = len(header(b"data", 0))

    def parts() -> Iterator[Part]:
        for chunk in found:
            head = chunk.start - width if chunk.id else chunk.start
            after = min(end, chunk.end + -(chunk.end - chunk.start) % align)
            if chunk == fmt:
                yield Part("structure", "riff.fmt", head, chunk.start, header(b"fmt ", len(form.clean)))
                yield from _format_parts(stream, chunk, form)
                yield pad(stream, "riff.pad", chunk.end, after, -len(form.clean) % align)
            elif chunk == data:
                yield Part("structure", "riff.data", head, chunk.start, header(b"data", size))
                yield Part("payload", "riff.data", chunk.start, chunk.start + size)
                if chunk.start + size < chunk.end:
                    yield gap(stream, "riff", chunk.start + size, chunk.end, "riff.remainder")
                yield pad(stream, "riff.pad", chunk.end, after, -size % align)
            elif chunk == fact:
                yield from _fact_parts(stream, chunk, head, after, form, samples, header(b"fact", 4), align)
            else:
                yield from _extras(stream, chunk, head, after)

    parameters = [*_parameters(form), ("bytes", f"{size}"), ("samples", f"{samples}")]
    return Wave(parts(), tuple(parameters), data, size, samples)


def _only(found: list[Chunk], kind: bytes) -> Chunk:
    several = [chunk for chunk in found if chunk.id == kind]
    name = kind.decode("ascii").strip()
    if not several:
        raise cut(f"no {name} chunk in it")
    if len(several) > 1:
        raise damaged(f"{len(several)} {name} chunks in it")
    return several[0]


# --- what a decoder needs --------------------------------------------------------------------------------------------


def _format(data: bytes) -> _Format:
    """What the body of a fmt chunk says, and how the clean file says it."""
    if len(data) < 16:
        raise damaged("its fmt chunk is too short")
    code, channels, rate, _, unit, bits = struct.unpack_from("<HHIIHH", data)
    tail = b""
    if code == _EXTENSIBLE:
        if len(data) < 40 or data[26:40] not in _SUB_FORMATS:
            raise unsupported("an extension of WAVE that is not known")
        valid, mask = struct.unpack_from("<HI", data, 18)
        if valid > bits or mask >> _SPEAKERS:
            raise damaged(f"its fmt chunk tells of {valid} bits of {bits}, or of speakers that there are not")
        tail = struct.pack("<H", 22) + data[18:40]
        code = int.from_bytes(data[24:26], "little")
        if code not in _PLAIN:
            raise unsupported(f"format 0x{code:04X}")
    elif code not in _PLAIN + _CODED:
        raise unsupported(f"format 0x{code:04X}")
    elif code != _PCM:
        tail = bytes(2)
    if not 0 < channels <= _MOST_CHANNELS or not 0 < rate <= _MOST_RATE or not unit or bits > 8 * _WIDEST:
        raise damaged("its fmt chunk states no channels, no sample rate or no size of samples, or too many")
    if code in _PLAIN:
        if not channels * max(1, -(-bits // 8)) <= unit <= channels * _WIDEST or unit % channels:
            raise damaged(f"samples of {channels} channels and {bits} bits do not fit into {unit} bytes")
        return _Format(code, rate, unit, 1, bits * channels, data, _clean_format(data, rate * unit, tail))
    per_unit, extra = _block(code, channels, unit, bits)
    speed = rate * unit // per_unit if per_unit else rate * channels * bits // 8
    clean = _clean_format(data, speed, struct.pack("<H", len(extra)) + extra)
    return _Format(code, rate, unit, per_unit, bits * channels, data, clean)


def _block(code: int, channels: int, unit: int, bits: int) -> tuple[int, bytes]:
    """The samples of each channel in a block, 0 if that is open, and what follows the format about them."""
    share = unit // channels
    if share < {_MS_ADPCM: 7, _IMA: 4}.get(code, 0) or (not bits and code != _GSM):
        raise damaged("its blocks are shorter than their own header")
    if code == _MS_ADPCM:
        per_unit = (share - 7) * 2 + 2
        return per_unit, struct.pack("<HH", per_unit & 0xFFFF, 7) + _MS_COEFFICIENTS
    if code == _IMA:
        per_unit = (share - 4) * 8 // bits + 1
        return per_unit, struct.pack("<H", per_unit & 0xFFFF)
    return (320, struct.pack("<H", 320)) if code == _GSM else (0, b"")


def _clean_format(data: bytes, speed: int, tail: bytes) -> bytes:
    return data[:8] + struct.pack("<I", speed & 0xFFFFFFFF) + data[12:16] + tail


def _format_parts(stream: BinaryIO, chunk: Chunk, form: _Format) -> Iterator[Part]:
    """The fields of a fmt chunk.  The bytes a second follow from the others, to within rounding where they are coded;
    an extension that the coding does not have is an extra, and so is one that differs from what it has to be."""
    name, start, clean, stated = "riff.fmt", chunk.start, form.clean, form.stated
    yield Part("structure", name, start, start + 8)
    speeds = [int.from_bytes(data[8:12], "little") for data in (stated, clean)]
    near = form.code in _CODED and (abs(speeds[0] - speeds[1]) <= speeds[1] // 50 or speeds[0] == _UNASKED)
    yield rewritten(stream, name, start + 8, start + 12, clean[8:12], (stated[8:12],) if near else (bytes(4),))
    yield Part("structure", name, start + 12, start + 16)
    extension = struct.pack("<H", (chunk.end - start - 18) & 0xFFFF)
    done = min(len(clean), chunk.end - start)
    if done >= 18:
        yield rewritten(stream, name, start + 16, start + 18, clean[16:18], (bytes(2),))
        yield rewritten(stream, name, start + 18, start + done, clean[18:])
    else:
        if chunk.end - start >= 18:
            yield rewritten(stream, name, start + 16, start + 18, b"", (extension, bytes(2)))
            done = 18
        if clean[done:]:
            yield Part("structure", name, start + done, start + done, clean[done:])
    yield from dropped(stream, "unknown", name, start + done, chunk.end)


def _fact_parts(
    stream: BinaryIO, chunk: Chunk, head: int, after: int, form: _Format, samples: int, header: bytes, align: int
) -> Iterator[Part]:
    """The number of samples; PCM has no need of it."""
    kept = form.clean[:2] != struct.pack("<H", _PCM) and form.clean[:2] != struct.pack("<H", _EXTENSIBLE)
    clean = struct.pack("<I", samples & 0xFFFFFFFF)
    yield Part("structure", "riff.fact", head, chunk.start, header if kept else b"")
    accepted = _NOT_FILLED_IN if samples else (*_NOT_FILLED_IN, COUNTED_NONE[:4])
    field = rewritten(stream, "riff.fact", chunk.start, chunk.start + 4, clean, accepted)
    yield field if kept else field._replace(clean=b"")
    yield from dropped(stream, "unknown", "riff.fact", chunk.start + 4, after)
    if kept and align > 4:
        yield Part("structure", "riff.pad", after, after, bytes(-4 % align))


def _parameters(form: _Format) -> Iterator[tuple[str, str]]:
    code, channels, rate, _, unit, bits = struct.unpack_from("<HHIIHH", form.clean)
    yield "format", f"0x{code:04X}"
    yield from (("channels", f"{channels}"), ("rate", f"{rate}"), ("unit", f"{unit}"), ("bits", f"{bits}"))
    if code == _EXTENSIBLE:
        valid, mask, sub = struct.unpack_from("<HIH", form.clean, 18)
        yield from (("valid bits", f"{valid}"), ("channel mask", f"0x{mask:X}"), ("sub-format", f"0x{sub:04X}"))


# --- everything else -------------------------------------------------------------------------------------------------


def _extras(stream: BinaryIO, chunk: Chunk, head: int, after: int) -> Iterator[Part]:
    if not chunk.id:
        yield gap(stream, "riff", head, after)
    elif chunk.id in _SPARE:
        yield from spare(stream, "riff", "riff.JUNK", head, chunk.start, after)
    elif chunk.id == b"LIST":
        yield from _list(stream, chunk, head, after)
    elif chunk.id in _FIELDS:
        kind, fields = _FIELDS[chunk.id]
        name = f"riff.{chunk.id.decode('ascii')}"
        yield from dropped(stream, kind, name, head, after, _fields(stream, name, chunk, fields))
    else:
        kind, name, reader = _EXTRAS.get(chunk.id, ("unknown", "other", ""))
        if reader:
            yield from text_chunk(stream, kind, f"riff.{name}", head, chunk.start, chunk.end, after, reader)
        else:
            yield from dropped(stream, kind, f"riff.{name}", head, after)


def _fields(stream: BinaryIO, name: str, chunk: Chunk, fields: _Fields) -> Iterator[Part]:
    for field, first, last, kind, reader in fields:
        start, end = chunk.start + first, min(chunk.start + last, chunk.end)
        if start < end and not is_zero(stream, start, end):
            yield Part(kind, f"{name}.{field}", start, end, reader=reader)


def _list(stream: BinaryIO, chunk: Chunk, head: int, after: int) -> Iterator[Part]:
    kind = at(stream, chunk.start, min(4, chunk.end - chunk.start))
    if kind == b"INFO":
        yield Part("structure", "riff.LIST", head, chunk.start + 4, b"")
        yield from dropped(stream, "tag", "riff.LIST", chunk.start + 4, after, _info(stream, chunk))
    elif kind == b"adtl":
        yield from dropped(stream, "tag", "riff.LIST", head, after, _labels(stream, chunk))
    elif kind == b"exif":
        yield from dropped(stream, "tag", "riff.exif", head, after)
    else:
        yield from dropped(stream, "unknown", "riff.other", head, after)


def _info(stream: BinaryIO, chunk: Chunk) -> Iterator[Part]:
    for text in chunks(stream, chunk.start + 4, chunk.end, "little"):
        name = text.id.decode("ascii")
        if name in _INFO:
            yield Part("structure", "riff.LIST", text.start - 8, text.start, b"")
        else:
            if name:
                yield Part("tag", "riff.other", text.start - 8, text.start - 4, reader=STRING)
            name = "other"
        yield Part(_INFO_KINDS.get(name, "tag"), f"riff.{name}", text.start, text.end, reader=STRING)


def _labels(stream: BinaryIO, chunk: Chunk) -> Iterator[Part]:
    """The texts of labels and notes, which follow the number of a cue point."""
    for label in chunks(stream, chunk.start + 4, chunk.end, "little"):
        if label.id in (b"labl", b"note") and label.end - label.start > 4:
            yield Part("tag", "riff.adtl", label.start + 4, label.end, reader=STRING)
