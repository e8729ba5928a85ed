"""A releasable copy: records projected onto the declared schema, audio under neutral names; the mapping kept apart."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import json
import os
import posixpath
import random
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from leakscan import scanning, tags, walk
from leakscan.config import Config, FieldSpec, RecordSet, compile_pattern, fill, is_segment
from leakscan.discover import members
from leakscan.model import (
    Entry,
    Item,
    LeakscanError,
    Malformed,
    Place,
    Private,
    Release,
    Report,
    Unreadable,
    UsageError,
    child_name,
    value_at,
)

TAGS_ONLY = "tags only, not certified"


@dataclass(frozen=True, slots=True)
class _Copied:
    """One file of the copy."""

    old: str
    new: str
    sha256_old: str
    sha256_new: str
    audio: bool


def clean(
    source: Path,
    out: Path,
    config: str | Path | None = None,
    *,
    private: str | Path | None = None,
    mapping: str | Path | None = None,
) -> Report:
    """Write a releasable copy of the release `source` to the new folder `out` and judge it.

    Copied are declared records, the audio they refer to and the files that `[files] allow` names; the report is that
    of a scan of the copy, `noted` lists what stayed behind.  `source` is not changed; `out` appears whole or not at
    all.  Raises `UsageError`, and `Unreadable` when a declared record or its audio cannot be read.
    """
    if not source.is_dir():
        raise UsageError(f"{source}: is not a folder; name the release's folder")
    setup = scanning.prepare([source], config, private)
    if setup.root != source.resolve():
        raise UsageError(f"{source}: the release root is {setup.root}; clean the whole release")
    mapping = Path(mapping) if mapping is not None else None
    _check_places(setup.root, out, mapping)
    try:
        copied, left = _write(setup, source, out, mapping)
    except OSError as error:
        raise LeakscanError(f"{out}: cannot be written ({error.strerror}); nothing is left of the copy") from error
    return _report(setup, out, copied, left)


def _write(setup: scanning.Setup, source: Path, out: Path, mapping: Path | None) -> tuple[list[_Copied], list[str]]:
    """Write the copy, then the mapping, then give the copy its name; on failure neither is left."""
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, scratch, ignore_errors=True)
        copied, left = _Copy(setup.root, scratch, setup.config, setup.private).write()
        renamed = sum(file.old != file.new for file in copied)
        if renamed and mapping is None:
            raise UsageError(f"{source}: {renamed} audio files get new names; keep track of them with --mapping FILE")
        if mapping is not None:
            _write_mapping(mapping, copied)
            undo.callback(mapping.unlink)
        scratch.chmod(0o755)
        os.rename(scratch, out)
        undo.pop_all()
    return copied, left


def _check_places(root: Path, out: Path, mapping: Path | None) -> None:
    if os.path.lexists(out):
        raise UsageError(f"{out}: exists already; name a new folder")
    target = out.resolve()
    if target.is_relative_to(root) or root.is_relative_to(target):
        raise UsageError(f"{out}: lies inside the release (or holds it); name a folder elsewhere")
    if mapping is None:
        return
    place = mapping.resolve()
    if os.path.lexists(mapping) or not mapping.parent.is_dir():
        raise UsageError(f"{mapping}: exists already, or its folder does not; name a new file")
    if place.is_relative_to(root) or place.is_relative_to(target):
        raise UsageError(f"{mapping}: the mapping names what the copy hides; keep it outside both folders")
    if any((folder / ".git").exists() for folder in place.parents):
        raise UsageError(f"{mapping}: lies in a repository, where it would be published; keep it elsewhere")


class _Copy:
    """Writes the copy of one release into an empty folder."""

    def __init__(self, root: Path, out: Path, config: Config, private: Private) -> None:
        self._root = root
        self._out = out
        self._config = config
        self._private = private
        self._release = Release(root)
        self._readers = members("formats")
        self._copied: dict[str, _Copied] = {}  # by new path
        self._names: dict[str, str] = {}  # the new path of every audio file that has one

    def write(self) -> tuple[list[_Copied], list[str]]:
        """Write everything; what was copied, and the paths of what stayed behind."""
        entries: list[Entry] = []
        left: list[str] = []
        for found in walk.entries(self._root, [self._root]):
            if isinstance(found, Entry):
                entries.append(found)
            else:
                left.append(found.path)
        chosen = {entry.path: self._reader(entry) for entry in entries}
        # in the order of their declaration: the first record that refers to a file gives it its name
        sets = [
            (entry, records)
            for records in self._config.records
            for entry in entries
            if self._config.record_set(entry.path) is records
        ]
        audio = [entry for entry in entries if _is_audio(chosen[entry.path])]
        if not sets:
            self._only_audio(entries, chosen, audio)
        numbered = self._numbered(audio)
        for entry, records in sets:
            reader = chosen[entry.path]
            if reader is None or _is_audio(reader) or not hasattr(reader, "write"):
                raise Unreadable(f"{entry.path}: is declared as records, but is no record file leakscan can read")
            self._records(entry, records, reader, numbered)
        done = {file.old for file in self._copied.values()}
        for entry in entries:
            if self._config.declares(entry.path) and entry.path not in done:
                if _is_audio(chosen[entry.path]):
                    self._audio(entry, entry.path, entry.path)
                else:
                    self._file(entry)
        done = {file.old for file in self._copied.values()}
        left += [entry.path for entry in entries if entry.path not in done]
        return sorted(self._copied.values(), key=lambda file: file.old), sorted(left)

    def _reader(self, entry: Entry) -> ModuleType | None:
        """The reader that claims the file; a file that cannot be opened stays behind, or is missed by a record."""
        try:
            with entry.open() as stream:
                return walk.choose(entry, stream.read(walk.HEAD_BYTES), self._readers)
        except (Unreadable, OSError):
            return None

    def _only_audio(self, entries: list[Entry], chosen: Mapping[str, ModuleType | None], audio: list[Entry]) -> None:
        stray = [entry.path for entry in entries if _holds_records(chosen[entry.path])]
        if stray:
            raise UsageError(f"{self._root}: declares no record set; describe its records in leakscan.toml")
        if not audio:
            raise UsageError(f"{self._root}: holds neither declared records nor audio; there is nothing to clean")
        numbered = self._numbered(audio)
        for entry in audio:
            self._audio(entry, numbered[entry.path], str(self._root))

    def _numbered(self, audio: list[Entry]) -> dict[str, str]:
        """A number for every audio file, in an order that tells nothing: keyed by the secret, else random."""
        secret = self._private.secret
        if secret is None:
            order = random.SystemRandom().sample(audio, len(audio))
        else:
            order = sorted(audio, key=lambda entry: hmac.digest(secret, os.fsencode(entry.path), "sha256"))
        width = max(5, len(str(len(audio))))
        return {entry.path: f"audio/{number:0{width}d}{_suffix(entry.path)}" for number, entry in enumerate(order, 1)}

    def _records(self, entry: Entry, records: RecordSet, reader: ModuleType, numbered: Mapping[str, str]) -> None:
        target = self._target(entry.path)
        with target.open("xb") as stream:
            reader.write(self._projected(entry, records, reader, numbered), stream, entry)
        self._done(entry, entry.path, target)

    def _projected(
        self, entry: Entry, records: RecordSet, reader: ModuleType, numbered: Mapping[str, str]
    ) -> Iterator[Item]:
        """The records with their declared fields only, audio references rewritten."""
        for item in reader.read(entry):
            if not isinstance(item, Item):  # audio inside a value: it goes or stays with its field
                continue
            where = f"{entry.path}: record {item.place.record}"
            if isinstance(item.body, Malformed):
                raise Unreadable(f"{where} cannot be parsed ({item.body.reason}); repair it first")
            if not isinstance(item.body, Mapping):
                raise Unreadable(f"{where} is no object with fields; mend it or leave its file out")
            body = project(item.body, records.fields)
            record_id = value_at(body, records.id_path) if records.id_path is not None else None
            for name, spec in records.fields.items():
                if spec.type == "path" and self._config.audio == "published":
                    change = functools.partial(self._reference, entry, where, spec, body, record_id, numbered)
                    body = _rewrite(body, name, change)
            yield replace(item, body=body)

    def _reference(
        self,
        base: Entry,
        where: str,
        spec: FieldSpec,
        body: Any,
        record_id: str | None,
        numbered: Mapping[str, str],
        value: str,
    ) -> str:
        """Copy the audio that a record means by `value`; what the record of the copy says instead."""
        entry = self._release.find(base.path, value)
        if entry is None:
            if spec.exists:
                raise Unreadable(f"{where} refers to a file that is not there; repair the reference first")
            return value
        if spec.template is not None:
            new = fill(spec.template, body)
            if new is None or _suffix(new) != _suffix(entry.path):
                raise Unreadable(
                    f"{where}: the template of its path does not fit its file; mend the template or the file"
                )
        else:
            new = self._names.setdefault(
                entry.path, _neutral(entry, spec, record_id) or numbered.get(entry.path, entry.path)
            )
        new = posixpath.normpath(new)
        self._audio(entry, new, where)
        from_root = posixpath.normpath(value) == entry.path
        return new if from_root or spec.template is not None else posixpath.relpath(new, posixpath.dirname(base.path))

    def _audio(self, entry: Entry, new: str, where: str) -> None:
        """Copy one audio file and delete the tags of the copy.  Errors say `where`: its name may tell something."""
        known = self._copied.get(new)
        if known is not None:
            if known.old != entry.path:
                raise Unreadable(f"{where}: another file is already called like its audio; make the template unique")
            return
        reader = self._reader(entry)
        if reader is None or not _is_audio(reader):
            raise Unreadable(f"{where} refers to a file that is no audio leakscan can read")
        target = self._copy(entry, new)
        try:
            tags.delete_tags(target, next(iter(reader.read(entry))).body.container)
            next(iter(reader.read(Entry(new, target, target.stat().st_size))))  # is it still whole?
        except Unreadable as error:
            reason = str(error).removeprefix(f"{entry.path}: ").removeprefix(f"{new}: ").removeprefix(f"{target}: ")
            raise Unreadable(f"{where}: its audio cannot be cleaned ({reason})") from error
        self._done(entry, new, target, audio=True)

    def _file(self, entry: Entry) -> None:
        if entry.path not in self._copied:  # else it is left behind: a copy has its name
            self._done(entry, entry.path, self._copy(entry, entry.path))

    def _copy(self, entry: Entry, new: str) -> Path:
        target = self._target(new)
        with entry.open() as stream, target.open("xb") as out:
            shutil.copyfileobj(stream, out)
        return target

    def _done(self, entry: Entry, new: str, target: Path, audio: bool = False) -> None:
        with target.open("rb+") as stream:
            os.fsync(stream.fileno())
        self._copied[new] = _Copied(entry.path, new, _sha256(entry.file), _sha256(target), audio)

    def _target(self, path: str) -> Path:
        """Where `path` of the copy goes; it never leaves the copy."""
        target = Path(os.path.normpath(self._out / path))
        if not target.is_relative_to(self._out):
            raise UsageError(f"{path}: leads out of the copy; mend the template or the reference")
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


def _suffix(path: str) -> str:
    return posixpath.splitext(path)[1].lower()


def _neutral(entry: Entry, spec: FieldSpec, record_id: str | None) -> str | None:
    """A name made of the record's ID, which the record states anyway, if the declared pattern allows it."""
    if record_id is None or not is_segment(str(record_id)):
        return None
    name = f"audio/{record_id}{_suffix(entry.path)}"
    return name if spec.pattern is not None and compile_pattern(spec.pattern, name).fullmatch(name) else None


def _is_audio(reader: ModuleType | None) -> bool:
    return getattr(reader, "AUDIO", False)


def _holds_records(reader: ModuleType | None) -> bool:
    """Whether a reader is one of records; prose and code stay behind in silence."""
    prose = getattr(reader, "PROSE", False) or not getattr(reader, "RECORDS", True)
    return reader is not None and not _is_audio(reader) and not prose


def project(body: Any, fields: Mapping[str, Any]) -> Any:
    """`body` with its declared leaves only; `fields` holds their JSON paths (`$.choices[]`)."""
    ancestors = {"$"}
    for name in fields:
        ancestors.update(name[:index] for index, character in enumerate(name) if character in ".[")
    return _project(body, "$", fields, ancestors)


def _project(value: Any, name: str, fields: Mapping[str, Any], ancestors: set[str]) -> Any:
    if isinstance(value, Mapping):
        children = ((key, child_name(name, key), child) for key, child in value.items())
        return {key: _project(child, path, fields, ancestors) for key, path, child in children
                if _kept(child, path, fields, ancestors)}  # fmt: skip
    if isinstance(value, list):
        element = f"{name}[]"
        kept = (child for child in value if _kept(child, element, fields, ancestors))
        return [_project(child, element, fields, ancestors) for child in kept]
    return value


def _kept(value: Any, name: str, fields: Mapping[str, Any], ancestors: set[str]) -> bool:
    return name in ancestors if isinstance(value, Mapping | list) else name in fields


def _rewrite(body: Any, name: str, change: Any, at: str = "$") -> Any:
    """`body` with `change` applied to the text at the JSON path `name`."""
    if isinstance(body, Mapping):
        return {key: _rewrite(child, name, change, child_name(at, key)) for key, child in body.items()}
    if isinstance(body, list):
        return [_rewrite(child, name, change, f"{at}[]") for child in body]
    return change(body) if at == name and isinstance(body, str) else body


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write_mapping(mapping: Path, copied: list[_Copied]) -> None:
    """The private record of old and new names and digests, mode 0600; it appears whole or not at all."""
    document = {"leakscan_mapping": 1, "audio": TAGS_ONLY, "files": [
        {"old": file.old, "new": file.new, "sha256_old": file.sha256_old, "sha256_new": file.sha256_new}
        for file in copied
    ]}  # fmt: skip
    handle, name = tempfile.mkstemp(prefix=f".{mapping.name}-", dir=mapping.parent)  # mkstemp's mode is 0600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            json.dump(document, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, mapping)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _report(setup: scanning.Setup, out: Path, copied: list[_Copied], left: list[str]) -> Report:
    """The scan of the copy, with what stayed behind (under names that tell nothing)."""
    report = scanning.examine(replace(setup, root=Path(os.path.realpath(out))), [out])
    known: set[str] = set()
    stream: list[Any] = [item for path in left for item in walk.folders(path, known)]
    stream += [Item(Place(path), "file") for path in left]
    stream += [walk.Noted(path) for path in left]
    names = scanning.judge(
        stream, Release(setup.root), setup.config, setup.private, setup.rules, scanning.Options("never")
    )
    summary = {
        "files copied": len(copied),
        "files renamed": sum(file.old != file.new for file in copied),
        "files left behind": len(left),
    }
    audio = sum(file.audio for file in copied)
    notes = [*report.notes, f"written to {out}"]
    notes += [f"{audio} audio files: {TAGS_ONLY}"] if audio else []
    notes += [f"{len(left)} files stayed behind: no record set, reference or [files] allow names them"] if left else []
    notes += ["findings are left in the copy: do not publish it yet"] if report.status == 1 else []
    return replace(report, noted=names.noted, notes=tuple(notes), summary=summary)
