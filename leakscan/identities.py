"""What names a recording in public: its ID in a registry, or a digest of its file; normalised, so that equal is equal.

Forms: Free Music Archive track numbers (`fma:2`; file names pad them to six digits; OpenMIC adds an offset,
`000046_3840`), Jamendo tracks (`jamendo:214`, `track_0000214` in MTG-Jamendo), Freesound sounds, YouTube videos (eleven
characters), Million Song Dataset tracks (`TRAXLZU12903D05F94`), MusicBrainz recordings (UUID), ISRC (ISO 3901).
"""

from __future__ import annotations

import re

from leakscan.text import fold

_HINTS = {
    "fma": "fma", "openmic": "fma", "jamendo": "jamendo", "freesound": "freesound", "fsd50k": "freesound",
    "youtube": "youtube", "yt": "youtube", "ytid": "youtube", "musiccaps": "youtube", "audioset": "youtube",
    "msd": "msd", "mbid": "mbid", "musicbrainz": "mbid", "isrc": "isrc",
}  # fmt: skip
_DIGESTS = {32: "md5", 40: "sha1", 64: "sha256", 96: "sha384", 128: "sha512"}  # hex digits: algorithm
ALGORITHMS = tuple(_DIGESTS.values())

_URLS = (
    (re.compile(r"(?i)youtu\.be/([A-Za-z0-9_-]{11})(?![\w-])"), "youtube"),
    (re.compile(r"(?i)youtube(?:-nocookie)?\.com/(?:watch\?(?:\S*&)?v=|embed/|shorts/|v/)([A-Za-z0-9_-]{11})(?![\w-])"),
     "youtube"),
    (re.compile(r"(?i)freesound\.org/(?:people/[^/\s]+/sounds|s)/(\d+)"), "freesound"),
    (re.compile(r"(?i)jamendo\.com/(?:\w\w/)?track/(\d+)"), "jamendo"),
    (re.compile(r"(?i)musicbrainz\.org/recording/([\da-f-]{36})"), "mbid"),
)  # fmt: skip
_FORMS = {
    "fma": re.compile(r"(\d{1,9})(?:_\d+)?"),
    "jamendo": re.compile(r"(?:track_)?(\d{1,9})"),
    "freesound": re.compile(r"(\d{1,9})(?:_[\w-]+)?"),
    "youtube": re.compile(r"([A-Za-z0-9_-]{11})"),
    "msd": re.compile(r"(TR[A-Z]{5}[\dA-F]{11})"),
    "mbid": re.compile(r"([\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12})"),
    "isrc": re.compile(r"((?i:[A-Z]{2}-?[A-Z\d]{3})-?\d{2}-?\d{5})"),
}
_TELLING = ("msd", "mbid", "isrc")
"""Registries whose IDs nothing else looks like."""
_OF_MTG = re.compile(r"track_(\d{7})")
_PREFIXED = re.compile(r"([A-Za-z]\w{1,11})\s*:\s*(\S+)")
# as md5sum and BSD's md5 print it
_SUM = re.compile(r"(?:\w[\w-]*\s*\(.*\)\s*=\s*)?\\?([\da-fA-F]{32,128})(?:\s+[ *]?.*)?")


def registry(name: str) -> str:
    """The registry that the name of a field, file or set suggests; "" for none, or several."""
    found = {_HINTS[word] for word in fold(name) if word in _HINTS}
    return found.pop() if len(found) == 1 else ""


def identify(text: str, hint: str = "") -> str | None:
    """A text as `registry:ID`, normalised; None when it is no ID.

    `hint` is the registry that it is likely from: numbers, and eleven characters, are IDs only with one.
    """
    text = text.strip()
    for expression, name in _URLS:
        if match := expression.search(text):
            return _normal(name, match[1])
    if (match := _PREFIXED.fullmatch(text)) and match[1].lower() in _FORMS:
        hint, text = match[1].lower(), match[2]
    elif match := _OF_MTG.fullmatch(text):
        hint, text = "jamendo", match[1]
    for name in (hint,) if hint else _TELLING:
        if match := _FORMS[name].fullmatch(text):
            return _normal(name, match[1])
    return None


def digest(text: str) -> str | None:
    """A text as `algorithm:hex digits`, also of a line as `sha256sum` prints it; None when it is no digest."""
    text = text.strip()
    if (match := _PREFIXED.fullmatch(text)) and match[1].lower() in ALGORITHMS:
        text = match[2]
    match = _SUM.fullmatch(text)
    algorithm = _DIGESTS.get(len(match[1])) if match else None
    return f"{algorithm}:{match[1].lower()}" if match and algorithm else None


def _normal(name: str, value: str) -> str:
    if value.isdecimal() and name in ("fma", "jamendo", "freesound"):
        value = str(int(value))
    elif name == "isrc":
        value = value.replace("-", "").upper()
    elif name == "mbid":
        value = value.lower()
    return f"{name}:{value}"
