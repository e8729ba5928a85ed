"""Copies that run at another speed."""

from __future__ import annotations

import pytest

from leakscan import speeds


def test_the_speeds_reach_from_6_per_cent_slower_to_6_faster() -> None:
    copies = [1 / speed for speed in speeds.SPEEDS]
    assert (min(copies), max(copies)) == (pytest.approx(0.94), pytest.approx(1.06))
    assert 1.0 not in speeds.SPEEDS
    assert len(copies) == 24
