"""Explanations: kept through a restart, found by discovery, allowed by RBAC, asked for by name."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import msgspec

from longshore.api.types import Obj
from longshore.apiserver.request.call import User
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.store import Store
from longshore.testing import Run, ScriptedNode
from longshore.testing.world import World
from why.why_stage import JOBS, Stage, a_job, play

ROOT = "/apis/longshore.dev/v1"
DEFAULT = f"{ROOT}/namespaces/default/explanations"


async def got(client: LocalClient, path: str) -> tuple[int, Obj]:
    response = await client.request("GET", path)
    return response.code, msgspec.json.decode(response.body)


def test_a_story_is_still_told_after_a_restart(tmp_path: Path) -> None:
    async def lived(job: Obj | None) -> list[str]:
        """The story of the Job, once it has failed, in one life of a longshore on disk."""
        clock, rng = RealClock(), random.Random(7)
        store = Store.open(tmp_path / "data")
        plane = World(clock, rng=rng, store=store).plane
        await plane.prepare()
        async with plane.running(ScriptedNode(clock, lambda container: Run(code=1))):
            if job is not None:
                await plane.client.create(JOBS, job, "default")
            story: list[str] = []
            while not story or not story[-1].startswith("the Job failed: BackoffLimitExceeded"):
                await clock.sleep(0.02)
                _, told = await got(plane.client, f"{DEFAULT}/job.x")
                story = [line["words"] for line in told["story"]]
        await store.close()
        return story

    before = asyncio.run(lived(a_job(backoffLimit=0)))
    assert before[0] == "created 1 pod"
    assert asyncio.run(lived(None)) == before


def test_they_are_found_by_discovery() -> None:
    async def script(stage: Stage) -> None:
        _, listed = await got(stage.client, ROOT)
        found = {each["name"]: (each["namespaced"], each["verbs"]) for each in listed["resources"]}
        assert found["clusterexplanations"] == (False, ["get"])
        assert found["explanations"] == (True, ["get"])

    play(script, node=False)


def test_they_are_for_those_whom_a_role_allows() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(2)
        bob = LocalClient(stage.plane.api, user=User("bob", ("system:authenticated",)))
        code, refused = await got(bob, f"{DEFAULT}/job.x")
        assert code == 403
        assert 'cannot get resource "explanations" in API group "longshore.dev"' in refused["message"]
        rules = [{"apiGroups": ["longshore.dev"], "resources": ["explanations"], "verbs": ["get"]}]
        rbac = "rbac.authorization.k8s.io"
        await stage.create((f"{rbac}/v1", "Role"), {"metadata": {"name": "why"}, "rules": rules})
        binding = {
            "metadata": {"name": "why"},
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "why"},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": "bob"}],
        }
        await stage.create((f"{rbac}/v1", "RoleBinding"), binding)
        assert (await got(bob, f"{DEFAULT}/job.x"))[0] == 200

    play(script)


def test_names_that_mean_nothing_are_not_found() -> None:
    async def script(stage: Stage) -> None:
        code, none = await got(stage.client, f"{DEFAULT}/job.none")
        assert (code, none["message"]) == (404, 'jobs.batch "none" not found')
        for name in ("job", "service.x", "queue.default", "job."):
            assert (await got(stage.client, f"{DEFAULT}/{name}"))[0] == 404
        assert (await got(stage.client, f"{ROOT}/clusterexplanations/job.x"))[0] == 404
        assert (await got(stage.client, f"{ROOT}/clusterexplanations/queue.default"))[0] == 200

    play(script, node=False)
