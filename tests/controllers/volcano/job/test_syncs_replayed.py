"""Every sync of a story, decided once more from its view and its answers alone, comes to the same plans."""

from __future__ import annotations

import pytest

from controllers.volcano.job.job_views import in_order
from controllers.volcano.job.stories import STORIES
from longshore.controllers.volcano.job import act
from longshore.controllers.volcano.job.decide import Decision, decide
from longshore.controllers.volcano.job.plan import Answers, End, VolcanoJobPlan
from longshore.controllers.volcano.job.view import VolcanoJobView
from support.volcano_world import Story


class Recorded(Decision):
    """Keeps what it was told and what it said."""

    syncs: list[Recorded]

    def __init__(self, view: VolcanoJobView) -> None:
        super().__init__(view)
        self.view, self.answers, self.plans = view, [], [self.plan]
        self.syncs.append(self)

    view: VolcanoJobView
    answers: list[Answers]
    plans: list[VolcanoJobPlan | End]

    def go_on(self, answers: Answers) -> None:
        super().go_on(answers)
        self.answers.append(answers)
        self.plans.append(self.plan)


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_a_sync_is_nothing_but_its_view_and_its_answers(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(act, "Decision", Recorded)
    monkeypatch.setattr(Recorded, "syncs", [], raising=False)
    story.telling.undisturbed()
    assert Recorded.syncs
    for sync in Recorded.syncs:
        for number, plan in enumerate(sync.plans):
            again = decide(sync.view, sync.answers[:number])
            if isinstance(plan, End) or isinstance(again, End):
                assert again == plan
            else:
                assert in_order([again]) == in_order([plan])
                assert (again.events, again.why) == (plan.events, plan.why)
