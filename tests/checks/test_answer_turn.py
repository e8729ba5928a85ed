"""Answers in chat format are found; what a template makes the model say is not one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import answer_turn
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release


def judge(*records: Any) -> list[Finding]:
    check = answer_turn.check(Config(), Private())
    items = (Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1))
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


@pytest.mark.parametrize("role", ["assistant", "gpt", "model", "bot", "Assistant"])
@pytest.mark.parametrize("key", ["role", "from"])
@pytest.mark.parametrize("content", ["content", "value"])
def test_the_models_turn_is_found(role: str, key: str, content: str) -> None:
    turns = [{key: "user", content: "Which metre?"}, {key: role, content: "3/4"}]
    (finding,) = judge({"turns": turns})
    assert (finding.place.name, finding.count) == (f"$.turns[].{content}", 1)
    assert judge({"turns": turns[:1]}) == []


def test_the_path_leads_to_the_text() -> None:
    (finding,) = judge({"a": {"b": [{"role": "assistant", "content": [{"type": "text", "text": "3/4"}]}]}})
    assert finding.place.name == "$.a.b[].content[].text"


def test_empty_turns_are_silent() -> None:
    assert judge({"turns": [{"role": "assistant", "content": "  "}, {"role": "assistant"}]}) == []


def test_constant_turns_are_a_template_but_not_the_answer_after_them() -> None:
    def record(answer: str) -> Any:
        return {"turns": [{"role": "assistant", "content": "Four."}, {"role": "user", "content": "How many?"},
                          {"role": "assistant", "content": answer}]}  # fmt: skip

    assert judge(*[record("The answer is: ")] * 4) == []
    (finding,) = judge(*[record(answer) for answer in "ABAB"])
    assert (finding.count, finding.place.record) == (4, 1)


def test_a_few_equal_answers_are_no_template() -> None:
    assert judge(*[{"turns": [{"role": "assistant", "content": "B"}]}] * 3)[0].count == 3
