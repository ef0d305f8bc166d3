"""Events about pods and the node, at most as many as upstream's kubelet writes: 50 a second, 100 at once.

More are dropped: otherwise the events of five thousand short pods a minute would cost more than the pods.
"""

from __future__ import annotations

from typing import Final

from longshore.api.facts import kinds
from longshore.api.time.backoff import TokenBucket
from longshore.api.types import Obj
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.time.clock import Clock

EVENTS_PER_SECOND: Final = 50.0
MAX_BURST: Final = 100.0


class Events:
    def __init__(self, recorder: Recorder, clock: Clock) -> None:
        self._recorder, self._clock = recorder, clock
        self._allowance = TokenBucket(EVENTS_PER_SECOND, MAX_BURST, clock.monotonic())

    def pod(self, pod: Obj, code: str, path: str = "", /, **numbers: object) -> None:
        """Records the Event of a reason about a pod, or about its container at `path`
        (`spec.containers{main}`)."""
        if not self._affordable():
            return
        ref = reference(pod, kinds.PODS)
        if path:
            ref["fieldPath"] = path
        self._recorder.announce(ref, code, **numbers)

    def node(self, name: str, code: str, /, **numbers: object) -> None:
        if self._affordable():
            ref = {"kind": "Node", "apiVersion": "v1", "name": name, "uid": name}
            self._recorder.announce(ref, code, **numbers)

    def _affordable(self) -> bool:
        return self._allowance.take(self._clock.monotonic())
