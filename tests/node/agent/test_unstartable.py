"""Pods that cannot start, are not let in, or are rejected say so."""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.node.preparing.types import CannotPrepare, NotReady
from longshore.scripts.runs import Run, StartFault
from longshore.testing.scripted_runtime import ScriptedRuntime
from support.node_world import World, scripted, told

MISSING = StartFault("RunContainerError", 'exec: "nothing": executable file not found in $PATH')
AFTER = {"longshore.dev/fail-unstartable-after": "30s"}


async def waiting(world: World) -> Obj:
    status = await world.status()
    found: Obj = status["containerStatuses"][0]["state"]["waiting"]
    return found


def test_a_command_that_is_not_there_waits_and_says_so() -> None:
    async def story(world: World) -> None:
        await world.create()
        await world.clock.sleep(35)
        assert (await waiting(world)) == {"reason": "RunContainerError", "message": MISSING.message}
        assert (await world.status())["phase"] == "Pending"
        assert ("Failed", f"Error: {MISSING.message}") in await world.events()
        assert len(world.machine.started) == 0

    told(story, scripted(main=Run(fails=MISSING)))


def test_what_could_not_start_is_tried_again_and_runs_when_it_can() -> None:
    async def story(world: World) -> None:
        await world.create()
        await world.clock.sleep(5)
        world.machine.script = scripted(main=Run(1.0))
        await world.phase("Succeeded")
        assert world.clock.monotonic() < 15

    told(story, scripted(main=Run(fails=MISSING)))


def test_with_the_annotation_a_pod_that_cannot_start_fails_instead() -> None:
    lacking = StartFault("ErrImagePull", "no such image")

    async def story(world: World) -> None:
        await world.create(annotations=AFTER)
        status = await world.phase("Failed")
        assert 30 <= world.clock.monotonic() < 31
        assert status["reason"] == "ImagePullBackOff"
        why = f'Back-off pulling image "i": ErrImagePull: {lacking.message}'
        assert status["message"] == f"The pod could not start within 30s: {why}"
        assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"

    told(story, scripted(main=Run(fails=lacking)))


def test_with_the_annotation_a_pod_that_can_never_start_fails_at_once() -> None:
    async def story(world: World) -> None:
        await world.create(annotations=AFTER)
        status = await world.phase("Failed")
        assert world.clock.monotonic() < 1
        assert (status["reason"], status["message"]) == (
            "RunContainerError",
            f"The pod cannot start: {MISSING.message}",
        )
        (why,) = [c for c in status["conditions"] if c["type"] == "longshore.dev/Unstartable"]
        assert (why["status"], why["message"]) == ("True", MISSING.message)

    told(story, scripted(main=Run(fails=MISSING)))


def test_a_config_map_that_is_missing_is_said_in_status_and_events() -> None:
    async def story(world: World) -> None:
        def refuse(pod: Obj, name: str) -> None:
            raise CannotPrepare("CreateContainerConfigError", 'configmap "c" not found')

        world.preparer.refuse_container = refuse
        await world.create()
        await world.clock.sleep(5)
        assert (await waiting(world)) == {
            "reason": "CreateContainerConfigError",
            "message": 'configmap "c" not found',
        }
        assert ("Failed", 'Error: configmap "c" not found') in await world.events()
        world.preparer.refuse_container = lambda pod, name: None
        await world.phase("Succeeded", seconds=15)

    told(story)


def test_a_volume_that_is_not_ready_keeps_the_pod_creating() -> None:
    async def story(world: World) -> None:
        def refuse(pod: Obj) -> None:
            raise NotReady("FailedMount", 'MountVolume.SetUp failed for volume "v"')

        world.preparer.refuse = refuse
        await world.create(annotations={**AFTER, "x": "y"})
        await world.clock.sleep(2)
        assert (await waiting(world))["reason"] == "ContainerCreating"
        assert "MountVolume" in (await waiting(world))["message"]
        status = await world.phase("Failed")
        assert status["reason"] == "FailedMount"
        assert "FailedMount" in [reason for reason, _ in await world.events()]

    told(story)


def test_a_pod_that_does_not_fit_fails_with_upstreams_reason_and_numbers() -> None:
    async def story(world: World) -> None:
        large = {"name": "main", "resources": {"requests": {"cpu": "3"}}}
        await world.create(name="first", containers=[large])
        await world.phase("Running", name="first")
        await world.create(name="second", containers=[large])
        status = await world.phase("Failed", name="second")
        assert status["reason"] == "OutOfcpu"
        assert status["message"] == (
            "Pod was rejected: Node didn't have enough resource: cpu, "
            "requested: 3000, used: 3000, capacity: 4000"
        )
        assert "containerStatuses" not in status
        assert len(world.machine.started) == 1

    told(story, scripted(main=Run(None)))


def test_a_pod_that_ended_makes_room() -> None:
    async def story(world: World) -> None:
        large = {"name": "main", "resources": {"requests": {"memory": "6Gi"}}}
        for name in ("a", "b", "c"):
            await world.create(name=name, containers=[large])
            await world.phase("Succeeded", name=name)

    told(story)


def test_the_engine_is_chosen_by_runtime_class() -> None:
    async def story(world: World) -> None:
        await world.create(runtimeClassName="podman")
        status = await world.phase("Succeeded")
        assert status["containerStatuses"][0]["containerID"].startswith("podman://")

    def engines(world: World) -> None:
        world.runtimes = {
            "process": ScriptedRuntime(world.machine),
            "podman": ScriptedRuntime(world.machine, name="podman"),
        }

    told(story, before=engines)


def test_an_engine_that_this_node_does_not_have_is_said() -> None:
    async def story(world: World) -> None:
        await world.create(runtimeClassName="podman", annotations=AFTER)
        status = await world.phase("Failed")
        assert status["reason"] == "FailedCreatePodSandBox"
        assert '"podman"' in status["message"]

    told(story)


def test_a_termination_message_is_reported() -> None:
    async def story(world: World) -> None:
        await world.create()
        status = await world.phase("Failed")
        assert status["containerStatuses"][0]["state"]["terminated"]["message"] == "all is lost"

    told(story, scripted(main=Run(code=1, message="all is lost")))


def test_the_end_of_the_log_is_the_message_where_the_policy_says_so() -> None:
    async def story(world: World) -> None:
        main = {"name": "main", "terminationMessagePolicy": "FallbackToLogsOnError"}
        pod = await world.create(containers=[main])
        await world.clock.sleep(1)
        log = world.root / "logs" / f"ns_p_{pod['metadata']['uid']}" / "main" / "0.log"
        log.parent.mkdir(parents=True)
        log.write_text("2026-01-01T00:00:00Z stdout F one\n2026-01-01T00:00:00Z stderr F two\n")
        status = await world.phase("Failed")
        assert status["containerStatuses"][0]["state"]["terminated"]["message"] == "one\ntwo\n"

    told(story, scripted(main=Run(2.0, code=1)))


def test_an_engine_that_says_oomkilled_is_quoted() -> None:
    async def story(world: World) -> None:
        await world.create()
        ended = (await world.phase("Failed"))["containerStatuses"][0]["state"]["terminated"]
        assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)

    told(story, scripted(main=Run(code=137, reason="OOMKilled")))


def test_what_was_decided_is_kept_in_words() -> None:
    async def story(world: World) -> None:
        await world.create()
        await world.phase("Succeeded")
        why = [line for told in world.explanations.of("ns", "p") for line in map(str, told.why)]
        assert "main is started" in why
        assert "nothing of it runs, and nothing will again" in why

    told(story)
