"""Text from outside: made safe to show, and what it looks like."""

from __future__ import annotations

import re
import unicodedata
import urllib.parse
from typing import Any

_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_COMMAND = re.compile(r"(?<=:):|(?<=#)#")  # `::error` and `##[error]` are commands to CI services, also after spaces


def printable(text: str) -> str:
    """`text` with every character that could steer a terminal, a log or the reading order written as `\\u202e`."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(_escaped(character) for character in text)
    return _COMMAND.sub(lambda sign: f"\\x{ord(sign[0]):02x}", text)


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things, as people write it: `1 file`, `2,000 files`; `many` where an `s` does not make the plural."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_AUDIO_SUFFIXES = frozenset(
    "mp1 mp2 mp3 mp4 mpga m4a m4b m4r mov 3gp alac aac adts flac fla ogg oga ogx opus spx wav wave bwf rf64 w64 aif"
    " aiff aifc wma asf ape wv tak tta mpc mpp caf au snd ac3 eac3 ec3 dts mlp amr dsf dff webm weba mka mkv ofr shn"
    " aa aax ra rm".split()
)


def is_audio_name(text: str) -> bool:
    """Whether a file name or path has the usual extension of an audio file."""
    return text.rpartition(".")[2].lower() in _AUDIO_SUFFIXES and "." in text


def as_text(value: Any) -> str:
    """A leaf as the text that patterns see: null is empty, numbers and booleans as JSON writes them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")  # no lone surrogates
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


# Letters of other scripts that look like Latin ones, those that normalization leaves as they are.
# After https://www.unicode.org/Public/security/latest/confusables.txt, without what only resembles in some typefaces.
_LOOK_ALIKES = str.maketrans(
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"  # Greek
    "\u03b1\u03b3\u03b9\u03ba\u03bd\u03bf\u03c1\u03c5\u03c7"
    "\u0405\u0406\u0408\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"  # Cyrillic
    "\u0430\u0433\u0435\u043a\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0475\u04af\u04bb\u04c0\u04cf"
    "\u0501\u051b\u051d"
    "\u0131\u0251\u0261",  # dotless i, Latin alpha, script g
    "ABEZHIKMNOPTYXayikvopuxSIJABEKMHOPCTYXarekopcyxsijvyhIldqwiag",
)
_BORROWING = re.compile(rf"(?<!\w)\w*[{''.join(map(chr, _LOOK_ALIKES))}]\w*")
_DASH = re.compile("[\u2010-\u2015\u2212]")
# what is not seen by itself: combining marks, and characters without width (soft hyphens, joiners, bidi, tags, fillers)
_UNSEEN = re.compile(
    "[\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)


def plain(text: str) -> str:
    """`text` as a reader takes it: no escapes of URLs, accents, invisible characters, wide or borrowed letters.

    Most texts are plain already, which costs next to nothing to see.
    """
    if "%" in text:
        text = urllib.parse.unquote(text)
    if text.isascii():
        return text
    text = _DASH.sub("-", _UNSEEN.sub("", unicodedata.normalize("NFKD", text)))
    return _BORROWING.sub(lambda word: _unborrowed(word[0]), text)


def _unborrowed(word: str) -> str:
    """A word in Latin letters if it can pass for one: words of another script stay what they are."""
    latin = word.translate(_LOOK_ALIKES)
    return latin if latin.isascii() else word


_SEAM = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\w)[\s-]+(?=\w)")
_QUOTED = re.compile(r"\['([^\W\d]\w*)'\]")  # a key of a JSON path that needs no quotes any more


def spellings(name: str) -> tuple[str, ...]:
    """A name as it is, in plain lower case, and in snake case: `$['Gold Answer']` is `$.gold_answer` too.

    That a field lies in an object which a text spells out (`{}`) is no part of the last two.
    """
    simple = plain(name).replace("{}", "")
    snake = _QUOTED.sub(r".\1", _SEAM.sub("_", simple))
    return tuple(dict.fromkeys((name, simple.lower(), snake.lower())))


def fold(text: str) -> tuple[str, ...]:
    """The words of `text` without what spellings of one name differ in: letter case, accents, punctuation."""
    letters = plain(text).casefold()
    if not letters.isascii():
        letters = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return tuple(re.findall(r"[^\W_]+", letters))
