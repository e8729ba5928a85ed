"""Accuracy of matching on real music: copies of the test recordings against an index of all of them.

For every kind of copy: how many are matched to their recording, how many to another, and how far the offsets are off.
Then all pairs of recordings, against the list of those that were checked to share music (results/relatives.csv);
sounds that are no music, which must match nothing; a sealed index, which must give the same answers.  Last, what is
promised, and whether it holds: the exit status is 1 when something does not.

Writes results/corpus.csv, match.csv, misses.csv, pairs.csv and match.md.

Usage: python benchmarks/match.py [FOLDER]        default: bench-data, as benchmarks/corpus.py made it
"""

from __future__ import annotations

import sys
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import tables
from corpus import Copy, Sound, Track
from scipy.io import wavfile

from leakscan import alignment, fingerprints, index, matching, store
from leakscan.matching import Effort
from leakscan.model import Alignment, Entry, Fingerprint, Match, Reference
from leakscan.sealing import Key, Lock

_SAMPLED_PIECES = 5
_PIECE_S = 4.0
_SLACK_S = 0.2
_FAR_S = 0.06
_SPED = 30  # copies at each other speed: each is heard at 24 speeds
_LEAST_REPEAT_S = 1.0  # a wrong offset by more than that may be an exact repeat
_NO_CODEC = ("gain", "noise", "crop", "bass", "smile", "echo", "one-channel", "embed")  # kinds that are made again
_NOISE = ["noise-30", "noise-20", "noise-10"]
_REPEATED = 0.08  # bit error: what the worst phase costs

Pair = frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a copy: whether it was matched to its own recording (`contested`: a checked relative claims it,
    too), to strangers, or tells too little (too short, or nearly silent, if need be before noise was added); by how
    many seconds the offset is wrong, or that it is right but for an exact repeat inside the recording."""

    copy: Copy
    own: bool
    contested: bool
    strangers: tuple[str, ...]
    to_review: tuple[str, ...]
    untold: bool
    error_s: float | None
    repeated: bool


def main(folder: Path) -> int:
    about = corpus.packages(folder)
    tables.write_csv("corpus", [{**one, "licences": "; ".join(one["licences"])} for one in about])
    tracks = corpus.tracks(folder, corpus.TEST)
    relatives = {frozenset((row["a"], row["b"])) for row in tables.read_csv("relatives")}
    references = [Reference(track.name, replace(track.heard, phases=())) for track in tracks]
    print(f"{len(tracks)} recordings, {sum(track.heard.duration for track in tracks) / 3600:.1f} h", flush=True)

    copies: dict[str, list[Copy]] = defaultdict(list)
    for track in tracks:
        for copy in track.copies:
            copies[_family(copy)].append(copy)
    outcomes = {
        kind: list(matched(made, references, relatives))
        for kind, made in copies.items()
        if not kind.startswith("speed")
    }
    outcomes |= {
        kind: list(_sped(folder, made, references, relatives))
        for kind, made in copies.items()
        if kind.startswith("speed")
    }
    for kind in [kind for kind in outcomes if kind.startswith(_NO_CODEC)]:
        outcomes[kind] = list(_again(folder, outcomes[kind], references, relatives, Effort()))
    for kind in [f"{altered}-crop-30" for altered in ("bass+8", "smile", "echo", "one-channel")] + _NOISE:
        closely = _again(folder, outcomes[kind], references, relatives, Effort(sensitive=True))
        outcomes[f"{kind} --sensitive"] = list(closely)
    lines = [line(kind, ended) for kind, ended in outcomes.items()]
    tables.write_csv("match", lines)
    tables.write_csv("misses", list(_misses(outcomes)))

    everything = [*tracks, *corpus.tracks(folder, corpus.CALIBRATION)]
    pairs = list(_pairs(folder, everything, relatives))
    tables.write_csv("pairs", pairs)
    unmusical = _sounds(folder)
    false = list(_false(unmusical, references))
    same = _sealed_alike(references, copies["crop-30"])
    holds = list(_promises(outcomes, pairs, false, same))
    text = (
        f"# Matching on real music\n\n{len(tracks)} test recordings of 20 s and more "
        f"({sum(track.heard.duration for track in tracks) / 3600:.1f} h).  Where full recordings get noise or another "
        f"level, sound effects and voices are counted apart: {_listed(tracks)}.  Intervals: Wilson, 95 %.\n\n"
        f"{tables.markdown(lines)}\n## Pairs of recordings that are accepted\n\n"
        f"All {len(everything) * (len(everything) - 1) // 2:,} pairs (with the calibration packages), each recording "
        "heard at four phases against the others.\n\n"
        f"{tables.markdown(pairs)}\n## Sounds that are no music\n\n{len(unmusical)} against {len(references)} "
        f"recordings and among themselves: {len(false)} accepted.\n\n{tables.markdown(false)}\n"
        f"## What is promised\n\n{tables.markdown(holds)}"
    )
    (tables.RESULTS / "match.md").write_text(text, "utf-8")
    print(text)
    return 0 if all(held["holds"] == "yes" for held in holds) else 1


def _listed(tracks: Sequence[Track]) -> str:
    return ", ".join(track.name.rpartition("/")[2] for track in tracks if not corpus.is_music(track.name))


def _family(copy: Copy) -> str:
    """What copies are counted together."""
    if copy.kind.endswith("-whole"):
        return "whole files"
    if copy.kind.endswith(" whole") and not corpus.is_music(copy.track):
        return f"{copy.kind}, no music"
    return copy.kind.replace("left", "one-channel").replace("right", "one-channel")


def matched(copies: Sequence[Copy], references: Sequence[Reference], relatives: set[Pair]) -> Iterator[Outcome]:
    """What becomes of copies, one of each recording, by their fingerprints; `relatives` may claim each other's."""
    heard = [(_entry(copy), copy.fingerprint) for copy in copies]
    yield from _outcomes(copies, references, matching.match_heard(heard, references).rows, relatives)


def _sped(
    folder: Path, copies: Sequence[Copy], references: Sequence[Reference], relatives: set[Pair]
) -> Iterator[Outcome]:
    files = []
    copies = sorted(copies, key=lambda copy: zlib.crc32(copy.track.encode()))[:_SPED]
    for copy in copies:
        path = folder / "speeds" / f"{corpus.flat(copy.track)}{copy.kind}.wav"
        files.append(Entry(copy.track, path, path.stat().st_size))
    with store.opened(str(folder / "store")) as memory:
        report = matching.match(files, references, memory, effort=Effort(speed=True))
    yield from _outcomes(copies, references, report.rows, relatives)


def _again(
    folder: Path, ended: Sequence[Outcome], references: Sequence[Reference], relatives: set[Pair], effort: Effort
) -> Iterator[Outcome]:
    """What becomes of copies as files: those that their fingerprints did not match are made again, and matched."""
    missed = [one.copy for one in ended if not one.own and not one.untold]
    with tempfile.TemporaryDirectory() as work:
        files = []
        for number, copy in enumerate(missed):
            path = Path(work) / f"{number}.wav"
            wavfile.write(path, corpus.RATE, corpus.samples(folder, copy))
            files.append(Entry(copy.track, path, path.stat().st_size))
        rows = matching.match(files, references, effort=effort).rows if files else ()
    again = {one.copy: one for one in _outcomes(missed, references, rows, relatives)}
    yield from (again.get(one.copy, one) for one in ended)


def _entry(copy: Copy) -> Entry:
    return Entry(copy.track, Path(copy.track), 0)  # only its name is read: it was heard before


def _outcomes(
    copies: Sequence[Copy], references: Sequence[Reference], rows: Iterable[Any], relatives: set[Pair]
) -> Iterator[Outcome]:
    originals = {reference.id: reference.fingerprint for reference in references}
    by_file: dict[str, list[Match]] = defaultdict(list)
    for row in rows:
        by_file[row.file].append(row)
    related = {name for pair in relatives for name in pair}
    for copy in copies:
        claims = [row for row in by_file[copy.track] if row.id]
        fair = {copy.track, copy.host} | {name for pair in relatives if pair & {copy.track, copy.host} for name in pair}
        own = next((row for row in claims if row.id == copy.track), None)
        alone = own is not None and own.state != "ambiguous"  # a conflict is between files: another holds it, too
        contested = own is not None and not alone and copy.track in related
        strangers = [row for row in claims if row.id not in fair]
        offset = None if own is None else own.offset_s
        error = None if offset is None else abs(offset - copy.offset_s)
        repeated = error is not None and error > _LEAST_REPEAT_S and _repeats(originals[copy.track], copy, offset)
        yield Outcome(
            copy,
            alone or contested,
            contested,
            tuple(row.id for row in strangers if row.state != "ambiguous"),
            tuple(row.id for row in strangers if row.state == "ambiguous"),
            fingerprints.is_constant(_without_noise(originals[copy.track], copy))
            or any(row.state == "too-short" for row in by_file[copy.track]),
            None if repeated else error,
            repeated,
        )


def _without_noise(original: Fingerprint, copy: Copy) -> Fingerprint:
    """What a copy holds of its recording; of most all that is to be heard."""
    if not copy.kind.startswith("noise"):
        return copy.fingerprint
    start = round(-copy.offset_s / fingerprints.STEP_S)
    part = fingerprints.words(original)[start : start + len(copy.fingerprint)]
    return Fingerprint(part.tobytes(), copy.length_s)


def _repeats(original: Fingerprint, copy: Copy, claimed_s: float) -> bool:
    """Whether what the copy holds sounds again, as exactly as a codec leaves it, where an offset claims it to be."""
    array = fingerprints.words(original)
    true, claimed = (round(-offset / fingerprints.STEP_S) for offset in (copy.offset_s, claimed_s))
    size = min(len(copy.fingerprint), len(array) - max(true, claimed))
    lead = max(0, -min(true, claimed))  # the copy may begin before the recording does
    part, other = (array[start + lead : start + max(lead, size)] for start in (true, claimed))
    return len(part) > 0 and float(np.bitwise_count(part ^ other).mean()) / 32 <= _REPEATED


def line(kind: str, outcomes: Sequence[Outcome]) -> dict[str, object]:
    """The line of a kind in the table."""
    judged = [one for one in outcomes if not one.untold]
    own = [one for one in judged if one.own]
    low, high = tables.wilson(len(own), len(judged))
    errors = [one.error_s for one in own if one.error_s is not None]
    return {
        "kind": kind,
        "n": len(judged),
        "matched": len(own),
        "share": len(own) / len(judged) if judged else None,
        "low": low,
        "high": high,
        "contested by a relative": sum(one.contested for one in own),
        "tell too little": len(outcomes) - len(judged),
        "to a stranger": sum(bool(one.strangers) for one in outcomes),
        "stranger for review": sum(bool(one.to_review) for one in outcomes),
        "in an exact repeat": sum(one.repeated for one in own),
        "offset error median s": float(np.median(errors)) if errors else None,
        "offset error p99 s": float(np.quantile(errors, 0.99)) if errors else None,
    }


def _misses(outcomes: Mapping[str, Sequence[Outcome]]) -> Iterator[dict[str, object]]:
    """The copies that were not matched as they should be."""
    for ended in outcomes.values():
        for one in ended:
            missed = not one.own and not one.untold
            far = one.error_s is not None and one.error_s > _FAR_S
            if missed or far or one.strangers or one.to_review:
                yield {
                    "recording": one.copy.track,
                    "kind": one.copy.kind,
                    "missed": "yes" if missed else "",
                    "offset wrong by s": one.error_s if far else None,
                    "to a stranger": "; ".join(one.strangers),
                    "stranger for review": "; ".join(one.to_review),
                }


def _pairs(folder: Path, tracks: Sequence[Track], relatives: set[Pair]) -> Iterator[dict[str, object]]:
    """All pairs of recordings that are accepted, each heard at four phases against the others."""
    pool = alignment.gather([alignment.prepare(track.heard) for track in tracks])
    best: dict[Pair, tuple[Alignment, Track, Track]] = {}
    for number, track in enumerate(tracks):
        for other, found in alignment.search(alignment.hearings(track.heard), pool):
            pair = frozenset((track.name, tracks[other].name))
            if other != number and (pair not in best or found.grade < best[pair][0].grade):
                best[pair] = found, track, tracks[other]
    paths = {
        name: path
        for package in (*corpus.CALIBRATION, *corpus.TEST)
        for name, path in corpus.files(folder, package).items()
    }
    for pair, (found, a, b) in sorted(best.items(), key=lambda one: (one[1][0].grade, sorted(one[0]))):
        yield {
            "a": a.name,
            "b": b.name,
            "grade": found.grade,
            "overlap_s": round(found.overlap_s, 1),
            "offset_s": found.offset_s,
            "bit_error": round(found.bit_error, 3),
            "ratio": round(found.ratio, 3),
            "correlation": round(correlation(paths[a.name], paths[b.name], found), 2),
            "checked": "yes" if pair in relatives else "no",
        }


def correlation(a: Path, b: Path, found: Alignment) -> float:
    """How alike the waveforms of an aligned stretch are: the best correlation of five pieces of 4 s, each shifted by up
    to 0.2 s.  Copies of one recording reach .8 and more, unrelated recordings stay below .15."""
    one, other = (corpus.decode(path).mean(1) for path in (a, b))
    size, slack = int(_PIECE_S * corpus.RATE), int(_SLACK_S * corpus.RATE)
    first, end = found.span_a
    best = 0.0
    for start in np.linspace(first, max(first, end - _PIECE_S), _SAMPLED_PIECES):
        at = int(start * corpus.RATE)
        piece = one[at : at + size]
        begin = int((start - found.offset_s) * corpus.RATE) - slack
        around = other[max(0, begin) : max(0, begin) + size + 2 * slack]
        if len(piece) == size and len(around) >= size:
            best = max(best, _likeness(piece, around))
    return best


def _likeness(piece: Sound, around: Sound) -> float:
    """The greatest correlation of a piece with any part of what is around."""
    products = np.correlate(around, piece, "valid") if len(around) < 4 * len(piece) else np.zeros(1)
    energy = np.convolve(around**2, np.ones(len(piece), np.float32), "valid")
    level = np.sqrt(np.maximum(energy, 1e-12) * max(float((piece**2).sum()), 1e-12))
    return float(np.abs(products / level).max())


def _sounds(folder: Path) -> dict[str, Fingerprint]:
    """Sounds that are no music, or of which no two are the same recording, by name."""
    rate, rng = corpus.RATE, np.random.default_rng(corpus.SEED)
    time = np.arange(30 * rate) / rate
    sounds: dict[str, Any] = {
        "silence": 0 * time,
        "dither": rng.uniform(-1, 1, len(time)) / 32768,
        "dither, 2 bits": rng.uniform(-2, 2, len(time)) / 32768,
        "hiss -60 dB": rng.normal(0, 0.001, len(time)),
        "white noise": rng.normal(0, 0.1, len(time)),
        "white noise, another": rng.normal(0, 0.1, len(time)),
        "brown noise": 0.3 * _scaled(np.cumsum(rng.normal(0, 1, len(time)))),
        "hum 50 Hz": sum(0.2 / part * np.sin(2 * np.pi * 50 * part * time) for part in range(1, 9)),
        "hum 60 Hz": sum(0.2 / part * np.sin(2 * np.pi * 60 * part * time) for part in range(1, 9)),
        "sweep": 0.5 * np.sin(2 * np.pi * (100 * time + 50 * time**2)),
    }
    for pitch in (220, 440, 880, 1000):
        sounds[f"tone {pitch} Hz"] = 0.5 * np.sin(2 * np.pi * pitch * time)
    for number, chord in enumerate(((110, 165, 220), (220, 277.2, 329.6), (196, 246.9, 293.7), (130.8, 155.6, 196))):
        swell = 1 + 0.3 * np.sin(2 * np.pi * 0.2 * time)
        sounds[f"drone {number}"] = swell * sum(0.2 * np.sin(2 * np.pi * pitch * time) for pitch in chord)
    for beats in (60, 90, 120, 150):
        sounds[f"metronome {beats}"] = (time % (60 / beats) < 0.01) * 0.5 * np.sin(2 * np.pi * 1000 * time)
    for number in range(4):
        bar = np.zeros(2 * rate)
        for at in rng.choice(16, 7, replace=False):
            hit = np.arange(2 * rate // 8) / rate
            begin = int(at * rate / 8)
            tone = np.sin(2 * np.pi * rng.uniform(60, 200) * hit) + 0.5 * rng.normal(0, 1, len(hit))
            bar[begin : begin + len(hit)] += (0.3 * np.exp(-20 * hit) * tone)[: len(bar) - begin]
        sounds[f"drum loop {number}"] = np.tile(bar, 15)
    heard = {name: corpus.hear(corpus.to_samples(np.asarray(sound, np.float32))) for name, sound in sounds.items()}
    return heard | {name: corpus.hear(sound) for name, sound in corpus.speech(folder).items()}


def _scaled(sound: Any) -> Any:
    return sound / np.abs(sound).max()


def _false(sounds: Mapping[str, Fingerprint], references: Sequence[Reference]) -> Iterator[dict[str, object]]:
    """What sounds that are no music match: recordings, and one another."""
    everything = [*references, *(Reference(name, replace(fp, phases=())) for name, fp in sounds.items())]
    heard = [(Entry(name, Path(name), 0), fp) for name, fp in sounds.items()]
    for row in matching.match_heard(heard, everything).rows:
        if row.file and row.id and row.file != row.id:
            yield {"sound": row.file, "matches": row.id, "state": row.state, "overlap_s": row.overlap_s}


def _sealed_alike(references: Sequence[Reference], copies: Sequence[Copy]) -> bool:
    """Whether an index that was sealed and opened again gives the same rows as a plain one."""
    heard = [(_entry(copy), copy.fingerprint) for copy in copies]
    with tempfile.TemporaryDirectory() as folder:
        sealed, plain = Path(folder) / "sealed", Path(folder) / "plain"
        index.write_sealed(references, sealed, Lock(passphrase="only for the benchmark"))
        index.write_plain(references, plain)
        opened = index.read(sealed, Key(passphrase="only for the benchmark")), index.read(plain)
    one, other = (matching.match_heard(heard, read).rows for read in opened)
    return one == other


_PROMISES: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    ("re-encodings, full files, gain and noise (on full files: of music): 100 %", 1.0, (
        *corpus.CODECS, "gain-12", "gain-30", *_NOISE, "gain-12 whole", "gain-30 whole", "noise-30 whole",
        "noise-20 whole", "noise-10 whole", "whole files")),
    ("crops and excerpts of 10-30 s: 99 %", 0.99, ("crop-30", "crop-20", "crop-10", "mp3-64-10", "mp3-64-30")),
    ("crops of 5 s that tell enough: 95 %", 0.95, ("crop-5",)),
    ("full files of 85 s and more with EQ: 94 %", 0.94, ("bass+8", "smile")),
    ("with echo: 92 %", 0.92, ("echo",)),
    ("one channel: 90 %", 0.90, ("one-channel",)),
    ("their crops of 30 s: 80 %", 0.80, (
        "bass+8-crop-30", "smile-crop-30", "echo-crop-30", "one-channel-crop-30")),
    ("the same with --sensitive: 90 %", 0.90, (
        "bass+8-crop-30 --sensitive", "smile-crop-30 --sensitive", "echo-crop-30 --sensitive",
        "one-channel-crop-30 --sensitive")),
    ("other speeds, 60 s: 97 %", 0.97, tuple(f"speed{per_cent:+}" for per_cent in corpus.SPEEDS)),
)  # fmt: skip


def _promises(
    outcomes: Mapping[str, Sequence[Outcome]],
    pairs: Sequence[Mapping[str, object]],
    false: Sequence[object],
    sealed: bool,
) -> Iterator[dict[str, object]]:
    for promise, least, kinds in _PROMISES:
        shares = {kind: line(kind, outcomes.get(kind, ())) for kind in kinds}
        poor = {kind: one["share"] for kind, one in shares.items() if one["share"] is None or one["share"] < least}
        said = "; ".join(f"{kind} {'not made' if share is None else f'{share:.3f}'}" for kind, share in poor.items())
        yield _held(promise, not poor, said)
    wrong = [f"{one.copy.track} {one.copy.kind}" for ended in outcomes.values() for one in ended if one.strangers]
    yield _held("no copy matched to a stranger", not wrong, "; ".join(wrong))
    new = [f"{row['a']} and {row['b']}" for row in pairs if row["checked"] != "yes"]
    yield _held("no accepted pair outside the checked relatives", not new, "; ".join(new))
    yield _held("what is no music matches nothing", not false, f"{len(false)} accepted")
    errors = [
        one.error_s for kind, ended in outcomes.items() if not kind.startswith("speed") for one in ended if one.own
    ]
    known = [error for error in errors if error is not None]
    worst = float(np.quantile(known, 0.99)) if known else 1.0
    yield _held("offset error at most 0.06 s on 99 %", worst <= 0.06, f"p99 {worst:.3f} s, n {len(known)}")
    yield _held("a sealed index gives the same answers", sealed, "")


def _held(promise: str, holds: bool, said: str) -> dict[str, object]:
    return {"promise": promise, "holds": "yes" if holds else "no", "what": said}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else corpus.FOLDER))
