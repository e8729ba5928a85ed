"""What a multiple-choice record offers: its options, wherever benchmarks keep them.

A list under `choices`, `options` and the like, of texts or of objects that hold one; such a list as JSON text; an
object that maps letters to texts; or one column for each letter.  Only at the top: a `choices` inside a rubric is
something else.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from leakscan.model import path_keys

LISTS = ("choices", "options", "answer_choices", "answer_options", "answers", "candidates")
TEXTS = ("text", "value", "content", "option", "choice", "label")

_COLUMN = re.compile(r"(?:(?:choice|option|answer)[_ ]?)?([a-j]|\d)", re.IGNORECASE)


def options_of(body: Any) -> tuple[str, Sequence[str]] | None:
    """The JSON path of a record's options and their texts; None when it offers fewer than two."""
    if not isinstance(body, dict):
        return None
    keys = _option_keys(tuple(body))
    if not keys:
        return None
    if len(keys) > 1:
        texts = [body[key] for key in keys]
        return (f"$.{keys[0]}", texts) if all(isinstance(text, str) and text for text in texts) else None
    value, name = body[keys[0]], f"$.{keys[0]}"
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list):
        return None
    found = [text for option in value if (text := _text(option)) is not None]
    return (f"{name}[]", found) if len(found) == len(value) > 1 else None


def may_offer(name: str) -> bool:
    """Whether a JSON path is that of a key that options may stand under."""
    keys = path_keys(name)
    return len(keys) == 1 and "[" not in name and bool(keys[0].lower() in LISTS or _COLUMN.fullmatch(keys[0]))


@functools.lru_cache(maxsize=1 << 10)
def _option_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Which keys of a record hold its options: one list, or a column for each option from the first letter on."""
    for name in LISTS:
        for key in keys:
            if key.lower() == name:
                return (key,)
    columns: dict[str, dict[str, str]] = {}
    for key in keys:
        if match := _COLUMN.fullmatch(key):
            columns.setdefault(key[: match.start(1)].lower(), {})[match[1].lower()] = key
    for found in columns.values():
        for letters in ("abcdefghij", "0123456789", "123456789"):
            run = [found[letter] for letter in letters if letter in found]
            if len(run) > 1 and len(run) == len(found) and letters[: len(run)] == "".join(found):
                return tuple(run)
    return ()


def _text(option: Any) -> str | None:
    if isinstance(option, str):
        return option
    if isinstance(option, int | float) and not isinstance(option, bool):
        return str(option)
    if isinstance(option, Mapping):
        return next((option[key] for key in TEXTS if isinstance(option.get(key), str)), None)
    return None
