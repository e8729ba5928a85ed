"""Find templates of prompts that put more into a request than input fields.

Jinja in configurations of evaluation harnesses and in files of their own, and the prompts of Python code: what stands
between `{{` and `}}` may name fields with role `input`; no field of the evaluator, none that is for routing, and not
the record as a whole.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Finding, Item, Level, Observation, Place, Private, Release, path_keys

EVALUATOR, FORWARDS = "template-evaluator-field", "template-forwards-all"

_PROMPT = re.compile(r"doc_to_text|prompt|template|instruction|content|message", re.IGNORECASE)
_NO_PROMPT = re.compile(r"target|gold|score|judge|grade|metric|doc_to_choice", re.IGNORECASE)
_EXPRESSION = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}", re.DOTALL)
_SUBSCRIPT = re.compile(r"""\[\s*['"]([^'"\]]+)['"]\s*\]|\.get\(\s*['"]([^'"]+)['"][^()]*\)""")
_LITERAL = re.compile(r"""'[^']*'|"[^"]*\"""")
_CHAIN = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*")
_RECORD = r"(?:doc|record|item|sample|example|row|entry|datum|instance|question_data|json_obj)"
_WHOLE = re.compile(
    rf"^\s*(?:json\.dumps|str|repr|dict|vars|yaml\.dump|pformat)?\(?\s*{_RECORD}\s*(?:[,)|].*)?$"
    rf"|\*\*\s*{_RECORD}\b|\b{_RECORD}\.(?:items|values)\(\)|\b(?:json\.dumps|str|repr)\(\s*{_RECORD}\s*[,)]",
    re.DOTALL,
)
# the usual names of what the evaluator keeps; those of leakscan.toml and of its tables come besides
_USUAL = re.compile(
    r"(?:\w+_)?(?:answer|anser|gold|gt|ground_?truth|correct|label|target|solution|rationale|explanation|reasoning|rubric"
    r"|caption|title|artist|album|composer|performer|isrc|distractor|tempo|bpm|chord|genre|key_signature)s?"
    r"(?:_(?:key|index|idx|letter|text|option|name|id|orders?))?",
    re.IGNORECASE,
)
_FORWARDED = "a template forwards the whole record, whatever is in it"


def check(config: Config, private: Private) -> _PromptTemplate:
    """The check; it asks the configuration and the evaluator's tables for names only."""
    return _PromptTemplate(config, private)


class _PromptTemplate:
    def __init__(self, config: Config, private: Private) -> None:
        fields = [(path_keys(name)[-1], spec) for records in config.records for name, spec in records.fields.items()]
        self._input = {name for name, spec in fields if spec.role == "input"}
        tables = (*private.gold.values(), *private.catalogue.values())
        self._others = {name for name, spec in fields if spec.role != "input"} - self._input
        self._others |= {column for row in tables for column in row} - self._input

    def wants(self, kind: str, name: str) -> str | None:
        """Texts under the usual names of prompts that hold an expression or may name a column."""
        return r"\{\{|\{%|^\w+$" if kind == "text" and _is_prompt(name) else None

    def see(self, item: Item) -> Iterator[Observation]:
        """What is wrong with each template of an item."""
        if item.kind == "template":
            level: Level = "warning" if item.place.path.lower().endswith(".py") else "error"  # code may do more with it
            for name, text in item.body:
                yield from self._judge(item.place, f"$.{name}", text, level)
        elif item.kind == "record":
            for kind, name, value in item.facts:
                if kind == "field" and type(value) is str and _is_prompt(name):
                    if name.endswith("doc_to_text") and value.isidentifier():  # the name of a column
                        value = f"{{{{ {value} }}}}"
                    if "{{" in value or "{%" in value:
                        yield from self._judge(item.place, name, value, "error")

    def _judge(self, place: Place, name: str, text: str, level: Level) -> Iterator[Observation]:
        place = Place(place.path, place.record, place.id, name)
        expressions = [one or other for one, other in _EXPRESSION.findall(text)]
        if any(_WHOLE.search(expression) for expression in expressions):
            yield Observation(place, (FORWARDS, _FORWARDED, level))
        named = dict.fromkeys(field for expression in expressions for field in _fields(expression))
        wrong = [field for field in named if self._is_wrong(field)]
        if wrong:
            shown = ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
            yield Observation(
                place, (EVALUATOR, f"a template puts fields that are no input into the prompt: {shown}", level)
            )

    def _is_wrong(self, field: str) -> bool:
        if field in self._input:
            return False
        return field in self._others or _USUAL.fullmatch(field) is not None

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per rule, file and template."""
        found: dict[tuple[str, str, str | None], list[Observation]] = {}
        for observation in observations:
            found.setdefault((observation.value[0], observation.place.path, observation.place.name), []).append(
                observation
            )
        for (rule, _, _), seen in found.items():
            message = "; ".join(dict.fromkeys(one.value[1] for one in seen))
            places = tuple(one.place for one in seen)
            yield Finding(rule, seen[0].value[2], "strong", message, places[0], len(places), places)


@functools.lru_cache(maxsize=1 << 12)
def _is_prompt(name: str) -> bool:
    """Whether a JSON path is called like a prompt."""
    return _PROMPT.search(name) is not None and _NO_PROMPT.search(name) is None


def _fields(expression: str) -> Iterator[str]:
    """The fields that an expression names: `answer`, `doc.answer`, `doc["answer"]`; not those of a loop's variable."""
    expression = _SUBSCRIPT.sub(lambda found: f".{found[1] or found[2]}", expression)
    for chain in _CHAIN.findall(_LITERAL.sub("", expression)):
        head, *rest = chain.split(".")
        if rest and re.fullmatch(_RECORD, head):
            yield from rest
        else:
            yield head
