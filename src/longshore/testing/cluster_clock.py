"""The clock of a cluster, which a test moves."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.spreads import Duration, seconds
from longshore.testing.held_loop import HeldLoop

if TYPE_CHECKING:
    from longshore.testing.cluster_for_tests import Cluster
__tracebackhide__ = True
"""Reports of pytest end at the line of the test that called; `--full-trace` shows the rest."""

_STEP_SECONDS: Final = 0.01
"""Real seconds between two updates of a patched clock while time flows."""


class ClusterClock:
    """`c.clock`. Time stands still until a method lets it pass; with clock="real" it can only be read."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def now(self) -> datetime:
        """The time in the cluster, in UTC."""
        return self._cluster.inside.clock.now()

    def advance(self, duration: Duration) -> datetime:
        """Lets time pass: runs everything that is due, in order, and returns when nothing is left to do."""
        self._held()
        self._cluster.pass_time(seconds(duration))
        return self.now()

    def advance_to(self, moment: str | datetime, zone: str = "UTC") -> datetime:
        """Lets time pass up to a moment: `c.clock.advance_to("2027-03-28T04:00", "Europe/Berlin")`."""
        left = (moment_of(moment, zone) - self.now()).total_seconds()
        if left < 0:
            raise ValueError(f"{moment} is over: it is {self.now().isoformat()}; set() moves a clock back")
        return self.advance(left)

    def until(self, what: str, at_most: Duration, *, namespace: str = "default") -> datetime:
        """Lets time pass until a condition of an object is true: `c.clock.until("job/x complete",
        at_most="1d")`. Raises `WaitFailed` if it can never become true, or is not true after `at_most`."""
        self._held()
        if not isinstance(what, str):
            raise ValueError(
                f"until takes a text such as 'job/x complete', not {what!r}; "
                "c.wait('job/x', …) takes a function, too"
            )
        name, _, condition = what.strip().partition(" ")
        if not condition:
            raise ValueError(
                f"{what!r}: write the object and what is to be true of it, as in 'job/x complete'"
            )
        self._cluster.wait(name, condition.strip(), at_most, namespace=namespace)
        return self.now()

    def set(self, moment: str | datetime, zone: str = "UTC") -> datetime:
        """Sets the clock forward or back, as a person or NTP does: the time between is not played, and
        pending timers do not notice. Best done before there are objects with times that matter."""
        self._held()
        clock = self._cluster.inside.clock
        assert isinstance(clock, VirtualClock), "held"
        wanted = moment_of(moment, zone)

        def jump() -> None:
            clock.jump((wanted - clock.now()) / timedelta(seconds=1))

        self._cluster.loop.call(jump)
        return self.now()

    @contextmanager
    def patched(self) -> Iterator[None]:
        """Makes `time.time()`, `datetime.now()` and the like follow the cluster's clock during the block, in
        all threads of this process: for code that compares its time with the cluster's. Needs the package
        time-machine; `time.monotonic()` and `time.sleep()` stay real."""
        try:
            time_machine = importlib.import_module("time_machine")
        except ModuleNotFoundError:
            raise ImportError(
                "clock.patched() needs the package time-machine; install it with: pip install time-machine"
            ) from None
        loop, clock, run = self._held(), self._cluster.inside.clock, self._cluster.loop
        with time_machine.travel(clock.now(), tick=False) as traveller:

            def follow() -> None:
                traveller.move_to(clock.now())

            def keep_up() -> None:
                """Lets the loop look at the time while it flows, which else only a timer or a socket does."""
                if follow in loop.followers:
                    loop.call_later_real(_STEP_SECONDS, keep_up)

            run.call(lambda: loop.followers.append(follow))
            run.call(keep_up)
            try:
                yield
            finally:
                run.call(lambda: loop.followers.remove(follow))

    @contextmanager
    def flowing(self, speed: float = 1.0) -> Iterator[None]:
        """Lets time flow during the block, `speed` times as fast as real time: for code that polls or
        watches, and would otherwise wait for ever. The end of the block restores the speed of before."""
        if not isinstance(speed, int | float) or speed <= 0:
            raise ValueError(f"speed {speed!r}: it must be a number of more than 0")
        loop = self._held()
        before = self._cluster.loop.call(lambda: loop.flow(speed))
        try:
            yield
        finally:
            self._cluster.loop.call(lambda: loop.flow(before))

    def _held(self) -> HeldLoop:
        loop = self._cluster.loop.loop
        if not isinstance(loop, HeldLoop):
            raise RuntimeError('this cluster has the real clock, which cannot be moved: take clock="virtual"')
        return loop


def moment_of(given: str | datetime, zone: str) -> datetime:
    """Parses a moment. A text or datetime without a time zone is read in `zone`."""
    try:
        found = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise ValueError(f"{given!r} is no moment: write it as 2027-03-28T00:30") from None
    if found.tzinfo is None:
        import zoneinfo

        try:
            found = found.replace(tzinfo=zoneinfo.ZoneInfo(zone))
        except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
            raise ValueError(f"there is no time zone {zone!r}: write it as Europe/Berlin") from None
    return found.astimezone(UTC)
