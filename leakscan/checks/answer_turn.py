"""Find answers that are a turn of a conversation: an object whose role is the model's and that says something.

What the model is made to say in the same words in all records is a template (a few-shot example, the beginning of the
answer) and tells nothing, so a turn of constant text is no finding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release, Secret, child_name, distinct, facts

ROLE_KEYS = ("role", "from", "speaker", "author", "sender")
MODEL_ROLES = frozenset("assistant gpt model bot chatbot ai agent llm claude gemini completion".split())
CONTENT_KEYS = ("content", "value", "text", "parts", "message")
ENOUGH_TO_BE_CONSTANT = 4  # fewer equal answers could be chance
PLACES = 100


def check(config: Config, private: Private) -> _AnswerTurn:
    """The check; it needs nothing of the evaluator's side."""
    return _AnswerTurn()


class _AnswerTurn:
    def wants(self, kind: str, name: str) -> str | None:
        """Keys that roles stand under."""
        return "" if kind == "name" and name.rpartition(".")[2] in ROLE_KEYS else None

    def see(self, item: Item) -> Iterator[Observation]:
        """Every text that a turn of the model holds, as a digest, with the turn's position."""
        if item.kind != "record" or not any(kind == "name" and key in ROLE_KEYS for kind, _, key in facts(item)):
            return
        stack: list[tuple[str, int, Any]] = [("$", 0, item.body)]
        while stack:
            name, index, value = stack.pop()
            if isinstance(value, Mapping):
                if _is_models(value):
                    yield from _texts(item, name, index, value)
                else:
                    stack.extend((child_name(name, key), 0, child) for key, child in value.items() if _nests(child))
            elif isinstance(value, list):
                stack.extend((f"{name}[]", place, child) for place, child in enumerate(value) if _nests(child))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per JSON path, of the turns that are not the same in all records."""
        turns: dict[tuple[str, str | None, int], list[Observation]] = {}
        for observation in observations:
            index, _, _ = observation.value
            turns.setdefault((observation.place.path, observation.place.name, index), []).append(observation)
        columns: dict[tuple[str, str | None], list[Observation]] = {}
        for (path, name, _), seen in turns.items():
            if len(seen) < ENOUGH_TO_BE_CONSTANT or len({digest for _, digest, _ in (one.value for one in seen)}) > 1:
                columns.setdefault((path, name), []).extend(seen)
        for seen in columns.values():
            seen.sort(key=lambda one: one.place.record or 0)
            places = distinct(one.place for one in seen)
            yield Finding(
                rule="",
                level="error",
                confidence="strong",
                message="a turn of the conversation is the model's own: the answer, most likely",
                place=places[0],
                count=len(places),
                places=places[:PLACES],
                evidence=Secret("text", seen[0].value[2]),
            )


def _nests(value: Any) -> bool:
    return isinstance(value, dict | list)


def _is_models(turn: Mapping[str, Any]) -> bool:
    """Whether an object is a turn of the model."""
    return any(isinstance(role := turn.get(key), str) and role.strip().casefold() in MODEL_ROLES for key in ROLE_KEYS)


def _texts(item: Item, name: str, index: int, turn: Mapping[str, Any]) -> Iterator[Observation]:
    content = Item(item.place, "record", {key: turn[key] for key in CONTENT_KEYS if key in turn})
    for fact in facts(content):
        key = fact.name.rstrip("[]").rpartition(".")[2]  # a part of the content has a type besides its text
        if fact.kind == "field" and key in CONTENT_KEYS and isinstance(fact.value, str) and fact.value.strip():
            place = Place(item.place.path, item.place.record, item.place.id, name + fact.name.removeprefix("$"))
            digest = hashlib.blake2b(fact.value.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            yield Observation(place, (index, digest, len(fact.value)))
