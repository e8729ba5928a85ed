"""Elements of EBML, which Matroska and WebM are made of: heads read, elements made.

Source: RFC 8794 sections 4 (variable size integers), 5 (element IDs), 6 (sizes), 7 (values).
"""

from __future__ import annotations

HEAD = 12
"""The longest head of an element in bytes: an ID of 4, a size of 8."""


def head(data: bytes) -> tuple[int, int | None, int] | None:
    """The ID of the element that `data` begins with, its size (None: not known) and the length of its head.

    None where no element begins there.
    """
    if not data or data[0] < 0x10:
        return None
    width = 9 - data[0].bit_length()
    if len(data) <= width or not data[width]:
        return None
    length = 9 - data[width].bit_length()
    if width + length > len(data):
        return None
    most = (1 << 7 * length) - 1
    value = int.from_bytes(data[width : width + length], "big") & most
    return int.from_bytes(data[:width], "big"), None if value == most else value, width + length


def size(data: bytes) -> tuple[int, int] | None:
    """The variable size integer that `data` begins with, and its length; None where there is none."""
    if not data or not data[0]:
        return None
    length = 9 - data[0].bit_length()
    if length > len(data):
        return None
    return int.from_bytes(data[:length], "big") & ((1 << 7 * length) - 1), length


def opening(element: int, length: int) -> bytes:
    """The head of an element of `length` bytes, in its shortest form."""
    width = ((length + 1).bit_length() + 6) // 7  # a size of ones alone says that it is not known
    name = element.to_bytes((element.bit_length() + 7) // 8, "big")
    return name + (length | 1 << 7 * width).to_bytes(width, "big")


def make(element: int, *parts: bytes) -> bytes:
    """An element."""
    body = b"".join(parts)
    return opening(element, len(body)) + body


def unsigned(element: int, value: int) -> bytes:
    """An element with a number, in its shortest form."""
    return make(element, value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big"))
