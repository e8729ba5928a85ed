"""A certificate of a clean release: an in-toto statement about its exact set of files, in an envelope that is signed.

Sources: in-toto Statement v1 (github.com/in-toto/attestation, spec/v1/statement.md).  That model accepts a statement
when any one subject fits; a release is the whole set, so the predicate carries a digest of the set (`set.root`) and
verification demands exactly these files.

`rerun` holds what everybody can do again with the release alone, `attested` what only its maintainer could do.  There
are no times: two runs give the same bytes.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from leakscan import accounts, crew, dsse, inventory, media, outputs, scanning, sealing, walk
from leakscan import mapping as mappings
from leakscan.config import dump
from leakscan.discover import members
from leakscan.model import (
    VERSION,
    Entry,
    Finding,
    Item,
    LeakscanError,
    Place,
    Private,
    Release,
    Report,
    Rule,
    Unexamined,
    Unreadable,
    UsageError,
)

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:x-leakscan:release:v1"
SCHEMA = 1

PLAIN, SALTED = "sha256", "hmac-sha256"

RESIDUALS = (
    "the exact duration of every recording, which alone can single one out in a catalogue",
    "traces of the encoder in the coded sound, such as its choice of blocks and its cut-off",
    "the sound itself: fingerprints, watermarks, data written as samples, what listeners recognise",
    "bytes that decoders skip within coded frames, where it would take decoding to tell them from sound",
    "the coded sound byte for byte: who owns the same encoding can clean it the same way and compare",
)
"""What cleaning cannot take out of audio."""

UNCHECKED = (
    "times, owners, permissions and the order of files",
    "the history of the repository that the release lies in",
    "what the words of prompts give away beyond the rules",
    "what stands in the files that `[files] allow` names",
)
"""What no certificate is about."""

WITHOUT_EVALUATOR = "gold answers and catalogue: no evaluator file was given"
UNCONFIRMED = "its coded sound by a second reader: ffmpeg's packets cannot be compared in this container"
WITHOUT_MAPPING = "the release as it was before cleaning: no mapping was given"


class NotCertified(LeakscanError):
    """The release gets no certificate; `report` says why."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"{report.root}: no certificate: {report.verdict}")
        self.report = report


@dataclass(frozen=True)
class Certificate:
    """The bytes of a certificate, the statement in it and the report of the scan that it rests on."""

    content: bytes
    statement: Mapping[str, Any]
    signed: bool
    report: Report


def certify(
    release: Path,
    config: str | Path | None = None,
    *,
    private: str | Path | None = None,
    rules: Sequence[Path] = (),
    mapping_file: Path | None = None,
    key: Path | None = None,
) -> Certificate:
    """Judge a release and state what was found, signed with the private key in the file `key` if there is one.

    `private` is the evaluator file, `mapping_file` what `clean` wrote about this release.

    Raises `NotCertified` when there are findings at error level or files that could not be examined, `UsageError`, and
    `LeakscanError` without an ffmpeg or the extra `sign`.
    """
    setup = prepare(release, config, private, rules)
    for file in (key, mapping_file):
        if file is not None and Path(os.path.realpath(file)).is_relative_to(setup.root):
            raise UsageError(f"{file}: lies in the release, where it would be published; keep it elsewhere")
    if key is not None:
        dsse.seal(b"", key)  # a key that is none is told before the work
    secret = setup.private.secret
    if setup.config.audio == "private" and secret is None:
        raise UsageError(
            f"{release}: its audio is private, so digests have to be salted; name a secret in the file for --evaluator"
        )
    before = _read_mapping(mapping_file)
    public = scanning.examine(replace(setup, private=Private()), [setup.root])
    full = scanning.examine(setup, [setup.root]) if private is not None else public
    taken = inventory.take(setup.root)
    looks = dict(look(setup, taken.files.values()))
    full = _with(full, setup, taken, looks)
    if full.status:
        raise NotCertified(full)
    files = [found for found in looks.values() if isinstance(found, Look)]
    salt = Salt(secret) if setup.config.audio == "private" and secret is not None else None
    attested = {
        "evaluator": _evaluator(setup.private) if private is not None else None,
        "rules": _counts(full.findings) if private is not None else None,
        "cleaned": _cleaned(before, files, secret, mapping_file),
    }
    unchecked = [*UNCHECKED]
    unchecked += [WITHOUT_EVALUATOR] if private is None else []
    unchecked += [WITHOUT_MAPPING] if mapping_file is None else []
    unchecked += [f"{file.name}: {UNCONFIRMED}" for file in files if file.audio and file.packets != "equal"]
    unchecked += [f"{path}: neither judged nor declared" for path in public.noted]
    the_set = set_of(files, salt)
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": file.name, "digest": file.digest(salt)} for file in files],
        "predicateType": PREDICATE,
        "predicate": {
            "schema": SCHEMA,
            "verdict": "clean-with-residuals" if any(file.audio for file in files) else "clean",
            "set": the_set,
            "rerun": rerun(setup, public, files, salt),
            "attested": attested,
            "residuals": [*RESIDUALS] if any(file.audio for file in files) else [],
            "unchecked": unchecked,
            "tool": tool(),
        },
    }
    content = dsse.seal(canonical(statement), key)
    notes = [] if key is not None else ["unsigned: nobody can tell who issued it; give --sign KEY.pem"]
    summary = {"files certified": len(files), "set root": the_set["root"]}
    report = replace(full, notes=(*full.notes, *notes), summary={**full.summary, **summary})
    return Certificate(content, statement, key is not None, report)


def check_place(path: Path, release: Path, *, signed: bool = True) -> None:
    """Raise `UsageError` for a path that is no place for a certificate, one without a signature if not `signed`."""
    if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(release)):
        raise UsageError(f"{path}: lies in the release that it is about; write it elsewhere")
    outputs.check(path, "certificate", dsse.OWN)
    if not signed and _is_signed(path):
        raise UsageError(f"{path}: is signed; to replace it give --sign KEY.pem, or name another file")


def _is_signed(path: Path) -> bool:
    """Whether a certificate with a signature is there."""
    try:
        return path.is_file() and bool(dsse.unseal(path).signatures)
    except Unreadable:
        return False


def write(certificate: Certificate, path: Path, release: Path) -> None:
    """Write a certificate whole or not at all, not over one that is signed if it is not itself.

    Raises as `check_place`, and `LeakscanError`.
    """
    check_place(path, release, signed=certificate.signed)
    sealing.save(path, certificate.content)
    path.chmod(0o644)  # it is made to be given away


def prepare(
    release: Path, config: str | Path | None, private: str | Path | None, rules: Sequence[Path]
) -> scanning.Setup:
    """What a whole release is judged with.  Raises `UsageError`."""
    if not release.is_dir():
        raise UsageError(f"{release}: is not a folder; name the release's folder")
    setup = scanning.prepare([release], config, private, rules)
    if setup.root != release.resolve():
        raise UsageError(f"{release}: the release root is {setup.root}; a certificate is about the whole release")
    return setup


def canonical(document: Any) -> bytes:
    """JSON that is the same bytes for the same content."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


# --- files -----------------------------------------------------------------------------------------------------------


class Salt(NamedTuple):
    """The evaluator's secret, in use for digests: who has no secret learns nothing, and cannot try recordings out."""

    secret: bytes

    def of(self, what: str, name: str, value: str) -> str:
        """The salted form of a digest, or of other text, of the file called `name`."""
        return _salted(self.secret, what, name, value)

    @property
    def check(self) -> str:
        """What tells a wrong secret from other faults."""
        return self.of("check", "", "")


def _salted(secret: bytes, *parts: str) -> str:
    return hmac.digest(secret, "\0".join(("leakscan certificate", *parts)).encode(), "sha256").hex()


class Look(NamedTuple):
    """One file as it is now; `audio` is the account of an audio file, which ffmpeg's `packets` confirm."""

    name: str
    size: int
    sha256: str
    audio: accounts.Account | None = None
    packets: accounts.Packets = "not comparable"

    def digest(self, salt: Salt | None) -> dict[str, str]:
        """The digest of its bytes as a subject has it; that of private audio is salted."""
        if salt is None or self.audio is None:
            return {PLAIN: self.sha256}
        return {SALTED: salt.of("file", self.name, self.sha256)}

    def document(self, salt: Salt | None) -> dict[str, Any]:
        """What is stated about the file; of private audio, what could single it out is one salted digest."""
        if self.audio is None:
            return {"name": self.name, "size": self.size}
        account = self.audio.document()
        del account["sha256"]  # the subject has it
        full = {"name": self.name, "verdict": "clean", "packets": self.packets, **account}
        if salt is None:
            return full
        return {
            "name": self.name,
            "verdict": "clean",
            "container": self.audio.container,
            "packets": self.packets,
            "payload": salt.of("payload", self.name, self.audio.payload),
            "account": salt.of("account", self.name, canonical(full).decode("ascii")),
        }


class _Job(NamedTuple):
    entry: Entry
    format: str | None


def look(setup: scanning.Setup, entries: Iterable[Entry]) -> Iterator[tuple[str, Look | str]]:
    """Every file by its path, or why it could not be looked at; in all cores, sorted."""
    readers = members("formats")
    names = {module: name for name, module in readers.items()}
    jobs = []
    for entry in entries:
        try:
            with entry.open() as stream:
                reader = walk.choose(entry, stream.read(walk.HEAD_BYTES), readers, setup.config.declares(entry.path))
            jobs.append(_Job(entry, names[reader] if reader is not None and getattr(reader, "AUDIO", False) else None))
        except (Unreadable, OSError):
            jobs.append(_Job(entry, None))  # the scan says why
    if any(job.format is not None for job in jobs):
        media.ready()  # once, not in every worker
        accounts.load(readers[job.format] for job in jobs if job.format is not None)
    found = [(job.entry.path, result) for job, result in crew.everywhere(_look, jobs)]
    yield from sorted(found, key=lambda pair: pair[0])


def _look(job: _Job) -> Look | str:
    entry = job.entry
    try:
        if job.format is None:
            return Look(entry.path, entry.size, accounts.sha256(entry.file))
        reader = members("formats")[job.format]
        if not accounts.can_account(reader):
            return f"{job.format}: its bytes cannot be accounted for; convert it first"
        account = accounts.of_file(entry, reader)
        packets = accounts.packets(entry.file, account, entry.path) if account.clean else "not comparable"
        if packets == "other":
            return "ffmpeg's packets are not the coded sound that was found; encode it again"
        return Look(entry.path, account.size, account.sha256, account, packets)
    except Unreadable as error:
        return str(error).removeprefix(f"{entry.path}: ")
    except OSError as error:
        return f"cannot be read ({error.strerror}); check the disk"


def set_of(files: Sequence[Look], salt: Salt | None) -> dict[str, Any]:
    """What is stated about the files as a set."""
    rows = [(file.name, *_row(file, salt)) for file in files]
    found: dict[str, Any] = {"files": len(files), "root": inventory.set_root(rows)}
    return {**found, "secret": salt.check} if salt is not None else found


def _row(file: Look, salt: Salt | None) -> tuple[int | None, str]:
    ((kind, value),) = file.digest(salt).items()
    return (file.size if kind == PLAIN else None), value


# --- what is stated --------------------------------------------------------------------------------------------------


def rerun(setup: scanning.Setup, report: Report, files: Sequence[Look], salt: Salt | None) -> dict[str, Any]:
    """What everybody can find again: `report` is that of a scan without a private side."""
    private = salt is not None
    examined = asdict(report.examined)
    if private:
        del examined["bytes"]
    return {
        "files": [file.document(salt) for file in files],
        "examined": examined,
        "rules": {
            "digest": rules_digest(setup.rules),
            "findings": _counts(report.findings),
            "accepted": _counts(report.accepted),
            "disabled": sorted(setup.config.disable),
        },
        "waivers": [
            {"rule": waiver.rule, "where": waiver.where, "reason": waiver.reason} for waiver in setup.config.waivers
        ],
        "configuration": hashlib.sha256(dump(setup.config).encode("utf-8", "surrogatepass")).hexdigest(),
    }


def _counts(findings: Iterable[Finding]) -> dict[str, dict[str, int]]:
    """How often each rule fired, by level."""
    found: dict[str, dict[str, int]] = {}
    for finding in findings:
        levels = found.setdefault(finding.rule, {})
        levels[finding.level] = levels.get(finding.level, 0) + finding.count
    return found


def rules_digest(rules: Sequence[Rule]) -> str:
    """The digest of a set of rules, in hexadecimal."""
    return hashlib.sha256(canonical([asdict(rule) for rule in rules])).hexdigest()


def tool() -> dict[str, str]:
    """What made the certificate."""
    return {
        "leakscan": VERSION,
        "python": platform.python_version(),
        "mutagen": importlib.metadata.version("mutagen"),
        "ffmpeg": media.find_ffmpeg().version,
    }


def _evaluator(private: Private) -> dict[str, bool]:
    return {
        "gold": bool(private.gold),
        "catalogue": bool(private.catalogue),
        "originals": private.audio is not None,
    }


def _read_mapping(file: Path | None) -> Mapping[str, mappings.Copied] | None:
    return None if file is None else {copied.new: copied for copied in mappings.read(file)}


def _cleaned(
    before: Mapping[str, mappings.Copied] | None, files: Sequence[Look], secret: bytes | None, file: Path | None
) -> list[dict[str, Any]] | None:
    """What cleaning changed, by class and never by value.  Raises `UsageError` for the mapping of another release."""
    if before is None:
        return None
    digests = {found.name: found.sha256 for found in files}
    for name, copied in before.items():
        if digests.get(name) != copied.sha256_new:
            raise UsageError(f"{file}: the mapping of another release, or this one was changed since `clean` wrote it")
    return [_change(name, copied, secret) for name, copied in sorted(before.items()) if copied.stripped is not None]


def _change(name: str, copied: mappings.Copied, secret: bytes | None) -> dict[str, Any]:
    assert copied.stripped is not None
    old, new = copied.stripped["before"], copied.stripped["after"]
    stated = {
        "name": name,
        "how": copied.stripped["how"],
        "pcm": copied.stripped["pcm"],
        "removed": old["extras"],
        "renamed": copied.old != name,
    }
    if copied.stripped["how"] == "rewritten":
        stated["payload"] = "equal" if old.get("payload") == new.get("payload") else "changed"
        stated["parameters"] = "equal" if old["parameters"] == new["parameters"] else "changed"
    if secret is not None:  # an auditor who is given the secret and the original can check it
        stated["before"] = _salted(secret, "before", name, copied.sha256_old)
    return stated


# --- what keeps a release from being certified -----------------------------------------------------------------------


def _with(report: Report, setup: scanning.Setup, taken: inventory.Inventory, looks: Mapping[str, Look | str]) -> Report:
    """The report of the scan with what a certificate demands besides."""
    findings = [*report.findings]
    for fault in sorted({fault for _, fault in taken.faults}):
        paths = [path for path, of_kind in taken.faults if of_kind == fault]
        findings.append(gathered(setup, "exact-set", f"{fault}: no part of an exact set of files; remove it", paths))
    dirty = [name for name, found in looks.items() if isinstance(found, Look) and found.audio and not found.audio.clean]
    if dirty:
        extras = sorted({extra for name in dirty for extra in looks[name].audio.extras})  # type: ignore[union-attr]
        message = f"bytes that a clean copy does not have ({', '.join(extras)}); run `leakscan clean`"
        findings.append(gathered(setup, "not-clean", message, dirty))
    known = {entry.path for entry in report.unexamined}
    refused = {name: found for name, found in looks.items() if isinstance(found, str)}
    more = (Unexamined(shown(setup, [name])[0], found) for name, found in refused.items())
    unexamined = [entry for entry in more if entry.path not in known]
    return replace(report, findings=tuple(findings), unexamined=(*report.unexamined, *unexamined))


def gathered(setup: scanning.Setup, rule: str, message: str, paths: Sequence[str]) -> Finding:
    """One finding about files of the release, under names that tell nothing."""
    places = tuple(Place(path, name="file") for path in shown(setup, paths))
    return Finding(rule, "error", "proven", message, places[0], len(paths), places[:100])


def shown(setup: scanning.Setup, paths: Sequence[str]) -> Sequence[str]:
    """Paths as reports show them: what a rule fires on is replaced."""
    known: set[str] = set()
    stream: list[Any] = [item for path in paths for item in walk.folders(path, known)]
    stream += [Item(Place(path), "file") for path in paths]
    stream += [walk.Noted(path) for path in paths]
    options = scanning.Options("never")
    return scanning.judge(stream, Release(setup.root), setup.config, setup.private, setup.rules, options).noted
