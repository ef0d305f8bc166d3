"""Prints the version of longshore."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore import __version__


def add_arguments(parser: ArgumentParser) -> None:
    """Adds nothing: the command has no arguments."""


def run(arguments: Namespace) -> int:
    print(f"longshore {__version__}")
    return 0
