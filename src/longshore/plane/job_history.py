"""Remembers Jobs that have ended, also after their TTL or their deletion: `finishedjobs` of longshore.dev.

A record is made when a Job ends, or is deleted before its end. For a Job that failed it also has the story
and the last words: how its last pods failed, and the last lines of the last pod's log. Pods may be deleted
soon, if there are too many, and their logs with them; the record then says when.

The API has whole seconds. A record has the time at which the change arrived here, a few milliseconds after
the start or the end. For a Job that started before a restart, it has the second of the start.

Records are written to the store once a second. A record of the last second is lost if the process dies, and
is made again for a Job that still exists. The store keeps the last 5,000 of the last 30 days, and as many of
Jobs that failed, which others do not displace (`store/notes.py`). If a Job has two records, the later one
counts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from longshore.api import resources
from longshore.api.facts import job_state, kinds, own_names, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.apiserver.request.call import Call
from longshore.controllers.job.waking import selector_index
from longshore.machinery.background import Background
from longshore.machinery.informers.cache import Cache
from longshore.machinery.informers.informer import Handler, Informers
from longshore.machinery.reason_book import FLUSH_SECONDS, Shelf
from longshore.machinery.reasons import Number
from longshore.machinery.records import Record
from longshore.machinery.time.clock import Clock
from longshore.why import inferred
from longshore.why.kinds import KINDS
from longshore.why.story import StoryView

ROW: Final = resources.own("FinishedJob", "finishedjobs", namespaced=True, verbs=("get", "list"))
LAST_LINES: Final = 50
_MAX_WORDS_CHARACTERS: Final = 4096
_MAX_DELAY_SECONDS: Final = 1.0
"""A change that arrives later than this after its second does not tell the fraction of that second."""
_MAX_STORY_PODS: Final = 10
"""Most failed pods in the story that the record of a Job keeps."""

Tail = Callable[[Obj, str], Awaitable[str]]
"""Returns the last lines of the log of a pod's container; empty if they are not available."""


async def no_tail(pod: Obj, container: str) -> str:
    return ""


class FinishedJob(msgspec.Struct, array_like=True, omit_defaults=True):
    """The record of one Job that has ended. Never changed."""

    namespace: str
    name: str
    uid: str
    result: str
    """`complete`, `failed`, or `deleted` before its end."""
    ended: float
    """The end, in seconds since 1970. `started` is in the same unit, and 0 if the Job never started."""
    started: float
    succeeded: int
    failed: int
    completions: int | None = None
    reason: str = ""
    message: str = ""
    last_failure: str = ""
    owner: str = ""
    """The controller of the Job: `CronJob/nightly`."""
    retry_of: str = ""
    last_words: str = ""
    """The message of the last failed pod, and the last lines of its log."""
    last_pod: str = ""
    """The name of the last failed pod."""
    last_pod_uid: str = ""
    pods_removed: float = 0.0
    """When the last failed pod was removed, in seconds since 1970; 0 if it was not."""
    story: tuple[Record, ...] = ()
    """The failures of pods and the end of the Job, for `longshore why`."""

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
            "endTime": rfc3339.millis_from_seconds(self.ended),
            "succeeded": self.succeeded,
            "failed": self.failed,
        }
        if self.started:
            out["startTime"] = rfc3339.millis_from_seconds(self.started)
        if self.completions is not None:
            out["completions"] = self.completions
        removed = rfc3339.from_seconds(self.pods_removed) if self.pods_removed else ""
        more = (self.reason, self.message, self.last_failure, self.owner, self.retry_of, removed)
        names = ("reason", "message", "lastFailure", "owner", "retryOf", "podsRemoved")
        return {**out, **{name: value for name, value in zip(names, more, strict=True) if value}}

    def whole_document(self) -> Obj:
        """The document with the last words, which are left out of lists."""
        more = {"lastPod": self.last_pod, "lastWords": self.last_words}
        return {**self.document(), **{name: value for name, value in more.items() if value}}


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(list[FinishedJob]).decode


class JobHistory(Handler):
    """Records the ended Jobs of a plane, as a handler of their changes."""

    def __init__(self, clock: Clock, shelf: Shelf, failed: Shelf, tail: Tail = no_tail) -> None:
        """`failed` is the shelf for Jobs that failed."""
        self._clock, self._shelf, self._failed, self._tail = clock, shelf, failed, tail
        self._new: dict[str, FinishedJob] = {}
        """New records, by the uid of their Job."""
        self._starts: dict[str, float] = {}
        """When Jobs that have not ended were seen to start, by uid."""
        self._removed: dict[str, float] = {}
        """When the last failed pod of a Job was removed, by the uid of the Job."""
        self._last_pods: dict[str, str] = {}
        """By uid, the last failed pods that still exist, each with the uid of its Job."""
        self._reading = Background()
        self._is_armed = False
        self._pods: Cache | None = None
        self._before: tuple[set[str], float] | None = None
        """UIDs of the records that existed at the start, and the end of the latest."""

    async def run(self, informers: Informers) -> None:
        """Follows Jobs until cancelled."""
        self._before = None
        self._last_pods = {each.last_pod_uid: each.uid for each in self.every() if each.last_pod_uid}
        indexers = {selector_index.PODS_BY_JOB: selector_index.pods_by_job}
        pods = informers.get(kinds.PODS, indexers=indexers)
        pods.add_handler(_Removals(self.pod_removed))
        self._pods = pods.cache
        informers.get(kinds.JOBS).add_handler(self)
        try:
            await informers.run()
        finally:
            self._reading.cancel()

    def on_add(self, obj: Obj, initial: bool) -> None:
        if job_state.has_ended(obj):
            if not initial or self._is_missing(obj):
                self._note(obj)
        elif not initial:
            self._note_start(obj, None)

    def on_update(self, old: Obj, new: Obj) -> None:
        self._note_start(new, _start_of(old))
        if job_state.has_ended(new) and not job_state.has_ended(old):
            self._note(new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        if not job_state.has_ended(obj):
            self._note(obj)
        self._starts.pop(obj["metadata"]["uid"], None)

    def every(self) -> list[FinishedJob]:
        """All records, oldest first."""
        self.flush()
        return sorted(self._kept().values(), key=lambda record: record.ended)

    def _kept(self) -> dict[str, FinishedJob]:
        bundles = (*self._shelf, *self._failed)
        return {record.uid: record for bundle in bundles for record in _decode(bundle)}

    def flush(self) -> None:
        """Writes new records to the shelf."""
        new, self._new, removed, self._removed = self._new, {}, self._removed, {}
        self._is_armed = False
        if removed.keys() - new.keys():
            kept = self._kept()
            new |= {uid: kept[uid] for uid in removed if uid not in new and uid in kept}
        for uid, at in removed.items():
            if uid in new:
                new[uid] = msgspec.structs.replace(new[uid], pods_removed=at)
        for shelf, is_failed in ((self._shelf, False), (self._failed, True)):
            if records := [each for each in new.values() if (each.result == "failed") is is_failed]:
                shelf.add(self._clock.timestamp(), len(records), _encode(records))

    def recalled(self, namespace: str, name: str, known: Collection[Record]) -> list[Record]:
        """The records for the story of a Job that failed, unless they are `known` already: older reasons may
        have been dropped from the book."""
        found = [each for each in self.every() if (each.namespace, each.name) == (namespace, name)]
        if not found or found[-1].result != "failed":
            return []
        last, told = found[-1], {(record.uid, record.code) for record in known}
        records = [] if (last.uid, "Failed") in told else [*last.story]
        if last.pods_removed:
            when = rfc3339.from_seconds(last.pods_removed)
            records.append(_of_job(last, last.pods_removed, "PodsGone", {"at": when, "job": name}))
        return records

    async def answer(self, call: Call) -> Obj | None:
        """The document that a GET or a list asks for."""
        found = [each for each in self.every() if call.namespace in ("", each.namespace)]
        if call.verb == "list":
            return {"metadata": {}, "items": [each.document() for each in found]}
        return next((each.whole_document() for each in found if each.id == call.name), None)

    def pod_removed(self, pod: Obj) -> None:
        """Notes the time if this is the last failed pod of a Job."""
        job = self._last_pods.pop(pod["metadata"]["uid"], None)
        if job is not None:
            self._removed[job] = self._clock.timestamp()
            self._arm()

    def _note_start(self, job: Obj, before: str | None) -> None:
        start = _start_of(job)
        if start and start != before:
            self._starts[job["metadata"]["uid"]] = _within(rfc3339.seconds(start), self._clock.timestamp())

    def _note(self, job: Obj) -> None:
        pods = self._failed_pods(job)
        now = self._clock.timestamp()
        record = record_of(job, pods, now)
        seen = self._starts.pop(record.uid, record.started)
        record = msgspec.structs.replace(record, ended=_within(record.ended, now), started=seen)
        self._put(record)
        if record.last_pod_uid:
            self._last_pods[record.last_pod_uid] = record.uid
            last = next(pod for pod in pods if pod["metadata"]["uid"] == record.last_pod_uid)
            self._reading.spawn(self._add_words(record, last))

    async def _add_words(self, record: FinishedJob, pod: Obj) -> None:
        end = pod_state.end_of(pod)
        lines = await self._tail(pod, end.container) if end.container else ""
        words = "\n".join(part for part in (end.message.strip(), lines.strip()) if part)
        if words:
            self._put(msgspec.structs.replace(record, last_words=words[-_MAX_WORDS_CHARACTERS:]))

    def _put(self, record: FinishedJob) -> None:
        self._new[record.uid] = record
        self._arm()

    def _arm(self) -> None:
        if not self._is_armed:
            self._is_armed = True
            self._clock.call_later(FLUSH_SECONDS, self.flush)

    def _failed_pods(self, job: Obj) -> list[Obj]:
        if self._pods is None or not (job.get("status") or {}).get("failed"):
            return []
        keys = selector_index.owned_key(job), selector_index.counted_failures_key(job)
        pods = [pod for key in keys for pod in self._pods.by_index(selector_index.PODS_BY_JOB, key)]
        return [pod for pod in pods if pod_state.phase_of(pod) == "Failed"]

    def _is_missing(self, job: Obj) -> bool:
        """Whether a Job that ended before this process started has no record. If it ended before the latest
        record, it had one that has expired."""
        if self._before is None:
            records = self.every()
            latest = max((each.ended for each in records), default=0.0)
            self._before = {each.uid for each in records}, float(int(latest))  # Jobs have whole seconds
        uids, latest = self._before
        return job["metadata"]["uid"] not in uids and _end_of(job, latest) >= latest


class _Removals(Handler):
    """Calls a function for each pod that is removed."""

    def __init__(self, removed: Callable[[Obj], None]) -> None:
        self._removed = removed

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._removed(obj)


def record_of(job: Obj, failed_pods: Collection[Obj], now: float) -> FinishedJob:
    meta, spec, status = job["metadata"], job["spec"], job.get("status") or {}
    end = job_state.end_of(job)
    owner = next((each for each in meta.get("ownerReferences") or () if each.get("controller")), None)
    pods = sorted(failed_pods, key=lambda pod: pod_state.main_end(pod).get("finishedAt") or "")
    is_failed = end is not None and end["type"] != "Complete"
    last = pods[-1]["metadata"] if pods and is_failed else {}
    made = FinishedJob(
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
        _last_failure(pods),
        f"{owner['kind']}/{owner['name']}" if owner else "",
        (meta.get("annotations") or {}).get(own_names.RETRY_OF, ""),
        last_pod=last.get("name", ""),
        last_pod_uid=last.get("uid", ""),
    )
    story = _story(made, job, pods[-_MAX_STORY_PODS:]) if is_failed else ()
    return msgspec.structs.replace(made, story=tuple(story))


def _story(made: FinishedJob, job: Obj, pods: Sequence[Obj]) -> Iterator[Record]:
    view = StoryView(KINDS["job"], made.namespace, made.name, made.ended, job, pods=pods)
    for record in inferred.of_job(view):
        if record.code != "PodsCreated":  # other pods are missing here
            yield _of_job(made, record.at, record.code, record.numbers)


def _of_job(made: FinishedJob, at: float, code: str, numbers: Mapping[str, Number]) -> Record:
    who = "Job controller"  # which decided this, also if another part reports it
    return Record(at, "job", made.namespace, made.name, made.uid, who, code, numbers=numbers)


def _start_of(job: Obj) -> str | None:
    start: str | None = (job.get("status") or {}).get("startTime")
    return start


def _within(second: float, heard: float) -> float:
    """The time of a change with its fraction: `second` is the API's, `heard` the time at which it arrived."""
    is_news = second <= heard < second + 1 + _MAX_DELAY_SECONDS
    return min(heard, second + 0.999) if is_news else second


def _end_of(job: Obj, otherwise: float) -> float:
    end = job_state.end_of(job)
    return rfc3339.seconds(end["lastTransitionTime"]) if end and end.get("lastTransitionTime") else otherwise


def _last_failure(pods: Sequence[Obj]) -> str:
    """The last failed pod in words; empty if there is none."""
    if not pods:
        return ""
    last = pods[-1]
    index = pod_state.completion_index(last)
    who = f"index {index}" if index is not None else f"pod {last['metadata']['name']}"
    end = pod_state.end_of(last)
    code = f"exit code {end.code}" if end.code else ""
    reason = end.reason if end.reason != "Error" else ""
    return f"{who}: {', '.join(part for part in (reason, code) if part) or 'failed'}"
