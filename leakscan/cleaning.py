"""A releasable copy: records projected onto the declared schema, audio under neutral names; the mapping kept apart."""

from __future__ import annotations

import functools
import hashlib
import os
import posixpath
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, NamedTuple

from leakscan import accounts, crew, mapping, media, naming, scanning, stripping, walk, workplace
from leakscan.config import Config, FieldSpec, RecordSet, dump, fill
from leakscan.discover import members
from leakscan.mapping import Copied
from leakscan.model import (
    VERSION,
    Beside,
    Entry,
    Item,
    LeakscanError,
    Ledger,
    Malformed,
    Place,
    Release,
    Report,
    Tags,
    Unreadable,
    UsageError,
    value_at,
)
from leakscan.projection import project, rewrite
from leakscan.text import counted, is_audio_name

FLAC = "flac"
TRANSCODED = ""
"""In place of the name of a format: the file becomes FLAC."""
VERDICTS = {
    "equal": "under ffmpeg, {} audio files have the samples that they had",
    "gapless": "under ffmpeg, {} audio files have more or fewer samples at the start or end than before (gapless "
    "playback changes)",
    "differs": "under ffmpeg, {} audio files have other samples than before: it took junk in their sources for sound, "
    "or lost its place there",
    "not decodable": "under ffmpeg, {} audio files cannot be compared, since it refuses source or copy",
    "recounted": "{} audio files counted other frames than they have; players may now cut them at another place "
    "(gapless playback changes; --check-pcm tells)",
}
LISTED = 10
"""How many files a message names."""


@dataclass(frozen=True, slots=True)
class Options:
    """How audio is cleaned.

    `check_pcm`: ask ffmpeg, too, whether the samples stay.  `transcode`: lossless files that cannot be cleaned as they
    are become FLAC.
    """

    check_pcm: bool = False
    transcode: bool = False


class Done(NamedTuple):
    """How far the audio is: one more file of so many, and its bytes of so many."""

    files: int
    of_files: int
    bytes: int
    of_bytes: int


@dataclass(frozen=True, slots=True)
class Job:
    """One audio file to be cleaned, for a worker.

    `where` is what messages call it, since its name may tell something; with `TRANSCODED` it becomes FLAC; `known` is
    what an earlier run made of it.
    """

    entry: Entry
    new: str
    where: str
    target: Path
    format: str
    options: Options
    known: Copied | None


def clean(
    source: Path,
    out: Path,
    config: str | Path | None = None,
    *,
    private: str | Path | None = None,
    mapping_file: Path | None = None,
    options: Options = Options(),
    tell: Callable[[Done], None] = lambda done: None,
) -> Report:
    """Write a releasable copy of the release `source` to the new folder `out` and judge it.

    Copied are declared records, the audio they refer to and the files that `[files] allow` names; the report is that
    of a scan of the copy, `noted` lists what stayed behind.  `source` is not changed; `out` appears whole or not at
    all; a run that was killed is taken up by the next.  `tell` is called after every audio file.

    Raises `UsageError`, `Unreadable` when a declared record or audio cannot be read or cleaned, and `LeakscanError`
    when the copy cannot be written.
    """
    if not source.is_dir():
        raise UsageError(f"{source}: is not a folder; name the release's folder")
    setup = scanning.prepare([source], config, private)
    if setup.root != source.resolve():
        raise UsageError(f"{source}: the release root is {setup.root}; clean the whole release")
    key = _key(setup, options)
    _check_places(setup.root, out, mapping_file, key)
    try:
        with workplace.opened(out, key) as work:
            plan = _Plan(setup, work, options)
            plan.make()
            if mapping_file is None and (renamed := sum(job.entry.path != job.new for job in plan.jobs)):
                raise UsageError(
                    f"{source}: {renamed} audio files get new names; keep track of them with --mapping FILE"
                )
            copied = sorted([*plan.written, *_stripped(plan.jobs, work, tell)], key=lambda file: file.old)
            work.publish(out, [file.new for file in copied], mapping_file, mapping.dump(copied))
    except OSError as error:
        kept = "finished files are kept for the next run" if workplace.place(out, key).exists() else "nothing is left"
        raise LeakscanError(f"{out}: cannot be written ({error.strerror}); {kept}") from error
    return _report(setup, out, copied, plan.left)


def _key(setup: scanning.Setup, options: Options) -> str:
    """What tells this run from others that would make another copy."""
    secret = hashlib.sha256(setup.private.secret or b"").hexdigest()
    parts = (VERSION, os.fspath(setup.root), dump(setup.config), secret, repr(options))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _check_places(root: Path, out: Path, mapping_file: Path | None, key: str) -> None:
    if os.path.lexists(out):
        workplace.tidy(out, key)
        raise UsageError(f"{out}: exists already; name a new folder")
    target = out.resolve()
    if target.is_relative_to(root) or root.is_relative_to(target):
        raise UsageError(f"{out}: lies inside the release (or holds it); name a folder elsewhere")
    if mapping_file is not None:
        mapping.check_place(mapping_file, root, target, written=workplace.staged(out, key))


# --- audio, in all cores ---------------------------------------------------------------------------------------------


def _stripped(jobs: Sequence[Job], work: workplace.Workplace, tell: Callable[[Done], None]) -> Iterator[Copied]:
    """Clean all audio files.  Raises `Unreadable` for those that cannot be, when all have been tried."""
    refused: list[tuple[str, str]] = []
    of_bytes = sum(job.entry.size for job in jobs)
    done = Done(0, len(jobs), 0, of_bytes)
    if any(job.options.check_pcm or job.format == TRANSCODED for job in jobs):
        media.ready()  # once, not in every worker
    accounts.load(_formats()[job.format or FLAC] for job in jobs)
    for job, result in crew.everywhere(_do, jobs):
        done = done._replace(files=done.files + 1, bytes=done.bytes + job.entry.size)
        tell(done)
        if isinstance(result, Copied):
            work.note(result)
            yield result
        else:
            refused.append((job.where, result))
    if refused:
        refused.sort()
        listed = "; ".join(f"{where}: its audio cannot be cleaned ({reason})" for where, reason in refused[:LISTED])
        more = f"; and {len(refused) - LISTED} more" if len(refused) > LISTED else ""
        raise Unreadable(f"{listed}{more}")


def _do(job: Job) -> Copied | str:
    """Clean one audio file; why not, if it cannot be.  Raises `OSError` when nothing can be written."""
    if job.known is not None and _holds(job, job.known):
        return job.known
    try:
        readers = _formats()
        if job.format == TRANSCODED:
            done = stripping.transcode(job.entry, job.target, readers[FLAC])
        else:
            done = stripping.strip(job.entry, job.target, readers[job.format], check_pcm=job.options.check_pcm)
    except Unreadable as error:
        return str(error).removeprefix(f"{job.entry.path}: ")
    except (OSError, LeakscanError):
        raise
    except Exception as error:  # a hostile file must not end the run with a traceback
        return f"internal error: {type(error).__name__}; please report it"
    return Copied(job.entry.path, job.new, done.before.sha256, done.after.sha256, done.document())


@functools.cache
def _formats() -> Mapping[str, ModuleType]:
    """All formats; a worker need not look for them anew for each file."""
    return members("formats")


def _holds(job: Job, known: Copied) -> bool:
    """Whether what an earlier run made of a file is there, and the file still the same."""
    try:
        return (
            known.old == job.entry.path
            and known.sha256_new == accounts.sha256(job.target)
            and known.sha256_old == accounts.sha256(job.entry.file)
        )
    except OSError:
        return False


# --- what is copied --------------------------------------------------------------------------------------------------


class _Plan:
    """Writes the records and other files of a copy; finds out which audio it needs, under which names.

    `written` are the files that are there, `jobs` the audio to clean, `left` the paths of what stays behind.
    """

    def __init__(self, setup: scanning.Setup, work: workplace.Workplace, options: Options) -> None:
        self.written: list[Copied] = []
        self.jobs: list[Job] = []
        self.left: list[str] = []
        self._root = setup.root
        self._config: Config = setup.config
        self._work = work
        self._options = options
        self._key = setup.private.secret or work.seed
        self._release = Release(setup.root)
        self._readers = members("formats")
        self._formats = {module: name for name, module in self._readers.items()}
        self._chosen: Mapping[str, ModuleType | None] = {}  # the readers that claim the files
        self._ways: dict[str, tuple[str | None, str]] = {}
        self._taken: dict[str, str] = {}  # new path -> old path
        self._names: dict[str, str] = {}  # the new path of every audio file that has one
        self._bare: list[tuple[str, str, str, str]] = []  # which record, its file, the name it has, the new path

    def make(self) -> None:
        """Write what is no audio.  Raises `UsageError`, `Unreadable`, `OSError`."""
        entries: list[Entry] = []
        for found in walk.entries(self._root, [self._root]):
            if isinstance(found, Entry):
                entries.append(found)
            else:
                self.left.append(found.path)
        chosen = self._chosen = {entry.path: self._reader(entry) for entry in entries}
        # in the order of their declaration: the first record that refers to a file gives it its name
        sets = [
            (entry, records)
            for records in self._config.records
            for entry in entries
            if self._config.record_set(entry.path) is records
        ]
        if not sets:
            self._only_audio(entries, chosen)
        numbered = self._numbered([entry for entry in entries if self._may_be_audio(chosen[entry.path])])
        for entry, records in sets:
            reader = chosen[entry.path]
            if reader is None or not _holds_records(reader):
                raise Unreadable(f"{entry.path}: is declared as records, but is no record file leakscan can read")
            if not hasattr(reader, "write"):
                raise Unreadable(
                    f"{entry.path}: is {self._formats[reader]}, which is scanned but not written;"
                    " make it JSON Lines, JSON or CSV first"
                )
            self._records(entry, records, reader, numbered)
        done = set(self._taken.values())
        for entry in entries:
            if self._config.declares(entry.path) and entry.path not in done:
                if _is_audio(chosen[entry.path]) or walk.is_audio(entry, self._readers):
                    self._audio(entry, self._renamed(entry), entry.path)
                else:
                    self._file(entry)
        self._check_bare()
        done = set(self._taken.values())
        left = [entry for entry in entries if entry.path not in done]
        if not self.jobs and self._config.audio == "published":
            self._refuse_silence([entry for entry in left if self._may_be_audio(chosen[entry.path])])
        self.left = sorted([*self.left, *(entry.path for entry in left)])

    def _check_bare(self) -> None:
        """Raise Unreadable where a name without its folder means another file in the copy than in the source."""
        ends = Counter(path[place + 1 :] for path in self._taken for place in _slashes(path))
        for where, base, name, new in self._bare:
            near = {name, posixpath.normpath(posixpath.join(posixpath.dirname(base), name))} - {new}
            if ends[name] > 1 or not near.isdisjoint(self._taken):
                raise Unreadable(f"{where}: the name of its audio would mean several files of the copy; add the folder")

    def _refuse_silence(self, audio: Sequence[Entry]) -> None:
        """Raise UsageError where all of the audio would stay behind: nobody who publishes it wants a copy without."""
        if audio:
            raise UsageError(
                f"{self._root}: no record refers to any of its {len(audio)} audio files by a path, so none would be"
                ' copied; declare the field with type path, name them in [files] allow, or say audio = "private" in'
                " [release]"
            )

    def _reader(self, entry: Entry) -> ModuleType | None:
        """The reader that claims the file; a file that cannot be opened stays behind, or is missed by a record."""
        try:
            with entry.open() as stream:
                return walk.choose(entry, stream.read(walk.HEAD_BYTES), self._readers)
        except (Unreadable, OSError):
            return None

    def _only_audio(self, entries: list[Entry], chosen: Mapping[str, ModuleType | None]) -> None:
        stray = [entry.path for entry in entries if _holds_records(chosen[entry.path])]
        if stray:
            raise UsageError(f"{self._root}: declares no record set; describe its records in leakscan.toml")
        audio = [entry for entry in entries if _is_audio(chosen[entry.path]) or walk.is_audio(entry, self._readers)]
        if not audio:
            raise UsageError(f"{self._root}: holds neither declared records nor audio; there is nothing to clean")
        numbered = self._numbered(audio)
        places = {entry.path: place for place, entry in enumerate(entries, 1)}
        for entry in audio:
            self._audio(entry, numbered[entry.path], f"file {places[entry.path]} of {self._root}")

    def _may_be_audio(self, reader: ModuleType | None) -> bool:
        """Whether a record may refer to a file that `reader` claims as its audio."""
        return _is_audio(reader) or (reader is None and self._options.transcode)

    def _numbered(self, audio: list[Entry]) -> dict[str, str]:
        endings = {entry.path: self._suffix(entry) for entry in audio}
        return naming.numbered(endings, self._key)

    def _suffix(self, entry: Entry) -> str:
        """What the new name of an audio file ends with."""
        return f".{FLAC}" if self._way(entry)[0] == TRANSCODED else naming.suffix(entry.path)

    def _renamed(self, entry: Entry) -> str:
        """The path of an audio file that keeps its name, but for what that ends with where it becomes FLAC."""
        return posixpath.splitext(entry.path)[0] + f".{FLAC}" if self._way(entry)[0] == TRANSCODED else entry.path

    def _way(self, entry: Entry) -> tuple[str | None, str]:
        """The format that cleans an audio file, by name, or `TRANSCODED`; None, and why not, where neither can be."""
        if entry.path not in self._ways:
            self._ways[entry.path] = self._find_way(entry)
        return self._ways[entry.path]

    def _find_way(self, entry: Entry) -> tuple[str | None, str]:
        try:
            with entry.open() as stream:
                if stream.read(walk.HEAD_BYTES).startswith(walk.LFS_POINTER):
                    return None, walk.NOT_FETCHED
        except OSError as error:
            return None, f"cannot be read: {error.strerror}; check its permissions"
        reader = self._chosen.get(entry.path) or self._reader(entry)
        if reader is not None and _is_audio(reader) and accounts.can_account(reader):
            return self._formats[reader], ""
        if not self._options.transcode:
            return None, "not supported; --transcode makes FLAC of lossless files"
        try:
            with media.on_disk(entry) as path:
                stripping.lossless_codec(path)
        except Unreadable as error:
            return None, str(error)
        return TRANSCODED, ""

    def _records(self, entry: Entry, records: RecordSet, reader: ModuleType, numbered: Mapping[str, str]) -> None:
        def fill_in(out: BinaryIO) -> None:
            reader.write(self._projected(entry, records, reader, numbered), out, entry)

        self._write(entry, fill_in)

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
            fields = records.of(item.body).fields
            body = project(item.body, fields)
            record_id = value_at(body, records.id_path) if records.id_path is not None else None
            for name, spec in fields.items():
                if spec.type == "path" and self._config.audio == "published":
                    change = functools.partial(self._reference, entry, where, spec, body, record_id, numbered)
                    body = rewrite(body, name, change)
            yield replace(item, body=Beside(body) if isinstance(item.body, Beside) else body)

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
        """Note the audio that a record means by `value`; what the record of the copy says instead."""
        entry = self._release.find(base.path, value)
        if entry is None:
            if spec.exists:
                raise Unreadable(f"{where} refers to a file that is not there; repair the reference first")
            return value
        ending = self._suffix(entry)
        is_bare = _is_bare(base.path, value, entry.path)
        if spec.template is not None:
            new = fill(spec.template, body)
            if new is None or naming.suffix(new) != ending:
                raise Unreadable(
                    f"{where}: the template of its path does not fit its file; mend the template or the file"
                )
            written = posixpath.normpath(new)
            new = posixpath.join(naming.FOLDER, written) if is_bare else written
        else:
            given = naming.by_id(record_id, ending, spec.pattern, "" if is_bare else naming.FOLDER)
            given = given or numbered.get(entry.path, self._renamed(entry))
            given = posixpath.join(naming.FOLDER, posixpath.basename(given)) if is_bare else posixpath.normpath(given)
            new = self._names.setdefault(entry.path, given)
            start = naming.FOLDER if is_bare else posixpath.dirname(base.path)
            written = new if posixpath.normpath(value) == entry.path else posixpath.relpath(new, start)
        self._audio(entry, new, where)
        if is_bare:
            self._bare.append((where, base.path, written, new))
        return written

    def _audio(self, entry: Entry, new: str, where: str) -> None:
        """Note an audio file to be cleaned.  Errors say `where`: its name may tell something."""
        if new in self._taken:
            if self._taken[new] != entry.path:
                raise Unreadable(f"{where}: another file is already called like its audio; make the template unique")
            return
        way, reason = self._way(entry)
        if way is None:
            raise Unreadable(f"{where}: its audio cannot be cleaned ({reason})")
        target = self._target(new)
        self._taken[new] = entry.path
        self.jobs.append(Job(entry, new, where, target, way, self._options, self._work.known.get(new)))

    def _file(self, entry: Entry) -> None:
        if entry.path not in self._taken:  # else it is left behind: a copy has its name
            with entry.open() as stream:
                self._write(entry, functools.partial(shutil.copyfileobj, stream))

    def _write(self, entry: Entry, fill_in: Callable[[BinaryIO], None]) -> None:
        """Write a file that keeps its name, whole or not at all."""
        target = self._target(entry.path)
        if entry.path in self._taken:
            raise Unreadable(f"{entry.path}: audio is already called like it; make the template of its path unique")
        with stripping.fresh(target) as written:
            with written.open("wb") as out:
                fill_in(out)
                out.flush()
                os.fsync(out.fileno())
            os.replace(written, target)
        self._taken[entry.path] = entry.path
        self.written.append(Copied(entry.path, entry.path, accounts.sha256(entry.file), accounts.sha256(target)))

    def _target(self, path: str) -> Path:
        """Where `path` of the copy goes; it never leaves the copy."""
        target = Path(os.path.normpath(self._work.copy / path))
        if not target.is_relative_to(self._work.copy):
            raise UsageError(f"{path}: leads out of the copy; mend the template or the reference")
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


def _slashes(path: str) -> list[int]:
    return [place for place, sign in enumerate(path) if sign == "/"]


def _is_bare(base: str, reference: str, path: str) -> bool:
    """Whether a record in file `base` means `path` by its end: from neither the root nor the folder of the file."""
    end = posixpath.normpath(reference)
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(base), end))
    return path not in (end, beside) and path.endswith(f"/{end}")


def _is_audio(reader: ModuleType | None) -> bool:
    return getattr(reader, "AUDIO", False)


def _holds_records(reader: ModuleType | None) -> bool:
    """Whether a reader is one of records; prose and code stay behind in silence."""
    prose = getattr(reader, "PROSE", False) or not getattr(reader, "RECORDS", True)
    return reader is not None and not _is_audio(reader) and not prose


def _report(setup: scanning.Setup, out: Path, copied: Sequence[Copied], left: Sequence[str]) -> Report:
    """The scan of the copy, with what stayed behind (under names that tell nothing)."""
    report = scanning.examine(replace(setup, root=Path(os.path.realpath(out))), [out], found=dict(_read_back(copied)))
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
    notes = [*report.notes, f"written to {out}", *_about_sound(copied)]
    notes += [f"{len(left)} files stayed behind: no record set, reference or [files] allow names them"] if left else []
    if audio := sum(map(is_audio_name, left)):
        notes += [f"audio files among them: {audio}; where records refer to these, declare the field with type path"]
    notes += ["findings are left in the copy: do not publish it yet"] if report.status == 1 else []
    return replace(report, noted=names.noted, notes=tuple(notes), summary=summary)


def _read_back(copied: Sequence[Copied]) -> Iterator[tuple[str, Item]]:
    """What is in the audio files of a copy, by their paths: each was read back from the disk when it was written.

    No copy has tags or anything else beside its sound, or it would have been refused.
    """
    for file in copied:
        if file.stripped is not None:
            after = file.stripped["after"]
            ledger = Ledger(after["container"], (), tuple(map(tuple, after["parameters"])))
            yield file.new, Item(Place(file.new), "audio", Tags(ledger.container, ledger=ledger))


def _has_other_tracks(extras: Sequence[str]) -> bool:
    return any(name.startswith("unknown.") and name.endswith(".track") for name in extras)


def _about_sound(copied: Sequence[Copied]) -> Iterator[str]:
    """What is proved of the audio, and by what."""
    audio = [file for file in copied if file.stripped is not None]
    rewritten = [file for file in audio if file.stripped and file.stripped["how"] == "rewritten"]
    if rewritten:
        yield f"{len(rewritten)} audio files: coded sound and decoder parameters as before, no other byte left"
    films = [file for file in rewritten if file.stripped and _has_other_tracks(file.stripped["before"]["extras"])]
    if films:
        yield f"{counted(len(films), 'file')} had tracks beside the sound, such as a picture; the copy is without them"
    if len(audio) > len(rewritten):
        yield f"{len(audio) - len(rewritten)} audio files became FLAC with the same samples"
    for verdict, meaning in VERDICTS.items():
        # sorted: the order of the old names says something, too
        files = sorted(file.new for file in rewritten if file.stripped and file.stripped["pcm"] == verdict)
        if files:
            more = f" and {len(files) - LISTED} more" if len(files) > LISTED else ""
            listed = f": {', '.join(files[:LISTED])}{more}" if verdict != "equal" else ""
            yield f"{meaning.format(len(files))}{listed}"
