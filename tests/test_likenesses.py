"""Likenesses are those that aligning every pair finds; crowds are held together by a centre, not by every pair."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tunes

from leakscan import alignment, grouping, likenesses
from leakscan.fingerprints import STEP_S, WINDOW_S, Words, fingerprint
from leakscan.model import Alignment, Fingerprint

Pair = tuple[int, int]


def sound(seed: int, count: int) -> Words:
    return np.random.default_rng(seed).integers(2**32, size=count, dtype=np.uint32)


def damaged(words: Words, share: float, seed: int) -> Words:
    flips = np.random.default_rng(seed).random((len(words), 32)) < share
    return np.asarray(words ^ np.packbits(flips, axis=1).view("<u4").ravel(), np.uint32)


def fp(words: Words, *phases: Words) -> Fingerprint:
    later = tuple(phase.astype("<u4").tobytes() for phase in phases)
    return Fingerprint(words.astype("<u4").tobytes(), (len(words) - 1) * STEP_S + WINDOW_S, phases=later)


def exhaustive(fps: list[Fingerprint]) -> dict[Pair, Alignment]:
    pairs = itertools.combinations(range(len(fps)), 2)
    return {pair: found for pair in pairs if (found := alignment.align(fps[pair[0]], fps[pair[1]])) is not None}


@pytest.fixture(params=[0, likenesses.FEW], ids=["by sketches", "by words"])
def few(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> list[Fingerprint]:
    """Pieces, copies and crops of them, what sounds nothing, and strangers that share a beginning or a beat."""
    folder = tmp_path_factory.mktemp("likenesses")
    rate = tunes.RATE
    pieces = [tunes.music(seed, 40) for seed in range(4)]
    time = np.arange(30 * rate) / rate
    beat = (time % 0.5 < 0.05) * np.random.default_rng(1).normal(0, 0.4, len(time))
    silent = np.zeros(20 * rate)
    sounds = [
        *pieces,
        pieces[0][7 * rate + 99 : 27 * rate],
        np.concatenate((pieces[1][: 15 * rate], pieces[2][: 15 * rate], pieces[3][: 15 * rate])),
        np.concatenate((silent, pieces[2][: 20 * rate])),
        np.concatenate((silent, pieces[3][: 20 * rate])),
        silent,
        np.random.default_rng(2).normal(0, 0.1, len(time)),
        np.random.default_rng(3).normal(0, 0.1, len(time)),
        0.4 * np.sin(2 * np.pi * 440 * time),
        0.4 * np.sin(2 * np.pi * 880 * time),
        beat + 0.5 * tunes.music(50, 30),
        beat + 0.5 * tunes.music(51, 30),
    ]
    paths = [tunes.write(folder / f"{number}.wav", one) for number, one in enumerate(sounds)]
    paths += [tunes.encode(paths[number], folder / f"{number}.mp3", "-b:a", "64k") for number in (0, 1)]
    return [fingerprint(path) for path in paths]


def test_they_are_those_of_aligning_every_pair(few: int, heard: list[Fingerprint]) -> None:
    found = likenesses.find(heard, few=few)
    assert found == exhaustive(heard)
    assert set(found) == {
        (0, 4), (0, 15), (4, 15), (1, 5), (1, 16), (5, 16), (2, 5), (3, 5), (2, 6), (3, 7), (5, 6), (5, 7)
    }  # fmt: skip
    assert likenesses.find(heard, 28, few=few).keys() >= found.keys()


def test_what_sounds_nothing_and_shares_a_beat_is_in_no_group(few: int, heard: list[Fingerprint]) -> None:
    found = likenesses.find(heard, few=few)
    groups = grouping.group((f"{a:02}", f"{b:02}", one) for (a, b), one in found.items()).groups
    files = [[file for file, *_ in group.members] for group in groups]
    assert files == [["00", "04", "15"], ["01", "05", "16"], ["02", "05", "06"], ["03", "05", "07"]]


def test_they_do_not_depend_on_the_order(few: int, heard: list[Fingerprint]) -> None:
    last = len(heard) - 1
    backwards = likenesses.find(heard[::-1], few=few)
    assert {(last - b, last - a) for a, b in backwards} == likenesses.find(heard, few=few).keys()


def test_phases_of_either_side_are_used(few: int) -> None:
    """A recording none of whose own words is right is found by its phases, and lies as it would the other way."""
    whole = sound(1, 400)
    part = fp(damaged(whole[150:350], 0.22, 9), *(damaged(whole[150:350], 0.05, seed) for seed in range(3)))
    assert likenesses.find([fp(whole), replace(part, phases=())], few=few) == {}
    forward, back = likenesses.find([fp(whole), part], few=few), likenesses.find([part, fp(whole)], few=few)
    assert forward.keys() == back.keys() == {(0, 1)}
    assert forward[0, 1] == back[0, 1].turned()
    assert back[0, 1].offset_s == pytest.approx(-150 * STEP_S, abs=STEP_S)


def test_rare_neighbours_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a recording's two copies that share no minimum, both are like the recording, and so are aligned."""
    whole = sound(1, 500)
    fps = [fp(whole), fp(damaged(whole, 0.055, 2)), fp(damaged(whole, 0.055, 3))]
    join = likenesses.local.join
    monkeypatch.setattr(likenesses.local, "join", lambda packed: [without(hits, (1, 2)) for hits in join(packed)])
    assert likenesses.find(fps).keys() == {(0, 1), (0, 2), (1, 2)}


def without(hits: likenesses.local.Hits, pair: Pair) -> likenesses.local.Hits:
    kept = ~((hits.left == pair[0]) & (hits.right == pair[1]))
    return likenesses.local.Hits(hits.left[kept], hits.right[kept], hits.offsets[kept])


@pytest.mark.parametrize("inside", [False, True])
def test_a_crowd_is_one_group_without_every_pair(few: int, inside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of one jingle, alone or inside other recordings; two pieces repeated as often stay two groups."""
    count = 90
    jingles = [sound(1, 150), sound(2, 150)]
    fps = []
    for number in range(2 * count):
        jingle = damaged(jingles[number % 2], 0.02, number)
        parts = (sound(1000 + number, 40 + number), jingle, sound(5000 + number, 60)) if inside else (jingle,)
        fps.append(fp(np.concatenate(parts)))
    calls = []
    align = alignment.align_tracks
    monkeypatch.setattr(alignment, "align_tracks", lambda *given: calls.append(1) or align(*given))
    found = likenesses.find(fps, few=few)
    assert len(calls) < 2 * count * likenesses.CROWD < count * (count - 1)
    groups = grouping.group((f"{a:03}", f"{b:03}", one) for (a, b), one in found.items()).groups
    assert [len(group.members) for group in groups] == [count, count]
    assert all(len({int(file) % 2 for file, *_ in group.members}) == 1 for group in groups)


def test_a_medley_in_a_crowd_merges_nothing(few: int, tmp_path: Path) -> None:
    count = 40
    jingles = [sound(1, 150), sound(2, 150)]
    fps = [fp(damaged(jingles[number % 2], 0.02, number)) for number in range(2 * count)]
    fps.append(fp(np.concatenate((jingles[0], sound(3, 90), jingles[1]))))
    found = likenesses.find(fps, few=few)
    groups = grouping.group((f"{a:03}", f"{b:03}", one) for (a, b), one in found.items()).groups
    assert [len(group.members) for group in groups] == [count + 1, count + 1]


def test_nothing_is_like_nothing(few: int) -> None:
    assert likenesses.find([], few=few) == {}
    assert likenesses.find([fp(sound(1, 100)), fp(sound(2, 0)), fp(sound(3, 100))], few=few) == {}
