"""The score: how likely an alignment is the same recording, fitted on some packages and tested on others.

Positives: every copy of 5 to 90 s, laid on its own recording.  Negatives: for some copies of each recording, the best
of all stretches that they share with any of 60 other recordings, at every offset.  Nothing is asked to meet the
conditions of a grade, so that the score knows what lies below them; pairs of recordings that were checked to share
music (results/relatives.csv) are left out.  The fit is a logistic regression on standardised features with a ridge of
1, by Newton's method, both classes weighing the same.  What was measured is kept in results/score-data.csv, so that
the fit can be repeated without the music.

Writes results/score-data.csv (with --measure), score.json and score.md.  leakscan/scores.py holds the coefficients.

Usage: python benchmarks/score.py [--measure]        reads bench-data, as benchmarks/corpus.py made it
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from unittest import mock

import corpus
import numpy as np
import numpy.typing as npt
import tables
from corpus import Copy

from leakscan import alignment, scores
from leakscan.alignment import Alignment, Track
from leakscan.fingerprints import Words

_SHORTEST_S, _LONGEST_S = 4.9, 90.5
_NEGATIVES = {"calibration": 5, "test": 2}  # copies of each recording
_OTHERS = 60  # recordings that each is held against
_WINDOW = alignment.MIN_WORDS
_NEAR = 0.36  # bit error of that many words, above which no stretch can gain anything
_TOP = 3  # stretches with a recording
_RIDGE = 1.0
_BINS = (0.0, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 1.0)
_LENIENT = alignment._Class("A", 0.0, 1.0, 99.0, 0, right=0, accepted=0)

Reals = npt.NDArray[np.float64]
Rows = Sequence[Mapping[str, str]]


def main(arguments: Sequence[str]) -> int:
    if "--measure" in arguments:
        tables.write_csv("score-data", list(measure()))
    rows = tables.read_csv("score-data")
    fitted = [row for row in rows if row["split"] == "calibration"]
    unseen = [row for row in rows if row["split"] == "test"]
    features, same = _features(fitted), _column(fitted, "same")
    weights = _weights(same)
    constant, *slopes = _fit(features, same, weights)
    names = ("log distinct", "log seconds", "ratio")
    model = {"constant": round(constant, 3)} | {
        name: round(slope, 3) for name, slope in zip(names, slopes, strict=True)
    }
    (tables.RESULTS / "score.json").write_text(json.dumps(model, indent=1) + "\n", "utf-8")
    text = ["# The score on packages that it was not fitted on\n", f"Coefficients: {json.dumps(model)}\n"]
    for name, some in (("calibration packages (fitted)", fitted), ("test packages (unseen)", unseen)):
        text += [f"## {name}\n", *_report(some)]
    (tables.RESULTS / "score.md").write_text("\n".join(text), "utf-8")
    print("\n".join(text))
    return 0


def measure() -> Iterator[dict[str, object]]:
    """What is to be told apart, of both sets of packages."""
    relatives = {frozenset((row["a"], row["b"])) for row in tables.read_csv("relatives")}
    for split, packages in (("calibration", corpus.CALIBRATION), ("test", corpus.TEST)):
        found = corpus.tracks(corpus.FOLDER, packages)
        tracks = {track.name: alignment.prepare(replace(track.heard, phases=())) for track in found}
        print(f"{split}: {len(tracks)} recordings", flush=True)
        rng = np.random.default_rng(corpus.SEED)
        for track in found:
            copies = [
                copy
                for copy in track.copies
                if _SHORTEST_S <= copy.fingerprint.duration <= _LONGEST_S and not copy.kind.startswith("speed")
            ]
            for copy in copies:
                yield from _row(split, copy, 1, _with_own(copy, tracks[copy.track]))
            for number in rng.permutation(len(copies))[: _NEGATIVES[split]]:
                copy = copies[number]
                own = {copy.track, copy.host}
                related = own | {name for pair in relatives if pair & own for name in pair}
                names = rng.permutation([name for name in tracks if name not in related])[:_OTHERS]
                yield from _row(split, copy, 0, _best_wrong(copy, [tracks[name] for name in names]))


def _row(split: str, copy: Copy, same: int, one: Alignment | None) -> Iterator[dict[str, object]]:
    if one is not None:
        yield {
            "split": split,
            "recording": copy.track.rpartition("/")[2],
            "kind": copy.kind,
            "same": same,
            "distinct": one.distinct,
            "seconds": round(one.overlap_s, 2),
            "ratio": round(one.ratio, 4),
            "bit_error": round(one.bit_error, 4),
        }


def _with_own(copy: Copy, track: Track) -> Alignment | None:
    """The alignment of a copy with its recording, whatever it amounts to."""
    with mock.patch.multiple(alignment, _CLASSES=(_LENIENT,), _EXCERPT=_LENIENT, _EXCERPT_WORDS=0):
        return alignment.align_tracks(alignment.hearings(copy.fingerprint), track)


def _best_wrong(copy: Copy, others: Sequence[Track]) -> Alignment | None:
    """The alignment with any other recording that looks most like the same one, of all that there are."""
    if len(copy.fingerprint) < _WINDOW:  # excerpts are told by the words that they share
        found = [_with_own(copy, other) for other in others]
    else:
        query = alignment.prepare(copy.fingerprint)
        with mock.patch.multiple(alignment, _CLASSES=(_LENIENT,)):
            found = [
                alignment._judge((query,), query, other, stretch)
                for other in others
                for stretch in _stretches(query.words, other.words)
            ]
    return max((one for one in found if one is not None), key=_claim, default=None)


def _stretches(query: Words, other: Words) -> list[alignment._Stretch]:
    """The stretches that gain most, at any offset; words are compared two by two."""
    around = len(query) - _WINDOW
    padded = np.concatenate((np.zeros(around, np.uint32), other, np.zeros(around + 1, np.uint32)))
    own = query[: len(query) // 2 * 2].view(np.uint64)
    found = []
    for odd in (0, 1):
        pairs = padded[odd : odd + (len(padded) - odd) // 2 * 2].view(np.uint64)
        if len(pairs) < len(own):
            continue
        errors = np.bitwise_count(np.lib.stride_tricks.sliding_window_view(pairs, len(own)) ^ own)
        total = np.cumsum(errors, axis=1, dtype=np.int32)
        least = (total[:, _WINDOW // 2 :] - total[:, : -(_WINDOW // 2)]).min(axis=1)
        offsets = around - odd - 2 * np.flatnonzero(least <= _NEAR * 32 * _WINDOW)
        found += [one for at in offsets.tolist() if (one := alignment._stretch(query, other, at)) is not None]
    return sorted(found, key=lambda one: -one.gain)[:_TOP]


def _claim(one: Alignment) -> float:
    """How much an alignment looks like the same recording, before there is a score."""
    return float(np.log(max(one.distinct, 1)) - 4 * min(one.ratio, 1.5))


def _column(rows: Rows, name: str) -> Reals:
    return np.array([float(row[name]) for row in rows])


def _features(rows: Rows) -> Reals:
    """Shape (len(rows), 3): the logarithms of distinct words and of seconds, and the ratio of the bit error."""
    return np.column_stack(
        (np.log(np.maximum(_column(rows, "distinct"), 1)), np.log(_column(rows, "seconds")), _column(rows, "ratio"))
    )


def _weights(same: Reals) -> Reals:
    """Weights by which both classes count the same, and all together as many as the fewer."""
    counts = np.array([np.sum(same == 0), np.sum(same == 1)])
    weights: Reals = counts.min() / counts[same.astype(int)]
    return weights


def _fit(features: Reals, same: Reals, weights: Reals) -> list[float]:
    """Constant and slopes of the logistic regression, for features as they are."""
    mean, spread = features.mean(0), features.std(0)
    table = np.column_stack((np.ones(len(same)), (features - mean) / spread))
    ridge = _RIDGE * np.diag([0.0] + [1.0] * features.shape[1])
    beta = np.zeros(table.shape[1])
    for _ in range(100):
        p = 1 / (1 + np.exp(-table @ beta))
        slope = table.T @ (weights * (same - p)) - ridge @ beta
        step = np.linalg.solve((table * (weights * p * (1 - p))[:, None]).T @ table + ridge, slope)
        beta += step
        if np.abs(step).max() < 1e-9:
            break
    slopes = beta[1:] / spread
    return [float(beta[0] - slopes @ mean), *slopes.tolist()]


def _report(rows: Rows) -> Iterator[str]:
    """Brier score, calibration error and reliability of `leakscan.scores` on some rows."""
    same = _column(rows, "same")
    weights = _weights(same)
    weights /= weights.sum()
    said = np.array(
        [
            scores.score(int(row["distinct"]), float(row["seconds"]), float(row["ratio"]), references=_OTHERS)
            for row in rows
        ]
    )
    place = np.clip(np.searchsorted(_BINS, said, "right") - 1, 0, len(_BINS) - 2)
    lines, error = [], 0.0
    for number in range(len(_BINS) - 1):
        here = place == number
        if here.any():
            weight = weights[here].sum()
            mean, share = np.average(said[here], weights=weights[here]), np.average(same[here], weights=weights[here])
            error += weight * abs(mean - share)
            lines.append(
                {
                    "score": f"{_BINS[number]:g} to {_BINS[number + 1]:g}",
                    "same": int(same[here].sum()),
                    "wrong": int((1 - same[here]).sum()),
                    "mean score": float(mean),
                    "share that is the same": float(share),
                }
            )
    brier = float((weights * (said - same) ** 2).sum())
    yield (
        f"{int(same.sum())} copies with their own recording, {int((1 - same).sum())} best wrong ones; both weigh the "
        f"same (prior 1/2).  Brier score {brier:.4f}, expected calibration error {error:.4f}.\n"
    )
    yield tables.markdown(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
