"""Private files: sealed with age for those who may open them, or kept out of repositories; always written whole.

The sealed form is age's own (https://age-encryption.org/v1), so that the `age` command opens it, too.  Content is
padded to a power of two before it is sealed: whoever has no key learns the total size to a factor of two, and whether
recipients (and at most how many) or a passphrase can open it, nothing else.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leakscan.model import LeakscanError, UsageError

HEAD_BYTES = 64  # what `is_sealed` needs to see

_HEADS = (b"age-encryption.org/", b"-----BEGIN AGE ENCRYPTED FILE-----")
_BY_PASSPHRASE = b"\n-> scrypt "
_IDENTITY = "AGE-SECRET-KEY-1"
_SMALLEST = 1 << 16  # bytes


@dataclass(frozen=True, slots=True)
class Lock:
    """Who can open what is sealed: the owners of `recipients` (`age1...`), or whoever knows the passphrase."""

    recipients: tuple[str, ...] = ()
    passphrase: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Key:
    """What opens a sealed file: identities (`AGE-SECRET-KEY-1...`), a passphrase, or both to try."""

    identities: tuple[str, ...] = field(default=(), repr=False)
    passphrase: str | None = field(default=None, repr=False)


def is_sealed(head: bytes) -> bool:
    """Whether a file that starts with `head` (at least `HEAD_BYTES` of it) is in the form of age."""
    return head.startswith(_HEADS)


def like(kind: str) -> re.Pattern[bytes]:
    """What a file begins like that is sealed, or else JSON of which the first key is `kind`."""
    return re.compile(rb'\A(?:%b|\{"%b":)' % (b"|".join(map(re.escape, _HEADS)), kind.encode()))


def check(lock: Lock) -> None:
    """Raise what `seal` would raise for `lock`, before the work whose result is to be sealed."""
    _recipients(lock)


def seal(content: bytes, lock: Lock) -> bytes:
    """`content` (lines of text), padded with line ends, so that only `lock` opens it.

    Raises `UsageError` for a lock that is none, and `LeakscanError` without the extra `seal`.
    """
    recipients = _recipients(lock)
    if lock.passphrase is not None:
        return bytes(_age().passphrase.encrypt(_padded(content), lock.passphrase))
    return bytes(_age().encrypt(_padded(content), recipients))


def unseal(content: bytes, key: Key, name: str) -> bytes:
    """What was sealed, without its padding; `name` is what messages call it.

    Raises `LeakscanError`: for a wrong key, a damaged file, or without the extra `seal`.
    """
    by_passphrase = _BY_PASSPHRASE in content[:256]
    armoured = content.startswith(_HEADS[1])
    if not armoured and (key.passphrase is None if by_passphrase else not key.identities):
        need = "with a passphrase; give it (--passphrase)" if by_passphrase else "to recipients; give --identity FILE"
        raise LeakscanError(f"{name}: sealed {need}")
    age = _age()
    try:
        if by_passphrase or (armoured and not key.identities):
            return bytes(age.passphrase.decrypt(content, key.passphrase or "")).rstrip(b"\n")
        return bytes(age.decrypt(content, [_identity(one) for one in key.identities])).rstrip(b"\n")
    except age.DecryptError as error:
        raise LeakscanError(f"{name}: {_FAULTS.get(str(error), _DAMAGED)}") from error


_FAULTS = {
    "No matching keys found": "a wrong key: none of the identities given opens it; ask for a copy sealed to yours",
    "Decryption failed": "a wrong passphrase; ask whoever sealed it",
}
_DAMAGED = "a wrong key, or cut or damaged since it was sealed; get it again"


def _recipients(lock: Lock) -> list[Any]:
    if bool(lock.recipients) is (lock.passphrase is not None):
        raise UsageError("name either recipients (age1...) or a passphrase to seal with")
    if lock.passphrase == "":
        raise UsageError("the passphrase is empty; choose a long one")
    age = _age()
    found = []
    for text in dict.fromkeys(lock.recipients):
        try:
            found.append(age.x25519.Recipient.from_str(text))
        except age.RecipientError as error:
            shown = text if text.startswith("age1") else "what was given"  # it may be an identity: never repeated
            raise UsageError(f"{shown} is no age recipient; one is age1 and 58 letters and digits") from error
    return found


def _identity(text: str) -> Any:
    age = _age()
    try:
        return age.x25519.Identity.from_str(text)
    except age.IdentityError as error:
        raise LeakscanError(f"not a whole age identity; one is {_IDENTITY} and 58 letters and digits") from error


def _padded(content: bytes) -> bytes:
    return content.ljust(max(_SMALLEST, 1 << (len(content) - 1).bit_length()), b"\n")


def _age() -> Any:
    try:
        import pyrage
    except ImportError as error:
        raise LeakscanError("pyrage, which seals and opens, is missing; pip install 'leakscan-audio[seal]'") from error
    return pyrage


def identities(files: Iterable[Path]) -> tuple[str, ...]:
    """The identities in files as `age-keygen` and `new_identity` write them; blank lines and `#` lines are skipped.

    Raises `LeakscanError`; messages never hold the text of a line.
    """
    return tuple(identity for path in files for identity in _identities_of(path))


def _identities_of(path: Path) -> list[str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise LeakscanError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except ValueError as error:
        raise LeakscanError(f"{path}: not a file of age identities") from error
    found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for line in found:
        if not line.startswith(_IDENTITY):
            raise LeakscanError(f"{path}: not a file of age identities; each stands on a line as {_IDENTITY}...")
        try:
            _identity(line)
        except LeakscanError as error:
            raise LeakscanError(f"{path}: {error}") from error
    if not found:
        raise LeakscanError(f"{path}: holds no age identity")
    return found


def new_identity(path: Path) -> str:
    """Write a new identity to `path` (mode 0600, never over a file) and return its recipient, which may be public.

    Raises `UsageError` for a path in a repository or one that exists, and `LeakscanError`.
    """
    outside_repository(path, "an identity")
    if os.path.lexists(path):
        raise UsageError(f"{path}: exists; an identity is never overwritten, what was sealed to it would be lost")
    identity = _age().x25519.Identity.generate()
    recipient = str(identity.to_public())
    save(path, f"# public: {recipient}\n{identity}\n".encode("ascii"))
    return recipient


def outside_repository(path: Path, what: str) -> None:
    """Raise `UsageError` when `path` lies in a repository, where `what` would be published."""
    repository = next(filter(_is_repository, path.resolve().parents), None)
    if repository is not None:
        raise UsageError(f"{path}: lies in the repository {repository}; keep {what} outside of any")


def _is_repository(folder: Path) -> bool:
    """Whether a folder is the top of a working copy, or a repository of git without one."""
    return any((folder / name).exists() for name in (".git", ".hg", ".svn", ".jj")) or all(
        (folder / name).exists() for name in ("HEAD", "objects", "refs")
    )


def save(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, readable by its owner only.  Raises `LeakscanError`."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise LeakscanError(f"{path}: cannot be written ({error.strerror}); check the folder") from error
    finally:
        if temporary is not None:
            os.unlink(temporary)
