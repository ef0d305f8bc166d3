"""Tables of what nodes, pods and containers use, in the layout of kubectl top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from longshore.api import quantity
from longshore.cli.printing.columns import Columns

_MEBIBYTE: Final = 1024 * 1024


class Table(NamedTuple):
    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]


def text(table: Table, *, headers: bool) -> str:
    """The lines. Every cell has its column's width, as in kubectl."""
    rows = [table.titles, *table.rows] if headers else table.rows
    return Columns().lines([(*row, "") for row in rows])


def of_nodes(items: Sequence[Any], nodes: Sequence[Any], by: str, *, capacity: bool) -> Table:
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
    return Table(("NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"), rows)


def of_pods(items: Sequence[Any], by: str, *, namespace: bool, containers: bool, total: bool) -> Table:
    """A row for each pod or container, and the sum."""
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
    return Table((*titles, "NAME", "CPU(cores)", "MEMORY(bytes)"), rows)


def _sum(parts: Sequence[Any]) -> dict[str, str]:
    used = {"cpu": "0", "memory": "0"}
    for part in parts:
        used = {key: quantity.add(used[key], part["usage"].get(key, "0")) for key in used}
    return used


def _order(usage: Any, by: str) -> int:
    """The sort key: the largest first, or nothing without a wish."""
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
