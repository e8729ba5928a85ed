"""The setup header of Vorbis."""

from __future__ import annotations

import places
import pytest
from places import ogg as hiding

from leakscan import vorbis


@pytest.fixture(params=["vorbis.ogg", "vorbis-stereo.ogg"])
def headers(request: pytest.FixtureRequest) -> list[bytes]:
    return hiding._Stream(request.param, places.base(request.param, hiding.BASES[request.param])).headers


def test_it_ends_where_its_last_field_does(headers: list[bytes]) -> None:
    head, _, setup = headers
    found = vorbis.setup(setup, head[11])
    assert found == (setup, (False, True))
    assert vorbis.setup(setup + b"junk", head[11]) == found


def test_bits_behind_the_last_one_are_cleared(headers: list[bytes]) -> None:
    head, _, setup = headers
    last = setup[-1]
    filled = last | 0xFF << last.bit_length() & 0xFF  # the last field is a bit that is set
    assert vorbis.setup(setup[:-1] + bytes([filled]), head[11]).clean == setup


def test_what_is_none_is_refused(headers: list[bytes]) -> None:
    head, _, setup = headers
    for wrong in (b"", setup[:7], setup[:-1], setup[:100], b"\3" + setup[1:], setup[:8] + b"x" + setup[9:]):
        with pytest.raises(ValueError, match="setup header"):
            vorbis.setup(wrong, head[11])


@pytest.mark.parametrize(("number", "power", "root"), [(0, 1, 0), (7, 3, 1), (8, 3, 2), (6561, 8, 3), (6560, 8, 2)])
def test_roots(number: int, power: int, root: int) -> None:
    assert vorbis._root(number, power) == root
