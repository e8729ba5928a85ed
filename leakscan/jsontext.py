"""JSON text that is parsed piece by piece: an array of 100 MB takes the memory of its largest element.

Elements are parsed by the standard library's own decoder over a window of the text that grows until it holds one.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from leakscan.model import Malformed

_PIECE = 1 << 18  # bytes
_MARGIN = 16  # characters: closer to the window's end, what looks like the end of a value or an error may be neither
_BLANK = re.compile(r"[ \t\r\n]*")
_SIGN = re.compile(r'["\[\]{},\n]|\\.?', re.DOTALL)
_NO_TEXT = re.compile("[\udc80-\udcff]")
_OBJECTS = re.compile(r"\[[ \t\r\n]*[\]{]")
_OPENER = {"]": "[", "}": "{"}


class JsonText:
    """A position in the JSON text of a stream.

    What is broken comes as `Malformed`; the position is then where its brackets close, so that the rest is parsed.
    `limit` is how many characters one value may have; parsed, it takes some ten times as much memory.
    """

    def __init__(self, stream: BinaryIO, decoder: json.JSONDecoder, limit: int) -> None:
        self._stream = stream
        self._decode = decoder.raw_decode
        self._limit = limit
        self._utf8 = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text = ""
        self._at = 0
        self._base = 0  # the offset of the window in bytes
        self._ended = False
        self._flawed = False  # some bytes so far were no text
        self.raw = ""  # the text of the last value, empty if it is broken
        self._read(_PIECE)
        if self._text.startswith("\ufeff"):
            self._at = 1

    def peek(self) -> str:
        """The next character that is not blank, empty at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read(_PIECE):
                return ""

    def starts_list_of_objects(self) -> bool:
        """Whether a list comes next that is empty or whose first element is an object."""
        while len(self._text) - self._at < _PIECE >> 2 and self._read(_PIECE):
            pass
        return _OBJECTS.match(self._text, self._at) is not None

    def value(self, closer: str = "") -> Any:
        """The value here, or why there is none; `closer` is the bracket that ends what holds it."""
        while True:
            try:
                value, end = self._decode(self._text, self._at)
                if self._ended or end + _MARGIN <= len(self._text):
                    self.raw = self._text[self._at : end]
                    bad = _NO_TEXT.search(self._text, self._at, end) if self._flawed else None
                    value = Malformed("not UTF-8", self._offset(bad.start())) if bad else value
                    self._at = end
                    return value
            except json.JSONDecodeError as error:
                near_the_end = error.pos + _MARGIN > len(self._text) or error.msg.startswith("Unterminated")
                if self._ended or not near_the_end:
                    return self._broken(f"not JSON ({error.msg.lower()})", error.pos, closer)
            except RecursionError:
                return self._broken("nested too deeply", self._at, closer)
            except ValueError as error:
                known = "key twice" in str(error)
                return self._broken(str(error) if known else "holds a number too long to read", self._at, closer)
            if len(self._text) - self._at > self._limit:
                return self._broken(f"larger than {self._limit:,} bytes; write JSON Lines", self._at, closer)
            self._read(max(_PIECE, len(self._text) - self._at))

    def elements(self) -> Iterator[Any]:
        """The elements of the array here."""
        self._at += 1
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            self.peek()
            yield self.value("]")
            sign = self.peek()
            if sign not in ("]", ",") and (sign or self.raw):  # of what is cut within an element, that is said already
                yield Malformed("not JSON (expecting ',' delimiter)", self._offset(self._at))
            if sign in ("]", ""):
                self._at += len(sign)
                return
            self._at += sign == ","

    def members(self) -> Iterator[str | Malformed]:
        """The keys of the object here.  After each one its value is to be taken, after what is `Malformed` nothing.

        Where a key is broken the rest of the text is no longer told apart, and passed over.
        """
        self._at += 1
        if self.peek() == "}":
            self._at += 1
            return
        known: set[str] = set()
        while True:
            if self.peek() != '"':
                yield Malformed("not JSON (expecting a key)", self._offset(self._at))
                break
            key = self.value("}")
            if isinstance(key, Malformed):
                yield key
                break
            if key in known:
                yield Malformed("an object names the same key twice", self._offset(self._at) - _size(self.raw))
            if self.peek() != ":":
                yield Malformed("not JSON (expecting ':' delimiter)", self._offset(self._at))
                break
            known.add(key)
            self._at += 1
            self.peek()
            yield key
            sign = self.peek()
            self._at += len(sign)
            if sign == "}":
                return
            if sign != ",":
                if sign or self.raw:
                    yield Malformed("not JSON (expecting ',' delimiter)", self._offset(self._at - len(sign)))
                break
        while self._read(_PIECE):
            self._at = len(self._text)
        self._at = len(self._text)

    def _offset(self, position: int) -> int:
        return self._base + _size(self._text[:position])

    def _read(self, size: int) -> bool:
        """Read on, and forget what lies behind the position; false at the end."""
        if self._ended:
            return False
        data = self._stream.read(size)
        piece = self._utf8.decode(data, final=not data)
        self._flawed = self._flawed or (not piece.isascii() and _NO_TEXT.search(piece) is not None)
        self._base += _size(self._text[: self._at])
        self._text = self._text[self._at :] + piece
        self._at = 0
        self._ended = not data
        return bool(data) or bool(piece)

    def _broken(self, reason: str, position: int, closer: str) -> Malformed:
        found = Malformed(reason, self._offset(position))
        self.raw = ""
        self._skip(closer)
        return found

    def _skip(self, closer: str) -> None:
        """Pass over what cannot be parsed: to where its brackets close, or to what ends the list or the line it is in.

        A bracket of the wrong kind closes what was opened last of its own kind.
        """
        opened = bytearray()
        quoted = False
        while True:
            rest = len(self._text)
            for match in _SIGN.finditer(self._text, self._at):
                sign = match[0]
                if sign == "\\":  # what it escapes is not here yet
                    rest = match.start()
                elif sign == '"':
                    quoted = not quoted
                elif quoted or sign[0] == "\\":
                    continue
                elif sign in "[{":
                    opened += sign.encode()
                elif sign in "]}":
                    last = opened.rfind(_OPENER[sign].encode())
                    if last < 0 and sign == closer:
                        self._at = match.start()
                        return
                    if last >= 0:
                        del opened[last:]
                        if not opened:
                            self._at = match.end()
                            return
                elif not opened and sign == ("," if closer else "\n"):
                    self._at = match.start()
                    return
            self._at = rest
            if not self._read(_PIECE):
                self._at = len(self._text)
                return


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))
