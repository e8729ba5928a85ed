"""Digests of audio are proven by recomputing them, whatever they are made of and however they are written."""

from __future__ import annotations

import base64
import hashlib
import itertools
import random
import uuid
import wave
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from leakscan import media, sources
from leakscan.checks import digest_proof
from leakscan.config import Config, compile_pattern
from leakscan.dresses import TELLING_NUMBER, TELLING_PART, TELLING_TEXT, Form, forms_of, may_be_digests, shape_of
from leakscan.model import Entry, Fact, Finding, Item, LeakscanError, Place, Private, Release
from leakscan.recipes import BYTES, LIKELY, Kind, digests_of_file
from leakscan.text import plain

HEAD = 1 << 20
RNG = random.Random(7)
ID3 = b"ID3\x04\x00\x00\x00\x00\x00\x0a" + b"\0" * 10  # ten bytes of padding
ID3V1 = b"TAG" + b"x" * 125


@pytest.fixture
def audio(tmp_path: Path) -> Path:
    """A release with four files, of which two are longer than the head."""
    folder = tmp_path / "release" / "audio"
    folder.mkdir(parents=True)
    for number in range(4):
        body = random.Random(number).randbytes(HEAD * (number // 2) + 12_000)
        (folder / f"{number}.mp3").write_bytes(ID3 + body + ID3V1)
    return folder


def digest(file: Path, algorithm: str, head: int | None = None) -> str:
    return hashlib.new(algorithm, file.read_bytes()[:head]).hexdigest()


def prove(records: Sequence[Mapping[str, Any]], root: Path, private: Private | None = None) -> list[Finding]:
    check = digest_proof.check(Config(), private or Private())
    items = (Item(Place("prompts/p.jsonl", n, f"id{n}"), "record", record) for n, record in enumerate(records, 1))
    return list(check.finish(Release(root), [seen for item in items for seen in check.see(item)]))


def records(folder: Path, *args: Any, cut: slice = slice(None), form: str = "{}") -> list[Mapping[str, Any]]:
    files = sorted(folder.iterdir())
    return [{"audio": f"audio/{file.name}", "x": form.format(digest(file, *args)[cut])} for file in files]


@pytest.mark.parametrize(
    ("args", "cut", "form", "recipe", "message"),
    [
        (("md5",), slice(None), "{}", "md5/whole/hex", "MD5 of the record's whole audio file"),
        (("sha1", HEAD), slice(None), "{}", "sha1/head:1048576/hex",
         "SHA-1 of the first 1,048,576 bytes of the record's audio file"),
        (("sha256", HEAD), slice(16), "{}", "sha256/head:1048576/hex[:16]",
         "SHA-256 of the first 1,048,576 bytes, first 16 hex digits, of the record's audio file"),
        (("sha256", HEAD), slice(8, 24), "v1:{}", "sha256/head:1048576/hex[8:24]",
         "SHA-256 of the first 1,048,576 bytes, hex digits 9 to 24, of the record's audio file"),
        (("sha1",), slice(8), "sha1-{}", "sha1/whole/hex[:8]",
         "SHA-1, first 8 hex digits, of the record's whole audio file"),
    ],
)  # fmt: skip
def test_recipes(audio: Path, args: tuple[Any, ...], cut: slice, form: str, recipe: str, message: str) -> None:
    (finding,) = prove(records(audio, *args, cut=cut, form=form), audio.parent)
    assert (finding.message, finding.confidence, finding.count) == (message, "proven", 4)
    assert finding.evidence is not None
    assert finding.evidence.recipe == recipe
    assert finding.place == Place("prompts/p.jsonl", 1, "id1", "$.x")
    assert [place.path for place in finding.related] == [f"audio/{number}.mp3" for number in range(4)]


# --- the grid: what was hashed x how x how it is written -------------------------------------------------------------

HASHES: Mapping[str, Callable[[bytes], bytes]] = {
    **{name: (lambda data, name=name: hashlib.new(name.replace("-", "_"), data).digest()) for name in
       ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3-256")},
    "crc32": lambda data: zlib.crc32(data).to_bytes(4, "big"),
    "blake2b": lambda data: hashlib.blake2b(data).digest(),
    **{f"blake2b-{bits}": (lambda data, bits=bits: hashlib.blake2b(data, digest_size=bits // 8).digest())
       for bits in (256, 160, 128, 64)},
    "blake2s": lambda data: hashlib.blake2s(data).digest(),
    "blake2s-128": lambda data: hashlib.blake2s(data, digest_size=16).digest(),
    "sha3-512": lambda data: hashlib.sha3_512(data).digest(),
    "sha512-256": lambda data: hashlib.new("sha512_256", data).digest(),
    "md5-md5": lambda data: hashlib.md5(hashlib.md5(data).hexdigest().encode()).digest(),
}  # fmt: skip
SCOPES: Mapping[str, Callable[[bytes], bytes]] = {
    "whole": lambda data: data,
    "head:1048576": lambda data: data[: 1 << 20],
    "head:1000000": lambda data: data[:1_000_000],
    "head:65536": lambda data: data[:65536],
    "head:1000": lambda data: data[:1000],
    "tail:1048576": lambda data: data[-(1 << 20) :],
    "tail:4096": lambda data: data[-4096:],
    "tail:10000": lambda data: data[-10_000:],
    "untagged": lambda data: data[20:-128],
}
DRESSES: Mapping[str, Callable[[bytes], Any]] = {
    "hex": lambda digest: digest.hex(),
    "hex[:16]": lambda digest: digest.hex()[:16].upper(),
    "hex[8:24]": lambda digest: f"v1:{digest.hex()[8:24]}",
    "hex[:8]": lambda digest: f"sha-{digest.hex()[:8]}",
    "base64": lambda digest: base64.b64encode(digest).decode(),
    "base64url": lambda digest: base64.urlsafe_b64encode(digest).decode().rstrip("="),
    "base64[:16]": lambda digest: base64.b64encode(digest).decode()[:16],
    "base32": lambda digest: base64.b32encode(digest).decode(),
    "uuid": lambda digest: str(uuid.UUID(bytes=digest[:16])),
    "decimal": lambda digest: int.from_bytes(digest, "big"),
    "decimal[:8]": lambda digest: str(int.from_bytes(digest[:8], "big")),
    "reversed hex": lambda digest: digest.hex()[::-1],
}
GRID = [
    *((algorithm, scope, "hex") for algorithm, scope in itertools.product(("md5", "sha1", "sha256"), SCOPES)),
    *((algorithm, "whole", "hex") for algorithm in HASHES if algorithm not in ("md5", "sha1", "sha256")),
    *((algorithm, scope, "hex[:16]") for algorithm in ("sha512", "sha3-256", "blake2b-160")
      for scope in ("head:65536", "tail:4096", "untagged")),
    *(("sha256", "head:1048576", dress) for dress in DRESSES if dress != "hex"),
    *(("md5", "untagged", dress) for dress in ("hex[:8]", "base64url", "base32", "uuid", "decimal", "decimal[:8]")),
    ("blake2b-64", "whole", "decimal"), ("crc32", "head:1000", "decimal"), ("crc32", "tail:10000", "hex"),
    ("crc32", "whole", "base64"), ("crc32", "untagged", "base32"),
    # every algorithm with every scope but three, each in another dress
    *((algorithm, scope, dress) for (algorithm, scope), dress in zip(
        itertools.product(("sha224", "sha384", "sha512", "blake2b", "blake2b-256", "blake2b-160", "blake2s",
                           "blake2s-128"), (*SCOPES,)[3:]), itertools.cycle(DRESSES), strict=False)
      if not dress.startswith("hex")),
]  # fmt: skip


def test_the_grid_is_large() -> None:
    assert len(set(GRID)) == len(GRID) >= 60
    for part, whole in zip(zip(*GRID, strict=True), (HASHES, SCOPES, DRESSES), strict=True):
        assert set(part) == set(whole)


@pytest.mark.parametrize(("algorithm", "scope", "dress"), GRID)
def test_grid(audio: Path, algorithm: str, scope: str, dress: str) -> None:
    files = sorted(audio.iterdir())
    values = [DRESSES[dress](HASHES[algorithm](SCOPES[scope](file.read_bytes()))) for file in files]
    found = [{"audio": f"audio/{file.name}", "x": value} for file, value in zip(files, values, strict=True)]
    (finding,) = prove(found, audio.parent)
    assert finding.evidence is not None
    expected = dress
    if dress.startswith("base64") and any(sign in value for value in values for sign in "-_"):
        expected = dress.replace("base64", "base64url") if "url" not in dress else dress
    elif dress == "base64url":
        expected = "base64"  # nothing in these values tells the two apart
    assert finding.evidence.recipe == f"{algorithm}/{scope}/{expected}"
    assert (finding.count, finding.confidence) == (4, "proven")


@pytest.mark.parametrize(
    ("scope", "text", "words"),
    [
        ("name", "{n}.mp3", "SHA-1 of the record's audio file's name"),
        ("stem", "{n}", "SHA-1 of the record's audio file's name without extension"),
        ("path", "audio/{n}.mp3", "SHA-1 of the record's reference to its audio file"),
        ("id", "id{m}", "SHA-1 of the record's ID"),
        ("artist-title", "Odegloom {m} - Paper Herons", "SHA-1 of the record's artist - title"),
    ],
)
def test_digests_of_texts(audio: Path, scope: str, text: str, words: str) -> None:
    catalogue = {f"id{m}": {"artist": f"Odegloom {m}", "title": "Paper Herons"} for m in range(1, 5)}
    texts = [text.format(n=n, m=n + 1) for n in range(4)]
    found = [{"audio": f"audio/{n}.mp3", "x": hashlib.sha1(text.encode()).hexdigest()} for n, text in enumerate(texts)]
    (finding,) = prove(found, audio.parent, Private(catalogue=catalogue))
    assert finding.evidence is not None
    assert (finding.evidence.recipe, finding.message, finding.related) == (f"sha1/{scope}/hex", words, ())


@pytest.mark.parametrize(("sample", "width"), [("s16le", 2), ("s32le", 4)])
@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "crc32", "sha512", "blake2b-160"])
def test_digests_of_decoded_samples(tmp_path: Path, sample: str, width: int, algorithm: str) -> None:
    try:
        media.find_ffmpeg()
    except LeakscanError as error:
        pytest.skip(str(error))
    found = []
    for number in range(2):
        samples = random.Random(number).randbytes(22_050)
        with wave.open(str(tmp_path / f"{number}.wav"), "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(11_025)
            out.writeframes(samples)
        wide = b"".join(b"\0" * (width - 2) + samples[at : at + 2] for at in range(0, len(samples), 2))
        found.append({"audio": f"{number}.wav", "x": HASHES[algorithm](wide).hex()})
    (finding,) = prove(found, tmp_path)
    assert finding.evidence is not None
    assert finding.evidence.recipe == f"{algorithm}/pcm:{sample}/hex"
    assert f" of the record's decoded samples ({sample})" in finding.message


@pytest.mark.parametrize("algorithm", HASHES)
def test_digests_of_texts_by_every_algorithm(audio: Path, algorithm: str) -> None:
    texts = [f"{number}.mp3" for number in range(4)]
    values = [base64.b64encode(HASHES[algorithm](text.encode())).decode() for text in texts]
    rows = [{"file": f"audio/{text}", "x": value} for text, value in zip(texts, values, strict=True)]
    (finding,) = prove(rows, audio.parent)
    assert finding.evidence is not None
    assert (finding.evidence.recipe, finding.count) == (f"{algorithm}/name/base64", 4)


def test_what_a_flac_file_states_of_its_samples(tmp_path: Path) -> None:
    found = []
    for number in range(2):
        stated = random.Random(number).randbytes(16)
        (tmp_path / f"{number}.flac").write_bytes(b"fLaC\x80\0\0\x22" + bytes(18) + stated + b"frames")
        found.append({"audio": f"{number}.flac", "x": stated.hex()})
    (finding,) = prove(found, tmp_path)
    assert finding.message == "MD5 of the record's samples, as the FLAC file states it"


# --- what is no proof ------------------------------------------------------------------------------------------------


def test_random_values_are_not_proven(audio: Path) -> None:
    """10,000, in columns of all lengths from 8 digits on, each beside a file."""
    rng = random.Random(11)
    rows = [
        {"audio": f"audio/{n % 4}.mp3", **{f"x{length}": f"{rng.getrandbits(4 * length):0{length}x}"
         for length in (8, 9, 10, 12, 16, 20, 32, 40, 56, 64)}}
        for n in range(1000)
    ]  # fmt: skip
    assert prove(rows, audio.parent) == []


def test_short_random_values_are_not_proven_by_many_candidates(audio: Path) -> None:
    """Eight digits agree with one of so many recipes now and then, but not twice with the same one."""
    rng = random.Random(3)
    rows = [
        {"audio": f"audio/{n}.mp3", **{f"x{column}": f"{rng.getrandbits(32):08x}" for column in range(300)}}
        for n in range(4)
    ]
    assert prove(rows, audio.parent) == []


def test_the_chance_of_coincidence_is_stated_unless_negligible(audio: Path) -> None:
    short = records(audio, "md5", cut=slice(8))
    (finding,) = prove(short[:2], audio.parent)
    message = "MD5, first 8 hex digits, of the record's whole audio file; by accident once in 10^13"
    assert finding.message == message
    assert prove(short, audio.parent)[0].message == message.partition(";")[0]


def test_letter_case_and_depth_do_not_matter(audio: Path) -> None:
    found = [{"a": record["audio"], "m": [{"x": record["x"].upper()}]} for record in records(audio, "sha256")]
    (finding,) = prove(found, audio.parent)
    assert (finding.place.name, finding.count) == ("$.m[].x", 4)


def test_one_short_value_proves_nothing_two_do(audio: Path) -> None:
    short = records(audio, "md5", cut=slice(8))
    assert prove(short[:1], audio.parent) == []
    assert prove([short[0], short[0]], audio.parent) == []  # the same value again is no second accident
    assert prove(short[:2], audio.parent)[0].count == 2
    assert prove(records(audio, "md5", cut=slice(16))[:1], audio.parent)[0].count == 1


def test_digests_of_something_else_are_not_proven(audio: Path) -> None:
    files = sorted(audio.iterdir())
    swapped = [{"audio": f"audio/{one.name}", "x": digest(other, "md5")}
               for one, other in zip(files, reversed(files), strict=True)]  # fmt: skip
    assert prove(swapped, audio.parent) == []
    renamed = [{"audio": record["audio"] + ".txt", "x": record["x"]} for record in records(audio, "md5")]
    assert prove(renamed, audio.parent) == []


def test_a_column_may_hold_two_recipes_and_other_things(audio: Path) -> None:
    """The count is that of the values that are explained, the words are those of the commoner recipe."""
    found = records(audio, "md5") + records(audio, "sha1")[:2] + records(audio, "md5", cut=slice(16))[:1]
    found += [{"audio": "audio/0.mp3", "x": "9f86d081884c7d65"}, {"audio": "audio/0.mp3", "x": "a plain word"}]
    (finding,) = prove(found, audio.parent)
    assert (finding.count, finding.message) == (7, "MD5 of the record's whole audio file")


# --- which files are read --------------------------------------------------------------------------------------------


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every reading of a file: its path and for how many digests."""
    log: list[tuple[str, int]] = []
    digests = sources._digests
    monkeypatch.setattr(
        sources, "_digests", lambda entry, kinds: log.append((entry.path, len(kinds))) or digests(entry, kinds)
    )
    return log


def test_no_audio_is_read_for_numbers_words_and_random_uuids(audio: Path, read: list[tuple[str, int]]) -> None:
    rng = random.Random(5)
    rows = [
        {
            "audio": "audio/0.mp3",
            "stamp": f"20260113{n:08}",
            "issued": 1_767_225_600 + 86_400 * n,
            "row": f"{n:08}",
            "task": "instrumental",
            "item": f"MUB-{n:05}",
            "request": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
            "level": rng.random(),
        }
        for n in range(40)
    ]
    assert prove(rows, audio.parent) == []
    assert read == []


def test_a_likely_recipe_costs_one_digest_a_file_beyond_the_sample(tmp_path: Path, read: list[tuple[str, int]]) -> None:
    for number in range(50):
        (tmp_path / f"{number:02}.mp3").write_bytes(bytes([number]) * 100)
    found = [{"audio": f"{n:02}.mp3", "x": digest(tmp_path / f"{n:02}.mp3", "sha256")} for n in range(50)]
    assert prove(found, tmp_path)[0].count == 50
    long_enough = [kind for kind in LIKELY if kind.algorithm == "sha256"]  # the others are shorter
    assert read[: digest_proof.SAMPLES["likely"]] == [(f"{n:02}.mp3", len(long_enough)) for n in range(8)]
    assert read[digest_proof.SAMPLES["likely"] :] == [(f"{n:02}.mp3", 1) for n in range(8, 50)]


def test_a_column_that_nothing_explains_is_given_up(tmp_path: Path, read: list[tuple[str, int]]) -> None:
    for number in range(50):
        (tmp_path / f"{number:02}.mp3").write_bytes(bytes([number]) * 100)
    assert prove([{"audio": f"{n:02}.mp3", "x": f"{n:02}abcdef"} for n in range(50)], tmp_path) == []
    assert {name for name, _ in read} == {f"{n:02}.mp3" for n in range(digest_proof.SAMPLES["likely"])}


def test_only_algorithms_whose_digests_are_long_enough_are_run(audio: Path, read: list[tuple[str, int]]) -> None:
    rows = [{"audio": f"audio/{n}.mp3", "x": random.Random(n).randbytes(64).hex()} for n in range(2)]
    assert prove(rows, audio.parent) == []
    long_enough = [kind for kind in BYTES if kind.algorithm in ("sha512", "blake2b", "sha3-512")]
    assert sorted(read) == [(f"audio/{n}.mp3", count) for n in range(2) for count in (4, len(long_enough))]


def test_a_long_column_is_sampled_and_the_finding_says_so(audio: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest_proof, "KEPT", 32)
    rows = records(audio, "md5") * 75
    (finding,) = prove(rows, audio.parent)
    assert finding.message == "MD5 of the record's whole audio file; of 300 values 38 were tried"
    assert (finding.count, finding.place.record, finding.places[-1].record) == (38, 1, 297)


def test_what_a_check_keeps_of_a_column_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest_proof, "KEPT", 32)
    check = digest_proof.check(Config(), Private())
    rng = random.Random(1)
    rows = [{"x": rng.randbytes(16).hex(), "n": f"{number:08}"} for number in range(1000)]
    seen = [one for n, row in enumerate(rows) for one in check.see(Item(Place("p.jsonl", n), "record", row))]
    assert {one.place.name: (one.value.count, len(one.value.values) < 64) for one in seen} == {
        "$.x": (1000, True), "$.n": (digest_proof.GATE, True)
    }  # fmt: skip
    assert not next(one.value.values for one in seen if one.place.name == "$.n")


def test_references_are_found_though_only_the_digest_arrives(audio: Path) -> None:
    check = digest_proof.check(Config(), Private())
    seen = []
    for number, row in enumerate(records(audio, "sha256"), 1):
        item = Item(Place("p.jsonl", number), "record", row)
        seen += check.see(item.narrowed([Fact("field", "$.x", row["x"])]))
    (finding,) = check.finish(Release(audio.parent), seen)
    assert finding.count == 4


def test_originals_prove_too_and_are_not_named(audio: Path, tmp_path: Path) -> None:
    """By the record's ID, or by the name of the file that is not there."""
    originals = tmp_path / "originals"
    originals.mkdir()
    (originals / "id1.flac").write_bytes(b"one")
    (originals / "take.flac").write_bytes(b"two")
    found = [{"x": digest(originals / "id1.flac", "md5")},
             {"x": digest(originals / "take.flac", "md5"), "audio": "gone/take.mp3"}]  # fmt: skip
    (finding,) = prove(found, audio.parent, Private(audio=originals))
    assert (finding.count, finding.related) == (2, ())


def test_shorter_files_join_the_column(audio: Path) -> None:
    """Head and whole agree on a short file: one finding, in the words of what explains all."""
    assert {finding.message for finding in prove(records(audio, "md5", HEAD), audio.parent)} == {
        "MD5 of the first 1,048,576 bytes of the record's audio file"
    }
    assert prove(records(audio, "md5")[:2], audio.parent)[0].message == "MD5 of the record's whole audio file"


def test_references_do_not_leave_the_release(audio: Path) -> None:
    outside = audio.parent.parent / "outside.mp3"
    outside.write_bytes(b"one")
    assert prove([{"audio": "../outside.mp3", "x": digest(outside, "sha256")}], audio.parent) == []


# --- recipes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 999, 1000, 1024, 5000, 1 << 20, (1 << 20) + 1])
@pytest.mark.parametrize("tagged", [False, True])
def test_one_pass_gives_what_hashing_each_part_gives(tmp_path: Path, length: int, tagged: bool) -> None:
    body = random.Random(length).randbytes(length)
    data = ID3 + body + ID3V1 if tagged else body
    file = tmp_path / "f.mp3"
    file.write_bytes(data)
    with file.open("rb") as stream:
        found = digests_of_file(stream, BYTES)
    for kind, value in found.items():
        what, _, number = kind.scope.partition(":")
        part = body if what == "untagged" else b"blob %d\0" % len(data) + data if what == "blob" else data
        part = part[: int(number)] if what == "head" else part[-int(number) :] if what == "tail" else part
        assert value == HASHES[kind.algorithm](part), kind
    assert set(BYTES) - set(found) == {Kind("md5", "flac")}


@pytest.mark.parametrize("dress", DRESSES)
def test_most_digests_are_told_by_themselves(dress: str) -> None:
    rng = random.Random(9)
    values = [DRESSES[dress](rng.randbytes(32)) for _ in range(200)]
    pattern = compile_pattern(TELLING_NUMBER if isinstance(values[0], int) else TELLING_TEXT, dress)
    assert sum(pattern.search(str(value)) is not None for value in values) > 180


@pytest.mark.parametrize(
    "value",
    ["MUB-00012345", "instrumental", "track_00012", "20260113093015", "00000012", "1767225600", "1767225600123",
     "audio/MUB-00001.mp3", "1b4e28ba-2fa1-4d2e-883f-b9a761bde3fb", "2026-01-13T09:30:15Z", "F# minor", "#a1b2c3"],
)  # fmt: skip
def test_what_records_are_full_of_is_not_told(value: str) -> None:
    assert not compile_pattern(TELLING_TEXT, "test").search(value)


@pytest.mark.parametrize("value", [1_767_225_600, 1_767_225_600_123, 44_100, 0.9872322690098937])
def test_no_more_are_usual_numbers(value: float) -> None:
    assert not compile_pattern(TELLING_NUMBER, "test").search(str(value))


@pytest.mark.parametrize("size", [4, 8, 16, 20, 28, 32, 48, 64])
def test_how_long_a_digest_must_be(size: int) -> None:
    digest = b"\xff" * size
    texts = {"hex": digest.hex(), "base64": base64.b64encode(digest).decode().rstrip("="),
             "base32": base64.b32encode(digest).decode().rstrip("="), "decimal": str(256**size - 1)}  # fmt: skip
    for dress, text in texts.items():
        assert Form(dress, text).bytes == size
        assert Form(dress, text + "1").bytes == size + 1


@pytest.mark.parametrize(
    "value",
    ["decade", "Answer B", "audio/MUB-00001.mp3", 12345, True, 0.1234567890123456, None, "MUB-00001", "a" * 400, "",
     "https://example.org/9f86d081884c7d65", "9f86d08z", "9f86d081 884c7d65"],
)  # fmt: skip
def test_what_cannot_be_a_digest(value: object) -> None:
    assert shape_of(value) is None


def test_values_of_one_kind_have_one_shape() -> None:
    rng = random.Random(3)
    for size in (8, 16, 20, 32, 64):
        digests = [rng.randbytes(size) for _ in range(200)]
        for write in (bytes.hex, base64.urlsafe_b64encode, base64.b32encode):
            texts = [text if isinstance(text, str) else text.decode() for text in map(write, digests)]
            shapes = {shape_of(text) for text in texts}
            assert len(shapes) == 1
            assert all(forms_of(text) for text in texts)
            assert may_be_digests(shapes.pop()[0], texts[:32])  # type: ignore[index]


@pytest.mark.parametrize(
    ("dress", "values"),
    [
        ("hex", ["20260113093015", "20260113093117"]),
        ("hex", ["00000001", "00000002"]),
        ("hex", ["1767225600"]),
        ("base", ["instrumental", "arrangement"]),
        ("base", ["MUB-2026-00001", "MUB-2026-00002"]),
        ("uuid", ["1b4e28ba-2fa1-4d2e-883f-b9a761bde3fb", "9d3f1c7e-5ab0-4f68-97e2-c41d08b6a35f",
                  "e07a94d2-6c1b-48f3-a5d8-630f7b92ce14", "53c8fe01-9ab7-46d0-b2f4-17e8d69c30ab"]),
    ],
)  # fmt: skip
def test_columns_that_are_left_alone(dress: str, values: list[str]) -> None:
    assert not may_be_digests(dress, values)


# --- what stands around a digest, and where it stands ----------------------------------------------------------------


def _colons(value: str) -> str:
    return ":".join(value[at : at + 2] for at in range(0, len(value), 2))


def _wide(value: str) -> str:
    return "".join(chr(ord(sign) + 0xFEE0) for sign in value)


AROUND: Mapping[str, Callable[[str], str]] = {
    **{form: form.format for form in ("{} ", " {}", "{}'", '"{}"', "0x{}", "md5={}", "md5({})", "MD5: {}",
       "urn:md5:{}", "oid md5:{}", "12000-{}", "{}.wav", "cache/{}.npy", "https://cdn.example/a/{}",
       "Which key is it? [{}]")},
    "bytes": _colons,
    "URN": lambda value: f"urn:uuid:{uuid.UUID(value)}",
    "UUID": lambda value: f"{{{uuid.UUID(value)}}}".upper(),
    "wide": _wide,
    "zero width": lambda value: f"{value[:9]}\u200b{value[9:]}",
    "percent": lambda value: f"%{ord(value[0]):02x}{value[1:]}",
}  # fmt: skip


@pytest.mark.parametrize("form", AROUND)
def test_what_stands_around_a_digest_does_not_matter(audio: Path, form: str) -> None:
    rows = [{**record, "x": AROUND[form](record["x"])} for record in records(audio, "md5")]
    (finding,) = prove(rows, audio.parent)
    assert (finding.count, finding.confidence, finding.place.name) == (4, "proven", "$.x")
    assert compile_pattern(f"{TELLING_TEXT}|{TELLING_PART}", "test").search(plain(rows[0]["x"]))


def test_a_key_is_proven_and_not_quoted(audio: Path) -> None:
    check = digest_proof.check(Config(), Private())
    rows = [{"audio": record["audio"], "by": {record["x"]: 1}} for record in records(audio, "md5")]
    key = next(iter(rows[0]["by"]))
    assert check.wants("name", f"$.by['{key}']") == ""
    assert check.wants("name", "$.by.level") is None
    (finding,) = prove(rows, audio.parent)
    assert (finding.count, finding.place.name) == (4, "$.by")
    assert finding.message == "MD5 of the record's whole audio file, as a key"


def test_a_file_that_is_called_like_its_own_digest(tmp_path: Path) -> None:
    check = digest_proof.check(Config(), Private())
    seen = []
    for number in range(3):
        data = random.Random(number).randbytes(9000)
        name = f"{hashlib.sha256(data).hexdigest()[:16]}.wav" if number else "0123456789abcdef.wav"
        (tmp_path / name).write_bytes(data)
        seen += check.see(Item(Place(name), "file", Entry(name, tmp_path / name, len(data))))
    (finding,) = check.finish(Release(tmp_path), seen)
    assert (finding.count, finding.place.name, finding.confidence) == (2, "file", "proven")
    assert finding.message == "SHA-256, first 16 hex digits, of the whole audio file, as its name"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("B flat {m}", "gold value"),
        ("id{m}_B flat {m}", "ID and gold value together"),
        ("Herons {m}", "title in the catalogue"),
        ("QZAAA260000{m}", "ISRC in the catalogue"),
        ("Label {m}", "value in the catalogue"),
        ("Odegloom_Herons {m}", "artist - title"),
        ("odegloom - herons {m}", "artist - title"),
    ],
)
@pytest.mark.parametrize("algorithm", ["md5", "sha256", "md5-md5"])
def test_digests_of_the_evaluators_texts(audio: Path, text: str, words: str, algorithm: str) -> None:
    """The message says what kind of text it is, and never the text."""
    rows = [{"x": HASHES[algorithm](text.format(m=m).encode()).hex()} for m in range(1, 5)]
    private = Private(
        gold={f"id{m}": {"key": f"B flat {m}"} for m in range(1, 5)},
        catalogue={f"id{m}": {"title": f"Herons {m}", "artist": "Odegloom", "isrc": f"QZAAA260000{m}",
                              "label": f"Label {m}"} for m in range(1, 5)},
    )  # fmt: skip
    (finding,) = prove(rows, audio.parent, private)
    assert finding.message.endswith(f" of the record's {words}")
    assert (finding.count, finding.confidence) == (4, "proven")


def test_git_blobs(audio: Path) -> None:
    files = sorted(audio.iterdir())
    blobs = [hashlib.sha1(b"blob %d\0" % file.stat().st_size + file.read_bytes()).hexdigest() for file in files]
    rows = [{"audio": f"audio/{file.name}", "x": blob} for file, blob in zip(files, blobs, strict=True)]
    assert prove(rows, audio.parent)[0].message == "SHA-1 of the record's audio file, as git hashes it"


def test_random_names_and_keys_are_not_proven(audio: Path) -> None:
    rng = random.Random(12)
    rows = [
        {"audio": f"audio/{n % 4}.mp3", "url": f"https://cdn.example/{rng.getrandbits(64):016x}.wav",
         "by": {f"{rng.getrandbits(128):032x}": 1}}
        for n in range(1000)
    ]  # fmt: skip
    assert prove(rows, audio.parent) == []
