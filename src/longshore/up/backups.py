"""Backups of a data directory in one file: the journal and the secrets, and volumes if they are wanted.

A backup is a compressed tar archive. Its first member is `manifest.json`, with the size and the SHA-256 of
every other member, and the modes, owners and links of volumes; a restore takes only files that it names.
Other files of a data directory are not in it: logs, the files of running pods, and the keeper's records of
processes belong to this machine.

A restore checks everything in a directory of its own before it changes anything, and keeps the old files
beside the new ones. A restore that is cut off leaves a directory that is unchanged, or has a file
`restoring`, and a start refuses it; run the restore again then.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tarfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import count
from pathlib import Path, PurePosixPath
from typing import IO, Final

import msgspec

from longshore import __version__
from longshore.machinery import file_trees
from longshore.store import acknowledged, journal_copy, journal_schema
from longshore.store.disk import RESTORING
from longshore.store.errors import SchemaTooNew, StoreError
from longshore.store.journal_copy import Verified
from longshore.store.lock import DataDirLock
from longshore.up import file_modes, files, node_name
from longshore.up.file_modes import FileMode

JOURNAL: Final = "journal.db"
VOLUMES: Final = "volumes"
_MANIFEST: Final = "manifest.json"
_SECRETS: Final = ("token", "pki")
_FORMAT: Final = 1
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CHUNK_BYTES: Final = 1 << 20
_MAX_MANIFEST_BYTES: Final = 64 << 20


class BadBackup(Exception):
    """The file is not a whole backup; the message says what is wrong with it."""


class Member(msgspec.Struct, frozen=True):
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """The table of contents of a backup."""

    format: int
    longshore: str
    """The version of longshore that made it."""
    made: float
    """When it was made, in seconds since 1970."""
    schema: int
    revision: int
    objects: int
    files: dict[str, Member]
    looks: dict[str, FileMode] = {}
    """Modes, owners and links of everything in volumes; empty in backups of an older longshore."""
    node: str = ""
    """The name of the node, which keeps it after a restore; empty in backups of an older longshore."""


def pack(directory: Path, journal: Path, out: Path, *, volumes: bool) -> Manifest:
    """Makes a backup from a copy of the journal, and the other files of the data directory.

    The file appears under its name complete or not at all. Raises `StoreError` for a copy that is damaged."""
    facts = journal_copy.verified(journal)
    members = {JOURNAL: journal, **{str(path.relative_to(directory)): path for path in _secrets(directory)}}
    looks = file_modes.of(directory, directory / VOLUMES) if volumes else {}
    beside, room = (out.with_name(f".{out.name}.{os.getpid()}{end}") for end in ("", ".volumes"))
    try:
        if volumes:
            members |= _copied_volumes(directory, room)
        table = {name: _measured(path) for name, path in members.items()}
        made = Manifest(
            _FORMAT,
            __version__,
            time.time(),
            facts.schema,
            facts.revision,
            facts.objects,
            table,
            looks,
            node_name.kept(directory),
        )
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as archive:
                _add(archive, _MANIFEST, BytesIO(_encoded(made)), made.made)
                for name, path in members.items():
                    with path.open("rb") as source:
                        _add(archive, name, source, made.made, path.stat().st_mode & 0o777, table[name].size)
            file.flush()
            os.fsync(file.fileno())
        os.link(beside, out)  # unlike a rename, refuses a name that is taken
    finally:
        beside.unlink(missing_ok=True)
        shutil.rmtree(room, ignore_errors=True)
    return made


def _encoded(manifest: Manifest) -> bytes:
    """Encodes as JSON in ASCII, which can hold file names that are not UTF-8: pods may choose such names."""
    return json.dumps(msgspec.to_builtins(manifest)).encode("ascii")


def _copied_volumes(directory: Path, room: Path) -> dict[str, Path]:
    """Copies the files of volumes; returns the copies by their names in the backup. The manifest and the
    archive both read the copies, because pods may change or delete the files in between."""
    found: dict[str, Path] = {}
    room.mkdir(mode=0o700)
    for number, path in enumerate(_files_below(directory / VOLUMES)):
        with suppress(FileNotFoundError):
            found[str(path.relative_to(directory))] = Path(shutil.copy(path, room / str(number)))
    return found


def _secrets(directory: Path) -> Iterator[Path]:
    for name in _SECRETS:
        path = directory / name
        if path.is_dir():
            yield from _files_below(path)
        elif path.exists():
            yield path


def _files_below(directory: Path) -> Iterator[Path]:
    """Yields regular files; does not follow links."""
    for entry in file_trees.paths_below(directory):
        if entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def _measured(path: Path) -> Member:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return Member(file.tell(), digest.hexdigest())


def _add(
    archive: tarfile.TarFile, name: str, source: IO[bytes], at: float, mode: int = 0o600, size: int = -1
) -> None:
    info = tarfile.TarInfo(name)
    info.size = size if size >= 0 else source.seek(0, os.SEEK_END)
    source.seek(0)
    info.mode, info.mtime = mode, int(at)
    archive.addfile(info, source)


@contextmanager
def unpacked(backup: Path, into: Path) -> Iterator[tuple[Manifest, Path]]:
    """Unpacks a backup below `into` and checks all of it: every file, and every row of the journal.

    Removes the directory after the block. Raises `BadBackup`, or `SchemaTooNew` for one of a newer longshore.
    """
    room = into / f"restore.{os.getpid()}"
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir(mode=0o700)
    try:
        yield _unpack(backup, room), room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _unpack(backup: Path, room: Path) -> Manifest:
    try:
        with tarfile.open(backup, "r:gz") as archive:
            manifest = _manifest(archive, backup)
            known = len(journal_schema.scripts(journal_schema.MIGRATIONS))
            if manifest.schema > known:
                raise SchemaTooNew(backup, manifest.schema, known)
            for name in manifest.looks:
                _check_place(name, (VOLUMES,), backup)
            left = dict(manifest.files)
            for info in archive.getmembers()[1:]:
                member = left.pop(info.name, None)
                if member is None or not info.isfile():
                    raise BadBackup(f"{backup}: {info.name!r} is not in its manifest")
                _take(archive, info, member, room, backup)
    except OSError as err:
        if err.errno in _NO_ROOM:
            raise files.UnfitDirectory(
                f"{room.parent} has no room to unpack {backup}: {err.strerror}"
            ) from err
        raise BadBackup(f"{backup} is damaged, or no backup of longshore: {err}") from err
    except (tarfile.TarError, zlib.error, EOFError, ValueError) as err:
        raise BadBackup(f"{backup} is damaged, or no backup of longshore: {err}") from err
    if left:
        raise BadBackup(f"{backup} is cut off: {next(iter(left))!r} is missing")
    if JOURNAL not in manifest.files:
        raise BadBackup(f"{backup} has no {JOURNAL}")
    _check_journal(room / JOURNAL, manifest, backup)
    return manifest


def _manifest(archive: tarfile.TarFile, backup: Path) -> Manifest:
    first = archive.next()
    source = archive.extractfile(first) if first is not None and first.name == _MANIFEST else None
    if first is None or source is None or first.size > _MAX_MANIFEST_BYTES:
        raise BadBackup(f"{backup} is no backup of longshore: it does not begin with {_MANIFEST}")
    manifest = msgspec.convert(json.loads(source.read()), Manifest)
    if manifest.format > _FORMAT:
        raise BadBackup(
            f"{backup} has format {manifest.format}, and this longshore knows {_FORMAT}: "
            f"longshore {manifest.longshore} made it; install that version or a later one"
        )
    return manifest


def _take(archive: tarfile.TarFile, info: tarfile.TarInfo, member: Member, room: Path, backup: Path) -> None:
    parts = _check_place(info.name, (JOURNAL, VOLUMES, *_SECRETS), backup)
    target = room.joinpath(*parts)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    source, digest = archive.extractfile(info), hashlib.sha256()
    assert source is not None, "a file has content"
    mode = info.mode & 0o777 if parts[0] == VOLUMES else 0o600
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    if info.size != member.size or digest.hexdigest() != member.sha256:
        raise BadBackup(f"{backup} is damaged: {info.name!r} does not match its checksum")


def _check_place(name: str, tops: tuple[str, ...], backup: Path) -> tuple[str, ...]:
    """Returns the parts of a name below one of `tops`; raises BadBackup for any other name."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or parts[0] not in tops:
        raise BadBackup(f"{backup}: {name!r} does not belong in a data directory")
    return parts


def _check_journal(journal: Path, manifest: Manifest, backup: Path) -> None:
    try:
        found = journal_copy.verified(journal)
    except SchemaTooNew:
        raise
    except StoreError as err:
        raise BadBackup(f"{backup} has a damaged journal: {err.detail}") from err
    if found != Verified(manifest.schema, manifest.revision, manifest.objects):
        raise BadBackup(f"{backup}: its journal is not the one that its manifest describes")


def restore(backup: Path, directory: Path) -> tuple[Manifest, Path | None]:
    """Puts a backup into a data directory that no longshore uses; returns also the directory of the old
    files.

    Raises `BadBackup`, `DataDirBusy`, `SchemaTooNew` or `UnfitDirectory`; nothing is changed then. A start
    refuses the directory from the first change to the last."""
    files.prepare_data_dir(directory)
    lock = DataDirLock(directory)
    try:
        with unpacked(backup, directory) as (manifest, room):
            before = acknowledged.revision_of(directory / "acknowledged")
            volumes = _volumes(manifest)
            file_modes.give(room, manifest.files, manifest.looks)
            plain = [name for name in manifest.files if PurePosixPath(name).parts[0] != VOLUMES]
            kept = _keep_old(directory, plain, volumes)
            files.write_private(directory / RESTORING, os.fsencode(backup))
            for name in volumes:
                _exchange(directory, room, kept, name)
            # The log of the old journal must never meet the new one.
            for suffix in ("-wal", "-shm"):
                (directory / f"{JOURNAL}{suffix}").unlink(missing_ok=True)
            for name in sorted(plain, key=lambda name: name == JOURNAL):
                (directory / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.replace(room / name, directory / name)
            _set_node_name(directory, manifest.node)
            acknowledged.go_on_after(directory / "acknowledged", max(before, manifest.revision))
            _sync(directory)
            (directory / RESTORING).unlink()
            return manifest, kept
    finally:
        lock.release()


def _set_node_name(directory: Path, name: str) -> None:
    """Sets the node's name. If the backup has none, the next start takes it from the journal."""
    if name:
        node_name.keep(directory, name)
    else:
        (directory / node_name.FILE).unlink(missing_ok=True)


def _volumes(manifest: Manifest) -> list[str]:
    """The volumes in a backup, as `volumes/NAME`."""
    parts = (PurePosixPath(name).parts for name in (*manifest.files, *manifest.looks))
    return sorted({"/".join(each[:2]) for each in parts if each[0] == VOLUMES})


def _keep_old(directory: Path, plain: list[str], volumes: list[str]) -> Path | None:
    """Makes a directory `replaced-…` with hard links to the files that a restore replaces, and with room for
    the volumes; returns None if there is nothing to keep."""
    names = (*plain, f"{JOURNAL}-wal", "acknowledged", node_name.FILE)
    old = [name for name in names if (directory / name).exists()]
    if not old and not any(os.path.lexists(directory / name) for name in volumes):
        return None
    kept = _new_directory(directory / time.strftime("replaced-%Y%m%d-%H%M%S"))
    for name in old:
        (kept / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.link(directory / name, kept / name)
    return kept


def _new_directory(wanted: Path) -> Path:
    """Makes the directory, with a number behind its name if that is taken."""
    for number in count():
        made = wanted.with_name(f"{wanted.name}-{number}") if number else wanted
        with suppress(FileExistsError):
            made.mkdir(mode=0o700)
            break
    return made


def _sync(directory: Path) -> None:
    """Makes the names in a directory durable."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _exchange(directory: Path, room: Path, kept: Path | None, name: str) -> None:
    """Replaces a volume by the backup's. Renames the old one as a whole, since its links may lead
    anywhere."""
    if kept is not None and os.path.lexists(directory / name):
        (kept / name).parent.mkdir(mode=0o700, exist_ok=True)
        os.rename(directory / name, kept / name)
    (directory / name).parent.mkdir(mode=0o700, exist_ok=True)
    os.rename(room / name, directory / name)
