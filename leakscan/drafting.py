"""Draft a leakscan.toml from the records of a release.

What fits all records is declared as narrowly as they allow.  What a rule fires on, and what cannot be described, is
commented out with the reason: a draft never allows anything suspicious by itself.  Only names of audio files that tell
something are declared, since `clean` gives the files others; until then the rules fire on them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from leakscan import naming, scanning, walk
from leakscan.baseline import Outcome
from leakscan.config import FILE_NAME, Config, FieldSpec, declaration, field_path, toml
from leakscan.discover import members
from leakscan.layouts import KEY
from leakscan.literals import opened
from leakscan.model import Beside, Finding, Item, Malformed, Release, UsageError, child_name, path_keys
from leakscan.redaction import Redactor
from leakscan.text import is_audio_name, printable

_PROSE = frozenset((".md", ".markdown", ".txt", ".rst", ".py", ".jinja", ".jinja2", ".j2", ".cff", ".bib", ".har", ""))
_INPUT = re.compile(
    r"(?:prompt|question|instruction|choice|option|text|input|audio)s?(?:_(?:path|file|text))?|[A-J]|content"
)
_IDS = ("id", "(key)", "uid", "uuid", "key", "question_id", "item_id", "record_id", "sample_id", "qid")
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_RENAMED = frozenset(
    "telling-name catalogue-title catalogue-artist catalogue-album catalogue-id catalogue-value dataset-id gold-value"
    " source-dataset spotify-id stray-hash video-id".split()
)
"""Rules that fire on the name of a file for what it says."""

_MOST_VALUES = 12  # of a field with a closed list of values
_LONGEST_VALUE = 40
_MOST_SHAPES = 12  # of a field with a pattern
_LONGEST_SHAPE = 200  # characters; what is longer, such as a file in base64, says more than a shape
_SAMPLE = 5000  # distinct values that are looked at
_OPAQUE = 12  # characters from which a value without blanks and shape could be a digest or an ID of elsewhere


def draft(path: Path, private: Path | None = None) -> str:
    """A leakscan.toml for the release at `path`; one that is there already is not looked at.  Raises `UsageError`."""
    setup = scanning.prepare([path], private=private)
    setup = replace(setup, config=Config(), file=None)
    found: list[Finding] = []
    judged = list(_items(setup, path))
    scanning.judge(
        iter(judged), Release(setup.root), setup.config, setup.private, setup.rules, scanning.Options("never"),
        accept=lambda findings, redactor: _noted(found, findings, redactor),
    )  # fmt: skip
    suspicious: dict[str, set[str]] = {}
    broken: dict[str, set[str]] = {}
    telling: set[str] = set()
    for finding in found:
        name = finding.place.name or ""
        if finding.level != "note":
            for place in finding.places or (finding.place,):
                broken.setdefault(place.path.split("!")[0], set()).add(finding.rule)
        if name.startswith("$"):
            suspicious.setdefault(name, set()).add(finding.rule)
        elif name in ("file", "folder"):
            telling.update(place.path.rstrip("/") for place in finding.places or (finding.place,))
    sets = _sets(judged)
    if not sets:
        raise UsageError(f"{path}: holds no records to draft a configuration from")
    release = Release(setup.root)
    blocks = [
        "# A draft: read it before you use it.  What is commented out looks suspicious, with the rules it breaks.\n"
    ]
    blocks += [_block(records, release, suspicious, telling) for records in sets]
    prose = _prose(judged, telling)
    if prose:
        lines = [f"allow = {toml([file for file in prose if file not in broken])}"]
        lines += [f"# {toml(file)}  # {', '.join(sorted(broken[file]))}" for file in prose if file in broken]
        blocks.append("\n".join(["[files]", *lines]) + "\n")
    return "\n".join(blocks)


def _items(setup: scanning.Setup, path: Path) -> Iterator[Any]:
    return walk.items(walk.entries(setup.root, [path]), members("formats"), lambda path: path == FILE_NAME)


def _noted(found: list[Finding], findings: Sequence[Finding], redactor: Redactor) -> Outcome:
    """Take the findings as they are: names that reports replace must not be declared either."""
    found += findings
    return Outcome(tuple(findings))


# --- what the records say --------------------------------------------------------------------------------------------


@dataclass
class _Column:
    """What all records of a set say under one JSON path."""

    name: str
    number: int = 0
    records: int = 0
    empty: bool = False
    distinct: bool = True
    values: Counter[Any] = field(default_factory=Counter)
    kinds: set[type] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)
    templates: set[str] = field(default_factory=set)
    bases: set[str] = field(default_factory=set)

    def see(self, values: Sequence[Any], base: str) -> None:
        """Take in what one record says."""
        said = [value for value in values if value not in (None, "")]
        self.empty |= len(said) < len(values)
        self.records += bool(said)
        self.number += len(said)
        self.bases.add(base)
        for value in said:
            self.kinds.add(type(value))
            if len(self.values) < _SAMPLE or value in self.values:
                self.values[value] += 1

    @property
    def key(self) -> str:
        """The last key of the path."""
        return path_keys(self.name)[-1] if path_keys(self.name) else ""

    @property
    def unique(self) -> bool:
        """Whether no value is there twice, as far as was looked at."""
        return self.number > 1 and max(self.values.values(), default=0) == 1


@dataclass
class _Columns:
    """The columns of a set of records."""

    records: int = 0
    by_name: dict[str, _Column] = field(default_factory=dict)

    def see(self, body: Any, base: str) -> None:
        """Take in one record."""
        self.records += 1
        for name, values in _leaves(body).items():
            column = self.by_name.setdefault(name, _Column(name))
            column.see(values, base)
            if name.endswith("[]"):
                column.lengths.add(len(values))
                column.distinct &= len(set(map(str, values))) == len(values)

    @property
    def id(self) -> _Column | None:
        """What tells the records apart: a column that is there in all of them and never the same."""
        fitting = [
            column
            for column in self.by_name.values()
            if column.records == column.number == self.records and "[]" not in column.name
            if column.kinds <= {str} or column.kinds <= {int}
            if self.records == 1 or column.unique
            if column.key in _IDS or column.key.endswith("_id")
        ]
        return min(
            fitting, key=lambda one: (_IDS.index(one.key) if one.key in _IDS else len(_IDS), one.name), default=None
        )


def _leaves(body: Any) -> dict[str, list[Any]]:
    """The leaves of a record by JSON path; an empty list stands there without any."""
    leaves: dict[str, list[Any]] = {}
    stack: list[tuple[str, Any]] = [("$", body)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, Mapping):
            stack += [(child_name(name, key), child) for key, child in value.items()][::-1]
        elif isinstance(value, list):
            if not any(isinstance(child, Mapping | list) for child in value):
                leaves.setdefault(f"{name}[]", [])
            stack += [(f"{name}[]", child) for child in reversed(value)]
        else:
            leaves.setdefault(name, []).append(value)
    return leaves


class _Set(NamedTuple):
    """A record set: its name, its files, its records, and what stands beside these in their documents."""

    name: str
    files: Sequence[str]
    columns: _Columns
    beside: _Columns


def _sets(items: Iterable[Any]) -> list[_Set]:
    """The record sets: files of one folder with one suffix."""
    groups: dict[tuple[str, str], tuple[list[str], _Columns, _Columns]] = {}
    for item in items:
        if not isinstance(item, Item) or item.kind != "record" or isinstance(item.body, Malformed):
            continue
        path = PurePosixPath(item.place.path)
        if path.suffix.lower() in _PROSE or not isinstance(item.body, Mapping) or "!" in item.place.path:
            continue
        paths, columns, beside = groups.setdefault((str(path.parent), path.suffix), ([], _Columns(), _Columns()))
        paths.append(item.place.path)
        # several lists, whose records tell the key of theirs, become one in a copy, and the rest one of the records
        apart = isinstance(item.body, Beside) and child_name("$", KEY) not in columns.by_name
        (beside if apart else columns).see(item.body, item.place.path)
    for _, columns, _ in groups.values():
        _find_templates(columns, items)
    names: Counter[str] = Counter()
    sets: list[_Set] = []
    for (folder, suffix), (paths, columns, beside) in sorted(groups.items()):
        only = PurePosixPath(paths[0]).stem if len(set(paths)) == 1 else ""
        name = re.sub(r"[^\w-]+", "-", PurePosixPath(folder).name if folder != "." else only) or "records"
        names[name] += 1
        name = name if names[name] == 1 else f"{name}-{suffix.lstrip('.') or names[name]}"
        sets.append(_Set(name, tuple(dict.fromkeys(paths)), columns, beside))
    return sets


def _find_templates(columns: _Columns, items: Iterable[Any]) -> None:
    """What is left of the texts of each record when its ID is taken out."""
    own = columns.id
    if own is None:
        return
    bases = set().union(*(column.bases for column in columns.by_name.values()))
    for item in items:
        if isinstance(item, Item) and item.kind == "record" and item.place.path in bases:
            leaves = _leaves(item.body) if isinstance(item.body, Mapping) and not isinstance(item.body, Beside) else {}
            record_id = str(*leaves.get(own.name, [""]))
            for name, values in leaves.items():
                for value in values:
                    if isinstance(value, str) and name in columns.by_name and len(columns.by_name[name].templates) < 2:
                        text = value.replace(record_id, "{id}", 1) if record_id and "{" not in value else value
                        columns.by_name[name].templates.add(text)


# --- what is declared ------------------------------------------------------------------------------------------------


def _block(
    records: _Set, release: Release, suspicious: Mapping[str, AbstractSet[str]], telling: AbstractSet[str]
) -> str:
    """The tables of one record set."""
    name, files, columns, beside = records
    own = columns.id if columns.id is not None and columns.id.name not in suspicious else None
    lines, declared = _lines(columns, own, release, suspicious)
    head = {"files": toml(sorted({_glob(path, telling) for path in files}))}
    if own is not None:
        head["id"] = toml(_short(own.name))
    audio = next((column for column in columns.by_name.values() if _is_audio(column)), None)
    if audio is not None and audio.name in declared and "[]" not in audio.name:
        head["recording"] = toml(_short(audio.name))
    head["closed"] = "true"
    parts = [f"[records.{name}]", *(f"{key} = {text}" for key, text in head.items())]
    parts += ["", f"[records.{name}.fields]", *lines]
    if beside.records:
        parts += ["", f"[records.{name}.beside]", *_lines(beside, None, release, suspicious)[0]]
    return "\n".join(parts) + "\n"


def _lines(
    columns: _Columns, own: _Column | None, release: Release, suspicious: Mapping[str, AbstractSet[str]]
) -> tuple[list[str], set[str]]:
    """The lines of a table of fields, and the JSON paths that are declared."""
    lines: list[str] = []
    declared = set()
    hidden = 0
    for column in columns.by_name.values():
        reasons = sorted(_reasons(column, suspicious))
        if "['" in column.name and (reasons or column.records * 2 < columns.records):
            hidden += 1  # not a field but data that became a key
            continue
        spec = _spec(column, columns, own, release)
        what = ", ".join(reasons)
        if spec is not None and spec.exists and reasons and _RENAMED.issuperset(reasons):
            # without the template or the pattern, which would spell the names
            lines.append(
                f"{declaration(column.name, replace(spec, template=None, pattern=None))}  # {what}: clean renames"
            )
            declared.add(column.name)
        elif spec is None or reasons:
            what = what or "values that no pattern describes: digests, or IDs of elsewhere?"
            lines.append(f"# {declaration(column.name, FieldSpec('routing'))}  # {what}")
        else:
            missing = _missing(column, release) if spec.exists else 0
            remark = f"  # missing-file: not there: {missing}" if missing else ""
            lines.append(f"{declaration(column.name, spec)}{remark}")
            declared.add(column.name)
    lines += [f"# {hidden} keys that look like data are not declared"] if hidden else []
    return lines, declared


def _reasons(column: _Column, suspicious: Mapping[str, AbstractSet[str]]) -> set[str]:
    """The rules that fire on a column, or on what its texts spell out."""
    opened = f"{column.name}{{}}"
    return {
        rule for name, rules in suspicious.items() if name == column.name or name.startswith(opened) for rule in rules
    }


def _spec(column: _Column, columns: _Columns, own: _Column | None, release: Release) -> FieldSpec | None:
    """The narrowest declaration that all values of a column pass, None for what cannot be described."""
    role: Any = "input" if _INPUT.fullmatch(column.key) or _is_audio(column) else "routing"
    optional = column.records < columns.records or column.empty
    spec = FieldSpec(role, optional=optional)
    if column.name.endswith("[]"):
        lengths = [length for length in column.lengths if length or not optional]
        spec = replace(spec, distinct=column.distinct and max(lengths, default=0) > 1)
        if column.name.count("[]") == 1 and lengths:
            spec = replace(spec, min=min(lengths), max=max(lengths))
    if not column.values:
        return replace(spec, enum=("",))  # what was always empty stays so
    if column.kinds <= {bool}:
        return replace(spec, type="boolean")
    if column.kinds <= {int, float}:
        numbers = [number for number in column.values if _is_finite(number)]
        if len(numbers) < len(column.values):
            return None
        spec = replace(spec, type="integer" if column.kinds == {int} else "number")
        bounds = {"min": _rounded(min(numbers), math.floor), "max": _rounded(max(numbers), math.ceil)}
        return spec if column.name.endswith("[]") else replace(spec, **bounds)  # type: ignore[arg-type]
    if column.kinds != {str}:
        return None
    texts = list(column.values)
    unique = column.unique and column.records == columns.records and role == "routing"
    if all(map(is_audio_name, texts)):
        spec = replace(spec, type="path", exists=_missing(column, release) * 2 < len(texts))
    if own is not None and column is not own and len(column.templates) == 1 and "{id}" in min(column.templates):
        return replace(spec, template=min(column.templates).replace("{id}", f"{{{_short(own.name)}}}"))
    if role == "input" and spec.type == "text":
        spelt = [type(found) for found in map(opened, texts) if found is not None]
        if not spelt:
            return spec
        brackets = r"\[[\s\S]*\]" if set(spelt) == {list} else r"\{[\s\S]*\}"
        return replace(spec, pattern=brackets) if len(spelt) == len(texts) and len(set(spelt)) == 1 else None
    few = len(texts) <= min(_MOST_VALUES, column.number / 4) and max(map(len, texts)) <= _LONGEST_VALUE
    if few and spec.type == "text":
        return replace(spec, enum=tuple(sorted(texts)))
    pattern = _pattern(texts)
    if pattern is not None and spec.exists:  # a name that `clean` gives must pass, too
        endings = "|".join(sorted({re.escape(naming.suffix(text)[1:]) for text in texts}))
        pattern += rf"|(?:(?:\.\./)*{naming.FOLDER}/)?\d{{5,}}\.(?:{endings})"
    if pattern is None and not spec.exists and sum(map(_is_opaque, texts)) * 2 > len(texts):
        return None
    return replace(spec, pattern=pattern, unique=unique)


def _missing(column: _Column, release: Release) -> int:
    """How many of the audio files that a column names are not there."""
    return sum(all(release.find(base, text) is None for base in column.bases) for text in column.values)


def _is_audio(column: _Column) -> bool:
    return bool(column.values) and all(isinstance(value, str) and is_audio_name(value) for value in column.values)


def _is_finite(number: float) -> bool:
    """Whether a number can be a bound; one with hundreds of digits cannot."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _rounded(number: float, way: Any) -> float:
    """A number rounded to two digits, so that a bound is no value of a record."""
    if number == 0:
        return 0
    unit = 10 ** (math.floor(math.log10(abs(number))) - 1)
    rounded = way(number / unit) * unit
    return round(rounded) if isinstance(number, int) else float(f"{rounded:.3g}")


def _pattern(texts: Sequence[str]) -> str | None:
    """An expression for texts that differ in their digits only; None when they are too long, or of too many kinds."""
    if max(map(len, texts)) > _LONGEST_SHAPE:
        return None
    rest = [text for text in texts if not re.fullmatch(_UUID, text)]
    shapes: dict[tuple[str, ...], list[list[str]]] = {}
    for text in rest:
        parts = re.split(r"(\d+)", text)
        shapes.setdefault(tuple(parts[::2]), []).append(parts[1::2])
    if len(shapes) > min(_MOST_SHAPES, max(1, len(texts) / 2)) or not any(map(len, shapes)):
        return None
    patterns = [_UUID] if len(rest) < len(texts) else []
    for literals, runs in sorted(shapes.items()):
        columns = [_digits(run) for run in zip(*runs, strict=True)]
        literal = [re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text) for text in literals]
        patterns.append("".join(itertools.chain(*itertools.zip_longest(literal, columns, fillvalue=""))))
    return "|".join(patterns) or None


def _digits(run: Sequence[str]) -> str:
    if len(set(run)) == 1 and len(run) > 1:
        return run[0]
    least, most = min(map(len, run)), max(map(len, run))
    return rf"\d{{{least}}}" if least == most else rf"\d{{{least},{most}}}"


def _is_opaque(text: str) -> bool:
    mixed = any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    return len(text) >= _OPAQUE and mixed and not re.search(r"\s", text)


def _glob(path: str, telling: AbstractSet[str]) -> str:
    """The files of a folder with one suffix, without what their names tell."""
    *folders, name = path.split("/")
    shown = ["*" if "/".join(folders[:depth]) in telling else folder for depth, folder in enumerate(folders, 1)]
    return "/".join([*shown, f"*{PurePosixPath(name).suffix}"])


def _short(name: str) -> str:
    short = name.removeprefix("$.")
    return short if field_path(short) == name else name


def _prose(items: Iterable[Any], telling: AbstractSet[str]) -> list[str]:
    """Prose and code at the top of the release, by their names."""
    return sorted(
        {
            item.place.path
            for item in items
            if isinstance(item, Item) and item.kind == "file" and item.body is not None
            if "/" not in item.place.path and item.place.path not in telling
            if PurePosixPath(item.place.path).suffix.lower() in _PROSE and printable(item.place.path) == item.place.path
        }
    )
