"""What an adapter really sent: clean ones of every shape pass, every way to forward more does not."""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from leakscan import scanning, sent
from leakscan.model import Report, UsageError

FIXTURES = Path(__file__).parent.parent / "fixtures"
EVALUATOR = FIXTURES / "evaluator/mub/evaluator.toml"
LEAKY = FIXTURES / "releases/mub-leaky"
RECORDS = [json.loads(line) for line in (LEAKY / "prompts/prompts.jsonl").read_text().splitlines()]

Record = Mapping[str, Any]


def question(record: Record) -> str:
    options = [f"{letter}) {text}" for letter, text in zip("ABCDEFGHIJ", record.get("choices", ()), strict=False)]
    return "\n".join(["Listen to the recording.", record["prompt"], *options, "Answer in one line."])


def openai(record: Record, text: str = "", **more: Any) -> Any:
    parts = [
        {"type": "text", "text": text or question(record)},
        {"type": "input_audio", "input_audio": {"data": base64.b64encode(b"RIFFx" * 99).decode(), "format": "wav"}},
    ]
    messages = [{"role": "system", "content": "You know music well."}, {"role": "user", "content": parts}]
    answer = {"type": "object", "properties": {"answer": {"type": "string", "title": "Answer"}}}
    return {"model": "m-1", "temperature": 0, "messages": messages, "response_format": {"schema": answer}, **more}


def anthropic(record: Record) -> Any:
    audio = {"type": "base64", "media_type": "audio/wav", "data": base64.b64encode(b"RIFFx" * 99).decode()}
    content = [{"type": "audio", "source": audio}, {"type": "text", "text": question(record)}]
    return {"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": [{"role": "user", "content": content}]}


def gemini(record: Record) -> Any:
    parts = [{"inlineData": {"mimeType": "audio/wav", "data": "UklGR" + "A" * 600}}, {"text": question(record)}]
    return {"contents": [{"role": "user", "parts": parts}]}


def responses(record: Record) -> Any:
    content = [{"type": "input_text", "text": question(record)}, {"type": "input_file", "filename": record["audio"]}]
    return {"model": "m", "seed": hash(record["id"]), "input": [{"role": "user", "content": content}]}


def batch(record: Record) -> Any:
    return {"custom_id": record["id"], "method": "POST", "url": "/v1/chat/completions", "body": openai(record)}


def logged(record: Record) -> Any:
    return {"request": openai(record), "response": {"id": record["id"], "answer": "a waltz"}, "at": 17}


CLEAN: Sequence[Callable[[Record], Any]] = (openai, anthropic, gemini, responses, batch, logged)


def judged(folder: Path, requests: Sequence[Any], name: str = "requests.jsonl", private: bool = True) -> Report:
    file = folder / name
    file.write_text("\n".join(map(json.dumps, requests)) if name.endswith(".jsonl") else str(requests[0]))
    setup = scanning.prepare([LEAKY], private=EVALUATOR if private else None)
    return sent.scan(setup, [LEAKY], [file], scanning.Options())


def found(report: Report) -> dict[str, set[str | None]]:
    names: dict[str, set[str | None]] = {}
    for one in report.findings:
        names.setdefault(one.rule, set()).add(one.place.name)
    return names


@pytest.mark.parametrize("send", CLEAN)
def test_adapter_that_sends_input_only_passes_even_when_the_release_leaks(
    tmp_path: Path, send: Callable[[Record], Any]
) -> None:
    report = judged(tmp_path, [send(record) for record in RECORDS])
    assert found(report) == {}
    assert [entry for entry in report.unexamined if "requests.jsonl!" not in entry.path] == []
    assert report.examined.records == len(RECORDS) + 62


def test_requests_of_several_services_in_one_file_pass(tmp_path: Path) -> None:
    assert found(judged(tmp_path, [send(record) for record in RECORDS for send in CLEAN])) == {}


@pytest.mark.parametrize("send", CLEAN)
def test_one_request_can_be_judged_too(tmp_path: Path, send: Callable[[Record], Any]) -> None:
    assert found(judged(tmp_path, [send(RECORDS[1])])) == {}


TEXT = "$.messages[].content[].text"


def suffixed(field: Callable[[Record], object]) -> list[Any]:
    return [openai(record, f"{question(record)}\n{field(record)}") for record in RECORDS]


def test_id_in_the_text(tmp_path: Path) -> None:
    assert found(judged(tmp_path, suffixed(lambda record: record["id"]))) == {
        "sent-routing": {TEXT}, "sent-unexplained": {TEXT},
    }  # fmt: skip


def test_id_in_the_text_of_a_single_request(tmp_path: Path) -> None:
    assert found(judged(tmp_path, suffixed(lambda record: record["id"])[:1])) == {"sent-routing": {TEXT}}


def test_id_that_is_the_same_in_all_requests(tmp_path: Path) -> None:
    assert found(judged(tmp_path, suffixed(lambda record: "As in MUB-00007."))) == {"sent-routing": {TEXT}}


def test_hash_and_uuid_beside_the_messages(tmp_path: Path) -> None:
    requests = [
        openai(record, metadata={"audio_hash": record["audio_hash"], "request": record["meta"]["routing"][0]["v"]})
        for record in RECORDS
    ]
    names = {"$.metadata.audio_hash", "$.metadata.request"}
    assert found(judged(tmp_path, requests)) == {"sent-routing": names, "sent-unexplained": names}


def test_whole_record_as_json_within_the_text(tmp_path: Path) -> None:
    report = judged(tmp_path, [openai(record, json.dumps(record)) for record in RECORDS])
    assert {"sent-routing", "sent-evaluator"} <= found(report).keys()
    assert report.status == 1


def test_whole_record_as_request(tmp_path: Path) -> None:
    rules = found(judged(tmp_path, RECORDS))
    assert {"$.audio_hash", "$.meta.source.isrc", "$.id", "$.meta.title"} <= rules["sent-routing"]
    assert "$.meta.title" in rules["sent-evaluator"]


def test_field_under_its_own_name(tmp_path: Path) -> None:
    requests = suffixed(lambda record: f"Task: {record['task']}")
    assert found(judged(tmp_path, requests)) == {"sent-routing": {TEXT}}


def test_template_by_kind_of_question_passes(tmp_path: Path) -> None:
    hints = {task: f"Hint number {n}." for n, task in enumerate(sorted({record["task"] for record in RECORDS}))}
    assert found(judged(tmp_path, suffixed(lambda record: hints[record["task"]]))) == {}


def gold() -> dict[str, dict[str, str]]:
    with (EVALUATOR.parent / "gold.csv").open(newline="") as stream:
        return {row["id"]: row for row in csv.DictReader(stream)}


def test_answer_that_is_also_an_option(tmp_path: Path) -> None:
    answers = gold()
    report = judged(tmp_path, suffixed(lambda record: f"answer: {answers[record['id']]['answer']}"))
    assert TEXT in found(report)["sent-evaluator"]


def test_letter_of_the_answer_needs_no_evaluator(tmp_path: Path) -> None:
    answers = gold()
    choices = [record for record in RECORDS if "choices" in record]
    requests = [openai(record, f"{question(record)} {answers[record['id']]['letter']}") for record in choices]
    assert found(judged(tmp_path, requests, private=False)) == {"sent-unexplained": {TEXT}}


def test_id_as_a_key(tmp_path: Path) -> None:
    requests = [openai(record, metadata={record["id"]: "x"}) for record in RECORDS]
    assert found(judged(tmp_path, requests)) == {"sent-routing": {"$.metadata"}, "sent-unexplained": {"$.metadata"}}


def test_title_in_any_spelling(tmp_path: Path) -> None:
    with (EVALUATOR.parent / "catalogue.csv").open(newline="") as stream:
        titles = {row["id"]: row["title"] for row in csv.DictReader(stream)}
    requests = suffixed(lambda record: f"the song {titles[record['id']].upper().replace(' ', '_')}")
    report = judged(tmp_path, requests)
    assert TEXT in found(report)["sent-evaluator"]
    assert not any(title in repr(report) or title.upper() in repr(report) for title in titles.values())


def test_answer_as_a_turn_of_the_model(tmp_path: Path) -> None:
    requests = [openai(record) for record in RECORDS]
    for n, request in enumerate(requests):
        request["messages"].append({"role": "assistant", "content": f"a waltz {n}"})
    rules = found(judged(tmp_path, requests))
    assert rules == {"sent-evaluator": {"$.messages[].content"}}


def test_same_beginning_of_the_answer_in_all_requests_passes(tmp_path: Path) -> None:
    requests = [openai(record) for record in RECORDS]
    for request in requests:
        request["messages"].append({"role": "assistant", "content": "The answer is "})
    assert found(judged(tmp_path, requests)) == {}


def test_option_said_twice(tmp_path: Path) -> None:
    requests = suffixed(lambda record: f"Perhaps {record['choices'][-1]}?" if "choices" in record else "Perhaps?")
    assert found(judged(tmp_path, requests)) == {"sent-unexplained": {TEXT}}


def test_question_said_twice_as_a_whole_passes(tmp_path: Path) -> None:
    assert found(judged(tmp_path, suffixed(question))) == {}


def test_request_of_another_benchmark_is_reported(tmp_path: Path) -> None:
    report = judged(tmp_path, [openai(RECORDS[0]), openai(RECORDS[1], "What is the capital of France?")])
    (one,) = report.findings
    assert (one.rule, one.place.record, one.place.name) == ("sent-untied", 2, None)


@pytest.mark.parametrize("prefix", ["", "data:audio/mpeg;base64,"])
def test_audio_is_judged_as_audio(tmp_path: Path, prefix: str) -> None:
    request = openai(RECORDS[0])
    audio = base64.b64encode((LEAKY / "audio/MUB-00001.mp3").read_bytes()).decode()
    request["messages"][1]["content"][1]["input_audio"]["data"] = prefix + audio
    report = judged(tmp_path, [request])
    assert "id3.TIT2" in found(report)["identifying-tag"]
    assert report.examined.audio == 1
    assert all("requests.jsonl!1" in place.path for one in report.findings for place in one.places)


def test_plain_text_is_one_request(tmp_path: Path) -> None:
    assert found(judged(tmp_path, [question(RECORDS[1])], "x.txt")) == {}
    assert found(judged(tmp_path, [f"{question(RECORDS[1])}\n{RECORDS[1]['id']}"], "x.txt")) == {"sent-routing": {"$"}}
    assert found(judged(tmp_path, ["Hello?\nHello!"], "x.txt")) == {"sent-untied": {None}}
    assert found(judged(tmp_path, [openai(RECORDS[1]), question(RECORDS[1])])) == {}


def test_http_archive(tmp_path: Path) -> None:
    entries = [{"request": {"method": "GET", "url": "https://localhost/x"}}]
    entries += [
        {
            "request": {
                "method": "POST",
                "postData": {"text": json.dumps(openai(record, metadata={"k": record["id"]}))},
            },
            "response": {"content": {"text": record.get("answer", "")}},
        }
        for record in RECORDS
    ]
    report = judged(tmp_path, [json.dumps({"log": {"version": "1.2", "entries": entries}})], "x.har")
    assert found(report) == {"sent-routing": {"$.metadata.k"}, "sent-unexplained": {"$.metadata.k"}}
    assert all(".har!" in one.place.path for one in report.findings)


@pytest.mark.parametrize("text", ["{", '{"log": {}}', '{"log": {"entries": [{}]}}', '{"log": {"entries": []}}'])
def test_http_archive_that_holds_nothing_is_no_pass(tmp_path: Path, text: str) -> None:
    report = judged(tmp_path, [text], "x.har")
    assert report.status != 0


def test_requests_that_cannot_be_read_are_no_pass(tmp_path: Path) -> None:
    assert judged(tmp_path, ["\0\1\2"], "x.bin").status == 3
    assert judged(tmp_path, [], "x.jsonl").status == 3


def test_comments_reach_the_model(tmp_path: Path) -> None:
    """One that holds the gold is an error, also where the record's own prompt has it."""
    gold = {row["id"]: row["tempo"] for row in csv.DictReader((EVALUATOR.parent / "gold.csv").open())}
    key = RECORDS[0]["id"]
    assert found(judged(tmp_path, suffixed(lambda record: "<!-- keep it\nshort -->"))) == {"hidden-comment": {TEXT}}
    told = f"<!-- {gold[key]} -->"
    report = judged(tmp_path, suffixed(lambda record: told if record["id"] == key else ""))
    assert found(report) == {"hidden-comment": {TEXT}, "sent-evaluator": {TEXT}, "sent-unexplained": {TEXT}}
    assert {(one.rule, one.level) for one in report.findings if one.rule in ("hidden-comment", "sent-evaluator")} == {
        ("hidden-comment", "warning"), ("sent-evaluator", "error"),
    }  # fmt: skip


def test_values_are_never_shown(tmp_path: Path) -> None:
    report = judged(tmp_path, RECORDS)
    for record in RECORDS:
        assert record["audio_hash"] not in repr(report)


def test_release_must_say_what_is_input(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match=r"declares no input fields; describe its records in leakscan\.toml"):
        sent.scan(scanning.prepare([tmp_path]), [tmp_path], [tmp_path / "p.jsonl"], scanning.Options())


def test_records_are_no_requests() -> None:
    file = LEAKY / "prompts/prompts.jsonl"
    with pytest.raises(UsageError, match=r"^prompts/prompts\.jsonl: is a file of the release's records"):
        sent.scan(scanning.prepare([LEAKY]), [LEAKY], [file], scanning.Options())


@pytest.mark.parametrize("pattern", ["*.jsonl", "**/*.jsonl"])
@pytest.mark.parametrize("name", ["prompts.jsonl", "cover/Requests.log"])
@pytest.mark.parametrize("absolute", [False, True])
def test_requests_outside_the_release_are_none_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, name: str, absolute: bool
) -> None:
    """Whatever they are called."""
    records = [{"id": f"MUB-{n:05}", "prompt": f"What sounds in piece {n}?"} for n in range(9)]
    release, requests = tmp_path / "release", tmp_path / name
    release.mkdir()
    (release / "leakscan.toml").write_text(
        f'[records.prompts]\nfiles = ["{pattern}"]\nid = "id"\n[records.prompts.fields]\n'
        'id = {role = "routing"}\nprompt = {role = "input"}\n'
    )
    (release / "prompts.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    requests.parent.mkdir(exist_ok=True)
    requests.write_text("".join(f"{json.dumps({'input': record['prompt']})}\n" for record in records))
    monkeypatch.chdir(tmp_path)

    file = requests if absolute else Path(name)
    report = sent.scan(scanning.prepare([release]), [release], [file], scanning.Options())

    assert (report.findings, report.unexamined, report.status) == ((), (), 0)
    assert (report.examined.files, report.examined.records) == (2, 18)
    assert report.examined.bytes == requests.stat().st_size


def test_requests_in_the_release_that_the_configuration_names_are_no_records(tmp_path: Path) -> None:
    """Though the pattern of the records fits them, too."""
    (tmp_path / "leakscan.toml").write_text(
        '[files]\nsent = ["sent*.jsonl"]\n[records.prompts]\nfiles = ["*.jsonl"]\nid = "id"\n[records.prompts.fields]\n'
        'id = {role = "routing"}\nprompt = {role = "input"}\n'
    )
    (tmp_path / "prompts.jsonl").write_text('{"id": "MUB-00001", "prompt": "What sounds?"}\n')
    (tmp_path / "sent.jsonl").write_text('{"input": "What sounds? MUB-00001"}\n')
    report = sent.scan(scanning.prepare([tmp_path]), [tmp_path], [tmp_path / "sent.jsonl"], scanning.Options())
    assert found(report) == {"sent-routing": {"$.input"}}
