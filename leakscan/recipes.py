"""What digests are made of and how they are written: algorithm x scope x dress.

A scope is what was hashed: `whole`, `head:N` and `tail:N` (bytes of the file, N a power of 10 or 2), `untagged` (the
file without the tags glued to its ends), `flac` (what a FLAC file states of its samples: MD5 only), `pcm:s16le` and
`pcm:s32le` (the samples at their own rate, decoded), or a text: `name`, `stem`, `path`, `id`, `artist-title`.
A dress is how the digest is written: hex, a UUID, base64, base64url, base32 or a decimal number.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from leakscan.blocks import at, peel, size_of
from leakscan.model import Unreadable

BLOCK = 1 << 20
LIKELY_HEAD = 1 << 20

_HEADS = tuple(sorted({10**power for power in range(3, 8)} | {1 << power for power in range(10, 25)}))
_TAILS = tuple(length for length in _HEADS if length <= 1 << 20)


class Crc32:
    """zlib's CRC-32 with the interface of hashlib."""

    def __init__(self, data: bytes = b"", value: int = 0) -> None:
        self._value = zlib.crc32(data, value)

    def update(self, data: bytes) -> None:
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")

    def copy(self) -> Crc32:
        return Crc32(value=self._value)


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
}
"""Names and makers, likely ones first."""


class Kind(NamedTuple):
    """What a digest is of."""

    algorithm: str
    scope: str


_SCOPES = ("whole", f"head:{LIKELY_HEAD}", *(f"head:{length}" for length in _HEADS if length != LIKELY_HEAD))

LIKELY = tuple(Kind(algorithm, scope) for scope in _SCOPES[:2] for algorithm in ("md5", "sha1", "sha256"))
BYTES = (
    *(Kind(algorithm, scope) for scope in _SCOPES for algorithm in ALGORITHMS),
    Kind("md5", "flac"),
    *(Kind(algorithm, "untagged") for algorithm in ALGORITHMS),
    *(Kind(algorithm, f"tail:{length}") for length in _TAILS for algorithm in ALGORITHMS),
)
PCM = tuple(
    Kind(algorithm, f"pcm:{sample}")
    for sample in ("s16le", "s32le")
    for algorithm in ("md5", "sha1", "sha256", "crc32")
)
TEXTS = ("name", "stem", "path", "id", "artist-title")


def digests_of_text(text: str) -> Iterator[tuple[str, bytes]]:
    """The digests of a text in UTF-8 by every algorithm."""
    data = text.encode("utf-8", "surrogatepass")
    for algorithm, (_, make) in ALGORITHMS.items():
        state = make()
        state.update(data)
        yield algorithm, state.digest()


def digests_of_file(stream: BinaryIO, kinds: Collection[Kind]) -> dict[Kind, bytes]:
    """The digests of a file for those of `kinds` that are about bytes; it is read once, and only as far as needed.

    A head or tail that is longer than the file is the whole of it, and so is `untagged` where there are no tags.
    """
    size = size_of(stream)
    wanted: dict[str, list[str]] = {}
    for kind in kinds:
        wanted.setdefault(kind.scope, []).append(kind.algorithm)
    start, end = _body(stream, size) if "untagged" in wanted else (0, size)
    tails: dict[int, list[str]] = {}
    heads: dict[int, list[str]] = {}
    alias: dict[str, list[str]] = {}  # what the digests of the whole file serve for, too
    for scope, algorithms in wanted.items():
        what, _, number = scope.partition(":")
        length = int(number) if what in ("head", "tail") else size
        if what in ("head", "tail") and length < size:
            (heads if what == "head" else tails)[length] = algorithms
        elif what in ("whole", "head", "tail") or (what == "untagged" and (start, end) == (0, size)):
            alias[scope] = algorithms
    found: dict[Kind, bytes] = {}
    states = {name: ALGORITHMS[name][1]() for group in (*heads.values(), *alias.values()) for name in group}
    body = {name: ALGORITHMS[name][1]() for name in wanted.get("untagged", ()) if "untagged" not in alias}
    stop = size if alias or body else max(heads, default=0)
    position = 0
    stream.seek(0)
    while position < stop:
        mark = min((length for length in heads if length > position), default=stop)
        block = stream.read(min(BLOCK, mark - position))
        if not block:
            break
        for state in states.values():
            state.update(block)
        inside = block[max(0, start - position) : max(0, end - position)] if body else b""
        for state in body.values():
            state.update(inside)
        position += len(block)
        for algorithm in heads.get(position, ()):
            found[Kind(algorithm, f"head:{position}")] = states[algorithm].copy().digest()
    whole = {algorithm: state.digest() for algorithm, state in states.items()} if alias else {}
    found |= {Kind(algorithm, scope): whole[algorithm] for scope, group in alias.items() for algorithm in group}
    found |= {Kind(algorithm, "untagged"): state.digest() for algorithm, state in body.items()}
    last = at(stream, size - max(tails), max(tails)) if tails else b""
    for length, algorithms in tails.items():
        for algorithm in algorithms:
            state = ALGORITHMS[algorithm][1]()
            state.update(last[-length:])
            found[Kind(algorithm, f"tail:{length}")] = state.digest()
    if "flac" in wanted and (head := at(stream, start, 42))[:4] == b"fLaC" and any(head[26:42]):
        found[Kind("md5", "flac")] = head[26:42]  # STREAMINFO comes first and ends with it (RFC 9639, section 8.2)
    return found


def _body(stream: BinaryIO, size: int) -> tuple[int, int]:
    try:
        peeled = peel(stream)
    except Unreadable:  # the walk reports it
        return 0, size
    return peeled.start, peeled.end


# --- how a digest is written -----------------------------------------------------------------------------------------

_PREFIX = re.compile(r"[A-Za-z]\w{0,11}[:-]", re.ASCII)
_ALGORITHM = re.compile(r"(?:sha|md|blake|crc)\d\w{0,8}-", re.ASCII)
_HEX = re.compile(r"[0-9A-Fa-f]{8,128}")
_UUID = re.compile(r"\{?([0-9A-Fa-f]{8})-([0-9A-Fa-f]{4})-([0-9A-Fa-f]{4})-([0-9A-Fa-f]{4})-([0-9A-Fa-f]{12})\}?")
_BASE64 = re.compile(r"([A-Za-z0-9+/_-]{11,86})={0,2}")
_BASE32 = re.compile(r"([A-Z2-7]{13,103}|[a-z2-7]{13,103})={0,6}")
_DECIMAL = re.compile(r"-?[1-9][0-9]{8,154}")
_DRESSED = re.compile(r"[\w+/:={}-]{8,170}", re.ASCII)

FREE_UUID_BITS = 122  # version and variant are fixed in a UUID


class Form(NamedTuple):
    """A value as one dress reads it: `text` is what digests in that dress are searched for."""

    dress: str
    text: str


def shape_of(value: object) -> tuple[str, int] | None:
    """Which values of a column may be of one kind: those of one dress and length.  None for what is no digest."""
    if not isinstance(value, str):
        return ("hex", len(str(abs(value)))) if isinstance(value, int) and abs(value) >= 10**8 else None
    if not 8 <= len(value) <= 170 or " " in value:  # most values end here
        return None
    if _HEX.fullmatch(value):
        return "hex", len(value)
    if not _DRESSED.fullmatch(value):
        return None
    bare = _bare(value)
    if _UUID.fullmatch(bare):
        return "uuid", 32
    if _HEX.fullmatch(bare) or _DECIMAL.fullmatch(bare):
        return "hex", len(bare.lstrip("-"))
    return ("base", len(bare.rstrip("="))) if _BASE64.fullmatch(bare) or _BASE32.fullmatch(bare) else None


def may_be_digests(dress: str, values: Collection[str]) -> bool:
    """Whether the first values of a column, all of one shape, may be digests: no numbers, words or random UUIDs."""
    bare = [_bare(value) for value in values]
    if dress == "uuid":  # random ones all say so; digests do once in 64
        return len(bare) < 4 or not all(_is_random(_hex_of_uuid(value)) for value in bare)
    if dress == "base":
        telling = sum(_is_mixed(value) for value in bare)
        return 2 * telling >= len(bare)
    if any(not value.lstrip("-").isdecimal() for value in bare):
        return True
    numbers = {abs(int(value)) for value in bare if _DECIMAL.fullmatch(value)}
    return len(numbers) > 1 and 4 * max(numbers) > 5 * min(numbers)  # time stamps and the like lie close together


def _is_mixed(value: str) -> bool:
    """Whether digits and both cases (base64), or digits and one case (base32), mix as in no word."""
    digits, lower, upper = (bool(re.search(part, value)) for part in ("[0-9]", "[a-z]", "[A-Z]"))
    return digits and ((lower and upper) or _BASE32.fullmatch(value) is not None)


def forms_of(value: str) -> tuple[Form, ...]:
    """Every way to read a value as a digest; a prefix such as `sha256:` may come first."""
    found: dict[Form, None] = {}
    for text in dict.fromkeys((_bare(value), value)):
        if _HEX.fullmatch(text):
            found[Form("hex", text.lower())] = None
        if _UUID.fullmatch(text):
            found[Form("uuid", _masked(_hex_of_uuid(text)))] = None
        if _DECIMAL.fullmatch(text):
            found[Form("decimal", text)] = None
        if match := _BASE64.fullmatch(text):
            found[Form("base64", match[1].replace("-", "+").replace("_", "/"))] = None
        if match := _BASE32.fullmatch(text):
            found[Form("base32", match[1].lower())] = None
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Cut:
    """Which part of a digest a value is: `length` signs from `first` on, of `total`; bytes where it is a number."""

    dress: str
    first: int
    length: int
    total: int

    @property
    def bits(self) -> int:
        """How much of the digest agrees."""
        per_sign = {"hex": 4, "base64": 6, "base32": 5, "decimal": 8}
        return FREE_UUID_BITS if self.dress == "uuid" else per_sign[self.dress] * self.length

    def __str__(self) -> str:
        whole = self.length == self.total
        return self.dress if whole else f"{self.dress}[{self.first or ''}:{self.first + self.length}]"


class Dressed:
    """A digest in every dress, each worked out when it is first asked for."""

    def __init__(self, digest: bytes) -> None:
        self._digest = digest
        self._texts: dict[str, str] = {}

    def cut(self, form: Form) -> Cut | None:
        """Which part of the digest a value is, if any."""
        if form.dress == "decimal":
            return self._number(int(form.text))
        text = self._texts.get(form.dress)
        if text is None:
            text = self._texts[form.dress] = _WRITERS[form.dress](self._digest)
        first = text.find(form.text)
        return Cut(form.dress, first, len(form.text), len(text)) if first >= 0 else None

    def _number(self, number: int) -> Cut | None:
        size = len(self._digest)
        for length in (size, 8, 4):
            if length <= size and int.from_bytes(self._digest[:length], "big") == number % (1 << 8 * length):
                return Cut("decimal", 0, length, size) if abs(number) < 1 << 8 * length else None
        return None


_WRITERS: Mapping[str, Callable[[bytes], str]] = {
    "hex": lambda digest: digest.hex(),
    "uuid": lambda digest: _masked(digest.hex()[:32]) if len(digest) >= 16 else "",
    "base64": lambda digest: base64.b64encode(digest).decode().rstrip("="),
    "base32": lambda digest: base64.b32encode(digest).decode().rstrip("=").lower(),
}


def _bare(value: str) -> str:
    """A value without a prefix such as `sha256:` or `v1-`; before a dash, base64url could stand as well."""
    match = _PREFIX.match(value)
    if match is None or len(value) - match.end() < 8:
        return value
    bare = value[match.end() :]
    return bare if match[0][-1] == ":" or _HEX.fullmatch(bare) or _ALGORITHM.match(value) else value


def _hex_of_uuid(value: str) -> str:
    match = _UUID.fullmatch(value)
    return "".join(match.groups()).lower() if match else value


def _is_random(digits: str) -> bool:
    return digits[12:13] == "4" and digits[16:17] in tuple("89ab")


def _masked(digits: str) -> str:
    """32 hex digits with those that a UUID may fix for its version and variant left out."""
    return f"{digits[:12]}-{digits[13:16]}-{digits[17:32]}"
