"""Whom containers run as, and what is said about what they cannot have."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.node.preparing.types import CannotPrepare, NodeFacts
from longshore.node.runtime import Rights
from support.preparing_world import World

pytestmark = pytest.mark.anyio
USER = NodeFacts("n", user=1000, group=1000)


async def made(world: World, node: NodeFacts | None, whole: Obj, own: Obj) -> Any:
    pod = await world.pod(securityContext=whole, container={"securityContext": own})
    preparer = world.preparer if node is None else world.another(node=node)
    return preparer.container(await preparer.pod(pod), pod, pod["spec"]["containers"][0], 0, "")


async def test_the_containers_user_wins_over_the_pods(world: World) -> None:
    whole = {"runAsUser": 1, "runAsGroup": 2, "supplementalGroups": [3, 4]}
    found = await made(world, None, whole, {"runAsUser": 5, "readOnlyRootFilesystem": True})
    assert (found.user, found.group, found.groups, found.read_only_root) == (5, 2, (3, 4), True)


@pytest.mark.parametrize(
    ("whole", "own", "text"),
    [
        ({"runAsNonRoot": True}, {}, "container has runAsNonRoot and image will run as root"),
        ({"runAsNonRoot": True}, {"runAsUser": 0}, "container's runAsUser breaks non-root policy"),
    ],
)
async def test_a_container_that_must_not_be_root_is_never_started_as_root(
    world: World, whole: Obj, own: Obj, text: str
) -> None:
    with pytest.raises(CannotPrepare) as caught:
        await made(world, None, whole, own)
    uid = (await world.client.get(("v1", "Pod"), "p", "default"))["metadata"]["uid"]
    assert caught.value.message == f'{text} (pod: "p_default({uid})", container: main)'
    assert caught.value.reason == "CreateContainerConfigError"


@pytest.mark.parametrize(
    ("node", "whole", "own"),
    [
        (None, {"runAsNonRoot": True}, {"runAsUser": 7}),
        (None, {"runAsNonRoot": True}, {"runAsNonRoot": False}),
        (USER, {"runAsNonRoot": True}, {}),
        (USER, {"runAsUser": 1000, "runAsGroup": 1000}, {}),
        (NodeFacts("n", user=0, runtime="podman"), {"runAsNonRoot": True}, {}),
    ],
)
async def test_what_is_fine_runs(world: World, node: NodeFacts | None, whole: Obj, own: Obj) -> None:
    await made(world, node, whole, own)


async def test_podman_is_asked_for_the_rights_of_the_manifest(world: World) -> None:
    node = NodeFacts("n", user=0, runtime="podman")
    own = {
        "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
        "allowPrivilegeEscalation": False,
        "seccompProfile": {"type": "Unconfined"},
    }
    found = await made(world, node, {"runAsNonRoot": True}, own)
    assert found.rights == Rights(
        add=("NET_ADMIN",), drop=("ALL",), no_new_privileges=True, filtered=False, non_root=True
    )


async def test_without_root_another_user_is_refused_and_not_ignored(world: World) -> None:
    with pytest.raises(CannotPrepare, match="asks for runAsUser 7, but longshore runs as 1000"):
        await made(world, USER, {}, {"runAsUser": 7})


async def test_what_a_process_cannot_have_is_said(world: World) -> None:
    own = {"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False}
    whole = {"seccompProfile": {"type": "RuntimeDefault"}}
    pod = await world.pod(securityContext=whole, container={"securityContext": own})
    assert (await world.preparer.pod(pod)).warnings == (
        "seccompProfile RuntimeDefault is not applied",
        "capabilities are not dropped",
        "allowPrivilegeEscalation: false is not enforced",
    )
    assert (await world.another(node=NodeFacts("n", runtime="podman")).pod(pod)).warnings == ()


async def test_a_plain_pod_gives_no_warnings(world: World) -> None:
    assert (await world.preparer.pod(await world.pod())).warnings == ()


async def test_a_limit_of_storage_says_what_it_counts(world: World) -> None:
    pod = await world.pod(container={"resources": {"limits": {"ephemeral-storage": "1Gi"}}})
    text = "limits of ephemeral-storage count logs and emptyDirs, not other files that a process writes"
    assert (await world.preparer.pod(pod)).warnings == (text,)

    async def strongest() -> str:
        return "full"

    walled = world.another(node=NodeFacts("n", isolation="full"), strongest_walls=strongest)
    (said,) = (await walled.pod(pod)).warnings
    assert said.startswith("limits of ephemeral-storage count logs, emptyDirs and a /tmp of its own, not")
    assert (await world.another(node=NodeFacts("n", runtime="podman")).pod(pod)).warnings == ()
