"""The contract of a job plugin. Subclass `Plugin`, override what you need, and offer it as an entry point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

import msgspec

from longshore.api import goflags
from longshore.api.types import Obj
from longshore.controllers.volcano.plugins.keys import NeedsKey


class PluginError(Exception):
    """A plugin cannot do its work for this Job; the message says why."""


class Wanted(msgspec.Struct, frozen=True):
    """An object that a Job's plugin needs, in the Job's namespace and owned by the Job."""

    what: tuple[str, str]
    """apiVersion and kind."""
    name: str
    make: Callable[[Obj | None], Obj | NeedsKey | None]
    """From the object as it is (None when there is none) to what to write; None when it may stay as it is.
    Name, namespace and owner are filled in for you. `NeedsKey` when it takes a new key to write it."""
    follows: bool = False
    """Whether it is brought up to date whenever the Job is looked at, and not only when the Job starts."""


class Plugin:
    """`arguments` are those of spec.plugins; `flags` reads them as Go's flag package does."""

    name: ClassVar[str]
    """The plugin's name in spec.plugins."""
    marked: ClassVar[bool] = True
    """Whether status.controlledResources shows that the plugin has done its work. Objects need this: without
    the mark they are not removed when the Job is killed."""
    defaults: ClassVar[Mapping[str, goflags.Value]] = {}
    """The flags the plugin knows, and their values when not given."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self.flags = goflags.parse(arguments, self.defaults)

    def on_pod_create(self, pod: Obj, job: Obj) -> None:
        """Changes a pod that is about to be created, in place. The Job is frozen. Raises `PluginError`."""

    def objects(self, job: Obj) -> Iterable[Wanted]:
        """The objects that must exist while the Job runs: created before its pods, removed by a kill."""
        return ()

    def text(self, flag: str) -> str:
        return str(self.flags[flag])

    def number(self, flag: str) -> int:
        return int(self.flags[flag])
