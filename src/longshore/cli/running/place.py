"""The longshore that does the work: one that runs here, or a throw-away one in this process.

A server named by --kubeconfig or --context is used. Otherwise the longshore that $KUBECONFIG belongs to,
or the one of the data directory, if it runs. Any other kubeconfig is ignored, so that a command that is
tried out never runs on a cluster by surprise.
"""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from longshore.cli.main import Failure
from longshore.cli.server import data_dir

if TYPE_CHECKING:
    from longshore.cli.kept.shelf import RunJournal
    from longshore.client import Client


@dataclass(frozen=True, slots=True)
class Place:
    client: Client
    server: str
    namespace: str
    directory: Path | None
    """A directory for files that the longshore reads; None unless it is known to run on this machine."""
    throw_away: bool
    journal: RunJournal | None = None
    """The record of a throw-away run; None if it cannot be kept."""


@asynccontextmanager
async def opened(arguments: Namespace) -> AsyncIterator[Place]:
    file = None if arguments.throw_away else running(arguments.kubeconfig, arguments.context)
    if file is None and not arguments.context:
        async with _throw_away(arguments) as place:
            yield place
        return
    async with connected(file, arguments) as place:
        yield place


@asynccontextmanager
async def connected(file: Path | None, arguments: Namespace) -> AsyncIterator[Place]:
    """Connects to the server of this kubeconfig; None leaves the choice to kubectl's rules."""
    from longshore.client.config.connection import from_kubeconfig
    from longshore.client.errors import ConfigError
    from longshore.client.http import HttpClient

    try:
        connection = from_kubeconfig(file, arguments.context)
    except ConfigError as err:
        raise Failure(str(err), 2) from None
    async with HttpClient(connection) as client:
        directory = _directory_of(file) if file is not None else None
        namespace = arguments.namespace or client.namespace
        yield Place(client, connection.server, namespace, directory, throw_away=False)


def _directory_of(file: Path) -> Path | None:
    """The data directory of the longshore that wrote this kubeconfig, if it runs on this machine."""
    directory = file.absolute().parent
    return directory if data_dir.holder(directory) is not None else None


def running(named: Path | None, context: str) -> Path | None:
    """The kubeconfig of the longshore to use; None without one."""
    if named is not None or context:
        return named
    candidates = [Path(name) for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    candidates.append(data_dir.directory(Namespace(data_dir=None)) / "kubeconfig")
    for file in candidates:
        if file.is_file() and data_dir.holder(file.absolute().parent) is not None:
            return file
    return None


@asynccontextmanager
async def _throw_away(arguments: Namespace) -> AsyncIterator[Place]:
    from longshore.cli.kept.run_records import CERTIFICATES, LIVE
    from longshore.node.images import images_file
    from longshore.node.images.image_table import BadImages
    from longshore.store import StoreError
    from longshore.up.files import UnfitDirectory
    from longshore.up.options import Options
    from longshore.up.own_certificates import BrokenPki
    from longshore.up.running import running as started

    home = data_dir.directory(Namespace(data_dir=None))
    with _kept() as journal:
        options = Options(
            data_dir=journal.directory / LIVE if journal is not None else None,
            in_memory=True,
            port=0,
            on_stop="kill",
            runtime=arguments.runtime or "process",
            images=home / images_file.NAME,
            certificates=home / CERTIFICATES if journal is not None else None,
        )
        try:
            async with started(options) as own:
                namespace = arguments.namespace or "default"
                directory = own.kubeconfig.parent
                if journal is not None:  # items stay with the record; the node looks in its data directory
                    directory = journal.directory
                    (directory / LIVE / "items").symlink_to("../items")
                yield Place(own.client, own.server, namespace, directory, True, journal)
        except (StoreError, UnfitDirectory, BadImages, BrokenPki) as err:
            raise Failure(str(err)) from None


@contextmanager
def _kept() -> Iterator[RunJournal | None]:
    """The record of a throw-away run, tidied at the end; None if nothing can be written."""
    from longshore.cli.kept import run_records, shelf
    from longshore.cli.kept.shelf import RunJournal
    from longshore.up import files

    root = run_records.root()
    try:
        files.prepare_data_dir(root.parent)
        directory = shelf.begin(root, time.time())
    except (OSError, files.UnfitDirectory):
        yield None
        return
    journal = RunJournal(directory)
    try:
        yield journal
    finally:
        journal.close()
        with suppress(OSError):
            shelf.tidy(directory, time.time())
            shelf.prune(root, time.time())
