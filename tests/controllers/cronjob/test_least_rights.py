"""The rights that `longshore manifests` gives the controller are enough, and none of them is idle."""

from __future__ import annotations

from controllers.cronjob.cron_world import JOBS, World
from controllers.cronjob.test_living_cronjobs import play
from longshore.client import DeleteOptions
from longshore.testing.stories import beside
from longshore.up import manifests
from support.rights import Noting, grant, rights_of

ONLY_ELSEWHERE = {("update", "batch", "cronjobs/finalizers")}
"""Asked for by an admission plugin that longshore does not have."""
AFTER_A_LOSS = {("list", "batch", "cronjobs"), ("list", "batch", "jobs"), ("patch", "", "events")}
"""Asked for when a watch was lost, on servers without streamed lists, and when an event repeats."""


def test_the_rights_are_enough_and_each_is_used() -> None:
    rules = manifests.rules(["cronjob"])

    async def story(world: World) -> None:
        client = Noting(world.api, user=await grant(world.client, "cron", rules))
        await world.cronjob("* * * * *", "keeps-one", successfulJobsHistoryLimit=1)
        await world.cronjob("* * * * *", "replaces", concurrencyPolicy="Replace")
        ends = beside(world.ending(lambda job: 10.0 if job["metadata"]["name"][0] == "k" else None))
        async with beside(world.controller(client).run()), ends:
            await world.clock.sleep(200)
            stray = dict((await world.client.list(JOBS, "ns")).items[0])
            meta = {"name": "stray", "ownerReferences": stray["metadata"]["ownerReferences"]}
            spec = {"template": {"spec": stray["spec"]["template"]["spec"]}}
            await world.client.create(JOBS, {"metadata": meta, "spec": spec}, "ns")
            await world.clock.sleep(1)
            await world.client.delete(JOBS, "stray", "ns", DeleteOptions(propagation="Background"))
            await world.clock.sleep(60)
            assert not await world.events("FailedCreate")
            assert not await world.events("FailedDelete")
        assert (await world.status("keeps-one"))["lastScheduleTime"] == "2026-06-15T09:04:00Z"
        assert client.asked <= rights_of(rules)
        assert rights_of(rules) - client.asked <= ONLY_ELSEWHERE | AFTER_A_LOSS

    play(story)
