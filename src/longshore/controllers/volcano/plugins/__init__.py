"""Job plugins: what `spec.plugins` adds to a Job's pods, and the objects it brings along.

A plugin is a class with a name and `Plugin`'s methods; `find` gives it by that name, longshore's own or one
that an installed package offers as an entry point of the group `longshore.volcano_plugins`.
"""

from longshore.controllers.volcano.plugins.keys import KeyMaker, KeyPair, NeedsKey
from longshore.controllers.volcano.plugins.protocol import Plugin, PluginError, Wanted
from longshore.controllers.volcano.plugins.registry import GROUP, enabled, find

__all__ = ["GROUP", "KeyMaker", "KeyPair", "NeedsKey", "Plugin", "PluginError", "Wanted", "enabled", "find"]
