"""Envelopes: what is signed is what is parsed, and other programs can check it with the documented commands."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from key_pairs import key_pair, openssl

from leakscan import dsse
from leakscan.model import Unreadable, UsageError

BODY = b'{"name":"\\u00e9","number":1}'


def verdict(envelope: dsse.Envelope, trusted: Path | None) -> str:
    return dsse.judge(envelope, [trusted] if trusted is not None else [])[0]


def ssh_pair(folder: Path) -> tuple[Path, Path]:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "maintainer", "-f", str(folder / "id")]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return folder / "id", folder / "id.pub"


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    return key_pair(tmp_path)


def written(folder: Path, data: bytes) -> Path:
    path = folder / "certificate.json"
    path.write_bytes(data)
    return path


def test_what_is_signed_is_as_the_specification_has_it() -> None:
    """The example of DSSE's protocol.md, for another type."""
    assert dsse.encoded(b"hello world") == b"DSSEv1 28 application/vnd.in-toto+json 11 hello world"


def test_signed_and_read_again(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    data = dsse.seal(BODY, keys[0])
    assert data == dsse.seal(BODY, keys[0])
    document = json.loads(data)
    assert (base64.b64decode(document["payload"]), document["payloadType"]) == (BODY, dsse.TYPE)
    envelope = dsse.unseal(written(tmp_path, data))
    assert envelope.body == BODY
    assert verdict(envelope, keys[1]) == "trusted"
    assert verdict(envelope, None) == "unknown signer"


def test_unsigned(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    envelope = dsse.unseal(written(tmp_path, dsse.seal(BODY)))
    assert envelope == dsse.Envelope(BODY)
    assert verdict(envelope, keys[1]) == verdict(envelope, None) == "unsigned"


def test_a_foreign_key_and_a_change_are_told_apart(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    envelope = dsse.unseal(written(tmp_path, dsse.seal(BODY, keys[0])))
    other = key_pair(tmp_path / "other")[1]
    assert verdict(envelope, other) == "unknown signer"
    ((name, signature),) = envelope.signatures
    for changed in (
        dsse.Envelope(BODY + b" ", envelope.signatures),
        dsse.Envelope(BODY, ((name, bytes([signature[0] ^ 1]) + signature[1:]),)),
        dsse.Envelope(BODY, ((name, b""),)),
    ):
        assert verdict(changed, keys[1]) == "changed"
        assert verdict(changed, other) == "unknown signer"


def test_one_of_several_keys_is_enough_and_the_name_of_a_key_is_a_hint_only(
    tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(key_pair(tmp_path / "other")[1].read_bytes() + keys[1].read_bytes())
    envelope = dsse.unseal(written(tmp_path, dsse.seal(BODY, keys[0])))
    renamed = dsse.Envelope(BODY, (("", b"x"), ("nobody", envelope.signatures[0][1])))
    assert verdict(renamed, both) == "trusted"


def test_openssl_alone_can_check_it(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    certificate = written(tmp_path, dsse.seal(BODY, keys[0]))
    program = dsse.BY_HAND.replace("CERTIFICATE", certificate.name).replace("PUB.pem", keys[1].name)
    done = subprocess.run(["sh", "-euc", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "Signature Verified Successfully\n"), done.stderr
    assert (tmp_path / "statement.json").read_bytes() == BODY
    document = json.loads(certificate.read_bytes())
    changed = base64.b64encode(BODY.replace(b"1", b"2")).decode()
    certificate.write_text(certificate.read_text().replace(document["payload"], changed))
    assert subprocess.run(["sh", "-euc", program], cwd=tmp_path, capture_output=True).returncode != 0


def test_ssh_keygen_alone_can_sign_and_check_it(tmp_path: Path) -> None:
    _, public = ssh_pair(tmp_path)
    certificate = written(tmp_path, dsse.seal(BODY))
    (tmp_path / "signers").write_text(f"maintainer {public.read_text()}")
    names = {"CERTIFICATE": certificate.name, "ALLOWED_SIGNERS": "signers", "SIGNER": "maintainer", "KEY": "id"}
    program = re.sub("ALLOWED_SIGNERS|CERTIFICATE|SIGNER|KEY", lambda name: names[name[0]], dsse.BY_SSH)
    done = subprocess.run(["sh", "-euc", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 'Good "leakscan-certificate" signature for maintainer' in done.stdout
    certificate.write_bytes(certificate.read_bytes() + b" ")
    check = program.splitlines()[-1]
    assert subprocess.run(["sh", "-euc", check], cwd=tmp_path, capture_output=True).returncode != 0


def test_keys_of_openssh_do_as_well(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    private, public = ssh_pair(tmp_path)
    envelope = dsse.unseal(written(tmp_path, dsse.seal(BODY, private)))
    assert verdict(envelope, public) == "trusted"
    assert verdict(envelope, keys[1]) == "unknown signer"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("secret text"), "is no private key"),
        (lambda path: openssl("genpkey", "-algorithm", "x25519", "-out", str(path)), "not an Ed25519 key"),
        (lambda path: openssl("genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:x", "-out", str(path)),
         "is protected by a passphrase; unlock it first"),
        (lambda path: None, "cannot be read (No such file or directory)"),
    ],
)  # fmt: skip
def test_what_is_no_private_key(tmp_path: Path, make: object, message: str) -> None:
    make(tmp_path / "key")  # type: ignore[operator]
    with pytest.raises(UsageError) as error:
        dsse.seal(BODY, tmp_path / "key")
    assert message in str(error.value)
    assert "secret" not in str(error.value)


def test_what_is_no_public_key(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    envelope = dsse.Envelope(BODY)
    with pytest.raises(UsageError, match="a private key; keep it, and give the public one to --trust"):
        verdict(envelope, keys[0])
    (tmp_path / "text").write_text("secret text")
    with pytest.raises(UsageError, match="no public key"):
        verdict(envelope, tmp_path / "text")
    openssl("genpkey", "-algorithm", "x25519", "-out", str(tmp_path / "x"))
    openssl("pkey", "-in", str(tmp_path / "x"), "-pubout", "-out", str(tmp_path / "x.pub"))
    with pytest.raises(UsageError, match="holds no public key of kind Ed25519"):
        verdict(envelope, tmp_path / "x.pub")


GOOD = {"payload": "e30=", "payloadType": dsse.TYPE, "signatures": []}


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{}", b"[]", b"null", b"\xff", b"[" * 100_000,
        json.dumps({**GOOD, "payload": "e30"}).encode(),
        json.dumps({**GOOD, "payload": 1}).encode(),
        json.dumps({**GOOD, "payloadType": "text/plain"}).encode(),
        json.dumps({**GOOD, "more": 1}).encode(),
        json.dumps({**GOOD, "signatures": [{}]}).encode(),
        json.dumps({**GOOD, "signatures": ["x"]}).encode(),
        json.dumps(GOOD).encode()[:-1] + b', "payload": "e30="}',
    ],
)  # fmt: skip
def test_what_is_no_envelope_is_unreadable(tmp_path: Path, data: bytes) -> None:
    assert dsse.unseal(written(tmp_path, json.dumps(GOOD).encode())) == dsse.Envelope(b"{}")
    with pytest.raises(Unreadable, match="not a certificate, or damaged; get it again"):
        dsse.unseal(written(tmp_path, data))


def test_no_envelope_at_all(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="cannot be read"):
        dsse.unseal(tmp_path / "gone")


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(dsse.LeakscanError, match=r"pip install 'leakscan-audio\[sign\]'"):
        dsse.seal(BODY, keys[0])
    assert dsse.unseal(written(tmp_path, dsse.seal(BODY))).body == BODY
