"""Finds the server of a command: kubectl's rules, but a running `longshore up` comes before
~/.kube/config.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from longshore.cli.arguments import flags
from longshore.cli.main import Failure, Said

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server


_FLAGS = """
--kubeconfig F        path  default: $KUBECONFIG, else the one of longshore up
--context C           text  default: the kubeconfig's current context
--namespace{short} NS  text  default: the context's namespace
"""


def add_arguments(parser: ArgumentParser, *, short_namespace: bool = True) -> None:
    """Adds the flags that name a server. `short_namespace` is False if -n means something else."""
    flags.table(parser, _FLAGS.format(short=", -n" if short_namespace else ""))


@contextmanager
def opened(arguments: Namespace) -> Iterator[Server]:
    """Opens the server that `arguments` name, until the end of the block. A refusal in the block ends the
    command with kubectl's words."""
    from longshore.cli.server import refusals

    with refusals.as_failure(), closing(server(arguments)) as found:
        yield found


def add_impersonation(parser: ArgumentParser, deed: str) -> None:
    """Adds the flags for the user and the group to impersonate."""
    parser.add_argument("--as", dest="user", default="", metavar="USER", help=f"{deed} as this user")
    member = f"{deed} as a member of this group"
    parser.add_argument("--as-group", default="", metavar="GROUP", help=member)
    add_arguments(parser)


@contextmanager
def opened_as(arguments: Namespace) -> Iterator[Server]:
    """Opens the server as `opened` does, and impersonates `--as` and `--as-group`."""
    if arguments.as_group and not arguments.user:
        raise Said("error: --as-group needs --as", 2)
    with opened(arguments) as found:
        names = (("Impersonate-User", arguments.user), ("Impersonate-Group", arguments.as_group))
        found.connection.headers.extend((header, name) for header, name in names if name)
        yield found


def server(arguments: Namespace) -> Server:
    """A synchronous client for the server and namespace of `arguments`. Raises `Failure` if there is no
    server."""
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
