"""Groups hold stretches of the same audio and never chain."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan.grouping import Link, group
from leakscan.model import Alignment, Group


def link(
    a: str,
    span_a: tuple[float, float],
    b: str,
    span_b: tuple[float, float],
    grade: str = "A",
    offset: float | None = None,
) -> Link:
    offset = span_a[0] - span_b[0] if offset is None else offset
    return a, b, Alignment(offset, span_a, span_b, 0.05, 0.1, 100, grade, 0.9)  # type: ignore[arg-type]


def files(groups: tuple[Group, ...]) -> list[list[str]]:
    return [[file for file, _, _ in one.members] for one in groups]


WHOLE = (0.0, 180.0)


def copies(*names: str) -> list[Link]:
    return [link(a, WHOLE, b, WHOLE) for a, b in itertools.combinations(names, 2)]


def test_nothing_gives_nothing() -> None:
    assert group([]) == ()


def test_copies_are_one_group() -> None:
    assert group(copies("a", "b", "c")) == (
        Group((("a", *WHOLE), ("b", *WHOLE), ("c", *WHOLE)), (("a", "b"), ("a", "c"), ("b", "c"))),
    )


def test_an_excerpt_is_listed_with_the_copies_of_what_it_is_cut_from() -> None:
    excerpt = [link("a", (60, 90), "x", (0, 30)), link("b", (60, 90), "x", (0, 30))]
    (one,) = group([*copies("a", "b"), *excerpt])
    assert one.members == (("a", *WHOLE), ("b", *WHOLE), ("x", 0, 30))
    assert len(one.edges) == 3


def test_a_medley_merges_nothing() -> None:
    parts = [
        link("m", (0, 30), "a", (60, 90)), link("m", (0, 30), "b", (60, 90)),
        link("m", (30, 60), "y", (10, 40)), link("m", (30, 60), "z", (10, 40)),
    ]  # fmt: skip
    groups = group([*copies("a", "b"), *copies("y", "z"), *parts])
    assert files(groups) == [["a", "b", "m"], ["m", "y", "z"]]
    assert [{file: span for file, *span in one.members}["m"] for one in groups] == [[0, 30], [30, 60]]


def test_a_medley_of_overlapping_parts_merges_nothing() -> None:
    groups = group([link("m", (0, 34), "a", (0, 34)), link("m", (26, 60), "z", (0, 34))])
    assert files(groups) == [["a", "m"], ["m", "z"]]


def test_a_jingle_that_several_recordings_share_is_a_group_of_its_own() -> None:
    spots = {"a": (20, 30), "b": (20, 30), "y": (50, 60), "z": (50, 60)}
    jingle = [link(file, span, "j", (0, 10)) for file, span in spots.items()]
    across = [link(one, spots[one], other, spots[other]) for one in "ab" for other in "yz"]
    groups = group([*copies("a", "b"), *copies("y", "z"), *jingle, *across])
    assert files(groups) == [["a", "b"], ["a", "b", "j", "y", "z"], ["y", "z"]]


def test_likeness_to_a_likeness_is_not_enough() -> None:
    chain = [link(a, WHOLE, b, WHOLE) for a, b in itertools.pairwise("abcdef")]
    groups = group(chain)
    assert all(len(one) <= 3 for one in files(groups))
    assert sorted(edge for one in groups for edge in one.edges) == list(itertools.pairwise("abcdef"))


def test_a_circle_whose_offsets_do_not_add_up_is_refused() -> None:
    links = [link("a", WHOLE, "b", WHOLE), link("b", WHOLE, "c", WHOLE), link("a", WHOLE, "c", WHOLE, "B", offset=0.2)]
    assert files(group(links)) == [["a", "b", "c"]]
    repeats = [*links[:2], link("a", WHOLE, "c", WHOLE, "B", offset=8.0)]
    groups = group(repeats)
    assert files(groups) == [["a", "b", "c"], ["a", "c"]]
    assert groups[1].edges == (("a", "c"),)


def test_related_audio_joins_nothing() -> None:
    assert group([link("a", WHOLE, "b", WHOLE, "C")]) == ()
    assert files(group([*copies("a", "b"), link("b", WHOLE, "c", WHOLE, "C")])) == [["a", "b"]]


def test_short_stretches_that_barely_meet_are_two() -> None:
    assert files(group([link("m", (0, 9), "a", (0, 9)), link("m", (3, 12), "z", (0, 9))])) == [["a", "m"], ["m", "z"]]
    same = [
        link("m", (0, 7), "a", (0, 7)),
        link("m", (0.1, 7.1), "z", (0, 7)),
        link("a", (0, 7), "z", (0, 7), offset=0.1),
    ]
    assert files(group(same)) == [["a", "m", "z"]]


SPANS = st.sampled_from([(0.0, 180.0), (0.0, 30.0), (60.0, 90.0), (75.0, 105.0), (20.0, 28.0)])
PAIRS = st.lists(st.sampled_from(list(itertools.combinations("abcdef", 2))), unique=True, max_size=10)


@given(PAIRS, st.data())
def test_the_order_of_the_links_does_not_matter_and_each_is_used_once(
    pairs: list[tuple[str, str]], data: st.DataObject
) -> None:
    links = [
        link(a, data.draw(SPANS), b, data.draw(SPANS), data.draw(st.sampled_from("AABC"))) for a, b in pairs
    ]  # fmt: skip
    groups = group(links)
    shuffled = links[:]
    random.Random(len(links)).shuffle(shuffled)
    assert group(shuffled) == groups
    used = [edge for one in groups for edge in one.edges]
    assert sorted(used) == sorted((a, b) for a, b, found in links if found.grade != "C")
    for one in groups:
        assert {file for edge in one.edges for file in edge} == {file for file, _, _ in one.members}


@pytest.mark.parametrize("count", [300])
def test_many_copies_are_quickly_grouped(count: int) -> None:
    names = [f"{number:03}" for number in range(count)]
    (one,) = group([link(names[0], WHOLE, name, WHOLE) for name in names[1:]])
    assert len(one.members) == count
