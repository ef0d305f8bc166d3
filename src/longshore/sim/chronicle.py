"""Notes what happens in a simulation, as it happens: a line for each pod and each Job that ever was.

A line stays when its object is deleted by TTL, history limits or people. Decides nothing.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from longshore.api import quantity
from longshore.api.defaults.pod import default_pod
from longshore.api.facts import conditions, job_state, kinds, owners, pod_state
from longshore.api.pod_resources import pod_requests
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.explanations import Explanation
from longshore.machinery.informers.informer import Handler, Informers
from longshore.machinery.reasons import Reason
from longshore.machinery.time.clock import Clock
from longshore.why import no_node

GROUP_NAME: Final = "scheduling.k8s.io/group-name"
SCHEDULED: Final = (
    "batch.kubernetes.io/cronjob-scheduled-timestamp",
    "volcano.sh/cronjob-scheduled-timestamp",
)
"""The annotations with the scheduled time of a CronJob's Job: Kubernetes' and Volcano's."""
SUSPENDED: Final = "it is suspended"
_FORBIDDEN: Final = " is forbidden: "
"""Text before the reason in a message about a pod that cannot be created."""
_NEXT_POD: Final = " failed to create pod "
"""Text before the next pod of a gang in such a message."""
_GANG_WAITS: Final = "GangWaits"
"""The scheduler's reason with the numbers of a gang that waits (`scheduler/gang/numbers.py`)."""
_GANG_ENDS: Final = {"Completed": "complete", "Failed": "failed", "Terminated": "failed", "Aborted": "failed"}

Explains = Callable[[str, str], Sequence[Explanation]]
"""Returns the last decisions about the object of a namespace and name."""


@dataclass(slots=True)
class PodLine:
    """One pod. Times are seconds since the start of the simulation; None means not yet."""

    namespace: str
    name: str
    owner: str
    """`job/report` or `vcjob/train`; empty for a pod of its own."""
    index: int | None
    created: float
    requests: dict[str, int]
    """Requests by resource: cpu in thousandths, everything else in whole units."""
    queue: str = ""
    bound: float | None = None
    started: float | None = None
    ended: float | None = None
    node: str = ""
    result: str = ""
    """`succeeded`, `failed`, `evicted` or `stopped`; empty while it lives."""
    code: int | None = None
    waits_for: str = ""
    """Why the pod has no node, or got it late: the scheduler's last message."""
    called: str = ""
    """The name in the plane, which differs from `name` after days that were left out (`repeated_days.py`)."""


@dataclass(slots=True)
class WorkLine:
    """One Job or Volcano Job."""

    kind: str
    """`job` or `vcjob`."""
    namespace: str
    name: str
    created: float
    completions: int | None = None
    owner: str = ""
    """`cronjob/nightly`, `jobflow/x`; empty if a person made it."""
    scheduled: float | None = None
    """The time of its CronJob's schedule, in seconds since 1970."""
    queue: str = ""
    started: float | None = None
    ended: float | None = None
    result: str = ""
    """`complete`, `failed` or `deleted`; empty while it lives."""
    reason: str = ""
    group: str = ""
    """The name of the PodGroup of a Volcano Job."""
    gang: Obj | None = None
    """The spec of a gang that has not started; None for a Job."""
    suspended: bool = False
    waits_for: str = ""
    """Why the work has not started, or did not start sooner: the last message of its controller or
    scheduler."""
    failed: int = 0
    """Failed pods, as the controller counts them in the status."""
    pods: list[PodLine] = field(default_factory=list)

    @property
    def reference(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def waits(self) -> str:
        """Why the work, or the first of its pods without a node, does not run now."""
        if self.ended is not None:
            return ""
        if self.suspended:
            return SUSPENDED
        own = self.waits_for if self.started is None else ""
        pod = next((each.waits_for for each in self.pods if each.bound is None and each.ended is None), "")
        return (own or pod) if self.group else (pod or own)

    def at_once(self) -> dict[str, int]:
        """The smallest requests, by resource, of the pods that a waiting gang must start together."""
        tasks = self.gang["tasks"] if self.gang is not None else ()
        each = [asked for task in tasks for asked in [_asked(task)] * (task.get("replicas") or 0)]
        least = (self.gang or {}).get("minAvailable") or len(each)
        return {
            name: sum(sorted(requests.get(name, 0) for requests in each)[:least])
            for name in {name for requests in each for name in requests}
        }


class Chronicle:
    """Follows a plane by its informers. `heard` takes the Events that its parts make."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left_out = 0.0
        """Seconds that were left out (`repeated_days.py`)."""
        self.pods: dict[str, PodLine] = {}
        """Pods by uid, in order of creation; `works` has Jobs and Volcano Jobs in the same form."""
        self.works: dict[str, WorkLine] = {}
        self.cron_jobs: dict[str, Obj] = {}
        """The last state of each CronJob, by uid; `queues` has Queues by name."""
        self.queues: dict[str, Obj] = {}
        self.queue_of: dict[str, str] = {}
        self.changes = 0
        """The number of changes so far: if it stays the same, nothing has happened."""
        self.unplayed: dict[tuple[str, str], list[str]] = {}
        """Names of objects that longshore cannot play, by apiVersion and kind."""
        self.unmet: list[str] = []
        """The rules of the outcome file that never meant a pod."""
        self.explains: Mapping[str, Explains] = {}
        """Functions that explain what an object waits for, by kind."""
        self._unsaid: dict[tuple[str, str], None] = {}
        self._by_name: dict[tuple[str, str], PodLine] = {}
        self._by_group: dict[tuple[str, str], WorkLine] = {}

    def now(self) -> float:
        """Seconds since the start of the simulation, rounded to the microsecond, so that rounding errors of
        floats do not show in results."""
        return round(self._clock.monotonic() + self._left_out, 6)

    def leave_out(self, seconds: float, pods: Iterable[PodLine]) -> None:
        """Skips `seconds` that the plane does not play. Their lines are written already; `pods` are open at
        their end."""
        self._left_out += seconds
        self._by_name.update({(pod.namespace, pod.called): pod for pod in pods})

    def follow(self, informers: Informers, *, events: bool = False) -> None:
        """Follows objects, and with `events` those Events that are stored."""
        informers.get(kinds.PODS).add_handler(_Each(self._pod, self._pod_gone))
        informers.get(kinds.JOBS).add_handler(_Each(self._job, self._work_gone))
        informers.get(kinds.VOLCANO_JOBS).add_handler(_Each(self._gang, self._work_gone))
        informers.get(kinds.CRON_JOBS).add_handler(_Each(self._cron_job, lambda obj: None))
        informers.get(kinds.VOLCANO_CRON_JOBS).add_handler(_Each(self._cron_job, lambda obj: None))
        informers.get(kinds.POD_GROUPS).add_handler(_Each(self._group, lambda obj: None))
        informers.get(kinds.QUEUES).add_handler(_Each(self._queue, lambda obj: None))
        if events:
            informers.get(kinds.EVENTS).add_handler(_Each(self._event, lambda obj: None))

    def went_unsaid(self, pod: Obj) -> None:
        """Notes that neither a rule nor an annotation says how this pod runs."""
        owner = owners.controller_of(pod)
        work = self.works.get(owner["uid"]) if owner is not None else None
        reference = f"pod/{pod['metadata']['name']}" if work is None else work.owner or work.reference
        self._unsaid[pod["metadata"]["namespace"], reference] = None

    def went_unplayed(self, obj: Obj) -> None:
        """Notes that longshore does not have the kind of this object."""
        meta = obj["metadata"]
        name = meta.get("name") or meta.get("generateName") or ""
        self.unplayed.setdefault((obj["apiVersion"], obj["kind"]), []).append(name)

    @property
    def unsaid(self) -> list[tuple[str, str]]:
        """Namespaces and names of work whose pods have neither a rule nor an annotation."""
        return [*self._unsaid]

    def end(self) -> float | None:
        """The moment at which the last work or pod ended; None while one lives, or if there are none."""
        last = 0.0
        lines: Iterable[WorkLine | PodLine] = itertools.chain(self.works.values(), self.pods.values())
        for line in lines:
            if line.ended is None:
                return None
            last = max(last, line.ended)
        return last or None

    def _event(self, event: Obj) -> None:
        self.heard(event.get("involvedObject") or {}, event.get("reason", ""), event.get("message", ""))

    def heard(self, ref: Obj, reason: str, message: str) -> None:
        """Notes the reason in an Event for which a pod or work waits."""
        place = ref.get("namespace") or "", ref.get("name") or ""
        line: WorkLine | PodLine | None = None
        match reason, ref.get("kind"):
            case (("FailedScheduling" | "Unschedulable"), "Pod"):
                line, message = self._by_name.get(place), no_node.plain(message)
            case "Unschedulable", "PodGroup":
                line = self._by_group.get(place)
                message = (line.waits_for if line is not None else "") or message
            case "FailedCreate", "Job":
                line = self.works.get(ref.get("uid") or "")
                message = message.partition(_FORBIDDEN)[2].partition(_NEXT_POD)[0].rstrip("]") or message
        if line is not None and line.started is None:
            line.waits_for = message

    def explained(self, kind: str, namespace: str, name: str) -> str:
        """The reasons of the last decision about an object. For a gang that waits for free resources these
        are only its numbers: the reasons of all its pods would fill a page. Of the nodes that lack a resource
        the first speaks for all."""
        why = self._why(kind, namespace, name)
        first = {(each.code, each.numbers.get("resource")): each for each in reversed(why)}
        return _numbers(why) or "; ".join(
            no_node.plain(each.words).rstrip(".") for each in reversed(first.values())
        )

    def _why(self, kind: str, namespace: str, name: str) -> Sequence[Reason]:
        ask = self.explains.get(kind)
        said = ask(namespace, name) if ask is not None else ()
        return said[-1].why if said else ()

    def _pod(self, pod: Obj) -> None:
        self.changes += 1
        uid, now = pod["metadata"]["uid"], self.now()
        line = self.pods.get(uid) or self._new_pod(uid, pod)
        if line.bound is None and pod["spec"].get("nodeName"):
            line.bound, line.node = now, pod["spec"]["nodeName"]
        phase = pod_state.phase_of(pod)
        if line.started is None and phase in ("Running", "Succeeded", "Failed") and line.bound is not None:
            line.started = now
            work = self.works.get((owners.controller_of(pod) or {}).get("uid", ""))
            if work is not None and work.started is None:
                work.started, work.gang = now, None
        if line.ended is None and pod_state.has_ended(pod):
            line.ended, line.code = now, pod_state.main_end(pod).get("exitCode")
            line.result = _result(pod, phase)
        elif line.ended is None and "deletionTimestamp" in pod["metadata"] and _is_disrupted(pod):
            line.ended, line.result = now, "evicted"  # if its node is down, the pod's end is reported late

    def _new_pod(self, uid: str, pod: Obj) -> PodLine:
        meta = pod["metadata"]
        owner = owners.controller_of(pod)
        word = ""
        if owner is not None:
            kind = "vcjob" if owner["apiVersion"].startswith("batch.volcano.sh/") else owner["kind"].lower()
            word = f"{kind}/{owner['name']}"
        group = (meta.get("annotations") or {}).get(GROUP_NAME, "")
        requests = {name: _number(name, amount) for name, amount in pod_requests(pod["spec"]).items()}
        index = pod_state.completion_index(pod)
        line = PodLine(meta["namespace"], meta["name"], word, index, self.now(), requests)
        line.queue, line.called = self.queue_of.get(group, ""), line.name
        self.pods[uid] = self._by_name[meta["namespace"], meta["name"]] = line
        if owner is not None and (work := self.works.get(owner["uid"])) is not None:
            work.pods.append(line)
            line.queue = line.queue or work.queue
            if work.name != owner["name"]:
                line.owner, line.name = work.reference, work.name + line.name[len(owner["name"]) :]
        return line

    def _pod_gone(self, pod: Obj) -> None:
        self._pod(pod)
        line = self.pods[pod["metadata"]["uid"]]
        if line.ended is None:
            line.ended, line.result = self.now(), "stopped"

    def _job(self, job: Obj) -> None:
        line = self._work(job, "job")
        line.suspended = bool(job["spec"].get("suspend"))
        status = job.get("status") or {}
        line.failed = status.get("failed") or 0
        end = job_state.end_of(job)
        if end is not None and line.ended is None:
            line.ended, line.result = self.now(), "complete" if end["type"] == "Complete" else "failed"
            line.reason = end.get("reason") or ""

    def _gang(self, gang: Obj) -> None:
        line = self._work(gang, "vcjob")
        status = gang.get("status") or {}
        line.queue = gang["spec"].get("queue") or "default"
        line.failed = status.get("failed") or 0
        phase = (status.get("state") or {}).get("phase") or ""
        if phase in _GANG_ENDS and line.ended is None:
            line.ended, line.result, line.reason = self.now(), _GANG_ENDS[phase], phase
            if line.started is None and line.waits_for:
                line.reason = f"{phase}: {line.waits_for}"

    def _work(self, obj: Obj, kind: str) -> WorkLine:
        self.changes += 1
        meta = obj["metadata"]
        line = self.works.get(meta["uid"])
        if line is None:
            owner = owners.controller_of(obj)
            line = self.works[meta["uid"]] = WorkLine(kind, meta["namespace"], meta["name"], self.now())
            line.owner = f"{owner['kind'].lower()}/{owner['name']}" if owner else ""
            notes = meta.get("annotations") or {}
            at = next((notes[name] for name in SCHEDULED if name in notes), None)
            line.scheduled = rfc3339.seconds(at) if at else None
            if at and self._left_out:
                line.scheduled = rfc3339.seconds(at) + self._left_out
                line.name = later_run(line.name, self._left_out)
            tasks = obj["spec"].get("tasks")
            if tasks:
                line.completions = sum(task.get("replicas") or 0 for task in tasks)
                line.gang = obj["spec"]
            else:
                line.completions = obj["spec"].get("completions")
        return line

    def _work_gone(self, obj: Obj) -> None:
        line = self.works.get(obj["metadata"]["uid"])
        if line is not None and line.ended is None:
            line.ended, line.result = self.now(), "deleted"

    def _cron_job(self, cron_job: Obj) -> None:
        self.cron_jobs[cron_job["metadata"]["uid"]] = cron_job

    def _group(self, group: Obj) -> None:
        meta = group["metadata"]
        self.queue_of[meta["name"]] = group["spec"].get("queue") or "default"
        work = self.works.get((owners.controller_of(group) or {}).get("uid", ""))
        if work is not None:
            work.group = meta["name"]
            self._by_group[meta["namespace"], meta["name"]] = work
            if work.started is None:
                why = self._why("podgroup", meta["namespace"], meta["name"])
                work.waits_for = _numbers(why) or work.waits_for

    def _queue(self, queue: Obj) -> None:
        self.queues[queue["metadata"]["name"]] = queue


class _Each(Handler):
    """Calls one function with every state of an object, and another at its deletion."""

    def __init__(self, seen: Callable[[Obj], None], gone: Callable[[Obj], None]) -> None:
        self._seen, self._gone = seen, gone

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._seen(obj)

    def on_update(self, old: Obj, new: Obj) -> None:
        self._seen(new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._gone(obj)


def _numbers(why: Sequence[Reason]) -> str:
    """The numbers of a gang that waits for free resources; empty if no reason has them."""
    return "; ".join(reason.words for reason in why if reason.code == _GANG_WAITS)


def later_run(name: str, seconds: float) -> str:
    """The name that a CronJob's Job has `seconds` later: it ends in the minutes since 1970."""
    base, _, minute = name.rpartition("-")
    return f"{base}-{int(minute) + int(seconds) // 60}"


def _result(pod: Obj, phase: str) -> str:
    if _is_disrupted(pod):
        return "evicted"
    if "deletionTimestamp" in pod["metadata"]:
        return "stopped"
    if phase == "Succeeded":
        return "succeeded"
    return "failed"


def _is_disrupted(pod: Obj) -> bool:
    """Whether the node, the taint manager or the scheduler ended the pod."""
    return conditions.holds(pod, "DisruptionTarget")


def _asked(task: Obj) -> dict[str, int]:
    """The requests of this task's pods. Limits become requests in a pod, but not in its template."""
    pod = {"spec": copy.deepcopy(task["template"]["spec"])}
    default_pod(pod)
    return {name: _number(name, amount) for name, amount in pod_requests(pod["spec"]).items()}


def _number(name: str, amount: str) -> int:
    return quantity.milli_value(amount) if name == "cpu" else quantity.value(amount)
