"""leakscan.toml and profiles -> Config.  Strict: an unknown key is an error that names it and the nearest valid one."""

from __future__ import annotations

import datetime
import difflib
import functools
import json
import os
import re
import string
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import re2

from leakscan.model import Beside, UsageError, child_name, value_at

FILE_NAME = "leakscan.toml"
TOML_LIMIT = 1 << 20
"""The largest TOML file that is read, in bytes: it may come from the tree that is being scanned."""
PATTERN_MEMORY = 8 << 20
"""What one compiled pattern may take, in bytes; RE2's own default."""

FieldType = Literal["text", "path", "integer", "number", "boolean"]
Audio = Literal["published", "private"]


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """What a field may hold.  `role` input may reach the model; routing may stand in the record but not reach it.

    `pattern` and `template` match the whole value; `min` and `max` bound a number, the characters of a text or, for a
    name that ends in `[]`, the elements of the list; `distinct` is about the elements of one list.
    """

    role: Literal["input", "routing"]
    type: FieldType = "text"
    pattern: str | None = None
    enum: tuple[Any, ...] | None = None
    template: str | None = None
    exists: bool = False
    unique: bool = False
    optional: bool = False
    min: float | None = None
    max: float | None = None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class RecordSet:
    """Files of records that share a schema.  `fields` maps JSON paths (`$.choices[]`) to what they may hold.

    `beside` does so for what stands in a document beside its lists of records; without it that is one more record.
    """

    name: str
    files: tuple[str, ...]
    id: str | None = None
    recording: str | None = None
    closed: bool = False
    fields: Mapping[str, FieldSpec] = field(default_factory=dict)
    beside: Mapping[str, FieldSpec] = field(default_factory=dict)

    def of(self, body: Any) -> RecordSet:
        """The set with the fields that are those of a record with this body."""
        return replace(self, fields=self.beside) if self.beside and isinstance(body, Beside) else self

    @property
    def id_path(self) -> str | None:
        """The JSON path of the ID."""
        return None if self.id is None else field_path(self.id)

    def holds(self, path: str) -> bool:
        """Whether the file at `path` (relative to the root) belongs to this set."""
        return any(glob_match(pattern, path) for pattern in self.files)


@dataclass(frozen=True, slots=True)
class Waiver:
    """A finding that the maintainer accepts: rule, `path:$.name`, and why."""

    rule: str
    where: str
    reason: str
    expires: datetime.date | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """A release's configuration; `path` is the file it came from."""

    path: Path | None = None
    profile: str | None = None
    records: tuple[RecordSet, ...] = ()
    allow: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    audio: Audio = "published"
    disable: tuple[str, ...] = ()
    rule_paths: tuple[str, ...] = ()
    waivers: tuple[Waiver, ...] = ()

    def record_set(self, path: str) -> RecordSet | None:
        """The record set that the file at `path` belongs to."""
        return next((records for records in self.records if records.holds(path)), None)

    def declares(self, path: str) -> bool:
        """Whether `[files] allow` names the file (a pattern without `/` is about the file's own name)."""
        name = path.rpartition("/")[2]
        return path == FILE_NAME or any(glob_match(pattern, path if "/" in pattern else name) for pattern in self.allow)

    def sends(self, path: str) -> bool:
        """Whether `[files] sent` names the file, or the archive that holds it: captured requests, no records."""
        return bool(self.sent) and any(
            pattern in (path, archive := path.partition("!")[0]) or glob_match(pattern, archive)
            for pattern in self.sent
        )


def glob_match(pattern: str, path: str) -> bool:
    """Whether `path` matches the glob: `*` and `?` stay within a folder, `**/` spans folders."""
    # a file name may hold bytes that are no UTF-8, which arrive as lone surrogates
    return _glob(pattern).fullmatch(path.encode("utf-8", "replace").decode("utf-8")) is not None


@functools.lru_cache(maxsize=1 << 10)
def _glob(pattern: str) -> Any:
    """In linear time too: with Python's own expressions, many `**/` take as long as they please."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    wild = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = "".join(wild.get(part, re.escape(part)) for part in parts)
    return compile_pattern(f"(?s){expression}", f"the pattern of files '{pattern}'")


def field_path(name: str) -> str:
    """The JSON path of a field as leakscan.toml names it.

    `meta.choices[]` is `$.meta.choices[]`, and keys may hold spaces (`Answer key`); only a key that itself holds a dot
    or a bracket needs the path as reports print it: `$['a.b']`.
    """
    if name.startswith("$"):
        return name
    path = "$"
    for part in name.split("."):
        key = part.rstrip("[]")
        path = child_name(path, key) + part[len(key) :]
    return path


def fill(template: str, body: Any) -> str | None:
    """`template` with its `{field}` parts replaced by the record's own values.

    None when one is missing or cannot be part of a file's name.
    """
    text = ""
    for literal, name, _, _ in string.Formatter().parse(template):
        text += literal
        if name is not None:
            value = value_at(body, field_path(name))
            if isinstance(value, bool) or not isinstance(value, str | int) or not is_segment(str(value)):
                return None
            text += str(value)
    return text


def is_segment(text: str) -> bool:
    """Whether a text from a record can stand in a path without leading elsewhere."""
    return text not in ("", ".", "..") and not set("/\\\0") & set(text)


def find(start: Path) -> tuple[Path, Path | None]:
    """The release root of `start` and its configuration file, if any.

    The root is the folder that holds leakscan.toml, else the top of the enclosing repository, else `start` itself (its
    folder when it is a file).  The search stops at the repository's top.
    """
    folder = Path(os.path.realpath(start if os.path.isdir(start) else start.parent))
    for candidate in (folder, *folder.parents):
        if os.path.lexists(candidate / FILE_NAME):  # one that cannot be read is an error, not a missing one
            return candidate, candidate / FILE_NAME
        if os.path.lexists(candidate / ".git"):
            return candidate, None
    return folder, None


def load(path: Path) -> Config:
    """Read a leakscan.toml, with its profile merged in.  Raises `UsageError`."""
    return parse(read_toml(path), path)


def parse(document: dict[str, Any], path: Path) -> Config:
    """A configuration from a parsed leakscan.toml; `path` is what errors name.  Raises `UsageError`."""
    profile = document.get("profile")
    if profile is not None:
        document = _merge(_profile(path, profile), document)
    return _config(path, document)


def read_toml(path: Path, until: str = "") -> dict[str, Any]:
    """Parse a TOML file, or only what stands before the first line that begins with `until`.  Raises `UsageError`."""
    try:
        if os.path.lexists(path) and not path.is_file():  # a FIFO would never end
            raise UsageError(f"{path}: not a regular file; put a TOML file in its place")
        with path.open("rb") as stream:
            data = stream.read(TOML_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > TOML_LIMIT:
        raise UsageError(f"{path}: larger than {TOML_LIMIT:,} bytes; no configuration needs that much")
    try:
        text = data.decode("utf-8")
        return tomllib.loads(text.partition(f"\n{until}")[0] if until else text)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}; convert it to UTF-8") from error
    except RecursionError as error:
        raise UsageError(f"{path}: not valid TOML: nested too deeply") from error
    except ValueError as error:  # also of a number too long to read
        raise UsageError(f"{path}: not valid TOML: {error}") from error


def dump(config: Config) -> str:
    """A configuration as a leakscan.toml, its profile merged in; `parse` gives the same again."""
    blocks: list[str] = []
    for records in config.records:
        keys: dict[str, Any] = {"files": records.files, "id": records.id, "recording": records.recording}
        blocks.append(_block(f"[records.{_toml_key(records.name)}]", {**keys, "closed": records.closed or None}))
        for table, specs in (("fields", records.fields), ("beside", records.beside)):
            lines = [declaration(name, spec) for name, spec in specs.items()]
            if lines or table == "fields":
                blocks.append("\n".join([f"[records.{_toml_key(records.name)}.{table}]", *lines]) + "\n")
    blocks.append(_block("[files]", {"allow": config.allow or None, "sent": config.sent or None}))
    blocks.append(_block("[release]", {"audio": None if config.audio == "published" else config.audio}))
    blocks.append(_block("[rules]", {"disable": config.disable or None, "paths": config.rule_paths or None}))
    for waiver in config.waivers:
        keys = {item.name: getattr(waiver, item.name) for item in fields(Waiver)}
        blocks.append(_block("[[waiver]]", keys))
    return "\n".join(block for block in blocks if block)


def declaration(name: str, spec: FieldSpec) -> str:
    """One line of a table of fields."""
    short = name.removeprefix("$.")
    values = [(item.name, getattr(spec, item.name)) for item in fields(FieldSpec)]
    defaults = {item.name: item.default for item in fields(FieldSpec)}
    pairs = [f"{key} = {toml(value)}" for key, value in values if key == "role" or value != defaults[key]]
    return f"{_toml_key(short if field_path(short) == name else name)} = {{{', '.join(pairs)}}}"


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        if "\\" in value and value.isprintable() and "'" not in value:
            return f"'{value}'"
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)


def _block(header: str, values: Mapping[str, Any]) -> str:
    lines = [f"{key} = {toml(value)}\n" for key, value in values.items() if value is not None]
    return f"{header}\n{''.join(lines)}" if lines else ""


def rules_folder() -> Path:
    """Where the shipped rules lie: the installed package data, or the sibling folder of a bare checkout."""
    inside = Path(__file__).parent / "rules"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "rules"


def nearest(word: str, valid: Iterable[str]) -> str:
    """A hint that names the nearest valid word, or all of them."""
    valid = sorted(valid)
    close = difflib.get_close_matches(word, valid, n=1)
    return f"did you mean '{close[0]}'?" if close else f"valid are: {', '.join(valid)}"


def _profile(path: Path, name: Any) -> dict[str, Any]:
    folder = rules_folder() / "profiles"
    known = sorted(file.stem for file in folder.glob("*.toml"))
    if name not in known:
        raise UsageError(f"{path}: unknown profile '{name}'; {nearest(str(name), known)}")
    return read_toml(folder / f"{name}.toml")


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` wins key by key, but a profile's `closed = true` stays."""
    merged = dict(base)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = _merge(merged[key], value)
        elif not (key == "closed" and merged.get("closed") is True):
            merged[key] = value
    return merged


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "role": str, "type": str, "pattern": str, "enum": list, "template": str, "exists": bool, "unique": bool,
    "optional": bool, "min": (int, float), "max": (int, float), "distinct": bool, "files": list, "id": str,
    "recording": str, "closed": bool, "fields": dict, "beside": dict, "allow": list, "sent": list, "audio": str,
    "disable": list, "paths": list, "rule": str, "where": str, "reason": str, "expires": datetime.date, "profile": str,
}  # fmt: skip
_WORDS: Mapping[Any, str] = {
    str: "a text in quotes", bool: "true or false", list: "a list in brackets", dict: "a table",
    datetime.date: "a date as it is, such as 2027-06-30",
}  # fmt: skip
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "role": ("input", "routing"),
    "type": ("text", "path", "integer", "number", "boolean"),
    "audio": ("published", "private"),
}


def _checked(
    path: Path, where: str, table: Any, valid: Iterable[str], types: Mapping[str, Any] = _TYPES
) -> dict[str, Any]:
    """`table` if it is one, with known keys and values of the right type only."""
    if not isinstance(table, dict):
        raise UsageError(f"{path}: {where} must be a table")
    for key, value in table.items():
        if key not in valid:
            raise UsageError(f"{path}: unknown key '{key}' in {where}; {nearest(key, valid)}")
        expected = types.get(key)
        subclass = isinstance(value, bool | datetime.datetime)  # of int and of date, which mean something else
        if expected and (not isinstance(value, expected) or (subclass and expected is not bool)):
            raise UsageError(f"{path}: '{key}' in {where} has the wrong type; write {_WORDS.get(expected, 'a number')}")
        if types is _TYPES and key in _CHOICES and value not in _CHOICES[key]:
            raise UsageError(f"{path}: '{key}' in {where} is '{value}'; {nearest(value, _CHOICES[key])}")
        if key in ("files", "allow", "sent", "disable", "paths") and not all(
            isinstance(element, str) for element in value
        ):
            raise UsageError(f"{path}: '{key}' in {where} must hold strings only")
    return table


_T = TypeVar("_T")


def _build(path: Path, where: str, kind: type[_T], table: dict[str, Any]) -> _T:
    """A dataclass from a checked table; a missing key is an error that names it."""
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in table.items()})
    except TypeError as error:
        missing = re.findall(r"'(\w+)'", str(error))
        raise UsageError(f"{path}: {where} lacks {' and '.join(missing)}") from error


def _config(path: Path, document: dict[str, Any]) -> Config:
    tables = {"profile": str, "records": dict, "files": dict, "release": dict, "rules": dict, "waiver": list}
    _checked(path, "the file", document, tables, tables)
    files = _checked(path, "[files]", document.get("files", {}), ("allow", "sent"))
    release = _checked(path, "[release]", document.get("release", {}), ("audio",))
    rules = _checked(path, "[rules]", document.get("rules", {}), ("disable", "paths"))
    return Config(
        path=path,
        profile=document.get("profile"),
        records=tuple(_record_set(path, name, table) for name, table in document.get("records", {}).items()),
        allow=tuple(files.get("allow", ())),
        sent=tuple(files.get("sent", ())),
        audio=release.get("audio", "published"),
        disable=tuple(rules.get("disable", ())),
        rule_paths=tuple(rules.get("paths", ())),
        waivers=tuple(_waiver(path, table) for table in document.get("waiver", ())),
    )


def _record_set(path: Path, name: str, table: Any) -> RecordSet:
    where = f"[records.{name}]"
    table = _checked(path, where, table, ("files", "id", "recording", "closed", "fields", "beside"))
    specs = table.get("fields", {})
    built = _fields(path, where, specs)
    beside = _fields(path, where, table.get("beside", {}))
    for key in ("id", "recording"):
        if key in table and field_path(table[key]) not in built:
            raise UsageError(f"{path}: {where} {key} names the field '{table[key]}'; {nearest(table[key], specs)}")
    for pattern in table.get("files", ()):
        _glob(pattern)
    return _build(path, where, RecordSet, {"name": name, **table, "fields": built, "beside": beside})


def _fields(path: Path, where: str, table: Mapping[str, Any]) -> dict[str, FieldSpec]:
    """The fields of a table by JSON path."""
    built = {field_path(field): _field(path, f"{where} field '{field}'", spec) for field, spec in table.items()}
    for spec in built.values():
        for used in _template_names(path, where, spec.template):
            if field_path(used) not in built:
                raise UsageError(f"{path}: {where} template names the field '{used}'; {nearest(used, table)}")
    return built


def _field(path: Path, where: str, table: Any) -> FieldSpec:
    table = _checked(path, where, table, [item.name for item in fields(FieldSpec)])
    spec = _build(path, where, FieldSpec, table)
    if spec.pattern is not None:
        compile_pattern(spec.pattern, f"{path}: pattern of {where}")
    return spec


def _template_names(path: Path, where: str, template: str | None) -> list[str]:
    """The fields that a template names."""
    try:
        parts = list(string.Formatter().parse(template or ""))
    except ValueError as error:
        raise UsageError(f"{path}: {where} template '{template}': {error}; write it like audio/{{id}}.mp3") from error
    if any(extra for _, _, *extras in parts for extra in extras):
        raise UsageError(f"{path}: {where} template '{template}': write a field as {{id}}, without : and !")
    return [name for _, name, _, _ in parts if name is not None]


def compile_pattern(pattern: str, where: str) -> Any:
    """A compiled pattern that runs in linear time, since it may come from the tree that is being scanned.

    Raises `UsageError` that starts with `where`.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY
    try:
        return re2.compile(pattern, options)
    except (re2.error, TypeError) as error:  # TypeError: not even text
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error, re2.error) else "not a string"
        raise UsageError(f"{where} is not a regular expression that RE2 accepts: {reason}") from error


def _waiver(path: Path, table: Any) -> Waiver:
    table = _checked(path, "[[waiver]]", table, [item.name for item in fields(Waiver)])
    if not str(table.get("reason", "")).strip():
        raise UsageError(f"{path}: a [[waiver]] for '{table.get('rule', '?')}' has no reason; say why")
    return _build(path, "[[waiver]]", Waiver, table)
