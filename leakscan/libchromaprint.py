"""Fingerprints from samples by the library libchromaprint, through pyacoustid's module `chromaprint`."""

from __future__ import annotations

import struct
import wave
from pathlib import Path
from typing import Any

from leakscan.model import LeakscanError

_BLOCK = 1 << 17  # samples


def load() -> Any:
    """pyacoustid's module; None where it or the library is missing, or another package has taken its name."""
    try:
        import chromaprint
    except (ImportError, OSError):
        return None
    return chromaprint if hasattr(chromaprint, "Fingerprinter") else None


def version() -> str:
    """The library's version, empty where there is none."""
    found = load()
    return "" if found is None else str(found._libchromaprint.chromaprint_get_version().decode("ascii"))


def words(samples: Path, rate: int, skip: int = 0) -> bytes:
    """The words (TEST2, little-endian uint32) of a mono WAV file of 16 bits, its first `skip` samples left out.

    `rate` is the one that the samples are declared to have, whatever the file says.  Raises `LeakscanError`.
    """
    library = load()
    if library is None:
        raise LeakscanError("libchromaprint cannot be loaded; install it, or an ffmpeg with the chromaprint muxer")
    try:
        maker = library.Fingerprinter(library.Fingerprinter.ALGORITHM_TEST2)
        maker.start(rate, 1)
        with wave.open(str(samples), "rb") as stream:
            stream.setpos(min(skip, stream.getnframes()))
            while piece := stream.readframes(_BLOCK):
                maker.feed(piece)
        found, _ = library.decode_fingerprint(maker.finish())
    except library.FingerprintError as error:
        raise LeakscanError("libchromaprint failed; install an ffmpeg with the chromaprint muxer") from error
    return struct.pack(f"<{len(found)}I", *found)
