"""Shows the manual page of a command, made of the same text as its --help.

  longshore man
  longshore man run
  longshore man --to ~/.local/share/man/man1      writes all pages, for man itself

Without a terminal the page is printed as man reads it: longshore man run | man -l -
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli import main

    parser.add_argument(
        "command", nargs="?", default="", metavar="COMMAND", choices=("", *main.names()), help="the command"
    )
    parser.add_argument("--to", type=Path, metavar="DIR", help="write all pages into this directory")


def run(arguments: Namespace) -> int:
    import shutil
    import subprocess
    import tempfile

    from longshore.cli.main import Failure
    from longshore.cli.showing import manual_pages

    if arguments.to is not None:
        folder = arguments.to.expanduser()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in manual_pages.everything().items():
                (folder / f"{name}.1").write_text(text)
        except OSError as err:
            raise Failure(f"cannot write to {folder}: {err.strerror}") from None
        return 0
    text = manual_pages.page(arguments.command) if arguments.command else manual_pages.overview()
    viewer = shutil.which("man")
    if not sys.stdout.isatty() or viewer is None:
        sys.stdout.write(text)
        return 0
    with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
        file.write(text)
        file.flush()
        return subprocess.run([viewer, "-l", file.name], check=False).returncode
