"""IDs of registries, and digests, in all their spellings."""

from __future__ import annotations

import pytest

from leakscan.identities import digest, identify, registry

MBID = "8f3471b5-7e6a-48da-86a9-c1c07a0f47ae"


@pytest.mark.parametrize(
    ("text", "hint", "known"),
    [
        ("fma:2", "", "fma:2"),
        ("FMA: 000002", "", "fma:2"),
        ("000002", "fma", "fma:2"),
        ("000046_3840", "fma", "fma:46"),
        ("track_0000214", "", "jamendo:214"),
        ("214", "jamendo", "jamendo:214"),
        ("https://www.jamendo.com/track/214/a-song", "", "jamendo:214"),
        ("https://freesound.org/people/someone/sounds/1234/", "", "freesound:1234"),
        ("1234", "freesound", "freesound:1234"),
        ("a_b-c_d-e_f", "youtube", "youtube:a_b-c_d-e_f"),
        ("https://youtu.be/a_b-c_d-e_f?t=3", "", "youtube:a_b-c_d-e_f"),
        ("https://www.youtube.com/watch?list=x&v=a_b-c_d-e_f", "", "youtube:a_b-c_d-e_f"),
        ("TRAXLZU12903D05F94", "", "msd:TRAXLZU12903D05F94"),
        (MBID.upper(), "", f"mbid:{MBID}"),
        (f"https://musicbrainz.org/recording/{MBID}", "", f"mbid:{MBID}"),
        ("gb-ayE-69-00531", "", "isrc:GBAYE6900531"),
        ("GBAYE6900531 \n", "isrc", "isrc:GBAYE6900531"),
        ("000002", "", None),
        ("abcdefghijk", "", None),
        ("abcdefghijkl", "youtube", None),
        ("https://youtu.be/a_b-c_d-e_fgh", "", None),
        ("a title: of a song", "", None),
        ("", "fma", None),
        ("GBAYE6900531", "fma", None),
    ],
)
def test_ids(text: str, hint: str, known: str | None) -> None:
    assert identify(text, hint) == known


def test_normalising_twice_changes_nothing() -> None:
    for text in ("fma:2", "jamendo:214", "freesound:7", "youtube:a_b-c_d-e_f", f"mbid:{MBID}", "isrc:GBAYE6900531"):
        assert identify(text) == text


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("fma_small.txt", "fma"), ("ytid", "youtube"), ("$.youtube_id", "youtube"), ("musicbrainz-recording", "mbid"),
        ("track_id", ""), ("fma and jamendo", ""), ("confmadness", ""),
    ],
)  # fmt: skip
def test_names_that_suggest_a_registry(name: str, known: str) -> None:
    assert registry(name) == known


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("AB" * 16, "md5:" + "ab" * 16),
        ("sha256:" + "0a" * 32, "sha256:" + "0a" * 32),
        ("0a" * 20 + "  folder/a file.mp3", "sha1:" + "0a" * 20),
        ("0a" * 64 + " *x", "sha512:" + "0a" * 64),
        ("SHA256 (a file.mp3) = " + "0a" * 32, "sha256:" + "0a" * 32),
        ("0a" * 17, None),
        ("xy" * 16, None),
        ("a line of text", None),
    ],
)
def test_digests(text: str, known: str | None) -> None:
    assert digest(text) == known
