"""JSON records: JSON Lines, an array, records by ID or path, a wrapper such as {"data": [...]}, concatenated values.

Arrays and wrappers are read piece by piece.  Where something is broken, the rest is still read.  JAMS is JSON (Humphrey
et al. 2014, "JAMS: a JSON annotated music specification"): every annotation is a record, the file's metadata another.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from leakscan.embedded import LONG, files_in
from leakscan.jsontext import JsonText
from leakscan.layouts import Layout, layout, stands_alone, with_key
from leakscan.model import Beside, Entry, Item, Malformed, Place, Unreadable

NAMES = (".json", ".jsonl", ".ndjson", ".jams")
_LINES = (".jsonl", ".ndjson")
_BOM = b"\xef\xbb\xbf"
_BLANK = " \t\r\n"
_LIMIT = 64 << 20  # bytes of one record; parsed it takes some ten times as much
_FIRST = 1 << 20  # bytes of a first line that is looked at
_ARRAY = re.compile(
    rb"\[[\[\s]*(?:[\]{\"]|(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity)\s*[,\]]|\Z)"
)


def sniff(head: bytes) -> bool:
    """Whether the content starts like a JSON object or array in UTF-8, and not like `[metadata]` or `[a link](...)`."""
    start = head.removeprefix(_BOM).lstrip(b" \t\r\n")
    return (start[:1] == b"{" or _ARRAY.match(start) is not None) and b"\0" not in start.partition(b"\n")[0]


def read(entry: Entry) -> Iterator[Item | Entry]:
    """The records of a file, each one that cannot be parsed as `Malformed`, and the files within their values.

    Raises `Unreadable`.
    """
    number = 0
    for number, (body, may_hold_files) in enumerate(_lines(entry) if _by_lines(entry) else _documents(entry), 1):
        yield Item(Place(entry.path, record=number), "record", body)
        if may_hold_files:
            yield from files_in(entry, number, body)
    if not number:
        raise Unreadable(f"{entry.path}: holds no records")


def write(items: Iterable[Item], out: BinaryIO, like: Entry) -> None:
    """Write records in the layout of `like`: lines stay lines, a list in an object stays there with what stands beside
    it, anything else becomes one array.

    Raises Unreadable where what is left beside a list would be taken for records, too.
    """
    if _by_lines(like):
        out.writelines(_dump(item.body) + b"\n" for item in items)
        return
    found = _layout_of(like)
    wrapper = next(iter(found.lists)) if found is not None and len(found.lists) == 1 and not found.keyed else None
    beside: dict[str, Any] = {}
    count = 0
    out.write(b"[\n" if wrapper is None else b"{%s: [\n" % _dump(wrapper))
    between = b""
    for item in items:
        if wrapper is not None and isinstance(item.body, Beside):
            beside |= item.body
        else:
            out.write(between + _dump(item.body))
            between = b",\n"
            count += 1
    out.write(b"\n]")
    if wrapper is not None and not stands_alone(wrapper, count, beside):
        raise Unreadable(
            f"{like.path}: what is left beside its list of records would be taken for records, too; declare a plain"
            " value that stands there, or take the rest out"
        )
    out.writelines(b",\n%s: %s" % (_dump(key), _dump(value)) for key, value in beside.items())
    out.write(b"\n" if wrapper is None else b"}\n")


def _dump(body: Any) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate can only be written as an escape
        return json.dumps(body).encode("ascii")


def _by_lines(entry: Entry) -> bool:
    """JSON Lines by name, or by a first line that is a value followed by one that starts another: many are named .json.

    An array all in one line that is long is read piece by piece whatever its name.
    """
    with entry.open() as stream:
        first, second = stream.readline(_FIRST), stream.readline(_FIRST)
    start = first.removeprefix(_BOM).lstrip()
    if entry.path.lower().endswith(_LINES):
        return not (start.startswith(b"[") and len(first) == _FIRST and not first.endswith(b"\n"))
    goes_on = second.strip()[:1] in (b"{", b"[") and len(second.strip()) > 1
    return start[:1] in (b"{", b"[") and goes_on and not isinstance(_parse(first, 0), Malformed)


def _lines(entry: Entry) -> Iterator[tuple[Any, bool]]:
    """The value of every line, and whether it could hold files."""
    offset = 0
    with entry.open() as stream:
        while line := stream.readline(_LIMIT + 1):
            if line.strip(b" \t\r\n\xef\xbb\xbf"):
                yield _parse(line, offset), len(line) >= LONG or b"data:" in line
            offset += len(line)
            while len(line) > _LIMIT and not line.endswith(b"\n"):  # the rest of a line that is too long
                line = stream.readline(_LIMIT + 1) or b"\n"
                offset += len(line)


def _documents(entry: Entry) -> Iterator[tuple[Any, bool]]:
    """The records of the values that stand one after the other, nearly always a single one."""
    found = _layout_of(entry)
    with entry.open() as stream:
        text = _text(stream)
        while sign := text.peek():
            if sign == "[":
                bodies = text.elements()
            elif found is not None and sign == "{":
                bodies = _laid_out(text, found)
            else:
                bodies = iter([text.value()])
            for body in bodies:
                yield body, len(text.raw) >= LONG or "data:" in text.raw


def _text(stream: BinaryIO) -> JsonText:
    return JsonText(stream, _DECODER, _LIMIT)


def _layout_of(entry: Entry) -> Layout | None:
    """How the file's one object holds records; None where it is itself one, or no object, or followed by another."""
    objects = others = 0
    lists: dict[str, int] = {}
    with entry.open() as stream:
        text = _text(stream)
        if text.peek() != "{":
            return None
        for key in text.members():
            if isinstance(key, Malformed):
                continue
            if text.starts_list_of_objects():
                kinds = Counter(isinstance(element, dict | Malformed) for element in text.elements())
                if kinds[False]:
                    others += 1
                else:
                    lists[key] = kinds[True]
            elif text.peek() == "{":
                text.value("}")
                objects += 1
            else:
                text.value("}")
                others += 1
        return None if text.peek() else layout(objects, lists, others)


def _laid_out(text: JsonText, found: Layout) -> Iterator[Any]:
    """The records of the object here: its members or the elements of its lists, and what stands beside these."""
    rest: dict[str, Any] = {}
    for key in text.members():
        if isinstance(key, Malformed):
            yield key
        elif key in found.lists and text.starts_list_of_objects():
            for element in text.elements():
                yield with_key(key, element) if found.keyed else element
        elif isinstance(value := text.value("}"), Malformed) or found.by_key:
            yield with_key(key, value)
        else:
            rest[key] = value
    if rest:
        yield Beside(rest)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) != len(pairs):  # the last would win and hide what the first says
        raise ValueError("an object names the same key twice")
    return body


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)  # made once: that takes longer than to parse a short record


def _parse(data: bytes, offset: int) -> Any:
    """The value in `data`, or why there is none; reasons never quote the data."""
    if len(data) > _LIMIT:
        return Malformed(f"larger than {_LIMIT:,} bytes; write JSON Lines", offset)
    if data.startswith(_BOM):
        return _parse(data[len(_BOM) :], offset + len(_BOM))
    try:
        text = data.decode("utf-8")
        value, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip(_BLANK)))
        return _DECODER.decode(text) if text[end:].strip(_BLANK) else value  # `decode` tells where there is more
    except UnicodeDecodeError as error:
        return Malformed("not UTF-8", offset + error.start)
    except json.JSONDecodeError as error:
        return Malformed(f"not JSON ({error.msg.lower()})", offset + len(error.doc[: error.pos].encode()))
    except RecursionError:
        return Malformed("nested too deeply", offset)
    except ValueError as error:
        known = "key twice" in str(error)
        return Malformed(str(error) if known else "holds a number too long to read", offset)
