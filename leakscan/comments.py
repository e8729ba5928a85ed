"""Comments of markup in a text: a model reads them, and nobody who looks at the page that shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from leakscan.phrases import Phrases, Words, musical_words

OPENING = "<!--"
MOSTLY = 0.75
"""Which share of the comments that name a value of the gold must name their record's own: a number may be another's."""

_COMMENT = re.compile(rf"{OPENING}(.*?)(?:-->|\Z)", re.DOTALL)
_WORD = re.compile(r"[^\W_]+")


def within(text: str) -> list[str]:
    """What the comments of a text say."""
    return _COMMENT.findall(text)


def telling(seen: Sequence[tuple[str, str]], gold: Mapping[str, Mapping[str, str]]) -> dict[int, str]:
    """Which comments, given with the keys of their records, hold the record's own gold: their places, with the field.

    Not those that name several values of the field, nor a template: the same for records whose values differ.
    """
    fields = sorted({field for _, key in seen for field in gold.get(key, ())})
    told: dict[int, str] = {}
    for field in fields:
        values = {key: musical_words(row[field]) for key, row in gold.items() if row.get(field, "").strip()}
        finder = Phrases(values.values())
        own: dict[str, set[Words]] = {}
        for comment, key in seen:
            own.setdefault(comment, set()).update([values[key]] if key in values else [])
        named = {
            place: found
            for place, (comment, key) in enumerate(seen)
            if key in values and len(own[comment]) == 1 and len(found := _named(comment, finder)) == 1
        }
        hits = [place for place, found in named.items() if values[seen[place][1]] in found]
        if len(hits) >= MOSTLY * len(named):
            told.update((place, field) for place in hits if place not in told)
    return told


def _named(comment: str, finder: Phrases) -> frozenset[Words]:
    """The values that a comment names; a letter only where it is a capital, since `a` is a word."""
    signs = {word.casefold() for word in _WORD.findall(comment) if not word.islower()}
    found = finder.find(musical_words(comment))
    return frozenset(value for value in found if len("".join(value)) > 1 or value[0] in signs)
