"""Files within the values of a record: `data:` URIs and audio in bare base64 become entries that the walk judges."""

from __future__ import annotations

import base64
import re
import urllib.parse
from collections.abc import Iterator
from typing import Any

from leakscan.model import Entry, child_name

LONG = 2048
"""Characters of a record that `files_in` is worth while for; for a shorter one it is where `data:` is in its text."""

_URI = re.compile(r"\s*data:[^,]{0,200},", re.IGNORECASE)
AUDIO = (
    # RIFF and RF64, ID3, OggS, fLaC, FORM, a frame of MPEG audio or ADTS, ....ftyp
    r"(?:UklGR|UkY2N|SUQz|T2dnU|ZkxhQ|Rk9ST|[/_]{2}[E-Pk-v]|AAAA..Z0eX"
    # caff, .snd, wvpk, TTA1, MPCK, DSD and a space, Matroska, ASF, W64, AC-3
    r"|Y2FmZ|LnNuZ|d3Zwa|VFRBM|TVBDS|RFNEI|GkXfo|MCayd|cmlmZi6R|C3[c-f])[\w+/\s-]{500}"
)
"""How the base64 of an audio file begins."""

_BASE64_AUDIO = re.compile(rf"\s*{AUDIO}")


def files_in(entry: Entry, record: int, body: Any) -> Iterator[Entry]:
    """The files in the values of a record of `entry`, such as `prompts.jsonl!12.audio` and `p.json!3.parts[0].url`."""
    stack = [("$", body)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, dict):
            stack.extend([(child_name(name, key), child) for key, child in value.items()][::-1])
        elif isinstance(value, list):
            stack.extend([(f"{name}[{index}]", child) for index, child in enumerate(value)][::-1])
        elif isinstance(value, str) and (data := _bytes(value)):
            yield Entry(f"{entry.path}!{record}{name[1:]}", entry.file, len(data), data, entry.depth + 1)


def _bytes(text: str) -> bytes | None:
    """What a value that holds a file stands for."""
    if match := _URI.match(text):
        content = text[match.end() :]
        return _decoded(content) if "base64" in match[0].lower() else urllib.parse.unquote_to_bytes(content)
    return _decoded(text) if _BASE64_AUDIO.match(text) else None


def _decoded(text: str) -> bytes:
    """Base64 of either alphabet, as leniently as players take it: nothing in it may keep the rest from being judged."""
    digits = re.sub(r"[^A-Za-z0-9+/]", "", urllib.parse.unquote(text).replace("-", "+").replace("_", "/"))
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return base64.b64decode(digits + "=" * (-len(digits) % 4))
