"""The walk lists every file once, never leaves the root, and accounts for everything that it does not read."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from leakscan import walk
from leakscan.discover import members
from leakscan.model import Entry, Item, Place, Unexamined, Unreadable, UsageError

READERS = members("formats")
OUT = "a link that leads out of the release root; replace it by a copy"


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def listed(root: Path, *paths: Path) -> list[str | tuple[str, str]]:
    """Paths of entries, and (path, reason) of what is not examined."""
    found = walk.entries(root, paths or [root])
    return [entry.path if isinstance(entry, Entry) else (entry.path, entry.reason) for entry in found]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make(tmp_path, "release/b/c.txt", "release/a.txt", "release/b/a.txt", "outside.txt", "other/x.txt")
    return tmp_path / "release"


# --- entries ---------------------------------------------------------------------------------------------------------


def test_files_are_listed_sorted_and_once(root: Path) -> None:
    make(root, ".git/config", "b/.git/x", ".gitignore")
    assert listed(root) == [".gitignore", "a.txt", "b/a.txt", "b/c.txt"]
    assert listed(root, root / "b/c.txt", root / "b", root) == ["b/c.txt", "b/a.txt", ".gitignore", "a.txt"]
    (entry, *_) = walk.entries(root, [root / "b/c.txt"])
    assert entry == Entry("b/c.txt", root / "b/c.txt", 1)


def test_relative_paths_and_dots(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "b")
    assert listed(root, Path("c.txt"), Path("../b/a.txt"), Path("../a.txt")) == ["b/c.txt", "b/a.txt", "a.txt"]
    assert listed(root, Path(".")) == ["b/a.txt", "b/c.txt"]


def test_link_to_a_file_inside_is_judged_like_a_copy(root: Path) -> None:
    (root / "link.txt").symlink_to("b/c.txt")
    entry = {found.path: found for found in walk.entries(root, [root])}["link.txt"]
    assert entry == Entry("link.txt", root / "b/c.txt", 1)
    assert isinstance(entry, Entry)
    with entry.open() as stream:
        assert stream.read() == b"x"


def test_link_to_what_the_walk_leaves_out_is_judged(root: Path) -> None:
    make(root, ".git/hidden.txt")
    (root / "link.txt").symlink_to(".git/hidden.txt")
    assert "link.txt" in listed(root)


def test_other_links_are_not_followed_and_not_silent(root: Path) -> None:
    for name, target in [
        ("dangling", "nothing"), ("loop", "loop"), ("out", "../../other"), ("out.txt", "../../outside.txt"),
        ("absolute.txt", str(root.parent / "outside.txt")), ("parent", ".."), ("here", "."),
    ]:  # fmt: skip
        (root / "b" / name).symlink_to(target)
    assert listed(root) == [
        "a.txt",
        "b/a.txt",
        ("b/absolute.txt", OUT),
        "b/c.txt",
        ("b/dangling", "a link to nothing"),
        ("b/here", "a link to a folder; replace it by a copy"),
        ("b/loop", "a link to nothing"),
        ("b/out", OUT),
        ("b/out.txt", OUT),
        ("b/parent", "a link to a folder; replace it by a copy"),
    ]


def test_special_files_are_not_opened(root: Path) -> None:
    os.mkfifo(root / "fifo.mp3")
    with socket.socket(socket.AF_UNIX) as server:
        folder = os.open(root, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{folder}/socket")
        os.close(folder)
    reason = "not a regular file (a FIFO, socket or device); remove it"
    assert listed(root) == ["a.txt", "b/a.txt", "b/c.txt", ("fifo.mp3", reason), ("socket", reason)]


def test_folder_that_cannot_be_listed_is_not_silent(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def listdir(path: Path, real: Any = os.listdir) -> list[str]:
        if path == root / "b":
            raise PermissionError(13, "Permission denied")
        return cast(list[str], real(path))

    monkeypatch.setattr(os, "listdir", listdir)
    assert listed(root) == ["a.txt", ("b", "cannot be examined (Permission denied)")]


def test_nesting_deeper_than_the_stack(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    deep = "d/" * 1500
    for _ in range(1500):
        os.mkdir("d")
        os.chdir("d")
    Path("x.txt").touch()
    assert listed(root) == ["a.txt", "b/a.txt", "b/c.txt", f"{deep}x.txt"]
    Path("x.txt").unlink()
    for _ in range(1500):  # what removes temporary folders has a stack too
        os.chdir("..")
        os.rmdir("d")


def test_links_among_ones_own_files_are_followed_wherever_they_lead(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.txt").write_text("x")
    (root / "link.txt").symlink_to(tmp_path / "elsewhere.txt")
    (root / "folder").symlink_to(tmp_path)
    found = {one.path: one for one in walk.listing([root])}
    assert found[f"{root}/link.txt"] == Entry(f"{root}/link.txt", tmp_path / "elsewhere.txt", 1)
    assert found[f"{root}/folder"] == Unexamined(f"{root}/folder", "a link to a folder; replace it by a copy")


def test_a_file_is_listed_once_and_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "m.txt").touch()
    for link in ("a.txt", "z.txt"):
        (tmp_path / link).symlink_to("m.txt")
    assert [found.path for found in walk.listing([tmp_path, tmp_path / "z.txt"])] == [f"{tmp_path}/m.txt"]


def test_path_that_is_a_link_is_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("release")
    (root / "inner").symlink_to("b")
    (root / "link.txt").symlink_to("a.txt")
    assert listed(root, tmp_path / "link") == [
        "a.txt", "b/a.txt", "b/c.txt", ("inner", "a link to a folder; replace it by a copy"), "link.txt",
    ]  # fmt: skip
    assert listed(root, tmp_path / "link/b") == ["b/a.txt", "b/c.txt"]
    assert listed(root, root / "inner") == ["b/a.txt", "b/c.txt"]
    assert listed(root, root / "link.txt") == ["a.txt"]


def test_path_that_is_a_link_out_or_to_nothing(root: Path) -> None:
    (root / "out.txt").symlink_to("../outside.txt")
    (root / "dangling").symlink_to("nothing")
    assert listed(root, root / "out.txt", root / "dangling") == [("out.txt", OUT), ("dangling", "a link to nothing")]


def test_paths_outside_and_missing_are_wrong_usage(root: Path) -> None:
    with pytest.raises(UsageError, match=r"outside\.txt: lies outside the release root .*; scan one release at a time"):
        listed(root, root.parent / "outside.txt")
    with pytest.raises(UsageError, match=r"b/\.\./\.\./outside\.txt: lies outside"):
        listed(root, root / "b/../../outside.txt")
    with pytest.raises(UsageError, match=r"gone: no such file or folder; check the path"):
        listed(root, root / "gone")


def test_names_that_are_hard_to_show(root: Path) -> None:
    make(root, "c\nd.txt")
    (root / os.fsdecode(b"\xff.txt")).touch()
    assert listed(root) == ["a.txt", "b/a.txt", "b/c.txt", "c\nd.txt", "\udcff.txt"]


def test_listing_shows_paths_as_given_and_files_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root.parent)
    found = walk.listing([Path("release/b"), Path("other"), Path("release/b/c.txt"), Path("outside.txt")])
    assert [entry.path for entry in found] == ["release/b/a.txt", "release/b/c.txt", "other/x.txt", "outside.txt"]


# --- items -----------------------------------------------------------------------------------------------------------


def reader(read: Any, names: tuple[str, ...] = (".box",), **more: Any) -> Mapping[str, ModuleType]:
    fake = SimpleNamespace(NAMES=names, sniff=lambda head: head[:3] == b"BOX", read=read, **more)
    return {"box": cast(ModuleType, fake)}


def judged(
    *entries: Entry | Unexamined, readers: Mapping[str, ModuleType] = READERS, declared: tuple[str, ...] = ()
) -> list[str]:
    """What the walk makes of entries, one line each."""
    lines = []
    for found in walk.items(entries, readers, lambda path: path in declared):
        if isinstance(found, Item):
            lines.append(f"{found.kind} {found.place.path}" + (f":{found.place.record}" if found.place.record else ""))
        else:
            lines.append(
                f"not read {found.path}: {found.reason}" if isinstance(found, Unexamined) else f"? {found.path}"
            )
    return lines


def member(path: str, data: bytes, depth: int = 0) -> Entry:
    return Entry(path, Path("none"), len(data), data, depth)


def test_names_are_judged_before_contents_and_folders_once() -> None:
    assert judged(
        member("a/b/p.jsonl", b'{"id": 1}\n{"id": 2}\n'), member("a/notes", b"text"), Unexamined("a/c/link", "why")
    ) == [
        "file a/", "file a/b/", "file a/b/p.jsonl", "record a/b/p.jsonl:1", "record a/b/p.jsonl:2",
        "file a/notes", "? a/notes",
        "file a/c/", "file a/c/link", "not read a/c/link: why",
    ]  # fmt: skip


RECORD = b'{"id": 1}\n'
PLAYLIST = "not what its name says: a playlist or XML"


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("x.jsonl", RECORD, "record x.jsonl:1"),
        ("x.mp3", RECORD, "record x.mp3:1"),  # the content decides
        ("x", RECORD, "record x:1"),
        ("x.csv", b"a,b\n1,2\n", "record x.csv:1"),
        ("x.txt", b"a,b\n", "record x.txt:1"),  # prose looks the same
        ("x.rst", b"a,b\n1,2\n", "? x.rst"),
        ("README.md", b"\n[![a badge](b)](c)\n", "record README.md:2"),
        ("x.txt", b" \n", "? x.txt"),  # of prose, nothing is missed where there is none
        ("x.md", b"", "? x.md"),
        ("setup.cfg", b"[metadata]\nname = x\n", "? setup.cfg"),
        ("x", b"", "? x"),
        ("x.jsonl", b"", "not read x.jsonl: empty"),
        ("x.mp3", b"", "not read x.mp3: empty"),
        ("x.parquet", b"", "not read x.parquet: empty"),
        ("x.jsonl", b"not JSON", "not read x.jsonl: not what its name says: no .jsonl content found"),
        ("x.mp3", b"#EXTM3U\n/etc/passwd\n", f"not read x.mp3: {PLAYLIST}, no .mp3 content"),
        ("x.wav", b"ffconcat version 1.0\n", f"not read x.wav: {PLAYLIST}, no .wav content"),
        ("x.mp3", b"<?xml?><MPD/>", f"not read x.mp3: {PLAYLIST}, no .mp3 content"),
        ("x.mp3", b"\0" * 100, "not read x.mp3: not what its name says: no .mp3 content found"),
        ("x.jsonl", '{"a": 1}'.encode("utf-16"), "not read x.jsonl: UTF-16 or UTF-32 text; convert it to UTF-8"),
        ("x.csv", "a,b\n".encode("utf-16-le"), "not read x.csv: not what its name says: no .csv content found"),
        ("x.bin", b"PK\x03\x04...", "not read x.bin: a zip archive is not supported yet"),
        ("x.jsonl", b"BZh9", "not read x.jsonl: bzip2 data is not supported yet"),
        ("x.gz", b"\x1f\x8b...", "not read x.gz: not what its name says: no .gz content found"),
        ("x.feather", b"FEA1", "not read x.feather: Feather version 1 is not supported yet"),
        ("x.tar", b"x" * 600, "not read x.tar: container not supported"),
        ("x.tak", b"tBaK", "not read x.tak: TAK is not supported yet"),
        ("x.APE", b"abc", "not read x.APE: container not supported"),
    ],
)  # fmt: skip
def test_content_decides_and_nothing_ends_in_silence(name: str, data: bytes, line: str) -> None:
    assert judged(member(name, data)) == [f"file {name}", line]


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"


@pytest.mark.parametrize("name", ["x.mp3", "x.jsonl", "x.csv", "x"])
def test_lfs_pointer_is_not_the_data(name: str) -> None:
    reason = "a Git LFS pointer, not the data; fetch it with `git lfs pull`"
    assert judged(member(name, POINTER)) == [f"file {name}", f"not read {name}: {reason}"]


def test_declared_files_need_no_reader_but_what_is_named_or_audio_is_read() -> None:
    assert judged(member("x.md", RECORD), declared=("x.md",)) == ["file x.md"]
    assert judged(member("x.md", b"text"), declared=("x.md",)) == ["file x.md"]
    assert judged(member("x.txt", b""), declared=("x.txt",)) == ["file x.txt"]
    assert judged(member("x.json", RECORD), declared=("x.json",)) == ["file x.json", "record x.json:1"]
    assert judged(member("x.zip", b"PK\x03\x04"), declared=("x.zip",)) == [
        "file x.zip",
        "not read x.zip: a zip archive is not supported yet",
    ]
    audio = reader(lambda entry: iter([Item(Place(entry.path), "audio")]), AUDIO=True)
    assert judged(member("x.py", b"BOX"), readers=audio, declared=("x.py",)) == ["file x.py", "audio x.py"]
    plain = reader(lambda entry: iter([Item(Place(entry.path), "record")]))
    assert judged(member("x.py", b"BOX"), readers=plain, declared=("x.py",)) == ["file x.py"]


def test_member_is_judged_before_the_next_one_is_read() -> None:
    alive = []

    def read(entry: Entry) -> Iterator[Entry]:
        if entry.depth == 0:
            for number in range(3):
                alive.append(number)
                yield member(f"{entry.path}!{number}", RECORD, 1)
                assert alive.pop() == number

    readers = {**READERS, **reader(read)}
    found = [one.place.path for one in walk.items([member("x.box", b"BOX")], readers, lambda path: False)
             if isinstance(one, Item) and one.kind == "record" and alive == [int(one.place.path[-1])]]  # fmt: skip
    assert found == ["x.box!0", "x.box!1", "x.box!2"]


def test_members_are_walked_to_a_bounded_depth() -> None:
    def read(entry: Entry) -> Iterator[Entry]:
        yield member(f"{entry.path}!x.box", b"BOX", entry.depth + 1)

    lines = judged(member("x.box", b"BOX"), readers=reader(read))

    assert lines[:2] == ["file x.box", "file x.box!x.box"]
    assert lines[-2:] == [
        "file x.box" + "!x.box" * 5,
        "not read x.box" + "!x.box" * 5 + ": nested more than 4 containers deep",
    ]
    assert len(lines) == 7


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unreadable("x.box: cut; mend it"), "cut; mend it"),
        (OSError(5, "Input/output error"), "cannot be read (Input/output error)"),
        (IndexError("a value"), "cannot be read (internal error: IndexError); please report it"),
        (RecursionError("a value"), "cannot be read (internal error: RecursionError); please report it"),
    ],
)
def test_reader_that_fails_half_way_leaves_a_mark(error: Exception, reason: str) -> None:
    def read(entry: Entry) -> Iterator[Item]:
        yield Item(Place(entry.path, 1), "record", {})
        raise error

    lines = judged(member("x.box", b"BOX"), member("y.txt", b"y"), readers=reader(read))
    assert lines == ["file x.box", "record x.box:1", f"not read x.box: {reason}", "file y.txt", "? y.txt"]


def test_file_that_went_away_is_not_silent(tmp_path: Path) -> None:
    assert judged(Entry("x.txt", tmp_path / "x.txt", 5)) == [
        "file x.txt",
        "not read x.txt: cannot be opened (No such file or directory); check its permissions",
    ]


@pytest.mark.parametrize(
    ("name", "data", "audio"),
    [
        ("x.mp3", b"", True),
        ("x.APE", b"", True),
        ("x.txt", b"RIFF\0\0\0\0WAVEfmt ", True),
        ("x.txt", b"text", False),
        ("x.jsonl", RECORD, False),
    ],
)
def test_audio_is_known_by_content_or_name(name: str, data: bytes, audio: bool) -> None:
    assert walk.is_audio(member(name, data), READERS) is audio
