"""Lists of digests are found in all their forms where audio is private, and only there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakscan.checks import digest_list
from leakscan.config import Config
from leakscan.model import Entry, Finding, Item, Place, Private, Release

MD5 = "9f86d081884c7d659a2feaa0c55ad015"
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{MD5 * 2}\nsize 1000\n"


PRIVATE, PUBLISHED = Config(audio="private"), Config()


def judge(*items: Item, config: Config = PRIVATE) -> list[Finding]:
    check = digest_list.check(config, Private())
    return list(check.finish(Release(Path("/nonexistent")), [seen for item in items for seen in check.see(item)]))


def file(path: str, text: str) -> Item:
    return Item(Place(path), "file", Entry(path, Path(path), len(text), text.encode()))


def record(body: Any) -> Item:
    return Item(Place("index.json", 1), "record", body)


@pytest.mark.parametrize(
    "item",
    [
        file("SHA256SUMS", f"{MD5 * 2}  a.mp3\n"),
        file("x/md5sum.txt", f"{MD5}  a.mp3\n"),
        file("checksums", f"{MD5}  a.mp3\n"),
        file("a.mp3.md5", MD5),
        file("audio.dvc", f"outs:\n- md5: {MD5}.dir\n  path: audio\n"),
        file("audio.sfv", "a.mp3 9F86D081\n"),
        file("manifest-sha256.txt", f"{MD5 * 2}  data/a.wav\n"),
        file("tagmanifest-md5.txt", f"{MD5}  bagit.txt\n"),
        file("audio.ffp", f"a.flac:{MD5}\n"),
        file("registry.txt", f"a.wav {MD5 * 2}\nNotes: none\n"),
        file("README.md", f"# Files\n\n| file | sum |\n|---|---|\n| `audio/a.wav` | `{MD5}` |\n"),
        file("audio/a.mp3", POINTER),
        record({"tracks": {"1": {"audio": ["a.mp3", MD5], "jams": [None, None]}}}),
        record({"distribution": [{"@type": "sc:FileObject", "md5": MD5}]}),
    ],
)
def test_lists(item: Item) -> None:
    (finding,) = judge(item)
    assert finding.message == "a list of 1 digests of files, though the audio is private"
    assert finding.place.path == item.place.path
    assert judge(item, config=PUBLISHED) == []


@pytest.mark.parametrize(
    "item",
    [
        file("README.md", MD5),
        file("notes.md5.txt", MD5),
        file("README.md", f"See a.wav.\nRevision {MD5}.\n"),
        file("notes.txt", f"a.wav {MD5[:31]}, b.wav x{MD5}\n"),
        file("SHA256SUMS", "none yet"),
        file("audio/a.mp3", MD5),
        file("pointer.txt", POINTER),
        Item(Place("md5/"), "file"),
        record({"tracks": {"1": {"audio": ["a.mp3", "mono"]}}}),
        record({"tracks": [MD5], "distribution": MD5}),
        record([MD5]),
    ],
)
def test_others(item: Item) -> None:
    assert judge(item) == []


def test_digests_of_an_index_are_counted() -> None:
    tracks = {str(n): {"audio": [f"{n}.mp3", f"{n:032x}"]} for n in range(50)}
    (finding,) = judge(record({"version": "1.0", "tracks": tracks}))
    assert (finding.place.name, finding.message[:20]) == ("$.tracks", "a list of 50 digests")
