"""A controller that dies after any of its writes and comes back: the Job ends as if nothing had happened."""

from __future__ import annotations

import pytest

from controllers.volcano.job.stories import STORIES
from longshore.testing.crashing import Death, every_crash
from support.volcano_world import Story


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_dying_after_any_write_changes_nothing(story: Story) -> None:
    expected, writes = story.telling.undisturbed()
    for last, death, away in every_crash(writes):
        ended = story.telling.crashed(last, death, away)
        assert ended == expected, f"died {death.value} of write {last} of {writes}, away for {away:g} s"


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_dying_all_the_time_changes_nothing(story: Story) -> None:
    expected, _ = story.telling.undisturbed()
    for every in (2, 3):
        assert story.telling.crashed_for_ever(every, Death.SEEN) == expected, f"at every write {every}"
