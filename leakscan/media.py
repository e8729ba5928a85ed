"""The only place that runs ffmpeg: found by probing, argv built by ffmpeg-python, fenced in by options, killable.

A file is decoded in full or it is `Unreadable`.  ffmpeg itself exits with 0 on most damaged files, so three things are
looked at here: its exit status; the length that the container counts (Xing, STREAMINFO, MP4 tables, AIFF) against the
samples that were decoded; and, for the two containers where ffmpeg hides a cut, RIFF's chunk size and Ogg's last page.
Decoding errors reject a file unless that count shows that nothing is missing: trailing tags and junk cause them in good
files.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import stat
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from leakscan.model import Entry, LeakscanError, Unreadable

RATE = 11025  # Hz; Chromaprint's own rate, so that it need not resample

MAX_AUDIO_S = 4 * 3600  # a longer file is Unreadable, never silently shorter
_MAX_WALL_S = 600.0
_PROBE_WALL_S = 20.0
_MAX_OUTPUT = 16 << 20  # bytes; four hours of words are 0.5 MB
_BLOCK = 1 << 18  # bytes

# Demuxers that read one file and open no other: a playlist (HLS, DASH, ffconcat) called .mp3 would make ffmpeg read
# files outside the release, and -protocol_whitelist alone does not stop it.
_FORMATS = (
    "aac,ac3,aiff,amr,ape,asf,au,caf,dsf,dts,eac3,flac,ircam,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mlp,mp3,mpc,mpc8,"
    "ogg,shn,sox,tak,truehd,tta,voc,w64,wav,wv"
)


@dataclass(frozen=True, slots=True)
class Ffmpeg:
    """An ffmpeg that has the chromaprint muxer; `source` says where it was found."""

    path: str
    version: str
    source: str


@functools.cache
def find_ffmpeg() -> Ffmpeg:
    """The ffmpeg to use: `LEAKSCAN_FFMPEG` if set, else the system's, else imageio-ffmpeg's.

    Each is accepted only when it lists the chromaprint muxer: many builds come without.  An explicit
    `LEAKSCAN_FFMPEG` that does not work is an error, never silently replaced.

    Raises `LeakscanError`.
    """
    for source, locate in _SOURCES:
        path = locate()
        if path is None:
            continue
        version, fault = _probe(path)
        if not fault:
            return Ffmpeg(path, version, source)
        if source == "LEAKSCAN_FFMPEG":
            raise LeakscanError(f"{path}: {fault}; unset LEAKSCAN_FFMPEG or point it at an ffmpeg with that muxer")
    raise LeakscanError(
        "no ffmpeg with the chromaprint muxer found; install one (pip install 'leakscan-audio[ffmpeg]', "
        "or the system's ffmpeg package) or set LEAKSCAN_FFMPEG"
    )


def candidates() -> list[tuple[str, str | None, str]]:
    """Every place `find_ffmpeg` looks, as (source, path or None, verdict), for `leakscan doctor`."""
    rows: list[tuple[str, str | None, str]] = []
    for source, locate in _SOURCES:
        path = locate()
        if path is None:
            rows.append((source, None, "not set" if source == "LEAKSCAN_FFMPEG" else "not installed"))
        else:
            version, fault = _probe(path)
            rows.append((source, path, fault or f"version {version}, has the chromaprint muxer"))
    return rows


def _from_imageio() -> str | None:
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return None


_SOURCES: tuple[tuple[str, Callable[[], str | None]], ...] = (
    ("LEAKSCAN_FFMPEG", lambda: os.environ.get("LEAKSCAN_FFMPEG") or None),
    ("system", lambda: shutil.which("ffmpeg")),
    ("imageio-ffmpeg", _from_imageio),
)


def _probe(path: str) -> tuple[str, str]:
    """(version, fault) of an executable; fault is empty when it can compute fingerprints."""
    try:
        done = subprocess.run(
            [path, "-nostdin", "-muxers"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_WALL_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"cannot be run ({getattr(error, 'strerror', None) or 'no answer'})"
    banner = re.search(rb"ffmpeg version (\S+)", done.stderr)
    if banner is None:
        return "", "does not answer like ffmpeg"
    version = banner[1].decode("utf-8", "replace")
    if not re.search(rb"^\s*E\S*\s+chromaprint\s", done.stdout, re.MULTILINE):
        return version, f"version {version} was built without the chromaprint muxer"
    return version, ""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What ffmpeg wrote, and how many seconds of audio went into it (counted in samples at the output's rate)."""

    output: bytes
    duration: float


def chromaprint(path: Path, name: str = "") -> Decoded:
    """The Chromaprint words (algorithm TEST2, little-endian uint32) of a file's first audio stream, in full length.

    `name` is what messages call the file.  Raises `Unreadable` (also for a file of more than `MAX_AUDIO_S`) and
    `LeakscanError`.
    """
    return _decode(path, name or str(path), ac=1, ar=RATE, format="chromaprint", fp_format="raw")


def pcm_digest(path: Path, name: str = "", sample: str = "s32le", algorithm: str = "sha256") -> str:
    """The digest of the decoded samples at the file's own rate and channels, in hexadecimal.

    By default the samples are widened to 32 bits: equal for a WAV and a FLAC of one recording.  `algorithm` is one of
    ffmpeg's hash muxer.  Raises as `chromaprint`.
    """
    return _hashed(path, name, **{"c:a": f"pcm_{sample}"}, hash=algorithm)


def packet_digest(path: Path, name: str = "") -> str:
    """The SHA-256 of the packets of a file's first audio stream, one after the other, as ffmpeg's demuxer cuts them.

    Raises as `chromaprint`, but does not notice a file that is cut.
    """
    return _hashed(path, name, **{"c:a": "copy"}, hash="sha256")


def _hashed(path: Path, name: str, **output: Any) -> str:
    done = _decode(path, name or str(path), **output, format="hash")
    return done.output.decode("ascii", "replace").strip().rpartition("=")[2]


def decoded(path: Path, name: str = "", sample: str = "s32le") -> Iterator[bytes]:
    """The decoded samples at the file's own rate and channels, in pieces, without holding them.

    Raises as `chromaprint`, in part only after the last piece: what was read until then is no result.
    """
    yield from _pieces(path, name or str(path), _Log(), {"c:a": f"pcm_{sample}", "format": sample})


def samples(path: Path, name: str = "") -> Iterator[bytes]:
    """The samples at `RATE`, mixed to one channel, 16 bits, little-endian, in pieces.  Raises as `decoded`."""
    yield from _pieces(path, name or str(path), _Log(), {"ac": 1, "ar": RATE, "format": "s16le"})


def clip(path: Path, start: float, seconds: float, name: str = "") -> bytes:
    """A stretch of the sound, to listen to: MP3 of one channel at 32 kb/s.  Raises as `chromaprint`."""
    output = {
        "ss": start, "t": seconds, "ac": 1, "ar": 2 * RATE, "c:a": "libmp3lame", "b:a": "32k", "map_metadata": -1,
        "write_xing": 0, "id3v2_version": 0, "fflags": "+bitexact", "flags:a": "+bitexact", "format": "mp3",
    }  # fmt: skip
    return _decode(path, name or str(path), **output).output


def codec(path: Path, name: str = "") -> str:
    """What ffmpeg calls the codec of a file's first audio stream.  Raises as `chromaprint`."""
    log = _Log()
    for _ in _pieces(path, name or str(path), log, {"c:a": "copy", "format": "null"}):
        pass  # this muxer writes nothing
    return log.codec


def transcode_flac(path: Path, out: Path, name: str = "") -> None:
    """Write the sound of a file's first audio stream to `out` as FLAC, without its tags.  Raises as `chromaprint`.

    Whether nothing was lost is for the caller to compare.
    """
    output = {"c:a": "flac", "map_metadata": -1, "fflags": "+bitexact", "flags:a": "+bitexact", "format": "flac"}
    for _ in _pieces(path, name or str(path), _Log(), output, out=out):
        pass


@contextlib.contextmanager
def on_disk(entry: Entry) -> Iterator[Path]:
    """A path that ffmpeg may open: the entry's own file, or a private temporary copy of a container's member.

    Raises `Unreadable` for anything but a regular file: links are not followed.
    """
    if entry.data is None:
        if entry.file.is_symlink():
            raise Unreadable(f"{entry.path}: a link, not followed; name the file that it leads to")
        yield entry.file
        return
    with tempfile.TemporaryDirectory(prefix="leakscan-") as folder:
        path = Path(folder) / "member"  # the member's own name never becomes a path
        path.write_bytes(entry.data)
        yield path


def _decode(path: Path, name: str, **output: Any) -> Decoded:
    log = _Log()
    written = b"".join(_pieces(path, name, log, output, limit=_MAX_OUTPUT))
    return Decoded(written, log.duration)


def _pieces(
    path: Path, name: str, log: _Log, output: Mapping[str, Any], *, limit: int | None = None, out: Path | None = None
) -> Iterator[bytes]:
    """What ffmpeg makes of a file's first audio stream, in pieces of at most `limit` bytes in all, or written to `out`.

    Raises `Unreadable` as soon as it is known, `LeakscanError` when ffmpeg cannot be run.
    """
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        reason = getattr(error, "strerror", None) or "not a possible name"
        raise Unreadable(f"{name}: cannot be opened ({reason}); check the path and its permissions") from error
    if not regular:
        raise Unreadable(f"{name}: not a regular file; leave it out")
    command = [*_argv(find_ffmpeg().path, MAX_AUDIO_S, tuple(output.items()))]
    command[command.index(_INPUT)] = f"file:{path.absolute()}"
    if out is not None:  # a muxer that goes back to its header at the end needs a file
        command[command.index(_OUTPUT) :] = ["-y", f"file:{out.absolute()}"]
    status = yield from _stream(command, log, limit)
    if status is None:
        raise Unreadable(f"{name}: ffmpeg did not finish within {_MAX_WALL_S:.0f} s; re-encode it or leave it out")
    untold = output.get("c:a") == "copy" or "t" in output  # then no length that was decoded could tell
    fault = (_refused(status, log) if untold else _fault(status, log, log.duration)) or _cut(path)
    if fault:
        raise Unreadable(f"{name}: {fault}; replace it with an intact copy")
    if log.duration > MAX_AUDIO_S:
        raise Unreadable(f"{name}: longer than {MAX_AUDIO_S // 3600} hours; split it")


_OUTPUT = "pipe:1"
_INPUT = "file:INPUT"  # stands for the path while ffmpeg-python builds argv: it cannot take names that are not UTF-8


def ready() -> None:
    """Find and load all that is needed, so that workers which are forked need not.  Raises `LeakscanError`."""
    find_ffmpeg()
    _ffmpeg_python()


def _ffmpeg_python() -> Any:
    try:
        import ffmpeg
    except ImportError as error:
        raise LeakscanError("ffmpeg-python is not installed; pip install ffmpeg-python") from error
    if not hasattr(ffmpeg, "compile"):
        raise LeakscanError(
            "another package has taken the name of ffmpeg-python; pip uninstall python-ffmpeg typed-ffmpeg, "
            "then pip install --force-reinstall ffmpeg-python"
        )
    return ffmpeg


@functools.cache
def _argv(executable: str, limit: int, output: tuple[tuple[str, Any], ...]) -> tuple[str, ...]:
    ffmpeg = _ffmpeg_python()
    source = ffmpeg.input(_INPUT, protocol_whitelist="file,pipe", format_whitelist=_FORMATS, threads=1, t=limit + 1)
    # verbose: that level ends with the count of encoded samples
    globals_ = ["-nostdin", "-hide_banner", "-nostats", "-loglevel", "level+verbose", "-filter_threads", "1"]
    sink = ffmpeg.output(source["a:0"], _OUTPUT, vn=None, sn=None, dn=None, **dict(output))
    return tuple(ffmpeg.compile(sink, cmd=[executable, *globals_]))


def _stream(command: list[str], log: _Log, limit: int | None = None) -> Generator[bytes, None, int | None]:
    """Yield what a command writes, at most `limit` bytes; its value is the exit status, None when the time was up."""
    try:
        process = subprocess.Popen(
            command, bufsize=_BLOCK, pipesize=_BLOCK,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        raise LeakscanError(f"{command[0]}: cannot be run ({error.strerror}); see `leakscan doctor`") from error
    assert process.stdout is not None
    assert process.stderr is not None
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        process.kill()  # not terminate: ffmpeg ignores SIGTERM while it waits for input

    timer = threading.Timer(_MAX_WALL_S, expire)
    reader = threading.Thread(target=log.read, args=(process.stderr,), daemon=True)
    with process:
        try:
            timer.start()
            reader.start()
            while piece := process.stdout.read1(_BLOCK):  # type: ignore[attr-defined]  # it is buffered
                if limit is not None and len(piece) > limit:
                    log.errors.append("more output than a fingerprint can have")
                    process.kill()
                    yield piece[:limit]
                    break
                yield piece
                limit = None if limit is None else limit - len(piece)
            reader.join()
            status = process.wait()
        finally:
            timer.cancel()
            process.kill()
    return None if expired.is_set() else status


class _Log:
    """What ffmpeg said, read line by line so that a hostile file cannot fill the memory with messages."""

    # Every line starts with [level], or with [part @ address] [level]; no text of the file (tags) can stand there.
    _LINE = re.compile(rb"(?:\[[^\[\]]* @ [^\[\]]*\] )*\[(\w+)\] (.*)", re.DOTALL)
    _LENGTH = re.compile(rb"  Duration: (\d+):(\d\d):(\d\d(?:\.\d+)?)(?:, start: (\d+(?:\.\d+)?))?")
    _STREAM = re.compile(rb"  Stream #0:\d+.*?: (\w+): (?!.*\(attached pic\))")
    _CODEC = re.compile(rb"  Stream #0:\d+.*?: Audio: (\w+)")
    _RATE = re.compile(rb"  Stream #0:\d+.*?: Audio: .*?, (\d+) Hz")
    _SAMPLES = re.compile(rb"  Output stream #0:0 \(audio\): \d+ frames encoded \((\d+) samples\)")

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.counted: float | None = None  # seconds by the container's own count
        self.streams = 0
        self.rate = 0
        self.samples = 0
        self.codec = ""

    @property
    def duration(self) -> float:
        """How many seconds of audio were encoded."""
        return self.samples / self.rate if self.rate else 0.0

    def read(self, stream: IO[bytes]) -> None:
        estimated = output = inside = False
        for raw in iter(lambda: stream.readline(4096), b""):
            line = None if inside else self._LINE.match(raw.rstrip())
            inside = not raw.endswith(b"\n")  # the rest of a long line is the file's own text
            if line is None:
                continue
            level, text = line.groups()
            if level in (b"error", b"fatal", b"panic"):
                if len(self.errors) < 8:
                    said = text.decode("utf-8", "replace")[:120]
                    self.errors.append("".join(c for c in said if c.isprintable()))
            elif text.startswith(b"Estimating duration from bitrate"):
                estimated = True
            elif text.startswith(b"Output #0"):
                output = True
            elif not output and (found := self._LENGTH.match(text)):
                hours, minutes, seconds, start = (float(part or 0) for part in found.groups())
                # ffmpeg 5 counts the encoder's delay in MP3 as audio; it calls it the start and skips it
                self.counted = None if estimated else hours * 3600 + minutes * 60 + seconds - min(start, 0.1)
            elif not output and self._STREAM.match(text):
                self.streams += 1
                if not self.codec and (found := self._CODEC.match(text)):
                    self.codec = found[1].decode("ascii")
            elif output and (found := self._RATE.match(text)):
                self.rate = int(found[1])
            elif found := self._SAMPLES.match(text):
                self.samples = int(found[1])


def _fault(status: int, log: _Log, duration: float) -> str:
    """What shows that ffmpeg did not decode the file in full; empty when nothing does."""
    if refused := _refused(status, log):
        return refused
    said = _said(log)
    if not log.rate:
        return "ffmpeg did not say what it decoded"
    # With several streams (a film) the container's length is the longest one's and says nothing about the audio.
    counted = log.counted if log.streams == 1 else None
    missing = counted - duration if counted is not None else None
    # 0.2 s: ffmpeg 5 counts the padding at the end of MP3, which is cut off when decoding.
    if missing is not None and missing > 0.2 and counted is not None and counted < MAX_AUDIO_S:
        return f"cut or damaged: its container counts {counted:.2f} s, {duration:.2f} s could be decoded{said}"
    if log.errors and (missing is None or missing > 0.06):  # 0.06 s: less than a FLAC or MP3 frame with its neighbours
        return f"damaged{said}"
    return ""


def _refused(status: int, log: _Log) -> str:
    return f"cannot be decoded{_said(log)}" if status != 0 else ""


def _said(log: _Log) -> str:
    return f" (ffmpeg: {log.errors[0]})" if log.errors else ""


def _cut(path: Path) -> str:
    """Whether a RIFF or Ogg file ends too early; ffmpeg reads such files without an error."""
    with path.open("rb") as stream:
        head = stream.read(12)
        size = stream.seek(0, os.SEEK_END)
        if head[:4] == b"RIFF" and head[8:] == b"WAVE":
            return _cut_riff(stream, size)
        if head[:4] == b"OggS":
            stream.seek(max(0, size - 2 * 65307))  # 65,307: the largest page
            return _cut_ogg(stream.read())
    return ""


def _cut_riff(stream: IO[bytes], size: int) -> str:
    at = 12
    while at + 8 <= size:
        stream.seek(at)
        kind, length = struct.unpack("<4sI", stream.read(8))
        if kind == b"data":
            streamed = length in (0, 0xFFFFFFFF)  # written to a pipe: the length was not known
            return "" if streamed or at + 8 + length <= size else "cut: its data chunk is longer than the file"
        at += 8 + length + length % 2
    return ""


def _cut_ogg(tail: bytes) -> str:
    at = tail.rfind(b"OggS")
    page = tail[at:]
    if at >= 0 and len(page) >= 27 and page[5] & 4:  # 4: end of stream
        segments = page[27 : 27 + page[26]]
        if len(segments) == page[26] and len(page) >= 27 + page[26] + sum(segments):
            return ""
    return "cut: its last page does not end the stream"
