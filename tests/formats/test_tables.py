"""Parquet and Arrow: every cell is a value or a file, and metadata that lists more than the table has is a finding."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from leakscan import rulebook, tables, walk
from leakscan.config import Config
from leakscan.discover import members
from leakscan.model import Entry, Item, Private, Release, Report, Unreadable
from leakscan.scanning import Options, judge

READERS = members("formats")
WAV = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\x08\0\0\0" + b"\1\2" * 4 \
    + b"LIST\x1a\0\0\0INFOINAM\x0e\0\0\0Two Herons Up\0"  # fmt: skip
WAV = WAV[:4] + (len(WAV) - 8).to_bytes(4, "little") + WAV[8:]


def parquet(table: Any, **more: Any) -> Entry:
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, **more)
    return entry(out.getvalue(), "p.parquet")


def arrow_file(table: Any, new: Callable[..., Any] = pyarrow.ipc.new_file) -> Entry:
    out = io.BytesIO()
    with new(out, table.schema) as writer:
        writer.write_table(table)
    return entry(out.getvalue(), "p.arrow")


def arrow_stream(table: Any) -> Entry:
    return arrow_file(table, pyarrow.ipc.new_stream)


every_way = pytest.mark.parametrize("write", [parquet, arrow_file, arrow_stream])


def entry(data: bytes, path: str) -> Entry:
    return Entry(path, Path(path), len(data), data)


def read(given: Entry) -> list[Item | Entry]:
    reader = walk.choose(given, (given.data or b"")[: walk.HEAD_BYTES], READERS)
    assert reader in (READERS["parquet"], READERS["arrow"])
    return list(reader.read(given))


def bodies(given: Entry) -> list[Any]:
    return [one.body for one in read(given) if isinstance(one, Item) and "!" not in one.place.path]


def report(given: Entry) -> Report:
    stream = walk.items([given], READERS, lambda path: False)
    return judge(stream, Release(Path("/nonexistent")), Config(), Private(), rulebook.load(), Options())


@every_way
def test_cells_are_values(write: Callable[[Any], Entry]) -> None:
    table = pyarrow.table(
        {
            "text": ["a", None],
            "number": pyarrow.array([1, 2], pyarrow.int8()),
            "nested": [{"a": [{"b": 1.5}]}, {"a": []}],
            "map": pyarrow.array([[("k", "v")], []], pyarrow.map_(pyarrow.string(), pyarrow.string())),
            "time": pyarrow.array([1, 1_500_000_001], pyarrow.timestamp("ns")),
            "length": pyarrow.array([1, 2], pyarrow.duration("s")),
            "price": pyarrow.array([Decimal("1.10"), None]),
            "kind": pyarrow.array(["x", "y"]).dictionary_encode(),
            "digest": [b"\0\xff" * 8, b"text"],
        }
    )
    assert bodies(write(table)) == [
        {
            "text": "a", "number": 1, "nested": {"a": [{"b": 1.5}]}, "map": [["k", "v"]],
            "time": "1970-01-01 00:00:00.000000001", "length": "1", "price": "1.10", "kind": "x", "digest": "00ff" * 8,
        },
        {
            "text": None, "number": 2, "nested": {"a": []}, "map": [], "time": "1970-01-01 00:00:01.500000001",
            "length": "2", "price": None, "kind": "y", "digest": "text",
        },
    ]  # fmt: skip


@every_way
def test_columns_of_one_name_do_not_hide_each_other(write: Callable[[Any], Entry]) -> None:
    table = pyarrow.Table.from_arrays([pyarrow.array(["x"]), pyarrow.array(["y"])], ["a", "a"])
    assert bodies(write(table)) == [{"a": "x", "a (column 2)": "y"}]


@every_way
def test_audio_in_a_cell_is_judged_as_audio(write: Callable[[Any], Entry]) -> None:
    table = pyarrow.table(
        {
            "id": ["1", "2"],
            "audio": [None, {"bytes": WAV, "path": "/home/me/Two Herons.wav"}],
            "a b": [None, [WAV]],
            "uri": ["", "data:audio/wav;base64,UklGRg=="],
        }
    )
    given = write(table)
    members = [(one.path, one.data) for one in read(given) if isinstance(one, Entry)]
    path = given.path
    assert members == [
        (f"{path}!audio[2].bytes", WAV), (f"{path}!['a b'][2][0]", WAV), (f"{path}!2.uri", b"RIFF")
    ]  # fmt: skip
    assert bodies(given)[1]["audio"] == {"bytes": None, "path": "/home/me/Two Herons.wav"}
    result = report(given)
    assert result.examined.audio == 2
    tags = [finding for finding in result.findings if finding.rule == "identifying-tag"]
    assert {place.path for finding in tags for place in finding.places} == {members[0][0], members[1][0]}


def metadata(given: Entry) -> Any:
    found = [one for one in read(given) if isinstance(one, Item) and one.place.path == f"{given.path}!metadata"]
    return found[0].body if found else None


HUGGING_FACE = json.dumps(
    {
        "info": {"features": {"id": {"dtype": "string"}, "answer": {"names": ["waltz"], "_type": "ClassLabel"}}},
        "fingerprint": "557f11f5f8c72ffa",
    }
)
PANDAS = json.dumps({"columns": [{"name": "title", "field_name": "title"}, {"name": None, "field_name": "id"}, 3]})


@every_way
def test_dropped_column_is_found_in_the_metadata(write: Callable[[Any], Entry]) -> None:
    table = pyarrow.table({"id": ["1"]}).replace_schema_metadata({"huggingface": HUGGING_FACE, "pandas": PANDAS})
    given = write(table)
    body = metadata(given)
    assert body["dropped columns"] == ["answer", "title"]
    assert body["huggingface"]["info"]["features"][1] == {
        "column": "answer", "feature": {"names": ["waltz"], "_type": "ClassLabel"}
    }  # fmt: skip
    result = report(given)
    assert [(one.rule, one.level, one.count, one.place.path) for one in result.findings] == [
        ("dropped-column", "warning", 1, f"{given.path}!metadata")
    ]
    assert result.unexamined == ()


@every_way
def test_metadata_that_lists_what_is_there_is_none(write: Callable[[Any], Entry]) -> None:
    features = {"huggingface": '{"info": {"features": {"id": {"dtype": "string"}}}}', "note": "text"}
    field = pyarrow.field("id", pyarrow.string(), metadata={"about": "the ID"})
    table = pyarrow.Table.from_arrays([pyarrow.array(["1"])], schema=pyarrow.schema([field], features))
    given = write(table)
    body = metadata(given)
    assert (body["note"], body["fields"]) == ("text", {"id": {"about": "the ID"}})
    assert "dropped columns" not in body
    assert report(given).findings == ()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"info": 3}', '{"info": {"features": []}}', '{"columns": 3}', "\x00"])
def test_metadata_of_any_kind_is_read(text: str) -> None:
    table = pyarrow.table({"id": ["1"]}).replace_schema_metadata(
        {"huggingface": text, "pandas": text, "ARROW:schema": text}
    )
    assert "dropped columns" not in metadata(arrow_file(table))


def test_large_cells_are_turned_into_records_few_at_a_time() -> None:
    assert tables.rows_at_a_time(100, 10) == tables.ROWS
    assert tables.rows_at_a_time(1 << 30, 200) == 3
    assert tables.rows_at_a_time(1 << 40, 2) == 1
    assert tables.rows_at_a_time(0, 0) == 1


@every_way
def test_many_rows_keep_their_numbers(write: Callable[[Any], Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROWS", 7)
    found = read(write(pyarrow.table({"n": list(range(50))})))
    assert [
        (one.place.record, one.body["n"]) for one in found if isinstance(one, Item) and "!" not in one.place.path
    ] == [(number + 1, number) for number in range(50)]


@every_way
def test_table_without_rows_is_unreadable(write: Callable[[Any], Entry]) -> None:
    with pytest.raises(Unreadable, match="holds no records"):
        read(write(pyarrow.table({"a": pyarrow.array([], pyarrow.string())})))


def test_stream_without_its_end_is_cut() -> None:
    given = arrow_stream(pyarrow.table({"a": ["1"]}))
    assert given.data is not None
    with pytest.raises(Unreadable, match=r"^p\.arrow: cut: no end mark; replace it by a complete copy$"):
        read(entry(given.data[:-8], "p.arrow"))


def test_files_are_read_from_disk(tmp_path: Path) -> None:
    for given in (parquet(pyarrow.table({"a": ["1"]})), arrow_file(pyarrow.table({"a": ["1"]}))):
        file = tmp_path / given.path
        file.write_bytes(given.data or b"")
        reader = READERS["parquet" if given.path.endswith("parquet") else "arrow"]
        assert [one.body for one in reader.read(Entry(given.path, file, given.size))][-1] == {"a": "1"}


@pytest.mark.parametrize(("path", "what"), [("p.parquet", "Parquet"), ("p.arrow", "Arrow")])
def test_without_the_extra_the_user_is_told_what_to_install(
    path: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"p.parquet": parquet, "p.arrow": arrow_file}[path](pyarrow.table({"a": ["1"]}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Unreadable) as error:
        read(given)
    assert str(error.value) == f"{path}: {what} needs pyarrow; pip install 'leakscan-audio[parquet]'"


@pytest.mark.parametrize(
    "head",
    [b"", b"PARE", b"\xff" * 12, b"\xff\xff\xff\xff\0\0\0\0", b"ARROW", b"\xff" * 4 + b"\x10\0\0\0" + b"\xff" * 9],
)
def test_other_content_is_not_claimed(head: bytes) -> None:
    assert not READERS["parquet"].sniff(head)
    assert not READERS["arrow"].sniff(head)
