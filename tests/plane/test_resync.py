"""`--resync`: every object is looked at again after some time without a change."""

from __future__ import annotations

from datetime import timedelta

import pytest

from longshore.api.types import Obj
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.machinery.work_limits import WorkLimits
from longshore.testing.world import World

RESYNC_SECONDS = 3600.0
POD: Obj = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["x"]}]}
JOB: Obj = {"metadata": {"name": "j"}, "spec": {"template": {"spec": POD}}}
CRON_SPEC: Obj = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": JOB["spec"]}}
GANG: Obj = {
    "metadata": {"name": "g"},
    "spec": {"schedulerName": "volcano", "minAvailable": 1, "tasks": [
        {"name": "w", "replicas": 1, "template": {"spec": POD}}
    ]},
}  # fmt: skip
OBJECTS = {
    "job": ("batch/v1", "Job", JOB),
    "cronjob": ("batch/v1", "CronJob", {"metadata": {"name": "c"}, "spec": CRON_SPEC}),
    "volcano_job": ("batch.volcano.sh/v1alpha1", "Job", GANG),
    "volcano_queue": ("scheduling.volcano.sh/v1beta1", "Queue", {"metadata": {"name": "q"}, "spec": {}}),
}
CONTROLLERS = ("job", "cronjob", "volcano-job", "volcano-queue", "serviceaccount")


@pytest.mark.parametrize("queue", OBJECTS)
def test_an_object_that_its_controller_wrote_last_is_looked_at_again(queue: str) -> None:
    async def story(clock: VirtualClock) -> None:
        limits = WorkLimits(resync=RESYNC_SECONDS)
        plane = World(clock, controllers=CONTROLLERS, limits=limits).plane
        await plane.prepare()
        adds = plane.wiring.registry.counter("workqueue_adds_total", "")
        async with plane.running():
            version, kind, obj = OBJECTS[queue]
            if kind == "CronJob":  # one run, and none within the year
                soon = clock.now() + timedelta(seconds=60)
                obj["spec"]["schedule"] = f"{soon.minute} {soon.hour} {soon.day} {soon.month} *"
            await plane.client.create((version, kind), obj, "" if kind == "Queue" else "default")
            await clock.sleep(180)
            assert adds.value(queue) > 0, adds._values
            before = adds.value(queue)
            await clock.sleep(RESYNC_SECONDS)
            assert adds.value(queue) > before

    virtual.run(story)
