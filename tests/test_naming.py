"""Names tell nothing: not the old name, not the order; who has the key can deal them again."""

from __future__ import annotations

import pytest

from leakscan.naming import by_id, numbered

TRACKS = {f"album/{number:02}.mp3": ".mp3" for number in range(1, 31)}


def test_numbers_are_a_permutation_that_the_key_decides() -> None:
    names = numbered(TRACKS, b"k" * 32)
    assert sorted(names.values()) == [f"audio/{number:05}.mp3" for number in range(1, 31)]
    assert names == numbered(dict(reversed(TRACKS.items())), b"k" * 32)
    assert names != numbered(TRACKS, b"x" * 32)
    assert [names[path] for path in TRACKS] != sorted(names.values())


def test_names_grow_with_the_count_and_end_as_told() -> None:
    names = numbered({f"{number}.x": ".flac" for number in range(100_000)}, b"k")
    assert min(names.values()) == "audio/000001.flac"
    assert numbered({"\udcff.mp3": ""}, b"k") == {"\udcff.mp3": "audio/00001"}


@pytest.mark.parametrize(
    ("record_id", "pattern", "name"),
    [
        ("B1", r"audio/B\d\.wav", "audio/B1.wav"),
        ("B1", r"audio/B\d\.mp3", None),
        ("B1", None, None),
        (None, ".*", None),
        ("../x", ".*", None),
        ("..", ".*", None),
    ],
)
def test_ids_make_names_where_the_pattern_allows(record_id: str | None, pattern: str | None, name: str | None) -> None:
    assert by_id(record_id, ".wav", pattern) == name
