"""Base64 of files, paths and sentences is found; digests, keys, IDs, paths and words are not."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from leakscan.checks import opaque_blob
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release


def judge(*values: str) -> list[Finding]:
    check = opaque_blob.check(Config(), Private())
    items = [Item(Place("p.jsonl", number), "record", {"x": value}) for number, value in enumerate(values, 1)]
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"genres/waltz/teaspoons.wav", "a path"),
        (b"C:\\music\\teaspoons.wav", "a path"),
        (b"the answer is viola", "a text"),
        (b"ID3\x04" + bytes(30), "a file"),
        (b"fLaC" + bytes(range(40)), "a file"),
        (b"OggS" + bytes(9000), "a file"),
        (hashlib.shake_256(b"1").digest(75), "what nobody can read"),
        (hashlib.shake_256(b"2").digest(9000), "what nobody can read"),
        (b"the answer is viola; " * 500, "a text"),
    ],
)
def test_blobs_in_both_alphabets(data: bytes, what: str) -> None:
    for text in (base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode().rstrip("=")):
        (finding,) = judge(text)
        assert finding.message == f"base64 of {what}, which no rule reads"
        assert str(finding.evidence) == f"base64, {len(text)} characters"


@pytest.mark.parametrize(
    "text",
    [
        *[base64.b64encode(hashlib.md5(bytes([n])).digest()).decode() for n in range(20)],
        *[base64.b64encode(hashlib.shake_256(bytes([n])).digest(74)).decode().rstrip("=") for n in range(20)],
        "Data/" + "Genres_Waltz/" * 12 + "MUB-00001",
        *[base64.urlsafe_b64encode(hashlib.sha256(bytes([n])).digest()).decode() for n in range(20)],
        "genres/waltz/teaspoons",
        "QuestionNumberTwentyFour",
        "IsThisTheRightQuestionToAsk",
        "9f86d081884c7d659a2feaa0c55ad015",
        "dGhlIGFuc3dlcg",  # too short
        "",
    ],
)
def test_other_texts(text: str) -> None:
    assert judge(text) == []
