"""What digests of a recording are made of: algorithm x scope, and the part of the digest that is shown.

A scope is what was hashed: `whole`, `head:N` and `tail:N` (bytes of the file, N a power of 10 or 2), `untagged` (the
file without the tags glued to its ends), `blob` (the file as git names it: after `blob`, its size and a NUL), `flac`
(what a FLAC file states of its samples: MD5 only), `pcm:s16le` and `pcm:s32le` (the samples at their own rate,
decoded), or one of `TEXTS`.
"""

from __future__ import annotations

import functools
import hashlib
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, BinaryIO, NamedTuple

from leakscan.blocks import at, peel, size_of
from leakscan.dresses import Cut
from leakscan.model import Unreadable

BLOCK = 1 << 18  # bytes: all algorithms read them while they are in the processor's cache
LIKELY_HEAD = 1 << 20

_HEADS = tuple(sorted({10**power for power in range(3, 8)} | {1 << power for power in range(10, 25)}))
_TAILS = tuple(length for length in _HEADS if length <= 1 << 20)


class Crc32:
    """zlib's CRC-32 with the interface of hashlib."""

    digest_size = 4

    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes | memoryview) -> None:
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


class TwiceMd5:
    """The MD5 of an MD5 in hex, as scripts make it, with the interface of hashlib."""

    digest_size = 16

    def __init__(self) -> None:
        self._first = hashlib.md5(usedforsecurity=False)

    def update(self, data: bytes | memoryview) -> None:
        self._first.update(data)

    def digest(self) -> bytes:
        return hashlib.md5(self._first.hexdigest().encode(), usedforsecurity=False).digest()


def _of_hashlib(name: str) -> Callable[[], Any]:
    return functools.partial(hashlib.new, name, usedforsecurity=False)


ALGORITHMS: Mapping[str, tuple[str, Callable[[], Any]]] = {
    "md5": ("MD5", _of_hashlib("md5")),
    "sha1": ("SHA-1", _of_hashlib("sha1")),
    "sha256": ("SHA-256", _of_hashlib("sha256")),
    "crc32": ("CRC-32", Crc32),
    "sha224": ("SHA-224", _of_hashlib("sha224")),
    "sha384": ("SHA-384", _of_hashlib("sha384")),
    "sha512": ("SHA-512", _of_hashlib("sha512")),
    "sha3-256": ("SHA3-256", _of_hashlib("sha3_256")),
    "blake2b": ("BLAKE2b", hashlib.blake2b),
    "blake2b-256": ("BLAKE2b-256", functools.partial(hashlib.blake2b, digest_size=32)),
    "blake2b-160": ("BLAKE2b-160", functools.partial(hashlib.blake2b, digest_size=20)),
    "blake2b-128": ("BLAKE2b-128", functools.partial(hashlib.blake2b, digest_size=16)),
    "blake2b-64": ("BLAKE2b-64", functools.partial(hashlib.blake2b, digest_size=8)),
    "blake2s": ("BLAKE2s", hashlib.blake2s),
    "blake2s-128": ("BLAKE2s-128", functools.partial(hashlib.blake2s, digest_size=16)),
    "sha3-512": ("SHA3-512", _of_hashlib("sha3_512")),
    "md5-md5": ("MD5 of the MD5", TwiceMd5),
    **(
        {"sha512-256": ("SHA-512/256", _of_hashlib("sha512_256"))}
        if "sha512_256" in hashlib.algorithms_available
        else {}
    ),
}
"""Names and makers, likely ones first."""

_RARE = ("sha3-512", "md5-md5", "sha512-256")  # for whole files and texts only
_USUAL = tuple(algorithm for algorithm in ALGORITHMS if algorithm not in _RARE)

SIZES: Mapping[str, int] = {name: make().digest_size for name, (_, make) in ALGORITHMS.items()}
"""Bytes of a digest."""


class Kind(NamedTuple):
    """What a digest is of."""

    algorithm: str
    scope: str


_SCOPES = ("whole", f"head:{LIKELY_HEAD}", *(f"head:{length}" for length in _HEADS if length != LIKELY_HEAD))

TEXTS = (
    "name", "stem", "path", "id", "gold", "title", "artist", "isrc", "catalogue", "artist-title", "id+gold", "id+title",
)  # fmt: skip
"""Scopes that are texts: of the release, and of the evaluator's side."""

TEXT = tuple(Kind(algorithm, scope) for scope in TEXTS for algorithm in ALGORITHMS)
LIKELY = tuple(Kind(algorithm, scope) for scope in _SCOPES[:2] for algorithm in ("md5", "sha1", "sha256"))
BYTES = (
    *(Kind(algorithm, scope) for scope in _SCOPES for algorithm in (ALGORITHMS if scope == "whole" else _USUAL)),
    Kind("md5", "flac"),
    *(Kind(algorithm, "untagged") for algorithm in _USUAL),
    *(Kind(algorithm, f"tail:{length}") for length in _TAILS for algorithm in _USUAL),
    *(Kind(algorithm, "blob") for algorithm in ("sha1", "sha256")),
)
PCM = tuple(Kind(algorithm, f"pcm:{sample}") for sample in ("s16le", "s32le") for algorithm in _USUAL)

_ORDER = {kind: order for order, kind in enumerate((*TEXT, *BYTES, *PCM))}
_DRESSES = ("hex", "uuid", "base64", "base32", "decimal", "reversed hex")
_WORDS = {
    "whole": "whole audio file",
    "untagged": "audio file without its tags",
    "flac": "samples, as the FLAC file states it",
    "pcm": "decoded samples",
    "name": "audio file's name",
    "stem": "audio file's name without extension",
    "path": "reference to its audio file",
    "blob": "audio file, as git hashes it",
    "id": "ID",
    "gold": "gold value",
    "title": "title in the catalogue",
    "artist": "artist in the catalogue",
    "isrc": "ISRC in the catalogue",
    "catalogue": "value in the catalogue",
    "artist-title": "artist - title",
    "id+gold": "ID and gold value together",
    "id+title": "ID and title together",
}


class Recipe(NamedTuple):
    """How a value is made."""

    kind: Kind
    cut: Cut

    @property
    def rank(self) -> tuple[int, int, int]:
        """Lower is simpler, to choose by where several recipes explain the same."""
        return _ORDER.get(self.kind, 0), _DRESSES.index(self.cut.dress), self.cut.first

    def named(self, url: bool) -> str:
        """The recipe in short; `url` where the column writes base64 as URLs do."""
        return f"{self.kind.algorithm}/{self.kind.scope}/{_url(str(self.cut), url)}"

    def sentence(self, url: bool, whose: str = "the record's") -> str:
        """The recipe in words."""
        return f"{ALGORITHMS[self.kind.algorithm][0]}{self._scope_and_cut(url, whose)}"

    def _scope_and_cut(self, url: bool, whose: str) -> str:
        what, _, number = self.kind.scope.partition(":")
        cut = _cut_in_words(self.cut, url)
        if what in ("head", "tail"):
            end = "first" if what == "head" else "last"
            return f" of the {end} {int(number):,} bytes{cut} of {whose} audio file"
        return f"{cut} of {whose} {_WORDS[what]}" + (f" ({number})" if number else "")


def _cut_in_words(cut: Cut, url: bool) -> str:
    signs = "hex digits" if "hex" in cut.dress else "bytes" if cut.dress == "decimal" else "characters"
    part = ""
    if cut.length < cut.total:
        last = cut.first + cut.length
        part = f", {signs} {cut.first + 1} to {last}" if cut.first else f", first {cut.length} {signs}"
    dress = {"hex": "", "uuid": ", as a UUID", "decimal": ", as a number"}.get(cut.dress, f", in {cut.dress}")
    return f"{part}{_url(dress, url)}," if part or dress else ""


def _url(text: str, url: bool) -> str:
    return text.replace("base64", "base64url") if url else text


# --- making them -----------------------------------------------------------------------------------------------------


def digests_of(pieces: Iterable[bytes], algorithms: Collection[str]) -> Mapping[str, bytes]:
    """The digests of the joined pieces by algorithm."""
    states = {algorithm: ALGORITHMS[algorithm][1]() for algorithm in algorithms}
    for piece in pieces:
        for state in states.values():
            state.update(piece)
    return {algorithm: state.digest() for algorithm, state in states.items()}


def digests_of_text(text: str) -> Mapping[str, bytes]:
    """The digests of a text in UTF-8 by every algorithm."""
    return digests_of([text.encode("utf-8", "surrogatepass")], ALGORITHMS)


class _Run:
    """One algorithm from one offset of a file on, with the digest at every offset where a scope ends."""

    def __init__(self, algorithm: str, start: int, header: bytes, stops: Collection[int]) -> None:
        self._state = ALGORITHMS[algorithm][1]()
        self._state.update(header)
        self.position = start  # of the next byte that it needs
        self.stops = sorted(stops, reverse=True)
        self.digests: dict[int, bytes] = {}
        self._note()

    def _note(self) -> None:
        if self.stops and self.stops[-1] == self.position:
            self.digests[self.stops.pop()] = self._state.digest()

    def take(self, block: memoryview, offset: int) -> None:
        """Read on in a block that begins at an offset of the file."""
        end = offset + len(block)
        while self.stops and offset <= self.position < end:
            upto = min(self.stops[-1], end)
            self._state.update(block[self.position - offset : upto - offset])
            self.position = upto
            self._note()


def digests_of_file(stream: BinaryIO, kinds: Collection[Kind]) -> dict[Kind, bytes]:
    """The digests of a file for those of `kinds` that are about bytes; it is read once, and only where needed.

    Scopes that begin at one byte share all the work but for the last step, and those that come out the same (a head
    that is longer than the file, `untagged` where there are no tags) also that.
    """
    size = size_of(stream)
    body = _body(stream, size) if any(kind.scope in ("untagged", "flac") for kind in kinds) else (0, size)
    ranges = {scope: _range(scope, size, body) for scope in {kind.scope for kind in kinds}}
    blob = b"blob %d\0" % size
    stops: dict[tuple[str, int, bytes], set[int]] = {}
    for algorithm, scope in kinds:
        if (found := ranges[scope]) is not None:
            stops.setdefault((algorithm, found[0], blob if scope == "blob" else b""), set()).add(found[1])
    runs = {key: _Run(*key, ends) for key, ends in stops.items()}
    position = -1
    while unfinished := [run for run in runs.values() if run.stops]:
        offset = max(position, min(run.position for run in unfinished))
        if offset != position:
            stream.seek(offset)
        block = memoryview(stream.read(BLOCK))
        if not block:  # the file is shorter than it was
            break
        position = offset + len(block)
        for run in unfinished:
            run.take(block, offset)
    digests: dict[Kind, bytes] = {}
    for kind in kinds:
        if (found := ranges[kind.scope]) is not None:
            start, stop = found
            if stop in (known := runs[kind.algorithm, start, blob if kind.scope == "blob" else b""].digests):
                digests[kind] = known[stop]
    stated = Kind("md5", "flac")
    if stated in kinds and (head := at(stream, body[0], 42))[:4] == b"fLaC" and any(head[26:42]):
        digests[stated] = head[26:42]  # STREAMINFO comes first and ends with it (RFC 9639, section 8.2)
    return digests


def _range(scope: str, size: int, body: tuple[int, int]) -> tuple[int, int] | None:
    """The bytes that a scope is about; None for one that is not about bytes."""
    what, _, number = scope.partition(":")
    if what == "head":
        return 0, min(int(number), size)
    if what == "tail":
        return max(0, size - int(number)), size
    return {"whole": (0, size), "blob": (0, size), "untagged": body}.get(scope)


def _body(stream: BinaryIO, size: int) -> tuple[int, int]:
    try:
        peeled = peel(stream)
    except Unreadable:  # the walk reports it
        return 0, size
    return peeled.start, peeled.end
