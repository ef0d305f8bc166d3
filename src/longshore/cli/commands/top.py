"""Shows the processors and memory that nodes and pods use right now, as kubectl top does.

longshore top nodes
longshore top pods -l job-name=train --containers
longshore top pods -A --sort-by=memory --sum
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from longshore.cli.arguments.flags import switch

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server

_METRICS = "/apis/metrics.k8s.io/v1beta1"


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import connecting

    verbs = parser.add_subparsers(dest="verb", metavar="node|pod", required=True)
    node, pod = (
        verbs.add_parser(
            name,
            aliases=[f"{name}s", name[:2]],
            help=f"the usage of {name}s",
            description=f"Shows the usage of {name}s.",
            allow_abbrev=False,
        )
        for name in ("node", "pod")
    )
    for each in (node, pod):
        each.add_argument("name", nargs="?", default="", metavar="NAME", help="this one only")
        each.add_argument("--selector", "-l", default="", metavar="S", help="only those with these labels")
        each.add_argument("--no-headers", action="store_true", help="leave out the header line")
        each.add_argument(
            "--sort-by", default="", choices=("", "cpu", "memory"), help="the largest first: cpu or memory"
        )
        connecting.add_arguments(each)
    switch(node, "--show-capacity", help="shares of the capacity, not of what pods may use")
    pod.add_argument("--field-selector", default="", metavar="S", help="only those with these field values")
    for flags, text in (
        (("--all-namespaces", "-A"), "in all namespaces"),
        (("--containers",), "the usage of each container"),
        (("--sum",), "a last line with the sum"),
    ):
        switch(pod, *flags, help=text)


def run(arguments: Namespace) -> int:
    from longshore.cli.main import Said
    from longshore.cli.server import connecting, refusals
    from longshore.cli.showing import usage_table

    if arguments.name and arguments.selector:
        raise Said("error: only one of NAME or --selector can be provided", 2)
    with refusals.told():
        server = connecting.server(arguments)
        _check_served(server)
        if arguments.verb in ("node", "nodes", "no"):
            wanted = _query(arguments)
            items = _asked(server, f"{_METRICS}/nodes", arguments.name, wanted)
            nodes = _asked(server, "/api/v1/nodes", arguments.name, wanted)
            table = usage_table.of_nodes(items, nodes, arguments.sort_by, capacity=arguments.show_capacity)
        else:
            everywhere = arguments.all_namespaces and not arguments.name
            place = "" if everywhere else f"/namespaces/{server.namespace}"
            items = _asked(server, f"{_METRICS}{place}/pods", arguments.name, _query(arguments))
            if not items:
                return _nothing(server, place, arguments)
            table = usage_table.of_pods(
                items,
                arguments.sort_by,
                namespace=everywhere,
                containers=arguments.containers,
                total=arguments.sum,
            )
    sys.stdout.write(usage_table.text(table, headers=not arguments.no_headers))
    return 0


def _query(arguments: Namespace) -> dict[str, str]:
    asked = {
        "labelSelector": arguments.selector,
        "fieldSelector": getattr(arguments, "field_selector", ""),
    }
    return {key: value for key, value in asked.items() if value}


def _check_served(server: Server) -> None:
    from longshore.cli.main import Said

    groups = server.json("GET", "/apis").get("groups") or ()
    if not any(group["name"] == "metrics.k8s.io" for group in groups):
        raise Said("error: Metrics API not available")


def _asked(server: Server, path: str, name: str, query: dict[str, str]) -> list[dict[str, object]]:
    from longshore.cli.server.requests import escaped

    if name:
        return [server.json("GET", f"{path}/{escaped(name)}")]
    found: list[dict[str, object]] = server.json("GET", path, query=query).get("items") or []
    return found


def _nothing(server: Server, place: str, arguments: Namespace) -> int:
    """Says whether there are no pods, or none of them has been measured yet."""
    from longshore.cli.main import Said

    if server.json("GET", f"/api/v1{place}/pods", query={**_query(arguments), "limit": "1"})["items"]:
        raise Said("error: metrics not available yet")
    where = f" in {server.namespace} namespace." if place else ""
    print(f"No resources found{where}", file=sys.stderr)
    return 0
