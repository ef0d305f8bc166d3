"""The engines of a node, and what they remembered when longshore started.

Each pod takes what is known of its containers when it is first seen. What nobody has taken once all pods
are known belongs to pods that are gone: it is killed and forgotten.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from longshore.api.facts import own_names
from longshore.api.types import Obj
from longshore.machinery.unavailable import Unavailable
from longshore.node.engine_by_image import EngineByImage
from longshore.node.runtime import Features, Runtime, State
from longshore.node.runtime_classes import RuntimeClasses

_KILL: Final = 9

log = logging.getLogger(__name__)


class Engines:
    """By name, the default first. `changed` hears which engine's container ended. `by_image` chooses for pods
    that name none, where not the default one runs them all."""

    def __init__(
        self,
        runtimes: Mapping[str, Runtime],
        changed: Callable[[Runtime, State], None],
        classes: RuntimeClasses,
        by_image: EngineByImage | None = None,
    ) -> None:
        self._runtimes, self._changed, self._classes = dict(runtimes), changed, classes
        self._by_image = by_image
        self._default = next(iter(runtimes.values()))
        self._known: dict[str, list[tuple[Runtime, State]]] = {}
        self._opening = False
        """Whether some engine may tell of containers before it has told which ones it remembers."""

    async def open(self) -> None:
        """Connects to each. One that cannot be used is left out; without the default there is no node, and
        `Unavailable` is raised."""
        self._opening = True
        for name, runtime in list(self._runtimes.items()):
            try:
                states = await runtime.open(partial(self._changed, runtime))
            except Exception as err:  # engines fail in ways of their own, and others may do without this one
                log.debug("engine %s", name, exc_info=True)
                if runtime is self._default:
                    raise Unavailable(f"engine {name} cannot be used: {err}") from err
                log.warning("engine %s cannot be used, and pods that ask for it wait: %s", name, err)
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
            self._by_image.engines = frozenset(self._runtimes)

    async def close(self, *, kill: bool) -> None:
        for runtime in self._runtimes.values():
            await runtime.close(kill=kill)

    async def features(self) -> dict[str, Features]:
        """The abilities of each, by its name."""
        return {name: await runtime.features() for name, runtime in self._runtimes.items()}

    async def problem(self) -> str:
        """Why the default one cannot run anything now; empty when it can."""
        return await self._default.problem()

    def of(self, pod: Obj) -> Runtime | None:
        """The one that runs this pod; None if it asks for one this node does not have."""
        wanted = pod["spec"].get("runtimeClassName")
        if wanted:
            return self._runtimes.get(self._classes.engine(wanted))
        return self._default if self._by_image is None else self._runtimes.get(self._by_image.of(pod))

    def remembers(self, uid: str) -> bool:
        """Whether `take` has something to tell of a pod."""
        return uid in self._known

    def take(self, uid: str) -> list[State] | None:
        """The containers remembered of a pod; None without any. They are told once."""
        found = self._known.pop(uid, None)
        return None if found is None else [state for _, state in found]

    def changed(self, runtime: Runtime, state: State) -> bool:
        """Notes an end, or readiness, of what nobody has taken yet. False if it is not of those. What is told
        while an engine opens is newer than what it remembers."""
        states = self._known.get(state.key.pod_uid)
        if states is None:
            if not self._opening:
                return False
            states = self._known[state.key.pod_uid] = []
        states[:] = [known for known in states if known[1].key != state.key] + [(runtime, state)]
        return True

    async def reap(self) -> None:
        """Kills and forgets what was not taken; what is killed is forgotten when its end is told."""
        strangers, self._known = self._known, {}
        for uid, states in strangers.items():
            log.info("pod %s is not in the API any more; what it left is killed and removed", uid)
            for runtime, state in states:
                if state.phase == "running":
                    await runtime.signal(state.key, _KILL)
                else:
                    await runtime.remove([state.key])


def described(engines: Mapping[str, Features]) -> dict[str, str]:
    """How each keeps limits and what it cannot do here, as annotations of the node."""
    told: dict[str, str] = {}
    for name, features in engines.items():
        told[own_names.ENGINE_LIMITS.format(name)] = features.limits
        if features.isolation:
            told[own_names.ENGINE_ISOLATION.format(name)] = features.isolation
        if features.isolation_problem:
            told[own_names.ENGINE_ISOLATION_PROBLEM.format(name)] = features.isolation_problem
        if features.notes:
            told[own_names.ENGINE_NOTES.format(name)] = " ".join(features.notes)
    return told
