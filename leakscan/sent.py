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
    captured = list(_captured(setup.root, requests))
    for entry in captured:
        if setup.config.record_set(entry.path) is not None:
            raise UsageError(f"{entry.path}: is a file of the release's records; name what was sent to the model")
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
            yield Unexamined(found.path, f"not {FORMS}") if isinstance(found, walk.Noted) else found

    accept = scanning.accepting(setup, options, read)
    report = scanning.judge(
        read(), Release(setup.root), config, setup.private, setup.rules, options, accept=accept, whole=False
    )
    file = scanning.shown(setup.file) if setup.file is not None else None
    return replace(report, root=scanning.shown(setup.root), config=file)


def _captured(root: Path, requests: Sequence[Path]) -> Iterator[Entry | Unexamined]:
    """The files of requests, called as they were given, those of the release by their place in it."""
    for found in walk.listing(requests):
        real = Path(os.path.realpath(found.file)) if isinstance(found, Entry) else None
        if real is not None and real.is_relative_to(root):
            yield replace(found, path=real.relative_to(root).as_posix())
        else:
            yield found


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
