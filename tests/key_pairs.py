"""Key pairs to sign with, made by the programs that people use."""

from __future__ import annotations

import subprocess
from pathlib import Path


def openssl(*arguments: str) -> bytes:
    """What an openssl command prints; every Debian has it."""
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout


def key_pair(folder: Path) -> tuple[Path, Path]:
    """The files of a new private key of kind Ed25519 and of its public key, in a folder that is made."""
    folder.mkdir(exist_ok=True)
    private, public = folder / "key.pem", folder / "key.pub.pem"
    openssl("genpkey", "-algorithm", "ed25519", "-out", str(private))
    openssl("pkey", "-in", str(private), "-pubout", "-out", str(public))
    return private, public
