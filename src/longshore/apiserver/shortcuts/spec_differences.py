"""Which parts of objects may differ although one spec was validated for all of them.

One row for each kind says what its rules read besides the spec. An object that has any of it goes the long
way. `tests/apiserver/shortcuts/test_rules_read_no_differences.py` runs the rules of pods and Jobs on objects
that record which parts are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from longshore.api import job_labels, names
from longshore.api.defaults.pod import INIT_ANNOTATIONS
from longshore.api.facts import account_volume
from longshore.api.pod_security import levels
from longshore.api.types import Obj
from longshore.api.validation.job import validate_last_hostname
from longshore.apiserver.admission import limitranger
from longshore.apiserver.admission.lookup import Get, List

PODS: Final = "pods"
JOBS: Final = "batch/jobs"
_GANGS: Final = "batch.volcano.sh/jobs"
_GROUPS: Final = "scheduling.volcano.sh/podgroups"
_PRIORITIES: Final = "scheduling.k8s.io/priorityclasses"
_ACCOUNTS, _DEFAULT_ACCOUNT = "serviceaccounts", "default"

OWN_ANNOTATIONS: Final = frozenset((
    "batch.kubernetes.io/cronjob-scheduled-timestamp",
    "batch.kubernetes.io/job-completion-index",
    "batch.kubernetes.io/job-index-failure-count",
    "batch.kubernetes.io/job-index-ignored-failure-count",
    "hccl/rankIndex",
    "kubectl.kubernetes.io/last-applied-configuration",
    "scheduling.k8s.io/group-name",
    "volcano.sh/cronjob-scheduled-timestamp",
    "volcano.sh/job-name",
    "volcano.sh/job-retry-count",
    "volcano.sh/job-version",
    "volcano.sh/task-index",
    "volcano.sh/template-uid",
))  # fmt: skip
"""Annotations that differ between objects, and that no rule reads. All others are part of the comparison."""


class Kind(NamedTuple):
    """The rules of one kind, as far as they read more than the spec."""

    looks_beyond: Callable[[Obj], bool]
    """Whether a rule reads more than this spec, which a client has sent and no rule has validated yet."""
    is_free: Callable[[Get, List, str], bool]
    """Whether no object of the cluster affects new objects in this namespace."""
    passes: Callable[[Obj, Get, List], bool]
    """Whether the object passes the rules about its name and host name, and those that read other objects.
    The object has no uid yet, and its name may be a stand-in of the same length and letters."""


def of(storage: str) -> Kind | None:
    """The row of a kind; None if its objects always go the long way."""
    return _KINDS.get(storage)


# ---- pods

_BEYOND_A_POD: Final = frozenset((
    "affinity", "overhead", "priorityClassName", "resourceClaims", "runtimeClassName", "schedulingGates",
    "topologySpreadConstraints",
))  # fmt: skip
"""Parts of a pod's spec with which rules read its labels, the clock or other objects."""


def _pod_looks_beyond(spec: Obj) -> bool:
    if not _BEYOND_A_POD.isdisjoint(spec):
        return True
    volumes = spec.get("volumes")
    return type(volumes) is list and any(type(one) is dict and "ephemeral" in one for one in volumes)


def _has_plain_level(get: Get, every: List, namespace: str) -> bool:
    return levels.is_plain(levels.labels_of(get("namespaces", "", namespace)))


def _takes_pods_as_they_are(get: Get, every: List, namespace: str) -> bool:
    return (
        not every(limitranger.STORAGE, namespace)
        and not any(found.get("globalDefault") for found in every(_PRIORITIES, ""))
        and _has_plain_level(get, every, namespace)
    )


def _pod_passes(pod: Obj, get: Get, every: List) -> bool:
    spec, meta = pod["spec"], pod["metadata"]
    hostname = spec.get("hostname")
    if names.dns1123_label(meta["name"]) or (hostname and names.dns1123_label(hostname)):
        return False
    annotations = meta.get("annotations")
    if annotations and not annotations.keys().isdisjoint(INIT_ANNOTATIONS):
        return False
    named, namespace = spec.get("serviceAccountName"), meta["namespace"]
    if get(_ACCOUNTS, namespace, _DEFAULT_ACCOUNT) is None:
        return bool(named != _DEFAULT_ACCOUNT)
    account = get(_ACCOUNTS, namespace, named) if named is not None else None
    if account is None:
        return False
    return account_volume.is_wanted(spec, account) == bool(account_volume.name_in(spec))


# ---- Jobs


def _job_looks_beyond(spec: Obj) -> bool:
    return "manualSelector" in spec or "selector" in spec or job_labels.has_generated(spec)


def _job_passes(job: Obj, get: Get, every: List) -> bool:
    return not names.dns1123_label(job["metadata"]["name"]) and not validate_last_hostname(job)


def inherit_labels(job: Obj, sent: Obj) -> None:
    """Gives a Job that was sent without labels those of its template."""
    labels = job_labels.users(job["spec"])
    if labels and not sent.get("labels"):
        job["metadata"]["labels"] = labels


def select_by_own_uid(job: Obj, sent: Obj) -> None:
    """Sets the selector and labels of a Job that shares the spec of another."""
    meta, spec = job["metadata"], job["spec"]
    template = spec["template"]
    labels = {**template["metadata"]["labels"], **job_labels.generated(meta)}
    if "labels" in meta and not sent.get("labels"):
        meta["labels"] = dict(labels)
    template = {**template, "metadata": {**template["metadata"], "labels": labels}}
    selector = {"matchLabels": {job_labels.CONTROLLER_UID: meta["uid"]}}
    job["spec"] = {**spec, "template": template, "selector": selector}


# ---- Volcano's kinds. A server that has none of their objects does not load the code that judges them.


def _never_looks_beyond(spec: Obj) -> bool:
    return False


def _gang_passes(gang: Obj, get: Get, every: List) -> bool:
    from longshore.apiserver.admission.volcano import job

    return "finalizers" not in gang["metadata"] and job.is_named_and_queued(gang, get, every)


def _names_no_queue(get: Get, every: List, namespace: str) -> bool:
    from longshore.api.defaults.volcano import QUEUE_ANNOTATION

    found = get("namespaces", "", namespace)
    return found is None or QUEUE_ANNOTATION not in (found["metadata"].get("annotations") or ())


def _group_passes(group: Obj, get: Get, every: List) -> bool:
    from longshore.apiserver.admission.volcano import job

    queue = (group.get("spec") or {}).get("queue", "")
    return "finalizers" not in group["metadata"] and not job.validate_queue(queue, get, every)


_KINDS: Final = {
    PODS: Kind(_pod_looks_beyond, _takes_pods_as_they_are, _pod_passes),
    JOBS: Kind(_job_looks_beyond, _has_plain_level, _job_passes),
    _GANGS: Kind(_never_looks_beyond, _has_plain_level, _gang_passes),
    _GROUPS: Kind(_never_looks_beyond, _names_no_queue, _group_passes),
}

# ---- the words of commands and the values of variables: no rule reads them, and each Job has its own

Texts: TypeAlias = list[Obj]
"""The texts of each container, by field; empty where it has none."""
_WORDS: Final = ("command", "args")
_VARIABLE: Final = {"name", "value"}
_TEXT: Final = {str}


def without_texts(storage: str, spec: Obj) -> tuple[Obj, Texts]:
    """A copy of a spec without the texts of its containers, for comparing only, and the texts. A text of an
    unusual form (such as a variable from elsewhere) stays in the spec."""
    if storage == PODS:
        return _apart(spec)
    template = spec.get("template") if storage == JOBS else None
    if type(template) is not dict or type(template.get("spec")) is not dict:
        return spec, []
    pod, texts = _apart(template["spec"])
    return {**spec, "template": {**template, "spec": pod}}, texts


def with_texts(storage: str, spec: Obj, texts: Texts) -> Obj:
    """The spec with these texts in place of those it has in the same fields."""
    if not texts:
        return spec
    if storage == PODS:
        return _put(spec, texts)
    template = spec["template"]
    return {**spec, "template": {**template, "spec": _put(template["spec"], texts)}}


def _apart(spec: Obj) -> tuple[Obj, Texts]:
    containers = spec.get("containers")
    if type(containers) is not list:
        return spec, []
    bare, texts = [], []
    for container in containers:
        if type(container) is not dict:
            return spec, []
        words = _texts_of(container)
        texts.append(words)
        bare.append({**container, **_blank(words)} if words else container)
    return ({**spec, "containers": bare}, texts) if any(texts) else (spec, [])


def _put(spec: Obj, texts: Texts) -> Obj:
    containers = spec["containers"]
    for container, words in zip(containers, texts, strict=True):
        if not words.items() <= container.items():
            break
    else:
        return spec  # as with the pods of one Job
    return {**spec, "containers": [{**c, **words} for c, words in zip(containers, texts, strict=True)]}


def _texts_of(container: Obj) -> Obj:
    found: Obj = {}
    for key in _WORDS:
        words = container.get(key)
        if words and type(words) is list and set(map(type, words)) == _TEXT:
            found[key] = list(words)
    variables = container.get("env")
    if variables and type(variables) is list and _are_plain(variables):
        found["env"] = [{"name": each["name"], "value": each["value"]} for each in variables]
    return found


def _are_plain(variables: list[Any]) -> bool:
    """Whether each variable has a value and a unique name: rules exist for variables that have not."""
    if any(type(each) is not dict or each.keys() != _VARIABLE for each in variables):
        return False
    given, values = [each["name"] for each in variables], [each["value"] for each in variables]
    return set(map(type, given + values)) == _TEXT and all(values) and len(set(given)) == len(given)


def _blank(texts: Obj) -> Obj:
    blank: Obj = dict.fromkeys(texts)
    if "env" in texts:
        blank["env"] = [each["name"] for each in texts["env"]]
    return blank
