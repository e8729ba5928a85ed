"""Hold captured model requests against the release: only what its `input` fields say may be in them.

A request is tied to the records whose input texts all stand in it.  These are taken out, each once; the rest is the
adapter's own text.  There a value of another field, or of the evaluator's side, is a leak; and whatever else differs
from request to request, without following from the kind of question, comes from somewhere it should not.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leakscan.config import Config, RecordSet
from leakscan.model import (
    Confidence,
    Finding,
    Item,
    Malformed,
    Observation,
    Place,
    Private,
    Release,
    child_name,
    path_keys,
)
from leakscan.phrases import Phrases, Words, words

ROUTING, EVALUATOR, UNEXPLAINED, UNTIED = "sent-routing", "sent-evaluator", "sent-unexplained", "sent-untied"

_GAP = ""  # stands where an input value was taken out, so that no phrase is found across it
_DISTINCTIVE = 5  # characters: shorter values occur by chance, and are looked for under their own name only
_MODEL_ROLES = frozenset(("assistant", "model", "gpt", "bot", "ai"))
_PARAMETERS = frozenset(
    "model seed temperature top_p top_k n stream timeout max_tokens max_completion_tokens max_output_tokens".split()
)
_FIXED = frozenset(("role", "type"))  # services take nothing but a few words here
# what the formats hand on to be judged as a file
_AUDIO = re.compile(r"\s*(?:data:[^,]{0,200},|(?:UklGR|SUQz|T2dnU|ZkxhQ|Rk9ST|//[E-Pk-v]|AAAA..Z0eX)[\w+/\s-]{500})")
_WORD = re.compile(r"[A-Za-z_-]+")
_ESCAPE = re.compile(r"\\+[nrt\"]")  # what JSON within a text looks like


def check(config: Config, private: Private) -> _AsSent:
    """The check; it is silent where the configuration names no captured requests."""
    return _AsSent(config, private)


@dataclass(frozen=True, slots=True)
class _Record:
    """What a record of the release says; `kinds` are the values of its fields with a closed list of values."""

    id: str | None
    texts: tuple[tuple[str, Words], ...]
    paths: tuple[Words, ...]
    others: tuple[tuple[str, Words], ...]
    kinds: tuple[tuple[str, str], ...]

    @property
    def shape(self) -> tuple[tuple[str, int], ...]:
        """How many values each input field has: with it, templates differ."""
        return tuple(sorted(Counter(name for name, _ in self.texts).items()))


@dataclass(slots=True)
class _Request:
    """What was sent, by JSON path: the words of each leaf, whether it is a turn of the model's own, and the rest."""

    place: Place
    custom_id: str | None
    leaves: list[tuple[str, bool, Words]]
    tied: list[_Record] = field(default_factory=list)
    rest: list[list[str]] = field(default_factory=list)

    @property
    def form(self) -> frozenset[str]:
        """The keys at the top, which tell one service's requests from another's."""
        return frozenset(key for name, _, _ in self.leaves for key in path_keys(name)[:2])

    def rest_at(self, name: str) -> Words:
        """What is left at a JSON path, without the gaps."""
        parts = (part for (own, _, _), part in zip(self.leaves, self.rest, strict=True) if own == name)
        return tuple(word for part in parts for word in part if word != _GAP)


class _AsSent:
    def __init__(self, config: Config, private: Private) -> None:
        self._config = config
        self._private = private

    def see(self, item: Item) -> Iterator[Observation]:
        """What every declared record and every request says, as words."""
        if not self._config.sent or isinstance(item.body, Malformed):
            return
        if item.kind == "request" and not item.place.path.endswith(".har"):  # an archive's bodies are its members
            yield Observation(item.place, _request(item))
        elif item.kind in ("record", "reference"):
            records = self._config.record_set(item.place.path)
            if records is not None:
                yield Observation(item.place, _record(item, records))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """The findings about each file of requests, one per rule and JSON path."""
        records = [one.value for one in observations if isinstance(one.value, _Record)]
        requests: dict[tuple[str, frozenset[str]], list[_Request]] = {}  # those of one file and form are compared
        for request in _whole([one.value for one in observations if isinstance(one.value, _Request)]):
            requests.setdefault((request.place.path.partition("!")[0], request.form), []).append(request)
        if not requests:
            return
        ties = _Ties(records)
        leaks = _Leaks(records, self._private)
        for captured in requests.values():
            for request in captured:
                request.tied = ties.of(request)
                request.rest = _rest(request)
            found: dict[tuple[str, str, str | None], list[tuple[Place, str]]] = {}
            for rule, name, request, message in (*leaks.among(captured), *_unexplained(captured), *_untied(captured)):
                key = rule, request.place.path, name
                found.setdefault(key, []).append((request.place, message))
            for (rule, path, name), seen in found.items():
                places = tuple(dict.fromkeys(place for place, _ in seen))
                message = "; ".join(dict.fromkeys(message for _, message in seen))
                first = Place(path, places[0].record, None, name)
                confidence: Confidence = "weak" if rule == UNEXPLAINED else "strong"
                yield Finding(rule, "error", confidence, message, first, len(places), places)


# --- reading ---------------------------------------------------------------------------------------------------------


def _record(item: Item, records: RecordSet) -> _Record:
    texts: list[tuple[str, Words]] = []
    paths: list[Words] = []
    others: list[tuple[str, Words]] = []
    kinds: list[tuple[str, str]] = []
    for fact in Item(item.place, "record", item.body).facts:
        if fact.kind != "field" or fact.value is None or isinstance(fact.value, bool):
            continue
        spec, said = records.fields.get(fact.name), words(str(fact.value))
        if spec is not None and spec.enum is not None:
            kinds.append((fact.name, str(fact.value)))
        if not said:
            continue
        if spec is None or spec.role != "input":
            others.append((fact.name, said))
        elif spec.type == "path":
            paths += [said, words(str(fact.value).rpartition("/")[2])]
        else:
            texts.append((fact.name, said))
    return _Record(item.place.id, tuple(texts), tuple(paths), tuple(others), tuple(kinds))


def _request(item: Item) -> _Request:
    body, root = item.body, "$"
    custom = body.get("custom_id") if isinstance(body, Mapping) else None
    for key in ("request", "body"):  # of a log, of a batch: what surrounds them is not sent to the model
        inner = _opened(body[key]) if isinstance(body, Mapping) and key in body else None
        if isinstance(inner, Mapping):
            body, root = inner, child_name(root, key)
    leaves: list[tuple[str, bool, Words]] = []
    stack: list[tuple[str, bool, Any]] = [(root, False, body)]
    while stack:
        name, models, value = stack.pop()
        if isinstance(value, Mapping):
            role = value.get("role")
            models = models or (isinstance(role, str) and role.lower() in _MODEL_ROLES)
            leaves += [(name, models, words(key)) for key in value if not _WORD.fullmatch(key)]
            stack += [(_path(name, key), models, child) for key, child in value.items()][::-1]
        elif isinstance(value, list):
            stack += [(f"{name}[]", models, child) for child in reversed(value)]
        elif _says_something(name, value):
            leaves.append((name, models, words(_ESCAPE.sub(" ", str(value)))))
    return _Request(item.place, custom if isinstance(custom, str) else None, leaves)


def _whole(requests: Sequence[_Request]) -> list[_Request]:
    """The requests, where the lines of a plain text are one."""
    whole: list[_Request] = []
    for request in requests:
        both = [*whole[-1:], request]
        are_lines = all([name for name, _, _ in one.leaves] == ["$"] for one in both)
        if are_lines and len({one.place.path for one in both}) < len(both):
            ((_, _, before),), ((_, _, said),) = whole[-1].leaves, request.leaves
            request = replace(whole.pop(), leaves=[("$", False, before + said)])
        whole.append(request)
    return whole


def _path(parent: str, key: str) -> str:
    """The JSON path of a member; a key that is data is shown like an index, and judged like a value."""
    return child_name(parent, key) if _WORD.fullmatch(key) else f"{parent}[]"


def _says_something(name: str, value: Any) -> bool:
    """Whether a leaf of a request could say anything; audio is judged as audio."""
    if value is None or isinstance(value, bool) or (path_keys(name)[-1:] and path_keys(name)[-1] in _FIXED):
        return False
    return not (isinstance(value, str) and _AUDIO.match(value))


def _opened(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


# --- what a request is about -----------------------------------------------------------------------------------------


class _Ties:
    """Finds the records that a request is about."""

    def __init__(self, records: Sequence[_Record]) -> None:
        self._by_id = {record.id: record for record in records if record.id is not None}
        self._by_phrase: dict[Words, list[_Record]] = {}
        for record in records:
            texts = [text for _, text in record.texts]
            for phrase in [max(texts, key=len)] if texts else record.paths:
                self._by_phrase.setdefault(phrase, []).append(record)
        every = (phrase for record in records for phrase in (*record.paths, *(text for _, text in record.texts)))
        self._phrases = Phrases(every)

    def of(self, request: _Request) -> list[_Record]:
        """Those whose input texts all stand in the request; where its audio's path or its ID decides, that one."""
        found = self._phrases.find([word for _, _, said in request.leaves for word in (*said, _GAP)])
        fitting = {
            id(record): record
            for phrase in found
            for record in self._by_phrase.get(phrase, ())
            if all(text in found for _, text in record.texts)
        }
        if request.custom_id is not None and request.custom_id in self._by_id:
            own = self._by_id[request.custom_id]
            return [own] if id(own) in fitting or not own.texts else []
        scores = {key: sum(path in found for path in record.paths) for key, record in fitting.items()}
        return [record for key, record in fitting.items() if scores[key] == max(scores.values())]


def _rest(request: _Request) -> list[list[str]]:
    """The words of a request without one occurrence of every input value of its records, and without their paths."""
    rest = [list(said) for _, _, said in request.leaves]
    for record in request.tied[:1]:  # the others say the same
        texts = sorted((text for _, text in record.texts), key=len, reverse=True)
        while texts:  # a template may state the whole question again, but no part of it
            trial = [list(part) for part in rest]
            if not all(_cut(trial, text) for text in texts):
                break
            rest = trial
    for record in request.tied:
        for path in sorted(record.paths, key=len, reverse=True):
            while _cut(rest, path):
                pass
    return rest


def _cut(parts: list[list[str]], phrase: Words) -> bool:
    """Take the first occurrence of a phrase out; whether there was one."""
    length = len(phrase)
    for part in parts:
        for start in range(len(part) - length + 1):
            if part[start] == phrase[0] and tuple(part[start : start + length]) == phrase:
                part[start : start + length] = [_GAP]
                return True
    return False


# --- what is wrong with it -------------------------------------------------------------------------------------------

_Fault = tuple[str, str | None, _Request, str]


class _Leaks:
    """Values of fields that are not input, and of the evaluator's side, by what they read like in a request."""

    def __init__(self, records: Sequence[_Record], private: Private) -> None:
        said = {phrase for record in records for _, phrase in record.texts}
        others = [(None, label, value) for record in records for label, value in record.others]
        self._routing = _table(others, len(records), said)
        self._evaluator: dict[Words, set[tuple[str | None, str]]] = {}
        for what, table in (("gold", private.gold), ("catalogue", private.catalogue)):
            rows = [
                (key, column, words(text)) for key, row in table.items() for column, text in row.items() if text.strip()
            ]
            for phrase, origins in _table(rows, len(table), said).items():
                known = {(key, f"the evaluator's {what}") for key, _ in origins}
                self._evaluator.setdefault(phrase, set()).update(known)
        self._phrases = Phrases([*self._routing, *self._evaluator])

    def among(self, requests: Sequence[_Request]) -> Iterator[_Fault]:
        """What each request says that is no input; what all say alike tells nothing, IDs apart."""
        constant = _constant(requests)
        for request in requests:
            keys = {record.id for record in request.tied}
            for (name, _, _), part in zip(request.leaves, request.rest, strict=True):
                found = self._phrases.find([*words(path_keys(name)[-1] if path_keys(name) else ""), *part])
                for phrase in sorted(found):
                    if name in constant and not any(character.isdigit() for word in phrase for character in word):
                        continue
                    labels = sorted({label for _, label in self._routing.get(phrase, ())})
                    if labels:
                        shown = ", ".join(label if "'" not in label else "a field" for label in labels[:3])
                        yield ROUTING, name, request, f"a value that is no input is sent: that of {shown}"
                    for what in sorted(
                        {what for key, what in self._evaluator.get(phrase, ()) if key in keys or not keys}
                    ):
                        yield EVALUATOR, name, request, f"a value of {what} is sent"


def _table(
    rows: Iterable[tuple[str | None, str, Words]], number: int, said: Iterable[Words]
) -> dict[Words, set[tuple[str | None, str]]]:
    """Phrases to look for, with whose and which fields they are.

    Every value under its own name (`task: key`); by itself only a value that is long and rare enough not to be there by
    chance, and that no question says anyhow.
    """
    rows = list(rows)
    counts = Counter(value for _, _, value in rows)
    rare = {
        value
        for value, count in counts.items()
        if sum(map(len, value)) >= _DISTINCTIVE and count <= max(1, number // 20)
    }
    finder = Phrases(rare)
    for text in said:
        rare -= finder.find(text)
    table: dict[Words, set[tuple[str | None, str]]] = {}
    for key, label, value in rows:
        name = words(path_keys(label)[-1] if label.startswith("$.") else label)
        table.setdefault((*name, *value), set()).add((key, label))
        if value in rare:
            table.setdefault(value, set()).add((key, label))
    return table


def _constant(requests: Sequence[_Request]) -> set[str]:
    """The JSON paths at which all requests leave the same rest."""
    if len(requests) < 2:
        return set()
    names = {name for request in requests for name, _, _ in request.leaves}
    return {name for name in names if len({request.rest_at(name) for request in requests}) == 1}


def _unexplained(requests: Sequence[_Request]) -> Iterator[_Fault]:
    """What differs from request to request, beyond what the kind of question explains."""
    tied = [request for request in requests if request.tied]
    models = {name for request in tied for name, own, _ in request.leaves if own}
    for name in sorted({name for request in tied for name, _, _ in request.leaves}):
        if path_keys(name)[-1:] and path_keys(name)[-1] in _PARAMETERS:
            continue
        rests = {id(request): request.rest_at(name) for request in tied}
        if _follows(tied, rests, None) or any(_follows(tied, rests, kind) for kind in _kinds(tied)):
            continue
        usual: dict[Any, Words] = {}
        for shape in {request.tied[0].shape for request in tied}:
            same = Counter(rests[id(request)] for request in tied if request.tied[0].shape == shape)
            usual[shape] = min(same, key=lambda rest: (-same[rest], rest))
        for request in tied:
            if rests[id(request)] != usual[request.tied[0].shape]:
                if name in models:
                    yield EVALUATOR, name, request, "a turn of the model's own differs from request to request"
                else:
                    yield UNEXPLAINED, name, request, "text that is no input differs from request to request"


def _kinds(requests: Sequence[_Request]) -> list[str]:
    return sorted({name for request in requests for name, _ in request.tied[0].kinds})


def _follows(requests: Sequence[_Request], rests: Mapping[int, Words], kind: str | None) -> bool:
    """Whether the rest follows from the number of input values and one field with a closed list of values."""
    groups: dict[Any, set[Words]] = {}
    for request in requests:
        record = request.tied[0]
        groups.setdefault((record.shape, dict(record.kinds).get(kind or "")), set()).add(rests[id(request)])
    enough = kind is None or len(groups) <= len(requests) / 2  # else every request is a group of its own
    return enough and all(len(group) == 1 for group in groups.values())


def _untied(requests: Sequence[_Request]) -> Iterator[_Fault]:
    for request in requests:
        if not request.tied:
            yield UNTIED, None, request, "no record of the release has all its input in this request"
