"""Rules that say which pod gets which run: by name, labels, image, Job, index and attempt.

The latest rule that matches counts; if none does, the default. Init containers end well at once and sidecars
run until they are stopped, unless a rule names their container.

Attempts are counted by rule: the runs of one index of an Indexed Job, all runs of another Job, one pod of a
Volcano Job, and all pods without an owner together (each try has another name). A Job that is created again
under its name continues the count. When a list is used up, its last run is repeated.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import owners, pod_state
from longshore.api.facts.volcano_job_state import TASK_INDEX
from longshore.api.selectors import labels as label_selectors
from longshore.api.types import Obj
from longshore.scripts.runs import Chance, Exec, Outcome, Run, chosen

PodRun: TypeAlias = Callable[[Obj], Outcome]
"""Takes a pod as the API has it, and returns how its containers go."""
Attempt: TypeAlias = Run | Chance | PodRun
"""One attempt of a rule."""

_SUCCEEDS: Final = Run()
_SIDECAR: Final = Run(None, term_code=0)


@dataclass(frozen=True, eq=False)
class Rule:
    """Some pods, and how they go. An empty text or None matches all; patterns are a shell's."""

    name: str = "*"
    """Pattern of the pod's name; one without `*`, `?` and `[` also means the pods of the Job of that name."""
    runs: tuple[Attempt, ...] = (_SUCCEEDS,)
    """One run for each attempt."""
    namespace: str = ""
    labels: str = ""
    """A label selector: `app=report,tier!=web`."""
    image: str = ""
    """Pattern of the image of a container."""
    job: str = ""
    """Pattern of the name of the Job (or Volcano Job) that owns the pod."""
    index: int | None = None
    """The completion index, or the index in a Volcano task."""
    container: str = ""
    """Pattern of the container's name; empty means all but init containers."""
    _selects: Callable[[dict[str, str]], bool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError(f"the rule for {self.name!r} has no run: give it at least one, such as Exit(0)")
        for run in self.runs:
            if not isinstance(run, Run | Chance) and not callable(run):
                raise ValueError(f"{run!r} is no run: give Exit(…), Run(…), Chance(…) or a function of a pod")
        try:
            selector = label_selectors.parse(self.labels)
        except StatusError as err:
            raise ValueError(f"labels {self.labels!r}: {err}") from None
        object.__setattr__(self, "_selects", selector.matches)

    def __str__(self) -> str:
        more = ("namespace", "labels", "image", "job", "index", "container")
        given = [f"{each}={value!r}" for each in more if (value := getattr(self, each)) not in ("", None)]
        return f"the script of {', '.join([repr(self.name), *given])}"

    def means(self, pod: Obj, container: Obj, *, is_main: bool) -> bool:
        """Whether the rule applies to this container of this pod."""
        meta = pod["metadata"]
        owner = owners.controller_of(pod)
        owned_by = owner["name"] if owner else ""
        if not (fnmatchcase(meta["name"], self.name) or (owned_by and owned_by == self.name)):
            return False
        if self.container:
            if not fnmatchcase(container["name"], self.container):
                return False
        elif not is_main:
            return False
        return (
            self.namespace in ("", meta["namespace"])
            and (not self.job or (bool(owned_by) and fnmatchcase(owned_by, self.job)))
            and (self.index is None or index_of(pod) == self.index)
            and (not self.image or fnmatchcase(container.get("image") or "", self.image))
            and (not self.labels or self._selects(meta.get("labels") or {}))
        )


def index_of(pod: Obj) -> int | None:
    """The index of a pod in its Job or in its Volcano task."""
    found = pod_state.completion_index(pod)
    if found is None and (text := (pod["metadata"].get("annotations") or {}).get(TASK_INDEX)) is not None:
        return int(text)
    return found


class CommandRule(msgspec.Struct, frozen=True, eq=False):
    """The answer to a command that is run in a container (`kubectl exec`)."""

    which: Rule
    """The rule that selects the containers; its runs do not count."""
    command: str
    """Pattern of the command: its words, joined by blanks."""
    answer: Exec

    def __str__(self) -> str:
        return f"the answer to {self.command!r} of {str(self.which).removeprefix('the script of ')}"

    def means(self, pod: Obj, container: Obj, command: Sequence[str]) -> bool:
        return fnmatchcase(" ".join(command), self.command) and self.which.means(pod, container, is_main=True)


class Scripts:
    """The rules of a node, and how often each was used. `rng` decides what a rule leaves open."""

    def __init__(
        self, rng: random.Random, rules: Sequence[Rule] = (), *, default: Outcome | Rule = _SUCCEEDS
    ) -> None:
        self.default = default if isinstance(default, Rule) else Rule(runs=(default,))
        """Used if no other rule matches, and only for main containers."""
        self.rules = [*rules]
        self.commands: list[CommandRule] = []
        self.used: Counter[tuple[int, tuple[object, ...]]] = Counter()
        """How many runs began, by the rule's position and by `_counted_for`."""
        self.met: set[Rule | CommandRule] = set()
        """The rules that applied to at least one container."""
        self.rng = rng

    def add(self, rule: Rule) -> None:
        self.rules.append(rule)

    def clear(self) -> None:
        """Removes all rules: pods then go by the default."""
        self.rules.clear()
        self.commands.clear()
        self.used.clear()
        self.met.clear()

    def run_of(self, pod: Obj, container: str) -> Run:
        """Chooses the run that begins now, and counts it."""
        spec, is_main, is_sidecar = _found(pod, container)
        for place in range(len(self.rules) - 1, -2, -1):
            rule = self.rules[place] if place >= 0 else self.default
            if rule.means(pod, spec, is_main=is_main):
                self.met.add(rule)
                told = rule.runs[0]
                if len(rule.runs) > 1:
                    key = (place, (*_counted_for(pod), container))
                    told = rule.runs[min(self.used[key], len(rule.runs) - 1)]
                    self.used[key] += 1
                return chosen(told if isinstance(told, Run | Chance) else told(pod), self.rng)
        return _SIDECAR if is_sidecar else _SUCCEEDS

    def answer_to(self, pod: Obj, container: str, command: Sequence[str]) -> Exec:
        """How a command that is run in a container goes. Without a rule it succeeds and prints nothing."""
        spec, _, _ = _found(pod, container)
        for rule in reversed(self.commands):
            if rule.means(pod, spec, command):
                self.met.add(rule)
                return rule.answer
        return Exec()


def _found(pod: Obj, name: str) -> tuple[Obj, bool, bool]:
    """The container of this name, whether it is one of the pod's main ones, and whether a sidecar."""
    spec = pod["spec"]
    for part in ("containers", "initContainers", "ephemeralContainers"):
        for each in spec.get(part) or ():
            if each["name"] == name:
                return each, part == "containers", each.get("restartPolicy") == "Always"
    return {"name": name}, True, False


def _counted_for(pod: Obj) -> tuple[object, ...]:
    """The key under which attempts are counted together."""
    owner = owners.controller_of(pod)
    if owner is None:
        return ()
    meta = pod["metadata"]
    index = pod_state.completion_index(pod)
    which = meta["name"] if owner["apiVersion"].startswith("batch.volcano.sh/") else index
    return meta["namespace"], owner["kind"], owner["name"], which
