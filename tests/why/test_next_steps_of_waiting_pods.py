"""The next step of a pod that waits, and of the Job or gang it belongs to: it names what ends the wait."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.node.preparing.types import NotReady
from longshore.node.runtime import CannotStart
from longshore.testing import Run
from longshore.why.needs import missing
from why.why_stage import JOBS, PODS, Stage, a_job, a_pod, play

CLAIMS, NODES = ("v1", "PersistentVolumeClaim"), ("v1", "Node")
GANGS = ("batch.volcano.sh/v1alpha1", "Job")
SELECTOR = {"nodeSelector": {"gpu": "yes"}}
CLAIM = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]}
AFFINITY = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
                ]
            }
        }
    }
}
GATED = {"schedulingGates": [{"name": "example.org/approval"}]}
LARGE = {"resources": {"requests": {"cpu": "40"}}}
NO_SETTINGS = CannotStart("CreateContainerConfigError", 'configmap "settings" not found')
NO_COMMAND = CannotStart(
    "CreateContainerError",
    "no command specified: say what image \"x\" runs with: longshore images add 'x:*' -- COMMAND",
)


def a_gang(container: Obj | None = None, **pod: Any) -> Obj:
    main = {"name": "main", "image": "i", "command": ["c"], **(container or {})}
    template = {"spec": {"restartPolicy": "Never", "containers": [main], **pod}}
    task = {"name": "work", "replicas": 2, "template": template}
    return {"metadata": {"name": "g"}, "spec": {"minAvailable": 2, "tasks": [task]}}


def next_of(told: str) -> list[str]:
    """The lines from `next` on."""
    lines = told.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("next "))
    return [line[10:] for line in lines[at:]]


async def a_claim(stage: Stage, storage_class: str = "gold") -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    await stage.create(CLAIMS, {"metadata": {"name": "c"}, "spec": spec})


async def all_three(stage: Stage, pod: Obj, container: Obj | None = None) -> tuple[str, str, str]:
    """The stories of a pod, a Job and a gang whose pods have this spec."""
    await stage.create(PODS, a_pod(container=container, **pod))
    await stage.create(JOBS, a_job(container=container, template=pod))
    await stage.create(GANGS, a_gang(container, **pod))
    await stage.sleep(10)
    return await stage.why("pod/p"), await stage.why("job/x"), await stage.why("vcjob/g")


@pytest.mark.parametrize(
    ("pod", "container", "until", "see"),
    [
        (CLAIM, None, "claim c is bound", "about the claim: longshore why pvc/c"),
        (
            {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "nope"}}]},
            None,
            "claim nope exists",
            "the claims that exist: longshore get pvc",
        ),
        (
            {},
            LARGE,
            "a larger node joins or less is asked for: a pod asks 40 cpu, the largest node has 2",
            "",
        ),
        (
            {},
            {"resources": {"limits": {"example.org/gpu": "1"}}},
            "a larger node joins or less is asked for: a pod asks 1 example.org/gpu, the largest node has 0",
            "",
        ),
        (
            SELECTOR,
            None,
            "a node has the label gpu=yes, which none has",
            "give a node what its nodeSelector asks for: kubectl label node node gpu=yes",
        ),
        (
            AFFINITY,
            None,
            "a node matches its node affinity: zone in (a, b)",
            "the labels that nodes have: longshore get nodes --show-labels",
        ),
        (GATED, None, "the scheduling gates are removed: example.org/approval", ""),
        ({"schedulerName": "mine"}, None, "scheduler mine finds a node", ""),
    ],
)
def test_a_wait_for_a_node_names_what_ends_it(pod: Obj, container: Obj | None, until: str, see: str) -> None:
    async def script(stage: Stage) -> None:
        await a_claim(stage)
        alone, job, gang = await all_three(stage, pod, container)
        for told in (alone, job, gang):
            assert "reemption" not in told
            assert not see or see in next_of(told)
        assert next_of(alone)[0] == f"it starts when {until}"
        assert next_of(job)[0] == f"its pods start when {until}"
        assert next_of(gang)[0] in (f"its pods start when {until}", f"its pods start together when {until}")

    play(script)


@pytest.mark.parametrize(
    ("node", "until", "see"),
    [
        (
            {"taints": [{"key": "own", "value": "b", "effect": "NoSchedule"}]},
            "a node's taints are tolerated or removed: own=b:NoSchedule on node node",
            "",
        ),
        ({"unschedulable": True}, "a cordoned node is uncordoned", "uncordon it: kubectl uncordon node"),
    ],
)
def test_a_node_that_takes_no_pods_is_named(node: Obj, until: str, see: str) -> None:
    async def script(stage: Stage) -> None:
        await stage.client.patch(NODES, "node", {"spec": node})
        await stage.sleep(1)
        alone, job, gang = await all_three(stage, {})
        assert next_of(alone)[0] == f"it starts when {until}"
        assert next_of(job)[0] == f"its pods start when {until}"
        assert next_of(gang)[0] == f"its pods start together when {until}"
        assert not see or all(see in next_of(told) for told in (alone, job, gang))

    play(script)


def test_a_node_that_is_large_enough_but_tainted_is_not_counted_as_room() -> None:
    async def script(stage: Stage) -> None:
        taint = {"key": "own", "effect": "NoSchedule"}
        status = {
            "allocatable": {"cpu": "64", "memory": "64Gi", "pods": "9"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        node = {"metadata": {"name": "large"}, "spec": {"taints": [taint]}, "status": status}
        await stage.client.create(NODES, node)
        await stage.create(PODS, a_pod(container=LARGE))
        await stage.sleep(5)
        too_small = "a larger node joins or less is asked for: a pod asks 40 cpu, the largest node has 2"
        tainted = "a node's taints are tolerated or removed: own:NoSchedule on node large"
        assert next_of(await stage.why("pod/p"))[0].startswith(f"it starts when {too_small}, or {tainted}")

    play(script)


def test_a_pod_that_wants_a_neighbour_names_it() -> None:
    async def script(stage: Stage) -> None:
        term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
        affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        await stage.create(PODS, a_pod(affinity=affinity))
        await stage.sleep(5)
        wanted = "a pod with app=db, which its podAffinity wants as a neighbour, has a node"
        assert next_of(await stage.why("pod/p")) == [f"it starts when {wanted}"]

    play(script)


@pytest.mark.parametrize(
    ("problem", "until"),
    [
        (NO_SETTINGS, "ConfigMap settings exists"),
        (
            CannotStart("CreateContainerConfigError", "couldn't find key k in Secret default/key"),
            "Secret key has the key k",
        ),
        (
            NO_COMMAND,
            "longshore knows what its image runs: longshore images add 'x:*' -- COMMAND",
        ),
    ],
)
def test_a_container_that_cannot_start_names_what_it_lacks(problem: CannotStart, until: str) -> None:
    async def script(stage: Stage) -> None:
        alone, job, gang = await all_three(stage, {})
        again = "it is tried again, after longer and longer pauses"
        assert next_of(alone) == [f"it starts when {until}; {again}"]
        for told, name in ((job, (await stage.pods())[-1]), (gang, "g-work-0")):
            assert next_of(told) == [
                f"its pods start when {until}",
                f"more about a pod: longshore why pod/{name}",
            ]
        waits = f"2 pods (g-work-0, …) wait: container main: {problem.reason}: {problem.message}"
        assert gang.splitlines()[3:5] == ["now       the Job is Pending: 2 pending", f"          {waits}"]
        assert "its gang" not in gang

    play(script, lambda container: Run(fails=problem))


def test_a_gang_whose_pods_cannot_start_is_not_said_to_wait_for_room() -> None:
    async def script(stage: Stage) -> None:
        job = await stage.create(GANGS, a_gang())
        await stage.sleep(10)
        told = await stage.why(f"podgroup/g-{job['metadata']['uid']}")
        assert "now       the gang is Running, minMember is 2\n          2 pods (g-work-0, …) wait: " in told
        assert next_of(told) == [
            "its pods start when ConfigMap settings exists",
            "more about a pod: longshore why pod/g-work-0",
            "about its Volcano Job: longshore why vcjob/g",
        ]

    play(script, lambda container: Run(fails=NO_SETTINGS))


@pytest.mark.parametrize(
    ("message", "until"),
    [
        ('MountVolume.SetUp failed for volume "s" : secret "key" not found', "Secret key exists"),
        (
            'MountVolume.SetUp failed for volume "kube-api-access" : serviceaccounts "robot" not found',
            "ServiceAccount robot exists",
        ),
    ],
)
@pytest.mark.parametrize(("kind", "what"), [(JOBS, "job/x"), (GANGS, "vcjob/g")])
def test_a_volume_of_a_pod_that_is_missing_is_told_by_its_job(
    kind: tuple[str, str], what: str, message: str, until: str
) -> None:
    def refuse(pod: Obj) -> None:
        raise NotReady("FailedMount", message)

    async def script(stage: Stage) -> None:
        await stage.create(kind, a_job() if what == "job/x" else a_gang())
        await stage.sleep(10)
        told = await stage.why(what)
        assert f"wait: {message}" in told or f"waits: {message}" in told
        assert "its gang" not in told
        assert next_of(told)[0] == f"its pods start when {until}"

    play(script, refuse=refuse)


@pytest.mark.parametrize(
    ("words", "until"),
    [
        (
            'pods "g-work-0" is forbidden: error looking up service account default/robot: '
            'serviceaccount "robot" not found',
            "ServiceAccount robot exists",
        ),
        (
            "forbidden: unable to create new content in namespace t because it is being terminated",
            "namespace t, which is being deleted, was created anew",
        ),
        (
            'pods "x-…" is forbidden: failed quota: few: must specify limits.cpu for: main',
            "its containers say limits.cpu, which quota few demands",
        ),
    ],
)
def test_a_refusal_of_the_api_names_what_is_missing(words: str, until: str) -> None:
    step = missing(words)
    assert step is not None
    assert step.until == until
