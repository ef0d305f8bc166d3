"""Reports to a waiting pod why it waits (condition PodScheduled, event FailedScheduling), and to a placed one
its node (event Scheduled).

At most 50 pods a second get a report, after a burst of 100: upstream's rate for all its writes. Pods of one
owner get fewer events about their node (`machinery/events/siblings.py`). A pod that finds a node before its
report is written gets none. A report is written again only if upstream's words changed; `longshore why` has
the latest numbers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from longshore.api.errors import StatusError, tolerated
from longshore.api.facts import conditions, kinds
from longshore.api.time import rfc3339
from longshore.api.time.backoff import TokenBucket
from longshore.api.types import Obj
from longshore.client import Client, PatchType, Unreachable
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.events.siblings import Siblings
from longshore.machinery.reasons import Reason
from longshore.machinery.time.clock import Clock
from longshore.scheduler.fitting.pod_shape import Pod

UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
_RATE: Final = 50.0
_BURST: Final = 100.0
_REPORT_SECONDS: Final = 0.2
"""Seconds before a waiting pod gets a report: most pods that wait for others of their Job never need one."""
_MAX_TEXT_CHARACTERS: Final = 1024
"""Most characters of an event's message."""

log = logging.getLogger(__name__)


class Report(msgspec.Struct):
    """The reason why a pod waits, to be written."""

    pod: Pod
    reason: str
    message: str
    """Upstream's words."""
    numbers: tuple[Reason, ...]
    nominated: str | None
    """The node for `nominatedNodeName`; None leaves the field as it is."""
    since: float

    @property
    def text(self) -> str:
        return f"{self.message} ({'; '.join(map(str, self.numbers))})" if self.numbers else self.message


class Reporter:
    """Writes reports; skips pods for which `still` returns false, since they no longer wait."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        clock: Clock,
        still: Callable[[str], bool],
        *,
        patience: float = _REPORT_SECONDS,
    ) -> None:
        self._patience = patience
        self._client, self._recorder, self._clock, self._still = client, recorder, clock, still
        self._reports: OrderedDict[str, Report] = OrderedDict()
        self._told: dict[str, tuple[str, str]] = {}
        now = clock.monotonic()
        self._allowance, self._placed = TokenBucket(_RATE, _BURST, now), TokenBucket(_RATE, _BURST, now)
        self._siblings = Siblings()
        self._changed = asyncio.Event()

    def scheduled(self, pod: Pod, node: str) -> None:
        """Records the event of a pod that has its node."""
        self._told.pop(pod.uid, None)
        now = self._clock.monotonic()
        if self._siblings.is_told_of(pod.obj, now) and self._placed.take(now):
            ref = reference(pod.obj, kinds.PODS)
            self._recorder.announce(ref, "Scheduled", pod="/".join(pod.key), node=node)

    def waits(
        self,
        pod: Pod,
        message: str,
        numbers: tuple[Reason, ...] = (),
        *,
        reason: str = UNSCHEDULABLE,
        nominated: str | None = None,
    ) -> None:
        """Queues a report of why a pod waits, unless the pod has the same report already."""
        uid = pod.uid
        if nominated is None and self._told.get(uid) == (reason, message):
            self._reports.pop(uid, None)
            return
        noted = self._reports.get(uid)
        since = self._clock.monotonic() if noted is None else noted.since
        if nominated is None and noted is not None:
            nominated = noted.nominated
        self._reports[uid] = Report(pod, reason, message, numbers, nominated, since)
        self._changed.set()

    def forget(self, uid: str) -> None:
        self._reports.pop(uid, None)
        self._told.pop(uid, None)

    def placed(self, uid: str) -> None:
        """Drops the report of a pod that no longer waits."""
        self._reports.pop(uid, None)

    async def run(self) -> None:
        """Writes until cancelled."""
        while True:
            if not self._reports:
                self._changed.clear()
                await self._changed.wait()
                continue  # the report may have been withdrawn meanwhile
            uid, report = next(iter(self._reports.items()))
            rest = report.since + self._patience - self._clock.monotonic()
            if rest > 0 and report.nominated is None:
                await self._clock.sleep(rest)
                continue
            if not self._allowance.take(self._clock.monotonic()):
                await self._clock.sleep(1 / _RATE)
                continue
            if self._reports.get(uid) is report:
                del self._reports[uid]
                if self._still(uid):
                    await self._tell(report)

    async def _tell(self, report: Report) -> None:
        pod = report.pod
        self._told[pod.uid] = report.reason, report.message
        text = report.text[:_MAX_TEXT_CHARACTERS]
        self._recorder.announce(reference(pod.obj, kinds.PODS), "FailedScheduling", message=text)
        status = _patch(pod.obj, report, text, rfc3339.from_moment(self._clock.now()))
        if status is None:
            return
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        namespace, name = pod.key
        try:
            with tolerated(404, 409):
                await self._client.patch(
                    kinds.PODS, name, patch, namespace, type=PatchType.STRATEGIC, subresource="status"
                )
        except (StatusError, Unreachable) as err:
            log.warning("pod %s/%s could not be told why it waits: %s", namespace, name, err)
            if isinstance(err, Unreachable):
                self._told.pop(pod.uid, None)


def _patch(pod: Obj, report: Report, text: str, now: str) -> Obj | None:
    """The patch of a pod's status; None if it says the same already."""
    old = conditions.find(pod, "PodScheduled")
    patch: Obj = {}
    wanted = {"status": "False", "reason": report.reason, "message": text}
    if old is None or any(old.get(key) != value for key, value in wanted.items()):
        turned = now if old is None or old["status"] != "False" else old.get("lastTransitionTime", now)
        condition = {"type": "PodScheduled", **wanted, "lastProbeTime": None, "lastTransitionTime": turned}
        patch["conditions"] = [condition]
    if report.nominated is not None:
        patch["nominatedNodeName"] = report.nominated or None
    return patch or None
