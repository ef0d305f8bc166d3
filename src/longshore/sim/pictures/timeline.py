"""A result as a timeline, in the format that docs/reference/ui.md writes down: rows of bars over time.

A row for each pod; if there are too many pods to look at, a row for each Job.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from longshore.api.types import Obj
from longshore.sim.sim_result import Bar, JobRow, Result

MAX_POD_ROWS: Final = 20_000
_STATES: Final = {
    "succeeded": "done",
    "failed": "failed",
    "evicted": "held",
    "stopped": "none",
    "": "running",
}
_JOB_STATES: Final = {
    "complete": "done",
    "deleted": "none",
    "failed": "failed",
    "running": "running",
    "waiting": "waiting",
}
_STARTING_SECONDS: Final = 1.0
"""A pod that starts within this time was starting, not waiting."""


def of(result: Result, title: str) -> Obj:
    start = datetime.fromisoformat(result.start).timestamp()
    if len(result.bars) <= MAX_POD_ROWS:
        rows = [_of_pod(bar, start, result.seconds) for bar in result.bars]
    else:
        rows = [_of_job(job, start, result.seconds) for job in result.jobs]
    last = max((bar.ended or result.seconds for bar in result.bars), default=result.seconds)
    return {"title": title, "start": start, "end": start + max(last, 1.0), "rows": rows}


def _of_pod(bar: Bar, start: float, seconds: float) -> Obj:
    bars: list[Obj] = []
    begun = bar.started if bar.started is not None else bar.ended
    if begun is None or begun - bar.created > _STARTING_SECONDS:
        to = seconds if begun is None else begun
        bars.append({"from": start + bar.created, "to": start + to, "state": "waiting", "label": "waiting"})
    if bar.started is not None:
        end = seconds if bar.ended is None else bar.ended
        code = "" if bar.code is None else f"exit code {bar.code}, "
        bars.append(
            {
                "from": start + bar.started,
                "to": start + end,
                "state": _STATES[bar.result],
                "label": bar.result or "running",
                "detail": f"{code}on {bar.node}",
            }
        )
    group = bar.work.partition("/")[2]
    name = bar.name.removeprefix(f"{group}-") if group else bar.name
    return {"name": name, "group": group, "bars": bars}


def _of_job(job: JobRow, start: float, seconds: float) -> Obj:
    bars: list[Obj] = []
    begun = job.started if job.started is not None else (job.ended if job.ended is not None else seconds)
    if begun - job.queued > _STARTING_SECONDS:
        bars.append({"from": start + job.queued, "to": start + begun, "state": "waiting", "label": "waiting"})
    if job.started is not None:
        end = seconds if job.ended is None else job.ended
        detail = f"{job.pods} pods, {job.failed} failed"
        state = _JOB_STATES[job.result]
        bars.append(
            {
                "from": start + job.started,
                "to": start + end,
                "state": state,
                "label": job.result,
                "detail": detail,
            }
        )
    return {"name": job.name, "group": "", "bars": bars}
