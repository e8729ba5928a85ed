"""What looks like a leak in real benchmarks and is none: all rules together say nothing about it.

Every case is a synthetic look-alike of something that public data sets hold and that simpler scanners report.
"""

from __future__ import annotations

import base64
import hashlib
import random
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from leakscan import rulebook
from leakscan.config import Config
from leakscan.model import Example, Item, Place, Private, Release, Tags
from leakscan.scanning import Options, judge, try_example

RULES = rulebook.load()
NUMBER = 60
RNG = random.Random(2)
LETTERS = "ABCD"
GENRES = ("blues", "jazz", "rock", "disco")
LABELS = [RNG.choice(GENRES) for _ in range(NUMBER)]
SHUFFLED = [RNG.sample(GENRES, 4) for _ in range(NUMBER)]
CHORDS = ("Cadd9", "Badd9", "Dadd9", "Eadd9", "Fadd9", "Bbadd9", "Bbb", "Abb", "D", "E", "F#m")
WORDS = ("dog_barking", "1950s-1960s", "percussions", "Philharmoni", "instruments", "decade", "facade")

Row = Callable[[int], Mapping[str, Any]]

TRAPS: dict[str, Row] = {
    "fractions of floats": lambda n: {"score": RNG.random(), "text": str(RNG.random()), "rest": 1 - n / 7},
    "exponents": lambda n: {"loss": f"{RNG.randrange(10**11)}e-10", "floor": RNG.random() * 1e-10},
    "timestamps": lambda n: {"at": 1700000000 + 37 * n, "ms": str(1700000000123 + n), "on": str(2009113012134556 + n)},
    "numbers of users": lambda n: {"owner": 3546744220551359 + 991 * n, "number": RNG.randrange(10**9, 10**10)},
    "zero-padded numbers": lambda n: {"row": f"{n:08}", "shard": f"{n % 7:05}-of-00007"},
    "start times": lambda n: {"start": 3841 * n, "clip": f"{n:06}_{3840 * n + 1}"},
    "random UUIDs": lambda n: {"id": str(uuid.UUID(int=RNG.getrandbits(128), version=4)), "audio_id": f"audio_{n}"},
    "random UUIDs without dashes": lambda n: {"id": uuid.UUID(int=RNG.getrandbits(128), version=4).hex},
    "a fingerprint of a shard": lambda n: {"shard": "test-00000-of-00001-557f11f5f8c72ffa.parquet"},
    "a commit": lambda n: {"commit": hashlib.sha1(b"x").hexdigest(), "code": f"https://git.example/x/{'0a1b2' * 8}"},
    "the oid of a pointer": lambda n: {"pointer": f"oid sha256:{hashlib.sha256(b'x').hexdigest()}"},
    "a build and an etag": lambda n: {"build_sha": hashlib.sha1(b"y").hexdigest()},
    "colours": lambda n: {"colour": ("#466852", "#c0ffee", "#decade", "#facade")[n % 4]},
    "integrity of a script": lambda n: {"integrity": "sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K"},
    "eleven letters": lambda n: {"source": WORDS[n % len(WORDS)], "name": WORDS[(n + 3) % len(WORDS)]},
    "prose": lambda n: {"prompt": f"Is this orchestrate, percussions or the philharmoni? Part {n}."},
    "chords": lambda n: {"prompt": f"Which chord is it? {n}", "choices": RNG.sample(CHORDS, 4)},
    "keys among options": lambda n: {"prompt": f"Which key? {n}", "choices": ["F#m", "Bb", "C minor", "D major"]},
    "gold in a list of options": lambda n: {"prompt": f"Which genre? {n}", "choices": SHUFFLED[n]},
    "gold in a template": lambda n: {"prompt": f"Is it blues, jazz, rock or disco? Piece {n}."},
    "gold in few-shot examples": lambda n: {"few_shot": "First: blues. Then: jazz.", "prompt": f"And piece {n}?"},
    "a question that names all options": lambda n: {"prompt": f"{n}: jazz, rock, disco?", "choices": SHUFFLED[n]},
    "yes or no": lambda n: {"prompt": f"Is there a harp in piece {n}?", "choices": ["yes", "no"]},
    "a cue without an answer": lambda n: {"prompt": f"Piece {n}. The correct answer is: "},
    "a letter is asked for": lambda n: {"prompt": f"Piece {n}. Answer with the option's letter."},
    "common words that are titles": lambda n: {"prompt": f"When does the intro end? Time {n}, blue or not."},
    "labels of options": lambda n: {"choices": [{"label": LETTERS[k], "text": SHUFFLED[n][k]} for k in (0, 1)], "q": n},
    "answers that are options": lambda n: {"prompt": f"Piece {n}?", "answers": SHUFFLED[n]},
    "options as columns": lambda n: {"question": f"Piece {n}?", **dict(zip(LETTERS, SHUFFLED[n], strict=True))},
    "options as a map": lambda n: {"question": f"{n}?", "answer_choices": dict(zip(LETTERS, SHUFFLED[n], strict=True))},
    "options as text": lambda n: {"question": f"{n}?", "choices": str(SHUFFLED[n]).replace("'", '"')},
    "key and text": lambda n: {"key": f"piece-{n}", "text": "Which instrument plays the theme?", "number": n},
    "settings": lambda n: {"config": {"output": "letters", "target": "text"}, "prompt": f"Piece {n}?"},
    "an output file": lambda n: {"output": f"results/{n}.json"},
    "a template of a turn": lambda n: {"messages": [
        {"role": "user", "content": f"Piece {n}?"}, {"role": "assistant", "content": "The answer is: "}]},
    "other scripts": lambda n: {"prompt": f"第{n}首 乐曲是什么?", "choices": ["竖琴", "中提琴", "双簧管", "鲁特琴"]},
    "wide letters": lambda n: {"prompt": f"第{n}首", "A": "Ａ大调", "B": "Ｂ大调", "C": "Ｃ大调"},
    "cyrillic": lambda n: {"prompt": f"Какой инструмент играет в пьесе {n}?", "choices": ["арфа", "альт", "гобой"]},
    "accents, signs and emoji": lambda n: {"prompt": f"Größe, señor, 10 μs, ½, ♯, ♭ \U0001f468\u200d\U0001f3a4 {n}"},
    "loudness curves": lambda n: {"curve": [RNG.random() for _ in range(64)], "prompt": f"Piece {n}?"},
    "a list of steps": lambda n: {"steps": [1, 2, 3, 4], "choices": SHUFFLED[n], "question": n},
    "proper names among options": lambda n: {"question": n, "choices": (["piano", "lute", "Hardanger fiddle"]
                                                                       if n % 7 == 0 else ["harp", "oboe", "horn"])},
    "options in the prompt": lambda n: {"prompt": "\n".join([f"{n}?", *map("{}. {}".format, LETTERS, SHUFFLED[n])])},
    "labels in the prompt": lambda n: {"prompt": f"Piece {n}: which of these?\n1. blues\n2. jazz\n3. rock\n4. disco"},
    "rules of a game": lambda n: {"prompt": f"Rules:\n1. Listen to piece {n}.\n2. Name its genre in one word."},
    "the form of a song": lambda n: {"prompt": f"Form of piece {n}:\nA: a blues\nB: the bridge, jazz\nA: as before"},
    "lines of a lyric": lambda n: {"prompt": f"A. rose is red, in piece {n},\nB. side says disco\nC. sea and rock."},
    "equal letters by chance": lambda n: {"question": f"{n}?", "choices": SHUFFLED[n]},
}  # fmt: skip


def example(row: Row, ids: bool = True) -> Example:
    RNG.seed(2)
    return Example(records=tuple({**({"id": f"MUB-{n:05}"} if ids else {}), **row(n)} for n in range(NUMBER)))


@pytest.mark.parametrize("trap", TRAPS)
def test_no_finding(trap: str) -> None:
    assert [(one.rule, one.place.name) for one in try_example(example(TRAPS[trap]), RULES).findings] == []


EVALUATOR = Private(
    gold={f"MUB-{n:05}": {"genre": LABELS[n], "tempo": str(60 + n * 37 % 90)} for n in range(NUMBER)},
    catalogue={
        f"MUB-{n:05}": {"title": ("Intro", "Blue", "Time", "Piece")[n % 4], "artist": ("Yes", "Air", "Harp")[n % 3]}
        for n in range(NUMBER)
    },
)


@pytest.mark.parametrize("trap", TRAPS)
def test_no_finding_with_the_evaluators_side(trap: str) -> None:
    report = try_example(example(TRAPS[trap]), RULES, EVALUATOR)
    assert [(one.rule, one.place.name) for one in report.findings] == []


def test_paths_in_base64_are_no_digests() -> None:
    """They are reported as what they are: text that no rule reads."""
    rows = example(lambda n: {"blob": base64.b64encode(f"stimuli/part-{n:03}/excerpt.txt".encode()).decode()})
    assert [(one.rule, one.level) for one in try_example(rows, RULES).findings] == [("opaque-blob", "warning")]


def test_an_empty_gold_field_is_a_note() -> None:
    report = try_example(example(lambda n: {"answer": "", "prompt": f"Piece {n}?"}), RULES)
    assert [(one.rule, one.level) for one in report.findings] == [("empty-evaluator-field", "note")]


def test_digests_of_files_that_are_not_there_are_not_called_proven() -> None:
    report = try_example(example(lambda n: {"md5": hashlib.md5(b"%d" % n).hexdigest()}), RULES)
    assert [(one.rule, one.confidence) for one in report.findings] == [("stray-hash", "strong")]


# --- audio -----------------------------------------------------------------------------------------------------------

GAINS = [str(number) for number in range(60, 150)]
AUDIO_TRAPS: dict[str, Callable[[int], Mapping[str, str]]] = {
    "encoders": lambda n: {"mp3.encoder": "LAME3.100", "vorbis.vendor": "Xiph.Org libVorbis I 20200704"},
    "loudness": lambda n: {"ape.replaygain_track_gain": f"{-n / 7:.2f}", "vorbis.r128_track_gain": RNG.choice(GAINS)},
    "lengths": lambda n: {"id3.TLEN": RNG.choice(GAINS), "mp4.itunsmpb": f" 00000000 {n:08X} 000002C0"},
}  # fmt: skip


@pytest.mark.parametrize("trap", AUDIO_TRAPS)
def test_no_finding_about_audio_with_technical_tags(trap: str) -> None:
    """Not even where a number of them happens to be as large as a tempo of the gold."""
    RNG.seed(3)
    stream = [
        Item(Place(f"audio/MUB-{n:05}.mp3"), "audio", Tags("mp3", tuple(AUDIO_TRAPS[trap](n + 1).items())))
        for n in range(NUMBER)
    ]
    report = judge(stream, Release(Path("/nonexistent")), Config(), EVALUATOR, RULES, Options())
    assert [(one.rule, one.place.name) for one in report.findings] == []
    assert report.examined.audio == NUMBER
