"""Why the controllers in this process did what they did: `GET /longshore/why/namespaces/NS/jobs/NAME`.

Whoever may read that path (administrators, and others by a `nonResourceURLs` rule) gets the last plans for
the object, oldest first, as long as the controller remembers them. Nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.reasons import Reason

PREFIX: Final = "/longshore/why/"


class Told(Protocol):
    """One plan: when it was made last, how often in a row, its reasons, and what kept it from being done."""

    @property
    def uid(self) -> str: ...
    @property
    def at(self) -> float: ...
    @property
    def why(self) -> Sequence[Reason | str]: ...
    @property
    def problem(self) -> str: ...
    @property
    def times(self) -> int: ...


Explain = Callable[[str, str], Sequence[Told]]
"""From namespace and name to plans, oldest first; empty when nothing is remembered."""


class Reasons:
    """Who in this process can say why, by plural. Several may: scheduler and node both act on pods."""

    def __init__(self) -> None:
        self._sources: dict[str, dict[str, Explain]] = {}

    def tell(self, plural: str, who: str, explain: Explain) -> None:
        """`who` says why from now on, instead of what it was before it was started again."""
        self._sources.setdefault(plural, {})[who] = explain

    def knows(self, plural: str) -> bool:
        return plural in self._sources

    def of(self, plural: str, namespace: str, name: str) -> list[Obj]:
        """All plans for one object, oldest first."""
        told = [each for explain in self._sources[plural].values() for each in explain(namespace, name)]
        return [_entry(each) for each in sorted(told, key=lambda each: each.at)]


def path(namespace: str, plural: str, name: str) -> str:
    return f"{PREFIX}namespaces/{namespace}/{plural}/{name}"


def page(reasons: Reasons) -> Callable[[str], Obj | None]:
    """The answer to a path below `PREFIX`; None where nobody here knows such objects."""

    def answer(rest: str) -> Obj | None:
        match rest.split("/"):
            case ["namespaces", namespace, plural, name] if reasons.knows(plural):
                return {"kind": "Explanation", "plans": reasons.of(plural, namespace, name)}
        return None

    return answer


def _entry(told: Told) -> Obj:
    made: Obj = {
        "uid": told.uid,
        "at": rfc3339.from_seconds(told.at),
        "times": told.times,
        "why": [str(reason) for reason in told.why],
    }
    if told.problem:
        made["problem"] = told.problem
    return made
