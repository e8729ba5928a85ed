"""The only place that runs ffmpeg: found by probing, argv built by ffmpeg-python, fenced in by options, killable.

A file is decoded in full or it is `Unreadable`; `transcripts` judges that by what ffmpeg said.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscan import libchromaprint, transcripts
from leakscan.model import Entry, LeakscanError, Unreadable
from leakscan.transcripts import Transcript

RATE = 11025  # Hz; Chromaprint's own rate, so that it need not resample
PHASES = (0, 341, 682, 1024)  # samples; quarters of the 1365 from word to word

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
    """An ffmpeg and where it was found; without `muxer` its samples have to go into libchromaprint."""

    path: str
    version: str
    source: str
    muxer: bool = True

    @property
    def library(self) -> str:
        """What computes the fingerprints, for those who compare them."""
        own = f"ffmpeg {self.version}"
        return own if self.muxer else f"libchromaprint {libchromaprint.version()}, {own}"


@functools.cache
def find_ffmpeg() -> Ffmpeg:
    """The ffmpeg to use: `LEAKSCAN_FFMPEG` if set, else the system's, else imageio-ffmpeg's.

    The first that lists the chromaprint muxer: many builds come without.  Where none does, the first that runs, if
    libchromaprint is there.  An explicit `LEAKSCAN_FFMPEG` that does not serve is an error, never silently replaced.

    Raises `LeakscanError`.
    """
    second: Ffmpeg | None = None
    for source, locate in _SOURCES:
        path = locate()
        if path is None:
            continue
        version, fault = _probe(path)
        if not fault:
            return Ffmpeg(path, version, source)
        found = Ffmpeg(path, version, source, muxer=False) if version and libchromaprint.load() else None
        if source == "LEAKSCAN_FFMPEG":
            if found is None:
                raise LeakscanError(f"{path}: {fault}; unset LEAKSCAN_FFMPEG or point it at an ffmpeg with that muxer")
            return found
        second = second or found
    if second is None:
        raise LeakscanError(
            "no ffmpeg with the chromaprint muxer found; install one (pip install 'leakscan-audio[ffmpeg]', "
            "or the system's ffmpeg package) or set LEAKSCAN_FFMPEG"
        )
    return second


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


def pcm_digest(path: Path, name: str = "", sample: str = "s32le", algorithm: str = "sha256") -> str:
    """The digest of the decoded samples at the file's own rate and channels, in hexadecimal.

    By default the samples are widened to 32 bits: equal for a WAV and a FLAC of one recording.  `algorithm` is one of
    ffmpeg's hash muxer; `name` is what messages call the file.  Raises `Unreadable` (also for a file of more than
    `MAX_AUDIO_S`) and `LeakscanError`.
    """
    return _hashed(path, name, **{"c:a": f"pcm_{sample}"}, hash=algorithm)


def packet_digest(path: Path, name: str = "") -> str:
    """The SHA-256 of the packets of a file's first audio stream, one after the other, as ffmpeg's demuxer cuts them.

    Raises as `pcm_digest`, but does not notice a file that is cut.
    """
    return _hashed(path, name, **{"c:a": "copy"}, hash="sha256")


def _hashed(path: Path, name: str, **output: Any) -> str:
    return digest_of(b"".join(_pieces(path, name, Transcript(), {**output, "format": "hash"}, limit=_MAX_OUTPUT)))


def digest_of(written: bytes) -> str:
    """The digest in what ffmpeg's hash muxer wrote."""
    return written.decode("ascii", "replace").strip().rpartition("=")[2]


def decoded(path: Path, name: str = "", sample: str = "s32le") -> Iterator[bytes]:
    """The decoded samples at the file's own rate and channels, in pieces, without holding them.

    Raises as `pcm_digest`, in part only after the last piece: what was read until then is no result.
    """
    yield from _pieces(path, name, Transcript(), {"c:a": f"pcm_{sample}", "format": sample})


def samples(path: Path, name: str = "") -> Iterator[bytes]:
    """The samples at `RATE`, mixed to one channel, 16 bits, little-endian, in pieces.  Raises as `decoded`."""
    yield from _pieces(path, name, Transcript(), MONO)


def clip(path: Path, start: float, seconds: float, name: str = "") -> bytes:
    """A stretch of the sound, to listen to: MP3 of one channel at 32 kb/s.  Raises as `pcm_digest`."""
    output = {
        "ss": start, "t": seconds, "ac": 1, "ar": 2 * RATE, "c:a": "libmp3lame", "b:a": "32k", "map_metadata": -1,
        "write_xing": 0, "id3v2_version": 0, "fflags": "+bitexact", "flags:a": "+bitexact", "format": "mp3",
    }  # fmt: skip
    return b"".join(_pieces(path, name, Transcript(), output, limit=_MAX_OUTPUT))


def codec(path: Path, name: str = "") -> str:
    """What ffmpeg calls the codec of a file's first audio stream.  Raises as `pcm_digest`."""
    said = Transcript()
    for _ in _pieces(path, name, said, {"c:a": "copy", "format": "null"}):
        pass  # this muxer writes nothing
    return said.sources[0].codec


def transcode_flac(path: Path, out: Path, name: str = "") -> None:
    """Write the sound of a file's first audio stream to `out` as FLAC, without its tags.  Raises as `pcm_digest`.

    Whether nothing was lost is for the caller to compare.
    """
    output = {"c:a": "flac", "map_metadata": -1, "fflags": "+bitexact", "flags:a": "+bitexact", "format": "flac"}
    for _ in _pieces(path, name, Transcript(), output, out=out):
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


def _pieces(
    path: Path,
    name: str,
    said: Transcript,
    output: Mapping[str, Any],
    *,
    limit: int | None = None,
    out: Path | None = None,
) -> Iterator[bytes]:
    """What ffmpeg makes of a file's first audio stream, in pieces of at most `limit` bytes in all, or written to `out`.

    Raises `Unreadable` as soon as it is known, `LeakscanError` when ffmpeg cannot be run.
    """
    name = name or str(path)
    check_regular(path, name)
    with workplace((path,)) as (folder, links):
        command = list(_argv(find_ffmpeg().path, MAX_AUDIO_S, tuple(output.items())))
        command[command.index(_INPUT)] = links[0]
        if out is not None:  # a muxer that goes back to its header at the end needs a file
            command[command.index(_OUTPUT) :] = ["-y", f"file:{out.absolute()}"]
        status = yield from stream(command, said, folder, limit)
    if status is None:
        raise Unreadable(f"{name}: {late()}")
    untold = output.get("c:a") == "copy" or "t" in output  # then no length that was decoded could tell
    sink = said.sinks[0]
    fault = (
        transcripts.refused(status, said)
        if untold
        else transcripts.fault(status, said, said.sources[0], sink, MAX_AUDIO_S)
    )
    refuse(path, name, fault, sink.duration)


def refuse(path: Path, name: str, fault: str, duration: float) -> None:
    """Raise `Unreadable` for a file that `fault` is known of, that is cut, or longer than may be."""
    if fault := fault or transcripts.cut(path):
        raise Unreadable(f"{name}: {fault}; replace it with an intact copy")
    if duration > MAX_AUDIO_S:
        raise Unreadable(f"{name}: longer than {MAX_AUDIO_S // 3600} hours; split it")


def late() -> str:
    """What is said of a file that takes too long."""
    return f"ffmpeg did not finish within {_MAX_WALL_S:.0f} s; re-encode it or leave it out"


def check_regular(path: Path, name: str) -> None:
    """Raise `Unreadable` for anything but a regular file: ffmpeg would wait for a pipe, and read a device for ever."""
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
        if regular:
            path.open("rb").close()
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        reason = getattr(error, "strerror", None) or "not a possible name"
        raise Unreadable(f"{name}: cannot be opened ({reason}); check the path and its permissions") from error
    if not regular:
        raise Unreadable(f"{name}: not a regular file; leave it out")


_OUTPUT = "pipe:1"
_INPUT = "file:INPUT"
MONO = {"ac": 1, "ar": RATE, "format": "s16le"}
"""Output options: samples as Chromaprint takes them."""


@contextlib.contextmanager
def workplace(paths: Sequence[Path]) -> Iterator[tuple[Path, list[str]]]:
    """A private folder for ffmpeg to work in, and what it calls each file there.

    A file's own name, which ffmpeg would repeat in its messages, may hold anything; only its suffix, by which ffmpeg
    tells formats apart that look alike, is kept.
    """
    with tempfile.TemporaryDirectory(prefix="leakscan-") as name:
        folder, links = Path(name), []
        for number, path in enumerate(paths):
            plain = path.suffix.isascii() and path.suffix[1:].isalnum()
            link = f"in{number}{path.suffix if plain else ''}"
            (folder / link).symlink_to(path.absolute())
            links.append(f"file:{link}")
        yield folder, links


def ready() -> None:
    """Find and load all that is needed, so that workers which are forked need not.  Raises `LeakscanError`."""
    find_ffmpeg()
    ffmpeg_python()


def ffmpeg_python() -> Any:
    """The package that builds command lines.  Raises `LeakscanError`."""
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
    ffmpeg = ffmpeg_python()
    source = ffmpeg.input(_INPUT, **fence(limit))
    sink = ffmpeg.output(source["a:0"], _OUTPUT, vn=None, sn=None, dn=None, **dict(output))
    return tuple(ffmpeg.compile(sink, cmd=[executable, *GLOBALS]))


# verbose: that level ends with the count of encoded samples
GLOBALS = (
    "-nostdin", "-hide_banner", "-nostats", "-loglevel", "level+verbose",
    "-filter_threads", "1", "-filter_complex_threads", "1",
)  # fmt: skip


def fence(limit: int) -> dict[str, Any]:
    """Input options that keep ffmpeg to one file, one thread and, with something to notice it by, `limit` seconds."""
    one_thread = {"threads": 1, "thread_queue_size": 0}  # else ffmpeg 5 starts one for each file, if there are several
    return {"protocol_whitelist": "file,pipe", "format_whitelist": _FORMATS, **one_thread, "t": limit + 1}


def stream(
    command: Sequence[str], said: Transcript, folder: Path, limit: int | None = None
) -> Generator[bytes, None, int | None]:
    """Yield what a command writes, at most `limit` bytes; its value is the exit status, None when the time was up."""
    try:
        process = subprocess.Popen(
            command, bufsize=_BLOCK, pipesize=_BLOCK, cwd=folder,
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
    reader = threading.Thread(target=said.read, args=(process.stderr,), daemon=True)
    with process:
        try:
            timer.start()
            reader.start()
            while piece := process.stdout.read1(_BLOCK):  # type: ignore[attr-defined]  # it is buffered
                if limit is not None and len(piece) > limit:
                    said.errors.append("more output than a fingerprint can have")
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
