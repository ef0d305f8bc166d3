"""Admission of Pods: sets priority, service account and queue gate, and tolerations for nodes in trouble."""

from __future__ import annotations

from typing import Final

from longshore.api import field
from longshore.api.facts import account_volume, queue_gate, taints
from longshore.api.types import Obj
from longshore.apiserver.admission import runtimeclass
from longshore.apiserver.admission.lookup import Get, List, forbidden_pod

_GANG_SCHEDULER: Final = "volcano"
_ACCOUNTS: Final = "serviceaccounts"
_DEFAULT_ACCOUNT: Final = "default"
_CLASSES: Final = "scheduling.k8s.io/priorityclasses"
_NO_CLASS: Final[Obj] = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
_STAY_SECONDS: Final = 300
_TROUBLES: Final = (taints.NOT_READY, taints.UNREACHABLE)


def admit_create(pod: Obj, get: Get, every: List) -> None:
    """Sets what the cluster decides for a new Pod, or raises a 403."""
    spec = pod.setdefault("spec", {})
    _wait_for_queue(pod, spec)
    _set_account(pod, spec, get)
    _set_priority(pod, spec, get, every)
    add_tolerations(spec)
    runtimeclass.set_class(pod, spec, get)


def admit_update(new: Obj, old: Obj) -> None:
    """Restores priority and preemptionPolicy if the client left them out; adds default tolerations."""
    spec, before = new.setdefault("spec", {}), old.get("spec") or {}
    for key in ("priority", "preemptionPolicy"):
        if spec.get(key) is None and before.get(key) is not None:
            spec[key] = before[key]
    add_tolerations(spec)


def _set_priority(pod: Obj, spec: Obj, get: Get, every: List) -> None:
    name = spec.get("priorityClassName")
    if name:
        chosen = get(_CLASSES, "", name)
        if chosen is None:
            raise forbidden_pod(pod, f"no PriorityClass with name {name} was found")
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
            raise forbidden_pod(
                pod,
                f"{words} ({asked}) must not be provided in pod spec; priority admission controller computed "
                f"{computed} from the given PriorityClass name",
            )
        if computed is not None:
            spec[key] = computed


def _set_account(pod: Obj, spec: Obj, get: Get) -> None:
    """A pod that names no account runs as `default`; a pod that names a missing account is refused. In a
    namespace without `default`, upstream refuses every pod; longshore accepts it, since the controller that
    creates accounts may be turned off."""
    namespace, named = pod["metadata"].get("namespace", ""), spec.get("serviceAccountName")
    if get(_ACCOUNTS, namespace, _DEFAULT_ACCOUNT) is None:
        return
    if not named:
        named = spec["serviceAccountName"] = spec["serviceAccount"] = _DEFAULT_ACCOUNT
    account = get(_ACCOUNTS, namespace, named)
    if account is None:
        missing = f"serviceaccount {field.quoted(named)} not found"
        raise forbidden_pod(pod, f"error looking up service account {namespace}/{named}: {missing}")
    if account_volume.is_wanted(spec, account):
        account_volume.add(spec, f"{namespace}/{named}")


def _wait_for_queue(pod: Obj, spec: Obj) -> None:
    """Adds a scheduling gate, until the queue has room, to a pod of Volcano's scheduler that asks for it."""
    gates = spec.get("schedulingGates") or []
    if spec.get("schedulerName") != _GANG_SCHEDULER or not queue_gate.is_asked_for(pod):
        return
    if not any(gate.get("name") == queue_gate.KEY for gate in gates):
        spec["schedulingGates"] = [*gates, {"name": queue_gate.KEY}]


def add_tolerations(spec: Obj) -> None:
    """Adds tolerations, with which a pod stays five minutes on a node that is not ready or unreachable."""
    listed = spec.get("tolerations") or []
    missing = [key for key in _TROUBLES if not any(_tolerates(t, key) for t in listed)]
    if missing:
        spec["tolerations"] = [*listed, *(_toleration(key) for key in missing)]


def _tolerates(toleration: Obj, key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def _toleration(key: str) -> Obj:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _STAY_SECONDS}
