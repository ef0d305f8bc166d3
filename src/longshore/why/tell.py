"""From a view to a story: the one place that knows which kind is told by whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from longshore.why import claim, cronjob, job, job_next, namespace, pod, volcano
from longshore.why.deletion import ASKED, by_somebody
from longshore.why.story import Line, Story, View


class Teller(NamedTuple):
    lines: Callable[[View], list[Line]]
    now: Callable[[View], list[str]]
    following: Callable[[View], list[str]]


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
"""By the short name of the kind."""


def tell(view: View) -> Story | None:
    """The story; None when there is no such object, and nothing is known of an earlier one."""
    if view.obj is None and not view.records and not view.events:
        return None
    view = msgspec.structs.replace(view, records=by_somebody(view.records))
    teller = TELLERS[view.kind.word]
    lines = [*_earlier(view), *teller.lines(view)]
    now, following = teller.now(view), teller.following(view)
    return Story(view.kind, view.namespace, view.name, view.uid, view.obj is None, lines, now, following)


def _earlier(view: View) -> list[Line]:
    """That there was another object of this name before, and who deleted it if that is known."""
    others = [record for record in view.records if record.uid != view.uid]
    if not others:
        return []
    last = others[-1]
    title = view.kind.title
    who = f", which {last.numbers.get('user')} deleted" if last.code == ASKED else ""
    return [Line(last.at, f"(an earlier {title} of this name{who})")]
