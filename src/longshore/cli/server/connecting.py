"""Finds the server of a command: kubectl's rules, but a running `longshore up` comes before
~/.kube/config.
"""

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
        "--kubeconfig", type=Path, metavar="F", help="default: $KUBECONFIG, else the one of longshore up"
    )
    parser.add_argument(
        "--context", default="", metavar="C", help="default: the kubeconfig's current context"
    )
    flags = ("--namespace", "-n") if short_namespace else ("--namespace",)
    parser.add_argument(*flags, default="", metavar="NS", help="default: the context's namespace")


def server(arguments: Namespace) -> Server:
    """A synchronous client for the server that `arguments` name. Its namespace is the one in the
    arguments. Raises `Failure` when there is no server to be found.
    """
    from longshore.cli.main import Failure
    from longshore.cli.server.requests import Server
    from longshore.client.config.connection import from_kubeconfig
    from longshore.client.errors import ConfigError

    try:
        return Server(from_kubeconfig(file(arguments.kubeconfig), arguments.context), arguments.namespace)
    except ConfigError as err:
        raise Failure(str(err), 2) from None


def file(named: Path | None) -> Path | None:
    """The kubeconfig to read; None leaves the choice to kubectl's rules."""
    if named is not None or os.environ.get("KUBECONFIG"):
        return named
    from longshore.up.files import default_data_dir

    own = default_data_dir() / "kubeconfig"
    return own if own.is_file() else None
