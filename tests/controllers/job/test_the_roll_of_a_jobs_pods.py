"""The roll of a Job's pods, kept up change by change, is what one made from scratch would be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.job.job_scene import a_job, a_pod
from longshore.api import indexes
from longshore.api.facts import pod_state
from longshore.api.types import Obj
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.pods.roll import Roll
from longshore.controllers.job.waking import selector_index
from longshore.controllers.job.waking.rolls import Rolls
from longshore.machinery.informers.cache import Cache, key_of

pytestmark = pytest.mark.long

JOB = a_job()
OTHER = a_job(name="other")
OTHER["metadata"]["uid"] = "other-uid"
OTHER["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": "other-uid"}}
FORGET = "the Job is forgotten"


def owned(pod: Obj, job: str | None, *, selected: bool) -> Obj:
    """The pod with this Job for a controller, and labels that the Job selects, or not."""
    meta = pod["metadata"]
    if job is not None:
        uid = JOB["metadata"]["uid"] if job == "j" else OTHER["metadata"]["uid"]
        meta["ownerReferences"] = [{"kind": "Job", "name": job, "uid": uid, "controller": True}]
        names = {"controller-uid": uid, "job-name": job, "batch.kubernetes.io/job-name": job}
        meta["labels"] = {**names, "batch.kubernetes.io/controller-uid": uid}
    if not selected:
        meta["labels"] = {"batch.kubernetes.io/controller-uid": "nobody"}
    return pod


pods = st.builds(
    owned,
    st.builds(
        a_pod,
        st.sampled_from("abc"),
        st.sampled_from(["Pending", "Running", "Unknown", "Succeeded", "Failed"]),
        index=st.sampled_from([None, "x", 0, 1, 2, 3, 7]),
        ready=st.booleans(),
        tracked=st.booleans(),
        deleting=st.booleans(),
        restarts=st.integers(0, 3),
    ),
    st.sampled_from(["j", "j", "j", "other", None]),
    selected=st.sampled_from([True, True, True, False]),
)
changes = st.one_of(
    pods,
    st.tuples(pods, st.just("in place of one of its name")),
    st.sampled_from(["a", "b", "c", FORGET]),
)


class World:
    """A cache, and what hears of it."""

    def __init__(self) -> None:
        self.cache = Cache()
        self.cache.add_index(selector_index.PODS_BY_JOB, selector_index.pods_by_job)
        self.rolls = Rolls(self.cache)

    def change(self, what: Any) -> None:
        """A pod's new state, a pod in place of another, the name of a deleted pod, or FORGET."""
        if what == FORGET:
            self.rolls.forget(key_of(JOB))
        elif isinstance(what, str):
            self._gone(what)
        elif isinstance(what, tuple):
            pod, name = what[0], what[0]["metadata"]["name"]
            self._gone(name)
            self._seen({**pod, "metadata": {**pod["metadata"], "uid": f"another {name}"}})
        else:
            self._seen(what)

    def _seen(self, pod: Obj) -> None:
        old = self.cache.get(*key_of(pod))
        self.cache.put(key_of(pod), pod)
        if old is None:
            self.rolls.on_add(pod, False)
        else:
            self.rolls.on_update(old, pod)

    def _gone(self, name: str) -> None:
        old = self.cache.get("ns", name)
        if old is not None:
            self.cache.remove(("ns", name))
            self.rolls.on_delete(old, False)

    def check(self) -> None:
        for job in (JOB, OTHER):
            kept, matches = self.rolls.now(job), selector_index.matcher(job)
            mine = self.cache.by_index(selector_index.PODS_BY_JOB, selector_index.owned_key(job))
            selected = [pod for pod in mine if matches(pod["metadata"]["labels"])]
            strangers = [pod for pod in mine if pod not in selected]
            assert shown(kept.roll) == from_scratch(selected)
            assert kept.strangers == by_name(strangers)


def by_name(found: list[Obj]) -> dict[str, Obj]:
    return {pod["metadata"]["name"]: pod for pod in found}


def from_scratch(found: list[Obj]) -> dict[str, Any]:
    """The roll of these pods, by one pass for each of its parts."""
    running = [pod for pod in found if not pod_state.has_ended(pod)]
    active = [pod for pod in running if not pod_facts.deleting(pod)]
    numbers = [pod_facts.index(pod) for pod in active]
    tracked = [pod for pod in found if pod_facts.tracked(pod)]
    leaving = [pod for pod in tracked if pod_state.has_ended(pod) or pod_facts.deleting(pod)]
    failures = [pod for pod in found if pod_state.phase_of(pod) == "Failed" and not pod_facts.tracked(pod)]
    restarting = [pod for pod in found if pod_state.phase_of(pod) in ("Pending", "Running")]
    return {
        "pods": by_name(found),
        "active": by_name(active),
        "active_indexes": {number: numbers.count(number) for number in numbers},
        "active_runs": indexes.from_sorted(sorted(set(numbers) - {pod_facts.NO_INDEX})),
        "ready": sum(pod_state.is_ready(pod) for pod in active),
        "restarts": sum(pod_state.restarts(pod) for pod in restarting),
        "terminating": by_name([pod for pod in running if pod_facts.deleting(pod)]),
        "tracked": {pod["metadata"]["uid"]: pod for pod in tracked},
        "leaving": by_name(leaving),
        "untracked_failures": by_name(failures),
        "distinct": [
            len(set(numbers)) == len(numbers) and all(0 <= n < completions for n in numbers)
            for completions in range(5)
        ],
    }


def shown(roll: Roll) -> dict[str, Any]:
    return {
        "pods": {name: entry.pod for name, entry in roll.entries.items()},
        "active": roll.active,
        "active_indexes": roll.active_indexes,
        "active_runs": tuple(roll.active_runs),
        "ready": roll.ready,
        "restarts": roll.restarts,
        "terminating": roll.terminating,
        "tracked": {uid: entry.pod for uid, entry in roll.tracked.items()},
        "leaving": {name: entry.pod for name, entry in roll.leaving.items()},
        "untracked_failures": roll.untracked_failures,
        "distinct": [roll.one_active_pod_per_index(completions) for completions in range(5)],
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(changes, st.booleans()), min_size=5, max_size=25))
def test_a_roll_kept_up_is_a_roll_made_from_scratch(happened: list[tuple[Any, bool]]) -> None:
    world = World()
    for change, looked_at in happened:
        world.change(change)
        if looked_at:
            world.check()
    world.check()


def test_pods_are_looked_at_again_only_when_they_change() -> None:
    world = World()
    for name in "abc":
        world.change(owned(a_pod(name), "j", selected=True))
    before = dict(world.rolls.now(JOB).roll.entries)
    world.change(owned(a_pod("b", "Succeeded"), "j", selected=True))
    after = world.rolls.now(JOB).roll.entries
    assert [name for name in after if after[name] is not before[name]] == ["b"]
