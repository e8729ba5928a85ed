"""Find the phrases of a long list in texts, whole words only.

`Phrases` needs nothing but the standard library; `Automaton` gives equal answers several times as fast and needs
ahocorasick-rs (the extra `catalogue`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from leakscan.text import fold

Words = tuple[str, ...]

_SPACELESS = re.compile(r"([\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff])")


class Finder(Protocol):
    """Something that finds phrases."""

    def find(self, words: Sequence[str]) -> frozenset[Words]:
        """The phrases that stand in a text, given as its words."""


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
        return frozenset(
            phrase
            for start, word in enumerate(words)
            if word in lengths
            for length in lengths[word]
            if (phrase := tuple(words[start : start + length])) in known
        )


class Automaton:
    """The same by an Aho-Corasick automaton.  Raises `ImportError` where ahocorasick-rs is not installed."""

    def __init__(self, phrases: Iterable[Words]) -> None:
        import ahocorasick_rs

        self._known = sorted({phrase for phrase in phrases if phrase})
        self._automaton: Any = ahocorasick_rs.AhoCorasick([f" {' '.join(phrase)} " for phrase in self._known])

    def find(self, words: Sequence[str]) -> frozenset[Words]:
        """The phrases that stand in a text, given as its words."""
        found = self._automaton.find_matches_as_indexes(f" {' '.join(words)} ", overlapping=True)
        return frozenset(self._known[index] for index, _, _ in found)


def finder(phrases: Iterable[Words]) -> Finder:
    """The fastest finder of this machine."""
    phrases = frozenset(phrases)
    try:
        return Automaton(phrases)
    except ImportError:
        return Phrases(phrases)


def words(text: str) -> Words:
    """The folded words of a text; in scripts without spaces every character is a word."""
    found = fold(text)
    if text.isascii():
        return found
    return tuple(part for word in found for part in _SPACELESS.split(word) if part)


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
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u266d", "b")
    return tuple(_respelt(words(_SHARP.sub(r"\1is", text))))


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
