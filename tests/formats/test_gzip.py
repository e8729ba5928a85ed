"""gzip: the content is a file of its own; what the header says is judged too; bombs and cuts are no verdict."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest

from leakscan import walk
from leakscan.discover import members
from leakscan.model import Entry, Item, Unreadable

READERS = members("formats")
FORMAT = READERS["gzip"]
RECORD = b'{"id": 1}\n'


def entry(data: bytes, path: str = "p.jsonl.gz") -> Entry:
    return Entry(path, Path(path), len(data), data)


def packed(data: bytes, name: str = "") -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(name, "wb", fileobj=out, mtime=0) as stream:
        stream.write(data)
    return out.getvalue()


def walked(data: bytes, path: str = "p.jsonl.gz") -> list[Any]:
    found = walk.items([entry(data, path)], READERS, lambda path: False)
    return [(one.kind, one.place.path) if isinstance(one, Item) else one for one in found]


@pytest.mark.parametrize(
    ("path", "inner"),
    [
        ("a/p.jsonl.gz", "p.jsonl"),
        ("p.csv.GZ", "p.csv"),
        ("x.tgz", "x.tar"),
        ("p.bin", "content"),
        (".gz", "content"),
        ("x.gz!y.csv.gz", "y.csv"),
    ],
)
def test_content_is_a_member(path: str, inner: str) -> None:
    member = Entry(f"{path}!{inner}", Path(path), 10, RECORD, 1)
    assert list(FORMAT.read(entry(packed(RECORD), path))) == [member]


def test_content_is_judged_whatever_it_is_called() -> None:
    assert walked(packed(RECORD)) == [
        ("file", "p.jsonl.gz"),
        ("file", "p.jsonl.gz!p.jsonl"),
        ("record", "p.jsonl.gz!p.jsonl"),
    ]
    assert walked(packed(packed(RECORD)), "p.gz.gz")[-1] == ("record", "p.gz.gz!p.gz!p")
    assert walked(packed(RECORD) * 2)[-2:] == [("record", "p.jsonl.gz!p.jsonl")] * 2


def test_name_and_comment_of_the_header_are_judged() -> None:
    named = packed(RECORD, "Crooked Teaspoons.jsonl")
    assert ("file", "p.jsonl.gz!Crooked Teaspoons.jsonl") in walked(named)
    assert walked(packed(RECORD, "p.jsonl")) == walked(packed(RECORD))
    flags = bytes([31, 139, 8, 4 | 8 | 16, *[0] * 6, 3, 0, *b"abc", *b"../x/p.jsonl\0", *b"Crooked\xe4\0"])
    (comment, content) = FORMAT.read(entry(flags + packed(RECORD)[10:]))
    assert (comment.kind, comment.place.path, comment.body) == ("record", "p.jsonl.gz!comment", {"comment": "Crookedä"})
    assert content.data == RECORD


def test_bombs_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FORMAT, "LIMIT", 100)
    list(FORMAT.read(entry(packed(b"x" * 100))))
    with pytest.raises(Unreadable, match=r"^p\.jsonl\.gz: expands to more than 100 bytes; unpack it$"):
        list(FORMAT.read(entry(packed(b"x" * 101))))
    monkeypatch.setattr(FORMAT, "LIMIT", 1000)
    data = RECORD
    for _ in range(8):
        data = packed(data)
    assert walked(data, "p.gz")[-1].reason == "nested more than 4 containers deep"


def test_cut_or_damaged_data_is_no_verdict() -> None:
    data = packed(RECORD * 50, "name")
    damaged = data[:20] + bytes([data[20] ^ 255]) + data[21:]
    for bad in [
        *(data[:end] for end in range(3, len(data))),
        damaged,
        data + b"more",
        b"\x1f\x8b\x08\x08" + b"x" * 99_999,
    ]:
        with pytest.raises(
            Unreadable, match=r"^p\.jsonl\.gz: damaged or cut gzip data; replace it by a complete copy$"
        ):
            list(FORMAT.read(entry(bad)))
