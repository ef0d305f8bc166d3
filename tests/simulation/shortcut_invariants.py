"""What holds for two runs of one scenario, with shortcuts and without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from longshore.api.facts import owners, pod_state
from longshore.api.types import Obj
from simulation.record import CRONJOBS, GANGS, JOBS, PODS, Record
from simulation.scenario import Scenario

_BY_NAME = ("delete a pod", "evict a pod", "lose the machine", "relabel a pod")
"""Deeds whose victim depends on the names of pods, which are drawn, or on the very moment."""


def can_be_compared(scenario: Scenario) -> bool:
    """Whether nothing but the scenario decides how it ends: no trouble, deaths or order by dice."""
    is_calm = scenario.is_smooth and not scenario.trouble.lag
    return is_calm and not scenario.shuffled and not any(deed.verb in _BY_NAME for deed in scenario.deeds)


def shortcuts_on_and_off_end_in_the_same_state(
    record: Record, play: Callable[[Scenario], Record]
) -> Iterator[str]:
    """A scenario without trouble ends in the same state with shortcuts and without.

    It was played in one of the two ways, and is played in the other.
    """
    scenario = record.scenario
    other = play(replace(scenario, shortcuts=not scenario.shortcuts))
    on, off = map(end_state, (record, other) if scenario.shortcuts else (other, record))
    for name in sorted(on.keys() | off.keys()):
        if on.get(name) != off.get(name):
            yield f"{name}: {on.get(name)} with shortcuts, {off.get(name)} without"


def end_state(record: Record) -> dict[str, object]:
    found: dict[str, object] = {}
    for job in record.last(JOBS).values():
        status = job.get("status") or {}
        counted = [status.get(f) for f in ("succeeded", "failed", "completedIndexes", "failedIndexes")]
        found[f"job {job['metadata']['name']}"] = _conditions(status), counted
    for cron_job in record.last(CRONJOBS).values():
        status = cron_job.get("status") or {}
        listed = sorted(ref["name"] for ref in status.get("active") or ())
        found[f"cronjob {cron_job['metadata']['name']}"] = status.get("lastScheduleTime"), listed
    for gang in record.last(GANGS).values():
        status = gang.get("status") or {}
        counted = [status.get(f) for f in ("succeeded", "failed", "retryCount")]
        found[f"gang {gang['metadata']['name']}"] = (status.get("state") or {}).get("phase"), counted
    pods = Counter(
        ((owners.controller_of(pod) or {}).get("name"), pod_state.phase_of(pod))
        for pod in record.last(PODS).values()
    )
    found["pods"] = sorted(pods.items(), key=str)
    return found


def _conditions(status: Obj) -> list[tuple[str, str]]:
    conditions = status.get("conditions") or ()
    return [(each["type"], each.get("reason", "")) for each in conditions if each["status"] == "True"]
