"""Flags that several commands have, each with its words."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from pathlib import Path
from typing import Any


def switch(parser: Any, *flags: str, help: str, default: bool | None = False) -> None:
    """A flag that is on or off: `--x` and `--no-x`. `parser` may also be a group of one."""
    parser.add_argument(*flags, action=BooleanOptionalAction, default=default, help=help)


def files(parser: ArgumentParser, help: str = "file, directory, URL, or - for standard input") -> None:
    """The files that objects are read from."""
    from longshore.cli.arguments import manifest_files

    parser.add_argument("--filename", "-f", action="append", default=[], metavar="F", help=help)
    manifest_files.add_kustomize(parser)
    switch(parser, "--recursive", "-R", help="include subdirectories")


def selector(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--selector", "-l", default="", metavar="S", help="only objects with these labels, e.g. a=1,b"
    )


def container(parser: ArgumentParser) -> None:
    parser.add_argument("--container", "-c", default="", metavar="C", help="default: the first one")


def pod_running_timeout(parser: ArgumentParser) -> None:
    from longshore.cli.arguments import waiting_times

    parser.add_argument(
        "--pod-running-timeout",
        type=waiting_times.seconds,
        default=60.0,
        metavar="T",
        help="how long to wait for a pod (default: 1m)",
    )


def field_owner(parser: ArgumentParser) -> None:
    """Who sets fields, and what happens to those of others."""
    from longshore.cli.server.apply_request import MANAGER

    switch(parser, "--server-side", help="refuse to take over fields that others own")
    switch(parser, "--force-conflicts", help="take over fields that others own")
    parser.add_argument(
        "--field-manager", default=MANAGER, metavar="M", help=f"who sets the fields (default: {MANAGER})"
    )


def dry_run(parser: ArgumentParser, done: str) -> None:
    parser.add_argument(
        "--dry-run",
        nargs="?",
        const="client",
        default="none",
        choices=("none", "client", "server"),
        help=f"say what would be {done}; server: let the server check it, too (default: none)",
    )


def other_cluster(parser: ArgumentParser) -> None:
    """The cluster that longshore works for from outside."""
    parser.add_argument("--kubeconfig", type=Path, metavar="F", help="default: the file kubectl would use")
    parser.add_argument(
        "--context", default="", metavar="C", help="default: the kubeconfig's current context"
    )


def one_of_several(parser: ArgumentParser) -> None:
    """The flags of a process of which one works and the others wait."""
    switch(parser, "--leader-elect", help="work only while holding the Lease (default)", default=True)
    parser.add_argument(
        "--metrics-port",
        type=address,
        metavar="[ADDRESS:]N",
        help="serve /metrics, /healthz and /readyz here over plain HTTP (default: off; address: 127.0.0.1)",
    )
    switch(parser, "--keep-reasons", help="keep reasons as Events of the cluster, for longshore why")


def address(text: str) -> tuple[str, int]:
    """Address and port from one argument."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 < int(port) <= 65535:
        raise ArgumentTypeError(f"{text!r} is neither a port from 1 to 65535 nor ADDRESS:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def port(text: str) -> int:
    """A port to listen on, for argparse; 0 is any free one."""
    if not text.isdigit() or not 0 <= int(text) <= 65535:
        raise ArgumentTypeError(f"{text!r} is not a port: a whole number from 0 to 65535")
    return int(text)
