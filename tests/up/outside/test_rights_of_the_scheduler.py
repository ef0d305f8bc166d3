"""The rights that `longshore manifests --scheduler` gives are enough for all that the scheduler does."""

from __future__ import annotations

from longshore.api.facts import queue_gate
from longshore.up import manifests
from support.rights import Noting, rights_of
from support.scheduling_scene import PODS, Scene, play, pod

NOT_STREAMED = {"list"}
"""Asked for on servers that do not stream lists."""
VOLCANO = "scheduling.volcano.sh"
ONLY_SOMETIMES = {
    ("create", VOLCANO, "queues"),
    ("get", VOLCANO, "queues"),
    ("get", "", "pods"),
    ("patch", "", "events"),
}
"""Queues are made at the start of a process; a binding whose answer was lost is looked up; an event that is
said again is counted."""
CLASSES, CLAIMS = ("storage.k8s.io/v1", "StorageClass"), ("v1", "PersistentVolumeClaim")


async def _much(scene: Scene) -> None:
    await scene.node(give={"cpu": "4"})
    await scene.priority("high", 1000)
    await scene.gang("g", 2, 2, {"cpu": "1"})
    await scene.settle()
    assert len(await scene.bound("g")) == 2
    asks = {"annotations": {"scheduling.k8s.io/group-name": "g", queue_gate.KEY: "true"}}
    await scene.client.create(PODS, pod("asks", {"cpu": "1m"}, schedulerName="volcano", meta=asks), "default")
    await scene.gang("waits", 2, 2, {"cpu": "2"})
    await scene.pod("low", {"cpu": "2"})
    await scene.settle()
    await scene.pod("urgent", {"cpu": "2"}, priorityClassName="high")
    await scene.settle(5)
    await scene.delete("low")
    await scene.settle(5)
    later = {"metadata": {"name": "later"}, "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}
    await scene.client.create(CLASSES, later)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await scene.client.create(
        CLAIMS, {"metadata": {"name": "c"}, "spec": {**claim, "storageClassName": "later"}}, "default"
    )
    await scene.pod("claims", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    await scene.settle()


def test_the_rights_are_enough_and_each_is_used() -> None:
    asked: set[tuple[str, str, str]] = set()

    async def story(scene: Scene) -> None:
        await scene.stop()
        noting = Noting(scene.client.api)
        person, scene.client = scene.client, noting
        scene.start()
        scene.client = person
        await _much(scene)
        asked.update(noting.asked)

    play(story)
    granted = rights_of(manifests.rules(["scheduler"]))
    assert asked <= granted
    idle = {right for right in granted - asked if right[0] not in NOT_STREAMED}
    assert idle == ONLY_SOMETIMES
