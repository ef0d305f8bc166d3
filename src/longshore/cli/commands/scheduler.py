"""Runs longshore's scheduler against any Kubernetes, beside its own or instead of it.

By default it schedules Volcano's gangs: pods whose schedulerName is volcano. Of several processes one
works, the holder of the Lease; the others wait to take over. SIGTERM and Ctrl-C stop the process and
release the Lease. Each schedulerName must belong to one scheduler; several schedulers count each other's
pods once these are bound.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore.cli.arguments import controller_flags, flags
from longshore.cli.commands import controllers as elsewhere

_SCHEDULERS = """
--schedulers LIST  names  schedule pods with these schedulerNames: volcano, default-scheduler (default:
                          volcano)
"""
_LEASE = """
--lease NAME  text=longshore-scheduler  the Lease that processes share when one of them is to work (default:
                                        longshore-scheduler)
"""


def add_arguments(parser: ArgumentParser) -> None:
    flags.other_cluster(parser)
    flags.table(parser, _SCHEDULERS, names=schedulers)
    parser.set_defaults(schedulers=("volcano",))
    controller_flags.add_scheduling(parser)
    flags.table(parser, _LEASE)
    flags.one_of_several(parser)
    controller_flags.add_logging(parser)


def run(arguments: Namespace) -> int:
    from longshore.up.outside.settings import OutsideSettings

    settings = OutsideSettings(
        kubeconfig=arguments.kubeconfig,
        context=arguments.context,
        controllers=(),
        schedulers=arguments.schedulers,
        scheduler_actions=arguments.scheduler_actions,
        scheduler_conf=controller_flags.conf_of(arguments),
        leader_elect=arguments.leader_elect,
        lease=arguments.lease,
        keep_reasons=arguments.keep_reasons,
        metrics=arguments.metrics_port,
        logging=controller_flags.logging_of(arguments),
    )
    return elsewhere.until_stopped(settings)


def schedulers(text: str) -> tuple[str, ...]:
    return controller_flags.listed(text, ("volcano", "default-scheduler"), "scheduler")
