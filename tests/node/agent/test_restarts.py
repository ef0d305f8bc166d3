"""Restart policies, the back-off between crashes, and what the status says meanwhile."""

from __future__ import annotations

from itertools import pairwise

import pytest

from longshore.api.types import Obj
from longshore.testing.scripted_runtime import Run
from support.node_world import World, scripted, told


def starts(world: World, name: str = "main") -> list[float]:
    """When each attempt began."""
    return [world.machine.moments[key] for key in world.machine.started if key.container == name]


def test_the_first_restart_is_at_once_then_the_pauses_double_up_to_five_minutes() -> None:
    async def story(world: World) -> None:
        await world.create(restart="Always")
        await world.clock.sleep(1500)
        began = starts(world)
        pauses = [round(b - a) for a, b in pairwise(began)]
        assert pauses[:8] == [1, 11, 21, 41, 81, 161, 301, 301]

    told(story, scripted(main=Run(1.0, code=1)))


def test_a_container_that_ran_for_ten_minutes_begins_anew() -> None:
    async def story(world: World) -> None:
        await world.create(restart="Always")
        await world.clock.sleep(700)
        began = starts(world)
        assert [round(b - a) for a, b in pairwise(began)][:4] == [1, 11, 610, 11]

    told(story, scripted(main=[Run(1.0, 1), Run(1.0, 1), Run(610.0, 1), Run(1.0, 1)]))


def test_in_back_off_the_container_waits_and_its_last_state_is_kept() -> None:
    async def story(world: World) -> None:
        pod = await world.create(restart="Always")
        await world.clock.sleep(5)
        (main,) = (await world.status())["containerStatuses"]
        uid = pod["metadata"]["uid"]
        assert main["state"]["waiting"] == {
            "reason": "CrashLoopBackOff",
            "message": f"back-off 10s restarting failed container=main pod=p_ns({uid})",
        }
        assert main["lastState"]["terminated"]["exitCode"] == 2
        assert main["restartCount"] == 1
        assert (await world.status())["phase"] == "Running"
        assert "BackOff" in [reason for reason, _ in await world.events()]

    told(story, scripted(main=Run(1.0, code=2)))


def test_while_a_restarted_container_runs_its_last_state_tells_of_the_run_before() -> None:
    async def story(world: World) -> None:
        await world.create(restart="OnFailure")

        async def again() -> Obj | None:
            (main,) = (await world.status()).get("containerStatuses") or [{}]
            return main if main.get("restartCount") == 1 and "running" in main["state"] else None

        main = await world.until(again)
        assert main["lastState"]["terminated"]["exitCode"] == 7

    told(story, scripted(main=[Run(1.0, 7), Run(None)]))


@pytest.mark.parametrize(
    ("policy", "code", "attempts", "phase"),
    [
        ("Never", 1, 1, "Failed"),
        ("OnFailure", 0, 1, "Succeeded"),
        ("OnFailure", 1, 2, "Succeeded"),
    ],
)
def test_the_policy_says_who_is_restarted(policy: str, code: int, attempts: int, phase: str) -> None:
    async def story(world: World) -> None:
        await world.create(restart=policy)
        await world.phase(phase)
        assert len(world.machine.started) == attempts

    told(story, scripted(main=[Run(1.0, code), Run(1.0)]))


def test_a_container_may_have_a_policy_and_rules_of_its_own() -> None:
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    main = {"name": "main", "restartPolicy": "Never", "restartPolicyRules": [rule]}

    async def story(world: World) -> None:
        await world.create(containers=[main])
        status = await world.phase("Failed")
        assert status["containerStatuses"][0]["restartCount"] == 1
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1

    told(story, scripted(main=[Run(1.0, 42), Run(1.0, 1)]))


def test_a_pod_fails_when_any_of_its_containers_fails_and_only_when_all_have_ended() -> None:
    async def story(world: World) -> None:
        await world.create(containers=[{"name": "b"}, {"name": "a"}])
        await world.clock.sleep(5)
        status = await world.status()
        assert status["phase"] == "Running"
        assert [c["name"] for c in status["containerStatuses"]] == ["a", "b"]
        assert (await world.phase("Failed"))["phase"] == "Failed"
        assert world.clock.monotonic() > 20

    told(story, scripted(a=Run(1.0, 1), b=Run(20.0)))


def test_the_engine_remembers_the_last_two_runs_of_a_container_and_forgets_older_ones() -> None:
    async def story(world: World) -> None:
        await world.create(restart="Always")
        await world.clock.sleep(100)
        assert sorted(key.attempt for key in world.machine.states) == [3, 4]

    told(story, scripted(main=Run(1.0, code=1)))
