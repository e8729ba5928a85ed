"""What every format of records owes, whoever adds it: the same findings as JSON, no loss on the way back, no traceback.

The formats are discovered.  A format that can be written shows its own layout by writing; for some of those that cannot
`MADE` does, the others have tests of their own.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from leakscan import rulebook, walk
from leakscan.config import Config
from leakscan.discover import members
from leakscan.model import Entry, Example, Item, LeakscanError, Malformed, Place, Private, Release, Unexamined
from leakscan.scanning import Options, judge, try_example

READERS = members("formats")
FORMATS = {name: module for name, module in READERS.items() if not getattr(module, "AUDIO", False)}
RULES = rulebook.load()
RECORDS = [
    {
        "id": f"MUB-{number:05}",
        "audio": f"audio/MUB-{number:05}.mp3",
        "prompt": 'Which, "metre"?\nAnswer: ä',
        "title": f"Crooked Teaspoons {number}",
        "answer": "3/4",
        "note": "",
        "audio_hash": f"{0x9F86D081884C7D65 * (number * 7919 + 1) % 2**64:016x}",
    }
    for number in range(1, 41)
]

WRITABLE = {name: module for name, module in FORMATS.items() if hasattr(module, "write")}


def _parquet(records: list[Any]) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), out)
    return out.getvalue()


def _arrow(new: Callable[..., Any], records: list[Any]) -> bytes:
    out = io.BytesIO()
    table = pyarrow.Table.from_pylist(records)
    with new(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=16)
    return out.getvalue()


MADE: dict[str, Callable[[list[Any]], bytes]] = {
    "p.parquet": _parquet,
    "p.feather": lambda records: _arrow(pyarrow.ipc.new_file, records),
    "p.arrow": lambda records: _arrow(pyarrow.ipc.new_stream, records),
    "p.yaml": lambda records: yaml.safe_dump(records, allow_unicode=True).encode(),
    "p.yml": lambda records: yaml.safe_dump({"data": records}).encode(),
    "p.jsonl.gz": lambda records: gzip.compress(written(FORMATS["json"], records, "p.jsonl")),
    "p.csv.gz": lambda records: gzip.compress(written(FORMATS["csv"], records, "p.csv")),
    "p.jams": lambda records: json.dumps({"annotations": records}).encode(),
}

every_format = pytest.mark.parametrize("name", FORMATS)
every_suffix = pytest.mark.parametrize(
    ("name", "suffix"), [(name, suffix) for name, module in FORMATS.items() for suffix in module.NAMES]
)
every_writable_suffix = pytest.mark.parametrize(
    ("name", "suffix"), [(name, suffix) for name, module in WRITABLE.items() for suffix in module.NAMES]
)


def member(path: str, data: bytes) -> Entry:
    return Entry(path, Path(path), len(data), data)


def written(module: ModuleType, records: list[Any], path: str) -> bytes:
    out = io.BytesIO()
    like = member(path, b"id,a\n" if module is FORMATS["csv"] else b"")
    module.write((Item(Place(path, number), "record", body) for number, body in enumerate(records, 1)), out, like)
    return out.getvalue()


def report(path: str, data: bytes) -> Any:
    stream = walk.items([member(path, data)], READERS, lambda path: False)
    return judge(stream, Release(Path("/nonexistent")), Config(), Private(), RULES, Options())


def test_formats_are_found() -> None:
    assert {"arrow", "csv", "gzip", "json", "markdown", "parquet", "text", "yaml"} <= FORMATS.keys()
    assert {"json", "csv"} <= WRITABLE.keys()


@every_format
def test_format_has_what_the_walk_and_cleaning_ask_for(name: str) -> None:
    module = FORMATS[name]
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in module.NAMES)
    assert callable(module.sniff)
    assert callable(module.read)


def findings_of(path: str, data: bytes) -> set[tuple[Any, ...]]:
    return {
        (one.rule, one.level, one.confidence, one.count, one.place.record, one.place.name, one.message, one.evidence)
        for one in report(path, data).findings
    }


TWIN = findings_of("p.json", written(FORMATS["json"], RECORDS, "p.json"))


def test_twin_has_findings() -> None:
    assert {rule for rule, *_ in TWIN} >= {"identity-field", "evaluator-field", "stray-hash"}


@every_writable_suffix
def test_same_findings_as_the_json_twin(name: str, suffix: str) -> None:
    assert findings_of(f"p{suffix}", written(FORMATS[name], RECORDS, f"p{suffix}")) == TWIN


@pytest.mark.parametrize("path", MADE)
def test_same_findings_as_the_json_twin_where_nothing_is_written(path: str) -> None:
    assert findings_of(path, MADE[path](RECORDS)) == TWIN


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
ROWS = st.lists(st.fixed_dictionaries({"id": TEXT, "a": TEXT, "b c": TEXT}), min_size=1, max_size=4)


@every_writable_suffix
@given(records=ROWS)
def test_what_is_written_is_read_again_and_known(name: str, suffix: str, records: list[dict[str, str]]) -> None:
    path = f"p{suffix}"
    data = written(FORMATS[name], records, path)
    assert walk.choose(member(path, data), data[: walk.HEAD_BYTES], READERS) is FORMATS[name]
    items = list(FORMATS[name].read(member(path, data)))
    assert [item.body for item in items] == records
    assert [item.place for item in items] == [Place(path, number) for number in range(1, len(records) + 1)]
    again = io.BytesIO()
    FORMATS[name].write(items, again, member(path, data))
    assert again.getvalue() == data


def is_prose(name: str) -> bool:
    """Whether a file of the format may be empty without being suspicious."""
    return getattr(FORMATS[name], "PROSE", False)


def all_read(module: ModuleType, path: str, data: bytes) -> list[Any]:
    """The bodies, or the error, which may only be one of leakscan's own."""
    try:
        return [one.body if isinstance(one, Item) else one for one in module.read(member(path, data))]
    except LeakscanError as error:
        return [error]


@every_writable_suffix
def test_cut_file_is_never_taken_for_a_whole_one(name: str, suffix: str) -> None:
    """Wherever it is cut, what is read first is the beginning, and within a record the end is marked."""
    records = [{"id": f'"{number}",', "a": "x\ny"} for number in range(3)]
    data = written(FORMATS[name], records, f"p{suffix}")
    for end in range(len(data)):
        found = all_read(FORMATS[name], f"p{suffix}", data[:end])
        whole = list(itertools.takewhile(lambda body: not isinstance(body, Malformed | LeakscanError), found))
        for body, record in zip(whole, records, strict=False):
            last = body is found[-1]  # CSV cannot know whether its last cell goes on
            assert all(record[key] == value or (last and record[key].startswith(value)) for key, value in body.items())
            assert body.keys() == record.keys() or last


@pytest.mark.parametrize("path", ["p.parquet", "p.feather", "p.arrow", "p.jsonl.gz"])
def test_cut_binary_file_is_never_taken_for_a_whole_one(path: str) -> None:
    data = MADE[path](RECORDS[:3])
    for end in (*range(0, len(data) - 100, 3), *range(len(data) - 100, len(data))):
        assert report(path, data[:end]).unexamined


@pytest.mark.parametrize("path", MADE)
def test_damaged_file_is_read_or_not_but_never_a_traceback(path: str) -> None:
    data = MADE[path](RECORDS[:3])
    for position in range(0, len(data), max(1, len(data) // 150)):
        result = report(path, data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :])
        assert result.examined.records or result.unexamined
        assert not [one for one in result.unexamined if "internal error" in one.reason]


HOSTILE = {
    "empty": b"",
    "blank": b"\n \n",
    "zeros": b"\0" * 100,
    "utf-16": '{"id": 1}\n'.encode("utf-16"),
    "latin-1": "id,a\n1,ä\n".encode("latin-1"),
    "open quote": b'id,a\n1,"x\n',
    "open object": b'{"a": {"b": [',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "number": b'{"a": ' + b"1" * 10_000 + b"}",
    "commas": b"," * 100_000,
    "escape": b'{"a": "\\ud800"}',
    "random": bytes(range(256)) * 8,
}


@every_suffix
@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_content_is_never_clean_and_never_a_traceback(name: str, suffix: str, data: bytes) -> None:
    path = f"p{suffix}"
    all_read(FORMATS[name], path, data)
    result = report(path, data)
    assert result.examined.files or result.unexamined or is_prose(name)
    assert result.status in ((0, 1, 3) if result.examined.files else (1, 3))


@every_suffix
@given(data=st.binary(max_size=60) | st.text(st.sampled_from('[]{}",:\\\n\r\t1a.'), max_size=40).map(str.encode))
def test_any_bytes_end_in_items_or_in_an_error_of_leakscan(name: str, suffix: str, data: bytes) -> None:
    found = all_read(FORMATS[name], f"p{suffix}", data)
    assert found or is_prose(name), "read nothing and said nothing"
    stream = list(walk.items([member(f"p{suffix}", data)], READERS, lambda path: False))
    assert is_prose(name) or any(
        isinstance(one, Unexamined) or (isinstance(one, Item) and one.kind != "file") for one in stream
    )


def test_example_of_the_rules_reads_like_a_file() -> None:
    """The twin used above is what rules are written against."""
    as_records = try_example(Example(records=tuple(RECORDS)), RULES)
    as_file = report("prompts.jsonl", written(FORMATS["json"], RECORDS, "prompts.jsonl"))
    assert as_records.findings == as_file.findings
