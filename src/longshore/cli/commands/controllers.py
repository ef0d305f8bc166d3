"""Runs controllers against any Kubernetes, beside its own or instead of them.

By default the Job controller handles Jobs whose spec.managedBy is longshore.dev/job-controller, which
kube-controller-manager leaves alone. Of several processes one works, the holder of the Lease; the others wait
to take over. With --shards N so many work at the same time, each for one shard of the objects, and the others
wait to take a free one. SIGTERM and Ctrl-C stop the process and release its Lease.

Inside a pod without a kubeconfig, the process uses the pod's own cluster and service account; longshore
manifests prints the objects that this needs.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from longshore.api.facts import own_names
from longshore.cli.arguments import controller_flags, flags
from longshore.cli.commands.up import controllers
from longshore.cli.main import Failure

if TYPE_CHECKING:
    from longshore.up.outside.settings import OutsideSettings

_ANY_ADDRESS = "0.0.0.0"
"""All addresses, because other machines call webhooks."""
_MAX_SHARDS = 256
"""Each replica reads the Leases of all shards every 1.5 s: the Leases of 256 shards are some 200 kB."""


_WATCHED = """
--managed-by NAME      text={own}     handle Jobs with this spec.managedBy; kubernetes.io/job-controller also
                                      handles Jobs without one, for clusters whose own Job controller is off
                                      (default: {own})
--namespace, -n NS     text           only this namespace (default: all)
"""
_SERVED = """
--kube-api-qps N       rate=0.0       at most this many requests a second to the API server (default: 0, no
                                      limit)
--kube-api-burst N     burst=0        requests that may be sent at once (default: twice --kube-api-qps)
"""
_NAMED = """
--webhooks-name NAME   text={name}    the name of the webhooks' Service, Secret, Lease and configurations
                                      (default: {name})
"""
_SHARDS = """
--shards N             shards=0       divide objects into N shards, each with its own Lease and process;
                                      more processes stand by to take over (default: 0, one process works)
--shard-by             {by}           divide objects by namespace, or each object by itself (default:
                                      {default})
"""


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.up.outside import settings

    flags.other_cluster(parser)
    flags.table(parser, _WATCHED.format(own=own_names.JOB_CONTROLLER))
    add_controllers(parser)
    controller_flags.add_work_limits(parser)
    parser.add_argument(
        "--lease",
        type=_lease,
        default=("", settings.LEASE),
        metavar="[NS/]NAME",
        help="the Lease that processes share when one of them is to work "
        f"(default: {settings.LEASE} in the context's namespace)",
    )
    flags.one_of_several(parser)
    add_shards(parser)
    flags.table(parser, _SERVED, rate=_rate, burst=flags.whole("a whole number of requests"))
    usual = f"{_ANY_ADDRESS}:{settings.WEBHOOKS_PORT}"
    parser.add_argument(
        "--webhooks",
        type=_webhooks,
        nargs="?",
        const=usual,
        metavar="[ADDRESS:]N",
        help="also serve Volcano's admission webhooks over HTTPS (default: off; where nothing is named: "
        f"{usual})",
    )
    flags.table(parser, _NAMED.format(name=settings.WEBHOOKS))
    controller_flags.add_logging(parser)


def add_controllers(parser: ArgumentParser) -> None:
    """Adds the choice of controllers for another cluster."""
    from longshore.up.outside import settings

    usual = f"controllers to run, separated by commas (default: {','.join(settings.CONTROLLERS)})"
    parser.add_argument(
        "--controllers", type=outside, default=settings.CONTROLLERS, metavar="LIST", help=usual
    )


def add_shards(parser: ArgumentParser) -> None:
    """Adds the flags that divide objects among replicas."""
    from longshore.machinery.sharding.division import BY

    by = f"{'|'.join(BY)}={BY[0]}"
    shards = flags.whole(f"a whole number from 0 to {_MAX_SHARDS}", 0, _MAX_SHARDS)
    flags.table(parser, _SHARDS.format(by=by, default=BY[0]), shards=shards)


def run(arguments: Namespace) -> int:
    from longshore.up.outside.settings import OutsideSettings

    check_namespace("--namespace", arguments.namespace, arguments.controllers)
    if arguments.shards and not arguments.leader_elect:
        raise Failure("--shards needs Leases: leave --no-leader-elect out", 2)
    if arguments.webhooks and arguments.namespace:
        raise Failure("--webhooks answer for all namespaces: leave --namespace out", 2)
    lease_namespace, lease = arguments.lease
    settings = OutsideSettings(
        kubeconfig=arguments.kubeconfig,
        context=arguments.context,
        controllers=arguments.controllers,
        managed_by=arguments.managed_by,
        namespace=arguments.namespace,
        limits=controller_flags.work_limits_of(arguments),
        leader_elect=arguments.leader_elect,
        lease=lease,
        lease_namespace=lease_namespace,
        shards=arguments.shards,
        shard_by=arguments.shard_by,
        qps=arguments.kube_api_qps,
        burst=arguments.kube_api_burst or round(2 * arguments.kube_api_qps) or 1,
        keep_reasons=arguments.keep_reasons,
        webhooks=arguments.webhooks,
        webhooks_name=arguments.webhooks_name,
        metrics=arguments.metrics_port,
        logging=controller_flags.logging_of(arguments),
    )
    return until_stopped(settings)


def outside(text: str) -> tuple[str, ...]:
    """Names of controllers from one argument: at least one, and none that only longshore itself can run."""
    from longshore.plane.controllers import CONTROLLERS

    names = controllers(text)
    if not names:
        raise ArgumentTypeError("name at least one controller")
    for name in names:
        if why := CONTROLLERS[name].only_here:
            raise ArgumentTypeError(f"{name} runs in longshore up alone: {why}")
    return names


def check_namespace(flag: str, namespace: str, controllers: Sequence[str]) -> None:
    """Refuses a single namespace for controllers that must see all of them."""
    from longshore.plane.controllers import BY_NAMESPACE

    wide = [name for name in controllers if name not in BY_NAMESPACE]
    if namespace and wide:
        raise Failure(f"{flag}: these controllers need all namespaces: {', '.join(wide)}", 2)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate < 1e6:
        raise ArgumentTypeError(f"{text!r} is not a number of requests a second")
    return rate


def _webhooks(text: str) -> tuple[str, int]:
    address, port = flags.address(text)
    return (address if ":" in text else _ANY_ADDRESS), port


def _lease(text: str) -> tuple[str, str]:
    namespace, slash, name = text.rpartition("/")
    if not name or (slash and not namespace):
        raise ArgumentTypeError(f"{text!r} is neither NAME nor NAMESPACE/NAME")
    return namespace, name


def until_stopped(settings: OutsideSettings) -> int:
    """Runs until stopped, and returns the exit code. Raises `Failure` with a message for the person."""
    from longshore.client import ConfigError
    from longshore.machinery.election import LeadershipLost
    from longshore.up.outside import outside_process
    from longshore.up.webhooks import CannotServe

    try:
        outside_process.run(settings)
    except ConfigError as err:
        raise Failure(str(err), 2) from None
    except (CannotServe, LeadershipLost, outside_process.CredentialsRefused) as err:
        raise Failure(str(err)) from None
    except OSError as err:
        raise Failure(f"--metrics-port: {err.strerror or err}") from None
    return 0
