"""Options that a request marks or moves are found; options sent alike, in whatever form, are not."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from leakscan import config
from leakscan.checks import as_sent
from leakscan.model import Finding, Item, Place, Private, Release

SETTINGS = config.parse(
    {
        "files": {"sent": ["requests.jsonl"]},
        "records": {
            "prompts": {
                "files": ["prompts.jsonl"],
                "id": "id",
                "fields": {"id": {"role": "routing"}, "prompt": {"role": "input"}, "choices[]": {"role": "input"}},
            }
        },
    },
    Path("leakscan.toml"),
)
OPTIONS = (
    "harp", "oboe", "lute", "gong", "F#m", "Fm", "2/4", "verse, chorus", "viola da gamba",
    "Bla\u0308ser", "Trom\u00admel",
)  # fmt: skip
Show = Callable[[Sequence[str], int], Any]
TEXT = "$.messages[].content"


def lettered(options: Sequence[str]) -> str:
    return "\n".join(f"{letter}) {option}" for letter, option in zip("ABCD", options, strict=False))


def judge(
    show: Show, number: int = 12, known: bool = True, marked: Callable[[int], int] | None = None
) -> list[Finding]:
    """The findings about requests; `show` writes the options, given the place of the right one (or the marked one)."""
    rng = random.Random(3)
    gold, items = {}, []
    for n in range(number):
        key, choices, place = f"MUB-{n:05}", rng.sample(OPTIONS, 4), rng.randrange(4)
        gold[key] = {"answer": choices[place]}
        record = {"id": key, "prompt": f"Which one sounds in case {n}?", "choices": choices}
        shown = show(choices, place if marked is None else marked(n))
        content = f"{record['prompt']}\n{shown}\nAnswer with a letter." if isinstance(shown, str) else [
            record["prompt"], shown]  # fmt: skip
        items.append(Item(Place("prompts.jsonl", n + 1, key), "reference", record))
        request = {"messages": [{"role": "user", "content": content}]}
        items.append(Item(Place("requests.jsonl", n + 1), "request", request))
    check = as_sent.check(SETTINGS, Private(gold=gold if known else {}))
    assert check is not None
    return list(check.finish(Release(Path("/nonexistent")), [one for item in items for one in check.see(item)]))


def rules(found: Sequence[Finding]) -> set[str]:
    return {one.rule for one in found} - {"sent-evaluator"}  # an option of few records is a value of the gold, too


def at(options: Sequence[str], place: int, change: Callable[[str], str]) -> list[str]:
    return [change(option) if number == place else option for number, option in enumerate(options)]


WORDS: dict[str, Show] = {
    "lines": lambda options, k: "\n".join(at(options, k, lambda option: f"{option} (correct)")),
    "letters": lambda options, k: lettered(at(options, k, lambda option: f"{option} [RIGHT]")),
    "a tick": lambda options, k: lettered(at(options, k, lambda option: f"\u2713 {option}")),
    "a sentence": lambda options, k: "; ".join(at(options, k, lambda option: f"{option} (correct answer)")),
    "a line of its own": lambda options, k: "\n".join(at(options, k, lambda option: f"{option}\n(correct)")),
}


@pytest.mark.parametrize("way", [way for way in WORDS if way != "a line of its own"])
@pytest.mark.parametrize("known", [True, False])
def test_words_mark_in_a_single_request(way: str, known: bool) -> None:
    found = judge(WORDS[way], 1, known)
    assert [(one.rule, one.place.name, one.count) for one in found if one.rule == "marked-option"] == [
        ("marked-option", TEXT, 1)
    ]


def test_word_on_a_line_of_its_own() -> None:
    assert "marked-option" in rules(judge(WORDS["a line of its own"]))


def bulleted(options: Sequence[str], place: int) -> str:
    return "\n".join(f"{'*' if number == place else '-'} {option}" for number, option in enumerate(options))


def bracketed(options: Sequence[str], place: int) -> str:
    marks = [f"[{letter}]" if n == place else f"({letter})" for n, letter in enumerate("ABCD")]
    return "\n".join(f"{mark} {option}" for mark, option in zip(marks, options, strict=True))


SIGNS: dict[str, Show] = {
    "bold": lambda options, k: lettered(at(options, k, lambda option: f"**{option}**")),
    "underscores": lambda options, k: lettered(at(options, k, lambda option: f"__{option}__")),
    "a bullet": bulleted,
    "a bracket": bracketed,
    "a full stop": lambda options, k: lettered(at(options, k, lambda option: f"{option}.")),
    "spaces": lambda options, k: lettered(at(options, k, lambda option: f"{option}  ")),
    "a space before": lambda options, k: lettered(at(options, k, lambda option: f" {option}")),
    "unseen after": lambda options, k: lettered(at(options, k, lambda option: f"{option}\u200b")),
    "unseen within": lambda options, k: lettered(at(options, k, lambda option: f"{option[0]}\u200b{option[1:]}")),
    "a sign in a sentence": lambda options, k: " | ".join(at(options, k, lambda option: f"{option}!")),
    "a flag beside it": lambda options, k: [{"text": o, "is": n == k} for n, o in enumerate(options)],
}


@pytest.mark.parametrize("way", SIGNS)
@pytest.mark.parametrize("known", [True, False])
def test_signs_mark_in_many_requests(way: str, known: bool) -> None:
    assert rules(judge(SIGNS[way], 12, known)) == {"marked-option"}
    assert "marked-option" not in rules(judge(SIGNS[way], 4, known))


def test_letters_mark_where_the_others_could_have_them() -> None:
    assert "marked-option" in rules(judge(lambda options, k: lettered(at(options, k, str.upper)), 20))


def test_look_alike_letters_mark() -> None:
    found = judge(lambda options, k: lettered(at(options, k, lambda option: option.replace("o", "\u043e"))), 40)
    assert "marked-option" in rules(found)


ALIKE: dict[str, Show] = {
    "letters": lambda options, k: lettered(options),
    "numbers": lambda options, k: "\n".join(f"{n}. {option}" for n, option in enumerate(options, 9)),
    "roman": lambda options, k: "\n".join(f"({n}) {o}" for n, o in zip(("i", "ii", "iii", "iv"), options, strict=True)),
    "all bold": lambda options, k: lettered([f"**{option}**" for option in options]),
    "all upper case": lambda options, k: lettered([option.upper() for option in options]),
    "composed": lambda options, k: unicodedata.normalize("NFC", lettered(options)),
    "a list": lambda options, k: list(options),
    "objects": lambda options, k: [{"label": n, "text": o} for n, o in zip("ABCD", options, strict=True)],
    "a sentence": lambda options, k: f"Options: {'; '.join(options[:-1])}; or {options[-1]}. Choose the right one.",
    "one line": lambda options, k: " ".join(f"({n}) {o}" for n, o in zip("ABCD", options, strict=True)),
    "a full stop at the end": lambda options, k: f"{lettered(options)}.",
    "the first in bold": lambda options, k: lettered([f"**{options[0]}**", *options[1:]]),
}


@pytest.mark.parametrize("way", ALIKE)
@pytest.mark.parametrize("number", [1, 12, 60])
def test_options_sent_alike_are_silent(way: str, number: int) -> None:
    assert rules(judge(ALIKE[way], number)) == set()
    assert rules(judge(ALIKE[way], number, known=False)) == set()


def first(options: Sequence[str], place: int) -> str:
    return lettered([options[place], *options[:place], *options[place + 1 :]])


def test_right_option_moved_to_the_front() -> None:
    moved = [one for one in judge(first) if one.rule == "gold-position"]
    assert [(one.place.name, one.count, one.level) for one in moved] == [(TEXT, 12, "error")]
    assert moved[0].message.startswith("the right option is sent as number 1, in 12 of 12 requests (p = ")
    assert rules(judge(first, known=False)) == set()  # without gold nobody can know
    assert rules(judge(first, 4)) == set()


def test_options_in_another_order_are_silent() -> None:
    assert rules(judge(lambda options, k: lettered(sorted(options)), 40)) == set()
    assert rules(judge(lambda options, k: lettered(random.Random(str(options)).sample(options, 4)), 40)) == set()


def test_options_said_twice_are_not_marked() -> None:
    twice = judge(lambda options, k: f"{lettered(options)}\nAgain: {', '.join(options)}\n{lettered(options)}", 40)
    assert "marked-option" not in rules(twice)


# --- which record a request is about ---------------------------------------------------------------------------------


def about(*choices: Sequence[str]) -> list[Finding]:
    """The findings about requests that ask the same with these choices, and send nothing else."""
    items = []
    for n, offered in enumerate(choices):
        record = {"id": f"MUB-{n:05}", "prompt": "Which key is it in?", "choices": list(offered)}
        items.append(Item(Place("prompts.jsonl", n + 1, f"MUB-{n:05}"), "reference", record))
        request = {"messages": [{"role": "user", "content": f"{record['prompt']}\n{lettered(offered)}"}]}
        items.append(Item(Place("requests.jsonl", n + 1), "request", request))
    check = as_sent.check(SETTINGS, Private())
    assert check is not None
    return list(check.finish(Release(Path("/nonexistent")), [one for item in items for one in check.see(item)]))


@pytest.mark.parametrize(
    "choices",
    [
        (("F minor", "D minor", "F# minor", "C minor"), ("D minor", "C minor", "F minor", "F major")),
        (("F# minor", "D minor"), ("F minor", "D minor")),
        (("B\u266d minor", "D minor"), ("D minor", "B minor")),
        (("C minor", "C minor, then F minor"), ("C minor, then F minor", "D minor")),
        (("C minor", "D minor"), ("C minor", "D minor", "E minor")),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_request_is_about_the_record_whose_texts_it_has_all(choices: Sequence[Sequence[str]], turned: bool) -> None:
    assert about(*(choices[::-1] if turned else choices)) == []
