"""The scripted kubelet: pods start, run, end and go as their script says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.client.local import LocalClient
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing import PodScript, ScriptedKubelet, an_api, beside

PODS, NS = ("v1", "Pod"), "ns"
POD: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "i"}]}}


def played(
    script: PodScript, story: Callable[[VirtualClock, LocalClient, ScriptedKubelet], Awaitable[None]]
) -> None:
    async def main(clock: VirtualClock) -> None:
        async with an_api(clock) as (_, client):
            kubelet = ScriptedKubelet(client, clock, script)
            async with beside(kubelet.run()):
                await client.create(PODS, POD, NS)
                await story(clock, client, kubelet)

    virtual.run(main)


async def phase(client: LocalClient) -> str:
    return str((await client.get(PODS, "p", NS))["status"]["phase"])


def test_a_pod_runs_for_as_long_as_the_script_says_and_ends_with_its_code() -> None:
    async def story(clock: VirtualClock, client: LocalClient, kubelet: ScriptedKubelet) -> None:
        await clock.sleep(5)
        assert await phase(client) == "Running"
        await clock.sleep(10)
        (status,) = (await client.get(PODS, "p", NS))["status"]["containerStatuses"]
        assert await phase(client) == "Failed"
        assert status["state"]["terminated"]["exitCode"] == 7
        assert [pod.phase for pod in kubelet.pods.values()] == ["Failed"]

    played(PodScript(runs=lambda pod: 10.0, exits=lambda pod, nth: 7), story)


def test_a_held_pod_runs_until_it_is_told_to_finish() -> None:
    async def story(clock: VirtualClock, client: LocalClient, kubelet: ScriptedKubelet) -> None:
        await clock.sleep(1000)
        assert await phase(client) == "Running"
        for pod in kubelet.pods.values():
            pod.finish()
        await clock.sleep(1)
        assert await phase(client) == "Succeeded"

    played(PodScript(holds=True), story)


def test_a_deleted_pod_stops_a_second_later_and_is_gone() -> None:
    async def story(clock: VirtualClock, client: LocalClient, kubelet: ScriptedKubelet) -> None:
        await clock.sleep(5)
        await client.delete(PODS, "p", NS)
        await clock.sleep(2)
        with pytest.raises(StatusError, match="not found"):
            await client.get(PODS, "p", NS)
        assert [pod.phase for pod in kubelet.pods.values()] == ["Failed"]

    played(PodScript(runs=lambda pod: None), story)
