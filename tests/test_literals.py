"""Lists and objects that a string spells out: opened in full, never run, and never at a price."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan import literals
from leakscan.literals import opened


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["a", 1, null]', ["a", 1, None]),
        (' {"a": {"b": [true]}}\n', {"a": {"b": [True]}}),
        ("['low quality', 'sustained strings melody']", ["low quality", "sustained strings melody"]),
        ("{'a': (1, -2.5), 'b': {3}, 4: None, 'c': b'x'}", {"a": [1, -2.5], "b": [3], "4": None, "c": "x"}),
        ('{"answer": "A", "answer": ""}', [{"answer": "A"}, {"answer": ""}]),  # what is said twice is kept
        ("{'answer': 'A', 'answer': ''}", [{"answer": "A"}, {"answer": ""}]),
        ("['\\d']", ["\\d"]),
        ('["[1]"]', ["[1]"]),
        ("[]", []),
        ("[NaN]", [pytest.approx(float("nan"), nan_ok=True)]),
    ],
)
def test_literal_is_opened(text: str, expected: Any) -> None:
    assert opened(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "[", "a", '"[1]"', "3", "[metadata]", "[a link](b)", "[1] and [2]", "{x}", "[1, 2", "[x for x in y]",
        "[f'{x}']",
        "[print()]", "[*x]", "{**x}", "[...]", "[1 + 1]", "[- -1]", "[-'x']", "[" + "9" * 5000 + "]",
        "[" * 100_000 + "]" * 100_000, "[" + "-" * 60_000 + "1]", "[" + "1+" * 30_000 + "1]",
        "[" + "x." * 30_000 + "x]",
        "[" + "(lambda:" * 90 + "1" + ")" * 90 + "]", "[\0]",
    ],
    ids=range(26),
)  # fmt: skip
def test_other_text_is_not(text: str, recwarn: pytest.WarningsRecorder) -> None:
    assert opened(text) is None
    assert not recwarn.list


def test_large_text_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literals, "LIMIT", 40)
    monkeypatch.setattr(literals, "PYTHON_LIMIT", 20)
    assert opened('["' + "x" * 36 + '"]') == ["x" * 36]
    assert opened('["' + "x" * 37 + '"]') is None
    assert opened("['" + "x" * 16 + "']") == ["x" * 16]
    assert opened("['" + "x" * 17 + "']") is None


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.lists(VALUES) | st.dictionaries(st.text(), VALUES))
def test_what_json_and_python_print_is_opened(value: Any) -> None:
    assert opened(json.dumps(value)) == value
    assert opened(repr(value)) == value


@given(st.text(st.sampled_from("[]{}()'\",:\\ 1aN-"), max_size=30))
def test_any_text_comes_to_an_end(text: str) -> None:
    opened(f"[{text}]")
