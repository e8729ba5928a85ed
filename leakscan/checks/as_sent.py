"""Hold captured model requests against the release: only what its `input` fields say may be in them.

A request is tied to the records whose input texts all stand in it.  These are taken out, each once; the rest is the
adapter's own text.  There a value of another field, or of the evaluator's side, is a leak; and whatever else differs
from request to request, without following from the kind of question, comes from somewhere it should not.

A comment of markup in a request is one that the model reads and nobody sees, be it the adapter's or the record's.

Where a record has options, the raw text shows besides whether one of them is sent otherwise than the others, and
whether an order that is not the record's puts the right one where it is found by its place.
"""

from __future__ import annotations

import bisect
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leakscan import chance, comments
from leakscan.config import Config, RecordSet
from leakscan.embedded import AUDIO
from leakscan.model import (
    Confidence,
    Finding,
    Item,
    Level,
    Malformed,
    Observation,
    Place,
    Private,
    Release,
    child_name,
    path_keys,
)
from leakscan.phrases import Phrases, Words
from leakscan.phrases import noted_words as words
from leakscan.questions import odd_one, offer_of, place_of

ROUTING, EVALUATOR, UNEXPLAINED, UNTIED = "sent-routing", "sent-evaluator", "sent-unexplained", "sent-untied"
MARKED, POSITION, HIDDEN = "marked-option", "gold-position", "hidden-comment"
FEWEST, SHARE = 5, 0.2
"""In how many requests, and in which share of those that show options, a sign must set one apart; words do in one."""
LEVEL = 0.01
"""What the smallest p of a file of requests may be by accident."""

_GAP = ""  # stands where an input value was taken out, so that no phrase is found across it
_DISTINCTIVE = 5  # characters: shorter values occur by chance, and are looked for under their own name only
_MODEL_ROLES = frozenset(("assistant", "model", "gpt", "bot", "ai"))
_PARAMETERS = frozenset(
    "model seed temperature top_p top_k n stream timeout max_tokens max_completion_tokens max_output_tokens".split()
)
_FIXED = frozenset(("role", "type", "format", "media_type", "mime_type"))  # services take nothing but a few words here
# what the formats hand on to be judged as a file
_AUDIO = re.compile(rf"\s*(?:data:[^,]{{0,200}},|{AUDIO})")
_WORD = re.compile(r"[A-Za-z_-]+")
_LINE_END = re.compile(r"\n|\\+n")
_ESCAPE = re.compile(r"\\+[nrt\"]")  # what JSON within a text looks like


def check(config: Config, private: Private) -> _AsSent | None:
    """The check; it is silent where the configuration names no captured requests."""
    return _AsSent(config, private) if config.sent else None


@dataclass(frozen=True, slots=True)
class _Record:
    """What a record of the release says; `kinds` are the values of its fields with a closed list of values."""

    id: str | None
    texts: tuple[tuple[str, Words], ...]
    paths: tuple[Words, ...]
    others: tuple[tuple[str, Words], ...]
    kinds: tuple[tuple[str, str], ...]
    options: tuple[str, ...] = ()
    gold: int | None = None  # which option is right, where that is known

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
    lines: list[tuple[str, str]]  # what it says as it is, line by line, each with its JSON path
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
        if isinstance(item.body, Malformed):
            return
        if item.kind == "request" and not item.place.path.endswith(".har"):  # an archive's bodies are its members
            yield Observation(item.place, _request(item))
        elif item.kind in ("record", "reference"):
            records = self._config.record_set(item.place.path)
            if records is not None:
                yield Observation(item.place, _record(item, records, self._private))

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
            faults = (
                *leaks.among(captured), *_unexplained(captured), *_untied(captured), *_told_by_options(captured),
                *_hidden(captured, self._private),
            )  # fmt: skip
            for rule, name, request, message in faults:
                key = rule, request.place.path, name
                found.setdefault(key, []).append((request.place, message))
            for (rule, path, name), seen in found.items():
                places = tuple(dict.fromkeys(place for place, _ in seen))
                message = "; ".join(dict.fromkeys(message for _, message in seen))
                first = Place(path, places[0].record, None, name)
                confidence: Confidence = "weak" if rule == UNEXPLAINED else "strong"
                level: Level = "warning" if rule == HIDDEN else "error"
                yield Finding(rule, level, confidence, message, first, len(places), places)


# --- reading ---------------------------------------------------------------------------------------------------------


def _record(item: Item, records: RecordSet, private: Private) -> _Record:
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
    offer = offer_of(item.body)
    options = tuple(_composed(option).strip() for option in offer.options) if offer is not None else ()
    answers = private.gold.get(item.place.id or "", {}).values()
    right = {place for answer in answers if (place := place_of(answer.strip(), options, words)) is not None}
    gold = right.pop() if len(right) == 1 else None
    return _Record(item.place.id, tuple(texts), tuple(paths), tuple(others), tuple(kinds), options, gold)


def _composed(text: str) -> str:
    """A text with one spelling of every accent: which one it has says nothing."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _request(item: Item) -> _Request:
    body, root = item.body, "$"
    custom = body.get("custom_id") if isinstance(body, Mapping) else None
    for key in ("request", "body"):  # of a log, of a batch: what surrounds them is not sent to the model
        inner = _opened(body[key]) if isinstance(body, Mapping) and key in body else None
        if isinstance(inner, Mapping):
            body, root = inner, child_name(root, key)
    leaves: list[tuple[str, bool, Words]] = []
    lines: list[tuple[str, str]] = []
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
            lines += [(name, line) for line in _LINE_END.split(_composed(str(value))) if line]
        elif isinstance(value, bool):
            lines.append((name, str(value)))
    return _Request(item.place, custom if isinstance(custom, str) else None, leaves, lines)


def _whole(requests: Sequence[_Request]) -> list[_Request]:
    """The requests, where the lines of a plain text are one."""
    whole: list[_Request] = []
    for request in requests:
        both = [*whole[-1:], request]
        are_lines = all([name for name, _, _ in one.leaves] == ["$"] for one in both)
        if are_lines and len({one.place.path for one in both}) < len(both):
            ((_, _, before),), ((_, _, said),) = whole[-1].leaves, request.leaves
            whole_lines = [*whole[-1].lines, *request.lines]
            request = replace(whole.pop(), leaves=[("$", False, before + said)], lines=whole_lines)
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
        return _apart(request, [record for key, record in fitting.items() if scores[key] == max(scores.values())])


def _apart(request: _Request, records: Sequence[_Record]) -> list[_Record]:
    """Of records whose texts stand in a request, those whose texts all do at once, without those that others include.

    `D minor` and `C minor` may both stand there and be one of two options only.
    """
    by_texts: dict[tuple[Words, ...], list[_Record]] = {}
    for record in records:
        by_texts.setdefault(tuple(sorted((text for _, text in record.texts), key=_longest_first)), []).append(record)
    said = [list(words) for _, _, words in request.leaves]
    apart = {texts: Counter(texts) for texts in by_texts if _without(said, texts) is not None}
    most = [texts for texts in apart if not any(apart[texts] < more for more in apart.values())]
    return [record for texts in most or by_texts for record in by_texts[texts]]


def _rest(request: _Request) -> list[list[str]]:
    """The words of a request without one occurrence of every input value of its records, and without their paths."""
    rest = [list(said) for _, _, said in request.leaves]
    for record in request.tied[:1]:  # the others say the same
        texts = sorted((text for _, text in record.texts), key=_longest_first)
        while texts and (less := _without(rest, texts)) is not None:  # a template may state the whole question again
            rest = less
    for record in request.tied:
        for path in sorted(record.paths, key=len, reverse=True):
            while _cut(rest, path):
                pass
    return rest


def _longest_first(text: Words) -> tuple[int, Words]:
    return -len(text), text


def _without(parts: Sequence[Sequence[str]], phrases: Iterable[Words]) -> list[list[str]] | None:
    """What is left when each of the phrases is taken out once; nothing where they do not all stand there."""
    left = [list(part) for part in parts]
    return left if all(_cut(left, phrase) for phrase in phrases) else None


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


def _hidden(requests: Sequence[_Request], private: Private) -> Iterator[_Fault]:
    """Comments, and those that hold the gold of their record."""
    found: list[tuple[_Request, str, str]] = []
    for request in requests:
        texts: dict[str, list[str]] = {}
        for name, line in request.lines:
            texts.setdefault(name, []).append(line)
        found += [(request, name, said) for name, text in texts.items() for said in comments.within("\n".join(text))]
    telling = comments.telling(
        [(said, request.tied[0].id or "" if request.tied else "") for request, _, said in found], private.gold
    )
    for number, (request, name, _) in enumerate(found):
        yield HIDDEN, name, request, "a comment of markup, which the model reads and nobody sees"
        if number in telling:
            yield EVALUATOR, name, request, f"a comment holds the record's own gold ({telling[number]})"


# --- what tells one option from the others ---------------------------------------------------------------------------

_SAYS = re.compile(
    r"[(\[<{]\s*(?:correct|right|true|answer|gold|gt)(?:\s+(?:answer|option|one))?\s*[)\]>}]|[\u2713\u2714\u2705]",
    re.IGNORECASE,
)
_ENUMERATOR = re.compile(r"(?<![^\W_])(?:[A-Za-z]|[ivxIVX]{2,4}|\d{1,2})(?![^\W_])")
_LABEL = re.compile(r"\W*(?:[A-Za-z]|[ivxIVX]{2,4}|\d{1,2})[)\].:]+\s")
_SEPARATOR = re.compile(r"\s{0,4}[,;|]\s{0,4}(?:(?:or|and)\s)?|\s(?:or|and)\s|\s/\s|\s(?=[(\[]?[A-J][)\].:]{1,2}\s)")
_UNSEEN = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
_CASES: Sequence[Callable[[str], str]] = (str, str.upper, str.lower, str.capitalize, str.title)


@dataclass(frozen=True, slots=True)
class _Shown:
    """How a request shows an option: what surrounds it, letters and numbers of a list apart, and how it is written."""

    option: int
    name: str
    before: str | None  # None where it is not known
    after: str | None
    cases: frozenset[int]  # of `_CASES`, those that the record's option is written in
    says: bool  # whether a word marks it


class _Options:
    """Finds the options of a record in the lines of a request."""

    def __init__(self, options: Sequence[str]) -> None:
        self._options = options
        self._words = [words(option) for option in options]
        self._called: dict[str, list[int]] = {}
        for number, option in enumerate(options):
            self._called.setdefault(_spelling(_UNSEEN.sub("", option)).casefold(), []).append(number)
        longest_first = sorted((_UNSEEN.sub("", option) for option in options), key=len, reverse=True)
        self._any = re.compile("|".join(map(_pattern, longest_first)), re.IGNORECASE)

    def shown(self, request: _Request) -> list[_Shown]:
        """The options in the order of the request; nothing where they do not all stand side by side."""
        return self._window(request.lines, True) or self._window([*self._pieces(request.lines)], False)

    def _pieces(self, lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """The lines cut at the separator between one option and the next, the last of several."""
        for name, line in lines:
            start = 0
            end: int | None = None
            for _, (here, there) in self._spans(line):
                cuts = [*_SEPARATOR.finditer(line, end, here)] if end is not None else []
                if cuts:
                    yield name, line[start : cuts[-1].start()]
                    start = cuts[-1].end()
                end = there
            yield name, line[start:]

    def _window(self, segments: Sequence[tuple[str, str]], lines: bool) -> list[_Shown]:
        """The run of segments that shows each option once with the least text around it."""
        held = [(at, found) for at, (_, text) in enumerate(segments) if (found := self._found(text)) is not None]
        number, best, least = len(self._options), list[_Shown](), 0
        for start in range(len(held) - number + 1):
            run = held[start : start + number]
            if len({option for _, (option, _) in run}) < number:
                continue
            ends = [at for at, _ in run[1:]] + [run[-1][0] + 1]
            shown = []
            for (at, (option, span)), end in zip(run, ends, strict=True):
                name, text = segments[at]
                rest = "".join(f"\n{more}" for _, more in segments[at + 1 : end])
                shown.append(self._one(option, name, text, span, rest))
            if not lines:  # within a sentence its beginning and its end are not the options' own
                shown[0], shown[-1] = replace(shown[0], before=None), replace(shown[-1], after=None)
            around = sum(len(one.before or "") + len(one.after or "") for one in shown)
            if not best or around < least:
                best, least = shown, around
        return best

    def _found(self, text: str) -> tuple[int, tuple[int, int] | None] | None:
        """The longest option in a segment and where it is, None for somehow; nothing where there is none."""
        label = _LABEL.match(text)
        for start in (label.end(), 0) if label else (0,):
            if found := self._spans(text, start):
                return max(found, key=lambda one: one[1][1] - one[1][0])
        said = words(text)
        other = [option for option, phrase in enumerate(self._words) if _holds(said, phrase)]
        return (other[0], None) if len(other) == 1 else None

    def _spans(self, text: str, start: int = 0) -> list[tuple[int, tuple[int, int]]]:
        """Which options a text shows where, as far as its letters are theirs."""
        seen: Sequence[int] = range(len(text))
        written = text
        if not text.isascii():
            seen = [place for place in seen if not _UNSEEN.match(text[place])]
            written = "".join(text[place] for place in seen)
            start = bisect.bisect(seen, start - 1)
        spans = []
        for match in self._any.finditer(written, start):
            called = self._called.get(_spelling(match[0]).casefold(), [])
            exact = [option for option in called if _spelling(self._options[option]) == _spelling(match[0])]
            here = seen[match.start()], seen[match.end() - 1] + 1
            spans += [(option, here) for option in (exact or called)[:1]]
        return spans

    def _one(self, option: int, name: str, text: str, span: tuple[int, int] | None, rest: str) -> _Shown:
        says = _SAYS.search(text + rest) is not None and _SAYS.search(self._options[option]) is None
        if span is None:
            return _Shown(option, name, None, None, frozenset(), says)
        wanted, written = _spelling(self._options[option]), _spelling(text[span[0] : span[1]])
        cases = frozenset(number for number, case in enumerate(_CASES) if case(wanted) == written)
        return _Shown(option, name, _listed(text[: span[0]]), _listed(text[span[1] :] + rest), cases, says)


def _spelling(text: str) -> str:
    return " ".join(text.split())


def _pattern(option: str) -> str:
    """An option in any case and spacing, but no part of a longer word, or of a note with a sign."""
    spaced = r"\s+".join(map(re.escape, option.split()))
    return rf"(?<![^\W_]){spaced}(?![^\W_]|[#\u266d\u266f])"


def _listed(text: str) -> str:
    """What surrounds an option, with one letter or number for all that could count it."""
    return _ENUMERATOR.sub(lambda found: "1" if found[0].isdigit() else "A" if found[0].isupper() else "a", text)


def _holds(said: Words, phrase: Words) -> bool:
    return bool(phrase) and any(
        said[start : start + len(phrase)] == phrase for start in range(len(said) - len(phrase) + 1)
    )


def _told_by_options(requests: Sequence[_Request]) -> Iterator[_Fault]:
    """Options that are marked, and orders that put the right one where it is found by its place."""
    readers: dict[tuple[str, ...], _Options] = {}
    seen: list[tuple[_Request, int | None, list[_Shown]]] = []
    for request in requests:
        offered = {record.options for record in request.tied}
        if len(offered) == 1 and len(options := offered.pop()) > 1 and all(map(words, options)):
            right = {record.gold for record in request.tied}
            if options not in readers:
                readers[options] = _Options(options)
            if shown := readers[options].shown(request):
                seen.append((request, right.pop() if len(right) == 1 else None, shown))
    yield from _marked(seen)
    yield from _moved(seen)


def _marked(seen: Sequence[tuple[_Request, int | None, list[_Shown]]]) -> Iterator[_Fault]:
    signs: dict[str, list[tuple[_Request, int | None, _Shown, int]]] = {}
    for request, right, shown in seen:
        if any(one.says for one in shown) and not all(one.says for one in shown):
            marked = next(one for one in shown if one.says)
            yield MARKED, marked.name, request, "an option is sent with a word that says that it is the right one"
        for sign, place in _odd(shown):
            signs.setdefault(sign, []).append((request, right, shown[place], place))
    for sign, odd in signs.items():  # what stands out in one place is a template, unless it is the right one
        varied = len({place for *_, place in odd}) > 1
        known = [(right == one.option, 1 / len(request.tied[0].options)) for request, right, one, _ in odd
                 if right is not None]  # fmt: skip
        hits = sum(hit for hit, _ in known)
        told = chance.tail(chance.independent(share for _, share in known), hits) <= LEVEL
        if len(odd) >= FEWEST and ((varied and len(odd) >= SHARE * len(seen)) or told):
            for request, _, one, _ in odd:
                yield MARKED, one.name, request, f"one option is sent {sign} that the others do not have"


def _odd(shown: Sequence[_Shown]) -> Iterator[tuple[str, int]]:
    """By which sign which of the options, as they are sent, is not like the others."""
    for sign, values in (
        ("with signs before it", [one.before for one in shown]),
        ("with signs after it", [one.after for one in shown]),
    ):
        place = _single(values)
        if place is None and values[-1] is not None and len(values) > 2:  # what follows the list can follow the last
            place = _single([*values[:-1], None])
        if place is not None:
            yield sign, place
    common = [
        place
        for place, one in enumerate(shown)
        if (others := [other.cases for other in shown if other is not one])
        and frozenset.intersection(*others)
        and not one.cases & frozenset.intersection(*others)
    ]
    if len(shown) == 2 and len(common) == 2:  # the one that is not written like the record's
        common = [place for place in common if 0 not in shown[place].cases]
    if len(common) == 1:
        yield "in letters", common[0]


def _single(values: Sequence[str | None]) -> int | None:
    """The place of the one value that differs from the others; of two, the one beside one that is empty."""
    known = [place for place, value in enumerate(values) if value is not None]
    said = [values[place] for place in known]
    if len(known) == 2:
        return next((place for place in known if values[place] and "" in said), None)
    odd = odd_one(said) if len(known) > 2 else None
    return known[odd] if odd is not None else None


def _moved(seen: Sequence[tuple[_Request, int | None, list[_Shown]]]) -> Iterator[_Fault]:
    """Requests in an order of their own, where the right option is in one place more often than by chance."""
    if all(one.option == place for _, _, shown in seen for place, one in enumerate(shown)):
        return
    known = [
        (request, next(place for place, one in enumerate(shown) if one.option == right), shown)
        for request, right, shown in seen
        if right is not None
    ]
    widest = max((len(shown) for *_, shown in known), default=0)
    for number in range(widest):
        able = [1 / len(shown) for *_, shown in known if len(shown) > number]
        hits = [(request, shown) for request, place, shown in known if place == number]
        p = chance.tail(chance.independent(able), len(hits)) * widest
        if len(hits) >= FEWEST and p <= LEVEL:
            for request, shown in hits:
                message = f"the right option is sent as number {number + 1}, in {len(hits)} of {len(able)} requests"
                yield POSITION, shown[0].name, request, f"{message} ({chance.shown(p)})"
