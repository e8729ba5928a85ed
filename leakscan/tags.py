"""The tags in given bytes, as (name, value), with names that are safe to print.

The formats find where a tag lies and hand its bytes over with what it is: nothing is guessed by name or content.
What mutagen reads it reads in a child process, see `tagreaders`.
"""

# mypy: allow-untyped-calls
# mutagen annotates only part of its functions.

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from leakscan import cues
from leakscan.model import Unreadable
from leakscan.pictures import deflated_texts
from leakscan.workers import Died, Worker

TAG_LIMIT = 64 << 20
"""The largest single tag that is read, in bytes."""

LOOKED_AT = 64 << 10
"""How many bytes of a binary value are searched for text."""

Pair = tuple[str, str]

FOREIGN = frozenset("id3 id3v1 ape vorbis flac flac-picture flac-cuesheet ilst".split())
"""What `tagreaders` reads, in a child process."""

_PARSER = Worker("leakscan.tagreaders:parse")


def read_tags(stream: BinaryIO, container: str, start: int = 0, end: int | None = None) -> tuple[Pair, ...]:
    """The tags in bytes `start` to `end` of `stream`, as (name, value), in the order of the file, none twice.

    `container` says what these bytes are: `id3` (a whole ID3v2 tag), `id3v1`, `ape` (a whole APE tag), `lyrics3`,
    `tag+`, `junk` (any bytes, searched for text), `acid`, `cue`, `smpl` (bodies of RIFF chunks), `aiff-mark`,
    `caf-mark`, `caf-regn` (of AIFF and CAF), `vorbis` or `flac` (a comment block without magic; the two differ in the
    name of the vendor), `flac-picture`, `flac-cuesheet` (block bodies), `traktor` (bytes with its tree in them),
    `ilst`, `chpl` (bodies of these MP4 boxes), `trak` (that whole box, of chapters).

    Raises Unreadable, without a path, whatever becomes of mutagen.
    """
    stream.seek(start)
    data = stream.read(TAG_LIMIT + 1 if end is None else min(end - start, TAG_LIMIT + 1))
    if len(data) > TAG_LIMIT:
        raise Unreadable(f"its {container} tag is larger than {TAG_LIMIT:,} bytes; remove the tag")
    pairs = _parsed(container, data) if container in FOREIGN else _PLAIN[container](data)
    return tuple(dict.fromkeys(pairs))


def _parsed(kind: str, data: bytes) -> Iterator[Pair]:
    """What mutagen reads."""
    try:
        reply = json.loads(_PARSER.call(kind.encode() + b"\x00" + data).decode("utf-8", "surrogatepass"))
    except Died as error:
        raise Unreadable(f"its {kind} tag makes its reader {error.fate}; remove the tag") from error
    if "error" in reply:
        raise Unreadable(f"its {kind} tag {reply['error']}; remove the tag")
    yield from ((name, value) for name, value in reply["pairs"])


def binary_text(data: bytes) -> str:
    """`<binary>`, the runs of at least six ASCII or UTF-16 letters found in the first LOOKED_AT bytes, and text that is
    deflated in pictures."""
    return " ".join(("<binary>", *text_runs(data), *deflated_texts(data)))


def text_runs(data: bytes) -> list[str]:
    """The runs of at least six printable ASCII characters, also as UTF-16, in the first LOOKED_AT bytes."""
    data = data[:LOOKED_AT]
    wide = re.findall(rb"(?:[\x20-\x7e]\x00){6,}|(?:\x00[\x20-\x7e]){6,}", data)
    runs = re.findall(rb"[\x20-\x7e]{6,}", data)
    return [run.replace(b"\x00", b"").decode("ascii") for run in (*runs, *wide)]


# --- tags that need no parser ----------------------------------------------------------------------------------------


def _text(name: str) -> Callable[[bytes], Iterator[Pair]]:
    def read(data: bytes) -> Iterator[Pair]:
        if runs := text_runs(data):
            yield name, " ".join(("<binary>", *runs))

    return read


def _marked(system: str, read: Callable[[bytes], Iterator[Pair]]) -> Callable[[bytes], Iterator[Pair]]:
    """Numbers, and the names beside them."""

    def both(data: bytes) -> Iterator[Pair]:
        yield from _numbers(system, read)(data)
        yield from _text("file.other")(data)

    return both


def _numbers(system: str, read: Callable[[bytes], Iterator[Pair]]) -> Callable[[bytes], Iterator[Pair]]:
    return lambda data: ((f"{system}.{what}", text) for what, text in read(data))


_PLAIN: dict[str, Callable[[bytes], Iterator[Pair]]] = {
    "lyrics3": _text("lyrics3.text"),
    "tag+": _text("id3.other"),
    "junk": _text("file.other"),
    "acid": _numbers("riff", cues.acid),
    "cue": _numbers("riff", cues.cue),
    "smpl": _marked("riff", cues.smpl),
    "aiff-mark": _marked("aiff", cues.aiff_markers),
    "caf-mark": _marked("caf", cues.caf_markers),
    "caf-regn": _marked("caf", cues.caf_regions),
    "traktor": _marked("flac", cues.traktor),
    "chpl": _marked("mp4", cues.nero_chapters),
    "trak": _marked("mp4", cues.chapter_track),
}
