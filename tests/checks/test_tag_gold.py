"""Tags that say what the gold says, in their own way, are found; what agrees by accident is not called proven."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from leakscan.checks import tag_gold
from leakscan.config import Config
from leakscan.model import Finding, Item, Ledger, Place, Private, Release, Tags

RNG = random.Random(7)
NUMBER = 12
TEMPOS = [str(61 + 13 * n) for n in range(NUMBER)]
PITCHES = ("C", "Db", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
KEYS = [f"{PITCHES[n]} {('major', 'minor')[n % 2]}" for n in range(NUMBER)]
VERSES = [" ".join(f"word{n}{letter}" for letter in "abcdefgh") for n in range(NUMBER)]

Pairs = Sequence[tuple[str, str]]


def audio(number: int, tags: Pairs, rate: str = "") -> Item:
    ledger = Ledger("wav", (), (("rate", rate),)) if rate else None
    return Item(Place(f"audio/R{number:04}.wav"), "audio", Tags("wav", tuple(tags), (), ledger))


def judge(
    tags: Sequence[Pairs], gold: Sequence[Mapping[str, str]], records: Sequence[Mapping[str, str]] = (), rate: str = ""
) -> list[Finding]:
    table = {f"R{n:04}": row for n, row in enumerate(gold)}
    check = tag_gold.check(Config(), Private(gold=table))
    items = [audio(n, pairs, rate) for n, pairs in enumerate(tags)]
    items += [Item(Place("p.jsonl", n), "record", record) for n, record in enumerate(records, 1)]
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


def one(name: str, values: Sequence[str], field: str, gold: Sequence[str], rate: str = "") -> Finding:
    (finding,) = judge([[(name, value)] for value in values], [{field: value} for value in gold], rate=rate)
    assert not any(value in repr((finding.message, finding.evidence)) for value in (*values, *gold) if len(value) > 3)
    return finding


@pytest.mark.parametrize(
    ("write", "relation"),
    [
        (lambda tempo: f"{tempo}", "as it is"),
        (lambda tempo: f"{tempo * 1.019:.2f}", "as it is"),
        (lambda tempo: f"{tempo / 2:.2f} BPM", "at half"),
        (lambda tempo: f"{tempo * 2}", "at double"),
    ],
)
def test_tempo(write, relation: str) -> None:  # type: ignore[no-untyped-def]
    tempos = [64, 71, 79, 88, 98, 109, 121, 135, 150, 167, 186, 199]
    finding = one("id3.TBPM", [write(tempo) for tempo in tempos], "tempo", [f"{tempo}.0" for tempo in tempos])
    assert finding.confidence == "proven"
    assert f"the own gold (tempo) of 12 of 12 files ({relation} 12)" in finding.message
    assert (finding.place.name, finding.count, len(finding.places)) == ("id3.TBPM", 12, 12)


@pytest.mark.parametrize("factor", [1.03, 0.52, 1.5, 3, 4])
def test_other_tempos_say_nothing(factor: float) -> None:
    assert judge([[("id3.TBPM", f"{100 * factor}")]] * 8, [{"tempo": "100"}] * 8) == []


MINOR = {"A": "8A", "E": "9A", "B": "10A", "F#": "11A", "Db": "12A", "Ab": "1A", "Eb": "2A", "Bb": "3A", "F": "4A",
         "C": "5A", "G": "6A", "D": "7A"}  # fmt: skip
MAJOR = {"C": "8B", "G": "9B", "D": "10B", "A": "11B", "E": "12B", "B": "1B", "F#": "2B", "Db": "3B", "Ab": "4B",
         "Eb": "5B", "Bb": "6B", "F": "7B"}  # fmt: skip


def wheel(key: str) -> str:
    pitch, mode = key.split()
    return (MINOR if mode == "minor" else MAJOR)[pitch]


def open_key(key: str) -> str:
    number = int(wheel(key)[:-1])
    return f"{(number + 4) % 12 + 1}{'m' if 'minor' in key else 'd'}"


def short(key: str) -> str:
    pitch, mode = key.split()
    return pitch + ("m" if mode == "minor" else "")


def enharmonic(key: str) -> str:
    pitch, mode = key.split()
    return {"Db": "C#", "Eb": "D#", "F#": "Gb", "Ab": "G#", "Bb": "A#", "B": "Cb"}.get(pitch, pitch) + " " + mode


def relative(key: str) -> str:
    pitch, mode = key.split()
    step = 3 if mode == "minor" else -3
    return PITCHES[(PITCHES.index(pitch) + step) % 12] + (" major" if mode == "minor" else " minor")


@pytest.mark.parametrize(
    ("write", "relation"),
    [
        (wheel, "the same key"),
        (lambda key: f"{wheel(key)} - 7", "the same key"),
        (open_key, "the same key"),
        (short, "the same key"),
        (enharmonic, "the same key"),
        (lambda key: key.replace("b ", " flat ").replace("# ", " sharp "), "the same key"),
        (relative, "its relative"),
    ],
)
def test_key(write, relation: str) -> None:  # type: ignore[no-untyped-def]
    finding = one("vorbis.initialkey", [write(key) for key in KEYS], "key", KEYS)
    assert finding.confidence == "proven"
    assert f"({relation} 12)" in finding.message


@pytest.mark.parametrize("value", ["13A", "0B", "8C", "H minor", "o", "C minor seven", "minor", "3/4"])
def test_other_keys_say_nothing(value: str) -> None:
    assert judge([[("id3.TKEY", value)]] * 8, [{"key": "C minor"}] * 8) == []


def test_the_letter_of_an_option_is_no_key() -> None:
    letters = ["A", "B", "C", "D", "E", "F"] * 2
    assert judge([[("id3.TKEY", letter)] for letter in letters], [{"answer": letter} for letter in letters]) == []
    assert judge([[("id3.TKEY", letter)] for letter in letters], [{"key": letter} for letter in letters]) != []


def test_lyrics() -> None:
    sung = [f"La la, {verse.upper()}!" for verse in VERSES]
    finding = one("id3.USLT", sung, "text", VERSES)
    assert (finding.confidence, finding.count) == ("proven", NUMBER)
    assert "(five words in a row 12)" in finding.message
    assert judge([[("id3.USLT", "word1a word1b word1c word1d other")]], [{"text": verse} for verse in VERSES]) == []


def test_moments() -> None:
    starts = [10.5 + 7 * n for n in range(NUMBER)]
    gold = [{"section_start": f"{start}", "span": f"0:00-{int(start) // 60}:{start % 60:04.1f}"} for start in starts]
    chapters = [[("id3.chapter_time", f"{time:.3f} s") for time in (0, start + 0.2, 500)] for start in starts]
    (first, second) = judge(chapters, gold)
    assert {first.message.split()[5], second.message.split()[5]} == {"(section_start)", "(span)"}
    assert (first.confidence, first.count, first.place.name) == ("proven", NUMBER, "id3.chapter_time")
    late = [[("id3.chapter_time", f"{start + 0.3:.3f} s")] for start in starts]
    assert judge(late, gold) == []


def test_moments_in_samples() -> None:
    starts = [10.5 + 7 * n for n in range(NUMBER)]
    gold = [f"{start}" for start in starts]
    cues = [f"{int(start * 8000)} samples" for start in starts]
    assert one("riff.cue_time", cues, "onset", gold, rate="8000").confidence == "proven"
    assert one("aiff.cue_time", cues, "onset", gold, rate="400bfa00000000000000").confidence == "proven"
    assert judge([[("riff.cue_time", cue)] for cue in cues], [{"onset": value} for value in gold]) == []
    wild = judge(
        [[("aiff.cue_time", cue)] for cue in cues], [{"onset": value} for value in gold], rate="7fff" + "f" * 16
    )
    assert wild == []


def test_an_interval_counts_when_both_ends_are_there() -> None:
    gold = [{"interval": f"{n + 1}.5-{n + 9}.25"} for n in range(NUMBER)]
    whole = [[("id3.chapter_time", f"{n + 1}.500 s"), ("id3.chapter_time", f"{n + 9}.250 s")] for n in range(NUMBER)]
    assert judge(whole, gold)
    assert judge([pairs[:1] for pairs in whole], gold) == []


def test_any_tag_counts_beyond_chance_only() -> None:
    finding = one("id3.COMM", TEMPOS, "tempo", TEMPOS)
    assert finding.confidence == "strong"
    assert judge([[("id3.COMM", tempo)] for tempo in TEMPOS[:4]], [{"tempo": tempo} for tempo in TEMPOS[:4]]) == []
    assert judge([[("id3.COMM", "120")]] * NUMBER, [{"tempo": "120"}] * NUMBER) == []


def test_a_tag_that_is_meant_for_it_counts_always_but_is_not_proven_by_accident() -> None:
    finding = one("id3.TBPM", TEMPOS[:2], "tempo", TEMPOS[:2])
    assert (finding.confidence, "which chance can explain" in finding.message) == ("strong", True)
    finding = one("id3.TBPM", ["120"] * NUMBER, "tempo", ["120"] * NUMBER)
    assert (finding.confidence, "shuffled gold of 100.0% (which chance" in finding.message) == ("strong", True)


def test_shuffled_tags_are_rarely_taken_for_gold() -> None:
    alarms = 0
    for seed in range(60):
        rng = random.Random(seed)
        values = [str(rng.randrange(60, 180)) for _ in range(40)]
        gold = [{"tempo": str(rng.randrange(60, 180)), "key": rng.choice(KEYS)} for _ in range(40)]
        pairs = [[("id3.COMM", value), ("id3.TIT1", rng.choice(KEYS))] for value in values]
        alarms += bool(judge(pairs, gold))
    assert alarms <= 60 * 2 * tag_gold.LEVEL


def test_records_tell_whose_file_it_is() -> None:
    tags = [[("id3.TBPM", tempo)] for tempo in TEMPOS]
    gold = {f"MUB-{n:05}": {"tempo": tempo} for n, tempo in enumerate(TEMPOS)}
    check = tag_gold.check(Config(), Private(gold=gold))
    items = [audio(n, pairs) for n, pairs in enumerate(tags)]
    assert [seen.value.key for item in items for seen in check.see(item)] == [None] * NUMBER
    items += [
        Item(Place("p.jsonl", n + 1), "record", {"id": f"MUB-{n:05}", "audio": f"audio/R{n:04}.wav"})
        for n in range(NUMBER)
    ]
    (finding,) = check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)])
    assert (finding.count, finding.confidence) == (NUMBER, "proven")


def test_nothing_without_gold() -> None:
    assert judge([[("id3.TBPM", "120")]], []) == []


def test_chance_is_judged_by_some_files_and_agreement_by_all() -> None:
    number = 3 * tag_gold.SAMPLE
    tempos = [f"{RNG.uniform(60, 180):.2f}" for _ in range(number)]
    (finding,) = judge([[("id3.TBPM", tempo)] for tempo in tempos], [{"tempo": tempo} for tempo in tempos])
    assert (finding.count, finding.confidence) == (number, "proven")
