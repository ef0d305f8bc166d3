"""Lives of Jobs made by dice: a spec, how each pod ends, and what people do meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from longshore.api.types import Obj

CODES = (0, 0, 0, 1, 7, 42)


@dataclass(frozen=True)
class Life:
    """What happens to one Job."""

    spec: Obj
    endings: tuple[tuple[int, float | None], ...]
    """Exit code and seconds of each pod in order of their starts; later ones succeed after ten seconds."""
    deeds: tuple[tuple[float, str, int], ...]
    """After so many seconds each: what somebody does, and a number to do it with."""

    @property
    def elastic(self) -> bool:
        return any(deed == "completions" for _, deed, _ in self.deeds)

    @property
    def stalls(self) -> bool:
        """Whether the Job may be left without an end: suspended, no pods wanted, or one that never ends."""
        pods = any(seconds is None for _, seconds in self.endings)
        deeds = any(deed == "suspend" or (deed == "parallelism" and not n) for _, deed, n in self.deeds)
        return pods or deeds or bool(self.spec.get("suspend")) or not self.spec["parallelism"]


def _exit_codes(action: str, codes: list[int]) -> Obj:
    return {"action": action, "onExitCodes": {"operator": "In", "values": codes}}


RULES: tuple[list[Obj], ...] = (
    [_exit_codes("FailJob", [42])],
    [_exit_codes("Ignore", [7])],
    [_exit_codes("Count", [1]), _exit_codes("Ignore", [7]), _exit_codes("FailJob", [42])],
)


@st.composite
def specs(draw: st.DrawFn) -> Obj:
    """A valid spec, template left out."""
    spec: Obj = {"parallelism": draw(st.integers(0, 4)), "backoffLimit": draw(st.integers(0, 4))}
    indexed = draw(st.booleans())
    completions = draw(st.integers(0, 6)) if indexed else draw(st.none() | st.integers(0, 6))
    if completions is not None:
        spec["completions"] = completions
    if indexed:
        spec["completionMode"] = "Indexed"
        if draw(st.booleans()):
            del spec["backoffLimit"]
            spec["backoffLimitPerIndex"] = draw(st.integers(0, 2))
            if draw(st.booleans()):
                spec["maxFailedIndexes"] = draw(st.integers(0, completions))
        if completions and draw(st.booleans()):
            spec["successPolicy"] = {"rules": [{"succeededCount": draw(st.integers(1, completions))}]}
    if draw(st.booleans()):
        spec["podFailurePolicy"] = {"rules": draw(st.sampled_from(RULES))}
    elif draw(st.booleans()):
        spec["podReplacementPolicy"] = draw(st.sampled_from(("Failed", "TerminatingOrFailed")))
    if draw(st.integers(0, 4)) == 0:
        spec["activeDeadlineSeconds"] = draw(st.sampled_from((0, 1, 30, 200)))
    if draw(st.integers(0, 4)) == 0:
        spec["suspend"] = True
    return spec


@st.composite
def lives(draw: st.DrawFn) -> Life:
    spec = draw(specs())
    seconds: Any = st.sampled_from((0.25, 3.0, 12.0, 40.0, 12.0, None))
    endings = draw(st.lists(st.tuples(st.sampled_from(CODES), seconds), max_size=12))
    deeds = ["suspend", "resume", "parallelism", "delete a pod", "delete a pod", "restart"]
    if spec.get("completionMode") == "Indexed" and "successPolicy" not in spec:
        deeds.append("completions")
    pauses = st.sampled_from((0.1, 1.5, 7.7, 30.3))
    acts = draw(st.lists(st.tuples(pauses, st.sampled_from(deeds), st.integers(0, 4)), max_size=6))
    return Life(spec, tuple(endings), tuple(acts))
