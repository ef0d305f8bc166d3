"""Pods with fewer walls than usual need a right that the accounts of pods have not, by whatever object."""

from __future__ import annotations

import re
from typing import Any

import pytest

from longshore.api import embedded_pods, schema
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.kinds.table import RESOURCES
from longshore.api.types import Obj
from longshore.apiserver.request.call import User
from longshore.controllers import rights
from support.door import Door

pytestmark = [pytest.mark.anyio, pytest.mark.long]

ACCOUNT = User(
    "system:serviceaccount:default:default",
    ("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"),
)
ISOLATION = "longshore.dev/isolation"
PATHS: list[Obj] = [{"name": "h", "hostPath": {"path": "/"}}]
WISHES: dict[str, Any] = {
    "no walls": ({ISOLATION: "none"}, {}, {}),
    "fewer walls": ({ISOLATION: "process"}, {}, {}),
    "a path of the machine": ({}, {"volumes": PATHS}, {}),
    "all rights": ({}, {}, {"privileged": True}),
    "the processes of the machine": ({}, {"hostPID": True}, {}),
    "the IPC of the machine": ({}, {"hostIPC": True}, {}),
    "the network of the machine": ({}, {"hostNetwork": True}, {}),
    "a capability": ({}, {}, {"capabilities": {"add": ["SYS_ADMIN"]}}),
    "device files": ({}, {}, {"capabilities": {"add": ["MKNOD"]}}),
    "any system call": ({}, {}, {"seccompProfile": {"type": "Unconfined"}}),
}


def template(annotations: Obj, spec: Obj, context: Obj) -> Obj:
    container = {"name": "c", "image": "i", "command": ["true"], "securityContext": context}
    return {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


def _tasks(pod: Obj) -> Obj:
    return {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": pod}]}


def job(pod: Obj, name: str = "x") -> Obj:
    return {"metadata": {"name": name}, "spec": {"template": pod}}


def objects(pod: Obj) -> dict[tuple[str, str], Obj]:
    """An object of each kind that pods are made of."""
    meta = {"name": "x"}
    spec = {**pod["spec"], "restartPolicy": "Always"}
    return {
        kinds.PODS: {**pod, "metadata": {**pod["metadata"], **meta}},
        ("v1", "PodTemplate"): {"metadata": meta, "template": pod},
        ("v1", "ReplicationController"): {
            "metadata": meta,
            "spec": {
                "selector": {"a": "b"},
                "template": {"metadata": {**pod["metadata"], "labels": {"a": "b"}}, "spec": spec},
            },
        },
        kinds.JOBS: job(pod),
        kinds.CRON_JOBS: {
            "metadata": meta,
            "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": pod}}},
        },
        ("batch.volcano.sh/v1alpha1", "Job"): {"metadata": meta, "spec": _tasks(pod)},
        ("batch.volcano.sh/v1alpha1", "CronJob"): {
            "metadata": meta,
            "spec": {"schedule": "@daily", "jobTemplate": {"spec": _tasks(pod)}},
        },
        ("flow.volcano.sh/v1alpha1", "JobTemplate"): {"metadata": meta, "spec": _tasks(pod)},
        ("flow.volcano.sh/v1alpha1", "JobFlow"): {
            "metadata": meta,
            "spec": {"flows": [{"name": "f", "patch": {"jobSpec": _tasks(pod)}}]},
        },
    }


KINDS = list(objects(template({}, {}, {})))


@pytest.fixture
async def account(door: Door) -> Any:
    """A client of a pod that may write every kind of object, and has the rights of pods otherwise."""
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["create", "get", "patch", "update"]}
    await door.give(ACCOUNT, [everything], "default")
    return door.of(ACCOUNT)


def test_the_rights_of_pods_do_not_have_it() -> None:
    for rule in rights.ROLE["rules"]:
        assert "use" not in rule["verbs"]
        assert "*" not in rule["verbs"]


def test_every_kind_that_pods_are_made_of_is_looked_at() -> None:
    def holds(message: str, seen: frozenset[str] = frozenset()) -> bool:
        if message in seen or not message:
            return False
        types = [each.type for each in schema.message(message).fields.values()]
        names = [re.sub(r"^(?:list<|map<string,)(.*)>$", r"\1", each.name) for each in types]
        return any(
            name in ("core/v1.PodTemplateSpec", "core/v1.PodSpec") or holds(name, seen | {message})
            for name in names
            if "/" in name
        )

    having = {each.storage for each in RESOURCES if holds(each.message)}
    assert having == {kind for kind in embedded_pods.PATHS if ".volcano.sh/" not in kind}
    assert {kind for kind in embedded_pods.PATHS if ".volcano.sh/" in kind} == {
        "batch.volcano.sh/jobs",
        "batch.volcano.sh/cronjobs",
        "flow.volcano.sh/jobtemplates",
        "flow.volcano.sh/jobflows",
    }


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES)
async def test_an_account_of_pods_is_refused(
    door: Door, account: Any, kind: tuple[str, str], wish: Any
) -> None:
    obj = objects(template(*wish))[kind]
    with pytest.raises(StatusError, match='violates PodSecurity "isolated:latest"') as refused:
        await account.create(kind, obj, "default")
    assert refused.value.code == 403
    assert "--clusterrole=longshore:privileged-pods --serviceaccount=default:default" in str(refused.value)
    await door.admin.create(kind, obj, "default")


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
async def test_ordinary_pods_are_everybodys(account: Any, kind: tuple[str, str]) -> None:
    await account.create(kind, objects(template({ISOLATION: "full"}, {}, {}))[kind], "default")


async def test_the_right_is_granted_by_the_role_that_the_refusal_names(door: Door, account: Any) -> None:
    await door.bind(ACCOUNT, "longshore:privileged-pods", "default")
    await account.create(kinds.JOBS, job(template({ISOLATION: "none"}, {}, {})), "default")
    await door.admin.create(("v1", "Namespace"), {"metadata": {"name": "other"}})
    assert not door.may(ACCOUNT, "use", "podprofiles.longshore.dev", "other", "privileged")


@pytest.mark.parametrize("role", ["admin", "edit"])
async def test_roles_of_one_namespace_neither_have_nor_give_it(door: Door, role: str) -> None:
    ann = User("ann", ("system:authenticated",))
    await door.bind(ann, role, "default")
    with pytest.raises(StatusError, match="--user=ann"):
        await door.of(ann).create(kinds.JOBS, job(template({}, {"volumes": PATHS}, {})), "default")
    with pytest.raises(StatusError, match="forbidden"):
        await door.of(ann).create(
            kinds.ROLE_BINDINGS,
            {
                "metadata": {"name": "mine"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "longshore:privileged-pods",
                },
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
            },
            "default",
        )


async def test_an_account_may_change_what_the_administrator_made_but_not_what_it_runs(
    door: Door, account: Any
) -> None:
    risky = template({}, {"volumes": PATHS}, {})
    cron = objects(risky)[kinds.CRON_JOBS]
    await door.admin.create(kinds.CRON_JOBS, cron, "default")
    await account.patch(kinds.CRON_JOBS, "x", {"spec": {"suspend": True}}, "default")
    other = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i", "command": ["id"]}]}}}}
    with pytest.raises(StatusError, match='"isolated:latest"'):
        await account.patch(kinds.CRON_JOBS, "x", {"spec": {"jobTemplate": other}}, "default")


async def test_an_annotation_cannot_be_weakened_later(door: Door, account: Any) -> None:
    await account.create(kinds.PODS, objects(template({}, {}, {}))[kinds.PODS], "default")
    for level in ("none", "process"):
        with pytest.raises(StatusError, match='"isolated:latest"'):
            await account.patch(kinds.PODS, "x", {"metadata": {"annotations": {ISOLATION: level}}}, "default")
    await account.patch(kinds.PODS, "x", {"metadata": {"annotations": {"a": "b"}}}, "default")


async def test_the_same_spec_by_the_administrator_before_makes_no_difference(
    door: Door, account: Any
) -> None:
    risky = template({ISOLATION: "none"}, {}, {"privileged": True})
    for name in ("a", "b", "c"):
        await door.admin.create(kinds.JOBS, job(risky, name), "default")
    with pytest.raises(StatusError, match='"isolated:latest"'):
        await account.create(kinds.JOBS, job(risky, "d"), "default")


async def test_the_walls_of_the_node_are_the_usual_ones(door: Door, account: Any) -> None:
    annotations = {"process.engines.longshore.dev/isolation": "process"}
    await door.admin.create(kinds.NODES, {"metadata": {"name": "n", "annotations": annotations}})
    await account.create(kinds.JOBS, job(template({ISOLATION: "process"}, {}, {})), "default")
    with pytest.raises(StatusError, match='which is weaker than "process"'):
        await account.create(kinds.JOBS, job(template({ISOLATION: "none"}, {}, {}), "y"), "default")


async def test_the_label_of_a_namespace_decides_for_everybody_there(door: Door, account: Any) -> None:
    label = "pod-security.longshore.dev/enforce"
    risky = template({ISOLATION: "none"}, {}, {})
    await door.admin.patch(kinds.NAMESPACES, "default", {"metadata": {"labels": {label: "privileged"}}})
    await account.create(kinds.JOBS, job(risky), "default")
    await door.admin.patch(kinds.NAMESPACES, "default", {"metadata": {"labels": {label: "isolated"}}})
    for client in (account, door.admin):
        for kind, obj in ((kinds.JOBS, job(risky, "y")), (kinds.PODS, objects(risky)[kinds.PODS])):
            with pytest.raises(StatusError, match="the namespace is labelled"):
                await client.create(kind, obj, "default")
