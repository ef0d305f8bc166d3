"""The node's facts of a pod's spec, looked up once. The spec of a bound pod hardly ever changes.

Facts are never changed. They are not `frozen`, because frozen ones take ten times as long to make.
"""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.api.facts import own_names
from longshore.api.time import durations
from longshore.api.types import Obj
from longshore.api.validation.pod.status import should_restart

_PROBES: Final = ("startupProbe", "livenessProbe", "readinessProbe")


class ContainerFacts(msgspec.Struct):
    """One container of the spec."""

    name: str
    spec: Obj
    path: str
    """The place in the spec, as events name it: `spec.containers{main}`."""
    is_init: bool = False
    is_sidecar: bool = False
    """Whether it is an init container that keeps running beside the others."""
    is_ephemeral: bool = False
    """Whether `kubectl debug` added it: it is never restarted, and has no part in the pod's outcome."""
    has_probes: bool = False
    has_startup: bool = False
    has_readiness: bool = False
    post_start: Obj | None = None
    pre_stop: Obj | None = None


class Facts(msgspec.Struct):
    """One pod."""

    uid: str
    namespace: str
    name: str
    spec: Obj
    inits: tuple[ContainerFacts, ...]
    """Init containers and sidecars in their order."""
    mains: tuple[ContainerFacts, ...]
    ephemerals: tuple[ContainerFacts, ...]
    grace: float
    deadline: float | None
    """activeDeadlineSeconds: how long the pod may be active after its start."""
    fail_unstartable: float | None
    plain: bool
    """Whether the pod has no init containers, hooks and probes, as 95 of 100 pods."""

    @property
    def title(self) -> str:
        """`name_namespace(uid)`, as upstream's messages have it."""
        return f"{self.name}_{self.namespace}({self.uid})"


def facts_of(pod: Obj) -> Facts:
    meta, spec = pod["metadata"], pod["spec"]
    mains = tuple(_container(c, "containers") for c in spec["containers"])
    found = spec.get("initContainers")
    inits = tuple(_container(c, "initContainers") for c in found) if found else ()
    plain = not inits and not any(c.has_probes or c.post_start or c.pre_stop for c in mains)
    annotations = meta.get("annotations")
    patience = annotations.get(own_names.FAIL_UNSTARTABLE_AFTER) if annotations else None
    return Facts(
        uid=meta["uid"],
        namespace=meta["namespace"],
        name=meta["name"],
        spec=spec,
        inits=inits,
        mains=mains,
        ephemerals=_ephemerals(spec),
        grace=float(spec.get("terminationGracePeriodSeconds", 30)),
        deadline=spec.get("activeDeadlineSeconds"),
        fail_unstartable=_seconds(patience) if patience else None,
        plain=plain,
    )


def _container(spec: Obj, part: str) -> ContainerFacts:
    name = spec["name"]
    is_init = part == "initContainers"
    lifecycle = spec.get("lifecycle")
    has_probes = "livenessProbe" in spec or "readinessProbe" in spec or "startupProbe" in spec
    if not lifecycle and not has_probes and not is_init:
        return ContainerFacts(name, spec, f"spec.containers{{{name}}}")
    lifecycle = lifecycle or {}
    return ContainerFacts(
        name=name,
        spec=spec,
        path=f"spec.{part}{{{name}}}",
        is_init=is_init,
        is_sidecar=is_init and spec.get("restartPolicy") == "Always",
        has_probes=any(spec.get(key) for key in _PROBES),
        has_startup=bool(spec.get("startupProbe")),
        has_readiness=bool(spec.get("readinessProbe")),
        post_start=lifecycle.get("postStart"),
        pre_stop=lifecycle.get("preStop"),
    )


def _ephemerals(spec: Obj) -> tuple[ContainerFacts, ...]:
    found = spec.get("ephemeralContainers")
    if not found:
        return ()
    return tuple(
        ContainerFacts(c["name"], c, f"spec.ephemeralContainers{{{c['name']}}}", is_ephemeral=True)
        for c in found
    )


def restarts(facts: Facts, container: ContainerFacts, code: int) -> bool:
    """Whether a container that ended with this code runs again."""
    if container.is_sidecar:
        return True
    if container.is_ephemeral:
        return False
    spec = facts.spec
    if container.is_init and "restartPolicy" not in container.spec:
        return code != 0 and spec.get("restartPolicy") != "Never"
    if "restartPolicy" not in container.spec:
        policy = spec.get("restartPolicy")
        return policy == "Always" or policy is None or (policy == "OnFailure" and code != 0)
    if container.is_init and code == 0:
        return False
    return should_restart(container.spec, spec, code)


def _seconds(text: str) -> float | None:
    """`30s`, `2m`, or plain seconds; None for any other text, as if there were no annotation."""
    try:
        return float(text) if text.isdecimal() else durations.parse(text) / 1e9
    except ValueError:
        return None
