"""Seeds that once broke a promise, and some that never did. docs/explanation/bugs-found.md lists the bugs."""

from __future__ import annotations

from typing import get_args

import pytest

from simulation import drawing, judging, kept, shortcut_invariants, world
from simulation.scenario import Scenario, Verb

PLAIN = range(20)
MORE_WORK = (
    "NotIn",
    "containerName",
    "dependsOn",
    "exitCode",
    "initContainers",
    "nodeSelector",
    "priorityClassName",
    "taints",
    "timeZone",
    "timeout",
    "tolerations",
)


@pytest.mark.parametrize("seed", kept.KEPT)
def test_a_seed_that_found_a_bug_finds_none(seed: int) -> None:
    assert judging.judged(drawing.scenario(seed)) == []


@pytest.mark.parametrize("block", range(0, len(PLAIN), 10))
def test_what_must_hold_holds(block: int) -> None:
    wrong = {seed: found for seed in PLAIN[block : block + 10] if (found := _judged(seed))}
    assert wrong == {}, "play it again with: tools/seeds --seed N"


def _judged(seed: int) -> list[judging.Fault]:
    return judging.judged(drawing.scenario(seed))


def test_shortcuts_on_and_off_end_in_the_same_state() -> None:
    calm = [s for s in map(drawing.scenario, range(800)) if shortcut_invariants.can_be_compared(s)]
    alike = shortcut_invariants.shortcuts_on_and_off_end_in_the_same_state
    assert len(calm) >= 4
    assert {s.seed: said for s in calm[:4] if (said := [*alike(world.play(s), world.play)])} == {}


def test_every_kind_of_work_trouble_and_death_is_drawn() -> None:
    drawn = [drawing.scenario(seed) for seed in range(300)]
    verbs = {deed.verb for scenario in drawn for deed in scenario.deeds}
    assert {kind for scenario in drawn for kind in scenario.kinds} == {
        "budget",
        "cronjob",
        "gang",
        "job",
        "priorityclass",
        "queue",
        "quota",
    }
    assert verbs == {*get_args(Verb)}
    assert {crash.who for scenario in drawn for crash in scenario.crashes} == {
        "all",
        "controllers",
        "node",
        "scheduler",
    }
    assert {pattern for scenario in drawn for pattern in scenario.patterns} == {
        "intermediate state",
        "stale state",
        "unobserved state",
    }
    assert {scenario.shortcuts for scenario in drawn} == {True, False}
    assert {scenario.upgrades for scenario in drawn} == {True, False}
    assert {len(scenario.nodes) for scenario in drawn} == {0, 1, 2}
    assert {len(scenario.namespaces) for scenario in drawn} == {1, 2}
    words = str(drawn)
    assert not [word for word in MORE_WORK if f"'{word}'" not in words]


def test_a_scenario_that_is_wrong_is_made_smaller() -> None:
    whole = next(s for s in map(drawing.scenario, range(100)) if len(s.deeds) > 3 and len(s.crashes) > 1)

    def has_its_last_deed(scenario: Scenario) -> bool:
        return whole.deeds[-1] in scenario.deeds

    small = judging.smaller(whole, has_its_last_deed)
    assert small.deeds == whole.deeds[-1:]
    assert not small.crashes
    assert not small.shuffled
