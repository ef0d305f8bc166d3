"""Pods are made, deleted and patched for their owner, who is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.facts import owners
from longshore.api.types import Obj
from longshore.client import Unreachable
from longshore.client.local import LocalClient
from longshore.client.writes import Create
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.machinery.writes import pod_control
from longshore.machinery.writes.pod_control import NoLabels, PodControl
from machinery.control_plane import JOBS, PODS, api, job, pod

OWNER = {"kind": "Job", "namespace": "ns", "name": "job", "uid": "1", "apiVersion": "batch/v1"}


class Told(Recorder):
    """A recorder that keeps its events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def event(self, ref: Obj, type_: str, reason: str, message: str) -> None:
        assert ref is OWNER
        self.events.append((type_, reason, message))


class Failing:
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def write(self, writes: Sequence[Create], *_: Any) -> list[Exception]:
        return [self.error for _ in writes]

    async def delete(self, *_: Any) -> Obj:
        raise self.error


def control(client: Any) -> tuple[PodControl, list[tuple[str, str, str]]]:
    told = Told()
    return PodControl(client, told), told.events


def run(main: Any) -> None:
    async def whole(clock: VirtualClock) -> None:
        async with api(clock) as client:
            await main(client)

    virtual.run(whole)


def test_a_created_pod_is_told() -> None:
    async def main(client: LocalClient) -> None:
        control_, events = control(client)
        made = await control_.create(pod("p", labels={"a": "b"}), "ns", OWNER)
        assert made["metadata"]["uid"]
        assert events == [("Normal", "SuccessfulCreate", "Created pod: p")]
        await control_.delete("ns", "p", OWNER)
        assert events[1:] == [("Normal", "SuccessfulDelete", "Deleted pod: p")]
        assert (await client.list(PODS)).items == []

    run(main)


def test_a_pod_without_labels_is_never_made() -> None:
    async def main(client: LocalClient) -> None:
        control_, events = control(client)
        with pytest.raises(NoLabels, match=r"^unable to create pods, no labels$"):
            await control_.create(pod("p"), "ns", OWNER)
        assert events == []

    run(main)


TERMINATING = StatusError(
    403, "Forbidden", "it is going", details={"causes": [{"reason": "NamespaceTerminating"}]}
)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StatusError(403, "Forbidden", "no room"), [("Warning", "FailedCreate", "Error creating: no room")]),
        (Unreachable("it is away"), [("Warning", "FailedCreate", "Error creating: it is away")]),
        (TERMINATING, []),
    ],
)
def test_a_pod_that_cannot_be_made_is_told_unless_its_namespace_goes(
    error: Exception, told: list[Any]
) -> None:
    async def main(client: LocalClient) -> None:
        control_, events = control(Failing(error))
        with pytest.raises(type(error)):
            await control_.create(pod("p", labels={"a": "b"}), "ns", OWNER)
        assert events == told

    run(main)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            StatusError(500, "InternalError", "broken"),
            [("Warning", "FailedDelete", "Error deleting: broken")],
        ),
        (StatusError(404, "NotFound", "not there"), []),
    ],
)
def test_a_pod_that_cannot_be_deleted_is_told_unless_it_is_gone(error: Exception, told: list[Any]) -> None:
    async def main(client: LocalClient) -> None:
        control_, events = control(Failing(error))
        with pytest.raises(StatusError):
            await control_.delete("ns", "p", OWNER)
        assert events == told

    run(main)


def test_a_finalizer_is_taken_away_and_those_of_others_stay() -> None:
    async def main(client: LocalClient) -> None:
        made = await client.create(PODS, pod("p", finalizers=["example.org/a", "example.org/b"]), "ns")
        control_, _ = control(client)
        after = await control_.remove_finalizer(made, "example.org/a")
        assert after["metadata"]["finalizers"] == ["example.org/b"]
        assert await control_.remove_finalizer(after, "example.org/a") == after
        missing = {**made, "metadata": {**made["metadata"], "name": "missing"}}
        with pytest.raises(StatusError, match="not found"):
            await control_.remove_finalizer(missing, "example.org/a")

    run(main)


def test_a_finalizer_goes_also_from_a_pod_that_has_changed_and_still_runs() -> None:
    async def main(client: LocalClient) -> None:
        made = await client.create(PODS, pod("p", finalizers=["example.org/a", "example.org/b"]), "ns")
        await client.patch(PODS, "p", {"status": {"phase": "Running"}}, "ns", subresource="status")
        control_, _ = control(client)
        after = await control_.remove_finalizer(made, "example.org/a")
        assert after["metadata"]["finalizers"] == ["example.org/b"]

    run(main)


def test_a_finalizer_stays_if_the_pod_has_ended_since_it_was_seen() -> None:
    async def main(client: LocalClient) -> None:
        made = await client.create(PODS, pod("p", finalizers=["example.org/a"]), "ns")
        await client.patch(PODS, "p", {"status": {"phase": "Succeeded"}}, "ns", subresource="status")
        control_, _ = control(client)
        with pytest.raises(StatusError) as refused:
            await control_.remove_finalizer(made, "example.org/a")
        assert refused.value.code == 409

    run(main)


def test_a_pod_that_has_changed_and_still_runs_is_killed() -> None:
    async def main(client: LocalClient) -> None:
        made = await client.create(PODS, pod("p"), "ns")
        await client.patch(PODS, "p", {"status": {"phase": "Running"}}, "ns", subresource="status")
        control_, events = control(client)
        await control_.kill(made, OWNER)
        assert (await client.list(PODS, "ns")).items == []
        assert events == [("Normal", "SuccessfulDelete", "Deleted pod: p")]

    run(main)


def test_a_pod_that_has_ended_since_it_was_seen_is_not_killed() -> None:
    async def main(client: LocalClient) -> None:
        made = await client.create(PODS, pod("p"), "ns")
        await client.patch(PODS, "p", {"status": {"phase": "Failed"}}, "ns", subresource="status")
        control_, events = control(client)
        with pytest.raises(StatusError) as refused:
            await control_.kill(made, OWNER)
        assert refused.value.code == 409
        assert len((await client.list(PODS, "ns")).items) == 1
        assert events == []

    run(main)


def test_several_pods_are_made_slowly_and_each_is_told() -> None:
    async def main(client: LocalClient) -> None:
        control_, events = control(client)
        wanted = [pod(name, labels={"a": "b"}) for name in ("p", "q", "q", "never", "never")]
        p, q, refused = await control_.create_all(wanted, "ns", OWNER)
        assert isinstance(p, dict)
        assert isinstance(q, dict)
        assert isinstance(refused, StatusError)
        assert events == [
            ("Normal", "SuccessfulCreate", "Created pod: p"),
            ("Normal", "SuccessfulCreate", "Created pod: q"),
            ("Warning", "FailedCreate", 'Error creating: pods "q" already exists'),
        ]
        assert len((await client.list(PODS, "ns")).items) == 2

    run(main)


def test_finalizers_are_taken_from_several_pods_together() -> None:
    async def main(client: LocalClient) -> None:
        for name in ("p", "q"):
            await client.create(PODS, pod(name, finalizers=["example.org/a"]), "ns")
        control_, _ = control(client)
        p, missing, q = await control_.remove_finalizers("ns", ["p", "missing", "q"], "example.org/a")
        assert isinstance(missing, StatusError)
        assert missing.code == 404
        for one in (p, q):
            assert isinstance(one, dict)
            assert "finalizers" not in one["metadata"]
            assert await client.get(PODS, one["metadata"]["name"], "ns") == one

    run(main)


def test_a_pod_of_a_template() -> None:
    async def main(client: LocalClient) -> None:
        owner = await client.create(JOBS, job("job"), "ns")
        template = owner["spec"]["template"]
        template = {**template, "metadata": {**template["metadata"], "finalizers": ["example.org/a"]}}
        ref = owners.controller_ref(owner, JOBS)
        made = pod_control.from_template(
            template,
            ref,
            generate_name=pod_control.name_prefix("job"),
            finalizers=("example.org/b", "example.org/a"),
        )
        assert made["metadata"] == {
            "generateName": "job-",
            "ownerReferences": [ref],
            "labels": template["metadata"]["labels"],
            "finalizers": ["example.org/a", "example.org/b"],
        }
        assert made["spec"] is template["spec"]
        stored = await client.create(PODS, made, "ns")
        assert stored["metadata"]["name"].startswith("job-")
        assert reference(owner, JOBS) == {
            "kind": "Job",
            "apiVersion": "batch/v1",
            "namespace": "ns",
            "name": "job",
            "uid": owner["metadata"]["uid"],
            "resourceVersion": owner["metadata"]["resourceVersion"],
        }

    run(main)


def test_a_very_long_owner_name_gets_no_hyphen() -> None:
    assert pod_control.name_prefix("a" * 252) == "a" * 252 + "-"
    assert pod_control.name_prefix("a" * 253) == "a" * 253


class Refusing:
    """Refuses to delete a pod, which does not change."""

    def __init__(self, client: LocalClient) -> None:
        self.get, self.asked = client.get, 0

    async def delete(self, *_: Any) -> None:
        self.asked += 1
        assert self.asked < 100
        raise StatusError(409, "Conflict", "a webhook says no")


def test_a_conflict_about_something_else_ends_the_attempt() -> None:
    async def main(client: LocalClient) -> None:
        made = await client.create(PODS, pod("p"), "ns")
        pods, _ = control(Refusing(client))
        with pytest.raises(StatusError, match="a webhook says no"):
            await pods.kill(made, OWNER)

    run(main)
