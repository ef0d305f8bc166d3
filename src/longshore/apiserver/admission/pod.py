"""Admission of Pods: adds their priority, and how long they stay on a node in trouble."""

from __future__ import annotations

from typing import Final

from longshore.api import errors, reads
from longshore.api.facts import queue_gate
from longshore.api.types import Obj
from longshore.apiserver.admission import runtimeclass, scheduling_group
from longshore.apiserver.admission.lookup import Get, List, shown_name

_GANG_SCHEDULER: Final = "volcano"
_ACCOUNTS: Final = "serviceaccounts"
_DEFAULT_ACCOUNT: Final = "default"
_CLASSES: Final = "scheduling.k8s.io/priorityclasses"
_NO_CLASS: Final[Obj] = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
_STAY_SECONDS: Final = 300
_TROUBLES: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def admit_create(pod: Obj, get: Get, every: List) -> None:
    """Sets priority and tolerations of a new Pod, or raises a 403."""
    spec = pod.setdefault("spec", {})
    for rule in CREATE_RULES:
        rule(pod, spec, get, every)


def admit_update(new: Obj, old: Obj) -> None:
    """Puts back what admission set at creation and the client may not know of."""
    spec, before = new.setdefault("spec", {}), old.get("spec") or {}
    for key in ("priority", "preemptionPolicy"):
        if spec.get(key) is None and before.get(key) is not None:
            spec[key] = before[key]
    add_tolerations(spec)


def _has_no_default_class(get: Get, every: List, namespace: str) -> bool:
    return not any(found.get("globalDefault") for found in every(_CLASSES, ""))


@reads.reads("cluster", only_with=("priorityClassName",))
@reads.reads("cluster", unless=_has_no_default_class)
def _set_priority(pod: Obj, spec: Obj, get: Get, every: List) -> None:
    name = spec.get("priorityClassName")
    if name:
        chosen = get(_CLASSES, "", name)
        if chosen is None:
            raise _forbidden(pod, f"no PriorityClass with name {name} was found")
    else:
        # Of several defaults, which only a race can make, the lowest counts.
        defaults = [c for c in every(_CLASSES, "") if c.get("globalDefault")]
        chosen = min(defaults, key=lambda c: int(c.get("value") or 0), default=_NO_CLASS)
        if defaults:
            spec["priorityClassName"] = chosen["metadata"]["name"]
    value, policy = chosen.get("value") or 0, chosen.get("preemptionPolicy")
    for key, words, computed in (
        ("priority", "the integer value of priority", value),
        ("preemptionPolicy", "the string value of PreemptionPolicy", policy),
    ):
        asked = spec.get(key)
        if computed is not None and asked not in (None, computed):
            raise _forbidden(
                pod,
                f"{words} ({asked}) must not be provided in pod spec; priority admission controller computed "
                f"{computed} from the given PriorityClass name",
            )
        if computed is not None:
            spec[key] = computed


def _has_its_account(new: reads.New) -> bool:
    """Whether the spec has the account that the rule would give it now."""
    named = new.obj["spec"].get("serviceAccountName")
    if named not in (None, _DEFAULT_ACCOUNT):
        return True
    there = new.get(_ACCOUNTS, new.obj["metadata"].get("namespace", ""), _DEFAULT_ACCOUNT) is not None
    return there == (named is not None)


@reads.reads("cluster", again=_has_its_account)
def _set_account(pod: Obj, spec: Obj, get: Get, every: List) -> None:
    """A pod that names no account runs as `default`, where its namespace has one. Upstream refuses the pod
    where it has not; here controllers may be turned off, and pods then go without."""
    if spec.get("serviceAccountName"):
        return
    if get(_ACCOUNTS, pod["metadata"].get("namespace", ""), _DEFAULT_ACCOUNT) is not None:
        spec["serviceAccountName"] = spec["serviceAccount"] = _DEFAULT_ACCOUNT


@reads.reads()
def _tolerate_trouble(pod: Obj, spec: Obj, get: Get, every: List) -> None:
    add_tolerations(spec)


@reads.reads(f"metadata.annotations[{queue_gate.KEY}]")
def _wait_for_queue(pod: Obj, spec: Obj, get: Get, every: List) -> None:
    """A pod of Volcano's scheduler that asks for it is gated until its queue has room."""
    gates = spec.get("schedulingGates") or []
    if spec.get("schedulerName") != _GANG_SCHEDULER or not queue_gate.is_asked_for(pod):
        return
    if not any(gate.get("name") == queue_gate.KEY for gate in gates):
        spec["schedulingGates"] = [*gates, {"name": queue_gate.KEY}]


CREATE_RULES: Final = (
    _wait_for_queue,
    _set_account,
    _set_priority,
    _tolerate_trouble,
    runtimeclass.set_class,
    scheduling_group.join,
)


def _forbidden(pod: Obj, why: str) -> errors.StatusError:
    return errors.forbidden("", "pods", shown_name(pod), why)


def add_tolerations(spec: Obj) -> None:
    """Pods leave a node that is not ready or out of reach after five minutes, unless they say otherwise."""
    listed = spec.get("tolerations") or []
    missing = [key for key in _TROUBLES if not any(_tolerates(t, key) for t in listed)]
    if missing:
        spec["tolerations"] = [*listed, *(_toleration(key) for key in missing)]


def _tolerates(toleration: Obj, key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def _toleration(key: str) -> Obj:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _STAY_SECONDS}
