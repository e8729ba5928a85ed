"""A copy of an audio file counts only when it is proved to be the same sound; samples that change have a name."""

from __future__ import annotations

import hashlib
import io
import os
import random
import stat
import struct
import subprocess
import types
import wave
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

import places
import pytest
from encoder import encoder

from leakscan import frames, ledgers, media, oggpackets, stripping
from leakscan.discover import members
from leakscan.formats import flac, mpeg, riff
from leakscan.model import Entry, Ledger, Part, Unreadable
from leakscan.stripping import compare, strip, transcode

NOISE = random.Random(4711).randbytes(3 * stripping._EDGE)


def sound(path: Path, count: int = 4000) -> Entry:
    with wave.open(str(path), "wb") as stream:
        stream.setnchannels(1)
        stream.setsampwidth(2)
        stream.setframerate(8000)
        stream.writeframes(NOISE[: 2 * count])
    with path.open("r+b") as raw:  # a chunk that no decoder needs
        data = raw.read() + b"note\x0a\0\0\0Two Herons"
        raw.seek(0)
        raw.write(data[:4] + (len(data) - 8).to_bytes(4, "little") + data[8:])
    return Entry("Two Herons.wav", path, path.stat().st_size)


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    return sound(tmp_path / "source.wav")


def alone(folder: Path, *names: str) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


def test_the_copy_is_fresh_and_accounted_for(tmp_path: Path, entry: Entry) -> None:
    os.utime(entry.file, (1, 1))
    os.setxattr(entry.file, "user.xdg.origin.url", b"https://example.org/two-herons")
    target = tmp_path / "out.wav"
    done = strip(entry, target, riff, check_pcm=True)
    assert (done.how, done.pcm, done.after.clean, done.before.clean) == ("rewritten", "equal", True, False)
    assert (done.before.payload, done.after.payload) == ("", "")
    assert done.after.size == target.stat().st_size == entry.size - 18
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert target.stat().st_mtime > 1
    assert os.listxattr(target) == []
    assert b"Herons" not in target.read_bytes()
    alone(tmp_path, "source.wav", "out.wav")


def test_cleaning_again_changes_nothing(tmp_path: Path, entry: Entry) -> None:
    first = strip(entry, tmp_path / "one.wav", riff)
    again = strip(Entry("one.wav", tmp_path / "one.wav", first.after.size), tmp_path / "two.wav", riff)
    assert (tmp_path / "one.wav").read_bytes() == (tmp_path / "two.wav").read_bytes()
    assert again.before == again.after == first.after


@pytest.mark.parametrize("most", [0, stripping._IN_MEMORY])
def test_a_file_of_usual_length_is_read_once_whatever_becomes_of_it_meanwhile(
    tmp_path: Path, entry: Entry, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(stripping, "_IN_MEMORY", most)
    whole = strip(entry, tmp_path / "whole.wav", riff)

    def account(stream: BinaryIO) -> Ledger:
        found = riff.account(stream)
        if found.extras:
            entry.file.write_bytes(b"other bytes")
        return found

    reader: Any = types.SimpleNamespace(account=account)
    if most:
        assert strip(entry, tmp_path / "out.wav", reader) == whole
        assert (tmp_path / "out.wav").read_bytes() == (tmp_path / "whole.wav").read_bytes()
    else:
        with pytest.raises(Unreadable, match="it ended while it was read"):
            strip(entry, tmp_path / "out.wav", reader)
        alone(tmp_path, "source.wav", "whole.wav")


def lying(change: Callable[[Ledger], Ledger]) -> Any:
    """The format, but what it says of a clean file is changed."""

    def account(stream: io.BufferedReader) -> Ledger:
        found = riff.account(stream)
        return found if found.extras else change(found)

    return types.SimpleNamespace(account=account)


def part(ledger: Ledger, kind: str) -> Ledger:
    last = ledger.parts[-1]
    rest = Part(kind, f"riff.{kind}", last.end - 1, last.end)
    return Ledger(ledger.container, (*ledger.parts[:-1], last._replace(end=last.end - 1), rest), ledger.parameters)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: part(found, "unknown"), "bytes are left that no decoder needs (unknown.riff.unknown) when"),
        (lambda found: part(found, "padding"), "bytes are left that no decoder needs (zeros) when"),
        (lambda found: part(found, "structure"), "the coded sound changes when"),
        (lambda found: Ledger("rf64", found.parts, found.parameters), "a wav file becomes a rf64 one when"),
        (
            lambda found: Ledger("wav", found.parts, (("delay", "529"),)),
            "what a decoder needs changes (bits, bytes, channels, delay, ",
        ),
        (lambda found: Ledger("wav", found.parts, found.parameters, ("unknown.bit",)), "(unknown.bit) when"),
    ],
)
def test_a_copy_that_is_not_proved_is_refused(
    tmp_path: Path, entry: Entry, change: Callable[[Ledger], Ledger], message: str
) -> None:
    with pytest.raises(Unreadable) as error:
        strip(entry, tmp_path / "out.wav", lying(change))
    assert message in str(error.value)
    assert "Herons" not in str(error.value)
    alone(tmp_path, "source.wav")


def test_the_coded_sound_is_digested_anew_where_the_format_finds_it_elsewhere(tmp_path: Path, entry: Entry) -> None:
    """The same sound, but its first bytes stand in the ledger's place for them."""

    def account(stream: io.BufferedReader) -> Ledger:
        found = riff.account(stream)
        if found.extras:
            return found
        *before, sound = found.parts
        stream.seek(sound.start)
        first = sound._replace(end=sound.start + 8, clean=stream.read(8) + b"more")
        rest = Part("structure", "riff.rest", sound.start + 8, sound.end)
        return Ledger(found.container, (*before, first, rest), found.parameters)

    with pytest.raises(Unreadable, match="the coded sound changes"):
        strip(entry, tmp_path / "out.wav", types.SimpleNamespace(account=account))  # type: ignore[arg-type]


def test_coded_sound_that_is_elsewhere_and_the_same_is_told_by_its_digest(tmp_path: Path, entry: Entry) -> None:
    """The clean file of the copy has four bytes more in front of it."""

    def account(stream: io.BufferedReader) -> Ledger:
        found = riff.account(stream)
        if found.extras:
            return found
        *before, sound = found.parts
        more = Part("structure", "riff.more", sound.start, sound.start, b"more")
        return Ledger(found.container, (*before, more, sound), found.parameters)

    done = strip(entry, tmp_path / "out.wav", types.SimpleNamespace(account=account))  # type: ignore[arg-type]
    assert done.before.payload == done.after.payload == hashlib.sha256(NOISE[:8000]).hexdigest()


def test_what_is_read_back_decides_where_a_format_has_a_word_for_it(tmp_path: Path, entry: Entry) -> None:
    told: list[ledgers.Seen] = []

    def read_back(stream: BinaryIO, seen: ledgers.Seen) -> Ledger:
        told.append(seen)
        return part(riff.account(stream), "unknown")

    reader: Any = types.SimpleNamespace(account=riff.account, read_back=read_back)
    with pytest.raises(Unreadable, match=r"\(unknown.riff.unknown\) when"):
        strip(entry, tmp_path / "out.wav", reader)
    assert told[0].others([44, 8044]) == []
    assert told[0].others([0, 44, 8044, 8045]) == [0, 2]
    alone(tmp_path, "source.wav")


def seen_by_ogg(patch: pytest.MonkeyPatch, taken: list[int]) -> None:
    take = oggpackets.Vorbis.take

    def watched(self: Any, block: bytes, edges: Any, seen: bool = False) -> Any:
        taken.append(0 if seen else len(edges) - 1)
        return take(self, block, edges, seen)

    patch.setattr(oggpackets.Vorbis, "take", watched)


def seen_by_mp4(patch: pytest.MonkeyPatch, taken: list[int]) -> None:
    odd = frames.Aac.odd

    def watched(self: Any, block: bytes, starts: Any, ends: Any) -> Any:
        taken.append(len(starts))
        return odd(self, block, starts, ends)

    patch.setattr(frames.Aac, "odd", watched)


def seen_by_flac(patch: pytest.MonkeyPatch, taken: list[int]) -> None:
    found = flac._Frames

    def watched(*arguments: Any) -> Any:
        taken.append(1)
        return found(*arguments)

    patch.setattr(flac, "_Frames", watched)


@pytest.mark.parametrize(
    ("container", "name", "watch", "again"),
    [("ogg", "vorbis.ogg", seen_by_ogg, 0), ("mp4", "aac.m4a", seen_by_mp4, 1), ("flac", "mono.flac", seen_by_flac, 0)],
)
def test_sound_that_stays_as_it_is_is_not_looked_into_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, container: str, name: str, watch: Callable[..., None], again: int
) -> None:
    """`again` frames are not the same ones in the copy: ffmpeg's name stands in the first of AAC."""
    source = tmp_path / name
    source.write_bytes(places.base(name, places.containers()[container].BASES[name]))
    taken: list[int] = []
    watch(monkeypatch, taken)
    strip(Entry(name, source, source.stat().st_size), tmp_path / "out", members("formats")[container])
    first = taken[0]
    assert first > 0
    assert sum(taken) == first + again


def test_a_copy_that_reads_back_as_something_else_is_refused(
    tmp_path: Path, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = ledgers.copy

    def worn(stream: BinaryIO, ledger: Ledger, out: BinaryIO) -> ledgers.Digests:
        digests = copy(stream, ledger, out)
        out.seek(-1, io.SEEK_CUR)
        out.write(b"\xff" if NOISE[7999] != 0xFF else b"\0")
        return digests

    monkeypatch.setattr(ledgers, "copy", worn)
    with pytest.raises(Unreadable, match="its copy is not what was written"):
        strip(entry, tmp_path / "out.wav", riff)
    alone(tmp_path, "source.wav")


def test_a_damaged_source_is_refused(tmp_path: Path, entry: Entry) -> None:
    entry.file.write_bytes(entry.file.read_bytes()[:500])
    with pytest.raises(Unreadable, match="cut"):
        strip(entry, tmp_path / "out.wav", riff)
    alone(tmp_path, "source.wav")


def test_a_copy_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="No space"):
        strip(entry, tmp_path / "out.wav", riff)
    alone(tmp_path, "source.wav")


@pytest.mark.parametrize("verdict", ["gapless", "not decodable", "differs"])
def test_what_ffmpeg_says_is_told_and_its_packets_decide(
    tmp_path: Path, entry: Entry, monkeypatch: pytest.MonkeyPatch, verdict: stripping.Pcm
) -> None:
    """The source may be what misleads ffmpeg; that the copy holds the coded sound must be plain to it."""
    monkeypatch.setattr(stripping, "compare_files", lambda before, after: verdict)
    assert strip(entry, tmp_path / "out.wav", riff, check_pcm=True).pcm == verdict
    monkeypatch.setattr(media, "packet_digest", lambda path, name="": "0" * 64)
    with pytest.raises(Unreadable, match="ffmpeg does not find its coded sound in the clean copy"):
        strip(entry, tmp_path / "two.wav", riff, check_pcm=True)
    alone(tmp_path, "source.wav", "out.wav")


def test_a_file_that_ffmpeg_refuses_is_not_decodable(tmp_path: Path, entry: Entry) -> None:
    (tmp_path / "text.wav").write_text("text")
    assert stripping.compare_files(entry.file, tmp_path / "text.wav") == "not decodable"


EMPTY: dict[str, bytes | tuple[str, ...]] = {
    "au": b".snd" + struct.pack(">IIIII", 24, 0, 3, 44_100, 2),
    "matroska": ("-c:a", "pcm_s16le", "-t", "0", "-f", "matroska"),
    "tta": ("-t", "0", "-f", "tta"),
    "w64": ("-t", "0", "-f", "w64"),
}
"""Files without a sample, which ffmpeg writes but does not read, or how it does."""


@pytest.mark.parametrize("container", EMPTY)
def test_where_there_is_nothing_to_hear_ffmpeg_has_no_say(tmp_path: Path, entry: Entry, container: str) -> None:
    made, source = EMPTY[container], tmp_path / "empty"
    if isinstance(made, bytes):
        source.write_bytes(made)
    else:
        encoded(entry.file, source, *made)
    reader = members("formats")[container]
    done = strip(Entry("empty", source, source.stat().st_size), tmp_path / "out", reader, check_pcm=True)
    command = [media.find_ffmpeg().path, "-nostdin", "-v", "quiet", "-i", str(source), "-f", "null", "-"]
    verdict = "not decodable" if subprocess.run(command).returncode else "equal"  # ffmpeg 5.1 reads such an AU file
    assert (done.pcm, done.after.bytes["payload"]) == (verdict, 0)


def test_where_ffmpeg_passes_over_the_sound_of_source_and_copy_it_has_no_say(
    tmp_path: Path, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it does with FLAC whose frames are the largest: it finds no packet at all."""
    nothing = hashlib.sha256().hexdigest()
    monkeypatch.setattr(stripping, "compare_files", lambda before, after: "not decodable")
    monkeypatch.setattr(media, "packet_digest", lambda path, name="": nothing)
    assert strip(entry, tmp_path / "out.wav", riff, check_pcm=True).pcm == "not decodable"
    monkeypatch.setattr(media, "packet_digest", lambda path, name="": nothing if name == "the copy" else "0" * 64)
    with pytest.raises(Unreadable, match="ffmpeg does not find its coded sound in the clean copy"):
        strip(entry, tmp_path / "two.wav", riff, check_pcm=True)


def test_a_copy_that_ffmpeg_refuses_while_it_takes_the_source_is_refused(
    tmp_path: Path, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest(path: Path, name: str = "") -> str:
        if name == "the copy":
            raise Unreadable("the copy: cannot be decoded; replace it with an intact copy")
        return "0" * 64

    monkeypatch.setattr(stripping, "compare_files", lambda before, after: "not decodable")
    monkeypatch.setattr(media, "packet_digest", digest)
    with pytest.raises(Unreadable, match="ffmpeg does not find its coded sound in the clean copy"):
        strip(entry, tmp_path / "out.wav", riff, check_pcm=True)
    alone(tmp_path, "source.wav")


def test_a_wrong_count_of_frames_is_told_where_nobody_compares(tmp_path: Path, entry: Entry) -> None:
    """Players cut what lies behind the last frame that is counted; in the copy all of them are."""
    one = encoded(entry.file, tmp_path / "one.mp3")
    assert strip(one, tmp_path / "clean.mp3", mpeg).pcm == "not compared"
    two = tmp_path / "two.mp3"
    two.write_bytes(2 * one.file.read_bytes())
    joined = Entry("two.mp3", two, two.stat().st_size)
    assert strip(joined, tmp_path / "clean2.mp3", mpeg).pcm == "recounted"
    assert strip(joined, tmp_path / "clean3.mp3", mpeg, check_pcm=True).pcm not in ("recounted", "not compared")


# --- FLAC in place of what cannot be cleaned -------------------------------------------------------------------------


def encoded(source: Path, target: Path, *options: str) -> Entry:
    argv = [encoder(), "-nostdin", "-v", "error", "-i", str(source), *options, str(target)]
    subprocess.run(argv, check=True)
    return Entry(target.name, target, target.stat().st_size)


def unclaimed(tmp_path: Path, source: Path) -> Entry:
    """A file of a lossless container that ffmpeg writes and no format claims."""
    for suffix in ("voc", "sox", "ircam"):
        found = encoded(source, tmp_path / f"take.{suffix}")
        head = found.file.read_bytes()[:4096]
        if not any(reader.sniff(head) for reader in members("formats").values() if getattr(reader, "AUDIO", False)):
            return found
        found.file.unlink()
    raise AssertionError("formats claim them all")


def test_lossless_files_become_flac_with_the_same_samples(tmp_path: Path, entry: Entry) -> None:
    take = unclaimed(tmp_path, entry.file)
    done = transcode(take, tmp_path / "out.flac", flac)
    assert (done.how, done.pcm, done.after.container, done.after.clean) == ("transcoded", "equal", "flac", True)
    assert media.pcm_digest(tmp_path / "out.flac") == media.pcm_digest(entry.file)
    assert done.before.sha256 != done.after.sha256
    alone(tmp_path, "source.wav", take.path, "out.flac")


def test_what_loses_samples_is_no_lossless_file(tmp_path: Path, entry: Entry) -> None:
    take = encoded(entry.file, tmp_path / "take.mp2")
    with pytest.raises(Unreadable, match=r"its codec \(mp2\) does not keep every sample"):
        transcode(take, tmp_path / "out.flac", flac)
    alone(tmp_path, "source.wav", "take.mp2")


def test_samples_that_flac_cannot_hold_are_refused(tmp_path: Path, entry: Entry) -> None:
    """32 bits: ffmpeg's FLAC has 24."""
    take = encoded(entry.file, tmp_path / "take.caf", "-c:a", "pcm_s32be", "-af", "volume=0.3333")
    with pytest.raises(Unreadable, match=r"FLAC does not hold all of its samples \(pcm_s32be\)"):
        transcode(take, tmp_path / "out.flac", flac)
    alone(tmp_path, "source.wav", "take.caf")


# --- samples ---------------------------------------------------------------------------------------------------------


def pieces(data: bytes, size: int) -> Callable[[], Iterable[bytes]]:
    return lambda: [data[start : start + size] for start in range(0, len(data), size)]


EDGE = stripping._EDGE
SILENCE = bytes(2 * EDGE)


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        (NOISE, NOISE, "equal"),
        (b"", b"", "equal"),
        (NOISE, NOISE[:-EDGE], "gapless"),
        (NOISE, NOISE[: -EDGE - 4], "differs"),
        (NOISE, NOISE[4:], "gapless"),
        (NOISE, NOISE[EDGE - 4 :], "gapless"),
        (NOISE, NOISE[EDGE + 4 :], "differs"),
        (NOISE, NOISE[1105 * 4 : -600], "gapless"),
        (NOISE[1105 * 4 :], NOISE[:-600], "gapless"),
        (NOISE, NOISE[2:], "differs"),  # half a sample
        (bytes(400) + NOISE, NOISE, "gapless"),
        (SILENCE + NOISE, SILENCE[400:] + NOISE[:-8], "gapless"),
        (SILENCE + NOISE, NOISE, "differs"),
        (NOISE, NOISE[:-1] + bytes([NOISE[-1] ^ 1]), "differs"),
        (NOISE, NOISE[: len(NOISE) // 2] + NOISE[len(NOISE) // 2 + 4 :], "differs"),
        (NOISE, b"", "differs"),
        (NOISE[:EDGE], b"", "gapless"),
        (bytes(400), bytes(800), "gapless"),
    ],
)
def test_samples_are_compared(one: bytes, other: bytes, verdict: str) -> None:
    for left, right in ((one, other), (other, one)):
        assert compare(pieces(left, 1 << 16), pieces(right, 10_007 * 4 + 1)) == verdict
