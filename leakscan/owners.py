"""Whose record it is: the key of an item in the evaluator's tables, and the recording that it is about."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from leakscan.config import Config, field_path
from leakscan.model import Item, child_name, facts, value_at
from leakscan.text import is_audio_name

_WORDS = re.compile(r"\w(?:[\w.-]*\w)?")

SHORTEST = 4
"""The characters that a key needs to be known anywhere in a record; a shorter one only in a field called `...id`."""


def key_of(item: Item, table: Container[str]) -> str | None:
    """The key of a record or audio file in a table of the evaluator; None when nothing in it is one.

    That is its ID, else the first value that is a key, else the name of the audio that it refers to, else, of a
    line of text, the first word that is one.
    """
    if item.kind != "record":
        own = stem(item.place.path)
        return own if own in table else None
    if item.place.id is not None and item.place.id in table:
        return item.place.id
    for kind, name, value in facts(item):
        if kind == "field" and isinstance(value, str | int):
            text = str(value)
            if text in table and (len(text) >= SHORTEST or name.lower().endswith("id")):
                return text
    words = _WORDS.findall(item.body) if isinstance(item.body, str) else ()
    named = (*map(stem, audio_names(item)), *(word for word in words if len(word) >= SHORTEST))
    return next((own for own in named if own in table), None)


def recording_of(item: Item, config: Config, key: str | None) -> str:
    """What tells recordings apart: the field that the configuration names, else the audio referred to, else the key."""
    records = config.record_set(item.place.path)
    if records is not None and records.recording is not None:
        value = value_at(item.body, field_path(records.recording))
        if value is not None:
            return str(value)
    return next(audio_names(item), key or f"record {item.place.record}")


def audio_names(item: Item) -> Iterator[str]:
    """The names of audio files that a record holds."""
    for kind, _, value in facts(item):
        if kind == "field" and isinstance(value, str) and is_audio_name(value):
            yield value


def stem(path: str) -> str:
    """The name of a file without folders, container and extension."""
    name = path.rpartition("/")[2].rpartition("!")[2]
    return name.rpartition(".")[0] or name


def parent_of(name: str, key: str) -> str:
    """The JSON path of the object that a key is in; the path of the key itself would spell it out."""
    return name.removesuffix(child_name("", key))
