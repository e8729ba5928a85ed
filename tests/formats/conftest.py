"""Whole little audio files of every format, made once from synthetic music, with a title and an artist."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from audio_samples import ARTIST, SAMPLES, TITLE
from tunes import encode, music, write


@pytest.fixture(scope="session")
def audio(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The samples by file name."""
    folder = tmp_path_factory.mktemp("audio")
    source = write(folder / "source.wav", music(7, 0.6))
    names = ("-metadata", f"title={TITLE}", "-metadata", f"artist={ARTIST}")
    files = {}
    for name, options in ((name, options) for samples in SAMPLES.values() for name, options in samples.items()):
        files[name] = folder / name
        if isinstance(options, bytes):
            files[name].write_bytes(options)
        else:
            encode(source, files[name], *names, *options)
    return files
