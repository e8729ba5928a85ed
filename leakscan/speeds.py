"""Copies that run at another speed: what a recording is like when it is played faster or slower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakscan import alignment, hearing
from leakscan.alignment import Pool
from leakscan.hearing import Tell
from leakscan.model import Alignment, Entry, Fingerprint, Unexamined
from leakscan.store import Store

SPEEDS = tuple(round(1 / (1 + step / 200), 6) for step in range(-12, 13) if step)
"""How fast to play what runs 6 % slower to 6 % faster than another recording, in steps of half a per cent."""


def play(
    files: Sequence[Entry], memory: Store | None = None, tell: Tell | None = None
) -> list[tuple[Entry, tuple[Fingerprint, ...] | Unexamined]]:
    """The fingerprints of files at all `SPEEDS`, else as `hearing.fingerprint_files`."""
    return hearing.at_speeds(files, SPEEDS, memory, tell)


def search(played: Sequence[Fingerprint], duration: float, pool: Pool) -> dict[int, Alignment]:
    """What a recording that was played at `SPEEDS`, and lasts so many seconds at its own, shares with the tracks of a
    pool: of each, by number, the closest of what is found at any speed."""
    best: dict[int, Alignment] = {}
    for speed, fp in zip(SPEEDS, played, strict=True):
        heard = alignment.hearings(replace(fp, duration=duration), speed)
        for number, one in alignment.search(heard, pool, len(pool.tracks) * len(SPEEDS)):
            best[number] = surest(best.get(number, one), one)
    return best


def surest(one: Alignment, other: Alignment) -> Alignment:
    """The alignment that is the same recording rather than a related one, then the one that differs least."""
    return min(one, other, key=lambda found: (found.grade == "C", found.bit_error))
