"""The little audio files that the tests of the audio formats share, and how ffmpeg makes them."""

from __future__ import annotations

import io
from pathlib import Path

import mutagen.apev2
import mutagen.id3
from places import ac3, base, dsf, musepack, w64

from leakscan.model import Entry

TITLE, ARTIST = "Canary of the Title", "Canary of the Artist"


def _tag() -> bytes:
    """An APE tag, for the one format that ffmpeg does not write."""
    stream = io.BytesIO()
    tag = mutagen.apev2.APEv2()
    tag["Title"], tag["Artist"], tag["Comment"] = TITLE, ARTIST, "as ffmpeg would have written it"
    tag.save(stream)
    return stream.getvalue()


def _id3() -> bytes:
    """An ID3v2 tag, for another."""
    stream = io.BytesIO()
    tag = mutagen.id3.ID3()
    tag.add(mutagen.id3.TIT2(3, [TITLE]))
    tag.add(mutagen.id3.TPE1(3, [ARTIST]))
    tag.save(stream, padding=lambda info: 0)
    return stream.getvalue()


# format: file name and options of ffmpeg, or the bytes where it has no encoder; a new audio format needs a line here
SAMPLES: dict[str, dict[str, tuple[str, ...] | bytes]] = {
    "mpeg": {
        "cbr.mp3": ("-b:a", "64k"),
        "vbr.mp3": ("-q:a", "4"),
        "bare.mp3": ("-b:a", "64k", "-write_xing", "0", "-id3v2_version", "3"),
        "eight-kilohertz.mp3": ("-b:a", "24k", "-ar", "8000"),
        "layer-two.mp2": ("-b:a", "96k", "-ar", "44100", "-f", "mp3"),
    },
    "flac": {"plain.flac": (), "wide.flac": ("-sample_fmt", "s32", "-ar", "96000")},
    "ogg": {"vorbis.ogg": ("-c:a", "libvorbis"), "opus.opus": (), "flac.oga": ("-c:a", "flac")},
    "mp4": {
        "aac.m4a": (),
        "alac.m4a": ("-c:a", "alac"),
        "start.m4a": ("-movflags", "+faststart"),
        "pieces.mp4": ("-movflags", "frag_keyframe+empty_moov"),
        "quicktime.mov": (),
    },
    "riff": {"info.wav": (), "long.wav": ("-rf64", "always"), "adpcm.wav": ("-c:a", "adpcm_ms")},
    "aiff": {"text.aiff": ("-metadata", f"author={ARTIST}"), "id3.aif": ("-write_id3v2", "1")},
    "adts": {"id3.aac": ("-write_id3v2", "1")},
    "caf": {"info.caf": (), "lossless.caf": ("-c:a", "alac")},
    "au": {"annotation.au": ("-metadata", f"author={ARTIST}")},
    "w64": {"info.w64": w64.described(base("mono.w64", w64.BASES["mono.w64"]), {b"INAM": TITLE, b"IART": ARTIST})},
    "dsf": {"id3.dsf": dsf.tagged(base("mono.dsf", dsf.BASES["mono.dsf"]), _id3())},
    "matroska": {
        "vorbis.mka": ("-c:a", "libvorbis"),
        "opus.webm": ("-c:a", "libopus"),
        "aac.mkv": ("-c:a", "aac"),
        "live.webm": ("-c:a", "libopus", "-live", "1"),
    },
    "asf": {"two.wma": ("-c:a", "wmav2"), "one.wma": ("-c:a", "wmav1")},
    "ac3": {"id3.ac3": _id3() + base("mono.ac3", ac3.BASES["mono.ac3"])},
    "wavpack": {"ape.wv": (), "float.wv": ("-sample_fmt", "fltp")},
    "tta": {"ape.tta": ()},
    "musepack": {"ape.mpc": musepack.stream() + _tag()},
}


def entry(data: bytes, path: str = "audio/x.bin") -> Entry:
    """A member with these bytes."""
    return Entry(path, Path(path), len(data), data)
