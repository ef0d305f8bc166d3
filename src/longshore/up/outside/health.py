"""Health of controllers outside: `/healthz` fails for a process that should be restarted, `/readyz` for one
that does not do its work.

A process that waits for the Lease is ready, because it can take over. A leader is ready when its caches are
filled, each watch was served lately, and the Lease is renewed. It is unhealthy only if it leads and its Lease
is so old that it should have ended by itself: an unreachable API server is no reason for a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, Self

from longshore.api.errors import StatusError
from longshore.api.metrics import Labels, Registry
from longshore.apiserver.http.request import Request
from longshore.apiserver.http.response import Reply
from longshore.machinery.fence import Fence
from longshore.machinery.informers.informer import Informers

TEXT: Final = "text/plain; charset=utf-8"
STUCK_LEASE_SECONDS: Final = 60.0
LATE_LEASE_SECONDS: Final = 10.0
LATE_WATCH_SECONDS: Final = 120.0
"""The age at which a watch is late: a silent watch is noticed after 90 s, and retries pause up to 30 s."""


class Check(NamedTuple):
    well: bool
    text: str


class Health:
    """Checks of one process. `fence` is None without leader election. `others` add checks to `/readyz`."""

    def __init__(
        self, informers: Informers, fence: Fence | None, *others: Callable[[], Iterable[Check]]
    ) -> None:
        self._informers, self._fence, self._others = informers, fence, others

    def measure(self, registry: Registry) -> None:
        """Adds the age of each watch to `registry`, for alerts."""
        registry.gauge(
            "longshore_watch_unserved_seconds",
            "Seconds since the API server last served the resource; 0 while a watch is open.",
            ("resource",),
        ).ask_all(self._unserved)

    def healthy(self) -> list[Check]:
        return [*self._lease(STUCK_LEASE_SECONDS)]

    def ready(self) -> list[Check]:
        checks = [*self._lease(LATE_LEASE_SECONDS), *self._watches()]
        return checks + [check for other in self._others for check in other()]

    @property
    def filled(self) -> bool:
        """Whether all watches have started, and each cache has the objects of its first list."""
        watches = self._informers.watches()
        return (
            bool(watches) and not self._informers.expects_more and all(watch.is_filled for watch in watches)
        )

    def _lease(self, limit: float) -> Iterator[Check]:
        if self._fence is None:
            return
        age = self._fence.age
        if age is None:
            yield Check(True, "lease: waiting for it")
        else:
            yield Check(age < limit, f"lease: renewed {age:.0f} s ago")

    def _unserved(self) -> dict[Labels, float]:
        found: dict[Labels, float] = {}
        for watch in self._informers.watches():
            found[watch.name,] = max(watch.silence, found.get((watch.name,), 0.0))
        return found

    def _watches(self) -> Iterator[Check]:
        if self._informers.expects_more:
            yield Check(False, "resources: not all are known yet")
        for watch in self._informers.watches():
            if not watch.is_filled:
                yield Check(False, f"{watch.name}: not read yet")
            elif watch.silence:
                late = watch.silence >= LATE_WATCH_SECONDS
                yield Check(not late, f"{watch.name}: last served {watch.silence:.0f} s ago")
            else:
                yield Check(True, f"{watch.name}: followed")


class OpenFront:
    """Base of the fronts of a `Listener` that serve every request without credentials."""

    refusal: Reply | None = None
    """Every request head is accepted."""

    def admit(self, request: Request) -> Self:
        return self

    def refuse(self, request: Request, problem: Exception) -> Reply:
        code = problem.code if isinstance(problem, StatusError) else 500
        return Reply(code, TEXT, f"{problem}\n".encode())

    def close(self) -> None: ...


def page(checks: list[Check]) -> tuple[int, bytes]:
    """The status code and the text, which has a line for each check, as on the API server's own pages."""
    lines = [f"[{'+' if check.well else '-'}]{check.text}\n" for check in checks]
    well = all(check.well for check in checks)
    return 200 if well else 503, "".join([*lines, "ok" if well else "failed"]).encode()
