"""Templates: Jinja as it is, and what Python code makes prompts from, in the same notation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakscan.formats import template
from leakscan.model import Entry, Item, Unreadable


def read(path: str, text: str | bytes) -> Any:
    data = text.encode() if isinstance(text, str) else text
    (item,) = template.read(Entry(path, Path(path), len(data), data))
    assert isinstance(item, Item)
    assert (item.kind, item.place.path, item.facts) == ("template", path, ())
    return item.body


def test_jinja_is_taken_as_it_is() -> None:
    assert read("p.j2", "{{ a }} b") == [("template", "{{ a }} b")]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            'prompt = f"Q: {r["question"]!r:>9} {{x}}"'.replace('r["question"]', "r['question']"),
            [("prompt", "Q: {{ r['question'] }} {x}")],
        ),
        ('self.user_prompt: str = "Q: " + item.question', [("user_prompt", "Q: {{ item.question }}")]),
        ('text += "Q: %s (%s)" % (a, b)', [("text", "Q: %s (%s){{ a }}{{ b }}")]),
        ('send(content="{} {x}".format(a, x=b))', [("content", "{{ a }}{{ b }}")]),
        ('send(content="{question} {answer}".format(**record))', [("content", "{{ question }}{{ answer }}")]),
        ('send(content="{question}".format_map(record))', [("content", "{{ question }}")]),
        ('m = {"role": "user", "content": json.dumps(item)}', [("content", "{{ json.dumps(item) }}")]),
        ('m = {"content": "\\n".join(parts)}', [("content", "{{ parts }}")]),
        ('m = {"content": [{"type": "text", "text": f"{a}"}]}', [("text", "{{ a }}")]),
        ('def build_prompt(r):\n    return f"{r}"', [("build_prompt", "{{ r }}")]),
        ('prompt = "Which metre?"', []),
        ('print(f"{answer}")\nline = f"{answer}"', []),
        ('def judge(r):\n    prompt = f"{r.answer}"', []),
        ('prompt_path = f"{folder}/x"', []),
        ("", []),
    ],
)
def test_prompts_of_code(code: str, expected: Any) -> None:
    assert read("a.py", code) == expected


@pytest.mark.parametrize(
    "code", ["print '{{ answer }}'", "(" * 10_000, "-" * 100_000 + "1", "prompt = " + "a+" * 100_000 + "1", "\0"]
)
def test_code_that_cannot_be_parsed_is_a_text(code: str) -> None:
    assert read("a.py", code) == [("template", code)]


def test_what_is_no_text_is_unreadable() -> None:
    with pytest.raises(Unreadable, match=r"^p\.j2: not UTF-8 at byte 1; convert it to UTF-8$"):
        read("p.j2", b"a\xff")
    with pytest.raises(Unreadable, match=r"^p\.j2: larger than 1,048,576 bytes; no template is$"):
        read("p.j2", b"a" * (template.LIMIT + 1))
