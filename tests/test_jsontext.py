"""JSON that is parsed piece by piece: the same values as in one piece, and what is broken costs nothing but itself."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan import jsontext
from leakscan.jsontext import JsonText
from leakscan.model import Malformed


def text(data: bytes | str, limit: int = 1 << 20) -> JsonText:
    stream = io.BytesIO(data.encode() if isinstance(data, str) else data)
    return JsonText(stream, json.JSONDecoder(), limit)


def elements(data: bytes | str, limit: int = 1 << 20) -> list[Any]:
    found = text(data, limit)
    assert found.peek() == "["
    return list(found.elements())


def members(data: str) -> list[Any]:
    """Keys and values, and what is malformed."""
    found = text(data)
    assert found.peek() == "{"
    return [key if isinstance(key, Malformed) else (key, found.value("}")) for key in found.members()]


@pytest.fixture(params=[1, 7, 64, 1 << 18])
def _piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seams between pieces anywhere."""
    monkeypatch.setattr(jsontext, "_PIECE", request.param)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=5), children, max_size=4),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=6), st.sampled_from([1, 3, 17, 300]), st.sampled_from([None, 0, 3]), st.booleans())
def test_elements_are_those_of_the_whole(values: list[Any], piece: int, indent: int | None, ascii_only: bool) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsontext, "_PIECE", piece)
        assert elements(data) == json.loads(data)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON), st.sampled_from([1, 3, 17, 300]))
def test_members_are_those_of_the_whole(body: dict[str, Any], piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsontext, "_PIECE", piece)
        assert dict(members(json.dumps(body))) == body


COMMA = "not JSON (expecting ',' delimiter)"
COLON = "not JSON (expecting ':' delimiter)"
VALUE = "not JSON (expecting value)"


@pytest.mark.usefixtures("_piece")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("[1, 2", [1, 2, Malformed(COMMA, 5)]),
        ("[1, 2 3]", [1, 2, Malformed(COMMA, 6), 3]),
        ('[{"a": 1}, {"b": 2, "c" 3}, {"d": [4]}]', [{"a": 1}, Malformed(COLON, 24), {"d": [4]}]),
        ('[{"a": [1}, {"b": 2}]', [Malformed(COMMA, 9), {"b": 2}]),
        ('[{"a": "]}\\"", "b" "c"}, 2]', [Malformed(COLON, 19), 2]),
        ("[1,]", [1, Malformed(VALUE, 3)]),
        ("[,1]", [Malformed(VALUE, 1), 1]),
        ("[}, 1]", [Malformed(VALUE, 1), 1]),
        ("[tru, 1]", [Malformed(VALUE, 1), 1]),
        ('["ä", x, "ö"]', ["ä", Malformed(VALUE, 7), "ö"]),
        (b'["a", "\xff", "b"]', ["a", Malformed("not UTF-8", 7), "b"]),
        (b'["\xc3', [Malformed("not JSON (unterminated string starting at)", 1)]),
        ('["a', [Malformed("not JSON (unterminated string starting at)", 1)]),
        ("[" + "9" * 5000 + ", 1]", [Malformed("holds a number too long to read", 1), 1]),
        ("[[1, 2], [3", [[1, 2], Malformed(COMMA, 11)]),
        ("[-Infinity, 1.5e+10, 12]", [float("-inf"), 1.5e10, 12]),
        ("[" * 5000 + "]" * 5000 + ", 1]", [Malformed("nested too deeply", 1)]),
    ],
)  # fmt: skip
def test_what_is_broken_is_passed_over(data: bytes | str, expected: list[Any]) -> None:
    assert elements(data) == expected


@pytest.mark.usefixtures("_piece")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('{"a": 1, "b": {"c" 2}, "d": 3}', [("a", 1), ("b", Malformed(COLON, 19)), ("d", 3)]),
        ('{"a": 1, "a": 2}', [("a", 1), Malformed("an object names the same key twice", 9), ("a", 2)]),
        ('{"a": 1, b: 2, "c": 3}', [("a", 1), Malformed("not JSON (expecting a key)", 9)]),
        ('{"a": 1, 2: 3}', [("a", 1), Malformed("not JSON (expecting a key)", 9)]),
        ('{"a": 1 "b": 2}', [("a", 1), Malformed(COMMA, 8)]),
        ('{"a": 1', [("a", 1), Malformed(COMMA, 7)]),
        ('{"a": {', [("a", Malformed("not JSON (expecting property name enclosed in double quotes)", 7))]),
        ('{"a"', [Malformed(COLON, 4)]),
    ],
)  # fmt: skip
def test_what_is_broken_in_an_object(data: str, expected: list[Any]) -> None:
    found = text(data)
    assert members(data) == expected
    list(found.members())


def test_value_beyond_the_limit_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "_PIECE", 16)
    large = Malformed("larger than 40 bytes; write JSON Lines", 4)
    assert elements('[1, "' + "x" * 100 + '", 2]', limit=40) == [1, large, 2]


def test_position_is_behind_what_was_read() -> None:
    found = text('\ufeff [1, [2]] {"a": [3]} 4 "x')
    assert (found.peek(), list(found.elements())) == ("[", [1, [2]])
    assert (found.peek(), found.value(), found.raw) == ("{", {"a": [3]}, '{"a": [3]}')
    assert (found.peek(), found.value(), found.raw) == ("4", 4, "4")
    assert isinstance(found.value(), Malformed)
    assert (found.peek(), found.raw) == ("", "")


@given(st.binary(max_size=40) | st.text(st.sampled_from('[]{}",:\\\n 1ax'), max_size=40).map(str.encode))
def test_any_bytes_come_to_an_end(data: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsontext, "_PIECE", 3)
        elements(b"[" + data)
        found = text(data)
        for _ in range(len(data) + 1):
            if not found.peek():
                break
            found.value()
        assert found.peek() == ""
