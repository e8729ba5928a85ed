"""What ffmpeg said is read line by line, and nothing that a file holds can pass for it."""

from __future__ import annotations

import io

from leakscan.transcripts import Transcript


def test_the_rest_of_a_long_line_cannot_pass_for_a_message() -> None:
    said = Transcript()
    start = b"[info]     title : "
    said.read(io.BytesIO(start + b"x" * (4096 - len(start)) + b"[error] made up\n[error] true\n"))
    assert said.errors == ["true"]
