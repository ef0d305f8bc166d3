"""Why a plan is as it is: reasons as data, each a code and its numbers. `catalogue/` has the words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from longshore.machinery import catalogue
from longshore.machinery.catalogue import Event

Number = int | float | str
"""A quantity is a text, as Kubernetes writes it: `500m`, `1Gi`."""

_NO_NUMBERS: Final[Mapping[str, Number]] = MappingProxyType({})


class Reason(NamedTuple):
    """One rule that fired: `Reason("PodsCreated", {"pods": 3, "indexes": "0-2"})`."""

    code: str
    """A CamelCase code, stable from version to version, because programs compare it."""
    numbers: Mapping[str, Number] = _NO_NUMBERS
    """The numbers and names that the words mention, by name."""

    @property
    def words(self) -> str:
        """One sentence without a full stop, in the present tense."""
        return catalogue.now(self.code, self.numbers)

    @property
    def event(self) -> Event:
        """The Event of this reason, with upstream's message."""
        return catalogue.event(self.code, self.numbers)

    def __str__(self) -> str:
        return self.words


class Plan(Protocol):
    """The part that the plans of all `decide` functions have in common."""

    @property
    def why(self) -> tuple[Reason, ...]:
        """The rules that fired, in order; never empty for a plan that does something."""

    @property
    def look_again(self) -> float | None:
        """Seconds until the next sync without a change; None if only a change needs one."""
