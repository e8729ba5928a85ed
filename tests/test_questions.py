"""Options are found where prompts list them, and nowhere else."""

from __future__ import annotations

import pytest

from leakscan.model import Item, Place
from leakscan.questions import prompt_offer


def listed(*texts: str) -> list[str] | None:
    """What a record of these texts offers."""
    offer = prompt_offer(Item(Place("p.jsonl", 1), "record", {f"t{number}": text for number, text in enumerate(texts)}))
    return None if offer is None else [*offer.options]


@pytest.mark.parametrize(
    "text",
    [
        "Which?\nA. harp\nB. C# minor",
        "(A) harp\n(B) C# minor\n",
        "  a) harp  \r\n\r\n  b) C# minor\r\n",
        "1. harp\n2. C# minor",
        "**A.** harp\n**B.** C# minor",
        "> - A: harp\n> - B: C# minor",
        "1. Listen.\n2. Choose.\nA. harp\nB. C# minor\n1. Answer with a letter.\n2. Say no more.",
        "A. lute\nB. lyre\nAnswer: A\n\nA. harp\nB. C# minor",
        "A. harp\nit is\nB. C# minor",
    ],
)
def test_lists(text: str) -> None:
    assert listed(text) == ["harp", "C# minor"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A. harp",
        "A. harp, B. oboe",
        "B. harp\nC. oboe",
        "1.5 s\n2.5 s",
        "A rose\nB side",
        "A.\nB.",
        "1. harp\nB. oboe",
        "A. harp\nK. oboe",
        "I. Allegro\nII. Largo",
        "\n" * 100_000 + " " * 100_000,
    ],
)
def test_other_lines(text: str) -> None:
    assert listed(text) is None


def test_the_last_text_that_lists_anything_counts() -> None:
    assert listed("A. harp\nB. oboe", "A. lute\nB. lyre", "Say a letter.\nNo more.") == ["lute", "lyre"]
