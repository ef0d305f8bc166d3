"""Shows the processors and memory that nodes and pods use right now, as kubectl top does.

longshore top nodes
longshore top pods -l job-name=train --containers
longshore top pods -A --sort-by=memory --sum
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from longshore.api import quantity
from longshore.cli.arguments import flags, targets
from longshore.cli.main import Said
from longshore.cli.printing.columns import Columns
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server

_METRICS = "/apis/metrics.k8s.io/v1beta1"


_FLAGS = """
name? NAME      text         this one only
--selector, -l S  text       only those with these labels
--no-headers    on           leave out the header line
--sort-by       |cpu|memory  the largest first: cpu or memory
"""
_NODE_FLAGS = "--show-capacity  switch  shares of the capacity, not of what pods may use"
_POD_FLAGS = """
--field-selector S    text    only those with these field values
--all-namespaces, -A  switch  in all namespaces
--containers          switch  the usage of each container
--sum                 switch  a last line with the sum
"""


def add_arguments(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="node|pod", required=True)
    for name, own in (("node", _NODE_FLAGS), ("pod", _POD_FLAGS)):
        about, names = f"Shows the usage of {name}s.", [f"{name}s", name[:2]]
        made = flags.verb(verbs, name, f"the usage of {name}s", about, aliases=names)
        flags.table(made, _FLAGS)
        connecting.add_arguments(made)
        flags.table(made, own)


def run(arguments: Namespace) -> int:
    if arguments.name and arguments.selector:
        raise Said("error: only one of NAME or --selector can be provided", 2)
    with connecting.opened(arguments) as server:
        _check_served(server)
        if arguments.verb in ("node", "nodes", "no"):
            wanted = targets.selectors(arguments)
            items = _asked(server, f"{_METRICS}/nodes", arguments.name, wanted)
            nodes = _asked(server, "/api/v1/nodes", arguments.name, wanted)
            table = _of_nodes(items, nodes, arguments.sort_by, capacity=arguments.show_capacity)
        else:
            everywhere = arguments.all_namespaces and not arguments.name
            place = "" if everywhere else f"/namespaces/{server.namespace}"
            items = _asked(server, f"{_METRICS}{place}/pods", arguments.name, targets.selectors(arguments))
            if not items:
                return _nothing(server, place, arguments)
            table = _of_pods(
                items,
                arguments.sort_by,
                namespace=everywhere,
                containers=arguments.containers,
                total=arguments.sum,
            )
    sys.stdout.write(_text(table, headers=not arguments.no_headers))
    return 0


def _check_served(server: Server) -> None:
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
    """Prints whether there are no pods, or none of them has been measured yet."""
    if server.json("GET", f"/api/v1{place}/pods", query={**targets.selectors(arguments), "limit": "1"})[
        "items"
    ]:
        raise Said("error: metrics not available yet")
    where = f" in {server.namespace} namespace." if place else ""
    print(f"No resources found{where}", file=sys.stderr)
    return 0


_MEBIBYTE: Final = 1024 * 1024


class _Table(NamedTuple):
    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]


def _text(table: _Table, *, headers: bool) -> str:
    """The lines of the table. Every cell has its column's width, as in kubectl."""
    rows = [table.titles, *table.rows] if headers else table.rows
    return Columns().lines([(*row, "") for row in rows])


def _of_nodes(items: Sequence[Any], nodes: Sequence[Any], by: str, *, capacity: bool) -> _Table:
    """A row for each node; nodes without a measurement come last."""
    key = "capacity" if capacity else "allocatable"
    has = {node["metadata"]["name"]: (node.get("status") or {}).get(key) or {} for node in nodes}
    rows = []
    for item in sorted(items, key=lambda item: (_order(item["usage"], by), item["metadata"]["name"])):
        name, cells = item["metadata"]["name"], []
        for resource, shown in (("cpu", _cpu), ("memory", _memory)):
            cells += [shown(item["usage"]), _share(item["usage"], has.get(name, {}), resource)]
        rows.append((name, *cells))
    measured = {row[0] for row in rows}
    rows += [(name, *["<unknown>"] * 4) for name in sorted(has) if name not in measured]
    return _Table(("NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"), rows)


def _of_pods(items: Sequence[Any], by: str, *, namespace: bool, containers: bool, total: bool) -> _Table:
    """A row for each pod or container, and their sum."""
    rows, sums = [], {"cpu": "0", "memory": "0"}
    whole = [(item["metadata"], item["containers"], _sum(item["containers"])) for item in items]
    whole.sort(
        key=lambda one: (_order(one[2], by), one[0].get("namespace", "") if namespace else "", one[0]["name"])
    )
    for meta, parts, used in whole:
        sums = _sum([{"usage": sums}, {"usage": used}])
        start = ((meta["namespace"],) if namespace else ()) + (meta["name"],)
        if containers:
            ordered = sorted(parts, key=lambda part: (_order(part["usage"], by), part["name"]))
            rows += [(*start, p["name"], _cpu(p["usage"]), _memory(p["usage"])) for p in ordered]
        else:
            rows.append((*start, _cpu(used), _memory(used)))
    if total:
        empty = [""] * (1 + namespace + containers)
        rows += [(*empty, "________", "________"), (*empty, _cpu(sums), _memory(sums))]
    titles = (("NAMESPACE",) if namespace else ()) + (("POD",) if containers else ())
    return _Table((*titles, "NAME", "CPU(cores)", "MEMORY(bytes)"), rows)


def _sum(parts: Sequence[Any]) -> dict[str, str]:
    used = {"cpu": "0", "memory": "0"}
    for part in parts:
        used = {key: quantity.add(used[key], part["usage"].get(key, "0")) for key in used}
    return used


def _order(usage: Any, by: str) -> int:
    """The sort key: the largest first; the given order without `--sort-by`."""
    return -quantity.milli_value(usage.get(by, "0")) if by else 0


def _cpu(usage: Any) -> str:
    return f"{quantity.milli_value(usage.get('cpu', '0'))}m"


def _memory(usage: Any) -> str:
    return f"{quantity.value(usage.get('memory', '0')) // _MEBIBYTE}Mi"


def _share(usage: Any, has: Any, resource: str) -> str:
    available = quantity.milli_value(has.get(resource, "0"))
    if not available:
        return "<unknown>"
    return f"{int(quantity.milli_value(usage.get(resource, '0')) / available * 100)}%"
