"""Admission in its order: namespace open, limits and pod defaults set, quota charged.

The decisions are pure functions in `apiserver/admission/`; this file asks them at the right moments
and gives them the newest state, staged writes included, so that two creates in one batch cannot
share the last place in a quota.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api import reads
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.admission import limitranger, namespace, pod, priorityclass, quota, storageclass
from longshore.apiserver.request.call import Call
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.store import Staged

_QUOTAS: Final = "resourcequotas"
_LIMITED: Final = frozenset(("pods", "persistentvolumeclaims"))
_CLASSES: Final = "scheduling.k8s.io/priorityclasses"
_VOLCANO: Final = ".volcano.sh"
_VOLCANO_SCHEDULER: Final = "volcano"


class Charged(msgspec.Struct, frozen=True):
    """Quotas whose status changes together with a write."""

    charges: list[quota.Charge]

    def stage(self, api: Api, *, joined: bool = False) -> list[Staged]:
        """Stages the new status of each quota, all in one transaction."""
        if not self.charges:
            return []
        return [_stage_quota(api, charge, joined=joined or i > 0) for i, charge in enumerate(self.charges)]


_NOTHING: Final = Charged([])
_RULES: Final[dict[str, tuple[Callable[..., object], ...]]] = {
    "persistentvolumeclaims": (storageclass.set_default, limitranger.check),
    _CLASSES: (priorityclass.check_only_default,),
    _QUOTAS: (quota.status_of,),
}
"""Rules that only objects of one storage meet."""


def is_open(api: Api, where: str) -> bool:
    """Whether a namespace takes new objects."""
    entry = api.store.latest(Key("namespaces", "", where))
    return entry is not None and namespace.is_open(entry.obj)


def is_free(api: Api, where: str) -> bool:
    """Whether a namespace takes new objects and has no quota to count them."""
    store = api.store
    return is_open(api, where) and (store.is_empty(_QUOTAS) or not store.latest_list(_QUOTAS, where))


def namespace_is_open(api: Api, call: Call, obj: Obj) -> None:
    """Refuses creates in a namespace that is missing or terminating."""
    if not call.resource.namespaced:
        return
    if not is_open(api, call.namespace):
        namespace.check_open(Lookup(api).get, call.resource, call.namespace, obj)  # says why


def mutate_create(api: Api, call: Call, obj: Obj) -> None:
    """Sets what the cluster decides for a new object: limits, priority, tolerations, classes."""
    match call.resource.storage:
        case "pods":
            lookup = Lookup(api)
            if limits := lookup.list(limitranger.STORAGE, call.namespace):
                limitranger.set_defaults(obj, limits)
                call.resource.strategy.default(obj)  # what a pod asks for as a whole follows its containers
            pod.admit_create(obj, lookup.get, lookup.list)
        case "persistentvolumeclaims":
            storageclass.set_default(obj, Lookup(api).list("storage.k8s.io/storageclasses", ""))
        case storage if call.resource.group.endswith(_VOLCANO):
            # Here and below: nobody who has no objects of Volcano's pays for the code that judges them.
            from longshore.apiserver.admission import volcano

            had_spec = "spec" in obj
            volcano.mutate_create(storage, obj, Lookup(api).get)
            if not had_spec:
                call.resource.strategy.default(obj)  # what was not there had no defaults


def mutate_update(call: Call, new: Obj, old: Obj, *, applied: bool) -> None:
    """Puts back what admission set on create and an update may not know of."""
    if call.subresource or new.get("spec") is old.get("spec"):
        return
    if call.resource.storage == "pods":
        pod.admit_update(new, old)
    elif applied and call.resource.group.endswith(_VOLCANO):
        from longshore.apiserver.admission import volcano

        volcano.mutate_applied(call.resource.storage, new)


def rules_of(resource: Resource) -> tuple[Callable[..., object], ...]:
    """The rules of `mutate_create` and `judge_create` about a resource, each of which says what it reads."""
    if resource.storage == "pods":
        return limitranger.set_defaults, *pod.CREATE_RULES, judge_pod_of_volcano, limitranger.check
    if resource.group.endswith(_VOLCANO):
        from longshore.apiserver.admission import volcano

        return volcano.rules_of(resource.storage)
    return _RULES.get(resource.storage, ())


@reads.reads("metadata.annotations[volcano.sh/jdb-*]")
def judge_pod_of_volcano(obj: Obj) -> None:
    if obj["spec"].get("schedulerName") == _VOLCANO_SCHEDULER:
        from longshore.apiserver.admission import volcano

        volcano.validate_pod(obj)


def judge_create(api: Api, call: Call, obj: Obj) -> None:
    """Refuses a valid new object that the cluster does not allow; counts what a new quota counts."""
    resource, lookup = call.resource, Lookup(api)
    storage = resource.storage
    if storage == "pods":
        judge_pod_of_volcano(obj)
    elif resource.group.endswith(_VOLCANO):
        from longshore.apiserver.admission import volcano

        volcano.validate_create(storage, obj, lookup.get, lookup.list)
    elif storage == _CLASSES:
        priorityclass.check_only_default(resource, obj, lookup.list(storage, ""))
    elif storage == _QUOTAS:
        obj["status"] = quota.status_of(obj, lookup.list)
    if storage in _LIMITED and not api.store.is_empty(limitranger.STORAGE):
        limitranger.check(resource, obj, lookup.list(limitranger.STORAGE, call.namespace))


def charge(api: Api, call: Call, obj: Obj) -> Charged:
    """Checks the quotas of an admitted new object; returns what its creation costs."""
    resource = call.resource
    if not resource.namespaced or api.store.is_empty(_QUOTAS):
        return _NOTHING
    lookup = Lookup(api)
    quotas = lookup.list(_QUOTAS, call.namespace)
    return Charged(quota.check_create(resource, obj, quotas, lookup.list)) if quotas else _NOTHING


def charge_update(api: Api, call: Call, new: Obj, old: Obj) -> Charged:
    """Checks limits and quotas of a valid change; returns what it costs."""
    resource, store, lookup = call.resource, api.store, Lookup(api)
    storage = resource.storage
    if not call.subresource and resource.group.endswith(_VOLCANO):
        from longshore.apiserver.admission import volcano

        volcano.validate_update(storage, new, old, lookup.get, lookup.list)
    if storage == _CLASSES:
        priorityclass.check_only_default(resource, new, lookup.list(storage, ""))
    if not resource.namespaced:
        return _NOTHING
    if storage == _QUOTAS and not call.subresource:
        new["status"] = quota.status_of(new, lookup.list)
        return _NOTHING
    if storage in _LIMITED and call.subresource != "status" and not store.is_empty(limitranger.STORAGE):
        limitranger.check(resource, new, lookup.list(limitranger.STORAGE, call.namespace), old)
    if store.is_empty(_QUOTAS):
        return _NOTHING
    quotas = lookup.list(_QUOTAS, call.namespace)
    if not quotas:
        return _NOTHING
    found = quota.check_update(resource, new, old, quotas, lookup.list, subresource=call.subresource)
    return Charged(found)


def check_delete(api: Api, call: Call) -> None:
    """Refuses to delete what Volcano still needs."""
    if call.resource.group.endswith(_VOLCANO):
        from longshore.apiserver.admission import volcano

        volcano.validate_delete(call.resource.storage, call.name, Lookup(api).list)


def release(api: Api, call: Call, obj: Obj, *, joined: bool) -> list[Staged]:
    """Gives back to the quotas what a removed object held, `joined` with the write before."""
    if not call.resource.namespaced or call.resource.storage == _QUOTAS:
        return []
    lookup = Lookup(api)
    quotas = lookup.list(_QUOTAS, call.namespace)
    if not quotas:
        return []
    return Charged(quota.release(call.resource, obj, quotas, lookup.list)).stage(api, joined=joined)


def _stage_quota(api: Api, charge: quota.Charge, *, joined: bool) -> Staged:
    meta = charge.quota["metadata"]
    changed = {**charge.quota, "metadata": dict(meta), "status": charge.status}
    return api.store.stage(Key(_QUOTAS, meta["namespace"], meta["name"]), changed, joined=joined)


class Lookup:
    """The newest state, staged writes included."""

    __slots__ = ("_api",)

    def __init__(self, api: Api) -> None:
        self._api = api

    def get(self, storage: str, namespace: str, name: str) -> Obj | None:
        entry = self._api.store.latest(Key(storage, namespace, name))
        return entry.obj if entry is not None else None

    def list(self, storage: str, namespace: str) -> list[Obj]:
        if self._api.store.is_empty(storage):
            return []
        return [e.obj for e in self._api.store.latest_list(storage, namespace or None)]
