"""Warns about two Jobs whose selectors overlap: one selects the pods that the other creates.

Only Jobs with `manualSelector` can overlap. A pod stays with its owner, but either Job may adopt a pod that
loses its owner. Kubernetes does not check this; longshore warns once, when the second Job is created.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from longshore.api.facts import job_state, kinds
from longshore.api.types import Obj
from longshore.controllers.job.waking import selector_index
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.informers.cache import Cache
from longshore.machinery.informers.informer import Handler

log = logging.getLogger(__name__)


class MeetingSelectors(Handler):
    """Checks new Jobs. Jobs in the initial list cause no new warning."""

    def __init__(self, jobs: Cache, recorder: Recorder) -> None:
        self._jobs, self._recorder = jobs, recorder

    def on_add(self, obj: Obj, initial: bool) -> None:
        if initial or selector_index.selected_uid(obj):
            return
        other = next(self._meeting(obj), None)
        if other is None:
            return
        mine, theirs = obj["metadata"]["name"], other["metadata"]["name"]
        namespace = obj["metadata"]["namespace"]
        log.warning("the selectors of the Jobs %s and %s in namespace %s meet", mine, theirs, namespace)
        for job, name in ((obj, theirs), (other, mine)):
            self._recorder.announce(reference(job, kinds.JOBS), "SelectorsMeet", other=name)

    def _meeting(self, job: Obj) -> Iterator[Obj]:
        mine, meta = selector_index.matcher(job), job["metadata"]
        for other in self._jobs.by_index(selector_index.JOBS_BY_SELECTOR, f"{meta['namespace']}/"):
            if other["metadata"]["uid"] == meta["uid"] or job_state.has_ended(other):
                continue
            if mine(_pod_labels(other)) or selector_index.matcher(other)(_pod_labels(job)):
                yield other


def _pod_labels(job: Obj) -> dict[str, str]:
    labels: dict[str, str] = (job["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return labels
