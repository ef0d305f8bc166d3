"""The longshore of a data directory: whether it runs, and its process."""

from __future__ import annotations

import fcntl
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from longshore.cli.main import Failure


def add_arguments(parser: ArgumentParser, what: str = "data directory") -> None:
    default = "(default: $LONGSHORE_HOME, else ~/.local/share/longshore)"
    parser.add_argument("--data-dir", type=Path, metavar="D", help=f"{what} {default}")


def directory(arguments: Namespace) -> Path:
    from longshore.up.files import default_data_dir

    given: Path = arguments.data_dir or default_data_dir()
    return given.expanduser().absolute()


def holder(directory: Path) -> int | None:
    """The process that runs on this directory; None if none does."""
    try:
        fd = os.open(directory / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(fd, 32, 0).strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(fd)  # which also gives back the lock, if it was free
    return None


def kubeconfig(arguments: Namespace) -> Path:
    """The kubeconfig in the data directory. Raises Failure if there is none."""
    file = directory(arguments) / "kubeconfig"
    if not file.is_file():
        raise Failure(f"there is no {file}; start a longshore with: longshore up")
    return file
