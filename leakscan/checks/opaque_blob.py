"""Find text that hides bytes: base64 that decodes to a known kind of file, a path, readable text or much noise.

Digests and keys are base64 too, but short noise; those are other rules' business.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release, Secret, facts

SHORTEST = 16
HEAD = 4096
NOISE = 100
"""Characters from which on noise is more than the longest of digests."""
PLACES = 100

_MIXED = (
    "^[0-9+/_-]*(?:[a-z][a-z0-9+/_-]*[A-Z]|[A-Z][A-Z0-9+/_-]*[a-z])[A-Za-z0-9+/_-]*={0,2}$"  # for the sieve of values
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_MAGIC = (b"ID3", b"OggS", b"fLaC", b"RIFF", b"\xff\xfb", b"\x89PNG", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b\x08",
          b"PAR1", b"SQLite", b"\x80\x04\x95", b"\x93NUMPY", b"BZh", b"\x28\xb5\x2f\xfd", b"%PDF")  # fmt: skip
_READABLE = re.compile(r"[\w .,:;/\\'\"()\[\]{}#&=?!+@|\r\n\t-]+")
_WORD = re.compile(r"[^\W\d_]{3}")


def check(config: Config, private: Private) -> _OpaqueBlob:
    """The check; it needs nothing of the evaluator's side."""
    return _OpaqueBlob()


class _OpaqueBlob:
    def wants(self, kind: str, name: str) -> str | None:
        """Words in the letters of base64, small and capital: digits, UUIDs and digests have one kind at most."""
        return _MIXED if kind == "text" else None

    def see(self, item: Item) -> Iterator[Observation]:
        """Every text of a record that decodes to something."""
        if item.kind != "record":
            return
        for kind, name, value in facts(item):
            if type(value) is str and len(value) >= SHORTEST and " " not in value and kind == "field":
                found = _decoded(value)
                if found is not None:
                    place = Place(item.place.path, item.place.record, item.place.id, name)
                    yield Observation(place, (found, len(value)))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per kind of content, file and JSON path."""
        columns: dict[tuple[str, str | None, str], list[Observation]] = {}
        for observation in observations:
            columns.setdefault((observation.place.path, observation.place.name, observation.value[0]), []).append(
                observation
            )
        for (_, _, what), seen in columns.items():
            yield Finding(
                rule="",
                level="warning",
                confidence="strong",
                message=f"base64 of {what}, which no rule reads",
                place=seen[0].place,
                count=len(seen),
                places=tuple(one.place for one in seen[:PLACES]),
                evidence=Secret("base64", seen[0].value[1]),
            )


def _decoded(text: str) -> str | None:
    """What a text in base64 holds; None for all other texts, and for noise."""
    head = text[:HEAD]
    if not _BASE64.fullmatch(head if len(text) <= HEAD else head.rstrip("=")) or ("/" in head and "." in head):
        return None
    plain = head.rstrip("=").translate({45: "+", 95: "/"})
    plain = plain[: len(plain) - len(plain) % 4] if len(plain) % 4 == 1 else plain + "=" * (-len(plain) % 4)
    try:
        data = base64.b64decode(plain, validate=True)
    except (binascii.Error, ValueError):
        return None
    if data.startswith(_MAGIC):
        return "a file"
    try:
        said = data.decode("utf-8")
    except UnicodeDecodeError:
        return "what nobody can read" if len(text) >= NOISE and _is_noise(head) else None
    if not _READABLE.fullmatch(said) or len(_WORD.findall(said)) * 8 < len(said):
        return None
    return "a path" if "/" in said or "\\" in said else "a text"


def _is_noise(text: str) -> bool:
    """Whether small letters, capitals and digits are all frequent, as in base64 of noise, not in words and paths."""
    counts = [sum(map(kind, text)) for kind in (str.islower, str.isupper, str.isdecimal)]
    return min(counts) * 16 > len(text)
