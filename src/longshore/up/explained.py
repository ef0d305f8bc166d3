"""Why the controllers in this process did what they did: `GET /longshore/why/namespaces/NS/jobs/NAME`.

Whoever may read that path (administrators, and others by a `nonResourceURLs` rule) gets the last plans for
the object, oldest first, as long as the controller remembers them. Nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from longshore.api import times
from longshore.api.types import Obj

PREFIX: Final = "/longshore/why/"

Explain = Callable[[str, str], list[Obj]]
"""From namespace and name to entries, oldest first; empty when nothing is remembered."""


def path(namespace: str, plural: str, name: str) -> str:
    return f"{PREFIX}namespaces/{namespace}/{plural}/{name}"


def entry(uid: str, at: float, why: Sequence[str], problem: str, times_: int) -> Obj:
    """One plan: when it was made last, how often in a row, its reasons, and what kept it from being done."""
    made: Obj = {"uid": uid, "at": times.format_seconds(int(at)), "times": times_, "why": [*why]}
    if problem:
        made["problem"] = problem
    return made


def page(explain: Mapping[str, Explain]) -> Callable[[str], Obj | None]:
    """What a server answers below `PREFIX`; None where no controller here knows such objects."""

    def answer(rest: str) -> Obj | None:
        match rest.split("/"):
            case ["namespaces", namespace, plural, name] if plural in explain:
                return {"kind": "Explanation", "plans": explain[plural](namespace, name)}
        return None

    return answer
