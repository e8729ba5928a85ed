"""YAML records: a list, records by ID, a wrapper or one record, and that for every document of a file.

Scalars are text.  Comments on lines of their own are one more record: what is commented out is published all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leakscan import layouts, yamltext
from leakscan.embedded import LONG, files_in
from leakscan.model import Entry, Item, Malformed, Place, Unreadable
from leakscan.prose import is_text

NAMES = (".yaml", ".yml")
BY_NAME = True  # prose is valid YAML
LIMIT = 16 << 20
"""Bytes of a file; it is held in memory."""


def sniff(head: bytes) -> bool:
    """Whether the content is text."""
    return is_text(head)


def read(entry: Entry) -> Iterator[Item | Entry]:
    """The records of a file, what cannot be parsed as `Malformed`, and the files within their values.

    Raises `Unreadable`, also where PyYAML is not installed.
    """
    if not yamltext.is_available():
        raise Unreadable(f"{entry.path}: YAML needs PyYAML; pip install 'leakscan-audio[yaml]'")
    with entry.open() as stream:
        data = stream.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise Unreadable(f"{entry.path}: larger than {LIMIT:,} bytes; write JSON Lines")
    number = 0
    for number, body in enumerate(_records(data), 1):
        yield Item(Place(entry.path, record=number), "record", body)
        if len(data) >= LONG or b"data:" in data:
            yield from files_in(entry, number, body)
    if not number:
        raise Unreadable(f"{entry.path}: holds no records")


def _records(data: bytes) -> Iterator[Any]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Malformed("not UTF-8", error.start)
        return
    for document in yamltext.documents(text):
        if isinstance(document, Malformed):
            yield document
        elif document not in ("", [], {}):
            yield from layouts.records(document)
    comments = [line.strip("# \t") for line in text.splitlines() if line.lstrip().startswith("#")]
    if any(comments):
        yield {"(comments)": comments}
