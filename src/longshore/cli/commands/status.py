"""Shows the server, its node, and the numbers of Jobs, CronJobs and pods in each state."""

from __future__ import annotations

import contextlib
import os
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from longshore import __version__
from longshore.api import types
from longshore.api.facts import conditions, pod_state
from longshore.api.time import ages
from longshore.cli.arguments import flags
from longshore.cli.main import Failure
from longshore.cli.printing import columns
from longshore.cli.server import connecting, data_dir

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server


def add_arguments(parser: ArgumentParser) -> None:
    data_dir.add_arguments(parser)
    connecting.add_arguments(parser)
    flags.json_output(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.printing import objects

    directory = data_dir.directory(arguments)
    pid = None
    if arguments.kubeconfig is None and (arguments.data_dir or not os.environ.get("KUBECONFIG")):
        pid = data_dir.holder(directory)
        if pid is None:
            raise Failure(f"no longshore runs on {directory}; start one with: longshore up")
        arguments.kubeconfig = directory / "kubeconfig"
    with connecting.opened(arguments) as server:
        found = _found(server)
    if pid is not None:
        found["process"] = {"pid": pid, "seconds": _seconds(pid), "dataDirectory": str(directory)}
        found["disk"] = _disk(directory)
    print(objects.as_json(found) if arguments.output else _text(found), end="")
    return 0


def _found(server: Server) -> Obj:
    jobs = server.json("GET", "/apis/batch/v1/jobs")["items"]
    cronjobs = server.json("GET", "/apis/batch/v1/cronjobs")["items"]
    pods = server.json("GET", "/api/v1/pods")["items"]
    return {
        "server": server.connection.server,
        "version": server.json("GET", "/version")["gitVersion"],
        "client": __version__,
        "nodes": [_node(node, pods) for node in server.json("GET", "/api/v1/nodes")["items"]],
        "jobs": _counted(_job(job) for job in jobs),
        "cronjobs": _counted("suspended" if one["spec"].get("suspend") else "scheduled" for one in cronjobs),
        "pods": _counted((pod.get("status") or {}).get("phase", "Unknown").lower() for pod in pods),
        **_kept(server),
    }


def _kept(server: Server) -> Obj:
    """How much finished work the server keeps; empty if it is not longshore, or refuses to say."""
    from longshore.up import own_pages

    answer = server.request("GET", own_pages.KEPT)
    return {"kept": types.decode(answer.body)} if answer.code == 200 else {}


def _disk(directory: Path) -> dict[str, int]:
    """Bytes of the parts of a data directory that grow."""
    parts = {"journal": "journal.db*", "logs": "node/logs", "archive": "node/archive", "runs": "runs"}
    return {name: sum(_size(path) for path in directory.glob(pattern)) for name, pattern in parts.items()}


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else (path,)
    total = 0
    for file in files:
        with contextlib.suppress(OSError):  # it has just gone
            total += file.lstat().st_size
    return total


def _node(node: Obj, pods: list[Obj]) -> Obj:
    from longshore.api import pod_resources, quantity
    from longshore.node import shortcomings

    name, status = node["metadata"]["name"], node.get("status") or {}
    has, used = status.get("allocatable") or {}, {"cpu": "0", "memory": "0"}
    mine = [pod for pod in pods if pod["spec"].get("nodeName") == name]
    there = [pod for pod in mine if not pod_state.has_ended(pod)]
    for pod in there:
        for resource, amount in pod_resources.pod_requests(pod["spec"]).items():
            if resource in used:
                used[resource] = quantity.add(used[resource], amount)
    ready = conditions.find(node, "Ready") or {"status": "Unknown"}
    return {
        "name": name,
        "ready": ready["status"],
        "lacks": shortcomings.words(node),
        "isolation": shortcomings.isolation(node),
        "runtime": (status.get("nodeInfo") or {}).get("containerRuntimeVersion", ""),
        "pods": len(there),
        "requested": used,
        "allocatable": {resource: has.get(resource, "0") for resource in used},
    }


def _job(job: Obj) -> str:
    from longshore.cli.showing import outcomes

    end = outcomes.of("batch", job)
    if end is not None:
        return "complete" if end.well else "failed"
    return "suspended" if job["spec"].get("suspend") else "running"


def _counted(states: object) -> dict[str, int]:
    return dict(Counter(cast(Iterable[str], states)))


def _text(found: Obj) -> str:
    lines = [f"server\t{found['server']}, Kubernetes {found['version']}"]
    if process := found.get("process"):
        since = ages.human(process["seconds"])
        lines.append(f"process\t{process['pid']}, for {since}, on {process['dataDirectory']}")
    for node in found["nodes"]:
        ready = "ready" if node["ready"] == "True" else "not ready"
        runtime = f", {node['runtime']}" if node["runtime"] else ""
        used = ", ".join(
            f"{resource} {_amount(resource, node['requested'][resource])} of "
            f"{_amount(resource, node['allocatable'][resource])}"
            for resource in ("cpu", "memory")
        )
        lines.append(f"node\t{node['name']}: {ready}{runtime}; {node['pods']} pods ask for {used}")
        if node["isolation"]:
            lines.append(f"walls\tisolation {node['isolation']}")
        if node["lacks"]:
            lines.append(f"machine\t{node['lacks']} (more: longshore doctor)")
    if not found["nodes"]:
        lines.append("node\tnone: pods wait")
    for what in ("jobs", "cronjobs", "pods"):
        states = ", ".join(f"{count} {state}" for state, count in sorted(found[what].items()))
        lines.append(f"{what}\t{states or 'none'}")
    if kept := found.get("kept"):
        lines.append(f"kept\t{_kept_text(kept)}")
    if disk := found.get("disk"):
        lines.append("disk\t" + ", ".join(f"{name} {columns.size(size)}" for name, size in disk.items()))
    return columns.aligned("\n".join(lines) + "\n")


def _kept_text(kept: Obj) -> str:
    """`12 of 20000 events (1h), …`: how many there are, how many are kept at most, and for how long."""
    rows = ("events", "events"), ("history", "ended Jobs"), ("failed", "failed Jobs"), ("reasons", "reasons")
    said = [
        f"{kept[name]['count']} of {kept[name]['limit']} {words} ({ages.human(kept[name]['ageSeconds'])})"
        for name, words in rows
        if name in kept
    ]
    archive = kept["archive"]
    return ", ".join(said) + f", at most {columns.size(archive['limitBytes'])} of failed pods' logs"


def _amount(resource: str, quantity_text: str) -> str:
    """An amount as people write it: `1.2 GiB`, `0.5`."""
    from longshore.api import quantity

    if resource == "cpu":
        return f"{quantity.milli_value(quantity_text) / 1000:g}"
    return columns.size(quantity.value(quantity_text))


def _seconds(pid: int) -> int:
    """The age of a process in seconds."""
    started = int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return round(uptime - started / os.sysconf("SC_CLK_TCK"))
