"""JSON records: every layout that benchmarks use, and no key or value that gets lost on the way."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan.discover import members
from leakscan.model import Beside, Entry, Item, Malformed, Place, Unreadable

FORMAT = members("formats")["json"]


def entry(data: bytes | str, path: str = "p.jsonl") -> Entry:
    data = data.encode() if isinstance(data, str) else data
    return Entry(path, Path(path), len(data), data)


def bodies(data: bytes | str, path: str = "p.jsonl") -> list[Any]:
    items = list(FORMAT.read(entry(data, path)))
    assert [item.place for item in items] == [Place(path, number) for number in range(1, len(items) + 1)]
    return [item.body for item in items]


# --- sniffing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        b'{"a": 1}', b"{", b"[", b"[[[", b"[\n  {", b"[1, 2]", b"[-1.5e+3 ,", b"[true]", b"[null,", b"[NaN]", b'["a"',
        b"[]", b"[-Infinity]", b"\xef\xbb\xbf {", b"\r\n\t [ {", b"{bad",
    ],
)  # fmt: skip
def test_json_is_known_by_its_beginning(head: bytes) -> None:
    assert FORMAT.sniff(head)


@pytest.mark.parametrize(
    "head",
    [
        b"", b"\n", b'"text"', b"12", b"null", b"[metadata]\n", b"[[waiver]]\n", b"[a link](b)", b"[![badge](b)](c)",
        b"[2026-06-30 12:00] started", b"[1.0.0] - changes", b"[truely]", b'{"a\0"', "[1]".encode("utf-16"), b"x{",
    ],
)  # fmt: skip
def test_other_text_is_not_taken_for_json(head: bytes) -> None:
    assert not FORMAT.sniff(head)


# --- layouts ---------------------------------------------------------------------------------------------------------

TWO = [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize(
    ("data", "path", "expected"),
    [
        ('{"id": 1}\n{"id": 2}\n', "p.jsonl", TWO),
        ('{"id": 1}\r\n\r\n \t\n{"id": 2}', "p.ndjson", TWO),
        ('\ufeff{"id": 1}\n\ufeff{"id": 2}\n', "p.jsonl", TWO),
        ('{"id": 1}\n{"id": 2}\n', "p.json", TWO),  # JSON Lines are often named .json
        ('{"id": 1}\n', "p.json", [{"id": 1}]),
        ('[{"id": 1}, {"id": 2}]', "p.json", TWO),
        ('\ufeff[\n {"id": 1},\n {"id": 2}\n]\n', "p.json", TWO),
        ('{"QA": [{"id": 1}, {"id": 2}]}', "p.json", TWO),
        ('{"a": {"x": 1}, "b": {"x": 2}}', "p.json", [{"(key)": "a", "x": 1}, {"(key)": "b", "x": 2}]),
        ('{"a": {"(key)": "x"}, "b": {"x": 1}}', "p.json", [["a", {"(key)": "x"}], {"(key)": "b", "x": 1}]),
        ('{"a b": [{"id": 1}, {"id": 2}]}', "p.json", [{"(key)": "a b", "id": 1}, {"(key)": "a b", "id": 2}]),
        (
            '{"train": [{"id": 1}], "test": [{"id": 2}]}',
            "p.json",
            [{"(key)": "train", "id": 1}, {"(key)": "test", "id": 2}],
        ),
        ('{"info": {"by": "x"}, "QA": [{"id": 1}, {"id": 2}]}', "p.json", [*TWO, {"info": {"by": "x"}}]),
        ('{"QA": [{"id": 1}, {"id": 2}], "tags": [], "info": {}}', "p.json", [*TWO, {"tags": [], "info": {}}]),
        (
            '{"data": [' + '{"id": 1}, ' * 9 + '{"id": 2}], "version": "1.0"}',
            "p.json",
            [{"id": 1}] * 9 + [{"id": 2}, {"version": "1.0"}],
        ),
        ('{"id": 1}{"id": 2}', "p.json", TWO),
        ('{\n"id": 1\n}\n{\n"id": 2\n}\n', "p.json", TWO),
        ('{"id": 1}\n[3]\n', "p.json", [{"id": 1}, [3]]),
        ('[{"id": 1}]\n\n [{"id": 2}]', "p.json", TWO),
        (
            '{"annotations": [{"namespace": "beat"}], "file_metadata": {"title": "x"}, "sandbox": {}}',
            "p.jams",
            [{"namespace": "beat"}, {"file_metadata": {"title": "x"}, "sandbox": {}}],
        ),
        ("[1, null]", "p.json", [1, None]),
        ('{"a": 1, "b": [2]}', "p.json", [{"a": 1, "b": [2]}]),
        ("{}", "p.json", [{}]),
        ('[{"id": 1}]\n', "p.jsonl", [[{"id": 1}]]),
    ],
)
def test_layouts(data: str, path: str, expected: list[Any]) -> None:
    assert bodies(data, path) == expected


@pytest.mark.parametrize(
    "document",
    [
        {"version": "1.0", "data": [{"id": 1}] * 9},  # few enough to be a record's own list
        {"id": 1, "messages": [{"role": "user"}] * 20},
        {"messages": [{"role": "user"}]},
        {"data": [{"id": 1}, 2]},
        {"data": {"id": 1}},
        {"a": {"x": 1}, "b": 2},
    ],
)
def test_what_fits_no_layout_is_one_record_with_all_its_keys(document: Any) -> None:
    assert bodies(json.dumps(document), "p.json") == [document]


@pytest.mark.parametrize(
    ("data", "path"), [("\n \n", "p.jsonl"), ("", "p.jsonl"), ("[]", "p.json"), ('{"data": []}', "p.json")]
)
def test_file_without_records_is_unreadable(data: str, path: str) -> None:
    with pytest.raises(Unreadable, match=r"^p\.jsonl?: holds no records$"):
        bodies(data, path)


# --- what cannot be parsed -------------------------------------------------------------------------------------------

TWICE = "an object names the same key twice"


@pytest.mark.parametrize(
    ("data", "path", "reason", "offset"),
    [
        ('{"id": 1', "p.jsonl", "not JSON (expecting ',' delimiter)", 8),
        ('{"id": "ö" 1}', "p.jsonl", "not JSON (expecting ',' delimiter)", 12),  # bytes, not characters
        ('\ufeff{"id" 1}', "p.jsonl", "not JSON (expecting ':' delimiter)", 9),  # the mark at the start counts
        ('{"id": 1}{"id": 2}', "p.jsonl", "not JSON (extra data)", 9),
        ("not JSON", "p.jsonl", "not JSON (expecting value)", 0),
        ('{"a": "\t"}', "p.jsonl", "not JSON (invalid control character at)", 7),
        (b'{"id": "\xff"}', "p.jsonl", "not UTF-8", 8),
        ('{"a": 1, "a": 2}', "p.jsonl", TWICE, 0),
        ('{"x": {"a": 1, "b": 2, "a": 1}}', "p.json", TWICE, 0),
        ("[" * 100_000, "p.json", "nested too deeply", 1),
        ("[" * 100_000 + "]" * 100_000, "p.jsonl", "nested too deeply", 0),
        ("[" * 100_000 + "]" * 100_000, "p.json", "nested too deeply", 1),
        ('{"a": ' + "9" * 5000 + "}", "p.jsonl", "holds a number too long to read", 0),
        ('[{"id": 2', "p.json", "not JSON (expecting ',' delimiter)", 9),
    ],
)
def test_malformed(data: bytes | str, path: str, reason: str, offset: int) -> None:
    assert bodies(data, path) == [Malformed(reason, offset)]


def test_a_line_of_nothing_but_zeros_leaves_the_others() -> None:
    data = b'{"id": 1}\n\0\0\n{"id": 2}\n'
    assert FORMAT.sniff(data)
    assert not FORMAT.sniff('{"id": 1}\n'.encode("utf-16-le"))
    assert bodies(data, "p.jsonl") == [{"id": 1}, Malformed("not JSON (expecting value)", 10), {"id": 2}]


def test_malformed_lines_leave_the_others_and_say_where() -> None:
    data = '{"id": 1}\n{"id": \n\n{"id": 3}\n{"id": 4'
    assert bodies(data) == [
        {"id": 1},
        Malformed("not JSON (expecting value)", 18),
        {"id": 3},
        Malformed("not JSON (expecting ',' delimiter)", 37),
    ]


@pytest.mark.parametrize("path", ["p.jsonl", "p.json"])
def test_value_that_is_too_large_is_not_parsed(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FORMAT, "_LIMIT", 40)
    first = '{"a": 1}\n' if path == "p.jsonl" else ""
    large = '{"a": "' + "x" * 60 + '"}\n'
    expected = [{"a": 1}] if first else []
    reason = Malformed("larger than 40 bytes; write JSON Lines", len(first))
    assert bodies(first + large + '{"a": 2}\n', path) == [*expected, reason, {"a": 2}]


def test_numbers_beyond_json_are_read() -> None:
    (body,) = bodies('{"a": NaN, "b": -Infinity, "c": 1e999}')
    assert math.isnan(body["a"])
    assert (body["b"], body["c"]) == (-math.inf, math.inf)


# --- writing ---------------------------------------------------------------------------------------------------------


def written(items: list[Any], like: Entry) -> bytes:
    out = io.BytesIO()
    FORMAT.write((Item(Place(like.path, 1), "record", item) for item in items), out, like)
    return out.getvalue()


def test_lines_stay_lines_and_arrays_arrays() -> None:
    assert written(TWO, entry('{"id": 1}\n', "p.jsonl")) == b'{"id": 1}\n{"id": 2}\n'
    assert written(TWO, entry('{"id": 1}\n{"id": 1}', "p.json")) == b'{"id": 1}\n{"id": 2}\n'
    assert written(TWO, entry("[]", "p.json")) == b'[\n{"id": 1},\n{"id": 2}\n]\n'
    assert written([{"a": "ö"}], entry("", "p.jsonl")) == '{"a": "ö"}\n'.encode()
    assert written([{"a": "ö\ud800"}], entry("", "p.jsonl")) == b'{"a": "\\u00f6\\ud800"}\n'


WRAPPED = {
    '{"QA": [{"id": 1}, {"id": 2}]}': b'{"QA": [\n{"id": 1},\n{"id": 2}\n]}\n',
    '{"info": {"by": "x"}, "QA": [{"id": 1}, {"id": 2}], "tags": []}': (
        b'{"QA": [\n{"id": 1},\n{"id": 2}\n],\n"info": {"by": "x"},\n"tags": []}\n'
    ),
    '{"a b": [{"id": 1}, {"id": 2}]}': b'[\n{"(key)": "a b", "id": 1},\n{"(key)": "a b", "id": 2}\n]\n',
    '{"x": [{"id": 1}], "y": [{"id": 2}], "info": {}}': (
        b'[\n{"(key)": "x", "id": 1},\n{"(key)": "y", "id": 2},\n{"info": {}}\n]\n'
    ),
}


@pytest.mark.parametrize("data", WRAPPED)
def test_a_list_stays_in_its_wrapper(data: str) -> None:
    assert written(bodies(data, "p.json"), entry(data, "p.json")) == WRAPPED[data]
    assert bodies(WRAPPED[data].decode(), "p.json") == bodies(data, "p.json")


def test_a_wrapper_that_would_read_otherwise_is_not_written() -> None:
    records = ", ".join(f'{{"id": {number}}}' for number in range(12))
    like = entry(f'{{"version": 1, "examples": [{{"note": "a"}}], "questions": [{records}]}}', "p.json")
    left = [*({"id": number} for number in range(12)), Beside({"examples": [{"note": "a"}]})]
    with pytest.raises(
        Unreadable, match=r"p\.json: what is left beside its list of records would be taken for records"
    ):
        written(left, like)
    assert written([*left[:12], Beside({"version": 1, **left[12]})], like).startswith(b'{"questions": [')


def test_what_stands_beside_the_records_is_marked() -> None:
    data = '{"info": {"by": "x"}, "QA": [{"id": 1}, {"id": 2}]}'
    assert [type(body) is Beside for body in bodies(data, "p.json")] == [False, False, True]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(st.characters(), max_size=5), JSON), min_size=1, max_size=4))
def test_what_is_written_is_read_again(records: list[Any]) -> None:
    for path in ("p.jsonl", "p.json"):
        data = written(records, entry("[", path))
        assert bodies(data, path) == records


# --- size ------------------------------------------------------------------------------------------------------------

_COUNT = """
import resource, sys
from pathlib import Path
from leakscan.formats import json
from leakscan.model import Entry

resource.setrlimit(resource.RLIMIT_DATA, (64_000_000, 64_000_000))
file = Path(sys.argv[1])
print(sum(1 for _ in json.read(Entry("p.json", file, file.stat().st_size))))
"""


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"version": "1.0", "data": [', "]}")])
def test_array_of_100_mb_in_one_line_takes_little_memory(start: str, end: str, tmp_path: Path) -> None:
    record = json.dumps({"id": "MUB-00001", "prompt": "Which metre? " * 800, "answer": "3/4"})
    count = 100_000_000 // len(record) + 1
    with (tmp_path / "p.json").open("w") as out:
        out.write(start)
        out.writelines(f"{record}," for _ in range(count))
        out.write(record + end)
    done = subprocess.run([sys.executable, "-c", _COUNT, tmp_path / "p.json"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{count + 1 + (start != '[')}\n", "")
    (tmp_path / "p.json").unlink()
