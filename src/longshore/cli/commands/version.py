"""Prints the version of longshore."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore import __version__


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--vcctl", action="store_true", help="the six lines that vcctl version prints")


def run(arguments: Namespace) -> int:
    if not arguments.vcctl:
        print(f"longshore {__version__}")
        return 0
    import platform

    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    print(f"API Version: v1alpha1\nVersion: {__version__}\nGit SHA: Not provided.\nBuilt At: Not provided.")
    print(f"Go Version: none, Python {platform.python_version()}")
    print(f"Go OS/Arch: {platform.system().lower()}/{machine}")
    return 0
