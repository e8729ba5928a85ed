"""Telling names are replaced wherever they stand; what stands beside them stays."""

from __future__ import annotations

import pytest

from leakscan.model import Place
from leakscan.redaction import Redactor

PATHS = ["audio/", "audio/a.mp3", "audio/Two Herons.mp3", "audio/z.mp3", "Two Herons/", "Two Herons/x/y.csv", "b.csv"]


def redactor(
    paths: tuple[str, ...] = (), ids: tuple[tuple[str, str | None], ...] = (), keys: tuple[str, ...] = ()
) -> Redactor:
    return Redactor(PATHS, paths, ids, keys)


@pytest.mark.parametrize(
    ("telling", "path", "shown"),
    [
        ((), "audio/Two Herons.mp3", "audio/Two Herons.mp3"),
        (("audio/Two Herons.mp3",), "audio/Two Herons.mp3", "audio/<name 1, 10 characters>.mp3"),
        (("audio/Two Herons.mp3",), "audio/a.mp3", "audio/a.mp3"),
        (("Two Herons/",), "Two Herons/", "<name 1, 10 characters>/"),
        (("Two Herons/",), "Two Herons/x/y.csv", "<name 1, 10 characters>/x/y.csv"),
        (
            ("Two Herons/", "Two Herons/x/"),
            "Two Herons/x/y.csv",
            "<name 1, 10 characters>/<name 1, 1 characters>/y.csv",
        ),
        (("audio/",), "audio/z.mp3", "<name 2, 5 characters>/z.mp3"),
    ],
)
def test_telling_segments_are_replaced_below_too(telling: tuple[str, ...], path: str, shown: str) -> None:
    assert redactor(telling).path(path) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Herons.mp3", "<name 1, 6 characters>.mp3"),
        ("Herons.MP3", "<name 1, 6 characters>.MP3"),
        ("Herons.blues", "<name 1, 12 characters>"),  # a suffix is shown only where it is surely one
        ("The.Band", "<name 1, 8 characters>"),
        (".mp3", "<name 1, 4 characters>"),
        ("Herons", "<name 1, 6 characters>"),
        ("shard.tar!Herons.wav", "<name 1, 16 characters>.wav"),
    ],
)
def test_only_a_known_suffix_stays(name: str, shown: str) -> None:
    assert Redactor([name], [name], [], []).path(name) == shown


def test_place_is_redacted_in_all_its_parts() -> None:
    place = Place("Two Herons/p.jsonl", 3, "Herons-1", "$.answers['Two Herons'].hash")
    shown = redactor(("Two Herons/",), (("q.jsonl", "Herons-1"),), ("$.answers['Two Herons']",)).place(place)

    expected = "$.answers.<key, 10 characters>.hash"
    assert shown == Place("<name 1, 10 characters>/p.jsonl", 3, "<id, 8 characters>", expected)


def test_other_ids_stay() -> None:
    place = Place("p.jsonl", 3, "MUB-1", "$.id")
    assert redactor(ids=(("p.jsonl", "Herons-1"),)).place(place) == place


def test_all_ids_of_a_file_can_be_telling() -> None:
    some = redactor(ids=(("p.jsonl", None),))
    assert some.place(Place("p.jsonl", 1, "abc")).id == "<id, 3 characters>"
    assert some.place(Place("q.jsonl", 1, "abc")).id == "abc"
    assert some.place(Place("p.jsonl", 1, None)).id is None


def test_id_that_is_the_name_of_a_telling_file_is_replaced() -> None:
    assert redactor(("audio/Two Herons.mp3",)).place(Place("p.jsonl", 1, "Two Herons")).id == "<id, 10 characters>"


@pytest.mark.parametrize(
    ("key", "name", "shown"),
    [
        ("$.Herons", "$.Herons", "$.<key, 6 characters>"),
        ("$.Herons", "$.Herons[].x", "$.<key, 6 characters>[].x"),
        ("$.Herons", "$.HeronsTwo", "$.HeronsTwo"),
        ("$.Herons", "$.a.Herons", "$.a.Herons"),
        ("$['it\\'s']", "$['it\\'s']['b c']", "$.<key, 4 characters>.<key, 3 characters>"),
        ("$.Herons", "$['Two Herons'][].x", "$.<key, 10 characters>[].x"),
        ("$['a[\\'b']", "$['a[\\'b']", "$.<key, 4 characters>"),
        ("$['x\\\\\\'y']", "$['x\\\\\\'y']", "$.<key, 4 characters>"),
        ("$.a.b['c.d']", "$.a.b['c.d']", "$.a.b.<key, 3 characters>"),
    ],
)
def test_keys(key: str, name: str, shown: str) -> None:
    assert redactor(keys=(key,)).place(Place("p.jsonl", 1, None, name)).name == shown


def test_nested_telling_keys() -> None:
    keys = ("$.Herons", "$.Herons.Teaspoon")
    shown = redactor(keys=keys).place(Place("p", 1, None, "$.Herons.Teaspoon.x")).name
    assert shown == "$.<key, 6 characters>.<key, 8 characters>.x"
