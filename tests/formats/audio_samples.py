"""The little audio files that the tests of the audio formats share, and how ffmpeg makes them."""

from __future__ import annotations

from pathlib import Path

from leakscan.model import Entry

TITLE, ARTIST = "Canary of the Title", "Canary of the Artist"

# format: file name and options of ffmpeg; a new audio format needs at least one line here
SAMPLES: dict[str, dict[str, tuple[str, ...]]] = {
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
}


def entry(data: bytes, path: str = "audio/x.bin") -> Entry:
    """A member with these bytes."""
    return Entry(path, Path(path), len(data), data)
