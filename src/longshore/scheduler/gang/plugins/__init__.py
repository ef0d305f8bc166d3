"""Plugins of the gang scheduler: objects with hooks, as Volcano's are. `cycle_plugins.py` lists them.

`conf/plugin_table.py` says at which points a plugin has a say, and which arguments it takes.
"""
