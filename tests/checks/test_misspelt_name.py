"""Names one letter away from those of the evaluator are found; words that only resemble them are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import misspelt_name
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release


def judge(*records: Any) -> list[Finding]:
    check = misspelt_name.check(Config(), Private())
    items = [Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1)]
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


@pytest.mark.parametrize(
    "name",
    ["anser", "aswer", "answr", "answre", "nswer", "ansswer", "anwser", "answe", "Anser", "goldAnser", "right-answr",
     "an\u200bser", "corect", "solutoin", "captoin", "expekted", "distracter_1", "explantion", "grountruth"],
)  # fmt: skip
def test_misspelt(name: str) -> None:
    (finding,) = judge({"id": 1}, {"meta": [{name: "viola"}]})
    assert (finding.place.record, finding.count, finding.level) == (2, 1, "error")
    assert str(finding.evidence) == "text, 5 characters"


@pytest.mark.parametrize(
    "name", ["answer", "answers", "correctly", "option", "captain", "bold", "cold", "preference", "question", "prompt"]
)
def test_other_names(name: str) -> None:
    assert judge({name: "viola"}) == []


def test_empty_values_and_options_are_no_findings() -> None:
    assert judge({"anser": " ", "b": {"anser": None}, "choices": [{"anser": "viola"}]}) == []


def test_what_it_wants_is_what_it_sees() -> None:
    check = misspelt_name.check(Config(), Private())
    assert (check.wants("text", "$.anser"), check.wants("text", "$.answer"), check.wants("name", "$.anser")) == (
        r"\S", None, None,
    )  # fmt: skip
