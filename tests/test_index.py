"""The index: plain for its owner only, sealed for others with the same answers; what is wrong is said by line."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import numpy as np
import pyrage
import pytest

from leakscan import index
from leakscan.fingerprints import SILENCE, encode
from leakscan.index import Exposure
from leakscan.model import Fingerprint, LeakscanError, Reference, UsageError
from leakscan.sealing import Key, Lock


def reference(name: str, count: int = 50, library: str = "ffmpeg 9") -> Reference:
    words = np.random.default_rng(count).integers(2**32, size=count, dtype=np.uint32).astype("<u4").tobytes()
    return Reference(name, Fingerprint(words, 8.5 + count, "TEST2", library))


REFERENCES = (reference("MUB-00001"), reference("MUB-00002", 0), reference("Mé\u202e", 300))
LINE = json.dumps({"id": "x", "duration": 10, "fingerprint": encode(REFERENCES[0].fingerprint)})


def test_read_gives_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "index.jsonl"
    index.write_plain(REFERENCES[::-1], path)
    assert index.read(path) == REFERENCES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["index.jsonl"]
    header, *records = map(json.loads, path.read_text("ascii").splitlines())
    assert (header["leakscan_index"], header["algorithm"], header["library"]) == (1, "TEST2", "ffmpeg 9")
    assert [sorted(record) for record in records] == [["duration", "fingerprint", "id"]] * 3
    assert records[0]["fingerprint"] == encode(REFERENCES[0].fingerprint)


def test_the_same_references_give_the_same_bytes(tmp_path: Path) -> None:
    index.write_plain(REFERENCES, tmp_path / "a")
    index.write_plain(REFERENCES[::-1], tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("kind", ["folder", "file"])  # a file: a worktree or submodule
def test_never_into_a_repository(tmp_path: Path, kind: str) -> None:
    if kind == "folder":
        (tmp_path / ".git").mkdir()
    else:
        (tmp_path / ".git").write_text("gitdir: elsewhere")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path.parent / f"{tmp_path.name}-link").symlink_to(tmp_path / "deep")
    for path in (tmp_path / "x", tmp_path / "deep/er/x", tmp_path.parent / f"{tmp_path.name}-link" / "x"):
        with pytest.raises(UsageError, match="repository"):
            index.write_plain(REFERENCES, path)
        assert not path.exists()


def test_no_folder_to_write_to(tmp_path: Path) -> None:
    with pytest.raises(LeakscanError, match="cannot be written"):
        index.write_plain(REFERENCES, tmp_path / "missing" / "x")


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(LeakscanError, match="ID a;"):
        index.write_plain([reference("a"), reference("a", 60)], tmp_path / "x")
    with pytest.raises(LeakscanError, match="not a TEST2"):
        index.write_plain([Reference("a", Fingerprint(b"", 1.0, "TEST1"))], tmp_path / "x")


def test_the_first_line_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbf" + LINE.encode() + b"\r\n\r\n")
    (one,) = index.read(path)
    assert (one.id, one.fingerprint.duration, one.fingerprint.algorithm, one.fingerprint.library) == (
        "x",
        10,
        "TEST2",
        "",
    )
    assert one.fingerprint.words == REFERENCES[0].fingerprint.words


def changed(**fields: object) -> str:
    return json.dumps({**json.loads(LINE), **fields})


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (["nonsense"], r"x:1: not JSON"),
        ([LINE, "[1]"], r"x:2: not a JSON object"),
        ([LINE, "[" * 100_000], r"x:2: not JSON"),
        ([LINE, LINE], r"x:2: the ID x was there before"),
        ([LINE[:-30]], r"x:1: not JSON"),
        ([changed(id="")], r'x:1: "id"'),
        ([changed(id=7)], r'x:1: "id"'),
        ([changed(duration="10")], r'x:1: "duration"'),
        ([changed(duration=True)], r'x:1: "duration"'),
        ([changed(duration=-1)], r'x:1: "duration"'),
        ([changed(duration=float("nan"))], r'x:1: "duration"'),
        ([changed(duration=float("inf"))], r'x:1: "duration"'),
        ([changed(duration=10**400)], r'x:1: "duration"'),
        ([changed(fingerprint=None)], r'x:1: "fingerprint"'),
        ([changed(fingerprint="AQ")], r"x:1: not a compressed fingerprint"),
        ([changed(fingerprint=encode(Fingerprint(b"", 0, "TEST1")))], r"x:1: algorithm 'TEST1'"),
        (['{"leakscan_index": 2}'], r"x:1: index format 2"),
        (['{"leakscan_index": 1, "algorithm": "TEST3"}'], r"x:1: algorithm 'TEST3'"),
        (['{"leakscan_index": 1, "algorithm": "TEST2", "library": 7}'], r'x:1: "library"'),
        (['{"leakscan_index": 1, "algorithm": "TEST2", "parameters": 7}'], r'x:1: "parameters"'),
        (['{"leakscan_index": 1, "algorithm": "TEST2", "parameters": {"rate": 16000}}'], r"x:1: rate 16000; only"),
        (["age-encryption.org/v1"], r"x: sealed to recipients; give --identity"),
        (["\udcff"], r"x:1: not JSON"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, lines: list[str], fault: str) -> None:
    path = tmp_path / "x"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    with pytest.raises(LeakscanError, match=fault) as caught:
        index.read(path)
    assert str(caught.value).startswith(str(path))


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_MAX_LINE", 1 << 20)
    path = tmp_path / "x"
    path.write_bytes(b"x" * (3 << 20))
    with pytest.raises(LeakscanError, match="x:1: a line of more than 1 MiB"):
        index.read(path)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(LeakscanError, match="cannot be read"):
            index.read(path)


# --- sealed ----------------------------------------------------------------------------------------------------------

IDENTITY, OTHER = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
RECIPIENT = str(IDENTITY.to_public())
KEY = Key((str(IDENTITY),))


def test_a_sealed_index_holds_what_a_plain_one_does(tmp_path: Path) -> None:
    path = tmp_path / "index.age"
    index.write_sealed(REFERENCES[::-1], path, Lock((RECIPIENT, str(OTHER.to_public()))))
    index.write_plain(REFERENCES, tmp_path / "plain")
    assert index.read(path, KEY) == index.read(path, Key((str(OTHER),))) == index.read(tmp_path / "plain") == REFERENCES
    assert b"MUB" not in path.read_bytes()
    assert pyrage.decrypt(path.read_bytes(), [IDENTITY]).rstrip() == (tmp_path / "plain").read_bytes().rstrip()


def test_a_sealed_index_may_lie_in_a_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    index.write_sealed(REFERENCES, tmp_path / "index.age", Lock((RECIPIENT,)))
    assert index.read(tmp_path / "index.age", KEY) == REFERENCES


def test_count_and_sizes_are_hidden(tmp_path: Path) -> None:
    """None, one or fifty references in one step: the files are as large, but for the header's noise."""
    sizes = []
    for name, references in (("a", ()), ("b", REFERENCES[:1]), ("c", [reference(f"{n}", 30 + n) for n in range(50)])):
        index.write_sealed(references, tmp_path / name, Lock((RECIPIENT,)))
        content = (tmp_path / name).read_bytes()
        sizes.append(len(content) - content.index(b"\n", content.index(b"\n--- ") + 1))
    assert sizes[0] == sizes[1] == sizes[2] > 65_536


def test_a_wrong_key_is_not_an_empty_index(tmp_path: Path) -> None:
    path = tmp_path / "index.age"
    index.write_sealed(REFERENCES, path, Lock((RECIPIENT,)))
    with pytest.raises(LeakscanError, match=f"^{path}: a wrong key"):
        index.read(path, Key((str(OTHER),)))


def test_a_copy_for_each(tmp_path: Path) -> None:
    recipients = [RECIPIENT, str(OTHER.to_public())]
    paths = index.write_each(REFERENCES, tmp_path, recipients)
    assert [path.name for path in paths] == [f"{recipient}.age" for recipient in recipients]
    assert index.read(paths[0], KEY) == index.read(paths[1], Key((str(OTHER),))) == REFERENCES
    with pytest.raises(LeakscanError, match="wrong key"):
        index.read(paths[1], KEY)


def test_a_copy_for_each_or_for_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="age1x is no age recipient"):
        index.write_each(REFERENCES, tmp_path, [RECIPIENT, "age1x"])
    assert os.listdir(tmp_path) == []


def test_what_is_wrong_inside_is_said_by_line(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(pyrage.encrypt(f"{LINE}\nnonsense\n".encode(), [IDENTITY.to_public()]))
    with pytest.raises(LeakscanError, match=f"^{path}:2: not JSON"):
        index.read(path, KEY)


# --- audit -----------------------------------------------------------------------------------------------------------


def words_of(name: str, words: list[int], duration: float) -> Reference:
    return Reference(name, Fingerprint(np.array(words, "<u4").tobytes(), duration))


def test_what_a_plain_index_gives_away(tmp_path: Path) -> None:
    far = [(n << 20) * 2654435761 % 2**32 for n in range(1, 40)]  # words that differ in their highest bits
    references = [
        words_of("a", far[:5], 30.01),  # two of its words are b's, too: three of its own
        words_of("b", [*far[:2], far[5], far[6]], 30.02),  # two of its own
        words_of("c", [far[7], far[7], far[8], far[9] ^ 15, far[9], int(SILENCE), int(SILENCE) ^ 1], 12.0),
        words_of("d", [], 2.0),
    ]
    path = tmp_path / "x"
    index.write_plain(references, path)
    catalogue = [words_of("one", far[:5], 200.0), words_of("two", [*far[:2], far[9] ^ 3, far[30]], 200.0)]
    size = path.stat().st_size
    assert index.audit(path) == Exposure(size, False, 4, named=2, timed=2, is_sorted=True)
    assert index.audit(path, catalogue=catalogue).found == 1
    assert index.audit(path, catalogue=[*catalogue, catalogue[0]]).found == 0  # two names for one recording: neither
    assert index.audit(path, catalogue=[]).found == 0
    assert index.audit(path, catalogue=catalogue).lines() == [
        f"to everybody it shows its size, {size} bytes",
        "everybody who gets this file learns that there are 4 references, and their IDs",
        "2 of 4 have at least 3 words of their own: a public look-up service can name each",
        "2 of 4 have a duration of their own (to 0.1 s), which alone finds candidates",
        "their order is that of the IDs: it tells nothing more",
        "1 of 4 are named by the catalogue given",
    ]


def test_what_a_sealed_index_gives_away(tmp_path: Path) -> None:
    path = tmp_path / "x"
    index.write_sealed(REFERENCES, path, Lock((RECIPIENT,)))
    found = index.audit(path, KEY)
    assert (found.sealed, found.references, found.named) == (True, 3, 2)
    assert found.lines()[0] == f"to everybody it shows its size, {path.stat().st_size} bytes; padded"
    assert found.lines()[1].startswith("whoever opens this index learns")
    with pytest.raises(LeakscanError, match="give --identity"):
        index.audit(path)


def test_an_order_that_is_not_that_of_the_ids_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(f"{changed(id='b')}\n{changed(id='a')}\n")
    assert index.audit(path).is_sorted is False
    assert "not sorted" in index.audit(path).lines()[4]


def test_an_empty_index_gives_nothing_away(tmp_path: Path) -> None:
    index.write_plain([], tmp_path / "x")
    found = index.audit(tmp_path / "x", catalogue=REFERENCES)
    assert (found.references, found.named, found.timed, found.found) == (0, 0, 0, 0)
