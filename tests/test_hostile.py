"""What only a broken or malicious release holds, through the command: never clean unread, no traceback, no hang."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

OK = '{"id": "MUB-00001", "prompt": "Which metre?"}\n'
MANY = "".join(f'{{"id": "MUB-{number:05}", "prompt": "Which chord at bar {number}?"}}\n' for number in range(1, 101))
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0a1b\nsize 1843200\n"
LINK_OUT = "a link that leads out of the release root; replace it by a copy"
SPECIAL = "not a regular file (a FIFO, socket or device); remove it"
NO_MP3 = "not what its name says: no .mp3 content found"
PLAYLIST = "not what its name says: a playlist or XML, no .mp3 content"


def run(*arguments: object, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, so that a hang or a crash is seen; text is never assumed to be UTF-8."""
    command = [sys.executable, "-m", "leakscan", *map(os.fsencode, map(str, arguments))]
    done = subprocess.run(command, capture_output=True, timeout=120, stdin=subprocess.DEVNULL, **more)
    assert b"Traceback" not in done.stderr
    assert b"internal error" not in done.stderr
    return done


def scan(*arguments: object) -> Any:
    """The JSON report; its status is the command's."""
    done = run(*arguments, "--format", "json")
    assert done.stderr == b""
    document = json.loads(done.stdout)
    assert document["status"] == done.returncode
    return document


def write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A release with one good file."""
    write(tmp_path / "release/good.jsonl", OK)
    write(tmp_path / "outside/secret.jsonl", OK)
    return tmp_path / "release"


def test_good_file_alone_is_clean(root: Path) -> None:
    report = scan(root)
    assert (report["status"], report["findings"], report["unexamined"]) == (0, [], [])
    assert report["examined"] == {"files": 1, "records": 1, "audio": 0, "fields": 2, "bytes": len(OK)}


# --- files that are not read: 3, by name and reason ------------------------------------------------------------------

UNREAD: dict[str, tuple[str, str | bytes | Callable[[Path], object], str]] = {
    "lfs-jsonl": ("x.jsonl", POINTER, "a Git LFS pointer, not the data; fetch it with `git lfs pull`"),
    "lfs-mp3": ("x.mp3", POINTER, "a Git LFS pointer, not the data; fetch it with `git lfs pull`"),
    "utf-16": ("x.jsonl", OK.encode("utf-16"), "UTF-16 or UTF-32 text; convert it to UTF-8"),
    "utf-16-csv": ("x.csv", "id,a\n1,2\n".encode("utf-16"), "UTF-16 or UTF-32 text; convert it to UTF-8"),
    "utf-32": ("x.jsonl", OK.encode("utf-32"), "UTF-16 or UTF-32 text; convert it to UTF-8"),
    "zero-jsonl": ("x.jsonl", "", "empty"),
    "zero-csv": ("x.csv", "", "empty"),
    "zero-mp3": ("x.mp3", "", "empty"),
    "zero-zip": ("x.zip", "", "empty"),
    "blank-jsonl": ("x.jsonl", "\n\n", "not what its name says: no .jsonl content found"),
    "empty-array": ("x.json", "[]", "holds no records"),
    "header-only": ("x.csv", "id,a\n", "holds no records"),
    "m3u": ("x.mp3", "#EXTM3U\n/etc/passwd\n", PLAYLIST),
    "hls": ("x.mp3", "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n", PLAYLIST),
    "dash": ("x.mp3", '<?xml version="1.0"?>\n<MPD><BaseURL>file:///etc/passwd</BaseURL></MPD>', PLAYLIST),
    "text-mp3": ("x.mp3", "just text", NO_MP3),
    "prose-jsonl": ("x.jsonl", "# a heading\n" + OK, "not what its name says: no .jsonl content found"),
    "zip": ("x.jsonl", b"PK\x03\x04" + b"\0" * 50, "a zip archive is not supported yet"),
    "gzip": ("x.jsonl.gz", b"\x1f\x8b" + b"\0" * 50, "not what its name says: no .gz content found"),
    "fifo": ("x.jsonl", os.mkfifo, SPECIAL),
    "fifo-mp3": ("x.mp3", os.mkfifo, SPECIAL),
    "dangling": ("x.jsonl", lambda path: path.symlink_to("nothing"), "a link to nothing"),
    "loop": ("x.jsonl", lambda path: path.symlink_to("x.jsonl"), "a link to nothing"),
    "link-out": ("x.jsonl", lambda path: path.symlink_to("../outside/secret.jsonl"), LINK_OUT),
    "link-passwd": ("x.jsonl", lambda path: path.symlink_to("/etc/passwd"), LINK_OUT),
    "link-zero": ("x.jsonl", lambda path: path.symlink_to("/dev/zero"), LINK_OUT),
    "folder-out": ("x", lambda path: path.symlink_to("../outside"), LINK_OUT),
    "folder-up": ("x", lambda path: path.symlink_to(".."), LINK_OUT),
    "folder-here": ("x", lambda path: path.symlink_to("."), "a link to a folder; replace it by a copy"),
}


@pytest.mark.parametrize(("name", "content", "reason"), UNREAD.values(), ids=UNREAD)
def test_file_that_is_not_read_is_no_verdict(
    root: Path, name: str, content: str | bytes | Callable[[Path], object], reason: str
) -> None:
    if callable(content):
        content(root / name)
    else:
        write(root / name, content)
    report = scan(root, "--fail-on", "never")
    assert report["unexamined"] == [{"path": name, "reason": reason}]
    assert (report["status"], report["examined"]["files"]) == (3, 1)


@pytest.mark.skipif(os.getuid() == 0, reason="nothing is unreadable to root")
@pytest.mark.parametrize("name", ["x.jsonl", "folder/x.jsonl"])
def test_file_without_permission_is_no_verdict(root: Path, name: str) -> None:
    write(root / name, OK)
    locked = root / name.partition("/")[0]
    locked.chmod(0)
    report = scan(root)
    locked.chmod(0o700)
    (entry,) = report["unexamined"]
    assert (entry["path"], report["status"]) == (locked.name, 3)
    assert "Permission denied" in entry["reason"]


def test_sound_that_ends_early_is_no_verdict(root: Path) -> None:
    with wave.open(str(root / "x.wav"), "wb") as stream:
        stream.setparams((1, 2, 8000, 0, "NONE", ""))
        stream.writeframes(b"\1\2" * 4000)
    assert scan(root)["status"] == 0
    write(root / "x.wav", (root / "x.wav").read_bytes()[:5000])
    report = scan(root)
    assert (report["status"], [entry["path"] for entry in report["unexamined"]]) == (3, ["x.wav"])
    assert report["unexamined"][0]["reason"].startswith("cut: ")


# --- records that are not read: a finding and an entry ---------------------------------------------------------------

BROKEN = {
    "cut": ("x.jsonl", OK + '{"id": "MUB-00002", "pro', 2, f"record 2 at byte {len(OK) + 20}: not JSON (unterminated"),
    "keys": ("x.jsonl", '{"id": "1", "answer": "", "answer": "x"}\n', 1, "record 1 at byte 0: an object names"),
    "number": ("x.jsonl", '{"a": ' + "7" * 9999 + "}\n", 1, "record 1 at byte 0: holds a number too long to read"),
    "deep": ("x.json", "[" * 200_000 + "]" * 200_000, 1, "record 1 at byte 1: nested too deeply"),
    "deep-objects": ("x.jsonl", '{"a":' * 100_000 + "1" + "}" * 100_000, 1, "record 1 at byte 0: nested too deeply"),
    "utf-8": ("x.jsonl", b'{"a": "\xff"}\n', 1, "record 1 at byte 7: not UTF-8"),
    "nul": ("x.jsonl", MANY + '{"a": "\0"}', 101, f"record 101 at byte {len(MANY) + 7}: not JSON ("),
    "nul-early": ("x.jsonl", OK + '{"a": "\0"}', 2, f"record 2 at byte {len(OK) + 7}: not JSON ("),
    "latin-1": ("x.csv", "id,a\n1,ä\n".encode("latin-1"), 1, "record 1 at byte 7: not UTF-8"),
    "two": ("x.jsonl", '{"a": 1} {"b": 2}\n', 1, "record 1 at byte 9: not JSON (extra data)"),
    "quote": ("x.csv", 'id,a\n1,x\n2,"y\n3,z\n', 2, "record 2 at byte 9: not CSV (line 3: a quote is open or"),
    "array": ("x.json", '[{"id": 1}, {"id": 2}', 3, "record 3 at byte 21: not JSON (expecting ',' delimiter)"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "record", "reason"), BROKEN.values(), ids=BROKEN)
def test_record_that_is_broken_is_a_finding_and_unexamined(
    root: Path, name: str, content: str | bytes, record: int, reason: str
) -> None:
    write(root / name, content)
    report = scan(root)
    (entry,) = report["unexamined"]
    assert entry["path"] == name
    assert entry["reason"].startswith(reason)
    (finding,) = report["findings"]
    assert (finding["rule"], finding["count"], finding["level"]) == ("malformed-record", 1, "error")
    assert finding["place"] == {"path": name, "record": record, "id": None, "name": None}
    assert report["status"] == 1
    assert scan(root, "--fail-on", "never")["status"] == 3


@pytest.mark.parametrize(
    ("name", "content", "records"),
    [
        ("nan.jsonl", '{"a": NaN, "b": -Infinity, "c": 1e999}\n', 1),
        ("ragged.csv", 'id,prompt\n1\n2,"a\nb",x,y\n', 2),
        ("deep.jsonl", '{"a": ' + "[" * 400 + "]" * 400 + "}\n", 1),
        ("long.jsonl", '{"a": "' + "x" * 3_000_000 + '"}\n', 1),
        ("wide.jsonl", json.dumps({f"k{number}": 1 for number in range(5_000)}) + "\n", 1),
        ("wide.csv", ",".join("abc" * 1000) + "\n" + "," * 2999 + "\n", 1),
    ],
)
def test_odd_but_whole_records_are_read(root: Path, name: str, content: str, records: int) -> None:
    write(root / name, content)
    report = scan(root)
    assert (report["unexamined"], report["examined"]["records"]) == ([], 1 + records)
    assert report["status"] == 0


# --- names -----------------------------------------------------------------------------------------------------------


def test_folder_called_like_a_file_is_a_folder(root: Path) -> None:
    write(root / "x.mp3/y.jsonl", OK)
    (root / "empty.mp3").mkdir()
    assert scan(root)["examined"]["files"] == 2


NAMES = [
    b"line\n::error::planted.jsonl",
    b"\xff\xfe.jsonl",
    b"\x1b[31m.jsonl",
    "\u202elnosj.jsonl".encode(),
    b" .jsonl",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("format_name", ["text", "csv"])
def test_name_cannot_steer_the_log(root: Path, name: bytes, format_name: str) -> None:
    write(root / os.fsdecode(name), "{")
    done = run(root, "--format", format_name)
    assert done.returncode == 1
    text = done.stdout.decode()
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert not set(text) & {"\x1b", "\u202e", "\r"}
    assert ".jsonl" in text


def test_names_in_json_are_the_real_ones(root: Path) -> None:
    for name in NAMES:
        write(root / os.fsdecode(name), "")
    report = scan(root)
    assert {os.fsencode(entry["path"]) for entry in report["unexamined"]} == set(NAMES)


# --- nothing, or something else --------------------------------------------------------------------------------------


def test_empty_folder_is_no_verdict(tmp_path: Path) -> None:
    report = scan(tmp_path)
    assert (report["status"], report["examined"]["files"], report["unexamined"]) == (3, 0, [])
    (tmp_path / "stray.bin").write_bytes(b"abc")
    report = scan(tmp_path)
    assert (report["status"], report["noted"]) == (3, ["stray.bin"])


def test_missing_path_is_wrong_usage(tmp_path: Path) -> None:
    for path in (tmp_path / "gone", tmp_path / "a\n::error::planted"):
        done = run(path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"no such file or folder; check the path" in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("kind", ["fifo", "dangling", "out"])
def test_path_that_is_no_file_ends(root: Path, kind: str) -> None:
    path = root / "x.jsonl"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("nothing" if kind == "dangling" else "../outside/secret.jsonl")
    assert scan(path)["status"] == 3


FIELD = "[records.p]\nfiles = ['a']\n[records.p.fields]\na = {role = 'input', pattern = '%s'}"


@pytest.mark.parametrize(
    "text",
    [
        "a = ", "[records.p]\nfiles = ['" + "**/" * 50 + "x']\nfields = 1", "profile = 'none'", "x" * 2_000_000,
        "a = " + "[" * 50_000, "[records.p]\nfiles = ['" + "?" * 500_000 + "']", FIELD % "(a+)+(",
        FIELD % "(((a{99}){99}){99}){99}",
        "[rules]\npaths = ['..']", "[rules]\npaths = ['none']", "[rules]\ndisable = ['none']",
    ],
    ids=range(11),
)  # fmt: skip
def test_configuration_of_the_release_cannot_hang_or_crash(root: Path, text: str) -> None:
    write(root / "leakscan.toml", text)
    done = run(root)
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1


def test_patterns_and_globs_of_the_release_take_linear_time(root: Path) -> None:
    glob = "**/" * 60 + "*a" * 60 + "b"
    pattern = "(a|a)*" * 50 + "b"
    write(
        root / "leakscan.toml",
        f"""
[records.p]
files = ["{glob}", "*.jsonl"]
[records.p.fields]
id = {{role = "routing"}}
prompt = {{role = "input", pattern = "{pattern}"}}
[files]
allow = ["{glob}"]
[[waiver]]
rule = "schema-violation"
where = "{glob}"
reason = "none"
""",
    )
    write(root / ("a/" * 200) / ("a" * 200), "x")
    write(root / "a.jsonl", json.dumps({"id": "1", "prompt": "a" * 100_000}) + "\n")
    report = scan(root)
    assert ("schema-violation", "a.jsonl") in {(one["rule"], one["place"]["path"]) for one in report["findings"]}


def test_configuration_that_is_a_fifo_does_not_hang(root: Path) -> None:
    os.mkfifo(root / "leakscan.toml")
    assert run(root).returncode == 2


def test_one_unread_file_does_not_hide_a_leak_elsewhere(root: Path) -> None:
    write(root / "a.jsonl", "")
    os.mkfifo(root / "b.mp3")
    write(root / "c.jsonl", '{"id": "1", "title": "Crooked Teaspoons"}\n')
    report = scan(root)
    assert [(one["rule"], one["place"]["path"]) for one in report["findings"]] == [("identity-field", "c.jsonl")]
    assert (report["status"], len(report["unexamined"])) == (1, 2)


def test_copy_of_a_hostile_release_never_holds_what_lies_outside(root: Path, tmp_path: Path) -> None:
    write(root / "leakscan.toml", '[records.p]\nfiles = ["*.jsonl"]\n[records.p.fields]\nid = {role = "routing"}\n')
    (root / "x.jsonl").symlink_to("../outside/secret.jsonl")
    os.mkfifo(root / "y.jsonl")
    done = run("clean", root, tmp_path / "out", "--format", "json")
    assert done.returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["good.jsonl", "leakscan.toml"]
    assert (tmp_path / "out/good.jsonl").read_text() == '{"id": "MUB-00001"}\n'
    assert json.loads(done.stdout)["noted"] == ["x.jsonl", "y.jsonl"]
