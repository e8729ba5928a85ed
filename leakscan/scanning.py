"""Hold items against rules and checks; account for everything that was not read."""

from __future__ import annotations

import datetime
import functools
import itertools
import operator
import os
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from leakscan import baseline, evaluator, outputs, rulebook, walk
from leakscan import config as configuration
from leakscan.config import Config
from leakscan.discover import members
from leakscan.model import (
    CONFIDENCES,
    LEVELS,
    Columns,
    Entry,
    Examined,
    Example,
    Fact,
    FailOn,
    Finding,
    Item,
    Malformed,
    Observation,
    Place,
    Private,
    Release,
    Report,
    Rule,
    Secret,
    Tags,
    Unexamined,
    UsageError,
    distinct,
    facts,
    value_at,
)
from leakscan.owners import key_of
from leakscan.redaction import Redactor
from leakscan.text import as_text

FEW, MANY = 8, 64
"""How many records are held against the rules at once."""
LONG = 1 << 14
"""Characters of a record; if they have more, they are taken by the few."""

Stream = Iterable[Item | Unexamined | walk.Noted]
BROKEN = 5
"""How many records of a file that cannot be parsed are told one by one."""
PRIVATE_FILE = "private-file"
"""The rule about files of the evaluator's side by their names; those in use are known without."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a scan reports: the level that fails, how many places a finding lists, whether values are shown.

    Without `suppress` waivers and baseline accept nothing; `write_baseline` makes `baseline` anew.  `reports` are the
    files that it is written to, which are not judged.
    """

    fail_on: FailOn = "error"
    max_places: int = 100
    reveal: bool = False
    suppress: bool = True
    baseline: Path | None = None
    write_baseline: bool = False
    reports: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Setup:
    """What a scan of one release is made with; `file` is the leakscan.toml in use."""

    root: Path
    file: Path | None
    config: Config
    private: Private
    rules: tuple[Rule, ...]


def prepare(
    paths: Sequence[Path],
    config: str | Path | None = None,
    private: str | Path | None = None,
    rules: Sequence[Path] = (),
) -> Setup:
    """Find the root of the release that `paths` belong to and read its configuration.  Raises `UsageError`."""
    if not paths:
        raise UsageError("no path given; name a release's folder or files")
    root, file = _root(paths)
    file = Path(config) if config is not None else file
    settings = configuration.load(file) if file is not None else Config()
    folders = [*rules, *(_inside(root, file, folder) for folder in settings.rule_paths)]
    secrets = evaluator.load(Path(private)) if private is not None else Private()
    loaded = rulebook.load(folders, examples=False)
    _named(settings, loaded)
    return Setup(root, file, settings, secrets, loaded)


def scan(
    paths: Sequence[str | Path],
    config: str | Path | None = None,
    *,
    private: str | Path | None = None,
    rules: Sequence[Path] = (),
    options: Options = Options(),
) -> Report:
    """Judge files and folders of one release.

    `config` is a leakscan.toml (default: the one of the release root), `private` an evaluator file, `rules` folders of
    further rules.  Raises `UsageError` when the call or a configuration is wrong; everything else is in the report.
    """
    given = [Path(path) for path in paths]
    return examine(prepare(given, config, private, rules), given, options)


def examine(
    setup: Setup,
    paths: Sequence[Path],
    options: Options = Options(),
    found: Mapping[str, Item] = MappingProxyType({}),
) -> Report:
    """Judge files and folders below the root of a prepared scan; `found` is what is known of some, by their paths.

    Raises `UsageError`.
    """
    whole = setup.root in (Path(os.path.realpath(path)) for path in paths)
    if options.write_baseline and not whole:
        raise UsageError(f"{paths[0]}: a baseline is about the whole release; give its root, {shown(setup.root)}")
    if options.write_baseline and options.baseline is not None:
        outputs.check(options.baseline, "baseline", baseline.OWN)

    def read() -> Stream:
        return walk.items(_judged(setup.root, paths, options), members("formats"), setup.config.declares, found)

    report = judge(
        read(), Release(setup.root), setup.config, setup.private, setup.rules, options,
        accept=accepting(setup, options, read), whole=whole,
    )  # fmt: skip
    shown_config = shown(setup.file) if setup.file is not None else None
    return replace(report, root=shown(setup.root), config=shown_config)


def _judged(root: Path, paths: Sequence[Path], options: Options) -> Iterator[Entry | Unexamined]:
    """What lies below `paths`, but for the baseline in use, which looks like columns of digests, and the reports that
    this run writes."""
    used = (*options.reports, *filter(None, [options.baseline]))
    own = {Path(os.path.realpath(path)) for path in used}
    for entry in walk.entries(root, paths):
        if isinstance(entry, Unexamined) or entry.file not in own:
            yield entry


def accepting(setup: Setup, options: Options, read: Callable[[], Stream]) -> baseline.Accept | None:
    """What sets aside the findings of the baseline, if there is one; values are read a second time, with `read`."""
    if options.baseline is None or not options.suppress:
        return None
    file, secret = options.baseline, setup.private.secret
    known = None if options.write_baseline else baseline.Baseline.read(file, secret)
    return functools.partial(baseline.settle, file, secret, read, known=known)


def _root(paths: Sequence[Path]) -> tuple[Path, Path | None]:
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError(f"{path}: no such file or folder; check the path")
    roots = {configuration.find(path) for path in paths}
    if len(roots) > 1:
        names = " and ".join(sorted(shown(root) for root, _ in roots))
        raise UsageError(f"{paths[0]}: the paths belong to different releases ({names}); scan them one by one")
    return roots.pop()


def _inside(root: Path, file: Path | None, folder: str) -> Path:
    """A folder of rules that the release names: it may come with the release, not from elsewhere on this machine."""
    real = Path(os.path.realpath(root / folder.replace("\0", "")))
    if not real.is_relative_to(root):
        raise UsageError(f"{file}: the rules '{folder}' lie outside the release; name them with --rules")
    return real


def shown(path: Path) -> str:
    """A path as the user would type it here."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def judge(
    stream: Stream,
    release: Release,
    config: Config,
    private: Private,
    rules: Sequence[Rule],
    options: Options,
    *,
    accept: baseline.Accept | None = None,
    whole: bool = True,
) -> Report:
    """Hold a stream of items against rules and their checks.

    `accept` sets aside findings besides waivers; a waiver without effect is a finding if the stream is the `whole`
    release.  Raises `UsageError` for unknown rules or checks.
    """
    named = _named(config, rules)
    active = [rule for rule in rules if rule.id not in config.disable]
    modules = _check_modules(active)
    idle = _idle(active, private)
    useful = {name for rule in active if rule.id not in idle for name in rule.checks}
    made = {name: modules[name].check(config, private) for name in modules if name in useful}
    checks = {name: check for name, check in made.items() if check is not None}
    observations: dict[str, list[Observation]] = {name: [] for name in checks}
    matcher = rulebook.Matcher(active, {name: check.wants for name, check in checks.items() if hasattr(check, "wants")})
    coverage = _Coverage(config, private.gold)
    kept = options if accept is None else replace(options, max_places=sys.maxsize)  # a baseline asks for every place
    tally = _Tally(kept, named, coverage.id_names)
    for items, columns in _batches(filter(None, map(coverage.count, stream))):
        coverage.read(items[0].place.path, columns)
        hits, chosen = matcher.sift(() if _has_fields(items[0]) else facts(items[0]), columns)
        for position, fact, rule in sorted(hits, key=operator.itemgetter(0)):
            tally.add(rule, items[position], fact)
        for name, check in checks.items():
            if hasattr(check, "look"):
                observations[name].extend(check.look(items, columns))
                continue
            sieved = hasattr(check, "wants") and items[0].kind in _FACTUAL
            for item in _narrowed(items, chosen.get(name, ())) if sieved else items:
                observations[name].extend(check.see(item))
    remarks: list[str] = []  # of checks that could not tell
    for name, check in checks.items():
        seen = sorted(observations[name], key=lambda observation: _order(observation.place))
        if hasattr(check, "remarks"):
            remarks += check.remarks(seen)
        for finding in check.finish(release, seen):
            for rule in active:
                if finding.rule == rule.id or (not finding.rule and name in rule.checks):
                    tally.merge(replace(finding, rule=rule.id))
    if PRIVATE_FILE in (rule.id for rule in active):
        for finding in _private_files(private, release):
            tally.merge(finding)
    redactor = coverage.redactor(tally)
    waivers = config.waivers if options.suppress else ()
    outcome = baseline.waive(tally.findings(), waivers, datetime.date.today(), whole, idle)
    if accept is not None:
        outcome = outcome + accept(outcome.kept, redactor)
    findings = [*outcome.kept, *_stale(outcome, matcher, config)]
    disabled = tuple(f"rule {rule} is disabled by the configuration" for rule in config.disable)
    report = coverage.report(redactor, release, whole)
    return replace(
        report,
        findings=tuple(sorted((_redacted(finding, redactor, options) for finding in findings), key=_gravity)),
        accepted=tuple(sorted((_redacted(finding, redactor, options) for finding in outcome.accepted), key=_gravity)),
        notes=(*report.notes, *remarks, *disabled) + (outcome.notes if whole else ()),
        fail_on=options.fail_on,
    )


def _named(config: Config, rules: Sequence[Rule]) -> dict[str, Rule]:
    """The rules by ID.  Raises `UsageError` where the configuration names another."""
    named = {rule.id: rule for rule in rules}
    for wanted in (*config.disable, *(waiver.rule for waiver in config.waivers)):
        if wanted not in named:
            raise UsageError(f"{config.path}: unknown rule '{wanted}'; {configuration.nearest(wanted, named)}")
    return named


def _stale(outcome: baseline.Outcome, matcher: rulebook.Matcher, config: Config) -> Iterator[Finding]:
    """Waivers without effect, in the words of the rules about them."""
    path = config.path.name if config.path is not None else configuration.FILE_NAME
    for fact in outcome.stale:
        for rule in matcher.hits(fact):
            yield Finding(rule.id, rule.level, "proven", rule.title, Place(path, name=fact.value))


def _private_files(private: Private, release: Release) -> Iterator[Finding]:
    """The evaluator's files that lie in the release, whatever they are called."""
    root = Path(os.path.realpath(release.root))
    for file in private.files:
        real = Path(os.path.realpath(file))
        if real.is_relative_to(root):
            place = Place(real.relative_to(root).as_posix(), name="file")
            yield Finding(PRIVATE_FILE, "error", "proven", "a file of the evaluator in use lies in the release", place)


def try_example(example: Example, rules: Sequence[Rule], private: Private | None = None) -> Report:
    """Judge a rule's example as if it were a release."""
    config = configuration.parse(tomllib.loads(example.config), Path("leakscan.toml"))
    entries = [Entry(path, Path(path), len(text.encode()), text.encode()) for path, text in example.files.items()]
    release = Release(Path("/nonexistent"), {entry.path: entry for entry in entries})
    records = [*example.records, *([example.fields] if example.fields else [])]
    stream: list[Any] = list(walk.items(entries, members("formats"), config.declares))
    stream += [Item(Place("prompts.jsonl", record), "record", body) for record, body in enumerate(records, 1)]
    if example.tags:
        stream.append(Item(Place("audio/1.mp3"), "audio", Tags("mp3", tuple(example.tags.items()))))
    if example.name:
        stream.append(Item(Place(example.name), "file"))
    private = private or Private(gold=example.gold, catalogue=example.catalogue)
    return judge(stream, release, config, private, rules, Options())


def _idle(rules: Sequence[Rule], private: Private) -> set[str]:
    """The rules that cannot fire in this scan: all they have are checks that need gold or a catalogue."""
    if private.gold or private.catalogue:
        return set()
    modules = members("checks")
    return {
        rule.id
        for rule in rules
        if not rule.match and all(getattr(modules[name], "NEEDS_EVALUATOR", False) for name in rule.checks)
    }


def _check_modules(rules: Sequence[Rule]) -> Mapping[str, ModuleType]:
    known = members("checks")
    wanted = {name: rule for rule in rules for name in rule.checks}
    for name, rule in wanted.items():
        if name not in known:
            raise UsageError(f"rule {rule.id}: unknown check '{name}'; {configuration.nearest(name, known)}")
    return {name: known[name] for name in sorted(wanted)}


def _batches(items: Iterable[Item]) -> Iterator[tuple[list[Item], Columns]]:
    """The records of a file by so many that what is tried once for all of them costs little; the rest one by one.

    The longer the records, the fewer they are, as far as those before tell.
    """
    batch: list[Item] = []
    limit = FEW
    for item in items:
        if batch and not (_has_fields(item) and item.place.path == batch[0].place.path):
            yield batch, Columns([item.body for item in batch])
            batch, limit = [], FEW
        batch.append(item)
        if not _has_fields(item):
            yield batch, Columns([])
            batch = []
        elif len(batch) == limit:
            columns = Columns([item.body for item in batch])
            yield batch, columns
            batch, limit = [], MANY if columns.characters < LONG * MANY else FEW
    if batch:
        yield batch, Columns([item.body for item in batch])


def _narrowed(items: Sequence[Item], chosen: Iterable[tuple[int, Fact]]) -> Iterator[Item]:
    """The items that hold any of the chosen facts, with these alone."""
    by_item: defaultdict[int, list[Fact]] = defaultdict(list)
    for position, fact in chosen:
        by_item[position].append(fact)
    for position in sorted(by_item):
        yield items[position].narrowed(by_item[position])


_FACTUAL = ("record", "audio", "file")  # the kinds of items that have facts


def _has_fields(item: Item) -> bool:
    return item.kind == "record" and not isinstance(item.body, Malformed)


def _order(place: Place) -> tuple[str, int, str]:
    return place.path, place.record or 0, place.name or ""


def _joined(main: Finding, other: Finding) -> Finding:
    """Two findings of one rule about one name as one, in the words of `main`; graver and stronger of the two win."""
    mine, others = main.places or (main.place,), other.places or (other.place,)
    known = {(place.path, place.record) for place in mine}
    places = (*mine, *(place for place in others if (place.path, place.record) not in known))
    listed = main.count == len(mine) and other.count == len(others)  # in full: what both count is known
    evidence = main.evidence or other.evidence
    if evidence is not None and other.evidence is not None and evidence.revealed is None:
        evidence = replace(evidence, revealed=other.evidence.revealed)
    return replace(
        main,
        level=min(main.level, other.level, key=LEVELS.index),
        confidence=min(main.confidence, other.confidence, key=CONFIDENCES.index),
        place=min(main.place, other.place, key=_order),
        count=len(places) if listed else max(main.count, other.count),
        places=tuple(sorted(places, key=_order)),
        related=tuple(dict.fromkeys(main.related + other.related)),
        evidence=evidence,
    )


def _gravity(finding: Finding) -> tuple[int, int, str, str, str]:
    place = finding.place
    level, confidence = LEVELS.index(finding.level), CONFIDENCES.index(finding.confidence)
    return level, confidence, place.path, place.name or "", finding.rule


@dataclass
class _Hit:
    """What is known so far of one finding."""

    rule: Rule
    place: Place
    evidence: Secret | None
    value: Any
    last: Place | None = None
    count: int = 0
    places: list[Place] = field(default_factory=list)


class _Tally:
    """Gathers hits into findings: per rule, file and JSON path for records, per rule and name for audio and files.

    `telling_paths`, `telling_ids` (file, ID) and `telling_keys` are what an identity or gold rule fired on.
    """

    def __init__(self, options: Options, rules: Mapping[str, Rule], id_names: Mapping[str, str]) -> None:
        self._options = options
        self._id_names = id_names
        self._unmasking = {name for name, rule in rules.items() if rule.about in ("identity", "gold")}
        self._hits: dict[tuple[str, str, str | None, str], _Hit] = {}
        self._found: dict[tuple[str, str, str | None], Finding] = {}
        self.telling_paths: set[str] = set()
        self.telling_ids: set[tuple[str, str | None]] = set()
        self.telling_keys: set[str] = set()

    def add(self, rule: Rule, item: Item, fact: Fact) -> None:
        """Count a fact that a rule's pattern fired on."""
        name = None if fact.kind == "block" and item.kind == "record" else fact.name  # a record that is malformed
        key = (rule.id, item.place.path if item.kind == "record" else "", name, fact.kind)
        hit = self._hits.get(key)
        if hit is None:
            hit = self._hits[key] = _Hit(rule, item.place._replace(name=name), describe(fact.value), fact.value)
        if hit.last is item.place:
            return  # the same name again, in the same record or file
        hit.count += 1
        hit.last = item.place
        if item.kind != "record" or len(hit.places) < self._options.max_places:  # a waiver asks for every file
            hit.places.append(item.place)
        if fact.kind == "name" and item.kind == "record":
            if rule.id in self._unmasking and "value" in rule.match:  # the key's own text, not its place, gave it away
                self.telling_keys.add(fact.name)
        else:
            self._telling(rule.id, item.place, name)

    def merge(self, finding: Finding) -> None:
        """Take in a check's finding."""
        once = distinct(finding.places)
        finding = replace(finding, places=once, count=finding.count - len(finding.places) + len(once))
        place = finding.place
        record = place.record is not None or (place.name or "").startswith("$")
        key = (finding.rule, place.path if record else "", place.name)
        both = [finding, self._found[key]] if key in self._found else [finding]
        both.sort(key=lambda one: CONFIDENCES.index(one.confidence))
        self._found[key] = functools.reduce(_joined, both)
        places = finding.places or (place,)
        for listed in places:
            self._telling(finding.rule, listed, place.name)
        if finding.count > len(places):  # the others are not known one by one
            self._telling(finding.rule, place._replace(id=None), place.name)

    def _telling(self, rule: str, place: Place, name: str | None) -> None:
        if rule not in self._unmasking:
            return
        if name in ("file", "folder"):
            self.telling_paths.add(place.path)
        elif name is not None and name == self._id_names.get(place.path):
            self.telling_ids.add((place.path, place.id))

    def findings(self) -> list[Finding]:
        """One finding per rule and place: where pattern and check agree, the check's message and evidence win."""
        merged = dict(self._found)
        for (rule, path, name, _), hit in self._hits.items():
            message, evidence = hit.rule.title, hit.evidence
            if name is None:  # a block's value describes it and quotes nothing
                message, evidence = f"{message}: {hit.value}", None
            elif self._options.reveal and evidence is not None:
                evidence = replace(evidence, revealed=str(hit.value))
            places = tuple(hit.places)
            finding = Finding(rule, hit.rule.level, "strong", message, hit.place, hit.count, places, (), evidence)
            known = merged.get((rule, path, name))
            merged[rule, path, name] = finding if known is None else _joined(known, finding)
        return list(merged.values())


def describe(value: Any) -> Secret:
    """The class and length of a value, without its characters."""
    text = as_text(value)
    if isinstance(value, bool) or value is None:
        return Secret("boolean" if value is not None else "null", len(text))
    if isinstance(value, int | float):
        return Secret("number", len(text))
    if len(text) >= 8 and not set(text) - set("0123456789abcdefABCDEF") and not text.isdigit():
        return Secret("hex", len(text), "digits")
    return Secret("text", len(text))


class _Coverage:
    """Counts what was read and lists what was not."""

    def __init__(self, config: Config, gold: Mapping[str, Mapping[str, str]]) -> None:
        self._config = config
        self._gold = gold
        self._joined = False  # whether any record is an item of the gold
        self._sets: dict[str, configuration.RecordSet | None] = {}
        self._read: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._unexamined: list[Unexamined] = []
        self._malformed: dict[str, list[str]] = {}  # where, and why
        self._path_names: dict[str, set[str]] = {}
        self._references: dict[str, set[str]] = {}
        self._noted: list[str] = []
        self._records = self._audio = 0
        self._fields = 0
        self.id_names: dict[str, str] = {}

    def count(self, found: Item | Unexamined | walk.Noted) -> Item | None:
        """Take note of `found`; the item to judge, with the ID of its record, or None."""
        if isinstance(found, Unexamined):
            self._unexamined.append(found)
            return None
        if isinstance(found, walk.Noted):
            self._noted.append(found.path)
            return None
        path = found.place.path
        if found.kind == "file":
            self._sizes[path] = found.body.size if found.body is not None else 0
            return found
        self._read[path] = found.kind
        if found.kind == "audio":
            self._audio += 1
            return found
        if found.kind == "template":
            return found
        if path not in self._sets:
            self._sets[path] = self._set_up(path)
        if isinstance(found.body, Malformed):
            where = f"record {found.place.record}"
            where += f" at byte {found.body.offset}" if found.body.offset is not None else ""
            broken = self._malformed.setdefault(path, [])
            broken.append(f"{where}: {found.body.reason}" if len(broken) < BROKEN else "")  # the rest is only counted
            return found
        self._records += 1
        if self._config.sent and self._config.sends(path):
            return replace(found, kind="request")
        item = self._with_id(found)
        if self._gold and not self._joined and not isinstance(item.body, str):  # a line of prose may name a key
            self._joined = key_of(item, self._gold) is not None
        return item

    def read(self, path: str, columns: Columns) -> None:
        """Count the fields of records of a file and remember which files they refer to."""
        for column in itertools.chain(columns.texts.values(), columns.others.values()):
            self._fields += len(column.values)
        for name in self._path_names.get(path, ()):
            if name in columns.texts:
                references = (text for text in columns.texts[name].values if text not in self._sizes)
                self._references.setdefault(path, set()).update(references)

    def _set_up(self, path: str) -> configuration.RecordSet | None:
        records = None if self._config.sends(path) else self._config.record_set(path)
        if records is not None:
            self._path_names[path] = {name for name, spec in records.fields.items() if spec.type == "path"}
            if records.id_path is not None:
                self.id_names[path] = records.id_path
        return records

    def _with_id(self, item: Item) -> Item:
        path = item.place.path
        if path not in self.id_names:
            return item
        value = value_at(item.body, self.id_names[path])
        return item if value is None else replace(item, place=item.place._replace(id=str(value)))

    def redactor(self, tally: _Tally) -> Redactor:
        """What replaces telling names in everything that is shown."""
        seen = (*self._sizes, *(entry.path for entry in self._unexamined))
        return Redactor(seen, tally.telling_paths, tally.telling_ids, tally.telling_keys)

    def report(self, redactor: Redactor, release: Release, whole: bool) -> Report:
        """The coverage part of the report."""
        unexamined = [*self._unexamined, *self._broken()]
        if whole and self._gold and self._records and not self._joined:
            reason = (
                f"none of its {len(self._gold)} keys is in any record (letter case counts); check `key` and the IDs"
            )
            unexamined.append(Unexamined("the evaluator's gold", reason))
        return Report(
            examined=Examined(
                files=len(self._read),
                records=self._records,
                audio=self._audio,
                fields=self._fields,
                bytes=sum(self._sizes.get(path, 0) for path in self._read),
            ),
            unexamined=tuple(
                replace(entry, path=redactor.path(entry.path))
                for entry in sorted(unexamined, key=lambda entry: (entry.path, entry.reason))
            ),
            noted=tuple(sorted(redactor.path(path) for path in self._noted)),
            notes=(*self._unmatched(), *self._beyond(redactor, release)),
        )

    def _broken(self) -> Iterator[Unexamined]:
        for path, broken in self._malformed.items():
            more = [f"and {len(broken) - BROKEN} more"] if len(broken) > BROKEN else []
            yield Unexamined(path, "; ".join([*broken[:BROKEN], *more]))

    def _unmatched(self) -> Iterator[str]:
        for records in self._config.records:
            if not any(records is known for known in self._sets.values()):
                yield f"record set '{records.name}': none of the given files matches {', '.join(records.files)}"

    def _beyond(self, redactor: Redactor, release: Release) -> Iterator[str]:
        """Which records refer to files that are there, but were not given."""
        for path, references in sorted(self._references.items()):
            found = {entry.path for reference in references if (entry := release.find(path, reference)) is not None}
            count = len(found - self._sizes.keys())
            if count:
                yield f"{redactor.path(path)}: files that its records refer to, but not judged: {count}; give the root"


def _redacted(finding: Finding, redactor: Redactor, options: Options) -> Finding:
    places = finding.places or (finding.place,)
    return replace(
        finding,
        place=redactor.place(finding.place),
        places=tuple(redactor.place(place) for place in places[: options.max_places]),
        related=tuple(redactor.place(place) for place in finding.related[: options.max_places]),
    )
