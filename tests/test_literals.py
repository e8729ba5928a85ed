"""Lists and objects that a string spells out: opened in full, never run, and never at a price."""

from __future__ import annotations

import base64
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
        (base64.b64encode(b'{"id": 7, "gold": "A"}').decode(), {"id": 7, "gold": "A"}),
        (base64.urlsafe_b64encode(b'{"gold": "\xc3\xbf\xc3\xbf?>"}').decode().rstrip("="), {"gold": "\xff\xff?>"}),
        (base64.b64encode(b"{'gold': 'A'}").decode(), {"gold": "A"}),
        (base64.b64encode(b'{ "gold": 1 }').decode(), {"gold": 1}),
        (base64.b64encode(b'{\n"gold": 1}').decode(), {"gold": 1}),
        (base64.b64encode(b'["viola", 2]').decode(), ["viola", 2]),
        (base64.b64encode(b'[{"gold": 1}]').decode(), [{"gold": 1}]),
        (base64.b64encode(b"[1, 2, 3, 4]").decode(), [1, 2, 3, 4]),
        (base64.b64encode(b"[[1], [2, 3]]").decode(), [[1], [2, 3]]),
        ("%7B%22gold%22%3A%20%22A%22%7D", {"gold": "A"}),
        ("%5b1,%202%5d", [1, 2]),
        (base64.b64encode(b"[\n1, 2]").decode(), [1, 2]),
        (base64.b64encode(b"[null, 2]").decode(), [None, 2]),
        (base64.b64encode(b"{0: 'viola'}").decode(), {"0": "viola"}),
        (json.dumps('{"gold": "A"}'), {"gold": "A"}),
        (json.dumps(json.dumps(json.dumps(["A"]))), ["A"]),
    ],
)
def test_literal_is_opened(text: str, expected: Any) -> None:
    assert opened(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "[", "a", '"[1] and [2]"', '"[1]', '"[1]" and', "3",
        "[metadata]", "[a link](b)", "[1] and [2]", "{x}", "[1, 2", "[x for x in y]",
        "[f'{x}']",
        "[print()]", "[*x]", "{**x}", "[...]", "[1 + 1]", "[- -1]", "[-'x']", "[" + "9" * 5000 + "]",
        "[" * 100_000 + "]" * 100_000, "[" + "-" * 60_000 + "1]", "[" + "1+" * 30_000 + "1]",
        "[" + "x." * 30_000 + "x]",
        "[" + "(lambda:" * 90 + "1" + ")" * 90 + "]", "[\0]",
        "eyewitness", "ewers_and_jugs", "Wyoming_county", "Wz", "eyJhbGciOiJ9.eyJzdWIiOiJ9", "%7Bx", "%5B%ff",
        "W3s=W3s=",
        base64.b64encode(b'{"gold": "A"} said').decode(), base64.b64encode(b'{"gold": "\xff"}').decode(),
    ],
    ids=range(38),
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
