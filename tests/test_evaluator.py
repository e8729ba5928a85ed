"""The private side is read whole or not at all, and no error quotes any of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakscan import evaluator
from leakscan.model import Private, UsageError

SECRET = b"0123456789abcdef0123456789abcdef"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gold.csv").write_text("id,tempo,key\nMUB-1,97,Amber minor\nMUB-2,,C\n")
    (tmp_path / "catalogue.csv").write_bytes(b'\xef\xbb\xbfid,title\r\nMUB-1,"Two\r\nHerons"\r\n')
    (tmp_path / "audio").mkdir()
    (tmp_path / "leakscan.key").write_bytes(SECRET)
    return tmp_path


def load(folder: Path, text: str) -> Private:
    (folder / "evaluator.toml").write_text(text)
    return evaluator.load(folder / "evaluator.toml")


GOLD = 'gold = {file = "gold.csv", key = "id", fields = ["tempo"]}\n'


def test_everything_arrives(folder: Path) -> None:
    text = (
        GOLD
        + """catalogue = {file = "catalogue.csv", key = "id", fields = ["title"]}
audio = "audio/"
secret = "leakscan.key"
"""
    )
    names = ("evaluator.toml", "gold.csv", "catalogue.csv", "leakscan.key")
    assert load(folder, text) == Private(
        gold={"MUB-1": {"tempo": "97"}, "MUB-2": {"tempo": ""}},
        catalogue={"MUB-1": {"title": "Two\r\nHerons"}},
        audio=folder / "audio",
        secret=SECRET,
        files=tuple(folder / name for name in names),
    )


def test_nothing_is_asked_for(folder: Path) -> None:
    assert load(folder, "") == Private(files=(folder / "evaluator.toml",))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("MUB-1,97,Amber minor\n", "its header line has no column 'id'; name each column once"),
        ("", "its header line has no column 'id'; name each column once"),
        ("id,key\nMUB-1,Amber\n", "its header line has no column 'tempo'; name each column once"),
        ("id,tempo,tempo\nMUB-1,97,Amber\n", "its header line has several columns 'tempo'; name each column once"),
        ("id,tempo\nMUB-1,97\nMUB-1,Amber\n", "line 3 has no 'id' of its own; mend the key"),
        ("id,tempo\n,Amber\n", "line 2 has no 'id' of its own; mend the key"),
        ("id,tempo,key\nMUB-1,Amber\n", "line 2 has not as many cells as the header line"),
        ("id,tempo\nMUB-1,97,Amber\n", "line 2 has not as many cells as the header line"),
        ('id,tempo\nMUB-1,"Amber\n', "cannot be read as CSV: unexpected end of data"),
        ('id,tempo\nMUB-1,"Amber" x\n', "cannot be read as CSV: ',' expected after '\"'"),
    ],
)
def test_a_table_is_whole_or_an_error(folder: Path, table: str, message: str) -> None:
    (folder / "gold.csv").write_text(table)
    with pytest.raises(UsageError) as error:
        load(folder, GOLD)
    assert str(error.value) == f"{folder / 'gold.csv'}: {message}"
    assert "Amber" not in str(error.value)


def test_table_that_is_not_utf8(folder: Path) -> None:
    (folder / "gold.csv").write_bytes("id,tempo\nMUB-1,ä\n".encode("latin-1"))
    with pytest.raises(UsageError, match=r"gold\.csv: cannot be read as CSV: not UTF-8$"):
        load(folder, GOLD)


def test_empty_table_is_no_error(folder: Path) -> None:
    (folder / "gold.csv").write_text("id,tempo\n")
    assert load(folder, GOLD).gold == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gld = 1", "unknown key 'gld'; did you mean 'gold'?"),
        ("gold = 'gold.csv'", 'write gold = {file = "...", key = "...", fields = ["...", ...]}'),
        ('gold = {file = "gold.csv", key = "id"}', "write gold = "),
        ('gold = {file = "gold.csv", key = "id", fields = "tempo"}', "write gold = "),
        ('gold = {file = 1, key = "id", fields = ["tempo"]}', "write gold = "),
        ('gold = {file = "gold.csv", key = "id", fields = [1]}', "write gold = "),
        ("audio = 'none/'", "audio must name a folder beside this file"),
        ("audio = 1", "audio must name a folder beside this file"),
        ("secret = 1", "secret must name a file"),
        ("gold", "not valid TOML: "),
    ],
)
def test_errors_of_the_file(folder: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        load(folder, text)
    assert str(error.value).startswith(f"{folder / 'evaluator.toml'}: {message}")


def test_files_that_are_missing(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.csv: cannot be read as CSV: No such file or directory$"):
        load(folder, 'gold = {file = "none.csv", key = "id", fields = []}')
    with pytest.raises(UsageError, match=r"none\.key: cannot be read \(No such file or directory\)$"):
        load(folder, "secret = 'none.key'")


def test_secret_of_another_length_is_refused_and_not_shown(folder: Path) -> None:
    (folder / "leakscan.key").write_bytes(SECRET + b"\n")
    with pytest.raises(UsageError) as error:
        load(folder, "secret = 'leakscan.key'")
    assert str(error.value) == f"{folder / 'leakscan.key'}: holds 33 bytes; a secret is 32 raw bytes"
