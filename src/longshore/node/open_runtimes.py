"""The runtimes of a node, and the containers that they remembered when longshore started.

Each pod takes what is known of its containers when it is first seen. Containers that no pod has taken once
all pods are known belong to deleted pods: they are killed and forgotten.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from longshore.api.facts import own_names
from longshore.api.types import Obj
from longshore.machinery.unavailable import Unavailable
from longshore.node.runtime import ContainerState, Features, Runtime
from longshore.node.runtime_choice import RuntimeByImage, RuntimeClasses

_KILL: Final = 9

log = logging.getLogger(__name__)


class OpenRuntimes:
    """The runtimes by name, the default first. `changed` is called when a container of a runtime ends.
    `by_image` chooses the runtime of pods that name none; without it the default runs them."""

    def __init__(
        self,
        runtimes: Mapping[str, Runtime],
        changed: Callable[[Runtime, ContainerState], None],
        classes: RuntimeClasses,
        by_image: RuntimeByImage | None = None,
    ) -> None:
        self._runtimes, self._changed, self._classes = dict(runtimes), changed, classes
        self._by_image = by_image
        self._default = next(iter(runtimes.values()))
        self._known: dict[str, list[tuple[Runtime, ContainerState]]] = {}
        self._opening = False
        """Whether a runtime may report an end before its list of remembered containers."""

    async def open(self) -> None:
        """Connects to each runtime; leaves out unusable ones. Raises `Unavailable` for the default."""
        self._opening = True
        for name, runtime in list(self._runtimes.items()):
            try:
                states = await runtime.open(partial(self._changed, runtime))
            except Exception as err:  # runtimes fail in ways of their own, and others may do without this one
                log.debug("runtime %s", name, exc_info=True)
                if runtime is self._default:
                    raise Unavailable(f"runtime {name} cannot be used: {err}") from err
                log.warning("runtime %s cannot be used, and pods that ask for it wait: %s", name, err)
                del self._runtimes[name]
                continue
            for state in states:
                known = self._known.setdefault(state.key.pod_uid, [])
                if all(newer.key != state.key for _, newer in known):
                    known.append((runtime, state))
                if self._by_image is not None:
                    self._by_image.settle(state.key.pod_uid, name)
        self._opening = False
        if self._by_image is not None:
            self._by_image.runtimes = frozenset(self._runtimes)

    async def close(self, *, kill: bool) -> None:
        for runtime in self._runtimes.values():
            await runtime.close(kill=kill)

    async def features(self) -> dict[str, Features]:
        """The features of each runtime, by name."""
        return {name: await runtime.features() for name, runtime in self._runtimes.items()}

    async def problem(self) -> str:
        """Why the default runtime cannot run anything now; empty when it can."""
        return await self._default.problem()

    def of(self, pod: Obj) -> Runtime | None:
        """The runtime of a pod; None if the pod asks for one that this node does not have."""
        wanted = pod["spec"].get("runtimeClassName")
        if wanted:
            return self._runtimes.get(self._classes.runtime(wanted))
        return self._default if self._by_image is None else self._runtimes.get(self._by_image.of(pod))

    def take(self, uid: str) -> list[ContainerState] | None:
        """Removes and returns the remembered containers of a pod; None if there are none."""
        found = self._known.pop(uid, None)
        return None if found is None else [state for _, state in found]

    def changed(self, runtime: Runtime, state: ContainerState) -> bool:
        """Notes the end, or readiness, of a container that no pod has taken yet; False for any other. A
        report that arrives while a runtime opens is newer than its list."""
        states = self._known.get(state.key.pod_uid)
        if states is None:
            if not self._opening:
                return False
            states = self._known[state.key.pod_uid] = []
        states[:] = [known for known in states if known[1].key != state.key] + [(runtime, state)]
        return True

    async def reap(self) -> None:
        """Kills containers that were not taken, and forgets them when their end is reported."""
        strangers, self._known = self._known, {}
        for uid, states in strangers.items():
            log.info("pod %s is not in the API any more; what it left is killed and removed", uid)
            for runtime, state in states:
                if state.phase == "running":
                    await runtime.signal(state.key, _KILL)
                else:
                    await runtime.remove([state.key])


def described(runtimes: Mapping[str, Features]) -> dict[str, str]:
    """The node's annotations about its runtimes: how each enforces limits, and what it cannot do here."""
    told: dict[str, str] = {}
    for name, features in runtimes.items():
        told[own_names.ENGINE_LIMITS.format(name)] = features.limits
        if features.isolation:
            told[own_names.ENGINE_ISOLATION.format(name)] = features.isolation
        if features.isolation_problem:
            told[own_names.ENGINE_ISOLATION_PROBLEM.format(name)] = features.isolation_problem
        if features.notes:
            told[own_names.ENGINE_NOTES.format(name)] = " ".join(features.notes)
    return told
