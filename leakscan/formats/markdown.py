"""Markdown and dataset cards: every line is a record, numbered like the line; YAML at the head is one of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from leakscan import yamltext
from leakscan.model import Entry, Item, Place
from leakscan.prose import is_text, lines

NAMES = (".md", ".markdown")
BY_NAME = True
PROSE = True
_LIMIT = 10_000  # lines of front matter


def sniff(head: bytes) -> bool:
    """Whether the content is text."""
    return is_text(head)


def read(entry: Entry) -> Iterator[Item]:
    """The lines of a file.  Front matter is its fields where PyYAML is installed, else lines like others."""
    with entry.open() as stream:
        found = lines(stream)
        head = list(itertools.islice(found, 1))
        if head and head[0][1].rstrip() == "---":
            for number, text in itertools.islice(found, _LIMIT):
                head.append((number, text))
                if text.rstrip() in ("---", "..."):
                    fields = _fields(head)
                    if fields is not None:
                        yield Item(Place(entry.path, record=1), "record", fields)
                        head.clear()
                    break
        for number, text in itertools.chain(head, found):
            yield Item(Place(entry.path, record=number), "record", text)


def _fields(head: list[tuple[int, str]]) -> object:
    """The object that the lines between two rules spell, if they do."""
    if not yamltext.is_available():
        return None
    found = list(yamltext.documents("\n".join(text for _, text in head[1:-1])))
    return found[0] if len(found) == 1 and isinstance(found[0], dict) else None
