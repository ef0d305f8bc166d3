"""Plays a scenario and says what is wrong; makes a scenario smaller that shows a fault."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from simulation import (
    asked_invariants,
    cron_invariants,
    cron_oracle,
    event_invariants,
    gang_invariants,
    gang_oracle,
    job_invariants,
    job_oracle,
    pod_invariants,
    rest_invariants,
    retry_invariants,
    shortcut_invariants,
    story_invariants,
    world,
)
from simulation.record import Record
from simulation.scenario import Scenario, Trouble

_JUDGES = (
    *(rest_invariants, pod_invariants, asked_invariants, job_invariants, retry_invariants, job_oracle),
    *(cron_invariants, cron_oracle, gang_invariants, gang_oracle, story_invariants, event_invariants),
)
INVARIANTS: Final[tuple[Callable[[Record], Iterator[str]], ...]] = tuple(
    each
    for module in _JUDGES
    for name, each in vars(module).items()
    if inspect.isgeneratorfunction(each) and not name.startswith("_")
)
"""The public generators of these modules."""
_MOST_SAID = 3


class Fault(NamedTuple):
    invariant: str
    said: str


def faults(record: Record) -> list[Fault]:
    """The invariants that do not hold, with what they say."""
    found = []
    for invariant in INVARIANTS:
        for number, said in enumerate(invariant(record)):
            if number < _MOST_SAID:
                found.append(Fault(invariant.__name__, said))
    return found


def judged(scenario: Scenario) -> list[Fault]:
    """What is wrong when this scenario is played. An exception is a fault, too."""
    try:
        record = world.play(scenario)
        found = faults(record)
        if shortcut_invariants.can_be_compared(scenario):
            alike = shortcut_invariants.shortcuts_on_and_off_end_in_the_same_state
            found += [Fault(alike.__name__, said) for said in alike(record, world.play)]
        return found
    except Exception as err:  # whatever ends a run is a fault of what was run
        return [Fault("the_run_ends", repr(err))]


def smaller(scenario: Scenario, is_wrong: Callable[[Scenario], bool]) -> Scenario:
    """The smallest scenario found that is still wrong: fewer deaths, deeds and faults, in plain order."""
    progress = True
    while progress:
        progress = False
        for candidate in _candidates(scenario):
            if is_wrong(candidate):
                scenario, progress = candidate, True
                break
    return scenario


def _candidates(scenario: Scenario) -> Iterator[Scenario]:
    if scenario.trouble.rate or scenario.trouble.lag:
        yield replace(scenario, trouble=Trouble())
    if scenario.shuffled:
        yield replace(scenario, shuffled=False)
    for at in range(len(scenario.crashes)):
        yield replace(scenario, crashes=scenario.crashes[:at] + scenario.crashes[at + 1 :])
    for at in range(len(scenario.deeds)):
        yield replace(scenario, deeds=scenario.deeds[:at] + scenario.deeds[at + 1 :])
    for at, crash in enumerate(scenario.crashes):
        if crash.stale:
            fresh = replace(crash, stale=False)
            yield replace(scenario, crashes=(*scenario.crashes[:at], fresh, *scenario.crashes[at + 1 :]))
    if scenario.trouble.lag and scenario.trouble.rate:
        yield replace(scenario, trouble=replace(scenario.trouble, lag=0.0))
        yield replace(scenario, trouble=replace(scenario.trouble, rate=0.0))
