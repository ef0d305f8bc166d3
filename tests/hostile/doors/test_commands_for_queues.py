"""Commands for queues: whoever writes one in a namespace of their own must be allowed to change the queue."""

from __future__ import annotations

import pytest

from longshore.api.facts import kinds
from longshore.api.types import Obj
from support.door import Door, person, refusal, rule

pytestmark = pytest.mark.anyio

BOB = person("bob")
VOLCANO = "scheduling.volcano.sh"


def command(name: str, kind: str = "Queue", version: str = f"{VOLCANO}/v1beta1") -> Obj:
    target = {"apiVersion": version, "kind": kind, "name": "default", "uid": "u"}
    return {"metadata": {"name": name}, "action": "CloseQueue", "target": target}


async def test_an_editor_of_one_namespace_does_not_close_the_queue_of_all(door: Door) -> None:
    await door.give(BOB, [rule("create update patch", "commands", "bus.volcano.sh")], "default")
    bob = door.of(BOB)
    of_a_job = command("there", "Job", "batch.volcano.sh/v1alpha1")
    await bob.create(kinds.COMMANDS, of_a_job, "default")
    for write in (
        lambda: bob.create(kinds.COMMANDS, command("new"), "default"),
        lambda: bob.apply(kinds.COMMANDS, command("applied"), "default", manager="m"),
        lambda: bob.patch(kinds.COMMANDS, "there", {"target": command("there")["target"]}, "default"),
    ):
        refused = await refusal(write())
        assert refused.code == 403
        assert refused.message == (
            'queues.scheduling.volcano.sh "default" is forbidden: User "bob" cannot update resource "queues" '
            'in API group "scheduling.volcano.sh" at the cluster scope'
        )


@pytest.mark.parametrize(("names", "granted"), [("", True), ("default", True), ("other", False)])
async def test_whoever_may_change_a_queue_may_command_it(door: Door, names: str, granted: bool) -> None:
    await door.give(BOB, [rule("create", "commands", "bus.volcano.sh")], "default", name="commands")
    await door.give(BOB, [rule("update", "queues", VOLCANO, names=names)], name="queues")
    write = door.of(BOB).create(kinds.COMMANDS, command("new"), "default")
    if granted:
        await write
    else:
        assert (await refusal(write)).code == 403


async def test_the_role_edit_writes_commands_for_jobs_alone(door: Door) -> None:
    await door.bind(BOB, "longshore:aggregate-to-edit", "default")
    bob = door.of(BOB)
    await bob.create(kinds.COMMANDS, command("job", "Job", "batch.volcano.sh/v1alpha1"), "default")
    assert (await refusal(bob.create(kinds.COMMANDS, command("queue"), "default"))).code == 403


@pytest.mark.parametrize("target", [[None], "Queue", 1, {"kind": ["Queue"]}])
async def test_a_target_that_is_no_object_is_refused_as_invalid(door: Door, target: object) -> None:
    await door.give(BOB, [rule("create update patch", "commands", "bus.volcano.sh")], "default")
    bob = door.of(BOB)
    await bob.create(kinds.COMMANDS, command("there", "Job", "batch.volcano.sh/v1alpha1"), "default")
    odd = {**command("odd"), "target": target}
    assert (await refusal(bob.create(kinds.COMMANDS, odd, "default"))).code == 422
    assert (await refusal(bob.patch(kinds.COMMANDS, "there", {"target": target}, "default"))).code == 422
