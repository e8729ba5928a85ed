"""Groups hold stretches of the same audio and never chain."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan import grouping
from leakscan.grouping import Link, in_several
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


def group(links: list[Link], apart: Collection[frozenset[str]] = frozenset()) -> tuple[Group, ...]:
    return grouping.group(links, apart).groups


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


def test_excerpts_that_overlap_are_listed_with_the_recording() -> None:
    parts = [link("a", (60, 90), "x", (0, 30)), link("a", (80, 110), "y", (0, 30)), link("x", (20, 30), "y", (0, 10))]
    assert files(group([*copies("a", "b"), *parts])) == [["a", "b", "x", "y"]]
    assert files(group(parts)) == [["a", "x"], ["a", "y"], ["x", "y"]]  # nothing says that a is one recording


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
    found = grouping.group(repeats)
    assert files(found.groups) == [["a", "b", "c"]]
    assert found.groups[0].edges == (("a", "b"), ("a", "c"), ("b", "c"))
    assert (found.repeating, grouping.group(links).repeating) == ((("a", "c"),), ())


def test_a_copy_at_another_speed_contradicts_no_offset() -> None:
    a, b, found = link("a", (6, 180), "b", (0, 174))
    faster = [
        (a, "s", replace(link(a, WHOLE, "s", WHOLE)[2], speed=0.95)),
        (b, "s", replace(link(b, (0, 174), "s", (5.7, 171))[2], speed=0.95)),
    ]
    groups = grouping.group([(a, b, found), *faster])
    assert files(groups.groups) == [["a", "b", "s"]]
    assert groups.repeating == ()


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


def test_what_was_judged_different_shares_no_group() -> None:
    links = copies("a", "b", "c")
    apart = {frozenset("bc")}
    groups = group(links, apart)
    assert files(groups) == [["a", "b"], ["a", "c"]]
    assert files(group(links, {frozenset("ab"), frozenset("bc"), frozenset("ac")})) == []
    excerpts = [link("a", (60, 90), "x", (0, 30))]
    assert files(group([*copies("a", "b"), *excerpts])) == [["a", "b", "x"]]
    assert files(group([*copies("a", "b"), *excerpts], {frozenset("bx")})) == [["a", "b"], ["a", "x"]]


def test_the_centre_is_what_most_are_linked_to_and_most_closely() -> None:
    """Of two with as many links, the one that is nearer to the others."""
    links = [link("a", WHOLE, "b", WHOLE), link("b", WHOLE, "c", WHOLE), link("c", WHOLE, "d", WHOLE)]
    assert files(group(links))[0] == ["a", "b", "c"]
    far = (*links[0][:2], replace(links[0][2], bit_error=0.11))
    assert files(group([far, *links[1:]])) == [["a", "b"], ["b", "c", "d"]]


def test_medleys_and_what_is_in_many_groups_are_named() -> None:
    groups = group([link("m", (0, 30), "a", (60, 90)), link("m", (30, 60), "z", (10, 40))])
    assert in_several(groups) == {"m": (1, 2)}
    assert in_several(group(copies("a", "b", "c"))) == {}


def turned(one: Link) -> Link:
    """The same link as seen from its other side."""
    a, b, found = one
    return b, a, replace(found, offset_s=-found.offset_s, span_a=found.span_b, span_b=found.span_a)


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
    shuffled = [turned(one) if number % 2 else one for number, one in enumerate(links)]
    random.Random(len(links)).shuffle(shuffled)
    assert grouping.group(shuffled) == grouping.group(links)
    used = [edge for one in groups for edge in one.edges]
    assert sorted(used) == sorted((a, b) for a, b, found in links if found.grade != "C")
    for one in groups:
        assert {file for edge in one.edges for file in edge} == {file for file, _, _ in one.members}


@pytest.mark.parametrize("count", [300])
def test_many_copies_are_quickly_grouped(count: int) -> None:
    names = [f"{number:03}" for number in range(count)]
    (one,) = group([link(names[0], WHOLE, name, WHOLE) for name in names[1:]])
    assert len(one.members) == count
