"""Extended attributes that users and their programs set are notes; their values and unknown names are not shown."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from leakscan.checks import file_attributes
from leakscan.config import Config
from leakscan.model import Entry, Finding, Item, Place, Private, Release


def judge(*items: Item) -> list[Finding]:
    check = file_attributes.check(Config(), Private())
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


def item(path: str, data: bytes | None = None) -> Item:
    return Item(Place(path), "file", Entry(path, Path("/release", path), 9, data))


def having(monkeypatch: pytest.MonkeyPatch, listing: Callable[[Path], list[str]]) -> None:
    monkeypatch.setattr(os, "listxattr", listing, raising=False)


def test_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    having(monkeypatch, lambda path: ["security.selinux", "user.xdg.origin.url", "user.jane", "user.doe"])
    origin, other = sorted(
        judge(item("a.mp3"), item("b.mp3")), key=lambda finding: str(finding.place.name), reverse=True
    )
    assert (origin.place.name, origin.level, origin.count) == ("attribute user.xdg.origin.url", "note", 2)
    assert (other.place.name, other.count) == ("attribute user.other", 2)


def test_of_the_system_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    having(monkeypatch, lambda path: ["security.selinux", "system.posix_acl_access"])
    assert judge(item("a.mp3")) == []


def test_file_systems_without_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> list[str]:
        raise OSError(errno.ENOTSUP, "not supported")

    having(monkeypatch, fail)
    assert judge(item("a.mp3")) == []


def test_systems_without_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "listxattr", raising=False)
    assert judge(item("a.mp3")) == []


def test_only_files_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    having(monkeypatch, lambda path: ["user.xdg.origin.url"])
    record = Item(Place("p.jsonl", 1), "record", {"a": 1})
    assert judge(item("t.tar!a.mp3", b"sound"), Item(Place("audio/"), "file"), record) == []


def test_real_attributes(tmp_path: Path) -> None:
    file = tmp_path / "a.mp3"
    file.write_bytes(b"sound")
    try:
        os.setxattr(file, "user.xdg.origin.url", b"https://shop.example/crooked-teaspoons")
    except (OSError, AttributeError):
        expected = []  # not here: the tests above tell what happens elsewhere
    else:
        expected = ["attribute user.xdg.origin.url"]
    found = judge(Item(Place("a.mp3"), "file", Entry("a.mp3", file, 5)))
    assert [finding.place.name for finding in found] == expected
    assert "teaspoons" not in repr(found)
