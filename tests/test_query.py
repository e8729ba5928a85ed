"""By post: what goes to the maintainer, what comes back, and what the ledger keeps."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyrage
import pytest
import tunes

from leakscan import fingerprints, index, matching, query, sealing, store
from leakscan.fingerprints import fingerprint
from leakscan.model import Fingerprint, LeakscanError, Match, Reference, UsageError
from leakscan.query import Answered
from leakscan.sealing import Key, Lock

MAINTAINER, REQUESTER = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
TO_MAINTAINER, TO_REQUESTER = str(MAINTAINER.to_public()), str(REQUESTER.to_public())
OF_MAINTAINER, OF_REQUESTER = Key((str(MAINTAINER),)), Key((str(REQUESTER),))
SECONDS = 20


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The requester's folder: a song of the benchmark under another name, one that is not in it, and no audio."""
    folder = tmp_path_factory.mktemp("post") / "my-music"
    folder.mkdir()
    tunes.write(folder / "x.wav", tunes.music(50, SECONDS))
    tunes.encode(folder / "x.wav", folder / "some title.ogg")
    (folder / "x.wav").unlink()
    tunes.write(folder / "another.wav", tunes.music(51, SECONDS))
    (folder / "broken.mp3").write_bytes(b"no audio")
    return folder


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The maintainer's sealed index of two songs."""
    folder = tmp_path_factory.mktemp("benchmark")
    references = []
    for name, seed in (("MUB-00001", 50), ("MUB-00002", 52)):
        references.append(Reference(name, fingerprint(tunes.write(folder / "x.wav", tunes.music(seed, SECONDS)))))
    index.write_sealed(references, folder / "index.age", Lock((TO_MAINTAINER,)))
    return folder / "index.age"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, mine: Path) -> Path:
    """A query about `mine`, to be answered to the requester."""
    path = tmp_path_factory.mktemp("query") / "query.age"
    query.make([mine], path, TO_MAINTAINER, TO_REQUESTER)
    return path


@pytest.fixture
def answer(tmp_path: Path, benchmark: Path) -> Callable[..., Answered]:
    """`query.answer` with the maintainer's usual arguments; the answer is `answer.age`."""

    def answer(asked: Path, requester: str = "Ann", quota: float = 10, **others: Any) -> Answered:
        options = {"out": tmp_path / "answer.age", "key": OF_MAINTAINER, "ledger": tmp_path / "ledger.jsonl", **others}
        return query.answer(asked, benchmark, requester=requester, quota=quota, **options)

    return answer


def ledger(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]


def rows_of(path: Path, key: Key = OF_REQUESTER) -> list[tuple[str, str, str]]:
    return [(Path(row.file).name, row.id, row.state) for row in query.read(path, key).rows if isinstance(row, Match)]


def test_there_and_back(tmp_path: Path, mine: Path, asked: Path, answer: Callable[..., Answered]) -> None:
    done = answer(asked)
    minutes = 2 * SECONDS / 60
    assert done == Answered(2, pytest.approx(minutes, abs=0.01), done.minutes, 10, replay=False, sealed=True)
    report = query.read(tmp_path / "answer.age", OF_REQUESTER)
    assert rows_of(tmp_path / "answer.age") == [
        ("another.wav", "", "absent"),
        ("some title.ogg", "MUB-00001", "matched"),
    ]
    assert report.summary == {
        "files": 2, "matched": 1, "ambiguous": 0, "conflict": 0, "absent": 1, "too_short": 0,
    }  # fmt: skip
    assert [(finding.rule, finding.place.id) for finding in report.findings] == [("matched-recording", "MUB-00001")]
    assert (report.status, report.examined.files) == (0, 2)


def test_the_answer_is_that_of_match(
    tmp_path: Path, mine: Path, benchmark: Path, asked: Path, answer: Callable[..., Answered]
) -> None:
    answer(asked)
    rows = query.read(tmp_path / "answer.age", OF_REQUESTER).rows
    report = matching.match_paths([mine], benchmark, OF_MAINTAINER)
    expected = [row for row in report.rows if row.file and row.state != "unreadable"]
    # a query tells one phase, match hears four and knows the offset better
    assert [replace(row, offset_s=None) for row in rows] == [replace(row, offset_s=None) for row in expected]
    assert rows[1].offset_s == pytest.approx(expected[1].offset_s, abs=0.01)
    index.write_plain(index.read(benchmark, OF_MAINTAINER), tmp_path / "plain")
    assert matching.match_paths([mine], tmp_path / "plain") == report


def test_what_the_maintainer_sees(mine: Path, asked: Path) -> None:
    """Fingerprints and durations by number; no names, not even their lengths."""
    content = sealing.unseal(asked.read_bytes(), OF_MAINTAINER, "x")
    header, *records = map(json.loads, content.splitlines())
    assert [sorted(record) for record in records] == [["duration", "fingerprint", "id"]] * 2
    assert [record["id"] for record in records] == ["1", "2"]
    assert header["reply_to"] == TO_REQUESTER
    assert not any(word in content for word in (b"title", b"another", b"my-music"))
    assert len(header["names"]) > 65536
    with pytest.raises(LeakscanError, match="wrong key"):
        sealing.unseal(asked.read_bytes(), OF_REQUESTER, "x")


def test_what_the_requester_gets(tmp_path: Path, asked: Path, answer: Callable[..., Answered]) -> None:
    """Rows about its own files; nothing about references that were not matched, no fingerprint."""
    answer(asked)
    content = sealing.unseal((tmp_path / "answer.age").read_bytes(), OF_REQUESTER, "x")
    first, *rows = map(json.loads, content.splitlines())
    assert sorted(first) == ["leakscan_answer", "names"]
    assert [sorted(row) for row in rows] == [sorted(asdict(Match("", "", "absent")))] * 2
    assert b"MUB-00002" not in content
    assert b"AQ" not in content.replace(first["names"].encode(), b"")
    with pytest.raises(LeakscanError, match="wrong key"):
        query.read(tmp_path / "answer.age", OF_MAINTAINER)


def test_what_was_made_is_told(tmp_path: Path, mine: Path) -> None:
    with store.opened(str(tmp_path / "cache")) as memory:
        made = query.make([mine], tmp_path / "query.age", TO_MAINTAINER, None, memory)
        assert memory.count()["fingerprints"] == 2
    assert [Path(name).name for name in made.names] == ["another.wav", "some title.ogg"]
    assert made.minutes == pytest.approx(2 * SECONDS / 60, abs=0.01)
    assert [Path(one.path).name for one in made.unexamined] == ["broken.mp3"]


def test_an_answer_in_plain(tmp_path: Path, mine: Path, asked: Path, answer: Callable[..., Answered]) -> None:
    """Without a recipient to reply to, or on the maintainer's wish: numbers in place of names."""
    query.make([mine], tmp_path / "query.age", TO_MAINTAINER)
    for path, plain in ((tmp_path / "query.age", False), (asked, True)):
        assert answer(path, plain=plain).sealed is False
        assert rows_of(tmp_path / "answer.age", Key()) == [("1", "", "absent"), ("2", "MUB-00001", "matched")]


def test_nothing_to_ask_about(tmp_path: Path, mine: Path) -> None:
    with pytest.raises(LeakscanError, match="no audio to ask about"):
        query.make([mine / "broken.mp3"], tmp_path / "query.age", TO_MAINTAINER)
    for recipients in (("age1x", TO_REQUESTER), (TO_MAINTAINER, "age1x")):
        with pytest.raises(UsageError, match="age1x is no age recipient"):
            query.make([mine], tmp_path / "query.age", *recipients)
    assert not (tmp_path / "query.age").exists()


# --- the ledger ------------------------------------------------------------------------------------------------------


def sealed_query(path: Path, fps: list[Fingerprint], **header: Any) -> Path:
    """A query that somebody made by hand."""
    references = [Reference(f"f{number}", fp) for number, fp in enumerate(fps)]
    first = {"leakscan_query": 1, "reply_to": None, "names": None, **header}
    path.write_bytes(sealing.seal(index.dump(references, path, first), Lock((TO_MAINTAINER,))))
    return path


def noise(seed: int, minutes: float, duration: float | None = None) -> Fingerprint:
    count = int(minutes * 60 / fingerprints.STEP_S)
    words = np.random.default_rng(seed).integers(2**32, size=count, dtype=np.uint32).astype("<u4").tobytes()
    return Fingerprint(words, minutes * 60 if duration is None else duration)


def test_the_quota_is_in_minutes_for_each_requester(tmp_path: Path, answer: Callable[..., Answered]) -> None:
    four = sealed_query(tmp_path / "four", [noise(1, 1), noise(2, 3)])
    five = sealed_query(tmp_path / "five", [noise(3, 5)])
    assert answer(four).used == pytest.approx(4)
    (tmp_path / "answer.age").unlink()
    assert answer(five, "Bob").used == pytest.approx(5)
    assert answer(five).used == pytest.approx(9)
    (tmp_path / "answer.age").unlink()
    with pytest.raises(LeakscanError) as caught:
        answer(four, " ANN ")
    assert str(caught.value) == (
        f"{tmp_path / 'ledger.jsonl'}: ann has 1.0 of 10.0 minutes left and asks for 4.0; refused, and entered"
    )
    assert not (tmp_path / "answer.age").exists()
    assert answer(sealed_query(tmp_path / "one", [noise(4, 1)])).used == pytest.approx(10)
    assert [(one["requester"], one["files"], one["minutes"], one["answered"]) for one in ledger(tmp_path)] == [
        ("ann", 2, 4, True), ("bob", 1, 5, True), ("ann", 1, 5, True), ("ann", 2, 4, False), ("ann", 1, 1, True),
    ]  # fmt: skip
    assert stat.S_IMODE((tmp_path / "ledger.jsonl").stat().st_mode) == 0o600


def test_a_query_sent_again_counts_again(tmp_path: Path, answer: Callable[..., Answered]) -> None:
    first = sealed_query(tmp_path / "first", [noise(1, 1), noise(2, 2)])
    again = sealed_query(tmp_path / "again", [noise(2, 2), noise(1, 1)])
    assert [answer(path).replay for path in (first, again, first)] == [False, True, True]
    assert [one["replay"] for one in ledger(tmp_path)] == [False, True, True]
    assert answer(first, "Bob").replay is False
    with pytest.raises(LeakscanError, match="refused"):
        answer(again)


def test_minutes_are_counted_not_believed(tmp_path: Path, answer: Callable[..., Answered]) -> None:
    """Many words that claim to be short, or one file in place of many, ask about as much."""
    with pytest.raises(LeakscanError, match=r"10\.0 of 10\.0 minutes left and asks for 12\.0;"):
        answer(sealed_query(tmp_path / "x", [noise(1, 12, duration=1.0)]))
    with pytest.raises(LeakscanError, match=r"asks for 12\.0;"):
        answer(sealed_query(tmp_path / "y", [noise(1, 0, duration=720.0)]))


def test_two_answers_at_once_do_not_share_what_is_left(tmp_path: Path, answer: Callable[..., Answered]) -> None:
    queries = [sealed_query(tmp_path / f"{number}", [noise(number, 4)]) for number in range(4)]
    refused = []

    def run(path: Path) -> None:
        try:
            answer(path, out=tmp_path / f"{path.name}.answer")
        except LeakscanError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=run, args=(path,)) for path in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 2
    assert sorted(one["answered"] for one in ledger(tmp_path)) == [False, False, True, True]


@pytest.mark.parametrize(
    "line",
    [
        '{"requester": "ann", "query": "x", "answered": true, "min',
        "[1]",
        '{"requester": "ann", "query": "x", "answered": true, "minutes": "1"}',
        '{"requester": "ann", "query": "x", "answered": true, "minutes": NaN}',
        '{"requester": "ann", "query": "x", "answered": 1, "minutes": 1}',
        '{"requester": 7, "query": "x", "answered": true, "minutes": 1}',
        '{"requester": "ann", "answered": true, "minutes": 1}',
    ],
)
def test_a_ledger_that_cannot_be_read_answers_nothing(
    tmp_path: Path, answer: Callable[..., Answered], line: str
) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_text(f"\n{line}")
    with pytest.raises(LeakscanError, match=f"^{path}:2: "):
        answer(sealed_query(tmp_path / "x", [noise(1, 1)]))
    assert path.read_text() == f"\n{line}"
    assert not (tmp_path / "answer.age").exists()


def test_a_ledger_without_its_last_line_end(tmp_path: Path, answer: Callable[..., Answered]) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_text('{"requester": "ann", "query": "x", "answered": true, "minutes": 7}')
    path.chmod(0o644)
    assert answer(sealed_query(tmp_path / "x", [noise(1, 1)])).used == pytest.approx(8)
    assert [one["minutes"] for one in ledger(tmp_path)] == [7, 1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_where_no_ledger_can_be_kept(tmp_path: Path, answer: Callable[..., Answered]) -> None:
    path = sealed_query(tmp_path / "x", [noise(1, 1)])
    with pytest.raises(LeakscanError, match="cannot be kept"):
        answer(path, ledger=tmp_path / "missing" / "ledger")
    with pytest.raises(UsageError, match="no name"):
        answer(path, " ")
    (tmp_path / ".git").mkdir()
    with pytest.raises(UsageError, match="repository"):
        answer(path)
    assert not (tmp_path / "ledger.jsonl").exists()


# --- what others send ------------------------------------------------------------------------------------------------


def test_what_is_no_query(tmp_path: Path, benchmark: Path, answer: Callable[..., Answered]) -> None:
    for header, fault in (
        ({"reply_to": "age1x"}, "age1x is no age recipient"),
        ({"reply_to": 7}, '"reply_to" must be a text'),
        ({"names": ["x"]}, '"names" must be a text'),
        ({"leakscan_query": 2}, "query format 2 is unknown"),
    ):
        path = sealed_query(tmp_path / "x", [noise(1, 1)], **header)
        with pytest.raises(LeakscanError, match=f"^{path}.*{fault}"):
            answer(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(LeakscanError, match="damaged"):
        answer(path)
    with pytest.raises(LeakscanError, match=r"index\.age:1: "):
        answer(benchmark)
    with pytest.raises(LeakscanError, match="cannot be read"):
        answer(tmp_path / "missing")
    path.write_bytes(b"")
    with pytest.raises(LeakscanError, match="not a query"):
        answer(path)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_too_large_a_query(tmp_path: Path, answer: Callable[..., Answered], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "_MAX_BYTES", 1 << 20)
    path = tmp_path / "x"
    path.write_bytes(b"x" * (2 << 20))
    with pytest.raises(LeakscanError, match="more than 1 MiB"):
        answer(path)


ROW = asdict(Match("1", "MUB-00001", "matched", True, 0.9, 0.0, 20.0, 1.0, 1.0, 1.0))
FIRST = {"leakscan_answer": 1, "names": None}


@pytest.mark.parametrize(
    ("records", "fault"),
    [
        ([], "not an answer"),
        ([ROW], "not an answer"),
        ([{**FIRST, "leakscan_answer": 2}], "not an answer"),
        ([[1]], ":1: not a JSON object"),
        ([FIRST, 7], ":2: not a JSON object"),
        ([FIRST, {}], ":2: not a match row"),
        ([FIRST, ROW, {**ROW, "more": 1}], ":3: not a match row"),
        ([FIRST, {**ROW, "file": 1}], ":2: not a match row"),
        ([FIRST, {**ROW, "id": None}], ":2: not a match row"),
        ([FIRST, {**ROW, "state": "not-found"}], ":2: not a match row"),
        ([FIRST, {**ROW, "state": ["matched"]}], ":2: not a match row"),
        ([FIRST, {**ROW, "same_timeline": 1}], ":2: not a match row"),
        ([FIRST, {**ROW, "score": "high"}], ":2: not a match row"),
        ([FIRST, {**ROW, "score": float("nan")}], ":2: not a match row"),
        ([FIRST, {**ROW, "score": 10**400}], ":2: not a match row"),
        ([FIRST, {**ROW, "overlap_s": None}], ":2: not a match row"),
        ([{**FIRST, "names": 7}, ROW], '"names" is damaged'),
        ([{**FIRST, "names": "???"}, ROW], '"names" is damaged'),
        ([{**FIRST, "names": "WzFd"}, ROW], '"names" holds no names'),
    ],
)
def test_what_is_no_answer(tmp_path: Path, records: list[Any], fault: str) -> None:
    path = tmp_path / "x"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(LeakscanError, match=fault) as caught:
        query.read(path)
    assert str(caught.value).startswith(str(path))


def test_an_answer_about_another_file(tmp_path: Path, asked: Path, answer: Callable[..., Answered]) -> None:
    answer(asked)
    content = sealing.unseal((tmp_path / "answer.age").read_bytes(), OF_REQUESTER, "x")
    for number in ("3", "0", "-1", "x", "٢"):
        changed = content.replace(b'"file": "2"', f'"file": "{number}"'.encode())
        (tmp_path / "changed").write_bytes(changed)
        with pytest.raises(LeakscanError, match="not asked about"):
            query.read(tmp_path / "changed", OF_REQUESTER)
