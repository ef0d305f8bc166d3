"""Get, list, create, update, patch, apply and delete mean the same on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType
from longshore.client.writes import Create, Patch, slow_start

pytestmark = pytest.mark.anyio

MAPS = ("v1", "ConfigMap")
JOBS = ("batch/v1", "Job")
PODS = ("v1", "pods")


def config_map(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "labels": labels}, "data": {"a": "1"}}


def pod_spec() -> dict[str, Any]:
    return {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}


def job(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"template": {"spec": pod_spec()}}}


def names(objects: list[Any]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objects]


async def test_what_is_created_can_be_read_and_carries_no_type(client: Client) -> None:
    made = await client.create(MAPS, config_map("a"))
    assert made["metadata"]["uid"]
    assert made["metadata"]["resourceVersion"]
    assert made["data"] == {"a": "1"}
    assert not {"kind", "apiVersion"} & made.keys()
    assert await client.get(MAPS, "a", "default") == made
    assert await client.get(("v1", "configmaps"), "a", "default") == made


async def test_a_resource_row_names_a_resource_too(client: Client) -> None:
    row = await client.resource(MAPS)
    assert (row.plural, row.namespaced) == ("configmaps", True)
    assert await client.resource(row) is row
    await client.create(row, config_map("a"))
    assert names((await client.list(row, "default")).items) == ["a"]


async def test_fields_are_owned_by_the_clients_manager_unless_a_call_names_another(
    client: Client,
) -> None:
    made = await client.create(MAPS, config_map("a"))
    assert [entry["manager"] for entry in made["metadata"]["managedFields"]] == ["tester"]
    other = await client.create(MAPS, config_map("b"), manager="someone")
    assert [entry["manager"] for entry in other["metadata"]["managedFields"]] == ["someone"]


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [(404, "NotFound", 'configmaps "x" not found'), (409, "AlreadyExists", 'configmaps "a" already exists')],
)
async def test_errors_of_the_server_are_status_errors(
    client: Client, code: int, reason: str, message: str
) -> None:
    await client.create(MAPS, config_map("a"))
    with pytest.raises(StatusError) as caught:
        await (client.get(MAPS, "x", "default") if code == 404 else client.create(MAPS, config_map("a")))
    assert (caught.value.code, caught.value.reason, caught.value.message) == (code, reason, message)
    assert caught.value.details is not None
    assert caught.value.details["kind"] == "configmaps"


async def test_an_invalid_object_names_every_cause(client: Client) -> None:
    bad = job("j")
    bad["spec"]["completions"] = -1
    with pytest.raises(StatusError) as caught:
        await client.create(JOBS, bad, "default")
    assert caught.value.code == 422
    assert caught.value.details is not None
    assert [cause["field"] for cause in caught.value.details["causes"]] == ["spec.completions"]


async def test_a_list_is_filtered_ordered_and_has_a_version_to_watch_from(client: Client) -> None:
    for name in ("c", "a", "b"):
        await client.create(MAPS, config_map(name, even=str(name == "b")))
    found = await client.list(MAPS, "default")
    assert names(found.items) == ["a", "b", "c"]
    assert int(found.resource_version) >= int(found.items[1]["metadata"]["resourceVersion"])
    assert names((await client.list(MAPS, labels="even=True")).items) == ["b"]
    assert names((await client.list(MAPS, fields="metadata.name=c")).items) == ["c"]
    assert (await client.list(MAPS, "kube-system")).items == []


async def test_a_list_of_many_pages_is_whole(client: Client) -> None:
    client.page_size = 2
    for index in range(7):
        await client.create(MAPS, config_map(f"m{index}"))
    found = await client.list(MAPS, "default")
    assert names(found.items) == [f"m{index}" for index in range(7)]
    at_least = await client.list(MAPS, "default", resource_version=found.resource_version)
    assert len(at_least.items) == 7
    assert len((await client.list(MAPS, "default", resource_version="0")).items) == 7


async def test_an_update_of_an_old_version_is_a_conflict(client: Client) -> None:
    first = await client.create(MAPS, config_map("a"))
    second = await client.update(MAPS, {**first, "data": {"a": "2"}})
    assert second["data"] == {"a": "2"}
    with pytest.raises(StatusError) as caught:
        await client.update(MAPS, {**first, "data": {"a": "3"}})
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")


async def test_an_update_that_changes_nothing_keeps_the_version(client: Client) -> None:
    first = await client.create(MAPS, config_map("a"))
    assert (await client.update(MAPS, first))["metadata"] == first["metadata"]


async def test_status_and_spec_are_written_apart(client: Client) -> None:
    made = await client.create(JOBS, job("j"), "default")
    changed = {**made, "status": {"active": 1}, "spec": {**made["spec"], "suspend": True}}
    written = await client.update_status(JOBS, changed)
    assert written["status"]["active"] == 1
    assert written["spec"] == made["spec"]
    again = await client.update(JOBS, {**written, "status": {}, "spec": {**made["spec"], "parallelism": 2}})
    assert again["status"]["active"] == 1
    assert again["spec"]["parallelism"] == 2


async def test_each_type_of_patch(client: Client) -> None:
    made = await client.create(PODS, {"metadata": {"name": "p"}, "spec": pod_spec()}, "default")
    assert made["status"]["phase"] == "Pending"
    merged = await client.patch(PODS, "p", {"metadata": {"labels": {"a": "1"}}}, "default")
    assert merged["metadata"]["labels"] == {"a": "1"}
    operations = [{"op": "add", "path": "/metadata/labels/b", "value": "2"}]
    operated = await client.patch(PODS, "p", operations, "default", type=PatchType.JSON)
    assert operated["metadata"]["labels"] == {"a": "1", "b": "2"}
    image = {"spec": {"containers": [{"name": "c", "image": "busybox:2"}]}}
    strategic = await client.patch(PODS, "p", image, "default", type=PatchType.STRATEGIC)
    assert strategic["spec"]["containers"][0]["image"] == "busybox:2"
    status = {"status": {"phase": "Running"}}
    running = await client.patch(PODS, "p", status, "default", subresource="status")
    assert running["status"]["phase"] == "Running"


async def test_apply_creates_changes_conflicts_and_forces(client: Client) -> None:
    made = await client.apply(MAPS, config_map("a"), manager="one")
    assert made["metadata"]["managedFields"][0]["operation"] == "Apply"
    other = {**config_map("a"), "data": {"a": "2"}}
    with pytest.raises(StatusError) as caught:
        await client.apply(MAPS, other, manager="two")
    assert caught.value.code == 409
    assert caught.value.has_cause("FieldManagerConflict")
    forced = await client.apply(MAPS, other, manager="two", force=True)
    assert forced["data"] == {"a": "2"}


async def test_apply_is_not_a_type_for_patch(client: Client) -> None:
    with pytest.raises(ValueError, match=r"use apply\(\)"):
        await client.patch(MAPS, "a", {}, "default", type=PatchType.APPLY)


async def test_a_dry_run_answers_and_writes_nothing(client: Client) -> None:
    made = await client.create(MAPS, config_map("a"), dry_run=True)
    assert made["metadata"]["uid"]
    await client.create(MAPS, config_map("a"))
    assert (await client.patch(MAPS, "a", {"data": {"a": "9"}}, "default", dry_run=True))["data"] == {
        "a": "9"
    }
    await client.delete(MAPS, "a", "default", DeleteOptions(dry_run=True))
    assert (await client.get(MAPS, "a", "default"))["data"] == {"a": "1"}


async def test_a_deleted_object_is_gone(client: Client) -> None:
    await client.create(MAPS, config_map("a"))
    assert await client.delete(MAPS, "a", "default") is None
    with pytest.raises(StatusError, match='configmaps "a" not found'):
        await client.delete(MAPS, "a", "default")


async def test_an_object_with_finalizers_stays_until_they_are_gone(client: Client) -> None:
    held = config_map("a")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    await client.create(MAPS, held)
    left = await client.delete(MAPS, "a", "default")
    assert left is not None
    assert left["metadata"]["deletionTimestamp"]
    await client.patch(MAPS, "a", {"metadata": {"finalizers": None}}, "default")
    assert (await client.list(MAPS, "default")).items == []


async def test_delete_options_reach_the_server(client: Client) -> None:
    made = await client.create(JOBS, job("j"), "default")
    with pytest.raises(StatusError, match="the UID in the precondition") as caught:
        await client.delete(JOBS, "j", "default", DeleteOptions(uid="other"))
    assert caught.value.code == 409
    with pytest.raises(StatusError, match="the ResourceVersion in the precondition"):
        await client.delete(JOBS, "j", "default", DeleteOptions(resource_version="1"))
    options = DeleteOptions(propagation="Foreground", uid=made["metadata"]["uid"])
    left = await client.delete(JOBS, "j", "default", options)
    assert left is not None
    assert left["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_a_pod_is_answered_when_it_is_deleted(client: Client) -> None:
    bound = {"metadata": {"name": "p"}, "spec": {**pod_spec(), "nodeName": "n"}}
    await client.create(PODS, bound, "default")
    left = await client.delete(PODS, "p", "default", DeleteOptions(grace_period_seconds=7))
    assert left is not None
    assert left["metadata"]["deletionGracePeriodSeconds"] == 7
    assert await client.delete(PODS, "p", "default", DeleteOptions(grace_period_seconds=0)) is not None
    assert (await client.list(PODS, "default")).items == []


async def test_a_collection_is_deleted_by_selector(client: Client) -> None:
    for name in ("a", "b", "c"):
        await client.create(MAPS, config_map(name, keep=str(name == "b")))
    gone = await client.delete_collection(MAPS, "default", labels="keep=False")
    assert names(gone) == ["a", "c"]
    assert names((await client.list(MAPS, "default")).items) == ["b"]


async def test_things_posted_below_an_object_answer_what_they_are(client: Client) -> None:
    await client.create(PODS, {"metadata": {"name": "p"}, "spec": pod_spec()}, "default")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    answer = await client.create(PODS, eviction, "default", subresource="eviction")
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    account = ("v1", "ServiceAccount")
    await client.create(account, {"metadata": {"name": "robot"}}, "default")
    token = await client.create(account, {"spec": {}}, "default", name="robot", subresource="token")
    assert token["kind"] == "TokenRequest"
    assert token["status"]["token"]


async def test_a_missing_name_or_namespace_is_a_mistake_of_the_caller(client: Client) -> None:
    with pytest.raises(ValueError, match="delete of configmaps needs a name"):
        await client.delete(MAPS, "", "default")
    with pytest.raises(ValueError, match="get of configmaps 'a' needs a namespace"):
        await client.get(MAPS, "a")
    with pytest.raises(ValueError, match="configmaps 'a' needs a namespace"):
        await client.create(MAPS, {"metadata": {"name": "a"}})


async def test_a_collection_is_never_deleted_in_all_namespaces_by_mistake(client: Client) -> None:
    with pytest.raises(ValueError, match="deletecollection of configmaps needs a namespace"):
        await client.delete_collection(MAPS)


async def test_what_a_resource_does_not_offer_is_refused(client: Client) -> None:
    with pytest.raises(StatusError, match="does not allow this method") as caught:
        await client.delete_collection(("v1", "namespaces"))
    assert caught.value.code == 405
    with pytest.raises(StatusError, match="could not find the requested resource") as caught:
        await client.get(PODS, "p", "default", subresource="nonsense")
    assert caught.value.code == 404


async def test_a_kind_that_is_not_served_is_a_lookup_error(client: Client) -> None:
    with pytest.raises(LookupError, match=r"no 'Boat' in sea\.org/v1"):
        await client.get(("sea.org/v1", "Boat"), "b", "default")


def creates(objs: list[Obj]) -> list[Create]:
    return [Create(MAPS, obj, "default") for obj in objs]


async def test_writes_made_together_answer_each_for_itself(client: Client) -> None:
    wanted = [config_map(name, of="pair") for name in ("a", "No", "b", "a")]
    made = await client.write(creates(wanted))
    # Two ask for one name. Over HTTP each has a connection of its own, and either may come first.
    assert sorted(one["metadata"]["name"] for one in made if isinstance(one, dict)) == ["a", "b"]
    codes = [one.code if isinstance(one, StatusError) else 201 for one in made]
    assert codes in ([201, 422, 201, 409], [409, 422, 201, 201])
    patch = {"data": {"k": "v"}}
    patched = await client.write([Patch(MAPS, name, patch, "default") for name in ("a", "missing", "b")])
    assert [one["data"]["k"] for one in patched if isinstance(one, dict)] == ["v", "v"]
    assert [one.code for one in patched if isinstance(one, StatusError)] == [404]
    for one in patched[::2]:
        assert isinstance(one, dict)
        assert await client.get(MAPS, one["metadata"]["name"], "default") == one
    (alone,) = await client.write([Patch(MAPS, "missing", patch, "default")])
    assert isinstance(alone, StatusError)


async def test_a_slow_start_ends_with_the_batch_that_is_refused(client: Client) -> None:
    wanted = [config_map(name, of="slow") for name in ("a", "b", "No", "c", "d")]
    made = await client.write(creates(wanted), slow_start())
    assert [isinstance(one, dict) for one in made] == [True, True, False]
    assert names((await client.list(MAPS, "default", labels="of=slow")).items) == ["a", "b"]
    made = await client.write(creates(wanted[3:]), slow_start())
    assert names(made) == ["c", "d"]
