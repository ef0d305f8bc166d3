"""Probes and lifecycle hooks: exactly one handler each, with sensible numbers."""

from __future__ import annotations

from typing import Any, Final

from longshore.api import field, identifiers
from longshore.api.field import FieldError
from longshore.api.types import Obj

_SCHEMES: Final = ("HTTP", "HTTPS")
_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")


def validate_probes(container: Obj, grace: int | None, path: str, found: list[FieldError]) -> None:
    """All probes of a container. `grace` is the pod's terminationGracePeriodSeconds."""
    if (probe := container.get("livenessProbe")) is not None:
        _probe(probe, grace, f"{path}.livenessProbe", found)
        _once(probe, f"{path}.livenessProbe", found)
    if (probe := container.get("readinessProbe")) is not None:
        _probe(probe, grace, f"{path}.readinessProbe", found)
        if (own := probe.get("terminationGracePeriodSeconds")) is not None:
            text = "must not be set for readinessProbes"
            found.append(field.invalid(f"{path}.readinessProbe.terminationGracePeriodSeconds", own, text))
    if (probe := container.get("startupProbe")) is not None:
        _probe(probe, grace, f"{path}.startupProbe", found)
        _once(probe, f"{path}.startupProbe", found)


def _once(probe: Obj, path: str, found: list[FieldError]) -> None:
    """Checks that a probe whose failure restarts the container needs just one success."""
    threshold = probe.get("successThreshold") or 0
    if threshold != 1:
        found.append(field.invalid(f"{path}.successThreshold", threshold, "must be 1"))


def _probe(probe: Obj, grace: int | None, path: str, found: list[FieldError]) -> None:
    _handler(probe, _PROBE_HANDLERS, grace, path, found)
    found += field.negative(probe, path, *_NUMBERS)
    own = probe.get("terminationGracePeriodSeconds")
    if own is not None and own <= 0:
        found.append(field.invalid(f"{path}.terminationGracePeriodSeconds", own, "must be greater than 0"))


def validate_lifecycle(lifecycle: Obj, grace: int | None, path: str, found: list[FieldError]) -> None:
    for hook in ("postStart", "preStop"):
        if (handler := lifecycle.get(hook)) is not None:
            _handler(handler, _HOOK_HANDLERS, grace, f"{path}.{hook}", found)


def _handler(
    holder: Obj, kinds: tuple[str, ...], grace: int | None, path: str, found: list[FieldError]
) -> None:
    seen = False
    for kind in kinds:
        action = holder.get(kind)
        if action is None:
            continue
        if seen:
            found.append(field.forbidden(f"{path}.{kind}", "may not specify more than 1 handler type"))
        else:
            seen = True
            _action(kind, action, grace, f"{path}.{kind}", found)
    if not seen:
        found.append(field.required(path, "must specify a handler type"))


def _action(kind: str, action: Obj, grace: int | None, path: str, found: list[FieldError]) -> None:
    if kind == "exec":
        found += field.missing(action, path, "command")
    elif kind == "httpGet":
        found += field.missing(action, path, "path")
        validate_port(action.get("port", 0), f"{path}.port", found)
        scheme = action.get("scheme") or ""
        found += field.one_of(f"{path}.scheme", scheme, _SCHEMES)
        for header in action.get("httpHeaders") or ():
            name = header.get("name") or ""
            found += field.each(f"{path}.httpHeaders", name, identifiers.http_header_name(name))
    elif kind == "sleep":
        seconds = action.get("seconds") or 0
        if grace is not None and not 0 <= seconds <= grace:
            text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            found.append(field.invalid(path, seconds, text))
    else:
        validate_port(action.get("port", 0), f"{path}.port", found)


def validate_port(port: Any, path: str, found: list[FieldError]) -> None:
    """Checks a port, given as its number or as a name from a container."""
    problems = identifiers.port_name(port) if isinstance(port, str) else identifiers.port_number(port)
    found += [field.invalid(path, port, text) for text in problems]
