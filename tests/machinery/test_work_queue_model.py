"""Any sequence of calls on a work queue against a model that is too simple to be wrong."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from longshore.api.time.backoff import Doubling
from longshore.machinery.queues.workqueue import WorkQueue
from machinery.manual_clock import ManualClock

pytestmark = pytest.mark.long

KEYS = st.sampled_from("abcd")
DELAYS = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 7.5])
BASE, CAP = 1.0, 5.0


class QueueAgainstModel(RuleBasedStateMachine):
    """The model: a list of ready keys, sets of wanted and held ones, and one due time per key."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.queue: WorkQueue[str] = WorkQueue(self.clock, pauses=Doubling(BASE, CAP))
        self.ready: list[str] = []
        self.again: set[str] = set()
        self.held: set[str] = set()
        self.due: dict[str, tuple[float, int]] = {}
        """When, and as which of all the calls it was asked for: what is due together comes in that order."""
        self.calls = 0
        self.failures: dict[str, int] = {}
        self.closed = False

    def model_add(self, key: str) -> None:
        if self.closed:
            return
        if key in self.held:
            self.again.add(key)
        elif key not in self.ready:
            self.ready.append(key)

    def model_add_after(self, key: str, delay: float) -> None:
        if self.closed:
            return
        if delay <= 0:
            self.model_add(key)
        else:
            self.calls += 1
            self.due[key] = min(self.due.get(key, (float("inf"), 0)), (self.clock.time + delay, self.calls))

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.queue.add(key)
        self.model_add(key)

    @rule(key=KEYS, delay=DELAYS)
    def add_after(self, key: str, delay: float) -> None:
        self.queue.add_after(key, delay)
        self.model_add_after(key, delay)

    @rule(key=KEYS)
    def add_rate_limited(self, key: str) -> None:
        self.queue.add_rate_limited(key)
        failures = self.failures[key] = self.failures.get(key, 0) + 1
        self.model_add_after(key, min(BASE * 2 ** (failures - 1), CAP))

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.failures.pop(key, None)

    @precondition(lambda self: self.ready)
    @rule()
    def get(self) -> None:
        with pytest.raises(StopIteration) as taken:  # it does not wait although there is no event loop
            self.queue.get().send(None)
        assert taken.value.value == self.ready[0]
        self.held.add(self.ready.pop(0))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.queue.done(key)
        self.held.remove(key)
        if key in self.again:
            self.again.remove(key)
            self.ready.append(key)

    @rule(seconds=st.sampled_from([0.25, 0.5, 1.0, 3.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        for key, when in sorted(self.due.items(), key=lambda item: item[1]):
            if when[0] <= self.clock.time:
                del self.due[key]
                self.model_add(key)

    @rule()
    @precondition(lambda self: len(self.failures) == 4)
    def shut_down(self) -> None:
        self.queue.shut_down()
        self.closed = True
        self.due.clear()

    @invariant()
    def same(self) -> None:
        assert list(self.queue._ready) == self.ready
        assert self.queue.waiting == len(self.due)
        assert {key: self.queue.requeues(key) for key in "abcd"} == {
            key: self.failures.get(key, 0) for key in "abcd"
        }
        assert len(self.clock.timers) <= 1
        assert self.clock.timers or not self.due


QueueAgainstModel.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestQueueAgainstModel = QueueAgainstModel.TestCase
