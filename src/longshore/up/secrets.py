"""Two secrets of a data directory: the admin's bearer token, and the key that signs account tokens.

Both are kept, so that issued tokens survive a restart. Refuses a file that is empty or truncated: with it a
request without a token would be the admin's, and any client could sign.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from longshore.up.files import UnfitDirectory, write_private

_SECRET_BYTES: Final = 32


class Secrets(msgspec.Struct, frozen=True):
    admin_token: str
    signing_key: bytes

    def __repr__(self) -> str:
        return "Secrets(…)"


def ensure(directory: Path) -> Secrets:
    """Reads the secrets in `directory`, and creates missing ones. Raises `UnfitDirectory` for a file without
    a whole secret."""
    keys = directory / "pki"
    keys.mkdir(mode=0o700, exist_ok=True)
    return Secrets(_token(directory / "token"), _key(keys / "token.key"))


def _token(path: Path) -> str:
    token = _kept(path)
    if not token or not token.isascii():
        raise UnfitDirectory(f"{path} does not hold a token; remove it, and a new one is made")
    return token.decode("ascii")


def _key(path: Path) -> bytes:
    try:
        key = bytes.fromhex(_kept(path).decode("ascii"))
    except ValueError:
        key = b""
    if len(key) < _SECRET_BYTES:
        raise UnfitDirectory(f"{path} does not hold a key; remove it, and a new one is made")
    return key


def _kept(path: Path) -> bytes:
    """64 random hexadecimal digits: those in the file, or new ones."""
    try:
        return path.read_bytes().strip()
    except FileNotFoundError:
        made = os.urandom(_SECRET_BYTES).hex().encode()
        write_private(path, made + b"\n")
        return made
