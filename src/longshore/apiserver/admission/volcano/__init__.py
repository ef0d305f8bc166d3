"""Volcano's webhooks, in this process: what they fill in, and what they refuse.

A refusal is a plain 400 that names the webhook; only the schema, which is checked between the mutating and
the validating webhooks, answers 422. This package is loaded with the first Volcano object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from longshore.api import codec, errors
from longshore.api.codec import DecodeError
from longshore.api.defaults import volcano as defaults
from longshore.api.types import Obj
from longshore.api.validation.volcano import cronjob, hypernode, jobflow, pod
from longshore.api.validation.volcano import job as volcano_job
from longshore.apiserver.admission.lookup import Get, List
from longshore.apiserver.admission.volcano import job, queue

_JOBS: Final = "batch.volcano.sh/jobs"
_CRON_JOBS: Final = "batch.volcano.sh/cronjobs"
_FLOWS: Final = "flow.volcano.sh/jobflows"
_POD_GROUPS: Final = "scheduling.volcano.sh/podgroups"
_QUEUES: Final = "scheduling.volcano.sh/queues"
_HYPER_NODES: Final = "topology.volcano.sh/hypernodes"
_HYPER_NODE_CHECK: Final = "validatehypernode"
_MESSAGES: Final = {
    _CRON_JOBS: "batch.volcano.sh/v1alpha1.CronJob",
    _JOBS: "batch.volcano.sh/v1alpha1.Job",
    _FLOWS: "flow.volcano.sh/v1alpha1.JobFlow",
    _POD_GROUPS: "scheduling.volcano.sh/v1beta1.PodGroup",
    _QUEUES: "scheduling.volcano.sh/v1beta1.Queue",
}
"""By storage; no webhook reads Commands and JobTemplates."""
_Mutation: TypeAlias = Callable[[Obj, Get], None]
_Check: TypeAlias = Callable[[Obj, Obj, Get, List], str]
"""(spec as Go reads it, object, get, list) -> what is wrong"""
_UpdateCheck: TypeAlias = Callable[[Obj, Obj, Obj, Get, List], str]
"""(spec as Go reads it, new object, old object, get, list) -> what is wrong"""


class Denied(errors.StatusError):
    """A webhook's refusal. `webhook` is its name, `why` the reason without the frame of the API server."""

    def __init__(self, webhook: str, why: str) -> None:
        super().__init__(400, "", f'admission webhook "{webhook}" denied the request: {why}')
        self.webhook, self.why = webhook, why


class Judged(NamedTuple):
    """One operation on one storage that a webhook judges."""

    webhook: str
    mutates: bool
    operation: str
    storage: str


def judged() -> Iterator[Judged]:
    """Every operation that these webhooks judge, including new pods of Volcano's scheduler."""
    for storage, (webhook, _) in _MUTATIONS.items():
        yield Judged(_full(webhook), True, "CREATE", storage)
    for storage, (webhook, _, update) in _CHECKS.items():
        yield Judged(_full(webhook), False, "CREATE", storage)
        if update is not None:
            yield Judged(_full(webhook), False, "UPDATE", storage)
    for operation in ("CREATE", "UPDATE"):
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
    """Fills in an applied Job like a new one: an apply replaces the whole list of tasks, and would remove
    values that the webhook has set. A PUT without those values is refused, as Volcano refuses it."""
    if storage == _JOBS:
        _read(storage, obj, "mutatejob")
        defaults.default_job(obj.setdefault("spec", {}))


def validate_create(storage: str, obj: Obj, get: Get, every: List) -> None:
    """Refuses what Volcano refuses of a new object that has passed its schema."""
    if storage == _HYPER_NODES:
        _hyper_node(obj)
    if storage in _CHECKS:
        webhook, check, _ = _CHECKS[storage]
        _refuse(webhook, check(_read(storage, obj, webhook), obj, get, every))


def validate_update(storage: str, new: Obj, old: Obj, get: Get, every: List) -> None:
    """Refuses what Volcano refuses of a change of the main resource."""
    if storage == _HYPER_NODES:
        _hyper_node(new)
    webhook, _, check = _CHECKS.get(storage, _UNCHECKED)
    if check is not None:
        _refuse(webhook, check(_read(storage, new, webhook), new, old, get, every))


def validate_delete(storage: str, name: str, every: List) -> None:
    """Refuses to delete a queue that is built in or has children."""
    if storage == _QUEUES:
        _refuse("validatequeue", queue.validate_delete(name, every))


def validate_pod(obj: Obj) -> None:
    """Refuses a new pod of Volcano's scheduler whose annotations are invalid."""
    if annotations := obj["metadata"].get("annotations"):
        _refuse("validatepod", pod.validate(annotations))


def _hyper_node(obj: Obj) -> None:
    """Checks the rules of the definition, then those of the webhook."""
    spec = obj.get("spec") or {}
    if problems := hypernode.unselected(spec):
        raise errors.invalid("topology.volcano.sh", "HyperNode", obj["metadata"]["name"], problems)
    _refuse(_HYPER_NODE_CHECK, hypernode.validate(spec))


def _read(storage: str, obj: Obj, webhook: str) -> Obj:
    try:
        return _typed(storage, obj)
    except DecodeError as error:
        raise Denied(_full(webhook), str(error)) from None


def _typed(storage: str, obj: Obj) -> Obj:
    """The spec of an object as Volcano's own programs read it: Go types, with all values canonical. Raises
    DecodeError with Go's words. A webhook decodes the object before it checks it, so the webhook refuses an
    unreadable duration or quantity before the schema is checked. `data/volcano-types.json` has the types."""
    decoded: Obj = codec.from_value({"spec": obj.get("spec")}, _MESSAGES[storage]).obj
    return decoded.get("spec") or {}


def _refuse(webhook: str, why: str) -> None:
    if why:
        raise Denied(_full(webhook), why)


def _full(webhook: str) -> str:
    return f"{webhook}.volcano.sh"


def _default_job(obj: Obj, get: Get) -> None:
    defaults.default_job(obj.setdefault("spec", {}))


def _default_pod_group(obj: Obj, get: Get) -> None:
    namespace = get("namespaces", "", obj["metadata"]["namespace"])
    defaults.default_pod_group(obj.setdefault("spec", {}), namespace)


def _cronjob(spec: Obj, obj: Obj, get: Get, every: List) -> str:
    return cronjob.validate(spec, obj["metadata"]["name"])


def _flow(spec: Obj, obj: Obj, get: Get, every: List) -> str:
    return jobflow.validate(spec)


def _again(check: _Check) -> _UpdateCheck:
    """A check of a change, which repeats the check of a new object."""
    return lambda spec, new, old, get, every: check(spec, new, get, every)


def _job_update(spec: Obj, new: Obj, old: Obj, get: Get, every: List) -> str:
    if new.get("spec") == old.get("spec"):
        return ""
    return volcano_job.validate_update(spec, _typed(_JOBS, old), new["metadata"]["name"])


_MUTATIONS: Final[dict[str, tuple[str, _Mutation]]] = {
    _JOBS: ("mutatejob", _default_job),
    _POD_GROUPS: ("mutatepodgroup", _default_pod_group),
    _QUEUES: ("mutatequeue", lambda obj, get: defaults.default_queue(obj)),
}
_CHECKS: Final[dict[str, tuple[str, _Check, _UpdateCheck | None]]] = {
    _CRON_JOBS: ("validatecronjob", _cronjob, _again(_cronjob)),
    _FLOWS: ("validatejob", _flow, _again(_flow)),  # that is how upstream registers it
    _JOBS: ("validatejob", job.validate_create, _job_update),
    _POD_GROUPS: ("validatepodgroup", job.validate_podgroup, None),
    _QUEUES: ("validatequeue", queue.validate_create, queue.validate_update),
}
"""By storage: the webhook, its check of a new object, and its check of a change."""
_UNCHECKED: Final = ("", None, None)
