"""Sealing: only the right key opens, what is wrong is said in one line, and the size tells nothing but its step."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pyrage
import pytest

from leakscan import sealing
from leakscan.model import LeakscanError, UsageError
from leakscan.sealing import Key, Lock

IDENTITY, OTHER = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
LOCK = Lock((str(IDENTITY.to_public()),))
KEY, WRONG = Key((str(IDENTITY),)), Key((str(OTHER),))


@pytest.fixture(scope="module")
def by_passphrase() -> bytes:
    return sealing.seal(b"some lines\n", Lock(passphrase="secret"))  # takes a second of work, by design


def payload(sealed: bytes) -> bytes:
    """What follows the header of an age file; the header holds the recipients and noise."""
    end = sealed.index(b"\n", sealed.index(b"\n--- ") + 1)
    return sealed[end + 1 :]


def test_the_right_key_opens() -> None:
    sealed = sealing.seal(b"some\nlines\n", LOCK)
    assert sealing.is_sealed(sealed[: sealing.HEAD_BYTES])
    assert b"some" not in sealed
    assert sealing.unseal(sealed, KEY, "x") == b"some\nlines"
    assert sealing.unseal(sealed, Key((*WRONG.identities, *KEY.identities), "unused"), "x") == b"some\nlines"
    assert sealing.seal(b"some\nlines\n", LOCK) != sealed


def test_every_recipient_opens() -> None:
    lock = Lock((*LOCK.recipients, str(OTHER.to_public()), *LOCK.recipients))
    sealed = sealing.seal(b"x", lock)
    assert [sealing.unseal(sealed, key, "x") for key in (KEY, WRONG)] == [b"x", b"x"]
    assert sealed.count(b"-> X25519 ") == 2


def test_the_passphrase_opens(by_passphrase: bytes) -> None:
    assert sealing.unseal(by_passphrase, Key((), "secret"), "x") == b"some lines"


def test_armoured_files_of_the_age_command_open() -> None:
    sealed = pyrage.encrypt(b"x\n", [IDENTITY.to_public()], armored=True)
    assert sealing.is_sealed(sealed)
    assert sealing.unseal(sealed, KEY, "x") == b"x"


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        (WRONG, "x: a wrong key: none of the identities given opens it; ask for a copy sealed to yours"),
        (Key(), "x: sealed to recipients; give --identity FILE"),
        (Key(passphrase="secret"), "x: sealed to recipients; give --identity FILE"),
    ],
)
def test_a_wrong_key_is_called_one(key: Key, fault: str) -> None:
    with pytest.raises(LeakscanError) as caught:
        sealing.unseal(sealing.seal(b"x", LOCK), key, "x")
    assert str(caught.value) == fault


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        (Key(passphrase="other"), "x: a wrong passphrase; ask whoever sealed it"),
        (KEY, "x: sealed with a passphrase; give it (--passphrase)"),
    ],
)
def test_a_wrong_passphrase_is_called_one(by_passphrase: bytes, key: Key, fault: str) -> None:
    with pytest.raises(LeakscanError) as caught:
        sealing.unseal(by_passphrase, key, "x")
    assert str(caught.value) == fault


def test_what_was_damaged_is_refused() -> None:
    sealed = sealing.seal(b"x", LOCK)
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for damaged in (sealed[:-1], sealed[:100], changed, sealed + b"x", b"age-encryption.org/v9\n"):
        with pytest.raises(LeakscanError, match=r"^x: .*damaged"):
            sealing.unseal(damaged, KEY, "x")


def test_the_size_tells_the_step_only() -> None:
    """The header's length is noise and number of recipients, not content; that of the rest follows the step."""
    sizes = {length: len(payload(sealing.seal(b"a" * length, LOCK))) for length in (0, 1, 65_535, 65_536, 65_537)}
    assert sizes[0] == sizes[1] == sizes[65_535] == sizes[65_536]
    assert sizes[65_537] == len(payload(sealing.seal(b"b\n" * 65_536, LOCK)))
    assert sizes[65_537] - sizes[65_536] == 65_536 + 16  # one more chunk of 64 KiB with its 16 bytes of proof


@pytest.mark.parametrize(
    ("lock", "fault"),
    [
        (Lock(), "either recipients"),
        (Lock(LOCK.recipients, "secret"), "either recipients"),
        (Lock(passphrase=""), "empty"),
        (Lock(("age1zzz",)), "^age1zzz is no age recipient"),
        (Lock((str(IDENTITY),)), "^what was given is no age recipient"),
    ],
)
def test_a_lock_that_is_none(lock: Lock, fault: str) -> None:
    for use in (sealing.check, lambda lock: sealing.seal(b"", lock)):
        with pytest.raises(UsageError, match=fault) as caught:
            use(lock)
        assert "AGE-SECRET" not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    assert repr(Lock(("age1x",), "secret")) == "Lock(recipients=('age1x',))"
    assert repr(Key(("AGE-SECRET",), "secret")) == "Key()"


def test_without_the_extra_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = sealing.seal(b"x", LOCK)
    monkeypatch.setitem(sys.modules, "pyrage", None)
    for use in (
        lambda: sealing.seal(b"x", LOCK),
        lambda: sealing.check(LOCK),
        lambda: sealing.unseal(sealed, KEY, "x"),
    ):
        with pytest.raises(LeakscanError, match=r"pip install 'leakscan-audio\[seal\]'"):
            use()


def test_a_new_identity_opens_what_is_sealed_to_its_recipient(tmp_path: Path) -> None:
    path = tmp_path / "identity"
    recipient = sealing.new_identity(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sealing.unseal(sealing.seal(b"x", Lock((recipient,))), Key(sealing.identities([path])), "x") == b"x"
    with pytest.raises(UsageError, match="exists"):
        sealing.new_identity(path)
    (tmp_path / ".git").mkdir()
    with pytest.raises(UsageError, match="repository"):
        sealing.new_identity(tmp_path / "other")


def test_identities_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"# created: today\n# public key: age1...\n{IDENTITY}\n\n")
    (tmp_path / "b").write_text(f"{OTHER}\n{IDENTITY}\n")
    found = sealing.identities([tmp_path / "a", tmp_path / "b"])
    assert found == (str(IDENTITY), str(OTHER), str(IDENTITY))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "holds no age identity"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\nabc", "not a file of age identities"),
        (str(IDENTITY).encode()[:-1], "not a whole age identity"),
        (b"\xff\xfe", "not a file of age identities"),
    ],
    ids=["empty", "another key", "cut", "not text"],
)
def test_what_is_no_file_of_identities(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(LeakscanError, match=fault) as caught:
        sealing.identities([path])
    assert str(caught.value).startswith(f"{path}: ")
    assert str(IDENTITY)[17:30] not in str(caught.value)


def test_no_file_of_identities(tmp_path: Path) -> None:
    with pytest.raises(LeakscanError, match="cannot be read"):
        sealing.identities([tmp_path / "missing"])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sealing.os, "fsync", full)
    with pytest.raises(LeakscanError, match="No space left"):
        sealing.save(path, b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x"]
