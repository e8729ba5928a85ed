"""How digests are written: in hex, as a UUID, in base64, base64url or base32, as a decimal number; whole or in part.

A value may be labelled (`sha256:`, `md5=`, `MD5: `, `md5(...)`, `oid sha256:`, `urn:md5:`, `0x`), stand between quotes,
brackets or blanks, and have colons between its bytes.  In a longer text (a name, a URL, a prompt) only hex and UUIDs
are looked for: nothing tells the others from words.  Values of one column are told to be of one kind by their dress and
length.  All texts here are plain ones (`leakscan.text.plain`).
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

_PREFIX = re.compile(r"[A-Za-z]\w{0,11}[:-]", re.ASCII)
_ALGORITHM = re.compile(r"(?:sha|md|blake|crc)\d\w{0,8}-", re.ASCII)
_HEX = re.compile(r"[0-9A-Fa-f]{8,128}")
_UUID = re.compile(r"\{?([0-9A-Fa-f]{8})-([0-9A-Fa-f]{4})-([0-9A-Fa-f]{4})-([0-9A-Fa-f]{4})-([0-9A-Fa-f]{12})\}?")
_BASE64 = re.compile(r"([A-Za-z0-9+/_-]{11,86}|[A-Za-z0-9+/_-]{6}(?===$))={0,2}")  # shorter: 4 bytes, padded
_BASE32 = re.compile(r"([A-Z2-7]{13,103}|[a-z2-7]{13,103}|(?:[A-Z2-7]{7}|[a-z2-7]{7})(?==$))={0,6}")
_DECIMAL = re.compile(r"-?[1-9][0-9]{8,154}")
_DRESSED = re.compile(r"[\w+/={}-]{8,170}", re.ASCII)

OPENING = r"""[ \t"'`<({\[]*(?:oid )?(?:urn:)?(?:[A-Za-z][\w-]{0,11} ?[:=(] ?["']?|0x)?"""
"""What may come before a digest, but for a label and a dash: base64url could stand there as well.  Also for RE2."""
CLOSING = r"""[ \t"'`>)}\],;]*"""
"""What may come after a digest; also for RE2."""
_OPENING = re.compile(OPENING, re.ASCII)
_AROUND = " \t\"'`<>(){}[],;"
_BYTES = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){7,63}")  # fewer are time codes
_SIMPLE_UUID = r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
_PART = re.compile(  # the shorter ones only where a file is called so
    rf"(?<![0-9A-Za-z])(?:{_SIMPLE_UUID}|(?:0x)?[0-9A-Fa-f]{{16,128}})(?![0-9A-Za-z])"
    r"|(?<![^/])[0-9A-Fa-f]{8,15}(?=\.\w{2,5}$)"
)
MOST_PARTS = 8
"""How many digests a longer text is searched for."""

FREE_UUID_BITS = 122  # version and variant are fixed in a UUID


def _both(first: str, other: str, length: int) -> str:
    """A pattern for so many signs or more of two classes, of which one of the `other` comes after some of the first."""
    return "|".join(
        f"[{first}]{{{before}}}[{other}][{first}{other}]{{{max(0, length - before - 1)},}}"
        for before in range(2 * length)
    )


_SIXTY_FOUR = "[A-Za-z0-9+/_-]*"
_ORDERS = ("a-z|A-Z|0-9", "a-z|0-9|A-Z", "A-Z|a-z|0-9", "A-Z|0-9|a-z", "0-9|a-z|A-Z", "0-9|A-Z|a-z")
_MIXED = "|".join(_SIXTY_FOUR + "".join(f"[{part}]{_SIXTY_FOUR}" for part in order.split("|")) for order in _ORDERS)
_NUMBER = r"(?:[2-9][0-9]{8,9}|[1-9][0-9]{16,154})"  # of 4 bytes, but no time of this century; of 8 or more
_RIGID_UUID = r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-35-9A-Fa-f][0-9A-Fa-f]{3}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
TELLING_TEXT = (
    rf"^{OPENING}(?:[A-Za-z]\w{{0,11}}-)?(?:"
    rf"{_both('0-9', 'A-Fa-f', 8)}"
    rf"|{_RIGID_UUID}|[0-9A-Fa-f]{{2}}(?::[0-9A-Fa-f]{{2}}){{7,63}}"
    rf"|(?:{_MIXED})={{0,2}}|(?:{_both('A-Z', '2-7', 13)}|{_both('a-z', '2-7', 13)})={{0,6}}"
    rf"|[A-Za-z0-9+/_-]{{6}}==|[A-Za-z2-7]{{7}}=|-?{_NUMBER}){CLOSING}$"
)
TELLING_PART = (  # not within a UUID, whose many digits would make the search dear
    r"(?:^|[^0-9A-Za-z-])[0-9]*[A-Fa-f][0-9A-Fa-f]{6}(?:[0-9A-Fa-f]{2}|[0-9A-Fa-f]*\.\w{2,5}$)"
    r"|^[0-9]+-[0-9]*[A-Fa-f][0-9A-Fa-f]{12}"
)
TELLING_NUMBER = f"^-?{_NUMBER}$"
"""What nearly every digest matches, and hardly anything else: RE2 patterns by which columns of digests are found.

Left out are digests that look like words, counters, times or random UUIDs; others in their column do not.
"""


_BITS = {"hex": 4, "reversed hex": 4, "base64": 6, "base32": 5, "decimal": 8}
"""What a sign says; of a number, what a byte does."""


class Form(NamedTuple):
    """A value as one dress reads it: `text` is what digests in that dress are searched for."""

    dress: str
    text: str

    @property
    def bytes(self) -> int:
        """How many bytes a digest has at least that can show this."""
        if self.dress == "decimal":
            return -(-int(self.text).bit_length() // 8)
        return 16 if self.dress == "uuid" else (len(self.text) - 1) * _BITS[self.dress] // 8 + 1


def undressed(text: str) -> str:
    """A value without what stands around a digest; bytes without the colons between them."""
    simple = text.strip(_AROUND)
    if _BYTES.fullmatch(simple):
        return simple.replace(":", "")
    opening = _OPENING.match(simple)
    bare = simple[opening.end() :].lstrip(_AROUND) if opening else simple
    if len(bare) < 8 or (simple.startswith("0x") and not _HEX.fullmatch(bare)):  # base64 may begin so, too
        bare = simple
    return _bare(bare)


def shape_of(value: object) -> tuple[str, int] | None:
    """Which values of a column may be of one kind: those of one dress and length.  None for what is no digest."""
    if not isinstance(value, str):
        return ("hex", len(str(abs(value)))) if isinstance(value, int) and 10**8 <= abs(value) < 1 << 512 else None
    if not 8 <= len(value) <= 256:  # most values end here
        return None
    if _HEX.fullmatch(value):
        return "hex", len(value)
    bare = undressed(value)
    if not _DRESSED.fullmatch(bare):
        return None
    if _UUID.fullmatch(bare):
        return "uuid", 32
    if _HEX.fullmatch(bare) or _DECIMAL.fullmatch(bare):
        return "hex", len(bare.lstrip("-"))
    return ("base", len(bare.rstrip("="))) if _BASE64.fullmatch(bare) or _BASE32.fullmatch(bare) else None


def parts_of(text: str) -> Iterator[str]:
    """The digests that stand in a longer text: UUIDs, and hex with letters and digits in it."""
    found = (match[0].removeprefix("0x") for match in _PART.finditer(text))
    return itertools.islice((part for part in found if not part.isalpha() and not part.isdecimal()), MOST_PARTS)


def may_be_digests(dress: str, values: Collection[str]) -> bool:
    """Whether the first values of a column, all of one shape, may be digests: no numbers, words or random UUIDs."""
    bare = [undressed(value) for value in values]
    if dress == "uuid":  # random ones all say so; digests do once in 64
        return len(bare) < 4 or not all(_is_random(_hex_of_uuid(value)) for value in bare)
    if dress == "base":
        return 4 * sum(_is_mixed(value) for value in bare) >= len(bare)
    if any(not value.lstrip("-").isdecimal() for value in bare):
        return True
    numbers = {abs(int(value)) for value in bare if _DECIMAL.fullmatch(value)}
    return len(numbers) > 1 and 4 * max(numbers) > 5 * min(numbers)  # time stamps and the like lie close together


def _is_mixed(value: str) -> bool:
    """Whether digits and both cases (base64), or digits and one case (base32), mix as in no word; or it is padded."""
    digits, lower, upper = (bool(re.search(part, value)) for part in ("[0-9]", "[a-z]", "[A-Z]"))
    return value[-1] == "=" or (digits and ((lower and upper) or _BASE32.fullmatch(value) is not None))


def forms_of(value: str) -> tuple[Form, ...]:
    """Every way to read a value as a digest, without what stands around it and with."""
    found: dict[Form, None] = {}
    for text in dict.fromkeys((undressed(value), value)):
        if _HEX.fullmatch(text):
            found[Form("hex", text.lower())] = None
            found[Form("reversed hex", text[::-1].lower())] = None
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
        return FREE_UUID_BITS if self.dress == "uuid" else _BITS[self.dress] * self.length

    def __str__(self) -> str:
        whole = self.length == self.total
        return self.dress if whole else f"{self.dress}[{self.first or ''}:{self.first + self.length}]"


class Dressed:
    """A digest in every dress, each worked out when it is first asked for."""

    def __init__(self, digest: bytes) -> None:
        self._digest = digest
        self._texts: dict[str, str] = {}

    def text(self, dress: str) -> str:
        """The whole digest in a dress other than decimal."""
        text = self._texts.get(dress)
        if text is None:
            text = self._texts[dress] = _WRITERS[dress](self._digest)
        return text

    def cut(self, form: Form) -> Cut | None:
        """Which part of the digest a value is, if any."""
        if form.dress == "decimal":
            return self._number(int(form.text))
        text = self.text(form.dress)
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
    "reversed hex": lambda digest: digest.hex(),  # it is the value that is turned round
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
