"""What comes from outside is safe to show: no control characters, no bidi, no commands to CI services."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan.text import as_text, counted, fold, plain, printable, spellings


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("audio/MUB-00001.mp3", "audio/MUB-00001.mp3"),
        ("Größe 漢字 \u00a0", "Größe 漢字 \u00a0"),
        ("a\nb\r\tc", "a\\x0ab\\x0d\\x09c"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
        ("a\u202eb\u2066c\u200d", "a\\u202eb\\u2066c\\u200d"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\udcff\ue000", "\\udcff\\ue000"),
        ("\U000e0041", "\\U000e0041"),
        ("::error file=x::", ":\\x3aerror file=x:\\x3a"),
        ("  ::stop-commands::t", "  :\\x3astop-commands:\\x3at"),
        (":::", ":\\x3a\\x3a"),
        ("a ##[error] b", "a #\\x23[error] b"),
        ("##vso[task.x]", "#\\x23vso[task.x]"),
        ("a:b #c", "a:b #c"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_counted() -> None:
    assert [counted(number, "file") for number in (0, 1, 2000)] == ["0 files", "1 file", "2,000 files"]
    assert [counted(number, "copy", "copies") for number in (1, 2)] == ["1 copy", "2 copies"]


@given(st.text(st.characters()))
def test_what_is_shown_can_neither_steer_nor_command(text: str) -> None:
    shown = printable(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert "::" not in shown
    assert "##" not in shown
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("viola", "viola"),
        ("100 %, 50%x", "100 %, 50%x"),
        ("https%3A%2F%2Fmub.example%2F1", "https://mub.example/1"),
        ("vi\u043el\u0430", "viola"),
        ("\uff56\uff49\uff4f\uff4c\uff41", "viola"),
        ("vio\u200bl\u00ada\u2060", "viola"),
        ("v\u00ed\u00f6la", "viola"),
        ("\U0001d42fiola", "viola"),
        ("3\u20134\u20115", "3-4-5"),
        ("\u0441\u043a\u0440\u0438\u043f\u043a\u0430", "\u0441\u043a\u0440\u0438\u043f\u043a\u0430"),
        ("\u7ae5\u8c23 C\u266f", "\u7ae5\u8c23 C\u266f"),
    ],
)
def test_plain(text: str, read: str) -> None:
    assert plain(text) == read


def test_plain_takes_linear_time() -> None:
    long = "\u7ae5" * 200_000 + "\u0430"
    assert plain(long) == long


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("$.answer", ("$.answer",)),
        ("$.goldAnswer", ("$.goldAnswer", "$.goldanswer", "$.gold_answer")),
        ("$.a.ISRCCode", ("$.a.ISRCCode", "$.a.isrccode", "$.a.isrc_code")),
        ("$.md5Hash[]", ("$.md5Hash[]", "$.md5hash[]", "$.md5_hash[]")),
        ("$.right-answer", ("$.right-answer", "$.right_answer")),
        ("$['Right answer']", ("$['Right answer']", "$['right answer']", "$.right_answer")),
        ("$['an\u200bswer']", ("$['an\u200bswer']", "$['answer']", "$.answer")),
        ("$['\u0430nswer'].x", ("$['\u0430nswer'].x", "$['answer'].x", "$.answer.x")),
        ("$['a.b']", ("$['a.b']",)),
        ("id3.TBPM", ("id3.TBPM", "id3.tbpm")),
    ],
)
def test_spellings(name: str, found: tuple[str, ...]) -> None:
    assert spellings(name) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The H\u00f6bnail-Quartet, No. 2", ("the", "hobnail", "quartet", "no", "2")),
        ("\uff34he Hobn\u0430il\u200b Quartet", ("the", "hobnail", "quartet")),
        ("Stra\u00dfe_1", ("strasse", "1")),
        ("...", ()),
    ],
)
def test_fold(text: str, words: tuple[str, ...]) -> None:
    assert fold(text) == words


@pytest.mark.parametrize(
    ("value", "text"),
    [("ä", "ä"), ("\ud800", "?"), (None, ""), (True, "true"), (False, "false"), (5, "5"), (0.5, "0.5"), ([], "[]")],
)
def test_leaves_as_text(value: Any, text: str) -> None:
    assert as_text(value) == text
