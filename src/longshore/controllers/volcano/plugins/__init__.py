"""Job plugins: `spec.plugins` changes a Job's pods and adds objects to it.

A plugin is a subclass of `Plugin` with a name; `find` returns it by that name. It is longshore's own, or an
installed package provides it as an entry point of the group `longshore.volcano_plugins`.
"""

from longshore.controllers.volcano.plugins.keys import KeyMaker, KeyPair, NeedsKey
from longshore.controllers.volcano.plugins.protocol import Plugin, PluginError, Wanted
from longshore.controllers.volcano.plugins.registry import GROUP, enabled, find

__all__ = ["GROUP", "KeyMaker", "KeyPair", "NeedsKey", "Plugin", "PluginError", "Wanted", "enabled", "find"]
