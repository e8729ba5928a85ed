"""The file of reviewed pairs: read strictly, since what it says changes groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leakscan.model import Fingerprint, UsageError
from leakscan.reviewing import key_of, read


def written(path: Path, *pairs: Any) -> Path:
    path.write_text(json.dumps({"leakscan_reviewed": 1, "pairs": pairs}))
    return path


def pair(a: str, b: str, verdict: str = "same", **more: Any) -> dict[str, Any]:
    return {"a": a, "b": b, "verdict": verdict, "reason": "", **more}


def test_verdicts_by_pair_whichever_side_comes_first(tmp_path: Path) -> None:
    pairs = [pair("x", "y"), pair("z", "y", "different"), pair("y", "x"), {"a": "u", "b": "v", "verdict": "same"}]
    found = read(written(tmp_path / "r.json", *pairs)).same
    assert found == {frozenset("xy"): True, frozenset("yz"): False, frozenset("uv"): True}


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([pair("x", "y"), pair("y", "x", "different")], "pair 2: was judged otherwise"),
        ([pair("x", "x", "different")], "pair 1: both sides have one key"),
        ([pair("x", "y", "maybe")], "pair 1: needs"),
        ([pair("x", "")], "pair 1: needs"),
        ([pair("x", "y", reason=3)], "pair 1: needs"),
        (["x"], "pair 1: needs"),
    ],
)
def test_what_is_not_clear_is_refused(tmp_path: Path, pairs: list[Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(written(tmp_path / "r.json", *pairs))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"leakscan_reviewed": 2, "pairs": []}', '{"leakscan_reviewed": 1}', "[" * 9999]
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(UsageError, match=r"r\.json"):
        read(tmp_path / "r.json")
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "missing.json")


def test_a_key_is_about_the_sound_alone() -> None:
    words = bytes(range(200))
    assert key_of(Fingerprint(words, 20.0, library="one")) == key_of(Fingerprint(words, 20.1, library="other"))
    assert key_of(Fingerprint(words, 20.0)) != key_of(Fingerprint(words[4:], 20.0))
    assert key_of(Fingerprint(b"", 0)).startswith("sha256:e3b0c442")
