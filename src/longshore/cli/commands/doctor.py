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
    flags.table(parser, "--port N  port=6443  the port to listen on (default: 6443)", port=flags.port)
    flags.json_output(parser)


def run(arguments: Namespace) -> int:
    from datetime import UTC, datetime

    from longshore.cli import doctor_checks
    from longshore.cli.printing import objects

    path = data_dir.directory(arguments)
    pid, now = data_dir.holder(path), datetime.now(UTC)
    found = [
        doctor_checks.python(),
        doctor_checks.namespaces(),
        doctor_checks.isolation(),
        doctor_checks.cgroups(),
        doctor_checks.open_files(),
        doctor_checks.processes(),
        doctor_checks.addresses(),
        doctor_checks.port(arguments.port, pid is not None),
        doctor_checks.podman(),
        doctor_checks.programs(),
        doctor_checks.directory(path, os.geteuid()),
        doctor_checks.version(path),
        doctor_checks.disk(path),
        doctor_checks.clock(path, now),
        doctor_checks.certificates(path, now, pid is not None),
        doctor_checks.server(path, pid),
    ]
    if arguments.output:
        print(objects.as_json([finding._asdict() for finding in found]), end="")
    else:
        print(doctor_checks.lines(found), end="")
    return 1 if doctor_checks.is_broken(found) else 0
