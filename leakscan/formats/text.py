"""Plain text: every line is a record, numbered like the line.

Annotations of music are text too: rows of times with a label, as in `.lab` files and in what Sonic Visualiser and
Audacity export (`0.000<tab>1.250<tab>C:maj`).  These rows have fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

from leakscan.model import Entry, Item, Place
from leakscan.prose import is_text, lines

NAMES = (".txt", ".lab", ".lrc", ".srt", ".vtt", ".cue")
BY_NAME = True  # everything else could be text, too
PROSE = True

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
_ROW = re.compile(rf"\s*({_NUMBER})(?:[\s,;]+({_NUMBER}))?(?:[\s,;]+(\S.*?))?\s*")
_LOOK = 20  # lines that tell whether the file is an annotation


def sniff(head: bytes) -> bool:
    """Whether the content is text."""
    return is_text(head)


def read(entry: Entry) -> Iterator[Item]:
    """The lines of a file: the text itself, or the time, the end and the label of a row of an annotation."""
    with entry.open() as stream:
        found = lines(stream)
        head = list(islice(found, _LOOK))
        timed = _is_annotation([text for _, text in head], entry.path.lower().endswith(".lab"))
        for number, text in chain(head, found):
            row = _ROW.fullmatch(text) if timed else None
            body = {name: value for name, value in zip(("time", "end", "label"), row.groups(), strict=True) if value} \
                if row else text  # fmt: skip
            yield Item(Place(entry.path, record=number), "record", body)


def _is_annotation(head: list[str], integers: bool) -> bool:
    """Whether all lines but comments start with times, one not before the other; integers are times in `.lab` only."""
    rows = [_ROW.fullmatch(text) for text in head if not text.lstrip().startswith(("#", "%"))]
    times = [float(row[1]) for row in rows if row]
    if len(times) < max(2, len(rows)) or times != sorted(times):
        return False
    return integers or any(row and "." in row[1] for row in rows)
