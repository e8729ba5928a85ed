"""The fixtures are what they claim to be: other tests lean on their truth."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import re
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mutagen
import pytest

from leakscan import config, evaluator

FIXTURES = Path(__file__).parents[1] / "fixtures"
MAKE = [sys.executable, str(FIXTURES / "make.py")]
COMMON_TITLE = "Intro"  # a title that is also a word of the prompts, on purpose


@pytest.fixture(scope="module")
def made() -> Path:
    """The fixtures, made now unless they are there."""
    subprocess.run(MAKE, check=True, capture_output=True)
    return FIXTURES


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _records(release: Path) -> list[dict[str, Any]]:
    lines = (release / "prompts/prompts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _leaves(f"{name}.{key}", child)
    elif isinstance(value, list):
        for child in value:
            yield from _leaves(f"{name}[]", child)
    else:
        yield name, value


def _seconds(file: Path) -> float:
    return float(mutagen.File(file).info.length)


def test_a_second_run_makes_nothing_again(made: Path) -> None:
    before = (made / "releases/mub-clean/README.md").stat().st_mtime_ns
    done = subprocess.run(MAKE, check=True, capture_output=True, text=True)
    assert "already made" in done.stdout
    assert (made / "releases/mub-clean/README.md").stat().st_mtime_ns == before


def test_records_are_the_same_on_every_run(made: Path) -> None:
    script = "import json, mub; print(json.dumps(mub.clean_records()))"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join((str(made), str(made.parent)))}
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, env=environment)
    assert json.loads(done.stdout) == _records(made / "releases/mub-clean")


@pytest.mark.parametrize("name", ["mub-leaky", "mub-clean"])
def test_a_release_has_fifty_records_and_their_audio(made: Path, name: str) -> None:
    release = made / "releases" / name
    records = _records(release)
    choices = _rows(release / "prompts/choices.csv")
    assert (len(records), len(choices)) == (50, 12)
    assert len({row["id"] for row in (*records, *choices)}) == 62
    shipped = {f"audio/{file.name}" for file in (release / "audio").iterdir()}
    assert {record["audio"] for record in records} == shipped
    assert {row["audio"] for row in choices} < shipped
    large = [file for file in (release / "audio").iterdir() if file.stat().st_size > 1.1 * 2**20]
    assert len(large) >= 8
    assert all(19 < _seconds(file) < 45 for file in (release / "audio").iterdir())


@pytest.mark.parametrize("name", ["mub-leaky", "mub-clean"])
def test_the_configuration_and_the_evaluator_file_load(made: Path, name: str) -> None:
    loaded = config.load(made / "releases" / name / "leakscan.toml")
    assert [records.closed for records in loaded.records] == [True, True]
    private = evaluator.load(made / "evaluator/mub/evaluator.toml")
    assert (len(private.gold), len(private.catalogue)) == (62, 50)
    assert stat.S_IMODE((made / "evaluator/mub/leakscan.key").stat().st_mode) == 0o600 or os.name == "nt"


def test_mub_clean_holds_declared_fields_only(made: Path) -> None:
    release = made / "releases/mub-clean"
    loaded = config.load(release / "leakscan.toml")
    prompts = loaded.record_set("prompts/prompts.jsonl")
    assert prompts is not None
    for record in _records(release):
        for name, value in _leaves("$", record):
            spec = prompts.fields[name]
            assert spec.pattern is None or re.fullmatch(spec.pattern, value), name
            assert spec.enum is None or value in spec.enum, name
    choices = loaded.record_set("prompts/choices.csv")
    assert choices is not None
    assert {f"$.{column}" for column in _rows(release / "prompts/choices.csv")[0]} == set(choices.fields)


def test_mub_clean_holds_the_look_alikes(made: Path) -> None:
    text = (made / "releases/mub-clean/prompts/prompts.jsonl").read_text(encoding="utf-8")
    looks = (
        r"0\.\d{16}", r"\d\.\d+e-\d\d", r'"issued": \d{10},', r'"issued_ms": \d{13},', r'"\d{16}"', r'"0{5}\d{3}"',
        r"-4[0-9a-f]{3}-[89ab]", r"\b(?:Bb|[A-F])add9", "#466852", "#facade", "decade", "the option's letter",
    )  # fmt: skip
    assert [look for look in looks if not re.search(look, text)] == []
    assert re.search(r"/[0-9a-f]{40}\b", (made / "releases/mub-clean/README.md").read_text(encoding="utf-8"))


def test_mub_clean_says_nothing_of_the_catalogue(made: Path) -> None:
    release = made / "releases/mub-clean"
    entries = _rows(made / "evaluator/mub/catalogue.csv")
    values = {row[column] for row in entries for column in ("title", "artist", "album", "isrc", "video")}
    needles = [value.casefold() for value in values - {COMMON_TITLE}]
    files = [file for file in release.rglob("*") if file.is_file()]
    for file in files:
        hay = f"{file.name}\n{file.read_bytes().decode('utf-8', 'replace')}".casefold()
        assert [needle for needle in needles if needle in hay] == [], file.name


def test_mub_clean_says_nothing_of_the_gold_outside_prompts_and_choices(made: Path) -> None:
    gold = {row.pop("id"): row for row in _rows(made / "evaluator/mub/gold.csv")}
    for record in _records(made / "releases/mub-clean"):
        for name, value in _leaves("$", record):
            if name in ("$.prompt", "$.choices[]"):
                continue
            for answer in filter(None, gold[record["id"]].values()):
                assert not re.search(rf"(?<![\w.]){re.escape(answer)}(?![\w.])", str(value)), name


def test_mub_clean_has_no_tags(made: Path) -> None:
    for file in (made / "releases/mub-clean/audio").iterdir():
        assert re.fullmatch(r"MUB-\d{5}\.\w+", file.name)
        assert set(mutagen.File(file).tags or ()) <= {"encoder"}, file.name


def test_options_hold_the_gold_at_every_position_alike(made: Path) -> None:
    gold = {row["id"]: row for row in _rows(made / "evaluator/mub/gold.csv")}
    letters = Counter()
    for record in _records(made / "releases/mub-clean"):
        if "choices" in record:
            letters[gold[record["id"]]["letter"]] += 1
            assert gold[record["id"]]["answer"] in record["choices"]
    assert set(letters.values()) == {5}
    for row in _rows(made / "releases/mub-clean/prompts/choices.csv"):
        assert row[gold[row["id"]]["letter"]] == gold[row["id"]]["answer"]


def test_the_stray_digest_is_that_of_the_first_mebibyte(made: Path) -> None:
    release = made / "releases/mub-leaky"
    for record in _records(release):
        for file in (release / record["audio"], *(made / "evaluator/mub/audio").glob(f"{record['id']}.*")):
            head = file.read_bytes()[: 1 << 20]
            assert record["audio_hash"] == hashlib.sha256(head).hexdigest()[:16]


def test_every_planted_leak_is_there_and_no_other(made: Path) -> None:
    release = made / "releases/mub-leaky"
    planted = {(row["id"], row["leak"]) for row in _rows(made / "releases/mub-leaky.planted.csv")}
    found = {(row["id"], "choices.csv $.correct") for row in _rows(release / "prompts/choices.csv") if row["correct"]}
    for leaky, clean in zip(_records(release), _records(made / "releases/mub-clean"), strict=True):
        names = {name for name, _ in _leaves("$", leaky)} - {name for name, _ in _leaves("$", clean)}
        names -= {"$.messages[].role"}
        found |= {(leaky["id"], name) for name in names | _leaks_of_audio(release / leaky["audio"])}
    assert found == planted


def _leaks_of_audio(file: Path) -> set[str]:
    tags = mutagen.File(file).tags or {}
    raw = file.read_bytes()
    shows = {
        "tags": "TIT2" in tags or "title" in tags,
        "tag isrc": "TSRC" in tags,
        "tag cover": "APIC:" in tags,
        "tag id3v1": raw[-128:-125] == b"TAG",
        "tag ape": b"APETAGEX" in raw,
        "file name": not file.stem.startswith("MUB-"),
    }
    return {name for name, shown in shows.items() if shown}


OTHERS = ("bass", "mustbench", "openmic-qa")


def _questions(release: Path) -> dict[str, dict[str, Any]]:
    """The records of a release that `OTHERS` names, by the ID that both editions share, flat."""
    found = {}
    for file in sorted(release.glob("*/*")):
        records: list[dict[str, Any]] = []
        if file.suffix == ".json" and file.parent.name != "outputs":
            document = json.loads(file.read_bytes())
            records = document["items"] if isinstance(document, dict) else document
        elif file.suffix == ".csv":
            records = [dict(row) for row in _rows(file)]
        for record in records:
            flat: dict[str, Any] = {}
            for name, value in _leaves("$", record):
                if value != "":
                    flat.setdefault(name, []).append(value)
            found[re.sub("-[PN]-", "-", str(record.get("id") or record["qa_id"]))] = flat
    return found


@pytest.mark.parametrize(("name", "records"), [("bass", 300), ("mustbench", 250), ("openmic-qa", 200)])
def test_both_editions_have_the_same_questions_and_a_configuration(made: Path, name: str, records: int) -> None:
    private = evaluator.load(made / f"evaluator/{name}/evaluator.toml")
    for edition in ("clean", "leaky"):
        release = made / f"releases/{name}-{edition}"
        questions = _questions(release)
        assert len(questions) == records
        assert set(questions) <= set(private.gold)
        loaded = config.load(release / "leakscan.toml")
        assert (loaded.profile, [records.closed for records in loaded.records]) == (name, [True])
        shipped = {file.relative_to(release).as_posix() for file in release.glob("audio/*")}
        asked = {flat.get("$.audio", flat.get("$.audio_path"))[0] for flat in questions.values()}
        assert shipped == (set() if loaded.audio == "private" else asked)
        assert len(asked) == len(private.catalogue) == 50


@pytest.mark.parametrize("name", OTHERS)
def test_every_planted_leak_of_the_others_is_there_and_no_other(made: Path, name: str) -> None:
    leaky, clean = (_questions(made / f"releases/{name}-{edition}") for edition in ("leaky", "clean"))
    changed = set()
    for key, flat in leaky.items():
        for path in flat.keys() | clean[key].keys():
            if flat.get(path) != clean[key].get(path):
                changed.add((flat.get("$.id", flat.get("$.qa_id"))[0], path))
    planted = {(row["id"], row["leak"]) for row in _rows(made / f"releases/{name}-leaky.planted.csv")}
    assert {(key, leak) for key, leak in planted if leak.startswith("$")} == changed


def test_files_that_leak_are_there(made: Path) -> None:
    files = set()
    for name in OTHERS:
        release = made / f"releases/{name}-leaky"
        for row in _rows(made / f"releases/{name}-leaky.planted.csv"):
            if row["leak"] == "file":
                assert (release / row["id"]).is_file()
                files.add(row["id"].partition("/")[0])
    assert files == {"audio", "lyrics", "SHA256SUMS"}
    copies = json.loads((made / "releases/bass-leaky/outputs/listener-7b.json").read_bytes())
    assert [record["output"].endswith(f": {record['gt']}") for record in copies] == [True] * 30
    digests = dict(
        line.split("  ")[::-1] for line in (made / "releases/bass-leaky/SHA256SUMS").read_text().splitlines()
    )
    originals = sorted((made / "evaluator/bass/audio").iterdir())
    assert digests == {f"audio/{one.name}": hashlib.sha256(one.read_bytes()).hexdigest() for one in originals}


@pytest.mark.parametrize("name", OTHERS)
def test_the_others_hold_the_look_alikes(made: Path, name: str) -> None:
    release = made / f"releases/{name}-clean"
    text = "".join(file.read_text(encoding="utf-8") for file in sorted(release.glob("*/*.[jc]s*")))
    looks = (
        r"-4[0-9a-f]{3}-[89ab]", r"\b0{4}\d{4}\b", r"\b17\d{8}\b", r"0\.\d{16}", "#466852", "#facade", "[Dd]ecade",
        r"\bintro\b", r"\btime\b", r"\bblue\b",
    )  # fmt: skip
    assert [look for look in looks if not re.search(look, text)] == []
    titles = {row["title"] for row in _rows(made / f"evaluator/{name}/catalogue.csv")}
    assert titles > {"Intro", "Time", "Blue"}


@pytest.mark.parametrize("name", OTHERS)
def test_the_others_say_nothing_of_the_catalogue_but_who_sings_with_whom(made: Path, name: str) -> None:
    entries = _rows(made / f"evaluator/{name}/catalogue.csv")
    needles = {value.casefold() for row in entries for column, value in row.items() if column != "id"}
    needles -= {"intro", "time", "blue"}
    release = made / f"releases/{name}-clean"
    for file in (file for file in release.rglob("*") if file.is_file()):
        hay = f"{file.name}\n{file.read_bytes().decode('utf-8', 'replace')}".casefold()
        found = {needle for needle in needles if needle in hay}
        artists = {row[column].casefold() for row in entries for column in ("artist", "guest") if column in row}
        assert found == (artists if file.name == "collaboration.json" else set()), file.name


@pytest.mark.parametrize("name", OTHERS)
def test_no_question_of_the_others_answers_one_about_the_same_recording(made: Path, name: str) -> None:
    gold = {row["id"]: row["answer"] for row in _rows(made / f"evaluator/{name}/gold.csv")}
    answers = {key: answer for key, answer in gold.items() if len(answer.split()) > 3}  # sentences, not labels
    recordings: dict[str, list[tuple[str, str]]] = {}
    for key, flat in _questions(made / f"releases/{name}-clean").items():
        recording = flat.get("$.audio", flat.get("$.audio_path"))[0]
        recordings.setdefault(recording, []).append((key, str(flat)))
    found = [
        (one, other)
        for asked in recordings.values()
        for one, _ in asked
        for other, text in asked
        if one != other and one in answers and answers[one] in text
    ]
    assert found == []


def test_mustbench_leaky_answers_descriptions_elsewhere(made: Path) -> None:
    gold = {row["id"]: row["answer"] for row in _rows(made / "evaluator/mustbench/gold.csv")}
    questions = _questions(made / "releases/mustbench-leaky")
    described = {f["$.audio"][0]: gold[key] for key, f in questions.items() if f["$.task"] == ["TAD"]}
    local = {f["$.audio"][0]: f["$.options[]"] for f in questions.values() if f["$.task"] == ["LTR"]}
    assert sum(described[audio] in options for audio, options in local.items()) == 25


@pytest.mark.parametrize("name", OTHERS)
def test_right_options_of_the_others_are_at_every_position_alike(made: Path, name: str) -> None:
    gold = {row["id"]: row for row in _rows(made / f"evaluator/{name}/gold.csv")}
    letters: dict[str, Counter[str]] = {}
    for key, flat in _questions(made / f"releases/{name}-clean").items():
        options = flat.get("$.options[]") or [
            flat[path][0] for path in sorted(flat) if re.search(r"descriptions\.|option_", path)
        ]
        if options:
            letter = gold[key]["letter"]
            assert options["ABCDEF".index(letter)] == gold[key]["answer"]
            letters.setdefault(str(len(options)), Counter())[letter] += 1
    assert [max(counts.values()) - min(counts.values()) <= 1 for counts in letters.values()] == [True] * len(letters)
    assert set(letters) == {"bass": {"4"}, "mustbench": {"4", "6"}, "openmic-qa": {"2"}}[name]


def test_instruments_are_right_as_often_as_wrong(made: Path) -> None:
    gold = {row["id"]: row["answer"] for row in _rows(made / "evaluator/openmic-qa/gold.csv")}
    right, wrong = Counter[str](), Counter[str]()
    for row in _rows(made / "releases/openmic-qa-clean/qa/pairs.csv"):
        for option in (row["option_a"], row["option_b"]):
            (right if option == gold[row["qa_id"]] else wrong)[option] += 1
    assert right == wrong


def test_the_rows_of_openmic_qa_leaky_follow_the_answers(made: Path) -> None:
    gold = {row["id"]: row for row in _rows(made / "evaluator/openmic-qa/gold.csv")}
    rows = _rows(made / "releases/openmic-qa-leaky/qa/pairs.csv")
    letters = [gold[row["qa_id"]]["letter"] for row in rows]
    assert letters == sorted(letters)
    signs = {(row["qa_id"][4], gold[row["qa_id"]]["answer"]) for row in
             _rows(made / "releases/openmic-qa-leaky/qa/presence.csv")}  # fmt: skip
    assert signs == {("P", "yes"), ("N", "no")}


def test_takes_agree_with_their_table(made: Path) -> None:
    rows = _rows(made / "takes.csv")
    files = {file.relative_to(made / "takes").as_posix() for file in (made / "takes").rglob("*") if file.is_file()}
    assert {row["file"] for row in rows} == files
    kinds = Counter((row["kind"], Path(row["file"]).suffix) for row in rows)
    assert kinds["copy", ".mp3"] >= 8
    assert kinds["copy", ".opus"] >= 4
    assert Counter(row["kind"] for row in rows) == {
        "copy": 12, "crop": 3, "short": 1, "stranger": 1, "silence": 1, "tone": 1
    }  # fmt: skip
    for row in rows:
        length = _seconds(made / "takes" / row["file"])
        if row["kind"] == "crop":
            assert length >= 15
        if row["id"]:
            (reference,) = (made / "releases/mub-clean/audio").glob(f"{row['id']}.*")
            assert length - float(row["offset_s"]) < _seconds(reference) + 0.2
        if row["kind"] == "copy":
            assert math.isclose(length, _seconds(reference), abs_tol=0.2)


def test_collection_agrees_with_its_table(made: Path) -> None:
    folder = made / "collection"
    rows = {row["relation"]: row for row in _rows(made / "collection.csv")}
    assert set(rows) == {"identical-bytes", "identical-audio", "same-recording", "excerpt"}
    assert len([file for file in folder.rglob("*") if file.is_file()]) == 14
    bodies = {name: [(folder / row[side]).read_bytes() for side in "ab"] for name, row in rows.items()}
    assert bodies["identical-bytes"][0] == bodies["identical-bytes"][1]
    titles = {name: [_title(folder / row[side]) for side in "ab"] for name, row in rows.items()}
    assert all(one != other for name, (one, other) in titles.items() if name != "identical-bytes")
    one, other = (body[_frames_start(body) :] for body in bodies["identical-audio"])
    assert one == other


def _title(file: Path) -> str:
    tags = mutagen.File(file, easy=True)
    return str(tags["title"][0])


def _frames_start(body: bytes) -> int:
    """Where MP3 frames start after an ID3v2 tag, whose size is four times seven bits."""
    size = 0
    for byte in body[6:10]:
        size = size << 7 | byte
    return 10 + size


def test_hostile_files_are_there(made: Path) -> None:
    folder = made / "hostile"
    cut = {f"cut.{suffix}" for suffix in ("jsonl", "mp3", "flac", "wav", "ogg", "m4a")}
    assert cut <= {file.name for file in folder.iterdir()}
    assert not any((folder / "empty").iterdir())
    assert all((folder / f"zero.{suffix}").stat().st_size == 0 for suffix in ("mp3", "jsonl", "csv"))
    target = (folder / "playlist.mp3").read_text(encoding="utf-8").splitlines()[3]
    assert Path(target).is_absolute()
    assert Path(target).is_file()
    assert not (folder / "link-out").resolve().is_relative_to(folder.resolve())
