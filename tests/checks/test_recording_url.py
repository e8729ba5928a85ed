"""Addresses count where they differ from record to record."""

from __future__ import annotations

from pathlib import Path

from leakscan.checks import recording_url
from leakscan.config import Config
from leakscan.model import Finding, Item, Place, Private, Release


def judge(*addresses: str, name: str = "source") -> list[Finding]:
    check = recording_url.check(Config(), Private())
    items = [Item(Place("p.jsonl", number), "record", {name: one}) for number, one in enumerate(addresses, 1)]
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


def addresses(count: int, different: int) -> list[str]:
    return [f"https://music.example/{number % different}" for number in range(count)]


def test_addresses_of_recordings() -> None:
    (finding,) = judge(*addresses(12, 6))
    assert (finding.place, finding.count) == (Place("p.jsonl", 1, name="$.source"), 12)
    assert finding.message == "web addresses, 6 different ones: they lead to the recordings"
    assert "music.example" not in repr(finding)


def test_addresses_that_many_records_share_lead_elsewhere() -> None:
    assert judge(*addresses(12, 5)) == []
    assert judge(*addresses(2, 2)) == []


def test_where_the_audio_lies_is_another_rules_business() -> None:
    assert judge(*addresses(12, 12), name="audio_url") == []
    assert judge(*(f"read {one}" for one in addresses(12, 12))) == []


def test_licences_and_audio_are_no_pages_of_recordings() -> None:
    assert judge(*(f"https://creativecommons.org/licenses/by/{number}/" for number in range(12))) == []
    assert judge(*(f"https://mub.example/resolve/{number}.wav" for number in range(12))) == []
