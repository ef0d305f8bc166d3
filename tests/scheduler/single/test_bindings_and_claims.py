"""Bindings that fail, and volumes that come with the pod."""

from __future__ import annotations

import asyncio
from typing import Any

from longshore.api import errors
from longshore.api.types import Obj
from longshore.client import Unreachable
from longshore.client.local import LocalClient
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.informers.informer import Informers
from longshore.scheduler.acting.reporting import Reporter
from longshore.scheduler.fitting.pod_shape import Shapes
from support.scheduling_scene import NODES, PODS, QUEUES, Scene, play

CLAIMS, VOLUMES = ("v1", "PersistentVolumeClaim"), ("v1", "PersistentVolume")
CLASSES = ("storage.k8s.io/v1", "StorageClass")
SELECTED = "volume.kubernetes.io/selected-node"


class Faulty:
    """Spoils the first bindings of a client in this process."""

    def __init__(self, client: LocalClient, *faults: Any) -> None:
        self._create, self._faults, self.tries = client.create, [*faults], 0
        client.create = self.create  # type: ignore[method-assign]

    async def create(self, what: Any, obj: Obj, namespace: str = "", **more: Any) -> Obj:
        if more.get("subresource") != "binding" or not self._faults:
            return await self._create(what, obj, namespace, **more)
        self.tries += 1
        fault = self._faults.pop(0)
        if fault == "lost":
            await self._create(what, obj, namespace, **more)
            raise Unreachable("no answer")
        raise fault


def test_a_binding_that_the_server_refuses_is_tried_again_and_told() -> None:
    async def story(scene: Scene) -> None:
        faulty = Faulty(scene.client, errors.internal("no"), errors.internal("no"))
        await scene.node()
        await scene.pod("p", {"cpu": "2"})
        await scene.settle(0.5)
        condition = await scene.condition("p")
        assert (condition["reason"], condition["status"]) == ("SchedulerError", "False")
        await scene.settle(0.8)
        assert await scene.node_of("p") == ""
        await scene.settle(2)
        assert await scene.node_of("p") == "n1"
        assert faulty.tries == 2

    play(story)


def test_room_whose_binding_got_no_answer_is_not_given_away() -> None:
    async def story(scene: Scene) -> None:
        Faulty(scene.client, "lost")
        await scene.node()
        await scene.pod("p", {"cpu": "2"})
        await scene.pod("q", {"cpu": "2"})
        await scene.settle(5)
        assert [await scene.node_of(name) for name in ("p", "q")] == ["n1", ""]

    play(story)


def test_while_the_server_is_away_the_pod_keeps_its_room() -> None:
    async def story(scene: Scene) -> None:
        Faulty(scene.client, Unreachable("away"), Unreachable("away"))
        await scene.node()
        await scene.pod("p", {"cpu": "2"})
        await scene.settle(0.1)
        await scene.pod("q", {"cpu": "2"})
        await scene.settle(10)
        assert [await scene.node_of(name) for name in ("p", "q")] == ["n1", ""]

    play(story)


def test_a_pod_that_goes_while_it_is_bound_leaves_its_room() -> None:
    async def story(scene: Scene) -> None:
        Faulty(scene.client, Unreachable("away"))
        await scene.node()
        await scene.pod("p", {"cpu": "2"})
        await scene.settle(0.01)
        await scene.delete("p")
        await scene.pod("q", {"cpu": "2"})
        await scene.settle(5)
        assert await scene.node_of("q") == "n1"

    play(story)


async def lazy_claim(scene: Scene) -> None:
    lazy = {"metadata": {"name": "lazy"}, "provisioner": "x.y/z", "volumeBindingMode": "WaitForFirstConsumer"}
    await scene.client.create(CLASSES, lazy)
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "lazy",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    await scene.client.create(CLAIMS, {"metadata": {"name": "c"}, "spec": spec}, "default")
    await scene.pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])


async def provision(scene: Scene) -> None:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "storageClassName": "lazy",
    }
    await scene.client.create(VOLUMES, {"metadata": {"name": "pv"}, "spec": spec})
    await scene.client.patch(CLAIMS, "c", {"spec": {"volumeName": "pv"}}, "default")
    bound = {"status": {"phase": "Bound"}}
    await scene.client.patch(CLAIMS, "c", bound, "default", subresource="status")


def test_a_volume_that_waits_for_its_consumer_is_made_where_the_pod_goes() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await lazy_claim(scene)
        await scene.settle()
        claim = await scene.client.get(CLAIMS, "c", "default")
        assert claim["metadata"]["annotations"][SELECTED] == "n1"
        assert await scene.node_of("p") == ""
        await provision(scene)
        await scene.settle(0.1)
        assert await scene.node_of("p") == "n1"

    play(story)


def test_a_node_that_a_provisioner_gives_back_is_chosen_anew() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await lazy_claim(scene)
        await scene.settle()
        back = {"metadata": {"annotations": {SELECTED: None}}}
        await scene.client.patch(CLAIMS, "c", back, "default")
        await scene.settle(0.5)
        assert (await scene.condition("p"))["reason"] == "SchedulerError"
        await scene.settle(2)
        claim = await scene.client.get(CLAIMS, "c", "default")
        assert claim["metadata"]["annotations"][SELECTED] == "n1"

    play(story)


def test_a_missing_claim_is_told_and_waited_for() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}])
        await scene.settle()
        message = (await scene.condition("p"))["message"]
        assert message.startswith('0/1 nodes are available: persistentvolumeclaim "none" not found.')

    play(story)


def test_what_was_there_before_counts_after_a_restart() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.pod("p", {"cpu": "1500m"})
        await scene.settle()
        assert (await scene.client.get(PODS, "p", "default"))["spec"]["nodeName"] == "n1"
        await scene.restart()
        await scene.pod("q", {"cpu": "1"})
        await scene.settle()
        assert await scene.node_of("q") == ""

    play(story)


def test_what_others_in_the_process_have_cached_already_is_seen() -> None:
    async def story(scene: Scene) -> None:
        await scene.stop()
        scene.informers = Informers(scene.client, clock=scene.clock, rng=scene.clock.rng)
        others = scene.informers.share()
        for what in (PODS, ("v1", "Node"), ("scheduling.volcano.sh/v1beta1", "PodGroup"), QUEUES):
            others.get(what)
        following = asyncio.create_task(others.run())
        await scene.node()
        await scene.pod("p", {"cpu": "500m"})
        await scene.gang("g", 2, 2, {"cpu": "500m"})
        await scene.settle()
        for _ in range(2):  # and once more after a restart
            scene.start()
            await scene.settle()
            assert (await scene.node_of("p"), len(await scene.bound("g-"))) == ("n1", 2)
            await scene.stop()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    play(story)


def test_a_report_that_is_withdrawn_before_its_turn_harms_nobody() -> None:
    async def story(scene: Scene) -> None:
        recorder = Recorder(scene.client, "test", clock=scene.clock, rng=scene.clock.rng)
        reporter = Reporter(scene.client, recorder, scene.clock, lambda uid: True)
        running = asyncio.create_task(reporter.run())
        await scene.settle()
        pod = Shapes().pod(await scene.pod("p", schedulerName="nobody"))
        reporter.waits(pod, "too early")
        reporter.placed(pod.uid)
        await scene.settle()
        reporter.waits(pod, "for good")
        await scene.settle()
        assert (await scene.condition("p"))["message"] == "for good"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    play(story)


async def nominated(scene: Scene) -> None:
    """The node `n1`, on which `low` leaves for the more important pod `high`."""
    await scene.priority("high", 1000)
    await scene.node()
    await scene.pod("low", {"cpu": "2"})
    await scene.settle()
    await scene.pod("high", {"cpu": "2"}, priorityClassName="high")
    await scene.settle()


def test_room_is_not_kept_for_a_pod_that_went_while_it_was_bound() -> None:
    async def story(scene: Scene) -> None:
        away = [Unreachable("away") for _ in range(3)]
        await nominated(scene)
        Faulty(scene.client, *away)
        await scene.delete("low")
        await scene.settle(0.1)
        await scene.delete("high")
        await scene.pod("next", {"cpu": "2"})
        await scene.settle(60)
        assert await scene.node_of("next") == "n1"

    play(story)


def test_room_is_not_kept_for_a_pod_that_ended_after_a_binding_without_an_answer() -> None:
    async def story(scene: Scene) -> None:
        await nominated(scene)
        Faulty(scene.client, "lost")
        await scene.delete("low")
        await scene.settle(5)
        assert await scene.node_of("high") == "n1"
        await scene.delete("high")
        await scene.pod("next", {"cpu": "2"})
        await scene.settle(60)
        assert await scene.node_of("next") == "n1"

    play(story)


def test_a_node_that_comes_back_keeps_no_room_for_a_pod_that_went_meanwhile() -> None:
    async def story(scene: Scene) -> None:
        await nominated(scene)
        await scene.client.delete(NODES, "n1")
        await scene.settle()
        await scene.delete("high")
        await scene.settle()
        await scene.node()
        await scene.delete("low")
        await scene.pod("next", {"cpu": "2"})
        await scene.settle(60)
        assert await scene.node_of("next") == "n1"

    play(story)
