"""Pods, PodGroups, CronJobs and JobFlows that Volcano's webhooks refuse."""

from __future__ import annotations

from typing import Any

import pytest

from support.api_in_memory import Server
from support.volcano_manifests import (
    CRON_JOBS,
    FLOWS,
    JOBS,
    MERGE,
    POD_GROUPS,
    PODS,
    created,
    cron_job,
    denied,
    flow,
    job,
    pod,
    pod_group,
)
from support.volcano_queues import QUEUE, open_queue

pytestmark = pytest.mark.anyio

LEAST, MOST = "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"
TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously."
BOTH = {"highestTierAllowed": 1, "highestTierName": "a"}


@pytest.mark.parametrize(
    ("annotations", "why"),
    [
        ({LEAST: "1", MOST: "1"},
         f"not allow configure multiple annotations <[{LEAST} {MOST}]> at same time"),
        ({LEAST: "many"}, f'invalid value strconv.Atoi: parsing "many": invalid syntax for {LEAST}'),
        ({LEAST: "0"}, f'invalid value <"0"> for {LEAST}, it must be a positive integer'),
        ({MOST: "100%"},
         f'invalid value <"100%"> for {MOST}, it must be a valid percentage which between 1% ~ 99%'),
    ],
)  # fmt: skip
async def test_pods_of_volcano_have_one_sensible_budget(
    server: Server, annotations: dict[str, str], why: str
) -> None:
    assert denied(await server.send("POST", PODS, pod(annotations)), "validatepod") == why
    assert (await server.send("POST", PODS, pod(annotations, scheduler="other"))).code == 201


async def test_a_fair_budget_is_taken(server: Server) -> None:
    await created(server, PODS, pod({LEAST: "50%"}))


async def test_a_queue_that_has_no_state_yet_takes_jobs_and_pod_groups(server: Server) -> None:
    await server.client.create(QUEUE, {"metadata": {"name": "fresh"}, "spec": {}})
    await created(server, JOBS, job(queue="fresh"))
    await created(server, POD_GROUPS, pod_group(queue="fresh"))


async def test_a_pod_group_needs_an_open_queue(server: Server) -> None:
    await open_queue(server.client, "shut", state="Closed")

    async def refused(**spec: Any) -> str:
        return denied(await server.send("POST", POD_GROUPS, pod_group(**spec)), "validatepodgroup")

    missing = 'unable to find queue: queue.scheduling.volcano.sh "nowhere" not found'
    assert await refused(queue="nowhere") == missing
    assert await refused(queue="nowhere", networkTopology=BOTH) == f"{missing}; {TIERS}"
    assert await refused(subGroupPolicy=[{"name": "s", "networkTopology": BOTH}]) == (
        f"in subGroupPolicy 's': {TIERS}"
    )
    assert await refused(queue="shut") == (
        "can only submit PodGroup to queue with state `Open`, queue `shut` status is `Closed`."
    )


async def test_a_namespace_may_name_the_queue_of_its_pod_groups(server: Server) -> None:
    await open_queue(server.client, "ours")
    mark = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "ours"}}}
    await server.client.patch(("v1", "Namespace"), "default", mark)
    assert (await created(server, POD_GROUPS, pod_group()))["spec"]["queue"] == "ours"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (cron_job(schedule=""), "schedule is required, but got empty"),
        (cron_job(schedule="every day"), "schedule is not a valid cron expression"),
        (cron_job(schedule="TZ=UTC * * * * *"),
         "schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field"),
        (cron_job(timeZone="Mars/Base"), "invalid timeZone"),
        (cron_job(timeZone="local"),
         "timeZone can't be Local, and must be defined in https://www.iana.org/time-zones"),
        (cron_job(timeZone=""), "timeZone must be nil or non-empty string, got empty string"),
        (cron_job(name="c" * 53),
         "cronJob name must be no more than 52 characters to accommodate job name suffix (max 63 total)"),
        (cron_job(schedule="x", timeZone="Mars Base"),
         "schedule is not a valid cron expression; unknown timeZone; invalid timeZone"),
    ],
)  # fmt: skip
async def test_a_cron_job_needs_a_schedule_a_zone_and_a_name(
    server: Server, body: dict[str, Any], why: str
) -> None:
    assert denied(await server.send("POST", CRON_JOBS, body), "validatecronjob") == why


async def test_a_cron_job_is_checked_again_when_it_changes(server: Server) -> None:
    await created(server, CRON_JOBS, cron_job())
    answer = await server.send("PATCH", f"{CRON_JOBS}/c", {"spec": {"schedule": "x"}}, type=MERGE)
    assert denied(answer, "validatecronjob") == "schedule is not a valid cron expression"


@pytest.mark.parametrize(
    ("flows", "why"),
    [
        ([("a", ["b"]), ("b", ["a"])], "jobflow Flow is not DAG"),
        ([("a", ["zz"])], "jobflow Flow is not DAG: vertex is not defined: zz"),
    ],
)
async def test_flows_must_have_an_order(server: Server, flows: list[tuple[str, list[str]]], why: str) -> None:
    body = flow(*({"name": name, "dependsOn": {"targets": targets}} for name, targets in flows))
    assert denied(await server.send("POST", FLOWS, body), "validatejob") == why
