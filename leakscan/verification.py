"""Hold a release against its certificate: the signature, the exact set of files, and all that can be done again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leakscan import dsse, inventory, scanning
from leakscan.certificates import (
    PLAIN,
    PREDICATE,
    SALTED,
    SCHEMA,
    STATEMENT,
    Look,
    Salt,
    canonical,
    gathered,
    look,
    prepare,
    rerun,
    tool,
)
from leakscan.inventory import is_sidecar, set_root
from leakscan.model import Examined, Finding, Place, Private, Report, Unexamined, Unreadable, UsageError
from leakscan.text import printable

SIGNATURES: Mapping[dsse.Verdict, str] = {
    "unsigned": "unsigned: anybody can have written it; ask for one that is signed",
    "unknown signer": "signed by none of the keys that you trust; name the issuer's public key with --trust",
}
NOBODY_TRUSTED = "signed, but no key that you trust was named; get the issuer's public key and name it with --trust PUB"

MISSING = ("file-missing", "was certified and is not here")
ADDED = ("file-added", "was not certified; remove it")
SIDECAR = ("sidecar-added", "a sidecar, which was not certified; remove it")
CHANGED = ("file-changed", "changed since it was certified")


@dataclass(frozen=True)
class _Claim:
    """What a certificate says, as far as verification asks."""

    files: Mapping[str, Mapping[str, Any]]
    digests: Mapping[str, Mapping[str, str]]
    root: str
    secret: str | None
    rerun: Mapping[str, Any]
    tool: Mapping[str, str]

    @property
    def private(self) -> frozenset[str]:
        """The files whose digests are salted."""
        return frozenset(name for name, digest in self.digests.items() if SALTED in digest)

    @property
    def whole(self) -> bool:
        """Whether its own parts agree."""
        rows = [
            (name, self.files.get(name, {}).get("size") if PLAIN in digest else None, next(iter(digest.values())))
            for name, digest in self.digests.items()
        ]
        return self.files.keys() == self.digests.keys() and self.root == set_root(rows)


def verify(
    certificate: Path,
    release: Path,
    *,
    trust: Sequence[Path] = (),
    config: str | Path | None = None,
    private: str | Path | None = None,
    rules: Sequence[Path] = (),
) -> Report:
    """Check a certificate and that the release is the one that it is about, and still clean.

    `trust` are files of public keys; without one there is no verdict (exit status 3).  `config` and `rules` are those
    that the release was certified with, if they do not lie in it; `private` names the secret, where digests are salted.

    Raises `UsageError`, and `Unreadable` for a file that is no certificate.
    """
    setup = prepare(release, config, private, rules)
    if Path(os.path.realpath(certificate)).is_relative_to(setup.root):
        raise UsageError(f"{certificate}: lies in the release, where anybody who changes that can change it; move it")
    envelope = dsse.unseal(certificate)
    signature, keys = dsse.judge(envelope, trust)
    claim = _claim(envelope.body, certificate)
    if signature == "changed" or not claim.whole:
        message = (
            f"changed: {'its signature does not fit' if signature == 'changed' else 'its parts contradict each other'}"
        )
        found = Finding("certificate-changed", "error", "proven", message, Place(str(certificate), name="file"))
        return Report((found,), examined=Examined(files=1), root=scanning.shown(setup.root))
    public = replace(setup, private=Private())
    report = scanning.examine(public, [setup.root])
    check = _Check(public, claim, report, setup.private.secret)
    findings = tuple(check.findings())
    unexamined = [*report.unexamined, *check.unexamined]
    if signature in SIGNATURES:
        unasked = signature == "unknown signer" and not trust
        unexamined.append(Unexamined(str(certificate), NOBODY_TRUSTED if unasked else SIGNATURES[signature]))
    grave = tuple(finding for finding in report.findings if finding.level == "error")
    signer = {"key": " ".join(printable(key)[:64] for key in keys)} if keys else {}
    summary = {"signature": signature, **signer, "files as certified": check.alike, "rules": check.rules}
    return replace(
        report,
        findings=(*findings, *grave),
        unexamined=tuple(dict.fromkeys(unexamined)),
        notes=(*report.notes, *check.notes),
        summary=summary,
    )


def _claim(body: bytes, path: Path) -> _Claim:
    """Read a statement.  Raises `Unreadable`."""
    try:
        statement = json.loads(body)
        if statement["_type"] != STATEMENT or statement["predicateType"] != PREDICATE:
            raise ValueError("another kind of statement")
        predicate = statement["predicate"]
        if predicate["schema"] != SCHEMA:
            raise Unreadable(f"{path}: made by a newer leakscan (schema {predicate['schema']!r}); update leakscan")
        subjects, files = statement["subject"], predicate["rerun"]["files"]
        claim = _Claim(
            files={file["name"]: file for file in files},
            digests={subject["name"]: subject["digest"] for subject in subjects},
            root=predicate["set"]["root"],
            secret=predicate["set"].get("secret"),
            rerun=predicate["rerun"],
            tool=predicate["tool"],
        )
        if not _well_formed(claim) or not len(claim.files) == len(files) == len(subjects) == len(claim.digests):
            raise ValueError("not what `certify` writes, or a name comes twice")
        return claim
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(f"{path}: not a certificate of leakscan, or damaged; get it again") from error


def _well_formed(claim: _Claim) -> bool:
    """Whether everything that is asked later is of its kind.  Raises `ValueError` for names that are no text."""
    for name in claim.digests:
        name.encode("utf-8")
    return (
        all(isinstance(file, dict) for file in claim.files.values())
        and all(
            len(digest) == 1 and set(digest) <= {PLAIN, SALTED} and isinstance(next(iter(digest.values())), str)
            for digest in claim.digests.values()
        )
        and all(isinstance(part, dict) for part in (claim.rerun, claim.rerun["rules"], claim.tool))
        and isinstance(claim.secret, str | None)
    )


class _Check:
    """The release as it is against what is claimed; `unexamined`, `notes` and `alike` are known after `findings`."""

    def __init__(self, setup: scanning.Setup, claim: _Claim, report: Report, secret: bytes | None) -> None:
        self._setup = setup
        self._claim = claim
        self._report = report
        self._taken = inventory.take(setup.root)
        self._looks = dict(look(setup, self._taken.files.values()))
        self._given_secret = secret is not None
        self._salt = self._usable(secret)
        self.unexamined: list[Unexamined] = []
        self.notes: list[str] = []
        self.alike = 0
        self.rules = "as certified"

    def _usable(self, secret: bytes | None) -> Salt | None:
        salt = Salt(secret) if secret is not None and self._claim.secret is not None else None
        return salt if salt is not None and salt.check == self._claim.secret else None

    def findings(self) -> Iterator[Finding]:
        """Everything that is not as certified."""
        private = self._claim.private
        there = private & self._taken.files.keys()
        if private and not there:
            self.unexamined.append(Unexamined(".", f"{len(private)} audio files are private and not here"))
        elif private and self._salt is None:
            self.unexamined.append(Unexamined(".", self._why_not()))
        groups = self._groups(private, there)
        for (rule, message), paths in groups.items():
            yield gathered(self._setup, rule, message, paths)
        if not groups and there == private:
            yield from self._again()

    def _why_not(self) -> str:
        """Why private audio cannot be compared."""
        if self._given_secret:
            return "a wrong secret: it is not the one that the certificate was salted with"
        return "the digests of private audio are salted; name the secret in the file for --evaluator"

    def _groups(self, private: frozenset[str], there: frozenset[str]) -> dict[tuple[str, str], list[str]]:
        """The files that are not as certified, by what is wrong with them."""
        groups: dict[tuple[str, str], list[str]] = {}
        for path, fault in self._taken.faults:
            message = f"{fault}: no part of an exact set of files; remove it"
            groups.setdefault(("exact-set", message), []).append(path)
        faulty = {path for path, _ in self._taken.faults}
        for name in sorted(self._claim.digests.keys() - self._looks.keys() - faulty):
            if name not in private or there:
                groups.setdefault(MISSING, []).append(name)
        for name, found in self._looks.items():
            if (wrong := self._wrong(name, found)) is not None:
                groups.setdefault(wrong, []).append(name)
            elif name not in private or self._salt is not None:
                self.alike += 1
        return groups

    def _wrong(self, name: str, found: Look | str) -> tuple[str, str] | None:
        if name not in self._claim.digests:
            return SIDECAR if is_sidecar(name) else ADDED
        if isinstance(found, str):
            return ("file-changed", f"changed since it was certified, and no longer whole ({found})")
        private = name in self._claim.private
        if private and self._salt is None:
            return None  # it cannot be told: unexamined
        salt = self._salt if private else None
        if found.digest(salt) == self._claim.digests[name]:
            return None
        if found.audio is not None:
            payload = salt.of("payload", name, found.audio.payload) if salt is not None else found.audio.payload
            if payload == self._claim.files[name].get("payload"):
                extras = ", ".join(found.audio.extras) or "structure"
                return ("file-retagged", f"tagged again: the sound is as certified, other bytes are not ({extras})")
        return CHANGED

    def _again(self) -> Iterator[Finding]:
        """With exactly the files that were certified: what the scan and the accounts say now."""
        private = self._claim.private
        if private and self._salt is None:
            return
        files = [found for found in self._looks.values() if isinstance(found, Look)]
        claimed = self._claim.rerun
        now = json.loads(canonical(rerun(self._setup, self._report, files, self._salt)))
        where = Place("leakscan.toml" if "leakscan.toml" in self._looks else ".", name="file")
        if claimed.get("configuration") != now["configuration"]:
            message = "certified under another configuration; name it with --config"
            yield Finding("other-configuration", "error", "proven", message, where)
            return
        ours = tool()
        same_rules = claimed["rules"].get("digest") == now["rules"]["digest"]
        if same_rules and self._claim.tool.get("leakscan") == ours["leakscan"]:
            differing = [key for key in sorted(now) if claimed.get(key) != now[key]]
            if differing:
                message = f"what was found then is not found again ({', '.join(differing)}); {self._versions(ours)}"
                yield Finding("not-repeated", "error", "proven", message, where)
            return
        self.rules = "other rules than it was certified with"
        grave = sum(finding.level == "error" for finding in self._report.findings)
        if grave:
            message = f"as certified, but the rules in use here are other ones, and they find {grave} errors"
            yield Finding("other-rules", "error", "proven", message, where)
        else:
            self.notes.append("certified with other rules; it holds under the rules in use here, too")
        if claimed.get("files") != now["files"]:
            message = f"the accounts of its audio are not found again; {self._versions(ours)}"
            yield Finding("not-repeated", "error", "proven", message, where)

    def _versions(self, ours: Mapping[str, str]) -> str:
        differing = [
            f"{name} {self._claim.tool.get(name)} then, {version} now"
            for name, version in ours.items()
            if self._claim.tool.get(name) != version
        ]
        return ", ".join(differing) or "the versions of all tools are the same"
