"""How likely an alignment is the same recording.

A logistic regression on three figures of an alignment, fitted by benchmarks/score.py on copies of 63 recordings of game
music (two Debian packages) and their best wrong alignments, and tested on 192 recordings of four other packages; its
data, its reliability and its coefficients are in benchmarks/results (score-data.csv, score.md, score.json).

A probability needs a prior.  It is taken to be as likely as not that a recording is among those that it is held
against.  More of them give chance more tries: the odds fall in proportion to their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

_CONSTANT = -2.343
_LOG_DISTINCT = 0.836
_LOG_SECONDS = 1.587
_RATIO = -12.212
_REFERENCES = 60  # that each wrong alignment was the best of
_PAIRS = 1953  # of recordings, all of them wrong and none scored higher
HIGHEST = 1 - 3 / _PAIRS
"""No score is higher: what never happened in n independent trials may still have a probability of 3/n (95 %)."""


def score(distinct: int, seconds: float, ratio: float, references: int = 1) -> float:
    """The probability that a stretch that two recordings share is the same recording.

    `distinct` different words lie in it, or, of less than 33 words, are shared; it is `seconds` of audio long; `ratio`
    is its bit error against that at wrong offsets nearby; it is the best of what was found among so many references.
    """
    logit = (
        _CONSTANT
        + _LOG_DISTINCT * math.log(max(distinct, 1))
        + _LOG_SECONDS * math.log(max(seconds, 1.0))
        + _RATIO * ratio
        - math.log(max(1.0, references / _REFERENCES))
    )
    return min(HIGHEST, 1 / (1 + math.exp(-max(-700.0, min(700.0, logit)))))


def expected_false(scores: Iterable[float]) -> float:
    """How many of the alignments with these scores are expected to be of different recordings."""
    return math.fsum(1 - one for one in scores)
