"""Rules about new objects read nothing that objects of one spec have for themselves: they run on objects
that note what is read of them (`shortcuts/spec_differences.py`).

Pods and Jobs only: the schemas of Volcano's kinds take plain dicts and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from apiserver.shortcuts.two_ways import resource_of
from longshore.api.strategy import Context
from longshore.api.types import Obj, copy_of
from longshore.apiserver.rest import admission
from longshore.apiserver.shortcuts import spec_differences

NOTED = ("metadata.labels", "metadata.name", "metadata.uid", "metadata.finalizers", "spec.hostname")
ANNOTATIONS = "metadata.annotations"


class Noting(dict[str, Any]):
    """A dict that notes the path of everything read of it."""

    def __init__(self, content: Obj, path: str, seen: set[str]) -> None:
        super().__init__()
        self._path, self._seen = path, seen
        for key, value in content.items():
            dict.__setitem__(self, key, noting(value, f"{path}.{key}" if path else key, seen))

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._note(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self._note(str(key))
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        for key in super().__iter__():
            if self._path != ANNOTATIONS:  # rules that look for prefixes look at all of them
                self._note(key)
            yield key

    def items(self) -> Any:
        for _ in self:
            pass  # which notes each
        return super().items()

    def values(self) -> Any:
        for _ in self:
            pass  # which notes each
        return super().values()

    def pop(self, key: str, *default: Any) -> Any:
        self._note(key)
        return super().pop(key, *default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        self._note(key)
        return super().setdefault(key, default)

    def _note(self, key: str) -> None:
        self._seen.add(f"{self._path}.{key}" if self._path else key)


def noting(value: Any, path: str, seen: set[str]) -> Any:
    if isinstance(value, dict):
        return Noting(value, path, seen)
    return [noting(each, f"{path}[]", seen) for each in value] if isinstance(value, list) else value


META: Obj = {
    "name": "a",
    "namespace": "ns",
    "uid": "u",
    "labels": {"x": "y"},
    "finalizers": ["example.com/f"],
    "annotations": {
        "note": "a",
        "volcano.sh/jdb-x": "1",
        **dict.fromkeys(spec_differences.OWN_ANNOTATIONS, "3"),
    },
}
CONTAINER: Obj = {
    "name": "main",
    "image": "busybox",
    "command": ["a"],
    "args": ["b"],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Mi"}},
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    "livenessProbe": {"httpGet": {"port": 80}},
    "securityContext": {"runAsUser": 1},
}
TERM = {"topologyKey": "k", "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["x"]}
PLAIN: Obj = {
    "restartPolicy": "Never",
    "containers": [CONTAINER],
    "initContainers": [{**CONTAINER, "name": "init"}],
    "volumes": [{"name": "v", "emptyDir": {}}],
    "nodeSelector": {"a": "b"},
    "tolerations": [{"operator": "Exists"}],
    "securityContext": {"runAsUser": 1},
}
PODS: dict[str, Obj] = {
    "plain": PLAIN,
    "with a host name": {**PLAIN, "hostname": "h", "subdomain": "s", "setHostnameAsFQDN": True},
    "spread": {
        **PLAIN,
        "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
        "topologySpreadConstraints": [{**TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
    },
    "gated": {**PLAIN, "schedulingGates": [{"name": "example.com/g"}]},
    "of a class": {**PLAIN, "priorityClassName": "p", "runtimeClassName": "process"},
    "of Volcano's scheduler": {**PLAIN, "schedulerName": "volcano"},
}
JOB: Obj = {"template": {"metadata": {"labels": {"app": "x"}}, "spec": PLAIN}, "completions": 3}
JOBS: dict[str, Obj] = {
    "plain": JOB,
    "indexed": {**JOB, "completionMode": "Indexed"},
    "by hand": {**JOB, "manualSelector": True, "selector": {"matchLabels": {"app": "x"}}},
}
CASES = [
    *((f"pod, {name}", "pod", spec) for name, spec in PODS.items()),
    *((f"job, {name}", "job", spec) for name, spec in JOBS.items()),
]


def read_of(kind: str, spec: Obj) -> set[str]:
    """What the hooks of a create and admission read of an object with this spec."""
    resource, seen = resource_of(kind), set[str]()
    strategy, context = resource.strategy, Context("2026-01-01T00:00:00Z")
    obj = {"metadata": copy_of(META), "spec": copy_of(spec)}
    strategy.default(obj)  # first on plain ones, so that all that is there by default is noted, too
    obj = noting(obj, "", seen)
    strategy.default(obj)
    _admitted(kind, obj)
    strategy.prepare_create(obj, context)
    strategy.validate_create(obj)
    strategy.warnings_create(obj)
    return seen


def _admitted(kind: str, obj: Obj) -> None:
    def get(storage: str, namespace: str, name: str) -> Obj | None:
        return {"metadata": {"name": name}, "status": {"state": "Open"}, "value": 1}

    def every(storage: str, namespace: str) -> Iterable[Obj]:
        return []

    if kind == "pod":
        from longshore.apiserver.admission import pod

        pod.admit_create(obj, get, every)
        admission.judge_pod_of_volcano(obj)


READ: dict[str, set[str]] = {
    "pod": {"metadata.name", "spec.hostname"},
    "job": {"metadata.labels", "metadata.name", "metadata.uid"},
}
"""The parts that `Kind.passes`, `inherit_labels` and `select_by_own_uid` see to."""


@pytest.mark.parametrize(("kind", "spec"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_rules_read_nothing_that_objects_of_one_spec_have_for_themselves(kind: str, spec: Obj) -> None:
    seen, row = read_of(kind, spec), spec_differences.of(resource_of(kind).storage)
    assert row is not None
    if not row.looks_beyond(spec):
        assert {path for path in seen if path in NOTED} <= READ[kind]
    read = {path.removeprefix(f"{ANNOTATIONS}.") for path in seen if path.startswith(f"{ANNOTATIONS}.")}
    assert not read & spec_differences.OWN_ANNOTATIONS
    assert any(path.endswith("containers[].image") for path in seen), "little was noted"
    assert not any(path.endswith(("containers[].command", "containers[].args")) for path in seen)


def test_the_cases_have_specs_of_both_sorts() -> None:
    """Else the test above would show little."""
    for kind in ("pod", "job"):
        row = spec_differences.of(resource_of(kind).storage)
        assert row is not None
        assert {row.looks_beyond(spec) for _, each, spec in CASES if each == kind} == {True, False}


def test_kinds_without_a_row_are_never_alike() -> None:
    assert spec_differences.of(resource_of("queue").storage) is None
    assert spec_differences.of(resource_of("limits").storage) is None
