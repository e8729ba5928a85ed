"""Text for people, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

LONGEST = 1 << 20
"""Bytes of a line; a longer one comes in pieces."""


def is_text(head: bytes) -> bool:
    """Whether the content could be text of an encoding that extends ASCII."""
    return b"\0" not in head and bool(head.strip())


def lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1; what is not UTF-8 is taken for Latin-1."""
    number = 1
    while line := stream.readline(LONGEST):
        try:
            text = line.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = line.decode("latin-1")
        if text.strip():
            yield number, text.rstrip("\r\n")
        number += line.endswith(b"\n")
