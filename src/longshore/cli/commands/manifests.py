"""Prints the objects that run the controllers in a cluster: account, rights and Deployment, as YAML.

With --scheduler it also prints those of longshore scheduler. Each gets the least rights it needs. With
--webhooks the controllers also serve Volcano's admission. With --crds it prints the resource definitions that
Volcano's controllers and the scheduler need. The image must contain longshore;
docs/how-to/move-to-a-cluster.md says how to build one.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore.api.facts import own_names
from longshore.cli.arguments.flags import switch
from longshore.cli.commands.controllers import add_controllers, add_shards, check_namespace
from longshore.cli.main import Failure


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.up import manifests

    parser.epilog = "example:\n  longshore manifests --image registry.example/longshore | kubectl apply -f -"
    parser.add_argument(
        "--namespace",
        "-n",
        default=manifests.NAMESPACE,
        metavar="NS",
        help=f"where to install (default: {manifests.NAMESPACE})",
    )
    parser.add_argument(
        "--image", default=manifests.IMAGE, metavar="IMAGE", help=f"default: {manifests.IMAGE}"
    )
    parser.add_argument(
        "--managed-by",
        default=own_names.JOB_CONTROLLER,
        metavar="NAME",
        help=f"handle Jobs with this spec.managedBy (default: {own_names.JOB_CONTROLLER})",
    )
    parser.add_argument(
        "--only-namespace", default="", metavar="NS", help="watch only this namespace (default: all)"
    )
    add_controllers(parser)
    add_shards(parser)
    switch(parser, "--crds", help="print Volcano's resource definitions instead (default: no)")
    switch(parser, "--scheduler", help="also run the scheduler of Volcano's gangs (default: no)")
    switch(parser, "--webhooks", help="also serve Volcano's admission webhooks (default: no)")


def run(arguments: Namespace) -> int:
    from longshore.up import manifests

    if arguments.crds:
        print(manifests.definitions(), end="")
        return 0
    check_namespace("--only-namespace", arguments.only_namespace, arguments.controllers)
    if arguments.webhooks and arguments.only_namespace:
        raise Failure("--webhooks answer for all namespaces: leave --only-namespace out", 2)
    wanted = manifests.Wanted(
        arguments.namespace,
        arguments.image,
        arguments.controllers,
        arguments.managed_by,
        arguments.only_namespace,
        arguments.scheduler,
        arguments.shards,
        arguments.shard_by,
        arguments.webhooks,
    )
    print(manifests.text(wanted), end="")
    return 0
