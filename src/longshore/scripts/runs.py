"""How runs of containers go: when they end and how, in data. Pure: the dice are a parameter.

    Exit(1, after="3s", logs="no such table")       # a code, after a while
    Run(seconds="10s..60s")                         # a duration from a spread, and code 0
    Run.forever(on_term=None)                       # until it is killed: it does not heed SIGTERM
    Run.oom(after="2m"), Run.bad_image(), Run.missing_config("settings")
    Chance((0.9, Exit(0)), (0.1, Exit(1)))          # the dice choose

Rules say which pod gets which run: see `pod_rules.py`.
"""

from __future__ import annotations

import random
import signal as signals
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from longshore.scripts import spreads
from longshore.scripts.spreads import Duration, Spreading

OOM_REASON: Final = "OOMKilled"
_SIGNAL_BASE_CODE: Final = 128
"""The exit code of a container that a signal ended, less the number of the signal, as in a shell."""


class StartFault(msgspec.Struct, frozen=True):
    """The error of a container that cannot be started, as its status words it."""

    reason: str
    message: str


class Exec(msgspec.Struct, frozen=True):
    """How a command goes that is run beside a container."""

    code: int = 0
    output: str = ""
    seconds: float = 0.0
    reads_input: bool = False
    """Whether the command waits for its first input, or the end of its input, as a shell does."""
    ends: int | None = None
    """The exit code of the container if the command ends it, as a `kill` does; None if it goes on."""


class Run(msgspec.Struct, frozen=True):
    """How one run of a container goes. Without arguments it succeeds at once."""

    seconds: Spreading | None = 0.0
    """Seconds until the run ends by itself; None for never. A text is a duration or a spread of durations."""
    code: int = 0
    """The exit code; if a signal ends it, the code follows from the signal."""
    fails: StartFault | None = None
    """The error of a container that cannot be started; see `bad_image` and `missing_config`."""
    on_term: Duration | None = 0.0
    """Seconds from SIGTERM to the end of the run; None if only SIGKILL ends the run."""
    term_code: int = 143
    """The exit code after SIGTERM."""
    reason: str = ""
    """The reason of the end in the status; empty for Completed or Error."""
    message: str = ""
    """The content of the termination message file."""
    logs: str = ""
    """The output, written at the start."""
    signal: int = 0
    """The signal that ends the run; 0 for none."""
    ready_after: Spreading = 0.0
    """Seconds from the start of the run until the container is ready and its probes succeed."""

    def __post_init__(self) -> None:
        # Numbers stay as they are: simulations make many.
        if self.seconds is not None and type(self.seconds) is not float:
            force_setattr(self, "seconds", spreads.spread(self.seconds))
        if self.on_term is not None and type(self.on_term) is not float:
            force_setattr(self, "on_term", spreads.seconds(self.on_term))
        if type(self.ready_after) is not float:
            force_setattr(self, "ready_after", spreads.spread(self.ready_after))
        if type(self.code) is not int or not 0 <= self.code <= 255:
            raise ValueError(f"code {self.code!r} is no exit code: it must be a number between 0 and 255")
        if self.signal:
            force_setattr(self, "code", _SIGNAL_BASE_CODE + self.signal)

    @classmethod
    def forever(cls, *, on_term: Duration | None = 0.0, logs: str = "", ready_after: Spreading = 0.0) -> Run:
        """Runs until it is stopped. With `on_term=None` the run ignores SIGTERM and has to be killed."""
        return cls(None, on_term=on_term, logs=logs, ready_after=ready_after)

    @classmethod
    def killed(cls, signal: int | str, *, after: Spreading = 0.0, logs: str = "") -> Run:
        """A run that a signal ends: `Run.killed("SIGSEGV", after="5s")`."""
        return cls(after, signal=number_of(signal), logs=logs)

    @classmethod
    def oom(cls, *, after: Spreading = 0.0, logs: str = "") -> Run:
        """A run that the kernel kills for lack of memory."""
        return cls(after, signal=9, reason=OOM_REASON, logs=logs)

    @classmethod
    def bad_image(cls, message: str = "") -> Run:
        """A run that never starts, because its image cannot be pulled."""
        text = message or "failed to pull and unpack image: not found"
        return cls(fails=StartFault("ErrImagePull", text))

    @classmethod
    def missing_config(cls, name: str = "config") -> Run:
        """A run that never starts, because it refers to a ConfigMap that does not exist."""
        return cls(fails=StartFault("CreateContainerConfigError", f'configmap "{name}" not found'))

    def drawn(self, rng: random.Random) -> Run:
        """The run with a number drawn for each of its spreads."""
        length, ready = self.seconds, self.ready_after
        if (length is None or type(length) is float) and type(ready) is float:
            return self
        chosen = None if length is None else spreads.drawn(spreads.spread(length), rng)
        return msgspec.structs.replace(
            self, seconds=chosen, ready_after=spreads.drawn(spreads.spread(ready), rng)
        )

    @property
    def ends_after(self) -> float | None:
        """The seconds of a run whose spreads are drawn."""
        return None if self.seconds is None else _number(self.seconds)

    @property
    def stops_after(self) -> float | None:
        """The seconds from SIGTERM to the end; None where the signal is ignored."""
        return None if self.on_term is None else _number(self.on_term)

    @property
    def is_ready_after(self) -> float:
        """The seconds to readiness of a run whose spreads are drawn."""
        return _number(self.ready_after)


def Exit(
    code: int = 0,
    *,
    after: Spreading = 0.0,
    logs: str = "",
    message: str = "",
    ready_after: Spreading = 0.0,
) -> Run:
    """A run that ends by itself with an exit code, after a while."""
    return Run(after, code, logs=logs, message=message, ready_after=ready_after)


@dataclass(frozen=True, slots=True, init=False)
class Chance:
    """One of several runs, each with its weight: the dice choose anew for every start."""

    of: tuple[tuple[float, Run], ...]

    def __init__(self, *of: tuple[float, Run]) -> None:
        if any(not isinstance(run, Run) or weight < 0 for weight, run in of) or not sum(w for w, _ in of):
            raise ValueError("Chance needs pairs of a weight and a run, with weights of 0 or more, not all 0")
        object.__setattr__(self, "of", of)

    def draw(self, rng: random.Random) -> Run:
        return rng.choices([run for _, run in self.of], [weight for weight, _ in self.of])[0]


Outcome: TypeAlias = Run | Chance
"""A run, or dice that choose one."""


def chosen(outcome: Outcome, rng: random.Random) -> Run:
    """The run that this outcome gives, with a number drawn for each of its spreads."""
    run = outcome.draw(rng) if isinstance(outcome, Chance) else outcome
    return run.drawn(rng)


def number_of(signal: int | str) -> int:
    """The number of a signal that may be named: 9, `SIGKILL`, `KILL`. Raises ValueError."""
    if isinstance(signal, int) and not isinstance(signal, bool) and 0 < signal < 65:
        return signal
    name = str(signal).upper()
    try:
        return signals.Signals[name if name.startswith("SIG") else f"SIG{name}"].value
    except KeyError:
        raise ValueError(f"{signal!r} is no signal: write its name or number, SIGKILL or 9") from None


def _number(value: object) -> float:
    if not isinstance(value, float):
        raise TypeError(f"{value!r} is not drawn yet: Run.drawn(rng) chooses a number")
    return value
