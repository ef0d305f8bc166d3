"""Runs controllers against any Kubernetes, beside its own or instead of them.

By default the Job controller handles Jobs whose spec.managedBy is longshore.dev/job-controller, which
kube-controller-manager leaves alone. Of several processes one works, the holder of the Lease; the others wait
to take over. With --shards they work at the same time, each for its share of the objects. SIGTERM and Ctrl-C
stop the process and release its Leases.

Inside a pod without a kubeconfig, the process uses the pod's own cluster and service account; longshore
manifests prints the objects that this needs.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from longshore.cli.arguments import controller_flags, flags

_NARROW = (
    "cronjob", "job", "ttl", "volcano-cronjob", "volcano-gc", "volcano-job", "volcano-jobflow",
    "volcano-podgroup",
)  # fmt: skip
"""Controllers that can watch a single namespace."""
_EVERY_ADDRESS = "0.0.0.0"
"""Webhooks are called from elsewhere."""
_MAX_SHARDS = 256
"""Each replica reads the Leases of all shards every 1.5 s: 256 are some 200 kB."""
_OWN = {
    "aggregation": "every other cluster aggregates its roles itself",
    "rights": "in another cluster, rights are not longshore's to give",
    "serviceaccount": "it hands out its authority",
    "volume": "it makes directories of its own machine",
}


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.api.facts import own_names
    from longshore.up.outside import settings

    flags.other_cluster(parser)
    parser.add_argument(
        "--managed-by",
        default=own_names.JOB_CONTROLLER,
        metavar="NAME",
        help="handle Jobs with this spec.managedBy; kubernetes.io/job-controller also handles Jobs without "
        f"one, for clusters whose own Job controller is off (default: {own_names.JOB_CONTROLLER})",
    )
    parser.add_argument(
        "--namespace", "-n", default="", metavar="NS", help="only this namespace (default: all)"
    )
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
    parser.add_argument(
        "--kube-api-qps",
        type=_rate,
        default=0.0,
        metavar="N",
        help="requests a second to the API server, at most (default: 0, the server sets the pace)",
    )
    parser.add_argument(
        "--kube-api-burst",
        type=_burst,
        default=0,
        metavar="N",
        help="requests that need not wait for their turn (default: twice --kube-api-qps)",
    )
    parser.add_argument(
        "--webhooks",
        type=_webhooks,
        nargs="?",
        const=f"{_EVERY_ADDRESS}:{settings.WEBHOOKS_PORT}",
        metavar="[ADDRESS:]N",
        help="also serve Volcano's admission webhooks over HTTPS (default: off; where nothing is named: "
        f"{_EVERY_ADDRESS}:{settings.WEBHOOKS_PORT})",
    )
    parser.add_argument(
        "--webhooks-name",
        default=settings.WEBHOOKS,
        metavar="NAME",
        help="the name of the webhooks' Service, Secret, Lease and configurations "
        f"(default: {settings.WEBHOOKS})",
    )
    controller_flags.add_logging(parser)


def add_controllers(parser: ArgumentParser) -> None:
    """Adds the choice of controllers for another cluster."""
    from longshore.up.outside import settings

    parser.add_argument(
        "--controllers",
        type=outside,
        default=settings.CONTROLLERS,
        metavar="LIST",
        help=f"controllers to run, separated by commas (default: {','.join(settings.CONTROLLERS)})",
    )


def add_shards(parser: ArgumentParser) -> None:
    """Adds how objects are divided among replicas."""
    from longshore.machinery.sharding.division import BY

    parser.add_argument(
        "--shards",
        type=_shards,
        default=0,
        metavar="N",
        help="divide objects into so many shards, each with a Lease, so that several processes work at the "
        "same time (default: 0, one of them works)",
    )
    parser.add_argument(
        "--shard-by",
        choices=BY,
        default=BY[0],
        help="what stays together in a shard: all of a namespace, or each object by itself (default: "
        f"{BY[0]})",
    )


def run(arguments: Namespace) -> int:
    from longshore.cli import until_stopped as elsewhere
    from longshore.cli.main import Failure
    from longshore.up.outside.settings import Settings

    check_namespace("--namespace", arguments.namespace, arguments.controllers)
    if arguments.shards and not arguments.leader_elect:
        raise Failure("--shards needs Leases: leave --no-leader-elect out", 2)
    if arguments.webhooks and arguments.namespace:
        raise Failure("--webhooks answer for all namespaces: leave --namespace out", 2)
    lease_namespace, lease = arguments.lease
    settings = Settings(
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
    return elsewhere.run(settings)


def outside(text: str) -> tuple[str, ...]:
    """Names of controllers from one argument: at least one, and none that only longshore itself can run."""
    from longshore.cli.commands.up import controllers

    names = controllers(text)
    if not names:
        raise ArgumentTypeError("name at least one controller")
    for name, why in _OWN.items():
        if name in names:
            raise ArgumentTypeError(f"{name} runs in longshore up alone: {why}")
    return names


def check_namespace(flag: str, namespace: str, controllers: Sequence[str]) -> None:
    """Refuses a single namespace for controllers that must see all of them."""
    from longshore.cli.main import Failure

    wide = [name for name in controllers if name not in _NARROW]
    if namespace and wide:
        raise Failure(f"{flag}: these controllers need all namespaces: {', '.join(wide)}", 2)


def _shards(text: str) -> int:
    if not text.isdigit() or int(text) > _MAX_SHARDS:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 0 to {_MAX_SHARDS}")
    return int(text)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate < 1e6:
        raise ArgumentTypeError(f"{text!r} is not a number of requests a second")
    return rate


def _burst(text: str) -> int:
    if not text.isdigit():
        raise ArgumentTypeError(f"{text!r} is not a whole number of requests")
    return int(text)


def _webhooks(text: str) -> tuple[str, int]:
    address, port = flags.address(text)
    return (address if ":" in text else _EVERY_ADDRESS), port


def _lease(text: str) -> tuple[str, str]:
    namespace, slash, name = text.rpartition("/")
    if not name or (slash and not namespace):
        raise ArgumentTypeError(f"{text!r} is neither NAME nor NAMESPACE/NAME")
    return namespace, name
