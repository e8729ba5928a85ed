"""A certificate states what anybody can find again; whatever is changed afterwards has a message of its own."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import os
import random
import shutil
import subprocess
import wave
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import mutagen.wave
import places
import pytest
from click.testing import CliRunner
from key_pairs import key_pair
from mutagen.id3 import TIT2

import leakscan
from leakscan import accounts, cli, dsse, inventory, media, verification
from leakscan.certificates import NotCertified, Salt, canonical, certify, write
from leakscan.cleaning import clean
from leakscan.discover import members
from leakscan.model import Report, Unreadable, UsageError
from leakscan.verification import verify

CONFIG = """
[records.prompts]
files = ["prompts/*.jsonl"]
id = "id"
closed = true
[records.prompts.fields]
id = {role = "routing"}
audio = {role = "input", type = "path", template = "audio/{id}.wav", exists = true}
prompt = {role = "input"}
[files]
allow = ["README.md"]
"""
NOISE = random.Random(4711).randbytes(80_000)


def sound(path: Path, start: int = 0, title: str | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as stream:
        stream.setnchannels(1)
        stream.setsampwidth(2)
        stream.setframerate(8000)
        stream.writeframes(NOISE[start : start + 32_000])
    if title is not None:
        file = mutagen.wave.WAVE(path)
        file.add_tags()
        file.tags.add(TIT2(encoding=3, text=[title]))
        file.save()


def released(folder: Path) -> Path:
    """A clean release in a new folder."""
    root = folder / "release"
    (root / "prompts").mkdir(parents=True)
    lines = [{"id": name, "audio": f"audio/{name}.wav", "prompt": "How many beats are there?"} for name in ("B1", "B2")]
    (root / "prompts/p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (root / "leakscan.toml").write_text(CONFIG)
    (root / "README.md").write_text("read me")
    sound(root / "audio/B1.wav", 0)
    sound(root / "audio/B2.wav", 1000)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return released(tmp_path)


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return key_pair(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="session")
def content(tmp_path_factory: pytest.TempPathFactory, keys: tuple[Path, Path]) -> bytes:
    """A signed certificate of the clean release, which does not say where that lies."""
    return certify(released(tmp_path_factory.mktemp("certified")), key=keys[0]).content


@pytest.fixture
def issued(tmp_path: Path, content: bytes) -> Path:
    """A file of its own with that certificate."""
    path = tmp_path / "certificate.json"
    path.write_bytes(content)
    return path


def issue(root: Path, path: Path, **more: Any) -> Path:
    write(certify(root, **more), path, root)
    return path


def statement(path: Path) -> Any:
    return json.loads(base64.b64decode(json.loads(path.read_bytes())["payload"]))


def resealed(path: Path, change: Callable[[Any], Any], key: Path | None = None) -> Path:
    """The certificate with a changed statement, signed anew."""
    document = statement(path)
    change(document)
    path.write_bytes(dsse.seal(canonical(document), key))
    return path


def says(report: Report) -> dict[str, list[str]]:
    """The rules that are not of the scan, and the files that they are about."""
    own = ("exact-set", "file-", "sidecar-", "certificate-", "not-", "other-")
    return {
        finding.rule: [place.path for place in finding.places]
        for finding in report.findings
        if finding.rule.startswith(own)
    }


def reasons(report: Report) -> list[str]:
    return [entry.reason for entry in report.unexamined]


# --- what it states --------------------------------------------------------------------------------------------------


def test_a_clean_release_is_certified_and_verified(root: Path, issued: Path, keys: tuple[Path, Path]) -> None:
    report = verify(issued, root, trust=[keys[1]])
    assert (report.status, report.findings, report.unexamined) == (0, (), ())
    assert list(report.summary) == ["signature", "key", "files as certified", "rules"]
    assert (report.summary["signature"], report.summary["files as certified"]) == ("trusted", 5)
    assert len(str(report.summary["key"])) == 64


def test_the_statement(root: Path, issued: Path) -> None:
    found = statement(issued)
    assert (found["_type"], found["predicateType"]) == (
        "https://in-toto.io/Statement/v1", "urn:x-leakscan:release:v1",
    )  # fmt: skip
    names = ["README.md", "audio/B1.wav", "audio/B2.wav", "leakscan.toml", "prompts/p.jsonl"]
    digests = {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in names}
    assert found["subject"] == [{"name": name, "digest": {"sha256": digests[name]}} for name in names]
    predicate = found["predicate"]
    lines = "".join(f"{digests[name]} {(root / name).stat().st_size} {name}\n" for name in names)
    assert predicate["set"] == {"files": 5, "root": hashlib.sha256(lines.encode()).hexdigest()}
    assert predicate["verdict"] == "clean-with-residuals"
    assert any("duration" in residual for residual in predicate["residuals"])
    assert "gold answers and catalogue: no evaluator file was given" in predicate["unchecked"]
    assert predicate["attested"] == {"evaluator": None, "rules": None, "cleaned": None}
    assert set(predicate["tool"]) == {"leakscan", "python", "mutagen", "ffmpeg"}
    audio = predicate["rerun"]["files"][1]
    assert audio["payload"] == hashlib.sha256(NOISE[:32_000]).hexdigest()
    assert (audio["container"], audio["verdict"], audio["packets"], audio["extras"]) == ("wav", "clean", "equal", [])
    assert audio["bytes"] == {"payload": 32_000, "structure": 44, "padding": 0}
    assert ["rate", "8000"] in audio["parameters"]
    assert predicate["rerun"]["rules"]["findings"] == {}
    assert len(predicate["rerun"]["rules"]["digest"]) == 64


def test_two_runs_give_the_same_bytes(root: Path, keys: tuple[Path, Path]) -> None:
    assert certify(root, key=keys[0]).content == certify(root, key=keys[0]).content


def test_waivers_and_what_they_accept_are_stated(root: Path, tmp_path: Path) -> None:
    lines = (root / "prompts/p.jsonl").read_text().splitlines()
    first = {**json.loads(lines[0]), "answer": "3/4"}
    (root / "prompts/p.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    with pytest.raises(NotCertified) as refused:
        certify(root)
    rules = sorted({finding.rule for finding in refused.value.report.findings if finding.level == "error"})
    waivers = "".join(
        f'[[waiver]]\nrule = "{rule}"\nwhere = "prompts/p.jsonl:$.answer"\nreason = "an example"\n' for rule in rules
    )
    (root / "leakscan.toml").write_text(CONFIG + waivers)
    rerun = certify(root).statement["predicate"]["rerun"]
    assert [waiver["rule"] for waiver in rerun["waivers"]] == rules
    assert rerun["waivers"][0]["reason"] == "an example"
    assert rerun["rules"]["accepted"].keys() == set(rules)


@pytest.mark.parametrize(
    ("container", "name"),
    [(container, name) for container, module in places.containers().items() for name in module.BASES],
)
def test_ffmpeg_finds_the_same_payload(container: str, name: str, tmp_path: Path) -> None:
    """The second enumeration, which shares no code with the first: of every base of every container."""
    from leakscan import ledgers

    module = members("formats")[container]
    data = places.base(name, places.containers()[container].BASES[name])
    path = tmp_path / name
    with path.open("wb") as out, io.BytesIO(data) as stream:
        ledgers.write(stream, module.account(stream), out)
    with path.open("rb") as stream:
        account = accounts.of_stream(stream, module.account(stream))
    assert accounts.packets(path, account) == ("equal" if name != "wavpack.mkv" else "not comparable")
    assert accounts.packets(path, replace(account, payload="0", sha256="0", container="wav")) == "other"


# --- what gets none --------------------------------------------------------------------------------------------------


def refuses(root: Path, rule: str, status: int = 1) -> Report:
    with pytest.raises(NotCertified) as error:
        certify(root)
    report = error.value.report
    assert report.status == status
    assert rule in {finding.rule for finding in report.findings} or rule in " ".join(reasons(report))
    return report


def test_findings_and_unread_files_prevent_it(root: Path) -> None:
    sound(root / "audio/B1.wav", 0, "Crooked Teaspoons")
    report = refuses(root, "not-clean")
    assert says(report)["not-clean"] == ["audio/B1.wav"]
    assert "Teaspoons" not in repr(report)
    (root / "audio/B1.wav").write_bytes((root / "audio/B1.wav").read_bytes()[:500])
    assert [entry.path for entry in refuses(root, "cut", 3).unexamined] == ["audio/B1.wav"]


def test_bytes_that_no_rule_grudges_prevent_it_too(root: Path) -> None:
    """An encoder's trace is a note to the scan; a certificate is about every byte."""
    data = (root / "audio/B1.wav").read_bytes() + b"JUNK\x04\0\0\0\1\2\3\4"
    (root / "audio/B1.wav").write_bytes(data[:4] + (len(data) - 8).to_bytes(4, "little") + data[8:])
    (root / "leakscan.toml").write_text(CONFIG + '[rules]\ndisable = ["hidden-bytes", "unknown-bytes"]\n')
    try:
        refuses(root, "not-clean")
    except UsageError:  # one of the two has another name
        (root / "leakscan.toml").write_text(CONFIG)
        refuses(root, "not-clean")


def test_packets_that_are_not_the_payload_prevent_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "packet_digest", lambda path, name="": "0" * 64)
    report = refuses(root, "ffmpeg's packets are not the coded sound that was found", 3)
    assert [entry.path for entry in report.unexamined] == ["audio/B1.wav", "audio/B2.wav"]


FAULTS: dict[str, Callable[[Path], object]] = {
    "link": lambda root: (root / "link.md").symlink_to("README.md"),
    "special file": lambda root: os.mkfifo(root / "fifo"),
    "empty folder": lambda root: (root / "empty/deeper").mkdir(parents=True),
    "extended attribute": lambda root: os.setxattr(root / "README.md", "user.xdg.origin.url", b"https://example.org"),
    "file name that is not UTF-8": lambda root: Path(os.fsdecode(bytes(root) + b"/\xff.md")).touch(),
    "repository": lambda root: (root / "prompts/.git").mkdir(),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_part_of_a_set_of_files(
    root: Path, issued: Path, keys: tuple[Path, Path], fault: inventory.Fault
) -> None:
    FAULTS[fault](root)
    report = verify(issued, root, trust=[keys[1]])
    assert report.status == 1
    assert any(finding.message.startswith(f"{fault}: no part of an exact set") for finding in report.findings)
    with pytest.raises(NotCertified) as error:
        certify(root)
    assert "exact-set" in says(error.value.report)


def test_an_attribute_of_the_folder_itself_is_none_either(root: Path, issued: Path, keys: tuple[Path, Path]) -> None:
    os.setxattr(root, "user.xdg.origin.url", b"https://example.org/two-herons")
    report = verify(issued, root, trust=[keys[1]])
    assert report.status == 1
    (finding,) = (found for found in report.findings if found.message.startswith("extended attribute: no part of"))
    assert finding.place.path == "."


def test_the_repository_that_the_release_is_lies_beside_it(root: Path, issued: Path, keys: tuple[Path, Path]) -> None:
    (root / ".git").mkdir()
    (root / ".git/HEAD").touch()
    assert verify(issued, root, trust=[keys[1]]).status == 0


@pytest.mark.parametrize("file", ["key", "mapping"])
def test_private_files_stay_out_of_the_release(root: Path, keys: tuple[Path, Path], file: str) -> None:
    shutil.copy(keys[0], root / "k.pem")
    with pytest.raises(UsageError, match="lies in the release, where it would be published; keep it elsewhere"):
        certify(root, **{"key" if file == "key" else "mapping_file": root / "k.pem"})


def test_a_signed_certificate_is_not_replaced_by_an_unsigned_one(
    root: Path, issued: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    signed = issued.read_bytes()
    with pytest.raises(UsageError, match=r"is signed; to replace it give --sign KEY\.pem, or name another file"):
        write(certify(root), issued, root)
    assert issued.read_bytes() == signed
    write(certify(root, key=keys[0]), issued, root)
    assert issued.read_bytes() == signed
    other = tmp_path / "other.json"
    for _ in range(2):
        write(certify(root), other, root)


def test_the_certificate_lies_outside(root: Path, issued: Path) -> None:
    with pytest.raises(UsageError, match="lies in the release that it is about; write it elsewhere"):
        issue(root, root / "certificate.json")
    shutil.copy(issued, root / "certificate.json")
    with pytest.raises(UsageError, match="anybody who changes that can change it; move it"):
        verify(root / "certificate.json", root)


def test_only_whole_releases(root: Path, issued: Path) -> None:
    for call in (certify, lambda path: verify(issued, path)):
        with pytest.raises(UsageError, match="a certificate is about the whole release"):
            call(root / "audio")
        with pytest.raises(UsageError, match="is not a folder"):
            call(root / "README.md")


# --- what is told of changes -----------------------------------------------------------------------------------------


def change(root: Path, path: str) -> None:
    (root / path).write_bytes((root / path).read_bytes() + b" ")


CHANGES: dict[str, tuple[Callable[[Path], object], dict[str, list[str]], str]] = {
    "changed": (
        lambda root: change(root, "README.md"), {"file-changed": ["README.md"]}, "changed since it was certified",
    ),
    "other sound": (
        lambda root: sound(root / "audio/B1.wav", 2000),
        {"file-changed": ["audio/B1.wav"]}, "changed since it was certified",
    ),
    "cut sound": (
        lambda root: (root / "audio/B1.wav").write_bytes((root / "audio/B1.wav").read_bytes()[:500]),
        {"file-changed": ["audio/B1.wav"]}, "changed since it was certified, and no longer whole (cut",
    ),
    "tagged again": (
        lambda root: sound(root / "audio/B1.wav", 0, "Crooked Teaspoons"),
        {"file-retagged": ["audio/B1.wav"]}, "tagged again: the sound is as certified, other bytes are not (tag.riff.",
    ),
    "missing": (
        lambda root: (root / "README.md").unlink(), {"file-missing": ["README.md"]}, "was certified and is not here",
    ),
    "added": (
        lambda root: (root / "LICENSE").touch(), {"file-added": ["LICENSE"]}, "was not certified; remove it",
    ),
    "sidecar": (
        lambda root: (root / "audio/B1.accurip").touch(),
        {"sidecar-added": ["audio/B1.accurip"]}, "a sidecar, which was not certified; remove it",
    ),
    "desktop": (
        lambda root: (root / "audio/._B1.wav").touch(),
        {"sidecar-added": ["audio/._B1.wav"]}, "a sidecar, which was not certified; remove it",
    ),
    "renamed": (
        lambda root: (root / "README.md").rename(root / "READ.md"),
        {"file-added": ["READ.md"], "file-missing": ["README.md"]}, "was certified and is not here",
    ),
    "linked": (
        lambda root: ((root / "README.md").unlink(), (root / "README.md").symlink_to("leakscan.toml")),
        {"exact-set": ["README.md"]}, "link: no part of an exact set of files; remove it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_the_release(root: Path, issued: Path, keys: tuple[Path, Path], what: str) -> None:
    act, expected, message = CHANGES[what]
    act(root)
    report = verify(issued, root, trust=[keys[1]])
    assert report.status == 1
    found = says(report)
    if "sidecar-added" not in expected:  # its name may tell something, and is then replaced
        assert found == expected
    assert {rule: len(paths) for rule, paths in found.items()} == {rule: len(paths) for rule, paths in expected.items()}
    assert any(finding.message.startswith(message) for finding in report.findings)
    assert "Teaspoons" not in repr(report)


def test_telling_names_of_added_files_are_replaced(root: Path, issued: Path, keys: tuple[Path, Path]) -> None:
    (root / "The Nettle Band - Herons").mkdir()
    (root / "The Nettle Band - Herons/x.txt").touch()
    report = verify(issued, root, trust=[keys[1]])
    assert list(says(report)) == ["file-added"]
    assert "Nettle" not in repr(report)


# --- what is told of the certificate ---------------------------------------------------------------------------------


def test_an_unsigned_one_gives_no_verdict(root: Path, tmp_path: Path, keys: tuple[Path, Path]) -> None:
    certificate = certify(root)
    assert not certificate.signed
    assert "unsigned: nobody can tell who issued it; give --sign KEY.pem" in certificate.report.notes
    path = issue(root, tmp_path / "unsigned.json")
    for trust in (None, keys[1]):
        report = verify(path, root, trust=[trust] if trust else [])
        assert (report.status, says(report)) == (3, {})
        assert reasons(report) == ["unsigned: anybody can have written it; ask for one that is signed"]


def test_a_foreign_key_gives_no_verdict(root: Path, tmp_path: Path, issued: Path) -> None:
    other = key_pair(tmp_path / "other")[1]
    named = "signed by none of the keys that you trust; name the issuer's public key with --trust"
    unnamed = "signed, but no key that you trust was named; get the issuer's public key and name it with --trust PUB"
    for trust, reason in (([other], named), ([], unnamed)):
        report = verify(issued, root, trust=trust)
        assert (report.status, says(report)) == (3, {})
        assert report.summary["signature"] == "unknown signer"
        assert reasons(report) == [reason]
    change(root, "README.md")
    assert verify(issued, root, trust=[other]).status == 1  # findings weigh more


def test_a_changed_certificate(root: Path, issued: Path, keys: tuple[Path, Path]) -> None:
    data = json.loads(issued.read_bytes())
    document = statement(issued)
    document["predicate"]["verdict"] = "clean"
    data["payload"] = base64.b64encode(canonical(document)).decode()
    issued.write_text(json.dumps(data))
    report = verify(issued, root, trust=[keys[1]])
    assert report.status == 1
    assert [finding.message for finding in report.findings] == ["changed: its signature does not fit"]
    assert verify(issued, root).status == 3


def remove_file(document: Any) -> None:
    del document["subject"][0]
    del document["predicate"]["rerun"]["files"][0]


@pytest.mark.parametrize(
    "forge",
    [
        remove_file,
        lambda document: document["subject"][0]["digest"].update(sha256="0" * 64),
        lambda document: document["predicate"]["rerun"]["files"][0].update(size=1),
        lambda document: document["predicate"]["set"].update(root="0" * 64),
    ],
)
def test_a_certificate_that_contradicts_itself(
    root: Path, issued: Path, keys: tuple[Path, Path], forge: Callable[[Any], Any]
) -> None:
    report = verify(resealed(issued, forge, keys[0]), root, trust=[keys[1]])
    assert (report.status, list(says(report))) == (1, ["certificate-changed"])
    assert report.findings[0].message == "changed: its parts contradict each other"


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (lambda document: document.update(predicateType="urn:other"), "not a certificate of leakscan, or damaged"),
        (lambda document: document.update(_type="urn:other"), "not a certificate of leakscan, or damaged"),
        (lambda document: document.pop("predicate"), "not a certificate of leakscan, or damaged"),
        (lambda document: document["subject"].append(document["subject"][0]), "not a certificate of leakscan"),
        (lambda document: document["subject"][0].update(digest={"md5": "0"}), "not a certificate of leakscan"),
        (lambda document: document["predicate"].update(rerun={"files": 1}), "not a certificate of leakscan"),
        (lambda document: document["predicate"].update(schema=2), r"made by a newer leakscan \(schema 2\)"),
    ],
)
def test_what_is_no_certificate_of_ours(root: Path, issued: Path, forge: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        verify(resealed(issued, forge), root)


def spoilt(document: Any) -> Iterator[Any]:
    """The document with every part of it in turn replaced by what it should not be."""
    for key in document if isinstance(document, dict) else range(min(len(document), 2)):
        for value in (None, 1, "x", "\ud800", [], [1], {}):
            copy = document.copy()
            copy[key] = value
            yield copy
        if isinstance(document[key], dict | list):
            for part in spoilt(document[key]):
                copy = document.copy()
                copy[key] = part
                yield copy


def test_a_forged_statement_is_refused_or_holds_together(issued: Path) -> None:
    count = 0
    for document in spoilt(statement(issued)):
        count += 1
        with contextlib.suppress(Unreadable):
            claim = verification._claim(canonical(document), issued)
            assert claim.whole in (True, False)
            assert claim.rerun["rules"].get("digest", 0) != b""
            assert claim.private <= claim.digests.keys()
    assert count > 300


def test_the_public_functions(root: Path, tmp_path: Path, keys: tuple[Path, Path]) -> None:
    certificate = leakscan.certify(root, sign=keys[0])
    (tmp_path / "c.json").write_bytes(certificate.content)
    assert certificate.signed
    assert leakscan.verify(tmp_path / "c.json", root, trust=keys[1]).status == 0


def test_what_is_not_found_again(root: Path, issued: Path, keys: tuple[Path, Path]) -> None:
    def forge(document: Any) -> None:
        document["predicate"]["rerun"]["rules"]["findings"] = {"telling-name": {"warning": 3}}
        document["predicate"]["tool"]["ffmpeg"] = "5.1.9"

    report = verify(resealed(issued, forge, keys[0]), root, trust=[keys[1]])
    assert (report.status, list(says(report))) == (1, ["not-repeated"])
    message = report.findings[0].message
    assert message.startswith("what was found then is not found again (rules); ffmpeg 5.1.9 then, ")


def test_another_configuration(root: Path, tmp_path: Path, keys: tuple[Path, Path]) -> None:
    other = tmp_path / "other.toml"
    other.write_text(CONFIG.replace('prompt = {role = "input"}', 'prompt = {role = "input", min = 1}'))
    path = issue(root, tmp_path / "certificate.json", config=other, key=keys[0])
    report = verify(path, root, trust=[keys[1]])
    assert (report.status, list(says(report))) == (1, ["other-configuration"])
    assert verify(path, root, trust=[keys[1]], config=other).status == 0


RULE = """
id = "{word}"
title = "a word"
why = "test"
fix = "test"
level = "{level}"
about = "hygiene"
[match]
kind = "^field$"
value = "{word}"
[[bad]]
field.a = "{word}"
[[good]]
field.a = "none"
"""


@pytest.mark.parametrize(("word", "level"), [("beats", "error"), ("beats", "note"), ("herons", "error")])
def test_other_rules_have_a_verdict_of_their_own(
    root: Path, issued: Path, keys: tuple[Path, Path], tmp_path: Path, word: str, level: str
) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / f"rules/{word}.toml").write_text(RULE.format(word=word, level=level))
    report = verify(issued, root, trust=[keys[1]], rules=[tmp_path / "rules"])
    assert report.summary["rules"] == "other rules than it was certified with"
    if (word, level) == ("beats", "error"):
        assert (report.status, list(says(report))) == (1, ["other-rules"])
        assert "they find 1 errors" in report.findings[0].message
        assert "beats" in {finding.rule for finding in report.findings}
    else:
        assert report.status == 0
        assert "certified with other rules; it holds under the rules in use here, too" in report.notes


def test_a_newer_version_has_other_rules(
    root: Path, issued: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = verification.tool()
    monkeypatch.setattr(verification, "tool", lambda: {**ours, "leakscan": "99"})
    report = verify(issued, root, trust=[keys[1]])
    assert (report.status, report.summary["rules"]) == (0, "other rules than it was certified with")


# --- private audio ---------------------------------------------------------------------------------------------------

PRIVATE = CONFIG + '[release]\naudio = "private"\n'


@pytest.fixture
def evaluator(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "evaluator.toml").write_text('secret = "k"\ngold = {file = "gold.csv", key = "id", fields = ["metre"]}')
    (folder / "k").write_bytes(b"k" * 32)
    (folder / "gold.csv").write_text("id,metre\nB1,3/4\nB2,4/4\n")
    return folder / "evaluator.toml"


@pytest.fixture
def salted(root: Path, tmp_path: Path, keys: tuple[Path, Path], evaluator: Path) -> Path:
    (root / "leakscan.toml").write_text(PRIVATE)
    return issue(root, tmp_path / "salted.json", private=evaluator, key=keys[0])


def test_private_audio_is_salted(root: Path, salted: Path) -> None:
    found = statement(salted)
    text = json.dumps(found)
    for name in ("B1", "B2"):
        data = (root / f"audio/{name}.wav").read_bytes()
        for secret in (data, data[44:]):
            for algorithm in ("sha256", "md5", "sha1"):
                assert hashlib.new(algorithm, secret).hexdigest() not in text
    audio = found["predicate"]["rerun"]["files"][1]
    assert set(audio) == {"name", "verdict", "container", "packets", "payload", "account"}
    salt = Salt(b"k" * 32)
    digest = hashlib.sha256((root / "audio/B1.wav").read_bytes()).hexdigest()
    assert found["subject"][1]["digest"] == {"hmac-sha256": salt.of("file", "audio/B1.wav", digest)}
    assert found["subject"][0]["digest"].keys() == {"sha256"}
    assert found["predicate"]["attested"]["evaluator"] == {"gold": True, "catalogue": False, "originals": False}
    assert "bytes" not in found["predicate"]["rerun"]["examined"]


def test_private_audio_with_its_secret(root: Path, salted: Path, keys: tuple[Path, Path], evaluator: Path) -> None:
    report = verify(salted, root, trust=[keys[1]], private=evaluator)
    assert (report.status, report.findings) == (0, ())
    sound(root / "audio/B1.wav", 0, "Crooked Teaspoons")
    assert says(verify(salted, root, trust=[keys[1]], private=evaluator)) == {"file-retagged": ["audio/B1.wav"]}
    sound(root / "audio/B1.wav", 3000)
    assert says(verify(salted, root, trust=[keys[1]], private=evaluator)) == {"file-changed": ["audio/B1.wav"]}
    (root / "audio/B1.wav").unlink()
    assert says(verify(salted, root, trust=[keys[1]], private=evaluator)) == {"file-missing": ["audio/B1.wav"]}


def test_private_audio_without_its_secret(root: Path, salted: Path, keys: tuple[Path, Path], evaluator: Path) -> None:
    report = verify(salted, root, trust=[keys[1]])
    assert (report.status, says(report)) == (3, {})
    assert reasons(report) == ["the digests of private audio are salted; name the secret in the file for --evaluator"]
    (evaluator.parent / "k").write_bytes(b"x" * 32)
    report = verify(salted, root, trust=[keys[1]], private=evaluator)
    assert (report.status, says(report)) == (3, {})
    assert reasons(report) == ["a wrong secret: it is not the one that the certificate was salted with"]
    change(root, "README.md")
    report = verify(salted, root, trust=[keys[1]])
    assert (report.status, says(report)) == (1, {"file-changed": ["README.md"]})


def test_private_audio_that_stayed_at_home(root: Path, salted: Path, keys: tuple[Path, Path]) -> None:
    shutil.rmtree(root / "audio")
    (root / "leakscan.toml").write_text(PRIVATE)
    report = verify(salted, root, trust=[keys[1]])
    assert says(report) == {}
    assert "2 audio files are private and not here" in reasons(report)


def test_private_audio_needs_a_secret(root: Path) -> None:
    (root / "leakscan.toml").write_text(PRIVATE)
    with pytest.raises(UsageError, match="digests have to be salted; name a secret"):
        certify(root)


# --- before and after ------------------------------------------------------------------------------------------------


@pytest.fixture
def cleaned(root: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A copy that `clean` made, and its mapping."""
    sound(root / "audio/B1.wav", 0, "Crooked Teaspoons")
    clean(root, tmp_path / "out", mapping_file=tmp_path / "mapping.json")
    return tmp_path / "out", tmp_path / "mapping.json"


def test_what_cleaning_did_is_attested_by_class(cleaned: tuple[Path, Path], root: Path, evaluator: Path) -> None:
    out, mapping = cleaned
    certificate = certify(out, private=evaluator, mapping_file=mapping)
    one, two = certificate.statement["predicate"]["attested"]["cleaned"]
    assert (one["name"], one["how"], one["pcm"]) == ("audio/B1.wav", "rewritten", "not compared")
    assert (one["payload"], one["parameters"], one["renamed"]) == ("equal", "equal", False)
    assert [extra.partition(".")[0] for extra in one["removed"]] == ["tag"]
    assert two["removed"] == []
    before = hashlib.sha256((root / "audio/B1.wav").read_bytes()).hexdigest()
    assert one["before"] == Salt(b"k" * 32).of("before", "audio/B1.wav", before)
    assert before not in json.dumps(certificate.statement)
    assert "Teaspoons" not in json.dumps(certificate.statement)
    assert "before" not in certify(out, mapping_file=mapping).statement["predicate"]["attested"]["cleaned"][0]


def test_the_mapping_of_another_release(cleaned: tuple[Path, Path]) -> None:
    out, mapping = cleaned
    change(out, "README.md")
    with pytest.raises(UsageError, match="the mapping of another release, or this one was changed"):
        certify(out, mapping_file=mapping)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"leakscan_mapping": 1, "files": [{"old": "x"}]}', "[" * 99999])
def test_what_is_no_mapping(root: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(UsageError, match="not a mapping that `leakscan clean` wrote"):
        certify(root, mapping_file=tmp_path / "m.json")


# --- the command line ------------------------------------------------------------------------------------------------


def test_the_commands(root: Path, tmp_path: Path, keys: tuple[Path, Path]) -> None:
    runner = CliRunner()
    path = tmp_path / "certificate.json"
    arguments = ["certify", str(root), "-o", str(path), "--sign", str(keys[0])]
    done = runner.invoke(cli.cli, arguments)
    assert done.exit_code == 0, done.output
    assert "set root: " in done.output
    assert path.stat().st_mode & 0o777 == 0o644
    first = path.read_bytes()
    assert runner.invoke(cli.cli, arguments).exit_code == 0
    assert path.read_bytes() == first
    assert runner.invoke(cli.cli, ["verify", str(path), str(root), "--trust", str(keys[1])]).exit_code == 0
    assert runner.invoke(cli.cli, ["verify", str(path), str(root)]).exit_code == 3
    change(root, "README.md")
    done = runner.invoke(cli.cli, ["verify", str(path), str(root), "--trust", str(keys[1]), "--format", "json"])
    assert done.exit_code == json.loads(done.stdout)["status"] == 1
    sound(root / "audio/B1.wav", 0, "Crooked Teaspoons")
    path.unlink()
    done = runner.invoke(cli.cli, arguments)
    assert (done.exit_code, path.exists()) == (1, False)
    assert "no certificate was written" in done.output


def test_openssl_alone_can_check_a_certificate(issued: Path, keys: tuple[Path, Path]) -> None:
    program = dsse.BY_HAND.replace("CERTIFICATE", str(issued)).replace("PUB.pem", str(keys[1]))
    done = subprocess.run(["sh", "-euc", program], cwd=issued.parent, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "Signature Verified Successfully\n"), done.stderr
    assert json.loads((issued.parent / "statement.json").read_bytes()) == statement(issued)
