"""The copy holds what is declared and nothing else, the source stays as it is, and nothing is left of a failure."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import pty
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mutagen.wave
import pytest
from encoder import encoder
from mutagen.id3 import TIT2

from leakscan import cleaning, crew, media, stripping, workplace
from leakscan.cleaning import Options, clean
from leakscan.formats import riff
from leakscan.model import Examined, LeakscanError, Report, Unreadable, UsageError

CONFIG = """
[records.prompts]
files = ["prompts/*.jsonl"]
id = "id"
closed = true
[records.prompts.fields]
id = {role = "routing"}
audio = {role = "input", type = "path"AUDIO}
"choices[]" = {role = "input", optional = true}
"meta.level" = {role = "routing", type = "integer", optional = true}
[files]
allow = ["README.md"]
"""
TEMPLATE = CONFIG.replace("AUDIO", ', template = "audio/{id}.wav", exists = true')
PLAIN = CONFIG.replace("AUDIO", "")


def sound(path: Path, seed: int = 1, title: str | None = "Crooked Teaspoons", seconds: float = 0.05) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as stream:
        stream.setnchannels(1)
        stream.setsampwidth(2)
        stream.setframerate(8000)
        stream.writeframes(bytes(range(seed, seed + 100)) * round(160 * seconds))
    if title is not None:
        file = mutagen.wave.WAVE(path)
        file.add_tags()
        file.tags.add(TIT2(encoding=3, text=[title]))
        file.save()


def frames(path: Path) -> bytes:
    with wave.open(str(path), "rb") as stream:
        return stream.readframes(10_000)


def write(root: Path, records: list[Any], config: str = TEMPLATE) -> None:
    (root / "prompts").mkdir(parents=True, exist_ok=True)
    (root / "prompts/p.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (root / "leakscan.toml").write_text(config)


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def files(folder: Path) -> Mapping[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A release with two records, three audio files and what is not declared."""
    root = tmp_path / "release"
    sound(root / "wav/Two Herons.wav", 1)
    sound(root / "wav/Tin Walrus.wav", 2)
    sound(root / "wav/Not Used.wav", 3)
    write(root, [
        {"id": "B1", "audio": "wav/Two Herons.wav", "title": "Two Herons", "choices": ["x", {"y": 1}],
         "meta": {"level": 3, "isrc": "ZZ"}},
        {"id": "B2", "audio": "../wav/Tin Walrus.wav", "answer": "3/4", "meta": "a text"},
    ])  # fmt: skip
    (root / "README.md").write_text("read me")
    (root / "notes.txt").write_text("a note")
    return root


def run(root: Path, **more: Any) -> Report:
    out = more.pop("out", root.parent / "out")
    return clean(root, out, mapping_file=more.pop("mapping", root.parent / "mapping.json"), **more)


# --- what is copied --------------------------------------------------------------------------------------------------


def test_copy_holds_what_is_declared_and_nothing_else(root: Path, tmp_path: Path) -> None:
    before = files(root)
    report = run(root)

    out = tmp_path / "out"
    assert files(root) == before
    assert list(files(out)) == ["README.md", "audio/B1.wav", "audio/B2.wav", "leakscan.toml", "prompts/p.jsonl"]
    assert read(out / "prompts/p.jsonl") == [
        {"id": "B1", "audio": "audio/B1.wav", "choices": ["x"], "meta": {"level": 3}},
        {"id": "B2", "audio": "audio/B2.wav"},
    ]
    for new, old in (("B1", "Two Herons"), ("B2", "Tin Walrus")):
        assert frames(out / f"audio/{new}.wav") == frames(root / f"wav/{old}.wav")
        assert b"Teaspoons" not in (out / f"audio/{new}.wav").read_bytes()
    assert report.summary == {"files copied": 5, "files renamed": 2, "files left behind": 2}
    assert report.noted == ("notes.txt", "wav/Not Used.wav")
    assert "audio files among them: 1; where records refer to these, declare the field with type path" in report.notes
    assert "2 audio files: coded sound and decoder parameters as before, no other byte left" in report.notes
    assert report.examined == Examined(3, 2, 2, 6, sum(file.stat().st_size for file in out.glob("[ap]*/*")))
    assert stat.S_IMODE(out.stat().st_mode) == 0o755
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mapping.json", "out", "release"]


def test_mapping_is_private_and_complete(root: Path, tmp_path: Path) -> None:
    run(root)

    mapping = tmp_path / "mapping.json"
    assert stat.S_IMODE(mapping.stat().st_mode) == 0o600
    document = json.loads(mapping.read_text())
    assert document["leakscan_mapping"] == 1
    assert [(file["old"], file["new"]) for file in document["files"]] == [
        ("README.md", "README.md"), ("leakscan.toml", "leakscan.toml"), ("prompts/p.jsonl", "prompts/p.jsonl"),
        ("wav/Tin Walrus.wav", "audio/B2.wav"), ("wav/Two Herons.wav", "audio/B1.wav"),
    ]  # fmt: skip
    for file in document["files"]:
        assert file["sha256_old"] == hashlib.sha256((root / file["old"]).read_bytes()).hexdigest()
        assert file["sha256_new"] == hashlib.sha256((tmp_path / "out" / file["new"]).read_bytes()).hexdigest()
        assert ("audio" in file) == file["new"].endswith(".wav")
    audio = document["files"][-1]["audio"]
    assert (audio["how"], audio["pcm"]) == ("rewritten", "not compared")
    assert audio["before"]["parameters"] == audio["after"]["parameters"]
    assert audio["before"]["extras"]
    assert not audio["after"]["extras"]
    for account, file in (
        (audio["before"], root / "wav/Two Herons.wav"),
        (audio["after"], tmp_path / "out/audio/B1.wav"),
    ):
        assert account["size"] == sum(account["bytes"].values()) == file.stat().st_size


def test_names_that_are_left_behind_are_redacted_in_folders_too(root: Path) -> None:
    (root / "The Nettle Band - Herons").mkdir()
    (root / "The Nettle Band - Herons/x.txt").touch()
    report = run(root)
    assert "<name 1, 24 characters>/x.txt" in report.noted
    assert "Nettle" not in repr(report)


def test_neutral_names_without_a_template_follow_the_secret(root: Path, tmp_path: Path) -> None:
    write(root, read(root / "prompts/p.jsonl"), PLAIN)
    private = tmp_path / "private"
    private.mkdir()
    (private / "evaluator.toml").write_text('secret = "k"')
    (private / "k").write_bytes(b"k" * 32)
    for out in ("one", "two"):
        run(root, out=tmp_path / out, mapping=tmp_path / f"{out}.json", private=private / "evaluator.toml")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    names = sorted(path.name for path in (tmp_path / "one/audio").iterdir())
    assert all(name in {"00001.wav", "00002.wav", "00003.wav"} for name in names)
    first, second = read(tmp_path / "one/prompts/p.jsonl")
    assert first["audio"].startswith("audio/0000")  # a reference from the root stays one
    assert second["audio"].startswith("../audio/0000")  # one from the record's folder, too


def test_id_makes_the_name_where_the_pattern_allows_it(root: Path, tmp_path: Path) -> None:
    write(root, read(root / "prompts/p.jsonl"), CONFIG.replace("AUDIO", r", pattern = '(?:\.\./)?audio/B\d\.wav'"))
    run(root)
    assert [record["audio"] for record in read(tmp_path / "out/prompts/p.jsonl")] == ["audio/B1.wav", "../audio/B2.wav"]


def test_one_recording_of_several_records_is_copied_once(root: Path, tmp_path: Path) -> None:
    write(root, [{"id": name, "audio": "wav/Two Herons.wav"} for name in ("B1", "B2")], PLAIN)
    report = run(root)
    assert len({record["audio"] for record in read(tmp_path / "out/prompts/p.jsonl")}) == 1
    assert report.summary["files renamed"] == 1


def test_private_audio_is_not_copied(root: Path, tmp_path: Path) -> None:
    write(root, read(root / "prompts/p.jsonl"), PLAIN + '[release]\naudio = "private"\n')
    clean(root, tmp_path / "out")
    assert list(files(tmp_path / "out")) == ["README.md", "leakscan.toml", "prompts/p.jsonl"]


def test_audio_that_is_declared_as_a_file_is_stripped_and_never_copied_twice(root: Path, tmp_path: Path) -> None:
    write(root, read(root / "prompts/p.jsonl"), TEMPLATE.replace('["README.md"]', '["wav/*"]'))
    run(root)
    out = tmp_path / "out"
    assert list(files(out)) == ["audio/B1.wav", "audio/B2.wav", "leakscan.toml", "prompts/p.jsonl", "wav/Not Used.wav"]
    assert b"Teaspoons" not in (out / "wav/Not Used.wav").read_bytes()


def test_only_audio_needs_no_configuration(tmp_path: Path) -> None:
    sound(tmp_path / "takes/a/Two Herons.wav")
    sound(tmp_path / "takes/Tin Walrus.WAV")
    report = clean(tmp_path / "takes", tmp_path / "out", mapping_file=tmp_path / "m.json")
    assert list(files(tmp_path / "out")) == ["audio/00001.wav", "audio/00002.wav"]
    assert (report.status, report.findings) == (0, ())


def test_configuration_may_lie_elsewhere_and_the_copy_in_a_repository(root: Path, tmp_path: Path) -> None:
    (root / "leakscan.toml").rename(tmp_path / "other.toml")
    (tmp_path / "repository/.git").mkdir(parents=True)
    out = tmp_path / "repository/out"
    report = run(root, config=tmp_path / "other.toml", out=out)
    assert list(files(out)) == ["README.md", "audio/B1.wav", "audio/B2.wav", "prompts/p.jsonl"]
    assert (report.examined.records, report.root) == (2, out.as_posix())
    assert {finding.place.path for finding in report.findings} <= {"prompts/p.jsonl", "audio/B1.wav"}


def test_link_inside_is_copied_as_a_file(root: Path, tmp_path: Path) -> None:
    (root / "README.md").unlink()
    (root / "README.md").symlink_to("notes.txt")
    run(root)
    assert not (tmp_path / "out/README.md").is_symlink()
    assert (tmp_path / "out/README.md").read_text() == "a note"


def test_link_out_and_special_files_stay_behind(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (root / "README.md").unlink()
    (root / "README.md").symlink_to("../secret.md")
    os.mkfifo(root / "fifo")
    report = run(root)
    assert "README.md" not in files(tmp_path / "out")
    assert report.noted == ("README.md", "fifo", "notes.txt", "wav/Not Used.wav")


def encoded(source: Path, target: Path, *options: str) -> None:
    argv = [encoder(), "-nostdin", "-v", "error", "-i", str(source), *options, str(target)]
    subprocess.run(argv, check=True)
    source.unlink()


@pytest.mark.parametrize("config", [TEMPLATE.replace(".wav", ".flac"), PLAIN])
def test_lossless_audio_that_cannot_be_cleaned_becomes_flac(root: Path, tmp_path: Path, config: str) -> None:
    samples = frames(root / "wav/Two Herons.wav")
    for name in ("Two Herons", "Tin Walrus"):
        encoded(root / f"wav/{name}.wav", root / f"wav/{name}.voc", "-metadata", "title=Crooked Teaspoons")
    records = [{"id": "B1", "audio": "wav/Two Herons.voc"}, {"id": "B2", "audio": "wav/Tin Walrus.voc"}]
    write(root, records, config)
    refuses(root, f"{P1}: its audio cannot be cleaned (not supported; --transcode makes FLAC of lossless files)"
            if config is PLAIN else f"{P1}: the template of its path does not fit its file")  # fmt: skip

    report = run(root, options=Options(transcode=True))
    out = tmp_path / "out"
    new = out / read(out / "prompts/p.jsonl")[0]["audio"]
    assert new.suffix == ".flac"
    assert "Herons" not in new.name
    assert media.pcm_digest(new) == hashlib.sha256(_widened(samples)).hexdigest()
    assert "2 audio files became FLAC with the same samples" in report.notes
    document = json.loads((tmp_path / "mapping.json").read_text())["files"][-1]
    assert (document["audio"]["how"], document["audio"]["pcm"]) == ("transcoded", "equal")


def _widened(samples: bytes) -> bytes:
    return b"".join(b"\0\0" + samples[at : at + 2] for at in range(0, len(samples), 2))


def test_only_audio_that_becomes_flac(tmp_path: Path) -> None:
    sound(tmp_path / "takes/Two Herons.wav")
    encoded(tmp_path / "takes/Two Herons.wav", tmp_path / "takes/Two Herons.shn.voc")
    (tmp_path / "takes/Two Herons.shn.voc").rename(tmp_path / "takes/Two Herons.tak")  # a name that is meant as audio
    with pytest.raises(Unreadable, match=r"file 1 of .*: its audio cannot be cleaned \(not supported; --transcode"):
        clean(tmp_path / "takes", tmp_path / "out", mapping_file=tmp_path / "m.json")
    clean(tmp_path / "takes", tmp_path / "out", mapping_file=tmp_path / "m.json", options=Options(transcode=True))
    assert list(files(tmp_path / "out")) == ["audio/00001.flac"]


def test_lossy_audio_does_not_become_flac(root: Path) -> None:
    encoded(root / "wav/Two Herons.wav", root / "wav/Two Herons.voc", "-c:a", "pcm_mulaw")
    write(root, [{"id": "B1", "audio": "wav/Two Herons.voc"}], PLAIN)
    message = f"{P1}: its audio cannot be cleaned (its codec (pcm_mulaw) does not keep every sample; "
    refuses(root, message, options=Options(transcode=True))


@pytest.mark.parametrize("transcode", [False, True])
def test_a_pointer_in_place_of_audio_is_called_one(root: Path, transcode: bool) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    (root / "wav/Two Herons.wav").write_text(pointer)
    message = f"{P1}: its audio cannot be cleaned (a Git LFS pointer, not the data; fetch it with `git lfs pull`)"
    refuses(root, message, options=Options(transcode=transcode))


def test_declared_audio_of_other_containers_is_not_copied_as_it_is(root: Path) -> None:
    encoded(root / "wav/Not Used.wav", root / "take.w64", "-metadata", "title=Crooked Teaspoons")
    (root / "take.w64").rename(root / "take.tak")
    (root / "take.tak").write_bytes(b"tBaK" + bytes(100))
    write(root, read(root / "prompts/p.jsonl"), TEMPLATE.replace('["README.md"]', '["*.tak"]'))
    refuses(root, "take.tak: its audio cannot be cleaned (not supported; --transcode makes FLAC of lossless files)")


def test_samples_are_compared_on_request(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = run(root, options=Options(check_pcm=True))
    assert "under ffmpeg, 2 audio files have the samples that they had" in report.notes
    monkeypatch.setattr(stripping, "compare_files", lambda before, after: "gapless")
    report = run(root, out=tmp_path / "two", mapping=tmp_path / "two.json", options=Options(check_pcm=True))
    assert (
        "under ffmpeg, 2 audio files have more or fewer samples at the start or end than before "
        "(gapless playback changes): audio/B1.wav, audio/B2.wav"
    ) in report.notes


def test_a_gapless_change_is_told_unasked(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(root, out=tmp_path / "one", mapping=tmp_path / "one.json")
    audio = [file["audio"] for file in json.loads((tmp_path / "one.json").read_text())["files"] if "audio" in file]
    monkeypatch.setattr(riff, "RECOUNTED", tuple(audio[0]["before"]["extras"]), raising=False)
    (note,) = (note for note in run(root).notes if "counted other frames" in note)
    assert note.endswith("(gapless playback changes; --check-pcm tells): audio/B1.wav, audio/B2.wav")


# --- refusals: nothing is left ---------------------------------------------------------------------------------------


def refuses(root: Path, message: str, kind: type[LeakscanError] = Unreadable, **more: Any) -> None:
    before, around = files(root), sorted(root.parent.rglob("*"))
    with pytest.raises(kind) as error:
        run(root, **more)
    assert message in str(error.value)
    assert "Herons" not in str(error.value)
    assert "Walrus" not in str(error.value)
    assert files(root) == before
    assert sorted(root.parent.rglob("*")) == around


P1 = "prompts/p.jsonl: record 1"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": "B1", "audio": "wav/gone.wav"}, f"{P1} refers to a file that is not there; repair the reference first"),
        ({"id": "B1", "audio": "../../outside.wav"}, f"{P1} refers to a file that is not there"),
        ({"id": "B1", "audio": "/etc/passwd"}, f"{P1} refers to a file that is not there"),
        ({"id": "B1", "audio": "wav/out.wav"}, f"{P1} refers to a file that is not there"),
        ({"id": "B1", "audio": "README.md"}, f"{P1}: the template of its path does not fit its file"),
        (
            {"id": "B1", "audio": "wav/Herons text.wav"},
            f"{P1}: its audio cannot be cleaned (not supported; --transcode makes FLAC of lossless files)",
        ),
        ({"id": "B1", "audio": "wav/cut Herons.wav"}, f"{P1}: its audio cannot be cleaned (cut: "),
        ({"id": "..", "audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        ({"id": "../../x", "audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        ({"id": "a/b", "audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        ({"id": "a\0", "audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        ({"id": None, "audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        ({"audio": "wav/Two Herons.wav"}, f"{P1}: the template of its path does not fit its file"),
        (["Two Herons"], f"{P1} is no object with fields; mend it or leave its file out"),
    ],
)
def test_record_that_cannot_be_cleaned_stops_it_all(root: Path, record: Any, message: str) -> None:
    sound(root.parent / "outside.wav")
    (root / "wav/out.wav").symlink_to("../../outside.wav")
    (root / "wav/Herons text.wav").write_text("no audio")
    (root / "wav/cut Herons.wav").write_bytes((root / "wav/Two Herons.wav").read_bytes()[:500])
    write(root, [record, {"id": "B2", "audio": "wav/Tin Walrus.wav"}])
    refuses(root, message)


def test_record_that_is_a_mere_text_stops_it(root: Path) -> None:
    write(root, [{"id": "B1", "audio": "wav/Two Herons.wav"}, "Two Herons"])
    refuses(root, "prompts/p.jsonl: record 2 is no object with fields; mend it or leave its file out")


@pytest.mark.parametrize(
    ("config", "audio", "old"),
    [
        (PLAIN, r"0000\d\.wav", "Two Herons.wav"),
        (CONFIG.replace("AUDIO", ", pattern = '[^/]+'"), r"B1\.wav", "Two Herons.wav"),
        (CONFIG.replace("AUDIO", ', template = "{id}.wav", exists = true'), r"B1\.wav", "B1.wav"),
    ],
)
def test_names_without_their_folder_stay_so(root: Path, tmp_path: Path, config: str, audio: str, old: str) -> None:
    """Whoever reads the records adds the folder."""
    (root / "wav/Two Herons.wav").rename(root / "wav" / old)
    write(root, [{"id": "B1", "audio": old}], config)
    run(root)
    (record,) = read(tmp_path / "out/prompts/p.jsonl")
    assert re.fullmatch(audio, record["audio"])
    assert (tmp_path / "out/audio" / record["audio"]).is_file()  # the name of the old folder may be the answer
    assert len(files(tmp_path / "out")) == 4


def test_names_without_their_folder_mean_one_file_of_the_copy(root: Path, tmp_path: Path) -> None:
    write(root, [{"id": "B1", "audio": "B1.wav"}], CONFIG.replace("AUDIO", ', template = "{id}.wav", exists = true'))
    (root / "wav/Two Herons.wav").rename(root / "B1.wav")
    (root / "prompts/q.jsonl").write_text(json.dumps({"id": "B1", "audio": "Tin Walrus.wav"}))
    refuses(
        root, "prompts/q.jsonl: record 1: the name of its audio would mean several files of the copy; add the folder"
    )


def test_one_file_with_and_without_its_folder_has_one_name(root: Path, tmp_path: Path) -> None:
    records = [{"id": "B1", "audio": "wav/Two Herons.wav"}, {"id": "B2", "audio": "Two Herons.wav"}]
    write(root, records, PLAIN)
    run(root)
    one, other = (record["audio"] for record in read(tmp_path / "out/prompts/p.jsonl"))
    assert one == f"audio/{other}"


@pytest.mark.parametrize("value", ["B1", "nowhere/Two Herons.wav"])
def test_a_copy_without_any_of_the_audio_is_refused(root: Path, tmp_path: Path, value: str) -> None:
    write(root, [{"id": "B1", "audio": value}], PLAIN)
    with pytest.raises(UsageError, match=r"no record refers to any of its 3 audio files by a path"):
        run(root)
    (root / "leakscan.toml").write_text(f'[release]\naudio = "private"\n{PLAIN}')
    assert run(root).status == 0
    assert sorted(files(tmp_path / "out")) == ["README.md", "leakscan.toml", "prompts/p.jsonl"]


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_picture_that_goes_is_told(root: Path, tmp_path: Path, suffix: str) -> None:
    film = ["-f", "lavfi", "-i", "testsrc=d=1:r=5:s=32x32", "-f", "lavfi", "-i", "sine=d=1", "-c:a", "aac"]
    argv = [encoder(), "-nostdin", "-v", "error", *film, str(root / f"wav/film.{suffix}")]
    subprocess.run(argv, check=True)
    write(root, [{"id": "B1", "audio": f"wav/film.{suffix}"}], PLAIN)
    report = run(root)
    assert "1 file had tracks beside the sound, such as a picture; the copy is without them" in report.notes


def test_two_files_of_one_name_stop_it(root: Path) -> None:
    write(root, [{"id": "B1", "audio": "wav/Two Herons.wav"}, {"id": "B1", "audio": "wav/Tin Walrus.wav"}])
    refuses(root, "record 2: another file is already called like its audio; make the template unique")


@pytest.mark.parametrize("data", ['{"id": "B1"', '{"id": "B1", "id": "B2"}', "\n"])
def test_record_file_that_is_broken_stops_it(root: Path, data: str) -> None:
    with (root / "prompts/p.jsonl").open("a") as stream:
        stream.write(data)
    if data == "\n":
        (root / "prompts/p.jsonl").write_text("")
        refuses(root, "prompts/p.jsonl: is declared as records, but is no record file leakscan can read")
    else:
        refuses(root, "prompts/p.jsonl: record 3 cannot be parsed (")


@pytest.mark.parametrize(("suffix", "form"), [("yaml", "yaml"), ("jsonl.gz", "gzip")])
def test_records_that_are_read_but_not_written_stop_it(root: Path, suffix: str, form: str) -> None:
    data = (root / "prompts/p.jsonl").read_bytes()
    (root / f"prompts/p.{suffix}").write_bytes(gzip.compress(data) if form == "gzip" else data)
    (root / "prompts/p.jsonl").unlink()
    (root / "leakscan.toml").write_text(TEMPLATE.replace("prompts/*.jsonl", "prompts/*"))
    refuses(
        root, f"prompts/p.{suffix}: is {form}, which is scanned but not written; make it JSON Lines, JSON or CSV first"
    )


def test_audio_that_is_declared_as_records_stops_it(root: Path) -> None:
    write(root, read(root / "prompts/p.jsonl"), TEMPLATE.replace("prompts/*.jsonl", "**"))
    refuses(root, "README.md: is declared as records, but is no record file leakscan can read")
    (root / "README.md").unlink()
    (root / "notes.txt").unlink()
    (root / "leakscan.toml").rename(root.parent / "c.toml")
    (root / "wav/Two Herons.wav").rename(root / "a.wav")
    message = "a.wav: is declared as records, but is no record file leakscan can read"
    refuses(root, message, config=root.parent / "c.toml")


@pytest.mark.parametrize(
    ("template", "message"),
    [("../{id}.wav", "leads out of the copy"), ("/tmp/{id}.wav", "leads out of the copy")],
)
def test_template_never_leads_out_of_the_copy(root: Path, template: str, message: str) -> None:
    write(root, read(root / "prompts/p.jsonl"), TEMPLATE.replace("audio/{id}.wav", template))
    refuses(root, message, UsageError)


def test_template_cannot_overwrite_what_is_there(root: Path) -> None:
    """The same file by another spelling."""
    other = """
[records.more]
files = ["*.jsonl"]
[records.more.fields]
id = {role = "routing"}
audio = {role = "input", type = "path", template = "audio/../audio/{id}.wav"}
"""
    write(root, read(root / "prompts/p.jsonl"), TEMPLATE + other)
    (root / "more.jsonl").write_text(json.dumps({"id": "B1", "audio": "wav/Not Used.wav"}))
    refuses(root, "more.jsonl: record 1: another file is already called like its audio; make the template unique")


def test_renaming_needs_a_mapping(root: Path) -> None:
    refuses(root, "2 audio files get new names; keep track of them with --mapping FILE", UsageError, mapping=None)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("release/m.json", "the mapping names what the copy hides; keep it outside both folders"),
        ("out", "the mapping names what the copy hides; keep it outside both folders"),
        ("out/m.json", "its folder does not exist; make it first"),
        ("out/../out/m.json", "its folder does not exist; make it first"),
        ("repository/sub/m.json", "keep the mapping outside of any"),
        ("there.json", "exists already; name a new file"),
        ("link.json", "exists already; name a new file"),
        ("gone/m.json", "its folder does not exist; make it first"),
    ],
)
def test_mapping_lies_where_nobody_publishes_it(root: Path, tmp_path: Path, mapping: str, message: str) -> None:
    (tmp_path / "repository/.git").mkdir(parents=True)
    (tmp_path / "repository/sub").mkdir()
    (tmp_path / "there.json").touch()
    (tmp_path / "link.json").symlink_to("nowhere")
    refuses(root, message, UsageError, mapping=tmp_path / mapping)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("release/out", "lies inside the release (or holds it); name a folder elsewhere"),
        ("inside/out", "lies inside the release (or holds it); name a folder elsewhere"),
        ("release", "exists already; name a new folder"),
        ("empty", "exists already; name a new folder"),
        ("dangling", "exists already; name a new folder"),
        ("release/../release", "exists already; name a new folder"),
    ],
)
def test_copy_goes_to_a_new_folder_elsewhere(root: Path, tmp_path: Path, out: str, message: str) -> None:
    (tmp_path / "inside").symlink_to("release/wav")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling").symlink_to("nothing")
    refuses(root, message, UsageError, out=tmp_path / out)


# --- interruptions ---------------------------------------------------------------------------------------------------


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


STRIP = stripping.strip


class Counted:
    """Cleaning one file, counted; from the `stop`th on it fails."""

    def __init__(self, stop: int = 99, error: BaseException | None = None) -> None:
        self.calls: list[str] = []
        self._stop, self._error = stop, error

    def __call__(self, entry: Any, *arguments: Any, **more: Any) -> Any:
        if len(self.calls) >= self._stop:
            assert self._error is not None
            raise self._error
        self.calls.append(entry.path)
        return STRIP(entry, *arguments, **more)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """All in this process, so that what it does can be counted."""
    monkeypatch.setattr(crew, "cores", lambda: 1)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_finished_files_are_not_done_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    before = files(root)
    monkeypatch.setattr(stripping, "strip", Counted(1, error))
    with pytest.raises((KeyboardInterrupt, LeakscanError)) as caught:
        run(root)
    if isinstance(error, OSError):
        assert str(caught.value).endswith("(No space left on device); finished files are kept for the next run")
    assert (visible(tmp_path), len(hidden(tmp_path))) == (["release"], 1)
    folder = tmp_path / hidden(tmp_path)[0]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / ".gitignore").read_text() == "*\n"

    counted = Counted()
    monkeypatch.setattr(stripping, "strip", counted)
    run(root)
    assert len(counted.calls) == 1
    assert (visible(tmp_path), hidden(tmp_path)) == (["mapping.json", "out", "release"], [])
    assert len(json.loads((tmp_path / "mapping.json").read_text())["files"]) == 5
    assert files(root) == before


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("change", ["source", "copy", "gone", "journal", "link"])
def test_what_is_there_is_not_trusted(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    monkeypatch.setattr(stripping, "strip", Counted(1, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run(root)
    folder = tmp_path / hidden(tmp_path)[0]
    (finished,) = folder.glob("copy/audio/*")
    if change == "source":
        sound(root / "wav/Two Herons.wav", 9)
        sound(root / "wav/Tin Walrus.wav", 8)
    elif change == "copy":
        finished.write_bytes(b"RIFF")
    elif change == "gone":
        finished.unlink()
    elif change == "journal":
        journal = folder / "journal.jsonl"
        journal.write_bytes(journal.read_bytes()[:-20])
    else:
        (folder / "copy/stray").symlink_to(root)
        (folder / "copy/audio/.leakscan-half").write_text("half")
    counted = Counted()
    monkeypatch.setattr(stripping, "strip", counted)
    run(root)
    assert len(counted.calls) == (1 if change == "link" else 2)
    assert list(files(tmp_path / "out")) == [
        "README.md", "audio/B1.wav", "audio/B2.wav", "leakscan.toml", "prompts/p.jsonl",
    ]  # fmt: skip
    assert not (tmp_path / "out/stray").is_symlink()
    for new, old in (("B1", "Two Herons"), ("B2", "Tin Walrus")):
        assert frames(tmp_path / f"out/audio/{new}.wav") == frames(root / f"wav/{old}.wav")


@pytest.mark.usefixtures("alone")
def test_a_call_that_is_wrong_forgets_nothing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stripping, "strip", Counted(1, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run(root)
    with pytest.raises(UsageError, match="keep track of them with --mapping"):
        run(root, mapping=None)
    monkeypatch.setattr(stripping, "strip", counted := Counted())
    run(root)
    assert len(counted.calls) == 1


@pytest.mark.usefixtures("alone")
def test_a_refusal_leaves_nothing(root: Path) -> None:
    (root / "wav/Tin Walrus.wav").write_bytes((root / "wav/Tin Walrus.wav").read_bytes()[:500])
    refuses(root, "prompts/p.jsonl: record 2: its audio cannot be cleaned (cut: ")


def test_all_refused_files_are_named(root: Path) -> None:
    for name in ("Two Herons", "Tin Walrus"):
        (root / f"wav/{name}.wav").write_bytes((root / f"wav/{name}.wav").read_bytes()[:500])
    refuses(root, "; prompts/p.jsonl: record 2: its audio cannot be cleaned (cut: ")


def test_failure_at_the_very_end_leaves_neither_copy_nor_mapping(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*paths: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(workplace.os, "rename", fail)
        with pytest.raises(LeakscanError, match="finished files are kept for the next run"):
            run(root)
    assert visible(tmp_path) == ["release"]
    run(root)
    assert visible(tmp_path) == ["mapping.json", "out", "release"]


def test_a_kill_while_the_mapping_is_written_leaves_no_part_of_it(root: Path, tmp_path: Path) -> None:
    """Its file is written to the disk twice; the run is killed either time, as far as it is seen from outside."""
    killed = """
from leakscan import sealing
real = os.fsync
saved = 0
def killed(handle):
    global saved
    saved += os.path.basename(os.readlink(f"/proc/self/fd/{handle}")).startswith(".mapping")
    if saved == COUNT:
        os._exit(9)
    return real(handle)
sealing.os.fsync = killed
"""
    for count in ("1", "2"):
        assert started(root, more=killed.replace("COUNT", count)).wait() == 9
        assert (visible(tmp_path), len(hidden(tmp_path))) == (["release"], 1)
    assert started(root).wait() == 0
    assert (visible(tmp_path), hidden(tmp_path)) == (["mapping.json", "out", "release"], [])


def test_a_mapping_on_another_file_system_is_written_there(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def elsewhere(source: str | Path, target: str | Path) -> None:
        if Path(source).parent != Path(target).parent:
            raise OSError(18, "Invalid cross-device link")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", elsewhere)
        run(root)
    assert stat.S_IMODE((tmp_path / "mapping.json").stat().st_mode) == 0o600
    assert (visible(tmp_path), hidden(tmp_path)) == (["mapping.json", "out", "release"], [])


@pytest.mark.parametrize("moment", ["mapping", "rename"])
def test_a_kill_at_the_very_end_is_made_good(root: Path, tmp_path: Path, moment: str) -> None:
    """As a kill would leave it: without what runs on the way out."""
    name = "rename" if moment == "mapping" else "fsync"
    out = tmp_path / "out"
    killed = f"""
from leakscan import workplace
real = os.{name}
def killed(*arguments):
    if {name == "rename"} or os.path.exists({str(out)!r}):
        os._exit(9)
    return real(*arguments)
workplace.os.{name} = killed
"""
    assert started(root, more=killed).wait() == 9
    assert (tmp_path / "mapping.json").exists()
    if moment == "mapping":
        assert not (tmp_path / "out").exists()
        with pytest.raises(UsageError, match="exists already"):  # it is another copy's
            run(root, out=tmp_path / "other")
        run(root)
    else:
        assert len(hidden(tmp_path)) == 1
        with pytest.raises(UsageError, match="exists already; name a new folder"):
            run(root)
    assert (visible(tmp_path), hidden(tmp_path)) == (["mapping.json", "out", "release"], [])
    for file in json.loads((tmp_path / "mapping.json").read_text())["files"]:
        assert file["sha256_new"] == hashlib.sha256((tmp_path / "out" / file["new"]).read_bytes()).hexdigest()


def test_two_runs_at_once_do_not_meet(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workplace, "_WAIT_S", 0.1)

    def meanwhile(done: cleaning.Done) -> None:
        with pytest.raises(UsageError, match="another run is writing it; wait until that one ends"):
            run(root)

    run(root, tell=meanwhile)
    assert visible(tmp_path) == ["mapping.json", "out", "release"]


def test_a_run_that_another_overtook_says_so(root: Path, tmp_path: Path) -> None:
    """With other options it grows in another place, so that nothing but the name of the copy is in its way."""

    def overtake(done: cleaning.Done) -> None:
        if done.files == 1:
            run(root, mapping=tmp_path / "other.json", options=cleaning.Options(transcode=True))

    with pytest.raises(UsageError, match=r"/out: another run has written it meanwhile; use that copy, or name a new"):
        run(root, tell=overtake)
    assert (visible(tmp_path), hidden(tmp_path)) == (["other.json", "out", "release"], [])


def test_a_run_that_waited_for_another_says_so(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "_check_places", lambda *places: None)  # as when it looked before there was a copy
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="/out: another run has written it meanwhile"):
        run(root)
    assert (visible(tmp_path), hidden(tmp_path)) == (["out", "release"], [])


def test_what_the_disk_does_not_take_is_no_copy(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(workplace, "_sync", fail)
        with pytest.raises(LeakscanError, match=r"cannot be written \(Input/output error\); finished files are kept"):
            run(root)
    assert visible(tmp_path) == ["release"]
    run(root)
    assert (visible(tmp_path), hidden(tmp_path)) == (["mapping.json", "out", "release"], [])


def test_a_folder_of_somebody_else_is_not_used(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "_key", lambda setup, options: "key")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".out.leakscan-key").symlink_to("elsewhere")
    with pytest.raises(UsageError, match="is in the way; remove it"):
        run(root)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_random_names_stay_when_a_run_is_taken_up(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, read(root / "prompts/p.jsonl"), PLAIN)
    with monkeypatch.context() as patch:
        patch.setattr(workplace.os, "rename", lambda *paths: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(LeakscanError):
            run(root)
    first = files(tmp_path / hidden(tmp_path)[0] / "copy")
    run(root)
    assert files(tmp_path / "out") == first


def test_progress_counts_files_and_bytes(root: Path) -> None:
    told: list[cleaning.Done] = []
    run(root, tell=told.append)
    size = sum((root / f"wav/{name}.wav").stat().st_size for name in ("Two Herons", "Tin Walrus"))
    assert [(done.files, done.of_files, done.of_bytes) for done in told] == [(1, 2, size), (2, 2, size)]
    assert told[-1].bytes == size


def test_progress_is_drawn_on_a_terminal_only(root: Path, tmp_path: Path) -> None:
    process = started(root)
    assert (process.communicate()[1], process.returncode) == (b"", 0)
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "mapping.json").unlink()
    ours, theirs = pty.openpty()
    process = started(root, errors=theirs)
    process.communicate()
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    assert b"2/2 files, 0/0 MB" in shown


# --- killed for real, and a full disk --------------------------------------------------------------------------------

PROGRAM = """
import os, resource, signal, sys
limit = int(sys.argv.pop(1))
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
from leakscan.cli import main
exec(sys.argv.pop(1))
main(sys.argv[1:])
"""


def started(root: Path, limit: int = 0, more: str = "", errors: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    out, mapping = root.parent / "out", root.parent / "mapping.json"
    argv = [sys.executable, "-c", PROGRAM, str(limit), more, "clean", str(root), str(out), "--mapping", str(mapping)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A release with so many files that cleaning takes a while."""
    root = tmp_path / "release"
    records = []
    for number in range(1, 41):
        sound(root / f"wav/Heron {number}.wav", number)
        records.append({"id": f"B{number}", "audio": f"wav/Heron {number}.wav"})
    write(root, records)
    return root


def test_kills_at_any_moment(many: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Sources byte-equal, the copy whole or absent, nothing beside it but one hidden folder."""
    before = files(many)
    whole = _whole(many, tmp_path)
    chance = random.Random(4711)
    start = time.monotonic()
    assert started(many).wait() == 0
    length = time.monotonic() - start
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "mapping.json").unlink()
    killed = 0
    for _ in range(pytestconfig.getoption("kills")):
        start = time.monotonic()
        process = started(many)
        try:
            process.wait(chance.uniform(0.2, 1.1) * length)
            length = time.monotonic() - start  # the machine has less to do than it had
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        assert files(many) == before
        assert set(visible(tmp_path)) <= {"release", "out", "mapping.json"}
        assert len(hidden(tmp_path)) <= 1
        if (tmp_path / "out").exists():
            assert files(tmp_path / "out") == whole
            assert (tmp_path / "mapping.json").exists()
            shutil.rmtree(tmp_path / "out")
            (tmp_path / "mapping.json").unlink()
    assert killed
    process = started(many)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, b"")
    assert (visible(tmp_path), hidden(tmp_path)) == (["mapping.json", "out", "release"], [])
    assert files(tmp_path / "out") == whole
    assert files(many) == before


def _whole(root: Path, tmp_path: Path) -> Mapping[str, bytes]:
    (tmp_path / "reference").mkdir()
    run(root, out=tmp_path / "reference/out", mapping=tmp_path / "reference/m.json")
    whole = files(tmp_path / "reference/out")
    shutil.rmtree(tmp_path / "reference")
    return whole


def test_full_disk_leaves_nothing_by_halves(many: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk that is full: EFBIG in place of ENOSPC."""
    sound(many / "wav/Heron 40.wav", 40, seconds=30)
    before = files(many)
    process = started(many, 100_000)
    _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.decode().endswith(
        "/out: cannot be written (File too large); finished files are kept for the next run\n"
    )
    assert files(many) == before
    assert (visible(tmp_path), len(hidden(tmp_path))) == (["release"], 1)
    assert not list((tmp_path / hidden(tmp_path)[0]).rglob(".leakscan-*"))
    assert started(many).wait() == 0
    assert (visible(tmp_path), hidden(tmp_path)) == (["mapping.json", "out", "release"], [])


def test_workers_end_with_a_killed_parent(many: Path) -> None:
    process = started(many)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    workers: list[str] = []
    while process.poll() is None and not workers:
        with contextlib.suppress(OSError):
            workers = children.read_text().split()
    assert workers or crew.cores() < 2
    process.kill()
    process.communicate()
    until = time.monotonic() + 10
    while any(_runs(worker) for worker in workers):
        assert time.monotonic() < until, "workers are left"
        time.sleep(0.02)


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- refusals of the whole -------------------------------------------------------------------------------------------


def test_source_is_a_whole_release(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder; name the release's folder"):
        clean(root / "README.md", tmp_path / "out")
    with pytest.raises(UsageError, match=r"the release root is .*; clean the whole release"):
        clean(root / "prompts", tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("Two Herons.jsonl", '{"id": 1}\n', "declares no record set; describe its records in leakscan.toml"),
        ("notes.txt", "text", "holds neither declared records nor audio; there is nothing to clean"),
    ],
)
def test_records_need_a_declaration(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / name).write_text(text)
    refuses(tmp_path / "release", message, UsageError)
