"""HTTP archives: every body that was sent is an entry, all the rest one record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leakscan.formats import har
from leakscan.model import Entry, Item, Unreadable


def read(document: Any) -> list[Item | Entry]:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return list(har.read(Entry("x.har", Path("x.har"), len(data), data)))


def archive(*posts: Any) -> Any:
    return {"log": {"entries": [{"request": {"url": "u", **({"postData": post} if post else {})}} for post in posts]}}


def test_bodies_are_entries_and_the_rest_is_a_record() -> None:
    form = {"params": [{"name": "prompt", "value": "Which metre?"}]}
    rest, *bodies = read(archive({"text": '{"a": 1}'}, None, {"text": "plain"}, form))
    assert isinstance(rest, Item)
    assert rest.body == archive(None, None, None, None)
    assert [(body.path, body.data, body.depth) for body in bodies if isinstance(body, Entry)] == [
        ("x.har!1.json", b'{"a": 1}', 1),
        ("x.har!3.txt", b"plain", 1),
        ("x.har!4.json", b'{"prompt": "Which metre?"}', 1),
    ]


@pytest.mark.parametrize("key", ["encoding", "_encoding"])
def test_bodies_in_base64_are_what_they_stand_for(key: str) -> None:
    _, body = read(archive({"text": "eyJhIjogMX0=", key: "base64"}))
    assert isinstance(body, Entry)
    assert (body.path, body.data) == ("x.har!1.json", b'{"a": 1}')


@pytest.mark.parametrize(
    "document",
    [
        b"{",
        b"[]",
        b"\xff",
        {},
        {"log": 1},
        {"log": {"entries": 1}},
        {"log": {"entries": [1]}},
        archive(None),
        archive({"text": "e-1", "encoding": "base64"}),
        archive({"encoding": "base64"}),
        archive(),
    ],
)
def test_what_holds_no_request_is_unreadable(document: Any) -> None:
    with pytest.raises(Unreadable, match=r"^x\.har: (not an HTTP archive in full|holds no request with a body)"):
        read(document)


def test_archive_is_known_by_its_beginning() -> None:
    assert har.sniff(b'\xef\xbb\xbf {\n "log": {')
    assert not har.sniff(b'{"id": 1}')
