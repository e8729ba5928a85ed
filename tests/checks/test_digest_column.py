"""Columns of digests are told from everything that merely looks like one."""

from __future__ import annotations

import base64
import hashlib
import random
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import digest_column
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release


def judge(values: Iterable[object], name: str = "x") -> list[Finding]:
    check = digest_column.check(Config(), Private())
    items = (Item(Place("p.jsonl", number), "record", {name: value}) for number, value in enumerate(values, 1))
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


def digests(count: int, length: int) -> list[str]:
    return [hashlib.sha512(bytes([number, length])).hexdigest()[:length] for number in range(count)]


@pytest.mark.parametrize("written", ["audio/{}.mp3", "{}.WAV", "a/b/{}.flac"])
def test_names_of_audio_files(written: str) -> None:
    (finding,) = judge(written.format(digest) for digest in digests(20, 32))
    assert (finding.count, finding.level, finding.confidence) == (20, "error", "strong")
    assert judge(written.format(f"{number:08}") for number in range(20)) == []
    assert judge(written.format(uuid.UUID(int=number << 64 | 5, version=4).hex) for number in range(20)) == []


@pytest.mark.parametrize("length", [8, 10, 12, 16, 32, 40, 64, 96, 128])
@pytest.mark.parametrize("count", [8, 60])
def test_digests_are_found(length: int, count: int) -> None:
    (finding,) = judge(digests(count, length))
    assert (finding.count, finding.confidence, finding.level) == (count, "strong", "error")
    assert finding.place == Place("p.jsonl", 1, None, "$.x")
    assert finding.evidence is not None
    assert finding.evidence.length == length


def test_digests_are_found_whatever_they_hash() -> None:
    """At the strictness chosen, a column of true digests is hardly ever missed."""
    rng = random.Random(5)
    missed = sum(not judge(f"{rng.getrandbits(64):016x}" for _ in range(rng.randrange(4, 40))) for _ in range(400))
    assert missed <= 2


def test_a_few_are_too_few() -> None:
    assert judge(digests(3, 64)) == []
    assert judge(digests(4, 64)) != []
    assert judge(digests(7, 8)) == []


def test_case_and_prefix_do_not_matter() -> None:
    assert judge(value.upper() for value in digests(8, 16)) != []
    assert judge(f"sha256:{value}" for value in digests(8, 16)) != []


def test_repeats_are_fine_but_not_a_few_values_over_and_over() -> None:
    assert judge(digests(8, 16) * 3)[0].count == 24
    assert judge(digests(4, 16) * 100) == []


def test_other_values_in_the_column_do_not_hide_it() -> None:
    mixed = [value for digest in digests(9, 16) for value in (digest, "shard", "00000003", str(uuid.UUID(int=3)), 7)]
    assert judge(mixed)[0].count == 9


RNG = random.Random(3)
INNOCENT = {
    "decimals": [str(RNG.randrange(10**15, 10**16)) for _ in range(60)],
    "time stamps": [f"20260101{RNG.randrange(10**6):06}" for _ in range(60)],
    "zero-padded hex counters": [f"{number:08x}" for number in range(400)],
    "time-based hex": [f"{1_767_225_600_000_000 + number * 977:016x}" for number in range(400)],
    "constant": ["9f86d081884c7d65"] * 60,
    "uuid 4": [str(uuid.UUID(int=RNG.getrandbits(128), version=4)) for _ in range(60)],
    "uuid 4 without dashes": [uuid.UUID(int=RNG.getrandbits(128), version=4).hex for _ in range(60)],
    "colours": [f"#{RNG.getrandbits(32):08x}" for _ in range(60)],
    "float fractions": [RNG.random() for _ in range(60)],
    "floats as text": [str(RNG.random()) for _ in range(60)],
    "chord symbols": [RNG.choice(["Bbadd9", "Cadd9", "Badd9", "F#m", "Abb", "Eadd9"]) for _ in range(60)],
    "letters only": ["".join(RNG.choices("abcdef", k=16)) for _ in range(60)],
    "words": ["decade", "facade", "faded", "effaced", "feedface", "defaced", "acceded", "deadbeef"] * 4,
    "tempo and key": [f"{RNG.randrange(10**6):06}{RNG.choice('abcdef')}{RNG.choice('ab')}" for _ in range(60)],
    "many IDs of one day": [f"65a1f0{RNG.getrandbits(40):010x}" for _ in range(60)],
    "lists of names": [["A", "B"] for _ in range(60)],
}  # fmt: skip


@pytest.mark.parametrize("values", INNOCENT.values(), ids=INNOCENT)
def test_look_alikes_are_silent(values: list[object]) -> None:
    assert judge(values) == []


def _dressed(dress: str, number: int) -> Any:
    digest = hashlib.md5(b"%d" % number).digest()
    return {
        "base64": lambda: base64.b64encode(digest).decode(),
        "base64url": lambda: base64.urlsafe_b64encode(digest).decode().rstrip("="),
        "base32": lambda: base64.b32encode(digest).decode().rstrip("=").lower(),
        "UUID": lambda: str(uuid.UUID(bytes=digest)),
        "decimal": lambda: int.from_bytes(digest[:8], "big"),
        "long decimal": lambda: str(int.from_bytes(digest, "big")),
        "random UUID": lambda: str(uuid.UUID(bytes=digest, version=4)),
        "named UUID": lambda: str(uuid.UUID(bytes=digest, version=3 + number % 2)),
        "nanoseconds": lambda: 1700000000000000000 + number * 10**9,
        "snowflake": lambda: (1700000000000 + number << 22) + number,
        "words": lambda: "instrumentsandplayers" + "abcdefghijklmnop"[number % 16],
    }[dress]()


@pytest.mark.parametrize(
    ("dress", "told"),
    [("base64", "base64"), ("base64url", "base64"), ("base32", "base32"), ("UUID", "UUID"), ("decimal", "decimal"),
     ("long decimal", "decimal"), ("random UUID", None), ("named UUID", None), ("nanoseconds", None),
     ("snowflake", None), ("words", None)],
)  # fmt: skip
def test_digests_in_other_dress(dress: str, told: str | None) -> None:
    check = digest_column.check(Config(), Private())
    items = [Item(Place("p.jsonl", n), "record", {"x": _dressed(dress, n)}) for n in range(1, 41)]
    found = list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))
    assert [finding.evidence.kind for finding in found if finding.evidence] == ([told] if told else [])
    assert [finding.count for finding in found] == ([40] if told else [])


@pytest.mark.parametrize(
    "form",
    ["{}", " {}", "{} ", "'{}'", "0x{}", "md5={}", "md5({})", "MD5: {}", "urn:md5:{}", "oid sha256:{}", "sha256-{}"],
)
def test_what_stands_around_a_digest_does_not_matter(form: str) -> None:
    (finding,) = judge(form.format(value) for value in digests(12, 32))
    assert (finding.count, finding.evidence and finding.evidence.length) == (12, 32)


def test_integrity_and_uuids_in_braces() -> None:
    raw = [hashlib.sha256(bytes([number])).digest() for number in range(12)]
    assert judge("sha256-" + base64.b64encode(value).decode() for value in raw)[0].count == 12
    assert judge(f"{{{uuid.UUID(bytes=value[:16])}}}".upper() for value in raw)[0].count == 12


@pytest.mark.parametrize("write", [int, str])
def test_crc_32_as_a_number_is_weak(write: type) -> None:
    rng = random.Random(4)
    numbers = [rng.getrandbits(32) for _ in range(100)]
    (finding,) = judge(map(write, numbers))
    assert (finding.level, finding.confidence) == ("warning", "weak")
    assert finding.count == sum(number >= 10**8 for number in numbers)
    assert judge(map(write, [*numbers, 1 << 33])) == []
    assert judge(map(write, numbers), "seed") == []
    assert judge(map(write, (number >> 2 for number in numbers))) == []


@pytest.mark.parametrize("name", ["colour", "color", "bg", "fg", "rgba", "background", "background_color"])
def test_colours_are_silent_and_longer_digests_are_not(name: str) -> None:
    assert judge(digests(60, 8), name) == []
    assert judge(digests(60, 16), name) != []


@pytest.mark.parametrize("name", ["commit", "revision", "sha", "git_sha", "commit_id", "hexsha"])
def test_commits_are_a_warning(name: str) -> None:
    assert [finding.level for finding in judge(digests(60, 40), name)] == ["warning"]
    assert [finding.level for finding in judge(digests(60, 32), name)] == ["error"]


@pytest.mark.parametrize("name", ["audio_sha", "committed", "shape"])
def test_other_names_are_no_commits(name: str) -> None:
    assert [finding.level for finding in judge(digests(60, 40), name)] == ["error"]
