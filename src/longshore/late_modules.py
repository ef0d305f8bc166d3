"""Modules that are loaded when they are first used, so that a command pays only for what it does.

The import of a module of `LATE` makes an empty module; its file is read and run when the first of its names
is asked for. Import statements stand at the top of a file as everywhere, and checkers of types and layers see
them. Import such a module, never a name of it, which would load it at once: `from longshore.why import tell`.
tests/package/test_late_modules.py checks it.
"""

from __future__ import annotations

import sys
from _thread import RLock
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from typing import Any
else:
    Loader = object  # importing importlib.abc takes 5 ms

LATE = frozenset(
    f"longshore.{name}"
    for name in (
        # the first gang
        "scheduler.gang.scheduler",
        # a connection to the server
        "apiserver.http.begin",
        "apiserver.http.client_connection",
        "apiserver.http.handshakes",
        "apiserver.request.router",
        # a page of the dashboard
        "apiserver.http.dashboard",
        "ui.bundle",
        # a story
        "why.gang_now",
        "why.observe",
        "why.restarts",
        "why.tell",
        "why.text",
        # a definition of custom resources
        "apiserver.crd.naming",
        "apiserver.crd.rows",
        "apiserver.crd.scale",
        "api.structural.composed",
        "api.structural.patterns",
        # a request with a body that is seldom seen
        "api.codec.protoread",
        "api.patch.json_patch",
        "api.patch.strategic",
        "api.patch.unstructured",
        "apiserver.request.apply_body",
        "apiserver.request.delete_options",
        "apiserver.subresources.eviction",
        "apiserver.subresources.link",
        # a pod with such a field
        "api.validation.pod.affinity",
        "api.validation.pod.probes",
        "api.validation.pod.security",
        "api.validation.pod.windows",
        "node.preparing.volumes.making",
        # a Volcano object
        "api.validation.volcano.cronjob",
        "api.validation.volcano.hypernode",
        "api.validation.volcano.jobflow",
        "api.validation.volcano.pod",
        # a journal on disk
        "store.sql",
        "up.node_name",
        "up.snapshots",
        # a choice between several nodes
        "scheduler.single.scoring",
    )
)
"""The modules, each below a comment that says what first uses it."""

_ONE_AT_A_TIME = RLock()


class _Unloaded(ModuleType):
    """A module whose file has not been run; asking for a name runs it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for these
            raise AttributeError(name)
        _load(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if not (name.startswith("__") or isinstance(value, ModuleType)):  # running the file would undo it
            _load(self)
        ModuleType.__setattr__(self, name, value)


class _LateLoader(Loader):
    """Makes an empty module. The loader of its file comes later."""

    def __init__(self, of_file: Loader) -> None:
        self.of_file = of_file

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Unloaded(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leaves the module empty."""


def _load(module: ModuleType) -> None:
    """Runs the module's file. Other threads that ask for a name meanwhile wait until all names are there."""
    with _ONE_AT_A_TIME:
        spec = module.__spec__
        if spec is None or not isinstance(spec.loader, _LateLoader):  # it is loaded, or this thread loads it
            return
        late, of_file = spec.loader, spec.loader.of_file
        spec.loader = module.__loader__ = of_file
        try:
            of_file.exec_module(module)
        except BaseException:
            spec.loader = module.__loader__ = late  # the next use tries again
            raise
        module.__class__ = ModuleType


class _LateFinder:
    """Finds the modules of `LATE` where Python finds all others."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in LATE:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _LateLoader(spec.loader)
        return spec


def install() -> None:
    sys.meta_path.insert(0, _LateFinder)
