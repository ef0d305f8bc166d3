"""Which objects belong to an owner, and what is written to make it so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.facts import owners
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType
from longshore.client.local import LocalClient
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.machinery.writes.claims import CannotAdopt, Claims
from machinery.control_plane import JOBS, PODS, api, job, pod

FINALIZER = "batch.kubernetes.io/job-tracking"


def mine(labels: Mapping[str, str]) -> bool:
    return labels.get("app") == "mine"


class Spy:
    """Passes on to a client, and notes patches and gets."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.patches: list[tuple[str, Obj]] = []
        self.gets = 0
        self.answers: list[Obj] = []
        self.errors: dict[str, StatusError] = {}

    async def get(self, *args: Any, **options: Any) -> Obj:
        self.gets += 1
        return await self.client.get(*args, **options)

    async def patch(self, what: Any, name: str, patch: Obj, namespace: str, *, type: PatchType) -> Obj:
        assert type is PatchType.STRATEGIC
        self.patches.append((name, patch))
        if name in self.errors:
            raise self.errors[name]
        return await self.client.patch(what, name, patch, namespace, type=type)

    def claims(self, owner: Obj) -> Claims:
        return Claims(
            self,  # type: ignore[arg-type]
            PODS,
            owner,
            JOBS,
            mine,
            finalizers=(FINALIZER,),
            on_write=self.answers.append,
        )


async def owner_and_pods(client: LocalClient) -> tuple[Obj, dict[str, Obj]]:
    owner = await client.create(JOBS, job("job"), "ns")
    ref = owners.controller_ref(owner, JOBS)
    other = {**ref, "uid": "another", "name": "other"}
    wanted = [
        pod("owned", labels={"app": "mine"}, ownerReferences=[ref], finalizers=[FINALIZER]),
        pod("owned-no-match", ownerReferences=[ref], finalizers=[FINALIZER, "example.org/keep"]),
        pod("orphan", labels={"app": "mine"}, finalizers=["example.org/keep"]),
        pod("orphan-no-match", labels={"app": "theirs"}),
        pod("of-another", labels={"app": "mine"}, ownerReferences=[other]),
        pod("not-controlled", labels={"app": "mine"}, ownerReferences=[{**other, "controller": False}]),
        pod("going", labels={"app": "mine"}, finalizers=["example.org/keep"]),
    ]
    made = {each["metadata"]["name"]: await client.create(PODS, each, "ns") for each in wanted}
    gone = await client.delete(PODS, "going", "ns")
    assert gone is not None
    return owner, {**made, "going": gone}


def names(found: list[Obj]) -> list[str]:
    return [each["metadata"]["name"] for each in found]


def test_matching_pods_are_kept_or_adopted_and_others_released() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            owner, pods = await owner_and_pods(client)
            spy = Spy(client)
            claimed = await spy.claims(owner).claim(pods.values())
            assert names(claimed) == ["owned", "orphan", "not-controlled"]
            assert claimed[0] is pods["owned"]
            uid, ref = owner["metadata"]["uid"], owners.controller_ref(owner, JOBS)
            assert dict(spy.patches) == {
                "owned-no-match": {
                    "metadata": {
                        "uid": pods["owned-no-match"]["metadata"]["uid"],
                        "ownerReferences": [{"$patch": "delete", "uid": uid}],
                        "$deleteFromPrimitiveList/finalizers": [FINALIZER],
                    }
                },
                "orphan": {
                    "metadata": {
                        "ownerReferences": [ref],
                        "uid": pods["orphan"]["metadata"]["uid"],
                        "finalizers": [FINALIZER],
                    }
                },
                "not-controlled": {
                    "metadata": {
                        "ownerReferences": [ref],
                        "uid": pods["not-controlled"]["metadata"]["uid"],
                        "finalizers": [FINALIZER],
                    }
                },
            }
            assert ref == {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": "job",
                "uid": uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
            released = (await client.get(PODS, "owned-no-match", "ns"))["metadata"]
            assert "ownerReferences" not in released
            assert released["finalizers"] == ["example.org/keep"]
            adopted = (await client.get(PODS, "orphan", "ns"))["metadata"]
            assert adopted["ownerReferences"] == [ref]
            assert sorted(adopted["finalizers"]) == [FINALIZER, "example.org/keep"]
            assert claimed[1]["metadata"] == adopted, "adopted pods come as they are now"
            assert names(spy.answers) == names([pods[name] for name, _ in spy.patches])
            assert spy.gets == 1, "the owner is read once, however many are adopted"

    virtual.run(main)


def test_an_owner_that_is_being_deleted_keeps_and_changes_nothing() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            owner, pods = await owner_and_pods(client)
            await client.patch(JOBS, "job", {"metadata": {"finalizers": ["example.org/keep"]}}, "ns")
            going = await client.delete(JOBS, "job", "ns", DeleteOptions(propagation="Background"))
            assert going is not None
            spy = Spy(client)
            assert names(await spy.claims(going).claim(pods.values())) == ["owned"]
            assert spy.patches == []
            with pytest.raises(CannotAdopt) as caught:
                await spy.claims(owner).claim([pods["orphan"]])
            meta = pods["orphan"]["metadata"]
            assert str(caught.value) == (
                f"can't adopt Pod ns/orphan ({meta['uid']}): "
                f"ns/job has just been deleted at {going['metadata']['deletionTimestamp']}"
            )

    virtual.run(main)


def test_an_owner_that_was_replaced_adopts_nothing() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            owner, pods = await owner_and_pods(client)
            await client.delete(JOBS, "job", "ns", DeleteOptions(propagation="Background"))
            orphan = pods["orphan"]
            with pytest.raises(CannotAdopt, match=r'jobs\.batch "job" not found'):
                await Spy(client).claims(owner).claim([orphan])
            new = await client.create(JOBS, job("job"), "ns")
            spy = Spy(client)
            with pytest.raises(CannotAdopt) as caught:
                await spy.claims(owner).claim([orphan, pods["not-controlled"]])
            assert str(caught.value) == (
                f"can't adopt Pod ns/orphan ({orphan['metadata']['uid']}): can't recheck DeletionTimestamp: "
                f"original Job ns/job is gone: got uid {new['metadata']['uid']}, "
                f"wanted {owner['metadata']['uid']}"
            )
            assert spy.gets == 1
            assert spy.patches == []

    virtual.run(main)


def test_pods_that_vanished_are_not_claimed() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            owner, pods = await owner_and_pods(client)
            spy = Spy(client)
            gone = StatusError(404, "NotFound", "gone")
            spy.errors = {"orphan": gone, "owned-no-match": gone}
            assert names(await spy.claims(owner).claim(pods.values())) == ["owned", "not-controlled"]

    virtual.run(main)


def test_a_pod_that_was_replaced_is_released_quietly_but_not_adopted() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            owner, pods = await owner_and_pods(client)
            spy = Spy(client)
            invalid = StatusError(422, "Invalid", "uid: field is immutable")
            spy.errors = {"owned-no-match": invalid}
            assert "orphan" in names(await spy.claims(owner).claim(pods.values()))
            spy.errors = {"orphan": invalid}
            with pytest.raises(StatusError, match="immutable"):
                await spy.claims(owner).claim([pods["orphan"]])

    virtual.run(main)


def test_an_error_does_not_keep_the_others_from_being_claimed() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            owner, pods = await owner_and_pods(client)
            spy = Spy(client)
            spy.errors = {"owned-no-match": StatusError(500, "InternalError", "broken")}
            with pytest.raises(StatusError, match="broken"):
                await spy.claims(owner).claim(pods.values())
            assert [name for name, _ in spy.patches] == ["owned-no-match", "orphan", "not-controlled"]

    virtual.run(main)


def test_objects_are_indexed_by_controller_or_by_namespace() -> None:
    owned = {
        "metadata": {
            "name": "p",
            "namespace": "ns",
            "ownerReferences": [
                {"kind": "Node", "name": "n", "uid": "0"},
                {"kind": "Job", "name": "job", "uid": "1", "controller": True},
            ],
        }
    }
    assert owners.owner_index(owned) == ("ns/Job/job/1",) == (owners.owner_key("ns", "Job", "job", "1"),)
    assert owners.owner_index({"metadata": {"name": "p", "namespace": "ns"}}) == ("ns",)
    owned["metadata"]["ownerReferences"].pop()  # type: ignore[attr-defined]
    assert owners.owner_index(owned) == ("ns",)
    assert owners.controller_of(owned) is None
