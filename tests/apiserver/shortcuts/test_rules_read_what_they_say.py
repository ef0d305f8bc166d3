"""Rules about new objects read no more than they say: they run on objects that note what is read of them.

Pods and Jobs only: the schemas of Volcano's kinds take plain dicts and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from apiserver.shortcuts.two_ways import resource_of
from longshore.api import reads
from longshore.api.strategy import Context
from longshore.api.types import Obj, copy_of
from longshore.apiserver.rest import admission
from longshore.apiserver.shortcuts import spec_rules

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
    "annotations": {"note": "a", "batch.kubernetes.io/job-completion-index": "3", "volcano.sh/jdb-x": "1"},
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
    strategy.validate_create(obj, context)
    strategy.warnings_create(obj, context)
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


def said_by(kind: str) -> set[str]:
    resource = resource_of(kind)
    rules = resource.strategy.rules
    assert rules is not None
    all_rules = (*rules.defaults, *rules.later, *admission.rules_of(resource))
    return {name for rule in all_rules for said in reads.of(rule) for name in said.fields}


@pytest.mark.parametrize(("kind", "spec"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_no_rule_reads_more_than_the_rules_of_its_kind_say(kind: str, spec: Obj) -> None:
    seen, said = read_of(kind, spec), said_by(kind)
    assert {path for path in seen if path in NOTED} <= said
    read = {path.removeprefix(f"{ANNOTATIONS}.") for path in seen if path.startswith(f"{ANNOTATIONS}.")}
    prefixes = tuple(name[len(reads.ANNOTATION) : -2] for name in said if name.endswith("*]"))
    assert {key for key in read if not key.startswith(prefixes)} <= {
        name[len(reads.ANNOTATION) : -1] for name in said if name.startswith(reads.ANNOTATION)
    }
    assert any(path.endswith("containers[].image") for path in seen), "little was noted"
    assert not any(path.endswith(("containers[].command", "containers[].args")) for path in seen)


def test_a_rule_that_does_not_say_is_taken_to_read_everything() -> None:
    def rule(obj: Obj) -> None: ...

    assert reads.of(rule)[0].fields == {reads.EVERYTHING}
    assert spec_rules.of(resource_of("queue")) is None
    assert spec_rules.of(resource_of("limits")) is None


def test_one_rule_that_does_not_say_ends_all_likeness_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = resource_of("pod")
    rules = resource.strategy.rules
    assert rules is not None
    assert spec_rules.of(resource) is not None
    monkeypatch.setattr(resource.strategy, "rules", rules._replace(later=(*rules.later, lambda obj: None)))
    assert spec_rules.of(resource) is None


def test_what_is_said_must_be_something_that_can_be_read() -> None:
    with pytest.raises(ValueError, match=r"'metadata\.lables' is none of"):
        reads.reads("metadata.lables")
