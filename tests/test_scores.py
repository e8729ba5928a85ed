"""leakscan/scores.py"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan import scores

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"

distincts = st.integers(0, 100_000)
seconds = st.floats(0.1, 20_000)
ratios = st.floats(0, 3)
references = st.integers(1, 10**7)


def test_coefficients_are_those_that_were_fitted() -> None:
    fitted = json.loads((RESULTS / "score.json").read_text("utf-8"))
    said = (scores._CONSTANT, scores._LOG_DISTINCT, scores._LOG_SECONDS, scores._RATIO)
    assert said == tuple(fitted[name] for name in ("constant", "log distinct", "log seconds", "ratio"))


@given(distincts, seconds, ratios, references)
def test_is_a_probability_and_never_certain(distinct: int, length: float, ratio: float, among: int) -> None:
    assert 0 <= scores.score(distinct, length, ratio, among) <= scores.HIGHEST < 1


@given(distincts, seconds, st.floats(0, 2), st.floats(0.01, 1), references)
def test_falls_with_the_ratio(distinct: int, length: float, ratio: float, more: float, among: int) -> None:
    assert scores.score(distinct, length, ratio + more, among) <= scores.score(distinct, length, ratio, among)


@given(distincts, st.integers(1, 1000), seconds, ratios, references)
def test_rises_with_distinct_words(distinct: int, more: int, length: float, ratio: float, among: int) -> None:
    assert scores.score(distinct + more, length, ratio, among) >= scores.score(distinct, length, ratio, among)


@given(distincts, seconds, ratios, references)
def test_more_references_give_chance_more_tries(distinct: int, length: float, ratio: float, among: int) -> None:
    assert scores.score(distinct, length, ratio, 10 * among) <= scores.score(distinct, length, ratio, among)


def test_odds_fall_in_proportion_to_the_references() -> None:
    few, many = (scores.score(40, 8.0, 0.5, among) for among in (1000, 3000))
    assert few / (1 - few) == pytest.approx(3 * many / (1 - many))


def test_tells_copies_from_chance() -> None:
    assert scores.score(218, 30.0, 0.03) == scores.HIGHEST  # the median crop of 30 s
    assert scores.score(34, 7.0, 0.75) < 0.1  # the median best wrong alignment


def test_expected_number_of_false_matches() -> None:
    assert scores.expected_false([]) == 0
    assert scores.expected_false([0.9, 0.75, 1.0]) == pytest.approx(0.35)
