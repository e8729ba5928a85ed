"""Hold records against the closed schema of their record set: what is not declared does not pass.

It serves three rules: undeclared-field, schema-violation and missing-file.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakscan.config import Config, FieldSpec, RecordSet, compile_pattern
from leakscan.literals import opened
from leakscan.model import (
    Beside,
    Entry,
    Finding,
    Item,
    Malformed,
    Observation,
    Place,
    Private,
    Release,
    child_name,
    distinct,
    value_at,
)
from leakscan.text import is_audio_name

UNDECLARED, VIOLATION, MISSING = "undeclared-field", "schema-violation", "missing-file"
PLACES = 100

_TITLES = {UNDECLARED: "a field that the schema does not declare", MISSING: "a file that is not in the release"}


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with a value, and under which rule."""

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class _Unique:
    """A value that no other record of its set may have; of its digest so much that a million do not collide."""

    records: str
    digest: int


@dataclass(frozen=True, slots=True)
class _Reference:
    """A file that must exist."""

    path: str


def check(config: Config, private: Private) -> _SchemaCheck | None:
    """The check, if the configuration declares any records; it needs nothing of the evaluator's side."""
    return _SchemaCheck(config) if config.records else None


class _SchemaCheck:
    def __init__(self, config: Config) -> None:
        self._config = config
        self._schemas: dict[tuple[str, bool], _Schema | None] = {}  # by file, and whether of what stands beside records
        self._values: dict[tuple[str, str], set[int]] = {}  # what is unique, by record set and JSON path
        self._files: set[str] = set()

    def see(self, item: Item) -> Iterator[Observation]:
        """Every fault of a record, and every file it refers to that has not been seen yet."""
        if item.kind == "file" and isinstance(item.body, Entry) and item.body.data is None:
            self._files.add(item.place.path)
        if item.kind != "record" or isinstance(item.body, Malformed):
            return
        path = item.place.path
        key = path, isinstance(item.body, Beside)
        if key not in self._schemas:
            records = self._config.record_set(path)
            private = self._config.audio == "private"
            self._schemas[key] = _Schema(records.of(item.body), private) if records is not None else None
        schema = self._schemas[key]
        if schema is None:
            return
        for name, found in schema.judge(item.body):
            if isinstance(found, _Unique):
                known = self._values.setdefault((found.records, name), set())
                if found.digest not in known:
                    known.add(found.digest)
                    continue
                found = _Fault(VIOLATION, "the value of another record again")
            if not (isinstance(found, _Reference) and found.path in self._files):
                yield Observation(Place(path, item.place.record, item.place.id, name), found)

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per rule, file and JSON path."""
        faults: dict[tuple[str, str, str | None], list[tuple[Place, str]]] = {}
        for observation in observations:
            place, fault = observation.place, observation.value
            if isinstance(fault, _Reference):
                if release.find(place.path, fault.path) is not None:
                    continue
                fault = _Fault(MISSING, _TITLES[MISSING])
            faults.setdefault((fault.rule, place.path, place.name), []).append((place, fault.message))
        for (rule, _, _), found in faults.items():
            places = distinct(place for place, _ in found)
            message = "; ".join(dict.fromkeys(message for _, message in found))
            yield Finding(rule, "error", "proven", message, places[0], len(places), places[:PLACES])


class _Schema:
    """A record set with its patterns compiled."""

    def __init__(self, records: RecordSet, audio_is_private: bool) -> None:
        self._records = records
        self._audio_is_private = audio_is_private
        self._patterns = {
            name: compile_pattern(spec.pattern, f"pattern of {name}")
            for name, spec in records.fields.items()
            if spec.pattern is not None
        }
        self._required = [name for name, spec in records.fields.items() if not spec.optional]
        # what may be there as an empty object or list
        self._containers = {name[: cut.start()] for name in records.fields for cut in re.finditer(r"\.|\[", name)}

    def judge(self, body: Any) -> Iterator[tuple[str, _Fault | _Unique | _Reference]]:
        """Every fault of a record, and what is left to judge, each with its JSON path."""
        fields, present = self._records.fields, set[str]()
        stack: list[tuple[str, Any]] = [("$", body)]
        while stack:
            name, value = stack.pop()
            if isinstance(value, Mapping) and value:
                stack.extend([(child_name(name, key), child) for key, child in value.items()][::-1])
            elif isinstance(value, list) and (value or f"{name}[]" in fields):
                name = f"{name}[]"
                stack.extend([(name, child) for child in reversed(value)])
                if name in fields and (value or not fields[name].optional):
                    present.add(name)
                    yield from ((name, _Fault(VIOLATION, message)) for message in _list_faults(fields[name], value))
            elif name in fields:
                if not (value in (None, "") and fields[name].optional):
                    present.add(name)
                    yield from ((name, found) for found in self._value(name, value, body))
            elif self._records.closed and not (isinstance(value, (dict, list)) and name in self._containers):
                yield name, _Fault(UNDECLARED, _TITLES[UNDECLARED])
        for name in self._required:
            if name not in present:
                yield name, _Fault(VIOLATION, "missing")

    def _value(self, name: str, value: Any, body: Any) -> Iterator[_Fault | _Unique | _Reference]:
        spec = self._records.fields[name]
        text = _text(value)
        if not _TYPES[spec.type](value):
            yield _Fault(VIOLATION, f"not of type {spec.type}")
            return
        if self._records.closed and spec.pattern is None and spec.enum is None and opened(text):
            yield _Fault(VIOLATION, "a list or an object spelt out in a text")
        if name in self._patterns and not self._patterns[name].fullmatch(text.encode("utf-8", "replace").decode()):
            yield _Fault(VIOLATION, "not what its pattern allows")
        if spec.enum is not None and text not in map(_text, spec.enum):
            yield _Fault(VIOLATION, "not one of the values declared")
        if spec.template is not None and text != _filled(spec.template, body):
            yield _Fault(VIOLATION, "not what its template gives")
        if not name.endswith("[]"):
            yield from (_Fault(VIOLATION, message) for message in _bound_faults(spec, value))
        if spec.unique:
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            yield _Unique(self._records.name, int.from_bytes(digest, "big"))
        if spec.exists and not (self._audio_is_private and is_audio_name(text)):
            yield _Reference(text)


def _list_faults(spec: FieldSpec, value: Sequence[Any]) -> Iterator[str]:
    """What is wrong with a list as such."""
    yield from _limits(spec, len(value), "elements")
    if spec.distinct and len({_text(element) for element in value}) < len(value):
        yield "the same element twice"


def _bound_faults(spec: FieldSpec, value: Any) -> Iterator[str]:
    """`min` and `max` bound a number, or the characters of a text."""
    if spec.type in ("integer", "number"):
        yield from _limits(spec, float(value), "")
    elif isinstance(value, str):
        yield from _limits(spec, len(value), "characters")


def _limits(spec: FieldSpec, number: float, unit: str) -> Iterator[str]:
    if spec.min is not None and not number >= spec.min:
        yield f"below the minimum of {spec.min} {unit}".rstrip()
    if spec.max is not None and not number <= spec.max:
        yield f"above the maximum of {spec.max} {unit}".rstrip()


def _is_number(value: Any) -> bool:
    """Numbers, also as text: a CSV file knows nothing else."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "path": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and re.fullmatch(r"-?\d+", _text(value)) is not None,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool) or value in ("true", "false"),
}


def _filled(template: str, body: Any) -> str:
    """A template such as `audio/{id}.mp3` with the record's own fields."""
    return re.sub(r"\{([^{}]+)\}", lambda field: _text(value_at(body, f"$.{field[1]}")), template)


def _text(value: Any) -> str:
    """A leaf as text, as JSON writes it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
