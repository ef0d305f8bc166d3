"""Files that only their owner may read: keys, certificates, the kubeconfig, the directory they are in.

A file is written beside its place and renamed, so a reader sees the old text or the new one, never half of
it. Refuses a data directory that clearly belongs to something else, because it would lock others out of,
say, a home directory.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OWN_NAMES = ("pki", "kubeconfig")
"""Names that only the data directory of a longshore has."""


class UnfitDirectory(Exception):
    """The data directory cannot be used. Pass another one with --data-dir."""


def default_data_dir() -> Path:
    """`$LONGSHORE_HOME`, else `~/.local/share/longshore`. Raises FileNotFoundError without a home."""
    home = os.environ.get("LONGSHORE_HOME")
    try:
        return Path(home).expanduser() if home else Path.home() / ".local" / "share" / "longshore"
    except RuntimeError:
        words = "this user has no home directory; set LONGSHORE_HOME to a directory, or pass --data-dir"
        raise FileNotFoundError(words) from None


@contextmanager
def data_dir(path: Path | None, *, temporary: bool) -> Iterator[Path]:
    """The given or the default directory, prepared; or a temporary one, removed after the block."""
    if path is None and temporary:
        made = Path(tempfile.mkdtemp(prefix="longshore-"))  # mode 0700
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)
    else:
        yield prepare_data_dir(path or default_data_dir())


def prepare_data_dir(path: Path) -> Path:
    """Creates the directory (mode 0700) or checks that the existing one may become private."""
    path = path.expanduser().absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = path.stat()
        if info.st_uid != os.geteuid():
            raise UnfitDirectory(
                f"data directory {path} belongs to user id {info.st_uid}, and this is user id "
                f"{os.geteuid()}; pass another one with --data-dir"
            )
        if stat.S_IMODE(info.st_mode) & 0o077:
            entries = os.listdir(path)
            if entries and not any(name in entries for name in _OWN_NAMES):
                raise UnfitDirectory(
                    f"data directory {path} holds other files and is open to other users "
                    f"(mode {stat.S_IMODE(info.st_mode):04o}); pass a directory of its own with --data-dir"
                )
            path.chmod(0o700)
    except FileExistsError:
        raise UnfitDirectory(f"data directory {path} is a file; pass another one with --data-dir") from None
    except OSError as err:
        raise UnfitDirectory(
            f"data directory {path} cannot be used: {err.strerror}; pass another one with --data-dir"
        ) from err
    return path


def write_private(path: Path, content: bytes) -> None:
    """Replaces the content of `path` in one step; the file is durable and has mode 0600."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, 0o600)  # a left-over of a crash may have been made with another mode
            file.write(content)
            file.flush()
            os.fsync(fd)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
