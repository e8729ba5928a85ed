"""Real music and what copies of it go through: the data of the benchmarks of matching and of duplicates.

Six Debian packages of free game music are fetched (apt-get download) and unpacked.  Two of them are for calibration,
four for testing, so that nothing is tested on the music that it was tuned on.  Every recording of 20 s and more is
decoded once and made into copies that start at a random sample (seeded); each copy is fingerprinted once, at four
phases, and its words are kept in one file for each recording, so that matching them again takes minutes.

What needs no codec (gain, noise, filters, crops, other speeds) is made at 11,025 Hz, which is all that a fingerprint
hears; what is encoded (of the test recordings only) is encoded at the recording's own rate.  The words are
libchromaprint's, fed in this process, which is several times quicker than files and a process for each: of the decoded
originals they differ from those of `leakscan.hearing` in less than one bit in a thousand.

Usage: python benchmarks/corpus.py [FOLDER]        default: bench-data, which git ignores; 1.7 GB are fetched
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mutagen
import numpy as np
import numpy.typing as npt
from scipy import signal
from scipy.io import wavfile

from leakscan import fingerprints, libchromaprint, media
from leakscan.media import PHASES
from leakscan.model import Fingerprint

FOLDER = Path("bench-data")
CALIBRATION = ("wesnoth-1.16-music", "hedgewars-data")
TEST = ("ufoai-music", "supertux-data", "widelands-data", "supertuxkart-data")
LEAST_S = 20.0  # shorter files are sound effects
LONG_S = 85.0
SEED = 20261130

RATE = media.RATE
_STRETCH_S = 30.0  # of what is encoded; each recording is also encoded in full length, in one of the codecs
_CODEC_S = 20.0  # of it in every codec
_CHANGED_S = 30.0  # of what only gets noise or another level; it gets them in full length, too
_GAINS = (-12, -30)  # dB
_NOISES = (30, 20, 10)  # dB below the recording
_EMBED_S = 20.0  # a piece of so much stands in twice as much of another recording
_LEAD_S = 2.0  # a "full" copy lacks up to so much of the beginning, so that its phase is random
SPEEDS = (-6, -3, -1, 1, 3, 6)  # per cent

CODECS: Mapping[str, tuple[str, ...]] = {
    "mp3-320": (".mp3", "-c:a", "libmp3lame", "-compression_level", "9", "-b:a", "320k"),
    "mp3-128": (".mp3", "-c:a", "libmp3lame", "-compression_level", "9", "-b:a", "128k"),
    "mp3-64": (".mp3", "-c:a", "libmp3lame", "-compression_level", "9", "-b:a", "64k"),
    "mp3-32": (".mp3", "-c:a", "libmp3lame", "-compression_level", "9", "-b:a", "32k"),
    "aac-96": (".m4a", "-c:a", "aac", "-aac_coder", "fast", "-b:a", "96k"),
    "opus-48": (".opus", "-c:a", "libopus", "-compression_level", "0", "-b:a", "48k"),
    "vorbis-q3": (".ogg", "-c:a", "libvorbis", "-q:a", "3"),
    "flac": (".flac", "-c:a", "flac"),
    "wav-22k-mono": (".wav", "-ac", "1", "-ar", "22050"),
    "wav-16k-mono": (".wav", "-ac", "1", "-ar", "16000"),
}

Sound = npt.NDArray[np.float32]
"""Samples at 11,025 Hz, in [-1, 1]; shape (n,), or (n, 2) for two channels."""

Samples = npt.NDArray[np.int16]
"""Samples at 11,025 Hz, 16 bits, one channel; shape (n,)."""


@dataclass(frozen=True, slots=True)
class Copy:
    """What was made of a recording, as heard.

    The recording's start lies at `offset_s` on the copy's time line; `length_s` of the recording are in it.  `host` is
    the other recording that an embedded one stands in.
    """

    kind: str
    track: str
    offset_s: float
    length_s: float
    fingerprint: Fingerprint
    host: str = ""


@dataclass(frozen=True, slots=True)
class Track:
    """A recording: `name` is package/path; `heard` its fingerprint."""

    name: str
    heard: Fingerprint
    copies: tuple[Copy, ...]

    @property
    def package(self) -> str:
        return self.name.partition("/")[0]


def packages(folder: Path) -> list[dict[str, Any]]:
    """Fetch and unpack what is not there yet; name, version, SHA-256 and licences of each package."""
    return [fetch(folder, name) for name in (*CALIBRATION, *TEST)]


def fetch(folder: Path, name: str) -> dict[str, Any]:
    """`packages` for one of them.  Raises `OSError`, `subprocess.CalledProcessError` when it cannot be fetched."""
    debs, music = folder / "debs", folder / "music" / name
    debs.mkdir(parents=True, exist_ok=True)
    if not list(debs.glob(f"{name}_*.deb")):
        subprocess.run(["apt-get", "download", name], cwd=debs, check=True)
    deb = next(debs.glob(f"{name}_*.deb"))
    if not music.is_dir():
        part = music.with_name(f"{name}.part")
        part.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", str(deb), str(part)], check=True)
        for pack in part.rglob("*.pk3"):
            zipfile.ZipFile(pack).extractall(pack.with_suffix(""))
            pack.unlink()
        part.rename(music)
    notice = (music / "usr/share/doc" / name / "copyright").read_text("utf-8", "replace")
    return {
        "package": name,
        "version": deb.name.split("_")[1].replace("%3a", ":"),
        "sha256": hashlib.sha256(deb.read_bytes()).hexdigest(),
        "set": "test" if name in TEST else "calibration",
        "licences": sorted(set(re.findall(r"^License: *(\S.*)$", notice, re.MULTILINE))),
    }


def files(folder: Path, package: str) -> dict[str, Path]:
    """The audio files of a package, by the names of the recordings."""
    music = folder / "music" / package
    found = (path for path in sorted(music.rglob("*")) if path.suffix in (".ogg", ".wav", ".mp3", ".flac", ".opus"))
    return {f"{package}/{path.relative_to(music).as_posix()}": path for path in found}


def tracks(folder: Path, names: Sequence[str]) -> list[Track]:
    """The recordings of 20 s and more of some packages with their copies, as far as `make` has made them."""
    found = []
    for package in names:
        for name in recordings(folder, package):
            heard = [
                copy for path in sorted(folder.glob(f"words/*/{glob.escape(flat(name))}.npz")) for copy in _recall(path)
            ]
            original = next((copy for copy in heard if not copy.kind), None)
            if original is not None:
                found.append(Track(name, original.fingerprint, tuple(copy for copy in heard if copy.kind)))
    return found


def make(folder: Path, names: Sequence[str], stage: str) -> int:
    """Make the copies of one stage of the recordings of some packages, as far as they are not there; how many."""
    made = 0
    for package in names:
        found = recordings(folder, package)
        for number, (name, path) in enumerate(found.items()):
            kept = folder / "words" / stage / f"{flat(name)}.npz"
            if kept.is_file():
                continue
            host = list(found)[number - 1]
            copies = []
            for kind, start, length, samples in _STAGES[stage](path, found[host], _seeded(name, stage)):
                copies.append(Copy(kind, name, -start, length, hear(samples), host if kind == "embed-20" else ""))
                if kind.startswith("speed"):  # other speeds are heard when they are searched for
                    sound = folder / "speeds" / f"{flat(name)}{kind}.wav"
                    sound.parent.mkdir(exist_ok=True)
                    wavfile.write(sound, RATE, samples)
            kept.parent.mkdir(parents=True, exist_ok=True)
            _keep(kept, copies)
            made += 1
    return made


def speech(folder: Path) -> dict[str, Samples]:
    """Minutes of people talking, by speaker: the voices of one of the games, each end to end; no file twice."""
    spoken: dict[str, list[Path]] = {}
    seen = set()
    for path in files(folder, "hedgewars-data").values():
        content = path.read_bytes() if path.parent.parent.name == "voices" else b""
        if content and content not in seen:
            seen.add(content)
            spoken.setdefault(f"voice {path.parent.name}", []).append(path)
    with tempfile.TemporaryDirectory() as work:
        return {name: np.concatenate(_decoded(paths, Path(work))) for name, paths in spoken.items()}


def samples(folder: Path, copy: Copy) -> Samples:
    """The sound of a copy that needs no codec, made again."""
    found = recordings(folder, copy.track.partition("/")[0])
    host = list(found.values())[list(found).index(copy.track) - 1]
    stage = "changed" if copy.kind.endswith(" whole") else "signals"
    made = _STAGES[stage](found[copy.track], host, _seeded(copy.track, stage))
    return next(sound for kind, _, _, sound in made if kind == copy.kind)


def _seeded(name: str, stage: str) -> np.random.Generator:
    return np.random.default_rng([SEED, zlib.crc32(name.encode()), list(_STAGES).index(stage)])


def recordings(folder: Path, package: str) -> dict[str, Path]:
    """The files of a package that are 20 s and longer, by the names of the recordings."""
    return {name: path for name, path in files(folder, package).items() if length_of(path) >= LEAST_S}


def is_music(name: str) -> bool:
    """Whether a recording is music, by where its package keeps it: not a sound effect, a noise or a voice."""
    return not re.search(r"/(sounds?|sfx|speech)/|steamLocomotive|nolok_speech", name)


def flat(name: str) -> str:
    """The name of a recording as that of a file."""
    return name.replace("/", "+")


def length_of(path: Path) -> float:
    """The length of a file in seconds, as its head says; 0 when it does not."""
    known = mutagen.File(path)
    return 0.0 if known is None else float(known.info.length)


def _keep(path: Path, heard: Sequence[Copy]) -> None:
    about = [(one.kind, one.track, one.offset_s, one.length_s, one.fingerprint.duration, one.host) for one in heard]
    words = {
        f"{number}.{phase}": np.frombuffer(array, "<u4")
        for number, one in enumerate(heard)
        for phase, array in enumerate((one.fingerprint.words, *one.fingerprint.phases))
    }
    part = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(part, about=np.array(json.dumps(about)), **words)
    part.replace(path)


def _recall(path: Path) -> Iterator[Copy]:
    with np.load(path) as kept:
        for number, (kind, track, offset, length, duration, host) in enumerate(json.loads(str(kept["about"]))):
            first, *phases = (kept[f"{number}.{phase}"].tobytes() for phase in range(len(PHASES)))
            yield Copy(kind, track, offset, length, Fingerprint(first, duration, phases=tuple(phases)), host)


def decode(path: Path, seconds: float = media.MAX_AUDIO_S) -> Sound:
    """A file's sound in two channels, or the first seconds of it."""
    source, sink = ["-t", str(seconds), "-i", str(path)], ["-ac", "2", "-ar", str(RATE), "-f", "s16le", "-"]
    done = subprocess.run([*_ffmpeg(), *source, "-map", "0:a:0", *sink], capture_output=True, check=True)
    return np.frombuffer(done.stdout, "<i2").reshape(-1, 2).astype(np.float32) / 32768


def hear(samples: Samples) -> Fingerprint:
    """The fingerprint of samples at 11,025 Hz, at four phases, by libchromaprint: quicker than a process for each."""
    first, *phases = (_words(samples[phase:]) for phase in PHASES)
    return Fingerprint(first, len(samples) / RATE, phases=tuple(phases))


def _words(samples: Samples) -> bytes:
    library = libchromaprint.load()
    if library is None:
        sys.exit("libchromaprint cannot be loaded; install it (Debian: apt-get install libchromaprint1)")
    printer = library.Fingerprinter()
    printer.start(RATE, 1)
    printer.feed(samples.tobytes())
    return fingerprints.decode(printer.finish().decode("ascii"))[1]


Made = Iterator[tuple[str, float, float, Samples]]
"""Kind, start and length in seconds of the recording, and the sound of a copy."""


def _signals(path: Path, other: Path, rng: np.random.Generator) -> Made:
    """The original, of kind "", and every copy that needs no codec."""
    both = decode(path)
    mono: Sound = both.mean(1)
    yield "", 0.0, len(mono) / RATE, to_samples(mono)
    for decibels in _GAINS:
        for kind, start, length, sound in _crop(f"gain{decibels}", mono, _CHANGED_S, rng):
            yield kind, start, length, _quieter(sound, decibels)
    level = level_of(mono)
    for decibels in _NOISES:
        for kind, start, length, sound in _crop(f"noise-{decibels}", mono, _CHANGED_S, rng):
            yield kind, start, length, noisy(sound, level, decibels, rng)
    for seconds in (30, 20, 10, 5):
        for kind, start, length, sound in _crop(f"crop-{seconds}", mono, seconds, rng):
            yield kind, start, length, to_samples(sound)
    for name, altered in _altered(both, mono, rng) if len(mono) >= LONG_S * RATE else ():
        begin = int(rng.integers(int(_LEAD_S * RATE)))
        yield name, begin / RATE, (len(mono) - begin) / RATE, to_samples(altered[begin:])
        for kind, start, length, sound in _crop(f"{name}-crop-30", altered, 30, rng):
            yield kind, start, length, to_samples(sound)
    begin = int(rng.integers(len(mono) - int(_EMBED_S * RATE) + 1))
    piece, around = mono[begin : begin + int(_EMBED_S * RATE)], decode(other, _EMBED_S * 2).mean(1)
    at = int(rng.integers(len(around) + 1))
    yield "embed-20", (begin - at) / RATE, _EMBED_S, to_samples(np.concatenate((around[:at], piece, around[at:])))
    for per_cent in sorted(rng.choice(SPEEDS, 2, replace=False).tolist()):
        for kind, start, length, sound in _crop(f"speed{per_cent:+}", mono, 60, rng):
            faster = signal.resample_poly(sound, 100, 100 + per_cent)
            yield kind, start / (1 + per_cent / 100), length, to_samples(faster)  # the start is on the copy's time line


def _changed(path: Path, other: Path, rng: np.random.Generator) -> Made:
    """The recording in full length, but for up to 2 s of its beginning, at another level or with noise."""
    mono: Sound = decode(path).mean(1)
    level = level_of(mono)
    for kind, change in (("gain", _GAINS), ("noise-", _NOISES)):
        for decibels in change:
            begin = int(rng.integers(int(_LEAD_S * RATE)))
            sound = mono[begin:]
            made = _quieter(sound, decibels) if kind == "gain" else noisy(sound, level, decibels, rng)
            yield f"{kind}{decibels} whole", begin / RATE, len(sound) / RATE, made


def level_of(sound: Sound) -> float:
    """The root mean square."""
    return float(np.sqrt(np.mean(sound**2)))


def _quieter(sound: Sound, decibels: float) -> Samples:
    """At another level, by so many decibels, after it was 16 bits."""
    return to_samples(to_samples(sound) * 10 ** (decibels / 20) / 32767)


def noisy(sound: Sound, level: float, decibels: float, rng: np.random.Generator) -> Samples:
    """With white noise, by so many decibels below the level of the recording."""
    noise = rng.standard_normal(len(sound), np.float32) * level * 10 ** (-decibels / 20)
    return to_samples(sound + noise)


def _altered(both: Sound, mono: Sound, rng: np.random.Generator) -> Iterator[tuple[str, Sound]]:
    yield "bass+8", _shelf(mono, 100, 8, high=False)
    yield "smile", _shelf(_shelf(mono, 100, 6, high=False), 3000, 6, high=True)
    echo = 0.8 * mono
    for delay, decay in ((0.060, 0.5), (0.110, 0.3)):
        late = int(delay * RATE)
        echo[late:] += 0.8 * decay * mono[:-late]
    yield "echo", 0.7 * echo
    if (both[:, 0] != both[:, 1]).any():
        side = int(rng.integers(2))
        yield ("left", "right")[side], both[:, side]


def _shelf(sound: Sound, frequency: float, decibels: float, *, high: bool) -> Sound:
    """A shelving filter, Q 0.5 (Bristow-Johnson's audio EQ cookbook), as ffmpeg's `bass` and `treble`."""
    a = 10 ** (decibels / 40)
    omega = 2 * np.pi * frequency / RATE
    cosine, alpha = np.cos(omega) * (-1 if high else 1), np.sin(omega)  # sin/(2 Q), Q = 0.5
    root = 2 * np.sqrt(a) * alpha
    b = np.array([a * (a + 1 - (a - 1) * cosine + root), 2 * a * (a - 1 - (a + 1) * cosine), 0])
    b[2] = b[0] - 2 * a * root
    c = np.array([a + 1 + (a - 1) * cosine + root, -2 * (a - 1 + (a + 1) * cosine), 0])
    c[2] = c[0] - 2 * root
    if high:
        b[1], c[1] = -b[1], -c[1]
    filtered: Sound = signal.lfilter(b / c[0], c / c[0], sound).astype(np.float32)
    return filtered


def _crop(
    kind: str, sound: Sound, seconds: float, rng: np.random.Generator
) -> Iterator[tuple[str, float, float, Sound]]:
    """A crop from a random sample, if there is one to spare."""
    count = int(seconds * RATE)
    if len(sound) > count:
        start = int(rng.integers(len(sound) - count))
        yield kind, start / RATE, seconds, sound[start : start + count]


def to_samples(sound: Sound) -> Samples:
    """What a file of 16 bits holds of a sound: clipped and rounded."""
    return (np.clip(sound, -1, 1) * 32767).round().astype("<i2")


def _codecs(path: Path, other: Path, rng: np.random.Generator) -> Made:
    """Stretches of 20 s in every codec, and MP3 excerpts of 10 and 30 s."""
    with tempfile.TemporaryDirectory() as folder:
        work, duration = Path(folder), length_of(path)
        length = min(_STRETCH_S, duration - 0.5)
        start = float(rng.integers(int((duration - length) * 44100))) / 44100
        stretch = work / "stretch.wav"
        source = ["-ss", f"{start:.6f}", "-t", f"{length:.6f}", "-i", str(path)]  # exact: checked against atrim
        subprocess.run([*_ffmpeg(), *source, "-map", "0:a:0", str(stretch)], check=True)
        jobs = [(kind, min(_CODEC_S, length), how) for kind, how in CODECS.items()]
        jobs += [(f"mp3-64-{seconds}", float(seconds), CODECS["mp3-64"]) for seconds in (10, 30) if seconds <= length]
        encode, made = [*_ffmpeg(), "-i", str(stretch)], []
        for number, (_, seconds, (suffix, *how)) in enumerate(jobs):
            made.append(work / f"{number}{suffix}")
            encode += ["-map", "0:a:0", "-t", str(seconds), *how, "-threads", "1", str(made[-1])]
        subprocess.run(encode, check=True)
        for (kind, seconds, _), samples in zip(jobs, _decoded(made, work), strict=True):
            yield kind, start, seconds, samples


def _whole(path: Path, other: Path, rng: np.random.Generator) -> Made:
    """The recording in full length, but for up to 2 s of its beginning, in one of the codecs."""
    with tempfile.TemporaryDirectory() as folder:
        kind = list(CODECS)[int(rng.integers(len(CODECS)))]
        suffix, *how = CODECS[kind]
        lead = round(float(rng.uniform(0, _LEAD_S)), 6)
        made = Path(folder) / f"whole{suffix}"
        subprocess.run(
            [*_ffmpeg(), "-ss", str(lead), "-i", str(path), "-map", "0:a:0", *how, "-threads", "1", str(made)],
            check=True,
        )
        (samples,) = _decoded([made], Path(folder))
        yield f"{kind}-whole", lead, length_of(path) - lead, samples


_STAGES: Mapping[str, Callable[[Path, Path, np.random.Generator], Made]] = {
    "signals": _signals,
    "codecs": _codecs,
    "whole": _whole,
    "changed": _changed,
}


def _decoded(files: Sequence[Path], work: Path) -> list[Samples]:
    """What files sound like, all decoded by one ffmpeg."""
    command, sinks = _ffmpeg(), []
    for number, file in enumerate(files):
        command += ["-i", str(file)]
        sinks += ["-map", f"{number}:a:0", "-ac", "1", "-ar", str(RATE), "-f", "s16le", str(work / f"{number}.pcm")]
    subprocess.run([*command, *sinks], check=True)
    return [np.fromfile(work / f"{number}.pcm", "<i2") for number in range(len(files))]


def _ffmpeg() -> list[str]:
    return [media.find_ffmpeg().path, "-nostdin", "-v", "fatal", "-y", "-filter_threads", "1", "-threads", "1"]


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for about in packages(where):
        print(f"{about['package']} {about['version']} ({about['set']})", flush=True)
    for stage in _STAGES:
        for package in TEST if stage != "signals" else (*TEST, *CALIBRATION):
            print(f"{stage} of {package}: {make(where, [package], stage)} made", flush=True)
