"""Find the phrases of a long list in texts, whole words only.

`Phrases` needs nothing but the standard library; `Automaton` gives equal answers several times as fast and needs
ahocorasick-rs (the extra `catalogue`).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from leakscan.text import fold, plain

Words = tuple[str, ...]

_NONE: frozenset[Words] = frozenset()
_SPACELESS = "[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
_ASCII_GAP = re.compile(r"[^a-z0-9\n]+")
_GAP = re.compile(r"(?:[^\w\n]|_)+")


@functools.cache
def _sign() -> re.Pattern[str]:
    """A character that is a word; compiled when it is needed, which takes long."""
    return re.compile(f"({_SPACELESS})")


@functools.cache
def _seam() -> re.Pattern[str]:
    """Where such a word begins or ends without a space."""
    return re.compile(f"(?<=[^ ])(?={_SPACELESS})|(?<={_SPACELESS})(?=[^ ])")


def is_sign(word: str) -> bool:
    """Whether a word is one character of a script without spaces."""
    return len(word) == 1 and not word.isascii() and _sign().fullmatch(word) is not None


class Finder(Protocol):
    """Something that finds phrases."""

    def find(self, words: Sequence[str]) -> frozenset[Words]:
        """The phrases that stand in a text, given as its words."""

    def search(self, lines: Sequence[str]) -> Sequence[frozenset[Words]]:
        """The phrases that stand in each of many texts, given as `folded` writes them."""


class Phrases:
    """An index by first word: of every word, which lengths of phrases begin with it."""

    def __init__(self, phrases: Iterable[Words]) -> None:
        self._known = frozenset(phrase for phrase in phrases if phrase)
        lengths: dict[str, set[int]] = {}
        for phrase in self._known:
            lengths.setdefault(phrase[0], set()).add(len(phrase))
        self._lengths = {word: tuple(found) for word, found in lengths.items()}

    def find(self, words: Sequence[str]) -> frozenset[Words]:
        """The phrases that stand in a text, given as its words."""
        known, lengths = self._known, self._lengths
        if lengths.keys().isdisjoint(words):
            return _NONE
        return frozenset(
            phrase
            for start, word in enumerate(words)
            if word in lengths
            for length in lengths[word]
            if (phrase := tuple(words[start : start + length])) in known
        )

    def search(self, lines: Sequence[str]) -> Sequence[frozenset[Words]]:
        """The phrases that stand in each of many texts, given as `folded` writes them."""
        return [self.find(line.split()) for line in lines]


class Automaton:
    """The same by an Aho-Corasick automaton.  Raises `ImportError` where ahocorasick-rs is not installed."""

    def __init__(self, phrases: Iterable[Words]) -> None:
        import ahocorasick_rs

        self._known = [phrase for phrase in dict.fromkeys(phrases) if phrase]
        self._automaton: Any = ahocorasick_rs.AhoCorasick([f" {' '.join(phrase)} " for phrase in self._known])

    def find(self, words: Sequence[str]) -> frozenset[Words]:
        """The phrases that stand in a text, given as its words."""
        return self.search([" ".join(words)])[0]

    def search(self, lines: Sequence[str]) -> Sequence[frozenset[Words]]:
        """The phrases that stand in each of many texts, given as `folded` writes them."""
        found = [_NONE] * len(lines)
        line, end, here = -1, 0, set[Words]()
        text = " \n ".join(lines)
        matches = self._automaton.find_matches_as_indexes(f" {text} ", overlapping=True)
        for index, _, last in matches:  # in the order of their ends
            while last > end:
                if here:
                    found[line], here = frozenset(here), set()
                line += 1
                end += len(lines[line]) + len(" \n ")
            here.add(self._known[index])
        if here:
            found[line] = frozenset(here)
        return found


def finder(phrases: Iterable[Words]) -> Finder:
    """The fastest finder of this machine."""
    phrases = list(phrases)
    try:
        return Automaton(phrases)
    except ImportError:
        return Phrases(phrases)


def words(text: str) -> Words:
    """The folded words of a text; in scripts without spaces every character is a word."""
    found = fold(text)
    if text.isascii():
        return found
    return tuple(part for word in found for part in _sign().split(word) if part)


def folded(texts: Sequence[str]) -> Sequence[str]:
    """The `words` of each of many texts, with spaces between: joined texts take a fraction of the time."""
    lines: dict[str, str] = {}
    easy: list[str] = []
    others: list[str] = []
    for text in texts:
        if "%" in text:  # an escape that could end a line
            lines[text] = " ".join(words(text))
        else:
            (easy if text.isascii() else others).append(text)
    for some, gap in ((easy, _ASCII_GAP), (others, _GAP)):
        if not some:
            continue
        letters = plain("\n".join(text.replace("\n", " ") for text in some)).casefold()
        if not letters.isascii():
            letters = _seam().sub(" ", "".join(letter for letter in letters if not unicodedata.combining(letter)))
        lines.update(zip(some, map(str.strip, gap.sub(" ", letters).split("\n")), strict=True))
    return [lines[text] for text in texts]


# --- music -----------------------------------------------------------------------------------------------------------

_SHARP = re.compile(r"(?<![^\W_])([A-Ga-g])[#\u266f]")
_NOTE = re.compile(r"([a-g])(is|b)?(m|min|minor|moll|maj|major|dur)?")
_CHORD = re.compile(r"([a-g])(is|b)((?:m|min|maj|dim|aug|sus|add|\d)[a-z0-9]*)")
_PITCHES = {
    "db": "cis",
    "eb": "dis",
    "gb": "fis",
    "ab": "gis",
    "bb": "ais",
    "cb": "b",
    "fb": "e",
    "eis": "f",
    "bis": "c",
}
_MODES = {"m": "minor", "min": "minor", "moll": "minor", "maj": "major", "dur": "major"}


def musical_words(text: str) -> Words:
    """The folded words of a text with one spelling for every pitch, key and chord: Db minor, C#m, C sharp minor."""
    return tuple(_respelt(noted_words(text)))


def noted_words(text: str) -> Words:
    """The folded words of a text in which sharps and flats are letters: F# is not F."""
    if not text.isascii():
        text = plain(text).replace("\u266d", "b")
    return words(_SHARP.sub(r"\1is", text))


def _respelt(found: Words) -> Iterator[str]:
    note = ""  # a bare note waits for `sharp` or `flat`
    for word in found:
        if note and word in ("sharp", "flat"):
            note = _pitch(note + ("is" if word == "sharp" else "b"))
            continue
        if note:
            yield note
            note = ""
        if match := _NOTE.fullmatch(word):
            letter, accidental, mode = match.groups()
            note = _pitch(letter + (accidental or ""))
            if mode:
                yield note
                yield _MODES.get(mode, mode)
                note = ""
        elif match := _CHORD.fullmatch(word):
            yield _pitch(match[1] + match[2]) + match[3]
        else:
            yield _MODES.get(word, word) if len(word) > 1 else word
    if note:
        yield note


def _pitch(note: str) -> str:
    return _PITCHES.get(note, note)
