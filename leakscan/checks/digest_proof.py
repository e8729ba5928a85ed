"""Prove what a digest is a digest of: recompute it from the audio that the record is about, and name the recipe.

Values count as columns: those of one file and JSON path, of one dress and length.  A digest may also stand in a longer
text, be the key of an object or the name of an audio file; these count as columns of their own.  A column of numbers
that lie close together, of words or of random UUIDs is left alone.  Of the others a few values are held against ever
more recipes: texts of the record and of its rows in the evaluator's tables, the six likely recipes, all recipes about
bytes, decoded samples; see `leakscan.recipes`.  A recipe is proven by two distinct values that agree, or by one of
`ENOUGH_BITS`.  Then all values are held against it alone, so the count is exact; what it does not explain gets another
`ROUNDS` chances.  Of a column with more than `KEPT` values, twice as many at most are held, at even distances, and the
message says of how many.

By accident a proof comes about with the probability of candidates / 2^bits: the digests and positions tried, times the
choices of the agreeing values among all, over the bits in which they agree together.  The message says so where that
is more than one in 10^`NEGLIGIBLE`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from leakscan.config import Config
from leakscan.dresses import (
    TELLING_NUMBER,
    TELLING_PART,
    TELLING_TEXT,
    forms_of,
    may_be_digests,
    parts_of,
    shape_of,
    undressed,
)
from leakscan.model import (
    Entry,
    Finding,
    Item,
    Malformed,
    Observation,
    Place,
    Private,
    Release,
    Secret,
    facts,
    path_keys,
)
from leakscan.owners import audio_names, key_of, parent_of
from leakscan.recipes import BYTES, LIKELY, PCM, SIZES, TEXT, Kind, Recipe
from leakscan.sources import Sources, Subject
from leakscan.text import is_audio_name, plain

ENOUGH_BITS = 64  # a single value that long agrees by no accident; a shorter one needs a second
GATE = 32  # values of a column by which it is judged whether they may be digests at all
KEPT = 1 << 13  # values of a column, at least, if it has them
SAMPLES: Mapping[str, int] = {"texts": 32, "likely": 8, "bytes": 4, "pcm": 2}  # distinct values per stage
CHEAP = ("texts", "likely")
LOOK = 1000  # values among which a sample is looked for
ROUNDS = 3
NEGLIGIBLE = 18
PLACES = 100

_KINDS: Mapping[str, Sequence[Kind]] = {
    "texts": TEXT,
    "likely": LIKELY,
    "bytes": BYTES,
    "pcm": PCM,
}
_WHERE: Mapping[str, str] = {
    "": "{}",
    "text": "{}, in a longer text",
    "key": "{}, as a key",
    "file": "{}, as its name",
}
CANDIDATES = math.log2((len(BYTES) + len(PCM) + len(TEXT)) * 256)
"""The binary logarithm of how many pieces of digests a value is held against at most: 128 of each, both ways round."""


_Related = tuple[tuple[str, ...], tuple[str, ...]]
"""The audio files that a record names, and its keys in the evaluator's tables."""


@dataclass(slots=True)
class _Column:
    """Values of one file, JSON path and shape, each `step`th; `closed` once the first of them cannot be digests."""

    shape: tuple[str, int]
    values: list[Subject] = field(default_factory=list)
    count: int = 0
    step: int = 1
    closed: bool = False

    def wants_next(self) -> bool:
        """Count a value; whether it is one to keep."""
        self.count += 1
        return (self.count - 1) % self.step == 0

    def add(self, value: Subject) -> None:
        """Keep a value."""
        self.values.append(value)
        if self.count == GATE and not may_be_digests(self.shape[0], [value.text for value in self.values]):
            self.closed = True
            self.values = []
        elif len(self.values) == 2 * KEPT:
            self.values = self.values[::2]
            self.step *= 2


@dataclass(frozen=True, slots=True)
class _Proven:
    """The values that a recipe explains, each with its file, None for texts and originals (not in the release).

    `chance` is the binary logarithm of the probability of so much agreement by accident.
    """

    recipe: Recipe
    proofs: Sequence[tuple[Subject, Place | None]]
    chance: float


def check(config: Config, private: Private) -> _DigestProof:
    """The check; `private.audio` helps where the release holds no audio, `private.catalogue` knows artist and title."""
    return _DigestProof(private)


class _DigestProof:
    def __init__(self, private: Private) -> None:
        self._private = private
        self._columns: dict[tuple[str, str, str, tuple[str, int]], _Column] = {}

    def wants(self, kind: str, name: str) -> str | None:
        """What looks like a digest; of a column that holds one such value, all values arrive."""
        if kind == "name" and name.startswith("$"):
            return "" if any(parts_of(plain(path_keys(name)[-1]))) else None
        if kind == "name":
            return TELLING_PART if name == "file" else None
        return {"text": f"{TELLING_TEXT}|{TELLING_PART}", "number": TELLING_NUMBER}.get(kind)

    def see(self, item: Item) -> Iterator[Observation]:
        """Every column of values that may be digests, once; what its other records show is added to it."""
        path, record, own = item.place.path, item.place.record, item.place.id
        if item.kind == "file" and isinstance(item.body, Entry) and is_audio_name(path):
            for text in parts_of(path.rpartition("/")[2].rpartition("!")[2]):
                yield from self._take(text, ("", "file"), "file", Place(path, name="file"), lambda: ((path,), ()))
        if item.kind != "record" or isinstance(item.body, Malformed):
            return
        related = functools.cache(functools.partial(self._related, item))
        for kind, name, value in facts(item):
            if kind == "field":
                where, texts = _read(value)
            elif kind == "name":
                where, texts, name = "key", parts_of(plain(value)), parent_of(name, value)
            else:
                continue
            for text in texts:
                yield from self._take(text, (path, name), where, Place(path, record, own, name), related)

    def _take(
        self, text: str, column_of: tuple[str, str], where: str, place: Place, related: Callable[[], _Related]
    ) -> Iterator[Observation]:
        """Add a value to its column; the column itself when this is its first one."""
        shape = shape_of(text)
        if shape is None:
            return
        key = *column_of, where, shape
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = _Column(shape)
            yield Observation(place, column)
        if not column.closed and column.wants_next():
            references, keys = related()
            column.add(Subject(text, place, references, keys, where))

    def _related(self, item: Item) -> _Related:
        """The audio files that a record names and the keys of its rows, of which the chosen facts need not tell."""
        whole = Item(item.place, item.kind, item.body)
        tables = (table for table in (self._private.gold, self._private.catalogue) if table)
        keys = (key for table in tables if (key := key_of(whole, table)) is not None)
        return tuple(dict.fromkeys(audio_names(whole))), tuple(dict.fromkeys(keys))

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """A proven finding for every JSON path that holds values which recipes explain."""
        sources = Sources(release, self._private)
        paths: dict[tuple[str, str | None], list[_Column]] = {}
        for one in observations:
            file = one.place.path if one.place.record is not None else ""
            paths.setdefault((file, one.place.name), []).append(one.value)
        for columns in paths.values():
            found = [proven for values in _groups(columns) for proven in _explained(values, sources)]
            if found:
                yield _finding(found, columns)


def _read(value: object) -> tuple[str, Iterable[str]]:
    """What of a field may be a digest: all of it, or parts of a longer text."""
    if not isinstance(value, str):
        return "", (str(value),) if shape_of(value) is not None else ()
    text = plain(value)
    shape = shape_of(text)
    parts = tuple(parts_of(text)) if shape is None or shape[0] == "base" else ()  # `5000-<hex>` may be base64url, too
    return ("text", parts) if parts or shape is None else ("", (text,))


def _groups(columns: Sequence[_Column]) -> Iterator[Sequence[Subject]]:
    """The values of a JSON path that may be of one recipe: those of one shape, and numbers of any length."""
    numbers: list[Subject] = []
    for column in columns:
        first = [value.text for value in column.values[:GATE]]
        if column.shape[0] == "hex" and all(text.lstrip("-").isdecimal() for text in first):
            numbers += column.values
        elif may_be_digests(column.shape[0], first):
            yield column.values
    if may_be_digests("hex", [value.text for value in numbers[:GATE]]):
        yield numbers


def _explained(seen: Sequence[Subject], sources: Sources) -> Iterator[_Proven]:
    """What each recipe that is found explains."""
    for number in range(ROUNDS):
        recipe = _identified(seen, CHEAP if number else tuple(SAMPLES), sources)
        if recipe is None:
            return
        proofs: list[tuple[Subject, Place | None]] = []
        others: list[Subject] = []
        for one in seen:
            agrees, file = _holds(one, recipe, sources)
            if agrees:
                proofs.append((one, file))
            else:
                others.append(one)
        distinct = len({one.text for one in seen})
        agreeing = len({one.text for one, _ in proofs})
        yield _Proven(recipe, proofs, CANDIDATES + _log2_choices(distinct, agreeing) - agreeing * recipe.cut.bits)
        if not others:
            return
        seen = others


def _identified(seen: Sequence[Subject], stages: Sequence[str], sources: Sources) -> Recipe | None:
    """The recipe that explains most of a sample; None where there is none beyond accident.

    One that explains only some may still be an accident of short files, of which many recipes say the same; so the
    next stage gets its chance too.  Decoding is for what nothing cheaper explains.
    """
    best: tuple[float, Recipe] | None = None
    for stage in stages:
        if best is not None and (best[0] == 1.0 or stage == "pcm"):
            break
        found = _of_stage(seen, stage, sources)
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    return best[1] if best is not None else None


def _of_stage(seen: Sequence[Subject], stage: str, sources: Sources) -> tuple[float, Recipe] | None:
    """The best recipe of a stage, after the share of the sample that it explains."""
    votes: dict[Recipe, set[str]] = {}
    sample: set[str] = set()
    for one in itertools.islice(seen, LOOK):
        text = one.text
        if len(sample) == SAMPLES[stage]:
            break
        if text in sample:
            continue
        forms = forms_of(text)
        kinds = _long_enough(stage, min((form.bytes for form in forms), default=0))
        for _, digests in sources.digests(one, kinds):
            sample.add(text)
            for kind, cut in itertools.chain.from_iterable(map(digests.cuts, forms)):
                votes.setdefault(Recipe(kind, cut), set()).add(text)
    sure = [recipe for recipe, texts in votes.items() if len(texts) > 1 or recipe.cut.bits >= ENOUGH_BITS]
    if not sure:
        return None
    # head and whole agree on files that are shorter: the whole file, which comes first, is then the simpler statement
    best = min(sure, key=lambda recipe: (-len(votes[recipe]), *recipe.rank))
    return len(votes[best]) / len(sample), best


@functools.cache
def _long_enough(stage: str, size: int) -> Sequence[Kind]:
    """The kinds of a stage whose digests have so many bytes or more."""
    return tuple(kind for kind in _KINDS[stage] if SIZES[kind.algorithm] >= size)


def _holds(one: Subject, recipe: Recipe, sources: Sources) -> tuple[bool, Place | None]:
    """Whether a recipe explains a value, and by which file of the release."""
    forms = [form for form in forms_of(one.text) if form.dress == recipe.cut.dress]
    for place, digests in sources.digests(one, (recipe.kind,)):
        if any(digests.cut(recipe.kind, form) == recipe.cut for form in forms):
            return True, place
    return False, None


def _log2_choices(number: int, chosen: int) -> float:
    """The binary logarithm of the number of ways to choose so many."""
    lgamma = math.lgamma
    return (lgamma(number + 1) - lgamma(chosen + 1) - lgamma(number - chosen + 1)) / math.log(2)


def _finding(found: Sequence[_Proven], columns: Sequence[_Column]) -> Finding:
    """One finding for all values of a JSON path that are explained, in the words of the commonest recipe."""
    counts: dict[Recipe, int] = {}
    for proven in found:
        counts[proven.recipe] = counts.get(proven.recipe, 0) + len(proven.proofs)
    best = min(counts, key=lambda recipe: (-counts[recipe], *recipe.rank))
    mine = [proven for proven in found if proven.recipe == best]
    texts = [undressed(one.text) for proven in mine for one, _ in proven.proofs]
    proofs = sorted(
        (proof for proven in found for proof in proven.proofs), key=lambda proof: proof[0].place.record or 0
    )
    url = any(sign in text for text in texts for sign in "-_")
    where = mine[0].proofs[0][0].where
    message = _WHERE[where].format(best.sentence(url, "the" if where == "file" else "the record's"))
    digits = -min(proven.chance for proven in mine) * math.log10(2)
    if digits < NEGLIGIBLE:
        message += f"; by accident once in 10^{max(0, math.floor(digits))}"
    sampled = [column for column in columns if column.step > 1]
    if sampled:
        tried, number = (sum(map(size, columns)) for size in (lambda one: len(one.values), lambda one: one.count))
        message += f"; of {number:,} values {tried:,} were tried"
    files = dict.fromkeys(file for _, file in proofs if file is not None)
    unit = "digits" if best.cut.dress in ("hex", "reversed hex", "decimal") else "characters"
    length = best.cut.length if "hex" in best.cut.dress else len(texts[0])
    return Finding(
        rule="",
        level="error",
        confidence="proven",
        message=message,
        place=proofs[0][0].place,
        count=len(proofs),
        places=tuple(one.place for one, _ in proofs[:PLACES]),
        related=tuple(itertools.islice(files, PLACES)),
        evidence=Secret(best.cut.dress, length, unit, best.named(url)),
    )
