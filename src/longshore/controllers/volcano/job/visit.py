"""One look at a Job: what it was asked to do, in order, then what is due, then its pods.

Requests that call for nothing but a sync wait until the others are dealt with, and one sync does for all. So
nothing is created, and no trace of an event covered up, before the event has had its answer. After an action
the visit ends: what follows from it is decided with fresh caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, volcano_job_state
from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.time import durations
from longshore.api.types import Obj
from longshore.client import DeleteOptions
from longshore.controllers.volcano.job import decide
from longshore.controllers.volcano.job.act import Act, Refused, Tools
from longshore.controllers.volcano.job.kill import kill
from longshore.controllers.volcano.job.memory import JobMemory
from longshore.controllers.volcano.job.pods.plugin_objects import ClaimMissing
from longshore.controllers.volcano.job.rules import policy, table
from longshore.controllers.volcano.job.rules.table import Kind
from longshore.controllers.volcano.job.sync import Synced, sync
from longshore.controllers.volcano.job.view import View
from longshore.controllers.volcano.job.waking import intents, recovery
from longshore.controllers.volcano.job.waking.delays import Delayed
from longshore.controllers.volcano.job.waking.intents import Intent
from longshore.controllers.volcano.job.waking.requests import SYNC, Request
from longshore.controllers.volcano.names import RESTARTING, SYNC_JOB, TERMINATE_JOB
from longshore.controllers.volcano.plugins import PluginError
from longshore.machinery.informers.cache import Key

_NO_NOTES: Final[Mapping[str, str | None]] = {intents.LATER: None, intents.LEAVING: None}
MAX_REQUEUES: Final = 15
"""Upstream's: a Job whose action is refused so often in a row is terminated."""


class Visit:
    def __init__(self, tools: Tools, key: Key, view: View, remembered: JobMemory) -> None:
        self._tools, self._key, self._memory, self._remembered = tools, key, tools.memory, remembered
        self._act = Act(tools, key, view, remembered)
        self._delays = remembered.delays
        self._synced = Synced(changed=False)

    @property
    def _job(self) -> Obj:
        return self._act.job

    @property
    def why(self) -> list[str]:
        return self._act.why

    async def run(self) -> float | None:
        """Returns in how many seconds something is due."""
        requests = self._memory.take(self._key)
        if "deletionTimestamp" in self._job["metadata"]:
            await self._drop_commands(requests)
            self.why.append("the Job is being deleted")
            return None
        intent = intents.read(self._job)
        if intent is not None:
            # The request that began it is answered by going on with it.
            self._memory.put_back(self._key, [r for r in requests if not intent.answers(r)])
            await self._resume(intent)
            return 0.0
        if not self._remembered.known:
            self._look_back(requests)
        if self._key in self._tools.owing:
            requests.append(SYNC)
        acted = await self._answer(requests)
        soonest = self._delays.next()
        if acted or self._memory.waiting(self._key):
            return 0.0
        return None if soonest is None else max(soonest - self._act.now(), 0.0)

    def _look_back(self, requests: list[Request]) -> None:
        """Adds what happened before this controller's time. A restart is brought to its end first: what pods
        have done since is to be answered by the Job that runs again."""
        if phase_of(self._job) == RESTARTING:
            requests.append(SYNC)
            return
        for delayed in intents.read_later(self._job):
            self._delays.register(delayed)
        known = {*requests}
        requests += [request for request in recovery.missed(self._act.view) if request not in known]
        self._remembered.known = True

    async def _answer(self, requests: list[Request]) -> bool:
        """Deals with the requests; whether one of them, or a delayed one, was acted on."""
        for_sync: Request | None = None
        for number, request in enumerate(requests):
            found = policy.match(self._job, request)
            if found.delay:
                self._delay(request, found)
            elif found.action == SYNC_JOB and not request.command:
                for_sync = request
            else:
                self.why.append(found.why)
                rest = [*requests[number + 1 :], *([for_sync] if for_sync else [])]
                self._memory.put_back(self._key, rest)
                await self._attempt(request, found.action)
                return True
        if self._delays:
            self.why.extend(self._delays.prune(_by_name(self._act.view)))
        due = self._next_due()
        if due is not None:
            self._memory.put_back(self._key, [for_sync] if for_sync else [])
            await self._fire(due)
            return True
        try:
            await self._act.annotate(self._notes())  # before a sync covers up what they tell of
        except Exception:
            self._memory.put_back(self._key, [for_sync] if for_sync else [])
            raise
        if for_sync is not None and self._ended():
            self.why.append("the Job has ended, and nothing of it is left to clean up")
        elif for_sync is not None:
            await self._attempt(for_sync, SYNC_JOB)
            await self._go_on()
        return False

    async def _go_on(self) -> None:
        """A sync that changed the phase calls for another. It is made at once if nothing else has happened,
        now or before this controller's time, and there are no pods which only the next view shows; else the
        next visit makes it."""
        while self._synced.changed and not self._ended():
            if not (self._synced.still and self._remembered.known) or self._memory.waiting(self._key):
                self._memory.put(self._key, SYNC)
                return
            await self._attempt(SYNC, SYNC_JOB)

    def _ended(self) -> bool:
        return volcano_job_state.has_ended(self._job) and not recovery.unfinished(self._act.view)

    def _delay(self, request: Request, found: policy.Match) -> None:
        since = self._act.now() if request.since is None else min(request.since, self._act.now())
        if self._delays.register(Delayed(request, found.action, since + found.delay)):
            self.why.append(found.why)
        after = durations.text(round(found.delay * 1e9))
        self._act.event("Normal", "ExecuteAction", f"Execute action {found.action} after {after}")

    def _next_due(self) -> Delayed | None:
        """The first delayed action that is due and still means this run of the Job."""
        version = (self._job.get("status") or {}).get("version") or 0
        for delayed in self._delays.due(self._act.now()):
            if delayed.request.version >= version:
                return delayed
            self._delays.forget(delayed)
        return None

    async def _fire(self, delayed: Delayed) -> None:
        self.why.append(f"{delayed.action} after {delayed.request.event} is due")
        await self._execute(delayed.action, delayed.request)

    async def _attempt(self, request: Request, action: str) -> None:
        """Executes an action; what was refused too often ends the Job."""
        try:
            if request.command and not await self._take(request, action):
                return
            if action != SYNC_JOB:
                self._act.event("Normal", "ExecuteAction", f"Start to execute action {action} ")
            await self._execute(action, request)
        except Exception as err:
            if _refusal(err):
                self._remembered.failures += 1
            if not _refusal(err) or self._remembered.failures <= MAX_REQUEUES:
                self._memory.put_back(self._key, [request])
                raise
            said = f"Job failed on action {action} for retry limit reached"
            self._act.event("Normal", "ExecuteAction", said)
            self.why.append(said)
            await self._execute(TERMINATE_JOB, request)
        self._remembered.failures = 0

    async def _take(self, request: Request, action: str) -> bool:
        """Takes a Command away, so that nobody executes it a second time. False when somebody did before."""
        if table.step(phase_of(self._job), action).decisive:
            await self._intend(action, request)
        if not await self._delete_command(request):
            await self._act.annotate({intents.ACTION: None})
            self.why.append(f"the command {request.command} is gone: not executed")
            return False
        said = f"Start to execute command {action}, and clean it up to make sure executed not more than once."
        self._act.event("Normal", "CommandIssued", said)
        return True

    async def _delete_command(self, request: Request) -> bool:
        try:
            await self._tools.client.delete(kinds.COMMANDS, request.command, self._key[0], DeleteOptions())
        except StatusError as err:
            if err.code != 404:
                raise
            return False
        return True

    async def _drop_commands(self, requests: Sequence[Request]) -> None:
        for request in requests:
            if request.command:
                await self._delete_command(request)

    # ---- actions

    async def _execute(self, action: str, request: Request, *, again: bool = False) -> None:
        """`again` when this was begun before: then pods that are not there any more were its own victims."""
        phase = phase_of(self._job)
        step = table.step(phase, action)
        self.why.append(f"{action} while {phase or 'new'}: {step.kind.value}")
        self._synced = Synced(changed=False)
        if step.kind is Kind.SYNC:
            self._synced = await sync(self._act, step.then)
            if self._synced.changed and action != SYNC_JOB:
                self._memory.put(self._key, SYNC)
        else:
            selection = decide.select(self._act.view, step, action, request)
            if selection is None and again:
                selection = decide.NOTHING_LEFT
            if selection is None:
                self.why.append("there is no such partition: nothing to do")
                await self._act.annotate({intents.ACTION: None})
            else:
                if step.decisive:
                    await self._intend(action, request)
                await kill(self._act, selection, step.then)
                if phase_of(self._job) != phase:
                    self._memory.put(self._key, SYNC)
        if action != SYNC_JOB:
            self._delays.done(action, request)
            await self._finish()

    async def _intend(self, action: str, request: Request) -> None:
        """Writes down what is about to be done, unless that is written already."""
        if intents.read(self._job) is None:
            intent = intents.intend(self._job, action, request, self._act.view.group)
            await self._act.annotate({intents.ACTION: intents.annotation(intent)})

    async def _resume(self, intent: Intent) -> None:
        """Goes on with what was begun: all of it, or the end of it."""
        self.why.append(f"goes on with {intent.action}, which was begun before")
        if intent.request.command and await self._act.exists(kinds.COMMANDS, intent.request.command):
            await self._delete_command(intent.request)
        if intent.undone(self._job):
            await self._execute(intent.action, intent.request, again=True)
            return
        group = self._act.view.group
        if group is not None and group["metadata"]["uid"] == intent.group:
            await self._act.delete_group(group["metadata"]["name"], intent.group)
        await self._finish()

    async def _finish(self) -> None:
        """The action is done, and what it stood for with it."""
        await self._act.annotate({intents.ACTION: None, **self._notes()})

    def _notes(self) -> Mapping[str, str | None]:
        """What could not be read off the objects by another controller."""
        view = self._act.view
        if not self._delays and not any(
            view.is_going(pod) for pods in view.pods.values() for pod in pods.values()
        ):
            return _NO_NOTES
        uids = {pod["metadata"]["uid"] for pod in _by_name(view).values()}
        leaving = [
            request
            for request in recovery.leaving(view)
            if policy.match(self._job, request).action != SYNC_JOB
        ]
        return {
            intents.LATER: intents.later_annotation(self._delays.traceless(uids)),
            intents.LEAVING: intents.leaving_annotation(leaving),
        }


def _by_name(view: View) -> dict[str, Obj]:
    return {name: pod for pods in view.pods.values() for name, pod in pods.items()}


def _refusal(err: Exception) -> bool:
    """Whether the server, or the Job itself, said no; not that somebody was quicker or nobody answered."""
    if isinstance(err, StatusError):
        return err.code not in (409, 410, 429) and err.code < 500
    return isinstance(err, Refused | PluginError | ClaimMissing)
