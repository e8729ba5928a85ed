"""Names for audio files that tell nothing: a number from a keyed permutation, or the ID that the record states anyway.

The order of the files says something, too (an album's tracks stand together), so the numbers are dealt in the order of
a keyed hash: with the evaluator's secret every run deals them alike, and nobody else can deal them again.
"""

from __future__ import annotations

import hmac
import os
import posixpath
from collections.abc import Mapping

from leakscan.config import compile_pattern, is_segment

FOLDER = "audio"


def suffix(path: str) -> str:
    """What the name ends with, dot included, in lower case."""
    return posixpath.splitext(path)[1].lower()


def numbered(endings: Mapping[str, str], key: bytes) -> dict[str, str]:
    """A new name for each path, given what it is to end with, in an order that only who has `key` can work out."""
    order = sorted(endings, key=lambda path: hmac.digest(key, os.fsencode(path), "sha256"))
    width = max(5, len(str(len(order))))
    return {path: f"{FOLDER}/{number:0{width}d}{endings[path]}" for number, path in enumerate(order, 1)}


def by_id(record_id: str | None, ending: str, pattern: str | None, folder: str = FOLDER) -> str | None:
    """A name in `folder` made of the record's ID, if the declared `pattern` of the field allows it."""
    if record_id is None or pattern is None or not is_segment(str(record_id)):
        return None
    name = posixpath.join(folder, f"{record_id}{ending}")
    return name if compile_pattern(pattern, name).fullmatch(name) else None
