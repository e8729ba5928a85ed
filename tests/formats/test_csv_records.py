"""CSV and TSV records: no cell hides another, and a first line that is a row is not taken for names."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan.discover import members
from leakscan.model import Entry, Item, Malformed, Place, Unreadable

FORMAT = members("formats")["csv"]


def entry(data: bytes | str, path: str = "p.csv") -> Entry:
    data = data.encode() if isinstance(data, str) else data
    return Entry(path, Path(path), len(data), data)


def bodies(data: bytes | str, path: str = "p.csv") -> list[Any]:
    items = list(FORMAT.read(entry(data, path)))
    assert [item.place for item in items] == [Place(path, number) for number in range(1, len(items) + 1)]
    return [item.body for item in items]


@pytest.mark.parametrize(
    ("data", "path", "expected"),
    [
        ("id,a\n1,x\n2,y\n", "p.csv", [{"id": "1", "a": "x"}, {"id": "2", "a": "y"}]),
        ("\ufeffid,a\r\n1,x\r\n", "p.csv", [{"id": "1", "a": "x"}]),
        ("id;a\n1;x,y\n", "p.csv", [{"id": "1", "a": "x,y"}]),
        ("id\ta\n1\tx\n", "p.csv", [{"id": "1", "a": "x"}]),
        ("id,b\ta\n1,2\tx\n", "p.tsv", [{"id,b": "1,2", "a": "x"}]),
        ('id,a\n1,"x\ny ""z"""\n', "p.csv", [{"id": "1", "a": 'x\ny "z"'}]),
        ("\n\nid,a\n\n1,x\n\n", "p.csv", [{"id": "1", "a": "x"}]),
        ("id,a\n1\n2,x,y,z\n", "p.csv", [{"id": "1"}, {"id": "2", "a": "x", "column 3": "y", "column 4": "z"}]),
        ("id\n1\n", "p.csv", [{"id": "1"}]),
        (",a\n0,x\n", "p.csv", [{"column 1": "0", "a": "x"}]),
        ("a,a,b\n1,2,3\n", "p.csv", [{"a": "1", "a 2": "2", "b": "3"}]),
        ("column 2,column 2\n1,2\n", "p.csv", [{"column 2": "1", "column 2 2": "2"}]),
        ("# release 1\nid,a\n1,x\n", "p.csv", [{"column 1": "# release 1"}, {"id": "1", "a": "x"}]),
        ("sep=;\nid;a\n1;x\n", "p.csv", [{"column 1": "sep=", "column 2": ""}, {"id": "1", "a": "x"}]),
        (
            "The answers,,\nid,a,b\nq,x,y\n",
            "p.csv",
            [{"column 1": "The answers", "column 2": "", "column 3": ""}, {"id": "q", "a": "x", "b": "y"}],
        ),
        ("Just one\nline of two\n", "p.csv", [{"Just one": "line of two"}]),
        ("id,column 3\n1,2,3\n", "p.csv", [{"id": "1", "column 3": "2", "column 4": "3"}]),
        ("a\0b,c\n1,2\n", "p.csv", [{"a\0b": "1", "c": "2"}]),
        ("id,a\n1," + "x" * 200_000 + "\n", "p.csv", [{"id": "1", "a": "x" * 200_000}]),
    ],
)
def test_rows(data: str, path: str, expected: list[Any]) -> None:
    assert bodies(data, path) == expected


@pytest.mark.parametrize(
    "first",
    [
        "MUB-00001,Two Herons", "x,audio/a b.mp3", "a.WAV,b", "Two Herons,97.5", "Two Herons,120", "x,3:05",
        "x,0123456789abcdef", "x, -0.5 ",
    ],
)  # fmt: skip
def test_first_line_that_is_a_row_is_judged_and_names_nothing(first: str) -> None:
    one, two = first.split(",")
    assert bodies(f"{first}\nx,y,z\n") == [
        {"column 1": one, "column 2": two},
        {"column 1": "x", "column 2": "y", "column 3": "z"},
    ]


@pytest.mark.parametrize(
    "header", ["id,1,2,3", "meta.title,x", "audio/path,x", "top100,x", "Answer?,x", "BPM 120,x", "a,b c"]
)
def test_header_is_not_taken_for_a_row(header: str) -> None:
    assert list(bodies(header + "\n" + "x," * header.count(",") + "x\n")[0]) == header.split(",")


@pytest.mark.parametrize(
    "rows",
    [
        ["000046_3840", "000135_483840", "000139_119040"],  # keys of a split, without a header
        ["blues,1", "rock,2", "jazz,3"],
        ["a b,track 1", "c,track 22", "d,track 3,x"],
    ],
)
def test_first_line_that_looks_like_the_lines_below_is_a_row(rows: list[str]) -> None:
    assert [list(body.values()) for body in bodies("\n".join(rows))] == [row.split(",") for row in rows]


@pytest.mark.parametrize(
    "rows",
    [
        ["0,1,2", "5,7,9", "4,4,8"],  # columns that are just numbered
        ["1,2", "1,2", "3,4"],
        ["option 1,option 2", "guitar,harp", "drum,flute"],
        ["take 1", "take 2"],  # one row shows nothing
        ["blues", "rock", "jazz"],  # nothing to tell by; the name of a column is judged too
        ["top100", "top100", "99"],
    ],
)
def test_first_line_that_could_be_a_header_is_one(rows: list[str]) -> None:
    assert [list(body) for body in bodies("\n".join(rows))] == [rows[0].split(",")] * (len(rows) - 1)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('id,a\n1,x\n2,"y\n3,z\n', [{"id": "1", "a": "x"}, (3, 9), {"id": "3", "a": "z"}]),
        ('id,a\n1,"x" y\n3,z\n', [(2, 5), {"id": "3", "a": "z"}]),
        ('\ufeffid,a\r\n1,"ä\n"\r\n2,"x"y\r\n3,z', [{"id": "1", "a": "ä\n"}, (4, 18), {"id": "3", "a": "z"}]),
        ('"id,a\n1,x\n', [(1, 0), {"column 1": "1", "column 2": "x"}]),
        ('id,a\n1,"x\n2,"y\n3,"z\n4,w', [(2, 5), (3, 10), (4, 15), {"id": "4", "a": "w"}]),
    ],
)
def test_broken_row_says_where_and_leaves_the_others(data: str, expected: list[Any]) -> None:
    def malformed(line: int, offset: int) -> Malformed:
        return Malformed(f"not CSV (line {line}: a quote is open or misplaced)", offset)

    assert bodies(data) == [malformed(*row) if isinstance(row, tuple) else row for row in expected]


def test_bytes_that_are_no_text() -> None:
    assert bodies(b"id,a\n1,x\n2,\xff\n3,z\n") == [
        {"id": "1", "a": "x"}, Malformed("not UTF-8", 11), {"id": "3", "a": "z"}
    ]  # fmt: skip


def test_rows_that_are_no_text_leave_the_file_one_of_rows() -> None:
    assert FORMAT.sniff(b"id,a\n1,\xff\n2,\0\n")
    assert not FORMAT.sniff("id,a\n".encode("utf-16-le"))
    assert not FORMAT.sniff(b" \n")


def test_row_that_is_too_large_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FORMAT, "_LIMIT", 20)
    found = bodies('id,a\n1,"' + "x\n" * 20 + '"\n2,y\n')
    assert found[0] == Malformed("not CSV (line 2: a quote is open or misplaced)", 5)
    assert found[-1] == {"id": "2", "a": "y"}


@pytest.mark.parametrize("data", ["id,a\n", "\n\n", "\ufeffid,a"])
def test_file_without_rows_is_unreadable(data: str) -> None:
    with pytest.raises(Unreadable, match=r"^p\.csv: holds no records$"):
        bodies(data)


@pytest.mark.parametrize(
    ("head", "known"),
    [(b"a,b", True), (b"", False), (b"  \n", False), (b"a\0b", False), (b"\xff", True), ("é".encode()[:1], True)],
)
def test_sniff_is_about_binary_data(head: bytes, known: bool) -> None:
    assert FORMAT.sniff(head) is known


# --- writing ---------------------------------------------------------------------------------------------------------


def again(data: str, path: str = "p.csv") -> str:
    out = io.BytesIO()
    like = entry(data, path)
    FORMAT.write(FORMAT.read(like), out, like)
    return out.getvalue().decode()


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("id,a\n1,x\n", "p.csv"),
        ("id;a\r\n1;x\r\n", "p.csv"),
        ("id\ta\n1\tx,y\n", "p.tsv"),
        ('id,a\n1,"x, ""y""\nz"\n', "p.csv"),
        ("id,a,b\n1\n2,x\n3,x,y\n", "p.csv"),
        ("MUB-00001,x\nMUB-00002,y\n", "p.csv"),
        ("id,a\n,\n", "p.csv"),
    ],
)
def test_layout_is_kept(data: str, path: str) -> None:
    assert again(data, path) == data


def test_rows_that_are_longer_than_the_first_are_written() -> None:
    assert bodies(again("id,a\n1\n2,x,y\n")) == [{"id": "1"}, {"id": "2", "a": "x", "column 3": "y"}]


def test_carriage_return_within_a_cell_stays_there() -> None:
    assert again('id,a\n1,"x\ry"\n2,z\n') == 'id,a\n"1","x\ry"\n2,z\n'
    assert again('"i\rd",a\n1,x\n') == '"i\rd","a"\n1,x\n'


def test_only_the_fields_of_the_items_are_written() -> None:
    out = io.BytesIO()
    like = entry("id,secret,a\n1,x,2\n")
    FORMAT.write([Item(Place("p.csv", 1), "record", {"id": "1", "a": "2"})], out, like)
    assert out.getvalue() == b"id,a\n1,2\n"


CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=1, max_size=4))
def test_what_is_written_is_read_again(rows: list[list[str]]) -> None:
    names = ["id", "a", "b", "c"]
    records = [dict(zip(names, row, strict=False)) for row in rows]
    out = io.BytesIO()
    like = entry("id,a,b,c\n")
    FORMAT.write((Item(Place("p.csv", 1), "record", record) for record in records), out, like)
    assert bodies(out.getvalue()) == records
