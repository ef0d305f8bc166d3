"""Adds this longshore to the kubeconfig that kubectl reads by itself, and removes it again.

  longshore kubeconfig merge --use     afterwards plain kubectl talks to this longshore
  longshore kubeconfig merge --name here
  longshore kubeconfig remove

Other clusters, users and contexts of the file stay as they are; comments in it do not survive.
"""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from pathlib import Path


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import data_dir

    verbs = parser.add_subparsers(dest="verb", metavar="merge|remove", required=True)
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
    merge.add_argument(
        "--use", action=BooleanOptionalAction, default=False, help="make it the current context, too"
    )
    data_dir.add_arguments(merge)


def run(arguments: Namespace) -> int:
    from longshore.cli.server import data_dir, kubeconfig_files

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
