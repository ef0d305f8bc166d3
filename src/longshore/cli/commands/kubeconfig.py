"""Adds this longshore to the kubeconfig that kubectl reads by itself, and removes it again.

  longshore kubeconfig merge --use     afterwards plain kubectl talks to this longshore
  longshore kubeconfig merge --name here
  longshore kubeconfig remove
  longshore kubeconfig print --server https://build.example:6443     for another machine (see up --listen)

Other clusters, users and contexts of the file stay as they are; comments in it do not survive.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from longshore.cli.arguments.flags import switch

if TYPE_CHECKING:
    from longshore.api.types import Obj


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import data_dir

    verbs = parser.add_subparsers(dest="verb", metavar="merge|remove|print", required=True)
    merge = verbs.add_parser(
        "merge",
        help="add this longshore to a kubeconfig",
        description="Adds this longshore to a kubeconfig, or renews it there.",
        allow_abbrev=False,
    )
    remove = verbs.add_parser(
        "remove",
        help="remove it from a kubeconfig",
        description="Removes what merge has added.",
        allow_abbrev=False,
    )
    shown = verbs.add_parser(
        "print",
        help="print a kubeconfig for another machine",
        description="Prints this longshore's kubeconfig, the admin's token in it, with another address.",
        allow_abbrev=False,
    )
    shown.add_argument(
        "--server",
        required=True,
        type=_server,
        metavar="URL",
        help="address that the other machine reaches this longshore by",
    )
    data_dir.add_arguments(shown)
    for each in (merge, remove):
        each.add_argument(
            "--name",
            default="longshore",
            metavar="NAME",
            help="name of cluster, user and context (default: longshore)",
        )
        each.add_argument(
            "--into",
            type=Path,
            default=Path("~/.kube/config"),
            metavar="F",
            help="the kubeconfig to change (default: ~/.kube/config)",
        )
    switch(merge, "--use", help="make it the current context, too")
    data_dir.add_arguments(merge)


def run(arguments: Namespace) -> int:
    from longshore.cli.server import data_dir, kubeconfig_files

    if arguments.verb == "print":
        print(_for_others(kubeconfig_files.read(data_dir.kubeconfig(arguments)), arguments.server), end="")
        return 0
    file = arguments.into.expanduser().resolve()
    if arguments.verb == "remove":
        if kubeconfig_files.remove(file, arguments.name):
            print(f"removed context {arguments.name!r} from {file}")
        else:
            print(f"{file} has no context {arguments.name!r}")
        return 0
    own = kubeconfig_files.read(data_dir.kubeconfig(arguments))
    current = kubeconfig_files.merge(file, own, arguments.name, use=arguments.use)
    print(f"added context {arguments.name!r} to {file}")
    if current == arguments.name:
        print("it is the current context: try kubectl get jobs")
    else:
        print(f"use it with: kubectl --context {arguments.name} get jobs")
    return 0


def _for_others(own: Obj, server: str) -> str:
    import yaml

    own["clusters"][0]["cluster"]["server"] = server
    return yaml.safe_dump(own, sort_keys=False)


def _server(text: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme != "https" or not parts.hostname or parts.path not in ("", "/"):
        raise ArgumentTypeError(f"{text!r} is not an address such as https://build.example:6443")
    return text.rstrip("/")
