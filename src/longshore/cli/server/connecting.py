"""How commands for people find their server: as kubectl, but the own `longshore up` before ~/.kube/config."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server


def add_arguments(parser: ArgumentParser, *, short_namespace: bool = True) -> None:
    """`short_namespace` is False for commands whose -n means something else."""
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="F", help="default: $KUBECONFIG, else that of longshore up"
    )
    parser.add_argument("--context", default="", metavar="C", help="default: the kubeconfig's current one")
    flags = ("--namespace", "-n") if short_namespace else ("--namespace",)
    parser.add_argument(*flags, default="", metavar="NS", help="default: the context's own")


def server(arguments: Namespace) -> Server:
    """The server that `arguments` name; its namespace is the one asked for. Raises `Failure` when there
    is none to be found."""
    from longshore.cli.main import Failure
    from longshore.cli.server.requests import Server
    from longshore.client.config.connection import from_kubeconfig
    from longshore.client.errors import ConfigError

    try:
        return Server(from_kubeconfig(_file(arguments.kubeconfig), arguments.context), arguments.namespace)
    except ConfigError as err:
        raise Failure(str(err), 2) from None


def _file(named: Path | None) -> Path | None:
    """None leaves the choice to kubectl's rules."""
    if named is not None or os.environ.get("KUBECONFIG"):
        return named
    from longshore.up.files import default_data_dir

    own = default_data_dir() / "kubeconfig"
    return own if own.is_file() else None
