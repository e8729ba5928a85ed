"""Lists and objects that a string spells out: JSON, or what Python prints.  Imports nothing of leakscan.

Benchmarks keep structure in strings: options as JSON in a table's cell, a Python list in a column of a CSV file.  What
stands there in base64, with the escapes of URLs, or as JSON that was written twice over, is opened too: no person reads
it, and any program does.
"""

from __future__ import annotations

import ast
import base64
import json
import math
import re
import urllib.parse
import warnings
from typing import Any

LIMIT = 1 << 20
"""Characters of a string that is looked into as JSON."""

PYTHON_LIMIT = 1 << 16
"""Characters of a string that is looked into as Python, whose parser takes some hundred times as much memory."""

_CONSTANTS = {"nan": math.nan, "inf": math.inf, "null": None, "true": True, "false": False}
"""What else numpy and JSON print within what Python does."""

OPENERS = frozenset('[{ \t\r\neW%"')
"""What a text that spells a list or an object begins with."""

_WRAPPED = re.compile(  # `{` or `[` and what may follow
    r"(?:e[wyz]|W[1-3wyz])[\w+/-]{6,}={0,2}\Z|%[57][Bb]|\"\s*(?:[\[{]|\\+\")", re.ASCII
)
_SHAPE = re.compile(r"\s*(?:\[.*\]|\{.*\})\s*\Z", re.DOTALL)


def opened(text: str) -> list[Any] | dict[str, Any] | None:
    """The list or object that `text` spells out, None where it spells none.

    What a literal says twice is kept: an object that names a key twice comes as a list of objects.  Tuples and sets
    come as lists.  Strings within stay strings, which may be opened in turn.
    """
    if len(text) > LIMIT:
        return None
    if _SHAPE.match(text) is None:
        text = _unwrapped(text) if _WRAPPED.match(text) else ""
        if _SHAPE.match(text) is None:
            return None
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        value = _python(text.strip()) if len(text) <= PYTHON_LIMIT else None
    return value if isinstance(value, list | dict) else None


def _unwrapped(text: str) -> str:
    """What a text in base64, with the escapes of URLs or in quotes stands for; nothing where it stands for no text."""
    if text.startswith("%"):
        return urllib.parse.unquote(text)
    if text.startswith('"'):
        return _unquoted(text)
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode("utf-8")
    except ValueError:
        return ""


def _unquoted(text: str) -> str:
    try:
        while text.startswith('"'):
            text = json.loads(text)
    except ValueError:
        return ""
    return text


def _object(pairs: list[tuple[Any, Any]]) -> Any:
    body = {str(key): value for key, value in pairs}
    return body if len(body) == len(pairs) else [{str(key): value} for key, value in pairs]


def _python(text: str) -> Any:
    try:
        with warnings.catch_warnings():  # of odd escapes: data is no code to be mended
            warnings.simplefilter("ignore")
            return _value(ast.parse(text, mode="eval").body)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> Any:
    """The value of a literal; nothing is run.  Raises ValueError for anything that is none."""
    match node:
        case ast.Constant(bytes(value)):
            return value.decode("latin-1")
        case ast.Constant(str() | int() | float() | None as value):  # int: and bool
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
            return -value
        case ast.List(elements) | ast.Tuple(elements) | ast.Set(elements):
            return [_value(element) for element in elements]
        case ast.Dict(keys, values) if None not in keys:
            return _object([(_value(key), _value(value)) for key, value in zip(keys, values, strict=True) if key])
        case ast.Name(name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Call(ast.Name() | ast.Attribute(), [only, *_], _):  # array([1, 2], dtype=...), OrderedDict([...])
            return _value(only)
        case ast.Call(ast.Name("dict"), [], keywords):
            return _object([(keyword.arg, _value(keyword.value)) for keyword in keywords])
    raise ValueError("not a literal")
