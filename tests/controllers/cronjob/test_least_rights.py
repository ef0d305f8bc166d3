"""The rights that `longshore manifests` gives the controller are enough, and none of them is idle."""

from __future__ import annotations

from typing import Any

from controllers.cronjob.cron_world import JOBS, World
from controllers.cronjob.test_living_cronjobs import play
from longshore.apiserver.request.call import User
from longshore.client import DeleteOptions
from longshore.client.local import LocalClient
from longshore.testing.stories import beside
from longshore.up import manifests

RBAC = "rbac.authorization.k8s.io"
ONLY_ELSEWHERE = {("update", "batch", "cronjobs/finalizers")}
"""Asked for by an admission plugin that longshore does not have."""
AFTER_A_LOSS = {("list", "batch", "cronjobs"), ("list", "batch", "jobs"), ("patch", "", "events")}
"""Asked for when a watch was lost, on servers without streamed lists, and when an event repeats."""


def granted() -> set[tuple[str, str, str]]:
    return {
        (verb, group, resource)
        for rule in manifests.rules(["cronjob"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


class Noting(LocalClient):
    """Notes what is asked for, in RBAC's words."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asked: set[tuple[str, str, str]] = set()

    def _call(self, ask: Any) -> Any:
        resource = "/".join(filter(None, (ask.resource.plural, ask.subresource)))
        self.asked.add((ask.verb, ask.resource.group, resource))
        return super()._call(ask)


def test_the_rights_are_enough_and_each_is_used() -> None:
    async def story(world: World) -> None:
        role = {"metadata": {"name": "cron"}, "rules": manifests.rules(["cronjob"])}
        await world.client.create((f"{RBAC}/v1", "ClusterRole"), role)
        binding = {
            "metadata": {"name": "cron"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cron"},
            "subjects": [{"kind": "User", "name": "cron", "apiGroup": RBAC}],
        }
        await world.client.create((f"{RBAC}/v1", "ClusterRoleBinding"), binding)
        client = Noting(world.api, user=User("cron", ("system:authenticated",)))
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
        assert client.asked <= granted()
        assert granted() - client.asked <= ONLY_ELSEWHERE | AFTER_A_LOSS

    play(story)
