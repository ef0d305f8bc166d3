"""A container's variables: envFrom, then env in order, then those of Services that nothing overrides.

Each value may refer to variables before it and to those of Services. Raises CannotPrepare in the kubelet's
words when something needed is missing; the container then waits as CreateContainerConfigError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from longshore.api.types import Obj
from longshore.node.preparing.environment import downward
from longshore.node.preparing.environment.expansion import expand, from_maps
from longshore.node.preparing.environment.sources import Kind, Missing, Ref
from longshore.node.preparing.types import CannotPrepare, NodeFacts

if TYPE_CHECKING:
    from longshore.node.preparing.environment.sources import Sources


def resolve(
    spec: Obj,
    pod: Obj,
    sources: Sources | None,
    node: NodeFacts,
    pod_ip: str,
    services: Mapping[str, str],
) -> dict[str, str]:
    """All variables of the container `spec`, those of the Services last."""
    values: dict[str, str] = {}
    try:
        for source in spec.get("envFrom") or ():
            _take_all(values, source, sources)
        value_of = from_maps(values, services)
        for variable in spec.get("env") or ():
            if value := variable.get("value"):
                values[variable["name"]] = expand(value, value_of)
            elif source := variable.get("valueFrom"):
                found = _value(source, spec, pod, sources, node, pod_ip)
                if found is not None:
                    values[variable["name"]] = found
            else:
                values[variable["name"]] = ""
    except (Missing, downward.NoSuchField) as err:
        raise CannotPrepare("CreateContainerConfigError", str(err)) from None
    for name, value in services.items():
        values.setdefault(name, value)
    for name, value in values.items():
        if "\0" in value:
            message = f'variable "{name}" holds a zero byte, which no variable can'
            raise CannotPrepare("CreateContainerConfigError", message)
    return values


def expand_all(texts: list[str] | None, value_of: Callable[[str], str]) -> tuple[str, ...]:
    """A command or its arguments with the variables in place."""
    return tuple([expand(text, value_of) for text in texts]) if texts else ()


def _take_all(values: dict[str, str], source: Obj, sources: Sources | None) -> None:
    assert sources is not None  # sources.of_environment has found the same reference
    prefix = source.get("prefix") or ""
    named: tuple[tuple[Kind, str], ...] = (("configmap", "configMapRef"), ("secret", "secretRef"))
    for kind, key in named:
        if (ref := source.get(key)) is not None:
            found = sources.texts(Ref(kind, ref.get("name") or ""), optional=bool(ref.get("optional")))
            for name, value in (found or {}).items():
                values[prefix + name] = value


def _value(
    source: Obj, spec: Obj, pod: Obj, sources: Sources | None, node: NodeFacts, pod_ip: str
) -> str | None:
    """The value of a `valueFrom`; None leaves the variable undefined."""
    if ref := source.get("fieldRef"):
        return downward.field_value(pod, ref["fieldPath"], node, pod_ip)
    if ref := source.get("resourceFieldRef"):
        return downward.resource_value(ref, pod, spec, node)
    if ref := source.get("configMapKeyRef"):
        return _key(Ref("configmap", ref.get("name") or ""), "ConfigMap", ref, sources)
    if ref := source.get("secretKeyRef"):
        return _key(Ref("secret", ref.get("name") or ""), "Secret", ref, sources)
    raise downward.NoSuchField(f"longshore cannot take a variable from {', '.join(source) or 'nothing'}")


def _key(named: Ref, kind: str, ref: Obj, sources: Sources | None) -> str | None:
    assert sources is not None  # sources.of_environment has found the same reference
    optional = bool(ref.get("optional"))
    found = sources.texts(named, optional=optional)
    if found is None:
        return None
    value = found.get(ref["key"])
    if value is None and not optional:
        raise Missing(f"couldn't find key {ref['key']} in {kind} {sources.namespace}/{named.name}")
    return value
