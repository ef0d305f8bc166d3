"""Volcano's webhooks, in this process: what they fill in, and what they refuse.

A webhook that refuses is answered with a plain 400 that names it; only the schema, which speaks between
the mutating and the validating ones, answers 422. Loaded when the first object of Volcano's comes along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from longshore.api import errors, reads
from longshore.api.codec import DecodeError
from longshore.api.defaults import volcano as defaults
from longshore.api.types import Obj
from longshore.api.validation.volcano import cronjob, hypernode, job_update, jobflow, pod, typed
from longshore.apiserver.admission.lookup import Get, List
from longshore.apiserver.admission.volcano import job, podgroup, queue

_JOBS: Final = "batch.volcano.sh/jobs"
_CRON_JOBS: Final = "batch.volcano.sh/cronjobs"
_FLOWS: Final = "flow.volcano.sh/jobflows"
_POD_GROUPS: Final = "scheduling.volcano.sh/podgroups"
_QUEUES: Final = "scheduling.volcano.sh/queues"
_HYPER_NODES: Final = "topology.volcano.sh/hypernodes"
_HYPER_NODE_CHECK: Final = "validatehypernode"
_Mutation: TypeAlias = Callable[[Obj, Get], None]
_Check: TypeAlias = Callable[[Obj, Obj, Get, List], str]
"""(spec as Go reads it, object, get, list) -> what is wrong"""
_UpdateCheck: TypeAlias = Callable[[Obj, Obj, Obj, Get, List], str]
"""An update's check, with the old object in third place."""


class Denied(errors.StatusError):
    """A webhook's refusal. `webhook` is its name, `why` the reason without the frame of the API server."""

    def __init__(self, webhook: str, why: str) -> None:
        super().__init__(400, "", f'admission webhook "{webhook}" denied the request: {why}')
        self.webhook, self.why = webhook, why


class Judged(NamedTuple):
    """A webhook's say in one operation on one storage."""

    webhook: str
    mutates: bool
    operation: str
    storage: str


def judged() -> Iterator[Judged]:
    """Everything that these webhooks look at, pods of Volcano's scheduler among it."""
    for storage, (webhook, _) in _MUTATIONS.items():
        yield Judged(_full(webhook), True, "CREATE", storage)
    for operation, rules in (("CREATE", _CHECKS), ("UPDATE", _UPDATE_CHECKS)):
        for storage, (webhook, _) in rules.items():
            yield Judged(_full(webhook), False, operation, storage)
        yield Judged(_full(_HYPER_NODE_CHECK), False, operation, _HYPER_NODES)
    yield Judged(_full("validatequeue"), False, "DELETE", _QUEUES)
    yield Judged(_full("validatepod"), False, "CREATE", "pods")


def mutate_create(storage: str, obj: Obj, get: Get) -> None:
    """Fills in a new object; refuses one that Volcano's types cannot read."""
    if storage not in _MUTATIONS:
        return
    webhook, change = _MUTATIONS[storage]
    _read(storage, obj, webhook)
    change(obj, get)


def mutate_applied(storage: str, obj: Obj) -> None:
    """Fills in an applied Job like a new one: an apply replaces its list of tasks as a whole, and would
    take the webhook's values from it. A PUT without them is refused, as Volcano does."""
    if storage == _JOBS:
        _read(storage, obj, "mutatejob")
        defaults.default_job(obj.setdefault("spec", {}))


def validate_create(storage: str, obj: Obj, get: Get, every: List) -> None:
    """Refuses what Volcano refuses of a new object that has passed its schema."""
    if storage == _HYPER_NODES:
        _hyper_node(obj)
    if storage not in _CHECKS:
        return
    webhook, check = _CHECKS[storage]
    _refuse(webhook, check(_read(storage, obj, webhook), obj, get, every))


def rules_of(storage: str) -> tuple[Callable[..., object], ...]:
    """The rules about new objects of a storage, each of which says what it reads."""
    return tuple(rule for rules in (_MUTATIONS, _CHECKS) if storage in rules for rule in (rules[storage][1],))


def validate_update(storage: str, new: Obj, old: Obj, get: Get, every: List) -> None:
    """Refuses what Volcano refuses of a change of the main resource."""
    if storage == _HYPER_NODES:
        _hyper_node(new)
    if storage in _UPDATE_CHECKS:
        webhook, check = _UPDATE_CHECKS[storage]
        _refuse(webhook, check(_read(storage, new, webhook), new, old, get, every))


def validate_delete(storage: str, name: str, every: List) -> None:
    """Refuses to delete queues that are needed."""
    if storage == _QUEUES:
        _refuse("validatequeue", queue.validate_delete(name, every))


def validate_pod(obj: Obj) -> None:
    """Refuses a new pod of Volcano's scheduler whose annotations make no sense."""
    if annotations := obj["metadata"].get("annotations"):
        _refuse("validatepod", pod.validate(annotations))


def _hyper_node(obj: Obj) -> None:
    """First the rules of the definition, then those of the webhook."""
    spec = obj.get("spec") or {}
    if problems := hypernode.unselected(spec):
        raise errors.invalid("topology.volcano.sh", "HyperNode", obj["metadata"]["name"], problems)
    _refuse(_HYPER_NODE_CHECK, hypernode.validate(spec))


def _read(storage: str, obj: Obj, webhook: str) -> Obj:
    try:
        return typed.read(storage, obj)
    except DecodeError as error:
        raise Denied(_full(webhook), str(error)) from None


def _refuse(webhook: str, why: str) -> None:
    if why:
        raise Denied(_full(webhook), why)


def _full(webhook: str) -> str:
    return f"{webhook}.volcano.sh"


@reads.reads()
def _default_job(obj: Obj, get: Get) -> None:
    defaults.default_job(obj.setdefault("spec", {}))


def _names_no_queue(get: Get, every: List, namespace: str) -> bool:
    found = get("namespaces", "", namespace)
    return found is None or defaults.QUEUE_ANNOTATION not in (found["metadata"].get("annotations") or ())


@reads.reads("cluster", unless=_names_no_queue)
def _default_pod_group(obj: Obj, get: Get) -> None:
    namespace = get("namespaces", "", obj["metadata"]["namespace"])
    defaults.default_pod_group(obj.setdefault("spec", {}), namespace)


def _cronjob(spec: Obj, obj: Obj, get: Get, every: List) -> str:
    return cronjob.validate(spec, obj["metadata"]["name"])


def _cronjob_update(spec: Obj, new: Obj, old: Obj, get: Get, every: List) -> str:
    return cronjob.validate(spec, new["metadata"]["name"])


def _flow(spec: Obj, obj: Obj, get: Get, every: List) -> str:
    return jobflow.validate(spec)


def _flow_update(spec: Obj, new: Obj, old: Obj, get: Get, every: List) -> str:
    return jobflow.validate(spec)


def _job_update(spec: Obj, new: Obj, old: Obj, get: Get, every: List) -> str:
    if new.get("spec") == old.get("spec"):
        return ""
    return job_update.validate(spec, typed.read(_JOBS, old), new["metadata"]["name"])


_MUTATIONS: Final[dict[str, tuple[str, _Mutation]]] = {
    _JOBS: ("mutatejob", _default_job),
    _POD_GROUPS: ("mutatepodgroup", _default_pod_group),
    _QUEUES: ("mutatequeue", lambda obj, get: defaults.default_queue(obj)),
}
_CHECKS: Final[dict[str, tuple[str, _Check]]] = {
    _CRON_JOBS: ("validatecronjob", _cronjob),
    _FLOWS: ("validatejob", _flow),  # that is how upstream registers it
    _JOBS: ("validatejob", job.validate_create),
    _POD_GROUPS: ("validatepodgroup", podgroup.validate_create),
    _QUEUES: ("validatequeue", queue.validate_create),
}
_UPDATE_CHECKS: Final[dict[str, tuple[str, _UpdateCheck]]] = {
    _CRON_JOBS: ("validatecronjob", _cronjob_update),
    _FLOWS: ("validatejob", _flow_update),
    _JOBS: ("validatejob", _job_update),
    _QUEUES: ("validatequeue", queue.validate_update),
}
