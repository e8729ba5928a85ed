"""A signed statement in a DSSE envelope: Ed25519 over the very bytes that are parsed, so JSON needs no canonical form.

Source: github.com/secure-systems-lab/dsse, protocol.md and envelope.md, version 1.

Keys are PEM (`openssl genpkey -algorithm ed25519 -out KEY.pem`, `openssl pkey -in KEY.pem -pubout -out PUB.pem`), or
those of OpenSSH (`ssh-keygen -t ed25519`).  The envelope has a line a field, so that openssl alone can check it: see
`BY_HAND`.  With `ssh-keygen` alone, sign the file as a whole: see `BY_SSH`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from leakscan.model import LeakscanError, Unreadable, UsageError

TYPE = "application/vnd.in-toto+json"
OWN = re.compile(rb'\A\{\s*"(?:payload|payloadType|signatures)":')
"""What an envelope begins like."""
LIMIT = 256 << 20
"""The largest envelope that is read, in bytes."""

KEY_LIMIT = 1 << 16

Verdict = Literal["unsigned", "unknown signer", "changed", "trusted"]

BY_HAND = r"""
sed -n 's/^ "payload": "\(.*\)",$/\1/p' CERTIFICATE | openssl base64 -d -A > statement.json
sed -n 's/^  "sig": "\(.*\)"$/\1/p' CERTIFICATE | openssl base64 -d -A > signature
{ printf 'DSSEv1 28 application/vnd.in-toto+json %d ' "$(wc -c < statement.json)"; cat statement.json; } > signed
openssl pkeyutl -verify -pubin -inkey PUB.pem -rawin -in signed -sigfile signature
"""
"""Shell commands that check an envelope with one signature and leave its statement in statement.json."""

BY_SSH = r"""
ssh-keygen -Y sign -n leakscan-certificate -f KEY CERTIFICATE
ssh-keygen -Y verify -n leakscan-certificate -f ALLOWED_SIGNERS -I SIGNER -s CERTIFICATE.sig < CERTIFICATE
"""
"""Shell commands that sign a file with a key of OpenSSH beside it, and check that."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """What an envelope holds: the bytes of the statement, and signatures as (ID of the key, signature)."""

    body: bytes
    signatures: tuple[tuple[str, bytes], ...] = ()


def encoded(body: bytes) -> bytes:
    """What is signed for a statement: the pre-authentication encoding of DSSE."""
    return b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode("ascii"), len(body), body)


def seal(body: bytes, key: Path | None = None) -> bytes:
    """The bytes of an envelope around `body`, signed with the private key in the file `key` if there is one.

    Ed25519 signatures have no random part: the same statement and key give the same bytes.  Raises `UsageError` for a
    key that is none, and `LeakscanError` without the extra `sign`.
    """
    lines = []
    if key is not None:
        private = _private_key(key)
        signature = _text(private.sign(encoded(body)))
        lines = [" {", f'  "keyid": "{key_id(private.public_key())}",', f'  "sig": "{signature}"', " }"]
    document = [
        "{",
        f' "payload": "{_text(body)}",',
        f' "payloadType": "{TYPE}",',
        ' "signatures": [' + ("" if lines else "]"),
        *lines,
        *([" ]"] if lines else []),
        "}",
        "",
    ]
    return "\n".join(document).encode("ascii")


def unseal(path: Path) -> Envelope:
    """Read an envelope, without checking signatures.  Raises `Unreadable`."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LIMIT + 1)
    except OSError as error:
        raise Unreadable(f"{path}: cannot be read ({error.strerror}); check the path") from error
    try:
        if len(data) > LIMIT:
            raise ValueError("too large")
        document = json.loads(data, object_pairs_hook=_unique)
        if set(document) != {"payload", "payloadType", "signatures"} or document["payloadType"] != TYPE:
            raise ValueError("not an envelope")
        signatures = tuple((str(one.get("keyid", "")), _bytes(one["sig"])) for one in document["signatures"])
        return Envelope(_bytes(document["payload"]), signatures)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(f"{path}: not a certificate, or damaged; get it again") from error


def judge(envelope: Envelope, trusted: Sequence[Path]) -> tuple[Verdict, tuple[str, ...]]:
    """What the signatures are worth to somebody who trusts the public keys in the files `trusted`, and whose they are.

    `changed`: a signature names a trusted key and does not fit.  The IDs of keys are proven where the verdict is
    `trusted`, else what the envelope says.  Raises `UsageError` for a file that holds no such key, and `LeakscanError`
    without the extra `sign`.
    """
    keys = [key for path in trusted for key in _public_keys(path)]
    named = tuple(name for name, _ in envelope.signatures)
    if not envelope.signatures:
        return "unsigned", ()
    fitting = [key for key in keys if any(_fits(key, envelope.body, sign) for _, sign in envelope.signatures)]
    if fitting:
        return "trusted", tuple(map(key_id, fitting))
    known = {key_id(key) for key in keys}
    return ("changed" if known & set(named) else "unknown signer"), named


def key_id(public: Any) -> str:
    """The name of a public key: the SHA-256 of its 32 bytes, in hexadecimal.  A hint only: anybody can write it."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()


def _fits(key: Any, body: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, encoded(body))
    except InvalidSignature:
        return False
    return True


def _private_key(path: Path) -> Any:
    serialization, ed25519 = _cryptography()
    data = _read_key(path)
    load = serialization.load_ssh_private_key if b"BEGIN OPENSSH" in data else serialization.load_pem_private_key
    try:
        key = load(data, password=None)
    except Exception as error:  # many kinds, some of which quote the file
        locked = isinstance(error, TypeError) or "password" in str(error).lower()
        why = "is protected by a passphrase; unlock it first" if locked else "is no private key"
        raise UsageError(f"{path}: {why} (openssl genpkey -algorithm ed25519 makes one)") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError(f"{path}: not an Ed25519 key; make one with: openssl genpkey -algorithm ed25519")
    return key


def _public_keys(path: Path) -> list[Any]:
    """The keys in a PEM file, or in lines of OpenSSH; those of other kinds are passed over."""
    serialization, ed25519 = _cryptography()
    data = _read_key(path)
    if b"PRIVATE KEY" in data:
        raise UsageError(f"{path}: a private key; keep it, and give the public one to --trust")
    end = b"-----END PUBLIC KEY-----"
    try:
        if end in data:
            found = [serialization.load_pem_public_key(part + end) for part in data.split(end)[:-1]]
        else:
            lines = [line.strip() for line in data.splitlines() if line.strip() and not line.startswith(b"#")]
            found = [serialization.load_ssh_public_key(line) for line in lines]
    except Exception:
        raise UsageError(f"{path}: no public key (openssl pkey -pubout, or a line of OpenSSH)") from None
    keys = [key for key in found if isinstance(key, ed25519.Ed25519PublicKey)]
    if not keys:
        raise UsageError(f"{path}: holds no public key of kind Ed25519")
    return keys


def _read_key(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(KEY_LIMIT)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise LeakscanError(
            "cryptography, which signs and checks, is missing; pip install 'leakscan-audio[sign]'"
        ) from error
    return serialization, ed25519


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: Any) -> bytes:
    if not isinstance(text, str):
        raise ValueError("not base64")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different: of two alike, readers take the one or the other."""
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key comes twice")
    return document
