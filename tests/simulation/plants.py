"""Planted faults: one line each that breaks a promise. A simulation that misses them proves nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from support.places import ROOT

MAX_SEEDS = 2000
"""A fault that takes more seeds counts as not found."""
QUICK = (
    "the finalizer goes before the status is written",
    "what was just created is forgotten",
    "a failed pod is listed a second time",
    "counters move while the finalizer is there",
    "pods are killed before the verdict is written",
)
"""Faults that were found within 60 seeds from 0 on, as bugs-found.md tells: CI plants some of these."""


class Plant(NamedTuple):
    name: str
    file: str
    """Below src/longshore."""
    old: str
    """Occurs once in the file."""
    new: str


_JOB = "controllers/job"
_CRON = "controllers/cronjob"
_QUEUES = "machinery/queues"
PLANTS = (
    Plant(
        "the finalizer goes before the status is written",
        f"{_JOB}/sync.py",
        "        if tracking.flush:\n",
        "        await act.strip(tracking.strip)\n        if tracking.flush:\n",
    ),
    Plant(
        "what was just created is forgotten",
        f"{_JOB}/act.py",
        "            expectations.creations_observed(self._key, len(bodies) - created)\n",
        "            expectations.forget(self._key), self._memory.own_writes.forget(self._key)\n",
    ),
    Plant(
        "a write of its own is not waited for",
        f"{_JOB}/controller.py",
        "            await self._memory.own_writes.wait(key)\n",
        "            return\n",
    ),
    Plant(
        "a pod that may have been created is not looked for",
        f"{_JOB}/waking/unanswered_creates.py",
        "    return isinstance(err, Unreachable) or",
        "    return False and isinstance(err, Unreachable) or",
    ),
    Plant(
        "a pod is killed for a success whatever became of it",
        f"{_JOB}/act.py",
        "self._kill if succeeds else self._delete",
        "self._delete",
    ),
    Plant(
        "a failed pod is listed a second time",
        f"{_JOB}/ends/tracking.py",
        "if each.uid in plan.count.uncounted_failed:",
        "if False:",
    ),
    Plant(
        "counters move while the finalizer is there",
        f"{_JOB}/ends/tracking.py",
        "[uid for uid in listed if uid in holding]",
        "[]",
    ),
    Plant(
        "pods killed after success count as failed",
        f"{_JOB}/ends/tracking.py",
        "if each.killed and plan.outcome is not None and plan.outcome.success:",
        "if False:",
    ),
    Plant(
        "pods are killed before the verdict is written",
        f"{_JOB}/ends/tracking.py",
        "if plan.outcome is None or not plan.view.satisfied:",
        "if True:",
    ),
    Plant(
        "a verdict on record is thought over",
        f"{_JOB}/ends/outcome.py",
        "    if found is None:\n",
        "    if True:\n",
    ),
    Plant("a suspended Job goes on", f"{_JOB}/pods/wanted.py", "if spec.suspended:", "if False:"),
    Plant(
        "nobody looks when the deadline comes",
        f"{_JOB}/decide.py",
        "    return None, left\n",
        "    return None, None\n",
    ),
    Plant(
        "pods of a Job that is gone keep their finalizer",
        f"{_JOB}/waking/orphans.py",
        "if not pod_facts.tracked(pod) or not self._is_nobodys(pod):",
        "if True:",
    ),
    Plant(
        "nobody deletes a Job whose time is up",
        "controllers/ttl.py",
        "    return job_state.has_ended(job)\n",
        "    return False\n",
    ),
    Plant(
        "Forbid does not look at what runs",
        f"{_CRON}/due_run_start.py",
        '.get("concurrencyPolicy") == "Forbid" and (running := _running(view, draft, name)):',
        '.get("concurrencyPolicy") == "Forbid" and False:',
    ),
    Plant(
        "a run is not written down",
        f"{_CRON}/due_run_start.py",
        "    draft.last_schedule = rfc3339.from_instant(due)\n",
        "",
    ),
    Plant(
        "ended Jobs stay on the active list",
        f"{_CRON}/accounting.py",
        '        draft.drop(meta["uid"])\n',
        "",
    ),
    Plant("history has no limits", f"{_CRON}/decide.py", "if len(ended) > limit:", "if False:"),
    Plant(
        "a failed look is not repeated",
        f"{_QUEUES}/workers.py",
        "        pause = queue.add_rate_limited(key, in_turn=not usual)\n",
        "        pause = 0.0\n",
    ),
    Plant(
        "what is added while a worker has it is forgotten",
        f"{_QUEUES}/workqueue.py",
        "        if key in self._dirty:\n            self._offer(key)\n        self._tell",
        "        self._dirty.discard(key)\n        self._tell",
    ),
    Plant(
        "an old list is believed",
        "machinery/informers/reflector.py",
        "            if revision_of(page.resource_version) < revision_of(newest):\n",
        "            if False:\n",
    ),
    Plant(
        "a suspended CronJob does not write its last run down",
        f"{_CRON}/decide.py",
        '    if not draft.cronjob["spec"].get("suspend"):\n',
        "    if True:\n",
    ),
    Plant(
        "what vanished between two lists stays in the cache",
        "machinery/informers/followed_selection.py",
        "for key in self.cache.all_keys() if key not in batch.everything]",
        "for key in self.cache.all_keys() if key in ()]",
    ),
    Plant(
        "a gang starts with what there is room for",
        "scheduler/gang/model/group.py",
        "        return self.has_minimum and self._roles_met",
        "        return self._roles_met",
    ),
    Plant(
        "a queue has no limit",
        "scheduler/gang/trying/limits.py",
        "shares is not None and shares.speaks_at(plugin_table.ALLOCATABLE)",
        "False",
    ),
    Plant(
        "retries of a gang are not counted",
        "controllers/volcano/job/rules/phases.py",
        "    if retries >= limit:\n",
        "    if False:\n",
    ),
    Plant(
        "the end of a pod is written over",
        "node/status/writer.py",
        "        if life.memory.terminal:  # it never changes",
        "        if False:  # it never changes",
    ),
    Plant(
        "a Job waits for pods of the one that had its name",
        f"{_JOB}/memory.py",
        "        if self._looked_at.get(key, uid) != uid:\n",
        "        if False:\n",
    ),
    Plant(
        "a gang that was let in unseen waits on",
        "controllers/volcano/job/waking/handlers.py",
        "        if not initial and opens_gate(group_phase(obj)):\n",
        "        if False:\n",
    ),
    Plant(
        "a pod keeps its Job when it loses its label",
        f"{_JOB}/observe.py",
        "    unclear = [*kept.strangers.values()]\n",
        "    unclear = [*kept.strangers.values()][:0]\n",
    ),
    Plant(
        "dependents of what is gone are kept",
        "controllers/garbage/decide.py",
        "    if not solid:\n        return _delete(view)\n",
        "    if not solid:\n        return Plan(Action.NOTHING, ())\n",
    ),
)


def planted(plant: Plant, folder: Path) -> None:
    """Copies the package to a folder, with this fault in it."""
    shutil.copytree(
        ROOT / "src/longshore", folder / "longshore", ignore=shutil.ignore_patterns("__pycache__")
    )
    file = folder / "longshore" / plant.file
    text = file.read_text()
    assert text.count(plant.old) == 1, f"{plant.name}: {text.count(plant.old)} places in {plant.file}"
    file.write_text(text.replace(plant.old, plant.new))


def seeds_needed(plant: Plant, jobs: int, first: int, most: int = MAX_SEEDS) -> tuple[int | None, str]:
    """How many seeds it takes to find the fault, and what is said then; None if it is not found in `most`."""
    with tempfile.TemporaryDirectory() as name:
        planted(plant, Path(name))
        environment = {**os.environ, "PYTHONPATH": f"{name}:{ROOT / 'tests'}"}
        command = [sys.executable, "-m", "simulation.hunt", str(first), str(most), str(jobs)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{plant.name}: {done.stderr}")
    number, _, said = done.stdout.strip().partition(" ")
    return (int(number) if number else None), said


def run(names: list[str], jobs: int, first: int, most: int = MAX_SEEDS) -> int:
    """Plants the named faults, or all, one after the other, and prints the table."""
    chosen = [plant for plant in PLANTS if not names or plant.name in names]
    missed = 0
    print("| fault | seeds needed | found by |\n| --- | --- | --- |")
    for plant in chosen:
        number, said = seeds_needed(plant, jobs, first, most)
        missed += number is None
        print(f"| {plant.name} | {number or f'not in {most}'} | {said.partition(':')[0]} |", flush=True)
    return 1 if missed else 0
