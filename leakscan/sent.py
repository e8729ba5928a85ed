"""Judge what was really sent to a model: captured requests, held against the records of a release."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from leakscan import scanning, walk
from leakscan.discover import members
from leakscan.model import Entry, Item, Malformed, Release, Report, Unexamined, UsageError

FORMS = "JSON, JSON Lines, an HTTP archive or plain text"


def scan(setup: scanning.Setup, paths: Sequence[Path], requests: Sequence[Path], options: scanning.Options) -> Report:
    """Judge the captured `requests` against the records below `paths`, which are themselves not judged here.

    Raises `UsageError`.
    """
    if not any(spec.role == "input" for records in setup.config.records for spec in records.fields.values()):
        raise UsageError(f"{paths[0]}: declares no input fields; describe its records in leakscan.toml")
    captured = list(_captured(setup, requests))
    config = replace(setup.config, sent=(*setup.config.sent, *(entry.path for entry in captured)))
    readers = members("formats")

    def read() -> Iterator[Item | Unexamined | walk.Noted]:
        files = (
            entry
            for entry in walk.entries(setup.root, paths)
            if config.record_set(entry.path) is not None and not config.sends(entry.path)
        )
        yield from _references(walk.items(files, readers, config.declares))
        for found in walk.items(captured, readers, lambda path: False):
            if isinstance(found, walk.Noted):
                yield Unexamined(found.path, f"not {FORMS}")
            elif not _is_name(found):
                yield found

    accept = scanning.accepting(setup, options, read)
    report = scanning.judge(
        read(), Release(setup.root), config, setup.private, setup.rules, options, accept=accept, whole=False
    )
    file = scanning.shown(setup.file) if setup.file is not None else None
    size = report.examined.bytes + sum(entry.size for entry in captured if isinstance(entry, Entry))
    return replace(report, root=scanning.shown(setup.root), config=file, examined=replace(report.examined, bytes=size))


def _captured(setup: scanning.Setup, requests: Sequence[Path]) -> Iterator[Entry | Unexamined]:
    """The files of requests, those of the release called by their place in it, others so that they seem in no place.

    Raises `UsageError`.
    """
    for found in walk.listing(requests):
        real = Path(os.path.realpath(found.file)) if isinstance(found, Entry) else None
        if real is not None and real.is_relative_to(setup.root):
            path = real.relative_to(setup.root).as_posix()
            if setup.config.record_set(path) is not None and not setup.config.sends(path):
                raise UsageError(f"{path}: is a file of the release's records; name what was sent to the model")
            yield replace(found, path=path)
        else:
            yield found if found.path.startswith(("/", "../")) else replace(found, path=f"./{found.path}")


def _is_name(found: Item | Unexamined) -> bool:
    """Whether it is the name of a file of requests or of its folder: no model sees it."""
    return isinstance(found, Item) and found.kind == "file" and "!" not in found.place.path


def _references(stream: Iterator[Item | Unexamined | walk.Noted]) -> Iterator[Item | Unexamined]:
    """The records of the release, not to be judged; one that cannot be read could be what a request is about."""
    for found in stream:
        if isinstance(found, Unexamined):
            yield found
        elif isinstance(found, Item) and found.kind == "record":
            if isinstance(found.body, Malformed):
                yield Unexamined(found.place.path, f"record {found.place.record}: {found.body.reason}")
            else:
                yield replace(found, kind="reference")
