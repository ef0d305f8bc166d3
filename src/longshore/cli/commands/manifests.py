"""Prints the objects that run the controllers in a cluster: account, rights and Deployment, as YAML.

With --scheduler it also prints those of longshore scheduler. Each gets the least rights it needs. With
--webhooks the controllers also serve Volcano's admission. With --crds it prints the resource definitions that
Volcano's controllers and the scheduler need. The image must contain longshore;
docs/how-to/move-to-a-cluster.md says how to build one.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore.api.facts import own_names
from longshore.cli.arguments import flags
from longshore.cli.commands.controllers import add_controllers, add_shards, check_namespace
from longshore.cli.main import Failure

_FLAGS = """
--namespace, -n NS   text={place}  where to install (default: {place})
--image IMAGE        text={image}  default: {image}
--managed-by NAME    text={name}   handle Jobs with this spec.managedBy (default: {name})
--only-namespace NS  text          watch only this namespace (default: all)
"""
_MORE_FLAGS = """
--crds       switch  print Volcano's resource definitions instead (default: no)
--scheduler  switch  also run the scheduler of Volcano's gangs (default: no)
--webhooks   switch  also serve Volcano's admission webhooks (default: no)
"""


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.up import manifests

    parser.epilog = "example:\n  longshore manifests --image registry.example/longshore | kubectl apply -f -"
    own = _FLAGS.format(place=manifests.NAMESPACE, image=manifests.IMAGE, name=own_names.JOB_CONTROLLER)
    flags.table(parser, own)
    add_controllers(parser)
    add_shards(parser)
    flags.table(parser, _MORE_FLAGS)


def run(arguments: Namespace) -> int:
    from longshore.up import manifests

    if arguments.crds:
        print(manifests.definitions(), end="")
        return 0
    check_namespace("--only-namespace", arguments.only_namespace, arguments.controllers)
    if arguments.webhooks and arguments.only_namespace:
        raise Failure("--webhooks answer for all namespaces: leave --only-namespace out", 2)
    wanted = manifests.WantedInstallation(
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
