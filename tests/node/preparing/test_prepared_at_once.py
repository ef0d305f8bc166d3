"""Pods that need nobody's answer are prepared without waiting, and as they would be with it."""

from __future__ import annotations

from typing import Any

import pytest

from support.preparing_world import World

pytestmark = pytest.mark.anyio

_INDEX = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
_KEY = {"configMapKeyRef": {"name": "c", "key": "k"}}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"container": {"env": [{"name": "A", "value": "b"}, {"name": "INDEX", "valueFrom": _INDEX}]}},
        {"container": {"securityContext": {"seLinuxOptions": {"level": "s0"}}}},
        {"automountServiceAccountToken": False},
        {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["other"]}]},
    ],
    ids=["plain", "variables", "a warning", "no account", "aliases"],
)
async def test_a_pod_without_volumes_and_references(world: World, spec: dict[str, Any]) -> None:
    pod = await world.pod(**spec)
    slowly = await world.preparer.pod(pod)
    assert world.preparer.at_once(pod) == slowly


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"container": {"env": [{"name": "A", "valueFrom": _KEY}]}},
    ],
    ids=["volumes", "references"],
)
async def test_a_pod_that_takes_longer(world: World, spec: dict[str, Any]) -> None:
    await world.preparer.pod(await world.pod(name="first"))  # now its account is known
    assert world.preparer.at_once(await world.pod(**spec)) is None


async def test_an_account_that_nobody_has_used_is_asked_for(world: World) -> None:
    pod = await world.pod()
    assert world.preparer.at_once(pod) is None
    await world.preparer.pod(pod)
    assert world.preparer.at_once(pod) is not None


async def test_the_engine_is_asked_first_what_it_can_do(world: World) -> None:
    async def can_mount() -> bool:
        return True

    preparer = world.another(can_mount=can_mount)
    pod = await world.pod(automountServiceAccountToken=False)
    assert preparer.at_once(pod) is None
    await preparer.pod(pod)
    assert preparer.at_once(pod) is not None
