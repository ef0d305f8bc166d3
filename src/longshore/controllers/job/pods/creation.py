"""The pods a Job creates: the template with names, labels, finalizer, owner and, if Indexed, the index.

The bodies share parts of the template and must not be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from longshore.api import indexes
from longshore.api.facts import kinds
from longshore.api.facts.owners import controller_ref
from longshore.api.facts.pod_state import COMPLETION_INDEX
from longshore.api.types import Obj
from longshore.controllers.job.ends import failure_policy
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.pods.indexes import Indexes
from longshore.controllers.job.pods.roll import Roll
from longshore.controllers.job.spec import FINALIZER, INDEX_FAILURES, INDEX_IGNORED_FAILURES, Spec
from longshore.machinery.writes.pod_control import from_template, name_prefix

_ENV: Final = "JOB_COMPLETION_INDEX"
_INDEX_ENV: Final = {
    "name": _ENV,
    "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}},
}
_MAX_PREFIX_CHARACTERS: Final = 58
"""The API server appends five random characters; a pod name has at most 63."""


def pending_indexes(roll: Roll, spec: Spec, found: Indexes, many: int) -> list[int]:
    """Returns the lowest indexes that need a pod."""
    covered = indexes.merge(found.succeeded, tuple(roll.active_runs))
    if spec.only_replace_failed and roll.terminating:
        waited_for = {pod_facts.index(pod) for pod in roll.terminating.values()} - {pod_facts.NO_INDEX}
        covered = indexes.merge(covered, indexes.from_sorted(sorted(waited_for)))
    if found.failed:
        covered = indexes.merge(covered, found.failed)
    return list(islice(indexes.missing(covered, spec.size), many))


def bodies(job: Obj, many: int) -> list[Obj]:
    """Returns identical pods of a NonIndexed Job."""
    return [_from_template(job, name_prefix(job["metadata"]["name"]))] * many


def indexed_bodies(job: Obj, spec: Spec, numbers: list[int], delayed: Mapping[int, Obj]) -> Iterator[Obj]:
    """Yields one pod per index. `delayed` holds failed pods whose failure counts the new pods carry on."""
    name = job["metadata"]["name"]
    common = _from_template(job, "")
    meta, pod_spec = common["metadata"], _with_index_env(common["spec"])
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    for number in numbers:
        text = str(number)
        suffix = f"-{text}-"
        noted = {**annotations, COMPLETION_INDEX: text}
        if spec.per_index is not None:
            noted |= _failure_counts(spec, delayed.get(number))
        own = {
            "generateName": name[: _MAX_PREFIX_CHARACTERS - len(suffix)] + suffix,
            "labels": {**labels, COMPLETION_INDEX: text},
            "annotations": noted,
        }
        yield {"metadata": {**meta, **own}, "spec": {**pod_spec, "hostname": f"{name}-{text}"}}


def _from_template(job: Obj, generate_name: str) -> Obj:
    owner = controller_ref(job, kinds.JOBS)
    return from_template(job["spec"]["template"], owner, generate_name=generate_name, finalizers=(FINALIZER,))


def _with_index_env(pod_spec: Obj) -> Obj:
    changed = dict(pod_spec)
    for kind in ("initContainers", "containers"):
        if kind in pod_spec:
            changed[kind] = [_with_index_variable(container) for container in pod_spec[kind]]
    return changed


def _with_index_variable(container: Obj) -> Obj:
    env = container.get("env") or []
    if any(variable["name"] == _ENV for variable in env):
        return container
    return {**container, "env": [*env, _INDEX_ENV]}


def _failure_counts(spec: Spec, before: Obj | None) -> dict[str, str]:
    if before is None:
        return {INDEX_FAILURES: "0"}
    failures, ignored = pod_facts.index_failures(before), pod_facts.index_ignored_failures(before)
    if failure_policy.judge(spec.failure_rules, before).counted:
        failures += 1
    else:
        ignored += 1
    counts = {INDEX_FAILURES: str(failures)}
    if ignored:
        counts[INDEX_IGNORED_FAILURES] = str(ignored)
    return counts
