"""From what a format states about a file to an account of every byte, and to the clean file."""

from __future__ import annotations

import io
import re
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscan import ledgers
from leakscan.ledgers import STRING, audio_item, clean_bytes, ledger, payload_bytes, payload_digest, woven
from leakscan.model import EXTRAS, Entry, Item, Ledger, Part, Place, Tags, Unreadable

DATA = b"HEADpayloadpayload\0\0\0\0secret words"


def account(*parts: Part, data: bytes = DATA) -> Ledger:
    return ledger(io.BytesIO(data), "x", parts)


def clean(found: Ledger, data: bytes = DATA) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), found, out)
    return out.getvalue()


def test_what_is_not_stated_is_padding_where_it_is_zero_and_else_unknown() -> None:
    found = account(Part("structure", "x.head", 0, 4), Part("payload", "x.sound", 4, 18), Part("padding", "p", 18, 22))
    assert [(part.kind, part.start, part.end) for part in found.parts] == [
        ("structure", 0, 4), ("payload", 4, 18), ("padding", 18, 22), ("unknown", 22, 34)
    ]  # fmt: skip
    assert [part.kind for part in account(Part("payload", "x.sound", 0, 18)).parts] == ["payload", "unknown"]
    assert (found.size, found.total("payload"), found.extras) == (34, 14, (found.parts[-1],))
    assert account(data=b"\0" * 9).parts == (Part("padding", "x.padding", 0, 9, b""),)


def test_neighbours_that_are_alike_are_one_part_unless_they_are_read() -> None:
    halves = Part("payload", "x.sound", 4, 11), Part("payload", "x.sound", 11, 18)
    assert account(*halves).parts[1:-1] == (Part("payload", "x.sound", 4, 18),)
    read = Part("tag", "x.a", 22, 28, reader=STRING), Part("tag", "x.a", 28, 34, reader=STRING)
    assert account(*read).parts[1:] == read
    assert account(Part("tag", "x.a", 22, 28), read[1]).parts[1:] == (Part("tag", "x.a", 22, 28), read[1])


@pytest.mark.parametrize(
    "parts", [(Part("payload", "a", 0, 5), Part("tag", "b", 4, 9)), (Part("payload", "a", 0, 35),)]
)
def test_two_claims_on_one_byte_are_refused(parts: tuple[Part, ...]) -> None:
    with pytest.raises(Unreadable, match="serve two purposes, or lie beyond it"):
        account(*parts)


def test_the_clean_file_is_payload_and_structure_as_they_are_or_in_their_place() -> None:
    found = account(
        Part("structure", "x.head", 0, 4, b"head"), Part("payload", "x.sound", 4, 11),
        Part("payload", "x.sound", 11, 18, b"PAYLOAD"),
    )  # fmt: skip
    assert clean(found) == b"headpayloadPAYLOAD"
    assert b"".join(clean_bytes(io.BytesIO(DATA), found)) == clean(found)
    assert b"".join(payload_bytes(io.BytesIO(DATA), found)) == b"payloadPAYLOAD"
    again = ledger(io.BytesIO(clean(found)), "x", [Part("structure", "h", 0, 4), Part("payload", "s", 4, 18)])
    assert payload_digest(io.BytesIO(clean(found)), again) == payload_digest(io.BytesIO(DATA), found)


KINDS = ["payload", "structure", "padding", "woven", *EXTRAS]
PIECES = st.tuples(st.sampled_from(KINDS), st.lists(st.binary(max_size=5), min_size=1, max_size=4), st.booleans())


@given(st.lists(PIECES, max_size=12), st.integers(1, 8))
def test_writing_is_the_parts_one_by_one(pieces: list[tuple[str, list[bytes], bool]], block: int) -> None:
    """Of what is woven, each second piece is sound; of the rest all is of one kind."""
    parts: list[Part] = []
    data = wanted = sound = b""
    for number, (kind, several, other) in enumerate(pieces):
        start, piece = len(data), b"".join(several)
        data += piece
        kept = kind in ("payload", "structure", "woven")
        written = bytes(reversed(piece)) if kept and other and kind != "woven" else piece if kept else b""
        wanted += written
        if kind == "woven":
            edges = [start + len(b"".join(several[:index])) for index in range(len(several) + 1)]
            parts.append(woven(f"x.{number % 2}", edges + edges[-1:] * (len(edges) % 2)))
            sound += b"".join(several[1::2])
        else:
            parts.append(Part(kind, f"x.{number % 2}", start, len(data), written if kept and other else None))
            sound += written if kind == "payload" else b""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledgers, "_WINDOW", block)
        found = account(*parts, data=data)
        assert clean(found, data) == wanted
        assert b"".join(payload_bytes(io.BytesIO(data), found)) == sound
        copied = io.BytesIO()
        digests = ledgers.copy(io.BytesIO(data), found, copied)
        assert copied.getvalue() == wanted
        assert digests == (sha256(data).hexdigest(), sha256(wanted).hexdigest())
        assert ledgers.digest(io.BytesIO(data), found) == (digests.source, sha256(sound).hexdigest())
        assert payload_digest(io.BytesIO(data), found) == sha256(sound).hexdigest()
        assert ledgers.is_clean(copied, io.BytesIO(data), found)
        edges = [*ledgers.sounding(found)]
        assert edges == [*ledgers.Seen(found).sounds]
        assert edges == sorted(set(edges))
        assert b"".join(wanted[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)) == sound
    assert sum(part.end - part.start for part in found.parts) == len(data)
    assert found.total("payload") == len(sound)
    assert found.total("payload", "structure", "padding", *EXTRAS) == len(data)


@pytest.mark.parametrize("other", [b"HEADpayload", b"HEADpayloadpayloaD", b"HEADpayloadpayload\0", b""])
def test_a_copy_with_other_bytes_is_not_the_clean_file(other: bytes) -> None:
    found = account(Part("structure", "x.head", 0, 4), Part("payload", "x.sound", 4, 18))
    assert ledgers.is_clean(io.BytesIO(DATA[:18]), io.BytesIO(DATA), found)
    assert not ledgers.is_clean(io.BytesIO(other), io.BytesIO(DATA), found)


@given(st.lists(PIECES, max_size=8), st.lists(st.integers(0, 60), min_size=2, max_size=6, unique=True))
def test_what_was_seen_is_sound_that_stays_as_it_is(
    pieces: list[tuple[str, list[bytes], bool]], bounds: list[int]
) -> None:
    parts: list[Part] = []
    start, seen = 0, b""  # a byte for each of the clean file
    for number, (kind, several, other) in enumerate(pieces):
        end = start + len(b"".join(several))
        written = b"z" * (end - start + 1) if other and kind in ("payload", "structure") else None
        if kind == "woven":
            parts.append(woven(f"x.{number % 2}", [start, *([end] if end > start else [start])]))
        else:
            parts.append(Part(kind, f"x.{number % 2}", start, end, written))
        kept = kind in ("payload", "structure", "woven")
        length = len(written) if written is not None else end - start if kept else 0
        seen += length * (b"\1" if kind in ("payload", "woven") and written is None else b"\0")
        start = end
    edges = sorted(bounds)
    held = seen.ljust(edges[-1], b"\0")
    wanted = [index for index, (one, two) in enumerate(pairwise(edges)) if b"\0" in held[one:two]]
    told = ledgers.Seen(Ledger("x", tuple(parts)))
    assert told.others(edges) == [index for run in told.runs(edges) for index in run] == wanted
    assert all(told.runs(edges))
    assert told.covers(edges) == all(index % 2 for index in wanted)
    exact = [edge for run in re.finditer(b"\1+", seen) for edge in run.span()]
    assert not exact or told.covers(exact) > told.covers([*exact[:-1], exact[-1] + 1])
    assert ledgers.NOTHING.others(edges) == [*range(len(edges) - 1)]


def test_a_source_that_ends_or_fails_while_it_is_copied_is_refused() -> None:
    class Failing(io.BytesIO):
        def read(self, count: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    found = account(Part("payload", "x.sound", 0, len(DATA)))
    with pytest.raises(Unreadable, match=r"cannot be read \(Input/output error\)"):
        ledgers.copy(Failing(DATA), found, io.BytesIO())
    with pytest.raises(Unreadable, match="it ended while it was read"):
        ledgers.copy(io.BytesIO(DATA[:-1]), found, io.BytesIO())


def test_what_is_woven_is_counted_by_kind() -> None:
    part = woven("x.sound", [3, 5, 9, 9, 10, 12])
    assert (part.kind, part.start, part.end) == ("payload", 3, 12)
    assert part.counts() == (("payload", 5), ("structure", 4))
    assert part.inlaid == woven("x.sound", [3, 5, 10, 12]).inlaid
    assert woven("x.sound", [3, 5, 10, 10]) == Part("payload", "x.sound", 3, 10, inlaid=woven("x", [3, 5]).inlaid)


def test_an_item_holds_tags_and_what_no_tag_reader_has_read() -> None:
    def parse(stream: object) -> Ledger:
        assert isinstance(stream, io.BufferedIOBase)
        return account(Part("payload", "x.sound", 0, 18), Part("tag", "x.title", 22, 34, reader=STRING))

    entry = Entry("a/b.x", Path("x"), len(DATA), DATA)
    (item,) = audio_item(entry, parse)  # type: ignore[arg-type]
    tags = item.body
    assert (item, tags.container) == (Item(Place("a/b.x"), "audio", tags), "x")
    assert (tags.tags, tags.blocks) == ((("x.title", "secret words"),), (("tag.x.title", ""),))
    hidden = account(Part("payload", "x.sound", 0, 18), Part("padding", "p", 18, 22))
    (item,) = audio_item(entry, lambda stream: hidden)
    assert item.body.blocks == (("unknown.x.unknown", "<binary> secret words"),)


def test_errors_get_the_path_in_front() -> None:
    def refuse(stream: object) -> Ledger:
        raise Unreadable("broken; mend it")

    with pytest.raises(Unreadable, match=r"^a/b\.wav: broken; mend it$"):
        list(audio_item(Entry("a/b.wav", Path("x"), 3, b"abc"), refuse))
    assert Tags("wav").ledger is None


@pytest.mark.parametrize("window", [1, 3, 4, 100])
def test_what_is_woven_may_get_other_heads(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "_WINDOW", window)
    data = b"..AAxxxBByCCC"
    part = woven("x.sound", [2, 4, 7, 9, 10, 13, 13, 13], b"aabbccc")
    account = ledger(io.BytesIO(data), "x", [Part("structure", "x.head", 0, 2), part])
    assert b"".join(clean_bytes(io.BytesIO(data), account)) == b"..aaxxxbbyccc"
    assert b"".join(payload_bytes(io.BytesIO(data), account)) == b"xxxy"
    assert ledgers.sounding(account).tolist() == [4, 7, 9, 10]
    seen = ledgers.Seen(account)
    assert seen.covers([4, 7, 9, 10])
    assert seen.others([2, 4, 7, 9, 10, 13]) == [0, 2, 4]
    assert account.total("structure") == 9
