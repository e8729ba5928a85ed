"""One audio file without anything but its sound: written anew, read back, and refused unless that is proved.

The copy is a ledger written out.  It counts only when the ledger of what was written shows the same coded sound and the
same decoder parameters and nothing else; the samples that ffmpeg decodes are a third witness, on request.  Sound that
stands in the copy byte for byte as in the source is not looked into twice; where it lies is read from the copy.

Each file is digested once, while its bytes pass.  What is read back from the copy is compared with the clean bytes of
the source instead: that says more than equal digests, and costs a tenth.  Of the coded sound no digest is taken, where
the format finds it in the copy at the bytes to which it was written.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Literal

from leakscan import accounts, ledgers, media
from leakscan.accounts import Account
from leakscan.blocks import size_of
from leakscan.model import Entry, Ledger, Unreadable

Pcm = Literal["equal", "gapless", "differs", "not decodable", "not compared", "recounted"]
"""`gapless`: the same samples, but one of the two files has more of them at its start or end.  `differs`: others;
ffmpeg then took something else in the source for sound, or lost its place there.  `recounted`: not compared, but the
source counts other frames than it has, by which players may cut it elsewhere than the copy."""

LOSSLESS = frozenset(
    "alac ape als dst flac mlp mp4als ralf shorten tak truehd tta wavpack wmalossless pcm_s8 pcm_u8 pcm_s16le pcm_s16be"
    " pcm_s24le pcm_s24be pcm_s32le pcm_s32be".split()
)
"""What ffmpeg calls the codecs that keep every sample; floating-point samples have no place in FLAC."""

_IN_MEMORY = 1 << 25  # bytes of a file that a worker may hold
_BUFFER = 1 << 18  # bytes of small pieces that are written together
_EDGE = 1 << 19  # bytes of 32-bit samples: at least 0.3 s of stereo at 48 kHz, more than any encoder's delay
_QUICK = "murmur3"  # 128 bits at a fraction of the cost of SHA-256; nobody gains by making two streams collide
_PROBE = 64  # bytes that are looked for first
_NOTHING = hashlib.sha256().hexdigest()


@dataclass(frozen=True, slots=True)
class Stripped:
    """What became of a file: its accounts before and after, and what ffmpeg says about the two."""

    how: Literal["rewritten", "transcoded"]
    before: Account
    after: Account
    pcm: Pcm = "not compared"

    def document(self) -> dict[str, Any]:
        """The result as JSON has it."""
        before, after = self.before.document(), self.after.document()
        return {"how": self.how, "pcm": self.pcm, "before": before, "after": after}


def strip(entry: Entry, target: Path, reader: ModuleType, *, check_pcm: bool = False) -> Stripped:
    """Write the clean copy of an audio file of the format `reader` to `target`, which appears whole or not at all.

    When it is on the disk is for the caller to see to: one file need not wait for another.
    Raises `Unreadable` without the path in front when the file is damaged or the copy is not provably the same sound,
    `OSError` when the copy cannot be written.
    """
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(entry.open())
        try:
            stream = _held(stream)
            ledger = reader.account(stream)
        except OSError as error:
            raise Unreadable(f"cannot be read ({error.strerror}); check the disk") from error
        written = stack.enter_context(fresh(target))
        with written.open("wb", _BUFFER) as out:
            digests = ledgers.copy(stream, ledger, out)
        found, sound_before, sound_after = _read_back(stream, ledger, written, reader)
        before = accounts.of_ledger(ledger, digests.source, sound_before)
        after = accounts.of_ledger(found, digests.clean, sound_after)
        if fault := accounts.difference(before, after):
            raise Unreadable(f"{fault} when it is written anew; please report it, and leave it out until then")
        pcm: Pcm = "recounted" if set(before.extras) & set(getattr(reader, "RECOUNTED", ())) else "not compared"
        if check_pcm and entry.data is None:
            pcm = compare_files(entry.file, written)
            if pcm != "equal" and _is_lost(entry.file, written, reader):
                raise Unreadable(
                    "ffmpeg does not find its coded sound in the clean copy; please report it, and leave it out"
                )
        os.replace(written, target)
    return Stripped("rewritten", before, after, pcm)


def _held(stream: BinaryIO) -> BinaryIO:
    """The file in memory, if it is of usual length: then it is read once, and all that looks at it sees the same."""
    if size_of(stream) > _IN_MEMORY:
        return stream
    stream.seek(0)
    return io.BytesIO(stream.read())


def _is_lost(source: Path, copy: Path, reader: ModuleType) -> bool:
    """Whether ffmpeg's demuxer finds other sound in a copy than the format did, or none at all.

    Where it finds none in the source either, such as in a file without a sample or in FLAC with the largest frames, it
    has no say.
    """
    account = accounts.of_file(_entry(copy), reader)
    try:
        if accounts.packets(copy, account, "the copy") != "other":
            return False
        return {media.packet_digest(source, "it"), media.packet_digest(copy, "the copy")} != {_NOTHING}
    except Unreadable:
        with contextlib.suppress(Unreadable):
            media.packet_digest(source, "it")
            return True
        return False


def _read_back(source: BinaryIO, ledger: Ledger, written: Path, reader: ModuleType) -> tuple[Ledger, str, str]:
    """The ledger of the copy, by what the format finds in it, and the digests of the coded sound, of source and copy.

    The bytes are those that were written, and digested while they were; so is the coded sound where the format finds it
    at the bytes to which it was written: then no digest of it is taken.  A format with `read_back` is told which sound
    it has seen in the source.
    Raises `Unreadable` where other bytes are on the disk, or no audio file is.
    """
    with _entry(written).open() as copied:
        if not ledgers.is_clean(copied, source, ledger):
            raise Unreadable("its copy is not what was written; check the disk, and whether the file is being changed")
        read_back = getattr(reader, "read_back", None)
        seen = ledgers.Seen(ledger)
        found: Ledger = read_back(copied, seen) if read_back else reader.account(copied)
        if ledgers.sounding(found) == seen.sounds:
            return found, "", ""
        return found, ledgers.payload_digest(source, ledger), ledgers.payload_digest(copied, found)


def _entry(written: Path) -> Entry:
    return Entry("the copy", written, written.stat().st_size)


def transcode(entry: Entry, target: Path, flac: ModuleType) -> Stripped:
    """Write a lossless file of a container that has no format as a clean FLAC file, with equal samples.

    `flac` is the format of that name.  Raises as `strip`, and `LeakscanError` without an ffmpeg.
    """
    with media.on_disk(entry) as source, fresh(target) as encoded, fresh(target) as stripped:
        before = Account(entry.size, accounts.sha256(source), lossless_codec(source))
        media.transcode_flac(source, encoded, "it")
        done = strip(Entry("its FLAC", encoded, encoded.stat().st_size), stripped, flac)
        if media.pcm_digest(source, "it") != media.pcm_digest(stripped, "its FLAC"):
            raise Unreadable(f"FLAC does not hold all of its samples ({before.container}); convert it yourself")
        os.replace(stripped, target)
    return Stripped("transcoded", before, done.after, "equal")


def lossless_codec(path: Path) -> str:
    """The codec of a file that can become FLAC without loss.  Raises `Unreadable`."""
    codec = media.codec(path, "it")
    if codec not in LOSSLESS:
        raise Unreadable(f"its codec ({codec}) does not keep every sample; convert it yourself, or leave it out")
    return codec


@contextlib.contextmanager
def fresh(target: Path) -> Iterator[Path]:
    """A new file beside `target`, of the usual mode and without what the source carried outside of its bytes."""
    handle, name = tempfile.mkstemp(prefix=".leakscan-", dir=target.parent)
    os.fchmod(handle, 0o644)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


# --- samples ---------------------------------------------------------------------------------------------------------


def compare_files(before: Path, after: Path) -> Pcm:
    """What ffmpeg's decoder says about two files that should sound alike."""
    try:
        digests = {media.pcm_digest(path, "it", algorithm=_QUICK) for path in (before, after)}
        if len(digests) == 1:
            return "equal"
        return compare(lambda: media.decoded(before, "the source"), lambda: media.decoded(after, "the copy"))
    except Unreadable:
        return "not decodable"


def compare(one: Callable[[], Iterable[bytes]], other: Callable[[], Iterable[bytes]]) -> Pcm:
    """Compare two streams of 32-bit samples, each of which can be had again; neither is held in memory."""
    first, second = _Samples(one()), _Samples(other())
    more = _lockstep(first, second)
    if more is None:
        first, second = _Samples(one()), _Samples(other())
        more = _lockstep(first, second) if _align(first, second) else None
        return "gapless" if more is not None and more <= _EDGE else "differs"
    return "equal" if not more else "gapless" if more <= _EDGE else "differs"


class _Samples:
    """A stream of samples of which the next bytes can be looked at."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._held = b""

    def ahead(self, count: int = 1) -> bytes:
        """What comes next: at least `count` bytes unless the stream ends before."""
        if len(self._held) < count:
            gathered = [self._held]
            length = len(self._held)
            while length < count and (piece := next(self._pieces, b"")):
                gathered.append(piece)
                length += len(piece)
            self._held = b"".join(gathered)
        return self._held

    def skip(self, count: int) -> None:
        """Pass over bytes that were looked at."""
        self._held = self._held[count:]


def _lockstep(one: _Samples, other: _Samples) -> int | None:
    """By how many bytes the longer stream goes on where the shorter ends (at most an edge and one more is counted).

    None when they part before.
    """
    while True:
        left, right = one.ahead(), other.ahead()
        count = min(len(left), len(right))
        if not count:
            return max(len(samples.ahead(_EDGE + 1)[: _EDGE + 1]) for samples in (one, other))
        if left[:count] != right[:count]:
            return None
        one.skip(count)
        other.skip(count)


def _align(one: _Samples, other: _Samples) -> bool:
    """Skip what one of two streams has more of at its start; False when no such stretch makes them alike."""
    if abs(_skip_silence(one) - _skip_silence(other)) > _EDGE:
        return False
    left, right = one.ahead(2 * _EDGE), other.ahead(2 * _EDGE)
    for longer, shorter, samples in ((left, right, one), (right, left, other)):
        for start in range(0, min(_EDGE, len(longer)), 4):
            if longer.startswith(shorter[:_PROBE], start):
                rest = longer[start:]
                if rest[: len(shorter)] == shorter[: len(rest)]:
                    samples.skip(start)
                    return True
    return False


def _skip_silence(samples: _Samples) -> int:
    """Pass over zeros at the start, which look the same wherever they are cut; how many bytes."""
    passed = 0
    while held := samples.ahead(4):
        sound = held.lstrip(b"\0")
        silent = (len(held) - len(sound)) // 4 * 4
        samples.skip(silent)
        passed += silent
        if sound or not silent:
            break
    return passed
