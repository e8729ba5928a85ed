"""The command line: default command, exit statuses, outputs; one path through every command on real files."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from leakscan import cli as command_line
from leakscan.cli import cli
from leakscan.discover import names

FIXTURES = Path(__file__).parent.parent / "fixtures"
RELEASES = FIXTURES / "releases"
EVALUATOR = FIXTURES / "evaluator" / "mub" / "evaluator.toml"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def fails(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """The exit status and standard error of `main`, which turns errors into one line."""
    with pytest.raises(SystemExit) as stop:
        command_line.main([str(argument) for argument in arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code, capsys.readouterr().err


def values_of(table: Path) -> set[str]:
    """All values of a private table but the key, long enough to be told from chance."""
    with table.open(newline="") as stream:
        rows = list(csv.reader(stream))
    return {cell for row in rows[1:] for cell in row[1:] if len(cell) > 5}


def test_a_path_is_scanned_without_the_word_scan() -> None:
    assert run(RELEASES / "mub-clean").output == run("scan", RELEASES / "mub-clean").output


def test_options_may_come_first() -> None:
    assert json.loads(run("--format", "json", RELEASES / "mub-clean").output)["status"] == 0


def test_clean_release_is_silent() -> None:
    result = run(RELEASES / "mub-clean", "--evaluator", EVALUATOR, "--format", "json")

    report = json.loads(result.output)
    assert result.exit_code == 0
    assert (report["findings"], report["unexamined"], report["noted"], report["notes"]) == ([], [], [], [])
    assert (report["examined"]["records"], report["examined"]["audio"]) == (62, 50)


@pytest.mark.parametrize("format_name", names("reports"))
def test_leaky_release_fails_and_no_value_is_shown(format_name: str) -> None:
    result = run(RELEASES / "mub-leaky", "--evaluator", EVALUATOR, "--format", format_name)

    assert result.exit_code == 1
    assert "SHA-256 of the first 1,048,576 bytes, first 16 hex digits, of the record's audio file" in result.output
    private = EVALUATOR.parent
    records = [json.loads(line) for line in (RELEASES / "mub-leaky/prompts/prompts.jsonl").read_text().splitlines()]
    hashes = {record["audio_hash"] for record in records}
    assert len(hashes) == 50
    shown = {value for value in values_of(private / "catalogue.csv") | hashes if value in result.output}
    assert shown == set()


def test_every_planted_leak_is_found() -> None:
    report = json.loads(run(RELEASES / "mub-leaky", "--evaluator", EVALUATOR, "--format", "json").output)
    with (RELEASES / "mub-leaky.planted.csv").open(newline="") as stream:
        planted = list(csv.DictReader(stream))

    names = {finding["place"]["name"] for finding in report["findings"]}
    fields = {row["leak"] for row in planted if row["leak"].startswith("$")}
    assert fields - names == set()
    counts = {finding["place"]["name"]: finding["count"] for finding in report["findings"]}
    assert counts["$.audio_hash"] == 50
    assert any(finding["rule"] == "telling-name" for finding in report["findings"])
    assert any(finding["rule"] == "identifying-tag" for finding in report["findings"])


def test_reveal_shows_values() -> None:
    hidden = run(RELEASES / "mub-leaky", "--format", "json").output
    shown = run(RELEASES / "mub-leaky", "--format", "json", "--reveal").output

    value = json.loads((RELEASES / "mub-leaky/prompts/prompts.jsonl").read_text().splitlines()[0])["answer"]
    assert value not in hidden
    assert value in shown


def test_outputs_by_suffix_and_by_name(tmp_path: Path) -> None:
    outputs = [tmp_path / "a.json", f"csv:{tmp_path}/b", tmp_path / "c.codequality.json", tmp_path / "d.md"]
    run(RELEASES / "mub-clean", *(argument for output in outputs for argument in ("-o", output)))

    assert json.loads((tmp_path / "a.json").read_text())["status"] == 0
    assert (tmp_path / "b").read_text().startswith("rule,level,")
    assert (tmp_path / "c.codequality.json").read_text() == "[]\n"
    assert (tmp_path / "d.md").read_text().startswith("### leakscan\n")


def test_a_report_takes_the_place_of_no_other_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = tmp_path / "release"
    release.mkdir()
    lines = '{"id": "1", "prompt": "Which key?"}\n{"id": "2", "prompt": "Which metre?"}\n'
    (release / "test.jsonl").write_text(lines)
    for output in ("json:test.jsonl", "csv:test.jsonl", "text:test.jsonl", "html:test.jsonl"):
        name, _, file = output.partition(":")
        status, said = fails(capsys, release, "-o", f"{name}:{release / file}")
        assert status == 2
        assert f"exists already and is no {name} report; name another file" in said
    assert (release / "test.jsonl").read_text() == lines


def test_a_run_does_not_judge_the_reports_that_it_writes(tmp_path: Path) -> None:
    shutil.copytree(RELEASES / "mub-clean", tmp_path / "release")
    names = ["a.json", "b.sarif", "c.csv", "d.md", "e.xml", "f.codequality.json", "g.annotations", "h.txt"]
    wanted = [argument for name in names for argument in ("-o", tmp_path / "release" / name)]
    first, second = (run(tmp_path / "release", *wanted) for _ in range(2))
    assert first.exit_code == second.exit_code == 0
    assert first.stdout == second.stdout


def test_a_baseline_takes_the_place_of_no_other_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = tmp_path / "gold.csv"
    gold.write_text("id,answer\n1,C\n")
    status, said = fails(capsys, RELEASES / "mub-clean", "--baseline", gold, "--write-baseline")
    assert status == 2
    assert "exists already and is no baseline" in said
    assert gold.read_text() == "id,answer\n1,C\n"


@pytest.mark.parametrize("name", ["mub", "bass", "mustbench", "openmic-qa"])
def test_same_input_same_bytes(name: str) -> None:
    evaluator = FIXTURES / "evaluator" / name / "evaluator.toml"
    command = [
        sys.executable,
        "-m",
        "leakscan",
        RELEASES / f"{name}-leaky",
        "--evaluator",
        evaluator,
        "--format",
        "json",
    ]

    first, second = (
        subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}, timeout=300).stdout
        for seed in ("1", "2")
    )

    assert first == second
    assert json.loads(first)["status"] == 1


def test_show_config_prints_the_profile_merged_in() -> None:
    shown = run(RELEASES / "mub-clean", "--show-config").output
    document = tomllib.loads(shown)
    assert "profile" not in document
    assert document["records"]["prompts"]["closed"] is True
    assert document["files"]["allow"] == ["README.md", "LICENSE", "*.py"]
    assert run(FIXTURES / "collection", "--show-config").exit_code == 0


def test_as_sent(tmp_path: Path) -> None:
    records = [json.loads(line) for line in (RELEASES / "mub-leaky/prompts/prompts.jsonl").read_text().splitlines()]
    messages = [[{"role": "user", "content": "\n".join((one["prompt"], *one.get("choices", ())))}] for one in records]
    (tmp_path / "clean.jsonl").write_text("\n".join(json.dumps({"messages": turn}) for turn in messages))
    for turn, one in zip(messages, records, strict=True):
        turn[0]["content"] += f"\n{one['audio_hash']}"
    (tmp_path / "leaky.jsonl").write_text("\n".join(json.dumps({"messages": turn}) for turn in messages))

    assert run(RELEASES / "mub-leaky", "--as-sent", tmp_path / "clean.jsonl").exit_code == 0
    result = run(RELEASES / "mub-leaky", "--as-sent", tmp_path / "leaky.jsonl")
    assert result.exit_code == 1
    assert "error [sent-routing] strong: a value that is no input is sent: that of $.audio_hash\n" in result.output
    assert records[0]["audio_hash"] not in result.output


def test_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release, baseline = tmp_path / "release", tmp_path / "release/accepted.jsonl"
    shutil.copytree(RELEASES / "mub-leaky", release, ignore=shutil.ignore_patterns("audio"))
    common = (release, "--evaluator", EVALUATOR, "--baseline", baseline, "--format", "json")
    assert fails(capsys, *common)[0] == 2
    first = run(*common, "--write-baseline")
    report = json.loads(first.output)
    assert (first.exit_code, report["findings"]) == (0, [])
    assert report["suppressed"] > 10
    text = baseline.read_text()
    assert not any(value in text for value in values_of(EVALUATOR.parent / "catalogue.csv"))
    assert not re.search(r"(?<!hmac:)\b[0-9a-f]{16,}\b", text)

    again = json.loads(run(*common).output)
    assert (again["findings"], again["suppressed"], again["notes"]) == ([], report["suppressed"], report["notes"])
    assert run(*common, "--no-suppress").exit_code == 1
    run(*common, "--write-baseline")
    assert baseline.read_text() == text

    prompts = release / "prompts/prompts.jsonl"
    first_line, *lines = prompts.read_text().splitlines()
    record = json.loads(first_line) | {"audio_hash": "00" * 8}
    prompts.write_text("\n".join([*lines[::-1], json.dumps(record)]) + "\n")
    (*_, new) = (one for one in json.loads(run(*common).output)["findings"] if one["place"]["name"] == "$.audio_hash")
    assert [place["id"] for place in new["places"]] == ["MUB-00001"]


@pytest.mark.parametrize("wrong", [["--write-baseline"], ["--write-baseline", "--baseline", "x", "--no-suppress"]])
def test_baseline_is_not_written_by_accident(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, message = fails(capsys, RELEASES / "mub-clean", *wrong)
    assert (status, message) == (2, "leakscan: --write-baseline needs --baseline FILE, and no --no-suppress\n")


def test_baseline_of_a_part_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = RELEASES / "mub-leaky/prompts"
    status, message = fails(capsys, part, "--baseline", tmp_path / "b", "--write-baseline")
    assert status == 2
    assert "a baseline is about the whole release; give its root, " in message


def test_init_writes_a_draft_and_never_over_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "leakscan.toml"
    assert run("init", RELEASES / "mub-clean", "-o", out).exit_code == 0
    assert out.read_text() == run("init", RELEASES / "mub-clean").output
    assert "[records.prompts.fields]" in out.read_text()
    before = out.read_text()
    status, message = fails(capsys, "init", RELEASES / "mub-leaky", "-o", out)
    assert (status, message.endswith("exists already; name a new file, or remove it first\n")) == (2, True)
    assert out.read_text() == before


def test_clean_then_scan(tmp_path: Path) -> None:
    before = tree(RELEASES / "mub-leaky")

    result = run("clean", RELEASES / "mub-leaky", tmp_path / "copy", "--mapping", tmp_path / "mapping.json")

    assert result.exit_code == 0, result.output
    assert "50 audio files: coded sound and decoder parameters as before, no other byte left" in result.output
    assert tree(RELEASES / "mub-leaky") == before
    assert run(tmp_path / "copy", "--evaluator", EVALUATOR).exit_code == 0


def tree(folder: Path) -> dict[str, str]:
    """The digest of every file below `folder`."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_fingerprint_and_match(tmp_path: Path) -> None:
    index = tmp_path / "index.jsonl"
    assert run("fingerprint", RELEASES / "mub-clean/audio", "-o", index).exit_code == 2
    assert run("fingerprint", RELEASES / "mub-clean/audio", "--plain-private", "-o", index).exit_code == 0

    result = run("match", FIXTURES / "takes", "--against", index, "--format", "csv")

    assert result.exit_code == 0, result.output
    header, *rows = csv.reader(result.stdout.splitlines())
    assert ",".join(header) == (
        "file,id,state,same_timeline,score,offset_s,overlap_s,speed,coverage_file,coverage_reference"
    )
    found = {str(Path(row[0]).relative_to(FIXTURES / "takes")): (row[1], row[2], row[5]) for row in rows if row[0]}
    with (FIXTURES / "takes.csv").open(newline="") as stream:
        truths = list(csv.DictReader(stream))
    assert set(found) == {truth["file"] for truth in truths}
    for truth in truths:
        matched, state, offset = found[truth["file"]]
        if truth["kind"] in ("copy", "crop"):
            assert (matched, state) == (truth["id"], "matched"), truth
            assert abs(float(offset) - float(truth["offset_s"])) < 0.15, truth
        else:
            assert (matched, offset) == ("", ""), truth
            assert state in ("absent", "too-short")


def test_what_a_table_has_no_place_for_goes_to_standard_error(tmp_path: Path) -> None:
    index, takes, mine = tmp_path / "index.jsonl", tmp_path / "takes", tmp_path / "mine"
    assert run("fingerprint", RELEASES / "mub-clean/audio", "--plain-private", "-o", index).exit_code == 0
    takes.mkdir()
    for number in range(30):
        (takes / f"{number:02}.mp3").touch()
    with (FIXTURES / "takes.csv").open(newline="") as stream:
        crop = next(truth["file"] for truth in csv.DictReader(stream) if truth["kind"] == "crop")
    result = run("match", FIXTURES / "takes" / crop, takes, "--against", index, "--link", mine, "--format", "csv")
    assert result.exit_code == 3
    told = result.stderr.splitlines()
    assert f"note: {mine}: 0 links made; 1 file left out" in told
    assert sum(line.startswith("not read: ") for line in told) == 20
    assert "and 10 more; --format json lists all" in told


def test_duplicates() -> None:
    result = run("duplicates", FIXTURES / "collection", "--format", "csv")

    assert result.exit_code == 0, result.output
    header, *rows = csv.reader(result.stdout.splitlines())
    assert ",".join(header) == (
        "group,set_a,a,set_b,b,relation,score,offset_s,overlap_s,speed,coverage_a,coverage_b,title_artist_agree,keep"
    )
    collection = FIXTURES / "collection"
    found = {
        (*(str(Path(row[side]).relative_to(collection)) for side in (2, 4)), row[5]): float(row[7]) for row in rows
    }
    with (FIXTURES / "collection.csv").open(newline="") as stream:
        truth = {(row["a"], row["b"], row["relation"]): float(row["offset_s"]) for row in csv.DictReader(stream)}
    assert found == {pair: pytest.approx(offset, abs=0.15) for pair, offset in truth.items()}


def test_duplicates_can_fail_a_run() -> None:
    assert run("duplicates", FIXTURES / "collection", "--fail-on", "warning").exit_code == 1


def test_duplicates_lists_what_can_go_and_takes_decisions(tmp_path: Path) -> None:
    collection = FIXTURES / "collection"
    result = run("duplicates", collection, "--write-drop", tmp_path / "drop.txt", "--format", "json")
    report = json.loads(result.stdout)
    drop = [str(Path(line).relative_to(collection)) for line in (tmp_path / "drop.txt").read_text().splitlines()]
    assert len(drop) == report["summary"]["can_be_dropped"] == 4
    assert not {row["keep"] for row in report["rows"]} & set(drop)
    pairs = [
        {"a": row["key_a"], "b": row["key_b"], "verdict": "different", "reason": "heard"} for row in report["rows"]
    ]
    pairs = [pair for pair in pairs if pair["a"] != pair["b"]]
    (tmp_path / "reviewed.json").write_text(json.dumps({"leakscan_reviewed": 1, "pairs": pairs}))
    again = json.loads(
        run("duplicates", collection, "--reviewed", tmp_path / "reviewed.json", "--format", "json").stdout
    )
    assert {row["relation"] for row in again["rows"]} == {"identical-bytes", "identical-audio"}
    assert again["summary"]["reviewed_different"] == len(pairs) == 2


@pytest.mark.parametrize("form", ["csv", "json", "markdown", "text"])
def test_overlap(form: str) -> None:
    """A reproducer's copies against the records of a release, in every form."""
    bench = RELEASES / "mub-clean" / "prompts" / "prompts.jsonl"
    result = run("overlap", f"mine={FIXTURES / 'takes'}", f"bench={bench}", "--format", form)
    assert result.exit_code == 1, result.output
    with (FIXTURES / "takes.csv").open(newline="") as stream:
        truth = {(row["file"], row["id"]) for row in csv.DictReader(stream) if row["kind"] in ("copy", "crop")}
    assert f"{len(truth)} error" in result.stdout or form in ("csv", "json")
    if form == "csv":
        rows = list(csv.DictReader(result.stdout.splitlines()))
        assert {(row["set_a"], row["set_b"]) for row in rows} == {("mine", "bench")}
        found = {(str(Path(row["a"]).relative_to(FIXTURES / "takes")), Path(row["b"]).stem) for row in rows}
        assert found == truth
    elif form == "json":
        assert json.loads(result.stdout)["summary"]["shared"]["mine"]["bench"] == len(truth)


def test_who_waits_at_a_terminal_sees_how_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with command_line._counted() as tell:
        assert tell is None  # nothing is written where nobody looks
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with command_line._counted() as tell:
        assert tell is not None
        tell(1, 4)
        tell(4, 4)
    assert "4/4" in capsys.readouterr().err


def test_overlap_in_use_that_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    takes = FIXTURES / "takes"
    assert fails(capsys, "overlap", str(takes))[1].startswith("leakscan: ")
    for arguments in ([f"a={takes}"], [f"a={takes}", "b=/gone"], [f"a={takes}", f"b={takes}", "--label", "x"]):
        assert fails(capsys, "overlap", *arguments)[0] == 2


def test_explain() -> None:
    assert "malformed-record" in run("explain").output
    assert "cannot be judged" in run("explain", "malformed-record").output


def test_unknown_rule_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    status, message = fails(capsys, "explain", "malformed-recrod")

    assert status == 2
    assert message == "leakscan: unknown rule 'malformed-recrod'; did you mean 'malformed-record'?\n"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["no/such/path"], 2), (["scan"], 2), (["scan", ".", "--no-such-option"], 2), (["match", "x"], 2)],
)
def test_wrong_usage_is_one_line(arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    found, message = fails(capsys, *arguments)

    assert found == status
    assert message.startswith("leakscan: ")
    assert message.count("\n") == 1


def test_no_arguments_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    status, message = fails(capsys)

    assert status == 2
    assert message.startswith("Usage: leakscan [OPTIONS] COMMAND [ARGS]...\n")


def test_no_audio_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("words")

    status, message = fails(capsys, "fingerprint", tmp_path, "--plain-private", "-o", tmp_path / "i.jsonl")

    assert (status, message) == (2, f"leakscan: {tmp_path}: holds no audio files; nothing was written\n")
    assert not (tmp_path / "i.jsonl").exists()
    assert "no audio files were found" in run("duplicates", tmp_path).output


def test_a_file_that_is_no_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.jsonl").write_text('{"id": "MUB-00001", "prompt": "Which metre?"}\n')

    status, message = fails(capsys, "match", tmp_path, "--against", tmp_path / "p.jsonl")

    assert status == 2
    assert "p.jsonl:1: no index of fingerprints; name the file that `leakscan fingerprint` wrote" in message


def test_internal_error_shows_no_value(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def broken() -> None:
        raise KeyError("Whispering Lanterns")

    monkeypatch.setitem(cli.commands, "doctor", broken)

    status, message = fails(capsys, "doctor")

    assert status == 4
    assert message.startswith("leakscan: internal error (KeyError at test_cli.py:")
    assert "Lanterns" not in message


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    command = f"{sys.executable} -m leakscan {RELEASES / 'mub-leaky'} --format json | head -c 1"

    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)

    assert done.stdout == "{"
    assert done.stderr == ""


def test_verify_cannot_be_told_to_accept_anything(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["verify", str(tmp_path / "c.json"), str(tmp_path), "--fail-on", "never"])
    assert (result.exit_code, "would accept any release" in result.stderr) == (2, True)
