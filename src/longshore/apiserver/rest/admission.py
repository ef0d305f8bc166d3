"""Admission: a list of rows (`ROWS`), each with its hooks, called in this order; then quotas are charged.

The decisions are pure functions in `apiserver/admission/`. The hooks here give them the newest state, staged
writes included: two creates in one batch cannot share the last place in a quota.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from longshore.api import embedded_pods
from longshore.api.types import Obj
from longshore.apiserver.admission import default_classes, limitranger, namespace, pod, pod_security, quota
from longshore.apiserver.request.call import Call
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.store import Staged

_CLAIMS: Final = "persistentvolumeclaims"
_CLASSES: Final = "scheduling.k8s.io/priorityclasses"
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


def is_open(api: Api, where: str) -> bool:
    """Whether a namespace takes new objects."""
    entry = api.store.latest(Key("namespaces", "", where))
    return entry is not None and namespace.is_open(entry.obj)


def is_free(api: Api, where: str) -> bool:
    """Whether a namespace takes new objects and has no quota to count them."""
    store = api.store
    return is_open(api, where) and (
        store.is_empty(quota.STORAGE) or not store.latest_list(quota.STORAGE, where)
    )


def namespace_is_open(api: Api, call: Call, obj: Obj) -> None:
    """Refuses creates in a namespace that is missing or terminating."""
    if not call.resource.namespaced:
        return
    if not is_open(api, call.namespace):
        namespace.check_open(Lookup(api).get, call.resource, call.namespace, obj)  # says why


def mutate_create(api: Api, call: Call, obj: Obj) -> None:
    """Sets what the cluster decides for a new object: limits, priority, tolerations, classes."""
    for row in rows_of(call.resource.storage):
        if row.mutate_create is not None:
            row.mutate_create(api, call, obj)


def mutate_update(call: Call, new: Obj, old: Obj, *, applied: bool) -> None:
    """Restores fields that admission set on create and an update left out."""
    if call.subresource or new.get("spec") is old.get("spec"):
        return
    for row in rows_of(call.resource.storage):
        if row.mutate_update is not None:
            row.mutate_update(call, new, old, applied)


def judge_create(api: Api, call: Call, obj: Obj) -> None:
    """Refuses a valid new object that the cluster does not allow; computes the status of a new quota."""
    for row in rows_of(call.resource.storage):
        if row.judge_create is not None:
            row.judge_create(api, call, obj)


def judge_update(api: Api, call: Call, new: Obj, old: Obj) -> None:
    """Refuses a valid change that the level of a namespace does not allow, or warns of it."""
    for row in rows_of(call.resource.storage):
        if row.judge_update is not None:
            row.judge_update(api, call, new, old)


def check_delete(api: Api, call: Call) -> None:
    """Refuses to delete an object that Volcano still needs."""
    for row in rows_of(call.resource.storage):
        if row.check_delete is not None:
            row.check_delete(api, call)


def charge(api: Api, call: Call, obj: Obj) -> Charged:
    """Checks the quotas of an admitted new object; returns what its creation costs."""
    resource = call.resource
    if not resource.namespaced or api.store.is_empty(quota.STORAGE):
        return _NOTHING
    lookup = Lookup(api)
    quotas = lookup.list(quota.STORAGE, call.namespace)
    return Charged(quota.check_create(resource, obj, quotas, lookup.list)) if quotas else _NOTHING


def charge_update(api: Api, call: Call, new: Obj, old: Obj) -> Charged:
    """Checks a valid change that is about to be stored; returns what it costs."""
    resource, lookup = call.resource, Lookup(api)
    for row in rows_of(resource.storage):
        if row.check_change is not None:
            row.check_change(api, call, new, old)
    counted = resource.storage == quota.STORAGE and not call.subresource
    if counted or not resource.namespaced or api.store.is_empty(quota.STORAGE):
        return _NOTHING
    quotas = lookup.list(quota.STORAGE, call.namespace)
    if not quotas:
        return _NOTHING
    found = quota.check_update(resource, new, old, quotas, lookup.list, subresource=call.subresource)
    return Charged(found)


def release(api: Api, call: Call, obj: Obj, *, joined: bool) -> list[Staged]:
    """Gives the amounts of a removed object back to its quotas, `joined` with the write before."""
    resource = call.resource
    if not resource.namespaced:
        return []
    lookup = Lookup(api)
    quotas = lookup.list(quota.STORAGE, call.namespace)
    if resource.storage == quota.STORAGE:
        quotas = [each for each in quotas if each["metadata"]["uid"] != obj["metadata"]["uid"]]
    if not quotas:
        return []
    return Charged(quota.release(resource, obj, quotas, lookup.list)).stage(api, joined=joined)


def set_right(api: Api, call: Call, written: Obj) -> list[Staged]:
    """If a client wrote the status of a quota, stages the counted status, joined with that write. Clients see
    both states, as with upstream's controller."""
    if call.resource.storage != quota.STORAGE or call.subresource != "status":
        return []
    counted = quota.status_of(written, Lookup(api).list)
    if counted == written.get("status"):
        return []
    return [_stage_quota(api, quota.Charge(written, counted), joined=True)]


def _stage_quota(api: Api, charge: quota.Charge, *, joined: bool) -> Staged:
    meta = charge.quota["metadata"]
    changed = {**charge.quota, "metadata": dict(meta), "status": charge.status}
    return api.store.stage(Key(quota.STORAGE, meta["namespace"], meta["name"]), changed, joined=joined)


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


# ---- the hooks of rows


def _set_limits(api: Api, call: Call, obj: Obj) -> None:
    if call.resource.storage == "pods" and (limits := _limits(api, call)):
        limitranger.set_defaults(obj, limits)
        call.resource.strategy.default(obj)  # pod-level requests default to those of the containers


def _check_limits(api: Api, call: Call, obj: Obj) -> None:
    if limits := _limits(api, call):
        limitranger.check(call.resource, obj, limits)


def _check_changed_limits(api: Api, call: Call, new: Obj, old: Obj) -> None:
    if call.subresource != "status" and (limits := _limits(api, call)):
        limitranger.check(call.resource, new, limits, old)


def _limits(api: Api, call: Call) -> list[Obj]:
    return Lookup(api).list(limitranger.STORAGE, call.namespace)


def _admit_pod(api: Api, call: Call, obj: Obj) -> None:
    lookup = Lookup(api)
    pod.admit_create(obj, lookup.get, lookup.list)


def _set_storage_class(api: Api, call: Call, obj: Obj) -> None:
    default_classes.set_default(obj, Lookup(api).list("storage.k8s.io/storageclasses", ""))


def _check_only_default(api: Api, call: Call, new: Obj, old: Obj | None = None) -> None:
    default_classes.check_only_default(call.resource, new, Lookup(api).list(_CLASSES, ""))


def _count_quota(api: Api, call: Call, new: Obj, old: Obj | None = None) -> None:
    if not call.subresource:
        new["status"] = quota.status_of(new, Lookup(api).list)


def _judge_namespace(api: Api, call: Call, new: Obj, old: Obj | None = None) -> None:
    if not call.subresource:
        call.warn(pod_security.judge_namespace(call.resource, new, old, Lookup(api).list))


def _judge_security(api: Api, call: Call, new: Obj, old: Obj | None = None) -> None:
    get = Lookup(api).get
    call.warn(pod_security.judge(call.resource, new, old, get, call.namespace, call.subresource))


# Volcano's rules are loaded with the first object that they judge: others do not pay for them.


def judge_pod_of_volcano(obj: Obj) -> None:
    if obj["spec"].get("schedulerName") == _VOLCANO_SCHEDULER:
        from longshore.apiserver.admission import volcano

        volcano.validate_pod(obj)


def _mutate_volcano(api: Api, call: Call, obj: Obj) -> None:
    from longshore.apiserver.admission import volcano

    had_spec = "spec" in obj
    volcano.mutate_create(call.resource.storage, obj, Lookup(api).get)
    if not had_spec:
        call.resource.strategy.default(obj)  # what was not there had no defaults


def _mutate_applied_volcano(call: Call, new: Obj, old: Obj, applied: bool) -> None:
    if applied:
        from longshore.apiserver.admission import volcano

        volcano.mutate_applied(call.resource.storage, new)


def _judge_volcano(api: Api, call: Call, obj: Obj) -> None:
    from longshore.apiserver.admission import volcano

    lookup = Lookup(api)
    volcano.validate_create(call.resource.storage, obj, lookup.get, lookup.list)


def _check_changed_volcano(api: Api, call: Call, new: Obj, old: Obj) -> None:
    if not call.subresource:
        from longshore.apiserver.admission import volcano

        lookup = Lookup(api)
        volcano.validate_update(call.resource.storage, new, old, lookup.get, lookup.list)


def _check_volcano_delete(api: Api, call: Call) -> None:
    from longshore.apiserver.admission import volcano

    volcano.validate_delete(call.resource.storage, call.name, Lookup(api).list)


# ---- the rows

OnNew: TypeAlias = "Callable[[Api, Call, Obj], None]"
OnChange: TypeAlias = "Callable[[Api, Call, Obj, Obj], None]"
"""Gets the new and the old object."""


class AdmissionRow(NamedTuple):
    """One plugin of admission. A hook that it does not have is None."""

    concerns: Callable[[str], bool]
    """Whether the plugin handles objects of this storage."""
    mutate_create: OnNew | None = None
    judge_create: OnNew | None = None
    mutate_update: Callable[[Call, Obj, Obj, bool], None] | None = None
    """Also gets whether the change is a server-side apply."""
    judge_update: OnChange | None = None
    check_change: OnChange | None = None
    """Called when the change is about to be stored, so never for an update that changes nothing."""
    check_delete: Callable[[Api, Call], None] | None = None


def _of(*storages: str) -> Callable[[str], bool]:
    return frozenset(storages).__contains__


ROWS: Final = {
    "VolcanoPods": AdmissionRow(_of("pods"), judge_create=lambda api, call, obj: judge_pod_of_volcano(obj)),
    "LimitRanger": AdmissionRow(
        _of("pods", _CLAIMS), _set_limits, _check_limits, check_change=_check_changed_limits
    ),
    "Pods": AdmissionRow(
        _of("pods"), _admit_pod, mutate_update=lambda call, new, old, applied: pod.admit_update(new, old)
    ),
    "DefaultStorageClass": AdmissionRow(_of(_CLAIMS), _set_storage_class),
    "Volcano": AdmissionRow(
        lambda storage: storage.partition("/")[0].endswith(".volcano.sh"),
        _mutate_volcano,
        _judge_volcano,
        _mutate_applied_volcano,
        check_change=_check_changed_volcano,
        check_delete=_check_volcano_delete,
    ),
    "Priority": AdmissionRow(
        _of(_CLASSES), judge_create=_check_only_default, check_change=_check_only_default
    ),
    "ResourceQuota": AdmissionRow(_of(quota.STORAGE), judge_create=_count_quota, check_change=_count_quota),
    "NamespaceLevels": AdmissionRow(
        _of("namespaces"), judge_create=_judge_namespace, judge_update=_judge_namespace
    ),
    "PodSecurity": AdmissionRow(
        embedded_pods.PATHS.__contains__, judge_create=_judge_security, judge_update=_judge_security
    ),
}
"""The plugins by name, in the order in which they are called."""


@lru_cache(maxsize=256)
def rows_of(storage: str) -> tuple[AdmissionRow, ...]:
    """The rows that handle objects of a storage."""
    return tuple(row for row in ROWS.values() if row.concerns(storage))
