"""Names and identifiers of the catalogue are found in values, keys and tags; common words are not."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import catalogue
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release, Tags
from leakscan.phrases import Automaton, Phrases, words

NOUNS = ("Teaspoons", "Herons", "Lanterns", "Ferries", "Umbrellas", "Staircases", "Foxgloves", "Almanacs")
KINDS = ("Crooked", "Paper", "Marbled", "Brackish", "Lopsided", "Unbuttoned", "Quilted", "Seventeen")
CATALOGUE: Mapping[str, Mapping[str, str]] = {
    f"MUB-{n:05}": {
        "title": f"{KINDS[n % 8]} {NOUNS[n // 8]}", "artist": f"{NOUNS[n % 7]} of Plim{n}sk", "isrc": f"ZZABC26{n:05}"
    } for n in range(60)
} | {"MUB-00060": {"title": "Intro", "artist": "Odegloom", "isrc": "ZZABC2600060"},
     "MUB-00061": {"title": "Blue", "artist": "The Band", "isrc": ""},
     "MUB-00099": {"title": "Air", "artist": "Wexilda Marrowglint", "isrc": ""}}  # fmt: skip


def judge(records: Sequence[Mapping[str, Any]], files: Sequence[Item] = ()) -> list[Finding]:
    check = catalogue.check(Config(), Private(catalogue=CATALOGUE))
    items = [Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1)]
    return list(
        check.finish(Release(Path("/nonexistent")), [seen for item in (*items, *files) for seen in check.see(item)])
    )


def plain(number: int = 60) -> list[dict[str, Any]]:
    return [{"id": f"MUB-{n:05}", "prompt": "Where does the intro end?", "colour": "blue" if n % 9 else "red"}
            for n in range(number)]  # fmt: skip


@pytest.mark.parametrize("text", ["live: crooked TEASPOONS, take 2", "Crooked_Teaspoons", "x/crooked-teaspoons.wav",
                                  "\uff23rooked Teaspoons", "a v1:zzabc2600000"])  # fmt: skip
def test_the_record_s_own_is_strong(text: str) -> None:
    records = plain()
    records[0]["x"] = text
    (finding,) = judge(records)
    assert (finding.place.name, finding.place.record, finding.count) == ("$.x", 1, 1)
    assert (finding.level, finding.confidence) == ("error", "strong")
    assert "easpoons" not in repr((finding.message, finding.evidence)).casefold()


def test_another_s_is_weak_but_an_identifier_is_not() -> None:
    records = plain()
    records[5]["x"] = "not unlike Wexilda Marrowglint"
    records[5]["y"] = "ZZABC2600007"
    found = {finding.place.name: (finding.level, finding.confidence) for finding in judge(records)}
    assert found == {"$.x": ("warning", "weak"), "$.y": ("error", "strong")}


def test_keys_count_and_are_not_spelt_out() -> None:
    records = plain()
    records[0]["x"] = {"Crooked Teaspoons": 1, "it's": {"Herons of Plim1sk": 2}}
    records[1]["x"] = {"it's": {"Herons of Plim1sk": 2}}
    assert [finding.place.name for finding in judge(records)] == ["$.x", "$.x['it\\'s']"]


def test_tags_count() -> None:
    keys = [f"MUB-{n:05}" for n in range(8)]
    tags = {key: Tags("mp3", (("id3.COMM", CATALOGUE[key]["title"]),)) for key in keys}
    files = [Item(Place(f"audio/{key}.mp3"), "audio", tags[key]) for key in keys]
    (finding,) = judge(plain(), files)
    assert (finding.place.name, finding.count, finding.confidence) == ("id3.COMM", 8, "strong")
    assert finding.message.startswith("names the own title of 8 of 8 recordings; with shuffled keys ")


def test_common_words_are_silent() -> None:
    records = plain(62)
    records[3]["note"] = "the band plays in blue, an intro"
    assert judge(records) == []


def test_a_common_word_counts_in_a_column_of_own_names() -> None:
    records = plain(62)
    for record in records:
        record["x"] = CATALOGUE[record["id"]]["title"].lower()
    (finding,) = judge(records)
    assert (finding.place.name, finding.count) == ("$.x", 62)


def test_a_common_word_counts_a_little_where_only_its_own_record_has_it() -> None:
    records = plain(62)
    records[60]["x"] = "with Odegloom"
    (finding,) = judge(records)
    assert (finding.place.record, finding.level, finding.confidence) == (61, "warning", "weak")
    records[4]["x"] = "with Odegloom"
    assert judge(records) == []


def test_templates_are_silent() -> None:
    records = plain()
    for record in records:
        record["system"] = "You know Crooked Teaspoons by the Herons of Plim8sk."
    assert judge(records) == []


def test_word_boundaries() -> None:
    records = plain()
    records[0]["x"] = "crooked teaspoonsful, uncrooked teaspoons"
    records[1]["x"] = "ZZABC26000011"
    assert judge(records) == []


def test_without_a_catalogue_nothing_is_seen() -> None:
    check = catalogue.check(Config(), Private())
    assert check.see(Item(Place("p.jsonl", 1), "record", {"x": "Crooked Teaspoons"})) == ()


# --- the two finders -------------------------------------------------------------------------------------------------


def test_both_finders_give_the_same() -> None:
    rng = random.Random(4)
    letters = [*string.ascii_lowercase[:5], "ab", "abc", "aa"]

    def text(longest: int) -> tuple[str, ...]:
        return tuple(rng.choice(letters) for _ in range(rng.randrange(longest)))

    for _ in range(50):
        phrases = [text(4) for _ in range(rng.randrange(30))]
        plain, fast = Phrases(phrases), Automaton(phrases)
        for _ in range(20):
            words = text(30)
            expected = {phrase for phrase in phrases if phrase and phrase in
                        {words[a:b] for a in range(len(words)) for b in range(a + 1, len(words) + 1)}}  # fmt: skip
            assert plain.find(words) == fast.find(words) == expected


@pytest.mark.parametrize("make", [Phrases, Automaton])
def test_scripts_without_spaces(make: Any) -> None:
    found = make([words("曲がった匙")]).find(words("これは曲がった匙です"))
    assert found == {words("曲がった匙")}
