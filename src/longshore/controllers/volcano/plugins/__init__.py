"""Job plugins: `spec.plugins` changes a Job's pods and adds objects to it.

A plugin is a subclass of `Plugin` with a name; `find` returns it by that name. It is longshore's own, or an
installed package provides it as an entry point of the group `longshore.volcano_plugins`. Longshore's own are
imported when a Job first uses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Final

from longshore.api.types import Obj
from longshore.controllers.volcano.plugins.protocol import (
    KeyMaker,
    KeyPair,
    NeedsKey,
    Plugin,
    PluginError,
    Wanted,
)

GROUP: Final = "longshore.volcano_plugins"
"""The entry point group of third-party plugins; an entry point has the plugin's name."""
_OWN: Final[Mapping[str, str]] = {
    "env": "Env",
    "svc": "Svc",
    "ssh": "Ssh",
    "tensorflow": "TensorFlow",
    "mpi": "Mpi",
    "pytorch": "PyTorch",
    "ray": "Ray",
    "hcclrank": "HcclRank",
}
"""Class names by plugin name; the module has the plugin's name."""
_LAST: Final = "hcclrank"
"""The plugin that runs last, since it reads what others put into a pod."""


@cache
def find(name: str) -> type[Plugin]:
    """Returns the class of the plugin called `name`. Raises `PluginError` if there is none."""
    if name in _OWN:
        module = import_module(f"longshore.controllers.volcano.plugins.{name}")
        own: type[Plugin] = getattr(module, _OWN[name])
        return own
    from importlib.metadata import entry_points  # 9 ms of every start (bench/start.py), and few have plugins

    for entry in entry_points(group=GROUP, name=name):
        found = entry.load()
        if not (isinstance(found, type) and issubclass(found, Plugin)):
            raise PluginError(f"entry point {entry.value!r} for plugin {name} is no Plugin class")
        return found
    raise PluginError(f"failed to get plugin {name}")


def enabled(job: Obj) -> list[Plugin]:
    """Returns the Job's plugins, in the order in which they change its pods."""
    given: Mapping[str, Sequence[str] | None] = job["spec"].get("plugins") or {}
    return [find(name)(given[name] or ()) for name in sorted(given, key=_rank)]


def _rank(name: str) -> tuple[bool, int, str]:
    own = [*_OWN].index(name) if name in _OWN else len(_OWN)
    return name == _LAST, own, name


__all__ = ["GROUP", "KeyMaker", "KeyPair", "NeedsKey", "Plugin", "PluginError", "Wanted", "enabled", "find"]
