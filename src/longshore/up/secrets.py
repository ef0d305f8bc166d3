"""The secrets of a data directory: the admin's bearer token and the key that signs account tokens; and the
places of secrets: the directory, and the files elsewhere that `longshore backup` and `longshore kubeconfig
merge` wrote. Isolated containers see none of them.

Token and key are kept, so that issued tokens survive a restart. Refuses a file that is empty or truncated:
with it a request without a token would be the admin's, and any client could sign. The two commands note in
the data directory which files they wrote. A kubeconfig counts while it has the administrator's token;
kubectl's own kubeconfig is checked without a note.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from longshore.machinery import file_trees
from longshore.up.files import UnfitDirectory, write_private

_NOTES: Final = "copies"
_TOKEN: Final = "token"
_SECRET_BYTES: Final = 32
_MAX_KUBECONFIG_BYTES: Final = 1 << 20
_BACKUP, _KUBECONFIG = "backup", "kubeconfig"


def note_backup(directory: Path, file: Path) -> None:
    """Notes a backup of this data directory."""
    _note(directory, _BACKUP, file)


def note_kubeconfig(directory: Path, file: Path) -> None:
    """Notes a kubeconfig with the administrator's token."""
    _note(directory, _KUBECONFIG, file)


def _note(directory: Path, kind: str, file: Path) -> None:
    line = os.fsencode(f"{kind} {file.absolute()}")
    notes = directory / _NOTES
    if b"\n" in line or (notes.exists() and line in notes.read_bytes().split(b"\n")):
        return
    fd = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "ab") as out:
        out.write(line + b"\n")


class SecretPlaces:
    """Iterates over the current places. A file is read again only if it has changed."""

    def __init__(self, directory: Path, certificates: Path | None = None) -> None:
        """`certificates` is the directory of shared certificates, if this longshore uses one."""
        self._directory, self._certificates = directory, certificates
        self._read: dict[Path, tuple[object, bytes]] = {}

    def __iter__(self) -> Iterator[Path]:
        yield self._directory
        if self._certificates is not None:
            yield self._certificates
        kubeconfigs = dict.fromkeys(_usual_kubeconfigs())
        for line in self._content(self._directory / _NOTES).splitlines():
            kind, _, path = os.fsdecode(line).partition(" ")
            if kind == _KUBECONFIG:
                kubeconfigs[Path(path)] = None
            elif kind == _BACKUP and os.path.exists(path):
                yield Path(path)
        token = self._content(self._directory / _TOKEN).strip()
        for file in kubeconfigs:
            if token and token in self._content(file):
                yield file

    def _content(self, file: Path) -> bytes:
        """The content of a file that may be a kubeconfig; empty if it is missing or too large."""
        version, known = file_trees.identity(file), self._read.get(file)
        if known is None or known[0] != version:
            try:
                with open(file, "rb") as content:
                    known = self._read[file] = version, content.read(_MAX_KUBECONFIG_BYTES)
            except OSError:
                return b""
        return known[1]


def _usual_kubeconfigs() -> Iterator[Path]:
    """The kubeconfigs that kubectl reads by itself."""
    for name in os.environ.get("KUBECONFIG", "").split(os.pathsep):
        if name:
            yield Path(name)
    home = os.environ.get("HOME")
    if home:
        yield Path(home, ".kube", "config")


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
    return Secrets(_token(directory / _TOKEN), _key(keys / "token.key"))


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
