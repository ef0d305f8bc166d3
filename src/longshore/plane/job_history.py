"""Remembers Jobs that have ended, also after their TTL or their deletion: `finishedjobs` of longshore.dev.

A record is made when a Job ends, or is deleted before its end. Records are kept in the store, once a second;
a record of the last second is lost with the process, and made again for a Job that is still there. The store
keeps the last 5,000 of the last 30 days (`store/notes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import msgspec

from longshore.api.facts import job_state, kinds, own_names, pod_end, pod_state
from longshore.api.facts.pod_state import COMPLETION_INDEX
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.apiserver.documents import own_group
from longshore.apiserver.request.call import Call
from longshore.controllers.job.waking import selector_index
from longshore.machinery.informers.cache import Cache
from longshore.machinery.informers.informer import Handler
from longshore.machinery.informers.shared import Informers
from longshore.machinery.time.clock import Clock

ROW: Final = own_group.row("FinishedJob", "finishedjobs", namespaced=True, verbs=("get", "list"))
FLUSH_SECONDS: Final = 1.0


class FinishedJob(msgspec.Struct, array_like=True, omit_defaults=True):
    """One Job that has ended. Nobody changes one."""

    namespace: str
    name: str
    uid: str
    result: str
    """`complete`, `failed`, or `deleted` before its end."""
    ended: float
    """Seconds since 1970; so is `started`, 0 for a Job that never was."""
    started: float
    succeeded: int
    failed: int
    completions: int | None = None
    reason: str = ""
    message: str = ""
    last_failure: str = ""
    owner: str = ""
    """`CronJob/nightly`."""
    retry_of: str = ""

    @property
    def id(self) -> str:
        return f"{self.name}.{self.uid[:8]}"

    def document(self) -> Obj:
        out: Obj = {
            "metadata": {
                "name": self.id,
                "namespace": self.namespace,
                "uid": self.uid,
                "creationTimestamp": rfc3339.from_seconds(self.ended),
            },
            "job": self.name,
            "result": self.result,
            "endTime": rfc3339.from_seconds(self.ended),
            "succeeded": self.succeeded,
            "failed": self.failed,
        }
        if self.started:
            out["startTime"] = rfc3339.from_seconds(self.started)
        if self.completions is not None:
            out["completions"] = self.completions
        more = (self.reason, self.message, self.last_failure, self.owner, self.retry_of)
        names = ("reason", "message", "lastFailure", "owner", "retryOf")
        return {**out, **{name: value for name, value in zip(names, more, strict=True) if value}}


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(list[FinishedJob]).decode


class Shelf(Protocol):
    """Where bundles of records are kept, bounded by age and number."""

    def add(self, at: float, notes: int, data: bytes) -> None: ...

    def __iter__(self) -> Iterator[bytes]: ...


class JobHistory(Handler):
    """Hears of all Jobs of a plane."""

    def __init__(self, clock: Clock, shelf: Shelf) -> None:
        self._clock, self._shelf = clock, shelf
        self._new: list[FinishedJob] = []
        self._pods: Cache | None = None
        self._before: tuple[set[str], float] | None = None
        """UIDs of the records that were there at the start, and the end of the latest."""

    async def run(self, informers: Informers) -> None:
        """Follows Jobs until cancelled."""
        self._before = None
        indexers = {selector_index.PODS_BY_JOB: selector_index.pods_by_job}
        self._pods = informers.get(kinds.PODS, indexers=indexers).cache
        informers.get(kinds.JOBS).add_handler(self)
        await informers.run()

    def on_add(self, obj: Obj, initial: bool) -> None:
        if job_state.has_ended(obj) and (not initial or self._is_missing(obj)):
            self._note(obj)

    def on_update(self, old: Obj, new: Obj) -> None:
        if job_state.has_ended(new) and not job_state.has_ended(old):
            self._note(new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        if not job_state.has_ended(obj):
            self._note(obj)

    def every(self) -> list[FinishedJob]:
        """All records, oldest first."""
        self.flush()
        return [record for bundle in self._shelf for record in _decode(bundle)]

    def flush(self) -> None:
        """Puts new records on the shelf."""
        new, self._new = self._new, []
        if new:
            self._shelf.add(self._clock.timestamp(), len(new), _encode(new))

    async def answer(self, call: Call) -> Obj | None:
        """The document that a GET or a list asks for."""
        found = [each for each in self.every() if call.namespace in ("", each.namespace)]
        if call.verb == "list":
            return {"metadata": {}, "items": [each.document() for each in found]}
        return next((each.document() for each in found if each.id == call.name), None)

    def _note(self, job: Obj) -> None:
        if not self._new:
            self._clock.call_later(FLUSH_SECONDS, self.flush)
        self._new.append(record_of(job, self._failed_pods(job), self._clock.timestamp()))

    def _failed_pods(self, job: Obj) -> list[Obj]:
        if self._pods is None or not (job.get("status") or {}).get("failed"):
            return []
        keys = selector_index.owned_key(job), selector_index.counted_failures_key(job)
        pods = [pod for key in keys for pod in self._pods.by_index(selector_index.PODS_BY_JOB, key)]
        return [pod for pod in pods if pod_state.phase_of(pod) == "Failed"]

    def _is_missing(self, job: Obj) -> bool:
        """Whether a Job that had ended before this process began has no record. One that ended before the
        latest record had one, which has gone since."""
        if self._before is None:
            records = self.every()
            self._before = {each.uid for each in records}, max((each.ended for each in records), default=0.0)
        uids, latest = self._before
        return job["metadata"]["uid"] not in uids and _end_of(job, latest) >= latest


def record_of(job: Obj, failed_pods: Iterable[Obj], now: float) -> FinishedJob:
    meta, spec, status = job["metadata"], job["spec"], job.get("status") or {}
    end = job_state.end_of(job)
    owner = next((each for each in meta.get("ownerReferences") or () if each.get("controller")), None)
    return FinishedJob(
        meta["namespace"],
        meta["name"],
        meta["uid"],
        "deleted" if end is None else "complete" if end["type"] == "Complete" else "failed",
        _end_of(job, now),
        rfc3339.seconds(status.get("startTime")),
        status.get("succeeded", 0),
        status.get("failed", 0),
        spec.get("completions"),
        (end or {}).get("reason", ""),
        (end or {}).get("message", ""),
        _last_failure(failed_pods),
        f"{owner['kind']}/{owner['name']}" if owner else "",
        (meta.get("annotations") or {}).get(own_names.RETRY_OF, ""),
    )


def _end_of(job: Obj, otherwise: float) -> float:
    end = job_state.end_of(job)
    return rfc3339.seconds(end["lastTransitionTime"]) if end and end.get("lastTransitionTime") else otherwise


def _last_failure(pods: Iterable[Obj]) -> str:
    """The failed pod that ended last, in words; empty where none is known."""
    last = max(pods, key=lambda pod: pod_state.main_end(pod).get("finishedAt") or "", default=None)
    if last is None:
        return ""
    index = (last["metadata"].get("annotations") or {}).get(COMPLETION_INDEX)
    who = f"index {index}" if index is not None else f"pod {last['metadata']['name']}"
    end = pod_end.of(last)
    code = f"exit code {end.code}" if end.code else ""
    reason = end.reason if end.reason != "Error" else ""
    return f"{who}: {', '.join(part for part in (reason, code) if part) or 'failed'}"
