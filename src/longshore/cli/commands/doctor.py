"""Checks what this machine can do for longshore, and says how to mend the rest.

ok: as it should be; limited: longshore works, with less; absent: not there, and not needed; broken: needed,
and does not work. The exit code is 1 when something is broken.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from longshore.cli.arguments import flags
from longshore.cli.server import data_dir


def add_arguments(parser: ArgumentParser) -> None:
    data_dir.add_arguments(parser)
    parser.add_argument(
        "--port", type=flags.port, default=6443, metavar="N", help="the port to listen on (default: 6443)"
    )
    parser.add_argument(
        "--output", "-o", default="", choices=("", "json"), metavar="json", help="json: output for programs"
    )


def run(arguments: Namespace) -> int:
    from datetime import UTC, datetime

    from longshore.cli.examining import data_checks, findings, machine_checks
    from longshore.cli.printing import objects

    path = data_dir.directory(arguments)
    pid, now = data_dir.holder(path), datetime.now(UTC)
    found = [
        machine_checks.python(),
        machine_checks.namespaces(),
        machine_checks.isolation(),
        machine_checks.cgroups(),
        machine_checks.open_files(),
        machine_checks.processes(),
        machine_checks.addresses(),
        machine_checks.port(arguments.port, pid is not None),
        machine_checks.podman(),
        machine_checks.programs(),
        data_checks.directory(path, os.geteuid()),
        data_checks.version(path),
        data_checks.disk(path),
        data_checks.clock(path, now),
        data_checks.certificates(path, now, pid is not None),
        data_checks.server(path, pid),
    ]
    if arguments.output:
        print(objects.as_json([finding._asdict() for finding in found]), end="")
    else:
        print(findings.lines(found), end="")
    return 1 if findings.is_broken(found) else 0
