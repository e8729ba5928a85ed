"""The cache: nothing is computed or read twice, nothing is lost by a kill, and no damage to it stops a run."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest
import tunes

from leakscan import fingerprints, hearing, matching, repeats, store
from leakscan.model import Entry, Fingerprint, Unexamined, Unreadable
from leakscan.store import Compute, Result, Store

FOUND = Fingerprint(bytes(range(80)), 12.345, "TEST2", "ffmpeg 9", notes=("it has 2 audio streams",))
PHASES = (bytes(range(4, 80)), b"", bytes(range(8, 80)))


class Computer:
    """Stands for the extraction and writes down what it was asked for."""

    def __init__(self, result: Fingerprint | str = FOUND) -> None:
        self.asked: list[str] = []
        self.result = result

    def __call__(self, entries: Sequence[Entry]) -> list[Result]:
        self.asked += [entry.path for entry in entries]
        if isinstance(self.result, Fingerprint):
            return [(self.result,) for _ in entries]
        return [Unexamined(entry.path, self.result) for entry in entries]


@pytest.fixture
def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


@pytest.fixture
def song(tmp_path: Path) -> Path:
    path = tmp_path / "songs" / "a.mp3"
    path.parent.mkdir()
    path.write_bytes(b"some bytes")
    return path


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of these tests are young: they count as settled at once, unless a test says otherwise."""
    monkeypatch.setattr(store, "_SETTLED_NS", 0)
    monkeypatch.delenv("LEAKSCAN_CACHE", raising=False)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths of the files whose bytes are read."""
    read: list[str] = []
    sha256 = store.sha256

    def noted(entry: Entry) -> bytes | None:
        read.append(entry.path)
        return sha256(entry)

    monkeypatch.setattr(store, "sha256", noted)
    return read


def entry(path: Path) -> Entry:
    return Entry(path.name, path, path.stat().st_size)


def recalled(memory: Store, entry: Entry, compute: Compute, recipe: str = "r", phases: int = 1) -> object:
    (result,) = memory.recall([entry], [recipe], compute, phases)
    return result if isinstance(result, Unexamined) else result[0]


def recall(cache: str, path: Path, compute: Compute, recipe: str = "r", phases: int = 1) -> object:
    with store.opened(cache) as memory:
        result = recalled(memory, entry(path), compute, recipe, phases)
        assert memory.notes == []
        return result


def test_the_second_time_only_metadata_is_read(cache: str, song: Path, hashed: list[str]) -> None:
    compute = Computer()
    assert [recall(cache, song, compute) for _ in range(3)] == [FOUND] * 3
    assert (compute.asked, hashed) == (["a.mp3"], ["a.mp3"])


def test_a_renamed_a_touched_and_a_copied_file_are_not_computed_again(
    cache: str, song: Path, hashed: list[str]
) -> None:
    compute = Computer()
    recall(cache, song, compute)
    moved = song.rename(song.with_name("b.mp3"))
    recall(cache, moved, compute)
    os.utime(moved, ns=(1, 1))
    recall(cache, moved, compute)
    copy = song.with_name("c.mp3")
    copy.write_bytes(moved.read_bytes())
    assert recall(cache, copy, compute) == FOUND
    assert compute.asked == ["a.mp3"]
    assert hashed == ["a.mp3", "b.mp3", "b.mp3", "c.mp3"]
    recall(cache, moved, compute)
    assert len(hashed) == 4


def test_another_content_is_computed_even_with_the_same_size_date_and_inode(cache: str, song: Path) -> None:
    compute = Computer()
    recall(cache, song, compute)
    before = song.stat()
    with song.open("r+b") as stream:
        stream.write(b"SOME")
    os.utime(song, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = song.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    recall(cache, song, compute)
    assert compute.asked == ["a.mp3", "a.mp3"]


def test_a_file_that_changed_just_now_is_read_again(
    cache: str, song: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_SETTLED_NS", 10**18)
    compute = Computer()
    for _ in range(2):
        recall(cache, song, compute)
    assert (compute.asked, hashed) == (["a.mp3"], ["a.mp3", "a.mp3"])


def test_a_file_that_changes_meanwhile_is_not_kept(cache: str, song: Path) -> None:
    def compute(entries: Sequence[Entry]) -> list[Result]:
        song.write_bytes(b"other bytes")
        return [(FOUND,)]

    assert recall(cache, song, compute) == FOUND
    with store.opened(cache) as memory:
        assert memory.count() == {"fingerprints": 0, "seconds": 0, "failures": 0, "files": 0}


def test_another_recipe_is_another_fingerprint(cache: str, song: Path) -> None:
    compute = Computer()
    for recipe in ("ffmpeg 9", "ffmpeg 10", "ffmpeg 9"):
        recall(cache, song, compute, recipe)
    assert compute.asked == ["a.mp3", "a.mp3"]


def test_a_member_of_a_container_is_kept_by_its_bytes(cache: str) -> None:
    compute = Computer()
    with store.opened(cache) as memory:
        for path in ("x.tar!a.mp3", "y.tar!b.mp3"):
            assert recalled(memory, Entry(path, Path("x.tar"), 3, b"abc"), compute) == FOUND
    assert compute.asked == ["x.tar!a.mp3"]


def test_many_phases_answer_for_few_but_not_the_other_way_round(cache: str, song: Path) -> None:
    compute = Computer()
    assert recall(cache, song, compute) == FOUND
    compute.result = replace(FOUND, phases=PHASES)
    assert recall(cache, song, compute, phases=4) == compute.result
    assert recall(cache, song, compute, phases=4) == compute.result
    assert recall(cache, song, compute) == FOUND
    assert compute.asked == ["a.mp3", "a.mp3"]


def test_several_fingerprints_of_a_file_are_one_result(cache: str, song: Path) -> None:
    asked: list[str] = []

    def compute(entries: Sequence[Entry]) -> list[Result]:
        asked.extend(entry.path for entry in entries)
        return [(FOUND, replace(FOUND, duration=1.0)) for _ in entries]

    other = song.with_name("b.mp3")
    other.write_bytes(b"other bytes")
    with store.opened(cache) as memory:
        for files in ([entry(song)], [entry(song), entry(other)]):
            assert memory.recall(files, ["slow", "fast"], compute) == compute(files)
        assert memory.recall([entry(song)], ["fast"], compute) == [(replace(FOUND, duration=1.0),)]
        assert memory.recall([entry(song)], ["fast", "faster"], compute) == compute([entry(song)])
        assert memory.count()["seconds"] == 24  # of two files, however many fingerprints they have
    assert asked == ["a.mp3", "a.mp3", "b.mp3", "a.mp3", "b.mp3", "a.mp3", "a.mp3"]


def test_facts_are_kept_by_content(cache: str, song: Path, hashed: list[str]) -> None:
    asked: list[str] = []

    def compute(entry: Entry) -> str:
        asked.append(entry.path)
        return "a title"

    def told(path: Path) -> str:
        with store.opened(cache) as memory:
            return memory.fact(entry(path), "tags", compute)

    assert [told(song), told(song), told(song.rename(song.with_name("b.mp3")))] == ["a title"] * 3
    assert (asked, hashed) == (["a.mp3"], ["a.mp3", "b.mp3"])


def test_every_field_of_a_fingerprint_is_kept(cache: str, song: Path) -> None:
    recall(cache, song, Computer())
    with contextlib.closing(sqlite3.connect(Path(cache) / store.FILE)) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(fingerprint)")}
    assert columns == {"id", "content", "recipe", *(field.name for field in fields(Fingerprint))}


# --- failures --------------------------------------------------------------------------------------------------------


def test_what_could_not_be_read_is_tried_again_on_request_only(cache: str, song: Path, hashed: list[str]) -> None:
    compute = Computer("cut short")
    copy = song.with_name("b.mp3")
    copy.write_bytes(song.read_bytes())
    assert recall(cache, song, compute) == Unexamined("a.mp3", "cut short")
    assert recall(cache, song, compute) == Unexamined("a.mp3", "cut short")
    assert recall(cache, copy, compute) == Unexamined("b.mp3", "cut short")
    assert (compute.asked, hashed) == (["a.mp3"], ["a.mp3", "b.mp3"])
    compute.result = FOUND
    with store.opened(cache, retry=True) as memory:
        assert recalled(memory, entry(song), compute) == FOUND
        assert memory.count()["failures"] == 0
    assert recall(cache, song, compute) == FOUND
    assert compute.asked == ["a.mp3", "a.mp3"]


def test_another_version_tries_again(cache: str, song: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compute = Computer("cut short")
    recall(cache, song, compute)
    monkeypatch.setattr(store, "VERSION", "99")
    recall(cache, song, compute)
    assert compute.asked == ["a.mp3", "a.mp3"]


def test_an_interrupted_run_marks_no_file_as_bad(cache: str, song: Path) -> None:
    """An interrupt from the keyboard ends ffmpeg, too, which looks as if the file were broken."""

    def interrupted() -> None:
        with store.opened(cache) as memory:
            recalled(memory, entry(song), Computer("ffmpeg was ended"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert recall(cache, song, Computer()) == FOUND


def test_what_cannot_be_opened_is_for_the_extraction_to_explain(cache: str, tmp_path: Path) -> None:
    gone = Entry("gone.mp3", tmp_path / "gone.mp3", 3)
    compute = Computer("cannot be opened")
    with store.opened(cache) as memory:
        assert recalled(memory, gone, compute) == Unexamined("gone.mp3", "cannot be opened")
        assert recalled(memory, gone, compute) == Unexamined("gone.mp3", "cannot be opened")
    with store.opened(cache) as memory:
        assert memory.count()["failures"] == 0


# --- kills and several processes -------------------------------------------------------------------------------------

CHILD = """
import sys, time
from pathlib import Path
from leakscan import store
from leakscan.model import Entry, Fingerprint

cache, first, last, hang = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])

def compute(entries):
    (entry,) = entries
    if int(entry.path) == hang:
        print("hangs", flush=True)
        time.sleep(600)
    return [(Fingerprint(int(entry.path).to_bytes(4, "little"), 1.0),)]

with store.opened(cache) as memory:
    for number in range(first, last):
        memory.recall([Entry(str(number), Path("x"), 1, str(number).encode())], ["r"], compute)
    print(memory.notes)
"""


def child(cache: str, first: int, last: int, hang: int = -1) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, cache, str(first), str(last), str(hang)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def unknown(cache: str, count: int) -> list[str]:
    """Which of the numbered entries are still computed."""
    compute = Computer()
    with store.opened(cache) as memory:
        for number in range(count):
            recalled(memory, Entry(str(number), Path("x"), 1, str(number).encode()), compute)
    return compute.asked


def test_a_killed_run_goes_on_where_it_was(cache: str) -> None:
    with child(cache, 0, 20, hang=12) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hangs\n"
        process.send_signal(signal.SIGKILL)
    assert unknown(cache, 20) == [str(number) for number in range(12, 20)]


def test_two_processes_share_the_cache(cache: str) -> None:
    with child(cache, 0, 150) as one, child(cache, 100, 250) as other:
        assert [process.communicate()[0] for process in (one, other)] == ["[]\n", "[]\n"]
    assert unknown(cache, 250) == []
    with contextlib.closing(sqlite3.connect(Path(cache) / store.FILE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("SELECT count(*) FROM fingerprint").fetchone() == (250,)
    assert os.listdir(cache) == [store.FILE]


# --- damage ----------------------------------------------------------------------------------------------------------


def broken(path: Path, how: str) -> None:
    if how == "no database":
        path.write_bytes(b"nonsense" * 1000)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 99" if how == "newer" else "DROP TABLE failure")
        connection.close()


VERSION_1 = """
CREATE TABLE fingerprint (
    id INTEGER PRIMARY KEY, content BLOB NOT NULL, recipe TEXT NOT NULL,
    words BLOB NOT NULL, duration REAL NOT NULL, algorithm TEXT NOT NULL, library TEXT NOT NULL,
    UNIQUE (content, recipe)
);
CREATE TABLE failure (
    id INTEGER PRIMARY KEY, content BLOB NOT NULL, recipe TEXT NOT NULL, reason TEXT NOT NULL,
    UNIQUE (content, recipe)
);
CREATE TABLE file (
    id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, stamp TEXT NOT NULL, content BLOB NOT NULL
);
INSERT INTO fingerprint VALUES (1, x'00', '1: TEST2', x'01020304', 10.0, 'TEST2', 'ffmpeg 9');
INSERT INTO file VALUES (1, 'a.mp3', 'x', x'00');
PRAGMA user_version = 1;
"""


def test_a_cache_of_version_1_is_used_on_and_says_what_it_lost(cache: str, song: Path) -> None:
    path = Path(cache) / store.FILE
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1)
    with contextlib.closing(Store(path)) as memory, contextlib.closing(Store(path)) as other:
        assert memory.notes == [f"{path}: 1 fingerprints of an earlier version are computed again"]
        assert other.notes == []
        assert memory.count() == {"fingerprints": 0, "seconds": 0, "failures": 0, "files": 1}
    compute = Computer(replace(FOUND, phases=PHASES))
    for _ in range(2):
        assert recall(cache, song, compute, phases=4) == compute.result
    assert compute.asked == ["a.mp3"]
    assert os.listdir(cache) == [store.FILE]


@pytest.mark.parametrize("how", ["no database", "empty", "cut", "a table is missing", "newer"])
def test_a_damaged_or_newer_cache_is_set_aside(cache: str, song: Path, how: str) -> None:
    recall(cache, song, Computer())
    path = Path(cache) / store.FILE
    broken(path, how)
    compute = Computer()
    with store.opened(cache) as memory:
        assert recalled(memory, entry(song), compute) == FOUND
        fault = "was written by a newer leakscan" if how == "newer" else "is damaged"
        assert memory.notes == [f"{path}: the cache {fault}; set aside as {path.name}.set-aside, begun anew"]
    assert sorted(os.listdir(cache)) == [store.FILE, f"{store.FILE}.set-aside"]
    recall(cache, song, compute)  # and asserts that there are no notes
    assert compute.asked == ["a.mp3"]


def test_damage_that_shows_later_is_noticed_then(cache: str) -> None:
    unknown(cache, 500)
    path = Path(cache) / store.FILE
    content = bytearray(path.read_bytes())
    content[3 * 4096 :] = b"\xa5" * (len(content) - 3 * 4096)
    path.write_bytes(content)
    compute = Computer()
    with store.opened(cache) as memory:
        for number in range(500):
            one = Entry(str(number), Path("x"), 1, str(number).encode())
            assert recalled(memory, one, compute) == FOUND
        assert len(memory.notes) == 1
        assert "is damaged; set aside" in memory.notes[0]
    assert unknown(cache, 500) == []


def test_no_place_for_a_cache(song: Path) -> None:
    compute = Computer()
    with store.opened(str(song)) as memory:  # a file where a folder should be
        for _ in range(2):
            assert recalled(memory, entry(song), compute) == FOUND
        assert len(memory.notes) == 1
        assert memory.notes[0].startswith(f"{song / store.FILE}: the cache cannot be used (")
    assert compute.asked == ["a.mp3", "a.mp3"]


# --- its place -------------------------------------------------------------------------------------------------------


def test_only_the_owner_may_read_it(cache: str, song: Path) -> None:
    recall(cache, song, Computer())
    assert stat.S_IMODE(Path(cache).stat().st_mode) == 0o700
    assert stat.S_IMODE((Path(cache) / store.FILE).stat().st_mode) == 0o600


def test_where_it_lies(tmp_path: Path, song: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    with store.opened() as memory:
        recalled(memory, entry(song), Computer())
    assert (tmp_path / "xdg/leakscan" / store.FILE).is_file()
    monkeypatch.setenv("LEAKSCAN_CACHE", str(tmp_path / "own"))
    with store.opened():
        pass
    assert (tmp_path / "own" / store.FILE).is_file()
    with store.opened(str(tmp_path / "asked")):
        pass
    assert (tmp_path / "asked" / store.FILE).is_file()
    monkeypatch.delenv("LEAKSCAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the standard
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with store.opened():
        pass
    assert (tmp_path / "home/.cache/leakscan" / store.FILE).is_file()


@pytest.mark.parametrize("mark", [".git", "leakscan.toml"])
def test_never_in_a_repository_or_release_unless_asked(
    tmp_path: Path, song: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    (tmp_path / mark).write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    with store.opened() as memory:
        assert recalled(memory, entry(song), Computer()) == FOUND
        assert [note.split(":")[0] for note in memory.notes] == ["no cache of fingerprints"]
    assert not (tmp_path / "xdg").exists()
    assert recall(str(tmp_path / "asked"), song, Computer()) == FOUND
    assert (tmp_path / "asked" / store.FILE).is_file()


def test_none_is_no_cache(song: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKSCAN_CACHE", "none")
    for cache in (None, "none"):
        compute = Computer()
        with store.opened(cache) as memory:
            for _ in range(2):
                assert recalled(memory, entry(song), compute) == FOUND
            assert memory.notes == []
        assert compute.asked == ["a.mp3", "a.mp3"]
    assert store.describe() == ["no cache is used"]


# --- looking after it ------------------------------------------------------------------------------------------------


def test_what_it_holds_is_told(cache: str, song: Path) -> None:
    path = Path(cache) / store.FILE
    assert store.describe(cache) == [f"{path}: nothing stored yet"]
    recall(cache, song, Computer())
    first, *rest = store.describe(cache)
    assert first.startswith(f"{path}: ")
    assert rest == [
        "1 fingerprints of 0.0 hours of audio", "0 that could not be read",
        "1 files that need not be read again while they are unchanged",
    ]  # fmt: skip


def test_all_is_forgotten_on_request(cache: str, song: Path) -> None:
    recall(cache, song, Computer())
    path = Path(cache) / store.FILE
    (Path(cache) / f"{store.FILE}.set-aside").write_text("older")
    assert FOUND.words in path.read_bytes()
    with contextlib.closing(Store(path)) as other:  # another process may have it open
        assert store.clear(cache) == [f"{path}: 1 fingerprints forgotten, 0 kept"]
        assert recalled(other, entry(song), Computer()) == FOUND
    assert os.listdir(cache) == [store.FILE]
    assert store.clear(cache) == [f"{path}: 1 fingerprints forgotten, 0 kept"]
    assert FOUND.words not in path.read_bytes()
    compute = Computer()
    recall(cache, song, compute)
    assert compute.asked == ["a.mp3"]


def test_what_no_file_leads_to_is_pruned(cache: str, song: Path) -> None:
    gone, changed = song.with_name("gone.mp3"), song.with_name("changed.mp3")
    for path in (gone, changed):
        path.write_bytes(path.name.encode())
    for path in (song, gone, changed):
        recall(cache, path, Computer())
    gone.unlink()
    changed.write_bytes(b"something else")
    assert store.prune(cache) == [f"{Path(cache) / store.FILE}: 2 fingerprints forgotten, 1 kept"]
    compute = Computer()
    recall(cache, song, compute)
    assert compute.asked == []


def test_nothing_to_look_after(cache: str) -> None:
    assert store.clear(cache) == store.prune(cache) == store.describe(cache)
    assert not Path(cache).exists()


# --- in use ----------------------------------------------------------------------------------------------------------


def test_matching_computes_and_reads_nothing_twice(
    cache: str, tmp_path: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    songs = tmp_path / "songs"
    songs.mkdir()
    for number in range(2):
        tunes.write(songs / f"song{number}.wav", tunes.music(30 + number, 12))
    (songs / "bad.mp3").write_bytes(b"no audio at all")
    computed: list[str] = []
    fingerprint_each = fingerprints.fingerprint_each

    def noted(files: Sequence[tuple[Path, str]], phases: int = 1) -> list[Fingerprint | Unreadable]:
        computed.extend(path.name for path, _ in files)
        return fingerprint_each(files, phases)

    monkeypatch.setattr(fingerprints, "fingerprint_each", noted)
    plain = hearing.fingerprint_files([entry(path) for path in sorted(songs.iterdir())])
    assert sorted(computed) == ["bad.mp3", "song0.wav", "song1.wav"]
    reports, indexes, runs = [], [], []
    for number in range(2):
        with store.opened(cache) as memory:
            assert hearing.fingerprint_files([one for one, _ in plain], memory) == plain
            indexes.append(matching.write_index([songs], tmp_path / f"index{number}", memory=memory))
            reports.append(matching.match_paths([songs], tmp_path / "index0", memory=memory))
            reports.append(repeats.duplicate_paths([songs], memory))
        runs.append(len(computed))
    assert runs[0] == runs[1]
    assert sorted(hashed) == ["bad.mp3", "song0.wav", "song1.wav"]
    assert reports[:2] == reports[2:]
    assert indexes[0] == indexes[1]
    assert (tmp_path / "index0").read_bytes() == (tmp_path / "index1").read_bytes()
