"""Containers of a pod or of a pod template: their command, state and environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from longshore.api import quantity
from longshore.api.types import Obj
from longshore.cli.describing.description_lines import NONE, Lines, when

_PROBES: Final = (("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe"))


def describe(
    lines: Lines,
    title: str,
    containers: Sequence[Obj],
    statuses: Sequence[Obj] | None = None,
    *,
    template: bool = False,
    pod: Obj | None = None,
) -> None:
    """Adds the lines for containers. `template` containers are indented one step further and have no state;
    `pod` fills in field references."""
    space = "  " if template else ""
    if not containers:
        lines.add(0, f"{space}{title}:\t{NONE}")
        return
    lines.add(0, f"{space}{title}:")
    known = {status["name"]: status for status in statuses or ()}
    for container in containers:
        lines.add(1, f"{' ' if template else ''}{container['name']}:")
        status = known.get(container["name"])
        _basics(lines, container, status)
        for key in ("command", "args"):
            if container.get(key):
                lines.add(2, f"{key.capitalize()}:")
                for word in container[key]:
                    for line in word.split("\n"):
                        lines.add(3, line)
        if status is not None:
            _state(lines, "State", status.get("state") or {})
            if (status.get("lastState") or {}).get("terminated"):
                _state(lines, "Last State", status["lastState"])
            lines.pair(2, "Ready", "True" if status.get("ready") else "False")
            lines.pair(2, "Restart Count", status.get("restartCount", 0))
        for key in ("limits", "requests"):
            amounts: Mapping[str, str] = (container.get("resources") or {}).get(key) or {}
            if amounts:
                lines.add(2, f"{key.capitalize()}:")
                for name, amount in sorted(amounts.items()):
                    lines.pair(3, name, amount)
        for word, key in _PROBES:
            if container.get(key):
                lines.pair(2, word, _probe(container[key]))
        _environment(lines, container, pod)
        _mounts(lines, container.get("volumeMounts") or ())


def _basics(lines: Lines, container: Obj, status: Obj | None) -> None:
    if status is not None:
        lines.pair(2, "Container ID", status.get("containerID", ""))
    lines.pair(2, "Image", container.get("image", ""))
    if status is not None:
        lines.pair(2, "Image ID", status.get("imageID", ""))
    ports = container.get("ports") or ()
    many = "s" if len(ports) > 1 else ""
    inside = ", ".join(_port(port, port["containerPort"]) for port in ports)
    outside = ", ".join(_port(port, port.get("hostPort", 0)) for port in ports)
    lines.pair(2, f"Port{many}", inside or NONE)
    lines.pair(2, f"Host Port{many}", outside or NONE)


def _port(port: Obj, number: int) -> str:
    return f"{number}/{port.get('protocol', 'TCP')}" + (f" ({port['name']})" if port.get("name") else "")


def _state(lines: Lines, title: str, state: Obj) -> None:
    if running := state.get("running"):
        lines.pair(2, title, "Running")
        lines.pair(3, "Started", when(running.get("startedAt")))
        return
    ended = state.get("terminated")
    if ended is None:
        waiting = state.get("waiting") or {}
        lines.pair(2, title, "Waiting")
        if waiting.get("reason"):
            lines.pair(3, "Reason", waiting["reason"])
        return
    lines.pair(2, title, "Terminated")
    for key, word in (("reason", "Reason"), ("message", "Message")):
        if ended.get(key):
            lines.pair(3, word, ended[key])
    lines.pair(3, "Exit Code", ended.get("exitCode", 0))
    if ended.get("signal"):
        lines.pair(3, "Signal", ended["signal"])
    lines.pair(3, "Started", when(ended.get("startedAt")))
    lines.pair(3, "Finished", when(ended.get("finishedAt")))


def _probe(probe: Obj) -> str:
    often = (
        f"delay={probe.get('initialDelaySeconds', 0)}s timeout={probe.get('timeoutSeconds', 1)}s "
        f"period={probe.get('periodSeconds', 10)}s #success={probe.get('successThreshold', 1)} "
        f"#failure={probe.get('failureThreshold', 3)}"
    )
    if "exec" in probe:
        return f"exec [{' '.join(probe['exec'].get('command') or ())}] {often}"
    if "httpGet" in probe:
        http = probe["httpGet"]
        scheme = http.get("scheme", "HTTP").lower()
        return f"http-get {scheme}://{http.get('host', '')}:{http['port']}{http.get('path', '')} {often}"
    if "tcpSocket" in probe:
        return f"tcp-socket {probe['tcpSocket'].get('host', '')}:{probe['tcpSocket']['port']} {often}"
    if "grpc" in probe:
        return f"grpc <pod>:{probe['grpc']['port']} {probe['grpc'].get('service', '')} {often}"
    return f"unknown {often}"


def _environment(lines: Lines, container: Obj, pod: Obj | None) -> None:
    if container.get("envFrom"):
        lines.add(2, "Environment Variables from:")
        for each in container["envFrom"]:
            source = "ConfigMap" if "configMapRef" in each else "Secret"
            ref = each.get("configMapRef") or each.get("secretRef") or {}
            prefix = f" with prefix '{each['prefix']}'" if each.get("prefix") else ""
            lines.add(3, f"{ref.get('name', '')}\t{source}{prefix}\tOptional: {_bool(ref.get('optional'))}")
    variables = container.get("env") or ()
    if not variables:
        lines.pair(2, "Environment", NONE)
        return
    lines.add(2, "Environment:")
    for variable in variables:
        first, *more = _value(variable, container, pod).split("\n")
        lines.pair(3, variable["name"], first)
        for line in more:
            lines.add(3, f"\t{line}")


def _value(variable: Obj, container: Obj, pod: Obj | None) -> str:
    source = variable.get("valueFrom")
    if source is None:
        return str(variable.get("value", ""))
    if ref := source.get("fieldRef"):
        return f"{_field(ref['fieldPath'], pod)} ({ref.get('apiVersion', 'v1')}:{ref['fieldPath']})"
    if ref := source.get("resourceFieldRef"):
        return f"{_amount(ref, container)} ({ref['resource']})"
    if ref := source.get("secretKeyRef"):
        return (
            f"<set to the key '{ref['key']}' in secret '{ref.get('name', '')}'>\t"
            f"Optional: {_bool(ref.get('optional'))}"
        )
    ref = source.get("configMapKeyRef") or {}
    return (
        f"<set to the key '{ref.get('key')}' of config map '{ref.get('name', '')}'>\t"
        f"Optional: {_bool(ref.get('optional'))}"
    )


def _amount(ref: Obj, container: Obj) -> str:
    """The amount a container requests, in the reference's unit; empty if only the node knows it."""
    which, _, resource = ref["resource"].partition(".")
    amount = ((container.get("resources") or {}).get(which) or {}).get(resource)
    if amount is None or ref.get("containerName", container["name"]) != container["name"]:
        return ""
    unit = ref.get("divisor", "1")
    whole = quantity.milli_value(unit if not quantity.is_zero(unit) else "1")
    return str(-(-quantity.milli_value(amount) // whole))


def _field(path: str, pod: Obj | None) -> str:
    """The value of a field reference, as far as the pod has it."""
    here: object = pod
    start = path.partition("[")[0]
    for step in start.split("."):
        here = here.get(step) if isinstance(here, dict) else None
    if isinstance(here, dict) and "['" in path:
        return str(here.get(path.partition("['")[2].rstrip("']"), ""))
    return here if isinstance(here, str) else ""


def _mounts(lines: Lines, mounts: Sequence[Obj]) -> None:
    if not mounts:
        lines.pair(2, "Mounts", NONE)
        return
    lines.add(2, "Mounts:")
    for mount in sorted(mounts, key=lambda mount: mount["mountPath"]):
        flags = "ro" if mount.get("readOnly") else "rw"
        if mount.get("subPath"):
            flags += f',path="{mount["subPath"]}"'
        lines.add(3, f"{mount['mountPath']} from {mount['name']} ({flags})")


def _bool(value: object) -> str:
    return "true" if value else "false"
