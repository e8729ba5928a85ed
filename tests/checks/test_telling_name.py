"""Names that tell what a recording is are found, all of them; IDs and plain words are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import telling_name
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release

CATALOGUE = {
    "MUB-00001": {"title": "Crooked Teaspoons", "artist": "Odegloom", "isrc": "ZZABC2600001"},
    "MUB-00002": {"title": "Intro", "artist": "The Hobnail Quartet"},
}


def judge(*names: str, private: Private | None = None, records: tuple[Any, ...] = ()) -> list[Finding]:
    check = telling_name.check(Config(), private or Private())
    items = [Item(Place(name), "file") for name in names]
    items += [Item(Place("p.jsonl", number), "record", record) for number, record in enumerate(records, 1)]
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


@pytest.mark.parametrize(
    "name",
    ["The Hobnail Quartet - Crooked Teaspoons.mp3", "07 - Odegloom - Ferries.flac", "Odegloom_-_Paper_Herons.wav",
     "Odegloom \u2013 Ferries.ogg", "shard.tar!Odegloom - Ferries.ogg", "000046_3840.ogg", "aB3dE-gH1_k.opus",
     "x (aB3dE-gH1_k).opus"],
)  # fmt: skip
def test_telling(name: str) -> None:
    (finding,) = judge(f"audio/{name}")
    assert finding.place == Place(f"audio/{name}", name="file")
    assert name.rpartition("!")[2] not in repr((finding.message, finding.evidence))


@pytest.mark.parametrize(
    "name",
    ["MUB-00001.mp3", "MUB - 00001.mp3", "MUB - take 2.mp3", "take 2 - excerpt.mp3", "mix - stereo.wav", "01 - 02.mp3",
     "000046_3841.ogg", "000046_0.ogg", "240131_1200.wav", "MUB-0000048.mp3", "dog_barking.wav", "PianoTrioOk.mp3",
     "1950s-1960s.wav", "Track_00048.wav", "9f86d081884c7d65.mp3", "How to score - a guide.md",
     "Crooked Teaspoons.mp3"],
)  # fmt: skip
def test_innocent(name: str) -> None:
    assert judge(f"audio/{name}") == []


@pytest.mark.parametrize(
    ("name", "tells"),
    [
        ("audio/crooked-teaspoons.mp3", True),
        ("audio/01 CrookedTeaspoons (live).mp3", True),
        ("audio/CROOKED_TEASPOONS.txt", True),
        ("audio/\u00d6degloom.mp3", True),
        ("audio/intro.mp3", True),
        ("audio/x_zzabc2600001.mp3", True),
        ("The Hobnail Quartet/", True),
        ("audio/intro-00001.mp3", False),
        ("audio/odegloomy.mp3", False),
        ("audio/teaspoons, crooked.mp3", False),
        ("audio/quartet.mp3", False),
        ("README.md", False),
    ],
)
def test_catalogue(name: str, tells: bool) -> None:
    assert bool(judge(name, private=Private(catalogue=CATALOGUE))) is tells
    assert judge(name) == []


def test_all_names_are_listed_in_one_finding() -> None:
    names = [f"audio/Odegloom - Ferries {chr(97 + n % 26)}{n}.mp3" for n in range(300)]
    (finding,) = judge(*names)
    assert (finding.count, [place.path for place in finding.places]) == (300, names)


def test_records_name_files_too() -> None:
    (finding,) = judge(records=({"a": {"file": "audio/Odegloom - Ferries.mp3"}, "prompt": "Odegloom - Ferries"},) * 2)
    assert (finding.place.name, finding.place.record, finding.count) == ("$.a.file", 1, 2)


def gold(**answers: str) -> Private:
    return Private(gold={name: {"genre": answer} for name, answer in answers.items()})


@pytest.mark.parametrize(
    ("paths", "private", "told"),
    [
        (("a/waltz/x1.wav", "a/march/x2.wav"), gold(x1="Waltz", x2="March"), ["a/march/", "a/waltz/"]),
        (("waltz/x1.wav", "waltz/x2.wav"), gold(x1="Waltz", x2="Waltz"), []),  # as frequent inside as anywhere
        (("waltz/x1.wav", "waltz/x2.wav"), gold(x1="March", x2="Waltz"), []),
        (("waltz/x1.wav", "waltz/x2.wav"), gold(y1="March", y2="Waltz"), []),
        (("x/x1.wav", "y/x2.wav"), gold(x1="Waltz", x2="March"), []),
        (("a/waltz/x1.wav", "a/march/x2.wav"), Private(), []),
    ],
)
def test_folders_that_are_called_like_answers(paths: tuple[str, ...], private: Private, told: list[str]) -> None:
    assert [place.path for finding in judge(*paths, private=private) for place in finding.places] == told
