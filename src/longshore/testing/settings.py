"""The settings of a cluster for tests, as the fixture's marker gives them, with defaults and checks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, get_args

import msgspec

from longshore.plane.controllers import CONTROLLERS
from longshore.scripts.spreads import Duration, seconds

ClockName = Literal["virtual", "real"]
NodeName = Literal["scripted", "process", "none"]
_VOLCANO: Final = "volcano-"


class ClusterSettings(msgspec.Struct, frozen=True):
    """The settings of one cluster. Raises ValueError for invalid ones."""

    clock: ClockName = "virtual"
    """`virtual` time stands still until the test moves it; `real` time is the machine's."""
    node: NodeName = "scripted"
    """`scripted` pods run by the test's script, `process` runs them as processes (real clock), `none` runs no
    pods."""
    controllers: Sequence[str] | None = None
    """The controllers that run; None for all."""
    volcano: bool = True
    """Whether Volcano's kinds are served, and `controllers=None` includes its controllers."""
    strict: bool = False
    """Whether a test fails if a script, answer or fault of it matched nothing."""
    start: str | datetime = ""
    """The moment at which the virtual clock starts, as `2027-03-28T00:30` (UTC); empty for the real time."""
    patience: Duration = "60s"
    """Real time after which a client's request fails because the clock stands still."""
    seed: int = 0
    """Seed of the dice for names, uids and spreads of durations."""

    def __post_init__(self) -> None:
        _one_of("clock", self.clock, get_args(ClockName))
        _one_of("node", self.node, get_args(NodeName))
        if self.clock == "virtual" and self.node == "process":
            raise ValueError('node="process" needs clock="real": processes know no other time')
        if self.clock == "real" and self.start:
            raise ValueError('start needs clock="virtual": the real clock has its own time')
        if isinstance(self.controllers, str):
            raise ValueError(f'controllers must be a list of names: ["{self.controllers}"]')
        for name in self.controllers or ():
            _one_of("controllers", name, tuple(CONTROLLERS))
            if not self.volcano and name.startswith(_VOLCANO):
                raise ValueError(
                    f"controllers: {name!r} needs Volcano's kinds, which volcano=False leaves out"
                )
        seconds(self.patience)
        if type(self.seed) is not int:
            raise ValueError(f"seed: {self.seed!r} is no whole number")
        for field in ("volcano", "strict"):
            if not isinstance(getattr(self, field), bool):
                raise ValueError(f"{field}: {getattr(self, field)!r} is neither true nor false")

    @property
    def running_controllers(self) -> tuple[str, ...]:
        """Names of the controllers that run, in the plane's order."""
        names = CONTROLLERS if self.controllers is None else set(self.controllers)
        return tuple(
            name
            for name in CONTROLLERS
            if name in names
            and (self.controllers is not None or self.volcano or not name.startswith(_VOLCANO))
            and (name != "volume" or self.node != "none" or self.controllers is not None)
        )


def _one_of(field: str, value: object, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"{field}: there is no {value!r}; there are: {', '.join(known)}")
