"""The nouns: what they say about themselves, how items become facts, and that nothing leads out of a release."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan.model import (
    Column,
    Columns,
    Entry,
    Examined,
    Fact,
    FailOn,
    Finding,
    Item,
    Level,
    Malformed,
    Place,
    Private,
    Release,
    Report,
    Secret,
    Tags,
    Unexamined,
    Unreadable,
    child_name,
    facts,
    path_keys,
    value_at,
)


def of(body: Any) -> list[Fact]:
    return list(facts(Item(Place("prompts.jsonl", 1), "record", body)))


# --- facts -----------------------------------------------------------------------------------------------------------


def test_record_is_flattened_in_order_with_its_keys() -> None:
    assert of({"id": "a", "meta": {"n": [1, None, {"x y": True}]}, "empty": {}}) == [
        Fact("name", "$.id", "id"),
        Fact("name", "$.meta", "meta"),
        Fact("name", "$.empty", "empty"),
        Fact("name", "$.meta.n", "n"),
        Fact("name", "$.meta.n[]['x y']", "x y"),
        Fact("field", "$.id", "a"),
        Fact("field", "$.meta.n[]", 1),
        Fact("field", "$.meta.n[]", None),
        Fact("field", "$.meta.n[]['x y']", True),
    ]


SPELT = st.sampled_from(['["a"]', '{"a": {"b": 1}}', " [1, '2']", "[x]", "[]"])
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False), st.text("ab", max_size=2), SPELT
)
KEYS = st.sampled_from(["a", "b", "c d", ""])
BODIES = st.recursive(LEAVES, lambda deeper: st.lists(deeper, max_size=3) | st.dictionaries(KEYS, deeper, max_size=3))


@given(st.lists(BODIES, max_size=6))
def test_columns_hold_the_facts_of_all_records(bodies: list[Any]) -> None:
    columns = Columns(bodies)

    found: list[list[Fact]] = [[] for _ in bodies]
    for keys, owners in columns.keys:
        for owner in owners:
            found[owner] += keys
    for kind, leaves in ((str, columns.texts), (None, columns.others)):
        for name, column in leaves.items():
            for owner, value in zip(*column, strict=True):
                assert (type(value) is str) is (kind is str)
                found[owner].append(Fact("field", name, value))
    for facts_of_one, body in zip(found, bodies, strict=True):
        assert sorted(facts_of_one, key=repr) == sorted(of(body), key=repr)
    texts = [fact.value for body in bodies for fact in of(body) if fact.kind == "field" and isinstance(fact.value, str)]
    assert columns.characters == sum(map(len, texts))


def test_columns_have_texts_as_lines() -> None:
    columns = Columns([{"a": "x", "b": 1}, {"a": "y"}, {"b": "z"}])
    assert [columns.lines(name) for name in ("$.a", "$.a", "$.b")] == ["x\ny", "x\ny", "z"]


def test_columns_do_not_exhaust_the_stack() -> None:
    body: Any = "x"
    for _ in range(20_000):
        body = [body]
    assert Columns([body]).texts == {"$" + "[]" * 20_000: Column([0], ["x"])}


def test_what_a_text_spells_out_is_opened() -> None:
    body = {"meta": '{"answer": "A", "more": ["B"]}', "list": "[{'gold': 1}]", "said": "[Verse]", "said_of": "{x}"}
    found = {(fact.kind, fact.name, fact.value) for fact in facts(Item(Place("p", 1), "record", body))}
    assert found - {("field", f"$.{key}", value) for key, value in body.items()} == {
        *(("name", f"$.{key}", key) for key in body),
        ("name", "$.meta{}.answer", "answer"),
        ("name", "$.meta{}.more", "more"),
        ("field", "$.meta{}.answer", "A"),
        ("field", "$.meta{}.more[]", "B"),
        ("name", "$.list{}[].gold", "gold"),
        ("field", "$.list{}[].gold", 1),
    }
    assert path_keys("$.list{}[].gold") == ("list", "gold")


def test_narrowed_item_holds_the_chosen_facts_alone() -> None:
    item = Item(Place("prompts.jsonl", 1), "record", {"a": 1, "b": 2})
    narrowed = item.narrowed([Fact("field", "$.b", 2)])
    assert (narrowed.place, narrowed.kind, narrowed.body) == (item.place, item.kind, item.body)
    assert facts(narrowed) == (Fact("field", "$.b", 2),)
    assert len(facts(item)) == 4


@pytest.mark.parametrize("body", ["text", 3, None, 2.5])
def test_record_may_be_a_leaf(body: Any) -> None:
    assert of(body) == [Fact("field", "$", body)]


def test_malformed_record_says_why() -> None:
    assert of(Malformed("not JSON", 7)) == [Fact("block", "malformed", "not JSON")]


def test_nesting_does_not_exhaust_the_stack() -> None:
    body: Any = 1
    for _ in range(20_000):
        body = [body]

    (fact,) = of(body)

    assert (fact.name, fact.value) == ("$" + "[]" * 20_000, 1)


def test_tags_are_facts() -> None:
    item = Item(Place("a.mp3"), "audio", Tags("mp3", (("id3.TIT2", "x"), ("id3.TIT2", "y"))))
    assert list(facts(item)) == [Fact("tag", "id3.TIT2", "x"), Fact("tag", "id3.TIT2", "y")]


@pytest.mark.parametrize(
    ("path", "body", "fact"),
    [
        ("audio/x.mp3", None, Fact("name", "file", "x.mp3")),
        ("audio/", None, Fact("name", "folder", "audio")),
        ("a/b/", None, Fact("name", "folder", "b")),
        ("audio/Two Herons!x.mp3", Entry("", Path("x"), 0), Fact("name", "file", "Two Herons!x.mp3")),
        ("shard.tar!b/x.mp3", Entry("", Path("x"), 0, b"", 1), Fact("name", "file", "x.mp3")),
        ("shard.tar!x.mp3", Entry("", Path("x"), 0, b"", 1), Fact("name", "file", "x.mp3")),
    ],
)
def test_name_of_a_file_is_a_fact_in_full(path: str, body: Entry | None, fact: Fact) -> None:
    assert list(facts(Item(Place(path), "file", body))) == [fact]


# --- JSON paths ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("id", "$.id"),
        ("answer-key", "$.answer-key"),
        ("_x", "$._x"),
        ("größe", "$.größe"),
        ("2nd", "$['2nd']"),
        ("a b", "$['a b']"),
        ("a.b", "$['a.b']"),
        ("", "$['']"),
        ("it's", "$['it\\'s']"),
        ("back\\slash", "$['back\\\\slash']"),
        ("line\n", "$['line\n']"),
        ("id\n", "$['id\n']"),
    ],
)
def test_child_name_quotes_what_is_not_plain(key: str, name: str) -> None:
    assert child_name("$", key) == name


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4))
def test_a_path_leads_back_to_its_keys_and_to_the_value(keys: list[str]) -> None:
    name, body = "$", "leaf"
    for key in keys:
        name = child_name(name, key)
    for key in reversed(keys):
        body = {key: body}  # type: ignore[assignment]

    assert path_keys(name) == tuple(keys)
    assert value_at(body, name) == "leaf"


@pytest.mark.parametrize("name", ["$.meta", "$.none", "$.id.x", "$.list", "$.null"])
def test_value_at_is_none_where_there_is_no_leaf(name: str) -> None:
    assert value_at({"id": 5, "meta": {"id": 1}, "list": [1], "null": None}, name) is None


def test_value_at_keeps_the_type() -> None:
    assert value_at({"meta": {"id": 0}}, "$.meta.id") == 0
    assert value_at([], "$.id") is None


# --- entries and releases --------------------------------------------------------------------------------------------


def test_entry_opens_a_file_and_a_member(tmp_path: Path) -> None:
    file = tmp_path / "x.bin"
    file.write_bytes(b"file")
    with Entry("x.bin", file, 4).open() as stream:
        assert stream.read() == b"file"
    member = pickle.loads(pickle.dumps(Entry("x.tar!y", file, 6, b"member", 1)))
    with member.open() as stream:
        assert stream.read() == b"member"


def test_entry_opens_nothing_but_regular_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    for name, why in [
        ("fifo", "not a regular file; remove it from the release"),
        (".", "not a regular file; remove it from the release"),
        ("link", "cannot be opened (Too many levels of symbolic links); check its permissions"),
        ("gone", "cannot be opened (No such file or directory); check its permissions"),
    ]:
        with pytest.raises(Unreadable) as error:
            Entry("a/b", tmp_path / name, 0).open()
        assert str(error.value) == f"a/b: {why}"


@pytest.fixture
def release(tmp_path: Path) -> Release:
    root = tmp_path / "release"
    for path in ("audio/x.mp3", "prompts/audio/y.mp3", "prompts/p.jsonl"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(path.encode())
    (tmp_path / "secret.mp3").write_bytes(b"secret")
    (root / "out.mp3").symlink_to(tmp_path / "secret.mp3")
    (root / "out").symlink_to(tmp_path)
    (root / "in.mp3").symlink_to("audio/x.mp3")
    (root / "sounds").symlink_to("audio")
    (root / "loop").symlink_to("loop")
    return Release(root)


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ("audio/x.mp3", "audio/x.mp3"),
        ("/audio/x.mp3", "audio/x.mp3"),
        ("./audio//x.mp3", "audio/x.mp3"),
        ("audio/y.mp3", "prompts/audio/y.mp3"),  # beside the record
        ("../audio/x.mp3", "audio/x.mp3"),
        ("prompts/../audio/x.mp3", "audio/x.mp3"),
        ("in.mp3", "in.mp3"),
        ("sounds/x.mp3", "sounds/x.mp3"),
    ],
)
def test_reference_is_found_from_the_root_and_beside_the_record(release: Release, reference: str, path: str) -> None:
    entry = release.find("prompts/p.jsonl", reference)

    assert entry is not None
    assert entry.path == path
    with entry.open() as stream:
        assert len(stream.read()) == entry.size > 0


@pytest.mark.parametrize(
    "reference",
    [
        "", ".", "..", "audio", "audio/", "../../secret.mp3", "../secret.mp3", "audio/../../secret.mp3", "out.mp3",
        "out/secret.mp3", "out/release/audio/x.mp3/..", "loop", "loop/x.mp3", "/etc/passwd", "audio/x.mp3/y", "a\0b",
        "\ud800", "x" * 5000, "audio/X.mp3",
    ],
)  # fmt: skip
def test_reference_never_leads_out_and_never_fails(release: Release, reference: str) -> None:
    assert release.find("prompts/p.jsonl", reference) is None


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ("clip.mp3", "data/one/clip.mp3"),
        ("one/./clip.mp3", "data/one/clip.mp3"),
        ("both.mp3", None),  # in two folders
        ("one/both.mp3", "data/one/both.mp3"),
        ("lip.mp3", None),
        ("hidden.mp3", None),
        ("../clip.mp3", None),
        ("link.mp3", None),  # which leads out
    ],
)
def test_reference_is_found_where_one_folder_has_it(tmp_path: Path, reference: str, path: str | None) -> None:
    root = tmp_path / "release"
    for name in ("data/one/clip.mp3", "data/one/both.mp3", "data/two/both.mp3", ".git/hidden.mp3"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"sound")
    (tmp_path / "out.mp3").write_bytes(b"sound")
    (root / "data/link.mp3").symlink_to(tmp_path / "out.mp3")
    entry = Release(root).find("prompts/p.jsonl", reference)
    assert (entry and entry.path) == path


def test_reference_may_mean_a_member() -> None:
    member = Entry("a.tar!x.mp3", Path("a.tar"), 1, b"x", 1)
    assert Release(Path("/nonexistent"), {"a.tar!x.mp3": member}).find("p.jsonl", "./a.tar!x.mp3") is member


# --- findings and reports --------------------------------------------------------------------------------------------

FINDING = Finding("stray-hash", "error", "strong", "m", Place("p.jsonl", 3, "A", "$.hash"))


def test_fingerprint_is_of_rule_and_location_only() -> None:
    assert FINDING.fingerprint == "c0e5e2c52b7f3ba5"
    same = replace(FINDING, level="note", count=9, message="other", place=Place("p.jsonl", 77, "B", "$.hash"))
    assert same.fingerprint == FINDING.fingerprint
    for place in (Place("q.jsonl", 3, "A", "$.hash"), Place("p.jsonl", 3, "A", "$.sum"), Place("p.jsonl", 3, "A")):
        assert replace(FINDING, place=place).fingerprint != FINDING.fingerprint
    assert replace(FINDING, rule="other").fingerprint != FINDING.fingerprint
    assert len(replace(FINDING, place=Place("\udcff")).fingerprint) == 16


SOME = Examined(files=1)
UNREAD = (Unexamined("x", "y"),)


@pytest.mark.parametrize(
    ("level", "fail_on", "unexamined", "examined", "status"),
    [
        (None, "error", (), SOME, 0),
        (None, "error", (), Examined(), 3),  # nothing was examined
        (None, "never", (), Examined(), 3),
        (None, "error", UNREAD, SOME, 3),
        (None, "never", UNREAD, SOME, 3),
        ("error", "error", (), SOME, 1),
        ("error", "error", UNREAD, SOME, 1),  # 1 wins
        ("error", "warning", (), SOME, 1),
        ("error", "note", (), SOME, 1),
        ("error", "never", (), SOME, 0),
        ("error", "never", UNREAD, SOME, 3),
        ("warning", "error", (), SOME, 0),
        ("warning", "error", UNREAD, SOME, 3),
        ("warning", "warning", (), SOME, 1),
        ("warning", "note", (), SOME, 1),
        ("note", "warning", (), SOME, 0),
        ("note", "note", (), SOME, 1),
    ],
)
def test_exit_status(
    level: Level | None, fail_on: FailOn, unexamined: tuple[Unexamined, ...], examined: Examined, status: int
) -> None:
    findings = () if level is None else (replace(FINDING, level=level),)
    report = Report(findings, unexamined=unexamined, examined=examined, fail_on=fail_on)
    assert report.status == status


def test_secret_shows_class_and_length_only() -> None:
    assert str(Secret("hex", 16, "digits", "sha256/whole/hex")) == "hex, 16 digits"
    assert str(Secret("title", 27)) == "title, 27 characters"
    assert str(Secret("title", 2, revealed="ab")) == "title, 2 characters: ab"


def test_private_side_does_not_print_itself() -> None:
    private = Private({"k": {"a": "value"}}, {"k": {"a": "value"}, "l": {}}, Path("/folder"), b"s" * 32, (Path("f"),))
    assert repr(private) == str(private) == "Private(1 gold, 2 catalogue)"
