"""Findings that the maintainer accepts: waivers, each with a reason, and a baseline of what is there today.

A baseline is JSON Lines: a header, then one entry per rule, file, JSON path, record ID and value, sorted, without line
numbers and times, so that it merges well.  Values, and names that tell something, stand in it as HMACs under the
evaluator's secret; without a secret no value is kept, for a plain digest is itself a leak.
"""

from __future__ import annotations

import datetime
import hmac
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from leakscan.config import Waiver, glob_match
from leakscan.model import Fact, Finding, Item, LeakscanError, Place, UsageError
from leakscan.redaction import Redactor

HEADER, VERSION = "leakscan_baseline", 1
OWN = re.compile(rb'\A\{"leakscan_baseline":')
UNUSED, EXPIRED = "unused-waiver", "expired-waiver"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The findings that are `kept`, those `accepted` in whole, and waivers without effect as facts for rules."""

    kept: tuple[Finding, ...]
    accepted: tuple[Finding, ...] = ()
    stale: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, later: Outcome) -> Outcome:
        """Both, where `later` is about what was kept so far."""
        stale, notes = self.stale + later.stale, self.notes + later.notes
        return Outcome(later.kept, self.accepted + later.accepted, stale, notes)


# --- waivers ---------------------------------------------------------------------------------------------------------


def waive(
    findings: Sequence[Finding],
    waivers: Sequence[Waiver],
    today: datetime.date,
    whole: bool = True,
    idle: Collection[str] = (),
) -> Outcome:
    """Set aside the findings that valid waivers cover.

    A finding about many files stays, with the places that are left, until waivers cover all of them.  A waiver that
    covers nothing is stale, but only where the `whole` release was judged and its rule is not `idle`, unable to fire
    without the evaluator's side.
    """
    kept: list[Finding] = []
    accepted: list[Finding] = []
    used: set[Waiver] = set()
    valid = [waiver for waiver in waivers if waiver.expires is None or waiver.expires >= today]
    for finding in findings:
        covering = [waiver for waiver in valid if waiver.rule == finding.rule]
        left: list[Place] = []
        for place in _places(finding):
            by = [waiver for waiver in covering if _covers(waiver, place._replace(name=finding.place.name))]
            used.update(by)
            if not by:
                left.append(place)
        # records share file and name, so the first of them stand for all; files that are not listed could be any
        hidden = _hidden(finding) if left or finding.place.record is None else 0
        _sort_out(finding, left, hidden, kept, accepted)
    stale = [
        Fact("block", UNUSED if waiver in valid else EXPIRED, f"waiver {number}, of {waiver.rule}")
        for number, waiver in enumerate(waivers, 1)
        if waiver not in valid or (whole and waiver not in used and waiver.rule not in idle)
    ]
    return Outcome(tuple(kept), tuple(accepted), tuple(stale))


def _covers(waiver: Waiver, place: Place) -> bool:
    where = f"{place.path}:{place.name}" if place.name else place.path
    return waiver.where == where or glob_match(waiver.where, where)


def _places(finding: Finding) -> tuple[Place, ...]:
    return finding.places or (finding.place,)


def _hidden(finding: Finding) -> int:
    """How many occurrences a finding counts without listing them."""
    return max(0, finding.count - len(_places(finding)))


def _sort_out(
    finding: Finding, left: Sequence[Place], hidden: int, kept: list[Finding], accepted: list[Finding]
) -> None:
    """Keep the part of a finding that is left; one of which nothing is left is accepted."""
    if len(left) == len(_places(finding)) and hidden == _hidden(finding):
        kept.append(finding)
    elif left:
        first = left[0]._replace(name=finding.place.name)
        kept.append(replace(finding, count=len(left) + hidden, place=first, places=tuple(left)))
    elif hidden:  # which ones it is about is not known one by one
        kept.append(finding)
    else:
        accepted.append(finding)


# --- baseline --------------------------------------------------------------------------------------------------------


class Key(NamedTuple):
    """What an entry is known by; empty where there is nothing to say."""

    rule: str
    path: str
    name: str
    id: str
    value: str

    @property
    def group(self) -> tuple[str, str, str]:
        """What all records of one finding have in common."""
        return self.rule, self.path, self.name


Values = Mapping[tuple[str, int | None, str], str]


class Naming:
    """How the places of findings are called in a baseline.

    A path, an ID or a key that tells something, and every value (`values`, by path, record and JSON path), stands as an
    HMAC under `secret`; without one, telling names read as in reports and values are left out.
    """

    def __init__(self, redactor: Redactor, secret: bytes | None, values: Values) -> None:
        self._redactor = redactor
        self._secret = secret
        self._values = values

    def key(self, finding: Finding, place: Place) -> Key:
        """The key of one place of a finding."""
        place = place._replace(name=finding.place.name)
        shown = self._redactor.place(place)
        path, name, record_id = (
            self._name(plain or "", safe or "")
            for plain, safe in ((place.path, shown.path), (place.name, shown.name), (place.id, shown.id))
        )
        value = self._values.get((place.path, place.record, place.name or ""))
        keyed = self._hmac(place.path, place.name or "", place.id or "", value) if value is not None else ""
        return Key(finding.rule, path, name, record_id, keyed)

    def _name(self, plain: str, safe: str) -> str:
        return safe if plain == safe or self._secret is None else self._hmac(plain)

    def _hmac(self, *parts: str) -> str:
        """Bound to its place: who reads a baseline cannot see that two records say the same."""
        return _hmac(self._secret, *parts) if self._secret is not None else ""


class Baseline:
    """Accepted findings, each with how often it is there."""

    def __init__(self, entries: Mapping[Key, int]) -> None:
        self.entries = Counter(entries)

    @classmethod
    def of(cls, findings: Iterable[Finding], naming: Naming) -> Baseline:
        """A baseline of everything that is found; occurrences that a finding does not list are counted."""
        entries: Counter[Key] = Counter()
        for finding in findings:
            keys = [naming.key(finding, place) for place in _places(finding)]
            entries.update(keys)
            if hidden := _hidden(finding):
                entries[Key(*keys[0].group, "", "")] += hidden
        return cls(entries)

    def accept(self, findings: Sequence[Finding], naming: Naming) -> Outcome:
        """Set aside what is in the baseline; a finding with new places stays, with those."""
        left = Counter(self.entries)
        kept: list[Finding] = []
        accepted: list[Finding] = []
        for finding in findings:
            new: list[Place] = []
            for place in _places(finding):
                key = naming.key(finding, place)
                if left[key] > 0:
                    left[key] -= 1
                else:
                    new.append(place)
            hidden = _hidden(finding)
            if hidden:  # some of them may be listed in the baseline, or the other way round
                group = naming.key(finding, finding.place).group
                for key in [key for key in left if key.group == group]:
                    taken = min(hidden, left[key])
                    left[key] -= taken
                    hidden -= taken
            _sort_out(finding, new, hidden, kept, accepted)
        gone = sum(count > 0 for count in left.values())
        note = f"the baseline has {gone} entries that are no longer found; renew it with --write-baseline"
        return Outcome(tuple(kept), tuple(accepted), (), (note,) if gone else ())

    def write(self, file: Path, secret: bytes | None) -> None:
        """Write the baseline, whole or not at all.  Raises `LeakscanError`."""
        header = {HEADER: VERSION, "key": _key_check(secret)}
        lines = [header, *(_document(key, count) for key, count in sorted(self.entries.items()))]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        try:
            handle, scratch = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
            with os.fdopen(handle, "w", encoding="ascii") as stream:
                stream.write(text)
            os.chmod(scratch, 0o644)
            os.replace(scratch, file)
        except OSError as error:
            raise LeakscanError(f"{file}: cannot be written ({error.strerror})") from error

    @classmethod
    def read(cls, file: Path, secret: bytes | None) -> Baseline:
        """Read a baseline that was written with the same secret, or both times without.  Raises `UsageError`."""
        try:
            lines = file.read_text(encoding="ascii").splitlines()
            header, *entries = [json.loads(line) for line in lines if line.strip()] or [None]
        except OSError as error:
            hint = "; --write-baseline makes it" if isinstance(error, FileNotFoundError) else ""
            raise UsageError(f"{file}: cannot be read ({error.strerror}){hint}") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file}: is no baseline, or was damaged; renew it with --write-baseline") from error
        if not isinstance(header, dict) or header.get(HEADER) != VERSION:
            raise UsageError(f"{file}: is no baseline that this version reads; renew it with --write-baseline")
        if header.get("key") != _key_check(secret):
            wanted = "another secret" if secret and header.get("key") else "no secret" if secret else "a secret"
            raise UsageError(f"{file}: was written with {wanted}; give the same --evaluator, or renew it")
        try:
            return cls(Counter({_key(entry): int(entry.get("count", 1)) for entry in entries}))
        except (AttributeError, TypeError, ValueError) as error:
            raise UsageError(f"{file}: holds an entry that is none; renew it with --write-baseline") from error


def settle(
    file: Path,
    secret: bytes | None,
    read: Callable[[], Iterable[Any]],
    findings: Sequence[Finding],
    redactor: Redactor,
    *,
    known: Baseline | None,
) -> Outcome:
    """Hold findings against the baseline that is `known`, else against one of them all, which is written to `file`.

    `read` gives the items once more: which values a baseline needs is known only when everything was judged.
    """
    values = _values(read(), findings) if secret is not None else {}
    naming = Naming(redactor, secret, values)
    if known is None:
        known = Baseline.of(findings, naming)
        known.write(file, secret)
    return known.accept(findings, naming)


def _values(stream: Iterable[Any], findings: Iterable[Finding]) -> Values:
    """What the items say where there are findings, as text."""
    wanted: dict[tuple[str, int | None], set[str]] = {}
    for finding in findings:
        for place in _places(finding):
            wanted.setdefault((place.path, place.record), set()).add(finding.place.name or "")
    values: dict[tuple[str, int | None, str], str] = {}
    for item in stream:
        if isinstance(item, Item) and item.kind != "file":
            path, record = item.place.path, item.place.record
            for name in wanted.get((path, record), ()):
                said = [fact.value for fact in item.facts if fact.kind != "name" and _lies_in(fact.name, name)]
                values[path, record, name] = json.dumps(said, default=str)
    return values


def _lies_in(name: str, parent: str) -> bool:
    return name.startswith(parent) and name[len(parent) :][:1] in ("", ".", "[")


def _hmac(secret: bytes, *parts: str) -> str:
    message = json.dumps(["leakscan baseline", *parts]).encode("ascii")
    return "hmac:" + hmac.digest(secret, message, "sha256").hex()[:32]


def _key_check(secret: bytes | None) -> str | None:
    """What tells a wrong secret from a changed release."""
    return _hmac(secret, "key") if secret is not None else None


def _document(key: Key, count: int) -> dict[str, Any]:
    document: dict[str, Any] = {name: text for name, text in key._asdict().items() if text}
    return {**document, "count": count} if count > 1 else document


def _key(document: Mapping[str, Any]) -> Key:
    texts = [document.get(field, "") for field in Key._fields]
    if set(document) - {*Key._fields, "count"} or not all(isinstance(text, str) for text in texts):
        raise ValueError("not an entry")
    return Key(*texts)


Accept = Callable[[Sequence[Finding], Redactor], Outcome]
"""What decides which findings are accepted; it sees them before names are redacted."""
