"""The name of a longshore's node, kept in its data directory.

Pods are bound to a node by its name, so the node keeps it when the machine is renamed, and when a backup is
restored on another machine. Only `longshore up --node-name` changes it; the node of the old name is deleted
then, and pod garbage collection ends its pods.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from longshore.api import errors, names
from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.client import Client
from longshore.node.registration import VERSION_SUFFIX
from longshore.store.reader import Reader, read_only
from longshore.up import files, machine

FILE: Final = "node-name"
_FORMER_NODE: Final = (
    "node %s is this machine under a former name: it is silent, and its pods leave it; "
    "delete it with: kubectl delete node %s"
)

log = logging.getLogger(__name__)


def kept(directory: Path) -> str:
    """The name in a data directory; empty if there is none, or none that is valid for a node."""
    try:
        found = (directory / FILE).read_text().strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    return "" if names.dns1123_subdomain(found) else found


def keep(directory: Path, name: str) -> None:
    files.write_private(directory / FILE, f"{name}\n".encode())


async def settle(client: Client, directory: Path, wanted: str) -> str:
    """Chooses the node's name from now on: the wanted one, else the one it had."""
    before = kept(directory)
    nodes = (await client.list(kinds.NODES)).items
    name = wanted or before or _registered(nodes) or machine.name()
    if before and name != before:
        with errors.tolerated(404):
            await client.delete(kinds.NODES, before)
        log.warning("the node is called %s now; node %s is deleted, and its pods end", name, before)
    if name != before:
        keep(directory, name)
    if name != machine.name() and not wanted:
        log.info("this machine is called %s; its node keeps the name %s", machine.name(), name)
    return name


def pods_by_node(journal: Path) -> dict[str, int]:
    """The nodes in a journal that no longshore uses, each with the number of its pods that have not ended."""
    nodes: set[str] = set()
    places: dict[tuple[str, str], str] = {}
    with closing(read_only(journal)) as db:
        for row in Reader(db, journal).rows():
            if row.storage == "nodes":
                nodes.discard(row.name) if row.deleted else nodes.add(row.name)
            elif row.storage == "pods":
                key = row.namespace, row.name
                pod = _Pod() if row.deleted else _PODS.decode(row.value)
                places.pop(key, None)
                if pod.spec.nodeName and pod.status.phase not in pod_state.ENDED:
                    places[key] = pod.spec.nodeName
    counts = Counter(places.values())
    return {name: counts[name] for name in nodes}


class _Spec(msgspec.Struct):
    nodeName: str = ""


class _Status(msgspec.Struct):
    phase: str = ""


class _Pod(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_PODS: Final = msgspec.json.Decoder(_Pod)


def _registered(nodes: list[Obj]) -> str:
    """The node's name in a journal from before this file existed: the machine's name if a node has it, else
    the name of the only node."""
    own = [node["metadata"]["name"] for node in nodes if is_own(node)]
    if machine.name() in own:
        for name in own:
            if name != machine.name():
                log.warning(_FORMER_NODE, name, name)
        return machine.name()
    return own[0] if len(own) == 1 else ""


def is_own(node: Obj) -> bool:
    """Whether a longshore registered the node."""
    info = (node.get("status") or {}).get("nodeInfo") or {}
    return str(info.get("kubeletVersion", "")).endswith(VERSION_SUFFIX)
