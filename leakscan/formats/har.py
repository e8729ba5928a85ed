"""HTTP archives (HAR): the body of every request becomes an entry, everything else is one record."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from leakscan.model import Entry, Item, Place, Unreadable

NAMES = (".har",)
BY_NAME = True  # the content is ordinary JSON
LIMIT = 256 << 20
"""The largest archive that is read, in bytes."""


def sniff(head: bytes) -> bool:
    """Whether the content starts like a JSON object that holds a log."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and b'"log"' in start


def read(entry: Entry) -> Iterator[Item | Entry]:
    """The archive without the bodies, then the bodies that were sent, numbered as the requests are.

    Raises `Unreadable`.
    """
    with entry.open() as stream:
        data = stream.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise Unreadable(f"{entry.path}: larger than {LIMIT:,} bytes; split it")
    try:
        document = json.loads(data.decode("utf-8-sig"))
        bodies = [_taken(one["request"]) for one in document["log"]["entries"]]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"{entry.path}: not an HTTP archive in full; export it anew") from error
    if not any(bodies):
        raise Unreadable(f"{entry.path}: holds no request with a body")
    yield Item(Place(entry.path, 1), "record", document)
    for number, body in enumerate(bodies, 1):
        if body:
            suffix = "json" if body.lstrip()[:1] in (b"{", b"[") else "txt"
            path = f"{entry.path}!{number}.{suffix}"
            yield Entry(path, entry.file, len(body), body, entry.depth + 1)


def _taken(request: Any) -> bytes:
    """What a request sent, taken out of it; the fields of a form as JSON."""
    sent = request.pop("postData", None) or {}
    if "base64" in (sent.get("encoding"), sent.get("_encoding")):  # as some tools write bodies that are no text
        return base64.b64decode(sent["text"], validate=True)
    text = sent.get("text") or (json.dumps({one["name"]: one.get("value") for one in sent.get("params") or ()}))
    return b"" if text == "{}" else str(text).encode("utf-8", "replace")
