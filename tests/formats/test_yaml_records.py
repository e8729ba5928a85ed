"""YAML records: scalars are the text that stands there, documents have the layouts of JSON, and bombs do not go off."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from leakscan import yamltext
from leakscan.discover import members
from leakscan.model import Entry, Malformed, Place, Unreadable

FORMAT = members("formats")["yaml"]


def entry(data: bytes | str, path: str = "p.yaml") -> Entry:
    data = data.encode() if isinstance(data, str) else data
    return Entry(path, Path(path), len(data), data)


def bodies(data: bytes | str) -> list[Any]:
    items = list(FORMAT.read(entry(data)))
    assert [item.place for item in items] == [Place("p.yaml", number) for number in range(1, len(items) + 1)]
    return [item.body for item in items]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("a: No\nb: 1.10\nc: ~\nd: 2026-06-30\n", [{"a": "No", "b": "1.10", "c": "~", "d": "2026-06-30"}]),
        ("\ufeff- id: 1\n- id: 2\n", [{"id": "1"}, {"id": "2"}]),
        ("info: {by: x}\nQA: [{id: 1}, {id: 2}]\n", [{"id": "1"}, {"id": "2"}, {"info": {"by": "x"}}]),
        ("a: {x: 1}\nb: {x: 2}\n", [{"(key)": "a", "x": "1"}, {"(key)": "b", "x": "2"}]),
        ("---\na: 1\n---\n- b\n- c\n...\n---\n", [{"a": "1"}, "b", "c"]),
        ("base: &b {x: 1}\nother: {<<: *b, y: *b}\n",
         [{"(key)": "base", "x": "1"}, {"(key)": "other", "<<": {"x": "1"}, "y": {"x": "1"}}]),
        ("? [a, b]\n: c\n", [{"['a', 'b']": "c"}]),
        ("a: !!python/object/apply:os.system [x]\n", [{"a": ["x"]}]),
        ("a: !include gold.yaml\n", [{"a": "gold.yaml"}]),
        ("a: 1 # no\n  # answer: 3/4\n#\nb: |\n  x\n", [{"a": "1", "b": "x\n"}, {"(comments)": ["answer: 3/4", ""]}]),
        ('{"a": ["b", 1.0]}', [{"a": ["b", "1.0"]}]),
    ],
)  # fmt: skip
def test_documents(data: str, expected: list[Any]) -> None:
    assert bodies(data) == expected


BOMB = "a: &a [xxxxxxxx, xxxxxxxx]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{other}'] * 9)}]\n" for other, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("a: [1\nb: 2\n", [Malformed("not YAML", 7)]),
        ("a: 1\n---\nä: ö\nx: [\n", [{"a": "1"}, Malformed("not YAML", 21)]),
        ("a: 1\na: 2\n---\nb: 1\n",
         [Malformed("an object that ends here names the same key twice", 10), {"b": "1"}]),
        ("a: *b\n", [Malformed("an alias of nothing", 3)]),
        ("&a [*a]\n", [Malformed("an alias of nothing", 4)]),
        ("[" * 500, [Malformed("nested too deeply", 199)]),
        ("- " * 300 + "x", [Malformed("nested too deeply", 398)]),
        (BOMB, [Malformed("aliases stand for too much", 292)]),
        (b"a: \xff\n", [Malformed("not UTF-8", 3)]),
    ],
)  # fmt: skip
def test_malformed(data: bytes | str, expected: list[Any]) -> None:
    assert bodies(data) == expected


@pytest.mark.parametrize("data", ["---\n", "---\n---\n", "[]\n"])
def test_file_without_records_is_unreadable(data: str) -> None:
    with pytest.raises(Unreadable, match=r"^p\.yaml: holds no records$"):
        bodies(data)


def test_large_file_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FORMAT, "LIMIT", 10)
    with pytest.raises(Unreadable, match=r"^p\.yaml: larger than 10 bytes; write JSON Lines$"):
        bodies("a: 12345678\n")


def test_without_the_extra_the_user_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Unreadable, match=r"^p\.yaml: YAML needs PyYAML; pip install 'leakscan-audio\[yaml\]'$"):
        bodies("a: 1\n")


def test_audio_in_a_value_is_a_member() -> None:
    _, member = FORMAT.read(entry("audio: data:audio/wav;base64,UklGRg==\n"))
    assert (member.path, member.data, member.depth) == ("p.yaml!1.audio", b"RIFF", 1)


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\x85\ufeff"), max_size=8)
VALUES = st.recursive(TEXT, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))


@pytest.mark.parametrize("flow", [True, False])
@given(value=VALUES)
def test_texts_are_read_as_they_are_whichever_parser_is_there(value: Any, flow: bool) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, default_style='"', allow_unicode=True)
    assert list(yamltext.documents(text)) == [value]
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(yaml, "CBaseLoader", raising=False)
        assert list(yamltext.documents(text)) == [value]
