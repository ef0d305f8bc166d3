"""Prints the objects of a kustomization directory, as kubectl kustomize does.

longshore kustomize overlays/prod
longshore apply -k overlays/prod
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "directory",
        nargs="?",
        type=Path,
        default=Path("."),
        metavar="DIR",
        help="the directory with the kustomization.yaml (default: this one)",
    )
    parser.add_argument("--output", "-o", type=Path, metavar="F", help="write to this file")


def run(arguments: Namespace) -> int:
    from longshore.cli.kustomize import kustomize_build
    from longshore.cli.main import Failure
    from longshore.cli.printing import objects

    text = "---\n".join(objects.as_yaml(obj) for obj in kustomize_build.build(arguments.directory))
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        try:
            arguments.output.write_text(text)
        except OSError as err:
            raise Failure(f"--output: cannot write {arguments.output}: {err.strerror}") from None
    return 0
