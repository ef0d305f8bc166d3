"""Makes a story of a view: the only place that knows which module tells which kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from longshore.api.facts import pod_state
from longshore.why import claim, cronjob, job, job_next, namespace, pod, volcano
from longshore.why.deletion import ASKED, going, without_repeated_deletions
from longshore.why.story import Line, Story, StoryView


class Teller(NamedTuple):
    lines: Callable[[StoryView], list[Line]]
    now: Callable[[StoryView], list[str]]
    following: Callable[[StoryView], list[str]]


_CRONJOB: Final = Teller(cronjob.lines, cronjob.now, cronjob.following)
_CLAIM: Final = Teller(claim.lines, claim.now, claim.following)
TELLERS: Final[Mapping[str, Teller]] = {
    "job": Teller(job.lines, job_next.now, job_next.following),
    "cronjob": _CRONJOB,
    "cronvcjob": _CRONJOB,
    "pod": Teller(pod.lines, pod.now, pod.following),
    "vcjob": Teller(volcano.lines, volcano.job_now, volcano.job_following),
    "podgroup": Teller(volcano.lines, volcano.group_now, volcano.group_following),
    "queue": Teller(volcano.lines, volcano.queue_now, volcano.queue_following),
    "jobflow": Teller(volcano.lines, volcano.flow_now, volcano.flow_following),
    "pvc": _CLAIM,
    "pv": _CLAIM,
    "namespace": Teller(namespace.lines, namespace.now, namespace.following),
}
"""The teller of each kind, by its short name."""


def tell(view: StoryView) -> Story | None:
    """The story; None if there is no such object and nothing is known of an earlier one."""
    if view.obj is None and not view.records and not view.events:
        return None
    view = msgspec.structs.replace(view, records=without_repeated_deletions(view.records))
    teller = TELLERS[view.kind.word]
    lines = [*_earlier(view), *teller.lines(view)]
    now, following = teller.now(view), teller.following(view)
    if (held := going(view)) is not None and view.kind.word != "namespace" and not _runs(view):
        now, following = [held[0]], [held[1]]
    return Story(view.kind, view.namespace, view.name, view.uid, view.obj is None, lines, now, following)


def _runs(view: StoryView) -> bool:
    """Whether it is a pod that has not ended."""
    return view.kind.word == "pod" and view.obj is not None and not pod_state.has_ended(view.obj)


def _earlier(view: StoryView) -> list[Line]:
    """A line about an earlier object of this name, and the user that deleted it if known."""
    others = [record for record in view.records if record.uid != view.uid]
    if not others:
        return []
    last = others[-1]
    title = view.kind.title
    who = f", which {last.numbers.get('user')} deleted" if last.code == ASKED else ""
    return [Line(last.at, f"(an earlier {title} of this name{who})")]
