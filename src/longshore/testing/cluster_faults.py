"""The faults of a cluster, as a test orders them: `c.faults.conflict(times=1, on="PUT jobs/status")`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from longshore.scripts.spreads import Duration, seconds
from longshore.testing import faulty_client as words
from longshore.testing.injected_faults import Fault, Who, check_who, refused, unavailable

if TYPE_CHECKING:
    from longshore.testing.cluster_for_tests import Cluster
__tracebackhide__ = True
"""Reports of pytest end at the line of the test that called; `--full-trace` shows the rest."""


class ClusterFaults:
    """`c.faults`. `on` names a method and a resource that is served, or a path with its slash; `who` is all,
    clients over HTTP, or the controllers. The returned fault counts how often it `happened`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def conflict(self, times: int = 1, on: str = "PUT *", who: Who = "all") -> Fault:
        """A 409, as if somebody had been quicker."""
        return self._add(Fault(on, who, words.conflict, times=times))

    def unavailable(self, for_: Duration, on: str = "*", who: Who = "all") -> Fault:
        """A 503 to everything, for so long by the cluster's clock."""
        until = self._cluster.inside.clock.monotonic() + seconds(for_)
        return self._add(Fault(on, who, unavailable, until=until))

    def throttle(
        self,
        code: int = 429,
        retry_after: Duration = 1.0,
        times: int | None = 1,
        on: str = "*",
        who: Who = "all",
    ) -> Fault:
        """A refusal that says when to come again. With `times=None` it goes on until `clear`."""
        if code not in (429, 500, 503):
            raise ValueError(f"code {code}: a server in trouble answers 429, 500 or 503")
        return self._add(Fault(on, who, partial(refused, code, seconds(retry_after)), times=times))

    def slow(self, delay: Duration, times: int | None = None, on: str = "*", who: Who = "all") -> Fault:
        """Each request takes so much longer, by the cluster's clock."""
        return self._add(Fault(on, who, None, delay=seconds(delay), times=times))

    def drop_watch(self, who: Who = "all") -> None:
        """Cuts all watches (and logs that are followed) that are open now."""
        check_who(who)
        self._cluster.loop.call(lambda: self._drop(who))
        self._cluster.settle()

    def compact(self, who: Who = "all") -> None:
        """Forgets the history of changes and cuts all watches: whoever goes on from an older version gets a
        410, and has to list again."""
        check_who(who)

        def compact() -> None:
            self._cluster.inside.store.forget_history()
            self._drop(who)

        self._cluster.loop.call(compact)
        self._cluster.settle()

    def crash_controllers(self) -> None:
        """Controllers, schedulers and the node's agent die in the middle of what they do, and start again
        with nothing but what is stored. As much time passes as faults keep them from starting."""
        self._cluster.do(self._cluster.inside.crash_controllers())

    def restart(self) -> None:
        """The whole server goes down with all its connections and comes up again at its address."""
        self._cluster.do(self._cluster.inside.restart())

    def clear(self) -> None:
        """Everything works again."""
        self._cluster.loop.call(self._cluster.inside.faults.clear)

    def _add(self, fault: Fault) -> Fault:
        inside = self._cluster.inside

        def add() -> Fault:
            fault.check_served(inside.api.catalog.resources())
            return inside.faults.add(fault)

        return self._cluster.loop.call(add)

    def _drop(self, who: Who) -> None:
        inside = self._cluster.inside
        if who in ("all", "clients"):
            inside.front.drop_streams()
        if who in ("all", "controllers"):
            inside.store.cut_local_watches()
