"""Every kind of bytes that a clean audio file does not have is a finding of its own rule, and none quotes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakscan import rulebook
from leakscan.checks import extra_bytes
from leakscan.config import Config
from leakscan.model import (
    EXTRAS,
    Columns,
    Finding,
    Item,
    Ledger,
    Malformed,
    Part,
    Place,
    Private,
    Release,
    Tags,
    facts,
)

RULES = {rule.id: rule for rule in rulebook.load()}
TEXT = "Crooked Teaspoons"


def audio(path: str, *parts: Part, bits: tuple[str, ...] = ()) -> Item:
    blocks = [(f"{part.kind}.{part.name}", TEXT) for part in parts if part.kind in EXTRAS]
    blocks += [(bit, "") for bit in bits]
    return Item(Place(path), "audio", Tags("mp3", (), tuple(blocks), Ledger("mp3", parts, (), bits)))


def judge(*items: Item) -> list[Finding]:
    check = extra_bytes.check(Config(), Private())
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


@pytest.mark.parametrize("kind", EXTRAS)
def test_each_kind_has_a_rule_of_that_level(kind: str) -> None:
    (finding,) = judge(audio("a.mp3", Part("payload", "mp3.frames", 0, 9), Part(kind, "mp3.block", 9, 1234)))
    assert finding.place == Place("a.mp3", name=f"{kind}.mp3.block")
    assert TEXT not in repr(finding)
    assert RULES[finding.rule].checks == ("extra_bytes",)
    assert RULES[finding.rule].level == finding.level


def test_all_files_are_one_finding_a_name() -> None:
    one = audio("a.mp3", Part("unknown", "mp3.junk", 0, 10), Part("unknown", "mp3.junk", 20, 25))
    other = audio("b.mp3", Part("unknown", "mp3.junk", 0, 100), Part("unknown", "mp3.frame", 100, 101))
    junk, frame = judge(one, other)
    assert ([place.path for place in junk.places], junk.count) == (["a.mp3", "b.mp3"], 2)
    assert str(junk.evidence) == "data, 15 bytes"
    assert [place.path for place in frame.places] == ["b.mp3"]


def test_a_bit_has_no_bytes() -> None:
    (finding,) = judge(audio("a.mp3", bits=("unknown.mp3.private-bit",)))
    assert (finding.rule, finding.level, finding.evidence) == ("hidden-bytes", "error", None)


def test_what_is_clean_or_no_audio_is_passed_over() -> None:
    assert judge(audio("a.mp3", Part("payload", "mp3.frames", 0, 9), Part("padding", "mp3.padding", 9, 19))) == []
    assert judge(Item(Place("p.jsonl", 1), "record", Malformed("cut"))) == []


def test_it_asks_for_these_blocks_alone() -> None:
    """What is no record has blocks too."""
    check = extra_bytes.check(Config(), Private())
    matcher = rulebook.Matcher((), {"extra_bytes": check.wants})
    for item, wanted in (
        (audio("a.mp3", Part("stale", "mp3.padding", 0, 9)), 1),
        (Item(Place("p.jsonl", 1), "record", Malformed("cut")), 0),
        (Item(Place("a.mp3"), "audio", Tags("mp3", (("id3.TIT2", "x"),))), 0),
    ):
        assert len(matcher.sift(facts(item), Columns([])).wanted.get("extra_bytes", ())) == wanted
