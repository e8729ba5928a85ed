"""Text for people: a record a line, annotations with fields, and the YAML at the head of a dataset card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakscan import yamltext
from leakscan.discover import members
from leakscan.model import Entry

READERS = members("formats")


def read(data: bytes | str, path: str) -> list[tuple[int | None, Any]]:
    """Line numbers and bodies."""
    data = data.encode() if isinstance(data, str) else data
    reader = READERS["markdown" if path.endswith(".md") else "text"]
    assert reader.sniff(data)
    return [(item.place.record, item.body) for item in reader.read(Entry(path, Path(path), len(data), data))]


def test_lines_keep_their_numbers_and_any_encoding_is_read() -> None:
    assert read("\ufeffa\r\n\n \nb c", "p.txt") == [(1, "a"), (4, "b c")]
    assert read(b"a\n\xe4 b\n\xc3\xb6\n", "p.txt") == [(1, "a"), (2, "ä b"), (3, "ö")]


def test_long_line_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leakscan.prose.LONGEST", 4)
    assert read("abcdef\ng\n", "p.txt") == [(1, "abcd"), (1, "ef"), (2, "g")]


@pytest.mark.parametrize(
    ("data", "path", "expected"),
    [
        ("0.0\t1.25\tC:maj\n1.25\t2.5\tN\n", "p.lab", [("0.0", "1.25", "C:maj"), ("1.25", "2.5", "N")]),
        ("0 3700000 sil\n3700000 5000000 a b\n", "p.lab", [("0", "3700000", "sil"), ("3700000", "5000000", "a b")]),
        ("# beats\n0.52\n1.04\n", "p.txt", ["# beats", ("0.52", None, None), ("1.04", None, None)]),
        (
            "".join(f"{row / 2} {row}\n" for row in range(20)) + "end\n",
            "p.txt",
            [*((f"{row / 2}", f"{row}", None) for row in range(20)), "end"],
        ),
        ("0.5,verse\n9.25,chorus 1\n", "p.txt", [("0.5", None, "verse"), ("9.25", None, "chorus 1")]),
    ],
)
def test_annotations_have_fields(data: str, path: str, expected: list[Any]) -> None:
    rows = [
        {key: value for key, value in zip(("time", "end", "label"), row, strict=True) if value}
        if isinstance(row, tuple)
        else row
        for row in expected
    ]
    assert [body for _, body in read(data, path)] == rows


@pytest.mark.parametrize(
    "data",
    [
        "1 What is it?\n2 And this?\n",
        "100234\n100240\n",
        "3.5 stars\n1.0 star\n",
        "0.5 a\nb\n",
        "1.0\n",
        "[00:12.00] la la\n",
    ],
)
def test_other_text_is_no_annotation(data: str) -> None:
    assert [body for _, body in read(data, "p.txt")] == data.splitlines()


CARD = "---\nlicense: mit\nfeatures:\n- name: answer\n---\n# Title\n\ntext\n"


def test_head_of_a_card_is_a_record() -> None:
    fields = {"license": "mit", "features": [{"name": "answer"}]}
    assert read(CARD, "README.md") == [(1, fields), (6, "# Title"), (8, "text")]


@pytest.mark.parametrize(
    "data",
    [
        "---\na: [\n---\ntext\n",
        "---\nno end\n",
        "---\njust text\n---\n",
        "---\na: 1\na: 2\n---\n",
        "text\n---\na: 1\n---\n",
    ],
)
def test_head_that_is_none_is_lines(data: str) -> None:
    assert read(data, "README.md") == list(enumerate(data.splitlines(), 1))


def test_head_is_lines_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yamltext, "is_available", lambda: False)
    lines = [(number, line) for number, line in enumerate(CARD.splitlines(), 1) if line]
    assert read(CARD, "README.md") == lines


@pytest.mark.parametrize("name", ["text", "markdown"])
@pytest.mark.parametrize("head", [b"", b" \n", b"a\0b", "a".encode("utf-16")])
def test_what_is_no_text_is_not_claimed(name: str, head: bytes) -> None:
    assert not READERS[name].sniff(head)
