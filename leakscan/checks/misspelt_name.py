"""Find names of the evaluator's side that are misspelt by one letter: `anser`, `corect`, `solutoin`.

Public data sets hold such keys (`anser` in an audio-visual one of 2022), and no list of names does.  One letter may be
missing, too many, another one, or swapped with its neighbour; long words only, since `bold` is not a misspelt `gold`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Finding, Item, Observation, Place, Private, Release, Secret, facts, path_keys
from leakscan.text import spellings

WORDS = ("answer", "correct", "solution", "groundtruth", "caption", "expected", "distractor", "explanation")
PLACES = 100

_OPTIONS = re.compile(r"(?:choices|options)\b")


def check(config: Config, private: Private) -> _MisspeltName:
    """The check; it needs nothing of the evaluator's side."""
    return _MisspeltName()


class _MisspeltName:
    def wants(self, kind: str, name: str) -> str | None:
        """What is not blank under a misspelt name."""
        return r"\S" if kind in ("text", "number") and _is_misspelt(name) else None

    def see(self, item: Item) -> Iterator[Observation]:
        """Every value under a misspelt name."""
        if item.kind != "record":
            return
        for kind, name, value in facts(item):
            if _is_misspelt(name) and kind == "field" and (text := "" if value is None else str(value).strip()):
                yield Observation(Place(item.place.path, item.place.record, item.place.id, name), len(text))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding per file and JSON path."""
        columns: dict[tuple[str, str | None], list[Observation]] = {}
        for observation in observations:
            columns.setdefault((observation.place.path, observation.place.name), []).append(observation)
        for seen in columns.values():
            yield Finding(
                rule="",
                level="error",
                confidence="strong",
                message="a field of the evaluator's side, its name misspelt by one letter",
                place=seen[0].place,
                count=len(seen),
                places=tuple(one.place for one in seen[:PLACES]),
                evidence=Secret("text", seen[0].value),
            )


@functools.lru_cache(maxsize=1 << 14)
def _is_misspelt(name: str) -> bool:
    """Whether a key of a JSON path is one letter away from a name of the evaluator's side, and none itself."""
    if _OPTIONS.search(name):
        return False
    words = {word for key in path_keys(name) for word in spellings(key)[-1].split("_")}
    return any(_one_off(word, known) for word in words for known in WORDS)


def _one_off(word: str, known: str) -> bool:
    """Whether `word` is `known` with one letter missing, too many, another or swapped; plurals are not misspelt."""
    if abs(len(word) - len(known)) > 1 or word in (known, f"{known}s"):
        return False
    start = next((n for n, (a, b) in enumerate(zip(word, known, strict=False)) if a != b), min(len(word), len(known)))
    a, b = word[start:], known[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
