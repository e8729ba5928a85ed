"""Synthetic music for tests and benchmarks: seeded melodies over chords, as WAV; other codecs by ffmpeg."""

from __future__ import annotations

import subprocess
import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt
from encoder import encoder

RATE = 22050
Audio = npt.NDArray[np.float64]


def music(seed: int, seconds: float, rate: int = RATE) -> Audio:
    """A random melody over random chords with a beat: different seeds are different pieces.  Shape (samples,)."""
    rng = np.random.default_rng(seed)
    out = np.zeros(int(seconds * rate))
    for voices, low, high, shortest, longest in ((1, 60, 84, 0.12, 0.5), (3, 45, 69, 0.5, 1.6), (1, 33, 48, 0.3, 0.9)):
        at = 0
        while at < len(out):
            length = int(rng.uniform(shortest, longest) * rate)
            time = np.arange(min(length, len(out) - at)) / rate
            for _ in range(voices):
                pitch = 440 * 2 ** ((rng.integers(low, high) - 69) / 12)
                decay = np.exp(-time * rng.uniform(1, 5))
                for harmonic in range(1, 6):
                    out[at : at + len(time)] += decay * np.sin(2 * np.pi * pitch * harmonic * time) / harmonic / voices
            at += length
    out += rng.normal(0, 0.003, len(out))
    return 0.6 * out / np.abs(out).max()


def write(path: Path, audio: Audio, rate: int = RATE) -> Path:
    """Write mono 16-bit WAV."""
    with wave.open(str(path), "wb") as stream:
        stream.setnchannels(1)
        stream.setsampwidth(2)
        stream.setframerate(rate)
        stream.writeframes((np.clip(audio, -1, 1) * 32767).astype("<i2").tobytes())
    return path


def encode(source: Path, target: Path, *options: str) -> Path:
    """Encode by ffmpeg; the container follows the suffix of `target`."""
    command = [encoder(), "-nostdin", "-y", "-loglevel", "error", "-i", str(source), *options, str(target)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return target


def read(path: Path) -> Audio:
    """The samples of a mono 16-bit WAV file."""
    with wave.open(str(path), "rb") as stream:
        return np.frombuffer(stream.readframes(stream.getnframes()), "<i2") / 32767


def songs(folder: Path, seconds: float) -> Path:
    """Four pieces as FLAC in a new folder."""
    folder.mkdir()
    for number in range(4):
        wav = write(folder / "x.wav", music(10 + number, seconds))
        encode(wav, folder / f"song{number}.flac")
        wav.unlink()
    return folder


def encodings(folder: Path, seconds: float) -> dict[str, Path]:
    """One piece in several containers, by suffix; also an MP4 with its index first, and an MP3 without a count."""
    wav = write(folder / "t.wav", music(1, seconds))
    made = {suffix: encode(wav, folder / f"t.{suffix}") for suffix in ("mp3", "ogg", "opus", "flac", "m4a", "aiff")}
    faststart = encode(wav, folder / "faststart.m4a", "-movflags", "faststart")
    return {
        "wav": wav,
        **made,
        "faststart": faststart,
        "noxing": encode(wav, folder / "noxing.mp3", "-write_xing", "0"),
    }
