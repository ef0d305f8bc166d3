"""Ends runs: stops them so that they can be resumed, and tidies up."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

from longshore.api.errors import StatusError
from longshore.api.facts import conditions, job_state, kinds
from longshore.cli.running import each_items, run_watches
from longshore.cli.running.place import Place
from longshore.cli.running.progress import FollowedRun
from longshore.client import DeleteOptions, Unreachable

_STOP_SECONDS = 10.0
"""Seconds for the server to answer when a run is to be stopped."""
_COUNTED_SECONDS, _LOOK_SECONDS = 2.0, 0.05
"""Seconds to wait until a suspended Job has counted its ended pods, and between two looks at it."""


def interrupts() -> asyncio.Event:
    """An event that is set at Ctrl-C, SIGTERM or SIGHUP."""
    from longshore.up import foreground

    asked = asyncio.Event()
    foreground.on_signal(asked.set)
    return asked


async def stop(here: Place, runs: Sequence[FollowedRun]) -> None:
    """Suspends Jobs, which can be resumed, and deletes the others. A run that cannot be stopped notes why."""
    for run in runs:
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await _stop_one(here, run)
        except TimeoutError:
            run.stop_problem = f"{here.server} does not answer"
        except (StatusError, Unreachable) as err:
            run.stop_problem = str(err)


async def _stop_one(here: Place, run: FollowedRun) -> None:
    if run.kind == "job":
        await here.client.patch(kinds.JOBS, run.name, {"spec": {"suspend": True}}, run.namespace)
        await _until_counted(here, run)
    else:
        await _delete(here, run)


async def _until_counted(here: Place, run: FollowedRun) -> None:
    """Waits a moment until the Job has counted its ended pods, so that the last line includes them."""
    until = time.monotonic() + _COUNTED_SECONDS
    while time.monotonic() < until:
        job = await here.client.get(kinds.JOBS, run.name, run.namespace)
        if job_state.has_ended(job):
            return
        run.see(job, time.monotonic())
        if conditions.is_true((job.get("status") or {}).get("conditions") or (), "Suspended"):
            return
        await asyncio.sleep(_LOOK_SECONDS)


async def tidy(here: Place, unwanted: Sequence[FollowedRun]) -> None:
    """Deletes the runs that are not kept, and files of items that no Job names any more."""
    for run in unwanted:
        with contextlib.suppress(StatusError):
            await _delete(here, run)
    if here.directory is not None:
        await _forget_items(here, here.directory)


async def _delete(here: Place, run: FollowedRun) -> None:
    options = DeleteOptions(propagation="Background")
    await here.client.delete(run_watches.KINDS[run.kind], run.name, run.namespace, options)


async def _forget_items(here: Place, directory: Path) -> None:
    """Removes old files of items that no Job names any more."""
    old = each_items.old_files(directory, time.time())
    if not old:
        return
    with contextlib.suppress(StatusError, Unreachable):
        named = {each_items.file_of(job)[0] for job in (await here.client.list(kinds.JOBS)).items}
        for path in old:
            if str(path) not in named:
                path.unlink(missing_ok=True)
