"""Gold is found where records name their own more often than chance, and nowhere else."""

from __future__ import annotations

import base64
import itertools
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from leakscan import chance, owners
from leakscan.checks import gold_value
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release, Tags
from leakscan.phrases import musical_words

GENRES = ("waltz", "march", "polka", "tango", "jig", "reel", "hornpipe", "gavotte")
KEYS = tuple(f"{note} {mode}" for note in ("C", "Db", "D", "Eb", "E", "F", "F#", "G") for mode in ("major", "minor"))


def judge(
    records: Sequence[Mapping[str, Any]], gold: Mapping[str, Mapping[str, str]], files: Sequence[Item] = ()
) -> list[Finding]:
    check = gold_value.check(Config(), Private(gold=gold))
    items = [Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1)]
    return list(
        check.finish(Release(Path("/nonexistent")), [seen for item in (*items, *files) for seen in check.see(item)])
    )


def names(*args: Any) -> set[str | None]:
    return {finding.place.name for finding in judge(*args)}


def table(seed: int, number: int, answers: Sequence[str] = GENRES) -> dict[str, dict[str, str]]:
    rng = random.Random(seed)
    return {f"R{n:04}": {"answer": rng.choice(answers)} for n in range(number)}


# --- planted leaks ---------------------------------------------------------------------------------------------------

LEAKS: dict[str, Any] = {
    "the value": lambda answer, rng: {"x": answer},
    "nested": lambda answer, rng: {"a": [{"b": {"x": f"seen at a {answer.upper()} night"}}]},
    "a key": lambda answer, rng: {"x": {answer: True}},
    "in base64": lambda answer, rng: {"x": base64.b64encode(answer.encode()).decode()},
    "in base64 for URLs": lambda answer, rng: {
        "x": base64.urlsafe_b64encode(f">{answer}?".encode()).decode().rstrip("=")},
    "in hex": lambda answer, rng: {"x": answer.encode().hex()},
    "a folder in a path": lambda answer, rng: {"x": f"audio/{answer}/take.wav"},
    "most of the time": lambda answer, rng: {"x": answer if rng.random() < 0.6 else rng.choice(GENRES)},
    "now and then": lambda answer, rng: {"x": answer} if rng.random() < 0.3 else {},
    "one of several options": lambda answer, rng: {
        "choices": rng.sample(GENRES, 8)[:8], "x": answer},
    "always the first option": lambda answer, rng: {
        "choices": [answer, *rng.sample([genre for genre in GENRES if genre != answer], 3)], "x": answer},
}  # fmt: skip


@pytest.mark.parametrize(
    "line", ["{key}\t{answer}", "{key},{answer}", "| {key} | {answer} |", "- `{key}`: a {answer}.", "{answer} ({key})"]
)
def test_lines_of_text_that_name_items_are_held_against_their_gold(line: str) -> None:
    gold = table(11, 40)
    others = dict(zip(gold, reversed(gold), strict=True))
    own: Any = [line.format(key=key, answer=row["answer"]) for key, row in gold.items()]
    of_others: Any = [line.format(key=key, answer=gold[others[key]]["answer"]) for key in gold]
    assert names(own, gold) == {"$"}
    assert names(of_others, gold) == set()


def test_lines_of_text_may_spell_items_out_or_name_their_audio() -> None:
    gold = table(11, 40)
    in_base64: Any = [
        base64.b64encode(f'{{"id": "{key}", "x": "{row["answer"]}"}}'.encode()).decode() for key, row in gold.items()
    ]
    assert names(in_base64, gold) == {"$", "${}.x"}
    for key in gold:
        assert owners.key_of(Item(Place("a.txt", 1), "record", f"clips/{key}.mp3"), gold) == key


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
@pytest.mark.parametrize("number", [40, 300])
def test_planted_leaks_are_found(leak: Any, number: int) -> None:
    rng = random.Random(3)
    gold = table(1, number)
    records = [
        {"id": key, "prompt": f"Name the dance of take {key}."} | leak(row["answer"], rng) for key, row in gold.items()
    ]
    (finding,) = judge(records, gold)
    assert finding.place.name in ("$.x", "$.a[].b.x")
    assert (finding.level, finding.confidence) == ("error", "strong")


def test_the_message_states_both_rates_and_p() -> None:
    gold = {f"R{n:04}": {"genre": GENRES[n % 4]} for n in range(8)}
    (finding,) = judge([{"id": key, "x": row["genre"]} for key, row in gold.items()], gold)
    # of the 8! ways to deal out 8 answers, of which 4 come twice each, 2!^4 give everyone its own
    p = math.factorial(2) ** 4 / math.factorial(8)
    assert finding.message == (
        f"names the own gold (genre) of 8 of 8 recordings, 100.0%; with shuffled gold 25.0% (p = {p:.1e})"
    )
    assert (finding.count, [place.record for place in finding.places]) == (8, list(range(1, 9)))
    assert str(finding.evidence) == "gold value, 5 characters"


def test_columns_of_columns_know_their_options() -> None:
    """The option columns A to D hold the answer a quarter of the time each; one that always does is a leak."""
    rng = random.Random(4)
    gold = table(2, 120)
    fair, unfair = [], []
    for key, row in gold.items():
        options = [row["answer"], *rng.sample([genre for genre in GENRES if genre != row["answer"]], 3)]
        unfair.append({"id": key, **dict(zip("ABCD", options, strict=True))})
        rng.shuffle(options)
        fair.append({"id": key, **dict(zip("ABCD", options, strict=True))})
    assert names(fair, gold) == set()
    assert names(unfair, gold) == {"$.A"}


def test_tags_and_names_count_by_the_record_that_refers_to_them() -> None:
    gold = table(5, 60)
    records = [{"id": key, "audio": f"audio/{n:03}.mp3"} for n, key in enumerate(gold)]
    files: list[Item] = []
    for n, row in enumerate(gold.values()):
        files.append(Item(Place(f"audio/{n:03}.mp3"), "audio", Tags("mp3", (("id3.TCON", row["answer"]),))))
        files.append(Item(Place(f"{row['answer']}/{n:03}.mp3"), "file"))
    found = judge(records, gold, files)
    assert {(finding.place.name, finding.count) for finding in found} == {("id3.TCON", 60), ("folder", 60)}
    (folder,) = (finding for finding in found if finding.place.name == "folder")
    assert len(folder.places) == 60


# --- what carries no information -------------------------------------------------------------------------------------


def options(answer: str, rng: random.Random) -> list[str]:
    found = [answer, *rng.sample([genre for genre in GENRES if genre != answer], 3)]
    rng.shuffle(found)
    return found


SILENT: dict[str, Any] = {
    "a list of all options": lambda answer, rng: {"choices": options(answer, rng)},
    "options with labels": lambda answer, rng: {
        "choices": [f"({letter}) {option}" for letter, option in zip("ABCD", options(answer, rng), strict=True)]},
    "options as objects": lambda answer, rng: {
        "choices": [{"label": "ABCD"[n], "text": option} for n, option in enumerate(options(answer, rng))]},
    "two options": lambda answer, rng: {"choices": rng.sample(
        [answer, rng.choice([genre for genre in GENRES if genre != answer])], 2)},
    "a question that names its options": lambda answer, rng: {"prompt": f"Is it {', '.join(options(answer, rng))}?"},
    "a constant template": lambda answer, rng: {"prompt": f"Which dance? Example: {GENRES[0]}, {GENRES[1]}."},
    "a template that names one answer": lambda answer, rng: {"prompt": f"Is this a {GENRES[0]}, or what else is it?"},
    "a random other value": lambda answer, rng: {"x": rng.choice(GENRES)},
    "numbers": lambda answer, rng: {"x": rng.random(), "y": rng.randrange(100)},
}  # fmt: skip


@pytest.mark.parametrize("make", SILENT.values(), ids=SILENT)
def test_no_information_no_finding(make: Any) -> None:
    rng = random.Random(6)
    gold = table(7, 200)
    assert judge([{"id": key} | make(row["answer"], rng) for key, row in gold.items()], gold) == []


def test_tasks_with_templates_of_their_own() -> None:
    """Each question names all of its answers and none of the others'; some answers are much the commonest."""
    rng = random.Random(8)
    tasks = {
        "Is the metre 3/4, 4/4 or 6/8? Answer with one of these.": ("3/4", "4/4", "4/4", "4/4", "6/8"),
        "Does anybody sing here? Just say yes or no.": ("yes", "no", "no"),
        "Does it end softly? Say yes if so.": ("yes", "yes", "no"),
        "Give the tempo in beats per minute, such as 120.": tuple(map(str, range(60, 180))),
        "Which dance is it, a waltz perhaps?": GENRES,
    }
    gold, records = {}, []
    for n in range(600):
        prompt = rng.choice(list(tasks))
        gold[f"R{n:04}"] = {"answer": rng.choice(tasks[prompt])}
        records.append({"id": f"R{n:04}", "prompt": prompt, "seed": rng.randrange(200)})
    assert judge(records, gold) == []
    for record in records:
        record["x"] = gold[record["id"]]["answer"]
    assert names(records, gold) == {"$.x"}


def test_too_few_say_nothing() -> None:
    gold = {f"R{n:04}": {"genre": GENRES[n]} for n in range(gold_value.FEWEST)}
    records = [{"id": key, "x": row["genre"]} for key, row in gold.items()]
    assert judge(records[:-1], gold) == []
    assert len(judge(records, gold)) == 1  # 1 in 5!


def test_a_recording_speaks_once() -> None:
    """What four recordings say, forty records do not say better."""
    gold = {f"R{n:04}": {"genre": GENRES[n % 4]} for n in range(40)}
    records = [{"id": key, "audio": f"{n % 4}.mp3", "x": row["genre"]} for n, (key, row) in enumerate(gold.items())]
    assert judge(records, gold) == []
    for n, record in enumerate(records):
        record["audio"] = f"{n}.mp3"
    assert len(judge(records, gold)) == 1


def test_without_gold_there_is_nothing_to_look_for() -> None:
    assert gold_value.check(Config(), Private()) is None


# --- random tables ---------------------------------------------------------------------------------------------------


def random_table(seed: int) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """Records and gold of some shape that have nothing to do with each other: also sorted, skewed, sparse, grouped."""
    rng = random.Random(seed)
    number = rng.choice((6, 12, 30, 60, 120))
    fields: dict[str, Sequence[str]] = {
        "genre": GENRES[: rng.randrange(2, 8)], "key": KEYS, "letter": "ABCD", "yes": ("yes", "no"),
        "tempo": [str(n) for n in range(60, 60 + rng.randrange(3, 99))],
    }  # fmt: skip
    skew = rng.choice((1, 1, 3))
    draw = {name: lambda name=name: fields[name][int(len(fields[name]) * rng.random() ** skew)] for name in fields}
    gold = {f"R{n:04}": {name: draw[name]() for name in fields} for n in range(number)}
    recordings = rng.choice((number, max(2, number // 3)))
    records = []
    for n, key in enumerate(gold):
        record: dict[str, Any] = {"id": key, "audio": f"{n % recordings}.mp3"}
        for column in range(rng.randrange(1, 4)):
            record[f"c{column}"] = draw[rng.choice(list(fields))]()
        record["tags"] = [draw["genre"](), draw["key"]()]
        record["note"] = " ".join(rng.choice(("a", "live", "no", "yes", "take", draw["genre"]())) for _ in range(6))
        record["n"] = rng.randrange(200)
        records.append(record)
    return records, gold


def test_random_tables_are_hardly_ever_flagged() -> None:
    flagged = [seed for seed in range(200) if judge(*random_table(seed))]
    assert len(flagged) <= 10


def test_the_same_tables_are_flagged_once_they_leak() -> None:
    found = 0
    for seed in range(25):
        records, gold = random_table(seed)
        for record in records:
            record["x"] = f"shard {gold[record['id']]['key']}"
        found += "$.x" in names(records, gold)
    assert found >= 15  # the others have too few recordings


# --- spellings and chance --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spellings",
    [
        (
            "Db minor",
            "C#m",
            "c sharp minor",
            "D♭m",
            "C# min",
            "dbmin",
            "C♯ Minor",
            "\uff24b \uff4dinor",
            "D flat minor",
            "D♭ moll",
        ),
        ("A minor", "Am", "A min", "amin", "a-moll"),
        ("Bb major", "A# maj", "B flat major", "B♭ Dur", "bbmaj"),
        ("Bbadd9", "A#add9"),
        ("Ödegloom", "ODEGLOOM", "odegloom"),
    ],
)
def test_spellings_of_one_thing(spellings: tuple[str, ...]) -> None:
    assert len({musical_words(spelling) for spelling in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("C major", "C minor"), ("B", "Bb"), ("Badd9", "Bbadd9"), ("decade", "dbcade"), ("F", "F#")]
)
def test_spellings_of_two_things(one: str, other: str) -> None:
    assert musical_words(one) != musical_words(other)


def test_shuffled_is_the_distribution_over_all_permutations() -> None:
    rng = random.Random(1)
    for _ in range(20):
        values = [rng.choice("abc") for _ in range(5)]
        named = [frozenset(rng.sample("abc", rng.randrange(3))) for _ in values]
        counts = [0] * 6
        for dealt in itertools.permutations(values):
            counts[sum(value in names for value, names in zip(dealt, named, strict=True))] += 1
        expected = [count / math.factorial(5) for count in counts]
        assert chance.shuffled(named, values) == pytest.approx(expected)


def test_independent_is_binomial_for_equal_probabilities() -> None:
    expected = [math.comb(9, k) * 0.3**k * 0.7 ** (9 - k) for k in range(10)]
    assert chance.independent([0.3] * 9) == pytest.approx(expected)
    assert chance.tail(expected, 7) == pytest.approx(sum(expected[7:]))


def test_the_mean_is_that_of_the_frequencies_also_for_many() -> None:
    rng = random.Random(2)
    values = [rng.choice(GENRES) for _ in range(60)]
    named = [frozenset(rng.sample(GENRES, 2)) for _ in values]
    distribution = chance.shuffled(named, values)
    mean = sum(values.count(value) for names in named for value in names) / len(values)
    assert sum(k * weight for k, weight in enumerate(distribution)) == pytest.approx(mean)
