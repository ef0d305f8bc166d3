"""Container ports: their names and numbers, and host ports that must not clash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from longshore.api import field, identifiers
from longshore.api.field import FieldError
from longshore.api.types import Obj

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def validate_ports(ports: Sequence[Obj], path: str, found: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, port in enumerate(ports):
        if name := port.get("name"):
            problems = identifiers.port_name(name)
            if problems:
                found += [field.invalid(f"{path}[{i}].name", name, text) for text in problems]
            elif name in seen:
                found.append(field.duplicate(f"{path}[{i}].name", name))
            else:
                seen.add(name)
        number = port.get("containerPort") or 0
        if number == 0:
            found.append(field.required(f"{path}[{i}].containerPort"))
        elif not 1 <= number <= 65535:
            found += [
                field.invalid(f"{path}[{i}].containerPort", number, t)
                for t in identifiers.port_number(number)
            ]
        if host := port.get("hostPort"):
            found += [field.invalid(f"{path}[{i}].hostPort", host, t) for t in identifiers.port_number(host)]
        protocol = port.get("protocol") or ""
        if not protocol:
            found.append(field.required(f"{path}[{i}].protocol"))
        elif protocol not in PROTOCOLS:
            found.append(field.not_supported(f"{path}[{i}].protocol", protocol, PROTOCOLS))


def validate_host_ports(containers: Iterable[tuple[str, Obj]], found: list[FieldError]) -> None:
    """No two of these containers (path, container) may want the same host port."""
    taken: set[str] = set()
    for path, container in containers:
        for i, port in enumerate(container.get("ports") or ()):
            if number := port.get("hostPort"):
                key = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{number}"
                if key in taken:
                    found.append(field.duplicate(f"{path}.ports[{i}].hostPort", key))
                taken.add(key)


def validate_host_network(spec: Obj, path: str, found: list[FieldError], *, is_pod: bool) -> None:
    """On the host's network a port is the host's port. Templates may leave the host port open."""
    if not spec.get("hostNetwork"):
        return
    for c, container in enumerate(spec.get("containers") or ()):
        for i, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (is_pod or host) and host != (port.get("containerPort") or 0):
                found.append(
                    field.invalid(
                        f"{path}.containers[{c}].ports[{i}].hostPort",
                        host,
                        "must match `containerPort` when `hostNetwork` is true",
                    )
                )
