"""What holds when nothing is left to do, and what holds for the run as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from longshore.api.facts import job_state, pod_state
from longshore.api.types import Obj
from simulation.pod_invariants import carries_failures
from simulation.record import JOBS, WORK, Record


def it_comes_to_rest(record: Record) -> Iterator[str]:
    """When it is calm and nobody does anything, nothing happens any more."""
    if not record.ended_quietly:
        last = [f"{change.at:.0f} {change.type} {change.key}" for change in record.changes[-3:]]
        yield f"something goes on for ever: {last}"


def no_part_fails(record: Record) -> Iterator[str]:
    """No controller, scheduler or node raises an error that it does not expect."""
    yield from record.failures


def acknowledged_writes_survive(record: Record) -> Iterator[str]:
    """What was answered to a person is stored, and nobody but a person changes what they want."""
    stored = {_version(change.obj) for change in record.changes}
    wanted = {obj["metadata"]["uid"]: obj for obj in record.acknowledged}
    last = {change.obj["metadata"]["uid"]: change.obj for change in record.changes}
    for obj in record.acknowledged:
        if _version(obj) not in stored:
            yield f"{obj['metadata']['name']} was answered, and is lost"
    for uid, obj in wanted.items():
        now, spec = (last[uid].get("spec") or {} if uid in last else {}), obj.get("spec") or {}
        if uid in last and {**now, **spec} != now:  # a controller may add what nobody said
            yield f"{obj['metadata']['name']}: {spec} was answered, and is {now}"


def every_job_ends(record: Record) -> Iterator[str]:
    """A Job that is to run has ended when all is at rest: its pods all end, and there is room for them."""
    for job in record.at_rest(JOBS).values():
        spec = job["spec"]
        is_to_run = not spec.get("suspend") and spec["parallelism"]
        if is_to_run and not job_state.has_ended(job) and "deletionTimestamp" not in job["metadata"]:
            yield f"{job['metadata']['name']}: never ended: {job.get('status')}"


def what_is_deleted_goes(record: Record) -> Iterator[str]:
    """No object waits for its finalizers for ever, but for a failed pod that carries the failures of its
    index; and none outlives its owner."""
    jobs = record.last(JOBS)
    left = {uid: obj for storage in WORK for uid, obj in record.at_rest(storage).items()}
    for obj in left.values():
        meta = obj["metadata"]
        if "deletionTimestamp" in meta and not (pod_state.has_ended(obj) and carries_failures(obj, jobs)):
            yield f"{meta['name']}: is deleted, and waits for {meta.get('finalizers')}"
        for owner in meta.get("ownerReferences") or ():
            if owner["kind"] in ("Job", "CronJob") and owner["uid"] not in left:
                yield f"{meta['name']}: its owner {owner['kind']} {owner['name']} is gone"


def _version(obj: Obj) -> tuple[str, str]:
    return obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]
