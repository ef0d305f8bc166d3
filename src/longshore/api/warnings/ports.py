"""Warnings about ports of a pod's containers that are duplicate or ambiguous."""

from __future__ import annotations

from longshore.api import field
from longshore.api.types import Obj


def warnings(containers: list[tuple[str, Obj]]) -> list[str]:
    """`containers` are (path, container), init containers first."""
    listed = [
        (f"{path}.ports[{i}]", port, container, path)
        for path, container in containers
        for i, port in enumerate(container.get("ports") or ())
    ]
    found: list[str] = []
    known: dict[tuple[int, str], list[tuple[str, Obj]]] = {}
    for path, port, _, _ in listed:
        host, address = port.get("hostPort") or 0, port.get("hostIP") or ""
        if address and not host:
            found.append(f"{path}: hostIP set without hostPort: {_shown(port)}")
        others = known.setdefault((port.get("containerPort") or 0, port.get("protocol") or ""), [])
        for other_path, other in others:
            if word := _clash(host, address, other.get("hostPort") or 0, other.get("hostIP") or ""):
                found.append(f"{path}: {word} port definition with {other_path}")
        others.append((path, port))
    return found + _names(listed)


def _clash(host: int, address: str, other_host: int, other_address: str) -> str:
    if host == other_host and address == other_address:
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    if host == other_host and bool(address) != bool(other_address):
        return "dangerously ambiguous"
    return ""


def _names(listed: list[tuple[str, Obj, Obj, str]]) -> list[str]:
    """Names must be unique within a container; across containers the first one wins."""
    found = []
    first: dict[str, str] = {}
    for path, port, container, owner in listed:
        name = port.get("name")
        # Init containers are over when somebody looks for a port, unless they are sidecars.
        if not name or (".initContainers[" in owner and container.get("restartPolicy") != "Always"):
            continue
        if name in first:
            other = first[name]
            found.append(
                f"{path}: duplicate port name {field.quoted(name)} with {other}, services and probes that "
                f"select ports by name will use {other}"
            )
        else:
            first[name] = path
    return found


def _shown(port: Obj) -> str:
    """A port as Go prints the structure."""
    keys = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    empty = {"hostPort": 0, "containerPort": 0}
    parts = (f"{key[:1].upper()}{key[1:]}:{port.get(key) or empty.get(key, '')}" for key in keys)
    return "{" + " ".join(parts) + "}"
