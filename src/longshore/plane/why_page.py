"""Why the controllers in this process did what they did: the resource `explanations` of longshore.dev, and
`clusterexplanations` for objects without a namespace. The one named `jobs.hello` is about the Job `hello`.

Whoever may get that resource gets the last plans for the object, oldest first, as long as the controller
remembers them. Nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.apiserver.documents import own_group
from longshore.apiserver.request.call import Call
from longshore.machinery.reasons import Reason

ROW: Final = own_group.row("Explanation", "explanations", namespaced=True)
CLUSTER_ROW: Final = own_group.row("ClusterExplanation", "clusterexplanations", namespaced=False)
_ROOT: Final = f"/apis/{own_group.GROUP}/{own_group.VERSION}/"


class Told(Protocol):
    """One plan: when it was made last, how often in a row, its reasons, and what kept it from being done."""

    @property
    def uid(self) -> str: ...
    @property
    def at(self) -> float: ...
    @property
    def why(self) -> Sequence[Reason]: ...
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
        self._others: dict[str, dict[str, Explain]] = {}

    def tell(self, plural: str, who: str, explain: Explain) -> None:
        """`who` says why from now on, instead of what it was before it was started again."""
        self._sources.setdefault(plural, {})[who] = explain

    def add(self, plural: str, who: str, explain: Explain) -> None:
        """`who` says why if it did something about such an object, but does not look after them."""
        self._others.setdefault(plural, {})[who] = explain

    def of(self, plural: str, namespace: str, name: str) -> list[Obj] | None:
        """All plans for one object, oldest first; None when nobody here looks after such objects."""
        sources = (*self._sources.get(plural, {}).values(), *self._others.get(plural, {}).values())
        told = [each for explain in sources for each in explain(namespace, name)]
        if not told and plural not in self._sources:
            return None
        return [_entry(each) for each in sorted(told, key=lambda each: each.at)]


def path(namespace: str, plural: str, name: str) -> str:
    """`namespace` is empty for an object without one."""
    if namespace:
        return f"{_ROOT}namespaces/{namespace}/{ROW.plural}/{plural}.{name}"
    return f"{_ROOT}{CLUSTER_ROW.plural}/{plural}.{name}"


def serve(own: own_group.OwnGroup, reasons: Reasons) -> None:
    """Serves the explanations; there is none where nobody here knows such objects."""

    async def answer(call: Call) -> Obj | None:
        plural, _, name = call.name.partition(".")
        plans = reasons.of(plural, call.namespace, name)
        meta = {"name": call.name, **({"namespace": call.namespace} if call.namespace else {})}
        return None if plans is None else {"metadata": meta, "plans": plans}

    own.serve(ROW, answer)
    own.serve(CLUSTER_ROW, answer)


def _entry(told: Told) -> Obj:
    made: Obj = {
        "uid": told.uid,
        "at": rfc3339.from_seconds(told.at),
        "times": told.times,
        "why": [reason.words for reason in told.why],
        "reasons": [_reason(reason) for reason in told.why],
    }
    if told.problem:
        made["problem"] = told.problem
    return made


def _reason(reason: Reason) -> Obj:
    """A reason for programs: its code, its words, and its numbers if it has any."""
    made: Obj = {"code": reason.code, "words": reason.words}
    if reason.numbers:
        made["numbers"] = dict(reason.numbers)
    return made
