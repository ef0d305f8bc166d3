"""Variables of a container, from everywhere they can come from."""

import base64
from typing import Any

import pytest

from longshore.node.preparing.types import CannotPrepare
from support.preparing_world import World

pytestmark = pytest.mark.anyio


def from_key(kind: str, name: str, key: str, **more: Any) -> dict[str, Any]:
    return {"name": "V", "valueFrom": {kind: {"name": name, "key": key, **more}}}


def field(path: str) -> dict[str, Any]:
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


async def test_variables_see_those_before_them_and_not_those_after(world: World) -> None:
    env = [{"name": "A", "value": "$(B)"}, {"name": "B", "value": "b"}, {"name": "C", "value": "$(B)$$(B)"}]
    got = await world.env(await world.pod(container={"env": env}))
    assert (got["A"], got["B"], got["C"]) == ("$(B)", "b", "b$(B)")


async def test_command_and_args_are_expanded_with_all_variables(world: World) -> None:
    container = {
        "command": ["sh", "$(A)"],
        "args": ["$(KUBERNETES_SERVICE_HOST)", "$(NONE)", "$$(A)"],
        "env": [{"name": "A", "value": "x"}],
    }
    made = await world.container(await world.pod(container=container))
    assert made.command == ("sh", "x")
    assert made.args == ("127.0.0.1", "$(NONE)", "$(A)")


async def test_env_overrides_env_from_and_the_later_source_the_earlier(world: World) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "one"}, "data": {"A": "1", "B": "1", "C": "1"}})
    await world.create("ConfigMap", {"metadata": {"name": "two"}, "data": {"B": "2", "C": "2"}})
    container = {
        "envFrom": [{"configMapRef": {"name": "one"}}, {"configMapRef": {"name": "two"}}],
        "env": [{"name": "C", "value": "3 after $(B)"}],
    }
    got = await world.env(await world.pod(container=container))
    assert (got["A"], got["B"], got["C"]) == ("1", "2", "3 after 2")


async def test_env_from_takes_every_key_with_its_prefix_even_odd_ones(world: World) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a.b-c": "dots", "1": "digit"}})
    secret = {"metadata": {"name": "s"}, "data": {"pass": base64.b64encode(b"word").decode()}}
    await world.create("Secret", secret)
    container = {"envFrom": [{"configMapRef": {"name": "c"}}, {"prefix": "S_", "secretRef": {"name": "s"}}]}
    got = await world.env(await world.pod(container=container))
    assert (got["a.b-c"], got["1"], got["S_pass"]) == ("dots", "digit", "word")


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"env": [from_key("configMapKeyRef", "none", "k")]}, 'configmap "none" not found'),
        ({"env": [from_key("secretKeyRef", "none", "k")]}, 'secret "none" not found'),
        ({"env": [from_key("configMapKeyRef", "c", "x")]}, "couldn't find key x in ConfigMap default/c"),
        ({"env": [from_key("secretKeyRef", "s", "x")]}, "couldn't find key x in Secret default/s"),
        ({"envFrom": [{"configMapRef": {"name": "none"}}]}, 'configmap "none" not found'),
        ({"envFrom": [{"secretRef": {"name": "none"}}]}, 'secret "none" not found'),
    ],
)
async def test_what_is_missing_is_said_as_the_kubelet_says_it(
    world: World, container: dict[str, Any], message: str
) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"k": "v"}})
    await world.create("Secret", {"metadata": {"name": "s"}, "stringData": {"k": "v"}})
    pod = await world.pod(container=container)
    with pytest.raises(CannotPrepare) as caught:
        await world.container(pod)
    assert (caught.value.reason, caught.value.message) == ("CreateContainerConfigError", message)


async def test_missing_optional_sources_leave_variables_undefined(world: World) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"k": "v"}})
    env = [
        {**from_key("configMapKeyRef", "none", "k", optional=True), "name": "A"},
        {**from_key("configMapKeyRef", "c", "none", optional=True), "name": "B"},
        {**from_key("secretKeyRef", "none", "k", optional=True), "name": "C"},
        {**from_key("configMapKeyRef", "c", "k", optional=True), "name": "D"},
    ]
    missing = {"configMapRef": {"name": "none", "optional": True}}
    got = await world.env(await world.pod(container={"env": env, "envFrom": [missing]}))
    assert got.keys() & {"A", "B", "C", "D"} == {"D"}


async def test_a_config_map_made_later_is_found_after_a_refresh(world: World) -> None:
    pod = await world.pod(container={"env": [from_key("configMapKeyRef", "late", "k")]})
    prepared = await world.preparer.pod(pod)
    with pytest.raises(CannotPrepare):
        await world.container(pod, prepared)
    await world.create("ConfigMap", {"metadata": {"name": "late"}, "data": {"k": "here"}})
    await world.preparer.refresh(prepared, pod)
    assert dict((await world.container(pod, prepared)).env)["V"] == "here"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "default"),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['example.com/Key']", 'say "hi"'),
        ("spec.nodeName", "node-1"),
        ("spec.serviceAccountName", "default"),
        ("status.podIP", "127.64.0.9"),
        ("status.podIPs", "127.64.0.9"),
        ("status.hostIP", "127.0.0.1"),
        ("status.hostIPs", "127.0.0.1"),
    ],
)
async def test_a_pod_can_know_its_own_fields(world: World, path: str, value: str) -> None:
    meta = {"labels": {"app": "web"}, "annotations": {"example.com/Key": 'say "hi"'}}
    pod = await world.pod(metadata=meta, container={"env": [{"name": "V", **field(path)}]})
    assert (await world.env(pod))["V"] == value


async def test_a_pod_can_know_its_uid(world: World) -> None:
    pod = await world.pod(container={"env": [{"name": "V", **field("metadata.uid")}]})
    assert (await world.env(pod))["V"] == pod["metadata"]["uid"]


@pytest.mark.parametrize(
    ("resource", "divisor", "value"),
    [
        ("limits.cpu", None, "1"),
        ("limits.cpu", "1m", "250"),
        ("requests.cpu", "1m", "100"),
        ("requests.cpu", None, "1"),
        ("limits.memory", None, str(8 << 30)),
        ("limits.memory", "1Gi", "8"),
        ("requests.memory", "1Mi", "65"),
        ("requests.memory", "1k", "68156"),
    ],
)
async def test_resources_are_counted_in_divisors_and_limits_default_to_the_node(
    world: World, resource: str, divisor: str | None, value: str
) -> None:
    ref = {"resource": resource, **({"divisor": divisor} if divisor else {})}
    container = {
        "env": [{"name": "V", "valueFrom": {"resourceFieldRef": ref}}],
        "resources": {
            "limits": {"cpu": "250m"},
            "requests": {"cpu": "100m", "memory": str((65 << 20) - 2021)},
        },
    }
    assert (await world.env(await world.pod(container=container)))["V"] == value


async def test_every_pod_is_told_where_the_api_server_is(world: World) -> None:
    got = await world.env(await world.pod())
    assert got == {
        "HOSTNAME": "p",
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": "6443",
        "KUBERNETES_SERVICE_PORT_HTTPS": "6443",
        "KUBERNETES_PORT": "tcp://127.0.0.1:6443",
        "KUBERNETES_PORT_6443_TCP": "tcp://127.0.0.1:6443",
        "KUBERNETES_PORT_6443_TCP_PROTO": "tcp",
        "KUBERNETES_PORT_6443_TCP_PORT": "6443",
        "KUBERNETES_PORT_6443_TCP_ADDR": "127.0.0.1",
    }


async def test_a_manifests_own_variable_wins_over_that_of_a_service(world: World) -> None:
    env = [{"name": "KUBERNETES_SERVICE_HOST", "value": "elsewhere"}, {"name": "HOSTNAME", "value": "me"}]
    made = await world.container(await world.pod(container={"env": env}))
    names = [name for name, _ in made.env]
    assert len(names) == len(set(names))
    assert dict(made.env)["KUBERNETES_SERVICE_HOST"] == "elsewhere"
    assert dict(made.env)["HOSTNAME"] == "me"


async def test_a_zero_byte_in_a_secret_is_refused_and_not_cut_off(world: World) -> None:
    await world.create(
        "Secret", {"metadata": {"name": "s"}, "data": {"k": base64.b64encode(b"a\0b").decode()}}
    )
    pod = await world.pod(container={"env": [from_key("secretKeyRef", "s", "k")]})
    with pytest.raises(CannotPrepare, match='variable "V" holds a zero byte'):
        await world.container(pod)
