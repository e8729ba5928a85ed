"""Gold in a comment of markup is found in a single record; a template, or another's number, is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from leakscan import rulebook
from leakscan.model import Example, Private
from leakscan.scanning import try_example

RULES = rulebook.load()
PRIVATE = Private(
    gold={
        f"MUB-{n:05}": {
            "tempo": str(60 + n * 37 % 90),
            "key": ("C minor", "F# major", "A minor")[n % 3],
            "mc": "ABCD"[n % 4],
        }
        for n in range(60)
    }
)


def levels(comment: Callable[[int], str]) -> dict[str, tuple[str, int]]:
    """What is found where the prompts of records end with these comments."""
    records = tuple({"id": f"MUB-{n:05}", "prompt": f"How many beats in a minute? {comment(n)}"} for n in range(60))
    found = try_example(Example(records=records), RULES, PRIVATE).findings
    return {finding.rule: (finding.level, finding.count) for finding in found if finding.place.name == "$.prompt"}


WARNING = ("warning", 1)


@pytest.mark.parametrize("comment", ["<!-- 97 -->", "<!--\nabout 97 bpm", "<!-- in F sharp major! -->", "<!--B-->"])
def test_one_record_s_own_gold_is_an_error(comment: str) -> None:
    assert PRIVATE.gold["MUB-00001"] == {"tempo": "97", "key": "F# major", "mc": "B"}
    found = levels(lambda n: comment if n == 1 else "")
    assert found == {"hidden-comment": WARNING, "gold-value": ("error", 1)}


@pytest.mark.parametrize("comment", ["<!-- shorter? -->", "<!-- 98 -->", "<!-- a or b, not C -->", "<!---->"])
def test_another_comment_is_a_warning(comment: str) -> None:
    assert levels(lambda n: comment if n == 0 else "") == {"hidden-comment": WARNING}


@pytest.mark.parametrize(
    "comment",
    [lambda n: "<!-- B -->", lambda n: "<!-- one of C minor, F# major, A minor -->", lambda n: f"<!-- {n} -->"],
)
def test_templates_and_numbers_of_records_are_warnings(comment: Callable[[int], str]) -> None:
    assert levels(comment) == {"hidden-comment": ("warning", 60)}


def test_an_arrow_is_none() -> None:
    assert levels(lambda n: "<-- 97 --> <! 97 >" if n == 1 else "") == {}
