"""What was found on this machine: one page that says what works, what is missing and what to do about it."""

from __future__ import annotations

import ctypes.util
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from leakscan import config, discover, media
from leakscan.model import VERSION, LeakscanError

State = Literal["ok", "absent", "warning", "missing"]

# Whose import name is whose: other distributions install the same name and overwrite the files of the first.
_OWNERS = {"leakscan": "leakscan-audio", "ffmpeg": "ffmpeg-python", "chromaprint": "pyacoustid"}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was looked for.  `absent` is fine, `warning` worth a look, `missing` makes leakscan unusable."""

    what: str
    state: State
    detail: str


def diagnose() -> tuple[Row, ...]:
    """Look at this machine; nothing is changed and no dependency is imported."""
    return (*_interpreter(), *_dependencies(), *_namesakes(), *_ffmpeg(), *_chromaprint(), *_parts())


def status(rows: Sequence[Row]) -> int:
    """The exit status: 0 when leakscan is usable, else 3."""
    return 3 if any(row.state == "missing" for row in rows) else 0


def page(rows: Sequence[Row]) -> str:
    """The rows as plain text, with the verdict below."""
    width = max(len(row.what) for row in rows)
    lines = [f"{row.what:{width}}  {row.state:7}  {row.detail}" for row in rows]
    missing = [row.what for row in rows if row.state == "missing"]
    verdict = f"not usable yet, missing: {', '.join(missing)}" if missing else "ready"
    return "\n".join([*lines, "", f"leakscan is {verdict}", ""])


def _interpreter() -> Iterator[Row]:
    state: State = "ok" if sys.version_info >= (3, 11) else "missing"
    yield Row("Python", state, f"{platform.python_version()}, {sys.executable}; 3.11 or newer is needed")
    yield Row("system", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}")


def _dependencies() -> Iterator[Row]:
    try:
        requires = metadata.requires("leakscan-audio") or []
    except metadata.PackageNotFoundError:
        yield Row("leakscan", "warning", f"{VERSION}, from a checkout that is not installed; run pip install -e .")
        return
    yield Row("leakscan", "ok", VERSION)
    for requirement in requires:
        name, extra = _requirement(requirement)
        if extra in ("dev", "all"):
            continue
        try:
            yield Row(name, "ok", metadata.version(name))
        except metadata.PackageNotFoundError:
            if extra:
                yield Row(name, "absent", f"optional; pip install 'leakscan-audio[{extra}]'")
            else:
                yield Row(name, "missing", f"pip install '{requirement}'")


def _requirement(text: str) -> tuple[str, str]:
    """The distribution that a requirement names, and the extra it belongs to (empty for a hard dependency)."""
    name = re.match(r"[\w.-]+", text)
    extra = re.search(r"extra == ['\"]([\w-]+)['\"]", text)
    return name[0] if name else text, extra[1] if extra else ""


def _namesakes() -> Iterator[Row]:
    present = {_normal(found.metadata["Name"] or "") for found in metadata.distributions()}
    if "leakscan" in present:
        yield Row(
            "leakscan (other)",
            "warning",
            "another tool, the distribution leakscan, is installed too and may own the command leakscan; "
            "use leakscan-audio, or a virtual environment of its own",
        )
    providers = metadata.packages_distributions()
    for package, owner in _OWNERS.items():
        others = {_normal(name) for name in providers.get(package, ())} - {owner, "leakscan"}
        for other in sorted(others):
            yield Row(
                other,
                "warning",
                f"installs the import package {package} as {owner} does; "
                f"pip uninstall {other}, then pip install --force-reinstall {owner}",
            )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _ffmpeg() -> Iterator[Row]:
    chosen = None
    try:
        chosen = media.find_ffmpeg()
    except LeakscanError as error:
        yield Row("ffmpeg", "missing", str(error))
    for source, path, verdict in media.candidates():
        if chosen is not None and source == chosen.source:
            how = "in use" if chosen.muxer else "in use, its samples go into libchromaprint"
            yield Row(f"ffmpeg ({source})", "ok", f"{path}: {verdict}; {how}")
        else:
            yield Row(f"ffmpeg ({source})", "absent", verdict if path is None else f"{path}: {verdict}; not in use")


def _chromaprint() -> Iterator[Row]:
    places = {"fpcalc": shutil.which("fpcalc"), "libchromaprint": ctypes.util.find_library("chromaprint")}
    for what, where in places.items():
        yield Row(what, "ok" if where else "absent", where or "not needed: ffmpeg computes the fingerprints")


def _parts() -> Iterator[Row]:
    folder = config.rules_folder()
    rules = len(list(folder.glob("*.toml")))
    if rules:
        yield Row("rules", "ok", f"{rules} in {folder}")
    else:
        yield Row("rules", "missing", f"none in {folder}; install leakscan-audio again")
    profiles = sorted(path.stem for path in (folder / "profiles").glob("*.toml"))
    yield Row("profiles", "ok" if profiles else "warning", ", ".join(profiles) or f"none in {folder / 'profiles'}")
    for package in ("formats", "checks", "reports"):
        names = discover.names(package)
        yield Row(package, "ok" if names else "missing", ", ".join(names) or "none; install leakscan-audio again")
