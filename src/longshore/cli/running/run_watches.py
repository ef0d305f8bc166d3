"""Follows runs by watches: the objects themselves, their failed pods, and warnings about them.

Nothing is polled. Of thousands of pods only those that fail are read; the object's own status counts the
others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from longshore.api import types
from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.time import durations
from longshore.api.types import Obj
from longshore.cli.running.place import Place
from longshore.cli.running.progress import Failed, FollowedRun
from longshore.cli.showing import outcomes
from longshore.client import TimedOut, Unreachable, WatchEvent
from longshore.up.own_pages import log_path

KINDS: Final = {
    "job": kinds.JOBS,
    "vcjob": kinds.VOLCANO_JOBS,
    "pod": kinds.PODS,
}
_TAIL_LINES: Final = 5
_MAX_FAILURES: Final = 100
"""The most failures that are remembered: more do not help to understand a Job."""
_RETRY_SECONDS: Final = 0.5
_ARCHIVE_TRIES, _ARCHIVE_WAIT_SECONDS = 5, 0.1

Changed = Callable[[FollowedRun], None]


async def to_the_end(place: Place, run: FollowedRun, changed: Changed) -> None:
    """Follows a run to its end. Reports when the server is unreachable, and when it is back."""
    what, seen = KINDS[run.kind], False

    def away(now: bool) -> None:
        nonlocal seen
        seen = False  # a new watch lists the object again if it exists
        if now != bool(run.away):
            run.away = place.server if now else ""
            changed(run)

    fields = f"metadata.name={run.name}"
    async for event in events(place, what, run.namespace, fields=fields, away=away):
        if event.ends_initial_events:
            gone = not seen
        elif event.object["metadata"].get("uid", run.uid) != run.uid:
            continue
        else:
            gone, seen = event.type == "DELETED", True
        if gone and run.end is None:
            run.end, run.finished = outcomes.End(False, "Deleted", "somebody deleted it"), time.monotonic()
        elif event.type != "BOOKMARK":
            run.see(event.object, time.monotonic())
        changed(run)
        if run.end is not None:
            return


async def failures(
    place: Place, run: FollowedRun, found: Callable[[FollowedRun, Failed], None], changed: Changed, limit: str
) -> None:
    """Notes each pod that fails, with its last lines, until cancelled. `limit` is the flag that set the
    longest time of a pod."""
    selector = labels(run)
    if not selector:
        return
    seen: set[str] = set()
    async for event in events(
        place, kinds.PODS, run.namespace, labels=selector, fields="status.phase=Failed"
    ):
        pod = event.object
        if event.type in ("BOOKMARK", "DELETED") or pod["metadata"]["uid"] in seen:
            continue
        seen.add(pod["metadata"]["uid"])
        if (
            len(run.failures) < _MAX_FAILURES and "deletionTimestamp" not in pod["metadata"]
        ):  # a deleted pod was stopped; it did not fail by itself
            failed = _failed(pod, limit)
            failed.item = run.item(failed.index)
            run.failures.append(failed)
            failed.lines = await _last_lines(place, pod)
            found(run, failed)
        run.looked_at += 1
        changed(run)


def labels(run: FollowedRun) -> str:
    """The label selector of the run's pods; empty for a run that is a pod itself."""
    if run.kind == "job":
        return f"batch.kubernetes.io/controller-uid={run.uid}"
    return f"volcano.sh/job-name={run.name}" if run.kind == "vcjob" else ""


async def events(
    place: Place,
    what: tuple[str, str],
    namespace: str,
    *,
    labels: str = "",
    fields: str = "",
    away: Callable[[bool], None] = lambda now: None,
) -> AsyncIterator[WatchEvent]:
    """Yields the existing objects, then every change. Starts again when a watch ends or the server is
    unreachable, and calls `away` with whether it is."""
    while True:
        try:
            # Not every Kubernetes sends what exists in the watch itself.
            found = await place.client.list(what, namespace, labels=labels, fields=fields)
            away(False)
            for obj in found.items:
                yield WatchEvent("ADDED", obj)
            yield _listed(found.resource_version)
            async with place.client.watch(
                what, namespace, labels=labels, fields=fields, resource_version=found.resource_version
            ) as changes:
                async for event in changes:
                    yield event
        except TimedOut:
            continue
        except Unreachable:
            away(True)
            await asyncio.sleep(_RETRY_SECONDS)
        except StatusError as err:
            if err.code not in (410, 429, 500, 503, 504):
                raise
            await asyncio.sleep(_RETRY_SECONDS)


def _listed(version: str) -> WatchEvent:
    """The event that follows those of the existing objects."""
    marks = {"k8s.io/initial-events-end": "true"}
    return WatchEvent("BOOKMARK", {"metadata": {"annotations": marks, "resourceVersion": version}})


def _failed(pod: Obj, limit: str) -> Failed:
    meta, status = pod["metadata"], pod.get("status") or {}
    end = pod_state.end_of(pod)
    why = status.get("reason") or ""
    seconds = pod["spec"].get("activeDeadlineSeconds")
    if why == "DeadlineExceeded" and seconds is not None:
        why = f"it took longer than {durations.text(seconds * 10**9)} ({limit})"
    elif end.container:
        text = f"signal {end.signal}" if end.signal else f"exit code {end.code}"
        text += f" ({end.reason})" if end.reason not in ("", "Error") else ""
        several = len(pod["spec"]["containers"]) > 1 or pod["spec"].get("initContainers")
        why = (f"{why}: " if why else "") + text + (f" of container {end.container}" if several else "")
    elif status.get("message"):
        why = f"{why}: {status['message']}" if why else status["message"]
    return Failed(meta["name"], pod_state.completion_index(pod), why or "failed", end.code or None)


async def _last_lines(place: Place, pod: Obj) -> list[str]:
    meta = pod["metadata"]
    container = pod_state.end_of(pod).container or pod["spec"]["containers"][0]["name"]
    query = {"container": container, "tailLines": str(_TAIL_LINES)}
    try:
        async with place.client.log(meta["name"], meta["namespace"], query) as chunks:
            text = b"".join([chunk async for chunk in chunks])
    except StatusError as err:
        # Its restart has deleted it already.
        kept = await of_gone(place, pod, container) if err.code == 404 else ""
        return kept.splitlines()[-_TAIL_LINES:]
    except Unreachable:
        return []
    return text.decode(errors="replace").splitlines()


async def of_gone(place: Place, pod: Obj, container: str) -> str:
    """The last lines of a deleted pod that failed; empty if they were not kept. The node keeps them a
    moment after the pod's deletion."""
    every = pod_state.statuses_of(pod)
    attempt = next((each.get("restartCount", 0) for each in every if each["name"] == container), 0)
    for _ in range(_ARCHIVE_TRIES):
        try:
            answer = await place.client.request("GET", log_path(pod["metadata"]["uid"], container, attempt))
        except Unreachable:
            break
        if answer.code == 200:
            return str(types.decode(answer.body)["text"])
        await asyncio.sleep(_ARCHIVE_WAIT_SECONDS)
    return ""
