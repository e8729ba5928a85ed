"""Every hiding place of every container: it is found, it is gone from the clean copy, and the sound is the same."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from types import ModuleType

import places
import pytest
from audio_samples import entry
from encoder import encoder

from leakscan import ledgers
from leakscan.discover import members
from leakscan.model import EXTRAS, Ledger, Tags

FORMATS = members("formats")
CONTAINERS = places.containers()
BASES = [(container, name) for container, module in CONTAINERS.items() for name in module.BASES]
KINDS = {"payload", "structure", "padding", *EXTRAS}

every_base = pytest.mark.parametrize(("container", "name"), BASES, ids=lambda value: value)


def account(module: ModuleType, data: bytes) -> Ledger:
    found: Ledger = module.account(io.BytesIO(data))
    assert [part.start for part in found.parts] == [0, *(part.end for part in found.parts[:-1])]
    assert found.size == len(data)
    assert {part.kind for part in found.parts} <= KINDS
    return found


def strip(module: ModuleType, data: bytes) -> bytes:
    out = io.BytesIO()
    ledgers.write(io.BytesIO(data), account(module, data), out)
    return out.getvalue()


def told(module: ModuleType, data: bytes) -> set[str]:
    """The names of what a scan is told about."""
    body = next(iter(module.read(entry(data)))).body
    assert isinstance(body, Tags)
    return {f"tag {name}" for name, _ in body.tags} | {f"block {name}" for name, _ in body.blocks}


def digest(module: ModuleType, data: bytes) -> str:
    return ledgers.payload_digest(io.BytesIO(data), account(module, data))


def test_every_audio_format_has_hiding_places() -> None:
    assert {name for name, module in FORMATS.items() if getattr(module, "AUDIO", False)} <= set(CONTAINERS)


@every_base
def test_what_hides_is_found_and_gone(container: str, name: str) -> None:
    module = FORMATS[container]
    base = places.base(name, CONTAINERS[container].BASES[name])
    clean = strip(module, base)
    wrong = []
    count = 0
    for place in CONTAINERS[container].places(name, base):
        count += 1
        try:
            wrong += [f"{place.name}: {what}" for what in _violations(module, place, clean)]
        except Exception as error:
            wrong.append(f"{place.name}: {type(error).__name__}: {error}")
    assert count, "a base without hiding places"
    assert wrong == []


def _violations(module: ModuleType, place: places.Place, clean: bytes) -> list[str]:
    wrong = []
    if place.canary is not None and not places.found(place.canary, place.data):
        wrong.append("holds no canary")
    if not module.sniff(place.data[:4096]):
        wrong.append("not recognised")
    if not told(module, place.data):
        wrong.append("nothing is told")
    result = strip(module, place.data)
    if place.canary is not None and (form := places.found(place.canary, result)):
        wrong.append(f"the canary is left, {form}")
    if place.alike and result != clean:
        wrong.append(f"cleans to other bytes than the base ({len(result)} against {len(clean)})")
    if extras := [part.name for part in account(module, result).extras] + list(account(module, result).bits):
        wrong.append(f"left in the clean copy: {extras}")
    if still := told(module, result):
        wrong.append(f"told of the clean copy: {sorted(still)}")
    if strip(module, result) != result:
        wrong.append("cleaning twice differs from cleaning once")
    before, after = account(module, place.data), account(module, result)
    if before.parameters != after.parameters:
        wrong.append(f"decoder parameters change: {before.parameters} -> {after.parameters}")
    if hasattr(module, "read_back") and module.read_back(io.BytesIO(result), ledgers.Seen(before)) != after:
        wrong.append("what was seen in the source makes a difference to what is found in the copy")
    if digest(module, place.data) != digest(module, result):
        wrong.append("the payload changes")
    return wrong


@every_base
def test_the_sound_stays(container: str, name: str, tmp_path: Path) -> None:
    """The decoder's word for it: the same samples, as many of them."""
    base = places.base(name, CONTAINERS[container].BASES[name])
    clean = strip(FORMATS[container], base)
    assert len(clean) <= len(base)
    samples = decode(tmp_path / f"base-{name}", base)
    assert len(samples) > 2 * 8000 * places.SECONDS
    assert decode(tmp_path / f"clean-{name}", clean) == samples


def decode(file: Path, data: bytes) -> bytes:
    file.write_bytes(data)
    source = ["-i", f"file:{file}", "-map", "0:a:0"]
    # ffmpeg 5.1 passes over the edit list of pieces with an index (sidx), so the newer one has the word.
    argv = [encoder(), "-nostdin", "-v", "error", *source, "-f", "s32le", "pipe:1"]
    return subprocess.run(argv, capture_output=True, check=True).stdout
