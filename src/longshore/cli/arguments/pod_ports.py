"""Ports of pods that people type: `8080`, `8080:80`, `:80`, `8443:https`; a service's ports are its pods'."""

from __future__ import annotations

from typing import NamedTuple

from longshore.api.types import Obj
from longshore.cli.arguments import kinds, targets
from longshore.cli.main import Said
from longshore.cli.server.requests import Server


class Pair(NamedTuple):
    """A port here, 0 for any free one, and the pod's port."""

    local: int
    remote: int


def service(server: Server, word: str) -> Obj | None:
    """The Service that a word names; None when it names another kind."""
    if word.partition("/")[0] not in ("svc", "service", "services"):
        return None
    (target,) = targets.parse(kinds.discover(server), [word], server.namespace)
    return server.json("GET", target.path)


def pair(text: str, pod: Obj, service: Obj | None = None) -> Pair:
    """The ports that `[LOCAL:]REMOTE` stands for."""
    first, colon, second = text.partition(":")
    remote = second if colon else first
    if ":" in remote or not remote:
        raise Said(f"error: invalid port format '{text}'", 2)
    asked = _of_service(service, remote) if service is not None else remote
    found = _of_pod(pod, asked)
    if not colon:
        return Pair(_number(first) if first.isdigit() else found, found)
    return Pair(_number(first) if first else 0, found)


def _of_service(service: Obj, remote: str) -> str:
    """The target of a service's port, which may be the name of a pod's port."""
    name = service["metadata"]["name"]
    for port in service["spec"].get("ports") or ():
        if remote in (str(port["port"]), port.get("name")):
            if service["spec"].get("clusterIP") == "None":
                return str(port["port"])
            return str(port.get("targetPort") or port["port"])
    if remote.isdigit():
        raise Said(f"error: Service {name} does not have a service port {remote}")
    raise Said(f"error: Service '{name}' does not have a named port '{remote}'")


def _of_pod(pod: Obj, remote: str) -> int:
    if remote.isdigit():
        return _number(remote)
    spec = pod["spec"]
    for container in [*spec["containers"], *(spec.get("initContainers") or ())]:
        for port in container.get("ports") or ():
            if port.get("name") == remote:
                return int(port["containerPort"])
    raise Said(f"error: Pod '{pod['metadata']['name']}' does not have a named port '{remote}'")


def _number(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise Said(f"error: '{text}' is not a port: a whole number from 1 to 65535", 2)
    return int(text)
