"""Names and identifiers of the catalogue are found in values, keys and tags; common words are not."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from leakscan import chance
from leakscan.checks import catalogue
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release, Tags
from leakscan.phrases import Automaton, Phrases, folded, words

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
    assert finding.rule == ("catalogue-id" if "v1:" in text else "catalogue-title")
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


FORMS, KEYS = ("Sonata", "Quartet", "Symphony"), ("C minor", "A minor", "G major", "E flat major")
RECURRING: Mapping[str, Mapping[str, str]] = {
    f"MUB-{n:05}": {
        "title": f"{FORMS[n % 3]} No. {n // 3} in {KEYS[n % 4]}", "artist": ("Haydn", "Clara Schumann")[n % 2]
    } for n in range(60)
} | {"MUB-00060": {"title": "夜の列車", "artist": "Odegloom"},
     "MUB-00061": {"title": "Piano Sonata", "artist": "Brahms"},
     "MUB-00062": {"title": "Blue", "artist": "Harp"},
     "MUB-00063": {"title": "봄날", "artist": "Brahms"},
     "MUB-00064": {"title": "Air", "artist": "Zelenka"}}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("A hard one is _Quartet No. 2 in E flat major_.", {"catalogue-title"}),
        ("A hard one is 「夜の列車」です。", {"catalogue-title"}),
        ("A hard one is Piano Sonata, thanks to the players.", {"catalogue-title"}),
        ("A hard one is Blue, by the Harp.", {"catalogue-title", "catalogue-artist"}),
        ("Harp: Blue", {"catalogue-title", "catalogue-artist"}),
        ("Which piano sonata is it, and is it blue?", set()),
        ("Blue is the colour of the moon that shines on the Harp.", set()),
        ("Is the quartet in g major?", set()),
        ("Home of Clara Schumann and Haydn", set()),  # half of all items are called like that
        ("Blue", set()),
        ("봄날의", set()),
        ("列車", set()),
    ],
)
def test_a_whole_title_is_a_name_though_its_words_recur_in_the_catalogue(text: str, rules: set[str]) -> None:
    """In prose and in another item's record alike."""
    check = catalogue.check(Config(), Private(catalogue=RECURRING))
    records = [{"id": f"MUB-{n:05}", "prompt": text if n == 64 else "Which key is it in?"} for n in range(65)]
    prose = [Item(Place("README.md", 3), "record", text)]
    items = [*prose, *(Item(Place("p.jsonl", n), "record", record) for n, record in enumerate(records, 1))]
    found = list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))
    assert {(finding.rule, finding.place.path) for finding in found} == {
        (rule, path) for rule in rules for path in ("README.md", "p.jsonl")
    }
    assert {finding.level for finding in found} <= {"warning"}


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


# --- what a phrase is ------------------------------------------------------------------------------------------------


def test_what_is_named_is_judged_apart() -> None:
    """Who waives artists still hears of titles, albums and identifiers in the same field."""
    table = {
        key: {**row, "guest": f"Sabrintha Plim{key[-2:]}", "album": f"{key[-2:]}th Almanac of Wexcombe"}
        for key, row in CATALOGUE.items()
    }
    records = plain()
    for record in records[:20]:
        row = table[record["id"]]
        record["x"] = f"{row['artist']} with {row['guest']}: {row['title']}, from {row['album']} ({row['isrc']})"
    check = catalogue.check(Config(), Private(catalogue=table))
    items = [Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1)]
    found = list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))
    assert {(finding.rule, finding.place.name, finding.count) for finding in found} == {
        (f"catalogue-{about}", "$.x", 20) for about in ("artist", "title", "album", "id")
    }
    for finding in found:
        column = finding.message.removeprefix("names the own ").partition(" ")[0]
        assert column in {"catalogue-artist": ("artist", "guest"), "catalogue-id": ("isrc",)}.get(
            finding.rule, (finding.rule.removeprefix("catalogue-"),)
        )


@pytest.mark.parametrize(
    ("column", "value", "about"),
    [("title", "Paper Herons", "title"), ("track_name", "Paper Herons", "title"), ("Song", "Paper Herons", "title"),
     ("artist", "Paper Herons", "artist"), ("album_artist", "Paper Herons", "artist"), ("Guest", "Plim", "artist"),
     ("album_title", "Paper Herons", "album"), ("release", "Paper Herons", "album"),
     ("isrc", "ZZABC2600001", "id"), ("mbid", "1b4e28ba-2fa1-4d2e-883f-b9a761bde3fb", "id"),
     ("label", "Paper Herons", "value")],
)  # fmt: skip
def test_columns_of_the_catalogue_have_a_class(column: str, value: str, about: str) -> None:
    check = catalogue.check(Config(), Private(catalogue={"MUB-00001": {column: value}}))
    record = Item(Place("p.jsonl", 1), "record", {"id": "MUB-00001", "x": value})
    (finding,) = check.finish(Release(Path("/nonexistent")), list(check.see(record)))
    assert (finding.rule, finding.place.name) == (f"catalogue-{about}", "$.x")
    assert column in finding.message


def test_an_album_called_like_its_artist_is_the_artist() -> None:
    table = {"MUB-00001": {"album": "Paper Herons", "artist": "Paper Herons"}}
    check = catalogue.check(Config(), Private(catalogue=table))
    record = Item(Place("p.jsonl", 1), "record", {"id": "MUB-00001", "x": "paper herons"})
    assert [finding.rule for finding in check.finish(Release(Path("/x")), list(check.see(record)))] == [
        "catalogue-artist"
    ]


@pytest.mark.parametrize("number", [1, 2, 7, 40])
def test_the_chance_of_so_many_hits(number: int) -> None:
    rng = random.Random(number)
    shares = [rng.random() for _ in range(number)]
    for hits in range(1, number + 1):
        assert catalogue._at_least(hits, shares) == pytest.approx(chance.tail(chance.independent(shares), hits))


def test_texts_are_searched_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found does not depend on how many are taken together, nor on what is forgotten in between."""
    records = plain()
    for number in (0, 7):
        records[number]["x"] = ["of Crooked Teaspoons", {"100%25 Paper Herons": "\n"}, "ZZABC2600007", f"n{number}"]
    expected = judge(records)
    assert sorted(finding.rule for finding in expected) == ["catalogue-id", "catalogue-title"]
    monkeypatch.setattr(catalogue, "TOGETHER", 20)
    monkeypatch.setattr(catalogue, "KNOWN", 50)
    assert judge(records) == expected


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
        lines = [" ".join(text(30)) for _ in range(rng.randrange(6))]
        expected_lines = [plain.find(line.split()) for line in lines]
        assert plain.search(lines) == fast.search(lines) == expected_lines


def test_texts_folded_together_have_the_words_that_each_has() -> None:
    rng = random.Random(8)
    odd = "\u00e9\u0301\u00df\u0130\u017f\ufb01\u00a0\u2028\u200b\u0430\u0391\u66f2\u304c\ud55c\ud800\u00bd\u0345\uff23"
    signs = [*"abAB01 _-'\n\r\t.%/", *odd, "%41", "%0A", "%e9"]
    for _ in range(500):
        texts = ["".join(rng.choices(signs, k=rng.randrange(12))) for _ in range(rng.randrange(6))]
        assert list(folded(texts)) == [" ".join(words(text)) for text in texts]


@pytest.mark.parametrize("make", [Phrases, Automaton])
def test_scripts_without_spaces(make: Any) -> None:
    found = make([words("曲がった匙")]).find(words("これは曲がった匙です"))
    assert found == {words("曲がった匙")}
