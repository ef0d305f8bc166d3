"""A pod or Job like one before it takes a short way, and comes to the same as on the long one."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from longshore.api.codec import DecodeError
from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.types import Obj, copy_of, encode
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.request import body
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import create
from longshore.machinery.time.clock import RealClock
from longshore.store import Key, Store
from support.fixed_clock import FixedClock

UID = "5d3e0c1a-4d2a-4b7c-9c1d-0242ac120002"
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": UID, "controller": True}
POD_SPEC: Obj = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
METADATA: dict[str, Obj] = {
    "a name": {"name": "a"},
    "a prefix": {"generateName": "a-"},
    "its namespace": {"name": "a", "namespace": "ns"},
    "everything": {
        "generateName": "a-",
        "labels": {"x": "y", "batch.kubernetes.io/job-name": "j"},
        "annotations": {"Note": "ä" * 100, "batch.kubernetes.io/job-completion-index": "3"},
        "ownerReferences": [OWNER],
        "finalizers": ["batch.kubernetes.io/job-tracking"],
    },
    "nulls": {"name": "a", "creationTimestamp": None, "labels": None},
    "another owner": {"name": "a", "ownerReferences": [{**OWNER, "uid": "other"}]},
    "an odd owner": {"name": "a", "ownerReferences": [{**OWNER, "uid": 'a"b'}]},
    "an owner without a name": {"name": "a", "ownerReferences": [{**OWNER, "name": ""}]},
    "two owners": {"name": "a", "ownerReferences": [OWNER, {**OWNER, "uid": "2", "controller": False}]},
    "an owner twice": {"name": "a", "ownerReferences": [OWNER, OWNER]},
    "two controllers": {"name": "a", "ownerReferences": [OWNER, {**OWNER, "uid": "2"}]},
    "no name": {},
    "both": {"name": "a", "generateName": "B_-"},
    "a bad prefix": {"generateName": "B_-"},
    "a long prefix": {"generateName": "a" * 59 + "_"},
    "dots": {"name": "a.b"},
    "a long name": {"name": "a" * 62},
    "too long a name": {"name": "a" * 64},
    "a bad name": {"name": "A"},
    "a bad label": {"name": "a", "labels": {"x": "not this"}},
    "a bad key": {"name": "a", "labels": {"-": "y"}},
    "a bad annotation": {"name": "a", "annotations": {"-": "y"}},
    "too much annotated": {"name": "a", "annotations": {"x": "ä" * (128 * 1024)}},
    "nearly too much annotated": {"name": "a", "annotations": {"x": "y" * (256 * 1024 - 1)}},
    "a bad finalizer": {"name": "a", "finalizers": ["-/-"]},
    "a short finalizer": {"name": "a", "finalizers": ["short"]},
    "a finalizer of Kubernetes'": {"name": "a", "finalizers": ["orphan"]},
    "both ways to delete": {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]},
    "a version": {"name": "a", "resourceVersion": "7"},
    "what the server sets": {"name": "a", "uid": "mine", "generation": 9, "selfLink": "x"},
    "managers": {"name": "a", "managedFields": []},
    "an unknown field": {"name": "a", "colour": "red"},
    "taken": {"name": "taken"},
    "elsewhere": {"name": "a", "namespace": "elsewhere"},
    "nowhere": {"name": "a", "namespace": "nowhere"},
    "closed": {"name": "a", "namespace": "closed"},
    "counted": {"name": "a", "namespace": "narrow"},
    "full": {"name": "a", "namespace": "full"},
}
PODS: dict[str, Obj] = {
    "plain": {},
    "host name": {"hostname": "h"},
    "bad host name": {"hostname": "H"},
    "volcano": {"schedulerName": "volcano"},
    "gated": {"schedulingGates": [{"name": "x"}]},
    "warned of": {"hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}]},
    "wrong": {"restartPolicy": "Sometimes"},
    "no list of volumes": {"volumes": 5},
    "no volumes in the list": {"volumes": [5]},
    "no host name": {"hostname": 5},
}
JOBS: dict[str, Obj] = {
    "plain": {},
    "labelled": {"template": {"metadata": {"labels": {"app": "x"}}, "spec": POD_SPEC}},
    "labelled by hand": {"template": {"metadata": {"labels": {"job-name": "a"}}, "spec": POD_SPEC}},
    "annotated": {"template": {"metadata": {"annotations": {"app": "x"}}, "spec": POD_SPEC}},
    "badly labelled": {"template": {"metadata": {"labels": {"app": "x y"}}, "spec": POD_SPEC}},
    "indexed": {"completionMode": "Indexed", "completions": 20, "parallelism": 3},
    "of policies": {
        "podFailurePolicy": {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
        }
    },
    "selecting": {"manualSelector": True, "selector": {"matchLabels": {"app": "x"}}},
    "wrong": {"backoffLimit": -1},
    "without a template": {"template": None},
    "no labels": {"template": {"metadata": {"labels": 5}, "spec": POD_SPEC}},
    "no metadata": {"template": {"metadata": 5, "spec": POD_SPEC}},
}


def a_call(kind: str, value: Obj, namespace: str, *, wire: bool = False) -> Call:
    row = table.by_kind("batch/v1" if kind == "Job" else "v1", kind)
    assert row is not None
    query = {"fieldManager": ("tester",)}
    if wire:
        sent = encode({"kind": kind, "apiVersion": row.group_version, **value, "status": {}})
        return Call(row, "create", namespace, query=query, body=sent, content_type="application/json")
    return Call(row, "create", namespace, query=query, value=value)


def created(
    kind: str,
    objs: list[Obj],
    *,
    wire: bool = False,
    shortcuts: bool = True,
    owned: bool = True,
    rng: type[random.Random] = random.Random,
) -> list[Any]:
    """What becomes of these objects, one after the other: all that is written, or the refusal."""

    async def play() -> list[Any]:
        store = Store.open(None)
        api = Api(ApiParts(store, FixedClock(), rng(1), shortcuts=shortcuts, owns_fields=owned))
        for name in ("ns", "closed", "narrow", "full"):
            create.create(api, a_call("Namespace", {"metadata": {"name": name}}, ""))
        for name, most in (("narrow", "5"), ("full", "0")):
            hard = {"count/jobs.batch": most, "count/pods": most}
            quota = {"metadata": {"name": "q"}, "spec": {"hard": hard}}
            create.create(api, a_call("ResourceQuota", quota, name))
        closed = store.latest(Key("namespaces", "", "closed"))
        assert closed is not None
        store.stage(closed.key, {**closed.obj, "status": {"phase": "Terminating"}})
        found: list[Any] = []
        for value in objs:
            where = value["metadata"].get("namespace", "ns").replace("elsewhere", "ns")
            before = copy_of(value)
            call = a_call(kind, value, where, wire=wire)
            try:
                answer = create.create(api, call)
                found.append([one.entry.raw for one in answer.staged])
            except StatusError as err:
                found.append((err.code, err.message, err.details))
            except DecodeError as err:
                found.append(str(err))
            found.append(call.warnings)
            assert value == before
        await store.close()
        return found

    return asyncio.run(play())


class OneSuffix(random.Random):
    """Dice that give every generated name the same suffix."""

    def getrandbits(self, k: int, /) -> int:
        return 7


def same_on_the_long_way(kind: str, objs: list[Obj], *, wire: bool = False) -> bool:
    return created(kind, objs, wire=wire) == created(kind, objs, wire=wire, shortcuts=False)


def with_spec(spec: Obj, metas: list[Obj]) -> list[Obj]:
    """Objects with this spec and metadata, after two others with that spec."""
    return [{"metadata": meta, "spec": spec} for meta in ({"name": "first"}, {"name": "taken"}, *metas)]


@pytest.mark.parametrize("wire", [False, True], ids=["value", "body"])
@pytest.mark.parametrize("kind", ["Pod", "Job"])
@pytest.mark.parametrize("meta", METADATA.values(), ids=METADATA)
def test_metadata_is_judged_the_same(meta: Obj, kind: str, wire: bool) -> None:
    spec = POD_SPEC if kind == "Pod" else {"template": {"spec": POD_SPEC}}
    assert same_on_the_long_way(kind, with_spec(spec, [meta]), wire=wire)


@pytest.mark.parametrize("shortcuts", [True, False])
def test_no_object_is_written_over_when_chance_gives_no_free_name(shortcuts: bool) -> None:
    objs = with_spec(POD_SPEC, [{"generateName": "a-"}, {"generateName": "a-"}])
    *_, first, _, second, _ = created("Pod", objs, shortcuts=shortcuts, rng=OneSuffix)
    assert len(first) == 1
    assert second[0] == 409


METAS: list[Obj] = [
    {"name": "a"},
    {"generateName": "b-", "labels": {"x": "y"}},
    {"name": "c", "ownerReferences": [OWNER]},
    {"name": "d", "ownerReferences": [{**OWNER, "uid": "other"}]},
    {"name": "e" * 61},
    {"name": "f.g"},
]


@pytest.mark.parametrize("change", PODS.values(), ids=PODS)
def test_pods_alike_are_the_same_as_others(change: Obj) -> None:
    assert same_on_the_long_way("Pod", with_spec({**POD_SPEC, **change}, METAS))


@pytest.mark.parametrize("change", JOBS.values(), ids=JOBS)
def test_jobs_alike_are_the_same_as_others(change: Obj) -> None:
    assert same_on_the_long_way("Job", with_spec({"template": {"spec": POD_SPEC}, **change}, METAS))


TOLD: dict[str, list[Obj]] = {
    "words": [{"command": ["a"], "args": ["b", "c"]}, {"command": ["x", "y"], "args": ["ä"]}],
    "no words": [{"command": ["a"]}, {"args": ["a"]}, {"command": []}, {"command": None}, {}],
    "no texts": [{"command": ["a"]}, {"command": True}, {"command": ["a", 1]}, {"command": ["a", None]}],
    "values": [{"env": [{"name": "A", "value": value}]} for value in ("1", "2", "$(B)", "", None, 7)],
    "other names": [{"env": [{"name": name, "value": "1"}]} for name in ("A", "B", "", "=", None)],
    "a name twice": [
        {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": value}]}
        for value in ("1", "$(A):2", "3")
    ],
    "values from elsewhere": [
        {"env": [{"name": "A", "value": value, "valueFrom": {"fieldRef": {"fieldPath": path}}}]}
        for value, path in (("", "metadata.name"), ("1", "metadata.name"), ("", "wrong"))
    ],
    "what is not there": [{"env": []}, {"env": None}, {"env": [None]}, {"env": [{"name": "A"}]}],
    "odd names of words": [{"command": ["a"]}, {"commands": ["a"]}],
}


@pytest.mark.parametrize("wire", [False, True], ids=["value", "body"])
@pytest.mark.parametrize("kind", ["Pod", "Job"])
@pytest.mark.parametrize("said", TOLD.values(), ids=TOLD)
def test_what_containers_are_told_makes_no_other_difference(said: list[Obj], kind: str, wire: bool) -> None:
    objs = []
    for n, each in enumerate((*said, *said)):
        containers = [{"name": "main", "image": "busybox", **each}, {"name": "b", "image": "b"}]
        pod = {**POD_SPEC, "containers": containers}
        spec = pod if kind == "Pod" else {"template": {"spec": pod}}
        objs.append({"metadata": {"name": f"a{n}"}, "spec": spec})
    assert same_on_the_long_way(kind, objs, wire=wire)


def test_objects_that_differ_in_words_only_are_alike() -> None:
    async def play() -> None:
        store = Store.open(None)
        api = Api(ApiParts(store, RealClock(), random.Random(), shortcuts=True))
        create.create(api, a_call("Namespace", {"metadata": {"name": "ns"}}, ""))
        made = []
        for n in "12":
            said = {
                "command": ["run", n],
                "env": [{"name": "N", "value": n}],
                "resources": {"limits": {"cpu": 1}},
            }
            spec = {**POD_SPEC, "containers": [{**POD_SPEC["containers"][0], **said}]}
            call = a_call("Pod", {"metadata": {"name": f"p{n}"}, "spec": spec}, "ns")
            made.append(create.create(api, call).view()["spec"]["containers"][0])
            spec["containers"][0]["command"][1] = "changed by its owner"
        assert [c["command"][1] + c["env"][0]["value"] for c in made] == ["11", "22"]
        assert made[0]["resources"] is made[1]["resources"]
        await store.close()

    asyncio.run(play())


@pytest.mark.parametrize("owned", [True, False], ids=["owned", "nobody's"])
@pytest.mark.parametrize("kind", ["Pod", "Job"])
def test_the_second_of_a_sort_is_not_decoded(kind: str, owned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = POD_SPEC if kind == "Pod" else {"template": {"spec": POD_SPEC}}
    decoded: list[Obj] = []
    read = body.object_of

    def noted(call: Call, *arguments: Any) -> Obj:
        if call.resource.kind == kind:
            decoded.append(call.value["metadata"])
        return read(call, *arguments)

    monkeypatch.setattr(body, "object_of", noted)
    created(kind, with_spec(spec, METAS), owned=owned)
    assert decoded == [{"name": "first"}, {"name": "f.g"}]


@pytest.mark.parametrize("kind", ["Pod", "Job"])
def test_where_nobody_owns_fields_objects_alike_are_the_same_as_others(kind: str) -> None:
    spec = POD_SPEC if kind == "Pod" else {"template": {"spec": POD_SPEC}}
    written = created(kind, with_spec(spec, METAS), owned=False)
    assert written == created(kind, with_spec(spec, METAS), owned=False, shortcuts=False)
    assert b"managedFields" not in b"".join(raw for raws in written[::2] for raw in raws)


def test_jobs_alike_have_labels_and_selectors_of_their_own() -> None:
    async def play() -> None:
        store = Store.open(None)
        api = Api(ApiParts(store, RealClock(), random.Random(), shortcuts=True))
        create.create(api, a_call("Namespace", {"metadata": {"name": "ns"}}, ""))
        spec = {"template": {"metadata": {"labels": {"app": "x"}}, "spec": POD_SPEC}}
        made = [
            create.create(api, a_call("Job", {"metadata": {"name": name}, "spec": spec}, "ns")).view()
            for name in ("a", "b", "c")
        ]
        for job in made:
            meta, template = job["metadata"], job["spec"]["template"]["metadata"]
            assert template["labels"] == meta["labels"]
            assert template["labels"] is not meta["labels"]
            assert template["labels"]["job-name"] == meta["name"]
            assert template["labels"]["controller-uid"] == meta["uid"]
            selected = {"matchLabels": {"batch.kubernetes.io/controller-uid": meta["uid"]}}
            assert job["spec"]["selector"] == selected
        await store.close()

    asyncio.run(play())
