"""Prove what a digest is a digest of: recompute it from the audio that the record is about, and name the recipe.

Values count as columns: those of one file and JSON path, of one dress and length.  A column of numbers that lie close
together, of words or of random UUIDs is left alone.  Of the others a few values are held against ever more recipes:
texts of the record, the six likely recipes, all recipes about bytes, decoded samples; see `leakscan.recipes`.  A recipe
is proven by two distinct values that agree, or by one of `ENOUGH_BITS`.  Then all values are held against it alone, so
the count is exact; what it does not explain gets another `ROUNDS` chances.

By accident a proof comes about with the probability of candidates / 2^bits: the digests and positions tried, times the
choices of the agreeing values among all, over the bits in which they agree together.  The message says so where that
is more than one in 10^`NEGLIGIBLE`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from leakscan import media
from leakscan.config import Config
from leakscan.model import (
    Entry,
    Finding,
    Item,
    LeakscanError,
    Malformed,
    Observation,
    Place,
    Private,
    Release,
    Secret,
    facts,
)
from leakscan.recipes import (
    ALGORITHMS,
    BYTES,
    LIKELY,
    PCM,
    TEXTS,
    Cut,
    Dressed,
    Kind,
    digests_of_file,
    digests_of_text,
    forms_of,
    may_be_digests,
    shape_of,
)
from leakscan.text import is_audio_name

ENOUGH_BITS = 64  # a single value that long agrees by no accident; a shorter one needs a second
GATE = 32  # values of a column by which it is judged whether they may be digests at all
SAMPLES: Mapping[str, int] = {"texts": 32, "likely": 8, "bytes": 4, "pcm": 2}  # distinct values per stage
CHEAP = ("texts", "likely")
LOOK = 1000  # records among which a sample is looked for
ROUNDS = 3
NEGLIGIBLE = 18
PLACES = 100

_KINDS: Mapping[str, tuple[Kind, ...]] = {"likely": LIKELY, "bytes": BYTES, "pcm": PCM}
CANDIDATES = math.log2((len(BYTES) + len(PCM) + len(TEXTS) * len(ALGORITHMS)) * 128)
"""The binary logarithm of how many pieces of digests a value is held against at most: up to 128 of each."""
_ORDER = {kind: order for order, kind in enumerate((*BYTES, *PCM))}
_DRESSES = ("hex", "uuid", "base64", "base32", "decimal")


class _Value(NamedTuple):
    """A value that may be a digest, and the audio files that its record may refer to."""

    text: str
    shape: tuple[str, int]
    references: tuple[str, ...]


class _Recipe(NamedTuple):
    """How a value is made."""

    kind: Kind
    cut: Cut

    def named(self, url: bool) -> str:
        """The recipe in short; `url` where the column writes base64 as URLs do."""
        return f"{self.kind.algorithm}/{self.kind.scope}/{_url(str(self.cut), url)}"

    def sentence(self, url: bool) -> str:
        """The recipe in words."""
        return f"{ALGORITHMS[self.kind.algorithm][0]}{self._scope_and_cut(url)}"

    def _scope_and_cut(self, url: bool) -> str:
        what, _, number = self.kind.scope.partition(":")
        cut = _cut_in_words(self.cut, url)
        if what in ("head", "tail"):
            end = "first" if what == "head" else "last"
            return f" of the {end} {int(number):,} bytes{cut} of the record's audio file"
        return f"{cut} of the record's {_SCOPES[what]}" + (f" ({number})" if number else "")


_SCOPES = {
    "whole": "whole audio file",
    "untagged": "audio file without its tags",
    "flac": "samples, as the FLAC file states it",
    "pcm": "decoded samples",
    "name": "audio file's name",
    "stem": "audio file's name without extension",
    "path": "reference to its audio file",
    "id": "ID",
    "artist-title": "artist - title",
}


def _cut_in_words(cut: Cut, url: bool) -> str:
    signs = "hex digits" if cut.dress == "hex" else "bytes" if cut.dress == "decimal" else "characters"
    part = ""
    if cut.length < cut.total:
        last = cut.first + cut.length
        part = f", {signs} {cut.first + 1} to {last}" if cut.first else f", first {cut.length} {signs}"
    dress = {"hex": "", "uuid": ", as a UUID", "decimal": ", as a number"}.get(cut.dress, f", in {cut.dress}")
    return f"{part}{_url(dress, url)}," if part or dress else ""


def _url(text: str, url: bool) -> str:
    return text.replace("base64", "base64url") if url else text


@dataclass(frozen=True, slots=True)
class _Proven:
    """The values that a recipe explains, each with its file, None for texts and originals (not in the release).

    `chance` is the binary logarithm of the probability of so much agreement by accident.
    """

    recipe: _Recipe
    proofs: Sequence[tuple[Observation, Place | None]]
    chance: float


def check(config: Config, private: Private) -> _DigestProof:
    """The check; `private.audio` helps where the release holds no audio, `private.catalogue` knows artist and title."""
    return _DigestProof(private)


class _DigestProof:
    def __init__(self, private: Private) -> None:
        self._private = private
        self._first: dict[tuple[str, str, tuple[str, int]], list[str]] = {}
        self._open: dict[tuple[str, str, tuple[str, int]], bool] = {}

    def wants(self, kind: str, name: str) -> str | None:
        """What may be a digest in any dress, or refer to audio."""
        return {"text": r"^[\w+/:={}-]{8,170}$|\.\w{2,5}$", "number": "^-?[0-9]{9,}$"}.get(kind)

    def see(self, item: Item) -> Iterator[Observation]:
        """Every value that may be a digest, with the record's references to audio."""
        if item.kind != "record" or isinstance(item.body, Malformed):
            return
        references: tuple[str, ...] | None = None
        for kind, name, value in facts(item):
            if kind != "field" or isinstance(value, float) or (isinstance(value, str) and len(value) < 8):
                continue  # most values are no digest: this is on the path of every one of them
            shape = shape_of(value)
            if shape is None:
                continue
            text = str(value)
            if self._is_open((item.place.path, name, shape), text):
                if references is None:
                    references = _references(item)
                place = Place(item.place.path, item.place.record, item.place.id, name)
                yield Observation(place, _Value(text, shape, references))

    def _is_open(self, column: tuple[str, str, tuple[str, int]], text: str) -> bool:
        """Whether a column may hold digests: unknown, hence yes, until `GATE` values are seen."""
        known = self._open.get(column)
        if known is None:
            first = self._first.setdefault(column, [])
            first.append(text)
            if len(first) == GATE:
                self._open[column] = may_be_digests(column[2][0], self._first.pop(column))
            return True
        return known

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """A proven finding for every column that a recipe explains."""
        sources = _Sources(release, self._private)
        columns: dict[tuple[str, str | None], dict[tuple[str, int], list[Observation]]] = {}
        for one in observations:
            shapes = columns.setdefault((one.place.path, one.place.name), {})
            shapes.setdefault(one.value.shape, []).append(one)
        for shapes in columns.values():
            found = [proven for seen in _groups(shapes) for proven in _explained(seen, sources)]
            if found:
                yield _finding(found)


def _groups(shapes: Mapping[tuple[str, int], list[Observation]]) -> Iterator[list[Observation]]:
    """The values of a JSON path that may be of one recipe: those of one shape, and numbers of any length."""
    numbers: list[Observation] = []
    for (dress, _), seen in shapes.items():
        first = [one.value.text for one in seen[:GATE]]
        if dress == "hex" and all(text.lstrip("-").isdecimal() for text in first):
            numbers += seen
        elif may_be_digests(dress, first):
            yield seen
    if may_be_digests("hex", [one.value.text for one in numbers[:GATE]]):
        yield numbers


def _explained(seen: Sequence[Observation], sources: _Sources) -> Iterator[_Proven]:
    """What each recipe that is found explains."""
    for number in range(ROUNDS):
        recipe = _identified(seen, CHEAP if number else tuple(SAMPLES), sources)
        if recipe is None:
            return
        proofs: list[tuple[Observation, Place | None]] = []
        others: list[Observation] = []
        for one in seen:
            agrees, file = _holds(one, recipe, sources)
            if agrees:
                proofs.append((one, file))
            else:
                others.append(one)
        distinct = len({one.value.text for one in seen})
        agreeing = len({one.value.text for one, _ in proofs})
        yield _Proven(recipe, proofs, CANDIDATES + _log2_choices(distinct, agreeing) - agreeing * recipe.cut.bits)
        if not others:
            return
        seen = others


def _identified(seen: Sequence[Observation], stages: Sequence[str], sources: _Sources) -> _Recipe | None:
    """The recipe that explains most of a sample; None where there is none beyond accident.

    One that explains only some may still be an accident of short files, of which many recipes say the same; so the
    next stage gets its chance too.  Decoding is for what nothing cheaper explains.
    """
    best: tuple[float, _Recipe] | None = None
    for stage in stages:
        if best is not None and (best[0] == 1.0 or stage == "pcm"):
            break
        found = _of_stage(seen, stage, sources)
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    return best[1] if best is not None else None


def _of_stage(seen: Sequence[Observation], stage: str, sources: _Sources) -> tuple[float, _Recipe] | None:
    """The best recipe of a stage, after the share of the sample that it explains."""
    votes: dict[_Recipe, set[str]] = {}
    sample: set[str] = set()
    for one in itertools.islice(seen, LOOK):
        text = one.value.text
        if len(sample) == SAMPLES[stage]:
            break
        if text in sample:
            continue
        forms = forms_of(text)
        for _, digests in sources.of(one, stage):
            sample.add(text)
            for kind, dressed in digests:
                for form in forms:
                    cut = dressed.cut(form)
                    if cut is not None:
                        votes.setdefault(_Recipe(kind, cut), set()).add(text)
    sure = [recipe for recipe, texts in votes.items() if len(texts) > 1 or recipe.cut.bits >= ENOUGH_BITS]
    if not sure:
        return None
    # head and whole agree on files that are shorter: the whole file, which comes first, is then the simpler statement
    best = min(sure, key=lambda recipe: (-len(votes[recipe]), *_simplicity(recipe)))
    return len(votes[best]) / len(sample), best


def _simplicity(recipe: _Recipe) -> tuple[int, int, int]:
    return _ORDER.get(recipe.kind, 0), _DRESSES.index(recipe.cut.dress), recipe.cut.first


def _holds(one: Observation, recipe: _Recipe, sources: _Sources) -> tuple[bool, Place | None]:
    """Whether a recipe explains a value, and by which file of the release."""
    forms = [form for form in forms_of(one.value.text) if form.dress == recipe.cut.dress]
    for place, dressed in sources.digests(one, recipe.kind):
        if any(dressed.cut(form) == recipe.cut for form in forms):
            return True, place
    return False, None


def _log2_choices(number: int, chosen: int) -> float:
    """The binary logarithm of the number of ways to choose so many."""
    lgamma = math.lgamma
    return (lgamma(number + 1) - lgamma(chosen + 1) - lgamma(number - chosen + 1)) / math.log(2)


def _finding(found: Sequence[_Proven]) -> Finding:
    """One finding for all values of a JSON path that are explained, in the words of the commonest recipe."""
    counts: dict[_Recipe, int] = {}
    for proven in found:
        counts[proven.recipe] = counts.get(proven.recipe, 0) + len(proven.proofs)
    best = min(counts, key=lambda recipe: (-counts[recipe], *_simplicity(recipe)))
    mine = [proven for proven in found if proven.recipe == best]
    texts = [one.value.text for proven in mine for one, _ in proven.proofs]
    proofs = sorted(
        (proof for proven in found for proof in proven.proofs), key=lambda proof: proof[0].place.record or 0
    )
    url = any(sign in text for text in texts for sign in "-_")
    message = best.sentence(url)
    digits = -min(proven.chance for proven in mine) * math.log10(2)
    if digits < NEGLIGIBLE:
        message += f"; by accident once in 10^{max(0, math.floor(digits))}"
    files = dict.fromkeys(file for _, file in proofs if file is not None)
    unit = "digits" if best.cut.dress in ("hex", "decimal") else "characters"
    length = len(texts[0]) if best.cut.dress != "hex" else best.cut.length
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


def _references(item: Item) -> tuple[str, ...]:
    values = (value for kind, _, value in facts(item) if kind == "field" and isinstance(value, str))
    return tuple(dict.fromkeys(value for value in values if is_audio_name(value)))


class _Sources:
    """What a record may hold a digest of: audio files and texts, with their digests, each computed once."""

    def __init__(self, release: Release, private: Private) -> None:
        self._release = release
        self._catalogue = private.catalogue
        self._known: dict[tuple[Path | str, str], Sequence[tuple[Kind, Dressed]]] = {}
        self._single: dict[tuple[Path | str, Kind], Dressed | None] = {}
        self._text = functools.lru_cache(maxsize=1 << 10)(_digests_of_text)
        self._originals: dict[str, Entry] = {}
        for file in sorted(private.audio.rglob("*")) if private.audio is not None else ():
            if file.is_file() and is_audio_name(file.name):
                self._originals.setdefault(file.stem, Entry(file.name, file, file.stat().st_size))

    def of(self, one: Observation, stage: str) -> Iterator[tuple[Place | None, Sequence[tuple[Kind, Dressed]]]]:
        """The digests of a stage."""
        if stage == "texts":
            for scope, text in self._texts(one):
                yield None, [(Kind(algorithm, scope), dressed) for algorithm, dressed in self._text(text)]
            return
        for place, key, entry in self._files(one):
            if (key, stage) not in self._known:
                found = _digests(entry, _KINDS[stage])
                self._known[key, stage] = [(kind, Dressed(digest)) for kind, digest in found.items()]
            yield place, self._known[key, stage]

    def digests(self, one: Observation, kind: Kind) -> Iterator[tuple[Place | None, Dressed]]:
        """The digests of one kind."""
        if kind.scope in TEXTS:
            for scope, text in self._texts(one):
                if scope == kind.scope:
                    yield from (
                        (None, dressed) for algorithm, dressed in self._text(text) if algorithm == kind.algorithm
                    )
            return
        for place, key, entry in self._files(one):
            if (key, kind) not in self._single:
                digest = _digests(entry, (kind,)).get(kind)
                self._single[key, kind] = Dressed(digest) if digest is not None else None
            dressed = self._single[key, kind]
            if dressed is not None:
                yield place, dressed

    def _texts(self, one: Observation) -> Iterator[tuple[str, str]]:
        item = one.place.id
        for reference in one.value.references:
            name = PurePosixPath(reference).name
            yield from (("name", name), ("stem", PurePosixPath(name).stem), ("path", reference))
        if item is not None:
            yield "id", item
        for key in dict.fromkeys((item, *(PurePosixPath(reference).stem for reference in one.value.references))):
            row = self._catalogue.get(key, {}) if key is not None else {}
            if row.get("artist") and row.get("title"):
                text = f"{row['artist']} - {row['title']}"
                yield from (("artist-title", text), ("artist-title", text.lower()))

    def _files(self, one: Observation) -> Iterator[tuple[Place | None, Path | str, Entry]]:
        """The audio files that a record is about, in the release and among the originals."""
        references = one.value.references
        for reference in references:
            entry = self._release.find(one.place.path, reference)
            if entry is not None:
                yield Place(entry.path), entry.path, entry
        for stem in dict.fromkeys((one.place.id, *(PurePosixPath(reference).stem for reference in references))):
            if stem in self._originals:
                yield None, self._originals[stem].file, self._originals[stem]


def _digests(entry: Entry, kinds: Sequence[Kind]) -> dict[Kind, bytes]:
    """The digests of a file, without those that cannot be had: the walk reports what is unreadable."""
    decoded = [kind for kind in kinds if kind.scope.startswith("pcm:")]
    found: dict[Kind, bytes] = {}
    try:
        if len(decoded) < len(kinds):
            with entry.open() as stream:
                found = digests_of_file(stream, kinds)
        for kind in decoded:
            found[kind] = _decoded(entry, kind)
    except (LeakscanError, OSError):
        pass
    return found


_FFMPEG = {"md5": "MD5", "sha1": "SHA160", "sha256": "SHA256", "crc32": "CRC32"}  # `ffmpeg -h muxer=hash`


def _decoded(entry: Entry, kind: Kind) -> bytes:
    """The digest of the decoded samples.  Raises `LeakscanError`."""
    sample = kind.scope.partition(":")[2]
    with media.on_disk(entry) as path:
        done = media._decode(path, entry.path, **{"c:a": f"pcm_{sample}"}, format="hash", hash=_FFMPEG[kind.algorithm])
    return bytes.fromhex(done.output.decode("ascii").strip().rpartition("=")[2])


def _digests_of_text(text: str) -> tuple[tuple[str, Dressed], ...]:
    return tuple((algorithm, Dressed(digest)) for algorithm, digest in digests_of_text(text))
