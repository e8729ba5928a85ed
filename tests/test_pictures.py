"""Text that is deflated in pictures."""

from __future__ import annotations

import zlib

from leakscan import pictures
from leakscan.tags import binary_text

TEXT = "Crooked Teaspoons (live)"


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    made = [len(body).to_bytes(4, "big") + kind + body + bytes(4) for kind, body in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(made)


def ztxt(text: str = TEXT) -> tuple[bytes, bytes]:
    return b"zTXt", b"Title\0\0" + zlib.compress(text.encode())


def itxt(text: str = TEXT) -> tuple[bytes, bytes]:
    return b"iTXt", b"XML:com.adobe.xmp\0\1\0en\0Titel\0" + zlib.compress(text.encode())


def test_deflated_text_is_read() -> None:
    head = b"IHDR", bytes(13)
    assert pictures.deflated_texts(png(head, ztxt(), itxt("other"), (b"IDAT", bytes(9)))) == [TEXT, "other"]
    assert pictures.deflated_texts(b"front.png\0" + png(head, ztxt()) + png(itxt())) == [TEXT, TEXT]
    assert TEXT in binary_text(bytes(100) + png(head, (b"IDAT", bytes(100_000)), ztxt()))


def test_what_is_no_deflated_text() -> None:
    plain = b"iTXt", b"Title\0\0\0\0\0" + TEXT.encode()
    for data in (b"", b"\xff\xd8\xff", png(plain), png((b"IEND", b""), ztxt()), png((b"zTXt", b"Title\0\0junk"))):
        assert pictures.deflated_texts(data) == []
    assert pictures.deflated_texts(png(ztxt())[:24]) == []
    assert pictures.deflated_texts(png(*[(b"", b"")] * 3)) == []


def test_a_bomb_is_cut() -> None:
    texts = pictures.deflated_texts(png(*[ztxt("la " * 1_000_000)] * 3))
    assert sum(map(len, texts)) == 64 << 10
