"""WavPack: blocks and what they are made of."""

from __future__ import annotations

import io
import struct

import places
import pytest
from audio_samples import entry
from places import wavpack as hiding

from leakscan import ledgers, wavpackblocks
from leakscan.formats import wavpack
from leakscan.model import Ledger, Part, Unreadable


def account(data: bytes) -> Ledger:
    return wavpack.account(io.BytesIO(data))


def stripped(data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(data), out)
    return out.getvalue()


@pytest.fixture(scope="module")
def surround() -> list[bytes]:
    """The blocks of a stream that has several for the same samples."""
    name = "surround.wv"
    blocks = list(hiding._blocks(places.base(name, hiding.BASES[name])))
    assert len(blocks) > 3
    return blocks


def test_the_clean_file_has_what_decoders_need(surround: list[bytes]) -> None:
    dirty = [hiding._with(hiding._with(block, 0x25, b"cfg"), 0x2F, b"\1\2\3\4") for block in surround]
    clean = list(hiding._blocks(stripped(b"".join(hiding._flagged(block, 1 << 28) for block in dirty))))
    assert len(clean) == len(surround)
    for block, origin in zip(clean, surround, strict=True):
        kinds = [sub.id for sub in wavpackblocks.sub_blocks(block, 32, 0)]
        assert set(kinds) <= wavpackblocks.read(struct.unpack_from("<I", block, 24)[0])
        assert kinds == [kind for kind in (sub.id for sub in wavpackblocks.sub_blocks(origin, 32, 0)) if kind in kinds]
        assert not struct.unpack_from("<I", block, 24)[0] & 1 << 28
        assert struct.unpack_from("<I", block, 28) == struct.unpack_from("<I", origin, 28)
    assert dict(account(b"".join(clean)).parameters) == dict(account(b"".join(surround)).parameters)


def test_a_missing_block_is_damage(surround: list[bytes]) -> None:
    with pytest.raises(Unreadable, match="does not follow the one before"):
        account(b"".join(surround[1:]))
    with pytest.raises(Unreadable, match="does not follow the one before"):
        account(b"".join(surround[:1] + surround[2:]))
    with pytest.raises(Unreadable, match="does not follow the one before"):
        account(b"".join(surround[:-2] + surround[-1:]))


def test_blocks_missing_at_the_end_are_a_cut(surround: list[bytes]) -> None:
    for count in (len(surround) - 1, 1):
        with pytest.raises(Unreadable, match=r"cut: its header counts [0-9,]+ samples, [0-9,]+ are there"):
            account(b"".join(surround[:count]))
    whole = b"".join(surround)
    with pytest.raises(Unreadable, match=r"cut: its block at byte [0-9,]+ needs"):
        account(whole[:-1])
    with pytest.raises(Unreadable, match="cut: its last block is not there in full"):
        account(whole + whole[:20])


def test_a_stream_without_a_count_is_read(surround: list[bytes]) -> None:
    streamed = [block[:12] + b"\xff" * 4 + block[16:] for block in surround]
    assert (
        dict(account(b"".join(streamed)).parameters)["samples"]
        == dict(account(b"".join(surround)).parameters)["samples"]
    )


def test_sub_blocks_must_fill_their_block(surround: list[bytes]) -> None:
    first, *others = surround
    for sub in (b"\x3f\x05xy", b"\xbf\x01", b"\x7f\x00"):
        with pytest.raises(Unreadable, match="is not filled by what it is made of"):
            account(b"".join([hiding._sized(first + sub), *others]))
    with pytest.raises(Unreadable, match="more than 64 pieces"):
        account(b"".join([hiding._sized(first + b"\x3f\0" * 64), *others]))


def test_blocks_without_samples_are_dropped(surround: list[bytes]) -> None:
    whole = b"".join(surround)
    trailer = hiding._empty(whole, hiding._sub(0x26, bytes(16)) + hiding._sub(0, b""))
    assert stripped(whole + trailer) == stripped(whole)
    with pytest.raises(Unreadable, match="no WavPack block with samples in it"):
        account(trailer)


def test_only_plausible_headers_are_claimed(surround: list[bytes]) -> None:
    head = surround[0][:64]
    assert wavpack.sniff(head)
    assert not wavpack.sniff(b"wvpk is what it says")
    assert not wavpack.sniff(head[:9])


def test_too_much_between_blocks_is_damage(surround: list[bytes]) -> None:
    first, *others = surround
    with pytest.raises(Unreadable, match="between its blocks"):
        account(first + b"wvpk" * (1 << 19) + b"".join(others))


def test_a_tag_that_is_not_there_in_full_is_a_cut(surround: list[bytes]) -> None:
    with pytest.raises(Unreadable, match=r"^audio/x\.bin: cut: its APE tag is not there in full"):
        next(iter(wavpack.read(entry(b"".join(surround) + b"APETAGEX" + bytes(30)))))


def test_what_is_said_of_channels_is_held_against_them(surround: list[bytes]) -> None:
    def said(first: bytes, second: bytes) -> Ledger:
        """Of a file that says so in its first block and in its last, and nothing elsewhere."""
        bare = [hiding._without(block, 0x0D) for block in surround]
        assert bare != surround
        return account(
            b"".join((hiding._with(bare[0], 0x0D, first), *bare[1:-1], hiding._with(bare[-1], 0x0D, second)))
        )

    for right in (b"\6\x3f", b"\6\x3f\0\0", b"\6", b"\5\2\0\x3f\0\0"):
        assert said(right, right).extras == ()
    for wrong in (b"\2\3", b"\6" + b"quil", b"\6\xff", b"\5\2\0quil", b"", b"quillfe"):
        with pytest.raises(Unreadable, match=r"it tells of [0-9,]+ channels for [0-9]+ speakers, and has 6"):
            said(wrong, wrong)
    with pytest.raises(Unreadable, match="its blocks say different things of its channels"):
        said(b"\6\x3f", b"\6\x3e")


@pytest.mark.parametrize(
    ("sub", "body", "kind"),
    [
        (0x21, b"RIFF\1\2\0\0WAVEfmt \x10\0\0\0" + bytes(16) + b"data\0\1\0\0", "encoder"),
        (0x21, b"RIFF\1\2\0\0WAVEfmt \x10\0\0\0" + bytes(16) + b"LIST\4\0\0\0INFOdata\0\1\0\0", "unknown"),
        (0x28, b"wav", "encoder"),
        (0x28, b"Crooked", "unknown"),
    ],
)
def test_what_the_command_keeps_of_a_usual_source_is_a_trace_of_it(
    surround: list[bytes], sub: int, body: bytes, kind: str
) -> None:
    first, *others = surround
    extras = account(b"".join([hiding._with(first, sub, body), *others])).extras
    assert [part.kind for part in extras if part.name in ("wavpack.riff-header", "wavpack.extension")] == [kind]


def test_blocks_that_are_read_apart_are_the_same(surround: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = b"".join(surround)
    data = b"".join([*surround[:2], b"between", *surround[2:], hiding._empty(whole, hiding._sub(0x24, b"trailer!"))])
    longest = max(map(len, surround))
    found = [account(data)]
    for size in (longest, longest + 1, longest + 40, 2 * longest):
        monkeypatch.setattr(wavpack, "_READ", size)
        found.append(account(data))
    assert all(other == found[0] for other in found)


def test_text_that_was_seen_is_not_searched_for_again(surround: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wavpack, "_READ", 2 * max(map(len, surround)))
    clean = stripped(b"".join(surround))
    put = clean[:-30] + b"a stowaway's words, and others"
    with pytest.raises(Unreadable, match=f"text behind the sound of a frame, before byte {len(put):,}"):
        account(put)
    assert wavpack.read_back(io.BytesIO(put), ledgers.Seen(account(clean))) == account(clean)
    with pytest.raises(Unreadable, match=f"text behind the sound of a frame, before byte {len(put):,}"):
        wavpack.read_back(io.BytesIO(put), ledgers.Seen(Ledger("wavpack", (Part("payload", "", 0, len(put) - 1),))))
