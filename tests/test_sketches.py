"""Candidates: copies and crops are among them, strangers and silence are not; the sketches are datasketch's own."""

from __future__ import annotations

import numpy as np
import pytest
import tunes
from datasketch import MinHash

from leakscan import sketches
from leakscan.fingerprints import fingerprint, telling, words
from leakscan.model import Fingerprint


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Fingerprint]:
    """Three pieces; of the first a re-encoded copy and a crop of 20 s; silence twice."""
    folder = tmp_path_factory.mktemp("sketches")
    made = {f"piece{seed}": tunes.write(folder / f"{seed}.wav", tunes.music(seed, 45)) for seed in (1, 2, 3)}
    made["copy"] = tunes.encode(made["piece1"], folder / "copy.mp3", "-b:a", "64k")
    made["crop"] = tunes.write(folder / "crop.wav", tunes.music(1, 45)[200_123 : 200_123 + 20 * tunes.RATE])
    for name in ("silence1", "silence2"):
        made[name] = tunes.write(folder / f"{name}.wav", np.zeros(30 * tunes.RATE))
    return {name: fingerprint(path) for name, path in made.items()}


def test_candidates_are_the_copies(heard: dict[str, Fingerprint]) -> None:
    names = list(heard)
    pairs = {(names[a], names[b]) for a, b in sketches.candidates(list(heard.values()))}
    assert {("piece1", "copy"), ("piece1", "crop"), ("copy", "crop")} <= pairs
    assert not {name for pair in pairs for name in pair if name.startswith("silence")}
    assert len(pairs) < 6


def test_candidates_are_in_order_and_do_not_depend_on_it(heard: dict[str, Fingerprint]) -> None:
    names = list(heard)
    fps = list(heard.values())
    pairs = sketches.candidates(fps)
    assert pairs == sorted(set(pairs))
    assert all(a < b for a, b in pairs)
    backwards = {frozenset((names[-1 - a], names[-1 - b])) for a, b in sketches.candidates(fps[::-1])}
    assert backwards == {frozenset((names[a], names[b])) for a, b in pairs}


def test_signatures_are_those_of_datasketch(heard: dict[str, Fingerprint]) -> None:
    fp = heard["piece2"]
    array = words(fp)
    first = MinHash(num_perm=32, seed=1, hashfunc=int)
    for word in array[:128][telling(array)[:128]]:
        first.update(word)
    assert np.array_equal(sketches.signatures(fp)[0].hashvalues, first.hashvalues)


@pytest.mark.parametrize(
    ("count", "windows"), [(0, 0), (1, 1), (33, 1), (128, 1), (129, 2), (192, 2), (193, 3), (1000, 15)]
)
def test_windows_cover_every_word(count: int, windows: int) -> None:
    array = np.random.default_rng(count).integers(2**32, size=count, dtype=np.uint32)
    assert len(sketches.signatures(Fingerprint(array.astype("<u4").tobytes(), 0.0))) == windows
    covered = {int(word) for part in sketches._windows(array) for word in part}
    assert covered == {int(word) for word in array[telling(array)]}


def test_nothing_gives_nothing() -> None:
    assert sketches.candidates([]) == []
    assert sketches.candidates([Fingerprint(b"", 0.0)] * 2) == []
