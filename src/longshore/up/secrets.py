"""Two secrets of a data directory: the admin's bearer token, and the key that signs account tokens.

Both are kept, so that issued tokens survive a restart.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from longshore.up.files import write_private


class Secrets(msgspec.Struct, frozen=True):
    admin_token: str
    signing_key: bytes

    def __repr__(self) -> str:
        return "Secrets(…)"


def ensure(directory: Path) -> Secrets:
    """Reads the secrets in `directory`, and creates missing ones."""
    return Secrets(
        _kept(directory / "token").decode("ascii"),
        bytes.fromhex(_kept(directory / "pki" / "token.key").decode()),
    )


def _kept(path: Path) -> bytes:
    """64 random hexadecimal digits, from the file or new."""
    try:
        return path.read_bytes().strip()
    except FileNotFoundError:
        made = os.urandom(32).hex().encode()
        write_private(path, made + b"\n")
        return made
