"""Stops the longshore that runs on the data directory, as Ctrl-C would, and waits until it has stopped.

Its data stays. Running pods keep running or stop, as longshore up --on-stop said.
"""

from __future__ import annotations

import os
import select
import signal
from argparse import ArgumentParser, Namespace
from contextlib import suppress

from longshore.cli.arguments import flags
from longshore.cli.main import Failure
from longshore.cli.server import data_dir

TIMEOUT_SECONDS = 60.0


def add_arguments(parser: ArgumentParser) -> None:
    data_dir.add_arguments(parser)
    flags.table(parser, f"--timeout T  seconds={TIMEOUT_SECONDS}  longest time to wait (default: 60s)")


def run(arguments: Namespace) -> int:
    directory = data_dir.directory(arguments)
    pid = data_dir.holder(directory)
    watched = None
    with suppress(ProcessLookupError):
        watched = os.pidfd_open(pid) if pid is not None else None
    if watched is None:
        print(f"no longshore runs on {directory}")
        return 0
    try:
        signal.pidfd_send_signal(watched, signal.SIGTERM)
        ended, _, _ = select.select([watched], [], [], max(0.0, arguments.timeout))
    except ProcessLookupError:
        ended = [watched]
    except PermissionError:
        raise Failure(f"longshore runs as process {pid}, which belongs to another user") from None
    finally:
        os.close(watched)
    if not ended:
        raise Failure(
            f"longshore (process {pid}) was told to stop and did not within {arguments.timeout:g} s; "
            f"end it with: kill -9 {pid}",
            124,
        )
    print(f"longshore (process {pid}) has stopped")
    return 0
